/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a graph can come to its end: it is run without time, where all messages arrive and all
 * computations end at once. It does not matter in which order, as the receive of each send is
 * known. An operation that has not ended then waits in a circle, or behind one. See graph.h.
 */
#include "sim/load/graph/graph.h"

#include "base/assert.h"

#include <errno.h>
#include <string.h>

enum state { STARTED = 1, ARRIVED = 2, ENDED = 4 };

struct trial {
	const struct vb_graph *g;
	uint32_t *left;  /* of each operation: how many others it waits for */
	uint32_t *ready; /* operations that may start; each is there once at most */
	uint32_t ready_cnt;
	uint64_t ended;
	uint8_t *state;
};

/* Of the operations that require @op those which wait for its start, or for its end. */
static void followers_release(struct trial *t, uint32_t op, bool at_start)
{
	const struct vb_graph *g = t->g;

	for (uint32_t i = g->op[op].first; i < g->op[op + 1].first; i++) {
		uint32_t to = g->edge[i] & ~VB_GRAPH_AT_START;

		if (((g->edge[i] & VB_GRAPH_AT_START) != 0) != at_start)
			continue;
		VB_ASSERT(t->left[to] > 0);
		if (--t->left[to] == 0)
			t->ready[t->ready_cnt++] = to;
	}
}

static void op_end(struct trial *t, uint32_t op)
{
	VB_ASSERT_ALL(!(t->state[op] & ENDED));
	t->state[op] |= ENDED;
	t->ended++;
	followers_release(t, op, false);
}

static void op_start(struct trial *t, uint32_t op)
{
	const struct vb_graph_op *o = &t->g->op[op];

	t->state[op] |= STARTED;
	followers_release(t, op, true);
	if (o->kind == VB_GRAPH_SEND) {
		t->state[o->match] |= ARRIVED;
		if (t->state[o->match] & STARTED)
			op_end(t, o->match);
	}
	if (o->kind != VB_GRAPH_RECV || t->state[op] & ARRIVED)
		op_end(t, op);
}

/* For each operation that has not ended one that it waits for, which has not ended either, into
 * t->left. */
static void waits_find(struct trial *t)
{
	const struct vb_graph *g = t->g;

	for (uint32_t op = 0; op < g->op_cnt; op++) {
		if (t->state[op] & ENDED)
			continue;
		if (g->op[op].kind == VB_GRAPH_RECV && t->state[op] & STARTED)
			t->left[op] = g->op[op].match;
		for (uint32_t i = g->op[op].first; i < g->op[op + 1].first; i++) {
			uint32_t to = g->edge[i] & ~VB_GRAPH_AT_START;
			bool is_met = g->edge[i] & VB_GRAPH_AT_START && t->state[op] & STARTED;

			if (!is_met && !(t->state[to] & STARTED))
				t->left[to] = op;
		}
	}
}

/* Goes from one to that which it waits for as often as there are operations: then it is in a
 * circle. */
static int circle_say(struct trial *t, struct vb_graph_fault *fault)
{
	const struct vb_graph *g = t->g;
	uint32_t op = 0;

	waits_find(t);
	while (t->state[op] & ENDED)
		op++;
	for (uint64_t i = 0; i < g->op_cnt; i++)
		op = t->left[op];
	VB_ASSERT(op < g->op_cnt && !(t->state[op] & ENDED));
	*fault = (struct vb_graph_fault){VB_GRAPH_CIRCLE, g->op[op], g->op[t->left[op]]};
	return -EINVAL;
}

static int trial_run(struct trial *t, struct vb_graph_fault *fault)
{
	const struct vb_graph *g = t->g;

	for (uint32_t i = 0; i < g->op_cnt; i++) {
		t->left[i] = g->op[i].needs;
		if (t->left[i] == 0)
			t->ready[t->ready_cnt++] = i;
	}
	while (t->ready_cnt > 0)
		op_start(t, t->ready[--t->ready_cnt]);
	return t->ended == g->op_cnt ? 0 : circle_say(t, fault);
}

int vb_graph_check(const struct vb_graph *g, struct vb_graph_fault *fault)
{
	size_t cnt = g->op_cnt + 1;
	uint32_t *v = g->memory.alloc(g->memory.ctx, cnt * (2 * sizeof *v + 1));
	struct trial t = {.g = g};
	int err;

	if (!v)
		return -ENOMEM;
	t.left = v;
	t.ready = v + cnt;
	t.state = (uint8_t *)(v + 2 * cnt);
	memset(t.state, 0, cnt);
	err = trial_run(&t, fault);
	g->memory.free(g->memory.ctx, v);
	return err;
}
