/* SPDX-License-Identifier: BSD-2-Clause */
/* One check of `verbena doctor`: a look at the machine that ends in a verdict. */
#ifndef VB_CMD_DOCTOR_DOCTOR_H
#define VB_CMD_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stdio.h>

enum vb_verdict_kind { VB_CHECK_OK, VB_CHECK_WARN, VB_CHECK_FAIL, VB_CHECK_UNSEEN, VB_CHECK_CNT };

struct vb_check_result {
	enum vb_verdict_kind verdict;
	char found[512];  /* what there is and what it means, one line */
	char remedy[512]; /* what to do; empty: nothing */
};

struct vb_check {
	const char *name;
	void (*look)(struct vb_check_result *r);
};

/* How results are shown, and how often each verdict came. */
struct vb_check_show {
	bool quiet; /* not what is ok */
	int cnt[VB_CHECK_CNT];
};
void vb_check_show(struct vb_check_show *s, const char *name, const struct vb_check_result *r);

/* Looks whether the program @name is in reach of verbena (cmd/run/program.h). */
void vb_doctor_program(const char *name, struct vb_check_result *r);

/* Asks the adapter at @host: one result after the other. */
void vb_doctor_remote(struct vb_check_show *s, const char *host);

extern const struct vb_check vb_checks[]; /* ends with a NULL name */

#endif
