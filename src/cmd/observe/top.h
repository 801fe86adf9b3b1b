/* SPDX-License-Identifier: BSD-2-Clause */
/* `verbena top`: what processes and QPs do between two looks (top_sample.c), and how it is shown
 * (top_show.c). */
#ifndef VB_CMD_OBSERVE_TOP_H
#define VB_CMD_OBSERVE_TOP_H

#include "node/broker/broker.h"

#include <stdio.h>

struct vb_top_process {
	uint32_t pid, qp_cnt;
	char comm[16]; /* printable */
	bool is_new;   /* there was none to compare with: its rates are 0 */
	bool is_mute;  /* did not write views: its QPs are not listed */
	/* Bits and packets per second, since the look before. */
	double xmit_bps, rcv_bps, xmit_pps, rcv_pps, resent_pps;
	struct vb_counters sum; /* over its devices */
};

struct vb_top_qp {
	uint32_t pid;
	char comm[16];
	char device[VB_NAME_MAX];
	struct vb_qp_view view;
	bool is_new;
	/* PSNs per second: of its requests that were acknowledged, and of the peer's requests. A
	 * PSN is one packet of at most a path MTU. */
	double acked, expected;
};

/* One look at the host, with what changed since the one before. */
struct vb_top_sample {
	struct vb_top_process *process; /* the busiest first */
	struct vb_top_qp *qp;           /* the same way */
	uint32_t process_cnt, qp_cnt;
	uint32_t unseen; /* QPs of which there was no view */
	uint64_t real_ns;
	vb_time at;
	double seconds; /* since the one before; 0: there was none */
};

/* Looks. @before: all zeroes for none. 0, or a negative errno with a line in @why; -ENOTCONN: no
 * program uses the adapter, and *to is empty. Free with vb_top_free(). */
int vb_top_look(struct vb_top_sample *to, const struct vb_top_sample *before, const char *device,
		char *why, size_t why_size);
void vb_top_free(struct vb_top_sample *s);

/* A table of at most @rows lines (0: any number) and @columns columns (0: any). */
void vb_top_table(FILE *f, const struct vb_top_sample *s, uint32_t rows, uint32_t columns);

/* One line of JSON. */
void vb_top_json(FILE *f, const struct vb_top_sample *s);

#endif
