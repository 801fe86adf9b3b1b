/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The settings of congestion control by the names, in the units and with the meaning that operators
 * of other adapters know: files of debugfs' cc_params, and of sysfs' ecn/roce_rp and ecn/roce_np.
 * One table. CC-29, facts B.11
 */
#ifndef VB_REG_CSR_CC_NAMES_H
#define VB_REG_CSR_CC_NAMES_H

#include "core/cc/settings.h"

#include <stddef.h>

struct vb_cc_name {
	const char *debugfs; /* in cc_params; NULL: not there */
	const char *sysfs;   /* in ecn/, with its folder; NULL: not there */
	const char *unit;    /* "": a count or a switch */
	const char *field;   /* of the CSR space that it stands for; "-": of none */
	uint64_t min, max;
	uint64_t (*get)(const struct vb_cc_settings *s);
	/* @value is min...max. NULL, or why this adapter cannot have it, as half a sentence. */
	const char *(*set)(struct vb_cc_settings *s, uint64_t value, uint64_t line_bps);
};

extern const struct vb_cc_name vb_cc_names[];
extern const unsigned vb_cc_name_cnt;

/* By either name, the second with or without its folder if that is no doubt. NULL: there is none.
 */
const struct vb_cc_name *vb_cc_name_find(const char *name, size_t len);

/*
 * Sets one of them. @line_bps: rate of the link, 0: not known. 0, or -EINVAL with the rule in *rule
 * as half a sentence; then nothing has changed.
 */
int vb_cc_name_set(const struct vb_cc_name *n, struct vb_cc_settings *s, uint64_t value,
		   uint64_t line_bps, const char **rule);

#endif
