/* SPDX-License-Identifier: BSD-2-Clause */
/* Two nets that a cable joins which loses packets and changes their order, in time that the test
 * passes: the credits of what was lost come back with the next flow control, nothing overruns, and
 * packets that arrive are whole. Each net is one adapter's port. LNK-14, LNK-16, LNK-19, LNK-21 */
#include "cmocka_env.h"
#include "fabric/ib/node/net.h"
#include "fabric/tunnel/packet.h"
#include "fabric/tunnel/tunnel.h"
#include "wire/be.h"
#include "wire/ib/vcrc.h"
#include "wire/icrc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RATE UINT64_C(8000000000) /* a byte takes 1 ns */
#define DELAY 100
#define PAYLOAD 1024u
#define CAPACITY 128u /* blocks of a lane: seven packets */
#define PERIOD (100 * VB_USEC)
#define STEP VB_USEC
#define FLIGHT_MAX 64

/* A datagram under way; it may be overtaken. */
struct flight {
	uint8_t bytes[VB_TUNNEL_MAX];
	uint32_t len;
	vb_time at;
};

struct side {
	struct vb_ib_net net;
	struct vb_ib_hca hca;
	struct vb_tunnel end;
	struct flight flight[FLIGHT_MAX]; /* to this side */
	uint32_t flight_cnt;
	uint32_t sent, got, next; /* packets; the number that the next one has at least */
	uint32_t wrong;
};

static struct side side[2];
static struct vb_rng rng;
static uint32_t loss_ppm, late_ppm, lost_cnt;
static vb_time now;

static void *net_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

static void net_free(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

static void side_begin(struct side *s, uint64_t number)
{
	static const struct vb_arb_entry all[] = {{0, 1}};
	const struct vb_ib_net_config cfg = {.port_cnt = 1,
					     .packets_max = 1024,
					     .payload_max = VB_PAYLOAD_MAX,
					     .alloc = net_alloc,
					     .free = net_free};
	struct vb_ib_port_config c = {
	    .mtu = 1024, .data_cnt = 1, .symbol_ps = 4000, .capacity = {CAPACITY}};

	memset(s, 0, sizeof *s);
	assert_int_equal(vb_ib_net_open(&s->net, &cfg), 0);
	vb_ib_net_add_hca(&s->net, &s->hca, 0, &c);
	vb_ib_net_set_rate(&s->net, 0, RATE);
	vb_arbiter_set_table(&s->net.end[0].port.arbiter, VB_ARB_LOW, all, 1);
	/* Without the other end there is no link. */
	vb_ib_net_set_state(&s->net, 0, VB_LINK_ACTIVE, false);
	assert_int_equal(s->net.end[0].port.state, VB_LINK_DOWN);
	vb_ib_net_set_away(&s->net, 0, true, DELAY);
	vb_tunnel_init(&s->end, number);
	s->end.mine.polls = true;
}

static void flight_put(struct side *to, const uint8_t *bytes, uint32_t len)
{
	struct flight *f = &to->flight[to->flight_cnt];

	if (vb_rng_below(&rng, 1000000) < loss_ppm) {
		lost_cnt++;
		return;
	}
	assert_true(to->flight_cnt < FLIGHT_MAX);
	to->flight_cnt++;
	memcpy(f->bytes, bytes, len);
	f->len = len;
	f->at = now + 5 * VB_USEC + (vb_rng_below(&rng, 1000000) < late_ppm ? 20 * VB_USEC : 0);
}

static void hellos_send(struct side *from, struct side *to)
{
	uint8_t bytes[VB_TUNNEL_HDR_LEN + VB_TUNNEL_HELLO_LEN];

	while (vb_tunnel_poll_hello(&from->end, bytes))
		flight_put(to, bytes, sizeof bytes);
}

static void frames_send(struct side *from, struct side *to)
{
	uint8_t bytes[VB_TUNNEL_MAX];
	struct vb_frame *f;

	while ((f = vb_ib_net_poll_away(&from->net)) != NULL) {
		bool is_flow = f->kind == VB_FRAME_FLOW;
		uint32_t len = VB_FLOW_LEN;

		assert_int_equal(f->in, 0);
		if (is_flow)
			memcpy(bytes + VB_TUNNEL_HDR_LEN, f->bytes, VB_FLOW_LEN);
		else
			len = vb_tunnel_packet_emit(f, bytes + VB_TUNNEL_HDR_LEN);
		assert_int_not_equal(len, 0);
		vb_tunnel_head(&from->end, is_flow ? VB_TUNNEL_FLOW : VB_TUNNEL_PACKET, 0, bytes);
		vb_frame_pool_give(&from->net.pool, f);
		flight_put(to, bytes, VB_TUNNEL_HDR_LEN + len);
	}
}

static void datagram_take(struct side *s, const struct flight *f)
{
	const uint8_t *body = f->bytes + VB_TUNNEL_HDR_LEN;
	struct vb_tunnel_hdr h;
	struct vb_frame *frame;
	uint32_t events = 0;

	if (vb_tunnel_receive(&s->end, f->bytes, f->len, &h, &events) != VB_TUNNEL_COUNTS)
		return;
	if (h.kind == VB_TUNNEL_FLOW)
		assert_true(vb_ib_net_arrive_flow(&s->net, 0, body));
	if (h.kind != VB_TUNNEL_PACKET)
		return;
	frame = vb_frame_pool_take(&s->net.pool);
	assert_non_null(frame);
	assert_int_equal(vb_tunnel_packet_parse(frame, body, f->len - VB_TUNNEL_HDR_LEN), 0);
	vb_ib_net_arrive(&s->net, 0, frame);
}

static void flights_land(struct side *s)
{
	for (uint32_t i = 0; i < s->flight_cnt;) {
		struct flight f = s->flight[i];

		if (f.at > now) {
			i++;
			continue;
		}
		memmove(&s->flight[i], &s->flight[i + 1],
			(--s->flight_cnt - i) * sizeof s->flight[0]);
		datagram_take(s, &f);
	}
}

/* A packet that tells its number; false: the port has no room. */
static bool packet_send(struct side *s)
{
	uint8_t payload[PAYLOAD];
	struct vb_seg seg = {payload, sizeof payload};
	struct vb_path path = {.slid = 1, .dlid = 2, .sl = 0};
	struct vb_tx tx = {.path = &path,
			   .seg = &seg,
			   .payload_len = PAYLOAD,
			   .seg_cnt = 1,
			   .hdr_len = VB_BTH_LEN};

	if (!vb_ib_hca_has_room(&s->hca, 0))
		return false;
	memset(payload, (int)(s->sent & 0xff), sizeof payload);
	tx.hdr[0] = 0x04; /* RC, SEND only */
	be32_put(tx.hdr + 8, s->sent & 0xffffff);
	assert_true(vb_ib_net_send(&s->net, 0, &tx));
	s->sent++;
	return true;
}

static void packets_take(struct side *s)
{
	const struct vb_frame *f;

	for (; (f = vb_ib_hca_peek(&s->hca)) != NULL; s->got++) {
		uint32_t number = be32_get(f->bytes + 8);

		assert_true(number >= s->next);
		s->next = number + 1;
		assert_int_equal(f->path.slid, 1);
		assert_int_equal(f->path.dlid, 2);
		for (uint32_t i = 0; i < PAYLOAD; i++)
			assert_int_equal(f->bytes[VB_BTH_LEN + i], number & 0xff);
		vb_ib_net_take(&s->net, 0);
	}
}

/* One step of both sides. @tells: flow control of the period. */
static void world_step(bool tells)
{
	now += STEP;
	for (int i = 0; i < 2; i++) {
		if (tells)
			vb_ib_net_tell(&side[i].net, 0);
		while (vb_ib_net_run(&side[i].net, now, 100) == 100)
			;
		hellos_send(&side[i], &side[1 - i]);
		frames_send(&side[i], &side[1 - i]);
	}
	for (int i = 0; i < 2; i++)
		flights_land(&side[i]);
}

static int setup(void **state)
{
	(void)state;
	rng = vb_rng_stream(1, "tunnel", 0);
	loss_ppm = late_ppm = lost_cnt = 0;
	now = 0;
	side_begin(&side[0], 111);
	side_begin(&side[1], 222);
	for (int i = 0; i < 100; i++) {
		side[0].end.is_due = side[1].end.is_due = i % 10 == 0;
		world_step(false);
	}
	assert_true(vb_tunnel_is_joined(&side[0].end) && vb_tunnel_is_joined(&side[1].end));
	for (int i = 0; i < 2; i++)
		vb_ib_net_set_state(&side[i].net, 0, VB_LINK_ACTIVE, false);
	for (int i = 0; i < 50; i++)
		world_step(i == 20); /* what came before both were up was lost */
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		vb_ib_net_set_away(&side[i].net, 0, false, DELAY);
		assert_int_equal(side[i].net.end[0].port.state, VB_LINK_DOWN);
		while (side[i].hca.arrived.head)
			vb_ib_net_take(&side[i].net, 0);
		while (vb_ib_net_run(&side[i].net, now + VB_SEC, 100) == 100)
			;
		frames_send(&side[i], &side[1 - i]);
		assert_int_equal(side[i].net.pool.used, 0);
		assert_int_equal(side[i].net.pool.flow, 0);
		vb_ib_net_close(&side[i].net);
	}
	return 0;
}

/* Steps until @us microseconds have gone by, with both sides sending all that they may. */
static void traffic_run(uint32_t us, bool has_periods, bool takes)
{
	for (uint32_t i = 1; i <= us; i++) {
		for (int k = 0; k < 2; k++) {
			while (packet_send(&side[k]))
				;
			if (takes)
				packets_take(&side[k]);
		}
		world_step(has_periods && i * STEP % PERIOD == 0);
	}
}

/* Without loss the tunnel is a cable: all arrives, and credits that come back are told at once. */
static void packets__cross_in_order(void **state)
{
	(void)state;
	traffic_run(20000, false, true);
	for (int i = 0; i < 2; i++) {
		assert_true(side[i].got > 5000);
		assert_true(side[i].got + 64 > side[1 - i].sent);
		assert_int_equal(side[i].next, side[i].got);
		assert_int_equal(side[i].net.end[0].port.counters.buffer_overruns, 0);
	}
}

/* LNK-16: the credits of lost packets, and lost limits, stop both sides until the counts are told
 * again. */
static void losses__cost_credits(void **state)
{
	uint32_t got;

	(void)state;
	loss_ppm = 50000;
	traffic_run(20000, false, true);
	got = side[0].got + side[1].got;
	traffic_run(20000, false, true);
	assert_int_equal(side[0].got + side[1].got, got);
	loss_ppm = 0;
	traffic_run(1, false, true);
	world_step(true);
	traffic_run(2000, false, true);
	assert_true(side[0].got + side[1].got > got + 500);
}

/* ... but not where each period tells them. Nothing overruns, and what arrives is in order. LNK-21
 */
static void losses__heal_in_each_period(void **state)
{
	(void)state;
	loss_ppm = 50000;
	late_ppm = 20000;
	for (int i = 0; i < 20; i++) {
		uint32_t a = side[0].got, b = side[1].got;

		traffic_run(5000, true, true);
		assert_true(side[0].got > a + 50 && side[1].got > b + 50);
	}
	assert_true(lost_cnt > 500);
	assert_true(side[0].end.cnt[VB_TUNNEL_LATE] > 50);
	loss_ppm = late_ppm = 0;
	traffic_run(500, true, true);
	for (int i = 0; i < 2; i++) {
		uint32_t got = side[i].got;

		assert_int_equal(side[i].net.end[0].port.counters.buffer_overruns, 0);
		assert_int_equal(side[i].net.end[0].port.counters.rcv_errors, 0);
		/* As fast as without loss. */
		traffic_run(5000, true, true);
		assert_true(side[i].got > got + 1000);
	}
}

/* LNK-21: a receiver that takes nothing holds the sender back, whatever is lost. */
static void receivers__that_do_not_read_lose_nothing(void **state)
{
	(void)state;
	loss_ppm = 100000;
	traffic_run(20000, true, false);
	for (int i = 0; i < 2; i++) {
		const struct vb_ib_port *p = &side[i].net.end[0].port;

		assert_int_equal(p->counters.buffer_overruns, 0);
		assert_true(p->lane[0].rx.used <= CAPACITY);
		assert_int_equal(side[i].got, 0);
	}
	loss_ppm = 0;
	traffic_run(2000, true, true);
	assert_true(side[0].got > 100 && side[1].got > 100);
}

static uint32_t packet_make(uint8_t *bytes, bool has_grh)
{
	struct vb_path path = {
	    .slid = 5, .dlid = 9, .sl = 3, .hop_limit = 7, .flow_label = 0x12345};
	uint8_t payload[101];
	struct vb_seg seg = {payload, sizeof payload};
	struct vb_tx tx = {.path = &path,
			   .seg = &seg,
			   .payload_len = sizeof payload,
			   .seg_cnt = 1,
			   .pad = 3,
			   .hdr_len = VB_BTH_LEN,
			   .hdr = {0x04, 0x30}};
	struct vb_frame *f = vb_frame_pool_take(&side[0].net.pool);
	uint32_t len;

	memset(payload, 0x5a, sizeof payload);
	if (has_grh) {
		path.sgid.b[15] = 1;
		path.dgid.b[15] = 2;
	}
	vb_frame_fill(f, &tx, true);
	f->prio = 2;
	len = vb_tunnel_packet_emit(f, bytes);
	/* A payload that its program has not filled up to whole words. */
	f->len--;
	assert_int_equal(vb_tunnel_packet_emit(f, bytes + VB_TUNNEL_PACKET_MAX), 0);
	vb_frame_pool_give(&side[0].net.pool, f);
	return len;
}

static int packet_read(const uint8_t *bytes, uint32_t len, struct vb_path *path, uint8_t *vl)
{
	struct vb_frame *f = vb_frame_pool_take(&side[0].net.pool);
	int rc = vb_tunnel_packet_parse(f, bytes, len);

	*path = f->path;
	*vl = f->prio;
	if (!rc) {
		assert_int_equal(vb_frame_payload_len(f), 101);
		assert_int_equal(f->bytes[VB_BTH_LEN + 100], 0x5a);
	}
	vb_frame_pool_give(&side[0].net.pool, f);
	return rc;
}

/* LNK-01, LNK-05, LNK-07 to LNK-09: packets with and without a GRH keep what is in them; each bit
 * that is changed, and each byte that lacks, makes them bad. */
static void packets__are_checked(void **state)
{
	uint8_t bytes[2 * VB_TUNNEL_PACKET_MAX], vl;
	struct vb_path path;

	(void)state;
	for (int has_grh = 0; has_grh < 2; has_grh++) {
		uint32_t len = packet_make(bytes, has_grh != 0);

		assert_int_equal(len, 8 + 40 * has_grh + 12 + 104 + 4 + 2);
		assert_int_equal(packet_read(bytes, len, &path, &vl), 0);
		assert_int_equal(vl, 2);
		assert_true(path.slid == 5 && path.dlid == 9 && path.sl == 3);
		assert_int_equal(vb_path_has_grh(&path), has_grh);
		if (has_grh)
			assert_true(path.hop_limit == 7 && path.flow_label == 0x12345 &&
				    path.dgid.b[15] == 2);
		for (uint32_t bit = 0; bit < len * 8; bit++) {
			bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
			assert_int_equal(packet_read(bytes, len, &path, &vl), -EBADMSG);
			bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
		for (uint32_t cut = 0; cut < len; cut++)
			assert_int_equal(packet_read(bytes, cut, &path, &vl), -EBADMSG);
		assert_int_equal(packet_read(bytes, len + 4, &path, &vl), -EBADMSG);
	}
}

/* The CRCs of what is there. */
static void crcs_mend(uint8_t *bytes, uint32_t len, bool has_grh)
{
	uint32_t at = VB_LRH_LEN + (has_grh ? VB_GRH_LEN : 0), crc;

	crc = has_grh ? vb_icrc_start_global(bytes + VB_LRH_LEN) : vb_icrc_start_local(bytes);
	crc = vb_icrc_headers(crc, bytes + at, VB_BTH_LEN);
	crc = vb_icrc_bytes(crc, bytes + at + VB_BTH_LEN, len - at - VB_BTH_LEN - 6);
	vb_icrc_finish(crc, bytes + len - 6);
	vb_vcrc_put(bytes + len - 2, vb_vcrc(bytes, len - 2));
}

/* A sender whose CRCs are right may still lie: VL15, no DLID, a length, an opcode that nobody has,
 * the form of a GRH, one without a DGID. LNK-02, LNK-05, LNK-10, LNK-12 */
static void packets__that_lie_are_dropped(void **state)
{
	static const struct {
		uint32_t at;
		uint8_t value;
		bool has_grh, is_good;
	} lies[] = {{3, 77, false, true}, {0, 0xf0, false, false}, {3, 0, false, false},
		    {5, 3, false, false}, {8, 0xff, false, false}, {9, 0x3f, false, false},
		    {16, 9, true, true},  {8, 0x50, true, false},  {14, 0x1c, true, false},
		    {13, 1, true, false}, {47, 0, true, false}};
	uint8_t bytes[2 * VB_TUNNEL_PACKET_MAX], vl;
	struct vb_path path;

	(void)state;
	for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
		uint32_t len = packet_make(bytes, lies[i].has_grh);

		bytes[lies[i].at] = lies[i].value;
		vb_vcrc_put(bytes + len - 2, vb_vcrc(bytes, len - 2));
		/* The ICRC covers it, but for what routers change. */
		assert_int_equal(packet_read(bytes, len, &path, &vl), -EBADMSG);
		crcs_mend(bytes, len, lies[i].has_grh);
		assert_int_equal(packet_read(bytes, len, &path, &vl),
				 lies[i].is_good ? 0 : -EBADMSG);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(packets__cross_in_order),     TEST(losses__cost_credits),
	    TEST(losses__heal_in_each_period), TEST(receivers__that_do_not_read_lose_nothing),
	    TEST(packets__are_checked),        TEST(packets__that_lie_are_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
