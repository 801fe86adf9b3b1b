/* SPDX-License-Identifier: BSD-2-Clause */
/* The mailbox of a process with a shared XRC domain: its token, its messages, and its end.
 * node/engine/mail.c */
#include "core/adapter.h"
#include "core/share/migration.h"
#include "core_env.h"
#include "descriptors.h"
#include "node/engine/priv.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>

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
	assert_int_equal(vb_engine_open_mail(&engine), 0);
	assert_int_equal(memory.mailbox[OWN].token, engine.mail.token);
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

/* Mail that no engine sends is thrown away: too short for an envelope, from a slot out of range, or
 * from one whose owner has no mailbox. */
static void receive__what_no_engine_sends(void **state)
{
	static const struct {
		uint32_t slot, rsv;
		uint64_t token;
	} wrong[] = {{VB_SLOT_CNT, 0, 5}, {UINT32_MAX, 0, 5}, {PEER, 0, 0}, {PEER, 0, 6}};
	uint64_t token;
	int from = vb_wakeup_open(&token);
	char little[8] = "little";

	(void)state;
	assert_int_equal(vb_engine_open_mail(&engine), 0);
	memory.mailbox[PEER].token = 0;
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(
		    vb_wakeup_send(from, engine.mail.token,
				   &(struct iovec){(void *)(uintptr_t)&wrong[i], sizeof wrong[i]},
				   1),
		    0);
	memory.mailbox[PEER].token = 5;
	assert_int_equal(
	    vb_wakeup_send(from, engine.mail.token, &(struct iovec){little, sizeof little}, 1), 0);
	memory.mailbox[OWN].sent = 5;
	engine.adopts = true;
	engine.broker.host = &memory.host;
	assert_int_equal(vb_engine_run_mail(&engine, 0), 5);
	assert_false(vb_engine_has_mail(&engine));
	assert_int_equal(engine.mail.due, VB_NEVER);
	vb_engine_close_mail(&engine);
	close(from);
}

/* About once a second the engine looks whether the others are there, and tells the result at once.
 * A process without a mailbox, or without a
 * domain of several processes, has nothing to look for. */
static void probe__is_followed_up(void **state)
{
	(void)state;
	engine.mail.due = 5;
	vb_engine_probe_xrc(&engine, 7);
	assert_int_equal(engine.mail.due, 5);
	assert_int_equal(vb_engine_open_mail(&engine), 0);
	assert_int_equal(engine.mail.due, VB_NEVER);
	vb_engine_probe_xrc(&engine, 7);
	assert_int_equal(engine.mail.due, VB_NEVER);
	engine.mail.shares_xrcd = true;
	vb_engine_probe_xrc(&engine, 7);
	assert_int_equal(engine.mail.due, 7);
	/* Nothing waits. */
	vb_engine_retry_xrc(&engine, 8);
	assert_int_equal(engine.mail.due, VB_NEVER);
	/* A descriptor that shows something counts as much as the count does. */
	engine.mail.seen = memory.mailbox[OWN].sent = UINT32_MAX;
	assert_false(vb_engine_has_mail(&engine));
	engine.mail.look = true;
	assert_true(vb_engine_has_mail(&engine));
	engine.mail.look = false;
	memory.mailbox[OWN].sent++;
	assert_true(vb_engine_has_mail(&engine));
	vb_engine_close_mail(&engine);
	assert_false(vb_engine_has_mail(&engine));
}

/* A domain that no mailbox can be had for stays this process's own. */
static void mailbox__is_not_to_be_had(void **state)
{
	struct rlimit was, none;
	struct vb_xrcd *x;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = was.rlim_max};
	assert_int_equal(vb_xrcd_create(env.hca, &x), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	vb_engine_share_xrcd(&engine, x, &name);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(engine.mail.fd, -1);
	assert_int_equal(memory.mailbox[OWN].token, 0);
	assert_false(vb_xrc_is_elsewhere(x, 0x700u + PEER));
	vb_engine_share_xrcd(&engine, x, &name);
	assert_true(engine.mail.fd >= 0);
	assert_int_equal(engine.mail.due, VB_NEVER);
	assert_int_equal(vb_xrcd_destroy(x), 0);
	vb_engine_close_mail(&engine);
}

static uint32_t questions; /* that were sent */

static int count_question(void *ctx, uint32_t peer, const void *msg, size_t len)
{
	(void)ctx, (void)msg, (void)len;
	questions += peer == PEER;
	return 0;
}

static struct vb_link test_link;

static uint32_t link_recv(struct vb_link *l, struct vb_rx *rx, uint32_t cnt, vb_time now)
{
	(void)l, (void)rx, (void)cnt, (void)now;
	return 0;
}

static const struct vb_link_ops link_ops = {.name = "test", .recv = link_recv};

/* An engine that makes progress, in whose place a target's number may be another process's. */
static struct vb_xrcd *domain_begin(void)
{
	struct vb_xrcd *x;

	env_close(&env);
	env_config(&env);
	env.cfg.qpn_base = OWN;
	env.cfg.qpn_stride = 256;
	env.cfg.xrc_send = count_question;
	env_open(&env, 16);
	engine.hca = env.hca;
	test_link = vb_link_before(NULL, &link_ops);
	engine.link = &test_link;
	engine.broker.host = &memory.host;
	engine.broker.flow = memory.flow;
	engine.adopts = true;
	engine.rates.due = VB_NEVER;
	engine.progress_thread.kick_fd = -1;
	vb_wait_init(&engine.wait, 1, false);
	assert_int_equal(vb_xrcd_create(env.hca, &x), 0);
	vb_engine_share_xrcd(&engine, x, &name);
	assert_true(engine.mail.fd >= 0);
	questions = 0;
	return x;
}

/* Another process that does not answer is waited for two seconds, and meanwhile asked again. */
static void target__of_a_process_that_does_not_answer(void **state)
{
	struct vb_xrcd *x = domain_begin();
	struct vb_xrc_ask ask = {.mask = 0};
	vb_time before = vb_clock_now(), took;
	struct vb_qp *qp;

	(void)state;
	vb_engine_lock(&engine);
	assert_int_equal(vb_engine_open_target(&engine, x, 0x700u + PEER, &qp), -ETIMEDOUT);
	took = vb_clock_now() - before;
	assert_true(took >= 2 * VB_SEC);
	assert_null(qp);
	/* Every 100 ms, unless somebody else had the processor. */
	assert_uint_in_range(questions, 5, 20);
	assert_false(vb_xrc_is_opening(x, 0x700u + PEER));
	before = vb_clock_now();
	assert_int_equal(vb_engine_ask_target(&engine, x, 0x700u + PEER, &ask), -ETIMEDOUT);
	assert_true(vb_clock_now() - before >= 2 * VB_SEC);
	assert_true(vb_lock_is_held(&engine.lock));
	assert_true(vb_list_is_empty(&env.hca->asks));
	vb_engine_unlock(&engine);
	assert_int_equal(vb_xrcd_destroy(x), 0);
	vb_engine_close_mail(&engine);
}

/* Of a process that has ended its mailbox nothing is believed: its token is that of nobody. */
static void receive__without_a_token(void **state)
{
	struct vb_xrcd *x = domain_begin();
	struct {
		uint32_t slot, rsv;
		uint64_t token;
		struct vb_xrc_msg msg;
	} m = {.slot = PEER,
	       .msg = {.magic = VB_XRC_MAGIC, .kind = VB_XRC_HAVE, .qpn = 0x777, .name = name}};
	uint64_t token;
	int from = vb_wakeup_open(&token);

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		m.token = memory.mailbox[PEER].token = i ? token : 0;
		assert_int_equal(
		    vb_wakeup_send(from, engine.mail.token, &(struct iovec){&m, sizeof m}, 1), 0);
		engine.mail.look = true;
		assert_int_equal(vb_engine_run_mail(&engine, 0), 1);
		assert_int_equal(questions, i); /* it has one answer */
	}
	assert_int_equal(vb_xrcd_destroy(x), 0);
	vb_engine_close_mail(&engine);
	close(from);
}

/* A number of this process that is no target, and any without a mailbox, is asked of nobody. */
static void target__that_is_none(void **state)
{
	struct vb_xrcd *x = domain_begin();
	struct vb_qp *qp;

	(void)state;
	vb_engine_lock(&engine);
	assert_int_equal(vb_engine_open_target(&engine, x, 0x700u + OWN, &qp), -EINVAL);
	assert_null(qp);
	vb_engine_close_mail(&engine);
	assert_int_equal(vb_engine_open_target(&engine, x, 0x700u + PEER, &qp), -EINVAL);
	assert_int_equal(questions, 0);
	vb_engine_unlock(&engine);
	assert_int_equal(vb_xrcd_destroy(x), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(mailbox__is_shown_while_it_is_there, setup, teardown),
	    cmocka_unit_test_setup_teardown(send__to_who_has_a_mailbox, setup, teardown),
	    cmocka_unit_test_setup_teardown(receive__what_no_engine_sends, setup, teardown),
	    cmocka_unit_test_setup_teardown(probe__is_followed_up, setup, teardown),
	    cmocka_unit_test_setup_teardown(mailbox__is_not_to_be_had, setup, teardown),
	    cmocka_unit_test_setup_teardown(target__of_a_process_that_does_not_answer, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(target__that_is_none, setup, teardown),
	    cmocka_unit_test_setup_teardown(receive__without_a_token, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
