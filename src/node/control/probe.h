/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The events of the transport as static probes (USDT) of the provider "verbena", for bpftrace, perf
 * and gdb: each has the name that it has in trace/events.def and six arguments of 64 bits, the
 * QPN, the time in nanoseconds of CLOCK_MONOTONIC, and the four of its row. A probe is a no-op
 * instruction and a note of the library; who attaches counts up a word of the process's memory,
 * its semaphore. Where the build finds no sys/sdt.h there are no probes, and nothing here costs.
 */
#ifndef VB_NODE_CONTROL_PROBE_H
#define VB_NODE_CONTROL_PROBE_H

#include "trace/trace.h"

#ifdef VB_USDT

/* How many are attached to probes that are hit often; the kernel writes it. */
extern volatile uint16_t vb_probe_often;

static inline bool vb_probe_is_wanted(void)
{
	return vb_probe_often != 0;
}

/* Passes the probe of @ev. */
void vb_probe(const struct vb_trace_event *ev);

#else

static inline bool vb_probe_is_wanted(void)
{
	return false;
}

static inline void vb_probe(const struct vb_trace_event *ev)
{
	(void)ev;
}

#endif

/* The events that are emitted for probes alone: bits by enum vb_trace_id. */
static inline uint64_t vb_probe_events(void)
{
	enum { seldom, often };
	return 0
#define PROBE(name, how) | (uint64_t)(how) << VB_TRACE_##name
#include "node/control/probe.def"
#undef PROBE
	    ;
}

#endif
