/* SPDX-License-Identifier: BSD-2-Clause */
/* Distance of words, by dynamic programming over their letters (Damerau and Levenshtein). */
#include "cmd/near.h"

#include <limits.h>
#include <string.h>

#define LETTERS_MAX 32

static unsigned least_of(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

unsigned vb_near_distance(const char *typed, const char *word)
{
	/* d[i][k]: between the first i letters of one and the first k of the other. */
	unsigned d[LETTERS_MAX + 1][LETTERS_MAX + 1];
	size_t n = strlen(typed), m = strlen(word);

	if (n > LETTERS_MAX || m > LETTERS_MAX)
		return UINT_MAX;
	if (n > 1 && strncmp(typed, word, n) == 0)
		return n < m;
	for (unsigned i = 0; i <= n; i++) {
		for (unsigned k = 0; k <= m; k++) {
			if (!i || !k) {
				d[i][k] = i + k;
				continue;
			}
			d[i][k] = least_of(d[i - 1][k], d[i][k - 1]) + 1;
			d[i][k] =
			    least_of(d[i][k], d[i - 1][k - 1] + (typed[i - 1] != word[k - 1]));
			if (i > 1 && k > 1 && typed[i - 1] == word[k - 2] &&
			    typed[i - 2] == word[k - 1])
				d[i][k] = least_of(d[i][k], d[i - 2][k - 2] + 1);
		}
	}
	return d[n][m];
}

unsigned vb_near_limit(const char *typed)
{
	unsigned third = (unsigned)strlen(typed) / 3;

	return third ? third : 1;
}
