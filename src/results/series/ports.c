/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ports over time, and their priorities or lanes: queues, marks, pauses, drops, CNPs, utilisation.
 * A queue is the fullest just before a packet leaves it; so its most is found without a look at
 * each packet that joins.
 */
#include "results/series/priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define NO_PLACE UINT32_MAX

enum {
	QUEUE,
	QUEUE_MAX,
	MARKS,
	PAUSES_SENT,
	PAUSED,
	CREDIT_WAIT,
	DROPS,
	TX_BYTES,
	UTILISATION,
	CNPS,
	BECNS,
	PORT_COLUMN_CNT
};

static const struct vb_table_column port_columns[PORT_COLUMN_CNT] = {
    [QUEUE] = {"queue_bytes", VB_RECORD_QUEUE, VB_TABLE_BOTH, false},
    [QUEUE_MAX] = {"queue_max_bytes", VB_RECORD_QUEUE, VB_TABLE_BOTH, false},
    [MARKS] = {"marks", VB_RECORD_MARKS, VB_TABLE_BOTH, false},
    [PAUSES_SENT] = {"pauses_sent", VB_RECORD_PAUSES, VB_TABLE_ETHERNET, false},
    [PAUSED] = {"paused_ns", VB_RECORD_PAUSES, VB_TABLE_ETHERNET, false},
    [CREDIT_WAIT] = {"credit_wait_ns", VB_RECORD_PAUSES, VB_TABLE_INFINIBAND, false},
    [DROPS] = {"drops", VB_RECORD_DROPS, VB_TABLE_BOTH, false},
    [TX_BYTES] = {"tx_bytes", VB_RECORD_UTILISATION, VB_TABLE_BOTH, false},
    [UTILISATION] = {"utilisation", VB_RECORD_UTILISATION, VB_TABLE_BOTH, true},
    [CNPS] = {"cnps", VB_RECORD_CNPS, VB_TABLE_BOTH, false},
    [BECNS] = {"becns", VB_RECORD_CNPS, VB_TABLE_INFINIBAND, false},
};

enum {
	LANE_QUEUE,
	LANE_QUEUE_MAX,
	LANE_BUFFER,
	LANE_BUFFER_MAX,
	LANE_MARKS,
	LANE_PAUSES,
	LANE_PAUSED,
	LANE_TX_BYTES,
	LANE_UTILISATION,
	LANE_CNPS,
	LANE_COLUMN_CNT
};

static const struct vb_table_column lane_columns[LANE_COLUMN_CNT] = {
    [LANE_QUEUE] = {"queue_bytes", VB_RECORD_QUEUE, VB_TABLE_ETHERNET, false},
    [LANE_QUEUE_MAX] = {"queue_max_bytes", VB_RECORD_QUEUE, VB_TABLE_ETHERNET, false},
    [LANE_BUFFER] = {"buffer_blocks", VB_RECORD_QUEUE, VB_TABLE_INFINIBAND, false},
    [LANE_BUFFER_MAX] = {"buffer_max_blocks", VB_RECORD_QUEUE, VB_TABLE_INFINIBAND, false},
    [LANE_MARKS] = {"marks", VB_RECORD_MARKS, VB_TABLE_ETHERNET, false},
    [LANE_PAUSES] = {"pauses_taken", VB_RECORD_PAUSES, VB_TABLE_ETHERNET, false},
    [LANE_PAUSED] = {"paused_ns", VB_RECORD_PAUSES, VB_TABLE_ETHERNET, false},
    [LANE_TX_BYTES] = {"tx_bytes", VB_RECORD_UTILISATION, VB_TABLE_BOTH, false},
    [LANE_UTILISATION] = {"utilisation", VB_RECORD_UTILISATION, VB_TABLE_BOTH, true},
    [LANE_CNPS] = {"cnps", VB_RECORD_CNPS, VB_TABLE_BOTH, false},
};

/* "record: there is no port 16.9: node 16 has 0 to 5"; 0: all ports that are listed exist. */
static int check_listed(const struct vb_sim_series *s, const struct vb_record_ports *p, char *err,
			size_t len)
{
	const struct vb_sim *sim = s->run->sim;
	uint32_t nodes = s->run->topo.host_cnt + s->run->topo.switch_cnt;

	for (uint32_t i = 0; i < p->cnt; i++) {
		uint32_t node = p->port[i].node, idx = p->port[i].idx, cnt = 0;

		if (node >= nodes) {
			snprintf(err, len, "record: there is no node %u: nodes are 0 to %u", node,
				 nodes - 1);
			return -EINVAL;
		}
		if (idx == VB_RECORD_EACH_PORT || vb_sim_port_of(sim, node, idx) != UINT32_MAX)
			continue;
		while (vb_sim_port_of(sim, node, cnt) != UINT32_MAX)
			cnt++;
		snprintf(err, len,
			 "record: there is no port %u.%u: ports of node %u are %u.0 to %u.%u", node,
			 idx, node, node, node, cnt - 1);
		return -EINVAL;
	}
	return 0;
}

static bool is_wanted(const struct vb_record *rec, uint32_t node, uint32_t idx)
{
	bool is_in = vb_record_has_port(&rec->ports, node, idx);

	for (uint32_t i = 0; !is_in && i < rec->group_cnt; i++)
		is_in = rec->group[i].is_of_ports &&
			vb_record_has_port(&rec->group[i].ports, node, idx);
	return is_in;
}

/* Visits the ports that are wanted, in the order of nodes. */
static void ports_list(struct vb_sim_series *s)
{
	struct vb_series_ports *w = &s->ports;
	uint32_t nodes = s->run->topo.host_cnt + s->run->topo.switch_cnt;

	for (uint32_t node = 0; node < nodes; node++) {
		for (uint32_t idx = 0;; idx++) {
			uint32_t id = vb_sim_port_of(s->run->sim, node, idx);

			if (id == UINT32_MAX)
				break;
			if (!is_wanted(s->rec, node, idx))
				continue;
			w->place[id] = w->port_cnt;
			w->port[w->port_cnt] = (struct vb_series_port){
			    .id = id,
			    .node = node,
			    .idx = idx,
			    .is_at_host = node < s->run->topo.host_cnt,
			    .lane = &w->lane[(size_t)w->port_cnt * w->lane_cnt]};
			w->port_cnt++;
		}
	}
}

static int ports_make(struct vb_sim_series *s)
{
	struct vb_series_ports *w = &s->ports;
	uint32_t cnt = vb_sim_port_cnt(s->run->sim);

	w->place = malloc(cnt * sizeof *w->place);
	w->port = calloc(cnt, sizeof *w->port);
	w->row = calloc(cnt, sizeof *w->row);
	w->lane = calloc((size_t)cnt * w->lane_cnt, sizeof *w->lane);
	if (!w->place || !w->port || !w->row || !w->lane)
		return -ENOMEM;
	for (uint32_t i = 0; i < cnt; i++)
		w->place[i] = NO_PLACE;
	ports_list(s);
	return 0;
}

int vb_series_ports_begin(struct vb_sim_series *s, const char *dir, char *err, size_t err_len)
{
	struct vb_series_ports *w = &s->ports;
	enum vb_table_links links = s->sc->link_kind ? VB_TABLE_INFINIBAND : VB_TABLE_ETHERNET;
	int bad = check_listed(s, &s->rec->ports, err, err_len);

	for (uint32_t i = 0; !bad && i < s->rec->group_cnt; i++)
		bad = check_listed(s, &s->rec->group[i].ports, err, err_len);
	if (bad || !(s->rec->series & VB_RECORD_OF_PORTS))
		return bad;
	w->lane_cnt = s->sc->link_kind ? s->sc->ib.lanes : VB_PRIORITY_CNT;
	vb_table_choose(&w->table, port_columns, PORT_COLUMN_CNT, s->rec->series, links);
	vb_table_choose(&w->lanes, lane_columns, LANE_COLUMN_CNT, s->rec->series, links);
	w->has_packets = w->lanes.kept != 0;
	bad = ports_make(s);
	if (!bad)
		bad = vb_table_begin(&w->table, dir, "port_series.csv", "cable,from,port,to");
	if (!bad)
		bad = vb_table_begin(&w->lanes, dir, "lane_series.csv", "cable,from,port,to,lane");
	return bad;
}

bool vb_series_port_is_in(const struct vb_sim_series *s, uint32_t place,
			  const struct vb_record_ports *ports)
{
	const struct vb_series_port *p = &s->ports.port[place];

	return vb_record_has_port(ports, p->node, p->idx);
}

static uint64_t share_of(const struct vb_sim_series *s, uint32_t port, uint64_t bytes,
			 uint64_t pkts, vb_dur ns)
{
	uint64_t gap = s->sc->link_kind ? VB_FRAME_IB_GAP : VB_FRAME_GAP;
	double bits = (double)(bytes + pkts * gap) * 8;

	if (ns == 0)
		return 0;
	return (uint64_t)(bits * 1e9 * VB_TABLE_SHARE /
			      ((double)vb_sim_port_rate(s->run->sim, port) * (double)ns) +
			  0.5);
}

/* The counts of InfiniBand of a port. */
static void credits_sample(struct vb_sim_series *s, struct vb_series_port *p,
			   struct vb_table_row *row, vb_time at)
{
	struct vb_sim_ib_stats st;
	vb_dur wait;

	if (!vb_sim_ib_port_stats(s->run->sim, p->id, &st))
		return;
	wait = vb_sim_credit_wait_ns(s->run->sim, p->id, at);
	vb_row_set(row, MARKS, st.marks - p->marks);
	vb_row_set(row, BECNS, st.becns - p->becns);
	vb_row_set(row, CREDIT_WAIT, wait - p->credit_wait_ns);
	p->marks = st.marks;
	p->becns = st.becns;
	p->credit_wait_ns = wait;
}

/* The values of a port in the interval that ends @at, but for its pauses. */
static void port_sample(struct vb_sim_series *s, struct vb_series_port *p, struct vb_table_row *row,
			vb_time at)
{
	uint64_t waiting = vb_sim_port_waiting(s->run->sim, p->id);
	struct vb_port_stats st;

	vb_sim_port_stats(s->run->sim, p->id, &st);
	*row = (struct vb_table_row){.object = (uint32_t)(p - s->ports.port)};
	vb_row_set(row, QUEUE, waiting);
	vb_row_set(row, QUEUE_MAX, waiting > p->queue_max ? waiting : p->queue_max);
	vb_row_set(row, MARKS, st.marks - p->before.marks);
	vb_row_set(row, PAUSES_SENT, st.pauses_sent - p->before.pauses_sent);
	vb_row_set(row, DROPS, st.drops - p->before.drops);
	vb_row_set(row, TX_BYTES, st.tx_bytes - p->before.tx_bytes);
	vb_row_set(row, UTILISATION,
		   share_of(s, p->id, st.tx_bytes - p->before.tx_bytes,
			    st.tx_pkts - p->before.tx_pkts, at - s->last));
	vb_row_set(row, CNPS, p->cnps);
	credits_sample(s, p, row, at);
	p->before = st;
	p->queue_max = waiting;
	p->cnps = 0;
	if (!p->is_at_host) {
		s->ports.queues[vb_queue_class((uint32_t)waiting)]++;
		if (waiting > s->ports.queue_most)
			s->ports.queue_most = waiting;
	}
}

static void priority_sample(struct vb_sim_series *s, struct vb_series_port *p, uint32_t lane,
			    struct vb_table_row *row, vb_time at)
{
	struct vb_series_lane *l = &p->lane[lane];
	struct vb_sim_priority now;

	vb_sim_priority_at(s->run->sim, p->id, (uint8_t)lane, at, &now);
	vb_row_set(row, LANE_QUEUE, now.waiting);
	vb_row_set(row, LANE_QUEUE_MAX, now.waiting > l->queue_max ? now.waiting : l->queue_max);
	vb_row_set(row, LANE_PAUSES, now.holds - l->holds);
	vb_row_set(row, LANE_PAUSED, now.held_ns - l->held_ns);
	p->paused_ns += now.held_ns - l->held_ns;
	l->is_used |= now.holds != 0 || now.waiting != 0;
	l->holds = now.holds;
	l->held_ns = now.held_ns;
	l->queue_max = now.waiting;
}

static void buffer_sample(struct vb_sim_series *s, struct vb_series_port *p, uint32_t lane,
			  struct vb_table_row *row)
{
	struct vb_series_lane *l = &p->lane[lane];
	uint32_t used = vb_sim_lane_used(s->run->sim, p->id, (uint8_t)lane);

	vb_row_set(row, LANE_BUFFER, used);
	vb_row_set(row, LANE_BUFFER_MAX, used > l->blocks_max ? used : l->blocks_max);
	l->blocks_max = used;
}

static void object_print(const struct vb_sim_series *s, FILE *f, const struct vb_series_port *p,
			 vb_time at)
{
	const struct vb_sim_topo_link *l = &s->run->topo.link[p->id / 2];

	fprintf(f, "%" PRIu64 ",%u,%u,%u,%u", at, p->id / 2, p->node, p->idx,
		p->id & 1 ? l->a : l->b);
}

/* A lane has rows from its first use on. */
static void lane_sample(struct vb_sim_series *s, struct vb_series_port *p, uint32_t lane,
			vb_time at)
{
	struct vb_series_ports *w = &s->ports;
	struct vb_series_lane *l = &p->lane[lane];
	struct vb_table_row row = {.object = lane};

	if (s->sc->link_kind)
		buffer_sample(s, p, lane, &row);
	else
		priority_sample(s, p, lane, &row, at);
	vb_row_set(&row, LANE_MARKS, l->marks);
	vb_row_set(&row, LANE_TX_BYTES, l->tx_bytes);
	vb_row_set(&row, LANE_UTILISATION,
		   share_of(s, p->id, l->tx_bytes, l->tx_pkts, at - s->last));
	vb_row_set(&row, LANE_CNPS, l->cnps);
	l->tx_bytes = 0;
	l->tx_pkts = l->marks = l->cnps = 0;
	if (!l->is_used || !w->lanes.is_open ||
	    !vb_record_has_port(&s->rec->ports, p->node, p->idx))
		return;
	object_print(s, w->lanes.file.f, p, at);
	fprintf(w->lanes.file.f, ",%u", lane);
	vb_table_values(&w->lanes, &row);
}

void vb_series_ports_sample(struct vb_sim_series *s, vb_time at)
{
	struct vb_series_ports *w = &s->ports;

	for (uint32_t i = 0; i < w->port_cnt; i++) {
		struct vb_series_port *p = &w->port[i];

		port_sample(s, p, &w->row[i], at);
		p->paused_ns = 0;
		for (uint32_t lane = 0; lane < w->lane_cnt; lane++)
			lane_sample(s, p, lane, at);
		vb_row_set(&w->row[i], PAUSED, p->paused_ns);
		if (!w->table.is_open || !vb_series_port_is_in(s, i, &s->rec->ports))
			continue;
		object_print(s, w->table.file.f, p, at);
		vb_table_values(&w->table, &w->row[i]);
	}
}

static void queue_left(struct vb_sim_series *s, struct vb_series_port *p, struct vb_series_lane *l,
		       const struct vb_frame *pkt)
{
	uint64_t before = vb_sim_port_waiting(s->run->sim, p->id) + pkt->frame_len;
	struct vb_sim_priority now;

	/* An Ethernet adapter's packets are made when the cable is free: none wait. */
	if (p->is_at_host && !s->sc->link_kind)
		return;
	if (before > p->queue_max)
		p->queue_max = before;
	if (s->sc->link_kind)
		return;
	vb_sim_priority_at(s->run->sim, p->id, pkt->prio, s->last, &now);
	if (now.waiting + pkt->frame_len > l->queue_max)
		l->queue_max = now.waiting + pkt->frame_len;
}

void vb_series_ports_packet(struct vb_sim_series *s, uint32_t port, enum vb_cable_tap_dir dir,
			    const struct vb_frame *pkt)
{
	struct vb_series_ports *w = &s->ports;
	struct vb_series_port *p;
	struct vb_series_lane *l;
	bool is_cnp = pkt->bytes[0] == VB_OPCODE_CNP;

	if (!w->place || w->place[port] == NO_PLACE || pkt->prio >= w->lane_cnt)
		return;
	p = &w->port[w->place[port]];
	l = &p->lane[pkt->prio];
	l->is_used = true;
	if (dir == VB_CABLE_SENT) {
		l->tx_bytes += pkt->frame_len;
		l->tx_pkts++;
		l->cnps += is_cnp;
		p->cnps += is_cnp;
		queue_left(s, p, l, pkt);
	} else if (s->sc->link_kind && !pkt->corrupt) {
		uint32_t used = vb_sim_lane_used(s->run->sim, port, pkt->prio);

		if (used + vb_blocks(pkt->frame_len) > l->blocks_max)
			l->blocks_max = used + vb_blocks(pkt->frame_len);
	}
}

void vb_series_ports_marked(struct vb_sim_series *s, uint32_t port, uint32_t prio)
{
	struct vb_series_ports *w = &s->ports;

	if (w->place && w->place[port] != NO_PLACE && prio < w->lane_cnt)
		w->port[w->place[port]].lane[prio].marks++;
}

void vb_sim_series_write_cdf(const struct vb_sim_series *s, FILE *f)
{
	const struct vb_series_ports *w = &s->ports;
	uint64_t all = 0, sum = 0;

	for (uint32_t i = 0; i < VB_QUEUE_CLASSES; i++)
		all += w->queues[i];
	for (uint32_t i = 0; s->rec->series >> VB_RECORD_QUEUE & 1 && i < VB_QUEUE_CLASSES; i++) {
		uint64_t top = vb_queue_class_top(i);

		if (w->queues[i] == 0)
			continue;
		sum += w->queues[i];
		fprintf(f, "queue_bytes,%" PRIu64 ",%.6f\n",
			top < w->queue_most ? top : w->queue_most, (double)sum / (double)all);
	}
}

void vb_series_ports_free(struct vb_series_ports *w)
{
	free(w->place);
	free(w->port);
	free(w->row);
	free(w->lane);
}
