/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exhaustive small cases: a handful of exchanges, each run with every set of its first packets
 * lost, doubled, or delivered late.
 */
#include "rc.h"
#include "scenarios.h"

#include <stdlib.h>

#define PACKETS 8

static const struct exchange {
	struct {
		enum vb_wr_opcode opcode;
		uint32_t len;
	} wr[4];
	uint32_t cnt;
} exchanges[] = {
    {{{VB_WR_SEND, 1}, {VB_WR_SEND, 0}, {VB_WR_SEND_IMM, 700}}, 3},
    {{{VB_WR_RDMA_WRITE, 9000}}, 1},
    {{{VB_WR_RDMA_WRITE_IMM, 600}, {VB_WR_RDMA_WRITE, 3}}, 2},
    {{{VB_WR_RDMA_READ, 9000}}, 1},
    {{{VB_WR_RDMA_READ, 100}, {VB_WR_RDMA_READ, 5000}, {VB_WR_SEND, 10}}, 3},
    {{{VB_WR_RDMA_READ, 1500}, {VB_WR_FETCH_ADD, 8}, {VB_WR_RDMA_READ, 700}, {VB_WR_SEND, 5}}, 4},
    {{{VB_WR_ATOMIC_WRITE, 8}, {VB_WR_RDMA_READ, 300}, {VB_WR_ATOMIC_WRITE, 8}}, 3},
    {{{VB_WR_FETCH_ADD, 8}, {VB_WR_FETCH_ADD, 8}, {VB_WR_COMPARE_SWAP, 8}}, 3},
    {{{VB_WR_RDMA_WRITE, 300}, {VB_WR_RDMA_READ, 300}, {VB_WR_FETCH_ADD, 8}, {VB_WR_SEND, 5}}, 4},
};

enum fault { LOSE, DOUBLE, DELAY, FAULT_CNT };

static uint64_t exchange_run(const struct exchange *x, uint64_t seed, enum fault fault,
			     uint64_t mask, bool selective)
{
	struct world w = {.seed = seed, .rng = vb_rng_stream(seed, "masks", 0), .timeout_exp = 10};
	struct world_config cfg = {
	    .host_cnt = 2, .cq_cnt = 1, .recovery.selective_repeat_forced_en = selective};
	struct rc_params p = {.depth_min = 4, .depth_max = 4, .rnr_retry = 7};

	w.net.rng = vb_rng_stream(seed, "net", 0);
	w.net.delay_min = w.net.delay_max = VB_USEC;
	w.net.reorder_max = 100 * VB_USEC;
	w.net.loss_mask = fault == LOSE ? mask : 0;
	w.net.dup_mask = fault == DOUBLE ? mask : 0;
	w.net.late_mask = fault == DELAY ? mask : 0;
	w.on_wc = rc_on_wc;
	w.on_async = rc_on_async;
	w.act = rc_act;
	world_open(&w, &cfg);
	rc_connect(&w, &p);

	struct rc_side *side[2] = {(struct rc_side *)w.side[0], (struct rc_side *)w.side[1]};

	for (uint32_t i = 0; i < x->cnt; i++)
		rc_post(side[0], x->wr[i].opcode, x->wr[i].len, true);
	while (!rc_is_done(side[0]) || !rc_is_done(side[1])) {
		if (w.now > VB_SEC)
			die(&w, "fault %d with mask %#llx of exchange %d does not complete", fault,
			    (unsigned long long)mask, (int)(x - exchanges));
		world_step(&w);
	}
	while (world_next(&w) != VB_NEVER)
		world_step(&w);
	rc_close(side[0]);
	rc_close(side[1]);
	world_close(&w);
	free(side[0]);
	free(side[1]);
	return w.completions;
}

uint64_t masks_run_all(void)
{
	uint64_t completions = 0;

	for (size_t i = 0; i < sizeof exchanges / sizeof *exchanges; i++)
		for (enum fault f = 0; f < FAULT_CNT; f++)
			/* All eight lost may be all eight attempts of a QP, which then gives up. */
			for (uint64_t mask = 0; mask < (1u << PACKETS) - 1; mask++)
				completions += exchange_run(&exchanges[i], i, f, mask, false) +
					       exchange_run(&exchanges[i], i, f, mask, true);
	return completions;
}
