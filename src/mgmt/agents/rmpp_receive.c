/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The receiver of messages of several MADs: puts segments together in any order, and acknowledges
 * the first one, the end of each window, the last one and repeated ones; also when the end of a
 * window has come and segments before it are missing, which tells the sender what to repeat. IBA
 * 13.6.3, 13.6.4; items MAD-20, MAD-21
 */
#include "base/assert.h"
#include "mgmt/agents/priv.h"

#include <string.h>

#define WINDOW 64
#define MISSING_MAX (40 * VB_SEC) /* without a new segment, then the message is given up */
#define KEPT_FOR (10 * VB_SEC)    /* after its end, for ACKs that were lost */
#define CAPACITY_FIRST 4096u

static bool message_is_request(const struct vb_rmpp_in *in)
{
	return !vb_mad_is_response(&in->hdr);
}

static bool message_is_same(const struct vb_rmpp_in *in, const struct vb_mad_hdr *h,
			    const struct vb_mad_addr *from)
{
	return in->hdr.tid == h->tid && in->hdr.mgmt_class == h->mgmt_class &&
	       in->hdr.class_version == h->class_version && in->hdr.method == h->method &&
	       in->from.qpn == from->qpn && in->from.lid == from->lid &&
	       in->from.has_grh == from->has_grh &&
	       (!from->has_grh || memcmp(in->from.gid, from->gid, sizeof from->gid) == 0);
}

static struct vb_rmpp_in *message_find_in(const struct vb_list *list, const struct vb_mad_hdr *h,
					  const struct vb_mad_addr *from)
{
	for (struct vb_list *l = list->next; l != list; l = l->next) {
		struct vb_rmpp_in *in = vb_container_of(l, struct vb_rmpp_in, of_agent);

		if (message_is_same(in, h, from))
			return in;
	}
	return NULL;
}

static struct vb_rmpp_in *message_find(const struct vb_agent *g, const struct vb_mad_hdr *h,
				       const struct vb_mad_addr *from)
{
	struct vb_rmpp_in *in = message_find_in(&g->receiving, h, from);

	return in ? in : message_find_in(&g->received, h, from);
}

static void capacity_account(struct vb_agents *a, struct vb_rmpp_in *in, uint32_t capacity)
{
	if (message_is_request(in))
		a->request_memory += (size_t)capacity - in->capacity;
	in->capacity = capacity;
}

/* It is complete or given up: nothing more of it is received. */
static void receiving_end(struct vb_agents *a, struct vb_rmpp_in *in)
{
	vb_list_remove(&in->of_agent);
	capacity_account(a, in, 0);
	VB_ASSERT_ALL(!message_is_request(in) || in->agent->request_cnt > 0);
	if (message_is_request(in))
		in->agent->request_cnt--;
}

void vb_rmpp_receive_end(struct vb_agents *a, struct vb_rmpp_in *in)
{
	if (in->packet) {
		receiving_end(a, in);
		vb_mad_packet_free(a, in->packet);
	} else {
		vb_list_remove(&in->of_agent);
		VB_ASSERT_ALL(in->agent->received_cnt > 0);
		in->agent->received_cnt--;
	}
	vb_agents_timer_remove(a, &in->timer);
	vb_agents_free(a, in);
}

static struct vb_rmpp_in *message_begin(struct vb_agents *a, struct vb_agent *g,
					const struct vb_mad_hdr *h, const struct vb_mad_addr *from,
					const uint8_t mad[VB_MAD_LEN])
{
	struct vb_rmpp_in *in;

	if (!vb_mad_is_response(h) && g->request_cnt == VB_RMPP_REQUESTS)
		return NULL;
	in = vb_agents_alloc(a, sizeof *in);
	if (!in)
		return NULL;
	in->packet = vb_mad_packet_create(a, mad);
	if (!in->packet || vb_agents_timer_add(a, &in->timer, VB_AGENTS_RECEPTION)) {
		if (in->packet)
			vb_mad_packet_free(a, in->packet);
		vb_agents_free(a, in);
		return NULL;
	}
	in->agent = g;
	in->hdr = *h;
	in->from = *from;
	in->window = 1;
	in->reply_window = 1;
	in->packet->msg.agent = g->id;
	in->packet->msg.addr = *from;
	vb_list_append(&g->receiving, &in->of_agent);
	if (message_is_request(in))
		g->request_cnt++;
	return in;
}

static uint32_t segment_room(const struct vb_rmpp_in *in)
{
	return VB_MAD_LEN - vb_mad_class_hdr_len(in->hdr.mgmt_class);
}

/* Where the data of a segment begins in the message. */
static uint64_t segment_at(const struct vb_rmpp_in *in, uint32_t segment)
{
	return vb_mad_class_hdr_len(in->hdr.mgmt_class) +
	       (uint64_t)(segment - 1) * segment_room(in);
}

static bool message_is_too_long(const struct vb_rmpp_in *in, uint32_t segment)
{
	uint64_t end = segment_at(in, segment) + segment_room(in);

	return end > (message_is_request(in) ? VB_RMPP_REQUEST_MAX : VB_MAD_MESSAGE_MAX);
}

/* Makes room for @end bytes. False: there is none now. */
static bool message_grow(struct vb_agents *a, struct vb_rmpp_in *in, uint32_t end)
{
	uint32_t capacity = in->capacity ? in->capacity : CAPACITY_FIRST;
	uint8_t *bytes;

	if (end <= in->capacity)
		return true;
	while (capacity < end)
		capacity *= 2;
	if (message_is_request(in) &&
	    a->request_memory + capacity > a->cfg.memory_max / VB_RMPP_REQUESTS_PART)
		return false;
	bytes = vb_agents_alloc(a, capacity);
	if (!bytes)
		return false;
	if (in->packet->bytes)
		memcpy(bytes, in->packet->bytes, in->capacity);
	vb_agents_free(a, in->packet->bytes);
	in->packet->bytes = bytes;
	capacity_account(a, in, capacity);
	return true;
}

/* Copies a segment to its place; the first one with its headers. */
static bool segment_store(struct vb_agents *a, struct vb_rmpp_in *in, const uint8_t mad[VB_MAD_LEN],
			  uint32_t segment)
{
	uint32_t room = segment_room(in), at = (uint32_t)segment_at(in, segment);

	if (!message_grow(a, in, at + room)) {
		a->cnt.rx_no_room++;
		return false;
	}
	VB_ASSERT(segment >= 1 && at + room <= in->capacity);
	if (segment == 1)
		memcpy(in->packet->bytes, mad, VB_MAD_LEN);
	else
		memcpy(in->packet->bytes + at, mad + VB_MAD_LEN - room, room);
	return true;
}

/* Notes that a segment ahead of the order, or the next one, is there, and moves on. */
static void segment_note(struct vb_rmpp_in *in, uint32_t segment)
{
	VB_ASSERT_ALL(segment > in->segment && segment - in->segment <= WINDOW);
	if (segment > in->segment + 1) {
		in->ahead |= UINT64_C(1) << (segment - in->segment - 2);
		return;
	}
	in->segment++;
	while (in->ahead & 1) {
		in->ahead >>= 1;
		in->segment++;
	}
	in->ahead >>= 1; /* the next one is not there */
}

static bool segment_is_new(const struct vb_rmpp_in *in, uint32_t segment)
{
	if (segment <= in->segment + 1)
		return segment == in->segment + 1;
	return !(in->ahead >> (segment - in->segment - 2) & 1);
}

/* The end of what may be sent has come, but not all before it. */
static bool gap_is_certain(const struct vb_rmpp_in *in)
{
	uint32_t end = in->last ? in->last : in->window;

	return in->ahead && end >= in->segment + 2 && end - in->segment - 2 < WINDOW &&
	       (in->ahead >> (end - in->segment - 2) & 1);
}

static void message_ack(struct vb_agents *a, struct vb_rmpp_in *in, const uint8_t mad[VB_MAD_LEN])
{
	const struct vb_rmpp r = {
	    .type = VB_RMPP_ACK, .segment = in->segment, .length = in->window};

	in->acked = in->segment;
	vb_rmpp_reply(a, in->agent, &in->from, mad, &r);
}

static void message_end(struct vb_agents *a, struct vb_agent *g, const struct vb_mad_addr *from,
			const uint8_t mad[VB_MAD_LEN], enum vb_rmpp_type type,
			enum vb_rmpp_status status)
{
	const struct vb_rmpp r = {.type = type, .status = status};

	vb_rmpp_reply(a, g, from, mad, &r);
}

/* Bytes of the whole message. The last segment's payload length counts what is behind the header of
 * RMPP. */
static uint32_t message_len(const struct vb_rmpp_in *in)
{
	uint32_t room = segment_room(in);
	uint32_t pad = in->last_length < VB_RMPP_DATA_LEN ? VB_RMPP_DATA_LEN - in->last_length : 0;

	return (uint32_t)segment_at(in, in->last) + room - (pad < room ? pad : room);
}

static struct vb_mad_packet *message_complete(struct vb_agents *a, struct vb_rmpp_in *in,
					      vb_time now)
{
	struct vb_mad_packet *p = in->packet;
	struct vb_agent *g = in->agent;

	receiving_end(a, in);
	p->msg.mad = p->bytes;
	p->msg.len = message_len(in);
	in->packet = NULL;
	VB_ASSERT_ALL(p->msg.len <= VB_MAD_MESSAGE_MAX);
	VB_ASSERT_ALL(g->received_cnt <= VB_RMPP_RECEIVED);
	if (g->received_cnt == VB_RMPP_RECEIVED)
		vb_rmpp_receive_end(a,
				    vb_container_of(g->received.next, struct vb_rmpp_in, of_agent));
	vb_list_append(&g->received, &in->of_agent);
	g->received_cnt++;
	vb_heap_set(&a->timers, &in->timer.node, vb_time_after(now, KEPT_FOR));
	return p;
}

/* A segment that is new was stored: acknowledges it when it is time to. */
static struct vb_mad_packet *segment_taken(struct vb_agents *a, struct vb_rmpp_in *in,
					   const uint8_t mad[VB_MAD_LEN], uint32_t segment,
					   vb_time now)
{
	uint32_t before = in->segment;

	segment_note(in, segment);
	VB_ASSERT_ALL(in->segment <= in->window && in->window - in->segment <= WINDOW);
	VB_ASSERT_ALL(in->acked <= in->segment);
	vb_heap_set(&a->timers, &in->timer.node, vb_time_after(now, MISSING_MAX));
	if (in->segment == in->last) {
		message_ack(a, in, mad);
		return message_complete(a, in, now);
	}
	if (in->segment == in->window) {
		in->window += WINDOW;
		message_ack(a, in, mad);
	} else if (gap_is_certain(in) &&
		   (in->segment > before || segment == in->window || segment == in->last)) {
		message_ack(a, in, mad);
	}
	return NULL;
}

/* Notes what the first segment and the last one say of lengths. */
static void segment_lengths(struct vb_rmpp_in *in, const struct vb_rmpp *r)
{
	if (r->flags & VB_RMPP_LAST) {
		in->last = r->segment;
		in->last_length = r->length;
	}
	/* Of a message of one segment both are one field. */
	if (r->segment == 1 && !(r->flags & VB_RMPP_LAST))
		in->first_length = r->length;
}

/* The last segment says that it is longer than a segment is, or the first one told another length
 * of the whole. IBA 13.6.2.1; MAD-21 */
static bool lengths_differ(const struct vb_rmpp_in *in)
{
	if (in->last == 0)
		return false;
	return in->last_length > VB_RMPP_DATA_LEN ||
	       (in->first_length != 0 &&
		in->first_length != (uint64_t)(in->last - 1) * VB_RMPP_DATA_LEN + in->last_length);
}

/* A contradiction of the segment itself; 0: none. */
static uint8_t segment_fault(const struct vb_rmpp *r)
{
	if (r->status != 0)
		return VB_RMPP_BAD_STATUS;
	return (r->segment == 1) == ((r->flags & VB_RMPP_FIRST) != 0) ? 0 : VB_RMPP_BAD_SEGMENT;
}

struct vb_mad_packet *vb_rmpp_receive(struct vb_agents *a, struct vb_agent *g,
				      const struct vb_mad_addr *from, const uint8_t mad[VB_MAD_LEN],
				      const struct vb_rmpp *r, vb_time now)
{
	uint8_t fault = segment_fault(r);
	bool last = r->flags & VB_RMPP_LAST;
	struct vb_rmpp_in *in;
	struct vb_mad_hdr h;

	if (fault) {
		message_end(a, g, from, mad, VB_RMPP_ABORT, fault);
		return NULL;
	}
	vb_mad_hdr_parse(&h, mad);
	in = message_find(g, &h, from);
	if (!in && r->segment == 1)
		in = message_begin(a, g, &h, from, mad);
	if (!in || r->segment > in->window)
		return NULL;
	if (!in->packet || r->segment <= in->acked) {
		message_ack(a, in, mad);
		return NULL;
	}
	if (!segment_is_new(in, r->segment) || (in->last && (r->segment > in->last || last)))
		return NULL;
	if (message_is_too_long(in, r->segment)) {
		message_end(a, g, from, mad, VB_RMPP_STOP, VB_RMPP_NO_RESOURCES);
		vb_rmpp_receive_end(a, in);
		return NULL;
	}
	if (!segment_store(a, in, mad, r->segment)) {
		if (in->segment == 0)
			vb_rmpp_receive_end(a, in);
		return NULL;
	}
	segment_lengths(in, r);
	if (lengths_differ(in)) {
		message_end(a, g, from, mad, VB_RMPP_ABORT, VB_RMPP_BAD_LENGTH);
		vb_rmpp_receive_end(a, in);
		return NULL;
	}
	return segment_taken(a, in, mad, r->segment, now);
}

bool vb_rmpp_receive_is_over(const struct vb_agent *g, const struct vb_mad_hdr *h,
			     const struct vb_mad_addr *from)
{
	return message_find_in(&g->received, h, from) != NULL;
}

void vb_rmpp_receive_reply_window(struct vb_agent *g, const struct vb_mad_hdr *h,
				  const struct vb_mad_addr *from, uint32_t window)
{
	struct vb_rmpp_in *in = message_find_in(&g->received, h, from);

	if (in)
		in->reply_window = window ? window : 1;
}

uint32_t vb_rmpp_first_window(const struct vb_agent *g, const struct vb_mad_hdr *h,
			      const struct vb_mad_addr *to)
{
	struct vb_mad_hdr request = *h;

	if (!(h->method & VB_MAD_METHOD_RESPONSE))
		return 1;
	for (struct vb_list *l = g->received.next; l != &g->received; l = l->next) {
		struct vb_rmpp_in *in = vb_container_of(l, struct vb_rmpp_in, of_agent);

		request.method = in->hdr.method & 0x7f;
		if (message_is_same(in, &request, to))
			return in->reply_window;
	}
	return 1;
}

void vb_rmpp_receive_abort(struct vb_agents *a, struct vb_agent *g, const struct vb_mad_hdr *h,
			   const struct vb_mad_addr *from)
{
	struct vb_rmpp_in *in = message_find_in(&g->receiving, h, from);

	if (in)
		vb_rmpp_receive_end(a, in);
}

void vb_rmpp_receive_expire(struct vb_agents *a, struct vb_rmpp_in *in)
{
	if (in->packet)
		message_end(a, in->agent, &in->from, in->packet->bytes, VB_RMPP_ABORT,
			    VB_RMPP_TOO_LONG);
	vb_rmpp_receive_end(a, in);
}
