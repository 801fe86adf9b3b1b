/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The operations that plug-ins give to a copy of libibverbs. Most are this library's entry points;
 * here are those that rdma-core calls with other arguments. The copy fills in itself what programs
 * see of an object, with the values that are there already.
 */
#include "verbs/provider/adopt.h"

#undef ibv_reg_mr_iova

/* A copy of rdma-core 44 has no more of the structure, and one of a later release zeroes it first.
 */
#define PORT_ATTR_SIZE (offsetof(struct ibv_port_attr, port_cap_flags2) + sizeof(uint16_t))

static int query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr)
{
	return vb_ibv_query_port_op(context, port, attr, PORT_ATTR_SIZE);
}

static struct ibv_cq *create_cq(struct ibv_context *context, int cqe,
				struct ibv_comp_channel *channel, int comp_vector)
{
	struct vb_ibv_context *c = vb_ibv_ctx(context);

	if (!vb_provider_find_channel(c, &channel))
		return VB_IBV_REFUSE_NULL(c, EBADF, "ibv_create_cq");
	return ibv_create_cq(context, cqe, NULL, channel, comp_vector);
}

static struct ibv_cq_ex *create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	struct vb_ibv_context *c = vb_ibv_ctx(context);
	struct ibv_comp_channel *channel = attr->channel, *of_copy = channel;

	if (!vb_provider_find_channel(c, &channel))
		return VB_IBV_REFUSE_NULL(c, EBADF, "ibv_create_cq_ex");
	/* The structure is the program's, and may be longer than this library knows. */
	attr->channel = channel;

	struct ibv_cq_ex *cq = vb_ibv_create_cq_ex(context, attr);

	attr->channel = of_copy;
	return cq;
}

static struct ibv_mr *reg_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			     int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, iova, (unsigned)access);
}

#define OP(name, function)                                                                         \
	{                                                                                          \
#name, (void (*)(void))(function)                                                  \
	}

const struct vb_provider_op vb_provider_ops[] = {
    OP(advise_mr, vb_ibv_advise_mr),
    OP(alloc_dm, vb_ibv_alloc_dm),
    OP(alloc_mw, vb_ibv_alloc_mw),
    OP(alloc_null_mr, vb_ibv_alloc_null_mr),
    OP(alloc_parent_domain, vb_ibv_alloc_parent_domain),
    OP(alloc_pd, ibv_alloc_pd),
    OP(alloc_td, vb_ibv_alloc_td),
    OP(attach_mcast, ibv_attach_mcast),
    OP(bind_mw, vb_ibv_bind_mw),
    OP(close_xrcd, vb_ibv_close_xrcd),
    OP(create_ah, ibv_create_ah),
    OP(create_cq, create_cq),
    OP(create_cq_ex, create_cq_ex),
    OP(create_qp, ibv_create_qp),
    OP(create_qp_ex, vb_ibv_create_qp_ex),
    OP(create_srq, ibv_create_srq),
    OP(create_srq_ex, vb_ibv_create_srq_ex),
    OP(dealloc_mw, vb_ibv_dealloc_mw),
    OP(dealloc_pd, ibv_dealloc_pd),
    OP(dealloc_td, vb_ibv_dealloc_td),
    OP(dereg_mr, ibv_dereg_mr),
    OP(destroy_ah, ibv_destroy_ah),
    OP(destroy_cq, ibv_destroy_cq),
    OP(destroy_qp, ibv_destroy_qp),
    OP(destroy_srq, ibv_destroy_srq),
    OP(detach_mcast, ibv_detach_mcast),
    OP(free_dm, vb_ibv_free_dm),
    OP(get_srq_num, vb_ibv_get_srq_num),
    OP(modify_cq, vb_ibv_modify_cq),
    OP(modify_qp, ibv_modify_qp),
    OP(modify_qp_rate_limit, vb_ibv_modify_qp_rate_limit),
    OP(modify_srq, ibv_modify_srq),
    OP(open_qp, vb_ibv_open_qp),
    OP(open_xrcd, vb_ibv_open_xrcd),
    OP(poll_cq, vb_ibv_poll_cq),
    OP(post_recv, vb_ibv_post_recv),
    OP(post_send, vb_ibv_post_send),
    OP(post_srq_recv, vb_ibv_post_srq_recv),
    OP(query_device_ex, vb_ibv_query_device_ex),
    OP(query_ece, ibv_query_ece),
    OP(query_port, query_port),
    OP(query_qp, ibv_query_qp),
    OP(query_qp_data_in_order, ibv_query_qp_data_in_order),
    OP(query_rt_values, vb_ibv_query_rt_values),
    OP(query_srq, ibv_query_srq),
    OP(reg_dm_mr, vb_ibv_reg_dm_mr),
    OP(reg_dmabuf_mr, ibv_reg_dmabuf_mr),
    OP(reg_mr, reg_mr),
    OP(req_notify_cq, vb_ibv_req_notify_cq),
    OP(rereg_mr, ibv_rereg_mr),
    OP(resize_cq, ibv_resize_cq),
    OP(set_ece, ibv_set_ece),
    {NULL, NULL},
};
