/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The broker as its clients see it: slots, steering, several clients at once, death of clients and
 * of the broker itself, and what happens when something runs out or is taken.
 */
#include "broker_env.h"
#include "node/broker_msg.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>

static void connect__gives_a_slot(void **state)
{
	static struct vb_host_shm host;
	struct vb_broker_client c = client_connect();

	(void)state;
	assert_in_range(c.slot, VB_SLOT_FIRST, VB_SLOT_LAST);
	assert_int_equal(c.shm->slot, c.slot);
	assert_int_equal(c.shm->pid, getpid());
	vb_host_read(c.host, &host);
	assert_int_equal(host.device_cnt, 1);
	assert_string_equal(host.device[0].ifname, "lo");
	assert_int_equal(host.device[0].active_mtu, VB_MTU_4096);
	/* The program has no child and no signal to expect from it. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	vb_broker_disconnect(&c);
}

static void connect__broker_is_detached(void **state)
{
	struct vb_broker_client c = client_connect();
	pid_t pid = (pid_t)c.host->broker_pid;
	char path[64], target[256];

	(void)state;
	assert_int_equal(getsid(pid), pid);
	for (int fd = 0; fd < 3; fd++) {
		snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
		ssize_t n = readlink(path, target, sizeof target - 1);
		target[n > 0 ? n : 0] = 0;
		assert_string_equal(target, "/dev/null");
	}
	snprintf(path, sizeof path, "/proc/%d/cwd", (int)pid);
	ssize_t n = readlink(path, target, sizeof target - 1);
	target[n > 0 ? n : 0] = 0;
	assert_string_equal(target, "/");
	vb_broker_disconnect(&c);
}

/* Whoever loses the race for the address connects to the winner's broker. */
static void connect__many_at_once(void **state)
{
	struct vb_broker_client c = client_connect();
	struct child ch[12];
	struct child_news news[12];
	pid_t old = (pid_t)c.host->broker_pid;
	bool used[VB_SLOT_CNT] = {false};

	(void)state;
	kill(old, SIGKILL);
	assert_true(process_ends(old));
	vb_broker_disconnect(&c);
	for (int i = 0; i < 12; i++)
		ch[i] = child_start(NULL);
	for (int i = 0; i < 12; i++) {
		news[i] = child_wait(&ch[i]);
		assert_int_equal(news[i].rc, 0);
		assert_int_equal(news[i].broker_pid, news[0].broker_pid);
		assert_false(used[news[i].slot]);
		used[news[i].slot] = true;
	}
	for (int i = 0; i < 12; i++)
		child_end(&ch[i], i % 2);
}

static void group__steers_by_low_byte_of_qpn(void **state)
{
	struct vb_broker_client c[4];

	(void)state;
	for (int i = 0; i < 4; i++)
		c[i] = client_connect();
	assert_steered(c, 4);
	/* Slots of the broker and slots that nobody has: no client sees those packets. */
	static const uint8_t nobody[] = {0, 1, 100, 255};
	for (int i = 0; i < 4; i++) {
		send_to_slot("::1", nobody[i], 9);
		for (int k = 0; k < 4; k++)
			assert_int_equal(receive_mark(c[k].rx_fd), -1);
	}
	for (int i = 0; i < 4; i++)
		vb_broker_disconnect(&c[i]);
}

static void slot__is_empty_for_its_next_owner(void **state)
{
	struct vb_broker_client keep = client_connect(), c = client_connect();
	uint32_t slot = c.slot, next = c.shm->qpn_next;
	int rx = dup(c.rx_fd);

	(void)state;
	for (int i = 0; i < 50; i++)
		send_to_slot("::1", (uint8_t)slot, 7);
	vb_broker_disconnect(&c);
	/* The slot is free once the broker has seen the end: then it is the lowest free one. */
	for (int i = 0; i < 1000; i++) {
		c = client_connect();
		if (c.slot == slot)
			break;
		vb_broker_disconnect(&c);
	}
	assert_int_equal(c.slot, slot);
	assert_int_equal(receive_mark(c.rx_fd), -1);
	assert_int_not_equal(c.shm->qpn_next, next);
	close(rx);
	vb_broker_disconnect(&c);
	vb_broker_disconnect(&keep);
}

static void count_packets(struct vb_broker_client *c)
{
	vb_count_add(&c->shm->counters[1], VB_COUNTER_port_xmit_packets, 1000);
	c->shm->qpn_next += 17;
}

static uint64_t total_packets(struct vb_broker_observer *o)
{
	struct vb_counters total[VB_HCA_PORTS_MAX + 1];

	assert_int_equal(vb_broker_observe_slots(o), 0);
	vb_broker_totals(o, total);
	return total[1].v[VB_COUNTER_port_xmit_packets];
}

static void await_free(struct vb_broker_observer *o, uint32_t slot)
{
	for (int i = 0; o->slot[slot]->pid && i < BROKER_PATIENCE_MS; i++)
		(void)poll(NULL, 0, 1);
	assert_int_equal(o->slot[slot]->pid, 0);
}

static void client_killed__slot_and_counters(void **state)
{
	struct vb_broker_observer o;

	(void)state;
	assert_int_equal(vb_broker_observe(&o, true, broker_why, sizeof broker_why), 0);
	uint64_t before = total_packets(&o);
	struct child ch = child_start(count_packets);
	assert_int_equal(child_wait(&ch).rc, 0);
	assert_int_equal(total_packets(&o), before + 1000);
	uint32_t next = o.slot[ch.slot]->qpn_next;
	child_end(&ch, true);
	await_free(&o, ch.slot);
	assert_int_equal(total_packets(&o), before + 1000);
	assert_int_equal(o.slot[ch.slot]->qpn_next, next);
	struct vb_broker_client c = client_connect();
	assert_int_equal(c.slot, ch.slot);
	assert_int_equal(c.shm->counters[1].v[VB_COUNTER_port_xmit_packets], 0);
	vb_broker_disconnect(&c);
	vb_broker_observe_end(&o);
}

static void fork_and_stay(struct vb_broker_client *c)
{
	(void)c;
	/* The grandchild keeps every descriptor of its parent until the test ends. */
	if (fork() == 0) {
		for (;;)
			pause();
	}
}

/* The end of the process that connected counts, not that of its descriptors. */
static void client_killed__its_child_lives_on(void **state)
{
	struct vb_broker_observer o;

	(void)state;
	assert_int_equal(vb_broker_observe(&o, true, broker_why, sizeof broker_why), 0);
	setpgid(0, 0);
	struct child ch = child_start(fork_and_stay);
	assert_int_equal(child_wait(&ch).rc, 0);
	assert_int_equal(vb_broker_observe_slots(&o), 0);
	child_end(&ch, true);
	await_free(&o, ch.slot);
	vb_broker_observe_end(&o);
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGTERM); /* ends the grandchild: it is in this group */
	signal(SIGTERM, SIG_DFL);
}

/* The group, its order and the memory outlive the broker; the next one takes them over. */
static void broker_killed__steering_and_slots_stay(void **state)
{
	struct vb_broker_client c[4];

	(void)state;
	for (int i = 0; i < 3; i++)
		c[i] = client_connect();
	count_packets(&c[1]);
	for (int round = 0; round < 3; round++) {
		pid_t old = (pid_t)c[0].host->broker_pid;

		broker_kill(&c[0]);
		assert_steered(c, 3); /* without any broker */
		await_broker(c, 3, old);
		assert_steered(c, 3);
		c[3] = client_connect();
		assert_int_equal(c[3].host->broker_pid, c[0].host->broker_pid);
		assert_steered(c, 4);
		vb_broker_disconnect(&c[3]);
	}
	assert_int_equal(c[1].shm->counters[1].v[VB_COUNTER_port_xmit_packets], 1000);
	for (int i = 0; i < 3; i++)
		vb_broker_disconnect(&c[i]);
}

/* A new client comes while the survivors do not know yet: it waits for them. */
static void broker_killed__new_client_comes_first(void **state)
{
	struct child old = child_start(NULL);
	struct child_news news = child_wait(&old);

	(void)state;
	assert_int_equal(news.rc, 0);
	kill((pid_t)news.broker_pid, SIGKILL);
	struct vb_broker_client c = client_connect();
	assert_int_not_equal(c.host->broker_pid, news.broker_pid);
	assert_int_not_equal(c.slot, old.slot);
	assert_steered(&c, 1);
	vb_broker_disconnect(&c);
	child_end(&old, false);
}

static void broker_killed__with_a_client(void **state)
{
	struct vb_broker_client c[2] = {client_connect(), {0}};
	struct child ch = child_start(count_packets);
	struct vb_broker_observer o;

	(void)state;
	assert_int_equal(child_wait(&ch).rc, 0);
	c[1] = client_connect();
	assert_int_equal(vb_broker_observe(&o, true, broker_why, sizeof broker_why), 0);
	uint64_t before = total_packets(&o);
	vb_broker_observe_end(&o);
	pid_t old = (pid_t)c[0].host->broker_pid;
	kill(ch.pid, SIGKILL);
	broker_kill(&c[0]);
	await_broker(c, 2, old);
	child_end(&ch, true);
	assert_steered(c, 2);
	assert_int_equal(vb_broker_observe(&o, true, broker_why, sizeof broker_why), 0);
	assert_int_equal(vb_broker_observe_slots(&o), 0);
	await_free(&o, ch.slot);
	assert_int_equal(total_packets(&o), before);
	vb_broker_observe_end(&o);
	vb_broker_disconnect(&c[0]);
	vb_broker_disconnect(&c[1]);
}

static void all_killed__nothing_stays(void **state)
{
	struct child ch[3];
	struct child_news news;

	(void)state;
	for (int i = 0; i < 3; i++) {
		ch[i] = child_start(NULL);
		news = child_wait(&ch[i]);
		assert_int_equal(news.rc, 0);
	}
	kill((pid_t)news.broker_pid, SIGKILL);
	for (int i = 0; i < 3; i++)
		child_end(&ch[i], true);
	struct vb_broker_client c = client_connect();
	assert_int_equal(c.slot, VB_SLOT_FIRST);
	assert_steered(&c, 1);
	vb_broker_disconnect(&c);
}

static void broker__ends_after_its_last_client(void **state)
{
	struct vb_broker_client c = client_connect();
	pid_t pid = (pid_t)c.host->broker_pid;
	char path[sizeof c.host->sysfs_path];
	struct stat st;

	(void)state;
	memcpy(path, c.host->sysfs_path, sizeof path);
	assert_int_equal(stat(path, &st), 0);
	vb_broker_disconnect(&c);
	assert_true(process_ends(pid));
	assert_int_equal(stat(path, &st), -1);
}

static void connect__all_slots_taken(void **state)
{
	static struct vb_broker_client c[VB_SLOT_CNT];
	struct vb_broker_client one;
	struct rlimit lim;
	int cnt = 0, rc = 0;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &lim), 0);
	struct rlimit all = {lim.rlim_max, lim.rlim_max};
	if (lim.rlim_max < 4096)
		skip();
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
	while (cnt < VB_SLOT_CNT &&
	       (rc = vb_broker_connect(&c[cnt], broker_why, sizeof broker_why)) == 0)
		cnt++;
	assert_int_equal(rc, -ENOSPC);
	assert_int_equal(cnt, VB_SLOT_LAST - VB_SLOT_FIRST + 1);
	assert_non_null(strstr(broker_why, "slots"));
	assert_steered(&c[cnt - 3], 3);
	/* A full adapter outlives its broker too. */
	pid_t old = (pid_t)c[0].host->broker_pid;
	broker_kill(&c[0]);
	await_broker(c, cnt, old);
	assert_steered(&c[cnt - 3], 3);
	vb_broker_disconnect(&c[7]);
	for (int i = 0; (rc = vb_broker_connect(&one, broker_why, sizeof broker_why)) && i < 1000;
	     i++)
		assert_int_equal(rc, -ENOSPC);
	assert_int_equal(one.slot, VB_SLOT_FIRST + 7);
	vb_broker_disconnect(&one);
	for (int i = 0; i < cnt; i++)
		vb_broker_disconnect(&c[i]);
	setrlimit(RLIMIT_NOFILE, &lim);
}

static int highest_fd(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

/* With any number of descriptors left it works or says EMFILE, and leaks none. */
static void connect__descriptors_run_out(void **state)
{
	struct vb_broker_client keep = client_connect(), c;
	struct rlimit lim, low;
	bool worked = false;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &lim), 0);
	int first = highest_fd();
	for (int more = 0; more < 12; more++) {
		low = lim;
		low.rlim_cur = (rlim_t)(first + more);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
		int rc = vb_broker_connect(&c, broker_why, sizeof broker_why);
		setrlimit(RLIMIT_NOFILE, &lim);
		if (rc == 0) {
			worked = true;
			vb_broker_disconnect(&c);
		} else {
			assert_int_equal(rc, -EMFILE);
			assert_non_null(strstr(broker_why, "ulimit"));
			assert_false(worked);
		}
		assert_int_equal(highest_fd(), first);
	}
	assert_true(worked);
	vb_broker_disconnect(&keep);
}

static void connect__no_broker_program(void **state)
{
	struct vb_broker_client c;
	struct vb_broker_observer o;

	(void)state;
	/* The broker of the test before may still be there. */
	if (vb_broker_observe(&o, false, broker_why, sizeof broker_why) == 0) {
		pid_t pid = (pid_t)o.host->broker_pid;

		vb_broker_observe_end(&o);
		kill(pid, SIGTERM);
		assert_true(process_ends(pid));
	}
	setenv("VERBENA_BIN", "/nonexistent/verbena", 1);
	assert_int_equal(vb_broker_connect(&c, broker_why, sizeof broker_why), -ENOENT);
	assert_non_null(strstr(broker_why, "VERBENA_BIN"));
	setenv("VERBENA_BIN", "/bin/true", 1);
	int rc = vb_broker_connect(&c, broker_why, sizeof broker_why);
	assert_int_equal(rc, -ETIMEDOUT);
	unsetenv("VERBENA_BIN");
}

/* A process of the same user that is no client of verbena has the port. */
static void connect__port_taken(void **state)
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons(VB_ROCE_PORT)};
	struct vb_broker_client c;
	char pid[32];
	int fd;

	(void)state;
	/* Wait for the group of the broker before. */
	for (int i = 0;; i++) {
		fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (bind(fd, (struct sockaddr *)&a, sizeof a) == 0)
			break;
		close(fd);
		assert_true(i < BROKER_PATIENCE_MS / 10);
		(void)poll(NULL, 0, 10);
	}
	assert_int_equal(vb_broker_connect(&c, broker_why, sizeof broker_why), -EADDRINUSE);
	snprintf(pid, sizeof pid, "process %d ", (int)getpid());
	assert_non_null(strstr(broker_why, pid));
	close(fd);
	/* And as soon as it is free it works, with the same broker. */
	c = client_connect();
	vb_broker_disconnect(&c);
}

static int raw_connect(void)
{
	struct sockaddr_un a;
	socklen_t len = vb_broker_address(&a, geteuid());
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&a, len), 0);
	return fd;
}

static void broker__survives_garbage(void **state)
{
	struct vb_broker_client c = client_connect();
	struct vb_broker_msg m;
	struct vb_fds fds;

	(void)state;
	for (uint32_t op = 0; op < 12; op++)
		for (int len = 0; len < 3; len++) {
			int fd = raw_connect();

			vb_broker_msg_init(&m, (enum vb_broker_op)op);
			m.slot = c.slot;
			m.version += len == 2;
			assert_true(send(fd, &m, len ? sizeof m : 5, MSG_NOSIGNAL) > 0);
			if (len == 2) {
				assert_true(recv(fd, &m, sizeof m, 0) > 0);
				assert_int_equal(m.status, -EPROTO);
				assert_non_null(strstr(m.text, "version"));
			}
			close(fd);
		}
	/* A chest that is none: the slot of the owner stays its own. */
	int fd = raw_connect(), pipes[2];
	assert_int_equal(pipe(pipes), 0);
	vb_broker_msg_init(&m, VB_BROKER_REATTACH);
	m.slot = c.slot;
	fds = (struct vb_fds){.cnt = 2, .fd = {pipes[0], pipes[1]}};
	assert_int_equal(vb_fds_send(fd, &m, sizeof m, &fds), 0);
	vb_fds_close(&fds);
	assert_int_equal(vb_broker_msg_recv(fd, &m, &fds, 0), 1);
	assert_int_equal(m.status, -ESTALE);
	close(fd);
	assert_int_equal(vb_broker_check(&c), 0);
	assert_steered(&c, 1);
	vb_broker_disconnect(&c);
}

static void broker__refuses_another_user(void **state)
{
	struct vb_broker_client c = client_connect();
	int status;

	(void)state;
	pid_t pid = fork();
	if (pid == 0) {
		int fd = -1;
		struct vb_broker_msg m;
		struct sockaddr_un a;
		socklen_t len = vb_broker_address(&a, geteuid());

		if (setuid(65534))
			_exit(77);
		fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
		if (connect(fd, (struct sockaddr *)&a, len))
			_exit(1);
		_exit(recv(fd, &m, sizeof m, 0) > 0 && m.status == -EACCES ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	vb_broker_disconnect(&c);
	if (WEXITSTATUS(status) == 77)
		skip(); /* only one user here */
	assert_int_equal(status, 0);
}

static void capture__is_on_while_somebody_wants_it(void **state)
{
	struct vb_broker_client c = client_connect(), late;
	struct vb_broker_observer o;

	(void)state;
	assert_int_equal(vb_broker_observe(&o, true, broker_why, sizeof broker_why), 0);
	assert_int_equal(vb_broker_capture(&o, true), 0);
	assert_int_equal(c.shm->capture.enabled, 1);
	late = client_connect();
	assert_int_equal(late.shm->capture.enabled, 1);
	vb_broker_observe_end(&o);
	for (int i = 0; late.shm->capture.enabled && i < BROKER_PATIENCE_MS; i++)
		(void)poll(NULL, 0, 1);
	assert_int_equal(late.shm->capture.enabled, 0);
	assert_int_equal(c.shm->capture.enabled, 0);
	vb_broker_disconnect(&late);
	vb_broker_disconnect(&c);
}

static void abandon__leaves_the_slot_alone(void **state)
{
	struct vb_broker_client c = client_connect();
	int status;

	(void)state;
	pid_t pid = fork();
	if (pid == 0) {
		vb_broker_abandon(&c);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(vb_broker_check(&c), 0);
	assert_int_equal(c.shm->pid, getpid());
	assert_steered(&c, 1);
	vb_broker_disconnect(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(connect__gives_a_slot),
	    cmocka_unit_test(connect__broker_is_detached),
	    cmocka_unit_test(connect__many_at_once),
	    cmocka_unit_test(group__steers_by_low_byte_of_qpn),
	    cmocka_unit_test(slot__is_empty_for_its_next_owner),
	    cmocka_unit_test(client_killed__slot_and_counters),
	    cmocka_unit_test(client_killed__its_child_lives_on),
	    cmocka_unit_test(broker_killed__steering_and_slots_stay),
	    cmocka_unit_test(broker_killed__new_client_comes_first),
	    cmocka_unit_test(broker_killed__with_a_client),
	    cmocka_unit_test(all_killed__nothing_stays),
	    cmocka_unit_test(broker__ends_after_its_last_client),
	    cmocka_unit_test(connect__all_slots_taken),
	    cmocka_unit_test(connect__descriptors_run_out),
	    cmocka_unit_test(connect__no_broker_program),
	    cmocka_unit_test(connect__port_taken),
	    cmocka_unit_test(broker__survives_garbage),
	    cmocka_unit_test(broker__refuses_another_user),
	    cmocka_unit_test(capture__is_on_while_somebody_wants_it),
	    cmocka_unit_test(abandon__leaves_the_slot_alone),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace of our own here: tests not run\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
