/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The progress thread of an engine whose program does nothing: it hears the broker, and gives back
 * what processes that are gone have left. With a real broker, in a network namespace of its own.
 */
#include "deny.h"
#include "descriptors.h"
#include "engine_peer.h"
#include "node/engine/priv.h"
#include "verbs_env.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/* The progress thread hears the broker at once: here nothing else would make it look. */
static void progress_thread__hears_the_broker(void **state)
{
	struct vb_broker_observer o;
	struct vb_engine *e;
	char why[256];
	uint32_t asked = 0, answered = 0;

	(void)state;
	assert_int_equal(vb_engine_acquire(&e, why, sizeof why), 0);
	vb_engine_lock(e);
	e->progress_thread.check_at = VB_NEVER;
	if (vb_wait_kick(&e->wait))
		vb_progress_thread_kick(e);
	vb_engine_unlock(e);
	assert_int_equal(vb_broker_observe(&o, false, why, sizeof why), 0);
	assert_int_equal(vb_broker_ask_views(&o, 0, &asked), 0);
	for (int i = 0; i < 2000 && answered != asked; i++) {
		usleep(10000);
		answered = __atomic_load_n(&vb_engine_slot(e)->explain.answered, __ATOMIC_ACQUIRE);
	}
	assert_int_equal(answered, asked);
	vb_broker_observe_end(&o);
	vb_engine_release(e);
}

/* The slice of the progress thread; 0: the kernel has none of its own for threads. */
static uint64_t slice_of_thread(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		uint32_t nice, priority;
		uint64_t runtime, deadline, period;
	} a = {.runtime = 0};
	DIR *d = opendir("/proc/self/task");
	struct dirent *t;
	char path[300], comm[32];
	bool is_it = false;

	assert_non_null(d);
	while (!is_it && (t = readdir(d))) {
		snprintf(path, sizeof path, "/proc/self/task/%s/comm", t->d_name);
		FILE *f = fopen(path, "re");

		is_it = f && fgets(comm, sizeof comm, f) && strcmp(comm, "verbena\n") == 0;
		if (f)
			fclose(f);
	}
	assert_true(is_it);
	assert_int_equal(syscall(SYS_sched_getattr, atoi(t->d_name), &a, sizeof a, 0), 0);
	closedir(d);
	return a.runtime;
}

/* A program that computes makes way for the thread at once, and not when a slice of its own has
 * passed. */
static void progress_thread__has_a_short_slice(void **state)
{
	struct vb_engine *e;
	char why[256];
	uint64_t slice;

	(void)state;
	assert_int_equal(vb_engine_acquire(&e, why, sizeof why), 0);
	for (int i = 0; (slice = slice_of_thread()) > 100 * VB_USEC; i++) {
		assert_uint_in_range(i, 0, 2000); /* it has only begun */
		usleep(10000);
	}
	assert_true(slice == 0 || slice == 100 * VB_USEC);
	vb_engine_release(e);
}

/* The socket that the broker gives is the link's from then on, which closes it: a descriptor that
 * two close may be somebody else's by then. */
static void acquire__the_socket_is_the_links(void **state)
{
	struct vb_engine *e;
	char why[256];

	(void)state;
	assert_int_equal(vb_engine_acquire(&e, why, sizeof why), 0);
	assert_int_equal(e->broker.rx_fd, -1);
	vb_engine_release(e);
}

/* A process that receives one message, and ends when it is told to; *sock leads to it. */
static pid_t other_start(int *sock)
{
	int pair[2];
	struct peer p;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);

	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pair[0]);
		peer_open(&p, pair[1]);
		peer_post_recv(&p, 0, 4096);
		peer_connect(&p);
		peer_meet(&p);
		NEED(peer_poll(&p).status == VB_WC_SUCCESS);
		peer_meet(&p);
		peer_wait(&p);
		_exit(0);
	}
	close(pair[1]);
	*sock = pair[0];
	return pid;
}

/* How many rings of shared memory this process has mapped. proc_pid_maps(5) */
static unsigned rings_mapped(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];
	unsigned cnt = 0;

	assert_non_null(f);
	while (fgets(line, sizeof line, f))
		cnt += strstr(line, "/memfd:verbena-ring") != NULL;
	fclose(f);
	return cnt;
}

/* Rings to and from a process that is gone are given back, though nothing more is sent. */
static void progress_thread__gives_back_rings_of_the_dead(void **state)
{
	struct peer p;
	int sock;
	unsigned before;

	(void)state;
	setenv("VERBENA_LINK", "shm", 1);

	pid_t pid = other_start(&sock);

	peer_open(&p, sock);
	unsetenv("VERBENA_LINK");
	before = rings_mapped();
	peer_connect(&p);
	peer_meet(&p);
	peer_post(&p, VB_WR_SEND, 0, 3000, 0, VB_SEND_SIGNALED);
	assert_int_equal(peer_poll(&p).status, VB_WC_SUCCESS);
	peer_meet(&p);
	peer_tell(&p);
	assert_uint_in_range(rings_mapped(), before + 1, before + 8); /* one each way, or more */
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	for (int i = 0; i < 2000 && rings_mapped() != before; i++)
		usleep(10000);
	assert_int_equal(rings_mapped(), before);
	peer_close(&p);
	close(sock);
}

#define WRITES 3

/* A process that computes while others write into its memory: for longer than its thread naps, and
 * nothing but packets makes the thread look. */
static pid_t idle_start(int *sock)
{
	int pair[2];
	struct peer p;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);

	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pair[0]);
		peer_open(&p, pair[1]);
		peer_connect(&p);
		for (int i = 0; i < WRITES; i++) {
			usleep(50000); /* the thread sleeps, and reads nothing */
			vb_engine_lock(p.e);
			p.e->progress_thread.check_at = VB_NEVER;
			if (vb_wait_kick(&p.e->wait))
				vb_progress_thread_kick(p.e);
			vb_engine_unlock(p.e);
			usleep(100000);
			peer_meet(&p);
		}
		peer_wait(&p);
		_exit(0);
	}
	close(pair[1]);
	*sock = pair[0];
	return pid;
}

/* A progress thread that sleeps until something comes is woken by packets that come by shared
 * memory: nothing is sent again here. */
static void progress_thread__hears_packets_by_shared_memory(void **state)
{
	struct peer p;
	struct vb_wc wc;
	int sock;

	(void)state;
	setenv("VERBENA_LINK", "shm", 1);

	pid_t pid = idle_start(&sock);

	peer_open(&p, sock);
	unsetenv("VERBENA_LINK");
	p.timeout = 0;
	peer_connect(&p);
	for (int i = 0; i < WRITES; i++) {
		vb_time until = vb_clock_now() + 20 * VB_SEC;

		peer_meet(&p);
		peer_post(&p, VB_WR_RDMA_WRITE, 0, 64, 0, VB_SEND_SIGNALED);
		while (!peer_try(&p, &wc))
			assert_true(vb_clock_now() < until);
		assert_int_equal(wc.status, VB_WC_SUCCESS);
	}
	peer_tell(&p);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	peer_close(&p);
	close(sock);
}

/* Denies new threads, whichever call the C library makes. clone(2) */
static bool deny_threads(void)
{
	return deny_call(SYS_clone3, 1, UINT32_MAX, ENOSYS) &&
	       deny_call(SYS_clone, 0, CLONE_THREAD, EAGAIN);
}

/* Denies memory for a stack. */
static bool deny_stacks(void)
{
	return deny_call(SYS_mmap, 3, MAP_STACK, ENOMEM);
}

/* Acquires an engine in a child, after @deny. Exit status 0: @word is in the explanation; 77:
 * nothing can be denied here. */
static int acquire_denied(bool (*deny)(void), const char *word)
{
	pid_t pid = fork();
	struct vb_engine *e;
	char why[256] = "";
	unsigned before;

	if (pid)
		return child_status(pid);
	before = descriptors_of(getpid());
	if (!deny())
		_exit(77);
	if (vb_engine_acquire(&e, why, sizeof why) != -ENOMEM)
		_exit(1);
	if (!strstr(why, "cannot set up the progress thread") || !strstr(why, word))
		_exit(2);
	_exit(descriptors_of(getpid()) == before ? 0 : 3);
}

/* Without a progress thread, the program hears what is short: threads, or memory for a stack.
 * pthread_create(3) does not tell them apart. */
static void progress_thread__is_not_to_be_had(void **state)
{
	int threads = acquire_denied(deny_threads, "too many threads");
	int stacks = acquire_denied(deny_stacks, "memory");

	(void)state;
	if (threads == 77 || stacks == 77)
		skip(); /* a kernel that lets no process deny itself system calls */
	assert_int_equal(threads, 0);
	assert_int_equal(stacks, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    /* First: the C library keeps stacks of threads that have ended. */
	    VERBS_BROKER_TEST(progress_thread__is_not_to_be_had),
	    VERBS_BROKER_TEST(progress_thread__hears_the_broker),
	    VERBS_BROKER_TEST(progress_thread__has_a_short_slice),
	    VERBS_BROKER_TEST(acquire__the_socket_is_the_links),
	    VERBS_BROKER_TEST(progress_thread__gives_back_rings_of_the_dead),
	    VERBS_BROKER_TEST(progress_thread__hears_packets_by_shared_memory),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
