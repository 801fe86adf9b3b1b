/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The words of the verbs in the core's own types. Numbers are those of <infiniband/verbs.h>, so
 * that the verbs layer passes them through; src/verbs/abi_check.c asserts each.
 * IBT-57...63, facts B.4
 */
#ifndef VB_CORE_TYPES_H
#define VB_CORE_TYPES_H

#include "base/psn.h"
#include "base/time.h"
#include "wire/path.h"

#include <stdbool.h>
#include <stdint.h>

enum vb_qp_type {
	VB_QPT_RC = 2,
	VB_QPT_UC = 3,
	VB_QPT_UD = 4,
	VB_QPT_XRC_INI = 9,
	VB_QPT_XRC_TGT = 10,
	VB_QPT_GSI = 0x100, /* QP1 of a port; this and the next ones are never verbs types */
	VB_QPT_DCI = 0x101,
	VB_QPT_DCT = 0x102,
	VB_QPT_SMI = 0x103, /* QP0 of a port: its agents have it, and no QP is of this type */
};

enum vb_qp_state {
	VB_QPS_RESET,
	VB_QPS_INIT,
	VB_QPS_RTR,
	VB_QPS_RTS,
	VB_QPS_SQD,
	VB_QPS_SQE,
	VB_QPS_ERR,
	VB_QPS_CNT
};

enum vb_mtu { VB_MTU_256 = 1, VB_MTU_512, VB_MTU_1024, VB_MTU_2048, VB_MTU_4096 };

static inline uint32_t vb_mtu_bytes(enum vb_mtu mtu)
{
	return 128u << mtu;
}

enum vb_access {
	VB_ACCESS_LOCAL_WRITE = 1,
	VB_ACCESS_REMOTE_WRITE = 2,
	VB_ACCESS_REMOTE_READ = 4,
	VB_ACCESS_REMOTE_ATOMIC = 8,
	VB_ACCESS_MW_BIND = 0x10,
	VB_ACCESS_ZERO_BASED = 0x20,
	VB_ACCESS_ON_DEMAND = 0x40,
	VB_ACCESS_HUGETLB = 0x80,
	VB_ACCESS_FLUSH_GLOBAL = 0x100,
	VB_ACCESS_FLUSH_PERSISTENT = 0x200,
	VB_ACCESS_RELAXED_ORDERING = 1 << 20,
	VB_ACCESS_OPTIONAL = 0x3ff00000, /* rights that may be ignored */
	/* The rights that a QP may be given; only those for remote access have a meaning there. */
	VB_ACCESS_KNOWN = 0x3ff | VB_ACCESS_OPTIONAL,
};

/* How a QP stands to a migration of its path; numbers of ibv_mig_state. IBA 17.2.8 */
enum vb_mig_state { VB_MIG_MIGRATED, VB_MIG_REARM, VB_MIG_ARMED };

/* One for each row of the table. */
enum vb_wr_opcode {
#define WORK_REQUEST(name, number, ...) VB_WR_##name = (number),
#include "core/wr_opcode.def"
#undef WORK_REQUEST
	VB_WR_CNT
};

enum vb_send_flag {
	VB_SEND_FENCE = 1,
	VB_SEND_SIGNALED = 2,
	VB_SEND_SOLICITED = 4,
	VB_SEND_INLINE = 8,
};

/* The flags of a FLUSH, as the FETH has them: PLT in bits 3:0, SEL in bits 5:4. IBA A19.4.1 */
enum vb_flush {
	VB_FLUSH_GLOBAL = 1,     /* data written before is visible to everybody */
	VB_FLUSH_PERSISTENT = 2, /* ... and survives a loss of power */
	VB_FLUSH_MR = 0x10,      /* all of the region or window, whatever the range */
};

enum vb_wc_status {
	VB_WC_SUCCESS,
	VB_WC_LOC_LEN_ERR,
	VB_WC_LOC_QP_OP_ERR,
	VB_WC_LOC_EEC_OP_ERR,
	VB_WC_LOC_PROT_ERR,
	VB_WC_WR_FLUSH_ERR,
	VB_WC_MW_BIND_ERR,
	VB_WC_BAD_RESP_ERR,
	VB_WC_LOC_ACCESS_ERR,
	VB_WC_REM_INV_REQ_ERR,
	VB_WC_REM_ACCESS_ERR,
	VB_WC_REM_OP_ERR,
	VB_WC_RETRY_EXC_ERR,
	VB_WC_RNR_RETRY_EXC_ERR,
	VB_WC_LOC_RDD_VIOL_ERR,
	VB_WC_REM_INV_RD_REQ_ERR,
	VB_WC_REM_ABORT_ERR,
	VB_WC_INV_EECN_ERR,
	VB_WC_INV_EEC_STATE_ERR,
	VB_WC_FATAL_ERR,
	VB_WC_RESP_TIMEOUT_ERR,
	VB_WC_GENERAL_ERR,
};

enum vb_wc_opcode {
	VB_WC_SEND = 0,
	VB_WC_RDMA_WRITE = 1,
	VB_WC_RDMA_READ = 2,
	VB_WC_COMP_SWAP = 3,
	VB_WC_FETCH_ADD = 4,
	VB_WC_BIND_MW = 5,
	VB_WC_LOCAL_INV = 6,
	VB_WC_FLUSH = 8,
	VB_WC_ATOMIC_WRITE = 9,
	VB_WC_RECV = 0x80,
	VB_WC_RECV_RDMA_WITH_IMM = 0x81,
};

enum vb_wc_flag {
	VB_WC_GRH = 1,
	VB_WC_WITH_IMM = 2,
	VB_WC_WITH_INV = 8,
};

/* Async events; numbers of ibv_event_type. */
enum vb_async {
	VB_ASYNC_CQ_ERR = 0,
	VB_ASYNC_QP_FATAL = 1,
	VB_ASYNC_QP_REQ_ERR = 2,
	VB_ASYNC_QP_ACCESS_ERR = 3,
	VB_ASYNC_COMM_EST = 4,
	VB_ASYNC_SQ_DRAINED = 5,
	VB_ASYNC_PATH_MIG = 6,
	VB_ASYNC_PATH_MIG_ERR = 7,
	VB_ASYNC_SRQ_ERR = 14,
	VB_ASYNC_SRQ_LIMIT_REACHED = 15,
	VB_ASYNC_QP_LAST_WQE_REACHED = 16,
};

/* Bits of an attribute mask; numbers of ibv_qp_attr_mask. */
enum vb_qp_attr_mask {
	VB_QP_STATE = 1 << 0,
	VB_QP_CUR_STATE = 1 << 1,
	VB_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2,
	VB_QP_ACCESS_FLAGS = 1 << 3,
	VB_QP_PKEY_INDEX = 1 << 4,
	VB_QP_PORT = 1 << 5,
	VB_QP_QKEY = 1 << 6,
	VB_QP_AV = 1 << 7,
	VB_QP_PATH_MTU = 1 << 8,
	VB_QP_TIMEOUT = 1 << 9,
	VB_QP_RETRY_CNT = 1 << 10,
	VB_QP_RNR_RETRY = 1 << 11,
	VB_QP_RQ_PSN = 1 << 12,
	VB_QP_MAX_QP_RD_ATOMIC = 1 << 13,
	VB_QP_ALT_PATH = 1 << 14,
	VB_QP_MIN_RNR_TIMER = 1 << 15,
	VB_QP_SQ_PSN = 1 << 16,
	VB_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
	VB_QP_PATH_MIG_STATE = 1 << 18,
	VB_QP_CAP = 1 << 19,
	VB_QP_DEST_QPN = 1 << 20,
	VB_QP_RATE_LIMIT = 1 << 25,
};

struct vb_sge {
	uint64_t addr;
	uint32_t length;
	uint32_t lkey;
};

struct vb_pd;
struct vb_xrcd;
struct vb_mr;
struct vb_mw;
struct vb_cq;
struct vb_srq;
struct vb_qp;
struct vb_hca;

/* An address handle: a PD and a path. The verbs layer keeps it; a UD WQE copies the path. */
struct vb_ah {
	struct vb_pd *pd;
	struct vb_path path;
	uint32_t kbps; /* static rate: the path's limit for BTH through ICRC, 1000 bits a second;
			* 0: all that the port gives. IBA 9.11.1 */
};

/* A send work request. Union-like fields are separate: the ones the opcode lacks are ignored. */
struct vb_send_wr {
	uint64_t wr_id;
	const struct vb_sge *sge;
	uint32_t sge_cnt;
	enum vb_wr_opcode opcode;
	uint32_t flags; /* set of enum vb_send_flag */
	uint32_t imm;   /* as on the wire */
	uint32_t inv_rkey;
	uint64_t remote_addr; /* RDMA and atomics */
	uint32_t rkey;
	uint64_t compare_add, swap;
	/* FLUSH: set of enum vb_flush, and how many bytes from remote_addr on; it has no SGEs. */
	uint32_t flush, flush_len;
	const struct vb_ah *ah; /* UD, DCI */
	uint32_t dqpn, qkey;    /* UD */
	uint32_t srqn;          /* XRC_INI: the peer's SRQ */
	uint64_t dc_key;        /* DCI: of the target; ah and dqpn as for UD */
	uint16_t dc_stream;     /* DCI */
};

/* The lower half of a BIND_MW's compare_add: the type that the window has to have, 0 for any, and
 * the new byte of its key. */
static inline uint32_t vb_mw_bind_key(uint8_t type, uint8_t key_byte)
{
	return (uint32_t)type << 8 | key_byte;
}
#define VB_MW_BIND_TYPE(compare_add) ((uint8_t)((compare_add) >> 8))

struct vb_recv_wr {
	uint64_t wr_id;
	const struct vb_sge *sge;
	uint32_t sge_cnt;
};

/* A completion. On an error only wr_id, status, qpn and vendor_err are valid. IBT-45...56 */
struct vb_wc {
	uint64_t wr_id;
	enum vb_wc_status status;
	enum vb_wc_opcode opcode;
	uint32_t vendor_err; /* the enum vb_verdict or NAK syndrome behind an error */
	uint32_t byte_len;
	uint32_t imm; /* or the invalidated R_Key, see flags */
	uint32_t qpn, src_qpn;
	uint32_t flags; /* set of enum vb_wc_flag */
	uint16_t pkey_index, slid;
	uint8_t sl, dlid_path_bits;
	struct vb_qp *qp;
	vb_time time; /* when the completion was made */
};

struct vb_qp_cap {
	uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline_data;
};

#define VB_QP_AV_MAX 32

/* Where a connected QP of InfiniBand migrates to when its path fails. IBA 17.2.8 */
struct vb_alt_path {
	struct vb_path path;      /* and by which port */
	uint32_t kbps;            /* its static rate as in vb_ah */
	uint8_t av[VB_QP_AV_MAX]; /* the consumer's own words for it, kept as they are */
	uint16_t pkey_index;
	uint8_t timeout;   /* as vb_qp_attr.timeout */
	uint8_t is_loaded; /* out: the QP can migrate to it, which it has not done yet */
};

struct vb_qp_attr {
	enum vb_qp_state qp_state, cur_qp_state;
	enum vb_mtu path_mtu;
	uint32_t qkey;
	uint32_t rq_psn, sq_psn; /* upper 8 bits are ignored, as on a NIC */
	struct vb_qp_cap cap;
	struct vb_alt_path alt;
	uint8_t av[VB_QP_AV_MAX]; /* with path: the consumer's own words for it, kept as they are */
	/* From here on: the fields that every packet needs. */
	uint32_t dest_qpn;
	uint32_t access;     /* set of enum vb_access */
	struct vb_path path; /* from the ah_attr; the verbs layer resolves sgid_index to sgid */
	uint32_t path_kbps;  /* with path: its static rate as in vb_ah */
	uint16_t pkey_index;
	uint8_t en_sqd_async_notify, sq_draining;
	uint8_t max_rd_atomic, max_dest_rd_atomic;
	uint8_t min_rnr_timer; /* code, facts B.6 */
	uint8_t port;
	uint8_t timeout;                  /* exponent: 4.096 us * 2^timeout, 0 = infinite */
	uint8_t retry_cnt;                /* 0...7 */
	uint8_t rnr_retry;                /* 0...7, 7 = infinite */
	enum vb_mig_state path_mig_state; /* but of InfiniBand, MIGRATED */
};

#endif
