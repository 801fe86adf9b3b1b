/* SPDX-License-Identifier: BSD-2-Clause */
/* Queries of later headers, memory of the device, domains. ibv_query_device_ex(3), ibv_alloc_dm(3),
 * ibv_alloc_td(3), ibv_alloc_parent_domain(3) */
#include "calls/context.h"
#include "calls/next.h"
#include "calls/show.h"
#include "calls/verbs/destroy.h"

#define NEXT vb_next_ops.new

static int query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr,
		      size_t size)
{
	struct vb_call c;
	int rc;

	vb_call_begin(&c, "ibv_query_port");
	vb_call_object(&c, "context", VB_KIND_CTX, context);
	vb_call_number(&c, "port_num", port);
	vb_call_go(&c);
	rc = NEXT.query_port(context, port, attr, size);
	vb_call_done(&c);
	if (!rc)
		vb_call_port_attr(&c, attr);
	vb_call_end_error(&c, rc);
	return rc;
}

static int query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *in,
			   struct ibv_device_attr_ex *attr, size_t size)
{
	struct vb_call c;
	int rc;

	vb_call_begin(&c, "ibv_query_device_ex");
	vb_call_object(&c, "context", VB_KIND_CTX, context);
	vb_call_go(&c);
	rc = NEXT.query_device_ex(context, in, attr, size);
	vb_call_done(&c);
	if (!rc)
		vb_call_device_attr(&c, &attr->orig_attr);
	vb_call_end_error(&c, rc);
	return rc;
}

static struct ibv_dm *alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
	struct vb_call c;
	struct ibv_dm *dm;

	vb_call_begin(&c, "ibv_alloc_dm");
	vb_call_object(&c, "context", VB_KIND_CTX, context);
	vb_call_number(&c, "length", (int64_t)attr->length);
	vb_call_number(&c, "log_align_req", attr->log_align_req);
	vb_call_go(&c);
	dm = NEXT.alloc_dm(context, attr);
	vb_call_done(&c);
	vb_call_end_object(&c, VB_KIND_DM, dm);
	return dm;
}

VB_CALLS_DESTROY(static, free_dm, "ibv_free_dm", NEXT.free_dm, ibv_dm, VB_KIND_DM, "dm")

static struct ibv_mr *reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset,
				size_t length, unsigned access)
{
	struct vb_call c;
	struct ibv_mr *mr;

	vb_call_begin(&c, "ibv_reg_dm_mr");
	vb_call_object(&c, "pd", VB_KIND_PD, pd);
	vb_call_object(&c, "dm", VB_KIND_DM, dm);
	vb_call_hex(&c, "dm_offset", offset);
	vb_call_number(&c, "length", (int64_t)length);
	vb_call_flags(&c, "access", access, vb_names_access);
	vb_call_go(&c);
	mr = NEXT.reg_dm_mr(pd, dm, offset, length, access);
	vb_call_done(&c);
	vb_call_end_region(&c, mr);
	return mr;
}

static struct ibv_td *alloc_td(struct ibv_context *context, struct ibv_td_init_attr *init)
{
	struct vb_call c;
	struct ibv_td *td;

	vb_call_begin(&c, "ibv_alloc_td");
	vb_call_object(&c, "context", VB_KIND_CTX, context);
	vb_call_go(&c);
	td = NEXT.alloc_td(context, init);
	vb_call_done(&c);
	vb_call_end_object(&c, VB_KIND_TD, td);
	return td;
}

VB_CALLS_DESTROY(static, dealloc_td, "ibv_dealloc_td", NEXT.dealloc_td, ibv_td, VB_KIND_TD, "td")

static struct ibv_pd *alloc_parent_domain(struct ibv_context *context,
					  struct ibv_parent_domain_init_attr *attr)
{
	struct vb_call c;
	struct ibv_pd *pd;

	vb_call_begin(&c, "ibv_alloc_parent_domain");
	vb_call_object(&c, "context", VB_KIND_CTX, context);
	vb_call_object(&c, "pd", VB_KIND_PD, attr->pd);
	vb_call_object(&c, "td", VB_KIND_TD, attr->td);
	vb_call_hex(&c, "comp_mask", attr->comp_mask);
	vb_call_go(&c);
	pd = NEXT.alloc_parent_domain(context, attr);
	vb_call_done(&c);
	vb_call_end_object(&c, VB_KIND_PD, pd);
	return pd;
}

void vb_calls_take_rest(struct verbs_context *v)
{
	VB_CALLS_TAKE(v->query_port, query_port);
	VB_CALLS_TAKE(v->query_device_ex, query_device_ex);
	VB_CALLS_TAKE(v->alloc_dm, alloc_dm);
	VB_CALLS_TAKE(v->free_dm, free_dm);
	VB_CALLS_TAKE(v->reg_dm_mr, reg_dm_mr);
	VB_CALLS_TAKE(v->alloc_td, alloc_td);
	VB_CALLS_TAKE(v->dealloc_td, dealloc_td);
	VB_CALLS_TAKE(v->alloc_parent_domain, alloc_parent_domain);
}
