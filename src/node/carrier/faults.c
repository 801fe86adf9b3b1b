/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Faults that the administrator has for the packets that come to all users: the middleware of
 * link/middle/fault.h before each link of the shared broker. Packets that a user sends go by his
 * own sockets, and meet his own rules.
 */
#include "link/middle/fault.h"

#include "node/carrier/state.h"
#include "node/host/clock.h"

static void count_hit(void *ctx, const struct vb_trace_event *ev)
{
	struct vb_carrier *c = ctx;

	(void)ev;
	c->faulted++;
}

int vb_carrier_faults_open(struct vb_carrier *c, uint32_t k, struct vb_link **link)
{
	static struct vb_counters nobody;
	struct vb_fault_link_config cfg = {.lower = *link, .hit = count_hit, .ctx = c};
	int rc;

	if (c->faults.rule_cnt == 0)
		return 0;
	for (uint32_t i = 0; i < VB_LINK_PORTS_MAX; i++)
		cfg.counters[i] = &nobody;
	rc = vb_fault_link_open(link, &cfg);
	/* Each link has its own random choices. */
	for (uint8_t i = 1; !rc && i < VB_LINK_PORTS_MAX; i++)
		rc = vb_fault_link_set(*link, i, &c->faults, c->fault_seed + k, vb_clock_now());
	return rc;
}

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
