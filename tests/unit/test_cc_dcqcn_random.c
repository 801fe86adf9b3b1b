/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reaction point against a second model in floating point, straight from the equations of the
 * DCQCN paper (facts B.11), over random CNPs, bytes and pauses; and against itself, called at every
 * instant at which something is due instead of seldom.
 *
 * Where they may differ: a cut uses the top 10 bits of alpha, so it may be smaller by rate / 2048
 * at shift 1, and what is kept of alpha loses less than as much again. Over many cuts between which
 * the rate rises little that adds up to less than a hundredth of the maximum rate, and to two
 * thousandths at most on the mean.
 */
#include "base/rng.h"
#include "cmocka_env.h"
#include "core/cc/cc.h"

#include <math.h>

/* The paper's reaction point; rates in units, times in us. */
struct model {
	double rc, rt, alpha, g, ai, hai, max, min;
	double f, timer, bytes, k;       /* parameters: F, T, B, K */
	double t, bc, byte_cnt;          /* stages and bytes since the cut */
	double timer_at, alpha_at, lock; /* next events; end of the merge period */
	double period;
	double first;        /* alpha of a first CNP */
	bool always, active; /* alpha decays always; the rate is to come back to the maximum */
};

static void model_raise(struct model *m)
{
	if (fmin(m->t, m->bc) > m->f)
		m->rt += m->hai;
	else if (fmax(m->t, m->bc) >= m->f)
		m->rt += m->ai;
	m->rt = fmin(m->rt, m->max);
	m->rc = (m->rt + m->rc) / 2;
}

static bool model_is_full(const struct model *m)
{
	return m->rc >= m->max - 1 && m->rt >= m->max;
}

/* Nothing is left to react to. facts C.3 */
static void model_rest(struct model *m)
{
	m->timer_at = INFINITY;
	m->active = false;
	if (m->always)
		return;
	m->alpha = m->first;
	m->alpha_at = INFINITY;
}

static void model_time(struct model *m, double now)
{
	while (m->timer_at <= now) {
		model_raise(m);
		m->t++;
		m->timer_at += m->timer;
		if (model_is_full(m))
			model_rest(m);
	}
	while (m->alpha_at <= now) {
		m->alpha *= 1 - m->g;
		m->alpha_at += m->k;
	}
}

static void model_cnp(struct model *m, double now)
{
	model_time(m, now);
	if (now >= m->lock) {
		m->rt = m->rc;
		m->rc = fmax(m->rc * (1 - m->alpha / 2), m->min);
		m->alpha = (1 - m->g) * m->alpha + m->g;
		m->t = m->bc = m->byte_cnt = 0;
		m->lock = now + m->period;
		m->timer_at = now + m->timer;
		m->active = true;
	} else if (isfinite(m->timer_at)) {
		m->timer_at = now + m->timer;
	}
	m->alpha_at = m->active || m->always ? now + m->k : INFINITY;
}

static void model_sent(struct model *m, double bytes, double now)
{
	model_time(m, now);
	if (model_is_full(m))
		return;
	m->byte_cnt += bytes;
	if (m->byte_cnt >= m->bytes) {
		m->byte_cnt = fmod(m->byte_cnt, m->bytes);
		model_raise(m);
		m->bc++;
		if (model_is_full(m))
			model_rest(m);
	}
}

/* Of run @run: either mode of alpha in turn. */
static struct vb_cc_settings random_settings(struct vb_rng *g, int run)
{
	struct vb_cc_settings s = {
	    .dcqcn_hw_en = true,
	    .cc_clk_hz = 250000000,
	    .dcqcn_rx_cnp_merge_period = (uint16_t)vb_rng_below(g, 80),
	    .dcqcn_nocnp_timer_th = (uint16_t)(1 + vb_rng_below(g, 300)),
	    .dcqcn_max_rate = (uint16_t)(20000 + vb_rng_below(g, 45000)),
	    .dcqcn_byte_cnt_th = 1000 + vb_rng_below(g, 200000),
	    .dcqcn_alpha_timer_th = (uint16_t)(1 + vb_rng_below(g, 100)),
	    .dcqcn_upd_alpha_g = (uint16_t)(1 + vb_rng_below(g, 200)),
	    .dcqcn_alpha_rate_shift = 1,
	    .dcqcn_rate_ai_q8 = 512 + vb_rng_below(g, 50 << 8),
	    .dcqcn_rate_hai_q8 = 512 + vb_rng_below(g, 500 << 8),
	    .dcqcn_min_rate = (uint16_t)(1 + vb_rng_below(g, 200)),
	    .dcqcn_fr_threshold = (uint8_t)vb_rng_below(g, 8),
	    .alpha_frac_bits = 10,
	    .alpha_mode = run & 1,
	    .initial_alpha = (uint16_t)vb_rng_below(g, 1024),
	};

	return s;
}

static struct model model_of(const struct vb_cc_settings *s)
{
	return (struct model){
	    .rc = s->dcqcn_max_rate,
	    .rt = s->dcqcn_max_rate,
	    .max = s->dcqcn_max_rate,
	    .min = s->dcqcn_min_rate,
	    .alpha = s->initial_alpha / 1024.0,
	    .g = s->dcqcn_upd_alpha_g / 1024.0,
	    .ai = s->dcqcn_rate_ai_q8 / 256.0,
	    .hai = s->dcqcn_rate_hai_q8 / 256.0,
	    .f = s->dcqcn_fr_threshold,
	    .timer = s->dcqcn_nocnp_timer_th,
	    .bytes = s->dcqcn_byte_cnt_th,
	    .k = s->dcqcn_alpha_timer_th,
	    .timer_at = INFINITY,
	    .alpha_at = s->alpha_mode == VB_CC_ALPHA_ALWAYS ? (double)s->dcqcn_alpha_timer_th
							    : (double)INFINITY,
	    .first = s->initial_alpha / 1024.0,
	    .always = s->alpha_mode == VB_CC_ALPHA_ALWAYS,
	    .period = s->dcqcn_rx_cnp_merge_period,
	};
}

/* One of the two reaches the maximum an increase before the other: the model follows. True: it had
 * to. */
static bool model_follows(struct model *m, const struct vb_cc *cc, double now)
{
	if (m->always || m->active == cc->active)
		return false;
	assert_true(m->rc >= 0.99 * m->max && m->rt >= 0.99 * m->max);
	m->active = cc->active;
	m->rc = cc->cur_q8 / 256.0;
	m->rt = cc->tgt_q8 / 256.0;
	m->t = cc->t;
	m->bc = cc->bc;
	m->byte_cnt = (double)cc->byte_cnt;
	m->alpha = cc->alpha_q20 / 1048576.0;
	m->alpha_at = cc->alpha_at == VB_NEVER ? INFINITY : (double)cc->alpha_at / VB_USEC;
	m->timer_at = cc->nocnp_at == VB_NEVER ? INFINITY : (double)cc->nocnp_at / VB_USEC;
	assert_true(m->alpha_at > now && m->timer_at > now);
	return true;
}

/* CC-09, CC-10, CC-14...28, CC-56, CC-61, CC-62 */
static void random__agrees_with_paper(void **state)
{
	struct vb_rng g = vb_rng_stream(7, "test", 0);
	double sum = 0;
	int followed = 0;

	(void)state;
	for (int run = 0; run < 3000; run++) {
		struct vb_cc_settings s = random_settings(&g, run);
		struct model m = model_of(&s);
		struct vb_cc cc = {0};
		vb_time us = 0;

		vb_cc_reset(&cc, &s, 0);
		for (int i = 0; i < 300; i++) {
			us += vb_rng_below(&g, vb_rng_below(&g, 10) ? 40 : 2000);
			vb_cc_on_time(&cc, &s, us * VB_USEC);
			model_time(&m, (double)us);
			followed += model_follows(&m, &cc, (double)us);
			if (vb_rng_below(&g, 4) == 0) {
				vb_cc_on_cnp(&cc, &s, us * VB_USEC);
				model_cnp(&m, (double)us);
			} else {
				uint32_t bytes = 100 + vb_rng_below(&g, 60000);

				vb_cc_on_sent(&cc, &s, bytes, us * VB_USEC);
				model_sent(&m, bytes, (double)us);
			}
			followed += model_follows(&m, &cc, (double)us);

			double off = fabs(cc.cur_q8 / 256.0 - m.rc);
			assert_true(fabs(cc.alpha_q20 / 1048576.0 - m.alpha) <= 2.0 / 1024);
			assert_true(off <= m.max / 100);
			assert_true(fabs(cc.tgt_q8 / 256.0 - m.rt) <= m.max / 100);

			sum += off / m.max;
			assert_int_equal(cc.cc_rate, cc.cur_q8 >> 8);
		}
	}
	assert_true(sum / (3000 * 300) < 0.002);
	assert_true(followed < 3000 * 300 / 100);
}

/* Time made up for at once gives the same state as step by step, to the last bit. */
static void random__seldom_as_often(void **state)
{
	struct vb_rng g = vb_rng_stream(8, "test", 0);

	(void)state;
	for (int run = 0; run < 400; run++) {
		struct vb_cc_settings s = random_settings(&g, run);
		struct vb_cc a = {0}, b = {0};
		vb_time now = 0;

		s.cut_mode = (uint8_t)vb_rng_below(&g, 2);
		s.alpha_frac_bits = (uint8_t)vb_rng_below(&g, 11);
		if (vb_rng_below(&g, 4) == 0)
			s.dcqcn_rate_ai_q8 = vb_rng_below(&g, 300);
		vb_cc_reset(&a, &s, 0);
		vb_cc_reset(&b, &s, 0);
		for (int i = 0; i < 20; i++) {
			vb_time to = now + vb_rng_below(&g, 3000000);

			for (; now < to; now += 997)
				vb_cc_on_time(&b, &s, now);
			now = to;
			vb_cc_on_cnp(&a, &s, now);
			vb_cc_on_cnp(&b, &s, now);
			assert_int_equal(a.cur_q8, b.cur_q8);
			assert_int_equal(a.tgt_q8, b.tgt_q8);
			assert_int_equal(a.alpha_q20, b.alpha_q20);
			assert_int_equal(a.t, b.t);
			assert_int_equal(a.nocnp_at, b.nocnp_at);
			assert_int_equal(a.alpha_at, b.alpha_at);
		}
	}
}

/* With any settings, rates stay within their limits, and no call takes long. */
static void random__any_settings(void **state)
{
	struct vb_rng g = vb_rng_stream(9, "test", 0);

	(void)state;
	for (int run = 0; run < 20000; run++) {
		struct vb_cc_settings s = random_settings(&g, run), was;
		struct vb_cc cc = {0};
		vb_time now = vb_rng_below(&g, 1u << 31);
		uint32_t lo, hi;

		s.dcqcn_max_rate = (uint16_t)vb_rng_next(&g);
		s.dcqcn_min_rate = (uint16_t)vb_rng_next(&g);
		s.dcqcn_nocnp_timer_th = (uint16_t)vb_rng_below(&g, 3);
		s.dcqcn_byte_cnt_th = vb_rng_below(&g, 3);
		s.dcqcn_upd_alpha_g = (uint16_t)vb_rng_below(&g, 1024);
		s.dcqcn_alpha_rate_shift = (uint8_t)vb_rng_below(&g, 16);
		s.dcqcn_rate_ai_q8 = vb_rng_below(&g, 3) ? vb_rng_below(&g, 2) : VB_CC_STEP_Q8_MAX;
		s.clamp_mode = (uint8_t)vb_rng_below(&g, 3);
		s.cut_mode = (uint8_t)vb_rng_below(&g, 2);
		s.min_dec_fac = (uint8_t)vb_rng_below(&g, 101);
		s.hw_rate_throttle_en = s.speed_limiter_en = vb_rng_below(&g, 2);
		assert_int_equal(vb_cc_settings_check(&s, NULL), 0);
		vb_cc_reset(&cc, &s, now);
		for (int i = 0; i < 30; i++) {
			now += vb_rng_below(&g, 5) ? vb_rng_below(&g, 100000) : 3600 * VB_SEC;
			if (vb_rng_below(&g, 2))
				vb_cc_on_cnp(&cc, &s, now);
			else
				vb_cc_on_sent(&cc, &s, vb_rng_below(&g, 65536), now);
			(void)vb_cc_send_at(&cc, &s, now);
			lo = s.dcqcn_min_rate ? s.dcqcn_min_rate : 1;
			hi = s.dcqcn_max_rate > lo ? s.dcqcn_max_rate : lo;
			assert_uint_in_range(cc.cur_q8, lo << 8, hi << 8);
			assert_uint_in_range(cc.tgt_q8, lo << 8, hi << 8);
			assert_true(cc.alpha_q20 < 1u << 20);
			if (vb_rng_below(&g, 8) == 0) {
				was = s;
				s.dcqcn_max_rate = (uint16_t)vb_rng_next(&g);
				s.dcqcn_nocnp_timer_th = (uint16_t)vb_rng_below(&g, 3);
				vb_cc_adopt(&cc, &was, &s, now);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(random__agrees_with_paper),
	    cmocka_unit_test(random__seldom_as_often),
	    cmocka_unit_test(random__any_settings),
	};

	return cmocka_run_group_tests_name("cc_dcqcn_random", tests, NULL, NULL);
}
