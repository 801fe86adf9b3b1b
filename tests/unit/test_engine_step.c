/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A step of the engine on a link that does as the test says: what is sent and when, what is
 * received before that, who is told and who is kicked, and time in which the process did not run.
 */
#include "core/obj/event.h"
#include "core_env.h"
#include "node/engine/priv.h"

#include <sys/eventfd.h>
#include <unistd.h>

#define SENT_MAX 4096u

static struct env env;
static struct vb_engine engine;
static struct vb_host_memory memory;
static struct vb_slot_shm slot;

/* The link: the packets that it takes of each batch and gives by each call, and its calls. */
static struct {
	uint32_t takes, sends, sent, recvs, gives[32];
	uint32_t psn[SENT_MAX]; /* of what was sent */
	bool has_packets, has_nap;
	uint32_t naps_ended;
} lk;

static uint32_t link_send(struct vb_link *l, const struct vb_tx_batch *batch, uint32_t from,
			  vb_time now)
{
	uint32_t cnt = batch->cnt - from < lk.takes ? batch->cnt - from : lk.takes;

	(void)l, (void)now;
	lk.sends++;
	for (uint32_t i = 0; i < cnt && lk.sent < SENT_MAX; i++)
		lk.psn[lk.sent++] = env_hdr(&batch->pkt[from + i]).psn.v;
	return cnt;
}

/* Packets that are none of anybody's. */
static uint32_t link_recv(struct vb_link *l, struct vb_rx *rx, uint32_t cnt, vb_time now)
{
	static const struct vb_path path = {.port = 1};
	uint32_t n = lk.recvs < 32 ? lk.gives[lk.recvs] : 0;

	(void)l, (void)now;
	assert_int_equal(cnt, VB_ENGINE_RX_PKTS);
	lk.recvs++;
	for (uint32_t i = 0; i < n; i++)
		rx[i] = (struct vb_rx){.path = &path};
	return n;
}

static bool link_has_packets(const struct vb_link *l)
{
	(void)l;
	return lk.has_packets;
}

static bool link_end_nap(struct vb_link *l)
{
	(void)l;
	lk.naps_ended++;
	return lk.has_nap;
}

static const struct vb_link_ops ops = {.name = "test",
				       .send = link_send,
				       .recv = link_recv,
				       .has_packets = link_has_packets,
				       .end_nap = link_end_nap};

static uint32_t heard[VB_EVENT_CNP + 1]; /* events by kind */

static void on_event(void *ctx, const struct vb_event *ev)
{
	assert_ptr_equal(ctx, heard);
	heard[ev->kind]++;
}

static int setup(void **state)
{
	static struct vb_link link;

	(void)state;
	env_config(&env);
	env.cfg.port_cnt = 2;
	env.cfg.port[2] = env.cfg.port[1];
	env_open(&env, 64);
	memset(&engine, 0, sizeof engine);
	memset(&lk, 0, sizeof lk);
	memset(&memory, 0, sizeof memory);
	memset(&slot, 0, sizeof slot);
	memset(heard, 0, sizeof heard);
	lk.takes = UINT32_MAX;
	env.now = VB_SEC;
	link = vb_link_before(NULL, &ops);
	engine.hca = env.hca;
	engine.link = &link;
	engine.broker.host = &memory.host;
	engine.broker.flow = memory.flow;
	engine.broker.bell = memory.bell;
	engine.broker.shm = &slot;
	vb_wait_init(&engine.wait, 1, false);
	engine.adopts = true;
	engine.mail.fd = -1;
	engine.rates.due = VB_NEVER;
	engine.ran_at = env.now;
	engine.progress_thread.kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_true(engine.progress_thread.kick_fd >= 0);
	vb_engine_set_sink(&engine, &(struct vb_engine_sink){.event = on_event, .ctx = heard});
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	close(engine.progress_thread.kick_fd);
	env_close(&env);
	return 0;
}

/* Whether the progress thread was kicked since the last time. */
static bool was_kicked(void)
{
	uint64_t cnt;

	engine.wait.kicked = false;
	return read(engine.progress_thread.kick_fd, &cnt, sizeof cnt) == sizeof cnt;
}

static void post_writes(struct vb_qp *qp, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++)
		assert_int_equal(env_send(&env, qp, i, VB_WR_RDMA_WRITE, 8), 0);
}

/* Of a batch that a full link takes in parts each packet leaves once, in its order. The pause
 * before it is offered the rest is the same each time, and the wait counts at the packet's port,
 * once. */
static void send__the_rest_of_a_batch(void **state)
{
	struct vb_qp *qp = env_qp(&env, VB_QPT_UC, NULL);
	struct vb_qp_attr a = env_attr(2, 0x123);

	(void)state;
	a.port = a.path.port = 2;
	env_up(&env, qp, &a, VB_QPS_RTS);
	post_writes(qp, 7);
	lk.takes = 2;
	for (uint32_t left = 7; left > 2; left -= 2) {
		(void)vb_engine_step(&engine, env.now);
		assert_int_equal(lk.sent, 7 - left + 2);
		assert_true(vb_engine_work(&engine).is_full);
		assert_int_equal(vb_engine_work(&engine).other, engine.backlog.due);
		assert_int_equal(vb_time_since(env.now, engine.backlog.due) / (50 * VB_USEC), 1);
		env.now = engine.backlog.due;
	}
	(void)vb_engine_step(&engine, env.now);
	assert_int_equal(lk.sent, 7);
	for (uint32_t i = 0; i < 7; i++)
		assert_int_equal(lk.psn[i], i);
	assert_false(vb_engine_work(&engine).is_full);
	assert_int_equal(vb_engine_work(&engine).other, VB_NEVER);
	assert_int_equal(slot.counters[2].v[VB_COUNTER_port_xmit_wait], 1);
	assert_int_equal(slot.counters[1].v[VB_COUNTER_port_xmit_wait], 0);
}

/* While the link has something of an earlier batch nothing new is asked for; packets that came
 * after it leave with the same step as the rest. */
static void send__nothing_new_before_the_rest(void **state)
{
	struct vb_qp *qp = env_rts(&env, VB_QPT_UC, 2, 0x123);

	(void)state;
	lk.takes = 0;
	post_writes(qp, 2);
	(void)vb_engine_step(&engine, env.now);
	post_writes(qp, 2);
	lk.takes = 1;
	vb_engine_send(&engine, env.now);
	assert_int_equal(lk.sent, 1);
	lk.takes = UINT32_MAX;
	vb_engine_send(&engine, env.now);
	assert_int_equal(lk.sent, 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(lk.psn[i], i);
	/* A step that is there to send receives nothing. */
	assert_int_equal(lk.recvs, 1);
}

/* One step sends 16 batches at most; the rest is due at once. */
static void send__so_many_batches_in_a_step(void **state)
{
	enum { LEN = 4 << 20 };
	struct vb_qp *qp = env_rts(&env, VB_QPT_UC, 2, 0x123);
	uint8_t *bytes = calloc(1, LEN);
	struct vb_mr_attr m = {.iova = 0x10000000, .length = LEN, .host = bytes};
	struct vb_mr *mr;

	(void)state;
	assert_int_equal(vb_mr_create(env.pd, &m, &mr), 0);

	struct vb_sge sge = {m.iova, LEN, vb_mr_lkey(mr)};
	struct vb_send_wr wr = {
	    .sge = &sge, .sge_cnt = 1, .opcode = VB_WR_RDMA_WRITE, .remote_addr = 1, .rkey = 1};

	assert_int_equal(vb_qp_post_send(qp, &wr, env.now), 0);
	(void)vb_engine_step(&engine, env.now);
	assert_int_equal(lk.sends, 16);
	assert_true(vb_engine_work(&engine).has_transmit);
	(void)vb_engine_step(&engine, env.now);
	assert_int_equal(lk.sends, 32);
	assert_int_equal(vb_qp_destroy(qp), 0);
	free(bytes);
}

/* So many packets at once are a stream, of which a step takes more before it sends: up to 8 times,
 * for as long as there are any. */
static void receive__a_stream_before_sending(void **state)
{
	static const struct {
		uint32_t gives[32], recvs, total;
	} c[] = {
	    {{0, 9}, 1, 0},
	    {{7, 9}, 1, 7},
	    {{8, 9, 0, 9}, 3, 17},
	    {{8, 1, 1, 0, 9}, 4, 10},
	    {{8, 8, 8, 8, 8, 8, 8, 8, 8, 8}, 8, 64},
	    {{128, 128, 128, 128, 128, 128, 128, 128, 1}, 8, 1024},
	};
	struct vb_qp *qp = env_rts(&env, VB_QPT_UC, 2, 0x123);

	(void)state;
	for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
		lk.recvs = lk.sent = 0;
		memcpy(lk.gives, c[i].gives, sizeof lk.gives);
		post_writes(qp, 1);
		assert_int_equal(vb_engine_step(&engine, env.now), c[i].total);
		assert_int_equal(lk.recvs, c[i].recvs);
		assert_int_equal(lk.sent, 1);
	}
}

/* The link may hold more where it filled all places, or says so; where it gave nothing it has
 * nothing that this process may wait for. */
static void receive__tells_of_more(void **state)
{
	static const struct {
		uint32_t gives;
		bool has, more;
	} c[] = {{0, false, false}, {0, true, false}, {1, false, false},
		 {1, true, true},   {7, true, true},  {5, false, false}};

	(void)state;
	for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
		lk.recvs = 0;
		lk.gives[0] = c[i].gives;
		lk.has_packets = c[i].has;
		(void)vb_engine_step(&engine, env.now);
		assert_int_equal(engine.rx_more, c[i].more);
		assert_int_equal(vb_engine_work(&engine).other, c[i].more ? 0 : VB_NEVER);
	}
	for (uint32_t i = 0; i < 8; i++)
		lk.gives[i] = i < 7 ? 8 : VB_ENGINE_RX_PKTS;
	lk.recvs = 0;
	lk.has_packets = false;
	(void)vb_engine_step(&engine, env.now);
	assert_true(engine.rx_more);
}

/* An interrupt of a CNP is its device's, whichever that is, and no event of the program's. */
static void events__of_the_program_and_of_cnps(void **state)
{
	struct vb_qp *qp = env_rts(&env, VB_QPT_RC, 2, 0x123);

	(void)state;
	for (uint8_t port = 1; port <= 2; port++) {
		vb_event_raise_cnp(env.hca, &qp->ev, 0x700u + port, port);
		(void)vb_engine_step(&engine, env.now);
		assert_int_equal(memory.bell[port - 1].cnt, 1);
		assert_int_equal(memory.bell[port - 1].qpn, 0x700u + port);
	}
	assert_int_equal(heard[VB_EVENT_CNP], 0);
	vb_event_raise_async(env.hca, &qp->ev, VB_ASYNC_COMM_EST);
	(void)vb_engine_step(&engine, env.now);
	assert_int_equal(heard[VB_EVENT_ASYNC_QP], 1);
	assert_int_equal(engine.notified, 0);
	vb_cq_arm(env.cq, false);
	assert_int_equal(env_modify(&env, qp, &(struct vb_qp_attr){0}, VB_QPS_ERR), 0);
	post_writes(qp, 1);
	(void)vb_engine_step(&engine, env.now);
	assert_int_equal(heard[VB_EVENT_CQ_NOTIFY], 1);
	assert_int_equal(engine.notified, 1);
	/* Where nobody takes events they are gone. */
	vb_engine_set_sink(&engine, &(struct vb_engine_sink){.event = NULL});
	vb_cq_arm(env.cq, false);
	post_writes(qp, 1);
	(void)vb_engine_step(&engine, env.now);
	assert_int_equal(engine.notified, 1);
	env_no_event(&env);
}

/* A request that can only fail has its completion when the doorbell is back. */
static void doorbell__tells_of_what_has_failed(void **state)
{
	static const enum vb_qp_type types[] = {VB_QPT_RC, VB_QPT_UC};
	vb_time before = vb_clock_now();

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		struct vb_qp *qp = env_rts(&env, types[i], 2, 0x123);

		assert_int_equal(env_modify(&env, qp, &(struct vb_qp_attr){0}, VB_QPS_ERR), 0);
		vb_cq_arm(env.cq, false);
		post_writes(qp, 1);
		engine.wait.doorbell_at = vb_clock_now(); /* that of UC waits for company */
		engine.wait.slow = 1000000;
		vb_engine_doorbell(&engine, qp, vb_clock_now());
		assert_int_equal(heard[VB_EVENT_CQ_NOTIFY], i + 1);
	}
	assert_int_equal(engine.wait.held, VB_HELD_REQUESTS);
	assert_true(engine.wait.doorbell_at >= before);
	assert_true(engine.wait.progress_at >= before);
	assert_true(engine.ran_at >= before);
}

/* With nothing in flight a request of RC leaves at once, the next one waits for company. Nobody
 * knows what UD has in flight: within a burst it waits. */
static void doorbell__by_what_is_in_flight(void **state)
{
	struct vb_qp *rc = env_rts(&env, VB_QPT_RC, 2, 0x123), *ud = env_rts(&env, VB_QPT_UD, 2, 0);
	struct vb_ah ah = {.pd = env.pd, .path = env_path(2)};
	struct vb_sge sge = env_sge(&env, 0, 8);
	struct vb_send_wr wr = {
	    .sge = &sge, .sge_cnt = 1, .opcode = VB_WR_SEND, .ah = &ah, .dqpn = 5, .qkey = 6};
	vb_time now = vb_clock_now();

	(void)state;
	env.now = now;
	post_writes(rc, 1);
	vb_engine_doorbell(&engine, rc, now);
	assert_int_equal(lk.sent, 1);
	assert_int_equal(engine.wait.held, VB_HELD_NOTHING);
	post_writes(rc, 1);
	vb_engine_doorbell(&engine, rc, now);
	assert_int_equal(lk.sent, 1);
	assert_int_equal(engine.wait.held, VB_HELD_REQUESTS);
	vb_engine_send_rest(&engine);
	assert_int_equal(lk.sent, 2);
	engine.wait.doorbell_at = now;
	assert_int_equal(vb_qp_post_send(ud, &wr, now), 0);
	vb_engine_doorbell(&engine, ud, now);
	assert_int_equal(lk.sent, 2);
	engine.wait.doorbell_at = now - VB_MSEC;
	assert_int_equal(vb_qp_post_send(ud, &wr, now), 0);
	vb_engine_doorbell(&engine, ud, now);
	assert_int_equal(lk.sent, 4);
}

/* A flush leaves nothing for later: neither requests nor an answer that waits for a reply. */
static void flush__leaves_nothing(void **state)
{
	struct vb_qp *qp = env_rts(&env, VB_QPT_UC, 2, 0x123);

	(void)state;
	engine.wait.slow = 1000000; /* no time is long */
	for (uint32_t i = 1; i <= 2; i++) {
		post_writes(qp, 1);
		engine.wait.held = i == 1 ? VB_HELD_ANSWER : VB_HELD_REQUESTS;
		engine.wait.held_since = vb_clock_now();
		vb_engine_flush(&engine);
		assert_int_equal(lk.sent, i);
		assert_int_equal(lk.recvs, i);
		assert_int_equal(engine.wait.held, VB_HELD_NOTHING);
	}
	/* Nothing is held: a new request is no rest. */
	post_writes(qp, 1);
	vb_engine_send_rest(&engine);
	assert_int_equal(lk.sent, 2);
}

/* A progress thread that a program outruns again and again is kicked, so that it parks; one that
 * has parked is not. The values that a look without the lock needs are there afterwards. */
static void progress__kicks_a_thread_that_is_outrun(void **state)
{
	(void)state;
	engine.wait.slow = 1000000; /* no time is long */
	engine.wait.wake_at = 0;    /* nothing else wakes it */
	engine.wait.progress_at = vb_clock_now();
	engine.wait.polls = VB_WAIT_POLLS_MIN;
	for (uint32_t i = 0; i < 32; i++)
		lk.gives[i] = 1;
	for (uint32_t i = 1; i <= VB_WAIT_OUTRUN_MAX; i++) {
		vb_engine_progress(&engine);
		assert_int_equal(engine.wait.outrun, i);
		assert_int_equal(was_kicked(), i == VB_WAIT_OUTRUN_MAX);
		assert_int_equal(engine.glance, vb_wait_glance(&engine.wait));
		assert_int_equal(engine.glance >> 1, i);
		assert_int_equal(engine.looks, 0);
	}
	engine.wait.thread = VB_THREAD_PARKED;
	vb_engine_progress(&engine);
	assert_false(was_kicked());
}

/* A thread that naps at the wakeup endpoint is woken there, and another one by its descriptor. */
static void kick__where_the_thread_waits(void **state)
{
	(void)state;
	lk.has_nap = true;
	vb_progress_thread_kick(&engine);
	assert_int_equal(lk.naps_ended, 1);
	assert_false(was_kicked());
	lk.has_nap = false;
	vb_progress_thread_kick(&engine);
	assert_int_equal(lk.naps_ended, 2);
	assert_true(was_kicked());
	/* A thread that wants the endpoint ends the nap there, and nothing else. */
	for (int wakeup = VB_WAKEUP_NONE; wakeup <= VB_WAKEUP_DESCRIPTORS; wakeup++) {
		lk.naps_ended = 0;
		engine.progress_thread.wakeup = (enum vb_progress_wakeup)wakeup;
		vb_progress_thread_yield_wakeup(&engine);
		assert_int_equal(lk.naps_ended, wakeup == VB_WAKEUP_NAP);
	}
	assert_false(was_kicked());
}

/* A program that is about to sleep sends what it posted, and has the thread on duty at once: one
 * that is parked or naps for the lock is kicked, once. */
static void expect_sleep__has_the_thread_on_duty(void **state)
{
	struct vb_qp *qp = env_rts(&env, VB_QPT_UC, 2, 0x123);

	(void)state;
	vb_engine_expect_sleep(&engine);
	assert_false(was_kicked());
	assert_true(engine.wait.announced);
	engine.wait.polls = VB_WAIT_POLLS_MIN;
	engine.glance = 77;
	engine.wait.thread = VB_THREAD_PARKED;
	vb_engine_expect_sleep(&engine);
	vb_engine_expect_sleep(&engine);
	assert_int_equal(engine.glance, vb_wait_glance(&engine.wait));
	assert_int_equal(engine.glance & 1, 0);
	assert_true(was_kicked());
	engine.wait.thread = VB_THREAD_ON_DUTY;
	atomic_store(&engine.progress_thread.napping, true);
	vb_engine_expect_sleep(&engine);
	assert_true(was_kicked());
	engine.wait.kicked = true;
	vb_engine_expect_sleep(&engine);
	assert_false(was_kicked());
	post_writes(qp, 1);
	engine.wait.held = VB_HELD_REQUESTS;
	vb_engine_expect_sleep(&engine);
	assert_int_equal(lk.sent, 1);
}

/* CQs that are armed are counted. */
static void arm__is_counted(void **state)
{
	(void)state;
	vb_engine_arm(&engine, true);
	vb_engine_arm(&engine, true);
	assert_int_equal(engine.wait.armed, 2);
	vb_engine_arm(&engine, false);
	assert_int_equal(engine.wait.armed, 1);
}

/* Work that the progress thread has to know of: timers, the link's own times, packets to send. */
static void work__all_that_no_packet_announces(void **state)
{
	struct vb_qp *qp = env_rts(&env, VB_QPT_RC, 2, 0x123);

	(void)state;
	(void)vb_engine_step(&engine, env.now);
	assert_int_equal(vb_engine_work(&engine).timer, VB_NEVER);
	assert_int_equal(vb_engine_work(&engine).other, VB_NEVER);
	assert_false(vb_engine_work(&engine).has_transmit);
	engine.link->due = 77;
	assert_int_equal(vb_engine_work(&engine).other, 77);
	post_writes(qp, 1);
	assert_true(vb_engine_work(&engine).has_transmit);
	(void)vb_engine_step(&engine, env.now);
	assert_int_equal(vb_engine_work(&engine).timer, vb_hca_poll_timeout(env.hca));
	assert_true(vb_engine_work(&engine).timer < VB_NEVER);
	/* Mail: when it is to be looked at again, or that there is some. */
	engine.mail.fd = 0;
	engine.broker.mailbox = memory.mailbox;
	engine.mail.due = 76;
	assert_int_equal(vb_engine_work(&engine).other, 76);
	engine.mail.due = 78;
	assert_int_equal(vb_engine_work(&engine).other, 77);
	memory.mailbox[0].sent = 1;
	assert_int_equal(vb_engine_work(&engine).other, 0);
	engine.mail.fd = -1;
	assert_int_equal(vb_engine_work(&engine).other, 77);
}

/* The time in which the process did not run, as the core was told. */
static vb_dur gap_seen(vb_time ran_at, vb_time now)
{
	vb_dur before = env.hca->gaps;

	engine.ran_at = ran_at;
	vb_engine_runs(&engine, now);
	return env.hca->gaps - before;
}

/* A gap is from when the engine meant to be at work to when it was, and counts from a millisecond
 * on. */
static void gap__from_when_it_meant_to_be_there(void **state)
{
	const vb_time at = 10 * VB_SEC;
	struct vb_qp *qp = env_rts(&env, VB_QPT_RC, 2, 0x123);

	(void)state;
	engine.wait.wake_at = at + 3 * VB_MSEC;
	assert_int_equal(gap_seen(at, at + 4 * VB_MSEC - 1), 0);
	assert_int_equal(engine.ran_at, at + 4 * VB_MSEC - 1);
	assert_int_equal(gap_seen(at, at + 4 * VB_MSEC), VB_MSEC);
	assert_int_equal(gap_seen(at, at + 7 * VB_MSEC), 4 * VB_MSEC);
	/* It meant to wake before it ran last: no time before that is missing. */
	engine.wait.wake_at = at - VB_SEC;
	assert_int_equal(gap_seen(at, at + VB_MSEC), VB_MSEC);
	assert_int_equal(gap_seen(at, at + VB_MSEC - 1), 0);
	/* While a thread waited for the lock, the engine has run. */
	assert_int_equal(gap_seen(at, at - 5 * VB_MSEC), 0);
	assert_int_equal(engine.ran_at, at);
	/* A parked thread plans nothing: the program is to come by. */
	engine.wait.thread = VB_THREAD_PARKED;
	engine.wait.wake_at = at;
	engine.wait.slow = 3;
	assert_int_equal(gap_seen(at, at + 4 * VB_MSEC - 1), 0);
	assert_int_equal(gap_seen(at, at + 5 * VB_MSEC), 2 * VB_MSEC);
	engine.wait.slow = 1;
	/* A timer comes first. */
	engine.wait.thread = VB_THREAD_ON_DUTY;
	engine.wait.wake_at = VB_NEVER;
	assert_int_equal(gap_seen(at, at + 3600 * VB_SEC), 0);
	env.now = at;
	post_writes(qp, 1);
	(void)vb_engine_step(&engine, at);

	vb_time timer = vb_hca_poll_timeout(env.hca);

	assert_true(timer > at && timer < VB_NEVER);
	assert_int_equal(gap_seen(at, timer + 9 * VB_MSEC), 9 * VB_MSEC);
}

int main(void)
{
#define STEP_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
	    STEP_TEST(send__the_rest_of_a_batch),
	    STEP_TEST(send__nothing_new_before_the_rest),
	    STEP_TEST(send__so_many_batches_in_a_step),
	    STEP_TEST(receive__a_stream_before_sending),
	    STEP_TEST(receive__tells_of_more),
	    STEP_TEST(events__of_the_program_and_of_cnps),
	    STEP_TEST(doorbell__tells_of_what_has_failed),
	    STEP_TEST(doorbell__by_what_is_in_flight),
	    STEP_TEST(flush__leaves_nothing),
	    STEP_TEST(progress__kicks_a_thread_that_is_outrun),
	    STEP_TEST(kick__where_the_thread_waits),
	    STEP_TEST(expect_sleep__has_the_thread_on_duty),
	    STEP_TEST(arm__is_counted),
	    STEP_TEST(work__all_that_no_packet_announces),
	    STEP_TEST(gap__from_when_it_meant_to_be_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
