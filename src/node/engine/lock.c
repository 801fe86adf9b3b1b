/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The slow paths of the engine's lock: waiting and waking. See lock.h.
 */
#include "node/engine/lock.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Some 15 us: as long as most sends and receives take, and no longer than waking a sleeper does,
 * which costs the owner as much again. */
#define SPINS 512u
/* Sleeps after which a waiter reserves the lock. */
#define SLEEPS_BEFORE_RESERVING 2u

static inline void relax_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static void futex_sleep(struct vb_lock *l, uint32_t seen)
{
	syscall(SYS_futex, &l->state, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

void vb_lock_wake(struct vb_lock *l, uint32_t was)
{
	/* All of them when it is reserved: the one it is reserved for may be any of the sleepers.
	 */
	if (was & VB_LOCK_SLEEPERS)
		syscall(SYS_futex, &l->state, FUTEX_WAKE_PRIVATE,
			was & VB_LOCK_RESERVED ? INT_MAX : 1, NULL, NULL, 0);
}

void vb_lock_wait(struct vb_lock *l)
{
	uint32_t spins = 0, sleeps = 0;
	bool mine = false;
	uint32_t s = atomic_load_explicit(&l->state, memory_order_relaxed);

	for (;;) {
		if (!(s & VB_LOCK_HELD) && (mine || !(s & VB_LOCK_RESERVED))) {
			/* A thread that slept passes on the duty to wake: others may sleep. */
			uint32_t held = VB_LOCK_HELD | (s & VB_LOCK_SLEEPERS) |
					(sleeps ? VB_LOCK_SLEEPERS : 0u);

			if (atomic_compare_exchange_weak_explicit(
				&l->state, &s, held, memory_order_acquire, memory_order_relaxed))
				return;
			continue;
		}
		if (spins++ < SPINS) {
			relax_cpu();
			s = atomic_load_explicit(&l->state, memory_order_relaxed);
			continue;
		}

		uint32_t want = s | VB_LOCK_SLEEPERS;
		bool reserve =
		    !mine && !(s & VB_LOCK_RESERVED) && sleeps >= SLEEPS_BEFORE_RESERVING;

		if (reserve)
			want |= VB_LOCK_RESERVED;
		if (s != want && !atomic_compare_exchange_weak_explicit(&l->state, &s, want,
									memory_order_relaxed,
									memory_order_relaxed))
			continue;
		mine = mine || reserve;
		futex_sleep(l, want);
		sleeps++;
		spins = 0;
		s = atomic_load_explicit(&l->state, memory_order_relaxed);
	}
}
