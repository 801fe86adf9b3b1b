/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The broker at work: what wakes it and what does not, whom it waits for and how long, and that it
 * keeps nothing of those who come and go. node/broker/broker.c
 */
#include "broker_env.h"
#include "descriptors.h"
#include "node/shared/adapter.h"
#include "reg/file.h"

#include <linux/ipv6.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

static double seconds_now(void)
{
	struct timespec t;

	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &t), 0);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Processor time that process @pid has had, in ticks of 10 ms. proc_pid_stat(5) */
static unsigned long ticks_of(pid_t pid)
{
	unsigned long user = 0, kernel = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	assert_non_null(f);
	assert_int_equal(fscanf(f,
				"%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
				&user, &kernel),
			 2);
	fclose(f);
	return user + kernel;
}

/* A second in which the broker has nothing to do takes a fraction of it. */
static void assert_sleeps(pid_t pid)
{
	unsigned long before = ticks_of(pid);

	(void)poll(NULL, 0, 1000);
	assert_true(ticks_of(pid) - before < 30);
}

static struct vb_broker_observer observe(void)
{
	struct vb_broker_observer o;

	if (vb_broker_observe(&o, true, broker_why, sizeof broker_why))
		fail_msg("%s", broker_why);
	return o;
}

static void await_slot(struct vb_broker_observer *o, uint32_t slot, pid_t pid)
{
	for (int ms = 0; (pid_t)o->slot[slot]->pid != pid; ms++) {
		assert_true(ms < BROKER_PATIENCE_MS);
		(void)poll(NULL, 0, 1);
	}
}

/* Gives "lo" the address 2001:db8::@last, or takes it away. */
static void change_address(uint8_t last, bool add)
{
	struct in6_ifreq r = {.ifr6_prefixlen = 128, .ifr6_ifindex = (int)if_nametoindex("lo")};
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_int_equal(inet_pton(AF_INET6, "2001:db8::", &r.ifr6_addr), 1);
	r.ifr6_addr.s6_addr[15] = last;
	assert_int_equal(ioctl(fd, add ? SIOCSIFADDR : SIOCDIFADDR, &r), 0);
	close(fd);
}

/* The broker hears of an address by itself, with nobody there but who looks; and it does not look
 * again and again. */
static void addresses__are_heard_of(void **state)
{
	struct vb_broker_observer o = observe();

	(void)state;
	for (int add = 1; add >= 0; add--) {
		uint32_t was = __atomic_load_n(&o.host->generation, __ATOMIC_ACQUIRE);

		change_address(3, add);
		for (int ms = 0; __atomic_load_n(&o.host->generation, __ATOMIC_ACQUIRE) == was;
		     ms++) {
			assert_true(ms < BROKER_PATIENCE_MS);
			(void)poll(NULL, 0, 1);
		}
	}
	assert_sleeps((pid_t)o.host->broker_pid);
	vb_broker_observe_end(&o);
}

/* Packets that no socket of the group holds on to: those to QP0 and to slots that nobody has. */
static bool port_is_drained(void)
{
	char line[512];
	FILE *f = fopen("/proc/self/net/udp6", "re");
	bool all = true;

	assert_non_null(f);
	while (fgets(line, sizeof line, f)) {
		unsigned port, tx, rx;

		if (sscanf(line, "%*d: %*[0-9A-F]:%x %*[0-9A-F]:%*x %*x %x:%x", &port, &tx, &rx) ==
		    3)
			all &= port != VB_ROCE_PORT || rx == 0;
	}
	fclose(f);
	return all;
}

/* A packet that nobody wants is thrown away, and costs no time after that. */
static void sink__is_drained(void **state)
{
	struct vb_broker_client c = client_connect();

	(void)state;
	for (int i = 0; i < 3; i++)
		send_delivered(&c, 0, 1);
	send_delivered(&c, 200, 1);
	for (int ms = 0; !port_is_drained(); ms++) {
		assert_true(ms < BROKER_PATIENCE_MS);
		(void)poll(NULL, 0, 1);
	}
	assert_sleeps((pid_t)c.host->broker_pid);
	vb_broker_disconnect(&c);
}

/* A broker is there for the program that comes soon after the last one. Only a machine that is too
 * slow for that has another one each time. */
static void linger__between_two_programs(void **state)
{
	bool same = false;

	(void)state;
	for (int i = 0; !same && i < 10; i++) {
		struct vb_broker_observer o;
		struct vb_broker_client c = client_connect();
		pid_t pid = (pid_t)c.host->broker_pid;
		uint32_t slot = c.slot;

		o = observe();
		assert_int_equal(vb_broker_observe_slots(&o), 0);
		vb_broker_disconnect(&c);
		await_slot(&o, slot, 0);
		vb_broker_observe_end(&o);
		(void)poll(NULL, 0, 100);
		c = client_connect();
		same = (pid_t)c.host->broker_pid == pid;
		vb_broker_disconnect(&c);
	}
	assert_true(same);
}

/* The number of the memory with the device table, as process @pid has it open; 0: it has none. */
static ino_t host_memory_of(pid_t pid)
{
	struct stat st;
	ino_t found = 0;

	for (int fd = 3; !found && fd < 64; fd++) {
		char path[64], target[256];
		ssize_t n;

		snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
		n = readlink(path, target, sizeof target - 1);
		target[n > 0 ? n : 0] = 0;
		if (strstr(target, "memfd:verbena-host") && stat(path, &st) == 0)
			found = st.st_ino;
	}
	return found;
}

/* Trouble that is to be told when the process has gone. */
static void tell_of_trouble(struct vb_broker_client *c)
{
	struct vb_qp_history *t = vb_qp_histories_new(&c->shm->explain.histories, c->slot);

	t->qpn = c->slot;
	t->state = VB_QP_HISTORY_FAILED;
	t->at = 1;
}

/* A broker that has only histories to tell has given up the adapter, once, with its registers and
 * counters, and sleeps; an observer finds the devices, the tree, and the histories. */
static void rest__is_as_from_the_factory(void **state)
{
	struct vb_broker_reg r = {.method = VB_BROKER_REG_RESET,
				  .id = vb_reg_roce_accl.id,
				  .len = vb_reg_roce_accl.len,
				  .device = "lo"};
	struct vb_broker_client c = client_connect();
	struct vb_broker_observer o = observe();
	pid_t pid = (pid_t)c.host->broker_pid;
	char tree[sizeof c.host->sysfs_path];
	ino_t before, rests;
	uint32_t slot = c.slot;
	int ms;

	(void)state;
	snprintf(tree, sizeof tree, "%s", c.host->sysfs_path);
	assert_int_equal(vb_broker_access(&o, &r, broker_why, sizeof broker_why), 0);
	assert_int_equal(vb_adapter_state(vb_broker_adapter(&o))->pf[0].recovery_epoch, 2);
	vb_broker_observe_end(&o);
	tell_of_trouble(&c);
	vb_count_add(&c.shm->counters[1], VB_COUNTER_port_xmit_packets, 7);
	before = host_memory_of(pid);
	assert_true(before != 0);
	vb_broker_disconnect(&c);
	for (ms = 0; (rests = host_memory_of(pid)) == before || rests == 0; ms++) {
		assert_true(ms < BROKER_PATIENCE_MS);
		(void)poll(NULL, 0, 1);
	}
	assert_sleeps(pid);
	/* It has not done so again. */
	assert_true(host_memory_of(pid) == rests);
	o = observe();
	assert_int_equal(o.host->broker_pid, pid);
	assert_int_equal(o.host->is_open, 0);
	assert_int_equal(o.host->device_cnt, 1);
	assert_string_equal(o.host->sysfs_path, tree);
	assert_int_equal(access(tree, F_OK), 0);
	assert_int_equal(vb_adapter_state(vb_broker_adapter(&o))->pf[0].recovery_epoch, 1);
	assert_true(o.host->past[1].v[VB_COUNTER_port_xmit_packets] == 0);
	assert_int_equal(vb_broker_past(&o)->history[0].slot, slot);
	assert_int_equal(vb_broker_past(&o)->history[0].pid, getpid());
	assert_false(vb_broker_is_used(&o));
	vb_broker_observe_end(&o);
}

/* The violations and counters of each device are told, a virtual function's too. */
static void counters__of_the_second_device(void **state)
{
	struct vb_broker_client c = client_connect();
	struct vb_broker_observer o = observe();
	char path[sizeof c.host->sysfs_path + 100], text[32] = "";
	const struct vb_port_violations *v = &c.host->violations[2];

	(void)state;
	assert_int_equal(vb_broker_stay(&o, true, 1), 0);
	assert_string_equal(c.host->device[1].name, "verbena0v1");
	snprintf(path, sizeof path, "%s/class/infiniband/verbena0v1/ports/1/counters/%s",
		 c.host->sysfs_path, vb_counter_info[VB_COUNTER_port_xmit_packets].name);
	vb_count_add(&c.shm->counters[2], VB_COUNTER_port_rcv_constraint_errors, 5);
	vb_count_add(&c.shm->counters[2], VB_COUNTER_qkey_viol_cntr, 6);
	vb_count_add(&c.shm->counters[2], VB_COUNTER_port_xmit_packets, 4711);
	for (int ms = 0; strcmp(text, "4711\n") != 0; ms++) {
		FILE *f = fopen(path, "re");

		assert_true(ms < BROKER_PATIENCE_MS);
		if (f && !fgets(text, sizeof text, f))
			text[0] = 0;
		if (f)
			fclose(f);
		(void)poll(NULL, 0, 1);
	}
	assert_true(__atomic_load_n(&v->bad_pkey, __ATOMIC_RELAXED) == 5);
	assert_true(__atomic_load_n(&v->bad_qkey, __ATOMIC_RELAXED) == 6);
	assert_true(c.host->violations[1].bad_pkey == 0);
	assert_true(vb_broker_is_used(&o));
	vb_broker_disconnect(&c);
	assert_true(vb_broker_is_used(&o)); /* it stays */
	assert_int_equal(vb_broker_stay(&o, false, 0), 0);
	vb_broker_observe_end(&o);
}

/* A connection is its process's: when that says goodbye a copy in a child does not keep the slot.
 */
static void disconnect__with_a_child(void **state)
{
	struct vb_broker_client c = client_connect();
	struct vb_broker_observer o = observe();
	uint32_t slot = c.slot;
	pid_t child;

	(void)state;
	assert_int_equal(vb_broker_observe_slots(&o), 0);
	assert_true(vb_broker_is_used(&o));
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		for (;;)
			(void)pause();
	vb_broker_disconnect(&c);
	await_slot(&o, slot, 0);
	/* QP1's slot is the broker's, and no program's. */
	assert_int_equal(o.slot[VB_SLOT_GSI]->pid, o.host->broker_pid);
	assert_false(vb_broker_is_used(&o));
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	vb_broker_observe_end(&o);
}

/* One of each that may come, and goes again. */
static void come_and_go(struct vb_broker_observer *o)
{
	struct vb_broker_client c = client_connect();
	struct vb_broker_observer other = observe();
	uint32_t slot = c.slot;
	int held = vb_broker_hold(broker_why, sizeof broker_why);

	assert_true(held >= 0);
	assert_int_equal(vb_broker_observe_slots(o), 0);
	assert_int_equal(vb_broker_observe_slots(&other), 0);
	assert_int_equal(vb_broker_capture(&other, true), 0);
	vb_broker_observe_end(&other);
	close(held);
	vb_broker_disconnect(&c);
	await_slot(o, slot, 0);
}

/* After all that came and went, the broker and this process have as many descriptors as before. */
static void descriptors__of_those_who_went(void **state)
{
	struct vb_broker_observer o = observe();
	pid_t pid = (pid_t)o.host->broker_pid;
	unsigned mine, its;

	(void)state;
	come_and_go(&o);
	/* A message after this is handled after all that has gone. */
	assert_int_equal(vb_broker_observe_slots(&o), 0);
	mine = descriptors_of(getpid());
	its = descriptors_of(pid);
	for (int i = 0; i < 10; i++)
		come_and_go(&o);
	assert_int_equal(vb_broker_observe_slots(&o), 0);
	assert_int_equal(descriptors_of(getpid()), mine);
	for (int ms = 0; descriptors_of(pid) > its + 3; ms++) {
		assert_true(ms < BROKER_PATIENCE_MS);
		(void)poll(NULL, 0, 1);
	}
	vb_broker_observe_end(&o);
}

/* An owner who died together with his broker, and is known to nobody any more, leaves his slot. */
static void broker_killed__with_a_client_that_is_forgotten(void **state)
{
	struct vb_broker_client c = client_connect();
	struct child ch = child_start(NULL);
	struct vb_broker_observer o;
	pid_t old = (pid_t)c.host->broker_pid;

	(void)state;
	assert_int_equal(child_wait(&ch).rc, 0);
	assert_int_equal(kill(ch.pid, SIGSTOP), 0);
	broker_kill(&c);
	child_end(&ch, true);
	await_broker(&c, 1, old);
	o = observe();
	assert_int_equal(vb_broker_observe_slots(&o), 0);
	await_slot(&o, ch.slot, 0);
	assert_int_equal(o.host->taken[ch.slot], VB_SLOT_VACANT);
	vb_broker_observe_end(&o);
	vb_broker_disconnect(&c);
}

/* A program of the last broker has the port and does not come: a new program waits for it, for a
 * while, and then is told who it is. */
static void broker_killed__survivors_do_not_come(void **state)
{
	struct child ch = child_start(NULL);
	struct child_news news = child_wait(&ch);
	struct vb_broker_client c;
	double begin;
	char text[32];
	int rc;

	(void)state;
	assert_int_equal(news.rc, 0);
	assert_int_equal(kill(ch.pid, SIGSTOP), 0);
	assert_int_equal(kill((pid_t)news.broker_pid, SIGKILL), 0);
	assert_true(process_ends((pid_t)news.broker_pid));
	begin = seconds_now();
	rc = vb_broker_connect(&c, broker_why, sizeof broker_why);
	assert_int_equal(rc, -EADDRINUSE);
	assert_true(seconds_now() - begin > 2.5);
	snprintf(text, sizeof text, "process %d ", (int)ch.pid);
	assert_non_null(strstr(broker_why, text));
	assert_int_equal(kill(ch.pid, SIGCONT), 0);
	child_end(&ch, false);
}

/* A broker counts the programs that have come back to it as its own: it does not take the adapter
 * along that they have. */
static void broker_killed__its_programs_still_count(void **state)
{
	struct vb_broker_client c = client_connect();
	struct vb_broker_observer o = observe();
	pid_t old = (pid_t)c.host->broker_pid, next;

	(void)state;
	assert_int_equal(vb_broker_stay(&o, true, 0), 0);
	vb_broker_observe_end(&o);
	broker_kill(&c);
	await_broker(&c, 1, old);
	next = (pid_t)c.host->broker_pid;
	/* The answer comes when it has been heard of. */
	o = observe();
	assert_int_equal(vb_broker_observe_slots(&o), 0);
	vb_broker_observe_end(&o);
	assert_int_equal(kill(next, SIGTERM), 0);
	assert_true(process_ends(next));
	await_broker(&c, 1, next);
	o = observe();
	assert_int_equal(vb_adapter_state(vb_broker_adapter(&o))->is_kept, 1);
	assert_int_equal(vb_broker_stay(&o, false, 0), 0);
	vb_broker_observe_end(&o);
	vb_broker_disconnect(&c);
}

static int returned;

static void on_return(void)
{
	returned++;
}

/* A program that cannot come back to a broker tries again after a second, not each time that it
 * looks. When it comes back that is told, once. */
static void check__not_too_often(void **state)
{
	struct vb_broker_client c = client_connect();
	pid_t old = (pid_t)c.host->broker_pid;
	uint64_t first;

	(void)state;
	returned = 0;
	vb_broker_on_return(on_return);
	assert_int_equal(vb_broker_check(&c), 0);
	setenv("VERBENA_BIN", "/nonexistent/verbena", 1);
	broker_kill(&c);
	first = (uint64_t)(seconds_now() * 1e9);
	assert_int_equal(vb_broker_check(&c), -ENOENT);
	assert_int_equal(c.sock, -1);
	assert_true(c.retry_ns >= first + 999000000);
	assert_true(c.retry_ns <= (uint64_t)(seconds_now() * 1e9) + 1001000000);
	/* Before that time nothing is tried. */
	c.retry_ns = (uint64_t)(seconds_now() * 1e9) + 3600000000000;
	unsetenv("VERBENA_BIN");
	assert_int_equal(vb_broker_check(&c), -ENOTCONN);
	assert_int_equal(returned, 0);
	c.retry_ns = 0;
	await_broker(&c, 1, old);
	assert_int_equal(returned, 1);
	assert_int_equal(vb_broker_check(&c), 0);
	assert_int_equal(returned, 1);
	vb_broker_on_return(NULL);
	vb_broker_disconnect(&c);
}

/* Each test begins without a broker. */
static int end_broker(void **state)
{
	struct vb_broker_observer o;

	(void)state;
	if (vb_broker_observe(&o, false, broker_why, sizeof broker_why))
		return 0;

	pid_t pid = (pid_t)o.host->broker_pid;

	kill(pid, SIGTERM);
	vb_broker_observe_end(&o);
	return process_ends(pid) ? 0 : -1;
}

#define T(f) cmocka_unit_test_setup_teardown(f, end_broker, end_broker)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(addresses__are_heard_of),
	    T(sink__is_drained),
	    T(linger__between_two_programs),
	    T(rest__is_as_from_the_factory),
	    T(counters__of_the_second_device),
	    T(disconnect__with_a_child),
	    T(descriptors__of_those_who_went),
	    T(broker_killed__with_a_client_that_is_forgotten),
	    T(broker_killed__survivors_do_not_come),
	    T(broker_killed__its_programs_still_count),
	    T(check__not_too_often),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace of our own here: tests not run\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
