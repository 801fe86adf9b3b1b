/* SPDX-License-Identifier: BSD-2-Clause */
/* `verbena doctor -p`: whether a library can be preloaded into a program. See program.h. */
#include "cmd/run/program.h"
#include "cmd/doctor/doctor.h"

#include <string.h>

void vb_doctor_program(const char *name, struct vb_check_result *r)
{
	static const enum vb_verdict_kind verdict[] = {
	    [VB_PROGRAM_PLAIN] = VB_CHECK_OK,       [VB_PROGRAM_MISSING] = VB_CHECK_FAIL,
	    [VB_PROGRAM_UNREAD] = VB_CHECK_UNSEEN,  [VB_PROGRAM_SETUID] = VB_CHECK_FAIL,
	    [VB_PROGRAM_CAPABLE] = VB_CHECK_FAIL,   [VB_PROGRAM_STATIC] = VB_CHECK_FAIL,
	    [VB_PROGRAM_OTHER] = VB_CHECK_FAIL,     [VB_PROGRAM_GO] = VB_CHECK_WARN,
	    [VB_PROGRAM_GO_STATIC] = VB_CHECK_FAIL,
	};
	static struct vb_program p;

	vb_program_look(name, &p);
	*r = (struct vb_check_result){.verdict = verdict[p.kind]};
	if (p.kind == VB_PROGRAM_PLAIN && strchr(name, '/') && strcmp(name, p.path) != 0)
		snprintf(r->found, sizeof r->found, "'%.200s' is in reach, by %.200s", name,
			 p.path);
	else if (p.kind == VB_PROGRAM_PLAIN)
		snprintf(r->found, sizeof r->found, "'%.200s' is in reach", name);
	else
		snprintf(r->found, sizeof r->found, "'%.200s': %s",
			 p.kind == VB_PROGRAM_MISSING ? name : p.path, vb_program_words(p.kind));
	snprintf(r->remedy, sizeof r->remedy, "%s", vb_program_remedy(p.kind));
}
