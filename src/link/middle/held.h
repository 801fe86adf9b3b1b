/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets that are held back, in the order in which they go on: whole copies, and not too many. */
#ifndef VB_LINK_MIDDLE_HELD_H
#define VB_LINK_MIDDLE_HELD_H

#include "base/list.h"
#include "base/time.h"
#include "base/timed.h"
#include "wire/packet.h"

struct vb_held {
	union {
		struct vb_timed timed; /* in the queue */
		struct vb_list link;   /* taken out of it, on a list of the caller's */
	};
	struct vb_path path;
	struct vb_tx_fate fate;
	struct vb_tx tx; /* sent ones: headers, and one segment that is bytes */
	struct vb_seg seg;
	uint32_t len, avail; /* received ones: of bytes */
	uint8_t bytes[];
};

struct vb_held_queue {
	struct vb_timed_queue timed; /* of struct vb_held */
	uint32_t cnt;
};

void vb_held_init(struct vb_held_queue *q);
void vb_held_clear(struct vb_held_queue *q);

/* Frees all struct vb_held on @list. */
void vb_held_free(struct vb_list *list);

/* Keeps a copy until @at, behind what is kept until then already. False: no room. */
bool vb_held_tx(struct vb_held_queue *q, const struct vb_tx *tx, const struct vb_path *path,
		const struct vb_tx_fate *fate, vb_time at);
bool vb_held_rx(struct vb_held_queue *q, const struct vb_rx *rx, const struct vb_path *path,
		vb_time at);

/* The first one, if its time has come by @now, taken out of the queue: the caller frees it, or puts
 * it back. */
struct vb_held *vb_held_take(struct vb_held_queue *q, vb_time now);
void vb_held_put_back(struct vb_held_queue *q, struct vb_held *h, vb_time at);

/* When the first one goes on, or VB_NEVER. */
static inline vb_time vb_held_due(const struct vb_held_queue *q)
{
	return vb_timed_due(&q->timed);
}

#endif
