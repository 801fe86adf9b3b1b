/* SPDX-License-Identifier: BSD-2-Clause */
/* What `verbena sim` says of InfiniBand: lanes, credits, and a deadlock by the nodes in it. */
#include "cmd/sim/sim.h"

#include <inttypes.h>

static uint32_t node_of(const struct vb_scenario_run *run, uint32_t port)
{
	const struct vb_sim_topo_link *l = &run->topo.link[port / 2];

	return port & 1 ? l->b : l->a;
}

static void print_deadlock(FILE *f, const struct vb_scenario_run *run)
{
	vb_time at;
	const struct vb_deadlock *d = vb_sim_deadlock(run->sim, &at);
	uint32_t shown;

	if (!d)
		return;
	shown = d->cnt < VB_DEADLOCK_LANES_MAX ? d->cnt : VB_DEADLOCK_LANES_MAX;
	fprintf(f, "deadlock       at %.1f us: ", (double)at / 1e3);
	for (uint32_t i = 0; i < shown; i++)
		fprintf(f, "%u lane %u -> ", node_of(run, d->lane[i].hop), d->lane[i].vl);
	if (shown < d->cnt)
		fprintf(f, "(%u more) -> ", d->cnt - shown);
	fprintf(f, "%u\n", node_of(run, d->lane[0].hop));
}

void vb_sim_print_lanes(FILE *f, const struct vb_scenario_run *run)
{
	struct vb_ib_lane_stats lane[VB_VL_DATA_MAX] = {{0}};
	uint64_t wait = 0, wait_most = 0, overruns = 0, discards = 0, flow = 0;
	struct vb_sim_ib_stats st = {.lane_cnt = 0};

	for (uint32_t i = 0; i < vb_sim_port_cnt(run->sim); i++) {
		if (!vb_sim_ib_port_stats(run->sim, i, &st))
			return;
		wait += st.counters.xmit_wait_ns;
		if (st.counters.xmit_wait_ns > wait_most)
			wait_most = st.counters.xmit_wait_ns;
		overruns += st.counters.buffer_overruns;
		discards += st.counters.xmit_discards;
		flow += st.flow_sent;
		for (uint32_t vl = 0; vl < st.lane_cnt; vl++) {
			lane[vl].tx_pkts += st.lane[vl].tx_pkts;
			lane[vl].tx_bytes += st.lane[vl].tx_bytes;
			if (st.lane[vl].buffer_max > lane[vl].buffer_max)
				lane[vl].buffer_max = st.lane[vl].buffer_max;
		}
	}
	fprintf(f,
		"credits        waited for %.1f us, at most %.1f at one port; %" PRIu64
		" overruns, %" PRIu64 " discarded, %" PRIu64 " flow control packets\n",
		(double)wait / 1e3, (double)wait_most / 1e3, overruns, discards, flow);
	for (uint32_t vl = 0; vl < st.lane_cnt; vl++)
		fprintf(f,
			"  lane %-2u      %" PRIu64 " packets, %" PRIu64
			" bytes; buffers at most %u of %u blocks full\n",
			vl, lane[vl].tx_pkts, lane[vl].tx_bytes, lane[vl].buffer_max, st.capacity);
	print_deadlock(f, run);
}

void vb_sim_write_lanes(FILE *f, const struct vb_scenario_run *run, const struct vb_report *r)
{
	struct vb_sim_ib_stats st;

	(void)r;
	fputs("cable,from,to,lane,packets,bytes,buffer_max_blocks,buffer_blocks,port_wait_ns\n", f);
	for (uint32_t i = 0; i < vb_sim_port_cnt(run->sim); i++) {
		if (!vb_sim_ib_port_stats(run->sim, i, &st))
			return;
		for (uint32_t vl = 0; vl < st.lane_cnt; vl++)
			fprintf(f, "%u,%u,%u,%u,%" PRIu64 ",%" PRIu64 ",%u,%u,%" PRIu64 "\n", i / 2,
				node_of(run, i), node_of(run, vb_sim_port_peer(i)), vl,
				st.lane[vl].tx_pkts, st.lane[vl].tx_bytes, st.lane[vl].buffer_max,
				st.capacity, st.counters.xmit_wait_ns);
	}
}
