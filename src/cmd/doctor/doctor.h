/* SPDX-License-Identifier: BSD-2-Clause */
/* One check of `verbena doctor`: a look at the machine that ends in a verdict. */
#ifndef VB_CMD_DOCTOR_DOCTOR_H
#define VB_CMD_DOCTOR_DOCTOR_H

enum vb_verdict_kind { VB_CHECK_OK, VB_CHECK_WARN, VB_CHECK_FAIL };

struct vb_check_result {
	enum vb_verdict_kind verdict;
	char found[512];  /* what there is and what it means, one line */
	char remedy[512]; /* what to do; empty: nothing */
};

struct vb_check {
	const char *name;
	void (*look)(struct vb_check_result *r);
};

/* Looks whether a library can be preloaded into the program @name, found as execvp(3) finds it:
 * those linked statically and those that change their user or group are out of reach. */
void vb_doctor_program(const char *name, struct vb_check_result *r);

extern const struct vb_check vb_checks[]; /* ends with a NULL name */

#endif
