/* SPDX-License-Identifier: BSD-2-Clause */
/* The QPs that may send, see sched.c. */
#ifndef VB_CORE_SCHED_SCHED_H
#define VB_CORE_SCHED_SCHED_H

#include "wire/packet.h"

struct vb_hca;
struct vb_qp;

/* The quantum, packets that a QP may send before the next one is served: as many as one GSO batch
 * holds at MTU 4096, twice. */
#define VB_QUANTUM_PKTS 32u

void vb_sched_activate(struct vb_qp *qp);
/* ... ahead of all others. */
void vb_sched_activate_first(struct vb_qp *qp);
void vb_sched_remove(struct vb_qp *qp);

/* Room for one more packet; before the batch holds @stop. */
bool vb_batch_has_room(const struct vb_hca *h, const struct vb_tx_batch *b);
bool vb_tx_may_emit(const struct vb_qp *qp, const struct vb_tx_batch *b, uint32_t stop);

#endif
