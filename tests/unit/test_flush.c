/* SPDX-License-Identifier: BSD-2-Clause */
/* FLUSH: what it says on the wire, how it is answered, and who may. IBA A19.4.1; IBT-05 */
#include "core_env.h"

#define ALL_FLUSH (VB_ACCESS_FLUSH_GLOBAL | VB_ACCESS_FLUSH_PERSISTENT)
#define REGION_IOVA UINT64_C(0x70000)
#define REGION_LEN 4096

static struct env env;
static struct vb_tx_batch b;
static struct vb_qp *qp[2]; /* the first sends, the second answers */
static struct vb_mr *region;
static uint8_t memory[REGION_LEN];

static void setup(uint32_t qp_access, uint32_t mr_access)
{
	struct vb_mr_attr attr = {.iova = REGION_IOVA,
				  .length = REGION_LEN,
				  .host = memory,
				  .access =
				      VB_ACCESS_LOCAL_WRITE | VB_ACCESS_REMOTE_WRITE | mr_access};
	struct vb_qp_attr a = {.access = VB_ACCESS_REMOTE_WRITE | qp_access};

	memset(memory, 0, sizeof memory);
	env_config(&env);
	env_open(&env, 64);
	env_pair(&env, VB_QPT_RC, qp);
	assert_int_equal(vb_qp_modify(qp[1], &a, VB_QP_ACCESS_FLAGS, 0), 0);
	assert_int_equal(vb_mr_create(env.pd, &attr, &region), 0);
}

static int post_flush(uint64_t wr_id, uint32_t flush, uint64_t offset, uint32_t len)
{
	struct vb_send_wr wr = {.wr_id = wr_id,
				.opcode = VB_WR_FLUSH,
				.flags = VB_SEND_SIGNALED,
				.remote_addr = REGION_IOVA + offset,
				.rkey = vb_mr_rkey(region),
				.flush = flush,
				.flush_len = len};

	return vb_qp_post_send(qp[0], &wr, env.now);
}

static void flush__behind_a_write(void **state)
{
	struct vb_sge sge;
	struct vb_send_wr wr;
	struct vb_hdr h;

	(void)state;
	setup(ALL_FLUSH, ALL_FLUSH);
	sge = env_sge(&env, 0, 8);
	wr = (struct vb_send_wr){.wr_id = 1,
				 .sge = &sge,
				 .sge_cnt = 1,
				 .opcode = VB_WR_RDMA_WRITE,
				 .remote_addr = REGION_IOVA + 16,
				 .rkey = vb_mr_rkey(region)};
	env.mem[0] = 0x1122334455667788;
	assert_int_equal(vb_qp_post_send(qp[0], &wr, 0), 0);
	assert_int_equal(post_flush(2, VB_FLUSH_GLOBAL, 16, 3000), 0);
	env_loop(&env);
	assert_int_equal(env_wc(&env, 2, VB_WC_SUCCESS).opcode, VB_WC_FLUSH);
	assert_memory_equal(memory + 16, env.mem, 8);
	env_no_wc(&env);
	/* Each was a message. IBA 9.7.5.1.2 */
	assert_int_equal(qp[1]->resp.msn, 2);

	/* One packet without payload, however long the range. */
	assert_int_equal(post_flush(3, VB_FLUSH_PERSISTENT | VB_FLUSH_MR, 32, UINT32_MAX), 0);
	assert_int_equal(env_tx(&env, &b), 1);
	h = env_hdr(&b.pkt[0]);
	assert_int_equal(b.pkt[0].hdr[0], 0x1c);
	assert_int_equal(b.pkt[0].hdr_len, 12 + 4 + 16);
	assert_int_equal(b.pkt[0].payload_len, 0);
	assert_int_equal(h.flush, 0x12);
	assert_int_equal(h.reth.len, UINT32_MAX);
	assert_int_equal(h.reth.va, REGION_IOVA + 32);
	assert_true(h.ack_req);
	env_close(&env);
}

static enum vb_verdict deliver(const struct vb_tx *tx)
{
	struct vb_path path = *tx->path;
	struct vb_rx rx = {.pkt = tx->hdr, .len = tx->hdr_len, .avail = tx->hdr_len, .path = &path};

	return vb_hca_handle_packet(env.hca, &rx, env.now);
}

/* The answer is lost: the request that comes again is answered again, and not refused. */
static void flush__comes_again(void **state)
{
	struct vb_tx request;
	struct vb_path path;

	(void)state;
	setup(ALL_FLUSH, ALL_FLUSH);
	assert_int_equal(post_flush(1, VB_FLUSH_GLOBAL, 0, 8), 0);
	assert_int_equal(env_tx(&env, &b), 1);
	request = b.pkt[0];
	path = *request.path;
	request.path = &path;
	assert_int_equal(deliver(&request), VB_VERDICT_OK);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(env_tx(&env, &b), 1);
		assert_int_equal(b.pkt[0].hdr[0], VB_OP_READ_RESP_ONLY);
		assert_int_equal(b.pkt[0].payload_len, 0);
		if (i == 0)
			assert_int_equal(deliver(&request), VB_VERDICT_DUPLICATE);
	}
	assert_int_equal(deliver(&b.pkt[0]), VB_VERDICT_OK);
	(void)env_wc(&env, 1, VB_WC_SUCCESS);
	env_close(&env);
}

static void flush__who_may(void **state)
{
	static const struct {
		uint32_t qp_access, mr_access, flush, len;
		enum vb_wc_status status;
	} c[] = {
	    {ALL_FLUSH, ALL_FLUSH, VB_FLUSH_GLOBAL | VB_FLUSH_PERSISTENT, REGION_LEN,
	     VB_WC_SUCCESS},
	    {VB_ACCESS_FLUSH_GLOBAL, VB_ACCESS_FLUSH_GLOBAL, VB_FLUSH_GLOBAL, 0, VB_WC_SUCCESS},
	    {ALL_FLUSH, ALL_FLUSH, VB_FLUSH_GLOBAL, REGION_LEN + 1, VB_WC_REM_ACCESS_ERR},
	    {ALL_FLUSH, ALL_FLUSH, VB_FLUSH_GLOBAL | VB_FLUSH_MR, REGION_LEN + 1, VB_WC_SUCCESS},
	    {ALL_FLUSH, VB_ACCESS_FLUSH_GLOBAL, VB_FLUSH_PERSISTENT, 8, VB_WC_REM_ACCESS_ERR},
	    {ALL_FLUSH, 0, VB_FLUSH_GLOBAL | VB_FLUSH_MR, 8, VB_WC_REM_ACCESS_ERR},
	    {VB_ACCESS_FLUSH_GLOBAL, ALL_FLUSH, VB_FLUSH_PERSISTENT, 8, VB_WC_REM_INV_REQ_ERR},
	    {0, ALL_FLUSH, VB_FLUSH_GLOBAL, 8, VB_WC_REM_INV_REQ_ERR},
	    {ALL_FLUSH, ALL_FLUSH, 0, 8, VB_WC_REM_INV_REQ_ERR},
	    {ALL_FLUSH, ALL_FLUSH, VB_FLUSH_GLOBAL | 4, 8, VB_WC_REM_INV_REQ_ERR},
	    {ALL_FLUSH, ALL_FLUSH, VB_FLUSH_GLOBAL | 0x20, 8, VB_WC_REM_INV_REQ_ERR},
	};

	(void)state;
	for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
		setup(c[i].qp_access, c[i].mr_access);
		assert_int_equal(post_flush(1, c[i].flush, 0, c[i].len), 0);
		env_loop(&env);
		(void)env_wc(&env, 1, c[i].status);
		assert_int_equal(vb_qp_get_state(qp[1]),
				 c[i].status == VB_WC_SUCCESS ? VB_QPS_RTS : VB_QPS_ERR);
		env_close(&env);
	}
}

/* It counts as a READ does, has no data, and is for RC and XRC. */
static void flush__posting(void **state)
{
	struct vb_sge sge;
	struct vb_send_wr wr = {.opcode = VB_WR_FLUSH, .sge = &sge, .sge_cnt = 1};

	(void)state;
	setup(ALL_FLUSH, ALL_FLUSH);
	sge = env_sge(&env, 0, 8);
	assert_int_equal(vb_qp_post_send(qp[0], &wr, 0), -EINVAL);
	wr.sge_cnt = 0;
	assert_int_equal(vb_qp_post_send(env_rts(&env, VB_QPT_UC, 2, 0x21), &wr, 0), -EINVAL);
	for (uint64_t i = 0; i < 5; i++) /* max_rd_atomic is 4 */
		assert_int_equal(post_flush(i, VB_FLUSH_GLOBAL, 0, 8), 0);
	assert_int_equal(env_tx(&env, &b), 4);
	env_close(&env);
}

/* A FLUSH needs a resource as a READ does: while the last one is in use it is one too many.
 * IBA A19.4.1, 9.7.4.1.3 */
static void flush__without_a_resource(void **state)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_FLUSH,
			   .flush = VB_FLUSH_GLOBAL,
			   .reth = {.va = REGION_IOVA, .len = 8}};
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_qp *to;

	(void)state;
	setup(ALL_FLUSH, ALL_FLUSH);
	a.max_dest_rd_atomic = 1;
	a.access |= VB_ACCESS_FLUSH_GLOBAL;
	to = env_qp(&env, VB_QPT_RC, NULL);
	env_up(&env, to, &a, VB_QPS_RTR);
	h.dqpn = vb_qp_number(to);
	h.reth.rkey = vb_mr_rkey(region);
	assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_OK);
	h.psn = vb_psn(1);
	assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_RESOURCE);
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(flush__behind_a_write),
	    cmocka_unit_test(flush__comes_again),
	    cmocka_unit_test(flush__who_may),
	    cmocka_unit_test(flush__posting),
	    cmocka_unit_test(flush__without_a_resource),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
