/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Instants and spans in nanoseconds, the two types every deadline is made of.
 *
 * An instant counts from an epoch of the caller's choice and never runs backwards. Nothing here
 * reads a clock: the live engine passes CLOCK_MONOTONIC, the simulator its virtual time.
 */
#ifndef VB_BASE_TIME_H
#define VB_BASE_TIME_H

#include <stdint.h>

typedef uint64_t vb_time; /* instant, ns since the caller's epoch */
typedef uint64_t vb_dur;  /* span, ns */

/* "No deadline"; also what a sum that overflows becomes. */
#define VB_NEVER UINT64_MAX

#define VB_USEC UINT64_C(1000)
#define VB_MSEC UINT64_C(1000000)
#define VB_SEC UINT64_C(1000000000)

/* The instant @d after @t, saturating at VB_NEVER. */
static inline vb_time vb_time_after(vb_time t, vb_dur d)
{
	return d > VB_NEVER - t ? VB_NEVER : t + d;
}

/* The span from @from to @to, 0 when @to lies before @from. */
static inline vb_dur vb_time_since(vb_time from, vb_time to)
{
	return to > from ? to - from : 0;
}

static inline vb_time vb_time_max(vb_time a, vb_time b)
{
	return a > b ? a : b;
}

static inline vb_time vb_time_min(vb_time a, vb_time b)
{
	return a < b ? a : b;
}

/* Local ACK timeout T = 4.096 us * 2^exp, 5-bit exp, 0 = infinite. IBA 9.7.6.1.3 (C9-140) */
static inline vb_dur vb_ack_timeout_ns(uint8_t exp)
{
	return exp == 0 ? VB_NEVER : UINT64_C(4096) << (exp & 31);
}

#endif
