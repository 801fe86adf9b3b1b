/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Creates and destroys objects of every kind, by several threads at once, while two QPs of this
 * process exchange data; then looks whether memory and descriptors are what they were. A program of
 * libibverbs as any other: it runs on any adapter.
 *
 *   verbs_churn CYCLES [THREADS [KIND]]     CYCLES objects of all kinds in turn, or of one
 *   verbs_churn --kinds                     the names of the kinds
 *
 * Says "ok", or what was wrong. The first tenth of the cycles fills tables and caches, and counts
 * for nothing. glibc tells how much of the heap is in use; where it does not (a sanitizer's heap)
 * only descriptors are compared.
 */
#include "verbs_churn.h"

#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#define THREADS_MAX 64
#define CONTEXTS 100 /* open at once */
/* The growth that the heap in use may have: caches of the C library. */
#define HEAP_SLACK 4096
/* And descriptors: an adapter in user space may have sockets for the source ports that QPs use. */
#define DESCRIPTOR_SLACK 64

static struct ibv_context *context;

static _Atomic unsigned long next_cycle;
static unsigned long last_cycle;
static const struct kind *chosen[32]; /* in turn */
static unsigned chosen_cnt;

static void *churn(void *arg)
{
	struct base b;
	unsigned long i;

	base_open(&b, context);
	while ((i = atomic_fetch_add(&next_cycle, 1)) < last_cycle)
		chosen[i % chosen_cnt]->run(&b);
	base_close(&b);
	return arg;
}

static _Atomic bool is_over;

/* The load: messages back and forth between two QPs, each checked. */
static void *exchange(void *arg)
{
	struct base b[2];
	struct ibv_qp *qp[2];
	unsigned long *messages = arg;

	for (int i = 0; i < 2; i++) {
		base_open(&b[i], context);
		qp[i] = qp_new(&b[i], IBV_QPT_RC, NULL);
	}
	for (int i = 0; i < 2; i++)
		qp_to_rts(qp[i], qp[!i]->qp_num);
	for (*messages = 0; !is_over; ++*messages) {
		struct base *from = &b[*messages % 2], *to = &b[(*messages + 1) % 2];

		memset(from->mem + SIZE / 2, (int)(*messages & 0xff), SIZE / 2);
		post_recv(qp[to - b], NULL, to);
		post_send(qp[from - b], from, IBV_WR_SEND);
		await(to->cq, 1);
		await(from->cq, 1);
		NEED(memcmp(to->mem, from->mem + SIZE / 2, SIZE / 2) == 0);
	}
	for (int i = 0; i < 2; i++) {
		NEED(ibv_destroy_qp(qp[i]) == 0);
		base_close(&b[i]);
	}
	return NULL;
}

struct sample {
	size_t heap;
	unsigned descriptors;
	long rss_kib;
};

static struct sample sample(void)
{
	struct mallinfo2 m = mallinfo2();
	struct sample s = {.heap = m.uordblks + m.hblkhd};
	FILE *statm = fopen("/proc/self/statm", "r");
	DIR *fds = opendir("/proc/self/fd");
	long pages = 0;

	NEED(statm && fds && fscanf(statm, "%*s %ld", &pages) == 1);
	s.rss_kib = pages * sysconf(_SC_PAGESIZE) / 1024;
	while (readdir(fds))
		s.descriptors++;
	fclose(statm);
	closedir(fds);
	return s;
}

/* All open, all at work, and closed in the order of opening. */
static void many_contexts(void)
{
	static struct base b[CONTEXTS];
	static struct ibv_qp *qp[CONTEXTS];

	for (int i = 0; i < CONTEXTS; i++) {
		base_open(&b[i], open_context());
		qp[i] = qp_new(&b[i], IBV_QPT_RC, NULL);
	}
	for (int i = 0; i < CONTEXTS; i++)
		qp_to_rts(qp[i], qp[CONTEXTS - 1 - i]->qp_num);
	for (int i = 0; i < CONTEXTS; i++)
		post_recv(qp[i], NULL, &b[i]);
	for (int i = 0; i < CONTEXTS; i++)
		post_send(qp[i], &b[i], IBV_WR_SEND);
	for (int i = 0; i < CONTEXTS; i++)
		await(b[i].cq, 2);
	for (int i = 0; i < CONTEXTS; i++) {
		NEED(ibv_close_device(b[i].context) == 0);
		free(b[i].mem);
	}
}

/* Cycles up to @end on all threads, with the load beside them. */
static struct sample run(unsigned long end, unsigned thread_cnt)
{
	pthread_t load, thread[THREADS_MAX];
	unsigned long messages = 0;
	struct sample s;

	last_cycle = end;
	is_over = false;
	NEED(pthread_create(&load, NULL, exchange, &messages) == 0);
	for (unsigned i = 0; i < thread_cnt; i++)
		NEED(pthread_create(&thread[i], NULL, churn, NULL) == 0);
	for (unsigned i = 0; i < thread_cnt; i++)
		pthread_join(thread[i], NULL);
	next_cycle = end; /* each thread has taken one more */
	is_over = true;
	pthread_join(load, NULL);
	many_contexts();
	s = sample();
	printf(
	    "%lu cycles: %lu messages beside them, heap %zu bytes, %u descriptors, RSS %ld KiB\n",
	    end, messages, s.heap, s.descriptors, s.rss_kib);
	return s;
}

static void print_kinds(FILE *f)
{
	for (unsigned i = 0; i < kind_cnt; i++) {
		if (!kinds[i].is_there || kinds[i].is_there())
			fprintf(f, " %s", kinds[i].name);
	}
	fputc('\n', f);
}

int main(int argc, char **argv)
{
	unsigned long cycles = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned long threads = argc > 2 ? strtoul(argv[2], NULL, 10) : 4;

	if (argc == 2 && strcmp(argv[1], "--kinds") == 0) {
		print_kinds(stdout);
		return 0;
	}
	for (unsigned i = 0; i < kind_cnt; i++) {
		bool is_meant = argc <= 3 || strcmp(argv[3], kinds[i].name) == 0;

		if (is_meant && (!kinds[i].is_there || kinds[i].is_there()))
			chosen[chosen_cnt++] = &kinds[i];
	}
	if (cycles < 10 || threads < 1 || threads > THREADS_MAX || !chosen_cnt) {
		fprintf(stderr,
			"usage: verbs_churn CYCLES [THREADS [KIND]]; at least 10 cycles, at most "
			"%d threads; kinds:",
			THREADS_MAX);
		print_kinds(stderr);
		return 2;
	}

	struct ibv_device **list;

	/* How many arenas threads find for themselves is chance, and each counts as in use. */
	mallopt(M_ARENA_MAX, 1);
	context = choose_device(&list);
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	puts("warming up"); /* which takes a buffer */

	struct sample before = run(cycles / 10, (unsigned)threads);
	struct sample after = run(cycles, (unsigned)threads);

	if (after.heap > before.heap + HEAP_SLACK ||
	    after.descriptors > before.descriptors + DESCRIPTOR_SLACK) {
		fprintf(stderr, "it has grown\n");
		return 1;
	}
	NEED(ibv_close_device(context) == 0);
	ibv_free_device_list(list);
	puts("ok");
	return 0;
}
