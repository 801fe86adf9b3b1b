/* SPDX-License-Identifier: BSD-2-Clause */
/* Rings that are read one by one, see carrier.h. */
#include "link/shm/carrier.h"

#include "base/assert.h"
#include "link/shm/priv.h"

uint32_t vb_shm_carrier_rings(struct vb_link *l)
{
	struct vb_shm *s = vb_shm_of(l);

	vb_shm_take_rings(s);
	for (uint32_t i = 0; i < s->source_cnt;) {
		const struct vb_shm_source *o = &s->source[i];

		if (o->ring.is_broken || vb_shm_token_of(s, o->slot) != o->token)
			vb_shm_source_forget(s, i);
		else
			i++;
	}
	return s->source_cnt;
}

uint32_t vb_shm_carrier_cnt(const struct vb_link *l)
{
	return vb_shm_of_const(l)->source_cnt;
}

bool vb_shm_carrier_has_news(const struct vb_link *l)
{
	const struct vb_shm *s = vb_shm_of_const(l);

	return __atomic_load_n(&s->cfg.wakeup[s->cfg.slot].rings, __ATOMIC_ACQUIRE) != s->rings;
}

bool vb_shm_carrier_has_packets(const struct vb_link *l, uint32_t i)
{
	const struct vb_shm *s = vb_shm_of_const(l);

	VB_ASSERT_ALL(i < s->source_cnt);
	return vb_ring_has_packets(&s->source[i].ring);
}

uint32_t vb_shm_carrier_slot(const struct vb_link *l, uint32_t i)
{
	const struct vb_shm *s = vb_shm_of_const(l);

	VB_ASSERT_ALL(i < s->source_cnt);
	return s->source[i].slot;
}

bool vb_shm_carrier_look(struct vb_link *l, uint32_t i, struct vb_ring_way *way)
{
	return vb_ring_begin(&vb_shm_of(l)->source[i].ring, way);
}

bool vb_shm_carrier_take(struct vb_link *l, uint32_t i, struct vb_rx *rx)
{
	struct vb_shm *s = vb_shm_of(l);

	return vb_ring_take(&s->source[i].ring, rx, s->taken.copy[0]);
}

void vb_shm_carrier_give_back(struct vb_link *l, uint32_t i)
{
	vb_ring_give_back(&vb_shm_of(l)->source[i].ring);
}
