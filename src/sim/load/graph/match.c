/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends and receives that belong together. See graph.h. */
#include "sim/load/graph/graph.h"

#include "base/assert.h"

#include <errno.h>

/* Messages of one kind, as operations. */
struct messages {
	uint32_t *op;
	uint32_t cnt;
};

/* Sender, receiver, tag; and then as they were added. */
static int message_order(const struct vb_graph *g, uint32_t i, uint32_t k)
{
	const struct vb_graph_op *a = &g->op[i], *b = &g->op[k];
	bool sends = a->kind == VB_GRAPH_SEND;
	uint32_t a_from = sends ? a->rank : a->peer, a_to = sends ? a->peer : a->rank;

	sends = b->kind == VB_GRAPH_SEND;

	uint32_t b_from = sends ? b->rank : b->peer, b_to = sends ? b->peer : b->rank;

	if (a_from != b_from)
		return a_from < b_from ? -1 : 1;
	if (a_to != b_to)
		return a_to < b_to ? -1 : 1;
	if (a->tag != b->tag)
		return a->tag < b->tag ? -1 : 1;
	return 0;
}

static bool is_behind(const struct vb_graph *g, uint32_t i, uint32_t k)
{
	int order = message_order(g, i, k);

	return order ? order > 0 : i > k;
}

static void heap_sift(const struct vb_graph *g, uint32_t *v, uint32_t i, uint32_t cnt)
{
	uint32_t x = v[i];

	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child >= cnt)
			break;
		if (child + 1 < cnt && is_behind(g, v[child + 1], v[child]))
			child++;
		if (!is_behind(g, v[child], x))
			break;
		v[i] = v[child];
		i = child;
	}
	v[i] = x;
}

static void messages_sort(const struct vb_graph *g, struct messages *m)
{
	for (uint32_t i = m->cnt / 2; i-- > 0;)
		heap_sift(g, m->op, i, m->cnt);
	for (uint32_t n = m->cnt; n > 1; n--) {
		uint32_t last = m->op[0];

		m->op[0] = m->op[n - 1];
		m->op[n - 1] = last;
		heap_sift(g, m->op, 0, n - 1);
	}
}

static int fault_say(const struct vb_graph *g, struct vb_graph_fault *fault,
		     enum vb_graph_fault_kind kind, uint32_t op, uint32_t other)
{
	VB_ASSERT(op < g->op_cnt && other < g->op_cnt);
	*fault = (struct vb_graph_fault){kind, g->op[op], g->op[other]};
	return -EINVAL;
}

/* Both are sorted: those that belong together stand side by side. */
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

int vb_graph_match(struct vb_graph *g, struct vb_graph_fault *fault)
{
	struct messages send, recv = {NULL, 0};
	uint32_t *v = g->memory.alloc(g->memory.ctx, (g->op_cnt + 1) * sizeof *v);
	int err;

	if (!v)
		return -ENOMEM;
	send = (struct messages){v, 0};
	for (uint32_t i = 0; i < g->op_cnt; i++)
		if (g->op[i].kind == VB_GRAPH_SEND)
			send.op[send.cnt++] = i;
	g->send_cnt = send.cnt;
	recv.op = v + send.cnt;
	for (uint32_t i = 0; i < g->op_cnt; i++)
		if (g->op[i].kind == VB_GRAPH_RECV)
			recv.op[recv.cnt++] = i;
	VB_ASSERT(send.cnt + recv.cnt <= g->op_cnt);
	messages_sort(g, &send);
	messages_sort(g, &recv);
	err = messages_join(g, &send, &recv, fault);
	g->memory.free(g->memory.ctx, v);
	return err;
}
