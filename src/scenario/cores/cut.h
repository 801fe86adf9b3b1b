/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts in which a scenario is run, where it asks for several: scenario.jobs. */
#ifndef VB_SCENARIO_CORES_CUT_H
#define VB_SCENARIO_CORES_CUT_H

#include "scenario/part/part.h"

/* Cuts run->topo as sc->jobs says: the parts in @cnt, and the part of each node in *of_node, to be
 * freed; NULL and 1 where one part is asked for. A refusal names what keeps it in one. */
int part_cut(const struct vb_scenario_run *run, const struct vb_scenario *sc, struct part *p,
	     uint16_t **of_node, uint32_t *cnt);

#endif
