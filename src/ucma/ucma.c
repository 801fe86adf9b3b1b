/* SPDX-License-Identifier: BSD-2-Clause */
/* The machine itself and its files, see ucma.h. */
#include "base/assert.h"
#include "ucma/priv.h"

#include <errno.h>

int vb_ucma_create(struct vb_ucma **out, const struct vb_ucma_config *cfg)
{
	struct vb_ucma *u;
	int err;

	if (cfg->ids == 0 || cfg->port_first == 0 || cfg->port_first > cfg->port_last)
		return -EINVAL;
	u = cfg->cm.alloc(cfg->cm.alloc_ctx, sizeof *u);
	if (!u)
		return -ENOMEM;
	u->cfg = *cfg;
	u->rng = vb_rng_stream(cfg->cm.seed, "ucma", 0);
	vb_list_init(&u->files);
	vb_list_init(&u->changed);
	vb_list_init(&u->services);
	vb_list_init(&u->asks);
	vb_list_init(&u->touched);
	vb_list_init(&u->fresh);
	for (uint32_t i = 0; i < VB_UCMA_PORT_BUCKETS; i++)
		vb_list_init(&u->port[i]);
	u->ids = vb_ucma_alloc(u, cfg->ids * sizeof *u->ids);
	err = u->ids ? vb_cm_create(&u->cm, &cfg->cm) : -ENOMEM;
	if (err) {
		if (u->ids)
			vb_ucma_free(u, u->ids);
		vb_ucma_free(u, u);
		return err;
	}
	*out = u;
	return 0;
}

void vb_ucma_destroy(struct vb_ucma *u)
{
	while (!vb_list_is_empty(&u->files))
		vb_ucma_file_close(vb_container_of(u->files.next, struct vb_ucma_file, all), 0);
	VB_ASSERT_ALL(u->id_cnt == 0 && u->file_cnt == 0);
	while (!vb_list_is_empty(&u->asks)) {
		struct vb_list *l = u->asks.next; /* of one who has left: nobody waits */

		vb_list_remove(l);
		vb_ucma_free(u, vb_container_of(l, struct vb_ucma_ask, link));
	}
	vb_cm_destroy(u->cm);
	vb_ucma_free(u, u->ids);
	vb_ucma_free(u, u);
}

int vb_ucma_file_open(struct vb_ucma *u, void *owner, struct vb_ucma_file **out)
{
	struct vb_ucma_file *f = vb_ucma_alloc(u, sizeof *f);

	if (!f)
		return -ENOMEM;
	f->u = u;
	f->owner = owner;
	vb_list_init(&f->changed);
	vb_list_init(&f->ids);
	vb_list_init(&f->events);
	vb_list_append(&u->files, &f->all);
	u->file_cnt++;
	*out = f;
	return 0;
}

void vb_ucma_file_close(struct vb_ucma_file *f, vb_time now)
{
	struct vb_ucma *u = f->u;

	while (!vb_list_is_empty(&f->ids))
		vb_ucma_id_end(vb_container_of(f->ids.next, struct vb_ucma_id, in_file), now);
	assert(vb_list_is_empty(&f->events));
	VB_ASSERT_ALL(f->event_cnt == 0 && u->file_cnt > 0);
	vb_list_remove(&f->all);
	vb_list_remove(&f->changed);
	vb_ucma_free(u, f);
	u->file_cnt--;
}

void vb_ucma_file_set_number(struct vb_ucma_file *f, uint32_t number)
{
	f->number = number;
}

void *vb_ucma_file_owner(const struct vb_ucma_file *f)
{
	return f->owner;
}

uint32_t vb_ucma_file_events(const struct vb_ucma_file *f)
{
	return f->event_cnt;
}

struct vb_ucma_file *vb_ucma_poll_file(struct vb_ucma *u)
{
	struct vb_ucma_file *f;

	if (vb_list_is_empty(&u->changed))
		return NULL;
	f = vb_container_of(u->changed.next, struct vb_ucma_file, changed);
	vb_list_remove(&f->changed);
	return f;
}

void vb_ucma_settle(struct vb_ucma *u, vb_time now)
{
	struct vb_cm_event ev;

	while (vb_cm_poll_event(u->cm, &ev))
		vb_ucma_on_event(u, &ev, now);
}

void vb_ucma_handle_mad(struct vb_ucma *u, const struct vb_path *path,
			const uint8_t mad[VB_MAD_LEN], vb_time now)
{
	if (vb_ucma_is_ib(u) && vb_ucma_has_asked(u, mad))
		vb_ucma_asks_take(u, mad, now);
	else
		vb_cm_handle_mad(u->cm, path, mad, now);
	vb_ucma_settle(u, now);
}

bool vb_ucma_poll_transmit(struct vb_ucma *u, struct vb_path *path, uint16_t *pkey,
			   uint8_t mad[VB_MAD_LEN])
{
	*pkey = 0; /* questions to the administrator have none */
	return vb_ucma_asks_transmit(u, path, mad) || vb_cm_poll_transmit(u->cm, path, pkey, mad);
}

vb_time vb_ucma_poll_timeout(const struct vb_ucma *u)
{
	return vb_time_min(vb_cm_poll_timeout(u->cm), vb_ucma_asks_due(u));
}

void vb_ucma_handle_timeout(struct vb_ucma *u, vb_time now)
{
	vb_ucma_asks_timeout(u, now);
	vb_cm_handle_timeout(u->cm, now);
	vb_ucma_settle(u, now);
}

const struct vb_cm_counters *vb_ucma_counters(const struct vb_ucma *u)
{
	return vb_cm_counters(u->cm);
}

const struct vb_cm_port_counters *vb_ucma_port_counters(const struct vb_ucma *u)
{
	return vb_cm_port_counters(u->cm);
}

void vb_ucma_set_id_part(struct vb_ucma *u, uint8_t part)
{
	vb_cm_set_id_part(u->cm, part);
}

void vb_ucma_device_removed(struct vb_ucma *u, uint8_t port)
{
	for (uint32_t i = 0; i < u->cfg.ids; i++) {
		struct vb_ucma_id *id = u->ids[i];

		if (!id || !id->has_local || id->at.hca_port != port ||
		    id->state == VB_UCMA_REMOVED)
			continue;
		if (id->conn)
			vb_ucma_id_note(id, VB_UCMA_END_DEVICE, 0, 0);
		id->state = VB_UCMA_REMOVED;
		vb_ucma_id_touch(id);
		(void)vb_ucma_event_add(id, VB_UCMA_EV_DEVICE_REMOVAL, 0);
	}
}

void vb_ucma_device_changed(struct vb_ucma *u, uint8_t port)
{
	for (uint32_t i = 0; i < u->cfg.ids; i++) {
		struct vb_ucma_id *id = u->ids[i];

		if (id && id->has_local && id->at.hca_port == port && id->state != VB_UCMA_REMOVED)
			(void)vb_ucma_event_add(id, VB_UCMA_EV_ADDR_CHANGE, 0);
	}
}

uint32_t vb_ucma_file_cnt(const struct vb_ucma *u)
{
	return u->file_cnt;
}

uint32_t vb_ucma_id_cnt(const struct vb_ucma *u)
{
	return u->id_cnt;
}
