/* SPDX-License-Identifier: BSD-2-Clause */
/* One retransmission policy and its clock: arm, fire, progress. */
#ifndef VB_TESTS_LADDER_H
#define VB_TESTS_LADDER_H

#include "core/recover/rto.h"

#include "cmocka_env.h"

/* The profile of facts A.1's worked ladder. */
static const struct vb_recovery worked = {
    .roce_adp_retrans_en = true,
    .adp_retx_profile_id = 1,
    .profile = {.qp_total_timeout = false,
		.range_num = 2,
		.time_unit = VB_ADP_TIME_USEC,
		.time_base = 4,
		.retx_total_timeout = 40,
		.timeout_init_low_bound = 12,
		.timeout_init_range_size = 4,
		.timeout_range = {{0, VB_ADP_DEC_DIV_2, 2, 12, 4},
				  {0, VB_ADP_DEC_DIV_4, 1, 16, 3}}},
};

/* A QP without a timeout of its own, and its clock. */
struct ladder {
	struct vb_rto_rules rules;
	struct vb_rto rto;
	vb_time now, fires;
	enum vb_rto_move move;
};

static inline void ladder_init(struct ladder *l, const struct vb_recovery *set, uint8_t timeout,
			       uint8_t retry_cnt, uint64_t seed)
{
	*l = (struct ladder){.rules = {.set = *set}, .now = 1000};
	assert_int_equal(vb_recovery_check(set, NULL), 0);
	vb_rto_reset(&l->rto, &l->rules, timeout, retry_cnt, vb_rng_stream(seed, "adp", 7));
}

/* Arms the timer and returns how long it runs. */
static inline vb_dur armed(struct ladder *l)
{
	vb_rto_adopt(&l->rto, &l->rules);
	l->fires = vb_rto_arm(&l->rto, &l->rules, l->now);
	return l->fires == VB_NEVER ? VB_NEVER : l->fires - l->now;
}

/* Lets it fire. */
static inline bool fire(struct ladder *l)
{
	l->now = l->fires;
	return vb_rto_timed_out(&l->rto, &l->rules, l->now, &l->move);
}

static inline enum vb_rto_move progress(struct ladder *l)
{
	return vb_rto_progress(&l->rto, &l->rules, vb_psn(10), vb_psn(20));
}

#endif
