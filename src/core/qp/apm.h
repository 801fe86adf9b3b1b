/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Automatic path migration: a connected QP of InfiniBand that has an alternate path goes on by it
 * when its path fails, and so does its peer. A QP is MIGRATED until its consumer has loaded an
 * alternate path and sets REARM, and ARMED when a packet shows that the peer is ready as well.
 * IBA 17.2.8; docs/states.md
 */
#ifndef VB_CORE_QP_APM_H
#define VB_CORE_QP_APM_H

#include "core/qp/qp.h"

/* A packet has come by @from for a QP that is not MIGRATED: what it means for the migration. False:
 * it says that the peer has migrated, and not to this QP's alternate path; it is dropped. */
VB_COLD bool vb_apm_take(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_path *from,
			 vb_time now);
/* The QP, which is not MIGRATED, goes on by its alternate path. */
VB_COLD void vb_apm_migrate(struct vb_qp *qp, enum vb_apm_why why, vb_time now);
/* The consumer wants the QP in @to: MIGRATED or REARM, or how it is. */
VB_COLD void vb_apm_ask(struct vb_qp *qp, enum vb_mig_state to, vb_time now);

#endif
