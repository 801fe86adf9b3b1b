/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where an adapter has nothing left: no READ that it may answer, no memory behind a key, no room in
 * a CQ, no number for a QP, no member of a group but those that were there before.
 */
#include "core/dc/dc.h"
#include "core/obj/key.h"
#include "rc_env.h"

/* A gap that is closed before the NAK for it has left owes none; and what comes early or twice is
 * no error of the port. IBA 9.7.4.2 */
static void gap__closed_before_it_is_told(void **state)
{
	struct vb_qp *qp;
	struct vb_hdr h;

	(void)state;
	setup();
	qp = rts(0, 100, 4);
	assert_int_equal(request(qp, VB_OP_WRITE_ONLY, 101, 8), VB_VERDICT_PSN);
	assert_int_equal(request(qp, VB_OP_WRITE_ONLY, 100, 8), VB_VERDICT_OK);
	assert_int_equal(request(qp, VB_OP_WRITE_ONLY, 101, 8), VB_VERDICT_OK);
	h = answer();
	assert_int_equal(h.aeth.syndrome & VB_SYNDROME_CLASS, VB_SYNDROME_ACK);
	assert_int_equal(h.psn.v, 101);
	assert_int_equal(request(qp, VB_OP_WRITE_ONLY, 101, 8), VB_VERDICT_DUPLICATE);
	assert_int_equal(env.counters.v[VB_COUNTER_port_rcv_errors], 0);
	assert_int_equal(env.counters.v[VB_COUNTER_rx_dropped], 0);
	env_close(&env);
}

/* A QP that answers no READs at all refuses the first one. IBA 9.7.4.1.4 */
static void read__of_a_qp_that_answers_none(void **state)
{
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = rts(0, 100, 0);
	assert_int_equal(request(qp, VB_OP_READ_REQUEST, 100, 0), VB_VERDICT_RESOURCE);
	assert_int_equal(answer().aeth.syndrome, VB_NAK_INVALID_REQUEST);
	assert_int_equal(vb_qp_get_state(qp), VB_QPS_ERR);
	env_close(&env);
}

/* A receive that is posted where the peer was told of none is told of at once, by an ACK of what
 * was carried out last: behind the answer to a READ. IBA 9.7.7.2.4, 9.7.5.1.2 */
static void receive__after_there_was_none(void **state)
{
	struct vb_qp *qp;
	struct vb_hdr h;

	(void)state;
	setup();
	qp = rts(0, 100, 4);
	assert_int_equal(request(qp, VB_OP_WRITE_ONLY, 100, 8), VB_VERDICT_OK);
	assert_int_equal(answer().aeth.syndrome, VB_SYNDROME_ACK);
	assert_int_equal(request(qp, VB_OP_READ_REQUEST, 101, 0), VB_VERDICT_OK);
	assert_int_equal(env_recv(&env, qp, 1, 8), 0);
	assert_int_equal(env_tx(&env, &b), 2);
	assert_int_equal(env_hdr(&b.pkt[0]).opcode, VB_TRANSPORT_RC | VB_OP_READ_RESP_ONLY);
	h = env_hdr(&b.pkt[1]);
	assert_int_equal(h.opcode, VB_TRANSPORT_RC | VB_OP_ACK);
	assert_int_equal(h.psn.v, 101);
	assert_int_equal(h.aeth.syndrome, VB_SYNDROME_ACK | 1);
	env_close(&env);
}

static int memory_is_gone(void (*f)(void *arg), void *arg)
{
	(void)f;
	(void)arg;
	return -EFAULT;
}

/* Memory that is there by its key and gone in fact is an error of the responder's own, whatever
 * was to be done with it. IBA 9.7.5.2.4 */
static void word__in_memory_that_is_gone(void **state)
{
	static const uint8_t ops[] = {VB_OP_FETCH_ADD, VB_OP_COMPARE_SWAP, VB_OP_ATOMIC_WRITE};

	(void)state;
	for (size_t i = 0; i < sizeof ops; i++) {
		uint32_t len = ops[i] == VB_OP_ATOMIC_WRITE ? 8 : 0;
		struct vb_qp *qp;

		env_config(&env);
		env.cfg.guard = memory_is_gone;
		env_open(&env, 256);
		qp = rts(0, 100, 4);
		assert_int_equal(request(qp, ops[i], 100, len), VB_VERDICT_OPERATION);
		assert_int_equal(answer().aeth.syndrome, VB_NAK_REMOTE_OP);
		assert_int_equal(vb_qp_get_state(qp), VB_QPS_ERR);
		env_close(&env);
	}
}

/* An ATOMIC WRITE by a key that is none is refused as any access is. IBA A19.4.2 */
static void atomic_write__by_no_key(void **state)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_ATOMIC_WRITE, .psn = vb_psn(100)};
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = rts(0, 100, 4);
	h.dqpn = vb_qp_number(qp);
	h.reth.va = ENV_IOVA;
	h.reth.rkey = vb_mr_rkey(env.mr) ^ 1;
	h.reth.len = 8;
	assert_int_equal(env_rx(&env, 2, &h, 8), VB_VERDICT_ACCESS);
	assert_int_equal(answer().aeth.syndrome, VB_NAK_REMOTE_ACCESS);
	env_close(&env);
}

/* A packet that acknowledges more than the CQ has room for ends the QP, and is looked at no
 * further: be it a NAK or an answer. IBA 11.6.3.1 */
static void acknowledgement__overruns_the_cq(void **state)
{
	(void)state;
	for (int answers = 0; answers < 2; answers++) {
		struct vb_hdr h = {.opcode = VB_TRANSPORT_RC |
					     (answers ? VB_OP_READ_RESP_ONLY : VB_OP_ACK),
				   .psn = vb_psn(2),
				   .aeth.syndrome = answers ? 31 : VB_NAK_PSN_SEQ};
		struct vb_qp *qp;

		env_config(&env);
		env_open(&env, 1);
		qp = rts(0, 0, 4);
		h.dqpn = vb_qp_number(qp);
		for (uint64_t i = 0; i < 3; i++)
			assert_int_equal(
			    env_send(&env, qp, i, i == 2 ? VB_WR_RDMA_READ : VB_WR_RDMA_WRITE, 8),
			    0);
		assert_int_equal(env_tx(&env, &b), 3);
		assert_int_equal(env_rx(&env, 2, &h, answers ? 8 : 0),
				 answers ? VB_VERDICT_UNEXPECTED : VB_VERDICT_OK);
		assert_int_equal(vb_qp_get_state(qp), VB_QPS_ERR);
		assert_int_equal(env.counters.v[VB_COUNTER_packet_seq_err], 0);
		(void)env_wc(&env, 0, VB_WC_SUCCESS);
		env_event(&env, VB_EVENT_ASYNC_CQ, VB_ASYNC_CQ_ERR);
		env_event(&env, VB_EVENT_ASYNC_QP, VB_ASYNC_QP_FATAL);
		env_no_event(&env);
		env_close(&env);
	}
}

/* A QP that cannot have sent anything yet has no use for an answer. IBA 10.3.1.3 */
static void acknowledgement__before_anything_can_be_sent(void **state)
{
	struct vb_hdr h = {
	    .opcode = VB_TRANSPORT_RC | VB_OP_ACK, .psn = vb_psn(0), .aeth.syndrome = 31};
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = env_qp(&env, VB_QPT_RC, NULL);
	env_up(&env, qp, &a, VB_QPS_RTR);
	h.dqpn = vb_qp_number(qp);
	assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_QP_STATE);
	env_close(&env);
}

/* Why a QP may not use memory of its own side: the fault, and, where it is a place, by how much. */
static void denial__of_local_memory(void **state)
{
	struct vb_mr_attr attr = {.iova = 64, .length = 64, .access = VB_ACCESS_LOCAL_WRITE};
	struct vb_mr *own, *other;
	struct vb_mw *mw;
	struct vb_pd *pd;

	(void)state;
	setup();
	assert_int_equal(vb_pd_create(env.hca, &pd), 0);
	assert_int_equal(vb_mr_create(pd, &attr, &other), 0);
	assert_int_equal(vb_mw_create(env.pd, 1, &mw), 0);
	attr.access = VB_ACCESS_REMOTE_READ;
	assert_int_equal(vb_mr_create(env.pd, &attr, &own), 0);

	const struct {
		struct vb_sge sge;
		uint32_t access;
		enum vb_denial_check check;
		uint64_t by;
	} rows[] = {
	    {{64, 8, vb_mr_lkey(other)}, 0, VB_DENIAL_OTHER_PD, 0},
	    {{64, 8, 0xffffff00}, 0, VB_DENIAL_KEY_UNKNOWN, 0},
	    {{64, 8, vb_mw_rkey(mw)}, 0, VB_DENIAL_KEY_KIND, 0},
	    {{64, 8, vb_mr_lkey(own)}, VB_ACCESS_LOCAL_WRITE, VB_DENIAL_RIGHT, 0},
	    {{63, 8, vb_mr_lkey(own)}, 0, VB_DENIAL_BEFORE, 1},
	    {{122, 8, vb_mr_lkey(own)}, 0, VB_DENIAL_BEHIND, 2},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct vb_denial d = {.by = 99};

		vb_mem_why_local(env.pd, &rows[i].sge, 1, rows[i].access, &d);
		assert_int_equal(d.check, rows[i].check);
		assert_int_equal(d.by, rows[i].by);
		assert_int_equal(d.va, rows[i].sge.addr);
	}
	env_close(&env);
}

/* An adapter that has registered nothing knows no key. */
static void key__where_there_is_none(void **state)
{
	struct vb_hca *h;

	(void)state;
	env_config(&env);
	env.cfg.alloc_ctx = &env;
	assert_int_equal(vb_hca_create(&h, &env.cfg, 0), 0);
	assert_null(vb_key_at(h, 0x100));
	assert_null(vb_key_find(h, 0x100));
	assert_int_equal(vb_key_why(h, 0x100), VB_DENIAL_KEY_UNKNOWN);
	vb_hca_destroy(h);
	assert_int_equal(env.blocks, 0);
}

/* As many QPs as there are numbers, of which 0 and 1 are none; and one again when one has gone. */
static void number__of_each_that_there_is(void **state)
{
	struct vb_qp_init init = {.type = VB_QPT_RC};
	struct vb_qp *qp[3], *more;

	(void)state;
	env_config(&env);
	env.cfg.qpn_stride = 1 << 22;
	env_open(&env, 16);
	init.send_cq = init.recv_cq = env.cq;
	for (int i = 0; i < 3; i++)
		assert_int_equal(vb_qp_create(env.pd, &init, &qp[i]), 0);
	assert_int_equal(vb_qp_create(env.pd, &init, &more), -ENOMEM);
	assert_int_equal(vb_hca_qp_cnt(env.hca), 3);
	assert_int_equal(vb_qp_destroy(qp[1]), 0);
	assert_int_equal(vb_qp_create(env.pd, &init, &more), 0);
	assert_int_equal(vb_qp_create(env.pd, &init, &qp[1]), -ENOMEM);
	env_close(&env);
}

/* A QP has the objects that its type needs, and no others: an XRC target a domain, any other a PD
 * and a CQ to complete its sends. IBA 11.2.4.1 */
static void objects__of_another_type(void **state)
{
	struct vb_xrcd *xrcd;
	struct vb_qp *qp;

	(void)state;
	setup();
	assert_int_equal(vb_xrcd_create(env.hca, &xrcd), 0);
	for (uint32_t has = 0; has < 16; has++) {
		bool is_target = has & 8;
		struct vb_qp_init init = {.type = is_target ? VB_QPT_XRC_TGT : VB_QPT_RC,
					  .send_cq = has & 2 ? env.cq : NULL,
					  .recv_cq = is_target ? NULL : env.cq,
					  .xrcd = has & 4 ? xrcd : NULL};
		bool fits = (has & 7) == (is_target ? 4 : 3);

		if (!(has & 5))
			continue; /* they say what adapter it is of */
		assert_int_equal(vb_qp_create(has & 1 ? env.pd : NULL, &init, &qp),
				 fits ? 0 : -EINVAL);
	}
	env_close(&env);
}

/* QP1 without memory leaves its port free for the next try. */
static void gsi__without_memory(void **state)
{
	struct vb_qp_init init = {.type = VB_QPT_GSI, .cap = {.max_send_wr = 4}, .port = 1};
	struct vb_qp *qp;
	uint32_t n = 0;
	int err;

	(void)state;
	setup();
	init.send_cq = init.recv_cq = env.cq;
	do {
		env.fail_at = env.calls + ++n;
		err = vb_qp_create(env.pd, &init, &qp);
		assert_true(err == 0 || err == -ENOMEM);
	} while (err);
	assert_true(n > 3); /* the QP, its receive WQE, its queue; where deadlines stand */
	assert_ptr_equal(env.hca->port[1].gsi, qp);
	env_close(&env);
}

/* An initiator of DC without memory for what it has in flight stays where it is. */
static void dci__without_memory(void **state)
{
	struct vb_qp_init init = {.type = VB_QPT_DCI, .cap = {.max_send_wr = 4}};
	struct vb_qp_attr a = env_attr(1, 0);
	struct vb_qp *qp;

	(void)state;
	setup();
	init.send_cq = env.cq;
	assert_int_equal(vb_qp_create(env.pd, &init, &qp), 0);
	env_up(&env, qp, &a, VB_QPS_INIT);
	env.fail_at = env.calls + 1;
	assert_int_equal(env_modify(&env, qp, &a, VB_QPS_RTR), -ENOMEM);
	assert_int_equal(vb_qp_get_state(qp), VB_QPS_INIT);
	assert_int_equal(env_modify(&env, qp, &a, VB_QPS_RTR), 0);
	env_close(&env);
}

/* The data of an ATOMIC WRITE is fetched when it is posted; with an invalid key it fails in its
 * turn. IBA A19.4.2 */
static void atomic_write__from_no_key(void **state)
{
	struct vb_sge sge = {ENV_IOVA, 8, 0};
	struct vb_send_wr wr = {
	    .wr_id = 7, .sge = &sge, .sge_cnt = 1, .opcode = VB_WR_ATOMIC_WRITE};
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = rts(0, 0, 4);
	sge.lkey = vb_mr_lkey(env.mr) ^ 1;
	assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
	assert_int_equal(env_tx(&env, &b), 0);
	(void)env_wc(&env, 7, VB_WC_LOC_PROT_ERR);
	env_close(&env);
}

/* Bytes that leave at once at @kbps, by a QP that was idle and has a burst of the adapter's choice.
 */
static uint64_t burst_at(uint32_t kbps)
{
	struct vb_mr_attr attr = {.length = 1 << 20, .access = ENV_ACCESS};
	struct vb_sge sge = {0, 400000, 0};
	struct vb_send_wr wr = {.sge = &sge, .sge_cnt = 1, .opcode = VB_WR_RDMA_WRITE};
	uint64_t sum = 0;
	struct vb_qp *qp;
	struct vb_mr *wide;

	setup();
	qp = rts(0, 0, 4);
	assert_int_equal(vb_mr_create(env.pd, &attr, &wide), 0);
	sge.lkey = vb_mr_lkey(wide);
	assert_int_equal(vb_qp_set_rate(qp, kbps, 0, env.now), 0);
	env.now += VB_SEC;
	assert_int_equal(vb_qp_post_send(qp, &wr, env.now), 0);
	while (env_tx(&env, &b))
		for (uint32_t i = 0; i < b.cnt; i++)
			sum += vb_tx_wire_len(&b.pkt[i]);
	env_close(&env);
	return sum;
}

/* A QP that was idle sends 64 KiB at once, and at rates where that is less, what 100 us are worth.
 * core/sched/pace.c */
static void pace__burst_of_the_adapters_choice(void **state)
{
	const uint64_t pkt = 1024 + VB_HDR_MAX + VB_ICRC_LEN;

	(void)state;
	assert_uint_in_range(burst_at(800000), 65536, 65536 + pkt);    /* 10 ns a byte */
	assert_uint_in_range(burst_at(8000000), 100000, 100000 + pkt); /* 1 ns a byte */
}

/* A QP that is masked begins nothing, and ends what it has begun. CC-47 */
static void mask__ends_what_was_begun(void **state)
{
	struct vb_mr_attr attr = {.length = 1 << 20, .access = ENV_ACCESS};
	struct vb_sge sge = {0, 100 * 1024, 0};
	struct vb_send_wr wr = {.sge = &sge, .sge_cnt = 1, .opcode = VB_WR_RDMA_WRITE};
	uint32_t sent = 0, n;
	struct vb_qp *qp;
	struct vb_mr *wide;

	(void)state;
	setup();
	qp = rts(0, 0, 4);
	assert_int_equal(vb_mr_create(env.pd, &attr, &wide), 0);
	sge.lkey = vb_mr_lkey(wide);
	for (int i = 0; i < 2; i++)
		assert_int_equal(vb_qp_post_send(qp, &wr, env.now), 0);
	for (n = env_tx(&env, &b); n; n = env_tx(&env, &b)) {
		if (!sent)
			vb_qp_set_sq_arb_mask(qp, true);
		sent += n;
		assert_true(n < 100);
	}
	assert_int_equal(sent, 100 * 1024 / qp->mtu);
	vb_qp_set_sq_arb_mask(qp, false);
	assert_true(env_tx(&env, &b) > 0);
	env_close(&env);
}

static uint16_t home;

static uint16_t find_home(void *ctx, const struct vb_path *path)
{
	(void)ctx;
	(void)path;
	return home;
}

/* When homes have changed, that of each QP that has a path is found anew. core/hca.h */
static void homes__of_all_that_have_a_path(void **state)
{
	struct vb_qp *qp[40];

	(void)state;
	env_config(&env);
	env.cfg.find_home = find_home;
	env_open(&env, 64);
	home = 1;
	for (uint32_t i = 0; i < 40; i++) {
		struct vb_qp_attr a = env_attr(2, 0x21);

		qp[i] = env_qp(&env, VB_QPT_RC, NULL);
		env_up(&env, qp[i], &a, i % 2 ? VB_QPS_RTR : VB_QPS_INIT);
	}
	home = 2;
	vb_hca_find_homes(env.hca);
	for (uint32_t i = 0; i < 40; i++)
		assert_int_equal(qp[i]->attr.path.home, i % 2 ? 2 : 0);
	env_close(&env);
}

/* A group that has grown has all its members, and each gets every message. IBA 10.5.2.1 */
static void group__of_many_members(void **state)
{
	const struct vb_gid group = {{0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5}};
	struct vb_hdr h = {.opcode = VB_TRANSPORT_UD | VB_OP_SEND_ONLY,
			   .pkey = VB_PKEY_DEFAULT,
			   .dqpn = VB_QPN_MULTICAST,
			   .deth = {.qkey = ENV_QKEY, .sqpn = 9}};
	uint8_t pkt[VB_HDR_MAX + 8] = {0};
	struct vb_path path = env_path(1);
	uint32_t len = (uint32_t)vb_hdr_emit(&h, pkt) + 8;
	struct vb_rx rx = {.pkt = pkt, .len = len, .avail = len, .path = &path};
	struct vb_qp *qp[9];

	(void)state;
	setup();
	path.sgid = env_gid(2);
	path.dgid = group;
	for (uint64_t i = 0; i < 9; i++) {
		qp[i] = env_rts(&env, VB_QPT_UD, 1, 0);
		assert_int_equal(env_recv(&env, qp[i], i, 64), 0);
		if (i == 0 || i == 4) { /* the group; its members */
			env.fail_at = env.calls + 1;
			assert_int_equal(vb_qp_attach_mcast(qp[i], &group, 0), -ENOMEM);
		}
		assert_int_equal(vb_qp_attach_mcast(qp[i], &group, 0), 0);
	}
	assert_int_equal(vb_hca_handle_packet(env.hca, &rx, env.now), VB_VERDICT_OK);
	for (uint64_t i = 0; i < 9; i++)
		(void)env_wc(&env, i, VB_WC_SUCCESS);
	env_no_wc(&env);
	env_close(&env);
}

/* Selective repeat without memory is not offered, and what was had of it is given back. */
static void repeat__without_memory(void **state)
{
	uint32_t without = 0, n = 0;
	bool done = false;

	(void)state;
	while (!done) {
		struct vb_qp_attr a = env_attr(2, 0x21);
		struct vb_qp *qp;
		int err;

		env_config(&env);
		env.cfg.recovery.selective_repeat_forced_en = true;
		env_open(&env, 16);
		qp = env_qp(&env, VB_QPT_RC, NULL);
		env_up(&env, qp, &a, VB_QPS_INIT);
		env.fail_at = env.calls + ++n;
		err = env_modify(&env, qp, &a, VB_QPS_RTR);
		done = env.calls < env.fail_at;
		if (!err && !done) {
			assert_null(qp->sr);
			without++;
			/* The next QP has what this one had not. */
			qp = env_rts(&env, VB_QPT_RC, 2, 0x22);
			assert_non_null(qp->sr);
			assert_int_equal(env.hca->sr.blocks.free_cnt, 81920);
		}
		env_close(&env);
	}
	/* Where packets are put together, three pools with their places, the QP's account. */
	assert_int_equal(without, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(gap__closed_before_it_is_told),
	    cmocka_unit_test(read__of_a_qp_that_answers_none),
	    cmocka_unit_test(receive__after_there_was_none),
	    cmocka_unit_test(word__in_memory_that_is_gone),
	    cmocka_unit_test(atomic_write__by_no_key),
	    cmocka_unit_test(acknowledgement__overruns_the_cq),
	    cmocka_unit_test(acknowledgement__before_anything_can_be_sent),
	    cmocka_unit_test(denial__of_local_memory),
	    cmocka_unit_test(key__where_there_is_none),
	    cmocka_unit_test(number__of_each_that_there_is),
	    cmocka_unit_test(objects__of_another_type),
	    cmocka_unit_test(gsi__without_memory),
	    cmocka_unit_test(dci__without_memory),
	    cmocka_unit_test(atomic_write__from_no_key),
	    cmocka_unit_test(pace__burst_of_the_adapters_choice),
	    cmocka_unit_test(mask__ends_what_was_begun),
	    cmocka_unit_test(homes__of_all_that_have_a_path),
	    cmocka_unit_test(group__of_many_members),
	    cmocka_unit_test(repeat__without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
