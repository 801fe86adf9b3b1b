/* SPDX-License-Identifier: BSD-2-Clause */
/* Access to registered memory: SGEs by L_Key, remote addresses by R_Key. IBA 10.6 */
#ifndef VB_CORE_OBJ_MEM_H
#define VB_CORE_OBJ_MEM_H

#include "base/cold.h"
#include "core/denial.h"
#include "core/hca.h"
#include "core/obj/key.h"
#include "core/types.h"
#include "wire/packet.h"

struct vb_hca;
struct vb_pd;

struct vb_mr {
	struct vb_key key;
	uint64_t iova, length;
	uint8_t *host; /* NULL: the region has a length only */
	enum vb_mr_kind kind;
	uint32_t access;
	uint32_t window_cnt; /* memory windows bound to it */
	uint32_t leased;
	const uint32_t *lease; /* NULL: none */
};

/* Its memory has been taken back: its keys name nothing. */
static inline bool vb_mr_is_lost(const struct vb_mr *mr)
{
	return mr->lease && __atomic_load_n(mr->lease, __ATOMIC_ACQUIRE) != mr->leased;
}

/* A peer's access: the right to [va, va + len) under rkey, in a PD, or (PD of NULL) in none,
 * through the QP with number qpn. */
struct vb_remote {
	const struct vb_hca *hca;
	const struct vb_pd *pd;
	uint32_t qpn;
	uint32_t rkey;
	uint32_t access; /* set of enum vb_access */
	uint64_t va, len;
};

/* True when [va, va + len) lies in [start, start + size), whatever the numbers. */
static inline bool vb_range_within(uint64_t va, uint64_t len, uint64_t start, uint64_t size)
{
	return va >= start && va - start <= size && len <= size - (va - start);
}

/*
 * Where @len bytes at offset @off of a list of SGEs are: appends runs to @seg (at most @seg_max)
 * and returns their number, or a negative errno: an L_Key, PD, bound or right is wrong, or the
 * memory to be read is gone.
 */
int vb_mem_gather(const struct vb_pd *pd, const struct vb_sge *sge, uint32_t sge_cnt, uint64_t off,
		  uint32_t len, uint32_t access, struct vb_seg *seg, uint32_t seg_max);
/* 0 when @pd may use all of the SGEs for @access; -EACCES otherwise. */
int vb_mem_check(const struct vb_pd *pd, const struct vb_sge *sge, uint32_t sge_cnt,
		 uint32_t access);
/* Copies @len bytes from @src (NULL: absent) to offset @off of the SGEs. Needs LOCAL_WRITE. */
int vb_mem_scatter(const struct vb_pd *pd, const struct vb_sge *sge, uint32_t sge_cnt, uint64_t off,
		   const void *src, uint32_t len);
/* Checks a remote access. On success *p is the address (NULL: memory without bytes). -EACCES: key,
 * PD, bounds or right is wrong. */
int vb_mem_remote(const struct vb_remote *r, uint8_t **p);
/* Whether the access is allowed, without touching the memory; @whole: for any range. */
bool vb_mem_is_remote(const struct vb_remote *r, bool whole);

/* Notes in @d why vb_mem_remote() or vb_mem_is_remote() said no, or the check of local SGEs did.
 * Not to be found again: d->check stays VB_DENIAL_NONE. */
VB_COLD void vb_mem_why_remote(const struct vb_remote *r, struct vb_denial *d);
/* Why no key is @key, as far as the table remembers. */
VB_COLD enum vb_denial_check vb_key_why(const struct vb_hca *h, uint32_t key);
VB_COLD void vb_mem_why_local(const struct vb_pd *pd, const struct vb_sge *sge, uint32_t sge_cnt,
			      uint32_t access, struct vb_denial *d);

/*
 * Access to registered memory, which a program may have unmapped or made read-only: 0 or -EFAULT.
 * vb_mem_touch() reads a little of each page, so that what a link copies soon is there.
 */
int vb_mem_touch(const struct vb_hca *h, const void *p, uint64_t len);
int vb_mem_write(const struct vb_hca *h, void *to, const void *from, size_t len);
int vb_mem_guarded(const struct vb_hca *h, void (*f)(void *arg), void *arg);

#endif
