/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process that runs a fabric, in the test's own process: it does one turn when the test says
 * so, and between two turns the test looks at what it has. Two switches, of which SWITCH_B has an
 * enhanced port 0, and two adapters:
 *
 *   HOST_A port 1 -- 1 SWITCH_A 2 -- 2 SWITCH_B 1 -- port 2 HOST_B
 */
#ifndef VB_TESTS_UNIT_SUBNET_PROCESS_ENV_H
#define VB_TESTS_UNIT_SUBNET_PROCESS_ENV_H

#include "cmocka_env.h"
#include "node/host/clock.h"
#include "node/subnet/adapter/adapter.h"
#include "node/subnet/client.h"
#include "node/subnet/cm/cm.h"
#include "node/subnet/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SWITCH_A, SWITCH_B, HOST_A, HOST_B, NODES };

#define LID(node) (uint16_t)(0x10 + (node))

static struct vb_topo topo;
static struct vb_subnet_daemon *fabric;
static int fabric_control; /* the connection by which the test ends a turn */
static char fabric_name[VB_SUBNET_NAME_MAX], fabric_why[512];
static struct vb_subnet_call call;
static struct vb_subnet_answer answer;

static inline void *topo_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

static inline void topo_release(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

static inline int fabric_dial(void)
{
	int sock = vb_subnet_dial(fabric_name, fabric_why, sizeof fabric_why);

	if (sock < 0)
		fail_msg("%s", fabric_why);
	return sock;
}

static inline void call_send(int sock, const struct vb_fds *fds)
{
	call.version = VB_SUBNET_CALL_VERSION;
	assert_int_equal(vb_fds_send(sock, &call, VB_SUBNET_CALL_HEADER + call.len, fds), 0);
}

/* Serves what was asked before, one call of each connection; the last call ends the loop. Serves
 * twice, because a connection that has just come takes two turns. */
static inline void fabric_turn(void)
{
	static struct vb_subnet_call down = {.version = VB_SUBNET_CALL_VERSION,
					     .op = VB_SUBNET_DOWN};
	struct vb_subnet_answer done;

	for (int i = 0; i < 2; i++) {
		assert_int_equal(vb_fds_send(fabric_control, &down, VB_SUBNET_CALL_HEADER, NULL),
				 0);
		assert_int_equal(vb_subnet_daemon_serve(fabric), 0);
		assert_int_equal(recv(fabric_control, &done, sizeof done, 0), sizeof done);
		fabric->is_ending = false;
		close(fabric->signals.fd);
		fabric->signals.fd = -1;
	}
}

/* A fabric of the topology @text, with name @name. */
static inline void fabric_begin_with(const char *name, const char *text)
{
	const struct vb_topo_config cfg = {.alloc = topo_alloc, .free = topo_release};

	snprintf(fabric_name, sizeof fabric_name, "%s", name);
	if (vb_topo_parse(&topo, &cfg, text, strlen(text), fabric_why, sizeof fabric_why))
		fail_msg("%s", fabric_why);
	if (vb_subnet_daemon_open(&fabric, fabric_name, &topo, fabric_why, sizeof fabric_why))
		fail_msg("%s", fabric_why);
	fabric_control = fabric_dial();
	fabric_turn();
}

static inline int fabric_begin(void **state)
{
	static const char text[] =
	    "Switch 4 \"S-A\"\n[1] \"H-A\"[1]\n[2] \"S-B\"[2]\n"
	    "Switch 4 \"S-B\" # \"S-B\" enhanced port 0\n[1] \"H-B\"[2]\nCa 2 \"H-A\"\n"
	    "vendid=0x2c9\ndevid=0x1013\nsysimgguid=0x5a\nCa 2 \"H-B\"\n";
	char name[VB_SUBNET_NAME_MAX];

	(void)state;
	/* Not ending in digits: addresses are 10.0.x.y. */
	snprintf(name, sizeof name, "unit-%d-f", (int)getpid());
	fabric_begin_with(name, text);
	return 0;
}

static inline int fabric_end(void **state)
{
	(void)state;
	close(fabric_control);
	vb_subnet_daemon_close(fabric);
	vb_topo_free(&topo);
	return 0;
}

/* Makes the call in @call, with memory @fd unless negative. Returns the answer's status; -EPIPE:
 * the connection has ended. @fds: its descriptors, or NULL. */
static inline int fabric_ask_with(int sock, int fd, struct vb_fds *fds)
{
	struct vb_fds out = {.cnt = fd >= 0, .fd = {fd}}, in = {.cnt = 0};
	ssize_t n;

	call_send(sock, &out);
	fabric_turn();
	n = vb_fds_recv(sock, &answer, sizeof answer, &in, MSG_DONTWAIT);
	if (n == 0 || n == -ECONNRESET)
		return -EPIPE;
	assert_int_equal(n, sizeof answer);
	if (fds)
		*fds = in;
	else
		vb_fds_close(&in);
	return answer.status;
}

static inline int fabric_ask(int sock, enum vb_subnet_op op, const char *text, struct vb_fds *fds)
{
	vb_subnet_call_text(&call, op, text);
	return fabric_ask_with(sock, -1, fds);
}

/* A connection at node @name. */
static inline int fabric_attach(const char *name)
{
	int sock = fabric_dial();

	assert_int_equal(fabric_ask(sock, VB_SUBNET_ATTACH, name, NULL), 0);
	return sock;
}

static inline struct vb_subnet_place place(uint32_t node, uint8_t port)
{
	return (struct vb_subnet_place){node, port};
}

static inline struct vb_port_info *info_of(uint32_t node, uint8_t port)
{
	return &vb_subnet_sma_port(&fabric->subnet, place(node, port))->info;
}

static inline struct vb_ib_port *link_of(uint32_t node, uint8_t port)
{
	return &fabric->subnet.node[node].port[port].link;
}

/* Acts as a manager: LIDs, forwarding tables, and all links active. */
static inline void fabric_configure(void)
{
	static const uint8_t ports_a[] = {0, 2, 1, 2}, ports_b[] = {2, 0, 2, 1};
	struct vb_subnet_node *n = fabric->subnet.node;

	for (uint32_t i = 0; i < NODES; i++) {
		uint8_t port = i == HOST_A ? 1 : i == HOST_B ? 2 : 0;

		info_of(i, port)->lid = LID(i);
		info_of(i, port)->sm_lid = LID(HOST_A);
		n[SWITCH_A].forward.unicast[LID(i)] = ports_a[i];
		n[SWITCH_B].forward.unicast[LID(i)] = ports_b[i];
		for (uint8_t p = 1; p <= n[i].sma.info.port_cnt; p++)
			if (n[i].port[p].has_cable)
				link_of(i, p)->state = VB_LINK_ACTIVE;
	}
	n[SWITCH_A].forward.unicast_top = n[SWITCH_B].forward.unicast_top = 0x100;
}

/* The seat of the programs at @node; NULL: there are none. */
static inline struct vb_subnet_seat *seat_at(uint32_t node)
{
	for (struct vb_list *l = fabric->seats.next; l != &fabric->seats; l = l->next)
		if (vb_container_of(l, struct vb_subnet_seat, node)->index == node)
			return vb_container_of(l, struct vb_subnet_seat, node);
	return NULL;
}

/* Descriptors of this process. */
static inline int fd_cnt(void)
{
	DIR *d = opendir("/proc/self/fd");
	int cnt = 0;

	assert_non_null(d);
	while (readdir(d))
		cnt++;
	closedir(d);
	return cnt;
}

/* Text of the file at @path below the folder @root; "" where there is none. */
static inline const char *text_below(const char *root, const char *path)
{
	static char text[512];
	char whole[512];
	ssize_t n = 0;
	int fd;

	snprintf(whole, sizeof whole, "%s/%s", root, path);
	fd = open(whole, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof text - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = 0;
	return text;
}

#define T(f) cmocka_unit_test_setup_teardown(f, fabric_begin, fabric_end)

#endif
