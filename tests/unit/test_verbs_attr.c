/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attributes of QPs and of paths, each with a value of its own, from the program to the core and
 * back: none takes another's place. ibv_modify_qp(3), ibv_create_ah(3); IBA 11.2.2.1
 */
#include "core/adapter.h"
#include "core/qp/qp.h"
#include "verbs/later.h"
#include "verbs/priv.h"
#include "verbs_env.h"

#include <infiniband/mlx5dv.h>

/* A query shows each capacity that ibv_create_qp() gave, in its place. */
static void query_qp__each_capacity(void **state)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 8, NULL, NULL, 0),
		      *other = ibv_create_cq(ctx, 8, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {.send_cq = cq,
					.recv_cq = other,
					.cap = {5, 40, 2, 7, 33},
					.qp_type = IBV_QPT_UC,
					.qp_context = &init},
				got;
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	struct ibv_qp_attr attr;

	(void)state;
	assert_non_null(qp);
	assert_true(init.cap.max_send_wr >= 5 && init.cap.max_recv_wr >= 40);
	assert_true(init.cap.max_send_wr < init.cap.max_recv_wr);
	assert_true(init.cap.max_send_sge >= 2 && init.cap.max_recv_sge >= 7);
	assert_true(init.cap.max_send_sge < init.cap.max_recv_sge);
	assert_true(init.cap.max_inline_data >= 33);
	assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_CAP, &got), 0);
	assert_memory_equal(&attr.cap, &init.cap, sizeof init.cap);
	assert_memory_equal(&got.cap, &init.cap, sizeof init.cap);
	assert_true(got.send_cq == cq && got.recv_cq == other && !got.srq);
	assert_true(got.qp_context == &init && got.qp_type == IBV_QPT_UC && got.sq_sig_all == 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_destroy_cq(other), 0);
}

/* Any sq_sig_all but 0 makes each request complete. */
static void create_qp__all_signaled(void **state)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 8, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {.send_cq = cq,
					.recv_cq = cq,
					.cap = {4, 4, 1, 1, 0},
					.qp_type = IBV_QPT_RC,
					.sq_sig_all = 2},
				got;
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	struct ibv_sge sge = sge_at(0, 8);
	struct ibv_send_wr wr = {.wr_id = 5,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .wr.rdma = {(uintptr_t)buf + 64, mr->rkey}},
			   *bad;
	struct ibv_qp_attr attr;
	struct ibv_wc wc;

	(void)state;
	assert_non_null(qp);
	to_init(qp);
	to_rts(qp, qp->qp_num, false);
	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
	wc = wc_next(cq);
	assert_int_equal(wc.wr_id, 5);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_STATE, &got), 0);
	assert_true(got.sq_sig_all != 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* A QP's transport decides its operations of ibv_wr_*(). IBA 9.4.1.1.3 */
static void create_qp_ex__operations_of_each_type(void **state)
{
	const uint64_t sends = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM,
		       uc = sends | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
			    IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW,
		       rc = uc | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
			    IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_SEND_WITH_INV |
			    IBV_QP_EX_WITH_ATOMIC_WRITE;
	const struct {
		enum ibv_qp_type type;
		uint64_t ops;
	} types[] = {
	    {IBV_QPT_RC, rc}, {IBV_QPT_UC, uc}, {IBV_QPT_UD, sends}, {IBV_QPT_XRC_SEND, rc}};
	struct ibv_cq *cq = ibv_create_cq(ctx, 8, NULL, NULL, 0);

	(void)state;
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		for (unsigned bit = 0; bit < 16; bit++) {
			struct ibv_qp_init_attr_ex a = {
			    .qp_type = types[i].type,
			    .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
			    .pd = pd,
			    .send_cq = cq,
			    .recv_cq = cq,
			    .cap = {1, 1, 1, 1, 0},
			    .send_ops_flags = 1u << bit};
			struct ibv_qp *qp;

			errno = 0;
			qp = ibv_create_qp_ex(ctx, &a);
			assert_int_equal(qp != NULL, types[i].ops >> bit & 1);
			if (!qp) {
				assert_int_equal(errno, EOPNOTSUPP);
				continue;
			}
			assert_non_null(ibv_qp_to_qp_ex(qp));
			/* Its data is inline. */
			if (1u << bit == IBV_QP_EX_WITH_ATOMIC_WRITE)
				assert_true(a.cap.max_inline_data >= 8);
			assert_int_equal(ibv_destroy_qp(qp), 0);
			a.comp_mask = IBV_QP_INIT_ATTR_PD; /* not asked for */
			qp = ibv_create_qp_ex(ctx, &a);
			assert_non_null(qp);
			assert_null(ibv_qp_to_qp_ex(qp));
			assert_int_equal(ibv_destroy_qp(qp), 0);
		}
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* There is one path, in state MIGRATED; any other request is refused. docs/verbs.md */
static void modify_qp__path_migration(void **state)
{
	static const struct {
		int mig_state, err;
	} rows[] = {{IBV_MIG_MIGRATED, 0}, {IBV_MIG_REARM, EINVAL}, {IBV_MIG_ARMED, EINVAL}};
	struct verbs_end e = end_new(IBV_QPT_RC, NULL, NULL);
	struct ibv_qp_attr a = {.alt_port_num = 1, .alt_ah_attr = verbs_ah_attr(false)};
	struct ibv_qp_init_attr init;

	(void)state;
	to_init(e.qp);
	to_rts(e.qp, e.qp->qp_num, false);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		a.path_mig_state = (enum ibv_mig_state)rows[i].mig_state;
		assert_int_equal(ibv_modify_qp(e.qp, &a, IBV_QP_PATH_MIG_STATE), rows[i].err);
	}
	assert_int_equal(ibv_modify_qp(e.qp, &a, IBV_QP_ALT_PATH), EINVAL);
	assert_int_equal(ibv_query_qp(e.qp, &a, IBV_QP_PATH_MIG_STATE, &init), 0);
	assert_int_equal(a.path_mig_state, IBV_MIG_MIGRATED);
	end_free(&e);
}

/* A query of a datagram QP shows its Q_Key, PSN, port and state SQD. */
static void modify_qp__of_datagrams(void **state)
{
	struct verbs_end e = end_new(IBV_QPT_UD, NULL, NULL);
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 0x5555aaaa}, q;
	struct ibv_qp_init_attr init;

	(void)state;
	assert_int_equal(
	    ibv_modify_qp(e.qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
	    0);
	a.qp_state = IBV_QPS_RTR;
	assert_int_equal(ibv_modify_qp(e.qp, &a, IBV_QP_STATE), 0);
	a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .sq_psn = 0x345678};
	assert_int_equal(ibv_modify_qp(e.qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
	a = (struct ibv_qp_attr){.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1};
	assert_int_equal(ibv_modify_qp(e.qp, &a, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	assert_int_equal(ibv_query_qp(e.qp, &q, IBV_QP_STATE, &init), 0);
	assert_int_equal(q.qp_state, IBV_QPS_SQD);
	assert_int_equal(e.qp->state, IBV_QPS_SQD);
	assert_int_equal(q.qkey, 0x5555aaaa);
	assert_int_equal(q.sq_psn, 0x345678);
	assert_int_equal(q.port_num, 1);
	/* The QP must be in the state that the caller names as current. */
	a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .cur_qp_state = IBV_QPS_RTR};
	assert_int_equal(ibv_modify_qp(e.qp, &a, IBV_QP_STATE | IBV_QP_CUR_STATE), EINVAL);
	a.cur_qp_state = IBV_QPS_SQD;
	assert_int_equal(ibv_modify_qp(e.qp, &a, IBV_QP_STATE | IBV_QP_CUR_STATE), 0);
	end_free(&e);
}

/* All packets of a connection take one way: its UDP source port is from the flow label, or from
 * both QPNs if there is none. facts B.1 */
static void modify_qp__source_port_of_a_connection(void **state)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTR,
				.path_mtu = IBV_MTU_1024,
				.dest_qp_num = 0x4321,
				.max_dest_rd_atomic = 1};
	const int rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;

	(void)state;
	for (uint32_t label = 0; label < 0x50000; label += 0x23456) {
		struct verbs_end e = end_new(IBV_QPT_RC, NULL, NULL);
		struct vb_qp_attr core;

		to_init(e.qp);
		a.ah_attr = verbs_ah_attr(true);
		a.ah_attr.grh.flow_label = label;
		assert_int_equal(ibv_modify_qp(e.qp, &a, rtr), 0);
		vb_qp_query(((struct vb_ibv_qp *)e.qp)->core, &core);
		assert_int_equal(core.path.udp_sport, vb_udp_sport(label, e.qp->qp_num, 0x4321));
		assert_int_equal(core.path.flow_label, label);
		end_free(&e);
	}
}

/* A path that is set by itself leads to the connected QP. */
static void modify_qp__source_port_of_another_path(void **state)
{
	struct verbs_end e = end_new(IBV_QPT_RC, NULL, NULL);
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_SQD}, q;
	struct ibv_qp_init_attr init;
	struct vb_qp_attr core;

	(void)state;
	to_init(e.qp);
	to_rts(e.qp, 0x4321, false);
	assert_int_equal(ibv_modify_qp(e.qp, &a, IBV_QP_STATE), 0);
	do {
		assert_int_equal(ibv_query_qp(e.qp, &q, IBV_QP_STATE, &init), 0);
		assert_true(patience_left());
	} while (q.sq_draining);
	a = (struct ibv_qp_attr){.ah_attr = verbs_ah_attr(true), .dest_qp_num = 0x9999};
	assert_int_equal(ibv_modify_qp(e.qp, &a, IBV_QP_AV), 0);
	vb_qp_query(((struct vb_ibv_qp *)e.qp)->core, &core);
	assert_int_equal(core.dest_qpn, 0x4321);
	assert_int_equal(core.path.udp_sport, vb_udp_sport(0, e.qp->qp_num, 0x4321));
	end_free(&e);
}

static const struct vb_path *path_of(const struct ibv_ah *ah)
{
	return &((const struct vb_ibv_ah *)ah)->core.path;
}

/* Bits beyond a field do not reach the next field. IBA 8.3 */
static void create_ah__each_field_of_a_global_path(void **state)
{
	struct ibv_ah_attr a = verbs_ah_attr(true);
	const struct vb_path *p;
	union ibv_gid gid;
	struct ibv_ah *ah;

	(void)state;
	a.sl = 0x3c;
	a.grh.flow_label = 0xfffabcde;
	a.grh.traffic_class = 0xb9;
	a.grh.hop_limit = 17;
	a.grh.dgid.raw[15] = 0x42;
	ah = ibv_create_ah(pd, &a);
	assert_non_null(ah);
	assert_true(ah->pd == pd && ah->context == ctx);
	p = path_of(ah);
	(void)verbs_gid(true, &gid);
	assert_memory_equal(p->sgid.b, gid.raw, 16);
	assert_memory_equal(p->dgid.b, a.grh.dgid.raw, 16);
	assert_int_equal(p->flow_label, 0xabcde);
	assert_int_equal(p->traffic_class, 0xb9);
	assert_int_equal(p->hop_limit, 17);
	assert_int_equal(p->sl, 0xc);
	assert_int_equal(p->port, 1);
	assert_true(p->dlid == 0 && p->slid == 0);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	memset(&a.grh.dgid, 0, sizeof a.grh.dgid);
	errno = 0;
	assert_null(ibv_create_ah(pd, &a));
	assert_int_equal(errno, EINVAL);
}

/* In a fabric, LIDs go from 1 to the last multicast LID. A group's LID needs its GID. The port's
 * LMC bounds the path bits. IBA 4.1.1, 4.1.3, 8.3 */
static void create_ah__lids(void **state)
{
	static const struct {
		uint16_t dlid;
		uint8_t group; /* the GID is that of one */
		uint8_t path_bits;
		bool is_global;
		uint16_t slid; /* 0: refused */
	} rows[] = {{0, 0, 0, false, 0},
		    {1, 0, 0, false, 0x100},
		    {1, 0, 3, false, 0x103},
		    {1, 0, 7, false, 0x103},
		    {1, 0, 4, true, 0x100},
		    {VB_IBV_MLID_FIRST - 1, 0, 0, false, 0x100},
		    {VB_IBV_MLID_FIRST, 0, 0, false, 0},
		    {VB_IBV_MLID_FIRST, 0, 0, true, 0},
		    {VB_IBV_MLID_FIRST, 1, 0, false, 0},
		    {VB_IBV_MLID_FIRST, 1, 0, true, 0x100},
		    {VB_IBV_MLID_LAST, 1, 1, true, 0x101},
		    {VB_IBV_MLID_LAST + 1, 1, 0, true, 0},
		    {0xffff, 1, 0, true, 0}};
	struct vb_ibv_context *c = vb_ibv_ctx(ctx);

	(void)state;
	c->is_ib = true;
	c->table[0].ib.lid = 0x100;
	c->table[0].ib.lmc = 2;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct ibv_ah_attr a = verbs_ah_attr(true);
		struct ibv_ah *ah;

		a.dlid = rows[i].dlid;
		a.is_global = rows[i].is_global;
		a.src_path_bits = rows[i].path_bits;
		a.grh.hop_limit = i % 2;
		if (rows[i].group)
			a.grh.dgid = (union ibv_gid){.raw = {0xff, 0x0e, [15] = 1}};
		errno = 0;
		ah = ibv_create_ah(pd, &a);
		print_message("row %zu\n", i);
		assert_int_equal(ah != NULL, rows[i].slid != 0);
		if (!ah) {
			assert_int_equal(errno, EINVAL);
			continue;
		}
		assert_int_equal(path_of(ah)->dlid, rows[i].dlid);
		assert_int_equal(path_of(ah)->slid, rows[i].slid);
		/* No router passes it on, as the program wants it. FAB-06 */
		assert_int_equal(path_of(ah)->hop_limit, rows[i].is_global ? i % 2 : 0);
		assert_int_equal(ibv_destroy_ah(ah), 0);
	}
	memset(&c->table[0].ib, 0, sizeof c->table[0].ib);
	c->is_ib = false;
}

/* A static rate in 1000 bits a second: 0 where the port is no faster. IBA 9.11.1 */
static void static_rate__each(void **state)
{
	static const struct {
		uint8_t rate;
		uint32_t kbps;
	} rows[] = {
	    {IBV_RATE_2_5_GBPS, 2500000},   {IBV_RATE_5_GBPS, 5000000},
	    {IBV_RATE_10_GBPS, 10000000},   {IBV_RATE_14_GBPS, 14062000},
	    {IBV_RATE_20_GBPS, 20000000},   {IBV_RATE_25_GBPS, 25781000},
	    {IBV_RATE_28_GBPS, 28125000},   {IBV_RATE_30_GBPS, 30000000},
	    {IBV_RATE_40_GBPS, 40000000},   {IBV_RATE_50_GBPS, 53125000},
	    {IBV_RATE_56_GBPS, 56250000},   {IBV_RATE_60_GBPS, 60000000},
	    {IBV_RATE_80_GBPS, 80000000},   {IBV_RATE_100_GBPS, 103125000},
	    {IBV_RATE_112_GBPS, 112500000}, {IBV_RATE_120_GBPS, 120000000},
	    {IBV_RATE_168_GBPS, 168750000}, {IBV_RATE_200_GBPS, 206250000},
	    {IBV_RATE_300_GBPS, 309375000}, {IBV_RATE_400_GBPS, 425000000},
	    {IBV_RATE_600_GBPS, 0},
	};
	struct vb_ibv_context *c = vb_ibv_ctx(ctx);
	struct ibv_ah_attr a = verbs_ah_attr(false);

	(void)state;
	c->table[0].speed_mbps = 637500;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		a.static_rate = rows[i].rate;
		assert_int_equal(vb_ibv_path_kbps(c, &a), rows[i].kbps);
	}
	c->table[0].speed_mbps = 0;
}

/* Version and checksum tell an IPv4 header from the middle of an IPv6 header. In a fabric a message
 * may have no header: its answer goes by the LID. IBA A17.4.5.1, 11.2.2.1 */
static void init_ah_from_wc__of_each_kind(void **state)
{
	struct ibv_wc wc = {.wc_flags = IBV_WC_GRH, .slid = 7, .sl = 5, .dlid_path_bits = 3};
	uint8_t grh[40] = {[20] = 0x45, 0xb8, 0,  60, 0, 0, 0,   0, 64, 17,
			   0,           0,    10, 9,  8, 7, 127, 0, 0,  1};
	static const uint8_t from[16] = {[10] = 0xff, 0xff, 10, 9, 8, 7};
	struct vb_ibv_context *c = vb_ibv_ctx(ctx);
	struct ibv_ah_attr attr, own = verbs_ah_attr(false);
	uint32_t sum = 0;

	(void)state;
	for (int i = 20; i < 40; i += 2)
		sum += (uint32_t)grh[i] << 8 | grh[i + 1];
	sum = ~((sum & 0xffff) + (sum >> 16)) & 0xffff;
	grh[30] = (uint8_t)(sum >> 8);
	grh[31] = (uint8_t)sum;
	assert_int_equal(ibv_init_ah_from_wc(ctx, 1, &wc, (struct ibv_grh *)(void *)grh, &attr), 0);
	assert_true(attr.is_global == 1 && attr.port_num == 1);
	assert_memory_equal(attr.grh.dgid.raw, from, 16);
	assert_int_equal(attr.grh.sgid_index, own.grh.sgid_index);
	assert_int_equal(attr.grh.traffic_class, 0xb8);
	assert_int_equal(attr.grh.flow_label, 0);
	assert_int_equal(attr.grh.hop_limit, 255);
	assert_true(attr.dlid == 7 && attr.sl == 5 && attr.src_path_bits == 3);
	/* Refused: a wrong checksum, a wrong version, an address that nobody here has. */
	grh[31] ^= 1;
	assert_int_equal(ibv_init_ah_from_wc(ctx, 1, &wc, (struct ibv_grh *)(void *)grh, &attr),
			 -1);
	assert_int_equal(errno, EINVAL);
	grh[20] ^= 0x10;
	grh[30] ^= 0x10;
	grh[31] ^= 1;
	assert_int_equal(ibv_init_ah_from_wc(ctx, 1, &wc, (struct ibv_grh *)(void *)grh, &attr),
			 -1);
	grh[20] ^= 0x10;
	grh[30] ^= 0x10;
	grh[39]++;
	grh[31]--;
	assert_int_equal(ibv_init_ah_from_wc(ctx, 1, &wc, (struct ibv_grh *)(void *)grh, &attr),
			 -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_init_ah_from_wc(ctx, 2, &wc, (struct ibv_grh *)(void *)grh, &attr),
			 -1);
	wc.wc_flags = 0;
	assert_int_equal(ibv_init_ah_from_wc(ctx, 1, &wc, (struct ibv_grh *)(void *)grh, &attr),
			 -1);
	c->is_ib = true;
	assert_int_equal(ibv_init_ah_from_wc(ctx, 1, &wc, (struct ibv_grh *)(void *)grh, &attr), 0);
	c->is_ib = false;
	assert_true(attr.dlid == 7 && attr.sl == 5 && attr.src_path_bits == 3);
	assert_true(attr.is_global == 0 && attr.port_num == 1);
}

/* A rate has a burst, or one of the adapter's choice: the last call says which.
 * ibv_modify_qp_rate_limit(3) */
static void modify_qp_rate_limit__burst(void **state)
{
	static const struct ibv_qp_rate_limit_attr rows[] = {
	    {.rate_limit = 200000, .max_burst_sz = 30000, .typical_pkt_sz = 700},
	    {.rate_limit = 300000, .max_burst_sz = 0},
	    {.rate_limit = 0, .max_burst_sz = 0}};
	struct verbs_end e = end_new(IBV_QPT_RC, NULL, NULL);
	const struct vb_qp *core = ((struct vb_ibv_qp *)e.qp)->core;

	(void)state;
	to_init(e.qp);
	to_rts(e.qp, e.qp->qp_num, false);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct ibv_qp_rate_limit_attr a = rows[i];

		assert_int_equal(ibv_modify_qp_rate_limit(e.qp, &a), 0);
		assert_int_equal(core->pace.set_kbps, rows[i].rate_limit);
		assert_int_equal(core->pace.burst, rows[i].max_burst_sz);
	}
	end_free(&e);
}

/* An extension that both the adapter and the given options have is offered, until options without
 * it are set. ibv_set_ece(3), docs/verbs.md */
static void ece__of_an_extension(void **state)
{
	static const uint32_t given[] = {UINT32_MAX, 2, 1, 0}, left[] = {1, 0, 1, 0};
	struct verbs_end e = end_new(IBV_QPT_RC, NULL, NULL);
	struct vb_ibv_context *c = vb_ibv_ctx(ctx);
	bool *forced =
	    &vb_engine_hca(c->engine)->port[c->port].rules.set.selective_repeat_forced_en;
	const bool was = *forced;
	struct ibv_ece ece;

	(void)state;
	assert_true(vb_ibv_enter(c));
	*forced = true;
	vb_ibv_leave(c);
	assert_int_equal(ibv_query_ece(e.qp, &ece), 0);
	assert_int_equal(ece.options, 1);
	for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
		ece.options = given[i];
		assert_int_equal(ibv_set_ece(e.qp, &ece), 0);
		assert_int_equal(ece.options, left[i]);
		assert_int_equal(ibv_query_ece(e.qp, &ece), 0);
		assert_int_equal(ece.options, left[i]);
	}
	assert_true(vb_ibv_enter(c));
	*forced = was;
	vb_ibv_leave(c);
	end_free(&e);
}

/* Attributes here have all bits set but those of what their masks name, so that no pointer in the
 * rest leads anywhere. The calls of <infiniband/verbs.h> look at masks themselves: past them. */
static void qps_of_what_is_named(struct ibv_cq *cq, struct ibv_srq *srq)
{
	static const uint32_t masks[] = {IBV_QP_INIT_ATTR_PD,
					 IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS};
	struct ibv_qp_init_attr_ex a;
	struct ibv_qp *qp;

	for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++) {
		memset(&a, 0xff, sizeof a);
		a.comp_mask = masks[i];
		a.pd = pd;
		a.send_cq = a.recv_cq = cq;
		a.srq = srq;
		a.cap = (struct ibv_qp_cap){.max_send_wr = 1, .max_send_sge = 1};
		a.qp_type = IBV_QPT_RC;
		if (i)
			a.send_ops_flags = IBV_QP_EX_WITH_SEND;
		qp = verbs_get_ctx(ctx)->create_qp_ex(ctx, &a);
		assert_non_null(qp);
		assert_int_equal(ibv_qp_to_qp_ex(qp) != NULL, i);
		assert_int_equal(ibv_destroy_qp(qp), 0);
	}
}

static void queues_of_what_is_named(void)
{
	struct ibv_cq_init_attr_ex ca;
	struct ibv_srq_init_attr_ex sa;
	struct mlx5dv_cq_init_attr wide;
	struct ibv_cq_ex *cq;
	struct ibv_srq *srq;

	memset(&ca, 0xff, sizeof ca);
	memset(&sa, 0xff, sizeof sa);
	memset(&wide, 0xff, sizeof wide);
	ca.cqe = 4;
	ca.channel = NULL;
	ca.comp_vector = ca.comp_mask = 0;
	ca.wc_flags = 0;
	wide.comp_mask = 0;
	cq = mlx5dv_create_cq(ctx, &ca, &wide);
	assert_non_null(cq);
	sa.comp_mask = IBV_SRQ_INIT_ATTR_PD; /* of type BASIC */
	sa.pd = pd;
	sa.attr.max_wr = sa.attr.max_sge = 1;
	srq = verbs_get_ctx(ctx)->create_srq_ex(ctx, &sa);
	assert_non_null(srq);
	qps_of_what_is_named(ibv_cq_ex_to_cq(cq), srq);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

/* A field that comp_mask does not name may have any value: it is not looked at.
 * ibv_create_qp_ex(3), ibv_create_cq_ex(3), ibv_create_srq_ex(3), ibv_alloc_parent_domain(3),
 * ibv_alloc_dmah(3), ibv_reg_mr_ex(3) */
static void create__fields_that_no_mask_names(void **state)
{
	struct ibv_parent_domain_init_attr pa;
	struct vb_dmah_init_attr da;
	struct vb_mr_init_attr ma;
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 1, .max_sge = 1}};
	struct ibv_dmah *dmah;
	struct ibv_pd *domain;
	struct ibv_srq *srq;
	struct ibv_mr *m;

	(void)state;
	queues_of_what_is_named();
	memset(&pa, 0xff, sizeof pa);
	memset(&da, 0xff, sizeof da);
	memset(&ma, 0xff, sizeof ma);
	pa.pd = pd;
	pa.td = NULL;
	pa.comp_mask = 0;
	domain = ibv_alloc_parent_domain(ctx, &pa);
	assert_non_null(domain);
	srq = ibv_create_srq(domain, &init); /* in memory of no allocator's */
	assert_non_null(srq);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_dealloc_pd(domain), 0);
	da.comp_mask = 0;
	dmah = ibv_alloc_dmah(ctx, (struct ibv_dmah_init_attr *)(void *)&da);
	assert_non_null(dmah);
	ma.comp_mask = VB_MR_ADDR;
	ma.addr = buf;
	ma.length = 64;
	ma.access = IBV_ACCESS_LOCAL_WRITE;
	m = ibv_reg_mr_ex(pd, (struct ibv_mr_init_attr *)(void *)&ma);
	assert_non_null(m);
	assert_int_equal(ibv_dealloc_dmah(dmah), 0);
	assert_int_equal(ibv_dereg_mr(m), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    VERBS_TEST(query_qp__each_capacity),
	    VERBS_TEST(create_qp__all_signaled),
	    VERBS_TEST(create_qp_ex__operations_of_each_type),
	    VERBS_TEST(modify_qp__path_migration),
	    VERBS_TEST(modify_qp__of_datagrams),
	    VERBS_TEST(modify_qp__source_port_of_a_connection),
	    VERBS_TEST(modify_qp__source_port_of_another_path),
	    VERBS_TEST(create_ah__each_field_of_a_global_path),
	    VERBS_TEST(create_ah__lids),
	    VERBS_TEST(static_rate__each),
	    VERBS_TEST(init_ah_from_wc__of_each_kind),
	    VERBS_TEST(create__fields_that_no_mask_names),
	    VERBS_TEST(modify_qp_rate_limit__burst),
	    VERBS_TEST(ece__of_an_extension),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
