/* SPDX-License-Identifier: BSD-2-Clause */
/* The P_Key of a QP: the entry of its port's table that its index names, as it is now. IBA 10.9 */
#ifndef VB_CORE_PKEY_H
#define VB_CORE_PKEY_H

#include "core/priv.h"

/* Low 15 bits of 0 name no partition: the entry is empty. IBA 10.9.1.1 */
static inline bool vb_pkey_is_valid(uint16_t pkey)
{
	return (pkey & 0x7fff) != 0;
}

static inline uint16_t vb_qp_pkey(const struct vb_qp *qp)
{
	return qp->hca->cfg.port[qp->attr.port].pkey[qp->attr.pkey_index];
}

#endif
