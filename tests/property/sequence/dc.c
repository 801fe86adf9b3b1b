/* SPDX-License-Identifier: BSD-2-Clause */
/* Steps about DC: targets and initiators are made, changed and destroyed, and post. See dc.h. */
#include "dc.h"

#include "base/rng.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define QP_ACCESS                                                                                  \
	(VB_ACCESS_LOCAL_WRITE | VB_ACCESS_REMOTE_WRITE | VB_ACCESS_REMOTE_READ |                  \
	 VB_ACCESS_REMOTE_ATOMIC)
#define DESTROY VB_QPS_CNT /* in place of a state */

static void modify(struct play *p, struct vb_qp *qp, uint32_t host, enum vb_qp_state to,
		   uint32_t mask, struct vb_qp_attr *a)
{
	a->qp_state = to;

	int err = vb_qp_modify(qp, a, VB_QP_STATE | mask, vb_sim_now(p->sim));

	if (err)
		fail("call", "changing a QP of DC to state %d gives %d", to, err);
	vb_sim_touch(p->sim, host);
}

static void dct_up(struct play *p, struct dct *t)
{
	struct vb_qp_attr a = {.port = 1,
			       .access = QP_ACCESS,
			       .path = vb_sim_path(t->host, (t->host + 1) % p->hosts, 0xc000, 2),
			       .path_mtu = (enum vb_mtu)p->dc->mtu,
			       .min_rnr_timer = 8};

	modify(p, t->qp, t->host, VB_QPS_INIT, VB_QP_PKEY_INDEX | VB_QP_PORT | VB_QP_ACCESS_FLAGS,
	       &a);
	modify(p, t->qp, t->host, VB_QPS_RTR, VB_QP_PATH_MTU | VB_QP_AV | VB_QP_MIN_RNR_TIMER, &a);
}

static void dci_up(struct play *p, struct dci *d, const uint32_t *arg)
{
	struct vb_qp_attr a = {.port = 1,
			       .path_mtu = (enum vb_mtu)p->dc->mtu,
			       .sq_psn = arg[DCI_SALT],
			       .max_rd_atomic = (uint8_t)(1 + arg[DCI_ATOMICS] % 16),
			       .timeout = (uint8_t)(11 + arg[DCI_TIMEOUT] % 3),
			       .retry_cnt = 7,
			       .rnr_retry = (uint8_t)d->rnr};

	modify(p, d->qp, d->host, VB_QPS_INIT, VB_QP_PKEY_INDEX | VB_QP_PORT, &a);
	modify(p, d->qp, d->host, VB_QPS_RTR, VB_QP_PATH_MTU, &a);
	modify(p, d->qp, d->host, VB_QPS_RTS,
	       VB_QP_SQ_PSN | VB_QP_TIMEOUT | VB_QP_RETRY_CNT | VB_QP_RNR_RETRY |
		   VB_QP_MAX_QP_RD_ATOMIC,
	       &a);
}

static void dct_region(struct play *p, struct dct *t)
{
	mem_open(p, &t->region, t->host, REGION_BYTES, QP_ACCESS);
	t->region.used = PATTERN_AT + PATTERN_LEN;
	t->pattern = t->region.iova >> 20;
	for (uint32_t i = 0; i < PATTERN_LEN; i++)
		t->region.base[PATTERN_AT + i] = byte_of(t->pattern, i);
	for (uint32_t i = 0; i < DCIS_MAX; i++)
		memcpy(&p->dc->dci[i].link[t - p->dc->dct].cell, t->region.base + i * 8, 8);
}

static void dct_open(struct play *p, const uint32_t *a)
{
	struct dct *t = &p->dc->dct[a[DCT_SLOT] % DCTS_MAX];
	uint32_t host = a[DCT_HOST] % p->hosts;
	struct vb_qp_init init = {.type = VB_QPT_DCT,
				  .send_cq = p->queue[host].cq,
				  .recv_cq = p->queue[host].cq,
				  .owner = &t->owner};

	if (t->exists || p->queue[host].lost)
		return;
	*t = (struct dct){.exists = true, .host = host, .key = ++p->dc->next_key};
	t->owner.dct = t;

	/* An SRQ may be of another PD than the target. */
	struct vb_pd *pd = t->key & 1 ? p->away[host] : vb_sim_pd(p->sim, host);

	dct_region(p, t);
	mem_open_in(p, pd, &t->mem, DC_SRQ_WRS * SRQ_SLOT, VB_ACCESS_LOCAL_WRITE);
	CHECK("call", vb_srq_create(pd, DC_SRQ_WRS, SGES_MAX, 0, NULL, &t->srq) == 0);
	init.srq = t->srq;
	init.dc.key = t->key;
	CHECK("call", vb_qp_create(vb_sim_pd(p->sim, host), &init, &t->qp) == 0);
	CHECK("call", vb_srq_destroy(t->srq) == -EBUSY);
	t->qpn = vb_qp_number(t->qp);
	dct_up(p, t);
}

/* Receives name the initiator by its number alone: no two have the same. */
static bool is_taken(const struct dc *dc, const struct dci *but, uint32_t qpn)
{
	for (uint32_t i = 0; i < DCIS_MAX; i++)
		if (dc->dci[i].exists && &dc->dci[i] != but && dc->dci[i].qpn == qpn)
			return true;
	return false;
}

static void dci_open(struct play *p, const uint32_t *a)
{
	struct dci *d = &p->dc->dci[a[DCI_SLOT] % DCIS_MAX];
	uint32_t host = a[DCI_HOST] % p->hosts, log = a[DCI_STREAMS] % 4;
	struct vb_qp_init init = {.type = VB_QPT_DCI,
				  .send_cq = p->queue[host].cq,
				  .cap = {.max_send_sge = SGES_MAX, .max_inline_data = 64},
				  .dc = {.log_streams = (uint8_t)log,
					 .log_errored = (uint8_t)(a[DCI_ERRORED] % 4),
					 .full_handshake = a[DCI_FULL] & 1},
				  .owner = &d->owner};

	if (d->exists || p->queue[host].lost)
		return;
	*d = (struct dci){.exists = true, .host = host, .rnr = a[DCI_RNR] & 7};
	for (uint32_t i = 0; i < DCTS_MAX; i++) /* nobody else writes there */
		if (p->dc->dct[i].exists)
			memcpy(&d->link[i].cell, p->dc->dct[i].region.base + (d - p->dc->dci) * 8,
			       8);
	d->owner.dci = d;
	d->streams = 1u << log;
	d->bad_max = log ? 1u << init.dc.log_errored : 0;
	d->depth = init.cap.max_send_wr = 2 + a[DCI_DEPTH] % 40;
	mem_open(p, &d->local, host, LOCAL_BYTES, VB_ACCESS_LOCAL_WRITE);
	do {
		if (d->qp)
			CHECK("call", vb_qp_destroy(d->qp) == 0);
		CHECK("call", vb_qp_create(vb_sim_pd(p->sim, host), &init, &d->qp) == 0);
		d->qpn = vb_qp_number(d->qp);
	} while (is_taken(p->dc, d, d->qpn));
	dci_up(p, d, a);
}

void play_dc_open(struct play *p, const struct step *st)
{
	if (!p->dc) {
		p->dc = play_alloc(sizeof *p->dc);
		p->dc->mtu = VB_MTU_256 + p->s->world[WORLD_SEED] % VB_MTU_4096;
		p->dc->next_key = UINT64_C(0xfeed00000000);
	}
	if (st->kind == STEP_DCT)
		dct_open(p, st->arg);
	else
		dci_open(p, st->arg);
}

static void dci_state(struct play *p, struct dci *d, uint32_t to, const uint32_t *up)
{
	enum vb_qp_state was = vb_qp_get_state(d->qp);
	struct vb_qp_attr a = {0};

	if (to == VB_QPS_ERR && was != VB_QPS_RESET) {
		d->moved = d->trouble = true;
		modify(p, d->qp, d->host, VB_QPS_ERR, 0, &a);
	} else if (to == VB_QPS_RESET) {
		modify(p, d->qp, d->host, VB_QPS_RESET, 0, &a);
		dci_void(d);
		d->moved = d->is_ended = d->hurts = false;
		memset(d->bad, 0, sizeof d->bad);
		d->bad_cnt = 0;
		dci_up(p, d, up);
	} else if ((to == VB_QPS_SQD && was == VB_QPS_RTS) ||
		   (to == VB_QPS_RTS && was == VB_QPS_SQD)) {
		modify(p, d->qp, d->host, (enum vb_qp_state)to, 0, &a);
	} else if (to == DESTROY) {
		CHECK("call", vb_qp_destroy(d->qp) == 0);
		d->qp = NULL;
		dci_void(d);
	}
}

static void dct_state(struct play *p, struct dct *t, uint32_t to)
{
	enum vb_qp_state was = vb_qp_get_state(t->qp);
	struct vb_qp_attr a = {0};

	if (to == VB_QPS_ERR && was != VB_QPS_RESET) {
		t->moved = true;
		t->life++;
		modify(p, t->qp, t->host, VB_QPS_ERR, 0, &a);
	} else if (to == VB_QPS_RESET) {
		t->moved = true;
		t->life++;
		t->last_wqe = false;
		modify(p, t->qp, t->host, VB_QPS_RESET, 0, &a);
		dct_up(p, t);
	} else if (to == DESTROY) {
		t->moved = true;
		t->life++;
		CHECK("call", vb_qp_destroy(t->qp) == 0);
		t->qp = NULL;
	}
}

void play_dc_state(struct play *p, const struct step *st)
{
	const uint32_t *a = st->arg;
	uint32_t to = a[DCSTATE_TO];

	if (!p->dc)
		return;
	if (a[DCSTATE_TARGET]) {
		struct dct *t = &p->dc->dct[a[DCSTATE_SLOT] % DCTS_MAX];

		if (t->qp)
			host_wake(p, t->host);
		if (t->qp && !p->queue[t->host].lost)
			dct_state(p, t, to);
	} else {
		static const uint32_t up[STEP_ARGS] = {[DCI_SALT] = 0xfffffa};
		struct dci *d = &p->dc->dci[a[DCSTATE_SLOT] % DCIS_MAX];

		if (d->qp)
			host_wake(p, d->host);
		if (d->qp && !p->queue[d->host].lost)
			dci_state(p, d, to, up);
	}
}

void play_dc_stream(struct play *p, const struct step *st)
{
	struct dci *d = p->dc ? &p->dc->dci[st->arg[0] % DCIS_MAX] : NULL;
	uint32_t stream = st->arg[1] % DC_STREAMS;

	if (!d || !d->qp)
		return;
	host_wake(p, d->host);
	if (p->queue[d->host].lost)
		return;
	CHECK("call",
	      vb_dci_reset_stream(d->qp, (uint16_t)stream) == (d->bad[stream] ? 0 : -EINVAL));
	d->bad_cnt -= d->bad[stream];
	d->bad[stream] = false;
}

static void recv_one(struct play *p, struct dct *t, uint32_t salt)
{
	uint32_t n = salt % DC_SRQ_WRS, slot = (uint32_t)(t - p->dc->dct);

	if (t->posted == DC_SRQ_WRS)
		return;
	while (t->recv[n].buf.span && !t->recv[n].done)
		n = (n + 1) % DC_SRQ_WRS;

	struct posted *r = &t->recv[n];

	*r = (struct posted){0};
	t->mem.used = n * SRQ_SLOT;
	CHECK("self", buf_take(&t->mem, &r->buf, 9001, 1 + salt % SGES_MAX, salt));

	struct vb_recv_wr wr = {ID_DC | ID_RECV | ID_OF(slot, 0, n), r->buf.sge, r->buf.sge_cnt};

	CHECK("call", vb_srq_post(t->srq, &wr) == 0);
	t->posted++;
	vb_sim_touch(p->sim, t->host);
}

void play_dc_recv(struct play *p, const struct step *st)
{
	struct dct *t = p->dc ? &p->dc->dct[st->arg[0] % DCTS_MAX] : NULL;

	for (uint32_t i = 0; t && t->exists && i < st->arg[1] && i < 16; i++)
		recv_one(p, t, st->arg[2] + i);
}

static bool can_do(uint8_t op)
{
	return op <= VB_WR_FETCH_ADD || op == VB_WR_SEND_INV || op == VB_WR_ATOMIC_WRITE;
}

static uint8_t fitting_defect(uint8_t op, uint32_t defect, uint32_t len, uint32_t flags)
{
	switch ((enum defect)defect) {
	case DEFECT_RKEY:
	case DEFECT_BOUNDS:
	case DEFECT_RIGHT:
		return needs_key(op, len) ? (uint8_t)defect : DEFECT_NONE;
	case DEFECT_LKEY:
	case DEFECT_LOCAL_BOUNDS:
		return len && !(flags & VB_SEND_INLINE) ? (uint8_t)defect : DEFECT_NONE;
	case DEFECT_ALIGN:
		return is_aligned(op) ? (uint8_t)defect : DEFECT_NONE;
	case DEFECT_SRQN:
	case DEFECT_DOMAIN:
		return (uint8_t)defect;
	default:
		return DEFECT_NONE;
	}
}

/* Where it goes to, and what is wrong with that. */
static bool aim(struct play *p, struct dci *d, struct dct *t, struct dc_sent *w,
		struct vb_send_wr *wr, struct vb_rng *r)
{
	if (is_atomic(w->op)) {
		w->off = (uint32_t)(d - p->dc->dci) * 8;
		w->add = wr->compare_add =
		    vb_rng_below(r, 2) ? vb_rng_next(r) : d->link[w->target].cell;
		w->swap = wr->swap = vb_rng_next(r);
	} else if (w->op == VB_WR_RDMA_READ) {
		w->off = PATTERN_AT + vb_rng_below(r, PATTERN_LEN - w->bytes + 1);
	} else if (is_write(w->op)) {
		if (t->region.size - t->region.used < w->bytes + 8)
			return false;
		if (is_aligned(w->op))
			t->region.used = (t->region.used + 7) & ~7u;
		w->off = t->region.used;
		t->region.used += w->bytes + vb_rng_below(r, 9);
	}
	wr->remote_addr = t->region.iova + w->off;
	wr->rkey = t->region.rkey;
	if (w->defect == DEFECT_RKEY)
		wr->rkey ^= 1u << vb_rng_below(r, 32);
	else if (w->defect == DEFECT_BOUNDS)
		wr->remote_addr =
		    t->region.iova + t->region.size - w->bytes + (is_aligned(w->op) ? 8 : 1);
	else if (w->defect == DEFECT_RIGHT)
		wr->rkey = vb_mr_rkey(t->mem.mr), wr->remote_addr = t->mem.iova;
	else if (w->defect == DEFECT_ALIGN)
		wr->remote_addr += 1 + vb_rng_below(r, 7);
	else if (w->defect == DEFECT_SRQN)
		wr->dc_key ^= UINT64_C(1) << vb_rng_below(r, 64);
	return true;
}

static bool local_buffer(struct dci *d, struct dc_sent *w, const uint32_t *a, uint32_t salt)
{
	struct vb_sge *last;

	if (!buf_take(&d->local, &w->buf, w->bytes, 1 + (a[DCPOST_SGES] - 1) % SGES_MAX, salt))
		return false;
	if (w->op != VB_WR_RDMA_READ && !is_atomic(w->op))
		buf_fill(&d->local, &w->buf, w->id);
	if (w->defect != DEFECT_LKEY && w->defect != DEFECT_LOCAL_BOUNDS)
		return true;
	last = &w->buf.sge[w->buf.sge_cnt - 1];
	for (; last > w->buf.sge && last->length == 0; last--)
		;
	if (w->defect == DEFECT_LKEY)
		last->lkey ^= 0x100;
	else
		last->addr = d->local.iova + d->local.size - last->length + 1;
	return true;
}

/* What the call must return follows from the state and the room. */
static bool submit(struct play *p, struct dci *d, struct dc_sent *w, struct vb_send_wr *wr)
{
	struct vb_sge sge[SGES_MAX];
	int want = vb_qp_send_room(d->qp) == 0 ? -ENOMEM : 0;

	memcpy(sge, w->buf.sge, sizeof sge);
	wr->sge = sge;
	wr->sge_cnt = w->buf.sge_cnt;
	wr->wr_id = ID_DC | ID_OF(d - p->dc->dci, 0, d->sent_cnt);
	if (wr->flags & VB_SEND_INLINE)
		for (uint32_t i = 0; i < wr->sge_cnt; i++)
			sge[i].addr = (uintptr_t)d->local.base + (sge[i].addr - d->local.iova);

	int err = vb_qp_post_send(d->qp, wr, vb_sim_now(p->sim));

	if (err != want)
		fail("call", "posting opcode %u to an initiator gives %d instead of %d", w->op, err,
		     want);
	if (wr->flags & VB_SEND_INLINE) /* taken already */
		memset(d->local.base + w->buf.off, 0xee, w->buf.span);
	vb_sim_touch(p->sim, d->host);
	return err == 0;
}

static void refused(struct play *p, struct dci *d, const struct vb_send_wr *as, uint8_t op)
{
	struct vb_send_wr wr = *as;

	wr.opcode = (enum vb_wr_opcode)op;
	CHECK("call", vb_qp_post_send(d->qp, &wr, vb_sim_now(p->sim)) == -EINVAL);
	wr.opcode = VB_WR_SEND;
	wr.ah = NULL;
	CHECK("call", vb_qp_post_send(d->qp, &wr, vb_sim_now(p->sim)) == -EINVAL);
}

static uint32_t flags_of(const struct dci *d, uint8_t op, uint32_t bytes, uint32_t wanted)
{
	uint32_t flags = wanted & (VB_SEND_FENCE | VB_SEND_SIGNALED | VB_SEND_SOLICITED);
	bool returns = op == VB_WR_RDMA_READ || is_atomic(op);

	/* Room comes back with a completion only, but every other one has one. */
	if (d->sent_cnt && !d->sent[d->sent_cnt - 1].signaled)
		flags |= VB_SEND_SIGNALED;
	if (wanted & VB_SEND_INLINE && !returns && bytes <= 64)
		flags |= VB_SEND_INLINE;
	return flags;
}

static struct dc_sent *new_sent(struct dci *d, uint32_t slot)
{
	if (d->sent_cnt == d->sent_cap) {
		d->sent_cap = d->sent_cap ? d->sent_cap * 2 : 64;
		d->sent = realloc(d->sent, d->sent_cap * sizeof *d->sent);
		CHECK("memory", d->sent);
	}
	d->sent[d->sent_cnt] =
	    (struct dc_sent){.id = (uint64_t)(slot + 3) << 32 | (d->sent_cnt * 7919u)};
	return &d->sent[d->sent_cnt];
}

static bool post_one(struct play *p, struct dci *d, struct dct *t, const uint32_t *a, uint32_t salt)
{
	struct vb_rng r = vb_rng_stream(salt, "dc", 0);
	struct dc_sent *w = new_sent(d, (uint32_t)(d - p->dc->dci));
	struct vb_ah ah = {.pd = vb_sim_pd(p->sim, d->host),
			   .path =
			       vb_sim_path(d->host, t->host, (uint16_t)(0xc000 + t->qpn % 8), 2)};
	struct vb_send_wr wr = {.opcode = (enum vb_wr_opcode)a[DCPOST_OP],
				.ah = &ah,
				.dqpn = t->qpn,
				.dc_key = t->key,
				.inv_rkey = (uint32_t)vb_rng_next(&r)};

	w->op = (uint8_t)a[DCPOST_OP];
	if (!can_do(w->op)) {
		refused(p, d, &wr, w->op);
		return false;
	}
	w->bytes = is_aligned(w->op) ? 8 : a[DCPOST_LEN] % 9001;
	wr.flags = flags_of(d, w->op, w->bytes, a[DCPOST_FLAGS]);
	w->defect = fitting_defect(w->op, a[DCPOST_DEFECT], w->bytes, wr.flags);
	w->target = (uint8_t)(t - p->dc->dct);
	w->life = t->life;
	w->stream = (uint8_t)(a[DCPOST_STREAM] % d->streams);
	w->doomed = d->bad[w->stream];
	w->imm = (uint32_t)vb_rng_next(&r);
	w->signaled = wr.flags & VB_SEND_SIGNALED;
	wr.imm = w->op == VB_WR_SEND_INV ? 0 : w->imm;
	/* Without streams the number of one is ignored. */
	wr.dc_stream = (uint16_t)(d->bad_max ? w->stream : a[DCPOST_STREAM]);
	if (w->defect == DEFECT_DOMAIN)
		ah.pd = p->away[d->host];
	if (!local_buffer(d, w, a, salt) || !aim(p, d, t, w, &wr, &r) || !submit(p, d, w, &wr))
		return false;
	d->hurts |= w->defect || w->op == VB_WR_SEND_INV;
	d->hurts_ever |= d->hurts;
	d->sent_cnt++;
	return true;
}

void play_dc_post(struct play *p, const struct step *st)
{
	const uint32_t *a = st->arg;
	struct dci *d = p->dc ? &p->dc->dci[a[DCPOST_DCI] % DCIS_MAX] : NULL;
	struct dct *t = p->dc ? &p->dc->dct[a[DCPOST_DCT] % DCTS_MAX] : NULL;

	if (!d || !d->qp || !t->exists || d->host == t->host || p->queue[d->host].lost)
		return;
	for (uint32_t i = 0; i < a[DCPOST_CNT] && i < 8; i++)
		if (!post_one(p, d, t, a, a[DCPOST_SALT] + i))
			return;
}

void dc_event(struct play *p, const struct owner *o, enum vb_async async)
{
	if (o->dct) {
		enum vb_qp_state s = o->dct->qp ? vb_qp_get_state(o->dct->qp) : VB_QPS_RESET;

		CHECK("status",
		      async == VB_ASYNC_QP_FATAL || async == VB_ASYNC_QP_LAST_WQE_REACHED);
		CHECK("once", s != VB_QPS_ERR || async != VB_ASYNC_QP_LAST_WQE_REACHED ||
				  !o->dct->last_wqe);
		if (s == VB_QPS_ERR && async == VB_ASYNC_QP_LAST_WQE_REACHED)
			o->dct->last_wqe = true;
	}
	CHECK("overrun",
	      async != VB_ASYNC_QP_FATAL || p->queue[o->dct ? o->dct->host : o->dci->host].overrun);
	if (o->dct && async == VB_ASYNC_QP_FATAL) {
		o->dct->moved = true;
		o->dct->life++;
	}
}

void dc_lose(struct play *p, uint32_t host)
{
	for (uint32_t i = 0; p->dc && i < DCIS_MAX; i++) {
		struct dci *d = &p->dc->dci[i];

		if (!d->exists || d->host != host)
			continue;
		CHECK("overrun", !d->qp || vb_qp_get_state(d->qp) == VB_QPS_ERR);
		d->moved = d->trouble = true;
		dci_void(d);
	}
	for (uint32_t i = 0; p->dc && i < DCTS_MAX; i++) {
		struct dct *t = &p->dc->dct[i];

		if (!t->exists || t->host != host)
			continue;
		CHECK("overrun", !t->qp || vb_qp_get_state(t->qp) == VB_QPS_ERR);
		t->moved = true;
		t->life++;
	}
}

void dc_look(const struct play *p)
{
	for (uint32_t i = 0; p->dc && i < DCIS_MAX; i++)
		mem_check(&p->dc->dci[i].local);
	for (uint32_t i = 0; p->dc && i < DCTS_MAX; i++) {
		mem_check(&p->dc->dct[i].region);
		mem_check(&p->dc->dct[i].mem);
	}
}

void dc_resume(struct play *p)
{
	struct vb_qp_attr a = {0};

	for (uint32_t i = 0; p->dc && i < DCIS_MAX; i++) {
		struct dci *d = &p->dc->dci[i];

		if (d->qp && vb_qp_get_state(d->qp) == VB_QPS_SQD)
			modify(p, d->qp, d->host, VB_QPS_RTS, 0, &a);
	}
	for (uint32_t i = 0; p->dc && i < DCTS_MAX; i++) {
		struct dct *t = &p->dc->dct[i];

		if (t->qp && vb_qp_get_state(t->qp) == VB_QPS_RTR && t->posted <= 4)
			recv_one(p, t, 1);
	}
}

void dc_check(struct play *p)
{
	for (uint32_t i = 0; p->dc && i < DCIS_MAX; i++)
		if (p->dc->dci[i].exists)
			dci_check(p, p->dc, &p->dc->dci[i]);
	for (uint32_t i = 0; p->dc && i < DCTS_MAX; i++)
		if (p->dc->dct[i].exists)
			dct_check(p, p->dc, &p->dc->dct[i]);
}

void dc_tidy(struct play *p)
{
	for (uint32_t i = 0; p->dc && i < DCIS_MAX; i++) {
		struct dci *d = &p->dc->dci[i];

		if (d->qp)
			CHECK("call", vb_qp_destroy(d->qp) == 0);
		if (d->exists)
			CHECK("call", vb_mr_destroy(d->local.mr) == 0);
	}
	for (uint32_t i = 0; p->dc && i < DCTS_MAX; i++) {
		struct dct *t = &p->dc->dct[i];

		if (t->qp)
			CHECK("call", vb_qp_destroy(t->qp) == 0);
		if (t->exists)
			CHECK("call", vb_srq_destroy(t->srq) == 0 &&
					  vb_mr_destroy(t->region.mr) == 0 &&
					  vb_mr_destroy(t->mem.mr) == 0);
	}
}

void dc_free(struct play *p)
{
	for (uint32_t i = 0; p->dc && i < DCIS_MAX; i++) {
		mem_close(&p->dc->dci[i].local);
		free(p->dc->dci[i].sent);
	}
	for (uint32_t i = 0; p->dc && i < DCTS_MAX; i++) {
		mem_close(&p->dc->dct[i].region);
		mem_close(&p->dc->dct[i].mem);
	}
	free(p->dc);
	p->dc = NULL;
}
