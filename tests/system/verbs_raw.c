/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two processes that write 8 bytes to each other in turns, linked with rdma-core's libmlx5: by
 * WQEs that they write into their queues themselves, or with "verbs" by ibv_post_send(). Both wait
 * by looking at their memory. Prints the median of half a round trip and the worst of 99 % in
 * microseconds.
 *
 *   verbs_raw raw|verbs ROUNDS     latency
 *   verbs_raw hold                 posts a little, prints "QPN", and ends with its input
 *   verbs_raw hold compressed      the same, and a block of compressed entries waits to be read
 */
#include "verbs_rc.h"

#include <infiniband/mlx5dv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#define BATCH 32

struct end {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint64_t *mem; /* [0] is what the peer writes, [8] what is sent */
	uint64_t remote;
	uint32_t rkey;
	struct mlx5dv_qp dq;
	struct mlx5dv_cq dc;
	uint16_t posted;
	uint32_t read, bf;
};

static struct ibv_cq *new_cq(struct ibv_context *context, bool compressed)
{
	struct ibv_cq_init_attr_ex attr = {.cqe = 128};
	struct mlx5dv_cq_init_attr dv = {.comp_mask = MLX5DV_CQ_INIT_ATTR_MASK_COMPRESSED_CQE,
					 .cqe_comp_res_format = MLX5DV_CQE_RES_FORMAT_HASH};
	struct ibv_cq_ex *cq;

	if (!compressed)
		return ibv_create_cq(context, 128, NULL, NULL, 0);
	cq = mlx5dv_create_cq(context, &attr, &dv);
	return cq ? ibv_cq_ex_to_cq(cq) : NULL;
}

static void open_end(struct end *e, int sock, bool compressed)
{
	struct ibv_qp_init_attr init = {.cap = {.max_send_wr = 128,
						.max_recv_wr = 8,
						.max_send_sge = 1,
						.max_recv_sge = 1,
						.max_inline_data = 64},
					.qp_type = IBV_QPT_RC};
	struct {
		uint64_t addr;
		uint32_t rkey;
	} own, peer;

	e->context = open_first();
	e->pd = ibv_alloc_pd(e->context);
	e->cq = new_cq(e->context, compressed);
	e->mem = aligned_alloc(4096, 4096);
	memset(e->mem, 0, 4096);
	e->mr = ibv_reg_mr(e->pd, e->mem, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	init.send_cq = init.recv_cq = e->cq;
	e->qp = ibv_create_qp(e->pd, &init);
	NEED(e->pd && e->cq && e->mr && e->qp);
	own.addr = (uintptr_t)e->mem;
	own.rkey = e->mr->rkey;
	NEED(write(sock, &own, sizeof own) == sizeof own);
	NEED(read(sock, &peer, sizeof peer) == sizeof peer);
	e->remote = peer.addr;
	e->rkey = peer.rkey;
	rc_meet(e->qp, sock, 14);
	NEED(ibv_modify_qp(e->qp, &(struct ibv_qp_attr){.qp_access_flags = IBV_ACCESS_REMOTE_WRITE},
			   IBV_QP_ACCESS_FLAGS) == 0);
}

static void show_queues(struct end *e)
{
	struct mlx5dv_obj obj = {.qp = {e->qp, &e->dq}, .cq = {e->cq, &e->dc}};

	NEED(mlx5dv_is_supported(e->context->device));
	NEED(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ) == 0);
}

/* Takes the entries that are there. */
static void reap_raw(struct end *e)
{
	for (;;) {
		struct mlx5_cqe64 *c =
		    (struct mlx5_cqe64 *)e->dc.buf + (e->read & (e->dc.cqe_cnt - 1));
		uint8_t last = __atomic_load_n(&c->op_own, __ATOMIC_ACQUIRE);

		if ((last & 1) != !!(e->read & e->dc.cqe_cnt) || last >> 4 == MLX5_CQE_INVALID)
			return;
		NEED(last >> 4 == MLX5_CQE_REQ);
		e->read++;
		__atomic_store_n(e->dc.dbrec, htobe32(e->read & 0xffffff), __ATOMIC_RELEASE);
	}
}

static void put_write(struct end *e, uint64_t value, bool signaled)
{
	struct mlx5_wqe_ctrl_seg *ctrl =
	    (void *)((uint8_t *)e->dq.sq.buf + (e->posted & (e->dq.sq.wqe_cnt - 1)) * 64u);
	struct mlx5_wqe_raddr_seg *raddr = (void *)(ctrl + 1);
	struct mlx5_wqe_inl_data_seg *data = (void *)(raddr + 1);

	mlx5dv_set_ctrl_seg(ctrl, e->posted, MLX5_OPCODE_RDMA_WRITE, 0, e->qp->qp_num,
			    signaled ? MLX5_WQE_CTRL_CQ_UPDATE : 0, 3, 0, 0);
	raddr->raddr = htobe64(e->remote);
	raddr->rkey = htobe32(e->rkey);
	raddr->reserved = 0;
	data->byte_count = htobe32(8 | MLX5_INLINE_SEG);
	memcpy(data + 1, &value, 8);
	e->posted++;
}

static void ring_bell(struct end *e)
{
	uint64_t word;

	__atomic_store_n(&e->dq.dbrec[1], htobe32(e->posted), __ATOMIC_RELEASE);
	memcpy(&word,
	       (uint8_t *)e->dq.sq.buf + ((uint16_t)(e->posted - 1) & (e->dq.sq.wqe_cnt - 1)) * 64u,
	       8);
	__atomic_store_n((uint64_t *)(void *)((uint8_t *)e->dq.bf.reg + e->bf), word,
			 __ATOMIC_RELEASE);
	e->bf ^= e->dq.bf.size;
}

static void write_raw(struct end *e, uint64_t value)
{
	put_write(e, value, e->posted % BATCH == 0);
	ring_bell(e);
}

static bool has_block(const struct end *e)
{
	const struct mlx5_cqe64 *c = e->dc.buf;

	for (uint32_t i = 0; i < e->dc.cqe_cnt; i++)
		if ((__atomic_load_n(&c[i].op_own, __ATOMIC_ACQUIRE) >> 2 & 3) == 3)
			return true;
	return false;
}

/* Completions that come at once are compressed. */
static void make_block(struct end *e)
{
	for (int burst = 0; burst < 12 && !has_block(e); burst++) {
		for (uint64_t i = 0; i < 10; i++)
			put_write(e, i, true);
		ring_bell(e);
		for (int i = 0; i < 100 && !has_block(e); i++)
			usleep(1000);
	}
	NEED(has_block(e));
}

static void write_by_verbs(struct end *e, uint64_t value)
{
	struct ibv_sge sge = {.addr = (uintptr_t)&value, .length = 8};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_INLINE |
					       (e->posted % BATCH == 0 ? IBV_SEND_SIGNALED : 0u),
				 .wr.rdma = {e->remote, e->rkey}},
			   *bad;

	NEED(ibv_post_send(e->qp, &wr, &bad) == 0);
	e->posted++;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void play(struct end *e, bool raw, bool first, unsigned rounds)
{
	double *took = calloc(rounds, sizeof *took);
	struct ibv_wc wc;

	for (uint64_t i = 1; i <= rounds; i++) {
		double from = now_us();

		if (first && raw)
			write_raw(e, i);
		else if (first)
			write_by_verbs(e, i);
		while (__atomic_load_n(&e->mem[0], __ATOMIC_ACQUIRE) != i)
			if (!raw)
				NEED(ibv_poll_cq(e->cq, 1, &wc) <= 0 ||
				     wc.status == IBV_WC_SUCCESS);
		if (!first && raw)
			write_raw(e, i);
		else if (!first)
			write_by_verbs(e, i);
		if (raw)
			reap_raw(e);
		took[i - 1] = (now_us() - from) / 2;
	}
	if (first) {
		qsort(took, rounds, sizeof *took, compare);
		printf("%s: median %.2f us, 99 %% %.2f us\n", raw ? "raw" : "verbs",
		       took[rounds / 2], took[rounds / 100 * 99]);
	}
	free(took);
}

int main(int argc, char **argv)
{
	bool compressed = argc == 3 && strcmp(argv[2], "compressed") == 0;
	bool hold = (argc == 2 || compressed) && strcmp(argv[1], "hold") == 0;
	bool raw = hold || (argc == 3 && strcmp(argv[1], "raw") == 0);
	struct end e = {.posted = 0};
	int sock[2], status = 0;
	char c;

	NEED(hold || raw || (argc == 3 && strcmp(argv[1], "verbs") == 0));
	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, sock) == 0);

	pid_t child = fork();
	int own = sock[child == 0];

	NEED(child >= 0);
	close(sock[child != 0]);
	open_end(&e, own, compressed);
	if (raw)
		show_queues(&e);
	NEED(write(own, "x", 1) == 1 && read(own, &c, 1) == 1);
	if (!compressed)
		play(&e, raw, child != 0, hold ? 3 : (unsigned)atoi(argv[2]));
	else if (child)
		make_block(&e);
	if (hold && child) {
		printf("0x%06x\n", e.qp->qp_num);
		fflush(stdout);
		while (read(0, &c, 1) > 0)
			;
	}
	/* Nobody goes while the other one waits for an answer. */
	NEED(write(own, "x", 1) == 1 && read(own, &c, 1) == 1);
	if (child) {
		NEED(waitpid(child, &status, 0) == child && status == 0);
		puts("ok");
	}
	return 0;
}
