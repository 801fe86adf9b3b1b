/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder of one QP's rate: a window of 64 events, each an entry of 64 bits. It stops when the
 * window is full and counts on; reading takes entries away, oldest first. CC-50...54
 */
#ifndef VB_CORE_CC_DFX_H
#define VB_CORE_CC_DFX_H

#include "base/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VB_DFX_ENTRIES 64u

/* CC-52. An increase by time has VB_DFX_BY_TIME too; that bit alone is reserved. */
enum vb_dfx_event {
	VB_DFX_DECREASE = 0,
	VB_DFX_FAST_RECOVERY = 1,
	VB_DFX_HYPER = 2,
	VB_DFX_ADDITIVE = 3,
	VB_DFX_BY_TIME = 4,
};

struct vb_dfx {
	bool recording;
	uint32_t head, cnt;                                  /* next to read; unread entries */
	uint16_t decreases, byte_increases, timer_increases; /* saturate. CC-54 */
	uint32_t overflow; /* events after the window was full; saturates */
	uint64_t entry[VB_DFX_ENTRIES];
};

/* Starts a window, empty; stops it. Recorded entries stay readable. */
void vb_dfx_start(struct vb_dfx *d);
void vb_dfx_stop(struct vb_dfx *d);

/* Takes the oldest entry; false: there is none. */
bool vb_dfx_read(struct vb_dfx *d, uint64_t *entry);

void vb_dfx_put(struct vb_dfx *d, unsigned event, uint16_t rate, vb_time at);

/* @cnt events at once for which the window has no room. */
void vb_dfx_skip(struct vb_dfx *d, unsigned event, uint64_t cnt);

static inline bool vb_dfx_has_room(const struct vb_dfx *d)
{
	return d->head + d->cnt < VB_DFX_ENTRIES;
}

static inline bool vb_dfx_is_recording(const struct vb_dfx *d)
{
	return d && d->recording;
}

static inline void vb_dfx_record(struct vb_dfx *d, unsigned event, uint16_t rate, vb_time at)
{
	if (vb_dfx_is_recording(d))
		vb_dfx_put(d, event, rate, at);
}

/* An entry: event[2:0], rate[18:3] in units, time[63:19] in us. CC-53 */
static inline uint64_t vb_dfx_entry(unsigned event, uint16_t rate, vb_time at)
{
	return event | (uint64_t)rate << 3 | at / VB_USEC << 19;
}

static inline unsigned vb_dfx_event_of(uint64_t entry)
{
	return entry & 7;
}

static inline uint16_t vb_dfx_rate_of(uint64_t entry)
{
	return (uint16_t)(entry >> 3);
}

static inline uint64_t vb_dfx_usec_of(uint64_t entry)
{
	return entry >> 19;
}

#endif
