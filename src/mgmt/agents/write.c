/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages that programs write: equal ones that are outstanding, and what becomes of the
 * transaction ID. Items MAD-10 to MAD-12 */
#include "mgmt/agents/priv.h"

#include <errno.h>
#include <string.h>

static bool same_destination(const struct vb_mad_addr *a, const struct vb_mad_addr *b)
{
	if (a->has_grh != b->has_grh)
		return false;
	return a->has_grh ? memcmp(a->gid, b->gid, sizeof a->gid) == 0 : a->lid == b->lid;
}

/* An equal transaction of this file is outstanding: a request with this TID and class, or a
 * response with these to the same destination. */
static bool write_is_duplicate(const struct vb_agents_file *f, const struct vb_mad_hdr *h,
			       const struct vb_mad_addr *to)
{
	bool response = vb_mad_is_response(h);

	for (uint32_t id = 0; id < VB_UMAD_AGENTS; id++) {
		const struct vb_agent *g = f->agent[id];

		if (!g)
			continue;
		for (const struct vb_list *l = g->sends.next; l != &g->sends; l = l->next) {
			const struct vb_mad_send *s =
			    vb_container_of(l, struct vb_mad_send, of_agent);

			if (!s->is_control && s->hdr.tid == h->tid &&
			    s->hdr.mgmt_class == h->mgmt_class &&
			    vb_mad_is_response(&s->hdr) == response &&
			    (!response || same_destination(&s->packet.msg.addr, to)))
				return true;
		}
	}
	return false;
}

/* The sender of a message with RMPP that does without the kernel's may repeat it. */
static bool write_may_repeat(const struct vb_agent *g, uint8_t mgmt_class, const struct vb_rmpp *r)
{
	return !vb_agent_has_rmpp(g) && vb_mad_class_has_rmpp(mgmt_class) && vb_rmpp_is_active(r);
}

/* Queues the message with the header @h. */
static int message_send(struct vb_agents *a, struct vb_agent *g, const struct vb_mad_message *m,
			const struct vb_mad_hdr *h, bool segmented)
{
	uint32_t hdr_len = vb_mad_class_hdr_len(h->mgmt_class);
	struct vb_mad_send *s = vb_mad_send_create(a, g, m);

	if (!s)
		return -ENOMEM;
	s->hdr.tid = h->tid;
	vb_mad_tid_put(s->mad, h->tid);
	if (segmented && vb_rmpp_send_begin(a, s, m->mad + hdr_len, m->len - hdr_len,
					    vb_rmpp_first_window(g, h, &m->addr))) {
		vb_mad_send_free(a, s);
		return -ENOMEM;
	}
	vb_mad_send_due(a, s);
	return 0;
}

int vb_agents_write(struct vb_agents *a, int file, const struct vb_mad_message *m)
{
	struct vb_agents_file *f = vb_agents_file(a, file);
	uint8_t first[VB_MAD_LEN] = {0};
	struct vb_mad_hdr h;
	struct vb_rmpp r;
	struct vb_agent *g;
	int err;

	if (m->len < VB_UMAD_WRITE_MIN || m->agent >= VB_UMAD_AGENTS)
		return -EINVAL;
	g = f->agent[m->agent];
	if (!g)
		return -EIO;
	err = vb_agent_check(&g->req, &a->cfg.node, a->cfg.port, m);
	if (err)
		return err;
	memcpy(first, m->mad, m->len < VB_MAD_LEN ? m->len : VB_MAD_LEN);
	vb_mad_hdr_parse(&h, first);
	vb_rmpp_parse(&r, first);
	if (!vb_mad_is_response(&h))
		h.tid = (uint64_t)g->hi_tid << 32 | (uint32_t)h.tid;
	if (!write_may_repeat(g, h.mgmt_class, &r) && write_is_duplicate(f, &h, &m->addr))
		return -EINVAL;
	err = message_send(a, g, m, &h, vb_agent_is_segmented(&g->req, h.mgmt_class, &r));
	if (!err)
		vb_inform_note(a, f, &m->addr, &h, first);
	return err;
}
