/* SPDX-License-Identifier: BSD-2-Clause */
/* Multicast groups of an HCA, see mcast.c. IBA 10.5 */
#ifndef VB_CORE_UD_MCAST_H
#define VB_CORE_UD_MCAST_H

#include "base/time.h"
#include "wire/hdr.h"
#include "wire/packet.h"

struct vb_hca;

enum vb_verdict vb_mcast_deliver(struct vb_hca *h, const struct vb_hdr *hdr, const struct vb_rx *rx,
				 vb_time now);
void vb_mcast_free(struct vb_hca *h);

#endif
