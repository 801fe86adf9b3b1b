/* SPDX-License-Identifier: BSD-2-Clause */
/* The measures of one flow: whether it is done, its rate, how it compares with an empty network.
 * See report.h. */
#include "sim/load/report.h"

/* To the member that is the furthest, and at least 1: a member at the sender is at no distance. */
static vb_dur group_ideal_ns(const struct vb_load *l, const struct vb_sim *sim,
			     const struct vb_flow *f)
{
	uint32_t group = f->dst & ~VB_LOAD_GROUP;
	struct vb_load_group_stats st;
	vb_dur most = 1;

	vb_load_group_stats(l, group, &st);
	for (uint32_t i = 0; i < st.members; i++) {
		struct vb_flow to = *f;
		vb_dur ns;

		to.dst = vb_load_group_member(l, group, i);
		ns = to.dst == f->src ? 0 : vb_flow_ideal_ns(l, sim, &to);
		most = ns > most ? ns : most;
	}
	return most;
}

vb_dur vb_flow_ideal_ns(const struct vb_load *l, const struct vb_sim *sim, const struct vb_flow *f)
{
	uint32_t mtu = vb_load_mtu_bytes(l);
	bool back = f->op == VB_LOAD_READ; /* the data comes from dst */

	if (vb_flow_is_to_group(f))
		return group_ideal_ns(l, sim, f);
	return vb_sim_ideal_ns(sim, f->src, f->dst, back ? 0 : f->bytes, mtu) +
	       vb_sim_ideal_ns(sim, f->dst, f->src, back ? f->bytes : 0, mtu);
}

bool vb_flow_is_done(const struct vb_flow *f)
{
	return f->done != VB_NEVER && f->status == VB_WC_SUCCESS;
}

bool vb_flow_is_running(const struct vb_flow *f)
{
	return f->done == VB_NEVER && f->posted > 0 && f->status == VB_WC_SUCCESS;
}

uint64_t vb_flow_rate(const struct vb_load *l, const struct vb_flow *f, vb_time now)
{
	uint64_t ns = vb_time_min(f->done, now) - f->start, bits = vb_load_flow_completed(l, f) * 8;
	uint64_t rate = ns ? bits / 1000 * 1000000 / ns : 0;

	return rate ? rate : 1;
}

uint64_t vb_report_bin_end(uint32_t bin)
{
	static const uint64_t step[] = {1, 2, 5};
	uint64_t end = 1000 * step[bin % 3];

	for (uint32_t i = 0; i < bin / 3; i++)
		end *= 10;
	return bin + 1 < VB_REPORT_BINS ? end : UINT64_MAX;
}

uint32_t vb_report_bin(uint64_t bytes)
{
	uint32_t bin = 0;

	while (bytes > vb_report_bin_end(bin))
		bin++;
	return bin;
}

uint64_t vb_flow_slowdown_milli(const struct vb_load *l, const struct vb_sim *sim,
				const struct vb_flow *f)
{
	return (f->done - f->start) * 1000 / vb_flow_ideal_ns(l, sim, f);
}
