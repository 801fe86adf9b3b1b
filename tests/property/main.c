/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Property tests: `property [--seed N] [--runs N | --messages N] [--atomics N] [--verbose]`. Each
 * run makes a world from its seed, works in it under faults, heals it, and demands that everything
 * posted completes, with the bytes that a reference executor says. A failure prints the seed that
 * repeats it. With --atomics, only runs of so many requests of each of two ends that count by
 * atomics.
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
	uint64_t seed = 1, runs = 200, messages = 0, completions = 0, connections = 0, told = 0,
		 answered = 0, requests = 0, atomics = 0, gave_up = 0, i = 0;
	bool verbose = false;

	for (int k = 1; k < argc; k++) {
		if (strcmp(argv[k], "--verbose") == 0) {
			verbose = true;
		} else if (strcmp(argv[k], "--seed") == 0 && k + 1 < argc) {
			seed = number(argv[++k]);
		} else if (strcmp(argv[k], "--runs") == 0 && k + 1 < argc) {
			runs = number(argv[++k]);
		} else if (strcmp(argv[k], "--atomics") == 0 && k + 1 < argc) {
			requests = number(argv[++k]);
		} else if (strcmp(argv[k], "--messages") == 0 && k + 1 < argc) {
			messages = number(argv[++k]);
		} else {
			fprintf(
			    stderr,
			    "usage: property [--seed N] [--runs N | --messages N] [--atomics N] "
			    "[--verbose]\n");
			return 2;
		}
	}
	if (requests) {
		for (; i < runs; i++)
			completions += atomics_run(seed + i, requests, &atomics, &gave_up);
		printf("%llu runs from seed %llu, %llu atomics, %llu completions, %llu gave up\n",
		       (unsigned long long)i, (unsigned long long)seed, (unsigned long long)atomics,
		       (unsigned long long)completions, (unsigned long long)gave_up);
		return 0;
	}
	if (seed == 1)
		completions += masks_run_all();
	answered += messages_long_run(seed);
	/* A message has a completion at its sender, and most have one at the receiver. */
	for (; messages ? completions < 2 * messages : i < runs; i++) {
		completions += scenario_run(seed + i, verbose);
		completions += breakage_run(seed + i);
		completions += datagram_run(seed + i);
		connections += connections_run(seed + i);
		told += programs_run(seed + i);
		completions += resend_run(seed + i);
		completions += atomics_run(seed + i, 300, &atomics, &gave_up);
		answered += messages_run(seed + i);
	}
	printf("%llu runs from seed %llu, %llu completions, %llu connections, "
	       "%llu programs told, %llu MADs answered\n",
	       (unsigned long long)i, (unsigned long long)seed, (unsigned long long)completions,
	       (unsigned long long)connections, (unsigned long long)told,
	       (unsigned long long)answered);
	return 0;
}
