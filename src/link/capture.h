/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Live capture: copies packets that the UDP link shows to its tap into a ring in shared memory, from
 * which `verbena capture` writes a pcapng file. The writer never waits: a reader that falls behind
 * loses the oldest packets and can tell how many.
 */
#ifndef VB_LINK_CAPTURE_H
#define VB_LINK_CAPTURE_H

#include "link/udp.h"

struct vb_capture_ring;

void vb_capture_write(struct vb_capture_ring *ring, const struct vb_udp_tap *t, uint64_t realtime_ns);

#endif
