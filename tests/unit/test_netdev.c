/* SPDX-License-Identifier: BSD-2-Clause */
/* Network devices and addresses as the kernel tells them, in a network namespace of the test's own.
 * rtnetlink(7), RFC 4862 */
#include "cmocka_env.h"
#include "netns.h"
#include "node/netdev/netdev.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct vb_netdevs net;

/* The address @text, which is there or not. */
static const struct vb_netdev_addr *find(const char *text)
{
	struct vb_gid gid;

	assert_int_equal(inet_pton(AF_INET6, text, gid.b), 1);
	assert_int_equal(vb_netdev_read(&net), 0);
	for (uint32_t i = 0; i < net.addr_cnt; i++)
		if (vb_gid_eq(&net.addr[i].gid, &gid))
			return &net.addr[i];
	return NULL;
}

static void addr__of_the_loopback(void **state)
{
	const struct vb_netdev_addr *a;

	(void)state;
	a = find("::ffff:127.0.0.1");
	assert_non_null(a);
	assert_true(a->is_ready && !a->is_link_local);
	assert_int_equal(a->ifindex, 1);
	assert_int_equal(net.dev_cnt, 1);
	assert_string_equal(net.dev[0].name, "lo");
	assert_true(net.dev[0].is_loopback && net.dev[0].is_up && !net.dev[0].wants_link_local);
}

/* Of a point-to-point device ours is told, not the other end's. */
static void addr__of_a_point_to_point_device(void **state)
{
	(void)state;
	if (system("ip addr add 10.81.0.1 peer 10.81.0.2/32 dev lo"))
		skip();
	assert_non_null(find("::ffff:10.81.0.1"));
	assert_null(find("::ffff:10.81.0.2"));
	assert_int_equal(system("ip addr del 10.81.0.1 peer 10.81.0.2/32 dev lo"), 0);
}

/* Until the kernel knows that nobody else has it, an address cannot be used. */
static void addr__is_tentative_first(void **state)
{
	const struct vb_netdev_addr *a;
	struct timespec pause = {.tv_nsec = 20000000};
	int waits = 0;

	(void)state;
	if (system("ip link add vb0 type veth peer name vb1 2>/dev/null && "
		   "{ sysctl -qw net.ipv6.conf.vb0.dad_transmits=3 || true; } && "
		   "ip link set vb1 up && ip link set vb0 up && "
		   "ip -6 addr add 2001:db8::5/64 dev vb0"))
		skip();
	a = find("2001:db8::5");
	assert_non_null(a);
	assert_false(a->is_ready);
	do {
		nanosleep(&pause, NULL);
		a = find("2001:db8::5");
		assert_non_null(a);
		assert_true(waits++ < 1500);
	} while (!a->is_ready);
	assert_int_equal(system("ip link del vb0"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(addr__of_the_loopback),
	    cmocka_unit_test(addr__of_a_point_to_point_device),
	    cmocka_unit_test(addr__is_tentative_first),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace may be made here: test skipped\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
