/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses and routes of the ports of a fabric, as the connection manager of a node asks for them.
 * FAB-56, CMP-50 */
#include "subnet_process_env.h"

#include "ucma/abi.h"

static struct vb_subnet_cm *cm;
static struct vb_ucma_env env;
static struct vb_ucma_local local;

static int node_begin(void **state)
{
	(void)fabric_begin(state);
	cm = vb_subnet_cm_at(fabric, HOST_B);
	assert_non_null(cm);
	env = vb_subnet_cm_env(cm);
	memset(&local, 0, sizeof local);
	return 0;
}

static struct vb_ucma_addr ipv4(uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
	return (struct vb_ucma_addr){.family = VB_UCMA_AF_INET,
				     .gid = {{[10] = 0xff, [11] = 0xff, a, b, c, d}}};
}

static struct vb_ucma_addr by_gid(uint32_t node, uint8_t port, uint32_t index)
{
	struct vb_ucma_addr a = {.family = VB_UCMA_AF_IB};

	vb_sma_gid(vb_subnet_sma_port(&fabric->subnet, place(node, port)), index, a.gid.b);
	return a;
}

static int local_of(struct vb_ucma_addr a)
{
	return env.local(env.ctx, &a, &local);
}

/* Each port of an adapter has an address, by the order of the topology; others are not here. */
static void addresses__are_of_ports(void **state)
{
	(void)state;
	assert_int_equal(vb_subnet_address_of(fabric, place(HOST_A, 1)), 0x0a000001);
	assert_int_equal(vb_subnet_address_of(fabric, place(HOST_A, 2)), 0x0a000002);
	assert_int_equal(vb_subnet_address_of(fabric, place(HOST_B, 2)), 0x0a000004);
	assert_int_equal(vb_subnet_address_of(fabric, place(SWITCH_A, 1)), 0);
	info_of(HOST_B, 2)->neighbor_mtu = 3;
	assert_int_equal(local_of(ipv4(10, 0, 0, 4)), 0);
	assert_int_equal(local.hca_port, 2);
	assert_int_equal(local.gid_index, 0);
	assert_int_equal(local.mtu, 3);
	assert_true(local.node_guid == topo.node[HOST_B].node_guid);
	assert_memory_equal(local.gid.b, by_gid(HOST_B, 2, 0).gid.b, 16);
	assert_int_equal(local_of(ipv4(10, 0, 0, 3)), 0);
	assert_int_equal(local.hca_port, 1);
	assert_int_equal(local_of(ipv4(10, 0, 0, 1)), -EADDRNOTAVAIL);
	assert_int_equal(local_of(ipv4(10, 0, 0, 0)), -EADDRNOTAVAIL);
	assert_int_equal(local_of(ipv4(10, 0, 0, 5)), -EADDRNOTAVAIL);
	assert_int_equal(local_of(ipv4(10, 1, 0, 4)), -EADDRNOTAVAIL);
	assert_int_equal(local_of(ipv4(11, 0, 0, 4)), -EADDRNOTAVAIL);
}

/* A GID is found at its index; an index without a GUID has none. */
static void addresses__are_gids_too(void **state)
{
	struct vb_sma_port *p = vb_subnet_sma_port(&fabric->subnet, place(HOST_B, 2));
	struct vb_ucma_addr none = by_gid(HOST_B, 2, 2);

	(void)state;
	assert_int_equal(local_of(none), -EADDRNOTAVAIL);
	assert_false(vb_subnet_cm_gid_is_local(cm, &none.gid));
	p->guid[2] = 0xabcd;
	assert_int_equal(local_of(by_gid(HOST_B, 2, 2)), 0);
	assert_int_equal(local.hca_port, 2);
	assert_int_equal(local.gid_index, 2);
	assert_memory_equal(local.gid.b, by_gid(HOST_B, 2, 2).gid.b, 16);
	struct vb_ucma_addr a = by_gid(HOST_B, 2, 2);

	assert_true(vb_subnet_cm_gid_is_local(cm, &a.gid));
	assert_int_equal(local_of(by_gid(HOST_A, 1, 0)), -EADDRNOTAVAIL);
}

/* Where the way is not given it begins at the first port that carries data, or at the first. */
static void routes__begin_at_a_port_that_carries_data(void **state)
{
	struct vb_ucma_addr src = {.family = 0}, dst = ipv4(10, 0, 0, 1);

	(void)state;
	assert_int_equal(env.route(env.ctx, &src, &dst, &local), 0);
	assert_memory_equal(src.gid.b, ipv4(10, 0, 0, 3).gid.b, 16);
	fabric_configure();
	src.family = 0;
	src.port = 9;
	assert_int_equal(env.route(env.ctx, &src, &dst, &local), 0);
	assert_int_equal(src.family, VB_UCMA_AF_INET);
	assert_memory_equal(src.gid.b, ipv4(10, 0, 0, 4).gid.b, 16);
	assert_int_equal(src.port, 9);
	assert_int_equal(local.hca_port, 2);
	assert_int_equal(local_of(ipv4(127, 0, 0, 1)), 0);
	assert_int_equal(local.hca_port, 2);
	src = (struct vb_ucma_addr){.family = 0};
	dst = by_gid(HOST_A, 1, 0);
	assert_int_equal(env.route(env.ctx, &src, &dst, &local), 0);
	assert_int_equal(src.family, VB_UCMA_AF_IB);
	assert_memory_equal(src.gid.b, by_gid(HOST_B, 2, 0).gid.b, 16);
	/* From an address that is not here, and to one that is nowhere. */
	src = ipv4(10, 0, 0, 1);
	assert_int_equal(env.route(env.ctx, &src, &dst, &local), -ENODEV);
	src.family = 0;
	dst = ipv4(10, 0, 0, 5);
	assert_int_equal(env.route(env.ctx, &src, &dst, &local), -ENETUNREACH);
}

/* The GID behind an address. */
static void routes__find_the_gid_of_an_address(void **state)
{
	struct vb_ucma_addr group = ipv4(239, 1, 2, 3), a = ipv4(10, 0, 0, 1),
			    loop = ipv4(127, 0, 0, 1), far = ipv4(10, 0, 1, 0),
			    ib = by_gid(HOST_A, 2, 0);
	struct vb_gid g;

	(void)state;
	fabric_configure();
	assert_int_equal(env.ib_gid(env.ctx, &a, &g), 0);
	assert_memory_equal(g.b, by_gid(HOST_A, 1, 0).gid.b, 16);
	assert_int_equal(env.ib_gid(env.ctx, &loop, &g), 0);
	assert_memory_equal(g.b, by_gid(HOST_B, 2, 0).gid.b, 16);
	assert_int_equal(env.ib_gid(env.ctx, &ib, &g), 0);
	assert_memory_equal(g.b, ib.gid.b, 16);
	assert_int_equal(env.ib_gid(env.ctx, &group, &g), 0);
	assert_memory_equal(g.b, group.gid.b, 16);
	assert_int_equal(env.ib_gid(env.ctx, &far, &g), -ENETUNREACH);
}

/* A port as its manager has set it. */
static void ports__are_as_the_manager_set_them(void **state)
{
	struct vb_ucma_ib_port port;

	(void)state;
	fabric_configure();
	info_of(HOST_B, 2)->lmc = 2;
	info_of(HOST_B, 2)->sm_sl = 6;
	assert_int_equal(env.ib_port(env.ctx, 2, &port), 0);
	assert_int_equal(port.lid, LID(HOST_B));
	assert_int_equal(port.sm_lid, LID(HOST_A));
	assert_int_equal(port.lmc, 2);
	assert_int_equal(port.sm_sl, 6);
	assert_int_equal(port.pkey_cnt, VB_SUBNET_PKEYS);
	assert_ptr_equal(port.pkey, vb_subnet_sma_port(&fabric->subnet, place(HOST_B, 2))->pkey);
	assert_int_equal(port.local.hca_port, 2);
	assert_int_equal(env.ib_port(env.ctx, 0, &port), -ENODEV);
	assert_int_equal(env.ib_port(env.ctx, 3, &port), -ENODEV);
}

#define N(f) cmocka_unit_test_setup_teardown(f, node_begin, fabric_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    N(addresses__are_of_ports),
	    N(addresses__are_gids_too),
	    N(routes__begin_at_a_port_that_carries_data),
	    N(routes__find_the_gid_of_an_address),
	    N(ports__are_as_the_manager_set_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
