/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sender of messages of several MADs: segments up to the end of the window, then it waits for
 * an ACK, which moves the window on. When none comes it goes on behind what was acknowledged last;
 * when the receiver acknowledges less than the whole window, the segment that it misses is sent
 * again alone. IBA 13.6.3, 13.6.4; items MAD-19, MAD-21
 */
#include "base/assert.h"
#include "mgmt/agents/priv.h"

#include <errno.h>
#include <string.h>

#define ACK_WAIT_MAX_MS 2000

static uint32_t segment_room(const struct vb_rmpp_out *o)
{
	return VB_MAD_LEN - o->hdr_len;
}

/* Bytes of zeros behind the data of the last segment. */
static uint32_t segment_pad(const struct vb_rmpp_out *o)
{
	return o->cnt * segment_room(o) - o->data_len;
}

/* The last segment that may be sent now. */
static uint32_t window_end(const struct vb_rmpp_out *o)
{
	return o->window < o->cnt ? o->window : o->cnt;
}

int vb_rmpp_send_begin(struct vb_agents *a, struct vb_mad_send *s, const uint8_t *data,
		       uint32_t len, uint32_t window)
{
	struct vb_rmpp_out *o = &s->rmpp;
	uint32_t room;

	*o = (struct vb_rmpp_out){
	    .hdr_len = vb_mad_class_hdr_len(s->hdr.mgmt_class), .data_len = len, .window = window};
	room = segment_room(o);
	o->cnt = len ? (len + room - 1) / room : 1;
	VB_ASSERT_ALL(segment_pad(o) <= room);
	if (len > 0) {
		s->packet.bytes = vb_agents_alloc(a, len);
		if (!s->packet.bytes)
			return -ENOMEM;
		memcpy(s->packet.bytes, data, len);
	}
	memset(s->mad + o->hdr_len, 0, room);
	return 0;
}

static void segment_emit(const struct vb_mad_send *s, uint32_t segment, uint8_t mad[VB_MAD_LEN])
{
	const struct vb_rmpp_out *o = &s->rmpp;
	uint32_t at = (segment - 1) * segment_room(o), len = segment_room(o);
	struct vb_rmpp r = {.version = VB_RMPP_VERSION,
			    .type = VB_RMPP_DATA,
			    .flags = VB_RMPP_ACTIVE,
			    .segment = segment};

	if (segment == 1) {
		r.flags |= VB_RMPP_FIRST;
		r.length = o->cnt * VB_RMPP_DATA_LEN - segment_pad(o);
	}
	if (segment == o->cnt) {
		r.flags |= VB_RMPP_LAST;
		r.length = VB_RMPP_DATA_LEN - segment_pad(o);
		len -= segment_pad(o);
	}
	VB_ASSERT(segment >= 1 && segment <= o->cnt && at + len <= o->data_len);
	memcpy(mad, s->mad, VB_MAD_LEN);
	vb_rmpp_emit(&r, mad);
	if (len > 0)
		memcpy(mad + o->hdr_len, s->packet.bytes + at, len);
}

void vb_rmpp_send_next(struct vb_agents *a, struct vb_mad_send *s, uint8_t mad[VB_MAD_LEN],
		       vb_time now)
{
	struct vb_rmpp_out *o = &s->rmpp;
	uint32_t wait_ms = s->packet.msg.timeout_ms;

	if (o->missing) {
		segment_emit(s, o->missing, mad);
		o->resent = o->missing;
		o->missing = 0;
	} else {
		assert(o->sent < window_end(o));
		segment_emit(s, ++o->sent, mad);
	}
	/* Those of other messages go between these. */
	vb_list_remove(&s->tx);
	if (o->sent < window_end(o))
		vb_mad_send_due(a, s);
	if (wait_ms == 0 || wait_ms > ACK_WAIT_MAX_MS)
		wait_ms = ACK_WAIT_MAX_MS;
	vb_heap_set(&a->timers, &s->timer.node, vb_time_after(now, wait_ms * VB_MSEC));
}

/* Tells the receiver of a message that no more of it comes. IBA 13.6.2.4; MAD-21 */
static void message_abandon(struct vb_agents *a, const struct vb_mad_send *s)
{
	const struct vb_rmpp r = {.type = VB_RMPP_ABORT, .status = VB_RMPP_TOO_MANY_RETRIES};
	struct vb_mad_hdr h = s->hdr;
	uint8_t ack[VB_MAD_LEN];

	/* It is a word of the sender, and so the reply to what the receiver would have said. */
	h.method ^= VB_MAD_METHOD_RESPONSE;
	memcpy(ack, s->mad, sizeof ack);
	vb_mad_hdr_emit(&h, ack);
	vb_rmpp_reply(a, s->agent, &s->packet.msg.addr, ack, &r);
}

void vb_rmpp_send_expire(struct vb_agents *a, struct vb_mad_send *s)
{
	struct vb_rmpp_out *o = &s->rmpp;

	VB_ASSERT_ALL(o->acked <= o->sent && o->sent <= o->cnt);
	/* Nothing is repeated when only the answer is missing. */
	if (o->acked == o->cnt || s->retries_left == 0) {
		if (o->acked < o->cnt)
			message_abandon(a, s);
		vb_mad_send_give_up(a, s);
		return;
	}
	s->retries_left--;
	a->cnt.tx_retries++;
	o->sent = o->acked;
	o->resent = 0;
	/* Of a window that is closed: the last segment draws the receiver's ACK again. */
	o->missing = o->sent < window_end(o) ? 0 : o->acked;
	vb_mad_send_due(a, s);
}

/* The message @h belongs to ends, and its writer hears nothing of it. MAD-21 */
static void message_abort(struct vb_agents *a, struct vb_agent *g, const struct vb_mad_hdr *h,
			  const struct vb_mad_addr *from)
{
	struct vb_mad_send *s = vb_mad_send_find(g, h, from);

	if (s && s->rmpp.acked < s->rmpp.cnt)
		vb_mad_send_free(a, s);
}

/* Tells the peer that it is ended for @status. */
static void message_refuse(struct vb_agents *a, struct vb_agent *g, const struct vb_mad_addr *from,
			   const uint8_t mad[VB_MAD_LEN], enum vb_rmpp_status status)
{
	const struct vb_rmpp r = {.type = VB_RMPP_ABORT, .status = status};

	vb_rmpp_reply(a, g, from, mad, &r);
}

/* The error in an ACK; 0: none. */
static uint8_t ack_fault(const struct vb_mad_send *s, const struct vb_rmpp *r)
{
	if (r->status != 0)
		return VB_RMPP_BAD_STATUS;
	if (r->length < r->segment)
		return VB_RMPP_WINDOW_BEFORE_SEGMENT;
	if (s && s->rmpp.acked < s->rmpp.cnt &&
	    (r->segment > s->rmpp.cnt || r->segment > s->rmpp.window))
		return VB_RMPP_SEGMENT_BEYOND_WINDOW;
	return 0;
}

/* All segments have arrived: tells the peer that its answer may begin. IBA 13.6.3.1 */
static void turn_around(struct vb_agents *a, struct vb_agent *g, const struct vb_mad_addr *from,
			const uint8_t mad[VB_MAD_LEN])
{
	const struct vb_rmpp r = {.type = VB_RMPP_ACK, .length = 1};

	vb_rmpp_reply(a, g, from, mad, &r);
}

/* Part of the message has arrived. */
static void ack_take(struct vb_agents *a, struct vb_mad_send *s, const struct vb_rmpp *r)
{
	struct vb_rmpp_out *o = &s->rmpp;
	bool same_window = r->length == o->window;

	if (r->length < o->window || r->segment < o->acked)
		return; /* an old one */
	if (r->segment > o->acked)
		s->retries_left = s->packet.msg.retries;
	o->acked = r->segment;
	o->window = r->length;
	if (o->sent < o->acked)
		o->sent = o->acked;
	if (o->missing <= o->acked)
		o->missing = 0;
	/* The whole window has left, and the receiver has not got all of it. */
	if (same_window && o->acked < o->sent && o->sent == window_end(o) &&
	    o->resent != o->acked + 1)
		o->missing = o->acked + 1;
	VB_ASSERT_ALL(o->acked <= o->sent && o->sent <= window_end(o) && o->missing <= o->cnt);
	if (o->missing || o->sent < window_end(o))
		vb_mad_send_due(a, s);
	else
		vb_list_remove(&s->tx);
}

static void ack_handle(struct vb_agents *a, struct vb_agent *g, const struct vb_mad_addr *from,
		       const uint8_t mad[VB_MAD_LEN], const struct vb_rmpp *r, vb_time now)
{
	struct vb_mad_hdr h;
	struct vb_mad_send *s;
	bool whole;

	vb_mad_hdr_parse(&h, mad);
	s = vb_mad_send_find(g, &h, from);
	if (!s || s->rmpp.cnt == 0) {
		if (r->segment == 0)
			vb_rmpp_receive_reply_window(g, &h, from, r->length);
		return;
	}
	whole = s->rmpp.acked == s->rmpp.cnt;
	if (whole && r->segment == 0)
		return; /* a turn-around itself: two of them would go on for ever */
	if (!whole) {
		ack_take(a, s, r);
		if (s->rmpp.acked < s->rmpp.cnt)
			return;
		vb_list_remove(&s->tx);
		if (s->packet.msg.timeout_ms == 0) {
			vb_mad_send_free(a, s);
			return;
		}
		vb_mad_send_wait(a, s, now);
	}
	turn_around(a, g, from, mad);
}

/* A STOP or an ABORT: the status that is not one of it; 0: none. */
static uint8_t end_fault(const struct vb_rmpp *r)
{
	bool good = r->type == VB_RMPP_STOP
			? r->status == VB_RMPP_NO_RESOURCES
			: r->status >= VB_RMPP_TOO_LONG && r->status <= VB_RMPP_UNSPECIFIED;

	return good ? 0 : VB_RMPP_BAD_STATUS;
}

void vb_rmpp_send_control(struct vb_agents *a, struct vb_agent *g, const struct vb_mad_addr *from,
			  const uint8_t mad[VB_MAD_LEN], const struct vb_rmpp *r, vb_time now)
{
	struct vb_mad_hdr h;
	uint8_t fault;

	vb_mad_hdr_parse(&h, mad);
	if (r->version != VB_RMPP_VERSION)
		fault = VB_RMPP_BAD_VERSION;
	else if (r->type == VB_RMPP_ACK)
		fault = ack_fault(vb_mad_send_find(g, &h, from), r);
	else if (r->type == VB_RMPP_STOP || r->type == VB_RMPP_ABORT)
		fault = end_fault(r);
	else
		fault = VB_RMPP_BAD_TYPE;
	if (fault == 0 && r->type == VB_RMPP_ACK) {
		ack_handle(a, g, from, mad, r, now);
		return;
	}
	message_abort(a, g, &h, from);
	if (r->type == VB_RMPP_STOP || r->type == VB_RMPP_ABORT)
		vb_rmpp_receive_abort(a, g, &h, from);
	if (fault != 0)
		message_refuse(a, g, from, mad, fault);
}
