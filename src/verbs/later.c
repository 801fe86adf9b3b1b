/* SPDX-License-Identifier: BSD-2-Clause */
/* Refuses the calls that rdma-core has since version 59: see later.h. */
#include "verbs/later.h"

#include "verbs/priv.h"

static int why_none(const char *what)
{
	return VB_IBV_WHY(EOPNOTSUPP, "the adapter has no %s", what);
}

struct ibv_dmah *ibv_alloc_dmah(struct ibv_context *context, struct ibv_dmah_init_attr *attr)
{
	(void)context, (void)attr;
	return VB_IBV_REFUSE_NULL(NULL, why_none("DMA handles"), "ibv_alloc_dmah");
}

int ibv_dealloc_dmah(struct ibv_dmah *dmah)
{
	(void)dmah;
	return vb_ibv_refuse(NULL, why_none("DMA handles"), "ibv_dealloc_dmah");
}

struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attr)
{
	(void)pd, (void)attr;
	return VB_IBV_REFUSE_NULL(NULL, why_none("regions with DMA handles"), "ibv_reg_mr_ex");
}

int ibv_dm_export_dmabuf_fd(struct ibv_dm *dm)
{
	(void)dm;
	return VB_IBV_REFUSE_FAIL(NULL, why_none("dma-bufs to export"), "ibv_dm_export_dmabuf_fd");
}

int ibv_query_port_speed(struct ibv_context *context, uint32_t port, uint64_t *speed)
{
	(void)context, (void)port, (void)speed;
	return vb_ibv_refuse(NULL, why_none("speeds beside those of ibv_query_port(3)"),
			     "ibv_query_port_speed");
}

void *ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **buf)
{
	(void)pd, (void)size, (void)buf;
	return VB_IBV_REFUSE_NULL(NULL, why_none("buffers of its own"), "ibv_alloc_buf");
}

/* There is none. */
void ibv_free_buf(struct ibv_buf *buf)
{
	(void)buf;
}

struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr, size_t length,
			      int access)
{
	(void)pd, (void)buf, (void)addr, (void)length, (void)access;
	return VB_IBV_REFUSE_NULL(NULL, why_none("buffers of its own"), "ibv_reg_buf_mr");
}

int ibv_export_buf_dmabuf_fd(struct ibv_buf *buf)
{
	(void)buf;
	return VB_IBV_REFUSE_FAIL(NULL, why_none("dma-bufs to export"), "ibv_export_buf_dmabuf_fd");
}

struct ibv_comp_cntr *ibv_create_comp_cntr(struct ibv_context *context,
					   struct ibv_comp_cntr_init_attr *attr)
{
	(void)context, (void)attr;
	return VB_IBV_REFUSE_NULL(NULL, why_none("completion counters"), "ibv_create_comp_cntr");
}

int ibv_destroy_comp_cntr(struct ibv_comp_cntr *cntr)
{
	(void)cntr;
	return vb_ibv_refuse(NULL, why_none("completion counters"), "ibv_destroy_comp_cntr");
}

int ibv_set_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t value)
{
	(void)cntr, (void)value;
	return vb_ibv_refuse(NULL, why_none("completion counters"), "ibv_set_comp_cntr");
}

int ibv_set_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t value)
{
	(void)cntr, (void)value;
	return vb_ibv_refuse(NULL, why_none("completion counters"), "ibv_set_err_comp_cntr");
}

int ibv_inc_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t amount)
{
	(void)cntr, (void)amount;
	return vb_ibv_refuse(NULL, why_none("completion counters"), "ibv_inc_comp_cntr");
}

int ibv_inc_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t amount)
{
	(void)cntr, (void)amount;
	return vb_ibv_refuse(NULL, why_none("completion counters"), "ibv_inc_err_comp_cntr");
}

int ibv_read_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t *value)
{
	(void)cntr, (void)value;
	return vb_ibv_refuse(NULL, why_none("completion counters"), "ibv_read_comp_cntr");
}

int ibv_read_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t *value)
{
	(void)cntr, (void)value;
	return vb_ibv_refuse(NULL, why_none("completion counters"), "ibv_read_err_comp_cntr");
}

int ibv_qp_attach_comp_cntr(struct ibv_qp *qp, struct ibv_comp_cntr *cntr,
			    struct ibv_qp_attach_comp_cntr_attr *attr)
{
	(void)qp, (void)cntr, (void)attr;
	return vb_ibv_refuse(NULL, why_none("completion counters"), "ibv_qp_attach_comp_cntr");
}

int _ibv_query_comp_cntr_caps(struct ibv_context *context, struct ibv_comp_cntr_caps *caps,
			      size_t size)
{
	(void)context, (void)caps, (void)size;
	return vb_ibv_refuse(NULL, why_none("completion counters"), "ibv_query_comp_cntr_caps");
}
