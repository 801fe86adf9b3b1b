/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compressed blocks of completion entries: the entries in one, where its parts are, and what ends
 * it. The places are those that mlx5e_decompress_cqes_start() in the kernel reads.
 */
#include "cmocka_env.h"
#include "wqe/wqe.h"

#include <infiniband/mlx5dv.h>
#include <string.h>

#define FORMAT 0x0cu /* of op_own */

static uint8_t entry[VB_CQE_BYTES], other[VB_CQE_BYTES], out[VB_CQE_BYTES];
static struct vb_cqe_block block;

/* A successful completion of QP 0x123456 with owner 1; @counter is its WQE's index. */
static void entry_make(uint8_t *to, bool is_send, uint16_t counter, uint32_t len)
{
	struct vb_wc wc = {.opcode = is_send ? VB_WC_SEND : VB_WC_RECV,
			   .byte_len = len,
			   .qpn = 0x123456,
			   .time = 1000u + counter};
	struct vb_cqe c = {.wc = &wc, .counter = counter, .is_send = is_send, .work = 0x0a};

	to[VB_CQE_BYTES - 1] = vb_cqe_write(&c, 1, to);
}

static void block_fill(bool is_send, uint16_t counter, uint32_t cnt)
{
	entry_make(entry, is_send, counter, 100);
	assert_true(vb_cqe_block_begin(&block, entry));
	for (uint32_t i = 1; i < cnt; i++) {
		entry_make(other, is_send, (uint16_t)(counter + i), 100 + i);
		assert_true(vb_cqe_block_add(&block, other));
	}
	assert_int_equal(block.cnt, cnt);
}

/* A block of one is the entry itself. */
static void block_of_one(void **state)
{
	(void)state;
	block_fill(false, 7, 1);
	memset(out, 0xee, sizeof out);
	assert_int_equal(vb_cqe_block_title(&block, out), entry[VB_CQE_BYTES - 1]);
	assert_memory_equal(out, entry, VB_CQE_BYTES - 1);
	assert_int_equal(out[VB_CQE_BYTES - 1], 0xee);
}

/* The title is the first entry, but for the count in place of the length and the format. */
static void block_title(void **state)
{
	const struct mlx5_cqe64 *t = (const void *)out;

	(void)state;
	block_fill(false, 7, 9);
	out[VB_CQE_BYTES - 1] = vb_cqe_block_title(&block, out);
	assert_int_equal(be32toh(t->byte_cnt), 9);
	assert_int_equal(be16toh(t->wqe_counter), 7);
	assert_int_equal(t->op_own, MLX5_CQE_RESP_SEND << 4 | FORMAT | 1);
	memcpy(other, entry, sizeof other);
	vb_wqe_put(other, VB_CQE_LENGTH, 9);
	assert_memory_equal(out, other, VB_CQE_BYTES - 1);
}

/* Arrays of eight: the first behind the title, the others where the entry that they go on with was.
 */
static void block_arrays(void **state)
{
	(void)state;
	assert_int_equal(vb_cqe_block_place(0), 1);
	assert_int_equal(vb_cqe_block_place(1), 8);
	assert_int_equal(vb_cqe_block_place(2), 16);
	assert_int_equal(vb_cqe_block_place(7), 56);
	block_fill(false, 0xfffe, 11);
	for (uint32_t i = 0; i < 16; i++) {
		const uint8_t *mini = out + i % 8 * 8;

		if (i % 8 == 0) {
			memset(out, 0xee, sizeof out);
			vb_cqe_block_array(&block, i / 8, out);
		}
		assert_int_equal(vb_wqe_number(mini, 4), 0);
		assert_int_equal(vb_wqe_number(mini + 4, 4), i < 11 ? 100 + i : 0);
	}
}

/* Of sends a mini entry has the index and the opcode by itself: they need not follow each other. */
static void block_of_sends(void **state)
{
	(void)state;
	block_fill(true, 3, 2);
	entry_make(other, true, 40, 0);
	vb_wqe_put(other, VB_CQE_WORK, 0x08);
	assert_true(vb_cqe_block_add(&block, other));
	vb_cqe_block_array(&block, 0, out);
	assert_int_equal(vb_wqe_number(out, 2), 3);
	assert_int_equal(out[2], 0x0a);
	assert_int_equal(out[3], 0);
	assert_int_equal(vb_wqe_number(out + 4, 4), 100);
	assert_int_equal(vb_wqe_number(out + 8, 2), 4);
	assert_int_equal(vb_wqe_number(out + 16, 2), 40);
	assert_int_equal(out[18], 0x08);
	assert_int_equal(vb_wqe_number(out + 20, 4), 0);
}

/* A receive goes on where the one before ended, also beyond 65,535. */
static void block_follows_the_index(void **state)
{
	static const uint16_t wrong[] = {8, 7, 10, 0};

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		block_fill(false, 7, 2);
		entry_make(other, false, wrong[i], 100);
		assert_false(vb_cqe_block_add(&block, other));
		assert_int_equal(block.cnt, 2);
	}
	block_fill(false, 0xffff, 3);
}

/* Any other difference ends a block: in each byte of the entry but those of length, time and index,
 * of sends also the opcode, and the owner. */
static void block_ends_with_a_difference(void **state)
{
	(void)state;
	for (uint32_t sends = 0; sends < 2; sends++)
		for (uint32_t at = 0; at < VB_CQE_BYTES; at++) {
			bool varies = (at >= 44 && at < 56) || (at == 56 && sends);

			if (at >= 60 && at < 62)
				continue;
			block_fill(sends, 7, 1);
			entry_make(other, sends, 8, 100);
			other[at] ^= at == VB_CQE_BYTES - 1 ? 2 : 1;
			assert_int_equal(vb_cqe_block_add(&block, other), varies);
		}
	block_fill(false, 7, 1);
	entry_make(other, false, 8, 100);
	other[VB_CQE_BYTES - 1] ^= 1;
	assert_true(vb_cqe_block_add(&block, other));
	/* An entry that begins no block ends one. */
	block_fill(false, 7, 1);
	entry_make(other, false, 8, 100);
	vb_wqe_put(other, VB_CQE_SCATTER, 1);
	assert_false(vb_cqe_block_add(&block, other));
}

/* Failures, and entries with payload, are in no block. */
static void block_begins_with_plain_entries(void **state)
{
	static const uint8_t kinds[] = {MLX5_CQE_REQ_ERR << 4, MLX5_CQE_RESP_ERR << 4,
					MLX5_CQE_RESP_SEND << 4 | MLX5_INLINE_SCATTER_32,
					MLX5_CQE_RESP_SEND << 4 | MLX5_INLINE_SCATTER_64};

	(void)state;
	for (size_t i = 0; i < sizeof kinds; i++) {
		entry_make(entry, false, 1, 10);
		entry[VB_CQE_BYTES - 1] = kinds[i];
		block.cnt = 5;
		assert_false(vb_cqe_block_begin(&block, entry));
		assert_int_equal(block.cnt, 0);
		assert_false(vb_cqe_block_add(&block, entry));
	}
}

/* max_num completions, and not one more. */
static void block_is_full(void **state)
{
	(void)state;
	block_fill(false, 0, 64);
	entry_make(other, false, 64, 100);
	assert_false(vb_cqe_block_add(&block, other));
	assert_int_equal(block.cnt, 64);
	vb_cqe_block_array(&block, 7, out);
	assert_int_equal(vb_wqe_number(out + 60, 4), 163);
}

static const char *words_of(bool sends, bool title)
{
	static struct vb_wqe_page words;
	static char page[4096];

	block_fill(sends, 7, 3);
	out[VB_CQE_BYTES - 1] = vb_cqe_block_title(&block, out);
	vb_wqe_page_begin(&words, page, sizeof page);
	if (title) {
		vb_cqe_walk(out, VB_CQE_BYTES, &words.visitor);
	} else {
		vb_cqe_block_array(&block, 0, out);
		vb_cqe_walk_array(out, 3, sends, &words.visitor);
	}
	(void)vb_wqe_page_end(&words);
	return page;
}

/* In words: the title by its count, mini entries by what they say themselves. */
static void block_in_words(void **state)
{
	const char *page = words_of(false, true);

	(void)state;
	assert_non_null(strstr(page, "title of a compressed block:"));
	assert_non_null(strstr(page, "completions 3"));
	assert_non_null(strstr(page, "index of the first WQE 7"));
	assert_non_null(strstr(page, "kind 2 (received SEND)"));
	assert_null(strstr(page, "bytes 3"));
	page = words_of(false, false);
	assert_non_null(strstr(page, "008  00000000 00000065  received: bytes 101\n"));
	assert_non_null(strstr(page, "010  00000000 00000066  received: bytes 102\n"));
	assert_null(strstr(page, "018  "));
	page = words_of(true, false);
	assert_non_null(strstr(page,
			       "000  00070a00 00000064  sent: index of the WQE 7, opcode of the "
			       "send WQE 10 (SEND), bytes 100\n"));
	/* More than an array has are not looked for. */
	{
		struct vb_wqe_page words;
		char more[4096];

		vb_wqe_page_begin(&words, more, sizeof more);
		vb_cqe_walk_array(out, 1000, false, &words.visitor);
		(void)vb_wqe_page_end(&words);
		assert_non_null(strstr(more, "038  "));
		assert_null(strstr(more, "040  "));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(block_of_one),
	    cmocka_unit_test(block_title),
	    cmocka_unit_test(block_arrays),
	    cmocka_unit_test(block_of_sends),
	    cmocka_unit_test(block_follows_the_index),
	    cmocka_unit_test(block_ends_with_a_difference),
	    cmocka_unit_test(block_begins_with_plain_entries),
	    cmocka_unit_test(block_is_full),
	    cmocka_unit_test(block_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
