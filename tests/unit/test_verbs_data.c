/* SPDX-License-Identifier: BSD-2-Clause */
/* Data through the verbs, the received bytes compared; lists, inline data, UD, the extended APIs.
 */
#include "verbs_env.h"

#include <pthread.h>

/* Where what is sent and what is received lies in buf. */
#define FROM 0u
#define TO (512u << 10)

static struct verbs_end a, b;

static int open_pair(void **state)
{
	verbs_open(state);
	a = end_new(IBV_QPT_RC, NULL, NULL);
	b = end_new(IBV_QPT_RC, NULL, NULL);
	verbs_connect(a.qp, b.qp, true);
	for (uint32_t i = 0; i < TO; i++)
		buf[FROM + i] = (uint8_t)(i * 7 + i / 251);
	return 0;
}

static struct ibv_send_wr rdma(enum ibv_wr_opcode op, uint64_t off)
{
	return (struct ibv_send_wr){.opcode = op, .wr.rdma = {(uintptr_t)buf + off, mr->rkey}};
}

static void assert_wc(struct ibv_wc wc, enum ibv_wc_opcode op, uint32_t len)
{
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, op);
	assert_int_equal(wc.byte_len, len);
}

static void rc__send_write_read(void **state)
{
	static const uint32_t sizes[] = {0, 1, 3, 1023, 1024, 1025, 4097, 100000, 500001};

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		uint32_t len = sizes[i];

		memset(buf + TO, 0, TO);
		post_recv(b.qp, i, TO + 1, len);
		post_send(a.qp, (struct ibv_send_wr){.opcode = IBV_WR_SEND}, FROM + 3, len);
		assert_wc(wc_next(b.cq), IBV_WC_RECV, len);
		assert_int_equal(wc_next(a.cq).status, IBV_WC_SUCCESS);
		assert_memory_equal(buf + TO + 1, buf + FROM + 3, len);
		memset(buf + TO, 0, TO);
		post_send(a.qp, rdma(IBV_WR_RDMA_WRITE, TO + 2), FROM, len);
		assert_int_equal(wc_next(a.cq).status, IBV_WC_SUCCESS);
		assert_memory_equal(buf + TO + 2, buf + FROM, len);
		memset(buf + TO, 0, TO);
		post_send(a.qp, rdma(IBV_WR_RDMA_READ, FROM + 5), TO, len);
		assert_wc(wc_next(a.cq), IBV_WC_RDMA_READ, len);
		assert_memory_equal(buf + TO, buf + FROM + 5, len);
	}
}

static void rc__immediate(void **state)
{
	struct ibv_send_wr wr = rdma(IBV_WR_RDMA_WRITE_WITH_IMM, TO);
	struct ibv_wc wc;

	(void)state;
	post_recv(b.qp, 9, TO, 0);
	wr.imm_data = htonl(0x12345678);
	post_send(a.qp, wr, FROM, 100);
	wc = wc_next(b.cq);
	assert_wc(wc, IBV_WC_RECV_RDMA_WITH_IMM, 100);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_IMM);
	assert_int_equal(wc.imm_data, htonl(0x12345678));
	assert_int_equal(wc.wr_id, 9);
	assert_int_equal(wc.qp_num, b.qp->qp_num);
}

static void rc__atomics(void **state)
{
	uint64_t *target = (uint64_t *)(void *)(buf + TO), *result = (uint64_t *)(void *)buf;
	struct ibv_send_wr wr = {.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
				 .wr.atomic = {(uintptr_t)target, 5, 0, mr->rkey}};

	(void)state;
	*target = 37;
	post_send(a.qp, wr, 0, 8);
	assert_wc(wc_next(a.cq), IBV_WC_FETCH_ADD, 8);
	assert_true(*result == 37 && *target == 42);
	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wr.wr.atomic.compare_add = 42;
	wr.wr.atomic.swap = UINT64_MAX;
	post_send(a.qp, wr, 0, 8);
	assert_wc(wc_next(a.cq), IBV_WC_COMP_SWAP, 8);
	assert_true(*result == 42 && *target == UINT64_MAX);
}

static void rc__wrong_rkey_is_a_remote_access_error(void **state)
{
	struct ibv_send_wr wr = rdma(IBV_WR_RDMA_WRITE, TO);
	struct ibv_wc wc;

	(void)state;
	wr.wr_id = 11;
	wr.wr.rdma.rkey ^= 1;
	post_send(a.qp, wr, FROM, 10);
	wc = wc_next(a.cq);
	assert_int_equal(wc.status, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(wc.wr_id, 11);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(ibv_query_qp(a.qp, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_ERR);
}

/* Gathered from two runs, inline, and overwritten right after the call. */
static void post_send__inline(void **state)
{
	uint8_t data[40];
	struct ibv_sge sge[2] = {{.addr = (uintptr_t)data, .length = 10},
				 {.addr = (uintptr_t)data + 20, .length = 20}};
	struct ibv_send_wr wr = rdma(IBV_WR_RDMA_WRITE, TO), *bad;

	(void)state;
	memcpy(data, buf + FROM, sizeof data);
	wr.sg_list = sge;
	wr.num_sge = 2;
	wr.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
	assert_int_equal(ibv_post_send(a.qp, &wr, &bad), 0);
	memset(data, 0xee, sizeof data);
	assert_int_equal(wc_next(a.cq).status, IBV_WC_SUCCESS);
	assert_memory_equal(buf + TO, buf + FROM, 10);
	assert_memory_equal(buf + TO + 10, buf + FROM + 20, 20);
	sge[0].length = 10000; /* more than max_inline_data */
	assert_int_equal(ibv_post_send(a.qp, &wr, &bad), EINVAL);
	assert_true(bad == &wr);
}

static void post_send__stops_at_the_first_bad(void **state)
{
	struct ibv_sge sge = sge_at(FROM, 8);
	struct ibv_send_wr wr[3], *bad = NULL;

	(void)state;
	for (int i = 0; i < 3; i++) {
		wr[i] = rdma(IBV_WR_RDMA_WRITE, TO);
		wr[i].wr_id = (uint64_t)i;
		wr[i].sg_list = &sge;
		wr[i].num_sge = 1;
		wr[i].send_flags = IBV_SEND_SIGNALED;
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
	}
	wr[1].num_sge = 1000;
	assert_int_equal(ibv_post_send(a.qp, wr, &bad), EINVAL);
	assert_true(bad == &wr[1]);
	assert_int_equal(wc_next(a.cq).wr_id, 0);
	wr[1].num_sge = -1;
	assert_int_equal(ibv_post_send(a.qp, &wr[1], &bad), EINVAL);
	wr[1].num_sge = 1;
	wr[1].opcode = IBV_WR_TSO;
	assert_int_equal(ibv_post_send(a.qp, &wr[1], &bad), EINVAL);
	wr[2].send_flags |= IBV_SEND_IP_CSUM;
	assert_int_equal(ibv_post_send(a.qp, &wr[2], &bad), EINVAL);
}

static void post_recv__full(void **state)
{
	struct ibv_recv_wr wr[65] = {{0}}, *bad;

	(void)state;
	for (int i = 0; i < 65; i++)
		wr[i].next = i < 64 ? &wr[i + 1] : NULL;
	assert_int_equal(ibv_post_recv(a.qp, wr, &bad), ENOMEM);
	assert_true(bad == &wr[64]);
}

/* The reply goes back by what came with the message. IBT-21 */
static void ud__answer_to_a_message(void **state)
{
	struct verbs_end c = end_new(IBV_QPT_UD, NULL, NULL), d = end_new(IBV_QPT_UD, NULL, NULL);

	(void)state;
	verbs_connect(c.qp, d.qp, false);
	for (int v6 = 0; v6 < 2; v6++) {
		struct ibv_ah_attr attr = verbs_ah_attr(v6);
		struct ibv_ah *ah = ibv_create_ah(pd, &attr), *back;
		struct ibv_send_wr wr = {.opcode = IBV_WR_SEND_WITH_IMM,
					 .imm_data = 77,
					 .wr.ud = {ah, d.qp->qp_num, 0x11111111}};
		struct ibv_wc wc;

		assert_non_null(ah);
		post_recv(d.qp, 1, TO, 40 + 512);
		post_send(c.qp, wr, FROM, 500);
		assert_wc(wc_next(c.cq), IBV_WC_SEND, 500);
		wc = wc_next(d.cq);
		assert_wc(wc, IBV_WC_RECV, 540);
		assert_int_equal(wc.wc_flags, IBV_WC_GRH | IBV_WC_WITH_IMM);
		assert_int_equal(wc.src_qp, c.qp->qp_num);
		assert_memory_equal(buf + TO + 40, buf + FROM, 500);
		back = ibv_create_ah_from_wc(pd, &wc, (struct ibv_grh *)(void *)(buf + TO), 1);
		assert_non_null(back);
		post_recv(c.qp, 2, TO, 40 + 512);
		wr.wr.ud.ah = back;
		wr.wr.ud.remote_qpn = wc.src_qp;
		post_send(d.qp, wr, FROM, 5);
		assert_wc(wc_next(c.cq), IBV_WC_RECV, 45);
		assert_wc(wc_next(d.cq), IBV_WC_SEND, 5);
		assert_int_equal(ibv_destroy_ah(ah), 0);
		assert_int_equal(ibv_destroy_ah(back), 0);
	}
	end_free(&c);
	end_free(&d);
}

static struct ibv_qp_ex *qp_ex_new(struct ibv_cq *cq, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr_ex init = {
	    .send_cq = cq,
	    .recv_cq = cq,
	    .cap = {8, 8, 2, 2, 32},
	    .qp_type = type,
	    .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	    .pd = pd,
	    .send_ops_flags = IBV_QP_EX_WITH_SEND,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(ctx, &init);

	assert_non_null(qp);
	return ibv_qp_to_qp_ex(qp);
}

static void wr_api__batch(void **state)
{
	struct ibv_qp_ex *x = qp_ex_new(a.cq, IBV_QPT_RC);
	char text[8] = "inline";

	(void)state;
	assert_null(ibv_qp_to_qp_ex(a.qp));
	assert_non_null(x);
	verbs_connect(&x->qp_base, b.qp = end_new(IBV_QPT_RC, NULL, NULL).qp, false);
	ibv_wr_start(x);
	x->wr_flags = IBV_SEND_SIGNALED;
	for (uint64_t i = 0; i < 6; i++) {
		x->wr_id = i;
		ibv_wr_rdma_write(x, mr->rkey, (uintptr_t)buf + TO + i * 100);
		ibv_wr_set_sge(x, mr->lkey, (uintptr_t)buf + FROM + i * 100, 100);
	}
	ibv_wr_rdma_write(x, mr->rkey, (uintptr_t)buf + TO + 1000);
	ibv_wr_set_inline_data(x, text, sizeof text);
	text[0] = 0;
	assert_int_equal(ibv_wr_complete(x), 0);
	for (uint64_t i = 0; i < 7; i++)
		assert_int_equal(wc_next(a.cq).status, IBV_WC_SUCCESS);
	assert_memory_equal(buf + TO, buf + FROM, 600);
	assert_string_equal((char *)buf + TO + 1000, "inline");

	/* All or none: nine do not fit, one with too many SGEs is wrong. */
	ibv_wr_start(x);
	for (int i = 0; i < 9; i++)
		ibv_wr_rdma_write(x, mr->rkey, (uintptr_t)buf + TO);
	assert_int_equal(ibv_wr_complete(x), ENOMEM);
	struct ibv_sge sge[3] = {sge_at(0, 1), sge_at(0, 1), sge_at(0, 1)};

	ibv_wr_start(x);
	ibv_wr_rdma_write(x, mr->rkey, (uintptr_t)buf + TO);
	ibv_wr_rdma_write(x, mr->rkey, (uintptr_t)buf + TO);
	ibv_wr_set_sge_list(x, 3, sge);
	assert_int_equal(ibv_wr_complete(x), EINVAL);
	ibv_wr_start(x);
	ibv_wr_rdma_write(x, mr->rkey, (uintptr_t)buf + TO);
	ibv_wr_abort(x);
	/* A window of type 1 has a verb of its own. IBA o10-37.2.34 */
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind_info info = {.mr = mr, .addr = (uintptr_t)buf, .length = 8};

	ibv_wr_start(x);
	ibv_wr_bind_mw(x, mw, mw->rkey + 1, &info);
	assert_int_equal(ibv_wr_complete(x), EINVAL);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	struct ibv_wc wc;

	assert_int_equal(ibv_poll_cq(a.cq, 1, &wc), 0);
	/* One of type 2 has its new key when the batch is posted. ibv_alloc_mw(3) */
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	uint32_t rkey = ibv_inc_rkey(mw->rkey);

	ibv_wr_start(x);
	ibv_wr_bind_mw(x, mw, rkey, &info);
	assert_int_equal(ibv_wr_complete(x), 0);
	assert_int_equal(mw->rkey, rkey);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_destroy_qp(&x->qp_base), 0);
}

/* ibv_wr_post(3): the setter says whether data is inline, and the flags are those of every post. */
static void wr_api__flags(void **state)
{
	struct ibv_qp_ex *x = qp_ex_new(a.cq, IBV_QPT_RC);

	(void)state;
	b.qp = end_new(IBV_QPT_RC, NULL, NULL).qp;
	verbs_connect(&x->qp_base, b.qp, false);
	ibv_wr_start(x);
	x->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	ibv_wr_rdma_write(x, mr->rkey, (uintptr_t)buf + TO);
	ibv_wr_set_sge(x, mr->lkey, (uintptr_t)buf + FROM, 200); /* more than may be inline */
	assert_int_equal(ibv_wr_complete(x), 0);
	assert_int_equal(wc_next(a.cq).status, IBV_WC_SUCCESS);
	assert_memory_equal(buf + TO, buf + FROM, 200);
	for (unsigned flag = IBV_SEND_IP_CSUM; flag; flag <<= 1) {
		ibv_wr_start(x);
		x->wr_flags = flag;
		ibv_wr_rdma_write(x, mr->rkey, (uintptr_t)buf + TO);
		assert_int_equal(ibv_wr_complete(x), EINVAL);
	}
	assert_int_equal(ibv_destroy_qp(&x->qp_base), 0);
}

/* IBA A19.4.2: 8 bytes at once, by value or from memory. */
static void atomic_write__by_value_and_from_memory(void **state)
{
	struct ibv_qp_init_attr_ex init = {
	    .send_cq = a.cq,
	    .recv_cq = a.cq,
	    .cap = {.max_send_wr = 4},
	    .qp_type = IBV_QPT_RC,
	    .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	    .pd = pd,
	    .send_ops_flags = IBV_QP_EX_WITH_ATOMIC_WRITE,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(ctx, &init);
	struct ibv_qp_ex *x = ibv_qp_to_qp_ex(qp);
	uint64_t value = 0x0102030405060708;
	struct verbs_end to = end_new(IBV_QPT_RC, NULL, NULL);

	(void)state;
	assert_non_null(x);
	verbs_connect(qp, to.qp, false);
	ibv_wr_start(x);
	x->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_atomic_write(x, mr->rkey, (uintptr_t)buf + TO, &value);
	assert_int_equal(ibv_wr_complete(x), 0);
	assert_wc(wc_next(a.cq), IBV_WC_ATOMIC_WRITE, 8);
	assert_memory_equal(buf + TO, &value, 8);
	post_send(qp, rdma(IBV_WR_ATOMIC_WRITE, TO + 8), FROM, 8);
	assert_wc(wc_next(a.cq), IBV_WC_ATOMIC_WRITE, 8);
	assert_memory_equal(buf + TO + 8, buf + FROM, 8);
	post_send(qp, rdma(IBV_WR_ATOMIC_WRITE, TO + 4), FROM, 8);
	assert_int_equal(wc_next(a.cq).status, IBV_WC_REM_INV_REQ_ERR);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	end_free(&to);
}

static void wr_api__ud(void **state)
{
	struct verbs_end d = end_new(IBV_QPT_UD, NULL, NULL);
	struct ibv_qp_ex *x = qp_ex_new(a.cq, IBV_QPT_UD);
	struct ibv_ah_attr attr = verbs_ah_attr(false);
	struct ibv_ah *ah = ibv_create_ah(pd, &attr);

	(void)state;
	verbs_connect(&x->qp_base, d.qp, false);
	post_recv(d.qp, 1, TO, 1000);
	ibv_wr_start(x);
	x->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(x);
	ibv_wr_set_ud_addr(x, ah, d.qp->qp_num, 0x11111111);
	ibv_wr_set_sge(x, mr->lkey, (uintptr_t)buf + FROM, 300);
	assert_int_equal(ibv_wr_complete(x), 0);
	assert_wc(wc_next(d.cq), IBV_WC_RECV, 340);
	assert_memory_equal(buf + TO + 40, buf + FROM, 300);
	assert_wc(wc_next(a.cq), IBV_WC_SEND, 300);
	/* All or none: the second says not where to. */
	ibv_wr_start(x);
	ibv_wr_send(x);
	ibv_wr_set_ud_addr(x, ah, d.qp->qp_num, 0x11111111);
	ibv_wr_send(x);
	assert_int_equal(ibv_wr_complete(x), EINVAL);
	post_recv(d.qp, 2, TO, 1000);
	ibv_wr_start(x);
	ibv_wr_send_imm(x, 77);
	ibv_wr_set_ud_addr(x, ah, d.qp->qp_num, 0x11111111);
	assert_int_equal(ibv_wr_complete(x), 0);
	assert_int_equal(wc_next(d.cq).imm_data, 77);
	assert_int_equal(wc_next(a.cq).status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_destroy_qp(&x->qp_base), 0);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	end_free(&d);
}

static void cq_ex__reads_field_by_field(void **state)
{
	struct ibv_cq_init_attr_ex init = {
	    .cqe = 16,
	    .wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK | IBV_WC_EX_WITH_CVLAN |
			IBV_WC_EX_WITH_FLOW_TAG};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(ctx, &init);
	struct ibv_poll_cq_attr poll = {0};
	struct ibv_values_ex clock = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};
	struct verbs_end old = b;
	struct ibv_qp_init_attr qi = {.send_cq = ibv_cq_ex_to_cq(cq),
				      .recv_cq = ibv_cq_ex_to_cq(cq),
				      .cap = {8, 8, 1, 1, 0},
				      .qp_type = IBV_QPT_RC};
	int err;

	(void)state;
	b.qp = ibv_create_qp(pd, &qi);
	struct verbs_end c = end_new(IBV_QPT_RC, NULL, NULL);

	verbs_connect(c.qp, b.qp, false);
	assert_int_equal(ibv_start_poll(cq, &poll), ENOENT);
	post_recv(b.qp, 21, TO, 100);
	post_recv(b.qp, 22, TO, 100);
	for (int i = 0; i < 2; i++)
		post_send(c.qp, (struct ibv_send_wr){.opcode = IBV_WR_SEND_WITH_IMM, .imm_data = 5},
			  FROM, 64);
	while ((err = ibv_start_poll(cq, &poll)) == ENOENT)
		assert_true(patience_left());
	assert_int_equal(err, 0);
	assert_true(cq->wr_id == 21 && cq->status == IBV_WC_SUCCESS);
	assert_int_equal(ibv_wc_read_opcode(cq), IBV_WC_RECV);
	assert_int_equal(ibv_wc_read_byte_len(cq), 64);
	assert_int_equal(ibv_wc_read_imm_data(cq), 5);
	assert_int_equal(ibv_wc_read_qp_num(cq), b.qp->qp_num);
	assert_int_equal(ibv_wc_read_wc_flags(cq), IBV_WC_WITH_IMM);
	assert_int_equal(ibv_wc_read_cvlan(cq), 0);
	assert_int_equal(ibv_wc_read_flow_tag(cq), 0);
	clock.comp_mask |= 1 << 20;
	assert_int_equal(ibv_query_rt_values_ex(ctx, &clock), EINVAL);
	clock.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
	assert_int_equal(ibv_query_rt_values_ex(ctx, &clock), 0);
	assert_true(ibv_wc_read_completion_ts(cq) <= (uint64_t)clock.raw_clock.tv_nsec);
	assert_true(ibv_wc_read_completion_wallclock_ns(cq) / 1000000000 <=
		    (uint64_t)time(NULL) + 1);
	while ((err = ibv_next_poll(cq)) == ENOENT)
		assert_true(patience_left());
	assert_true(err == 0 && cq->wr_id == 22);
	ibv_end_poll(cq);
	init.wc_flags = IBV_WC_EX_WITH_TM_INFO;
	assert_null(ibv_create_cq_ex(ctx, &init));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(ibv_destroy_qp(b.qp), 0);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	end_free(&c);
	b = old;
}

static _Atomic int polled;

/* Takes completions until both threads together have 2000 of them. */
static void *poll_ex(void *arg)
{
	struct ibv_cq_ex *cq = arg;
	struct ibv_poll_cq_attr attr = {0};

	while (polled < 2000) {
		if (ibv_start_poll(cq, &attr))
			continue;
		do {
			uint64_t id = cq->wr_id;

			assert_int_equal(ibv_wc_read_byte_len(cq), id % 100);
			assert_true(cq->wr_id == id);
			polled++;
		} while (ibv_next_poll(cq) == 0);
		ibv_end_poll(cq);
	}
	return NULL;
}

/* From start to end of a poll the fields are of one completion. ibv_create_cq_ex(3) */
static void cq_ex__polled_by_two_threads(void **state)
{
	struct ibv_cq_init_attr_ex init = {.cqe = 256, .wc_flags = IBV_WC_EX_WITH_BYTE_LEN};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(ctx, &init);
	struct ibv_qp_init_attr qi = {.send_cq = ibv_cq_ex_to_cq(cq),
				      .recv_cq = ibv_cq_ex_to_cq(cq),
				      .cap = {200, 1, 1, 1, 0},
				      .qp_type = IBV_QPT_RC};
	struct ibv_qp *qp = ibv_create_qp(pd, &qi);
	struct verbs_end to = end_new(IBV_QPT_RC, NULL, NULL);
	pthread_t t[2];

	(void)state;
	polled = 0;
	verbs_connect(qp, to.qp, false);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&t[i], NULL, poll_ex, cq), 0);
	for (int i = 0; i < 2000; i++) {
		struct ibv_send_wr wr = rdma(IBV_WR_RDMA_WRITE, TO);

		wr.wr_id = (uint64_t)i;
		while (i - polled >= 200)
			assert_true(patience_left());
		post_send(qp, wr, FROM, (uint32_t)i % 100);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	end_free(&to);
}

static int open_pair_udp(void **state)
{
	setenv("VERBENA_LINK", "udp", 1);
	return open_pair(state);
}

static int close_pair_udp(void **state)
{
	unsetenv("VERBENA_LINK");
	return verbs_close(state);
}

/* In front of a datagram stands the header that it came with: IPv6's, or IPv4's in the last 20 of
 * the 40 bytes. IBT-21 */
static void ud__grh_over_udp(void **state)
{
	struct verbs_end c = end_new(IBV_QPT_UD, NULL, NULL), d = end_new(IBV_QPT_UD, NULL, NULL);

	(void)state;
	verbs_connect(c.qp, d.qp, false);
	for (int v6 = 0; v6 < 2; v6++) {
		struct ibv_ah_attr attr = verbs_ah_attr(v6);
		struct ibv_send_wr wr = {.opcode = IBV_WR_SEND};
		const uint8_t *grh = buf + TO;
		struct ibv_ah *ah;
		struct ibv_wc wc;

		attr.sl = 5;
		attr.grh.hop_limit = 37;
		attr.grh.traffic_class = 0x48;
		ah = ibv_create_ah(pd, &attr);
		assert_non_null(ah);
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = d.qp->qp_num;
		wr.wr.ud.remote_qkey = 0x11111111;
		post_recv(d.qp, 1, TO, 40 + 64);
		post_send(c.qp, wr, FROM, 64);
		assert_wc(wc_next(c.cq), IBV_WC_SEND, 64);
		wc = wc_next(d.cq);
		assert_wc(wc, IBV_WC_RECV, 104);
		/* A packet of Ethernet without a tag has no priority to tell. */
		assert_int_equal(wc.sl, 0);
		assert_int_equal(v6 ? grh[7] : grh[20 + 8], 37);
		assert_int_equal(v6 ? (grh[0] & 0xf) << 4 | grh[1] >> 4 : grh[20 + 1], 0x48);
		assert_int_equal(ibv_destroy_ah(ah), 0);
	}
	end_free(&c);
	end_free(&d);
}

#define PAIR_TEST(f) cmocka_unit_test_setup_teardown(f, open_pair, verbs_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    PAIR_TEST(rc__send_write_read),
	    PAIR_TEST(rc__immediate),
	    PAIR_TEST(rc__atomics),
	    PAIR_TEST(rc__wrong_rkey_is_a_remote_access_error),
	    PAIR_TEST(post_send__inline),
	    PAIR_TEST(post_send__stops_at_the_first_bad),
	    PAIR_TEST(post_recv__full),
	    PAIR_TEST(ud__answer_to_a_message),
	    cmocka_unit_test_setup_teardown(ud__grh_over_udp, open_pair_udp, close_pair_udp),
	    PAIR_TEST(wr_api__batch),
	    PAIR_TEST(wr_api__flags),
	    PAIR_TEST(wr_api__ud),
	    PAIR_TEST(atomic_write__by_value_and_from_memory),
	    PAIR_TEST(cq_ex__polled_by_two_threads),
	    PAIR_TEST(cq_ex__reads_field_by_field),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
