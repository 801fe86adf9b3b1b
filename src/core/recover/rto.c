/* SPDX-License-Identifier: BSD-2-Clause */
/* The choice of a strategy, the fixed one, and the RNR timer table. IBA 9.7.6.1.3, 9.7.5.2.8 */
#include "core/recover/rto.h"

#include "base/assert.h"
#define STRETCH_ONE 1024u /* a factor of 1 */
/* Wake-ups in a row, without a word of the peer, that send again after all else is spent: on a host
 * that never lets a process run for long a dead peer must be found dead as well. */
#define GRACES 7u

const char *vb_rto_move_text(enum vb_rto_move move)
{
	static const char *const text[VB_RTO_MOVE_CNT] = {
	    [VB_RTO_STAYS] = "stays",
	    [VB_RTO_STARTS] = "initial value",
	    [VB_RTO_ENTERS] = "goes on in the range it lies in",
	    [VB_RTO_START_RANGE] = "to the start range",
	    [VB_RTO_AGAIN] = "same value again",
	    [VB_RTO_DOUBLES] = "doubled",
	    [VB_RTO_NEXT_RANGE] = "to the next range",
	    [VB_RTO_HOLDS] = "holds at the top",
	    [VB_RTO_DECREMENTS] = "lowered by progress",
	    [VB_RTO_PREV_RANGE] = "to the previous range by progress",
	};

	return (unsigned)move < VB_RTO_MOVE_CNT ? text[move] : "?";
}

static void rto_start(struct vb_rto *r, const struct vb_rto_rules *rules)
{
	const struct vb_recovery *set = &rules->set;
	uint8_t least = set->min_ack_timeout_limit_disabled ? 0 : set->min_ack_timeout;

	r->epoch = rules->epoch;
	r->cap_exp = r->attr_timeout && r->attr_timeout < least ? least : r->attr_timeout;
	r->retry_left = r->attr_retry;
	r->graces = GRACES;
	r->carries_on = false;
	r->adaptive = set->roce_adp_retrans_en;
	if (r->adaptive)
		vb_adp_start(r, set);
	else
		r->timeout = vb_ack_timeout_ns(r->cap_exp);
}

void vb_rto_reset(struct vb_rto *r, const struct vb_rto_rules *rules, uint8_t timeout_exp,
		  uint8_t retry_cnt, struct vb_rng rng)
{
	*r = (struct vb_rto){.since = VB_NEVER,
			     .rng = rng,
			     .attr_extended = r->attr_extended,
			     .attr_timeout = timeout_exp & 31,
			     .attr_retry = retry_cnt & 7};
	rto_start(r, rules);
}

void vb_rto_set_extended(struct vb_rto *r, const struct vb_rto_rules *rules, uint8_t cnt)
{
	if (r->attr_extended == cnt)
		return;
	r->attr_extended = cnt;
	if (r->adaptive && r->epoch == rules->epoch)
		vb_adp_set_total(r, &rules->set);
}

enum vb_rto_move vb_rto_adopt(struct vb_rto *r, const struct vb_rto_rules *rules)
{
	if (r->epoch == rules->epoch)
		return VB_RTO_STAYS;
	rto_start(r, rules);
	return r->adaptive ? VB_RTO_STARTS : VB_RTO_STAYS;
}

/* ADP-31: firmware may wait up to four times as long as it was told. */
static vb_dur timeout_stretch(struct vb_rto *r, const struct vb_recovery *set, vb_dur t)
{
	uint64_t factor = STRETCH_ONE;

	if (set->adp_timeout_stretch == VB_STRETCH_MAX)
		factor = 4 * STRETCH_ONE;
	else if (set->adp_timeout_stretch == VB_STRETCH_RANDOM)
		factor += vb_rng_below(&r->rng, 3 * STRETCH_ONE + 1);
	return factor == STRETCH_ONE || t > VB_NEVER / factor ? t : t * factor / STRETCH_ONE;
}

/* When a timer that starts now ends. */
static vb_time timer_end(struct vb_rto *r, const struct vb_rto_rules *rules, vb_time now)
{
	unsigned slot;

	if (!r->adaptive)
		return vb_time_after(now, r->timeout);
	r->timeout = timeout_stretch(r, &rules->set, vb_adp_timeout(r, &rules->set, &slot));
	/* An attempt that a window held back until the total was over still gets its time; a
	 * deadline never lies before now. */
	if (vb_rto_budget(r, now) == 0)
		return vb_time_after(now, r->timeout);
	return vb_time_min(vb_time_after(now, r->timeout), vb_time_after(r->since, r->total));
}

vb_time vb_rto_arm(struct vb_rto *r, const struct vb_rto_rules *rules, vb_time now)
{
	vb_time end;

	if (r->since == VB_NEVER)
		r->since = now;
	end = timer_end(r, rules, now);
	if (!r->carries_on)
		r->charge_at = end;
	/* Time that the process did not run is found late: @since may lie after @now. */
	VB_ASSERT_ALL(end >= now);
	r->woke = r->carries_on = false;
	return end;
}

enum vb_rto_move vb_rto_progress(struct vb_rto *r, const struct vb_rto_rules *rules,
				 struct vb_psn una, struct vb_psn nxt)
{
	r->timeout_cnt = 0;
	vb_rto_paused(r);
	if (!r->adaptive)
		return VB_RTO_STAYS;
	if (r->range == VB_RTO_NO_RANGE || r->epoch != rules->epoch)
		return VB_RTO_STAYS;
	if (rules->set.adp_dec_per_flight) {
		if (r->dec_waits && vb_psn_before(una, r->dec_psn))
			return VB_RTO_STAYS;
		r->dec_waits = true;
		r->dec_psn = nxt;
	}
	return vb_adp_lower(r, vb_recovery_profile(&rules->set));
}

void vb_rto_paused(struct vb_rto *r)
{
	r->since = VB_NEVER;
	r->retry_left = r->attr_retry;
	r->graces = GRACES;
	r->carries_on = false;
}

void vb_rto_excused(struct vb_rto *r, vb_time now)
{
	if (r->since != VB_NEVER)
		r->since = vb_time_min(vb_time_after(r->since, r->timeout), now);
	r->carries_on = false;
}

void vb_rto_woke(struct vb_rto *r)
{
	r->woke = true;
}

static bool may_retry(struct vb_rto *r, vb_time now)
{
	if (r->adaptive && vb_rto_budget(r, now) > 0)
		return true;
	if (!r->adaptive && r->retry_left) {
		r->retry_left--;
		return true;
	}
	if (!r->woke || !r->graces)
		return false;
	r->graces--;
	return true;
}

bool vb_rto_timed_out(struct vb_rto *r, const struct vb_rto_rules *rules, vb_time now,
		      enum vb_rto_move *move)
{
	bool again;

	r->timeout_cnt++;
	*move = VB_RTO_STAYS;
	if (r->woke && now < r->charge_at) {
		r->carries_on = true;
		return true;
	}
	again = may_retry(r, now);
	if (r->adaptive && again && r->epoch == rules->epoch)
		*move = vb_adp_raise(r, vb_recovery_profile(&rules->set));
	return again;
}

bool vb_rto_gap(struct vb_rto *r, vb_time now)
{
	return may_retry(r, now);
}

vb_dur vb_rto_budget(const struct vb_rto *r, vb_time now)
{
	if (!r->adaptive || r->since == VB_NEVER || r->total == VB_NEVER)
		return VB_NEVER;
	return vb_time_since(now, vb_time_after(r->since, r->total));
}

vb_dur vb_rnr_timer_ns(uint8_t code)
{
	/* Units of 10 us. rxe has 6141 for code 25; the table of the standard is followed here. */
	static const uint32_t ticks[32] = {
	    65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,    32,
	    48,    64,   96,   128,  192,  256,   384,   512,   768,   1024,  1536,
	    2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
	};

	return ticks[code & 31] * UINT64_C(10000);
}
