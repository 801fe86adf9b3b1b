/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The local route header, by which InfiniBand switches forward: the parsed form, the only functions
 * that know its bytes, and the checks of its length. IBA 7.7, 7.8.1; items LNK-01 to LNK-04
 *
 * A packet on an InfiniBand link is LRH, GRH if the LNH says so, BTH and what follows it, ICRC,
 * VCRC. Lengths in the header count 4-byte words from the LRH through the ICRC.
 */
#ifndef VB_WIRE_IB_LRH_H
#define VB_WIRE_IB_LRH_H

#include <stdbool.h>
#include <stdint.h>

#define VB_LRH_LEN 8
#define VB_VCRC_LEN 2

#define VB_LID_MULTICAST 0xc000  /* first multicast LID. IBT-96 */
#define VB_LID_PERMISSIVE 0xffff /* of directed routes: every port takes it */

/* Link next header: the header behind the LRH. */
enum vb_lnh {
	VB_LNH_RAW,    /* RWH: a raw packet with an EtherType */
	VB_LNH_IPV6,   /* a raw IPv6 packet */
	VB_LNH_LOCAL,  /* BTH */
	VB_LNH_GLOBAL, /* GRH, then BTH */
};

static inline bool vb_lnh_is_raw(uint8_t lnh)
{
	return lnh < VB_LNH_LOCAL;
}

struct vb_lrh {
	uint8_t vl;      /* 4 bits: the lane on this link */
	uint8_t version; /* 4 bits: 0 */
	uint8_t sl;      /* 4 bits */
	uint8_t lnh;     /* enum vb_lnh */
	uint16_t dlid, slid;
	uint16_t words; /* 11 bits: length of LRH through ICRC in words of 4 bytes */
};

/* The verdict of vb_lrh_check(). Each but VB_LRH_GOOD drops the packet. LNK-02, LNK-04 */
enum vb_lrh_verdict {
	VB_LRH_GOOD,
	VB_LRH_BAD_VERSION,
	VB_LRH_TOO_SHORT,  /* for the headers that the LNH promises */
	VB_LRH_TOO_LONG,   /* for the MTU */
	VB_LRH_BAD_LENGTH, /* the header tells another length than that of the packet */
	VB_LRH_IS_RAW,     /* well formed, but raw packets are not served here */
	VB_LRH_VERDICT_CNT
};

/* Reserved bits are not looked at. */
void vb_lrh_parse(struct vb_lrh *h, const uint8_t lrh[VB_LRH_LEN]);
/* Reserved bits are 0. */
void vb_lrh_emit(const struct vb_lrh *h, uint8_t lrh[VB_LRH_LEN]);

/* Checks the header of a packet of @len bytes, LRH through VCRC, for a port with the MTU @mtu,
 * which is 256 to 4096 bytes of payload. */
enum vb_lrh_verdict vb_lrh_check(const struct vb_lrh *h, uint32_t len, uint32_t mtu);

#endif
