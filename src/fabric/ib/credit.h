/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The credits of one lane of an InfiniBand link, at both of its ends. Counts are absolute, in
 * blocks of 64 bytes, modulo 4096: a lost data packet or flow control packet costs credits only
 * until the next flow control packet. IBA 7.9.4; items LNK-14, LNK-16, LNK-17
 */
#ifndef VB_FABRIC_IB_CREDIT_H
#define VB_FABRIC_IB_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

#define VB_BLOCK_LEN 64u

/* Blocks of a packet of @len bytes, LRH through VCRC. */
static inline uint32_t vb_blocks(uint32_t len)
{
	return (len + VB_BLOCK_LEN - 1) / VB_BLOCK_LEN;
}

/* The sending end. All zero: nothing may be sent until the receiver has told its limit. */
struct vb_credit_tx {
	uint16_t fctbs; /* blocks sent since the link came up, modulo 4096 */
	uint16_t fccl;  /* count up to which the receiver lets it send */
};

/* The receiving end. */
struct vb_credit_rx {
	uint16_t abr;      /* adjusted blocks received, modulo 4096 */
	uint32_t capacity; /* of this lane's buffer, blocks */
	uint32_t used;     /* blocks of packets that lie in it */
};

/* True when a packet of @blocks may begin. */
bool vb_credit_may_send(const struct vb_credit_tx *t, uint32_t blocks);
/* A packet of @blocks leaves; vb_credit_may_send() said yes. */
void vb_credit_send(struct vb_credit_tx *t, uint32_t blocks);
/* A flow control packet tells the limit. */
void vb_credit_set_limit(struct vb_credit_tx *t, uint16_t fccl);

/* A data packet of @blocks came. True when the buffer had room and holds it now; false: an overrun,
 * the packet is lost. It counts as received either way. */
bool vb_credit_receive(struct vb_credit_rx *r, uint32_t blocks);
/* @blocks of the buffer became free. */
void vb_credit_release(struct vb_credit_rx *r, uint32_t blocks);
/* A flow control packet tells how much was sent: what was lost on the way counts as received. */
void vb_credit_adjust(struct vb_credit_rx *r, uint16_t fctbs);
/* The limit for the next flow control packet. */
uint16_t vb_credit_limit(const struct vb_credit_rx *r);

#endif
