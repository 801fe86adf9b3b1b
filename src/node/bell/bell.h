/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Doorbells that are plain stores. A program that writes work requests into queues by itself tells
 * the adapter of them by a store to a page, and calls nobody. So somebody has to look: a thread of
 * the engine's, which spins while doorbells ring or completions come and parks when they do not.
 * It parks behind the pages, which are then protected against writing, so that the next store
 * wakes it (userfaultfd(2)) and idling costs nothing; where a kernel or a container does not have
 * that, it takes naps. Verbs that make progress look, too.
 */
#ifndef VB_NODE_BELL_BELL_H
#define VB_NODE_BELL_BELL_H

#include "node/engine/engine.h"

#define VB_BELL_PAGE 4096u
/*
 * The words of a page: a QP's two, which a program writes in turns (BlueFlame), and that by which a
 * CQ is armed (MLX5_CQ_DOORBELL).
 */
#define VB_BELL_BF_BYTES 256u
#define VB_BELL_QP_WORD 0x800u
#define VB_BELL_QP_OTHER (VB_BELL_QP_WORD + VB_BELL_BF_BYTES)
#define VB_BELL_CQ_WORD 0x20u

struct vb_bell {
	/* Under the lock: the word was written, and is 0 again. */
	void (*rung)(struct vb_bell *b, uint64_t value, vb_time now);
	/* Under the lock, now and then: for what no doorbell tells. True: there may be more of
	 * that. May be NULL. */
	bool (*looked)(struct vb_bell *b, vb_time now);
	/* Under the lock: what was held back for company is to be seen. Of a bell that calls
	 * vb_bells_hold(). */
	void (*settle)(struct vb_bell *b);
	/* Under the lock: nothing that was posted is under way. NULL: the bell arms a CQ. */
	bool (*is_idle)(const struct vb_bell *b);
	struct vb_bell *held_next;
	bool is_held;
	uint8_t *page; /* NULL: it is not open */
	uint32_t index;
};

struct vb_bells;

/*
 * All under the lock. A page for @b, which is looked at from now on, by a thread that is started
 * for the first one. 0 or a negative errno. Nothing happens when it is open, or closed, already.
 */
int vb_bell_open(struct vb_engine *e, struct vb_bell *b);
void vb_bell_close(struct vb_engine *e, struct vb_bell *b);
/* Rings what was written. True: there was something. */
bool vb_bells_look(struct vb_bells *all, vb_time now);
/* Something came for a program that looks at memory alone: the thread goes on spinning. */
void vb_bells_note(struct vb_engine *e);
/* The same, and if it has parked it looks what it is to look for from now on. */
void vb_bells_wake(struct vb_engine *e);

/*
 * Under the lock: @b, which is open, holds something back until vb_bells_settle(), which the engine
 * calls before it tells anybody of what a step has brought.
 */
void vb_bells_hold(struct vb_engine *e, struct vb_bell *b);
void vb_bells_settle(struct vb_bells *all);

/* In a forked child: closes what it inherited. The thread and the pages stayed with the parent. */
void vb_bells_abandon(const struct vb_engine *e);

/* The engine ends: not under the lock. */
void vb_bells_stop(struct vb_engine *e);

#endif
