/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many processes at once, in pairs that are connected by RC:
 *
 *   verbena run -- verbs_pairs PROCESSES
 *
 * No process goes on before all are connected, and none ends before all have exchanged their
 * messages: so all have the adapter at once. Each sends its peer a message and checks the peer's,
 * and reads how much memory it has of its own. Prints how long it took, that memory (the median and
 * the most), by how much the host's shared memory has grown, and how many different QPNs there
 * were.
 */
#include "verbs_rc.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#define BYTES 3000
#define TIMEOUT 18 /* 4.096 us * 2^18 = 1.07 s: there are few processors */

struct result {
	uint32_t qpn, slot_qps;
	unsigned long own_kib;
};

/* The parent's ends of pipes: a child writes what it has come to; all go on when @go is closed. */
struct step {
	int told[2], go[2];
};

static struct step connected, checked;

static void step_open(struct step *s)
{
	NEED(pipe(s->told) == 0 && pipe(s->go) == 0);
}

static void step_wait(const struct step *s, const struct result *r)
{
	char byte;

	NEED(write(s->told[1], r, sizeof *r) == sizeof *r);
	NEED(read(s->go[0], &byte, 1) == 0);
}

/* The parent waits for @cnt processes. */
static void step_pass(struct step *s, struct result *r, uint32_t cnt)
{
	close(s->told[1]);
	for (uint32_t i = 0; i < cnt; i++)
		NEED(read(s->told[0], &r[i], sizeof *r) == sizeof *r);
	close(s->go[1]);
}

/* Of the whole machine. */
static unsigned long read_shared_kib(void)
{
	unsigned long kib = 0;
	char line[256];
	FILE *f = fopen("/proc/meminfo", "r");

	NEED(f);
	while (fgets(line, sizeof line, f) && sscanf(line, "Shmem: %lu", &kib) != 1)
		;
	fclose(f);
	return kib;
}

static unsigned long read_own_kib(void)
{
	unsigned long sum = 0, kib;
	char line[256];
	FILE *f = fopen("/proc/self/smaps_rollup", "r");

	NEED(f);
	while (fgets(line, sizeof line, f))
		if (sscanf(line, "Private_Clean: %lu", &kib) == 1 ||
		    sscanf(line, "Private_Dirty: %lu", &kib) == 1)
			sum += kib;
	fclose(f);
	return sum;
}

static void await_completions(struct ibv_cq *cq, int cnt)
{
	while (cnt) {
		struct timespec pause = {.tv_nsec = 1000000};
		struct ibv_wc wc;
		int n = ibv_poll_cq(cq, 1, &wc);

		NEED(n >= 0);
		if (n)
			NEED(wc.status == IBV_WC_SUCCESS);
		else
			nanosleep(&pause, NULL);
		cnt -= n;
	}
}

static uint8_t pattern_at(uint32_t seed, uint32_t i)
{
	return (uint8_t)((seed + i) * 2654435761u >> 24);
}

/* Process @n, whose peer is number @n ^ 1 at the other end of @sock. */
static void run_process(uint32_t n, int sock)
{
	static uint8_t memory[2][BYTES];
	struct ibv_context *context = open_first();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_cq *cq = ibv_create_cq(context, 4, NULL, NULL, 0);
	struct ibv_mr *mr = ibv_reg_mr(pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_qp_init_attr init = {
	    .send_cq = cq,
	    .recv_cq = cq,
	    .qp_type = IBV_QPT_RC,
	    .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
	struct ibv_device_attr attr;
	struct result r;

	NEED(pd && cq && mr && ibv_query_device(context, &attr) == 0);
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	NEED(qp);
	r = (struct result){qp->qp_num, (uint32_t)attr.max_qp, 0};
	struct ibv_sge in = {(uintptr_t)memory[0], BYTES, mr->lkey};
	struct ibv_sge out = {(uintptr_t)memory[1], BYTES, mr->lkey};
	struct ibv_recv_wr recv = {.sg_list = &in, .num_sge = 1}, *bad_recv;
	struct ibv_send_wr send = {.sg_list = &out,
				   .num_sge = 1,
				   .opcode = IBV_WR_SEND,
				   .send_flags = IBV_SEND_SIGNALED},
			   *bad_send;

	for (uint32_t i = 0; i < BYTES; i++)
		memory[1][i] = pattern_at(n, i);
	rc_meet(qp, sock, TIMEOUT);
	NEED(ibv_post_recv(qp, &recv, &bad_recv) == 0);
	step_wait(&connected, &r);
	NEED(ibv_post_send(qp, &send, &bad_send) == 0);
	await_completions(cq, 2);
	for (uint32_t i = 0; i < BYTES; i++)
		NEED(memory[0][i] == pattern_at(n ^ 1, i));
	r.own_kib = read_own_kib();
	step_wait(&checked, &r);
}

static int compare_results(const void *a, const void *b)
{
	const struct result *x = a, *y = b;

	return x->own_kib < y->own_kib ? -1 : x->own_kib > y->own_kib;
}

static int compare_numbers(const void *a, const void *b)
{
	const struct result *x = a, *y = b;

	return x->qpn < y->qpn ? -1 : x->qpn > y->qpn;
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void print_results(struct result *r, uint32_t cnt, double connect_s, double all_s,
			  unsigned long shared_kib)
{
	uint32_t numbers = 1, few = 0;

	qsort(r, cnt, sizeof *r, compare_numbers);
	for (uint32_t i = 1; i < cnt; i++)
		numbers += r[i].qpn != r[i - 1].qpn;
	for (uint32_t i = 0; i < cnt; i++)
		few += r[i].slot_qps < 65000;
	qsort(r, cnt, sizeof *r, compare_results);
	printf("%u processes, %u QPNs, %u of them in narrow slots; all connected after %.2f s, all "
	       "checked after %.2f s; memory of each: median %lu KiB, most %lu KiB, and %lu KiB "
	       "shared "
	       "with the broker\n",
	       cnt, numbers, few, connect_s, all_s, r[cnt / 2].own_kib, r[cnt - 1].own_kib,
	       shared_kib / cnt);
}

int main(int argc, char **argv)
{
	uint32_t cnt = argc > 1 ? (uint32_t)atoi(argv[1]) : 0;
	struct result *r = calloc(cnt + 1, sizeof *r);
	unsigned long shared_kib = read_shared_kib();
	double begin = now_s(), connect_s;
	int status = 0, failed = 0;

	NEED(r && cnt >= 2 && cnt % 2 == 0);
	step_open(&connected);
	step_open(&checked);
	for (uint32_t i = 0; i < cnt; i += 2) {
		int sock[2];

		NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, sock) == 0);
		for (uint32_t k = 0; k < 2; k++) {
			pid_t pid = fork();

			NEED(pid >= 0);
			if (pid)
				continue;
			close(connected.go[1]);
			close(checked.go[1]);
			close(sock[!k]);
			run_process(i + k, sock[k]);
			exit(0);
		}
		close(sock[0]);
		close(sock[1]);
	}
	step_pass(&connected, r, cnt);
	connect_s = now_s() - begin;
	step_pass(&checked, r, cnt);
	shared_kib = read_shared_kib() - shared_kib;
	print_results(r, cnt, connect_s, now_s() - begin, shared_kib);
	while (wait(&status) > 0)
		failed += status != 0;
	return failed != 0;
}
