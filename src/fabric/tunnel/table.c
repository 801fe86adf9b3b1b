/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables of addresses through a tunnel, see table.h. */
#include "fabric/tunnel/table.h"

#include "base/assert.h"

#include <string.h>

static void list_free(struct vb_tunnel_table *t, struct vb_tunnel_list *l)
{
	if (l->entry)
		t->free(t->ctx, l->entry);
	*l = (struct vb_tunnel_list){.version = 0};
}

static bool list_begin(struct vb_tunnel_table *t, struct vb_tunnel_list *l, uint32_t room)
{
	list_free(t, l);
	l->entry = t->alloc(t->ctx, (room ? room : 1) * sizeof *l->entry);
	l->room = l->entry ? room : 0;
	return l->entry != NULL;
}

void vb_tunnel_table_clear(struct vb_tunnel_table *t, bool keeps_mine)
{
	if (!keeps_mine)
		list_free(t, &t->mine);
	list_free(t, &t->theirs);
	list_free(t, &t->coming);
	t->told = 0;
}

static bool entry_eq(const struct vb_tunnel_entry *a, const struct vb_tunnel_entry *b)
{
	return a->prefix == b->prefix && a->guid == b->guid && a->ipv4 == b->ipv4 &&
	       a->lid == b->lid && a->hops == b->hops && a->router == b->router;
}

static bool list_eq(const struct vb_tunnel_list *l, const struct vb_tunnel_entry *e, uint32_t cnt)
{
	if (l->version == 0 || l->cnt != cnt)
		return false;
	for (uint32_t i = 0; i < cnt; i++)
		if (!entry_eq(&l->entry[i], &e[i]))
			return false;
	return true;
}

bool vb_tunnel_table_set(struct vb_tunnel_table *t, const struct vb_tunnel_entry *e, uint32_t cnt)
{
	uint32_t version = t->mine.version + 1;

	if (cnt > VB_TUNNEL_TABLE_MAX)
		cnt = VB_TUNNEL_TABLE_MAX;
	if (list_eq(&t->mine, e, cnt) || !list_begin(t, &t->mine, cnt))
		return false;
	if (cnt)
		memcpy(t->mine.entry, e, cnt * sizeof *e);
	t->mine.cnt = cnt;
	t->mine.version = version ? version : 1;
	t->told = 0;
	return true;
}

bool vb_tunnel_table_lacks(struct vb_tunnel_table *t, uint32_t version, uint32_t cnt, bool again)
{
	uint32_t has = version == t->mine.version ? cnt : 0;

	if (t->mine.version == 0 || (version == t->mine.version && cnt >= t->mine.cnt))
		return false;
	if (!again && has < t->told)
		return false;
	t->told = has;
	return true;
}

uint32_t vb_tunnel_table_poll(struct vb_tunnel_table *t, uint8_t *out)
{
	struct vb_tunnel_chunk c = {
	    .table = t->mine.version, .total = t->mine.cnt, .first = t->told};
	uint32_t left = t->mine.cnt - t->told;

	VB_ASSERT(t->told <= t->mine.cnt);
	/* An empty table is told by an empty part. */
	if (t->mine.version == 0 || (left == 0 && t->mine.cnt != 0))
		return 0;
	c.cnt = (uint16_t)(left < VB_TUNNEL_ENTRIES ? left : VB_TUNNEL_ENTRIES);
	vb_tunnel_chunk_emit(&c, out);
	for (uint32_t i = 0; i < c.cnt; i++)
		vb_tunnel_entry_emit(&t->mine.entry[c.first + i],
				     out + VB_TUNNEL_CHUNK_LEN + (size_t)i * VB_TUNNEL_ENTRY_LEN);
	t->told += c.cnt;
	return VB_TUNNEL_CHUNK_LEN + c.cnt * (uint32_t)VB_TUNNEL_ENTRY_LEN;
}

bool vb_tunnel_table_hear(struct vb_tunnel_table *t, const uint8_t *in, uint32_t len)
{
	struct vb_tunnel_list *l = &t->coming;
	struct vb_tunnel_chunk c;

	if (vb_tunnel_chunk_parse(&c, in, len) || c.table == 0 || c.total > VB_TUNNEL_TABLE_MAX)
		return false;
	if (c.table == t->theirs.version)
		return false; /* it is here already */
	if (c.table != l->version || c.total != l->room) {
		if (c.first != 0 || !list_begin(t, l, c.total))
			return false;
		l->version = c.table;
	}
	if (c.first != l->cnt)
		return false; /* a part before it was lost, or this one has come before */
	VB_ASSERT(l->cnt + c.cnt <= l->room);
	for (uint32_t i = 0; i < c.cnt; i++)
		vb_tunnel_entry_parse(&l->entry[l->cnt + i],
				      in + VB_TUNNEL_CHUNK_LEN + (size_t)i * VB_TUNNEL_ENTRY_LEN);
	l->cnt += c.cnt;
	if (l->cnt < l->room)
		return false;
	list_free(t, &t->theirs);
	t->theirs = *l;
	*l = (struct vb_tunnel_list){.version = 0};
	return true;
}

void vb_tunnel_table_heard(const struct vb_tunnel_table *t, uint32_t *version, uint32_t *cnt)
{
	const struct vb_tunnel_list *l = t->coming.version ? &t->coming : &t->theirs;

	*version = l->version;
	*cnt = l->cnt;
}

const struct vb_tunnel_entry *vb_tunnel_table_by_ipv4(const struct vb_tunnel_table *t,
						      uint32_t ipv4)
{
	for (uint32_t i = 0; ipv4 != 0 && i < t->theirs.cnt; i++)
		if (t->theirs.entry[i].ipv4 == ipv4)
			return &t->theirs.entry[i];
	return NULL;
}

const struct vb_tunnel_entry *vb_tunnel_table_by_gid(const struct vb_tunnel_table *t,
						     uint64_t prefix, uint64_t guid)
{
	for (uint32_t i = 0; guid != 0 && i < t->theirs.cnt; i++)
		if (t->theirs.entry[i].guid == guid && t->theirs.entry[i].prefix == prefix)
			return &t->theirs.entry[i];
	return NULL;
}
