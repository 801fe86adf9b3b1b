/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The extended send interface: ibv_wr_start, setters, ibv_wr_complete. man 3 ibv_wr_post
 */
#ifndef VB_VERBS_QP_EX_H
#define VB_VERBS_QP_EX_H

#include "verbs/objects.h"

/* True when a QP of @type can do everything in @ops (set of enum ibv_qp_create_send_ops_flags). */
bool qp_ex_may_send(enum ibv_qp_type type, uint64_t ops);
int qp_ex_init(struct verbena_qp *qp, const struct ibv_qp_init_attr_ex *attr);
void qp_ex_free(struct verbena_qp *qp);

#endif
