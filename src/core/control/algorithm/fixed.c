/* SPDX-License-Identifier: BSD-2-Clause */
/* A window and a rate that stay as they are: the yardstick for the others. See verbena/cc.h. */
#include "base/assert.h"
#include "core/control/algorithm/algorithm.h"

#include <stddef.h>

enum { WINDOW, RATE, FIXED_PARAMETERS };

static const struct verbena_cc_parameter fixed_parameter[FIXED_PARAMETERS] = {
    [WINDOW] = VB_CC_PARAMETER("window", BYTES, 1, 1u << 30, VERBENA_CC_NONE,
			       "bytes in flight; unless given, no limit"),
    [RATE] = VB_CC_PARAMETER("rate", RATE, 1000000, VB_CC_RATE_TOP, VERBENA_CC_NONE,
			     "the rate; unless given, no limit"),
};

static void fixed_init(void *state, const struct verbena_cc_facts *facts, const uint64_t *value,
		       struct verbena_cc_control *out)
{
	(void)state, (void)facts;
	VB_ASSERT_ALL(out->rate == VERBENA_CC_NONE && out->window == VERBENA_CC_NONE);
	out->window = value[WINDOW];
	out->rate = value[RATE];
}

static void fixed_on_ack(void *state, const struct verbena_cc_ack *ack,
			 struct verbena_cc_control *out)
{
	(void)state, (void)ack, (void)out;
}

const struct verbena_cc_algorithm vb_cc_fixed = {
    .version = VERBENA_CC_VERSION,
    .name = "fixed",
    .parameter_cnt = FIXED_PARAMETERS,
    .parameter = fixed_parameter,
    .init = fixed_init,
    .on_ack = fixed_on_ack,
};
