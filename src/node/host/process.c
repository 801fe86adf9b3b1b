/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads /proc/PID/stat, see process.h. */
#include "node/host/process.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define STAT_MAX 1024

/* Reads the file into @line. Returns its third field, the state, with what follows; NULL: there is
 * no such process. */
static char *stat_read(pid_t pid, char line[STAT_MAX])
{
	char path[32], *rest;
	size_t len;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return NULL;
	len = fread(line, 1, STAT_MAX - 1, f);
	fclose(f);
	line[len] = 0;
	/* The second field is a name in parentheses, which may hold anything. */
	rest = strrchr(line, ')');
	return rest && rest[1] == ' ' ? rest + 2 : NULL;
}

uint64_t vb_process_start(pid_t pid)
{
	char line[STAT_MAX], *rest = stat_read(pid, line);
	uint64_t start = 0;

	for (int field = 3; rest && field < 22; field++) {
		rest = strchr(rest, ' ');
		rest = rest ? rest + 1 : NULL;
	}
	return rest && sscanf(rest, "%" SCNu64, &start) == 1 ? start : 0;
}

bool vb_process_is_stopped(pid_t pid)
{
	char line[STAT_MAX];
	const char *state = stat_read(pid, line);

	return state && (*state == 'T' || *state == 't');
}
