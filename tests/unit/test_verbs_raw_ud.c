/* SPDX-License-Identifier: BSD-2-Clause */
/* Datagrams that a program writes by itself, by an address vector: where it leads, and with which
 * priority. IBT-38, IBT-43 */
#include "raw_env.h"

#define SIGNALED MLX5_WQE_CTRL_CQ_UPDATE

static struct raw_end a, b;

/* Whether a socket of this process sends with @priority. socket(7) */
static bool priority_is_used(int priority)
{
	for (int fd = 0; fd < 1024; fd++) {
		int is = -1;
		socklen_t len = sizeof is;

		if (getsockopt(fd, SOL_SOCKET, SO_PRIORITY, &is, &len) == 0 && is == priority)
			return true;
	}
	return false;
}

/* The service level of an address is the priority in its segment: the upper three of four bits. */
static void test_ud_priority(void **state)
{
	struct ibv_ah_attr attr = verbs_ah_attr(false);
	struct ibv_ah *ah;
	struct mlx5_wqe_av av;

	(void)state;
	attr.sl = 3;
	ah = ibv_create_ah(pd, &attr);
	raw_ends(&a, &b, IBV_QPT_UD);
	av = av_of(ah);
	av.key.qkey.qkey = htobe32(0x11111111);
	assert_int_equal(av.stat_rate_sl & 0xf, 3 << 1);
	assert_false(priority_is_used(3));
	raw_receive(&b, 200000, 140);
	raw_send_to(&a, av, b.end.qp->qp_num);
	raw_inline(&a, "datagram", 8);
	raw_post(&a, MLX5_OPCODE_SEND, SIGNALED, 0);
	(void)raw_next_of(&a, MLX5_CQE_REQ, 0);
	(void)raw_next_of(&b, MLX5_CQE_RESP_SEND, 0);
	assert_true(priority_is_used(3));
	assert_int_equal(ibv_destroy_ah(ah), 0);
	raw_free(&a, &b);
}

/* IBT-38: the datagram segment; IBT-43: room for the GRH */
static void test_ud(void **state)
{
	struct ibv_ah_attr attr = verbs_ah_attr(false);
	struct ibv_ah *ah = ibv_create_ah(pd, &attr);
	struct mlx5_wqe_av av;
	struct mlx5_cqe64 e;

	(void)state;
	raw_ends(&a, &b, IBV_QPT_UD);
	av = av_of(ah);
	assert_memory_equal(av.rgid, attr.grh.dgid.raw, 16);
	assert_int_equal(av.hop_limit, 64);
	av.key.qkey.qkey = htobe32(0x11111111);
	raw_receive(&b, 200000, 140);
	raw_send_to(&a, av, b.end.qp->qp_num);
	raw_inline(&a, "datagram", 8);
	raw_post(&a, MLX5_OPCODE_SEND, SIGNALED, 0);
	(void)raw_next_of(&a, MLX5_CQE_REQ, 0);
	e = raw_next_of(&b, MLX5_CQE_RESP_SEND, 0);
	assert_int_equal(be32toh(e.byte_cnt), 48);
	assert_int_equal(be32toh(e.flags_rqpn) & 0xffffff, a.end.qp->qp_num);
	assert_int_equal(be32toh(e.flags_rqpn) >> 28 & 3, 1);
	assert_memory_equal(buf + 200040, "datagram", 8);
	/* An address with an empty GID index leads nowhere; a good one is before it. */
	raw_receive(&b, 200000, 140);
	raw_receive(&b, 200000, 140);
	raw_send_to(&a, av, b.end.qp->qp_num);
	raw_inline(&a, "datagram", 8);
	raw_put(&a, MLX5_OPCODE_SEND, SIGNALED, 0);
	raw_send_to(&a, av, b.end.qp->qp_num);
	((struct mlx5_wqe_datagram_seg *)(void *)(a.wqe + 16))->av.grh_gid_fl = htobe32(200u << 20);
	raw_inline(&a, "nowhere", 7);
	raw_post(&a, MLX5_OPCODE_SEND, 0, 0);
	(void)raw_next_of(&a, MLX5_CQE_REQ, 2);
	e = raw_next_of(&a, MLX5_CQE_REQ_ERR, 4);
	assert_int_equal(((struct mlx5_err_cqe *)(void *)&e)->syndrome,
			 MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	raw_free(&a, &b);
}

/* The path of an address is in its segment, and a datagram leaves by it: the header that it arrives
 * with has its hop limit and its class. IBA 8.3; IBT-38 */
static void test_ud_path(void **state)
{
	struct ibv_ah_attr attr = verbs_ah_attr(false);
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND};
	struct mlx5_wqe_av av;
	struct ibv_ah *ah;

	(void)state;
	attr.grh.hop_limit = 33;
	attr.grh.traffic_class = 0x68;
	attr.grh.flow_label = 0x12345;
	ah = ibv_create_ah(pd, &attr);
	raw_ends(&a, &b, IBV_QPT_UD);
	av = av_of(ah);
	assert_int_equal(av.hop_limit, 33);
	assert_int_equal(av.tclass, 0x68);
	assert_int_equal(be32toh(av.grh_gid_fl) & 0xfffff, 0x12345);
	av.key.qkey.qkey = htobe32(0x11111111);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = b.end.qp->qp_num;
	wr.wr.ud.remote_qkey = 0x11111111;
	for (int by_verbs = 0; by_verbs < 2; by_verbs++) {
		const struct mlx5_wqe_datagram_seg *s;

		memset(buf + 200000, 0, 40);
		raw_receive(&b, 200000, 140);
		if (by_verbs) {
			post_send(a.end.qp, wr, 0, 8);
		} else {
			raw_send_to(&a, av, b.end.qp->qp_num);
			raw_inline(&a, "datagram", 8);
			raw_post(&a, MLX5_OPCODE_SEND, SIGNALED, 0);
		}
		(void)raw_next(&a);
		(void)raw_next_of(&b, MLX5_CQE_RESP_SEND, (uint16_t)by_verbs);
		assert_int_equal(buf[200000 + 20 + 1], 0x68);
		assert_int_equal(buf[200000 + 20 + 8], 33);
		/* A request that verbs post stands in the queue as well. */
		s = (void *)((uint8_t *)a.qp.sq.buf +
			     (by_verbs ? a.sent & (a.qp.sq.wqe_cnt - 1) : 0) * 64u + 16);
		assert_int_equal(s->av.hop_limit, 33);
		assert_int_equal(s->av.tclass, 0x68);
		assert_int_equal(s->av.grh_gid_fl, av.grh_gid_fl);
		assert_memory_equal(s->av.rgid, av.rgid, 16);
	}
	assert_int_equal(ibv_destroy_ah(ah), 0);
	raw_free(&a, &b);
}

/* An SRQ serves QPs of every kind: the entry of a datagram names the QP that sent it, as on a QP
 * with receives of its own, and a message of a connection names nobody. IBT-43 */
static void test_sender_of_each_kind(void **state)
{
	static const enum ibv_qp_type types[] = {IBV_QPT_UD, IBV_QPT_RC, IBV_QPT_UC};
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 16, .max_sge = 1}};
	struct ibv_srq *srqs[] = {NULL, ibv_create_srq(pd, &init)};
	struct ibv_ah_attr attr = verbs_ah_attr(false);
	struct ibv_ah *ah = ibv_create_ah(pd, &attr);

	(void)state;
	assert_true(srqs[1] && ah);
	for (unsigned i = 0; i < 6; i++) {
		bool is_ud = types[i / 2] == IBV_QPT_UD;
		struct ibv_sge sge = sge_at(200000, 140);
		struct ibv_recv_wr recv = {.sg_list = &sge, .num_sge = 1}, *bad;
		struct ibv_send_wr wr = {.opcode = IBV_WR_SEND};
		struct mlx5_cqe64 e;

		a = b = (struct raw_end){.at = 0};
		a.end = end_new(types[i / 2], NULL, NULL);
		b.end = end_new(types[i / 2], NULL, srqs[i % 2]);
		verbs_connect(a.end.qp, b.end.qp, false);
		raw_show(&a);
		raw_show(&b);
		if (is_ud) {
			wr.wr.ud.ah = ah;
			wr.wr.ud.remote_qpn = b.end.qp->qp_num;
			wr.wr.ud.remote_qkey = 0x11111111;
		}
		assert_int_equal(srqs[i % 2] ? ibv_post_srq_recv(srqs[1], &recv, &bad)
					     : ibv_post_recv(b.end.qp, &recv, &bad),
				 0);
		post_send(a.end.qp, wr, 0, 100);
		(void)raw_next(&a);
		e = raw_next(&b);
		assert_int_equal(e.op_own >> 4, MLX5_CQE_RESP_SEND);
		assert_int_equal(be32toh(e.flags_rqpn) & 0xffffff, is_ud ? a.end.qp->qp_num : 0);
		assert_int_equal(be32toh(e.flags_rqpn) >> 28 & 3, is_ud);
		assert_int_equal(be32toh(e.srqn_uidx), i % 2 ? srqs[1]->handle : 0);
		raw_free(&a, &b);
	}
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(ibv_destroy_srq(srqs[1]), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    RAW_TEST(test_ud),
	    RAW_TEST(test_ud_priority),
	    RAW_TEST(test_ud_path),
	    RAW_TEST(test_sender_of_each_kind),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
