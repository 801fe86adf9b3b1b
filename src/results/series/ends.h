/* SPDX-License-Identifier: BSD-2-Clause */
/* The connections of a simulated load by host and QPN, and the end that a packet comes from. */
#ifndef VB_RESULTS_SERIES_ENDS_H
#define VB_RESULTS_SERIES_ENDS_H

#include "export/map.h"
#include "scenario/scenario.h"
#include "wire/hdr.h"

/* An end is 2 * connection + side. */
#define VB_END_NONE VB_MAP_NONE

/* Zeros but for load and sim. */
struct vb_ends {
	const struct vb_load *load;
	const struct vb_sim *sim;
	struct vb_map map;
	uint32_t connection_cnt; /* that are in it */
	int err;                 /* -ENOMEM: not all of them are */
};

/* The end that is QP @qpn of @host, or VB_END_NONE. Learns connections that have been made since.
 */
uint32_t vb_end_of(struct vb_ends *e, uint32_t host, uint32_t qpn);
/* The end that a packet of @host comes from: by its receiver, or by the sender of a datagram to a
 * group. */
uint32_t vb_end_origin(struct vb_ends *e, uint32_t host, const struct vb_frame *pkt,
		       const struct vb_hdr *hdr);
/* PSNs that a request takes up: a READ has those of its responses. IBA 9.7.3.1 */
uint32_t vb_end_psns(const struct vb_ends *e, const struct vb_hdr *hdr);
void vb_ends_free(struct vb_ends *e);

#endif
