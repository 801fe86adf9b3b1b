/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How full the receive sockets of one host are. UDP over loopback drops what a receiver cannot
 * take; an adapter's own link would have paused the sender instead. So the processes of a host
 * share one entry per receive socket: senders add what they sent there, the receiver adds what it
 * took, and senders look at the difference first. It also adds what it has answered: nobody
 * misses an ACK of a process that has not had a processor since. Entries are only a hint: a lost
 * packet, a stale or a hostile value costs speed or packets, never memory.
 */
#ifndef VB_LINK_FLOW_H
#define VB_LINK_FLOW_H

#include <stdint.h>

/* A cache line for each side, so that neither waits for what the other writes. */
struct vb_flow {
	uint64_t sent; /* bytes, each datagram counted with VB_FLOW_OVERHEAD */
	uint8_t rsv0[56];
	uint64_t taken;    /* the same of what the receiver has read */
	uint64_t answered; /* @taken when the receiver last owed nobody an answer */
	uint8_t rsv1[48];
};
_Static_assert(sizeof(struct vb_flow) == 128, "shared between processes");

/* The bytes that one process has sent to a receive socket. */
struct vb_flow_own {
	uint64_t last;  /* the last result of vb_flow_sending() */
	uint64_t bytes; /* in all */
};

/* The bytes that the kernel charges a receive buffer for a datagram beside its own, about. */
#define VB_FLOW_OVERHEAD 1024u

/* The most that one send adds to a receive socket: a datagram over IPv6. */
#define VB_FLOW_BATCH_MAX 65487

/*
 * Returns what the receiver will have taken when it has read this one, if it reads all that was
 * sent. To be called before a datagram is sent: counted afterwards, it may be in the socket, read,
 * and the socket found empty before that, and would then wait there for ever as far as the counts
 * say. Counted before, the receiver may for a moment seem to have taken more than there was.
 */
static inline uint64_t vb_flow_sending(struct vb_flow *f, uint32_t bytes)
{
	return __atomic_add_fetch(&f->sent, bytes + VB_FLOW_OVERHEAD, __ATOMIC_RELAXED);
}

/* It was not sent after all. */
static inline void vb_flow_unsent(struct vb_flow *f, uint32_t bytes)
{
	__atomic_fetch_sub(&f->sent, bytes + VB_FLOW_OVERHEAD, __ATOMIC_RELAXED);
}

static inline void vb_flow_taken(struct vb_flow *f, uint32_t bytes)
{
	__atomic_store_n(&f->taken, f->taken + bytes + VB_FLOW_OVERHEAD, __ATOMIC_RELAXED);
}

/* The receiver found its socket empty: nothing is on its way, whatever the counts say. */
static inline void vb_flow_empty(struct vb_flow *f)
{
	uint64_t sent = __atomic_load_n(&f->sent, __ATOMIC_RELAXED);

	if (f->taken != sent)
		__atomic_store_n(&f->taken, sent, __ATOMIC_RELAXED);
}

/* The receiver has sent the answers to all that it has read, or owed none. */
static inline void vb_flow_answered(struct vb_flow *f)
{
	if (f->answered != f->taken)
		__atomic_store_n(&f->answered, f->taken, __ATOMIC_RELAXED);
}

/* Bytes that waited in the socket when it had @taken so many. */
static inline uint64_t vb_flow_backlog(const struct vb_flow *f, uint64_t taken)
{
	uint64_t n = __atomic_load_n(&f->sent, __ATOMIC_RELAXED) - taken;

	return (int64_t)n < 0 ? 0 : n;
}

#endif
