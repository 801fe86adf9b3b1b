/* SPDX-License-Identifier: BSD-2-Clause */
/* The P_Key of a QP: the entry of its port's table that its index names, as it is now. IBA 10.9 */
#ifndef VB_CORE_QP_PKEY_H
#define VB_CORE_QP_PKEY_H

#include "core/qp/qp.h"
#include "wire/pkey.h"

static inline uint16_t vb_qp_pkey(const struct vb_qp *qp)
{
	return qp->hca->cfg.port[qp->attr.port].pkey[qp->attr.pkey_index];
}

/*
 * The entry of the QP's port that takes a packet with @pkey, or -1: that of its index; QP1, which
 * has no partition of its own, takes what any entry does. IBA 10.9.8, FAB-37
 */
static inline int vb_qp_pkey_index(const struct vb_qp *qp, uint16_t pkey)
{
	const uint16_t *table = qp->hca->cfg.port[qp->attr.port].pkey;

	for (int i = 0; qp->type == VB_QPT_GSI && i < VB_PORT_PKEYS_MAX; i++)
		if (vb_pkey_matches(pkey, table[i]))
			return i;
	return vb_pkey_matches(pkey, vb_qp_pkey(qp)) ? qp->attr.pkey_index : -1;
}

/* The bits of a LID below those that all LIDs of the QP's port have. IBA 3.5.10 */
static inline uint8_t vb_qp_path_bits(const struct vb_qp *qp, uint16_t lid)
{
	return (uint8_t)(lid & ((1u << qp->hca->cfg.port[qp->attr.port].lmc) - 1));
}

#endif
