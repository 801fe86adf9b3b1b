/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that rdma-core has since version 59 and that are about no memory: see later.h. */
#include "verbs/later.h"

#include "verbs/priv.h"

int ibv_dm_export_dmabuf_fd(struct ibv_dm *dm)
{
	(void)dm;
	return VB_IBV_REFUSE_FAIL(NULL,
				  VB_IBV_WHY(EOPNOTSUPP, "no memory of the adapter is a dma-buf"),
				  "ibv_dm_export_dmabuf_fd");
}

int ibv_query_port_speed(struct ibv_context *context, uint32_t port, uint64_t *speed)
{
	struct vb_ibv_context *c = vb_ibv_ctx(context);
	const struct vb_device *d = vb_ibv_port(c, port);

	if (!d)
		return vb_ibv_refuse(c, vb_ibv_why_port(c, port), "ibv_query_port_speed");
	if (!vb_ibv_enter(c))
		return vb_ibv_refuse(c, EIO, "ibv_query_port_speed");
	vb_ibv_refresh(c);
	*speed = (d->speed_mbps ? d->speed_mbps : VB_IBV_UNKNOWN_MBPS) / 100;
	vb_ibv_leave(c);
	return 0;
}
