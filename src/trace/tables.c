/* SPDX-License-Identifier: BSD-2-Clause */
/* The rows of counters.def and events.def as data, for whoever prints them. */
#include "trace/counters.h"
#include "trace/trace.h"

const struct vb_counter_info vb_counter_info[VB_COUNTER_CNT] = {
#define COUNTER(name, file, text) {#name, text, VB_COUNTER_##file},
#include "trace/counters.def"
#undef COUNTER
};

const struct vb_trace_info vb_trace_info[VB_TRACE_CNT] = {
#define EVENT(name, a, b, c, d, text) {#name, {a, b, c, d}, text},
#include "trace/events.def"
#undef EVENT
};
