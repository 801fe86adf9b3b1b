/* SPDX-License-Identifier: BSD-2-Clause */
/* The few requests that wait for a listener, see park.h. */
#include "cm/park/park.h"

#include "base/assert.h"

#include <string.h>

static uint64_t service_of(const struct vb_cm_msg *m)
{
	VB_ASSERT_ALL(m->attr == VB_CM_REQ || m->attr == VB_CM_SIDR_REQ);
	return m->attr == VB_CM_REQ ? m->req.service_id : m->sidr_req.service_id;
}

/* The place of that request; or cnt. */
static uint32_t find_parked(const struct vb_cm_park *p, const struct vb_path *path, uint32_t id)
{
	uint32_t i = 0;

	for (; i < p->cnt; i++) {
		const struct vb_path back = vb_path_back(&p->request[i].path);

		if (p->request[i].msg.local_id == id && vb_path_is_from(path, &back))
			break;
	}
	return i;
}

static void remove_parked(struct vb_cm_park *p, uint32_t i)
{
	VB_ASSERT(i < p->cnt);
	p->cnt--;
	memmove(&p->request[i], &p->request[i + 1], (p->cnt - i) * sizeof p->request[0]);
}

bool vb_cm_park_has(const struct vb_cm_park *p, const struct vb_path *path, uint32_t id)
{
	return find_parked(p, path, id) < p->cnt;
}

bool vb_cm_park_add(struct vb_cm_park *p, const struct vb_path *path, const struct vb_cm_msg *m,
		    vb_time due)
{
	VB_ASSERT_ALL(!vb_cm_park_has(p, path, m->local_id));
	if (p->cnt == VB_CM_PARK_MAX)
		return false;
	p->request[p->cnt++] = (struct vb_cm_parked){.path = *path, .msg = *m, .due = due};
	return true;
}

bool vb_cm_park_forget(struct vb_cm_park *p, const struct vb_path *path, uint32_t id)
{
	uint32_t i = find_parked(p, path, id);

	if (i == p->cnt)
		return false;
	remove_parked(p, i);
	return true;
}

void vb_cm_park_hear(struct vb_cm_park *p, uint64_t service_id)
{
	for (uint32_t i = 0; i < p->cnt; i++)
		if (service_of(&p->request[i].msg) == service_id)
			p->request[i].due = 0;
}

vb_time vb_cm_park_due(const struct vb_cm_park *p)
{
	vb_time due = VB_NEVER;

	for (uint32_t i = 0; i < p->cnt; i++)
		due = vb_time_min(due, p->request[i].due);
	return due;
}

bool vb_cm_park_take(struct vb_cm_park *p, struct vb_cm_parked *out, vb_time now)
{
	uint32_t i = 0;

	while (i < p->cnt && p->request[i].due > now)
		i++;
	if (i == p->cnt)
		return false;
	*out = p->request[i];
	remove_parked(p, i);
	return true;
}
