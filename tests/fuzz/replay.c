/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * main() of a fuzz target without libFuzzer: runs the target once on each file named, and on each
 * file of each folder named. Options of libFuzzer (-runs=0) are ignored.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len);

#define INPUT_MAX (1 << 20)

static int replay_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *whole = f != NULL ? malloc(INPUT_MAX) : NULL;
	size_t len;

	if (whole == NULL) {
		if (f != NULL)
			fclose(f);
		fprintf(stderr, "%s: cannot be read\n", path);
		return -1;
	}
	len = fread(whole, 1, INPUT_MAX, f);
	fclose(f);
	/* An allocation of exactly that size: a sanitizer sees the first byte too many. */
	uint8_t *exact = malloc(len + 1);

	if (exact != NULL) {
		for (size_t i = 0; i < len; i++)
			exact[i + 1] = whole[i];
		LLVMFuzzerTestOneInput(exact + 1, len);
	}
	free(exact);
	free(whole);
	return 1;
}

static int replay_folder(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	int cnt = 0;

	if (d == NULL)
		return replay_file(path);
	while ((e = readdir(d)) != NULL) {
		char file[4096];
		int one;

		if (e->d_name[0] == '.')
			continue;
		snprintf(file, sizeof file, "%s/%s", path, e->d_name);
		one = replay_file(file);
		if (one < 0) {
			cnt = -1;
			break;
		}
		cnt += one;
	}
	closedir(d);
	return cnt;
}

int main(int argc, char **argv)
{
	int cnt = 0;

	for (int i = 1; i < argc; i++) {
		int more = argv[i][0] == '-' ? 0 : replay_folder(argv[i]);

		if (more < 0)
			return 1;
		cnt += more;
	}
	printf("%d inputs replayed\n", cnt);
	return cnt > 0 ? 0 : 1;
}
