/* SPDX-License-Identifier: BSD-2-Clause */
/* Selective repeat at the responder: packets kept out of order, and the report. See selective.h. */
#include "base/assert.h"
#include "core/qp/qp.h"
#include "core/rc/rc.h"
#include "core/recover/arm.h"
#include "core/sched/sched.h"
#include "core/selective/selective.h"
#include "core/tx/tx.h"
#include "wire/be.h"

#include <string.h>

#define PKT_MAX (VB_HDR_MAX + 4096u) /* a payload with its padding is not longer */

/* A kept packet in the pool. */
struct kept {
	uint32_t len, avail;
	uint8_t bytes[];
};

static struct kept *kept_at(const struct vb_qp *qp, struct vb_psn psn)
{
	const struct vb_sr_pool *pool = &qp->hca->sr_pool;

	return (struct kept *)(void *)(pool->mem +
				       pool->stride * qp->sr->slot[psn.v % VB_SR_WINDOW]);
}

static bool is_kept(const struct vb_sr *sr, struct vb_psn psn)
{
	uint32_t i = psn.v % VB_SR_WINDOW;

	return sr->kept[i / 64] >> i % 64 & 1;
}

static bool pool_make(struct vb_hca *h)
{
	struct vb_sr_pool *pool = &h->sr_pool;
	uint32_t cnt = h->cfg.limits.ooo_pkts;

	if (pool->cnt || cnt == 0)
		return pool->cnt;
	pool->stride = (sizeof(struct kept) + PKT_MAX + 7) & ~(size_t)7;
	pool->mem = vb_alloc(h, pool->stride * cnt);
	pool->free = vb_alloc(h, cnt * sizeof *pool->free);
	if (!pool->mem || !pool->free) {
		vb_sr_pool_free(h);
		return false;
	}
	/* The last given back is the next taken: memory that was never needed stays untouched. */
	for (uint32_t i = 0; i < cnt; i++)
		pool->free[i] = (uint16_t)(cnt - 1 - i);
	pool->cnt = pool->free_cnt = cnt;
	return true;
}

void vb_sr_pool_free(struct vb_hca *h)
{
	vb_free(h, h->sr_pool.mem);
	vb_free(h, h->sr_pool.free);
	h->sr_pool = (struct vb_sr_pool){0};
}

static void release_kept(struct vb_qp *qp, struct vb_psn psn)
{
	struct vb_sr_pool *pool = &qp->hca->sr_pool;
	struct vb_sr *sr = qp->sr;
	uint32_t i = psn.v % VB_SR_WINDOW;

	if (!is_kept(sr, psn))
		return;
	sr->kept[i / 64] &= ~(UINT64_C(1) << i % 64);
	VB_ASSERT(pool->free_cnt < pool->cnt && sr->kept_cnt > 0);
	sr->kept_cnt--;
	pool->free[pool->free_cnt++] = sr->slot[i];
}

void vb_sr_offer(struct vb_qp *qp)
{
	if (qp->sr || !pool_make(qp->hca))
		return;
	qp->sr = vb_alloc(qp->hca, sizeof *qp->sr);
	if (!qp->sr)
		return;
	qp->sr->high = qp->resp.epsn;
	qp->sr->rtt_min = VB_NEVER;
}

void vb_sr_end(struct vb_qp *qp)
{
	struct vb_sr *sr = qp->sr;

	if (!sr)
		return;
	for (uint32_t i = 0; i < VB_SR_WINDOW && sr->kept_cnt; i++) {
		if (is_kept(sr, vb_psn(i)))
			release_kept(qp, vb_psn(i));
	}
	vb_free(qp->hca, sr);
	qp->sr = NULL;
}

/* Copies the packet into the pool. */
static bool packet_keep(struct vb_qp *qp, struct vb_psn psn, const struct vb_rx *rx)
{
	struct vb_sr_pool *pool = &qp->hca->sr_pool;
	struct vb_sr *sr = qp->sr;
	uint32_t i = psn.v % VB_SR_WINDOW;
	uint32_t bytes = vb_rx_bytes(rx);

	if (is_kept(sr, psn))
		return true;
	if (pool->free_cnt == 0 || bytes > PKT_MAX)
		return false;
	sr->slot[i] = pool->free[--pool->free_cnt];
	VB_ASSERT_ALL(sr->slot[i] < pool->cnt);
	sr->kept[i / 64] |= UINT64_C(1) << i % 64;
	sr->kept_cnt++;

	struct kept *k = kept_at(qp, psn);

	k->len = rx->len;
	k->avail = bytes;
	vb_rx_copy(rx, k->bytes);
	return true;
}

enum vb_verdict vb_sr_keep(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx)
{
	struct vb_sr *sr = qp->sr;
	struct vb_responder *resp = &qp->resp;
	bool kept = false, opens_gap = false;

	if (vb_psn_span(resp->epsn, hdr->psn) < VB_SR_WINDOW) {
		/* Answers of READs and atomics depend on all before: such requests come again. */
		if (!vb_op_is_answered(hdr))
			kept = packet_keep(qp, hdr->psn, rx);
		opens_gap = vb_psn_before(sr->high, hdr->psn);
		if (!vb_psn_before(hdr->psn, sr->high))
			sr->high = vb_psn_add(hdr->psn, 1);
	}
	if (opens_gap || hdr->ack_req) {
		vb_resp_owe_nak(resp, VB_RESP_REPORTS, VB_NAK_PSN_SEQ);
		vb_sched_activate(qp);
	}
	return kept ? VB_VERDICT_OK : VB_VERDICT_PSN;
}

/* The kept packet whose PSN is now the expected one; its bytes stay until it is released. */
static bool next_kept(struct vb_qp *qp, struct vb_hdr *hdr, struct vb_rx *rx)
{
	struct vb_psn psn = qp->resp.epsn;

	if (!qp->sr->kept_cnt || !is_kept(qp->sr, psn))
		return false;

	const struct kept *k = kept_at(qp, psn);
	enum vb_verdict v = vb_hdr_parse(hdr, k->bytes, k->avail, k->len);

	VB_ASSERT(v == VB_VERDICT_OK && vb_psn_eq(hdr->psn, psn));
	(void)v;
	*rx = (struct vb_rx){.pkt = k->bytes, .len = k->len, .avail = k->avail};
	return true;
}

/* The request at @from was carried out: up to the expected PSN nothing is kept or missing. */
static void advance_kept(struct vb_qp *qp, struct vb_psn from)
{
	struct vb_sr *sr = qp->sr;
	uint32_t n = vb_psn_span(from, qp->resp.epsn);

	/* A READ takes many PSNs; a packet that came with one of them was no request. */
	for (uint32_t i = 0; sr->kept_cnt && i < n && i < VB_SR_WINDOW; i++)
		release_kept(qp, vb_psn_add(from, i));
	if (vb_psn_before(sr->high, qp->resp.epsn))
		sr->high = qp->resp.epsn;
}

/* The kept requests were carried out as well: acknowledged at once, or more is missing. */
VB_COLD static void report_on(struct vb_qp *qp)
{
	struct vb_responder *resp = &qp->resp;

	resp->ack_due = true;
	resp->ack_psn = vb_psn_prev(resp->epsn);
	vb_sched_activate(qp);
}

void vb_sr_went_on(struct vb_qp *qp, struct vb_psn psn, enum vb_verdict verdict, bool owed,
		   vb_time now)
{
	struct vb_hdr hdr;
	struct vb_rx rx;
	bool more = false;

	while (verdict == VB_VERDICT_OK) {
		advance_kept(qp, psn);
		if (!next_kept(qp, &hdr, &rx)) {
			if (more || (owed && vb_sr_misses(qp)))
				report_on(qp);
			return;
		}
		more = true;
		psn = hdr.psn;
		verdict = vb_resp_in_order(qp, &hdr, &rx, now);
		if (!qp->sr) /* it ended meanwhile */
			return;
		release_kept(qp, psn);
	}
}

void vb_sr_emit_report(const struct vb_qp *qp, struct vb_tx *tx)
{
	const struct vb_sr *sr = qp->sr;
	struct vb_psn epsn = qp->resp.epsn;
	uint32_t extent = vb_psn_span(epsn, sr->high), cnt = 0;
	uint8_t *at = tx->hdr + tx->hdr_len;

	VB_ASSERT(tx->hdr_len + 4 + 4 * VB_SR_RUNS <= sizeof tx->hdr);
	VB_ASSERT_ALL(extent <= VB_SR_WINDOW && !is_kept(sr, epsn));
	for (uint32_t off = 0; off < extent && cnt < VB_SR_RUNS;) {
		uint32_t end = off;

		while (end < extent && !is_kept(sr, vb_psn_add(epsn, end)))
			end++;
		if (end > off)
			be32_put(at + 4 + 4 * cnt++, off << 16 | (end - off));
		off = end + 1;
	}
	be32_put(at, extent);
	tx->hdr_len = (uint8_t)(tx->hdr_len + 4 + 4 * cnt);
}

bool vb_sr_repeat(struct vb_qp *qp, const struct vb_resource *r, struct vb_psn start,
		  struct vb_psn end)
{
	struct vb_sr *sr = qp->sr;

	if (vb_resource_is_pending(r) && vb_psn_before(r->run.nxt, end))
		/* It is on its way. To ask for all of the rest means to start there. */
		return !vb_psn_eq(end, r->run.end);
	if (sr->repeat_cnt == VB_SR_REPEATS)
		return vb_resource_is_pending(r);
	sr->repeat[(sr->repeat_head + sr->repeat_cnt++) % VB_SR_REPEATS] =
	    (struct vb_run){start, start, end};
	vb_sched_activate(qp);
	return true;
}
