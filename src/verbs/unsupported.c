/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Entry points for what this adapter does not have. They must be defined: those of rdma-core would
 * take our objects for a kernel driver's. The operations of verbs_context that are not supported
 * are NULL, for which the inline functions of verbs.h answer EOPNOTSUPP.
 */
#include "verbs/priv.h"

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
				 int fd, int access)
{
	(void)pd, (void)offset, (void)length, (void)iova, (void)fd, (void)access;
	return vb_ibv_null(EOPNOTSUPP);
}

/* Nothing is promised about the order in which the bytes of a message are written. */
int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	(void)qp, (void)op, (void)flags;
	return 0;
}

/* MAC addresses are the kernel's matter: packets leave by a UDP socket. */
int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr,
				uint8_t eth_mac[ETHERNET_LL_SIZE], uint16_t *vid)
{
	(void)context, (void)attr, (void)eth_mac, (void)vid;
	return vb_ibv_fail(EOPNOTSUPP);
}
