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

static void look_around(struct vb_check_show *s, const char *program, const char *host)
{
	struct vb_check_result r;

	for (const struct vb_check *c = vb_checks; c->name; c++) {
		r = (struct vb_check_result){.verdict = VB_CHECK_OK};
		c->look(&r);
		vb_check_show(s, c->name, &r);
	}
	if (program) {
		vb_doctor_program(program, &r);
		vb_check_show(s, "program", &r);
	}
	if (host)
		vb_doctor_remote(s, host);
}

static int run_doctor(const struct vb_cmd *cmd, int argc, char **argv)
{
	const char *arg, *program = NULL, *host = NULL;
	struct vb_check_show s = {.quiet = false};
	const int *cnt = s.cnt;

	/* Options before the host and behind it. */
	for (;;) {
		for (int i; (i = vb_cmd_next_option(cmd, argc, argv, &arg)) >= 0;) {
			s.quiet |= i == OPT_QUIET;
			if (i == OPT_PROGRAM)
				program = arg;
		}
		if (optind >= argc)
			break;
		if (host)
			return vb_cmd_usage(cmd, "unexpected argument '%s'", argv[optind]);
		host = argv[optind++];
	}
	look_around(&s, program, host);
	if (!s.quiet || cnt[VB_CHECK_WARN] || cnt[VB_CHECK_FAIL])
		printf("%d ok, %d warn, %d fail, %d not seen\n", cnt[VB_CHECK_OK],
		       cnt[VB_CHECK_WARN], cnt[VB_CHECK_FAIL], cnt[VB_CHECK_UNSEEN]);
	int rc = vb_cmd_finish(cmd);

	return cnt[VB_CHECK_FAIL] ? 1 : rc;
}

const struct vb_cmd vb_cmd_doctor = {
    .name = "doctor",
    .arguments = "[--quiet] [--program PROGRAM] [HOST]",
    .text =
	"Says what keeps verbena from working, or from working fast, and the remedy; with HOST, "
	"also between here and there.",
    .options = options,
    .run = run_doctor,
};
