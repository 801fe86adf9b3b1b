/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which agent is there for what: the rules of a registration, and the agent that a MAD is for.
 * Items MAD-04 to MAD-10
 */
#include "mgmt/agents/priv.h"

#include "wire/mad/smp.h"

#include <errno.h>

#define CLASS_VERSION_LIMIT 0x83
#define CLASS_LIMIT 0x50 /* those above, but the directed route, cannot be registered */
#define TID_LIMIT (1u << 24)
#define TID_PART_SHIFT 16
#define TID_PART_LIMIT (1u << TID_PART_SHIFT)

static bool class_is_smi(uint8_t mgmt_class)
{
	return mgmt_class == VB_MAD_CLASS_SUBN_LID || mgmt_class == VB_MAD_CLASS_SUBN_DIRECTED;
}

/* MAD-06 */
static int request_check(const struct vb_agents *a, const struct vb_agent_request *r)
{
	if (r->qpn > 1)
		return -EINVAL;
	if (r->qpn == 0 && !a->cfg.has_smi)
		return -EPROTONOSUPPORT;
	if (r->rmpp_version != 0 && r->rmpp_version != VB_RMPP_VERSION)
		return -EINVAL;
	if (r->mgmt_class == 0)
		return r->user_rmpp ? -EINVAL : 0;
	if (r->class_version >= CLASS_VERSION_LIMIT ||
	    (r->mgmt_class >= CLASS_LIMIT && r->mgmt_class != VB_MAD_CLASS_SUBN_DIRECTED))
		return -EINVAL;
	if (r->oui > 0xffffff || (vb_mad_class_has_oui(r->mgmt_class) && r->oui == 0))
		return -EINVAL;
	if (r->rmpp_version != 0 && !vb_mad_class_has_rmpp(r->mgmt_class))
		return -EINVAL;
	return class_is_smi(r->mgmt_class) == (r->qpn == 0) ? 0 : -EINVAL;
}

static bool request_same_class(const struct vb_agent_request *r, uint8_t mgmt_class,
			       uint8_t class_version, uint32_t oui)
{
	return r->mgmt_class == mgmt_class && r->class_version == class_version &&
	       (!vb_mad_class_has_oui(mgmt_class) || r->oui == oui);
}

/* MAD-07 */
static bool request_overlaps(const struct vb_agents *a, const struct vb_agent_request *r)
{
	if (r->mgmt_class == 0)
		return false;
	for (struct vb_list *l = a->agents.next; l != &a->agents; l = l->next) {
		const struct vb_agent_request *o = &vb_container_of(l, struct vb_agent, all)->req;

		if (request_same_class(o, r->mgmt_class, r->class_version, r->oui) &&
		    ((o->methods[0] & r->methods[0]) || (o->methods[1] & r->methods[1])))
			return true;
	}
	return false;
}

static struct vb_agent *agent_of_tid(const struct vb_agents *a, uint32_t hi_tid)
{
	for (struct vb_list *l = a->agents.next; l != &a->agents; l = l->next) {
		struct vb_agent *g = vb_container_of(l, struct vb_agent, all);

		if (g->file && g->hi_tid == hi_tid)
			return g;
	}
	return NULL;
}

uint32_t vb_agents_tid_draw(struct vb_agents *a)
{
	uint32_t tid;

	uint32_t limit = a->cfg.tid_part ? TID_PART_LIMIT : TID_LIMIT;

	do {
		tid = a->next_tid | (uint32_t)a->cfg.tid_part << TID_PART_SHIFT;
		a->next_tid = a->next_tid + 1 < limit ? a->next_tid + 1 : 1;
	} while (agent_of_tid(a, tid));
	return tid;
}

static int agent_add(struct vb_agents *a, const struct vb_agent_request *r, struct vb_agent **out)
{
	int err = request_check(a, r);
	struct vb_agent *g;

	if (err)
		return err;
	if (request_overlaps(a, r))
		return -EINVAL;
	g = vb_agents_alloc(a, sizeof *g);
	if (!g)
		return -ENOMEM;
	g->req = *r;
	if (r->mgmt_class == 0)
		g->req.methods[0] = g->req.methods[1] = 0;
	vb_list_init(&g->sends);
	vb_list_init(&g->receiving);
	vb_list_init(&g->received);
	vb_list_append(&a->agents, &g->all);
	*out = g;
	return 0;
}

int vb_agents_reserve(struct vb_agents *a, const struct vb_agent_request *r)
{
	struct vb_agent *g;

	return agent_add(a, r, &g);
}

int vb_agent_register(struct vb_agents *a, int file, const struct vb_agent_request *r)
{
	struct vb_agents_file *f = vb_agents_file(a, file);
	struct vb_agent *g;
	uint32_t id = 0;
	int err;

	if (r->qpn > 1)
		return -EINVAL;
	while (id < VB_UMAD_AGENTS && f->agent[id])
		id++;
	if (id == VB_UMAD_AGENTS)
		return -ENOMEM;
	err = agent_add(a, r, &g);
	if (err)
		return err;
	g->hi_tid = vb_agents_tid_draw(a);
	g->file = f;
	g->id = id;
	f->agent[id] = g;
	return (int)id;
}

void vb_agent_free(struct vb_agents *a, struct vb_agent *g)
{
	assert(vb_list_is_empty(&g->sends) && vb_list_is_empty(&g->receiving));
	assert(vb_list_is_empty(&g->received));
	if (g->file)
		g->file->agent[g->id] = NULL;
	vb_list_remove(&g->all);
	vb_agents_free(a, g);
}

struct vb_agent *vb_agent_of_answer(const struct vb_agents *a, const struct vb_mad_hdr *h)
{
	return h->tid >> 56 ? NULL : agent_of_tid(a, (uint32_t)(h->tid >> 32));
}

struct vb_agent *vb_agent_of_request(const struct vb_agents *a, const struct vb_mad_hdr *h,
				     const uint8_t mad[VB_MAD_LEN])
{
	uint32_t method = h->method & 0x7f;

	for (struct vb_list *l = a->agents.next; l != &a->agents; l = l->next) {
		struct vb_agent *g = vb_container_of(l, struct vb_agent, all);

		if (request_same_class(&g->req, h->mgmt_class, h->class_version, vb_mad_oui(mad)) &&
		    (g->req.methods[method / 64] >> method % 64 & 1))
			return g;
	}
	return NULL;
}
