/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A target whose SRQs are in several adapters of one host, see core/share/migration.h: requests of
 * every kind in any order, with loss and full queues, what is refused, and who goes when. IBT-22
 */
#include "xrc_env.h"

#define ROUNDS 400u
#define SENDS 8u   /* cells 0 ... 7 of a host take SENDs, */
#define WRITES 14u /* ... this one WRITEs, is READ, and the last is counted in */
#define COUNTS 15u

/* One message of a random kind to a random adapter, and everything that it has to do there. */
static void exchange(uint32_t round, uint64_t *counted)
{
	enum vb_wr_opcode op = (enum vb_wr_opcode[]){
	    VB_WR_SEND,           VB_WR_SEND_IMM,  VB_WR_RDMA_WRITE,
	    VB_WR_RDMA_WRITE_IMM, VB_WR_RDMA_READ, VB_WR_FETCH_ADD}[vb_rng_below(&w.rng, 6)];
	uint32_t host = OWNER + vb_rng_below(&w.rng, 3), cell = round % SENDS;
	uint32_t len = 1 + vb_rng_below(&w.rng, CELL - 1);

	if (op == VB_WR_SEND || op == VB_WR_SEND_IMM || op == VB_WR_RDMA_WRITE_IMM)
		post_srq(host, cell, round);
	if (op == VB_WR_FETCH_ADD) {
		post(host, op, COUNTS, COUNTS, 8);
		counted[host]++;
		return;
	}
	if (op != VB_WR_RDMA_READ)
		memset(cell_of(INI, cell), (int)(round & 0xff), CELL);
	post(host, op, op == VB_WR_RDMA_READ ? SENDS + cell % 4 : cell, WRITES, len);
}

static void all_kinds(uint32_t loss, uint32_t room)
{
	uint64_t counted[HOSTS] = {0};
	uint32_t received = 0;
	struct vb_wc wc;

	world_open();
	w.loss = loss;
	w.room = room;
	for (uint32_t r = 0; r < ROUNDS; r += SENDS) {
		for (uint32_t k = 0; k < SENDS; k++)
			exchange(r + k, counted);
		world_run(VB_NEVER);
		assert_int_equal(done_cnt(VB_WC_SUCCESS), SENDS);
		for (uint32_t i = OWNER; i < HOSTS; i++) {
			while (vb_cq_poll(w.env[i].cq, &wc, 1) == 1) {
				assert_int_equal(wc.status, VB_WC_SUCCESS);
				assert_int_equal(wc.qpn, vb_qp_number(w.tgt));
				assert_int_equal(wc.src_qpn, vb_qp_number(w.ini));
				if (wc.flags & VB_WC_WITH_IMM)
					assert_int_equal(wc.imm, wc.wr_id % SENDS);
				if (wc.opcode == VB_WC_RECV)
					assert_int_equal(*cell_of(i, wc.wr_id % SENDS),
							 wc.wr_id & 0xff);
				received++;
			}
			assert_int_equal(vb_rq_cnt(&w.srq[i]->rq), 0);
		}
	}
	assert_true(received > ROUNDS / 4);
	for (uint32_t i = OWNER; i < HOSTS; i++)
		assert_int_equal(*(uint64_t *)(void *)cell_of(i, COUNTS), counted[i]);
	assert_true(w.said[VB_XRC_MIGRATE] > ROUNDS / 10);
	assert_int_equal(w.said[VB_XRC_RETURN] + w.tgt->mig->is_migrated, w.said[VB_XRC_MIGRATE]);
	assert_true(w.said[VB_XRC_PACKET] > 0);
	world_close();
}

static void requests__of_every_kind(void **state)
{
	(void)state;
	all_kinds(0, 16);
}

static void requests__with_loss_and_full_queues(void **state)
{
	(void)state;
	all_kinds(7, 1);
}

/* Each byte of a READ is what stands in the memory of the adapter that was asked. */
static void read__from_the_adapter_of_the_srq(void **state)
{
	(void)state;
	world_open();
	for (uint32_t i = OWNER; i < HOSTS; i++) {
		memset(cell_of(i, WRITES), 0x10 * (int)i, CELL);
		post(i, VB_WR_RDMA_READ, i, WRITES, CELL);
	}
	world_run(VB_NEVER);
	assert_int_equal(done_cnt(VB_WC_SUCCESS), 3);
	for (uint32_t i = OWNER; i < HOSTS; i++) {
		for (uint32_t k = 0; k < CELL; k++)
			assert_int_equal(cell_of(INI, i)[k], 0x10 * i);
	}
	world_close();
}

/* RNR NAK, and the message arrives when there is a receive WQE. IBT-67 */
static void send__finds_no_receive_wqe(void **state)
{
	struct vb_wc wc;

	(void)state;
	world_open();
	post(LEFT, VB_WR_SEND, 0, 0, 300);
	world_run(10 * VB_MSEC);
	assert_int_equal(done_cnt(VB_WC_SUCCESS), 0);
	post_srq(LEFT, 1, 9);
	world_run(VB_NEVER);
	assert_int_equal(done_cnt(VB_WC_SUCCESS), 1);
	assert_int_equal(vb_cq_poll(w.env[LEFT].cq, &wc, 1), 1);
	assert_int_equal(wc.wr_id, 9);
	world_close();
}

/* The initiator is told, both QPs fail, and the owner's event says why. */
static void refused(enum vb_wc_status status, enum vb_async event)
{
	world_run(VB_NEVER);
	assert_int_equal(done_cnt(status), 1);
	assert_int_equal(vb_qp_get_state(w.tgt), VB_QPS_ERR);
	assert_int_equal(w.events[OWNER] & ~(1u << VB_ASYNC_COMM_EST), 1u << event);
	assert_int_equal(w.env[LEFT].hca->qp_cnt, 0);
	world_close();
}

static void write__to_a_key_of_the_owner(void **state)
{
	(void)state;
	world_open();
	/* The second key of the owner; of the other there is one only. */
	struct vb_mr_attr a = {
	    .iova = ENV_IOVA, .length = ENV_MEM, .host = w.env[OWNER].mem, .access = ENV_ACCESS};
	struct vb_mr *keep = w.env[LEFT].mr;
	struct vb_mr *mr;

	assert_int_equal(vb_mr_create(w.env[OWNER].pd, &a, &mr), 0);
	w.env[LEFT].mr = mr;
	post(LEFT, VB_WR_RDMA_WRITE, 0, WRITES, 8);
	w.env[LEFT].mr = keep;
	refused(VB_WC_REM_ACCESS_ERR, VB_ASYNC_QP_ACCESS_ERR);
}

static void send__to_an_srq_of_another_domain(void **state)
{
	(void)state;
	world_open();
	vb_xrcd_share(w.xrcd[LEFT], &(struct vb_xrcd_name){1, 78});
	post(LEFT, VB_WR_SEND, 0, 0, 8);
	refused(VB_WC_REM_INV_REQ_ERR, VB_ASYNC_QP_REQ_ERR);
}

static void send__to_an_srq_that_has_gone(void **state)
{
	(void)state;
	world_open_migrated();
	post(LEFT, VB_WR_SEND, 0, 0, 8);
	assert_int_equal(vb_srq_destroy(w.srq[LEFT]), 0);
	refused(VB_WC_REM_INV_REQ_ERR, VB_ASYNC_QP_REQ_ERR);
}

static void send__to_nobody(void **state)
{
	(void)state;
	world_open();
	post(LEFT, VB_WR_SEND, 0, 0, 8);
	host_kill(LEFT);
	world_run(VB_NEVER);
	assert_int_equal(done_cnt(VB_WC_REM_INV_REQ_ERR), 1);
	world_close();
}

/* The adapter that has the state goes without a word: nobody knows what it has done. */
static void holder__is_killed(void **state)
{
	(void)state;
	world_open_migrated();
	w.env[LEFT].cfg.xrc_send = NULL;
	w.gone[LEFT] = true;
	vb_xrc_probe(w.env[OWNER].hca, w.env[OWNER].now);
	world_run(VB_NEVER);
	assert_int_equal(vb_qp_get_state(w.tgt), VB_QPS_ERR);
	assert_true(w.events[OWNER] & 1u << VB_ASYNC_QP_FATAL);
	env_close(&w.env[LEFT]);
	world_close();
}

/* A message about a migration before this one, which comes late, ends nothing. */
static void message__of_an_earlier_migration(void **state)
{
	struct vb_xrc_msg m = {.magic = VB_XRC_MAGIC, .kind = VB_XRC_GONE};
	struct env *e = &w.env[OWNER];

	(void)state;
	world_open_migrated();
	m.qpn = w.tgt->qpn;
	m.name = w.xrcd[OWNER]->name;
	m.serial = w.tgt->mig->serial - 1;
	assert_int_equal(vb_xrc_take_message(e->hca, FIRST_SLOT + LEFT, &m, sizeof m, e->now), 0);
	assert_true(w.tgt->mig->is_migrated);
	assert_int_equal(vb_qp_get_state(w.tgt), VB_QPS_RTR);
	m.serial = w.tgt->mig->serial;
	assert_int_equal(vb_xrc_take_message(e->hca, FIRST_SLOT + LEFT, &m, sizeof m, e->now), 0);
	assert_int_equal(vb_qp_get_state(w.tgt), VB_QPS_ERR);
	world_close();
}

/* A holder that closes its domain gives the state back. */
static void holder__ends_in_order(void **state)
{
	(void)state;
	world_open_migrated();
	assert_int_equal(vb_srq_destroy(w.srq[LEFT]), 0);
	assert_int_equal(vb_xrcd_destroy(w.xrcd[LEFT]), 0);
	post_srq(RIGHT, 0, 2);
	post(RIGHT, VB_WR_SEND, 0, 0, 8);
	post(OWNER, VB_WR_RDMA_WRITE, 0, WRITES, 8);
	world_run(VB_NEVER);
	assert_int_equal(done_cnt(VB_WC_SUCCESS), 2);
	world_close();
}

/* A holder with nothing to do from one probe to the next gives it back, and may be killed. */
static void holder__is_idle(void **state)
{
	(void)state;
	world_open_migrated();
	vb_xrc_probe(w.env[LEFT].hca, w.env[LEFT].now);
	world_run(VB_NEVER);
	assert_true(w.tgt->mig->is_migrated);
	vb_xrc_probe(w.env[LEFT].hca, w.env[LEFT].now);
	world_run(VB_NEVER);
	assert_false(w.tgt->mig->is_migrated);
	host_kill(LEFT);
	vb_xrc_probe(w.env[OWNER].hca, w.env[OWNER].now);
	post(OWNER, VB_WR_RDMA_WRITE, 0, WRITES, 8);
	world_run(VB_NEVER);
	assert_int_equal(done_cnt(VB_WC_SUCCESS), 1);
	world_close();
}

/* An ACK that is due when the state goes back is the owner's to send, and only its. */
static void holder__leaves_what_is_due(void **state)
{
	struct vb_tx_batch b;
	struct vb_qp *qp;

	(void)state;
	world_open_migrated();
	qp = vb_container_of(w.xrcd[LEFT]->targets.next, struct vb_qp, target);
	assert_true(vb_xrc_is_holder(qp));
	vb_xrc_probe(w.env[LEFT].hca, w.env[LEFT].now);
	qp->resp.ack_due = true;
	vb_xrc_probe(w.env[LEFT].hca, w.env[LEFT].now);
	(void)vb_xrc_run(w.env[LEFT].hca, w.env[LEFT].now);
	assert_false(qp->mig->is_migrated);
	assert_false(qp->resp.ack_due);
	assert_int_equal(env_tx(&w.env[LEFT], &b), 0);
	world_run(VB_NEVER);
	world_close();
}

/* It has a number, as every QP, but nobody reaches it by that. */
static void holder__is_addressed(void **state)
{
	struct vb_hdr hdr = {.opcode = VB_TRANSPORT_XRC | VB_OP_SEND_ONLY};
	struct env *e = &w.env[LEFT];
	struct vb_qp *holder;

	(void)state;
	world_open();
	post_srq(LEFT, 0, 1);
	post_srq(LEFT, 1, 2);
	post(LEFT, VB_WR_SEND, 0, 0, 8);
	world_run(VB_NEVER);
	holder = vb_container_of(w.xrcd[LEFT]->targets.next, struct vb_qp, target);
	assert_true(vb_xrc_is_holder(holder));
	hdr.dqpn = vb_qp_number(holder);
	hdr.psn = holder->resp.epsn;
	hdr.xrc_srqn = vb_srq_number(w.srq[LEFT]);
	assert_int_equal(env_rx(e, 1, &hdr, 8), VB_VERDICT_UNEXPECTED);
	env_no_event(e);
	assert_null(vb_xrcd_target(w.xrcd[LEFT], hdr.dqpn));
	world_close();
}

/* In the middle of a message the SRQ is the one that its first packet named, whatever a later
 * packet names: the state goes where the receive WQE is. */
static void message__keeps_its_srq(void **state)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_XRC | VB_OP_SEND_FIRST};
	struct env *e = &w.env[OWNER];

	(void)state;
	world_open();
	post_srq(LEFT, 0, 1);
	h.dqpn = w.tgt->qpn;
	h.psn = w.tgt->resp.epsn;
	h.xrc_srqn = vb_srq_number(w.srq[LEFT]);
	assert_int_equal(env_rx(e, 1, &h, 256), VB_VERDICT_OK);
	world_run(0);
	for (int i = 0; i < 2; i++) {
		vb_xrc_probe(w.env[LEFT].hca, w.env[LEFT].now);
		world_run(0);
	}
	assert_false(w.tgt->mig->is_migrated);
	h.opcode = VB_TRANSPORT_XRC | VB_OP_SEND_LAST;
	h.psn = w.tgt->resp.epsn;
	h.xrc_srqn = vb_srq_number(w.srq[RIGHT]);
	assert_int_equal(env_rx(e, 1, &h, 8), VB_VERDICT_OK);
	assert_int_equal(w.tgt->mig->peer, FIRST_SLOT + LEFT);
	world_run(0);
	assert_int_equal(vb_qp_get_state(w.tgt), VB_QPS_RTR);
	world_close();
}

/* exit() without a word about any object. */
static void give_back__of_everything(void **state)
{
	(void)state;
	world_open();
	post_srq(RIGHT, 0, 1);
	post(RIGHT, VB_WR_SEND, 0, 0, 8);
	world_run(VB_NEVER);
	assert_true(w.tgt->mig->is_migrated);
	vb_xrc_give_back(w.env[RIGHT].hca, w.env[RIGHT].now);
	world_run(VB_NEVER);
	assert_false(w.tgt->mig->is_migrated);
	world_close();
}

static void owner__is_killed(void **state)
{
	struct vb_wc wc;

	(void)state;
	world_open();
	post_srq(LEFT, 0, 1);
	post_srq(LEFT, 1, 2);
	post(LEFT, VB_WR_SEND, 0, 0, 8);
	world_run(VB_NEVER);
	assert_int_equal(vb_cq_poll(w.env[LEFT].cq, &wc, 1), 1);
	assert_int_equal(w.env[LEFT].hca->qp_cnt, 1);
	w.gone[OWNER] = true;
	vb_xrc_probe(w.env[LEFT].hca, w.env[LEFT].now);
	assert_int_equal(w.env[LEFT].hca->qp_cnt, 0);
	env_close(&w.env[OWNER]);
	world_close();
}

/* In the middle of a message: the receive WQE that the holder holds is flushed. */
static void target__fails_in_a_message(void **state)
{
	struct vb_qp_attr a = {.qp_state = VB_QPS_ERR};
	struct vb_wc wc;

	(void)state;
	world_open();
	post_srq(LEFT, 0, 5);
	post(LEFT, VB_WR_SEND, 0, 0, CELL);

	/* The first of its packets alone. */
	static struct vb_tx_batch b;

	assert_true(env_tx(&w.env[INI], &b) > 1);
	packet_move(&b.pkt[0], 1);
	while (w.cnt[LEFT] || w.cnt[OWNER]) {
		(void)host_step(LEFT, 1);
		(void)host_step(OWNER, 1);
	}
	assert_int_equal(vb_cq_poll(w.env[LEFT].cq, &wc, 1), 0);
	assert_int_equal(vb_qp_modify(w.tgt, &a, VB_QP_STATE, 1), 0);
	while (w.cnt[LEFT])
		(void)host_step(LEFT, 1);
	assert_int_equal(vb_cq_poll(w.env[LEFT].cq, &wc, 1), 1);
	assert_int_equal(wc.status, VB_WC_WR_FLUSH_ERR);
	assert_int_equal(wc.wr_id, 5);
	assert_int_equal(w.env[LEFT].hca->qp_cnt, 0);
	world_close();
}

/* A CNP concerns the target, wherever its state is: it goes there and calls nothing back. */
static void cnp__goes_to_the_holder(void **state)
{
	struct vb_hdr cnp = {.opcode = VB_OPCODE_CNP, .pkey = VB_PKEY_DEFAULT};
	struct vb_tx tx = {0};
	uint32_t handed;

	(void)state;
	world_open();
	post_srq(LEFT, 0, 1);
	post(LEFT, VB_WR_SEND, 0, 0, 8);
	world_run(VB_NEVER);
	assert_true(vb_xrc_is_away(w.tgt));
	handed = w.said[VB_XRC_PACKET];
	cnp.dqpn = vb_qp_number(w.tgt);
	tx.path = &w.ini->attr.path;
	tx.hdr_len = (uint8_t)vb_hdr_emit(&cnp, tx.hdr);
	packet_move(&tx, 1);
	assert_int_equal(w.said[VB_XRC_PACKET], handed + 1);
	assert_int_equal(w.said[VB_XRC_RECALL], 0);
	assert_true(vb_xrc_is_away(w.tgt));
	world_close();
}

/* An owner hands on requests. A response among them, or a request when the holder has failed, is
 * nothing to a responder. */
static void packet__that_is_not_to_be_carried_out(void **state)
{
	static struct {
		struct vb_xrc_msg head;
		uint8_t pkt[VB_HDR_MAX + 8];
	} m;
	struct vb_hdr h = {.opcode = VB_TRANSPORT_XRC | VB_OP_ACK, .pkey = VB_PKEY_DEFAULT};
	struct vb_qp *holder;
	struct vb_psn epsn;
	struct vb_wc wc;

	(void)state;
	world_open();
	for (uint64_t i = 0; i < 3; i++)
		post_srq(LEFT, (uint32_t)i, i);
	post(LEFT, VB_WR_SEND, 0, 0, 8);
	world_run(VB_NEVER);
	while (vb_cq_poll(w.env[LEFT].cq, &wc, 1))
		continue;
	holder = vb_container_of(w.xrcd[LEFT]->targets.next, struct vb_qp, target);
	epsn = holder->resp.epsn;
	for (int i = 0; i < 2; i++) {
		if (i) {
			h.opcode = VB_TRANSPORT_XRC | VB_OP_SEND_ONLY;
			h.xrc_srqn = vb_srq_number(w.srq[LEFT]);
			holder->state = VB_QPS_ERR;
		}
		h.dqpn = w.tgt->qpn;
		h.psn = epsn;
		m.head = (struct vb_xrc_msg){.magic = VB_XRC_MAGIC,
					     .kind = VB_XRC_PACKET,
					     .qpn = w.tgt->qpn,
					     .serial = w.tgt->mig->serial,
					     .name = w.xrcd[LEFT]->name};
		m.head.pkt_len = (uint32_t)vb_hdr_emit(&h, m.pkt) + (i ? 8 : 0);
		(void)vb_xrc_take_message(w.env[LEFT].hca, FIRST_SLOT + OWNER, &m,
					  sizeof m.head + m.head.pkt_len, 1);
		assert_true(vb_psn_eq(holder->resp.epsn, epsn));
		assert_int_equal(holder->state, i ? VB_QPS_ERR : VB_QPS_RTR);
		assert_int_equal(vb_cq_poll(w.env[LEFT].cq, &wc, 1), 0);
	}
	holder->state = VB_QPS_RTR;
	world_close();
}

/* A message that no adapter sends is refused or changes nothing, and never does harm. */
static void take_message__hostile(void **state)
{
	static struct migration_msg seen[VB_XRC_KINDS], m;
	uint32_t migrated = 0;

	(void)state;
	world_open();
	w.room = QUEUE;
	for (uint32_t r = 0; r < 4000; r++) {
		uint32_t host = OWNER + vb_rng_below(&w.rng, 3), from = vb_rng_below(&w.rng, 5);
		uint32_t flips = vb_rng_below(&w.rng, 4);

		if (r % 8 == 0) {
			if (vb_qp_get_state(w.tgt) == VB_QPS_ERR ||
			    vb_qp_get_state(w.ini) == VB_QPS_ERR ||
			    vb_rq_cnt(&w.srq[LEFT]->rq) > 60 ||
			    w.ini->sq.tail - w.ini->sq.head > 60) {
				migrated += w.said[VB_XRC_MIGRATE];
				world_close();
				world_open();
				w.room = QUEUE;
			}
			post_srq(LEFT, 0, 1);
			post(LEFT, VB_WR_SEND, 0, 0, CELL);
			post(LEFT, VB_WR_RDMA_READ, 1, WRITES, CELL);
			post(RIGHT, VB_WR_FETCH_ADD, 2, COUNTS, 8);
			(void)host_step(INI, r + 1);
		}
		for (uint32_t i = OWNER; i < HOSTS; i++) {
			(void)host_step(i, r + 1);
			for (uint32_t k = 0; k < w.cnt[i]; k++) {
				struct migration_msg *q = &w.queue[i][(w.head[i] + k) % QUEUE];

				seen[((struct vb_xrc_msg *)(void *)q->bytes)->kind] = *q;
			}
		}
		m = seen[vb_rng_below(&w.rng, VB_XRC_KINDS)];
		for (uint32_t k = 0; k < flips && m.len; k++)
			((uint8_t *)m.bytes)[vb_rng_below(&w.rng, (uint32_t)m.len)] =
			    (uint8_t)vb_rng_below(&w.rng, 256);
		if (vb_rng_below(&w.rng, 8) == 0)
			m.len = vb_rng_below(&w.rng, (uint32_t)m.len + 1);
		(void)vb_xrc_take_message(w.env[host].hca, from + FIRST_SLOT, m.bytes, m.len,
					  r + 1);
	}
	assert_true(migrated > 20);
	world_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(requests__of_every_kind),
	    cmocka_unit_test(requests__with_loss_and_full_queues),
	    cmocka_unit_test(read__from_the_adapter_of_the_srq),
	    cmocka_unit_test(send__finds_no_receive_wqe),
	    cmocka_unit_test(write__to_a_key_of_the_owner),
	    cmocka_unit_test(send__to_an_srq_of_another_domain),
	    cmocka_unit_test(send__to_an_srq_that_has_gone),
	    cmocka_unit_test(send__to_nobody),
	    cmocka_unit_test(holder__is_killed),
	    cmocka_unit_test(message__of_an_earlier_migration),
	    cmocka_unit_test(holder__ends_in_order),
	    cmocka_unit_test(holder__is_idle),
	    cmocka_unit_test(holder__leaves_what_is_due),
	    cmocka_unit_test(holder__is_addressed),
	    cmocka_unit_test(message__keeps_its_srq),
	    cmocka_unit_test(give_back__of_everything),
	    cmocka_unit_test(owner__is_killed),
	    cmocka_unit_test(target__fails_in_a_message),
	    cmocka_unit_test(cnp__goes_to_the_holder),
	    cmocka_unit_test(packet__that_is_not_to_be_carried_out),
	    cmocka_unit_test(take_message__hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
