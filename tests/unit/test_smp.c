/* SPDX-License-Identifier: BSD-2-Clause */
/* The bytes of subnet management packets. IBA 14.2; the layouts of items FAB-03 to FAB-30 */
#include "cmocka_env.h"
#include "wire/mad/smp.h"

#include <string.h>

/* @again: written from what was read from @mad. */
static uint8_t mad[VB_MAD_LEN], again[VB_MAD_LEN];

/* The attribute's bytes are @want, and every other byte of the MAD stays as it was. */
static void check_data(const uint8_t *want, size_t len)
{
	assert_memory_equal(mad + VB_SMP_DATA_AT, want, len);
	for (size_t i = 0; i < VB_MAD_LEN; i++)
		if (i < VB_SMP_DATA_AT || i >= VB_SMP_DATA_AT + len)
			assert_int_equal(mad[i], 0);
}

static void smp__route(void **state)
{
	struct vb_smp_route r = {.returning = true,
				 .status = 0x1c,
				 .hop_ptr = 3,
				 .hop_cnt = 5,
				 .dr_slid = 0xffff,
				 .dr_dlid = 0x0102,
				 .mkey = 0x1122334455667788},
			    back;

	(void)state;
	memset(mad, 0, sizeof mad);
	vb_smp_route_emit(&r, mad);
	assert_memory_equal(mad + 4, ((uint8_t[]){0x80, 0x1c, 3, 5}), 4);
	assert_memory_equal(
	    mad + 24,
	    ((uint8_t[]){0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0xff, 0xff, 1, 2}), 12);
	memset(&back, 0, sizeof back);
	vb_smp_route_parse(&back, mad);
	memset(again, 0, sizeof again);
	vb_smp_route_emit(&back, again);
	assert_memory_equal(again, mad, sizeof mad);
	vb_smp_initial_path(mad)[1] = 7;
	vb_smp_return_path(mad)[63] = 9;
	assert_int_equal(mad[129], 7);
	assert_int_equal(mad[255], 9);
}

/* The layout of FAB-18 */
static void smp__node_info(void **state)
{
	static const uint8_t want[40] = {
	    1, 1, 2, 36, 0, 0, 0, 0,    0, 0,    0,    0x0a, 0, 0, 0, 0,    0,  0,    0,    0x0b,
	    0, 0, 0, 0,  0, 0, 0, 0x0c, 0, 0x20, 0xd0, 0x05, 0, 0, 0, 0xa1, 17, 0x02, 0xc9, 0x03};
	struct vb_node_info n = {.base_version = 1,
				 .class_version = 1,
				 .type = VB_NODE_SWITCH,
				 .port_cnt = 36,
				 .system_guid = 0x0a,
				 .node_guid = 0x0b,
				 .port_guid = 0x0c,
				 .pkey_cap = 32,
				 .device_id = 0xd005,
				 .revision = 0xa1,
				 .local_port = 17,
				 .vendor_id = 0x02c903},
			    back;

	(void)state;
	memset(mad, 0, sizeof mad);
	memset(&back, 0, sizeof back);
	vb_node_info_emit(&n, mad);
	check_data(want, sizeof want);
	vb_node_info_parse(&back, mad);
	memset(again, 0, sizeof again);
	vb_node_info_emit(&back, again);
	assert_memory_equal(again, mad, sizeof mad);
}

/* The layout of FAB-03 */
static void smp__switch_info(void **state)
{
	static const uint8_t want[20] = {0xbf, 0xff, 0, 0,  0x10, 0,  0x01, 0x02, 255,  3,
					 4,    0x96, 0, 16, 0,    32, 0xa8, 0,    0xc0, 0x07};
	struct vb_switch_info s = {.linear_cap = 0xbfff,
				   .multicast_cap = 0x1000,
				   .linear_top = 0x0102,
				   .default_port = 255,
				   .default_mcast_primary = 3,
				   .default_mcast_other = 4,
				   .life_time = 18,
				   .port_state_change = 1,
				   .sl2vl_optimized = 2,
				   .lids_per_port = 16,
				   .enforce_cap = 32,
				   .inbound_enforce = 1,
				   .filter_raw_in = 1,
				   .enhanced_port0 = 1,
				   .multicast_top = 0xc007},
			      back;

	(void)state;
	memset(mad, 0, sizeof mad);
	memset(&back, 0, sizeof back);
	vb_switch_info_emit(&s, mad);
	check_data(want, sizeof want);
	vb_switch_info_parse(&back, mad);
	memset(again, 0, sizeof again);
	vb_switch_info_emit(&back, again);
	assert_memory_equal(again, mad, sizeof mad);
}

/* The layout of FAB-21 and FAB-22 */
static void smp__port_info(void **state)
{
	static const uint8_t want[64] = {
	    1,    2,    3,    4,    5,    6,    7,    8,    0xfe, 0x80, 0,    0,    0,
	    0,    0,    0,    0x12, 0x34, 0x56, 0x78, 0x02, 0x51, 0x0a, 0x6a, 0x01, 0x02,
	    0x03, 0x04, 1,    0x1f, 0x13, 2,    0x74, 0x52, 0x85, 0x47, 0x5a, 0x4c, 0xfe,
	    8,    9,    0x25, 0xf2, 0x4a, 0x00, 0x11, 0x00, 0x22, 0x00, 0x33, 0x20, 0xd2,
	    0x10, 0xb7, 0x01, 0x23, 0x00, 0x45, 0x67, 0x89, 0x00, 0x02, 0x27, 0x1e};
	struct vb_port_info p = {.mkey = 0x0102030405060708,
				 .prefix = 0xfe80000000000000,
				 .lid = 0x1234,
				 .sm_lid = 0x5678,
				 .cap_mask = 0x02510a6a,
				 .diag = 0x0102,
				 .mkey_lease = 0x0304,
				 .local_port = 1,
				 .width_enabled = 0x1f,
				 .width_supported = 0x13,
				 .width_active = 2,
				 .speed_supported = 7,
				 .state = 4,
				 .phys_state = 5,
				 .down_default = 2,
				 .mkey_protect = 2,
				 .lmc = 5,
				 .speed_active = 4,
				 .speed_enabled = 7,
				 .neighbor_mtu = 5,
				 .sm_sl = 10,
				 .vl_cap = 4,
				 .init_type = 12,
				 .high_limit = 254,
				 .arb_high_cap = 8,
				 .arb_low_cap = 9,
				 .init_reply = 2,
				 .mtu_cap = 5,
				 .vl_stall_count = 7,
				 .hoq_life = 18,
				 .oper_vls = 4,
				 .enforce_in = 1,
				 .filter_raw_in = 1,
				 .mkey_violations = 0x11,
				 .pkey_violations = 0x22,
				 .qkey_violations = 0x33,
				 .guid_cap = 32,
				 .client_reregister = 1,
				 .mcast_pkey_trap = 2,
				 .subnet_timeout = 18,
				 .resp_time = 16,
				 .local_errors = 11,
				 .overrun_errors = 7,
				 .credit_hint = 0x0123,
				 .round_trip = 0x456789,
				 .cap_mask2 = 2,
				 .ext_speed_active = 2,
				 .ext_speed_supported = 7,
				 .ext_speed_enabled = 30},
			    back;

	(void)state;
	memset(mad, 0, sizeof mad);
	memset(&back, 0, sizeof back);
	vb_port_info_emit(&p, mad);
	check_data(want, sizeof want);
	vb_port_info_parse(&back, mad);
	memset(again, 0, sizeof again);
	vb_port_info_emit(&back, again);
	assert_memory_equal(again, mad, sizeof mad);
}

/* The layouts of FAB-28 and FAB-30, and the words of tables. */
static void smp__sm_info_notice_and_tables(void **state)
{
	struct vb_sm_info s = {
	    .guid = 0x0a, .sm_key = 0x0b, .activity = 7, .priority = 14, .state = 3};
	struct vb_notice n = {.is_generic = 1,
			      .type = 1,
			      .producer = VB_NODE_SWITCH,
			      .trap = 128,
			      .issuer_lid = 0x0102,
			      .toggle = 1,
			      .count = 3};
	struct vb_sm_info s_back = {0};
	struct vb_notice n_back = {0};

	(void)state;
	memset(mad, 0, sizeof mad);
	vb_sm_info_emit(&s, mad);
	check_data(
	    ((uint8_t[]){0, 0, 0, 0, 0, 0, 0, 0x0a, 0, 0, 0, 0, 0, 0, 0, 0x0b, 0, 0, 0, 7, 0xe3}),
	    21);
	vb_sm_info_parse(&s_back, mad);
	memset(again, 0, sizeof again);
	vb_sm_info_emit(&s_back, again);
	assert_memory_equal(again, mad, sizeof mad);

	memset(mad, 0, sizeof mad);
	vb_notice_emit(&n, mad);
	check_data(((uint8_t[]){0x81, 0, 0, 2, 0, 128, 1, 2, 0x80, 3}), VB_NOTICE_DETAILS_AT);
	vb_notice_parse(&n_back, mad);
	memset(again, 0, sizeof again);
	vb_notice_emit(&n_back, again);
	assert_memory_equal(again, mad, sizeof mad);

	memset(mad, 0, sizeof mad);
	vb_smp_put16(mad, 0, 0xffff);
	vb_smp_put16(mad, 31, 0x7fff);
	vb_smp_put64(mad, 1, 0x1122334455667788);
	assert_memory_equal(mad + 64, ((uint8_t[]){0xff, 0xff, 0}), 3);
	assert_memory_equal(mad + 72, ((uint8_t[]){0x11, 0x22, 0x33}), 3);
	assert_memory_equal(mad + 126, ((uint8_t[]){0x7f, 0xff}), 2);
	assert_int_equal(vb_smp_get16(mad, 31), 0x7fff);
	assert_true(vb_smp_get64(mad, 1) == 0x1122334455667788);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(smp__route),
	    cmocka_unit_test(smp__node_info),
	    cmocka_unit_test(smp__switch_info),
	    cmocka_unit_test(smp__port_info),
	    cmocka_unit_test(smp__sm_info_notice_and_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
