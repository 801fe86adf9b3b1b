/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Notes that the parts of a simulation take of their flows while they are at work: of what concerns
 * records and connections that all parts share. They are taken up when all parts are still, in the
 * order in which a run on one core would have come to them: by instant, and then by the highest
 * machine number that had had its turn there. (A machine whose turn comes at the very instant,
 * because of another one, comes behind it.) The turn of the load is one for all hosts: in it there
 * is an order of the computations that end. settle.c
 */
#ifndef VB_SIM_LOAD_CORES_NOTE_H
#define VB_SIM_LOAD_CORES_NOTE_H

#include "sim/sim.h"

struct vb_flow;

enum vb_load_note_kind {
	VB_LOAD_BEGUN = 1,   /* a flow has come to be, in a record of its part */
	VB_LOAD_ENTERED = 2, /* it is on its way to the other end of its connection */
	VB_LOAD_SENT = 4,    /* all of its work requests have completed */
	VB_LOAD_ARRIVED = 8, /* all of its messages have arrived */
	VB_LOAD_BROKEN = 16  /* the receiving end of a connection, which stands for the flow */
};

struct vb_load_note {
	struct vb_sim_place place;
	uint64_t computed; /* 0: it is not of one */
	uint32_t flow;
	uint8_t kind;
	bool is_broken; /* SENT: the sending end of its connection is */
};

/* The notes of a part, in order. */
struct vb_load_notes {
	struct vb_load_note *note;
	uint32_t cnt, cap, taken;
	struct vb_flow *state; /* of each note of another process; NULL: it is in the records */
};

/* False: no memory. */
bool vb_load_notes_add(struct vb_load_notes *n, const struct vb_load_note *note,
		       const struct vb_sim_memory *memory);
/* Whether note @a comes before @b. */
bool vb_load_note_is_before(const struct vb_load_note *a, const struct vb_load_note *b);
/* The first that has not been taken; NULL: all have been. */
static inline const struct vb_load_note *vb_load_notes_first(const struct vb_load_notes *n)
{
	return n->taken < n->cnt ? &n->note[n->taken] : NULL;
}

#endif
