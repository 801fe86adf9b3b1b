/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queues that a program writes by itself, of every kind but datagrams: UC,
 * XRC and DC, entries of 128 bytes, CQs that are armed by a store, signatures.
 */
#include "raw_env.h"

#include <sys/resource.h>

#define SIGNALED MLX5_WQE_CTRL_CQ_UPDATE
#define DC_KEY UINT64_C(0xfedcba9876543210)

static struct raw_end a, b;

static void test_uc(void **state)
{
	(void)state;
	raw_ends(&a, &b, IBV_QPT_UC);
	raw_receive(&b, 200000, 100);
	raw_begin(&a);
	raw_remote(&a, 300000);
	raw_inline(&a, "unreliable", 10);
	raw_post(&a, MLX5_OPCODE_RDMA_WRITE_IMM, SIGNALED, htobe32(3));
	(void)raw_next_of(&a, MLX5_CQE_REQ, 0);
	(void)raw_next_of(&b, MLX5_CQE_RESP_WR_IMM, 0);
	assert_memory_equal(buf + 300000, "unreliable", 10);
	/* No atomics on UC. */
	raw_begin(&a);
	raw_remote(&a, 300000);
	(void)raw_add(&a, 16);
	raw_data(&a, 0, 8);
	raw_post(&a, MLX5_OPCODE_ATOMIC_FA, 0, 0);
	(void)raw_next_of(&a, MLX5_CQE_REQ_ERR, 1);
	raw_free(&a, &b);
}

static void send_to_b(uint8_t flags)
{
	uint16_t at = a.sent;

	raw_receive(&b, 200000, 100);
	raw_begin(&a);
	raw_inline(&a, "x", 1);
	raw_post(&a, MLX5_OPCODE_SEND, (uint8_t)(SIGNALED | flags), 0);
	(void)raw_next_of(&a, MLX5_CQE_REQ, at);
}

static void test_arm(void **state)
{
	struct ibv_comp_channel *ch = ibv_create_comp_channel(ctx);

	(void)state;
	a = b = (struct raw_end){.at = 0};
	a.end = end_new(IBV_QPT_RC, NULL, NULL);
	b.end = end_new(IBV_QPT_RC, ch, NULL);
	verbs_connect(a.end.qp, b.end.qp, false);
	raw_show(&a);
	raw_show(&b);
	/* Not armed: no event. */
	send_to_b(0);
	assert_false(raw_has_event(ch, b.end.cq, 20));
	/* Armed as of before that entry: at once. */
	raw_arm(&b, MLX5_CQ_DB_REQ_NOT, 0);
	assert_true(raw_has_event(ch, b.end.cq, 5000));
	(void)raw_next_of(&b, MLX5_CQE_RESP_SEND, 0);
	/* Armed as of now: for the next one. */
	raw_arm(&b, MLX5_CQ_DB_REQ_NOT, 1);
	assert_false(raw_has_event(ch, b.end.cq, 20));
	send_to_b(0);
	assert_true(raw_has_event(ch, b.end.cq, 5000));
	(void)raw_next_of(&b, MLX5_CQE_RESP_SEND, 1);
	/* For solicited ones alone. */
	raw_arm(&b, MLX5_CQ_DB_REQ_NOT_SOL, 2);
	send_to_b(0);
	assert_false(raw_has_event(ch, b.end.cq, 20));
	send_to_b(MLX5_WQE_CTRL_SOLICITED);
	assert_true(raw_has_event(ch, b.end.cq, 5000));
	raw_free(&a, &b);
	assert_int_equal(ibv_destroy_comp_channel(ch), 0);
}

/* Entries of 128 bytes, whose second half is the entry. */
static void test_wide_entries(void **state)
{
	struct ibv_cq_init_attr_ex attr = {.cqe = 16};
	struct mlx5dv_cq_init_attr dv = {.comp_mask = MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE,
					 .cqe_size = 128};
	struct ibv_cq_ex *cq = mlx5dv_create_cq(ctx, &attr, &dv);
	struct ibv_qp_init_attr init = {.cap = {.max_send_wr = 16, .max_send_sge = 1},
					.qp_type = IBV_QPT_RC};
	struct ibv_cq *plain;

	(void)state;
	assert_non_null(cq);
	plain = ibv_cq_ex_to_cq(cq);
	a = b = (struct raw_end){.at = 0};
	init.send_cq = init.recv_cq = plain;
	a.end = (struct verbs_end){.qp = ibv_create_qp(pd, &init), .cq = plain};
	b.end = end_new(IBV_QPT_RC, NULL, NULL);
	verbs_connect(a.end.qp, b.end.qp, false);
	raw_show(&a);
	raw_show(&b);
	assert_int_equal(a.cq.cqe_size, 128);
	for (uint16_t i = 0; i < 50; i++) {
		raw_begin(&a);
		raw_remote(&a, 100000);
		raw_inline(&a, &i, 2);
		raw_post(&a, MLX5_OPCODE_RDMA_WRITE, SIGNALED, 0);
		(void)raw_next_of(&a, MLX5_CQE_REQ, i);
	}
	raw_free(&a, &b);
	dv.cqe_size = 96;
	assert_null(mlx5dv_create_cq(ctx, &attr, &dv));
}

/* A program that does not read: the CQ overruns, and its QP ends. */
static void test_overrun(void **state)
{
	struct ibv_async_event event;

	(void)state;
	raw_ends(&a, &b, IBV_QPT_RC);
	for (uint32_t i = 0; i <= a.cq.cqe_cnt; i++) {
		raw_begin(&a);
		raw_remote(&a, 100000);
		raw_inline(&a, &i, 4);
		raw_post(&a, MLX5_OPCODE_RDMA_WRITE, SIGNALED, 0);
		/* It looks, but says nothing of it. */
		while (i < a.cq.cqe_cnt && !raw_has_entry(&a))
			assert_true(patience_left());
		a.read++;
	}
	assert_int_equal(ibv_get_async_event(ctx, &event), 0);
	ibv_ack_async_event(&event);
	assert_true(event.event_type == IBV_EVENT_CQ_ERR);
	assert_int_equal(ibv_get_async_event(ctx, &event), 0);
	ibv_ack_async_event(&event);
	assert_true(event.event_type == IBV_EVENT_QP_FATAL);
	raw_free(&a, &b);
}

/* IBT-38: with signatures, as MLX5_QP_SIGNATURE asks for. */
static void test_signature(void **state)
{
	uint8_t all = 0;

	(void)state;
	setenv("MLX5_QP_SIGNATURE", "1", 1);
	raw_pair(&a, &b);
	unsetenv("MLX5_QP_SIGNATURE");
	for (int good = 1; good >= 0; good--) {
		raw_begin(&a);
		raw_remote(&a, 100000);
		raw_inline(&a, "signed", 6);
		raw_put(&a, MLX5_OPCODE_RDMA_WRITE, SIGNALED, 0);
		all = 0;
		for (uint32_t i = 0; i < a.at; i++)
			all ^= a.wqe[i];
		((uint8_t *)a.qp.sq.buf)[(a.sent - 1) * 64 + 8] = (uint8_t)(~all ^ !good);
		raw_ring(&a);
		(void)raw_next_of(&a, good ? MLX5_CQE_REQ : MLX5_CQE_REQ_ERR,
				  (uint16_t)(a.sent - 1));
	}
	raw_free(&a, &b);
}

static struct ibv_xrcd *xrcd_new(void)
{
	struct ibv_xrcd_init_attr attr = {
	    .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1};

	return ibv_open_xrcd(ctx, &attr);
}

static void xrc_up(struct ibv_qp *initiator, struct ibv_qp *target)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
				   .port_num = 1,
				   .qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
				   .ah_attr = verbs_ah_attr(false),
				   .path_mtu = IBV_MTU_1024,
				   .max_rd_atomic = 1,
				   .max_dest_rd_atomic = 1,
				   .min_rnr_timer = 1,
				   .timeout = 14,
				   .retry_cnt = 7,
				   .rnr_retry = 7};

	for (int i = 0; i < 2; i++) {
		struct ibv_qp *qp = i ? target : initiator;

		attr.qp_state = IBV_QPS_INIT;
		attr.dest_qp_num = i ? initiator->qp_num : target->qp_num;
		assert_int_equal(ibv_modify_qp(qp, &attr,
					       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
						   IBV_QP_ACCESS_FLAGS),
				 0);
		attr.qp_state = IBV_QPS_RTR;
		assert_int_equal(ibv_modify_qp(qp, &attr,
					       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
						   IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
						   IBV_QP_MAX_DEST_RD_ATOMIC |
						   IBV_QP_MIN_RNR_TIMER),
				 0);
	}
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(initiator, &attr,
				       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					   IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					   IBV_QP_MAX_QP_RD_ATOMIC),
			 0);
}

/* An initiator's WQE names the SRQ. */
static void test_xrc(void **state)
{
	struct ibv_xrcd *x = xrcd_new();
	struct ibv_cq *cq = ibv_create_cq(ctx, 64, NULL, NULL, 0);
	struct ibv_srq_init_attr_ex sa = {.attr = {.max_wr = 15, .max_sge = 1},
					  .comp_mask =
					      IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
					      IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
					  .srq_type = IBV_SRQT_XRC,
					  .pd = pd,
					  .xrcd = x,
					  .cq = cq};
	struct ibv_srq *srq = ibv_create_srq_ex(ctx, &sa);
	struct ibv_qp_init_attr_ex ta = {
	    .qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = x};
	struct ibv_qp *target = ibv_create_qp_ex(ctx, &ta);
	struct raw_srq s;
	struct mlx5_cqe64 e;
	__be32 *srqn;
	uint32_t index;

	(void)state;
	assert_non_null(srq);
	assert_non_null(target);
	srq_show(&s, srq);
	a = b = (struct raw_end){.at = 0};
	a.end = end_new(IBV_QPT_XRC_SEND, NULL, NULL);
	b.end = (struct verbs_end){.qp = a.end.qp, .cq = cq};
	raw_show(&a);
	xrc_up(a.end.qp, target);
	struct mlx5dv_obj obj = {.cq = {cq, &b.cq}};

	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ), 0);
	index = srq_post(&s, 200000, 100);
	raw_begin(&a);
	srqn = raw_add(&a, 16);
	*srqn = htobe32(srq->handle);
	raw_inline(&a, "to an SRQ", 9);
	raw_post(&a, MLX5_OPCODE_SEND, SIGNALED, 0);
	(void)raw_next_of(&a, MLX5_CQE_REQ, 0);
	e = raw_next(&b);
	assert_int_equal(e.op_own >> 4, MLX5_CQE_RESP_SEND);
	assert_int_equal(be16toh(e.wqe_counter), index);
	assert_int_equal(be32toh(e.srqn_uidx), srq->handle);
	assert_int_equal(be32toh(e.flags_rqpn) & 0xffffff, a.end.qp->qp_num);
	assert_memory_equal(buf + 200000, "to an SRQ", 9);
	raw_begin(&a);
	raw_post(&a, MLX5_OPCODE_NOP, SIGNALED, 0);
	(void)raw_next_of(&a, MLX5_CQE_REQ, 1);
	assert_int_equal(ibv_destroy_qp(target), 0);
	end_free(&a.end);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_close_xrcd(x), 0);
}

static void dc_up(struct ibv_qp *qp, bool is_dci)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
				   .port_num = 1,
				   .qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
				   .path_mtu = IBV_MTU_1024,
				   .ah_attr = verbs_ah_attr(false),
				   .min_rnr_timer = 1,
				   .timeout = 14,
				   .retry_cnt = 7,
				   .rnr_retry = 7,
				   .max_rd_atomic = 4};
	int init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	int rtr = IBV_QP_STATE | IBV_QP_PATH_MTU;

	assert_int_equal(ibv_modify_qp(qp, &attr, is_dci ? init : init | IBV_QP_ACCESS_FLAGS), 0);
	attr.qp_state = IBV_QPS_RTR;
	assert_int_equal(
	    ibv_modify_qp(qp, &attr, is_dci ? rtr : rtr | IBV_QP_AV | IBV_QP_MIN_RNR_TIMER), 0);
	attr.qp_state = IBV_QPS_RTS;
	if (is_dci)
		assert_int_equal(ibv_modify_qp(qp, &attr,
					       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
						   IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
						   IBV_QP_MAX_QP_RD_ATOMIC),
				 0);
}

/* A target may have messages of many QPs: the entry of a message names its sender. Both ends have
 * one CQ. */
static void dc_names_its_sender(struct mlx5_wqe_av av, uint32_t dctn, struct ibv_srq *srq)
{
	bool received = false;
	struct raw_srq s;

	srq_show(&s, srq);
	(void)srq_post(&s, 200000, 100);
	raw_send_to(&a, av, dctn);
	raw_inline(&a, "to a DCT", 8);
	raw_post(&a, MLX5_OPCODE_SEND, SIGNALED, 0);
	for (int i = 0; i < 2; i++) {
		struct mlx5_cqe64 e = raw_next(&a);

		if (e.op_own >> 4 != MLX5_CQE_RESP_SEND)
			continue;
		assert_int_equal(be32toh(e.sop_drop_qpn) & 0xffffff, dctn);
		assert_int_equal(be32toh(e.flags_rqpn) & 0xffffff, a.end.qp->qp_num);
		received = true;
	}
	assert_true(received);
	assert_memory_equal(buf + 200000, "to a DCT", 8);
}

/* A WQE of a DCI names the target and its key. */
static void test_dc(void **state)
{
	struct ibv_srq_init_attr sa = {.attr = {.max_wr = 15, .max_sge = 1}};
	struct ibv_srq *srq = ibv_create_srq(pd, &sa);
	struct ibv_cq *cq = ibv_create_cq(ctx, 64, NULL, NULL, 0);
	struct ibv_ah_attr attr = verbs_ah_attr(false);
	struct ibv_ah *ah = ibv_create_ah(pd, &attr);
	struct ibv_qp_init_attr_ex init = {.send_cq = cq,
					   .recv_cq = cq,
					   .srq = srq,
					   .qp_type = IBV_QPT_DRIVER,
					   .comp_mask = IBV_QP_INIT_ATTR_PD,
					   .pd = pd};
	struct mlx5dv_qp_init_attr dv = {
	    .comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
	    .dc_init_attr = {.dc_type = MLX5DV_DCTYPE_DCT, .dct_access_key = DC_KEY}};
	struct ibv_qp *dct = mlx5dv_create_qp(ctx, &init, &dv);
	struct mlx5_wqe_av av;

	(void)state;
	assert_non_null(dct);
	dc_up(dct, false);
	init.srq = NULL;
	init.cap = (struct ibv_qp_cap){.max_send_wr = 16, .max_send_sge = 1};
	dv.dc_init_attr.dc_type = MLX5DV_DCTYPE_DCI;
	a = b = (struct raw_end){.at = 0};
	a.end = (struct verbs_end){.qp = mlx5dv_create_qp(ctx, &init, &dv), .cq = cq};
	assert_non_null(a.end.qp);
	dc_up(a.end.qp, true);
	raw_show(&a);
	av = av_of(ah);
	av.key.dc_key = htobe64(DC_KEY);
	raw_send_to(&a, av, dct->qp_num);
	raw_remote(&a, 100000);
	raw_inline(&a, "connected", 9);
	raw_post(&a, MLX5_OPCODE_RDMA_WRITE, SIGNALED, 0);
	(void)raw_next_of(&a, MLX5_CQE_REQ, 0);
	assert_memory_equal(buf + 100000, "connected", 9);
	/* A NOP names no target, and is not in the way of what goes to one. */
	for (int round = 0; round < 20; round++) {
		uint16_t at = a.sent;

		raw_begin(&a);
		raw_post(&a, MLX5_OPCODE_NOP, SIGNALED, 0);
		raw_send_to(&a, av, dct->qp_num);
		raw_remote(&a, 100000);
		raw_inline(&a, &round, sizeof round);
		raw_post(&a, MLX5_OPCODE_RDMA_WRITE, SIGNALED, 0);
		(void)raw_next_of(&a, MLX5_CQE_REQ, at);
		(void)raw_next_of(&a, MLX5_CQE_REQ, (uint16_t)(at + 1));
		assert_memory_equal(buf + 100000, &round, sizeof round);
	}
	dc_names_its_sender(av, dct->qp_num, srq);
	assert_int_equal(ibv_destroy_qp(dct), 0);
	assert_int_equal(ibv_destroy_qp(a.end.qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

/* The members that mlx5dv_init_obj(3) shows of a PD and of device memory, and what it refuses. */
static void test_objects(void **state)
{
	struct ibv_alloc_dm_attr da = {.length = 4096};
	struct ibv_dm *dm = ibv_alloc_dm(ctx, &da);
	struct mlx5dv_pd dv_pd;
	struct mlx5dv_dm dv_dm = {.comp_mask = 0};
	struct mlx5dv_rwq rwq;
	struct ibv_wq wq = {.context = ctx};
	struct mlx5dv_obj obj = {.pd = {pd, &dv_pd}, .dm = {dm, &dv_dm}, .rwq = {&wq, &rwq}};
	struct mlx5dv_context dv = {.comp_mask = 0};

	(void)state;
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD | MLX5DV_OBJ_DM), 0);
	assert_int_equal(dv_pd.pdn, pd->handle);
	assert_int_equal(dv_dm.length, 4096);
	memset(dv_dm.buf, 1, dv_dm.length);
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_RWQ), EOPNOTSUPP);
	assert_int_equal(mlx5dv_init_obj(&obj, 1 << 20), EINVAL);
	assert_int_equal(mlx5dv_init_obj(&obj, 0), EINVAL);
	assert_true(mlx5dv_is_supported(ctx->device));
	assert_int_equal(mlx5dv_query_device(ctx, &dv), 0);
	assert_int_equal(dv.flags, MLX5DV_CONTEXT_FLAGS_CQE_V1);
	assert_int_equal(ibv_free_dm(dm), 0);
}

/* Each kind of object is shown by the handle that it was made with, and by no other. */
static void test_objects_by_handle(void **state)
{
	struct ibv_alloc_dm_attr da = {.length = 64};
	struct ibv_srq_init_attr si = {.attr = {.max_wr = 1, .max_sge = 1}};
	struct ibv_ah_attr aa = verbs_ah_attr(false);
	struct verbs_end e = end_new(IBV_QPT_RC, NULL, NULL);
	struct ibv_dm *dm = ibv_alloc_dm(ctx, &da);
	struct ibv_srq *srq = ibv_create_srq(pd, &si);
	struct ibv_ah *ah = ibv_create_ah(pd, &aa);
	struct mlx5dv_qp dv_qp;
	struct mlx5dv_cq dv_cq;
	struct mlx5dv_srq dv_srq = {.comp_mask = 0};
	struct mlx5dv_ah dv_ah;
	struct mlx5dv_pd dv_pd;
	struct mlx5dv_dm dv_dm = {.comp_mask = UINT64_MAX, .remote_va = 7};
	struct mlx5dv_obj obj = {.qp = {e.qp, &dv_qp},
				 .cq = {e.cq, &dv_cq},
				 .srq = {srq, &dv_srq},
				 .ah = {ah, &dv_ah},
				 .pd = {pd, &dv_pd},
				 .dm = {dm, &dv_dm}};
	const struct {
		uint64_t type;
		uint32_t *handle;
	} rows[] = {{MLX5DV_OBJ_QP, &e.qp->handle}, {MLX5DV_OBJ_CQ, &e.cq->handle},
		    {MLX5DV_OBJ_SRQ, &srq->handle}, {MLX5DV_OBJ_AH, &ah->handle},
		    {MLX5DV_OBJ_PD, &pd->handle},   {MLX5DV_OBJ_DM, &dm->handle}};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		*rows[i].handle ^= 1u << 20;
		assert_int_equal(mlx5dv_init_obj(&obj, rows[i].type), ENOENT);
		*rows[i].handle ^= 1u << 20;
		assert_int_equal(mlx5dv_init_obj(&obj, rows[i].type), 0);
	}
	/* The value asked for of device memory that is known: its regions begin at 0. */
	assert_int_equal(dv_dm.comp_mask, MLX5DV_DM_MASK_REMOTE_VA);
	assert_int_equal(dv_dm.remote_va, 0);
	end_free(&e);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_free_dm(dm), 0);
}

/* A CQ that finds no memory for wide entries is none: the channel it would stand on is free. */
static void test_wide_entries_without_memory(void **state)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(ctx);
	struct ibv_cq_init_attr_ex attr = {.cqe = 65536, .channel = channel};
	struct mlx5dv_cq_init_attr dv = {.comp_mask = MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE,
					 .cqe_size = 128};
	struct rlimit was, few;
	int last;

	(void)state;
	raw_pair(&a, &b); /* memory that has room for narrow entries, and not for wide ones */
	last = dup(0);
	close(last);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	few = (struct rlimit){(rlim_t)last, was.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	errno = 0;
	assert_null(mlx5dv_create_cq(ctx, &attr, &dv));
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(ibv_destroy_comp_channel(channel), 0);
	raw_free(&a, &b);
}

/* The mode that the environment said first stays: queues of a process are all of one kind. */
static void test_mode_is_asked_for_once(void **state)
{
	(void)state;
	assert_int_equal(unsetenv("VERBENA_MLX5DV"), 0);
	raw_pair(&a, &b); /* with queues to be shown */
	assert_true(mlx5dv_is_supported(ctx->device));
	assert_int_equal(setenv("VERBENA_MLX5DV", "1", 1), 0);
	raw_free(&a, &b);
}

/* A receive WQE has one segment at least, also where the program asks for none. */
static void test_receives_without_segments(void **state)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {.cap = {.max_send_wr = 4, .max_recv_wr = 4},
					.qp_type = IBV_QPT_RC,
					.send_cq = cq,
					.recv_cq = cq};
	struct raw_end r = {.end = {.cq = cq, .qp = ibv_create_qp(pd, &init)}};

	(void)state;
	assert_non_null(r.end.qp);
	assert_int_equal(init.cap.max_recv_sge, 1);
	raw_show(&r);
	assert_int_equal(r.qp.rq.stride, 16);
	end_free(&r.end);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    RAW_TEST(test_uc),
	    RAW_TEST(test_receives_without_segments),
	    RAW_TEST(test_arm),
	    RAW_TEST(test_wide_entries),
	    RAW_TEST(test_overrun),
	    RAW_TEST(test_signature),
	    RAW_TEST(test_xrc),
	    RAW_TEST(test_dc),
	    RAW_TEST(test_objects),
	    RAW_TEST(test_wide_entries_without_memory),
	    RAW_TEST(test_mode_is_asked_for_once),
	    RAW_TEST(test_objects_by_handle),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
