/* SPDX-License-Identifier: BSD-2-Clause */
/* The writer of the capture ring: what a record looks like, and what happens at the ring's end. */
#include "cmocka_env.h"
#include "link/middle/capture.h"
#include "link/middle/tap.h"

#include <stdlib.h>

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct vb_capture_ring));
	return *state == NULL;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

/* Reads @len bytes at position @pos as the ring counts. */
static void ring_get(const struct vb_capture_ring *r, uint64_t pos, void *to, size_t len)
{
	for (size_t i = 0; i < len; i++)
		((uint8_t *)to)[i] = r->data[(pos + i) % VB_CAPTURE_RING_BYTES];
}

static const uint8_t bytes[VB_CAPTURE_REC_MAX * 2] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};

static uint16_t tapped_mark;

static void note_mark(void *ctx, const struct vb_link_tap *t)
{
	(void)ctx;
	tapped_mark = t->mark;
}

/* A packet that came by shared memory keeps the mark of what happened to it. */
static void tap_received__has_its_mark(void **state)
{
	static const struct vb_path path = {.port = 1};
	static const uint8_t pkt[VB_BTH_LEN + 8];
	const struct vb_rx rx = {.pkt = pkt, .len = sizeof pkt, .avail = sizeof pkt, .path = &path};

	(void)state;
	vb_tap_received(note_mark, NULL, &rx, 5);
	assert_int_equal(tapped_mark, 5);
}

static struct vb_link_tap tapped;

static void note_tap(void *ctx, const struct vb_link_tap *t)
{
	(void)ctx;
	tapped = *t;
}

static void check_envelope(const struct vb_path *p, bool sent)
{
	assert_memory_equal(&tapped.udp.src, &p->sgid, sizeof p->sgid);
	assert_memory_equal(&tapped.udp.dst, &p->dgid, sizeof p->dgid);
	assert_int_equal(tapped.udp.sport, p->udp_sport);
	assert_int_equal(tapped.udp.dport, VB_ROCE_PORT);
	assert_int_equal(tapped.udp.ip_id, 0);
	assert_int_equal(tapped.udp.ip_frag, 0x4000); /* DF, as in UDP packets */
	assert_int_equal(tapped.flow_label, p->flow_label);
	assert_int_equal(tapped.port, p->port);
	assert_int_equal(tapped.traffic_class, p->traffic_class);
	assert_int_equal(tapped.hop_limit, p->hop_limit);
	assert_int_equal(tapped.sent, sent);
}

/* A packet that was in no datagram has the headers that its path says. */
static void tap__has_the_envelope_of_the_path(void **state)
{
	static const struct vb_path path = {.sgid.b = {[10] = 0xff, 0xff, 1, 2, 3, 4},
					    .dgid.b = {[10] = 0xff, 0xff, 5, 6, 7, 8},
					    .flow_label = 0x12345,
					    .udp_sport = 0xc123,
					    .port = 3,
					    .traffic_class = 0xb9,
					    .hop_limit = 17};
	static const uint8_t pkt[VB_BTH_LEN + 8];
	const struct vb_rx rx = {.pkt = pkt, .len = sizeof pkt, .avail = sizeof pkt, .path = &path};
	const struct vb_tx tx = {.path = &path, .hdr_len = VB_BTH_LEN};

	(void)state;
	vb_tap_received(note_tap, NULL, &rx, 0);
	check_envelope(&path, false);
	vb_tap_sent(note_tap, NULL, &tx, 0);
	check_envelope(&path, true);
}

static void write__record(void **state)
{
	struct vb_capture_ring *ring = *state;
	struct vb_seg seg[] = {{bytes, 5}, {bytes + 5, 0}, {bytes + 5, 8}};
	struct vb_link_tap t = {
	    .udp = {.src.b = {1}, .dst.b = {2}, .sport = 3, .dport = 4, .ip_id = 5},
	    .flow_label = 6,
	    .port = 7,
	    .traffic_class = 8,
	    .hop_limit = 9,
	    .sent = true,
	    .seg_cnt = 3,
	    .seg = seg};
	struct vb_capture_rec rec;
	uint8_t got[13];

	vb_capture_write(ring, &t, 1000);
	assert_int_equal(ring->head, sizeof rec + 16);
	assert_int_equal(ring->records, 1);
	ring_get(ring, 0, &rec, sizeof rec);
	assert_int_equal(rec.time_ns, 1000);
	assert_int_equal(rec.src.b[0], 1);
	assert_int_equal(rec.dst.b[0], 2);
	assert_int_equal(rec.sport, 3);
	assert_int_equal(rec.dport, 4);
	assert_int_equal(rec.ip_id, 5);
	assert_int_equal(rec.flow_label, 6);
	assert_int_equal(rec.port, 7);
	assert_int_equal(rec.traffic_class, 8);
	assert_int_equal(rec.hop_limit, 9);
	assert_int_equal(rec.sent, 1);
	assert_int_equal(rec.len, 13);
	assert_int_equal(rec.rec_len, sizeof rec + 16);
	ring_get(ring, sizeof rec, got, sizeof got);
	assert_memory_equal(got, bytes, sizeof got);
	/* The last of all runs counts, however short. */
	seg[2].len = 1;
	t.seg_cnt = 3;
	vb_capture_write(ring, &t, 1000);
	ring_get(ring, 2 * sizeof rec + 16, got, 6);
	assert_memory_equal(got, bytes, 6);
	ring->head = sizeof rec + 16;
	t.sent = false;
	vb_capture_write(ring, &t, 1000);
	ring_get(ring, sizeof rec + 16, &rec, sizeof rec);
	assert_int_equal(rec.sent, 0);
}

/* Longer than a reader takes: cut off, wherever the runs of bytes end. */
static void write__longest(void **state)
{
	struct vb_capture_ring *ring = *state;
	struct vb_seg seg[] = {{bytes, VB_CAPTURE_REC_MAX - 100}, {bytes, VB_CAPTURE_REC_MAX}};
	struct vb_link_tap t = {.seg_cnt = 2, .seg = seg};
	struct vb_capture_rec rec;

	vb_capture_write(ring, &t, 0);
	ring_get(ring, 0, &rec, sizeof rec);
	assert_int_equal(rec.rec_len, VB_CAPTURE_REC_MAX);
	assert_int_equal(rec.len, VB_CAPTURE_REC_MAX - sizeof rec);
	assert_int_equal(ring->head, VB_CAPTURE_REC_MAX);
}

/* Five times around the ring, records of every length mod 8, each whole behind the write. */
static void write__around_the_end(void **state)
{
	struct vb_capture_ring *ring = *state;
	uint64_t pos = 0, n = 0;
	uint8_t got[512];

	for (; pos < 5 * (uint64_t)VB_CAPTURE_RING_BYTES; n++) {
		struct vb_seg seg = {bytes, 256 + (uint32_t)(n % 200)};
		struct vb_link_tap t = {.seg_cnt = 1, .seg = &seg};
		struct vb_capture_rec rec;

		vb_capture_write(ring, &t, n);
		ring_get(ring, pos, &rec, sizeof rec);
		assert_int_equal(rec.time_ns, n);
		assert_int_equal(rec.len, seg.len);
		assert_int_equal(rec.rec_len % 8, 0);
		ring_get(ring, pos + sizeof rec, got, rec.len);
		assert_memory_equal(got, bytes, rec.len);
		pos += rec.rec_len;
		assert_int_equal(ring->head, pos);
	}
	assert_int_equal(ring->records, n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(tap_received__has_its_mark),
	    cmocka_unit_test(tap__has_the_envelope_of_the_path),
	    cmocka_unit_test_setup_teardown(write__record, setup, teardown),
	    cmocka_unit_test_setup_teardown(write__longest, setup, teardown),
	    cmocka_unit_test_setup_teardown(write__around_the_end, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
