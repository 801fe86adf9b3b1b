/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of values, see names.h. Values that older headers of rdma-core lack stand as numbers. */
#include "calls/names.h"

#include <infiniband/verbs.h>
#include <stddef.h>

#define END                                                                                        \
	{                                                                                          \
		0, NULL                                                                            \
	}
#define NAME(prefix, name)                                                                         \
	{                                                                                          \
		prefix##name, #name                                                                \
	}

const struct vb_name vb_names_qp_state[] = {
    NAME(IBV_QPS_, RESET), NAME(IBV_QPS_, INIT),    NAME(IBV_QPS_, RTR),
    NAME(IBV_QPS_, RTS),   NAME(IBV_QPS_, SQD),     NAME(IBV_QPS_, SQE),
    NAME(IBV_QPS_, ERR),   NAME(IBV_QPS_, UNKNOWN), END};

const struct vb_name vb_names_qp_type[] = {NAME(IBV_QPT_, RC),         NAME(IBV_QPT_, UC),
					   NAME(IBV_QPT_, UD),         NAME(IBV_QPT_, XRC_SEND),
					   NAME(IBV_QPT_, XRC_RECV),   NAME(IBV_QPT_, DRIVER),
					   NAME(IBV_QPT_, RAW_PACKET), END};

const struct vb_name vb_names_srq_type[] = {NAME(IBV_SRQT_, BASIC), NAME(IBV_SRQT_, XRC),
					    NAME(IBV_SRQT_, TM), END};

const struct vb_name vb_names_mtu[] = {{IBV_MTU_256, "256"},   {IBV_MTU_512, "512"},
				       {IBV_MTU_1024, "1024"}, {IBV_MTU_2048, "2048"},
				       {IBV_MTU_4096, "4096"}, END};

const struct vb_name vb_names_mw_type[] = {{IBV_MW_TYPE_1, "1"}, {IBV_MW_TYPE_2, "2"}, END};

const struct vb_name vb_names_port_state[] = {NAME(IBV_PORT_, NOP),
					      NAME(IBV_PORT_, DOWN),
					      NAME(IBV_PORT_, INIT),
					      NAME(IBV_PORT_, ARMED),
					      NAME(IBV_PORT_, ACTIVE),
					      NAME(IBV_PORT_, ACTIVE_DEFER),
					      END};

const struct vb_name vb_names_access[] = {
    NAME(IBV_ACCESS_, LOCAL_WRITE),      NAME(IBV_ACCESS_, REMOTE_WRITE),
    NAME(IBV_ACCESS_, REMOTE_READ),      NAME(IBV_ACCESS_, REMOTE_ATOMIC),
    NAME(IBV_ACCESS_, MW_BIND),          NAME(IBV_ACCESS_, ZERO_BASED),
    NAME(IBV_ACCESS_, ON_DEMAND),        NAME(IBV_ACCESS_, HUGETLB),
    {1u << 8, "FLUSH_GLOBAL"},           {1u << 9, "FLUSH_PERSISTENT"},
    NAME(IBV_ACCESS_, RELAXED_ORDERING), END};

const struct vb_name vb_names_attr[] = {NAME(IBV_QP_, STATE),
					NAME(IBV_QP_, CUR_STATE),
					NAME(IBV_QP_, EN_SQD_ASYNC_NOTIFY),
					NAME(IBV_QP_, ACCESS_FLAGS),
					NAME(IBV_QP_, PKEY_INDEX),
					NAME(IBV_QP_, PORT),
					NAME(IBV_QP_, QKEY),
					NAME(IBV_QP_, AV),
					NAME(IBV_QP_, PATH_MTU),
					NAME(IBV_QP_, TIMEOUT),
					NAME(IBV_QP_, RETRY_CNT),
					NAME(IBV_QP_, RNR_RETRY),
					NAME(IBV_QP_, RQ_PSN),
					NAME(IBV_QP_, MAX_QP_RD_ATOMIC),
					NAME(IBV_QP_, ALT_PATH),
					NAME(IBV_QP_, MIN_RNR_TIMER),
					NAME(IBV_QP_, SQ_PSN),
					NAME(IBV_QP_, MAX_DEST_RD_ATOMIC),
					NAME(IBV_QP_, PATH_MIG_STATE),
					NAME(IBV_QP_, CAP),
					NAME(IBV_QP_, DEST_QPN),
					NAME(IBV_QP_, RATE_LIMIT),
					END};

const struct vb_name vb_names_opcode[] = {NAME(IBV_WR_, RDMA_WRITE),
					  NAME(IBV_WR_, RDMA_WRITE_WITH_IMM),
					  NAME(IBV_WR_, SEND),
					  NAME(IBV_WR_, SEND_WITH_IMM),
					  NAME(IBV_WR_, RDMA_READ),
					  NAME(IBV_WR_, ATOMIC_CMP_AND_SWP),
					  NAME(IBV_WR_, ATOMIC_FETCH_AND_ADD),
					  NAME(IBV_WR_, LOCAL_INV),
					  NAME(IBV_WR_, BIND_MW),
					  NAME(IBV_WR_, SEND_WITH_INV),
					  NAME(IBV_WR_, TSO),
					  NAME(IBV_WR_, DRIVER1),
					  {14, "FLUSH"},
					  {15, "ATOMIC_WRITE"},
					  END};

const struct vb_name vb_names_send[] = {NAME(IBV_SEND_, FENCE),     NAME(IBV_SEND_, SIGNALED),
					NAME(IBV_SEND_, SOLICITED), NAME(IBV_SEND_, INLINE),
					NAME(IBV_SEND_, IP_CSUM),   END};

const struct vb_name vb_names_wc_opcode[] = {NAME(IBV_WC_, SEND),
					     NAME(IBV_WC_, RDMA_WRITE),
					     NAME(IBV_WC_, RDMA_READ),
					     NAME(IBV_WC_, COMP_SWAP),
					     NAME(IBV_WC_, FETCH_ADD),
					     NAME(IBV_WC_, BIND_MW),
					     NAME(IBV_WC_, LOCAL_INV),
					     NAME(IBV_WC_, TSO),
					     {8, "FLUSH"},
					     {9, "ATOMIC_WRITE"},
					     NAME(IBV_WC_, RECV),
					     NAME(IBV_WC_, RECV_RDMA_WITH_IMM),
					     NAME(IBV_WC_, DRIVER1),
					     END};

const struct vb_name vb_names_wc_flags[] = {NAME(IBV_WC_, GRH), NAME(IBV_WC_, WITH_IMM),
					    NAME(IBV_WC_, WITH_INV), END};

const struct vb_name vb_names_wc_status[] = {NAME(IBV_WC_, SUCCESS),
					     NAME(IBV_WC_, LOC_LEN_ERR),
					     NAME(IBV_WC_, LOC_QP_OP_ERR),
					     NAME(IBV_WC_, LOC_EEC_OP_ERR),
					     NAME(IBV_WC_, LOC_PROT_ERR),
					     NAME(IBV_WC_, WR_FLUSH_ERR),
					     NAME(IBV_WC_, MW_BIND_ERR),
					     NAME(IBV_WC_, BAD_RESP_ERR),
					     NAME(IBV_WC_, LOC_ACCESS_ERR),
					     NAME(IBV_WC_, REM_INV_REQ_ERR),
					     NAME(IBV_WC_, REM_ACCESS_ERR),
					     NAME(IBV_WC_, REM_OP_ERR),
					     NAME(IBV_WC_, RETRY_EXC_ERR),
					     NAME(IBV_WC_, RNR_RETRY_EXC_ERR),
					     NAME(IBV_WC_, REM_ABORT_ERR),
					     NAME(IBV_WC_, FATAL_ERR),
					     NAME(IBV_WC_, RESP_TIMEOUT_ERR),
					     NAME(IBV_WC_, GENERAL_ERR),
					     END};

const struct vb_name vb_names_event[] = {NAME(IBV_EVENT_, CQ_ERR),
					 NAME(IBV_EVENT_, QP_FATAL),
					 NAME(IBV_EVENT_, QP_REQ_ERR),
					 NAME(IBV_EVENT_, QP_ACCESS_ERR),
					 NAME(IBV_EVENT_, COMM_EST),
					 NAME(IBV_EVENT_, SQ_DRAINED),
					 NAME(IBV_EVENT_, PATH_MIG),
					 NAME(IBV_EVENT_, PATH_MIG_ERR),
					 NAME(IBV_EVENT_, DEVICE_FATAL),
					 NAME(IBV_EVENT_, PORT_ACTIVE),
					 NAME(IBV_EVENT_, PORT_ERR),
					 NAME(IBV_EVENT_, LID_CHANGE),
					 NAME(IBV_EVENT_, PKEY_CHANGE),
					 NAME(IBV_EVENT_, SM_CHANGE),
					 NAME(IBV_EVENT_, SRQ_ERR),
					 NAME(IBV_EVENT_, SRQ_LIMIT_REACHED),
					 NAME(IBV_EVENT_, QP_LAST_WQE_REACHED),
					 NAME(IBV_EVENT_, CLIENT_REREGISTER),
					 NAME(IBV_EVENT_, GID_CHANGE),
					 END};

const char *vb_name_of(const struct vb_name *names, uint64_t value)
{
	for (; names->name; names++)
		if (names->value == value)
			return names->name;
	return NULL;
}
