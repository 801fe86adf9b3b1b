/* SPDX-License-Identifier: BSD-2-Clause */
/* The values of the recorded vectors: record.c posts work requests of them to rdma-core's provider,
 * and test_wqe_mlx5.c builds WQEs of them. */
#ifndef VB_TESTS_DATA_MLX5_VALUES_H
#define VB_TESTS_DATA_MLX5_VALUES_H

#include <stdint.h>

#define MLX5_QPN 0x123456u
#define MLX5_DQPN 0xabcdefu
#define MLX5_QKEY 0x11223344u
#define MLX5_SRQN 0x654321u
#define MLX5_DC_KEY UINT64_C(0xfedcba9876543210)
#define MLX5_DC_STREAM 0x0203u
#define MLX5_IMM 0x01020304u /* as it goes to the wire, big-endian */
#define MLX5_INV_RKEY 0xa1a2a3a4u
#define MLX5_REMOTE UINT64_C(0x123456789abcdef0)
#define MLX5_RKEY 0xdeadbeefu
#define MLX5_COMPARE_ADD UINT64_C(0x1111222233334444)
#define MLX5_SWAP UINT64_C(0x5555666677778888)

/* The address of UD and DC: in an InfiniBand subnet, through a router or not, or in RoCE v2. */
#define MLX5_DLID 0xc012u
#define MLX5_SL 5u
#define MLX5_PATH_BITS 3u
#define MLX5_FLOW 0xabcdeu
#define MLX5_SGID_INDEX 9u
#define MLX5_HOPS 33u
#define MLX5_TCLASS 0x68u
static const uint8_t mlx5_dgid[16] = {0xfe, 0x80, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
static const uint8_t mlx5_mac[6] = {2, 4, 6, 8, 10, 12};

/* The data: SGEs, of which one may be empty, or the first bytes of a text whose byte i is i. */
enum mlx5_data { ONE_SGE, THREE_SGES, EMPTY_SGE, INLINE_SHORT, INLINE_LONG, MLX5_DATA };
struct mlx5_sge {
	uint64_t addr;
	uint32_t length, lkey;
};
static const struct mlx5_sge mlx5_sges[3] = {
    {UINT64_C(0x1122334455667788), 8, 0xcafe00}, {0x99, 4096, 1}, {0xffffffffffff, 0x7fffffff, 2}};
#define MLX5_SHORT_BYTES 12u
#define MLX5_LONG_BYTES 77u

/* Memory windows that are bound, or lose their range (no bytes), or are invalidated (type 0). */
#define MLX5_NEW_RKEY 0xdeadbea5u
#define MLX5_START UINT64_C(0x1122334455667788)
#define MLX5_WINDOW_LKEY 0xcafe00u
struct mlx5_window {
	uint32_t type, length, access; /* of ibv_access_flags */
};
static const struct mlx5_window mlx5_windows[] = {
    {0, 0, 0},          {1, 0, 0},    {1, 4096, 2}, {1, 0x7fff0001, 4}, {2, 4096, 2},
    {2, 0x7fff0001, 4}, {2, 4096, 8}, {2, 1, 0x2e}, {2, 4096, 0},
};

enum mlx5_way { TO_SUBNET, TO_ROUTER, TO_ROCE };

#endif
