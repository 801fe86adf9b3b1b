/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory windows as bytes: what src/wqe writes for a bind, an unbind and an invalidation is what a
 * program writes with the structures of mlx5dv.h, as rdma-core's mlx5 provider fills them; what it
 * reads is what they say; and a UMR that does nothing that windows have is a fault.
 */
#include "cmocka_env.h"
#include "wqe/wqe.h"

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <string.h>

#define QPN 0x123456u
#define RKEY 0xa1a2a3a4u
#define NEW_KEY 0xa5u
#define LKEY 0xcafe00u
#define ADDR UINT64_C(0x1122334455667788)
#define LENGTH 0x7fff0001u
#define BIND_BYTES (16 + 48 + 64 + 64)
#define FREE_BYTES (16 + 48 + 64)

static const struct vb_wqe_queue rc = {.type = VB_QPT_RC, .qpn = QPN};
static _Alignas(16) uint8_t ours[VB_WQE_BYTES_MAX], theirs[VB_WQE_BYTES_MAX];

struct window {
	uint8_t type; /* 0: LOCAL_INV */
	uint32_t length;
	unsigned access;
};

static struct vb_send_wr work_of(const struct window *w)
{
	if (!w->type)
		return (struct vb_send_wr){.opcode = VB_WR_LOCAL_INV, .inv_rkey = RKEY};
	return (struct vb_send_wr){.opcode = VB_WR_BIND_MW,
				   .flags = VB_SEND_SIGNALED,
				   .rkey = RKEY,
				   .imm = w->length ? LKEY : 0,
				   .remote_addr = w->length ? ADDR : 0,
				   .swap = w->length,
				   .compare_add = (uint64_t)w->access << 32 |
						  vb_mw_bind_key(w->type, NEW_KEY)};
}

/* The segments of a window that gets a range. */
static void their_range(const struct window *w, struct mlx5_wqe_umr_ctrl_seg *umr,
			struct mlx5_wqe_mkey_context_seg *mkey)
{
	struct mlx5_wqe_umr_klm_seg *klm = (void *)(mkey + 1);

	umr->klm_octowords = htobe16(4);
	umr->mkey_mask |=
	    htobe64(MLX5_WQE_UMR_CTRL_MKEY_MASK_LEN | MLX5_WQE_UMR_CTRL_MKEY_MASK_START_ADDR |
		    MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_LOCAL_WRITE |
		    MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_READ |
		    MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_WRITE |
		    MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_ATOMIC);
	if (w->access & IBV_ACCESS_REMOTE_WRITE)
		mkey->access_flags |= MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_WRITE;
	if (w->access & IBV_ACCESS_REMOTE_READ)
		mkey->access_flags |= MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_READ;
	if (w->access & IBV_ACCESS_REMOTE_ATOMIC)
		mkey->access_flags |= MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_ATOMIC;
	if (w->access & IBV_ACCESS_LOCAL_WRITE)
		mkey->access_flags |= MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_LOCAL_WRITE;
	mkey->start_addr = w->access & IBV_ACCESS_ZERO_BASED ? 0 : htobe64(ADDR);
	mkey->len = htobe64(w->length);
	*klm = (struct mlx5_wqe_umr_klm_seg){htobe32(w->length), htobe32(LKEY), htobe64(ADDR)};
}

/* Returns how many bytes it takes. */
static uint32_t build_theirs(const struct window *w, uint16_t index)
{
	struct mlx5_wqe_ctrl_seg *ctrl = (void *)theirs;
	struct mlx5_wqe_umr_ctrl_seg *umr = (void *)(ctrl + 1);
	struct mlx5_wqe_mkey_context_seg *mkey = (void *)(umr + 1);
	uint32_t bytes = w->length ? BIND_BYTES : FREE_BYTES;

	memset(theirs, 0, sizeof theirs);
	mlx5dv_set_ctrl_seg(ctrl, index, MLX5_OPCODE_UMR, 0, QPN,
			    w->type ? MLX5_WQE_CTRL_CQ_UPDATE : 0, (uint8_t)(bytes / 16), 0,
			    htobe32(RKEY));
	umr->flags = MLX5_WQE_UMR_CTRL_FLAG_INLINE | MLX5_WQE_UMR_CTRL_FLAG_TRNSLATION_OFFSET;
	umr->mkey_mask =
	    htobe64(MLX5_WQE_UMR_CTRL_MKEY_MASK_FREE | MLX5_WQE_UMR_CTRL_MKEY_MASK_MKEY);
	if (w->type != 1) {
		umr->mkey_mask |= htobe64(MLX5_WQE_UMR_CTRL_MKEY_MASK_QPN);
		umr->flags |= w->length ? MLX5_WQE_UMR_CTRL_FLAG_CHECK_FREE
					: MLX5_WQE_UMR_CTRL_FLAG_CHECK_QPN;
	}
	mkey->qpn_mkey =
	    htobe32((w->type == 2 && w->length ? QPN << 8 : 0xffffff00) | (w->type ? NEW_KEY : 0));
	if (w->length)
		their_range(w, umr, mkey);
	else
		mkey->free = MLX5_WQE_MKEY_CONTEXT_FREE;
	return bytes;
}

static void check_window(const struct window *w, uint16_t index)
{
	const struct vb_send_wr wr = work_of(w);
	uint32_t bytes = build_theirs(w, index), blocks = bytes / 64;
	struct vb_wqe_send got;

	memset(ours, 0x55, sizeof ours);
	assert_int_equal(vb_wqe_write(&rc, &wr, NULL, index, ours), blocks);
	assert_memory_equal(ours, theirs, bytes);
	assert_int_equal(vb_wqe_blocks(theirs), blocks);
	assert_true(vb_wqe_read(&rc, theirs, blocks, index, &got));
	assert_int_equal(got.wr.opcode, wr.opcode);
	assert_int_equal(got.wr.flags, wr.flags);
	assert_int_equal(got.wr.inv_rkey, RKEY);
	if (!w->type)
		return;
	assert_int_equal(got.wr.rkey, RKEY);
	assert_int_equal(got.wr.swap, w->length);
	assert_int_equal(got.wr.compare_add, wr.compare_add);
	assert_int_equal(got.wr.remote_addr, wr.remote_addr);
	assert_int_equal(got.wr.imm, wr.imm);
}

static void window__is_the_providers(void **state)
{
	static const unsigned rights[] = {IBV_ACCESS_REMOTE_WRITE,
					  IBV_ACCESS_REMOTE_READ,
					  IBV_ACCESS_REMOTE_ATOMIC,
					  IBV_ACCESS_LOCAL_WRITE,
					  IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
					  0};
	uint16_t index = 0xfffe;

	(void)state;
	check_window(&(struct window){.type = 0}, index++);
	check_window(&(struct window){.type = 1}, index++);
	for (unsigned i = 0; i < sizeof rights / sizeof rights[0]; i++) {
		check_window(&(struct window){1, LENGTH, rights[i]}, index++);
		check_window(&(struct window){2, LENGTH, rights[i]}, index++);
		check_window(&(struct window){2, 1, rights[i] | IBV_ACCESS_ZERO_BASED}, index++);
	}
}

static enum vb_wqe_fault fault_of(uint32_t blocks)
{
	static struct vb_wqe_send got;

	(void)vb_wqe_read(&rc, theirs, blocks, 5, &got);
	return got.fault;
}

/* One field after the other that is not what a window has. */
static void umr__of_no_window(void **state)
{
	static const struct {
		bool of_bind; /* or of an invalidation */
		uint8_t segment;
		enum vb_wqe_field field;
		uint64_t value;
		enum vb_wqe_fault fault;
	} wrong[] = {
	    {true, 64, VB_MKEY_QPN, QPN + 1, VB_WQE_FAULT_QPN},
	    {true, 64, VB_MKEY_LENGTH, LENGTH + 1, VB_WQE_FAULT_UMR},
	    {true, 64, VB_MKEY_START, ADDR + 1, VB_WQE_FAULT_UMR},
	    {true, 64, VB_MKEY_FREE, 1, VB_WQE_FAULT_UMR},
	    {true, 16, VB_UMR_RANGES, 8, VB_WQE_FAULT_UMR},
	    {true, 16, VB_UMR_INLINE, 0, VB_WQE_FAULT_UMR},
	    {true, 16, VB_UMR_MASK, 0x203c6041 | 1 << 9, VB_WQE_FAULT_UMR},
	    {true, 16, VB_UMR_MASK, 0x203c6041 & ~1, VB_WQE_FAULT_UMR},
	    {true, 16, VB_UMR_MASK, 0x203c6041, VB_WQE_GOOD},
	    {false, 64, VB_MKEY_FREE, 0, VB_WQE_FAULT_UMR},
	    {false, 16, VB_UMR_MASK, 0x2000, VB_WQE_FAULT_UMR},
	    {false, 0, VB_CTRL_DS, 7, VB_WQE_FAULT_DS},
	    {true, 0, VB_CTRL_DS, 11, VB_WQE_FAULT_DS},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		const struct window w = {wrong[i].of_bind ? 2 : 0, wrong[i].of_bind ? LENGTH : 0,
					 IBV_ACCESS_REMOTE_WRITE};
		uint32_t blocks = build_theirs(&w, 5) / 64;

		assert_int_equal(fault_of(blocks), VB_WQE_GOOD);
		vb_wqe_put(theirs + wrong[i].segment, wrong[i].field, wrong[i].value);
		assert_int_equal(fault_of(blocks), wrong[i].fault);
	}
	/* No bytes at all are a range of no length, too. */
	(void)build_theirs(&(struct window){2, LENGTH, 0}, 5);
	vb_wqe_put(theirs + 64, VB_MKEY_LENGTH, 0);
	vb_wqe_put(theirs + 128, VB_KLM_LENGTH, 0);
	assert_int_equal(fault_of(3), VB_WQE_FAULT_UMR);
}

/* In words: what changes of the key, and the range where there is one. */
static void window__is_shown(void **state)
{
	static struct vb_wqe_page page;
	char text[2048];

	(void)state;
	vb_wqe_page_begin(&page, text, sizeof text);
	vb_wqe_walk_send(VB_QPT_XRC_INI, theirs,
			 build_theirs(&(struct window){2, 4096, IBV_ACCESS_REMOTE_WRITE}, 5) / 64,
			 &page.visitor);
	(void)vb_wqe_page_end(&page);
	assert_non_null(strstr(text, "UMR control: ranges in the WQE 1, only if free 1,"));
	assert_non_null(strstr(text, "memory key: remote WRITE 1, QPN 0x123456, key byte 165, "
				     "start 0x1122334455667788, bytes 4096\n"));
	assert_non_null(
	    strstr(text, "  range: bytes 4096, L_Key 0x00cafe00, address 0x1122334455667788\n"));
	vb_wqe_page_begin(&page, text, sizeof text);
	vb_wqe_walk_send(VB_QPT_RC, theirs, build_theirs(&(struct window){.type = 0}, 5) / 64,
			 &page.visitor);
	(void)vb_wqe_page_end(&page);
	assert_non_null(strstr(text, "memory key: free 1, QPN 0xffffff\n"));
	assert_null(strstr(text, "range:"));
}

/* A place of a queue has room for a bind, where there are windows. */
static void queue__has_room_for_a_bind(void **state)
{
	(void)state;
	assert_uint_in_range(vb_wqe_send_bytes(VB_QPT_RC, 1, 0), BIND_BYTES, 256);
	assert_uint_in_range(vb_wqe_send_bytes(VB_QPT_UC, 1, 0), BIND_BYTES, 256);
	assert_uint_in_range(vb_wqe_send_bytes(VB_QPT_XRC_INI, 1, 0), BIND_BYTES, 256);
	assert_int_equal(vb_wqe_send_bytes(VB_QPT_UD, 4, 0), 128);
	assert_int_equal(vb_wqe_send_bytes(VB_QPT_DCI, 1, 0), 128);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(window__is_the_providers), cmocka_unit_test(umr__of_no_window),
	    cmocka_unit_test(window__is_shown), cmocka_unit_test(queue__has_room_for_a_bind)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
