/* SPDX-License-Identifier: BSD-2-Clause */
/* The pool of packets of a simulated network: every packet lies within what was allocated. */
#include "cmocka_env.h"
#include "fabric/frame.h"

#include <stdlib.h>

/* Memory that begins at an odd multiple of 16, as malloc's may. */
struct lot {
	uint8_t *bytes, *given;
	size_t size;
};

static void *lot_alloc(void *ctx, size_t size)
{
	struct lot *l = ctx;

	l->bytes = aligned_alloc(64, (size + 128) / 64 * 64);
	l->given = l->bytes + 16;
	l->size = size;
	return l->given;
}

static void lot_release(void *ctx, void *p)
{
	struct lot *l = ctx;

	assert_ptr_equal(p, l->given);
	free(l->bytes);
}

static void take__within_the_slab(void **state)
{
	struct lot lot = {0};
	struct vb_frame_pool pool = {
	    .stride = 192, .max = 3, .alloc = lot_alloc, .release = lot_release, .alloc_ctx = &lot};

	(void)state;
	for (uint32_t i = 0; i < pool.max; i++) {
		uint8_t *p = (uint8_t *)vb_frame_pool_take(&pool);

		assert_non_null(p);
		assert_int_equal((uintptr_t)p % 64, 0);
		assert_true(p >= lot.given && p + pool.stride <= lot.given + lot.size);
	}
	assert_null(vb_frame_pool_take(&pool));
	vb_frame_pool_destroy(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(take__within_the_slab),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
