/* SPDX-License-Identifier: BSD-2-Clause */
/* Protection domains: created and destroyed in mem.c. IBA 10.2.3 */
#ifndef VB_CORE_OBJ_PD_H
#define VB_CORE_OBJ_PD_H

#include "base/list.h"
#include "core/types.h"

struct vb_pd {
	struct vb_hca *hca;
	struct vb_list link; /* in hca->pds */
	uint32_t refs;
};

#endif
