/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that rings doorbells by plain stores and looks at its memory alone makes no call, so
 * what comes for it has to be received by another thread, or while it rings. Where there is no
 * processor for another thread a store that rings polls as ibv_poll_cq() does, until what the
 * program waits for is there. A program is taken to wait if its last stores were made when nothing
 * of its own was under way, and something had come for it since the store before; and if it stores
 * again as soon as such a poll has found something. One that computes in between is not held up. A
 * machine as wait.h is one: it makes no call and knows no clock.
 */
#ifndef VB_WAIT_STAY_H
#define VB_WAIT_STAY_H

#include "base/time.h"

#include <stdbool.h>
#include <stdint.h>

struct vb_stay {
	uint64_t seen;    /* what had come when the last store began */
	uint32_t answers; /* stores in a row that followed something that came */
	vb_time found_at; /* when the last store's poll ended with something; 0: it did not */
	uint32_t in_vain; /* polls in a row that were no use... */
	uint32_t skip;    /* ... and stores that do not poll because of that */
};

/*
 * A store rings at @now; @is_idle: nothing is under way there; @seen: a number that changes when
 * something comes for the program. True: the store polls. Times of tuned.def count @slow times.
 */
bool vb_stay_begins(struct vb_stay *s, bool is_idle, uint64_t seen, vb_time now, uint32_t slow);
/* It has polled until @now, and what the program waits for is there, or is not. */
void vb_stay_ended(struct vb_stay *s, bool found, vb_time now);

#endif
