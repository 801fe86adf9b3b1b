/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast groups of the UDP link: the kernel is a member of a group from the first join to the
 * last leave. link/udp/mcast.c, /proc/net/igmp6, ipv6(7)
 */
#include "descriptors.h"
#include "udp_world.h"

#include <errno.h>
#include <sys/resource.h>

static const char *const names[] = {"ff120000000000000000000000000071",
				    "ff120000000000000000000000000072"};

static struct vb_gid group(int i)
{
	struct vb_gid g = gid("ff12::71");

	g.b[15] = (uint8_t)(g.b[15] + i);
	return g;
}

/* True: this host is a member of group @i. */
static bool is_member(int i)
{
	FILE *f = fopen("/proc/net/igmp6", "re");
	char line[256];
	bool is = false;

	assert_non_null(f);
	while (fgets(line, sizeof line, f))
		is |= strstr(line, names[i]) != NULL;
	fclose(f);
	return is;
}

static int join(struct fixture *f, int i)
{
	struct vb_gid g = group(i);

	return vb_link_join(f->link, 1, &g, 0);
}

static void leave(struct fixture *f, int i)
{
	struct vb_gid g = group(i);

	vb_link_leave(f->link, 1, &g, 0);
}

/* Each of a socket's groups is left by itself, not with the last. */
static void leave__one_of_several(void **state)
{
	struct fixture *f = *state;

	for (int first = 0; first < 2; first++) {
		for (int i = 0; i < 2; i++)
			assert_int_equal(join(f, i), 0);
		assert_true(is_member(0) && is_member(1));
		leave(f, first);
		assert_false(is_member(first));
		assert_true(is_member(!first));
		leave(f, !first);
		assert_false(is_member(!first));
	}
}

/* A group that was joined twice is left by the second leave. */
static void leave__as_often_as_joined(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(join(f, 0), 0);
	assert_int_equal(join(f, 0), 0);
	leave(f, 0);
	assert_true(is_member(0));
	leave(f, 0);
	assert_false(is_member(0));
	leave(f, 0); /* nothing happens */
	assert_int_equal(f->udp->group_cnt, 0);
	assert_int_equal(f->udp->holder_cnt, 0);
}

/* Packets of groups come to the socket while one is joined. Linux: IP_MULTICAST_ALL */
static void join__takes_packets_of_groups(void **state)
{
	struct fixture *f = *state;
	int is = -1;
	socklen_t len = sizeof is;

	vb_udp_sock_take_groups(f->udp->cfg.rx_fd, false);
	for (int joined = 1; joined >= 0; joined--) {
		if (joined)
			assert_int_equal(join(f, 0), 0);
		else
			leave(f, 0);
		assert_int_equal(
		    getsockopt(f->udp->cfg.rx_fd, IPPROTO_IP, IP_MULTICAST_ALL, &is, &len), 0);
		assert_int_equal(is, joined);
	}
}

/* A process without a free descriptor is no member, and gets EMFILE. */
static void join__without_descriptors(void **state)
{
	struct fixture *f = *state;
	struct rlimit was, few;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	few = was;
	few.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);

	int rc = join(f, 0);

	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(rc, -EMFILE);
	assert_int_equal(f->udp->group_cnt, 0);
	assert_int_equal(join(f, 0), 0);
	assert_true(is_member(0));
	leave(f, 0);
}

/* Nothing is left of a membership that the kernel refuses. ip(7) */
static void join__on_no_device(void **state)
{
	struct fixture *f = *state;
	unsigned before = descriptors_of(getpid());
	uint32_t was = f->udp->cfg.ifindex[1];

	f->udp->cfg.ifindex[1] = 99999;
	assert_int_equal(join(f, 0), -ENODEV);
	assert_int_equal(descriptors_of(getpid()), before);
	f->udp->cfg.ifindex[1] = was;
	assert_int_equal(join(f, 0), 0);
	leave(f, 0);
}

/* The kernel limits the groups of one socket: another socket holds more, and a freed place is used
 * again. ip(7) igmp_max_memberships */
static void join__more_than_one_socket_takes(void **state)
{
	struct fixture *f = *state;
	struct vb_gid g = gid("::ffff:239.1.2.0");
	uint32_t cnt = 0;
	int rc;

	netns_write("/proc/sys/net/ipv4/igmp_max_memberships", "4");
	while (cnt < 12) {
		g.b[15] = (uint8_t)++cnt;
		rc = vb_link_join(f->link, 1, &g, 0);
		if (rc == -ENODEV)
			skip(); /* this "lo" has no groups of IPv4 */
		assert_int_equal(rc, 0);
	}
	assert_int_equal(f->udp->holder_cnt, 3);
	/* A group of the first, full socket. */
	g.b[15] = 1;
	vb_link_leave(f->link, 1, &g, 0);
	assert_int_equal(vb_link_join(f->link, 1, &g, 0), 0);
	assert_int_equal(f->udp->holder_cnt, 3);
	/* A socket goes with its last group. */
	for (uint32_t i = 1; i <= cnt; i++) {
		g.b[15] = (uint8_t)i;
		vb_link_leave(f->link, 1, &g, 0);
	}
	assert_int_equal(f->udp->holder_cnt, 0);
	assert_int_equal(f->udp->group_cnt, 0);
}

/* The kernel's memory for a socket's groups of IPv6 has an end as well. net.core.optmem_max */
static void join__more_of_ipv6_than_a_socket_takes(void **state)
{
	struct fixture *f = *state;
	struct vb_gid g = gid("ff12::7:0");
	uint32_t cnt = 0;

	while (cnt < 6000 && f->udp->holder_cnt < 2) {
		g.b[14] = (uint8_t)(cnt >> 8);
		g.b[15] = (uint8_t)cnt;
		assert_int_equal(vb_link_join(f->link, 1, &g, 0), 0);
		cnt++;
	}
	assert_int_equal(f->udp->group_cnt, cnt);
	if (f->udp->holder_cnt < 2)
		print_message("one socket takes %u groups here\n", cnt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(leave__one_of_several),
	    T(leave__as_often_as_joined),
	    T(join__takes_packets_of_groups),
	    T(join__without_descriptors),
	    T(join__on_no_device),
	    T(join__more_than_one_socket_takes),
	    T(join__more_of_ipv6_than_a_socket_takes),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace may be made here: test skipped\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
