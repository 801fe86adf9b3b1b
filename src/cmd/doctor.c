/* SPDX-License-Identifier: BSD-2-Clause */
/* `verbena doctor`: what on this machine keeps verbena from working, or from working fast. */
#include "cmd/doctor.h"

#include "cmd/cmd.h"

#include <getopt.h>
#include <stdio.h>

enum { OPT_QUIET };

static const struct vb_cmd_option options[] = {
    [OPT_QUIET] = {'q', "quiet", NULL, "show only what is not ok"},
    {0},
};

static int run(const struct vb_cmd *cmd, int argc, char **argv)
{
	static const char *const verdict[] = {"ok", "warn", "FAIL"};
	int cnt[3] = {0};
	bool quiet = false;
	const char *arg;

	for (int i; (i = vb_cmd_next_option(cmd, argc, argv, &arg)) >= 0;)
		quiet |= i == OPT_QUIET;
	if (optind < argc)
		return vb_cmd_usage(cmd, "unexpected argument '%s'", argv[optind]);
	for (const struct vb_check *c = vb_checks; c->name; c++) {
		struct vb_check_result r = {.verdict = VB_CHECK_OK};

		c->look(&r);
		cnt[r.verdict]++;
		if (quiet && r.verdict == VB_CHECK_OK)
			continue;
		printf("%-4s  %-13s %s\n", verdict[r.verdict], c->name, r.found);
		if (r.remedy[0])
			printf("      %-13s -> %s\n", "", r.remedy);
		fflush(stdout);
	}
	if (!quiet || cnt[VB_CHECK_WARN] || cnt[VB_CHECK_FAIL])
		printf("%d ok, %d warn, %d fail\n", cnt[VB_CHECK_OK], cnt[VB_CHECK_WARN],
		       cnt[VB_CHECK_FAIL]);
	int rc = vb_cmd_finish(cmd);

	return cnt[VB_CHECK_FAIL] ? 1 : rc;
}

const struct vb_cmd vb_cmd_doctor = {
    .name = "doctor",
    .arguments = "[--quiet]",
    .text = "Says what keeps verbena from working, or from working fast, and the remedy.",
    .options = options,
    .run = run,
};
