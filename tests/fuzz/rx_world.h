/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The adapter that fuzz_rx attacks: memory regions between guard areas, a CQ, SRQs, and QPs of
 * every transport in every state. Every check that an input may not break is here.
 */
#ifndef VB_TESTS_FUZZ_RX_WORLD_H
#define VB_TESTS_FUZZ_RX_WORLD_H

#include "core/hca.h"

#include <stdlib.h>

#define require(cond)                                                                              \
	do {                                                                                       \
		if (!(cond))                                                                       \
			abort();                                                                   \
	} while (0)

#define REGION_CNT 4
#define REGION_LEN 8192
#define GUARD_LEN 4096
#define ARENA_LEN (REGION_CNT * (REGION_LEN + GUARD_LEN) + GUARD_LEN)
#define QP_CNT 17
#define QP_FIRST_DC 12 /* these, and those of XRC behind them, see take_qp() */
#define DC_KEY 0x1234u
#define WR_MAX 4096

enum { REGION_ALL, REGION_WRITE, REGION_RECV, REGION_READ_ONLY };

struct world {
	vb_time now;
	struct vb_hca *hca;
	struct vb_pd *pd;
	struct vb_cq *cq;
	struct vb_srq *srq;
	struct vb_xrcd *xrcd;
	struct vb_srq *xsrq;
	struct vb_mr *mr[REGION_CNT]; /* NULL: deregistered */
	uint32_t rkey[REGION_CNT], lkey[REGION_CNT];
	struct vb_qp *qp[QP_CNT]; /* NULL: destroyed */
	enum vb_qp_type type[QP_CNT];
	uint32_t qpn[QP_CNT];
	uint64_t wr_cnt;      /* posted so far; the next wr_id */
	uint8_t done[WR_MAX]; /* by wr_id: has completed */
	size_t allocated;     /* blocks */
	_Alignas(64) uint8_t arena[ARENA_LEN];
};

void world_open(struct world *w);
void world_close(struct world *w);

/* Memory of region @r. */
uint8_t *world_memory(struct world *w, unsigned r);
/* The path of packets to the peer. */
struct vb_path world_path(void);
/* Takes and checks everything there is to send, complete and report. */
void world_drain(struct world *w);
/* Lets @span pass, firing each deadline when it is due. */
void world_pass(struct world *w, vb_dur span);
/* Nothing outside the regions changed, and nothing that no one may write. */
void world_check_memory(const struct world *w);

#endif
