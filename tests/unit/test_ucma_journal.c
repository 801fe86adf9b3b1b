/* SPDX-License-Identifier: BSD-2-Clause */
/* The journal of a region: changes happen together or not at all, wherever the writer was killed.
 */
#include "cmocka_env.h"
#include "ucma/keep/journal.h"

#include <errno.h>
#include <string.h>

struct region {
	struct vb_journal journal;
	uint64_t value[64];
	uint8_t long_one[40000];
};

static struct region r;

static int setup(void **state)
{
	(void)state;
	memset(&r, 0, sizeof r);
	return 0;
}

static void put_value(uint32_t at, uint64_t v)
{
	vb_journal_put(&r.journal, &r, &r.value[at], &v, sizeof v);
}

static void put__happens_at_commit(void **state)
{
	(void)state;
	put_value(3, 7);
	put_value(4, 8);
	assert_int_equal(r.value[3], 0);
	vb_journal_commit(&r.journal, &r);
	assert_int_equal(r.value[3], 7);
	assert_int_equal(r.value[4], 8);
	assert_int_equal(r.journal.declared, 0);
	assert_int_equal(r.journal.used, 0);
	vb_journal_commit(&r.journal, &r);
}

/* Killed before it was declared: as if nothing had been written down. */
static void recover__forgets_what_was_not_declared(void **state)
{
	(void)state;
	put_value(3, 7);
	assert_int_equal(vb_journal_recover(&r.journal, &r, sizeof r), 0);
	put_value(4, 8);
	vb_journal_commit(&r.journal, &r);
	assert_int_equal(r.value[3], 0);
	assert_int_equal(r.value[4], 8);
}

/* Killed while the changes were carried out: some are there, the others follow. */
static void recover__finishes_what_was_declared(void **state)
{
	(void)state;
	put_value(3, 7);
	put_value(4, 8);
	r.journal.declared = r.journal.used;
	r.value[3] = 7;
	assert_int_equal(vb_journal_recover(&r.journal, &r, sizeof r), 0);
	assert_int_equal(r.value[3], 7);
	assert_int_equal(r.value[4], 8);
	assert_int_equal(r.journal.declared, 0);
	assert_int_equal(r.journal.used, 0);
}

/* More than it has room for at once is carried out in parts. */
static void put__more_than_there_is_room(void **state)
{
	static uint8_t a[40000], b[40000];

	(void)state;
	memset(a, 1, sizeof a);
	memset(b, 2, sizeof b);
	vb_journal_put(&r.journal, &r, r.long_one, a, sizeof a);
	put_value(0, 5);
	vb_journal_put(&r.journal, &r, r.long_one, b, sizeof b);
	assert_memory_equal(r.long_one, a, sizeof a);
	assert_int_equal(r.value[0], 5);
	vb_journal_commit(&r.journal, &r);
	assert_memory_equal(r.long_one, b, sizeof b);
}

static void declare_entry(uint32_t at, uint32_t len, uint32_t declared)
{
	const uint32_t entry[] = {at, len};

	memset(&r, 0, sizeof r);
	memcpy(r.journal.bytes, entry, sizeof entry);
	r.journal.declared = declared;
}

/* Others can write the region: nothing outside of it is touched. */
static void recover__of_wild_bytes(void **state)
{
	static const uint32_t wild[][3] = {
	    {0, 8, VB_JOURNAL_BYTES + 1},
	    {0, 8, UINT32_MAX},
	    {0, 8, 4},
	    {0, 16, 16},
	    {0, UINT32_MAX, 16},
	    {0, UINT32_MAX - 7, 16},
	    {sizeof(struct region) - 7, 8, 16},
	    {sizeof(struct region) + 1, 0, 8},
	    {UINT32_MAX, 8, 16},
	};

	(void)state;
	for (size_t i = 0; i < sizeof wild / sizeof wild[0]; i++) {
		declare_entry(wild[i][0], wild[i][1], wild[i][2]);
		assert_int_equal(vb_journal_recover(&r.journal, &r, sizeof r), -EINVAL);
	}
	declare_entry(sizeof(struct region) - 8, 8, 16);
	assert_int_equal(vb_journal_recover(&r.journal, &r, sizeof r), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(put__happens_at_commit, setup),
	    cmocka_unit_test_setup(recover__forgets_what_was_not_declared, setup),
	    cmocka_unit_test_setup(recover__finishes_what_was_declared, setup),
	    cmocka_unit_test_setup(put__more_than_there_is_room, setup),
	    cmocka_unit_test_setup(recover__of_wild_bytes, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
