/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums over a run. See report.h. */
#include "sim/load/report.h"
#include "sim/load/tally.h"

#include <errno.h>

/* (sum x)^2 / (n sum x^2); rates are brought to 20 bits first, so that nothing overflows. */
static uint64_t jain_ppm(const struct vb_load *l, vb_time now)
{
	uint64_t max = 1, sum = 0, squares = 0, n = 0;

	for (uint32_t i = 0; i < vb_load_flow_cnt(l); i++) {
		const struct vb_flow *f = vb_load_flow(l, i);

		if ((vb_flow_is_done(f) || vb_flow_is_running(f)) && vb_flow_rate(l, f, now) > max)
			max = vb_flow_rate(l, f, now);
	}
	for (uint32_t i = 0; i < vb_load_flow_cnt(l); i++) {
		const struct vb_flow *f = vb_load_flow(l, i);

		if (!vb_flow_is_done(f) && !vb_flow_is_running(f))
			continue;

		uint64_t x = (vb_flow_rate(l, f, now) << 20) / max;

		sum += x;
		squares += x * x;
		n++;
	}
	return n && squares / n ? (sum / n) * (sum / n) * 1000000 / (squares / n) : 0;
}

uint64_t vb_report_bps(uint64_t bytes, vb_dur ns)
{
	uint64_t whole = bytes * 8 / ns, rest = bytes * 8 % ns;

	while (ns >> 34) { /* rest * 10^9 has room */
		ns >>= 1;
		rest >>= 1;
	}
	return whole * VB_SEC + rest * VB_SEC / ns;
}

static uint32_t size_class(uint64_t bytes)
{
	uint32_t c = 0;

	for (uint64_t limit = 10000; c + 1 < VB_REPORT_SIZES && bytes > limit; limit *= 10)
		c++;
	return c;
}

static void sum_flows(struct vb_report *r, const struct vb_load *l)
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
}

static void sum_time(struct vb_report *r, vb_time now)
{
	r->end = r->running || r->last_done == 0 ? now : r->last_done;
	if (r->end > r->first_start)
		r->goodput_bps = vb_report_bps(r->bytes, r->end - r->first_start);
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
		spread_flows(&r->slowdown_of_bin[bin], values, vb_report_bin, bin);
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
		r->storms += vb_sim_port_storms(sim, i);
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

/* All that is about flows, where each has its record. */
static int report_flows(struct vb_report *r, const struct vb_load *l, const struct vb_sim *sim,
			const struct vb_sim_memory *memory)
{
	size_t cnt = vb_load_flow_cnt(l) + 1;
	uint64_t *v = memory->alloc(memory->ctx, 2 * cnt * sizeof *v);

	if (!v)
		return -ENOMEM;
	sum_flows(r, l);
	r->jain_ppm = jain_ppm(l, vb_sim_now(sim));
	spread_all(r, &(struct values){.load = l, .of = v, .v = v + cnt}, sim);
	memory->free(memory->ctx, v);
	return 0;
}

int vb_report_make(struct vb_report *r, const struct vb_load *l, const struct vb_sim *sim,
		   const struct vb_sim_memory *memory)
{
	int err;

	*r = (struct vb_report){0};
	err = vb_tally_is_used(l) ? vb_tally_report(r, l, memory) : report_flows(r, l, sim, memory);
	if (err)
		return err;
	sum_time(r, vb_sim_now(sim));
	sum_groups(r, l);
	sum_network(r, sim);
	return 0;
}
