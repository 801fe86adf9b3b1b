/* SPDX-License-Identifier: BSD-2-Clause */
/* Multicast groups of UD ids: the address is the group's GID, and joining is the host's matter.
 * CMP-47, CMP-49 */
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

static void join_tell(struct vb_ucma_mc *mc, int status)
{
	struct vb_ucma_id *id = mc->id;
	struct vb_ucma_event *e = vb_ucma_event_add(
	    id, status ? VB_UCMA_EV_MULTICAST_ERROR : VB_UCMA_EV_MULTICAST_JOIN, status);
	struct vb_path path = vb_ucma_path(id);

	if (!e)
		return;
	path.dgid = mc->gid;
	path.hop_limit = GROUP_HOP_LIMIT;
	e->mc = mc;
	e->reply.uid = mc->uid;
	e->reply.id = mc->number;
	e->reply.ud.qp_num = QPN_MULTICAST;
	e->reply.ud.qkey = id->qkey;
	e->reply.ud.ah = vb_ucma_ah(&path, id->at.gid_index);
}

static int group_join(struct vb_ucma_call *c, const struct join *j)
{
	struct vb_ucma_number_reply *r = (void *)c->reply;
	struct vb_ucma_id *id = c->id;
	const struct vb_ucma_env *env = &id->u->cfg.env;
	struct vb_ucma_mc *mc;
	int err;

	if (id->qp_type != VB_UCMA_QPT_UD || !id->has_local || vb_ucma_addr_is_any(&j->group) ||
	    !vb_gid_is_multicast(&j->group.gid))
		return -EINVAL;
	/* A packet has addresses of one family: no address handle could be made of the event. */
	if (vb_gid_is_ipv4(&j->group.gid) != vb_gid_is_ipv4(&id->at.gid))
		return -EINVAL;
	mc = vb_ucma_alloc(id->u, sizeof *mc);
	if (!mc)
		return -ENOMEM;
	mc->id = id;
	mc->uid = j->uid;
	mc->number = id->u->mc_next++;
	mc->gid = j->group.gid;
	mc->at = id->at;
	vb_list_append(&id->mcs, &mc->link);
	err = j->sends_only ? 0 : env->group(env->ctx, &mc->at, &mc->gid, true);
	mc->is_member = !j->sends_only && !err;
	join_tell(mc, err);
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
