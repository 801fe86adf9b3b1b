/* SPDX-License-Identifier: BSD-2-Clause */
/* One step of a directed route, see smi.h. IBA 14.2.2.2 to 14.2.2.4 */
#include "mgmt/smi.h"

#include "base/assert.h"
#include "wire/ib/lrh.h"

static const struct vb_smi_step discard = {.where = VB_SMI_DISCARD};

static struct vb_smi_step step_to_port(const struct vb_smi_node *node, uint8_t port)
{
	if (port == 0 || port > node->port_cnt)
		return discard;
	return (struct vb_smi_step){.where = VB_SMI_PORT, .port = port};
}

/* The directed part has ended: at the agent or manager here, or a part with LIDs follows. */
static struct vb_smi_step step_to_end(const struct vb_smi_node *node, enum vb_smi_where here,
				      uint16_t lid)
{
	if (lid == VB_LID_PERMISSIVE)
		return (struct vb_smi_step){.where = here};
	if (!node->is_switch)
		return discard;
	return (struct vb_smi_step){.where = VB_SMI_LID, .lid = lid};
}

static struct vb_smi_step request_forward(struct vb_smp_route *r, uint8_t mad[VB_MAD_LEN],
					  const struct vb_smi_node *node, uint8_t in_port,
					  bool lid_routed)
{
	bool begins = in_port == VB_SMI_LOCAL || (lid_routed && node->is_switch);

	if (r->hop_ptr == 0 && r->hop_cnt > 0) {
		if (!begins)
			return discard;
		r->hop_ptr = 1;
		return step_to_port(node, vb_smp_initial_path(mad)[1]);
	}
	if (in_port == VB_SMI_LOCAL && r->hop_ptr != 0)
		return discard;
	if (r->hop_ptr < r->hop_cnt) {
		if (!node->is_switch)
			return discard;
		vb_smp_return_path(mad)[r->hop_ptr] = in_port;
		return step_to_port(node, vb_smp_initial_path(mad)[++r->hop_ptr]);
	}
	if (r->hop_ptr == r->hop_cnt) {
		if (r->hop_cnt > 0)
			vb_smp_return_path(mad)[r->hop_ptr] = in_port;
		r->hop_ptr++;
		return step_to_end(node, VB_SMI_AGENT, r->dr_dlid);
	}
	if (r->hop_ptr == r->hop_cnt + 1)
		return (struct vb_smi_step){.where = VB_SMI_AGENT};
	return discard;
}

static struct vb_smi_step response_forward(struct vb_smp_route *r, uint8_t mad[VB_MAD_LEN],
					   const struct vb_smi_node *node)
{
	if (r->hop_ptr == 0)
		return (struct vb_smi_step){.where = VB_SMI_MANAGER};
	if (r->hop_ptr > r->hop_cnt + 1)
		return discard;
	/* The first hop back is the responder's or, behind a part with LIDs, a switch's. */
	if (r->hop_cnt > 0 && r->hop_ptr == r->hop_cnt + 1)
		return step_to_port(node, vb_smp_return_path(mad)[--r->hop_ptr]);
	if (r->hop_ptr == 1) {
		r->hop_ptr = 0;
		return step_to_end(node, VB_SMI_MANAGER, r->dr_slid);
	}
	if (!node->is_switch)
		return discard;
	return step_to_port(node, vb_smp_return_path(mad)[--r->hop_ptr]);
}

struct vb_smi_step vb_smi_forward(uint8_t mad[VB_MAD_LEN], const struct vb_smi_node *node,
				  uint8_t in_port, bool lid_routed)
{
	struct vb_smp_route r;
	struct vb_smi_step step;

	vb_smp_route_parse(&r, mad);
	if (r.hop_cnt > VB_SMP_HOP_MAX)
		return discard;
	step = r.returning ? response_forward(&r, mad, node)
			   : request_forward(&r, mad, node, in_port, lid_routed);
	VB_ASSERT_ALL(r.hop_ptr <= r.hop_cnt + 1 || step.where == VB_SMI_DISCARD ||
		      step.where == VB_SMI_AGENT);
	vb_smp_route_emit(&r, mad);
	return step;
}
