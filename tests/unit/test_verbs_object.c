/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The set of objects by itself: each pointer has the kind and the name that it was given, also
 * among very many, when others come and go around it, and when memory is reused. A foreign pointer
 * is recognised without a read behind it.
 */
#include "cmocka_env.h"
#include "verbs/object.h"

#include <stdlib.h>

#define MANY 20000 /* the set grows three times */

static void *object[MANY];

static enum vb_object_kind kind_of(size_t i)
{
	return i % 2 ? VB_OBJECT_QP : VB_OBJECT_CQ;
}

static void object_new(size_t i)
{
	object[i] = vb_object_new(kind_of(i), 48);
	assert_non_null(object[i]);
	for (size_t k = 0; k < 48; k++)
		assert_int_equal(((uint8_t *)object[i])[k], 0);
	vb_object_name(object[i], &object[i], (uint32_t)i);
}

static void assert_there(size_t i)
{
	assert_true(vb_object_is(object[i], kind_of(i)));
	assert_false(vb_object_is(object[i], kind_of(i + 1)));
	assert_true(vb_object_is_named(object[i], &object[i], (uint32_t)i));
	assert_false(vb_object_is_named(object[i], &object[i], (uint32_t)i + 1));
	assert_false(vb_object_is_named(object[i], &object[i] + MANY, (uint32_t)i));
}

static void is__before_there_is_any(void **state)
{
	int none = 0;

	(void)state;
	assert_false(vb_object_is(&none, VB_OBJECT_QP));
	assert_false(vb_object_is_named(&none, NULL, 0));
	assert_false(vb_object_is(NULL, VB_OBJECT_QP));
	vb_object_free(NULL);
}

static void is__of_many_that_come_and_go(void **state)
{
	(void)state;
	for (size_t i = 0; i < MANY; i++)
		object_new(i);
	/* One object of each three goes: the set still finds the others. */
	for (size_t round = 0; round < 3; round++) {
		for (size_t i = round; i < MANY; i += 3) {
			void *gone = object[i];

			vb_object_free(gone);
			assert_false(vb_object_is(gone, kind_of(i)));
			object[i] = NULL;
		}
		for (size_t i = 0; i < MANY; i++)
			if (object[i])
				assert_there(i);
		for (size_t i = round; i < MANY; i += 6)
			object_new(i);
		for (size_t i = 0; i < MANY; i++)
			if (object[i])
				assert_there(i);
		for (size_t i = round; i < MANY; i += 6) {
			vb_object_free(object[i]);
			object[i] = NULL;
		}
	}
	for (size_t i = 0; i < MANY; i++)
		assert_null(object[i]);
	object_new(0);
	assert_false(vb_object_is((uint8_t *)object[0] + 16, VB_OBJECT_CQ));
	assert_false(vb_object_is(NULL, VB_OBJECT_CQ));
	vb_object_free(object[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(is__before_there_is_any),
	    cmocka_unit_test(is__of_many_that_come_and_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
