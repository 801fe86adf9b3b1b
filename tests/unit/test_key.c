/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of keys: index and key byte, and how long a stale key misses. IBT-84 */
#include "core_env.h"

#include "base/prf.h"

static struct env env;

static void setup(uint32_t mr_max)
{
	env_config(&env);
	env.cfg.limits.mr = mr_max;
	env.cfg.limits.mw = 2;
	env_open(&env, 16);
}

static struct vb_mr *mr_new(void)
{
	struct vb_mr_attr a = {.iova = ENV_IOVA, .length = 8, .host = env.mem};
	struct vb_mr *mr;

	assert_int_equal(vb_mr_create(env.pd, &a, &mr), 0);
	return mr;
}

static void key__is_index_and_byte(void **state)
{
	enum { CNT = 300 }; /* grows the table more than once */
	static struct vb_mr *mr[CNT];

	(void)state;
	setup(1000);
	for (uint32_t i = 0; i < CNT; i++)
		mr[i] = mr_new();
	for (uint32_t i = 0; i < CNT; i++) {
		uint32_t key = vb_mr_lkey(mr[i]);

		assert_int_equal(key, vb_mr_rkey(mr[i]));
		assert_int_not_equal(key >> 8, 0);
		assert_ptr_equal(vb_key_find(env.hca, key), &mr[i]->key);
		assert_ptr_equal(vb_key_at(env.hca, key ^ 0x5a), &mr[i]->key);
		/* Another index, though of the same place. */
		assert_null(vb_key_at(env.hca, key ^ env.hca->keys.cap << 8));
		/* The same index with any other byte names nothing. */
		for (uint32_t b = 1; b < 256; b++)
			assert_null(vb_key_find(env.hca, (key & ~0xffu) | ((key + b) & 0xff)));
		for (uint32_t k = 0; k < i; k++)
			assert_int_not_equal(key >> 8, vb_mr_lkey(mr[k]) >> 8);
	}
	env_close(&env);
}

static void key__that_names_nothing(void **state)
{
	(void)state;
	setup(1000);
	for (uint32_t b = 0; b < 256; b++) {
		assert_null(vb_key_find(env.hca, b)); /* index 0 is never used */
		assert_null(vb_key_find(env.hca, 0xffffff00u | b));
		assert_null(vb_key_find(env.hca, env.hca->keys.cap << 8 | b));
	}
	env_close(&env);
}

/* Of the key, what says the place in the table. */
static uint32_t place_of(uint32_t key)
{
	return key >> 8 & (env.hca->keys.cap - 1);
}

/* A freed place goes to the back of the queue, and comes again with another key. */
static void key__stale(void **state)
{
	uint32_t stale, key, others = 0;
	struct vb_mr *mr;

	(void)state;
	setup(1000);
	mr = mr_new();
	stale = vb_mr_lkey(mr);
	assert_int_equal(vb_mr_destroy(mr), 0);
	assert_null(vb_key_find(env.hca, stale));
	do {
		mr = mr_new();
		key = vb_mr_lkey(mr);
		assert_int_not_equal(key, stale);
		assert_null(vb_key_find(env.hca, stale));
		assert_int_equal(vb_mr_destroy(mr), 0);
		others++;
	} while (place_of(key) != place_of(stale));
	assert_int_equal(others, env.hca->keys.cap - 2); /* all but place 0 and env.mr's */
	env_close(&env);
}

static void key__limit_is_exact(void **state)
{
	struct vb_mr_attr a = {.iova = 0, .length = 8};
	struct vb_mr *mr[4], *more;
	struct vb_mw *mw[2], *more_mw;

	(void)state;
	setup(5);
	for (int i = 0; i < 4; i++) /* with env.mr they are five */
		mr[i] = mr_new();
	assert_int_equal(vb_mr_create(env.pd, &a, &more), -ENOMEM);
	/* Windows have a limit of their own. */
	for (int i = 0; i < 2; i++)
		assert_int_equal(vb_mw_create(env.pd, 1, &mw[i]), 0);
	assert_int_equal(vb_mw_create(env.pd, 1, &more_mw), -ENOMEM);
	assert_int_equal(vb_mr_destroy(mr[2]), 0);
	assert_int_equal(vb_mw_create(env.pd, 1, &more_mw), -ENOMEM);
	assert_int_equal(vb_mr_create(env.pd, &a, &mr[2]), 0);
	assert_int_equal(vb_mr_create(env.pd, &a, &more), -ENOMEM);
	assert_int_equal(vb_mw_destroy(mw[0]), 0);
	assert_int_equal(vb_mr_create(env.pd, &a, &more), -ENOMEM);
	assert_int_equal(vb_mw_create(env.pd, 1, &mw[0]), 0);
	env_close(&env);
}

/* A table with nothing free takes back what is freed, and grows when there is nothing. */
static void key__table_full_and_freed(void **state)
{
	static struct vb_mr *mr[200];
	uint32_t cap, n = 0, index;

	(void)state;
	setup(1000);
	while (env.hca->keys.cap < 64 || env.hca->keys.cnt[VB_KEY_MR] < env.hca->keys.cap - 1)
		mr[n++] = mr_new(); /* place 0 is nobody's */
	cap = env.hca->keys.cap;
	for (int round = 0; round < 3; round++) {
		uint32_t k = (uint32_t)round * 7;

		index = place_of(vb_mr_lkey(mr[k]));
		assert_int_equal(vb_mr_destroy(mr[k]), 0);
		mr[k] = mr_new();
		assert_int_equal(place_of(vb_mr_lkey(mr[k])), index);
	}
	/* In the order they were freed. */
	index = place_of(vb_mr_lkey(mr[3]));
	assert_int_equal(vb_mr_destroy(mr[3]), 0);
	assert_int_equal(vb_mr_destroy(mr[1]), 0);
	mr[3] = mr_new();
	assert_int_equal(place_of(vb_mr_lkey(mr[3])), index);
	mr[1] = mr_new();
	assert_int_equal(env.hca->keys.cap, cap);
	mr[n++] = mr_new();
	assert_int_equal(env.hca->keys.cap, 2 * cap);
	for (uint32_t i = 0; i < n; i++)
		assert_ptr_equal(vb_key_find(env.hca, vb_mr_lkey(mr[i])), &mr[i]->key);
	env_close(&env);
}

/*
 * Keys drawn one after the other say nothing about the next one: no difference comes twice, all
 * bits but those of the place change, and another seed gives others.
 */
static void key__cannot_be_guessed(void **state)
{
	enum { CNT = 60 };
	static uint32_t key[2][CNT];
	uint32_t set = 0, clear = 0;

	(void)state;
	for (uint32_t s = 0; s < 2; s++) {
		env_config(&env);
		env.cfg.seed = 77 + s;
		env_open(&env, 16);
		for (uint32_t i = 0; i < CNT; i++) {
			key[s][i] = vb_mr_rkey(mr_new());
			set |= key[s][i];
			clear |= ~key[s][i];
		}
		env_close(&env);
	}
	assert_int_equal(set, UINT32_MAX);
	assert_int_equal(clear, UINT32_MAX);
	for (uint32_t i = 1; i < CNT; i++) {
		assert_int_not_equal(key[0][i], key[1][i]);
		for (uint32_t k = i + 1; k < CNT; k++)
			assert_int_not_equal(key[0][i] - key[0][i - 1], key[0][k] - key[0][k - 1]);
	}
}

/* The example of the paper, appendix A: message of 8 bytes. */
static void siphash__known_answer(void **state)
{
	(void)state;
	assert_true(vb_siphash(0x0706050403020100, 0x0f0e0d0c0b0a0908, 0x0706050403020100) ==
		    0x93f5f5799a932462);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(key__is_index_and_byte),
	    cmocka_unit_test(key__that_names_nothing),
	    cmocka_unit_test(key__stale),
	    cmocka_unit_test(key__limit_is_exact),
	    cmocka_unit_test(key__table_full_and_freed),
	    cmocka_unit_test(key__cannot_be_guessed),
	    cmocka_unit_test(siphash__known_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
