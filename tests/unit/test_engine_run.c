/* SPDX-License-Identifier: BSD-2-Clause */
/* A step of the engine: the order of what is received and the timers that are due. And what a
 * program that polls in vain does on a oversubscribed machine. */
#include "core/share/migration.h"
#include "core_env.h"
#include "link/flow.h"
#include "node/engine/priv.h"
#include "node/host/pace.h"

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

static struct env env;
static struct vb_engine engine;
static struct vb_host_memory memory;
static struct vb_slot_shm slot;
static uint32_t sent_cnt, rx_cnt, looks;
static bool link_is_full;
static int link_wakes;

static uint32_t link_send(struct vb_link *l, const struct vb_tx_batch *batch, uint32_t from,
			  vb_time now)
{
	(void)l, (void)now;
	if (link_is_full)
		return 0;
	sent_cnt += batch->cnt - from;
	return batch->cnt - from;
}

/* Packets that are none of anybody's. */
static uint32_t link_recv(struct vb_link *l, struct vb_rx *rx, uint32_t cnt, vb_time now)
{
	static const struct vb_path path = {.port = 1};
	uint32_t n = rx_cnt < cnt ? rx_cnt : cnt;

	(void)l, (void)now;
	looks = engine.looks;
	for (uint32_t i = 0; i < n; i++) {
		rx[i] = (struct vb_rx){.path = &path};
		vb_flow_taken(&memory.flow[0], 0);
	}
	rx_cnt -= n;
	return n;
}

static int link_fd(const struct vb_link *l)
{
	(void)l;
	return link_wakes;
}

static void link_park(struct vb_link *l, bool on)
{
	(void)l, (void)on;
}

static const struct vb_link_ops ops = {
    .name = "test", .send = link_send, .recv = link_recv, .fd = link_fd};
static const struct vb_link_ops silent_ops = {
    .name = "silent", .send = link_send, .recv = link_recv, .fd = link_fd, .park = link_park};

static int setup(void **state)
{
	static struct vb_link link;

	(void)state;
	env_config(&env);
	env_open(&env, 16);
	memset(&engine, 0, sizeof engine);
	sent_cnt = rx_cnt = 0;
	link_is_full = false;
	link_wakes = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_true(link_wakes >= 0);
	engine.hca = env.hca;
	link = vb_link_before(NULL, &ops);
	engine.link = &link;
	engine.broker.host = &memory.host;
	memset(memory.flow, 0, sizeof memory.flow);
	engine.broker.flow = memory.flow;
	vb_wait_init(&engine.wait, 1, false);
	engine.adopts = true;
	engine.mail.fd = -1;
	engine.broker.shm = &slot;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	env_close(&env);
	close(link_wakes);
	return 0;
}

/* When the engine is due, as the progress thread sees it. */
static vb_time due_at(vb_time now)
{
	struct vb_wait_work work = vb_engine_work(&engine);

	return vb_time_max(now, vb_wait_due(&engine.wait, &work, now, 0));
}

/* A request that was sent long ago. */
static void make_late(struct vb_qp *qp)
{
	assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 8), 0);
	vb_engine_step(&engine, env.now);
	assert_int_equal(sent_cnt, 1);
	env.now += 100 * VB_SEC;
}

/* The ACK may be what the next step receives; but packets that keep coming hold no timer up. */
static void step__timers_wait_once_for_what_was_late_too(void **state)
{
	struct vb_qp *qp = env_rts(&env, VB_QPT_RC, 2, 0x123);

	(void)state;
	make_late(qp);
	for (uint32_t step = 1; step <= 2; step++) {
		rx_cnt = 1;
		vb_engine_step(&engine, env.now);
		assert_int_equal(sent_cnt, step);
	}
	env.now += 100 * VB_SEC;
	vb_engine_step(&engine, env.now);
	assert_int_equal(sent_cnt, 3);
}

/* An answer that is held for a reply to travel with has not left: its ACK cannot be there yet. */
static void step__timers_wait_for_an_answer_that_is_held(void **state)
{
	struct vb_qp *late = env_rts(&env, VB_QPT_RC, 2, 0x123);
	struct vb_qp *answers = env_rts(&env, VB_QPT_RC, 2, 0x124);

	(void)state;
	make_late(late);
	assert_int_equal(env_send(&env, answers, 1, VB_WR_RDMA_WRITE, 8), 0);
	engine.wait.reply_score = VB_WAIT_REPLY_SCORE_MIN;
	rx_cnt = 1;
	vb_engine_step(&engine, env.now);
	assert_int_equal(engine.wait.held, VB_HELD_ANSWER);
	for (int i = 0; i < 3; i++)
		vb_engine_step(&engine, env.now);
	assert_int_equal(sent_cnt, 1);
	env.now += VB_SEC;
	vb_engine_step(&engine, env.now);
	assert_int_equal(sent_cnt, 2);
	vb_engine_step(&engine, env.now);
	assert_int_equal(sent_cnt, 3);
}

/* Bytes that were read and not answered, as the other processes of this host see it. */
static uint64_t unanswered_bytes(void)
{
	return memory.flow[0].taken - memory.flow[0].answered;
}

/* Others count on an answer from when it has left: not while it is held, or the link is full. */
static void step__tells_others_what_is_answered(void **state)
{
	struct vb_qp *qp = env_rts(&env, VB_QPT_RC, 2, 0x123);

	(void)state;
	for (uint32_t i = 1; i <= 2; i++) {
		rx_cnt = 1;
		vb_engine_step(&engine, env.now); /* there was nothing to answer */
		assert_int_equal(memory.flow[0].taken, i * VB_FLOW_OVERHEAD);
		assert_int_equal(unanswered_bytes(), 0);
	}
	assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 8), 0);
	engine.wait.reply_score = VB_WAIT_REPLY_SCORE_MIN;
	rx_cnt = 1;
	vb_engine_step(&engine, env.now);
	assert_int_equal(engine.wait.held, VB_HELD_ANSWER);
	assert_int_equal(unanswered_bytes(), VB_FLOW_OVERHEAD);
	link_is_full = true;
	vb_engine_send_rest(&engine);
	assert_int_equal(unanswered_bytes(), VB_FLOW_OVERHEAD);
	link_is_full = false;
	env.now += VB_MSEC;
	vb_engine_step(&engine, env.now);
	assert_int_equal(sent_cnt, 1);
	assert_int_equal(unanswered_bytes(), 0);
}

/* A packet that a full link did not take is due again after a pause, also when nobody else does
 * anything: the progress thread asks what is due when it wakes up. */
static void step__full_link_is_offered_it_again(void **state)
{
	struct vb_qp *qp = env_rts(&env, VB_QPT_UC, 2, 0x123);
	const uint64_t *waits = &slot.counters[1].v[VB_COUNTER_port_xmit_wait], before = *waits;

	(void)state;
	link_is_full = true;
	assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 8), 0);
	for (uint32_t i = 0; i < 3; i++) {
		vb_engine_step(&engine, env.now);

		vb_time due = due_at(env.now);

		assert_uint_in_range(due, env.now + 1, env.now + VB_MSEC);
		env.now = due;
		assert_int_equal(due_at(env.now), due);
	}
	assert_int_equal(sent_cnt, 0);
	assert_int_equal(*waits, before + 1);
	link_is_full = false;
	vb_engine_step(&engine, env.now);
	assert_int_equal(sent_cnt, 1);
	assert_int_equal(due_at(env.now), VB_NEVER);
}

/* A step that took all that it has places for leaves packets that no descriptor tells of: it is due
 * again at once. */
static void step__more_packets_are_due_at_once(void **state)
{
	(void)state;
	rx_cnt = 100 * VB_ENGINE_RX_PKTS;
	vb_engine_step(&engine, env.now);
	assert_true(rx_cnt > 0);
	assert_int_equal(due_at(env.now), env.now);
	rx_cnt = 0;
	vb_engine_step(&engine, env.now);
	assert_int_equal(due_at(env.now), VB_NEVER);
}

/* Whether a poll in vain, the last of so many, sleeps, each time of three: a page of this program
 * that comes from the disk just then is a sleep, too, but once. */
static bool yield_sleeps(uint32_t idle_polls)
{
	struct rusage before, after;

	for (int i = 0; i < 3; i++) {
		engine.wait.idle_polls = idle_polls;
		getrusage(RUSAGE_THREAD, &before);
		vb_engine_idle(&engine, vb_engine_polled(&engine, false));
		getrusage(RUSAGE_THREAD, &after);
		if (after.ru_nvcsw == before.ru_nvcsw)
			return false;
	}
	return true;
}

static void yield__sleeps_only_where_it_is_oversubscribed(void **state)
{
	(void)state;
	assert_false(yield_sleeps(100));
	engine.wait.oversubscribed_until = vb_clock_now() + 3600 * VB_SEC;
	assert_true(yield_sleeps(100));
	assert_false(yield_sleeps(1));
	engine.wait.oversubscribed_until = 1; /* that was once */
	engine.wait.progress_at = vb_clock_now();
	assert_false(yield_sleeps(100));
}

/* Room for others is made once for each time that a full receiver was met. */
static void yield__once_for_a_full_receiver(void **state)
{
	(void)state;
	engine.wait.held_up = true;
	vb_engine_idle(&engine, vb_engine_polled(&engine, false));
	assert_false(engine.wait.held_up);
}

static void yield__a_packet_ends_the_sleep(void **state)
{
	(void)state;
	engine.wait.oversubscribed_until = vb_clock_now() + 3600 * VB_SEC;
	assert_int_equal(write(link_wakes, &(uint64_t){1}, sizeof(uint64_t)), sizeof(uint64_t));
	assert_false(yield_sleeps(100));
}

/* A thread that does something else between two polls does not only poll. */
static void progress__time_between_polls_is_no_idle_poll(void **state)
{
	(void)state;
	engine.wait.idle_polls = 7;
	engine.wait.progress_at = vb_clock_now() - VB_SEC;
	vb_engine_progress(&engine);
	assert_int_equal(engine.wait.idle_polls, 0);
}

/* Threads that poll in turn each do something else in between, as far as can be seen. */
static void progress__of_another_thread_is_no_idle_poll(void **state)
{
	(void)state;
	engine.wait.slow = 10000000; /* no time is long */
	engine.wait.poller = (uint64_t)pthread_self();
	engine.wait.progress_at = vb_clock_now();
	vb_engine_progress(&engine);
	vb_engine_progress(&engine);
	assert_int_equal(engine.wait.idle_polls, 2);
	engine.wait.poller = 0;
	vb_engine_progress(&engine);
	assert_int_equal(engine.wait.idle_polls, 0);
}

/* A thread that only polls gets its packet sooner when a poll looks several times. A thread that
 * posts as well must not wait for the lock that long, nor the progress thread look so. */
static void progress__looks_more_often_for_who_only_polls(void **state)
{
	struct vb_qp *qp = env_rts(&env, VB_QPT_RC, 2, 0x123);

	(void)state;
	engine.wait.slow = 10000000; /* no time is long */
	engine.wait.poller = (uint64_t)pthread_self();
	engine.wait.progress_at = vb_clock_now();
	for (uint32_t polls = 0; polls < 3; polls++) {
		vb_engine_progress(&engine);
		assert_int_equal(looks, polls ? 4 : 1);
	}
	vb_engine_step(&engine, vb_clock_now());
	assert_int_equal(looks, 0);
	engine.wait.idle_polls = 7;
	engine.wait.poller = 0;
	engine.wait.kicked = true;
	vb_engine_doorbell(&engine, qp, vb_clock_now());
	assert_true(engine.wait.poller == (uint64_t)pthread_self());
	engine.link->ops = &silent_ops;
	engine.wait.is_silent = true;
	vb_engine_progress(&engine);
	assert_int_equal(looks, 1); /* its doorbells are looked at as often */
}

/* The look that a program takes after it has armed a CQ, or after it has found something. */
static void yield__not_after_success_or_before_sleep(void **state)
{
	(void)state;
	engine.wait.in_vain = 1000;
	engine.wait.idle_polls = 1000;
	(void)vb_engine_polled(&engine, true);
	assert_int_equal(engine.wait.in_vain, 0);
	assert_int_equal(engine.wait.idle_polls, 0);
	engine.wait.in_vain = 1000;
	engine.wait.held_up = true;
	engine.wait.oversubscribed_until = VB_NEVER;
	engine.wait.kicked = true;
	vb_engine_expect_sleep(&engine);
	assert_int_equal(engine.wait.in_vain, 0);
	assert_false(engine.wait.held_up);
	assert_false(vb_wait_is_oversubscribed(&engine.wait, 0));
	assert_true(engine.wait.handover);
}

static void notice__the_thread_stays_parked_where_it_is_oversubscribed(void **state)
{
	vb_time now = vb_clock_now();

	(void)state;
	engine.progress_thread.kick_fd = link_wakes;
	engine.wait.thread = VB_THREAD_PARKED;
	engine.wait.wake_at = VB_NEVER;
	engine.wait.held = VB_HELD_REQUESTS;
	engine.wait.request_cnt = 1;
	engine.wait.oversubscribed_until = now + VB_SEC;
	vb_progress_thread_notice(&engine, now);
	assert_false(engine.wait.kicked);
	engine.wait.oversubscribed_until = 0;
	vb_progress_thread_notice(&engine, now);
	assert_true(engine.wait.kicked);
}

/* A doorbell that leaves something due before the thread wakes by itself tells it so. */
static void doorbell__tells_the_progress_thread(void **state)
{
	struct vb_qp *qp = env_rts(&env, VB_QPT_RC, 2, 0x123);

	(void)state;
	engine.progress_thread.kick_fd = link_wakes;
	engine.wait.wake_at = VB_NEVER;
	assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 8), 0);
	vb_engine_doorbell(&engine, qp, vb_clock_now());
	assert_true(engine.wait.kicked);
}

/* Without acknowledgements to wait for, what is posted within 2 us of the doorbell before may leave
 * together with more; from then on it leaves at once. */
static void doorbell__of_a_burst(void **state)
{
	struct vb_qp *qp = env_rts(&env, VB_QPT_UC, 2, 0x123);
	vb_time now = vb_clock_now();

	(void)state;
	assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 8), 0);
	engine.wait.doorbell_at = now - 2 * VB_USEC + 1;
	vb_engine_doorbell(&engine, qp, now);
	assert_int_equal(sent_cnt, 0);
	assert_int_equal(env_send(&env, qp, 2, VB_WR_RDMA_WRITE, 8), 0);
	engine.wait.doorbell_at = now - 2 * VB_USEC;
	vb_engine_doorbell(&engine, qp, now);
	assert_int_equal(sent_cnt, 2);
}

/* Mail about XRC targets, from slot 3 to this process, which has slot 2. */
static struct mail {
	int from;
	uint64_t token;
	uint32_t answers, more; /* sent by this process; mail that comes while it sends them */
} mail;

/* A question about a target that is not here, in an envelope with @token. It has one answer. */
static void mail_send(uint64_t token)
{
	struct vb_xrc_msg msg = {
	    .magic = VB_XRC_MAGIC, .kind = VB_XRC_HAVE, .qpn = 0x777, .name = {1, 77}};
	struct {
		uint32_t slot, rsv;
		uint64_t token;
	} envelope = {3, 0, token};
	const struct iovec part[] = {{&envelope, sizeof envelope}, {&msg, sizeof msg}};

	assert_int_equal(vb_wakeup_send(mail.from, engine.mail.token, part, 2), 0);
}

static int take_answer(void *ctx, uint32_t peer, const void *msg, size_t len)
{
	(void)ctx, (void)msg, (void)len;
	assert_int_equal(peer, 3);
	mail.answers++;
	if (mail.more && mail.more--)
		mail_send(mail.token);
	return 0;
}

static void mail_open(void)
{
	env_close(&env);
	env.cfg.xrc_send = take_answer;
	env_open(&env, 16);
	engine.hca = env.hca;
	engine.broker.slot = 2;
	engine.broker.mailbox = memory.mailbox;
	assert_int_equal(vb_engine_open_mail(&engine), 0);
	mail = (struct mail){.from = -1};
	mail.from = vb_wakeup_open(&mail.token);
	assert_true(mail.from >= 0);
	memory.mailbox[3].token = mail.token;
	engine.mail.seen = memory.mailbox[2].sent = 0;
}

static void mail_close(void)
{
	close(mail.from);
	vb_engine_close_mail(&engine);
}

/* Mail of a slot's last owner is not believed to be of the one that it has now. */
static void mail__of_a_slots_last_owner(void **state)
{
	(void)state;
	mail_open();
	mail_send(mail.token);
	mail_send(mail.token + 2);
	memory.mailbox[2].sent = 2;
	engine.mail.look = true;
	assert_int_equal(vb_engine_run_mail(&engine, env.now), 2);
	assert_int_equal(mail.answers, 1);
	/* That was all, so nobody looks there again. */
	assert_false(vb_engine_has_mail(&engine));
	mail_close();
}

/* More mail than one step takes is due at once, though no other message tells of it. The queue of a
 * wakeup endpoint may be short: here each is sent when the one before is taken. */
static void mail__more_than_a_step_takes(void **state)
{
	(void)state;
	mail_open();
	mail_send(mail.token);
	mail.more = 69;
	memory.mailbox[2].sent = 70;
	assert_int_equal(vb_engine_run_mail(&engine, env.now), 64);
	assert_true(vb_engine_has_mail(&engine));
	assert_int_equal(due_at(env.now), env.now);
	assert_int_equal(vb_engine_run_mail(&engine, env.now), 6);
	assert_false(vb_engine_has_mail(&engine));
	assert_int_equal(mail.answers, 70);
	mail_close();
}

static struct vb_xrc_ask ask;

/* The asked process hears only the third question. */
static int lose_two_questions(void *ctx, uint32_t peer, const void *msg, size_t len)
{
	(void)ctx, (void)msg, (void)len;
	assert_int_equal(peer, 3);
	if (++mail.answers == 3)
		ask.err = -ENOENT;
	return 0;
}

/* A lost question is asked again until an answer comes. */
static void mail__asks_again(void **state)
{
	const struct vb_xrcd_name name = {1, 77};
	struct vb_xrcd *x;

	(void)state;
	env.cfg.qpn_base = 2;
	env.cfg.qpn_stride = 256;
	mail_open();
	env_close(&env);
	env.cfg.xrc_send = lose_two_questions;
	env_open(&env, 16);
	engine.hca = env.hca;
	assert_int_equal(vb_xrcd_create(engine.hca, &x), 0);
	vb_xrcd_share(x, &name);
	vb_engine_lock(&engine);
	ask = (struct vb_xrc_ask){.opens = true};
	assert_int_equal(vb_engine_ask_target(&engine, x, 0x703, &ask), -ENOENT);
	vb_engine_unlock(&engine);
	assert_int_equal(mail.answers, 3);
	assert_int_equal(vb_xrcd_destroy(x), 0);
	mail_close();
}

static void count_changes(void *ctx)
{
	++*(uint32_t *)ctx;
}

/* The table of devices has changed: a virtual function follows the settings of its new parent, and
 * the program hears of the change once. */
static void reload__follows_the_parent(void **state)
{
	uint32_t changes = 0;
	const struct vb_engine_sink sink = {.port_change = count_changes, .ctx = &changes};

	(void)state;
	env_close(&env);
	env.cfg.port_cnt = VB_DEVICES_MAX;
	env_open(&env, 16);
	engine.hca = env.hca;
	engine.adopts = false;
	vb_adapter_init(&memory.adapter);
	vb_engine_set_sink(&engine, &sink);
	memory.host.device_cnt = 3;
	for (uint32_t i = 0; i < 3; i++)
		memory.host.device[i].ifindex = 2 + i;
	for (uint32_t parent = 0; parent < 2; parent++) {
		memory.host.device[2].parent = parent + 1;
		memory.host.generation++;
		for (int again = 0; again < 2; again++) {
			vb_engine_reload(&engine);
			assert_int_equal(changes, parent + 1);
			assert_int_equal(engine.adopted[2].pf, parent);
			assert_int_equal(engine.adopted[1].pf, 1);
		}
	}
	memset(&memory.host, 0, sizeof memory.host);
}

/* Times grow on a slow machine, and not without a bound. */
static void slowness__within_bounds(void **state)
{
	uint32_t slow = vb_pace_slowness();

	(void)state;
	assert_uint_in_range(slow, 1, 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(step__timers_wait_once_for_what_was_late_too, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(step__tells_others_what_is_answered, setup, teardown),
	    cmocka_unit_test_setup_teardown(step__timers_wait_for_an_answer_that_is_held, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(step__full_link_is_offered_it_again, setup, teardown),
	    cmocka_unit_test_setup_teardown(step__more_packets_are_due_at_once, setup, teardown),
	    cmocka_unit_test_setup_teardown(yield__sleeps_only_where_it_is_oversubscribed, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(yield__once_for_a_full_receiver, setup, teardown),
	    cmocka_unit_test_setup_teardown(yield__a_packet_ends_the_sleep, setup, teardown),
	    cmocka_unit_test_setup_teardown(progress__time_between_polls_is_no_idle_poll, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(progress__of_another_thread_is_no_idle_poll, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(progress__looks_more_often_for_who_only_polls, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(yield__not_after_success_or_before_sleep, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(
		notice__the_thread_stays_parked_where_it_is_oversubscribed, setup, teardown),
	    cmocka_unit_test_setup_teardown(doorbell__tells_the_progress_thread, setup, teardown),
	    cmocka_unit_test_setup_teardown(doorbell__of_a_burst, setup, teardown),
	    cmocka_unit_test_setup_teardown(mail__of_a_slots_last_owner, setup, teardown),
	    cmocka_unit_test_setup_teardown(mail__more_than_a_step_takes, setup, teardown),
	    cmocka_unit_test_setup_teardown(mail__asks_again, setup, teardown),
	    cmocka_unit_test_setup_teardown(reload__follows_the_parent, setup, teardown),
	    cmocka_unit_test(slowness__within_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
