/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records what rdma-core's mlx5 provider writes to work queues: posts work requests to a QP and an
 * SRQ that are made of memory alone, by ibv_post_send(), by ibv_wr_*() and by ibv_post_recv(), and
 * prints each WQE as one line of wqe.h. scripts/record_wqe compiles it with the provider's own
 * sources.
 */
#include "mlx5.h"
#include "wqe.h"

#include "values.h"

#include <stdio.h>

#define BLOCKS 16 /* of the send queue: some of the WQEs go beyond its end */
#define WORDS(a) (sizeof(a) / sizeof *(a))

int ibv_query_gid_type(struct ibv_context *c, uint8_t port, unsigned int index, unsigned int *type);

static const char *const type_names[] = {[IBV_QPT_RC] = "RC",
					 [IBV_QPT_UC] = "UC",
					 [IBV_QPT_UD] = "UD",
					 [IBV_QPT_XRC_SEND] = "XRC_INI",
					 [IBV_QPT_DRIVER] = "DCI"};
static const char *const opcode_names[] = {
    [IBV_WR_SEND] = "SEND",
    [IBV_WR_SEND_WITH_IMM] = "SEND_IMM",
    [IBV_WR_SEND_WITH_INV] = "SEND_INV",
    [IBV_WR_RDMA_WRITE] = "RDMA_WRITE",
    [IBV_WR_RDMA_WRITE_WITH_IMM] = "RDMA_WRITE_IMM",
    [IBV_WR_RDMA_READ] = "RDMA_READ",
    [IBV_WR_ATOMIC_CMP_AND_SWP] = "COMPARE_SWAP",
    [IBV_WR_ATOMIC_FETCH_AND_ADD] = "FETCH_ADD",
};
static const char *const data_names[] = {"ONE_SGE", "THREE_SGES", "EMPTY_SGE", "INLINE_SHORT",
					 "INLINE_LONG"};
static const char *const way_names[] = {"TO_SUBNET", "TO_ROUTER", "TO_ROCE"};

static struct mlx5_context context;
static struct ibv_pd pd;
static struct mlx5_cq cq;
static struct mlx5_bf bf = {.buf_size = 256, .need_lock = 0};
static uint64_t doorbell_page[128];
static uint8_t ring[BLOCKS * MLX5_SEND_WQE_BB] __attribute__((aligned(64))), other[sizeof ring],
    text[400];
static __be32 records[2];
static struct mlx5_qp qp;
static struct ibv_ah *ahs[3];

/* The provider asks these for the port and the peer of an address of RoCE. */
int ibv_query_gid_type(struct ibv_context *c, uint8_t port, unsigned int index, unsigned int *type)
{
	*type = IBV_GID_TYPE_SYSFS_ROCE_V2;
	return 0;
}

int ibv_resolve_eth_l2_from_gid(struct ibv_context *c, struct ibv_ah_attr *attr,
				uint8_t mac[ETHERNET_LL_SIZE], uint16_t *vid)
{
	memcpy(mac, mlx5_mac, ETHERNET_LL_SIZE);
	return 0;
}

static struct ibv_ah *make_ah(enum mlx5_way way)
{
	struct ibv_ah_attr attr = {.dlid = MLX5_DLID,
				   .sl = MLX5_SL,
				   .src_path_bits = MLX5_PATH_BITS,
				   .is_global = way != TO_SUBNET,
				   .port_num = 1,
				   .grh = {.flow_label = MLX5_FLOW,
					   .sgid_index = MLX5_SGID_INDEX,
					   .hop_limit = MLX5_HOPS,
					   .traffic_class = MLX5_TCLASS}};

	memcpy(attr.grh.dgid.raw, mlx5_dgid, sizeof mlx5_dgid);
	context.num_ports = 1;
	context.cached_link_layer[0] =
	    way == TO_ROCE ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND;
	return mlx5_create_ah(&pd, &attr);
}

static void make_qp(enum ibv_qp_type type, bool is_signed)
{
	static uint64_t wrid[BLOCKS];
	static unsigned head[BLOCKS];
	static uint32_t data[BLOCKS];
	struct ibv_qp_init_attr_ex attr = {.qp_type = type};
	struct mlx5dv_qp_init_attr dv = {.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
					 .dc_init_attr = {.dc_type = MLX5DV_DCTYPE_DCI}};

	memset(&qp, 0, sizeof qp);
	bf.reg = doorbell_page;
	qp.bf = &bf;
	qp.db = records;
	qp.wq_sig = is_signed;
	qp.atomics_enabled = 1;
	qp.max_inline_data = 512;
	qp.sq_start = ring;
	qp.sq = (struct mlx5_wq){.wrid = wrid,
				 .wqe_head = head,
				 .wr_data = data,
				 .wqe_cnt = BLOCKS,
				 .max_post = 1u << 31,
				 .max_gs = 8,
				 .qp_state_max_gs = 8,
				 .wqe_shift = 6,
				 .qend = ring + sizeof ring};
	qp.ibv_qp = &qp.verbs_qp.qp;
	*qp.ibv_qp = (struct ibv_qp){.context = &context.ibv_ctx.context,
				     .send_cq = &cq.verbs_cq.cq,
				     .recv_cq = &cq.verbs_cq.cq,
				     .qp_num = MLX5_QPN,
				     .state = IBV_QPS_RTS,
				     .qp_type = type};
	if (mlx5_qp_fill_wr_pfns(&qp, &attr, type == IBV_QPT_DRIVER ? &dv : NULL))
		exit(1);
}

/* The bytes of @from in hexadecimal, and ".." for those that @other, recorded on other ground, has
 * otherwise: the provider leaves them as they are. */
static void print_bytes(const uint8_t *from, const uint8_t *other, uint32_t first, uint32_t bytes,
			uint32_t all)
{
	printf("\"");
	for (uint32_t i = 0; i < bytes; i++) {
		uint32_t at = (first + i) % all;

		if (from[at] == other[at])
			printf("%02x", from[at]);
		else
			printf("..");
	}
	printf("\")\n");
}

static int fill_sges(struct ibv_sge *sge, enum mlx5_data data)
{
	int cnt = data == ONE_SGE ? 1 : 3;

	if (data >= INLINE_SHORT) {
		uint32_t bytes = data == INLINE_SHORT ? MLX5_SHORT_BYTES : MLX5_LONG_BYTES;

		sge[0] = (struct ibv_sge){(uintptr_t)text, bytes - 1, 0};
		sge[1] = (struct ibv_sge){(uintptr_t)text + bytes - 1, 1, 0};
		return 2;
	}
	for (int i = 0; i < cnt; i++)
		sge[i] =
		    (struct ibv_sge){mlx5_sges[i].addr, mlx5_sges[i].length, mlx5_sges[i].lkey};
	if (data == EMPTY_SGE)
		sge[1].length = 0;
	return cnt;
}

static void post_old(const struct ibv_send_wr *want, enum mlx5_way way)
{
	struct ibv_send_wr wr = *want, *bad;

	if (qp.ibv_qp->qp_type == IBV_QPT_UD) {
		wr.wr.ud.ah = ahs[way];
		wr.wr.ud.remote_qpn = MLX5_DQPN;
		wr.wr.ud.remote_qkey = MLX5_QKEY;
	} else if (wr.opcode >= IBV_WR_ATOMIC_CMP_AND_SWP &&
		   wr.opcode <= IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = MLX5_REMOTE;
		wr.wr.atomic.rkey = MLX5_RKEY;
		wr.wr.atomic.compare_add = MLX5_COMPARE_ADD;
		wr.wr.atomic.swap = MLX5_SWAP;
	} else {
		wr.wr.rdma.remote_addr = MLX5_REMOTE;
		wr.wr.rdma.rkey = MLX5_RKEY;
	}
	wr.qp_type.xrc.remote_srqn = MLX5_SRQN;
	if (mlx5_post_send(qp.ibv_qp, &wr, &bad))
		exit(2);
}

static void build_opcode(struct ibv_qp_ex *x, enum ibv_wr_opcode opcode)
{
	switch (opcode) {
	case IBV_WR_SEND:
		ibv_wr_send(x);
		break;
	case IBV_WR_SEND_WITH_IMM:
		ibv_wr_send_imm(x, htobe32(MLX5_IMM));
		break;
	case IBV_WR_SEND_WITH_INV:
		ibv_wr_send_inv(x, MLX5_INV_RKEY);
		break;
	case IBV_WR_RDMA_WRITE:
		ibv_wr_rdma_write(x, MLX5_RKEY, MLX5_REMOTE);
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		ibv_wr_rdma_write_imm(x, MLX5_RKEY, MLX5_REMOTE, htobe32(MLX5_IMM));
		break;
	case IBV_WR_RDMA_READ:
		ibv_wr_rdma_read(x, MLX5_RKEY, MLX5_REMOTE);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		ibv_wr_atomic_cmp_swp(x, MLX5_RKEY, MLX5_REMOTE, MLX5_COMPARE_ADD, MLX5_SWAP);
		break;
	default:
		ibv_wr_atomic_fetch_add(x, MLX5_RKEY, MLX5_REMOTE, MLX5_COMPARE_ADD);
	}
}

static void build_new(const struct ibv_send_wr *wr, enum mlx5_way way)
{
	struct ibv_qp_ex *x = &qp.verbs_qp.qp_ex;
	struct ibv_data_buf bufs[3];

	ibv_wr_start(x);
	x->wr_flags = wr->send_flags & ~(unsigned)IBV_SEND_INLINE;
	build_opcode(x, wr->opcode);
	for (int i = 0; i < wr->num_sge; i++)
		bufs[i] = (struct ibv_data_buf){(void *)(uintptr_t)wr->sg_list[i].addr,
						wr->sg_list[i].length};
	if (wr->send_flags & IBV_SEND_INLINE)
		ibv_wr_set_inline_data_list(x, wr->num_sge, bufs);
	else
		ibv_wr_set_sge_list(x, wr->num_sge, wr->sg_list);
	if (qp.ibv_qp->qp_type == IBV_QPT_UD)
		ibv_wr_set_ud_addr(x, ahs[way], MLX5_DQPN, MLX5_QKEY);
	else if (qp.ibv_qp->qp_type == IBV_QPT_XRC_SEND)
		ibv_wr_set_xrc_srqn(x, MLX5_SRQN);
	else if (qp.ibv_qp->qp_type == IBV_QPT_DRIVER)
		qp.dv_qp.wr_set_dc_addr_stream(&qp.dv_qp, ahs[way], MLX5_DQPN, MLX5_DC_KEY,
					       MLX5_DC_STREAM);
	if (ibv_wr_complete(x))
		exit(3);
}

static void record_send(enum ibv_wr_opcode opcode, enum mlx5_data data, bool is_new, int number)
{
	enum ibv_qp_type type = qp.ibv_qp->qp_type;
	enum mlx5_way way = number % 3;
	/* A signature is over memory as it lies there: what goes beyond the end has none. */
	uint16_t index = (uint16_t)(qp.wq_sig ? 0xfff0 : 0xffe0 + number);
	struct ibv_sge sge[3];
	struct ibv_send_wr wr = {.sg_list = sge,
				 .num_sge = fill_sges(sge, data),
				 .opcode = opcode,
				 .imm_data = htobe32(MLX5_IMM)};

	if (opcode == IBV_WR_SEND_WITH_INV)
		wr.invalidate_rkey = MLX5_INV_RKEY;
	wr.send_flags = (number & 1 ? IBV_SEND_SIGNALED : 0) | (number & 2 ? IBV_SEND_FENCE : 0) |
			(number & 4 ? IBV_SEND_SOLICITED : 0) |
			(data >= INLINE_SHORT ? IBV_SEND_INLINE : 0);
	for (int round = 0; round < 2; round++) {
		memcpy(other, ring, sizeof ring);
		memset(ring, qp.wq_sig ? 0 : round ? 0xee : 0x11, sizeof ring);
		qp.sq.cur_post = index;
		if (is_new)
			build_new(&wr, way);
		else
			post_old(&wr, way);
	}

	uint8_t *ctrl = ring + index % BLOCKS * MLX5_SEND_WQE_BB;
	uint32_t ds = be32toh(((struct mlx5_wqe_ctrl_seg *)ctrl)->qpn_ds) & 0x3f;

	printf("SEND_VECTOR(%s, %s, %s, %s, 0x%x, 0x%04x, %d,\n            ", type_names[type],
	       opcode_names[opcode], data_names[data], way_names[way],
	       wr.send_flags & (IBV_SEND_SIGNALED | IBV_SEND_FENCE | IBV_SEND_SOLICITED), index,
	       qp.wq_sig);
	print_bytes(ring, other, (uint32_t)(ctrl - ring), ds * 16, sizeof ring);
}

static void record_type(enum ibv_qp_type type, bool is_signed)
{
	static const enum ibv_wr_opcode all[] = {IBV_WR_SEND,
						 IBV_WR_SEND_WITH_IMM,
						 IBV_WR_RDMA_WRITE,
						 IBV_WR_RDMA_WRITE_WITH_IMM,
						 IBV_WR_SEND_WITH_INV,
						 IBV_WR_RDMA_READ,
						 IBV_WR_ATOMIC_CMP_AND_SWP,
						 IBV_WR_ATOMIC_FETCH_AND_ADD};
	size_t cnt = type == IBV_QPT_UD ? 2 : type == IBV_QPT_UC ? 4 : WORDS(all);
	int number = 0;

	make_qp(type, is_signed);
	for (size_t i = 0; i < cnt; i++)
		for (int data = 0; data < MLX5_DATA; data++) {
			bool is_atomic = all[i] >= IBV_WR_ATOMIC_CMP_AND_SWP &&
					 all[i] <= IBV_WR_ATOMIC_FETCH_AND_ADD;

			number++;
			if ((is_atomic && data != ONE_SGE) ||
			    (all[i] == IBV_WR_RDMA_READ && data >= INLINE_SHORT))
				continue;
			if (type != IBV_QPT_DRIVER)
				record_send(all[i], data, false, number);
			if (type == IBV_QPT_DRIVER || type == IBV_QPT_RC)
				record_send(all[i], data, true, number);
		}
}

static void post_window(const struct mlx5_window *w, bool is_new)
{
	struct ibv_mr region = {.lkey = MLX5_WINDOW_LKEY};
	struct ibv_mw mw = {.type = (enum ibv_mw_type)w->type, .rkey = MLX5_RKEY};
	struct ibv_qp_ex *x = &qp.verbs_qp.qp_ex;
	struct ibv_send_wr *bad, wr = {.opcode = w->type ? IBV_WR_BIND_MW : IBV_WR_LOCAL_INV,
				       .send_flags = IBV_SEND_SIGNALED};
	struct ibv_mw_bind_info info = {.mr = &region,
					.addr = w->length ? MLX5_START : 0,
					.length = w->length,
					.mw_access_flags = w->access};

	if (!w->type)
		wr.invalidate_rkey = MLX5_INV_RKEY;
	wr.bind_mw.mw = &mw;
	wr.bind_mw.rkey = MLX5_NEW_RKEY;
	wr.bind_mw.bind_info = info;
	/* Binds are fenced off from what follows; here each begins anew. */
	qp.fm_cache = 0;
	if (!is_new) {
		if (mlx5_post_send(qp.ibv_qp, &wr, &bad))
			exit(6);
		return;
	}
	ibv_wr_start(x);
	x->wr_flags = IBV_SEND_SIGNALED;
	if (w->type)
		ibv_wr_bind_mw(x, &mw, MLX5_NEW_RKEY, &info);
	else
		ibv_wr_local_inv(x, MLX5_INV_RKEY);
	if (ibv_wr_complete(x))
		exit(7);
}

static void record_windows(void)
{
	make_qp(IBV_QPT_RC, false);
	for (size_t i = 0; i < WORDS(mlx5_windows) * 2; i++) {
		const struct mlx5_window *w = &mlx5_windows[i / 2];
		uint16_t index = (uint16_t)(0xffe8 + 3 * i);
		uint8_t *ctrl = ring + index % BLOCKS * MLX5_SEND_WQE_BB;

		/* ibv_wr_bind_mw() is for windows of type 2. */
		if (i % 2 && w->type == 1)
			continue;
		for (int round = 0; round < 2; round++) {
			memcpy(other, ring, sizeof ring);
			memset(ring, round ? 0xee : 0x11, sizeof ring);
			qp.sq.cur_post = index;
			post_window(w, i % 2);
		}
		printf("WINDOW_VECTOR(%zu, 0x%04x,\n              ", i / 2, index);
		print_bytes(ring, other, (uint32_t)(ctrl - ring),
			    (be32toh(((struct mlx5_wqe_ctrl_seg *)ctrl)->qpn_ds) & 0x3f) * 16,
			    sizeof ring);
	}
}

static void record_receives(bool of_srq)
{
	static uint64_t wrid[4];
	static uint8_t wqes[4 * 64];
	static __be32 record;
	struct mlx5_srq srq = {.wrid = wrid,
			       .buf = {.buf = wqes},
			       .max_gs = 3,
			       .wqe_shift = 6,
			       .tail = 3,
			       .db = &record};

	make_qp(IBV_QPT_RC, false);
	qp.buf.buf = wqes;
	qp.rq = (struct mlx5_wq){.wrid = wrid,
				 .wqe_cnt = 4,
				 .max_post = 4,
				 .max_gs = 4,
				 .qp_state_max_gs = 4,
				 .wqe_shift = 6};
	for (int data = 0; data < INLINE_SHORT - of_srq; data++) {
		struct ibv_sge sge[3];
		struct ibv_recv_wr wr = {.sg_list = sge, .num_sge = fill_sges(sge, data)}, *bad;
		uint8_t *at = wqes + data * 64 + of_srq * 16;
		uint32_t bytes = 16u * (uint32_t)(wr.num_sge - (data == EMPTY_SGE) + 1);

		for (int i = 0; of_srq && i < 4; i++)
			((struct mlx5_wqe_srq_next_seg *)(wqes + i * 64))->next_wqe_index =
			    htobe16((uint16_t)(i + 1));
		if (of_srq ? mlx5_post_srq_recv(&srq.vsrq.srq, &wr, &bad)
			   : mlx5_post_recv(qp.ibv_qp, &wr, &bad))
			exit(4);
		if (of_srq && data == THREE_SGES) /* as many as there may be: no end of the list */
			bytes -= 16;
		printf("RECEIVE_VECTOR(%s, %d, ", data_names[data], of_srq ? 48 : 64);
		print_bytes(at, at, 0, bytes, 64);
	}
}

int main(void)
{
	printf("/* SPDX-License-Identifier: BSD-2-Clause */\n"
	       "/*\n"
	       " * WQEs as rdma-core's mlx5 provider writes them, recorded by scripts/record_wqe:\n"
	       " * SEND_VECTOR(type, opcode, data, address, ibv_send_flags, index, signed, bytes) "
	       "and\n"
	       " * RECEIVE_VECTOR(data, bytes of the WQE, bytes) and WINDOW_VECTOR(number, index, "
	       "bytes). The\n * provider leaves bytes .. as they are.\n"
	       " */\n/* clang-format off */\n");
	pd.context = &context.ibv_ctx.context;
	for (size_t i = 0; i < sizeof text; i++)
		text[i] = (uint8_t)i;
	for (int way = 0; way < 3; way++)
		if (!(ahs[way] = make_ah((enum mlx5_way)way)))
			return 5;
	record_type(IBV_QPT_RC, false);
	record_type(IBV_QPT_RC, true);
	record_type(IBV_QPT_UC, false);
	record_type(IBV_QPT_UD, false);
	record_type(IBV_QPT_XRC_SEND, false);
	record_type(IBV_QPT_DRIVER, false);
	record_windows();
	record_receives(false);
	record_receives(true);
	return 0;
}
