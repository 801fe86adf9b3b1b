/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of the communication manager (management class 7, version 2): the parsed form, and the
 * only functions that know their bytes.
 *
 * A message is a MAD with the method Send; its attribute says which one. Numbers are in host order.
 * Reserved bits are sent as 0 and not looked at. IBA 12.6; items CMP-01 to CMP-07, CMP-24
 */
#ifndef VB_WIRE_CM_H
#define VB_WIRE_CM_H

#include "wire/mad/mad.h"
#include "wire/path.h"

#define VB_CM_CLASS_VERSION 2
#define VB_CM_PRIVATE_MAX 224 /* bytes of private data, of any message */
#define VB_CM_INFO_LEN 72     /* bytes of additional rejection information */

/* Attribute of a message. IBA 12.6.2, table 98 */
enum vb_cm_attr {
	VB_CM_REQ = 0x10,
	VB_CM_MRA = 0x11,
	VB_CM_REJ = 0x12,
	VB_CM_REP = 0x13,
	VB_CM_RTU = 0x14,
	VB_CM_DREQ = 0x15,
	VB_CM_DREP = 0x16,
	VB_CM_SIDR_REQ = 0x17,
	VB_CM_SIDR_REP = 0x18,
	VB_CM_LAP = 0x19,
	VB_CM_APR = 0x1a,
};
#define VB_CM_ATTR_FIRST VB_CM_REQ
#define VB_CM_ATTR_LAST VB_CM_APR

/* REQ.transport: RC 0, UC 1, RD 2; 3 with ext_transport 1: XRC. IBA 12.7.15, 14.7 of annex A14 */
#define VB_CM_TRANSPORT_RC 0
#define VB_CM_TRANSPORT_UC 1
#define VB_CM_TRANSPORT_EXT 3
#define VB_CM_EXT_XRC 1

/* The message that an MRA or a REJ is about. IBA 12.7.8, 12.7.9 */
enum vb_cm_about { VB_CM_ABOUT_REQ, VB_CM_ABOUT_REP, VB_CM_ABOUT_OTHER };

/* Why a message was rejected. IBA 12.6.7.2, table 103; CMP-17 */
enum vb_cm_reason {
	VB_CM_REJ_NO_QP = 1,
	VB_CM_REJ_TIMEOUT = 4,
	VB_CM_REJ_UNSUPPORTED = 5,
	VB_CM_REJ_INVALID_COMM_ID = 6,
	VB_CM_REJ_INVALID_SERVICE_ID = 8,
	VB_CM_REJ_INVALID_TRANSPORT = 9,
	VB_CM_REJ_STALE_CONN = 10,
	VB_CM_REJ_INVALID_GID = 12,
	VB_CM_REJ_INVALID_ALT_GID = 18,
	VB_CM_REJ_INVALID_ALT_LID = 19,
	VB_CM_REJ_INVALID_MTU = 26,
	VB_CM_REJ_CONSUMER = 28,
	VB_CM_REJ_VENDOR_OPTION = 35,
};

/* SIDR_REP.status. IBA 12.11.2.2; CMP-24 */
enum vb_cm_sidr_status {
	VB_CM_SIDR_VALID,
	VB_CM_SIDR_UNSUPPORTED, /* no listener */
	VB_CM_SIDR_REJECT,
	VB_CM_SIDR_NO_QP,
	VB_CM_SIDR_REDIRECT,
	VB_CM_SIDR_BAD_VERSION,
};

/* A path as REQ and LAP describe it, seen from the sender of the message. IBA 12.7.10 to 12.7.22 */
struct vb_cm_route {
	struct vb_gid local_gid, remote_gid;
	uint16_t local_lid, remote_lid;
	uint32_t flow_label; /* 20 bits */
	uint8_t rate;        /* 6 bits: static rate code, 0: the port's own */
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint8_t sl;           /* 4 bits */
	uint8_t subnet_local; /* 1: the packets do not pass a router */
	uint8_t ack_timeout;  /* 5 bits: 4.096 us * 2^n */
};

struct vb_cm_req {
	uint64_t service_id;
	uint64_t ca_guid; /* of the sender */
	uint32_t ece_vendor;
	uint32_t qkey;
	uint32_t qpn;
	uint32_t psn; /* first one that the sender expects */
	uint32_t local_eecn, remote_eecn;
	uint8_t resp_resources; /* READs and atomics that the sender takes at once */
	uint8_t init_depth;     /* that it sends at once */
	uint8_t remote_cm_timeout, local_cm_timeout; /* 5 bits: 4.096 us * 2^n */
	uint8_t max_cm_retries;                      /* 4 bits */
	uint8_t transport;                           /* 2 bits, VB_CM_TRANSPORT_... */
	uint8_t ext_transport;                       /* 3 bits */
	uint8_t flow_control;                        /* end to end, 1 bit */
	uint8_t retry_cnt, rnr_retry;                /* 3 bits each */
	uint8_t mtu;                                 /* 4 bits: 1...5 are 256...4096 */
	uint8_t rdc_exists;
	uint8_t srq;
	uint8_t alt_sap; /* of the alternate path */
	uint16_t pkey;
	struct vb_cm_route primary, alternate;
};

struct vb_cm_mra {
	uint8_t about;           /* enum vb_cm_about; 2 is a LAP */
	uint8_t service_timeout; /* 5 bits */
};

struct vb_cm_rej {
	uint8_t about; /* enum vb_cm_about */
	uint8_t info_len;
	uint16_t reason; /* enum vb_cm_reason, or one that this side does not know */
	uint8_t info[VB_CM_INFO_LEN];
};

struct vb_cm_rep {
	uint64_t ca_guid;
	uint32_t qkey;
	uint32_t qpn;
	uint32_t eecn; /* XRC: the target's QPN, CMP-06 */
	uint32_t psn;
	uint8_t resp_resources, init_depth;
	uint8_t target_ack_delay; /* 5 bits */
	uint8_t failover;         /* 2 bits: enum vb_cm_failover */
	uint8_t flow_control, srq;
	uint8_t rnr_retry;                     /* 3 bits */
	uint8_t ece_high, ece_middle, ece_low; /* the vendor id's bytes */
};

struct vb_cm_dreq {
	uint32_t remote_qpn;
};

struct vb_cm_sidr_req {
	uint16_t pkey;
	uint64_t service_id;
};

struct vb_cm_sidr_rep {
	uint8_t status; /* enum vb_cm_sidr_status, or an unknown one */
	uint8_t info_len;
	uint8_t ece_low;
	uint16_t ece_high;
	uint32_t qpn;
	uint64_t service_id;
	uint32_t qkey;
	uint8_t info[VB_CM_INFO_LEN];
};

struct vb_cm_lap {
	uint32_t remote_qpn;
	uint8_t remote_cm_timeout;
	struct vb_cm_route alternate;
};

/* REP.failover: what becomes of the alternate path of the REQ. IBA 12.7.24 */
enum vb_cm_failover { VB_CM_FAILOVER_ACCEPTED, VB_CM_FAILOVER_UNSUPPORTED, VB_CM_FAILOVER_REFUSED };

/* APR.status. IBA 12.8.2, table 118 */
enum vb_cm_apr_status {
	VB_CM_APR_LOADED,
	VB_CM_APR_INVALID_COMM_ID,
	VB_CM_APR_UNSUPPORTED,
	VB_CM_APR_REJECT,
	VB_CM_APR_REDIRECT,
	VB_CM_APR_IS_CURRENT, /* the path is the one that the connection has */
	VB_CM_APR_INVALID_QPN,
	VB_CM_APR_INVALID_LID,
	VB_CM_APR_INVALID_GID,
	VB_CM_APR_INVALID_FLOW_LABEL,
	VB_CM_APR_INVALID_TCLASS,
	VB_CM_APR_INVALID_HOP_LIMIT,
	VB_CM_APR_INVALID_RATE,
	VB_CM_APR_INVALID_SL,
};

struct vb_cm_apr {
	uint8_t info_len, status; /* enum vb_cm_apr_status, or an unknown one */
	uint8_t info[VB_CM_INFO_LEN];
};

/* A message. The communication IDs and the private data stand in all of them (SIDR messages have
 * one ID, REQ and SIDR_REQ none of the receiver's); what they lack is 0. */
struct vb_cm_msg {
	uint64_t tid;
	uint32_t attr_mod; /* of the MAD's header: ECE's options, CMP-27 */
	enum vb_cm_attr attr;
	uint32_t local_id;  /* the sender's; of SIDR messages the request's */
	uint32_t remote_id; /* the receiver's */
	union {
		struct vb_cm_req req;
		struct vb_cm_mra mra;
		struct vb_cm_rej rej;
		struct vb_cm_rep rep;
		struct vb_cm_dreq dreq;
		struct vb_cm_sidr_req sidr_req;
		struct vb_cm_sidr_rep sidr_rep;
		struct vb_cm_lap lap;
		struct vb_cm_apr apr;
	};
	uint8_t
	    private_data[VB_CM_PRIVATE_MAX]; /* vb_cm_private_len() bytes count, the rest is 0 */
};

/* Bytes of private data of a message with this attribute, which must be one of enum vb_cm_attr. */
uint32_t vb_cm_private_len(enum vb_cm_attr attr);
/* "REQ", "SIDR_REP". The same condition. */
const char *vb_cm_attr_name(enum vb_cm_attr attr);
/* An adapter's GUID as a REJ's additional information has it. IBA 12.6.7.2; CMP-09 */
#define VB_CM_GUID_INFO_LEN 8
void vb_cm_info_put_guid(uint8_t info[VB_CM_GUID_INFO_LEN], uint64_t guid);
uint64_t vb_cm_info_guid(const uint8_t info[VB_CM_GUID_INFO_LEN]);
/* The reason in words. "unknown reason" for a number that the standard does not have. */
const char *vb_cm_reason_text(uint16_t reason);

/*
 * Reads @mad. 0; -EPROTONOSUPPORT: it is not a message of the communication manager in the version
 * that is known here; -EBADMSG: the method or the attribute is unknown. CMP-52
 */
int vb_cm_msg_parse(struct vb_cm_msg *m, const uint8_t mad[VB_MAD_LEN]);
/* Writes all of @mad. The attribute must be one of enum vb_cm_attr. */
void vb_cm_msg_emit(const struct vb_cm_msg *m, uint8_t mad[VB_MAD_LEN]);

#endif
