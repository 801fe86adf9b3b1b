/* SPDX-License-Identifier: BSD-2-Clause */
/* The way to an address as the kernel knows it, with the addresses of "lo" in a network namespace
 * of the test's own. */
#include "cmocka_env.h"
#include "descriptors.h"
#include "netns.h"
#include "node/netdev/reachability.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/ipv6.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>

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
	unsigned before = descriptors_of(getpid());

	(void)state;
	assert_int_equal(route_to("::1", lo), 0);
	assert_int_equal(route_to("::ffff:127.0.0.1", lo), 0);
	assert_int_equal(route_to("2001:db8::1", lo), ENETUNREACH);
	assert_int_equal(route_to("::ffff:192.0.2.1", lo), ENETUNREACH);
	/* All of fe80::/10 is of an interface. RFC 4291, 2.4 */
	assert_int_equal(route_to("febf::1", lo), ENETUNREACH);
	assert_int_equal(descriptors_of(getpid()), before);
}

/* Has the kernel know neighbour @to of "vb0", in @state. rtnetlink(7) RTM_NEWNEIGH */
static void set_neighbour(const struct vb_gid *to, uint16_t state)
{
	bool is_ipv4 = vb_gid_is_ipv4(to);
	size_t len = is_ipv4 ? 4 : 16;
	struct {
		struct nlmsghdr nh;
		struct ndmsg nd;
		struct rtattr dst;
		uint8_t addr[16];
		struct rtattr lladdr;
		uint8_t mac[8];
	} m = {.nh = {.nlmsg_len = sizeof m,
		      .nlmsg_type = RTM_NEWNEIGH,
		      .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE},
	       .nd = {.ndm_family = is_ipv4 ? AF_INET : AF_INET6,
		      .ndm_ifindex = (int)if_nametoindex("vb0"),
		      .ndm_state = state},
	       .dst = {.rta_type = NDA_DST}};
	struct rtattr *lladdr = (struct rtattr *)(void *)(m.addr + len);
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	struct {
		struct nlmsghdr nh;
		struct nlmsgerr err;
		uint8_t more[256];
	} answer;

	m.dst.rta_len = (unsigned short)RTA_LENGTH(len);
	memcpy(m.addr, to->b + 16 - len, len);
	*lladdr = (struct rtattr){.rta_type = NDA_LLADDR, .rta_len = RTA_LENGTH(6)};
	m.nh.nlmsg_len = (uint32_t)((uint8_t *)lladdr - (uint8_t *)&m + RTA_SPACE(6));
	assert_int_equal(send(fd, &m, m.nh.nlmsg_len, 0), m.nh.nlmsg_len);
	assert_true(recv(fd, &answer, sizeof answer, 0) > 0);
	assert_int_equal(answer.nh.nlmsg_type, NLMSG_ERROR);
	assert_int_equal(answer.err.error, 0);
	close(fd);
}

/* A neighbour without an answer is silent, one with an answer is resolved, any other is unknown.
 * Asking leaves nothing open. */
static void neighbour__is_what_the_kernel_knows(void **state)
{
	static const struct {
		uint16_t state;
		enum vb_neighbour is;
	} row[] = {{NUD_INCOMPLETE, VB_NEIGHBOUR_SILENT},
		   {NUD_FAILED, VB_NEIGHBOUR_SILENT},
		   {NUD_STALE, VB_NEIGHBOUR_RESOLVED},
		   {NUD_PERMANENT, VB_NEIGHBOUR_RESOLVED}};
	static const char *const address[] = {"::ffff:192.0.2.7", "2001:db8::7"};
	unsigned before = descriptors_of(getpid());
	struct vb_gid to;

	(void)state;
	if (system("ip link add vb0 type veth peer name vb1 2>/dev/null && ip link set vb0 up"))
		skip(); /* no ip(8), or a kernel without veth */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(inet_pton(AF_INET6, address[i], to.b), 1);
		assert_int_equal(vb_reachability_neighbour(&to), VB_NEIGHBOUR_UNKNOWN);
		for (size_t k = 0; k < sizeof row / sizeof row[0]; k++) {
			set_neighbour(&to, row[k].state);
			assert_int_equal(vb_reachability_neighbour(&to), row[k].is);
		}
		to.b[15]++;
		assert_int_equal(vb_reachability_neighbour(&to), VB_NEIGHBOUR_UNKNOWN);
	}
	assert_int_equal(descriptors_of(getpid()), before);
	assert_int_equal(system("ip link del vb0"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(route__link_local_is_of_its_interface),
	    cmocka_unit_test(route__there_is_one_or_none),
	    cmocka_unit_test(neighbour__is_what_the_kernel_knows),
	};

	if (!netns_enter()) {
		fprintf(stderr, "skipped: no network namespace of our own to be had\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
