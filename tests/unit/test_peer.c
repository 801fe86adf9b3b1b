/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The window of bytes in flight towards one address: which QP waits, and that it is let in,
 * whatever becomes of the QP whose turn it was. And the room that a receiver has.
 */
#include "core_env.h"

#define LEN 1024u
#define PACKET (LEN + VB_PACKET_OVERHEAD)

static struct env env;
static struct vb_qp *qp[3];

/* Three QPs towards one host, and a window of @packets. */
static void setup(uint32_t packets)
{
	env_config(&env);
	env.cfg.peer_window_bytes = packets * PACKET;
	env_open(&env, 64);
	for (uint32_t i = 0; i < 3; i++)
		qp[i] = env_rts(&env, VB_QPT_RC, 2, 0x21 + i);
}

static void ack(uint32_t i, uint32_t psn)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_ACK,
			   .dqpn = vb_qp_number(qp[i]),
			   .psn = vb_psn(psn),
			   .aeth.syndrome = VB_CREDIT_UNLIMITED};

	assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_OK);
}

/* The packets that leave now, all of QP @i. */
static void expect_from(uint32_t i, uint32_t cnt)
{
	struct vb_tx_batch b;

	assert_int_equal(env_tx(&env, &b), cnt);
	for (uint32_t k = 0; k < cnt; k++)
		assert_int_equal(env_hdr(&b.pkt[k]).dqpn, 0x21 + i);
}

static void window__bounds_what_is_in_flight(void **state)
{
	(void)state;
	setup(3);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(env_send(&env, qp[0], i, VB_WR_RDMA_WRITE, LEN), 0);
	expect_from(0, 3);
	assert_int_equal(qp[0]->peer->inflight, 3 * PACKET);
	ack(0, 0);
	expect_from(0, 1);
	ack(0, 3);
	expect_from(0, 1);
	ack(0, 4);
	assert_int_equal(qp[0]->peer->inflight, 0);
	env_close(&env);
}

/* A message larger than the window goes alone, not never. */
static void window__smaller_than_a_packet(void **state)
{
	(void)state;
	setup(1);
	env.hca->cfg.peer_window_bytes = 1;
	assert_int_equal(env_send(&env, qp[0], 1, VB_WR_RDMA_WRITE, 3000), 0);
	for (uint32_t psn = 0; psn < 3; psn++) {
		expect_from(0, 1);
		expect_from(0, 0);
		ack(0, psn);
	}
	(void)env_wc(&env, 1, VB_WC_SUCCESS);
	env_close(&env);
}

static void window__is_of_the_address(void **state)
{
	struct vb_qp *elsewhere;

	(void)state;
	setup(1);
	elsewhere = env_rts(&env, VB_QPT_RC, 3, 0x24);
	assert_ptr_equal(qp[0]->peer, qp[1]->peer);
	assert_ptr_not_equal(qp[0]->peer, elsewhere->peer);
	assert_int_equal(env_send(&env, qp[0], 1, VB_WR_RDMA_WRITE, LEN), 0);
	assert_int_equal(env_send(&env, qp[1], 1, VB_WR_RDMA_WRITE, LEN), 0);
	assert_int_equal(env_send(&env, elsewhere, 1, VB_WR_RDMA_WRITE, LEN), 0);

	struct vb_tx_batch b;

	assert_int_equal(env_tx(&env, &b), 2);
	assert_int_equal(env_hdr(&b.pkt[0]).dqpn, 0x21);
	assert_int_equal(env_hdr(&b.pkt[1]).dqpn, 0x24);
	ack(0, 0);
	expect_from(1, 1);
	env_close(&env);
}

/* QP 0 holds the window, 1 and 2 wait in this order. */
static void two_wait(void)
{
	setup(1);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(env_send(&env, qp[i], i, VB_WR_RDMA_WRITE, LEN), 0);
		expect_from(i, i == 0);
	}
}

static void waiting__in_order(void **state)
{
	(void)state;
	two_wait();
	ack(0, 0);
	expect_from(1, 1);
	ack(1, 0);
	expect_from(2, 1);
	env_close(&env);
}

/* A QP that holds the window and fails gives it up. */
static void waiting__for_one_that_fails(void **state)
{
	struct vb_qp_attr a = {.qp_state = VB_QPS_ERR};

	(void)state;
	two_wait();
	assert_int_equal(vb_qp_modify(qp[0], &a, VB_QP_STATE, 0), 0);
	assert_int_equal(qp[0]->peer->inflight, 0);
	expect_from(1, 1);
	env_close(&env);
}

/* The one that was let in goes before it has sent: the next has its turn. */
static void waiting__woken_and_then_reset(void **state)
{
	struct vb_qp_attr a = {.qp_state = VB_QPS_RESET};

	(void)state;
	two_wait();
	ack(0, 0);
	assert_int_equal(vb_qp_modify(qp[1], &a, VB_QP_STATE, 0), 0);
	expect_from(2, 1);
	env_close(&env);
}

static void waiting__woken_and_then_told_to_fail(void **state)
{
	struct vb_qp_attr a = {.qp_state = VB_QPS_ERR};

	(void)state;
	two_wait();
	ack(0, 0);
	assert_int_equal(vb_qp_modify(qp[1], &a, VB_QP_STATE, 0), 0);
	expect_from(2, 1);
	env_close(&env);
}

/* Room for two lets in two. */
static void waiting__as_many_as_there_is_room_for(void **state)
{
	struct vb_tx_batch b;

	(void)state;
	setup(2);
	assert_int_equal(env_send(&env, qp[0], 0, VB_WR_RDMA_WRITE, 2 * LEN), 0);
	expect_from(0, 2);
	for (uint32_t i = 1; i < 3; i++) {
		assert_int_equal(env_send(&env, qp[i], i, VB_WR_RDMA_WRITE, LEN), 0);
		expect_from(i, 0);
	}
	ack(0, 1);
	assert_int_equal(env_tx(&env, &b), 2);
	assert_int_equal(env_hdr(&b.pkt[0]).dqpn, 0x22);
	assert_int_equal(env_hdr(&b.pkt[1]).dqpn, 0x23);
	env_close(&env);
}

static void waiting__woken_and_then_in_error(void **state)
{
	struct vb_hdr h;

	(void)state;
	two_wait();
	ack(0, 0);
	/* A request that is refused ends QP 1: the NAK leaves, and QP 2's packet. */
	h = (struct vb_hdr){.opcode = VB_TRANSPORT_RC | VB_OP_WRITE_ONLY,
			    .dqpn = vb_qp_number(qp[1]),
			    .reth = {.va = 1, .rkey = 0xdead00, .len = 8}};
	assert_int_equal(env_rx(&env, 2, &h, 8), VB_VERDICT_ACCESS);

	struct vb_tx_batch b;

	assert_int_equal(env_tx(&env, &b), 2);
	assert_int_equal(env_hdr(&b.pkt[0]).opcode, VB_TRANSPORT_RC | VB_OP_ACK);
	assert_int_equal(env_hdr(&b.pkt[1]).dqpn, 0x23);
	env_close(&env);
}

static void waiting__woken_and_then_destroyed(void **state)
{
	(void)state;
	two_wait();
	ack(0, 0);
	assert_int_equal(vb_qp_destroy(qp[1]), 0);
	expect_from(2, 1);
	env_close(&env);
}

/* QP 0 moves to another address with all that is in flight. */
static void waiting__for_one_that_moves_away(void **state)
{
	struct vb_qp_attr a = env_attr(3, 0);

	(void)state;
	two_wait();
	a.qp_state = VB_QPS_SQD;
	assert_int_equal(vb_qp_modify(qp[0], &a, VB_QP_STATE, 0), 0);
	assert_int_equal(vb_qp_modify(qp[0], &a, VB_QP_AV, 0), 0);
	assert_int_equal(qp[0]->peer->inflight, PACKET);
	expect_from(1, 1);
	env_close(&env);
}

/* A QP that waits and moves to another address waits there, or not at all. */
static void waiting__moves_away(void **state)
{
	struct vb_qp_attr a = env_attr(3, 0);

	(void)state;
	two_wait();
	a.qp_state = VB_QPS_SQD;
	assert_int_equal(vb_qp_modify(qp[1], &a, VB_QP_STATE, 0), 0);
	assert_int_equal(vb_qp_modify(qp[1], &a, VB_QP_AV, 0), 0);
	a.qp_state = VB_QPS_RTS;
	assert_int_equal(vb_qp_modify(qp[1], &a, VB_QP_STATE, 0), 0);
	expect_from(1, 1);
	ack(0, 0);
	expect_from(2, 1);
	env_close(&env);
}

/* With any window, a message asks for acknowledgement often enough to go on without a timeout. */
static void window__never_waits_for_the_timer(void **state)
{
	static const enum vb_wr_opcode ops[] = {VB_WR_RDMA_WRITE, VB_WR_SEND, VB_WR_RDMA_READ};

	(void)state;
	for (uint32_t window = 1; window < 24 * PACKET; window += 1 + window / 7) {
		for (int op = 0; op < 3; op++) {
			struct vb_qp *pair[2];

			env_config(&env);
			env.cfg.peer_window_bytes = window;
			env.cfg.read_piece_bytes = window / 2;
			env_open(&env, 64);
			env_pair(&env, VB_QPT_RC, pair);
			for (int i = 0; i < 2; i++) { /* both ways at once */
				assert_int_equal(env_recv(&env, pair[i], 1, ENV_MEM / 2), 0);
				assert_int_equal(env_send(&env, pair[i], 2, ops[op], ENV_MEM / 2),
						 0);
			}
			env_loop(&env);
			assert_int_equal(vb_qp_unacked(pair[0]) + vb_qp_unacked(pair[1]), 0);
			assert_int_equal(pair[0]->peer->inflight, 0);
			assert_int_equal(
			    vb_cq_poll(env.cq, (struct vb_wc[8]){{.status = VB_WC_SUCCESS}}, 8),
			    ops[op] == VB_WR_SEND ? 4 : 2);
			env_close(&env);
		}
	}
}

/* The room of each QP's receiver, and how often it was asked for. */
static uint32_t room_of[256], asked;

static uint32_t room(void *ctx, const struct vb_path *path, uint32_t dqpn, vb_time now)
{
	assert_ptr_equal(ctx, &env);
	assert_int_equal(path->dgid.b[15], 2);
	assert_int_equal(now, env.now);
	asked++;
	return room_of[dqpn];
}

static void setup_room(void)
{
	env_config(&env);
	env.cfg.rx_credit = room;
	env.cfg.receiver_ctx = &env;
	env_open(&env, 64);
	asked = 0;
}

/* A QP sends what its receiver has room for, a packet more for the rest of one, and looks again a
 * little later. */
static void room__of_a_connection(void **state)
{
	struct vb_qp *q;

	(void)state;
	setup_room();
	env.now = 1000;
	q = env_rts(&env, VB_QPT_RC, 2, 0x21);
	assert_int_equal(env_send(&env, q, 1, VB_WR_RDMA_WRITE, 8 * LEN), 0);
	room_of[0x21] = LEN - 1;
	expect_from(0, 0);
	assert_int_equal(asked, 1);
	assert_int_equal(vb_hca_poll_timeout(env.hca), env.now + VB_RX_CREDIT_RETRY_NS);
	assert_int_equal(env.counters.v[VB_COUNTER_port_xmit_wait], 1);
	expect_from(0, 0); /* not asked again before */
	assert_int_equal(asked, 1);
	room_of[0x21] = 3 * LEN;
	env.now += VB_RX_CREDIT_RETRY_NS;
	vb_hca_handle_timeout(env.hca, env.now);
	expect_from(0, 2); /* headers take their part of it */
	room_of[0x21] = UINT32_MAX;
	env.now += VB_RX_CREDIT_RETRY_NS;
	vb_hca_handle_timeout(env.hca, env.now);
	expect_from(0, 6);
	assert_int_equal(asked, 3); /* once a turn */
	env_close(&env);
}

/* UD asks for each destination. */
static void room__of_datagrams(void **state)
{
	struct vb_ah ah = {.pd = NULL, .path = env_path(2)};
	struct vb_tx_batch b;
	struct vb_sge sge;
	struct vb_qp *q;

	(void)state;
	setup_room();
	q = env_rts(&env, VB_QPT_UD, 2, 0);
	ah.pd = env.pd;
	sge = env_sge(&env, 0, 8);
	room_of[1] = room_of[2] = UINT32_MAX;
	room_of[3] = 4095;
	for (uint32_t i = 1; i <= 4; i++) {
		struct vb_send_wr wr = {
		    .sge = &sge, .sge_cnt = 1, .opcode = VB_WR_SEND, .ah = &ah, .dqpn = i};

		assert_int_equal(vb_qp_post_send(q, &wr, 0), 0);
	}
	assert_int_equal(env_tx(&env, &b), 2);
	assert_int_equal(env_hdr(&b.pkt[1]).dqpn, 2);
	room_of[3] = 4096;
	room_of[4] = 4096;
	env.now = vb_hca_poll_timeout(env.hca);
	vb_hca_handle_timeout(env.hca, env.now);
	assert_int_equal(env_tx(&env, &b), 2);
	assert_int_equal(asked, 5);
	env_close(&env);
}

/* A QP towards a receiver with room for @packets, GSO batches of 4, and a message of @length bytes.
 */
static struct vb_qp *setup_gso(uint32_t packets, uint32_t length)
{
	struct vb_qp *q;

	env_config(&env);
	env.cfg.rx_credit = room;
	env.cfg.receiver_ctx = &env;
	env.cfg.gso_bytes = 5 * (LEN + VB_BTH_LEN + VB_ICRC_LEN) - 1;
	env_open(&env, 64);
	env.now = VB_SEC;
	room_of[0x21] = packets * (LEN + 64);
	q = env_rts(&env, VB_QPT_RC, 2, 0x21);
	assert_int_equal(env_send(&env, q, 1, VB_WR_RDMA_WRITE, length), 0);
	return q;
}

/* It looks again, when there is room for @packets, and @cnt leave. */
static void expect_later(uint32_t packets, uint32_t cnt)
{
	room_of[0x21] = packets * (LEN + 64);
	env.now += VB_RX_CREDIT_RETRY_NS;
	assert_int_equal(vb_hca_poll_timeout(env.hca), env.now);
	vb_hca_handle_timeout(env.hca, env.now);
	expect_from(0, cnt);
}

/* Packets that leave together are not torn apart: the first packet and a GSO batch, then a GSO
 * batch, then the rest of the message, which is no whole GSO batch. */
static void batch__not_torn_by_the_room(void **state)
{
	struct vb_qp *q = setup_gso(0, 8 * LEN);

	(void)state;
	expect_from(0, 0);
	expect_later(4, 0);
	expect_later(5, 5);
	expect_later(2, 0);
	expect_later(3, 3);
	/* Nor is the next one, in one look with the end of the last. */
	assert_int_equal(env_send(&env, q, 2, VB_WR_RDMA_WRITE, 4 * LEN), 0);
	assert_int_equal(env_send(&env, q, 3, VB_WR_RDMA_WRITE, 8 * LEN), 0);
	room_of[0x21] = 8 * (LEN + 64);
	expect_from(0, 4);
	expect_later(9, 8);
	env_close(&env);
}

/* Nor is it torn by the window, which then is that much larger, for nobody else: the next packet
 * waits for as many bytes to be acknowledged. */
static void batch__not_torn_by_the_window(void **state)
{
	struct vb_qp *q = setup_gso(100, 8 * LEN), *other = env_rts(&env, VB_QPT_RC, 2, 0x22);

	(void)state;
	env.hca->cfg.peer_window_bytes = 6 * PACKET;
	room_of[0x22] = room_of[0x21];
	assert_int_equal(env_send(&env, other, 2, VB_WR_RDMA_WRITE, LEN), 0);
	qp[0] = q;
	/* A whole GSO batch, one packet, and the rest of the GSO batch that it begins. */
	expect_from(0, 8);
	assert_int_equal(q->peer->inflight, 8 * PACKET);
	ack(0, 1);
	expect_from(0, 0);
	ack(0, 2);
	expect_from(1, 1);
	env_close(&env);
}

/* As many QPs as there are add one GSO batch to the window, not one each, though their rates have
 * them all send a GSO batch packet by packet. */
static void batch__of_many_with_a_rate(void **state)
{
	const uint64_t most = 64 * PACKET;
	struct vb_qp *q = setup_gso(100, 64 * LEN);
	struct vb_tx_batch b;

	(void)state;
	env.hca->cfg.rx_credit = NULL;
	env.hca->cfg.peer_window_bytes = (uint32_t)most;
	for (uint32_t i = 1; i < 100; i++) {
		struct vb_qp *other = env_rts(&env, VB_QPT_RC, 2, 0x21 + i);

		assert_int_equal(vb_qp_set_rate(other, 100000, LEN, env.now), 0);
		assert_int_equal(env_send(&env, other, 1, VB_WR_RDMA_WRITE, 64 * LEN), 0);
	}
	for (uint32_t i = 0; i < 1000; i++) {
		(void)env_tx(&env, &b);
		assert_uint_in_range(q->peer->inflight, 0, most + 4 * PACKET);
		env.now = vb_hca_poll_timeout(env.hca);
		vb_hca_handle_timeout(env.hca, env.now);
	}
	env_close(&env);
}

/* Short messages and READ requests are nobody's GSO batch. */
static void batch__of_one_packet(void **state)
{
	struct vb_qp *q = setup_gso(2, LEN);

	(void)state;
	assert_int_equal(env_send(&env, q, 2, VB_WR_RDMA_READ, 8 * LEN), 0);
	expect_from(0, 2);
	env_close(&env);
}

/* Others take what there is, packet by packet: after a while a part leaves, and the next part as
 * well; behind a whole GSO batch it waits anew. */
static void batch__waits_for_a_while_only(void **state)
{
	struct vb_qp *q = setup_gso(4, 8 * LEN);

	(void)state;
	expect_from(0, 0);
	for (vb_dur d = VB_RX_CREDIT_RETRY_NS; d < VB_GSO_WAIT_NS; d += VB_RX_CREDIT_RETRY_NS)
		expect_later(4, 0);
	expect_later(4, 4);
	expect_later(1, 1);
	expect_later(3, 3);
	assert_int_equal(env_send(&env, q, 2, VB_WR_RDMA_WRITE, 8 * LEN), 0);
	room_of[0x21] = 4 * (LEN + 64);
	expect_from(0, 0);
	env_close(&env);
}

/* A QP that was reset has waited for nothing yet. */
static void batch__wait_ends_with_the_qp(void **state)
{
	struct vb_qp *q = setup_gso(4, 8 * LEN);
	struct vb_qp_attr reset = {.qp_state = VB_QPS_RESET};

	(void)state;
	expect_from(0, 0);
	assert_int_not_equal(q->egress.gso_at, 0);
	assert_int_equal(vb_qp_modify(q, &reset, VB_QP_STATE, env.now), 0);
	assert_int_equal(q->egress.gso_at, 0);
	assert_false(q->egress.batch);
	env_close(&env);
}

/* Room that a part of a message makes is room for who waits. */
static void waiting__for_a_part_of_a_message(void **state)
{
	(void)state;
	setup(3);
	assert_int_equal(env_send(&env, qp[0], 0, VB_WR_RDMA_WRITE, 3 * LEN), 0);
	expect_from(0, 3);
	assert_int_equal(env_send(&env, qp[1], 1, VB_WR_RDMA_WRITE, LEN), 0);
	expect_from(1, 0);
	ack(0, 0);
	expect_from(1, 1);
	env_close(&env);
}

/* Every address has one peer, also once the table of them has grown. */
static void peers__found_in_a_table_that_has_grown(void **state)
{
	static struct vb_peer *peer[300];
	struct vb_gid gid = env_gid(2);

	(void)state;
	env_config(&env);
	env_open(&env, 64);
	for (int again = 0; again < 2; again++) {
		for (uint32_t i = 0; i < 300; i++) {
			struct vb_peer *p;

			gid.b[14] = (uint8_t)(i >> 4);
			gid.b[15] = (uint8_t)(i & 15);
			p = vb_peer_get(env.hca, &gid);
			if (again)
				assert_ptr_equal(p, peer[i]);
			peer[i] = p;
		}
	}
	assert_int_equal(env.hca->peer_cnt, 300);
	for (uint32_t i = 0; i < 600; i++)
		vb_peer_put(env.hca, peer[i % 300]);
	assert_int_equal(env.hca->peer_cnt, 0);
	env_close(&env);
}

/* While the receiver has no room, no answer can come: a timer that fires costs no retry. */
static void room__none_when_the_timer_fires(void **state)
{
	struct vb_qp *q;

	(void)state;
	env_config(&env);
	env.cfg.rx_credit = room;
	env.cfg.receiver_ctx = &env;
	env_open(&env, 64);
	room_of[0x21] = LEN + 64;
	q = env_rts(&env, VB_QPT_RC, 2, 0x21);
	assert_int_equal(env_send(&env, q, 1, VB_WR_RDMA_WRITE, 2 * LEN), 0);
	expect_from(0, 1);
	room_of[0x21] = 0;
	env.now = q->timer[VB_TIMER_ACK];
	vb_hca_handle_timeout(env.hca, env.now);
	assert_int_equal(env.counters.v[VB_COUNTER_local_ack_timeout_err], 0);
	assert_int_equal(q->rto.retry_left, q->attr.retry_cnt);
	assert_true(q->timer[VB_TIMER_ACK] > env.now);
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(window__bounds_what_is_in_flight),
	    cmocka_unit_test(window__smaller_than_a_packet),
	    cmocka_unit_test(window__is_of_the_address),
	    cmocka_unit_test(waiting__in_order),
	    cmocka_unit_test(waiting__for_one_that_fails),
	    cmocka_unit_test(waiting__woken_and_then_reset),
	    cmocka_unit_test(waiting__as_many_as_there_is_room_for),
	    cmocka_unit_test(waiting__woken_and_then_told_to_fail),
	    cmocka_unit_test(waiting__woken_and_then_in_error),
	    cmocka_unit_test(waiting__woken_and_then_destroyed),
	    cmocka_unit_test(waiting__for_one_that_moves_away),
	    cmocka_unit_test(window__never_waits_for_the_timer),
	    cmocka_unit_test(waiting__moves_away),
	    cmocka_unit_test(room__of_a_connection),
	    cmocka_unit_test(room__of_datagrams),
	    cmocka_unit_test(batch__not_torn_by_the_room),
	    cmocka_unit_test(batch__not_torn_by_the_window),
	    cmocka_unit_test(batch__of_many_with_a_rate),
	    cmocka_unit_test(batch__of_one_packet),
	    cmocka_unit_test(batch__waits_for_a_while_only),
	    cmocka_unit_test(batch__wait_ends_with_the_qp),
	    cmocka_unit_test(waiting__for_a_part_of_a_message),
	    cmocka_unit_test(peers__found_in_a_table_that_has_grown),
	    cmocka_unit_test(room__none_when_the_timer_fires),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
