/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Thread domains and parent domains. A thread domain promises that one thread at a time uses what
 * is created with it; the engine's lock is one for all and costs nothing while nobody contends for
 * it, so the promise changes nothing. A parent domain is its PD, and may bring an allocator for the
 * memory in which queues keep their entries. ibv_alloc_parent_domain(3)
 */
#include "verbs/priv.h"

#include <stdlib.h>

#define RING_ALIGN 64 /* a line of the cache */

struct ibv_td *vb_ibv_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
	struct vb_ibv_context *c = vb_ibv_ctx(context);

	if (attr->comp_mask)
		return VB_IBV_REFUSE_NULL(
		    c, VB_IBV_WHY(EINVAL, "comp_mask is 0x%x, not 0", attr->comp_mask),
		    "ibv_alloc_td");

	struct vb_ibv_td *td = vb_object_new(VB_OBJECT_TD, sizeof *td);

	if (!td)
		return vb_ibv_null(ENOMEM);
	if (!vb_ibv_enter(c)) {
		vb_object_free(td);
		return VB_IBV_REFUSE_NULL(c, EIO, "ibv_alloc_td");
	}
	td->ibv.context = context;
	vb_object_name(td, context, 0);
	vb_list_append(&c->tds, &td->link);
	vb_ibv_leave(c);
	return &td->ibv;
}

int vb_ibv_dealloc_td(struct ibv_td *ibv)
{
	if (vb_ibv_check_plain(ibv, VB_OBJECT_TD))
		return vb_ibv_refuse(NULL, ENOENT, "ibv_dealloc_td");

	struct vb_ibv_td *td = (struct vb_ibv_td *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);

	if (!vb_ibv_enter(c))
		return vb_ibv_refuse(c, EIO, "ibv_dealloc_td");

	int err =
	    td->user_cnt ? VB_IBV_WHY(EBUSY, "parent domains still have it (ibv_alloc_td(3))") : 0;

	if (!err)
		vb_list_remove(&td->link);
	vb_ibv_leave(c);
	if (err)
		return vb_ibv_refuse(c, err, "ibv_dealloc_td");
	vb_object_free(td);
	return 0;
}

static int parent_check(const struct ibv_context *context,
			const struct ibv_parent_domain_init_attr *a)
{
	const uint32_t known =
	    IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;

	if (a->comp_mask & ~known)
		return VB_IBV_WHY(EINVAL, "comp_mask has 0x%x, which the adapter does not know",
				  a->comp_mask & ~known);
	if (!a->pd)
		return VB_IBV_WHY(EINVAL, "pd is NULL");
	if (vb_ibv_check_in(a->pd, VB_OBJECT_PD, context) ||
	    (a->td && vb_ibv_check_plain_in(a->td, VB_OBJECT_TD, context)))
		return ENOENT;
	if ((a->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) && (!a->alloc || !a->free))
		return VB_IBV_WHY(EINVAL, "of alloc and free, %s is NULL: both are needed",
				  a->alloc ? "free" : "alloc");
	return 0;
}

struct ibv_pd *vb_ibv_alloc_parent_domain(struct ibv_context *context,
					  struct ibv_parent_domain_init_attr *a)
{
	struct vb_ibv_context *c = vb_ibv_ctx(context);
	int err = parent_check(context, a);

	if (err)
		return VB_IBV_REFUSE_NULL(c, err, "ibv_alloc_parent_domain");

	struct vb_ibv_pd *of = (struct vb_ibv_pd *)a->pd,
			 *pd = vb_object_new(VB_OBJECT_PD, sizeof *pd);

	if (!pd)
		return vb_ibv_null(ENOMEM);
	if (!vb_ibv_enter(c)) {
		vb_object_free(pd);
		return VB_IBV_REFUSE_NULL(c, EIO, "ibv_alloc_parent_domain");
	}
	pd->ibv = (struct ibv_pd){.context = context, .handle = of->ibv.handle};
	pd->core = of->core;
	pd->core_refs = of->core_refs;
	++*pd->core_refs;
	pd->parent = of;
	of->user_cnt++;
	pd->td = (struct vb_ibv_td *)a->td;
	if (pd->td)
		pd->td->user_cnt++;
	if (a->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) {
		pd->alloc = a->alloc;
		pd->free = a->free;
	}
	if (a->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)
		pd->pd_context = a->pd_context;
	vb_ibv_name(&pd->ibv);
	vb_list_append(&c->pds, &pd->link);
	vb_ibv_leave(c);
	return &pd->ibv;
}

int vb_ibv_ring_get(struct vb_ibv_ring *r, struct ibv_pd *ibv, size_t size,
		    enum vb_ibv_ring_type type)
{
	struct vb_ibv_pd *pd = (struct vb_ibv_pd *)ibv;

	*r = (struct vb_ibv_ring){.pd = pd, .type = type};
	if (!pd || !pd->alloc || size == 0)
		return 0;

	void *mem = pd->alloc(&pd->ibv, pd->pd_context, size, RING_ALIGN, type);

	if (!mem)
		return ENOMEM;
	if (mem == IBV_ALLOCATOR_USE_DEFAULT)
		return 0;
	/* Whether these are zeros does not matter: the queue is copied over them. */
	r->mem = mem;
	return 0;
}

void vb_ibv_ring_put(const struct vb_ibv_ring *r)
{
	if (r->mem)
		r->pd->free(&r->pd->ibv, r->pd->pd_context, r->mem, r->type);
}
