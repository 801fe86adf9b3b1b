/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets as values that cross the border between the core and a link: BTH through padded payload,
 * and a path. ICRC and everything below the BTH belong to the link.
 */
#ifndef VB_WIRE_PACKET_H
#define VB_WIRE_PACKET_H

#include "base/telemetry.h"
#include "wire/hdr.h"
#include "wire/path.h"

#include <stdint.h>

/* A received packet, its ICRC checked and removed. */
struct vb_rx {
	const uint8_t *pkt;         /* headers and, unless absent, payload and pad */
	uint32_t len;               /* BTH through pad, bytes */
	uint32_t avail;             /* bytes at pkt; < len when the rest is at body, or absent */
	const struct vb_path *path; /* sgid is the sender's; traffic_class as received */
	/* Payload and pad, when they are not behind the headers but here; then avail is what the
	 * opcode's headers have. Others may write here while the packet is handled. NULL: absent,
	 * or behind the headers. */
	const uint8_t *body;
	const struct vb_telemetry *telemetry; /* NULL: there is none */
};

/* Bytes of a packet that are there. */
static inline uint32_t vb_rx_bytes(const struct vb_rx *rx)
{
	return rx->body || rx->avail > rx->len ? rx->len : rx->avail;
}

/* Copies vb_rx_bytes() of them to @to, one behind the other. */
static inline void vb_rx_copy(const struct vb_rx *rx, uint8_t *to)
{
	uint32_t bytes = vb_rx_bytes(rx), first = bytes < rx->avail ? bytes : rx->avail;

	memcpy(to, rx->pkt, first);
	if (bytes > first)
		memcpy(to + first, rx->body, bytes - first);
}

/* A run of payload bytes; NULL when the memory has a length only (simulation). */
struct vb_seg {
	const void *p;
	uint32_t len;
};

/* Bytes of payload that a packet has at most: the largest path MTU. */
#define VB_PAYLOAD_MAX 4096u

/* A packet to send. Headers are copied, payload is borrowed. */
struct vb_tx {
	const struct vb_path *path;
	const struct vb_seg *seg;             /* payload, seg_cnt runs */
	const struct vb_telemetry *telemetry; /* that an ACK returns; NULL: none */
	uint32_t payload_len;                 /* sum of the runs, without pad */
	uint8_t seg_cnt;
	uint8_t pad; /* zero bytes to append behind the payload, 0...3 */
	uint8_t hdr_len;
	uint8_t hdr[VB_HDR_MAX];
};

/* The effect of a fault on a packet that leaves; only a link that makes faults sets it. */
struct vb_tx_fate {
	uint64_t damage; /* not 0: bits of the headers are flipped behind the ICRC, chosen by it */
	uint16_t mark;   /* for the capture: enum vb_fault_mark */
};

#define VB_TX_BATCH_PKTS 64
#define VB_TX_BATCH_SEGS 256

/*
 * Packets to send, in order. Paths and segments stay valid until the next call on the HCA other
 * than vb_hca_poll_transmit().
 */
struct vb_tx_batch {
	uint32_t cnt, seg_cnt;
	const struct vb_tx_fate *fate; /* of each packet; NULL: nothing happens to them */
	struct vb_tx pkt[VB_TX_BATCH_PKTS];
	struct vb_seg seg[VB_TX_BATCH_SEGS];
};

/* A received packet as one to send, its payload in @seg, which is borrowed. False: it is not whole,
 * or its lengths contradict each other. */
static inline bool vb_tx_of_rx(const struct vb_rx *rx, struct vb_tx *tx, struct vb_seg *seg)
{
	uint32_t hdr_len, pad;

	if (rx->avail < VB_BTH_LEN || vb_rx_bytes(rx) != rx->len)
		return false;
	hdr_len = vb_hdr_len(rx->pkt);
	pad = rx->pkt[1] >> 4 & 3; /* PadCnt, IBA 9.2.1 */
	if (hdr_len < VB_BTH_LEN || hdr_len > rx->avail || hdr_len + pad > rx->len ||
	    rx->len - hdr_len - pad > VB_PAYLOAD_MAX)
		return false;
	*seg = (struct vb_seg){rx->body ? rx->body : rx->pkt + hdr_len, rx->len - hdr_len - pad};
	*tx = (struct vb_tx){.path = rx->path,
			     .seg = seg,
			     .payload_len = seg->len,
			     .seg_cnt = 1,
			     .pad = (uint8_t)pad,
			     .hdr_len = (uint8_t)hdr_len};
	memcpy(tx->hdr, rx->pkt, hdr_len);
	return true;
}

/* The AckReq bit of a packet to send. */
static inline bool vb_tx_asks_ack(const struct vb_tx *tx)
{
	return tx->hdr[8] & 0x80;
}

/* UDP payload of a packet: BTH through ICRC, bytes. */
static inline uint32_t vb_tx_wire_len(const struct vb_tx *tx)
{
	return tx->hdr_len + tx->payload_len + tx->pad + VB_ICRC_LEN;
}

#endif
