/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Property tests: `property [--seed N] [--runs N] [--verbose]`. Each run makes a world from its
 * seed, works in it under faults, heals it, and demands that everything posted completes, with the
 * bytes that a reference executor says. A failure prints the seed that repeats it.
 */
#include "scenarios.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t number(const char *text)
{
	char *end;
	unsigned long long n = strtoull(text, &end, 0);

	if (*text == '\0' || *end != '\0') {
		fprintf(stderr, "property: %s: not a number\n", text);
		exit(2);
	}
	return n;
}

int main(int argc, char **argv)
{
	uint64_t seed = 1, runs = 200, completions = 0;
	bool verbose = false;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--verbose") == 0) {
			verbose = true;
		} else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
			seed = number(argv[++i]);
		} else if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc) {
			runs = number(argv[++i]);
		} else {
			fprintf(stderr, "usage: property [--seed N] [--runs N] [--verbose]\n");
			return 2;
		}
	}
	if (seed == 1)
		completions += masks_run_all();
	for (uint64_t i = 0; i < runs; i++) {
		completions += scenario_run(seed + i, verbose);
		completions += breakage_run(seed + i);
		completions += datagram_run(seed + i);
	}
	printf("%llu runs from seed %llu, %llu completions\n", (unsigned long long)runs,
	       (unsigned long long)seed, (unsigned long long)completions);
	return 0;
}
