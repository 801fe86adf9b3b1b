/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of a scenario that is being built: a refusal is about it. */
#ifndef VB_SCENARIO_PART_PART_H
#define VB_SCENARIO_PART_PART_H

#include "scenario/scenario.h"

struct part {
	const struct vb_scenario *sc;
	struct vb_scenario_place at;
	const char *name;
	uint32_t number; /* from 1; 0: there is but one */
	char *text;
	size_t len;
};

/* "FILE:LINE:COLUMN: workload 2 ..."; returns @err. */
__attribute__((format(printf, 3, 4))) int part_refuse(const struct part *p, int err,
						      const char *fmt, ...);
int part_no_memory(const struct part *p, int err);

/* Names of files begin at the folder of the scenario. */
void part_path(char *path, size_t size, const struct vb_scenario *sc, const char *name);

/* The text of a file whose name the scenario has, at most @max bytes, to be freed; its path is in
 * @path. NULL with a refusal and *err. */
char *part_read_file(const struct part *p, const char *name, size_t max, char path[VB_FABRIC_PATH],
		     size_t *len, int *err);

/* topology.c: the hosts that workloads name, each of one NIC or several; the table of NICs, NULL
 * where none has several. */
uint32_t part_hosts(const struct vb_scenario_run *run);
const struct vb_nics *part_nics(const struct vb_scenario_run *run);

/* topology.c: NICs of hosts are in networks that no cable joins. */
bool part_is_apart(const struct vb_scenario_run *run);

/* topology.c: run->topo and, where files say them, the routes. */
int part_open_topology(struct vb_scenario_run *run, const struct vb_scenario *sc,
		       const struct part *p);
int part_open_routes(struct vb_scenario_run *run, const struct vb_scenario *sc,
		     const struct part *p);

/* patterns.c: one workload. */
int part_open_pattern(struct vb_scenario_run *run, const struct part *p, uint32_t i);

/* lists.c: faults, changes of links, groups and workloads, in this order. */
int part_open_lists(struct vb_scenario_run *run, const struct vb_scenario *sc, struct part *p);

#endif
