/* SPDX-License-Identifier: BSD-2-Clause */
/* Posting: builds work requests from steps and writes down what must come of them. See play.h. */
#include "play.h"

#include "base/rng.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void *grow(void *array, uint32_t cnt, uint32_t *cap, size_t size)
{
	if (cnt < *cap)
		return array;
	*cap = *cap ? *cap * 2 : 64;
	array = realloc(array, *cap * size);
	if (!array)
		fail("memory", "no memory for the test itself");
	return array;
}

static void aim_atomic(struct end *e, struct sent *w, struct vb_send_wr *wr, struct vb_rng *r)
{
	struct end *to = peer_of(e);
	uint32_t cell = vb_rng_below(r, CELLS);

	w->off = cell * 8;
	w->add = vb_rng_next(r);
	w->swap = vb_rng_next(r);
	w->old = to->cell[cell];
	if (w->op == VB_WR_COMPARE_SWAP && vb_rng_below(r, 2))
		w->add = w->old;
	wr->compare_add = w->add;
	wr->swap = w->swap;
	if (w->defect)
		return;
	if (w->op == VB_WR_FETCH_ADD)
		to->cell[cell] += w->add;
	else if (w->old == w->add)
		to->cell[cell] = w->swap;
}

/* READs read the pattern, or what a WRITE before them wrote. */
static void aim_read(struct end *e, struct sent *w, struct vb_rng *r)
{
	uint32_t n = e->epoch + vb_rng_below(r, e->sent_cnt - e->epoch + 1);

	w->off = PATTERN_AT + vb_rng_below(r, PATTERN_LEN - w->bytes + 1);
	if (n >= e->sent_cnt)
		return;

	const struct sent *of = &e->sent[n];

	if (!is_write(of->op) || of->defect || of->target || of->bytes < w->bytes)
		return;
	w->off = of->off;
	w->reads = n + 1;
}

/* Flushes any range of the region, or (with a range that does not matter) all of it. */
static void aim_flush(struct end *e, struct sent *w, struct vb_send_wr *wr, struct vb_rng *r)
{
	w->flush = (uint8_t)(1 + vb_rng_below(r, VB_FLUSH_GLOBAL | VB_FLUSH_PERSISTENT));
	if (!w->defect && vb_rng_below(r, 3) == 0)
		w->flush |= VB_FLUSH_MR;
	w->off = w->flush & VB_FLUSH_MR ? (uint32_t)vb_rng_next(r)
					: vb_rng_below(r, peer_of(e)->region.size - w->bytes + 1);
	wr->flush = w->flush;
	wr->flush_len = w->bytes;
}

/* XRC: one of the peer's SRQs. */
static void aim_srq(struct play *p, struct end *e, struct sent *w, struct vb_send_wr *wr,
		    struct vb_rng *r)
{
	uint32_t host = peer_of(e)->host;
	bool keyless = w->op == VB_WR_SEND || w->op == VB_WR_SEND_IMM;

	w->srq = (uint8_t)(SRQ_XRC + vb_rng_below(r, keyless ? 3 : 2));
	if (w->defect == DEFECT_DOMAIN)
		w->srq = SRQ_XRC_AWAY;
	w->srq_life = p->srq[host][w->srq].life;
	wr->srqn = vb_srq_number(p->srq[host][w->srq].srq);
	if (w->defect == DEFECT_SRQN)
		wr->srqn = vb_rng_below(r, 2) ? vb_srq_number(p->other_srq[host])
					      : wr->srqn ^ 0x100u << vb_rng_below(r, 16);
}

static bool aim(struct play *p, struct end *e, struct sent *w, struct vb_send_wr *wr,
		struct vb_rng *r)
{
	struct end *to = peer_of(e);

	if (is_atomic(w->op) && !w->target)
		aim_atomic(e, w, wr, r);
	else if (w->op == VB_WR_RDMA_READ)
		aim_read(e, w, r);
	else if (w->op == VB_WR_FLUSH)
		aim_flush(e, w, wr, r);
	else if (is_write(w->op)) {
		if (to->region.limit - to->region.used < w->bytes + 8)
			return false;
		if (is_aligned(w->op))
			to->region.used = (to->region.used + 7) & ~7u;
		w->off = to->region.used;
		if (!w->target)
			to->region.used += w->bytes + vb_rng_below(r, 9);
	}
	wr->remote_addr = to->region.iova + w->off;
	wr->rkey = to->region.rkey;
	if (w->target)
		slot_aim(p, to->host, receiver_of(to), &w->aim, w->op, w->bytes, w->flush,
			 (uint32_t)vb_rng_next(r), wr);
	if (e->conn->is_xrc)
		aim_srq(p, e, w, wr, r);
	switch ((enum defect)w->defect) {
	case DEFECT_RKEY:
		/* An address that regions share is right by chance: a key beyond all of them. */
		wr->rkey ^= 1u << (to->region.kind == MEM_PLAIN ? vb_rng_below(r, 32)
								: 28 + vb_rng_below(r, 4));
		break;
	case DEFECT_BOUNDS:
		wr->remote_addr =
		    to->region.iova + to->region.size - w->bytes + (is_aligned(w->op) ? 8 : 1);
		break;
	case DEFECT_AWAY:
		wr->remote_addr =
		    to->region.iova + AWAY_AT - (is_aligned(w->op) ? 0 : w->bytes - 1);
		break;
	case DEFECT_NULL:
		wr->rkey = vb_mr_rkey(p->null[to->host]);
		break;
	case DEFECT_RIGHT:
		wr->rkey = to->local.rkey;
		wr->remote_addr = to->local.iova;
		break;
	case DEFECT_ALIGN:
		wr->remote_addr += 1 + vb_rng_below(r, 7);
		break;
	default:
		break;
	}
	return true;
}

/* Leaves out defects that the operation cannot have. */
static uint32_t fitting_defect(const struct end *e, uint8_t op, uint32_t defect, uint32_t len)
{
	if (op == VB_WR_BIND_MW || op == VB_WR_LOCAL_INV || defect >= DEFECT_CNT)
		return DEFECT_NONE;
	if (defect == DEFECT_ALIGN)
		return is_aligned(op) ? defect : DEFECT_NONE;
	if (defect == DEFECT_SRQN)
		return e->conn->is_xrc ? defect : DEFECT_NONE;
	if (defect == DEFECT_LOCAL_AWAY)
		return len && mem_is_paged(&e->local) && op != VB_WR_FLUSH && !is_atomic(op)
			   ? defect
			   : DEFECT_NONE;
	if (defect == DEFECT_AWAY &&
	    (!len || op == VB_WR_FLUSH || !mem_is_paged(&e->conn->end[!e->side].region)))
		return DEFECT_NONE;
	/* The result of an atomic is missing when it is done already. */
	if (defect == DEFECT_BOUNDS && op == VB_WR_FLUSH &&
	    e->conn->end[!e->side].region.kind == MEM_IMPLICIT)
		return DEFECT_NONE;
	if (defect == DEFECT_LOCAL_BOUNDS && is_atomic(op) && e->local.kind == MEM_IMPLICIT)
		return DEFECT_NONE;
	if (defect == DEFECT_DOMAIN)
		return e->conn->is_xrc && needs_key(op, len) ? defect : DEFECT_NONE;
	if ((defect == DEFECT_LKEY || defect == DEFECT_LOCAL_BOUNDS) && op == VB_WR_FLUSH)
		return DEFECT_NONE;
	if (defect == DEFECT_LKEY || defect == DEFECT_LOCAL_BOUNDS)
		return len ? defect : DEFECT_NONE;
	return is_remote(op) && e->conn->reliable ? defect : DEFECT_NONE;
}

static bool local_buffer(struct play *p, struct end *e, struct sent *w, const uint32_t *a,
			 uint32_t flags, uint32_t salt)
{
	uint32_t sges = 1 + (a[POST_SGES] - 1) % SGES_MAX;
	bool returns = w->op == VB_WR_RDMA_READ || is_atomic(w->op);

	if (w->op == VB_WR_BIND_MW || w->op == VB_WR_LOCAL_INV || w->op == VB_WR_FLUSH)
		return true;
	if (!buf_take(&e->local, &w->buf, is_atomic(w->op) ? 8 : w->bytes, sges, salt))
		return false;
	if (salt % 8 == 7 && !w->defect && !(flags & VB_SEND_INLINE))
		buf_null(&w->buf, vb_mr_lkey(p->null[e->host]), salt);
	if (!returns)
		buf_fill(&e->local, &w->buf, w->id);
	return true;
}

static bool is_local(uint8_t defect)
{
	return defect == DEFECT_LKEY || defect == DEFECT_LOCAL_BOUNDS ||
	       defect == DEFECT_LOCAL_AWAY;
}

static void spoil_local(struct end *e, struct sent *w)
{
	struct vb_sge *last = &w->buf.sge[w->buf.sge_cnt - 1];

	for (; last > w->buf.sge && last->length == 0; last--)
		;
	/* Returned data must not be written where sent data comes from. */
	if (w->defect == DEFECT_LOCAL_AWAY)
		last->addr =
		    e->local.iova + AWAY_AT - (w->op == VB_WR_RDMA_READ ? 0 : last->length - 1);
	if (w->defect == DEFECT_LKEY)
		last->lkey ^= 0x100;
	else if (w->defect == DEFECT_LOCAL_BOUNDS)
		last->addr = e->local.iova + e->local.size - last->length + 1;
}

static void note(struct play *p, struct end *e, struct sent *w)
{
	/* Requests that can make the peer fail, or refuse those behind them. */
	if (w->defect || w->target || w->op == VB_WR_SEND_INV || w->op == VB_WR_LOCAL_INV ||
	    w->op == VB_WR_BIND_MW)
		e->hurts = true;
	window_posted(p, &w->aim, w->op);
	slot_posted(p, &w->aim, w->op, &e->writer);
	e->unsignaled = w->signaled ? 0 : e->unsignaled + 1;
	if (takes_receive(w->op))
		e->messages++;
}

static uint32_t flags_of(const struct end *e, const struct sent *w, uint32_t wanted)
{
	uint32_t flags = wanted & (VB_SEND_FENCE | VB_SEND_SIGNALED | VB_SEND_SOLICITED);
	bool returns = w->op == VB_WR_RDMA_READ || is_atomic(w->op) || w->op == VB_WR_BIND_MW ||
		       w->op == VB_WR_LOCAL_INV || w->op == VB_WR_FLUSH;

	/* Unsignaled ones need a signaled one behind them, while there is room for it. */
	if (e->unsignaled + 1 >= (e->conn->depth + 1) / 2)
		flags |= VB_SEND_SIGNALED;
	if (wanted & VB_SEND_INLINE && !returns && w->bytes <= 64 && !is_local(w->defect))
		flags |= VB_SEND_INLINE;
	return flags;
}

/* Posts what @w and @wr say; the result of the call must follow from the state and the room. */
static bool submit(struct play *p, struct end *e, struct sent *w, struct vb_send_wr *wr)
{
	enum vb_qp_state s = vb_qp_get_state(e->qp);
	bool can = s == VB_QPS_RTS || s == VB_QPS_SQD || s == VB_QPS_SQE || s == VB_QPS_ERR;
	int want = !can ? -EINVAL : vb_qp_send_room(e->qp) == 0 ? -ENOMEM : 0;
	struct vb_sge sge[SGES_MAX];

	wr->wr_id = ID_OF(e->conn - p->conn, e->side, e->sent_cnt);
	wr->sge = sge;
	wr->sge_cnt = w->buf.sge_cnt;
	memcpy(sge, w->buf.sge, sizeof sge);
	if (wr->flags & VB_SEND_INLINE) /* named by its address, whatever the region's iova */
		for (uint32_t i = 0; i < wr->sge_cnt; i++)
			sge[i].addr = (uintptr_t)e->local.base + (sge[i].addr - e->local.iova);

	CHECK("call", vb_qp_send_check(e->qp, wr) == (can ? 0 : -EINVAL));

	int err = vb_qp_post_send(e->qp, wr, vb_sim_now(p->sim));

	if (err != want)
		fail("call", "posting opcode %u gives %d instead of %d", w->op, err, want);
	if (wr->flags & VB_SEND_INLINE) /* taken already */
		memset(e->local.base + w->buf.off, 0xee, w->buf.span);
	memset(sge, 0xee, sizeof sge);
	wr->sge = NULL;
	vb_sim_touch(p->sim, e->host);
	return err == 0;
}

static bool can_do(const struct end *e, uint8_t op)
{
	if ((op > VB_WR_SEND_INV && op != VB_WR_ATOMIC_WRITE && op != VB_WR_FLUSH) ||
	    op == VB_WR_BIND_MW)
		return false;
	if (e->conn->type == VB_QPT_UC)
		return op <= VB_WR_SEND_IMM;
	if (e->conn->type == VB_QPT_UD)
		return op == VB_WR_SEND || op == VB_WR_SEND_IMM;
	return true;
}

static struct sent *new_sent(struct end *e)
{
	e->sent = grow(e->sent, e->sent_cnt, &e->sent_cap, sizeof *e->sent);
	e->sent[e->sent_cnt] =
	    (struct sent){.id = (uint64_t)(e->side + 1) << 32 | (e->sent_cnt * 7919u),
			  .epoch_in = peer_of(e)->recv_life};
	return &e->sent[e->sent_cnt];
}

/* True when there is room for a marker behind it, and nothing else speaks against it. */
static bool may_post(const struct end *e)
{
	enum vb_qp_state s = vb_qp_get_state(e->qp);

	return s == VB_QPS_RTS || s == VB_QPS_SQD || s == VB_QPS_SQE || s == VB_QPS_ERR;
}

static bool is_doubtful(const struct end *e, const struct sent *w)
{
	return vb_qp_get_state(e->qp) == VB_QPS_ERR || slot_doubts(&w->aim, w->op, w->bytes);
}

static bool post_one(struct play *p, struct end *e, const uint32_t *a, uint32_t salt)
{
	struct vb_rng r = vb_rng_stream(salt, "post", 0);
	struct end *to = peer_of(e);
	struct sent *w = new_sent(e);
	struct vb_ah ah = {.pd = vb_sim_pd(p->sim, e->host),
			   .path = vb_sim_path(e->host, to->host, 0xc000, 2)};
	uint32_t most = e->conn->type == VB_QPT_UD ? e->conn->mtu_bytes : 9000;

	w->op = (uint8_t)a[POST_OP];
	if (!can_do(e, w->op) || !may_post(e) || vb_qp_send_room(e->qp) == 0)
		return false;
	w->bytes = is_aligned(w->op) ? 8 : w->op == VB_WR_LOCAL_INV ? 0 : a[POST_LEN] % (most + 1);
	w->defect = (uint8_t)fitting_defect(e, w->op, a[POST_DEFECT], w->bytes);
	if (is_remote(w->op) && !w->defect && e->conn->reliable)
		w->target = w->aim.target = (uint8_t)(a[POST_TARGET] % TARGET_CNT);
	if (e->conn->type == VB_QPT_UD && a[POST_TARGET] && a[POST_TARGET] <= GROUPS)
		w->group = (uint8_t)a[POST_TARGET];
	w->imm = (uint32_t)vb_rng_next(&r);
	w->recvs = e->messages;

	uint32_t flags = flags_of(e, w, a[POST_FLAGS]);
	struct vb_send_wr wr = {.opcode = (enum vb_wr_opcode)w->op,
				.flags = flags,
				.imm = w->imm,
				.ah = &ah,
				.dqpn = to->qpn,
				.qkey = 0x1234};

	w->signaled = flags & VB_SEND_SIGNALED || e->conn->sig_all;
	if (!local_buffer(p, e, w, a, flags, salt) || !aim(p, e, w, &wr, &r))
		return false;
	if (is_local(w->defect))
		spoil_local(e, w);
	if (w->op == VB_WR_SEND_INV || w->op == VB_WR_LOCAL_INV) {
		wr.inv_rkey = w->imm = p->mw[a[POST_TARGET] % MWS_MAX].rkey;
		window_invalidate(p, e, w, w->imm);
	}
	/* A QP fails with what is refused: not too often. */
	if ((w->aim.target || w->op == VB_WR_SEND_INV || w->op == VB_WR_LOCAL_INV) && salt % 8 &&
	    is_doubtful(e, w))
		return false;
	group_aim(w, &ah, &wr);
	if (!submit(p, e, w, &wr))
		return false;
	note(p, e, w);
	e->sent_cnt++;
	return true;
}

void play_post(struct play *p, const struct step *st)
{
	struct end *e = play_end(p, st);

	for (uint32_t i = 0; e && e->qp && i < st->arg[POST_CNT] && i < 8; i++)
		if (!post_one(p, e, st->arg, st->arg[POST_SALT] + i))
			return;
}

void play_bind(struct play *p, const struct step *st)
{
	const uint32_t *a = st->arg;
	struct end *e = play_end(p, st);
	struct window *mw = &p->mw[a[BIND_MW] % MWS_MAX];
	const struct mem *m = &p->mr[a[BIND_MR] % MRS_MAX];

	if (!e || !e->qp || !e->conn->reliable || !may_post(e) || vb_qp_send_room(e->qp) == 0 ||
	    !mw->mw)
		return;

	struct sent *w = new_sent(e);
	struct vb_send_wr wr = {.opcode = VB_WR_BIND_MW,
				.flags = VB_SEND_SIGNALED,
				.rkey = vb_mw_rkey(mw->mw),
				.imm = m->lkey,
				.remote_addr = m->iova + a[BIND_OFF],
				.swap = a[BIND_LEN],
				.compare_add =
				    (uint64_t)a[BIND_ACCESS] << 32 | (mw->rkey + 1) % 256};

	w->op = VB_WR_BIND_MW;
	w->signaled = true;
	window_bind(p, e, w, wr.rkey,
		    &(struct bind){m->iova + a[BIND_OFF], a[BIND_LEN], a[BIND_MR] % MRS_MAX,
				   a[BIND_ACCESS], 0});
	if ((is_doubtful(e, w) && (a[BIND_LEN] + a[BIND_OFF]) / 8 % 8) || !submit(p, e, w, &wr))
		return;
	note(p, e, w);
	e->sent_cnt++;
}

void end_mark(struct play *p, struct end *e)
{
	struct end *to = peer_of(e);
	struct sent *w = new_sent(e);
	struct vb_ah ah = {.pd = vb_sim_pd(p->sim, e->host),
			   .path = vb_sim_path(e->host, to->host, 0xc000, 2)};
	struct vb_send_wr wr = {.flags = VB_SEND_SIGNALED, .ah = &ah, .qkey = 0x1234};

	w->op = e->conn->type == VB_QPT_UD ? VB_WR_SEND : VB_WR_RDMA_WRITE;
	if (e->conn->is_xrc) {
		w->srq = SRQ_XRC;
		w->srq_life = p->srq[to->host][SRQ_XRC].life;
		wr.srqn = vb_srq_number(p->srq[to->host][SRQ_XRC].srq);
	}
	w->off = to->region.used;
	w->signaled = true;
	wr.opcode = (enum vb_wr_opcode)w->op;
	wr.dqpn = to->qpn;
	if (!submit(p, e, w, &wr))
		return;
	note(p, e, w);
	e->sent_cnt++;
}

static bool recv_one(struct play *p, struct end *e, const uint32_t *a, uint32_t salt)
{
	struct posted *r;
	uint32_t cap = e->recv_cap;
	bool rc = e->conn->reliable;
	bool small = a[RECV_LEN] < 9000 && rc;
	uint32_t len = small ? a[RECV_LEN] : 9001 + VB_GRH_LEN;

	e->recv = grow(e->recv, e->recv_cnt, &cap, sizeof *e->recv);
	e->recv_cap = cap;
	r = &e->recv[e->recv_cnt];
	*r = (struct posted){.defect =
				 rc && (a[RECV_DEFECT] == RECV_BAD_LKEY ||
					(a[RECV_DEFECT] == RECV_AWAY && mem_is_paged(&e->local)))};
	if (!buf_take(&e->local, &r->buf, len, 1 + (a[RECV_SGES] - 1) % SGES_MAX, salt))
		return false;
	/* A datagram says in the first bytes who sent it. */
	if (salt % 8 == 7 && !r->defect && e->conn->type != VB_QPT_UD)
		buf_null(&r->buf, vb_mr_lkey(p->null[e->host]), salt);

	struct vb_sge sge[SGES_MAX];
	struct vb_recv_wr wr = {ID_OF(e->conn - p->conn, e->side, e->recv_cnt) | ID_RECV, sge,
				r->buf.sge_cnt};

	memcpy(sge, r->buf.sge, sizeof sge);
	for (uint32_t i = 0; r->defect && i < wr.sge_cnt; i++)
		if (a[RECV_DEFECT] == RECV_AWAY)
			sge[i].addr = e->local.iova + AWAY_AT;
		else
			sge[i].lkey ^= 0x100;

	int err = vb_qp_post_recv(e->qp, &wr, vb_sim_now(p->sim));

	if (vb_qp_get_state(e->qp) == VB_QPS_RESET) {
		CHECK("call", err == -EINVAL);
		return false;
	}
	if (err == -ENOMEM && e->recv_cnt - e->recv_done >= e->conn->recvs)
		return false;
	if (err)
		fail("call", "posting a receive gives %d", err);
	if (r->defect || small)
		e->spoilt = true;
	vb_sim_touch(p->sim, e->host);
	e->recv_cnt++;
	return true;
}

void play_recv(struct play *p, const struct step *st)
{
	struct end *e = play_end(p, st);

	for (uint32_t i = 0; e && e->qp && !e->conn->srq && i < st->arg[RECV_CNT] && i < 16; i++)
		if (!recv_one(p, e, st->arg, st->arg[RECV_SALT] + i))
			return;
}

void end_feed(struct play *p, struct end *e)
{
	static const uint32_t good[STEP_ARGS] = {[RECV_LEN] = 9001, [RECV_SGES] = 1};

	if (e->conn->srq) {
		for (uint32_t i = SRQ_XRC; e->conn->is_xrc && i < SRQS; i++)
			srq_feed(p, e->host, (enum srq_of_host)i);
		if (!e->conn->is_xrc)
			srq_feed(p, e->host, SRQ_PLAIN);
		return;
	}
	if (e->recv_cnt == e->recv_done && peer_of(e)->retired < peer_of(e)->sent_cnt &&
	    vb_qp_get_state(e->qp) != VB_QPS_RESET) {
		if (e->local.limit - e->local.used < SRQ_SLOT) {
			/* The message received there before has been judged. */
			e->local.limit = SCRATCH_AT;
			e->local.used = SCRATCH_AT - SRQ_SLOT;
			memset(e->local.base + e->local.used, CANARY, SRQ_SLOT);
		}
		recv_one(p, e, good, 1);
	}
}
