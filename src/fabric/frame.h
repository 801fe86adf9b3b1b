/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A frame on its way through a fabric, and the pool that all frames come from. The headers are
 * always real bytes, as the core emitted them; the payload has bytes when the fabric carries data,
 * and only a length otherwise.
 */
#ifndef VB_FABRIC_FRAME_H
#define VB_FABRIC_FRAME_H

#include "base/assert.h"
#include "base/time.h"
#include "base/timed.h"
#include "fabric/ib/item.h"
#include "wire/packet.h"

#include <stddef.h>

#define VB_PRIORITY_CNT 8

/* Ethernet: MAC header and FCS are part of a frame, preamble, start and gap take time only. */
#define VB_FRAME_OVERHEAD 18u
#define VB_FRAME_GAP 20u
#define VB_FRAME_MIN 64u

/* 10.0.0.1: what vb_flow_hash() counts addresses from. */
#define VB_FLOW_ADDRESS 0x0a000001u

/* InfiniBand: LRH and VCRC are part of a frame; a symbol begins and one ends it. */
#define VB_FRAME_IB_OVERHEAD 10u
#define VB_FRAME_IB_GAP 2u

enum vb_frame_kind { VB_FRAME_DATA, VB_FRAME_PAUSE, VB_FRAME_FLOW };

struct vb_frame {
	union {
		struct vb_timed flight; /* on a cable: by arrival at its end */
		struct vb_frame *next;  /* in a FIFO or the pool; NULL: there is none */
		struct vb_ib_item item; /* in a port of InfiniBand */
	};
	union {
		struct {
			uint32_t to;   /* vb_address() of where it goes; InfiniBand: the DLID */
			uint32_t hash; /* vb_flow_hash(), for ECMP */
		};
		/* In a switch of InfiniBand, of a packet to a group: the next of those that have
		 * its room together, in a ring. */
		struct vb_frame *twin;
	};
	uint32_t len;       /* BTH through pad */
	uint32_t frame_len; /* bytes of the frame */
	uint32_t in;        /* number of the port by which it came into the switch it is in */
	uint8_t kind;       /* enum vb_frame_kind */
	uint8_t prio;       /* PAUSE: the priority it is about; InfiniBand: the lane */
	bool pause_on : 1;  /* PAUSE */
	bool corrupt : 1;
	bool has_payload : 1; /* the bytes behind the headers are there */
	bool to_group : 1;    /* multicast */
	bool ends_bad : 1;    /* InfiniBand: with the end-bad-packet delimiter. IBA 7.3 */
	bool new_vcrc : 1; /* ... with a VCRC made since it was damaged: the ICRC alone shows it */
	union {
		bool in_headroom;
		uint8_t in_vl; /* InfiniBand: the lane by which it came into the switch it is in */
	};
	uint8_t hdr_len, pad;
	union {
		uint16_t mark; /* what a fault of this cable does to it: enum vb_fault_mark */
		uint16_t out; /* in a switch of InfiniBand: number of the port by which it leaves */
	};
	uint32_t icrc; /* with corrupt and bytes: as it was when the packet was sent */
	/* From here on: a line that switches leave alone. It ends behind an AETH. */
	struct vb_path path;
	uint8_t bytes[];
};
_Static_assert(offsetof(struct vb_frame, path) == 64, "a line for switches");

struct vb_frame_slab {
	struct vb_frame_slab *next;
};

/* Grows by slabs up to its limit. */
struct vb_frame_pool {
	struct vb_frame *free;
	struct vb_frame_slab *slabs;
	size_t stride;
	uint32_t cnt, max, used, used_max;
	uint32_t flow; /* of those in use: flow control packets of InfiniBand */
	void *(*alloc)(void *ctx, size_t size);
	void (*release)(void *ctx, void *p);
	void *alloc_ctx;
	bool ran_out; /* a frame was asked for in vain */
};

/* NULL: the limit is reached or there is no memory. */
struct vb_frame *vb_frame_pool_take(struct vb_frame_pool *pool);
void vb_frame_pool_destroy(struct vb_frame_pool *pool);

static inline void vb_frame_pool_give(struct vb_frame_pool *pool, struct vb_frame *p)
{
	VB_ASSERT_ALL(pool->used > 0);
	pool->flow -= p->kind == VB_FRAME_FLOW;
	p->next = pool->free;
	pool->free = p;
	pool->used--;
}

/* A frame in use goes to another pool, which it joins; both have the same stride. False: that one
 * has as many in use as it may have. */
static inline void vb_frame_pool_leave(struct vb_frame_pool *pool)
{
	VB_ASSERT_ALL(pool->used > 0 && pool->cnt > 0);
	pool->used--;
	pool->cnt--;
}

static inline bool vb_frame_pool_join(struct vb_frame_pool *pool)
{
	if (pool->used >= pool->max) {
		pool->ran_out = true;
		return false;
	}
	pool->cnt++;
	if (++pool->used > pool->used_max)
		pool->used_max = pool->used;
	return true;
}

/* A free frame that is there, in use from now on; NULL: there is none. */
static inline struct vb_frame *vb_frame_pool_spare(struct vb_frame_pool *pool)
{
	struct vb_frame *p = pool->free;

	if (!p)
		return NULL;
	pool->free = p->next;
	pool->used++;
	return p;
}

static inline uint32_t vb_frame_payload_len(const struct vb_frame *p)
{
	return p->len - p->hdr_len - p->pad;
}

/* The lowest 32 bits of an address: of IPv4 all of it. Addresses of one fabric differ in them. */
static inline uint32_t vb_address(const struct vb_gid *gid)
{
	return (uint32_t)gid->b[12] << 24 | (uint32_t)gid->b[13] << 16 | (uint32_t)gid->b[14] << 8 |
	       gid->b[15];
}

/* The telemetry that the holder of frames has put @at bytes from the beginning of each. */
static inline struct vb_telemetry *vb_frame_telemetry(const struct vb_frame *p, uint32_t at)
{
	VB_ASSERT_ALL(at >= sizeof *p && at % _Alignof(struct vb_telemetry) == 0);
	return (struct vb_telemetry *)((uintptr_t)p + at);
}

/* A hash of what all packets of a flow have in common, so that they take one way. */
static inline uint32_t vb_flow_hash(uint32_t from, uint32_t to, uint16_t udp_sport)
{
	uint64_t x = ((uint64_t)(from - VB_FLOW_ADDRESS) << 32 | (uint32_t)(to - VB_FLOW_ADDRESS)) ^
		     (uint64_t)udp_sport << 16;

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)(x >> 32);
}

/* Frame of a packet with @len bytes BTH through pad: Ethernet's of RoCEv2, or, by LID,
 * InfiniBand's. */
uint32_t vb_frame_len(const struct vb_path *path, uint32_t len);

/* Fills in a data frame from what the core emits; @f is as the pool gave it. With @with_payload it
 * has room for VB_HDR_MAX bytes and the payload, else for VB_HDR_MAX. */
void vb_frame_fill(struct vb_frame *f, const struct vb_tx *tx, bool with_payload);
/* A second one like @f; NULL: none is left. */
struct vb_frame *vb_frame_copy(struct vb_frame_pool *pool, const struct vb_frame *f);
/* The packet in it, as a receiver gets it; it borrows the bytes and the path of @f. */
struct vb_rx vb_frame_rx(const struct vb_frame *f);
/* Damages it: flips bits where it has bytes, as @bits chooses them, and remembers the ICRC that it
 * was sent with. IBA 7.8.1 */
void vb_frame_damage(struct vb_frame *f, uint64_t bits);
/* The same inside a switch of InfiniBand: its output makes a VCRC over what is there. */
void vb_frame_damage_inside(struct vb_frame *f, uint64_t bits);
/* False when it is damaged, as its ICRC says. */
bool vb_frame_is_whole(const struct vb_frame *f);
/* False when it has been damaged since its VCRC was made, as that says. */
static inline bool vb_frame_vcrc_is_good(const struct vb_frame *f)
{
	return f->new_vcrc || vb_frame_is_whole(f);
}

/* FIFO of frames; it is empty while head is NULL, whatever tail is then. */
struct vb_frame_fifo {
	struct vb_frame *head, *tail;
};

static inline void vb_frame_fifo_push(struct vb_frame_fifo *f, struct vb_frame *p)
{
	struct vb_frame **end = f->head ? &f->tail->next : &f->head;

	*end = p;
	p->next = NULL;
	f->tail = p;
}

static inline struct vb_frame *vb_frame_fifo_pop(struct vb_frame_fifo *f)
{
	struct vb_frame *p = f->head;

	VB_ASSERT_ALL(p);
	f->head = p->next;
	__builtin_prefetch(f->head); /* it has waited long enough to be cold */
	return p;
}

#endif
