/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The users that the shared broker knows: their places, limits, and what is held for them. The
 * place of a user is his part of the communication IDs; it is his until another one needs it and
 * he has nothing there.
 */
#include "node/carrier/state.h"
#include "node/host/clock.h"

void vb_carrier_users_begin(struct vb_carrier *c, vb_time now)
{
	for (uint32_t u = 0; u < VB_CARRIER_USERS; u++)
		c->user[u].held_until = VB_NEVER;
	c->hold_due = VB_NEVER;
	for (uint32_t u = 0; u < VB_CARRIER_USERS; u++)
		if (c->kept->user[u].is_used)
			vb_carrier_hold(c, u, now);
	for (uint32_t i = 0; i < VB_CARRIER_BYTES; i++) {
		uint32_t u = c->kept->byte_user[i];

		if (u < 1 || u > VB_CARRIER_USERS || !c->kept->user[u - 1].is_used) {
			c->kept->byte_user[i] = 0;
			continue;
		}
		c->byte[i].user = u - 1;
		c->byte[i].held_until = now + VB_CARRIER_HOLD_NS;
	}
	vb_carrier_claims_begin(c);
	for (uint32_t u = 0; u < VB_CARRIER_USERS; u++)
		if (c->kept->user[u].is_used)
			vb_carrier_claims_age(c, u);
}

/* Nothing of his is there. */
static bool is_idle(const struct vb_carrier_user *u)
{
	return u->connections == 0 && u->claims == 0 && u->held_until == VB_NEVER;
}

static void user_begin(struct vb_carrier *c, uint32_t u, uid_t uid)
{
	struct vb_carrier_kept_user *k = &c->kept->user[u];

	/* Bytes that the one before had are nobody's. */
	for (uint32_t i = 0; i < VB_CARRIER_BYTES; i++)
		if (c->kept->byte_user[i] == u + 1) {
			c->kept->byte_user[i] = 0;
			c->byte[i].user = VB_CARRIER_USERS; /* until held_until */
		}
	for (uint32_t i = 0; i < VB_CARRIER_RECENT; i++)
		c->gsi.recent[i].is_used &= c->gsi.recent[i].user != u;
	k->is_used = 0;
	k->counts = (struct vb_carrier_counts){0};
	k->claim_end = 0;
	k->uid = uid;
	c->user[u] = (struct vb_carrier_user){.held_until = VB_NEVER};
	__atomic_store_n(&k->is_used, 1, __ATOMIC_RELEASE);
}

uint32_t vb_carrier_user_of(struct vb_carrier *c, uid_t uid)
{
	uint32_t room = VB_CARRIER_USERS;

	for (uint32_t u = 0; u < VB_CARRIER_USERS; u++) {
		const struct vb_carrier_kept_user *k = &c->kept->user[u];

		if (k->is_used && k->uid == uid) {
			c->user[u].seen = ++c->seen;
			return u;
		}
		/* A place that was never used, else that of the one who has been away longest. */
		if (is_idle(&c->user[u]) &&
		    (room == VB_CARRIER_USERS ||
		     (c->kept->user[room].is_used &&
		      (!k->is_used || c->user[u].seen < c->user[room].seen))))
			room = u;
	}
	if (room < VB_CARRIER_USERS) {
		user_begin(c, room, uid);
		c->user[room].seen = ++c->seen;
	}
	return room;
}

uint32_t vb_carrier_memory(const struct vb_carrier *c, uint32_t user)
{
	const struct vb_carrier_user *u = &c->user[user];

	return (u->processes + (u->gsi ? 1 : 0)) * VB_CARRIER_RING_MIB +
	       (u->bytes + u->sockets) * VB_CARRIER_SOCKET_MIB;
}

bool vb_carrier_has_memory(const struct vb_carrier *c, uint32_t user, uint32_t mib)
{
	return c->limits.memory_mib == 0 ||
	       vb_carrier_memory(c, user) + mib <= c->limits.memory_mib;
}

void vb_carrier_hold(struct vb_carrier *c, uint32_t user, vb_time now)
{
	c->user[user].held_until = now + VB_CARRIER_HOLD_NS;
	c->hold_due = vb_time_min(c->hold_due, c->user[user].held_until);
}

void vb_carrier_users_timeouts(struct vb_carrier *c, vb_time now)
{
	c->hold_due = VB_NEVER;
	for (uint32_t u = 0; u < VB_CARRIER_USERS; u++) {
		if (c->user[u].held_until <= now) {
			c->user[u].held_until = VB_NEVER;
			vb_carrier_claims_drop(c, u, c->user[u].gsi != NULL);
		}
		c->hold_due = vb_time_min(c->hold_due, c->user[u].held_until);
	}
}
