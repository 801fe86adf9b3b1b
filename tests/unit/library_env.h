/* SPDX-License-Identifier: BSD-2-Clause */
/* Simulations that a program runs through verbena/sim.h. */
#ifndef VB_TESTS_LIBRARY_ENV_H
#define VB_TESTS_LIBRARY_ENV_H

#include "cmocka_env.h"
#include "verbena/sim.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

/* Two hosts behind one switch write to a third; of 1 MB each the link is full for 1.7 ms. */
#define TWO_TO_ONE_OF(bytes)                                                                       \
	"{topology: {shape: star, hosts: 3, cable: {rate: 10Gbps, delay: 1us}},\n"                 \
	" switch: {ecn: [0], kmin: 5kB, kmax: 200kB, pmax: 10%},\n"                                \
	" transport: {traffic-class: 0, congestion: paper, message: 4KiB},\n"                      \
	" record: {series: [rate, queue], every: 100us, groups: [{name: all, flows: [0-1]}]},\n"   \
	" workload: [{shape: single, from: 0, to: 2, bytes: " bytes "},\n"                         \
	"            {shape: single, from: 1, to: 2, bytes: " bytes "}]}\n"
#define TWO_TO_ONE TWO_TO_ONE_OF("1MB")
/* One flow, which nothing disturbs. */
#define ONE_FLOW                                                                                   \
	"{topology: {cable: {rate: 10Gbps, delay: 1us}}, transport: {message: 4KiB}, workload: "   \
	"[{shape: single, from: 0, to: 1, bytes: 10MB, start: 10us}]}"

static inline struct verbena_sim *sim_open(const char *text)
{
	const struct verbena_sim_source source = {.text = text, .text_len = strlen(text)};
	struct verbena_sim *s;
	char why[512];

	if (verbena_sim_open(&s, &source, sizeof source, why, sizeof why))
		fail_msg("%s", why);
	return s;
}

static inline struct verbena_sim_state sim_state(const struct verbena_sim *s)
{
	struct verbena_sim_state st;

	verbena_sim_state(s, &st, sizeof st);
	return st;
}

static inline struct verbena_sim_flow flow_at(const struct verbena_sim *s, uint32_t i)
{
	struct verbena_sim_flow f;

	assert_int_equal(verbena_sim_flow(s, i, &f, sizeof f), 0);
	return f;
}

static inline void check_error(const struct verbena_sim *s, const char *part)
{
	if (!strstr(verbena_sim_error(s), part))
		fail_msg("\"%s\" has no \"%s\"", verbena_sim_error(s), part);
}

#endif
