/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MADs of performance management: ClassPortInfo, the two attributes that have a port's counters,
 * and samples of counters. IBA 16.1; items FAB-40 to FAB-42, FAB-44
 */
#ifndef VB_WIRE_PMA_H
#define VB_WIRE_PMA_H

#include "wire/mad/mad.h"

#define VB_MAD_CLASS_PERF 0x04
#define VB_PMA_CLASS_VERSION 1
#define VB_PMA_DATA_AT 64 /* of an attribute, in the MAD */
#define VB_PMA_DATA_LEN 192
#define VB_PMA_PORT_ALL 0xff /* PortSelect: the sum of all ports */

enum vb_pma_attr {
	VB_PMA_CLASS_PORT_INFO = VB_MAD_CLASS_PORT_INFO,
	VB_PMA_SAMPLES_CONTROL = 0x0010,
	VB_PMA_SAMPLES_RESULT = 0x0011,
	VB_PMA_PORT_COUNTERS = 0x0012,
	VB_PMA_PORT_COUNTERS_EXT = 0x001d,
};

/* Bits of ClassPortInfo's CapabilityMask. */
#define VB_PMA_CAP_ALL_PORTS 0x0100
#define VB_PMA_CAP_EXTENDED 0x0200 /* PortCountersExtended */
#define VB_PMA_CAP_XMIT_WAIT 0x1000

#define VB_CLASS_CAP_TRAPS 0x0001 /* of any class: it sends traps to the address in @traps */

struct vb_class_port_info {
	uint8_t base_version, class_version;
	uint16_t cap_mask;
	uint32_t cap_mask2; /* 27 bits */
	uint8_t resp_time;  /* 4.096 us * 2^n, 5 bits */
	/* Where traps of the class go. IBA 13.4.8.1 */
	struct vb_class_traps {
		uint64_t prefix, guid; /* of the GID; 0: no GRH */
		uint8_t sl, hop_limit;
		uint16_t lid; /* 0: no traps are sent */
		uint16_t pkey;
		uint32_t qpn, qkey;
	} traps;
};

/* Counters of PortCounters; the number is that of the bit which selects the counter. */
enum vb_pma_counter {
	VB_PMA_SYMBOL_ERRORS,
	VB_PMA_LINK_ERROR_RECOVERY,
	VB_PMA_LINK_DOWNED,
	VB_PMA_RCV_ERRORS,
	VB_PMA_RCV_REMOTE_PHYSICAL_ERRORS,
	VB_PMA_RCV_SWITCH_RELAY_ERRORS,
	VB_PMA_XMIT_DISCARDS,
	VB_PMA_XMIT_CONSTRAINT_ERRORS,
	VB_PMA_RCV_CONSTRAINT_ERRORS,
	VB_PMA_LINK_INTEGRITY_ERRORS,
	VB_PMA_BUFFER_OVERRUN_ERRORS,
	VB_PMA_VL15_DROPPED,
	VB_PMA_XMIT_DATA,
	VB_PMA_RCV_DATA,
	VB_PMA_XMIT_PACKETS,
	VB_PMA_RCV_PACKETS,
	VB_PMA_XMIT_WAIT, /* bit 0 of CounterSelect2 */
	VB_PMA_COUNTERS
};
#define VB_PMA_ERROR_COUNTERS VB_PMA_XMIT_DATA /* those before it count errors */

/* The name of the counter as perfquery(8) prints it. */
const char *vb_pma_counter_name(enum vb_pma_counter i);

/* Those of PortCountersExtended, likewise. */
enum vb_pma_ext_counter {
	VB_PMA_EXT_XMIT_DATA,
	VB_PMA_EXT_RCV_DATA,
	VB_PMA_EXT_XMIT_PACKETS,
	VB_PMA_EXT_RCV_PACKETS,
	VB_PMA_EXT_UNICAST_XMIT,
	VB_PMA_EXT_UNICAST_RCV,
	VB_PMA_EXT_MULTICAST_XMIT,
	VB_PMA_EXT_MULTICAST_RCV,
	VB_PMA_EXT_COUNTERS
};

/* Either of the two attributes. */
struct vb_pma_counts {
	uint8_t port;                    /* PortSelect */
	uint32_t select;                 /* bit i: counter i */
	uint64_t value[VB_PMA_COUNTERS]; /* the first VB_PMA_EXT_COUNTERS of the second one */
};

#define VB_PMA_SAMPLES 15 /* counters that one sample has at most */

/* Selects the counter that a sample takes: one of those that every port has. 0: nothing.
 * IBA 16.1.3.3 */
enum vb_pma_sampled {
	VB_PMA_SAMPLED_XMIT_DATA = 1,
	VB_PMA_SAMPLED_RCV_DATA,
	VB_PMA_SAMPLED_XMIT_PACKETS,
	VB_PMA_SAMPLED_RCV_PACKETS,
	VB_PMA_SAMPLED_XMIT_WAIT,
	VB_PMA_SAMPLED_END
};

enum vb_pma_sample_status { VB_PMA_SAMPLE_DONE, VB_PMA_SAMPLE_DELAYED, VB_PMA_SAMPLE_RUNNING };

/* PortSamplesControl. FAB-44 */
struct vb_pma_control {
	uint8_t port;     /* PortSelect */
	uint8_t tick;     /* of (tick + 1) symbols of the link */
	uint8_t width;    /* of counters: 4 means 32 bits */
	uint32_t mask0_9; /* 3 bits for each of ten counters: 1 is one of all that are mandatory */
	uint16_t mask10_14;              /* likewise */
	uint8_t status;                  /* enum vb_pma_sample_status */
	uint32_t start;                  /* ticks until it begins */
	uint32_t interval;               /* ticks that it lasts */
	uint16_t tag;                    /* by which whoever set it knows the result */
	uint16_t select[VB_PMA_SAMPLES]; /* enum vb_pma_sampled */
};

/* PortSamplesResult. */
struct vb_pma_result {
	uint16_t tag;
	uint8_t status;
	uint32_t counter[VB_PMA_SAMPLES];
};

void vb_class_port_info_parse(struct vb_class_port_info *c, const uint8_t mad[VB_MAD_LEN]);
void vb_class_port_info_emit(const struct vb_class_port_info *c, uint8_t mad[VB_MAD_LEN]);
/* @attr: VB_PMA_PORT_COUNTERS or VB_PMA_PORT_COUNTERS_EXT. A value that is more than its field has
 * bits for is written as the largest that fits. FAB-41 */
void vb_pma_counts_parse(struct vb_pma_counts *c, enum vb_pma_attr attr,
			 const uint8_t mad[VB_MAD_LEN]);
void vb_pma_counts_emit(const struct vb_pma_counts *c, enum vb_pma_attr attr,
			uint8_t mad[VB_MAD_LEN]);
void vb_pma_control_parse(struct vb_pma_control *c, const uint8_t mad[VB_MAD_LEN]);
void vb_pma_control_emit(const struct vb_pma_control *c, uint8_t mad[VB_MAD_LEN]);
void vb_pma_result_parse(struct vb_pma_result *r, const uint8_t mad[VB_MAD_LEN]);
void vb_pma_result_emit(const struct vb_pma_result *r, uint8_t mad[VB_MAD_LEN]);

#endif
