/* SPDX-License-Identifier: BSD-2-Clause */
/* A context's view of the device table, and the asynchronous events that changes of the table
 * bring. */
#include "verbs/priv.h"

#include <string.h>

/* The events for what the subnet manager has changed of a port. IBA 11.6.3.4 */
static void ib_events(struct vb_ibv_context *c, struct vb_evq_node *port,
		      const struct vb_device_ib *old, const struct vb_device_ib *now)
{
	uint32_t set = 0;

	if (old->number == 0 || now->number == 0)
		return;
	if (old->lid != now->lid || old->lmc != now->lmc)
		set |= 1u << IBV_EVENT_LID_CHANGE;
	if (old->sm_lid != now->sm_lid || old->sm_sl != now->sm_sl)
		set |= 1u << IBV_EVENT_SM_CHANGE;
	if (old->reregisters != now->reregisters)
		set |= 1u << IBV_EVENT_CLIENT_REREGISTER;
	if (set)
		vb_evq_push_async(&c->async, port, set, 0);
}

/* The events that the change from @old to @now brings. */
static void table_events(struct vb_ibv_context *c, struct vb_evq_node *port,
			 const struct vb_device *old, const struct vb_device *now)
{
	const uint32_t active = 1u << IBV_EVENT_PORT_ACTIVE, down = 1u << IBV_EVENT_PORT_ERR;
	bool was_up = old->ifindex && old->is_up, is_up = now->ifindex && now->is_up;

	/* Of an up and a down that were both not seen, only the last matters. */
	if (was_up != is_up)
		vb_evq_push_async(&c->async, port, is_up ? active : down, is_up ? down : active);
	if (memcmp(old->gid, now->gid, sizeof old->gid) != 0)
		vb_evq_push_async(&c->async, port, 1u << IBV_EVENT_GID_CHANGE, 0);
	if (memcmp(old->pkey, now->pkey, sizeof old->pkey) != 0)
		vb_evq_push_async(&c->async, port, 1u << IBV_EVENT_PKEY_CHANGE, 0);
	ib_events(c, port, &old->ib, &now->ib);
	/* The interface is gone. Should it come back, the port comes up again. */
	if (old->ifindex && !now->ifindex)
		vb_evq_push_async(&c->async, port, 1u << IBV_EVENT_DEVICE_FATAL, 0);
}

void vb_ibv_refresh(struct vb_ibv_context *c)
{
	const struct vb_host_shm *host = vb_engine_host(c->engine);
	struct vb_host_shm copy;

	if (__atomic_load_n(&host->generation, __ATOMIC_ACQUIRE) == c->generation)
		return;
	c->generation = vb_host_read(host, &copy);
	for (uint32_t i = 0; i < c->port_cnt; i++) {
		const struct vb_device *now = &copy.device[c->dev->index + i];

		table_events(c, &c->ports[i], &c->table[i], now);
		c->table[i] = *now;
	}
}
