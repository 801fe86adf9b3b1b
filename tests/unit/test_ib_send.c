/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sending by a port of a fabric: which packets of a batch go together, how long they may be on
 * their way, and what of them is counted. link/ib/ib.h; IBA 16.1.3.5, FAB-57
 */
#include "ib_route_env.h"

#define SLOT 9
#define LIDS_BEYOND (0xc000 + VB_IB_MULTICASTS - 1)

/* The packets that the link below has been given. */
static struct {
	uint32_t sent, calls, copied, copies, takes;
	struct vb_link_copy whom;
} below;

static uint32_t below_send(struct vb_link *l, const struct vb_tx_batch *b, uint32_t from,
			   vb_time now)
{
	uint32_t n = b->cnt - from < below.takes ? b->cnt - from : below.takes;

	(void)l, (void)now;
	below.calls++;
	below.sent += n;
	return n;
}

static uint32_t below_copy(struct vb_link *l, const struct vb_tx_batch *b, uint32_t from,
			   uint32_t to, struct vb_link_copy whom, vb_time now)
{
	(void)l, (void)b, (void)now;
	below.copies++;
	below.copied += to - from;
	below.whom = whom;
	return to - from;
}

static void below_close(struct vb_link *l)
{
	(void)l;
}

static const struct vb_link_ops below_ops = {
    .name = "below", .send = below_send, .copy = below_copy, .close = below_close};

static struct vb_link lower, *l;
static struct vb_tx_batch batch;
static struct vb_path path;

static int link_begin(void **state)
{
	struct vb_ib_link_config fabric;
	const struct vb_link_config cfg = {.lower = &lower, .fabric = &fabric};

	(void)begin(state);
	fabric = (struct vb_ib_link_config){
	    .map = map, .routes = own, .port = {[1] = A1, [2] = VB_IB_NOWHERE}};
	lower = vb_link_before(NULL, &below_ops);
	assert_int_equal(vb_ib_link_open(&l, &cfg), 0);
	memset(&below, 0, sizeof below);
	below.takes = UINT32_MAX;
	path = (struct vb_path){.port = 1, .sl = 3, .dlid = LID_B};
	for (uint32_t k = 0; k < VB_IB_SLOTS; k++)
		vb_ib_map_routes(map, k)->node = VB_IB_NOWHERE;
	vb_ib_map_routes(map, SLOT)->node = port(B1)->node;
	return 0;
}

static int link_end(void **state)
{
	l->ops->close(l);
	return end(state);
}

/* A batch of @cnt packets with @len bytes each; those behind them look as if they went along. */
static void make_batch(uint32_t cnt, uint32_t len)
{
	batch.cnt = cnt;
	for (uint32_t i = 0; i < cnt + 2; i++) {
		batch.pkt[i] = (struct vb_tx){.path = &path, .hdr_len = 12, .payload_len = len};
		be16_put(batch.pkt[i].hdr + 2, 0xffff);
		batch.pkt[i].hdr[7] = SLOT;
	}
}

static void member(uint16_t lid, bool is_member)
{
	uint32_t entry = lid - 0xc000u;

	vb_ib_map_routes(map, SLOT)->group[entry / 64] = is_member ? UINT64_C(1) << entry % 64 : 0;
}

static uint32_t arrived(uint32_t len)
{
	below.sent = below.copied = 0;
	make_batch(1, len);
	assert_int_equal(l->ops->send(l, &batch, 0, 0), 1);
	return below.sent + below.copied;
}

/* A packet arrives where its payload is no longer than the MTU of each link on the way, to the
 * byte, and of a group as well. IBA 16.1.3.5 */
static void send__up_to_the_mtu(void **state)
{
	static const uint32_t bytes[] = {0, 256, 512, 1024, 2048, 4096};

	(void)state;
	ports_of_group(0, 1 << 2);
	ports_of_group(1, 1 << 2);
	member(GROUP, true);
	for (uint8_t mtu = 1; mtu <= 5; mtu++) {
		port(T2)->mtu = mtu;
		map->generation += 2;
		for (int is_group = 0; is_group < 2; is_group++) {
			path.dlid = is_group ? GROUP : LID_B;
			assert_int_equal(arrived(0), 1);
			assert_int_equal(arrived(bytes[mtu]), 1);
			if (mtu < 5)
				assert_int_equal(arrived(bytes[mtu] + 1), 0);
			assert_int_equal(arrived(1), 1);
		}
	}
	/* One that some hop is too small for is dropped there. */
	port(T2)->mtu = 1;
	map->generation += 2;
	path.dlid = LID_B;
	assert_true(vb_ib_routes_add_up(map, own, false));
	uint64_t before = counters(T2)->xmit_discards;

	assert_int_equal(arrived(300), 0);
	assert_true(vb_ib_routes_add_up(map, own, false));
	assert_int_equal(counters(T2)->xmit_discards - before, 1);
}

/* Packets of one way go together, to the end of their batch and no further; one of another length
 * that is too long, or for another process, goes by itself. */
static void send__what_goes_together(void **state)
{
	(void)state;
	make_batch(3, 64);
	assert_int_equal(l->ops->send(l, &batch, 0, 0), 3);
	assert_int_equal(below.calls, 1);
	assert_int_equal(below.sent, 3);
	port(T2)->mtu = 2;
	map->generation += 2;
	make_batch(3, 512);
	batch.pkt[1].payload_len = 513;
	below.calls = below.sent = 0;
	assert_int_equal(l->ops->send(l, &batch, 0, 0), 3);
	assert_int_equal(below.calls, 2);
	assert_int_equal(below.sent, 2);
	make_batch(3, 64);
	batch.pkt[2].hdr[7] = SLOT + 1; /* nobody's */
	below.calls = below.sent = 0;
	assert_int_equal(l->ops->send(l, &batch, 0, 0), 3);
	assert_int_equal(below.calls, 1);
	assert_int_equal(below.sent, 2);
	/* A packet that the link below does not take waits, with all behind it. */
	make_batch(4, 64);
	batch.pkt[3].hdr[7] = SLOT + 1;
	below.takes = 1;
	assert_int_equal(l->ops->send(l, &batch, 0, 0), 1);
	below.takes = 0;
	assert_int_equal(l->ops->send(l, &batch, 1, 0), 0);
}

/* Packets to a group go together in the same way, and others behind them. */
static void send__groups_and_others(void **state)
{
	struct vb_path other = path;

	(void)state;
	ports_of_group(0, 1 << 2);
	ports_of_group(1, 1 << 2);
	member(GROUP, true);
	path.dlid = GROUP;
	make_batch(3, 64);
	assert_int_equal(l->ops->send(l, &batch, 0, 0), 3);
	assert_int_equal(below.copies, 1);
	assert_int_equal(below.copied, 3);
	assert_int_equal(below.whom.slot, SLOT);
	assert_int_equal(below.whom.port, port(B1)->number);
	make_batch(5, 64);
	batch.pkt[1].payload_len = 300; /* of another code */
	batch.pkt[3].path = batch.pkt[4].path = &other;
	below.copies = below.copied = 0;
	assert_int_equal(l->ops->send(l, &batch, 0, 0), 5);
	assert_int_equal(below.copies, 3);
	assert_int_equal(below.copied, 3);
	assert_int_equal(below.sent, 2);
}

/* Words are those of LRH, GRH if there is one, and the packet to its ICRC. IBA 16.1.3.5 */
static void send__counts_words(void **state)
{
	(void)state;
	ports_of_group(0, 1 << 2);
	ports_of_group(1, 1 << 2);
	member(GROUP, true);
	/* Each of a batch counts by itself. */
	make_batch(2, 64);
	batch.pkt[1].payload_len = 128;
	assert_int_equal(l->ops->send(l, &batch, 0, 0), 2);
	assert_true(vb_ib_routes_add_up(map, own, false));
	assert_int_equal(counters(A1)->xmit_data, (2 * (8 + 12 + 4) + 64 + 128) / 4);
	assert_int_equal(counters(A1)->xmit_packets, 2);
	path.dlid = GROUP;
	path.dgid.b[0] = 0xff;
	assert_int_equal(l->ops->send(l, &batch, 0, 0), 2);
	assert_true(vb_ib_routes_add_up(map, own, false));
	assert_int_equal(counters(A1)->xmit_data,
			 (2 * (8 + 12 + 4) + 2 * (8 + 40 + 12 + 4) + 2 * (64 + 128)) / 4);
	assert_int_equal(counters(A1)->multicast_xmit, 2);
}

/* A process listens to each LID by itself, the first of a word and the last of all among them. */
static void send__to_who_listens_to_the_lid(void **state)
{
	static const uint16_t lids[] = {0xc000, 0xc000 + 63, 0xc000 + 64, 0xc000 + 130,
					LIDS_BEYOND};

	(void)state;
	for (size_t i = 0; i < sizeof lids / sizeof lids[0]; i++) {
		for (uint32_t t = 0; t < 2; t++)
			vb_ib_map_mft(map, t)[lids[i] - 0xc000].word[0] = 1 << 2;
		path.dlid = lids[i];
		/* A port that is nowhere in the map sends to nobody. */
		path.port = 2;
		member(lids[i], true);
		assert_int_equal(arrived(64), 0);
		member(lids[i], false);
		path.port = 1;
		assert_int_equal(arrived(64), 0);
		member(lids[i], true);
		assert_int_equal(arrived(64), 1);
		member(lids[i], false);
		assert_int_equal(arrived(64), 0);
	}
}

/* Links have names. */
static void links__are_named(void **state)
{
	const struct vb_link_config cfg = {.slot = 0};
	struct vb_link *nowhere;

	(void)state;
	assert_string_equal(l->ops->name, "infiniband");
	assert_int_equal(vb_nowhere_open(&nowhere, &cfg), 0);
	assert_string_equal(nowhere->ops->name, "nowhere");
	assert_true(vb_link_fd(nowhere) >= 0);
	nowhere->ops->close(nowhere);
}

#define L(f) cmocka_unit_test_setup_teardown(f, link_begin, link_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    L(send__up_to_the_mtu), L(send__what_goes_together),        L(send__groups_and_others),
	    L(send__counts_words),  L(send__to_who_listens_to_the_lid), L(links__are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
