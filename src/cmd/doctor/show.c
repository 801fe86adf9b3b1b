/* SPDX-License-Identifier: BSD-2-Clause */
/* A result of `verbena doctor` as a line, and its remedy below. */
#include "cmd/doctor/doctor.h"

void vb_check_show(struct vb_check_show *s, const char *name, const struct vb_check_result *r)
{
	static const char *const verdict[VB_CHECK_CNT] = {"ok", "warn", "FAIL", "?"};

	s->cnt[r->verdict]++;
	if (s->quiet && r->verdict == VB_CHECK_OK)
		return;
	printf("%-4s  %-13s %s\n", verdict[r->verdict], name, r->found);
	if (r->remedy[0])
		printf("      %-13s -> %s\n", "", r->remedy);
	fflush(stdout);
}
