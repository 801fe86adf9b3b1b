/* SPDX-License-Identifier: BSD-2-Clause */
/* Networks in YAML: the keys "nodes" and "links" of a topology, or of a file of their own. */
#ifndef VB_SCENARIO_INPUT_NODES_H
#define VB_SCENARIO_INPUT_NODES_H

#include "scenario/input/net.h"
#include "scenario/reader.h"

/* The rate, delay and MTU of a cable, a struct vb_cable. */
extern const struct key vb_net_cable_keys[];

/* Reads the two keys of the mapping @map and checks the network; vb_net_free() in any case. */
int vb_net_read_nodes(struct vb_net *n, struct reader *r, const yaml_node_t *map);

#endif
