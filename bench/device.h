/* SPDX-License-Identifier: BSD-2-Clause */
/* The device that a program of this folder measures, by name. */
#ifndef VB_BENCH_DEVICE_H
#define VB_BENCH_DEVICE_H

#include "bench.h"

#include <infiniband/verbs.h>

static inline struct ibv_context *bench_open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	bench_check(list != NULL, "ibv_get_device_list");
	for (int i = 0; list[i]; i++)
		if (strcmp(ibv_get_device_name(list[i]), name) == 0)
			context = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	bench_check(context != NULL, name);
	return context;
}

#endif
