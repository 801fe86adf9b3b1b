/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The progress thread while it does nothing but wait: for whom it wakes, and what kind of thread it
 * is. The machine is taken for a very slow one where that has waits end by a wakeup or not at all.
 * With a real broker, in a network namespace of its own.
 */
#include "engine_peer.h"
#include "node/bell/bell.h"
#include "node/engine/priv.h"
#include "verbs_env.h"

#include <dirent.h>
#include <linux/ipv6.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/socket.h>

#define PATIENCE_MS 30000
#define VERY_SLOW 1000000u

static struct vb_engine *acquire(void)
{
	struct vb_engine *e;
	char why[256];

	assert_int_equal(vb_engine_acquire(&e, why, sizeof why), 0);
	return e;
}

/* The thread of this process that is called @name. */
static int thread_named(const char *name)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *t;
	char path[300], comm[32];
	int tid = 0;

	assert_non_null(d);
	while (!tid && (t = readdir(d))) {
		snprintf(path, sizeof path, "/proc/self/task/%s/comm", t->d_name);
		FILE *f = fopen(path, "re");

		if (f && fgets(comm, sizeof comm, f) && strcmp(strtok(comm, "\n"), name) == 0)
			tid = atoi(t->d_name);
		if (f)
			fclose(f);
	}
	closedir(d);
	return tid;
}

/* The signals that a thread has blocked. proc_pid_status(5) */
static uint64_t blocked_by(int tid)
{
	char path[64], line[256];
	uint64_t set = 0;

	snprintf(path, sizeof path, "/proc/self/task/%d/status", tid);
	FILE *f = fopen(path, "re");

	assert_non_null(f);
	while (fgets(line, sizeof line, f))
		if (strncmp(line, "SigBlk:", 7) == 0)
			set = strtoull(line + 7, NULL, 16);
	fclose(f);
	return set;
}

/* How late its short waits may end, in nanoseconds. proc_pid_timerslack_ns(5) */
static long slack_of(int tid)
{
	char path[64];
	long ns = -1;

	snprintf(path, sizeof path, "/proc/%d/timerslack_ns", tid);
	FILE *f = fopen(path, "re");

	if (f && fscanf(f, "%ld", &ns) != 1)
		ns = -1;
	if (f)
		fclose(f);
	return ns;
}

/* The engine's threads have names, take no signals of the program's but faults of memory, and come
 * in time; the program's own thread is as before. */
static void threads__leave_signals_to_the_program(void **state)
{
	static const char *const names[] = {"verbena", "verbena-bell"};
	struct vb_bell bell = {.page = NULL};
	sigset_t before, after;
	struct vb_engine *e;

	(void)state;
	assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &before), 0);
	e = acquire();
	vb_engine_lock(e);
	assert_int_equal(vb_bell_open(e, &bell), 0);
	vb_engine_unlock(e);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &after), 0);
	assert_memory_equal(&before, &after, 8);
	for (int i = 0; i < 2; i++) {
		int tid = thread_named(names[i]);
		uint64_t blocked;

		assert_true(tid > 0 && tid != getpid());
		for (int ms = 0; slack_of(tid) != 1000 && slack_of(tid) != -1; ms++) {
			assert_uint_in_range(ms, 0, PATIENCE_MS); /* it has only begun */
			usleep(1000);
		}
		blocked = blocked_by(tid);
		for (int sig = 1; sig < 32; sig++) {
			bool is_fault = sig == SIGSEGV || sig == SIGBUS;

			if (sig != SIGKILL && sig != SIGSTOP)
				assert_int_equal(!!(blocked & VB_SIGNAL_BIT(sig)), !is_fault);
		}
	}
	vb_engine_lock(e);
	vb_bell_close(e, &bell);
	vb_engine_unlock(e);
	vb_engine_release(e);
	assert_int_equal(thread_named("verbena"), 0);
	assert_int_equal(thread_named("verbena-bell"), 0);
}

static bool is_readable(int fd)
{
	struct pollfd p = {fd, POLLIN, 0};

	return poll(&p, 1, 0) == 1;
}

/* Mail that nobody has counted is taken all the same: the descriptor tells of it. */
static void mail__is_heard_by_its_descriptor(void **state)
{
	const struct vb_xrcd_name name = {1, 77};
	struct vb_engine *e = acquire();
	char hello[] = "hello";
	struct vb_xrcd *x;
	uint64_t other;
	int from = vb_wakeup_open(&other);

	(void)state;
	vb_engine_lock(e);
	assert_int_equal(vb_xrcd_create(e->hca, &x), 0);
	vb_engine_share_xrcd(e, x, &name);
	vb_engine_unlock(e);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(vb_wakeup_send(from, e->mail.token, &(struct iovec){hello, 5}, 1),
				 0);
		for (int ms = 0; is_readable(e->mail.fd); ms++) {
			assert_uint_in_range(ms, 0, PATIENCE_MS);
			usleep(1000);
		}
	}
	vb_engine_lock(e);
	assert_int_equal(vb_xrcd_destroy(x), 0);
	vb_engine_unlock(e);
	vb_engine_release(e);
	close(from);
}

/* A packet to the slot of this process, of no QP. */
static void send_packet(struct vb_engine *e)
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6,
				 .sin6_port = htons(VB_ROCE_PORT),
				 .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	uint8_t pkt[24] = {0x04, 0, 0xff, 0xff, 0, 0, 0x12, (uint8_t)vb_engine_slot(e)->slot};
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_int_equal(sendto(fd, pkt, sizeof pkt, 0, (struct sockaddr *)&a, sizeof a),
			 sizeof pkt);
	close(fd);
}

/* Takes the lock and has the thread nap for it, as long as that takes where the machine is @slow.
 * It may have been on its way for another reason, and wait in line. */
static void lock_from(struct vb_engine *e, uint32_t slow)
{
	for (int ms = 0;; ms++) {
		assert_uint_in_range(ms, 0, PATIENCE_MS);
		vb_engine_lock(e);
		e->wait.slow = slow;
		send_packet(e);
		while (!(atomic_load(&e->lock.state) & VB_LOCK_SLEEPERS)) {
			if (atomic_load(&e->progress_thread.napping))
				return;
			usleep(100);
		}
		e->wait.slow = 1;
		vb_engine_unlock(e);
		usleep(1000);
	}
}

static void await_empty(int fd)
{
	for (int ms = 0; is_readable(fd); ms++) {
		assert_uint_in_range(ms, 0, PATIENCE_MS);
		usleep(1000);
	}
}

/* For a packet it does not wait in line at once: who has the lock most likely takes it. But it does
 * after some naps. */
static void packet__naps_before_it_waits_in_line(void **state)
{
	struct vb_engine *e = acquire();

	(void)state;
	lock_from(e, 1000); /* naps of 50 to 400 ms */
	for (int ms = 0; !(atomic_load(&e->lock.state) & VB_LOCK_SLEEPERS); ms++) {
		assert_uint_in_range(ms, 0, PATIENCE_MS);
		usleep(1000);
	}
	assert_false(atomic_load(&e->progress_thread.napping));
	e->wait.slow = 1;
	vb_engine_unlock(e);
	await_empty(vb_link_fd(e->link));
	vb_engine_release(e);
}

/* A nap for the lock ends when the program is about to sleep. */
static void packet__nap_ends_by_a_kick(void **state)
{
	struct vb_engine *e = acquire();

	(void)state;
	lock_from(e, VERY_SLOW); /* a nap of 50 s */
	e->wait.slow = 1;
	vb_engine_expect_sleep(e);
	vb_engine_unlock(e);
	await_empty(vb_link_fd(e->link));
	vb_engine_release(e);
}

/* A new address of a device is the engine's soon after, though its program does nothing. */
static void devices__are_followed(void **state)
{
	const uint8_t own[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = 9};
	struct in6_ifreq r = {.ifr6_prefixlen = 128, .ifr6_ifindex = 1};
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct vb_engine *e = acquire();
	struct vb_gid gid;
	bool has = false;

	(void)state;
	memcpy(gid.b, own, sizeof own);
	memcpy(&r.ifr6_addr, own, sizeof own);
	assert_int_equal(ioctl(fd, SIOCSIFADDR, &r), 0);
	for (int ms = 0; !has; ms++) {
		assert_uint_in_range(ms, 0, PATIENCE_MS);
		usleep(1000);
		vb_engine_lock(e);
		has = vb_addr_find(&e->addr, &gid, 1) != 0;
		vb_engine_unlock(e);
	}
	vb_engine_release(e);
	assert_int_equal(ioctl(fd, SIOCDIFADDR, &r), 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    VERBS_BROKER_TEST(threads__leave_signals_to_the_program),
	    VERBS_BROKER_TEST(mail__is_heard_by_its_descriptor),
	    VERBS_BROKER_TEST(packet__naps_before_it_waits_in_line),
	    VERBS_BROKER_TEST(packet__nap_ends_by_a_kick),
	    VERBS_BROKER_TEST(devices__are_followed),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
