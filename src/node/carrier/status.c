/* SPDX-License-Identifier: BSD-2-Clause */
/* How things stand at the shared broker, for root and for each user; link/carried/status.h. */
#include "node/carrier/state.h"

#include "link/memory.h"

#include <stdio.h>

#define STATUS_NAME "verbena-status"

static void user_fill(const struct vb_carrier *c, uint32_t u, struct vb_carrier_user_status *to)
{
	*to = (struct vb_carrier_user_status){.uid = c->kept->user[u].uid,
					      .part = u + 1,
					      .connections = c->user[u].connections,
					      .processes = c->user[u].processes,
					      .services = c->user[u].claims,
					      .groups = c->user[u].groups,
					      .memory_mib = vb_carrier_memory(c, u),
					      .has_qp1 = c->user[u].gsi != NULL,
					      .sockets = c->user[u].sockets,
					      .counts = c->kept->user[u].counts};
}

int vb_carrier_status(const struct vb_carrier *c, uint32_t user)
{
	bool is_root = c->kept->user[user].uid == 0;
	struct vb_carrier_status *s;
	void *p;
	int fd = vb_memory_new(STATUS_NAME, sizeof *s, &p);

	if (fd < 0)
		return fd;
	s = p;
	s->magic = VB_CARRIER_MAGIC;
	s->limits = c->limits;
	snprintf(s->faults, sizeof s->faults, "%s", c->fault_text);
	s->faulted = c->faulted;
	for (uint32_t u = 0; u < VB_CARRIER_USERS; u++)
		if (c->kept->user[u].is_used && (is_root || u == user))
			user_fill(c, u, &s->user[s->user_cnt++]);
	/* These tell of other users. */
	if (is_root) {
		s->misdirected = c->misdirected;
		s->strangers = c->strangers;
		s->gsi_unmatched = c->gsi.unmatched;
		s->gsi_bad = c->gsi.bad;
		s->gsi_refused = c->gsi.refused;
		s->gsi_answered = c->gsi.answered;
	}
	vb_memory_unmap(p, sizeof *s);
	return fd;
}
