/* SPDX-License-Identifier: BSD-2-Clause */
/* Series over time and packets one by one, from what the simulator shows. See watch.h. */
#include "cmd/sim/watch.h"

#include "results/series/ends.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SLOT_NS 64
#define NONE VB_MAP_NONE

struct connection {
	/* PSNs of the requests of each end: the next new one, and the first without an answer. */
	struct vb_psn nxt[2], una[2];
	bool begun[2];
};

struct vb_watch {
	const struct vb_scenario_run *run;
	struct vb_series_set series;
	struct vb_ends ends;
	struct connection *connection;
	uint32_t connection_room;
	struct vb_map packets; /* address: its step, or NONE */
	struct vb_step *step;
	uint32_t step_cnt, last;
	uint64_t left_out;
	struct vb_stories *stories;
	int err;
};

struct vb_watch *vb_watch_new(void)
{
	struct vb_watch *w = calloc(1, sizeof *w);

	if (!w)
		return NULL;
	w->series.slot_ns = FIRST_SLOT_NS;
	w->series.sums = 1u << VB_WATCH_RATE;
	w->last = NONE;
	w->step = calloc(VB_WATCH_STEPS_MAX, sizeof *w->step);
	w->stories = calloc(1, sizeof *w->stories);
	if (!w->step || !w->stories) {
		free(w->step);
		free(w->stories);
		free(w);
		return NULL;
	}
	return w;
}

void vb_watch_begin(struct vb_watch *w, const struct vb_scenario_run *run)
{
	w->run = w->stories->run = run;
	w->ends.load = run->load;
	w->ends.sim = run->sim;
}

void vb_watch_free(struct vb_watch *w)
{
	if (!w)
		return;
	vb_series_free(&w->series);
	vb_ends_free(&w->ends);
	vb_map_free(&w->packets);
	free(w->connection);
	free(w->step);
	free(w->stories);
	free(w);
}

int vb_watch_error(const struct vb_watch *w)
{
	return w->err ? w->err : w->ends.err ? w->ends.err : w->series.err;
}

/* There is a record of each connection that has been learnt. */
static bool has_connections(struct vb_watch *w)
{
	uint32_t cnt = w->ends.connection_cnt;

	if (cnt > w->connection_room) {
		uint32_t room = cnt < 64 ? 64 : 2 * cnt;
		struct connection *c = realloc(w->connection, room * sizeof *c);

		if (!c) {
			w->err = -ENOMEM;
			return false;
		}
		memset(c + w->connection_room, 0, (room - w->connection_room) * sizeof *c);
		w->connection = c;
		w->connection_room = room;
	}
	return true;
}

/* 2 * connection + side of a QP, or NONE. */
static uint32_t end_of(struct vb_watch *w, uint32_t host, uint32_t qpn)
{
	uint32_t end = vb_end_of(&w->ends, host, qpn);

	return has_connections(w) ? end : NONE;
}

/* The same of the QP that has sent a packet. */
static uint32_t origin_of(struct vb_watch *w, uint32_t host, const struct vb_frame *pkt,
			  const struct vb_hdr *hdr)
{
	uint32_t end = vb_end_origin(&w->ends, host, pkt, hdr);

	return has_connections(w) ? end : NONE;
}

static struct vb_step *step_new(struct vb_watch *w, enum vb_step_kind kind, uint32_t end,
				bool is_trouble)
{
	if (w->step_cnt >= (is_trouble ? VB_WATCH_STEPS_MAX : VB_WATCH_STEPS_FIRST)) {
		w->left_out++;
		return NULL;
	}

	struct vb_step *s = &w->step[w->step_cnt++];

	s->kind = (uint8_t)kind;
	s->at = w->series.now;
	s->end = VB_NEVER;
	s->connection = end == NONE ? NONE : end / 2;
	s->side = end & 1;
	return s;
}

void vb_watch_event(struct vb_watch *w, const struct vb_trace_event *ev)
{
	struct vb_step *last = w->last == NONE ? NULL : &w->step[w->last], *s;
	uint32_t end;

	vb_series_reach(&w->series, ev->time);
	vb_stories_event(w->stories, ev);
	switch (ev->id) {
	case VB_TRACE_DROPPED: /* of the packet that has just arrived at a switch */
		if (!last)
			return;
		last->flags |= VB_STEP_LOST;
		last->end = ev->time;
		last->drop = (uint8_t)(1 + ev->arg[1]);
		return;
	case VB_TRACE_TIMER_FIRED:
	case VB_TRACE_REWOUND:
	case VB_TRACE_COMPLETION:
	case VB_TRACE_RETRY_ENDED:
		break;
	default:
		return;
	}
	end = end_of(w, ev->node, ev->qpn);
	s = end == NONE ? NULL
			: step_new(w,
				   ev->id == VB_TRACE_TIMER_FIRED  ? VB_STEP_TIMER
				   : ev->id == VB_TRACE_REWOUND    ? VB_STEP_REWOUND
				   : ev->id == VB_TRACE_COMPLETION ? VB_STEP_COMPLETION
								   : VB_STEP_GAVE_UP,
				   end, ev->id != VB_TRACE_COMPLETION || ev->arg[1] != 0);
	if (!s)
		return;
	s->end = s->at;
	/* The work request's number says nothing to a reader of the page. */
	s->a = (uint32_t)ev->arg[ev->id == VB_TRACE_COMPLETION];
	s->b = (uint32_t)ev->arg[ev->id == VB_TRACE_COMPLETION ? 2 : 1];
	s->c = (uint32_t)ev->arg[ev->id == VB_TRACE_COMPLETION ? 3 : 2];
}

static void window_sent(struct vb_watch *w, uint32_t end, const struct vb_hdr *hdr, bool *resent)
{
	struct connection *c = &w->connection[end / 2];
	uint32_t i = end & 1;
	struct vb_psn after = vb_psn_add(hdr->psn, vb_end_psns(&w->ends, hdr));

	if (!c->begun[i]) {
		c->begun[i] = true;
		c->una[i] = c->nxt[i] = hdr->psn;
	}
	*resent = vb_psn_diff(hdr->psn, c->nxt[i]) < 0;
	if (vb_psn_diff(after, c->nxt[i]) > 0)
		c->nxt[i] = after;
	vb_series_gauge(&w->series, VB_WATCH_WINDOW, end,
			(uint32_t)vb_psn_diff(c->nxt[i], c->una[i]));
}

static void window_answered(struct vb_watch *w, uint32_t end, const struct vb_hdr *hdr)
{
	struct connection *c = &w->connection[end / 2];
	uint32_t i = end & 1, class = hdr->aeth.syndrome & VB_SYNDROME_CLASS;
	/* A NAK acknowledges what is before its PSN. IBA 9.7.5.1.1 */
	struct vb_psn una = class == VB_SYNDROME_ACK ? vb_psn_add(hdr->psn, 1) : hdr->psn;

	if (!c->begun[i] || vb_psn_diff(una, c->una[i]) <= 0 || vb_psn_diff(una, c->nxt[i]) > 0)
		return;
	c->una[i] = una;
	vb_series_gauge(&w->series, VB_WATCH_WINDOW, end, (uint32_t)vb_psn_diff(c->nxt[i], una));
}

static void packet_left(struct vb_watch *w, uint32_t host, const struct vb_frame *pkt, uint64_t key)
{
	struct vb_hdr hdr;
	uint32_t end;
	bool resent = false;

	if (vb_map_get(&w->packets, key) != NONE) /* what had this place has never arrived */
		(void)vb_map_put(&w->packets, key, NONE);
	w->last = NONE;
	if (vb_hdr_parse(&hdr, pkt->bytes, pkt->hdr_len, pkt->len) != VB_VERDICT_OK)
		return;
	end = origin_of(w, host, pkt, &hdr);
	if (end == NONE)
		return;
	if ((vb_hdr_opcode(&hdr)->flags & VB_OP_REQUEST) &&
	    (hdr.opcode & VB_TRANSPORT_MASK) == VB_TRANSPORT_RC)
		window_sent(w, end, &hdr, &resent);

	struct vb_step *s =
	    step_new(w, VB_STEP_PACKET, end,
		     resent || (hdr.aeth.syndrome & VB_SYNDROME_CLASS) != VB_SYNDROME_ACK);

	if (!s)
		return;
	s->a = hdr.psn.v;
	s->b = vb_frame_payload_len(pkt);
	s->c = hdr.aeth.msn;
	s->opcode = hdr.opcode;
	s->syndrome = hdr.aeth.syndrome;
	s->flags = resent ? VB_STEP_RESENT : 0;
	w->last = w->step_cnt - 1;
	(void)vb_map_put(&w->packets, key, w->last);
}

static void packet_came(struct vb_watch *w, uint32_t host, const struct vb_frame *pkt, uint64_t key)
{
	uint32_t i = vb_map_get(&w->packets, key), to;
	struct vb_hdr hdr;

	vb_series_add(&w->series, VB_WATCH_RATE, host, pkt->frame_len);
	w->last = NONE;
	if (i != NONE) {
		struct vb_step *s = &w->step[i];

		s->end = w->series.now;
		if ((pkt->path.traffic_class & VB_ECN_MASK) == VB_ECN_CE)
			s->flags |= VB_STEP_CE;
		if (pkt->corrupt)
			s->flags |= VB_STEP_CORRUPT;
		(void)vb_map_put(&w->packets, key, NONE);
	}
	if (pkt->corrupt ||
	    vb_hdr_parse(&hdr, pkt->bytes, pkt->hdr_len, pkt->len) != VB_VERDICT_OK ||
	    !(vb_hdr_opcode(&hdr)->flags & VB_OP_RESPONSE))
		return;
	to = end_of(w, host, hdr.dqpn);
	if (to != NONE)
		window_answered(w, to, &hdr);
}

static void met_fault(struct vb_watch *w, struct vb_step *s, uint16_t mark)
{
	s->faults |= mark & ((1u << VB_FAULT_KIND_CNT) - 1);
	if (mark & VB_FAULT_MARK_DROPPED) {
		s->flags |= VB_STEP_LOST;
		s->end = w->series.now;
	}
}

/* The buffer of the lane by which a packet came into switch @node, or comes in by @port. */
static void buffer_changed(struct vb_watch *w, uint32_t node, uint32_t port,
			   enum vb_cable_tap_dir dir, const struct vb_frame *pkt)
{
	uint32_t used;
	uint8_t vl = dir == VB_CABLE_SENT ? pkt->in_vl : pkt->prio;

	if (dir == VB_CABLE_SENT)
		port = vb_sim_port_of(w->run->sim, node, pkt->in);
	used = vb_sim_lane_used(w->run->sim, port, vl);
	if (dir == VB_CABLE_RECEIVED)
		used += vb_blocks(pkt->frame_len);
	vb_series_gauge(&w->series, VB_WATCH_BUFFER, VB_WATCH_LANE(port, vl), used);
}

void vb_watch_packet(struct vb_watch *w, uint32_t port, enum vb_cable_tap_dir dir,
		     const struct vb_frame *pkt, vb_time now)
{
	const struct vb_sim_topo_link *l = &w->run->topo.link[port / 2];
	uint32_t hosts = w->run->topo.host_cnt, a = port & 1 ? l->b : l->a;
	uint64_t key = (uintptr_t)pkt;

	vb_series_reach(&w->series, now);
	/* The second one of two is no step of its own. */
	if (dir == VB_CABLE_SENT && pkt->mark & VB_FAULT_MARK_COPY)
		return;
	/* A received packet is reported with the port that received it. */
	if (dir == VB_CABLE_RECEIVED && a < hosts) {
		packet_came(w, a, pkt, key);
	} else if (dir == VB_CABLE_SENT && a < hosts) {
		packet_left(w, a, pkt, key);
	} else {
		w->last = vb_map_get(&w->packets, key);
		if (vb_path_has_lid(&pkt->path))
			buffer_changed(w, a, port, dir, pkt);
		if (dir == VB_CABLE_SENT) {
			uint32_t waiting = vb_sim_port_waiting(w->run->sim, port);

			vb_series_gauge(&w->series, VB_WATCH_QUEUE, port, waiting + pkt->frame_len);
			vb_series_gauge(&w->series, VB_WATCH_QUEUE, port, waiting);
		}
	}
	if (dir == VB_CABLE_SENT && w->last != NONE && pkt->mark)
		met_fault(w, &w->step[w->last], pkt->mark);
}

void vb_watch_end(struct vb_watch *w)
{
	vb_series_end(&w->series);
	vb_stories_end(w->stories);
}

const struct vb_series_set *vb_watch_series(const struct vb_watch *w)
{
	return &w->series;
}

uint32_t vb_watch_step_cnt(const struct vb_watch *w)
{
	return w->step_cnt;
}

const struct vb_step *vb_watch_step(const struct vb_watch *w, uint32_t i)
{
	return &w->step[i];
}

void vb_watch_ask(struct vb_watch *w, struct vb_story_ask ask)
{
	w->stories->ask = ask;
}

const struct vb_stories *vb_watch_stories(const struct vb_watch *w)
{
	return w->stories;
}

uint64_t vb_watch_left_out(const struct vb_watch *w)
{
	return w->left_out;
}
