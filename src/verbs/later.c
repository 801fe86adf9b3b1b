/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that rdma-core has since version 59 and that are about no memory: see later.h. */
#include "verbs/later.h"

#include "verbs/priv.h"

static int why_none(const char *what)
{
	return VB_IBV_WHY(EOPNOTSUPP, "the adapter has no %s", what);
}

int ibv_dm_export_dmabuf_fd(struct ibv_dm *dm)
{
	(void)dm;
	return VB_IBV_REFUSE_FAIL(NULL, why_none("dma-bufs to export"), "ibv_dm_export_dmabuf_fd");
}

int ibv_query_port_speed(struct ibv_context *context, uint32_t port, uint64_t *speed)
{
	struct vb_ibv_context *c = vb_ibv_ctx(context);

	if (port != VB_IBV_PORT)
		return vb_ibv_refuse(c, vb_ibv_why_port(port), "ibv_query_port_speed");
	if (!vb_ibv_enter(c))
		return vb_ibv_refuse(c, EIO, "ibv_query_port_speed");
	vb_ibv_refresh(c);
	*speed = (c->table.speed_mbps ? c->table.speed_mbps : VB_IBV_UNKNOWN_MBPS) / 100;
	vb_ibv_leave(c);
	return 0;
}

struct ibv_comp_cntr *ibv_create_comp_cntr(struct ibv_context *context,
					   struct ibv_comp_cntr_init_attr *attr)
{
	(void)context, (void)attr;
	return VB_IBV_REFUSE_NULL(NULL, why_none("completion counters"), "ibv_create_comp_cntr");
}

int ibv_destroy_comp_cntr(struct ibv_comp_cntr *cntr)
{
	(void)cntr;
	return vb_ibv_refuse(NULL, why_none("completion counters"), "ibv_destroy_comp_cntr");
}

int ibv_set_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t value)
{
	(void)cntr, (void)value;
	return vb_ibv_refuse(NULL, why_none("completion counters"), "ibv_set_comp_cntr");
}

int ibv_set_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t value)
{
	(void)cntr, (void)value;
	return vb_ibv_refuse(NULL, why_none("completion counters"), "ibv_set_err_comp_cntr");
}

int ibv_inc_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t amount)
{
	(void)cntr, (void)amount;
	return vb_ibv_refuse(NULL, why_none("completion counters"), "ibv_inc_comp_cntr");
}

int ibv_inc_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t amount)
{
	(void)cntr, (void)amount;
	return vb_ibv_refuse(NULL, why_none("completion counters"), "ibv_inc_err_comp_cntr");
}

int ibv_read_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t *value)
{
	(void)cntr, (void)value;
	return vb_ibv_refuse(NULL, why_none("completion counters"), "ibv_read_comp_cntr");
}

int ibv_read_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t *value)
{
	(void)cntr, (void)value;
	return vb_ibv_refuse(NULL, why_none("completion counters"), "ibv_read_err_comp_cntr");
}

int ibv_qp_attach_comp_cntr(struct ibv_qp *qp, struct ibv_comp_cntr *cntr,
			    struct ibv_qp_attach_comp_cntr_attr *attr)
{
	(void)qp, (void)cntr, (void)attr;
	return vb_ibv_refuse(NULL, why_none("completion counters"), "ibv_qp_attach_comp_cntr");
}

int _ibv_query_comp_cntr_caps(struct ibv_context *context, struct ibv_comp_cntr_caps *caps,
			      size_t size)
{
	(void)context, (void)caps, (void)size;
	return vb_ibv_refuse(NULL, why_none("completion counters"), "ibv_query_comp_cntr_caps");
}
