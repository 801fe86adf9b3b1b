/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls of verbs that are refused, each for one mistake. The QP is in INIT. */
#include "verbs_need.h"
#include "verbs_trouble.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RTR_MASK                                                                                   \
	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |            \
	 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)

static struct ibv_qp_attr rtr(void)
{
	return (struct ibv_qp_attr){
	    .qp_state = IBV_QPS_RTR,
	    .path_mtu = IBV_MTU_1024,
	    .dest_qp_num = 0x123402,
	    .min_rnr_timer = 1,
	    .max_dest_rd_atomic = 4,
	    .ah_attr = {.is_global = 1,
			.port_num = 1,
			.grh = {.dgid.raw = {[10] = 0xff, [11] = 0xff, 10, 9, 0, 2},
				.hop_limit = 64,
				.sgid_index = gid_index}}};
}

static int try_gid_index(void)
{
	struct ibv_qp_attr a = rtr();

	a.ah_attr.grh.sgid_index = 200;
	return ibv_modify_qp(qp, &a, RTR_MASK);
}

static int try_path_mtu(void)
{
	struct ibv_qp_attr a = rtr();

	a.path_mtu = IBV_MTU_4096;
	return ibv_modify_qp(qp, &a, RTR_MASK);
}

static int try_mask(void)
{
	struct ibv_qp_attr a = rtr();

	return ibv_modify_qp(qp, &a, RTR_MASK & ~IBV_QP_MIN_RNR_TIMER);
}

static int try_pkey_index(void)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1, .pkey_index = 99};

	return ibv_modify_qp(qp, &a,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static int try_caps(void)
{
	struct ibv_qp_init_attr init = {
	    .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = {10000000, 64, 1, 1, 0}};

	return ibv_create_qp(pd, &init) ? 0 : errno;
}

static int try_cqe(void)
{
	return ibv_create_cq(context, 0, NULL, NULL, 0) ? 0 : errno;
}

static int try_send(void)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND}, *bad;

	return ibv_post_send(qp, &wr, &bad);
}

void try_refused(void)
{
	static const struct {
		const char *name;
		int (*make)(void);
	} tries[] = {{"gid_index", try_gid_index},
		     {"path_mtu", try_path_mtu},
		     {"mask", try_mask},
		     {"pkey_index", try_pkey_index},
		     {"caps", try_caps},
		     {"cqe", try_cqe},
		     {"send", try_send}};
	char name[64];

	word(name);
	for (size_t i = 0; i < sizeof tries / sizeof tries[0]; i++)
		if (strcmp(tries[i].name, name) == 0) {
			printf("refused: %d\n", tries[i].make());
			return;
		}
	fprintf(stderr, "nothing to try is called '%s'\n", name);
	exit(1);
}
