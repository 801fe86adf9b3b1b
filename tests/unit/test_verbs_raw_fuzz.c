/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queues in memory whose bytes are anything: WQEs, receives, doorbell records and doorbells of
 * living QPs are written at random, some of them nearly right, and the adapter reads them. It does
 * not crash, completes nothing of other QPs, writes nothing outside of the region whose keys the
 * WQEs have, and serves queues made after that as ever.
 *
 *   test_verbs_raw_fuzz [SECONDS [SEED]]
 */
#include "base/rng.h"
#include "raw_env.h"

#define GUARD 65536u /* bytes before and behind the region */
#define REGION 4096u
#define GROUND 0x5a
#define STEPS 4 /* of a pair */
#define WINDOWS 4

static struct raw_end a, b;
static struct vb_rng rng;
static struct ibv_mr *region;
static struct ibv_mw *window[WINDOWS];
static uint64_t seconds = 3, seed;
static uint64_t wqe_cnt, good_cnt, pair_cnt;

static uint32_t draw(uint32_t bound)
{
	return vb_rng_below(&rng, bound);
}

static void draw_bytes(void *to, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		((uint8_t *)to)[i] = (uint8_t)vb_rng_next(&rng);
}

/* In the region, or a little beside it. */
static uint64_t draw_address(void)
{
	return (uintptr_t)buf + GUARD - 256 + draw(REGION + 512);
}

static uint32_t draw_length(void)
{
	static const uint32_t bound[] = {9, 100, REGION, 20 * REGION, UINT32_MAX};

	return draw(bound[draw(5)]);
}

/* The region's, or a window's with one of the keys that it may have. */
static uint32_t draw_rkey(void)
{
	return draw(3) ? region->rkey : (window[draw(WINDOWS)]->rkey & ~0xffu) | draw(4);
}

/* A unit of 16 bytes as a remote address, as a data segment, as inline data, or as it is. */
static void put_right(uint8_t *unit)
{
	struct mlx5_wqe_raddr_seg raddr = {.raddr = htobe64(draw_address()),
					   .rkey = htobe32(draw_rkey())};
	uint32_t in = htobe32(MLX5_INLINE_SEG | draw(80));

	switch (draw(4)) {
	case 0:
		memcpy(unit, &raddr, sizeof raddr);
		break;
	case 1:
		mlx5dv_set_data_seg((void *)unit, draw_length(), region->lkey, draw_address());
		break;
	case 2:
		memcpy(unit, &in, sizeof in);
		break;
	default:
		break;
	}
}

/* A WRITE or a READ inside of the region, so that what is wrong comes in the middle of good work.
 */
static void put_good(struct raw_end *r)
{
	struct mlx5_wqe_raddr_seg *raddr;

	raw_begin(r);
	raddr = raw_add(r, sizeof *raddr);
	raddr->raddr = htobe64((uintptr_t)buf + GUARD + draw(REGION / 2));
	raddr->rkey = htobe32(region->rkey);
	mlx5dv_set_data_seg(raw_add(r, 16), 1 + draw(REGION / 2), region->lkey,
			    (uintptr_t)buf + GUARD + draw(REGION / 2));
	raw_put(r, draw(2) ? MLX5_OPCODE_RDMA_WRITE : MLX5_OPCODE_RDMA_READ,
		MLX5_WQE_CTRL_CQ_UPDATE, 0);
}

/* Binds or frees a window, in the region or a little beside it; one byte of four such may be
 * anything. */
static void put_window(struct raw_end *r)
{
	struct ibv_mw *mw = window[draw(WINDOWS)];
	struct ibv_sge range = {draw_address(), draw(3) ? 1 + draw(300) : 0, region->lkey};

	raw_begin(r);
	raw_window(r, mw->type, (uint8_t)draw(4), &range, (uint8_t)(draw(16) << 3));
	if (draw(4) == 0)
		r->wqe[16 + draw(r->at - 16)] = (uint8_t)draw(256);
	raw_put(r, MLX5_OPCODE_UMR, MLX5_WQE_CTRL_CQ_UPDATE,
		htobe32((mw->rkey & ~0xffu) | draw(4)));
}

static void put_any(struct raw_end *r)
{
	static const uint8_t opcodes[] = {MLX5_OPCODE_NOP,        MLX5_OPCODE_SEND_INVAL,
					  MLX5_OPCODE_RDMA_WRITE, MLX5_OPCODE_RDMA_WRITE_IMM,
					  MLX5_OPCODE_SEND,       MLX5_OPCODE_SEND_IMM,
					  MLX5_OPCODE_RDMA_READ,  MLX5_OPCODE_ATOMIC_CS,
					  MLX5_OPCODE_ATOMIC_FA,  MLX5_OPCODE_UMR};
	uint32_t units = 1 + draw(16), blocks = (units + 3) / 4, mask = r->qp.sq.wqe_cnt - 1;
	uint8_t wqe[256];

	draw_bytes(wqe, sizeof wqe);
	for (uint32_t i = 1; i < units; i++)
		put_right(wqe + (size_t)16 * i);
	if (draw(8))
		mlx5dv_set_ctrl_seg((void *)wqe, r->sent, opcodes[draw(sizeof opcodes)], 0,
				    r->end.qp->qp_num, (uint8_t)draw(256), (uint8_t)units, 0,
				    draw(UINT32_MAX));
	for (uint32_t i = 0; i < blocks; i++)
		memcpy((uint8_t *)r->qp.sq.buf + ((r->sent + i) & mask) * 64u, wqe + i * 64u, 64);
	memcpy(r->wqe, wqe, sizeof wqe);
	r->sent = (uint16_t)(r->sent + blocks);
}

static void put_receives(struct raw_end *r)
{
	uint8_t *queue = r->qp.rq.buf;

	draw_bytes(queue, (size_t)r->qp.rq.wqe_cnt * r->qp.rq.stride);
	for (uint32_t i = 0; i < r->qp.rq.wqe_cnt * r->qp.rq.stride; i += 16)
		put_right(queue + i);
	r->received = (uint16_t)(r->received + draw(5));
	__atomic_store_n(&r->qp.dbrec[0],
			 draw(10) ? htobe32(r->received) : (uint32_t)vb_rng_next(&rng),
			 __ATOMIC_RELEASE);
}

/* The doorbell record and the doorbell: right, or anything; and what the CQ is told. */
static void ring_any(struct raw_end *r)
{
	uint64_t word = vb_rng_next(&rng);

	raw_ring(r);
	if (draw(10) == 0)
		__atomic_store_n(&r->qp.dbrec[1], (uint32_t)word, __ATOMIC_RELEASE);
	if (draw(4) == 0)
		__atomic_store_n((uint64_t *)(void *)((uint8_t *)r->qp.bf.reg + 8 * draw(32)), word,
				 __ATOMIC_RELEASE);
	if (draw(20) == 0)
		__atomic_store_n(&r->cq.dbrec[draw(2)], (uint32_t)word, __ATOMIC_RELEASE);
}

static void check_entries(const struct raw_end *r)
{
	struct ibv_wc wc[8];
	int cnt = ibv_poll_cq(r->end.cq, 8, wc);

	for (int i = 0; i < cnt; i++) {
		assert_int_equal(wc[i].qp_num, r->end.qp->qp_num);
		assert_true(wc[i].status <= IBV_WC_GENERAL_ERR);
		good_cnt += wc[i].status == IBV_WC_SUCCESS;
	}
}

static void check_guards(void)
{
	static uint8_t ground[GUARD];

	memset(ground, GROUND, sizeof ground);
	assert_memory_equal(buf, ground, GUARD);
	assert_memory_equal(buf + GUARD + REGION, ground, GUARD);
}

static void run_pair(void)
{
	static const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};

	raw_ends(&a, &b, types[pair_cnt++ % 4]);
	for (int step = 0; step < STEPS; step++) {
		put_receives(&a);
		put_receives(&b);
		for (uint32_t i = 1 + draw(6); i > 0; i--) {
			struct raw_end *r = draw(4) ? &a : &b;

			switch (draw(5)) {
			case 0:
			case 1:
				put_good(r);
				break;
			case 2:
			case 3:
				put_any(r);
				break;
			default:
				put_window(r);
			}
			wqe_cnt++;
		}
		ring_any(&a);
		ring_any(&b);
		for (uint64_t until = now_us() + 100 + draw(1000); now_us() < until;) {
			check_entries(&a);
			check_entries(&b);
		}
	}
	raw_free(&a, &b);
	check_guards();
}

static void check_service(void)
{
	uint64_t until = now_us() + 60000000;

	raw_pair(&a, &b);
	raw_begin(&a);
	raw_remote(&a, 300000);
	raw_inline(&a, &pair_cnt, sizeof pair_cnt);
	raw_post(&a, MLX5_OPCODE_RDMA_WRITE, MLX5_WQE_CTRL_CQ_UPDATE, 0);
	while (!raw_has_entry(&a))
		assert_true(now_us() < until);
	(void)raw_next_of(&a, MLX5_CQE_REQ, 0);
	assert_memory_equal(buf + 300000, &pair_cnt, sizeof pair_cnt);
	raw_free(&a, &b);
}

static void test_any_bytes(void **state)
{
	uint64_t until = now_us() + seconds * 1000000;

	(void)state;
	printf("seed %llu\n", (unsigned long long)seed);
	fflush(stdout);
	rng = vb_rng_stream(seed, "raw", 0);
	memset(buf, GROUND, 2 * GUARD + REGION);
	region = ibv_reg_mr(pd, buf + GUARD, REGION, ALL_ACCESS);
	assert_non_null(region);
	for (int i = 0; i < WINDOWS; i++) {
		window[i] = ibv_alloc_mw(pd, i % 2 ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1);
		assert_non_null(window[i]);
	}
	while (now_us() < until) {
		run_pair();
		if (pair_cnt % 16 == 0)
			check_service();
	}
	check_service();
	printf("%llu pairs, %llu WQEs, %llu completed well\n", (unsigned long long)pair_cnt,
	       (unsigned long long)wqe_cnt, (unsigned long long)good_cnt);
	/* Bytes that are always refused test nothing. */
	assert_true(good_cnt > 0);
	for (int i = 0; i < WINDOWS; i++)
		assert_int_equal(ibv_dealloc_mw(window[i]), 0);
	assert_int_equal(ibv_dereg_mr(region), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {RAW_TEST(test_any_bytes)};

	seed = argc > 2 ? strtoull(argv[2], NULL, 0) : now_us();
	if (argc > 1)
		seconds = strtoull(argv[1], NULL, 0);
	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
