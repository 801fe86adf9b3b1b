/* SPDX-License-Identifier: BSD-2-Clause */
/* MADs from the wire to the agents that they are for. Items MAD-08, MAD-09 */
#include "mgmt/agents/priv.h"

#include "wire/mad/smp.h"

/* Whether a QP takes such a MAD at all. IBA 13.4.4, 13.5.3 */
static bool mad_is_valid(bool on_qp0, const struct vb_mad_hdr *h)
{
	bool smi =
	    h->mgmt_class == VB_MAD_CLASS_SUBN_LID || h->mgmt_class == VB_MAD_CLASS_SUBN_DIRECTED;

	if (h->base_version != VB_MAD_BASE_VERSION || smi != on_qp0)
		return false;
	return h->mgmt_class != VB_MAD_CLASS_CM || h->attr_id == VB_MAD_CLASS_PORT_INFO ||
	       h->method == VB_MAD_METHOD_SEND;
}

/* Of the SMPs that ask, SMInfo alone is the subnet manager's; the node's agent answers the rest. */
static bool smp_is_of_node(const struct vb_mad_hdr *h)
{
	return (h->method == VB_MAD_METHOD_GET || h->method == VB_MAD_METHOD_SET) &&
	       h->attr_id != VB_SMP_SM_INFO;
}

/* Puts a message that came into the queue of its agent's file. */
static void packet_deliver(struct vb_agents *a, struct vb_agent *g, struct vb_mad_packet *p)
{
	if (vb_agents_queue_has_room(a, g->file))
		vb_agents_queue_put(a, g->file, p);
	else
		vb_mad_packet_free(a, p);
}

static void message_deliver(struct vb_agents *a, struct vb_agent *g, const struct vb_mad_addr *from,
			    const uint8_t mad[VB_MAD_LEN])
{
	struct vb_mad_packet *p = vb_mad_packet_create(a, mad);

	if (!p) {
		a->cnt.rx_no_room++;
		return;
	}
	p->msg.agent = g->id;
	p->msg.addr = *from;
	packet_deliver(a, g, p);
}

/* An answer whose request its agent no longer waits for is dropped; the parts of a message that a
 * program puts together for itself are not. */
static bool answer_is_wanted(struct vb_agents *a, const struct vb_agent *g,
			     const struct vb_mad_send *s, const struct vb_mad_hdr *h,
			     const struct vb_rmpp *r)
{
	if (s ||
	    (!vb_agent_has_rmpp(g) && vb_mad_class_has_rmpp(h->mgmt_class) && vb_rmpp_is_active(r)))
		return true;
	a->cnt.rx_unmatched++;
	return false;
}

/* A part of a message that is not the program's to put together. */
static bool part_handle(struct vb_agents *a, struct vb_agent *g, const struct vb_mad_hdr *h,
			const struct vb_rmpp *r, const struct vb_mad_addr *from,
			const uint8_t mad[VB_MAD_LEN], vb_time now)
{
	bool is_answer = vb_mad_is_response(h);
	struct vb_mad_packet *p;
	struct vb_mad_send *s;

	if (r->version != VB_RMPP_VERSION || r->type != VB_RMPP_DATA) {
		vb_rmpp_send_control(a, g, from, mad, r, now);
		return true;
	}
	s = is_answer ? vb_mad_send_find(g, h, from) : NULL;
	/* The ACK of an answer's end may have been lost. */
	if (is_answer && !s && !vb_rmpp_receive_is_over(g, h, from)) {
		a->cnt.rx_unmatched++;
		return false;
	}
	/* The answer is on its way: the request is not repeated meanwhile. */
	if (s && s->timer.node.pos != 0)
		vb_mad_send_wait(a, s, now);
	p = vb_rmpp_receive(a, g, from, mad, r, now);
	if (!p)
		return true;
	packet_deliver(a, g, p);
	if (s)
		vb_mad_send_free(a, s);
	return true;
}

static bool answer_handle(struct vb_agents *a, struct vb_agent *g, const struct vb_mad_hdr *h,
			  const struct vb_rmpp *r, const struct vb_mad_addr *from,
			  const uint8_t mad[VB_MAD_LEN])
{
	struct vb_mad_send *s = vb_mad_send_find(g, h, from);

	if (!answer_is_wanted(a, g, s, h, r))
		return false;
	message_deliver(a, g, from, mad);
	if (s)
		vb_mad_send_free(a, s);
	return true;
}

bool vb_agents_handle(struct vb_agents *a, bool on_qp0, const struct vb_mad_addr *from,
		      const uint8_t mad[VB_MAD_LEN], vb_time now)
{
	struct vb_mad_hdr h;
	struct vb_rmpp r;
	struct vb_agent *g;
	bool is_answer;

	vb_mad_hdr_parse(&h, mad);
	vb_rmpp_parse(&r, mad);
	if (!mad_is_valid(on_qp0, &h)) {
		a->cnt.rx_bad++;
		return true;
	}
	is_answer = vb_mad_is_response(&h);
	if (!is_answer && on_qp0 && smp_is_of_node(&h))
		return false;
	g = is_answer ? vb_agent_of_answer(a, &h) : vb_agent_of_request(a, &h, mad);
	if (!g || !g->file)
		return false;
	if (vb_agent_has_rmpp(g) && vb_mad_class_has_rmpp(h.mgmt_class) && vb_rmpp_is_active(&r))
		return part_handle(a, g, &h, &r, from, mad, now);
	if (is_answer)
		return answer_handle(a, g, &h, &r, from, mad);
	message_deliver(a, g, from, mad);
	return true;
}
