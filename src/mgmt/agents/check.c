/* SPDX-License-Identifier: BSD-2-Clause */
/* The errors that a message of a program shows by itself, without a look at what else its agent has
 * sent. Item MAD-11 */
#include "mgmt/agents/priv.h"

#include "wire/mad/smp.h"

#include <errno.h>
#include <string.h>

#define SL_MAX 15
#define LID_MULTICAST_FIRST 0xc000
#define LID_PERMISSIVE 0xffff /* also: no part of a directed route goes by LIDs */
#define GID_MULTICAST 0xff    /* first byte */

/* As the creation of an address handle. IBA 11.2.2.1 */
static bool addr_is_possible(const struct vb_mad_addr *to)
{
	bool multicast = to->lid >= LID_MULTICAST_FIRST && to->lid != LID_PERMISSIVE;

	if (to->sl > SL_MAX)
		return false;
	if (!to->has_grh)
		return !multicast;
	return (to->gid[0] == GID_MULTICAST) == multicast;
}

/* A directed route that begins here has to lead out by this port, or to this node. The owner of the
 * port moves the SMP on itself, so this looks at a copy. FAB-09 */
static bool route_is_possible(const struct vb_smi_node *node, uint8_t port,
			      const uint8_t mad[VB_MAD_LEN])
{
	uint8_t copy[VB_MAD_LEN];
	struct vb_smp_route r;
	struct vb_smi_step step;

	vb_smp_route_parse(&r, mad);
	if (port == 0 || (r.returning ? r.dr_dlid : r.dr_slid) != LID_PERMISSIVE)
		return true;
	memcpy(copy, mad, VB_MAD_LEN);
	step = vb_smi_forward(copy, node, VB_SMI_LOCAL, false);
	if (step.where == VB_SMI_PORT)
		return node->is_switch || step.port == port;
	return step.where != VB_SMI_DISCARD;
}

bool vb_agent_is_segmented(const struct vb_agent_request *r, uint8_t mgmt_class,
			   const struct vb_rmpp *rmpp)
{
	return r->rmpp_version != 0 && !r->user_rmpp && vb_mad_class_has_rmpp(mgmt_class) &&
	       vb_rmpp_is_active(rmpp);
}

/* Checks the length of a message, for an agent of this kind. */
static int length_check(const struct vb_agent_request *r, const struct vb_mad_message *m,
			uint8_t mgmt_class, bool segmented)
{
	bool has_rmpp = vb_mad_class_has_rmpp(mgmt_class);

	if (m->len < vb_mad_class_hdr_len(mgmt_class) || (r->rmpp_version && !has_rmpp))
		return -EINVAL;
	if (segmented)
		return m->len > VB_MAD_MESSAGE_MAX ? -ENOMEM : 0;
	return m->len > VB_MAD_LEN ? -EINVAL : 0;
}

int vb_agent_check(const struct vb_agent_request *r, const struct vb_smi_node *node, uint8_t port,
		   const struct vb_mad_message *m)
{
	uint8_t first[VB_MAD_LEN] = {0};
	struct vb_mad_hdr h;
	struct vb_rmpp rmpp;

	if (m->len < VB_UMAD_WRITE_MIN)
		return -EINVAL;
	memcpy(first, m->mad, m->len < VB_MAD_LEN ? m->len : VB_MAD_LEN);
	vb_mad_hdr_parse(&h, first);
	vb_rmpp_parse(&rmpp, first);
	if (!addr_is_possible(&m->addr))
		return -EINVAL;
	if (h.mgmt_class == VB_MAD_CLASS_SUBN_DIRECTED && !route_is_possible(node, port, first))
		return -EINVAL;
	return length_check(r, m, h.mgmt_class, vb_agent_is_segmented(r, h.mgmt_class, &rmpp));
}
