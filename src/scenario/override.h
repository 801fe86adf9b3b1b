/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values put into a scenario from outside, by the path of their key: "transport.timeout",
 * "workload.0.bytes", "faults.loss". Used by `verbena sweep`.
 */
#ifndef VB_SCENARIO_OVERRIDE_H
#define VB_SCENARIO_OVERRIDE_H

#include "scenario/scenario.h"

struct vb_scenario_override {
	const char *path, *value;
};

/*
 * As vb_scenario_read(), with @cnt values in place of, or added to, what the file says. A path
 * names keys and, in lists, numbers from 0; a list of one element needs no number. "faults.KIND"
 * is the fault of that kind, which is put on every cable when the file has none. A mistake in a
 * value is told with its path, and with the place in the file that it stands for.
 */
int vb_scenario_read_with(struct vb_scenario *sc, FILE *f, const char *name,
			  const struct vb_scenario_override *with, uint32_t cnt, char *err,
			  size_t err_len);

#endif
