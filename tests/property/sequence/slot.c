/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Regions and windows of slots: they come and go, get other rights, lose pages, and are taken back
 * by whose memory it is; and the model of the requests that aim at them. A request is judged when
 * what it names has not changed from when it was posted until it completes. Its bytes are looked at
 * when nobody else may have written there meanwhile. IBA 10.6; ibv_advise_mr(3)
 */
#include "play.h"

#include <errno.h>
#include <stdlib.h>

#define BIT(status) (1u << (status))

/* Of a region of a slot. */
#define ACCESS_MASK (0x1f | VB_ACCESS_FLUSH_GLOBAL | VB_ACCESS_FLUSH_PERSISTENT)

static void unmr(struct play *p, uint32_t slot)
{
	struct mem *m = &p->mr[slot];

	if (!m->mr)
		return;

	/* Windows on it keep it. IBA 11.2.8.5 */
	bool held, known = window_holds(p, slot, &held);
	int err = vb_mr_destroy(m->mr);

	if (known ? err != (held ? -EBUSY : 0) : err && err != -EBUSY)
		fail("call", "deregistering gives %d; windows on it: %d, known: %d", err, held,
		     known);
	if (err)
		return;
	p->mr_change++;
	mem_freeze(m);
	p->dead = realloc(p->dead, (p->dead_cnt + 1) * sizeof *p->dead);
	CHECK("memory", p->dead);
	p->dead[p->dead_cnt++] = *m;
	/* The slot keeps the stale key. */
	*m = (struct mem){.kind = m->kind,
			  .iova = m->iova,
			  .rkey = m->rkey,
			  .lkey = m->lkey,
			  .size = m->size,
			  .host = m->host};
}

/* Other rights, or another PD, with the same keys. IBA 11.2.8.6 */
static void rereg(struct play *p, uint32_t slot, uint32_t access, bool away)
{
	struct mem *m = &p->mr[slot];

	if (!m->mr)
		return;

	const uint32_t writes = VB_ACCESS_REMOTE_WRITE | VB_ACCESS_REMOTE_ATOMIC;
	bool bad = (access & writes) && !(access & VB_ACCESS_LOCAL_WRITE);
	bool held, known = window_holds(p, slot, &held);
	struct vb_pd *pd = away ? p->away[m->host] : vb_sim_pd(p->sim, m->host);
	int err = vb_mr_modify(m->mr, pd, access | kind_access((enum mem_kind)m->kind));

	if (bad ? err != -EINVAL : known ? err != (held ? -EBUSY : 0) : err && err != -EBUSY)
		fail("call", "reregistering gives %d; windows on it: %d, known: %d", err, held,
		     known);
	if (err)
		return;
	p->access[slot] = away ? 0 : access;
	p->is_away[slot] = away;
	p->mr_change++;
}

/* Leased memory is taken back, from all who have some; on-demand memory comes and goes. */
static void page(struct play *p, struct mem *m, const uint32_t *a)
{
	struct hole hole = {.kind = (uint8_t)(a[PAGE_KIND] % (HOLE_READ_ONLY + 1))};

	if (!m->mr || (!mem_is_paged(m) && m->kind != MEM_LEASED))
		return;
	p->mr_change++;
	if (m->kind == MEM_LEASED) {
		p->lease++;
		for (uint32_t i = 0; i < MRS_MAX; i++)
			if (p->mr[i].mr && p->mr[i].kind == MEM_LEASED)
				mem_hole(&p->mr[i],
					 (struct hole){0, p->mr[i].size, HOLE_AWAY, NULL}, true);
		return;
	}
	hole.at = a[PAGE_AT] % m->size;
	hole.len = 1 + a[PAGE_LEN] % (m->size - hole.at);
	mem_hole(m, hole, true);
}

/* Where on-demand memory is that is to be brought in. ibv_advise_mr(3) */
static void locate(struct play *p, uint32_t slot, const uint32_t *a)
{
	const struct mem *m = &p->mr[slot];
	uint32_t host = a[LOCATE_HOST] % p->hosts;
	bool write = a[LOCATE_WRITE] & 1;
	struct vb_sge sge = {m->iova + a[LOCATE_AT], a[LOCATE_LEN], m->lkey};
	uint64_t end = (uint64_t)a[LOCATE_AT] + a[LOCATE_LEN];
	void *at = NULL;
	int want = 0, err;

	/* A stale key, or that of another host, may be one there. */
	if (!m->mr || m->host != host)
		return;
	if (m->kind == MEM_LEASED)
		want = mem_is_there(m, 0, 1, false) ? -EINVAL : -EFAULT;
	else if (!mem_is_paged(m))
		want = -EINVAL;
	else if (end > m->size && m->kind != MEM_IMPLICIT)
		want = -EFAULT;
	/* The PD and the rights come first. */
	if (want != -EFAULT || m->kind != MEM_LEASED) {
		if (p->is_away[slot] || (write && !(p->access[slot] & VB_ACCESS_LOCAL_WRITE)))
			want = -EPERM;
	}
	err = vb_mr_locate(vb_sim_pd(p->sim, host), &sge, write, &at);
	if (err != want || (!err && at != m->base + a[LOCATE_AT]))
		fail("call",
		     "locating %u bytes at %u of a region of kind %u gives %d and %p, not %d",
		     a[LOCATE_LEN], a[LOCATE_AT], m->kind, err, at, want);
}

void play_keys(struct play *p, const struct step *st)
{
	const uint32_t *a = st->arg;
	struct window *mw = &p->mw[a[MW_SLOT] % MWS_MAX];
	uint32_t slot = a[MR_SLOT] % MRS_MAX;

	switch (st->kind) {
	case STEP_MR:
		if (p->mr[slot].mr)
			break;
		p->mr_change++;
		p->access[slot] = a[MR_ACCESS] & ACCESS_MASK;
		p->is_away[slot] = false;
		if (p->access[slot] & (VB_ACCESS_REMOTE_WRITE | VB_ACCESS_REMOTE_ATOMIC))
			p->access[slot] |= VB_ACCESS_LOCAL_WRITE;
		mem_open_as(p, vb_sim_pd(p->sim, a[MR_HOST] % p->hosts), &p->mr[slot],
			    1 + a[MR_LEN] % 10000, p->access[slot],
			    (enum mem_kind)(a[MR_KIND] % MEM_KINDS));
		p->mr[slot].host = a[MR_HOST] % p->hosts;
		break;
	case STEP_UNMR:
		unmr(p, slot);
		break;
	case STEP_REREG:
		rereg(p, slot, a[REREG_ACCESS] & ACCESS_MASK, a[REREG_AWAY]);
		break;
	case STEP_MW:
		if (mw->mw)
			break;
		mw->type = 1 + (a[MW_TYPE] + 1) % 2;
		mw->host = a[MW_HOST] % p->hosts;
		CHECK("call",
		      vb_mw_create(vb_sim_pd(p->sim, mw->host), (uint8_t)mw->type, &mw->mw) == 0);
		mw->rkey = vb_mw_rkey(mw->mw);
		window_made(mw);
		break;
	case STEP_UNMW:
		if (mw->mw)
			CHECK("call", vb_mw_destroy(mw->mw) == 0);
		mw->mw = NULL;
		window_made(mw);
		break;
	case STEP_PAGE:
		page(p, &p->mr[slot], a);
		break;
	case STEP_LOCATE:
		locate(p, slot, a);
		break;
	default:
		break;
	}
}

static uint32_t need_of(uint8_t op, uint32_t flush)
{
	if (op == VB_WR_FLUSH)
		return (flush & VB_FLUSH_GLOBAL ? VB_ACCESS_FLUSH_GLOBAL : 0) |
		       (flush & VB_FLUSH_PERSISTENT ? VB_ACCESS_FLUSH_PERSISTENT : 0);
	return is_write(op)            ? VB_ACCESS_REMOTE_WRITE
	       : op == VB_WR_RDMA_READ ? VB_ACCESS_REMOTE_READ
				       : VB_ACCESS_REMOTE_ATOMIC;
}

/* A region's own key. A FLUSH looks at no page; without a range at the key alone. */
static void aim_region(struct play *p, uint32_t host, struct aim *aim, uint8_t op, uint32_t bytes,
		       uint32_t flush)
{
	const struct mem *m = &p->mr[aim->target - TARGET_MR];
	uint32_t need = need_of(op, flush);
	bool here = m->mr && m->host == host, good = here;

	good = good && (p->access[aim->target - TARGET_MR] & need) == need;
	if (m->kind == MEM_LEASED || op != VB_WR_FLUSH)
		good = good &&
		       mem_is_there(m, 0, flush & VB_FLUSH_MR ? 1 : bytes, op != VB_WR_RDMA_READ);
	else if (m->kind != MEM_IMPLICIT)
		good = good && (bytes <= m->size || flush & VB_FLUSH_MR);
	aim->paged = here && m->hole.kind;
	aim->mr_allowed = BIT(good ? VB_WC_SUCCESS : VB_WC_REM_ACCESS_ERR);
	/* The key may be that of a region which the peer has. */
	if ((flush & VB_FLUSH_MR || m->iova == 0 || m->kind == MEM_IMPLICIT) && !here)
		aim->mr_allowed |= BIT(VB_WC_SUCCESS);
	aim->is_placed = good;
	aim->slot = (uint8_t)(aim->target - TARGET_MR);
}

void slot_aim(struct play *p, uint32_t host, const struct vb_qp *qp, struct aim *aim, uint8_t op,
	      uint32_t bytes, uint32_t flush, uint32_t salt, struct vb_send_wr *wr)
{
	const struct mem *m = &p->mr[(aim->target - TARGET_MR) % MRS_MAX];
	const struct window *mw;

	aim->mr_change = p->mr_change;
	wr->remote_addr = m->iova;
	wr->rkey = m->rkey;
	if (aim->target < TARGET_MW) {
		aim_region(p, host, aim, op, bytes, flush);
		return;
	}
	mw = &p->mw[aim->target - TARGET_MW];
	wr->rkey = mw->rkey;
	/* Mostly what it is bound to; sometimes as if it had addresses from 0, or had not. */
	if (mw->bind.len)
		wr->remote_addr = mw->bind.start;
	if (!(mw->bind.access & VB_ACCESS_ZERO_BASED) != !(salt % 8 == 0))
		wr->remote_addr = 0;
	if (salt % 4 == 1)
		wr->remote_addr += salt >> 8 & 0x3f8;
	window_access(p, host, qp, aim, bytes, need_of(op, flush), wr);
}

uint32_t slot_statuses(const struct play *p, const struct aim *aim, uint8_t op, uint32_t bytes)
{
	uint32_t ok = BIT(VB_WC_SUCCESS);

	if (!aim->target)
		return ok;
	if (needs_key(op, bytes)) {
		if (aim->target >= TARGET_MW ? !window_says(p, aim, op, &ok)
					     : aim->mr_change != p->mr_change)
			ok |= BIT(VB_WC_REM_ACCESS_ERR);
		else if (aim->target < TARGET_MW)
			ok = aim->mr_allowed;
	}
	/* A window may begin anywhere. */
	if (is_aligned(op))
		ok |= BIT(VB_WC_REM_INV_REQ_ERR) |
		      (aim->target >= TARGET_MW ? BIT(VB_WC_REM_ACCESS_ERR) : 0);
	return ok;
}

bool slot_doubts(const struct aim *aim, uint8_t op, uint32_t bytes)
{
	if (aim->paged)
		return false;
	if (!is_remote(op) || aim->target >= TARGET_MW)
		return !(aim->mw_known && aim->mw_allowed & BIT(VB_WC_SUCCESS)) &&
		       (needs_key(op, bytes) || !is_remote(op));
	return aim->target && !(aim->mr_allowed & BIT(VB_WC_SUCCESS)) && needs_key(op, bytes);
}

static bool writes(uint8_t op)
{
	return is_write(op) || is_atomic(op);
}

static bool others_write(const struct play *p, const struct writer *who)
{
	uint32_t all = dc_writers(p, who);

	for (uint32_t c = 0; c < CONNS_MAX; c++)
		for (uint32_t i = 0; p->conn[c].exists && i < 2; i++) {
			const struct writer *w = &p->conn[c].end[i].writer;

			all += w != who && (w->cnt || w->strays);
		}
	return all;
}

void slot_posted(struct play *p, struct aim *aim, uint8_t op, struct writer *who)
{
	if (!aim->target)
		return;
	aim->alone = !others_write(p, who) && !who->strays;
	if (writes(op)) {
		who->cnt++;
		p->turn++;
	}
	aim->turn = p->turn;
}

void slot_retired(struct aim *aim, uint8_t op, enum vb_wc_status status, struct writer *who)
{
	if (!aim->target || !writes(op))
		return;
	who->cnt--;
	/* Whether it is carried out, and when, nobody knows; a refused request is not. */
	who->strays |= status != VB_WC_SUCCESS && status != VB_WC_REM_ACCESS_ERR &&
		       status != VB_WC_REM_INV_REQ_ERR && status != VB_WC_REM_OP_ERR;
}

void slot_check(const struct play *p, const struct aim *aim, uint8_t op, const struct mem *local,
		const struct buf *b, const struct bytes *is)
{
	const struct mem *m = &p->mr[aim->slot];
	uint32_t ok;

	if (!aim->is_placed || !aim->alone || aim->turn != p->turn ||
	    aim->mr_change != p->mr_change ||
	    (aim->target >= TARGET_MW && !window_says(p, aim, op, &ok)))
		return;
	if (is_write(op) && !mem_holds(m, aim->off, is, true))
		fail("bytes",
		     "a WRITE of %u bytes to %u of a region of kind %u completed, and "
		     "they are not there",
		     is->len, aim->off, m->kind);
	if (op == VB_WR_RDMA_READ && !buf_is(local, b, m->base + aim->off))
		fail("bytes", "a READ of %u bytes from %u of a region of kind %u returned others",
		     is->len, aim->off, m->kind);
}
