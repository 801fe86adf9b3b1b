/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The global route header, by which routers forward between subnets: an IPv6 header with a next
 * header of its own. IBA 8.3; items LNK-05, LNK-06
 */
#ifndef VB_WIRE_IB_GRH_H
#define VB_WIRE_IB_GRH_H

#include "wire/path.h"

#define VB_GRH_NEXT_HEADER 0x1b /* of a GRH that a BTH follows */

struct vb_grh {
	struct vb_gid sgid, dgid;
	uint32_t flow_label; /* 20 bits */
	uint16_t pay_len;    /* bytes behind the GRH, through the ICRC */
	uint8_t version;     /* 4 bits: 6 */
	uint8_t traffic_class;
	uint8_t next_header;
	uint8_t hop_limit;
};

void vb_grh_parse(struct vb_grh *h, const uint8_t grh[VB_GRH_LEN]);
void vb_grh_emit(const struct vb_grh *h, uint8_t grh[VB_GRH_LEN]);

/* True when the GRH of a packet with @words words from the LRH through the ICRC is well formed. The
 * addresses are the receiver's to check. LNK-05 */
bool vb_grh_is_good(const struct vb_grh *h, uint32_t words);

#endif
