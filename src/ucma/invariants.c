/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The invariants of a file: its events and how many of them are out, its ids and what others say of
 * them. A program waits for ever for the last event of an id when a count is wrong, so a mistake is
 * found here and not there. CMP-33 to CMP-36
 */
#include "base/assert.h"
#include "ucma/priv.h"

#ifdef VB_ASSERTS_ALL

static void assert_event(const struct vb_ucma_file *f, const struct vb_ucma_event *ev)
{
	const struct vb_ucma *u = f->u;
	const struct vb_ucma_id *request = ev->request;

	VB_ASSERT_ALL(ev->id->file == f && ev->id->has_uid);
	VB_ASSERT_ALL(u->ids[ev->id->number] == ev->id);
	VB_ASSERT_ALL(ev->seq != 0 && ev->seq <= u->event_seq);
	VB_ASSERT_ALL(!ev->mc || ev->mc->id == ev->id);
	VB_ASSERT_ALL(!request || (request->listener == ev->id && request->file == f));
	VB_ASSERT_ALL(!request || request->is_out || !ev->is_out);
	VB_ASSERT_ALL(!ev->is_void || (ev->is_out && !request));
	VB_ASSERT_ALL(ev->kept <= VB_UCMA_KEPT_EVENTS);
	VB_ASSERT_ALL(!ev->kept || (u->has_region && u->event_used[ev->kept - 1]));
}

/* Those that are out are the first ones, and they grow in number. */
static void assert_events(const struct vb_ucma_file *f)
{
	uint32_t cnt = 0, out = 0;
	uint64_t seq = 0;

	for (const struct vb_list *l = f->events.next; l != &f->events; l = l->next) {
		const struct vb_ucma_event *ev = vb_container_of(l, struct vb_ucma_event, link);

		assert_event(f, ev);
		VB_ASSERT_ALL(ev->seq > seq);
		VB_ASSERT_ALL(!ev->is_out || out == cnt);
		seq = ev->seq;
		out += ev->is_out;
		cnt++;
	}
	VB_ASSERT_ALL(cnt == f->event_cnt && cnt <= f->u->cfg.events);
	VB_ASSERT_ALL(out == f->out_cnt && out <= VB_UCMA_OUT_MAX);
}

void vb_ucma_id_assert(const struct vb_ucma_id *id)
{
	VB_ASSERT_ALL(id->number < id->u->cfg.ids && id->u->ids[id->number] == id);
	VB_ASSERT_ALL(id->u->id_cnt > 0 && id->u->id_cnt <= id->u->cfg.ids);
	VB_ASSERT_ALL(id->state && (id->state & (id->state - 1)) == 0);
	VB_ASSERT_ALL((id->state & ~VB_UCMA_ANY_STATE) == 0);
	VB_ASSERT_ALL(id->psn <= VB_PSN_MASK);
	VB_ASSERT_ALL(id->backlog >= 0);
	VB_ASSERT_ALL(!id->service == vb_list_is_empty(&id->in_service));
	VB_ASSERT_ALL(id->is_bound || vb_list_is_empty(&id->in_port));
	VB_ASSERT_ALL(!id->listener || id->is_passive);
	VB_ASSERT_ALL(!id->is_out || id->listener);
	for (const struct vb_list *l = id->mcs.next; l != &id->mcs; l = l->next)
		VB_ASSERT_ALL(vb_container_of(l, struct vb_ucma_mc, link)->id == id);
}

void vb_ucma_file_assert(const struct vb_ucma_file *f)
{
	assert_events(f);
	for (const struct vb_list *l = f->events.next; l != &f->events; l = l->next)
		vb_ucma_id_assert(vb_container_of(l, struct vb_ucma_event, link)->id);
}

#endif
