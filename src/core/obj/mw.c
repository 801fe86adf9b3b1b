/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory windows: bind, unbind and invalidate. Type 1 belongs to a PD and is bound by its own verb;
 * type 2 is bound by a send WQE, belongs to the QP it was bound through, and can be invalidated
 * locally or by the peer's SEND with Invalidate. IBA 10.6.7; facts B.10
 */
#include "core/obj/mw.h"

#include "base/assert.h"
#include "core/adapter.h"
#include "core/obj/mem.h"
#include "core/obj/pd.h"

#include <errno.h>

int vb_mw_create(struct vb_pd *pd, uint8_t type, struct vb_mw **out)
{
	struct vb_hca *h = pd->hca;

	h->refusal.rule = VB_REFUSAL_NONE;
	if (type != 1 && type != 2)
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_MW_TYPE, .value = type);

	struct vb_mw *mw = vb_alloc(h, sizeof *mw);

	if (!mw)
		return -ENOMEM;
	mw->key.kind = VB_KEY_MW;
	mw->type = type;

	int err = vb_key_insert(h, &mw->key, pd);

	if (err) {
		vb_free(h, mw);
		return err;
	}
	*out = mw;
	return 0;
}

static void mw_unbind(struct vb_mw *mw)
{
	VB_ASSERT_ALL(!mw->mr || mw->mr->window_cnt > 0);
	if (mw->mr)
		mw->mr->window_cnt--;
	mw->mr = NULL;
}

int vb_mw_destroy(struct vb_mw *mw)
{
	struct vb_hca *h = mw->key.pd->hca;

	mw_unbind(mw);
	vb_key_remove(h, &mw->key);
	vb_free(h, mw);
	return 0;
}

uint32_t vb_mw_rkey(const struct vb_mw *mw)
{
	return mw->key.key;
}

/* Rights that a window can give; programs name others with them, which do nothing. */
#define MW_ACCESS                                                                                  \
	(VB_ACCESS_REMOTE_WRITE | VB_ACCESS_REMOTE_READ | VB_ACCESS_REMOTE_ATOMIC |                \
	 VB_ACCESS_ZERO_BASED)

/* True when a window may give @access to [@va, @va + @len) of @mr. IBA 10.6.7.2.1, C10-73...75 */
static bool mr_may_be_bound(const struct vb_mr *mr, uint64_t va, uint64_t len, uint32_t access)
{
	const uint32_t writes = VB_ACCESS_REMOTE_WRITE | VB_ACCESS_REMOTE_ATOMIC;

	if (!(mr->access & VB_ACCESS_MW_BIND) || mr->access & VB_ACCESS_ZERO_BASED ||
	    vb_mr_is_lost(mr))
		return false;
	if ((access & writes) && !(mr->access & VB_ACCESS_LOCAL_WRITE))
		return false;
	return vb_range_within(va, len, mr->iova, mr->length);
}

/*
 * The key byte of the window's key is not looked at: it may be one that a bind before this one was
 * to give, and did not. A bind that fails leaves the window as it was.
 */
enum vb_wc_status vb_mw_bind(struct vb_pd *pd, uint32_t qpn, const struct vb_mw_bind *bind)
{
	struct vb_key *k = vb_key_at(pd->hca, bind->rkey);
	struct vb_key *rk = vb_key_find(pd->hca, bind->lkey);
	uint64_t len = bind->length;
	uint32_t access = bind->access & MW_ACCESS;
	struct vb_mr *mr = NULL;

	if (!k || k->kind != VB_KEY_MW || k->pd != pd)
		return VB_WC_MW_BIND_ERR;

	struct vb_mw *mw = vb_container_of(k, struct vb_mw, key);

	if (bind->type && bind->type != mw->type)
		return VB_WC_MW_BIND_ERR;
	/* A type 2 window is bound once and ends by invalidation, not by an empty bind:
	 * o10-37.2.30, o10-37.2.40. One of type 1 has the addresses of its region: o10-36.2.2. */
	if (mw->type == 2 ? mw->mr || !len : (access & VB_ACCESS_ZERO_BASED) != 0)
		return VB_WC_MW_BIND_ERR;
	if (len) {
		if (!rk || rk->kind != VB_KEY_MR || rk->pd != pd)
			return VB_WC_MW_BIND_ERR;
		mr = vb_container_of(rk, struct vb_mr, key);
		if (!mr_may_be_bound(mr, bind->addr, len, access))
			return VB_WC_MW_BIND_ERR;
		mr->window_cnt++;
	}
	mw_unbind(mw);
	mw->mr = mr;
	mw->start = bind->addr;
	mw->iova = access & VB_ACCESS_ZERO_BASED ? 0 : bind->addr;
	mw->length = len;
	mw->access = access;
	mw->qpn = qpn;
	k->key = (k->key & ~0xffu) | bind->key_byte;
	return VB_WC_SUCCESS;
}

int vb_mw_invalidate(const struct vb_pd *pd, uint32_t qpn, uint32_t rkey)
{
	struct vb_key *k = vb_key_find(pd->hca, rkey);

	if (!k || k->kind != VB_KEY_MW || k->pd != pd)
		return -EACCES;

	struct vb_mw *mw = vb_container_of(k, struct vb_mw, key);

	if (mw->type != 2 || !mw->mr || mw->qpn != qpn)
		return -EACCES;
	mw_unbind(mw);
	return 0;
}
