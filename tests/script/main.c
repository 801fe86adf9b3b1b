/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the scripts named, and every .drill file below the folders named. */
#include "drill.h"

#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_whole(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = NULL;
	size_t cap = 0;
	ssize_t n = f != NULL ? getdelim(&text, &cap, '\0', f) : -1;

	if (f != NULL)
		fclose(f);
	if (n < 0) {
		free(text);
		return NULL;
	}
	return text;
}

static bool run_file(const char *path)
{
	static struct drill d;
	char *text = read_whole(path);
	bool passed;

	if (text == NULL) {
		printf("FAIL %s: cannot be read\n", path);
		return false;
	}
	passed = drill_run(&d, path, text);
	if (!passed)
		printf("FAIL %s\n", d.error);
	free(text);
	return passed;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

int main(int argc, char **argv)
{
	unsigned passed = 0, failed = 0;
	FTS *tree = argc > 1 ? fts_open(argv + 1, FTS_LOGICAL, by_name) : NULL;
	FTSENT *e;

	while (tree != NULL && (e = fts_read(tree)) != NULL) {
		const char *dot = strrchr(e->fts_name, '.');

		if (e->fts_info != FTS_F || dot == NULL || strcmp(dot, ".drill") != 0)
			continue;
		if (run_file(e->fts_path))
			passed++;
		else
			failed++;
	}
	if (tree != NULL)
		fts_close(tree);
	printf("%u passed, %u failed\n", passed, failed);
	return failed != 0 || passed == 0;
}
