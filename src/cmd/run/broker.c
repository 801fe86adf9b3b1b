/* SPDX-License-Identifier: BSD-2-Clause */
/* `verbena broker`: the process behind the adapter; started by the programs that need it. */
#include "node/broker/broker.h"
#include "cmd/cmd.h"
#include "node/store/keeper.h"

#include <getopt.h>

enum { OPT_KEEPER };

static const struct vb_cmd_option options[] = {
    [OPT_KEEPER] = {0, "keeper", NULL, "outlive the broker; only the broker starts this"},
    {0},
};

static int run_broker(const struct vb_cmd *cmd, int argc, char **argv)
{
	const char *arg;
	bool keeper = false;

	while (vb_cmd_next_option(cmd, argc, argv, &arg) >= 0)
		keeper = true;
	if (optind < argc)
		return vb_cmd_usage(cmd, "unexpected argument '%s'", argv[optind]);
	if (!keeper)
		return vb_broker_main();

	int rc = vb_keeper_main();

	return rc == 2 ? vb_cmd_usage(cmd, "--keeper is for the broker itself") : rc;
}

const struct vb_cmd vb_cmd_broker = {
    .name = "broker",
    .arguments = "[OPTIONS]",
    .text = "Serves the adapter of this host and user; programs start it themselves.",
    .options = options,
    .run = run_broker,
    .is_internal = true,
};
