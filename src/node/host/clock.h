/* SPDX-License-Identifier: BSD-2-Clause */
/* The clock that everything live runs by: the instants of base/time.h, from CLOCK_MONOTONIC. */
#ifndef VB_NODE_HOST_CLOCK_H
#define VB_NODE_HOST_CLOCK_H

#include "base/time.h"

#include <time.h>

static inline vb_time vb_clock_read(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (vb_time)t.tv_sec * VB_SEC + (vb_time)t.tv_nsec;
}

static inline vb_time vb_clock_now(void)
{
	return vb_clock_read(CLOCK_MONOTONIC);
}

#endif
