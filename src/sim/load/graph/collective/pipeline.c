/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pipelines: microbatches go through the stages forward, and backward again. A stage does one thing
 * at a time, in the order of its schedule, and sends on when it has done it. See maker.h.
 */
#include "sim/load/graph/collective/maker.h"

#include "base/assert.h"

#include <errno.h>

/* One turn of the schedule of a stage. */
struct turn {
	uint32_t microbatch;
	bool is_backward;
};

/* Turn @i of 2 m: after a warm-up of @warm forward, backward and forward in turn, then the rest
 * backward. */
static struct turn turn_of(uint32_t i, uint32_t warm, uint32_t m)
{
	uint32_t behind = i - warm;

	VB_ASSERT(i < 2 * m && warm <= m);
	if (i < warm)
		return (struct turn){i, false};
	if (behind < 2 * (m - warm))
		return (struct turn){behind % 2 ? behind / 2 : warm + behind / 2, behind % 2};
	return (struct turn){i - m, true};
}

static void turn_make(struct vb_maker *m, uint32_t stage, const struct turn *t)
{
	uint32_t last = m->c->ranks - 1, op;
	vb_dur backward = m->c->backward ? m->c->backward : 2 * m->c->work;
	bool gets = t->is_backward ? stage < last : stage > 0;
	bool gives = t->is_backward ? stage > 0 : stage < last;

	m->tag = 2 * t->microbatch + t->is_backward;
	if (gets)
		vb_maker_step_recv(m, stage, t->is_backward ? stage + 1 : stage - 1, m->c->bytes);
	op = vb_maker_calc(m, stage, t->is_backward ? backward : m->c->work, m->tail[stage]);
	m->tail[stage] = op;
	if (gives)
		vb_maker_step_send(m, stage, t->is_backward ? stage - 1 : stage + 1, m->c->bytes);
}

int vb_maker_pipeline(struct vb_maker *m)
{
	uint32_t cnt = m->c->microbatches;

	for (uint32_t stage = 0; stage < m->c->ranks; stage++) {
		uint32_t warm = m->c->ranks - 1 - stage;

		if (warm > cnt || m->algorithm == VB_GPIPE)
			warm = cnt;
		if (vb_graph_is_full(m->g))
			return -E2BIG;
		for (uint32_t i = 0; i < 2 * cnt; i++) {
			struct turn t = turn_of(i, warm, cnt);

			turn_make(m, stage, &t);
		}
	}
	return 0;
}
