/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The model of memory windows: what each is bound to, and so what a bind, an invalidation and an
 * access must end with. It knows that only while no other operation on the window is under way
 * from when a request is posted until it completes; else each of its outcomes is right. A request
 * that does not tell whether it was carried out leaves the window unknown until one that does.
 * IBA 10.6.7
 */
#include "play.h"

#define WRITES (VB_ACCESS_REMOTE_WRITE | VB_ACCESS_REMOTE_ATOMIC)
#define BIT(status) (1u << (status))

static bool works_on_windows(uint8_t op)
{
	return op == VB_WR_BIND_MW || op == VB_WR_LOCAL_INV || op == VB_WR_SEND_INV;
}

/* The slot whose window is on @host with the key @rkey, if there is one; else MWS_MAX. Windows of
 * different hosts have the same keys. */
static uint8_t slot_of(const struct play *p, uint32_t host, uint32_t rkey)
{
	uint8_t i = 0;

	while (i < MWS_MAX &&
	       !(p->mw[i].mw && p->mw[i].host == host && vb_mw_rkey(p->mw[i].mw) == rkey))
		i++;
	return i;
}

/* The window of @slot, if there is one and it is known what it is bound to. */
static const struct window *known(const struct play *p, uint32_t slot)
{
	const struct window *mw = slot < MWS_MAX ? &p->mw[slot] : NULL;

	return mw && !mw->busy && !mw->unsure ? mw : NULL;
}

static void predict(struct aim *aim, bool good, enum vb_wc_status bad)
{
	aim->mw_known = true;
	aim->mw_allowed = BIT(good ? VB_WC_SUCCESS : bad);
}

/* The bind names bytes of the region, which may have a window that gives these rights. */
static bool may_bind(const struct mem *m, uint32_t has, const struct bind *b)
{
	if (!(has & VB_ACCESS_MW_BIND) || m->kind == MEM_ZERO_BASED ||
	    m->kind == MEM_PAGED_ZERO_BASED ||
	    (m->kind == MEM_LEASED && !mem_is_there(m, 0, 1, false)))
		return false;
	if (b->access & WRITES && !(has & VB_ACCESS_LOCAL_WRITE))
		return false;
	return m->kind == MEM_IMPLICIT ||
	       (b->start - m->iova <= m->size && b->len <= m->size - (b->start - m->iova));
}

/* The status of a bind. Only a window of type 2 can have addresses from 0. IBA o10-36.2.2 */
static void predict_bind(struct play *p, struct end *e, struct aim *aim, const struct window *mw,
			 const struct bind *b)
{
	const struct mem *m = &p->mr[b->mr];
	bool on_region = m->mr && m->host == e->host, good;

	if (mw->type == 2 ? mw->bind.len || !b->len : (b->access & VB_ACCESS_ZERO_BASED) != 0)
		good = false;
	else if (b->len && !on_region)
		return; /* the stale key may be another's by now */
	else
		good = !b->len || may_bind(m, p->access[b->mr], b);
	predict(aim, good, VB_WC_MW_BIND_ERR);
}

static bool can_invalidate(const struct window *mw, const struct vb_qp *qp)
{
	return mw->type == 2 && mw->bind.len && qp && mw->bind.qpn == vb_qp_number(qp);
}

void window_bind(struct play *p, struct end *e, struct sent *w, uint32_t rkey, const struct bind *b)
{
	struct aim *aim = &w->aim;

	aim->mw_slot = slot_of(p, e->host, rkey);
	aim->bind = *b;
	aim->bind.qpn = vb_qp_number(e->qp);
	if (!p->mr[b->mr].mr || p->mr[b->mr].host != e->host)
		aim->bind.mr = MRS_MAX;
	if (known(p, aim->mw_slot))
		predict_bind(p, e, aim, known(p, aim->mw_slot), b);
}

void window_invalidate(struct play *p, struct end *e, struct sent *w, uint32_t rkey)
{
	struct end *at = w->op == VB_WR_SEND_INV ? peer_of(e) : e;
	struct aim *aim = &w->aim;

	aim->mw_slot = slot_of(p, at->host, rkey);
	if (known(p, aim->mw_slot))
		predict(aim,
			can_invalidate(known(p, aim->mw_slot), at == e ? e->qp : receiver_of(at)),
			w->op == VB_WR_SEND_INV ? VB_WC_REM_INV_REQ_ERR : VB_WC_MW_BIND_ERR);
}

void window_access(struct play *p, uint32_t host, const struct vb_qp *qp, struct aim *aim,
		   uint32_t bytes, uint32_t need, const struct vb_send_wr *wr)
{
	const struct window *mw;
	const struct mem *m;
	uint64_t at;
	bool good;

	aim->mw_slot = slot_of(p, host, wr->rkey);
	mw = known(p, aim->mw_slot);
	if (!mw || !qp)
		return;
	at = wr->remote_addr - (mw->bind.access & VB_ACCESS_ZERO_BASED ? 0 : mw->bind.start);
	good = mw->bind.len && (mw->bind.access & need) &&
	       (mw->type == 1 || mw->bind.qpn == vb_qp_number(qp)) && at <= mw->bind.len &&
	       bytes <= mw->bind.len - at;
	if (good && mw->bind.mr == MRS_MAX)
		return; /* nothing is known of that region */
	if (good) {
		m = &p->mr[mw->bind.mr];
		at += mw->bind.start - m->iova;
		good = mem_is_there(m, at, bytes, need & WRITES);
		aim->is_placed = good;
		aim->paged = !good;
		aim->slot = (uint8_t)mw->bind.mr;
		aim->off = (uint32_t)at;
	}
	predict(aim, good, VB_WC_REM_ACCESS_ERR);
}

/* The operation of @aim begins, or ends, and may work on window @mw. */
static void change(struct window *mw, const struct aim *aim, bool begins)
{
	mw->busy += begins ? 1 : UINT32_MAX;
	mw->change++;
	if (!begins && aim->mw_slot == MWS_MAX)
		mw->unsure = true;
}

void window_posted(struct play *p, struct aim *aim, uint8_t op)
{
	for (uint32_t i = 0; works_on_windows(op) && i < MWS_MAX; i++)
		if (aim->mw_slot == i || aim->mw_slot == MWS_MAX)
			change(&p->mw[i], aim, true);
	if (aim->mw_slot < MWS_MAX) {
		aim->mw_change = p->mw[aim->mw_slot].change;
		aim->mw_made = p->mw[aim->mw_slot].made;
	}
	aim->mr_change = p->mr_change;
}

bool window_says(const struct play *p, const struct aim *aim, uint8_t op, uint32_t *statuses)
{
	uint32_t busy = works_on_windows(op) ? 1 : 0;

	if (!aim->mw_known || p->mw[aim->mw_slot].busy != busy ||
	    aim->mw_change != p->mw[aim->mw_slot].change || aim->mr_change != p->mr_change)
		return false;
	*statuses = aim->mw_allowed;
	return true;
}

void window_retired(struct play *p, struct sent *w, bool told)
{
	bool good = told && w->result == VB_WC_SUCCESS;
	bool refused = told && w->result == VB_WC_MW_BIND_ERR;
	const struct aim *aim = &w->aim;
	struct window *mw;
	uint32_t says;

	/* Of a SEND with invalidate the responder alone hears whether it did. IBA 9.9.6.3 */
	if (good && w->op == VB_WR_SEND_INV) {
		bool is_known = window_says(p, aim, w->op, &says);

		good = is_known && says & BIT(VB_WC_SUCCESS);
		refused = is_known && !good;
	}
	for (uint32_t i = 0; works_on_windows(w->op) && i < MWS_MAX; i++)
		if (aim->mw_slot == i || aim->mw_slot == MWS_MAX)
			change(&p->mw[i], aim, false);
	if (!works_on_windows(w->op) || aim->mw_slot == MWS_MAX)
		return;
	mw = &p->mw[aim->mw_slot];
	if (good && aim->mw_made == mw->made) {
		mw->bind = w->op == VB_WR_BIND_MW ? aim->bind : (struct bind){0};
		mw->unsure = mw->busy != 0;
	} else if (!refused || aim->mw_made != mw->made) {
		mw->unsure = true;
	}
}

void window_made(struct window *mw)
{
	mw->bind = (struct bind){0};
	mw->made++;
	mw->change++;
	mw->unsure = mw->busy != 0;
}

bool window_holds(const struct play *p, uint32_t slot, bool *holds)
{
	*holds = false;
	for (uint32_t i = 0; i < MWS_MAX; i++) {
		const struct window *mw = &p->mw[i];

		if (mw->mw && mw->host == p->mr[slot].host &&
		    (mw->busy || mw->unsure || (mw->bind.len && mw->bind.mr == MRS_MAX)))
			return false;
		*holds |=
		    mw->mw && mw->host == p->mr[slot].host && mw->bind.len && mw->bind.mr == slot;
	}
	return true;
}
