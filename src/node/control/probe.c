/* SPDX-License-Identifier: BSD-2-Clause */
/* Static probes, see probe.h. SystemTap's sys/sdt.h writes the notes: section .note.stapsdt. */
#include "node/control/probe.h"

#include "explain/history/qp_history.h"

#ifdef VB_USDT

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#ifdef __clang__
/* The header's macros leave out what stands for "...". Later versions have another name for it. */
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#if __has_warning("-Wc23-extensions")
#pragma clang diagnostic ignored "-Wc23-extensions"
#endif
#endif

enum { seldom, often };
#define PROBE(name, how)                                                                           \
	_Static_assert((VB_QP_HISTORY_EVENTS >> VB_TRACE_##name & 1) == ((how) == seldom),         \
		       "the histories have what is seldom");
#include "node/control/probe.def"
#undef PROBE

/* Where tools that count by themselves look for them. */
volatile uint16_t vb_probe_often __attribute__((section(".probes"), used));
static volatile uint16_t vb_probe_seldom __attribute__((section(".probes"), used));

/* A semaphore for each probe: one of the two words above. */
#define PROBE(name, how)                                                                           \
	extern volatile uint16_t verbena_##name##_semaphore                                        \
	    __attribute__((alias("vb_probe_" #how), visibility("hidden")));
#include "node/control/probe.def"
#undef PROBE

#define PASS(name)                                                                                 \
	STAP_PROBE6(verbena, name, (uint64_t)ev->qpn, ev->time, ev->arg[0], ev->arg[1],            \
		    ev->arg[2], ev->arg[3])

void vb_probe(const struct vb_trace_event *ev)
{
	switch ((enum vb_trace_id)ev->id) {
#define PROBE(name, how)                                                                           \
	case VB_TRACE_##name:                                                                      \
		PASS(name);                                                                        \
		break;
#include "node/control/probe.def"
#undef PROBE
	default:
		break;
	}
}

#endif
