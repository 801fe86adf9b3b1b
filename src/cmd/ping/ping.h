/* SPDX-License-Identifier: BSD-2-Clause */
/* `verbena ping`: what it counts (ping.c) and how it is shown (ping_show.c). */
#ifndef VB_CMD_PING_H
#define VB_CMD_PING_H

#include "cmd/cmd.h"
#include "cmd/ping/remote.h"

#define VB_PING_KEPT 4096u /* round trips that the median is of: the last ones */

struct vb_ping {
	const struct vb_cmd *cmd;
	const char *host, *device; /* device NULL: any */
	uint32_t count;            /* 0: until Ctrl-C */
	uint32_t bytes;            /* of payload */
	vb_dur interval, timeout;
	bool json, quiet;
	struct vb_remote r;
	uint32_t sent, answered, lost; /* the rest is open */
	bool is_too_long;              /* this host cannot send so many bytes */
	vb_dur trip[VB_PING_KEPT], shortest, longest;
	int error; /* that sending met, already told */
	uint64_t error_cnt;
	uint32_t probes; /* of the path MTU, open */
	uint32_t probe_round;
};

/* One line: answer @seq came after @trip; or none came. */
void vb_ping_show_answer(const struct vb_ping *p, uint32_t seq, vb_dur trip);
void vb_ping_show_loss(struct vb_ping *p, uint32_t seq);
/* All in all. */
void vb_ping_show_summary(struct vb_ping *p);

#endif
