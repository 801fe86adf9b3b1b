/* SPDX-License-Identifier: BSD-2-Clause */
/* The page of a run (cmd/page/page.h): the facts of the simulator and the watch, in its words. */
#include "cmd/page/page.h"
#include "cmd/sim/chart.h"
#include "cmd/sim/sim.h"
#include "results/lanes.h"

#include <inttypes.h>

/* Of InfiniBand. */
static void fill_credits(struct vb_page *p, const struct vb_scenario_run *run)
{
	struct vb_sim_lanes l;
	char text[sizeof p->item[0].text];

	if (!vb_sim_lanes_sum(&l, run))
		return;
	vb_page_item(p, "Waited for credits", "%.1f µs, at most %.1f at one port",
		     (double)l.wait_ns / 1e3, (double)l.wait_most_ns / 1e3);
	vb_page_item(p, "Flow control packets", "%" PRIu64, l.flow);
	vb_page_item(p, "Buffers", "%" PRIu64 " overruns, %" PRIu64 " packets discarded",
		     l.overruns, l.discards);
	if (l.marks || l.becns)
		vb_page_item(p, "Congestion control",
			     "%" PRIu64 " packets with FECN, %" PRIu64 " BECN; index at most %u",
			     l.marks, l.becns, l.index_max);
	if (l.barred_in || l.barred_out)
		vb_page_item(p, "Barred by P_Key",
			     "%" PRIu64 " packets that came in, %" PRIu64 " that went out",
			     l.barred_in, l.barred_out);
	if (l.router_ports)
		vb_page_item(p, "Routers",
			     "%" PRIu64 " packets sent on, %" PRIu64
			     " at the end of their hop limit, %" PRIu64 " not routed, %" PRIu64
			     " to another LID",
			     l.routed, l.hops_ended, l.not_routed, l.misrouted);
	for (uint32_t vl = 0; vl < l.lane_cnt; vl++) {
		char name[16];

		snprintf(name, sizeof name, "Lane %u", vl);
		vb_page_item(p, name, "%" PRIu64 " packets; buffers at most %u of %u blocks full",
			     l.lane[vl].tx_pkts, l.lane[vl].buffer_max, l.capacity);
	}
	if (vb_sim_deadlock_text(run, text, sizeof text))
		vb_page_item(p, "Deadlock", "%s", text);
}

static void fill_summary(struct vb_page *p, const struct vb_scenario *sc,
			 const struct vb_scenario_run *run, const struct vb_report *r)
{
	const uint64_t *n = r->counters.v;

	vb_page_item(p, "Flows", "%u, %u done, %u failed", r->flows, r->done, r->failed);
	vb_page_item(p, "Goodput", "%.3f Gb/s", (double)r->goodput_bps / 1e9);
	vb_page_item(p, "Fairness (Jain)", "%.4f", (double)r->jain_ppm / 1e6);
	if (r->fct_ns.cnt) {
		vb_page_item(p, "Completion time, median", "%.1f µs", (double)r->fct_ns.p50 / 1e3);
		vb_page_item(p, "Completion time, 99 %", "%.1f µs", (double)r->fct_ns.p99 / 1e3);
	} else {
		vb_page_item(p, "Completion time", "–");
	}
	if (r->slowdown_milli.cnt)
		vb_page_item(p, "Slow-down, median and 99 %", "%.2f and %.2f",
			     (double)r->slowdown_milli.p50 / 1e3,
			     (double)r->slowdown_milli.p99 / 1e3);
	vb_page_item(p, "Packets sent", "%" PRIu64, n[VB_COUNTER_port_xmit_packets]);
	vb_page_item(p, "Sent again", "%" PRIu64 " packets", n[VB_COUNTER_retransmitted_packets]);
	vb_page_item(p, "... because of",
		     "NAK %" PRIu64 ", timeout %" PRIu64 ", implied NAK %" PRIu64 ", RNR %" PRIu64,
		     n[VB_COUNTER_packet_seq_err], n[VB_COUNTER_local_ack_timeout_err],
		     n[VB_COUNTER_implied_nak_seq_err], n[VB_COUNTER_rnr_nak_retry_err]);
	vb_page_item(p, "Lost",
		     "%" PRIu64 " in switches, %" PRIu64 " to faults, %" PRIu64 " to ICRC",
		     r->drops, r->faults, n[VB_COUNTER_rx_icrc_encapsulated]);
	vb_page_item(p, "Marked CE", "%" PRIu64 " packets", r->marks);
	vb_page_item(p, "Paused", "%" PRIu64 " times, %.1f µs", r->pauses,
		     (double)r->paused_ns / 1e3);
	if (r->group_sent)
		vb_page_item(p, "To groups",
			     "%" PRIu64 " messages, received %" PRIu64 " of %" PRIu64 " times",
			     r->group_sent, r->group_received, r->group_due);
	vb_page_item(p, "Fullest queue", "%" PRIu64 " bytes", r->depth_max);
	fill_credits(p, run);
	vb_page_item(p, "Events", "%" PRIu64, r->events);
	vb_page_item(p, "Seed", "%" PRIu64, sc->seed);
	vb_page_item(p, "Digest", "%016" PRIx64, r->digest);
}

static void say_left_out(char *text, size_t size, const struct vb_watch *w,
			 const struct vb_sim_charts *c)
{
	static const char *const what[] = {"hosts", "queues", "QPs", "buffers"};
	const struct vb_series_set *s = vb_watch_series(w);

	text[0] = 0;
	if (vb_watch_left_out(w))
		vb_page_text(text, size,
			     "The packet sequence has the first %u steps and of the later ones "
			     "up to %u NAKs, timers and packets that were sent again; %" PRIu64
			     " are left out. ",
			     VB_WATCH_STEPS_FIRST, VB_WATCH_STEPS_MAX - VB_WATCH_STEPS_FIRST,
			     vb_watch_left_out(w));
	for (uint32_t k = 0; k < VB_WATCH_KIND_CNT; k++)
		if (s->cnt[k] > c->lines_of[k])
			vb_page_text(text, size,
				     "Of %s%u %s the charts show the %u with the most. ",
				     s->cnt[k] == VB_SERIES_MAX ? "the first " : "", s->cnt[k],
				     what[k], c->lines_of[k]);
	vb_page_text(text, size,
		     "Over time, each value stands for %.6g µs; bands reach from the least to the "
		     "most in it.",
		     c->page.slot_us);
}

/* The context of the page's callbacks. */
struct sim_page {
	const struct vb_scenario_run *run;
	const struct vb_stories *stories;
};

static void connection_ends(const struct vb_page *p, uint32_t connection, struct vb_step_ends *out)
{
	const struct sim_page *of = p->ctx;

	for (int i = 0; i < 2; i++)
		vb_load_end(of->run->load, connection, i, &out->host[i], &out->qpn[i]);
}

static void fill_story(const struct vb_page *p, uint32_t i, struct vb_page_story *out)
{
	const struct sim_page *of = p->ctx;
	const struct vb_story *s = &of->stories->story[i];

	out->host = s->host;
	out->qpn = s->history.qpn;
	out->timeouts = s->history.timeouts;
	vb_story_explain(of->stories, s, &out->why);
	out->row_cnt = vb_timeline(&s->history, NULL, out->row);
}

int vb_sim_page_write(FILE *f, const char *title, const struct vb_scenario *sc,
		      const struct vb_scenario_run *run, const struct vb_report *r,
		      const struct vb_watch *w, const struct vb_sim_charts *c)
{
	char left_out[600];
	struct sim_page of = {.run = run, .stories = vb_watch_stories(w)};
	struct vb_page p = {.title = title,
			    .left_out = left_out,
			    .charts = &c->page,
			    .step = vb_watch_step(w, 0),
			    .step_cnt = vb_watch_step_cnt(w),
			    .ends = connection_ends,
			    .story = fill_story,
			    .story_cnt = of.stories->cnt,
			    .stories_full = of.stories->is_full,
			    .ctx = &of};

	snprintf(p.subtitle, sizeof p.subtitle, "%u host%s, %u switch%s, %.3f ms of virtual time",
		 run->topo.host_cnt, run->topo.host_cnt == 1 ? "" : "s", run->topo.switch_cnt,
		 run->topo.switch_cnt == 1 ? "" : "es", (double)r->end / 1e6);
	fill_summary(&p, sc, run, r);
	say_left_out(left_out, sizeof left_out, w, c);
	return vb_page_write(f, &p);
}
