/* SPDX-License-Identifier: BSD-2-Clause */
/* The keys of transport.recovery: the names of the ROCE_ACCL register, and the presets. */
#include "scenario/recovery.h"

#include "base/time.h"
#include "core/recover/settings.h"

#include <string.h>

#define IN(type, field) offsetof(struct type, field)
#define FLAG(name)                                                                                 \
	{                                                                                          \
#name, KEY_BOOL, IN(vb_recovery, name), 0, 0, NULL, NULL, NULL                     \
	}
#define EXPONENT(name)                                                                             \
	{                                                                                          \
#name, KEY_U8, IN(vb_adp_profile, name), 0, UINT8_MAX, NULL, NULL, NULL            \
	}
#define NAMED(type, field, list)                                                                   \
	{                                                                                          \
		.name = #field, .kind = KEY_NAME8, .offset = IN(type, field), .names = list        \
	}

static const struct key_name dec_modes[] = {
    {"DIV_4", VB_ADP_DEC_DIV_4},
    {"DIV_2", VB_ADP_DEC_DIV_2},
    {"LOW_BOUND", VB_ADP_DEC_LOW_BOUND},
    {NULL, 0},
};

static const struct key range_keys[] = {
    {"range_low_bound", KEY_U8, IN(vb_adp_range, range_low_bound), 0, UINT8_MAX, NULL, NULL, NULL},
    {"range_size", KEY_U8, IN(vb_adp_range, range_size), 0, UINT8_MAX, NULL, NULL, NULL},
    {"timeout_retry_num", KEY_U16, IN(vb_adp_range, timeout_retry_num), 0, VB_ADP_RETRY_NUM_MAX,
     NULL, NULL, NULL},
    NAMED(vb_adp_range, dec_mode, dec_modes),
    {"prev_range_index", KEY_U8, IN(vb_adp_range, prev_range_index), 0, VB_ADP_RANGES_MAX - 1, NULL,
     NULL, NULL},
    {.name = NULL},
};

static int read_range(struct reader *r, const yaml_node_t *node, void *base)
{
	struct vb_adp_profile *p = base;

	if (p->range_num == VB_ADP_RANGES_MAX)
		return reader_fail(r, node, "there are at most %d ranges", VB_ADP_RANGES_MAX);
	return reader_map(r, node, range_keys, &p->timeout_range[p->range_num++]);
}

static int read_ranges(struct reader *r, const yaml_node_t *node, void *at)
{
	return reader_list(r, node, at, read_range);
}

static const struct key profile_keys[] = {
    {"time_base", KEY_U16, IN(vb_adp_profile, time_base), 1, 32768, NULL, NULL, NULL},
    {"qp_total_timeout", KEY_BOOL, IN(vb_adp_profile, qp_total_timeout), 0, 0, NULL, NULL, NULL},
    EXPONENT(retx_total_timeout),
    EXPONENT(timeout_init_low_bound),
    EXPONENT(timeout_init_range_size),
    EXPONENT(start_range_index),
    {.name = "timeout_range", .kind = KEY_CALL, .offset = 0, .read = read_ranges},
    {.name = NULL},
};

static int read_profile(struct reader *r, const yaml_node_t *node, void *at)
{
	struct vb_recovery *set = at;
	struct vb_recovery_fault fault;
	char range[32] = "";
	int err;

	set->profile = (struct vb_adp_profile){.time_unit = VB_ADP_TIME_USEC, .time_base = 4};
	err = reader_map(r, node, profile_keys, &set->profile);
	if (err)
		return err;
	set->adp_retx_profile_id = 1;
	if (vb_adp_profile_check(&set->profile, &fault) == 0)
		return 0;
	if (fault.range >= 0)
		snprintf(range, sizeof range, "timeout_range[%d].", fault.range);
	return reader_fail(r, node, "%s%s %s", range, fault.field, fault.rule);
}

/* Applied before the other keys, whatever their order; see below. */
static int read_preset(struct reader *r, const yaml_node_t *node, void *at)
{
	const char *name = reader_text(node);
	struct vb_recovery *set = at;

	if (name && strcmp(name, "fixed") == 0) {
		*set = (struct vb_recovery){0};
		return 0;
	}
	*set = vb_recovery_default;
	if (name && strcmp(name, "lossy") == 0)
		vb_recovery_set_lossy(set);
	else if (name && strcmp(name, "lossless") == 0)
		vb_recovery_set_lossless(set);
	else if (!name || strcmp(name, "default") != 0)
		return reader_fail(r, node, "preset is fixed, default, lossy or lossless");
	return 0;
}

static int skip_node(struct reader *r, const yaml_node_t *node, void *at)
{
	(void)r, (void)node, (void)at;
	return 0;
}

static const struct key_name stretches[] = {
    {"none", VB_STRETCH_NONE},
    {"random", VB_STRETCH_RANDOM},
    {"max", VB_STRETCH_MAX},
    {NULL, 0},
};

static const struct key recovery_keys[] = {
    {.name = "preset", .kind = KEY_CALL, .offset = 0, .read = skip_node},
    FLAG(roce_adp_retrans_en),
    FLAG(roce_tx_window_en),
    FLAG(roce_slow_restart_en),
    FLAG(roce_slow_restart_idle_en),
    FLAG(min_ack_timeout_limit_disabled),
    FLAG(selective_repeat_forced_en),
    FLAG(adaptive_routing_forced_en),
    FLAG(dc_half_handshake_en),
    FLAG(ack_dscp_force),
    {"ack_dscp", KEY_U8, IN(vb_recovery, ack_dscp), 0, VB_DSCP_MAX, NULL, NULL, NULL},
    {.name = "profile", .kind = KEY_CALL, .offset = 0, .read = read_profile},
    {"min_ack_timeout", KEY_U8, IN(vb_recovery, min_ack_timeout), 0, 31, NULL, NULL, NULL},
    NAMED(vb_recovery, adp_timeout_stretch, stretches),
    FLAG(adp_dec_per_flight),
    {"extended_retry_count", KEY_U8, IN(vb_recovery, extended_retry_count), 0, UINT8_MAX, NULL,
     NULL, NULL},
    {"tx_window", KEY_BYTES32, IN(vb_recovery, tx_window_bytes), 1, UINT32_MAX, NULL, NULL, NULL},
    {"slow_restart", KEY_BYTES32, IN(vb_recovery, slow_restart_bytes), 1, UINT32_MAX, NULL, NULL,
     NULL},
    {"idle_restart", KEY_TIME, IN(vb_recovery, idle_restart_ns), 1, 1000 * VB_SEC, NULL, NULL,
     NULL},
    {.name = NULL},
};

int vb_scenario_read_recovery(struct reader *r, const yaml_node_t *node, void *at)
{
	bool has_profile = false;

	if (node->type == YAML_SCALAR_NODE)
		return read_preset(r, node, at);
	if (node->type == YAML_MAPPING_NODE) {
		for (yaml_node_pair_t *p = node->data.mapping.pairs.start;
		     p < node->data.mapping.pairs.top; p++) {
			const char *key = reader_text(yaml_document_get_node(r->doc, p->key));
			int err = 0;

			if (key && strcmp(key, "preset") == 0)
				err = read_preset(r, yaml_document_get_node(r->doc, p->value), at);
			if (err)
				return err;
			has_profile |= key && strcmp(key, "profile") == 0;
		}
		/* The user who writes a profile wants it, unless roce_adp_retrans_en says no. */
		if (has_profile)
			((struct vb_recovery *)at)->roce_adp_retrans_en = true;
	}
	return reader_map(r, node, recovery_keys, at);
}
