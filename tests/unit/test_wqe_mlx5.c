/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work queue elements as rdma-core's mlx5 provider writes them, recorded from it by
 * scripts/record_wqe: src/wqe writes the same bytes, and reads them as what was posted, whatever
 * stands where the provider writes nothing.
 */
#include "cmocka_env.h"
#include "wire/path.h"
#include "wqe/wqe.h"

#include "../data/mlx5/values.h"

#include <stdio.h>
#include <string.h>

struct send_vector {
	enum vb_qp_type type;
	enum vb_wr_opcode opcode;
	enum mlx5_data data;
	enum mlx5_way way;
	uint32_t flags; /* of ibv_send_flags, which are ours as well */
	uint16_t index;
	bool is_signed;
	const char *bytes;
};

static const struct send_vector sends[] = {
#define SEND_VECTOR(type, opcode, data, way, flags, index, is_signed, bytes)                       \
	{VB_QPT_##type, VB_WR_##opcode, data, way, flags, index, is_signed, bytes},
#define RECEIVE_VECTOR(data, room, bytes)
#define WINDOW_VECTOR(number, index, bytes)
#include "../data/mlx5/vectors.h"
#undef SEND_VECTOR
#undef RECEIVE_VECTOR
#undef WINDOW_VECTOR
};

static const struct {
	enum mlx5_data data;
	uint32_t room;
	const char *bytes;
} receives[] = {
#define SEND_VECTOR(type, opcode, data, way, flags, index, is_signed, bytes)
#define RECEIVE_VECTOR(data, room, bytes) {data, room, bytes},
#define WINDOW_VECTOR(number, index, bytes)
#include "../data/mlx5/vectors.h"
#undef SEND_VECTOR
#undef RECEIVE_VECTOR
#undef WINDOW_VECTOR
};

static const struct {
	uint32_t number; /* of mlx5_windows */
	uint16_t index;
	const char *bytes;
} windows[] = {
#define SEND_VECTOR(type, opcode, data, way, flags, index, is_signed, bytes)
#define RECEIVE_VECTOR(data, room, bytes)
#define WINDOW_VECTOR(number, index, bytes) {number, index, bytes},
#include "../data/mlx5/vectors.h"
#undef SEND_VECTOR
#undef RECEIVE_VECTOR
#undef WINDOW_VECTOR
};

static uint8_t text[MLX5_LONG_BYTES];

/* The bytes of a vector, with @ground where the provider writes nothing. Returns how many. */
static uint32_t vector_bytes(const char *hex, uint8_t ground, uint8_t *to)
{
	uint32_t cnt = (uint32_t)strlen(hex) / 2;

	for (uint32_t i = 0; i < cnt; i++) {
		unsigned byte = ground;

		if (hex[2 * i] != '.')
			assert_int_equal(sscanf(hex + (size_t)2 * i, "%2x", &byte), 1);
		to[i] = (uint8_t)byte;
	}
	return cnt;
}

static void check_bytes(const char *hex, const uint8_t *ours)
{
	for (uint32_t i = 0; hex[2 * i]; i++) {
		char two[3];

		snprintf(two, sizeof two, "%02x", ours[i]);
		if (hex[2 * i] != '.' && memcmp(two, hex + (size_t)2 * i, 2) != 0)
			fail_msg("byte %u is %s, and the provider's %.2s, of %s", i, two,
				 hex + (size_t)2 * i, hex);
	}
}

static uint32_t fill_sges(enum mlx5_data data, struct vb_sge *sge)
{
	uint32_t bytes = data == INLINE_SHORT ? MLX5_SHORT_BYTES : MLX5_LONG_BYTES;

	if (data >= INLINE_SHORT) {
		sge[0] = (struct vb_sge){(uintptr_t)text, bytes - 1, 0};
		sge[1] = (struct vb_sge){(uintptr_t)text + bytes - 1, 1, 0};
		return 2;
	}
	for (int i = 0; i < 3; i++)
		sge[i] = (struct vb_sge){mlx5_sges[i].addr, mlx5_sges[i].length, mlx5_sges[i].lkey};
	if (data == EMPTY_SGE)
		sge[1].length = 0;
	return data == ONE_SGE ? 1 : 3;
}

static struct vb_av address_of(enum mlx5_way way)
{
	struct vb_av av = {
	    .extended = true, .dlid = MLX5_DLID, .sl = MLX5_SL, .path_bits = MLX5_PATH_BITS};

	if (way == TO_SUBNET)
		return av;
	av.grh = way == TO_ROUTER;
	av.flow_label = MLX5_FLOW;
	av.traffic_class = MLX5_TCLASS;
	av.hop_limit = MLX5_HOPS;
	av.sgid_index = MLX5_SGID_INDEX;
	memcpy(av.dgid.b, mlx5_dgid, sizeof mlx5_dgid);
	if (way == TO_ROCE) {
		av.sl = (MLX5_SL & 7) << 1;
		av.path_bits = 0;
		av.dlid = vb_udp_sport(MLX5_FLOW, 0, 0);
		memcpy(av.mac, mlx5_mac, sizeof mlx5_mac);
	}
	return av;
}

static struct vb_send_wr work_of(const struct send_vector *v, struct vb_sge *sge)
{
	struct vb_send_wr wr = {.sge = sge,
				.sge_cnt = fill_sges(v->data, sge),
				.opcode = v->opcode,
				.inv_rkey = MLX5_INV_RKEY,
				.remote_addr = MLX5_REMOTE,
				.rkey = MLX5_RKEY,
				.compare_add = MLX5_COMPARE_ADD,
				.swap = MLX5_SWAP,
				.dqpn = MLX5_DQPN,
				.qkey = MLX5_QKEY,
				.srqn = MLX5_SRQN,
				.dc_key = MLX5_DC_KEY,
				.dc_stream = MLX5_DC_STREAM};
	const uint8_t imm[4] = {MLX5_IMM >> 24, MLX5_IMM >> 16 & 0xff, MLX5_IMM >> 8 & 0xff,
				MLX5_IMM & 0xff};

	memcpy(&wr.imm, imm, sizeof imm);
	wr.flags = v->flags | (v->data >= INLINE_SHORT ? VB_SEND_INLINE : 0u);
	return wr;
}

/* The bytes as they were recorded, read and written again. */
static void check_read(const struct send_vector *v, const struct vb_wqe_queue *q, uint8_t ground)
{
	static _Alignas(16) uint8_t theirs[VB_WQE_BYTES_MAX], again[VB_WQE_BYTES_MAX];
	struct vb_wqe_send got;
	uint32_t bytes = vector_bytes(v->bytes, ground, theirs);
	uint32_t blocks = (bytes + VB_WQE_BLOCK - 1) / VB_WQE_BLOCK;

	assert_int_equal(vb_wqe_blocks(theirs), blocks);
	assert_true(vb_wqe_read(q, theirs, blocks, v->index, &got));
	assert_int_equal(got.wr.opcode, v->opcode);
	assert_int_equal(vb_wqe_write(q, &got.wr, got.has_av ? &got.av : NULL, v->index, again),
			 blocks);
	check_bytes(v->bytes, again);
}

/* IBT-38 IBT-39 IBT-40 IBT-41 IBT-42 */
static void wqe__is_the_providers(void **state)
{
	static _Alignas(16) uint8_t ours[VB_WQE_BYTES_MAX];
	size_t cnt = sizeof sends / sizeof sends[0];

	(void)state;
	for (size_t i = 0; i < cnt; i++) {
		const struct send_vector *v = &sends[i];
		const struct vb_wqe_queue q = {v->type, MLX5_QPN, v->is_signed};
		struct vb_sge sge[3];
		struct vb_send_wr wr = work_of(v, sge);
		struct vb_av av = address_of(v->way);

		memset(ours, 0x55, sizeof ours);
		assert_int_equal(vb_wqe_write(&q, &wr, &av, v->index, ours),
				 (strlen(v->bytes) / 2 + VB_WQE_BLOCK - 1) / VB_WQE_BLOCK);
		check_bytes(v->bytes, ours);
		check_read(v, &q, 0);
		check_read(v, &q, 0xee);
	}
	assert_true(cnt >= 60);
}

static struct vb_send_wr bind_of(const struct mlx5_window *w)
{
	struct vb_send_wr wr = {.opcode = w->type ? VB_WR_BIND_MW : VB_WR_LOCAL_INV,
				.flags = VB_SEND_SIGNALED,
				.inv_rkey = w->type ? MLX5_RKEY : MLX5_INV_RKEY};

	if (!w->type)
		return wr;
	wr.rkey = MLX5_RKEY;
	wr.imm = w->length ? MLX5_WINDOW_LKEY : 0;
	wr.remote_addr = w->length ? MLX5_START : 0;
	wr.swap = w->length;
	wr.compare_add =
	    (uint64_t)w->access << 32 | vb_mw_bind_key((uint8_t)w->type, (uint8_t)MLX5_NEW_RKEY);
	return wr;
}

/* Memory windows, whatever stands where the provider writes nothing. */
static void window__is_the_providers(void **state)
{
	static _Alignas(16) uint8_t ours[VB_WQE_BYTES_MAX], theirs[VB_WQE_BYTES_MAX];
	const struct vb_wqe_queue q = {VB_QPT_RC, MLX5_QPN, false};

	(void)state;
	for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
		struct vb_send_wr wr = bind_of(&mlx5_windows[windows[i].number]);
		uint32_t blocks = (uint32_t)strlen(windows[i].bytes) / 2 / VB_WQE_BLOCK;

		assert_int_equal(vb_wqe_write(&q, &wr, NULL, windows[i].index, ours), blocks);
		check_bytes(windows[i].bytes, ours);
		for (unsigned ground = 0; ground < 256; ground++) {
			struct vb_wqe_send got;

			(void)vector_bytes(windows[i].bytes, (uint8_t)ground, theirs);
			assert_true(vb_wqe_read(&q, theirs, blocks, windows[i].index, &got));
			assert_int_equal(got.wr.opcode, wr.opcode);
			assert_int_equal(got.wr.inv_rkey, wr.inv_rkey);
			assert_int_equal(got.wr.rkey, wr.rkey);
			assert_int_equal(got.wr.remote_addr, wr.remote_addr);
			assert_int_equal(got.wr.swap, wr.swap);
			assert_int_equal(got.wr.compare_add, wr.compare_add);
			if (wr.opcode == VB_WR_BIND_MW)
				assert_int_equal(got.wr.imm, wr.imm);
		}
	}
	assert_true(sizeof windows / sizeof windows[0] >= 12);
}

/* IBT-43 */
static void receive__is_the_providers(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof receives / sizeof receives[0]; i++) {
		uint8_t ours[64] = {0}, theirs[64] = {0};
		struct vb_sge sge[3], got[4];
		uint32_t cnt = fill_sges(receives[i].data, sge), used = 0;

		vb_wqe_write_receive(ours, receives[i].room, sge, cnt);
		check_bytes(receives[i].bytes, ours);
		vector_bytes(receives[i].bytes, 0, theirs);
		for (uint32_t k = 0; k < cnt; k++)
			if (sge[k].length)
				sge[used++] = sge[k];
		assert_int_equal(vb_wqe_read_receive(theirs, receives[i].room, got, 4), used);
		assert_memory_equal(got, sge, used * sizeof *sge);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(wqe__is_the_providers),
					   cmocka_unit_test(window__is_the_providers),
					   cmocka_unit_test(receive__is_the_providers)};

	for (size_t i = 0; i < sizeof text; i++)
		text[i] = (uint8_t)i;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
