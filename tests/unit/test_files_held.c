/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that turns from its queues to RDMA CM: an acknowledgement that waits for a reply
 * leaves. With a real broker, in a network namespace of its own.
 */
#include "cmocka_env.h"
#include "files/cm/cm.h"
#include "node/engine/engine.h"
#include "node/engine/priv.h"
#include "verbs_env.h"

#include <fcntl.h>
#include <unistd.h>

/* For an hour. */
static void hold_answer(struct vb_engine *e)
{
	vb_lock_take(&e->lock);
	e->wait.held = VB_HELD_ANSWER;
	e->wait.held_since = vb_clock_now() + 3600 * VB_SEC;
	vb_lock_drop(&e->lock);
}

static enum vb_wait_held what_is_held(struct vb_engine *e)
{
	enum vb_wait_held held;

	vb_lock_take(&e->lock);
	held = e->wait.held;
	vb_lock_drop(&e->lock);
	return held;
}

/* Not at any price: the thread that has the lock is at work with the queues. */
static void send_held__waits_for_nobody(void **state)
{
	struct vb_engine *e;
	char why[256];

	(void)state;
	vb_engine_send_held(); /* there is no engine */
	assert_int_equal(vb_engine_acquire(&e, why, sizeof why), 0);
	hold_answer(e);
	assert_int_equal(what_is_held(e), VB_HELD_ANSWER);
	vb_lock_take(&e->lock);
	vb_engine_send_held();
	assert_int_equal(e->wait.held, VB_HELD_ANSWER);
	vb_lock_drop(&e->lock);
	vb_engine_send_held();
	assert_int_equal(what_is_held(e), VB_HELD_NOTHING);
	vb_engine_release(e);
}

/* A call to the connection manager, the first of which opens the channel. */
static void cm_call__sends_what_is_held(void **state)
{
	struct vb_engine *e;
	char why[256];
	int fd;

	(void)state;
	assert_int_equal(vb_engine_acquire(&e, why, sizeof why), 0);
	hold_answer(e);
	fd = vb_cm_open(O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(what_is_held(e), VB_HELD_NOTHING);
	close(fd);
	vb_engine_release(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    VERBS_BROKER_TEST(send_held__waits_for_nobody),
	    VERBS_BROKER_TEST(cm_call__sends_what_is_held),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
