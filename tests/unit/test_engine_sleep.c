/* SPDX-License-Identifier: BSD-2-Clause */
/* A thread that sleeps for an event, and the progress thread beside it: who is woken by what. There
 * is no progress thread here; where it matters the test waits as it does. */
#include "core_env.h"
#include "node/engine/priv.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

static struct env env;
static struct vb_engine engine;
static struct vb_host_memory memory;
static struct vb_slot_shm slot;
static _Atomic uint32_t events;
static uint32_t packets_left; /* that link_recv has without end, at most */
static bool packet_is_event;
static int link_wakes;

static uint32_t link_recv(struct vb_link *l, struct vb_rx *rx, uint32_t cnt, vb_time now)
{
	static const struct vb_path path = {.port = 1};
	uint64_t n = 0;

	(void)l, (void)cnt, (void)now;
	if (read(link_wakes, &n, sizeof n) < 0) {
		if (packets_left == 0)
			return 0;
		packets_left--;
	} else if (packet_is_event) {
		atomic_fetch_add(&events, 1);
	}
	rx[0] = (struct vb_rx){.path = &path};
	return 1;
}

static int link_fd(const struct vb_link *l)
{
	(void)l;
	return link_wakes;
}

static int setup(void **state)
{
	static const struct vb_link_ops ops = {.name = "test", .recv = link_recv, .fd = link_fd};
	static struct vb_link link;

	(void)state;
	env_config(&env);
	env_open(&env, 16);
	memset(&engine, 0, sizeof engine);
	link = (struct vb_link){.ops = &ops, .due = VB_NEVER};
	link_wakes = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_true(link_wakes >= 0);
	engine.hca = env.hca;
	engine.link = &link;
	engine.broker.host = &memory.host;
	engine.broker.flow = memory.flow;
	vb_wait_init(&engine.wait, 1, false);
	engine.adopts = true;
	engine.mail.fd = -1;
	engine.broker.shm = &slot;
	engine.progress_thread.kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	engine.wait.wake_at = VB_NEVER;
	engine.ran_at = vb_clock_now();
	packets_left = 0;
	packet_is_event = true;
	assert_int_equal(vb_sleeper_open(&engine), 0);
	assert_int_equal(vb_sleeper_watch_link(&engine, &engine.progress_thread.epoll_fd), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	vb_sleeper_close(&engine);
	close(engine.progress_thread.epoll_fd);
	close(engine.progress_thread.kick_fd);
	env_close(&env);
	close(link_wakes);
	return 0;
}

static void send_packet(void)
{
	assert_int_equal(write(link_wakes, &(uint64_t){1}, sizeof(uint64_t)), sizeof(uint64_t));
}

/* Waits for a packet as the progress thread does. */
static bool thread_hears(int timeout_ms)
{
	struct pollfd p = {engine.progress_thread.epoll_fd, POLLIN, 0};

	return poll(&p, 1, timeout_ms) == 1;
}

static void *sleep_once(void *rc)
{
	*(int *)rc = vb_engine_sleep(&engine, &events, atomic_load(&events), VB_NEVER);
	return NULL;
}

static pthread_t start_sleeper_by(void *(*sleep_by)(void *rc), int *rc)
{
	pthread_t t;
	bool parked = false;

	*rc = -1;
	assert_int_equal(pthread_create(&t, NULL, sleep_by, rc), 0);
	while (!parked) {
		usleep(1000);
		vb_engine_lock(&engine);
		parked = engine.wait.sleeper == VB_SLEEPER_PARKED;
		vb_engine_unlock(&engine);
	}
	usleep(20000); /* it is in the kernel by then, nearly always; if not, it has less to do */
	return t;
}

static pthread_t start_sleeper(int *rc)
{
	return start_sleeper_by(sleep_once, rc);
}

static void handle_signal(int sig)
{
	(void)sig;
}

static void *sleep_with_one_blocked(void *rc)
{
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	assert_int_equal(pthread_sigmask(SIG_BLOCK, &one, NULL), 0);
	return sleep_once(rc);
}

/* Of two signals the thread has blocked one, whose handler would end the sleep; that of the other
 * does not. */
static void sleep__blocked_signals_do_not_end(void **state)
{
	struct sigaction ends = {.sa_handler = handle_signal};
	struct sigaction goes_on = {.sa_handler = handle_signal, .sa_flags = SA_RESTART}, old[2];
	pthread_t t;
	int rc;

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &ends, &old[0]), 0);
	assert_int_equal(sigaction(SIGUSR2, &goes_on, &old[1]), 0);
	t = start_sleeper_by(sleep_with_one_blocked, &rc);
	assert_int_equal(pthread_kill(t, SIGUSR1), 0);
	assert_int_equal(pthread_kill(t, SIGUSR2), 0);
	usleep(50000);
	vb_engine_lock(&engine);
	assert_int_equal(engine.wait.sleeper, VB_SLEEPER_PARKED);
	vb_engine_unlock(&engine);
	send_packet();
	pthread_join(t, NULL);
	assert_int_equal(rc, 0);
	sigaction(SIGUSR1, &old[0], NULL);
	sigaction(SIGUSR2, &old[1], NULL);
}

/* A sleeper that ends hides its signals again: the next sleeper may have blocked others, which must
 * not wake anybody. signalfd(2) */
static void sleep__hides_signals_when_it_ends(void **state)
{
	struct sigaction ends = {.sa_handler = handle_signal};
	struct sigaction goes_on = {.sa_handler = handle_signal, .sa_flags = SA_RESTART}, old[2];
	struct pollfd p = {engine.sleeper.signal_fd, POLLIN, 0};
	sigset_t two, was;
	int rc;

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &ends, &old[0]), 0);
	assert_int_equal(sigaction(SIGUSR2, &goes_on, &old[1]), 0);
	pthread_t t = start_sleeper(&rc);

	send_packet();
	pthread_join(t, NULL);
	assert_int_equal(rc, 0);
	sigemptyset(&two);
	sigaddset(&two, SIGUSR2);
	assert_int_equal(pthread_sigmask(SIG_BLOCK, &two, &was), 0);
	assert_int_equal(pthread_kill(pthread_self(), SIGUSR2), 0);
	assert_int_equal(poll(&p, 1, 0), 0);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, &was, NULL), 0);
	sigaction(SIGUSR1, &old[0], NULL);
	sigaction(SIGUSR2, &old[1], NULL);
}

static void *send_one(void *arg)
{
	usleep(10000);
	send_packet();
	return arg;
}

/* The sleeper takes the packet itself, and nobody else is woken for it. */
static void sleep__takes_its_packet_alone(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++) {
		int rc;
		pthread_t t = start_sleeper(&rc);

		/* This thread waits, like the other, when the packet comes. */
		pthread_t sender;

		assert_int_equal(pthread_create(&sender, NULL, send_one, NULL), 0);
		assert_false(thread_hears(50));
		pthread_join(sender, NULL);
		pthread_join(t, NULL);
		assert_int_equal(rc, 0);
	}
}

/* While nobody sleeps the progress thread is told of packets, with nothing said to it. */
static void sleep__leaves_packets_to_the_thread(void **state)
{
	int rc;
	pthread_t t = start_sleeper(&rc);

	(void)state;
	send_packet();
	pthread_join(t, NULL);
	assert_int_equal(rc, 0);
	/* The thread does not wait at the wakeup endpoint: nothing was looked for on its behalf. */
	assert_false(engine.rx_more);
	assert_false(thread_hears(0));
	send_packet();
	assert_true(thread_hears(1000));
}

static bool is_parked, has_hidden;

static void link_park(struct vb_link *l, bool on)
{
	(void)l;
	is_parked = on;
}

static bool link_has_packets(const struct vb_link *l)
{
	bool has = has_hidden;

	(void)l;
	has_hidden = false;
	return has;
}

/* A link tells of packets only while parked. A sleeper that goes parks it for the progress thread,
 * if that waits for descriptors, and takes packets that came before. */
static void sleep__leaves_the_link_parked_for_the_thread(void **state)
{
	static const struct vb_link_ops ops = {.name = "silent",
					       .recv = link_recv,
					       .fd = link_fd,
					       .park = link_park,
					       .has_packets = link_has_packets};

	(void)state;
	engine.link->ops = &ops;
	vb_engine_lock(&engine);
	for (int i = 0; i < 4; i++) {
		bool waits = i & 1;

		engine.progress_thread.wakeup = waits ? VB_WAKEUP_DESCRIPTORS : VB_WAKEUP_NONE;
		is_parked = false;
		assert_true(vb_sleeper_take(&engine, NULL, 0));
		has_hidden = i & 2;
		vb_sleeper_give(&engine);
		assert_int_equal(is_parked, waits);
		assert_int_equal(has_hidden, (i & 2) && !waits);
	}
	vb_engine_unlock(&engine);
}

/* A packet that is not its event does not end the sleep. */
static void sleep__goes_on_until_the_event(void **state)
{
	int rc;
	pthread_t t;

	(void)state;
	packet_is_event = false;
	t = start_sleeper(&rc);
	send_packet();
	usleep(50000);
	vb_engine_lock(&engine);
	assert_int_equal(engine.wait.sleeper, VB_SLEEPER_PARKED);
	packet_is_event = true;
	vb_engine_unlock(&engine);
	send_packet();
	pthread_join(t, NULL);
	assert_int_equal(rc, 0);
}

/* A thread that takes the sleeper's packet, as one that polls may, tells it of the event. */
static void sleep__hears_of_an_event_that_others_found(void **state)
{
	int rc;
	pthread_t t = start_sleeper(&rc);

	(void)state;
	vb_engine_lock(&engine);
	vb_sleeper_wake(&engine); /* of another's event it hears nothing */
	assert_int_equal(engine.wait.sleeper, VB_SLEEPER_PARKED);
	atomic_fetch_add(&events, 1);
	vb_engine_progress(&engine);
	vb_engine_unlock(&engine);
	pthread_join(t, NULL);
	assert_int_equal(rc, 0);
}

static void sleep__one_thread_at_a_time(void **state)
{
	int rc;
	pthread_t t = start_sleeper(&rc);

	(void)state;
	assert_int_equal(vb_engine_sleep(&engine, &events, atomic_load(&events), VB_NEVER), EBUSY);
	assert_true(engine.wait.handover);
	send_packet();
	pthread_join(t, NULL);
	assert_int_equal(rc, 0);
	assert_int_equal(vb_engine_sleep(&engine, &events, atomic_load(&events) - 1, VB_NEVER), 0);
}

/* Where packets come without end, the program has its event all the same, and what is left is the
 * progress thread's: no descriptor tells of it. */
static void sleep__what_it_leaves_is_told(void **state)
{
	int rc;
	pthread_t t = start_sleeper(&rc);

	(void)state;
	packets_left = UINT32_MAX;
	send_packet();
	pthread_join(t, NULL);
	assert_int_equal(rc, 0);
	assert_true(engine.wait.kicked);
	assert_int_equal(vb_engine_work(&engine).other, 0);
}

/* Nobody goes to sleep on a link that holds packets of which its descriptor does not tell. */
static void park__not_while_the_link_holds_packets(void **state)
{
	(void)state;
	vb_engine_lock(&engine);
	assert_true(vb_sleeper_take(&engine, NULL, 0));
	engine.rx_more = true;
	assert_int_equal(vb_sleeper_park(&engine, 0, NULL), VB_SLEEP_LINK);
	engine.rx_more = false;
	assert_int_equal(vb_sleeper_park(&engine, 0, NULL), 0);
	vb_engine_unlock(&engine);
}

/* Work that is due ends the sleep, so that no other thread has to see to it; a time that the
 * program gave comes first where it is earlier. */
static void park__until_something_is_due(void **state)
{
	vb_time now = vb_clock_now();

	(void)state;
	vb_engine_lock(&engine);
	assert_true(vb_sleeper_take(&engine, NULL, 0));
	engine.link->due = now + VB_MSEC;
	assert_int_equal(vb_sleeper_park(&engine, VB_NEVER, NULL), VB_SLEEP_TIMER);
	assert_true(vb_clock_now() >= now + VB_MSEC);
	assert_int_equal(vb_sleeper_park(&engine, now + VB_USEC, NULL), 0);
	vb_engine_unlock(&engine);
}

/* Descriptors that became ready at once are told at once, in any order; a wakeup is heard once. */
static void park__woken_by_two_at_once(void **state)
{
	const uint64_t one = 1;

	(void)state;
	assert_true(vb_sleeper_take(&engine, NULL, 0));
	for (int i = 0; i < 2; i++) {
		if (i)
			send_packet();
		assert_int_equal(write(engine.sleeper.wake_fd, &one, sizeof one), sizeof one);
		if (!i)
			send_packet();
		vb_engine_lock(&engine);
		assert_int_equal(vb_sleeper_park(&engine, 0, NULL), VB_SLEEP_WAKE | VB_SLEEP_LINK);
		assert_int_equal(vb_sleeper_park(&engine, 0, NULL), VB_SLEEP_LINK);
		vb_sleeper_drain(&engine);
		assert_int_equal(vb_sleeper_park(&engine, 0, NULL), 0);
		vb_engine_unlock(&engine);
	}
}

/* Handlers that are installed later are noticed: now and then a sleep looks anew. */
static void sleep__looks_for_handlers_again(void **state)
{
	struct sigaction ends = {.sa_handler = handle_signal};
	struct sigaction goes_on = {.sa_handler = handle_signal, .sa_flags = SA_RESTART}, old[2];
	uint32_t seen = atomic_load(&events);

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_int_equal(vb_engine_sleep(&engine, &events, seen, vb_clock_now()),
				 ETIMEDOUT);
	engine.sleeper.is_mixed = false; /* a sanitizer may have installed handlers */
	assert_int_equal(sigaction(SIGUSR1, &ends, &old[0]), 0);
	assert_int_equal(sigaction(SIGUSR2, &goes_on, &old[1]), 0);
	for (int i = 0; i < 2000 && !engine.sleeper.is_mixed; i++)
		assert_int_equal(vb_engine_sleep(&engine, &events, seen, vb_clock_now()),
				 ETIMEDOUT);
	assert_true(engine.sleeper.is_mixed);
	sigaction(SIGUSR1, &old[0], NULL);
	sigaction(SIGUSR2, &old[1], NULL);
}

/* A progress thread that could not be started is not waited for, and leaves no descriptor. */
static void stop__of_a_thread_that_never_was(void **state)
{
	struct vb_progress_thread *s = &engine.progress_thread;

	(void)state;
	assert_false(s->started);
	vb_progress_thread_stop(&engine);
	assert_false(s->stop);
	assert_int_equal(fcntl(s->kick_fd, F_GETFD), -1);
	assert_int_equal(fcntl(s->epoll_fd, F_GETFD), -1);
	s->kick_fd = s->epoll_fd = -1;
}

/* A program that arms a CQ, or comes by to poll now and then, does not make up for the thread: only
 * one that polls steadily does. */
static void expect_sleep__the_thread_does_not_park(void **state)
{
	(void)state;
	engine.wait.slow = 10000000; /* no time is long */
	engine.wait.progress_at = vb_clock_now();
	for (int i = 0; i < 100; i++)
		vb_engine_progress(&engine);
	packet_is_event = false;
	for (int i = 0; i < 10; i++) {
		send_packet();
		vb_engine_progress(&engine);
	}
	assert_int_equal(engine.wait.outrun, VB_WAIT_OUTRUN_MAX);
	vb_engine_expect_sleep(&engine);
	engine.wait.outrun = 0;
	for (int i = 0; i < 10; i++) {
		send_packet();
		vb_engine_progress(&engine);
	}
	assert_int_equal(engine.wait.outrun, 0);
	/* And what polled steadily no longer does after pauses. */
	for (int i = 0; i < 100; i++)
		vb_engine_progress(&engine);
	engine.wait.slow = 1;
	for (int i = 0; i < 4; i++) {
		engine.wait.progress_at = vb_clock_now() - VB_MSEC;
		send_packet();
		vb_engine_progress(&engine);
	}
	assert_uint_in_range(engine.wait.outrun, 0, 2);
}

/* Arming sends what was posted, and receives nothing: an acknowledgement that waits for a reply
 * goes on waiting for it, because the reply is often what comes next. */
static void expect_sleep__leaves_the_answer_to_the_reply(void **state)
{
	(void)state;
	engine.wait.held = VB_HELD_ANSWER;
	vb_engine_expect_sleep(&engine);
	assert_int_equal(engine.wait.held, VB_HELD_ANSWER);
	vb_engine_send_rest(&engine); /* a thread that sleeps, in contrast, has no more to say */
	assert_int_equal(engine.wait.held, VB_HELD_NOTHING);
}

/* A thread that sleeps, or finds another one asleep, has no more to say: what waits for company
 * leaves before. */
static void sleep__sends_what_waits(void **state)
{
	(void)state;
	vb_engine_lock(&engine);
	engine.wait.held = VB_HELD_ANSWER;
	assert_true(vb_sleeper_take(&engine, &events, 0));
	assert_int_equal(engine.wait.held, VB_HELD_NOTHING);
	vb_engine_unlock(&engine);
	engine.wait.held = VB_HELD_ANSWER;
	assert_int_equal(vb_engine_sleep(&engine, &events, 0, VB_NEVER), EBUSY);
	assert_int_equal(engine.wait.held, VB_HELD_NOTHING);
	vb_engine_lock(&engine);
	vb_sleeper_give(&engine);
	vb_engine_unlock(&engine);
}

int main(void)
{
#define SLEEP_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
	    SLEEP_TEST(sleep__takes_its_packet_alone),
	    SLEEP_TEST(sleep__leaves_packets_to_the_thread),
	    SLEEP_TEST(sleep__goes_on_until_the_event),
	    SLEEP_TEST(sleep__hears_of_an_event_that_others_found),
	    SLEEP_TEST(sleep__one_thread_at_a_time),
	    SLEEP_TEST(sleep__what_it_leaves_is_told),
	    SLEEP_TEST(sleep__blocked_signals_do_not_end),
	    SLEEP_TEST(sleep__hides_signals_when_it_ends),
	    SLEEP_TEST(sleep__looks_for_handlers_again),
	    SLEEP_TEST(sleep__leaves_the_link_parked_for_the_thread),
	    SLEEP_TEST(park__not_while_the_link_holds_packets),
	    SLEEP_TEST(park__until_something_is_due),
	    SLEEP_TEST(park__woken_by_two_at_once),
	    SLEEP_TEST(stop__of_a_thread_that_never_was),
	    SLEEP_TEST(expect_sleep__the_thread_does_not_park),
	    SLEEP_TEST(expect_sleep__leaves_the_answer_to_the_reply),
	    SLEEP_TEST(sleep__sends_what_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
