/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The invariants of a QP at rest. They are asserted after each packet, quantum, timer and post, in
 * builds with all assertions; see base/assert.h.
 */
#ifndef VB_CORE_SCHED_INVARIANTS_H
#define VB_CORE_SCHED_INVARIANTS_H

struct vb_qp;

#ifdef VB_ASSERTS_ALL
void vb_qp_assert(const struct vb_qp *qp);
#else
static inline void vb_qp_assert(const struct vb_qp *qp)
{
	(void)qp;
}
#endif

#endif
