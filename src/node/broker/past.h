/* SPDX-License-Identifier: BSD-2-Clause */
/* The broker's memory of the trouble of processes that are gone, for `verbena explain`. */
#ifndef VB_NODE_BROKER_PAST_H
#define VB_NODE_BROKER_PAST_H

#include "node/store/slots.h"

/* Takes over the histories of slot @shm that did not end well, the newest VB_PAST_PER_PROCESS of
 * them. The owner is gone; host memory, where @p is, is being written. */
void vb_past_take(struct vb_past *p, const struct vb_slot_shm *shm);

/* Until when the newest history is to be kept, CLOCK_MONOTONIC; 0: there is none. */
vb_time vb_past_until(const struct vb_past *p);

#endif
