/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The words of refusals, one row for each rule that test_verbs_refuse.c does not show: which
 * attribute, its value, and the bound or the clause. verbs/refuse.h, core/refusal.def
 */
#include "verbs/later.h"
#include "verbs/refuse.h"
#include "verbs_env.h"

#include <fcntl.h>
#include <infiniband/mlx5dv.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The objects that the calls are about. */
static struct {
	struct verbs_end rc, ud; /* rc is in RESET, ud in RTS */
	struct ibv_qp_ex *ex;    /* an RC QP in RTS */
	struct ibv_cq *cq;
	struct ibv_pd *pd;       /* another one */
	struct ibv_mr *mr;       /* of pd, on demand, read only */
	struct ibv_mr *demanded; /* of the tests' PD, on demand */
	struct ibv_context *ctx; /* another one */
	struct ibv_pd *far_pd;   /* of ctx */
	struct ibv_cq *far_cq;
	struct ibv_xrcd *far_xrcd;
	struct ibv_comp_channel *channel;
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;
	struct ibv_dm *dm;
	struct ibv_mw *mw; /* of type 1 */
	int fd;            /* a memfd of 8192 bytes */
} o;

#define CALL(name, ...)                                                                            \
	static void name(void)                                                                     \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

static struct ibv_qp_init_attr_ex qp_attr(uint32_t mask)
{
	return (struct ibv_qp_init_attr_ex){.qp_type = IBV_QPT_RC,
					    .send_cq = o.cq,
					    .recv_cq = o.cq,
					    .pd = pd,
					    .comp_mask = mask,
					    .cap = {.max_send_wr = 1, .max_recv_wr = 1}};
}

static void create_dc(enum mlx5dv_dc_type type, uint64_t mask, uint64_t ops, uint8_t log_streams)
{
	struct ibv_qp_init_attr_ex a = qp_attr(IBV_QP_INIT_ATTR_PD);
	struct mlx5dv_qp_init_attr m = {.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC | mask};

	a.qp_type = IBV_QPT_DRIVER;
	if (ops) {
		a.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		a.send_ops_flags = ops;
	}
	m.dc_init_attr.dc_type = type;
	if (mask & MLX5DV_QP_INIT_ATTR_MASK_DCI_STREAMS)
		m.dc_init_attr.dci_streams.log_num_concurent = log_streams;
	(void)mlx5dv_create_qp(ctx, &a, &m);
}

/* An SRQ for XRC. */
static void create_srq(struct ibv_pd *of, struct ibv_xrcd *xrcd, struct ibv_cq *cq)
{
	struct ibv_srq_init_attr_ex a = {.attr = {.max_wr = 1, .max_sge = 1},
					 .comp_mask = IBV_SRQ_INIT_ATTR_TYPE |
						      IBV_SRQ_INIT_ATTR_PD |
						      IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
					 .srq_type = IBV_SRQT_XRC,
					 .pd = of,
					 .xrcd = xrcd,
					 .cq = cq};

	(void)ibv_create_srq_ex(ctx, &a);
}

static void advise(const struct ibv_mr *of, enum ibv_advise_mr_advice advice, uint64_t addr)
{
	struct ibv_sge s = {.addr = addr, .length = 8, .lkey = of ? of->lkey : 0x77};

	(void)ibv_advise_mr(pd, advice, IBV_ADVISE_MR_FLAG_FLUSH, &s, 1);
}

/* Objects that are not there, and those of another context. */
CALL(pd_gone, struct ibv_pd no = {.context = ctx}; (void)ibv_dealloc_pd(&no);)
CALL(pd_elsewhere, struct ibv_qp_init_attr_ex a = qp_attr(IBV_QP_INIT_ATTR_PD); a.pd = o.far_pd;
     (void)verbs_get_ctx(ctx)->create_qp_ex(ctx, &a);)
CALL(cq_gone, struct ibv_qp_init_attr a = {.qp_type = IBV_QPT_RC}; struct ibv_cq no = {0};
     a.send_cq = a.recv_cq = &no; (void)ibv_create_qp(pd, &a);)
CALL(td_gone, (void)verbs_get_ctx(ctx)->dealloc_td(NULL);)
CALL(mr_gone, (void)ibv_dereg_mr(NULL);)
CALL(mw_gone, (void)ctx->ops.dealloc_mw(NULL);)
CALL(dm_gone, (void)verbs_get_ctx(ctx)->free_dm(NULL);)
CALL(ah_gone, (void)ibv_destroy_ah(NULL);)
CALL(channel_gone, (void)ibv_destroy_comp_channel(NULL);)
CALL(srq_gone, (void)ibv_destroy_srq(NULL);)
CALL(qp_gone, (void)ibv_destroy_qp(NULL);)
CALL(xrcd_gone, (void)verbs_get_ctx(ctx)->close_xrcd(NULL);)
CALL(dmah_gone, (void)ibv_dealloc_dmah(NULL);)
CALL(buf_gone, ibv_free_buf(NULL);)
CALL(srq_pd_elsewhere, create_srq(o.far_pd, o.xrcd, o.cq);)
CALL(srq_xrcd_elsewhere, create_srq(pd, o.far_xrcd, o.cq);)
CALL(srq_cq_elsewhere, create_srq(pd, o.xrcd, o.far_cq);)
CALL(target_xrcd_elsewhere, struct ibv_qp_init_attr_ex a = qp_attr(IBV_QP_INIT_ATTR_XRCD);
     a.qp_type = IBV_QPT_XRC_RECV; a.xrcd = o.far_xrcd;
     (void)verbs_get_ctx(ctx)->create_qp_ex(ctx, &a);)

/* The device. */
CALL(port, struct ibv_port_attr a; (void)ibv_query_port(ctx, 2, &a);)
CALL(gid_index, union ibv_gid g; (void)ibv_query_gid(ctx, 1, 256, &g);)
CALL(gid_flags, struct ibv_gid_entry e; (void)ibv_query_gid_ex(ctx, 1, 0, &e, 4);)
CALL(gid_table, struct ibv_gid_entry e; (void)ibv_query_gid_table(ctx, &e, 0, 0);)
CALL(pkey_index, __be16 p; (void)ibv_query_pkey(ctx, 1, 128, &p);)
CALL(pkey, (void)ibv_get_pkey_index(ctx, 1, htobe16(0x1234));)
CALL(device_ex, struct ibv_query_device_ex_input in = {.comp_mask = 2}; struct ibv_device_attr_ex a;
     (void)verbs_get_ctx(ctx)->query_device_ex(ctx, &in, &a, sizeof a);)
CALL(values, struct ibv_values_ex v = {.comp_mask = 6}; (void)ibv_query_rt_values_ex(ctx, &v);)
CALL(mac, struct ibv_ah_attr a = {0}; uint8_t m[6]; uint16_t vid;
     (void)ibv_resolve_eth_l2_from_gid(ctx, &a, m, &vid);)

/* Domains. */
CALL(td_mask, struct ibv_td_init_attr a = {.comp_mask = 2}; (void)ibv_alloc_td(ctx, &a);)
CALL(parent_pd, struct ibv_parent_domain_init_attr a = {0}; (void)ibv_alloc_parent_domain(ctx, &a);)
CALL(parent_free,
     struct ibv_parent_domain_init_attr a = {.pd = pd,
					     .comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS};
     (void)ibv_alloc_parent_domain(ctx, &a);)
CALL(xrcd_mask, struct ibv_xrcd_init_attr a = {0}; (void)ibv_open_xrcd(ctx, &a);)
CALL(xrcd_none,
     struct ibv_xrcd_init_attr a = {.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
				    .fd = o.fd};
     (void)ibv_open_xrcd(ctx, &a);)

/* Regions, windows, device memory. */
CALL(all_memory, (void)ibv_reg_mr(pd, NULL, SIZE_MAX, IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB);)
CALL(access_unknown, (void)ibv_reg_mr(pd, buf, 8, 1 << 15);)
CALL(access_write, (void)ibv_reg_mr(pd, buf, 8, IBV_ACCESS_REMOTE_WRITE);)
CALL(access_atomic, (void)ibv_reg_mr(pd, buf, 8, IBV_ACCESS_REMOTE_ATOMIC);)
CALL(mr_iova, uint64_t iova = UINT64_MAX << 12 | ((uintptr_t)buf & 0xfff);
     (void)ibv_reg_mr_iova(pd, buf, sizeof buf, iova, 0);)
CALL(rereg_flags, (void)ibv_rereg_mr(mr, 0, NULL, NULL, 0, 0);)
CALL(rereg_pd, (void)ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, NULL, NULL, 0, 0);)
CALL(rereg_addr, (void)ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, NULL, 8, 0);)
CALL(rereg_access, (void)ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, pd, NULL, 0, 1);)
CALL(dmabuf_fd, (void)ibv_reg_dmabuf_mr(pd, 0, 8, 0, -1, 0);)
CALL(dmabuf_pipe, int p[2]; assert_int_equal(pipe(p), 0);
     (void)ibv_reg_dmabuf_mr(pd, 0, 8, 0, p[0], 0); close(p[0]); close(p[1]);)
CALL(dmabuf_end, (void)ibv_reg_dmabuf_mr(pd, 4096, 8192, 0, o.fd, 0);)
CALL(dmabuf_none, (void)ibv_reg_dmabuf_mr(pd, 0, 0, 0, o.fd, 0);)
CALL(dmabuf_page, (void)ibv_reg_dmabuf_mr(pd, 0, 8, 1, o.fd, 0);)
CALL(dmabuf_right, (void)ibv_reg_dmabuf_mr(pd, 0, 8, 0, o.fd, IBV_ACCESS_ON_DEMAND);)
CALL(mw_type, (void)ibv_alloc_mw(pd, (enum ibv_mw_type)3);)
CALL(dm_mask, struct ibv_alloc_dm_attr a = {.length = 64, .comp_mask = 1};
     (void)ibv_alloc_dm(ctx, &a);)
CALL(dm_none, struct ibv_alloc_dm_attr a = {0}; (void)ibv_alloc_dm(ctx, &a);)
CALL(dm_align, struct ibv_alloc_dm_attr a = {.length = 64, .log_align_req = 13};
     (void)ibv_alloc_dm(ctx, &a);)
CALL(dm_odd, (void)ibv_memcpy_to_dm(o.dm, 2, buf, 4);)
CALL(dm_end, (void)ibv_memcpy_from_dm(buf, o.dm, 4096, 4);)
CALL(dm_based, (void)ibv_reg_dm_mr(pd, o.dm, 0, 64, IBV_ACCESS_LOCAL_WRITE);)
CALL(dm_right, (void)ibv_reg_dm_mr(pd, o.dm, 0, 64, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_MW_BIND);)
CALL(dm_in_use, struct ibv_mr *m = ibv_reg_dm_mr(pd, o.dm, 0, 64, IBV_ACCESS_ZERO_BASED);
     assert_non_null(m); (void)ibv_free_dm(o.dm); assert_int_equal(ibv_dereg_mr(m), 0);)
CALL(advice, (void)ibv_advise_mr(pd, (enum ibv_advise_mr_advice)9, 0, NULL, 1);)
CALL(advice_flags, (void)ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 8, NULL, 1);)
CALL(advice_none, (void)ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, NULL, 0);)
CALL(advice_key, advise(NULL, IBV_ADVISE_MR_ADVICE_PREFETCH, 0);)
CALL(advice_demand, advise(mr, IBV_ADVISE_MR_ADVICE_PREFETCH, (uintptr_t)buf);)
CALL(advice_pd, advise(o.mr, IBV_ADVISE_MR_ADVICE_PREFETCH, (uintptr_t)buf);)
CALL(advice_range, advise(o.demanded, IBV_ADVISE_MR_ADVICE_PREFETCH, 16);)
CALL(advice_right, advise(o.demanded, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, (uintptr_t)buf);)
CALL(import_fd, (void)ibv_import_device(o.fd);)
CALL(import_closed_fd, (void)ibv_import_device(-1);)
CALL(import_mr, (void)ibv_import_mr(pd, 0x7ffffff0);)
CALL(import_other_pd, (void)ibv_import_mr(o.pd, mr->handle);)
CALL(import_pd, (void)ibv_import_pd(ctx, 0x7ffffff0);)

/* Queues. */
CALL(channel_in_use, struct ibv_cq *cq = ibv_create_cq(ctx, 1, NULL, o.channel, 0);
     (void)ibv_destroy_comp_channel(o.channel); assert_int_equal(ibv_destroy_cq(cq), 0);)
CALL(poll_cnt, struct ibv_wc wc; (void)ibv_poll_cq(o.cq, -1, &wc);)
CALL(srq_sges, struct ibv_recv_wr wr = {.num_sge = 3}, *bad;
     (void)ibv_post_srq_recv(o.srq, &wr, &bad);)

/* QPs. */
CALL(qp_no_send_cq, struct ibv_qp_init_attr a = {.qp_type = IBV_QPT_RC, .recv_cq = o.cq};
     (void)ibv_create_qp(pd, &a);)
CALL(dct_no_srq, struct ibv_qp_init_attr_ex a = qp_attr(IBV_QP_INIT_ATTR_PD);
     struct mlx5dv_qp_init_attr m = {.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC};
     a.qp_type = IBV_QPT_DRIVER; m.dc_init_attr.dc_type = MLX5DV_DCTYPE_DCT;
     (void)mlx5dv_create_qp(ctx, &a, &m);)
CALL(qp_mask, struct ibv_qp_init_attr_ex a = qp_attr(IBV_QP_INIT_ATTR_MAX_TSO_HEADER);
     (void)ibv_create_qp_ex(ctx, &a);)
CALL(qp_flags, struct ibv_qp_init_attr_ex a = qp_attr(IBV_QP_INIT_ATTR_CREATE_FLAGS);
     a.create_flags = 2; (void)ibv_create_qp_ex(ctx, &a);)
CALL(qp_ops,
     struct ibv_qp_init_attr_ex a = qp_attr(IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS);
     a.qp_type = IBV_QPT_UD; a.send_ops_flags = IBV_QP_EX_WITH_RDMA_READ;
     (void)ibv_create_qp_ex(ctx, &a);)
CALL(qp_no_pd, struct ibv_qp_init_attr_ex a = qp_attr(IBV_QP_INIT_ATTR_XRCD);
     (void)verbs_get_ctx(ctx)->create_qp_ex(ctx, &a);)
CALL(target_no_xrcd, struct ibv_qp_init_attr_ex a = qp_attr(IBV_QP_INIT_ATTR_PD);
     a.qp_type = IBV_QPT_XRC_RECV; (void)verbs_get_ctx(ctx)->create_qp_ex(ctx, &a);)
CALL(target_ops, struct ibv_qp_init_attr_ex a = qp_attr(IBV_QP_INIT_ATTR_XRCD |
							IBV_QP_INIT_ATTR_SEND_OPS_FLAGS);
     a.qp_type = IBV_QPT_XRC_RECV; a.xrcd = o.xrcd;
     (void)verbs_get_ctx(ctx)->create_qp_ex(ctx, &a);)
CALL(open_mask, struct ibv_qp_open_attr a = {0}; (void)ibv_open_qp(ctx, &a);)
CALL(open_none,
     struct ibv_qp_open_attr a = {.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
					       IBV_QP_OPEN_ATTR_TYPE,
				  .qp_num = 0xfffffe,
				  .xrcd = o.xrcd,
				  .qp_type = IBV_QPT_XRC_RECV};
     (void)ibv_open_qp(ctx, &a);)
CALL(rate_small, struct ibv_qp_rate_limit_attr a = {.rate_limit = 10};
     (void)ibv_modify_qp_rate_limit(o.ud.qp, &a);)
CALL(rate_large, struct ibv_qp_rate_limit_attr a = {.rate_limit = UINT32_MAX};
     (void)ibv_modify_qp_rate_limit(o.ud.qp, &a);)
CALL(rate_state, struct ibv_qp_rate_limit_attr a = {.rate_limit = 5000};
     (void)ibv_modify_qp_rate_limit(o.rc.qp, &a);)
CALL(ece_vendor, struct ibv_ece e = {.vendor_id = 1}; (void)ibv_set_ece(o.rc.qp, &e);)
CALL(ece_state, struct ibv_ece e = {.vendor_id = 0xffffff}; (void)ibv_set_ece(o.ud.qp, &e);)
CALL(group_gid, union ibv_gid g = {.raw = {0x20}}; (void)ibv_attach_mcast(o.ud.qp, &g, 0);)
CALL(group_type, union ibv_gid g = {.raw = {0xff, 0x0e}}; (void)ibv_attach_mcast(o.rc.qp, &g, 0);)
CALL(group_none, union ibv_gid g = {.raw = {0xff, 0x0e}}; (void)ibv_detach_mcast(o.ud.qp, &g, 0);)
CALL(group_held, union ibv_gid g = {.raw = {0xff, 0x0e, [15] = 1}};
     assert_int_equal(ibv_attach_mcast(o.ud.qp, &g, 0), 0); (void)ibv_destroy_qp(o.ud.qp);
     assert_int_equal(ibv_detach_mcast(o.ud.qp, &g, 0), 0);)
CALL(wc_port, struct ibv_wc wc = {0}; struct ibv_ah_attr a;
     (void)ibv_init_ah_from_wc(ctx, 2, &wc, (struct ibv_grh *)(void *)buf, &a);)
CALL(wc_flags, struct ibv_wc wc = {0}; struct ibv_ah_attr a;
     (void)ibv_init_ah_from_wc(ctx, 1, &wc, (struct ibv_grh *)(void *)buf, &a);)
CALL(wc_grh, struct ibv_wc wc = {.wc_flags = IBV_WC_GRH}; struct ibv_ah_attr a; memset(buf, 0, 40);
     (void)ibv_init_ah_from_wc(ctx, 1, &wc, (struct ibv_grh *)(void *)buf, &a);)

/* Work requests by functions. */
CALL(wr_flags, ibv_wr_start(o.ex); o.ex->wr_flags = 0x100; ibv_wr_send(o.ex);
     (void)ibv_wr_complete(o.ex); o.ex->wr_flags = 0;)
CALL(wr_setter, ibv_wr_start(o.ex); ibv_wr_set_sge(o.ex, 0, 0, 0); (void)ibv_wr_complete(o.ex);)
CALL(wr_sges, ibv_wr_start(o.ex); ibv_wr_send(o.ex); ibv_wr_set_sge_list(o.ex, 9, NULL);
     (void)ibv_wr_complete(o.ex);)
CALL(wr_inline, ibv_wr_start(o.ex); ibv_wr_send(o.ex); ibv_wr_set_inline_data(o.ex, buf, 5000);
     (void)ibv_wr_complete(o.ex);)
CALL(wr_window, struct ibv_mw_bind_info b = {0}; ibv_wr_start(o.ex);
     ibv_wr_bind_mw(o.ex, o.mw, 0, &b); (void)ibv_wr_complete(o.ex);)

/* mlx5dv, and what is later than this adapter. */
CALL(devx, struct mlx5dv_context_attr a = {.flags = 1}; (void)mlx5dv_open_device(ctx->device, &a);)
CALL(dc_mask, struct ibv_qp_init_attr_ex a = qp_attr(IBV_QP_INIT_ATTR_PD);
     struct mlx5dv_qp_init_attr m = {.comp_mask = 1u << 4}; (void)mlx5dv_create_qp(ctx, &a, &m);)
CALL(dc_type, create_dc((enum mlx5dv_dc_type)7, 0, 0, 0);)
CALL(dct_streams, create_dc(MLX5DV_DCTYPE_DCT, MLX5DV_QP_INIT_ATTR_MASK_DCI_STREAMS, 0, 1);)
CALL(dci_streams, create_dc(MLX5DV_DCTYPE_DCI, MLX5DV_QP_INIT_ATTR_MASK_DCI_STREAMS, 0, 99);)
CALL(dct_ops, create_dc(MLX5DV_DCTYPE_DCT, 0, IBV_QP_EX_WITH_SEND, 0);)
CALL(dci_ops, create_dc(MLX5DV_DCTYPE_DCI, 0, IBV_QP_EX_WITH_BIND_MW, 0);)
CALL(stream, (void)mlx5dv_dci_stream_id_reset(o.rc.qp, 3);)
CALL(map_ah, (void)mlx5dv_map_ah_to_qp(NULL, 1);)
CALL(comp_cntr, (void)ibv_destroy_comp_cntr(NULL);)

static const struct row {
	const char *name;
	void (*call)(void);
	int err;
	const char *words;
} rows[] = {
#define R(name, err, words)                                                                        \
	{                                                                                          \
#name, name, err, words                                                            \
	}
    R(pd_gone, ENOENT, "there is no such protection domain: it was destroyed, or never made"),
    R(pd_elsewhere, ENOENT, "the protection domain is of another context"),
    R(cq_gone, ENOENT, "there is no such CQ: it was destroyed, or never made"),
    R(td_gone, ENOENT, "there is no such thread domain: it was destroyed, or never made"),
    R(mr_gone, ENOENT, "there is no such memory region: it was destroyed, or never made"),
    R(mw_gone, ENOENT, "there is no such memory window: it was destroyed, or never made"),
    R(dm_gone, ENOENT, "there is no such device memory: it was destroyed, or never made"),
    R(ah_gone, ENOENT, "there is no such address handle: it was destroyed, or never made"),
    R(channel_gone, ENOENT, "there is no such completion channel: it was destroyed, or never made"),
    R(srq_gone, ENOENT, "there is no such SRQ: it was destroyed, or never made"),
    R(qp_gone, ENOENT, "there is no such QP: it was destroyed, or never made"),
    R(xrcd_gone, ENOENT, "there is no such XRC domain: it was destroyed, or never made"),
    R(dmah_gone, ENOENT, "there is no such DMA handle: it was destroyed, or never made"),
    R(buf_gone, ENOENT,
      "there is no such buffer of ibv_alloc_buf(): it was destroyed, or never made"),
    R(srq_pd_elsewhere, ENOENT, "the protection domain is of another context"),
    R(srq_xrcd_elsewhere, ENOENT, "the XRC domain is of another context"),
    R(srq_cq_elsewhere, ENOENT, "the CQ is of another context"),
    R(target_xrcd_elsewhere, ENOENT, "the XRC domain is of another context"),
    R(port, EINVAL, "port_num is 2, and the device has port 1 alone"),
    R(gid_index, EINVAL, "index 256 is not from 0 to 31"),
    R(gid_flags, EOPNOTSUPP, "flags are 0x4, not 0"),
    R(gid_table, EINVAL, "max_entries is 0, and there are 2 GIDs"),
    R(pkey_index, EINVAL, "index 128 is not from 0 to 15"),
    R(pkey, EINVAL, "pkey 0x1234 is not in the table of the port"),
    R(device_ex, EINVAL, "input->comp_mask is 0x2, not 0"),
    R(values, EINVAL, "comp_mask has 0x6, and the adapter has IBV_VALUES_MASK_RAW_CLOCK"),
    R(mac, EOPNOTSUPP, "packets leave by a UDP socket: the kernel has the MAC"),
    R(td_mask, EINVAL, "comp_mask is 0x2, not 0"),
    R(parent_pd, EINVAL, "pd is NULL"),
    R(parent_free, EINVAL, "of alloc and free, alloc is NULL: both are needed"),
    R(xrcd_mask, EINVAL, "comp_mask 0x0 lacks IBV_XRCD_INIT_ATTR_FD or IBV_XRCD_INIT_ATTR_OFLAGS"),
    R(xrcd_none, EAGAIN, "oflags lack O_CREAT, and the file has no domain yet (ibv_open_xrcd(3))"),
    R(all_memory, EINVAL,
      "a region of all memory has iova 0x0 and access 0xc0: it is at 0, neither zero-based nor of "
      "huge pages (ibv_reg_mr(3))"),
    R(access_unknown, EINVAL, "access 0x8000 has rights that are not known"),
    R(access_write, EINVAL,
      "access 0x2 has a remote right to write and lacks IBV_ACCESS_LOCAL_WRITE (IBA 10.6.3.1)"),
    R(access_atomic, EINVAL,
      "access 0x8 has a remote right to write and lacks IBV_ACCESS_LOCAL_WRITE (IBA 10.6.3.1)"),
    R(mr_iova, EINVAL, " end behind the last address (ibv_reg_mr(3))"),
    R(rereg_flags, EINVAL, "flags 0x0 are not of IBV_REREG_MR_CHANGE_* (ibv_rereg_mr(3))"),
    R(rereg_pd, EINVAL, "flags have IBV_REREG_MR_CHANGE_PD, and pd is NULL"),
    R(rereg_addr, EINVAL, "flags have IBV_REREG_MR_CHANGE_TRANSLATION, and addr is NULL"),
    R(rereg_access, EINVAL, "access is 0x1, and flags lack IBV_REREG_MR_CHANGE_ACCESS"),
    R(dmabuf_fd, EBADF, "fd -1: Bad file descriptor"),
    R(dmabuf_pipe, EINVAL, " is neither a dma-buf nor a memfd"),
    R(dmabuf_end, EINVAL, "offset 4096 and length 8192 end behind the 8192 bytes of the dma-buf"),
    R(dmabuf_none, EINVAL, "length is 0 (ibv_reg_dmabuf_mr(3))"),
    R(dmabuf_page, EINVAL, "iova 0x1 and offset 0x0 are at different places of a page"),
    R(dmabuf_right, EINVAL, "access 0x40 has rights that a dma-buf does not have"),
    R(mw_type, EINVAL, "type 3 is no enum ibv_mw_type, 1 or 2 (ibv_alloc_mw(3))"),
    R(dm_mask, EINVAL, "comp_mask is 0x1, not 0"),
    R(dm_none, EINVAL, "length is 0 (ibv_alloc_dm(3))"),
    R(dm_align, EINVAL, "log_align_req 13 is larger than 12"),
    R(dm_odd, EFAULT, "offset 2 and length 4 are not both multiples of 4"),
    R(dm_end, EFAULT, "offset 4096 and length 4 end behind the 4096 bytes of the device memory"),
    R(dm_based, EINVAL, "access lacks IBV_ACCESS_ZERO_BASED (ibv_reg_dm_mr(3))"),
    R(dm_right, EOPNOTSUPP, "access has 0x10, rights that device memory has not"),
    R(dm_in_use, EBUSY, "regions are registered in it: 1 (ibv_free_dm(3))"),
    R(advice, ENOTSUP, "advice 9 is none that the adapter has"),
    R(advice_flags, EINVAL, "flags 0x8 are not IBV_ADVISE_MR_FLAG_FLUSH"),
    R(advice_none, EINVAL, "num_sge is 0 (ibv_advise_mr(3))"),
    R(advice_key, EFAULT, "lkey 0x77 is that of no region (ibv_advise_mr(3))"),
    R(advice_demand, EINVAL, " lacks IBV_ACCESS_ON_DEMAND (ibv_advise_mr(3))"),
    R(advice_pd, EPERM, " is of another protection domain (ibv_advise_mr(3))"),
    R(advice_range, EFAULT, "addr 0x10 and length 8 are not in the region (ibv_advise_mr(3))"),
    R(advice_right, EPERM, " lacks IBV_ACCESS_LOCAL_WRITE (ibv_advise_mr(3))"),
    R(import_fd, EINVAL, " is that of no context (ibv_import_device(3))"),
    R(import_closed_fd, EBADF, "cmd_fd -1: Bad file descriptor"),
    R(import_mr, ENOENT, "there is no such memory region: it was destroyed, or never made"),
    R(import_other_pd, EINVAL, "the region is of another protection domain (ibv_import_mr(3))"),
    R(import_pd, ENOENT, "no context on this device has an object with that handle"),
    R(channel_in_use, EBUSY, "CQs have it: 1 (ibv_destroy_comp_channel(3))"),
    R(poll_cnt, EINVAL, "num_entries -1 is below 0"),
    R(srq_sges, EINVAL, "num_sge 3 is larger than the 1 of the queue (ibv_post_send(3))"),
    R(qp_no_send_cq, EINVAL, "send_cq is NULL"),
    R(dct_no_srq, EINVAL, "srq is NULL"),
    R(qp_mask, EOPNOTSUPP, "comp_mask has 0x8, which the adapter does not know"),
    R(qp_flags, EOPNOTSUPP, "create_flags are 0x2, and the adapter has none"),
    R(qp_ops, EOPNOTSUPP, "send_ops_flags have 0x10, which QPs of type 4 lack"),
    R(qp_no_pd, EINVAL, "comp_mask lacks IBV_QP_INIT_ATTR_PD"),
    R(target_no_xrcd, EINVAL, "qp_type is XRC_RECV, and comp_mask lacks IBV_QP_INIT_ATTR_XRCD"),
    R(target_ops, EINVAL,
      "qp_type is XRC_RECV, which sends nothing, and comp_mask has "
      "IBV_QP_INIT_ATTR_SEND_OPS_FLAGS"),
    R(open_mask, EINVAL, "comp_mask 0x0 lacks IBV_QP_OPEN_ATTR_NUM, _XRCD or _TYPE"),
    R(open_none, EINVAL, "the domain has no target QP 0xfffffe (ibv_open_qp(3))"),
    R(rate_small, EINVAL,
      "rate_limit 10 kbit/s is neither 0 nor 1000 or more (ibv_modify_qp_rate_limit(3))"),
    R(rate_large, EINVAL,
      "rate_limit 4294967295 kbit/s is larger than 400000000 (ibv_modify_qp_rate_limit(3))"),
    R(rate_state, EINVAL,
      "the QP is in RESET, not in RTR, RTS or SQD (ibv_modify_qp_rate_limit(3))"),
    R(ece_vendor, EINVAL,
      "vendor_id 0x1 is not the 0xffffff that the QP offers (ibv_query_ece(3))"),
    R(ece_state, EINVAL, "the QP is in RTS, and options are agreed on before RTR (ibv_set_ece(3))"),
    R(group_gid, EINVAL, "gid is no multicast GID (ibv_attach_mcast(3))"),
    R(group_type, EINVAL, "the QP is not of type UD (ibv_attach_mcast(3))"),
    R(group_none, EINVAL, "the QP is not attached to that group (ibv_attach_mcast(3))"),
    R(group_held, EBUSY, "multicast groups have it: 1 (ibv_detach_mcast(3))"),
    R(wc_port, EINVAL, "port_num is 2, and the device has port 1 alone"),
    R(wc_flags, EINVAL, "wc_flags lack IBV_WC_GRH: the message came without one"),
    R(wc_grh, EINVAL,
      "the 40 bytes of the GRH are neither an IPv4 header nor one of IPv6 (IBA A17.4.5.1)"),
    R(wr_flags, EINVAL, "wr_flags 0x100 has bits that are not known (ibv_wr_post(3))"),
    R(wr_setter, EINVAL, "a setter comes before any work request (ibv_wr_post(3))"),
    R(wr_sges, EINVAL, "num_sge 9 is larger than the 1 of the queue (ibv_wr_post(3))"),
    R(wr_inline, EINVAL, "inline data of 5000 bytes, and max_inline_data is "),
    R(wr_window, EINVAL, "the window is not of type 2 (IBA o10-37.2.34)"),
    R(devx, EOPNOTSUPP, "flags 0x1 and comp_mask 0x0 are not 0: the adapter has no DEVX"),
    R(dc_mask, EOPNOTSUPP,
      "comp_mask of mlx5's attributes is 0x10: the adapter has DC, with or without DCI_STREAMS, "
      "QP_CREATE_FLAGS and SEND_OPS_FLAGS"),
    R(dc_type, EINVAL, "dc_type 7 is neither DCT nor DCI"),
    R(dct_streams, EINVAL, "dc_type is DCT, and streams are a DCI's"),
    R(dci_streams, EINVAL, "log_num_concurent 99 is larger than "),
    R(dct_ops, EINVAL,
      "dc_type is DCT, which sends nothing, and comp_mask has IBV_QP_INIT_ATTR_SEND_OPS_FLAGS"),
    R(dci_ops, EOPNOTSUPP, "send_ops_flags have 0x100, which a DCI lacks"),
    R(stream, EINVAL, "stream 3 of the QP is not in error (mlx5dv_dci_stream_id_reset(3))"),
    R(map_ah, EINVAL, "ah is NULL"),
    R(comp_cntr, ENOENT, "there is no such completion counter: it was destroyed, or never made"),
#undef R
};

static void make_objects(void)
{
	struct ibv_xrcd_init_attr x = {.comp_mask =
					   IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
				       .fd = -1,
				       .oflags = O_CREAT};
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_alloc_dm_attr dm = {.length = 4096};
	struct ibv_qp_init_attr_ex ex;

	o.ctx = ibv_open_device(ctx->device);
	o.far_pd = ibv_alloc_pd(o.ctx);
	o.far_cq = ibv_create_cq(o.ctx, 1, NULL, NULL, 0);
	o.far_xrcd = ibv_open_xrcd(o.ctx, &x);
	o.pd = ibv_alloc_pd(ctx);
	o.mr = ibv_reg_mr(o.pd, buf, 64, IBV_ACCESS_ON_DEMAND);
	o.demanded = ibv_reg_mr(pd, buf, 64, IBV_ACCESS_ON_DEMAND);
	o.cq = ibv_create_cq(ctx, 4, NULL, NULL, 0);
	o.channel = ibv_create_comp_channel(ctx);
	o.xrcd = ibv_open_xrcd(ctx, &x);
	o.srq = ibv_create_srq(pd, &srq);
	o.dm = ibv_alloc_dm(ctx, &dm);
	o.mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	assert_true(o.far_pd && o.far_cq && o.far_xrcd && o.mr && o.demanded && o.cq && o.channel &&
		    o.xrcd && o.srq && o.dm && o.mw);
	ex = qp_attr(IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS);
	ex.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_BIND_MW;
	o.ex = ibv_qp_to_qp_ex(ibv_create_qp_ex(ctx, &ex));
	assert_non_null(o.ex);
	o.rc = end_new(IBV_QPT_RC, NULL, NULL);
	o.ud = end_new(IBV_QPT_UD, NULL, NULL);
	to_init(o.ud.qp);
	to_rts(o.ud.qp, 0, false);
	o.fd = memfd_create("refused", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_true(o.fd >= 0);
	assert_int_equal(ftruncate(o.fd, 8192), 0);
}

/* Words that begin or end with a space are a part of what is said. */
static bool is_said(const char *why, const char *words)
{
	size_t len = strlen(words);

	return why && (words[0] == ' ' || words[len - 1] == ' ' ? strstr(why, words) != NULL
								: strcmp(why, words) == 0);
}

static void refusals__in_words(void **state)
{
	unsigned wrong = 0;

	(void)state;
	make_objects();
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct row *r = &rows[i];

		(void)verbena_refusal();
		errno = 0;
		r->call();

		int err = errno;
		const char *why = verbena_refusal();

		if (err == r->err && is_said(why, r->words))
			continue;
		print_error("%s: errno %d, \"%s\"; is to be %d, \"%s\"\n", r->name, err,
			    why ? why : "", r->err, r->words);
		wrong++;
	}
	close(o.fd);
	assert_int_equal(ibv_close_device(o.ctx), 0);
	assert_int_equal(wrong, 0);
}

/* The reason that a batch has found stands, also when another verb was refused meanwhile. */
static void wr_complete__keeps_its_reason(void **state)
{
	(void)state;
	make_objects();
	(void)verbena_refusal();
	ibv_wr_start(o.ex);
	ibv_wr_send(o.ex);
	ibv_wr_set_sge_list(o.ex, 9, NULL);
	assert_null(ibv_alloc_mw(pd, (enum ibv_mw_type)3));
	assert_true(is_said(verbena_refusal(), "type 3 "));
	assert_int_equal(ibv_wr_complete(o.ex), EINVAL);
	assert_true(is_said(verbena_refusal(), "num_sge 9 "));
	/* In the state of the QP, by the core. */
	ibv_wr_start(o.ex);
	ibv_wr_send(o.ex);
	assert_int_equal(ibv_wr_complete(o.ex), EINVAL);
	assert_true(is_said(verbena_refusal(), "the QP is in RESET (IBA 10.3.1)"));
	close(o.fd);
	assert_int_equal(ibv_close_device(o.ctx), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    VERBS_TEST(refusals__in_words),
	    VERBS_TEST(wr_complete__keeps_its_reason),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
