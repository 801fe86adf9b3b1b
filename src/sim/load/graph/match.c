/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends and receives that belong together: both are sorted by sender, receiver and tag. See
 * graph.h.
 */
#include "sim/load/graph/graph.h"

#include "base/assert.h"

#include <errno.h>
#include <string.h>

/* Keys are sorted by so many bits at a time, from the lowest on. */
#define DIGIT_BITS 11u
#define DIGITS (1u << DIGIT_BITS)

/* Messages of one kind, as operations. */
struct messages {
	uint32_t *op;
	uint32_t cnt;
};

enum key { BY_TAG, BY_RECEIVER, BY_SENDER, KEY_CNT };

static uint32_t key_of(const struct vb_graph *g, uint32_t i, enum key key)
{
	const struct vb_graph_op *op = &g->op[i];

	if (key == BY_TAG)
		return op->tag;
	return (key == BY_SENDER) == (op->kind == VB_GRAPH_SEND) ? op->rank : op->peer;
}

/* Sender, receiver, tag. */
static int message_order(const struct vb_graph *g, uint32_t i, uint32_t k)
{
	for (uint32_t n = KEY_CNT; n-- > 0;) {
		uint32_t a = key_of(g, i, (enum key)n), b = key_of(g, k, (enum key)n);

		if (a != b)
			return a < b ? -1 : 1;
	}
	return 0;
}

/* Sorts by some bits of a key into @to; equal ones keep their order. */
static void digit_sort(const struct vb_graph *g, const struct messages *m, uint32_t *to,
		       enum key key, uint32_t shift)
{
	uint32_t place[DIGITS] = {0}, sum = 0;

	for (uint32_t i = 0; i < m->cnt; i++)
		place[key_of(g, m->op[i], key) >> shift & (DIGITS - 1)]++;
	for (uint32_t i = 0; i < DIGITS; i++) {
		uint32_t cnt = place[i];

		place[i] = sum;
		sum += cnt;
	}
	VB_ASSERT(sum == m->cnt);
	for (uint32_t i = 0; i < m->cnt; i++)
		to[place[key_of(g, m->op[i], key) >> shift & (DIGITS - 1)]++] = m->op[i];
}

/* With @room for as many. They are in the order in which they were added, and equal ones stay so.
 */
static void messages_sort(const struct vb_graph *g, struct messages *m, uint32_t *room)
{
	for (uint32_t key = 0; key < KEY_CNT; key++) {
		uint32_t most = 0;

		for (uint32_t i = 0; i < m->cnt; i++)
			most |= key_of(g, m->op[i], (enum key)key);
		for (uint32_t shift = 0; shift < 32 && most >> shift; shift += DIGIT_BITS) {
			digit_sort(g, m, room, (enum key)key, shift);
			memcpy(m->op, room, m->cnt * sizeof *room);
		}
	}
}

static int fault_say(const struct vb_graph *g, struct vb_graph_fault *fault,
		     enum vb_graph_fault_kind kind, uint32_t op, uint32_t other)
{
	VB_ASSERT(op < g->op_cnt && other < g->op_cnt);
	*fault = (struct vb_graph_fault){kind, g->op[op], g->op[other]};
	return -EINVAL;
}

/* Both are sorted: a send and its receive have the same place. */
static int messages_join(struct vb_graph *g, const struct messages *send,
			 const struct messages *recv, struct vb_graph_fault *fault)
{
	for (uint32_t i = 0; i < send->cnt || i < recv->cnt; i++) {
		int order = i == send->cnt   ? 1
			    : i == recv->cnt ? -1
					     : message_order(g, send->op[i], recv->op[i]);
		uint32_t s, r;

		if (order < 0)
			return fault_say(g, fault, VB_GRAPH_UNRECEIVED, send->op[i], send->op[i]);
		if (order > 0)
			return fault_say(g, fault, VB_GRAPH_UNSENT, recv->op[i], recv->op[i]);
		s = send->op[i];
		r = recv->op[i];
		if (g->op[r].amount < g->op[s].amount)
			return fault_say(g, fault, VB_GRAPH_TOO_SHORT, r, s);
		g->op[s].match = r;
		g->op[r].match = s;
		if (i == 0 || g->op[send->op[i - 1]].rank != g->op[s].rank ||
		    g->op[send->op[i - 1]].peer != g->op[s].peer)
			g->pair_cnt++;
		g->op[s].pair = g->pair_cnt - 1;
	}
	return 0;
}

/* All operations of one kind, in their order. */
static struct messages messages_of(const struct vb_graph *g, enum vb_graph_kind kind,
				   uint32_t *room)
{
	struct messages m = {room, 0};

	for (uint32_t i = 0; i < g->op_cnt; i++)
		if (g->op[i].kind == kind)
			m.op[m.cnt++] = i;
	return m;
}

int vb_graph_match(struct vb_graph *g, struct vb_graph_fault *fault)
{
	uint32_t *v = g->memory.alloc(g->memory.ctx, 2 * (g->op_cnt + 1) * sizeof *v);
	struct messages send, recv;
	int err;

	if (!v)
		return -ENOMEM;
	send = messages_of(g, VB_GRAPH_SEND, v);
	recv = messages_of(g, VB_GRAPH_RECV, v + send.cnt);
	VB_ASSERT(send.cnt + recv.cnt <= g->op_cnt);
	g->send_cnt = send.cnt;
	messages_sort(g, &send, v + g->op_cnt);
	messages_sort(g, &recv, v + g->op_cnt);
	err = messages_join(g, &send, &recv, fault);
	g->memory.free(g->memory.ctx, v);
	return err;
}
