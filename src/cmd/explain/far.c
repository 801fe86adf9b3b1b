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
#define WAYS_MAX 4 /* addresses that long questions go to */

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
	return (k->has_history && k->history.state >= VB_QP_HISTORY_OPEN) || v->rto.timeout_cnt ||
	       v->unacked || v->unsent;
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

/* The QP there takes packets of this one, as far as can be told from here. */
static bool should_hear(const struct vb_qp_case *k)
{
	const struct vb_vendor_qp *far = &k->peer.far_qp;

	return k->peer.far == VB_FAR_ANSWERED && far->standing == VB_VENDOR_CONNECTED &&
	       far->state >= VB_QPS_RTR && far->state < VB_QPS_ERR && !far->stopped &&
	       far->is_qpn == vb_case_view(k)->attr.dest_qpn;
}

/* The first of the cases whose packets go where those of @of[i] do, and are as long. */
static uint32_t is_alike(struct vb_qp_case *const *of, uint32_t i)
{
	const struct vb_qp_view *v = vb_case_view(of[i]);
	uint32_t k = 0;

	for (; k < i; k++) {
		const struct vb_qp_view *w = vb_case_view(of[k]);

		if (should_hear(of[k]) && w->attr.path_mtu == v->attr.path_mtu &&
		    vb_gid_eq(&w->attr.path.dgid, &v->attr.path.dgid))
			break;
	}
	return k;
}

/*
 * Whether packets as long as the QP's come there and back: the same question in one of these, and
 * right behind it in a short one, without whose answer the missing one says nothing.
 */
static void ask_long(struct vb_qp_case *const *of, uint32_t cnt, struct vb_broker_observer *o)
{
	struct vb_broker_ask ask[2 * WAYS_MAX];
	struct vb_qp_case *to[WAYS_MAX];
	int status[2 * WAYS_MAX];
	uint32_t n = 0;

	for (uint32_t i = 0; i < cnt && n < WAYS_MAX; i++) {
		if (!should_hear(of[i]) || is_alike(of, i) < i)
			continue;
		to[n] = of[i];
		ask[2 * n] = ask[2 * n + 1] = question_of(to[n]);
		ask[2 * n++].len = vb_mtu_bytes(vb_case_view(of[i])->attr.path_mtu);
	}
	if (!n || vb_broker_ask(o, ask, status, 2 * n))
		return;
	for (uint32_t i = 0; i < n; i++)
		to[i]->peer.far_drops_long =
		    status[2 * i + 1] == 0 &&
		    (status[2 * i] == -ETIMEDOUT || status[2 * i] == -EMSGSIZE);
	for (uint32_t i = 0; i < cnt; i++)
		if (should_hear(of[i]))
			of[i]->peer.far_drops_long = of[is_alike(of, i)]->peer.far_drops_long;
}

/* The question is worth the wait: of QP @qpn, or with 0 of every QP whose process is there. */
static bool is_to_ask(const struct vb_qp_case *k, uint32_t qpn, const struct vb_host_shm *host)
{
	const struct vb_qp_view *v = vb_case_view(k);

	return (qpn ? k->qpn == qpn : !k->ended) && is_in_trouble(k, v) &&
	       !vb_explain_is_here(host, &v->attr.path.dgid);
}

/* An adapter answers so many questions and no more (node/gsi/agent.c). Where another question to
 * the same address was answered, silence does not show that the way takes packets. */
static bool is_answered(struct vb_qp_case *const *of, const int *status, uint32_t cnt, uint32_t i)
{
	const struct vb_gid *to = &vb_case_view(of[i])->attr.path.dgid;

	for (uint32_t k = 0; k < cnt; k++)
		if (status[k] == 0 && vb_gid_eq(&vb_case_view(of[k])->attr.path.dgid, to))
			return true;
	return false;
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
		else if (status[i] == -ETIMEDOUT && !is_answered(of, status, cnt, i))
			of[i]->peer.far = VB_FAR_SILENT;
	}
	ask_long(of, cnt, o);
}
