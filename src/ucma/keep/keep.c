/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of ids, events and groups are written, see keep.h. CMP-51 */
#include "ucma/priv.h"

void vb_ucma_set_region(struct vb_ucma *u, const struct vb_ucma_region *region)
{
	u->has_region = region != NULL;
	if (region)
		u->region = *region;
}

static void version_change(const struct vb_ucma_id *id)
{
	uint32_t *v = id->u->version;

	if (v)
		__atomic_store_n(&v[id->number], v[id->number] + 1, __ATOMIC_RELEASE);
}

void vb_ucma_id_touch(struct vb_ucma_id *id)
{
	version_change(id);
	vb_ucma_id_keep(id);
}

void vb_ucma_id_keep(struct vb_ucma_id *id)
{
	if (!id->u->has_region)
		return;
	vb_list_remove(&id->touched);
	vb_list_append(&id->u->touched, &id->touched);
}

static void record_put(struct vb_ucma *u, void *to, const void *from, size_t len)
{
	vb_journal_put(u->region.journal, u->region.base, to, from, (uint32_t)len);
}

static struct vb_ucma_kept_id *id_record(struct vb_ucma_id *id)
{
	return id->number < VB_UCMA_KEPT_IDS ? &id->u->region.kept->id[id->number] : NULL;
}

static void id_put(struct vb_ucma_id *id)
{
	struct vb_ucma_kept_id *to = id_record(id);
	const uint8_t *rep;
	struct vb_ucma_kept_id k = {
	    .in_use = 1,
	    .qp_type = id->qp_type,
	    .tos = id->tos,
	    .ack_timeout = id->ack_timeout,
	    .has_uid = id->has_uid,
	    .has_local = id->has_local,
	    .reuses = id->reuses,
	    .af_only = id->af_only,
	    .af_only_set = id->af_only_set,
	    .tos_set = id->tos_set,
	    .ack_timeout_set = id->ack_timeout_set,
	    .is_bound = id->is_bound,
	    .is_passive = id->is_passive,
	    .is_lost = id->is_lost,
	    .is_request = id->listener && !id->is_out,
	    .srq = id->srq,
	    .has_conn = id->conn != NULL,
	    .ps = id->ps,
	    .space = id->space,
	    .state = id->state,
	    .file = id->file->number,
	    .backlog = id->backlog,
	    .events_reported = id->events_reported,
	    .psn = id->psn,
	    .qkey = id->qkey,
	    .uid = id->uid,
	    .src = id->src,
	    .dst = id->dst,
	    .at = id->at,
	};

	if (!to)
		return;
	if (id->conn)
		vb_cm_conn_save(id->conn, &k.conn);
	rep = id->conn ? vb_cm_conn_rep(id->conn) : NULL;
	if (rep)
		record_put(id->u, id->u->region.kept->rep[id->number], rep, VB_MAD_LEN);
	record_put(id->u, to, &k, sizeof k);
}

/* The next free record of a table: 1 + its index; 0: there is none. */
static uint32_t record_find(uint8_t *used, uint32_t cnt, uint32_t *next)
{
	for (uint32_t i = 0; i < cnt; i++) {
		uint32_t at = (*next + i) % cnt;

		if (used[at])
			continue;
		used[at] = 1;
		*next = (at + 1) % cnt;
		return at + 1;
	}
	return 0;
}

static void mc_put(struct vb_ucma_mc *mc)
{
	struct vb_ucma *u = mc->id->u;
	struct vb_ucma_kept_mc k = {.in_use = 1,
				    .is_member = mc->is_member,
				    .id = mc->id->number,
				    .number = mc->number,
				    .events_reported = mc->events_reported,
				    .uid = mc->uid,
				    .gid = mc->gid,
				    .at = mc->at};

	if (!mc->kept)
		mc->kept = record_find(u->mc_used, VB_UCMA_KEPT_MCS, &u->mc_kept_next);
	if (mc->kept)
		record_put(u, &u->region.kept->mc[mc->kept - 1], &k, sizeof k);
}

static void event_put(struct vb_ucma *u, struct vb_ucma_event *ev)
{
	struct vb_ucma_kept_event k = {.seq = ev->seq,
				       .is_out = ev->is_out,
				       .id = ev->id->number + 1,
				       .request = ev->request ? ev->request->number + 1 : 0,
				       .mc = ev->mc ? ev->mc->number + 1 : 0,
				       .reply = ev->reply};

	if (!ev->kept)
		ev->kept = record_find(u->event_used, VB_UCMA_KEPT_EVENTS, &u->event_kept_next);
	if (ev->kept)
		record_put(u, &u->region.kept->event[ev->kept - 1], &k, sizeof k);
}

void vb_ucma_id_unkeep(struct vb_ucma_id *id)
{
	static const struct vb_ucma_kept_id none;

	version_change(id);
	vb_list_remove(&id->touched);
	vb_list_init(&id->touched);
	if (id->u->has_region && id_record(id))
		record_put(id->u, id_record(id), &none, sizeof none);
}

void vb_ucma_event_unkeep(struct vb_ucma_event *ev)
{
	struct vb_ucma *u = ev->id->u;
	const uint64_t none = 0;

	vb_list_remove(&ev->fresh);
	vb_list_init(&ev->fresh);
	if (!ev->kept)
		return;
	u->event_used[ev->kept - 1] = 0;
	if (u->has_region)
		record_put(u, &u->region.kept->event[ev->kept - 1].seq, &none, sizeof none);
}

void vb_ucma_mc_unkeep(struct vb_ucma_mc *mc)
{
	struct vb_ucma *u = mc->id->u;
	const uint8_t none = 0;

	if (!mc->kept)
		return;
	u->mc_used[mc->kept - 1] = 0;
	if (u->has_region)
		record_put(u, &u->region.kept->mc[mc->kept - 1].in_use, &none, sizeof none);
}

void vb_ucma_keep(struct vb_ucma *u)
{
	if (!u->has_region)
		return;
	while (!vb_list_is_empty(&u->touched)) {
		struct vb_ucma_id *id =
		    vb_container_of(u->touched.next, struct vb_ucma_id, touched);

		vb_list_remove(&id->touched);
		vb_list_init(&id->touched);
		id_put(id);
		for (struct vb_list *l = id->mcs.next; l != &id->mcs; l = l->next)
			mc_put(vb_container_of(l, struct vb_ucma_mc, link));
	}
	while (!vb_list_is_empty(&u->fresh)) {
		struct vb_ucma_event *ev =
		    vb_container_of(u->fresh.next, struct vb_ucma_event, fresh);

		vb_list_remove(&ev->fresh);
		vb_list_init(&ev->fresh);
		event_put(u, ev);
	}
	record_put(u, &u->region.kept->id_next, &u->id_next, sizeof u->id_next);
	record_put(u, &u->region.kept->mc_next, &u->mc_next, sizeof u->mc_next);
	record_put(u, &u->region.kept->event_seq, &u->event_seq, sizeof u->event_seq);
	vb_journal_commit(u->region.journal, u->region.base);
}
