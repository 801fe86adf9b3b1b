/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of the adapter in two copies, see adapter.h. */
#include "node/shared/adapter.h"

#include <string.h>

void vb_adapter_init(struct vb_adapter_shm *a)
{
	memset(a, 0, sizeof *a);
	for (int i = 0; i < VB_HCA_PORTS_MAX; i++)
		vb_reg_file_reset(&a->state[0].pf[i].reg, 0);
}

const struct vb_adapter_state *vb_adapter_state(const struct vb_adapter_shm *a)
{
	return &a->state[a->generation & 1];
}

void vb_adapter_commit(struct vb_adapter_shm *a, const struct vb_adapter_state *next)
{
	uint32_t generation = a->generation + 1;

	memcpy(&a->state[generation & 1], next, sizeof *next);
	__atomic_store_n(&a->generation, generation, __ATOMIC_RELEASE);
}

uint32_t vb_adapter_read(const struct vb_adapter_shm *a, size_t offset, size_t size, void *out)
{
	uint32_t generation = __atomic_load_n(&a->generation, __ATOMIC_ACQUIRE), before;

	/* The copy that is read is written again only by the second change from now on, and changes
	 * are made by hand: this ends. */
	do {
		before = generation;
		memcpy(out, (const uint8_t *)&a->state[generation & 1] + offset, size);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		generation = __atomic_load_n(&a->generation, __ATOMIC_ACQUIRE);
	} while (generation != before);
	return generation;
}
