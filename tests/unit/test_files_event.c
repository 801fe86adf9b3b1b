/* SPDX-License-Identifier: BSD-2-Clause */
/* Events as they lie in the pair of an open rdma_cm, and how a program takes them. CMP-45 */
#include "cmocka_env.h"
#include "files/cm/event.h"
#include "ucma/abi.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static int pair[2]; /* the program's end, the broker's */
static struct vb_fd f;
static bool repeats; /* what event_make() says */

static int setup(void **state)
{
	(void)state;
	repeats = false;
	f = (struct vb_fd){.kind = VB_FD_RDMA_CM, .token = 0x77};
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -1;
	return fcntl(pair[0], F_SETFL, O_RDWR | O_NONBLOCK) || vb_fd_enter(pair[0], &f);
}

static int teardown(void **state)
{
	(void)state;
	vb_fd_forget(pair[0]);
	close(pair[0]);
	close(pair[1]);
	return 0;
}

static void event_write(uint64_t number, uint32_t kind, uint32_t len, size_t size)
{
	struct vb_cm_answer a = {.event = number, .len = len, .channel = 1, .repeats = repeats};
	struct vb_ucma_event_reply r = {.event = kind, .id = (uint32_t)number};

	memcpy(a.body, &r, sizeof r);
	assert_int_equal(send(pair[1], &a, size, 0), size);
}

static void event_make(uint64_t number)
{
	event_write(number, VB_UCMA_EV_ESTABLISHED, sizeof(struct vb_ucma_event_reply),
		    VB_CM_EVENT_LEN);
}

static void take__in_order(void **state)
{
	struct vb_cm_answer a;

	(void)state;
	assert_int_equal(vb_cm_event_take(pair[0], &f, &a), -EAGAIN);
	for (uint64_t n = 5; n < 9; n++)
		event_make(n);
	for (uint64_t n = 5; n < 9; n++) {
		assert_int_equal(vb_cm_event_take(pair[0], &f, &a), 0);
		assert_int_equal(a.event, n);
	}
	assert_int_equal(vb_cm_event_take(pair[0], &f, &a), -EAGAIN);
	close(pair[1]);
	assert_int_equal(vb_cm_event_take(pair[0], &f, &a), -EPIPE);
}

/* A broker that was killed had written it; the next one did once more. CMP-51 */
static void take__once(void **state)
{
	struct vb_cm_answer a;

	(void)state;
	event_make(5);
	repeats = true;
	event_make(5);
	event_make(4);
	event_make(6);
	assert_int_equal(vb_cm_event_take(pair[0], &f, &a), 0);
	assert_int_equal(a.event, 5);
	assert_int_equal(vb_cm_event_take(pair[0], &f, &a), 0);
	assert_int_equal(a.event, 6);
}

/* A thread has taken back 5 when another one takes 6: 5 comes again, and is no repetition. */
static void take__after_a_later_one(void **state)
{
	struct vb_cm_answer a;
	uint64_t seq[4];

	(void)state;
	event_make(6);
	assert_int_equal(vb_cm_event_take(pair[0], &f, &a), 0);
	event_make(5);
	assert_int_equal(vb_cm_event_return(pair[0], seq, 4), 1);
	assert_int_equal(seq[0], 5);
	event_make(5);
	assert_int_equal(vb_cm_event_take(pair[0], &f, &a), 0);
	assert_int_equal(a.event, 5);
}

/* Messages that no broker writes are none. */
static void take__nonsense(void **state)
{
	struct vb_cm_answer a;

	(void)state;
	event_write(5, VB_UCMA_EV_ESTABLISHED, sizeof(struct vb_ucma_event_reply), 1);
	event_write(5, VB_UCMA_EV_ESTABLISHED, VB_CM_EVENT_BODY + 1, VB_CM_EVENT_LEN);
	event_write(5, VB_UCMA_EV_ESTABLISHED, UINT32_MAX, VB_CM_EVENT_LEN);
	event_make(7);
	assert_int_equal(vb_cm_event_take(pair[0], &f, &a), 0);
	assert_int_equal(a.event, 7);
}

/* A process that has asked no broker believes a request as it is. */
static void take__request_without_a_broker(void **state)
{
	struct vb_cm_answer a;

	(void)state;
	event_write(5, VB_UCMA_EV_CONNECT_REQUEST, sizeof(struct vb_ucma_event_reply),
		    VB_CM_EVENT_LEN);
	assert_int_equal(vb_cm_event_take(pair[0], &f, &a), 0);
}

static void ignore_signal(int number)
{
	(void)number;
}

/* The channel was closed after the caller had looked, and its number is another file: nothing is
 * taken from that, and the call ends by a signal alone. */
static void take__number_of_another_file(void **state)
{
	const struct sigaction act = {.sa_handler = ignore_signal};
	const struct itimerval soon = {.it_interval = {.tv_usec = 10000},
				       .it_value = {.tv_usec = 10000}};
	const struct itimerval never = {.it_value = {.tv_sec = 0}};
	struct vb_fd other = {.kind = VB_FD_RDMA_CM, .token = 0x78};
	struct vb_cm_answer a;

	(void)state;
	event_make(5);
	assert_int_equal(sigaction(SIGALRM, &act, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
	vb_fd_forget(pair[0]);
	assert_int_equal(vb_cm_event_take(pair[0], &f, &a), -EINTR);
	assert_int_equal(vb_fd_enter(pair[0], &other), 0);
	assert_int_equal(vb_cm_event_take(pair[0], &f, &a), -EINTR);
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	assert_int_equal(vb_cm_event_take(pair[0], &other, &a), 0);
	assert_int_equal(a.event, 5);
}

/* All that lie there, but for what was taken before. */
static void return__what_lies_there(void **state)
{
	struct vb_cm_answer a;
	uint64_t seq[4];

	(void)state;
	assert_int_equal(vb_cm_event_return(pair[0], seq, 4), 0);
	for (uint64_t n = 5; n < 8; n++)
		event_make(n);
	assert_int_equal(vb_cm_event_take(pair[0], &f, &a), 0);
	repeats = true;
	event_make(5);
	repeats = false;
	event_make(9);
	assert_int_equal(vb_cm_event_return(pair[0], seq, 2), 2);
	assert_int_equal(seq[0], 6);
	assert_int_equal(seq[1], 7);
	assert_int_equal(vb_cm_event_return(pair[0], seq, 4), 1);
	assert_int_equal(seq[0], 9);
	/* They may be written again. */
	event_make(6);
	assert_int_equal(vb_cm_event_take(pair[0], &f, &a), 0);
	assert_int_equal(a.event, 6);
	assert_int_equal(vb_cm_event_return(pair[1], seq, 4), 0); /* no rdma_cm */
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(take__in_order),
	    T(take__once),
	    T(take__nonsense),
	    T(take__request_without_a_broker),
	    T(take__after_a_later_one),
	    T(return__what_lies_there),
	    T(take__number_of_another_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
