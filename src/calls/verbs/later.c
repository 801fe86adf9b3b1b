/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls that rdma-core has since version 59: DMA handles, regions by attributes, buffers, the speed
 * of a port, completion counters. Declared by verbs/later.h, as headers may be older.
 */
#include "verbs/later.h"

#include "calls/next.h"
#include "calls/show.h"
#include "calls/verbs/destroy.h"

#include <stdint.h>

struct ibv_dmah *ibv_alloc_dmah(struct ibv_context *context, struct ibv_dmah_init_attr *attr)
{
	const struct vb_dmah_init_attr *a = (const void *)attr;
	struct vb_call c;
	struct ibv_dmah *dmah;

	vb_call_begin(&c, "ibv_alloc_dmah");
	vb_call_object(&c, "context", VB_KIND_CTX, context);
	vb_call_hex(&c, "comp_mask", a->comp_mask);
	if (a->comp_mask & VB_DMAH_CPU_ID)
		vb_call_number(&c, "cpu_id", a->cpu_id);
	if (a->comp_mask & VB_DMAH_PH)
		vb_call_number(&c, "ph", a->ph);
	if (a->comp_mask & VB_DMAH_MEM_TYPE)
		vb_call_number(&c, "tph_mem_type", a->tph_mem_type);
	vb_call_go(&c);
	dmah = vb_next_verbs()->ibv_alloc_dmah(context, attr);
	vb_call_done(&c);
	vb_call_end_object(&c, VB_KIND_DMAH, dmah);
	return dmah;
}

VB_CALLS_DESTROY_ENTRY(ibv_dealloc_dmah, ibv_dmah, VB_KIND_DMAH, "dmah")

/* The attributes that the mask names. */
static void region_attr(struct vb_call *c, const struct vb_mr_init_attr *a)
{
	vb_call_number(c, "length", (int64_t)a->length);
	vb_call_flags(c, "access", (unsigned)a->access, vb_names_access);
	vb_call_hex(c, "comp_mask", a->comp_mask);
	if (a->comp_mask & VB_MR_IOVA)
		vb_call_hex(c, "iova", a->iova);
	if (a->comp_mask & VB_MR_ADDR)
		vb_call_hex(c, "addr", (uintptr_t)a->addr);
	if (a->comp_mask & VB_MR_FD)
		vb_call_number(c, "fd", a->fd);
	if (a->comp_mask & VB_MR_FD_OFFSET)
		vb_call_number(c, "fd_offset", (int64_t)a->fd_offset);
	if (a->comp_mask & VB_MR_DMAH)
		vb_call_object(c, "dmah", VB_KIND_DMAH, a->dmah);
	if (a->comp_mask & VB_MR_BUF)
		vb_call_object(c, "buf", VB_KIND_BUF, a->buf);
}

struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attr)
{
	struct vb_call c;
	struct ibv_mr *mr;

	vb_call_begin(&c, "ibv_reg_mr_ex");
	vb_call_object(&c, "pd", VB_KIND_PD, pd);
	region_attr(&c, (const void *)attr);
	vb_call_go(&c);
	mr = vb_next_verbs()->ibv_reg_mr_ex(pd, attr);
	vb_call_done(&c);
	vb_call_end_region(&c, mr);
	return mr;
}

int ibv_dm_export_dmabuf_fd(struct ibv_dm *dm)
{
	struct vb_call c;
	int fd;

	vb_call_begin(&c, "ibv_dm_export_dmabuf_fd");
	vb_call_object(&c, "dm", VB_KIND_DM, dm);
	vb_call_go(&c);
	fd = vb_next_verbs()->ibv_dm_export_dmabuf_fd(dm);
	vb_call_done(&c);
	vb_call_end_count(&c, fd);
	return fd;
}

int ibv_query_port_speed(struct ibv_context *context, uint32_t port, uint64_t *speed)
{
	struct vb_call c;
	int rc;

	vb_call_begin(&c, "ibv_query_port_speed");
	vb_call_object(&c, "context", VB_KIND_CTX, context);
	vb_call_number(&c, "port_num", port);
	vb_call_go(&c);
	rc = vb_next_verbs()->ibv_query_port_speed(context, port, speed);
	vb_call_done(&c);
	if (!rc) {
		vb_call_results(&c);
		vb_call_number(&c, "port_speed", (int64_t)*speed);
	}
	vb_call_end_error(&c, rc);
	return rc;
}

void *ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **buf)
{
	struct vb_call c;
	void *addr;

	vb_call_begin(&c, "ibv_alloc_buf");
	vb_call_object(&c, "pd", VB_KIND_PD, pd);
	vb_call_number(&c, "size", (int64_t)size);
	vb_call_go(&c);
	addr = vb_next_verbs()->ibv_alloc_buf(pd, size, buf);
	vb_call_done(&c);
	if (addr) {
		vb_call_results(&c);
		vb_call_hex(&c, "addr", (uintptr_t)addr);
	}
	vb_call_end_object(&c, VB_KIND_BUF, addr ? *buf : NULL);
	return addr;
}

void ibv_free_buf(struct ibv_buf *buf)
{
	struct vb_call c;

	vb_call_begin(&c, "ibv_free_buf");
	vb_call_object(&c, "buf", VB_KIND_BUF, buf);
	vb_calls_object_remove(buf);
	vb_call_go(&c);
	vb_next_verbs()->ibv_free_buf(buf);
	vb_call_done(&c);
	vb_call_end(&c);
}

struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr, size_t length,
			      int access)
{
	struct vb_call c;
	struct ibv_mr *mr;

	vb_call_begin(&c, "ibv_reg_buf_mr");
	vb_call_object(&c, "pd", VB_KIND_PD, pd);
	vb_call_object(&c, "buf", VB_KIND_BUF, buf);
	vb_call_hex(&c, "addr", (uintptr_t)addr);
	vb_call_number(&c, "length", (int64_t)length);
	vb_call_flags(&c, "access", (unsigned)access, vb_names_access);
	vb_call_go(&c);
	mr = vb_next_verbs()->ibv_reg_buf_mr(pd, buf, addr, length, access);
	vb_call_done(&c);
	vb_call_end_region(&c, mr);
	return mr;
}

int ibv_export_buf_dmabuf_fd(struct ibv_buf *buf)
{
	struct vb_call c;
	int fd;

	vb_call_begin(&c, "ibv_export_buf_dmabuf_fd");
	vb_call_object(&c, "buf", VB_KIND_BUF, buf);
	vb_call_go(&c);
	fd = vb_next_verbs()->ibv_export_buf_dmabuf_fd(buf);
	vb_call_done(&c);
	vb_call_end_count(&c, fd);
	return fd;
}

struct ibv_comp_cntr *ibv_create_comp_cntr(struct ibv_context *context,
					   struct ibv_comp_cntr_init_attr *attr)
{
	static const struct vb_name types[] = {
	    {VB_CNTR_WRS, "WRS"}, {VB_CNTR_BYTES, "BYTES"}, {0, NULL}};
	const struct vb_comp_cntr_init_attr *a = (const void *)attr;
	struct vb_call c;
	struct ibv_comp_cntr *cntr;

	vb_call_begin(&c, "ibv_create_comp_cntr");
	vb_call_object(&c, "context", VB_KIND_CTX, context);
	vb_call_hex(&c, "comp_mask", a->comp_mask);
	vb_call_name(&c, "type", types, (uint64_t)a->type);
	vb_call_hex(&c, "flags", a->flags);
	vb_call_go(&c);
	cntr = vb_next_verbs()->ibv_create_comp_cntr(context, attr);
	vb_call_done(&c);
	vb_call_end_object(&c, VB_KIND_CNTR, cntr);
	return cntr;
}

VB_CALLS_DESTROY_ENTRY(ibv_destroy_comp_cntr, ibv_comp_cntr, VB_KIND_CNTR, "cntr")

/* A call that writes a counter: it gets a number. */
#define COUNTER_WRITE(verb, what)                                                                  \
	int verb(struct ibv_comp_cntr *cntr, uint64_t what)                                        \
	{                                                                                          \
		struct vb_call c;                                                                  \
		int rc;                                                                            \
                                                                                                   \
		vb_call_begin(&c, #verb);                                                          \
		vb_call_object(&c, "cntr", VB_KIND_CNTR, cntr);                                    \
		vb_call_number(&c, #what, (int64_t)(what));                                        \
		vb_call_go(&c);                                                                    \
		rc = vb_next_verbs()->verb(cntr, what);                                            \
		vb_call_done(&c);                                                                  \
		vb_call_end_error(&c, rc);                                                         \
		return rc;                                                                         \
	}

/* A call that reads one. */
#define COUNTER_READ(verb)                                                                         \
	int verb(struct ibv_comp_cntr *cntr, uint64_t *value)                                      \
	{                                                                                          \
		struct vb_call c;                                                                  \
		int rc;                                                                            \
                                                                                                   \
		vb_call_begin(&c, #verb);                                                          \
		vb_call_object(&c, "cntr", VB_KIND_CNTR, cntr);                                    \
		vb_call_go(&c);                                                                    \
		rc = vb_next_verbs()->verb(cntr, value);                                           \
		vb_call_done(&c);                                                                  \
		if (!rc) {                                                                         \
			vb_call_results(&c);                                                       \
			vb_call_number(&c, "value", (int64_t)*value);                              \
		}                                                                                  \
		vb_call_end_error(&c, rc);                                                         \
		return rc;                                                                         \
	}

COUNTER_WRITE(ibv_set_comp_cntr, value)
COUNTER_WRITE(ibv_set_err_comp_cntr, value)
COUNTER_WRITE(ibv_inc_comp_cntr, amount)
COUNTER_WRITE(ibv_inc_err_comp_cntr, amount)
COUNTER_READ(ibv_read_comp_cntr)
COUNTER_READ(ibv_read_err_comp_cntr)

int ibv_qp_attach_comp_cntr(struct ibv_qp *qp, struct ibv_comp_cntr *cntr,
			    struct ibv_qp_attach_comp_cntr_attr *attr)
{
	static const struct vb_name ops[] = {{VB_CNTR_OP_SEND, "SEND"},
					     {VB_CNTR_OP_RECV, "RECV"},
					     {VB_CNTR_OP_READ, "RDMA_READ"},
					     {VB_CNTR_OP_REMOTE_READ, "REMOTE_RDMA_READ"},
					     {VB_CNTR_OP_WRITE, "RDMA_WRITE"},
					     {VB_CNTR_OP_REMOTE_WRITE, "REMOTE_RDMA_WRITE"},
					     {0, NULL}};
	const struct vb_qp_attach_comp_cntr_attr *a = (const void *)attr;
	struct vb_call c;
	int rc;

	vb_call_begin(&c, "ibv_qp_attach_comp_cntr");
	vb_call_object(&c, "qp", VB_KIND_QP, qp);
	vb_call_object(&c, "cntr", VB_KIND_CNTR, cntr);
	vb_call_hex(&c, "comp_mask", a->comp_mask);
	vb_call_flags(&c, "op_mask", a->op_mask, ops);
	vb_call_go(&c);
	rc = vb_next_verbs()->ibv_qp_attach_comp_cntr(qp, cntr, attr);
	vb_call_done(&c);
	vb_call_end_error(&c, rc);
	return rc;
}

int _ibv_query_comp_cntr_caps(struct ibv_context *context, struct ibv_comp_cntr_caps *caps,
			      size_t size)
{
	const struct vb_comp_cntr_caps *got = (const void *)caps;
	struct vb_call c;
	int rc;

	vb_call_begin(&c, "ibv_query_comp_cntr_caps");
	vb_call_object(&c, "context", VB_KIND_CTX, context);
	vb_call_go(&c);
	rc = vb_next_verbs()->_ibv_query_comp_cntr_caps(context, caps, size);
	vb_call_done(&c);
	if (!rc && size >= sizeof *got) {
		vb_call_results(&c);
		vb_call_number(&c, "max_counters", got->max_counters);
		vb_call_hex(&c, "supported_qp_attach_ops", got->supported_qp_attach_ops);
	}
	vb_call_end_error(&c, rc);
	return rc;
}
