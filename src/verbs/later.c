/* SPDX-License-Identifier: BSD-2-Clause */
/* Refuses the calls that rdma-core has since version 59: see later.h. */
#include "verbs/later.h"

#include "verbs/priv.h"

struct ibv_dmah *ibv_alloc_dmah(struct ibv_context *context, struct ibv_dmah_init_attr *attr)
{
	(void)context, (void)attr;
	return vb_ibv_null(EOPNOTSUPP);
}

int ibv_dealloc_dmah(struct ibv_dmah *dmah)
{
	(void)dmah;
	return vb_ibv_result(EOPNOTSUPP);
}

struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attr)
{
	(void)pd, (void)attr;
	return vb_ibv_null(EOPNOTSUPP);
}

int ibv_dm_export_dmabuf_fd(struct ibv_dm *dm)
{
	(void)dm;
	return vb_ibv_fail(EOPNOTSUPP);
}

int ibv_query_port_speed(struct ibv_context *context, uint32_t port, uint64_t *speed)
{
	(void)context, (void)port, (void)speed;
	return vb_ibv_result(EOPNOTSUPP);
}

void *ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **buf)
{
	(void)pd, (void)size, (void)buf;
	return vb_ibv_null(EOPNOTSUPP);
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
	return vb_ibv_null(EOPNOTSUPP);
}

int ibv_export_buf_dmabuf_fd(struct ibv_buf *buf)
{
	(void)buf;
	return vb_ibv_fail(EOPNOTSUPP);
}

struct ibv_comp_cntr *ibv_create_comp_cntr(struct ibv_context *context,
					   struct ibv_comp_cntr_init_attr *attr)
{
	(void)context, (void)attr;
	return vb_ibv_null(EOPNOTSUPP);
}

int ibv_destroy_comp_cntr(struct ibv_comp_cntr *cntr)
{
	(void)cntr;
	return vb_ibv_result(EOPNOTSUPP);
}

int ibv_set_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t value)
{
	(void)cntr, (void)value;
	return vb_ibv_result(EOPNOTSUPP);
}

int ibv_set_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t value)
{
	(void)cntr, (void)value;
	return vb_ibv_result(EOPNOTSUPP);
}

int ibv_inc_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t amount)
{
	(void)cntr, (void)amount;
	return vb_ibv_result(EOPNOTSUPP);
}

int ibv_inc_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t amount)
{
	(void)cntr, (void)amount;
	return vb_ibv_result(EOPNOTSUPP);
}

int ibv_read_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t *value)
{
	(void)cntr, (void)value;
	return vb_ibv_result(EOPNOTSUPP);
}

int ibv_read_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t *value)
{
	(void)cntr, (void)value;
	return vb_ibv_result(EOPNOTSUPP);
}

int ibv_qp_attach_comp_cntr(struct ibv_qp *qp, struct ibv_comp_cntr *cntr,
			    struct ibv_qp_attach_comp_cntr_attr *attr)
{
	(void)qp, (void)cntr, (void)attr;
	return vb_ibv_result(EOPNOTSUPP);
}

int _ibv_query_comp_cntr_caps(struct ibv_context *context, struct ibv_comp_cntr_caps *caps,
			      size_t size)
{
	(void)context, (void)caps, (void)size;
	return vb_ibv_result(EOPNOTSUPP);
}
