/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes of flow control packets, see flow.h. */
#include "wire/ib/flow.h"

#include "base/assert.h"
#include "wire/be.h"
#include "wire/ib/vcrc.h"

#include <errno.h>

#define CRC_AT 4
#define COUNT_MASK (VB_FLOW_MODULUS - 1)

void vb_flow_emit(const struct vb_flow_packet *f, uint8_t packet[VB_FLOW_LEN])
{
	VB_ASSERT_ALL(f->op <= 15 && f->vl <= 15);
	be16_put(packet, (uint16_t)(f->op << 12 | (f->fctbs & COUNT_MASK)));
	be16_put(packet + 2, (uint16_t)(f->vl << 12 | (f->fccl & COUNT_MASK)));
	vb_vcrc_put(packet + CRC_AT, vb_vcrc(packet, CRC_AT));
}

int vb_flow_parse(struct vb_flow_packet *f, const uint8_t packet[VB_FLOW_LEN])
{
	uint16_t sent = be16_get(packet), limit = be16_get(packet + 2);

	if (vb_vcrc_get(packet + CRC_AT) != vb_vcrc(packet, CRC_AT))
		return -EBADMSG;
	*f = (struct vb_flow_packet){
	    .op = (uint8_t)(sent >> 12),
	    .vl = (uint8_t)(limit >> 12),
	    .fctbs = sent & COUNT_MASK,
	    .fccl = limit & COUNT_MASK,
	};
	return f->op <= VB_FLOW_INIT ? 0 : -EPROTONOSUPPORT;
}
