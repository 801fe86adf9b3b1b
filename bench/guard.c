/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cost of guarding registered memory: copies of several lengths, plain and under the guard,
 * in turn within one process. Memory is in the cache, as it is when a program has just written it;
 * of the time per copy the median of all rounds counts, and of each round the ratio of the two.
 *
 *   guard [ROUNDS]     401 when none are given
 */
#include "link/guard.h"
#include "bench.h"

#include <inttypes.h>

#define ROUNDS_MAX 10001u
#define BYTES_PER_TURN (4u << 20)
#define COPIES_MAX 20000u

struct copy {
	uint8_t *to;
	const uint8_t *from;
	size_t len;
};

static void copy_bytes(void *arg)
{
	const struct copy *c = arg;

	memcpy(c->to, c->from, c->len);
}

static int plain_run(void (*f)(void *arg), void *arg)
{
	f(arg);
	return 0;
}

/* ns for each of @cnt copies. */
static double turn(int (*run)(void (*f)(void *arg), void *arg), struct copy *c, uint32_t cnt)
{
	/* So that both are calls of what the compiler does not see into. */
	void (*volatile f)(void *arg) = copy_bytes;
	uint64_t begin = bench_now();

	for (uint32_t i = 0; i < cnt; i++)
		bench_check(run(f, c) == 0, "copy");
	return (double)(bench_now() - begin) / cnt;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, uint32_t cnt)
{
	qsort(v, cnt, sizeof *v, compare);
	return v[cnt / 2];
}

static void measure(size_t len, uint32_t rounds)
{
	static double plain[ROUNDS_MAX], guarded[ROUNDS_MAX], ratio[ROUNDS_MAX];
	static uint8_t from[64 << 10], to[64 << 10];
	struct copy c = {to, from, len};
	uint32_t cnt = (uint32_t)(BYTES_PER_TURN / len);

	cnt = cnt < COPIES_MAX ? cnt : COPIES_MAX;
	for (uint32_t i = 0; i < rounds; i++) {
		/* Which of them comes first changes, too. */
		if (i % 2)
			guarded[i] = turn(vb_guard_run, &c, cnt);
		plain[i] = turn(plain_run, &c, cnt);
		if (i % 2 == 0)
			guarded[i] = turn(vb_guard_run, &c, cnt);
		ratio[i] = guarded[i] / plain[i];
	}
	printf("%8zu %16.1f %16.1f %10.3f\n", len, median(plain, rounds), median(guarded, rounds),
	       median(ratio, rounds));
}

int main(int argc, char **argv)
{
	static const size_t lengths[] = {64, 4096, 65536};
	uint64_t rounds = bench_number(argc, argv, 1, 401);

	bench_check(rounds >= 1 && rounds <= ROUNDS_MAX, "rounds");
	bench_check(vb_guard_open() == 0, "vb_guard_open");
	printf("%8s %16s %16s %10s\n", "bytes", "plain, ns/copy", "guarded, ns/copy", "ratio");
	for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
		measure(lengths[i], (uint32_t)rounds);
	return 0;
}
