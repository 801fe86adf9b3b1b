/* SPDX-License-Identifier: BSD-2-Clause */
/* The first cause that breaks a path, see path.h. */
#include "explain/path/path.h"

#include "fabric/ib/link_state.h"
#include "wire/mad/smp.h"
#include "wire/pkey.h"

#include <assert.h>
#include <string.h>

#define VL_MGMT 15
/* Credits come back in microseconds on a link at work, and a few hundred times later where it is
 * slowed down; a program that takes nothing is waited for a tenth of a second. */
#define STALL_NS (20 * VB_MSEC)

static void text_heal(char *text, size_t size)
{
	text[size - 1] = 0;
	for (char *p = text; *p; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
}

/* Any byte but 0 and 1 is no bool of the language. */
static void bool_heal(bool *b)
{
	uint8_t byte;

	memcpy(&byte, b, sizeof byte);
	*b = byte != 0;
}

static void mtu_heal(uint8_t *code)
{
	if (*code > VB_MTU_4096)
		*code = 0;
}

void vb_path_port_heal(struct vb_path_port *p)
{
	text_heal(p->node, sizeof p->node);
	mtu_heal(&p->mtu);
	bool_heal(&p->has_cable);
	bool_heal(&p->is_plugged);
	bool_heal(&p->is_away);
	bool_heal(&p->enforces_in);
	bool_heal(&p->enforces_out);
	bool_heal(&p->has_mkey);
	bool_heal(&p->has_refused);
}

void vb_path_heal(struct vb_path_view *v)
{
	text_heal(v->fabric, sizeof v->fabric);
	text_heal(v->manager.node, sizeof v->manager.node);
	mtu_heal(&v->mtu);
	mtu_heal(&v->mtu_found);
	bool_heal(&v->has_grh);
	bool_heal(&v->has_owner);
	bool_heal(&v->no_router);
	vb_path_port_heal(&v->from);
	vb_path_port_heal(&v->to);
	vb_path_port_heal(&v->at);
	if (v->hop_cnt > VB_PATH_HOPS_MAX + 1)
		v->hop_cnt = VB_PATH_HOPS_MAX + 1;
	if (v->stopped_cnt > VB_PATH_PROGRAMS)
		v->stopped_cnt = VB_PATH_PROGRAMS;
	for (uint32_t i = 0; i < v->stopped_cnt; i++)
		text_heal(v->stopped[i].comm, sizeof v->stopped[i].comm);
	for (uint32_t i = 0; i < v->hop_cnt; i++) {
		vb_path_port_heal(&v->hop[i].out);
		vb_path_port_heal(&v->hop[i].in);
	}
	/* These ends are told by the last link. */
	if (v->end >= VB_PATH_END_CNT ||
	    (v->hop_cnt == 0 && (v->end == VB_PATH_SENT_NOT || v->end == VB_PATH_RECEIVED_NOT ||
				 v->end == VB_PATH_BARRED_OUT || v->end == VB_PATH_BARRED_IN ||
				 v->end == VB_PATH_NO_COPY || v->end == VB_PATH_NO_TREE)))
		v->end = VB_PATH_END_CNT;
}

/* Of a link that is down. */
static enum vb_path_cause why_down(const struct vb_path_port *p)
{
	if (!p->is_plugged)
		return VB_PATH_CAUSE_UNPLUGGED;
	return p->phys == VB_PHYS_DISABLED ? VB_PATH_CAUSE_DISABLED : VB_PATH_CAUSE_DOWN;
}

enum vb_path_cause vb_path_judge_link(const struct vb_path_port *p,
				      const struct vb_path_manager *manager)
{
	if (!p->has_cable)
		return VB_PATH_CAUSE_NO_CABLE;
	switch (p->state) {
	case VB_LINK_ACTIVE:
		return VB_PATH_CAUSE_WELL;
	case VB_LINK_INIT:
		if (!manager->node[0])
			return VB_PATH_CAUSE_NO_MANAGER;
		/* A manager asks its own node first. */
		return manager->refused || (p->has_mkey && p->mkey_violations) ? VB_PATH_CAUSE_M_KEY
									       : VB_PATH_CAUSE_INIT;
	case VB_LINK_ARMED:
		return VB_PATH_CAUSE_ARMED;
	case VB_LINK_ACT_DEFER:
		return VB_PATH_CAUSE_RECOVERS;
	default:
		return why_down(p);
	}
}

static void set_place(struct vb_path_verdict *out, enum vb_path_cause cause,
		      const struct vb_path_port *at)
{
	out->cause = cause;
	out->at = *at;
}

static void set_hop(struct vb_path_verdict *out, enum vb_path_cause cause,
		    const struct vb_path_hop *h)
{
	set_place(out, cause, &h->out);
	out->far = h->in;
	out->in_port = h->in_port;
	out->vl = h->vl;
	out->stalled = h->stalled;
}

/* A port of a switch or an adapter on the way, or port 0 of a switch, has to be ACTIVE. */
static bool link_breaks(const struct vb_path_view *v, const struct vb_path_port *p,
			const struct vb_path_port *far, struct vb_path_verdict *out)
{
	enum vb_path_cause why = vb_path_judge_link(p, &v->manager);

	/* Both ends of a link are down: the one says why that was told to be. */
	if (why == VB_PATH_CAUSE_DOWN && far && far->phys == VB_PHYS_DISABLED) {
		set_place(out, VB_PATH_CAUSE_DISABLED, far);
		out->far = *p;
		return true;
	}
	if (why == VB_PATH_CAUSE_WELL)
		return false;
	set_place(out, why, p);
	if (far)
		out->far = *far;
	return true;
}

static bool is_end_port_zero(const struct vb_path_port *p)
{
	return p->type == VB_NODE_SWITCH && p->number == 0;
}

/* The link that a packet could not take. */
static void judge_sent(const struct vb_path_view *v, struct vb_path_verdict *out)
{
	const struct vb_path_hop *h = &v->hop[v->hop_cnt - 1];

	if (v->hop_cnt > VB_PATH_HOPS_MAX) {
		set_hop(out, VB_PATH_CAUSE_TOO_LONG, h);
		/* A packet that leaves by one port twice goes around for ever. */
		for (uint32_t i = 0; i + 1 < v->hop_cnt; i++)
			if (v->hop[i].out.number == h->out.number &&
			    strcmp(v->hop[i].out.node, h->out.node) == 0)
				out->cause = VB_PATH_CAUSE_LOOP;
		return;
	}
	set_hop(out, VB_PATH_CAUSE_UNKNOWN, h);
	if (link_breaks(v, &h->out, &h->in, out))
		return;
	if (h->vl == VL_MGMT)
		out->cause = VB_PATH_CAUSE_SL_VL15;
	else if (h->vl >= h->out.lane_cnt)
		out->cause = VB_PATH_CAUSE_SL_LANE;
	else if (v->mtu > h->out.mtu)
		out->cause = VB_PATH_CAUSE_MTU;
	else if (h->out.is_away)
		out->cause = VB_PATH_CAUSE_AWAY;
}

static void judge_entry(const struct vb_path_view *v, struct vb_path_verdict *out)
{
	set_place(out, VB_PATH_CAUSE_NO_ENTRY, &v->at);
	if (!v->has_owner)
		out->cause = VB_PATH_CAUSE_NO_SUCH_LID;
	else if (v->dlid > v->at_top)
		out->cause = VB_PATH_CAUSE_ABOVE_TOP;
	else if (v->entry == VB_PATH_NO_PORT)
		return;
	else if (v->entry == v->at.number)
		out->cause = VB_PATH_CAUSE_BACK;
	else if (v->entry > v->at_port_cnt)
		out->cause = VB_PATH_CAUSE_BAD_ENTRY;
}

/* The table has a P_Key of the partition, so that it is membership that lacks. */
static bool is_of_partition(const struct vb_path_port *p, uint16_t pkey)
{
	bool is = false;

	for (uint32_t i = 0; i < VB_PATH_PKEYS; i++)
		is |= vb_pkey_is_valid(pkey) && ((p->pkey[i] ^ pkey) & 0x7fff) == 0;
	return is;
}

/* The packet got there: what the receiver makes of it. */
static void judge_receiver(const struct vb_path_view *v, struct vb_path_verdict *out)
{
	const struct vb_path_hop *worst = NULL;

	if (strcmp(v->at.node, v->to.node) != 0) {
		set_place(out, VB_PATH_CAUSE_OTHER_NODE, &v->at);
		return;
	}
	if (!is_end_port_zero(&v->to) && !vb_pkey_passes(v->to.pkey, VB_PATH_PKEYS, v->pkey)) {
		set_place(out,
			  is_of_partition(&v->to, v->pkey) ? VB_PATH_CAUSE_PKEY_LIMITED
							   : VB_PATH_CAUSE_PKEY_RECEIVER,
			  &v->to);
		return;
	}
	if (v->stopped_cnt) {
		set_place(out, VB_PATH_CAUSE_STOPPED, &v->to);
		return;
	}
	/* Of lanes that wait for each other the last one is held back by the receiver. */
	for (uint32_t i = 0; i < v->hop_cnt; i++)
		if (v->hop[i].stalled >= STALL_NS)
			worst = &v->hop[i];
	if (worst)
		set_hop(out, VB_PATH_CAUSE_CREDITS, worst);
}

/* Nothing was sent: no LID is known for it. */
static void judge_unsent(const struct vb_path_view *v, struct vb_path_verdict *out)
{
	if (v->no_router) {
		set_place(out, VB_PATH_CAUSE_NO_ROUTER, &v->from);
		return;
	}
	set_place(out, VB_PATH_CAUSE_NO_LID, &v->to);
	if (!is_end_port_zero(&v->to))
		(void)link_breaks(v, &v->to, NULL, out);
}

/* The end of a way that does not get to an adapter, or to port 0 of a switch. */
static void judge_end(const struct vb_path_view *v, struct vb_path_verdict *out)
{
	const struct vb_path_hop *last = &v->hop[v->hop_cnt ? v->hop_cnt - 1 : 0];

	switch (v->end) {
	case VB_PATH_ARRIVES:
		break;
	case VB_PATH_NO_LID:
		judge_unsent(v, out);
		break;
	case VB_PATH_ELSEWHERE:
		set_place(out, VB_PATH_CAUSE_ELSEWHERE, &v->at);
		break;
	case VB_PATH_NO_WAY:
		judge_entry(v, out);
		break;
	case VB_PATH_SENT_NOT:
		judge_sent(v, out);
		break;
	case VB_PATH_RECEIVED_NOT:
		set_place(out, VB_PATH_CAUSE_UNKNOWN, &last->in);
		(void)link_breaks(v, &last->in, &last->out, out);
		break;
	case VB_PATH_BARRED_OUT:
		set_hop(out,
			is_of_partition(&last->out, v->pkey) ? VB_PATH_CAUSE_PKEY_LIMITED
							     : VB_PATH_CAUSE_PKEY_OUT,
			last);
		break;
	case VB_PATH_BARRED_IN:
		set_place(out, VB_PATH_CAUSE_PKEY_IN, &last->in);
		out->far = last->out;
		break;
	case VB_PATH_NOT_ROUTED:
		set_place(out, VB_PATH_CAUSE_NOT_ROUTED, &v->at);
		break;
	case VB_PATH_HOPS_ENDED:
		set_place(out, VB_PATH_CAUSE_HOP_LIMIT, &v->at);
		break;
	case VB_PATH_NO_COPY:
		set_hop(out, VB_PATH_CAUSE_NO_COPY, last);
		break;
	case VB_PATH_NO_TREE:
		set_hop(out, VB_PATH_CAUSE_NO_TREE, last);
		break;
	default:
		out->cause = VB_PATH_CAUSE_UNKNOWN;
		break;
	}
}

static enum vb_explain_rank rank_of(enum vb_path_cause cause)
{
	switch (cause) {
	case VB_PATH_CAUSE_WELL:
	case VB_PATH_CAUSE_AWAY:
		return VB_RANK_WELL;
	case VB_PATH_CAUSE_STOPPED:
	case VB_PATH_CAUSE_CREDITS:
		return VB_RANK_STUCK;
	case VB_PATH_CAUSE_RECOVERS:
	case VB_PATH_CAUSE_ARMED:
	case VB_PATH_CAUSE_UNKNOWN:
		return VB_RANK_WAITING;
	default:
		return VB_RANK_FAILED;
	}
}

void vb_path_judge_way(const struct vb_path_view *v, struct vb_path_verdict *out)
{
	*out = (struct vb_path_verdict){.cause = VB_PATH_CAUSE_WELL};
	assert(v->hop_cnt <= VB_PATH_HOPS_MAX + 1);
	if (v->end == VB_PATH_NO_LID)
		set_place(out, VB_PATH_CAUSE_NO_LID, &v->to);
	else if (v->end == VB_PATH_ARRIVES && !vb_path_arrives(v))
		set_place(out, VB_PATH_CAUSE_OTHER_NODE, &v->at);
	else
		judge_end(v, out);
	if (v->no_router)
		set_place(out, VB_PATH_CAUSE_NO_ROUTER, &v->from);
	out->rank = rank_of(out->cause);
}

void vb_path_judge(const struct vb_path_view *v, struct vb_path_verdict *out)
{
	*out = (struct vb_path_verdict){.cause = VB_PATH_CAUSE_WELL};
	assert(v->hop_cnt <= VB_PATH_HOPS_MAX + 1);
	if (!link_breaks(v, &v->from, v->hop_cnt ? &v->hop[0].in : NULL, out)) {
		if (!vb_pkey_is_member(v->from.pkey, VB_PATH_PKEYS, v->pkey))
			set_place(out, VB_PATH_CAUSE_PKEY_SENDER, &v->from);
		else if (v->end == VB_PATH_ARRIVES)
			judge_receiver(v, out);
		else
			judge_end(v, out);
	}
	out->rank = rank_of(out->cause);
	assert(out->cause < VB_PATH_CAUSE_CNT);
}

uint32_t vb_path_links(const struct vb_path_view *v)
{
	bool stays = v->end == VB_PATH_SENT_NOT || v->end == VB_PATH_BARRED_OUT ||
		     v->end == VB_PATH_NO_COPY || v->end == VB_PATH_NO_TREE;

	return v->hop_cnt - (stays && v->hop_cnt ? 1 : 0);
}
