/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A router's hop: by which port a packet with a GRH goes on, with which LIDs, and what it keeps.
 * wire/ib/hop.h; IBA 8.3, 19; FAB-06, LNK-06, LNK-08
 */
#include "wire/ib/hop.h"

#include "cmocka_env.h"
#include "wire/hdr.h"
#include "wire/ib/grh.h"
#include "wire/ib/lrh.h"
#include "wire/ib/vcrc.h"
#include "wire/icrc.h"

#include <string.h>

#define P(x) (UINT64_C(0xfec0000000000000) + (x))
enum { A = 1, B, C, D, E };

/* Node 0 is none; router 1 joins A and B, router 2 B and C, router 3 C and D, and B; router 4,
 * which has a third port, D and E. */
static struct vb_router_port table[5][4];
static const uint8_t port_cnts[5] = {0, 2, 2, 3, 3};

static uint8_t table_port_cnt(const void *ctx, uint32_t n)
{
	(void)ctx;
	return port_cnts[n];
}

static struct vb_router_port table_port(const void *ctx, struct vb_router_at at)
{
	(void)ctx;
	return table[at.router][at.port];
}

/* The host of a subnet has GUID 0x77 and LID 0x70 + subnet. */
static uint16_t table_lid_of(const void *ctx, uint64_t prefix, uint64_t guid)
{
	(void)ctx;
	return guid == 0x77 ? (uint16_t)(0x70 + (prefix & 0xf)) : 0;
}

static const struct vb_routers routers = {
    .cnt = 5, .port_cnt = table_port_cnt, .port = table_port, .lid_of = table_lid_of};

static void port_set(uint32_t router, uint8_t number, uint64_t subnet)
{
	table[router][number] = (struct vb_router_port){.prefix = P(subnet),
							.guid = 0x1000u * router + number,
							.lid = (uint16_t)(0x10 * router + number),
							.is_up = true};
}

static int begin(void **state)
{
	(void)state;
	memset(table, 0, sizeof table);
	port_set(1, 1, A);
	port_set(1, 2, B);
	port_set(2, 1, B);
	port_set(2, 2, C);
	port_set(3, 1, C);
	port_set(3, 2, D);
	port_set(3, 3, B);
	port_set(4, 1, D);
	port_set(4, 3, E);
	return 0;
}

static struct vb_hop hop;

static enum vb_hop_fate go(uint32_t router, uint8_t in, uint64_t prefix, uint64_t guid,
			   uint8_t limit)
{
	const struct vb_hop_packet p = {
	    .has_grh = true, .hop_limit = limit, .prefix = prefix, .guid = guid};

	return vb_router_hop(&routers, (struct vb_router_at){router, in}, &p, &hop);
}

static void expect_hop(uint8_t port, uint16_t slid, uint16_t dlid)
{
	assert_int_equal(hop.port, port);
	assert_int_equal(hop.slid, slid);
	assert_int_equal(hop.dlid, dlid);
}

/* FAB-06: into a subnet of the router itself, to the LID of the GID there; else to the next router,
 * the nearest, also by the port where the packet came in. */
static void hop__leads_to_the_subnet(void **state)
{
	(void)state;
	assert_int_equal(go(1, 1, P(B), 0x77, 9), VB_HOP_ON);
	expect_hop(2, 0x12, 0x72);
	assert_int_equal(go(1, 2, P(A), 0x77, 9), VB_HOP_ON);
	expect_hop(1, 0x11, 0x71);
	assert_int_equal(go(1, 1, P(C), 0x77, 9), VB_HOP_ON);
	expect_hop(2, 0x12, 0x21);
	/* D is two routers away by C, and one by router 3. */
	assert_int_equal(go(1, 1, P(D), 0x77, 9), VB_HOP_ON);
	expect_hop(2, 0x12, 0x33);
	assert_int_equal(go(1, 1, P(E), 0x77, 9), VB_HOP_ON);
	expect_hop(2, 0x12, 0x33);
	assert_int_equal(go(3, 3, P(E), 0x77, 9), VB_HOP_ON);
	expect_hop(2, 0x32, 0x41);
	assert_int_equal(go(1, 2, P(C), 0x77, 9), VB_HOP_ON);
	expect_hop(2, 0x12, 0x21);
	/* Without that router the way is longer; without its link there is none. */
	table[3][3].is_up = false;
	assert_int_equal(go(1, 1, P(D), 0x77, 9), VB_HOP_ON);
	expect_hop(2, 0x12, 0x21);
	table[2][2].is_up = false;
	assert_int_equal(go(1, 1, P(D), 0x77, 9), VB_HOP_NO_ROUTE);
}

static uint16_t far_lid_of(const void *ctx, uint64_t prefix, uint64_t guid)
{
	(void)ctx;
	return prefix == P(0xc) && guid == 0x99 ? 0x99 : 0;
}

/* FAB-06: routers of other fabrics are on the way as well, where they are in one of the subnets
 * here; so are ports there. */
static void hop__leads_through_other_fabrics(void **state)
{
	/* One joins E and a subnet of another fabric, one that and a further one. */
	const struct vb_router_port first[] = {{P(E), 0x6001, 0x61, true},
					       {P(0xb), 0x6002, 0x62, true}},
				    second[] = {{P(0xb), 0x7001, 0x71, true},
						{P(0xc), 0x7002, 0x72, true}};
	const struct vb_far_router two[] = {{first, 2}, {second, 2}};
	const struct vb_far_routers far = {.lid_of = far_lid_of, .router = two, .cnt = 2};
	struct vb_routers all = routers;
	struct vb_hop_packet p = {.has_grh = true, .hop_limit = 9, .prefix = P(0xc), .guid = 0x99};
	struct vb_router_at next;

	(void)state;
	assert_int_equal(vb_router_hop(&all, (struct vb_router_at){4, 1}, &p, &hop),
			 VB_HOP_NO_ROUTE);
	all.far = &far;
	assert_int_equal(vb_router_hop(&all, (struct vb_router_at){4, 1}, &p, &hop), VB_HOP_ON);
	expect_hop(3, 0x43, 0x61);
	assert_int_equal(vb_router_hop(&all, (struct vb_router_at){1, 1}, &p, &hop), VB_HOP_ON);
	expect_hop(2, 0x12, 0x33);
	assert_true(vb_routers_find(&all, P(E), P(0xc), &next));
	assert_int_equal(next.router, 5);
	assert_int_equal(vb_routers_port(&all, next).guid, 0x6001);
	assert_true(vb_routers_find(&all, P(0xc), P(A), &next));
	assert_int_equal(vb_routers_port(&all, next).guid, 0x7002);
	/* A router here that has a port there finds the LID there. */
	table[4][2] = second[1];
	assert_int_equal(vb_router_hop(&all, (struct vb_router_at){4, 1}, &p, &hop), VB_HOP_ON);
	expect_hop(2, 0x72, 0x99);
}

/* FAB-06: with a hop limit of 0 or 1 a packet ends at the router, with 2 it goes on. */
static void hop__limit_ends(void **state)
{
	(void)state;
	assert_int_equal(go(1, 1, P(B), 0x77, 0), VB_HOP_ENDED);
	assert_int_equal(go(1, 1, P(B), 0x77, 1), VB_HOP_ENDED);
	assert_int_equal(go(1, 1, P(B), 0x77, 2), VB_HOP_ON);
	assert_int_equal(go(1, 1, P(B), 0x77, 255), VB_HOP_ON);
	/* One for the router itself has arrived. IBA 8.3.6 */
	assert_int_equal(go(1, 1, P(A), 0x1001, 0), VB_HOP_HERE);
}

/* FAB-07, LNK-06: no GRH; a DGID of the packet's own subnet, but the router's; link-local ones; a
 * subnet and a port that nobody knows. */
static void hop__what_is_dropped(void **state)
{
	struct vb_hop_packet p = {.hop_limit = 9, .prefix = P(B), .guid = 0x77};

	(void)state;
	assert_int_equal(vb_router_hop(&routers, (struct vb_router_at){1, 1}, &p, &hop),
			 VB_HOP_NO_GRH);
	assert_int_equal(go(1, 1, P(A), 0x77, 9), VB_HOP_NO_ROUTE);
	assert_int_equal(go(1, 1, P(A), 0x1001, 9), VB_HOP_HERE);
	assert_int_equal(hop.port, 1);
	assert_int_equal(go(1, 1, P(B), 0x1002, 9), VB_HOP_HERE);
	assert_int_equal(hop.port, 2);
	assert_int_equal(go(1, 1, P(B), 0x78, 9), VB_HOP_NO_ROUTE);
	assert_int_equal(go(1, 1, P(9), 0x77, 9), VB_HOP_NO_ROUTE);
	table[1][2].prefix = VB_PREFIX_LINK_LOCAL;
	assert_int_equal(go(1, 1, VB_PREFIX_LINK_LOCAL, 0x77, 9), VB_HOP_NO_ROUTE);
	(void)begin(NULL);
	p.has_grh = p.is_from_link_local = true;
	assert_int_equal(vb_router_hop(&routers, (struct vb_router_at){1, 1}, &p, &hop),
			 VB_HOP_NO_ROUTE);
}

/* The router of a subnet that leads to another one, as a subnet manager is told of it. */
static void find__the_router_of_a_subnet(void **state)
{
	struct vb_router_at next;

	(void)state;
	assert_true(vb_routers_find(&routers, P(A), P(E), &next));
	assert_int_equal(next.router * 10 + next.port, 11);
	assert_true(vb_routers_find(&routers, P(B), P(D), &next));
	assert_int_equal(next.router * 10 + next.port, 33);
	assert_true(vb_routers_find(&routers, P(C), P(A), &next));
	assert_int_equal(next.router * 10 + next.port, 22);
	assert_false(vb_routers_find(&routers, P(A), P(9), &next));
	assert_false(vb_routers_find(&routers, P(9), P(A), &next));
	assert_false(vb_routers_find(&routers, P(A), P(A), &next));
	table[1][1].prefix = VB_PREFIX_LINK_LOCAL;
	assert_false(vb_routers_find(&routers, VB_PREFIX_LINK_LOCAL, P(B), &next));
}

/* A chain of more subnets than a search looks at ends it, and no memory behind it is written. */
static struct vb_router_port chain_port(const void *ctx, struct vb_router_at at)
{
	(void)ctx;
	return (struct vb_router_port){
	    .prefix = P(at.router + at.port), .guid = at.router, .lid = 1, .is_up = true};
}

static uint8_t chain_port_cnt(const void *ctx, uint32_t n)
{
	(void)ctx, (void)n;
	return 2;
}

static void find__is_bounded(void **state)
{
	const struct vb_routers chain = {
	    .cnt = 200, .port_cnt = chain_port_cnt, .port = chain_port};
	struct vb_router_at next;

	(void)state;
	/* Router n leads from subnet n + 1 to n + 2. */
	assert_true(vb_routers_find(&chain, P(201 - VB_HOP_SUBNETS_MAX + 1), P(201), &next));
	assert_int_equal(next.router, 201 - VB_HOP_SUBNETS_MAX);
	assert_false(vb_routers_find(&chain, P(1), P(201), &next));
}

#define PAYLOAD 64
#define PACKET (VB_LRH_LEN + VB_GRH_LEN + 12 + PAYLOAD + VB_ICRC_LEN)

/* The bytes of a packet with this path on a link. */
static void packet_emit(const struct vb_path *p, uint8_t out[PACKET + VB_VCRC_LEN])
{
	const struct vb_lrh lrh = {.sl = p->sl,
				   .lnh = VB_LNH_GLOBAL,
				   .dlid = p->dlid,
				   .slid = p->slid,
				   .words = PACKET / 4};
	const struct vb_grh grh = {.sgid = p->sgid,
				   .dgid = p->dgid,
				   .version = 6,
				   .pay_len = PACKET - VB_LRH_LEN - VB_GRH_LEN,
				   .next_header = VB_GRH_NEXT_HEADER,
				   .hop_limit = p->hop_limit};
	uint8_t *bth = out + VB_LRH_LEN + VB_GRH_LEN;
	uint32_t crc;

	vb_lrh_emit(&lrh, out);
	vb_grh_emit(&grh, out + VB_LRH_LEN);
	memset(bth, 0x21, 12 + PAYLOAD);
	crc = vb_icrc_start_global(out + VB_LRH_LEN);
	crc = vb_icrc_headers(crc, bth, 12);
	vb_icrc_finish(vb_icrc_bytes(crc, bth + 12, PAYLOAD), bth + 12 + PAYLOAD);
	vb_vcrc_put(out + PACKET, vb_vcrc(out, PACKET));
}

/* FAB-06, LNK-08: the hop limit is one less and the LIDs are new, and with them the VCRC; all that
 * the ICRC covers is as it was, and so is the ICRC. */
static void pass__keeps_what_the_icrc_covers(void **state)
{
	uint8_t before[PACKET + VB_VCRC_LEN], after[PACKET + VB_VCRC_LEN];
	struct vb_path p = {.slid = 5, .dlid = 0x11, .sl = 3, .hop_limit = 64};
	struct vb_hop_packet facts;

	(void)state;
	for (unsigned i = 0; i < 16; i++) {
		p.sgid.b[i] = (uint8_t)(0x10 + i);
		p.dgid.b[i] = (uint8_t)(0x30 + i);
	}
	packet_emit(&p, before);
	facts = vb_hop_packet_of(&p);
	assert_true(facts.has_grh && !facts.is_from_link_local);
	assert_int_equal(facts.hop_limit, 64);
	assert_true(facts.prefix == UINT64_C(0x3031323334353637));
	assert_true(facts.guid == UINT64_C(0x38393a3b3c3d3e3f));
	vb_hop_pass(&p, &(struct vb_hop){.slid = 0x12, .dlid = 0x72}, 1);
	assert_int_equal(p.slid, 0x12);
	assert_int_equal(p.dlid, 0x72);
	assert_int_equal(p.hop_limit, 63);
	assert_int_equal(p.sl, 3);
	packet_emit(&p, after);
	assert_memory_equal(before + PACKET - VB_ICRC_LEN, after + PACKET - VB_ICRC_LEN,
			    VB_ICRC_LEN);
	assert_memory_not_equal(before + PACKET, after + PACKET, VB_VCRC_LEN);
	p.sgid = (struct vb_gid){{0xfe, 0x80, [15] = 1}};
	assert_true(vb_hop_packet_of(&p).is_from_link_local);
	p.sgid = p.dgid = (struct vb_gid){{0}};
	assert_false(vb_hop_packet_of(&p).has_grh);
}

#define H(f) cmocka_unit_test_setup(f, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    H(hop__leads_to_the_subnet),
	    H(hop__leads_through_other_fabrics),
	    H(hop__limit_ends),
	    H(hop__what_is_dropped),
	    H(find__the_router_of_a_subnet),
	    H(find__is_bounded),
	    H(pass__keeps_what_the_icrc_covers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
