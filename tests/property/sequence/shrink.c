/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Delta debugging: leaves out ever smaller runs of steps as long as the case still fails in the
 * same way, then makes the numbers of what is left smaller. Zeller and Hildebrandt, "Simplifying
 * and isolating failure-inducing input", 2002
 */
#include "steps.h"

#include <string.h>

#define ATTEMPTS_MAX 3000u

struct shrinker {
	struct sequence *best;
	const char *kind;
	bool (*fails)(const struct sequence *s, const char *kind);
	uint32_t attempts;
};

static bool attempt(struct shrinker *sh, const struct sequence *s)
{
	if (sh->attempts == ATTEMPTS_MAX)
		return false;
	sh->attempts++;
	if (!sh->fails(s, sh->kind))
		return false;
	*sh->best = *s;
	return true;
}

/* Without the @n steps from @at; the time they took is kept. */
static bool without(struct shrinker *sh, uint32_t at, uint32_t n)
{
	struct sequence s = *sh->best;
	uint32_t after = 0;

	for (uint32_t i = at; i < at + n; i++)
		after += s.step[i].after;
	memmove(&s.step[at], &s.step[at + n], (s.cnt - at - n) * sizeof s.step[0]);
	s.cnt -= n;
	if (at < s.cnt)
		s.step[at].after += after;
	return attempt(sh, &s);
}

static bool fewer_steps(struct shrinker *sh)
{
	uint32_t before = sh->best->cnt;

	for (uint32_t n = (before + 1) / 2; n; n /= 2) {
		for (uint32_t at = 0; at + n <= sh->best->cnt;)
			if (!without(sh, at, n))
				at += n;
	}
	return sh->best->cnt < before;
}

/* The smallest of 0, 1, and halves that still fails. */
static bool smaller(struct shrinker *sh, size_t offset)
{
	uint32_t was = *(const uint32_t *)((const char *)sh->best + offset);
	uint32_t tries[] = {0, 1, was / 2, was - was / 4, was - 1};

	for (size_t i = 0; i < sizeof tries / sizeof tries[0]; i++) {
		struct sequence s = *sh->best;

		if (tries[i] >= was)
			continue;
		*(uint32_t *)((char *)&s + offset) = tries[i];
		if (attempt(sh, &s))
			return true;
	}
	return false;
}

static bool smaller_numbers(struct shrinker *sh)
{
	bool any = false;

	for (int i = 0; i < WORLD_CNT; i++)
		if (i != WORLD_GBPS && i != WORLD_SIZE)
			any |= smaller(sh, offsetof(struct sequence, world) + (size_t)i * 4);
	for (uint32_t k = 0; k < sh->best->cnt; k++) {
		size_t step = offsetof(struct sequence, step) + k * sizeof(struct step);

		any |= smaller(sh, step + offsetof(struct step, after));
		for (size_t i = 0; i < STEP_ARGS; i++)
			any |= smaller(sh, step + offsetof(struct step, arg) + i * 4);
	}
	return any;
}

uint32_t sequence_shrink(struct sequence *s, const char *kind,
			 bool (*fails)(const struct sequence *s, const char *kind))
{
	struct shrinker sh = {s, kind, fails, 0};
	bool any = true;

	while (any && sh.attempts < ATTEMPTS_MAX) {
		any = fewer_steps(&sh);
		any |= smaller_numbers(&sh);
	}
	return sh.attempts;
}
