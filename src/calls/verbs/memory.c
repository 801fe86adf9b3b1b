/* SPDX-License-Identifier: BSD-2-Clause */
/* Protection domains, memory regions, address handles. ibv_alloc_pd(3), ibv_reg_mr(3) */
#include "calls/next.h"
#include "calls/show.h"
#include "calls/verbs/destroy.h"

#include <stdint.h>

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct vb_call c;
	struct ibv_pd *pd;

	vb_call_begin(&c, "ibv_alloc_pd");
	vb_call_object(&c, "context", VB_KIND_CTX, context);
	vb_call_go(&c);
	pd = vb_next_verbs()->ibv_alloc_pd(context);
	vb_call_done(&c);
	vb_call_end_object(&c, VB_KIND_PD, pd);
	return pd;
}

VB_CALLS_DESTROY_ENTRY(ibv_dealloc_pd, ibv_pd, VB_KIND_PD, "pd")

static void region_begin(struct vb_call *c, const char *verb, struct ibv_pd *pd, const void *addr,
			 size_t length, unsigned access)
{
	vb_call_begin(c, verb);
	vb_call_object(c, "pd", VB_KIND_PD, pd);
	vb_call_hex(c, "addr", (uintptr_t)addr);
	vb_call_number(c, "length", (int64_t)length);
	vb_call_flags(c, "access", access, vb_names_access);
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	struct vb_call c;
	struct ibv_mr *mr;

	region_begin(&c, "ibv_reg_mr", pd, addr, length, (unsigned)access);
	vb_call_go(&c);
	mr = vb_next_verbs()->ibv_reg_mr(pd, addr, length, access);
	vb_call_done(&c);
	vb_call_end_region(&c, mr);
	return mr;
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			       int access)
{
	struct vb_call c;
	struct ibv_mr *mr;

	region_begin(&c, "ibv_reg_mr_iova", pd, addr, length, (unsigned)access);
	vb_call_hex(&c, "iova", iova);
	vb_call_go(&c);
	mr = vb_next_verbs()->ibv_reg_mr_iova(pd, addr, length, iova, access);
	vb_call_done(&c);
	vb_call_end_region(&c, mr);
	return mr;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned access)
{
	struct vb_call c;
	struct ibv_mr *mr;

	region_begin(&c, "ibv_reg_mr_iova2", pd, addr, length, access);
	vb_call_hex(&c, "iova", iova);
	vb_call_go(&c);
	mr = vb_next_verbs()->ibv_reg_mr_iova2(pd, addr, length, iova, access);
	vb_call_done(&c);
	vb_call_end_region(&c, mr);
	return mr;
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
				 int fd, int access)
{
	struct vb_call c;
	struct ibv_mr *mr;

	vb_call_begin(&c, "ibv_reg_dmabuf_mr");
	vb_call_object(&c, "pd", VB_KIND_PD, pd);
	vb_call_hex(&c, "offset", offset);
	vb_call_number(&c, "length", (int64_t)length);
	vb_call_hex(&c, "iova", iova);
	vb_call_number(&c, "fd", fd);
	vb_call_flags(&c, "access", (unsigned)access, vb_names_access);
	vb_call_go(&c);
	mr = vb_next_verbs()->ibv_reg_dmabuf_mr(pd, offset, length, iova, fd, access);
	vb_call_done(&c);
	vb_call_end_region(&c, mr);
	return mr;
}

int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length,
		 int access)
{
	static const struct vb_name what[] = {{IBV_REREG_MR_CHANGE_TRANSLATION, "TRANSLATION"},
					      {IBV_REREG_MR_CHANGE_PD, "PD"},
					      {IBV_REREG_MR_CHANGE_ACCESS, "ACCESS"},
					      {0, NULL}};
	struct vb_call c;
	int rc;

	vb_call_begin(&c, "ibv_rereg_mr");
	vb_call_object(&c, "mr", VB_KIND_MR, mr);
	vb_call_flags(&c, "flags", (unsigned)flags, what);
	if (flags & IBV_REREG_MR_CHANGE_PD)
		vb_call_object(&c, "pd", VB_KIND_PD, pd);
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		vb_call_hex(&c, "addr", (uintptr_t)addr);
		vb_call_number(&c, "length", (int64_t)length);
	}
	if (flags & IBV_REREG_MR_CHANGE_ACCESS)
		vb_call_flags(&c, "access", (unsigned)access, vb_names_access);
	vb_call_go(&c);
	rc = vb_next_verbs()->ibv_rereg_mr(mr, flags, pd, addr, length, access);
	vb_call_done(&c);
	if (!rc) {
		vb_call_results(&c);
		vb_call_hex(&c, "lkey", mr->lkey);
		vb_call_hex(&c, "rkey", mr->rkey);
	}
	vb_call_end_count(&c, rc);
	return rc;
}

VB_CALLS_DESTROY_ENTRY(ibv_dereg_mr, ibv_mr, VB_KIND_MR, "mr")

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct vb_call c;
	struct ibv_ah *ah;

	vb_call_begin(&c, "ibv_create_ah");
	vb_call_object(&c, "pd", VB_KIND_PD, pd);
	vb_call_ah_attr(&c, "attr", attr);
	vb_call_go(&c);
	ah = vb_next_verbs()->ibv_create_ah(pd, attr);
	vb_call_done(&c);
	vb_call_end_object(&c, VB_KIND_AH, ah);
	return ah;
}

struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
				     uint8_t port)
{
	struct vb_call c;
	struct ibv_ah *ah;

	vb_call_begin(&c, "ibv_create_ah_from_wc");
	vb_call_object(&c, "pd", VB_KIND_PD, pd);
	vb_call_number(&c, "port_num", port);
	vb_call_go(&c);
	ah = vb_next_verbs()->ibv_create_ah_from_wc(pd, wc, grh, port);
	vb_call_done(&c);
	vb_call_end_object(&c, VB_KIND_AH, ah);
	return ah;
}

VB_CALLS_DESTROY_ENTRY(ibv_destroy_ah, ibv_ah, VB_KIND_AH, "ah")
