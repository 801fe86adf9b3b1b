/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers other adapters, see agent.h. Slot memory is another program's word. IBA 13.4.7 */
#include "node/gsi/agent.h"

#include "core/denial.h"
#include "explain/explain.h"
#include "node/broker/broker.h"
#include "node/host/clock.h"
#include "node/host/process.h"
#include "wire/mad/vendor.h"

#include <string.h>
#include <time.h>

/* An answer costs one source 100 ms, and up to 32 may be owed; all sources 10 ms and 128. */
#define SOURCE_COST_NS (100 * VB_MSEC)
#define SOURCE_BURST 32
#define TOTAL_COST_NS (10 * VB_MSEC)
#define TOTAL_BURST 128

/* Until when the answers so far count; takes one more. False: too many. */
static bool credit_take(vb_time *due, vb_dur cost, uint32_t burst, vb_time now)
{
	vb_time from = *due > now ? *due : now;

	if (from + cost > now + burst * cost)
		return false;
	*due = from + cost;
	return true;
}

/* The place of @gid, or that of the source that has been silent longest. */
static struct vb_agent_source *source_find(struct vb_agent *a, const struct vb_gid *gid)
{
	struct vb_agent_source *oldest = &a->source[0];

	for (int i = 0; i < VB_AGENT_SOURCES; i++) {
		if (vb_gid_eq(&a->source[i].gid, gid))
			return &a->source[i];
		if (a->source[i].due < oldest->due)
			oldest = &a->source[i];
	}
	*oldest = (struct vb_agent_source){.gid = *gid};
	return oldest;
}

static bool may_answer(struct vb_agent *a, const struct vb_gid *to, vb_time now)
{
	struct vb_agent_source *s = source_find(a, to);

	return credit_take(&s->due, SOURCE_COST_NS, SOURCE_BURST, now) &&
	       credit_take(&a->due, TOTAL_COST_NS, TOTAL_BURST, now);
}

static void tell_adapter(const struct vb_slots *slots, uint8_t port, struct vb_vendor_adapter *to)
{
	*to = (struct vb_vendor_adapter){.clock = vb_clock_read(CLOCK_REALTIME)};
	/* Filled up with zeros, and without one when it is as long as the field. */
	strncpy(to->version, VERBENA_VERSION, sizeof to->version);
	if (port < 1 || port > VB_DEVICES_MAX)
		return;

	const struct vb_device *d = &slots->host->device[port - 1];

	to->mtu = (uint8_t)d->active_mtu;
	for (int i = 0; i < VB_GIDS_MAX && to->gid_cnt < VB_VENDOR_GIDS; i++)
		if (d->gid[i].type != VB_GID_NONE)
			to->gid[to->gid_cnt++] = d->gid[i].gid;
}

/* A copy of place @i of slot @k; its number is 0 when there is nothing to tell of it any more. */
static struct vb_qp_entry entry_read(const struct vb_slots *s, uint32_t k, uint32_t i, vb_time now)
{
	const struct vb_slot_shm *shm = s->slot[k].shm;
	struct vb_qp_entry e = {.qpn = 0};

	if (!shm)
		return e;
	vb_explain_read(&shm->explain, &shm->qp_entry[i], &e, sizeof e);
	if (vb_slot_of_qpn(e.qpn) != k || e.at > now ||
	    ((e.has_ended || e.state == VB_QPS_RESET) && e.at + VB_PAST_NS < now))
		e.qpn = 0;
	return e;
}

static bool is_peer(const struct vb_qp_entry *e, const struct vb_gid *gid, uint32_t qpn)
{
	return e->qpn && e->state != VB_QPS_INIT && e->type != VB_QPT_UD && e->dest_qpn == qpn &&
	       vb_gid_eq(&e->dgid, gid);
}

/* The QP that is connected to QP @qpn at @gid: one that is there before one that was, then the one
 * that came to its state last. */
static struct vb_qp_entry entry_find(const struct vb_slots *s, const struct vb_gid *gid,
				     uint32_t qpn, vb_time now)
{
	struct vb_qp_entry best = {.qpn = 0};

	for (uint32_t k = VB_SLOT_FIRST; k < s->group.cnt; k++) {
		const struct vb_slot_shm *shm = vb_slots_is_used(s, k) ? s->slot[k].shm : NULL;

		for (uint32_t i = 0; shm && i < VB_QP_ENTRIES; i++) {
			if (__atomic_load_n(&shm->qp_entry[i].dest_qpn, __ATOMIC_RELAXED) != qpn)
				continue;

			struct vb_qp_entry e = entry_read(s, k, i, now);
			bool is_here = !e.has_ended && e.state != VB_QPS_RESET;
			bool was_here = !best.has_ended && best.state != VB_QPS_RESET;

			if (is_peer(&e, gid, qpn) && (!best.qpn || (is_here && !was_here) ||
						      (is_here == was_here && e.at > best.at)))
				best = e;
		}
	}
	return best;
}

/* The last refusal of QP @qpn that a history tells of; NULL: none does. */
static const struct vb_trace_event *denial_in(const struct vb_qp_history *t, uint32_t qpn)
{
	return t->qpn == qpn && t->state == VB_QP_HISTORY_FAILED
		   ? vb_explain_last(t, UINT64_C(1) << VB_TRACE_REFUSED)
		   : NULL;
}

static void tell_denial(const struct vb_slots *s, uint32_t qpn, vb_time now,
			struct vb_vendor_qp *to)
{
	static struct vb_qp_history t;
	const struct vb_past *past = vb_slots_past(s);
	const struct vb_slot_shm *shm = s->slot[vb_slot_of_qpn(qpn)].shm;
	const struct vb_trace_event *ev = NULL;

	for (uint32_t i = 0; i < VB_QP_HISTORIES && shm && !ev; i++) {
		if (!vb_qp_histories_at(&shm->explain.histories, i))
			continue;
		vb_explain_read(&shm->explain, &shm->explain.histories.history[i], &t, sizeof t);
		ev = denial_in(&t, qpn);
	}
	for (uint32_t i = 0; i < VB_PAST_QPS && !ev; i++) {
		t = past->history[i].history;
		ev = past->history[i].ended ? denial_in(&t, qpn) : NULL;
	}
	if (!ev)
		return;
	memcpy(to->denial, ev->arg, sizeof to->denial);
	to->denial_age = vb_time_since(ev->time, now);
}

static void tell_standing(const struct vb_slots *s, const struct vb_qp_entry *e, vb_time now,
			  struct vb_vendor_qp *to)
{
	to->is_qpn = e->qpn;
	to->state = e->state;
	to->age = vb_time_since(e->at, now);
	to->stopped =
	    !e->has_ended && vb_process_is_stopped((pid_t)s->slot[vb_slot_of_qpn(e->qpn)].shm->pid);
}

static void tell_qp(const struct vb_slots *s, const struct vb_gid *from, vb_time now,
		    struct vb_vendor_qp *to)
{
	struct vb_qp_entry e = entry_find(s, from, to->from_qpn, now);

	*to = (struct vb_vendor_qp){.from_qpn = to->from_qpn, .qpn = to->qpn};
	if (e.qpn) {
		to->standing = e.has_ended               ? VB_VENDOR_ENDED
			       : e.state == VB_QPS_RESET ? VB_VENDOR_RESET
							 : VB_VENDOR_CONNECTED;
		to->rq_psn = e.rq_psn;
		tell_standing(s, &e, now, to);
		tell_denial(s, e.qpn, now, to);
		return;
	}
	/* A sender that names a QP without a peer is taken for its peer to come. */
	e = entry_read(s, vb_slot_of_qpn(to->qpn), vb_slot_qpn_index(to->qpn) % VB_QP_ENTRIES, now);
	if (e.qpn != to->qpn || e.has_ended)
		return;
	if (e.state == VB_QPS_INIT)
		to->standing = VB_VENDOR_NOT_READY;
	else if (e.type == VB_QPT_DCT && e.state != VB_QPS_RESET)
		to->standing = VB_VENDOR_TARGET;
	else
		return;
	tell_standing(s, &e, now, to);
}

static void refuse_request(const uint8_t mad[VB_MAD_LEN], const struct vb_mad_hdr *request,
			   uint8_t answer[VB_MAD_LEN])
{
	struct vb_mad_hdr h = *request;

	h.method = VB_MAD_METHOD_GET_RESP;
	h.status = VB_MAD_STATUS_UNSUPPORTED;
	memcpy(answer, mad, VB_MAD_LEN);
	vb_mad_hdr_emit(&h, answer);
}

bool vb_agent_answer(struct vb_agent *a, const struct vb_slots *slots, const struct vb_path *path,
		     const uint8_t mad[VB_MAD_LEN], vb_time now, uint8_t answer[VB_MAD_LEN])
{
	struct vb_vendor_msg m;
	struct vb_mad_hdr h;

	vb_mad_hdr_parse(&h, mad);
	if ((h.method != VB_MAD_METHOD_GET && h.method != VB_MAD_METHOD_SET) ||
	    !may_answer(a, &path->sgid, now))
		return false;
	if (vb_vendor_parse(&m, mad)) {
		refuse_request(mad, &h, answer);
		return true;
	}
	m.is_response = true;
	m.status = 0;
	if (m.attr == VB_VENDOR_ADAPTER)
		tell_adapter(slots, path->port, &m.adapter);
	else
		tell_qp(slots, &path->sgid, now, &m.qp);
	vb_vendor_emit(&m, answer);
	return true;
}
