/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory regions. */
#include "verbs/priv.h"

#include <stdlib.h>
#include <unistd.h>

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

/* Rights that the peer or the adapter needs write permission for; a window may be given them. */
#define WRITES                                                                                     \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC |             \
	 IBV_ACCESS_MW_BIND)
#define KNOWN                                                                                      \
	(WRITES | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_HUGETLB |            \
	 IBV_ACCESS_OPTIONAL_RANGE)

static int access_check(uint32_t access)
{
	if (access & IBV_ACCESS_ON_DEMAND)
		return EOPNOTSUPP;
	if (access & ~(uint32_t)KNOWN)
		return EINVAL;
	/* IBA 10.6.3.1 */
	if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) &&
	    !(access & IBV_ACCESS_LOCAL_WRITE))
		return EINVAL;
	return 0;
}

/* What a registration says, checked; *attr is what the core needs. */
static int mr_check(void *addr, size_t length, uint64_t iova, uint32_t access,
		    struct vb_mr_attr *attr)
{
	uint64_t in_page = (uint64_t)sysconf(_SC_PAGESIZE) - 1;
	int err = access_check(access);

	if (err)
		return err;
	if (access & IBV_ACCESS_ZERO_BASED)
		iova = 0;
	/* A NIC translates whole pages. */
	else if ((iova ^ (uintptr_t)addr) & in_page)
		return EINVAL;
	if (length == 0)
		return EINVAL;
	*attr = (struct vb_mr_attr){.iova = iova, .length = length, .host = addr, .access = access};
	return vb_memory_check(addr, length, access & WRITES);
}

static void mr_show(struct vb_ibv_mr *mr, struct ibv_pd *pd, const struct vb_mr_attr *attr)
{
	mr->ibv.context = pd->context;
	mr->ibv.pd = pd;
	mr->ibv.addr = attr->host;
	mr->ibv.length = attr->length;
	mr->ibv.lkey = vb_mr_lkey(mr->core);
	mr->ibv.rkey = vb_mr_rkey(mr->core);
	mr->ibv.handle = mr->ibv.lkey >> 8;
	mr->iova = attr->iova;
	mr->access = attr->access;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned int access)
{
	struct vb_ibv_context *c = vb_ibv_ctx(pd->context);
	struct vb_mr_attr attr;
	int err = mr_check(addr, length, iova, access, &attr);

	if (err)
		return vb_ibv_null(err);

	struct vb_ibv_mr *mr = calloc(1, sizeof *mr);

	if (!mr)
		return vb_ibv_null(ENOMEM);
	err = EIO;
	if (vb_ibv_enter(c)) {
		err = -vb_mr_create(((struct vb_ibv_pd *)pd)->core, &attr, &mr->core);
		if (!err) {
			mr_show(mr, pd, &attr);
			vb_list_append(&c->mrs, &mr->link);
			vb_engine_slot(c->engine)->mr_cnt++;
		}
		vb_ibv_leave(c);
	}
	if (err) {
		free(mr);
		return vb_ibv_null(err);
	}
	return &mr->ibv;
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
	err = -vb_mr_destroy(mr->core);
	if (err)
		(void)vb_mr_destroy(fresh); /* nothing refers to it yet */
	else
		mr->core = fresh;
	return err;
}

/* What a re-registration says, checked as ibv_rereg_mr(3) has it. Returns 0 or an errno. */
static int rereg_check(const struct vb_ibv_mr *mr, int flags, const struct ibv_pd *pd, void *addr,
		       size_t length, int access, struct vb_mr_attr *attr)
{
	bool moves = flags & IBV_REREG_MR_CHANGE_TRANSLATION;

	if (!flags || flags & ~(IBV_REREG_MR_FLAGS_SUPPORTED))
		return EINVAL;
	if ((flags & IBV_REREG_MR_CHANGE_PD) && (!pd || pd->context != mr->ibv.context))
		return EINVAL;
	if ((moves && (!addr || !length)) || (access && !(flags & IBV_REREG_MR_CHANGE_ACCESS)))
		return EINVAL;
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
	int err = rereg_check(mr, flags, pd, addr, length, access, &attr);

	if (!(flags & IBV_REREG_MR_CHANGE_PD))
		pd = ibv->pd;
	if (!err && !vb_ibv_enter(c)) {
		errno = EIO;
		return IBV_REREG_MR_ERR_CMD;
	}
	if (!err) {
		if (attr.host == ibv->addr && attr.length == ibv->length && attr.iova == mr->iova)
			err = -vb_mr_modify(mr->core, ((struct vb_ibv_pd *)pd)->core, attr.access);
		else
			err = mr_move(mr, pd, &attr);
		if (!err)
			mr_show(mr, pd, &attr);
		vb_ibv_leave(c);
	}
	if (!err)
		return 0;
	errno = err;
	return IBV_REREG_MR_ERR_INPUT; /* the region is what it was */
}

int ibv_dereg_mr(struct ibv_mr *ibv)
{
	struct vb_ibv_mr *mr = (struct vb_ibv_mr *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);

	if (!vb_ibv_enter(c))
		return EIO;

	int err = -vb_mr_destroy(mr->core);

	if (!err) {
		vb_list_remove(&mr->link);
		vb_engine_slot(c->engine)->mr_cnt--;
	}
	vb_ibv_leave(c);
	if (!err)
		free(mr);
	return err;
}
