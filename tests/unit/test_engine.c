/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine with the real broker and real sockets, in a network namespace of its own: two
 * processes talk RC through it, and one of them dies, forks, sleeps or does not poll.
 */
#include "cmocka_env.h"
#include "descriptors.h"
#include "engine_peer.h"
#include "netns.h"
#include "node/broker/broker.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* The thread sanitizer does not survive a thread in a child of a process with threads. */
#if defined(__SANITIZE_THREAD__)
#define CHILD_MAY_HAVE_THREADS false
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CHILD_MAY_HAVE_THREADS false
#endif
#endif
#ifndef CHILD_MAY_HAVE_THREADS
#define CHILD_MAY_HAVE_THREADS true
#endif

static pid_t broker;

static void start_broker(void)
{
	char why[256];

	broker = fork();
	NEED(broker >= 0);
	if (broker == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(vb_broker_main());
	}
	for (;;) {
		struct vb_broker_observer o;

		if (vb_broker_observe(&o, false, why, sizeof why) == 0) {
			vb_broker_observe_end(&o);
			return;
		}
		NEED(waitpid(broker, NULL, WNOHANG) == 0);
		usleep(1000);
	}
}

/* A broker leaves when its last client does; each test has its own. */
static int setup(void **state)
{
	(void)state;
	start_broker();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	kill(broker, SIGKILL);
	waitpid(broker, NULL, 0);
	return 0;
}

/* Runs @other in a child, the far end of the pair in *sock. */
static pid_t run_other(void (*other)(int sock), int *sock)
{
	int pair[2];
	pid_t pid;

	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	pid = fork();
	NEED(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pair[0]);
		other(pair[1]);
		exit(0);
	}
	close(pair[1]);
	*sock = pair[0];
	return pid;
}

static void join_other(pid_t pid, int sock)
{
	int status;

	close(sock);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void acquire__twice_is_one_engine(void **state)
{
	struct vb_engine *a, *b;
	char why[256];

	(void)state;
	assert_int_equal(vb_engine_acquire(&a, why, sizeof why), 0);
	assert_int_equal(vb_engine_acquire(&b, why, sizeof why), 0);
	assert_ptr_equal(a, b);
	vb_engine_release(a);
	assert_true(vb_engine_is_alive(b));
	vb_engine_release(b);
	/* And again: nothing of the first one is in the way. */
	assert_int_equal(vb_engine_acquire(&a, why, sizeof why), 0);
	assert_true(vb_engine_slot(a)->pid != 0);
	vb_engine_release(a);
}

static void other_receives(int sock)
{
	struct peer p;
	struct vb_wc wc;

	peer_open(&p, sock);
	peer_post_recv(&p, 0, 4096);
	peer_connect(&p);
	peer_meet(&p);
	wc = peer_poll(&p);
	NEED(wc.status == VB_WC_SUCCESS && wc.opcode == VB_WC_RECV && wc.byte_len == 3000);
	for (uint32_t i = 0; i < 3000; i++)
		NEED(p.mem[i] == (uint8_t)(i * 7));
	peer_meet(&p);
	/* From here on without polling: the other side writes and reads. */
	peer_wait(&p);
	peer_close(&p);
}

static void rc__send_write_read_between_processes(void **state)
{
	struct peer p;
	int sock;
	pid_t pid = run_other(other_receives, &sock);

	(void)state;
	peer_open(&p, sock);
	peer_connect(&p);
	peer_meet(&p);
	for (uint32_t i = 0; i < PEER_MEM / 2; i++)
		p.mem[i] = (uint8_t)(i * 7);
	peer_post(&p, VB_WR_SEND, 0, 3000, 0, VB_SEND_SIGNALED);
	assert_int_equal(peer_poll(&p).status, VB_WC_SUCCESS);
	peer_meet(&p);
	peer_post(&p, VB_WR_RDMA_WRITE, 0, PEER_MEM / 2, 4096, 0);
	peer_post(&p, VB_WR_RDMA_READ, PEER_MEM / 2, PEER_MEM / 2, 4096, VB_SEND_SIGNALED);
	assert_int_equal(peer_poll(&p).status, VB_WC_SUCCESS);
	assert_memory_equal(p.mem, p.mem + PEER_MEM / 2, PEER_MEM / 2);
	peer_tell(&p);
	peer_close(&p);
	join_other(pid, sock);
}

static void other_is_passive(int sock)
{
	struct peer p;

	peer_open(&p, sock);
	peer_connect(&p);
	peer_meet(&p);
	peer_wait(&p);
	vb_engine_lock(p.e);
	for (uint32_t i = 0; i < 1000; i++)
		NEED(p.mem[i * 8] == (uint8_t)i && p.mem[i * 8 + 7] == (uint8_t)(i >> 8));
	vb_engine_unlock(p.e);
	peer_close(&p);
}

/* Doorbells of small writes coalesce into GSO batches, and none is lost on the way. */
static void doorbell__many_small_writes(void **state)
{
	struct peer p;
	int sock;
	pid_t pid = run_other(other_is_passive, &sock);

	(void)state;
	peer_open(&p, sock);
	peer_connect(&p);
	peer_meet(&p);
	for (uint32_t i = 0; i < 1000; i++) {
		bool signaled = i % 50 == 49;

		p.mem[i * 8] = (uint8_t)i;
		p.mem[i * 8 + 7] = (uint8_t)(i >> 8);
		peer_post(&p, VB_WR_RDMA_WRITE, i * 8, 8, i * 8, signaled ? VB_SEND_SIGNALED : 0);
		if (signaled)
			assert_int_equal(peer_poll(&p).status, VB_WC_SUCCESS);
	}
	peer_tell(&p);
	peer_close(&p);
	join_other(pid, sock);
}

static void other_awaits_bytes(int sock)
{
	struct peer p;

	peer_open(&p, sock);
	peer_connect(&p);
	peer_meet(&p);
	for (uint32_t i = 0; i < 20; i++)
		peer_await_byte(&p, i * 2 + 1, (uint8_t)(i + 1));
	peer_meet(&p);
	peer_close(&p);
}

/* The second of two requests waits for company; that nobody comes back for it is no excuse. */
static void doorbell__what_is_left_is_sent_by_the_progress_thread(void **state)
{
	struct peer p;
	int sock;
	pid_t pid = run_other(other_awaits_bytes, &sock);

	(void)state;
	peer_open(&p, sock);
	peer_connect(&p);
	peer_meet(&p);
	for (uint32_t i = 0; i < 20; i++) {
		p.mem[i * 2] = p.mem[i * 2 + 1] = (uint8_t)(i + 1);
		peer_post(&p, VB_WR_RDMA_WRITE, i * 2, 1, i * 2, 0);
		peer_post(&p, VB_WR_RDMA_WRITE, i * 2 + 1, 1, i * 2 + 1, 0);
	}
	peer_meet(&p);
	peer_close(&p);
	join_other(pid, sock);
}

static void sleep_for_event(struct peer *p, struct vb_wc *wc)
{
	uint64_t cnt;

	for (;;) {
		vb_engine_lock(p->e);
		vb_cq_arm(p->cq, false);
		vb_engine_expect_sleep(p->e);
		vb_engine_unlock(p->e);
		if (peer_try(p, wc))
			return;
		NEED(read(p->event_fd, &cnt, sizeof cnt) == sizeof cnt);
		if (peer_try(p, wc))
			return;
	}
}

/* 200 messages to and fro. The next message may come before the completion of the own one. */
static void ping_pong_with_events(struct peer *p, bool starts)
{
	uint32_t sent = 0, completed = 0, received = 0;

	while (completed < 200 || received < 200) {
		struct vb_wc wc;

		if (sent < 200 && sent < received + (starts ? 1 : 0)) {
			sent++;
			peer_post(p, VB_WR_SEND, 0, 64, 0, VB_SEND_SIGNALED);
		}
		sleep_for_event(p, &wc);
		NEED(wc.status == VB_WC_SUCCESS);
		if (wc.opcode == VB_WC_RECV) {
			received++;
			peer_post_recv(p, 4096, 64);
		} else {
			completed++;
		}
	}
}

static void other_ping_pongs(int sock)
{
	struct peer p;

	peer_open(&p, sock);
	peer_post_recv(&p, 4096, 64);
	peer_post_recv(&p, 4096, 64);
	peer_connect(&p);
	peer_meet(&p);
	ping_pong_with_events(&p, false);
	peer_meet(&p);
	peer_close(&p);
}

static void expect_sleep__completions_wake_the_sleeper(void **state)
{
	struct peer p;
	int sock;
	pid_t pid = run_other(other_ping_pongs, &sock);

	(void)state;
	peer_open(&p, sock);
	peer_post_recv(&p, 4096, 64);
	peer_post_recv(&p, 4096, 64);
	peer_connect(&p);
	peer_meet(&p);
	ping_pong_with_events(&p, true);
	peer_meet(&p);
	peer_close(&p);
	join_other(pid, sock);
}

static void other_sleeps(int sock)
{
	struct peer p;

	peer_open(&p, sock);
	peer_connect(&p);
	peer_meet(&p);
	pause();
}

/* kill -9 of the other side ends in RETRY_EXC_ERR, also for one who sleeps. */
static void peer_death__is_a_completion(void **state)
{
	struct peer p;
	struct vb_wc wc;
	int sock;
	pid_t pid = run_other(other_sleeps, &sock);

	(void)state;
	peer_open(&p, sock);
	p.timeout = 10;
	p.retry_cnt = 2;
	peer_connect(&p);
	peer_meet(&p);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	peer_post(&p, VB_WR_RDMA_WRITE, 0, 8, 0, VB_SEND_SIGNALED);
	sleep_for_event(&p, &wc);
	assert_int_equal(wc.status, VB_WC_RETRY_EXC_ERR);
	peer_close(&p);
	close(sock);
}

/* Without a broker everything goes on; only new processes would miss it. */
static void broker_death__traffic_goes_on(void **state)
{
	struct peer p;
	int sock;
	pid_t pid = run_other(other_is_passive, &sock);

	(void)state;
	peer_open(&p, sock);
	peer_connect(&p);
	peer_meet(&p);
	kill(broker, SIGKILL);
	waitpid(broker, NULL, 0);
	for (uint32_t i = 0; i < 1000; i++) {
		p.mem[i * 8] = (uint8_t)i;
		p.mem[i * 8 + 7] = (uint8_t)(i >> 8);
		peer_post(&p, VB_WR_RDMA_WRITE, i * 8, 8, i * 8, VB_SEND_SIGNALED);
		assert_int_equal(peer_poll(&p).status, VB_WC_SUCCESS);
	}
	peer_tell(&p);
	peer_close(&p);
	join_other(pid, sock);
}

static uint32_t open_fds(void)
{
	uint32_t n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void child_of_fork(struct vb_engine *parents, uint32_t fds, uint32_t parents_slot)
{
	struct vb_engine *own;
	char why[256];

	NEED(!vb_engine_is_alive(parents));
	NEED(open_fds() == fds);
	/* One reference each, as the application lets go of what it inherited. */
	vb_engine_release(parents);
	if (!CHILD_MAY_HAVE_THREADS)
		exit(0);
	NEED(vb_engine_acquire(&own, why, sizeof why) == 0);
	NEED(own != parents && vb_engine_slot(own)->slot != parents_slot);
	vb_engine_release(own);
	exit(0);
}

/* A forked child has no engine but may get its own, while the parent does not notice. */
static void fork__child_has_no_engine_and_parent_goes_on(void **state)
{
	uint32_t fds;
	struct peer p;
	int sock, status;
	pid_t pid = run_other(other_is_passive, &sock);

	(void)state;
	fds = open_fds();
	peer_open(&p, sock);
	fds++; /* event_fd */
	peer_connect(&p);
	peer_meet(&p);
	for (uint32_t i = 0; i < 1000; i++) {
		p.mem[i * 8] = (uint8_t)i;
		p.mem[i * 8 + 7] = (uint8_t)(i >> 8);
		peer_post(&p, VB_WR_RDMA_WRITE, i * 8, 8, i * 8, VB_SEND_SIGNALED);
		if (i % 250 == 10) {
			/* With work in flight. */
			uint32_t slot = vb_engine_slot(p.e)->slot;
			pid_t child = fork();

			NEED(child >= 0);
			if (child == 0)
				child_of_fork(p.e, fds, slot);
			assert_int_equal(waitpid(child, &status, 0), child);
			assert_int_equal(status, 0);
		}
		assert_int_equal(peer_poll(&p).status, VB_WC_SUCCESS);
	}
	peer_tell(&p);
	peer_close(&p);
	join_other(pid, sock);
}

static void other_just_exits(int sock)
{
	struct peer p;

	peer_open(&p, sock);
	peer_connect(&p);
	peer_meet(&p);
	peer_post(&p, VB_WR_RDMA_WRITE, 0, 8, 0, 0);
	exit(0);
}

static void exit__without_release(void **state)
{
	struct peer p;
	int sock;
	pid_t pid = run_other(other_just_exits, &sock);

	(void)state;
	peer_open(&p, sock);
	peer_connect(&p);
	peer_meet(&p);
	join_other(pid, sock);
	peer_close(&p);
}

/* Threads that poll and threads that post share one engine. */
struct worker {
	struct peer *p;
	uint32_t posted, completed;
	bool *done;
};

static void *worker_posts(void *arg)
{
	struct worker *w = arg;

	for (uint32_t i = 0; i < 2000; i++) {
		bool room = false;

		while (!room) {
			vb_engine_lock(w->p->e);
			room = w->posted - w->completed < 100;
			w->posted += room;
			vb_engine_unlock(w->p->e);
			if (!room)
				usleep(50);
		}
		peer_post(w->p, VB_WR_RDMA_WRITE, 64, 64, 64, VB_SEND_SIGNALED);
	}
	return NULL;
}

static void *worker_polls(void *arg)
{
	struct worker *w = arg;
	bool done = false;

	while (!done) {
		struct vb_wc wc;
		bool got = peer_try(w->p, &wc);

		vb_engine_lock(w->p->e);
		w->completed += got;
		done = w->completed == 2000;
		vb_engine_unlock(w->p->e);
		NEED(!got || wc.status == VB_WC_SUCCESS);
	}
	return NULL;
}

static void other_waits(int sock)
{
	struct peer p;

	peer_open(&p, sock);
	peer_connect(&p);
	peer_meet(&p);
	peer_wait(&p);
	peer_close(&p);
}

static void lock__threads_share_the_engine(void **state)
{
	struct peer p;
	struct worker w = {.p = &p};
	pthread_t thread[3];
	int sock;
	pid_t pid = run_other(other_waits, &sock);

	(void)state;
	peer_open(&p, sock);
	peer_connect(&p);
	peer_meet(&p);
	assert_int_equal(pthread_create(&thread[0], NULL, worker_posts, &w), 0);
	assert_int_equal(pthread_create(&thread[1], NULL, worker_polls, &w), 0);
	assert_int_equal(pthread_create(&thread[2], NULL, worker_polls, &w), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	peer_tell(&p);
	peer_close(&p);
	join_other(pid, sock);
}

static void acquire__without_broker_says_why(void **state)
{
	struct vb_engine *e;
	char why[256] = "";
	unsigned before;

	(void)state;
	kill(broker, SIGKILL);
	waitpid(broker, NULL, 0);
	setenv("VERBENA_BIN", "/nonexistent", 1);
	before = descriptors_of(getpid());
	assert_true(vb_engine_acquire(&e, why, sizeof why) < 0);
	/* A descriptor never opened is not closed. */
	assert_int_equal(descriptors_of(getpid()), before);
	unsetenv("VERBENA_BIN");
	assert_true(why[0] != 0);
	assert_null(strchr(why, '\n'));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(acquire__twice_is_one_engine, setup, teardown),
	    cmocka_unit_test_setup_teardown(acquire__without_broker_says_why, setup, teardown),
	    cmocka_unit_test_setup_teardown(rc__send_write_read_between_processes, setup, teardown),
	    cmocka_unit_test_setup_teardown(doorbell__many_small_writes, setup, teardown),
	    cmocka_unit_test_setup_teardown(doorbell__what_is_left_is_sent_by_the_progress_thread,
					    setup, teardown),
	    cmocka_unit_test_setup_teardown(expect_sleep__completions_wake_the_sleeper, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(peer_death__is_a_completion, setup, teardown),
	    cmocka_unit_test_setup_teardown(broker_death__traffic_goes_on, setup, teardown),
	    cmocka_unit_test_setup_teardown(fork__child_has_no_engine_and_parent_goes_on, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(exit__without_release, setup, teardown),
	    cmocka_unit_test_setup_teardown(lock__threads_share_the_engine, setup, teardown),
	};

	if (!netns_enter()) {
		fprintf(stderr, "skipped: no network namespace of our own to be had\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
