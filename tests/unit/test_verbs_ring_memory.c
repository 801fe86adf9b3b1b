/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory that queues as hardware has them are in: pages of shared chunks, which go back with
 * their last page, and which a child has none of. verbs/ring/memory.c
 */
#include "verbs/ring/ring.h"

#include "cmocka_env.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096u
#define CHUNK (2048 * PAGE)

/* How many chunks are mapped. */
static uint32_t mapped(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];
	uint32_t cnt = 0;

	assert_non_null(f);
	while (fgets(line, sizeof line, f))
		cnt += strstr(line, "verbena-queues") != NULL;
	assert_int_equal(fclose(f), 0);
	return cnt;
}

/* The first pages that are free, as many as it takes, all of them zero. */
static void get__first_that_fits(void **state)
{
	uint8_t *a = vb_ring_memory_get(1), *b = vb_ring_memory_get(PAGE + 1),
		*c = vb_ring_memory_get(PAGE), *d;

	(void)state;
	assert_ptr_equal(b, a + PAGE);
	assert_ptr_equal(c, b + (size_t)2 * PAGE);
	memset(b, 0xff, (size_t)2 * PAGE);
	vb_ring_memory_put(b, PAGE + 1);
	d = vb_ring_memory_get((size_t)3 * PAGE);
	assert_ptr_equal(d, c + PAGE);
	assert_ptr_equal(vb_ring_memory_get((size_t)2 * PAGE), b);
	for (uint32_t i = 0; i < 2 * PAGE; i++)
		assert_int_equal(b[i], 0);
	assert_int_equal(mapped(), 1);
	vb_ring_memory_put(a, 1);
	vb_ring_memory_put(b, (size_t)2 * PAGE);
	vb_ring_memory_put(c, PAGE);
	assert_int_equal(mapped(), 1);
	vb_ring_memory_put(d, (size_t)3 * PAGE);
	assert_int_equal(mapped(), 0);
}

/* A chunk that is full, one that is bigger than others, and one more: each goes when it is empty,
 * in any order. */
static void chunk__goes_with_its_last_page(void **state)
{
	static const uint8_t order[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
					   {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
	static const size_t size[] = {CHUNK, CHUNK + 1, PAGE};

	(void)state;
	for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
		uint8_t *p[3];

		for (uint32_t k = 0; k < 3; k++) {
			p[k] = vb_ring_memory_get(size[k]);
			assert_non_null(p[k]);
			p[k][0] = p[k][size[k] - 1] = 1;
			assert_int_equal(mapped(), k + 1);
		}
		for (uint32_t k = 0; k < 3; k++) {
			vb_ring_memory_put(p[order[i][k]], size[order[i][k]]);
			assert_int_equal(mapped(), 2 - k);
		}
	}
}

/* A chunk with room is found behind a full one, and behind one without enough. */
static void get__from_an_older_chunk(void **state)
{
	uint8_t *a = vb_ring_memory_get(CHUNK - PAGE), *b = vb_ring_memory_get((size_t)2 * PAGE),
		*c = vb_ring_memory_get(CHUNK - (size_t)2 * PAGE), *d = vb_ring_memory_get(PAGE);

	(void)state;
	assert_ptr_equal(c, b + (size_t)2 * PAGE);
	assert_ptr_equal(d, a + CHUNK - PAGE);
	assert_int_equal(mapped(), 2);
	vb_ring_memory_put(a, CHUNK - PAGE);
	vb_ring_memory_put(b, (size_t)2 * PAGE);
	vb_ring_memory_put(c, CHUNK - (size_t)2 * PAGE);
	vb_ring_memory_put(d, PAGE);
	assert_int_equal(mapped(), 0);
}

/* A child has none of its parent's, leaves it alone, and has its own. */
static void child__begins_anew(void **state)
{
	uint8_t *p = vb_ring_memory_get(PAGE);
	int status;
	pid_t pid;

	(void)state;
	p[0] = 7;
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		bool ok = mapped() == 0;
		uint8_t *own;

		vb_ring_memory_put(p, PAGE);
		own = vb_ring_memory_get(PAGE);
		ok = ok && own && mapped() == 1;
		vb_ring_memory_put(own, PAGE);
		_exit(ok && mapped() == 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(p[0], 7);
	vb_ring_memory_put(p, PAGE);
	vb_ring_memory_put(NULL, PAGE);
	assert_int_equal(mapped(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(get__first_that_fits),
	    cmocka_unit_test(chunk__goes_with_its_last_page),
	    cmocka_unit_test(get__from_an_older_chunk),
	    cmocka_unit_test(child__begins_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
