/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of libverbena-sim.so: its life and time (run.c), what is looked at (look.c), what is
 * changed (change.c). include/verbena/sim.h describes them. */
#ifndef VB_LIBRARY_PRIV_H
#define VB_LIBRARY_PRIV_H

#include "results/report.h"
#include "scenario/scenario.h"
#include "verbena/sim.h"

struct verbena_sim {
	struct vb_scenario sc;
	struct vb_scenario_run run;
	struct vb_sim_series *series; /* NULL: none are kept */
	struct vb_sim_flows flows;
	char *name; /* of the scenario */
	char *text; /* the table that was asked for last */
	char why[1024];
};

/* Writes the reason of a failure for verbena_sim_error(), and returns @err. */
__attribute__((format(printf, 3, 4))) int vb_library_fail(const struct verbena_sim *s, int err,
							  const char *fmt, ...);

/* Host and QPN of QP @i of verbena_sim_qp(). 0, -ERANGE or -ENOENT. */
int vb_library_qp(const struct verbena_sim *s, uint32_t i, uint32_t *host, uint32_t *qpn);

#endif
