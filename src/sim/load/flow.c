/* SPDX-License-Identifier: BSD-2-Clause */
/* Flows as records: each begins at its time. See load.h. */
#include "sim/load/priv.h"

#include <assert.h>
#include <errno.h>

int vb_load_flow_new(struct vb_load *l, const struct vb_flow *f)
{
	if (l->flow_cnt == l->cfg.flows_max) {
		l->failure = -ENOMEM;
		return -ENOMEM;
	}

	struct vb_flow *n = &l->flow[l->flow_cnt];

	*n = *f;
	n->delivered = n->done = VB_NEVER;
	n->connection = VB_LOAD_NONE;
	vb_eventq_set(&l->starts, l->flow_cnt++, f->start);
	return 0;
}

uint64_t vb_load_message_unit(const struct vb_load *l, const struct vb_flow *f)
{
	if (vb_flow_is_to_group(f))
		return vb_load_datagram_bytes(l);
	return f->op == VB_LOAD_ATOMIC ? 8 : l->cfg.message_bytes;
}

uint32_t vb_load_message_cnt(const struct vb_load *l, const struct vb_flow *f)
{
	uint64_t unit = vb_load_message_unit(l, f);

	return f->bytes ? (uint32_t)((f->bytes + unit - 1) / unit) : 1;
}

void vb_load_arm(struct vb_load *l)
{
	vb_sim_set_timer(l->sim, vb_eventq_next(&l->starts));
}

uint32_t vb_load_flow_cnt(const struct vb_load *l)
{
	return l->flow_cnt;
}

const struct vb_flow *vb_load_flow(const struct vb_load *l, uint32_t i)
{
	assert(i < l->flow_cnt);
	return &l->flow[i];
}
