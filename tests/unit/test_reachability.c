/* SPDX-License-Identifier: BSD-2-Clause */
/* The way to an address as the kernel knows it, with the addresses of "lo" in a network namespace
 * of the test's own. */
#include "cmocka_env.h"
#include "netns.h"
#include "node/netdev/reachability.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/ipv6.h>

/* Gives "lo" the address fe80::1/64, and fails the test where that cannot be. */
static void add_link_local(uint32_t ifindex)
{
	struct in6_ifreq r = {.ifr6_prefixlen = 64, .ifr6_ifindex = (int)ifindex};
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_int_equal(inet_pton(AF_INET6, "fe80::1", &r.ifr6_addr), 1);
	assert_int_equal(ioctl(fd, SIOCSIFADDR, &r), 0);
	close(fd);
}

static int route_to(const char *address, uint32_t ifindex)
{
	struct vb_gid to;

	assert_int_equal(inet_pton(AF_INET6, address, to.b), 1);
	return vb_reachability_route(&to, ifindex);
}

/* A link-local address means nothing without its interface: RFC 4007, 6. */
static void route__link_local_is_of_its_interface(void **state)
{
	uint32_t lo = if_nametoindex("lo");

	(void)state;
	add_link_local(lo);
	assert_int_equal(route_to("fe80::1", lo), 0);
	assert_int_not_equal(route_to("fe80::1", lo + 1000), 0);
}

static void route__there_is_one_or_none(void **state)
{
	uint32_t lo = if_nametoindex("lo");

	(void)state;
	assert_int_equal(route_to("::1", lo), 0);
	assert_int_equal(route_to("::ffff:127.0.0.1", lo), 0);
	assert_int_equal(route_to("2001:db8::1", lo), ENETUNREACH);
	assert_int_equal(route_to("::ffff:192.0.2.1", lo), ENETUNREACH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(route__link_local_is_of_its_interface),
	    cmocka_unit_test(route__there_is_one_or_none),
	};

	if (!netns_enter()) {
		fprintf(stderr, "skipped: no network namespace of our own to be had\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
