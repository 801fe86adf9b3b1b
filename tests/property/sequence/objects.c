/* SPDX-License-Identifier: BSD-2-Clause */
/* Steps that make, change and destroy objects. See play.h. */
#include "play.h"

#include "base/rng.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define QP_ACCESS                                                                                  \
	(VB_ACCESS_LOCAL_WRITE | VB_ACCESS_REMOTE_WRITE | VB_ACCESS_REMOTE_READ |                  \
	 VB_ACCESS_REMOTE_ATOMIC | VB_ACCESS_FLUSH_GLOBAL | VB_ACCESS_FLUSH_PERSISTENT)

struct end *play_end(struct play *p, const struct step *st)
{
	struct conn *c = &p->conn[st->arg[ARG_CONN] % CONNS_MAX];
	struct end *e = c->exists ? &c->end[st->arg[ARG_SIDE] & 1] : NULL;

	return e && e->qp && !p->queue[e->host].lost ? e : NULL;
}

static void modify(struct play *p, struct vb_qp *qp, enum vb_qp_state to, uint32_t mask,
		   struct vb_qp_attr *a)
{
	const struct owner *o = vb_qp_owner(qp);

	a->qp_state = to;

	int err = vb_qp_modify(qp, a, VB_QP_STATE | mask, vb_sim_now(p->sim));

	if (err)
		fail("call", "changing a QP to state %d gives %d", to, err);
	vb_sim_touch(p->sim, o->end->host);
}

/* RESET to RTS, with the attributes that each step needs. */
static void raise_qp(struct play *p, struct vb_qp *qp, struct vb_qp_attr *a)
{
	const uint32_t to = VB_QP_AV | VB_QP_PATH_MTU | VB_QP_DEST_QPN | VB_QP_RQ_PSN,
		       serves = VB_QP_MAX_DEST_RD_ATOMIC | VB_QP_MIN_RNR_TIMER,
		       asks = VB_QP_TIMEOUT | VB_QP_RETRY_CNT | VB_QP_RNR_RETRY |
			      VB_QP_MAX_QP_RD_ATOMIC;
	uint32_t init = VB_QP_ACCESS_FLAGS, rtr = to, rts = 0;

	switch (vb_qp_get_type(qp)) {
	case VB_QPT_RC:
		rtr |= serves;
		rts = asks;
		break;
	case VB_QPT_XRC_INI:
		rts = asks;
		break;
	case VB_QPT_XRC_TGT:
		rtr |= serves;
		rts = VB_QP_TIMEOUT;
		break;
	case VB_QPT_UD:
		init = VB_QP_QKEY;
		rtr = 0;
		break;
	default:
		break;
	}
	if (((const struct owner *)vb_qp_owner(qp))->end->conn->is_plain)
		CHECK("call", vb_qp_allow_extensions(qp, 0) == 0 && vb_qp_extensions(qp, 1) == 0);
	modify(p, qp, VB_QPS_INIT, VB_QP_PKEY_INDEX | VB_QP_PORT | init, a);
	modify(p, qp, VB_QPS_RTR, rtr, a);
	modify(p, qp, VB_QPS_RTS, VB_QP_SQ_PSN | rts, a);
	CHECK("call", vb_qp_allow_extensions(qp, 0) == -EINVAL);
}

/* Both ends from RESET to RTS, with PSNs of @salt. */
static void bring_up(struct play *p, struct conn *c, uint32_t salt)
{
	struct vb_rng r = vb_rng_stream(salt, "psn", c->end[0].recv_life);
	const uint32_t *arg = c->step->arg;
	uint32_t psn[2] = {(uint32_t)vb_rng_next(&r) & 0xffffff,
			   (uint32_t)vb_rng_next(&r) & 0xffffff};

	/* Soon wraps; never those of a former life, whose packets may still be under way. */
	if (c->first_life && salt % 4 == 0)
		psn[0] = 0xfffff0 | salt >> 28;
	for (uint32_t i = 0; i < 2; i++) {
		struct end *e = &c->end[i];
		struct vb_qp_attr a = {
		    .port = 1,
		    .qkey = 0x1234,
		    .access = QP_ACCESS,
		    .path =
			vb_sim_path(e->host, peer_of(e)->host, (uint16_t)(0xc000 | salt % 1024), 2),
		    .path_mtu = (enum vb_mtu)c->mtu,
		    .dest_qpn = vb_qp_number(receiver_of(peer_of(e))),
		    .rq_psn = psn[!i],
		    .sq_psn = psn[i],
		    .max_dest_rd_atomic = 16,
		    .max_rd_atomic = (uint8_t)(1 + arg[CONNECT_ATOMICS] % 16),
		    .min_rnr_timer = (uint8_t)(salt & 1 ? 12 : 8),
		    .timeout = (uint8_t)(arg[CONNECT_TIMEOUT] < 11 ? 11 : arg[CONNECT_TIMEOUT]),
		    .retry_cnt = 7,
		    .rnr_retry = (uint8_t)c->rnr,
		};

		e->psn_start = e->psn_next = psn[i];
		raise_qp(p, e->qp, &a);
		if (e->tgt) {
			a.dest_qpn = peer_of(e)->qpn;
			raise_qp(p, e->tgt, &a);
		}
	}
}

/* The target of an XRC connection, with whose SRQs its peer works. */
static void open_target(struct play *p, struct end *e)
{
	struct vb_qp_init init = {.type = VB_QPT_XRC_TGT, .owner = &e->tgt_owner};

	srq_make_xrc(p, e->host);
	init.xrcd = p->xrcd[e->host];
	e->tgt_owner = (struct owner){.end = e, .is_tgt = true};
	CHECK("call", vb_qp_create(NULL, &init, &e->tgt) == 0 &&
			  vb_xrcd_target(init.xrcd, vb_qp_number(e->tgt)) == e->tgt);
}

static void open_end(struct play *p, struct conn *c, uint32_t side, uint32_t host)
{
	struct end *e = &c->end[side];
	struct vb_cq *cq = p->queue[host].cq;
	struct vb_qp_init init = {
	    .type = (enum vb_qp_type)c->type,
	    .send_cq = cq,
	    .recv_cq = c->is_xrc ? NULL : cq,
	    .srq = c->srq && !c->is_xrc ? p->srq[host][SRQ_PLAIN].srq : NULL,
	    .cap = {.max_send_wr = c->depth,
		    .max_recv_wr = c->is_xrc ? 0 : c->recvs,
		    .max_send_sge = SGES_MAX,
		    .max_recv_sge = SGES_MAX,
		    .max_inline_data = 64},
	    .sq_sig_all = c->sig_all,
	    .owner = &e->owner,
	};

	*e = (struct end){.conn = c, .host = host, .side = side, .owner.end = e};
	mem_open_as(p, vb_sim_pd(p->sim, host), &e->local, REGION_BYTES, VB_ACCESS_LOCAL_WRITE,
		    mem_kind_of(c->step->arg[CONNECT_SALT] >> (16 + 6 * side)));
	mem_open_as(p, vb_sim_pd(p->sim, host), &e->region, REGION_BYTES, QP_ACCESS,
		    mem_kind_of(c->step->arg[CONNECT_SALT] >> (19 + 6 * side)));
	mem_hole(&e->local, (struct hole){AWAY_AT, AWAY_BYTES, HOLE_AWAY, NULL}, false);
	mem_hole(&e->region, (struct hole){AWAY_AT, AWAY_BYTES, HOLE_AWAY, NULL}, false);
	/* Kept back for the receives that the end of a case posts. */
	e->local.limit = SCRATCH_AT - SRQ_SLOT;
	e->region.limit = SCRATCH_AT;
	e->region.used = PATTERN_AT + PATTERN_LEN;
	e->pattern = e->local.number >> 20;
	for (uint32_t i = 0; i < PATTERN_LEN; i++)
		e->region.base[PATTERN_AT + i] = byte_of(e->pattern, i);
	for (uint32_t i = 0; i < CELLS; i++) {
		memcpy(&e->cell[i], e->region.base + i * 8, 8);
		e->cell_start[i] = e->cell[i];
	}
	CHECK("call", vb_qp_create(vb_sim_pd(p->sim, host), &init, &e->qp) == 0);
	CHECK("call", init.cap.max_send_wr >= c->depth && init.cap.max_send_sge >= SGES_MAX &&
			  init.cap.max_inline_data >= 64);
	e->qpn = vb_qp_number(e->qp);
	if (c->lends) {
		e->ring = play_lend(vb_qp_ring_size(e->qp));
		vb_qp_place_ring(e->qp, e->ring);
	}
	if (c->is_xrc)
		open_target(p, e);
}

static bool can_connect(uint32_t type)
{
	return type == VB_QPT_RC || type == VB_QPT_UC || type == VB_QPT_UD ||
	       type == VB_QPT_XRC_INI;
}

void play_connect(struct play *p, const struct step *st)
{
	const uint32_t *a = st->arg;
	struct conn *c = &p->conn[a[ARG_CONN] % CONNS_MAX];
	uint32_t x = a[CONNECT_A] % p->hosts, y = a[CONNECT_B] % p->hosts;

	if (c->exists || x == y || p->queue[x].lost || p->queue[y].lost ||
	    a[CONNECT_MTU] < VB_MTU_256 || a[CONNECT_MTU] > VB_MTU_4096 ||
	    !can_connect(a[CONNECT_TYPE]))
		return;
	*c = (struct conn){
	    .exists = true,
	    .first_life = true,
	    .type = a[CONNECT_TYPE],
	    .is_xrc = a[CONNECT_TYPE] == VB_QPT_XRC_INI,
	    .sig_all = (a[CONNECT_SALT] >> 8 & 7) == 7,
	    .lends = (a[CONNECT_SALT] >> 11 & 3) == 3,
	    .is_plain = (a[CONNECT_SALT] >> 13 & 3) == 3,
	    .reliable = a[CONNECT_TYPE] == VB_QPT_RC || a[CONNECT_TYPE] == VB_QPT_XRC_INI,
	    .mtu = a[CONNECT_MTU],
	    .mtu_bytes = 128u << a[CONNECT_MTU],
	    .depth = a[CONNECT_DEPTH] < 2 ? 2 : a[CONNECT_DEPTH] % 64,
	    .rnr = a[CONNECT_RNR] & 7,
	    .srq = (a[CONNECT_SRQ] && p->s->world[WORLD_SRQ]) || a[CONNECT_TYPE] == VB_QPT_XRC_INI,
	    .step = st};
	if (c->type == VB_QPT_UD) /* its MTU is the port's */
		c->mtu_bytes = 4096;
	if (c->depth < 2)
		c->depth = 2;
	c->recvs = a[CONNECT_RECVS] ? a[CONNECT_RECVS] : 1;
	open_end(p, c, 0, x);
	open_end(p, c, 1, y);
	bring_up(p, c, a[CONNECT_SALT]);
}

/* Everything that dies with a QP that leaves the connection. */
static void leave(struct play *p, struct end *e)
{
	e->was_dead |= !e->conn->is_xrc;
	e->ended = true;
	end_void(p, e);
}

/* The changes that are allowed where nothing is under way; and some that are not. IBA 11.2.5.2 */
static void modify_drained(struct play *p, struct end *e, uint32_t salt)
{
	struct vb_qp_attr a = {.qp_state = VB_QPS_SQD,
			       .path = vb_sim_path(e->host, peer_of(e)->host,
						   (uint16_t)(0xc000 | (salt >> 8) % 1024), 2),
			       .timeout = (uint8_t)(11 + salt % 3),
			       .max_rd_atomic = (uint8_t)(1 + (salt >> 4) % 16),
			       .retry_cnt = 7,
			       .rnr_retry = (uint8_t)e->conn->rnr,
			       .min_rnr_timer = (uint8_t)(salt & 8 ? 12 : 8)};

	CHECK("call",
	      vb_qp_modify(e->qp, &a, VB_QP_STATE | VB_QP_SQ_PSN, vb_sim_now(p->sim)) == -EINVAL);
	modify(p, e->qp, VB_QPS_SQD,
	       VB_QP_AV | VB_QP_TIMEOUT | VB_QP_MAX_QP_RD_ATOMIC | VB_QP_RETRY_CNT |
		   VB_QP_RNR_RETRY | (e->conn->is_xrc ? 0 : VB_QP_MIN_RNR_TIMER),
	       &a);
}

/* A target has no queue of its own: in SQD it serves as before. */
static void target_state(struct play *p, struct end *e, uint32_t to)
{
	enum vb_qp_state was = vb_qp_get_state(e->tgt);
	struct vb_qp_attr a = {0};

	if (to == VB_QPS_RESET) {
		modify(p, e->tgt, VB_QPS_RESET, 0, &a);
		e->conn->first_life = false;
		e->was_dead = true;
	} else if (to == VB_QPS_ERR && was != VB_QPS_RESET) {
		e->tgt_moved = true;
		modify(p, e->tgt, VB_QPS_ERR, 0, &a);
	} else if ((to == VB_QPS_SQD && was == VB_QPS_RTS) ||
		   (to == VB_QPS_RTS && was == VB_QPS_SQD)) {
		modify(p, e->tgt, (enum vb_qp_state)to, 0, &a);
	}
}

void play_state(struct play *p, const struct step *st)
{
	struct end *e = play_end(p, st);
	struct vb_qp_attr a = {.en_sqd_async_notify = 1};
	enum vb_qp_state was;

	if (!e)
		return;
	host_wake(p, e->host); /* its completions are not mixed with those of another life */
	if (p->queue[e->host].lost)
		return;
	if (e->tgt && st->arg[STATE_SALT] & 1) {
		target_state(p, e, st->arg[STATE_TO]);
		return;
	}
	was = vb_qp_get_state(e->qp);
	switch (st->arg[STATE_TO]) {
	case VB_QPS_ERR:
		if (was == VB_QPS_RESET) /* leads to INIT only, facts B.4 */
			break;
		e->ended = true;
		e->moved = true;
		modify(p, e->qp, VB_QPS_ERR, 0, &a);
		break;
	case VB_QPS_RESET:
		modify(p, e->qp, VB_QPS_RESET, 0, &a);
		e->conn->first_life = false;
		leave(p, e);
		break;
	case VB_QPS_SQD:
		e->drained &= was != VB_QPS_RTS;
		if (was == VB_QPS_RTS)
			modify(p, e->qp, VB_QPS_SQD, VB_QP_EN_SQD_ASYNC_NOTIFY, &a);
		else if (was == VB_QPS_SQD && e->drained && e->conn->reliable)
			modify_drained(p, e, st->arg[STATE_SALT]);
		break;
	case VB_QPS_RTS: /* also before it has drained */
		if (was == VB_QPS_SQD || was == VB_QPS_SQE) {
			e->drained = false;
			e->failed &= was != VB_QPS_SQE;
			modify(p, e->qp, VB_QPS_RTS, 0, &a);
		} else if (was == VB_QPS_RESET || was == VB_QPS_ERR) {
			CHECK("call",
			      vb_qp_modify(e->qp, &(struct vb_qp_attr){.qp_state = VB_QPS_RTS},
					   VB_QP_STATE, vb_sim_now(p->sim)) == -EINVAL);
		}
		break;
	default:
		break;
	}
}

void play_reconnect(struct play *p, const struct step *st)
{
	struct conn *c = &p->conn[st->arg[ARG_CONN] % CONNS_MAX];
	struct vb_qp_attr a = {0};

	if (!c->exists || !c->end[0].qp || !c->end[1].qp)
		return;
	for (uint32_t i = 0; i < 2; i++)
		host_wake(p, c->end[i].host);
	if (p->queue[c->end[0].host].lost || p->queue[c->end[1].host].lost)
		return;
	c->first_life = false;
	for (uint32_t i = 0; i < 2; i++) {
		modify(p, c->end[i].qp, VB_QPS_RESET, 0, &a);
		if (c->is_xrc)
			modify(p, c->end[i].tgt, VB_QPS_RESET, 0, &a);
		end_void(p, &c->end[i]);
	}
	for (uint32_t i = 0; i < 2; i++)
		end_check(p, &c->end[i]);
	for (uint32_t i = 0; i < 2; i++) {
		struct end *e = &c->end[i];

		e->moved = e->failed = e->hurts = e->was_dead = e->spoilt = e->drained = false;
		e->ended = e->tgt_moved = e->is_refused = e->writer.strays = false;
		e->epoch = e->sent_cnt;
		e->recv_epoch = e->recv_cnt;
		e->messages = e->unsignaled = 0;
		e->recv_life++;
		/* UC takes up any message's first packet, also one that was long under way. */
		if (c->reliable)
			e->in_next = peer_of(e)->sent_cnt;
		for (uint32_t k = 0; k < CELLS; k++) {
			memcpy(&e->cell[k], e->region.base + k * 8, 8);
			e->cell_start[k] = e->cell[k];
		}
	}
	/* Packets of the former life may still arrive, and count as those of a bad network. */
	c->unsure = true;
	bring_up(p, c, st->arg[RECONNECT_SALT]);
}

void play_destroy(struct play *p, const struct step *st)
{
	struct end *e = play_end(p, st);

	if (!e)
		return;
	host_wake(p, e->host);
	group_leave_all(e);
	CHECK("call", vb_qp_destroy(e->qp) == 0);
	if (e->tgt)
		CHECK("call", vb_qp_destroy(e->tgt) == 0);
	e->qp = e->tgt = NULL;
	e->was_dead = true;
	leave(p, e);
}

static bool is_away_used(const struct play *p, uint32_t host)
{
	bool used = p->xrcd[host] != NULL || dc_uses_away(p, host);

	for (uint32_t i = 0; i < MRS_MAX; i++)
		used |= p->mr[i].mr && p->mr[i].host == host && p->is_away[i];
	return used;
}

void play_refused(struct play *p, const struct step *st)
{
	struct end *e = play_end(p, st);
	struct vb_sge sge[SGES_MAX + 1] = {{0}};
	struct vb_send_wr wr = {.opcode = VB_WR_SEND, .sge = sge, .sge_cnt = 1};
	struct vb_recv_wr recv = {.sge = sge, .sge_cnt = SGES_MAX + 1};
	struct vb_mr_attr mr = {.iova = 1, .length = 1, .access = VB_ACCESS_REMOTE_WRITE};
	struct vb_mr *out;
	vb_time now = vb_sim_now(p->sim);

	if (!e)
		return;
	switch ((enum refused)st->arg[REFUSED_WHY]) {
	case REFUSED_SGES:
		wr.sge_cnt = SGES_MAX + 1;
		CHECK("call", vb_qp_post_send(e->qp, &wr, now) == -EINVAL);
		break;
	case REFUSED_INLINE:
		sge[0].length = 1u << 20;
		wr.flags = VB_SEND_INLINE;
		CHECK("call", vb_qp_post_send(e->qp, &wr, now) == -EINVAL);
		break;
	case REFUSED_OPCODE:
		wr.opcode = e->conn->reliable ? VB_WR_CNT : VB_WR_RDMA_READ;
		CHECK("call", vb_qp_post_send(e->qp, &wr, now) == -EINVAL);
		break;
	case REFUSED_TARGET:
		CHECK("call", !e->tgt || (vb_qp_post_send(e->tgt, &wr, now) == -EINVAL &&
					  vb_qp_post_recv(e->tgt, &recv, now) == -EINVAL));
		break;
	case REFUSED_RECV_SGES:
		CHECK("call", vb_qp_post_recv(e->qp, &recv, now) == -EINVAL);
		break;
	case REFUSED_CQ:
		CHECK("call", vb_cq_destroy(p->queue[e->host].cq) == -EBUSY);
		CHECK("call", vb_pd_destroy(vb_sim_pd(p->sim, e->host)) == -EBUSY);
		CHECK("call", !e->tgt || (vb_xrcd_destroy(p->xrcd[e->host]) == -EBUSY &&
					  vb_xrcd_destroy(p->other_xrcd[e->host]) == -EBUSY));
		break;
	case REFUSED_AWAY: {
		int want = is_away_used(p, e->host) ? -EBUSY : 0;

		CHECK("call", vb_pd_destroy(p->away[e->host]) == want);
		CHECK("call",
		      want || vb_pd_create(vb_sim_hca(p->sim, e->host), &p->away[e->host]) == 0);
		break;
	}
	case REFUSED_MR:
		CHECK("call", vb_mr_create(vb_sim_pd(p->sim, e->host), &mr, &out) == -EINVAL);
		break;
	default:
		break;
	}
}
