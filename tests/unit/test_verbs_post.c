/* SPDX-License-Identifier: BSD-2-Clause */
/* Posted requests leave: those before a bad one, those of a QP that is destroyed next, and by which
 * UDP source port. */
#include "node/client/ring_reader.h"
#include "verbs/priv.h"
#include "verbs_env.h"

/* Packets that @qp has sent and nobody has acknowledged. */
static uint32_t unacked(struct ibv_qp *qp)
{
	uint32_t cnt;

	assert_true(vb_ibv_enter(vb_ibv_ctx(ctx)));
	cnt = vb_qp_unacked(((struct vb_ibv_qp *)qp)->core);
	vb_ibv_leave(vb_ibv_ctx(ctx));
	return cnt;
}

/* ibv_post_send(3): a bad request ends the call, those before it are posted as if it were not
 * there. The peer's QP is not ready, so that no answer hides that the request has left. */
static void post_send__before_a_bad_one_is_sent(void **state)
{
	struct verbs_end a, b;
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	struct ibv_sge sge = sge_at(0, 8);
	struct ibv_send_wr wr[2] = {{.next = &wr[1], .sg_list = &sge, .num_sge = 1},
				    {.sg_list = &sge, .num_sge = 1000}},
			   *bad = NULL;

	(void)state;
	ends_new(&a, &b);
	assert_int_equal(ibv_modify_qp(b.qp, &reset, IBV_QP_STATE), 0);
	wr[0].opcode = wr[1].opcode = IBV_WR_SEND;
	assert_int_equal(unacked(a.qp), 0);
	assert_int_equal(ibv_post_send(a.qp, wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr[1]);
	assert_int_equal(unacked(a.qp), 1);
	ends_free(&a, &b);
}

/* The second request waits for company when it is posted. It leaves before its QP goes, and the
 * peer receives both; rounds, because the wait is short and a slow machine may let it pass. */
static void destroy_qp__sends_what_was_posted(void **state)
{
	static const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_UC};

	(void)state;
	for (unsigned round = 0; round < 16; round++) {
		enum ibv_qp_type type = types[round % 2];
		struct verbs_end a = end_new(type, NULL, NULL), b = end_new(type, NULL, NULL);

		verbs_connect(a.qp, b.qp, false);
		for (uint64_t i = 0; i < 2; i++)
			post_recv(b.qp, i, 4096 * (i + 1), 64);
		for (uint64_t i = 0; i < 2; i++)
			post_send(a.qp, (struct ibv_send_wr){.opcode = IBV_WR_SEND}, 0, 16);
		assert_int_equal(ibv_destroy_qp(a.qp), 0);
		for (uint64_t i = 0; i < 2; i++) {
			struct ibv_wc wc = wc_next(b.cq);

			assert_int_equal(wc.status, IBV_WC_SUCCESS);
			assert_int_equal(wc.wr_id, i);
		}
		assert_int_equal(ibv_destroy_cq(a.cq), 0);
		end_free(&b);
	}
}

static uint64_t real_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The UDP source port of the last packet that this process has sent; each was captured @since and
 * has a later time than the one before, by the clock of the day. */
static uint16_t last_sport(struct vb_ring_reader *r, uint64_t since)
{
	uint16_t sport = 0;

	for (; vb_ring_reader_peek(r); vb_ring_reader_pop(r)) {
		assert_uint_in_range(r->rec.time_ns, since, real_time());
		if (r->rec.sent)
			sport = r->rec.sport;
	}
	return sport;
}

/* Datagrams spread over paths as connections do: by the flow label of their address handle, and by
 * the two QPs where that is 0. RoCEv2 A17.9.2, facts E.3 */
static void ud__udp_source_port(void **state)
{
	struct verbs_end c = end_new(IBV_QPT_UD, NULL, NULL), d = end_new(IBV_QPT_UD, NULL, NULL);
	static struct vb_ring_reader r;
	char why[256];
	struct vb_broker_observer o;

	(void)state;
	verbs_connect(c.qp, d.qp, false);
	assert_int_equal(vb_broker_observe(&o, false, why, sizeof why), 0);
	assert_int_equal(vb_broker_observe_slots(&o), 0);
	assert_int_equal(vb_broker_capture(&o, true), 0);
	for (uint32_t k = 0; k < VB_SLOT_CNT; k++)
		if (o.slot[k] && o.slot[k]->pid == (uint32_t)getpid())
			vb_ring_reader_init(&r, &o.slot[k]->capture, false);
	for (uint32_t label = 0; label < 0x30000; label += 0x12345) {
		struct ibv_ah_attr attr = verbs_ah_attr(false);
		struct ibv_send_wr wr = {.opcode = IBV_WR_SEND,
					 .wr.ud = {NULL, d.qp->qp_num, 0x11111111}};

		uint64_t since = real_time();

		attr.grh.flow_label = label;
		wr.wr.ud.ah = ibv_create_ah(pd, &attr);
		assert_non_null(wr.wr.ud.ah);
		post_recv(d.qp, 1, 4096, 40 + 64);
		post_send(c.qp, wr, 0, 64);
		assert_int_equal(wc_next(c.cq).status, IBV_WC_SUCCESS);
		assert_int_equal(wc_next(d.cq).status, IBV_WC_SUCCESS);
		assert_int_equal(last_sport(&r, since),
				 vb_udp_sport(label, c.qp->qp_num, d.qp->qp_num));
		assert_int_equal(ibv_destroy_ah(wr.wr.ud.ah), 0);
	}
	vb_broker_observe_end(&o);
	end_free(&c);
	end_free(&d);
}

/* Operations that verbs have no number for are refused: those of later headers, and those that
 * bytes in a queue alone ask for. ibv_post_send(3) */
static void post_send__opcodes_of_no_verb(void **state)
{
	/* TSO, DRIVER1, two without a name; FLUSH, whose fields a work request has not; NOP of
	 * bytes in a queue, and what is behind it. */
	static const unsigned none[] = {10, 11, 12, 13, 14, 16, 17, 255, UINT32_MAX};
	struct verbs_end a, b;
	struct ibv_sge sge = sge_at(0, 8);
	struct ibv_send_wr wr = {.sg_list = &sge, .send_flags = IBV_SEND_SIGNALED}, *bad;
	struct ibv_wc wc;

	(void)state;
	ends_new(&a, &b);
	for (size_t i = 0; i < 2 * sizeof none / sizeof none[0]; i++) {
		wr.opcode = (enum ibv_wr_opcode)none[i / 2];
		wr.num_sge = (int)(i % 2);
		bad = NULL;
		assert_int_equal(ibv_post_send(a.qp, &wr, &bad), EINVAL);
		assert_ptr_equal(bad, &wr);
	}
	assert_int_equal(ibv_poll_cq(a.cq, 1, &wc), 0);
	ends_free(&a, &b);
}

/* A poll gives as many completions as there are and as are asked for, in their order.
 * ibv_poll_cq(3) */
static void poll_cq__many_at_once(void **state)
{
	struct ibv_qp_attr err = {.qp_state = IBV_QPS_ERR};
	struct verbs_end e = end_new(IBV_QPT_RC, NULL, NULL);
	struct ibv_wc wc[64];
	uint64_t next = 0;

	(void)state;
	to_init(e.qp);
	for (uint64_t i = 0; i < 64; i++)
		post_recv(e.qp, i, 0, 8);
	assert_int_equal(ibv_modify_qp(e.qp, &err, IBV_QP_STATE), 0);
	assert_int_equal(ibv_poll_cq(e.cq, 0, wc), 0);
	for (int asked = 1; next < 64; asked = 2 * asked + 1) {
		int want = (int)next + asked < 64 ? asked : 64 - (int)next;

		wc[want - 1].wr_id = 1000;
		assert_int_equal(ibv_poll_cq(e.cq, asked, wc), want);
		for (int i = 0; i < want; i++)
			assert_int_equal(wc[i].wr_id, next++);
	}
	assert_int_equal(ibv_poll_cq(e.cq, 64, wc), 0);
	end_free(&e);
}

/* A query puts the state into the program's handle, also a state that the QP got by itself. */
static void query_qp__after_an_error(void **state)
{
	struct verbs_end a, b;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr q;

	(void)state;
	ends_new(&a, &b);
	post_send(a.qp, (struct ibv_send_wr){.opcode = IBV_WR_RDMA_WRITE, .wr.rdma = {0, 1}}, 0, 8);
	assert_int_equal(wc_next(a.cq).status, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_query_qp(a.qp, &q, IBV_QP_STATE, &init), 0);
	assert_int_equal(q.qp_state, IBV_QPS_ERR);
	assert_int_equal(a.qp->state, IBV_QPS_ERR);
	ends_free(&a, &b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    VERBS_TEST(post_send__before_a_bad_one_is_sent),
	    VERBS_TEST(destroy_qp__sends_what_was_posted),
	    VERBS_TEST(ud__udp_source_port),
	    VERBS_TEST(post_send__opcodes_of_no_verb),
	    VERBS_TEST(poll_cq__many_at_once),
	    VERBS_TEST(query_qp__after_an_error),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
