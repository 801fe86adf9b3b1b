/* SPDX-License-Identifier: BSD-2-Clause */
/* Recovery settings at random: any profile that passes, any set of functions. */
#include "world.h"

static struct vb_adp_profile random_profile(struct vb_rng *r)
{
	uint32_t low = vb_rng_below(r, 6);
	struct vb_adp_profile p = {
	    .qp_total_timeout = true,
	    .range_num = (uint8_t)rng_range(r, 1, VB_ADP_RANGES_MAX),
	    .time_unit = VB_ADP_TIME_USEC,
	    .time_base = (uint16_t)(4u << vb_rng_below(r, 3)),
	    .timeout_init_low_bound = (uint8_t)vb_rng_below(r, 10),
	    .timeout_init_range_size = (uint8_t)vb_rng_below(r, 4),
	};

	p.start_range_index = (uint8_t)vb_rng_below(r, p.range_num);
	for (uint32_t i = 0; i < p.range_num; i++) {
		p.timeout_range[i] = (struct vb_adp_range){
		    .prev_range_index = (uint8_t)(i ? vb_rng_below(r, i) : 0),
		    .dec_mode = (uint8_t)vb_rng_below(r, 3),
		    .timeout_retry_num = (uint16_t)vb_rng_below(r, 4),
		    .range_low_bound = (uint8_t)low,
		    .range_size = (uint8_t)vb_rng_below(r, 5),
		};
		low += rng_range(r, 1, 4);
	}
	return p;
}

struct vb_recovery random_recovery(struct vb_rng *r)
{
	struct vb_recovery set = {
	    .roce_adp_retrans_en = rng_chance(r, 60),
	    .roce_tx_window_en = rng_chance(r, 30),
	    .roce_slow_restart_en = rng_chance(r, 50),
	    .roce_slow_restart_idle_en = rng_chance(r, 30),
	    .selective_repeat_forced_en = rng_chance(r, 60),
	    .ack_dscp_force = rng_chance(r, 20),
	    .ack_dscp = (uint8_t)vb_rng_below(r, VB_DSCP_MAX + 1),
	    .adp_retx_profile_id = rng_chance(r, 70),
	    .adp_timeout_stretch = (uint8_t)vb_rng_below(r, 2),
	    .adp_dec_per_flight = rng_chance(r, 30),
	    /* Faults last for two timeouts at most; a QP must not give up meanwhile. */
	    .extended_retry_count = 40,
	    .tx_window_bytes = rng_range(r, 1, 30000),
	    .slow_restart_bytes = rng_range(r, 1, 9000),
	    .idle_restart_ns = rng_range(r, 1, 200000),
	};

	set.profile = random_profile(r);
	return set;
}
