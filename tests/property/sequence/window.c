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

/* Slot @i's window, if it is on @host and has the key @rkey, and it is known what it is bound to.
 */
static struct window *known(struct play *p, uint32_t i, uint32_t host, uint32_t rkey)
{
	struct window *mw = &p->mw[i];

	return mw->mw && mw->host == host && vb_mw_rkey(mw->mw) == rkey && !mw->busy && !mw->unsure
		   ? mw
		   : NULL;
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

static bool can_invalidate(const struct window *mw, const struct end *at)
{
	return mw->type == 2 && mw->bind.len && at->qp && mw->bind.qpn == vb_qp_number(at->qp);
}

void window_bind(struct play *p, struct end *e, struct sent *w, uint32_t slot, const struct bind *b)
{
	struct window *mw = known(p, slot, e->host, p->mw[slot].rkey);

	w->mw_slot = (uint8_t)slot;
	w->mw_bind = *b;
	w->mw_bind.qpn = vb_qp_number(e->qp);
	if (!p->mr[b->mr].mr || p->mr[b->mr].host != e->host)
		w->mw_bind.mr = MRS_MAX;
	if (mw)
		predict_bind(p, e, w, mw, b);
}

void window_invalidate(struct play *p, struct end *e, struct sent *w, uint32_t slot)
{
	struct end *at = w->op == VB_WR_SEND_INV ? peer_of(e) : e;
	struct window *mw = known(p, slot, at->host, w->imm);

	w->mw_slot = (uint8_t)slot;
	if (mw)
		predict(w, can_invalidate(mw, at),
			w->op == VB_WR_SEND_INV ? VB_WC_REM_ACCESS_ERR : VB_WC_MW_BIND_ERR);
}

void window_access(struct play *p, struct end *e, struct sent *w, uint32_t slot, uint32_t need,
		   uint64_t va, uint32_t rkey)
{
	struct end *to = peer_of(e);
	struct window *mw = known(p, slot, to->host, rkey);

	w->mw_slot = (uint8_t)slot;
	if (!mw || !to->qp)
		return;
	predict(w,
		mw->bind.len && (mw->bind.access & need) &&
		    (mw->type == 1 || mw->bind.qpn == vb_qp_number(to->qp)) &&
		    va >= mw->bind.start && va - mw->bind.start + w->bytes <= mw->bind.len,
		VB_WC_REM_ACCESS_ERR);
}

void window_posted(struct play *p, struct sent *w)
{
	struct window *mw = &p->mw[w->mw_slot];

	if (works_on_windows(w->op)) {
		mw->busy++;
		mw->change++;
	}
	w->mw_change = mw->change;
	w->mw_made = mw->made;
	w->mr_change = p->mr_change;
}

bool window_says(const struct play *p, const struct sent *w, uint32_t *statuses)
{
	const struct window *mw = &p->mw[w->mw_slot];
	uint32_t busy = works_on_windows(w->op) ? 1 : 0;

	if (!w->mw_known || mw->busy != busy || w->mw_change != mw->change ||
	    w->mr_change != p->mr_change)
		return false;
	*statuses = w->mw_allowed;
	return true;
}

void window_retired(struct play *p, struct sent *w, bool told)
{
	struct window *mw = &p->mw[w->mw_slot];
	bool good = told && w->result == VB_WC_SUCCESS;

	if (!works_on_windows(w->op))
		return;
	mw->busy--;
	mw->change++;
	if (good && w->mw_made == mw->made) {
		mw->bind = w->op == VB_WR_BIND_MW ? w->mw_bind : (struct bind){0};
		mw->unsure = mw->busy != 0;
	} else if (!told || w->result != VB_WC_MW_BIND_ERR || w->mw_made != mw->made) {
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
