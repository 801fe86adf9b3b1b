/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The place that a process has at the shared broker: a slot or, as the broker of its user, QP1;
 * each with a ring. Slots of one low byte are one user's.
 */
#include "link/memory.h"
#include "node/carrier/direct/direct.h"
#include "node/host/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#define RING_NAME "verbena-carried"

/* Byte @b has processes of @user, or waits for them. */
static bool is_his(const struct vb_carrier_byte *b, uint32_t user, vb_time now)
{
	return b->user == user && (b->cnt || b->held_until > now);
}

/* User @user may have one more byte: his processes do not fit into the bytes that he has. They
 * would, one byte apart, which may have come while others waited for him. */
static bool may_grow(const struct vb_carrier *c, uint32_t user, vb_time now)
{
	uint32_t has = 0;

	for (uint32_t i = 0; i < VB_CARRIER_BYTES; i++)
		has += is_his(&c->byte[i], user, now);
	return has <= (c->limits.processes + VB_SLOT_SHARE - 1) / VB_SLOT_SHARE;
}

/* User @user may have slot @slot now, one of another byte if he may have more of them. */
static bool is_free(const struct vb_carrier *c, uint32_t slot, uint32_t user, bool more,
		    vb_time now)
{
	if (slot < VB_SLOT_WIDE || slot > VB_SLOT_LAST || c->of_slot[slot])
		return false;

	const struct vb_carrier_byte *b = &c->byte[vb_carrier_byte_of(slot)];

	return is_his(b, user, now) || (more && b->cnt == 0 && b->held_until <= now);
}

static bool is_own(const struct vb_carrier *c, uint32_t slot, uint32_t user)
{
	const struct vb_carrier_byte *b = &c->byte[vb_carrier_byte_of(slot)];

	return b->cnt != 0 && b->user == user;
}

/* Nor does any process of his that is to come have it. */
static bool is_unasked(const struct vb_carrier *c, uint32_t slot, uint32_t user, vb_time now)
{
	const struct vb_carrier_byte *b = &c->byte[vb_carrier_byte_of(slot)];

	return is_his(b, user, now) && (b->cnt || b->is_left);
}

/* A slot by lot: one of a byte that is the user's, else one of a byte that is nobody's. 0: there is
 * none. */
static uint32_t draw_slot(const struct vb_carrier *c, uint32_t user, bool more, vb_time now)
{
	for (int own = 1; own >= 0; own--) {
		uint32_t cnt = 0, n;

		for (uint32_t k = VB_SLOT_WIDE; k <= VB_SLOT_LAST; k++)
			cnt += is_free(c, k, user, more, now) && is_unasked(c, k, user, now) == own;
		if (cnt == 0 || getrandom(&n, sizeof n, 0) != (ssize_t)sizeof n)
			continue;
		n %= cnt;
		for (uint32_t k = VB_SLOT_WIDE; k <= VB_SLOT_LAST; k++)
			if (is_free(c, k, user, more, now) && is_unasked(c, k, user, now) == own &&
			    n-- == 0)
				return k;
	}
	return 0;
}

/* The slot is the user's, with its byte. 0 or a negative errno. */
static int slot_take(struct vb_carrier *c, struct vb_carrier_client *p, uint32_t slot)
{
	uint32_t i = vb_carrier_byte_of(slot);
	struct vb_carrier_byte *b = &c->byte[i];
	int rc = b->cnt ? 0 : vb_carrier_byte_open(c, i);

	if (rc)
		return rc;
	if (b->cnt++ == 0) {
		b->user = p->user;
		b->held_until = 0;
		b->is_left = false;
		c->kept->byte_user[i] = p->user + 1;
		c->user[p->user].bytes++;
	}
	c->user[p->user].processes++;
	p->slot = slot;
	c->of_slot[slot] = p;
	return 0;
}

static void slot_leave(struct vb_carrier *c, struct vb_carrier_client *p)
{
	uint32_t i = vb_carrier_byte_of(p->slot);

	vb_carrier_leave_all(c, p);
	vb_carrier_direct_take_back(c, p);
	c->of_slot[p->slot] = NULL;
	c->user[p->user].processes--;
	if (--c->byte[i].cnt == 0) {
		c->user[p->user].bytes--;
		vb_carrier_byte_close(c, i);
		/* Packets are under way to those who had it: nobody else gets them. */
		c->byte[i].held_until = vb_clock_now() + VB_CARRIER_HOLD_NS;
		c->byte[i].is_left = true;
	}
}

static void gsi_leave(struct vb_carrier *c, struct vb_carrier_client *p)
{
	if (c->user[p->user].gsi != p)
		return;
	c->user[p->user].gsi = NULL;
	vb_carrier_hold(c, p->user, vb_clock_now());
}

/* The broker of a user that comes takes the place of the one before, which may just be ending. */
static void gsi_take(struct vb_carrier *c, struct vb_carrier_client *p)
{
	c->user[p->user].gsi = p;
	vb_carrier_claims_age(c, p->user);
	vb_carrier_hold(c, p->user, vb_clock_now());
}

/* The ring and the eventfd of @p. Returns the ring's descriptor, or a negative errno. */
static int ring_make(struct vb_carrier *c, struct vb_carrier_client *p)
{
	int fd = vb_memory_create(RING_NAME, VB_RING_HEAD_BYTES + VB_RING_BYTES), rc;
	void *mem;

	if (fd < 0)
		return fd;
	/* One more seal would keep its pages, see ring_drop(). */
	(void)fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL);
	p->ask_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = p->ask_fd < 0
		 ? -errno
		 : vb_carrier_watch(c, p->ask_fd, VB_CARRIER_ON_ASK, (uint32_t)(p - c->client));
	if (!rc)
		rc = vb_memory_map_ring(fd, VB_RING_HEAD_BYTES, VB_RING_BYTES, &mem);
	if (rc) {
		close(fd);
		return rc;
	}
	p->ring = (struct vb_ring_tx){.mem = mem};
	return fd;
}

/* The pages go back at once: the user may keep the memory for as long as he likes, and what he
 * writes into it from then on is his own. */
static void ring_drop(struct vb_carrier *c, struct vb_carrier_client *p)
{
	if (p->ask_fd >= 0) {
		vb_carrier_unwatch(c, p->ask_fd);
		close(p->ask_fd);
		p->ask_fd = -1;
	}
	if (!p->ring.mem)
		return;
	(void)madvise(p->ring.mem, VB_RING_HEAD_BYTES + VB_RING_BYTES, MADV_REMOVE);
	vb_memory_unmap(p->ring.mem, VB_RING_MAP_BYTES);
	p->ring.mem = NULL;
}

static int client_refuse(struct vb_carrier *c, const struct vb_carrier_client *p,
			 enum vb_carrier_refusal what, int status)
{
	vb_carrier_refused(c, p->user, what);
	return status;
}

/* The slot that @p gets in *slot; 0, or a negative errno with the text for the user. */
static int slot_choose(struct vb_carrier *c, const struct vb_carrier_client *p, uint32_t had,
		       uint32_t *slot, char text[VB_CARRIER_TEXT_MAX])
{
	const struct vb_carrier_user *u = &c->user[p->user];
	unsigned uid = c->kept->user[p->user].uid;
	vb_time now = vb_clock_now();
	uint32_t mib = VB_CARRIER_RING_MIB;
	bool more;

	if (u->processes >= c->limits.processes) {
		snprintf(text, VB_CARRIER_TEXT_MAX,
			 "%u processes of user %u have the adapter, and no more may: 'verbena "
			 "broker --shared --processes' sets that",
			 u->processes, uid);
		return client_refuse(c, p, VB_CARRIER_REFUSED_processes, -EDQUOT);
	}
	more = may_grow(c, p->user, now);
	*slot = had && is_free(c, had, p->user, more, now) ? had : 0;
	if (had && !*slot) {
		snprintf(text, VB_CARRIER_TEXT_MAX, "slot %u has another owner", had);
		return client_refuse(c, p, VB_CARRIER_REFUSED_slots, -EBUSY);
	}
	if (!*slot && !(*slot = draw_slot(c, p->user, more, now))) {
		snprintf(text, VB_CARRIER_TEXT_MAX, "the adapter has no slot left for user %u",
			 uid);
		return client_refuse(c, p, VB_CARRIER_REFUSED_processes, -ENOSPC);
	}
	mib += is_own(c, *slot, p->user) ? 0 : VB_CARRIER_SOCKET_MIB;
	if (!vb_carrier_has_memory(c, p->user, mib)) {
		snprintf(
		    text, VB_CARRIER_TEXT_MAX,
		    "packets of user %u have %u MiB, of %u that they may have: 'verbena broker "
		    "--shared --memory' sets that",
		    uid, vb_carrier_memory(c, p->user), c->limits.memory_mib);
		return client_refuse(c, p, VB_CARRIER_REFUSED_memory, -EDQUOT);
	}
	return 0;
}

int vb_carrier_give(struct vb_carrier *c, struct vb_carrier_client *p, uint32_t had,
		    struct vb_carrier_answer *answer)
{
	uint32_t slot = 0;
	int fd, rc = 0;

	if (p->op == VB_CARRIER_SLOT)
		rc = slot_choose(c, p, had, &slot, answer->text);
	fd = rc ? rc : ring_make(c, p);
	if (fd >= 0 && p->op == VB_CARRIER_SLOT) {
		rc = slot_take(c, p, slot);
		if (rc) {
			close(fd);
			fd = rc;
		}
	}
	if (fd < 0) {
		ring_drop(c, p);
		answer->status = fd;
		if (!answer->text[0])
			snprintf(answer->text, sizeof answer->text,
				 "the shared broker cannot make a ring: %s", strerror(-fd));
		return fd;
	}
	if (p->op == VB_CARRIER_QP1)
		gsi_take(c, p);
	answer->given = p->op == VB_CARRIER_QP1 ? p->user + 1 : slot;
	return fd;
}

void vb_carrier_take_back(struct vb_carrier *c, struct vb_carrier_client *p)
{
	if (p->slot)
		slot_leave(c, p);
	if (p->op == VB_CARRIER_QP1)
		gsi_leave(c, p);
	ring_drop(c, p);
}
