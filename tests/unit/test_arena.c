/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory of simulations. See scenario/arena.h. */
#include "scenario/arena.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define BLOCKS 3000
#define SIZE_MOST 300000u

struct block {
	uint8_t *p;
	size_t size;
	uint8_t mark;
};

/* All of it is still as it was filled. */
static void block_check(const struct block *b)
{
	for (size_t i = 0; i < b->size; i++)
		assert_int_equal(b->p[i], b->mark);
}

static size_t size_of(struct vb_rng *r)
{
	uint64_t x = vb_rng_next(r);

	return (x & 15) == 0 ? (size_t)(x >> 8) % SIZE_MOST : (size_t)(x >> 8) % 3000;
}

static void arena__gives_zeroed_memory_that_nobody_else_has(void **state)
{
	static struct block block[BLOCKS];
	struct vb_rng r = vb_rng_stream(1, "arena", 0);
	struct vb_arena *a = vb_arena_create();

	(void)state;
	assert_non_null(a);

	struct vb_sim_memory m = vb_arena_memory(a);

	for (uint32_t step = 0; step < 4 * BLOCKS; step++) {
		struct block *b = &block[vb_rng_next(&r) % BLOCKS];

		if (b->p) {
			block_check(b);
			m.free(m.ctx, b->p);
		}
		b->size = size_of(&r);
		b->mark = (uint8_t)(step | 1);
		b->p = m.alloc(m.ctx, b->size);
		assert_non_null(b->p);
		for (size_t i = 0; i < b->size; i++)
			assert_int_equal(b->p[i], 0);
		memset(b->p, b->mark, b->size);
	}
	for (uint32_t i = 0; i < BLOCKS; i++) {
		if (block[i].p)
			block_check(&block[i]);
		m.free(m.ctx, block[i].p);
	}
	vb_arena_destroy(a);
}

/* The address sanitizer keeps what was given back. */
#ifndef __SANITIZE_ADDRESS__
static void arena__gives_again_what_came_back(void **state)
{
	struct vb_arena *a = vb_arena_create();

	(void)state;
	assert_non_null(a);

	struct vb_sim_memory m = vb_arena_memory(a);
	void *one = m.alloc(m.ctx, 1000), *other = m.alloc(m.ctx, 1000);

	assert_int_equal((uintptr_t)one % 64, 0);
	assert_int_equal((uintptr_t)other % 64, 0);
	m.free(m.ctx, one);
	assert_ptr_equal(m.alloc(m.ctx, 1001), one);
	m.free(m.ctx, other);
	assert_ptr_not_equal(m.alloc(m.ctx, 2000), other);
	assert_ptr_equal(m.alloc(m.ctx, 1000), other);
	vb_arena_destroy(a);
}
#endif

static void arena__refuses_what_is_larger_than_memory(void **state)
{
	struct vb_arena *a = vb_arena_create();

	(void)state;
	assert_non_null(a);

	struct vb_sim_memory m = vb_arena_memory(a);

	assert_null(m.alloc(m.ctx, SIZE_MAX));
	assert_null(m.alloc(m.ctx, SIZE_MAX - 8));
	vb_arena_destroy(a);
	vb_arena_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(arena__gives_zeroed_memory_that_nobody_else_has),
#ifndef __SANITIZE_ADDRESS__
	    cmocka_unit_test(arena__gives_again_what_came_back),
#endif
	    cmocka_unit_test(arena__refuses_what_is_larger_than_memory),
	};

	return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
