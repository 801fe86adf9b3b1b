/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of an InfiniBand port that only compute: credits, lanes, arbitration, states of the
 * link. IBA 7.2.7, 7.6, 7.9
 */
#include "cmocka_env.h"
#include "fabric/ib/arbiter.h"
#include "fabric/ib/credit.h"
#include "fabric/ib/lane.h"
#include "fabric/ib/link_state.h"
#include "wire/ib/rate.h"

#include "base/rng.h"

#include <errno.h>

/* LNK-14, IBT-73: credits are blocks of 64 bytes, of LRH through VCRC. */
static void credit__blocks_round_up(void **state)
{
	(void)state;
	assert_int_equal(vb_blocks(26), 1);
	assert_int_equal(vb_blocks(64), 1);
	assert_int_equal(vb_blocks(65), 2);
	assert_int_equal(vb_blocks(4096 + 66), 66);
}

/* LNK-14: nothing leaves before the receiver has told its limit; the test is modulo 4096. */
static void credit__limit_is_absolute(void **state)
{
	struct vb_credit_tx t = {0};

	(void)state;
	assert_false(vb_credit_may_send(&t, 1));
	vb_credit_set_limit(&t, 10);
	assert_true(vb_credit_may_send(&t, 10));
	assert_false(vb_credit_may_send(&t, 11));
	vb_credit_send(&t, 7);
	assert_int_equal(t.fctbs, 7);
	assert_true(vb_credit_may_send(&t, 3));
	assert_false(vb_credit_may_send(&t, 4));
	/* The same limit again gives nothing. */
	vb_credit_set_limit(&t, 10);
	assert_false(vb_credit_may_send(&t, 4));

	/* A limit is ahead while it is no more than half of the modulus away. */
	t = (struct vb_credit_tx){.fccl = 2049};
	assert_true(vb_credit_may_send(&t, 1));
	t.fccl = 2050;
	assert_false(vb_credit_may_send(&t, 1));

	t = (struct vb_credit_tx){.fctbs = 4090};
	vb_credit_set_limit(&t, (4090 + 2048) & 4095);
	assert_true(vb_credit_may_send(&t, 2048));
	assert_false(vb_credit_may_send(&t, 2049));
	vb_credit_send(&t, 20);
	assert_int_equal(t.fctbs, 14);
}

/* LNK-16, LNK-17, IBT-75 */
static void credit__lost_packets_heal(void **state)
{
	struct vb_credit_rx r = {.capacity = 100};

	(void)state;
	assert_int_equal(vb_credit_limit(&r), 100);
	assert_true(vb_credit_receive(&r, 60));
	assert_int_equal(vb_credit_limit(&r), 100); /* these blocks were promised */
	assert_false(vb_credit_receive(&r, 41));    /* an overrun is counted, not kept */
	assert_int_equal(r.used, 60);
	assert_int_equal(r.abr, 101);
	assert_int_equal(vb_credit_limit(&r), 141);
	vb_credit_release(&r, 60);
	assert_int_equal(vb_credit_limit(&r), 201);
	/* The sender has sent 150, of which 49 were lost on the way. */
	vb_credit_adjust(&r, 150);
	assert_int_equal(vb_credit_limit(&r), 250);

	r = (struct vb_credit_rx){.abr = 4000, .capacity = 100000};
	assert_int_equal(vb_credit_limit(&r), (4000 + 2048) & 4095);
	assert_true(vb_credit_receive(&r, 98000));
	r.abr = 4000;
	assert_int_equal(vb_credit_limit(&r), (4000 + 2000) & 4095);
}

/* Any loss of data and flow control packets: nothing overruns, and credits come back. LNK-16,
 * LNK-17, LNK-21, IBT-75 */
static void credit__no_overrun_and_no_leak_whatever_is_lost(void **state)
{
	struct vb_rng r = vb_rng_stream(1, "credits", 0);

	(void)state;
	for (unsigned seed = 0; seed < 200; seed++) {
		struct vb_credit_tx t = {0};
		struct vb_credit_rx x = {.capacity = 70 + vb_rng_below(&r, 4000)};
		uint32_t sent = 0;

		for (unsigned step = 0; step < 2000; step++) {
			uint32_t blocks = 1 + vb_rng_below(&r, 66);

			switch (vb_rng_below(&r, 4)) {
			case 0:
				if (!vb_credit_may_send(&t, blocks))
					break;
				vb_credit_send(&t, blocks);
				sent++;
				if (vb_rng_below(&r, 10) != 0)
					assert_true(vb_credit_receive(&x, blocks));
				break;
			case 1:
				vb_credit_release(&x, vb_rng_below(&r, x.used + 1));
				break;
			case 2:
				if (vb_rng_below(&r, 2) != 0)
					vb_credit_adjust(&x, t.fctbs);
				break;
			default:
				if (vb_rng_below(&r, 2) != 0)
					vb_credit_set_limit(&t, vb_credit_limit(&x));
			}
		}
		assert_true(sent > 20);
		vb_credit_release(&x, x.used);
		vb_credit_adjust(&x, t.fctbs);
		vb_credit_set_limit(&t, vb_credit_limit(&x));
		assert_true(vb_credit_may_send(&t, x.capacity < 2048 ? x.capacity : 2048));
	}
}

/* LNK-11, IBT-71 */
static void lane__codes_of_counts(void **state)
{
	(void)state;
	assert_int_equal(vb_vl_data_cnt(0), 0);
	assert_int_equal(vb_vl_data_cnt(1), 1);
	assert_int_equal(vb_vl_data_cnt(2), 2);
	assert_int_equal(vb_vl_data_cnt(3), 4);
	assert_int_equal(vb_vl_data_cnt(4), 8);
	assert_int_equal(vb_vl_data_cnt(5), 15);
	assert_int_equal(vb_vl_data_cnt(6), 0);
	assert_int_equal(vb_vl_data_cnt(255), 0);
}

/* LNK-22, IBT-76 */
static void lane__service_levels(void **state)
{
	struct vb_sl2vl map;

	(void)state;
	for (uint8_t sl = 0; sl < 16; sl++)
		map.vl[sl] = 15 - sl;
	assert_int_equal(vb_sl2vl_lane(&map, 0, 15), -1); /* VL15 */
	assert_int_equal(vb_sl2vl_lane(&map, 1, 15), 14);
	assert_int_equal(vb_sl2vl_lane(&map, 15, 15), 0);
	assert_int_equal(vb_sl2vl_lane(&map, 11, 4), -1); /* lane 4 of 4 is not operational */
	assert_int_equal(vb_sl2vl_lane(&map, 12, 4), 3);
}

static uint32_t send_one(struct vb_arbiter *a, uint16_t ready, uint32_t blocks)
{
	struct vb_arb_choice c;

	if (!vb_arbiter_choose(a, ready, &c))
		return 99;
	vb_arbiter_sent(a, &c, blocks, ready);
	return c.vl;
}

/* LNK-24: shares within 1 % of the weights over a million packets. */
static void arbiter__shares_follow_weights(void **state)
{
	static const struct vb_arb_entry low[] = {{0, 64}, {1, 128}, {2, 252}, {0, 32}, {3, 0}};
	static const uint32_t weight[3] = {96, 128, 252};
	struct vb_arbiter a = {0};
	uint64_t sent[3] = {0}, all = 0;

	(void)state;
	vb_arbiter_set_table(&a, VB_ARB_LOW, low, 5);
	for (unsigned i = 0; i < 1000000; i++) {
		uint32_t vl = send_one(&a, 0xf, 4);

		assert_true(vl < 3); /* weight 0 is no entry */
		sent[vl]++;
		all++;
	}
	for (unsigned vl = 0; vl < 3; vl++) {
		uint64_t want = all * weight[vl] / (96 + 128 + 252);

		assert_true(sent[vl] * 100 >= want * 99 && sent[vl] * 100 <= want * 101);
	}
}

/* LNK-23, LNK-24: an entry keeps its turn while it has weight; a started packet is finished. */
static void arbiter__turns(void **state)
{
	static const struct vb_arb_entry low[] = {{4, 2}, {5, 1}, {4, 1}};
	struct vb_arbiter a = {0};

	(void)state;
	assert_int_equal(send_one(&a, 0xffff, 1), 99); /* no entry at all */
	vb_arbiter_set_table(&a, VB_ARB_LOW, low, 3);
	assert_int_equal(send_one(&a, 0x30, 1), 4);
	assert_int_equal(send_one(&a, 0x30, 66), 4); /* one block left, and a long packet */
	assert_int_equal(send_one(&a, 0x30, 1), 5);
	assert_int_equal(send_one(&a, 0x30, 1), 4);
	assert_int_equal(send_one(&a, 0x30, 1), 4);
	/* LNK-26: without credit lane 4 is passed over, and has its whole weight later. */
	assert_int_equal(send_one(&a, 0x20, 1), 5);
	assert_int_equal(send_one(&a, 0x20, 1), 5);
	assert_int_equal(send_one(&a, 0x30, 1), 4);
	assert_int_equal(send_one(&a, 0x30, 1), 4);
	assert_int_equal(send_one(&a, 0x30, 1), 4);
	assert_int_equal(send_one(&a, 0x30, 1), 5);
	assert_int_equal(send_one(&a, 0xffcf, 1), 99);
	/* A lane that was alone has no more than its weight left when another one comes. */
	vb_arbiter_set_table(&a, VB_ARB_LOW, low, 2);
	for (unsigned i = 0; i < 9; i++)
		assert_int_equal(send_one(&a, 0x10, 1), 4);
	assert_int_equal(send_one(&a, 0x30, 1), 4);
	assert_int_equal(send_one(&a, 0x30, 1), 5);
	/* One lane alone goes on for ever; VL15 is in no table, whatever the table says. */
	assert_int_equal(send_one(&a, 0x20, 1), 5);
	assert_int_equal(send_one(&a, 0x20, 1), 5);
	vb_arbiter_set_table(&a, VB_ARB_LOW, (struct vb_arb_entry[]){{15, 1}}, 1);
	assert_int_equal(send_one(&a, 0xffff, 1), 99);
}

/* LNK-25 */
static void arbiter__high_limit(void **state)
{
	static const struct vb_arb_entry high[] = {{1, 10}}, low[] = {{0, 10}};
	struct vb_arbiter a = {.high_limit = 1};
	unsigned before;

	(void)state;
	vb_arbiter_set_table(&a, VB_ARB_HIGH, high, 1);
	vb_arbiter_set_table(&a, VB_ARB_LOW, low, 1);
	/* 4096 bytes are 64 blocks: eight packets of eight, then one of the low table. */
	for (unsigned round = 0; round < 3; round++) {
		for (before = 0; send_one(&a, 3, 8) == 1; before++)
			;
		assert_int_equal(before, 8);
	}
	/* Packets that the high table sends while the low one has nothing do not count. */
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(send_one(&a, 2, 8), 1);
	for (before = 0; send_one(&a, 3, 8) == 1; before++)
		;
	assert_int_equal(before, 8);

	a.high_limit = 0;
	for (unsigned i = 0; i < 10; i++) {
		assert_int_equal(send_one(&a, 3, 8), 1);
		assert_int_equal(send_one(&a, 3, 8), 0);
	}
	a.high_limit = 255;
	for (unsigned i = 0; i < 10000; i++)
		assert_int_equal(send_one(&a, 3, 8), 1);
	assert_int_equal(send_one(&a, 1, 8), 0);
}

/* LNK-30 */
static void link_state__passes(void **state)
{
	(void)state;
	for (int s = VB_LINK_DOWN; s <= VB_LINK_ACT_DEFER; s++) {
		bool up = s >= VB_LINK_INIT && s <= VB_LINK_ACTIVE;

		assert_int_equal(vb_link_may_send((uint8_t)s, false), up);
		assert_int_equal(vb_link_may_receive((uint8_t)s, false), up);
		assert_int_equal(vb_link_may_send((uint8_t)s, true), s == VB_LINK_ACTIVE);
		assert_int_equal(vb_link_may_receive((uint8_t)s, true),
				 s == VB_LINK_ARMED || s == VB_LINK_ACTIVE);
	}
}

/* LNK-31: the legal changes, and that no other is. */
static void link_state__changes(void **state)
{
	static const uint8_t to[6][9] = {
	    /* trained, lost, data, recovery, recovered, set down, init, armed, active */
	    {0},
	    {2, 0, 0, 0, 0, 1, 0, 0, 0},
	    {0, 1, 0, 0, 0, 1, 0, 3, 0},
	    {0, 1, 4, 0, 0, 1, 0, 0, 4},
	    {0, 1, 0, 5, 0, 1, 0, 0, 0},
	    {0, 1, 0, 0, 4, 1, 0, 0, 0},
	};

	(void)state;
	for (uint8_t from = 1; from <= 5; from++)
		for (unsigned event = 0; event < 9; event++) {
			uint8_t s = from, want = to[from][event];

			assert_int_equal(vb_link_state_change(&s, event), want ? 0 : -EINVAL);
			assert_int_equal(s, want ? want : from);
		}
}

/* LNK-31, LNK-32: the states that Set(PortInfo) may ask for. */
static void link_set__states(void **state)
{
	uint8_t s = VB_LINK_INIT, phys = VB_PHYS_LINK_UP;

	(void)state;
	assert_int_equal(vb_link_set(&s, &phys, 0, 0), 0);
	assert_int_equal(s, VB_LINK_INIT);
	assert_int_equal(vb_link_set(&s, &phys, VB_LINK_ACTIVE, 0), -EINVAL);
	assert_int_equal(vb_link_set(&s, &phys, VB_LINK_INIT, 0), -EINVAL);
	assert_int_equal(vb_link_set(&s, &phys, VB_LINK_ACT_DEFER, 0), -EINVAL);
	assert_int_equal(vb_link_set(&s, &phys, VB_LINK_ARMED, VB_PHYS_POLLING), -EINVAL);
	assert_int_equal(s, VB_LINK_INIT);
	assert_int_equal(vb_link_set(&s, &phys, VB_LINK_ARMED, 0), 0);
	assert_int_equal(vb_link_set(&s, &phys, VB_LINK_ACTIVE, 0), 0);
	assert_int_equal(s, VB_LINK_ACTIVE);
	for (int p = VB_PHYS_TRAINING; p <= VB_PHYS_TEST; p++)
		assert_int_equal(vb_link_set(&s, &phys, 0, (uint8_t)p), -EINVAL);
	assert_int_equal(phys, VB_PHYS_LINK_UP);
	assert_int_equal(vb_link_set(&s, &phys, VB_LINK_DOWN, 0), 0);
	assert_int_equal(s, VB_LINK_DOWN);
	assert_int_equal(phys, VB_PHYS_POLLING);

	/* Disabled stays until it is set to poll. */
	s = VB_LINK_ACTIVE;
	phys = VB_PHYS_LINK_UP;
	assert_int_equal(vb_link_set(&s, &phys, VB_LINK_DOWN, VB_PHYS_DISABLED), 0);
	assert_int_equal(phys, VB_PHYS_DISABLED);
	assert_int_equal(vb_link_set(&s, &phys, VB_LINK_DOWN, 0), 0);
	assert_int_equal(phys, VB_PHYS_DISABLED);
	assert_int_equal(vb_link_set(&s, &phys, 0, VB_PHYS_POLLING), 0);
	assert_int_equal(phys, VB_PHYS_POLLING);
	assert_int_equal(s, VB_LINK_DOWN);
	s = VB_LINK_ACTIVE;
	assert_int_equal(vb_link_set(&s, &phys, 0, VB_PHYS_SLEEP), 0);
	assert_int_equal(phys, VB_PHYS_SLEEP);
	assert_int_equal(s, VB_LINK_DOWN);
}

/* LNK-35 */
static void link__agrees_on_speed_and_width(void **state)
{
	uint32_t all = VB_IB_SDR | VB_IB_DDR | VB_IB_QDR | VB_IB_FDR | VB_IB_EDR;

	(void)state;
	assert_int_equal(vb_link_common_speed(all, all), VB_IB_EDR);
	assert_int_equal(vb_link_common_speed(all, VB_IB_SDR | VB_IB_QDR | VB_IB_HDR), VB_IB_QDR);
	assert_int_equal(vb_link_common_speed(VB_IB_XDR, VB_IB_XDR | all), VB_IB_XDR);
	assert_int_equal(vb_link_common_speed(VB_IB_SDR, VB_IB_DDR), 0);
	/* 2X has the highest code, and is not the widest. */
	assert_int_equal(vb_link_common_width(0x1f, 0x1f), VB_IB_12X);
	assert_int_equal(vb_link_common_width(VB_IB_1X | VB_IB_4X | VB_IB_2X, 0x1f), VB_IB_4X);
	assert_int_equal(vb_link_common_width(VB_IB_1X | VB_IB_2X, 0x1f), VB_IB_2X);
	assert_int_equal(vb_link_common_width(VB_IB_8X, VB_IB_4X), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(credit__blocks_round_up),
	    cmocka_unit_test(credit__limit_is_absolute),
	    cmocka_unit_test(credit__lost_packets_heal),
	    cmocka_unit_test(credit__no_overrun_and_no_leak_whatever_is_lost),
	    cmocka_unit_test(lane__codes_of_counts),
	    cmocka_unit_test(lane__service_levels),
	    cmocka_unit_test(arbiter__shares_follow_weights),
	    cmocka_unit_test(arbiter__turns),
	    cmocka_unit_test(arbiter__high_limit),
	    cmocka_unit_test(link_state__passes),
	    cmocka_unit_test(link_state__changes),
	    cmocka_unit_test(link_set__states),
	    cmocka_unit_test(link__agrees_on_speed_and_width),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
