/* SPDX-License-Identifier: BSD-2-Clause */
/* Memberships of multicast groups: a socket has a bounded number of them, so the link has as many
 * sockets as it needs. igmp_max_memberships, ip(7) */
#include "udp_world.h"

static struct vb_gid group_number(uint8_t n)
{
	struct vb_gid g = gid("::ffff:239.1.1.0");

	g.b[15] = n;
	return g;
}

static void join_number(struct fixture *f, uint8_t n)
{
	struct vb_gid g = group_number(n);

	assert_int_equal(vb_link_join(f->link, 1, &g, 0), 0);
}

static void leave_number(struct fixture *f, uint8_t n)
{
	struct vb_gid g = group_number(n);

	vb_link_leave(f->link, 1, &g, 0);
}

/* A socket that was full takes a group again when one has left, and goes with its last one. */
static void leave__makes_room(void **state)
{
	struct fixture *f = *state;
	unsigned before = descriptors_of(getpid());

	netns_write("/proc/sys/net/ipv4/igmp_max_memberships", "2");
	for (uint8_t n = 1; n <= 4; n++)
		join_number(f, n);
	assert_int_equal(f->udp->holder_cnt, 2);
	leave_number(f, 1);
	join_number(f, 5);
	assert_int_equal(f->udp->holder_cnt, 2);
	join_number(f, 6);
	assert_int_equal(f->udp->holder_cnt, 3);
	for (uint8_t n = 2; n <= 6; n++)
		leave_number(f, n);
	assert_int_equal(f->udp->holder_cnt, 0);
	assert_int_equal(descriptors_of(getpid()), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(leave__makes_room, setup, teardown),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace may be made here: test skipped\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
