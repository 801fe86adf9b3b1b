/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast groups of users' processes: the socket of a user's low byte joins, and packets of the
 * group are copied to each of his processes that has joined. So a group costs nobody else's socket
 * anything. IBA A17.4.2
 */
#include "node/carrier/state.h"

#include <errno.h>
#include <stdlib.h>

static struct vb_carrier_member *member_find(const struct vb_carrier *c,
					     const struct vb_carrier_client *p,
					     const struct vb_gid *gid, uint32_t ifindex)
{
	const struct vb_carrier_byte *b = &c->byte[vb_carrier_byte_of(p->slot)];

	for (uint32_t i = 0; i < b->member_cnt; i++)
		if (b->member[i].client == (uint32_t)(p - c->client) &&
		    b->member[i].ifindex == ifindex && vb_gid_eq(&b->member[i].gid, gid))
			return &b->member[i];
	return NULL;
}

int vb_carrier_join(struct vb_carrier *c, struct vb_carrier_client *p, const struct vb_gid *gid,
		    uint32_t ifindex)
{
	struct vb_carrier_byte *b = &c->byte[vb_carrier_byte_of(p->slot)];
	struct vb_carrier_member *m;
	uint8_t port;
	int rc;

	if (!vb_gid_is_multicast(gid))
		return -EINVAL;
	if (member_find(c, p, gid, ifindex))
		return 0;
	if (c->user[p->user].groups >= c->limits.groups) {
		vb_carrier_refused(c, p->user, VB_CARRIER_REFUSED_groups);
		return -EDQUOT;
	}
	port = vb_carrier_port(c, ifindex);
	m = port ? realloc(b->member, (b->member_cnt + 1) * sizeof *m) : NULL;
	if (!m)
		return port ? -ENOMEM : -ENODEV;
	b->member = m;
	rc = vb_link_join(b->link, port, gid, 0);
	if (rc)
		return rc;
	m[b->member_cnt++] = (struct vb_carrier_member){*gid, ifindex, (uint32_t)(p - c->client)};
	c->user[p->user].groups++;
	return 0;
}

static void member_remove(struct vb_carrier *c, struct vb_carrier_byte *b,
			  struct vb_carrier_member *m)
{
	struct vb_carrier_client *p = &c->client[m->client];

	vb_link_leave(b->link, vb_carrier_port(c, m->ifindex), &m->gid, 0);
	c->user[p->user].groups--;
	*m = b->member[--b->member_cnt];
}

void vb_carrier_leave(struct vb_carrier *c, struct vb_carrier_client *p, const struct vb_gid *gid,
		      uint32_t ifindex)
{
	struct vb_carrier_member *m = member_find(c, p, gid, ifindex);

	if (m)
		member_remove(c, &c->byte[vb_carrier_byte_of(p->slot)], m);
}

void vb_carrier_leave_all(struct vb_carrier *c, struct vb_carrier_client *p)
{
	struct vb_carrier_byte *b = &c->byte[vb_carrier_byte_of(p->slot)];

	for (uint32_t i = b->member_cnt; i-- > 0;)
		if (b->member[i].client == (uint32_t)(p - c->client))
			member_remove(c, b, &b->member[i]);
}
