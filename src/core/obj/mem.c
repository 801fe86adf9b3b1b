/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protection domains, memory regions, and every access to registered memory. An access by key, of a
 * peer or an application, passes through vb_mem_gather(), vb_mem_scatter() or vb_mem_remote():
 * key, PD, right and bounds are checked there and nowhere else. IBA 10.6, 9.7.4.1.5; IBT-82...84
 */
#include "core/obj/mem.h"
#include "base/assert.h"

#include "core/adapter.h"
#include "core/denial.h"
#include "core/obj/mw.h"
#include "core/obj/pd.h"

#include <errno.h>
#include <string.h>

int vb_pd_create(struct vb_hca *h, struct vb_pd **out)
{
	h->refusal.rule = VB_REFUSAL_NONE;
	if (h->pd_cnt >= h->cfg.limits.pd)
		return VB_REFUSE(h, -ENOMEM, VB_REFUSAL_FULL, .name = "PDs",
				 .bound = h->cfg.limits.pd);

	struct vb_pd *pd = vb_alloc(h, sizeof *pd);

	if (!pd)
		return -ENOMEM;
	pd->hca = h;
	vb_list_append(&h->pds, &pd->link);
	h->pd_cnt++;
	*out = pd;
	return 0;
}

int vb_pd_destroy(struct vb_pd *pd)
{
	if (pd->refs)
		return -EBUSY;
	VB_ASSERT_ALL(pd->hca->pd_cnt > 0);
	vb_list_remove(&pd->link);
	pd->hca->pd_cnt--;
	vb_free(pd->hca, pd);
	return 0;
}

/* IBT-83 */
static bool access_is_valid(uint32_t access)
{
	const uint32_t remote_writes = VB_ACCESS_REMOTE_WRITE | VB_ACCESS_REMOTE_ATOMIC;

	return !(access & remote_writes) || (access & VB_ACCESS_LOCAL_WRITE);
}

int vb_mr_create(struct vb_pd *pd, const struct vb_mr_attr *attr, struct vb_mr **out)
{
	struct vb_hca *h = pd->hca;

	h->refusal.rule = VB_REFUSAL_NONE;
	if (!access_is_valid(attr->access))
		return -EINVAL;
	if (attr->kind == VB_MR_NULL && attr->access & ~(uint32_t)VB_ACCESS_LOCAL_WRITE)
		return -EINVAL;
	if (attr->length > h->cfg.limits.mr_size)
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_MR_SIZE, .value = attr->length,
				 .bound = h->cfg.limits.mr_size);
	if (attr->iova + attr->length < attr->iova)
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_MR_IOVA, .value = attr->iova,
				 .bound = attr->length);

	struct vb_mr *mr = vb_alloc(h, sizeof *mr);

	if (!mr)
		return -ENOMEM;
	mr->key.kind = VB_KEY_MR;
	mr->kind = attr->kind;
	mr->iova = attr->kind == VB_MR_HOST ? attr->iova : 0;
	mr->length = attr->kind == VB_MR_HOST ? attr->length : UINT64_MAX;
	mr->host = attr->kind == VB_MR_HOST ? attr->host : NULL;
	mr->access = attr->access;
	mr->lease = attr->lease;
	mr->leased = attr->leased;

	int err = vb_key_insert(h, &mr->key, pd);

	if (err) {
		vb_free(h, mr);
		return err;
	}
	*out = mr;
	return 0;
}

int vb_mr_modify(struct vb_mr *mr, struct vb_pd *pd, uint32_t access)
{
	if (!access_is_valid(access) || pd->hca != mr->key.pd->hca)
		return -EINVAL;
	if (mr->window_cnt)
		return VB_REFUSE(pd->hca, -EBUSY, VB_REFUSAL_MR_WINDOWS, .value = mr->window_cnt);
	mr->key.pd->refs--;
	pd->refs++;
	mr->key.pd = pd;
	mr->access = access;
	return 0;
}

int vb_mr_destroy(struct vb_mr *mr)
{
	struct vb_hca *h = mr->key.pd->hca;

	if (mr->window_cnt)
		return VB_REFUSE(h, -EBUSY, VB_REFUSAL_MR_WINDOWS, .value = mr->window_cnt);
	vb_key_remove(h, &mr->key);
	vb_free(h, mr);
	return 0;
}

uint32_t vb_mr_lkey(const struct vb_mr *mr)
{
	return mr->key.key;
}

uint32_t vb_mr_rkey(const struct vb_mr *mr)
{
	return mr->key.key;
}

static uint8_t *mr_host_at(const struct vb_mr *mr, uint64_t va)
{
	if (mr->kind == VB_MR_IMPLICIT)
		return (uint8_t *)(uintptr_t)va;
	return mr->host ? mr->host + (va - mr->iova) : NULL;
}

/* Before @len bytes at @p of @mr are read or written. Returns 0 or -EFAULT. */
static int mr_page_in(const struct vb_mr *mr, uint8_t *p, uint64_t len, bool write)
{
	const struct vb_hca_config *cfg = &mr->key.pd->hca->cfg;
	const uint64_t most = vb_mtu_bytes(VB_MTU_4096);

	if (!(mr->access & VB_ACCESS_ON_DEMAND) || !len)
		return 0;
	if (!p)
		return mr->kind == VB_MR_IMPLICIT ? -EFAULT : 0;
	if (!cfg->page_in)
		return 0;
	/* At most one packet of it is looked at now. */
	return cfg->page_in(cfg->page_in_ctx, p, (size_t)(len < most ? len : most), write);
}

int vb_mr_locate(const struct vb_pd *pd, const struct vb_sge *sge, bool write, void **p)
{
	struct vb_hca *h = pd->hca;
	const struct vb_key *k = vb_key_find(h, sge->lkey);

	if (!k || k->kind != VB_KEY_MR)
		return VB_REFUSE(h, k ? -EINVAL : -ENOENT, VB_REFUSAL_SGE_KEY, .value = sge->lkey);

	const struct vb_mr *mr = vb_container_of(k, struct vb_mr, key);

	if (vb_mr_is_lost(mr))
		return VB_REFUSE(h, -EFAULT, VB_REFUSAL_SGE_LOST, .value = sge->lkey);
	if (k->pd != pd)
		return VB_REFUSE(h, -EPERM, VB_REFUSAL_SGE_PD, .value = sge->lkey);
	if (write && !(mr->access & VB_ACCESS_LOCAL_WRITE))
		return VB_REFUSE(h, -EPERM, VB_REFUSAL_SGE_RIGHT, .value = sge->lkey);
	if (!(mr->access & VB_ACCESS_ON_DEMAND))
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_SGE_DEMAND, .value = sge->lkey);
	if (!vb_range_within(sge->addr, sge->length, mr->iova, mr->length))
		return VB_REFUSE(h, -EFAULT, VB_REFUSAL_SGE_RANGE, .value = sge->addr,
				 .bound = sge->length);
	*p = mr_host_at(mr, sge->addr);
	return 0;
}

/* Notes why there is no access, and answers with none. */
VB_COLD static const struct vb_mr *deny_access(struct vb_denial *d, enum vb_denial_check check,
					       uint64_t by)
{
	if (d) {
		d->check = check;
		d->by = by;
	}
	return NULL;
}

VB_COLD static const struct vb_mr *deny_right(struct vb_denial *d, uint32_t missing)
{
	if (d)
		d->access = (uint16_t)missing;
	return deny_access(d, VB_DENIAL_RIGHT, 0);
}

/* [@va, @va + @len) is not within [@start, @start + @size). */
VB_COLD static const struct vb_mr *deny_range(struct vb_denial *d, uint64_t va, uint64_t len,
					      uint64_t start, uint64_t size)
{
	if (va < start)
		return deny_access(d, VB_DENIAL_BEFORE, start - va);
	return deny_access(d, VB_DENIAL_BEHIND, va - start + len - size);
}

/* The region that an SGE names, when @pd may use it so; else NULL, and why in @d, unless NULL. */
static const struct vb_mr *sge_find(const struct vb_pd *pd, const struct vb_sge *s, uint32_t access,
				    struct vb_denial *d)
{
	const struct vb_key *k = vb_key_find(pd->hca, s->lkey);

	if (!k)
		return deny_access(d, vb_key_why(pd->hca, s->lkey), 0);
	if (k->kind != VB_KEY_MR)
		return deny_access(d, VB_DENIAL_KEY_KIND, 0);
	if (k->pd != pd)
		return deny_access(d, VB_DENIAL_OTHER_PD, 0);

	const struct vb_mr *mr = vb_container_of(k, struct vb_mr, key);

	if ((mr->access & access) != access)
		return deny_right(d, access & ~mr->access);
	if (vb_mr_is_lost(mr))
		return deny_access(d, VB_DENIAL_MEMORY_LOST, 0);
	if (!vb_range_within(s->addr, s->length, mr->iova, mr->length))
		return deny_range(d, s->addr, s->length, mr->iova, mr->length);
	return mr;
}

void vb_mem_why_local(const struct vb_pd *pd, const struct vb_sge *sge, uint32_t sge_cnt,
		      uint32_t access, struct vb_denial *d)
{
	for (uint32_t i = 0; i < sge_cnt; i++) {
		const struct vb_mr *mr;

		if (!sge[i].length)
			continue;
		d->key = sge[i].lkey;
		d->va = sge[i].addr;
		d->len = sge[i].length;
		mr = sge_find(pd, &sge[i], access, d);
		if (!mr)
			return;
		if (mr->kind == VB_MR_IMPLICIT && !sge[i].addr) {
			(void)deny_access(d, VB_DENIAL_PAGES, 0);
			return;
		}
	}
}

int vb_mem_guarded(const struct vb_hca *h, void (*f)(void *arg), void *arg)
{
	if (h->cfg.guard)
		return h->cfg.guard(f, arg);
	f(arg);
	return 0;
}

struct copy {
	void *to;
	const void *from;
	size_t len;
};

static void copy_bytes(void *arg)
{
	const struct copy *c = arg;

	memcpy(c->to, c->from, c->len);
}

int vb_mem_write(const struct vb_hca *h, void *to, const void *from, size_t len)
{
	return vb_mem_guarded(h, copy_bytes, &(struct copy){to, from, len});
}

/* No machine has smaller pages. */
#define PAGE_MIN 4096u

static void touch_pages(void *arg)
{
	const struct copy *c = arg;
	const volatile uint8_t *p = c->from;

	for (size_t i = 0; i < c->len; i += PAGE_MIN)
		(void)p[i];
	(void)p[c->len - 1];
}

int vb_mem_touch(const struct vb_hca *h, const void *p, uint64_t len)
{
	if (!h->cfg.guard || !p || !len)
		return 0;
	return h->cfg.guard(touch_pages, &(struct copy){NULL, p, (size_t)len});
}

/* The bytes that a null region gives to one packet. */
static const uint8_t zeros[VB_PAYLOAD_MAX];

int vb_mem_gather(const struct vb_pd *pd, const struct vb_sge *sge, uint32_t sge_cnt, uint64_t off,
		  uint32_t len, uint32_t access, struct vb_seg *seg, uint32_t seg_max)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < sge_cnt && len > 0; i++) {
		const struct vb_sge *s = &sge[i];

		if (off >= s->length) {
			off -= s->length;
			continue;
		}

		const struct vb_mr *mr = sge_find(pd, s, access, NULL);
		uint32_t n = s->length - (uint32_t)off;

		if (!mr)
			return -EACCES;
		VB_ASSERT(cnt < seg_max);
		n = n < len ? n : len;

		uint8_t *p = mr_host_at(mr, s->addr + off);

		if (mr_page_in(mr, p, n, access & VB_ACCESS_LOCAL_WRITE))
			return -EACCES;
		if (!(access & VB_ACCESS_LOCAL_WRITE) && vb_mem_touch(pd->hca, p, n))
			return -EFAULT;
		/* Bytes written to a null region have nowhere to go. */
		seg[cnt++] = (struct vb_seg){
		    mr->kind == VB_MR_NULL && !(access & VB_ACCESS_LOCAL_WRITE) ? zeros : p, n};
		len -= n;
		off = 0;
	}
	return len == 0 ? (int)cnt : -EMSGSIZE;
}

int vb_mem_scatter(const struct vb_pd *pd, const struct vb_sge *sge, uint32_t sge_cnt, uint64_t off,
		   const void *src, uint32_t len)
{
	struct vb_seg seg[VB_TX_BATCH_SEGS];
	int cnt =
	    vb_mem_gather(pd, sge, sge_cnt, off, len, VB_ACCESS_LOCAL_WRITE, seg, VB_TX_BATCH_SEGS);
	const uint8_t *from = src;

	for (int i = 0; i < cnt; i++) {
		if (seg[i].p && from &&
		    vb_mem_write(pd->hca, (void *)(uintptr_t)seg[i].p, from, seg[i].len))
			return -EFAULT;
		if (from)
			from += seg[i].len;
	}
	return cnt < 0 ? cnt : 0;
}

int vb_mem_read_back(const struct vb_pd *pd, const struct vb_sge *sge, uint32_t sge_cnt, void *to,
		     uint32_t len)
{
	struct vb_seg seg[VB_TX_BATCH_SEGS];
	int cnt =
	    vb_mem_gather(pd, sge, sge_cnt, 0, len, VB_ACCESS_LOCAL_WRITE, seg, VB_TX_BATCH_SEGS);
	uint8_t *at = to;

	for (int i = 0; i < cnt; i++) {
		if (!seg[i].p || vb_mem_write(pd->hca, at, seg[i].p, seg[i].len))
			return -EFAULT;
		at += seg[i].len;
	}
	return cnt < 0 ? cnt : 0;
}

/*
 * The region that @r names, when all of its range may be used so, or any of it (@whole); *va is an
 * address of the region then. NULL: it may not, and why in @d, unless NULL.
 */
static const struct vb_mr *remote_find(const struct vb_remote *r, bool whole, uint64_t *va,
				       struct vb_denial *d)
{
	const struct vb_key *k = vb_key_find(r->hca, r->rkey);
	uint32_t access = r->access;
	uint64_t len = r->len;
	const struct vb_mr *mr;

	*va = r->va;
	if (!k)
		return deny_access(d, vb_key_why(r->hca, r->rkey), 0);
	if (k->pd != r->pd)
		return deny_access(d, VB_DENIAL_OTHER_PD, 0);
	if (k->kind == VB_KEY_MR) {
		mr = vb_container_of(k, struct vb_mr, key);
		if ((mr->access & access) != access)
			return deny_right(d, access & ~mr->access);
		if (vb_mr_is_lost(mr))
			return deny_access(d, VB_DENIAL_MEMORY_LOST, 0);
		if (!whole && !vb_range_within(*va, len, mr->iova, mr->length))
			return deny_range(d, *va, len, mr->iova, mr->length);
		return mr;
	}

	const struct vb_mw *mw = vb_container_of(k, struct vb_mw, key);

	if (!mw->mr)
		return deny_access(d, VB_DENIAL_UNBOUND, 0);
	if (vb_mr_is_lost(mw->mr))
		return deny_access(d, VB_DENIAL_MEMORY_LOST, 0);
	if ((mw->access & access) != access)
		return deny_right(d, access & ~mw->access);
	/* A type 2 window serves only the QP it was bound through. IBA 10.6.7.2.5 */
	if (mw->type == 2 && mw->qpn != r->qpn)
		return deny_access(d, VB_DENIAL_WINDOW_QP, 0);
	if (!whole && !vb_range_within(*va, len, mw->iova, mw->length))
		return deny_range(d, *va, len, mw->iova, mw->length);
	*va = mw->start + (*va - mw->iova);
	return mw->mr;
}

bool vb_mem_is_remote(const struct vb_remote *r, bool whole)
{
	uint64_t va;

	return remote_find(r, whole, &va, NULL) != NULL;
}

/* The memory of @mr at @va for a peer; NULL: a region without bytes. -EACCES: the peer may not have
 * it, and why in @d, unless NULL. */
static int remote_locate(const struct vb_mr *mr, uint64_t va, uint64_t len, uint32_t access,
			 uint8_t **p, struct vb_denial *d)
{
	uint8_t *at = mr_host_at(mr, va);

	/* Where a peer may reach, each byte was checked before. */
	VB_ASSERT_ALL(vb_range_within(va, len, mr->iova, mr->length) || mr->kind != VB_MR_HOST);
	if (mr->kind == VB_MR_NULL) {
		(void)deny_access(d, VB_DENIAL_NO_BYTES, 0);
		return -EACCES;
	}
	if (mr_page_in(mr, at, len, access & (VB_ACCESS_REMOTE_WRITE | VB_ACCESS_REMOTE_ATOMIC))) {
		(void)deny_access(d, VB_DENIAL_PAGES, 0);
		return -EACCES;
	}
	*p = at;
	return 0;
}

int vb_mem_remote(const struct vb_remote *r, uint8_t **p)
{
	uint64_t va;
	const struct vb_mr *mr = remote_find(r, false, &va, NULL);

	*p = NULL;
	return mr ? remote_locate(mr, va, r->len, r->access, p, NULL) : -EACCES;
}

void vb_mem_why_remote(const struct vb_remote *r, struct vb_denial *d)
{
	uint64_t va;
	const struct vb_mr *mr = remote_find(r, false, &va, d);
	uint8_t *p;

	if (mr)
		(void)remote_locate(mr, va, r->len, r->access, &p, d);
}

int vb_mem_check(const struct vb_pd *pd, const struct vb_sge *sge, uint32_t sge_cnt,
		 uint32_t access)
{
	for (uint32_t i = 0; i < sge_cnt; i++) {
		if (sge[i].length && !sge_find(pd, &sge[i], access, NULL))
			return -EACCES;
	}
	return 0;
}
