/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The requests of the connection manager to its host: ports, and from which address the way to
 * another begins. In a network namespace of its own, whose "lo" has all of 127.0.0.0/8. CMP-23
 */
#include "cmocka_env.h"
#include "deny.h"
#include "descriptors.h"
#include "netns.h"
#include "node/cm/env.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/ipv6.h>
#include <poll.h>

static struct vb_host_memory memory;
static struct vb_broker broker;

#define RANGE "/proc/sys/net/ipv4/ip_local_port_range"

/* The host's range, at its widest as well. ip(7) */
static void ports__are_those_of_the_host(void **state)
{
	uint16_t first, last;

	(void)state;
	netns_write(RANGE, "2048 65535");
	vb_cm_env_ports(&first, &last);
	assert_int_equal(first, 2048);
	assert_int_equal(last, 65535);
	netns_write(RANGE, "40000 40001");
	vb_cm_env_ports(&first, &last);
	assert_int_equal(first, 40000);
	assert_int_equal(last, 40001);
	/* At its narrowest. */
	netns_write(RANGE, "40001 40001");
	vb_cm_env_ports(&first, &last);
	assert_int_equal(first, 40001);
	assert_int_equal(last, 40001);
}

static struct vb_ucma_addr address(uint8_t last)
{
	return (struct vb_ucma_addr){.family = 2, .gid = {{[10] = 0xff, 0xff, 127, 0, 0, last}}};
}

/* A program that names its source address has that one; any other has the kernel's choice. */
static void route__from_where_the_program_says(void **state)
{
	struct vb_ucma_env env = vb_cm_env(&broker);
	struct vb_device *d = &memory.host.device[0];
	struct vb_ucma_addr to = address(1), from = address(2), any = {.family = 2};
	struct vb_ucma_local l;

	(void)state;
	memory.host.device_cnt = 1;
	d->ifindex = 1;
	d->guid = 7;
	for (uint8_t i = 0; i < 2; i++) {
		d->gid[i].type = VB_GID_IPV4;
		d->gid[i].gid = address((uint8_t)(i + 1)).gid;
	}
	broker.slots.host = &memory.host;
	assert_int_equal(env.route(env.ctx, &from, &to, &l), 0);
	assert_int_equal(from.gid.b[15], 2);
	assert_int_equal(l.gid_index, 1);
	assert_int_equal(l.node_guid, 7);
	/* Also the next one within a moment, for which the kernel is not asked again. */
	for (int i = 0; i < 3; i++) {
		any = (struct vb_ucma_addr){.family = 2};
		assert_int_equal(env.route(env.ctx, &any, &to, &l), 0);
		assert_int_equal(any.gid.b[15], 1);
		assert_int_equal(l.gid_index, 0);
	}
	/* An address of the host that no device has. */
	from = address(3);
	assert_int_equal(env.route(env.ctx, &from, &to, &l), -ENODEV);
	/* Nor does anybody hear at one. */
	from = address(1);
	to = address(3);
	assert_int_equal(env.route(env.ctx, &from, &to, &l), -ENODEV);
}

/* An address of an interface without a device fails, and one that the host lacks. CMP-38 */
static void local__errors(void **state)
{
	struct vb_ucma_env env = vb_cm_env(&broker);
	struct vb_ucma_addr a = address(9);
	struct vb_ucma_local l;

	(void)state;
	broker.slots.host = &memory.host;
	assert_int_equal(env.local(env.ctx, &a, &l), -ENODEV);
	a.gid.b[12] = 9;
	assert_int_equal(env.local(env.ctx, &a, &l), -EADDRNOTAVAIL);
}

/* Gives "lo" the address @a, and waits until it can be bound. */
static void add_address(const struct vb_gid *a)
{
	struct in6_ifreq r = {.ifr6_prefixlen = 64, .ifr6_ifindex = 1};
	struct sockaddr_in6 sa = {.sin6_family = AF_INET6, .sin6_scope_id = 1};
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memcpy(&r.ifr6_addr, a->b, 16);
	memcpy(&sa.sin6_addr, a->b, 16);
	assert_int_equal(ioctl(fd, SIOCSIFADDR, &r), 0);
	for (int ms = 0; bind(fd, (struct sockaddr *)&sa, sizeof sa); ms++) {
		assert_true(ms < 20000);
		(void)poll(NULL, 0, 1);
	}
	close(fd);
}

/* A route to a link-local address takes that address's interface. RFC 4007, 6 */
static void route__from_a_link_local_address(void **state)
{
	struct vb_ucma_env env = vb_cm_env(&broker);
	struct vb_device *d = &memory.host.device[0];
	struct vb_ucma_addr to = {.family = AF_INET6, .scope = 1}, any = {.family = AF_INET6};
	struct vb_ucma_local l;

	(void)state;
	assert_int_equal(inet_pton(AF_INET6, "fe80::1", to.gid.b), 1);
	add_address(&to.gid);
	memory.host.device_cnt = 1;
	d->ifindex = 1;
	d->gid[2].type = VB_GID_IPV6;
	d->gid[2].gid = to.gid;
	broker.slots.host = &memory.host;
	/* Once more in a row, too. */
	for (int i = 0; i < 3; i++) {
		any = (struct vb_ucma_addr){.family = AF_INET6};
		assert_int_equal(env.route(env.ctx, &any, &to, &l), 0);
		assert_int_equal(any.family, AF_INET6);
		assert_true(vb_gid_eq(&any.gid, &to.gid));
		assert_int_equal(any.scope, 1);
		assert_int_equal(l.gid_index, 2);
	}
	/* Of another interface it is not the device's. */
	to.scope = 2;
	assert_int_equal(env.local(env.ctx, &to, &l), -EADDRNOTAVAIL);
}

/* Takes the address @a of "lo" away. */
static void remove_address(const struct vb_gid *a)
{
	struct in6_ifreq r = {.ifr6_prefixlen = 64, .ifr6_ifindex = 1};
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memcpy(&r.ifr6_addr, a->b, 16);
	assert_int_equal(ioctl(fd, SIOCDIFADDR, &r), 0);
	close(fd);
}

/* The kernel says why there is no way, and is asked anew after a moment: addresses come and go.
 * Nothing stays open, whatever it says. */
static void route__that_is_none(void **state)
{
	struct vb_ucma_env env = vb_cm_env(&broker);
	struct vb_device *d = &memory.host.device[0];
	struct vb_ucma_addr to = {.family = AF_INET6}, far = address(1), from = address(1), any;
	struct vb_ucma_local l;
	unsigned before = descriptors_of(getpid());

	(void)state;
	assert_int_equal(inet_pton(AF_INET6, "2001:db8::7", to.gid.b), 1);
	memset(&memory.host, 0, sizeof memory.host);
	memory.host.device_cnt = 1;
	d->ifindex = 1;
	d->gid[0] = (struct vb_gid_entry){to.gid, VB_GID_IPV6};
	d->gid[1] = (struct vb_gid_entry){address(1).gid, VB_GID_IPV4};
	broker.slots.host = &memory.host;
	add_address(&to.gid);
	any = (struct vb_ucma_addr){.family = AF_INET6};
	assert_int_equal(env.route(env.ctx, &any, &to, &l), 0);
	assert_true(vb_gid_eq(&any.gid, &to.gid));
	remove_address(&to.gid);
	(void)poll(NULL, 0, 50);
	for (int i = 0; i < 3; i++) {
		any = (struct vb_ucma_addr){.family = AF_INET6};
		assert_int_equal(env.route(env.ctx, &any, &to, &l), -ENETUNREACH);
	}
	/* An answer that is none is not kept. */
	add_address(&to.gid);
	any = (struct vb_ucma_addr){.family = AF_INET6};
	assert_int_equal(env.route(env.ctx, &any, &to, &l), 0);
	/* From an address that is not this host's there is none. */
	far.gid.b[12] = 10;
	assert_int_equal(env.route(env.ctx, &far, &from, &l), -EADDRNOTAVAIL);
	/* The same destination from elsewhere, or another one, is another question. */
	from = address(1);
	to = address(1);
	assert_int_equal(env.route(env.ctx, &from, &to, &l), 0);
	from = address(2);
	assert_int_equal(env.route(env.ctx, &from, &to, &l), -ENODEV);
	assert_int_equal(from.gid.b[15], 2);
	any = (struct vb_ucma_addr){.family = AF_INET};
	to.gid.b[12] = 10;
	assert_int_equal(env.route(env.ctx, &any, &to, &l), -ENETUNREACH);
	assert_int_equal(descriptors_of(getpid()), before);
}

/* A group needs no route where the program says from where, and QP1 for its members. */
static void group__from_where_the_program_says(void **state)
{
	struct vb_ucma_env env = vb_cm_env(&broker);
	struct vb_ucma_addr to = {.family = AF_INET, .gid = {{[10] = 0xff, 0xff, 239, 1, 2, 3}}};
	struct vb_ucma_addr from = address(1);
	struct vb_ucma_local l = {.hca_port = 1};

	(void)state;
	memset(&memory.host, 0, sizeof memory.host);
	memory.host.device_cnt = 1;
	memory.host.device[0].ifindex = 1;
	memory.host.device[0].gid[5] = (struct vb_gid_entry){from.gid, VB_GID_IPV4};
	broker.slots.host = &memory.host;
	assert_int_equal(env.route(env.ctx, &from, &to, &l), 0);
	assert_int_equal(l.gid_index, 5);
	assert_int_equal(l.hca_port, 1);
	broker.cm = NULL;
	assert_int_equal(env.group(env.ctx, &l, &to.gid, true), -ENODEV);
	/* An address of no interface is not this host's, and looking leaves nothing open. */
	from.gid.b[12] = 9;
	unsigned before = descriptors_of(getpid());

	assert_int_equal(env.route(env.ctx, &from, &to, &l), -ENODEV);
	assert_int_equal(env.local(env.ctx, &from, &l), -EADDRNOTAVAIL);
	assert_int_equal(descriptors_of(getpid()), before);
}

/* A virtual function has the addresses of its physical one, which they lead to. */
static void local__of_the_physical_function(void **state)
{
	struct vb_ucma_env env = vb_cm_env(&broker);
	struct vb_device *d = memory.host.device;
	struct vb_ucma_addr a = address(7);
	struct vb_ucma_local l;

	(void)state;
	memset(&memory.host, 0, sizeof memory.host);
	memory.host.device_cnt = 3;
	d[1] = (struct vb_device){.ifindex = 1, .guid = 8, .gid[4] = {a.gid, VB_GID_IPV4}};
	d[1].active_mtu = VB_MTU_2048;
	d[0] = d[1];
	d[0].parent = 2;
	d[0].guid = 9;
	d[2].gid[0] = d[1].gid[4]; /* of a device that has gone */
	broker.slots.host = &memory.host;
	assert_int_equal(env.local(env.ctx, &a, &l), 0);
	assert_int_equal(l.hca_port, 2);
	assert_int_equal(l.device_index, 1);
	assert_int_equal(l.gid_index, 4);
	assert_int_equal(l.mtu, VB_MTU_2048);
	assert_int_equal(l.node_guid, 8);
	assert_true(vb_gid_eq(&l.gid, &a.gid));
	d[1].ifindex = 0;
	assert_int_equal(env.local(env.ctx, &a, &l), -ENODEV);
}

/* In a child: whether another user than root may bind ports below 1024. */
static int may_bind_low(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(setuid(65534) ? 77 : vb_cm_env_may_bind_low(NULL));
	return child_status(pid);
}

/* Ports below 1024 are root's, and everybody's where the host says so. ip(7)
 * ip_unprivileged_port_start */
static void ports__below_1024(void **state)
{
	static const char path[] = "/proc/sys/net/ipv4/ip_unprivileged_port_start";
	int rc;

	(void)state;
	if (geteuid() == 0)
		assert_true(vb_cm_env_may_bind_low(NULL));
	netns_write(path, "1024");
	rc = may_bind_low();
	if (rc == 77)
		skip(); /* only one user here */
	assert_int_equal(rc, 0);
	netns_write(path, "2");
	assert_int_equal(may_bind_low(), 0);
	netns_write(path, "1");
	assert_int_equal(may_bind_low(), 1);
	netns_write(path, "0");
	assert_int_equal(may_bind_low(), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ports__are_those_of_the_host),
	    cmocka_unit_test(route__from_where_the_program_says),
	    cmocka_unit_test(local__errors),
	    cmocka_unit_test(route__from_a_link_local_address),
	    cmocka_unit_test(route__that_is_none),
	    cmocka_unit_test(group__from_where_the_program_says),
	    cmocka_unit_test(local__of_the_physical_function),
	    cmocka_unit_test(ports__below_1024),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespaces here: test skipped\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
