/* SPDX-License-Identifier: BSD-2-Clause */
/* Scenarios beside files that they name: a folder of their own, which ends with the test. */
#ifndef VB_TESTS_INPUT_ENV_H
#define VB_TESTS_INPUT_ENV_H

#include "cmocka_env.h"
#include "scenario/scenario.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char input_folder[64];

static inline void input_path(char *path, size_t size, const char *name)
{
	snprintf(path, size, "%s/%s", input_folder, name);
}

static inline void input_write(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	input_path(path, sizeof path, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static inline int input_begin(void **state)
{
	(void)state;
	snprintf(input_folder, sizeof input_folder, "/tmp/verbena-input.XXXXXX");
	return mkdtemp(input_folder) ? 0 : -1;
}

static inline int input_end(void **state)
{
	DIR *d = opendir(input_folder);
	struct dirent *e;
	char path[512];

	(void)state;
	while (d && (e = readdir(d))) {
		snprintf(path, sizeof path, "%s/%s", input_folder, e->d_name);
		if (e->d_name[0] != '.')
			(void)remove(path);
	}
	if (d)
		closedir(d);
	return rmdir(input_folder);
}

/* Reads and opens a scenario of that text in the folder. */
static inline int input_open(struct vb_scenario *sc, struct vb_scenario_run *run, const char *text,
			     char *err, size_t size)
{
	static char name[256];
	FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	int bad;

	assert_non_null(f);
	input_path(name, sizeof name, "s.yaml");
	bad = vb_scenario_read(sc, f, name, err, size);
	fclose(f);
	return bad ? bad : vb_scenario_open(run, sc, NULL, err, size);
}

/* It is refused, with these words behind the folder's name. */
static inline void input_refused(const char *text, const char *words)
{
	static struct vb_scenario sc;
	struct vb_scenario_run run;
	char err[1024] = "", want[1024];

	snprintf(want, sizeof want, "%s/%s", input_folder, words);
	assert_int_not_equal(input_open(&sc, &run, text, err, sizeof err), 0);
	vb_scenario_free(&sc);
	if (strcmp(err, want) != 0)
		fail_msg("\"%s\" instead of \"%s\"", err, want);
}

#endif
