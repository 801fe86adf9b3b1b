/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The send rate of a QP, the lower one of what the consumer has set, ibv_modify_qp_rate_limit(3),
 * and of the static rate of its path, IBA 9.11.1, which of UD and DC is each WQE's: an account in
 * time, as the limiter of congestion control keeps one. A packet costs the time that its bytes take
 * at that rate; the remainder is carried, so the mean is exact. Requests are paced, not what
 * answers the peer.
 */
#include "core/sched/pace.h"

#include "core/dc/dc.h"
#include "core/sched/sched.h"

#include <errno.h>

#define NS_KBIT UINT64_C(8000000) /* a byte at 1 kb/s, ns */
/* Unused time of a QP without a burst of its own: a woken thread is that late anyway. */
#define BURST_BYTES 65536u
#define BURST_NS (100 * VB_USEC)

static vb_dur bytes_cost(const struct vb_pace *p, uint64_t bytes)
{
	return bytes * NS_KBIT / p->kbps;
}

/* A QP that was idle sends a burst and, since the account may be overdrawn, one packet. */
static vb_dur time_kept(const struct vb_qp *qp)
{
	const struct vb_pace *p = &qp->pace;
	uint32_t pkt = qp->mtu + VB_HDR_MAX + VB_ICRC_LEN;

	if (p->burst)
		return p->burst > pkt ? bytes_cost(p, p->burst - pkt) : 0;
	return bytes_cost(p, BURST_BYTES) > BURST_NS ? bytes_cost(p, BURST_BYTES) : BURST_NS;
}

int vb_qp_set_rate(struct vb_qp *qp, uint32_t kbps, uint32_t burst, vb_time now)
{
	if (kbps && kbps < VB_RATE_KBPS_MIN)
		return VB_REFUSE(qp->hca, -EINVAL, VB_REFUSAL_RATE, .value = kbps,
				 .bound = VB_RATE_KBPS_MIN);
	if (kbps > VB_RATE_KBPS_MAX)
		return VB_REFUSE(qp->hca, -EINVAL, VB_REFUSAL_RATE_ABOVE, .value = kbps,
				 .bound = VB_RATE_KBPS_MAX);
	if (qp->type == VB_QPT_XRC_TGT || qp->type == VB_QPT_DCT || vb_qp_channel(qp, 1))
		return VB_REFUSE(qp->hca, -EINVAL, VB_REFUSAL_RATE_QP);
	if (qp->state != VB_QPS_RTR && qp->state != VB_QPS_RTS && qp->state != VB_QPS_SQD)
		return VB_REFUSE(qp->hca, -EINVAL, VB_REFUSAL_RATE_STATE, .value = qp->state);
	/* The debt stays: setting a rate again and again gains nothing. */
	qp->pace.set_kbps = kbps;
	qp->pace.burst = burst;
	vb_pace_take_path(qp, qp->attr.path_kbps);
	qp->pace.rest = 0;
	if (qp->pace.next < now)
		qp->pace.next = now;
	vb_sched_activate(qp);
	return 0;
}

uint32_t vb_qp_rate(const struct vb_qp *qp)
{
	return qp->pace.set_kbps;
}

void vb_pace_take_path(struct vb_qp *qp, uint32_t kbps)
{
	struct vb_pace *p = &qp->pace;

	if (!kbps || (p->set_kbps && p->set_kbps < kbps))
		kbps = p->set_kbps;
	if (kbps == p->kbps)
		return;
	p->kbps = kbps;
	p->rest = 0;
}

void vb_pace_sent(struct vb_qp *qp, uint32_t bytes, vb_time now)
{
	struct vb_pace *p = &qp->pace;
	vb_dur keep = time_kept(qp);

	if (vb_time_after(p->next, keep) < now) {
		p->next = now - keep;
		p->rest = 0;
	}

	uint64_t due = bytes * NS_KBIT + p->rest;

	p->next = vb_time_after(p->next, due / p->kbps);
	p->rest = (uint32_t)(due % p->kbps);
}

vb_time vb_pace_at(const struct vb_qp *qp, vb_time now)
{
	const struct vb_pace *p = &qp->pace;

	if (p->next <= now)
		return now;
	/* Half of the time kept: packets that are due by then leave as one GSO batch. */
	return vb_time_after(p->next, time_kept(qp) / 2);
}

vb_dur vb_pace_cost(const struct vb_qp *qp, uint32_t bytes)
{
	return bytes_cost(&qp->pace, bytes);
}
