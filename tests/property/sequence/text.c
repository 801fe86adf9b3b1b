/* SPDX-License-Identifier: BSD-2-Clause */
/* Cases as text: one line for the world, one for each step, "+TIME NAME key=value ...". */
#include "steps.h"

#include <stdlib.h>
#include <string.h>

static const char *const world_names[WORLD_CNT] = {"seed",     "shape",  "size",  "gbps", "delay",
						   "window",   "piece",  "event", "srq",  "tidy",
						   "recovery", "switch", "cc",    "slow"};

static const struct {
	const char *name, *arg[STEP_ARGS];
} kinds[STEP_KINDS] = {
    [STEP_CONNECT] = {"connect",
		      {"conn", "type", "a", "b", "mtu", "depth", "recvs", "timeout", "rnr",
		       "atomics", "srq", "salt"}},
    [STEP_POST] = {"post",
		   {"conn", "side", "op", "len", "cnt", "flags", "sges", "defect", "target",
		    "salt"}},
    [STEP_RECV] = {"recv", {"conn", "side", "cnt", "len", "sges", "defect", "salt"}},
    [STEP_STATE] = {"state", {"conn", "side", "to", "salt"}},
    [STEP_RECONNECT] = {"reconnect", {"conn", "salt"}},
    [STEP_DESTROY] = {"destroy", {"conn", "side"}},
    [STEP_FAULT] = {"fault", {"cable", "kind", "ppm", "first", "skip", "us"}},
    [STEP_HEAL] = {"heal", {"cable"}},
    [STEP_MR] = {"mr", {"slot", "host", "access", "len", "kind"}},
    [STEP_UNMR] = {"unmr", {"slot"}},
    [STEP_MW] = {"mw", {"slot", "type", "host"}},
    [STEP_BIND] = {"bind", {"conn", "side", "mw", "mr", "access", "len", "off"}},
    [STEP_UNMW] = {"unmw", {"slot"}},
    [STEP_SRQ] = {"srq", {"host", "cnt", "len", "salt", "which"}},
    [STEP_REFUSED] = {"refused", {"conn", "side", "why"}},
    [STEP_CQ] = {"cq", {"host", "size"}},
    [STEP_NAP] = {"nap", {"host", "us"}},
    [STEP_LIMIT] = {"limit", {"host", "cnt", "which"}},
    [STEP_GROUP] = {"group", {"conn", "side", "number", "leave"}},
    [STEP_TUNE] = {"tune", {"conn", "side", "what", "host", "value"}},
    [STEP_DCT] = {"dct", {"slot", "host"}},
    [STEP_DCI] = {"dci",
		  {"slot", "host", "depth", "streams", "errored", "full", "timeout", "rnr",
		   "atomics", "salt"}},
    [STEP_DCPOST] = {"dcpost",
		     {"dci", "dct", "op", "len", "cnt", "flags", "sges", "defect", "stream", "salt",
		      "target"}},
    [STEP_DCSTATE] = {"dcstate", {"target", "slot", "to"}},
    [STEP_DCSTREAM] = {"dcstream", {"dci", "stream"}},
    [STEP_DCRECV] = {"dcrecv", {"dct", "cnt", "salt"}},
    [STEP_UNSRQ] = {"unsrq", {"host", "which"}},
    [STEP_PAGE] = {"page", {"slot", "at", "len", "kind"}},
    [STEP_LOCATE] = {"locate", {"slot", "host", "at", "len", "write"}},
    [STEP_REREG] = {"rereg", {"slot", "access", "away"}},
};

void sequence_print(FILE *f, const struct sequence *s)
{
	fputs("world", f);
	for (int i = 0; i < WORLD_CNT; i++)
		fprintf(f, " %s=%u", world_names[i], s->world[i]);
	fputc('\n', f);
	for (uint32_t i = 0; i < s->cnt; i++) {
		const struct step *st = &s->step[i];

		fprintf(f, "+%u %s", st->after, kinds[st->kind].name);
		for (int k = 0; k < STEP_ARGS && kinds[st->kind].arg[k]; k++)
			fprintf(f, " %s=%u", kinds[st->kind].arg[k], st->arg[k]);
		fputc('\n', f);
	}
}

/* "key=value ..." in the order of @names. */
static bool read_args(char *text, const char *const *names, int cnt, uint32_t *out)
{
	char *save = NULL, *word = strtok_r(text, " \n", &save);

	for (int i = 0; i < cnt && names[i]; i++, word = strtok_r(NULL, " \n", &save)) {
		size_t len = strlen(names[i]);
		char *end;

		if (!word || strncmp(word, names[i], len) != 0 || word[len] != '=')
			return false;
		out[i] = (uint32_t)strtoul(word + len + 1, &end, 10);
		if (*end != '\0' || end == word + len + 1)
			return false;
	}
	return word == NULL;
}

static bool read_step(char *line, struct step *st)
{
	char name[16];
	int at = 0;

	if (sscanf(line, "+%u %15s%n", &st->after, name, &at) != 2)
		return false;
	for (st->kind = 0; st->kind < STEP_KINDS; st->kind++)
		if (strcmp(kinds[st->kind].name, name) == 0)
			return read_args(line + at, kinds[st->kind].arg, STEP_ARGS, st->arg);
	return false;
}

int sequence_read(FILE *f, struct sequence *s)
{
	char line[512];
	bool has_world = false;

	*s = (struct sequence){0};
	for (int n = 1; fgets(line, sizeof line, f); n++) {
		if (line[0] == '#' || line[0] == '\n')
			continue;
		if (!has_world) {
			if (strncmp(line, "world ", 6) != 0 ||
			    !read_args(line + 6, world_names, WORLD_CNT, s->world) ||
			    s->world[WORLD_SHAPE] >= SHAPE_CNT)
				return n;
			has_world = true;
		} else if (s->cnt == STEPS_MAX || !read_step(line, &s->step[s->cnt++])) {
			return n;
		}
	}
	return has_world ? 0 : 1;
}
