/* SPDX-License-Identifier: BSD-2-Clause */
/* A packet in a queue of an InfiniBand port. The owner's struct for the packet embeds it. */
#ifndef VB_FABRIC_IB_ITEM_H
#define VB_FABRIC_IB_ITEM_H

#include "base/list.h"
#include "base/time.h"

#include <stdbool.h>
#include <stdint.h>

struct vb_ib_item {
	struct vb_list node;
	uint32_t len; /* bytes, LRH through VCRC */
	uint8_t vl;   /* lane at this output */
	bool is_raw;  /* it has no BTH. LNK-04 */
	vb_time came; /* to this output: into the switch */
};

#endif
