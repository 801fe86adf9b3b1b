/* SPDX-License-Identifier: BSD-2-Clause */
/* `verbena doctor`: what on this machine keeps verbena from working, or from working fast. */
#include "cmd/doctor/doctor.h"

#include "cmd/cmd.h"

#include <getopt.h>
#include <stdio.h>

enum { OPT_QUIET, OPT_PROGRAM };

static const struct vb_cmd_option options[] = {
    [OPT_QUIET] = {'q', "quiet", NULL, "show only what is not ok"},
    [OPT_PROGRAM] = {'p', "program", "PROGRAM", "also whether PROGRAM can be run with verbena"},
    {0},
};

/* Prints a result, unless it is ok and @quiet; counts its verdict. */
static void show_result(const char *name, const struct vb_check_result *r, bool quiet, int *cnt)
{
	static const char *const verdict[] = {"ok", "warn", "FAIL"};

	cnt[r->verdict]++;
	if (quiet && r->verdict == VB_CHECK_OK)
		return;
	printf("%-4s  %-13s %s\n", verdict[r->verdict], name, r->found);
	if (r->remedy[0])
		printf("      %-13s -> %s\n", "", r->remedy);
	fflush(stdout);
}

static int run(const struct vb_cmd *cmd, int argc, char **argv)
{
	const char *arg, *program = NULL;
	struct vb_check_result r;
	int cnt[3] = {0};
	bool quiet = false;

	for (int i; (i = vb_cmd_next_option(cmd, argc, argv, &arg)) >= 0;) {
		quiet |= i == OPT_QUIET;
		if (i == OPT_PROGRAM)
			program = arg;
	}
	if (optind < argc)
		return vb_cmd_usage(cmd, "unexpected argument '%s'", argv[optind]);
	for (const struct vb_check *c = vb_checks; c->name; c++) {
		r = (struct vb_check_result){.verdict = VB_CHECK_OK};
		c->look(&r);
		show_result(c->name, &r, quiet, cnt);
	}
	if (program) {
		vb_doctor_program(program, &r);
		show_result("program", &r, quiet, cnt);
	}
	if (!quiet || cnt[VB_CHECK_WARN] || cnt[VB_CHECK_FAIL])
		printf("%d ok, %d warn, %d fail\n", cnt[VB_CHECK_OK], cnt[VB_CHECK_WARN],
		       cnt[VB_CHECK_FAIL]);
	int rc = vb_cmd_finish(cmd);

	return cnt[VB_CHECK_FAIL] ? 1 : rc;
}

const struct vb_cmd vb_cmd_doctor = {
    .name = "doctor",
    .arguments = "[--quiet] [--program PROGRAM]",
    .text = "Says what keeps verbena from working, or from working fast, and the remedy.",
    .options = options,
    .run = run,
};
