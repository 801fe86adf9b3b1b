/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A capture's notes of the rates that congestion control allows QPs (traffic/comment/rate.h):
 * samples of all processes, each a comment at the next packet that is written.
 */
#ifndef VB_CMD_CAPTURE_RATES_H
#define VB_CMD_CAPTURE_RATES_H

#include "export/pcapng.h"
#include "node/broker/broker.h"
#include "traffic/comment/rate.h"

#define VB_CAPTURE_RATES 4096u /* that wait for a packet; a power of two */
#define VB_CAPTURE_RATES_PER_PACKET (VB_PCAPNG_COMMENTS - 1)

struct vb_capture_rates {
	bool begun[VB_SLOT_CNT];
	uint64_t next[VB_SLOT_CNT]; /* sample of each slot, as its cnt counts */
	uint64_t taken, written;    /* samples, ever: those between them wait */
	struct vb_qp_sample wait[VB_CAPTURE_RATES];
};

/* Takes what the processes have written since the last look; of those that are new what comes from
 * now on, or when @from_start all there is. */
void vb_capture_rates_look(struct vb_capture_rates *r, const struct vb_broker_observer *o,
			   bool from_start);

/* Adds lines to @comment, of @size bytes, about the samples that are not later than the packet at
 * @time_ns (CLOCK_REALTIME, which is @ahead_ns ahead of CLOCK_MONOTONIC). */
void vb_capture_rates_tell(struct vb_capture_rates *r, uint64_t time_ns, uint64_t ahead_ns,
			   char *comment, size_t size);

#endif
