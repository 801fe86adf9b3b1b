/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RC where the whole range of a number matters, and the scripts show single ones: credit codes,
 * wrapping of PSN and MSN, the depth of the resources that repeat READs and atomics, every kind of
 * completion. IBA 9.7; facts B.5, B.6; IBT-07, IBT-45...61, IBT-68, IBT-69
 */
#include "core/rc/rc.h"
#include "core_env.h"

static struct env env;
static struct vb_tx_batch b;

static void setup(void)
{
	env_config(&env);
	env_open(&env, 256);
}

/* facts B.6: code 0x00 ... 0x1e, 0x1f is no limit. */
static const uint32_t credits[31] = {
    0,   1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,  192,
    256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};

static void credit__codes(void **state)
{
	(void)state;
	for (uint8_t c = 0; c < 31; c++)
		assert_int_equal(vb_credit_decode(c), credits[c]);
	assert_int_equal(vb_credit_decode(31), UINT32_MAX);
	/* Rounded down, to the nearest that there is. */
	for (uint32_t n = 0; n < 70000; n++) {
		uint8_t c = vb_credit_encode(n);

		assert_true(c < 31 && credits[c] <= n);
		assert_true(c == 30 || credits[c + 1] > n);
	}
}

static struct vb_qp *rts(uint32_t sq_psn, uint32_t rq_psn, uint8_t rd)
{
	struct vb_qp *qp = env_qp(&env, VB_QPT_RC, NULL);
	struct vb_qp_attr a = env_attr(2, 0x21);

	a.sq_psn = sq_psn;
	a.rq_psn = rq_psn;
	a.max_dest_rd_atomic = rd;
	env_up(&env, qp, &a, VB_QPS_RTS);
	return qp;
}

static enum vb_verdict request(struct vb_qp *qp, uint8_t op, uint32_t psn, uint32_t len)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | op,
			   .dqpn = vb_qp_number(qp),
			   .psn = vb_psn(psn),
			   .ack_req = true};

	h.reth.va = h.atomic.va = ENV_IOVA;
	h.reth.rkey = h.atomic.rkey = vb_mr_rkey(env.mr);
	h.reth.len = op == VB_OP_READ_REQUEST ? 8 : len;
	h.atomic.swap_add = 1;
	return env_rx(&env, 2, &h, len);
}

/* The one packet that leaves now. */
static struct vb_hdr answer(void)
{
	assert_int_equal(env_tx(&env, &b), 1);
	return env_hdr(&b.pkt[0]);
}

/* The last packet of a message asks for an ACK, and one in every 64 KiB; a READ request always
 * does. IBT-09 */
static void ackreq__in_long_messages(void **state)
{
	(void)state;
	for (unsigned m = VB_MTU_256; m <= VB_MTU_4096; m++) {
		uint32_t mtu = vb_mtu_bytes((enum vb_mtu)m), every = 65536 / mtu, k = 0;
		struct vb_mr_attr attr = {.length = 1u << 30, .access = ENV_ACCESS};
		struct vb_qp_attr a = env_attr(2, 0x21);
		struct vb_mr *mr;
		struct vb_qp *qp;

		setup();
		assert_int_equal(vb_mr_create(env.pd, &attr, &mr), 0);
		a.path_mtu = (enum vb_mtu)m;
		qp = env_qp(&env, VB_QPT_RC, NULL);
		env_up(&env, qp, &a, VB_QPS_RTS);

		struct vb_sge sge = {0, 200000, vb_mr_lkey(mr)};
		struct vb_send_wr wr = {.sge = &sge, .sge_cnt = 1, .opcode = VB_WR_SEND};
		uint32_t pkts = (200000 + mtu - 1) / mtu;

		assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
		wr.opcode = VB_WR_RDMA_READ;
		assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
		while (env_tx(&env, &b)) {
			for (uint32_t i = 0; i < b.cnt; i++, k++)
				assert_int_equal(env_hdr(&b.pkt[i]).ack_req,
						 k + 1 >= pkts || (k + 1) % every == 0);
		}
		assert_int_equal(k, pkts + 1);
		env_close(&env);
	}
}

/* Every AETH tells of the receive WQEs that are left. IBA 9.7.7.2 */
static void credit__in_every_answer(void **state)
{
	struct vb_hdr h;
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = rts(0, 0, 4);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(env_recv(&env, qp, i, 8), 0);
	assert_int_equal(request(qp, VB_OP_WRITE_ONLY, 0, 8), VB_VERDICT_OK);
	assert_int_equal(answer().aeth.syndrome, 4); /* four, or six: five are there */
	assert_int_equal(request(qp, VB_OP_READ_REQUEST, 1, 0), VB_VERDICT_OK);
	assert_int_equal(answer().aeth.syndrome, 4);
	assert_int_equal(request(qp, VB_OP_FETCH_ADD, 2, 0), VB_VERDICT_OK);
	assert_int_equal(answer().aeth.syndrome, 4);
	assert_int_equal(request(qp, VB_OP_SEND_ONLY, 3, 8), VB_VERDICT_OK);
	assert_int_equal(answer().aeth.syndrome, 4);
	assert_int_equal(request(qp, VB_OP_SEND_ONLY, 4, 8), VB_VERDICT_OK);
	h = answer();
	assert_int_equal(h.aeth.syndrome, 3);
	assert_int_equal(h.psn.v, 4);
	env_close(&env);
}

/* IBT-28: the MSN has 24 bits too, and counts messages of every kind. */
static void msn__wraps(void **state)
{
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = rts(0, 0xfffffe, 4);
	qp->resp.msn = 0xfffffe;
	assert_int_equal(request(qp, VB_OP_WRITE_ONLY, 0xfffffe, 8), VB_VERDICT_OK);
	assert_int_equal(answer().aeth.msn, 0xffffff);
	assert_int_equal(request(qp, VB_OP_FETCH_ADD, 0xffffff, 0), VB_VERDICT_OK);
	assert_int_equal(answer().aeth.msn, 0);
	assert_int_equal(request(qp, VB_OP_READ_REQUEST, 0, 0), VB_VERDICT_OK);
	assert_int_equal(answer().aeth.msn, 1);
	/* Parts of a message do not count before the last. */
	assert_int_equal(env_recv(&env, qp, 1, 4000), 0);
	assert_int_equal(request(qp, VB_OP_SEND_FIRST, 1, 1024), VB_VERDICT_OK);
	assert_int_equal(answer().aeth.msn, 1);
	assert_int_equal(request(qp, VB_OP_SEND_LAST, 2, 8), VB_VERDICT_OK);
	assert_int_equal(answer().aeth.msn, 2);
	env_close(&env);
}

/* The classes of a PSN at their borders: 2^23 behind, the one awaited, 2^23 - 1 ahead. facts B.5 */
static void psn__classes(void **state)
{
	static const uint32_t starts[] = {0, 1, 0x7fffff, 0x800000, 0xffffff, 0x123456};

	(void)state;
	setup();
	for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
		uint32_t e = starts[i];
		struct vb_qp *qp = rts(0, e, 4);

		assert_int_equal(request(qp, VB_OP_WRITE_ONLY, e - 1, 8), VB_VERDICT_DUPLICATE);
		assert_int_equal(request(qp, VB_OP_WRITE_ONLY, e - 0x800000, 8),
				 VB_VERDICT_DUPLICATE);
		assert_int_equal(answer().psn.v, (e - 1) & 0xffffff);
		assert_int_equal(request(qp, VB_OP_WRITE_ONLY, e + 0x7fffff, 8), VB_VERDICT_PSN);
		assert_int_equal(answer().aeth.syndrome, VB_NAK_PSN_SEQ);
		assert_int_equal(request(qp, VB_OP_WRITE_ONLY, e + 1, 8), VB_VERDICT_PSN);
		assert_int_equal(env_tx(&env, &b), 0); /* one NAK until it comes */
		assert_int_equal(request(qp, VB_OP_WRITE_ONLY, e, 8), VB_VERDICT_OK);
		assert_int_equal(answer().psn.v, e);
		assert_int_equal(request(qp, VB_OP_WRITE_ONLY, e + 2, 8), VB_VERDICT_PSN);
		assert_int_equal(answer().psn.v, (e + 1) & 0xffffff); /* and one for the next */
		assert_int_equal(vb_qp_destroy(qp), 0);
	}
	env_close(&env);
}

/* A repeated atomic is answered from what is kept, as many of them as were granted; the oldest is
 * forgotten with the next, whatever the depth. facts B.5 */
static void resources__repeat_atomics_to_their_depth(void **state)
{
	(void)state;
	setup();
	for (uint8_t depth = 1; depth <= 7; depth++) {
		struct vb_qp *qp = rts(0, 0xfffff0, depth);
		uint32_t psn = 0xfffff0;

		env.mem[0] = 100;
		for (uint32_t n = 0; n < 40; n++) {
			assert_int_equal(request(qp, VB_OP_FETCH_ADD, psn + n, 0), VB_VERDICT_OK);
			assert_int_equal(answer().atomic_orig, 100 + n);
			for (uint32_t back = 0; back < depth && back <= n; back++) {
				assert_int_equal(request(qp, VB_OP_FETCH_ADD, psn + n - back, 0),
						 VB_VERDICT_DUPLICATE);
				assert_int_equal(answer().atomic_orig, 100 + n - back);
			}
			assert_int_equal(env.mem[0], 101 + n); /* executed once */
			if (n >= depth) {
				assert_int_equal(request(qp, VB_OP_FETCH_ADD, psn + n - depth, 0),
						 VB_VERDICT_DUPLICATE);
				assert_int_equal(env_tx(&env, &b), 0);
			}
		}
		assert_int_equal(vb_qp_destroy(qp), 0);
	}
	env_close(&env);
}

/* One more than granted, before the first is answered, is refused; after it, it is not. */
static void resources__more_than_granted(void **state)
{
	(void)state;
	setup();
	for (uint8_t depth = 0; depth <= 5; depth++) {
		struct vb_qp *qp = rts(0, 0, depth);

		for (uint32_t n = 0; n < depth; n++)
			assert_int_equal(
			    request(qp, n & 1 ? VB_OP_FETCH_ADD : VB_OP_READ_REQUEST, n, 0),
			    VB_VERDICT_OK);
		if (depth) {
			assert_int_equal(env_tx(&env, &b), depth);
			for (uint32_t n = 0; n < depth; n++)
				assert_int_equal(request(qp, VB_OP_READ_REQUEST, depth + n, 0),
						 VB_VERDICT_OK);
		}
		assert_int_equal(request(qp, VB_OP_READ_REQUEST, 2u * depth, 0),
				 VB_VERDICT_RESOURCE);
		assert_int_equal(env_tx(&env, &b), depth + 1u); /* the answers, then the NAK */
		assert_int_equal(env_hdr(&b.pkt[depth]).aeth.syndrome, VB_NAK_INVALID_REQUEST);
		assert_int_equal(vb_qp_destroy(qp), 0);
	}
	env_close(&env);
}

/* A repetition that is still to be sent makes room for a new request, and only that is answered. */
static void resources__repetition_gives_way(void **state)
{
	(void)state;
	setup();
	for (uint8_t depth = 1; depth <= 3; depth++) {
		struct vb_qp *qp = rts(0, 0, depth);
		uint32_t n = depth;

		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(request(qp, VB_OP_READ_REQUEST, i, 0), VB_VERDICT_OK);
		assert_int_equal(env_tx(&env, &b), n);
		assert_int_equal(request(qp, VB_OP_READ_REQUEST, 0, 0), VB_VERDICT_DUPLICATE);
		for (uint32_t i = n; i < 2 * n; i++)
			assert_int_equal(request(qp, VB_OP_READ_REQUEST, i, 0), VB_VERDICT_OK);
		assert_int_equal(qp->resp.res_pending, n);
		assert_int_equal(env_tx(&env, &b), n);
		for (uint32_t i = 0; i < n; i++) /* and in their order */
			assert_int_equal(env_hdr(&b.pkt[i]).psn.v, n + i);
		assert_int_equal(env_tx(&env, &b), 0);
		assert_int_equal(vb_qp_destroy(qp), 0);
	}
	env_close(&env);
}

/* What comes again must be what came: else it is dropped. IBA 9.7.5.1.3 */
static void resources__repetition_of_something_else(void **state)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_READ_REQUEST};
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = rts(0, 0, 4);
	h.dqpn = vb_qp_number(qp);
	h.reth.va = ENV_IOVA;
	h.reth.rkey = vb_mr_rkey(env.mr);
	h.reth.len = 3000; /* PSNs 0...2 */
	assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_OK);
	assert_int_equal(request(qp, VB_OP_FETCH_ADD, 3, 0), VB_VERDICT_OK);
	assert_int_equal(env_tx(&env, &b), 4);

	const struct {
		uint32_t psn;
		uint64_t va;
		uint32_t rkey, len, answers;
	} c[] = {
	    {0, ENV_IOVA, h.reth.rkey, 3000, 3},
	    {1, ENV_IOVA + 1024, h.reth.rkey, 1976, 2},
	    {2, ENV_IOVA + 2048, h.reth.rkey, 952, 1},
	    {0, ENV_IOVA, h.reth.rkey, 1024, 1},
	    {0, ENV_IOVA, h.reth.rkey, 2048, 2},
	    {1, ENV_IOVA + 1024, h.reth.rkey, 1024, 1},
	    {0, ENV_IOVA + 1, h.reth.rkey, 3000, 0},
	    {1, ENV_IOVA, h.reth.rkey, 1976, 0},
	    {0, ENV_IOVA, h.reth.rkey + 1, 3000, 0},
	    {0, ENV_IOVA, h.reth.rkey, 3001, 0},
	    {0, ENV_IOVA, h.reth.rkey, 2999, 0},
	    {0, ENV_IOVA, h.reth.rkey, 1000, 0},
	    {1, ENV_IOVA + 1024, h.reth.rkey, 1977, 0},
	    {2, ENV_IOVA + 2048, h.reth.rkey, 0, 0},
	    {3, 0, 0, 0, 0}, /* an atomic stood there */
	    {3, ENV_IOVA, h.reth.rkey, 8, 0},
	};

	for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
		h.psn = vb_psn(c[i].psn);
		h.reth.va = c[i].va;
		h.reth.rkey = c[i].rkey;
		h.reth.len = c[i].len;
		assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_DUPLICATE);
		if (env_tx(&env, &b) != c[i].answers)
			fail_msg("case %zu: %u answers", i, b.cnt);
		for (uint32_t k = 0; k < b.cnt; k++)
			assert_int_equal(env_hdr(&b.pkt[k]).psn.v, c[i].psn + k);
	}
	/* And an atomic where a READ stood. */
	assert_int_equal(request(qp, VB_OP_FETCH_ADD, 1, 0), VB_VERDICT_DUPLICATE);
	assert_int_equal(env_tx(&env, &b), 0);
	env_close(&env);
}

/* DMALen is the length of the message, 2^31 at most, and each packet must agree. C9-92, IBT-06 */
static void write__length(void **state)
{
	static const struct {
		uint8_t op;
		uint32_t dma_len, bytes;
		enum vb_verdict verdict;
	} c[] = {
	    {VB_OP_WRITE_ONLY, 0, 0, VB_VERDICT_OK},
	    {VB_OP_WRITE_ONLY, 1024, 1024, VB_VERDICT_OK},
	    {VB_OP_WRITE_ONLY, 9, 8, VB_VERDICT_LENGTH},
	    {VB_OP_WRITE_ONLY, 7, 8, VB_VERDICT_LENGTH},
	    {VB_OP_WRITE_ONLY, 1025, 1025, VB_VERDICT_OVERSIZED},
	    {VB_OP_WRITE_FIRST, 1u << 31, 1024, VB_VERDICT_OK},
	    {VB_OP_WRITE_FIRST, (1u << 31) + 1, 1024, VB_VERDICT_INVALID_REQUEST},
	    {VB_OP_WRITE_FIRST, 1025, 1024, VB_VERDICT_OK},
	    {VB_OP_WRITE_FIRST, 1024, 1024, VB_VERDICT_LENGTH}, /* that is an ONLY */
	    {VB_OP_WRITE_FIRST, 2000, 1023, VB_VERDICT_INVALID_REQUEST},
	};

	(void)state;
	for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
		struct vb_mr_attr a = {.length = UINT64_C(1) << 33, .access = ENV_ACCESS};
		struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | c[i].op};
		struct vb_mr *mr;

		setup();
		assert_int_equal(vb_mr_create(env.pd, &a, &mr), 0);
		h.dqpn = vb_qp_number(rts(0, 0, 4));
		h.reth.rkey = vb_mr_rkey(mr);
		h.reth.len = c[i].dma_len;
		assert_int_equal(env_rx(&env, 2, &h, c[i].bytes), c[i].verdict);
		assert_int_equal(env_tx(&env, &b), c[i].verdict != VB_VERDICT_OK);
		if (b.cnt)
			assert_int_equal(env_hdr(&b.pkt[0]).aeth.syndrome, VB_NAK_INVALID_REQUEST);
		assert_int_equal(env.counters.v[VB_COUNTER_resp_local_length_error],
				 c[i].verdict == VB_VERDICT_LENGTH);
		env_close(&env);
	}
}

/* A NAK that has not left yet has lost its cause when the awaited packet comes. */
static void nak__overtaken(void **state)
{
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = rts(0, 5, 4);
	assert_int_equal(request(qp, VB_OP_WRITE_ONLY, 6, 8), VB_VERDICT_PSN);
	assert_int_equal(request(qp, VB_OP_WRITE_ONLY, 5, 8), VB_VERDICT_OK);
	assert_int_equal(answer().aeth.syndrome, 0);
	assert_int_equal(request(qp, VB_OP_SEND_ONLY, 6, 8), VB_VERDICT_NO_RECV_WQE);
	assert_int_equal(env_recv(&env, qp, 1, 8), 0);
	assert_int_equal(request(qp, VB_OP_SEND_ONLY, 6, 8), VB_VERDICT_OK);
	assert_int_equal(answer().aeth.syndrome & VB_SYNDROME_CLASS, VB_SYNDROME_ACK);
	env_close(&env);
}

/* A region that goes while a READ of it is being answered: what was sent stands, a NAK takes the
 * place of the next response, and nothing follows. IBA 9.7.5.2.4 */
static void read__memory_goes_while_it_is_answered(void **state)
{
	(void)state;
	for (uint32_t sent = 0; sent < 3; sent++) {
		struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_READ_REQUEST};
		struct vb_qp *qp;

		setup();
		qp = rts(0, 100, 4);
		h.dqpn = vb_qp_number(qp);
		h.psn = vb_psn(100);
		h.reth.va = ENV_IOVA;
		h.reth.rkey = vb_mr_rkey(env.mr);
		h.reth.len = 3000;
		assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_OK);
		assert_int_equal(request(qp, VB_OP_FETCH_ADD, 103, 0), VB_VERDICT_OK);
		b.cnt = VB_TX_BATCH_PKTS - sent;
		b.seg_cnt = 0;
		(void)vb_hca_poll_transmit(env.hca, &b, 0);
		assert_int_equal(vb_mr_destroy(env.mr), 0);
		h = answer();
		assert_int_equal(h.opcode, VB_TRANSPORT_RC | VB_OP_ACK);
		assert_int_equal(h.aeth.syndrome, VB_NAK_REMOTE_ACCESS);
		assert_int_equal(h.psn.v, 100 + sent);
		assert_int_equal(vb_qp_get_state(qp), VB_QPS_ERR);
		env_event(&env, VB_EVENT_ASYNC_QP, VB_ASYNC_QP_ACCESS_ERR);
		env_no_event(&env);
		assert_int_equal(env_tx(&env, &b), 0);
		env_close(&env);
	}
}

/* An ACK for any PSN that is not outstanding changes nothing: ghosts of before and of after. */
static void ack__ghosts(void **state)
{
	struct vb_qp *qp;
	uint32_t una = 0xfffffd;

	(void)state;
	setup();
	qp = rts(una, 0, 4);
	for (uint64_t i = 0; i < 6; i++)
		assert_int_equal(env_send(&env, qp, i, VB_WR_SEND, 8), 0);
	assert_int_equal(env_tx(&env, &b), 6);
	for (uint32_t off = 6; off < 0x1000000; off += off < 100 || off > 0xffff80 ? 1 : 99991) {
		struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_ACK,
				   .dqpn = vb_qp_number(qp),
				   .psn = vb_psn(una + off),
				   .aeth.syndrome = VB_CREDIT_UNLIMITED};
		enum vb_verdict v = env_rx(&env, 2, &h, 0);

		assert_int_equal(v, off < 0x800000 ? VB_VERDICT_UNEXPECTED : VB_VERDICT_DUPLICATE);
		h.aeth.syndrome = VB_NAK_REMOTE_ACCESS;
		assert_int_equal(env_rx(&env, 2, &h, 0), v);
	}
	env_no_wc(&env);
	assert_int_equal(env_tx(&env, &b), 0);
	assert_int_equal(vb_qp_unacked(qp), 6);
	assert_int_equal(vb_qp_get_state(qp), VB_QPS_RTS);
	env_close(&env);
}

/* What the completion of each kind of work says, at both ends. IBT-46, IBT-48...50, IBT-55...61 */
static void completion__of_each_kind(void **state)
{
	static const struct {
		enum vb_wr_opcode op;
		uint32_t len;
		enum vb_wc_opcode send_op;
		bool receives;
		enum vb_wc_opcode recv_op;
		uint32_t recv_flags;
	} k[] = {
	    {0, 40, 1, false, 0, 0},   /* WRITE */
	    {1, 41, 1, true, 0x81, 2}, /* WRITE with Immediate */
	    {2, 42, 0, true, 0x80, 0}, /* SEND */
	    {3, 43, 0, true, 0x80, 2}, /* SEND with Immediate */
	    {4, 44, 2, false, 0, 0},   /* READ */
	    {5, 8, 3, false, 0, 0},    /* compare and swap */
	    {6, 8, 4, false, 0, 0},    /* fetch and add */
	};
	struct vb_qp *qp[2];

	(void)state;
	setup();
	env_pair(&env, VB_QPT_RC, qp);
	for (size_t i = 0; i < sizeof k / sizeof k[0]; i++) {
		struct vb_sge sge = env_sge(&env, 0, k[i].len);
		struct vb_send_wr wr = {.wr_id = 0x1122334455667788 + i, /* IBT-44 */
					.sge = &sge,
					.sge_cnt = 1,
					.opcode = k[i].op,
					.flags = VB_SEND_SIGNALED,
					.imm = 0xa1b2c3d4,
					.remote_addr = ENV_IOVA + 1024,
					.rkey = vb_mr_rkey(env.mr)};
		struct vb_wc wc;

		if (k[i].receives)
			assert_int_equal(env_recv(&env, qp[1], 99, 64), 0);
		assert_int_equal(vb_qp_post_send(qp[0], &wr, 0), 0);
		env_loop(&env);
		if (k[i].receives) {
			wc = env_wc(&env, 99, VB_WC_SUCCESS);
			assert_int_equal(wc.opcode, k[i].recv_op);
			assert_int_equal(wc.byte_len, k[i].len);
			assert_int_equal(wc.flags, k[i].recv_flags);
			assert_int_equal(wc.qpn, vb_qp_number(qp[1]));
			if (k[i].recv_flags)
				assert_int_equal(wc.imm, 0xa1b2c3d4);
		}
		wc = env_wc(&env, wr.wr_id, VB_WC_SUCCESS);
		assert_int_equal(wc.opcode, k[i].send_op);
		assert_int_equal(wc.qpn, vb_qp_number(qp[0]));
		if (k[i].op >= 4)
			assert_int_equal(wc.byte_len, k[i].len);
		env_no_wc(&env);
	}
	env_close(&env);
}

/* A failure says more in vendor_err than its status: the syndrome or the verdict. IBT-47 */
static void completion__vendor_err(void **state)
{
	static const uint8_t naks[] = {VB_NAK_INVALID_REQUEST,
				       VB_NAK_REMOTE_ACCESS,
				       VB_NAK_REMOTE_OP,
				       VB_NAK_INVALID_RD,
				       0x65,
				       0x7f};
	static const enum vb_wc_status status[] = {VB_WC_REM_INV_REQ_ERR, VB_WC_REM_ACCESS_ERR,
						   VB_WC_REM_OP_ERR,      VB_WC_REM_INV_RD_REQ_ERR,
						   VB_WC_BAD_RESP_ERR,    VB_WC_BAD_RESP_ERR};

	(void)state;
	setup();
	for (size_t i = 0; i < sizeof naks; i++) {
		struct vb_qp *qp = rts(0, 0, 4);
		struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_ACK,
				   .dqpn = vb_qp_number(qp),
				   .aeth.syndrome = naks[i]};

		assert_int_equal(env_send(&env, qp, 5, VB_WR_SEND, 8), 0);
		assert_int_equal(env_send(&env, qp, 6, VB_WR_SEND, 8), 0);
		assert_int_equal(env_tx(&env, &b), 2);
		assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_OK);
		assert_int_equal(env_wc(&env, 5, status[i]).vendor_err, naks[i]);
		assert_int_equal(env_wc(&env, 6, VB_WC_WR_FLUSH_ERR).vendor_err, 0);
		assert_int_equal(env.counters.v[VB_COUNTER_req_cqe_error], i + 1);
		assert_int_equal(vb_qp_destroy(qp), 0);
	}
	env_close(&env);
}

/* Only signaled work completes, but an error always does. IBT-60, IBT-65 */
static void completion__unsignaled_error(void **state)
{
	struct vb_sge sge;
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = rts(0, 0, 4);
	sge = env_sge(&env, 0, 8);

	struct vb_send_wr wr = {.sge = &sge, .sge_cnt = 1, .opcode = VB_WR_SEND};
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_ACK,
			   .dqpn = vb_qp_number(qp),
			   .aeth.syndrome = VB_CREDIT_UNLIMITED};

	for (wr.wr_id = 0; wr.wr_id < 3; wr.wr_id++)
		assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
	assert_int_equal(env_tx(&env, &b), 3);
	assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_OK);
	env_no_wc(&env);
	h.psn = vb_psn(1);
	h.aeth.syndrome = VB_NAK_REMOTE_OP;
	assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_OK);
	(void)env_wc(&env, 1, VB_WC_REM_OP_ERR);
	(void)env_wc(&env, 2, VB_WC_WR_FLUSH_ERR);
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(credit__codes),
	    cmocka_unit_test(ackreq__in_long_messages),
	    cmocka_unit_test(credit__in_every_answer),
	    cmocka_unit_test(msn__wraps),
	    cmocka_unit_test(psn__classes),
	    cmocka_unit_test(resources__repeat_atomics_to_their_depth),
	    cmocka_unit_test(resources__more_than_granted),
	    cmocka_unit_test(resources__repetition_gives_way),
	    cmocka_unit_test(resources__repetition_of_something_else),
	    cmocka_unit_test(write__length),
	    cmocka_unit_test(nak__overtaken),
	    cmocka_unit_test(read__memory_goes_while_it_is_answered),
	    cmocka_unit_test(ack__ghosts),
	    cmocka_unit_test(completion__of_each_kind),
	    cmocka_unit_test(completion__vendor_err),
	    cmocka_unit_test(completion__unsignaled_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
