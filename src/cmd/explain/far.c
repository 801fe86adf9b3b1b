/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asks adapters of other hosts how the QPs stand that QPs in trouble here are connected to
 * (wire/mad/vendor.h). Their answers are another host's word: they are shown, never followed.
 */
#include "cmd/explain/explain.h"

#include "wire/mad/vendor.h"

#include <errno.h>
#include <string.h>

#define ATTEMPTS 2
#define TIMEOUT_NS (250 * VB_MSEC)

bool vb_explain_is_here(const struct vb_host_shm *host, const struct vb_gid *gid)
{
	for (uint32_t i = 0; i < VB_DEVICES_MAX; i++)
		for (int n = 0; n < VB_GIDS_MAX && host->device[i].ifindex; n++)
			if (host->device[i].gid[n].type != VB_GID_NONE &&
			    vb_gid_eq(&host->device[i].gid[n].gid, gid))
				return true;
	return false;
}

/* Its peer may tell what is the matter. */
static bool is_in_trouble(const struct vb_qp_case *k, const struct vb_qp_view *v)
{
	if (v->state < VB_QPS_RTR || v->type == VB_QPT_UD || !v->attr.dest_qpn)
		return false;
	return (k->has_tale && k->tale.state >= VB_TALE_OPEN) || v->rto.timeout_cnt || v->unacked ||
	       v->unsent;
}

/* The question about the peer of @k. */
static struct vb_broker_ask question_of(const struct vb_qp_case *k)
{
	const struct vb_qp_view *v = vb_case_view(k);
	struct vb_vendor_msg m = {.attr = VB_VENDOR_QP,
				  .qp = {.from_qpn = v->qpn, .qpn = v->attr.dest_qpn}};
	struct vb_broker_ask a = {
	    .path = {.port = v->attr.port, .sgid = v->attr.path.sgid, .dgid = v->attr.path.dgid},
	    .len = VB_MAD_LEN,
	    .attempts = ATTEMPTS,
	    .timeout = TIMEOUT_NS};

	vb_vendor_emit(&m, a.mad);
	return a;
}

static void take_answer(struct vb_qp_case *k, const struct vb_broker_ask *a)
{
	struct vb_vendor_msg m;

	k->peer.far = VB_FAR_FOREIGN;
	if (vb_vendor_parse(&m, a->mad) || m.status || m.attr != VB_VENDOR_QP)
		return;
	k->peer.far = VB_FAR_ANSWERED;
	k->peer.far_qp = m.qp;
	if (m.qp.standing >= VB_VENDOR_CONNECTED) {
		struct vb_trace_event ev = {.id = VB_TRACE_REFUSED};

		memcpy(ev.arg, m.qp.denial, sizeof ev.arg);
		k->peer.denial = vb_denial_read(&ev);
	}
}

/* The question is worth the wait: of QP @qpn, or with 0 of every QP whose process is there. */
static bool is_to_ask(const struct vb_qp_case *k, uint32_t qpn, const struct vb_host_shm *host)
{
	const struct vb_qp_view *v = vb_case_view(k);

	return (qpn ? k->qpn == qpn : !k->ended) && is_in_trouble(k, v) &&
	       !vb_explain_is_here(host, &v->attr.path.dgid);
}

void vb_explain_ask_far(struct vb_qp_cases *c, uint32_t qpn, struct vb_broker_observer *o,
			const struct vb_host_shm *host)
{
	struct vb_qp_case *of[VB_BROKER_ASKS_MAX];
	struct vb_broker_ask ask[VB_BROKER_ASKS_MAX];
	int status[VB_BROKER_ASKS_MAX];
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < c->cnt && cnt < VB_BROKER_ASKS_MAX; i++) {
		if (!is_to_ask(&c->at[i], qpn, host))
			continue;
		of[cnt] = &c->at[i];
		ask[cnt] = question_of(of[cnt]);
		cnt++;
	}
	if (!cnt || vb_broker_ask(o, ask, status, cnt))
		return;
	for (uint32_t i = 0; i < cnt; i++) {
		if (status[i] == 0)
			take_answer(of[i], &ask[i]);
		else if (status[i] == -ETIMEDOUT)
			of[i]->peer.far = VB_FAR_SILENT;
	}
}
