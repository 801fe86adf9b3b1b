/* SPDX-License-Identifier: BSD-2-Clause */
/* The queue of what a fault holds back, see held.h. */
#include "link/middle/held.h"

#include "link/guard.h"
#include "link/middle/fault.h"

#include <stdlib.h>
#include <string.h>

void vb_held_init(struct vb_held_queue *q)
{
	vb_timed_init(&q->timed);
	q->cnt = 0;
}

void vb_held_free(struct vb_list *list)
{
	struct vb_list *l = list->next;

	while (l != list) {
		struct vb_held *h = vb_container_of(l, struct vb_held, link);

		l = l->next;
		free(h);
	}
	vb_list_init(list);
}

void vb_held_clear(struct vb_held_queue *q)
{
	struct vb_held *h;

	while ((h = vb_held_take(q, VB_NEVER)) != NULL)
		free(h);
}

static void insert_held(struct vb_held_queue *q, struct vb_held *h)
{
	vb_timed_put(&q->timed, &h->timed);
	q->cnt++;
}

static struct vb_held *add_held(struct vb_held_queue *q, size_t bytes, const struct vb_path *path,
				vb_time at)
{
	struct vb_held *h;

	if (q->cnt >= VB_FAULT_HELD_MAX)
		return NULL;
	h = malloc(sizeof *h + bytes);
	if (!h)
		return NULL;
	memset(h, 0, sizeof *h);
	h->path = *path;
	h->timed.at = at;
	return h;
}

bool vb_held_tx(struct vb_held_queue *q, const struct vb_tx *tx, const struct vb_path *path,
		const struct vb_tx_fate *fate, vb_time at)
{
	struct vb_held *h = add_held(q, tx->payload_len, path, at);

	if (!h)
		return false;
	if (vb_guard_copy_payload(h->bytes, tx)) {
		free(h);
		return false;
	}
	h->fate = *fate;
	h->tx = *tx;
	h->tx.path = &h->path;
	h->seg = (struct vb_seg){h->bytes, tx->payload_len};
	h->tx.seg = &h->seg;
	h->tx.seg_cnt = tx->payload_len != 0;
	insert_held(q, h);
	return true;
}

bool vb_held_rx(struct vb_held_queue *q, const struct vb_rx *rx, const struct vb_path *path,
		vb_time at)
{
	struct vb_held *h = add_held(q, vb_rx_bytes(rx), path, at);

	if (!h)
		return false;
	vb_rx_copy(rx, h->bytes);
	h->len = rx->len;
	h->avail = vb_rx_bytes(rx);
	insert_held(q, h);
	return true;
}

struct vb_held *vb_held_take(struct vb_held_queue *q, vb_time now)
{
	struct vb_timed *t = vb_timed_take(&q->timed, now);

	if (!t)
		return NULL;
	q->cnt--;
	return vb_container_of(t, struct vb_held, timed);
}

void vb_held_put_back(struct vb_held_queue *q, struct vb_held *h, vb_time at)
{
	h->timed.at = at;
	vb_timed_put_first(&q->timed, &h->timed);
	q->cnt++;
}
