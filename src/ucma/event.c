/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events of files, and the accounts between them and ids: the events that were taken of an id are
 * what DESTROY_ID tells, for the library waits until as many were acknowledged. CMP-33 to CMP-36
 *
 * An event waits, is out, and is taken. Events that are out lie where the program takes them
 * without a command; they are the first ones of their file, in order. Until the caller says that
 * one was taken it counts as one that waits, for the program may never take it.
 */
#include "base/assert.h"
#include "ucma/priv.h"

#include <assert.h>
#include <errno.h>

static struct vb_ucma_event *event_at(const struct vb_list *l)
{
	return vb_container_of(l, struct vb_ucma_event, link);
}

void vb_ucma_file_touch(struct vb_ucma_file *f)
{
	vb_list_remove(&f->changed);
	vb_list_append(&f->u->changed, &f->changed);
}

/* Its record is old. */
static void event_touch(struct vb_ucma_event *ev)
{
	struct vb_ucma *u = ev->id->u;

	vb_list_remove(&ev->fresh);
	vb_list_init(&ev->fresh);
	if (u->has_region)
		vb_list_append(&u->fresh, &ev->fresh);
}

struct vb_ucma_event *vb_ucma_event_add(struct vb_ucma_id *id, enum vb_ucma_event_kind kind,
					int32_t status)
{
	struct vb_ucma_file *f = id->file;
	struct vb_ucma_event *ev;

	if (!id->has_uid || f->event_cnt >= f->u->cfg.events)
		return NULL;
	ev = vb_ucma_alloc(f->u, sizeof *ev);
	if (!ev)
		return NULL;
	ev->id = id;
	ev->reply.uid = id->uid;
	ev->reply.id = id->number;
	ev->reply.event = kind;
	ev->reply.status = status;
	ev->seq = ++f->u->event_seq;
	vb_list_append(&f->events, &ev->link);
	f->event_cnt++;
	vb_list_init(&ev->fresh);
	event_touch(ev);
	vb_ucma_id_touch(id);
	vb_ucma_file_touch(f);
	return ev;
}

void vb_ucma_event_free(struct vb_ucma_event *ev)
{
	struct vb_ucma_file *f = ev->id->file;

	VB_ASSERT_ALL(f->event_cnt > 0);
	vb_ucma_event_unkeep(ev);
	vb_ucma_id_keep(ev->id);
	vb_list_remove(&ev->link);
	f->event_cnt--;
	VB_ASSERT_ALL(!ev->is_out || f->out_cnt > 0);
	if (ev->is_out)
		f->out_cnt--;
	vb_ucma_file_touch(f);
	vb_ucma_free(f->u, ev);
}

/* The program gets no further with it after a restart: the connection that it speaks of is gone. */
static bool event_is_past(const struct vb_ucma_event *ev)
{
	return ev->reply.event == VB_UCMA_EV_CONNECT_REQUEST ||
	       ev->reply.event == VB_UCMA_EV_CONNECT_RESPONSE;
}

static void event_count(struct vb_ucma_event *ev)
{
	if (ev->is_void) {
		vb_ucma_event_free(ev);
		return;
	}
	VB_ASSERT_ALL(ev->id->has_uid);
	VB_ASSERT_ALL(!ev->request || ev->request->listener == ev->id);
	VB_ASSERT_ALL(!ev->mc || ev->mc->id == ev->id);
	/* Better one too few than one that is never acknowledged. */
	if (!ev->is_doubtful || !event_is_past(ev))
		ev->id->events_reported++;
	if (ev->mc)
		ev->mc->events_reported++;
	if (ev->request) {
		ev->request->listener = NULL;
		ev->request->is_out = false;
		vb_ucma_id_keep(ev->request);
		ev->id->backlog++;
	}
	vb_ucma_event_free(ev);
}

/* The first event that is not out; NULL: there is none. */
static struct vb_ucma_event *first_waiting(const struct vb_ucma_file *f)
{
	const struct vb_list *l = f->events.next;

	while (l != &f->events && event_at(l)->is_out)
		l = l->next;
	return l == &f->events ? NULL : event_at(l);
}

/* Whether the program can name the id that the event brings. */
static void request_name(const struct vb_ucma_event *ev, bool is_out)
{
	if (!ev->request)
		return;
	ev->request->is_out = is_out;
	vb_ucma_id_touch(ev->request);
}

bool vb_ucma_event_next(struct vb_ucma_file *f, struct vb_ucma_event_reply *out, uint64_t *seq,
			bool *repeats)
{
	struct vb_ucma_event *ev = f->out_cnt < VB_UCMA_OUT_MAX ? first_waiting(f) : NULL;

	if (!ev)
		return false;
	request_name(ev, true);
	*out = ev->reply;
	*seq = ev->seq;
	*repeats = ev->is_doubtful;
	return true;
}

void vb_ucma_event_given(struct vb_ucma_file *f)
{
	struct vb_ucma_event *ev = first_waiting(f);

	assert(ev && f->out_cnt < VB_UCMA_OUT_MAX);
	ev->is_out = true;
	f->out_cnt++;
	event_touch(ev);
}

uint32_t vb_ucma_events_out(const struct vb_ucma_file *f)
{
	return f->out_cnt;
}

void vb_ucma_events_taken(struct vb_ucma_file *f, uint32_t cnt)
{
	for (; cnt && f->out_cnt; cnt--)
		event_count(event_at(f->events.next));
}

static bool is_among(uint64_t seq, const uint64_t *back, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++)
		if (back[i] == seq)
			return true;
	return false;
}

void vb_ucma_events_return(struct vb_ucma_file *f, const uint64_t *back, uint32_t cnt)
{
	struct vb_list *l = f->events.next, *next;

	VB_ASSERT_ALL(f->out_cnt <= VB_UCMA_OUT_MAX);
	for (; l != &f->events && event_at(l)->is_out; l = next) {
		struct vb_ucma_event *ev = event_at(l);

		next = l->next;
		if (ev->is_void || !is_among(ev->seq, back, cnt)) {
			event_count(ev);
			continue;
		}
		ev->is_out = false;
		ev->is_doubtful = false;
		f->out_cnt--;
		event_touch(ev);
		request_name(ev, false);
	}
	VB_ASSERT_ALL(f->out_cnt == 0);
	vb_ucma_file_touch(f);
}

void vb_ucma_events_void(struct vb_ucma_file *f)
{
	for (struct vb_list *l = f->events.next; l != &f->events && event_at(l)->is_out;
	     l = l->next) {
		struct vb_ucma_event *ev = event_at(l);
		struct vb_ucma_id *request = ev->request;

		if (ev->is_void || !event_is_past(ev))
			continue;
		ev->is_void = true;
		if (ev->reply.event == VB_UCMA_EV_CONNECT_REQUEST)
			ev->id->backlog++;
		ev->request = NULL;
		if (!request)
			continue;
		/* The program may have the event all the same, and accepts a lost one then. */
		request->listener = NULL;
		request->is_out = false;
		vb_ucma_id_keep(request);
	}
}

int vb_ucma_event_take(struct vb_ucma_file *f, struct vb_ucma_event_reply *out)
{
	struct vb_ucma_event *ev = first_waiting(f);

	if (!ev)
		return -EAGAIN;
	VB_ASSERT_ALL(ev->id->file == f);
	*out = ev->reply;
	event_count(ev);
	return 0;
}

bool vb_ucma_event_is_out(const struct vb_ucma_id *id, const struct vb_ucma_mc *mc)
{
	const struct vb_ucma_file *f = id->file;

	for (const struct vb_list *l = f->events.next; l != &f->events; l = l->next) {
		const struct vb_ucma_event *ev = event_at(l);

		if (!ev->is_out)
			break;
		if (mc ? ev->mc == mc : ev->id == id || ev->request == id)
			return true;
	}
	return false;
}

bool vb_ucma_events_fit(const struct vb_ucma_id *id, const struct vb_ucma_file *to)
{
	const struct vb_list *events = &id->file->events;
	uint32_t cnt = to->event_cnt;

	for (const struct vb_list *l = events->next; l != events; l = l->next)
		cnt += vb_container_of(l, struct vb_ucma_event, link)->id == id;
	return cnt <= to->u->cfg.events;
}

void vb_ucma_events_move(struct vb_ucma_id *id, struct vb_ucma_file *to)
{
	struct vb_ucma_file *from = id->file;
	struct vb_list *l = from->events.next, *next;

	VB_ASSERT_ALL(vb_ucma_events_fit(id, to));
	for (; l != &from->events; l = next) {
		struct vb_ucma_event *ev = event_at(l);

		next = l->next;
		if (ev->id != id)
			continue;
		VB_ASSERT_ALL(!ev->is_out);
		/* Those of a file grow. */
		ev->seq = ++id->u->event_seq;
		event_touch(ev);
		vb_list_remove(l);
		vb_list_append(&to->events, l);
		VB_ASSERT_ALL(from->event_cnt > 0);
		from->event_cnt--;
		to->event_cnt++;
		if (ev->request) {
			vb_list_remove(&ev->request->in_file);
			vb_list_append(&to->ids, &ev->request->in_file);
			ev->request->file = to;
			vb_ucma_id_touch(ev->request);
		}
	}
	vb_list_remove(&id->in_file);
	vb_list_append(&to->ids, &id->in_file);
	id->file = to;
	vb_ucma_id_touch(id);
	vb_ucma_file_touch(from);
	vb_ucma_file_touch(to);
}
