/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets between processes of one host through shared memory: one copy in by the sender, one copy
 * out by the receiver, no system call and no ICRC. Middleware in front of the UDP link: it takes
 * what is for an address and a slot of this host whose owner has this link on, too, and hands on
 * everything else; it receives from both.
 *
 * A ring (ring.h) is made when the first packet for a process leaves, and handed in at the
 * receiver's wakeup endpoint (wakeup.h). Without memory or descriptors for a ring, packets go by
 * UDP.
 */
#ifndef VB_LINK_SHM_SHM_H
#define VB_LINK_SHM_SHM_H

#include "link/link.h"
#include "link/shm/ring.h"
#include "link/shm/wakeup.h"

/* The bytes in flight towards a peer that leave room for what others have under way to it. */
#define VB_SHM_WINDOW_BYTES (VB_RING_BYTES / 2)

#define VB_SHM_SLOTS VB_SLOT_CNT

/* @cfg->lower is a link that taps, @cfg->wakeup has VB_SHM_SLOTS wakeup endpoints. Returns 0 and
 * the link in *out, or a negative errno; then @cfg->lower is still the caller's. */
int vb_shm_open(struct vb_link **out, const struct vb_link_config *cfg);

#endif
