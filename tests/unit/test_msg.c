/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages with descriptors between a program and its broker: all of them come, or none stays.
 * node/client/msg.h */
#include "cmocka_env.h"
#include "descriptors.h"
#include "node/client/msg.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A process with room for only some of the descriptors gets none, and an error. unix(7) */
static void fds_recv__without_descriptors(void **state)
{
	const struct vb_fds three = {.cnt = 3, .fd = {0, 0, 0}};
	struct rlimit was, few;
	struct vb_fds got;
	unsigned before;
	int pair[2];
	char byte = 0;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	before = descriptors_of(getpid());
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	few = was;
	few.rlim_cur = (rlim_t)dup(0); /* the first number that is free */
	close((int)few.rlim_cur);
	for (unsigned room = 0; room < 3; room++, few.rlim_cur++) {
		assert_int_equal(vb_fds_send(pair[0], "x", 1, &three), 0);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		ssize_t n = vb_fds_recv(pair[1], &byte, 1, &got, MSG_DONTWAIT);

		assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
		assert_int_equal(n, -EMFILE);
		assert_int_equal(got.cnt, 0);
		assert_int_equal(descriptors_of(getpid()), before);
	}
	assert_int_equal(vb_fds_send(pair[0], "x", 1, &three), 0);
	assert_int_equal(vb_fds_recv(pair[1], &byte, 1, &got, MSG_DONTWAIT), 1);
	assert_int_equal(byte, 'x');
	assert_int_equal(got.cnt, 3);
	assert_int_equal(descriptors_of(getpid()), before + 3);
	vb_fds_close(&got);
	assert_int_equal(descriptors_of(getpid()), before);
	close(pair[0]);
	close(pair[1]);
}

/* The broker of a user has a name in the abstract namespace, as long as it is. unix(7) */
static void address__of_a_user(void **state)
{
	struct sockaddr_un a;

	(void)state;
	memset(&a, 'x', sizeof a);
	assert_int_equal(vb_broker_address(&a, 1000), offsetof(struct sockaddr_un, sun_path) + 13);
	assert_int_equal(a.sun_family, AF_UNIX);
	assert_int_equal(a.sun_path[0], 0);
	assert_string_equal(a.sun_path + 1, "verbena/1000");
	assert_int_equal(vb_broker_address(&a, (uid_t)4294967294u),
			 offsetof(struct sockaddr_un, sun_path) + 19);
	assert_string_equal(a.sun_path + 1, "verbena/4294967294");
}

/* Descriptors that are none are passed over, and none is closed twice. */
static void fds_close__once(void **state)
{
	struct vb_fds fds = {.cnt = 3, .fd = {-1, dup(0), -1}};
	int fd = fds.fd[1];

	(void)state;
	vb_fds_close(&fds);
	assert_int_equal(fds.cnt, 0);
	assert_int_equal(close(fd), -1);
	vb_fds_close(&fds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(fds_recv__without_descriptors),
	    cmocka_unit_test(address__of_a_user),
	    cmocka_unit_test(fds_close__once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
