/* SPDX-License-Identifier: BSD-2-Clause */
/* The mailbox of a process with a shared XRC domain: its token, its messages, and its end.
 * node/engine/mail.c */
#include "core_env.h"
#include "descriptors.h"
#include "node/engine/priv.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>

#define OWN 2u
#define PEER 3u

static struct env env;
static struct vb_engine engine;
static struct vb_host_memory memory;
static const struct vb_xrcd_name name = {1, 77};

static int setup(void **state)
{
	(void)state;
	env_config(&env);
	env_open(&env, 16);
	memset(&engine, 0, sizeof engine);
	memset(memory.mailbox, 0, sizeof memory.mailbox);
	engine.hca = env.hca;
	engine.broker.slot = OWN;
	engine.broker.mailbox = memory.mailbox;
	engine.mail.fd = -1;
	engine.progress_thread.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	close(engine.progress_thread.epoll_fd);
	env_close(&env);
	return 0;
}

static bool is_readable(int fd)
{
	struct pollfd p = {fd, POLLIN, 0};

	return poll(&p, 1, 0) == 1;
}

/* All domains of a process share one mailbox. Others see its token while it exists, and the
 * progress thread hears of its messages. */
static void mailbox__is_shown_while_it_is_there(void **state)
{
	unsigned before = descriptors_of(getpid());
	struct vb_xrcd *x[2];
	char hello[] = "hello";
	uint64_t other;
	int from = vb_wakeup_open(&other), fd;

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(vb_xrcd_create(env.hca, &x[i]), 0);
		vb_engine_share_xrcd(&engine, x[i], &name);
		if (i == 0)
			fd = engine.mail.fd;
		assert_true(engine.mail.fd >= 0);
		assert_int_equal(engine.mail.fd, fd);
		assert_int_not_equal(engine.mail.token, 0);
		assert_int_equal(memory.mailbox[OWN].token, engine.mail.token);
	}
	assert_false(vb_engine_has_mail(&engine));
	assert_false(is_readable(engine.progress_thread.epoll_fd));
	assert_int_equal(vb_wakeup_send(from, engine.mail.token, &(struct iovec){hello, 5}, 1), 0);
	assert_true(is_readable(engine.progress_thread.epoll_fd));
	memory.mailbox[OWN].sent++;
	assert_true(vb_engine_has_mail(&engine));
	for (int i = 0; i < 2; i++)
		assert_int_equal(vb_xrcd_destroy(x[i]), 0);
	vb_engine_close_mail(&engine);
	assert_int_equal(engine.mail.fd, -1);
	assert_int_equal(memory.mailbox[OWN].token, 0);
	vb_engine_close_mail(&engine);
	close(from);
	assert_int_equal(descriptors_of(getpid()), before);
}

/* A message counts at its receiver, once sent. Nobody sends to itself, to a process without a
 * mailbox or to a wrong slot. */
static void send__to_who_has_a_mailbox(void **state)
{
	const char msg[8] = "message";
	uint8_t got[64];
	uint64_t token;
	int peer = vb_wakeup_open(&token);
	uint32_t cnt = 0;

	(void)state;
	memory.mailbox[PEER].token = token;
	assert_int_equal(vb_engine_send_xrc(&engine, PEER, msg, sizeof msg), -ECONNREFUSED);
	engine.mail.fd = vb_wakeup_open(&engine.mail.token);
	memory.mailbox[OWN].token = engine.mail.token;
	assert_int_equal(vb_engine_send_xrc(&engine, OWN, msg, sizeof msg), -ECONNREFUSED);
	assert_int_equal(vb_engine_send_xrc(&engine, PEER + 1, msg, sizeof msg), -ECONNREFUSED);
	assert_int_equal(vb_engine_send_xrc(&engine, VB_SLOT_CNT + PEER, msg, sizeof msg),
			 -ECONNREFUSED);
	assert_int_equal(memory.mailbox[PEER].sent, 0);
	/* The queue gets full: a later attempt may succeed. */
	while (vb_engine_send_xrc(&engine, PEER, msg, sizeof msg) == 0)
		assert_int_equal(memory.mailbox[PEER].sent, ++cnt);
	assert_true(cnt > 0);
	assert_int_equal(vb_engine_send_xrc(&engine, PEER, msg, sizeof msg), -EAGAIN);
	assert_int_equal(memory.mailbox[PEER].sent, cnt);
	for (uint32_t i = 0; i < cnt; i++) {
		size_t len = vb_wakeup_receive(peer, got, sizeof got);

		assert_true(len > sizeof msg);
		assert_memory_equal(got + len - sizeof msg, msg, sizeof msg);
		assert_int_equal(got[0], OWN); /* the sender */
		assert_memory_equal(got + 8, &engine.mail.token, sizeof engine.mail.token);
	}
	close(peer);
	assert_int_equal(vb_engine_send_xrc(&engine, PEER, msg, sizeof msg), -ECONNREFUSED);
	assert_int_equal(memory.mailbox[PEER].sent, cnt);
	vb_engine_close_mail(&engine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(mailbox__is_shown_while_it_is_there, setup, teardown),
	    cmocka_unit_test_setup_teardown(send__to_who_has_a_mailbox, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
