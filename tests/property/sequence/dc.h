/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Targets and initiators of DC in a case, and the model that judges them: which stream of which
 * initiator is in error, and so what each request must end with; that each stream is in order, and
 * that streams overtake each other; what may be missing or come twice when a target has forgotten
 * who asked. docs/dc.md
 */
#ifndef VB_TESTS_PROPERTY_SEQUENCE_DC_H
#define VB_TESTS_PROPERTY_SEQUENCE_DC_H

#include "play.h"

#define DC_SRQ_WRS 32u
#define DC_NEXT 16u
#define DC_STREAMS 8u /* at most, of an initiator */

/* A work request of an initiator. */
struct dc_sent {
	struct buf buf;
	struct aim aim; /* at a slot's region or window of the target's host */
	uint64_t id, add, swap;
	uint32_t bytes, off, imm;
	uint32_t life; /* of the target when it was posted */
	uint8_t op, defect, target, stream, result;
	bool signaled, done, void_, doomed; /* doomed: its stream had failed before it */
	bool quiet; /* unsignaled, and under way when another stream ended the QP */
};

/* The requests of a stream that may arrive next, ascending; cnt 0: the first. More than one when
 * short messages look alike, and some may have failed and not arrived. */
struct dc_turn {
	uint32_t next[DC_NEXT], next_cnt;
};

/* The state of an initiator at a target. */
struct dc_link {
	struct dc_turn turn[DC_STREAMS];
	uint64_t cell;    /* for atomics, of this initiator alone */
	bool cell_unsure; /* an atomic that failed may have been carried out */
};

struct dci {
	struct vb_qp *qp; /* NULL: destroyed */
	bool exists;
	uint32_t host, qpn, streams, bad_max, depth, rnr;
	struct mem local;
	struct dc_sent *sent;
	uint32_t sent_cnt, sent_cap;
	uint32_t retired; /* the first that is not done */
	struct dc_link link[DCTS_MAX];
	bool bad[DC_STREAMS];
	uint32_t bad_cnt;
	bool moved;       /* put into ERR or RESET, or its CQ has overrun; cleared by RESET */
	bool is_ended;    /* one error too many; cleared by RESET */
	bool hurts;       /* posted what its target refuses */
	bool invalidates; /* posted a SEND with invalidate; cleared by RESET */
	bool hurts_ever, trouble; /* the same, for ever; ever failed, or put into another state */
	uint32_t void_cnt;
	struct writer writer[DC_STREAMS];
	struct owner owner;
};

struct dct {
	struct vb_qp *qp;
	struct vb_srq *srq;
	bool exists;
	uint32_t host, qpn, life;
	uint64_t key, pattern;
	struct mem region, mem; /* for remote accesses; for receives */
	struct posted recv[DC_SRQ_WRS];
	uint32_t posted;
	bool moved; /* was put into ERR or RESET */
	bool last_wqe;
	struct owner owner;
};

struct dc {
	struct dci dci[DCIS_MAX];
	struct dct dct[DCTS_MAX];
	uint32_t mtu;
	uint64_t next_key;
};

/* dc_judge.c */
void dc_completion(struct play *p, struct dc *dc, uint32_t host, const struct vb_wc *wc);
void dci_void(struct dci *d); /* work under way will never complete */
void dci_check(struct play *p, const struct dc *dc, struct dci *d); /* at the end of a case */
void dct_check(struct play *p, const struct dc *dc, const struct dct *t);

#endif
