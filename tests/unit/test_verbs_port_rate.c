/* SPDX-License-Identifier: BSD-2-Clause */
/* Speeds and widths of ports, as ibv_query_port(3) tells them. IBT-94 */
#include "verbs/priv.h"
#include "verbs_env.h"

/* The codes of each Ethernet speed: 1X, 4X and 2X are 1, 2 and 16; SDR, DDR, FDR10, EDR, HDR and
 * NDR are 1, 2, 8, 32, 64 and 128. IBT-94 */
static void query_port__speed_and_width(void **state)
{
	static const struct {
		uint32_t mbps;
		uint8_t width, speed;
	} c[] = {{0, 2, 32},      {1000, 1, 1},    {10000, 1, 8},   {20000, 2, 2},
		 {25000, 1, 32},  {40000, 2, 8},   {50000, 16, 32}, {100000, 2, 32},
		 {200000, 2, 64}, {400000, 2, 128}};
	struct vb_ibv_context *context = vb_ibv_ctx(ctx);
	struct ibv_port_attr a;

	(void)state;
	for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
		assert_int_equal(ibv_query_port(ctx, 1, &a), 0);
		context->table[0].speed_mbps = c[i].mbps; /* until the table changes */
		assert_int_equal(ibv_query_port(ctx, 1, &a), 0);
		assert_int_equal(a.active_width, c[i].width);
		assert_int_equal(a.active_speed, c[i].speed);
	}
}

/* The codes of all widths and speeds of InfiniBand links. A byte has no code for XDR: it says NDR,
 * and active_speed_ex, which only later headers have, says XDR. IBT-94 */
static void query_port__codes_of_infiniband(void **state)
{
	static const uint8_t widths[] = {1, 2, 4, 8, 16}; /* 1X, 4X, 8X, 12X, 2X */
	/* SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR, XDR */
	static const uint16_t speeds[] = {1, 2, 4, 8, 16, 32, 64, 128, 256};

	(void)state;
	for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
		for (size_t s = 0; s < sizeof speeds / sizeof speeds[0]; s++) {
			const struct vb_device d = {
			    .ib = {.number = 1, .width = widths[w], .speed = speeds[s]}};
			struct ibv_port_attr a = {.active_speed = 0};

			vb_ibv_ib_port_show(&d, &a);
			assert_int_equal(a.active_width, widths[w]);
			assert_int_equal(a.active_speed, speeds[s] < 256 ? speeds[s] : 128);
			assert_int_equal(vb_ibv_ib_speed_ex(&d), speeds[s] < 256 ? 0 : 256);
		}
}

/* A program of later headers has active_speed_ex behind the other members, which is 0 on Ethernet;
 * one of earlier headers has no room for it. IBT-94 */
static void query_port__of_later_headers(void **state)
{
	/* By bytes: the headers here may be of either kind. */
	union {
		struct ibv_port_attr a;
		uint8_t bytes[64];
	} p;
	const uint32_t none = UINT32_MAX;

	(void)state;
	memset(&p, 0xff, sizeof p);
	assert_int_equal(vb_ibv_query_port_op(ctx, 1, &p.a, 56), 0);
	assert_memory_equal(p.bytes + 52, &(uint32_t){0}, 4);
	assert_memory_equal(p.bytes + 56, &none, 4);
	assert_int_equal(p.a.active_speed, 32);
	memset(&p, 0xff, sizeof p);
	assert_int_equal(vb_ibv_query_port_op(ctx, 1, &p.a, 52), 0);
	assert_memory_equal(p.bytes + 52, &none, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    VERBS_TEST(query_port__speed_and_width),
	    VERBS_TEST(query_port__codes_of_infiniband),
	    VERBS_TEST(query_port__of_later_headers),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
