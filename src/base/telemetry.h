/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * In-band telemetry: records that switches add to a packet of data, and that its ACK returns. They
 * are beside the packet, in the simulator alone, and take the bytes on the wire that HPCC has for
 * them. Li et al., HPCC, SIGCOMM 2019, section 4.1
 */
#ifndef VB_BASE_TELEMETRY_H
#define VB_BASE_TELEMETRY_H

#include "verbena/cc.h"

/* Of five hops: 8 bytes each, and 2 for all. */
#define VB_TELEMETRY_BYTES 42u

struct vb_telemetry {
	uint32_t hop_cnt;
	uint32_t is_return; /* of an ACK: switches add nothing */
	struct verbena_cc_hop hop[VERBENA_CC_HOPS_MAX];
};

#endif
