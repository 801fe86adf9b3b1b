/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A member of a multicast group, or one that sends to it.
 *
 *   verbs_multicast DEVICE GID-INDEX GROUP member    joins, says "joined", prints "got N" for each
 *                                                    message with the immediate N, and at the end
 *                                                    of its input leaves and says "left"
 *   verbs_multicast DEVICE GID-INDEX GROUP send N [GROUP]...
 *                                                    one message with the immediate N to each
 *                                                    group, posted together
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

#define GROUPS_MAX 4

struct group {
	union ibv_gid gid;
	uint16_t mlid; /* 0: RoCE has none */
};

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
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_UD,
					.cap = {.max_send_wr = GROUPS_MAX,
						.max_recv_wr = DEPTH,
						.max_send_sge = 1,
						.max_recv_sge = 1}};
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

static struct ibv_ah *ah_of(uint8_t gid_index, const struct group *group)
{
	struct ibv_ah_attr to = {
	    .is_global = 1,
	    .dlid = group->mlid,
	    .port_num = 1,
	    .grh = {.dgid = group->gid, .sgid_index = gid_index, .hop_limit = 1}};
	struct ibv_ah *ah;

	NEED(ah = ibv_create_ah(pd, &to));
	return ah;
}

static void send_each(uint8_t gid_index, const struct group *group, int cnt, uint32_t value)
{
	struct ibv_sge sge = {(uintptr_t)buf, 64, mr->lkey};
	struct ibv_send_wr wr[GROUPS_MAX], *bad;

	for (int i = 0; i < cnt; i++)
		wr[i] = (struct ibv_send_wr){.sg_list = &sge,
					     .num_sge = 1,
					     .opcode = IBV_WR_SEND_WITH_IMM,
					     .send_flags = IBV_SEND_SIGNALED,
					     .imm_data = htonl(value),
					     .next = i + 1 < cnt ? &wr[i + 1] : NULL,
					     .wr.ud = {.ah = ah_of(gid_index, &group[i]),
						       .remote_qpn = 0xffffff,
						       .remote_qkey = QKEY}};
	NEED(!ibv_post_send(qp, wr, &bad));
	for (int i = 0; i < cnt; i++) {
		struct ibv_wc wc;
		int n;

		while ((n = ibv_poll_cq(cq, 1, &wc)) == 0) {
		}
		NEED(n == 1 && wc.status == IBV_WC_SUCCESS);
	}
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

static void be_member(const struct group *group)
{
	struct pollfd fds[2] = {{.events = POLLIN}, {.fd = channel->fd, .events = POLLIN}};
	struct ibv_cq *which;
	void *ctx;

	for (int i = 0; i < DEPTH; i++)
		post_recv();
	NEED(!ibv_attach_mcast(qp, &group->gid, group->mlid));
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
	NEED(!ibv_detach_mcast(qp, &group->gid, group->mlid));
	puts("left");
}

static struct group group_of(char *text)
{
	struct group group = {.mlid = 0};
	char *at = strchr(text, '@');
	struct in_addr v4;

	if (at) {
		group.mlid = (uint16_t)strtoul(at + 1, NULL, 0);
		*at = '\0';
	}
	if (inet_pton(AF_INET, text, &v4) == 1) {
		memset(group.gid.raw + 10, 0xff, 2);
		memcpy(group.gid.raw + 12, &v4, 4);
	} else {
		NEED(inet_pton(AF_INET6, text, group.gid.raw) == 1);
	}
	return group;
}

int main(int argc, char **argv)
{
	struct group group[GROUPS_MAX];
	int cnt = 0;

	NEED(argc >= 5);
	group[cnt++] = group_of(argv[3]);
	open_device(argv[1]);
	open_qp();
	if (strcmp(argv[4], "member") == 0) {
		be_member(&group[0]);
	} else {
		NEED(argc >= 6 && argc < 6 + GROUPS_MAX);
		for (int i = 6; i < argc; i++)
			group[cnt++] = group_of(argv[i]);
		send_each((uint8_t)atoi(argv[2]), group, cnt, (uint32_t)atoi(argv[5]));
	}
	NEED(!ibv_destroy_qp(qp));
	NEED(!ibv_close_device(context));
	return 0;
}
