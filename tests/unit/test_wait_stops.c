/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A lost wake-up cannot hide: each thread that waits is stopped at each step at which the engine's
 * lock is free (node/wait/stop.h), a packet, a request or a timer comes there, and the program has
 * to get what is due to it, however long the thread was stopped. By UDP and by shared memory; the
 * sender is a process of its own.
 *
 * The progress thread looks around now and then by itself, which would hide what was lost: for
 * packets and requests it does so a thousand times less often here than else, which is 20 s.
 */
#include "node/engine/priv.h"
#include "node/wait/stop.h"
#include "verbs_env.h"

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/socket.h>

#define BOUND_MS 12000
#define ROUNDS_MAX 20
#define SEND_ONE UINT32_MAX

enum arrival { PACKET, REQUEST, TIMER, ARRIVALS };
static const char *const arrival_names[] = {"packet", "request", "timer"};
static const char *const step_names[] = {"thread parks", "thread looks on", "thread waits",
					 "thread naps",  "thread woke",     "sleeper parks",
					 "sleeper woke", "sleeper gone"};

/* The program's thread sleeps for events, or polls, or makes no call at all. */
enum habit { SLEEPS, POLLS, AWAY, HABITS };

static _Atomic int armed_step = -1;
static sem_t reached, go;
static _Atomic int habit;
static _Atomic bool ends;
static _Atomic uint32_t received, sent, failed;
static uint32_t to_receive, to_send, to_fail;
static struct ibv_comp_channel *channel;
static struct verbs_end end, lost; /* lost: its peer does not exist */
static int sock;
static bool was_reached[VB_STEPS];

void vb_wait_stop(enum vb_wait_step step)
{
	int want = (int)step;

	if (!atomic_compare_exchange_strong(&armed_step, &want, -1))
		return;
	sem_post(&reached);
	while (sem_wait(&go))
		;
}

static void open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	assert_non_null(list);
	ctx = ibv_open_device(list[0]);
	assert_non_null(ctx);
	ibv_free_device_list(list);
	pd = ibv_alloc_pd(ctx);
	mr = ibv_reg_mr(pd, buf, sizeof buf, ALL_ACCESS);
	assert_non_null(mr);
}

static void connect_end(struct verbs_end *e)
{
	uint32_t qpn = e->qp->qp_num, other = 0;

	assert_int_equal(write(sock, &qpn, sizeof qpn), sizeof qpn);
	assert_int_equal(read(sock, &other, sizeof other), sizeof other);
	to_init(e->qp);
	to_rts(e->qp, other, false);
	for (int i = 0; i < 32; i++)
		post_recv(e->qp, 1, 0, 64);
}

static void be_sender(void)
{
	uint32_t want, unacked = 0, got = 0;

	open_device();
	end = end_new(IBV_QPT_RC, NULL, NULL);
	connect_end(&end);
	/* One message more; or what it has sent is to be acknowledged, and so much received. */
	while (read(sock, &want, sizeof want) == sizeof want) {
		struct ibv_wc wc;

		if (want == SEND_ONE) {
			post_send(end.qp, (struct ibv_send_wr){.opcode = IBV_WR_SEND, .wr_id = 2},
				  4096, 8);
			unacked++;
		}
		while (want != SEND_ONE && (unacked || got < want)) {
			if (ibv_poll_cq(end.cq, 1, &wc) <= 0)
				continue;
			if (wc.wr_id == 1) {
				post_recv(end.qp, 1, 0, 64);
				got++;
			} else {
				unacked--;
			}
		}
		assert_int_equal(write(sock, "", 1), 1);
	}
	_exit(0);
}

/* The program handles its completions so, whatever its habit. */
static void take_completions(void)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(end.cq, 1, &wc) > 0) {
		if (wc.status != IBV_WC_SUCCESS) {
			atomic_fetch_add(&failed, 1);
		} else if (wc.wr_id == 1) {
			post_recv(end.qp, 1, 0, 64);
			atomic_fetch_add(&received, 1);
		} else {
			atomic_fetch_add(&sent, 1);
		}
	}
}

static void *run_program(void *arg)
{
	struct ibv_cq *cq;
	void *context;

	while (!atomic_load(&ends)) {
		while (atomic_load(&habit) == AWAY)
			usleep(100);
		take_completions();
		if (atomic_load(&habit) != SLEEPS)
			continue;
		assert_int_equal(ibv_req_notify_cq(end.cq, 0), 0);
		take_completions();
		assert_int_equal(ibv_get_cq_event(channel, &cq, &context), 0);
		ibv_ack_cq_events(cq, 1);
	}
	return arg;
}

/* The sender has done what it was told to, in time. */
static bool tell_sender(uint32_t want)
{
	struct pollfd p = {sock, POLLIN, 0};
	char byte;

	assert_int_equal(write(sock, &want, sizeof want), sizeof want);
	return poll(&p, 1, BOUND_MS) == 1 && read(sock, &byte, 1) == 1;
}

static void have_packet_sent(void)
{
	to_receive++;
	assert_true(tell_sender(SEND_ONE));
}

static void post_request(struct verbs_end *e)
{
	post_send(e->qp, (struct ibv_send_wr){.opcode = IBV_WR_SEND, .wr_id = 2}, 8192, 8);
}

/* Its peer never answers: a timer ends it. */
static void renew_lost(void)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RESET};

	assert_int_equal(ibv_modify_qp(lost.qp, &a, IBV_QP_STATE), 0);
	to_init(lost.qp);
	to_rts(lost.qp, lost.qp->qp_num ^ 0x5, false);
}

static void let_come(enum arrival what)
{
	switch (what) {
	case PACKET:
		have_packet_sent();
		break;
	case REQUEST:
		to_send++;
		post_request(&end);
		break;
	default:
		to_fail++;
		post_request(&lost);
	}
}

static void slow_down(uint32_t slow)
{
	struct vb_engine *e = vb_engine_borrow();

	vb_engine_lock(e);
	e->wait.slow = slow;
	e->progress_thread.check_at = VB_NEVER;
	vb_engine_unlock(e);
	vb_engine_release(e);
}

static void await_all(enum vb_wait_step step, enum arrival what)
{
	int was = atomic_load(&habit);

	/* Without the program the progress thread acknowledges, and sends what was posted. */
	if (!tell_sender(to_send))
		fail_msg("%s, %s: not acknowledged, or not sent", step_names[step],
			 arrival_names[what]);
	if (was == AWAY)
		atomic_store(&habit, POLLS);
	for (uint64_t from = now_us();
	     atomic_load(&received) != to_receive || atomic_load(&sent) != to_send ||
	     atomic_load(&failed) != to_fail;
	     usleep(200))
		if (now_us() - from > BOUND_MS * UINT64_C(1000))
			fail_msg("%s, %s: %u of %u received, %u of %u sent, %u of %u failed",
				 step_names[step], arrival_names[what], received, to_receive, sent,
				 to_send, failed, to_fail);
}

/* The thread parks when it is outrun once more, and looks on after the next packet. On a busy
 * machine it would take a thousand packets until it does so by itself. */
static void lead_to(enum vb_wait_step step)
{
	struct vb_engine *e = vb_engine_borrow();

	vb_engine_lock(e);
	if (step == VB_STEP_THREAD_PARKS && e->wait.outrun < VB_WAIT_OUTRUN_MAX)
		e->wait.outrun = VB_WAIT_OUTRUN_MAX - 1;
	if (step == VB_STEP_THREAD_LOOKS_ON)
		e->wait.look_on_skip = e->wait.look_on_in_vain = 0;
	vb_engine_unlock(e);
	vb_engine_release(e);
}

/* Has threads pass their steps until one stops at @step, and lets @what come there. */
static void stop_at(enum vb_wait_step step, enum arrival what)
{
	int was = atomic_load(&habit);
	bool stopped = false;

	atomic_store(&armed_step, (int)step);
	/* Whether a program that polls outruns the thread is for the kernel to say. */
	for (int i = 0; i < 40 && !stopped; i++) {
		if (i == 3 && (was == AWAY || step > VB_STEP_THREAD_LOOKS_ON))
			break;
		lead_to(step);
		have_packet_sent();
		for (int k = 0; k < 10 && !stopped; k++) {
			usleep(300);
			stopped = sem_trywait(&reached) == 0;
		}
	}
	/* This habit does not lead there, or it does so just now. */
	if (!stopped && atomic_exchange(&armed_step, -1) == -1) {
		sem_wait(&reached);
		stopped = true;
	}
	if (stopped) {
		was_reached[step] = true;
		/* Timers of requests are not told to the thread: it is to look for them. */
		slow_down(what == TIMER ? 1 : 1000);
		let_come(what);
		sem_post(&go);
	}
	await_all(step, what);
	atomic_store(&habit, was);
	slow_down(1);
	if (stopped && what == TIMER)
		renew_lost();
}

/* The first step at which no thread was stopped; VB_STEPS: there is none. */
static enum vb_wait_step first_missing(bool by_shm)
{
	int step = 0;

	while (step < VB_STEPS && (was_reached[step] || (step == VB_STEP_THREAD_NAPS && !by_shm)))
		step++;
	return (enum vb_wait_step)step;
}

static void run_all(bool by_shm)
{
	pthread_t program;
	int both[2];
	pid_t pid;

	setenv("VERBENA_LINK", by_shm ? "shm" : "udp", 1);
	verbs_start_broker();
	verbs_timeout = 22; /* 17 s: nothing is sent again before that */
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, both), 0);
	pid = fork();
	sock = both[pid == 0];
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		be_sender();
	}
	open_device();
	channel = ibv_create_comp_channel(ctx);
	assert_non_null(channel);
	end = end_new(IBV_QPT_RC, channel, NULL);
	connect_end(&end);
	lost = end_new(IBV_QPT_RC, NULL, NULL);
	assert_int_equal(ibv_destroy_qp(lost.qp), 0);
	struct ibv_qp_init_attr init = {
	    .send_cq = end.cq, .recv_cq = end.cq, .cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};

	lost.qp = ibv_create_qp(pd, &init);
	assert_non_null(lost.qp);
	verbs_timeout = 8;
	renew_lost();
	assert_int_equal(pthread_create(&program, NULL, run_program, NULL), 0);
	for (int round = 0; round < 3 || (round < ROUNDS_MAX && first_missing(by_shm) != VB_STEPS);
	     round++)
		for (int h = 0; h < HABITS; h++) {
			atomic_store(&habit, h);
			for (int step = 0; step < VB_STEPS; step++)
				for (int what = 0; what < ARRIVALS; what++)
					stop_at((enum vb_wait_step)step, (enum arrival)what);
		}
	atomic_store(&habit, POLLS);
	atomic_store(&ends, true);
	have_packet_sent();
	pthread_join(program, NULL);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	verbs_stop_broker();
}

static void check_reached(bool by_shm)
{
	enum vb_wait_step step = first_missing(by_shm);

	if (step != VB_STEPS)
		fail_msg("no thread was stopped where the %s", step_names[step]);
}

static void wakeups__none_is_lost_udp(void **state)
{
	(void)state;
	run_all(false);
	check_reached(false);
}

static void wakeups__none_is_lost_shm(void **state)
{
	(void)state;
	run_all(true);
	check_reached(true);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest udp[] = {cmocka_unit_test(wakeups__none_is_lost_udp)};
	const struct CMUnitTest shm[] = {cmocka_unit_test(wakeups__none_is_lost_shm)};

	(void)argv;
	sem_init(&reached, 0, 0);
	sem_init(&go, 0, 0);
	VERBS_MAIN_OR_SKIP();
	return argc > 1 ? cmocka_run_group_tests(shm, NULL, NULL)
			: cmocka_run_group_tests(udp, NULL, NULL);
}
