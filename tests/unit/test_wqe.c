/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work queue elements as bytes: what src/wqe writes is, byte by byte, what rdma-core's own setters
 * of mlx5dv.h write, for each opcode, address and kind of data; what it reads is what they wrote;
 * and bytes that are wrong become the fault that says so.
 */
#include "cmocka_env.h"
#include "wqe/wqe.h"

#include <infiniband/mlx5dv.h>
#include <stdio.h>
#include <string.h>

#define QPN 0x123456u

static const struct vb_wqe_queue rc = {.type = VB_QPT_RC, .qpn = QPN};
static _Alignas(16) uint8_t ours[VB_WQE_BYTES_MAX], theirs[VB_WQE_BYTES_MAX];
static uint8_t text[600];
static const struct vb_av av = {
    .flow_label = 0xabcde,
    .dlid = 0xc012,
    .rate = 7,
    .sl = 5,
    .path_bits = 3,
    .traffic_class = 0x68,
    .hop_limit = 33,
    .sgid_index = 9,
    .mac = {2, 4, 6, 8, 10, 12},
    .grh = true,
    .dgid = {{0xfe, 0x80, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}};

/* Theirs: a pointer behind what was written, as a program's own code has it. */
struct builder {
	uint8_t *at;
};

static void *take(struct builder *b, size_t bytes)
{
	void *p = b->at;

	b->at += bytes;
	return p;
}

static uint8_t mlx5_opcode(enum vb_wr_opcode op)
{
	switch (op) {
	case VB_WR_SEND:
		return MLX5_OPCODE_SEND;
	case VB_WR_SEND_IMM:
		return MLX5_OPCODE_SEND_IMM;
	case VB_WR_SEND_INV:
		return MLX5_OPCODE_SEND_INVAL;
	case VB_WR_RDMA_WRITE:
		return MLX5_OPCODE_RDMA_WRITE;
	case VB_WR_RDMA_WRITE_IMM:
		return MLX5_OPCODE_RDMA_WRITE_IMM;
	case VB_WR_RDMA_READ:
		return MLX5_OPCODE_RDMA_READ;
	case VB_WR_COMPARE_SWAP:
		return MLX5_OPCODE_ATOMIC_CS;
	case VB_WR_FETCH_ADD:
		return MLX5_OPCODE_ATOMIC_FA;
	default:
		fail();
		return 0;
	}
}

static void their_address(struct builder *b, const struct vb_wqe_queue *q,
			  const struct vb_send_wr *wr)
{
	if (q->type == VB_QPT_XRC_INI) {
		__be32 *srqn = take(b, 16);

		*srqn = htobe32(wr->srqn);
	}
	if (q->type == VB_QPT_UD || q->type == VB_QPT_DCI)
		mlx5dv_set_dgram_seg(take(b, sizeof(struct mlx5_wqe_datagram_seg)),
				     q->type == VB_QPT_UD ? (uint64_t)wr->qkey << 32 : wr->dc_key,
				     wr->dqpn, 1, (uint8_t)(av.rate << 4 | av.sl), av.path_bits,
				     av.dlid, (uint8_t *)(uintptr_t)av.mac, av.traffic_class,
				     av.hop_limit,
				     1u << 30 | (uint32_t)av.sgid_index << 20 | av.flow_label,
				     (uint8_t *)(uintptr_t)av.dgid.b);
}

static void their_remote(struct builder *b, const struct vb_send_wr *wr)
{
	struct mlx5_wqe_raddr_seg *r;
	struct mlx5_wqe_atomic_seg *a;

	if (wr->opcode == VB_WR_SEND || wr->opcode == VB_WR_SEND_IMM ||
	    wr->opcode == VB_WR_SEND_INV)
		return;
	r = take(b, sizeof *r);
	*r = (struct mlx5_wqe_raddr_seg){.raddr = htobe64(wr->remote_addr),
					 .rkey = htobe32(wr->rkey)};
	if (wr->opcode != VB_WR_COMPARE_SWAP && wr->opcode != VB_WR_FETCH_ADD)
		return;
	a = take(b, sizeof *a);
	*a = (struct mlx5_wqe_atomic_seg){
	    .swap_add = htobe64(wr->opcode == VB_WR_FETCH_ADD ? wr->compare_add : wr->swap),
	    .compare = htobe64(wr->opcode == VB_WR_FETCH_ADD ? 0 : wr->compare_add)};
}

static void their_data(struct builder *b, const struct vb_send_wr *wr)
{
	uint32_t total = 0;

	if (!(wr->flags & VB_SEND_INLINE)) {
		for (uint32_t i = 0; i < wr->sge_cnt; i++)
			mlx5dv_set_data_seg(take(b, 16), wr->sge[i].length, wr->sge[i].lkey,
					    wr->sge[i].addr);
		return;
	}
	struct mlx5_wqe_inl_data_seg *seg = take(b, sizeof *seg);

	for (uint32_t i = 0; i < wr->sge_cnt; i++) {
		memcpy(take(b, wr->sge[i].length), (void *)(uintptr_t)wr->sge[i].addr,
		       wr->sge[i].length);
		total += wr->sge[i].length;
	}
	seg->byte_count = htobe32(total | MLX5_INLINE_SEG);
}

/* Builds it as a program does that includes mlx5dv.h. Returns DS. */
static uint8_t build_theirs(const struct vb_wqe_queue *q, const struct vb_send_wr *wr,
			    uint16_t index)
{
	struct builder b = {theirs};
	struct mlx5_wqe_ctrl_seg *ctrl = take(&b, sizeof *ctrl);
	uint8_t fm_ce_se = 0, ds;
	uint32_t imm = 0;

	memset(theirs, 0, sizeof theirs);
	their_address(&b, q, wr);
	their_remote(&b, wr);
	their_data(&b, wr);
	ds = (uint8_t)((b.at - theirs + 15) / 16);
	if (wr->flags & VB_SEND_SIGNALED)
		fm_ce_se |= MLX5_WQE_CTRL_CQ_UPDATE;
	if (wr->flags & VB_SEND_SOLICITED)
		fm_ce_se |= MLX5_WQE_CTRL_SOLICITED;
	if (wr->flags & VB_SEND_FENCE)
		fm_ce_se |= MLX5_WQE_CTRL_FENCE;
	if (wr->opcode == VB_WR_SEND_INV)
		imm = htobe32(wr->inv_rkey);
	else if (wr->opcode == VB_WR_SEND_IMM || wr->opcode == VB_WR_RDMA_WRITE_IMM)
		imm = wr->imm;
	mlx5dv_set_ctrl_seg(ctrl, index, mlx5_opcode(wr->opcode), 0, q->qpn, fm_ce_se, ds, 0, imm);
	if (q->type == VB_QPT_DCI)
		ctrl->dci_stream_channel_id = htobe16(wr->dc_stream);
	return ds;
}

static void read_back(const struct vb_wqe_queue *q, const struct vb_send_wr *wr, uint16_t index,
		      uint32_t blocks)
{
	struct vb_wqe_send got;
	uint64_t length = 0, got_length = 0;

	assert_true(vb_wqe_read(q, theirs, blocks, index, &got));
	assert_int_equal(got.wr.opcode, wr->opcode);
	assert_int_equal(got.wr.flags, wr->flags);
	for (uint32_t i = 0; i < wr->sge_cnt; i++)
		length += wr->sge[i].length;
	for (uint32_t i = 0; i < got.wr.sge_cnt; i++)
		got_length += got.sge[i].length;
	assert_int_equal(length, got_length);
	if (wr->flags & VB_SEND_INLINE)
		assert_memory_equal((void *)(uintptr_t)got.sge[0].addr, text, length);
	else
		assert_memory_equal(got.sge, wr->sge, wr->sge_cnt * sizeof *wr->sge);
	if (wr->opcode != VB_WR_SEND && wr->opcode != VB_WR_SEND_IMM &&
	    wr->opcode != VB_WR_SEND_INV) {
		assert_int_equal(got.wr.remote_addr, wr->remote_addr);
		assert_int_equal(got.wr.rkey, wr->rkey);
	}
	if (wr->opcode == VB_WR_COMPARE_SWAP || wr->opcode == VB_WR_FETCH_ADD)
		assert_int_equal(got.wr.compare_add, wr->compare_add);
	if (wr->opcode == VB_WR_COMPARE_SWAP)
		assert_int_equal(got.wr.swap, wr->swap);
	if (q->type == VB_QPT_XRC_INI)
		assert_int_equal(got.wr.srqn, wr->srqn);
	assert_int_equal(got.has_av, q->type == VB_QPT_UD || q->type == VB_QPT_DCI);
	if (!got.has_av)
		return;
	assert_int_equal(got.wr.dqpn, wr->dqpn);
	assert_memory_equal(got.av.dgid.b, av.dgid.b, 16);
	assert_memory_equal(got.av.mac, av.mac, 6);
	assert_int_equal(got.av.flow_label, av.flow_label);
	assert_int_equal(got.av.sgid_index, av.sgid_index);
	assert_int_equal(got.av.hop_limit, av.hop_limit);
	assert_int_equal(got.av.traffic_class, av.traffic_class);
	assert_int_equal(got.av.rate, av.rate);
	assert_int_equal(got.av.sl, av.sl);
	assert_int_equal(got.av.path_bits, av.path_bits);
	assert_int_equal(got.av.dlid, av.dlid);
	assert_true(got.av.grh);
	if (q->type == VB_QPT_UD)
		assert_int_equal(got.wr.qkey, wr->qkey);
	else
		assert_int_equal(got.wr.dc_key, wr->dc_key);
}

/* Every opcode of @q with every kind of data and every flag. Returns how many cases those are. */
static int compare_all(const struct vb_wqe_queue *q, const enum vb_wr_opcode *ops, int op_cnt)
{
	const struct vb_sge many[] = {
	    {0x1122334455667788, 8, 0xcafe00}, {0x99, 4096, 1}, {0xffffffffffff, 0x7fffffff, 2}};
	const struct vb_sge in[] = {{(uintptr_t)text, 300, 0}, {(uintptr_t)text + 300, 1, 0}};
	int cnt = 0;

	for (int i = 0; i < op_cnt * 5; i++) {
		enum vb_wr_opcode op = ops[i / 5];
		bool is_atomic = op == VB_WR_COMPARE_SWAP || op == VB_WR_FETCH_ADD;
		int kind = i % 5; /* 0 to 2: so many SGEs more; 3, 4: inline */
		struct vb_send_wr wr = {
		    .sge = kind < 3 ? many : in,
		    .sge_cnt = kind < 3 ? (uint32_t)kind + 1 : (uint32_t)kind - 2,
		    .opcode = op,
		    .flags = (kind & 1 ? VB_SEND_SIGNALED : 0u) | (kind & 2 ? VB_SEND_FENCE : 0u) |
			     (kind == 2 ? VB_SEND_SOLICITED : 0u) |
			     (kind > 2 ? VB_SEND_INLINE : 0u),
		    .imm = 0x01020304,
		    .inv_rkey = 0xa1a2a3a4,
		    .remote_addr = 0x123456789abcdef0,
		    .rkey = 0xdeadbeef,
		    .compare_add = 0x1111222233334444,
		    .swap = 0x5555666677778888,
		    .dqpn = 0xabcdef,
		    .qkey = 0x11223344,
		    .srqn = 0x654321,
		    .dc_key = 0xfedcba9876543210,
		    .dc_stream = 0x0203};
		uint16_t index = (uint16_t)(0xfff0 + i);
		uint32_t blocks;
		uint8_t ds;

		if ((is_atomic || op == VB_WR_RDMA_READ) && kind > 2)
			continue;
		memset(ours, 0xee, sizeof ours);
		ds = build_theirs(q, &wr, index);
		blocks = vb_wqe_write(q, &wr, &av, index, ours);
		assert_int_equal(blocks, (ds * 16 + 63) / 64);
		assert_memory_equal(ours, theirs, ds * 16u);
		read_back(q, &wr, index, blocks);
		cnt++;
	}
	return cnt;
}

/* IBT-38 IBT-39 IBT-40 IBT-41 IBT-42 */
static void test_bytes_are_theirs(void **state)
{
	static const enum vb_wr_opcode all[] = {
	    VB_WR_SEND,           VB_WR_SEND_IMM,  VB_WR_SEND_INV,     VB_WR_RDMA_WRITE,
	    VB_WR_RDMA_WRITE_IMM, VB_WR_RDMA_READ, VB_WR_COMPARE_SWAP, VB_WR_FETCH_ADD};
	static const enum vb_wr_opcode of_uc[] = {VB_WR_SEND, VB_WR_SEND_IMM, VB_WR_RDMA_WRITE,
						  VB_WR_RDMA_WRITE_IMM};
	int cnt = compare_all(&rc, all, 8);

	(void)state;
	cnt += compare_all(&(struct vb_wqe_queue){.type = VB_QPT_UC, .qpn = 1}, of_uc, 4);
	cnt += compare_all(&(struct vb_wqe_queue){.type = VB_QPT_UD, .qpn = 2}, of_uc, 2);
	cnt += compare_all(&(struct vb_wqe_queue){.type = VB_QPT_XRC_INI, .qpn = 3}, all, 8);
	cnt += compare_all(&(struct vb_wqe_queue){.type = VB_QPT_DCI, .qpn = 4}, all, 8);
	assert_true(cnt >= 60);
}

static const struct vb_sge eight = {0x1000, 8, 7};
static const struct vb_send_wr a_write = {.sge = &eight,
					  .sge_cnt = 1,
					  .opcode = VB_WR_RDMA_WRITE,
					  .flags = VB_SEND_SIGNALED,
					  .remote_addr = 0x2000,
					  .rkey = 8};

static enum vb_wqe_fault fault_of(const struct vb_wqe_queue *q, uint32_t blocks, uint16_t index)
{
	struct vb_wqe_send got;

	return vb_wqe_read(q, ours, blocks, index, &got) ? VB_WQE_GOOD : got.fault;
}

static void write_ours(void)
{
	memset(ours, 0, sizeof ours);
	assert_int_equal(vb_wqe_write(&rc, &a_write, NULL, 5, ours), 1);
	assert_int_equal(fault_of(&rc, 1, 5), VB_WQE_GOOD);
}

/* IBT-38 */
static void test_faults(void **state)
{
	const struct vb_wqe_queue other = {.type = VB_QPT_RC, .qpn = QPN + 1};

	(void)state;
	write_ours();
	assert_int_equal(fault_of(&rc, 1, 6), VB_WQE_FAULT_INDEX);
	assert_int_equal(fault_of(&other, 1, 5), VB_WQE_FAULT_QPN);
	/* DS: nothing, more than there is, and too little for what the opcode needs. */
	for (unsigned ds = 0; ds < 256; ds++) {
		vb_wqe_put(ours, VB_CTRL_DS, ds);
		assert_int_equal(fault_of(&rc, vb_wqe_blocks(ours), 5),
				 ds < 2 || ds > 63 ? VB_WQE_FAULT_DS : VB_WQE_GOOD);
	}
	write_ours();
	/* Bytes that changed after their blocks were counted. */
	vb_wqe_put(ours, VB_CTRL_DS, 5);
	assert_int_equal(fault_of(&rc, 1, 5), VB_WQE_FAULT_DS);
	write_ours();
	for (unsigned op = 0; op < 256; op++) {
		bool known = op <= 1 || (op >= 8 && op <= 0xb) || (op >= 0x10 && op <= 0x12) ||
			     op == VB_WQE_UMR;
		enum vb_wqe_fault f;

		vb_wqe_put(ours, VB_CTRL_OPCODE, op);
		f = fault_of(&rc, 1, 5);
		assert_int_equal(f == VB_WQE_FAULT_OPCODE, !known);
	}
	write_ours();
	/* Inline data that go beyond the WQE, and both kinds of data. */
	memset(ours + 32, 0, 16);
	vb_wqe_put(ours + 32, VB_INLINE_FLAG, 1);
	vb_wqe_put(ours + 32, VB_INLINE_LENGTH, 12);
	assert_int_equal(fault_of(&rc, 1, 5), VB_WQE_GOOD);
	vb_wqe_put(ours + 32, VB_INLINE_LENGTH, 13);
	assert_int_equal(fault_of(&rc, 1, 5), VB_WQE_FAULT_INLINE);
	vb_wqe_put(ours + 32, VB_INLINE_LENGTH, 12);
	vb_wqe_put(ours, VB_CTRL_DS, 4);
	assert_int_equal(fault_of(&rc, 1, 5), VB_WQE_FAULT_INLINE);
	for (enum vb_wqe_fault f = 0; f < VB_WQE_FAULT_CNT; f++)
		assert_non_null(vb_wqe_fault_text(f));
}

/* IBT-38: the signature, as rdma-core reckons it: all bytes together are 0xff. */
static void test_signature(void **state)
{
	const struct vb_wqe_queue sig = {.type = VB_QPT_RC, .qpn = QPN, .is_signed = true};
	uint8_t all = 0;

	(void)state;
	write_ours();
	assert_int_equal(fault_of(&sig, 1, 5), VB_WQE_FAULT_SIGNATURE);
	assert_int_equal(vb_wqe_write(&sig, &a_write, NULL, 5, ours), 1);
	for (int i = 0; i < 48; i++)
		all ^= ours[i];
	assert_int_equal(all, 0xff);
	assert_int_equal(fault_of(&sig, 1, 5), VB_WQE_GOOD);
	ours[40] ^= 1;
	assert_int_equal(fault_of(&sig, 1, 5), VB_WQE_FAULT_SIGNATURE);
}

/* A length of 0 is 2^31 in a data segment, and SGEs without bytes are not written. IBT-39 */
static void test_zero_length(void **state)
{
	const struct vb_sge sges[2] = {{0x1000, 0, 7}, {0x1000, 8, 7}};
	struct vb_send_wr wr = a_write;
	struct vb_wqe_send got;

	(void)state;
	wr.sge = sges;
	wr.sge_cnt = 2;
	assert_int_equal(vb_wqe_write(&rc, &wr, NULL, 5, ours), 1);
	assert_int_equal(vb_wqe_get(ours, VB_CTRL_DS), 3);
	vb_wqe_put(ours + 32, VB_DATA_LENGTH, 0);
	assert_true(vb_wqe_read(&rc, ours, 1, 5, &got));
	assert_int_equal(got.sge[0].length, 1u << 31);
}

/* IBT-43 */
static void test_receive(void **state)
{
	struct vb_sge in[3] = {{1, 2, 3}, {0, 0, 9}, {0x1122334455667788, 5, 6}}, got[4];
	uint8_t wqe[64];

	(void)state;
	memset(wqe, 0xee, sizeof wqe);
	vb_wqe_write_receive(wqe, sizeof wqe, in, 3);
	mlx5dv_set_data_seg((void *)theirs, 2, 3, 1);
	mlx5dv_set_data_seg((void *)(theirs + 16), 5, 6, 0x1122334455667788);
	mlx5dv_set_data_seg((void *)(theirs + 32), 0, MLX5_INVALID_LKEY, 0);
	assert_memory_equal(wqe, theirs, 48);
	assert_int_equal(vb_wqe_read_receive(wqe, sizeof wqe, got, 4), 2);
	assert_memory_equal(&got[0], &in[0], sizeof in[0]);
	assert_memory_equal(&got[1], &in[2], sizeof in[0]);
	/* As many as there is room for, and no more than are asked for. */
	assert_int_equal(vb_wqe_read_receive(wqe, 16, got, 4), 1);
	assert_int_equal(vb_wqe_read_receive(wqe, sizeof wqe, got, 1), 1);
	vb_wqe_write_receive(wqe, 16, in, 1);
	assert_memory_equal(wqe, theirs, 16);
}

/* IBT-44 IBT-57: entries as a program reads them by mlx5dv.h. */
static void test_entries(void **state)
{
	struct vb_wc wc = {.byte_len = 77, .qpn = QPN, .time = 99};
	struct vb_cqe c = {
	    .wc = &wc, .counter = 0xfffe, .work = MLX5_OPCODE_RDMA_WRITE, .is_send = true};
	struct mlx5_cqe64 *e = (struct mlx5_cqe64 *)(void *)ours;
	struct mlx5_err_cqe *bad = (struct mlx5_err_cqe *)(void *)ours;

	(void)state;
	memset(ours, 0xee, sizeof ours);
	e->op_own = vb_cqe_write(&c, 1, ours);
	assert_int_equal(mlx5dv_get_cqe_opcode(e), MLX5_CQE_REQ);
	assert_int_equal(mlx5dv_get_cqe_owner(e), 1);
	assert_int_equal(be32toh(e->sop_drop_qpn), (uint32_t)MLX5_OPCODE_RDMA_WRITE << 24 | QPN);
	assert_int_equal(be16toh(e->wqe_counter), 0xfffe);
	assert_int_equal(be32toh(e->byte_cnt), 77);
	assert_int_equal(be64toh(e->timestamp), 99);
	c.is_send = false;
	c.solicited = c.is_datagram = true;
	c.srqn = 0x314;
	wc = (struct vb_wc){.opcode = VB_WC_RECV,
			    .flags = VB_WC_WITH_IMM | VB_WC_GRH,
			    .imm = htobe32(0x01020304),
			    .src_qpn = 0xabcdef,
			    .sl = 4,
			    .slid = 0x55,
			    .dlid_path_bits = 3};
	e->op_own = vb_cqe_write(&c, 0, ours);
	assert_int_equal(mlx5dv_get_cqe_opcode(e), MLX5_CQE_RESP_SEND_IMM);
	assert_int_equal(mlx5dv_get_cqe_owner(e), 0);
	assert_int_equal(mlx5dv_get_cqe_se(e), 1);
	assert_int_equal(mlx5dv_get_cqe_format(e), 0);
	assert_int_equal(be32toh(e->imm_inval_pkey), 0x01020304);
	assert_int_equal(be32toh(e->srqn_uidx), 0x314);
	assert_int_equal(be32toh(e->flags_rqpn), 1u << 28 | 4u << 24 | 0xabcdef);
	assert_int_equal(be16toh(e->slid), 0x55);
	assert_int_equal(e->ml_path, 3);
	wc.flags = VB_WC_WITH_INV;
	wc.imm = 0xa1a2a3a4;
	e->op_own = vb_cqe_write(&c, 0, ours);
	assert_int_equal(mlx5dv_get_cqe_opcode(e), MLX5_CQE_RESP_SEND_INV);
	assert_int_equal(be32toh(e->imm_inval_pkey), 0xa1a2a3a4);
	wc.flags = 0;
	wc.pkey_index = 6;
	e->op_own = vb_cqe_write(&c, 0, ours);
	assert_int_equal(mlx5dv_get_cqe_opcode(e), MLX5_CQE_RESP_SEND);
	assert_int_equal(be32toh(e->imm_inval_pkey), 6);
	wc.opcode = VB_WC_RECV_RDMA_WITH_IMM;
	assert_int_equal(vb_cqe_write(&c, 0, ours) >> 4, MLX5_CQE_RESP_WR_IMM);
	wc = (struct vb_wc){.status = VB_WC_LOC_PROT_ERR, .vendor_err = 0x42, .qpn = QPN};
	bad->op_own = vb_cqe_write(&c, 1, ours);
	assert_int_equal(bad->op_own, MLX5_CQE_RESP_ERR << 4 | 3);
	assert_int_equal(bad->syndrome, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
	assert_int_equal(bad->vendor_err_synd, 0x42);
	assert_int_equal(be32toh(bad->s_wqe_opcode_qpn), QPN);
	assert_int_equal(be16toh(bad->wqe_counter), 0xfffe);
	assert_int_equal(be32toh(bad->srqn), 0x314);
	c.is_send = true;
	assert_int_equal(vb_cqe_write(&c, 0, ours) >> 4, MLX5_CQE_REQ_ERR);
}

static void test_syndromes(void **state)
{
	static const struct {
		enum vb_wc_status status;
		uint8_t syndrome;
	} rows[] = {{VB_WC_LOC_LEN_ERR, MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR},
		    {VB_WC_LOC_QP_OP_ERR, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR},
		    {VB_WC_LOC_PROT_ERR, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR},
		    {VB_WC_WR_FLUSH_ERR, MLX5_CQE_SYNDROME_WR_FLUSH_ERR},
		    {VB_WC_MW_BIND_ERR, MLX5_CQE_SYNDROME_MW_BIND_ERR},
		    {VB_WC_BAD_RESP_ERR, MLX5_CQE_SYNDROME_BAD_RESP_ERR},
		    {VB_WC_LOC_ACCESS_ERR, MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR},
		    {VB_WC_REM_INV_REQ_ERR, MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR},
		    {VB_WC_REM_ACCESS_ERR, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR},
		    {VB_WC_REM_OP_ERR, MLX5_CQE_SYNDROME_REMOTE_OP_ERR},
		    {VB_WC_RETRY_EXC_ERR, MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR},
		    {VB_WC_RNR_RETRY_EXC_ERR, MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR},
		    {VB_WC_REM_ABORT_ERR, MLX5_CQE_SYNDROME_REMOTE_ABORTED_ERR},
		    {VB_WC_FATAL_ERR, 0xff}};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		assert_int_equal(vb_cqe_syndrome(rows[i].status), rows[i].syndrome);
}

static struct vb_wqe_page words;

/* A send WQE of ours in words. Returns their length. */
static size_t show_ours(enum vb_qp_type type, uint32_t blocks, char *to, size_t size)
{
	vb_wqe_page_begin(&words, to, size);
	vb_wqe_walk_send(type, ours, blocks, &words.visitor);
	return vb_wqe_page_end(&words);
}

/* Payload in an entry: its own segment, and fields that would lie in it are not shown. */
static void payload_is_shown(void)
{
	struct vb_wc wc = {.opcode = VB_WC_RECV, .byte_len = 5, .qpn = QPN};
	struct vb_cqe c = {.wc = &wc, .data = (const uint8_t *)"bytes", .data_max = VB_CQE_DATA};
	char page[4096];

	memset(ours, 0xff, 128);
	ours[127] = vb_cqe_write(&c, 0, ours + 64);
	assert_memory_equal(ours + 64, "bytes", 5);
	assert_int_equal(ours[127], MLX5_CQE_RESP_SEND << 4 | MLX5_INLINE_SCATTER_32);
	assert_int_equal(ours[0], 0xff);
	ours[64 + 27] = 7;
	vb_wqe_page_begin(&words, page, sizeof page);
	vb_cqe_walk(ours + 64, 64, &words.visitor);
	(void)vb_wqe_page_end(&words);
	assert_non_null(strstr(page, "000  62797465 73000000 00000000 00000000"));
	assert_non_null(strstr(page, "  payload:"));
	assert_non_null(strstr(page, "020  "));
	assert_non_null(strstr(page, "data in the entry 1"));
	assert_null(strstr(page, "sender"));
	assert_null(strstr(strstr(page, "    000  ") + 1, "    000  "));
	c.data_max = VB_CQE_BYTES;
	ours[127] = vb_cqe_write(&c, 1, ours + 64);
	assert_memory_equal(ours, "bytes\xff", 6);
	assert_int_equal(ours[64], 0);
	assert_int_equal(ours[127], MLX5_CQE_RESP_SEND << 4 | MLX5_INLINE_SCATTER_64 | 1);
	vb_wqe_page_begin(&words, page, sizeof page);
	vb_cqe_walk(ours, 128, &words.visitor);
	(void)vb_wqe_page_end(&words);
	assert_non_null(strstr(page, "000  62797465 73ffffff"));
	assert_non_null(strstr(page, "040  00000000"));
	assert_non_null(strstr(page, "data in the entry 2"));
	/* A word of a program's that cannot be. */
	vb_wqe_page_begin(&words, page, sizeof page);
	vb_cqe_walk(ours + 64, 64, &words.visitor);
	(void)vb_wqe_page_end(&words);
	assert_null(strstr(page, "payload"));
}

/* Bytes and fields, and nothing beyond what there is room for. */
static void test_words(void **state)
{
	char page[4096], small[40];
	size_t len;

	(void)state;
	write_ours();
	assert_true(show_ours(VB_QPT_RC, 1, page, sizeof page) < sizeof page);
	assert_non_null(strstr(page, "000  00000508 12345603 00000008 00000000  control: index 5"));
	assert_non_null(strstr(page, "opcode 8 (RDMA WRITE)"));
	assert_non_null(strstr(page, "address 0x0000000000002000, R_Key 0x00000008"));
	assert_non_null(strstr(page, "completion mode 2\n    010  "));
	assert_non_null(strstr(page, "data: bytes 8, L_Key 0x00000007"));
	assert_int_equal(page[strlen(page) - 1], '\n');
	memset(small, 'x', sizeof small);
	assert_true(show_ours(VB_QPT_RC, 1, small, 20) < 20);
	/* Of a NOP nothing but its control segment is anything. */
	vb_wqe_put(ours, VB_CTRL_OPCODE, MLX5_OPCODE_NOP);
	(void)show_ours(VB_QPT_RC, 1, page, sizeof page);
	assert_non_null(strstr(page, "(NOP)"));
	assert_null(strstr(page, "data"));
	assert_int_equal(small[20], 'x');
	memset(ours, 0xff, sizeof ours);
	for (uint32_t i = 0; i <= 16; i++)
		(void)show_ours(VB_QPT_DCI, i ? i : 1, page, sizeof page);
	vb_wqe_page_begin(&words, page, sizeof page);
	vb_cqe_walk(ours, VB_CQE_BYTES, &words.visitor);
	vb_wqe_walk_receive(ours, 64, true, &words.visitor);
	len = vb_wqe_page_end(&words);
	assert_int_equal(len, strlen(page));
	assert_non_null(strstr(page, "next WQE 65535"));
	payload_is_shown();
	/* Each segment is a line, and nothing else is. */
	vb_wqe_page_begin(&words, page, sizeof page);
	assert_int_equal(vb_wqe_page_end(&words), 0);
	assert_string_equal(page, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_bytes_are_theirs), cmocka_unit_test(test_faults),
	    cmocka_unit_test(test_signature),        cmocka_unit_test(test_zero_length),
	    cmocka_unit_test(test_receive),          cmocka_unit_test(test_entries),
	    cmocka_unit_test(test_syndromes),        cmocka_unit_test(test_words),
	};

	for (size_t i = 0; i < sizeof text; i++)
		text[i] = (uint8_t)(i * 7 + 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
