/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether to look on for a moment before going to sleep. It pays where a processor is free for the
 * awaited thread; otherwise it takes the processor from that thread. Past success decides: after
 * each time in vain it is left out twice as often.
 */
#ifndef VB_BASE_SPIN_H
#define VB_BASE_SPIN_H

#include <stdbool.h>
#include <stdint.h>

#define VB_SPIN_STREAK_MAX 8u

struct vb_spin {
	uint16_t skip;   /* waits that are still left out */
	uint16_t streak; /* times in vain in a row */
};

/* Before each wait. */
static inline bool vb_spin_wanted(struct vb_spin *s)
{
	if (!s->skip)
		return true;
	s->skip--;
	return false;
}

/* After a wait for which one looked on: @hit, it came while one did. */
static inline void vb_spin_done(struct vb_spin *s, bool hit)
{
	if (hit)
		s->streak = 0;
	else if (s->streak < VB_SPIN_STREAK_MAX)
		s->streak++;
	s->skip = hit ? 0 : (uint16_t)(1u << s->streak);
}

#endif
