/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading the settings of congestion control. See text.h. */
#include "core/cc/text.h"

#include "core/control/number.h"

#include <errno.h>
#include <string.h>

#define RATE_MAX_BPS UINT64_C(2000000000000)

enum preset { PAPER, HARDWARE, FIRMWARE_RATE, FIRMWARE_ONLY, OFF };

const char *const vb_cc_presets[] = {
    [PAPER] = "paper",
    [HARDWARE] = "hardware",
    [FIRMWARE_RATE] = "firmware-rate",
    [FIRMWARE_ONLY] = "firmware-only",
    [OFF] = "off",
    NULL,
};
const char vb_cc_preset_rule[] = "is off, paper, hardware, firmware-rate or firmware-only";

static int find_word(const char *const *words, int cnt, const char *text, size_t len)
{
	int i = 0;

	while (i < cnt && !vb_word_is(words[i], text, len))
		i++;
	return i < cnt ? i : -1;
}

/* CC-45...47: the algorithm, the limiter, the bound on WQEs, and what software has to be told. The
 * paper bounds a flow by its rate alone. */
static void apply_scheme(struct vb_cc_settings *s, enum preset preset)
{
	s->tx_wqe_ost_limit_en = preset == HARDWARE || preset == FIRMWARE_RATE;
	if (preset == PAPER || preset == HARDWARE)
		return;
	s->dcqcn_hw_en = false;
	s->cnp_irq_en = true;
	if (preset == FIRMWARE_ONLY)
		s->hw_rate_throttle_en = s->speed_limiter_en = false;
}

int vb_cc_draft_begin(struct vb_cc_draft *d, const char *name, size_t len, uint64_t rate_bps)
{
	int preset = find_word(vb_cc_presets, OFF + 1, name, len);

	*d = (struct vb_cc_draft){0};
	if (preset < 0)
		return -EINVAL;
	vb_cc_settings_paper(&d->set, rate_bps);
	d->preset_clk = d->set.cc_clk_hz;
	if (preset == OFF)
		d->set = (struct vb_cc_settings){.cc_clk_hz = d->preset_clk};
	else
		apply_scheme(&d->set, (enum preset)preset);
	return 0;
}

const struct vb_cc_field *vb_cc_field_find(const char *name, size_t len)
{
	for (unsigned i = 0; i < vb_cc_field_cnt; i++)
		if (vb_word_is(vb_cc_fields[i].name, name, len))
			return &vb_cc_fields[i];
	return NULL;
}

static int put_number(struct vb_cc_draft *d, const struct vb_cc_field *f, const char *value,
		      size_t len)
{
	bool is_rate = f->kind == VB_CC_RATE || f->kind == VB_CC_STEP;
	uint64_t m, divisor, factor;

	if (!vb_number_read(&value, &len, &m, &divisor))
		return -EINVAL;
	if (len) {
		factor = is_rate ? vb_unit_factor(vb_units_rate, value, len) : 0;
		if (factor == 0 || m > UINT64_MAX / factor || m * factor / divisor == 0 ||
		    m * factor / divisor > RATE_MAX_BPS)
			return -EINVAL;
		d->bps[f - vb_cc_fields] = m * factor / divisor;
		return 0;
	}
	/* A step in units may have a fraction. */
	factor = f->kind == VB_CC_STEP ? 256 : 1;
	if ((divisor != 1 && factor == 1) || m > UINT64_MAX / factor ||
	    m * factor / divisor > f->max || m * factor / divisor < f->min)
		return -EINVAL;
	d->bps[f - vb_cc_fields] = 0;
	vb_cc_field_put(f, &d->set, (uint32_t)(m * factor / divisor));
	return 0;
}

int vb_cc_draft_put(struct vb_cc_draft *d, const struct vb_cc_field *f, const char *value,
		    size_t len)
{
	static const char *const switches[] = {"false", "true", "0", "1"};
	int v;

	d->given |= UINT64_C(1) << (f - vb_cc_fields);
	switch (f->kind) {
	case VB_CC_BOOL:
		v = find_word(switches, 4, value, len);
		if (v >= 0)
			vb_cc_field_put(f, &d->set, v & 1);
		return v < 0 ? -EINVAL : 0;
	case VB_CC_NAME:
		v = find_word(f->names, (int)f->max + 1, value, len);
		if (v >= 0)
			vb_cc_field_put(f, &d->set, (uint32_t)v);
		return v < 0 ? -EINVAL : 0;
	default:
		return put_number(d, f, value, len);
	}
}

/* Nearest units; a rate is at least one. */
static uint32_t in_units(const struct vb_cc_field *f, uint64_t bps, uint32_t clk_hz)
{
	uint32_t q8 = vb_cc_units_q8(bps, clk_hz), units = q8 >> 8;

	if (f->kind == VB_CC_STEP)
		return q8;
	return units > VB_CC_RATE_MAX ? VB_CC_RATE_MAX : units ? units : 1;
}

/* Field @i, a rate, in units of the clock that holds; 0 and 1 stand for themselves. */
static void settle_rate(const struct vb_cc_draft *d, unsigned i, struct vb_cc_settings *set)
{
	const struct vb_cc_field *f = &vb_cc_fields[i];
	uint32_t is = vb_cc_field_get(f, set);
	uint64_t bps = d->bps[i];

	if (!bps && !(d->given >> i & 1) && is > 1 && set->cc_clk_hz != d->preset_clk)
		bps = vb_cc_bps(f->kind == VB_CC_STEP ? is : is << 8, d->preset_clk);
	if (bps)
		vb_cc_field_put(f, set, in_units(f, bps, set->cc_clk_hz));
}

int vb_cc_draft_end(const struct vb_cc_draft *d, struct vb_cc_settings *set,
		    struct vb_cc_fault *fault)
{
	*set = d->set;
	for (unsigned i = 0; i < vb_cc_field_cnt; i++)
		if (vb_cc_fields[i].kind == VB_CC_RATE || vb_cc_fields[i].kind == VB_CC_STEP)
			settle_rate(d, i, set);
	return vb_cc_settings_check(set, fault);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The item from *at on, without the blanks around it; *next is behind its comma. */
static size_t next_item(const char **at, const char **next)
{
	size_t len;

	*at += strspn(*at, " \t\r\n");
	len = strcspn(*at, ",");
	*next = *at + len + ((*at)[len] == ',');
	while (len && is_blank((*at)[len - 1]))
		len--;
	return len;
}

static int put_item(struct vb_cc_draft *d, const char *item, size_t len, const char **what)
{
	const char *eq = memchr(item, '=', len);
	const struct vb_cc_field *f = eq ? vb_cc_field_find(item, (size_t)(eq - item)) : NULL;

	if (!f) {
		*what = eq ? "is no setting of congestion control" : "lacks its value, NAME=VALUE";
		return -EINVAL;
	}
	*what = d->given >> (f - vb_cc_fields) & 1 ? "stands here twice" : f->rule;
	if (*what != f->rule)
		return -EINVAL;
	return vb_cc_draft_put(d, f, eq + 1, len - (size_t)(eq + 1 - item));
}

static int draft_begin(struct vb_cc_draft *d, const char *item, size_t len, uint64_t rate_bps,
		       bool *was_preset)
{
	*was_preset = true;
	if (len == 0)
		return vb_cc_draft_begin(d, "off", 3, rate_bps);
	if (len > 7 && memcmp(item, "preset=", 7) == 0)
		return vb_cc_draft_begin(d, item + 7, len - 7, rate_bps);
	if (!memchr(item, '=', len))
		return vb_cc_draft_begin(d, item, len, rate_bps);
	*was_preset = false;
	return vb_cc_draft_begin(d, "paper", 5, rate_bps);
}

int vb_cc_parse(const char *text, uint64_t rate_bps, struct vb_cc_settings *set,
		struct vb_cc_text_fault *fault)
{
	const char *at = text, *next;
	size_t len = next_item(&at, &next);
	struct vb_cc_draft d;
	struct vb_cc_fault bad = {0};
	bool was_preset;
	int err = draft_begin(&d, at, len, rate_bps, &was_preset);

	*fault = (struct vb_cc_text_fault){.what = vb_cc_preset_rule};
	if (!err && was_preset) {
		at = next;
		len = next_item(&at, &next);
	}
	for (; !err && (len || *next); len = next_item(&at, &next)) {
		err = put_item(&d, at, len, &fault->what);
		if (err)
			break;
		at = next;
	}
	fault->at = (uint32_t)(at - text);
	fault->len = (uint32_t)len;
	if (err)
		return err;
	err = vb_cc_draft_end(&d, set, &bad);
	if (err)
		*fault = (struct vb_cc_text_fault){.what = bad.rule, .field = bad.field};
	return err;
}
