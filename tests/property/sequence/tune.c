/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Settings that may change while QPs are at work and must change no outcome: moderation of CQs and
 * which completions they tell of, rates, a masked arbiter, sizes of SRQs, the settings of recovery
 * and of congestion control. See play.h.
 */
#include "play.h"

#include "core/cc/text.h"

#include <errno.h>
#include <string.h>

struct vb_recovery tune_recovery(uint32_t set)
{
	return (struct vb_recovery){.roce_adp_retrans_en = set & RECOVERY_ADAPTIVE,
				    .roce_tx_window_en = set & RECOVERY_WINDOW,
				    .tx_window_bytes = 20000,
				    .roce_slow_restart_en = set & RECOVERY_SLOW_RESTART,
				    .roce_slow_restart_idle_en = set & RECOVERY_SLOW_RESTART,
				    .selective_repeat_forced_en = set & RECOVERY_SELECTIVE};
}

static bool tune_is_recovery(const struct vb_recovery *a, const struct vb_recovery *b)
{
	return a->roce_adp_retrans_en == b->roce_adp_retrans_en &&
	       a->roce_tx_window_en == b->roce_tx_window_en &&
	       a->tx_window_bytes == b->tx_window_bytes &&
	       a->roce_slow_restart_en == b->roce_slow_restart_en &&
	       a->roce_slow_restart_idle_en == b->roce_slow_restart_idle_en &&
	       a->selective_repeat_forced_en == b->selective_repeat_forced_en;
}

struct vb_cc_settings tune_cc(uint32_t kind, uint64_t rate_bps)
{
	static const char name[] = "paper";
	struct vb_cc_settings set = {0};
	struct vb_cc_draft d;
	struct vb_cc_fault fault;

	if (kind == CC_PAPER)
		CHECK("self", vb_cc_draft_begin(&d, name, strlen(name), rate_bps) == 0 &&
				  vb_cc_draft_end(&d, &set, &fault) == 0);
	return set;
}

static void rate(struct play *p, const struct end *e, uint32_t value)
{
	enum vb_qp_state s = vb_qp_get_state(e->qp);
	bool can = s == VB_QPS_RTR || s == VB_QPS_RTS || s == VB_QPS_SQD;
	uint32_t kbps = value % 4 ? 100000 + value % 10000000 : 0;

	CHECK("call", vb_qp_set_rate(e->qp, kbps, value % 3 * 10000, vb_sim_now(p->sim)) ==
			  (can ? 0 : -EINVAL));
	CHECK("call", !can || vb_qp_rate(e->qp) == kbps);
	CHECK("call",
	      vb_qp_set_rate(e->qp, VB_RATE_KBPS_MIN - 1, 0, vb_sim_now(p->sim)) == -EINVAL);
	CHECK("call", !e->tgt || vb_qp_set_rate(e->tgt, kbps, 0, vb_sim_now(p->sim)) == -EINVAL);
}

/* The calls behind the registers of a QP, and a recorder, which it keeps. */
static void cc_rate(const struct end *e, uint32_t value, vb_time now)
{
	enum vb_qp_state s = vb_qp_get_state(e->qp);
	struct vb_cc_access at;

	vb_qp_cc_open(e->qp, &at);
	CHECK("call", at.qpn == e->qpn && at.state == s);
	vb_qp_cc_close(e->qp, &at);
	CHECK("call", !at.runs || vb_qp_cc(e->qp, now) == at.ctl);
	if (value & 1 && at.runs)
		vb_qp_set_cc_rate(e->qp, (uint16_t)(1000 + value % 60000), now);
	CHECK("call", !(value & 2) || vb_qp_cc_make_recorder(e->qp) == 0);
}

static void resize_srq(struct play *p, uint32_t host, uint32_t which, uint32_t value)
{
	struct srq *s = &p->srq[host][which];

	if (!s->srq)
		return;

	uint32_t to = 1 + value % s->wrs;
	int err = vb_srq_resize(s->srq, to);

	/* Some of those posted may have been taken, for messages that are not over. */
	if (to < s->limit || to >= s->posted ? err != (to < s->limit ? -EINVAL : 0)
					     : err && err != -EINVAL)
		fail("call", "an SRQ with at most %u receives, limit %u, resized to %u, gives %d",
		     s->posted, s->limit, to, err);
	if (!err)
		s->max = to;
}

/* The first poll after the last arming for solicited completions alone. */
static void hear_all(struct play *p, uint32_t host)
{
	struct queue *q = &p->queue[host];

	if (!q->solicited)
		return;
	q->solicited = false;
	q->awaits = false;
	q->untold = true;
	host_wake(p, host);
}

void play_tune(struct play *p, const struct step *st)
{
	const uint32_t *a = st->arg;
	uint32_t host = a[TUNE_HOST] % p->hosts, value = a[TUNE_VALUE];
	struct end *e = play_end(p, st);
	struct queue *q = &p->queue[host];
	struct vb_recovery set = tune_recovery(value % 16);
	struct vb_cc_settings cc =
	    tune_cc(value % CC_CNT, p->s->world[WORLD_GBPS] * UINT64_C(1000000000));
	struct vb_hca *hca = vb_sim_hca(p->sim, host);
	vb_time now = vb_sim_now(p->sim);

	switch ((enum tune)a[TUNE_WHAT]) {
	case TUNE_MODERATE:
		q->moderated = true;
		vb_cq_moderate(q->cq, (uint16_t)(value % 9), value % 50 * VB_USEC, now);
		break;
	case TUNE_SOLICITED:
		hear_all(p, host);
		q->solicited = value & 1;
		break;
	case TUNE_RATE:
		if (e)
			rate(p, e, value);
		break;
	case TUNE_MASK:
		if (e)
			vb_qp_set_sq_arb_mask(e->qp, value & 1);
		break;
	case TUNE_SRQ:
		resize_srq(p, host, value % SRQS, value / SRQS);
		break;
	case TUNE_RECOVERY:
		CHECK("call", (value & 16 ? vb_hca_set_recovery(hca, &set, now)
					  : vb_hca_set_port_recovery(hca, 1, &set)) == 0);
		CHECK("call", tune_is_recovery(vb_hca_recovery(hca, 1), &set));
		set.adp_retx_profile_id = UINT8_MAX; /* there is no such profile */
		CHECK("call", vb_hca_set_recovery(hca, &set, now) == -EINVAL &&
				  vb_hca_set_port_recovery(hca, 1, &set) == -EINVAL &&
				  vb_hca_recovery(hca, 1)->adp_retx_profile_id == 0);
		break;
	case TUNE_CC:
		CHECK("call", vb_hca_set_port_cc(hca, 1, &cc, now) == 0 &&
				  vb_hca_set_port_cc(hca, 0, &cc, now) == -EINVAL);
		CHECK("call", vb_hca_cc(hca, 1) && vb_cc_settings_eq(vb_hca_cc(hca, 1), &cc));
		break;
	case TUNE_CC_RATE:
		if (e)
			cc_rate(e, value, now);
		break;
	default:
		break;
	}
	vb_sim_touch(p->sim, host);
	if (e)
		vb_sim_touch(p->sim, e->host);
}

/* So that everything completes, and is told. */
void tune_end(struct play *p)
{
	for (uint32_t c = 0; c < CONNS_MAX; c++)
		for (uint32_t i = 0; p->conn[c].exists && i < 2; i++)
			if (p->conn[c].end[i].qp)
				vb_qp_set_sq_arb_mask(p->conn[c].end[i].qp, false);
	for (uint32_t h = 0; h < p->hosts; h++) {
		for (uint32_t i = 0; i < SRQS; i++)
			if (p->srq[h][i].srq && p->srq[h][i].max < p->srq[h][i].wrs) {
				CHECK("call",
				      vb_srq_resize(p->srq[h][i].srq, p->srq[h][i].wrs) == 0);
				p->srq[h][i].max = p->srq[h][i].wrs;
			}
		hear_all(p, h);
		host_wake(p, h);
		vb_sim_touch(p->sim, h);
	}
}
