/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of the machine that outlives its process: a region of memory with a record for each
 * id, each event that nobody has taken and each group. The region is the caller's, who keeps it
 * where a killed process does not take it along; the machine writes it through a journal, so that
 * it is always in a state in which the machine was. CMP-51
 */
#ifndef VB_UCMA_KEEP_KEEP_H
#define VB_UCMA_KEEP_KEEP_H

#include "ucma/abi.h"
#include "ucma/keep/journal.h"
#include "ucma/ucma.h"

/* More ids cannot be kept; a machine with a region has no more. */
#define VB_UCMA_KEPT_IDS 65536u
/* Events and groups beyond are not kept. */
#define VB_UCMA_KEPT_EVENTS 16384u
#define VB_UCMA_KEPT_MCS 4096u

/* The fields of struct vb_ucma_id, see there. */
struct vb_ucma_kept_id {
	uint8_t in_use;
	uint8_t qp_type, tos, ack_timeout;
	uint8_t has_uid, has_local, reuses, af_only, af_only_set, tos_set, ack_timeout_set;
	uint8_t is_bound, is_passive, is_lost, is_request, srq, has_conn;
	uint16_t ps, space;
	uint32_t state;
	uint32_t file; /* the number of its file */
	int32_t backlog;
	uint32_t events_reported, psn, qkey;
	uint64_t uid;
	struct vb_ucma_addr src, dst;
	struct vb_ucma_local at;
	struct vb_cm_saved conn;
};

struct vb_ucma_kept_event {
	uint64_t seq;             /* events of a file are taken in this order; 0: a free record */
	uint32_t id, request, mc; /* numbers + 1; 0: none */
	uint32_t is_out;          /* the program may have taken it */
	struct vb_ucma_event_reply reply;
};

struct vb_ucma_kept_mc {
	uint8_t in_use, is_member;
	uint32_t id, number, events_reported;
	uint64_t uid;
	struct vb_gid gid;
	struct vb_ucma_local at;
};

struct vb_ucma_kept {
	uint32_t id_next, mc_next;
	uint64_t event_seq; /* the last one that was given */
	struct vb_ucma_kept_id id[VB_UCMA_KEPT_IDS];
	struct vb_ucma_kept_event event[VB_UCMA_KEPT_EVENTS];
	struct vb_ucma_kept_mc mc[VB_UCMA_KEPT_MCS];
	/* By number of its id: the REP that waits for its RTU. It counts while id[].conn says so.
	 */
	uint8_t rep[VB_UCMA_KEPT_IDS][VB_MAD_LEN];
};

/* A region: @kept and @journal lie in the memory that begins at @base. */
struct vb_ucma_region {
	void *base;
	struct vb_journal *journal;
	struct vb_ucma_kept *kept;
};

/*
 * From now on @region has what the machine has; NULL: nothing has any more. The records of a new
 * region are zero, or those that vb_ucma_restore() is to find.
 */
void vb_ucma_set_region(struct vb_ucma *u, const struct vb_ucma_region *region);

/* Writes down what has changed since the last time, and commits the journal. */
void vb_ucma_keep(struct vb_ucma *u);

/*
 * Makes a machine without ids into the one whose records are in its region. Files have been opened
 * under their numbers; ids of files that are not there are left out. Connections that were being
 * made end with UNREACHABLE.
 */
void vb_ucma_restore(struct vb_ucma *u, vb_time now);

#endif
