/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `verbena rdma`: rdma(8) of iproute2 on the adapter's devices. It is that program itself, run as
 * `verbena run` does; NETLINK_RDMA is answered by src/files/netlink.
 */
#include "cmd/cmd.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXIT_MISSING 127 /* as env(1) has it */

static const struct vb_cmd_option options[] = {{0}};

static bool find_rdma(char *path, size_t size)
{
	const char *set = getenv("PATH");
	char all[PATH_MAX * 2], *rest = all;

	snprintf(all, sizeof all, "%s", set ? set : "/usr/bin:/usr/sbin");
	for (char *dir; (dir = strsep(&rest, ":")) != NULL;) {
		if (!dir[0])
			continue;
		if ((size_t)snprintf(path, size, "%s/rdma", dir) < size && access(path, X_OK) == 0)
			return true;
	}
	return false;
}

static int run_rdma(const struct vb_cmd *cmd, int argc, char **argv)
{
	char path[PATH_MAX];
	char **run;
	int rc;

	/* Everything but --help is for rdma(8), which has options of its own. */
	if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		const char *arg;

		(void)vb_cmd_next_option(cmd, argc, argv, &arg);
	}
	if (!find_rdma(path, sizeof path)) {
		vb_cmd_error(cmd, "there is no program 'rdma' here: it is in the package iproute2");
		return EXIT_MISSING;
	}
	run = calloc((size_t)argc + 3, sizeof *run);
	if (!run) {
		vb_cmd_error(cmd, "no memory");
		return 1;
	}
	run[0] = argv[0];
	run[1] = (char[]){"--"};
	run[2] = path;
	memcpy(run + 3, argv + 1, (size_t)(argc - 1) * sizeof *run);
	optind = 0;
	rc = vb_cmd_run.run(&vb_cmd_run, argc + 2, run);
	free(run);
	return rc;
}

const struct vb_cmd vb_cmd_rdma = {
    .name = "rdma",
    .arguments = "[OPTIONS] { link | dev | resource | statistic | system } ...",
    .text = "Runs rdma(8) of iproute2 on the devices: links, QPs, connections, statistics.",
    .options = options,
    .run = run_rdma,
};
