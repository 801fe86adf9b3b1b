/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs: creation, attributes there and back, and errors as the man pages name them. */
#include "core/obj/cq.h"
#include "verbs/priv.h"
#include "verbs_env.h"

static struct ibv_qp_init_attr rc_init(struct ibv_cq *cq)
{
	return (struct ibv_qp_init_attr){.send_cq = cq,
					 .recv_cq = cq,
					 .cap = {8, 8, 2, 2, 16},
					 .qp_type = IBV_QPT_RC,
					 .qp_context = buf,
					 .sq_sig_all = 1};
}

static void create_qp__gives_at_least_what_is_asked(void **state)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 8, NULL, NULL, 0);
	struct ibv_qp_init_attr init = rc_init(cq), asked = init, got;
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	struct ibv_qp_attr attr;

	(void)state;
	assert_non_null(qp);
	assert_true(init.cap.max_send_wr >= asked.cap.max_send_wr &&
		    init.cap.max_inline_data >= asked.cap.max_inline_data);
	assert_int_equal(qp->state, IBV_QPS_RESET);
	assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CAP, &got), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RESET);
	assert_memory_equal(&attr.cap, &init.cap, sizeof init.cap);
	assert_true(got.send_cq == cq && got.qp_context == buf && got.sq_sig_all == 1 &&
		    got.qp_type == IBV_QPT_RC);
	assert_int_equal(ibv_destroy_cq(cq), EBUSY);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void create_qp__refused(void **state)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 8, NULL, NULL, 0);
	struct ibv_qp_init_attr init = rc_init(cq);
	struct ibv_qp_init_attr_ex ex = {.send_cq = cq,
					 .recv_cq = cq,
					 .qp_type = IBV_QPT_UD,
					 .cap = {1, 1, 1, 1, 0},
					 .pd = pd,
					 .comp_mask =
					     IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					 .send_ops_flags = IBV_QP_EX_WITH_RDMA_READ};

	(void)state;
	init.cap.max_send_wr = vb_limits_default.qp_wr + 1;
	assert_null(ibv_create_qp(pd, &init));
	assert_int_equal(errno, EINVAL);
	init = rc_init(cq);
	init.send_cq = NULL;
	assert_null(ibv_create_qp(pd, &init));
	assert_int_equal(errno, EINVAL);
	init = rc_init(cq);
	init.qp_type = IBV_QPT_RAW_PACKET;
	assert_null(ibv_create_qp(pd, &init));
	assert_int_equal(errno, EOPNOTSUPP);
	/* UD has no READ. */
	assert_null(ibv_create_qp_ex(ctx, &ex));
	assert_int_equal(errno, EOPNOTSUPP);
	/* Nor has UC a SEND that invalidates. IBA 9.4.1.1.3 */
	ex.qp_type = IBV_QPT_UC;
	ex.send_ops_flags = IBV_QP_EX_WITH_SEND_WITH_INV;
	assert_null(ibv_create_qp_ex(ctx, &ex));
	assert_int_equal(errno, EOPNOTSUPP);
	ex.send_ops_flags = IBV_QP_EX_WITH_SEND;
	ex.comp_mask |= IBV_QP_INIT_ATTR_RX_HASH;
	assert_null(ibv_create_qp_ex(ctx, &ex));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void modify_qp__what_is_set_is_told(void **state)
{
	struct verbs_end a = end_new(IBV_QPT_RC, NULL, NULL), b = end_new(IBV_QPT_RC, NULL, NULL);
	struct ibv_ah_attr path = verbs_ah_attr(true);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr q;

	(void)state;
	verbs_connect(a.qp, b.qp, true);
	assert_int_equal(a.qp->state, IBV_QPS_RTS);
	assert_int_equal(ibv_query_qp(a.qp, &q, IBV_QP_STATE, &init), 0);
	assert_int_equal(q.qp_state, IBV_QPS_RTS);
	assert_int_equal(q.cur_qp_state, IBV_QPS_RTS);
	assert_int_equal(q.path_mtu, IBV_MTU_1024);
	assert_int_equal(q.dest_qp_num, b.qp->qp_num);
	assert_int_equal(q.rq_psn, 0xfffffe);
	assert_int_equal(q.sq_psn, 0xfffffe);
	assert_int_equal(q.max_rd_atomic, 4);
	assert_int_equal(q.max_dest_rd_atomic, 4);
	assert_int_equal(q.min_rnr_timer, 1);
	assert_int_equal(q.timeout, 14);
	assert_int_equal(q.retry_cnt, 7);
	assert_int_equal(q.rnr_retry, 7);
	assert_int_equal(q.port_num, 1);
	assert_int_equal(q.pkey_index, 0);
	assert_int_equal(q.qp_access_flags, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
						IBV_ACCESS_REMOTE_ATOMIC);
	assert_memory_equal(&q.ah_attr.grh, &path.grh, sizeof path.grh);
	assert_int_equal(q.ah_attr.is_global, 1);
	assert_int_equal(q.ah_attr.port_num, 1);
	end_free(&a);
	end_free(&b);
}

/* Each attribute is told as it was set, each with a value of its own, and the core has it. IBT-28
 */
static void modify_qp__no_attribute_is_lost(void **state)
{
	struct verbs_end e = end_new(IBV_QPT_RC, NULL, NULL);
	struct ibv_qp_attr set = {.qp_state = IBV_QPS_RTR,
				  .path_mtu = IBV_MTU_512,
				  .dest_qp_num = 0x123456,
				  .rq_psn = 0x111111,
				  .max_dest_rd_atomic = 3,
				  .min_rnr_timer = 13,
				  .ah_attr = verbs_ah_attr(true)},
			   q;
	struct ibv_qp_init_attr init;
	struct vb_qp_attr core;

	(void)state;
	to_init(e.qp);
	set.ah_attr.sl = 5;
	assert_int_equal(ibv_modify_qp(e.qp, &set,
				       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
					   IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
			 0);
	set = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
				   .sq_psn = 0x222222,
				   .timeout = 19,
				   .retry_cnt = 6,
				   .rnr_retry = 5,
				   .max_rd_atomic = 2};
	assert_int_equal(ibv_modify_qp(e.qp, &set,
				       IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
					   IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					   IBV_QP_MAX_QP_RD_ATOMIC),
			 0);
	assert_int_equal(ibv_query_qp(e.qp, &q, IBV_QP_STATE, &init), 0);
	assert_int_equal(q.path_mtu, IBV_MTU_512);
	assert_int_equal(q.dest_qp_num, 0x123456);
	assert_int_equal(q.rq_psn, 0x111111);
	assert_int_equal(q.sq_psn, 0x222222);
	assert_int_equal(q.max_rd_atomic, 2);
	assert_int_equal(q.max_dest_rd_atomic, 3);
	assert_int_equal(q.min_rnr_timer, 13);
	assert_int_equal(q.timeout, 19);
	assert_int_equal(q.retry_cnt, 6);
	assert_int_equal(q.rnr_retry, 5);
	assert_int_equal(q.ah_attr.sl, 5);
	vb_qp_query(((struct vb_ibv_qp *)e.qp)->core, &core);
	assert_int_equal(core.timeout, 19);
	assert_int_equal(core.retry_cnt, 6);
	assert_int_equal(core.rnr_retry, 5);
	assert_int_equal(core.min_rnr_timer, 13);
	assert_int_equal(core.path.sl, 5);
	end_free(&e);
}

static void ece__options_of_both_ends(void **state)
{
	struct verbs_end e = end_new(IBV_QPT_RC, NULL, NULL);
	struct ibv_ece ece = {.comp_mask = 7};

	(void)state;
	assert_int_equal(ibv_query_ece(e.qp, &ece), 0);
	assert_true(ece.vendor_id == 0xffffff && ece.comp_mask == 0);
	assert_int_equal(ece.options, 0); /* nothing is forced on */
	ece.options = UINT32_MAX;
	assert_int_equal(ibv_set_ece(e.qp, &ece), 0);
	assert_int_equal(ece.options, 0); /* the peer's extensions that this end has not */
	ece.vendor_id = 0x2c9;
	assert_int_equal(ibv_set_ece(e.qp, &ece), EINVAL);
	ece = (struct ibv_ece){.vendor_id = 0xffffff, .comp_mask = 1};
	assert_int_equal(ibv_set_ece(e.qp, &ece), EINVAL);
	ece.comp_mask = 0;
	to_init(e.qp);
	assert_int_equal(ibv_set_ece(e.qp, &ece), 0);
	to_rts(e.qp, 5, false);
	assert_int_equal(ibv_set_ece(e.qp, &ece), EINVAL); /* it is connected */
	end_free(&e);
}

/* It may take longer, but never less. */
static void rate_limit__is_kept(void **state)
{
	struct verbs_end a = end_new(IBV_QPT_RC, NULL, NULL), b = end_new(IBV_QPT_RC, NULL, NULL);
	struct ibv_qp_rate_limit_attr rate = {.rate_limit = 200000, .max_burst_sz = 20000};
	struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE,
				 .wr.rdma = {(uintptr_t)buf + sizeof buf / 2, mr->rkey}};
	struct ibv_device_attr_ex caps;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	uint64_t start;

	(void)state;
	assert_int_equal(ibv_query_device_ex(ctx, NULL, &caps), 0);
	assert_true(caps.packet_pacing_caps.supported_qpts & 1u << IBV_QPT_RC);
	assert_int_equal(ibv_modify_qp_rate_limit(a.qp, &rate), EINVAL); /* RESET */
	verbs_connect(a.qp, b.qp, false);
	start = now_us();
	assert_int_equal(ibv_modify_qp_rate_limit(a.qp, &rate), 0);
	assert_int_equal(ibv_query_qp(a.qp, &attr, IBV_QP_RATE_LIMIT, &init), 0);
	assert_int_equal(attr.rate_limit, 200000);
	post_send(a.qp, wr, 0, sizeof buf / 2);
	assert_int_equal(wc_next(a.cq).status, IBV_WC_SUCCESS);
	assert_true(now_us() - start >= (sizeof buf / 2 - 20000) * 8 / 200);

	rate.rate_limit = caps.packet_pacing_caps.qp_rate_limit_min - 1;
	assert_int_equal(ibv_modify_qp_rate_limit(a.qp, &rate), EINVAL);
	rate.rate_limit = caps.packet_pacing_caps.qp_rate_limit_max + 1;
	assert_int_equal(ibv_modify_qp_rate_limit(a.qp, &rate), EINVAL);
	rate.rate_limit = 0;
	rate.comp_mask = 1;
	assert_int_equal(ibv_modify_qp_rate_limit(a.qp, &rate), EINVAL);
	rate.comp_mask = 0;
	assert_int_equal(ibv_modify_qp_rate_limit(a.qp, &rate), 0);
	end_free(&a);
	end_free(&b);
}

/* IBT-30, IBT-35 */
static void modify_qp__refused(void **state)
{
	struct verbs_end e = end_new(IBV_QPT_UC, NULL, NULL);
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_ERR, .port_num = 2};
	const int init_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	const int rtr_mask =
	    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;

	(void)state;
	assert_int_equal(ibv_modify_qp(e.qp, &a, IBV_QP_STATE), EINVAL); /* RESET to ERR */
	a.qp_state = IBV_QPS_INIT;
	assert_int_equal(ibv_modify_qp(e.qp, &a, init_mask), EINVAL); /* port 2 */
	assert_int_equal(ibv_modify_qp(e.qp, &a, IBV_QP_STATE), EINVAL);
	a.port_num = 1;
	a.qp_access_flags = 0xffff; /* no rights have these numbers */
	assert_int_equal(ibv_modify_qp(e.qp, &a, init_mask), EINVAL);
	to_init(e.qp);
	assert_int_equal(e.qp->state, IBV_QPS_INIT);

	a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
				 .path_mtu = IBV_MTU_1024,
				 .dest_qp_num = 5,
				 .ah_attr = verbs_ah_attr(false)};
	a.ah_attr.is_global = 0; /* RoCE has no local paths */
	assert_int_equal(ibv_modify_qp(e.qp, &a, rtr_mask), EINVAL);
	a.ah_attr = verbs_ah_attr(false);
	a.ah_attr.grh.sgid_index = 31; /* empty entry */
	assert_int_equal(ibv_modify_qp(e.qp, &a, rtr_mask), EINVAL);
	a.ah_attr = verbs_ah_attr(false);
	memset(&a.ah_attr.grh.dgid, 0x20, 16); /* IPv6, from IPv4 */
	assert_int_equal(ibv_modify_qp(e.qp, &a, rtr_mask), EINVAL);
	a.ah_attr = verbs_ah_attr(false);
	a.ah_attr.port_num = 2;
	assert_int_equal(ibv_modify_qp(e.qp, &a, rtr_mask), EINVAL);
	a.ah_attr.port_num = 1;
	assert_int_equal(ibv_modify_qp(e.qp, &a, rtr_mask), 0);
	end_free(&e);
}

static void create_ah__refused(void **state)
{
	struct ibv_ah_attr a = verbs_ah_attr(false);

	(void)state;
	a.is_global = 0;
	assert_null(ibv_create_ah(pd, &a));
	assert_int_equal(errno, EINVAL);
	a.is_global = 1;
	a.port_num = 0;
	assert_null(ibv_create_ah(pd, &a));
	assert_int_equal(errno, EINVAL);
}

/* A rate that the port has not, and a number that is none, are none. "lo" counts as 100 Gb/s. */
static void static_rate__of_paths(void **state)
{
	static const struct {
		uint8_t rate;
		uint32_t kbps;
	} c[] = {{IBV_RATE_MAX, 0},
		 {IBV_RATE_2_5_GBPS, 2500000},
		 {IBV_RATE_56_GBPS, 56250000},
		 {IBV_RATE_100_GBPS, 0},
		 {1, 0},
		 {IBV_RATE_800_GBPS, 0},
		 {255, 0}};
	struct ibv_ah_attr a = verbs_ah_attr(false);

	(void)state;
	for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
		struct ibv_ah *ah;

		a.static_rate = c[i].rate;
		ah = ibv_create_ah(pd, &a);
		assert_non_null(ah);
		assert_int_equal(((struct vb_ibv_ah *)ah)->core.kbps, c[i].kbps);
		assert_int_equal(ibv_destroy_ah(ah), 0);
	}

	struct verbs_end e = end_new(IBV_QPT_UC, NULL, NULL);
	struct ibv_qp_attr q = {.qp_state = IBV_QPS_RTR,
				.ah_attr = a,
				.path_mtu = IBV_MTU_1024,
				.dest_qp_num = e.qp->qp_num};
	struct ibv_qp_init_attr init;
	struct vb_qp_attr core;

	to_init(e.qp);
	q.ah_attr.static_rate = IBV_RATE_10_GBPS;
	assert_int_equal(ibv_modify_qp(e.qp, &q,
				       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
					   IBV_QP_DEST_QPN | IBV_QP_RQ_PSN),
			 0);
	vb_qp_query(((struct vb_ibv_qp *)e.qp)->core, &core);
	assert_int_equal(core.path_kbps, 10000000);
	assert_int_equal(ibv_query_qp(e.qp, &q, 0, &init), 0);
	assert_int_equal(q.ah_attr.static_rate, IBV_RATE_10_GBPS);
	assert_int_equal(q.rate_limit, 0);
	end_free(&e);
}

static void srq__limits_and_resize(void **state)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 4, .max_sge = 2, .srq_limit = 3}};
	struct ibv_srq *srq = ibv_create_srq(pd, &init);
	struct ibv_srq_attr a;
	uint32_t num;

	(void)state;
	assert_non_null(srq);
	assert_int_equal(ibv_get_srq_num(srq, &num), 0);
	assert_int_equal(ibv_query_srq(srq, &a), 0);
	assert_true(a.max_wr >= 4 && a.max_sge >= 2 && a.srq_limit == 0);
	a = (struct ibv_srq_attr){.max_wr = 64, .srq_limit = 60};
	assert_int_equal(ibv_modify_srq(srq, &a, IBV_SRQ_LIMIT), EINVAL);
	assert_int_equal(ibv_modify_srq(srq, &a, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), 0);
	assert_int_equal(ibv_query_srq(srq, &a), 0);
	assert_true(a.max_wr >= 64 && a.srq_limit == 60);
	a.max_wr = 8;
	assert_int_equal(ibv_modify_srq(srq, &a, IBV_SRQ_MAX_WR), EINVAL); /* below the limit */
	assert_int_equal(ibv_modify_srq(srq, &a, 1 << 5), EINVAL);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	init.attr.max_wr = 0;
	assert_null(ibv_create_srq(pd, &init));
	assert_int_equal(errno, EINVAL);
}

/*
 * An SRQ is in a PD of its own: what is received goes by the keys of that, what the peer reads and
 * writes by those of the QP's. IBA 10.2.9, IBT-82
 */
static void srq__of_another_domain(void **state)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_pd *other = ibv_alloc_pd(ctx);
	struct ibv_mr *in_other = ibv_reg_mr(other, buf, sizeof buf, ALL_ACCESS);
	struct ibv_srq *srq = ibv_create_srq(other, &init);
	const uint32_t lkeys[] = {in_other->lkey, mr->lkey};
	const enum ibv_wc_status ends[] = {IBV_WC_SUCCESS, IBV_WC_LOC_PROT_ERR};

	(void)state;
	assert_non_null(srq);
	for (int i = 0; i < 2; i++) {
		struct verbs_end a = end_new(IBV_QPT_RC, NULL, NULL),
				 b = end_new(IBV_QPT_RC, NULL, srq);
		struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE,
					 .wr.rdma = {(uintptr_t)buf + 9000, mr->rkey}};
		struct ibv_sge sge = {(uintptr_t)buf + 4096, 64, lkeys[i]};
		struct ibv_recv_wr recv = {.sg_list = &sge, .num_sge = 1}, *bad;

		verbs_connect(a.qp, b.qp, false);
		memset(buf, 0x31 + i, 64);
		/* The peer's keys are the QP's. */
		post_send(a.qp, wr, 0, 64);
		assert_int_equal(wc_next(a.cq).status, IBV_WC_SUCCESS);
		assert_int_equal(ibv_post_srq_recv(srq, &recv, &bad), 0);
		post_send(a.qp, (struct ibv_send_wr){.opcode = IBV_WR_SEND}, 0, 64);
		assert_int_equal(wc_next(b.cq).status, ends[i]);
		assert_int_equal(wc_next(a.cq).status, i ? IBV_WC_REM_OP_ERR : IBV_WC_SUCCESS);
		assert_int_equal(memcmp(buf, buf + 4096, 64) == 0, i == 0);
		end_free(&a);
		end_free(&b);
	}

	struct verbs_end a = end_new(IBV_QPT_RC, NULL, NULL), b = end_new(IBV_QPT_RC, NULL, srq);

	verbs_connect(a.qp, b.qp, false);
	post_send(a.qp,
		  (struct ibv_send_wr){.opcode = IBV_WR_RDMA_WRITE,
				       .wr.rdma = {(uintptr_t)buf + 9000, in_other->rkey}},
		  0, 64);
	assert_int_equal(wc_next(a.cq).status, IBV_WC_REM_ACCESS_ERR);
	end_free(&a);
	end_free(&b);
	/* The same of a datagram and its GRH. */
	a = end_new(IBV_QPT_UD, NULL, srq);
	to_init(a.qp);
	to_rts(a.qp, 0, false);

	struct ibv_ah_attr to = verbs_ah_attr(false);
	struct ibv_ah *ah = ibv_create_ah(pd, &to);
	struct ibv_sge sge = {(uintptr_t)buf + 4096, 128, in_other->lkey};
	struct ibv_recv_wr recv = {.wr_id = 7, .sg_list = &sge, .num_sge = 1}, *bad;

	assert_int_equal(ibv_post_srq_recv(srq, &recv, &bad), 0);
	post_send(
	    a.qp,
	    (struct ibv_send_wr){.opcode = IBV_WR_SEND, .wr.ud = {ah, a.qp->qp_num, 0x11111111}}, 0,
	    64);
	for (int i = 0; i < 2; i++)
		assert_int_equal(wc_next(a.cq).status, IBV_WC_SUCCESS);
	assert_memory_equal(buf, buf + 4096 + 40, 64);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	end_free(&a);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_dereg_mr(in_other), 0);
	assert_int_equal(ibv_dealloc_pd(other), 0);
}

static void resize_cq__keeps_what_is_queued(void **state)
{
	struct verbs_end e = end_new(IBV_QPT_RC, NULL, NULL);
	struct ibv_qp_attr err = {.qp_state = IBV_QPS_ERR};

	(void)state;
	to_init(e.qp);
	for (uint64_t i = 0; i < 3; i++)
		post_recv(e.qp, i, 0, 8);
	assert_int_equal(ibv_modify_qp(e.qp, &err, IBV_QP_STATE), 0);
	assert_int_equal(ibv_resize_cq(e.cq, 2), EINVAL);
	assert_int_equal(ibv_resize_cq(e.cq, 0), EINVAL);
	assert_int_equal(ibv_resize_cq(e.cq, 1000), 0);
	assert_true(e.cq->cqe >= 1000);
	for (uint64_t i = 0; i < 3; i++) {
		struct ibv_wc wc = wc_next(e.cq);

		assert_int_equal(wc.wr_id, i);
		assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
		assert_int_equal(wc.qp_num, e.qp->qp_num);
	}
	end_free(&e);
}

/* Requests that follow one another closely wait for company: their completions count all the same.
 */
static void resize_cq__counts_what_is_posted(void **state)
{
	struct verbs_end e = end_new(IBV_QPT_UD, NULL, NULL);
	struct ibv_ah_attr attr = verbs_ah_attr(false);
	struct ibv_ah *ah = ibv_create_ah(pd, &attr);
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .wr.ud = {ah, e.qp->qp_num, 0x11111111}};

	(void)state;
	assert_non_null(ah);
	to_init(e.qp);
	to_rts(e.qp, 0, false);
	for (int n = 0; n < 50; n++) { /* that they wait is a matter of time */
		for (int i = 0; i < 4; i++)
			post_send(e.qp, wr, 0, 8);
		assert_int_equal(ibv_resize_cq(e.cq, 3), EINVAL);
		for (int i = 0; i < 4; i++)
			assert_int_equal(wc_next(e.cq).status, IBV_WC_SUCCESS);
		assert_int_equal(ibv_resize_cq(e.cq, 3), 0);
		assert_int_equal(ibv_resize_cq(e.cq, 64), 0);
	}
	assert_int_equal(ibv_destroy_ah(ah), 0);
	end_free(&e);
}

/* Every field of a completion, each with a value of its own, as ibv_poll_cq() and the functions of
 * an extended CQ give it. IBT-44...56 */
static void completion__each_field_is_its_own(void **state)
{
	const struct vb_wc wc = {.wr_id = 0x1122334455667788,
				 .status = VB_WC_REM_OP_ERR,
				 .opcode = VB_WC_RECV,
				 .vendor_err = 0x21,
				 .byte_len = 0x32000,
				 .imm = 0x43000000,
				 .qpn = 0x5401,
				 .src_qpn = 0x6502,
				 .flags = VB_WC_WITH_IMM | VB_WC_GRH,
				 .pkey_index = 0x76,
				 .slid = 0x87,
				 .sl = 9,
				 .dlid_path_bits = 10,
				 .time = 11};
	struct ibv_cq_init_attr_ex init = {.cqe = 4, .wc_flags = IBV_WC_STANDARD_FLAGS};
	struct verbs_end a = end_new(IBV_QPT_RC, NULL, NULL);
	struct ibv_cq_ex *ex = ibv_create_cq_ex(ctx, &init);
	struct ibv_poll_cq_attr none = {0};
	struct ibv_wc got;

	(void)state;
	assert_non_null(ex);
	memset(&got, 0xee, sizeof got);
	assert_int_equal(vb_cq_add(((struct vb_ibv_cq *)a.cq)->core, &wc, false), 0);
	assert_int_equal(ibv_poll_cq(a.cq, 1, &got), 1);
	assert_true(got.wr_id == wc.wr_id && got.imm_data == wc.imm);
	assert_int_equal(got.status, IBV_WC_REM_OP_ERR);
	assert_int_equal(got.opcode, IBV_WC_RECV);
	assert_int_equal(got.vendor_err, 0x21);
	assert_int_equal(got.byte_len, 0x32000);
	assert_int_equal(got.qp_num, 0x5401);
	assert_int_equal(got.src_qp, 0x6502);
	assert_int_equal(got.wc_flags, IBV_WC_WITH_IMM | IBV_WC_GRH);
	assert_int_equal(got.pkey_index, 0x76);
	assert_int_equal(got.slid, 0x87);
	assert_int_equal(got.sl, 9);
	assert_int_equal(got.dlid_path_bits, 10);

	assert_int_equal(vb_cq_add(((struct vb_ibv_cq *)ibv_cq_ex_to_cq(ex))->core, &wc, false), 0);
	assert_int_equal(ibv_start_poll(ex, &none), 0);
	assert_true(ex->wr_id == wc.wr_id && ibv_wc_read_imm_data(ex) == wc.imm);
	assert_int_equal(ex->status, IBV_WC_REM_OP_ERR);
	assert_int_equal(ibv_wc_read_opcode(ex), IBV_WC_RECV);
	assert_int_equal(ibv_wc_read_vendor_err(ex), 0x21);
	assert_int_equal(ibv_wc_read_byte_len(ex), 0x32000);
	assert_int_equal(ibv_wc_read_qp_num(ex), 0x5401);
	assert_int_equal(ibv_wc_read_src_qp(ex), 0x6502);
	assert_int_equal(ibv_wc_read_wc_flags(ex), IBV_WC_WITH_IMM | IBV_WC_GRH);
	assert_int_equal(ibv_wc_read_slid(ex), 0x87);
	assert_int_equal(ibv_wc_read_sl(ex), 9);
	assert_int_equal(ibv_wc_read_dlid_path_bits(ex), 10);
	ibv_end_poll(ex);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(ex)), 0);
	end_free(&a);
}

/* Hop limits 0 and 1 are those of programs that know no routers: packets leave with the host's. */
static void create_ah__hop_limit(void **state)
{
	static const uint8_t limit[][2] = {{0, 64}, {1, 64}, {2, 2}, {255, 255}};

	(void)state;
	for (size_t i = 0; i < sizeof limit / sizeof limit[0]; i++) {
		struct ibv_ah_attr attr = verbs_ah_attr(true);
		struct ibv_ah *ah;

		attr.grh.hop_limit = limit[i][0];
		ah = ibv_create_ah(pd, &attr);
		assert_non_null(ah);
		assert_int_equal(((struct vb_ibv_ah *)ah)->core.path.hop_limit, limit[i][1]);
		assert_int_equal(ibv_destroy_ah(ah), 0);
	}
}

/* Each field of an IPv6 header that a message came with is in the address handle of the answer. */
static void init_ah_from_wc__has_what_the_grh_says(void **state)
{
	struct ibv_wc wc = {.wc_flags = IBV_WC_GRH, .sl = 3};
	struct ibv_ah_attr attr, own = verbs_ah_attr(true);
	struct ibv_grh grh = {.version_tclass_flow = htonl(6u << 28 | 0x5au << 20 | 0xabcde)};

	(void)state;
	grh.dgid = own.grh.dgid;
	memset(&grh.sgid, 0x77, sizeof grh.sgid);
	assert_int_equal(ibv_init_ah_from_wc(ctx, 1, &wc, &grh, &attr), 0);
	assert_int_equal(attr.grh.flow_label, 0xabcde);
	assert_int_equal(attr.grh.traffic_class, 0x5a);
	assert_int_equal(attr.grh.sgid_index, own.grh.sgid_index);
	assert_memory_equal(&attr.grh.dgid, &grh.sgid, sizeof grh.sgid);
	assert_int_equal(attr.sl, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    VERBS_TEST(create_qp__gives_at_least_what_is_asked),
	    VERBS_TEST(create_qp__refused),
	    VERBS_TEST(modify_qp__what_is_set_is_told),
	    VERBS_TEST(modify_qp__no_attribute_is_lost),
	    VERBS_TEST(ece__options_of_both_ends),
	    VERBS_TEST(rate_limit__is_kept),
	    VERBS_TEST(modify_qp__refused),
	    VERBS_TEST(create_ah__refused),
	    VERBS_TEST(create_ah__hop_limit),
	    VERBS_TEST(init_ah_from_wc__has_what_the_grh_says),
	    VERBS_TEST(static_rate__of_paths),
	    VERBS_TEST(srq__limits_and_resize),
	    VERBS_TEST(srq__of_another_domain),
	    VERBS_TEST(resize_cq__keeps_what_is_queued),
	    VERBS_TEST(resize_cq__counts_what_is_posted),
	    VERBS_TEST(completion__each_field_is_its_own),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
