/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects of another process. ibv_import_pd(3), ibv_import_mr(3), ibv_import_dm(3) */
#include "calls/call.h"
#include "calls/next.h"
#include "calls/objects.h"

struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t handle)
{
	struct vb_call c;
	struct ibv_pd *pd;

	vb_call_begin(&c, "ibv_import_pd");
	vb_call_object(&c, "context", VB_KIND_CTX, context);
	vb_call_number(&c, "pd_handle", handle);
	vb_call_go(&c);
	pd = vb_next_verbs()->ibv_import_pd(context, handle);
	vb_call_done(&c);
	vb_call_end_object(&c, VB_KIND_PD, pd);
	return pd;
}

struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	struct vb_call c;
	struct ibv_mr *mr;

	vb_call_begin(&c, "ibv_import_mr");
	vb_call_object(&c, "pd", VB_KIND_PD, pd);
	vb_call_number(&c, "mr_handle", handle);
	vb_call_go(&c);
	mr = vb_next_verbs()->ibv_import_mr(pd, handle);
	vb_call_done(&c);
	if (mr) {
		vb_call_results(&c);
		vb_call_hex(&c, "lkey", mr->lkey);
		vb_call_hex(&c, "rkey", mr->rkey);
	}
	vb_call_end_object(&c, VB_KIND_MR, mr);
	return mr;
}

struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t handle)
{
	struct vb_call c;
	struct ibv_dm *dm;

	vb_call_begin(&c, "ibv_import_dm");
	vb_call_object(&c, "context", VB_KIND_CTX, context);
	vb_call_number(&c, "dm_handle", handle);
	vb_call_go(&c);
	dm = vb_next_verbs()->ibv_import_dm(context, handle);
	vb_call_done(&c);
	vb_call_end_object(&c, VB_KIND_DM, dm);
	return dm;
}

/* They always succeed. */
#define UNIMPORT(verb, type, kind, name)                                                           \
	void verb(struct type *object)                                                             \
	{                                                                                          \
		struct vb_call c;                                                                  \
                                                                                                   \
		vb_call_begin(&c, #verb);                                                          \
		vb_call_object(&c, name, kind, object);                                            \
		(void)vb_calls_object_remove(object);                                              \
		vb_call_go(&c);                                                                    \
		vb_next_verbs()->verb(object);                                                     \
		vb_call_done(&c);                                                                  \
		vb_call_end(&c);                                                                   \
	}

UNIMPORT(ibv_unimport_pd, ibv_pd, VB_KIND_PD, "pd")
UNIMPORT(ibv_unimport_mr, ibv_mr, VB_KIND_MR, "mr")
UNIMPORT(ibv_unimport_dm, ibv_dm, VB_KIND_DM, "dm")
