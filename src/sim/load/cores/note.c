/* SPDX-License-Identifier: BSD-2-Clause */
/* The store of a part's notes. See note.h. */
#include "sim/load/cores/note.h"

#include "base/assert.h"

#include <string.h>

#define NOTES_FIRST 256u

bool vb_load_notes_add(struct vb_load_notes *n, const struct vb_load_note *note,
		       const struct vb_sim_memory *memory)
{
	if (n->cnt == n->cap) {
		uint32_t cap = n->cap ? 2 * n->cap : NOTES_FIRST;
		struct vb_load_note *more = memory->alloc(memory->ctx, cap * sizeof *more);

		if (!more)
			return false;
		if (n->note) {
			memcpy(more, n->note, n->cnt * sizeof *more);
			memory->free(memory->ctx, n->note);
		}
		n->note = more;
		n->cap = cap;
	}
	VB_ASSERT_ALL(n->cnt == 0 || !vb_load_note_is_before(note, &n->note[n->cnt - 1]));
	n->note[n->cnt++] = *note;
	return true;
}

bool vb_load_note_is_before(const struct vb_load_note *a, const struct vb_load_note *b)
{
	if (a->place.at != b->place.at)
		return a->place.at < b->place.at;
	if (a->place.order != b->place.order)
		return a->place.order < b->place.order;
	return a->computed < b->computed;
}
