/* SPDX-License-Identifier: BSD-2-Clause */
/* Sending by a port of a fabric in real time: packets go to its process, as far as that has room.
 * link/ib/carry.h; LNK-21 */
#include "ib_route_env.h"

#define SLOT 9
#define LEN 1024
#define WIRE (12 + LEN + 4)

/* The link below: what it was given, and the room that it has. */
static struct {
	uint32_t sent, copied, copies;
	struct vb_link_copy whom;
	bool is_known;
	uint32_t credit, asked;
} below;

static uint32_t below_send(struct vb_link *l, const struct vb_tx_batch *b, uint32_t from,
			   vb_time now)
{
	(void)l, (void)now;
	below.sent += b->cnt - from;
	return b->cnt - from;
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

static bool below_rx_credit(struct vb_link *l, uint32_t dqpn, vb_time now, uint32_t *credit)
{
	(void)l, (void)now;
	below.asked = dqpn;
	*credit = below.credit;
	return below.is_known;
}

static void below_close(struct vb_link *l)
{
	(void)l;
}

static const struct vb_link_ops below_ops = {.name = "below",
					     .send = below_send,
					     .copy = below_copy,
					     .rx_credit = below_rx_credit,
					     .close = below_close};

static struct vb_link lower, *l;
static struct vb_tx_batch batch;
static struct vb_path path, other;

static int link_begin(void **state)
{
	struct vb_ib_link_config fabric;
	const struct vb_link_config cfg = {.lower = &lower, .fabric = &fabric};

	(void)begin(state);
	map->carrier = VB_IB_CARRIER;
	fabric = (struct vb_ib_link_config){.map = map, .routes = own, .port = {[1] = A1}};
	lower = vb_link_before(NULL, &below_ops);
	assert_int_equal(vb_ib_link_open(&l, &cfg), 0);
	memset(&below, 0, sizeof below);
	below.is_known = true;
	below.credit = 1 << 20;
	path = other = (struct vb_path){.port = 1, .slid = LID_A, .dlid = LID_B};
	for (uint32_t k = 0; k < VB_IB_SLOTS; k++)
		vb_ib_map_routes(map, k)->node = VB_IB_NOWHERE;
	vb_ib_map_routes(map, SLOT)->node = port(A1)->node;
	batch.fate = NULL;
	batch.cnt = 4;
	for (uint32_t i = 0; i < batch.cnt; i++) {
		batch.pkt[i] = (struct vb_tx){.path = &path, .hdr_len = 12, .payload_len = LEN};
		be16_put(batch.pkt[i].hdr + 2, 0xffff);
		batch.pkt[i].hdr[7] = SLOT;
	}
	return 0;
}

static int link_end(void **state)
{
	l->ops->close(l);
	return end(state);
}

static uint32_t sent(void)
{
	return l->ops->send(l, &batch, 0, 0);
}

/* All packets go to the fabric's process, which learns by which port; those of one path together,
 * wherever they lead, and groups as well. */
static void carry__all_that_leaves_the_port(void **state)
{
	(void)state;
	batch.pkt[3].path = &other;
	other.dlid = 0xc003;
	assert_int_equal(sent(), 4);
	assert_int_equal(below.copies, 2);
	assert_int_equal(below.copied, 4);
	assert_int_equal(below.whom.slot, VB_IB_CARRIER);
	assert_int_equal(below.whom.port, port(A1)->number);
	assert_int_equal(below.asked, VB_IB_CARRIER);
	assert_int_equal(below.sent, 0);
	path.dlid = 77; /* nobody's: the fabric finds out */
	other.dlid = LID_A + 100;
	assert_int_equal(sent(), 4);
	assert_int_equal(below.copied, 8);
}

/* A packet to the port itself stays, as ever. */
static void carry__nothing_to_itself(void **state)
{
	(void)state;
	port(A1)->lmc = 1;
	path.dlid = LID_A + 1;
	assert_int_equal(sent(), 4);
	assert_int_equal(below.copies, 0);
	assert_int_equal(below.sent, 4);
	/* A port without a LID has nothing of its own. */
	port(A1)->lid = 0;
	assert_int_equal(sent(), 4);
	assert_int_equal(below.copied, 4);
}

/* LNK-21: no more than there is room for, and nothing is lost where there is none. */
static void carry__as_much_as_there_is_room(void **state)
{
	uint32_t credit = 0;

	(void)state;
	below.credit = 3 * WIRE - 1;
	assert_int_equal(sent(), 2);
	assert_int_equal(below.copied, 2);
	below.credit = WIRE - 1;
	assert_int_equal(sent(), 0);
	assert_int_equal(below.copied, 2);
	assert_true(vb_link_rx_credit(l, 0x55, 0, &credit));
	assert_int_equal(credit, WIRE - 1);
	assert_int_equal(below.asked, VB_IB_CARRIER);
	/* The fabric has ended: nobody waits for it. */
	below.is_known = false;
	assert_true(vb_link_rx_credit(l, 0x55, 0, &credit));
	assert_int_equal(credit, UINT32_MAX);
	assert_int_equal(sent(), 4);
}

/* A packet that a fault damages is dropped on the wire. */
static void carry__no_damaged_packets(void **state)
{
	const struct vb_tx_fate fate[4] = {[1] = {.damage = 5}};

	(void)state;
	batch.fate = fate;
	assert_int_equal(sent(), 4);
	assert_int_equal(below.copied, 3);
	assert_int_equal(below.sent, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(carry__all_that_leaves_the_port, link_begin, link_end),
	    cmocka_unit_test_setup_teardown(carry__nothing_to_itself, link_begin, link_end),
	    cmocka_unit_test_setup_teardown(carry__as_much_as_there_is_room, link_begin, link_end),
	    cmocka_unit_test_setup_teardown(carry__no_damaged_packets, link_begin, link_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
