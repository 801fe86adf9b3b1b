/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A machine goes on from the records of another one, see keep.h. Nobody need have written them
 * truly: other processes of the user can reach the region. CMP-51
 */
#include "base/heap.h"
#include "ucma/priv.h"

#include <errno.h>

static struct vb_ucma_file *file_find(struct vb_ucma *u, uint32_t number)
{
	for (struct vb_list *l = u->files.next; l != &u->files; l = l->next) {
		struct vb_ucma_file *f = vb_container_of(l, struct vb_ucma_file, all);

		if (f->number == number)
			return f;
	}
	return NULL;
}

static bool state_is_one(uint32_t state)
{
	return state && !(state & (state - 1)) && (state & VB_UCMA_ANY_STATE);
}

static void id_fill(struct vb_ucma_id *id, const struct vb_ucma_kept_id *k)
{
	id->space = k->space;
	id->uid = k->uid;
	id->has_uid = k->has_uid;
	id->state = (enum vb_ucma_state)k->state;
	id->reuses = k->reuses;
	id->af_only = k->af_only;
	id->af_only_set = k->af_only_set;
	id->tos_set = k->tos_set;
	id->ack_timeout_set = k->ack_timeout_set;
	id->is_passive = k->is_passive;
	id->is_lost = k->is_lost;
	id->has_local = k->has_local;
	id->tos = k->tos;
	id->ack_timeout = k->ack_timeout;
	id->src = k->src;
	id->dst = k->dst;
	id->at = k->at;
	id->backlog = k->backlog < 0 || k->backlog > VB_UCMA_BACKLOG_MAX ? 0 : k->backlog;
	id->events_reported = k->events_reported;
	id->psn = k->psn & VB_PSN_MASK;
	id->qkey = k->qkey;
	id->srq = k->srq;
}

/* The device that it has is still where it was; else it gets what removal of a device gives. */
static bool device_is_there(struct vb_ucma_id *id)
{
	const struct vb_ucma_env *env = &id->u->cfg.env;
	struct vb_ucma_local at;

	if (env->local(env->ctx, &id->src, &at) || at.hca_port != id->at.hca_port)
		return false;
	id->at = at;
	return true;
}

/* A connection that was being made is at its end. */
static void conn_lose(struct vb_ucma_id *id)
{
	if (id->has_uid)
		(void)vb_ucma_event_add(id, VB_UCMA_EV_UNREACHABLE, VB_UCMA_ETIMEDOUT);
	else
		id->is_lost = true; /* until it is accepted, it has no events */
}

static void conn_restore(struct vb_ucma_id *id, const struct vb_ucma_kept_id *k, vb_time now)
{
	uint8_t rep[VB_MAD_LEN];
	int err;

	if (!k->has_conn)
		return;
	memcpy(rep, id->u->region.kept->rep[id->number], sizeof rep);
	err = vb_cm_conn_restore(id->u->cm, id, &k->conn, rep, now, &id->conn);
	if (err && err != -ECONNRESET)
		id->conn = NULL;
	if (err)
		conn_lose(id);
	else
		id->is_resumed = vb_cm_conn_rep(id->conn) != NULL;
}

/* The parts of an id besides its fields: port, listener, connection. */
static void id_connect(struct vb_ucma_id *id, const struct vb_ucma_kept_id *k, vb_time now)
{
	if (k->is_bound)
		vb_ucma_bind_again(id);
	if (id->state == VB_UCMA_LISTENING && (!k->is_bound || vb_ucma_listen_again(id)))
		id->state = VB_UCMA_ADDR_BOUND;
	/* Another user may have it by now; then nobody comes to this listener. */
	if (id->state == VB_UCMA_LISTENING || (k->is_bound && id->state == VB_UCMA_ADDR_BOUND))
		(void)vb_ucma_claim(id);
	conn_restore(id, k, now);
	if (id->has_local && id->state != VB_UCMA_REMOVED && !device_is_there(id)) {
		id->state = VB_UCMA_REMOVED;
		(void)vb_ucma_event_add(id, VB_UCMA_EV_DEVICE_REMOVAL, 0);
	}
}

/* The id @number. A request that waits as an event is forgotten: its peer repeats it. */
static bool id_make(struct vb_ucma *u, uint32_t number, const struct vb_ucma_kept_id *k)
{
	struct vb_ucma_file *f = k->is_request ? NULL : file_find(u, k->file);
	struct vb_ucma_id *id;

	if (!f || !state_is_one(k->state))
		return false;
	u->id_next = number;
	if (vb_ucma_id_new(f, k->ps, k->qp_type, &id))
		return false;
	id_fill(id, k);
	return true;
}

static void mc_restore(struct vb_ucma *u, uint32_t index)
{
	const struct vb_ucma_kept_mc k = u->region.kept->mc[index];
	struct vb_ucma_id *id = k.in_use && k.id < u->cfg.ids ? u->ids[k.id] : NULL;
	const struct vb_ucma_env *env = &u->cfg.env;
	struct vb_ucma_mc *mc = id ? vb_ucma_alloc(u, sizeof *mc) : NULL;

	if (!mc)
		return;
	mc->id = id;
	mc->uid = k.uid;
	mc->number = k.number;
	mc->gid = k.gid;
	mc->at = id->at;
	mc->events_reported = k.events_reported;
	mc->kept = index + 1;
	u->mc_used[index] = 1;
	vb_list_append(&id->mcs, &mc->link);
	mc->is_member = k.is_member && vb_gid_is_multicast(&mc->gid) &&
			env->group(env->ctx, &mc->at, &mc->gid, true) == 0;
}

static struct vb_ucma_mc *mc_find(const struct vb_ucma_id *id, uint32_t number)
{
	for (struct vb_list *l = id->mcs.next; l != &id->mcs; l = l->next) {
		struct vb_ucma_mc *mc = vb_container_of(l, struct vb_ucma_mc, link);

		if (mc->number == number)
			return mc;
	}
	return NULL;
}

/* Whether it still says what is so, or is with the program. A request is repeated, and is a new one
 * then; the way to an answer is gone, and UNREACHABLE follows. */
static bool event_holds(const struct vb_ucma_kept_event *k)
{
	return k->is_out || (!k->request && k->reply.event != VB_UCMA_EV_CONNECT_RESPONSE);
}

/* The program may have taken the event, and know the id of a request, @request - 1. */
static void event_give_again(struct vb_ucma_event *ev, uint32_t request)
{
	struct vb_ucma *u = ev->id->u;
	struct vb_ucma_id *id = request && request <= u->cfg.ids ? u->ids[request - 1] : NULL;

	if (ev->id->file->out_cnt == VB_UCMA_OUT_MAX)
		return;
	ev->is_out = true;
	ev->id->file->out_cnt++;
	if (!id || id == ev->id || id->listener || id->has_uid || id->file != ev->id->file)
		return;
	ev->request = id;
	id->listener = ev->id;
	id->is_out = true;
}

static struct vb_ucma_event *event_make(struct vb_ucma *u, const struct vb_ucma_kept_event *k)
{
	uint32_t number = k->id - 1;
	struct vb_ucma_id *id = number < u->cfg.ids ? u->ids[number] : NULL;
	struct vb_ucma_event *ev;

	if (id && k->request && !k->is_out)
		id->backlog++;
	ev = id && event_holds(k) ? vb_ucma_event_add(id, VB_UCMA_EV_ADDR_RESOLVED, 0) : NULL;
	if (!ev)
		return NULL;
	ev->reply = k->reply;
	ev->mc = k->mc ? mc_find(id, k->mc - 1) : NULL;
	if (k->is_out)
		event_give_again(ev, k->request);
	return ev;
}

/* The event keeps its record; one that is not made gives it up. */
static void event_restore(struct vb_ucma *u, struct vb_ucma_kept_event *record)
{
	const struct vb_ucma_kept_event k = *record;
	const uint64_t none = 0;
	struct vb_ucma_event *ev = event_make(u, &k);

	if (!ev) {
		vb_journal_put(u->region.journal, u->region.base, &record->seq, &none, sizeof none);
		return;
	}
	ev->kept = (uint32_t)(record - u->region.kept->event) + 1;
	ev->seq = k.seq;
	ev->is_doubtful = true;
	u->event_used[ev->kept - 1] = 1;
	vb_list_remove(&ev->fresh);
	vb_list_init(&ev->fresh);
}

/* A record as it is sorted, by its seq. */
struct waiting {
	struct vb_heap_node in_heap;
	struct vb_ucma_kept_event *record;
};

/* The events that waited, oldest first. */
static void events_restore(struct vb_ucma *u)
{
	struct vb_ucma_kept_event *record = u->region.kept->event;
	struct waiting *all = vb_ucma_alloc(u, VB_UCMA_KEPT_EVENTS * sizeof *all);
	struct vb_heap heap = {.cap = VB_UCMA_KEPT_EVENTS};

	heap.node = vb_ucma_alloc(u, (VB_UCMA_KEPT_EVENTS + 1) * sizeof(struct vb_heap_node *));
	for (uint32_t i = 0; all && heap.node && i < VB_UCMA_KEPT_EVENTS; i++) {
		uint64_t seq = __atomic_load_n(&record[i].seq, __ATOMIC_RELAXED);

		all[i].record = &record[i];
		if (seq)
			vb_heap_set(&heap, &all[i].in_heap, seq);
	}
	while (heap.cnt) {
		struct waiting *w = vb_container_of(heap.node[1], struct waiting, in_heap);

		vb_heap_remove(&heap, &w->in_heap);
		event_restore(u, w->record);
	}
	if (heap.node)
		vb_ucma_free(u, heap.node);
	if (all)
		vb_ucma_free(u, all);
}

/* The id of record @number, without what it is connected to. */
static void id_restore(struct vb_ucma *u, uint32_t number, struct vb_ucma_kept_id *k)
{
	static const struct vb_ucma_kept_id none;
	struct vb_ucma_kept_id *record = &u->region.kept->id[number];

	*k = *record;
	if (k->in_use && !id_make(u, number, k))
		vb_journal_put(u->region.journal, u->region.base, record, &none, sizeof none);
}

void vb_ucma_restore(struct vb_ucma *u, vb_time now)
{
	struct vb_ucma_kept *kept = u->region.kept;
	uint32_t cnt = u->cfg.ids < VB_UCMA_KEPT_IDS ? u->cfg.ids : VB_UCMA_KEPT_IDS;
	uint32_t id_next = kept->id_next;
	uint64_t event_seq = kept->event_seq;
	struct vb_ucma_kept_id k;

	for (uint32_t n = 0; n < cnt; n++)
		id_restore(u, n, &k);
	u->id_next = id_next;
	u->mc_next = kept->mc_next;
	for (uint32_t i = 0; i < VB_UCMA_KEPT_MCS; i++)
		mc_restore(u, i);
	events_restore(u);
	u->event_seq = event_seq;
	/* Connections last: their events come behind the events that waited. */
	for (uint32_t n = 0; n < cnt; n++) {
		if (!u->ids[n])
			continue;
		k = kept->id[n];
		id_connect(u->ids[n], &k, now);
	}
	vb_ucma_settle(u, now);
	vb_ucma_keep(u);
}
