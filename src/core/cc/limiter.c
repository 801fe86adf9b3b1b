/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rate limiter of a QP: an account in time. A packet costs the time that its bytes take at
 * CC_RATE_MEM, and the next one may leave when the account is paid. Unused time is kept for one
 * window of 1024 cycles, so in any span the QP sends what the windows that it touches allow and at
 * most one packet more; remainders are carried, so the mean is exact. No timer, no loop. CC-01,
 * CC-33
 */
#include "core/cc/cc.h"

/* bytes * WINDOW_NS / (units * Hz) are ns. */
#define WINDOW_NS (UINT64_C(1000000000) * VB_CC_WINDOW_CYCLES)
#define Q15 (1u << 15)

static uint64_t units_in_force(const struct vb_cc *cc, const struct vb_cc_settings *set)
{
	uint16_t least = set->dcqcn_min_rate ? set->dcqcn_min_rate : 1;

	return cc->cc_rate > least ? cc->cc_rate : least;
}

/* For so long unused time is kept. Bytes, where they are given, take the time that the rate makes
 * of them. REG-09 */
static vb_dur time_kept(const struct vb_cc *cc, const struct vb_cc_settings *set)
{
	vb_dur window = WINDOW_NS / set->cc_clk_hz;

	if (set->limiter_burst_bytes)
		return set->limiter_burst_bytes * WINDOW_NS /
		       (units_in_force(cc, set) * set->cc_clk_hz);
	return set->limiter_burst_ns > window ? set->limiter_burst_ns : window;
}

/* Without a division: it is asked whenever the QP has a turn. */
bool vb_limiter_exceeds(const struct vb_cc *cc, const struct vb_cc_settings *set, uint32_t bytes,
			vb_dur span)
{
	uint64_t per = units_in_force(cc, set) * set->cc_clk_hz, least;

	return span != VB_NEVER && !__builtin_mul_overflow(span + 1, per, &least) &&
	       bytes * WINDOW_NS >= least;
}

/* Divisions are what a packet at line rate would have to wait for: they are done when the size or
 * the rate is another one. */
static void packet_price(struct vb_cc *cc, uint32_t bytes, uint64_t per)
{
	/* bytes < 2^17: below 2^57; units * Hz: below 2^48; the remainder of it * 2^15 fits. */
	uint64_t cost = bytes * WINDOW_NS;

	if (cc->cost_bytes == bytes && cc->cost_per == per)
		return;
	cc->cost_bytes = bytes;
	cc->cost_per = per;
	cc->cost = cost / per;
	cc->cost_q15 = (uint16_t)(cost % per * Q15 / per);
}

void vb_limiter_charge(struct vb_cc *cc, const struct vb_cc_settings *set, uint32_t bytes,
		       vb_time now)
{
	/* Most of the time a look without a division is enough. */
	vb_dur sure = set->limiter_burst_bytes ? 0 : set->limiter_burst_ns;

	if (vb_time_after(cc->next, sure) < now) {
		vb_dur keep = time_kept(cc, set);

		if (vb_time_after(cc->next, keep) < now) {
			cc->next = now - keep;
			cc->next_q15 = 0;
		}
	}
	packet_price(cc, bytes, units_in_force(cc, set) * set->cc_clk_hz);

	uint32_t q15 = cc->next_q15 + (uint32_t)cc->cost_q15;

	cc->next = vb_time_after(cc->next, cc->cost + q15 / Q15);
	cc->next_q15 = (uint16_t)(q15 % Q15);
}

vb_dur vb_limiter_wait(const struct vb_cc *cc, const struct vb_cc_settings *set)
{
	return (set->limiter_burst_bytes ? time_kept(cc, set) : set->limiter_burst_ns) / 2;
}

void vb_limiter_set(struct vb_cc *cc, const struct vb_cc_settings *set, uint16_t units, vb_time at)
{
	uint64_t from = units_in_force(cc, set);
	vb_dur owed = vb_time_since(at, cc->next);

	cc->cc_rate = units;
	if (owed && owed <= UINT64_MAX / VB_CC_RATE_MAX)
		cc->next = at + owed * from / units_in_force(cc, set);
}

uint32_t vb_limiter_bytes(const struct vb_cc *cc, const struct vb_cc_settings *set, vb_time now)
{
	if (set->cc_clk_hz == 0)
		return 0;

	/* ns * units / (ns of a window) */
	vb_dur window = WINDOW_NS / set->cc_clk_hz;
	vb_dur used = vb_time_since(now, vb_time_after(cc->next, window));

	if (used > UINT64_MAX / VB_CC_RATE_MAX)
		return UINT32_MAX;

	uint64_t bytes = used * units_in_force(cc, set) / window;

	return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

void vb_limiter_set_bytes(struct vb_cc *cc, const struct vb_cc_settings *set, uint32_t bytes,
			  vb_time now)
{
	if (set->cc_clk_hz == 0)
		return;

	vb_dur window = WINDOW_NS / set->cc_clk_hz;

	/* At most 2^32 * 2^20. */
	cc->next = now - (window < now ? window : now);
	cc->next = vb_time_after(cc->next, bytes * window / units_in_force(cc, set));
	cc->next_q15 = 0;
}
