/* SPDX-License-Identifier: BSD-2-Clause */
/* Selective repeat at the responder: packets kept out of order, and the report. See selective.h. */
#include "base/assert.h"
#include "core/qp/qp.h"
#include "core/rc/rc.h"
#include "core/recover/arm.h"
#include "core/sched/sched.h"
#include "core/selective/pool.h"
#include "core/selective/selective.h"
#include "core/tx/tx.h"
#include "wire/be.h"

#include <string.h>

static uint32_t page_of(struct vb_psn psn)
{
	return psn.v % VB_SR_RING / VB_SR_KEPT_PSNS;
}

static struct vb_sr_kept_page *page_at(const struct vb_qp *qp, uint32_t i)
{
	uint32_t page = qp->sr->kept_page[i];

	return page ? vb_sr_at(&qp->hca->sr.kept, page - 1) : NULL;
}

/* The word of PSNs that @psn is in: those that are kept. */
static uint64_t kept_word(const struct vb_qp *qp, struct vb_psn psn)
{
	const struct vb_sr_kept_page *p = page_at(qp, page_of(psn));

	return p ? p->kept[psn.v % VB_SR_KEPT_PSNS / 64] : 0;
}

static bool is_kept(const struct vb_qp *qp, struct vb_psn psn)
{
	return kept_word(qp, psn) >> psn.v % 64 & 1;
}

/* The same word: those that are kept and READs. */
static uint64_t read_word(const struct vb_qp *qp, struct vb_psn psn)
{
	const struct vb_sr_kept_page *p = qp->sr->read_cnt ? page_at(qp, page_of(psn)) : NULL;

	return p ? p->read[psn.v % VB_SR_KEPT_PSNS / 64] : 0;
}

/* Gives back the page with @psn when nothing in it is kept. */
static void page_release(struct vb_qp *qp, struct vb_psn psn)
{
	uint16_t *page = &qp->sr->kept_page[page_of(psn)];
	const struct vb_sr_kept_page *p = page_at(qp, page_of(psn));

	for (uint32_t i = 0; i < VB_SR_KEPT_PSNS / 64; i++) {
		if (p->kept[i])
			return;
	}
	vb_sr_give(&qp->hca->sr.kept, *page - 1u);
	*page = 0;
}

static void release_kept(struct vb_qp *qp, struct vb_psn psn)
{
	struct vb_sr *sr = qp->sr;
	struct vb_sr_kept_page *p = page_at(qp, page_of(psn));
	uint32_t i = psn.v % VB_SR_KEPT_PSNS, cnt;

	if (!is_kept(qp, psn))
		return;
	cnt = vb_sr_drop(qp->hca, p->block[i]);
	VB_ASSERT(sr->kept_cnt > 0 && sr->block_cnt >= cnt);
	sr->read_cnt -= read_word(qp, psn) >> psn.v % 64 & 1;
	p->kept[i / 64] &= ~(UINT64_C(1) << i % 64);
	p->read[i / 64] &= ~(UINT64_C(1) << i % 64);
	sr->kept_cnt--;
	sr->block_cnt -= cnt;
	if (p->kept[i / 64] == 0)
		page_release(qp, psn);
}

void vb_sr_offer(struct vb_qp *qp)
{
	if (qp->sr || !vb_sr_pools_make(qp->hca))
		return;
	qp->sr = vb_alloc(qp->hca, sizeof *qp->sr);
	if (!qp->sr)
		return;
	qp->sr->high = qp->sr->told = qp->resp.epsn;
	qp->sr->rtt_min = VB_NEVER;
}

/* Releases what is kept from @from on, of @cnt PSNs. */
static void release_range(struct vb_qp *qp, struct vb_psn from, uint32_t cnt)
{
	struct vb_psn end = vb_psn_add(from, cnt < VB_SR_RING ? cnt : VB_SR_RING);

	while (qp->sr->kept_cnt && vb_psn_before(from, end)) {
		uint64_t word = kept_word(qp, from) >> from.v % 64;

		from = vb_psn_add(from, word ? (uint32_t)__builtin_ctzll(word) : 64 - from.v % 64);
		if (!word || !vb_psn_before(from, end))
			continue;
		release_kept(qp, from);
	}
}

void vb_sr_end(struct vb_qp *qp)
{
	struct vb_sr *sr = qp->sr;

	if (!sr)
		return;
	release_range(qp, vb_psn(0), VB_SR_RING);
	vb_sr_holes_end(qp);
	VB_ASSERT(sr->kept_cnt == 0 && sr->page_cnt == 0);
	vb_free(qp->hca, sr);
	qp->sr = NULL;
}

/* Whether there is room for @blocks more: of the pool, a QP has at most four times as much as is
 * left, so that others find some. */
static bool has_room(const struct vb_qp *qp, struct vb_psn psn, uint32_t blocks)
{
	const struct vb_sr_pools *pools = &qp->hca->sr;

	return blocks <= pools->blocks.free_cnt &&
	       qp->sr->block_cnt < 4 * (uint64_t)pools->blocks.free_cnt &&
	       (qp->sr->kept_page[page_of(psn)] || pools->kept.free_cnt);
}

/* Copies the packet, which takes up @pkts PSNs, into the pool. */
static bool packet_keep(struct vb_qp *qp, struct vb_psn psn, const struct vb_rx *rx, uint32_t pkts)
{
	struct vb_sr *sr = qp->sr;
	uint32_t i = psn.v % VB_SR_KEPT_PSNS, bytes = vb_rx_bytes(rx), blocks;
	struct vb_sr_kept_page *p;

	if (is_kept(qp, psn))
		return true;
	blocks = vb_sr_blocks(bytes);
	if (bytes > VB_SR_PKT_MAX || !has_room(qp, psn, blocks))
		return false;
	p = page_at(qp, page_of(psn));
	if (!p) {
		uint32_t taken = vb_sr_take(&qp->hca->sr.kept);

		p = vb_sr_at(&qp->hca->sr.kept, taken);
		memset(p->kept, 0, sizeof p->kept);
		memset(p->read, 0, sizeof p->read);
		sr->kept_page[page_of(psn)] = (uint16_t)(taken + 1);
	}
	p->block[i] = vb_sr_store(qp->hca, rx);
	p->kept[i / 64] |= UINT64_C(1) << i % 64;
	if (pkts > 1) {
		p->read[i / 64] |= UINT64_C(1) << i % 64;
		sr->read_cnt++;
	}
	sr->kept_cnt++;
	sr->block_cnt += blocks;
	return true;
}

/* The PSNs that a request takes up. */
static uint32_t psns_of(const struct vb_qp *qp, const struct vb_hdr *hdr)
{
	return vb_hdr_opcode(hdr)->flags & VB_OP_READ ? vb_resp_read_pkts(qp, hdr->reth.len) : 1;
}

enum vb_verdict vb_sr_keep(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx)
{
	struct vb_sr *sr = qp->sr;
	struct vb_responder *resp = &qp->resp;
	uint32_t ahead = vb_psn_span(resp->epsn, hdr->psn), pkts = psns_of(qp, hdr);
	bool kept = false, opens_gap = false;

	/* No peer asks for more than the window; one that does asks again. */
	if (ahead < VB_SR_WINDOW) {
		struct vb_psn end;

		kept = pkts <= VB_SR_WINDOW - ahead && packet_keep(qp, hdr->psn, rx, pkts);
		end = vb_psn_add(hdr->psn, kept ? pkts : 1);
		opens_gap = vb_psn_before(sr->high, hdr->psn);
		sr->opened |= opens_gap;
		sr->high = vb_psn_later(sr->high, end);
	}
	if (opens_gap || hdr->ack_req) {
		vb_resp_owe_nak(resp, VB_RESP_REPORTS, VB_NAK_PSN_SEQ);
		vb_sched_activate(qp);
	}
	return kept ? VB_VERDICT_OK : VB_VERDICT_PSN;
}

/* The packet that is kept at @psn, parsed. */
static void kept_at(const struct vb_qp *qp, struct vb_psn psn, struct vb_hdr *hdr, struct vb_rx *rx)
{
	enum vb_verdict v;

	*rx = vb_sr_stored(qp->hca, page_at(qp, page_of(psn))->block[psn.v % VB_SR_KEPT_PSNS]);
	v = vb_hdr_parse(hdr, rx->pkt, rx->avail, rx->len);
	VB_ASSERT(v == VB_VERDICT_OK && vb_psn_eq(hdr->psn, psn));
	(void)v;
}

/* The kept packet whose PSN is now the expected one; its bytes stay until it is released. */
static bool next_kept(struct vb_qp *qp, struct vb_hdr *hdr, struct vb_rx *rx)
{
	struct vb_psn psn = qp->resp.epsn;

	if (!qp->sr->kept_cnt || !is_kept(qp, psn))
		return false;
	kept_at(qp, psn, hdr, rx);
	return true;
}

/* The request at @from was carried out: up to the expected PSN nothing is kept or missing. */
static void advance_kept(struct vb_qp *qp, struct vb_psn from)
{
	struct vb_sr *sr = qp->sr;

	/* A READ takes many PSNs; a packet that came with one of them was no request. */
	if (sr->kept_cnt)
		release_range(qp, from, vb_psn_span(from, qp->resp.epsn));
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

/* The first PSN from @psn on that is kept; @end where there is none. */
static struct vb_psn next_there(const struct vb_qp *qp, struct vb_psn psn, struct vb_psn end)
{
	while (vb_psn_before(psn, end)) {
		uint64_t word = kept_word(qp, psn) >> psn.v % 64;

		if (word) {
			psn = vb_psn_add(psn, (uint32_t)__builtin_ctzll(word));
			break;
		}
		psn = vb_psn_add(psn, 64 - psn.v % 64);
	}
	return vb_psn_before(psn, end) ? psn : end;
}

/* The first PSN from @psn on that is missing; @end where there is none. A READ that is kept stands
 * for all PSNs that it takes up; @psn is not inside one. */
static struct vb_psn next_missing(const struct vb_qp *qp, struct vb_psn psn, struct vb_psn end)
{
	while (vb_psn_before(psn, end)) {
		uint64_t missing = ~kept_word(qp, psn) >> psn.v % 64;
		uint64_t reads = read_word(qp, psn) >> psn.v % 64;
		uint32_t left = 64 - psn.v % 64;
		uint32_t until = missing ? (uint32_t)__builtin_ctzll(missing) : left;
		struct vb_hdr hdr;
		struct vb_rx rx;

		if (reads && (uint32_t)__builtin_ctzll(reads) < until) {
			psn = vb_psn_add(psn, (uint32_t)__builtin_ctzll(reads));
			kept_at(qp, psn, &hdr, &rx);
			psn = vb_psn_add(psn, psns_of(qp, &hdr));
			continue;
		}
		psn = vb_psn_add(psn, until);
		if (until < left)
			break;
	}
	return vb_psn_before(psn, end) ? psn : end;
}

/* The last PSN before @psn that is kept, or is not, as @kept says; the one before @from where there
 * is none. */
static struct vb_psn last_psn(const struct vb_qp *qp, struct vb_psn from, struct vb_psn psn,
			      bool kept)
{
	while (vb_psn_before(from, psn)) {
		struct vb_psn at = vb_psn_prev(psn);
		uint64_t word = kept_word(qp, at);

		word = (kept ? word : ~word) << (63 - at.v % 64);
		if (word) {
			psn = vb_psn(at.v - (uint32_t)__builtin_clzll(word));
			return vb_psn_before(psn, from) ? vb_psn_prev(from) : psn;
		}
		psn = vb_psn(at.v - at.v % 64);
	}
	return vb_psn_prev(from);
}

/* The same as newest_runs(), from the beginning on: whether a PSN is inside a READ is known from
 * before it only. */
static struct vb_psn newest_between_reads(const struct vb_qp *qp)
{
	struct vb_psn run[VB_SR_RUNS], psn = qp->resp.epsn, end = qp->sr->high;
	uint32_t cnt = 0;

	for (;;) {
		psn = next_missing(qp, psn, end);
		if (vb_psn_eq(psn, end))
			break;
		run[cnt++ % VB_SR_RUNS] = psn;
		psn = next_there(qp, psn, end);
	}
	VB_ASSERT(cnt > 0); /* the expected one is missing */
	return run[cnt > VB_SR_RUNS ? cnt % VB_SR_RUNS : 0];
}

/* Where the newest runs of missing packets begin, as many as a report has. */
static struct vb_psn newest_runs(const struct vb_qp *qp)
{
	struct vb_psn epsn = qp->resp.epsn, psn = qp->sr->high;

	if (qp->sr->read_cnt)
		return newest_between_reads(qp);

	for (uint32_t i = 0; i < VB_SR_RUNS && vb_psn_before(epsn, psn); i++) {
		struct vb_psn missing = last_psn(qp, epsn, psn, false);

		psn = vb_psn_add(last_psn(qp, epsn, missing, true), 1);
	}
	return psn;
}

/* Where the next report begins. */
static struct vb_psn report_begin(struct vb_qp *qp)
{
	struct vb_sr *sr = qp->sr;
	struct vb_psn epsn = qp->resp.epsn;

	if (vb_psn_span(epsn, sr->told) >= vb_psn_span(epsn, sr->high))
		sr->told = epsn;
	sr->newest = sr->opened && !sr->newest;
	if (!sr->newest)
		return sr->told;
	sr->opened = false;
	return newest_runs(qp);
}

void vb_sr_emit_report(struct vb_qp *qp, struct vb_tx *tx, uint8_t credits)
{
	struct vb_sr *sr = qp->sr;
	struct vb_psn epsn = qp->resp.epsn, from = report_begin(qp), to = from;
	uint32_t extent = vb_psn_span(epsn, sr->high), cnt = 0;
	uint8_t *at = tx->hdr + tx->hdr_len;

	VB_ASSERT(tx->hdr_len + 12 + 4 * VB_SR_RUNS <= sizeof tx->hdr);
	VB_ASSERT(extent > 0 && extent <= VB_SR_WINDOW);
	VB_ASSERT_ALL(!is_kept(qp, epsn));
	while (vb_psn_before(to, sr->high)) {
		struct vb_psn run = next_missing(qp, to, sr->high);

		if (cnt == VB_SR_RUNS && !vb_psn_eq(run, sr->high)) {
			to = run;
			break;
		}
		to = next_there(qp, run, sr->high);
		if (!vb_psn_eq(run, to))
			be32_put(at + 12 + 4 * cnt++,
				 vb_psn_span(epsn, run) << 16 | vb_psn_span(run, to));
	}
	be32_put(at, (uint32_t)sr->report_nr++ << 16 | extent);
	be32_put(at + 4, vb_psn_span(epsn, from) << 16 | vb_psn_span(epsn, to));
	be32_put(at + 8, credits);
	if (!sr->newest)
		sr->told = vb_psn_eq(to, sr->high) ? epsn : to;
	tx->hdr_len = (uint8_t)(tx->hdr_len + 12 + 4 * cnt);
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
