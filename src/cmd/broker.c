/* SPDX-License-Identifier: BSD-2-Clause */
/* `verbena broker`: the process behind the adapter; started by the programs that need it. */
#include "node/broker.h"
#include "cmd/cmd.h"

#include <getopt.h>

static const struct vb_cmd_option options[] = {{0}};

static int run(const struct vb_cmd *cmd, int argc, char **argv)
{
	const char *arg;

	while (vb_cmd_next_option(cmd, argc, argv, &arg) >= 0)
		;
	if (optind < argc)
		return vb_cmd_usage(cmd, "unexpected argument '%s'", argv[optind]);
	return vb_broker_main();
}

const struct vb_cmd vb_cmd_broker = {
    .name = "broker",
    .arguments = "[OPTIONS]",
    .text = "Serves the adapter of this host and user; programs start it themselves.",
    .options = options,
    .run = run,
    .is_internal = true,
};
