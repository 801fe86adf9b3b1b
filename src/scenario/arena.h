/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of a simulation. A large one visits tens of thousands of QPs in no order, and with
 * pages of 4 KiB each visit costs a walk through page tables; so small blocks come out of large
 * pages where the system has them, on cache lines of their own. Large blocks come from malloc(3).
 */
#ifndef VB_SCENARIO_ARENA_H
#define VB_SCENARIO_ARENA_H

#include "sim/network/topo.h"

struct vb_arena;

/* NULL: no memory. */
struct vb_arena *vb_arena_create(void);
/* Also frees what was taken of the small things and not given back. */
void vb_arena_destroy(struct vb_arena *a);

/* Zeroed memory from @a, on 64 bytes what is smaller than 64 KiB. Not for two threads at a time. */
struct vb_sim_memory vb_arena_memory(struct vb_arena *a);

#endif
