/* SPDX-License-Identifier: BSD-2-Clause */
/* The way to an address as the kernel knows it, with the addresses of "lo" in a network namespace
 * of the test's own. */
#include "cmocka_env.h"
#include "netns.h"
#include "node/netdev/reachability.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/ipv6.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

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

static struct vb_gid neighbour_address(uint8_t last)
{
	return (struct vb_gid){{0x20, 0x01, 0x0d, 0xb8, [15] = last}};
}

/* Has the kernel know a neighbour of "lo" in @state, without asking it. rtnetlink(7) */
static void add_neighbour(uint8_t last, uint16_t state)
{
	struct {
		struct nlmsghdr nh;
		struct ndmsg nd;
		struct rtattr dst;
		struct vb_gid address;
		struct rtattr mac;
		uint8_t bytes[8];
	} q = {.nh = {.nlmsg_len = sizeof q - 2,
		      .nlmsg_type = RTM_NEWNEIGH,
		      .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE},
	       .nd = {.ndm_family = AF_INET6, .ndm_ifindex = 1, .ndm_state = state},
	       .dst = {RTA_LENGTH(16), NDA_DST},
	       .address = neighbour_address(last),
	       .mac = {RTA_LENGTH(6), NDA_LLADDR},
	       .bytes = {2, 0, 0, 0, 0, last}};
	struct {
		struct nlmsghdr nh;
		struct nlmsgerr e;
	} answer;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	assert_int_equal(send(fd, &q, q.nh.nlmsg_len, 0), q.nh.nlmsg_len);
	assert_true(recv(fd, &answer, sizeof answer, 0) >= (ssize_t)sizeof answer.nh + 4);
	assert_int_equal(answer.nh.nlmsg_type, NLMSG_ERROR);
	assert_int_equal(answer.e.error, 0);
	close(fd);
}

static enum vb_neighbour neighbour(uint8_t last)
{
	struct vb_gid to = neighbour_address(last);

	return vb_reachability_neighbour(&to);
}

/* One that was asked and does not answer is silent, whether the kernel still asks or has given up.
 */
static void neighbour__of_each_state(void **state)
{
	(void)state;
	add_neighbour(1, NUD_REACHABLE);
	add_neighbour(2, NUD_STALE);
	add_neighbour(3, NUD_FAILED);
	add_neighbour(4, NUD_INCOMPLETE);
	assert_int_equal(neighbour(1), VB_NEIGHBOUR_RESOLVED);
	assert_int_equal(neighbour(2), VB_NEIGHBOUR_RESOLVED);
	assert_int_equal(neighbour(3), VB_NEIGHBOUR_SILENT);
	assert_int_equal(neighbour(4), VB_NEIGHBOUR_SILENT);
	assert_int_equal(neighbour(5), VB_NEIGHBOUR_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(route__link_local_is_of_its_interface),
	    cmocka_unit_test(route__there_is_one_or_none),
	    cmocka_unit_test(neighbour__of_each_state),
	};

	if (!netns_enter()) {
		fprintf(stderr, "skipped: no network namespace of our own to be had\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
