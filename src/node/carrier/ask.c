/* SPDX-License-Identifier: BSD-2-Clause */
/* Questions of processes that have a ring, see link/carried/carried.h. They are copied before they
 * are looked at: the process may write there at any time. */
#include "node/carrier/state.h"

#include <errno.h>
#include <sys/socket.h>

static int ask_carry_out(struct vb_carrier *c, struct vb_carrier_client *p,
			 const struct vb_carrier_ask *ask)
{
	struct vb_carrier_claim what = {.key = ask->service_id};
	bool is_gsi = p->op == VB_CARRIER_QP1 && c->user[p->user].gsi == p;

	if (ask->op == VB_CARRIER_CLAIM || ask->op == VB_CARRIER_RELEASE)
		what.gid = ask->gid;
	else
		what.kind = VB_CARRIER_CLASS;
	switch (ask->op) {
	case VB_CARRIER_CLAIM:
	case VB_CARRIER_CLAIM_CLASS:
		return is_gsi ? vb_carrier_claim(c, p->user, &what) : -EPERM;
	case VB_CARRIER_RELEASE:
	case VB_CARRIER_RELEASE_CLASS:
		if (is_gsi)
			vb_carrier_unclaim(c, p->user, &what);
		return is_gsi ? 0 : -EPERM;
	case VB_CARRIER_JOIN:
		return p->slot ? vb_carrier_join(c, p, &ask->gid, ask->ifindex) : -EPERM;
	case VB_CARRIER_LEAVE:
		if (p->slot)
			vb_carrier_leave(c, p, &ask->gid, ask->ifindex);
		return p->slot ? 0 : -EPERM;
	default:
		return -EINVAL;
	}
}

void vb_carrier_asked(struct vb_carrier *c, uint32_t index)
{
	struct vb_carrier_client *p = &c->client[index];
	struct vb_carrier_reply reply = {.magic = VB_CARRIER_MAGIC};
	struct vb_carrier_ask ask;

	if (!p->in_use || p->ask_fd < 0)
		return;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	memcpy(&ask, &((const struct vb_carried_head *)p->ring.mem)->ask, sizeof ask);
	if (ask.seq == p->asked) {
		vb_carrier_refused(c, p->user, VB_CARRIER_REFUSED_calls);
		return;
	}
	p->asked = ask.seq;
	reply.seq = ask.seq;
	reply.status = ask_carry_out(c, p, &ask);
	if (reply.status == -EPERM || reply.status == -EINVAL)
		vb_carrier_refused(c, p->user, VB_CARRIER_REFUSED_calls);
	/* A process that does not take its answers has none. */
	(void)send(p->sock, &reply, sizeof reply, MSG_DONTWAIT | MSG_NOSIGNAL);
}
