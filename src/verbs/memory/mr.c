/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory regions. */
#include "verbs/priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

/* Rights that the peer or the adapter needs write permission for; a window may be given them. */
#define WRITES                                                                                     \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC |             \
	 IBV_ACCESS_MW_BIND)
#define KNOWN                                                                                      \
	(WRITES | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND |          \
	 IBV_ACCESS_HUGETLB | VB_ACCESS_FLUSH_GLOBAL | IBV_ACCESS_OPTIONAL_RANGE)

int vb_ibv_access_check(uint32_t access)
{
	if (access & ~(uint32_t)KNOWN)
		return VB_IBV_WHY(EINVAL, "access 0x%x has rights that are not known", access);
	if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) &&
	    !(access & IBV_ACCESS_LOCAL_WRITE))
		return VB_IBV_WHY(EINVAL,
				  "access 0x%x has a remote right to write and lacks "
				  "IBV_ACCESS_LOCAL_WRITE (IBA 10.6.3.1)",
				  access);
	return 0;
}

/* Checks the arguments of a registration; *attr is what the core needs. */
static int mr_check(void *addr, size_t length, uint64_t iova, uint32_t access,
		    struct vb_mr_attr *attr)
{
	uint64_t in_page = (uint64_t)sysconf(_SC_PAGESIZE) - 1;
	uintptr_t end;
	int err = vb_ibv_access_check(access);

	if (err)
		return err;
	/* All of the address space. ibv_reg_mr(3) */
	if (access & IBV_ACCESS_ON_DEMAND && !addr && length == SIZE_MAX) {
		*attr =
		    (struct vb_mr_attr){.length = length, .access = access, .kind = VB_MR_IMPLICIT};
		return iova || access & (IBV_ACCESS_ZERO_BASED | IBV_ACCESS_HUGETLB)
			   ? VB_IBV_WHY(EINVAL,
					"a region of all memory has iova 0x%" PRIx64
					" and access 0x%x: it is at 0, neither zero-based nor of "
					"huge pages (ibv_reg_mr(3))",
					iova, access)
			   : 0;
	}
	if (access & IBV_ACCESS_ZERO_BASED)
		iova = 0;
	/* A NIC translates whole pages. */
	else if ((iova ^ (uintptr_t)addr) & in_page)
		return VB_IBV_WHY(EINVAL,
				  "iova 0x%" PRIx64 " and addr %p are at different places of "
				  "a page",
				  iova, addr);
	/* Pages that end behind the last address are no memory, whatever is mapped. */
	if (__builtin_add_overflow((uintptr_t)addr, length, &end) || end > UINTPTR_MAX - in_page)
		return VB_IBV_WHY(EINVAL, "addr %p and length %zu end behind the last address",
				  addr, length);
	*attr = (struct vb_mr_attr){.iova = iova, .length = length, .host = addr, .access = access};
	/* Memory on demand may come and go; and no bytes are at any address. */
	if (access & IBV_ACCESS_ON_DEMAND || length == 0)
		return 0;
	err = vb_engine_check_memory(addr, length, access & WRITES);
	return err ? VB_IBV_WHY(err, "not all of the %zu bytes at %p is memory that can be %s",
				length, addr, access & WRITES ? "written" : "read")
		   : 0;
}

static void mr_show(struct vb_ibv_mr *mr, struct ibv_pd *pd, const struct vb_mr_attr *attr)
{
	mr->ibv.context = pd->context;
	mr->ibv.pd = pd;
	mr->ibv.addr = mr->dm || mr->share->is_foreign ? NULL : attr->host;
	mr->ibv.length = attr->length;
	mr->ibv.lkey = vb_mr_lkey(mr->share->core);
	mr->ibv.rkey = vb_mr_rkey(mr->share->core);
	mr->ibv.handle = vb_ibv_handle(vb_ibv_ctx(pd->context), mr->ibv.lkey >> 8);
	mr->iova = attr->iova;
	mr->access = attr->access;
	mr->kind = attr->kind;
}

/* Others may import it from now on. A handle beyond the table is nobody's but one's own. */
static void mr_publish(const struct vb_ibv_mr *mr, const struct vb_mr_attr *attr)
{
	struct vb_export_entry e = {.pd = mr->ibv.pd->handle,
				    .access = attr->access,
				    .kind = attr->kind,
				    .addr = (uintptr_t)attr->host,
				    .length = attr->length,
				    .iova = attr->iova};

	(void)vb_export_put(vb_ibv_ctx(mr->ibv.context)->file->table, VB_EXPORT_MR, mr->ibv.handle,
			    &e);
}

static void mr_withdraw(const struct vb_ibv_mr *mr)
{
	vb_export_drop(vb_ibv_ctx(mr->ibv.context)->file->table, VB_EXPORT_MR, mr->ibv.handle);
}

struct ibv_mr *vb_ibv_mr_create(struct ibv_pd *pd, const struct vb_mr_attr *attr,
				struct vb_ibv_dm_mem *dm, const struct vb_ibv_mr_origin *origin)
{
	if (vb_ibv_check(pd, VB_OBJECT_PD))
		return VB_IBV_REFUSE_NULL(NULL, ENOENT, "ibv_reg_mr");

	struct vb_ibv_context *c = vb_ibv_ctx(pd->context);
	struct vb_ibv_mr *mr = vb_object_new(VB_OBJECT_MR, sizeof *mr);
	struct vb_ibv_mr_share *share = calloc(1, sizeof *share);
	int err = mr && share ? EIO : ENOMEM;

	vb_ibv_guard_memory();
	if (err == EIO && vb_ibv_enter(c)) {
		err = -vb_mr_create(((struct vb_ibv_pd *)pd)->core, attr, &share->core);
		if (err) {
			(void)vb_ibv_why_core(c, err);
		} else {
			share->refs = 1;
			mr->share = share;
			mr->dm = dm;
			if (origin) {
				share->is_foreign = true;
				share->foreign = origin->memory;
			}
			if (dm) {
				dm->refs++;
				dm->mr_cnt++;
			}
			mr_show(mr, pd, attr);
			if (origin && !origin->is_own)
				mr->ibv.handle = origin->handle;
			vb_ibv_name(&mr->ibv);
			mr_publish(mr, attr);
			vb_ibv_pd_hold(pd);
			vb_list_append(&c->mrs, &mr->link);
			vb_engine_slot(c->engine)->mr_cnt++;
		}
		vb_ibv_leave(c);
	}
	if (err) {
		vb_object_free(mr);
		free(share);
		return VB_IBV_REFUSE_NULL(c, err, "ibv_reg_mr");
	}
	return &mr->ibv;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned int access)
{
	struct vb_mr_attr attr;
	int was = errno, err = mr_check(addr, length, iova, access, &attr);

	errno = was; /* that of looking at the memory is nobody's */
	if (err)
		return VB_IBV_REFUSE_NULL(NULL, err, "ibv_reg_mr");
	return vb_ibv_mr_create(pd, &attr, NULL, NULL);
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			       int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, iova, (unsigned)access);
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned)access);
}

/* Other memory needs another region, which has other keys. IBT-84. Returns 0 or an errno. */
static int mr_move(struct vb_ibv_mr *mr, struct ibv_pd *pd, const struct vb_mr_attr *attr)
{
	struct vb_mr *fresh;
	int err = -vb_mr_create(((struct vb_ibv_pd *)pd)->core, attr, &fresh);

	if (err)
		return err;
	err = -vb_mr_destroy(mr->share->core);
	if (err)
		(void)vb_mr_destroy(fresh); /* nothing refers to it yet */
	else
		mr->share->core = fresh;
	return err;
}

/* A region that cannot change: device memory, memory that was mapped for it, what is no memory of
 * the application's, and what others have imported. */
static bool is_fixed(const struct vb_ibv_mr *mr)
{
	return mr->dm || mr->share->is_foreign || mr->kind != VB_MR_HOST || mr->share->refs > 1 ||
	       !mr->share->core;
}

/* Checks the arguments of a re-registration as ibv_rereg_mr(3) has it. Returns 0 or an errno. */
static int rereg_check(const struct vb_ibv_mr *mr, int flags, const struct ibv_pd *pd, void *addr,
		       size_t length, int access, struct vb_mr_attr *attr)
{
	bool moves = flags & IBV_REREG_MR_CHANGE_TRANSLATION;

	if (vb_ibv_check(&mr->ibv, VB_OBJECT_MR))
		return ENOENT;
	if (!flags || flags & ~(IBV_REREG_MR_FLAGS_SUPPORTED))
		return VB_IBV_WHY(EINVAL, "flags 0x%x are not of IBV_REREG_MR_CHANGE_* (%s)",
				  (unsigned)flags, "ibv_rereg_mr(3)");
	if (is_fixed(mr))
		return VB_IBV_WHY(EINVAL, "the region is imported or of device memory, a dma-buf "
					  "or all memory: such a one stays as it is");
	if ((flags & IBV_REREG_MR_CHANGE_PD) && !pd)
		return VB_IBV_WHY(EINVAL, "flags have IBV_REREG_MR_CHANGE_PD, and pd is NULL");
	if ((flags & IBV_REREG_MR_CHANGE_PD) && vb_ibv_check_in(pd, VB_OBJECT_PD, mr->ibv.context))
		return ENOENT;
	if (moves && (!addr || !length))
		return VB_IBV_WHY(EINVAL, "flags have IBV_REREG_MR_CHANGE_TRANSLATION, and %s",
				  addr ? "length is 0" : "addr is NULL");
	if (access && !(flags & IBV_REREG_MR_CHANGE_ACCESS))
		return VB_IBV_WHY(EINVAL,
				  "access is 0x%x, and flags lack IBV_REREG_MR_CHANGE_ACCESS",
				  (unsigned)access);
	return mr_check(moves ? addr : mr->ibv.addr, moves ? length : mr->ibv.length,
			moves ? (uintptr_t)addr : mr->iova,
			flags & IBV_REREG_MR_CHANGE_ACCESS ? (uint32_t)access : mr->access, attr);
}

int ibv_rereg_mr(struct ibv_mr *ibv, int flags, struct ibv_pd *pd, void *addr, size_t length,
		 int access)
{
	struct vb_ibv_mr *mr = (struct vb_ibv_mr *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);
	struct vb_mr_attr attr;
	int was = errno, err = rereg_check(mr, flags, pd, addr, length, access, &attr);

	errno = was;
	if (!(flags & IBV_REREG_MR_CHANGE_PD))
		pd = ibv->pd;
	if (!err && !vb_ibv_enter(c)) {
		(void)vb_ibv_refuse(c, EIO, "ibv_rereg_mr");
		return IBV_REREG_MR_ERR_CMD;
	}
	if (!err) {
		if (attr.host == ibv->addr && attr.length == ibv->length && attr.iova == mr->iova)
			err = -vb_mr_modify(mr->share->core, ((struct vb_ibv_pd *)pd)->core,
					    attr.access);
		else
			err = mr_move(mr, pd, &attr);
		if (err) {
			(void)vb_ibv_why_core(c, err);
		} else {
			mr_withdraw(mr);
			vb_ibv_pd_drop(ibv->pd);
			vb_ibv_pd_hold(pd);
			mr_show(mr, pd, &attr);
			vb_ibv_name(&mr->ibv);
			mr_publish(mr, &attr);
		}
		vb_ibv_leave(c);
	}
	if (!err)
		return 0;
	(void)vb_ibv_refuse(NULL, err, "ibv_rereg_mr");
	return IBV_REREG_MR_ERR_INPUT; /* the region is what it was */
}

/* @mr gives up its part of the region. */
static void mr_let_go(struct vb_ibv_mr *mr)
{
	if (--mr->share->refs == 0)
		free(mr->share);
	vb_ibv_pd_drop(mr->ibv.pd);
	if (mr->dm) {
		mr->dm->mr_cnt--;
		vb_ibv_dm_mem_put(mr->dm);
	}
	if (mr->dmah)
		atomic_fetch_sub(&mr->dmah->user_cnt, 1);
	vb_object_free(mr);
}

int vb_ibv_mr_free(struct vb_ibv_mr *mr)
{
	struct vb_ibv_context *c = vb_ibv_ctx(mr->ibv.context);

	if (mr->share->core) {
		int err = vb_mr_destroy(mr->share->core);

		if (err)
			return err;
		mr_withdraw(mr);
		vb_engine_slot(c->engine)->mr_cnt--;
		mr->share->core = NULL;
		if (mr->share->is_foreign)
			vb_remote_memory_unmap(&mr->share->foreign);
	}
	mr_let_go(mr);
	return 0;
}

int ibv_dereg_mr(struct ibv_mr *ibv)
{
	if (vb_ibv_check(ibv, VB_OBJECT_MR))
		return vb_ibv_refuse(NULL, ENOENT, "ibv_dereg_mr");

	struct vb_ibv_mr *mr = (struct vb_ibv_mr *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);

	if (!vb_ibv_enter(c))
		return vb_ibv_refuse(c, EIO, "ibv_dereg_mr");
	vb_list_remove(&mr->link);

	int err = -vb_ibv_mr_free(mr);

	if (err) {
		(void)vb_ibv_why_core(c, err);
		vb_list_append(&c->mrs, &mr->link);
	}
	vb_ibv_leave(c);
	return err ? vb_ibv_refuse(c, err, "ibv_dereg_mr") : 0;
}

/* The region stays for those who have it still; with the last of them it goes. */
void ibv_unimport_mr(struct ibv_mr *ibv)
{
	if (!vb_object_is(ibv, VB_OBJECT_MR))
		return;

	struct vb_ibv_mr *mr = (struct vb_ibv_mr *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);

	if (!vb_ibv_enter(c))
		return;
	vb_list_remove(&mr->link);
	if (mr->share->refs > 1)
		mr_let_go(mr);
	else if (vb_ibv_mr_free(mr))
		vb_list_append(&c->mrs, &mr->link);
	vb_ibv_leave(c);
}
