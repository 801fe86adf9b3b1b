/* SPDX-License-Identifier: BSD-2-Clause */
/* `verbena broker`: the process behind the adapter; started by the programs that need it. */
#include "node/broker/broker.h"
#include "base/slot.h"
#include "cmd/cmd.h"
#include "node/carrier/carrier.h"
#include "node/store/keeper.h"

#include <getopt.h>

enum { OPT_SHARED, OPT_PROCESSES, OPT_KEEPER };

static const struct vb_cmd_option options[] = {
    [OPT_SHARED] = {0, "shared", NULL,
		    "have the UDP port for all users of this host; for root, in the foreground"},
    [OPT_PROCESSES] = {0, "processes", "N",
		       "with --shared: processes of each user at once, 64 unless told otherwise"},
    [OPT_KEEPER] = {0, "keeper", NULL, "outlive the broker; only the broker starts this"},
    {0},
};

static int run_broker(const struct vb_cmd *cmd, int argc, char **argv)
{
	double processes = VB_CARRIER_PROCESSES;
	bool keeper = false, shared = false, has_limit = false;
	const char *arg;
	int i;

	while ((i = vb_cmd_next_option(cmd, argc, argv, &arg)) >= 0) {
		keeper |= i == OPT_KEEPER;
		shared |= i == OPT_SHARED;
		has_limit |= i == OPT_PROCESSES;
		if (i == OPT_PROCESSES && (!vb_cmd_number(arg, 1, VB_SLOT_PROCESSES, &processes) ||
					   processes != (uint32_t)processes))
			return vb_cmd_usage(cmd, "--processes %s: it has to be 1 to %d", arg,
					    VB_SLOT_PROCESSES);
	}
	if (optind < argc)
		return vb_cmd_usage(cmd, "unexpected argument '%s'", argv[optind]);
	if (keeper && shared)
		return vb_cmd_usage(cmd, "--keeper and --shared are different processes");
	if (has_limit && !shared)
		return vb_cmd_usage(cmd, "--processes goes with --shared");
	if (shared)
		return vb_carrier_main((uint32_t)processes);
	if (!keeper)
		return vb_broker_main();

	int rc = vb_keeper_main();

	return rc == 2 ? vb_cmd_usage(cmd, "--keeper is for the broker itself") : rc;
}

const struct vb_cmd vb_cmd_broker = {
    .name = "broker",
    .arguments = "[--shared [--processes N]]",
    .text = "Serves the adapter of this user, or has its UDP port for all users of the host.",
    .options = options,
    .run = run_broker,
};
