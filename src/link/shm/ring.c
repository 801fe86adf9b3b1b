/* SPDX-License-Identifier: BSD-2-Clause */
/* The ring's two sides, see ring.h. */
#include "link/shm/ring.h"

#include "wire/opcode.h"

#include <string.h>

/* GSO batches begin at cache lines. */
#define GSO_ALIGN 64u
/* Long payload begins at a cache line too, for the sake of whoever copies it. */
#define PAYLOAD_ALIGN 64u
/* So much is always free behind the last GSO batch: the word that says that no other follows. */
#define SLACK GSO_ALIGN

_Static_assert((VB_RING_BYTES & (VB_RING_BYTES - 1)) == 0, "positions are taken modulo the size");

struct gso {
	uint32_t ready; /* bytes, this word included; 0: not there yet */
	uint16_t pkt_cnt;
	uint8_t traffic_class, hop_limit;
	uint32_t flow_label, ifindex;
	uint16_t udp_sport, slid, dlid;
	uint8_t sl, rsv;
	struct vb_gid sgid, dgid;
};
_Static_assert(sizeof(struct gso) == 56, "shared between processes");

/* In front of a packet; its headers end where its payload begins, see payload_at(). One word, so
 * that it is read at once. */
union packet {
	struct {
		uint32_t payload_len;
		uint8_t hdr_len, pad;
		uint16_t rsv;
	};
	uint64_t word;
};
_Static_assert(sizeof(union packet) == 8, "shared between processes");

static uint32_t round_up(uint32_t n, uint32_t to)
{
	return (n + to - 1) & ~(to - 1);
}

/* Where the payload of a packet at @at begins. */
static uint32_t payload_at(uint32_t at, uint32_t hdr_len, uint32_t payload_len)
{
	return round_up(at + (uint32_t)sizeof(union packet) + hdr_len,
			payload_len > VB_RING_COPY_MAX ? PAYLOAD_ALIGN : 8);
}

/* Where the packet behind it begins: there is room for pad, which is zero. */
static uint32_t packet_end(uint32_t payload, uint32_t payload_len)
{
	return round_up(payload + payload_len + VB_PAD_MAX, 8);
}

static uint8_t *bytes_at(uint8_t *mem, uint64_t pos)
{
	return mem + VB_RING_HEAD_BYTES + (size_t)(pos & (VB_RING_BYTES - 1));
}

/* Learns how far the reader is. It may say anything: what cannot be is not believed. */
static void learn_reader(struct vb_ring_tx *r, vb_time now)
{
	const struct vb_ring_head *h = (const struct vb_ring_head *)(const void *)r->mem;
	uint64_t taken = __atomic_load_n(&h->taken, __ATOMIC_ACQUIRE);

	if (taken == r->taken || r->head - taken > VB_RING_BYTES)
		return;
	r->taken = taken;
	r->since = now;
}

static uint32_t bytes_waiting(const struct vb_ring_tx *r)
{
	return (uint32_t)(r->head - r->taken);
}

static void put_packet(uint8_t *gso, uint32_t at, uint32_t payload, const struct vb_tx *tx)
{
	union packet head = {
	    .payload_len = tx->payload_len, .hdr_len = tx->hdr_len, .pad = tx->pad};
	uint8_t *to = gso + payload;

	memcpy(gso + at, &head, sizeof head);
	memcpy(to - tx->hdr_len, tx->hdr, tx->hdr_len);
	for (uint32_t i = 0; i < tx->seg_cnt; i++) {
		memcpy(to, tx->seg[i].p, tx->seg[i].len);
		to += tx->seg[i].len;
	}
	memset(to, 0, VB_PAD_MAX);
}

uint32_t vb_ring_put(struct vb_ring_tx *r, const struct vb_ring_way *way, const struct vb_tx *pkt,
		     uint32_t cnt, vb_time now)
{
	const struct vb_path *path = &way->path;
	uint8_t *at = bytes_at(r->mem, r->head);
	struct gso *t = (struct gso *)(void *)at;
	uint32_t len = sizeof *t, free, n = 0;

	if (r->head == r->taken)
		r->since = now;
	if (bytes_waiting(r) > VB_RING_BYTES / 2)
		learn_reader(r, now);
	free = VB_RING_BYTES - bytes_waiting(r);
	for (; n < cnt && pkt[n].path == pkt[0].path; n++) {
		uint32_t payload = payload_at(len, pkt[n].hdr_len, pkt[n].payload_len);
		uint32_t end = packet_end(payload, pkt[n].payload_len);

		if (round_up(end, GSO_ALIGN) + SLACK > free || (n && end > VB_RING_GSO_MAX))
			break;
		put_packet(at, len, payload, &pkt[n]);
		len = end;
	}
	if (n == 0)
		return 0;
	len = round_up(len, GSO_ALIGN);
	t->pkt_cnt = (uint16_t)n;
	t->traffic_class = path->traffic_class;
	t->hop_limit = path->hop_limit;
	t->flow_label = path->flow_label;
	t->ifindex = way->ifindex;
	t->udp_sport = path->udp_sport;
	t->slid = path->slid;
	t->dlid = path->dlid;
	t->sl = path->sl;
	t->sgid = path->sgid;
	t->dgid = path->dgid;
	__atomic_store_n(&((struct gso *)(void *)(at + len))->ready, 0, __ATOMIC_RELAXED);
	/* In one order with the reader's word that it sleeps: see wakeup.h. */
	__atomic_store_n(&t->ready, len, __ATOMIC_SEQ_CST);
	r->head += len;
	return n;
}

uint32_t vb_ring_backlog(struct vb_ring_tx *r, vb_time now)
{
	if (bytes_waiting(r) > VB_RING_BYTES / 4)
		learn_reader(r, now);
	return bytes_waiting(r);
}

uint32_t vb_ring_backlog_now(struct vb_ring_tx *r, vb_time now)
{
	learn_reader(r, now);
	return bytes_waiting(r);
}

bool vb_ring_is_stuck(struct vb_ring_tx *r, vb_time now)
{
	learn_reader(r, now);
	return vb_time_since(r->since, now) > VB_RING_STUCK_NS;
}

static uint32_t bytes_ready(const struct vb_ring_rx *r)
{
	return __atomic_load_n(&((struct gso *)(void *)bytes_at(r->mem, r->tail))->ready,
			       __ATOMIC_SEQ_CST);
}

bool vb_ring_has_packets(const struct vb_ring_rx *r)
{
	return !r->is_broken && (r->left || bytes_ready(r));
}

static bool mark_broken(struct vb_ring_rx *r)
{
	r->is_broken = true;
	r->left = 0;
	return false;
}

bool vb_ring_begin(struct vb_ring_rx *r, struct vb_ring_way *way)
{
	struct gso t;

	if (r->is_broken)
		return false;
	if (r->left == 0) {
		r->at = sizeof t;
		r->len = bytes_ready(r);
		if (r->len == 0)
			return false;
	}
	memcpy(&t, bytes_at(r->mem, r->tail), sizeof t);
	if (r->left == 0) {
		r->left = t.pkt_cnt;
		/* No writer has more under way than the ring holds: without this the same bytes,
		 * never taken back, would be read around and around. */
		if (r->len % GSO_ALIGN != 0 || r->left == 0 ||
		    r->tail - r->taken + r->len > VB_RING_BYTES)
			return mark_broken(r);
	}
	*way = (struct vb_ring_way){.path = {.sgid = t.sgid,
					     .dgid = t.dgid,
					     .flow_label = t.flow_label & 0xfffff,
					     .udp_sport = t.udp_sport,
					     .slid = t.slid,
					     .dlid = t.dlid,
					     .sl = t.sl & 0xf,
					     .traffic_class = t.traffic_class,
					     .hop_limit = t.hop_limit},
				    .ifindex = t.ifindex};
	return true;
}

bool vb_ring_take(struct vb_ring_rx *r, struct vb_rx *rx, uint8_t *copy)
{
	uint8_t *gso = bytes_at(r->mem, r->tail);
	uint32_t payload, end;
	union packet p;

	if (r->left == 0)
		return false;
	if (r->at + sizeof p > r->len)
		return mark_broken(r);
	p.word = __atomic_load_n((uint64_t *)(void *)(gso + r->at), __ATOMIC_RELAXED);
	if (p.hdr_len < VB_BTH_LEN || p.hdr_len > VB_HDR_MAX || p.pad > VB_PAD_MAX ||
	    p.payload_len > VB_PAYLOAD_MAX)
		return mark_broken(r);
	payload = payload_at(r->at, p.hdr_len, p.payload_len);
	end = packet_end(payload, p.payload_len);
	if (end > r->len)
		return mark_broken(r);
	*rx = (struct vb_rx){.pkt = copy, .len = p.hdr_len + p.payload_len + p.pad};
	if (p.payload_len <= VB_RING_COPY_MAX) {
		memcpy(copy, gso + payload - p.hdr_len, rx->len);
		rx->avail = rx->len;
	} else {
		memcpy(copy, gso + payload - p.hdr_len, p.hdr_len);
		/* The core finds the payload by the opcode. */
		if (vb_hdr_len(copy) != p.hdr_len)
			return mark_broken(r);
		rx->avail = p.hdr_len;
		rx->body = gso + payload;
	}
	r->at = end;
	if (--r->left == 0)
		r->tail += r->len;
	return true;
}

void vb_ring_give_back(struct vb_ring_rx *r)
{
	if (r->taken == r->tail)
		return;
	r->taken = r->tail;
	__atomic_store_n(&((struct vb_ring_head *)(void *)r->mem)->taken, r->taken,
			 __ATOMIC_RELEASE);
}
