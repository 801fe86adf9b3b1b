/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attacks of a user of the shared broker on it and on its other users, by what the shared broker
 * gives him: descriptors, rings, slots, and the order of calls.
 */
#include "carrier_env.h"
#include "udp_forged.h"

#include <fcntl.h>
#include <sys/uio.h>

static int dial_raw(void)
{
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un a;
	socklen_t len = vb_carrier_address(&a);

	MUST(connect(sock, (struct sockaddr *)&a, len) == 0);
	return sock;
}

/* The shared broker ends the connection within @ms, to which an empty message was sent. */
static bool has_ended(int sock, int ms)
{
	struct pollfd p = {.fd = sock, .events = POLLIN};

	return poll(&p, 1, ms) == 1;
}

/* The eventfd of questions is one open file, whose flags its user may change: he rings, and takes
 * the bell back when the shared broker has seen that it rang, and is busy with ends of connections
 * before it reads it. */
static void take_bells_back(void)
{
	struct vb_carried c = attach(1, 0);
	uint64_t one = 1, rung;
	struct iovec iov = {&rung, sizeof rung};

	MUST(common->rc[1] == 0);
	MUST(fcntl(c.ask_fd, F_SETFL, 0) == 0);
	for (int i = 0; i < 100; i++) {
		int sock[4], last;

		for (int k = 0; k < 4; k++)
			sock[k] = dial_raw();
		for (int k = 0; k < 4; k++)
			MUST(send(sock[k], "", 0, MSG_NOSIGNAL) == 0);
		MUST(write(c.ask_fd, &one, sizeof one) == sizeof one);
		MUST(has_ended(sock[2], BROKER_PATIENCE_MS));
		(void)!preadv2(c.ask_fd, &iov, 1, -1, RWF_NOWAIT);
		MUST(has_ended(sock[3], BROKER_PATIENCE_MS));
		/* It goes on. */
		last = dial_raw();
		MUST(send(last, "", 0, MSG_NOSIGNAL) == 0);
		MUST(has_ended(last, BROKER_PATIENCE_MS));
		close(last);
		for (int k = 0; k < 4; k++)
			close(sock[k]);
	}
}

static void bells__that_are_taken_back_stop_nobody(void **state)
{
	(void)state;
	assert_int_equal(user_run(STRANGER, take_bells_back), 0);
}

/* Sends @cnt packets to a QP of slot @slot. */
static void flood(uint32_t slot, uint32_t cnt)
{
	const struct vb_gid loopback = {.b = {[15] = 1}};
	const struct vb_path way = {.sgid = loopback, .dgid = loopback};
	const struct vb_hdr h = {.opcode = VB_TRANSPORT_UC | VB_OP_SEND_ONLY,
				 .pkey = 0xffff,
				 .dqpn = vb_slot_qpn_base(slot) + 7 * vb_slot_qpn_stride(slot)};
	struct forged o;

	forge(&o, &way, 0, 0, 200);
	(void)vb_hdr_emit(&h, o.pkt);
	forge_icrc(&o, &way, 0, 0);
	for (uint32_t i = 0; i < cnt; i++)
		forged_send(&o);
	close(o.fd);
}

/* Slots by their numbers, each of another low byte. */
static void scatter_slots(void)
{
	uint32_t bytes = 0;

	for (uint32_t i = VB_SLOT_WIDE; i <= VB_SLOT_LAST; i += VB_SLOT_SHARE) {
		struct vb_carried c = vb_carried_nothing(VB_CARRIER_SLOT);
		char why[VB_CARRIER_TEXT_MAX];

		c.slot = i;
		bytes += vb_carried_attach(&c, why, sizeof why) == 0;
	}
	common->packets[0] = bytes;
	__atomic_store_n(&common->ready, 1, __ATOMIC_SEQ_CST);
	await(&common->go, 1);
}

static void attach_victim(void)
{
	(void)attach(0, 0);
}

static int many_setup(void **state)
{
	struct vb_carrier_options options = carrier_options();

	(void)state;
	memset(common, 0, sizeof *common);
	options.limits.processes = 256 - VB_SLOT_WIDE;
	carrier_start_with(&options);
	return 0;
}

/* A user has no more low bytes, and sockets, than his processes need and one, whichever slots he
 * names. */
static void slots__that_are_scattered_leave_bytes_for_others(void **state)
{
	pid_t stranger = user_start(STRANGER, scatter_slots);

	(void)state;
	await(&common->ready, 1);
	assert_int_equal(user_run(VICTIM, attach_victim), 0);
	__atomic_store_n(&common->go, 1, __ATOMIC_SEQ_CST);
	assert_int_equal(user_end(stranger), 0);
	assert_int_equal(common->rc[0], 0);
	assert_uint_in_range(common->packets[0], 0, (256 - VB_SLOT_WIDE) / VB_SLOT_SHARE + 1);
}

static void end_soon(void)
{
	struct vb_carried c = attach(0, 0);

	MUST(common->rc[0] == 0);
	vb_carried_detach(&c);
}

static void take_slot(void)
{
	/* The victim's connection may just be ending. */
	for (int i = 0; i < 500; i++) {
		struct vb_carried c = attach(1, common->slot[0]);

		if (common->rc[1] == 0)
			return;
		vb_carried_detach(&c);
		(void)poll(NULL, 0, 1);
	}
}

/* Packets are still under way to a process that has ended: nobody else names its slot and gets
 * them. */
static void slot__of_a_process_that_ended_is_no_other_users(void **state)
{
	(void)state;
	assert_int_equal(user_run(VICTIM, end_soon), 0);
	assert_int_equal(user_run(STRANGER, take_slot), 0);
	assert_int_equal(common->rc[1], -EBUSY);
}

/* The message by which the shared broker wakes this process has a token. With it nobody puts
 * descriptors into a queue of root's, where they would outlive the one who made them. */
static void fill_queue(void)
{
	struct vb_carried c = attach(0, 0);
	struct vb_wakeup *w = &((struct vb_carried_head *)c.mem)->wakeup;
	struct vb_wakeup_msg k;
	int fd = -1, rc = 0, own[2];

	MUST(common->rc[0] == 0 && pipe(own) == 0);
	__atomic_store_n(&w->asleep, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&common->ready, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; i < BROKER_PATIENCE_MS && !vb_wakeup_take(c.wakeup_fd, &k, &fd); i++)
		(void)poll(NULL, 0, 1);
	MUST(__atomic_load_n(&w->asleep, __ATOMIC_SEQ_CST) == 0);
	/* Messages that are dropped fill nothing; nobody may have the name at all. */
	for (int i = 0; i < 1000 && rc == 0; i++)
		rc =
		    vb_wakeup_notify(c.wakeup_fd, k.token, VB_WAKEUP_WAKE, c.slot, c.token, own[0]);
	MUST(rc != -EAGAIN);
}

static void wakeups__tell_nothing(void **state)
{
	pid_t stranger = user_start(STRANGER, fill_queue);

	(void)state;
	await(&common->ready, 1);
	flood(common->slot[0], 1);
	assert_int_equal(user_end(stranger), 0);
}

/* Page faults of the processes that the shared broker has had close connections. */
static unsigned long closing_cost(void)
{
	char path[64], line[1024] = "";
	unsigned long faults = 0;

	(void)snprintf(path, sizeof path, "/proc/%d/stat", (int)carrier);
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	assert_non_null(fgets(line, sizeof line, f));
	(void)fclose(f);
	assert_int_equal(
	    sscanf(strrchr(line, ')'), ") %*c %*d %*d %*d %*d %*d %*u %*u %lu", &faults), 1);
	return faults;
}

/* The cost when @cnt connections end at once. */
static unsigned long end_connections(uint32_t cnt)
{
	unsigned long before = closing_cost();
	int sock[100];

	assert_int_equal(kill(carrier, SIGSTOP), 0);
	for (uint32_t i = 0; i < cnt; i++)
		sock[i] = dial_raw();
	for (uint32_t i = 0; i < cnt; i++)
		close(sock[i]);
	assert_int_equal(kill(carrier, SIGCONT), 0);
	for (int i = 0; i < BROKER_PATIENCE_MS && closing_cost() == before; i++)
		(void)poll(NULL, 0, 1);
	for (unsigned long last = before; last != closing_cost();) {
		last = closing_cost();
		(void)poll(NULL, 0, 300);
	}
	return closing_cost() - before;
}

/* Connections that end cost the shared broker a process for many of them, not one for each. */
static void connections__that_come_and_go(void **state)
{
	unsigned long one = end_connections(1);

	(void)state;
	assert_true(one > 0);
	assert_uint_in_range(end_connections(100), 1, 15 * one);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    carrier_test(bells__that_are_taken_back_stop_nobody),
	    cmocka_unit_test_setup_teardown(slots__that_are_scattered_leave_bytes_for_others,
					    many_setup, carrier_teardown),
	    carrier_test(slot__of_a_process_that_ended_is_no_other_users),
	    carrier_test(connections__that_come_and_go),
	    carrier_test(wakeups__tell_nothing),
	};

	(void)argc;
	if (!carrier_env_enter(argv))
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
