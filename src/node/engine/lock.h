/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine's lock: a futex that spins for a moment first, because it is held for a microsecond
 * at a time, and that cannot starve a waiter.
 *
 * An ordinary futex lock goes to whoever comes first, and a thread that polls in a loop always
 * comes first: it is back before a sleeper has woken up. So a waiter that was passed over reserves
 * the lock, and nobody else gets it until the waiter has had it.
 */
#ifndef VB_NODE_ENGINE_LOCK_H
#define VB_NODE_ENGINE_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct vb_lock {
	_Atomic uint32_t state; /* set of enum vb_lock_bit; 0: free */
};

enum vb_lock_bit {
	VB_LOCK_HELD = 1,
	VB_LOCK_SLEEPERS = 2, /* somebody may be asleep: unlocking has to wake */
	VB_LOCK_RESERVED = 4, /* free or not, the next owner is the waiter that set this */
};

void vb_lock_wait(struct vb_lock *l);
void vb_lock_wake(struct vb_lock *l, uint32_t was);

static inline bool vb_lock_try(struct vb_lock *l)
{
	uint32_t none = 0;

	return atomic_compare_exchange_strong_explicit(&l->state, &none, VB_LOCK_HELD,
						       memory_order_acquire, memory_order_relaxed);
}

/* A look, no more: it may be dropped by now. */
static inline bool vb_lock_is_held(const struct vb_lock *l)
{
	return atomic_load_explicit(&l->state, memory_order_relaxed) & VB_LOCK_HELD;
}

static inline void vb_lock_take(struct vb_lock *l)
{
	if (!vb_lock_try(l))
		vb_lock_wait(l);
}

static inline void vb_lock_drop(struct vb_lock *l)
{
	uint32_t was = atomic_fetch_and_explicit(
	    &l->state, ~(uint32_t)(VB_LOCK_HELD | VB_LOCK_SLEEPERS), memory_order_release);

	if (was != VB_LOCK_HELD)
		vb_lock_wake(l, was);
}

#endif
