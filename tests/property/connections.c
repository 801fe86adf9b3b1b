/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two connection managers, a network that loses, doubles, delays and forges their messages, and
 * consumers that do at random what consumers may do. Every event is for an object that is there,
 * ends that both are established agree, and when the network is well again and all is given up,
 * nothing is left: no object, no memory, no timer. On InfiniBand they load alternate paths, too.
 * IBA 12.8, 12.9; CMP-26
 */
#include "base/rng.h"
#include "cm/cm.h"
#include "scenarios.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONNS 24
#define PACKETS 128
#define STEPS 400
#define SERVICES 3

struct packet {
	vb_time due;
	struct vb_path path;
	uint16_t pkey;
	uint8_t mad[VB_MAD_LEN];
};

struct end {
	struct vb_cm *cm;
	struct vb_gid gid;
	struct vb_cm_conn *conn[CONNS]; /* the consumer's */
	uint32_t blocks, base_blocks;
};

struct cm_world {
	uint64_t seed;
	struct vb_rng rng;
	struct end end[2];
	struct packet packet[PACKETS];
	uint32_t packet_cnt, loss, doubled, forged; /* the last three of 100 */
	bool is_ib;
	vb_time now;
	uint64_t established;
};

#define CM_CHECK(w, cond)                                                                          \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: %s; connections of seed %llu\n", __FILE__,         \
				__LINE__, #cond, (unsigned long long)(w)->seed);                   \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

static void *end_alloc(void *ctx, size_t size)
{
	struct end *e = ctx;

	e->blocks++;
	return calloc(1, size);
}

static void end_free(void *ctx, void *p)
{
	struct end *e = ctx;

	e->blocks--;
	free(p);
}

static uint32_t draw(struct cm_world *w, uint32_t bound)
{
	return vb_rng_below(&w->rng, bound);
}

static bool chance(struct cm_world *w, uint32_t of_100)
{
	return draw(w, 100) < of_100;
}

static void cm_world_open(struct cm_world *w, uint64_t seed)
{
	static const vb_dur early[] = {0, 50 * VB_MSEC, VB_SEC};

	memset(w, 0, sizeof *w);
	w->seed = seed;
	w->rng = vb_rng_stream(seed, "connections", 0);
	w->loss = draw(w, 40);
	w->doubled = draw(w, 20);
	w->forged = chance(w, 50) ? draw(w, 10) : 0;
	w->is_ib = chance(w, 50);
	for (uint32_t i = 0; i < 2; i++) {
		struct end *e = &w->end[i];
		struct vb_cm_config cfg = {.seed = seed + i,
					   .hi_tid = i + 1,
					   .conns = CONNS,
					   .ack_delay = 15,
					   .early_resend_ns = early[draw(w, 3)],
					   .listen_wait_ns = draw(w, 2) * 20 * VB_MSEC,
					   .alloc = end_alloc,
					   .free = end_free,
					   .alloc_ctx = e};

		e->gid.b[15] = (uint8_t)(i + 1);
		CM_CHECK(w, vb_cm_create(&e->cm, &cfg) == 0);
		e->base_blocks = e->blocks;
	}
}

/* A message that a hostile peer has changed somewhere. */
static void packet_forge(struct cm_world *w, struct packet *p)
{
	for (uint32_t n = 1 + draw(w, 4); n > 0; n--)
		p->mad[draw(w, 80)] ^= (uint8_t)(1u << draw(w, 8));
}

static void packet_queue(struct cm_world *w, const struct packet *p)
{
	struct packet *q = &w->packet[w->packet_cnt];

	if (w->packet_cnt == PACKETS)
		return;
	*q = *p;
	q->due = w->now + (uint64_t)draw(w, 100) * VB_MSEC;
	w->packet_cnt++;
}

static void end_transmit(struct cm_world *w, struct end *e)
{
	struct packet p;

	while (vb_cm_poll_transmit(e->cm, &p.path, &p.pkey, p.mad)) {
		if (!chance(w, w->loss))
			packet_queue(w, &p);
		if (chance(w, w->doubled))
			packet_queue(w, &p);
		if (chance(w, w->forged)) {
			packet_forge(w, &p);
			packet_queue(w, &p);
		}
	}
}

static uint32_t conn_slot(struct cm_world *w, struct end *e, const struct vb_cm_conn *c)
{
	uint32_t i = 0;

	while (i < CONNS && e->conn[i] != c)
		i++;
	CM_CHECK(w, i < CONNS);
	return i;
}

static struct vb_cm_conn *conn_new(struct cm_world *w, struct end *e)
{
	uint32_t i = 0;

	while (i < CONNS && e->conn[i])
		i++;
	if (i == CONNS || vb_cm_conn_create(e->cm, NULL, &e->conn[i]))
		return NULL;
	CM_CHECK(w, vb_cm_conn_state(e->conn[i]) == VB_CM_STATE_IDLE);
	return e->conn[i];
}

static void conn_give_up(struct cm_world *w, struct end *e, struct vb_cm_conn *c)
{
	e->conn[conn_slot(w, e, c)] = NULL;
	vb_cm_conn_destroy(c, w->now);
}

/* Few QPs, so that stale connections meet. */
static uint32_t draw_qpn(struct cm_world *w)
{
	return 2 + draw(w, 12);
}

/* To the other end, on InfiniBand by one of a few pairs of LIDs. */
static struct vb_path draw_path(struct cm_world *w, const struct end *e)
{
	const struct end *peer = &w->end[e == w->end];
	struct vb_path p = {.sgid = e->gid, .dgid = peer->gid, .hop_limit = 64, .port = 1};
	uint16_t lid = (uint16_t)(0x10 * draw(w, 5));

	if (!w->is_ib)
		return p;
	p.hop_limit = 0;
	p.slid = lid ? lid + e->gid.b[15] : 0;
	p.dlid = lid ? lid + peer->gid.b[15] : 0;
	return p;
}

static void conn_connect(struct cm_world *w, struct end *e, struct vb_cm_conn *c)
{
	struct vb_cm_request r = {.path = draw_path(w, e),
				  .alt_path = draw_path(w, e),
				  .service_id = draw(w, SERVICES + 1),
				  .ca_guid = e->gid.b[15],
				  .transport = (enum vb_cm_transport)draw(w, 3),
				  .qpn = draw_qpn(w),
				  .rq_psn = vb_psn(draw(w, 1u << 24)),
				  .mtu = 5,
				  .packet_lifetime = 16,
				  .responder_resources = (uint8_t)draw(w, 16),
				  .initiator_depth = (uint8_t)draw(w, 16),
				  .cm_timeout = (uint8_t)(8 + draw(w, 8)),
				  .max_cm_retries = (uint8_t)draw(w, 16)};
	const struct vb_cm_sidr_request s = {.path = r.path,
					     .service_id = r.service_id,
					     .cm_timeout = r.cm_timeout,
					     .max_cm_retries = r.max_cm_retries};

	if (chance(w, 80))
		(void)vb_cm_connect(c, &r, w->now);
	else
		(void)vb_cm_sidr_request(c, &s, w->now);
}

static void conn_reply(struct cm_world *w, struct end *e, struct vb_cm_conn *c)
{
	const struct vb_cm_reply_param r = {
	    .ca_guid = e->gid.b[15], .qpn = draw_qpn(w), .rq_psn = vb_psn(draw(w, 1u << 24))};

	(void)vb_cm_reply(c, &r, w->now);
}

static void conn_load(struct cm_world *w, struct end *e, struct vb_cm_conn *c)
{
	const struct vb_cm_alternate a = {.path = draw_path(w, e),
					  .rate = (uint8_t)draw(w, 4),
					  .packet_lifetime = 14,
					  .cm_timeout = (uint8_t)draw(w, 33)};

	(void)vb_cm_load_alternate(c, &a, w->now);
}

/* An alternate path that the connection has leads to a port. */
static void alternate_check(struct cm_world *w, const struct vb_cm_conn *c)
{
	const struct vb_path *p = &vb_cm_conn_qp(c)->alt.path;

	if (vb_path_has_lid(p))
		CM_CHECK(w, w->is_ib && p->slid != 0 && p->port == 1);
}

/* Any call, whatever the state: those that do not fit it are refused. */
static void conn_act(struct cm_world *w, struct end *e, struct vb_cm_conn *c)
{
	switch (draw(w, 15)) {
	case 0:
	case 1:
		conn_connect(w, e, c);
		break;
	case 2:
	case 3:
		conn_reply(w, e, c);
		break;
	case 4:
	case 5:
		(void)vb_cm_ready(c, NULL);
		break;
	case 6:
		(void)vb_cm_delay(c, (uint8_t)draw(w, 20));
		break;
	case 7:
		(void)vb_cm_reject(c, VB_CM_REJ_CONSUMER, NULL, NULL, w->now);
		break;
	case 8: /* a consumer that is wrong about this does not agree with its peer */
		if (w->forged)
			(void)vb_cm_establish(c);
		break;
	case 9:
		(void)vb_cm_disconnect(c, NULL, w->now);
		break;
	case 10:
		(void)vb_cm_sidr_reply(c, &(struct vb_cm_sidr_reply){.qpn = 7});
		break;
	case 11:
		conn_load(w, e, c);
		break;
	case 12:
		(void)vb_cm_answer_alternate(c, (uint8_t)draw(w, 3), NULL, NULL);
		break;
	case 13:
		(void)vb_cm_migrate(c);
		alternate_check(w, c);
		break;
	default:
		conn_give_up(w, e, c);
	}
}

static void step_consumer(struct cm_world *w, struct end *e)
{
	struct vb_cm_conn *c = e->conn[draw(w, CONNS)];

	if (c)
		conn_act(w, e, c);
	else if ((c = conn_new(w, e)) && chance(w, 30))
		(void)vb_cm_listen(c, draw(w, SERVICES));
}

/* The beliefs of both ends of an established connection about each other. */
static void pair_check(struct cm_world *w, const struct vb_cm_conn *a)
{
	const struct vb_cm_qp *q = vb_cm_conn_qp(a);
	const struct end *peer = &w->end[q->path.dgid.b[15] - 1];

	for (uint32_t i = 0; i < CONNS; i++) {
		const struct vb_cm_conn *b = peer->conn[i];
		const struct vb_cm_qp *p;

		if (!b || vb_cm_conn_state(b) != VB_CM_STATE_ESTABLISHED)
			continue;
		p = vb_cm_conn_qp(b);
		if (p->remote_qpn != q->local_qpn || p->local_qpn != q->remote_qpn ||
		    !vb_psn_eq(p->rq_psn, q->sq_psn))
			continue;
		CM_CHECK(w, vb_psn_eq(p->sq_psn, q->rq_psn));
		CM_CHECK(w, p->transport == q->transport);
		CM_CHECK(w, p->initiator_depth == q->responder_resources);
		CM_CHECK(w, p->responder_resources == q->initiator_depth);
		w->established++;
	}
}

/* The usual next step of a program. */
static void consumer_answer(struct cm_world *w, struct end *e, struct vb_cm_conn *c)
{
	switch (vb_cm_conn_state(c)) {
	case VB_CM_STATE_REQ_RCVD:
		conn_reply(w, e, c);
		break;
	case VB_CM_STATE_REP_RCVD:
		(void)vb_cm_ready(c, NULL);
		break;
	case VB_CM_STATE_DREQ_RCVD:
		(void)vb_cm_disconnect(c, NULL, w->now);
		break;
	case VB_CM_STATE_ESTABLISHED: /* there is a LAP, or the answer is refused */
		(void)vb_cm_answer_alternate(c, (uint8_t)draw(w, 3), NULL, NULL);
		conn_load(w, e, c);
		break;
	default:
		break;
	}
}

static void take_event(struct cm_world *w, struct end *e, const struct vb_cm_event *ev)
{
	uint32_t free_slot = 0;

	if (ev->kind == VB_CM_EVENT_MESSAGE &&
	    (ev->msg.attr == VB_CM_REQ || ev->msg.attr == VB_CM_SIDR_REQ)) {
		while (free_slot < CONNS && e->conn[free_slot])
			free_slot++;
		CM_CHECK(w, free_slot < CONNS);
		if (ev->listener)
			conn_slot(w, e, ev->listener);
		e->conn[free_slot] = ev->conn;
	}
	conn_slot(w, e, ev->conn);
	alternate_check(w, ev->conn);
	if (chance(w, 70))
		consumer_answer(w, e, ev->conn);
	if (w->forged == 0 && vb_cm_conn_state(ev->conn) == VB_CM_STATE_ESTABLISHED)
		pair_check(w, ev->conn);
}

static void end_events(struct cm_world *w, struct end *e)
{
	struct vb_cm_event ev;

	while (vb_cm_poll_event(e->cm, &ev))
		take_event(w, e, &ev);
}

static void ends_settle(struct cm_world *w)
{
	for (uint32_t i = 0; i < 2; i++) {
		end_events(w, &w->end[i]);
		end_transmit(w, &w->end[i]);
	}
}

static void packets_deliver(struct cm_world *w)
{
	for (uint32_t i = 0; i < w->packet_cnt;) {
		struct packet p = w->packet[i];
		uint8_t to = p.path.dgid.b[15];

		if (p.due > w->now) {
			i++;
			continue;
		}
		w->packet[i] = w->packet[--w->packet_cnt];
		/* A forged alternate path leads to nobody. */
		if (to == 1 || to == 2)
			vb_cm_handle_mad(w->end[to - 1].cm, &p.path, p.mad, w->now);
		ends_settle(w);
	}
}

static vb_time next_instant(const struct cm_world *w)
{
	vb_time t = vb_time_min(vb_cm_poll_timeout(w->end[0].cm), vb_cm_poll_timeout(w->end[1].cm));

	for (uint32_t i = 0; i < w->packet_cnt; i++)
		t = vb_time_min(t, w->packet[i].due);
	return t;
}

static void world_advance(struct cm_world *w, vb_time to)
{
	w->now = to > w->now ? to : w->now;
	for (uint32_t i = 0; i < 2; i++) {
		vb_cm_handle_timeout(w->end[i].cm, w->now);
		ends_settle(w);
	}
	packets_deliver(w);
}

static void world_finish(struct cm_world *w)
{
	w->loss = w->doubled = w->forged = 0;
	for (uint32_t i = 0; i < 2; i++) {
		for (uint32_t k = 0; k < CONNS; k++) {
			if (w->end[i].conn[k])
				conn_give_up(w, &w->end[i], w->end[i].conn[k]);
			ends_settle(w);
		}
	}
	for (uint32_t n = 0; next_instant(w) != VB_NEVER; n++) {
		CM_CHECK(w, n < 100000);
		world_advance(w, next_instant(w));
		/* Requests that were under way make new objects. */
		for (uint32_t i = 0; i < 2 * CONNS; i++) {
			struct end *e = &w->end[i / CONNS];

			if (e->conn[i % CONNS])
				conn_give_up(w, e, e->conn[i % CONNS]);
		}
		ends_settle(w);
	}
	for (uint32_t i = 0; i < 2; i++) {
		CM_CHECK(w, w->end[i].blocks == w->end[i].base_blocks);
		vb_cm_destroy(w->end[i].cm);
		CM_CHECK(w, w->end[i].blocks == 0);
	}
}

uint64_t connections_run(uint64_t seed)
{
	static struct cm_world w;

	cm_world_open(&w, seed);
	for (uint32_t i = 0; i < STEPS; i++) {
		step_consumer(&w, &w.end[draw(&w, 2)]);
		ends_settle(&w);
		if (chance(&w, 60) && next_instant(&w) != VB_NEVER)
			world_advance(&w, next_instant(&w));
	}
	world_finish(&w);
	return w.established;
}
