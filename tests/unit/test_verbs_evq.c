/* SPDX-License-Identifier: BSD-2-Clause */
/* Event queues by themselves: their events, the order of events, and when the descriptor shows
 * them. ibv_get_cq_event(3), ibv_get_async_event(3) */
#include "cmocka_env.h"
#include "verbs/queue/evq.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

static struct vb_evq q;
static struct vb_evq_node a, b;

static int open_queue(void **state)
{
	(void)state;
	assert_int_equal(vb_evq_open(&q), 0);
	vb_evq_node_init(&a, VB_EVQ_CQ);
	vb_evq_node_init(&b, VB_EVQ_QP);
	return 0;
}

static int close_queue(void **state)
{
	(void)state;
	vb_evq_close(&q);
	assert_int_equal(fcntl(q.fd, F_GETFD), -1);
	return 0;
}

static bool is_shown(void)
{
	struct pollfd p = {.fd = q.fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

static void assert_next(const struct vb_evq_node *node, int async)
{
	struct vb_evq_item item;

	assert_int_equal(vb_evq_take(&q, &item), 0);
	assert_ptr_equal(item.node, node);
	assert_int_equal(item.async, async);
}

static void assert_empty(void)
{
	struct vb_evq_item item;

	assert_int_equal(vb_evq_take(&q, &item), EAGAIN);
	assert_false(is_shown());
}

static void take__objects_by_turns(void **state)
{
	(void)state;
	assert_true(fcntl(q.fd, F_GETFD) & FD_CLOEXEC);
	assert_empty();
	for (int i = 0; i < 3; i++)
		vb_evq_push_notify(&q, &a);
	vb_evq_push_notify(&q, &b);
	assert_true(is_shown());
	assert_next(&a, -1);
	assert_next(&b, -1);
	assert_next(&a, -1);
	assert_true(is_shown());
	assert_next(&a, -1);
	assert_empty();
	vb_evq_push_notify(&q, &b);
	assert_true(is_shown());
	assert_next(&b, -1);
	assert_empty();
}

/* Each kind of event of an object is there once until it is taken or its opposite comes. */
static void push_async__once_and_cleared(void **state)
{
	(void)state;
	vb_evq_push_async(&q, &b, 1u << 5, 0);
	vb_evq_push_async(&q, &b, 1u << 3, 0);
	vb_evq_push_async(&q, &b, 1u << 5, 0);
	assert_next(&b, 3);
	assert_next(&b, 5);
	assert_empty();
	vb_evq_push_async(&q, &b, 1u << 5, 0);
	assert_next(&b, 5);
	/* A port that goes down and up has only the last event. */
	vb_evq_push_async(&q, &a, 1u << 9, 1u << 10);
	vb_evq_push_async(&q, &a, 1u << 10, 1u << 9);
	assert_next(&a, 10);
	assert_empty();
}

static void remove__takes_events_along(void **state)
{
	(void)state;
	vb_evq_push_notify(&q, &a);
	vb_evq_push_notify(&q, &a);
	vb_evq_push_notify(&q, &b);
	vb_evq_push_async(&q, &a, 1u << 2, 0);
	assert_next(&a, 2);
	assert_next(&b, -1);
	assert_next(&a, -1);
	/* Delivered events await acknowledgement. */
	assert_int_equal(vb_evq_remove(&q, &a), 2);
	assert_empty();
	assert_int_equal(vb_evq_remove(&q, &b), 1);
	vb_evq_push_notify(&q, &a);
	vb_evq_push_notify(&q, &b);
	assert_int_equal(vb_evq_remove(&q, &a), 2);
	assert_true(is_shown());
	assert_next(&b, -1);
	assert_empty();
}

/* While a thread waits, the descriptor shows no event; it shows the events left when the last
 * waiter has gone. */
static void end_wait__shows_what_is_left(void **state)
{
	uint32_t seq;

	(void)state;
	seq = vb_evq_begin_wait(&q);
	(void)vb_evq_begin_wait(&q);
	vb_evq_push_notify(&q, &a);
	assert_int_not_equal(atomic_load(&q.seq), seq);
	assert_false(is_shown());
	vb_evq_end_wait(&q);
	assert_false(is_shown());
	vb_evq_end_wait(&q);
	assert_true(is_shown());
	assert_next(&a, -1);
	assert_empty();
	(void)vb_evq_begin_wait(&q);
	vb_evq_push_notify(&q, &a);
	assert_next(&a, -1);
	vb_evq_end_wait(&q);
	assert_empty();
	vb_evq_push_notify(&q, &a);
	assert_true(is_shown());
	assert_next(&a, -1);
}

static void *push_when_awaited(void *arg)
{
	bool waits = false;

	(void)arg;
	while (!waits) {
		pthread_mutex_lock(&q.mutex);
		waits = q.waiter_cnt != 0;
		pthread_mutex_unlock(&q.mutex);
		sched_yield();
	}
	vb_evq_push_async(&q, &b, 1u << 4, 0);
	return NULL;
}

/* A waiter is woken; where the program does not want to wait, no call waits. */
static void await__is_woken(void **state)
{
	struct vb_evq_item item;
	pthread_t t;

	(void)state;
	assert_int_equal(vb_evq_may_wait(&q), 0);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(pthread_create(&t, NULL, push_when_awaited, NULL), 0);
		assert_int_equal(vb_evq_await(&q, &item), 0);
		assert_ptr_equal(item.node, &b);
		assert_int_equal(item.async, 4);
		assert_int_equal(pthread_join(t, NULL), 0);
	}
	assert_empty();
	fcntl(q.fd, F_SETFL, O_NONBLOCK);
	assert_int_equal(vb_evq_may_wait(&q), EAGAIN);
	assert_int_equal(vb_evq_await(&q, &item), EAGAIN);
	vb_evq_push_notify(&q, &a);
	assert_int_equal(vb_evq_await(&q, &item), 0);
	assert_ptr_equal(item.node, &a);
}

#define QUEUE_TEST(f) cmocka_unit_test_setup_teardown(f, open_queue, close_queue)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    QUEUE_TEST(take__objects_by_turns),
	    QUEUE_TEST(push_async__once_and_cleared),
	    QUEUE_TEST(remove__takes_events_along),
	    QUEUE_TEST(end_wait__shows_what_is_left),
	    QUEUE_TEST(await__is_woken),
	};

	alarm(60); /* a lost wakeup would hang for ever */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
