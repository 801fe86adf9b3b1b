/* SPDX-License-Identifier: BSD-2-Clause */
/* The results of InfiniBand: lanes, credits, and a deadlock by the nodes in it. See lanes.h. */
#include "results/lanes.h"

#include <inttypes.h>
#include <string.h>

static uint32_t node_of(const struct vb_scenario_run *run, uint32_t port)
{
	const struct vb_sim_topo_link *l = &run->topo.link[port / 2];

	return port & 1 ? l->b : l->a;
}

/* The number of the node, or the name that its file gives it. */
static void print_node(FILE *f, const struct vb_scenario_run *run, uint32_t port)
{
	if (run->fabric)
		fputs(vb_fabric_name(run->fabric, node_of(run, port)), f);
	else
		fprintf(f, "%u", node_of(run, port));
}

bool vb_sim_deadlock_text(const struct vb_scenario_run *run, char *text, size_t size)
{
	vb_time at;
	const struct vb_deadlock *d = vb_sim_deadlock(run->sim, &at);
	uint32_t shown;
	FILE *f;

	if (!d)
		return false;
	shown = d->cnt < VB_DEADLOCK_LANES_MAX ? d->cnt : VB_DEADLOCK_LANES_MAX;
	f = fmemopen(text, size, "w");
	if (!f)
		return false;
	fprintf(f, "at %.1f us: ", (double)at / 1e3);
	for (uint32_t i = 0; i < shown; i++) {
		print_node(f, run, d->lane[i].hop);
		fprintf(f, " lane %u -> ", d->lane[i].vl);
	}
	if (shown < d->cnt)
		fprintf(f, "(%u more) -> ", d->cnt - shown);
	print_node(f, run, d->lane[0].hop);
	fclose(f);
	text[size - 1] = 0;
	return true;
}

static uint64_t packets_sent(const struct vb_sim_ib_stats *st)
{
	uint64_t cnt = 0;

	for (uint32_t vl = 0; vl < st->lane_cnt; vl++)
		cnt += st->lane[vl].tx_pkts;
	return cnt;
}

static void router_add(struct vb_sim_lanes *l, const struct vb_sim_ib_stats *st)
{
	if (st->lid == 0)
		return;
	l->router_ports++;
	l->routed += packets_sent(st);
	l->not_routed += st->not_routed;
	l->hops_ended += st->hops_ended;
	l->misrouted += st->misrouted;
}

bool vb_sim_lanes_sum(struct vb_sim_lanes *l, const struct vb_scenario_run *run)
{
	struct vb_sim_ib_stats st;

	memset(l, 0, sizeof *l);
	for (uint32_t i = 0; i < vb_sim_port_cnt(run->sim); i++) {
		if (!vb_sim_ib_port_stats(run->sim, i, &st))
			return false;
		l->wait_ns += st.counters.xmit_wait_ns;
		if (st.counters.xmit_wait_ns > l->wait_most_ns)
			l->wait_most_ns = st.counters.xmit_wait_ns;
		l->overruns += st.counters.buffer_overruns;
		l->discards += st.counters.xmit_discards;
		l->flow += st.flow_sent;
		l->bad += st.counters.rcv_errors;
		l->ended_bad += st.counters.remote_physical_errors;
		l->barred_in += st.rcv_constraint_errors;
		l->barred_out += st.xmit_constraint_errors;
		l->marks += st.marks;
		l->becns += st.becns;
		if (st.index_max > l->index_max)
			l->index_max = st.index_max;
		router_add(l, &st);
		l->lane_cnt = st.lane_cnt;
		l->capacity = st.capacity;
		for (uint32_t vl = 0; vl < st.lane_cnt; vl++) {
			l->lane[vl].tx_pkts += st.lane[vl].tx_pkts;
			l->lane[vl].tx_bytes += st.lane[vl].tx_bytes;
			if (st.lane[vl].buffer_max > l->lane[vl].buffer_max)
				l->lane[vl].buffer_max = st.lane[vl].buffer_max;
		}
	}
	return true;
}

void vb_sim_print_lanes(FILE *f, const struct vb_scenario_run *run)
{
	char text[2048];
	struct vb_sim_lanes l;

	if (!vb_sim_lanes_sum(&l, run))
		return;
	fprintf(f,
		"credits        waited for %.1f us, at most %.1f at one port; %" PRIu64
		" overruns, %" PRIu64 " discarded, %" PRIu64 " flow control packets\n",
		(double)l.wait_ns / 1e3, (double)l.wait_most_ns / 1e3, l.overruns, l.discards,
		l.flow);
	if (l.marks || l.becns)
		fprintf(f,
			"congestion     %" PRIu64 " packets with FECN, %" PRIu64
			" BECN; index at most %u\n",
			l.marks, l.becns, l.index_max);
	if (l.bad || l.ended_bad)
		fprintf(f,
			"damage         ports have %" PRIu64 " packets with errors, %" PRIu64
			" that ended as bad ones\n",
			l.bad, l.ended_bad);
	if (l.barred_in || l.barred_out)
		fprintf(f,
			"partitions     switches bar %" PRIu64 " packets that come in, %" PRIu64
			" that go out\n",
			l.barred_in, l.barred_out);
	if (l.router_ports)
		fprintf(f,
			"routers        send %" PRIu64 " packets on; %" PRIu64
			" at the end of their hop limit, %" PRIu64 " not routed, %" PRIu64
			" to another LID\n",
			l.routed, l.hops_ended, l.not_routed, l.misrouted);
	for (uint32_t vl = 0; vl < l.lane_cnt; vl++)
		fprintf(f,
			"  lane %-2u      %" PRIu64 " packets, %" PRIu64
			" bytes; buffers at most %u of %u blocks full\n",
			vl, l.lane[vl].tx_pkts, l.lane[vl].tx_bytes, l.lane[vl].buffer_max,
			l.capacity);
	if (vb_sim_deadlock_text(run, text, sizeof text))
		fprintf(f, "deadlock       %s\n", text);
}

/* A name from a file may have any bytes. */
static void json_text(FILE *f, const char *text)
{
	putc('"', f);
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == '"' || *text == '\\')
			fprintf(f, "\\u%04x", (unsigned char)*text);
		else
			putc(*text, f);
	putc('"', f);
}

static void json_deadlock(FILE *f, const struct vb_scenario_run *run)
{
	vb_time at;
	const struct vb_deadlock *d = vb_sim_deadlock(run->sim, &at);

	if (!d) {
		fputs("null", f);
		return;
	}
	fprintf(f, "{\"at_ns\": %" PRIu64 ", \"lanes\": %u, \"cycle\": [", at, d->cnt);
	for (uint32_t i = 0; i < d->cnt && i < VB_DEADLOCK_LANES_MAX; i++) {
		uint32_t node = node_of(run, d->lane[i].hop);

		fprintf(f, "%s{\"node\": %u, ", i ? ", " : "", node);
		if (run->fabric) {
			fputs("\"name\": ", f);
			json_text(f, vb_fabric_name(run->fabric, node));
			fputs(", ", f);
		}
		fprintf(f, "\"cable\": %u, \"lane\": %u}", d->lane[i].hop / 2, d->lane[i].vl);
	}
	fputs("]}", f);
}

void vb_sim_write_lanes_json(FILE *f, const struct vb_scenario_run *run)
{
	struct vb_sim_lanes l;

	if (!vb_sim_lanes_sum(&l, run))
		return;

	const struct {
		const char *name;
		uint64_t v;
	} number[] = {{"credit_wait_ns", l.wait_ns},
		      {"credit_wait_max_ns", l.wait_most_ns},
		      {"overruns", l.overruns},
		      {"discards", l.discards},
		      {"flow_packets", l.flow},
		      {"fecn", l.marks},
		      {"becn", l.becns},
		      {"congestion_index_max", l.index_max},
		      {"barred_in", l.barred_in},
		      {"barred_out", l.barred_out},
		      {"routed", l.routed},
		      {"not_routed", l.not_routed},
		      {"hops_ended", l.hops_ended},
		      {"misrouted", l.misrouted},
		      {"buffer_blocks", l.capacity}};

	fputs("  \"infiniband\": {", f);
	for (size_t i = 0; i < sizeof number / sizeof number[0]; i++)
		fprintf(f, "\"%s\": %" PRIu64 ", ", number[i].name, number[i].v);
	fputs("\"lanes\": [", f);
	for (uint32_t vl = 0; vl < l.lane_cnt; vl++)
		fprintf(f,
			"%s{\"packets\": %" PRIu64 ", \"bytes\": %" PRIu64
			", \"buffer_max_blocks\": %u}",
			vl ? ", " : "", l.lane[vl].tx_pkts, l.lane[vl].tx_bytes,
			l.lane[vl].buffer_max);
	fputs("], \"deadlock\": ", f);
	json_deadlock(f, run);
	fputs("},\n", f);
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

void vb_sim_write_routers(FILE *f, const struct vb_scenario_run *run, const struct vb_report *r)
{
	struct vb_sim_ib_stats st;

	(void)r;
	fputs("router,cable,prefix,lid,sent_on,hops_ended,not_routed,misrouted\n", f);
	for (uint32_t i = 0; i < vb_sim_port_cnt(run->sim); i++)
		if (vb_sim_ib_port_stats(run->sim, i, &st) && st.lid != 0)
			fprintf(f,
				"%u,%u,0x%016" PRIx64 ",%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64
				",%" PRIu64 "\n",
				node_of(run, i), i / 2, st.prefix, st.lid, packets_sent(&st),
				st.hops_ended, st.not_routed, st.misrouted);
}
