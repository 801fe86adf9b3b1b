/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of a client to the subnet administrator, and its answers. A question names an attribute,
 * and by a mask the components that a record has to match. IBA 15.2; items FAB-51, FAB-52
 */
#ifndef VB_WIRE_MAD_SA_H
#define VB_WIRE_MAD_SA_H

#include "wire/mad/mad.h"
#include "wire/path.h"

#define VB_MAD_CLASS_SUBN_ADM 0x03
#define VB_SA_DATA_AT 56
#define VB_SA_METHOD_DELETE 0x15
/* A selector: exactly this MTU, rate or lifetime. IBA 15.2.5.16 */
#define VB_SA_EXACTLY 2

enum vb_sa_attr {
	VB_SA_INFORM_INFO = 0x03,
	VB_SA_PATH_RECORD = 0x35,
	VB_SA_MCMEMBER_RECORD = 0x38
};

/* Components of a PathRecord that are asked by. */
enum vb_sa_path_component {
	VB_SA_PATH_SERVICE_ID = 1 << 0 | 1 << 1,
	VB_SA_PATH_DGID = 1 << 2,
	VB_SA_PATH_SGID = 1 << 3,
	VB_SA_PATH_TRAFFIC_CLASS = 1 << 10,
	VB_SA_PATH_REVERSIBLE = 1 << 11,
	VB_SA_PATH_NUMB_PATH = 1 << 12,
	VB_SA_PATH_PKEY = 1 << 13,
	VB_SA_PATH_QOS_CLASS = 1 << 14,
};

/* IBA 15.2.5.16. MTU, rate and lifetime are codes. */
struct vb_sa_path {
	uint64_t service_id;
	struct vb_gid dgid, sgid;
	uint16_t dlid, slid;
	uint32_t flow_label;
	uint8_t hop_limit, traffic_class;
	uint8_t reversible, numb_path;
	uint16_t pkey, qos_class;
	uint8_t sl;
	uint8_t mtu_selector, mtu;
	uint8_t rate_selector, rate;
	uint8_t lifetime_selector, lifetime;
	uint8_t preference;
};
#define VB_SA_PATH_LEN 64

/* Components of an MCMemberRecord. */
enum vb_sa_mcmember_component {
	VB_SA_MC_MGID = 1 << 0,
	VB_SA_MC_PORT_GID = 1 << 1,
	VB_SA_MC_QKEY = 1 << 2,
	VB_SA_MC_MTU = 1 << 4 | 1 << 5, /* with its selector */
	VB_SA_MC_TRAFFIC_CLASS = 1 << 6,
	VB_SA_MC_PKEY = 1 << 7,
	VB_SA_MC_RATE = 1 << 8 | 1 << 9, /* with its selector */
	VB_SA_MC_SL = 1 << 12,
	VB_SA_MC_FLOW_LABEL = 1 << 13,
	VB_SA_MC_HOP_LIMIT = 1 << 14,
	VB_SA_MC_JOIN_STATE = 1 << 16,
};
/* Of join_state. */
enum { VB_SA_JOIN_FULL = 1, VB_SA_JOIN_SEND_ONLY = 8 };

/* IBA 15.2.5.17 */
struct vb_sa_mcmember {
	struct vb_gid mgid, port_gid;
	uint32_t qkey;
	uint16_t mlid;
	uint8_t mtu_selector, mtu;
	uint8_t traffic_class;
	uint16_t pkey;
	uint8_t rate_selector, rate;
	uint8_t lifetime_selector, lifetime;
	uint8_t sl;
	uint32_t flow_label;
	uint8_t hop_limit;
	uint8_t scope, join_state;
};

/* A question, or an answer, of one record. */
struct vb_sa_msg {
	uint64_t tid;
	uint8_t method;
	uint16_t attr_id; /* enum vb_sa_attr, or another one in an answer */
	uint16_t status;
	uint64_t mask; /* of components */
	union {        /* by attr_id; of others nothing is read */
		struct vb_sa_path path;
		struct vb_sa_mcmember member;
	};
};

/* Writes all of @mad. */
void vb_sa_emit(const struct vb_sa_msg *m, uint8_t mad[VB_MAD_LEN]);
/* -EPROTONOSUPPORT: it is not of this class and version. */
int vb_sa_parse(struct vb_sa_msg *m, const uint8_t mad[VB_MAD_LEN]);

/* The record alone, as it stands behind VB_SA_DATA_AT. */
void vb_sa_path_emit(const struct vb_sa_path *p, uint8_t record[VB_SA_PATH_LEN]);
void vb_sa_path_parse(struct vb_sa_path *p, const uint8_t record[VB_SA_PATH_LEN]);

#endif
