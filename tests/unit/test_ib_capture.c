/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets of a fabric in the ring of a capture: what a sender writes, what a reader makes of it at
 * each link, and records that somebody else has written. link/ib/capture.h; IBA 7.7, 7.8, 19.2.4;
 * LNK-01, LNK-06 to LNK-09, LNK-38
 */
#include "link/ib/capture.h"

#include "ib_route_env.h"
#include "node/client/ring_reader.h"
#include "wire/ib/flow.h"
#include "wire/ib/grh.h"
#include "wire/ib/vcrc.h"
#include "wire/icrc.h"

#define SLOT 9
#define PAYLOAD 100u

static struct vb_capture_ring *ring;
static struct vb_ring_reader *reader;
static struct vb_tx_batch batch;
static struct vb_seg seg;
static struct vb_path path;
static uint8_t payload[PAYLOAD];

static void batch_make(uint32_t cnt)
{
	path = (struct vb_path){.port = 1, .sl = 3, .slid = LID_A, .dlid = LID_B, .hop_limit = 9};
	memset(payload, 0x5a, sizeof payload);
	seg = (struct vb_seg){payload, PAYLOAD - 1};
	batch.cnt = cnt;
	batch.fate = NULL;
	for (uint32_t i = 0; i < cnt; i++) {
		batch.pkt[i] = (struct vb_tx){.path = &path,
					      .seg = &seg,
					      .seg_cnt = 1,
					      .hdr_len = VB_BTH_LEN,
					      .payload_len = PAYLOAD - 1,
					      .pad = 1};
		be16_put(batch.pkt[i].hdr + 2, 0xffff);
		batch.pkt[i].hdr[1] = 1 << 4; /* the pad */
		batch.pkt[i].hdr[7] = SLOT;
		batch.pkt[i].hdr[11] = (uint8_t)i;
	}
}

static int ring_begin(void **state)
{
	begin(state);
	ring = calloc(1, sizeof *ring);
	reader = calloc(1, sizeof *reader);
	assert_true(ring && reader);
	vb_ring_reader_init(reader, ring, true);
	batch_make(1);
	return 0;
}

static int ring_end(void **state)
{
	free(ring);
	free(reader);
	return end(state);
}

static struct vb_ib_captured captured;

static void record_next(void)
{
	if (reader->has_rec)
		vb_ring_reader_pop(reader);
	assert_true(vb_ring_reader_peek(reader));
	assert_true(vb_ib_captured_parse(&captured, reader->data, reader->rec.len));
}

static void expect_no_record(void)
{
	if (reader->has_rec)
		vb_ring_reader_pop(reader);
	assert_false(vb_ring_reader_peek(reader));
}

static uint8_t image[VB_IB_CAPTURED_MAX];

/* The packet at hop @i of the record; its CRCs are right. */
static struct vb_lrh image_of(uint32_t i)
{
	const struct vb_ib_hop hop = vb_ib_captured_hop(&captured, i);
	uint32_t len = vb_ib_captured_emit(&captured, &hop, image);
	struct vb_lrh lrh;
	uint32_t crc, at = VB_LRH_LEN;

	vb_lrh_parse(&lrh, image);
	assert_int_equal(vb_lrh_check(&lrh, len, 4096), VB_LRH_GOOD);
	assert_int_equal(vb_vcrc(image, len - VB_VCRC_LEN), vb_vcrc_get(image + len - VB_VCRC_LEN));
	crc = vb_icrc_start_local(image);
	if (lrh.lnh == VB_LNH_GLOBAL) {
		struct vb_grh grh;

		vb_grh_parse(&grh, image + at);
		assert_true(vb_grh_is_good(&grh, lrh.words));
		crc = vb_icrc_start_global(image + at);
		at += VB_GRH_LEN;
	}
	crc = vb_icrc_headers(crc, image + at, len - at - VB_ICRC_LEN - VB_VCRC_LEN);
	assert_int_equal(crc, vb_icrc_read(image + len - VB_ICRC_LEN - VB_VCRC_LEN));
	assert_memory_equal(image + at + VB_BTH_LEN, payload, PAYLOAD - 1);
	return lrh;
}

/* A record has all links of the way, and at each of them the packet is in the lane of that. */
static void route__is_the_packet_on_each_link(void **state)
{
	const struct vb_ib_route *r;

	(void)state;
	vb_ib_map_lanes(map)[port(A1)->sl2vl].vl[3] = 1;
	vb_ib_map_lanes(map)[port(S2)->sl2vl + 1].vl[3] = 2;
	vb_ib_map_lanes(map)[port(T2)->sl2vl + 1].vl[3] = 4;
	r = walk();
	vb_ib_capture_route(ring, r, &batch, 0, 1, 77);
	record_next();
	assert_int_equal(reader->rec.time_ns, 77);
	assert_int_equal(captured.hop_cnt, 3);
	for (uint32_t i = 0; i < 3; i++) {
		static const uint32_t out[] = {A1, S2, T2}, in[] = {S1, T1, B1};
		const struct vb_ib_hop hop = vb_ib_captured_hop(&captured, i);
		const struct vb_lrh lrh = image_of(i);

		assert_int_equal(hop.out, out[i]);
		assert_int_equal(hop.in, in[i]);
		assert_int_equal(lrh.vl, 1u << i);
		assert_int_equal(lrh.sl, 3);
		assert_int_equal(lrh.slid, LID_A);
		assert_int_equal(lrh.dlid, LID_B);
		assert_int_equal(lrh.lnh, VB_LNH_LOCAL);
	}
	expect_no_record();
}

/* Behind routers there are other LIDs, and the hop limit is less. FAB-06 */
static void route__changes_behind_routers(void **state)
{
	static struct vb_ib_route r = {
	    .hop_cnt = 3,
	    .hop = {{.out = A1, .in = S1},
		    {.out = S2, .in = T1, .slid = 70, .dlid = 71, .routers = 1},
		    {.out = T2, .in = B1, .slid = 80, .dlid = 81, .routers = 2}}};
	static const uint16_t slids[] = {LID_A, 70, 80}, dlids[] = {LID_B, 71, 81};

	(void)state;
	path.dgid.b[15] = 7;
	path.sgid.b[15] = 8;
	vb_ib_capture_route(ring, &r, &batch, 0, 1, 0);
	record_next();
	for (uint32_t i = 0; i < 3; i++) {
		const struct vb_lrh lrh = image_of(i);

		assert_int_equal(lrh.lnh, VB_LNH_GLOBAL);
		assert_int_equal(lrh.slid, slids[i]);
		assert_int_equal(lrh.dlid, dlids[i]);
		assert_int_equal(image[VB_LRH_LEN + 7], 9 - i);
	}
}

/* A packet that left no port is not there; of those that are, each has what a fault did to it. */
static void route__of_packets_that_left(void **state)
{
	static const struct vb_ib_route none = {.hop_cnt = 0};
	static const struct vb_tx_fate fate[3] = {{.mark = 1}, {.mark = 2}, {.mark = 3}};

	(void)state;
	batch_make(3);
	batch.fate = fate;
	vb_ib_capture_route(ring, &none, &batch, 0, 3, 0);
	expect_no_record();
	vb_ib_capture_route(ring, walk(), &batch, 1, 3, 0);
	for (uint16_t i = 1; i < 3; i++) {
		record_next();
		assert_int_equal(reader->rec.mark, i + 1);
		assert_int_equal(captured.packet[VB_LRH_LEN + 11], i);
	}
	expect_no_record();
}

/* A tree of any size: as many records as it takes, without the branches that no packet left by. */
static void tree__has_all_its_links(void **state)
{
	static struct vb_ib_tree t;
	uint32_t seen = 0, records = 0;

	(void)state;
	t.branch_cnt = VB_IB_BRANCHES;
	for (uint32_t i = 0; i < t.branch_cnt; i++)
		t.branch[i].hop = (struct vb_ib_hop){
		    .out = i % 4 == 3 ? VB_IB_NOWHERE : i, .in = VB_IB_NOWHERE, .vl = 1};
	vb_ib_capture_tree(ring, &t, &batch, 0, 1, 5);
	while (seen < VB_IB_BRANCHES / 4 * 3) {
		record_next();
		records++;
		for (uint32_t i = 0; i < captured.hop_cnt; i++, seen++)
			assert_int_equal(vb_ib_captured_hop(&captured, i).out,
					 seen / 3 * 4 + seen % 3);
	}
	assert_int_equal(records, 6);
	expect_no_record();
	/* One that ends with such a branch. */
	t.branch_cnt = 4;
	vb_ib_capture_tree(ring, &t, &batch, 0, 1, 5);
	record_next();
	assert_int_equal(captured.hop_cnt, 3);
	expect_no_record();
}

/* The longest packet with the most links is one record, with nothing cut off. */
static void put__the_longest(void **state)
{
	static uint8_t bytes[VB_IB_CAPTURED_MAX - VB_VCRC_LEN];
	static struct vb_ib_hop hop[512];
	const struct vb_ib_capture_packet p = {.bytes = bytes, .len = sizeof bytes};

	(void)state;
	bytes[sizeof bytes - 1] = 9;
	vb_ib_capture_put(ring, hop, 512, &p);
	record_next();
	assert_int_equal(captured.hop_cnt, 512);
	assert_int_equal(captured.len, sizeof bytes);
	assert_int_equal(captured.packet[captured.len - 1], 9);
	expect_no_record();
}

/* A flow control packet stays what it is. */
static void put__flow_control(void **state)
{
	static const uint8_t bytes[VB_FLOW_LEN] = {0x10, 2, 3, 4, 5, 6};
	const struct vb_ib_hop hop = {.out = 1, .in = VB_IB_NOWHERE, .vl = 3, .routers = 1};
	const struct vb_ib_capture_packet p = {.bytes = bytes, .len = sizeof bytes};

	(void)state;
	vb_ib_capture_put(ring, &hop, 1, &p);
	record_next();
	assert_true(vb_ib_captured_is_flow(&captured));
	assert_int_equal(vb_ib_captured_emit(&captured, &hop, image), VB_FLOW_LEN);
	assert_memory_equal(image, bytes, VB_FLOW_LEN);
}

/* A record's bytes are its writer's word. */
static void parse__refuses_nonsense(void **state)
{
	static uint8_t bytes[VB_CAPTURE_REC_MAX];
	struct vb_ib_capture_head head = {.hop_cnt = 1};
	const uint32_t before = sizeof head + sizeof(struct vb_ib_hop);
	struct vb_ib_captured c;

	(void)state;
	assert_false(vb_ib_captured_parse(&c, bytes, sizeof head - 1));
	assert_false(vb_ib_captured_parse(&c, bytes, 400)); /* no hop */
	head.hop_cnt = 513;
	memcpy(bytes, &head, sizeof head);
	assert_false(vb_ib_captured_parse(&c, bytes, sizeof bytes));
	head.hop_cnt = UINT32_MAX;
	memcpy(bytes, &head, sizeof head);
	assert_false(vb_ib_captured_parse(&c, bytes, sizeof bytes));
	head.hop_cnt = 1;
	memcpy(bytes, &head, sizeof head);
	assert_false(vb_ib_captured_parse(&c, bytes, before - 1));
	assert_false(vb_ib_captured_parse(&c, bytes, before));
	assert_false(vb_ib_captured_parse(&c, bytes, before + VB_LRH_LEN - 1));
	assert_true(vb_ib_captured_parse(&c, bytes, before + VB_FLOW_LEN));
	bytes[before + 1] = VB_LNH_LOCAL;
	assert_true(vb_ib_captured_parse(&c, bytes, before + VB_LRH_LEN));
	bytes[before + 1] = VB_LNH_GLOBAL;
	assert_false(vb_ib_captured_parse(&c, bytes, before + VB_LRH_LEN + VB_GRH_LEN - 1));
	assert_true(vb_ib_captured_parse(&c, bytes, before + VB_LRH_LEN + VB_GRH_LEN));
	assert_true(vb_ib_captured_parse(&c, bytes, before + VB_IB_CAPTURED_MAX - VB_VCRC_LEN));
	assert_false(
	    vb_ib_captured_parse(&c, bytes, before + VB_IB_CAPTURED_MAX - VB_VCRC_LEN + 1));
}

static uint32_t all_send(struct vb_link *l, const struct vb_tx_batch *b, uint32_t from, vb_time now)
{
	(void)l, (void)now;
	return b->cnt - from;
}

static uint32_t all_copy(struct vb_link *l, const struct vb_tx_batch *b, uint32_t from, uint32_t to,
			 struct vb_link_copy whom, vb_time now)
{
	(void)l, (void)b, (void)whom, (void)now;
	return to - from;
}

static void below_close(struct vb_link *l)
{
	(void)l;
}

static const struct vb_link_ops below_ops = {
    .name = "below", .send = all_send, .copy = all_copy, .close = below_close};

/* A link writes what it sends while somebody captures: to QPs and to groups, also to nobody, but
 * not what stays at its own port. */
static void link__writes_while_captured(void **state)
{
	struct vb_link lower = vb_link_before(NULL, &below_ops), *l;
	struct vb_ib_link_config fabric = {
	    .map = map, .routes = own, .capture = ring, .port = {[1] = A1}};
	const struct vb_link_config cfg = {.lower = &lower, .fabric = &fabric};

	(void)state;
	for (uint32_t k = 0; k < VB_IB_SLOTS; k++)
		vb_ib_map_routes(map, k)->node = VB_IB_NOWHERE;
	assert_int_equal(vb_ib_link_open(&l, &cfg), 0);
	assert_int_equal(l->ops->send(l, &batch, 0, 0), 1);
	expect_no_record();
	ring->enabled = 1;
	assert_int_equal(l->ops->send(l, &batch, 0, 0), 1);
	record_next();
	assert_int_equal(captured.hop_cnt, 3);
	assert_true(reader->rec.time_ns > UINT64_C(1500000000) * VB_SEC);
	path.dlid = LID_A;
	assert_int_equal(l->ops->send(l, &batch, 0, 0), 1);
	expect_no_record();
	ports_of_group(0, 1 << 2 | 1 << 3);
	ports_of_group(1, 1 << 2);
	path.dlid = GROUP;
	assert_int_equal(l->ops->send(l, &batch, 0, 0), 1);
	record_next();
	assert_int_equal(captured.hop_cnt, 3);
	assert_int_equal(image_of(0).dlid, GROUP);
	ring->enabled = 0;
	assert_int_equal(l->ops->send(l, &batch, 0, 0), 1);
	expect_no_record();
	l->ops->close(l);
}

#define C(f) cmocka_unit_test_setup_teardown(f, ring_begin, ring_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    C(route__is_the_packet_on_each_link),
	    C(route__changes_behind_routers),
	    C(route__of_packets_that_left),
	    C(tree__has_all_its_links),
	    C(put__the_longest),
	    C(put__flow_control),
	    C(parse__refuses_nonsense),
	    C(link__writes_while_captured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
