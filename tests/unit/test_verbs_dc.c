/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DC as a program of mlx5dv sees it: what the devices say of themselves, what can be created, work
 * for a target, and errors of QPs and streams. docs/dc.md; IBT-25, facts B.8
 */
#include "core/dc/dc.h"
#include "core/qp/qp.h"
#include "verbs/priv.h"
#include "verbs_env.h"

#include <infiniband/mlx5dv.h>

#define KEY UINT64_C(0xfedcba9876543210)

static struct ibv_cq *cq;
static struct ibv_srq *srq;
static struct ibv_ah *ah;

static void open_all(void)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 16, .max_sge = 1}};
	struct ibv_ah_attr attr = verbs_ah_attr(false);

	cq = ibv_create_cq(ctx, 64, NULL, NULL, 0);
	srq = ibv_create_srq(pd, &init);
	ah = ibv_create_ah(pd, &attr);
	assert_non_null(cq);
	assert_non_null(srq);
	assert_non_null(ah);
}

static void close_all(void)
{
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static struct ibv_qp_init_attr_ex plain_dct(void)
{
	return (struct ibv_qp_init_attr_ex){.send_cq = cq,
					    .recv_cq = cq,
					    .srq = srq,
					    .qp_type = IBV_QPT_DRIVER,
					    .comp_mask = IBV_QP_INIT_ATTR_PD,
					    .pd = pd};
}

static struct ibv_qp_init_attr_ex plain_dci(void)
{
	return (struct ibv_qp_init_attr_ex){
	    .send_cq = cq,
	    .recv_cq = cq,
	    .cap = {.max_send_wr = 16, .max_send_sge = 1, .max_inline_data = 64},
	    .qp_type = IBV_QPT_DRIVER,
	    .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	    .pd = pd,
	    .send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
			      IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ |
			      IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD};
}

static struct mlx5dv_qp_init_attr dv_attr(enum mlx5dv_dc_type type)
{
	struct mlx5dv_qp_init_attr a = {.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
					.dc_init_attr = {.dc_type = type}};

	if (type == MLX5DV_DCTYPE_DCT)
		a.dc_init_attr.dct_access_key = KEY;
	return a;
}

static void up(struct ibv_qp *qp, bool is_dci)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
				.port_num = 1,
				.qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
						   IBV_ACCESS_REMOTE_READ |
						   IBV_ACCESS_REMOTE_ATOMIC,
				.path_mtu = IBV_MTU_1024,
				.ah_attr = verbs_ah_attr(false),
				.min_rnr_timer = 1,
				.timeout = 14,
				.retry_cnt = 7,
				.rnr_retry = 7,
				.max_rd_atomic = 4};
	int init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	int rtr = IBV_QP_STATE | IBV_QP_PATH_MTU;

	assert_int_equal(ibv_modify_qp(qp, &a, is_dci ? init : init | IBV_QP_ACCESS_FLAGS), 0);
	a.qp_state = IBV_QPS_RTR;
	assert_int_equal(
	    ibv_modify_qp(qp, &a, is_dci ? rtr : rtr | IBV_QP_AV | IBV_QP_MIN_RNR_TIMER), 0);
	a.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(qp, &a,
				       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					   IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					   IBV_QP_MAX_QP_RD_ATOMIC),
			 is_dci ? 0 : EINVAL);
}

static struct ibv_qp *target(void)
{
	struct ibv_qp_init_attr_ex attr = plain_dct();
	struct mlx5dv_qp_init_attr dv = dv_attr(MLX5DV_DCTYPE_DCT);
	struct ibv_qp *qp = mlx5dv_create_qp(ctx, &attr, &dv);

	assert_non_null(qp);
	up(qp, false);
	return qp;
}

static struct ibv_qp *initiator(uint8_t log_streams)
{
	struct ibv_qp_init_attr_ex attr = plain_dci();
	struct mlx5dv_qp_init_attr dv = dv_attr(MLX5DV_DCTYPE_DCI);
	struct ibv_qp *qp;

	if (log_streams) {
		dv.comp_mask |= MLX5DV_QP_INIT_ATTR_MASK_DCI_STREAMS;
		dv.dc_init_attr.dci_streams.log_num_concurent = log_streams;
		dv.dc_init_attr.dci_streams.log_num_errored = log_streams;
	}
	qp = mlx5dv_create_qp(ctx, &attr, &dv);
	assert_non_null(qp);
	up(qp, true);
	return qp;
}

static void post_srq(uint64_t wr_id, size_t off)
{
	struct ibv_sge sge = sge_at(off, 64);
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad;

	assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
}

/* One piece of work: 'S'end, 'W'rite, 'R'ead or 'A'dd of 8 bytes at @off, from or to @off + 4096.
 */
static void post(struct ibv_qp *qp, char op, uint64_t wr_id, size_t off, const struct ibv_qp *dct,
		 uint64_t key, uint16_t stream)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);
	struct mlx5dv_qp_ex *dv = mlx5dv_qp_ex_from_ibv_qp_ex(ex);
	uint64_t remote = (uintptr_t)buf + off + 4096;

	ibv_wr_start(ex);
	ex->wr_id = wr_id;
	ex->wr_flags = IBV_SEND_SIGNALED;
	if (op == 'S')
		ibv_wr_send_imm(ex, htonl(7));
	else if (op == 'W')
		ibv_wr_rdma_write(ex, mr->rkey, remote);
	else if (op == 'R')
		ibv_wr_rdma_read(ex, mr->rkey, remote);
	else
		ibv_wr_atomic_fetch_add(ex, mr->rkey, remote, 5);
	ibv_wr_set_sge(ex, mr->lkey, (uintptr_t)buf + off, 8);
	if (stream)
		mlx5dv_wr_set_dc_addr_stream(dv, ah, dct->qp_num, key, stream);
	else
		mlx5dv_wr_set_dc_addr(dv, ah, dct->qp_num, key);
	assert_int_equal(ibv_wr_complete(ex), 0);
}

static void expect(uint64_t wr_id, enum ibv_wc_status status)
{
	struct ibv_wc wc = wc_next(cq);

	assert_int_equal(wc.wr_id, wr_id);
	assert_int_equal(wc.status, status);
}

static void device__says_it_is_mlx5_where_wanted(void **state)
{
	struct ibv_device_attr attr;
	struct mlx5dv_context dv = {.comp_mask = UINT64_MAX};
	struct mlx5dv_context_attr devx = {.flags = MLX5DV_CONTEXT_FLAGS_DEVX}, none = {0};
	struct ibv_context *c;

	(void)state;
	assert_false(mlx5dv_is_supported(ctx->device));
	assert_int_equal(ibv_query_device(ctx, &attr), 0);
	assert_int_not_equal(attr.vendor_id, 0x02c9);
	setenv("VERBENA_DC", "half", 1);
	assert_true(mlx5dv_is_supported(ctx->device));
	assert_int_equal(ibv_query_device(ctx, &attr), 0);
	assert_int_equal(attr.vendor_id, 0x02c9);
	unsetenv("VERBENA_DC");
	assert_int_equal(mlx5dv_query_device(ctx, &dv), 0);
	assert_int_equal(dv.comp_mask, MLX5DV_CONTEXT_MASK_DC_ODP_CAPS |
					   MLX5DV_CONTEXT_MASK_DCI_STREAMS |
					   MLX5DV_CONTEXT_MASK_CQE_COMPRESION);
	assert_int_equal(dv.dci_streams_caps.max_log_num_concurent, 4);
	assert_int_equal(dv.dci_streams_caps.max_log_num_errored, 8);
	assert_int_equal(dv.dc_odp_caps, IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_WRITE |
					     IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC |
					     IBV_ODP_SUPPORT_SRQ_RECV);
	assert_int_equal(dv.flags, 0);
	/* Fields that nobody asked for are 0. */
	memset(&dv, 0xee, sizeof dv);
	dv.comp_mask = MLX5DV_CONTEXT_MASK_DCI_STREAMS | MLX5DV_CONTEXT_MASK_SWP;
	assert_int_equal(mlx5dv_query_device(ctx, &dv), 0);
	assert_int_equal(dv.comp_mask, MLX5DV_CONTEXT_MASK_DCI_STREAMS);
	assert_int_equal(dv.dci_streams_caps.max_log_num_concurent, 4);
	assert_int_equal(dv.dc_odp_caps, 0);
	assert_int_equal(dv.version, 0);
	errno = 0;
	assert_null(mlx5dv_open_device(ctx->device, &devx));
	assert_int_equal(errno, EOPNOTSUPP);
	devx = (struct mlx5dv_context_attr){.comp_mask = 1};
	assert_null(mlx5dv_open_device(ctx->device, &devx));
	c = mlx5dv_open_device(ctx->device, NULL);
	assert_non_null(c);
	assert_int_equal(ibv_close_device(c), 0);
	c = mlx5dv_open_device(ctx->device, &none);
	assert_non_null(c);
	assert_int_equal(ibv_close_device(c), 0);
}

static void dc__all_operations(void **state)
{
	struct ibv_qp *dct, *dci;
	struct ibv_wc wc;
	uint64_t at;

	(void)state;
	open_all();
	dct = target();
	dci = initiator(0);
	assert_int_equal(mlx5dv_map_ah_to_qp(ah, dct->qp_num), 0);
	post_srq(9, 128);
	buf[0] = 77;
	post(dci, 'S', 1, 0, dct, KEY, 0);
	wc = wc_next(cq);
	assert_int_equal(wc.wr_id, 9);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.qp_num, dct->qp_num);
	assert_int_equal(wc.src_qp, dci->qp_num);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_IMM);
	assert_int_equal(ntohl(wc.imm_data), 7);
	assert_int_equal(wc.byte_len, 8);
	assert_int_equal(buf[128], 77);
	expect(1, IBV_WC_SUCCESS);
	post(dci, 'W', 2, 0, dct, KEY, 0);
	expect(2, IBV_WC_SUCCESS);
	assert_int_equal(buf[4096], 77);
	buf[4096 + 8] = 3;
	post(dci, 'R', 3, 8, dct, KEY, 0);
	expect(3, IBV_WC_SUCCESS);
	assert_int_equal(buf[8], 3);
	at = 10;
	memcpy(buf + 4096 + 16, &at, 8);
	post(dci, 'A', 4, 16, dct, KEY, 0);
	expect(4, IBV_WC_SUCCESS);
	memcpy(&at, buf + 4096 + 16, 8);
	assert_int_equal(at, 15);
	memcpy(&at, buf + 16, 8);
	assert_int_equal(at, 10);
	assert_int_equal(ibv_destroy_srq(srq), EBUSY);
	assert_int_equal(ibv_destroy_qp(dci), 0);
	assert_int_equal(ibv_destroy_qp(dct), 0);
	close_all();
}

static void dci__wrong_key(void **state)
{
	struct ibv_qp *dct, *dci;
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	(void)state;
	open_all();
	dct = target();
	dci = initiator(0);
	post(dci, 'W', 1, 0, dct, KEY + 1, 0);
	expect(1, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_query_qp(dci, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_ERR);
	assert_int_equal(init.qp_type, IBV_QPT_DRIVER);
	assert_int_equal(ibv_query_qp(dct, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTR);
	attr.qp_state = IBV_QPS_RESET;
	assert_int_equal(ibv_modify_qp(dci, &attr, IBV_QP_STATE), 0);
	up(dci, true);
	post(dci, 'W', 2, 0, dct, KEY, 0);
	expect(2, IBV_WC_SUCCESS);
	assert_int_equal(ibv_destroy_qp(dci), 0);
	assert_int_equal(ibv_destroy_qp(dct), 0);
	close_all();
}

/* An error is of a stream by all 16 bits of its number. docs/dc.md */
static void dci__streams(void **state)
{
	struct ibv_qp *dct, *dci;

	(void)state;
	open_all();
	dct = target();
	dci = initiator(2);
	post(dci, 'W', 1, 0, dct, KEY + 1, 0x101);
	expect(1, IBV_WC_REM_ACCESS_ERR);
	post(dci, 'W', 2, 0, dct, KEY, 0x101);
	expect(2, IBV_WC_WR_FLUSH_ERR);
	post(dci, 'W', 3, 0, dct, KEY, 1);
	expect(3, IBV_WC_SUCCESS);
	assert_int_equal(mlx5dv_dci_stream_id_reset(dci, 1), EINVAL);
	assert_int_equal(mlx5dv_dci_stream_id_reset(dct, 0x101), EINVAL);
	assert_int_equal(mlx5dv_dci_stream_id_reset(dci, 0x101), 0);
	post(dci, 'W', 4, 0, dct, KEY, 0x101);
	expect(4, IBV_WC_SUCCESS);
	assert_int_equal(ibv_destroy_qp(dci), 0);
	assert_int_equal(ibv_destroy_qp(dct), 0);
	close_all();
}

/* Streams run side by side: what one target has no receive for keeps no other stream waiting. */
static void dci__streams_side_by_side(void **state)
{
	struct ibv_srq_init_attr none = {.attr = {.max_wr = 8, .max_sge = 1}};
	struct mlx5dv_qp_init_attr dv = dv_attr(MLX5DV_DCTYPE_DCT);
	struct ibv_qp_init_attr_ex attr;
	struct ibv_qp *ready, *unready, *dci;
	struct ibv_sge sge;
	struct ibv_recv_wr wr = {.wr_id = 20, .sg_list = &sge, .num_sge = 1}, *bad;

	(void)state;
	open_all();
	attr = plain_dct();
	attr.srq = ibv_create_srq(pd, &none);
	assert_non_null(attr.srq);
	unready = mlx5dv_create_qp(ctx, &attr, &dv);
	assert_non_null(unready);
	up(unready, false);
	ready = target();
	dci = initiator(2);
	post(dci, 'S', 1, 0, unready, KEY, 1);
	post(dci, 'W', 2, 0, ready, KEY, 1);
	for (uint16_t s = 2; s <= 4; s++) {
		post(dci, 'W', s * 10u, 0, ready, KEY, s);
		expect(s * 10u, IBV_WC_SUCCESS);
	}
	sge = sge_at(4096, 64);
	assert_int_equal(ibv_post_srq_recv(attr.srq, &wr, &bad), 0);
	/* Its receive completes in the same CQ, before it does. */
	expect(20, IBV_WC_SUCCESS);
	expect(1, IBV_WC_SUCCESS);
	expect(2, IBV_WC_SUCCESS);
	assert_int_equal(ibv_destroy_qp(dci), 0);
	assert_int_equal(ibv_destroy_qp(unready), 0);
	assert_int_equal(ibv_destroy_qp(ready), 0);
	assert_int_equal(ibv_destroy_srq(attr.srq), 0);
	close_all();
}

static int create_errno(struct ibv_qp_init_attr_ex attr, struct mlx5dv_qp_init_attr dv)
{
	errno = 0;
	assert_null(mlx5dv_create_qp(ctx, &attr, &dv));
	return errno;
}

/* The user says how DCIs connect; other words leave it to the adapter. docs/dc.md */
static void dci__handshake_of_the_user(void **state)
{
	static const char *const words[] = {NULL, "fuller", "half", "full"};
	struct mlx5dv_qp_init_attr dv = dv_attr(MLX5DV_DCTYPE_DCI);

	(void)state;
	open_all();
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		struct ibv_qp_init_attr_ex attr = plain_dci();
		const struct vb_dci *core;
		struct ibv_qp *dci;

		if (words[i])
			setenv("VERBENA_DC", words[i], 1);
		dci = mlx5dv_create_qp(ctx, &attr, &dv);
		unsetenv("VERBENA_DC");
		assert_non_null(dci);
		core = ((struct vb_ibv_qp *)dci)->core->dci;
		assert_int_equal(core->full, i == 3);
		assert_int_equal(core->by_adapter, i < 2);
		assert_int_equal(ibv_destroy_qp(dci), 0);
	}
	close_all();
}

static void create__refused(void **state)
{
	struct ibv_qp_init_attr_ex dct, dci;
	struct mlx5dv_qp_init_attr t, i, wrong;

	(void)state;
	open_all();
	dct = plain_dct(), dci = plain_dci();
	t = dv_attr(MLX5DV_DCTYPE_DCT), i = dv_attr(MLX5DV_DCTYPE_DCI);
	wrong = i;
	wrong.dc_init_attr.dc_type = (enum mlx5dv_dc_type)77;
	assert_int_equal(create_errno(dci, wrong), EINVAL);
	wrong = i;
	wrong.comp_mask |= MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS;
	wrong.send_ops_flags = MLX5DV_QP_EX_WITH_RAW_WQE; /* takes queues in memory */
	assert_int_equal(create_errno(dci, wrong), EOPNOTSUPP);
	wrong = i;
	wrong.comp_mask |= MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS;
	wrong.create_flags = MLX5DV_QP_CREATE_TUNNEL_OFFLOADS;
	assert_int_equal(create_errno(dci, wrong), EOPNOTSUPP);
	wrong = i;
	wrong.comp_mask |= MLX5DV_QP_INIT_ATTR_MASK_DCI_STREAMS;
	wrong.dc_init_attr.dci_streams.log_num_concurent = 5;
	assert_int_equal(create_errno(dci, wrong), EINVAL);
	wrong = t;
	wrong.comp_mask |= MLX5DV_QP_INIT_ATTR_MASK_DCI_STREAMS;
	assert_int_equal(create_errno(dct, wrong), EINVAL);
	/* A target without an SRQ, or with a send API; an initiator that is not of the driver's. */
	dct.srq = NULL;
	assert_int_equal(create_errno(dct, t), EINVAL);
	dct = plain_dct();
	dct.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	dct.send_ops_flags = IBV_QP_EX_WITH_SEND;
	assert_int_equal(create_errno(dct, t), EINVAL);
	dci.qp_type = IBV_QPT_RC;
	assert_int_equal(create_errno(dci, i), EINVAL);
	dci = plain_dci();
	dci.comp_mask = 0;
	assert_int_equal(create_errno(dci, i), EINVAL);
	dci = plain_dci();
	dci.send_ops_flags |= IBV_QP_EX_WITH_LOCAL_INV;
	assert_int_equal(create_errno(dci, i), EOPNOTSUPP);
	/* Numbers of types that the adapter has for itself are none of the verbs'. */
	for (int type = IBV_QPT_DRIVER; type < IBV_QPT_DRIVER + 4; type++) {
		struct ibv_qp_init_attr basic = {
		    .send_cq = cq, .recv_cq = cq, .srq = srq, .qp_type = (enum ibv_qp_type)type};

		errno = 0;
		assert_null(ibv_create_qp(pd, &basic));
		assert_int_equal(errno, EOPNOTSUPP);
	}
	close_all();
}

static uint32_t asked;

static void *ring_alloc(struct ibv_pd *of, void *context, size_t size, size_t alignment,
			uint64_t type)
{
	(void)of, (void)context, (void)alignment, (void)type;
	assert_true(size > 0);
	asked++;
	return IBV_ALLOCATOR_USE_DEFAULT;
}

static void ring_free(struct ibv_pd *of, void *context, void *p, uint64_t type)
{
	(void)of, (void)context, (void)p, (void)type;
}

/* A target has no queues: the allocator of a parent domain is not called.
 * ibv_alloc_parent_domain(3) */
static void create__in_a_parent_domain(void **state)
{
	struct ibv_parent_domain_init_attr init = {.comp_mask =
						       IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS,
						   .alloc = ring_alloc,
						   .free = ring_free};
	struct mlx5dv_qp_init_attr t = dv_attr(MLX5DV_DCTYPE_DCT), i = dv_attr(MLX5DV_DCTYPE_DCI);
	struct ibv_qp_init_attr_ex dct, dci;
	struct ibv_qp *qp;

	(void)state;
	open_all();
	init.pd = pd;
	dct = plain_dct(), dci = plain_dci();
	dct.pd = dci.pd = ibv_alloc_parent_domain(ctx, &init);
	assert_non_null(dct.pd);
	qp = mlx5dv_create_qp(ctx, &dct, &t);
	assert_non_null(qp);
	assert_int_equal(asked, 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	qp = mlx5dv_create_qp(ctx, &dci, &i);
	assert_non_null(qp);
	assert_int_equal(asked, 1);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_dealloc_pd(dct.pd), 0);
	close_all();
}

/* A target has no queues, even if asked for; an initiator has no queue for receives. */
static void create__queues_that_there_are(void **state)
{
	struct ibv_qp_init_attr_ex dct, dci;
	struct mlx5dv_qp_init_attr t = dv_attr(MLX5DV_DCTYPE_DCT), i = dv_attr(MLX5DV_DCTYPE_DCI);
	const struct ibv_qp_cap none = {0};
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_qp *qp;

	(void)state;
	open_all();
	dct = plain_dct(), dci = plain_dci();
	dct.cap = (struct ibv_qp_cap){8, 8, 2, 2, 16};
	qp = mlx5dv_create_qp(ctx, &dct, &t);
	assert_non_null(qp);
	assert_memory_equal(&dct.cap, &none, sizeof none);
	assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_CAP, &init), 0);
	assert_memory_equal(&init.cap, &none, sizeof none);
	assert_ptr_equal(init.srq, srq);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	dci.cap.max_recv_wr = dci.cap.max_recv_sge = 3;
	qp = mlx5dv_create_qp(ctx, &dci, &i);
	assert_non_null(qp);
	assert_true(dci.cap.max_recv_wr == 0 && dci.cap.max_recv_sge == 0);
	assert_true(dci.cap.max_send_wr >= 16 && dci.cap.max_inline_data >= 64);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	/* A DCI of 16 streams has no stream 16. mlx5dv_query_device(3) */
	i.comp_mask |= MLX5DV_QP_INIT_ATTR_MASK_DCI_STREAMS;
	i.dc_init_attr.dci_streams.log_num_concurent = 4;
	i.dc_init_attr.dci_streams.log_num_errored = 4;
	dci = plain_dci();
	qp = mlx5dv_create_qp(ctx, &dci, &i);
	assert_non_null(qp);
	assert_int_equal(mlx5dv_dci_stream_id_reset(qp, 16), EINVAL);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	close_all();
}

/* Of what the verbs have for all QPs, DC has not all. */
static void post__refused(void **state)
{
	struct ibv_sge sge = sge_at(0, 8);
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
	struct ibv_recv_wr recv = {.sg_list = &sge, .num_sge = 1}, *bad_recv;
	struct ibv_qp *dct, *dci;

	(void)state;
	open_all();
	dct = target();
	dci = initiator(0);
	/* There is no place in it for an address. */
	assert_int_equal(ibv_post_send(dci, &wr, &bad), EINVAL);
	assert_int_equal(ibv_post_send(dct, &wr, &bad), EINVAL);
	assert_int_equal(ibv_post_recv(dci, &recv, &bad_recv), EINVAL);
	assert_int_equal(ibv_post_recv(dct, &recv, &bad_recv), EINVAL);
	assert_int_equal(ibv_destroy_qp(dci), 0);
	assert_int_equal(ibv_destroy_qp(dct), 0);
	close_all();
}

/* A context that is closed takes along what the program has left in it: the sanitizer looks for
 * what nobody has any more. */
static void close_device__with_qps_of_dc(void **state)
{
	(void)state;
	open_all();
	(void)target();
	(void)initiator(2);
}

/* Other QPs, with a word about entries that only mlx5's own queues heed. */
static void create__flags_without_queues(void **state)
{
	struct ibv_qp_init_attr_ex attr;
	struct mlx5dv_qp_init_attr dv = {.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS,
					 .create_flags = MLX5DV_QP_CREATE_ALLOW_SCATTER_TO_CQE};
	struct ibv_qp *qp;

	(void)state;
	open_all();
	attr = plain_dct();
	attr.qp_type = IBV_QPT_RC;
	qp = mlx5dv_create_qp(ctx, &attr, &dv);
	assert_non_null(qp);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	close_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    VERBS_TEST(device__says_it_is_mlx5_where_wanted),
	    VERBS_TEST(dc__all_operations),
	    VERBS_TEST(dci__wrong_key),
	    VERBS_TEST(dci__streams),
	    VERBS_TEST(dci__streams_side_by_side),
	    VERBS_TEST(close_device__with_qps_of_dc),
	    VERBS_TEST(create__refused),
	    VERBS_TEST(dci__handshake_of_the_user),
	    VERBS_TEST(create__queues_that_there_are),
	    VERBS_TEST(create__in_a_parent_domain),
	    VERBS_TEST(create__flags_without_queues),
	    VERBS_TEST(post__refused),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
