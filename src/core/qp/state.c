/* SPDX-License-Identifier: BSD-2-Clause */
/* The QP state machine as a table: which transition is legal, with which attributes. IBA 10.3.1 */
#include "base/assert.h"
#include "core/qp/qp.h"

#include <errno.h>

enum type_bit {
	RC = 1,
	UC = 2,
	UD = 4,
	INI = 8,
	TGT = 16,
	GSI = 32,
	DCI = 64,
	DCT = 128,
	SMI = 256
};

static enum type_bit bit_of(enum vb_qp_type type)
{
	switch (type) {
	case VB_QPT_RC:
		return RC;
	case VB_QPT_UC:
		return UC;
	case VB_QPT_UD:
		return UD;
	case VB_QPT_XRC_INI:
		return INI;
	case VB_QPT_XRC_TGT:
		return TGT;
	case VB_QPT_GSI:
		return GSI;
	case VB_QPT_DCI:
		return DCI;
	case VB_QPT_DCT:
		return DCT;
	case VB_QPT_SMI:
		return SMI;
	}
	return (enum type_bit)0;
}

struct transition {
	uint8_t from, to;
	uint16_t types;
	uint32_t required, optional;
};

static const struct transition transitions[] = {
#define TRANSITION(from, to, types, required, optional)                                            \
	{VB_QPS_##from, VB_QPS_##to, types, required, optional},
#include "core/qp/transition.def"
#undef TRANSITION
};

/*
 * The states that a QP may go to, by the state that it is in: what a consumer may ask for, errors,
 * and contexts of a DC target, which serve one initiator after the other.
 */
static const uint8_t next_states[VB_QPS_CNT] = {
    [VB_QPS_RESET] = 1 << VB_QPS_INIT | 1 << VB_QPS_RTR | 1 << VB_QPS_ERR,
    [VB_QPS_INIT] = 1 << VB_QPS_RTR | 1 << VB_QPS_ERR | 1 << VB_QPS_RESET,
    [VB_QPS_RTR] = 1 << VB_QPS_RTS | 1 << VB_QPS_ERR | 1 << VB_QPS_RESET,
    [VB_QPS_RTS] = 1 << VB_QPS_SQD | 1 << VB_QPS_SQE | 1 << VB_QPS_ERR | 1 << VB_QPS_RESET,
    [VB_QPS_SQD] = 1 << VB_QPS_RTS | 1 << VB_QPS_SQE | 1 << VB_QPS_ERR | 1 << VB_QPS_RESET,
    [VB_QPS_SQE] = 1 << VB_QPS_RTS | 1 << VB_QPS_ERR | 1 << VB_QPS_RESET,
    [VB_QPS_ERR] = 1 << VB_QPS_RTR | 1 << VB_QPS_RESET,
};

void vb_qp_set_state(struct vb_qp *qp, enum vb_qp_state to, vb_time now)
{
	bool is_context = qp->parent && !qp->dci;

	if (qp->state == to)
		return;
	VB_ASSERT(next_states[qp->state] >> to & 1);
	VB_ASSERT(is_context || to != VB_QPS_RTR || qp->state == VB_QPS_INIT);
	VB_ASSERT(!qp->ops->is_acked || to != VB_QPS_SQE);
	if (!qp->parent || is_context) /* that of a channel is its QP's */
		vb_qp_trace(qp, VB_TRACE_QP_STATE, now, qp->state, to, 0, 0);
	qp->state = to;
}

int vb_qp_transition_check(enum vb_qp_type type, enum vb_qp_state from, enum vb_qp_state to,
			   uint32_t mask, struct vb_refusal *why)
{
	*why = (struct vb_refusal){.rule = VB_REFUSAL_NO_TRANSITION, .value = from, .bound = to};
	for (size_t i = 0; i < sizeof transitions / sizeof transitions[0]; i++) {
		const struct transition *t = &transitions[i];

		if (t->from != from || t->to != to || !(t->types & bit_of(type)))
			continue;

		uint32_t given = mask & ~(uint32_t)VB_QP_STATE;
		uint32_t lacks = t->required & ~given, has = given & ~(t->required | t->optional);

		why->rule = lacks ? VB_REFUSAL_MASK_LACKS : VB_REFUSAL_MASK_HAS;
		why->mask = lacks ? lacks : has;
		return why->mask ? -EINVAL : 0;
	}
	return -EINVAL;
}
