/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets that faults have held back (see link.c) come when they are due. */
#include "node/carrier/state.h"
#include "node/host/clock.h"

static struct vb_link *link_at(const struct vb_carrier *c, uint32_t k)
{
	return k == VB_CARRIER_BYTES ? c->gsi.link : c->byte[k].link;
}

vb_time vb_carrier_faults_due(const struct vb_carrier *c)
{
	vb_time due = VB_NEVER;

	for (uint32_t k = 0; c->faults.rule_cnt && k <= VB_CARRIER_BYTES; k++)
		if (link_at(c, k))
			due = vb_time_min(due, link_at(c, k)->due);
	return due;
}

void vb_carrier_faults_timeouts(struct vb_carrier *c, vb_time now)
{
	for (uint32_t k = 0; c->faults.rule_cnt && k <= VB_CARRIER_BYTES; k++) {
		if (!link_at(c, k) || link_at(c, k)->due > now)
			continue;
		if (k == VB_CARRIER_BYTES)
			vb_carrier_gsi_packets(c);
		else
			vb_carrier_carry(c, k);
	}
}
