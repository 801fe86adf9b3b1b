/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prefetching of on-demand regions, and the null region. All memory is pageable for an adapter that
 * is a program, so a region with IBV_ACCESS_ON_DEMAND differs in one thing: its memory need not be
 * there, and is looked at before each access. ibv_advise_mr(3), ibv_alloc_null_mr(3)
 */
#include "verbs/priv.h"

#include <stdlib.h>

/* Where the range is. Returns 0 or an errno. */
static int locate_range(struct ibv_pd *pd, const struct ibv_sge *s, bool write, void **p)
{
	struct vb_ibv_context *c = vb_ibv_ctx(pd->context);
	struct vb_sge sge = {s->addr, s->length, s->lkey};

	if (!vb_ibv_enter(c))
		return EIO;

	int err = -vb_mr_locate(((struct vb_ibv_pd *)pd)->core, &sge, write, p);

	if (err)
		(void)vb_ibv_why_core(c, err);
	vb_ibv_leave(c);
	return err;
}

/* As vb_engine_check_memory(). */
static int memory_check(const void *p, size_t length, bool write)
{
	int err = vb_engine_check_memory(p, length, write);

	return err ? VB_IBV_WHY(err, "not all of the %zu bytes at %p can be %s", length, p,
				write ? "written" : "read")
		   : 0;
}

static int advice_check(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
			uint32_t sge_cnt)
{
	if (vb_ibv_check(pd, VB_OBJECT_PD))
		return ENOENT;
	if (advice != IBV_ADVISE_MR_ADVICE_PREFETCH &&
	    advice != IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE &&
	    advice != IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return VB_IBV_WHY(ENOTSUP, "advice %u is none that the adapter has", advice);
	if (flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH)
		return VB_IBV_WHY(EINVAL, "flags 0x%x are not IBV_ADVISE_MR_FLAG_FLUSH", flags);
	if (!sge_cnt)
		return VB_IBV_WHY(EINVAL, "num_sge is 0 (ibv_advise_mr(3))");
	return 0;
}

/* The ranges are brought in before the call returns, whether the program wants to wait or not. */
int vb_ibv_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		     struct ibv_sge *sge, uint32_t sge_cnt)
{
	bool write = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	int was = errno, wrong = advice_check(pd, advice, flags, sge_cnt);

	if (wrong)
		return vb_ibv_refuse(NULL, wrong, "ibv_advise_mr");
	for (uint32_t i = 0; i < sge_cnt; i++) {
		void *p;
		int err = locate_range(pd, &sge[i], write, &p);

		/* Pages that are there are there for the adapter too: nothing to do for NO_FAULT.
		 */
		if (!err && sge[i].length && advice != IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
			err = memory_check(p, sge[i].length, write);
		/* Without FLUSH what the memory is like shows only when it is used. */
		if (err && (err != EFAULT || flags & IBV_ADVISE_MR_FLAG_FLUSH))
			return vb_ibv_refuse(vb_ibv_ctx(pd->context),
					     err == ENOENT ? vb_ibv_why_as(EFAULT) : err,
					     "ibv_advise_mr of range %u", i); /* ibv_advise_mr(3) */
	}
	errno = was; /* that of looking at the memory is nobody's */
	return 0;
}

struct ibv_mr *vb_ibv_alloc_null_mr(struct ibv_pd *pd)
{
	struct vb_mr_attr attr = {.kind = VB_MR_NULL, .access = VB_ACCESS_LOCAL_WRITE};
	struct ibv_mr *mr = vb_ibv_mr_create(pd, &attr, NULL, NULL);

	if (mr) {
		mr->length = SIZE_MAX;
		mr->rkey = 0; /* it has none */
	}
	return mr;
}
