/* SPDX-License-Identifier: BSD-2-Clause */
/* Flows over time: bytes that were acknowledged, windows, congestion control, round-trip times. */
#include "core/cc/settings.h"
#include "core/view.h"
#include "results/series/priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ACKED, RATE, INFLIGHT, WINDOW, CC_RATE, CC_TARGET, ALPHA, RTT, CNPS, COLUMN_CNT };

static const struct vb_table_column columns[COLUMN_CNT] = {
    [ACKED] = {"acked_bytes", VB_RECORD_RATE, VB_TABLE_BOTH, false},
    [RATE] = {"rate_bps", VB_RECORD_RATE, VB_TABLE_BOTH, false},
    [INFLIGHT] = {"inflight_bytes", VB_RECORD_INFLIGHT, VB_TABLE_BOTH, false},
    [WINDOW] = {"window_bytes", VB_RECORD_WINDOW, VB_TABLE_BOTH, false},
    [CC_RATE] = {"cc_rate_bps", VB_RECORD_CC_RATE, VB_TABLE_BOTH, false},
    [CC_TARGET] = {"cc_target_bps", VB_RECORD_CC_TARGET, VB_TABLE_BOTH, false},
    [ALPHA] = {"alpha", VB_RECORD_ALPHA, VB_TABLE_BOTH, true},
    [RTT] = {"rtt_ns", VB_RECORD_RTT, VB_TABLE_BOTH, false},
    [CNPS] = {"cnps", VB_RECORD_CNPS, VB_TABLE_BOTH, false},
};

bool vb_series_grow(struct vb_sim_series *s, void *array, uint32_t *room, uint32_t cnt, size_t size)
{
	uint32_t to = *room < 64 ? 64 : *room;
	void *old, *mem;

	if (cnt <= *room)
		return true;
	while (to < cnt)
		to = to <= UINT32_MAX / 2 ? 2 * to : UINT32_MAX;
	memcpy(&old, array, sizeof old);
	mem = realloc(old, to * size);
	if (!mem) {
		s->err = -ENOMEM;
		return false;
	}
	memcpy(array, &mem, sizeof mem);
	*room = to;
	return true;
}

int vb_series_flows_begin(struct vb_sim_series *s, const char *dir)
{
	struct vb_series_flows *w = &s->flows;

	w->ends.load = s->run->load;
	w->ends.sim = s->run->sim;
	vb_table_choose(&w->table, columns, COLUMN_CNT, s->rec->series, VB_TABLE_BOTH);
	w->has_packets = w->table.kept & (1u << RTT | 1u << CNPS);
	return vb_table_begin(&w->table, dir, "flow_series.csv", "flow,src,dst");
}

/* The flow is in the file or in a group. */
static bool is_wanted(const struct vb_record *rec, uint32_t flow)
{
	bool is_in = vb_record_has_flow(&rec->flows, flow);

	for (uint32_t i = 0; !is_in && i < rec->group_cnt; i++)
		is_in =
		    !rec->group[i].is_of_ports && vb_record_has_flow(&rec->group[i].flows, flow);
	return is_in;
}

/* Takes over flows that have been made since. */
static void learn_flows(struct vb_sim_series *s)
{
	struct vb_series_flows *w = &s->flows;
	uint32_t cnt = vb_load_flow_cnt(s->run->load);

	if (cnt == w->flow_cnt ||
	    !vb_series_grow(s, &w->flow, &w->flow_room, cnt, sizeof *w->flow) ||
	    !vb_series_grow(s, &w->active, &w->active_room, w->active_cnt + cnt - w->flow_cnt,
			    sizeof *w->active))
		return;
	for (; w->flow_cnt < cnt; w->flow_cnt++) {
		w->flow[w->flow_cnt] = (struct vb_series_flow){.is_new = true, .is_active = true};
		w->active[w->active_cnt++] = w->flow_cnt;
	}
}

static uint64_t per_second(uint64_t amount, vb_dur ns)
{
	return ns ? (uint64_t)((double)amount * 1e9 / (double)ns + 0.5) : 0;
}

/* The least of the windows that there are; UINT64_MAX: none is. */
static uint64_t window_of(const struct vb_qp_view *v, uint32_t mtu)
{
	uint64_t least = v->window_pkts ? (uint64_t)v->window_pkts * mtu : UINT64_MAX;

	return v->peer_window && v->peer_window < least ? v->peer_window : least;
}

static void window_set(struct vb_sim_series *s, struct vb_table_row *row, const struct vb_flow *f,
		       uint64_t left, vb_time at)
{
	uint32_t host, qpn, mtu = vb_load_mtu_bytes(s->run->load);
	struct vb_qp_view v;
	uint64_t inflight, window;

	vb_load_end(s->run->load, f->connection, 0, &host, &qpn);
	if (!vb_hca_view(vb_sim_hca(s->run->sim, host), qpn, at, &v))
		return;
	inflight = (uint64_t)v.unacked * mtu;
	window = window_of(&v, mtu);
	vb_row_set(row, INFLIGHT, inflight < left ? inflight : left);
	if (window != UINT64_MAX)
		vb_row_set(row, WINDOW, window);
}

/* Congestion control is where the data comes from: of a READ at the other end. */
static void control_set(struct vb_sim_series *s, struct vb_table_row *row, const struct vb_flow *f,
			vb_time at)
{
	struct vb_qp_sample c;
	struct vb_qp_view v;
	uint32_t host, qpn;

	vb_load_end(s->run->load, f->connection, f->op == VB_LOAD_READ, &host, &qpn);
	if (host == UINT32_MAX || !vb_hca_sample(vb_sim_hca(s->run->sim, host), qpn, at, &c))
		return;
	if (!c.clk_hz) {
		/* An algorithm, which has a rate alone. */
		if (vb_hca_view(vb_sim_hca(s->run->sim, host), qpn, at, &v) && v.rate_bps)
			vb_row_set(row, CC_RATE, v.rate_bps);
		return;
	}
	vb_row_set(row, CC_RATE, vb_cc_bps((uint32_t)c.rate << 8, c.clk_hz));
	vb_row_set(row, CC_TARGET, vb_cc_bps((uint32_t)c.target << 8, c.clk_hz));
	vb_row_set(row, ALPHA, ((uint64_t)c.alpha * VB_TABLE_SHARE + 512) / 1024);
}

/* A row with what was counted in the interval up to now, which begins anew. */
static void counts_take(struct vb_sim_series *s, struct vb_table_row *row, uint32_t record)
{
	struct vb_series_flow *mine = &s->flows.flow[record];
	const struct vb_flow *f = vb_load_flow(s->run->load, record);
	uint64_t acked =
	    f->status != VB_WC_SUCCESS ? mine->acked : vb_load_flow_completed(s->run->load, f);

	*row = (struct vb_table_row){.object = f->number, .src = f->src, .dst = f->dst};
	vb_row_set(row, ACKED, acked - mine->acked);
	vb_row_set(row, CNPS, mine->cnps);
	if (mine->rtt_cnt)
		vb_row_set(row, RTT, mine->rtt_sum / mine->rtt_cnt);
	mine->acked = acked;
	mine->rtt_sum = mine->rtt_cnt = mine->cnps = 0;
}

/* The values of a flow in the interval that ends @at. False: it was the last one. */
static bool flow_sample(struct vb_sim_series *s, struct vb_table_row *row, uint32_t record,
			vb_time at)
{
	const struct vb_flow *f = vb_load_flow(s->run->load, record);
	uint32_t kept = s->flows.table.kept;

	counts_take(s, row, record);
	if (f->status != VB_WC_SUCCESS || f->done != VB_NEVER) {
		vb_row_set(row, INFLIGHT, 0);
		return false;
	}
	if (f->connection != UINT32_MAX && kept & (1u << INFLIGHT | 1u << WINDOW))
		window_set(s, row, f, f->bytes - s->flows.flow[record].acked, at);
	if (f->connection != UINT32_MAX && kept & (1u << CC_RATE | 1u << CC_TARGET | 1u << ALPHA))
		control_set(s, row, f, at);
	return true;
}

static void row_write(const struct vb_sim_series *s, const struct vb_table_row *row, vb_time at)
{
	FILE *file = s->flows.table.file.f;

	fprintf(file, "%" PRIu64 ",%u,%u,", at, row->object, row->src);
	if (row->dst & VB_LOAD_GROUP)
		fprintf(file, "group %u", row->dst & ~VB_LOAD_GROUP);
	else
		fprintf(file, "%u", row->dst);
	vb_table_values(&s->flows.table, row);
}

bool vb_series_flows_run(struct vb_sim_series *s, vb_time at)
{
	if (s->flows.table.is_open)
		learn_flows(s);
	for (uint32_t i = 0; i < s->flows.active_cnt; i++)
		if (vb_load_flow(s->run->load, s->flows.active[i])->start < at)
			return true;
	return s->flows.row_cnt > 0;
}

/* A record is asked for its flow when that has begun. False: it is not wanted. */
static bool check_wanted(struct vb_sim_series *s, uint32_t record)
{
	struct vb_series_flow *mine = &s->flows.flow[record];

	if (!mine->is_new)
		return true;
	mine->is_new = false;
	return is_wanted(s->rec, vb_load_flow(s->run->load, record)->number);
}

void vb_sim_series_past(struct vb_sim_series *s, const struct vb_flow *f)
{
	struct vb_series_flows *w = &s->flows;
	uint32_t record = (uint32_t)(f - vb_load_flow(s->run->load, 0));
	struct vb_series_flow *mine;

	if (!w->table.is_open)
		return;
	learn_flows(s);
	if (record >= w->flow_cnt ||
	    !vb_series_grow(s, &w->row, &w->row_room, w->row_cnt + 1, sizeof *w->row) ||
	    !vb_series_grow(s, &w->active, &w->active_room, w->active_cnt + 1, sizeof *w->active))
		return;
	mine = &w->flow[record];
	if (mine->is_active && check_wanted(s, record)) {
		counts_take(s, &w->row[w->row_cnt], record);
		vb_row_set(&w->row[w->row_cnt++], INFLIGHT, 0);
	}
	if (!mine->is_active)
		w->active[w->active_cnt++] = record;
	*mine = (struct vb_series_flow){.is_new = true, .is_active = true};
}

void vb_series_flows_sample(struct vb_sim_series *s, vb_time at)
{
	struct vb_series_flows *w = &s->flows;
	uint32_t left = 0;

	if (!w->table.is_open)
		return;
	learn_flows(s);
	if (!vb_series_grow(s, &w->row, &w->row_room, w->row_cnt + w->active_cnt, sizeof *w->row))
		return;
	for (uint32_t i = 0; i < w->active_cnt; i++) {
		uint32_t record = w->active[i];

		if (check_wanted(s, record) && (vb_load_flow(s->run->load, record)->start >= at ||
						flow_sample(s, &w->row[w->row_cnt++], record, at)))
			w->active[left++] = record;
		else
			w->flow[record].is_active = false;
	}
	w->active_cnt = left;
	for (uint32_t i = 0; i < w->row_cnt; i++) {
		struct vb_table_row *row = &w->row[i];

		vb_row_set(row, RATE, per_second(row->v[ACKED] * 8, at - s->last));
		if (vb_record_has_flow(&s->rec->flows, row->object))
			row_write(s, row, at);
	}
}

/* The state of a connection, or NULL. */
static struct vb_series_probe *probe_of(struct vb_sim_series *s, uint32_t connection)
{
	struct vb_series_flows *w = &s->flows;
	uint32_t old = w->probe_cnt;

	if (connection >= old &&
	    !vb_series_grow(s, &w->probe, &w->probe_cnt, connection + 1, sizeof *w->probe))
		return NULL;
	for (; old < w->probe_cnt; old++)
		w->probe[old] = (struct vb_series_probe){.at = VB_NEVER};
	return &w->probe[connection];
}

/* The measurements of the flow that runs on a connection, or NULL. */
static struct vb_series_flow *measured_flow(struct vb_sim_series *s, uint32_t connection)
{
	uint32_t flow = vb_load_connection_flow(s->run->load, connection);

	learn_flows(s);
	return flow < s->flows.flow_cnt ? &s->flows.flow[flow] : NULL;
}

/* A request leaves: if it asks for an answer, the time to that one is measured, one at a time. One
 * that is sent again is not measured, nor what waits for it: whose answer came would not be known.
 */
static void request_sent(struct vb_series_probe *p, const struct vb_hdr *hdr, uint32_t psns,
			 vb_time now)
{
	bool is_again = p->begun && vb_psn_diff(hdr->psn, p->nxt) < 0;

	if (is_again) {
		p->at = VB_NEVER;
		return;
	}
	p->begun = true;
	p->nxt = vb_psn_add(hdr->psn, psns);
	if (p->at != VB_NEVER ||
	    !(hdr->ack_req || vb_hdr_opcode(hdr)->flags & (VB_OP_READ | VB_OP_ATOMIC)))
		return;
	p->at = now;
	p->psn = hdr->psn;
}

static void answer_came(struct vb_series_probe *p, struct vb_series_flow *flow,
			const struct vb_hdr *hdr, vb_time now)
{
	if (p->at == VB_NEVER || vb_psn_diff(hdr->psn, p->psn) < 0)
		return;
	if ((hdr->aeth.syndrome & VB_SYNDROME_CLASS) == VB_SYNDROME_ACK && flow) {
		flow->rtt_sum += now - p->at;
		flow->rtt_cnt++;
	}
	p->at = VB_NEVER;
}

void vb_series_flows_packet(struct vb_sim_series *s, uint32_t host, enum vb_cable_tap_dir dir,
			    const struct vb_frame *pkt, vb_time now)
{
	struct vb_series_probe *p;
	struct vb_series_flow *flow;
	struct vb_hdr hdr;
	uint32_t end;

	if (!s->flows.has_packets || !s->flows.table.is_open || pkt->corrupt ||
	    vb_hdr_parse(&hdr, pkt->bytes, pkt->hdr_len, pkt->len) != VB_VERDICT_OK)
		return;
	end = dir == VB_CABLE_SENT ? vb_end_origin(&s->flows.ends, host, pkt, &hdr)
				   : vb_end_of(&s->flows.ends, host, hdr.dqpn);
	if (end == VB_END_NONE)
		return;
	flow = measured_flow(s, end / 2);
	if (hdr.opcode == VB_OPCODE_CNP) {
		if (flow && dir == VB_CABLE_RECEIVED)
			flow->cnps++;
		return;
	}
	p = end & 1 ? NULL : probe_of(s, end / 2);
	if (!p)
		return;
	if (dir == VB_CABLE_SENT && vb_hdr_opcode(&hdr)->flags & VB_OP_REQUEST)
		request_sent(p, &hdr, vb_end_psns(&s->flows.ends, &hdr), now);
	else if (dir == VB_CABLE_RECEIVED && vb_hdr_opcode(&hdr)->flags & VB_OP_RESPONSE)
		answer_came(p, flow, &hdr, now);
}

void vb_series_flows_free(struct vb_series_flows *w)
{
	vb_ends_free(&w->ends);
	free(w->flow);
	free(w->active);
	free(w->probe);
	free(w->row);
}
