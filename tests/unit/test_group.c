/* SPDX-License-Identifier: BSD-2-Clause */
/* The sockets of the slots, before and after they have an owner. node/store/group.h */
#include "cmocka_env.h"
#include "descriptors.h"
#include "netns.h"
#include "node/cm/memory.h"
#include "node/store/group.h"
#include "node/store/slots.h"

#include <netinet/in.h>

static int takes_groups(int fd)
{
	int is = -1;
	socklen_t len = sizeof is;

	assert_int_equal(getsockopt(fd, IPPROTO_IP, IP_MULTICAST_ALL, &is, &len), 0);
	return is;
}

/* Of the sockets without an owner one has the packets to groups: each would have a copy. */
static void quiet__one_socket_takes_groups(void **state)
{
	struct vb_group g;

	(void)state;
	vb_group_init(&g);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(vb_group_grow(&g), 0);
		assert_int_equal(takes_groups(g.fd[i]), i == 0);
	}
	vb_group_open(&g, 2);
	vb_group_quiet(&g, 2);
	assert_int_equal(takes_groups(g.fd[2]), 0);
	vb_group_close(&g);
}

/* What the slots have open is closed with them, the connection manager's memory too. */
static void close__leaves_no_descriptors(void **state)
{
	static struct vb_slots slots;
	static struct vb_cm_memory kept;
	unsigned before = descriptors_of(getpid());

	(void)state;
	assert_int_equal(vb_slots_init(&slots), 0);
	assert_int_equal(vb_slots_start(&slots), 0);
	assert_int_equal(vb_cm_memory_open(&kept, &slots), 0);
	vb_cm_memory_close(&kept);
	vb_slots_close(&slots);
	assert_int_equal(descriptors_of(getpid()), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(quiet__one_socket_takes_groups),
	    cmocka_unit_test(close__leaves_no_descriptors),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace of our own here: tests not run\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
