/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * errno of the verbs: a verb that fails says by errno what it says by its value, whatever an errno
 * stood there before and whatever system calls of the adapter have failed in between; one that
 * succeeds leaves it alone, as a system call does. Each mistake of a caller has a reason too.
 */
#include "verbs/refuse.h"
#include "verbs_env.h"

/* A value that no verb gives. */
#define MARK EXDEV

/* The objects that the failing calls are about. */
static struct {
	struct verbs_end rc, ud; /* rc is in RESET, ud in RTS */
	struct ibv_qp_ex *ex;    /* in RESET */
	struct ibv_cq *ex_cq;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq; /* of channel */
	struct ibv_srq *srq;
	struct ibv_qp *srq_qp;
	struct ibv_xrcd *xrcd;
	struct ibv_srq *xrc_srq;
	struct ibv_mw *mw;
	struct ibv_dm *dm;
	struct ibv_mr *dm_mr;
	struct ibv_td *td;
	struct ibv_ah *ah;
} o;

/* How a call says that it failed. */
enum answer { ERRNO, MINUS_ONE, NEGATIVE, NULL_POINTER, REREG };

#define CALL(name, ...)                                                                            \
	static intptr_t name(void)                                                                 \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

/* @call while @object has the handle of another. */
#define CALL_OF_ANOTHER(name, object, call)                                                        \
	static intptr_t name(void)                                                                 \
	{                                                                                          \
		intptr_t rc;                                                                       \
                                                                                                   \
		(object)->handle ^= 0x40000000u;                                                   \
		rc = (intptr_t)(call);                                                             \
		(object)->handle ^= 0x40000000u;                                                   \
		return rc;                                                                         \
	}

static struct ibv_qp_attr qp_attr = {.qp_state = IBV_QPS_ERR};
static struct ibv_qp_init_attr qp_init;
static struct ibv_srq_attr srq_attr;
static struct ibv_sge many_sge[100];

/* Through the context: the header's own check comes before the library. */
CALL(query_device, struct ibv_device_attr_ex a;
     return verbs_get_ctx(ctx)->query_device_ex(ctx, NULL, &a, 0);)
CALL(query_port, struct ibv_port_attr a; return ibv_query_port(ctx, 2, &a);)
CALL(query_rt_values, struct ibv_values_ex v = {.comp_mask = 0x8000};
     return ibv_query_rt_values_ex(ctx, &v);)
CALL(query_gid, union ibv_gid g; return ibv_query_gid(ctx, 1, 100000, &g);)
CALL(query_gid_ex, struct ibv_gid_entry e; return ibv_query_gid_ex(ctx, 1, 100000, &e, 0);)
CALL(query_gid_table, struct ibv_gid_entry e; return ibv_query_gid_table(ctx, &e, 0, 0);)
CALL(query_pkey, __be16 p; return ibv_query_pkey(ctx, 1, -1, &p);)
CALL(get_pkey_index, return ibv_get_pkey_index(ctx, 1, 0x1234);)
CALL(get_pkey_index_port, return ibv_get_pkey_index(ctx, 2, 0xffff);)

CALL(dealloc_pd, return ibv_dealloc_pd(pd);)
CALL(alloc_parent_domain, struct ibv_parent_domain_init_attr a = {0};
     return (intptr_t)ibv_alloc_parent_domain(ctx, &a);)
CALL(alloc_td, struct ibv_td_init_attr a = {.comp_mask = 1};
     return (intptr_t)ibv_alloc_td(ctx, &a);)
CALL(open_xrcd, struct ibv_xrcd_init_attr a = {0}; return (intptr_t)ibv_open_xrcd(ctx, &a);)
CALL(open_xrcd_fd,
     struct ibv_xrcd_init_attr a = {.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
				    .fd = 10000};
     return (intptr_t)ibv_open_xrcd(ctx, &a);)
CALL(close_xrcd, return ibv_close_xrcd(o.xrcd);)

CALL(reg_mr, return (intptr_t)ibv_reg_mr(pd, buf, 64, IBV_ACCESS_REMOTE_WRITE);)
CALL(reg_mr_unmapped, return (intptr_t)ibv_reg_mr(pd, (void *)(uintptr_t)4096, 64, 0);)
CALL_OF_ANOTHER(reg_mr_pd, pd, ibv_reg_mr(pd, buf, 64, 0))
CALL(reg_mr_iova, return (intptr_t)ibv_reg_mr_iova(pd, buf, 64, 4096, IBV_ACCESS_REMOTE_WRITE);)
CALL(reg_dmabuf_mr, return (intptr_t)ibv_reg_dmabuf_mr(pd, 0, 64, 0, 10000, 0);)
CALL(rereg_mr,
     return ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_REMOTE_WRITE);)
CALL(rereg_mr_unmapped, return ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
					    (void *)(uintptr_t)4096, 64, 0);)
CALL_OF_ANOTHER(dereg_mr, mr, ibv_dereg_mr(mr))
CALL_OF_ANOTHER(alloc_null_mr, pd, ibv_alloc_null_mr(pd))
CALL(advise_mr, return ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, NULL, 0);)
CALL(advise_mr_key, struct ibv_sge s = {.length = 1, .lkey = 1};
     return ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH, &s, 1);)
CALL_OF_ANOTHER(alloc_mw, pd, ibv_alloc_mw(pd, IBV_MW_TYPE_1))
CALL_OF_ANOTHER(dealloc_mw, o.mw, ibv_dealloc_mw(o.mw))
CALL(bind_mw, struct ibv_mw_bind b = {.bind_info = {.mr = mr, .addr = (uintptr_t)buf, .length = 1}};
     return ibv_bind_mw(o.rc.qp, o.mw, &b);)

CALL(alloc_dm, struct ibv_alloc_dm_attr a = {.length = SIZE_MAX / 2};
     return (intptr_t)ibv_alloc_dm(ctx, &a);)
CALL(alloc_dm_mask, struct ibv_alloc_dm_attr a = {.length = 64, .comp_mask = 1};
     return (intptr_t)ibv_alloc_dm(ctx, &a);)
CALL(free_dm, return ibv_free_dm(o.dm);)
CALL(memcpy_to_dm, return ibv_memcpy_to_dm(o.dm, 1 << 20, buf, 64);)
CALL(memcpy_from_dm, return ibv_memcpy_from_dm(buf, o.dm, 1 << 20, 64);)
CALL(reg_dm_mr, return (intptr_t)ibv_reg_dm_mr(pd, o.dm, 0, 64, IBV_ACCESS_LOCAL_WRITE);)

CALL(destroy_comp_channel, return ibv_destroy_comp_channel(o.channel);)
CALL(get_cq_event, struct ibv_cq *cq; void *p; return ibv_get_cq_event(o.channel, &cq, &p);)
CALL(get_async_event, struct ibv_async_event e; return ibv_get_async_event(ctx, &e);)
CALL(create_cq, return (intptr_t)ibv_create_cq(ctx, 0, NULL, NULL, 0);)
CALL(create_cq_many, return (intptr_t)ibv_create_cq(ctx, 1 << 30, NULL, NULL, 0);)
CALL(create_cq_vector, return (intptr_t)ibv_create_cq(ctx, 1, NULL, NULL, 100000);)
CALL(create_cq_ex, struct ibv_cq_init_attr_ex a = {.cqe = 1, .wc_flags = 1ull << 40};
     return (intptr_t)ibv_create_cq_ex(ctx, &a);)
CALL(resize_cq, return ibv_resize_cq(o.cq, 0);)
CALL(resize_cq_many, return ibv_resize_cq(o.cq, 1 << 30);)
CALL(destroy_cq, return ibv_destroy_cq(o.rc.cq);)
CALL(modify_cq, struct ibv_modify_cq_attr a = {.attr_mask = 0x80}; return ibv_modify_cq(o.cq, &a);)

CALL(create_srq, struct ibv_srq_init_attr a = {.attr = {.max_wr = 1u << 30, .max_sge = 1}};
     return (intptr_t)ibv_create_srq(pd, &a);)
CALL(create_srq_ex, struct ibv_srq_init_attr_ex a = {.attr = {.max_wr = 1}};
     return (intptr_t)ibv_create_srq_ex(ctx, &a);)
CALL(modify_srq, struct ibv_srq_attr a = {.srq_limit = 1u << 30};
     return ibv_modify_srq(o.srq, &a, IBV_SRQ_LIMIT);)
CALL_OF_ANOTHER(query_srq, o.srq, ibv_query_srq(o.srq, &srq_attr))
CALL(destroy_srq, return ibv_destroy_srq(o.srq);)
CALL(post_srq_recv_many, struct ibv_recv_wr wr = {.sg_list = many_sge, .num_sge = 100}, *bad;
     return ibv_post_srq_recv(o.srq, &wr, &bad);)

CALL(create_qp, struct ibv_qp_init_attr a = {.qp_type = IBV_QPT_RC};
     return (intptr_t)ibv_create_qp(pd, &a);)
CALL(create_qp_type, struct ibv_qp_init_attr a = {.qp_type = (enum ibv_qp_type)99,
						  .send_cq = o.cq,
						  .recv_cq = o.cq};
     return (intptr_t)ibv_create_qp(pd, &a);)
CALL(create_qp_many, struct ibv_qp_init_attr a = {.qp_type = IBV_QPT_RC,
						  .send_cq = o.cq,
						  .recv_cq = o.cq,
						  .cap = {.max_send_wr = 1u << 30}};
     return (intptr_t)ibv_create_qp(pd, &a);)
CALL(create_qp_ex, struct ibv_qp_init_attr_ex a = {.qp_type = IBV_QPT_RC, .comp_mask = 0x8000};
     return (intptr_t)ibv_create_qp_ex(ctx, &a);)
CALL(open_qp,
     struct ibv_qp_open_attr a = {.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
					       IBV_QP_OPEN_ATTR_TYPE,
				  .qp_num = 0xfffffe,
				  .xrcd = o.xrcd,
				  .qp_type = IBV_QPT_XRC_RECV};
     return (intptr_t)ibv_open_qp(ctx, &a);)
CALL(modify_qp, struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTS};
     return ibv_modify_qp(o.rc.qp, &a, IBV_QP_STATE);)
CALL_OF_ANOTHER(modify_qp_handle, o.rc.qp, ibv_modify_qp(o.rc.qp, &qp_attr, IBV_QP_STATE))
CALL_OF_ANOTHER(query_qp, o.rc.qp, ibv_query_qp(o.rc.qp, &qp_attr, 0, &qp_init))
CALL_OF_ANOTHER(destroy_qp, o.rc.qp, ibv_destroy_qp(o.rc.qp))
CALL(set_ece, struct ibv_ece e = {.vendor_id = 1, .options = 1}; return ibv_set_ece(o.ud.qp, &e);)
CALL(post_send_reset, struct ibv_send_wr wr = {.opcode = IBV_WR_SEND}, *bad;
     return ibv_post_send(o.rc.qp, &wr, &bad);)
CALL(post_send_many,
     struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .sg_list = many_sge, .num_sge = 100}, *bad;
     return ibv_post_send(o.ud.qp, &wr, &bad);)
CALL(post_recv_reset, struct ibv_recv_wr wr = {0}, *bad; return ibv_post_recv(o.rc.qp, &wr, &bad);)
CALL(post_recv_many, struct ibv_recv_wr wr = {.sg_list = many_sge, .num_sge = 100}, *bad;
     return ibv_post_recv(o.ud.qp, &wr, &bad);)
CALL(wr_complete, ibv_wr_start(o.ex); ibv_wr_send(o.ex); return ibv_wr_complete(o.ex);)
CALL(attach_mcast, union ibv_gid g = {.raw = {0x20}}; return ibv_attach_mcast(o.ud.qp, &g, 0);)
CALL(detach_mcast, union ibv_gid g = {.raw = {0xff, 0x0e}};
     return ibv_detach_mcast(o.ud.qp, &g, 0);)

CALL(create_ah, struct ibv_ah_attr a = {.is_global = 1, .port_num = 2};
     return (intptr_t)ibv_create_ah(pd, &a);)
CALL(create_ah_gid, struct ibv_ah_attr a = {.is_global = 1, .port_num = 1}; a.grh.sgid_index = 250;
     return (intptr_t)ibv_create_ah(pd, &a);)
CALL(init_ah_from_wc, struct ibv_ah_attr a; struct ibv_wc wc = {0};
     return ibv_init_ah_from_wc(ctx, 1, &wc, (struct ibv_grh *)(void *)buf, &a);)
CALL(create_ah_from_wc, struct ibv_wc wc = {0};
     return (intptr_t)ibv_create_ah_from_wc(pd, &wc, (struct ibv_grh *)(void *)buf, 1);)
CALL_OF_ANOTHER(destroy_ah, o.ah, ibv_destroy_ah(o.ah))
CALL(resolve_eth, struct ibv_ah_attr a = {0}; uint8_t mac[6]; uint16_t vid;
     return ibv_resolve_eth_l2_from_gid(ctx, &a, mac, &vid);)

CALL(import_device, return (intptr_t)ibv_import_device(10000);)
CALL(import_pd, return (intptr_t)ibv_import_pd(ctx, 0x7ffffff0);)
CALL(import_mr, return (intptr_t)ibv_import_mr(pd, 0x7ffffff0);)
CALL(import_dm, return (intptr_t)ibv_import_dm(ctx, 0x7ffffff0);)

CALL(create_wq, struct ibv_wq_init_attr a = {0}; return (intptr_t)ibv_create_wq(ctx, &a);)
CALL(create_flow, struct ibv_flow_attr a = {0}; return (intptr_t)ibv_create_flow(o.ud.qp, &a);)
CALL(create_counters, struct ibv_counters_init_attr a = {0};
     return (intptr_t)ibv_create_counters(ctx, &a);)

static const struct failure {
	const char *name;
	intptr_t (*call)(void);
	enum answer answer;
	int err;
} failures[] = {
#define F(name, answer, err)                                                                       \
	{                                                                                          \
#name, name, answer, err                                                           \
	}
    F(query_device, ERRNO, EINVAL),
    F(query_port, ERRNO, EINVAL),
    F(query_rt_values, ERRNO, EINVAL),
    F(query_gid, MINUS_ONE, EINVAL),
    F(query_gid_ex, ERRNO, EINVAL),
    F(query_gid_table, NEGATIVE, EINVAL),
    F(query_pkey, MINUS_ONE, EINVAL),
    F(get_pkey_index, MINUS_ONE, EINVAL),
    F(get_pkey_index_port, MINUS_ONE, EINVAL),
    F(dealloc_pd, ERRNO, EBUSY),
    F(alloc_parent_domain, NULL_POINTER, EINVAL),
    F(alloc_td, NULL_POINTER, EINVAL),
    F(open_xrcd, NULL_POINTER, EINVAL),
    F(open_xrcd_fd, NULL_POINTER, EBADF),
    F(close_xrcd, ERRNO, EBUSY),
    F(reg_mr, NULL_POINTER, EINVAL),
    F(reg_mr_unmapped, NULL_POINTER, EFAULT),
    F(reg_mr_pd, NULL_POINTER, ENOENT),
    F(reg_mr_iova, NULL_POINTER, EINVAL),
    F(reg_dmabuf_mr, NULL_POINTER, EBADF),
    F(rereg_mr, REREG, EINVAL),
    F(rereg_mr_unmapped, REREG, EFAULT),
    F(dereg_mr, ERRNO, ENOENT),
    F(alloc_null_mr, NULL_POINTER, ENOENT),
    F(advise_mr, ERRNO, EINVAL),
    F(advise_mr_key, ERRNO, EFAULT),
    F(alloc_mw, NULL_POINTER, ENOENT),
    F(dealloc_mw, ERRNO, ENOENT),
    F(bind_mw, ERRNO, EINVAL),
    F(alloc_dm, NULL_POINTER, ENOMEM),
    F(alloc_dm_mask, NULL_POINTER, EINVAL),
    F(free_dm, ERRNO, EBUSY),
    F(memcpy_to_dm, ERRNO, EFAULT),
    F(memcpy_from_dm, ERRNO, EFAULT),
    F(reg_dm_mr, NULL_POINTER, EINVAL),
    F(destroy_comp_channel, ERRNO, EBUSY),
    F(get_cq_event, MINUS_ONE, EAGAIN),
    F(get_async_event, MINUS_ONE, EAGAIN),
    F(create_cq, NULL_POINTER, EINVAL),
    F(create_cq_many, NULL_POINTER, EINVAL),
    F(create_cq_vector, NULL_POINTER, EINVAL),
    F(create_cq_ex, NULL_POINTER, EOPNOTSUPP),
    F(resize_cq, ERRNO, EINVAL),
    F(resize_cq_many, ERRNO, EINVAL),
    F(destroy_cq, ERRNO, EBUSY),
    F(modify_cq, ERRNO, EINVAL),
    F(create_srq, NULL_POINTER, EINVAL),
    F(create_srq_ex, NULL_POINTER, EINVAL),
    F(modify_srq, ERRNO, EINVAL),
    F(query_srq, ERRNO, ENOENT),
    F(destroy_srq, ERRNO, EBUSY),
    F(post_srq_recv_many, ERRNO, EINVAL),
    F(create_qp, NULL_POINTER, EINVAL),
    F(create_qp_type, NULL_POINTER, EOPNOTSUPP),
    F(create_qp_many, NULL_POINTER, EINVAL),
    F(create_qp_ex, NULL_POINTER, EOPNOTSUPP),
    F(open_qp, NULL_POINTER, EINVAL),
    F(modify_qp, ERRNO, EINVAL),
    F(modify_qp_handle, ERRNO, ENOENT),
    F(query_qp, ERRNO, ENOENT),
    F(destroy_qp, ERRNO, ENOENT),
    F(set_ece, ERRNO, EINVAL),
    F(post_send_reset, ERRNO, EINVAL),
    F(post_send_many, ERRNO, EINVAL),
    F(post_recv_reset, ERRNO, EINVAL),
    F(post_recv_many, ERRNO, EINVAL),
    F(wr_complete, ERRNO, EINVAL),
    F(attach_mcast, ERRNO, EINVAL),
    F(detach_mcast, ERRNO, EINVAL),
    F(create_ah, NULL_POINTER, EINVAL),
    F(create_ah_gid, NULL_POINTER, EINVAL),
    F(init_ah_from_wc, MINUS_ONE, EINVAL),
    F(create_ah_from_wc, NULL_POINTER, EINVAL),
    F(destroy_ah, ERRNO, ENOENT),
    F(resolve_eth, MINUS_ONE, EOPNOTSUPP),
    F(import_device, NULL_POINTER, EBADF),
    F(import_pd, NULL_POINTER, ENOENT),
    F(import_mr, NULL_POINTER, ENOENT),
    F(import_dm, NULL_POINTER, ENOENT),
    F(create_wq, NULL_POINTER, EOPNOTSUPP),
    F(create_flow, NULL_POINTER, EOPNOTSUPP),
    F(create_counters, NULL_POINTER, EOPNOTSUPP),
#undef F
};

static void make_domains(void)
{
	struct ibv_xrcd_init_attr x = {.comp_mask =
					   IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
				       .fd = -1,
				       .oflags = O_CREAT};
	struct ibv_td_init_attr td = {0};
	struct ibv_alloc_dm_attr dm = {.length = 4096};
	struct ibv_ah_attr ah = verbs_ah_attr(false);

	o.xrcd = ibv_open_xrcd(ctx, &x);
	o.td = ibv_alloc_td(ctx, &td);
	o.mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	o.dm = ibv_alloc_dm(ctx, &dm);
	assert_true(o.xrcd && o.td && o.mw && o.dm);
	o.dm_mr = ibv_reg_dm_mr(pd, o.dm, 0, 4096, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE);
	o.ah = ibv_create_ah(pd, &ah);
	assert_true(o.dm_mr && o.ah);
}

static void make_queues(void)
{
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_srq_init_attr_ex xrc = {.comp_mask =
					       IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
					       IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
					   .attr = {.max_wr = 4, .max_sge = 1},
					   .srq_type = IBV_SRQT_XRC,
					   .pd = pd,
					   .xrcd = o.xrcd};
	struct ibv_qp_init_attr_ex ex = {.qp_type = IBV_QPT_RC,
					 .comp_mask =
					     IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					 .pd = pd,
					 .cap = {.max_send_wr = 1, .max_send_sge = 1},
					 .send_ops_flags = IBV_QP_EX_WITH_SEND};

	o.channel = ibv_create_comp_channel(ctx);
	assert_non_null(o.channel);
	o.cq = ibv_create_cq(ctx, 4, NULL, o.channel, 0);
	assert_non_null(o.cq);
	o.srq = ibv_create_srq(pd, &srq);
	assert_non_null(o.srq);
	xrc.cq = ex.send_cq = ex.recv_cq = o.cq;
	o.xrc_srq = ibv_create_srq_ex(ctx, &xrc);
	assert_non_null(o.xrc_srq);
	o.ex = ibv_qp_to_qp_ex(ibv_create_qp_ex(ctx, &ex));
	assert_non_null(o.ex);
	o.srq_qp = end_new(IBV_QPT_RC, NULL, o.srq).qp;
	o.rc = end_new(IBV_QPT_RC, NULL, NULL);
	o.ud = end_new(IBV_QPT_UD, NULL, NULL);
	to_init(o.ud.qp);
	to_rts(o.ud.qp, 0, false);
	assert_int_equal(fcntl(o.channel->fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(fcntl(ctx->async_fd, F_SETFL, O_NONBLOCK), 0);
}

static bool has_failed(const struct failure *f, intptr_t rc)
{
	switch (f->answer) {
	case ERRNO:
		return rc == f->err;
	case NEGATIVE:
		return rc == -f->err;
	case MINUS_ONE:
		return rc == -1;
	case NULL_POINTER:
		return rc == 0;
	default:
		return rc == IBV_REREG_MR_ERR_INPUT;
	}
}

/* A failure that is no mistake of the caller's has no reason, nor has a verb that the header
 * refuses by itself. */
static bool has_reason(const struct failure *f)
{
	return f->err != ENOMEM && f->err != EAGAIN && f->call != create_wq &&
	       f->call != create_flow && f->call != create_counters;
}

/* Each refusal has its reason, which is told once. */
static void failures__have_reasons(void **state)
{
	unsigned wrong = 0;

	(void)state;
	make_domains();
	make_queues();
	(void)verbena_refusal();
	for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
		const struct failure *f = &failures[i];

		(void)f->call();

		const char *why = verbena_refusal();

		if (!why == !has_reason(f) && !verbena_refusal())
			continue;
		print_error("%s: its reason is \"%s\"\n", f->name, why ? why : "");
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

/* Value and errno of each failure, after a call that succeeded while errno was another one. */
static void failures__say_the_same_by_errno(void **state)
{
	static const int before[] = {0, MARK, EAGAIN, EPERM};
	struct ibv_device_attr attr;
	unsigned wrong = 0;

	(void)state;
	make_domains();
	make_queues();
	for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++)
		for (size_t k = 0; k < sizeof before / sizeof before[0]; k++) {
			const struct failure *f = &failures[i];

			errno = MARK;
			assert_int_equal(ibv_query_device(ctx, &attr), 0);
			errno = before[k];

			intptr_t rc = f->call();
			int err = errno;

			if (has_failed(f, rc) && err == f->err)
				continue;
			print_error("%s: %ld, errno was %d, is %d; is to be %d\n", f->name,
				    (long)rc, before[k], err, f->err);
			wrong++;
		}
	assert_int_equal(wrong, 0);
}

CALL(has_list, int cnt; struct ibv_device **l = ibv_get_device_list(&cnt); ibv_free_device_list(l);
     return cnt == 1;)
CALL(has_port, struct ibv_port_attr a; return ibv_query_port(ctx, 1, &a) == 0;)
CALL(has_gid, union ibv_gid g; return ibv_query_gid(ctx, 1, 0, &g) == 0;)
CALL(has_gids, struct ibv_gid_entry e[64]; return ibv_query_gid_table(ctx, e, 64, 0) > 0;)
CALL(has_pkey, __be16 p; return ibv_query_pkey(ctx, 1, 0, &p) == 0;)
CALL(has_pd, struct ibv_pd *p = ibv_alloc_pd(ctx); return p && ibv_dealloc_pd(p) == 0;)
CALL(has_mr, struct ibv_mr *m = ibv_reg_mr(pd, buf, 64, ALL_ACCESS);
     return m && ibv_dereg_mr(m) == 0;)
CALL(has_dm, struct ibv_alloc_dm_attr a = {.length = 64}; struct ibv_dm *d = ibv_alloc_dm(ctx, &a);
     return d && ibv_free_dm(d) == 0;)
CALL(has_cq, struct ibv_cq *c = ibv_create_cq(ctx, 4, NULL, o.channel, 0);
     return c && ibv_resize_cq(c, 8) == 0 && ibv_destroy_cq(c) == 0;)
CALL(has_channel, struct ibv_comp_channel *c = ibv_create_comp_channel(ctx);
     return c && ibv_destroy_comp_channel(c) == 0;)
CALL(has_ah, struct ibv_ah_attr a = verbs_ah_attr(false); struct ibv_ah *h = ibv_create_ah(pd, &a);
     return h && ibv_destroy_ah(h) == 0;)
CALL(has_qp, struct verbs_end a; struct verbs_end b; ends_new(&a, &b); ends_free(&a, &b);
     return true;)
CALL(has_group, union ibv_gid g = {.raw = {0xff, 0x0e, [15] = 1}};
     return ibv_attach_mcast(o.ud.qp, &g, 0) == 0 && ibv_detach_mcast(o.ud.qp, &g, 0) == 0;)
/* Of memory that is there, and of none: without FLUSH that is no error. */
CALL(has_advice, struct ibv_mr *m = ibv_reg_mr(pd, NULL, SIZE_MAX, IBV_ACCESS_ON_DEMAND);
     if (!m) return false; struct ibv_sge s = {(uintptr_t)buf, 64, m->lkey};
     int err = ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &s, 1); s.addr = 4096;
     if (!err) err = ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &s, 1);
     return !err && ibv_dereg_mr(m) == 0;)
CALL(has_nothing, struct ibv_wc wc; return ibv_poll_cq(o.cq, 1, &wc) == 0;)
CALL(has_armed, return ibv_req_notify_cq(o.cq, 0) == 0;)

static const struct success {
	const char *name;
	intptr_t (*call)(void);
} successes[] = {
#define S(name)                                                                                    \
	{                                                                                          \
#name, name                                                                        \
	}
    S(has_list),  S(has_port),   S(has_gid),     S(has_gids),    S(has_pkey), S(has_pd),
    S(has_mr),    S(has_dm),     S(has_cq),      S(has_channel), S(has_ah),   S(has_qp),
    S(has_group), S(has_advice), S(has_nothing), S(has_armed),
#undef S
};

/* A verb that succeeds leaves errno alone. */
static void successes__leave_errno_alone(void **state)
{
	unsigned wrong = 0;

	(void)state;
	make_domains();
	make_queues();
	for (size_t i = 0; i < sizeof successes / sizeof successes[0]; i++) {
		errno = MARK;

		bool ok = successes[i].call() != 0;
		int err = errno;

		if (ok && err == MARK)
			continue;
		print_error("%s: %s, errno is %d\n", successes[i].name, ok ? "ok" : "failed", err);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    VERBS_TEST(failures__say_the_same_by_errno),
	    VERBS_TEST(failures__have_reasons),
	    VERBS_TEST(successes__leave_errno_alone),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
