/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of a tunnel, see tunnel.h. LNK-20, LNK-31 */
#include "fabric/tunnel/tunnel.h"

#include "base/assert.h"

#include <string.h>

void vb_tunnel_init(struct vb_tunnel *t, uint64_t own)
{
	VB_ASSERT_ALL(own != 0);
	*t = (struct vb_tunnel){.own = own, .life = 1, .is_due = true};
}

static void flow_forget(struct vb_tunnel *t)
{
	memset(t->flow_silent, 0, sizeof t->flow_silent);
	t->flow_heard = 0;
}

void vb_tunnel_new_life(struct vb_tunnel *t)
{
	t->life++;
	t->is_due = true;
	flow_forget(t);
}

bool vb_tunnel_is_joined(const struct vb_tunnel *t)
{
	return t->is_met && t->mine.polls && t->theirs.polls && t->peer_heard_life == t->life;
}

/* A lane that has been silent for long is told of once. */
static bool lanes_wait(struct vb_tunnel *t, uint32_t lanes)
{
	bool is_silent = false;

	for (uint32_t vl = 0; vl < lanes; vl++) {
		if (t->flow_heard >> vl & 1)
			t->flow_silent[vl] = 0;
		else if (t->flow_silent[vl] < VB_TUNNEL_GONE)
			t->flow_silent[vl]++;
		is_silent |= t->flow_silent[vl] == VB_TUNNEL_WATCHDOG;
	}
	t->flow_heard = 0;
	return is_silent;
}

uint32_t vb_tunnel_tick(struct vb_tunnel *t, uint32_t lanes)
{
	uint32_t events = 0;

	VB_ASSERT_ALL(lanes <= VB_VL_DATA_MAX);
	t->is_due = true;
	if (!t->is_met)
		return 0;
	if (lanes == 0)
		flow_forget(t);
	else if (lanes_wait(t, lanes))
		events |= VB_TUNNEL_FLOW_SILENT;
	if (++t->silent < VB_TUNNEL_GONE)
		return events;
	t->is_met = false;
	t->silent = 0;
	t->theirs.polls = false;
	return events | VB_TUNNEL_LOST;
}

/* Another process is at the other end than before. */
static void peer_adopt(struct vb_tunnel *t, const struct vb_tunnel_hdr *h)
{
	VB_ASSERT_ALL(h->from != 0 && h->from != t->peer);
	t->past = t->peer;
	t->peer = h->from;
	t->is_met = false;
	t->heard = 0;
	t->peer_life = h->life;
	t->theirs = (struct vb_tunnel_hello){.polls = false};
}

/* The sender knows the number of this end, and so is the other one. */
static enum vb_tunnel_verdict peer_hear(struct vb_tunnel *t, const struct vb_tunnel_hdr *h,
					uint32_t *events)
{
	if (h->from == t->past)
		return VB_TUNNEL_LATE;
	if (h->from != t->peer) {
		/* The link to the process before is over, though nobody has noticed. */
		if (t->is_met)
			*events |= VB_TUNNEL_LOST;
		peer_adopt(t, h);
	}
	if (h->seq <= t->heard)
		return VB_TUNNEL_LATE;
	t->heard = h->seq;
	t->silent = 0;
	if (!t->is_met) {
		*events |= VB_TUNNEL_MET;
		t->is_due = true; /* it may not know yet that it is heard */
	}
	t->is_met = true;
	return VB_TUNNEL_COUNTS;
}

/* Each datagram brings the lives of both links, as its sender knows them. */
static void lives_hear(struct vb_tunnel *t, const struct vb_tunnel_hdr *h, uint32_t *events)
{
	if (h->life != t->peer_life) {
		*events |= VB_TUNNEL_RESTARTED;
		t->theirs.polls = false; /* until it says so again */
		t->is_due = true;
		flow_forget(t);
	}
	t->peer_life = h->life;
	t->peer_heard_life = h->peer_life;
}

static void body_hear(struct vb_tunnel *t, const struct vb_tunnel_hdr *h, const uint8_t *body,
		      uint32_t *events)
{
	struct vb_flow_packet f;

	if (h->kind == VB_TUNNEL_HELLO) {
		vb_tunnel_hello_parse(&t->theirs, body);
		*events |= VB_TUNNEL_SAID;
	}
	if (h->kind == VB_TUNNEL_FLOW && vb_flow_parse(&f, body) == 0)
		t->flow_heard |= (uint16_t)(1u << f.vl);
}

enum vb_tunnel_verdict vb_tunnel_receive(struct vb_tunnel *t, const uint8_t *in, uint32_t len,
					 struct vb_tunnel_hdr *h, uint32_t *events)
{
	enum vb_tunnel_verdict verdict;
	bool needs_link;

	if (vb_tunnel_hdr_parse(h, in, len)) {
		t->cnt[VB_TUNNEL_MALFORMED]++;
		return VB_TUNNEL_MALFORMED;
	}
	if (h->to != t->own) {
		/* It may be the other end, which has not heard our number yet, or an old one. */
		if (h->kind == VB_TUNNEL_HELLO)
			t->answer_to = h->from;
		t->cnt[VB_TUNNEL_FOREIGN] += h->kind != VB_TUNNEL_HELLO || h->to != 0;
		return VB_TUNNEL_FOREIGN;
	}
	verdict = peer_hear(t, h, events);
	if (verdict == VB_TUNNEL_COUNTS) {
		lives_hear(t, h, events);
		needs_link = h->kind == VB_TUNNEL_PACKET || h->kind == VB_TUNNEL_FLOW ||
			     h->kind == VB_TUNNEL_MAD;
		if (needs_link && !vb_tunnel_is_joined(t))
			verdict = VB_TUNNEL_STALE;
		else
			body_hear(t, h, in + VB_TUNNEL_HDR_LEN, events);
	}
	t->cnt[verdict]++;
	return verdict;
}

static void head_emit(struct vb_tunnel *t, enum vb_tunnel_kind kind, uint8_t hops, uint64_t to,
		      uint8_t *out)
{
	const struct vb_tunnel_hdr h = {.kind = (uint8_t)kind,
					.hops = hops,
					.from = t->own,
					.to = to,
					.seq = ++t->seq,
					.life = t->life,
					.peer_life = t->peer_life};

	VB_ASSERT_ALL(t->seq != 0);
	vb_tunnel_hdr_emit(&h, out);
}

void vb_tunnel_head(struct vb_tunnel *t, enum vb_tunnel_kind kind, uint8_t hops,
		    uint8_t out[VB_TUNNEL_HDR_LEN])
{
	head_emit(t, kind, hops, t->peer, out);
}

bool vb_tunnel_poll_hello(struct vb_tunnel *t, uint8_t *out)
{
	struct vb_tunnel_hello h = t->mine;

	if (!t->is_due && t->answer_to == 0)
		return false;
	/* An end that is not heard cannot have a link. */
	h.polls &= t->is_met;
	head_emit(t, VB_TUNNEL_HELLO, 0, t->answer_to ? t->answer_to : t->peer, out);
	vb_tunnel_hello_emit(&h, out + VB_TUNNEL_HDR_LEN);
	if (t->answer_to == 0)
		t->is_due = false;
	t->answer_to = 0;
	return true;
}
