/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows packets that no socket has carried to a capture (struct vb_link_tap), as they are, or
 * would have been, on the wire: UDP ports, ICRC and all. The ICRC is computed here, and nowhere
 * else for such packets. IBA 7.8.1
 */
#ifndef VB_LINK_MIDDLE_TAP_H
#define VB_LINK_MIDDLE_TAP_H

#include "link/link.h"

typedef void vb_tap_fn(void *ctx, const struct vb_link_tap *t);

/* @mark: what a fault did to it, see link/middle/fault.h. */
void vb_tap_sent(vb_tap_fn *tap, void *ctx, const struct vb_tx *tx, uint16_t mark);
void vb_tap_received(vb_tap_fn *tap, void *ctx, const struct vb_rx *rx, uint16_t mark);

#endif
