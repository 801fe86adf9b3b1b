/* SPDX-License-Identifier: BSD-2-Clause */
/* Congestion control of a scenario: transport.congestion, a preset's or an algorithm's name or a
 * mapping. */
#ifndef VB_SCENARIO_CONGESTION_H
#define VB_SCENARIO_CONGESTION_H

#include "core/cc/settings.h"
#include "core/control/choice.h"
#include "scenario/reader.h"

/* Reads it from the document's root, if it is there, and checks it; @rate_bps is that of the hosts'
 * cables, which presets and algorithms follow. An object is loaded here, from the folder of the
 * scenario on. */
int vb_scenario_read_congestion(struct reader *r, const yaml_node_t *root,
				struct vb_cc_settings *set, struct vb_cc_choice *choice,
				uint64_t rate_bps);

#endif
