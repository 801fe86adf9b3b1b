/* SPDX-License-Identifier: BSD-2-Clause */
/* How many descriptors a process has: what is opened for a while is closed again. proc(5) */
#ifndef VB_TESTS_UNIT_DESCRIPTORS_H
#define VB_TESTS_UNIT_DESCRIPTORS_H

#include "cmocka_env.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

static inline unsigned descriptors_of(pid_t pid)
{
	char path[64];
	unsigned cnt = 0;
	DIR *d;

	snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	d = opendir(path);
	assert_non_null(d);
	while (readdir(d))
		cnt++;
	closedir(d);
	return cnt;
}

/* Mappings of this process that have @name in their line. proc_pid_maps(5) */
static inline unsigned maps_with(const char *name)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];
	unsigned cnt = 0;

	assert_non_null(f);
	while (fgets(line, sizeof line, f))
		cnt += strstr(line, name) != NULL;
	fclose(f);
	return cnt;
}

/* Those of this process that a program which it executes would have as well. */
static inline unsigned descriptors_for_exec(void)
{
	unsigned cnt = 0;

	for (int fd = 0; fd < 1024; fd++) {
		int flags = fcntl(fd, F_GETFD);

		cnt += flags >= 0 && !(flags & FD_CLOEXEC);
	}
	return cnt;
}

#endif
