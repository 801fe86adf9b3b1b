/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The settings of congestion control as text, wherever people write them: a preset, and fields by
 * name on top of it. Rates take a unit ("40Mbps"), or are register units; a field given in bit/s
 * and what the preset gave in bit/s follow cc_clk_hz, wherever that stands.
 */
#ifndef VB_CORE_CC_TEXT_H
#define VB_CORE_CC_TEXT_H

#include "core/cc/settings.h"

#include <stddef.h>

#define VB_CC_TEXT_FIELDS_MAX 64

/* The draft that a text is read into. */
struct vb_cc_draft {
	struct vb_cc_settings set;
	uint32_t preset_clk;
	uint64_t given;                      /* bit i: vb_cc_fields[i] */
	uint64_t bps[VB_CC_TEXT_FIELDS_MAX]; /* of a rate that was given in bit/s, else 0 */
};

/*
 * Begins with preset @name (of @len characters): "paper", all hardware; "firmware-rate" and
 * "firmware-only", the same with schemes 2 and 3 of s4; "off", zeros. -EINVAL: no such preset.
 * CC-45...47
 */
int vb_cc_draft_begin(struct vb_cc_draft *d, const char *name, size_t len, uint64_t rate_bps);

/* The names of the presets, ended by a NULL; and as half a sentence, "is ...". */
extern const char *const vb_cc_presets[];
extern const char vb_cc_preset_rule[];

/* Field @f becomes @value (of @len characters). -EINVAL: it does not fit f->rule. */
int vb_cc_draft_put(struct vb_cc_draft *d, const struct vb_cc_field *f, const char *value,
		    size_t len);

/* NULL: there is no such field. */
const struct vb_cc_field *vb_cc_field_find(const char *name, size_t len);

/* All has been said: 0, or as vb_cc_settings_check(). */
int vb_cc_draft_end(const struct vb_cc_draft *d, struct vb_cc_settings *set,
		    struct vb_cc_fault *fault);

/* Of a text that is wrong: the item that is, and why. */
struct vb_cc_text_fault {
	uint32_t at, len;  /* of the item in the text; len 0: of no single one */
	const char *what;  /* half a sentence about it, "must be ..." */
	const char *field; /* when it is about another than the item's, or NULL */
};

/*
 * Reads "preset=NAME,field=value,...", with blanks between. The preset comes first, or is paper;
 * the name of one alone will do for it. An empty text is "off". 0, or -EINVAL with @fault filled.
 */
int vb_cc_parse(const char *text, uint64_t rate_bps, struct vb_cc_settings *set,
		struct vb_cc_text_fault *fault);

#endif
