/* SPDX-License-Identifier: BSD-2-Clause */
/* How many mappings of shared memory this process has: what is mapped for a while is unmapped
 * again. proc(5) */
#ifndef VB_TESTS_UNIT_MAPPINGS_H
#define VB_TESTS_UNIT_MAPPINGS_H

#include "cmocka_env.h"

#include <stdio.h>
#include <string.h>

/* Those whose line in /proc/self/maps has @what, such as the name of a memfd. */
static inline unsigned mappings_of(const char *what)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];
	unsigned cnt = 0;

	assert_non_null(f);
	while (fgets(line, sizeof line, f))
		cnt += strstr(line, what) != NULL;
	fclose(f);
	return cnt;
}

#endif
