/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DMA handles, and ibv_reg_mr_ex(), which takes one: later.h. A handle says how PCI Express is to
 * handle accesses to a region (TLP processing hints). There is no such bus here, so that a handle
 * is checked, kept and counted, and changes nothing else. ibv_alloc_dmah(3), ibv_reg_mr_ex(3)
 */
#include "verbs/later.h"
#include "verbs/memory/buf.h"

#include <inttypes.h>
#include <sched.h>

#define DMAH_KNOWN (VB_DMAH_CPU_ID | VB_DMAH_PH | VB_DMAH_MEM_TYPE)
#define PH_MAX 3 /* two bits of a TLP's header */
#define MEM_TYPE_MAX 1
#define MR_KNOWN (VB_MR_IOVA | VB_MR_ADDR | VB_MR_FD | VB_MR_FD_OFFSET | VB_MR_DMAH | VB_MR_BUF)

static int dmah_check(const struct vb_dmah_init_attr *attr)
{
	cpu_set_t mine;

	if (attr->comp_mask & ~(uint32_t)DMAH_KNOWN)
		return VB_IBV_WHY(EOPNOTSUPP, "comp_mask 0x%x has attributes that are not known",
				  attr->comp_mask);
	if (attr->comp_mask & VB_DMAH_CPU_ID &&
	    (attr->cpu_id >= CPU_SETSIZE || sched_getaffinity(0, sizeof mine, &mine) ||
	     !CPU_ISSET(attr->cpu_id, &mine)))
		return VB_IBV_WHY(EINVAL, "cpu_id %u is no processor that this thread may run on",
				  attr->cpu_id);
	if (attr->comp_mask & VB_DMAH_PH && attr->ph > PH_MAX)
		return VB_IBV_WHY(EINVAL, "ph %u is larger than %d", attr->ph, PH_MAX);
	if (attr->comp_mask & VB_DMAH_MEM_TYPE && attr->tph_mem_type > MEM_TYPE_MAX)
		return VB_IBV_WHY(EINVAL, "tph_mem_type %u is no enum ibv_tph_mem_type",
				  attr->tph_mem_type);
	return 0;
}

struct ibv_dmah *ibv_alloc_dmah(struct ibv_context *context, struct ibv_dmah_init_attr *attr)
{
	struct vb_ibv_dmah *d;
	int was = errno, err = dmah_check((const struct vb_dmah_init_attr *)(const void *)attr);

	if (err)
		return VB_IBV_REFUSE_NULL(vb_ibv_ctx(context), err, "ibv_alloc_dmah");
	errno = was;
	d = vb_object_new(VB_OBJECT_DMAH, sizeof *d);
	if (!d)
		return VB_IBV_REFUSE_NULL(vb_ibv_ctx(context), ENOMEM, "ibv_alloc_dmah");
	d->context = context;
	return (struct ibv_dmah *)(void *)d;
}

int ibv_dealloc_dmah(struct ibv_dmah *dmah)
{
	struct vb_ibv_dmah *d = (struct vb_ibv_dmah *)(void *)dmah;
	uint32_t used;

	if (!vb_object_is(d, VB_OBJECT_DMAH))
		return vb_ibv_refuse(NULL, vb_ibv_why_gone(VB_OBJECT_DMAH), "ibv_dealloc_dmah");
	used = atomic_load(&d->user_cnt);
	if (used)
		return vb_ibv_refuse(vb_ibv_ctx(d->context),
				     VB_IBV_WHY(EBUSY, "regions have it: %u", used),
				     "ibv_dealloc_dmah");
	vb_object_free(d);
	return 0;
}

/* Which attributes go together. */
static int mr_attr_check(const struct ibv_pd *pd, const struct vb_mr_init_attr *attr)
{
	const struct vb_ibv_dmah *d = (const struct vb_ibv_dmah *)(const void *)attr->dmah;
	uint64_t mask = attr->comp_mask;

	if (mask & ~(uint64_t)MR_KNOWN)
		return VB_IBV_WHY(
		    EOPNOTSUPP, "comp_mask 0x%" PRIx64 " has attributes that are not known", mask);
	if (!(mask & VB_MR_ADDR) == !(mask & VB_MR_FD))
		return VB_IBV_WHY(
		    EINVAL, "comp_mask 0x%" PRIx64 " has not one of IBV_REG_MR_MASK_ADDR and _FD",
		    mask);
	if (mask & VB_MR_FD_OFFSET && !(mask & VB_MR_FD))
		return VB_IBV_WHY(EINVAL, "comp_mask has IBV_REG_MR_MASK_FD_OFFSET without _FD");
	if (mask & VB_MR_BUF && !(mask & VB_MR_ADDR))
		return VB_IBV_WHY(EINVAL, "comp_mask has IBV_REG_MR_MASK_BUF without _ADDR");
	if (mask & VB_MR_DMAH && !vb_object_is(d, VB_OBJECT_DMAH))
		return vb_ibv_why_gone(VB_OBJECT_DMAH);
	if (mask & VB_MR_DMAH && d->context != pd->context)
		return vb_ibv_why_elsewhere(VB_OBJECT_DMAH);
	return 0;
}

struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *init)
{
	const struct vb_mr_init_attr *attr = (const struct vb_mr_init_attr *)(const void *)init;
	struct ibv_mr *mr;
	uint64_t offset;
	int err = vb_ibv_check(pd, VB_OBJECT_PD) ? ENOENT : mr_attr_check(pd, attr);

	if (!err && attr->comp_mask & VB_MR_BUF)
		err = vb_ibv_buf_check(pd, attr->buf, attr->addr, attr->length);
	if (err)
		return VB_IBV_REFUSE_NULL(NULL, err, "ibv_reg_mr_ex");
	if (attr->comp_mask & VB_MR_FD) {
		offset = attr->comp_mask & VB_MR_FD_OFFSET ? attr->fd_offset : 0;
		mr = ibv_reg_dmabuf_mr(pd, offset, attr->length,
				       attr->comp_mask & VB_MR_IOVA ? attr->iova : offset, attr->fd,
				       attr->access);
	} else {
		mr = ibv_reg_mr_iova2(pd, attr->addr, attr->length,
				      attr->comp_mask & VB_MR_IOVA ? attr->iova
								   : (uintptr_t)attr->addr,
				      (unsigned)attr->access);
	}
	if (mr && attr->comp_mask & VB_MR_DMAH) {
		((struct vb_ibv_mr *)mr)->dmah = (struct vb_ibv_dmah *)(void *)attr->dmah;
		atomic_fetch_add(&((struct vb_ibv_mr *)mr)->dmah->user_cnt, 1);
	}
	return mr;
}
