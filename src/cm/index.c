/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How connections are found: hash tables of chains, one for each kind of key. Peers choose some of
 * the keys, so the hash has a secret of its own.
 */
#include "base/assert.h"
#include "cm/priv.h"

uint64_t vb_cm_hash(const struct vb_cm *cm, uint64_t hi, uint64_t lo)
{
	struct vb_rng r = {cm->hash_key[0] ^ hi};

	r.s = vb_rng_next(&r) ^ cm->hash_key[1] ^ lo;
	return vb_rng_next(&r);
}

static struct vb_cm_conn **bucket_of(const struct vb_cm *cm, enum vb_cm_index i, uint64_t hi,
				     uint64_t lo)
{
	return &cm->bucket[i][vb_cm_hash(cm, hi, lo) & cm->bucket_mask];
}

struct vb_cm_conn *vb_cm_find(const struct vb_cm *cm, enum vb_cm_index i, uint64_t hi, uint64_t lo)
{
	struct vb_cm_conn *c = *bucket_of(cm, i, hi, lo);

	while (c && (c->index[i].hi != hi || c->index[i].lo != lo)) {
		VB_ASSERT_ALL(c->index[i].linked);
		c = c->index[i].next;
	}
	return c;
}

void vb_cm_index_add(struct vb_cm_conn *c, enum vb_cm_index i, uint64_t hi, uint64_t lo)
{
	struct vb_cm_conn **bucket = bucket_of(c->cm, i, hi, lo);

	assert(!c->index[i].linked);
	assert(!vb_cm_find(c->cm, i, hi, lo));
	c->index[i] = (struct vb_cm_link){.next = *bucket, .hi = hi, .lo = lo, .linked = true};
	*bucket = c;
	VB_ASSERT_ALL(vb_cm_find(c->cm, i, hi, lo) == c);
}

void vb_cm_index_remove(struct vb_cm_conn *c, enum vb_cm_index i)
{
	struct vb_cm_conn **at;

	if (!c->index[i].linked)
		return;
	at = bucket_of(c->cm, i, c->index[i].hi, c->index[i].lo);
	while (*at != c) {
		assert(*at);
		at = &(*at)->index[i].next;
	}
	*at = c->index[i].next;
	c->index[i] = (struct vb_cm_link){0};
}
