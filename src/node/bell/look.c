/* SPDX-License-Identifier: BSD-2-Clause */
/* Looking at doorbells, and ringing those that were written. See bell.h. */
#include "node/bell/priv.h"
#include "node/engine/priv.h"

#include <unistd.h>

/* Work that no doorbell tells of is looked for so often. */
#define LOOK_NS VB_MSEC

const uint16_t vb_bell_words[VB_BELL_WORDS] = {VB_BELL_QP_WORD, VB_BELL_QP_OTHER, VB_BELL_CQ_WORD};

bool vb_bells_have_rung(const struct vb_bells *all)
{
	uint32_t high = atomic_load_explicit(&all->high, memory_order_acquire);

	for (uint32_t i = 0; i < high; i++)
		for (int w = 0; w < VB_BELL_WORDS; w++)
			if (atomic_load_explicit(vb_bell_word(all, i, vb_bell_words[w]),
						 memory_order_relaxed))
				return true;
	return false;
}

bool vb_bells_look_at(const struct vb_bells *all, struct vb_bell *b, vb_time now)
{
	bool found = false;

	for (int w = 0; w < VB_BELL_WORDS; w++) {
		_Atomic uint64_t *word = vb_bell_word(all, b->index, vb_bell_words[w]);
		uint64_t value;

		if (!atomic_load_explicit(word, memory_order_relaxed))
			continue;
		/* The program's writes before it are seen from here on. */
		value = atomic_exchange_explicit(word, 0, memory_order_acq_rel);
		b->rung(b, value, now);
		found = true;
		if (!b->page)
			break;
	}
	return found;
}

bool vb_bells_look(struct vb_bells *all, vb_time now)
{
	uint32_t high = atomic_load_explicit(&all->high, memory_order_relaxed);
	bool found = all->noted != all->looked_at, all_of_it = now >= all->look_due;

	all->looked_at = all->noted;
	if (all_of_it) {
		all->look_due = now + LOOK_NS;
		all->is_restless = false;
	}
	for (uint32_t i = 0; i < high; i++) {
		struct vb_bell *b = all->at[i];

		if (!b)
			continue;
		found |= vb_bells_look_at(all, b, now);
		if (all_of_it && b->looked && b->page)
			all->is_restless |= b->looked(b, now);
	}
	return found;
}

void vb_bells_wake(struct vb_engine *e)
{
	vb_bells_note(e);
	if (e->bells)
		vb_bells_kick(e->bells);
}

void vb_bells_kick(const struct vb_bells *all)
{
	(void)!write(all->kick_fd, &(uint64_t){1}, sizeof(uint64_t));
}

uint64_t vb_bells_seen(const struct vb_bells *all)
{
	return all->engine->data_pkts + all->noted;
}

void vb_bells_note(struct vb_engine *e)
{
	if (e->bells)
		e->bells->noted++;
}

void vb_bells_hold(struct vb_engine *e, struct vb_bell *b)
{
	if (b->is_held)
		return;
	b->is_held = true;
	b->held_next = e->bells->held;
	e->bells->held = b;
}

void vb_bells_settle(struct vb_bells *all)
{
	while (all->held) {
		struct vb_bell *b = all->held;

		all->held = b->held_next;
		b->is_held = false;
		b->settle(b);
	}
}
