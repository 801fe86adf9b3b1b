/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections one after the other by librdmacm: resolve, connect, disconnect, as a client does that
 * has one request. Both ends in one program, the server in a thread of its own.
 *
 *   connect_loop ADDRESS CONNECTIONS
 *
 * Prints "N connections, X a second".
 */
#include <errno.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PORT "7123"
#define PATIENCE_MS 2000

static int connections;

static void die(const char *what)
{
	fprintf(stderr, "connect_loop: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void need(int rc, const char *what)
{
	if (rc)
		die(what);
}

static struct rdma_addrinfo *address_of(const char *name, int flags)
{
	struct rdma_addrinfo hints = {.ai_flags = flags, .ai_port_space = RDMA_PS_TCP}, *info;

	need(rdma_getaddrinfo(name, PORT, &hints, &info), "rdma_getaddrinfo");
	return info;
}

static struct ibv_qp_init_attr qp_attr(void)
{
	return (struct ibv_qp_init_attr){.cap = {1, 1, 1, 1, 0}, .qp_type = IBV_QPT_RC};
}

static void await_end(struct rdma_cm_id *id)
{
	struct rdma_cm_event *ev;
	bool is_end = false;

	while (!is_end) {
		need(rdma_get_cm_event(id->channel, &ev), "rdma_get_cm_event");
		is_end = ev->event == RDMA_CM_EVENT_DISCONNECTED;
		rdma_ack_cm_event(ev);
	}
}

/* An id without a channel of its program's waits in each call. */
static void *server_main(void *arg)
{
	struct rdma_cm_id *listener = arg;

	for (int i = 0; i < connections; i++) {
		struct rdma_cm_id *id;

		need(rdma_get_request(listener, &id), "rdma_get_request");
		need(rdma_accept(id, NULL), "rdma_accept");
		await_end(id);
		rdma_destroy_ep(id);
	}
	return NULL;
}

static void connect_once(struct rdma_addrinfo *to)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_id *id;

	need(rdma_create_ep(&id, to, NULL, &attr), "rdma_create_ep");
	need(rdma_connect(id, NULL), "rdma_connect");
	need(rdma_disconnect(id), "rdma_disconnect");
	rdma_destroy_ep(id);
}

int main(int argc, char **argv)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_addrinfo *here, *there;
	struct rdma_cm_id *listener;
	struct timespec begin, end;
	pthread_t server;

	if (argc != 3 || (connections = atoi(argv[2])) <= 0) {
		fprintf(stderr, "usage: connect_loop ADDRESS CONNECTIONS\n");
		return 2;
	}
	here = address_of(argv[1], RAI_PASSIVE);
	there = address_of(argv[1], 0);
	need(rdma_create_ep(&listener, here, NULL, &attr), "rdma_create_ep of the listener");
	need(rdma_listen(listener, 16), "rdma_listen");
	if (pthread_create(&server, NULL, server_main, listener))
		die("pthread_create");
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int i = 0; i < connections; i++)
		connect_once(there);
	clock_gettime(CLOCK_MONOTONIC, &end);
	pthread_join(server, NULL);
	rdma_destroy_ep(listener);
	printf("%d connections, %.1f a second\n", connections,
	       connections / ((double)(end.tv_sec - begin.tv_sec) +
			      (double)(end.tv_nsec - begin.tv_nsec) / 1e9));
	rdma_freeaddrinfo(here);
	rdma_freeaddrinfo(there);
	return 0;
}
