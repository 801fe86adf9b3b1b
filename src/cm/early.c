/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests that come before their listener. A program that ends one connection and listens for the
 * next one, as perftest's servers do, is a moment behind a client that does not wait for it. With
 * a kernel's connection manager the client takes longer than that moment; here its request would be
 * refused. So one without a listener waits, a short while (vb_cm_config.listen_wait_ns), and is
 * refused then. CMP-17, CMP-24
 */
#include "base/assert.h"
#include "cm/priv.h"

#include <string.h>

static uint64_t early_service(const struct vb_cm_early *e)
{
	return e->msg.attr == VB_CM_REQ ? e->msg.req.service_id : e->msg.sidr_req.service_id;
}

/* The place of the request with the communication ID @id of the sender of @path; or early_cnt. */
static uint32_t early_find(const struct vb_cm *cm, const struct vb_path *path, uint32_t id)
{
	uint32_t i = 0;

	for (; i < cm->early_cnt; i++) {
		const struct vb_path back = vb_path_back(&cm->early[i].path);

		if (cm->early[i].msg.local_id == id && vb_path_is_from(path, &back))
			break;
	}
	return i;
}

static void early_remove(struct vb_cm *cm, uint32_t i)
{
	VB_ASSERT(i < cm->early_cnt);
	cm->early_cnt--;
	memmove(&cm->early[i], &cm->early[i + 1], (cm->early_cnt - i) * sizeof cm->early[0]);
}

bool vb_cm_early_keep(struct vb_cm *cm, const struct vb_path *path, const struct vb_cm_msg *m,
		      vb_time now)
{
	if (!cm->cfg.listen_wait_ns)
		return false;
	if (early_find(cm, path, m->local_id) < cm->early_cnt) {
		vb_cm_port_of(cm, path)->rx_duplicates[vb_cm_counter(m->attr)]++;
		return true;
	}
	if (cm->early_cnt == VB_CM_EARLY)
		return false;
	cm->early[cm->early_cnt++] = (struct vb_cm_early){
	    .path = *path, .msg = *m, .due = vb_time_after(now, cm->cfg.listen_wait_ns)};
	return true;
}

bool vb_cm_early_forget(struct vb_cm *cm, const struct vb_path *path, uint32_t id)
{
	uint32_t i = early_find(cm, path, id);

	if (i == cm->early_cnt)
		return false;
	early_remove(cm, i);
	return true;
}

void vb_cm_early_hear(struct vb_cm *cm, uint64_t service_id)
{
	for (uint32_t i = 0; i < cm->early_cnt; i++)
		if (early_service(&cm->early[i]) == service_id)
			cm->early[i].due = 0;
}

vb_time vb_cm_early_due(const struct vb_cm *cm)
{
	vb_time due = VB_NEVER;

	for (uint32_t i = 0; i < cm->early_cnt; i++)
		due = vb_time_min(due, cm->early[i].due);
	return due;
}

static void early_end(struct vb_cm *cm, const struct vb_cm_early *e, vb_time now)
{
	bool heard = vb_cm_find(cm, VB_CM_BY_SERVICE, 0, early_service(e)) != NULL;

	if (e->msg.attr == VB_CM_REQ && heard)
		vb_cm_on_req(cm, &e->path, &e->msg, now);
	else if (e->msg.attr == VB_CM_REQ)
		vb_cm_reject_stray(cm, &e->path, &e->msg, VB_CM_ABOUT_REQ,
				   VB_CM_REJ_INVALID_SERVICE_ID);
	else if (heard)
		vb_cm_on_sidr_req(cm, &e->path, &e->msg, now);
	else
		vb_cm_sidr_refuse(cm, &e->path, &e->msg);
}

void vb_cm_early_timeout(struct vb_cm *cm, vb_time now)
{
	for (uint32_t i = 0; i < cm->early_cnt;) {
		struct vb_cm_early e;

		if (cm->early[i].due > now) {
			i++;
			continue;
		}
		e = cm->early[i];
		early_remove(cm, i);
		early_end(cm, &e, now);
	}
}
