/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeping what a full link did not take. See struct vb_backlog.
 */
#include "node/engine_priv.h"

#include <assert.h>

static void keep_packet(struct vb_backlog *l, const struct vb_tx *tx)
{
	struct vb_tx_batch *b = &l->batch;
	uint32_t i = b->cnt++;
	uint32_t at = 0;

	assert(tx->payload_len <= sizeof l->bytes[i]);
	b->pkt[i] = *tx;
	l->path[i] = *tx->path;
	b->pkt[i].path = &l->path[i];
	for (uint32_t s = 0; s < tx->seg_cnt; s++) {
		memcpy(l->bytes[i] + at, tx->seg[s].p, tx->seg[s].len);
		at += tx->seg[s].len;
	}
	assert(at == tx->payload_len);
	b->pkt[i].seg = &b->seg[b->seg_cnt];
	b->pkt[i].seg_cnt = at ? 1 : 0;
	if (at)
		b->seg[b->seg_cnt++] = (struct vb_seg){l->bytes[i], at};
}

void vb_backlog_keep(struct vb_backlog *l, const struct vb_tx_batch *batch, uint32_t from)
{
	assert(vb_backlog_is_empty(l));
	l->from = l->batch.cnt = l->batch.seg_cnt = 0;
	for (uint32_t i = from; i < batch->cnt; i++)
		keep_packet(l, &batch->pkt[i]);
}
