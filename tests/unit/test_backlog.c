/* SPDX-License-Identifier: BSD-2-Clause */
/* A packet that a full link did not take is kept with its bytes and its path, which belong to
 * others and change. */
#include "cmocka_env.h"
#include "link/guard.h"
#include "node/engine/priv.h"

#include <stdlib.h>
#include <sys/mman.h>

static void keep__bytes_and_path_are_its_own(void **state)
{
	struct vb_backlog *l = calloc(1, sizeof *l);
	struct vb_tx_batch *b = calloc(1, sizeof *b);
	uint8_t bytes[3][8] = {"first", "second", "third"};
	struct vb_path path[3] = {{.hop_limit = 1}, {.hop_limit = 2}, {.hop_limit = 3}};

	(void)state;
	assert_true(l && b);
	for (uint32_t i = 0; i < 3; i++) {
		b->seg[i] = (struct vb_seg){bytes[i], 8};
		b->pkt[i] = (struct vb_tx){.path = &path[i],
					   .seg = &b->seg[i],
					   .seg_cnt = i != 1,
					   .payload_len = i != 1 ? 8 : 0,
					   .hdr_len = VB_BTH_LEN,
					   .hdr = {(uint8_t)i}};
	}
	b->cnt = b->seg_cnt = 3;
	vb_backlog_keep(l, b, 1);
	memset(bytes, 0, sizeof bytes);
	memset(path, 0, sizeof path);
	assert_false(vb_backlog_is_empty(l));
	assert_int_equal(l->batch.cnt, 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(l->batch.pkt[i].hdr[0], i + 1);
		assert_int_equal(l->batch.pkt[i].path->hop_limit, i + 2);
	}
	assert_int_equal(l->batch.pkt[0].seg_cnt, 0);
	assert_int_equal(l->batch.pkt[1].seg_cnt, 1);
	assert_string_equal((const char *)l->batch.pkt[1].seg->p, "third");
	free(b);
	free(l);
}

/* A packet whose memory has gone is lost; those around it are kept. */
static void keep__not_what_has_no_memory(void **state)
{
	struct vb_backlog *l = calloc(1, sizeof *l);
	struct vb_tx_batch *b = calloc(1, sizeof *b);
	void *gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t bytes[8] = "here";
	struct vb_path path = {.hop_limit = 1};

	(void)state;
	assert_true(l && b && gone != MAP_FAILED);
	assert_int_equal(vb_guard_open(), 0);
	for (uint32_t i = 0; i < 3; i++) {
		b->seg[i] = (struct vb_seg){i == 1 ? gone : bytes, 8};
		b->pkt[i] = (struct vb_tx){.path = &path,
					   .seg = &b->seg[i],
					   .seg_cnt = 1,
					   .payload_len = 8,
					   .hdr_len = VB_BTH_LEN,
					   .hdr = {(uint8_t)i}};
	}
	b->cnt = b->seg_cnt = 3;
	vb_backlog_keep(l, b, 0);
	assert_int_equal(l->batch.cnt, 2);
	assert_int_equal(l->batch.pkt[0].hdr[0], 0);
	assert_int_equal(l->batch.pkt[1].hdr[0], 2);
	assert_string_equal((const char *)l->batch.pkt[1].seg->p, "here");
	munmap(gone, 4096);
	free(b);
	free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(keep__bytes_and_path_are_its_own),
	    cmocka_unit_test(keep__not_what_has_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
