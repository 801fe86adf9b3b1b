/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protection domains, memory regions and windows. Registering touches every page once, as a NIC
 * would pin it: memory that is not there, or may not be written, is refused now and not when a peer
 * comes for it. man 3 ibv_reg_mr
 */
#include "verbs/objects.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

#define ACCESS_KNOWN                                                                               \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED |                   \
	 IBV_ACCESS_HUGETLB | IBV_ACCESS_RELAXED_ORDERING)

VERBS_API struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct verbena_pd *pd = calloc(1, sizeof *pd);
	int err = pd ? 0 : -ENOMEM;

	if (!err && !verbs_enter(context))
		err = -EIO;
	else if (!err) {
		err = vb_pd_create(vb_engine_hca(engine_of(context)), &pd->pd);
		verbs_leave(context);
	}
	if (err) {
		free(pd);
		return verbs_null(err);
	}
	pd->ibv.context = context;
	return &pd->ibv;
}

VERBS_API int ibv_dealloc_pd(struct ibv_pd *ibv)
{
	struct verbena_pd *pd = vb_container_of(ibv, struct verbena_pd, ibv);
	int err;

	if (!verbs_enter(ibv->context))
		return EIO;
	err = vb_pd_destroy(pd->pd);
	verbs_leave(ibv->context);
	if (!err)
		free(pd);
	return -err;
}

/* Looks in /proc/self/maps, for kernels before 5.14: the whole range mapped with @prot ("r" or
 * "w")? */
static int maps_check(uintptr_t start, uintptr_t end, bool write)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long from, to;
	char perm[5];
	uintptr_t at = start;

	if (!f)
		return 0; /* no way to tell */
	while (at < end && fscanf(f, "%lx-%lx %4s%*[^\n]", &from, &to, perm) == 3) {
		if (to <= at)
			continue;
		if (from > at || perm[0] != 'r' || (write && perm[1] != 'w'))
			break;
		at = to;
	}
	fclose(f);
	return at >= end ? 0 : -EFAULT;
}

static int memory_check(void *addr, size_t length, bool write)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
	uintptr_t start = (uintptr_t)addr & ~page;
	uintptr_t end = ((uintptr_t)addr + length + page) & ~page;

	if (end <= start)
		return -EFAULT;
	while (
	    madvise((void *)start, end - start, write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ)) {
		if (errno == EAGAIN || errno == EINTR)
			continue;
		if (errno == EINVAL) /* no such advice, or no such right */
			return maps_check(start, end, write);
		return errno == ENOMEM || errno == EFAULT ? -EFAULT : -errno;
	}
	return 0;
}

static struct ibv_mr *mr_create(struct ibv_pd *ibv, void *addr, size_t length, uint64_t iova,
				unsigned int access)
{
	struct vb_mr_attr attr = {.iova = iova, .length = length, .host = addr, .access = access};
	struct verbena_mr *mr;
	int err;

	/* The upper bits are optional rights: what is not known is not granted. */
	if (length == 0 || (access & ~(ACCESS_KNOWN | IBV_ACCESS_OPTIONAL_RANGE)))
		return verbs_null(length && (access & IBV_ACCESS_ON_DEMAND) ? -EOPNOTSUPP
									    : -EINVAL);
	if (access & IBV_ACCESS_ZERO_BASED)
		attr.iova = 0;
	err = memory_check(addr, length, access & IBV_ACCESS_LOCAL_WRITE);
	if (err)
		return verbs_null(err);
	mr = calloc(1, sizeof *mr);
	if (!mr)
		return verbs_null(-ENOMEM);
	if (!verbs_enter(ibv->context)) {
		err = -EIO;
	} else {
		err =
		    vb_mr_create(vb_container_of(ibv, struct verbena_pd, ibv)->pd, &attr, &mr->mr);
		verbs_leave(ibv->context);
	}
	if (err) {
		free(mr);
		return verbs_null(err);
	}
	mr->ibv = (struct ibv_mr){.context = ibv->context,
				  .pd = ibv,
				  .addr = addr,
				  .length = length,
				  .handle = vb_mr_lkey(mr->mr) >> 8,
				  .lkey = vb_mr_lkey(mr->mr),
				  .rkey = vb_mr_rkey(mr->mr)};
	return &mr->ibv;
}

/* The header makes macros of these that choose one by the compiler's optimisation level. */
#undef ibv_reg_mr
VERBS_API struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return mr_create(pd, addr, length, (uintptr_t)addr, (unsigned int)access);
}

#undef ibv_reg_mr_iova
VERBS_API struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length,
					 uint64_t iova, int access)
{
	return mr_create(pd, addr, length, iova, (unsigned int)access);
}

VERBS_API struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length,
					  uint64_t iova, unsigned int access)
{
	return mr_create(pd, addr, length, iova, access);
}

VERBS_API struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
					   uint64_t iova, int fd, int access)
{
	(void)pd, (void)offset, (void)length, (void)iova, (void)fd, (void)access;
	return verbs_null(-EOPNOTSUPP);
}

VERBS_API int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr,
			   size_t length, int access)
{
	(void)mr, (void)flags, (void)pd, (void)addr, (void)length, (void)access;
	errno = EOPNOTSUPP;
	return IBV_REREG_MR_ERR_INPUT;
}

VERBS_API int ibv_dereg_mr(struct ibv_mr *ibv)
{
	struct verbena_mr *mr = vb_container_of(ibv, struct verbena_mr, ibv);
	int err;

	if (!verbs_enter(ibv->context))
		return EIO;
	err = vb_mr_destroy(mr->mr);
	verbs_leave(ibv->context);
	if (!err)
		free(mr);
	return -err;
}
