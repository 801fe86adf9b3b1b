/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Service IDs and management classes that users have, as they have TCP ports: the first one who
 * asks has it, at an address or at all of them. Found by a hash table with a secret, since users
 * choose the keys.
 */
#include "node/carrier/state.h"
#include "node/netdev/low_ports.h"
#include "wire/mad/rmpp.h"

#include <errno.h>

static struct vb_carrier_claim *claim_at(const struct vb_carrier *c, uint32_t n)
{
	return &c->kept->claim[n / VB_CARRIER_CLAIMS][n % VB_CARRIER_CLAIMS];
}

static uint32_t *bucket_of(struct vb_carrier *c, uint64_t key)
{
	return &c->claim_bucket[vb_siphash(c->secret[0], c->secret[1], key) %
				VB_CARRIER_CLAIM_BUCKETS];
}

static void claim_link(struct vb_carrier *c, uint32_t n)
{
	uint32_t *bucket = bucket_of(c, claim_at(c, n)->key);

	c->claim_next[n] = *bucket;
	*bucket = n + 1;
	c->user[n / VB_CARRIER_CLAIMS].claims++;
}

static void claim_free(struct vb_carrier *c, uint32_t n)
{
	uint32_t *at = bucket_of(c, claim_at(c, n)->key);

	while (*at && *at != n + 1)
		at = &c->claim_next[*at - 1];
	if (*at)
		*at = c->claim_next[n];
	claim_at(c, n)->refs = 0;
	c->user[n / VB_CARRIER_CLAIMS].claims--;
}

void vb_carrier_claims_begin(struct vb_carrier *c)
{
	for (uint32_t u = 0; u < VB_CARRIER_USERS; u++) {
		struct vb_carrier_kept_user *k = &c->kept->user[u];

		if (k->claim_end > VB_CARRIER_CLAIMS)
			k->claim_end = VB_CARRIER_CLAIMS;
		for (uint32_t i = 0; k->is_used && i < k->claim_end; i++)
			if (c->kept->claim[u][i].refs)
				claim_link(c, u * VB_CARRIER_CLAIMS + i);
	}
}

static bool gid_is_any(const struct vb_gid *g)
{
	static const struct vb_gid any;

	return vb_gid_eq(g, &any);
}

/* The two cannot be told apart by the address of a request. */
static bool claims_meet(const struct vb_carrier_claim *a, const struct vb_carrier_claim *b)
{
	return a->kind == b->kind && a->key == b->key &&
	       (gid_is_any(&a->gid) || gid_is_any(&b->gid) || vb_gid_eq(&a->gid, &b->gid));
}

/* A place of @user's for a new claim; VB_CARRIER_CLAIMS: he has no more. */
static uint32_t place_find(const struct vb_carrier *c, uint32_t user)
{
	const struct vb_carrier_claim *own = c->kept->claim[user];
	uint32_t end = c->kept->user[user].claim_end, i = 0;

	if (c->user[user].claims >= c->limits.services)
		return VB_CARRIER_CLAIMS;
	while (i < end && own[i].refs)
		i++;
	return i;
}

/* Low ports are not for everybody, as with TCP; nor are classes in which an agent speaks for the
 * whole host, and not for a vendor's program: a kernel has umad files for root. CMP-39, IBA 13.4.4
 */
static bool may_have(const struct vb_carrier *c, uint32_t user, const struct vb_carrier_claim *what)
{
	uint16_t port = (uint16_t)what->key;

	if (c->kept->user[user].uid == 0)
		return true;
	if (what->kind == VB_CARRIER_CLASS)
		return vb_mad_class_is_vendors(vb_carrier_class_of(what->key));
	return what->key >> 32 != 0 || port == 0 || port >= vb_low_ports_end();
}

int vb_carrier_claim(struct vb_carrier *c, uint32_t user, const struct vb_carrier_claim *what)
{
	struct vb_carrier_kept_user *k = &c->kept->user[user];
	struct vb_carrier_claim *at;
	uint32_t i;

	if (!may_have(c, user, what)) {
		vb_carrier_refused(c, user, VB_CARRIER_REFUSED_services);
		return -EACCES;
	}
	for (uint32_t n = *bucket_of(c, what->key); n; n = c->claim_next[n - 1]) {
		struct vb_carrier_claim *o = claim_at(c, n - 1);

		if (!claims_meet(o, what))
			continue;
		if ((n - 1) / VB_CARRIER_CLAIMS != user) {
			vb_carrier_refused(c, user, VB_CARRIER_REFUSED_services);
			return -EADDRINUSE;
		}
		if (!vb_gid_eq(&o->gid, &what->gid))
			continue;
		if (o->refs == UINT32_MAX)
			return -EDQUOT;
		o->refs = o->is_old ? 1 : o->refs + 1;
		o->is_old = 0;
		return 0;
	}
	i = place_find(c, user);
	if (i < VB_CARRIER_CLAIMS && i == k->claim_end &&
	    vb_carrier_kept_make_room(c->kept_fd, user, i))
		i = VB_CARRIER_CLAIMS;
	if (i == VB_CARRIER_CLAIMS) {
		vb_carrier_refused(c, user, VB_CARRIER_REFUSED_service_limit);
		return -EDQUOT;
	}
	at = &c->kept->claim[user][i];
	at->kind = what->kind;
	at->key = what->key;
	at->gid = what->gid;
	at->is_old = 0;
	__atomic_store_n(&at->refs, 1, __ATOMIC_RELEASE);
	if (i == k->claim_end)
		__atomic_store_n(&k->claim_end, i + 1, __ATOMIC_RELEASE);
	claim_link(c, user * VB_CARRIER_CLAIMS + i);
	if (what->kind == VB_CARRIER_SERVICE)
		vb_carrier_gsi_hear(c, what->key);
	return 0;
}

void vb_carrier_unclaim(struct vb_carrier *c, uint32_t user, const struct vb_carrier_claim *what)
{
	for (uint32_t n = *bucket_of(c, what->key); n; n = c->claim_next[n - 1]) {
		struct vb_carrier_claim *o = claim_at(c, n - 1);

		if ((n - 1) / VB_CARRIER_CLAIMS != user || o->kind != what->kind ||
		    o->key != what->key || !vb_gid_eq(&o->gid, &what->gid))
			continue;
		if (o->refs > 1 && !o->is_old)
			o->refs--;
		else
			claim_free(c, n - 1);
		return;
	}
}

void vb_carrier_claims_drop(struct vb_carrier *c, uint32_t user, bool old)
{
	struct vb_carrier_kept_user *k = &c->kept->user[user];
	const struct vb_carrier_claim *own = c->kept->claim[user];

	for (uint32_t i = 0; i < k->claim_end; i++)
		if (own[i].refs && (!old || own[i].is_old))
			claim_free(c, user * VB_CARRIER_CLAIMS + i);
	while (k->claim_end && !own[k->claim_end - 1].refs)
		k->claim_end--;
}

void vb_carrier_claims_age(struct vb_carrier *c, uint32_t user)
{
	for (uint32_t i = 0; i < c->kept->user[user].claim_end; i++)
		c->kept->claim[user][i].is_old = 1;
}

uint32_t vb_carrier_claimant(const struct vb_carrier *c, enum vb_carrier_claim_kind kind,
			     uint64_t key, const struct vb_gid *gid)
{
	const struct vb_carrier_claim what = {.kind = (uint16_t)kind, .key = key, .gid = *gid};
	uint32_t at =
	    c->claim_bucket[vb_siphash(c->secret[0], c->secret[1], key) % VB_CARRIER_CLAIM_BUCKETS];

	/* Claims that meet are one user's. */
	for (; at; at = c->claim_next[at - 1])
		if (claims_meet(claim_at(c, at - 1), &what))
			return (at - 1) / VB_CARRIER_CLAIMS;
	return VB_CARRIER_USERS;
}
