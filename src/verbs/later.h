/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Entry points that libibverbs.so.1 has since rdma-core 59. rdma-core's own would go through a
 * table behind the context that only its own contexts have. They are declared here as later headers
 * declare them, because <infiniband/verbs.h> may be older, and so are the structures that programs
 * pass: those are ABI, so that a program that was built with later headers is served by a library
 * that was built with older ones. abi_check.c compares them where the headers have them.
 *
 * Refused are dma-bufs to export, since no memory here is a dma-buf: EOPNOTSUPP, or ENODATA of a
 * buffer; and counters of what the other side writes and reads, which the capabilities do not have.
 */
#ifndef VB_VERBS_LATER_H
#define VB_VERBS_LATER_H

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

struct ibv_buf;
struct ibv_comp_cntr;
struct ibv_comp_cntr_caps;
struct ibv_comp_cntr_init_attr;
struct ibv_dmah;
struct ibv_dmah_init_attr;
struct ibv_mr_init_attr;
struct ibv_qp_attach_comp_cntr_attr;

/* enum ibv_dmah_init_attr_mask, struct ibv_dmah_init_attr */
enum { VB_DMAH_CPU_ID = 1, VB_DMAH_PH = 2, VB_DMAH_MEM_TYPE = 4 };
struct vb_dmah_init_attr {
	uint32_t comp_mask;
	uint32_t cpu_id;
	uint8_t ph;
	uint8_t tph_mem_type;
};

/* enum ibv_mr_init_attr_mask, struct ibv_mr_init_attr */
enum {
	VB_MR_IOVA = 1,
	VB_MR_ADDR = 2,
	VB_MR_FD = 4,
	VB_MR_FD_OFFSET = 8,
	VB_MR_DMAH = 16,
	VB_MR_BUF = 32,
};
struct vb_mr_init_attr {
	size_t length;
	int access;
	uint64_t comp_mask;
	uint64_t iova;
	void *addr;
	int fd;
	uint64_t fd_offset;
	struct ibv_dmah *dmah;
	struct ibv_buf *buf; /* since 1.17: read with VB_MR_BUF alone */
};

/* enum ibv_qp_attach_comp_cntr_op, enum ibv_comp_cntr_type, and their structures */
enum {
	VB_CNTR_OP_SEND = 1,
	VB_CNTR_OP_RECV = 2,
	VB_CNTR_OP_READ = 4,
	VB_CNTR_OP_REMOTE_READ = 8,
	VB_CNTR_OP_WRITE = 16,
	VB_CNTR_OP_REMOTE_WRITE = 32,
};
enum { VB_CNTR_WRS, VB_CNTR_BYTES };
struct vb_comp_cntr_caps {
	uint64_t max_value;
	uint32_t max_counters;
	uint32_t supported_qp_attach_ops;
};
struct vb_comp_cntr_init_attr {
	uint32_t comp_mask;
	int type;
	uint32_t flags;
};
struct vb_qp_attach_comp_cntr_attr {
	uint32_t comp_mask;
	uint32_t op_mask;
};

/* IBVERBS_1.15: NULL and errno; an errno. */
struct ibv_dmah *ibv_alloc_dmah(struct ibv_context *context, struct ibv_dmah_init_attr *attr);
int ibv_dealloc_dmah(struct ibv_dmah *dmah);
struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attr);

/* IBVERBS_1.16: -1 and errno; an errno. */
int ibv_dm_export_dmabuf_fd(struct ibv_dm *dm);
int ibv_query_port_speed(struct ibv_context *context, uint32_t port, uint64_t *speed);

/* IBVERBS_1.17: NULL and errno. */
void *ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **buf);
void ibv_free_buf(struct ibv_buf *buf);
struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr, size_t length,
			      int access);

/* IBVERBS_1.18: -1 and errno; NULL and errno; all others an errno. */
int ibv_export_buf_dmabuf_fd(struct ibv_buf *buf);
struct ibv_comp_cntr *ibv_create_comp_cntr(struct ibv_context *context,
					   struct ibv_comp_cntr_init_attr *attr);
int ibv_destroy_comp_cntr(struct ibv_comp_cntr *cntr);
int ibv_set_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t value);
int ibv_set_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t value);
int ibv_inc_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t amount);
int ibv_inc_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t amount);
int ibv_read_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t *value);
int ibv_read_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t *value);
int ibv_qp_attach_comp_cntr(struct ibv_qp *qp, struct ibv_comp_cntr *cntr,
			    struct ibv_qp_attach_comp_cntr_attr *attr);
int _ibv_query_comp_cntr_caps(struct ibv_context *context, struct ibv_comp_cntr_caps *caps,
			      size_t size);

#endif
