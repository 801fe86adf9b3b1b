/* SPDX-License-Identifier: BSD-2-Clause */
/* The pool of frames, and frames as bytes. See frame.h. */
#include "fabric/frame.h"

#include "base/assert.h"
#include "fault/fault.h"
#include "wire/icrc.h"

#include <string.h>

/* The most bytes of a block of scenario/arena.h that lies in a large page. Packets of a length only
 * fit in by the hundred; of others there are SLAB_PKTS at least. */
#define SLAB_BYTES 65000u
#define SLAB_PKTS 64u
#define ALIGN 64u

static bool pool_grow(struct vb_frame_pool *pool)
{
	size_t head = sizeof(struct vb_frame_slab) + ALIGN - 1;
	uint32_t n = (uint32_t)((SLAB_BYTES - head) / pool->stride);

	if (n < SLAB_PKTS)
		n = SLAB_PKTS;
	if (pool->cnt >= pool->max)
		return false;
	if (n > pool->max - pool->cnt)
		n = pool->max - pool->cnt;

	struct vb_frame_slab *slab = pool->alloc(pool->alloc_ctx, head + n * pool->stride);

	if (!slab)
		return false;

	/* On lines of their own: forwarding a packet then touches one. */
	uintptr_t first = ((uintptr_t)(slab + 1) + ALIGN - 1) & ~(uintptr_t)(ALIGN - 1);

	slab->next = pool->slabs;
	pool->slabs = slab;
	pool->cnt += n;
	for (uint32_t i = n; i-- > 0;) {
		struct vb_frame *p = (struct vb_frame *)(first + i * pool->stride);

		p->next = pool->free;
		pool->free = p;
	}
	return pool->free != NULL;
}

struct vb_frame *vb_frame_pool_take(struct vb_frame_pool *pool)
{
	if (!pool->free && !pool_grow(pool)) {
		pool->ran_out = true;
		return NULL;
	}

	struct vb_frame *p = pool->free;

	pool->free = p->next;
	/* The next frame may be cold: fetch the lines that taking and filling it touch. There may
	 * be none; no pointer is made of nothing. */
	__builtin_prefetch(pool->free, 1);
	__builtin_prefetch((const void *)((uintptr_t)pool->free + 64), 1);
	if (++pool->used > pool->used_max)
		pool->used_max = pool->used;
	VB_ASSERT_ALL(pool->used <= pool->cnt);
	return p;
}

void vb_frame_pool_destroy(struct vb_frame_pool *pool)
{
	while (pool->slabs) {
		struct vb_frame_slab *s = pool->slabs;

		pool->slabs = s->next;
		pool->release(pool->alloc_ctx, s);
	}
}

uint32_t vb_frame_len(const struct vb_path *path, uint32_t len)
{
	uint32_t ip = vb_gid_is_ipv4(&path->sgid) ? 20 : 40;
	uint32_t frame = VB_FRAME_OVERHEAD + ip + 8 + len + VB_ICRC_LEN;

	if (vb_path_has_lid(path))
		return VB_FRAME_IB_OVERHEAD + (vb_path_has_grh(path) ? VB_GRH_LEN : 0) + len +
		       VB_ICRC_LEN;
	return frame < VB_FRAME_MIN ? VB_FRAME_MIN : frame;
}

static void payload_copy(struct vb_frame *f, const struct vb_tx *tx)
{
	uint8_t *to = f->bytes + tx->hdr_len;

	for (uint32_t i = 0; i < tx->seg_cnt; i++) {
		if (tx->seg[i].p)
			memcpy(to, tx->seg[i].p, tx->seg[i].len);
		else
			memset(to, 0, tx->seg[i].len);
		to += tx->seg[i].len;
	}
	memset(to, 0, tx->pad);
}

void vb_frame_fill(struct vb_frame *f, const struct vb_tx *tx, bool with_payload)
{
	f->kind = VB_FRAME_DATA;
	f->path = *tx->path;
	f->path.port = 1; /* the receiver's */
	f->to = vb_path_has_lid(&f->path) ? f->path.dlid : vb_address(&f->path.dgid);
	f->to_group = vb_gid_is_multicast(&f->path.dgid);
	f->hash = vb_flow_hash(vb_address(&f->path.sgid), f->to, f->path.udp_sport);
	f->prio = f->path.traffic_class >> 5; /* the class selector bits of its DSCP */
	f->pad = tx->pad;
	f->len = tx->hdr_len + tx->payload_len + tx->pad;
	f->frame_len = vb_frame_len(tx->path, f->len);
	f->corrupt = f->ends_bad = f->new_vcrc = false;
	f->hdr_len = tx->hdr_len;
	/* Without a payload the headers are the whole packet. */
	f->has_payload = with_payload;
	memcpy(f->bytes, tx->hdr, tx->hdr_len);
	if (with_payload)
		payload_copy(f, tx);
}

static uint32_t frame_bytes(const struct vb_frame *f)
{
	return f->has_payload ? f->len : f->hdr_len;
}

struct vb_frame *vb_frame_copy(struct vb_frame_pool *pool, const struct vb_frame *f)
{
	struct vb_frame *copy = vb_frame_pool_take(pool);

	/* All of it: its holder may have telemetry behind the bytes. */
	if (copy)
		memcpy(copy, f, pool->stride);
	return copy;
}

struct vb_rx vb_frame_rx(const struct vb_frame *f)
{
	return (struct vb_rx){
	    .pkt = f->bytes,
	    .len = f->len,
	    .avail = frame_bytes(f),
	    .path = &f->path,
	};
}

static uint32_t frame_icrc(const struct vb_frame *f)
{
	struct vb_icrc_udp u = {
	    .src = f->path.sgid,
	    .dst = f->path.dgid,
	    .sport = f->path.udp_sport,
	    .dport = VB_ROCE_PORT,
	    .ip_frag = 0x4000,
	};
	uint32_t crc = vb_icrc_start(&u, f->len + VB_ICRC_LEN);

	crc = vb_icrc_headers(crc, f->bytes, f->hdr_len);
	return vb_icrc_bytes(crc, f->bytes + f->hdr_len, f->len - f->hdr_len);
}

void vb_frame_damage(struct vb_frame *f, uint64_t bits)
{
	if (f->has_payload) {
		if (!f->corrupt)
			f->icrc = frame_icrc(f);
		vb_fault_corrupt(f->bytes, f->len, bits);
	}
	f->corrupt = true;
	f->new_vcrc = false;
}

void vb_frame_damage_inside(struct vb_frame *f, uint64_t bits)
{
	vb_frame_damage(f, bits);
	f->new_vcrc = true;
}

bool vb_frame_is_whole(const struct vb_frame *f)
{
	return !f->corrupt || (f->has_payload && frame_icrc(f) == f->icrc);
}
