/* SPDX-License-Identifier: BSD-2-Clause */
/* Places in the device table and in its GID tables, when there are few left: who has which, who
 * goes first, and what a device has of its own. node/netdev/devices.h */
#include "cmocka_env.h"
#include "node/netdev/devices.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static struct vb_host_shm host;
static struct vb_netdevs net;

static int setup(void **state)
{
	(void)state;
	memset(&host, 0, sizeof host);
	memset(&net, 0, sizeof net);
	return 0;
}

static struct vb_netdev *add_dev(uint32_t ifindex, const char *name)
{
	struct vb_netdev *d = &net.dev[net.dev_cnt++];

	*d =
	    (struct vb_netdev){.ifindex = ifindex, .mtu = 1500, .is_up = true, .has_carrier = true};
	snprintf(d->name, sizeof d->name, "%s", name);
	memcpy(d->mac, (uint8_t[]){2, 0, 0, 0, 0, (uint8_t)ifindex}, 6);
	return d;
}

static struct vb_netdev_addr *add_addr(uint32_t ifindex, uint8_t last)
{
	struct vb_netdev_addr *a = &net.addr[net.addr_cnt++];

	*a = (struct vb_netdev_addr){.ifindex = ifindex, .is_ready = true};
	a->gid.b[10] = a->gid.b[11] = 0xff;
	a->gid.b[15] = last;
	return a;
}

/* Device i of @cnt is "ethI", with number i + 2. */
static void add_devices(uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++) {
		char name[16];

		snprintf(name, sizeof name, "eth%u", i);
		add_dev(i + 2, name);
		add_addr(i + 2, (uint8_t)i);
	}
}

/* All of a network device is told of its place in the table, and follows it. */
static void update__has_all_of_the_device(void **state)
{
	struct vb_netdev *n = add_dev(7, "eth0");
	const struct vb_device *d = &host.device[0];

	(void)state;
	add_addr(7, 1);
	n->speed_mbps = 40000;
	n->mtu = 9000;
	assert_true(vb_devices_update(&host, &net, 0));
	assert_int_equal(d->ifindex, 7);
	assert_int_equal(d->netdev_mtu, 9000);
	assert_int_equal(d->speed_mbps, 40000);
	assert_true(vb_device_rate_bps(d) == UINT64_C(40000000000));
	assert_memory_equal(d->mac, n->mac, sizeof d->mac);
	assert_int_equal(d->parent, 0);
	assert_int_equal(d->gid[0].type, VB_GID_IPV4);
	assert_string_equal(d->name, "verbena0");
	n->speed_mbps = 10000;
	n->mac[5] = 77;
	assert_true(vb_devices_update(&host, &net, 0));
	assert_int_equal(d->speed_mbps, 10000);
	assert_int_equal(d->mac[5], 77);
	assert_int_equal(d->guid & 0xff, 77);
	assert_int_equal(host.generation, 2);
}

/* A device without a MAC has a GUID of the host: its own one in each network namespace. */
static void guid__without_a_mac(void **state)
{
	uint64_t *there =
	    mmap(NULL, sizeof *there, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t lo, tun;
	pid_t pid;
	int status;

	(void)state;
	assert_true(there != MAP_FAILED);
	memset(add_dev(1, "lo")->mac, 0, 6);
	memset(add_dev(5, "tun0")->mac, 0, 6);
	net.dev[0].is_loopback = true;
	add_addr(1, 1);
	add_addr(5, 5);
	vb_devices_update(&host, &net, 0);
	assert_string_equal(host.device[0].ifname, "tun0");
	tun = host.device[0].guid;
	lo = host.device[1].guid;
	assert_true(tun == lo + 5);
	assert_int_equal(lo >> 56 & 3, 2); /* locally administered, of one */
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
			_exit(77);
		(void)vb_devices_update(&host, &net, 0);
		*there = host.device[1].guid;
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WEXITSTATUS(status) == 77) {
		print_message("no network namespace may be made here\n");
		skip();
	}
	assert_true(*there != 0 && *there != lo);
	munmap(there, sizeof *there);
}

/* A new device has the place that it had before, or else the first that nobody had, or else the
 * first that is free. */
static void place__of_a_new_device(void **state)
{
	(void)state;
	add_devices(4);
	vb_devices_update(&host, &net, 0);
	/* 1 and 2 go; 7 comes and has a fresh place; then 2 comes back to its own. */
	net.dev[1] = net.dev[3];
	net.dev_cnt = 2;
	vb_devices_update(&host, &net, 0);
	assert_int_equal(host.device[1].ifindex, 0);
	assert_int_equal(host.device[2].ifindex, 0);
	assert_int_equal(host.device[2].is_up, 0);
	assert_int_equal(host.device_cnt, 4);
	add_dev(9, "eth7");
	add_addr(9, 9);
	add_dev(10, "eth2");
	add_addr(10, 10);
	vb_devices_update(&host, &net, 0);
	assert_string_equal(host.device[4].ifname, "eth7");
	assert_string_equal(host.device[2].ifname, "eth2");
	assert_int_equal(host.device[2].ifindex, 10);
	assert_string_equal(host.device[2].name, "verbena2");
	assert_int_equal(host.device[1].ifindex, 0);
	assert_int_equal(host.device_cnt, 5);
}

/* With every place used before, the first that is free is given to another one. */
static void place__none_is_fresh(void **state)
{
	(void)state;
	add_devices(VB_DEVICES_MAX);
	vb_devices_update(&host, &net, 0);
	host.device[5].pkey[1] = 7;
	host.past[6].v[0] = host.past[10].v[0] = host.past[1].v[0] = 5;
	net.dev[5].is_up = false; /* one that is down stays */
	net.dev[9].ifindex = 100; /* two have gone... */
	net.dev[12].ifindex = 101;
	vb_devices_update(&host, &net, 0);
	assert_int_equal(host.device[5].ifindex, 7);
	assert_int_equal(host.device[5].is_up, 0);
	assert_int_equal(host.device[9].ifindex, 0);
	assert_int_equal(host.device[12].ifindex, 0);
	/* ... and another one comes. */
	snprintf(net.dev[9].name, sizeof net.dev[9].name, "new");
	add_addr(100, 100);
	vb_devices_update(&host, &net, 0);
	assert_string_equal(host.device[9].ifname, "new");
	assert_int_equal(host.device[9].ifindex, 100);
	assert_int_equal(host.device[12].ifindex, 0);
	assert_true(host.past[10].v[0] == 0);
	assert_true(host.past[6].v[0] == 5 && host.past[1].v[0] == 5);
	assert_int_equal(host.device[5].pkey[1], 7);
	assert_int_equal(host.device[9].pkey[0], VB_PKEY_DEFAULT);
}

/* A GID that has gone leaves its index; one that comes takes the first that is free, never the one
 * that is for a link-local address. An address that is not ready is none yet. */
static void gid__has_its_index(void **state)
{
	struct vb_netdev_addr *first, *second, *local;

	(void)state;
	add_dev(2, "eth0")->wants_link_local = true;
	first = add_addr(2, 1);
	second = add_addr(2, 2);
	local = add_addr(2, 3);
	*local = (struct vb_netdev_addr){
	    .ifindex = 2, .gid.b = {0xfe, 0x80, [15] = 9}, .is_link_local = true};
	vb_devices_update(&host, &net, 0);
	assert_int_equal(host.device[0].gid[0].type, VB_GID_NONE);
	assert_int_equal(host.device[0].gid[1].gid.b[15], 1);
	assert_int_equal(host.device[0].gid[2].gid.b[15], 2);
	first->is_ready = false; /* it is a duplicate */
	assert_true(vb_devices_update(&host, &net, 0));
	assert_int_equal(host.device[0].gid[1].type, VB_GID_NONE);
	assert_int_equal(host.device[0].gid[1].gid.b[15], 0);
	assert_int_equal(host.device[0].gid[2].gid.b[15], 2);
	first->is_ready = local->is_ready = true;
	assert_true(vb_devices_update(&host, &net, 0));
	assert_int_equal(host.device[0].gid[0].gid.b[15], 9);
	assert_int_equal(host.device[0].gid[0].type, VB_GID_IPV6);
	assert_int_equal(host.device[0].gid[1].gid.b[15], 1);
	/* An address of another device is none of this one. */
	second->ifindex = 3;
	assert_true(vb_devices_update(&host, &net, 0));
	assert_int_equal(host.device[0].gid[2].type, VB_GID_NONE);
	/* A second link-local one has a place like any other. */
	add_addr(2, 4);
	net.addr[3] = *local;
	net.addr[3].gid.b[15] = 8;
	assert_true(vb_devices_update(&host, &net, 0));
	assert_int_equal(host.device[0].gid[2].gid.b[15], 8);
}

/* A device that goes down keeps its place and GIDs; without any address it had none to begin with.
 */
static void device__without_addresses_stays(void **state)
{
	(void)state;
	add_dev(2, "eth0");
	add_addr(2, 1);
	vb_devices_update(&host, &net, 0);
	net.addr_cnt = 0;
	assert_true(vb_devices_update(&host, &net, 0));
	assert_int_equal(host.device[0].ifindex, 2);
	assert_int_equal(host.device[0].gid[0].type, VB_GID_NONE);
	assert_int_equal(host.device_cnt, 1);
	/* When it has gone its place is nobody's, and its name is kept. */
	net.dev_cnt = 0;
	assert_true(vb_devices_update(&host, &net, 0));
	assert_int_equal(host.device[0].ifindex, 0);
	assert_string_equal(host.device[0].ifname, "eth0");
	assert_int_equal(host.device_cnt, 0);
	assert_int_equal(vb_devices_find(&host, "eth0"), -ENODEV);
	assert_int_equal(vb_devices_find(&host, "verbena0"), -ENODEV);
}

/* Virtual functions have numbers, GUIDs and names by their device, and all else of it. They go with
 * it, and leave their places empty. ADP-26 */
static void function__of_each_device(void **state)
{
	const struct vb_device *f = &host.device[3];

	(void)state;
	add_devices(2);
	net.dev[1].speed_mbps = 40000;
	vb_devices_update(&host, &net, 2);
	assert_int_equal(host.device_cnt, 6);
	/* In turn, so that each device has its share. */
	assert_string_equal(host.device[2].name, "verbena0v1");
	assert_string_equal(host.device[3].name, "verbena1v1");
	assert_string_equal(host.device[4].name, "verbena0v2");
	assert_string_equal(host.device[5].name, "verbena1v2");
	assert_int_equal(f->parent, 2);
	assert_int_equal(f->speed_mbps, 40000);
	assert_int_equal(f->ifindex, 3);
	assert_true(f->guid == (host.device[1].guid | UINT64_C(1) << 57) + (UINT64_C(1) << 48));
	assert_true(host.device[5].guid ==
		    (host.device[1].guid | UINT64_C(1) << 57) + (UINT64_C(2) << 48));
	host.past[4].v[3] = 9;
	net.dev_cnt = 1;
	assert_true(vb_devices_update(&host, &net, 2));
	assert_int_equal(f->ifindex, 0);
	assert_string_equal(f->ifname, "");
	assert_string_equal(f->name, "");
	assert_true(host.past[4].v[3] == 0);
	assert_int_equal(host.device[2].parent, 1);
	assert_int_equal(host.device[4].parent, 1);
	assert_int_equal(host.device_cnt, 5);
}

/* P_Keys of a physical function are those of its own functions, and of no other's. */
static void pkeys__of_one_device(void **state)
{
	uint16_t key[VB_PKEYS_MAX] = {[0] = 0xffff, [VB_PKEYS_MAX - 1] = 0x8007};
	uint32_t seq;

	(void)state;
	add_devices(2);
	vb_devices_update(&host, &net, 1);
	seq = host.seq;
	assert_true(vb_devices_set_pkeys(&host, 1, key));
	assert_true(host.seq != seq && host.seq % 2 == 0);
	assert_int_equal(host.device[1].pkey[VB_PKEYS_MAX - 1], 0x8007);
	assert_int_equal(host.device[3].pkey[VB_PKEYS_MAX - 1], 0x8007);
	assert_int_equal(host.device[0].pkey[VB_PKEYS_MAX - 1], 0);
	assert_int_equal(host.device[2].pkey[VB_PKEYS_MAX - 1], 0);
	assert_int_equal(host.device[4].pkey[VB_PKEYS_MAX - 1], 0);
	/* The last key alone makes another table. */
	key[VB_PKEYS_MAX - 1] = 0;
	assert_true(vb_devices_set_pkeys(&host, 1, key));
	assert_false(vb_devices_set_pkeys(&host, 1, key));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(update__has_all_of_the_device, setup),
	    cmocka_unit_test_setup(guid__without_a_mac, setup),
	    cmocka_unit_test_setup(place__of_a_new_device, setup),
	    cmocka_unit_test_setup(place__none_is_fresh, setup),
	    cmocka_unit_test_setup(gid__has_its_index, setup),
	    cmocka_unit_test_setup(device__without_addresses_stays, setup),
	    cmocka_unit_test_setup(function__of_each_device, setup),
	    cmocka_unit_test_setup(pkeys__of_one_device, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
