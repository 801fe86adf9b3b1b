/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Traffic as captures have seen it, of one end or of both: which QPs speak with each other, what
 * was sent again and why, what was lost on the way, rates and windows over time. Captures may be of
 * any origin (traffic/pcap_reader.h); Verbena's own tell which packets were sent and which
 * received, and what fault rules did to them.
 *
 * A packet that was sent and received, in one capture or in two, is one packet here. The clock of a
 * second capture is brought to that of the first by the packets that are in both. The source QP of
 * an RC packet is in no header; the answers tell it (ends.c).
 */
#ifndef VB_TRAFFIC_TRAFFIC_H
#define VB_TRAFFIC_TRAFFIC_H

#include "export/series.h"
#include "export/step.h"
#include "wire/path.h"

#include <stddef.h>
#include <stdio.h>

#define VB_TRAFFIC_FILES 2u
#define VB_TRAFFIC_PACKETS_MAX (1u << 22) /* of all files; 56 bytes each */
#define VB_TRAFFIC_STEPS_MAX 20000u
#define VB_TRAFFIC_STEPS_FIRST 2000u /* the room behind them is for what went wrong */
#define VB_TRAFFIC_AROUND 24u        /* packets before and behind something that went wrong */

/* Series by 2 * connection + side. */
enum vb_traffic_kind {
	VB_TRAFFIC_RATE,   /* sum: bytes from IP header on, that it sent */
	VB_TRAFFIC_WINDOW, /* PSNs sent and not acknowledged */
	VB_TRAFFIC_ANSWER, /* ns from a request to its acknowledgement */
	VB_TRAFFIC_RESENT, /* sum: packets that it sent again */
	VB_TRAFFIC_CNP,    /* sum: CNPs that came to it */
	/* Of Verbena's own captures, where congestion control is on (comment/rate.h): */
	VB_TRAFFIC_CC_RATE,   /* kb/s that it may send */
	VB_TRAFFIC_CC_TARGET, /* kb/s that it recovers to */
	VB_TRAFFIC_CC_ALPHA,  /* /1024 */
	VB_TRAFFIC_KIND_CNT
};

/* Why requests were sent again, in the order of the core's enum vb_rewind_why. */
enum vb_traffic_why {
	VB_TRAFFIC_TIMEOUT,
	VB_TRAFFIC_NAK,
	VB_TRAFFIC_IMPLIED_NAK,
	VB_TRAFFIC_RNR,
	VB_TRAFFIC_WHY_CNT
};

struct vb_traffic_file {
	uint64_t packets, others; /* of RoCEv2, and not */
	uint64_t lost;            /* that the capture says it lost */
	uint64_t batches;         /* that were captured before the kernel cut them into packets */
	bool is_cut;              /* it ends within a block */
	bool has_directions;      /* it tells what was sent and what was received */
};

struct vb_traffic_sums {
	uint64_t packets, bytes; /* each packet once, from the IP header on */
	uint64_t resent;         /* request packets that went out again */
	uint64_t rewinds[VB_TRAFFIC_WHY_CNT];
	uint64_t lost_to_faults,
	    lost; /* on the way: sent, and not received where all is captured */
	uint64_t marked_ce, cnps, naks, rnr_naks, damaged;
	uint64_t both_ends; /* packets that were seen where they left and where they arrived */
	uint64_t left_out;  /* steps */
	/* How far the clock of the second capture is ahead at its first packet, and by how much
	 * that may be wrong, ns; made of so many packets, 0: of none. */
	int64_t clock_ahead_ns;
	uint64_t clock_error_ns, clock_samples;
	bool is_full; /* there were more packets than VB_TRAFFIC_PACKETS_MAX */
};

struct vb_traffic;

/* NULL: no memory. */
struct vb_traffic *vb_traffic_new(void);
void vb_traffic_free(struct vb_traffic *t);

/* Takes in one more capture, of VB_TRAFFIC_FILES. 0, or a negative errno with the reason in @why:
 * "offset 120: a block of 7 bytes". */
int vb_traffic_read(struct vb_traffic *t, FILE *f, char *why, size_t why_size);

/* All captures are read: makes the rest of them. 0 or -ENOMEM. */
int vb_traffic_play(struct vb_traffic *t);

/* The results. Times are from the first packet on. */
const struct vb_traffic_file *vb_traffic_file(const struct vb_traffic *t, uint32_t i);
const struct vb_traffic_sums *vb_traffic_sums(const struct vb_traffic *t);
const struct vb_series_set *vb_traffic_series(const struct vb_traffic *t);
uint64_t vb_traffic_first_ns(const struct vb_traffic *t); /* since 1970 */
vb_dur vb_traffic_length(const struct vb_traffic *t);
uint32_t vb_traffic_step_cnt(const struct vb_traffic *t);
const struct vb_step *vb_traffic_step(const struct vb_traffic *t, uint32_t i);
uint32_t vb_traffic_connection_cnt(const struct vb_traffic *t);
void vb_traffic_ends(const struct vb_traffic *t, uint32_t connection, struct vb_step_ends *out);
/* Hosts are addresses; of a connection from an address to itself the second end is a host of its
 * own, a twin. */
uint32_t vb_traffic_host_cnt(const struct vb_traffic *t);
const struct vb_gid *vb_traffic_host(const struct vb_traffic *t, uint32_t host, bool *is_twin);

#endif
