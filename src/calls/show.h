/* SPDX-License-Identifier: BSD-2-Clause */
/* Structures that verbs take and give, field by field with the names of their man pages. */
#ifndef VB_CALLS_SHOW_H
#define VB_CALLS_SHOW_H

#include "calls/call.h"

void vb_call_ah_attr(struct vb_call *c, const char *name, const struct ibv_ah_attr *attr);

/* The attributes that @mask names. */
void vb_call_qp_attr(struct vb_call *c, const struct ibv_qp_attr *attr, int mask);
void vb_call_qp_cap(struct vb_call *c, const char *name, const struct ibv_qp_cap *cap);

/* Lists of work requests and of completions. */
void vb_call_send_list(struct vb_call *c, enum ibv_qp_type type, const struct ibv_send_wr *wr);
void vb_call_recv_list(struct vb_call *c, const struct ibv_recv_wr *wr);
void vb_call_sge_list(struct vb_call *c, const struct ibv_sge *sge, int cnt);
void vb_call_wc_list(struct vb_call *c, const struct ibv_wc *wc, int cnt);

/* Results of queries, as far as programs go by them. */
void vb_call_port_attr(struct vb_call *c, const struct ibv_port_attr *attr);
void vb_call_device_attr(struct vb_call *c, const struct ibv_device_attr *attr);

/* The end of a call that makes a region: its keys, and it; or NULL with errno set. */
void vb_call_end_region(struct vb_call *c, const struct ibv_mr *mr);

void vb_call_bind_info(struct vb_call *c, const struct ibv_mw_bind_info *info);

/* A name of @names, or the number. */
void vb_call_name(struct vb_call *c, const char *name, const struct vb_name *names, uint64_t value);

#endif
