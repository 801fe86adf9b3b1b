/* SPDX-License-Identifier: BSD-2-Clause */
/* What programs of the system tests that use RC or XRC have in common. */
#ifndef VB_TESTS_SYSTEM_VERBS_RC_H
#define VB_TESTS_SYSTEM_VERBS_RC_H

#include "verbs_need.h"

#include <infiniband/verbs.h>

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

#endif
