/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How an engine ends: with its last user, with its process, which sends what is left, and in a
 * forked child, which closes what it inherited. With a real broker, in a network namespace of its
 * own.
 */
#include "descriptors.h"
#include "engine_peer.h"
#include "node/bell/bell.h"
#include "node/engine/priv.h"
#include "node/wait/watch.h"
#include "verbs_env.h"

#include <poll.h>
#include <sys/syscall.h>

#define PATIENCE_MS 60000

static struct vb_engine *acquire(void)
{
	struct vb_engine *e;
	char why[256];

	assert_int_equal(vb_engine_acquire(&e, why, sizeof why), 0);
	return e;
}

/* The status of a child that ends by itself. */
static int status_of(pid_t pid)
{
	struct pollfd p = {(int)syscall(SYS_pidfd_open, pid, 0), POLLIN, 0};
	int status = -1;

	assert_true(p.fd >= 0);
	if (poll(&p, 1, PATIENCE_MS) != 1)
		kill(pid, SIGKILL);
	close(p.fd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* A borrower counts as a user: the engine lives until the last one lets it go. */
static void borrow__counts(void **state)
{
	struct vb_engine *e, *b;

	(void)state;
	assert_null(vb_engine_borrow());
	e = acquire();
	assert_int_equal(e->refs, 1);
	b = vb_engine_borrow();
	assert_ptr_equal(b, e);
	assert_int_equal(e->refs, 2);
	vb_engine_release(e);
	assert_true(vb_engine_is_alive(b));
	assert_ptr_equal(vb_engine_borrow(), b);
	vb_engine_release(b);
	vb_engine_release(b);
	assert_null(vb_engine_borrow());
}

/* Each end of an engine gives back all of its descriptors, whatever it had opened meanwhile. */
static void release__leaves_nothing_open(void **state)
{
	const struct vb_xrcd_name name = {1, 77};
	unsigned before = descriptors_of(getpid());

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct vb_engine *e = acquire();
		struct vb_bell bell = {.page = NULL};
		struct vb_xrcd *x;

		vb_engine_lock(e);
		assert_int_equal(vb_xrcd_create(e->hca, &x), 0);
		vb_engine_share_xrcd(e, x, &name);
		assert_true(e->mail.fd >= 0);
		assert_int_equal(vb_bell_open(e, &bell), 0);
		vb_engine_unlock(e);
		vb_engine_release(e);
		assert_int_equal(descriptors_of(getpid()), before);
	}
}

/* In the child: posts a WRITE and tells nobody of it. */
static void leave_a_write(int sock)
{
	struct peer p;

	peer_open(&p, sock);
	peer_connect(&p);
	/* Nobody else sends it meanwhile. */
	vb_progress_thread_stop(p.e);
	peer_meet(&p);
	p.mem[7] = 'w';

	struct vb_sge sge = {(uintptr_t)p.mem + 7, 1, vb_mr_lkey(p.mr)};
	struct vb_send_wr wr = {.sge = &sge,
				.sge_cnt = 1,
				.opcode = VB_WR_RDMA_WRITE,
				.remote_addr = p.other.addr + 7,
				.rkey = p.other.rkey};

	vb_engine_lock(p.e);
	NEED(vb_qp_post_send(p.qp, &wr, vb_clock_now()) == 0);
	vb_engine_unlock(p.e);
	exit(0);
}

/* A request that waits for company leaves when the program calls exit(). */
static void exit__sends_what_is_left(void **state)
{
	struct peer p;
	int pair[2];
	uint8_t byte = 0;
	pid_t pid;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pair[0]);
		leave_a_write(pair[1]);
	}
	close(pair[1]);
	peer_open(&p, pair[0]);
	peer_connect(&p);
	peer_meet(&p);
	assert_int_equal(status_of(pid), 0);
	for (int ms = 0; ms < PATIENCE_MS / 3 && byte != 'w'; ms++) {
		usleep(1000);
		vb_engine_lock(p.e);
		byte = p.mem[7];
		vb_engine_unlock(p.e);
	}
	assert_int_equal(byte, 'w');
	peer_close(&p);
	close(pair[0]);
}

/* Not at any price: a signal handler that calls exit() may have interrupted who has the lock. */
static void exit__with_the_lock_taken(void **state)
{
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		vb_engine_lock(acquire());
		exit(7);
	}
	assert_int_equal(status_of(pid), 7 << 8);
}

static _Atomic int phase;

static void *hold_lock(void *arg)
{
	struct vb_engine *e = arg;

	vb_engine_lock(e);
	atomic_store(&phase, 1);
	usleep(100000);
	atomic_store(&phase, 2);
	vb_engine_unlock(e);
	return NULL;
}

/* A fork waits until nobody is at work in the engine, and both processes find its lock free. */
static void fork__waits_for_the_lock(void **state)
{
	struct vb_engine *e = acquire();
	pthread_t t;
	pid_t pid;

	(void)state;
	atomic_store(&phase, 0);
	assert_int_equal(pthread_create(&t, NULL, hold_lock, e), 0);
	while (!atomic_load(&phase))
		usleep(100);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (atomic_load(&phase) != 2)
			_exit(1);
		_exit(vb_lock_try(&e->lock) ? 0 : 2);
	}
	assert_int_equal(atomic_load(&phase), 2);
	assert_int_equal(status_of(pid), 0);
	pthread_join(t, NULL);
	vb_engine_lock(e);
	vb_engine_unlock(e);
	vb_engine_release(e);
}

/* The child has nothing of the parent's engine but memory: no descriptor, no engine to borrow, and
 * nobody of it waits. The parent has all of it as before. */
static void fork__child_closes_what_it_inherited(void **state)
{
	const struct vb_xrcd_name name = {1, 77};
	unsigned before = descriptors_of(getpid()), with;
	struct vb_engine *e = acquire();
	struct vb_bell bell = {.page = NULL};
	struct vb_xrcd *x;
	pid_t pid;

	(void)state;
	vb_engine_lock(e);
	assert_int_equal(vb_xrcd_create(e->hca, &x), 0);
	vb_engine_share_xrcd(e, x, &name);
	assert_int_equal(vb_bell_open(e, &bell), 0);
	vb_engine_unlock(e);
	with = descriptors_of(getpid());
	atomic_store(&vb_watch_armed, 3);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (descriptors_of(getpid()) != before)
			_exit(1);
		if (vb_engine_is_alive(e) || vb_engine_borrow())
			_exit(2);
		if (atomic_load(&vb_watch_armed))
			_exit(3);
		vb_engine_release(e); /* nothing happens */
		vb_engine_send_held();
		_exit(0);
	}
	assert_int_equal(status_of(pid), 0);
	atomic_store(&vb_watch_armed, 0);
	assert_int_equal(descriptors_of(getpid()), with);
	assert_true(vb_engine_is_alive(e));
	assert_true(fcntl(e->mail.fd, F_GETFD) >= 0);
	vb_engine_lock(e);
	vb_bell_close(e, &bell);
	assert_int_equal(vb_xrcd_destroy(x), 0);
	vb_engine_unlock(e);
	vb_engine_release(e);
	assert_int_equal(descriptors_of(getpid()), before);
}

/* A process that has no engine may fork, and so may its child. */
static void fork__without_an_engine(void **state)
{
	pid_t pid;

	(void)state;
	vb_engine_release(acquire()); /* from now on forks are looked at */
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		pid_t next = fork();
		int status = 0;

		if (next == 0)
			_exit(vb_engine_borrow() != NULL);
		_exit(waitpid(next, &status, 0) != next || status);
	}
	assert_int_equal(status_of(pid), 0);
	assert_null(vb_engine_borrow());
}

/* Where the engine cannot be made nothing stays open, and the next attempt may succeed. */
static void acquire__fails_and_succeeds(void **state)
{
	static const char *const names[] = {"VERBENA_LINK", "VERBENA_FAULT", "VERBENA_CC"};
	unsigned before = descriptors_of(getpid());
	struct vb_engine *e;
	char why[256];

	(void)state;
	for (int i = 0; i < 3; i++) {
		setenv(names[i], "none", 1);
		assert_int_equal(vb_engine_acquire(&e, why, sizeof why), -EINVAL);
		unsetenv(names[i]);
		assert_ptr_equal(strstr(why, names[i]), why);
		assert_int_equal(descriptors_of(getpid()), before);
		assert_null(vb_engine_borrow());
		vb_engine_release(acquire());
		assert_int_equal(descriptors_of(getpid()), before);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    VERBS_BROKER_TEST(borrow__counts),
	    VERBS_BROKER_TEST(release__leaves_nothing_open),
	    VERBS_BROKER_TEST(exit__sends_what_is_left),
	    VERBS_BROKER_TEST(exit__with_the_lock_taken),
	    VERBS_BROKER_TEST(fork__waits_for_the_lock),
	    VERBS_BROKER_TEST(fork__child_closes_what_it_inherited),
	    VERBS_BROKER_TEST(fork__without_an_engine),
	    VERBS_BROKER_TEST(acquire__fails_and_succeeds),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
