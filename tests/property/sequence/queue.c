/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues: a program takes its completions, or naps until its queue overruns; and what
 * events tell about them, and about QPs. IBA 11.2.8, 11.6.3
 */
#include "play.h"

#include <errno.h>

/* The queue has told of all that it took before it overran. Later work never completes. */
static void lose(struct play *p, uint32_t host)
{
	p->queue[host].lost = true;
	dc_lose(p, host);
	for (uint32_t c = 0; c < CONNS_MAX; c++)
		for (uint32_t i = 0; p->conn[c].exists && i < 2; i++) {
			struct end *e = &p->conn[c].end[i];

			if (e->host != host)
				continue;
			if (e->qp && vb_qp_get_state(e->qp) != VB_QPS_ERR &&
			    vb_qp_get_state(e->qp) != VB_QPS_RESET)
				fail("status", "a QP lives on after its queue overran");
			p->conn[c].first_life = false;
			e->moved = true;
			end_void(p, e);
		}
}

void host_poll(struct play *p, uint32_t host)
{
	struct queue *q = &p->queue[host];
	bool event_driven = p->s->world[WORLD_EVENT];
	struct vb_wc wc[8];
	uint32_t taken = 0;
	int n;

	if (q->lost || vb_sim_now(p->sim) < q->nap_until)
		return;
	if (event_driven ? q->awaits : vb_cq_is_empty(q->cq))
		return;
	if (event_driven)
		vb_cq_arm(q->cq, q->solicited);
	while ((n = vb_cq_poll(q->cq, wc, 1 + (int)(p->count.completions % 8))) > 0) {
		CHECK("once", n <= 8);
		taken += (uint32_t)n;
		for (int i = 0; i < n; i++) {
			if (p->verbose)
				printf("%12llu host %u wr %llx qp %06x status %d bytes %u\n",
				       (unsigned long long)vb_sim_now(p->sim), host,
				       (unsigned long long)wc[i].wr_id, wc[i].qpn, wc[i].status,
				       wc[i].byte_len);
			play_completion(p, host, &wc[i]);
		}
	}
	q->awaits = event_driven;
	if (n == 0) {
		CHECK("overrun", !q->overrun);
		return;
	}
	/* It loses nothing that it had room for. */
	if (n != -EOVERFLOW || taken != vb_cq_size(q->cq))
		fail("overrun", "a queue for %u completions gives %u, then %d", vb_cq_size(q->cq),
		     taken, n);
	lose(p, host);
}

void host_wake(struct play *p, uint32_t host)
{
	p->queue[host].nap_until = 0;
	/* It looks without having been told. */
	if (p->queue[host].solicited || p->queue[host].moderated) {
		p->queue[host].awaits = false;
		p->queue[host].untold = true;
	}
	host_poll(p, host);
}

void play_nap(struct play *p, const struct step *st)
{
	p->queue[st->arg[NAP_HOST] % p->hosts].nap_until =
	    vb_sim_now(p->sim) + st->arg[NAP_US] * VB_USEC;
}

void play_cq(struct play *p, const struct step *st)
{
	uint32_t size = st->arg[CQ_SIZE], host = st->arg[CQ_HOST] % p->hosts;
	struct queue *q = &p->queue[host];

	if (size < 4 || size > 8192)
		return;
	host_wake(p, host);
	/* Between its notification and the poll that follows there may be some. */
	if (!q->lost && vb_cq_is_empty(q->cq))
		CHECK("call", vb_cq_resize(q->cq, size) == 0 && vb_cq_size(q->cq) >= size);
}

static void on_tgt(struct end *e, enum vb_async async)
{
	/* Its receives are those of SRQs, and none is the last. */
	CHECK("once", async != VB_ASYNC_QP_LAST_WQE_REACHED);
	e->tgt_moved |= async == VB_ASYNC_QP_FATAL;
}

static void on_qp(const struct owner *o, enum vb_async async)
{
	struct end *e = o->end;
	enum vb_qp_state state = e->qp ? vb_qp_get_state(e->qp) : VB_QPS_RESET;
	bool ended = state == VB_QPS_ERR || state == VB_QPS_RESET;

	if (o->is_tgt) {
		on_tgt(e, async);
		return;
	}
	switch (async) {
	case VB_ASYNC_SQ_DRAINED:
		/* Everything sent has been acknowledged. IBT-32 */
		CHECK("order", state != VB_QPS_SQD || vb_qp_unacked(e->qp) == 0);
		e->drained = state == VB_QPS_SQD;
		break;
	case VB_ASYNC_QP_FATAL:
		CHECK("overrun", !e->fatal && ended);
		e->fatal = e->moved = true;
		break;
	case VB_ASYNC_QP_LAST_WQE_REACHED:
		CHECK("once", e->conn->srq && ended && !(e->last_wqe && e->conn->first_life));
		e->last_wqe = true;
		break;
	default:
		break;
	}
}

void queue_event(void *ctx, uint32_t host, const struct vb_event *ev, vb_time now)
{
	struct play *p = ctx;
	struct queue *q = &p->queue[host];

	(void)now;
	switch (ev->kind) {
	case VB_EVENT_CQ_NOTIFY:
		if (!ev->owner) /* the simulator's own CQ */
			return;
		CHECK("call", ev->owner == q && (q->awaits || q->untold));
		q->awaits = false;
		break;
	case VB_EVENT_ASYNC_CQ:
		CHECK("overrun", ev->owner == q && ev->async == VB_ASYNC_CQ_ERR && !q->overrun);
		q->overrun = true;
		break;
	case VB_EVENT_ASYNC_SRQ:
		CHECK("limit", ev->async == VB_ASYNC_SRQ_LIMIT_REACHED);
		srq_on_limit(p, ev->owner);
		break;
	case VB_EVENT_ASYNC_QP:
		if (((const struct owner *)ev->owner)->end)
			on_qp(ev->owner, ev->async);
		else
			dc_event(p, ev->owner, ev->async);
		break;
	default:
		break;
	}
}

void queue_check(struct play *p, const struct end *e)
{
	const struct queue *q = &p->queue[e->host];

	CHECK("overrun", q->overrun == q->lost && (!e->fatal || q->overrun));
	if (!e->qp)
		return;
	/* A QP that ended for no other reason was told why. */
	if (q->lost && vb_qp_get_state(e->qp) == VB_QPS_ERR && !e->fatal && !e->ended &&
	    !e->failed && !e->spoilt && !e->conn->end[!e->side].hurts)
		fail("overrun", "a QP ended with its queue, and no event told it");
	if (e->conn->srq && !e->conn->is_xrc && e->conn->first_life &&
	    vb_qp_get_state(e->qp) == VB_QPS_ERR && !e->last_wqe)
		fail("stuck", "a QP with an SRQ has ended, and no event says so");
	if (vb_qp_get_state(e->qp) == VB_QPS_SQD && !e->drained)
		fail("stuck", "a QP does not drain");
}
