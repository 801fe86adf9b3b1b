/* SPDX-License-Identifier: BSD-2-Clause */
/* Which QPNs a process slot has. */
#include "base/slot.h"
#include "cmocka_env.h"

#include <stdlib.h>

/* Each number is of one slot, as one of its own. */
static void qpn__is_of_one_slot(void **state)
{
	uint8_t *seen = calloc(1u << 24, 1);

	(void)state;
	assert_non_null(seen);
	for (uint32_t slot = 0; slot < VB_SLOT_CNT; slot++) {
		uint32_t base = vb_slot_qpn_base(slot), stride = vb_slot_qpn_stride(slot);

		for (uint32_t k = 0; k < vb_slot_qpn_cnt(slot); k++) {
			uint32_t qpn = base + k * stride;

			if (qpn >> 24 || seen[qpn] || vb_slot_of_qpn(qpn) != slot ||
			    vb_slot_qpn_index(qpn) != k)
				fail_msg("0x%06x, number %u of slot %u", qpn, k, slot);
			seen[qpn] = 1;
		}
	}
	for (uint32_t qpn = 0; qpn < 1u << 24; qpn++)
		if (!seen[qpn])
			fail_msg("0x%06x is of no slot", qpn);
	free(seen);
}

/* QP0, QP1 and multicast are no program's. IBT-19, IBT-99 */
static void special__is_of_no_program(void **state)
{
	(void)state;
	assert_int_equal(vb_slot_of_qpn(0), 0);
	assert_int_equal(vb_slot_of_qpn(1), VB_SLOT_GSI);
	assert_true(vb_slot_of_qpn(0xffffff) > VB_SLOT_LAST);
	assert_true(vb_slot_of_qpn(0xffffff) < VB_SLOT_CNT);
	assert_true(VB_SLOT_PROCESSES >= 4000);
}

/* The first slots are as they were when there were no others: the low byte. */
static void wide__is_the_low_byte(void **state)
{
	(void)state;
	for (uint32_t slot = 0; slot < VB_SLOT_WIDE; slot++) {
		assert_int_equal(vb_slot_qpn_base(slot), slot);
		assert_int_equal(vb_slot_qpn_stride(slot), 256);
		assert_int_equal(vb_slot_of_qpn(0xabcd00 | slot), slot);
	}
	assert_int_equal(vb_slot_qpn_cnt(VB_SLOT_WIDE), 2048);
}

/* Bits beyond the number, as in a word that has more in it, change nothing. */
static void qpn__is_24_bits(void **state)
{
	const uint8_t bth[12] = {0x04, 0, 0xff, 0xff, 0x80, 0x12, 0x37, 0x91};

	(void)state;
	assert_int_equal(vb_slot_of_qpn(0xff123791), vb_slot_of_qpn(0x123791));
	assert_int_equal(vb_slot_qpn_index(0xff123791), vb_slot_qpn_index(0x123791));
	assert_int_equal(vb_slot_of_bth(bth), vb_slot_of_qpn(0x123791));
	assert_int_equal(vb_slot_of_bth(bth), 128 + (0x91 - 0x80) * 32 + 0x17);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(qpn__is_of_one_slot),
	    cmocka_unit_test(special__is_of_no_program),
	    cmocka_unit_test(wide__is_the_low_byte),
	    cmocka_unit_test(qpn__is_24_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
