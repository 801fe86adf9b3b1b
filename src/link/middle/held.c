/* SPDX-License-Identifier: BSD-2-Clause */
/* The queue of what a fault holds back, see held.h. */
#include "link/middle/held.h"

#include "link/guard.h"
#include "link/middle/fault.h"

#include <stdlib.h>
#include <string.h>

void vb_held_init(struct vb_held_queue *q)
{
	vb_list_init(&q->list);
	q->cnt = 0;
}

static struct vb_held *first_held(const struct vb_held_queue *q)
{
	return vb_list_is_empty(&q->list) ? NULL
					  : vb_container_of(q->list.next, struct vb_held, link);
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
	vb_held_free(&q->list);
	q->cnt = 0;
}

static void insert_held(struct vb_held_queue *q, struct vb_held *h)
{
	struct vb_list *before = q->list.prev;

	/* Nearly always the last. */
	while (before != &q->list && vb_container_of(before, struct vb_held, link)->at > h->at)
		before = before->prev;
	vb_list_append(before->next, &h->link);
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
	h->at = at;
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
	struct vb_held *h = first_held(q);

	if (!h || h->at > now)
		return NULL;
	vb_list_remove(&h->link);
	q->cnt--;
	return h;
}

void vb_held_put_back(struct vb_held_queue *q, struct vb_held *h, vb_time at)
{
	h->at = at;
	/* In front of all: it was the first. */
	vb_list_append(q->list.next, &h->link);
	q->cnt++;
}

vb_time vb_held_due(const struct vb_held_queue *q)
{
	struct vb_held *h = first_held(q);

	return h ? h->at : VB_NEVER;
}
