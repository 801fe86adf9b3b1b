/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The adaptive ladder: where a QP's timeout starts, how it climbs while nothing is heard, how it
 * comes down with progress, and how long all of it may take.
 *
 * A timeout is an exponent of time_base, so doubling is one step up, and a division by 2 or 4 is
 * one or two steps down. ADP-01...32 with the readings of facts A.1, REG-17...31
 */
#include "base/assert.h"
#include "core/recover/rto.h"

static unsigned range_values(const struct vb_adp_range *range)
{
	return range->range_size ? range->range_size : 1; /* REG-31 */
}

/* The exponent behind the highest of a range: the bound is exclusive. ADP-14 */
static unsigned range_end(const struct vb_adp_range *range)
{
	return range->range_low_bound + range_values(range);
}

static uint8_t range_top(const struct vb_adp_range *range)
{
	unsigned top = range_end(range) - 1;

	return top > UINT8_MAX ? UINT8_MAX : (uint8_t)top;
}

/* time_base << @exp, saturating. ADP-03 */
static vb_dur base_shift(const struct vb_adp_profile *p, unsigned exp)
{
	vb_dur base = p->time_base * VB_USEC;

	return exp >= 64 || base > VB_NEVER >> exp ? VB_NEVER : base << exp;
}

/* ADP-17. An unlimited QP timeout makes an unlimited total; one without retries has the time of one
 * timeout. */
static vb_dur total_timeout(const struct vb_rto *r, const struct vb_recovery *set,
			    const struct vb_adp_profile *p)
{
	unsigned cnt = r->attr_extended            ? r->attr_extended /* REG-18 */
		       : set->extended_retry_count ? set->extended_retry_count
						   : r->attr_retry;
	vb_dur t = vb_ack_timeout_ns(r->cap_exp);

	if (!p->qp_total_timeout)
		return base_shift(p, p->retx_total_timeout);
	if (cnt == 0)
		cnt = 1;
	return t > VB_NEVER / cnt ? VB_NEVER : t * cnt;
}

void vb_adp_set_total(struct vb_rto *r, const struct vb_recovery *set)
{
	r->total = total_timeout(r, set, vb_recovery_profile(set));
}

void vb_adp_start(struct vb_rto *r, const struct vb_recovery *set)
{
	const struct vb_adp_profile *p = vb_recovery_profile(set);
	unsigned size = p->timeout_init_range_size ? p->timeout_init_range_size : 1; /* ADP-02 */
	unsigned exp = p->timeout_init_low_bound + vb_rng_below(&r->rng, size); /* ADP-01, ADP-07 */

	r->cur_exp = exp > UINT8_MAX ? UINT8_MAX : (uint8_t)exp;
	r->range = VB_RTO_NO_RANGE;
	r->uses = 0;
	r->total = total_timeout(r, set, p);
}

static unsigned log2_of(unsigned power_of_2)
{
	unsigned n = 0;

	while (power_of_2 > 1u << n)
		n++;
	return n;
}

vb_dur vb_adp_timeout(const struct vb_rto *r, const struct vb_recovery *set, unsigned *slot)
{
	const struct vb_adp_profile *p = vb_recovery_profile(set);
	vb_dur t = base_shift(p, r->cur_exp);
	vb_dur cap = vb_ack_timeout_ns(r->cap_exp); /* ADP-16: 0 is no cap */
	unsigned exp = log2_of(p->time_base) + r->cur_exp;

	*slot = exp < 63 ? exp : 63;
	if (cap < t) {
		t = cap;
		*slot = 64u + r->cap_exp;
	}
	return t < VB_ADP_BASE_MIN_NS ? VB_ADP_BASE_MIN_NS : t; /* ADP-23 */
}

/* The value has been used often enough: the next one. ADP-12, ADP-13 */
static enum vb_rto_move step_up(struct vb_rto *r, const struct vb_adp_profile *p)
{
	const struct vb_adp_range *range = &p->timeout_range[r->range];

	r->uses = 0;
	if (r->cur_exp + 1u < range_end(range) && r->cur_exp < UINT8_MAX) {
		r->cur_exp++;
		return VB_RTO_DOUBLES;
	}
	if (r->range + 1 >= p->range_num)
		return VB_RTO_HOLDS;
	r->range++;
	VB_ASSERT_ALL(r->range < p->range_num);
	/* Ranges may overlap; entering one never lowers the timeout. */
	if (r->cur_exp < range[1].range_low_bound)
		r->cur_exp = range[1].range_low_bound;
	return VB_RTO_NEXT_RANGE;
}

/* The range that an initial value lies in, the lowest one first. ADP-05 */
static uint8_t range_of(const struct vb_adp_profile *p, uint8_t exp)
{
	for (uint8_t i = 0; i < p->range_num; i++) {
		const struct vb_adp_range *range = &p->timeout_range[i];

		if (exp >= range->range_low_bound && exp < range_end(range))
			return i;
	}
	return VB_RTO_NO_RANGE;
}

enum vb_rto_move vb_adp_raise(struct vb_rto *r, const struct vb_adp_profile *p)
{
	enum vb_rto_move stays = VB_RTO_AGAIN;

	if (r->range == VB_RTO_NO_RANGE) {
		r->range = range_of(p, r->cur_exp);
		if (r->range == VB_RTO_NO_RANGE) { /* ADP-06 */
			r->range = p->start_range_index;
			r->cur_exp = p->timeout_range[r->range].range_low_bound;
			r->uses = 0;
			return VB_RTO_START_RANGE;
		}
		stays = VB_RTO_ENTERS;
	}

	unsigned uses_max = p->timeout_range[r->range].timeout_retry_num;

	VB_ASSERT_ALL(r->range < p->range_num);
	/* The expiry of an initial value counts as its first use. ADP-05, ADP-09, ADP-11 */
	r->uses++;
	return r->uses < uses_max ? stays : step_up(r, p);
}

enum vb_rto_move vb_adp_lower(struct vb_rto *r, const struct vb_adp_profile *p)
{
	const struct vb_adp_range *range = &p->timeout_range[r->range];
	uint8_t low = range->range_low_bound;
	bool to_low = range->dec_mode == VB_ADP_DEC_LOW_BOUND;
	unsigned steps = range->dec_mode == VB_ADP_DEC_DIV_4 ? 2 : 1; /* ADP-20 */

	r->uses = 0; /* retries of one value are consecutive ones. REG-29 */
	if (r->cur_exp > low) {
		r->cur_exp =
		    to_low || r->cur_exp < low + steps ? low : (uint8_t)(r->cur_exp - steps);
		return VB_RTO_DECREMENTS;
	}
	if (r->range == 0)
		return VB_RTO_STAYS; /* ADP-22 */
	/* Already at the low bound when it should fall again. ADP-21, ADP-24 */
	r->range = range->prev_range_index;
	VB_ASSERT_ALL(r->range < p->range_num);
	range = &p->timeout_range[r->range];
	low = to_low ? range->range_low_bound : range_top(range);
	if (r->cur_exp > low)
		r->cur_exp = low;
	return VB_RTO_PREV_RANGE;
}
