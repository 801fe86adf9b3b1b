/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Buffers that the adapter allocates: pages of the process, which are as good to it as any other
 * memory. There is no dma-buf behind them. ibv_alloc_buf(3)
 */
#include "verbs/memory/buf.h"

#include "verbs/later.h"

#include <sys/mman.h>

struct ibv_buf {
	const struct ibv_pd *pd;
	uint8_t *p;
	size_t size;
};

void *ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **out)
{
	struct ibv_buf *buf;
	void *p;

	if (vb_ibv_check(pd, VB_OBJECT_PD))
		return VB_IBV_REFUSE_NULL(NULL, ENOENT, "ibv_alloc_buf");
	if (size == 0)
		return VB_IBV_REFUSE_NULL(vb_ibv_ctx(pd->context), VB_IBV_WHY(EINVAL, "size is 0"),
					  "ibv_alloc_buf");
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return VB_IBV_REFUSE_NULL(vb_ibv_ctx(pd->context),
					  VB_IBV_WHY(ENOMEM, "no memory for %zu bytes", size),
					  "ibv_alloc_buf");
	buf = vb_object_new(VB_OBJECT_BUF, sizeof *buf);
	if (!buf) {
		(void)munmap(p, size);
		return vb_ibv_null(ENOMEM);
	}
	*buf = (struct ibv_buf){.pd = pd, .p = p, .size = size};
	*out = buf;
	return p;
}

void ibv_free_buf(struct ibv_buf *buf)
{
	if (!vb_object_is(buf, VB_OBJECT_BUF)) {
		(void)vb_ibv_refuse(NULL, vb_ibv_why_gone(VB_OBJECT_BUF), "ibv_free_buf");
		return;
	}
	(void)munmap(buf->p, buf->size);
	vb_object_free(buf);
}

int vb_ibv_buf_check(const struct ibv_pd *pd, const struct ibv_buf *buf, const void *addr,
		     size_t length)
{
	const uint8_t *p = addr;

	if (!vb_object_is(buf, VB_OBJECT_BUF))
		return vb_ibv_why_gone(VB_OBJECT_BUF);
	if (buf->pd != pd)
		return VB_IBV_WHY(EINVAL,
				  "the buffer is of another protection domain (ibv_alloc_buf(3))");
	if (p < buf->p || p > buf->p + buf->size || length > (size_t)(buf->p + buf->size - p))
		return VB_IBV_WHY(EINVAL, "%zu bytes at %p are not in the buffer, %zu bytes at %p",
				  length, addr, buf->size, (const void *)buf->p);
	return 0;
}

struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr, size_t length,
			      int access)
{
	int err = vb_ibv_check(pd, VB_OBJECT_PD) ? ENOENT : vb_ibv_buf_check(pd, buf, addr, length);

	if (err)
		return VB_IBV_REFUSE_NULL(NULL, err, "ibv_reg_buf_mr");
	return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned)access);
}

int ibv_export_buf_dmabuf_fd(struct ibv_buf *buf)
{
	int err =
	    vb_object_is(buf, VB_OBJECT_BUF)
		? VB_IBV_WHY(ENODATA, "no dma-buf is behind the buffers here (ibv_alloc_buf(3))")
		: vb_ibv_why_gone(VB_OBJECT_BUF);

	return VB_IBV_REFUSE_FAIL(NULL, err, "ibv_export_buf_dmabuf_fd");
}
