/* SPDX-License-Identifier: BSD-2-Clause */
/* Congestion control of a scenario: transport.congestion, a preset's name or a mapping. */
#ifndef VB_SCENARIO_CONGESTION_H
#define VB_SCENARIO_CONGESTION_H

#include "core/cc/settings.h"
#include "scenario/reader.h"

/* Reads it from the document's root, if it is there, and checks it; @rate_bps is that of the hosts'
 * cables, which presets follow. */
int vb_scenario_read_congestion(struct reader *r, const yaml_node_t *root,
				struct vb_cc_settings *set, uint64_t rate_bps);

#endif
