/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client of rdma_cm, by the ABI itself, whose broker is killed with what it has posted: it says
 * "ready" with a resolved route, connects when it reads a line, says "posted", and then waits for
 * its next event without a further call. Says "event N". CMP-51
 *
 *   cm_posted IPV4_ADDRESS PORT
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <rdma/rdma_user_cm.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define need(x)                                                                                    \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #x, strerror(errno));        \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

struct command {
	struct rdma_ucm_cmd_hdr header;
	union {
		struct rdma_ucm_create_id create;
		struct rdma_ucm_resolve_ip address;
		struct rdma_ucm_resolve_route route;
		struct rdma_ucm_connect connect;
		struct rdma_ucm_get_event get_event;
	} body;
};

/* Of librdmacm's enum rdma_cm_event_type, which is not in the kernel's header. */
enum { EVENT_ADDR_RESOLVED = 0, EVENT_ROUTE_RESOLVED = 2 };

static int fd;

static void command(uint32_t cmd, struct command *c, size_t in, size_t out)
{
	ssize_t len = (ssize_t)(sizeof c->header + in);

	c->header = (struct rdma_ucm_cmd_hdr){.cmd = cmd, .in = (uint16_t)in, .out = (uint16_t)out};
	need(write(fd, c, (size_t)len) == len);
}

static uint32_t next_event(void)
{
	struct rdma_ucm_event_resp r = {0};
	struct command c = {.body.get_event.response = (uintptr_t)&r};

	command(RDMA_USER_CM_CMD_GET_EVENT, &c, sizeof c.body.get_event, sizeof r);
	return r.event;
}

static void await_line(const char *say)
{
	char line[8];

	puts(say);
	need(fgets(line, sizeof line, stdin));
}

int main(int argc, char **argv)
{
	struct rdma_ucm_create_id_resp id = {0};
	struct command c = {
	    .body.create = {.response = (uintptr_t)&id, .ps = RDMA_PS_TCP, .qp_type = IBV_QPT_RC}};
	struct sockaddr_in to = {.sin_family = AF_INET};
	struct ibv_device **devices = ibv_get_device_list(NULL);
	struct ibv_context *context;

	setvbuf(stdout, NULL, _IOLBF, 0);
	need(argc == 3 && devices && devices[0]);
	/* As librdmacm does; by it the process sees that another broker has come. */
	context = ibv_open_device(devices[0]);
	fd = open("/dev/infiniband/rdma_cm", O_RDWR | O_CLOEXEC);
	need(context && fd >= 0);
	need(inet_pton(AF_INET, argv[1], &to.sin_addr) == 1);
	to.sin_port = htons((uint16_t)atoi(argv[2]));

	command(RDMA_USER_CM_CMD_CREATE_ID, &c, sizeof c.body.create, sizeof id);
	c = (struct command){.body.address = {.id = id.id, .timeout_ms = 2000}};
	memcpy(&c.body.address.dst_addr, &to, sizeof to);
	command(RDMA_USER_CM_CMD_RESOLVE_IP, &c, sizeof c.body.address, 0);
	need(next_event() == EVENT_ADDR_RESOLVED);
	c = (struct command){.body.route = {.id = id.id, .timeout_ms = 2000}};
	command(RDMA_USER_CM_CMD_RESOLVE_ROUTE, &c, sizeof c.body.route, 0);
	need(next_event() == EVENT_ROUTE_RESOLVED);
	await_line("ready");
	c = (struct command){.body.connect = {.id = id.id}};
	c.body.connect.conn_param.qp_num = 0x1234;
	c.body.connect.conn_param.valid = 1;
	command(RDMA_USER_CM_CMD_CONNECT, &c, sizeof c.body.connect, 0);
	puts("posted");
	printf("event %u\n", next_event());
	ibv_free_device_list(devices);
	return 0;
}
