/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Settings of the adapter that changed, taken over while QPs are at work: before timers fire, when
 * a QP changes its state, and once a second. To look costs one load.
 */
#include "node/engine/priv.h"

static const struct vb_adapter_shm *adapter_of(const struct vb_engine *e)
{
	/* The device table is the first member of host memory. */
	return &((const struct vb_host_memory *)e->broker.host)->adapter;
}

/* Of a physical function what lies at @member, of @size bytes. */
static void read_member(const struct vb_engine *e, uint32_t pf, size_t member, size_t size,
			void *out)
{
	size_t at = offsetof(struct vb_adapter_state, pf) + pf * sizeof(struct vb_adapter_pf);

	(void)vb_adapter_read(adapter_of(e), at + member, size, out);
}

#define READ(e, pf, member, out)                                                                   \
	read_member(e, pf, offsetof(struct vb_adapter_pf, member), sizeof *(out), out)

static void adopt_cc(struct vb_engine *e, uint32_t device, uint32_t pf)
{
	struct vb_cc_settings set;

	READ(e, pf, reg.cc, &set);
	__atomic_fetch_and(&e->broker.shm->own_cc, ~(UINT64_C(1) << device), __ATOMIC_RELAXED);
	/* As below: what the broker has not checked changes nothing. */
	(void)vb_engine_set_cc(e, (uint8_t)(device + 1), &set);
}

static void adopt_port(struct vb_engine *e, uint32_t device, uint32_t pf)
{
	struct vb_adopted now = {.is_set = true, .pf = pf}, *had = &e->adopted[device];
	struct vb_recovery set;

	READ(e, pf, recovery_epoch, &now.epoch);
	READ(e, pf, cc_epoch, &now.cc_epoch);

	bool same = had->is_set && had->pf == now.pf;

	now.cc_first = same ? had->cc_first : now.cc_epoch;

	/* Settings newer than the epoch are taken over once more the next time. */
	if (!same || had->cc_epoch != now.cc_epoch)
		adopt_cc(e, device, pf);
	had->cc_epoch = now.cc_epoch;
	had->cc_first = now.cc_first;
	if (same && had->epoch == now.epoch)
		return;
	READ(e, pf, reg.recovery, &set);
	/* The broker has checked them; what it has not changes nothing. */
	if (vb_hca_set_port_recovery(e->hca, (uint8_t)(device + 1), &set) == 0)
		*had = now;
}

void vb_engine_adopt(struct vb_engine *e)
{
	uint32_t generation = __atomic_load_n(&adapter_of(e)->generation, __ATOMIC_ACQUIRE);

	if (e->adopts && generation == e->adapter_generation)
		return;
	e->adapter_generation = generation;
	e->adopts = true;
	for (uint32_t i = 0; i < VB_DEVICES_MAX; i++) {
		uint32_t parent = e->devices.device[i].parent;

		adopt_port(e, i, parent && parent <= VB_DEVICES_MAX ? parent - 1 : i);
	}
}
