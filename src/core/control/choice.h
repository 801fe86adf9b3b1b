/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which algorithm of congestion control the flows of a port have, and the values of its parameters:
 * checked, and read from text wherever people write it. See verbena/cc.h.
 */
#ifndef VB_CORE_CONTROL_CHOICE_H
#define VB_CORE_CONTROL_CHOICE_H

#include "base/time.h"
#include "verbena/cc.h"

#include <stdbool.h>
#include <stddef.h>

struct vb_cc_choice {
	const struct verbena_cc_algorithm *algorithm; /* NULL: none */
	uint64_t line_rate;                           /* of the port, bit/s; not 0 */
	/* Unused time of a flow's rate is kept for so long, and a flow that waits does so for half
	 * of it, so that packets leave in GSO batches. */
	vb_dur keep;
	uint64_t value[VERBENA_CC_PARAMETERS_MAX];
};

/* NULL, or what is wrong with the table of an algorithm: half a sentence, "has ...". Only what a
 * table says is looked at; nothing of it is called. */
const char *vb_cc_algorithm_check(const struct verbena_cc_algorithm *a);

/* Begins with the algorithm, which was checked, and the values that its table has. */
void vb_cc_choice_begin(struct vb_cc_choice *c, const struct verbena_cc_algorithm *a,
			uint64_t line_rate);

/* The parameter called @name, or NULL. */
const struct verbena_cc_parameter *vb_cc_parameter_find(const struct verbena_cc_algorithm *a,
							const char *name, size_t len);

/* Parameter @p of the algorithm becomes @text. -EINVAL: it does not fit, and vb_cc_parameter_rule()
 * says what does. */
int vb_cc_choice_put(struct vb_cc_choice *c, const struct verbena_cc_parameter *p, const char *text,
		     size_t len);

#define VB_CC_RULE_SIZE 96u
/* Half a sentence into @to: "is a time from 1us to 10s". */
void vb_cc_parameter_rule(const struct verbena_cc_parameter *p, char to[VB_CC_RULE_SIZE]);

/* A value of the parameter as people write it: "25us". */
#define VB_CC_VALUE_SIZE 32u
void vb_cc_value_text(const struct verbena_cc_parameter *p, uint64_t value,
		      char to[VB_CC_VALUE_SIZE]);

/* Of a text that is wrong. */
struct vb_cc_choice_fault {
	uint32_t at, len;           /* the item in the text */
	char what[VB_CC_RULE_SIZE]; /* half a sentence about it */
};

/* Reads "name=value,name=value", with blanks between, on top of what @c has. 0, or -EINVAL with
 * @fault filled. */
int vb_cc_choice_read(struct vb_cc_choice *c, const char *text, struct vb_cc_choice_fault *fault);

#endif
