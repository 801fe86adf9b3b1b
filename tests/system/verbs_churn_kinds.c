/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kinds of objects that verbs_churn.c creates. Each makes what it is called after, uses it, and
 * destroys it; where one object keeps another it also tries to destroy the other first.
 */
#include "verbs_churn.h"

#include <fcntl.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

static void churn_pd(struct base *b)
{
	struct ibv_pd *pd = ibv_alloc_pd(b->context);

	NEED(pd && ibv_dealloc_pd(pd) == 0);
}

static void churn_mr(struct base *b)
{
	struct ibv_mr *mr = ibv_reg_mr(b->pd, b->mem, SIZE, RIGHTS);

	NEED(mr &&
	     ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, b->mem, SIZE / 2, 0) == 0);
	NEED(ibv_dereg_mr(mr) == 0);
}

static void churn_null_mr(struct base *b)
{
	struct ibv_mr *mr = ibv_alloc_null_mr(b->pd);

	NEED(mr && ibv_dereg_mr(mr) == 0);
}

/* A dma-buf where the kernel makes them, else the memfd, which an adapter in user space takes too.
 */
static int dmabuf_new(void)
{
	int memory = memfd_create("churn", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int maker = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), fd;
	struct udmabuf_create create = {
	    .memfd = (uint32_t)memory, .flags = UDMABUF_FLAGS_CLOEXEC, .size = SIZE};

	NEED(memory >= 0 && ftruncate(memory, SIZE) == 0);
	NEED(fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
	if (maker < 0)
		return memory;
	fd = ioctl(maker, UDMABUF_CREATE, &create);
	NEED(fd >= 0 && close(maker) == 0 && close(memory) == 0);
	return fd;
}

/* The descriptor goes before the region. */
static void churn_dmabuf(struct base *b)
{
	int fd = dmabuf_new();
	struct ibv_mr *mr = ibv_reg_dmabuf_mr(b->pd, 0, SIZE, 0, fd, IBV_ACCESS_LOCAL_WRITE);

	NEED(mr && close(fd) == 0 && ibv_dereg_mr(mr) == 0);
}

static void churn_dm(struct base *b)
{
	struct ibv_alloc_dm_attr attr = {.length = 256};
	struct ibv_dm *dm = ibv_alloc_dm(b->context, &attr);
	struct ibv_mr *mr;

	NEED(dm);
	mr = ibv_reg_dm_mr(b->pd, dm, 0, 256, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE);
	NEED(mr && ibv_memcpy_to_dm(dm, 0, b->mem, 256) == 0);
	NEED(ibv_free_dm(dm) == EBUSY);
	NEED(ibv_dereg_mr(mr) == 0 && ibv_free_dm(dm) == 0);
}

static void churn_import(struct base *b)
{
	struct ibv_pd *pd = ibv_import_pd(b->context, b->pd->handle);
	struct ibv_alloc_dm_attr attr = {.length = 64};
	struct ibv_dm *dm = ibv_alloc_dm(b->context, &attr), *again;
	struct ibv_mr *mr;

	NEED(pd && dm);
	again = ibv_import_dm(b->context, dm->handle);
	mr = ibv_import_mr(pd, b->mr->handle);
	NEED(again && mr);
	ibv_unimport_dm(again);
	NEED(ibv_free_dm(dm) == 0);
	ibv_unimport_mr(mr);
	ibv_unimport_pd(pd);
}

static void churn_cq(struct base *b)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(b->context);
	struct ibv_cq *cq;

	NEED(channel);
	cq = ibv_create_cq(b->context, 100, NULL, channel, 0);
	NEED(cq && ibv_req_notify_cq(cq, 0) == 0 && ibv_resize_cq(cq, 200) == 0);
	NEED(ibv_destroy_comp_channel(channel) == EBUSY);
	NEED(ibv_destroy_cq(cq) == 0 && ibv_destroy_comp_channel(channel) == 0);
}

static void churn_cq_ex(struct base *b)
{
	struct ibv_cq_init_attr_ex attr = {.cqe = 16, .wc_flags = IBV_WC_STANDARD_FLAGS};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(b->context, &attr);
	struct ibv_poll_cq_attr poll = {0};

	NEED(cq && ibv_start_poll(cq, &poll) == ENOENT);
	NEED(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)) == 0);
}

static void churn_srq(struct base *b)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 16, .max_sge = 1}};
	struct ibv_srq *srq = ibv_create_srq(b->pd, &init);
	struct ibv_srq_attr limit = {.max_wr = 32, .srq_limit = 1};
	struct ibv_qp *qp;

	NEED(srq);
	post_recv(NULL, srq, b);
	NEED(ibv_modify_srq(srq, &limit, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT) == 0);
	qp = qp_new(b, IBV_QPT_RC, srq);
	NEED(ibv_destroy_srq(srq) == EBUSY);
	NEED(ibv_destroy_qp(qp) == 0 && ibv_destroy_srq(srq) == 0);
}

/* Connected to itself, with a message on the way and a receive left over. */
static void churn_rc(struct base *b)
{
	struct ibv_qp *qp = qp_new(b, IBV_QPT_RC, NULL);

	qp_to_rts(qp, qp->qp_num);
	post_recv(qp, NULL, b);
	post_recv(qp, NULL, b);
	post_send(qp, b, IBV_WR_SEND);
	await(b->cq, 2);
	post_send(qp, b, IBV_WR_RDMA_READ);
	await(b->cq, 1);
	NEED(ibv_destroy_qp(qp) == 0);
}

/* Destroyed with work that nobody has completed, and its completions in the CQ. */
static void churn_busy_qp(struct base *b)
{
	struct base own;
	struct ibv_qp *qp;

	base_open(&own, b->context);
	qp = qp_new(&own, IBV_QPT_RC, NULL);
	qp_to_rts(qp, qp->qp_num);
	post_recv(qp, NULL, &own);
	post_send(qp, &own, IBV_WR_SEND);
	post_send(qp, &own, IBV_WR_RDMA_WRITE);
	NEED(ibv_dealloc_pd(own.pd) == EBUSY && ibv_destroy_cq(own.cq) == EBUSY);
	NEED(ibv_destroy_qp(qp) == 0);
	base_close(&own);
}

static void churn_ud(struct base *b)
{
	struct ibv_qp *qp = qp_new(b, IBV_QPT_UD, NULL);
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 1};
	struct ibv_ah *ah = ibv_create_ah(b->pd, &address);
	struct ibv_sge sge = {(uintptr_t)b->mem, 64, b->mr->lkey};
	struct ibv_send_wr wr = {
	    .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;

	NEED(ah);
	NEED(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) ==
	     0);
	a.qp_state = IBV_QPS_RTR;
	NEED(ibv_modify_qp(qp, &a, IBV_QP_STATE) == 0);
	a.qp_state = IBV_QPS_RTS;
	NEED(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qp->qp_num;
	wr.wr.ud.remote_qkey = 1;
	NEED(ibv_post_send(qp, &wr, &bad) == 0);
	await(b->cq, 1);
	NEED(ibv_destroy_qp(qp) == 0 && ibv_destroy_ah(ah) == 0);
}

static void churn_mw(struct base *b)
{
	struct ibv_qp *qp = qp_new(b, IBV_QPT_RC, NULL);
	struct ibv_mw *mw = ibv_alloc_mw(b->pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = {
	    .send_flags = IBV_SEND_SIGNALED,
	    .bind_info = {b->mr, (uintptr_t)b->mem, SIZE, IBV_ACCESS_REMOTE_READ}};

	NEED(mw);
	qp_to_rts(qp, qp->qp_num);
	NEED(ibv_bind_mw(qp, mw, &bind) == 0);
	await(b->cq, 1);
	NEED(ibv_dealloc_mw(mw) == 0 && ibv_destroy_qp(qp) == 0);
}

static void churn_xrc(struct base *b)
{
	struct ibv_xrcd_init_attr domain = {.comp_mask =
						IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
					    .fd = -1,
					    .oflags = O_CREAT};
	struct ibv_xrcd *xrcd = ibv_open_xrcd(b->context, &domain);
	struct ibv_srq_init_attr_ex shared = {.attr = {.max_wr = 4, .max_sge = 1},
					      .srq_type = IBV_SRQT_XRC,
					      .comp_mask =
						  IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
						  IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
					      .pd = b->pd,
					      .xrcd = xrcd,
					      .cq = b->cq};
	struct ibv_qp_init_attr_ex target = {
	    .qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = xrcd};
	struct ibv_qp_init_attr_ex initiator = {.qp_type = IBV_QPT_XRC_SEND,
						.comp_mask = IBV_QP_INIT_ATTR_PD,
						.send_cq = b->cq,
						.cap = {4, 0, 1, 0, 0},
						.pd = b->pd};
	struct ibv_srq *srq;
	struct ibv_qp *qp[2];

	NEED(xrcd);
	srq = ibv_create_srq_ex(b->context, &shared);
	qp[0] = ibv_create_qp_ex(b->context, &target);
	qp[1] = ibv_create_qp_ex(b->context, &initiator);
	NEED(srq && qp[0] && qp[1]);
	post_recv(NULL, srq, b);
	NEED(ibv_close_xrcd(xrcd) == EBUSY);
	NEED(ibv_destroy_qp(qp[0]) == 0 && ibv_destroy_qp(qp[1]) == 0);
	NEED(ibv_destroy_srq(srq) == 0 && ibv_close_xrcd(xrcd) == 0);
}

static void churn_multicast(struct base *b)
{
	union ibv_gid group = {.raw = {[10] = 0xff, 0xff, 239, 1, 2, 3}};
	struct ibv_qp *qp = qp_new(b, IBV_QPT_UD, NULL);

	NEED(ibv_attach_mcast(qp, &group, 0) == 0 && ibv_destroy_qp(qp) == EBUSY);
	NEED(ibv_detach_mcast(qp, &group, 0) == 0 && ibv_destroy_qp(qp) == 0);
}

static void churn_parent_domain(struct base *b)
{
	struct ibv_td_init_attr none = {0};
	struct ibv_td *td = ibv_alloc_td(b->context, &none);
	struct ibv_parent_domain_init_attr attr = {.pd = b->pd, .td = td};
	struct ibv_pd *domain;
	struct ibv_qp *qp;

	NEED(td);
	domain = ibv_alloc_parent_domain(b->context, &attr);
	NEED(domain);

	struct base in = *b;

	in.pd = domain;
	qp = qp_new(&in, IBV_QPT_RC, NULL);
	NEED(ibv_dealloc_pd(domain) == EBUSY && ibv_dealloc_td(td) == EBUSY);
	NEED(ibv_destroy_qp(qp) == 0 && ibv_dealloc_pd(domain) == 0 && ibv_dealloc_td(td) == 0);
}

/* A context that is closed with all that is in it. */
static void churn_context(struct base *b)
{
	struct base own;
	struct ibv_qp *qp;

	(void)b;
	base_open(&own, open_context());
	qp = qp_new(&own, IBV_QPT_RC, NULL);
	NEED(ibv_alloc_mw(own.pd, IBV_MW_TYPE_2) && ibv_create_comp_channel(own.context));
	qp_to_rts(qp, qp->qp_num);
	post_recv(qp, NULL, &own);
	post_send(qp, &own, IBV_WR_SEND);
	NEED(ibv_close_device(own.context) == 0);
	free(own.mem);
}

static void churn_device_list(struct base *b)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	(void)b;
	NEED(list && list[0]);
	ibv_free_device_list(list);
}

const struct kind kinds[] = {
    {"pd", churn_pd, NULL},
    {"mr", churn_mr, NULL},
    {"null_mr", churn_null_mr, NULL},
    {"dmabuf", churn_dmabuf, NULL},
    {"dm", churn_dm, NULL},
    {"import", churn_import, NULL},
    {"cq", churn_cq, NULL},
    {"cq_ex", churn_cq_ex, NULL},
    {"srq", churn_srq, NULL},
    {"rc", churn_rc, NULL},
    {"busy_qp", churn_busy_qp, NULL},
    {"ud", churn_ud, NULL},
    {"mw", churn_mw, NULL},
    {"xrc", churn_xrc, NULL},
    {"dc", churn_dc, dc_is_there},
    {"multicast", churn_multicast, NULL},
    {"parent_domain", churn_parent_domain, NULL},
    {"context", churn_context, NULL},
    {"device_list", churn_device_list, NULL},
};
const unsigned kind_cnt = sizeof kinds / sizeof kinds[0];
