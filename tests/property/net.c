/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The network of the property tests. See net.h.
 */
#include "net.h"

#include <assert.h>
#include <stdlib.h>

struct vb_gid net_gid(uint32_t host)
{
	return (struct vb_gid){
	    {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, (uint8_t)(host + 1)}};
}

static bool packet_before(const struct net_packet *a, const struct net_packet *b)
{
	return a->at < b->at || (a->at == b->at && a->seq < b->seq);
}

static void heap_push(struct net *n, struct net_packet *p)
{
	if (n->cnt + 2 > n->cap) {
		n->cap = n->cap ? n->cap * 2 : 64;
		n->heap = realloc(n->heap, n->cap * sizeof *n->heap);
		assert(n->heap);
	}

	uint32_t i = ++n->cnt;

	for (; i > 1 && packet_before(p, n->heap[i / 2]); i /= 2)
		n->heap[i] = n->heap[i / 2];
	n->heap[i] = p;
}

static struct net_packet *heap_pop(struct net *n)
{
	struct net_packet *top = n->heap[1], *p = n->heap[n->cnt--];
	uint32_t i = 1;

	for (;;) {
		uint32_t c = i * 2;

		if (c > n->cnt)
			break;
		if (c < n->cnt && packet_before(n->heap[c + 1], n->heap[c]))
			c++;
		if (!packet_before(n->heap[c], p))
			break;
		n->heap[i] = n->heap[c];
		i = c;
	}
	if (n->cnt)
		n->heap[i] = p;
	return top;
}

static struct net_packet *packet_copy(const struct vb_tx *tx)
{
	uint32_t len = vb_tx_wire_len(tx) - VB_ICRC_LEN;
	struct net_packet *p = calloc(1, sizeof *p + len);
	uint32_t at = tx->hdr_len;

	assert(p && tx->hdr_len <= VB_HDR_MAX);
	memcpy(p->bytes, tx->hdr, tx->hdr_len);
	for (uint32_t i = 0; i < tx->seg_cnt; i++) {
		memcpy(p->bytes + at, tx->seg[i].p, tx->seg[i].len);
		at += tx->seg[i].len;
	}
	assert(at + tx->pad == len && (tx->payload_len + tx->pad) % 4 == 0);
	p->len = len;
	p->path = *tx->path;
	p->path.port = 1; /* the receiver's */
	return p;
}

static void send_copy(struct net *n, uint32_t src, uint32_t dst, const struct vb_tx *tx, bool late,
		      vb_time now)
{
	struct net_packet *p = packet_copy(tx);

	p->dst = dst;
	p->seq = n->seq++;
	p->at =
	    now + n->delay_min + vb_rng_below(&n->rng, (uint32_t)(n->delay_max - n->delay_min + 1));
	if (late) {
		p->at += 1 + vb_rng_below(&n->rng, (uint32_t)n->reorder_max);
	} else {
		if (p->at < n->last_at[src][dst])
			p->at = n->last_at[src][dst];
		n->last_at[src][dst] = p->at;
	}
	heap_push(n, p);
}

void net_send(struct net *n, uint32_t src, const struct vb_tx *tx, vb_time now)
{
	uint32_t dst = tx->path->dgid.b[15] - 1u;
	uint64_t k = n->sent++;
	uint64_t bit = k < 64 ? UINT64_C(1) << k : 0;
	bool faults = !n->healed &&
		      (n->window_off == 0 || now % (n->window_on + n->window_off) < n->window_on);

	assert(dst < NET_HOSTS_MAX);
	if (n->cut || n->loss_mask & bit || (faults && rng_chance(&n->rng, n->loss))) {
		n->lost++;
		return;
	}

	bool late = n->late_mask & bit || (faults && rng_chance(&n->rng, n->reorder));
	bool twice = n->dup_mask & bit || (faults && rng_chance(&n->rng, n->dup));

	send_copy(n, src, dst, tx, late, now);
	if (twice)
		send_copy(n, src, dst, tx, faults && rng_chance(&n->rng, 50), now);
}

vb_time net_next(const struct net *n)
{
	return n->cnt ? n->heap[1]->at : VB_NEVER;
}

struct net_packet *net_take(struct net *n, vb_time now)
{
	if (net_next(n) > now)
		return NULL;

	struct net_packet *p = heap_pop(n);

	n->digest = (n->digest ^ p->at) * UINT64_C(0x100000001b3);
	for (uint32_t i = 0; i < p->len; i++)
		n->digest = (n->digest ^ p->bytes[i]) * UINT64_C(0x100000001b3);
	return p;
}

void net_free(struct net *n)
{
	for (uint32_t i = 1; i <= n->cnt; i++)
		free(n->heap[i]);
	free(n->heap);
}
