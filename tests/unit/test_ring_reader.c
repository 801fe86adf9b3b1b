/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading a capture ring: order, wrap, falling behind, and rings whose owner writes nonsense. */
#include "cmocka_env.h"
#include "node/client/ring_reader.h"

#include <stdlib.h>
#include <string.h>

static struct vb_capture_ring ring;
static struct vb_ring_reader reader;

static int setup(void **state)
{
	(void)state;
	memset(&ring, 0, sizeof ring);
	vb_ring_reader_init(&reader, &ring, true);
	return 0;
}

/* Writes a packet of @len bytes of value @time. */
static void put_packet(uint64_t time, uint32_t len)
{
	static uint8_t bytes[8192];
	struct vb_seg seg = {.p = bytes, .len = len};
	struct vb_link_tap tap = {.port = 3, .sent = true, .seg_cnt = 1, .seg = &seg};

	memset(bytes, (int)time & 0xff, len);
	vb_capture_write(&ring, &tap, time);
}

static void reader__takes_records_in_order(void **state)
{
	(void)state;
	assert_false(vb_ring_reader_peek(&reader));
	for (uint64_t i = 1; i <= 5; i++)
		put_packet(i, 20 + (uint32_t)i);
	for (uint64_t i = 1; i <= 5; i++) {
		assert_true(vb_ring_reader_peek(&reader));
		assert_true(vb_ring_reader_peek(&reader)); /* the same again */
		assert_int_equal(reader.rec.time_ns, i);
		assert_int_equal(reader.rec.len, 20 + i);
		assert_int_equal(reader.rec.port, 3);
		assert_int_equal(reader.data[reader.rec.len - 1], i);
		vb_ring_reader_pop(&reader);
	}
	assert_false(vb_ring_reader_peek(&reader));
	assert_int_equal(reader.lost, 0);
}

static void reader__starts_now(void **state)
{
	(void)state;
	put_packet(1, 100);
	vb_ring_reader_init(&reader, &ring, false);
	assert_false(vb_ring_reader_peek(&reader));
	put_packet(2, 100);
	assert_true(vb_ring_reader_peek(&reader));
	assert_int_equal(reader.rec.time_ns, 2);
}

static void reader__follows_around_the_end(void **state)
{
	(void)state;
	for (uint64_t i = 1; i < 6000; i++) {
		put_packet(i, 4000);
		assert_true(vb_ring_reader_peek(&reader));
		assert_int_equal(reader.rec.time_ns, i);
		assert_int_equal(reader.rec.len, 4000);
		assert_int_equal(reader.data[0], i & 0xff);
		assert_int_equal(reader.data[3999], i & 0xff);
		vb_ring_reader_pop(&reader);
	}
	assert_true(ring.head > 2 * (uint64_t)VB_CAPTURE_RING_BYTES);
	assert_int_equal(reader.lost, 0);
}

static void reader__tells_what_it_lost(void **state)
{
	(void)state;
	put_packet(1, 100);
	assert_true(vb_ring_reader_peek(&reader));
	vb_ring_reader_pop(&reader);
	for (uint64_t i = 2; i < 5002; i++)
		put_packet(i, 4000);
	assert_false(vb_ring_reader_peek(&reader));
	assert_int_equal(reader.lost, 5000);
	put_packet(7, 10);
	assert_true(vb_ring_reader_peek(&reader));
	assert_int_equal(reader.rec.time_ns, 7);
	assert_int_equal(reader.lost, 5000);
}

/* A reader that starts now does not count earlier packets as lost. */
static void reader__that_starts_now_loses_what_comes(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= 10; i++)
		put_packet(i, 100);
	vb_ring_reader_init(&reader, &ring, false);
	put_packet(11, 100);
	assert_true(vb_ring_reader_peek(&reader));
	vb_ring_reader_pop(&reader);
	for (uint64_t i = 12; i < 5012; i++)
		put_packet(i, 4000);
	assert_false(vb_ring_reader_peek(&reader));
	assert_int_equal(reader.lost, 5000);
}

/* A record that says of its packet that it is longer than its own place is not read. */
static void reader__packet_longer_than_its_record(void **state)
{
	struct vb_capture_rec rec;

	(void)state;
	put_packet(1, 96);
	memcpy(&rec, ring.data, sizeof rec);
	rec.len = rec.rec_len - (uint32_t)sizeof rec + 1;
	memcpy(ring.data, &rec, sizeof rec);
	assert_false(vb_ring_reader_peek(&reader));
	assert_int_equal(reader.lost, 1);
	put_packet(2, 96);
	assert_true(vb_ring_reader_peek(&reader));
	assert_int_equal(reader.rec.time_ns, 2);
}

/* The owner is another program: any bytes may stand there. */
static void reader__survives_nonsense(void **state)
{
	uint64_t x = 88172645463325252u;

	(void)state;
	for (int round = 0; round < 300; round++) {
		for (size_t i = 0; i < 4096; i += 8) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			memcpy(ring.data + i, &x, 8);
		}
		ring.head = round % 3 ? x : x % VB_CAPTURE_RING_BYTES;
		ring.records = x >> 7;
		vb_ring_reader_init(&reader, &ring, true);
		for (int i = 0; i < 20 && vb_ring_reader_peek(&reader); i++) {
			assert_true(reader.rec.len <= sizeof reader.data);
			vb_ring_reader_pop(&reader);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(reader__takes_records_in_order, setup),
	    cmocka_unit_test_setup(reader__starts_now, setup),
	    cmocka_unit_test_setup(reader__follows_around_the_end, setup),
	    cmocka_unit_test_setup(reader__tells_what_it_lost, setup),
	    cmocka_unit_test_setup(reader__that_starts_now_loses_what_comes, setup),
	    cmocka_unit_test_setup(reader__packet_longer_than_its_record, setup),
	    cmocka_unit_test_setup(reader__survives_nonsense, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
