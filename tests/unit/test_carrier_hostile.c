/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attacks of a user of the shared broker on it and on its other users, by what the shared broker
 * gives him: descriptors, rings, slots, and the order of calls.
 */
#include "carrier_env.h"
#include "link/carried/status.h"

#include <fcntl.h>
#include <sys/uio.h>

static int dial_raw(void)
{
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un a;
	socklen_t len = vb_carrier_address(&a);

	MUST(connect(sock, (struct sockaddr *)&a, len) == 0);
	return sock;
}

/* The shared broker ends the connection within @ms, to which an empty message was sent. */
static bool has_ended(int sock, int ms)
{
	struct pollfd p = {.fd = sock, .events = POLLIN};

	return poll(&p, 1, ms) == 1;
}

/* The eventfd of questions is one open file, whose flags its user may change: he rings, and takes
 * the bell back when the shared broker has seen that it rang, and is busy with ends of connections
 * before it reads it. */
static void take_bells_back(void)
{
	struct vb_carried c = attach(1, 0);
	uint64_t one = 1, rung;
	struct iovec iov = {&rung, sizeof rung};

	MUST(common->rc[1] == 0);
	MUST(fcntl(c.ask_fd, F_SETFL, 0) == 0);
	for (int i = 0; i < 100; i++) {
		int sock[4], last;

		for (int k = 0; k < 4; k++)
			sock[k] = dial_raw();
		for (int k = 0; k < 4; k++)
			MUST(send(sock[k], "", 0, MSG_NOSIGNAL) == 0);
		MUST(write(c.ask_fd, &one, sizeof one) == sizeof one);
		MUST(has_ended(sock[2], BROKER_PATIENCE_MS));
		(void)!preadv2(c.ask_fd, &iov, 1, -1, RWF_NOWAIT);
		MUST(has_ended(sock[3], BROKER_PATIENCE_MS));
		/* It goes on. */
		last = dial_raw();
		MUST(send(last, "", 0, MSG_NOSIGNAL) == 0);
		MUST(has_ended(last, BROKER_PATIENCE_MS));
		close(last);
		for (int k = 0; k < 4; k++)
			close(sock[k]);
	}
}

static void bells__that_are_taken_back_stop_nobody(void **state)
{
	(void)state;
	assert_int_equal(user_run(STRANGER, take_bells_back), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(bells__that_are_taken_back_stop_nobody, carrier_setup,
					    carrier_teardown),
	};

	(void)argc;
	if (!carrier_env_enter(argv))
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
