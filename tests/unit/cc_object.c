/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The source of the shared objects of test_plugin.c: an algorithm of a user, and objects that are
 * no good, by what the build defines.
 */
#include "verbena/cc.h"

#ifndef OBJECT_VERSION
#define OBJECT_VERSION VERBENA_CC_VERSION
#endif
#ifndef OBJECT_SYMBOL
#define OBJECT_SYMBOL verbena_cc
#endif

#ifdef OBJECT_NEEDS
extern int symbol_that_nobody_has;
#endif

static const struct verbena_cc_parameter object_parameter[] = {
    {.name = "window", .unit = VERBENA_CC_BYTES, .min = 0, .max = 1000000, .value = 4096},
};

static void object_init(void *state, const struct verbena_cc_facts *facts, const uint64_t *value,
			struct verbena_cc_control *out)
{
	(void)state, (void)facts;
	out->window = value[0];
	out->rate = value[0] ? VERBENA_CC_NONE : 0;
#ifdef OBJECT_NEEDS
	out->window += (uint64_t)symbol_that_nobody_has;
#endif
}

static void object_on_ack(void *state, const struct verbena_cc_ack *ack,
			  struct verbena_cc_control *out)
{
	(void)state, (void)ack, (void)out;
}

__attribute__((visibility("default"))) extern const struct verbena_cc_algorithm OBJECT_SYMBOL;

const struct verbena_cc_algorithm OBJECT_SYMBOL = {
    .version = OBJECT_VERSION,
    .name = "object",
    .parameter_cnt = 1,
    .parameter = object_parameter,
    .init = object_init,
    .on_ack = object_on_ack,
};
