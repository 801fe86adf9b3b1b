/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A member of a multicast group, or one that sends to it.
 *
 *   verbs_multicast DEVICE GID-INDEX GROUP member    joins, says "joined", prints "got N" for each
 *                                                    message with the immediate N, and at the end
 *                                                    of its input leaves and says "left"
 *   verbs_multicast DEVICE GID-INDEX GROUP send N    one message with the immediate N
 *
 * On InfiniBand GROUP is MGID@MLID.
 */
#include "verbs_need.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QKEY 0x1ee7a11
#define DEPTH 16

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_comp_channel *channel;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static char buf[4096];
static uint16_t mlid; /* 0: RoCE has none */

static void open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	NEED(list);
	for (int i = 0; list[i] && !context; i++) {
		if (strcmp(ibv_get_device_name(list[i]), name) == 0)
			context = ibv_open_device(list[i]);
	}
	NEED(context);
	ibv_free_device_list(list);
}

static void open_qp(void)
{
	struct ibv_qp_init_attr init = {
	    .qp_type = IBV_QPT_UD,
	    .cap = {.max_send_wr = 1, .max_recv_wr = DEPTH, .max_send_sge = 1, .max_recv_sge = 1}};
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY};

	NEED(pd = ibv_alloc_pd(context));
	NEED(mr = ibv_reg_mr(pd, buf, sizeof buf, IBV_ACCESS_LOCAL_WRITE));
	NEED(channel = ibv_create_comp_channel(context));
	NEED(cq = ibv_create_cq(context, 2 * DEPTH, NULL, channel, 0));
	init.send_cq = init.recv_cq = cq;
	NEED(qp = ibv_create_qp(pd, &init));
	NEED(!ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
	a.qp_state = IBV_QPS_RTR;
	NEED(!ibv_modify_qp(qp, &a, IBV_QP_STATE));
	a.qp_state = IBV_QPS_RTS;
	NEED(!ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN));
}

static void post_recv(void)
{
	struct ibv_sge sge = {(uintptr_t)buf, sizeof buf, mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

	NEED(!ibv_post_recv(qp, &wr, &bad));
}

static void send_one(uint8_t gid_index, const union ibv_gid *group, uint32_t value)
{
	struct ibv_ah_attr to = {.is_global = 1,
				 .dlid = mlid,
				 .port_num = 1,
				 .grh = {.dgid = *group, .sgid_index = gid_index, .hop_limit = 1}};
	struct ibv_sge sge = {(uintptr_t)buf, 64, mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND_WITH_IMM,
				 .send_flags = IBV_SEND_SIGNALED,
				 .imm_data = htonl(value)},
			   *bad;
	struct ibv_wc wc;
	int n;

	NEED(wr.wr.ud.ah = ibv_create_ah(pd, &to));
	wr.wr.ud.remote_qpn = 0xffffff;
	wr.wr.ud.remote_qkey = QKEY;
	NEED(!ibv_post_send(qp, &wr, &bad));
	while ((n = ibv_poll_cq(cq, 1, &wc)) == 0) {
	}
	NEED(n == 1 && wc.status == IBV_WC_SUCCESS);
	puts("sent");
}

static void take_messages(void)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(cq, 1, &wc) > 0) {
		NEED(wc.status == IBV_WC_SUCCESS && wc.byte_len == 64 + 40);
		NEED(wc.wc_flags & IBV_WC_GRH && wc.wc_flags & IBV_WC_WITH_IMM);
		printf("got %u\n", ntohl(wc.imm_data));
		fflush(stdout);
		post_recv();
	}
}

static void be_member(const union ibv_gid *group)
{
	struct pollfd fds[2] = {{.events = POLLIN}, {.fd = channel->fd, .events = POLLIN}};
	struct ibv_cq *which;
	void *ctx;

	for (int i = 0; i < DEPTH; i++)
		post_recv();
	NEED(!ibv_attach_mcast(qp, group, mlid));
	puts("joined");
	fflush(stdout);
	for (;;) {
		NEED(!ibv_req_notify_cq(cq, 0));
		take_messages();
		NEED(poll(fds, 2, -1) > 0);
		if (fds[0].revents)
			break;
		NEED(!ibv_get_cq_event(channel, &which, &ctx));
		ibv_ack_cq_events(which, 1);
	}
	NEED(!ibv_detach_mcast(qp, group, mlid));
	puts("left");
}

int main(int argc, char **argv)
{
	union ibv_gid group;
	struct in_addr v4;

	NEED(argc >= 5);
	if (strchr(argv[3], '@')) {
		mlid = (uint16_t)strtoul(strchr(argv[3], '@') + 1, NULL, 0);
		*strchr(argv[3], '@') = '\0';
	}
	if (inet_pton(AF_INET, argv[3], &v4) == 1) {
		memset(group.raw, 0, 10);
		memset(group.raw + 10, 0xff, 2);
		memcpy(group.raw + 12, &v4, 4);
	} else {
		NEED(inet_pton(AF_INET6, argv[3], group.raw) == 1);
	}
	open_device(argv[1]);
	open_qp();
	if (strcmp(argv[4], "member") == 0) {
		be_member(&group);
	} else {
		NEED(argc == 6);
		send_one((uint8_t)atoi(argv[2]), &group, (uint32_t)atoi(argv[5]));
	}
	NEED(!ibv_destroy_qp(qp));
	NEED(!ibv_close_device(context));
	return 0;
}
