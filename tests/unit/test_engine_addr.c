/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which HCA port a local address belongs to, and the path of a packet of InfiniBand.
 * node/engine/addr.c; IBA 8.3, 10.6.5
 */
#include "cmocka_env.h"
#include "node/engine/priv.h"
#include "wire/ib/lrh.h"

#include <string.h>

static struct vb_host_shm host;
static struct vb_addr_table table;

static struct vb_gid address(uint8_t a, uint8_t b)
{
	return (struct vb_gid){{0x20, 0x01, 0x0d, 0xb8, [14] = a, [15] = b}};
}

static struct vb_gid link_local(uint8_t b)
{
	return (struct vb_gid){{0xfe, 0x80, [15] = b}};
}

/* All devices that there can be, each with as many addresses as it can have. */
static int setup(void **state)
{
	(void)state;
	memset(&host, 0, sizeof host);
	host.device_cnt = VB_DEVICES_MAX;
	for (uint32_t d = 0; d < VB_DEVICES_MAX; d++) {
		host.device[d].ifindex = 100 + d;
		for (uint32_t g = 0; g < VB_GIDS_MAX; g++)
			host.device[d].gid[g] =
			    (struct vb_gid_entry){address((uint8_t)d, (uint8_t)g), VB_GID_IPV6};
	}
	vb_addr_build(&table, &host);
	return 0;
}

static uint8_t port_of(struct vb_gid g, uint32_t ifindex)
{
	return vb_addr_find(&table, &g, ifindex);
}

/* Every address of every device is found, whatever interface its packets came by, and no other. */
static void find__every_address(void **state)
{
	(void)state;
	for (uint8_t d = 0; d < VB_DEVICES_MAX; d++)
		for (uint8_t g = 0; g < VB_GIDS_MAX; g++) {
			assert_int_equal(port_of(address(d, g), 100u + d), d + 1);
			assert_int_equal(port_of(address(d, g), 1), d + 1);
			assert_int_equal(port_of(address(d, g), 1), d + 1);
		}
	assert_int_equal(port_of(address(0, VB_GIDS_MAX), 100), 0);
	assert_int_equal(port_of(address(VB_DEVICES_MAX, 0), 100), 0);
	assert_int_equal(port_of((struct vb_gid){{0}}, 100), 0);
}

/* A place without an entry, a device that has gone, one behind the last, and a virtual function
 * have no addresses. */
static void build__of_what_is_there(void **state)
{
	uint16_t generation = table.generation;

	(void)state;
	host.device[3].gid[2].type = VB_GID_NONE;
	host.device[4].ifindex = 0;
	host.device[5].parent = 1;
	host.device_cnt = VB_DEVICES_MAX - 1;
	vb_addr_build(&table, &host);
	assert_int_equal(table.generation, generation + 1);
	assert_int_equal(port_of(address(3, 1), 0), 4);
	assert_int_equal(port_of(address(3, 2), 0), 0);
	assert_int_equal(port_of(address(3, 3), 0), 4);
	assert_int_equal(port_of(address(4, 0), 0), 0);
	assert_int_equal(port_of(address(5, 0), 0), 0);
	assert_int_equal(port_of(address(VB_DEVICES_MAX - 2, 0), 0), VB_DEVICES_MAX - 1);
	assert_int_equal(port_of(address(VB_DEVICES_MAX - 1, 0), 0), 0);
	/* The last answer counts no more. */
	assert_int_equal(port_of(address(1, 0), 0), 2);
	host.device[1].ifindex = 0;
	vb_addr_build(&table, &host);
	assert_int_equal(port_of(address(1, 0), 0), 0);
}

/* A link-local address is of the interface by which its packet came; where it has none of that name
 * any will do. fe80::/10, RFC 4291, 2.5.6 */
static void find__link_local(void **state)
{
	static const uint8_t last_bytes[] = {0x80, 0xbf};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct vb_gid g = link_local(7);

		g.b[1] = last_bytes[i];
		for (uint32_t d = 0; d < 3; d++)
			host.device[d].gid[d].gid = g;
		vb_addr_build(&table, &host);
		for (uint32_t d = 0; d < 3; d++)
			assert_int_equal(port_of(g, 100 + d), d + 1);
		assert_int_equal(port_of(g, 101), 2); /* after another one */
		assert_uint_in_range(port_of(g, 1), 1, 3);
	}
	/* Others are not: the first that has it is the one. */
	for (uint32_t d = 0; d < 3; d++) {
		host.device[d].gid[d].gid = address(50, 50);
		host.device[d].gid[d].gid.b[0] = 0xfe;
		host.device[d].gid[d].gid.b[1] = 0xc0;
	}
	vb_addr_build(&table, &host);
	for (uint32_t d = 0; d < 3; d++)
		assert_int_equal(port_of(host.device[0].gid[0].gid, 100 + d), 1);
}

static uint8_t port_of_path(uint16_t dlid, uint8_t port, const struct vb_gid *dgid)
{
	struct vb_path p = {.dlid = dlid, .port = port};

	if (dgid)
		p.dgid = *dgid;
	return vb_addr_of_path(&host, &p);
}

/* A LID is a port's, with as many as its LMC says; a GRH has to name a GID of the same port. */
static void path__by_lid_and_gid(void **state)
{
	const struct vb_gid own = address(2, 3), other = address(1, 3), group = {{0xff, 0x12}};

	(void)state;
	host.device[1].ib.lid = 16;
	host.device[2].ib.lid = 24;
	host.device[2].ib.lmc = 2;
	host.device[VB_DEVICES_MAX - 1].ib.lid = 99;
	host.device[VB_DEVICES_MAX - 1].ib.lmc = 8; /* three bits count */
	assert_int_equal(port_of_path(15, 1, NULL), 0);
	assert_int_equal(port_of_path(16, 1, NULL), 2);
	assert_int_equal(port_of_path(17, 1, NULL), 0);
	for (uint16_t lid = 24; lid < 28; lid++) {
		assert_int_equal(port_of_path(lid, 1, NULL), 3);
		assert_int_equal(port_of_path(lid, 1, &own), 3);
		assert_int_equal(port_of_path(lid, 1, &other), 0);
		assert_int_equal(port_of_path(lid, 1, &group), 0);
	}
	assert_int_equal(port_of_path(23, 1, NULL), 0);
	assert_int_equal(port_of_path(28, 1, NULL), 0);
	assert_int_equal(port_of_path(99, 1, NULL), VB_DEVICES_MAX);
	assert_int_equal(port_of_path(100, 1, NULL), 0);
	/* A port that no manager has set up has none. */
	host.device[5].ib.lmc = 2;
	for (uint16_t lid = 0; lid < 4; lid++)
		assert_int_equal(port_of_path(lid, 1, NULL), 0);
	host.device[2].gid[3].type = VB_GID_NONE;
	assert_int_equal(port_of_path(24, 1, &own), 0);
	host.device_cnt = 2;
	assert_int_equal(port_of_path(24, 1, NULL), 0);
	assert_int_equal(port_of_path(16, 1, NULL), 2);
}

/* The copy of a packet for a group comes by the port of the node that it names, and its GID is a
 * group's. */
static void path__of_a_group(void **state)
{
	const struct vb_gid group = {{0xff, 0x12}}, own = address(2, 3);

	(void)state;
	host.device[0].ib.lid = VB_LID_MULTICAST + 5; /* no port has such a LID */
	host.device[2].ib.number = 2;
	host.device[VB_DEVICES_MAX - 1].ib.number = 7;
	assert_int_equal(port_of_path(VB_LID_MULTICAST, 2, &group), 3);
	assert_int_equal(port_of_path(VB_LID_MULTICAST + 5, 2, &group), 3);
	assert_int_equal(port_of_path(VB_LID_MULTICAST, 7, &group), VB_DEVICES_MAX);
	assert_int_equal(port_of_path(VB_LID_MULTICAST, 3, &group), 0);
	assert_int_equal(port_of_path(VB_LID_MULTICAST, 0, &group), 0);
	assert_int_equal(port_of_path(VB_LID_MULTICAST, 2, &own), 0);
	assert_int_equal(port_of_path(VB_LID_MULTICAST - 1, 2, &group), 0);
	host.device_cnt = 3;
	assert_int_equal(port_of_path(VB_LID_MULTICAST, 2, &group), 3);
	assert_int_equal(port_of_path(VB_LID_MULTICAST, 7, &group), 0);
}

int main(void)
{
#define ADDR_TEST(f) cmocka_unit_test_setup_teardown(f, setup, NULL)
	const struct CMUnitTest tests[] = {
	    ADDR_TEST(find__every_address), ADDR_TEST(build__of_what_is_there),
	    ADDR_TEST(find__link_local),    ADDR_TEST(path__by_lid_and_gid),
	    ADDR_TEST(path__of_a_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
