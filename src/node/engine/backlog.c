/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeping what a full link did not take. See struct vb_backlog.
 */
#include "link/guard.h"
#include "node/engine/priv.h"

#include <assert.h>

static void keep_packet(struct vb_backlog *l, const struct vb_tx *tx)
{
	struct vb_tx_batch *b = &l->batch;
	uint32_t i = b->cnt, at = tx->payload_len;

	assert(at <= sizeof l->bytes[i]);
	/* The memory it is in has just gone: as if it had been lost. */
	if (vb_guard_copy_payload(l->bytes[i], tx))
		return;
	b->cnt++;
	b->pkt[i] = *tx;
	l->path[i] = *tx->path;
	b->pkt[i].path = &l->path[i];
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
