/* SPDX-License-Identifier: BSD-2-Clause */
/* Network devices and addresses as the kernel tells them, in a network namespace of the test's own.
 * rtnetlink(7), RFC 4862 */
#include "cmocka_env.h"
#include "netns.h"
#include "node/netdev/netdev.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct vb_netdevs net;

/* The errno that the kernel answers the next question with; 0: what it has. */
static int refused;

ssize_t __real_recv(int fd, void *to, size_t len, int flags);
ssize_t __wrap_recv(int fd, void *to, size_t len, int flags);

ssize_t __wrap_recv(int fd, void *to, size_t len, int flags)
{
	const struct {
		struct nlmsghdr nh;
		struct nlmsgerr err;
	} said = {{.nlmsg_len = sizeof said, .nlmsg_type = NLMSG_ERROR}, {.error = -refused}};

	if (!refused)
		return __real_recv(fd, to, len, flags);
	refused = 0;
	memcpy(to, &said, sizeof said);
	return sizeof said;
}

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

/* Of a point-to-point device ours is told, not the other end's. The kernel tells ours last of IPv4
 * and first of IPv6. */
static void addr__of_a_point_to_point_device(void **state)
{
	(void)state;
	if (system("ip addr add 10.81.0.1 peer 10.81.0.2/32 dev lo")) {
		print_message("no address may be added here\n");
		skip();
	}
	assert_non_null(find("::ffff:10.81.0.1"));
	assert_null(find("::ffff:10.81.0.2"));
	assert_int_equal(system("ip addr del 10.81.0.1 peer 10.81.0.2/32 dev lo"), 0);
	assert_int_equal(system("ip addr add 2001:db8::81 peer 2001:db8::82/128 dev lo nodad"), 0);
	assert_non_null(find("2001:db8::81"));
	assert_null(find("2001:db8::82"));
	assert_int_equal(system("ip addr del 2001:db8::81 peer 2001:db8::82/128 dev lo"), 0);
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
		   "ip -6 addr add 2001:db8::5/64 dev vb0")) {
		print_message("no pair of devices may be made here\n");
		skip();
	}
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

static const struct vb_netdev *device(const char *name)
{
	assert_int_equal(vb_netdev_read(&net), 0);
	for (uint32_t i = 0; i < net.dev_cnt; i++)
		if (strcmp(net.dev[i].name, name) == 0)
			return &net.dev[i];
	return NULL;
}

/* A device's record follows it: whether it is up, has a carrier, its MTU, its MAC, and whether it
 * will have a link-local address. */
static void link__is_told_as_it_is(void **state)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 7};
	const struct vb_netdev *d;

	(void)state;
	if (system("ip link add vb0 address 02:00:00:00:00:07 mtu 4200 type veth peer name vb1 "
		   "2>/dev/null"))
		skip(); /* no ip(8), or a kernel without veth */
	d = device("vb0");
	assert_non_null(d);
	assert_false(d->is_up || d->has_carrier || d->is_loopback);
	assert_int_equal(d->ifindex, if_nametoindex("vb0"));
	assert_int_equal(d->mtu, 4200);
	assert_memory_equal(d->mac, mac, sizeof mac);
	assert_true(d->wants_link_local);
	assert_int_equal(system("ip link set vb0 up"), 0);
	d = device("vb0");
	assert_true(d->is_up && !d->has_carrier);
	assert_int_equal(system("ip link set vb1 up"), 0);
	d = device("vb0");
	assert_true(d->is_up && d->has_carrier);
	assert_int_equal(system("ip link set vb0 addrgenmode none"), 0);
	assert_false(device("vb0")->wants_link_local);
	assert_int_equal(system("ip link set vb0 addrgenmode eui64"), 0);
	assert_true(device("vb0")->wants_link_local);
	netns_write("/proc/sys/net/ipv6/conf/vb0/disable_ipv6", "1");
	assert_false(device("vb0")->wants_link_local);
	assert_int_equal(system("ip link del vb0"), 0);
	assert_null(device("vb0"));
}

/* A subscriber hears once of each change of devices or addresses of either family. */
static void subscribe__tells_of_changes(void **state)
{
	static const char *const change[] = {
	    "ip addr add 10.82.0.1/24 dev lo", "ip addr del 10.82.0.1/24 dev lo",
	    "ip -6 addr add 2001:db8::9/64 dev lo", "ip link set lo mtu 60000"};
	int sock = vb_netdev_subscribe();
	struct pollfd p = {sock, POLLIN, 0};

	(void)state;
	assert_true(sock >= 0);
	vb_netdev_drain(sock);
	for (size_t i = 0; i < sizeof change / sizeof change[0]; i++) {
		assert_int_equal(poll(&p, 1, 0), 0);
		if (system(change[i]))
			skip(); /* no ip(8), or a kernel without veth */
		assert_int_equal(poll(&p, 1, 60000), 1);
		vb_netdev_drain(sock);
	}
	assert_int_equal(system("ip -6 addr del 2001:db8::9/64 dev lo"), 0);
	assert_int_equal(system("ip link set lo mtu 65536"), 0);
	close(sock);
}

/* A device's speed is what its driver says, in Mb/s; one that says nothing has none. ethtool(8) */
static void link__has_a_speed(void **state)
{
	(void)state;
	assert_int_equal(device("lo")->speed_mbps, 0);
	if (system("ip link add vb0 type veth peer name vb1 2>/dev/null && ip link set vb0 up && "
		   "ip link set vb1 up")) {
		print_message("no ip(8), or a kernel without veth\n");
		skip();
	}
	assert_int_equal(device("vb0")->speed_mbps, 10000);
	assert_int_equal(system("ip link del vb0"), 0);
	/* A bridge without ports says that it does not know. */
	if (system("ip link add br0 type bridge 2>/dev/null") == 0) {
		assert_int_equal(device("br0")->speed_mbps, 0);
		assert_int_equal(system("ip link del br0"), 0);
	}
}

/* Link-local is fe80::/10 and nothing else. RFC 4291, 2.5.6 */
static void addr__is_link_local(void **state)
{
	static const struct {
		const char *text;
		bool is;
	} row[] = {{"fe80::5", true},
		   {"febf::5", true},
		   {"fec0::5", false},
		   {"fd80::5", false},
		   {"2001:db8::6", false}};
	char command[128];

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		const struct vb_netdev_addr *a;

		snprintf(command, sizeof command, "ip -6 addr add %s/64 dev lo", row[i].text);
		if (system(command)) {
			print_message("no ip(8) here\n");
			skip();
		}
		a = find(row[i].text);
		assert_non_null(a);
		assert_int_equal(a->is_link_local, row[i].is);
		snprintf(command, sizeof command, "ip -6 addr del %s/64 dev lo", row[i].text);
		assert_int_equal(system(command), 0);
	}
}

/* Addresses and devices that the tables have no room for are left out; all others are told. */
static void tables__are_full(void **state)
{
	char path[] = "/dev/shm/verbena-test-XXXXXX", command[128];
	int fd = mkstemp(path), rc;
	FILE *f = fdopen(fd, "w");

	(void)state;
	assert_non_null(f);
	for (int i = 0; i < VB_NETDEV_ADDRS_MAX + 4; i++)
		fprintf(f, "addr add 10.83.%d.%d/32 dev lo\n", i / 250, 1 + i % 250);
	for (int i = 0; i < VB_NETDEVS_MAX / 2 + 2; i++)
		fprintf(f, "link add va%d type veth peer name vb%d\n", i, i);
	assert_int_equal(fclose(f), 0);
	snprintf(command, sizeof command, "ip -batch %s 2>/dev/null", path);
	rc = system(command);
	unlink(path);
	if (rc) {
		print_message("no ip(8), or a kernel without veth\n");
		skip();
	}
	assert_int_equal(vb_netdev_read(&net), 0);
	assert_int_equal(net.addr_cnt, VB_NETDEV_ADDRS_MAX);
	assert_int_equal(net.dev_cnt, VB_NETDEVS_MAX);
	/* The same again: it begins anew. */
	assert_int_equal(vb_netdev_read(&net), 0);
	assert_int_equal(net.addr_cnt, VB_NETDEV_ADDRS_MAX);
	for (uint32_t i = 0; i < net.dev_cnt; i++)
		assert_string_not_equal(net.dev[i].name, "");
}

/* More news than the socket holds are as good as one: it is empty afterwards. netlink(7) */
static void drain__of_news_that_were_lost(void **state)
{
	int sock = vb_netdev_subscribe(), size = 1;
	struct pollfd p = {sock, POLLIN, 0};

	(void)state;
	assert_true(sock >= 0);
	assert_int_equal(fcntl(sock, F_GETFD), FD_CLOEXEC);
	assert_int_equal(setsockopt(sock, SOL_SOCKET, SO_RCVBUF, &size, sizeof size), 0);
	for (int i = 0; i < 40; i++)
		if (system(i % 2 ? "ip addr del 10.82.0.1/24 dev lo"
				 : "ip addr add 10.82.0.1/24 dev lo")) {
			print_message("no ip(8) here\n");
			close(sock);
			skip();
		}
	vb_netdev_drain(sock);
	assert_int_equal(poll(&p, 1, 0), 0);
	close(sock);
}

/* An error of the kernel ends the question; the next one may do better. netlink(7) */
static void read__is_refused(void **state)
{
	(void)state;
	refused = EPERM;
	assert_int_equal(vb_netdev_read(&net), -EPERM);
	assert_int_equal(vb_netdev_read(&net), 0);
	assert_true(net.dev_cnt > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(addr__of_the_loopback),
	    cmocka_unit_test(addr__of_a_point_to_point_device),
	    cmocka_unit_test(addr__is_tentative_first),
	    cmocka_unit_test(read__is_refused),
	    cmocka_unit_test(link__is_told_as_it_is),
	    cmocka_unit_test(subscribe__tells_of_changes),
	    cmocka_unit_test(link__has_a_speed),
	    cmocka_unit_test(addr__is_link_local),
	    cmocka_unit_test(drain__of_news_that_were_lost),
	    cmocka_unit_test(tables__are_full), /* which fills them */
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace may be made here: test skipped\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
