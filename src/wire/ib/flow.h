/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flow control packets, by which each end of an InfiniBand link tells the other, for one lane, how
 * many blocks of 64 bytes it has sent and up to which count the other may send. Both counts are
 * absolute, modulo 4096. IBA 7.9.4; item LNK-15
 */
#ifndef VB_WIRE_IB_FLOW_H
#define VB_WIRE_IB_FLOW_H

#include <stdint.h>

#define VB_FLOW_LEN 6
#define VB_FLOW_MODULUS 4096u

enum vb_flow_op { VB_FLOW_NORMAL, VB_FLOW_INIT };

struct vb_flow_packet {
	uint8_t op;     /* enum vb_flow_op */
	uint8_t vl;     /* 4 bits */
	uint16_t fctbs; /* flow control total blocks sent, 12 bits */
	uint16_t fccl;  /* flow control credit limit, 12 bits */
};

void vb_flow_emit(const struct vb_flow_packet *f, uint8_t packet[VB_FLOW_LEN]);

/* Reads a packet. -EBADMSG: its CRC is wrong. -EPROTONOSUPPORT: its operation is none of the two.
 */
int vb_flow_parse(struct vb_flow_packet *f, const uint8_t packet[VB_FLOW_LEN]);

#endif
