/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The keys of transport.congestion: the names of the DCQCN registers, times in us as there, rates
 * with their unit. They are read last, since a preset follows the rate of the cables.
 */
#include "scenario/congestion.h"

#include <string.h>

#define RATE_MAX UINT64_C(2000000000000)

/* What a mapping is read into: rates become units when the clock is known. */
struct congestion {
	struct vb_cc_settings set;
	uint64_t max, min, initial, ai, hai; /* bit/s; 0: as the preset has it */
};

#define IN(field) offsetof(struct congestion, set.field)
#define FLAG(name)                                                                                 \
	{                                                                                          \
#name, KEY_BOOL, IN(name), 0, 0, NULL, NULL, NULL                                  \
	}
#define USEC(name)                                                                                 \
	{                                                                                          \
#name, KEY_U16, IN(name), 0, UINT16_MAX, NULL, NULL, NULL                          \
	}
#define RATE(key, field, least)                                                                    \
	{                                                                                          \
		key, KEY_RATE, offsetof(struct congestion, field), least, RATE_MAX, NULL, NULL,    \
		    NULL                                                                           \
	}
#define NAMED(field, list)                                                                         \
	{                                                                                          \
		.name = #field, .kind = KEY_NAME8, .offset = IN(field), .names = list              \
	}

static const struct key_name clamps[] = {
    {"always", VB_CC_CLAMP_ALWAYS},
    {"after-increase", VB_CC_CLAMP_AFTER_INCREASE},
    {"after-bytes", VB_CC_CLAMP_AFTER_BYTES},
    {NULL, 0},
};

static const struct key_name cuts[] = {
    {"at-once", VB_CC_CUT_AT_ONCE},
    {"periodic", VB_CC_CUT_PERIODIC},
    {NULL, 0},
};

static int skip(struct reader *r, const yaml_node_t *node, void *at)
{
	(void)r, (void)node, (void)at;
	return 0;
}

static const struct key keys[] = {
    {.name = "preset", .kind = KEY_CALL, .offset = 0, .read = skip},
    FLAG(dcqcn_hw_en),
    FLAG(hw_rate_throttle_en),
    FLAG(tx_wqe_ost_limit_en),
    FLAG(speed_limiter_en),
    USEC(dcqcn_rx_cnp_merge_period),
    USEC(dcqcn_nocnp_timer_th),
    USEC(dcqcn_alpha_timer_th),
    USEC(cnp_timer_thrd),
    {"dcqcn_byte_cnt_th", KEY_U32, IN(dcqcn_byte_cnt_th), 0, VB_CC_BYTE_CNT_MAX, NULL, NULL, NULL},
    {"byte_cnt_unit_log2", KEY_U8, IN(byte_cnt_unit_log2), 0, 15, NULL, NULL, NULL},
    {"cc_clk_hz", KEY_U32, IN(cc_clk_hz), VB_CC_CLK_HZ_MIN, VB_CC_CLK_HZ_MAX, NULL, NULL, NULL},
    {"dcqcn_upd_alpha_g", KEY_U16, IN(dcqcn_upd_alpha_g), 0, 1023, NULL, NULL, NULL},
    {"dcqcn_alpha_rate_shift", KEY_U8, IN(dcqcn_alpha_rate_shift), 0, 15, NULL, NULL, NULL},
    {"dcqcn_fr_threshold", KEY_U8, IN(dcqcn_fr_threshold), 0, UINT8_MAX, NULL, NULL, NULL},
    RATE("dcqcn_max_rate", max, 1),
    RATE("dcqcn_min_rate", min, 1),
    RATE("initial_rate", initial, 1),
    RATE("dcqcn_rate_ai", ai, 1),
    RATE("dcqcn_rate_hai", hai, 1),
    NAMED(clamp_mode, clamps),
    NAMED(cut_mode, cuts),
    {"min_dec_fac", KEY_U8, IN(min_dec_fac), 0, 100, NULL, NULL, NULL},
    {"alpha_frac_bits", KEY_U8, IN(alpha_frac_bits), 0, VB_CC_ALPHA_FRAC_MAX, NULL, NULL, NULL},
    {"initial_alpha", KEY_U16, IN(initial_alpha), 0, VB_CC_ALPHA_MAX, NULL, NULL, NULL},
    FLAG(np_en),
    USEC(np_min_cnp_us),
    {"np_cnp_dscp", KEY_U8, IN(np_cnp_dscp), 0, 63, NULL, NULL, NULL},
    FLAG(ecn_en),
    {"limiter_burst", KEY_U32, IN(limiter_burst_ns), 0, 1000000000, NULL, NULL, NULL},
    {.name = NULL},
};

static int read_preset(struct reader *r, const yaml_node_t *node, struct vb_cc_settings *set,
		       uint64_t rate_bps)
{
	const char *name = reader_text(node);

	vb_cc_settings_paper(set, rate_bps);
	if (name && strcmp(name, "paper") == 0)
		return 0;
	*set = (struct vb_cc_settings){.cc_clk_hz = set->cc_clk_hz};
	if (name && strcmp(name, "off") == 0)
		return 0;
	return reader_fail(r, node, "preset is off or paper");
}

static uint16_t units(uint64_t bps, uint32_t clk)
{
	uint32_t u = vb_cc_units_q8(bps, clk) >> 8;

	return u > VB_CC_RATE_MAX ? VB_CC_RATE_MAX : u ? (uint16_t)u : 1;
}

/* Rates that the file gives, and the preset's ones when the file changes the clock. */
static void rates_to_units(struct congestion *c, uint32_t preset_clk)
{
	struct vb_cc_settings *s = &c->set;
	uint32_t clk = s->cc_clk_hz;

	if (c->max || clk != preset_clk)
		s->dcqcn_max_rate = units(
		    c->max ? c->max : vb_cc_bps((uint32_t)s->dcqcn_max_rate << 8, preset_clk), clk);
	if (c->min)
		s->dcqcn_min_rate = units(c->min, clk);
	if (c->initial)
		s->initial_rate = units(c->initial, clk);
	if (c->ai || clk != preset_clk)
		s->dcqcn_rate_ai_q8 =
		    vb_cc_units_q8(c->ai ? c->ai : vb_cc_bps(s->dcqcn_rate_ai_q8, preset_clk), clk);
	if (c->hai || clk != preset_clk)
		s->dcqcn_rate_hai_q8 = vb_cc_units_q8(
		    c->hai ? c->hai : vb_cc_bps(s->dcqcn_rate_hai_q8, preset_clk), clk);
}

int vb_scenario_read_congestion(struct reader *r, const yaml_node_t *root,
				struct vb_cc_settings *set, uint64_t rate_bps)
{
	const yaml_node_t *node =
	    reader_member(r, reader_member(r, root, "transport"), "congestion");
	const yaml_node_t *preset = reader_member(r, node, "preset");
	struct congestion c = {0};
	struct vb_cc_fault fault;
	uint32_t preset_clk;
	int err;

	if (!node)
		return 0;
	if (node->type == YAML_SCALAR_NODE)
		return read_preset(r, node, set, rate_bps);
	vb_cc_settings_paper(&c.set, rate_bps);
	err = preset ? read_preset(r, preset, &c.set, rate_bps) : 0;
	preset_clk = c.set.cc_clk_hz;
	if (!err)
		err = reader_map(r, node, keys, &c);
	if (err)
		return err;
	rates_to_units(&c, preset_clk);
	if (vb_cc_settings_check(&c.set, &fault))
		return reader_fail(r, node, "%s %s", fault.field, fault.rule);
	*set = c.set;
	return 0;
}
