/* SPDX-License-Identifier: BSD-2-Clause */
/* The owner of UDP port 4791: one's own adapter, which is waited for, or another, who is named. */
#include "cmocka_env.h"
#include "descriptors.h"
#include "link/memory.h"
#include "netns.h"
#include "node/host/port_owner.h"
#include "wire/icrc.h"

#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
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
	    {{.uid = geteuid(), .inode = 7, .pid = 9, .comm = "verbena broker"}, true},
	    {{.uid = geteuid(), .inode = 7, .pid = 9, .comm = "verben"}, false},
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

/* A socket on a port, of one family. */
static int socket_at(int family, uint16_t port)
{
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0), on = 1;

	if (family == AF_INET6)
		assert_int_equal(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on), 0);
	assert_int_equal(bind(fd, family == AF_INET ? (struct sockaddr *)&in : (void *)&in6,
			      family == AF_INET ? sizeof in : sizeof in6),
			 0);
	return fd;
}

static int port_socket(int family)
{
	return socket_at(family, VB_ROCE_PORT);
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

/* Sockets of both families are told of, as many as there is room for, and none of other ports. */
static void owners__as_many_as_there_is_room_for(void **state)
{
	struct vb_port_owner o[4] = {0};
	int other[2], fd[2];

	(void)state;
	other[0] = socket_at(AF_INET6, VB_ROCE_PORT + 1);
	other[1] = socket_at(AF_INET, VB_ROCE_PORT - 1);
	assert_int_equal(vb_port_owners(o, 4), 0);
	fd[0] = port_socket(AF_INET6);
	fd[1] = port_socket(AF_INET);
	assert_int_equal(vb_port_owners(o, 4), 2);
	for (int i = 0; i < 2; i++)
		assert_int_equal(o[i].pid, getpid());
	assert_true(o[0].inode != o[1].inode && o[0].inode && o[1].inode);
	memset(o, 0, sizeof o);
	assert_int_equal(vb_port_owners(o, 1), 1);
	assert_int_equal(o[1].inode, 0);
	for (int i = 0; i < 2; i++) {
		close(fd[i]);
		close(other[i]);
	}
}

/* The process is the one that has the socket, and the user is the socket's. */
static void owners__another_process(void **state)
{
	struct vb_port_owner o = {0};
	char byte = 1;
	int pair[2];
	pid_t pid;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pair[0]);
		byte = (char)(setuid(65534) == 0);
		(void)port_socket(AF_INET);
		prctl(PR_SET_DUMPABLE, 1);
		prctl(PR_SET_NAME, "somebody");
		if (write(pair[1], &byte, 1) == 1)
			(void)!read(pair[1], &byte, 1);
		_exit(0);
	}
	close(pair[1]);
	assert_int_equal(read(pair[0], &byte, 1), 1);
	assert_int_equal(vb_port_owners(&o, 1), 1);
	assert_int_equal(o.pid, pid);
	assert_int_equal(o.uid, byte ? 65534 : geteuid());
	assert_string_equal(o.comm, "somebody");
	assert_false(o.is_client);
	close(pair[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* The whole line, for each kind of owner. Of several it is the one that tells most. */
static void explain__names_the_owner(void **state)
{
	const struct vb_port_owner kernel = {.uid = 0}, unknown = {.uid = 11, .inode = 7},
				   process = {.uid = 12, .inode = 8, .pid = 345, .comm = "iperf"},
				   client = {.uid = geteuid() + 1,
					     .inode = 9,
					     .pid = 77,
					     .is_client = true,
					     .comm = "perf"},
				   own = {.uid = geteuid(),
					  .inode = 9,
					  .pid = 78,
					  .is_client = true,
					  .comm = "mine"};
	const struct {
		struct vb_port_owner o[3];
		int cnt;
		const char *begins, *ends;
	} c[] = {
	    {.cnt = 0,
	     .begins = "UDP port 4791 is taken by a socket that /proc/net/udp does not show; find",
	     .ends = "owner with 'ss -ulpn sport = 4791' as root"},
	    {{kernel},
	     1,
	     "UDP port 4791 is taken by the kernel (rdma_rxe?); remove its devices",
	     "'rdma link delete', or use another network namespace"},
	    {{unknown},
	     1,
	     "UDP port 4791 is taken by a process of user 11; end it, or use",
	     "(as that user 'ss -ulpn sport = 4791' names it)"},
	    {{process},
	     1,
	     "UDP port 4791 is taken by process 345 (iperf) of user 12; end it, or",
	     "network namespace"},
	    {{own},
	     1,
	     "UDP port 4791 is held by process 78 (mine), whose broker was killed and",
	     "end or continue it"},
	    {{unknown, process}, 2, "UDP port 4791 is taken by process 345 (iperf) of user 12", ""},
	    {{process, unknown}, 2, "UDP port 4791 is taken by process 345 (iperf) of user 12", ""},
	    {{unknown, own, process}, 3, "UDP port 4791 is held by process 78 (mine)", ""},
	    {{process, own, unknown}, 3, "UDP port 4791 is held by process 78 (mine)", ""},
	    {{own, process, unknown}, 3, "UDP port 4791 is held by process 78 (mine)", ""},
	    {{kernel, unknown}, 2, "UDP port 4791 is taken by the kernel", ""},
	};
	char text[512], wanted[512];

	(void)state;
	for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
		vb_port_explain(c[i].o, c[i].cnt, text, sizeof text);
		assert_ptr_equal(strstr(text, c[i].begins), text);
		assert_true(strlen(text) > strlen(c[i].ends));
		assert_string_equal(text + strlen(text) - strlen(c[i].ends), c[i].ends);
	}
	snprintf(
	    wanted, sizeof wanted,
	    "UDP port 4791 is held by the Verbena of user %u (process 77, perf); one user of a "
	    "network namespace has it at a time: have that user's programs end ('verbena hca "
	    "stop'), let root run 'verbena broker --shared', or use another network namespace",
	    (unsigned)geteuid() + 1);
	vb_port_explain(&client, 1, text, sizeof text);
	assert_string_equal(text, wanted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(adopted__by_ones_own),
	    cmocka_unit_test(owners__clients_have_a_slot),
	    cmocka_unit_test(owners__as_many_as_there_is_room_for),
	    cmocka_unit_test(owners__another_process),
	    cmocka_unit_test(explain__names_the_owner),
	};

	if (!netns_enter()) {
		fprintf(stderr, "skipped: no network namespace of our own to be had\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
