/* SPDX-License-Identifier: BSD-2-Clause */
/* The recovery settings of a scenario: transport.recovery, a preset's name or a mapping. */
#ifndef VB_SCENARIO_RECOVERY_H
#define VB_SCENARIO_RECOVERY_H

#include "scenario/reader.h"

/* Reads them into the struct vb_recovery at @at and checks them. */
int vb_scenario_read_recovery(struct reader *r, const yaml_node_t *node, void *at);

#endif
