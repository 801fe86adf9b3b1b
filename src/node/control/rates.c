/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How the QPs of this process come on, written into its slot memory while they run, so that pages
 * of live traffic have rates over time: what the peer has acknowledged, what came from it, and what
 * congestion control allows (RATE_MEM, ALPHA_MEM). A look at all QPs costs a few of their cache
 * lines, so there is one each 10 ms at most, fewer with many QPs, and one each millisecond while
 * somebody captures, when each CNP is noted, too; a QP in which nothing has changed is not written
 * twice.
 */
#include "node/engine/priv.h"

#define LOOK_NS (10 * VB_MSEC)
#define LOOK_CAPTURE_NS (1 * VB_MSEC)
#define LOOK_QP_NS (20 * VB_USEC) /* for each QP: a look takes a thousandth of the time */

static bool is_same(const struct vb_qp_sample *a, const struct vb_qp_sample *b)
{
	return a->qpn == b->qpn && a->psn_una == b->psn_una && a->epsn == b->epsn &&
	       a->clk_hz == b->clk_hz && a->rate == b->rate && a->target == b->target &&
	       a->alpha == b->alpha;
}

static void write_sample(struct vb_rates_shm *to, const struct vb_qp_sample *s)
{
	/* Only a reader that sees that it is overwritten may read an entry meanwhile. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	to->entry[to->cnt & (VB_RATES - 1)] = *s;
	__atomic_store_n(&to->cnt, to->cnt + 1, __ATOMIC_RELEASE);
}

static void look_at_qp(struct vb_engine *e, uint32_t qpn, vb_time now)
{
	struct vb_rate_seen *seen = &e->rates.seen[vb_slot_qpn_index(qpn) % VB_QP_ENTRIES];
	struct vb_qp_sample s;
	bool same;

	if (!vb_hca_sample(e->hca, qpn, now, &s))
		return;
	same = is_same(&s, &seen->last);
	/* Where it came to rest is written, too: what follows is another run. */
	if (!same || !seen->rests)
		write_sample(&e->broker.shm->rates, &s);
	seen->rests = same;
	seen->last = s;
}

void vb_engine_note_cnp(struct vb_engine *e, uint32_t qpn, vb_time now)
{
	if (e->rates.has_cnps)
		look_at_qp(e, qpn, now);
}

void vb_engine_look_at_rates(struct vb_engine *e, vb_time now)
{
	bool captures = __atomic_load_n(&e->broker.shm->capture.enabled, __ATOMIC_RELAXED);
	uint32_t pos = 0, qpn, cnt = 0;

	while ((qpn = vb_hca_next_qpn(e->hca, &pos)) != 0) {
		look_at_qp(e, qpn, now);
		cnt++;
	}
	e->rates.due =
	    now + vb_time_max(captures ? LOOK_CAPTURE_NS : LOOK_NS, (vb_dur)cnt * LOOK_QP_NS);
}
