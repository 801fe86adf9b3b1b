/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums over a run. See report.h. */
#include "sim/load/report.h"

#include <errno.h>

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

/* Mean rate in bits per microsecond of a flow that is done or, at @now, runs; at least 1. */
static uint64_t rate_of(const struct vb_load *l, const struct vb_flow *f, vb_time now)
{
	uint64_t ns = vb_time_min(f->done, now) - f->start, bits = vb_load_flow_completed(l, f) * 8;
	uint64_t rate = ns ? bits / 1000 * 1000000 / ns : 0;

	return rate ? rate : 1;
}

/* (sum x)^2 / (n sum x^2); rates are brought to 20 bits first, so that nothing overflows. */
static uint64_t jain_ppm(const struct vb_load *l, vb_time now)
{
	uint64_t max = 1, sum = 0, squares = 0, n = 0;

	for (uint32_t i = 0; i < vb_load_flow_cnt(l); i++) {
		const struct vb_flow *f = vb_load_flow(l, i);

		if ((vb_flow_is_done(f) || vb_flow_is_running(f)) && rate_of(l, f, now) > max)
			max = rate_of(l, f, now);
	}
	for (uint32_t i = 0; i < vb_load_flow_cnt(l); i++) {
		const struct vb_flow *f = vb_load_flow(l, i);

		if (!vb_flow_is_done(f) && !vb_flow_is_running(f))
			continue;

		uint64_t x = (rate_of(l, f, now) << 20) / max;

		sum += x;
		squares += x * x;
		n++;
	}
	return n && squares / n ? (sum / n) * (sum / n) * 1000000 / (squares / n) : 0;
}

/* Exact to a bit per second in spans up to 17 s, and to 2^-30 of the rate beyond. */
static uint64_t bits_per_second(uint64_t bytes, vb_dur ns)
{
	uint64_t whole = bytes * 8 / ns, rest = bytes * 8 % ns;

	while (ns >> 34) { /* rest * 10^9 has room */
		ns >>= 1;
		rest >>= 1;
	}
	return whole * VB_SEC + rest * VB_SEC / ns;
}

uint64_t vb_report_bin_end(uint32_t bin)
{
	static const uint64_t step[] = {1, 2, 5};
	uint64_t end = 1000 * step[bin % 3];

	for (uint32_t i = 0; i < bin / 3; i++)
		end *= 10;
	return bin + 1 < VB_REPORT_BINS ? end : UINT64_MAX;
}

static uint32_t bin_of(uint64_t bytes)
{
	uint32_t bin = 0;

	while (bytes > vb_report_bin_end(bin))
		bin++;
	return bin;
}

static uint32_t size_class(uint64_t bytes)
{
	uint32_t c = 0;

	for (uint64_t limit = 10000; c + 1 < VB_REPORT_SIZES && bytes > limit; limit *= 10)
		c++;
	return c;
}

static void sum_flows(struct vb_report *r, const struct vb_load *l, vb_time now)
{
	r->first_start = VB_NEVER;
	r->flows = vb_load_flow_cnt(l);
	for (uint32_t i = 0; i < r->flows; i++) {
		const struct vb_flow *f = vb_load_flow(l, i);

		r->first_start = vb_time_min(r->first_start, f->start);
		r->failed += f->status != VB_WC_SUCCESS;
		r->running += vb_flow_is_running(f);
		if (vb_flow_is_done(f) || vb_flow_is_running(f))
			r->bytes += vb_load_flow_completed(l, f);
		if (!vb_flow_is_done(f))
			continue;
		r->done++;
		if (f->done > r->last_done)
			r->last_done = f->done;
	}
	r->end = r->running || r->last_done == 0 ? now : r->last_done;
	if (r->end > r->first_start)
		r->goodput_bps = bits_per_second(r->bytes, r->end - r->first_start);
}

uint64_t vb_flow_slowdown_milli(const struct vb_load *l, const struct vb_sim *sim,
				const struct vb_flow *f)
{
	return (f->done - f->start) * 1000 / vb_flow_ideal_ns(l, sim, f);
}

/* Values of the flows that are done, as they stand in the load; @v is room to sort in. */
struct values {
	const struct vb_load *load;
	uint64_t *of, *v;
};

/* The flows whose size @group_of puts into @group; NULL: all. */
static void spread_flows(struct vb_spread *s, const struct values *values,
			 uint32_t (*group_of)(uint64_t bytes), uint32_t group)
{
	size_t n = 0;

	for (uint32_t i = 0; i < vb_load_flow_cnt(values->load); i++) {
		const struct vb_flow *f = vb_load_flow(values->load, i);

		if (vb_flow_is_done(f) && (!group_of || group_of(f->bytes) == group))
			values->v[n++] = values->of[i];
	}
	vb_spread_of(s, values->v, n);
}

static void spread_all(struct vb_report *r, const struct values *values, const struct vb_sim *sim)
{
	const struct vb_load *l = values->load;

	for (uint32_t i = 0; i < r->flows; i++)
		values->of[i] = vb_load_flow(l, i)->done - vb_load_flow(l, i)->start;
	spread_flows(&r->fct_ns, values, NULL, 0);
	for (uint32_t i = 0; i < r->flows; i++)
		values->of[i] = vb_flow_is_done(vb_load_flow(l, i))
				    ? vb_flow_slowdown_milli(l, sim, vb_load_flow(l, i))
				    : 0;
	spread_flows(&r->slowdown_milli, values, NULL, 0);
	for (uint32_t c = 0; c < VB_REPORT_SIZES; c++)
		spread_flows(&r->slowdown_of_size[c], values, size_class, c);
	for (uint32_t bin = 0; bin < VB_REPORT_BINS; bin++)
		spread_flows(&r->slowdown_of_bin[bin], values, bin_of, bin);
}

static void sum_groups(struct vb_report *r, const struct vb_load *l)
{
	for (uint32_t i = 0; i < vb_load_group_cnt(l); i++) {
		struct vb_load_group_stats st;

		vb_load_group_stats(l, i, &st);
		r->group_sent += st.sent;
		r->group_due += st.due;
		r->group_received += st.received;
	}
}

static void sum_network(struct vb_report *r, const struct vb_sim *sim)
{
	for (uint32_t i = 0; i < vb_sim_port_cnt(sim); i++) {
		struct vb_port_stats st;

		vb_sim_port_stats(sim, i, &st);
		r->drops += st.drops;
		r->marks += st.marks;
		r->faults += st.faults;
		r->pauses += st.pauses_sent;
		r->paused_ns += st.paused_ns;
		if (st.depth_max > r->depth_max)
			r->depth_max = st.depth_max;
		if (r->end && st.byte_ns / r->end > r->depth_mean)
			r->depth_mean = st.byte_ns / r->end;
	}
	for (uint32_t i = 0; i < vb_sim_host_cnt(sim); i++) {
		const struct vb_counters *c = vb_sim_counters(sim, i);

		for (uint32_t k = 0; k < VB_COUNTER_CNT; k++)
			r->counters.v[k] += c->v[k];
	}
	r->hops = vb_sim_hops(sim);
	r->events = vb_sim_events(sim);
	r->digest = vb_sim_digest(sim);
}

int vb_report_make(struct vb_report *r, const struct vb_load *l, const struct vb_sim *sim,
		   const struct vb_sim_memory *memory)
{
	size_t cnt = vb_load_flow_cnt(l) + 1;
	uint64_t *v = memory->alloc(memory->ctx, 2 * cnt * sizeof *v);

	if (!v)
		return -ENOMEM;
	*r = (struct vb_report){0};
	sum_flows(r, l, vb_sim_now(sim));
	sum_groups(r, l);
	sum_network(r, sim);
	r->jain_ppm = jain_ppm(l, vb_sim_now(sim));
	spread_all(r, &(struct values){.load = l, .of = v, .v = v + cnt}, sim);
	memory->free(memory->ctx, v);
	return 0;
}
