/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The responder of RC over whole ranges, where the scripts show single numbers: wrapping of PSN and
 * MSN, the depth of the resources that repeat READs and atomics, lengths, and what may change while
 * an answer is on its way. IBA 9.7.4, 9.7.5; facts B.5; IBT-07, IBT-28, IBT-68, IBT-69
 */
#include "rc_env.h"

#include <pthread.h>

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

/* A peer that was told that there is no receive WQE is told of the next, once. IBA 9.7.7.2.4 */
static void credit__after_none(void **state)
{
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = rts(0, 7, 4);
	assert_int_equal(env_recv(&env, qp, 1, 8), 0);
	assert_int_equal(env_tx(&env, &b), 0); /* nobody was told anything */
	assert_int_equal(request(qp, VB_OP_SEND_ONLY, 7, 8), VB_VERDICT_OK);
	assert_int_equal(answer().aeth.syndrome, 0);
	assert_int_equal(env_recv(&env, qp, 2, 8), 0);

	struct vb_hdr h = answer();

	assert_int_equal(h.aeth.syndrome, 1);
	assert_int_equal(h.psn.v, 7);
	assert_int_equal(h.aeth.msn, 1);
	assert_int_equal(env_recv(&env, qp, 3, 8), 0);
	assert_int_equal(env_tx(&env, &b), 0);
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

	struct vb_qp_attr got;

	vb_qp_query(qp, &got);
	assert_int_equal(got.rq_psn, 3); /* the one awaited */
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

/* A PSN comes again after 2^24 packets, among which there may be few atomics: the answer is that of
 * the newest. */
static void resources__newest_of_one_psn(void **state)
{
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = rts(0, 7, 4);
	env.mem[0] = 100;
	for (uint64_t n = 100; n < 102; n++) {
		qp->resp.epsn.v = 7; /* as after 2^24 WRITEs */
		assert_int_equal(request(qp, VB_OP_FETCH_ADD, 7, 0), VB_VERDICT_OK);
		assert_int_equal(answer().atomic_orig, n);
	}
	assert_int_equal(request(qp, VB_OP_FETCH_ADD, 7, 0), VB_VERDICT_DUPLICATE);
	assert_int_equal(answer().atomic_orig, 101);
	assert_int_equal(env.mem[0], 102);
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

/* Another depth, in SQD, begins with none to repeat. */
static void resources__depth_changes(void **state)
{
	static const uint8_t depths[] = {1, 5, 2, 128, 3, 0};
	struct vb_qp *qp;
	uint32_t psn = 0;

	(void)state;
	setup();
	qp = rts(0, 0, 4);
	for (size_t i = 0; i < sizeof depths; i++) {
		struct vb_qp_attr a = {.qp_state = VB_QPS_SQD, .max_dest_rd_atomic = depths[i]};

		for (uint32_t n = 0; n < 6 && qp->attr.max_dest_rd_atomic; n++) {
			assert_int_equal(request(qp, VB_OP_FETCH_ADD, psn++, 0), VB_VERDICT_OK);
			assert_int_equal(answer().psn.v, psn - 1);
		}
		assert_int_equal(vb_qp_modify(qp, &a, VB_QP_STATE, 0), 0);
		assert_int_equal(request(qp, VB_OP_FETCH_ADD, psn++, 0), VB_VERDICT_OK); /* waits */
		assert_int_equal(vb_qp_modify(qp, &a, VB_QP_MAX_DEST_RD_ATOMIC, 0), 0);
		assert_int_equal(env_tx(&env, &b), 0);
		assert_int_equal(request(qp, VB_OP_FETCH_ADD, psn - 1, 0), VB_VERDICT_DUPLICATE);
		assert_int_equal(env_tx(&env, &b), 0);
		a.qp_state = VB_QPS_RTS;
		assert_int_equal(vb_qp_modify(qp, &a, VB_QP_STATE, 0), 0);
	}
	assert_int_equal(request(qp, VB_OP_FETCH_ADD, psn, 0), VB_VERDICT_RESOURCE);
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

/* A repeated request must be the same as the first: else it is dropped. IBA 9.7.5.1.3 */
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

/* A NAK that has not left yet when the awaited packet comes asks for what was dropped behind it, or
 * has lost its cause. */
static void nak__overtaken(void **state)
{
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = rts(0, 5, 4);
	assert_int_equal(request(qp, VB_OP_WRITE_ONLY, 6, 8), VB_VERDICT_PSN);
	assert_int_equal(request(qp, VB_OP_WRITE_ONLY, 5, 8), VB_VERDICT_OK);
	assert_int_equal(env_tx(&env, &b), 2);
	assert_int_equal(env_hdr(&b.pkt[0]).aeth.syndrome, 0);
	assert_int_equal(env_hdr(&b.pkt[1]).aeth.syndrome, VB_NAK_PSN_SEQ);
	assert_int_equal(env_hdr(&b.pkt[1]).psn.v, 6);
	assert_int_equal(request(qp, VB_OP_SEND_ONLY, 8, 8), VB_VERDICT_PSN);
	assert_int_equal(env_tx(&env, &b), 0);
	assert_int_equal(request(qp, VB_OP_SEND_ONLY, 6, 8), VB_VERDICT_NO_RECV_WQE);
	assert_int_equal(env_recv(&env, qp, 1, 8), 0);
	assert_int_equal(request(qp, VB_OP_SEND_ONLY, 6, 8), VB_VERDICT_OK);
	assert_int_equal(answer().aeth.syndrome & VB_SYNDROME_CLASS, VB_SYNDROME_ACK);
	/* Nor is one sent when the program itself ends the QP. */
	assert_int_equal(request(qp, VB_OP_WRITE_LAST, 7, 8), VB_VERDICT_SEQUENCE);
	assert_int_equal(
	    vb_qp_modify(qp, &(struct vb_qp_attr){.qp_state = VB_QPS_ERR}, VB_QP_STATE, 0), 0);
	assert_int_equal(env_tx(&env, &b), 0);
	env_close(&env);
}

/*
 * A WRITE with immediate whose memory is gone at its last packet takes its receive, which says so;
 * without a receive the event does. IBA 9.9.3.1, 11.6.2
 */
static void write_imm__memory_goes_in_the_middle(void **state)
{
	(void)state;
	for (uint32_t receives = 0; receives < 3; receives++) {
		struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_WRITE_FIRST};
		struct vb_qp *qp;

		setup();
		qp = rts(0, 0, 4);
		for (uint32_t i = 0; i < receives; i++)
			assert_int_equal(env_recv(&env, qp, i, 64), 0);
		h.dqpn = vb_qp_number(qp);
		h.reth.va = ENV_IOVA;
		h.reth.rkey = vb_mr_rkey(env.mr);
		h.reth.len = 1032;
		assert_int_equal(env_rx(&env, 2, &h, 1024), VB_VERDICT_OK);
		assert_int_equal(vb_mr_destroy(env.mr), 0);
		h.opcode = VB_TRANSPORT_RC | VB_OP_WRITE_LAST_IMM;
		h.psn = vb_psn(1);
		assert_int_equal(env_rx(&env, 2, &h, 8), VB_VERDICT_ACCESS);
		if (receives)
			(void)env_wc(&env, 0, VB_WC_LOC_ACCESS_ERR);
		else
			env_event(&env, VB_EVENT_ASYNC_QP, VB_ASYNC_QP_ACCESS_ERR);
		if (receives == 2)
			(void)env_wc(&env, 1, VB_WC_WR_FLUSH_ERR);
		env_no_event(&env);
		h = answer();
		assert_int_equal(h.aeth.syndrome, VB_NAK_REMOTE_ACCESS);
		assert_int_equal(h.psn.v, 1);
		assert_int_equal(vb_qp_get_state(qp), VB_QPS_ERR);
		env_close(&env);
	}
}

/* A region that goes while a READ of it is being answered: the responses sent before stand, a NAK
 * takes the place of the next response, and nothing follows. IBA 9.7.5.2.4 */
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

/* The work of a processor of the host on a word that the adapter adds to as well. */
struct beside {
	uint64_t *word;
	_Atomic uint32_t turns; /* how often it found that the adapter had added meanwhile */
	_Atomic bool may_stop;
	uint64_t cnt;
};

#define ADAPTER_ADDS (UINT64_C(1) << 40)

static void *add_beside(void *arg)
{
	struct beside *s = arg;
	uint64_t seen = 0;

	for (; !s->may_stop; s->cnt++) {
		uint64_t is = __atomic_fetch_add(s->word, 1, __ATOMIC_RELAXED) / ADAPTER_ADDS;

		s->turns += is != seen;
		seen = is;
	}
	return NULL;
}

/* No sum is lost while a processor adds to the same word, however often the two meet. IBT-70 */
static void atomic__beside_a_processor(void **state)
{
	enum { TURNS = 20000, ADDS_MAX = 2000000 };
	struct beside s = {.word = &env.mem[0]};
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_FETCH_ADD,
			   .ack_req = true,
			   .atomic = {.va = ENV_IOVA, .swap_add = ADAPTER_ADDS}};
	struct vb_qp *qp;
	pthread_t thread;
	uint32_t n = 0;

	(void)state;
	setup();
	qp = rts(0, 0, 4);
	h.dqpn = vb_qp_number(qp);
	h.atomic.rkey = vb_mr_rkey(env.mr);
	assert_int_equal(pthread_create(&thread, NULL, add_beside, &s), 0);
	for (; s.turns < TURNS && n < ADDS_MAX; n++) {
		h.psn = vb_psn(n);
		assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_OK);
		assert_int_equal(env_tx(&env, &b), 1);
	}
	s.may_stop = true;
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(env.mem[0] == n * ADAPTER_ADDS + s.cnt);
	env_close(&env);
}

/* The states of docs/states.md, one after the other, as packets lead through them. */
static void state__follows_the_packets(void **state)
{
	struct vb_responder *r;
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = rts(0, 0, 4);
	r = &qp->resp;
	assert_int_equal(r->state, VB_RESP_IN_ORDER);
	assert_int_equal(request(qp, VB_OP_WRITE_ONLY, 1, 8), VB_VERDICT_PSN);
	assert_int_equal(r->state, VB_RESP_REFUSES);
	assert_int_equal(answer().aeth.syndrome, VB_NAK_PSN_SEQ);
	assert_int_equal(r->state, VB_RESP_SILENT);
	assert_int_equal(request(qp, VB_OP_WRITE_ONLY, 2, 8), VB_VERDICT_PSN);
	assert_int_equal(r->state, VB_RESP_SILENT);
	assert_int_equal(env_tx(&env, &b), 0);
	assert_int_equal(request(qp, VB_OP_WRITE_ONLY, 0, 8), VB_VERDICT_OK);
	assert_int_equal(r->state, VB_RESP_IN_ORDER);
	(void)answer();
	assert_int_equal(request(qp, VB_OP_SEND_ONLY, 1, 8), VB_VERDICT_NO_RECV_WQE);
	assert_int_equal(r->state, VB_RESP_REFUSES);
	(void)answer();
	assert_int_equal(r->state, VB_RESP_SILENT);
	/* Longer than any key covers. */
	assert_int_equal(request(qp, VB_OP_WRITE_FIRST, 1, 8), VB_VERDICT_INVALID_REQUEST);
	assert_int_equal(r->state, VB_RESP_FAILS);
	assert_int_equal(vb_qp_get_state(qp), VB_QPS_ERR);
	assert_int_equal(answer().aeth.syndrome, VB_NAK_INVALID_REQUEST);
	assert_int_equal(r->state, VB_RESP_ENDED);
	env_close(&env);
}

/* No state is entered but along an arrow of docs/states.md. */
static void state__knows_its_arrows(void **state)
{
	static const char arrows[VB_RESP_STATES][VB_RESP_STATES + 1] = {
	    [VB_RESP_IN_ORDER] = "ORF.X.", [VB_RESP_REPORTS] = "ORF.X.",
	    [VB_RESP_REFUSES] = "O..SX.",  [VB_RESP_SILENT] = "O...X.",
	    [VB_RESP_FAILS] = "....XE",    [VB_RESP_ENDED] = "....X."};

	(void)state;
	for (uint32_t from = 0; from < VB_RESP_STATES; from++)
		for (uint32_t to = 0; to < VB_RESP_STATES; to++)
			assert_int_equal(
			    vb_resp_may_enter((enum vb_resp_state)from, (enum vb_resp_state)to),
			    arrows[from][to] != '.');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(atomic__beside_a_processor),
	    cmocka_unit_test(credit__in_every_answer),
	    cmocka_unit_test(write_imm__memory_goes_in_the_middle),
	    cmocka_unit_test(credit__after_none),
	    cmocka_unit_test(msn__wraps),
	    cmocka_unit_test(psn__classes),
	    cmocka_unit_test(resources__repeat_atomics_to_their_depth),
	    cmocka_unit_test(resources__newest_of_one_psn),
	    cmocka_unit_test(resources__more_than_granted),
	    cmocka_unit_test(resources__depth_changes),
	    cmocka_unit_test(resources__repetition_gives_way),
	    cmocka_unit_test(resources__repetition_of_something_else),
	    cmocka_unit_test(write__length),
	    cmocka_unit_test(nak__overtaken),
	    cmocka_unit_test(read__memory_goes_while_it_is_answered),
	    cmocka_unit_test(state__follows_the_packets),
	    cmocka_unit_test(state__knows_its_arrows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
