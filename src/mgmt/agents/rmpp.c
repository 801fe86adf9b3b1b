/* SPDX-License-Identifier: BSD-2-Clause */
/* The control MADs of messages of several MADs: ACK, STOP and ABORT, which go back to where a MAD
 * came from. IBA 13.6.2 */
#include "mgmt/agents/priv.h"

void vb_rmpp_reply(struct vb_agents *a, struct vb_agent *g, const struct vb_mad_addr *from,
		   const uint8_t mad[VB_MAD_LEN], const struct vb_rmpp *r)
{
	struct vb_mad_message m = {.addr = *from, .mad = mad};
	struct vb_rmpp reply = *r, was;
	struct vb_mad_send *s;
	struct vb_mad_hdr h;

	vb_mad_hdr_parse(&h, mad);
	vb_rmpp_parse(&was, mad);
	m.len = vb_mad_class_hdr_len(h.mgmt_class);
	s = vb_mad_send_create(a, g, &m);
	if (!s)
		return; /* as if it had been lost */
	s->is_control = true;
	s->hdr.method ^= VB_MAD_METHOD_RESPONSE;
	vb_mad_hdr_emit(&s->hdr, s->mad);
	reply.version = VB_RMPP_VERSION;
	reply.flags = VB_RMPP_ACTIVE;
	reply.resp_time = was.resp_time;
	vb_rmpp_emit(&reply, s->mad);
	vb_mad_send_due(a, s);
}
