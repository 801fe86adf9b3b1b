/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `verbena trace`: runs a program as `verbena run` does, with libverbena-trace.so before
 * libverbena.so, which shows each call of a verb (src/calls/).
 */
#include "cmd/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* As `verbena run` and env(1) have it. */
#define EXIT_SELF 125

enum { OPT_OUTPUT, OPT_CALLS, OPT_JSON };

static const struct vb_cmd_option options[] = {
    [OPT_OUTPUT] = {'o', "output", "FILE", "write to this file instead of standard error"},
    [OPT_CALLS] = {'e', "calls", "PATTERNS",
		   "only these, such as 'post_*,modify_qp'; with a '!' before them, all others"},
    [OPT_JSON] = {'j', "json", NULL, "a JSON object for each call"},
    {0},
};

/* The file is there and empty before the program begins; its children add to it. */
static int make_output(const struct vb_cmd *cmd, const char *path, char *full)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || !realpath(path, full)) {
		vb_cmd_error(cmd, "cannot write '%s': %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return EXIT_SELF;
	}
	close(fd);
	return 0;
}

static int trace_program(const struct vb_cmd *cmd, int argc, char **argv)
{
	char setting[PATH_MAX + 16], path[PATH_MAX] = "";
	const char *arg, *output = NULL, *calls = NULL;
	bool json = false;
	char **run;
	int rc;

	for (int i; (i = vb_cmd_next_option(cmd, argc, argv, &arg)) >= 0;) {
		json |= i == OPT_JSON;
		if (i == OPT_OUTPUT)
			output = arg;
		if (i == OPT_CALLS)
			calls = arg;
	}
	if (optind == argc)
		return vb_cmd_usage(cmd, "no command to run");
	if (output && make_output(cmd, output, path))
		return EXIT_SELF;
	snprintf(setting, sizeof setting, "%s%s%s%s", json ? "json" : "text", output ? "," : "",
		 output ? "file=" : "", path);
	run = calloc((size_t)(argc - optind) + 3, sizeof *run);
	if (!run || setenv("VERBENA_TRACE", setting, 1) ||
	    setenv("VERBENA_TRACE_CALLS", calls ? calls : "", 1)) {
		vb_cmd_error(cmd, "no memory");
		free(run);
		return EXIT_SELF;
	}
	run[0] = argv[0];
	run[1] = (char[]){"--"};
	memcpy(run + 2, argv + optind, (size_t)(argc - optind) * sizeof *run);
	argc += 2 - optind;
	optind = 0;
	rc = vb_cmd_run.run(&vb_cmd_run, argc, run);
	free(run);
	return rc;
}

const struct vb_cmd vb_cmd_trace = {
    .name = "trace",
    .arguments = "[OPTIONS] [--] COMMAND [ARGUMENT...]",
    .text = "Runs a verbs program and shows each call of a verb, with its result and its reason.",
    .options = options,
    .run = trace_program,
};
