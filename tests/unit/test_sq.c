/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posting to the send queue: what is refused at once, what fails in its turn, how much fits.
 * IBA 10.8.2.4, 11.4.1.1; IBT-05, IBT-11, IBT-15, IBT-30, IBT-60
 */
#include "core_env.h"

static struct env env;
static struct vb_tx_batch b;

static void setup(void)
{
	env_config(&env);
	env_open(&env, 64);
}

/* Everything that a request may need, with one SGE of @len bytes. */
static struct vb_send_wr wr_of(enum vb_wr_opcode opcode, const struct vb_sge *sge)
{
	static struct vb_ah ah;

	ah = (struct vb_ah){.pd = env.pd, .path = env_path(2)};
	return (struct vb_send_wr){.wr_id = 1,
				   .sge = sge,
				   .sge_cnt = 1,
				   .opcode = opcode,
				   .flags = VB_SEND_SIGNALED,
				   .remote_addr = ENV_IOVA,
				   .rkey = vb_mr_rkey(env.mr),
				   .ah = &ah,
				   .dqpn = 0x21,
				   .qkey = 1};
}

/* Which operations each transport has. */
static void post_send__operations(void **state)
{
	static const struct {
		enum vb_qp_type type;
		uint32_t ops; /* by enum vb_wr_opcode */
	} t[] = {
	    {VB_QPT_RC, 0x3ff | 1 << 15 | 1 << 16},
	    {VB_QPT_UC, 1 << 0 | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 7 | 1 << 8 | 1 << 16},
	    {VB_QPT_UD, 1 << 2 | 1 << 3 | 1 << 16},
	};

	(void)state;
	setup();
	for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
		for (uint32_t op = 0; op < 40; op++) {
			struct vb_qp *qp = env_rts(&env, t[i].type, 2, 0x21);
			struct vb_sge sge = env_sge(&env, 0, 8);
			struct vb_send_wr wr = wr_of((enum vb_wr_opcode)op, &sge);
			bool has = op < 32 && (t[i].ops >> op & 1);

			assert_int_equal(vb_qp_post_send(qp, &wr, 0), has ? 0 : -EINVAL);
			assert_int_equal(vb_qp_destroy(qp), 0);
		}
	}
	env_close(&env);
}

/* Sends from RTS on; in SQE and ERR they are taken and flushed. IBT-30 */
static void post_send__states(void **state)
{
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = env_qp(&env, VB_QPT_UC, NULL);
	for (unsigned s = VB_QPS_RESET; s < VB_QPS_RTS; s++) {
		if (s)
			assert_int_equal(env_modify(&env, qp, &a, (enum vb_qp_state)s), 0);
		assert_int_equal(env_send(&env, qp, 1, VB_WR_SEND, 8), -EINVAL);
	}
	assert_int_equal(env_modify(&env, qp, &a, VB_QPS_RTS), 0);
	assert_int_equal(env_send(&env, qp, 1, VB_WR_SEND, 8), 0);
	assert_int_equal(env_tx(&env, &b), 1);
	(void)env_wc(&env, 1, VB_WC_SUCCESS);
	assert_int_equal(env_modify(&env, qp, &a, VB_QPS_SQD), 0);
	assert_int_equal(env_send(&env, qp, 2, VB_WR_SEND, 8), 0);
	assert_int_equal(env_tx(&env, &b), 0);
	env_no_wc(&env);
	assert_int_equal(env_modify(&env, qp, &a, VB_QPS_ERR), 0);
	(void)env_wc(&env, 2, VB_WC_WR_FLUSH_ERR);
	assert_int_equal(env_send(&env, qp, 3, VB_WR_SEND, 8), 0);
	(void)env_wc(&env, 3, VB_WC_WR_FLUSH_ERR);
	env_close(&env);
}

static void post_send__until_full(void **state)
{
	(void)state;
	setup();
	for (uint32_t wr_max = 0; wr_max <= 9; wr_max++) {
		struct vb_qp_cap cap = {.max_send_wr = wr_max, .max_send_sge = 1};
		struct vb_qp *qp = env_qp_cap(&env, VB_QPT_RC, NULL, cap);
		struct vb_qp_attr a = env_attr(2, 0x21);

		env_up(&env, qp, &a, VB_QPS_RTS);
		qp->sq.head = qp->sq.nxt = qp->sq.tail = UINT32_MAX - 2; /* they run freely */
		for (uint32_t i = 0; i < wr_max; i++) {
			assert_int_equal(vb_qp_send_room(qp), wr_max - i);
			assert_int_equal(env_send(&env, qp, i, VB_WR_SEND, 8), 0);
		}
		assert_int_equal(vb_qp_send_room(qp), 0);
		assert_int_equal(env_send(&env, qp, 99, VB_WR_SEND, 8), -ENOMEM);
		assert_int_equal(env_tx(&env, &b), wr_max);
		/* Sent is not done: a WQE has its place until it completes. */
		assert_int_equal(env_send(&env, qp, 99, VB_WR_SEND, 8), -ENOMEM);
		if (wr_max) {
			struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_ACK,
					   .dqpn = vb_qp_number(qp),
					   .aeth.syndrome = VB_CREDIT_UNLIMITED};

			assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_OK);
			(void)env_wc(&env, 0, VB_WC_SUCCESS);
			assert_int_equal(env_send(&env, qp, 99, VB_WR_SEND, 8), 0);
			assert_int_equal(env_send(&env, qp, 99, VB_WR_SEND, 8), -ENOMEM);
		}
		assert_int_equal(vb_qp_destroy(qp), 0);
	}
	env_close(&env);
}

static void post_send__sges(void **state)
{
	struct vb_sge sge[5];
	struct vb_send_wr wr;
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = env_rts(&env, VB_QPT_RC, 2, 0x21); /* four SGEs */
	for (uint32_t i = 0; i < 5; i++)
		sge[i] = env_sge(&env, i * 100, i + 1);
	wr = wr_of(VB_WR_SEND, sge);
	wr.sge_cnt = 5;
	assert_int_equal(vb_qp_post_send(qp, &wr, 0), -EINVAL);
	wr.sge_cnt = UINT32_MAX;
	wr.sge = NULL; /* not read */
	assert_int_equal(vb_qp_post_send(qp, &wr, 0), -EINVAL);
	wr.sge = sge;
	wr.sge_cnt = 4;
	assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
	wr.sge_cnt = 0;
	assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
	assert_int_equal(env_tx(&env, &b), 2);
	assert_int_equal(b.pkt[0].payload_len, 10);
	assert_int_equal(b.pkt[0].seg_cnt, 4);
	assert_int_equal(b.pkt[1].payload_len, 0);
	env_close(&env);
}

/* Inline data is the caller's again when the post returns, and needs no key. */
static void post_send__inline(void **state)
{
	char data[65] = "inline";
	struct vb_sge sge = {.addr = (uintptr_t)data, .length = 64, .lkey = 0xdead00};
	struct vb_send_wr wr;
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = env_rts(&env, VB_QPT_RC, 2, 0x21); /* 64 bytes inline */
	wr = wr_of(VB_WR_SEND, &sge);
	wr.flags |= VB_SEND_INLINE;
	assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
	sge.length = 65;
	assert_int_equal(vb_qp_post_send(qp, &wr, 0), -EINVAL);
	/* From several places, as many as the queue has SGEs. */
	struct vb_sge parts[5];

	for (uint32_t i = 0; i < 5; i++)
		parts[i] = (struct vb_sge){.addr = (uintptr_t)data + i, .length = 1};
	wr.sge = parts;
	wr.sge_cnt = 5;
	assert_int_equal(vb_qp_post_send(qp, &wr, 0), -EINVAL);
	wr.sge_cnt = 4;
	assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
	wr.sge = &sge;
	wr.sge_cnt = 1;
	memcpy(data, "change", 7);
	sge.length = 8;
	for (uint32_t op = 0; op < VB_WR_CNT; op++) {
		bool may = op == VB_WR_RDMA_WRITE || op == VB_WR_RDMA_WRITE_IMM ||
			   op == VB_WR_SEND || op == VB_WR_SEND_IMM || op == VB_WR_SEND_INV ||
			   op == VB_WR_ATOMIC_WRITE;

		wr.opcode = (enum vb_wr_opcode)op;
		assert_int_equal(vb_qp_post_send(qp, &wr, 0), may ? 0 : -EINVAL);
	}
	assert_true(env_tx(&env, &b) >= 1);
	assert_int_equal(b.pkt[0].payload_len, 64);
	assert_string_equal((const char *)b.seg[0].p, "inline");
	assert_int_equal(b.pkt[1].payload_len, 4);
	assert_memory_equal(b.seg[1].p, "inli", 4);
	env_close(&env);
}

/* An atomic needs room for its eight bytes; the SGE's access is checked when its turn comes. */
static void post_send__atomic_length(void **state)
{
	(void)state;
	setup();
	for (uint32_t len = 0; len <= 3000; len += len < 16 ? 1 : 1492) {
		struct vb_qp *qp = env_rts(&env, VB_QPT_RC, 2, 0x21);
		struct vb_sge sge = env_sge(&env, 0, len);
		struct vb_send_wr wr = wr_of(VB_WR_FETCH_ADD, &sge);

		assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
		assert_int_equal(env_tx(&env, &b), len == 8);
		assert_int_equal(vb_qp_unacked(qp), len == 8);
		if (len != 8)
			(void)env_wc(&env, 1, VB_WC_LOC_LEN_ERR);
		assert_int_equal(vb_qp_destroy(qp), 0);
	}
	env_close(&env);
}

/* IBT-06: 2^31 bytes, and not one more. */
static void post_send__longest_message(void **state)
{
	struct vb_mr_attr attr = {
	    .iova = ENV_IOVA, .length = UINT64_C(1) << 33, .access = ENV_ACCESS};
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_mr *mr;
	struct vb_qp *qp;

	(void)state;
	setup();
	assert_int_equal(vb_mr_create(env.pd, &attr, &mr), 0);
	a.path_mtu = VB_MTU_256;

	struct vb_sge sge[2] = {{ENV_IOVA, 1u << 31, vb_mr_lkey(mr)},
				{ENV_IOVA, 1, vb_mr_lkey(mr)}};

	/* A READ of that is one request, for all 2^23 PSNs that may be outstanding. */
	qp = env_qp(&env, VB_QPT_RC, NULL);
	env_up(&env, qp, &a, VB_QPS_RTS);

	struct vb_send_wr wr = wr_of(VB_WR_RDMA_READ, sge);

	assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
	assert_int_equal(env_send(&env, qp, 2, VB_WR_SEND, 8), 0); /* has to wait */
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(env_hdr(&b.pkt[0]).reth.len, 1u << 31);
	assert_int_equal(vb_qp_unacked(qp), 1u << 23);
	assert_int_equal(vb_qp_destroy(qp), 0);
	/* One byte more fails. C9-94 */
	qp = env_qp(&env, VB_QPT_RC, NULL);
	env_up(&env, qp, &a, VB_QPS_RTS);
	for (unsigned op = VB_WR_RDMA_WRITE; op <= VB_WR_RDMA_READ; op++) {
		wr = wr_of((enum vb_wr_opcode)op, sge);
		wr.sge_cnt = 2;
		assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
		assert_int_equal(env_tx(&env, &b), 0);
		(void)env_wc(&env, 1, op ? VB_WC_WR_FLUSH_ERR : VB_WC_LOC_LEN_ERR);
	}
	env_close(&env);
}

/* The region goes when part of the message has left: the rest does not, and the WQE fails. IBT-83
 */
static void send__memory_goes_in_the_middle(void **state)
{
	static const enum vb_qp_type types[] = {VB_QPT_RC, VB_QPT_UC};
	static const enum vb_qp_state then[] = {VB_QPS_ERR, VB_QPS_SQE};

	(void)state;
	for (int t = 0; t < 2; t++) {
		struct vb_qp *qp;

		setup();
		qp = env_rts(&env, types[t], 2, 0x21);
		assert_int_equal(env_send(&env, qp, 1, VB_WR_SEND, 3000), 0);
		assert_int_equal(env_send(&env, qp, 2, VB_WR_SEND, 0), 0);
		b.cnt = VB_TX_BATCH_PKTS - 1;
		b.seg_cnt = 0;
		(void)vb_hca_poll_transmit(env.hca, &b, 0);
		assert_int_equal(vb_mr_destroy(env.mr), 0);
		assert_int_equal(env_tx(&env, &b), 0);
		assert_int_equal(b.seg_cnt, 0);
		(void)env_wc(&env, 1, VB_WC_LOC_PROT_ERR);
		(void)env_wc(&env, 2, VB_WC_WR_FLUSH_ERR);
		assert_int_equal(vb_qp_get_state(qp), then[t]);
		env_close(&env);
	}
}

/* UC and UD are drained when the last packet of the message under way has left. IBT-34 */
static void sqd__of_what_is_not_acknowledged(void **state)
{
	struct vb_qp_attr a = {.qp_state = VB_QPS_SQD, .en_sqd_async_notify = 1};
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = env_rts(&env, VB_QPT_UC, 2, 0x21);
	assert_int_equal(env_send(&env, qp, 1, VB_WR_SEND, 3000), 0);
	assert_int_equal(env_send(&env, qp, 2, VB_WR_SEND, 8), 0);
	b.cnt = VB_TX_BATCH_PKTS - 1;
	b.seg_cnt = 0;
	(void)vb_hca_poll_transmit(env.hca, &b, 0); /* one of three */
	assert_int_equal(vb_qp_modify(qp, &a, VB_QP_STATE | VB_QP_EN_SQD_ASYNC_NOTIFY, 0), 0);
	env_no_event(&env);
	assert_int_equal(env_tx(&env, &b), 2);
	env_event(&env, VB_EVENT_ASYNC_QP, VB_ASYNC_SQ_DRAINED);
	(void)env_wc(&env, 1, VB_WC_SUCCESS);
	env_no_wc(&env);
	a.qp_state = VB_QPS_RTS;
	assert_int_equal(vb_qp_modify(qp, &a, VB_QP_STATE, 0), 0);
	assert_int_equal(env_tx(&env, &b), 1);
	(void)env_wc(&env, 2, VB_WC_SUCCESS);
	/* With nothing under way at once, and only when asked. */
	for (a.en_sqd_async_notify = 0; a.en_sqd_async_notify < 2; a.en_sqd_async_notify++) {
		qp = env_rts(&env, VB_QPT_UD, 2, 0);
		a.qp_state = VB_QPS_SQD;
		assert_int_equal(vb_qp_modify(qp, &a, VB_QP_STATE | VB_QP_EN_SQD_ASYNC_NOTIFY, 0),
				 0);
		if (a.en_sqd_async_notify)
			env_event(&env, VB_EVENT_ASYNC_QP, VB_ASYNC_SQ_DRAINED);
		env_no_event(&env);
	}
	env_close(&env);
}

/* UD: an address handle of the QP's domain, at most one packet, and whose Q_Key. IBT-16, IBT-17 */
static void post_send__ud(void **state)
{
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_send_wr wr;
	struct vb_pd *other;
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = env_rts(&env, VB_QPT_UD, 2, 0);

	struct vb_sge sge = env_sge(&env, 0, 4096);
	struct vb_ah foreign;

	assert_int_equal(vb_pd_create(env.hca, &other), 0);
	foreign = (struct vb_ah){.pd = other, .path = env_path(2)};
	wr = wr_of(VB_WR_SEND, &sge);
	wr.dqpn = 0xff000021;
	assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
	wr.qkey = 0x80000000; /* the QP's own instead. IBA 10.2.5 */
	assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
	wr.qkey = 0x7fffffff;
	assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
	assert_int_equal(env_tx(&env, &b), 3);
	assert_int_equal(env_hdr(&b.pkt[0]).deth.qkey, 1);
	assert_int_equal(env_hdr(&b.pkt[0]).dqpn, 0x21);
	assert_int_equal(env_hdr(&b.pkt[0]).deth.sqpn, vb_qp_number(qp));
	assert_int_equal(env_hdr(&b.pkt[1]).deth.qkey, ENV_QKEY);
	assert_int_equal(env_hdr(&b.pkt[2]).deth.qkey, 0x7fffffff);
	assert_int_equal(vb_cq_poll(env.cq, (struct vb_wc[3]){{0}}, 3), 3);
	wr.ah = NULL;
	assert_int_equal(vb_qp_post_send(qp, &wr, 0), -EINVAL);
	wr.ah = &foreign;
	assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
	assert_int_equal(env_tx(&env, &b), 0);
	(void)env_wc(&env, 1, VB_WC_LOC_QP_OP_ERR);
	assert_int_equal(vb_qp_get_state(qp), VB_QPS_SQE);
	/* SQE flushes what comes, and leads back to RTS. IBT-29 */
	wr = wr_of(VB_WR_SEND, &sge);
	assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
	(void)env_wc(&env, 1, VB_WC_WR_FLUSH_ERR);
	a.qp_state = VB_QPS_RTS;
	assert_int_equal(vb_qp_modify(qp, &a, VB_QP_STATE, 0), 0);
	assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(env_hdr(&b.pkt[0]).psn.v, 3); /* what failed took none */
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(post_send__operations),
	    cmocka_unit_test(post_send__states),
	    cmocka_unit_test(post_send__until_full),
	    cmocka_unit_test(post_send__sges),
	    cmocka_unit_test(post_send__inline),
	    cmocka_unit_test(post_send__atomic_length),
	    cmocka_unit_test(post_send__longest_message),
	    cmocka_unit_test(send__memory_goes_in_the_middle),
	    cmocka_unit_test(sqd__of_what_is_not_acknowledged),
	    cmocka_unit_test(post_send__ud),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
