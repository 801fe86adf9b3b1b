/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions that programs of the system tests with RC or XRC have in common. */
#ifndef VB_TESTS_SYSTEM_VERBS_RC_H
#define VB_TESTS_SYSTEM_VERBS_RC_H

#include "verbs_need.h"

#include <infiniband/verbs.h>
#include <unistd.h>

/* The first device, open. */
static inline struct ibv_context *open_first(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context;

	NEED(list && list[0]);
	context = ibv_open_device(list[0]);
	NEED(context);
	ibv_free_device_list(list);
	return context;
}

/* Takes a QP of RC or XRC from RESET to @to, RTR or RTS, as @a says of all but its state. 0 or an
 * errno. */
static inline int rc_to(enum ibv_qp_state to, struct ibv_qp *qp, struct ibv_qp_attr *a)
{
	static const struct {
		enum ibv_qp_state state;
		int mask;
	} step[] = {
	    {IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},
	    {IBV_QPS_RTR, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER},
	    {IBV_QPS_RTS, IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
			      IBV_QP_MAX_QP_RD_ATOMIC},
	};
	int err = 0;

	for (unsigned i = 0; !err && i < sizeof step / sizeof step[0] && step[i].state <= to; i++) {
		a->qp_state = step[i].state;
		err = ibv_modify_qp(qp, a, IBV_QP_STATE | step[i].mask);
	}
	return err;
}

static inline int rc_to_rts(struct ibv_qp *qp, struct ibv_qp_attr *a)
{
	return rc_to(IBV_QPS_RTS, qp, a);
}

/* Connects @qp with the one whose program calls this at the other end of @sock. An answer is waited
 * for 4.096 us * 2^@timeout. */
static inline void rc_meet(struct ibv_qp *qp, int sock, uint8_t timeout)
{
	struct {
		union ibv_gid gid;
		uint32_t qpn;
	} own = {.qpn = qp->qp_num}, peer;
	struct ibv_qp_attr a = {.port_num = 1,
				.path_mtu = IBV_MTU_1024,
				.max_dest_rd_atomic = 1,
				.max_rd_atomic = 1,
				.timeout = timeout,
				.retry_cnt = 7,
				.rnr_retry = 7,
				.min_rnr_timer = 1};

	NEED(ibv_query_gid(qp->context, 1, 1, &own.gid) == 0);
	NEED(write(sock, &own, sizeof own) == sizeof own);
	NEED(read(sock, &peer, sizeof peer) == sizeof peer);
	a.dest_qp_num = peer.qpn;
	a.ah_attr =
	    (struct ibv_ah_attr){.port_num = 1,
				 .is_global = 1,
				 .grh = {.dgid = peer.gid, .sgid_index = 1, .hop_limit = 64}};
	NEED(rc_to_rts(qp, &a) == 0);
}

#endif
