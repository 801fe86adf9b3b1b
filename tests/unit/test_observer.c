/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An observer's view of memory that others write: sums over all slots, whom it waits for, and what
 * it reads while a change is under way or was never finished. node/broker/broker.h
 */
#include "cmocka_env.h"
#include "node/broker/broker.h"
#include "node/client/msg.h"
#include "node/client/ring_reader.h"
#include "node/host/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static struct vb_host_memory memory;
static struct vb_slot_shm *slot[4];
static struct vb_broker_observer o;

/* QP1's slot, the first and the last one of programs, and one between. */
static const uint32_t number[] = {VB_SLOT_GSI, VB_SLOT_FIRST, 77, VB_SLOT_LAST};

static int setup(void **state)
{
	(void)state;
	memset(&memory, 0, sizeof memory);
	memset(&o, 0, sizeof o);
	o.sock = -1;
	o.host = &memory.host;
	for (int i = 0; i < 4; i++) {
		slot[i] = calloc(1, sizeof *slot[i]);
		assert_non_null(slot[i]);
		o.slot[number[i]] = slot[i];
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++)
		free(slot[i]);
	return 0;
}

/* The totals are those of the past and of all slots, QP1's too, for each port and each counter;
 * also where a broker was killed in the middle of a change. */
static void totals__of_all_slots(void **state)
{
	static struct vb_counters total[VB_HCA_PORTS_MAX + 1];

	(void)state;
	for (int port = 1; port <= VB_HCA_PORTS_MAX; port++)
		for (int i = 0; i < VB_COUNTER_CNT; i++) {
			memory.host.past[port].v[i] = UINT64_C(100000) * (unsigned)port;
			for (int k = 0; k < 4; k++)
				slot[k]->counters[port].v[i] = (uint64_t)(unsigned)(port + i) << k;
		}
	for (uint32_t seq = 6; seq <= 7; seq++) {
		memory.host.seq = seq;
		memset(total, 0xff, sizeof total);
		vb_broker_totals(&o, total);
		for (int port = 1; port <= VB_HCA_PORTS_MAX; port++)
			for (int i = 0; i < VB_COUNTER_CNT; i++)
				assert_int_equal(total[port].v[i], 100000 * port + 15 * (port + i));
	}
}

/* Views are waited for until every program has written its own, for a second and a half; those that
 * have ended have none to write, and QP1 has none. */
static void await_views__of_every_program(void **state)
{
	(void)state;
	for (int missing = 1; missing < 4; missing++) {
		vb_time begin = vb_clock_now();

		for (int k = 0; k < 4; k++) {
			slot[k]->pid = (uint32_t)getpid();
			slot[k]->explain.answered = k == missing || k == 0 ? 4 : 5;
		}
		vb_broker_await_views(&o, 5);
		assert_true(vb_clock_now() - begin >= 1400 * VB_MSEC);
	}
}

static bool comes_at_once(void)
{
	/* Where the machine is so busy that it took as long as that, once more. */
	for (int i = 0; i < 5; i++) {
		vb_time begin = vb_clock_now();

		vb_broker_await_views(&o, 5);
		if (vb_clock_now() - begin < 1400 * VB_MSEC)
			return true;
	}
	return false;
}

/* A process that has answered, has ended, or is stopped is not waited for. */
static void await_views__of_nobody_else(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0)
		for (;;)
			(void)pause();
	slot[0]->pid = (uint32_t)getpid(); /* QP1 */
	slot[1]->pid = (uint32_t)getpid();
	slot[1]->explain.answered = 5;
	slot[2]->pid = 0;
	slot[3]->pid = (uint32_t)pid;
	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(comes_at_once());
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

/* A process's report of itself is read whole, or as it is where a kill cut it short. */
static void explain_read__whole_or_as_it_is(void **state)
{
	struct vb_explain_shm *x = &slot[1]->explain;
	struct vb_send_error got;

	(void)state;
	for (uint32_t seq = 6; seq <= 7; seq++) {
		x->seq = seq;
		x->error[3] = (struct vb_send_error){.err = EPERM, .cnt = 40 + seq};
		memset(&got, 0, sizeof got);
		vb_explain_read(x, &x->error[3], &got, sizeof got);
		assert_int_equal(got.err, EPERM);
		assert_int_equal(got.cnt, 40 + seq);
	}
	assert_ptr_equal(vb_broker_past(&o), &memory.past);
	assert_ptr_equal(vb_broker_adapter(&o), &memory.adapter);
}

/* A connection with something to say is not one that has ended. */
static void check__of_a_connection(void **state)
{
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	o.sock = pair[0];
	assert_int_equal(vb_broker_observe_check(&o), 0);
	assert_int_equal(send(pair[1], "x", 1, 0), 1);
	for (int i = 0; i < 2; i++)
		assert_int_equal(vb_broker_observe_check(&o), 0);
	close(pair[1]);
	assert_int_equal(vb_broker_observe_check(&o), 0); /* it is still to be read */
	char byte;

	assert_int_equal(recv(pair[0], &byte, 1, 0), 1);
	assert_int_equal(vb_broker_observe_check(&o), -ECONNRESET);
	close(pair[0]);
}

/* A consistent copy of host memory has the generation that it says; half of a change is taken for
 * what it is. */
static void host_read__says_its_generation(void **state)
{
	static struct vb_host_shm copy;

	(void)state;
	memory.host.generation = 9;
	memory.host.device[VB_DEVICES_MAX - 1].ifindex = 7;
	memory.host.violations[VB_HCA_PORTS_MAX].bad_qkey = 8;
	for (uint32_t seq = 4; seq <= 5; seq++) {
		memory.host.seq = seq;
		memset(&copy, 0, sizeof copy);
		assert_int_equal(vb_host_read(&memory.host, &copy), 9);
		assert_int_equal(copy.device[VB_DEVICES_MAX - 1].ifindex, 7);
		assert_true(copy.violations[VB_HCA_PORTS_MAX].bad_qkey == 8);
	}
}

/* QPs of one slot are forgotten, from the first place to the last, and no others. */
static void forget_qps__of_one_slot(void **state)
{
	uint32_t *index = memory.qp_index;

	(void)state;
	index[0] = 1u << 24 | 0x705;
	index[1] = 1u << 24 | 0x506;
	index[VB_CSR_QPS - 1] = 9u << 24 | 0x105;
	vb_host_forget_qps(&memory, 5);
	assert_int_equal(index[0], 0);
	assert_int_equal(index[1], 1u << 24 | 0x506);
	assert_int_equal(index[VB_CSR_QPS - 1], 0);
	vb_host_forget_qps(&memory, 0); /* a free place is nobody's */
	assert_int_equal(index[1], 1u << 24 | 0x506);
}

static struct vb_rates_shm rates;

/* The oldest sample may be the one that is written now, once the ring is full; not before. */
static void rates__first_of_a_full_ring(void **state)
{
	static const struct {
		uint64_t cnt, first;
	} row[] = {{0, 0},
		   {1, 0},
		   {VB_RATES - 1, 0},
		   {VB_RATES, 1},
		   {VB_RATES + 1, 2},
		   {2 * VB_RATES + 7, VB_RATES + 8}};
	struct vb_qp_sample s;

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		rates.cnt = row[i].cnt;
		assert_true(vb_rates_first(&rates) == row[i].first);
		assert_int_equal(vb_rates_read(&rates, row[i].first, &s), row[i].cnt > 0);
		assert_false(vb_rates_read(&rates, row[i].cnt, &s));
		if (row[i].cnt)
			assert_true(vb_rates_read(&rates, row[i].cnt - 1, &s));
		if (row[i].first)
			assert_false(vb_rates_read(&rates, row[i].first - 1, &s));
	}
}

static struct vb_capture_ring ring;
static struct vb_ring_reader reader;

/* A record of @rec_len bytes with a packet of @len at the beginning of the ring. */
static bool reads_record(uint32_t rec_len, uint32_t len)
{
	struct vb_capture_rec rec = {.rec_len = rec_len, .len = len};

	memset(&ring, 0, sizeof ring);
	memcpy(ring.data, &rec, sizeof rec);
	vb_ring_reader_init(&reader, &ring, true);
	ring.head = 2 * VB_CAPTURE_REC_MAX;
	ring.records = 3;
	if (vb_ring_reader_peek(&reader)) {
		assert_int_equal(reader.lost, 0);
		return true;
	}
	/* It goes on where the writer is, and all there were are lost. */
	assert_int_equal(reader.lost, 3);
	assert_int_equal(reader.records, 3);
	assert_true(reader.tail == ring.head);
	return false;
}

/* A record is read only where its lengths can be: whole words, no shorter than its head and no
 * longer than any, and its packet within it. */
static void ring__lengths_that_can_be(void **state)
{
	const uint32_t head = sizeof(struct vb_capture_rec), most = VB_CAPTURE_REC_MAX;

	(void)state;
	assert_int_equal(head % 8, 0);
	assert_int_equal(most % 8, 0);
	assert_true(reads_record(head, 0));
	assert_true(reads_record(head + 8, 8));
	assert_true(reads_record(most, most - head));
	assert_false(reads_record(head, 1));
	assert_false(reads_record(head + 8, 9));
	assert_false(reads_record(head - 8, 0));
	assert_false(reads_record(0, 0));
	assert_false(reads_record(head + 4, 0));
	assert_false(reads_record(head + 1, 0));
	assert_false(reads_record(most + 8, 0));
}

/* Behind what the writer may be writing at this moment nothing is read; up to there everything is.
 */
static void ring__as_far_as_the_writer_is_not(void **state)
{
	struct vb_capture_rec rec = {.rec_len = sizeof rec};

	(void)state;
	for (uint64_t more = 0; more <= 8; more += 8) {
		memset(&ring, 0, sizeof ring);
		memcpy(ring.data, &rec, sizeof rec);
		vb_ring_reader_init(&reader, &ring, true);
		ring.head = VB_CAPTURE_RING_BYTES - VB_CAPTURE_REC_MAX + more;
		ring.records = 100;
		assert_int_equal(vb_ring_reader_peek(&reader), more == 0);
		assert_int_equal(reader.lost, more ? 100 : 0);
		if (more)
			continue;
		vb_ring_reader_pop(&reader);
		assert_true(reader.tail == sizeof rec);
		assert_int_equal(reader.records, 1);
		/* A record that has been read is not lost when the writer overtakes later. */
		ring.head += 2 * (uint64_t)VB_CAPTURE_RING_BYTES;
		assert_false(vb_ring_reader_peek(&reader));
		assert_int_equal(reader.lost, 99);
	}
}

/* A count of records that goes back is no loss. */
static void ring__of_a_count_that_goes_back(void **state)
{
	(void)state;
	memset(&ring, 0, sizeof ring);
	ring.records = 50;
	vb_ring_reader_init(&reader, &ring, false);
	assert_int_equal(reader.records, 50);
	ring.records = 10;
	ring.head = 2 * (uint64_t)VB_CAPTURE_RING_BYTES;
	assert_false(vb_ring_reader_peek(&reader));
	assert_int_equal(reader.lost, 0);
	assert_int_equal(reader.records, 10);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(totals__of_all_slots),
	    T(await_views__of_every_program),
	    T(await_views__of_nobody_else),
	    T(explain_read__whole_or_as_it_is),
	    T(check__of_a_connection),
	    T(host_read__says_its_generation),
	    T(forget_qps__of_one_slot),
	    T(rates__first_of_a_full_ring),
	    T(ring__lengths_that_can_be),
	    T(ring__as_far_as_the_writer_is_not),
	    T(ring__of_a_count_that_goes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
