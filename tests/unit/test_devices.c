/* SPDX-License-Identifier: BSD-2-Clause */
/* The device table: order, names, GID indices and MTU as network devices come, change and go. */
#include "cmocka_env.h"
#include "node/broker/state.h"
#include "node/engine/priv.h"
#include "node/netdev/devices.h"
#include "node/netdev/eth_rate.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
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

static struct vb_netdev *add_dev(uint32_t ifindex, const char *name, uint32_t mtu)
{
	struct vb_netdev *d = &net.dev[net.dev_cnt++];

	*d = (struct vb_netdev){.ifindex = ifindex, .mtu = mtu, .is_up = true, .has_carrier = true};
	d->is_loopback = strcmp(name, "lo") == 0;
	d->wants_link_local = !d->is_loopback;
	snprintf(d->name, sizeof d->name, "%s", name);
	if (!d->is_loopback)
		memcpy(d->mac, (uint8_t[]){2, 0, 0, 0, 0, (uint8_t)ifindex}, 6);
	return d;
}

static struct vb_netdev_addr *add_addr(uint32_t ifindex, uint8_t last, bool ip4, bool link_local)
{
	struct vb_netdev_addr *a = &net.addr[net.addr_cnt++];

	*a = (struct vb_netdev_addr){
	    .ifindex = ifindex, .is_ready = true, .is_link_local = link_local};
	if (ip4)
		a->gid.b[10] = a->gid.b[11] = 0xff;
	else
		a->gid.b[0] = 0xfe, a->gid.b[1] = link_local ? 0x80 : 0xc0;
	a->gid.b[15] = last;
	return a;
}

static void devices_update__loopback_last(void **state)
{
	(void)state;
	add_dev(1, "lo", 65536);
	add_dev(4, "eth0", 1500);
	add_dev(7, "eth1", 9000);
	add_addr(1, 1, true, false);
	add_addr(4, 4, true, false);
	add_addr(7, 7, true, false);
	assert_true(vb_devices_update(&host, &net, 0));
	assert_int_equal(host.device_cnt, 3);
	assert_string_equal(host.device[0].name, "verbena0");
	assert_string_equal(host.device[0].ifname, "eth0");
	assert_string_equal(host.device[1].ifname, "eth1");
	assert_string_equal(host.device[2].ifname, "lo");
	assert_int_equal(host.generation, 1);
	assert_int_equal(host.seq % 2, 0);
	/* The same again is no change. */
	assert_false(vb_devices_update(&host, &net, 0));
	assert_int_equal(host.generation, 1);
}

static void devices_update__needs_up_and_address(void **state)
{
	(void)state;
	add_dev(2, "eth0", 1500)->is_up = false;
	add_dev(3, "eth1", 1500);
	add_dev(4, "eth2", 1500);
	add_addr(2, 2, true, false);
	add_addr(4, 4, false, true)->is_ready = false; /* tentative */
	assert_false(vb_devices_update(&host, &net, 0));
	assert_int_equal(host.device_cnt, 0);
	net.addr[1].is_ready = true;
	assert_true(vb_devices_update(&host, &net, 0));
	assert_string_equal(host.device[0].ifname, "eth2");
}

static void devices_update__carrier_is_port_state(void **state)
{
	(void)state;
	add_dev(2, "eth0", 1500)->has_carrier = false;
	add_addr(2, 2, true, false);
	vb_devices_update(&host, &net, 0);
	assert_int_equal(host.device[0].is_up, 0);
	net.dev[0].has_carrier = true;
	assert_true(vb_devices_update(&host, &net, 0));
	assert_int_equal(host.device[0].is_up, 1);
	net.dev[0].is_up = false;
	assert_true(vb_devices_update(&host, &net, 0));
	assert_int_equal(host.device[0].is_up, 0);
	assert_int_equal(host.device[0].ifindex, 2);
}

/* The GUID of "lo" where the file with the boot id says @id, by a process that has its own mounts;
 * 0: it may not. */
static uint64_t guid_after_boot(const char *id)
{
	uint64_t *guid =
	    mmap(NULL, sizeof *guid, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char path[] = "/tmp/verbena-boot-id-XXXXXX";
	int fd = mkstemp(path), status;
	uint64_t got;
	pid_t pid;

	assert_true(guid != MAP_FAILED && fd >= 0);
	assert_int_equal(write(fd, id, strlen(id)), strlen(id));
	close(fd);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		bool may = unshare(CLONE_NEWNS) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;

		if (!may || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount(path, "/proc/sys/kernel/random/boot_id", NULL, MS_BIND, NULL))
			_exit(0);
		(void)vb_devices_update(&host, &net, 0);
		*guid = host.device[0].guid;
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	unlink(path);
	got = *guid;
	munmap(guid, sizeof *guid);
	return got;
}

/* A device without a MAC has a GUID of its own in each life of the host: peers keep state by it. */
static void guid__of_lo_is_of_this_boot(void **state)
{
	uint64_t first, second;

	(void)state;
	add_dev(1, "lo", 65536);
	add_addr(1, 1, true, false);
	first = guid_after_boot("9b2f1a77-3c44-4e0b-9d0a-5f6c1b2a3d4e\n");
	if (!first) {
		print_message("the boot id cannot be replaced here\n");
		skip();
	}
	second = guid_after_boot("9b2f1a77-3c44-4e0b-9d0a-5f6c1b2a3d4f\n");
	assert_true(second && first != second);
	assert_true(first == guid_after_boot("9b2f1a77-3c44-4e0b-9d0a-5f6c1b2a3d4e\n"));
	/* Locally administered, and of one. */
	assert_int_equal(first >> 56 & 3, 2);
}

static void devices_update__active_mtu(void **state)
{
	static const struct {
		uint32_t netdev, active;
	} mtu[] = {{65536, VB_MTU_4096}, {4176, VB_MTU_4096}, {4175, VB_MTU_2048},
		   {9000, VB_MTU_4096},  {2128, VB_MTU_2048}, {1500, VB_MTU_1024},
		   {1103, VB_MTU_512},   {591, VB_MTU_256},   {68, VB_MTU_256}};

	(void)state;
	add_dev(2, "eth0", 1500);
	add_addr(2, 2, true, false);
	for (size_t i = 0; i < sizeof mtu / sizeof mtu[0]; i++) {
		net.dev[0].mtu = mtu[i].netdev;
		vb_devices_update(&host, &net, 0);
		assert_int_equal(host.device[0].active_mtu, mtu[i].active);
	}
}

/* IBT-97, RoCE: index 0 is the link-local GID even when it is the last to come. */
static void gids__link_local_first(void **state)
{
	(void)state;
	add_dev(2, "eth0", 1500);
	add_addr(2, 9, true, false);
	vb_devices_update(&host, &net, 0);
	assert_int_equal(host.device[0].gid[0].type, VB_GID_NONE);
	assert_int_equal(host.device[0].gid[1].type, VB_GID_IPV4);
	add_addr(2, 1, false, true);
	assert_true(vb_devices_update(&host, &net, 0));
	assert_int_equal(host.device[0].gid[0].type, VB_GID_IPV6);
	assert_int_equal(host.device[0].gid[0].gid.b[0], 0xfe);
	assert_int_equal(host.device[0].gid[1].type, VB_GID_IPV4);
}

/* The P_Key table is the device's and its virtual functions', also of one that comes later, and
 * stays until the place is another network device's. IBT-81 */
static void pkeys__are_the_devices(void **state)
{
	const uint16_t key[VB_PKEYS_MAX] = {0x0001, 0x8002};

	(void)state;
	add_dev(2, "eth0", 1500);
	add_addr(2, 2, true, false);
	vb_devices_update(&host, &net, 1);
	assert_int_equal(host.device[0].pkey[0], VB_PKEY_DEFAULT);
	assert_int_equal(host.device[1].pkey[0], VB_PKEY_DEFAULT);

	uint32_t generation = host.generation;

	assert_true(vb_devices_set_pkeys(&host, 0, key));
	assert_int_equal(host.generation, generation + 1);
	assert_false(vb_devices_set_pkeys(&host, 0, key));
	assert_memory_equal(host.device[1].pkey, key, sizeof key);
	assert_true(vb_devices_update(&host, &net, 2));
	assert_memory_equal(host.device[0].pkey, key, sizeof key);
	assert_memory_equal(host.device[2].pkey, key, sizeof key);
	memcpy(net.dev[0].name, "eth7", 5);
	net.dev[0].ifindex = net.addr[0].ifindex = 7;
	vb_devices_update(&host, &net, 0);
	for (int i = 0; i < VB_DEVICES_MAX; i++)
		if (host.device[i].ifindex)
			assert_int_equal(host.device[i].pkey[0], VB_PKEY_DEFAULT);
}

static void gids__no_hole_without_link_local(void **state)
{
	(void)state;
	add_dev(1, "lo", 65536);
	add_addr(1, 1, true, false);
	add_addr(1, 2, false, false);
	vb_devices_update(&host, &net, 0);
	assert_int_equal(host.device[0].gid[0].type, VB_GID_IPV4);
	assert_int_equal(host.device[0].gid[1].type, VB_GID_IPV6);
}

static void gids__index_stays_while_others_go(void **state)
{
	(void)state;
	add_dev(1, "lo", 65536);
	for (uint8_t i = 0; i < 4; i++)
		add_addr(1, 10 + i, true, false);
	vb_devices_update(&host, &net, 0);
	net.addr[1] = net.addr[3]; /* 11 goes */
	net.addr_cnt = 3;
	assert_true(vb_devices_update(&host, &net, 0));
	assert_int_equal(host.device[0].gid[0].gid.b[15], 10);
	assert_int_equal(host.device[0].gid[1].type, VB_GID_NONE);
	assert_int_equal(host.device[0].gid[2].gid.b[15], 12);
	assert_int_equal(host.device[0].gid[3].gid.b[15], 13);
	/* The next one takes the free place. */
	add_addr(1, 20, true, false);
	vb_devices_update(&host, &net, 0);
	assert_int_equal(host.device[0].gid[1].gid.b[15], 20);
}

static void gids__more_than_the_table(void **state)
{
	(void)state;
	add_dev(1, "lo", 65536);
	for (int i = 0; i < VB_GIDS_MAX + 5; i++)
		add_addr(1, (uint8_t)i, true, false);
	vb_devices_update(&host, &net, 0);
	assert_int_equal(host.device[0].gid[VB_GIDS_MAX - 1].gid.b[15], VB_GIDS_MAX - 1);
}

static void devices_update__name_returns(void **state)
{
	(void)state;
	add_dev(1, "lo", 65536);
	add_dev(2, "eth0", 1500);
	add_addr(1, 1, true, false);
	add_addr(2, 2, true, false);
	vb_devices_update(&host, &net, 0);
	vb_count_add(&host.past[1], VB_COUNTER_port_xmit_packets, 5);
	net.dev_cnt = 1; /* eth0 goes */
	assert_true(vb_devices_update(&host, &net, 0));
	assert_int_equal(host.device[0].ifindex, 0);
	assert_int_equal(host.device[0].gid[1].type, VB_GID_NONE);
	assert_int_equal(host.device_cnt, 2);
	/* Another one comes first, then eth0 again under a new number. */
	add_dev(3, "eth3", 1500);
	add_dev(4, "eth0", 1500);
	add_addr(3, 3, true, false);
	add_addr(4, 2, true, false);
	vb_devices_update(&host, &net, 0);
	assert_string_equal(host.device[0].ifname, "eth0");
	assert_int_equal(host.device[0].ifindex, 4);
	assert_int_equal(host.past[1].v[VB_COUNTER_port_xmit_packets], 5);
	assert_string_equal(host.device[2].ifname, "eth3");
}

static void devices_update__rename_keeps_the_device(void **state)
{
	(void)state;
	add_dev(2, "eth0", 1500);
	add_addr(2, 2, true, false);
	vb_devices_update(&host, &net, 0);
	snprintf(net.dev[0].name, sizeof net.dev[0].name, "wan");
	assert_true(vb_devices_update(&host, &net, 0));
	assert_string_equal(host.device[0].name, "verbena0");
	assert_string_equal(host.device[0].ifname, "wan");
}

static void devices_update__full_table(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < VB_DEVICES_MAX + 3; i++) {
		char name[16];

		snprintf(name, sizeof name, "eth%u", i);
		add_dev(i + 2, name, 1500);
		add_addr(i + 2, (uint8_t)i, true, false);
	}
	vb_devices_update(&host, &net, 0);
	assert_int_equal(host.device_cnt, VB_DEVICES_MAX);
}

/* A network device that takes the place of another has neither its counters nor its P_Keys. */
static void devices_update__place_of_another(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < VB_DEVICES_MAX; i++) {
		char name[16];

		snprintf(name, sizeof name, "eth%u", i);
		add_dev(i + 2, name, 1500);
		add_addr(i + 2, (uint8_t)i, true, false);
	}
	vb_devices_update(&host, &net, 0);
	vb_count_add(&host.past[1], VB_COUNTER_port_xmit_packets, 5);
	host.device[0].pkey[1] = 0x8001;
	net.dev[0].ifindex = net.addr[0].ifindex = 100;
	snprintf(net.dev[0].name, sizeof net.dev[0].name, "eth100");
	vb_devices_update(&host, &net, 0);
	assert_string_equal(host.device[0].ifname, "eth100");
	assert_int_equal(host.past[1].v[VB_COUNTER_port_xmit_packets], 0);
	assert_int_equal(host.device[0].pkey[0], VB_PKEY_DEFAULT);
	assert_int_equal(host.device[0].pkey[1], 0);
}

/* Two interfaces may have one link-local address: then the interface says which port it is. Any
 * other address is of its device, whatever interface its packets arrive on. */
static void addr_find__link_local_of_two_interfaces(void **state)
{
	static struct vb_addr_table table;
	struct vb_gid link_local, global;

	(void)state;
	for (uint32_t i = 2; i <= 3; i++) {
		add_dev(i, i == 2 ? "eth0" : "eth1", 1500);
		link_local = add_addr(i, 1, false, true)->gid;
	}
	global = add_addr(3, 1, false, false)->gid;
	vb_devices_update(&host, &net, 0);
	vb_addr_build(&table, &host);
	for (uint32_t i = 2; i <= 3; i++)
		assert_int_equal(vb_addr_find(&table, &link_local, i), i - 1);
	assert_int_equal(vb_addr_find(&table, &global, 2), 2);
}

/* An address of several functions leads to the physical one, wherever that stands. */
static void addr_find__physical_function(void **state)
{
	static struct vb_addr_table table;
	struct vb_gid of;

	(void)state;
	add_dev(2, "eth0", 1500);
	of = add_addr(2, 1, true, false)->gid;
	vb_devices_update(&host, &net, 0);
	host.device[1] = host.device[0];
	host.device_cnt = 2;
	host.device[0].parent = 2;
	vb_addr_build(&table, &host);
	assert_int_equal(vb_addr_find(&table, &of, 2), 2);
}

/* In one change, too, and where it came last. */
static void gids__link_local_before_what_came_with_it(void **state)
{
	struct vb_gid link_local;

	(void)state;
	add_dev(2, "eth0", 1500);
	net.dev[0].wants_link_local = false;
	add_addr(2, 7, false, false);
	link_local = add_addr(2, 1, false, true)->gid;
	vb_devices_update(&host, &net, 0);
	assert_true(vb_gid_eq(&host.device[0].gid[0].gid, &link_local));
}

/* RFC 4291: EUI-64 with the universal bit inverted. */
static void guid__from_mac(void **state)
{
	(void)state;
	add_dev(2, "eth0", 1500);
	memcpy(net.dev[0].mac, (uint8_t[]){0x02, 0xfc, 0x11, 0x22, 0x33, 0x44}, 6);
	add_addr(2, 2, true, false);
	vb_devices_update(&host, &net, 0);
	assert_int_equal(host.device[0].guid, UINT64_C(0x00fc11fffe223344));
}

/* A broker that was killed in the middle of a change leaves seq odd; the next change repairs it. */
static void host_read__after_half_a_change(void **state)
{
	static struct vb_host_shm copy;

	(void)state;
	host.seq = 7;
	host.generation = 3;
	assert_int_equal(vb_host_read(&host, &copy), 3);
	vb_host_write_begin(&host);
	assert_int_equal(host.seq % 2, 1);
	vb_host_write_end(&host);
	assert_int_equal(host.seq % 2, 0);
}

static int named(const char *name)
{
	for (int i = 0; i < VB_DEVICES_MAX; i++)
		if (host.device[i].ifindex && strcmp(host.device[i].name, name) == 0)
			return i;
	return -1;
}

/* ADP-26: each with what its device has, but for name and GUID, and gone with it. */
static void update__virtual_functions(void **state)
{
	(void)state;
	add_dev(2, "eth0", 1500);
	add_addr(2, 1, true, false);
	add_dev(3, "eth1", 1500);
	add_addr(3, 2, true, false);
	assert_true(vb_devices_update(&host, &net, 2));
	assert_false(vb_devices_update(&host, &net, 2));
	assert_int_equal(host.device_cnt, 6);
	for (int pf = 0; pf < 2; pf++)
		for (int n = 1; n <= 2; n++) {
			char name[VB_NAME_MAX];

			snprintf(name, sizeof name, "verbena%dv%d", pf, n);
			assert_true(named(name) >= 2);

			const struct vb_device *d = &host.device[named(name)],
					       *p = &host.device[pf];

			assert_int_equal(d->parent, pf + 1);
			assert_string_equal(d->ifname, p->ifname);
			assert_memory_equal(d->gid, p->gid, sizeof d->gid);
			for (int i = 0; i < 6; i++)
				assert_int_equal(host.device[i].guid == d->guid, i == named(name));
		}
	/* A new address is theirs at once; a place that others leave stays empty. */
	int kept = named("verbena1v1"), gone = named("verbena1v2");

	vb_count_add(&host.past[kept + 1], VB_COUNTER_port_xmit_packets, 7);
	vb_count_add(&host.past[gone + 1], VB_COUNTER_port_xmit_packets, 5);
	add_addr(3, 9, true, false);
	assert_true(vb_devices_update(&host, &net, 1));
	assert_int_equal(named("verbena1v1"), kept);
	assert_int_equal(host.device[kept].gid[2].type, VB_GID_IPV4);
	assert_int_equal(named("verbena1v2"), -1);
	/* Counters go with their function. */
	assert_int_equal(host.past[kept + 1].v[VB_COUNTER_port_xmit_packets], 7);
	assert_int_equal(host.past[gone + 1].v[VB_COUNTER_port_xmit_packets], 0);
	/* No more than there is room for: 2 devices and 7 each. */
	assert_true(vb_devices_update(&host, &net, 8));
	assert_int_equal(host.device_cnt, VB_DEVICES_MAX);
	assert_true(named("verbena0v7") > 0 && named("verbena1v7") > 0);
	assert_int_equal(named("verbena0v8"), -1);
	/* Its device is gone. */
	net.dev[1].ifindex = 99;
	assert_true(vb_devices_update(&host, &net, 1));
	assert_int_equal(named("verbena1v1"), -1);
	assert_true(vb_devices_update(&host, &net, 0));
	for (int i = 0; i < VB_DEVICES_MAX; i++)
		assert_int_equal(host.device[i].parent, 0);
}

/* The place of a device that is gone waits for it: no virtual function takes it. */
static void update__functions_leave_the_place_of_what_is_gone(void **state)
{
	(void)state;
	for (uint32_t i = 2; i <= 3; i++) {
		add_dev(i, i == 2 ? "eth0" : "eth1", 1500);
		add_addr(i, (uint8_t)i, true, false);
	}
	vb_devices_update(&host, &net, 0);
	net.dev_cnt = 1; /* eth1 goes */
	assert_true(vb_devices_update(&host, &net, 2));
	assert_string_equal(host.device[1].ifname, "eth1");
	assert_int_equal(named("verbena0v1"), 2);
	assert_int_equal(named("verbena0v2"), 3);
	net.dev_cnt = 2;
	assert_true(vb_devices_update(&host, &net, 2));
	assert_int_equal(named("verbena1"), 1);
}

/* A virtual function has only a name of its own; the interface is the physical one's. */
static void find_device__by_name_or_interface(void **state)
{
	(void)state;
	host.device_cnt = 2;
	host.device[0] = (struct vb_device){.ifindex = 5, .parent = 2};
	host.device[1] = (struct vb_device){.ifindex = 5};
	for (int i = 0; i < 2; i++)
		snprintf(host.device[i].ifname, sizeof host.device[i].ifname, "eth0");
	snprintf(host.device[0].name, sizeof host.device[0].name, "verbena0v0");
	snprintf(host.device[1].name, sizeof host.device[1].name, "verbena0");
	assert_int_equal(vb_devices_find(&host, "verbena0v0"), 0);
	assert_int_equal(vb_devices_find(&host, "verbena0"), 1);
	assert_int_equal(vb_devices_find(&host, "eth0"), 1);
	assert_int_equal(vb_devices_find(&host, "eth1"), -ENODEV);
	host.device[1].ifindex = 0; /* it has gone */
	assert_int_equal(vb_devices_find(&host, "eth0"), -ENODEV);
}

/* Each row of the table, at its last speed and at the first one behind it: width and speed are the
 * codes of PortInfo. IBT-94, IBA 14.2.5.6 */
static void eth_rate__codes_and_words(void **state)
{
	static const struct {
		uint32_t last;
		uint8_t width, speed;
		const char *text;
	} row[] = {
	    {1000, 1, 1, "2.5 Gb/sec (1X SDR)"},         {10000, 1, 8, "10 Gb/sec (1X FDR10)"},
	    {20000, 2, 2, "20 Gb/sec (4X DDR)"},         {25000, 1, 32, "25 Gb/sec (1X EDR)"},
	    {40000, 2, 8, "40 Gb/sec (4X FDR10)"},       {50000, 16, 32, "50 Gb/sec (2X EDR)"},
	    {100000, 2, 32, "100 Gb/sec (4X EDR)"},      {200000, 2, 64, "200 Gb/sec (4X HDR)"},
	    {UINT32_MAX, 2, 128, "400 Gb/sec (4X NDR)"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
		for (int last = 0; last < 2; last++) {
			uint32_t first = i ? row[i - 1].last + 1 : 1;
			const struct vb_eth_rate *r = vb_eth_rate(last ? row[i].last : first);

			assert_string_equal(r->text, row[i].text);
			assert_int_equal(r->width, row[i].width);
			assert_int_equal(r->speed, row[i].speed);
		}
	/* One that is not known counts as 100 Gb/s. */
	assert_string_equal(vb_eth_rate(0)->text, "100 Gb/sec (4X EDR)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(devices_update__loopback_last, setup),
	    cmocka_unit_test_setup(devices_update__needs_up_and_address, setup),
	    cmocka_unit_test_setup(devices_update__carrier_is_port_state, setup),
	    cmocka_unit_test_setup(guid__of_lo_is_of_this_boot, setup),
	    cmocka_unit_test_setup(devices_update__active_mtu, setup),
	    cmocka_unit_test_setup(gids__link_local_first, setup),
	    cmocka_unit_test_setup(pkeys__are_the_devices, setup),
	    cmocka_unit_test_setup(gids__no_hole_without_link_local, setup),
	    cmocka_unit_test_setup(gids__index_stays_while_others_go, setup),
	    cmocka_unit_test_setup(gids__more_than_the_table, setup),
	    cmocka_unit_test_setup(devices_update__name_returns, setup),
	    cmocka_unit_test_setup(devices_update__rename_keeps_the_device, setup),
	    cmocka_unit_test_setup(devices_update__full_table, setup),
	    cmocka_unit_test_setup(devices_update__place_of_another, setup),
	    cmocka_unit_test_setup(addr_find__link_local_of_two_interfaces, setup),
	    cmocka_unit_test_setup(addr_find__physical_function, setup),
	    cmocka_unit_test_setup(gids__link_local_before_what_came_with_it, setup),
	    cmocka_unit_test_setup(guid__from_mac, setup),
	    cmocka_unit_test_setup(host_read__after_half_a_change, setup),
	    cmocka_unit_test_setup(update__virtual_functions, setup),
	    cmocka_unit_test_setup(update__functions_leave_the_place_of_what_is_gone, setup),
	    cmocka_unit_test_setup(find_device__by_name_or_interface, setup),
	    cmocka_unit_test(eth_rate__codes_and_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
