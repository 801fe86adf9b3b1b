/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast groups of UD ids. On RoCE the address is the group's GID, and joining is the host's
 * matter; on InfiniBand an address of IP is mapped to a GID of the partition, and the subnet
 * administrator joins. CMP-47 to CMP-49
 */
#include "ucma/priv.h"

#include <errno.h>

#define QPN_MULTICAST 0xffffffu
#define GROUP_HOP_LIMIT 64
#define JOIN_FULL 0u
#define JOIN_SEND_ONLY 1u

struct join {
	uint64_t uid;
	struct vb_ucma_addr group;
	bool sends_only;
};

/* On InfiniBand: packets to the group, by its LID. */
static struct vb_path record_path(const struct vb_ucma_mc *mc)
{
	const struct vb_sa_mcmember *r = &mc->record;

	return (struct vb_path){.sgid = mc->at.gid,
				.dlid = r->mlid,
				.flow_label = r->flow_label,
				.port = mc->at.hca_port,
				.sl = r->sl,
				.traffic_class = r->traffic_class,
				.hop_limit = r->hop_limit};
}

void vb_ucma_join_tell(struct vb_ucma_mc *mc, int status)
{
	struct vb_ucma_id *id = mc->id;
	struct vb_ucma_event *e = vb_ucma_event_add(
	    id, status ? VB_UCMA_EV_MULTICAST_ERROR : VB_UCMA_EV_MULTICAST_JOIN, status);
	struct vb_path path = vb_ucma_path(id);

	if (!e)
		return;
	if (vb_ucma_is_ib(id->u))
		path = record_path(mc);
	path.dgid = mc->gid;
	if (!vb_ucma_is_ib(id->u) || !path.hop_limit)
		path.hop_limit = GROUP_HOP_LIMIT;
	e->mc = mc;
	e->reply.uid = mc->uid;
	e->reply.id = mc->number;
	e->reply.ud.qp_num = QPN_MULTICAST;
	e->reply.ud.qkey = id->qkey;
	e->reply.ud.ah = vb_ucma_ah(id, &path);
	if (vb_ucma_is_ib(id->u))
		e->reply.ud.ah.static_rate = mc->record.rate;
}

/* RFC 4391 4, the signature of the connection manager for PS_UDP. CMP-48 */
static struct vb_gid group_gid(const struct vb_ucma_id *id, const struct vb_ucma_addr *a)
{
	bool is_ipv4 = a->family == VB_UCMA_AF_INET;
	uint16_t pkey = vb_ucma_pkey(id);
	struct vb_gid g = {{0xff, 0x12, is_ipv4 ? 0x40 : 0x60,
			    id->ps == VB_UCMA_PS_UDP ? 0x01 : 0x1b, (uint8_t)(pkey >> 8),
			    (uint8_t)pkey}};

	if (a->family == VB_UCMA_AF_IB || vb_ucma_addr_is_any(a))
		return a->family == VB_UCMA_AF_IB ? a->gid : (struct vb_gid){{0}};
	/* One that the administrator has chosen. */
	if (!is_ipv4 && (a->gid.b[1] & 0xf0) == 0x10 && a->gid.b[2] == 0xa0 && a->gid.b[3] == 0x1b)
		return a->gid;
	if (is_ipv4) {
		memcpy(g.b + 12, a->gid.b + 12, 4);
		g.b[12] &= 0x0f;
	} else {
		memcpy(g.b + 6, a->gid.b + 6, 10);
	}
	return g;
}

/* False: @a is no group, or on RoCE no address handle can be made of it: a packet has addresses of
 * one family. */
static bool group_is_good(const struct vb_ucma_id *id, const struct vb_ucma_addr *a)
{
	if (vb_ucma_is_ib(id->u))
		return vb_ucma_addr_is_any(a) || vb_gid_is_multicast(&a->gid);
	return !vb_ucma_addr_is_any(a) && vb_gid_is_multicast(&a->gid) &&
	       vb_gid_is_ipv4(&a->gid) == vb_gid_is_ipv4(&id->at.gid);
}

/* Begins to join. An error is told by an event. */
static void join_start(struct vb_ucma_mc *mc, vb_time now)
{
	const struct vb_ucma_env *env = &mc->id->u->cfg.env;
	int err = 0;

	if (vb_ucma_is_ib(mc->id->u)) {
		err = vb_ucma_ask_join(mc, now);
		if (err)
			vb_ucma_join_tell(mc, err);
		return;
	}
	if (!mc->sends_only)
		err = env->group(env->ctx, &mc->at, &mc->gid, true);
	mc->is_member = !mc->sends_only && !err;
	vb_ucma_join_tell(mc, err);
}

static int group_join(struct vb_ucma_call *c, const struct join *j)
{
	struct vb_ucma_number_reply *r = (void *)c->reply;
	struct vb_ucma_id *id = c->id;
	struct vb_ucma_mc *mc;

	if (id->qp_type != VB_UCMA_QPT_UD || !id->has_local || !group_is_good(id, &j->group))
		return -EINVAL;
	mc = vb_ucma_alloc(id->u, sizeof *mc);
	if (!mc)
		return -ENOMEM;
	mc->id = id;
	mc->uid = j->uid;
	mc->number = id->u->mc_next++;
	mc->gid = vb_ucma_is_ib(id->u) ? group_gid(id, &j->group) : j->group.gid;
	mc->sends_only = j->sends_only;
	mc->at = id->at;
	vb_list_append(&id->mcs, &mc->link);
	join_start(mc, c->now);
	r->n = mc->number;
	return 0;
}

int vb_ucma_do_join_ip(struct vb_ucma_call *c)
{
	const struct vb_ucma_join_ip_mcast *b = c->body;
	struct join j = {.uid = b->uid};
	int err = vb_ucma_addr_parse(&j.group, b->addr, sizeof b->addr);

	return err ? err : group_join(c, &j);
}

int vb_ucma_do_join(struct vb_ucma_call *c)
{
	const struct vb_ucma_join_mcast *b = c->body;
	struct join j = {.uid = b->uid, .sends_only = b->join_flags == JOIN_SEND_ONLY};
	int err;

	if (b->join_flags != JOIN_FULL && b->join_flags != JOIN_SEND_ONLY)
		return -EINVAL;
	if (b->addr_size > sizeof b->addr)
		return -EINVAL;
	err = vb_ucma_addr_parse(&j.group, b->addr, b->addr_size);
	return err ? err : group_join(c, &j);
}

/* The group @number of any file. */
static struct vb_ucma_mc *group_find(struct vb_ucma *u, uint32_t number)
{
	for (uint32_t i = 0; i < u->cfg.ids; i++) {
		struct vb_ucma_id *id = u->ids[i];

		for (struct vb_list *l = id ? id->mcs.next : NULL; id && l != &id->mcs;
		     l = l->next) {
			struct vb_ucma_mc *mc = vb_container_of(l, struct vb_ucma_mc, link);

			if (mc->number == number)
				return mc;
		}
	}
	return NULL;
}

int vb_ucma_do_leave(struct vb_ucma_call *c)
{
	const struct vb_ucma_destroy_id *b = c->body;
	struct vb_ucma_number_reply *r = (void *)c->reply;
	struct vb_ucma_mc *mc = group_find(c->file->u, b->id);

	if (!mc)
		return -ENOENT;
	if (mc->id->file != c->file)
		return -EINVAL;
	if (vb_ucma_event_is_out(mc->id, mc))
		return -EINPROGRESS;
	r->n = mc->events_reported;
	vb_ucma_mc_leave(mc);
	return 0;
}
