/* SPDX-License-Identifier: BSD-2-Clause */
/* DCQCN behind verbena/cc.h beside DCQCN with registers: the same events give the same rate. */
#include "cmocka_env.h"

#include "base/rng.h"
#include "core/cc/cc.h"
#include "core/control/algorithm/algorithm.h"

#include <string.h>

#define LINE UINT64_C(40000000000)

/* Both of them. */
struct pair {
	_Alignas(16) uint8_t state[4096];
	struct verbena_cc_control out;
	uint64_t value[VERBENA_CC_PARAMETERS_MAX];
	struct vb_cc cc;
	struct vb_cc_settings set;
};

static void pair_init(struct pair *p, vb_time now)
{
	const struct verbena_cc_facts facts = {.now = now, .line_rate = LINE, .packet_bytes = 1024};

	assert_true(vb_cc_dcqcn.state_bytes <= sizeof p->state);
	memset(p, 0, sizeof *p);
	for (uint32_t i = 0; i < vb_cc_dcqcn.parameter_cnt; i++)
		p->value[i] = vb_cc_dcqcn.parameter[i].value;
	p->out = (struct verbena_cc_control){
	    .rate = VERBENA_CC_NONE, .window = VERBENA_CC_NONE, .timer = VERBENA_CC_NONE};
	vb_cc_dcqcn.init(p->state, &facts, p->value, &p->out);
	vb_cc_settings_paper(&p->set, LINE);
	vb_cc_reset(&p->cc, &p->set, now);
}

static void pair_compare(const struct pair *p)
{
	assert_int_equal(p->out.rate, vb_cc_bps((uint32_t)p->cc.cc_rate << 8, p->set.cc_clk_hz));
	assert_int_equal(p->out.timer, p->cc.nocnp_at);
	assert_int_equal(p->out.window, VERBENA_CC_NONE);
}

/* Packets, CNPs and pauses at random; timers of the interface when they come. */
static void dcqcn__takes_the_same_events(void **state)
{
	static struct pair p;
	struct vb_rng r = vb_rng_stream(7, "behind", 0);
	uint32_t cnps = 0, timers = 0;
	uint64_t least = UINT64_MAX, sent = 0, acked = 0;
	vb_time now = 1000;

	(void)state;
	pair_init(&p, now);
	pair_compare(&p);
	for (uint32_t i = 0; i < 200000; i++) {
		struct verbena_cc_sent s;

		/* A pause in which a flow begins anew, a time without CNPs, or the next packet. */
		now += i % 40000 == 39999 ? 3 * VB_MSEC : vb_rng_below(&r, 2000);
		while (p.out.timer <= now) {
			vb_time at = p.out.timer;

			p.out.timer = VERBENA_CC_NONE;
			vb_cc_dcqcn.on_timer(p.state, at, &p.out);
			vb_cc_on_time(&p.cc, &p.set, at);
			timers++;
		}
		if (sent == acked)
			vb_cc_on_flow(&p.cc, &p.set, now);
		sent += 1024;
		s = (struct verbena_cc_sent){.now = now, .sent = sent, .bytes = 1060};
		vb_cc_dcqcn.on_sent(p.state, &s, &p.out);
		vb_cc_on_sent(&p.cc, &p.set, 1060, now);
		pair_compare(&p);
		if (i / 10000 % 2 == 0 && vb_rng_below(&r, 200) == 0) {
			vb_cc_dcqcn.on_cnp(p.state, now, &p.out);
			assert_true(vb_cc_on_cnp(&p.cc, &p.set, now));
			cnps++;
			pair_compare(&p);
		}
		if (i % 100 == 99 || i % 40000 == 39998) {
			acked = i % 40000 == 39998 ? sent : sent - 1024;
			vb_cc_dcqcn.on_ack(
			    p.state,
			    &(struct verbena_cc_ack){.now = now, .acked = acked, .sent = sent},
			    &p.out);
		}
		least = p.out.rate < least ? p.out.rate : least;
	}
	assert_true(cnps > 300 && timers > 1000 && least < LINE / 20);
}

/* Each parameter gets to its setting: with another value the rate goes another way. */
static void dcqcn__has_its_parameters(void **state)
{
	static struct pair p;
	static const uint64_t other[] = {512,       10 * VB_USEC, 10 * VB_USEC, 4096,          1,
					 400000000, 4000000000,   LINE / 2,     1000 * VB_USEC};

	(void)state;
	assert_int_equal(vb_cc_dcqcn.parameter_cnt, sizeof other / sizeof other[0]);
	for (uint32_t k = 0; k < vb_cc_dcqcn.parameter_cnt; k++) {
		const struct verbena_cc_facts facts = {
		    .now = 0, .line_rate = LINE, .packet_bytes = 1024};
		uint64_t rate[2][200];

		for (int is_other = 0; is_other < 2; is_other++) {
			vb_time now = 0;

			pair_init(&p, 0);
			p.value[k] = is_other ? other[k] : p.value[k];
			memset(p.state, 0, sizeof p.state);
			vb_cc_dcqcn.init(p.state, &facts, p.value, &p.out);
			for (uint32_t i = 0; i < 200; i++, now += 100 * VB_USEC) {
				struct verbena_cc_sent s = {.now = now, .bytes = 1000000};

				if (i < 3)
					vb_cc_dcqcn.on_cnp(p.state, now, &p.out);
				vb_cc_dcqcn.on_sent(p.state, &s, &p.out);
				rate[is_other][i] = p.out.rate;
			}
		}
		if (memcmp(rate[0], rate[1], sizeof rate[0]) == 0)
			fail_msg("%s has no effect", vb_cc_dcqcn.parameter[k].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(dcqcn__takes_the_same_events),
	    cmocka_unit_test(dcqcn__has_its_parameters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
