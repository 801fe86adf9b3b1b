/* SPDX-License-Identifier: BSD-2-Clause */
/* `verbena version`: what `verbena --version` prints. */
#include "cmd/cmd.h"

#include <getopt.h>
#include <stdio.h>

static const struct vb_cmd_option options[] = {{0}};

static int run_version(const struct vb_cmd *cmd, int argc, char **argv)
{
	const char *arg;

	while (argv[0][0] != '-' && vb_cmd_next_option(cmd, argc, argv, &arg) >= 0)
		;
	if (argc > optind)
		return vb_cmd_usage(cmd, "'%s' is one argument too many", argv[optind]);
	puts("verbena " VERBENA_VERSION);
	return vb_cmd_finish(cmd);
}

const struct vb_cmd vb_cmd_version = {
    .name = "version",
    .arguments = "",
    .text = "Prints the version of verbena.",
    .options = options,
    .run = run_version,
};
