/* SPDX-License-Identifier: BSD-2-Clause */
/* UDP source ports and the GRH in front of a UD message. facts B.1, E.3; IBT-21 */
#include "cmocka_env.h"
#include "wire/path.h"

#include "base/rng.h"

#include <errno.h>

static struct vb_gid gid4(uint8_t last)
{
	return (struct vb_gid){{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, last}};
}

static void udp_sport__follows_the_flow_label(void **state)
{
	(void)state;
	assert_int_equal(vb_udp_sport(0x12345, 0, 0), 0xe341); /* facts E.3 */
	assert_int_equal(vb_udp_sport(0x12345, 17, 99), 0xe341);
	assert_int_equal(vb_udp_sport(0xfff12345, 17, 99), vb_udp_sport(0x12345, 17, 99));
	assert_int_equal(vb_udp_sport(1, 0, 0), 0xc001);
	assert_int_equal(vb_udp_sport(0xfffff, 0, 0), 0xc000 | (0x3fff ^ 0x3f));
}

static void udp_sport__without_flow_label_is_one_for_both_ends(void **state)
{
	struct vb_rng r = vb_rng_stream(1, "sport", 0);
	uint32_t seen = 0;

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		uint32_t a = vb_rng_below(&r, 1u << 24), b = vb_rng_below(&r, 1u << 24);
		uint16_t port = vb_udp_sport(0, a, b);

		assert_int_equal(port, vb_udp_sport(0, b, a));
		assert_true(port >= 0xc000);
		seen |= 1u << (port & 31);
	}
	assert_int_equal(seen, UINT32_MAX); /* QPs spread over the ports */
	/* 0x11 * 0x12 = 0x132: nothing to fold in */
	assert_int_equal(vb_udp_sport(0, 0x11, 0x12), 0xc132);
}

/* IBT-21: over IPv4 the IPv4 header is the last 20 of the 40 bytes. */
static void path_emit_grh__ipv4(void **state)
{
	struct vb_path p = {
	    .sgid = gid4(1), .dgid = gid4(2), .traffic_class = 0x6a, .hop_limit = 64};
	uint8_t grh[VB_GRH_LEN];
	uint32_t sum = 0;

	(void)state;
	memset(grh, 0xa5, sizeof grh);
	vb_path_emit_grh(&p, 52, grh);
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(grh[i], 0);
	const uint8_t *ip = grh + 20;

	assert_int_equal(ip[0], 0x45);
	assert_int_equal(ip[1], 0x6a);
	assert_int_equal(ip[2] << 8 | ip[3], 20 + 8 + 52);
	assert_int_equal(ip[8], 64);
	assert_int_equal(ip[9], 17);
	assert_memory_equal(ip + 12, p.sgid.b + 12, 4);
	assert_memory_equal(ip + 16, p.dgid.b + 12, 4);
	for (unsigned i = 0; i < 20; i += 2)
		sum += (uint32_t)(ip[i] << 8 | ip[i + 1]);
	assert_int_equal((sum & 0xffff) + (sum >> 16), 0xffff); /* checksum fits */
}

/* IBT-21 */
static void path_emit_grh__ipv6(void **state)
{
	struct vb_path p = {.sgid = {{0xfd, 0x77, 1}},
			    .dgid = {{0xfd, 0x77, 2}},
			    .flow_label = 0x12345,
			    .traffic_class = 0x6a,
			    .hop_limit = 3};
	static const uint8_t head[8] = {0x66, 0xa1, 0x23, 0x45, 0, 60, 17, 3};
	uint8_t grh[VB_GRH_LEN];

	(void)state;
	vb_path_emit_grh(&p, 52, grh);
	assert_memory_equal(grh, head, sizeof head);
	assert_memory_equal(grh + 8, p.sgid.b, 16);
	assert_memory_equal(grh + 24, p.dgid.b, 16);
}

/* IBT-97 */
static void gid_is_ipv4__only_when_mapped(void **state)
{
	struct vb_gid g = gid4(9), other = gid4(8);

	(void)state;
	assert_true(vb_gid_is_ipv4(&g));
	assert_false(vb_gid_eq(&g, &other));
	g.b[0] = 0xfe;
	assert_false(vb_gid_is_ipv4(&g));
}

/* IBT-21: who reads the 40 bytes gets the path that they were made of, and nothing from others. */
static void path_parse_grh__reads_what_was_written(void **state)
{
	struct vb_path v4 = {
	    .sgid = gid4(1), .dgid = gid4(2), .traffic_class = 0x6a, .hop_limit = 64};
	struct vb_path v6 = {.sgid = {{0xfd, 0x77, 1}},
			     .dgid = {{0xfd, 0x77, 2}},
			     .flow_label = 0x12345,
			     .traffic_class = 0x6a,
			     .hop_limit = 3};
	uint8_t grh[VB_GRH_LEN];
	struct vb_path p;

	(void)state;
	vb_path_emit_grh(&v6, 52, grh);
	assert_int_equal(vb_path_parse_grh(&p, grh), 0);
	assert_memory_equal(&p, &v6, sizeof p);
	vb_path_emit_grh(&v4, 52, grh);
	assert_int_equal(vb_path_parse_grh(&p, grh), 0);
	assert_memory_equal(&p, &v4, sizeof p);
	grh[33] ^= 1; /* the checksum says that this is no header */
	assert_int_equal(vb_path_parse_grh(&p, grh), -EINVAL);
}

/* Both ends change places. Marks of the way here are none of the way back. */
static void path_back__exchanges_the_ends(void **state)
{
	const struct vb_path p = {.sgid.b = {1},
				  .dgid.b = {2},
				  .flow_label = 7,
				  .udp_sport = 0xc001,
				  .slid = 3,
				  .dlid = 4,
				  .port = 5,
				  .sl = 6,
				  .traffic_class = 0x28 | VB_ECN_CE,
				  .hop_limit = 1};
	struct vb_path back = vb_path_back(&p);

	(void)state;
	assert_true(vb_gid_eq(&back.sgid, &p.dgid) && vb_gid_eq(&back.dgid, &p.sgid));
	assert_int_equal(back.slid, 4);
	assert_int_equal(back.dlid, 3);
	assert_int_equal(back.port, 5);
	assert_int_equal(back.sl, 6);
	assert_int_equal(back.flow_label, 7);
	assert_int_equal(back.traffic_class, 0x28);
	assert_int_equal(back.udp_sport, 0);
	assert_int_equal(back.hop_limit, 64);
}

/*
 * InfiniBand: whose packets a connection takes, and by what a peer is known. IBA 9.6.1.5;
 * IBT-100
 */
static void path__by_lid(void **state)
{
	struct vb_path own = {.slid = 5, .dlid = 9}, from = vb_path_back(&own), other = from;

	(void)state;
	assert_true(vb_path_is_back(&from, &own));
	assert_false(vb_path_has_grh(&own));
	other.slid = 10;
	assert_false(vb_path_is_back(&other, &own));
	other = from;
	other.dlid = 4;
	assert_false(vb_path_is_back(&other, &own));
	other = from;
	other.sgid = other.dgid = gid4(1);
	assert_true(vb_path_has_grh(&other));
	assert_false(vb_path_is_back(&other, &own));
	own.dgid = gid4(1);
	own.sgid = gid4(1);
	assert_true(vb_path_is_back(&other, &own));
	/* RoCE has a GRH always, and no LID. */
	assert_true(vb_path_has_grh(&(struct vb_path){.dgid = gid4(2)}));
	own = (struct vb_path){.dlid = 9};
	other = (struct vb_path){.dlid = 10};
	struct vb_gid a = vb_path_receiver(&own), b = vb_path_receiver(&other);

	assert_false(vb_gid_eq(&a, &b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(udp_sport__follows_the_flow_label),
	    cmocka_unit_test(udp_sport__without_flow_label_is_one_for_both_ends),
	    cmocka_unit_test(path_emit_grh__ipv4),
	    cmocka_unit_test(path_emit_grh__ipv6),
	    cmocka_unit_test(path_parse_grh__reads_what_was_written),
	    cmocka_unit_test(path_back__exchanges_the_ends),
	    cmocka_unit_test(gid_is_ipv4__only_when_mapped),
	    cmocka_unit_test(path__by_lid),
	};

	return cmocka_run_group_tests_name("path", tests, NULL, NULL);
}
