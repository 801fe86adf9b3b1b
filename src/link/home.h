/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether the receiver of a path is on this host. It is a property of the path, so it is found
 * once, when a QP gets the path, and kept in it (wire/path.h) together with the generation of the
 * host's addresses that said so. When addresses have come or gone there is another generation, and
 * the answer of an older one counts for nothing: code that meets such a path looks the address up.
 *
 * In which process a receiver on this host is, its QPN says: base/slot.h.
 */
#ifndef VB_LINK_HOME_H
#define VB_LINK_HOME_H

#include <stdbool.h>
#include <stdint.h>

/* Generations are 1 ... VB_HOME_GENERATIONS, and begin again with 1. */
#define VB_HOME_GENERATIONS 32767u

static inline uint16_t vb_home_generation_next(uint16_t generation)
{
	return (uint16_t)(generation % VB_HOME_GENERATIONS + 1);
}

/* The value of path.home when the addresses of @generation say that the receiver is here. */
static inline uint16_t vb_home(uint16_t generation, bool is_here)
{
	return (uint16_t)(generation << 1 | is_here);
}

/* True: @home is by the addresses of @generation. */
static inline bool vb_home_is_known(uint16_t home, uint16_t generation)
{
	return home >> 1 == generation;
}

/* Where that is so: whether the receiver is here. */
static inline bool vb_home_is_here(uint16_t home)
{
	return home & 1;
}

#endif
