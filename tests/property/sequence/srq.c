/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared receive queues: the plain one of a host, and those of its XRC domain, which are made with
 * the first XRC connection; receives, limits, and the event of a limit. IBA 10.2.9, A14.2
 */
#include "play.h"

#include "base/rng.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void receives_make(struct srq *s, uint32_t wrs)
{
	s->wrs = s->max = wrs;
	s->recv = play_alloc(wrs * sizeof *s->recv);
}

static void srq_create(struct play *p, uint32_t host, enum srq_of_host which)
{
	struct vb_srq_cap cap = {XRC_WRS, SGES_MAX};
	struct srq *s = &p->srq[host][which];
	struct vb_pd *pd = which == SRQ_XRC_AWAY ? p->away[host] : vb_sim_pd(p->sim, host);

	CHECK("call", (which == SRQ_PLAIN ? vb_srq_create(pd, SRQ_WRS, SGES_MAX, 0, s, &s->srq)
					  : vb_xrc_srq_create(pd, p->xrcd[host], p->queue[host].cq,
							      &cap, s, &s->srq)) == 0);
	free(s->ring);
	s->ring = NULL;
	if ((p->s->world[WORLD_SEED] >> which & 3) == 3) {
		s->ring = play_lend(vb_srq_ring_size(s->srq));
		vb_srq_place_ring(s->srq, s->ring);
	}
}

void srq_make(struct play *p, uint32_t host)
{
	struct srq *s = &p->srq[host][SRQ_PLAIN];

	mem_open(p, &s->mem, host, SRQ_WRS * SRQ_SLOT, VB_ACCESS_LOCAL_WRITE);
	receives_make(s, SRQ_WRS);
	srq_create(p, host, SRQ_PLAIN);
}

void srq_make_xrc(struct play *p, uint32_t host)
{
	struct vb_srq_cap cap = {XRC_WRS, SGES_MAX};

	if (p->xrcd[host])
		return;
	CHECK("call", vb_xrcd_create(vb_sim_hca(p->sim, host), &p->xrcd[host]) == 0 &&
			  vb_xrcd_create(vb_sim_hca(p->sim, host), &p->other_xrcd[host]) == 0);
	for (uint32_t i = SRQ_XRC; i < SRQS; i++) {
		struct srq *s = &p->srq[host][i];
		struct vb_pd *pd = i == SRQ_XRC_AWAY ? p->away[host] : vb_sim_pd(p->sim, host);

		mem_open_as(p, pd, &s->mem, XRC_WRS * SRQ_SLOT, VB_ACCESS_LOCAL_WRITE,
			    mem_kind_of(p->s->world[WORLD_SEED] >> 3 * i));
		receives_make(s, XRC_WRS);
		srq_create(p, host, (enum srq_of_host)i);
	}
	CHECK("call", vb_xrc_srq_create(p->away[host], p->other_xrcd[host], p->queue[host].cq, &cap,
					NULL, &p->other_srq[host]) == 0);
	CHECK("call", vb_xrcd_destroy(p->xrcd[host]) == -EBUSY);
}

void srq_destroy(struct play *p, uint32_t host)
{
	for (uint32_t i = 0; i < SRQS; i++)
		if (p->srq[host][i].srq)
			CHECK("call", vb_srq_destroy(p->srq[host][i].srq) == 0 &&
					  vb_mr_destroy(p->srq[host][i].mem.mr) == 0);
	if (p->xrcd[host])
		CHECK("call", vb_srq_destroy(p->other_srq[host]) == 0 &&
				  vb_xrcd_destroy(p->other_xrcd[host]) == 0 &&
				  vb_xrcd_destroy(p->xrcd[host]) == 0);
}

static bool srq_one(struct play *p, uint32_t host, enum srq_of_host which, uint32_t salt)
{
	struct srq *s = &p->srq[host][which];
	uint32_t n = vb_rng_below(&(struct vb_rng){salt}, s->wrs);

	if (s->posted == s->wrs)
		return false;
	while (s->recv[n].buf.span && !s->recv[n].done)
		n = (n + 1) % s->wrs;

	struct posted *r = &s->recv[n];

	*r = (struct posted){0};
	s->mem.used = n * SRQ_SLOT;
	CHECK("self", buf_take(&s->mem, &r->buf, 9001 + VB_GRH_LEN, 1 + salt % SGES_MAX, salt));
	if (salt % 8 == 7 && (which == SRQ_XRC || which == SRQ_XRC_TOO))
		buf_null(&r->buf, vb_mr_lkey(p->null[host]), salt);

	struct vb_recv_wr wr = {ID_OF(host, 0, which * SRQ_WRS + n) | ID_RECV | ID_SRQ, r->buf.sge,
				r->buf.sge_cnt};

	int err = vb_srq_post(s->srq, &wr);

	if (err == -ENOMEM && s->posted >= s->max) {
		*r = (struct posted){0};
		return false;
	}
	if (err)
		fail("call", "posting to an SRQ with at most %u of %u receives gives %d", s->posted,
		     s->max, err);
	s->posted++;
	return true;
}

void play_srq(struct play *p, const struct step *st)
{
	uint32_t host = st->arg[SRQ_HOST] % p->hosts, which = st->arg[SRQ_WHICH] % SRQS;

	for (uint32_t i = 0; p->srq[host][which].srq && i < st->arg[SRQ_CNT_] && i < 16; i++)
		if (!srq_one(p, host, (enum srq_of_host)which, st->arg[SRQ_SALT] + i))
			return;
	vb_sim_touch(p->sim, host);
}

/* Messages that named it may find it missing. */
static void doom(struct play *p, uint32_t host, uint32_t which)
{
	for (uint32_t c = 0; c < CONNS_MAX; c++)
		for (uint32_t i = 0; p->conn[c].exists && p->conn[c].is_xrc && i < 2; i++) {
			struct end *e = &p->conn[c].end[i];

			for (uint32_t n = e->retired; peer_of(e)->host == host && n < e->sent_cnt;
			     n++)
				e->hurts |= e->sent[n].srq == which;
		}
}

static bool is_used(const struct play *p, uint32_t host)
{
	for (uint32_t c = 0; c < CONNS_MAX; c++)
		for (uint32_t i = 0; p->conn[c].exists && i < 2; i++) {
			const struct end *e = &p->conn[c].end[i];

			if (e->host == host && e->qp && e->conn->srq && !e->conn->is_xrc)
				return true;
		}
	return false;
}

/* Destroys an SRQ, which one of an XRC domain always can be, and makes another one of its kind; its
 * receives go with it. IBA 11.2.3.4, A14.2.1 */
void play_unsrq(struct play *p, const struct step *st)
{
	uint32_t host = st->arg[UNSRQ_HOST] % p->hosts, which = st->arg[UNSRQ_WHICH] % SRQS;
	struct srq *s = &p->srq[host][which];
	int want = which == SRQ_PLAIN && is_used(p, host) ? -EBUSY : 0;

	host_wake(p, host);
	/* Completions of its receives are not mixed with those of the next. */
	if (!s->srq || p->queue[host].lost || !vb_cq_is_empty(p->queue[host].cq))
		return;
	CHECK("call", vb_srq_destroy(s->srq) == want);
	if (want)
		return;
	doom(p, host, which);
	memset(s->recv, 0, s->wrs * sizeof *s->recv);
	memset(s->mem.base, CANARY, s->mem.size);
	s->posted = s->limit = s->cnt = 0;
	s->max = s->wrs;
	s->life++;
	srq_create(p, host, (enum srq_of_host)which);
}

void srq_feed(struct play *p, uint32_t host, enum srq_of_host which)
{
	struct srq *s = &p->srq[host][which];

	/* Nothing tells any more which receives were taken; a target may serve on. */
	if (p->queue[host].lost) {
		memset(s->recv, 0, s->wrs * sizeof *s->recv);
		s->posted = 0;
		while (s->posted < s->wrs) {
			struct posted *r = &s->recv[s->posted];
			struct vb_sge sge = {s->mem.iova, SRQ_SLOT, s->mem.lkey};
			struct vb_recv_wr wr = {ID_RECV | ID_SRQ, &sge, 1};

			r->buf.span = 1;
			if (vb_srq_post(s->srq, &wr))
				return;
			s->posted++;
		}
		return;
	}
	/* Each QP may hold one for a message whose sender is gone. */
	if (s->posted <= s->wrs / 4)
		srq_one(p, host, which, 1);
}

/* How many receives are posted to the SRQ @s of @host. False: no QP is there that could say. */
static bool srq_cnt(const struct play *p, uint32_t host, const struct srq *s, uint32_t *cnt)
{
	struct vb_qp_view v;

	for (uint32_t c = 0; c < CONNS_MAX; c++)
		for (uint32_t i = 0; p->conn[c].exists && i < 2; i++) {
			const struct end *e = &p->conn[c].end[i];

			if (s == &p->srq[host][SRQ_PLAIN] && e->host == host && e->qp &&
			    e->conn->srq && !e->conn->is_xrc &&
			    vb_hca_view(vb_sim_hca(p->sim, host), vb_qp_number(e->qp),
					vb_sim_now(p->sim), &v)) {
				*cnt = v.recvs;
				return v.is_srq;
			}
		}
	return false;
}

void play_limit(struct play *p, const struct step *st)
{
	struct srq *s = &p->srq[st->arg[LIMIT_HOST] % p->hosts][st->arg[LIMIT_WHICH] % SRQS];
	uint32_t limit = st->arg[LIMIT_CNT];
	int want = limit > s->max ? -EINVAL : 0;

	if (!s->srq)
		return;
	CHECK("call", vb_srq_set_limit(s->srq, limit) == want);
	if (!want)
		s->limit = limit;
}

/* After every event. A limit is armed until a receive that is taken leaves fewer than it. */
void srq_look(struct play *p, uint32_t host)
{
	uint32_t max, sges, limit;

	for (uint32_t i = 0; i < SRQS; i++) {
		struct srq *s = &p->srq[host][i];
		uint32_t was = s->cnt;

		if (!s->srq)
			continue;
		mem_check(&s->mem);
		vb_srq_query(s->srq, &max, &sges, &limit);
		if (max != s->max || sges != SGES_MAX || limit != s->limit)
			fail("limit",
			     "an SRQ has %u of %u receives, %u of %u pieces, limit %u of %u", max,
			     s->max, sges, SGES_MAX, limit, s->limit);
		if (srq_cnt(p, host, s, &s->cnt) && s->limit && s->cnt < was && s->cnt < s->limit)
			fail("limit",
			     "%u receives are left of %u, the limit is %u, and no event came",
			     s->cnt, was, s->limit);
	}
}

void srq_on_limit(struct play *p, const struct srq *which)
{
	uint32_t cnt = 0, host = 0;

	while (which < p->srq[host] || which >= p->srq[host] + SRQS)
		host++;

	struct srq *s = &p->srq[host][which - p->srq[host]];

	if (s->limit == 0 || (srq_cnt(p, host, s, &cnt) && cnt >= s->limit))
		fail("limit", "%u receives are left, and the event of limit %u comes", cnt,
		     s->limit);
	s->limit = 0;
}
