/* SPDX-License-Identifier: BSD-2-Clause */
/* The queues and the serialiser of a port. See port.h. */
#include "fabric/port.h"

#include "base/assert.h"
#include "base/cold.h"
#include <assert.h>

#define NS_BITS UINT64_C(8000000000) /* ns per second times bits per byte */

void vb_port_init(struct vb_port *p, uint64_t rate_bps, struct vb_ready_list *ready)
{
	p->rate_bps = rate_bps;
	p->gap = VB_FRAME_GAP;
	p->ready.list = ready;
	p->pull_at = p->due = VB_NEVER;
}

static void depth_change(struct vb_port *p, vb_time now)
{
	vb_dur dt = now - p->depth_since;

	VB_ASSERT_ALL(now >= p->depth_since);
	p->stats.byte_ns += dt * p->depth;
	p->stats.pkt_ns += dt * p->depth_pkts;
	p->depth_since = now;
}

void vb_port_count_in(struct vb_port *p, uint32_t len, vb_time now)
{
	depth_change(p, now);
	p->depth += len;
	p->depth_pkts++;
	if (p->depth > p->stats.depth_max)
		p->stats.depth_max = p->depth;
}

void vb_port_count_out(struct vb_port *p, uint32_t len, vb_time now)
{
	depth_change(p, now);
	assert(p->depth >= len && p->depth_pkts > 0);
	p->depth -= len;
	p->depth_pkts--;
	VB_ASSERT_ALL(p->depth_pkts > 0 || p->depth == 0);
}

void vb_port_handle_packet(struct vb_port *p, struct vb_frame *f, vb_time now)
{
	struct vb_lane *q = &p->lane[f->prio];

	VB_ASSERT_ALL(f->prio < VB_PRIORITY_CNT && f->kind == VB_FRAME_DATA);
	vb_port_count_in(p, f->frame_len, now);
	vb_frame_fifo_push(&q->fifo, f);
	q->bytes += f->frame_len;
	p->waiting |= (uint8_t)(1u << f->prio);
}

static struct vb_frame *control_take(struct vb_port *p)
{
	struct vb_frame *f = p->control;

	p->control = f->next;
	return f;
}

/* A part of each of its callers: a call costs 0.5 % of the instructions of bench/simulator
 * fat-tree. */
__attribute__((always_inline)) static inline struct vb_frame *lane_take(struct vb_port *p,
									uint32_t prio, vb_time now)
{
	struct vb_lane *q = &p->lane[prio];
	struct vb_frame *f = vb_frame_fifo_pop(&q->fifo);

	assert(q->bytes >= f->frame_len && p->depth >= q->bytes);
	vb_port_count_out(p, f->frame_len, now);
	q->bytes -= f->frame_len;
	p->waiting =
	    (uint8_t)(p->waiting & ~(1u << prio)) | (uint8_t)((q->fifo.head != NULL) << prio);
	VB_ASSERT_ALL(q->fifo.head != NULL || q->bytes == 0);
	return f;
}

/* Bytes of a turn for each unit of weight. A turn of the least weight may be too short for a frame;
 * what it leaves is kept, so that the shares are right over some turns. */
#define QUANTUM 256u

/* The priority of @may, all with weights, that sends next. Shreedhar and Varghese, SIGCOMM 1995 */
static VB_APART uint32_t turn_find(struct vb_port *p, uint32_t may)
{
	VB_ASSERT_ALL(may != 0 && p->schedule);
	for (;;) {
		struct vb_lane *q = &p->lane[p->turn];

		if (may >> p->turn & 1 && q->deficit >= q->fifo.head->frame_len) {
			q->deficit -= q->fifo.head->frame_len;
			return p->turn;
		}
		if (!(p->waiting >> p->turn & 1))
			q->deficit = 0; /* who has nothing saves nothing */
		p->turn = (p->turn + 1) % VB_PRIORITY_CNT;
		if (may >> p->turn & 1)
			p->lane[p->turn].deficit += p->schedule->weight[p->turn] * QUANTUM;
	}
}

/* The priority of @may that sends next. */
static uint32_t priority_next(struct vb_port *p, uint32_t may)
{
	uint32_t strict = may;

	for (uint32_t i = 0; p->weighted && i < VB_PRIORITY_CNT; i++)
		if (p->schedule->weight[i])
			strict &= ~(1u << i);
	/* The highest first. */
	return strict ? 31u - (uint32_t)__builtin_clz(strict) : turn_find(p, may);
}

struct vb_frame *vb_port_poll_transmit(struct vb_port *p, vb_time now)
{
	uint32_t may = p->waiting & (uint32_t)~p->held;

	if (p->control)
		return control_take(p);
	if (may == 0)
		return NULL;
	return lane_take(p, priority_next(p, may), now);
}

VB_COLD struct vb_frame *vb_port_take(struct vb_port *p, uint8_t prio, vb_time now)
{
	return p->lane[prio].fifo.head ? lane_take(p, prio, now) : NULL;
}

void vb_port_serialise(struct vb_port *p, struct vb_frame *f, vb_time now)
{
	/* Exact on average: back to back, the fraction of a nanosecond goes over to the next. */
	uint64_t time = (f->frame_len + p->gap) * NS_BITS;

	VB_ASSERT_ALL(p->rate_bps > 0 && p->carry < p->rate_bps);
	assert(p->busy_until <= now);
	if (p->busy_until == now)
		time += p->carry;
	p->busy_until = now + time / p->rate_bps;
	p->carry = time % p->rate_bps;
	p->stats.tx_pkts++;
	p->stats.tx_bytes += f->frame_len;
	f->flight.at = p->busy_until;
}

void vb_port_wake(struct vb_port *p)
{
	struct vb_ready_list *l = p->ready.list;

	/* It is asked anyway when it is free; one that waits for something due is not. */
	if (p->pull_at <= p->busy_until || p->pulled || p->is_ready)
		return;
	p->is_ready = true;
	p->ready.next = NULL;
	VB_ASSERT_ALL(!l->first || !l->last->ready.next);
	if (l->first)
		l->last->ready.next = p;
	else
		l->first = p;
	l->last = p;
}

struct vb_port *vb_ready_take(struct vb_ready_list *l)
{
	struct vb_port *p = l->first;

	if (!p)
		return NULL;
	l->first = p->ready.next;
	VB_ASSERT_ALL(p->is_ready);
	p->ready.list = l;
	p->is_ready = false;
	p->pull_at = p->busy_until;
	return p;
}

bool vb_port_hold(struct vb_port *p, uint8_t prio, bool on, vb_time now)
{
	uint8_t bit = (uint8_t)(1u << prio);

	VB_ASSERT_ALL(prio < VB_PRIORITY_CNT);
	if (!on)
		p->stormed &= (uint8_t)~bit;
	if (!(p->held & bit) == !on)
		return false;
	if (on) {
		p->held |= bit;
		p->held_since[prio] = now;
		p->holds[prio]++;
	} else {
		p->held &= (uint8_t)~bit;
		p->stats.paused_ns += now - p->held_since[prio];
		p->held_ns[prio] += now - p->held_since[prio];
		vb_port_wake(p);
	}
	return true;
}

void vb_port_stats_at(const struct vb_port *p, vb_time now, struct vb_port_stats *st)
{
	vb_dur dt = now - p->depth_since;

	*st = p->stats;
	st->faults = p->cable.hooks ? p->cable.hooks->lost : 0;
	st->byte_ns += dt * p->depth;
	st->pkt_ns += dt * p->depth_pkts;
	for (uint32_t i = 0; i < VB_PRIORITY_CNT; i++) {
		if (p->held >> i & 1)
			st->paused_ns += now - p->held_since[i];
	}
}
