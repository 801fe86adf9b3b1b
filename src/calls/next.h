/* SPDX-License-Identifier: BSD-2-Clause */
/* The verbs of the library behind this one, which calls are handed on to. dlsym(3) RTLD_NEXT */
#ifndef VB_CALLS_NEXT_H
#define VB_CALLS_NEXT_H

#include "verbs/later.h"

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

/* Macros of the header that stand before the entry points. */
#undef ibv_reg_mr
#undef ibv_reg_mr_iova
#undef ibv_query_port

#define VB_NEXT_VERBS(X)                                                                           \
	X(ibv_get_device_list)                                                                     \
	X(ibv_open_device)                                                                         \
	X(ibv_close_device)                                                                        \
	X(ibv_import_device)                                                                       \
	X(ibv_query_device)                                                                        \
	X(ibv_query_port)                                                                          \
	X(ibv_query_gid)                                                                           \
	X(ibv_query_pkey)                                                                          \
	X(ibv_get_async_event)                                                                     \
	X(ibv_ack_async_event)                                                                     \
	X(ibv_alloc_pd)                                                                            \
	X(ibv_dealloc_pd)                                                                          \
	X(ibv_reg_mr)                                                                              \
	X(ibv_reg_mr_iova)                                                                         \
	X(ibv_reg_mr_iova2)                                                                        \
	X(ibv_reg_dmabuf_mr)                                                                       \
	X(ibv_rereg_mr)                                                                            \
	X(ibv_dereg_mr)                                                                            \
	X(ibv_create_comp_channel)                                                                 \
	X(ibv_destroy_comp_channel)                                                                \
	X(ibv_create_cq)                                                                           \
	X(ibv_resize_cq)                                                                           \
	X(ibv_destroy_cq)                                                                          \
	X(ibv_get_cq_event)                                                                        \
	X(ibv_ack_cq_events)                                                                       \
	X(ibv_create_srq)                                                                          \
	X(ibv_modify_srq)                                                                          \
	X(ibv_query_srq)                                                                           \
	X(ibv_destroy_srq)                                                                         \
	X(ibv_create_qp)                                                                           \
	X(ibv_modify_qp)                                                                           \
	X(ibv_query_qp)                                                                            \
	X(ibv_qp_to_qp_ex)                                                                         \
	X(ibv_destroy_qp)                                                                          \
	X(ibv_create_ah)                                                                           \
	X(ibv_create_ah_from_wc)                                                                   \
	X(ibv_destroy_ah)                                                                          \
	X(ibv_attach_mcast)                                                                        \
	X(_ibv_query_gid_ex)                                                                       \
	X(_ibv_query_gid_table)                                                                    \
	X(ibv_query_ece)                                                                           \
	X(ibv_set_ece)                                                                             \
	X(ibv_import_pd)                                                                           \
	X(ibv_import_mr)                                                                           \
	X(ibv_import_dm)                                                                           \
	X(ibv_unimport_pd)                                                                         \
	X(ibv_unimport_mr)                                                                         \
	X(ibv_unimport_dm)                                                                         \
	X(ibv_detach_mcast)                                                                        \
	X(ibv_alloc_buf)                                                                           \
	X(ibv_alloc_dmah)                                                                          \
	X(ibv_create_comp_cntr)                                                                    \
	X(ibv_dealloc_dmah)                                                                        \
	X(ibv_destroy_comp_cntr)                                                                   \
	X(ibv_dm_export_dmabuf_fd)                                                                 \
	X(ibv_export_buf_dmabuf_fd)                                                                \
	X(ibv_free_buf)                                                                            \
	X(ibv_inc_comp_cntr)                                                                       \
	X(ibv_inc_err_comp_cntr)                                                                   \
	X(ibv_qp_attach_comp_cntr)                                                                 \
	X(_ibv_query_comp_cntr_caps)                                                               \
	X(ibv_query_port_speed)                                                                    \
	X(ibv_read_comp_cntr)                                                                      \
	X(ibv_read_err_comp_cntr)                                                                  \
	X(ibv_reg_buf_mr)                                                                          \
	X(ibv_reg_mr_ex)                                                                           \
	X(ibv_set_comp_cntr)                                                                       \
	X(ibv_set_err_comp_cntr)                                                                   \
	X(mlx5dv_is_supported)                                                                     \
	X(mlx5dv_open_device)                                                                      \
	X(mlx5dv_query_device)                                                                     \
	X(mlx5dv_create_qp)                                                                        \
	X(mlx5dv_qp_ex_from_ibv_qp_ex)                                                             \
	X(mlx5dv_dci_stream_id_reset)                                                              \
	X(mlx5dv_map_ah_to_qp)

struct vb_next_verbs {
#define FIELD(name) __typeof__(&name) name;
	VB_NEXT_VERBS(FIELD)
#undef FIELD
};

const struct vb_next_verbs *vb_next_verbs(void);

/* Puts itself before the operations of @context, which calls of inline functions go to. */
void vb_calls_take_context(struct ibv_context *context);

#endif
