/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The progress thread's cost to a program that has an open adapter, a QP and nothing to do: the
 * CPU time of every thread but the main one over some seconds, in percent of one core.
 *
 *   verbena run -- idle_thread DEVICE [SECONDS]
 */
#include "bench.h"

#include <dirent.h>
#include <infiniband/verbs.h>

/* CPU time of the process's threads but the main one, ns, and their number. */
static uint64_t others_cpu(unsigned *threads)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *entry;
	uint64_t sum = 0;

	bench_check(d != NULL, "/proc/self/task");
	*threads = 0;
	while ((entry = readdir(d)) != NULL) {
		char path[300];
		unsigned long long ns = 0;
		FILE *f;

		if (entry->d_name[0] == '.' || atoi(entry->d_name) == getpid())
			continue;
		snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", entry->d_name);
		f = fopen(path, "re");
		if (f == NULL)
			continue;
		if (fscanf(f, "%llu", &ns) == 1) {
			sum += ns;
			++*threads;
		}
		fclose(f);
	}
	closedir(d);
	return sum;
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	bench_check(list != NULL, "ibv_get_device_list");
	for (int i = 0; list[i] != NULL; i++)
		if (strcmp(ibv_get_device_name(list[i]), name) == 0) {
			struct ibv_context *ctx = ibv_open_device(list[i]);

			bench_check(ctx != NULL, "ibv_open_device");
			ibv_free_device_list(list);
			return ctx;
		}
	fprintf(stderr, "idle_thread: no device %s\n", name);
	exit(1);
}

int main(int argc, char **argv)
{
	uint64_t seconds = bench_number(argc, argv, 2, 5), start, cpu;
	unsigned threads;

	if (argc < 2) {
		fprintf(stderr, "usage: idle_thread DEVICE [SECONDS]\n");
		return 2;
	}

	struct ibv_context *ctx = open_device(argv[1]);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {
	    .send_cq = cq,
	    .recv_cq = cq,
	    .cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1},
	    .qp_type = IBV_QPT_RC};

	bench_check(pd != NULL && cq != NULL, "ibv_create_cq");
	bench_check(ibv_create_qp(pd, &init) != NULL, "ibv_create_qp");
	sleep(1);
	start = bench_now();
	cpu = others_cpu(&threads);
	sleep((unsigned)seconds);
	cpu = others_cpu(&threads) - cpu;
	printf("%u threads, %.4f %% of a core\n", threads,
	       (double)cpu * 100 / (double)(bench_now() - start));
	return 0;
}
