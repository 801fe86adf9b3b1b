/* SPDX-License-Identifier: BSD-2-Clause */
/* The counters that `verbena counters` has read, and formats for programs (counters_format.c). */
#ifndef VB_CMD_COUNTERS_H
#define VB_CMD_COUNTERS_H

#include "node/shared/shm.h"

#include <stdio.h>

/* A counter of port_*_data is in words of 4 bytes, IBA 16.1.3.5. */
#define VB_COUNTER_WORD_BYTES 4u

struct vb_counters_view {
	const char *device; /* only this device, or that of this network device; NULL: all */
	struct vb_host_shm host;
	struct vb_counters total[VB_HCA_PORTS_MAX + 1]; /* device i has entry i + 1 */
};

/* Whether device @i is there and meant. */
bool vb_counters_is_shown(const struct vb_counters_view *v, uint32_t i);

/* A list with an object for each device: the names are those of the kernel's files. */
void vb_counters_json(FILE *f, const struct vb_counters_view *v);

/*
 * The text format of OpenMetrics 1.0, which Prometheus reads, too: a family for each counter, with
 * a sample for each device; data in bytes. Ends with "# EOF".
 */
void vb_counters_openmetrics(FILE *f, const struct vb_counters_view *v);

#endif
