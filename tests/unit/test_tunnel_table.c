/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of addresses that both ends of a tunnel tell each other, over a channel that loses
 * parts; and parts that make no sense. FAB-56 */
#include "cmocka_env.h"
#include "fabric/tunnel/table.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_MAX (VB_TUNNEL_CHUNK_LEN + VB_TUNNEL_ENTRIES * VB_TUNNEL_ENTRY_LEN)

static struct vb_tunnel_table a, b;
static uint64_t blocks;
static bool has_memory;

static void *table_alloc(void *ctx, size_t size)
{
	(void)ctx;
	if (!has_memory)
		return NULL;
	blocks++;
	return calloc(1, size);
}

static void table_free(void *ctx, void *p)
{
	(void)ctx;
	blocks--;
	free(p);
}

static int setup(void **state)
{
	(void)state;
	a = b = (struct vb_tunnel_table){.alloc = table_alloc, .free = table_free};
	has_memory = true;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	vb_tunnel_table_clear(&a, false);
	vb_tunnel_table_clear(&b, false);
	assert_int_equal(blocks, 0);
	return 0;
}

static struct vb_tunnel_entry entry_of(uint32_t i)
{
	return (struct vb_tunnel_entry){.prefix = 1,
					.guid = 100 + i,
					.ipv4 = 0x0a010000 + i,
					.lid = (uint16_t)(1 + i),
					.hops = (uint8_t)(i % 3)};
}

/* @cnt ports, of which the first one has LID @lid. */
static bool table_set(uint32_t cnt, uint16_t lid)
{
	struct vb_tunnel_entry *e = calloc(cnt + 1, sizeof *e);
	bool changed;

	for (uint32_t i = 0; i < cnt; i++)
		e[i] = entry_of(i);
	e[0].lid = lid;
	changed = vb_tunnel_table_set(&a, e, cnt);
	free(e);
	return changed;
}

/* A round from @a to @b: what @b has heard goes back, then parts, of which each @lost-th is lost.
 * Returns how many left. */
static uint32_t round_pass(bool again, uint32_t lost, bool *changed)
{
	static uint32_t number;
	uint8_t bytes[CHUNK_MAX];
	uint32_t version, cnt, len, sent = 0;

	vb_tunnel_table_heard(&b, &version, &cnt);
	if (!vb_tunnel_table_lacks(&a, version, cnt, again))
		return 0;
	while (sent < VB_TUNNEL_WINDOW && (len = vb_tunnel_table_poll(&a, bytes)) != 0) {
		sent++;
		if (lost == 0 || ++number % lost != 0)
			*changed |= vb_tunnel_table_hear(&b, bytes, len);
		if (a.mine.cnt == 0)
			break;
	}
	return sent;
}

static void table_pass(uint32_t lost)
{
	bool changed = false;

	for (uint32_t i = 0; !changed; i++) {
		assert_true(i < 10000);
		(void)round_pass(true, lost, &changed);
	}
	assert_int_equal(round_pass(true, 0, &changed), 0);
}

static void tables__are_told_in_parts(void **state)
{
	const struct vb_tunnel_entry *e;

	(void)state;
	assert_true(table_set(1003, 1));
	table_pass(0);
	assert_int_equal(b.theirs.cnt, 1003);
	e = vb_tunnel_table_by_ipv4(&b, 0x0a010000 + 700);
	assert_non_null(e);
	assert_int_equal(e->guid, 800);
	assert_int_equal(e->hops, 700 % 3);
	e = vb_tunnel_table_by_gid(&b, 1, 100 + 1002);
	assert_non_null(e);
	assert_int_equal(e->lid, 1003);
	assert_null(vb_tunnel_table_by_gid(&b, 2, 100));
	assert_null(vb_tunnel_table_by_gid(&b, 1, 0));
	assert_null(vb_tunnel_table_by_ipv4(&b, 0));
	assert_null(vb_tunnel_table_by_ipv4(&b, 0x0a010000 + 1003));
}

/* A part that was lost is told again, with those behind it. */
static void tables__arrive_though_parts_are_lost(void **state)
{
	(void)state;
	table_set(2000, 1);
	table_pass(3);
	assert_int_equal(b.theirs.cnt, 2000);
	for (uint32_t i = 0; i < 2000; i++) {
		assert_int_equal(b.theirs.entry[i].guid, 100 + i);
		assert_int_equal(b.theirs.entry[i].lid, 1 + i);
	}
}

/* The old table is there until the new one is whole; the same one is not told twice. */
static void tables__change_at_once(void **state)
{
	bool changed = false;

	(void)state;
	table_set(500, 1);
	table_pass(0);
	assert_false(table_set(500, 1));
	assert_int_equal(round_pass(true, 0, &changed), 0);
	assert_true(table_set(500, 77));
	assert_int_equal(round_pass(true, 0, &changed), VB_TUNNEL_WINDOW);
	assert_false(changed);
	assert_int_equal(b.theirs.entry[0].lid, 1);
	table_pass(0);
	assert_int_equal(b.theirs.entry[0].lid, 77);
	/* In the middle of being told it becomes another one. */
	table_set(500, 78);
	(void)round_pass(true, 0, &changed);
	table_set(400, 79);
	table_pass(0);
	assert_int_equal(b.theirs.cnt, 400);
	assert_int_equal(b.theirs.entry[0].lid, 79);
	table_set(0, 1);
	table_pass(0);
	assert_int_equal(b.theirs.cnt, 0);
}

/* Without a period gone by a window leaves when the one before has come. */
static void windows__wait_for_the_one_before(void **state)
{
	bool changed = false;

	(void)state;
	table_set(1000, 1);
	assert_int_equal(round_pass(false, 1, &changed), VB_TUNNEL_WINDOW);
	assert_int_equal(round_pass(false, 0, &changed), 0);
	assert_int_equal(round_pass(true, 0, &changed), VB_TUNNEL_WINDOW);
	assert_int_equal(round_pass(false, 0, &changed), VB_TUNNEL_WINDOW);
}

/* A peer cannot make an end remember more than two tables, nor read or write beside them. */
static void tables__are_bounded(void **state)
{
	uint8_t bytes[CHUNK_MAX] = {0};
	struct vb_tunnel_chunk c = {.table = 1, .total = VB_TUNNEL_TABLE_MAX + 1};

	(void)state;
	vb_tunnel_chunk_emit(&c, bytes);
	assert_false(vb_tunnel_table_hear(&b, bytes, VB_TUNNEL_CHUNK_LEN));
	assert_int_equal(blocks, 0);
	c.total = 100;
	c.cnt = 10;
	for (c.table = 1; c.table < 100; c.table++) {
		vb_tunnel_chunk_emit(&c, bytes);
		assert_false(vb_tunnel_table_hear(&b, bytes,
						  VB_TUNNEL_CHUNK_LEN + 10 * VB_TUNNEL_ENTRY_LEN));
		assert_int_equal(blocks, 1);
	}
	/* Not in their order; twice; of another total. */
	c = (struct vb_tunnel_chunk){.table = 99, .total = 100, .first = 20, .cnt = 10};
	for (uint32_t first = 0; first < 90; first += 10) {
		c.first = first;
		vb_tunnel_chunk_emit(&c, bytes);
		assert_false(vb_tunnel_table_hear(&b, bytes,
						  VB_TUNNEL_CHUNK_LEN + 10 * VB_TUNNEL_ENTRY_LEN));
		assert_int_equal(b.coming.cnt, first == 0 ? 10 : first + 10);
		c.first = 0;
		vb_tunnel_chunk_emit(&c, bytes);
		assert_false(vb_tunnel_table_hear(&b, bytes,
						  VB_TUNNEL_CHUNK_LEN + 10 * VB_TUNNEL_ENTRY_LEN));
	}
	/* More than an end tells is cut. */
	assert_true(table_set(VB_TUNNEL_TABLE_MAX + 5, 1));
	assert_int_equal(a.mine.cnt, VB_TUNNEL_TABLE_MAX);
	table_pass(0);
	assert_int_equal(b.theirs.cnt, VB_TUNNEL_TABLE_MAX);
}

/* Where there is no memory the table before stays. */
static void tables__stay_without_memory(void **state)
{
	bool changed = false;

	(void)state;
	table_set(10, 1);
	table_pass(0);
	table_set(10, 2);
	has_memory = false;
	(void)round_pass(true, 0, &changed);
	assert_false(changed);
	assert_int_equal(b.theirs.entry[0].lid, 1);
	has_memory = true;
	table_pass(0);
	assert_int_equal(b.theirs.entry[0].lid, 2);
}

/* When the tunnel goes, what was heard is forgotten, and what is told is not. */
static void tables__are_forgotten(void **state)
{
	(void)state;
	table_set(10, 1);
	table_pass(0);
	vb_tunnel_table_clear(&b, true);
	assert_null(vb_tunnel_table_by_ipv4(&b, 0x0a010000));
	table_pass(0);
	assert_non_null(vb_tunnel_table_by_ipv4(&b, 0x0a010000));
	vb_tunnel_table_clear(&a, true);
	assert_int_equal(a.mine.cnt, 10);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(tables__are_told_in_parts), TEST(tables__arrive_though_parts_are_lost),
	    TEST(tables__change_at_once),    TEST(windows__wait_for_the_one_before),
	    TEST(tables__are_bounded),       TEST(tables__stay_without_memory),
	    TEST(tables__are_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
