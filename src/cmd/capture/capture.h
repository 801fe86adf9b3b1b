/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of `verbena capture`: the command and its loop (capture.c), the RoCE devices of this
 * host (host.c), an InfiniBand fabric (fabric.c). Either is a source: rings that it has, and what a
 * record of them becomes in the file.
 */
#ifndef VB_CMD_CAPTURE_CAPTURE_H
#define VB_CMD_CAPTURE_CAPTURE_H

#include "base/slot.h"
#include "cmd/capture/page.h"
#include "cmd/cmd.h"
#include "export/pcapng.h"
#include "node/client/ring_reader.h"

#include <stdio.h>

struct vb_capture;

/* Calls return 0 or a negative errno unless they say otherwise. */
struct vb_capture_source {
	/* Reaches what is observed. 0, or 1 with a message. */
	int (*attach)(struct vb_capture *c);
	/* Asks for rings that are new. -EPIPE, -ECONNRESET: what is observed has gone. */
	int (*find)(struct vb_capture *c);
	/* The ring of slot @k, NULL: there is none. */
	const struct vb_capture_ring *(*ring)(const struct vb_capture *c, uint32_t k);
	int (*turn)(struct vb_capture *c, bool on);
	/* When its source has gone, the capture goes on with what comes in its place. */
	bool comes_back;
	/* Takes what stands beside the packets; @is_first: from now on. */
	void (*look)(struct vb_capture *c, bool is_first);
	/* Writes what the file begins with, and the packets of a record, but no more than are
	 * wanted. */
	int (*begin)(struct vb_capture *c);
	int (*write)(struct vb_capture *c, const struct vb_ring_reader *r);
	/* Writes the statistics. */
	int (*finish)(struct vb_capture *c, uint64_t now);
	void (*detach)(struct vb_capture *c);
};

extern const struct vb_capture_source vb_capture_host, vb_capture_fabric;

struct vb_capture {
	const struct vb_cmd *cmd;
	const struct vb_capture_source *source;
	const char *path;
	const char *fabric, *node; /* NULL: not given */
	uint32_t port;             /* of the node; 0: all */
	bool with_flow;            /* flow control packets as well */
	FILE *file;
	struct vb_capture_pages pages;
	uint64_t limit;   /* packets */
	vb_time deadline; /* CLOCK_MONOTONIC */
	vb_time slots_due;
	struct vb_pcapng out;
	bool has_reader[VB_SLOT_CNT];
	uint32_t reader_cnt;
	struct vb_ring_reader *reader[VB_SLOT_CNT]; /* reader_cnt of them, in no order */
	uint64_t ahead_ns;                          /* CLOCK_REALTIME, of CLOCK_MONOTONIC */
	uint64_t captured, lost;
};

#endif
