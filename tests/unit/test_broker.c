/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The broker as its clients see it: slots, steering, several clients at once, death of clients and
 * of the broker itself.
 */
#include "broker_env.h"

#include <stdio.h>
#include <sys/stat.h>

static void connect__gives_a_slot(void **state)
{
	static struct vb_host_shm host;
	struct vb_broker_client c = client_connect();

	(void)state;
	assert_uint_in_range(c.slot, VB_SLOT_FIRST, VB_SLOT_LAST);
	assert_int_equal(c.shm->slot, c.slot);
	assert_int_equal(c.shm->pid, getpid());
	assert_int_equal(c.host->taken[c.slot], VB_SLOT_TAKEN);
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

/* A process that loses the race for the address connects to the winner's broker. */
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
		send_delivered(&c[i], nobody[i], 1);
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
	send_delivered(&keep, (uint8_t)slot, 50);
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

/* The slot behind the last one is nobody's, also where all the others are taken: whatever the
 * source port is, no process gets its packets by hash. */
static void group__slot_behind_the_last(void **state)
{
	struct vb_broker_client c[16]; /* more than there were before */
	uint32_t last = 0;

	(void)state;
	for (int i = 0; i < 16; i++) {
		c[i] = client_connect();
		last = c[i].slot > last ? c[i].slot : last;
	}
	send_delivered(&c[0], (uint8_t)(last + 1), 64);
	for (int i = 0; i < 16; i++) {
		assert_int_equal(receive_mark(c[i].rx_fd), -1);
		vb_broker_disconnect(&c[i]);
	}
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

/* Packets that come while nobody has the slot are not for its next owner. */
static void slot__packets_between_two_owners(void **state)
{
	struct vb_broker_client keep = client_connect(), c = client_connect();
	struct vb_broker_observer o;
	uint32_t slot = c.slot;

	(void)state;
	assert_int_equal(vb_broker_observe(&o, true, broker_why, sizeof broker_why), 0);
	assert_int_equal(vb_broker_observe_slots(&o), 0);
	vb_broker_disconnect(&c);
	await_free(&o, slot);
	send_delivered(&keep, (uint8_t)slot, 5);
	c = client_connect();
	assert_int_equal(c.slot, slot);
	assert_int_equal(receive_mark(c.rx_fd), -1);
	vb_broker_disconnect(&c);
	vb_broker_disconnect(&keep);
	vb_broker_observe_end(&o);
}

static void open_endpoints(struct vb_broker_client *c)
{
	c->wakeup[c->slot].token = c->mailbox[c->slot].token = 77;
}

/* Nobody hands in a ring or a message to an owner who is gone. */
static void client_killed__its_endpoints_are_shut(void **state)
{
	struct vb_broker_client c = client_connect();
	struct child ch = child_start(open_endpoints);
	struct vb_broker_observer o;

	(void)state;
	assert_int_equal(child_wait(&ch).rc, 0);
	assert_int_equal(c.wakeup[ch.slot].token, 77);
	assert_int_equal(vb_broker_observe(&o, true, broker_why, sizeof broker_why), 0);
	assert_int_equal(vb_broker_observe_slots(&o), 0);
	child_end(&ch, true);
	await_free(&o, ch.slot);
	assert_int_equal(c.wakeup[ch.slot].token, 0);
	assert_int_equal(c.mailbox[ch.slot].token, 0);
	vb_broker_observe_end(&o);
	vb_broker_disconnect(&c);
}

static uint64_t read_number(const char *path)
{
	FILE *f = fopen(path, "r");
	unsigned long long n = 0;

	assert_non_null(f);
	if (fscanf(f, "%llu", &n) != 1)
		n = 0; /* it is written this moment */
	fclose(f);
	return n;
}

/* The counter files of a device tell what its own processes count. */
static void counters__in_the_files_of_their_device(void **state)
{
	struct vb_broker_client c = client_connect();
	char path[sizeof c.host->sysfs_path + 100];

	(void)state;
	snprintf(path, sizeof path, "%s/class/infiniband/verbena0/ports/1/counters/%s",
		 c.host->sysfs_path, vb_counter_info[VB_COUNTER_port_xmit_packets].name);
	count_packets(&c);
	for (int i = 0; read_number(path) < 1000 && i < BROKER_PATIENCE_MS; i++)
		(void)poll(NULL, 0, 1);
	assert_true(read_number(path) >= 1000);
	vb_broker_disconnect(&c);
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
	assert_int_equal(o.host->taken[ch.slot], VB_SLOT_VACANT);
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

/* An observer comes before the survivors. Once they bring their memory nobody writes the
 * observer's: its connection ends, and its next connection has the right memory. */
static void broker_killed__observer_comes_first(void **state)
{
	struct vb_broker_client c = client_connect();
	pid_t old = (pid_t)c.host->broker_pid;
	struct vb_broker_observer o;

	(void)state;
	broker_kill(&c);
	assert_int_equal(vb_broker_observe(&o, true, broker_why, sizeof broker_why), 0);
	assert_int_not_equal(o.host->broker_pid, old);
	assert_int_equal(o.host->taken[c.slot], VB_SLOT_NEW);
	await_broker(&c, 1, old);
	struct pollfd p = {.fd = o.sock, .events = POLLIN};

	assert_int_equal(poll(&p, 1, BROKER_PATIENCE_MS), 1);
	assert_int_equal(vb_broker_observe_check(&o), -ECONNRESET);
	vb_broker_observe_end(&o);
	assert_int_equal(vb_broker_observe(&o, false, broker_why, sizeof broker_why), 0);
	assert_int_equal(o.host->taken[c.slot], VB_SLOT_TAKEN);
	vb_broker_observe_end(&o);
	vb_broker_disconnect(&c);
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

/* The observer that captures goes: the records of slots without an owner are given back, and
 * nothing else, for an owner may be writing. */
static void capture__ends_beside_a_writer(void **state)
{
	struct vb_broker_client first = client_connect(), gone = client_connect();
	struct vb_broker_observer o;
	const struct vb_slot_shm *left;

	(void)state;
	assert_int_equal(vb_broker_observe(&o, true, broker_why, sizeof broker_why), 0);
	assert_int_equal(vb_broker_capture(&o, true), 0);
	assert_int_equal(vb_broker_observe_slots(&o), 0);
	left = o.slot[gone.slot];
	assert_non_null(left);
	first.shm->capture.data[VB_CAPTURE_RING_BYTES / 2] = 0x5a;
	gone.shm->capture.data[VB_CAPTURE_RING_BYTES / 2] = 0x5a;
	vb_broker_disconnect(&gone);
	for (int i = 0; left->pid && i < BROKER_PATIENCE_MS; i++)
		(void)poll(NULL, 0, 1);
	assert_int_equal(left->capture.data[VB_CAPTURE_RING_BYTES / 2], 0x5a);
	assert_int_equal(vb_broker_capture(&o, false), 0);
	assert_int_equal(first.shm->capture.enabled, 0);
	assert_int_equal(first.shm->capture.data[VB_CAPTURE_RING_BYTES / 2], 0x5a);
	assert_int_equal(left->capture.data[VB_CAPTURE_RING_BYTES / 2], 0);
	vb_broker_observe_end(&o);
	vb_broker_disconnect(&first);
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
	    cmocka_unit_test(slot__packets_between_two_owners),
	    cmocka_unit_test(group__slot_behind_the_last),
	    cmocka_unit_test(client_killed__its_endpoints_are_shut),
	    cmocka_unit_test(counters__in_the_files_of_their_device),
	    cmocka_unit_test(client_killed__slot_and_counters),
	    cmocka_unit_test(client_killed__its_child_lives_on),
	    cmocka_unit_test(broker_killed__steering_and_slots_stay),
	    cmocka_unit_test(broker_killed__new_client_comes_first),
	    cmocka_unit_test(broker_killed__observer_comes_first),
	    cmocka_unit_test(broker_killed__with_a_client),
	    cmocka_unit_test(all_killed__nothing_stays),
	    cmocka_unit_test(broker__ends_after_its_last_client),
	    cmocka_unit_test(capture__is_on_while_somebody_wants_it),
	    cmocka_unit_test(capture__ends_beside_a_writer),
	    cmocka_unit_test(abandon__leaves_the_slot_alone),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace of our own here: tests not run\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
