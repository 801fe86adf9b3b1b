/* SPDX-License-Identifier: BSD-2-Clause */
/* How a simulation stands: flows, ports, QPs, counters, tables. See verbena/sim.h. */
#include "core/cc/settings.h"
#include "core/view.h"
#include "library/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Gives a caller as much as it knows of a structure. */
static void give_part(void *out, size_t size, const void *all, size_t all_size)
{
	memset(out, 0, size);
	memcpy(out, all, size < all_size ? size : all_size);
}

void verbena_sim_state(const struct verbena_sim *s, struct verbena_sim_state *out, size_t size)
{
	const struct vb_sim *sim = s->run.sim;
	vb_time deadlock_at, next = vb_sim_next(sim);
	bool has_deadlock = vb_sim_deadlock(sim, &deadlock_at);
	const struct verbena_sim_state all = {
	    .now = vb_sim_now(sim),
	    .next = next,
	    .until = s->sc.until,
	    .seed = s->sc.seed,
	    .events = vb_sim_events(sim),
	    .hops = vb_sim_hops(sim),
	    .digest = vb_sim_digest(sim),
	    .deadlock_at = has_deadlock ? deadlock_at : VERBENA_SIM_NEVER,
	    .past_flows = vb_load_past_cnt(s->run.load),
	    .hosts = s->run.topo.host_cnt,
	    .nodes = s->run.topo.host_cnt + s->run.topo.switch_cnt,
	    .ports = vb_sim_port_cnt(sim),
	    .flows = vb_load_flow_cnt(s->run.load),
	    .qps = 2 * vb_load_connection_cnt(s->run.load),
	    .is_finished = next == VB_NEVER || next > s->sc.until,
	};

	give_part(out, size, &all, sizeof all);
}

static uint32_t flow_state(const struct vb_flow *f, vb_time now)
{
	if (f->status != VB_WC_SUCCESS)
		return VERBENA_SIM_FAILED;
	if (vb_flow_is_done(f))
		return VERBENA_SIM_DONE;
	return vb_flow_is_running(f) && f->start <= now ? VERBENA_SIM_RUNNING : VERBENA_SIM_WAITING;
}

int verbena_sim_flow(const struct verbena_sim *s, uint32_t i, struct verbena_sim_flow *out,
		     size_t size)
{
	const struct vb_load *l = s->run.load;
	vb_time now = vb_sim_now(s->run.sim);
	const struct vb_flow *f;
	struct verbena_sim_flow all;

	if (i >= vb_load_flow_cnt(l))
		return vb_library_fail(s, -ERANGE, "there is no flow %u: there are %u", i,
				       vb_load_flow_cnt(l));
	f = vb_load_flow(l, i);
	all = (struct verbena_sim_flow){
	    .bytes = f->bytes,
	    .start = f->start,
	    .done = f->done,
	    .ideal_ns = vb_flow_ideal_ns(l, s->run.sim, f),
	    .number = f->number,
	    .src = f->src,
	    .dst = vb_flow_is_to_group(f) ? VERBENA_SIM_NONE : f->dst,
	    .op = f->op,
	    .state = flow_state(f, now),
	    .status = f->status,
	    .qp = f->connection == UINT32_MAX ? VERBENA_SIM_NONE : 2 * f->connection,
	};
	if (all.state == VERBENA_SIM_RUNNING || all.state == VERBENA_SIM_DONE) {
		all.completed = vb_load_flow_completed(l, f);
		all.rate = vb_flow_rate(l, f, now) * 1000000;
	}
	give_part(out, size, &all, sizeof all);
	return 0;
}

int verbena_sim_port(const struct verbena_sim *s, uint32_t i, struct verbena_sim_port *out,
		     size_t size)
{
	const struct vb_sim_topo_link *l;
	struct verbena_sim_port all;
	struct vb_port_stats st;
	struct vb_sim_ib_stats ib;

	if (i >= vb_sim_port_cnt(s->run.sim))
		return vb_library_fail(s, -ERANGE, "there is no port %u: there are %u", i,
				       vb_sim_port_cnt(s->run.sim));
	l = &s->run.topo.link[i / 2];
	vb_sim_port_stats(s->run.sim, i, &st);
	all = (struct verbena_sim_port){
	    .rate_bps = l->cable.rate_bps,
	    .packets = st.tx_pkts,
	    .bytes = st.tx_bytes,
	    .dropped = st.drops,
	    .faults = st.faults,
	    .marked = st.marks,
	    .pauses = st.pauses_sent,
	    .paused_ns = st.paused_ns,
	    .queue_bytes = vb_sim_port_waiting(s->run.sim, i),
	    .queue_max = st.depth_max,
	    .queue_byte_ns = st.byte_ns,
	    .cable = i / 2,
	    .from = i & 1 ? l->b : l->a,
	    .to = i & 1 ? l->a : l->b,
	};
	if (vb_sim_ib_port_stats(s->run.sim, i, &ib))
		all.credit_ns = ib.counters.xmit_wait_ns;
	give_part(out, size, &all, sizeof all);
	return 0;
}

int vb_library_qp(const struct verbena_sim *s, uint32_t i, uint32_t *host, uint32_t *qpn)
{
	uint32_t cnt = 2 * vb_load_connection_cnt(s->run.load);

	if (i >= cnt)
		return vb_library_fail(s, -ERANGE, "there is no QP %u: there are %u", i, cnt);
	vb_load_end(s->run.load, i / 2, (int)(i & 1), host, qpn);
	return *host == UINT32_MAX ? vb_library_fail(s, -ENOENT, "QP %u is a group", i) : 0;
}

int verbena_sim_qp(const struct verbena_sim *s, uint32_t i, struct verbena_sim_qp *out, size_t size)
{
	struct verbena_sim_qp all = {0};
	struct vb_qp_sample c;
	struct vb_qp_view v;
	struct vb_hca *hca;
	uint32_t peer_qpn;
	int err = vb_library_qp(s, i, &all.host, &all.qpn);

	if (err)
		return err;
	hca = vb_sim_hca(s->run.sim, all.host);
	if (!vb_hca_view(hca, all.qpn, vb_sim_now(s->run.sim), &v) ||
	    !vb_hca_sample(hca, all.qpn, vb_sim_now(s->run.sim), &c))
		return vb_library_fail(s, -ENOENT, "QP %u is gone", i);
	vb_load_end(s->run.load, i / 2, i % 2 == 0, &all.peer, &peer_qpn);
	all.rate = v.rate_bps;
	if (c.clk_hz) {
		all.cc_rate = vb_cc_bps((uint32_t)c.rate << 8, c.clk_hz);
		all.cc_target = vb_cc_bps((uint32_t)c.target << 8, c.clk_hz);
		all.alpha_ppm = (uint32_t)((c.alpha * UINT64_C(1000000) + 512) / 1024);
	}
	all.peer_window = v.peer_window;
	all.window_pkts = v.window_pkts;
	all.unacked_pkts = v.unacked;
	all.state = v.state;
	all.flow = vb_load_connection_flow(s->run.load, i / 2);
	give_part(out, size, &all, sizeof all);
	return 0;
}

const char *verbena_sim_counter_name(uint32_t i)
{
	return i < VB_COUNTER_CNT ? vb_counter_info[i].name : NULL;
}

int verbena_sim_counters(const struct verbena_sim *s, uint32_t host, uint64_t *value, uint32_t max)
{
	if (host >= s->run.topo.host_cnt)
		return vb_library_fail(s, -ERANGE, "there is no host %u: there are %u", host,
				       s->run.topo.host_cnt);
	for (uint32_t i = 0; i < max && i < VB_COUNTER_CNT; i++)
		value[i] = vb_sim_counters(s->run.sim, host)->v[i];
	return VB_COUNTER_CNT;
}

static int write_table(struct verbena_sim *s, const char *name, FILE *f)
{
	const struct vb_results res = {&s->run, &s->flows, s->series};
	struct verbena_sim_state st;
	struct vb_report r;
	int err = vb_report_make(&r, s->run.load, s->run.sim, &s->run.memory);

	if (err)
		return err;
	verbena_sim_state(s, &st, sizeof st);
	if (s->series && st.is_finished)
		vb_sim_series_finish(s->series, r.end);
	return vb_sim_write_file(f, name, &res, &r);
}

int verbena_sim_table(struct verbena_sim *s, const char *name, const char **text, size_t *len)
{
	FILE *f;
	int err;

	free(s->text);
	s->text = NULL;
	*text = NULL;
	*len = 0;
	f = open_memstream(&s->text, len);
	if (!f)
		return vb_library_fail(s, -ENOMEM, "no memory for %s", name);
	err = write_table(s, name, f);
	if (fclose(f) != 0 && !err)
		err = -ENOMEM;
	if (err)
		return vb_library_fail(
		    s, err, err == -ENOENT ? "this run has no %s" : "no memory for %s", name);
	*text = s->text;
	return 0;
}
