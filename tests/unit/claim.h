/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Figures of the simulator next to figures that come from elsewhere: theory, papers, other
 * simulators. A check fails the test when the two are further apart than it allows. With the
 * environment variable VERBENA_CLAIMS it also writes the pair to that file, from which
 * scripts/trust.py makes the table of docs/trust.md.
 */
#ifndef VB_TESTS_UNIT_CLAIM_H
#define VB_TESTS_UNIT_CLAIM_H

#include "cmocka_env.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct claim {
	const char *text;        /* "goodput of go-back-N, a packet in 1000 lost" */
	const char *reference;   /* "theory: (1 - p) / (1 - p + p W)" */
	const char *unit;        /* of both figures */
	double expected, within; /* the share by which the figure here may differ */
};

static inline void claim_note(const struct claim *c, double here)
{
	static bool has_begun;
	const char *path = getenv("VERBENA_CLAIMS");
	FILE *f = path ? fopen(path, has_begun ? "a" : "w") : NULL;

	if (!f)
		return;
	has_begun = true;
	fprintf(f, "%s\t%s\t%.4g\t%.4g\t%s\t%+.1f\t%.3g\n", c->text, c->reference, c->expected,
		here, c->unit, 100 * (here / c->expected - 1), 100 * c->within);
	fclose(f);
}

/* @here is within c->within of c->expected, which is not 0. */
static inline void assert_claim(const struct claim *c, double here)
{
	claim_note(c, here);
	if (!(fabs(here - c->expected) <= c->within * fabs(c->expected)))
		fail_msg("%s: %.6g %s, and it should be %.6g within %.3g %%", c->text, here,
			 c->unit, c->expected, 100 * c->within);
}

#endif
