/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Why verbs refuse that are neither of QPs nor of work requests: SRQs, extended CQs, windows and
 * what is in use. See test_verbs_refuse.c.
 */
#include "verbs/priv.h"
#include "verbs_env.h"

#include <fcntl.h>
#include <infiniband/mlx5dv.h>
#include <stdio.h>
#include <string.h>

/* The last refusal of this process is kept for @verb with @words. */
static void kept_is(int err, const char *verb, const char *words)
{
	struct vb_broker_observer o;
	char why[256], text[VB_REFUSED_TEXT_MAX];
	const struct vb_refused *r = NULL;
	int was = errno;

	assert_int_equal(was, err);
	assert_int_equal(vb_broker_observe(&o, false, why, sizeof why), 0);
	assert_int_equal(vb_broker_observe_slots(&o), 0);
	for (uint32_t k = 0; k < VB_SLOT_CNT; k++) {
		const struct vb_slot_shm *s = o.slot[k];

		if (s && s->pid == (uint32_t)getpid() && s->explain.refused_cnt)
			r = &s->explain.refused[(s->explain.refused_cnt - 1) % VB_REFUSED_CNT];
	}
	assert_non_null(r);
	snprintf(text, sizeof text, "%s: %s", verb, words);
	assert_int_equal(r->err, err);
	assert_string_equal(r->text, text);
	vb_broker_observe_end(&o);
}

static void modify_srq__each_mistake(void **state)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 16, .max_sge = 1}};
	struct ibv_srq *srq = ibv_create_srq(pd, &init);
	struct ibv_recv_wr recv[3] = {{.next = &recv[1]}, {.next = &recv[2]}}, *bad;
	struct ibv_srq_attr attr = {.max_wr = 2, .srq_limit = 3}, is;
	char verb[64];

	(void)state;
	assert_non_null(srq);
	snprintf(verb, sizeof verb, "ibv_modify_srq of SRQ 0x%06x", srq->handle);
	assert_int_equal(ibv_modify_srq(srq, &attr, 1 << 5), EINVAL);
	kept_is(EINVAL, verb, "srq_attr_mask 0x20 has bits that are no attribute");
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), EINVAL);
	kept_is(EINVAL, verb, "srq_limit 3 is larger than max_wr 2");
	attr.srq_limit = 1000;
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), EINVAL);
	kept_is(EINVAL, verb, "srq_limit 1000 is larger than max_wr 16");
	assert_int_equal(ibv_post_srq_recv(srq, recv, &bad), 0);
	attr.srq_limit = 1;
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), EINVAL);
	kept_is(EINVAL, verb,
		"attr.max_wr 2 is less than the 3 receives that wait (ibv_modify_srq(3))");
	attr.max_wr = 0;
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), EINVAL);
	kept_is(EINVAL, verb, "attr.max_wr 0 is not from 1 to 32768 (ibv_create_srq(3))");
	/* Neither of the two took effect. */
	assert_int_equal(ibv_query_srq(srq, &is), 0);
	assert_int_equal(is.max_wr, 16);
	assert_int_equal(is.srq_limit, 0);
	attr = (struct ibv_srq_attr){.max_wr = 4, .srq_limit = 5};
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), EINVAL);
	kept_is(EINVAL, verb, "attr.srq_limit 5 is larger than 4 (ibv_create_srq(3))");
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

static void create_srq_ex__each_mistake(void **state)
{
	struct ibv_srq_init_attr_ex a = {
	    .attr = {.max_wr = 1, .max_sge = 1}, .comp_mask = IBV_SRQ_INIT_ATTR_TM, .pd = pd};

	(void)state;
	assert_null(ibv_create_srq_ex(ctx, &a));
	kept_is(EOPNOTSUPP, "ibv_create_srq_ex",
		"comp_mask has 0x10, which the adapter does not know");
	a.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	a.srq_type = IBV_SRQT_TM;
	assert_null(ibv_create_srq_ex(ctx, &a));
	kept_is(EOPNOTSUPP, "ibv_create_srq_ex", "srq_type 2 is none that the adapter has");
	a.srq_type = IBV_SRQT_XRC;
	assert_null(ibv_create_srq_ex(ctx, &a));
	kept_is(EINVAL, "ibv_create_srq_ex",
		"srq_type is XRC, and comp_mask lacks IBV_SRQ_INIT_ATTR_XRCD or "
		"IBV_SRQ_INIT_ATTR_CQ");
	/* The header has calls without a type or a PD made as ibv_create_srq(). */
	a.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	assert_null(ibv_create_srq_ex(ctx, &a));
	kept_is(EINVAL, "ibv_create_srq_ex", "comp_mask lacks IBV_SRQ_INIT_ATTR_PD");
	/* A type that comp_mask does not name is none. */
	a.comp_mask = IBV_SRQ_INIT_ATTR_PD;

	struct ibv_srq *srq = verbs_get_ctx(ctx)->create_srq_ex(ctx, &a);

	assert_non_null(srq);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

static void cq__each_mistake(void **state)
{
	struct ibv_cq_init_attr_ex a = {.cqe = 8, .comp_mask = 1 << 9};
	struct ibv_modify_cq_attr m = {.attr_mask = 2};
	struct ibv_cq *cq = ibv_create_cq(ctx, 8, NULL, NULL, 0);

	(void)state;
	assert_null(verbs_get_ctx(ctx)->create_cq_ex(ctx, &a));
	kept_is(EOPNOTSUPP, "ibv_create_cq_ex",
		"comp_mask has 0x200, which the adapter does not know");
	a.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
	a.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	assert_null(ibv_create_cq_ex(ctx, &a));
	kept_is(EOPNOTSUPP, "ibv_create_cq_ex", "flags 0x2: the adapter has SINGLE_THREADED alone");
	a.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
	assert_null(ibv_create_cq_ex(ctx, &a));
	kept_is(EINVAL, "ibv_create_cq_ex", "parent_domain is NULL");
	a.parent_domain = pd;
	assert_null(ibv_create_cq_ex(ctx, &a));
	kept_is(EINVAL, "ibv_create_cq_ex", "parent_domain is a PD that has no parent");
	a.comp_mask = 0;
	a.wc_flags = UINT64_C(1) << 40;
	assert_null(verbs_get_ctx(ctx)->create_cq_ex(ctx, &a));
	kept_is(EOPNOTSUPP, "ibv_create_cq_ex",
		"wc_flags has 0x10000000000, which completions of the adapter lack");
	a.wc_flags = 0;
	a.cqe = UINT32_MAX;
	assert_null(ibv_create_cq_ex(ctx, &a));
	kept_is(EINVAL, "ibv_create_cq_ex", "cqe 4294967295 or comp_vector 0 is above 2^31 - 1");
	assert_int_equal(ibv_modify_cq(cq, &m), EINVAL);
	kept_is(EINVAL, "ibv_modify_cq", "attr_mask 0x2 is not IBV_CQ_ATTR_MODERATE");
	assert_int_equal(ibv_resize_cq(cq, 0), EINVAL);
	kept_is(EINVAL, "ibv_resize_cq", "cqe 0 is less than 1 (ibv_resize_cq(3))");
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void destroy__what_is_in_use(void **state)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 16, .max_sge = 1}};
	struct ibv_srq *srq = ibv_create_srq(pd, &init);
	struct ibv_cq *cq = ibv_create_cq(ctx, 8, NULL, NULL, 0);
	struct ibv_qp_init_attr qp_init = {.qp_type = IBV_QPT_RC,
					   .send_cq = cq,
					   .recv_cq = cq,
					   .srq = srq,
					   .cap = {.max_send_wr = 1, .max_send_sge = 1}};
	struct ibv_qp *qp = ibv_create_qp(pd, &qp_init);
	struct ibv_td_init_attr td_init = {0};
	struct ibv_td *td = ibv_alloc_td(ctx, &td_init);
	struct ibv_parent_domain_init_attr parent_init = {.pd = pd, .td = td};
	struct ibv_pd *parent = ibv_alloc_parent_domain(ctx, &parent_init);
	char verb[64];

	(void)state;
	assert_non_null(qp);
	assert_non_null(parent);
	snprintf(verb, sizeof verb, "ibv_destroy_srq of SRQ 0x%06x", srq->handle);
	assert_int_equal(ibv_destroy_srq(srq), EBUSY);
	kept_is(EBUSY, verb, "QPs still use it (ibv_destroy_srq(3))");
	assert_int_equal(ibv_dealloc_td(td), EBUSY);
	kept_is(EBUSY, "ibv_dealloc_td", "parent domains still have it (ibv_alloc_td(3))");
	assert_int_equal(ibv_dealloc_pd(parent), 0);
	assert_int_equal(ibv_dealloc_td(td), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void close_xrcd__in_use(void **state)
{
	struct ibv_xrcd_init_attr x = {.comp_mask =
					   IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
				       .fd = -1,
				       .oflags = O_CREAT};
	struct ibv_xrcd *xrcd = ibv_open_xrcd(ctx, &x);
	struct ibv_cq *cq = ibv_create_cq(ctx, 8, NULL, NULL, 0);
	struct ibv_srq_init_attr_ex a = {.attr = {.max_wr = 1, .max_sge = 1},
					 .comp_mask = IBV_SRQ_INIT_ATTR_TYPE |
						      IBV_SRQ_INIT_ATTR_PD |
						      IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
					 .srq_type = IBV_SRQT_XRC,
					 .pd = pd,
					 .xrcd = xrcd,
					 .cq = cq};
	struct ibv_srq *srq = ibv_create_srq_ex(ctx, &a);

	(void)state;
	assert_non_null(srq);
	assert_int_equal(ibv_close_xrcd(xrcd), EBUSY);
	kept_is(EBUSY, "ibv_close_xrcd", "QPs or SRQs still use it (ibv_close_xrcd(3))");
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_close_xrcd(xrcd), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void window__each_mistake(void **state)
{
	struct verbs_end e = end_new(IBV_QPT_RC, NULL, NULL);
	struct ibv_mr *of = ibv_reg_mr(pd, buf, 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = {
	    .bind_info = {.mr = of,
			  .addr = (uintptr_t)buf,
			  .length = 64,
			  .mw_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ZERO_BASED},
	    .send_flags = IBV_SEND_SIGNALED};
	char verb[64];

	(void)state;
	snprintf(verb, sizeof verb, "ibv_bind_mw to QP 0x%06x", e.qp->qp_num);
	assert_int_equal(ibv_bind_mw(e.qp, mw, &bind), EINVAL);
	kept_is(EINVAL, verb, "a window of type 1 cannot be zero-based (IBA o10-36.2.2)");
	bind.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_READ;
	assert_int_equal(ibv_bind_mw(e.qp, mw, &bind), EINVAL);
	kept_is(EINVAL, verb, "the QP is in RESET (IBA 10.3.1)");
	to_init(e.qp);
	to_rts(e.qp, e.qp->qp_num, false);
	assert_int_equal(ibv_bind_mw(e.qp, mw, &bind), 0);
	assert_int_equal(wc_next(e.cq).status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_dereg_mr(of), EBUSY);
	kept_is(EBUSY, "ibv_dereg_mr", "memory windows are bound to it: 1 (ibv_dereg_mr(3))");
	assert_int_equal(ibv_rereg_mr(of, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0),
			 IBV_REREG_MR_ERR_INPUT);
	kept_is(EBUSY, "ibv_rereg_mr", "memory windows are bound to it: 1 (ibv_dereg_mr(3))");
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_dereg_mr(of), 0);
	end_free(&e);
}

/* How many refusals of this process are kept. */
static uint32_t kept_cnt(void)
{
	return vb_engine_slot(vb_ibv_ctx(ctx)->engine)->explain.refused_cnt;
}

/* A full queue tells a program to wait, whatever it posts: that is no mistake, and not kept. */
static void post__full_queues(void **state)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 1, .max_sge = 1}};
	struct ibv_srq *srq = ibv_create_srq(pd, &init);
	struct verbs_end e = end_new(IBV_QPT_RC, NULL, NULL);
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = {.bind_info = {.mr = mr, .addr = (uintptr_t)buf, .length = 8}};
	struct ibv_send_wr send = {.opcode = IBV_WR_SEND}, *bad;
	struct ibv_recv_wr recv = {.wr_id = 6}, *bad_recv;
	const uint32_t rkey = mw->rkey, kept = kept_cnt();
	int err;

	(void)state;
	to_init(e.qp);
	to_rts(e.qp, 0xfffff0, false); /* nobody answers, so that nothing completes */
	while ((err = ibv_post_send(e.qp, &send, &bad)) == 0)
		assert_true(patience_left());
	assert_int_equal(err, ENOMEM);
	assert_ptr_equal(bad, &send);
	errno = 0;
	assert_int_equal(ibv_bind_mw(e.qp, mw, &bind), ENOMEM);
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(mw->rkey, rkey);
	while ((err = ibv_post_srq_recv(srq, &recv, &bad_recv)) == 0)
		assert_true(patience_left());
	errno = 0;
	assert_int_equal(ibv_post_srq_recv(srq, &recv, &bad_recv), ENOMEM);
	assert_int_equal(errno, ENOMEM);
	assert_ptr_equal(bad_recv, &recv);
	assert_int_equal(kept_cnt(), kept);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	end_free(&e);
}

static void ask_for_dc(void)
{
	struct ibv_qp_init_attr plain = {.qp_type = IBV_QPT_DRIVER};
	struct ibv_qp_init_attr_ex ex = {.qp_type = IBV_QPT_DRIVER};

	assert_null(ibv_create_qp(pd, &plain));
	assert_null(verbs_get_ctx(ctx)->create_qp_ex(ctx, &ex));
}

static void ask_for_scope(void)
{
	struct ibv_ah_attr a = verbs_ah_attr(true);

	snprintf(vb_ibv_ctx(ctx)->table[0].ifname, VB_NAME_MAX, "eth0");
	a.grh.dgid = (union ibv_gid){.raw = {0xff, 0x01, [15] = 1}};
	assert_null(ibv_create_ah(pd, &a));
	assert_int_equal(errno, EINVAL);
	snprintf(vb_ibv_ctx(ctx)->table[0].ifname, VB_NAME_MAX, "lo");
}

/* The text that standard error gets while @ask runs. */
static void said_by(void (*ask)(void), char *to, size_t size)
{
	int old = dup(STDERR_FILENO), fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	ssize_t n;

	assert_true(old >= 0 && fd >= 0);
	assert_int_equal(dup2(fd, STDERR_FILENO), STDERR_FILENO);
	ask();
	assert_int_equal(dup2(old, STDERR_FILENO), STDERR_FILENO);
	n = pread(fd, to, size - 1, 0);
	assert_true(n >= 0);
	to[n] = 0;
	close(old);
	close(fd);
}

/* A reason that no errno can say is on stderr, one line and once in a process. docs/verbs.md */
static void said__once(void **state)
{
	static const struct {
		void (*ask)(void);
		const char *line;
	} rows[] = {{ask_for_dc, "verbena: a QP of DC needs devices that say they are of mlx5's: "
				 "\"verbena run --dc half\"\n"},
		    {ask_for_scope,
		     "verbena: the multicast group ff01::1 has scope 1, which Linux keeps off the "
		     "network: take one of scope 2 to 14, such as ff0e::1 (perftest: -M)\n"}};
	char text[400];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		said_by(rows[i].ask, text, sizeof text);
		assert_string_equal(text, rows[i].line);
		said_by(rows[i].ask, text, sizeof text);
		assert_string_equal(text, "");
	}
}

/* Objects to make others of. */
static struct {
	struct ibv_pd *pd, *domain;
	struct ibv_td *td;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_dm *dm;
	struct ibv_xrcd *xrcd;
} o;

static void make_objects(void)
{
	struct ibv_xrcd_init_attr x = {.comp_mask =
					   IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
				       .fd = -1,
				       .oflags = O_CREAT};
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = 1, .max_sge = 1}};
	struct ibv_alloc_dm_attr dm = {.length = 64};
	struct ibv_td_init_attr td = {0};
	struct ibv_parent_domain_init_attr domain;

	o.pd = ibv_alloc_pd(ctx);
	o.td = ibv_alloc_td(ctx, &td);
	domain = (struct ibv_parent_domain_init_attr){.pd = o.pd, .td = o.td};
	o.domain = ibv_alloc_parent_domain(ctx, &domain);
	o.channel = ibv_create_comp_channel(ctx);
	o.cq = ibv_create_cq(ctx, 4, NULL, o.channel, 0);
	o.srq = ibv_create_srq(o.pd, &srq);
	o.dm = ibv_alloc_dm(ctx, &dm);
	o.xrcd = ibv_open_xrcd(ctx, &x);
	assert_true(o.domain && o.cq && o.srq && o.dm && o.xrcd);
}

/* A call that fails has made nothing: the objects it was to stand on are as free as before. */
static void create__refused_keeps_nothing_busy(void **state)
{
	struct ibv_ah_attr ah = {.is_global = 1, .port_num = 1};
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = 0, .max_sge = 1}};
	struct ibv_cq_init_attr_ex cq = {.cqe = INT32_MAX, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD};
	struct ibv_srq_init_attr_ex xrc = {.comp_mask =
					       IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
					       IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
					   .srq_type = IBV_SRQT_XRC};
	struct ibv_qp_init_attr qp = {.cap = {INT32_MAX, 1, 1, 1, 0}, .qp_type = IBV_QPT_RC};

	(void)state;
	make_objects();
	cq.parent_domain = o.domain;
	xrc.pd = o.pd;
	xrc.xrcd = o.xrcd;
	xrc.cq = qp.send_cq = qp.recv_cq = o.cq;
	qp.srq = o.srq;
	assert_null(ibv_create_ah(o.pd, &ah));
	assert_null(ibv_alloc_mw(o.pd, (enum ibv_mw_type)3));
	assert_null(ibv_reg_mr(o.pd, NULL, 64, IBV_ACCESS_LOCAL_WRITE));
	assert_null(ibv_reg_dm_mr(o.pd, o.dm, 0, 128, IBV_ACCESS_ZERO_BASED));
	assert_null(ibv_create_srq(o.pd, &srq));
	assert_null(ibv_create_srq_ex(ctx, &xrc));
	assert_null(ibv_create_qp(o.pd, &qp));
	assert_null(ibv_create_cq(ctx, INT32_MAX, NULL, o.channel, 0));
	assert_null(ibv_create_cq_ex(ctx, &cq));
	assert_int_equal(ibv_close_xrcd(o.xrcd), 0);
	assert_int_equal(ibv_free_dm(o.dm), 0);
	assert_int_equal(ibv_destroy_srq(o.srq), 0);
	assert_int_equal(ibv_destroy_cq(o.cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(o.channel), 0);
	assert_int_equal(ibv_dealloc_pd(o.domain), 0);
	assert_int_equal(ibv_dealloc_td(o.td), 0);
	assert_int_equal(ibv_dealloc_pd(o.pd), 0);
}

/* Without queues in memory there are no entries to compress, and the devices say so. */
static void compressed__without_queues(void **state)
{
	struct ibv_cq_init_attr_ex attr = {.cqe = 16};
	struct mlx5dv_cq_init_attr dv = {.comp_mask = MLX5DV_CQ_INIT_ATTR_MASK_COMPRESSED_CQE,
					 .cqe_comp_res_format = MLX5DV_CQE_RES_FORMAT_HASH};
	struct mlx5dv_context caps = {.comp_mask = MLX5DV_CONTEXT_MASK_CQE_COMPRESION};

	(void)state;
	assert_int_equal(mlx5dv_query_device(ctx, &caps), 0);
	assert_int_equal(caps.comp_mask, MLX5DV_CONTEXT_MASK_CQE_COMPRESION);
	assert_int_equal(caps.cqe_comp_caps.max_num, 0);
	assert_int_equal(caps.cqe_comp_caps.supported_format, 0);
	errno = 0;
	assert_null(mlx5dv_create_cq(ctx, &attr, &dv));
	assert_int_equal(errno, EOPNOTSUPP);
	kept_is(EOPNOTSUPP, "mlx5dv_create_cq",
		"queues are not as hardware has them here: that takes \"verbena run --mlx5dv\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    VERBS_TEST(modify_srq__each_mistake),
	    VERBS_TEST(create_srq_ex__each_mistake),
	    VERBS_TEST(cq__each_mistake),
	    VERBS_TEST(destroy__what_is_in_use),
	    VERBS_TEST(close_xrcd__in_use),
	    VERBS_TEST(window__each_mistake),
	    VERBS_TEST(create__refused_keeps_nothing_busy),
	    VERBS_TEST(post__full_queues),
	    VERBS_TEST(compressed__without_queues),
	    VERBS_TEST(said__once),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
