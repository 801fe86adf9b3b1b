/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Objects of an adapter and how they depend on each other: of one adapter, up to a limit, moved
 * with their content, and free again when nothing uses them. IBA 10.2, 10.6, 11.2
 */
#include "core/denial.h"
#include "core/view.h"
#include "core/xrc/xrc.h"
#include "core_env.h"

static struct env env, far;

static void setup(void)
{
	env_config(&env);
	env_open(&env, 64);
}

static void setup_two(void)
{
	setup();
	env_config(&far);
	env_open(&far, 64);
}

static void close_two(void)
{
	env_close(&far);
	env_close(&env);
}

/* A region stays with its adapter. */
static void mr_modify__domain_of_another_adapter(void **state)
{
	(void)state;
	setup_two();
	assert_int_equal(vb_mr_modify(env.mr, far.pd, ENV_ACCESS), -EINVAL);
	assert_int_equal(vb_mr_modify(env.mr, env.pd, ENV_ACCESS), 0);
	close_two();
}

/* A null region allows a peer nothing. ibv_alloc_null_mr(3) */
static void mr_create__null_region_is_local(void **state)
{
	struct vb_mr_attr a = {.kind = VB_MR_NULL};
	struct vb_mr *mr;

	(void)state;
	setup();
	for (uint32_t bit = 0; bit < 32; bit++) {
		a.access = VB_ACCESS_LOCAL_WRITE | 1u << bit;
		assert_int_equal(vb_mr_create(env.pd, &a, &mr),
				 a.access == VB_ACCESS_LOCAL_WRITE ? 0 : -EINVAL);
	}
	env_close(&env);
}

/* Only a writable region is brought in for writing. ibv_advise_mr(3) */
static void mr_locate__for_writing(void **state)
{
	struct vb_mr_attr a = {.iova = 64, .length = 8, .access = VB_ACCESS_ON_DEMAND};
	struct vb_sge sge = {64, 8, 0};
	struct vb_mr *mr;
	void *at;

	(void)state;
	setup();
	a.host = env.mem;
	assert_int_equal(vb_mr_create(env.pd, &a, &mr), 0);
	sge.lkey = vb_mr_lkey(mr);
	assert_int_equal(vb_mr_locate(env.pd, &sge, true, &at), -EPERM);
	assert_int_equal(vb_mr_locate(env.pd, &sge, false, &at), 0);
	assert_ptr_equal(at, env.mem);
	env_close(&env);
}

static int fails(void (*f)(void *arg), void *arg)
{
	(void)f;
	(void)arg;
	return -EFAULT;
}

/* Data to send is checked first: a packet is not made of pages that are gone. */
static void gather__pages_that_are_gone(void **state)
{
	struct vb_mr_attr all = {.kind = VB_MR_IMPLICIT,
				 .access = VB_ACCESS_LOCAL_WRITE | VB_ACCESS_ON_DEMAND};
	struct vb_sge sge;
	struct vb_seg seg;
	struct vb_mr *mr;

	(void)state;
	env_config(&env);
	env.cfg.guard = fails;
	env_open(&env, 16);
	sge = env_sge(&env, 0, 8);
	assert_int_equal(vb_mem_gather(env.pd, &sge, 1, 0, 8, 0, &seg, 1), -EFAULT);
	assert_int_equal(vb_mem_gather(env.pd, &sge, 1, 0, 8, VB_ACCESS_LOCAL_WRITE, &seg, 1), 1);
	/* A region of all memory excludes address 0. */
	assert_int_equal(vb_mr_create(env.pd, &all, &mr), 0);
	sge = (struct vb_sge){0, 8, vb_mr_lkey(mr)};
	assert_int_equal(vb_mem_scatter(env.pd, &sge, 1, 0, "12345678", 8), -EACCES);
	env_close(&env);
}

/* The reason names the wrong SGE of a receive, not an empty one before it. */
static void why_local__empty_sges_are_no_reason(void **state)
{
	struct vb_sge sge[] = {{1, 0, 0xdead00}, {ENV_IOVA - 1, 8, 0}};
	struct vb_denial d = {.check = VB_DENIAL_NONE};

	(void)state;
	setup();
	sge[1].lkey = vb_mr_lkey(env.mr);
	vb_mem_why_local(env.pd, sge, 2, VB_ACCESS_LOCAL_WRITE, &d);
	assert_int_equal(d.check, VB_DENIAL_BEFORE);
	assert_int_equal(d.key, vb_mr_lkey(env.mr));
	assert_int_equal(d.by, 1);
	env_close(&env);
}

/* A bind that names another type than its window's fails. IBA 10.6.7.2 */
static void mw_bind__of_the_other_type(void **state)
{
	(void)state;
	setup();
	for (uint8_t type = 1; type <= 2; type++) {
		struct vb_mw_bind bind = {.lkey = vb_mr_lkey(env.mr),
					  .addr = ENV_IOVA,
					  .length = 8,
					  .access = VB_ACCESS_REMOTE_READ,
					  .type = (uint8_t)(3 - type)};
		struct vb_mw *mw;

		assert_int_equal(vb_mw_create(env.pd, type, &mw), 0);
		bind.rkey = vb_mw_rkey(mw);
		assert_int_equal(vb_mw_bind(env.pd, 0x11, &bind), VB_WC_MW_BIND_ERR);
		bind.type = type;
		assert_int_equal(vb_mw_bind(env.pd, 0x11, &bind), VB_WC_SUCCESS);
	}
	env_close(&env);
}

/* Entries and receives move along when a ring moves into memory of the program. The adapter does
 * not free that; a resize makes the ring the adapter's again. */
static void place_ring__with_what_is_in_it(void **state)
{
	static struct vb_wc ring[64];
	static uint8_t slots[4096];
	struct vb_sge sge;
	struct vb_srq *srq;
	uint32_t blocks;

	(void)state;
	setup();
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(vb_cq_add(env.cq, &(struct vb_wc){.wr_id = i}, false), 0);
	assert_int_equal(vb_cq_ring_size(env.cq), sizeof ring);
	blocks = env.blocks;
	vb_cq_place_ring(env.cq, ring);
	assert_int_equal(env.blocks, blocks - 1);
	(void)env_wc(&env, 0, VB_WC_SUCCESS);
	assert_int_equal(vb_cq_resize(env.cq, 8), 0);
	assert_int_equal(env.blocks, blocks);
	for (uint64_t i = 1; i < 3; i++)
		(void)env_wc(&env, i, VB_WC_SUCCESS);
	vb_cq_place_ring(env.cq, ring);

	assert_int_equal(vb_srq_create(env.pd, 4, 1, 0, NULL, &srq), 0);
	sge = env_sge(&env, 0, 8);
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(vb_srq_post(srq, &(struct vb_recv_wr){10 + i, &sge, 1}), 0);
	assert_true(vb_srq_ring_size(srq) <= sizeof slots);
	blocks = env.blocks;
	vb_srq_place_ring(srq, slots);
	assert_int_equal(env.blocks, blocks - 1);
	assert_int_equal(vb_rq_peek(&srq->rq)->wr_id, 10);
	assert_int_equal(vb_rq_peek(&srq->rq)->length, 8);
	env_close(&env);
}

static uint32_t fetched;

static void fetch(struct vb_rq_source *s, struct vb_rq *rq)
{
	(void)s;
	(void)rq;
	fetched++;
}

static void fetch_one(struct vb_rq_source *s, struct vb_rq *rq)
{
	(void)s;
	if (!fetched++)
		assert_true(vb_rq_fetched(rq, &(struct vb_recv_wr){.wr_id = 7}));
}

/* Receives that a program writes for a QP in ERR are flushed when they are found. IBA 10.3.1.2 */
static void qp_fetch__in_error(void **state)
{
	struct vb_rq_source source = {.fetch = fetch_one};
	struct vb_qp_attr a = {.qp_state = VB_QPS_ERR};
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = env_rts(&env, VB_QPT_RC, 2, 0x21);
	assert_int_equal(vb_qp_modify(qp, &a, VB_QP_STATE, 0), 0);
	fetched = 0;
	vb_qp_set_source(qp, &source);
	vb_qp_fetch(qp, 0);
	(void)env_wc(&env, 7, VB_WC_WR_FLUSH_ERR);
	env_close(&env);
}

/* An SRQ takes receives from the same source after a resize. */
static void srq_resize__keeps_its_source(void **state)
{
	struct vb_rq_source source = {.fetch = fetch};
	uint32_t wr_max, sge_max, limit;
	struct vb_srq *srq;

	(void)state;
	setup();
	fetched = 0;
	assert_int_equal(vb_srq_create(env.pd, 4, 0, 0, NULL, &srq), 0);
	vb_srq_query(srq, &wr_max, &sge_max, &limit);
	assert_int_equal(sge_max, 1); /* a receive has a buffer */
	vb_srq_set_source(srq, &source);
	assert_int_equal(vb_srq_resize(srq, 8), 0);
	assert_null(vb_rq_peek(&srq->rq));
	assert_int_equal(fetched, 1);
	env_close(&env);
}

/* A QP takes no SRQ of another adapter, and no XRC SRQ. */
static void qp_create__srq_that_is_not_for_it(void **state)
{
	struct vb_qp_init init = {.type = VB_QPT_RC};
	const struct vb_srq_cap cap = {4, 1}, no_cap = {0, 1};
	struct vb_srq *remote, *xsrq;
	struct vb_xrcd *x;
	struct vb_qp *qp;

	(void)state;
	setup_two();
	init.send_cq = init.recv_cq = env.cq;
	assert_int_equal(vb_srq_create(far.pd, 4, 1, 0, NULL, &remote), 0);
	assert_int_equal(vb_xrcd_create(env.hca, &x), 0);
	assert_int_equal(vb_xrc_srq_create(env.pd, x, env.cq, &no_cap, NULL, &xsrq), -EINVAL);
	assert_int_equal(vb_xrc_srq_create(env.pd, x, env.cq, &cap, NULL, &xsrq), 0);
	init.srq = remote;
	assert_int_equal(vb_qp_create(env.pd, &init, &qp), -EINVAL);
	init.srq = xsrq;
	assert_int_equal(vb_qp_create(env.pd, &init, &qp), -EINVAL);
	close_two();
}

/* XRC domains are limited in number, and each that goes frees a place. An XRC SRQ gives its CQ
 * back. */
static void xrcd_create__up_to_the_limit(void **state)
{
	const struct vb_srq_cap cap = {4, 1};
	struct vb_xrcd *x[3];
	struct vb_srq *srq;
	struct vb_cq *cq;

	(void)state;
	env_config(&env);
	env.cfg.limits.pd = 2;
	env_open(&env, 16);
	assert_int_equal(vb_xrcd_create(env.hca, &x[0]), 0);
	assert_int_equal(vb_xrcd_create(env.hca, &x[1]), 0);
	assert_int_equal(vb_xrcd_create(env.hca, &x[2]), -ENOMEM);
	assert_int_equal(vb_xrcd_destroy(x[0]), 0);
	assert_int_equal(vb_xrcd_create(env.hca, &x[0]), 0);
	assert_int_equal(vb_xrcd_create(env.hca, &x[2]), -ENOMEM);
	assert_int_equal(vb_cq_create(env.hca, 4, NULL, &cq), 0);
	assert_int_equal(vb_xrc_srq_create(env.pd, x[0], cq, &cap, NULL, &srq), 0);
	assert_int_equal(vb_cq_destroy(cq), -EBUSY);
	assert_int_equal(vb_srq_destroy(srq), 0);
	assert_int_equal(vb_cq_destroy(cq), 0);
	env_close(&env);
}

/* READs for an SRQ use its PD, but only in the target's own domain. IBA A14 */
static void xrc_pd__of_the_own_domain(void **state)
{
	const struct vb_srq_cap cap = {4, 1};
	struct vb_qp_init init = {.type = VB_QPT_XRC_TGT};
	struct vb_srq *own, *other;
	struct vb_xrcd *x[2];
	struct vb_qp *qp;

	(void)state;
	setup();
	for (int i = 0; i < 2; i++)
		assert_int_equal(vb_xrcd_create(env.hca, &x[i]), 0);
	assert_int_equal(vb_xrc_srq_create(env.pd, x[0], env.cq, &cap, NULL, &own), 0);
	assert_int_equal(vb_xrc_srq_create(env.pd, x[1], env.cq, &cap, NULL, &other), 0);
	init.xrcd = x[0];
	assert_int_equal(vb_qp_create(NULL, &init, &qp), 0);
	assert_ptr_equal(vb_xrc_pd(qp, vb_srq_number(own)), env.pd);
	assert_null(vb_xrc_pd(qp, vb_srq_number(other)));
	env_close(&env);
}

/* A group that could not take its first member is gone, and takes no place. IBA 10.5 */
static void mcast__group_that_took_nobody(void **state)
{
	struct vb_gid gid = {{0xff, 0x12}};
	struct vb_qp *qp;

	(void)state;
	env_config(&env);
	env.cfg.limits.mcast_grp = 1;
	env_open(&env, 16);
	qp = env_qp(&env, VB_QPT_UD, NULL);
	env.fail_at = env.calls + 2; /* the group is made, its list is not */
	assert_int_equal(vb_qp_attach_mcast(qp, &gid, 0), -ENOMEM);
	gid.b[15] = 1;
	assert_int_equal(vb_qp_attach_mcast(qp, &gid, 0), 0);
	env_close(&env);
}

/* A QP holds a counter once for each kind of work that it counts, until it goes; failures are
 * counted apart. ibv_qp_attach_comp_cntr(3) */
static void comp_cntr__counts_and_is_held(void **state)
{
	struct vb_comp_cntr c = {0};
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = env_qp(&env, VB_QPT_RC, NULL);
	assert_int_equal(
	    vb_qp_attach_comp_cntr(qp, &c, 1u << VB_COUNTED_RECV | 1u << VB_COUNTED_SEND), 0);
	assert_int_equal(c.use_cnt, 2);
	env_up(&env, qp, &a, VB_QPS_RTS);
	assert_int_equal(env_recv(&env, qp, 1, 8), 0);
	a.qp_state = VB_QPS_ERR;
	assert_int_equal(vb_qp_modify(qp, &a, VB_QP_STATE, 0), 0);
	(void)env_wc(&env, 1, VB_WC_WR_FLUSH_ERR);
	assert_int_equal(c.done, 0);
	assert_int_equal(c.failed, 1);
	assert_int_equal(vb_qp_destroy(qp), 0);
	assert_int_equal(c.use_cnt, 0);
	env_close(&env);
}

/* Completions of an XRC target are the SRQ's, and stay when the target goes. IBA A14 */
static void xrc_target__goes_without_completions(void **state)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_XRC | VB_OP_SEND_ONLY};
	struct vb_qp_init init = {.type = VB_QPT_XRC_TGT};
	const struct vb_srq_cap cap = {4, 1};
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_sge sge;
	struct vb_srq *srq;
	struct vb_qp *qp;

	(void)state;
	setup();
	assert_int_equal(vb_xrcd_create(env.hca, &init.xrcd), 0);
	assert_int_equal(vb_xrc_srq_create(env.pd, init.xrcd, env.cq, &cap, NULL, &srq), 0);
	sge = env_sge(&env, 0, 8);
	assert_int_equal(vb_srq_post(srq, &(struct vb_recv_wr){1, &sge, 1}), 0);
	assert_int_equal(vb_qp_create(NULL, &init, &qp), 0);
	env_up(&env, qp, &a, VB_QPS_RTR);
	h.dqpn = vb_qp_number(qp);
	h.xrc_srqn = vb_srq_number(srq);
	assert_int_equal(env_rx(&env, 2, &h, 8), VB_VERDICT_OK);
	assert_int_equal(vb_qp_destroy(qp), 0);
	(void)env_wc(&env, 1, VB_WC_SUCCESS);
	env_close(&env);
}

static uint32_t looked;

static int look(void (*f)(void *arg), void *arg)
{
	(void)f;
	(void)arg;
	looked++;
	return 0;
}

/* Touching nothing runs no guard. */
static void touch__of_nothing(void **state)
{
	(void)state;
	env_config(&env);
	env.cfg.guard = look;
	env_open(&env, 16);
	looked = 0;
	assert_int_equal(vb_mem_touch(env.hca, env.mem, 0), 0);
	assert_int_equal(vb_mem_touch(env.hca, NULL, 8), 0);
	assert_int_equal(looked, 0);
	assert_int_equal(vb_mem_touch(env.hca, env.mem, 1), 0);
	assert_int_equal(looked, 1);
	env_close(&env);
}

/* A region that moves to another PD leaves the old one free to go. ibv_rereg_mr(3) */
static void mr_modify__leaves_its_domain(void **state)
{
	struct vb_pd *other;

	(void)state;
	setup();
	assert_int_equal(vb_pd_create(env.hca, &other), 0);
	assert_int_equal(vb_mr_modify(env.mr, other, ENV_ACCESS), 0);
	assert_int_equal(vb_pd_destroy(other), -EBUSY);
	assert_int_equal(vb_pd_destroy(env.pd), 0);
	env_close(&env);
}

static size_t most_brought_in;

static int bring_in(void *ctx, void *p, size_t len, bool write)
{
	(void)ctx;
	(void)p;
	(void)write;
	most_brought_in = len > most_brought_in ? len : most_brought_in;
	return 0;
}

/* Of a range that a peer names, at most one packet is brought in at once. core/hca.h */
static void access__brings_in_a_packet(void **state)
{
	struct vb_mr_attr a = {
	    .iova = ENV_IOVA, .length = ENV_MEM, .access = ENV_ACCESS | VB_ACCESS_ON_DEMAND};
	struct vb_mr *mr;
	struct vb_qp *qp;
	uint8_t *p;

	(void)state;
	env_config(&env);
	env.cfg.page_in = bring_in;
	env_open(&env, 16);
	a.host = env.mem;
	most_brought_in = 0;
	qp = env_qp(&env, VB_QPT_RC, NULL);
	assert_int_equal(vb_mr_create(env.pd, &a, &mr), 0);
	assert_int_equal(
	    env_mem_remote(qp, vb_mr_rkey(mr), ENV_IOVA, ENV_MEM, VB_ACCESS_REMOTE_READ, &p), 0);
	assert_int_equal(most_brought_in, 4096);
	env_close(&env);
}

/* A counter that is refused for one kind of work counts no other. ibv_qp_attach_comp_cntr(3) */
static void comp_cntr__refused_as_a_whole(void **state)
{
	struct vb_comp_cntr first = {0}, second = {0};
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = env_qp(&env, VB_QPT_RC, NULL);
	assert_int_equal(vb_qp_attach_comp_cntr(qp, &first, 1u << VB_COUNTED_READ), 0);
	assert_int_equal(
	    vb_qp_attach_comp_cntr(qp, &second, 1u << VB_COUNTED_SEND | 1u << VB_COUNTED_READ),
	    -EBUSY);
	assert_int_equal(second.use_cnt, 0);
	assert_int_equal(vb_qp_attach_comp_cntr(qp, &second, 1u << VB_COUNTED_SEND), 0);
	assert_int_equal(second.use_cnt, 1);
	env_close(&env);
}

/* A QP in RESET takes no receives, not even those that lie in a program's memory. IBT-30 */
static void qp_fetch__not_in_reset(void **state)
{
	struct vb_rq_source source = {.fetch = fetch};
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = env_qp(&env, VB_QPT_RC, NULL);
	vb_qp_set_source(qp, &source);
	fetched = 0;
	vb_qp_fetch(qp, 0);
	assert_int_equal(fetched, 0);
	assert_int_equal(env_modify(&env, qp, &a, VB_QPS_INIT), 0);
	vb_qp_fetch(qp, 0);
	assert_int_equal(fetched, 1);
	env_close(&env);
}

/* A QP with an SRQ has no receive queue: the sizes that are asked for one mean nothing.
 * ibv_create_qp(3) */
static void qp_create__sizes_beside_an_srq(void **state)
{
	struct vb_qp_init init = {.type = VB_QPT_RC,
				  .cap = {.max_recv_wr = UINT32_MAX, .max_recv_sge = UINT32_MAX}};
	struct vb_qp *qp;

	(void)state;
	setup();
	init.send_cq = init.recv_cq = env.cq;
	assert_int_equal(vb_qp_create(env.pd, &init, &qp), -EINVAL);
	assert_int_equal(vb_srq_create(env.pd, 4, 1, 0, NULL, &init.srq), 0);
	assert_int_equal(vb_qp_create(env.pd, &init, &qp), 0);
	assert_int_equal(init.cap.max_recv_wr, 0);
	assert_int_equal(init.cap.max_recv_sge, 0);
	env_close(&env);
}

/* A counter is attached before the QP is at work. ibv_qp_attach_comp_cntr(3) */
static void comp_cntr__not_once_it_works(void **state)
{
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_comp_cntr c = {0};
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = env_qp(&env, VB_QPT_RC, NULL);
	env_up(&env, qp, &a, VB_QPS_RTR);
	assert_int_equal(vb_qp_attach_comp_cntr(qp, &c, 1u << VB_COUNTED_SEND), -EINVAL);
	assert_int_equal(c.use_cnt, 0);
	env_close(&env);
}

/* An address is one within a region; a window is none. ibv_advise_mr(3) */
static void mr_locate__within_a_region(void **state)
{
	struct vb_mr_attr a = {.iova = 64, .length = 8, .access = VB_ACCESS_ON_DEMAND};
	struct vb_sge sge = {64, 9, 0};
	struct vb_mr *mr;
	struct vb_mw *mw;
	void *at;

	(void)state;
	setup();
	a.host = env.mem;
	assert_int_equal(vb_mr_create(env.pd, &a, &mr), 0);
	assert_int_equal(vb_mw_create(env.pd, 1, &mw), 0);
	sge.lkey = vb_mr_lkey(mr);
	assert_int_equal(vb_mr_locate(env.pd, &sge, false, &at), -EFAULT);
	sge = (struct vb_sge){64, 8, vb_mw_rkey(mw)};
	assert_int_equal(vb_mr_locate(env.pd, &sge, false, &at), -EINVAL);
	sge.lkey = vb_mr_lkey(mr) ^ 1;
	assert_int_equal(vb_mr_locate(env.pd, &sge, false, &at), -ENOENT);
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(mr_modify__domain_of_another_adapter),
	    cmocka_unit_test(mr_create__null_region_is_local),
	    cmocka_unit_test(mr_locate__for_writing),
	    cmocka_unit_test(gather__pages_that_are_gone),
	    cmocka_unit_test(why_local__empty_sges_are_no_reason),
	    cmocka_unit_test(mw_bind__of_the_other_type),
	    cmocka_unit_test(place_ring__with_what_is_in_it),
	    cmocka_unit_test(qp_fetch__in_error),
	    cmocka_unit_test(srq_resize__keeps_its_source),
	    cmocka_unit_test(qp_create__srq_that_is_not_for_it),
	    cmocka_unit_test(xrcd_create__up_to_the_limit),
	    cmocka_unit_test(xrc_pd__of_the_own_domain),
	    cmocka_unit_test(mcast__group_that_took_nobody),
	    cmocka_unit_test(comp_cntr__counts_and_is_held),
	    cmocka_unit_test(xrc_target__goes_without_completions),
	    cmocka_unit_test(touch__of_nothing),
	    cmocka_unit_test(mr_modify__leaves_its_domain),
	    cmocka_unit_test(access__brings_in_a_packet),
	    cmocka_unit_test(comp_cntr__refused_as_a_whole),
	    cmocka_unit_test(qp_fetch__not_in_reset),
	    cmocka_unit_test(qp_create__sizes_beside_an_srq),
	    cmocka_unit_test(comp_cntr__not_once_it_works),
	    cmocka_unit_test(mr_locate__within_a_region),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
