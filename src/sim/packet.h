/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A packet under way in a simulated network, and the pool that all of them come from. The headers
 * are always real bytes, as the core emitted them; the payload has bytes when the simulation
 * carries data, and only a length otherwise.
 */
#ifndef VB_SIM_PACKET_H
#define VB_SIM_PACKET_H

#include "base/time.h"
#include "wire/packet.h"

#include <stddef.h>

#define VB_SIM_PRIOS 8

/* Ethernet: MAC header and FCS are part of a frame, preamble, start and gap take time only. */
#define VB_FRAME_OVERHEAD 18u
#define VB_FRAME_GAP 20u
#define VB_FRAME_MIN 64u

enum vb_sim_packet_kind { VB_SIM_ROCE, VB_SIM_PAUSE };

/* The way to the next packet of a queue or a cable. */
struct vb_sim_link {
	struct vb_sim_packet *next; /* NULL: there is none */
	vb_time at;                 /* on a cable: when that arrives; VB_NEVER: never */
};

struct vb_sim_packet {
	struct vb_sim_link behind;
	struct vb_sim_packet *prev; /* on a cable; of the first one it says nothing */
	vb_time at;                 /* arrival at the end of the cable */
	uint32_t dst;               /* host, or all but the sender */
	uint32_t hash;              /* of its flow, for ECMP */
	uint32_t len;               /* BTH through pad */
	uint32_t frame;             /* bytes of the Ethernet frame */
	uint32_t in;                /* port by which it came into the switch it is in */
	uint8_t kind;               /* enum vb_sim_packet_kind */
	uint8_t prio;               /* PAUSE: the priority it is about */
	bool pause_on : 1;          /* PAUSE */
	bool corrupt : 1;
	bool has_payload : 1; /* the bytes behind the headers are there */
	bool in_headroom;
	uint8_t hdr_len, pad;
	uint16_t mark; /* what a fault of this cable does to it: enum vb_fault_mark */
	uint32_t icrc; /* with corrupt and bytes: as it was when the packet was sent */
	/* From here on: a line that switches leave alone. It ends behind an AETH. */
	struct vb_path path;
	uint8_t bytes[];
};
_Static_assert(offsetof(struct vb_sim_packet, path) == 64, "a line for switches");

struct vb_sim_slab {
	struct vb_sim_slab *next;
};

/* Grows by slabs up to its limit. */
struct vb_sim_pool {
	struct vb_sim_packet *free;
	struct vb_sim_slab *slabs;
	size_t stride;
	uint32_t cnt, max, used, used_max;
	void *(*alloc)(void *ctx, size_t size);
	void (*release)(void *ctx, void *p);
	void *alloc_ctx;
};

/* NULL: the limit is reached or there is no memory. */
struct vb_sim_packet *vb_sim_pool_take(struct vb_sim_pool *pool);
void vb_sim_pool_destroy(struct vb_sim_pool *pool);

static inline void vb_sim_pool_give(struct vb_sim_pool *pool, struct vb_sim_packet *p)
{
	p->behind.next = pool->free;
	pool->free = p;
	pool->used--;
}

static inline uint32_t vb_sim_payload_len(const struct vb_sim_packet *p)
{
	return p->len - p->hdr_len - p->pad;
}

/* The priority of a packet: the class selector bits of its DSCP. */
static inline uint8_t vb_sim_priority(const struct vb_path *path)
{
	return path->traffic_class >> 5;
}

/* Ethernet frame of a RoCEv2 packet with @len bytes BTH through pad. */
static inline uint32_t vb_sim_frame(const struct vb_path *path, uint32_t len)
{
	uint32_t ip = vb_gid_is_ipv4(&path->sgid) ? 20 : 40;
	uint32_t frame = VB_FRAME_OVERHEAD + ip + 8 + len + VB_ICRC_LEN;

	return frame < VB_FRAME_MIN ? VB_FRAME_MIN : frame;
}

/* FIFO of packets; it is empty while head is NULL, whatever tail is then. */
struct vb_sim_fifo {
	struct vb_sim_packet *head, *tail;
};

static inline void vb_sim_fifo_push(struct vb_sim_fifo *f, struct vb_sim_packet *p)
{
	struct vb_sim_packet **end = f->head ? &f->tail->behind.next : &f->head;

	*end = p;
	p->behind.next = NULL;
	f->tail = p;
}

static inline struct vb_sim_packet *vb_sim_fifo_pop(struct vb_sim_fifo *f)
{
	struct vb_sim_packet *p = f->head;

	f->head = p->behind.next;
	__builtin_prefetch(f->head); /* it has waited long enough to be cold */
	return p;
}

#endif
