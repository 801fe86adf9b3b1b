/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The model of memory windows: what each is bound to, and so what a bind, an invalidation and an
 * access must end with. It knows that only while no other operation on the window is under way
 * from when a request is posted until it completes; else each of its outcomes is right. What ends
 * without saying whether it was carried out leaves the window unknown until the next that does.
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

static void predict(struct sent *w, bool good, enum vb_wc_status bad)
{
	w->mw_known = true;
	w->mw_allowed = BIT(good ? VB_WC_SUCCESS : bad);
}

/* What a bind of @len bytes of slot @mr's region must end with. */
static void predict_bind(struct play *p, struct end *e, struct sent *w, const struct window *mw,
			 const struct bind *b)
{
	const struct mem *m = &p->mr[b->mr];
	bool on_region = m->mr && m->host == e->host, good;

	if (mw->type == 2 && (mw->bind.len || !b->len))
		good = false;
	else if (b->len && !on_region)
		return; /* the stale key may be another's by now */
	else
		good = !b->len ||
		       ((p->access[b->mr] & VB_ACCESS_MW_BIND) && b->len <= m->size &&
			(!(b->access & WRITES) || (p->access[b->mr] & VB_ACCESS_LOCAL_WRITE)));
	predict(w, good, VB_WC_MW_BIND_ERR);
}

static bool can_invalidate(const struct window *mw, const struct vb_qp *qp)
{
	return mw->type == 2 && mw->bind.len && qp && mw->bind.qpn == vb_qp_number(qp);
}

void window_bind(struct play *p, struct end *e, struct sent *w, uint32_t rkey, const struct bind *b)
{
	w->mw_slot = slot_of(p, e->host, rkey);
	w->mw_bind = *b;
	w->mw_bind.qpn = vb_qp_number(e->qp);
	if (!p->mr[b->mr].mr || p->mr[b->mr].host != e->host)
		w->mw_bind.mr = MRS_MAX;
	if (known(p, w->mw_slot))
		predict_bind(p, e, w, known(p, w->mw_slot), b);
}

void window_invalidate(struct play *p, struct end *e, struct sent *w, uint32_t rkey)
{
	struct end *at = w->op == VB_WR_SEND_INV ? peer_of(e) : e;

	w->mw_slot = slot_of(p, at->host, rkey);
	if (known(p, w->mw_slot))
		predict(w, can_invalidate(known(p, w->mw_slot), at == e ? e->qp : receiver_of(at)),
			w->op == VB_WR_SEND_INV ? VB_WC_REM_ACCESS_ERR : VB_WC_MW_BIND_ERR);
}

void window_access(struct play *p, struct end *e, struct sent *w, uint32_t rkey, uint32_t need,
		   uint64_t va)
{
	struct end *to = peer_of(e);
	const struct window *mw;

	w->mw_slot = slot_of(p, to->host, rkey);
	mw = known(p, w->mw_slot);
	if (!mw || !receiver_of(to))
		return;
	predict(w,
		mw->bind.len && (mw->bind.access & need) &&
		    (mw->type == 1 || mw->bind.qpn == vb_qp_number(receiver_of(to))) &&
		    va >= mw->bind.start && va - mw->bind.start + w->bytes <= mw->bind.len,
		VB_WC_REM_ACCESS_ERR);
}

/* @w begins, or ends, and may work on window @mw. */
static void change(struct window *mw, const struct sent *w, bool begins)
{
	mw->busy += begins ? 1 : UINT32_MAX;
	mw->change++;
	if (!begins && w->mw_slot == MWS_MAX)
		mw->unsure = true;
}

void window_posted(struct play *p, struct sent *w)
{
	for (uint32_t i = 0; works_on_windows(w->op) && i < MWS_MAX; i++)
		if (w->mw_slot == i || w->mw_slot == MWS_MAX)
			change(&p->mw[i], w, true);
	if (w->mw_slot < MWS_MAX) {
		w->mw_change = p->mw[w->mw_slot].change;
		w->mw_made = p->mw[w->mw_slot].made;
	}
	w->mr_change = p->mr_change;
}

bool window_says(const struct play *p, const struct sent *w, uint32_t *statuses)
{
	uint32_t busy = works_on_windows(w->op) ? 1 : 0;

	if (!w->mw_known || p->mw[w->mw_slot].busy != busy ||
	    w->mw_change != p->mw[w->mw_slot].change || w->mr_change != p->mr_change)
		return false;
	*statuses = w->mw_allowed;
	return true;
}

void window_retired(struct play *p, struct sent *w, bool told)
{
	bool good = told && w->result == VB_WC_SUCCESS;
	bool refused = told && w->result == VB_WC_MW_BIND_ERR;
	struct window *mw;

	for (uint32_t i = 0; works_on_windows(w->op) && i < MWS_MAX; i++)
		if (w->mw_slot == i || w->mw_slot == MWS_MAX)
			change(&p->mw[i], w, false);
	if (!works_on_windows(w->op) || w->mw_slot == MWS_MAX)
		return;
	mw = &p->mw[w->mw_slot];
	if (good && w->mw_made == mw->made) {
		mw->bind = w->op == VB_WR_BIND_MW ? w->mw_bind : (struct bind){0};
		mw->unsure = mw->busy != 0;
	} else if (!refused || w->mw_made != mw->made) {
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
