/* SPDX-License-Identifier: BSD-2-Clause */
/* `verbena broker`: the process behind the adapter; started by the programs that need it. */
#include "node/broker/broker.h"
#include "base/slot.h"
#include "cmd/cmd.h"
#include "cmd/run/shared.h"
#include "node/carrier/carrier.h"
#include "node/store/keeper.h"

#include <getopt.h>
#include <stddef.h>

enum {
	OPT_SHARED,
	OPT_PROCESSES,
	OPT_QPS,
	OPT_SERVICES,
	OPT_GROUPS,
	OPT_MEMORY,
	OPT_DIRECT,
	OPT_FAULT,
	OPT_SEED,
	OPT_STATUS,
	OPT_JSON,
	OPT_OPENMETRICS,
	OPT_KEEPER,
	OPT_CNT,
};

static const struct vb_cmd_option options[] = {
    [OPT_SHARED] = {0, "shared", NULL,
		    "have the UDP port for all users of this host; for root, in the foreground"},
    [OPT_PROCESSES] = {0, "processes", "N",
		       "with --shared: processes of each user at once, 64 unless told otherwise"},
    [OPT_QPS] = {0, "qps", "N", "with --shared: QPs of each process, 2048 unless told otherwise"},
    [OPT_SERVICES] = {0, "services", "N",
		      "with --shared: service IDs of each user, 1024 unless told otherwise"},
    [OPT_GROUPS] = {0, "groups", "N",
		    "with --shared: memberships of each user's processes in multicast groups, 256 "
		    "unless told otherwise"},
    [OPT_MEMORY] = {0, "memory", "MIB",
		    "with --shared: MiB that may hold packets of each user; as many as his "
		    "processes need unless told otherwise"},
    [OPT_DIRECT] = {0, "direct", NULL,
		    "with --shared: the kernel hands packets to their processes, by a rule of "
		    "nftables that the shared broker sets"},
    [OPT_FAULT] = {0, "fault", "RULES",
		   "with --shared: faults that packets meet which come to any user, as 'verbena "
		   "fault' has them"},
    [OPT_SEED] = {0, "seed", "NUMBER", "with --fault: seed of the random choices (0)"},
    [OPT_STATUS] = {0, "status", NULL,
		    "with --shared: show users, what they have, and what they were refused"},
    [OPT_JSON] = {0, "json", NULL, "with --status: as JSON"},
    [OPT_OPENMETRICS] = {0, "openmetrics", NULL,
			 "with --status: in the text format of OpenMetrics"},
    [OPT_KEEPER] = {0, "keeper", NULL, "outlive the broker; only the broker starts this"},
    {0},
};

/* The options that set a limit. */
static const struct limit {
	int option;
	uint32_t max;
	size_t offset;
} limits[] = {
    {OPT_PROCESSES, VB_SLOT_PROCESSES, offsetof(struct vb_carrier_limits, processes)},
    {OPT_QPS, VB_CARRIER_QPS, offsetof(struct vb_carrier_limits, qps)},
    {OPT_SERVICES, VB_CARRIER_SERVICES_MAX, offsetof(struct vb_carrier_limits, services)},
    {OPT_GROUPS, VB_CARRIER_GROUPS_MAX, offsetof(struct vb_carrier_limits, groups)},
    {OPT_MEMORY, VB_CARRIER_MEMORY_MAX, offsetof(struct vb_carrier_limits, memory_mib)},
};

static const struct limit *limit_of(int option)
{
	for (size_t k = 0; k < sizeof limits / sizeof limits[0]; k++)
		if (limits[k].option == option)
			return &limits[k];
	return NULL;
}

/* 0, or the exit status of a wrong command line. */
static int read_limit(const struct vb_cmd *cmd, const struct limit *l, const char *arg,
		      struct vb_carrier_limits *to)
{
	double n;

	if (!vb_cmd_number(arg, 1, l->max, &n) || n != (uint32_t)n)
		return vb_cmd_usage(cmd, "--%s %s: it has to be 1 to %u", options[l->option].name,
				    arg, l->max);
	*(uint32_t *)(void *)((char *)to + l->offset) = (uint32_t)n;
	return 0;
}

/* The same for an option that has an argument. */
static int read_option(const struct vb_cmd *cmd, int i, const char *arg,
		       struct vb_carrier_options *to)
{
	struct vb_fault_error err;
	double seed;

	if (limit_of(i))
		return read_limit(cmd, limit_of(i), arg, &to->limits);
	if (i == OPT_FAULT) {
		to->fault_text = arg;
		if (vb_fault_parse(arg, &to->faults, &err))
			return vb_cmd_usage(cmd, "--fault, column %u: %s", err.column, err.text);
	}
	if (i == OPT_SEED) {
		if (!vb_cmd_number(arg, 0, UINT32_MAX, &seed) || seed != (uint32_t)seed)
			return vb_cmd_usage(cmd, "--seed %s: it has to be 0 to %u", arg,
					    UINT32_MAX);
		to->fault_seed = (uint64_t)seed;
	}
	return 0;
}

static int run_broker(const struct vb_cmd *cmd, int argc, char **argv)
{
	struct vb_carrier_options option = {.limits = {.processes = VB_CARRIER_PROCESSES,
						       .qps = VB_CARRIER_QPS,
						       .services = VB_CARRIER_SERVICES,
						       .groups = VB_CARRIER_GROUPS},
					    .fault_text = ""};
	bool has[OPT_CNT] = {false};
	int i, rc, named = -1;
	const char *arg;

	while ((i = vb_cmd_next_option(cmd, argc, argv, &arg)) >= 0) {
		has[i] = true;
		rc = read_option(cmd, i, arg, &option);
		if (rc)
			return rc;
		if (i != OPT_SHARED && i != OPT_KEEPER)
			named = i;
	}
	if (optind < argc)
		return vb_cmd_usage(cmd, "unexpected argument '%s'", argv[optind]);
	if (has[OPT_KEEPER] && has[OPT_SHARED])
		return vb_cmd_usage(cmd, "--keeper and --shared are different processes");
	if (named >= 0 && !has[OPT_SHARED])
		return vb_cmd_usage(cmd, "--%s goes with --shared", options[named].name);
	if ((has[OPT_JSON] || has[OPT_OPENMETRICS]) && !has[OPT_STATUS])
		return vb_cmd_usage(cmd, "--json and --openmetrics go with --status");
	if (has[OPT_STATUS])
		return vb_shared_status(cmd, has[OPT_JSON]          ? VB_SHARED_JSON
					     : has[OPT_OPENMETRICS] ? VB_SHARED_OPENMETRICS
								    : VB_SHARED_TEXT);
	option.is_direct = has[OPT_DIRECT];
	if (has[OPT_SHARED])
		return vb_carrier_main(&option);
	if (!has[OPT_KEEPER])
		return vb_broker_main();
	rc = vb_keeper_main();
	return rc == 2 ? vb_cmd_usage(cmd, "--keeper is for the broker itself") : rc;
}

const struct vb_cmd vb_cmd_broker = {
    .name = "broker",
    .arguments = "[--shared [--processes N] [...] | --shared --status [--json | --openmetrics]]",
    .text = "Serves the adapter of this user, or has its UDP port for all users of the host.",
    .options = options,
    .run = run_broker,
};
