/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rate that congestion control allows a QP, as captures tell it: a comment at the next packet
 * that was captured, since packets alone do not show it.
 */
#ifndef VB_TRAFFIC_COMMENT_RATE_H
#define VB_TRAFFIC_COMMENT_RATE_H

#include "base/time.h"
#include "wire/path.h"

#include <stddef.h>

struct vb_rate_note {
	struct vb_gid gid; /* the QP's address */
	uint32_t qpn;
	uint32_t rate_kbps, target_kbps;
	uint32_t alpha; /* /1024 */
	vb_dur before;  /* ns before the packet */
};

#define VB_RATE_COMMENT_MAX 160

/* "dcqcn: 10.9.0.1 QP 0x000102 rate 9765.625 Mb/s target 12500.000 Mb/s alpha 512/1024, 210311 ns
 * before" */
void vb_rate_comment(const struct vb_rate_note *n, char text[VB_RATE_COMMENT_MAX]);

/* Reads the next line of that kind at *comments, which moves on. False: there is no more. */
bool vb_rate_comment_read(const char **comments, struct vb_rate_note *to);

#endif
