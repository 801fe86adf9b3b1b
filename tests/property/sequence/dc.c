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
	mem_open_as(p, vb_sim_pd(p->sim, t->host), &t->region, REGION_BYTES, QP_ACCESS,
		    mem_kind_of((uint32_t)t->key / 16));
	mem_hole(&t->region, (struct hole){AWAY_AT, AWAY_BYTES, HOLE_AWAY, NULL}, false);
	t->region.limit = SCRATCH_AT;
	t->region.used = PATTERN_AT + PATTERN_LEN;
	t->pattern = t->region.number >> 20;
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
	mem_open_as(p, pd, &t->mem, DC_SRQ_WRS * SRQ_SLOT, VB_ACCESS_LOCAL_WRITE,
		    mem_kind_of((uint32_t)t->key / 2));
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
	mem_open_as(p, vb_sim_pd(p->sim, host), &d->local, REGION_BYTES, VB_ACCESS_LOCAL_WRITE,
		    mem_kind_of(a[DCI_SALT]));
	mem_hole(&d->local, (struct hole){AWAY_AT, AWAY_BYTES, HOLE_AWAY, NULL}, false);
	d->local.limit = SCRATCH_AT;
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
		d->moved = d->is_ended = d->hurts = d->invalidates = false;
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
	if (salt % 8 == 7 && !(t->key & 1))
		buf_null(&r->buf, vb_mr_lkey(p->null[t->host]), salt);

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

const struct mem *dc_mem_at(const struct play *p, const uint8_t *at)
{
	for (uint32_t i = 0; p->dc && i < DCIS_MAX; i++)
		if (mem_has(&p->dc->dci[i].local, at))
			return &p->dc->dci[i].local;
	for (uint32_t i = 0; p->dc && i < DCTS_MAX; i++) {
		const struct dct *t = &p->dc->dct[i];

		if (mem_has(&t->region, at) || mem_has(&t->mem, at))
			return mem_has(&t->region, at) ? &t->region : &t->mem;
	}
	return NULL;
}

bool dc_uses_away(const struct play *p, uint32_t host)
{
	bool used = false;

	for (uint32_t i = 0; p->dc && i < DCTS_MAX; i++)
		used |= p->dc->dct[i].exists && p->dc->dct[i].host == host && p->dc->dct[i].key & 1;
	return used;
}

uint32_t dc_writers(const struct play *p, const struct writer *but)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; p->dc && i < DCIS_MAX * DC_STREAMS; i++) {
		const struct writer *w = &p->dc->dci[i / DC_STREAMS].writer[i % DC_STREAMS];

		cnt += w != but && (w->cnt || w->strays);
	}
	return cnt;
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
