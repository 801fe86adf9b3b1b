/* SPDX-License-Identifier: BSD-2-Clause */
/* Who has UDP port 4791: one's own adapter, which is waited for, or somebody else, who is named. */
#include "cmocka_env.h"
#include "descriptors.h"
#include "link/memory.h"
#include "netns.h"
#include "node/host/port_owner.h"
#include "wire/icrc.h"

#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

static void adopted__by_ones_own(void **state)
{
	const struct {
		struct vb_port_owner o;
		bool is_adopted;
	} c[] = {
	    {{.uid = geteuid(), .inode = 7, .pid = 9, .comm = "verbena"}, true},
	    {{.uid = geteuid(), .inode = 7, .pid = 9, .is_client = true, .comm = "perf"}, true},
	    {{.uid = geteuid(), .inode = 7}, true}, /* in a descriptor store */
	    {{.uid = geteuid(), .inode = 7, .pid = 9, .comm = "iperf"}, false},
	    {{.uid = geteuid() + 1, .inode = 7, .pid = 9, .comm = "verbena"}, false},
	    {{.uid = geteuid() + 1, .inode = 7}, false},
	    {{.uid = geteuid()}, false}, /* the kernel's own */
	};

	(void)state;
	assert_false(vb_port_is_adopted(NULL, 0));
	for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
		const struct vb_port_owner two[] = {{.uid = geteuid()}, c[i].o};

		assert_int_equal(vb_port_is_adopted(&c[i].o, 1), c[i].is_adopted);
		assert_int_equal(vb_port_is_adopted(two, 2), c[i].is_adopted);
	}
}

/* A socket on the port, of one family. */
static int port_socket(int family)
{
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(VB_ROCE_PORT)};
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(VB_ROCE_PORT)};
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, family == AF_INET ? (struct sockaddr *)&in : (void *)&in6,
			      family == AF_INET ? sizeof in : sizeof in6),
			 0);
	return fd;
}

/* A process that has the port, by a socket of either family, is a client if it has a slot's memory;
 * other shared memory makes no client. Looking leaves nothing open. */
static void owners__clients_have_a_slot(void **state)
{
	static const struct {
		const char *name;
		bool is_client;
		int family;
	} c[] = {{"other", false, AF_INET6},
		 {VB_MEMORY_SLOT, true, AF_INET6},
		 {VB_MEMORY_SLOT, true, AF_INET}};
	struct vb_port_owner o[4];

	(void)state;
	if (!netns_enter())
		skip();
	for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
		int sock = port_socket(c[i].family), fd = vb_memory_create(c[i].name, 4096);
		unsigned before;
		void *p;

		assert_int_equal(vb_memory_map(fd, 4096, false, &p), 0);
		before = descriptors_of(getpid());
		assert_int_equal(vb_port_owners(o, 4), 1);
		assert_int_equal(descriptors_of(getpid()), before);
		assert_int_equal(o[0].pid, getpid());
		assert_int_equal(o[0].uid, geteuid());
		assert_int_equal(o[0].is_client, c[i].is_client);
		assert_string_equal(o[0].comm, "test_port_owner");
		vb_memory_unmap(p, 4096);
		close(fd);
		close(sock);
	}
}

static void explain__names_the_owner(void **state)
{
	const struct vb_port_owner o[] = {
	    {.uid = 11, .inode = 7},
	    {.uid = 12, .inode = 8, .pid = 345, .comm = "iperf"},
	};
	char text[512];

	(void)state;
	vb_port_explain(o, 2, text, sizeof text);
	assert_non_null(strstr(text, "process 345 (iperf) of user 12"));
	vb_port_explain(o, 1, text, sizeof text);
	assert_non_null(strstr(text, "a process of user 11"));
	vb_port_explain(
	    &(struct vb_port_owner){.uid = geteuid(), .inode = 9, .pid = 77, .is_client = true}, 1,
	    text, sizeof text);
	assert_non_null(strstr(text, "process 77 ()"));
	assert_non_null(strstr(text, "whose broker was killed"));
	vb_port_explain(
	    &(struct vb_port_owner){.uid = geteuid() + 1, .inode = 9, .pid = 77, .is_client = true},
	    1, text, sizeof text);
	assert_non_null(strstr(text, "held by the Verbena of user"));
	vb_port_explain(&(struct vb_port_owner){0}, 1, text, sizeof text);
	assert_non_null(strstr(text, "rdma_rxe"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(adopted__by_ones_own),
	    cmocka_unit_test(owners__clients_have_a_slot),
	    cmocka_unit_test(explain__names_the_owner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
