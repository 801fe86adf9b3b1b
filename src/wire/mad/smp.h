/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Subnet management packets: the MADs of QP 0, by which a subnet manager finds and configures
 * ports. The header that follows the common one, the paths of directed routes, and the attributes:
 * for each a struct of host-order values and functions that know its bytes. IBA 14.2; items FAB-09,
 * FAB-14, FAB-18 to FAB-27
 */
#ifndef VB_WIRE_SMP_H
#define VB_WIRE_SMP_H

#include "wire/mad/mad.h"

#include <stdbool.h>

#define VB_MAD_CLASS_SUBN_LID 0x01      /* LID-routed */
#define VB_MAD_CLASS_SUBN_DIRECTED 0x81 /* directed route */
#define VB_SMP_CLASS_VERSION 1
#define VB_SMP_HOP_MAX 63  /* of a directed route. FAB-09 */
#define VB_SMP_PATH_LEN 64 /* ports of a path; the first is not used */
#define VB_SMP_DATA_LEN 64
#define VB_SMP_DATA_AT 64 /* of an attribute, in the MAD */

enum vb_smp_attr {
	VB_SMP_NOTICE = 0x0002,
	VB_SMP_NODE_DESCRIPTION = 0x0010,
	VB_SMP_NODE_INFO = 0x0011,
	VB_SMP_SWITCH_INFO = 0x0012,
	VB_SMP_GUID_INFO = 0x0014,
	VB_SMP_PORT_INFO = 0x0015,
	VB_SMP_PKEY_TABLE = 0x0016,
	VB_SMP_SL2VL = 0x0017,
	VB_SMP_VL_ARB = 0x0018,
	VB_SMP_LFT = 0x0019,
	VB_SMP_RFT = 0x001a,
	VB_SMP_MFT = 0x001b,
	VB_SMP_SM_INFO = 0x0020,
	VB_SMP_VENDOR_DIAG = 0x0030,
	VB_SMP_LED_INFO = 0x0031,
};

/* Statuses. Bits 2 to 4 say which field is invalid. IBA 14.2.1.2; FAB-15 */
enum vb_smp_status {
	VB_SMP_GOOD = 0x0000,
	VB_SMP_BAD_VERSION = 0x0004,
	VB_SMP_BAD_METHOD = 0x0008,
	VB_SMP_BAD_METHOD_ATTR = 0x000c,
	VB_SMP_BAD_FIELD = 0x001c,
};

/* The fields that an SMP adds to the common header. In a directed route the top bit of the status
 * is the direction, and the hop counts take the place of the class specific word. IBA 14.2.1.2 */
struct vb_smp_route {
	bool returning; /* the D bit: a response */
	uint16_t status;
	uint8_t hop_ptr, hop_cnt;
	uint16_t dr_slid, dr_dlid; /* 0xFFFF: this part of the route has no LIDs */
	uint64_t mkey;
};

void vb_smp_route_parse(struct vb_smp_route *r, const uint8_t mad[VB_MAD_LEN]);
void vb_smp_route_emit(const struct vb_smp_route *r, uint8_t mad[VB_MAD_LEN]);

/* The paths of a directed route, VB_SMP_PATH_LEN port numbers each. */
static inline uint8_t *vb_smp_initial_path(uint8_t mad[VB_MAD_LEN])
{
	return mad + 128;
}
static inline uint8_t *vb_smp_return_path(uint8_t mad[VB_MAD_LEN])
{
	return mad + 192;
}

enum vb_node_type { VB_NODE_CA = 1, VB_NODE_SWITCH, VB_NODE_ROUTER };

/* FAB-18 */
struct vb_node_info {
	uint8_t base_version, class_version;
	uint8_t type; /* enum vb_node_type */
	uint8_t port_cnt;
	uint64_t system_guid, node_guid, port_guid;
	uint16_t pkey_cap;
	uint16_t device_id;
	uint32_t revision;
	uint8_t local_port; /* by which the SMP came */
	uint32_t vendor_id; /* 24 bits */
};

/* FAB-03 */
struct vb_switch_info {
	uint16_t linear_cap, random_cap, multicast_cap;
	uint16_t linear_top;
	uint8_t default_port, default_mcast_primary, default_mcast_other;
	uint8_t life_time;         /* 5 bits */
	uint8_t port_state_change; /* 1 bit */
	uint8_t sl2vl_optimized;   /* 2 bits */
	uint16_t lids_per_port, enforce_cap;
	uint8_t inbound_enforce, outbound_enforce, filter_raw_in, filter_raw_out, enhanced_port0;
	uint16_t multicast_top;
};

/* FAB-21, FAB-22. Widths and speeds are bits of their fields, times and sizes are codes. */
struct vb_port_info {
	uint64_t mkey, prefix;
	uint16_t lid, sm_lid;
	uint32_t cap_mask;
	uint16_t diag, mkey_lease;
	uint8_t local_port;
	uint8_t width_enabled, width_supported, width_active;
	uint8_t speed_supported, state; /* 4 bits each; enum vb_link_state */
	uint8_t phys_state, down_default;
	uint8_t mkey_protect; /* 2 bits */
	uint8_t lmc;          /* 3 bits */
	uint8_t speed_active, speed_enabled;
	uint8_t neighbor_mtu, sm_sl;
	uint8_t vl_cap, init_type;
	uint8_t high_limit, arb_high_cap, arb_low_cap;
	uint8_t init_reply, mtu_cap;
	uint8_t vl_stall_count; /* 3 bits */
	uint8_t hoq_life;       /* 5 bits */
	uint8_t oper_vls;
	uint8_t enforce_in, enforce_out, filter_raw_in, filter_raw_out;
	uint16_t mkey_violations, pkey_violations, qkey_violations;
	uint8_t guid_cap;
	uint8_t client_reregister;         /* 1 bit */
	uint8_t mcast_pkey_trap;           /* 2 bits */
	uint8_t subnet_timeout, resp_time; /* 5 bits each */
	uint8_t local_errors, overrun_errors;
	uint16_t credit_hint;
	uint32_t round_trip; /* 24 bits */
	uint16_t cap_mask2;
	uint8_t ext_speed_active, ext_speed_supported; /* 4 bits each */
	uint8_t ext_speed_enabled;                     /* 5 bits */
};

/* FAB-28 */
struct vb_sm_info {
	uint64_t guid, sm_key;
	uint32_t activity;
	uint8_t priority, state; /* 4 bits each */
};

/* FAB-30 */
/* IBA 13.4.8.2 */
enum vb_notice_type {
	VB_NOTICE_URGENT = 1,
	VB_NOTICE_SECURITY = 2,
	VB_NOTICE_INFORMATIONAL = 4,
};

struct vb_notice {
	uint8_t is_generic;
	uint8_t type;      /* 7 bits: enum vb_notice_type */
	uint32_t producer; /* 24 bits: enum vb_node_type */
	uint16_t trap;
	uint16_t issuer_lid;
	uint8_t toggle;
	uint16_t count; /* 15 bits */
};
#define VB_NOTICE_DETAILS_AT 10 /* in the data; 54 bytes */

void vb_node_info_parse(struct vb_node_info *n, const uint8_t mad[VB_MAD_LEN]);
void vb_node_info_emit(const struct vb_node_info *n, uint8_t mad[VB_MAD_LEN]);
void vb_switch_info_parse(struct vb_switch_info *s, const uint8_t mad[VB_MAD_LEN]);
void vb_switch_info_emit(const struct vb_switch_info *s, uint8_t mad[VB_MAD_LEN]);
void vb_port_info_parse(struct vb_port_info *p, const uint8_t mad[VB_MAD_LEN]);
void vb_port_info_emit(const struct vb_port_info *p, uint8_t mad[VB_MAD_LEN]);
void vb_sm_info_parse(struct vb_sm_info *s, const uint8_t mad[VB_MAD_LEN]);
void vb_sm_info_emit(const struct vb_sm_info *s, uint8_t mad[VB_MAD_LEN]);
void vb_notice_parse(struct vb_notice *n, const uint8_t mad[VB_MAD_LEN]);
void vb_notice_emit(const struct vb_notice *n, uint8_t mad[VB_MAD_LEN]);

/* Blocks of tables: words and bytes of the data by their place in it. */
uint16_t vb_smp_get16(const uint8_t mad[VB_MAD_LEN], uint32_t index); /* index 0 to 31 */
void vb_smp_put16(uint8_t mad[VB_MAD_LEN], uint32_t index, uint16_t v);
uint64_t vb_smp_get64(const uint8_t mad[VB_MAD_LEN], uint32_t index); /* index 0 to 7 */
void vb_smp_put64(uint8_t mad[VB_MAD_LEN], uint32_t index, uint64_t v);

#endif
