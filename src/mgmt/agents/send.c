/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The messages that agents have sent: each until it has left, when no answer is waited for, until
 * its answer has come, or until its retries are used up. Items MAD-09, MAD-13
 */
#include "mgmt/agents/priv.h"

#include "wire/mad/smp.h"

#include <errno.h>
#include <string.h>

/* One more, or one less, that is outstanding. Its owner may look, and count, at any time. */
static void outstanding_add(struct vb_mad_send *s, uint32_t n)
{
	uint32_t *cnt = s->agent->file->outstanding;

	if (cnt)
		__atomic_fetch_add(&cnt[vb_agents_counter_of(s->hdr.mgmt_class, s->hdr.tid)], n,
				   __ATOMIC_RELEASE);
}

struct vb_mad_send *vb_mad_send_create(struct vb_agents *a, struct vb_agent *g,
				       const struct vb_mad_message *m)
{
	struct vb_mad_send *s = vb_agents_alloc(a, sizeof *s);

	if (!s)
		return NULL;
	if (vb_agents_timer_add(a, &s->timer, VB_AGENTS_SEND)) {
		vb_agents_free(a, s);
		return NULL;
	}
	s->agent = g;
	s->packet.msg = *m;
	s->packet.msg.mad = s->mad;
	s->retries_left = m->retries;
	memcpy(s->mad, m->mad, m->len < VB_MAD_LEN ? m->len : VB_MAD_LEN);
	vb_mad_hdr_parse(&s->hdr, s->mad);
	vb_list_init(&s->packet.link);
	vb_list_init(&s->tx);
	vb_list_append(&g->sends, &s->of_agent);
	outstanding_add(s, 1);
	return s;
}

/* It is no longer the agent's, and waits for nothing. */
static void send_detach(struct vb_agents *a, struct vb_mad_send *s)
{
	outstanding_add(s, UINT32_MAX);
	vb_list_remove(&s->of_agent);
	vb_list_remove(&s->tx);
	vb_agents_timer_remove(a, &s->timer);
}

void vb_mad_send_free(struct vb_agents *a, struct vb_mad_send *s)
{
	send_detach(a, s);
	vb_mad_packet_free(a, &s->packet);
}

void vb_mad_send_due(struct vb_agents *a, struct vb_mad_send *s)
{
	if (vb_list_is_empty(&s->tx))
		vb_list_append(&a->tx, &s->tx);
}

/*
 * Whether what came from @from may answer @s. The LID of an answer to a request is not compared: a
 * port may answer from another of its LIDs, and a Set may change it. IBA 13.5.4
 */
static bool source_may_answer(const struct vb_mad_send *s, const struct vb_mad_hdr *h,
			      const struct vb_mad_addr *from)
{
	const struct vb_mad_addr *to = &s->packet.msg.addr;
	bool was_response = vb_mad_is_response(&s->hdr);

	if (h->mgmt_class == VB_MAD_CLASS_SUBN_DIRECTED)
		return true; /* LIDs may be the permissive one */
	if (was_response == vb_mad_is_response(h) || to->has_grh != from->has_grh)
		return false;
	if (to->has_grh)
		return memcmp(to->gid, from->gid, sizeof to->gid) == 0;
	return !was_response || to->lid == from->lid;
}

struct vb_mad_send *vb_mad_send_find(const struct vb_agent *g, const struct vb_mad_hdr *h,
				     const struct vb_mad_addr *from)
{
	for (struct vb_list *l = g->sends.next; l != &g->sends; l = l->next) {
		struct vb_mad_send *s = vb_container_of(l, struct vb_mad_send, of_agent);

		if (vb_mad_send_waits(s) && s->hdr.tid == h->tid &&
		    s->hdr.mgmt_class == h->mgmt_class && source_may_answer(s, h, from))
			return s;
	}
	return NULL;
}

void vb_mad_send_give_up(struct vb_agents *a, struct vb_mad_send *s)
{
	struct vb_agents_file *f = s->agent->file;

	send_detach(a, s);
	s->packet.msg.status = ETIMEDOUT;
	s->packet.msg.len = VB_MAD_HDR_LEN;
	vb_agents_free(a, s->packet.bytes); /* of the segments */
	s->packet.bytes = NULL;
	a->cnt.tx_timeouts++;
	vb_agents_queue_put(a, f, &s->packet);
}

void vb_mad_send_expire(struct vb_agents *a, struct vb_mad_send *s)
{
	if (s->retries_left == 0) {
		vb_mad_send_give_up(a, s);
		return;
	}
	s->retries_left--;
	a->cnt.tx_retries++;
	vb_mad_send_due(a, s);
}

void vb_mad_send_wait(struct vb_agents *a, struct vb_mad_send *s, vb_time now)
{
	vb_heap_set(&a->timers, &s->timer.node,
		    vb_time_after(now, s->packet.msg.timeout_ms * VB_MSEC));
}
