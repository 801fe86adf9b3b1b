/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compressed blocks of completion entries. The layout is that of mlx5's basic format, which the
 * kernel's mlx5e_decompress_cqes_start() and DPDK's mlx5 driver read: see struct vb_cqe_block.
 */
#include "wqe/wqe.h"

#include "base/assert.h"

#include <string.h>

static bool is_send(const uint8_t *entry)
{
	return vb_wqe_get(entry, VB_CQE_OPCODE) == VB_CQE_REQUEST;
}

/* Copies @entry; the fields that a mini entry has, or its place tells, are 0 in @to. */
static void common_part(const uint8_t *entry, uint8_t *to)
{
	memcpy(to, entry, VB_CQE_BYTES);
	vb_wqe_put(to, VB_CQE_LENGTH, 0);
	vb_wqe_put(to, VB_CQE_TIME, 0);
	vb_wqe_put(to, VB_CQE_COUNTER, 0);
	vb_wqe_put(to, VB_CQE_OWNER, 0);
	if (is_send(entry))
		vb_wqe_put(to, VB_CQE_WORK, 0);
}

static void mini_write(struct vb_cqe_block *b, const uint8_t *entry)
{
	uint8_t *mini = b->mini[b->cnt++];

	VB_ASSERT(b->cnt <= VB_CQE_BLOCK_MAX);
	memset(mini, 0, VB_MINI_BYTES);
	if (is_send(entry)) {
		vb_wqe_put(mini, VB_SENT_COUNTER, vb_wqe_get(entry, VB_CQE_COUNTER));
		vb_wqe_put(mini, VB_SENT_WORK, vb_wqe_get(entry, VB_CQE_WORK));
		vb_wqe_put(mini, VB_SENT_LENGTH, vb_wqe_get(entry, VB_CQE_LENGTH));
	} else {
		vb_wqe_put(mini, VB_RECEIVED_LENGTH, vb_wqe_get(entry, VB_CQE_LENGTH));
	}
}

bool vb_cqe_block_begin(struct vb_cqe_block *b, const uint8_t *entry)
{
	uint32_t kind = (uint32_t)vb_wqe_get(entry, VB_CQE_OPCODE);

	b->cnt = 0;
	if (kind == VB_CQE_REQUEST_ERROR || kind == VB_CQE_RECEIVE_ERROR ||
	    vb_wqe_get(entry, VB_CQE_SCATTER))
		return false;
	memcpy(b->title, entry, VB_CQE_BYTES);
	mini_write(b, entry);
	return true;
}

bool vb_cqe_block_add(struct vb_cqe_block *b, const uint8_t *entry)
{
	uint8_t first[VB_CQE_BYTES], other[VB_CQE_BYTES];
	uint16_t next = (uint16_t)(vb_wqe_get(b->title, VB_CQE_COUNTER) + b->cnt);

	if (b->cnt == 0 || b->cnt == VB_CQE_BLOCK_MAX)
		return false;
	if (!is_send(entry) && vb_wqe_get(entry, VB_CQE_COUNTER) != next)
		return false;
	common_part(b->title, first);
	common_part(entry, other);
	if (memcmp(first, other, sizeof first) != 0)
		return false;
	mini_write(b, entry);
	return true;
}

void vb_cqe_block_array(const struct vb_cqe_block *b, uint32_t i, uint8_t *to)
{
	uint32_t from = i * VB_MINI_CNT, cnt = b->cnt - from;

	VB_ASSERT(from < b->cnt);
	if (cnt > VB_MINI_CNT)
		cnt = VB_MINI_CNT;
	memset(to, 0, VB_CQE_BYTES);
	memcpy(to, b->mini[from], (size_t)cnt * VB_MINI_BYTES);
}

uint8_t vb_cqe_block_title(const struct vb_cqe_block *b, uint8_t *to)
{
	uint8_t title[VB_CQE_BYTES];

	VB_ASSERT(b->cnt > 0);
	memcpy(title, b->title, sizeof title);
	if (b->cnt > 1) {
		vb_wqe_put(title, VB_TITLE_CNT, b->cnt);
		vb_wqe_put(title, VB_CQE_SCATTER, VB_CQE_COMPRESSED);
	}
	memcpy(to, title, VB_CQE_BYTES - 1);
	return title[VB_CQE_BYTES - 1];
}
