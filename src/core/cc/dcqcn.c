/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DCQCN's reaction point in integers, as an RDMA core with registers has it: points that the text
 * leaves open are decided in docs/congestion-control.md, item by item. CC-05...30, CC-56...62
 */
#include "base/assert.h"
#include "core/cc/cc.h"
#include "core/cc/dfx.h"

#define STAGE_MAX UINT16_MAX
#define ONE_UNIT_Q8 256u
#define ALPHA_LAST_Q20 ((1u << 20) - 1)

enum stage { FAST_RECOVERY, ADDITIVE, HYPER };

static uint32_t max_q8(const struct vb_cc_settings *set)
{
	uint16_t least = set->dcqcn_min_rate ? set->dcqcn_min_rate : 1;

	return (uint32_t)(set->dcqcn_max_rate > least ? set->dcqcn_max_rate : least) << 8;
}

static uint32_t min_q8(const struct vb_cc_settings *set)
{
	return (uint32_t)(set->dcqcn_min_rate ? set->dcqcn_min_rate : 1) << 8;
}

static uint32_t clamp_q8(const struct vb_cc_settings *set, uint32_t q8)
{
	uint32_t lo = min_q8(set), hi = max_q8(set);

	return q8 < lo ? lo : q8 > hi ? hi : q8;
}

static bool is_at_max(const struct vb_cc *cc, const struct vb_cc_settings *set)
{
	return cc->cur_q8 >= max_q8(set) && cc->tgt_q8 >= max_q8(set);
}

static vb_time after_us(vb_time t, uint16_t us)
{
	return us ? vb_time_after(t, us * VB_USEC) : VB_NEVER;
}

/* CC-43, CC-44, CC-62 */
static void start_timer(struct vb_cc *cc, const struct vb_cc_settings *set, vb_time at)
{
	cc->nocnp_at = is_at_max(cc, set) ? VB_NEVER : after_us(at, set->dcqcn_nocnp_timer_th);
}

static uint32_t alpha_cut_off(const struct vb_cc_settings *set, uint32_t q20)
{
	uint32_t lost = VB_CC_ALPHA_FRAC_MAX - set->alpha_frac_bits;

	q20 = q20 >> lost << lost;
	return q20 < ALPHA_LAST_Q20 ? q20 : ALPHA_LAST_Q20;
}

static uint32_t initial_alpha_q20(const struct vb_cc *cc, const struct vb_cc_settings *set)
{
	return (uint32_t)(cc->alpha_written ? cc->alpha_first : set->initial_alpha) << 10;
}

/* CC-24: alpha's period starts over, if alpha decays at all. */
static void restart_decay(struct vb_cc *cc, const struct vb_cc_settings *set, vb_time at)
{
	bool decays = cc->active || set->alpha_mode == VB_CC_ALPHA_ALWAYS;

	cc->alpha_at = decays ? after_us(at, set->dcqcn_alpha_timer_th) : VB_NEVER;
}

/* The rate has come back to its maximum, so that the next CNP is a first one: alpha is what it is
 * for that. The literal reading keeps what is left of it. facts C.3 */
static void end_reaction(struct vb_cc *cc, const struct vb_cc_settings *set)
{
	cc->active = false;
	if (set->alpha_mode == VB_CC_ALPHA_ALWAYS)
		return;
	cc->alpha_q20 = initial_alpha_q20(cc, set);
	cc->alpha_at = VB_NEVER;
}

static void begin_reaction(struct vb_cc *cc, const struct vb_cc_settings *set, vb_time at)
{
	if (cc->active)
		return;
	cc->active = true;
	if (set->alpha_mode == VB_CC_ALPHA_ACTIVE)
		restart_decay(cc, set, at);
}

/* ((1024 - g) alpha + g) / 1024 with alpha a share of 1; at most 2^31 inside. CC-26...28 */
static void alpha_rise(struct vb_cc *cc, const struct vb_cc_settings *set)
{
	uint32_t g = set->dcqcn_upd_alpha_g;

	cc->alpha_q20 = alpha_cut_off(set, ((1024 - g) * cc->alpha_q20 + (g << 20)) >> 10);
}

/* One step for each period without a CNP. CC-24, CC-25 */
static void alpha_decay(struct vb_cc *cc, const struct vb_cc_settings *set, vb_time now)
{
	uint32_t g = set->dcqcn_upd_alpha_g;

	while (cc->alpha_at <= now) {
		if (g == 0 || cc->alpha_q20 == 0) {
			vb_dur th = set->dcqcn_alpha_timer_th * VB_USEC;

			cc->alpha_at += th ? ((now - cc->alpha_at) / th + 1) * th : VB_NEVER;
			return;
		}
		cc->alpha_q20 = alpha_cut_off(set, ((1024 - g) * cc->alpha_q20) >> 10);
		cc->alpha_at = after_us(cc->alpha_at, set->dcqcn_alpha_timer_th);
	}
}

static bool clamps_target(const struct vb_cc *cc, const struct vb_cc_settings *set)
{
	return set->clamp_mode == VB_CC_CLAMP_ALWAYS || cc->bc > 0 ||
	       (set->clamp_mode == VB_CC_CLAMP_AFTER_INCREASE && cc->t > 0);
}

/* The cut, with the alpha from before; then alpha rises. CC-10, CC-14, CC-15, CC-26 */
static void rate_cut(struct vb_cc *cc, const struct vb_cc_settings *set, vb_time at)
{
	uint64_t was = cc->cur_q8;
	uint64_t now = was - (was * vb_cc_alpha(cc) >> (set->dcqcn_alpha_rate_shift + 10));

	if (now < was * set->min_dec_fac / 100)
		now = was * set->min_dec_fac / 100;
	if (clamps_target(cc, set))
		cc->tgt_q8 = cc->cur_q8;
	cc->cur_q8 = clamp_q8(set, (uint32_t)now);
	VB_ASSERT_ALL(now <= was && cc->alpha_q20 < 1u << 20);
	alpha_rise(cc, set);
	cc->t = cc->bc = 0;
	cc->byte_cnt = 0;
	cc->cut_pending = false;
	begin_reaction(cc, set, at);
	start_timer(cc, set, at);
	vb_limiter_set(cc, set, vb_cc_current_rate(cc), at);
	vb_dfx_record(cc->dfx, VB_DFX_DECREASE, cc->cc_rate, at);
}

/* CC-22: the counts are of increases done since the cut. */
static enum stage stage_of(const struct vb_cc *cc, const struct vb_cc_settings *set)
{
	uint16_t most = cc->t > cc->bc ? cc->t : cc->bc;
	uint16_t least = cc->t < cc->bc ? cc->t : cc->bc;

	if (most < set->dcqcn_fr_threshold)
		return FAST_RECOVERY;
	return least > set->dcqcn_fr_threshold ? HYPER : ADDITIVE;
}

static uint32_t step_q8(const struct vb_cc_settings *set, enum stage stage)
{
	return stage == HYPER      ? set->dcqcn_rate_hai_q8
	       : stage == ADDITIVE ? set->dcqcn_rate_ai_q8
				   : 0;
}

/* CC-19...21, CC-61, CC-62 */
static void rate_increase(struct vb_cc *cc, const struct vb_cc_settings *set, bool by_time,
			  vb_time at)
{
	static const uint8_t code[] = {
	    [FAST_RECOVERY] = VB_DFX_FAST_RECOVERY,
	    [ADDITIVE] = VB_DFX_ADDITIVE,
	    [HYPER] = VB_DFX_HYPER,
	};
	enum stage stage = stage_of(cc, set);
	uint16_t *done = by_time ? &cc->t : &cc->bc;

	cc->tgt_q8 = clamp_q8(set, cc->tgt_q8 + step_q8(set, stage));
	if (cc->tgt_q8 >= cc->cur_q8 && cc->tgt_q8 - cc->cur_q8 <= ONE_UNIT_Q8)
		cc->cur_q8 = cc->tgt_q8;
	else
		cc->cur_q8 = clamp_q8(set, (cc->cur_q8 + cc->tgt_q8) / 2);
	if (*done < STAGE_MAX)
		++*done;
	if (by_time || is_at_max(cc, set))
		start_timer(cc, set, at);
	if (is_at_max(cc, set))
		end_reaction(cc, set);
	vb_limiter_set(cc, set, vb_cc_current_rate(cc), at);
	vb_dfx_record(cc->dfx, code[stage] | (by_time ? VB_DFX_BY_TIME : 0), cc->cc_rate, at);
}

/*
 * Increases by time up to @until that all do the same: the current rate follows the target at a
 * constant distance, so both rise by the step each time, and many are one sum. Recorded increases
 * are done one by one, while there is room.
 */
static void increase_on(struct vb_cc *cc, const struct vb_cc_settings *set, vb_time until)
{
	vb_dur th = set->dcqcn_nocnp_timer_th * VB_USEC;
	enum stage stage = stage_of(cc, set);
	uint32_t step = step_q8(set, stage);
	uint32_t left = max_q8(set) - cc->tgt_q8;
	bool records = vb_dfx_is_recording(cc->dfx);
	uint64_t cnt;

	if (th == 0 || (records && vb_dfx_has_room(cc->dfx)) || stage == FAST_RECOVERY ||
	    cc->t <= set->dcqcn_fr_threshold || cc->nocnp_at > until)
		return;
	cnt = (until - cc->nocnp_at) / th + 1;
	if (step && cnt > left / step)
		cnt = left / step;
	cc->tgt_q8 += (uint32_t)cnt * step;
	cc->cur_q8 += (uint32_t)cnt * step;
	cc->t = cc->t + cnt < STAGE_MAX ? (uint16_t)(cc->t + cnt) : STAGE_MAX;
	cc->nocnp_at += cnt * th;
	VB_ASSERT_ALL(cc->cur_q8 <= max_q8(set) && cc->tgt_q8 <= max_q8(set));
	vb_limiter_set(cc, set, vb_cc_current_rate(cc), cc->nocnp_at - th);
	if (is_at_max(cc, set)) {
		cc->nocnp_at = VB_NEVER;
		end_reaction(cc, set);
	}
	if (records)
		vb_dfx_skip(cc->dfx, VB_DFX_BY_TIME, cnt);
}

void vb_cc_on_time(struct vb_cc *cc, const struct vb_cc_settings *set, vb_time now)
{
	if (cc->ost_end <= now) {
		cc->ost_end = VB_NEVER;
		cc->window = set->tx_wqe_ost_limit_en ? VB_CC_OST_FULL : 0;
	}
	if (!set->dcqcn_hw_en)
		return;
	for (;;) {
		vb_time cut_at = cc->cut_pending ? cc->merge_end : VB_NEVER;
		vb_time until = vb_time_min(cut_at, now);

		if (cc->nocnp_at <= until) {
			uint32_t gap = cc->tgt_q8 - cc->cur_q8;

			rate_increase(cc, set, true, cc->nocnp_at);
			if (cc->tgt_q8 - cc->cur_q8 == gap && !is_at_max(cc, set))
				increase_on(cc, set, until);
		} else if (cut_at <= now) {
			alpha_decay(cc, set, cut_at);
			rate_cut(cc, set, cut_at);
		} else {
			break;
		}
	}
	alpha_decay(cc, set, now);
}

/* vb_cc_on_time() for each packet: of most, nothing is due. */
static inline void catch_up(struct vb_cc *cc, const struct vb_cc_settings *set, vb_time now)
{
	if (cc->alpha_at <= now || cc->nocnp_at <= now || cc->ost_end <= now || cc->cut_pending)
		vb_cc_on_time(cc, set, now);
}

/* CC-09; CC-16: a CNP that is merged holds off the timer too. */
static void cnp_merge(struct vb_cc *cc, const struct vb_cc_settings *set, vb_time now)
{
	vb_dur period = set->dcqcn_rx_cnp_merge_period * VB_USEC;

	if (period == 0 || (set->cut_mode == VB_CC_CUT_AT_ONCE && now >= cc->merge_end)) {
		rate_cut(cc, set, now);
		cc->merge_end = vb_time_after(now, period);
		return;
	}
	if (cc->nocnp_at != VB_NEVER)
		start_timer(cc, set, now);
	if (set->cut_mode == VB_CC_CUT_PERIODIC) {
		if (cc->merge_end <= now)
			cc->merge_end += ((now - cc->merge_end) / period + 1) * period;
		cc->cut_pending = true;
	}
}

bool vb_cc_on_cnp(struct vb_cc *cc, const struct vb_cc_settings *set, vb_time now)
{
	vb_cc_on_time(cc, set, now);
	if (set->tx_wqe_ost_limit_en && set->cnp_timer_thrd) {
		cc->window = VB_CC_OST_REDUCED;
		cc->ost_end = after_us(now, set->cnp_timer_thrd); /* CC-06, CC-08 */
	}
	if (set->dcqcn_hw_en) {
		cnp_merge(cc, set, now);
		restart_decay(cc, set, now);
	}
	return set->dcqcn_hw_en || set->tx_wqe_ost_limit_en;
}

void vb_cc_on_sent(struct vb_cc *cc, const struct vb_cc_settings *set, uint32_t bytes, vb_time now)
{
	uint64_t th = (uint64_t)set->dcqcn_byte_cnt_th << set->byte_cnt_unit_log2;

	catch_up(cc, set, now);
	cc->sent_at = now;
	if (vb_cc_limits(set))
		vb_limiter_charge(cc, set, bytes, now);
	if (!set->dcqcn_hw_en || th == 0 || is_at_max(cc, set))
		return;
	cc->byte_cnt += bytes;
	VB_ASSERT_ALL(cc->byte_cnt >= bytes);
	if (cc->byte_cnt >= th) {
		cc->byte_cnt %= th;
		rate_increase(cc, set, false, now);
	}
}

vb_time vb_cc_send_at(struct vb_cc *cc, const struct vb_cc_settings *set, vb_time now)
{
	if (!vb_cc_limits(set))
		return now;
	if (vb_cc_is_paid(cc, now))
		return cc->next;
	catch_up(cc, set, now);

	vb_time at = vb_time_after(cc->next, cc->next_q15 ? 1 : 0);

	if (at <= now)
		return at;
	at = vb_time_after(at, vb_limiter_wait(cc, set));
	return set->dcqcn_hw_en ? vb_time_min(at, cc->nocnp_at) : at;
}

void vb_cc_start_nocnp_timer(struct vb_cc *cc, const struct vb_cc_settings *set, vb_time now)
{
	vb_cc_on_time(cc, set, now);
	if (cc->nocnp_at == VB_NEVER)
		start_timer(cc, set, now);
}

void vb_cc_set_rate(struct vb_cc *cc, const struct vb_cc_settings *set, uint16_t units, vb_time now)
{
	vb_cc_on_time(cc, set, now);
	cc->sent_at = VB_NEVER;
	vb_limiter_set(cc, set, (uint16_t)(clamp_q8(set, (uint32_t)units << 8) >> 8), now);
}

/* Rates below the maximum are what the reaction point works on; at it, there is nothing to do. */
static void judge_reaction(struct vb_cc *cc, const struct vb_cc_settings *set, vb_time now)
{
	if (is_at_max(cc, set))
		end_reaction(cc, set);
	else
		begin_reaction(cc, set, now);
}

void vb_cc_set_current(struct vb_cc *cc, const struct vb_cc_settings *set, uint16_t current,
		       uint16_t target, vb_time now)
{
	vb_cc_on_time(cc, set, now);
	cc->cur_q8 = clamp_q8(set, (uint32_t)current << 8);
	cc->tgt_q8 = clamp_q8(set, (uint32_t)(target ? target : current) << 8);
	cc->sent_at = VB_NEVER;
	judge_reaction(cc, set, now);
}

void vb_cc_set_alpha(struct vb_cc *cc, const struct vb_cc_settings *set, uint16_t alpha,
		     vb_time now)
{
	vb_cc_on_time(cc, set, now);
	cc->alpha_q20 = (uint32_t)alpha << 10;
	cc->alpha_first = alpha;
	cc->alpha_written = true;
}

void vb_cc_set_merge(struct vb_cc *cc, const struct vb_cc_settings *set, uint16_t left_us,
		     vb_time now)
{
	vb_cc_on_time(cc, set, now);
	cc->merge_end = vb_time_after(now, left_us * VB_USEC);
	cc->cut_pending &= left_us != 0;
}

/* The values that a flow begins with. CC-41, CC-42, CC-44, CC-59 */
static void begin_at_first_rate(struct vb_cc *cc, const struct vb_cc_settings *set, vb_time now)
{
	uint16_t rate = set->initial_rate ? set->initial_rate : set->dcqcn_max_rate;

	cc->cur_q8 = cc->tgt_q8 = clamp_q8(set, (uint32_t)rate << 8);
	cc->alpha_q20 = initial_alpha_q20(cc, set);
	cc->t = cc->bc = 0;
	cc->byte_cnt = 0;
	cc->cut_pending = false;
	cc->active = !is_at_max(cc, set);
	restart_decay(cc, set, now);
	start_timer(cc, set, now);
}

void vb_cc_reset(struct vb_cc *cc, const struct vb_cc_settings *set, vb_time now)
{
	*cc = (struct vb_cc){
	    .window = set->tx_wqe_ost_limit_en ? VB_CC_OST_FULL : 0,
	    .merge_end = set->cut_mode == VB_CC_CUT_PERIODIC ? now : 0,
	    .ost_end = VB_NEVER,
	    .sent_at = VB_NEVER,
	    .next = now,
	    .dfx = cc->dfx,
	};
	begin_at_first_rate(cc, set, now);
	cc->cc_rate = vb_cc_current_rate(cc);
}

void vb_cc_on_flow(struct vb_cc *cc, const struct vb_cc_settings *set, vb_time now)
{
	vb_dur idle = vb_time_since(cc->next > cc->sent_at ? cc->next : cc->sent_at, now);

	if (!set->dcqcn_hw_en || !set->inactivity_th || cc->sent_at == VB_NEVER ||
	    idle < set->inactivity_th * VB_USEC)
		return;
	vb_cc_on_time(cc, set, now); /* the record is complete */
	begin_at_first_rate(cc, set, now);
	if (set->cut_mode == VB_CC_CUT_AT_ONCE)
		cc->merge_end = now;
	cc->sent_at = now;
	vb_limiter_set(cc, set, vb_cc_current_rate(cc), now);
}

void vb_cc_adopt(struct vb_cc *cc, const struct vb_cc_settings *from,
		 const struct vb_cc_settings *to, vb_time now)
{
	if (!from->dcqcn_hw_en && !vb_cc_limits(from)) {
		vb_cc_reset(cc, to, now);
		return;
	}
	vb_cc_on_time(cc, from, now);
	cc->window = to->tx_wqe_ost_limit_en ? VB_CC_OST_FULL : 0;
	cc->ost_end = VB_NEVER;
	if (!to->dcqcn_hw_en) {
		cc->cut_pending = false;
		vb_cc_set_rate(cc, to, cc->cc_rate, now);
		return;
	}
	cc->cur_q8 = clamp_q8(to, cc->cur_q8);
	cc->tgt_q8 = clamp_q8(to, cc->tgt_q8);
	cc->alpha_q20 = alpha_cut_off(to, cc->alpha_q20);
	judge_reaction(cc, to, now);
	restart_decay(cc, to, now);
	start_timer(cc, to, now);
	vb_limiter_set(cc, to, vb_cc_current_rate(cc), now);
}
