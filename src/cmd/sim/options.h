/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of `verbena sim` that stand for keys of `record`: --series, --every, --flows,
 * --ports. */
#ifndef VB_CMD_SIM_OPTIONS_H
#define VB_CMD_SIM_OPTIONS_H

#include "scenario/scenario.h"

/* NULL: not given. */
struct vb_sim_series_options {
	const char *series, *every, *flows, *ports;
};

/* As vb_scenario_read(), with the options in place of what the file says. */
int vb_sim_series_read(struct vb_scenario *sc, FILE *f, const char *name,
		       const struct vb_sim_series_options *options, char *err, size_t err_len);

#endif
