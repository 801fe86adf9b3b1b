/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Machines of programs' connections that are killed between any two steps, and inside one, before
 * what it changed is kept. The next one goes on from the records: established connections, and all
 * that no peer takes part in, stand as before; what was being made ends with UNREACHABLE, unless
 * its REP was sent, and is sent again; a request that no program has seen is gone. CMP-51
 */
#include "programs.h"

#include <string.h>

struct programs_kept {
	struct vb_journal journal;
	struct vb_ucma_kept kept;
	/* As it was foreseen, by number. */
	bool is_there[IDS];
	struct vb_ucma_view view[IDS];
};

void programs_file_open(struct program_world *w, struct host *h, uint32_t file)
{
	PROGRAM_CHECK(w, vb_ucma_file_open(h->u, h, &h->file[file]) == 0);
	vb_ucma_file_set_number(h->file[file], file + 1);
}

static void region_set(struct host *h)
{
	struct vb_ucma_region r = {h->kept, &h->kept->journal, &h->kept->kept};

	vb_ucma_set_region(h->u, &r);
}

void programs_keep_begin(struct program_world *w, struct host *h)
{
	h->kept = calloc(1, sizeof *h->kept);
	PROGRAM_CHECK(w, h->kept != NULL);
	region_set(h);
}

void programs_keep_end(struct host *h)
{
	free(h->kept);
}

/* The ids that there are, by number. */
static void views_take(struct program_world *w, const struct host *h, bool *is_there,
		       struct vb_ucma_view *to)
{
	struct vb_ucma_view view[IDS + 2 * VB_UCMA_PAST];
	const uint32_t room = sizeof view / sizeof view[0];
	uint32_t n = vb_ucma_views(h->u, view, room);

	PROGRAM_CHECK(w, n <= room);
	memset(is_there, 0, IDS * sizeof *is_there);
	for (uint32_t i = 0; i < n; i++) {
		if (view[i].is_gone)
			continue;
		is_there[view[i].number] = true;
		to[view[i].number] = view[i];
	}
}

void programs_foresee(struct program_world *w, struct host *h)
{
	views_take(w, h, h->kept->is_there, h->kept->view);
}

/* A peer has part in it, and no end is known. One whose REP was sent goes on: it depends on its
 * peer how it ends. */
static bool is_being_made(const struct vb_ucma_view *v)
{
	switch ((enum vb_cm_state)v->cm_state) {
	case VB_CM_STATE_IDLE:
	case VB_CM_STATE_LISTEN:
	case VB_CM_STATE_ESTABLISHED:
	case VB_CM_STATE_DREQ_SENT:
	case VB_CM_STATE_DREQ_RCVD:
	case VB_CM_STATE_TIMEWAIT:
	case VB_CM_STATE_REP_SENT:
	case VB_CM_STATE_MRA_REP_RCVD:
		return false;
	default:
		return true;
	}
}

static bool addr_eq(const struct vb_ucma_addr *a, const struct vb_ucma_addr *b)
{
	return a->family == b->family && a->port == b->port && vb_gid_eq(&a->gid, &b->gid);
}

static void id_compare(struct program_world *w, struct model_id *id, const struct vb_ucma_view *was,
		       const struct vb_ucma_view *is)
{
	PROGRAM_CHECK(w, is->is_listener == was->is_listener && is->ps == was->ps);
	PROGRAM_CHECK(w, is->has_route == was->has_route && is->is_passive == was->is_passive);
	PROGRAM_CHECK(w, addr_eq(&is->src, &was->src) && addr_eq(&is->dst, &was->dst));
	if (is_being_made(was)) {
		/* The QP may have had packets of the peer. CMP-21 */
		PROGRAM_CHECK(w, is->cm_state == VB_CM_STATE_IDLE ||
				     (is->cm_state == VB_CM_STATE_TIMEWAIT && !was->is_passive));
		id->is_broken = true;
		return;
	}
	PROGRAM_CHECK(w,
		      is->cm_state == was->cm_state || (was->cm_state == VB_CM_STATE_MRA_REP_RCVD &&
							is->cm_state == VB_CM_STATE_REP_SENT));
	if (is->cm_state != VB_CM_STATE_IDLE)
		PROGRAM_CHECK(w,
			      is->local_qpn == was->local_qpn && is->remote_qpn == was->remote_qpn);
}

/* Beside what was foreseen. */
static void views_compare(struct program_world *w, struct host *h)
{
	bool is_there[IDS];
	struct vb_ucma_view is[IDS];

	views_take(w, h, is_there, is);
	for (uint32_t n = 0; n < IDS; n++) {
		const struct vb_ucma_view *was = &h->kept->view[n];

		PROGRAM_CHECK(w, is_there[n] == (h->kept->is_there[n] && !was->is_unread));
		if (is_there[n])
			id_compare(w, &h->id[n], was, &is[n]);
	}
}

void programs_restart(struct program_world *w, struct host *h)
{
	vb_ucma_set_region(h->u, NULL);
	vb_ucma_destroy(h->u);
	PROGRAM_CHECK(w, h->blocks == 0);
	h->restarts++;
	memset(h->ahead, 0, sizeof h->ahead);
	memset(h->version, 0, sizeof h->version);
	programs_machine_open(w, h);
	for (uint32_t k = 0; k < FILES; k++)
		programs_file_open(w, h, k);
	PROGRAM_CHECK(w, vb_journal_recover(&h->kept->journal, h->kept, sizeof *h->kept) == 0);
	region_set(h);
	vb_ucma_restore(h->u, w->now);
	views_compare(w, h);
}
