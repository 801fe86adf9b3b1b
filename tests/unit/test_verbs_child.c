/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A forked child has no adapter; it stays with the parent. Each verb on the parent's objects is EIO
 * there, says why, leaves no descriptor behind, and changes nothing of the parent's.
 * ibv_fork_init(3); docs/verbs.md
 */
#include "deny.h"
#include "descriptors.h"
#include "verbs/later.h"
#include "verbs/refuse.h"
#include "verbs_env.h"

#include <fcntl.h>
#include <infiniband/mlx5dv.h>
#include <sys/mman.h>

/* The parent's objects. */
static struct {
	struct verbs_end rc, ud;
	struct ibv_qp *domain_qp; /* with ibv_wr_*() */
	struct ibv_cq_ex *cq;
	struct ibv_comp_channel *channel;
	struct ibv_srq *srq;
	struct ibv_xrcd *xrcd;
	struct ibv_mw *mw;
	struct ibv_mr *mr;
	struct ibv_td *td;
	struct ibv_ah *ah;
	struct ibv_pd *pd;
	struct ibv_comp_cntr *cntr;
} o;

/* How a call says that it failed. */
enum answer { ERRNO, MINUS_ONE, NEGATIVE, NULL_POINTER, REREG };

#define CALL(name, ...)                                                                            \
	static intptr_t name(void)                                                                 \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

static const union ibv_gid group = {.raw = {0xff, 0x0e, [15] = 9}};
static struct ibv_sge sge;
static struct ibv_recv_wr recv_wr = {.sg_list = &sge, .num_sge = 1};
static uint64_t value;

CALL(query_port, struct ibv_port_attr a; return ibv_query_port(ctx, 1, &a);)
CALL(query_port_speed, return ibv_query_port_speed(ctx, 1, &value);)
CALL(query_gid, union ibv_gid g; return ibv_query_gid(ctx, 1, 0, &g);)
CALL(query_gid_ex, struct ibv_gid_entry e; return ibv_query_gid_ex(ctx, 1, 0, &e, 0);)
CALL(query_gid_table, struct ibv_gid_entry e[64]; return ibv_query_gid_table(ctx, e, 64, 0);)
CALL(query_pkey, __be16 p; return ibv_query_pkey(ctx, 1, 0, &p);)
CALL(get_pkey_index, return ibv_get_pkey_index(ctx, 1, 0xffff);)
CALL(get_async_event, struct ibv_async_event e; return ibv_get_async_event(ctx, &e);)
CALL(close_device, return ibv_close_device(ctx);)

CALL(alloc_pd, return (intptr_t)ibv_alloc_pd(ctx);)
CALL(dealloc_pd, return ibv_dealloc_pd(o.pd);)
CALL(alloc_td, struct ibv_td_init_attr a = {0}; return (intptr_t)ibv_alloc_td(ctx, &a);)
CALL(dealloc_td, return ibv_dealloc_td(o.td);)
CALL(alloc_parent_domain, struct ibv_parent_domain_init_attr a = {.pd = pd};
     return (intptr_t)ibv_alloc_parent_domain(ctx, &a);)
CALL(open_xrcd,
     struct ibv_xrcd_init_attr a = {.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
				    .fd = -1,
				    .oflags = O_CREAT};
     return (intptr_t)ibv_open_xrcd(ctx, &a);)
CALL(close_xrcd, return ibv_close_xrcd(o.xrcd);)

CALL(reg_mr, return (intptr_t)ibv_reg_mr(pd, buf, 64, 0);)
CALL(reg_dmabuf_mr, int fd = memfd_create("test", MFD_CLOEXEC); if (ftruncate(fd, 4096)) return 1;
     struct ibv_mr *m = ibv_reg_dmabuf_mr(pd, 0, 64, 0, fd, 0); close(fd); return (intptr_t)m;)
CALL(rereg_mr, return ibv_rereg_mr(o.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0);)
CALL(dereg_mr, return ibv_dereg_mr(o.mr);)
CALL(alloc_null_mr, return (intptr_t)ibv_alloc_null_mr(pd);)
CALL(advise_mr, struct ibv_sge s = sge_at(0, 64);
     return ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &s, 1);)
CALL(alloc_mw, return (intptr_t)ibv_alloc_mw(pd, IBV_MW_TYPE_1);)
CALL(dealloc_mw, return ibv_dealloc_mw(o.mw);)
CALL(bind_mw, struct ibv_mw_bind b = {.bind_info = {.mr = mr, .addr = (uintptr_t)buf, .length = 1}};
     return ibv_bind_mw(o.rc.qp, o.mw, &b);)
CALL(import_pd, return (intptr_t)ibv_import_pd(ctx, pd->handle);)
CALL(import_mr, return (intptr_t)ibv_import_mr(pd, mr->handle);)

CALL(create_comp_channel, return (intptr_t)ibv_create_comp_channel(ctx);)
CALL(destroy_comp_channel, return ibv_destroy_comp_channel(o.channel);)
CALL(get_cq_event, struct ibv_cq *cq; void *p; return ibv_get_cq_event(o.channel, &cq, &p);)
CALL(create_cq, return (intptr_t)ibv_create_cq(ctx, 4, NULL, NULL, 0);)
CALL(create_cq_ex, struct ibv_cq_init_attr_ex a = {.cqe = 4};
     return (intptr_t)ibv_create_cq_ex(ctx, &a);)
CALL(resize_cq, return ibv_resize_cq(o.rc.cq, 8);)
CALL(modify_cq, struct ibv_modify_cq_attr a = {.attr_mask = IBV_CQ_ATTR_MODERATE};
     return ibv_modify_cq(o.rc.cq, &a);)
CALL(destroy_cq, return ibv_destroy_cq(ibv_cq_ex_to_cq(o.cq));)
CALL(poll_cq, struct ibv_wc wc; return ibv_poll_cq(o.rc.cq, 1, &wc);)
CALL(start_poll, struct ibv_poll_cq_attr a = {0}; return ibv_start_poll(o.cq, &a);)
CALL(req_notify_cq, return ibv_req_notify_cq(o.rc.cq, 0);)

CALL(create_srq, struct ibv_srq_init_attr a = {.attr = {.max_wr = 1, .max_sge = 1}};
     return (intptr_t)ibv_create_srq(pd, &a);)
CALL(modify_srq, struct ibv_srq_attr a = {.srq_limit = 1};
     return ibv_modify_srq(o.srq, &a, IBV_SRQ_LIMIT);)
CALL(query_srq, struct ibv_srq_attr a; return ibv_query_srq(o.srq, &a);)
CALL(destroy_srq, return ibv_destroy_srq(o.srq);)
CALL(post_srq_recv, struct ibv_recv_wr *bad = NULL;
     intptr_t rc = ibv_post_srq_recv(o.srq, &recv_wr, &bad); return bad == &recv_wr ? rc : -1;)

CALL(create_qp, struct ibv_qp_init_attr a = {.qp_type = IBV_QPT_RC,
					     .send_cq = o.rc.cq,
					     .recv_cq = o.rc.cq,
					     .cap = {1, 1, 1, 1, 0}};
     return (intptr_t)ibv_create_qp(pd, &a);)
CALL(create_target, struct ibv_qp_init_attr_ex a = {.qp_type = IBV_QPT_XRC_RECV,
						    .comp_mask = IBV_QP_INIT_ATTR_XRCD,
						    .xrcd = o.xrcd};
     return (intptr_t)ibv_create_qp_ex(ctx, &a);)
CALL(open_qp,
     struct ibv_qp_open_attr a = {.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
					       IBV_QP_OPEN_ATTR_TYPE,
				  .qp_num = 1,
				  .xrcd = o.xrcd,
				  .qp_type = IBV_QPT_XRC_RECV};
     return (intptr_t)ibv_open_qp(ctx, &a);)
CALL(modify_qp, struct ibv_qp_attr a = {.qp_state = IBV_QPS_ERR};
     return ibv_modify_qp(o.rc.qp, &a, IBV_QP_STATE);)
CALL(modify_qp_rate_limit, struct ibv_qp_rate_limit_attr a = {.rate_limit = 1000};
     return ibv_modify_qp_rate_limit(o.ud.qp, &a);)
CALL(query_qp, struct ibv_qp_attr a; struct ibv_qp_init_attr i;
     return ibv_query_qp(o.rc.qp, &a, IBV_QP_STATE, &i);)
CALL(query_ece, struct ibv_ece e; return ibv_query_ece(o.rc.qp, &e);)
CALL(set_ece, struct ibv_ece e = {.vendor_id = 0xffffff}; return ibv_set_ece(o.rc.qp, &e);)
CALL(destroy_qp, return ibv_destroy_qp(o.rc.qp);)
CALL(post_sends, struct ibv_send_wr wr = {.opcode = IBV_WR_SEND}; struct ibv_send_wr *bad = NULL;
     intptr_t rc = ibv_post_send(o.rc.qp, &wr, &bad); return bad == &wr ? rc : -1;)
CALL(post_recvs, struct ibv_recv_wr *bad = NULL;
     intptr_t rc = ibv_post_recv(o.rc.qp, &recv_wr, &bad); return bad == &recv_wr ? rc : -1;)
CALL(wr_complete, struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(o.domain_qp); ibv_wr_start(ex);
     ibv_wr_send(ex); return ibv_wr_complete(ex);)
CALL(attach_mcast, return ibv_attach_mcast(o.ud.qp, &group, 0);)
CALL(detach_mcast, return ibv_detach_mcast(o.ud.qp, &group, 0);)
CALL(create_ah, struct ibv_ah_attr a = {.is_global = 1, .port_num = 1};
     return (intptr_t)ibv_create_ah(pd, &a);)
CALL(destroy_ah, return ibv_destroy_ah(o.ah);)

CALL(create_comp_cntr, struct vb_comp_cntr_init_attr a = {.type = VB_CNTR_WRS};
     return (intptr_t)ibv_create_comp_cntr(ctx, (struct ibv_comp_cntr_init_attr *)(void *)&a);)
CALL(destroy_comp_cntr, return ibv_destroy_comp_cntr(o.cntr);)
CALL(attach_comp_cntr, struct vb_qp_attach_comp_cntr_attr a = {.op_mask = VB_CNTR_OP_SEND};
     return ibv_qp_attach_comp_cntr(o.domain_qp, o.cntr,
				    (struct ibv_qp_attach_comp_cntr_attr *)(void *)&a);)
CALL(read_comp_cntr, return ibv_read_comp_cntr(o.cntr, &value);)
CALL(set_err_comp_cntr, return ibv_set_err_comp_cntr(o.cntr, 1);)

CALL(dci_stream_id_reset, return mlx5dv_dci_stream_id_reset(o.rc.qp, 1);)
CALL(init_obj, struct mlx5dv_qp q; struct mlx5dv_obj obj = {.qp = {o.rc.qp, &q}};
     return mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP);)

static const struct verb {
	const char *name;
	intptr_t (*call)(void);
	enum answer answer;
} verbs[] = {
#define V(name, answer)                                                                            \
	{                                                                                          \
#name, name, answer                                                                \
	}
    V(query_port, ERRNO),
    V(query_port_speed, ERRNO),
    V(query_gid, MINUS_ONE),
    V(query_gid_ex, ERRNO),
    V(query_gid_table, NEGATIVE),
    V(query_pkey, MINUS_ONE),
    V(get_pkey_index, MINUS_ONE),
    V(get_async_event, MINUS_ONE),
    V(close_device, MINUS_ONE),
    V(alloc_pd, NULL_POINTER),
    V(dealloc_pd, ERRNO),
    V(alloc_td, NULL_POINTER),
    V(dealloc_td, ERRNO),
    V(alloc_parent_domain, NULL_POINTER),
    V(open_xrcd, NULL_POINTER),
    V(close_xrcd, ERRNO),
    V(reg_mr, NULL_POINTER),
    V(reg_dmabuf_mr, NULL_POINTER),
    V(rereg_mr, REREG),
    V(dereg_mr, ERRNO),
    V(alloc_null_mr, NULL_POINTER),
    V(advise_mr, ERRNO),
    V(alloc_mw, NULL_POINTER),
    V(dealloc_mw, ERRNO),
    V(bind_mw, ERRNO),
    V(import_pd, NULL_POINTER),
    V(import_mr, NULL_POINTER),
    V(create_comp_channel, NULL_POINTER),
    V(destroy_comp_channel, ERRNO),
    V(get_cq_event, MINUS_ONE),
    V(create_cq, NULL_POINTER),
    V(create_cq_ex, NULL_POINTER),
    V(resize_cq, ERRNO),
    V(modify_cq, ERRNO),
    V(destroy_cq, ERRNO),
    V(req_notify_cq, ERRNO),
    V(create_srq, NULL_POINTER),
    V(modify_srq, ERRNO),
    V(query_srq, ERRNO),
    V(destroy_srq, ERRNO),
    V(post_srq_recv, ERRNO),
    V(create_qp, NULL_POINTER),
    V(create_target, NULL_POINTER),
    V(open_qp, NULL_POINTER),
    V(modify_qp, ERRNO),
    V(modify_qp_rate_limit, ERRNO),
    V(query_qp, ERRNO),
    V(query_ece, ERRNO),
    V(set_ece, ERRNO),
    V(destroy_qp, ERRNO),
    V(post_sends, ERRNO),
    V(post_recvs, ERRNO),
    V(wr_complete, ERRNO),
    V(attach_mcast, ERRNO),
    V(detach_mcast, ERRNO),
    V(create_ah, NULL_POINTER),
    V(destroy_ah, ERRNO),
    V(create_comp_cntr, NULL_POINTER),
    V(destroy_comp_cntr, ERRNO),
    V(attach_comp_cntr, ERRNO),
    V(read_comp_cntr, ERRNO),
    V(set_err_comp_cntr, ERRNO),
    V(dci_stream_id_reset, ERRNO),
    V(init_obj, ERRNO),
#undef V
};

static void make_queues(void)
{
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_cq_init_attr_ex cq = {.cqe = 4};
	struct ibv_qp_init_attr_ex ex = {.qp_type = IBV_QPT_RC,
					 .comp_mask =
					     IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					 .pd = pd,
					 .cap = {.max_send_wr = 1, .max_send_sge = 1},
					 .send_ops_flags = IBV_QP_EX_WITH_SEND};

	o.channel = ibv_create_comp_channel(ctx);
	o.cq = ibv_create_cq_ex(ctx, &cq);
	o.srq = ibv_create_srq(pd, &srq);
	assert_true(o.channel && o.cq && o.srq);
	o.rc = end_new(IBV_QPT_RC, NULL, NULL);
	o.ud = end_new(IBV_QPT_UD, NULL, NULL);
	to_init(o.ud.qp);
	to_rts(o.ud.qp, 0, false);
	assert_int_equal(ibv_attach_mcast(o.ud.qp, &group, 0), 0);
	ex.send_cq = ex.recv_cq = o.rc.cq;
	o.domain_qp = ibv_create_qp_ex(ctx, &ex);
	assert_non_null(o.domain_qp);
}

static void make_domains(void)
{
	struct ibv_xrcd_init_attr x = {.comp_mask =
					   IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
				       .fd = -1,
				       .oflags = O_CREAT};
	struct vb_comp_cntr_init_attr cntr = {.type = VB_CNTR_WRS};
	struct ibv_td_init_attr td = {0};
	struct ibv_ah_attr ah = verbs_ah_attr(false);

	o.pd = ibv_alloc_pd(ctx);
	o.xrcd = ibv_open_xrcd(ctx, &x);
	o.td = ibv_alloc_td(ctx, &td);
	o.mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	o.mr = ibv_reg_mr(pd, buf, 64, IBV_ACCESS_LOCAL_WRITE);
	o.ah = ibv_create_ah(pd, &ah);
	o.cntr = ibv_create_comp_cntr(ctx, (struct ibv_comp_cntr_init_attr *)(void *)&cntr);
	assert_true(o.pd && o.xrcd && o.td && o.mw && o.mr && o.ah && o.cntr);
}

static bool is_refused(const struct verb *v)
{
	intptr_t rc;

	errno = 0;
	rc = v->call();
	if (errno != EIO)
		return false;
	switch (v->answer) {
	case ERRNO:
		return rc == EIO;
	case NEGATIVE:
		return rc == -EIO;
	case MINUS_ONE:
		return rc == -1;
	case NULL_POINTER:
		return rc == 0;
	default:
		return rc == IBV_REREG_MR_ERR_CMD;
	}
}

/* In the child: counts the verbs that are not refused. */
static unsigned count_wrong(void)
{
	unsigned wrong = 0, before = descriptors_of(getpid());

	for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
		const struct verb *v = &verbs[i];
		/* Events are read in loops: that needs no words. */
		bool has_words = v->call != get_cq_event;

		(void)verbena_refusal();
		if (is_refused(v)) {
			const char *why = verbena_refusal();

			if (!has_words || (why && strstr(why, "stayed with the parent")))
				continue;
		}
		fprintf(stderr, "%s: errno is %d\n", v->name, errno);
		wrong++;
	}
	if (poll_cq() != -EIO || start_poll() != EIO || start_poll() != EIO) {
		fprintf(stderr, "ibv_poll_cq() or ibv_start_poll()\n");
		wrong++;
	}
	if (descriptors_of(getpid()) != before) {
		fprintf(stderr, "%u descriptors, %u before\n", descriptors_of(getpid()), before);
		wrong++;
	}
	return wrong;
}

/* The parent's objects still work, and go. */
static void end_parents(void)
{
	assert_int_equal(ibv_detach_mcast(o.ud.qp, &group, 0), 0);
	assert_int_equal(ibv_destroy_qp(o.domain_qp), 0);
	end_free(&o.rc);
	end_free(&o.ud);
	assert_int_equal(ibv_destroy_srq(o.srq), 0);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(o.cq)), 0);
	assert_int_equal(ibv_destroy_comp_channel(o.channel), 0);
	assert_int_equal(ibv_destroy_comp_cntr(o.cntr), 0);
	assert_int_equal(ibv_destroy_ah(o.ah), 0);
	assert_int_equal(ibv_dereg_mr(o.mr), 0);
	assert_int_equal(ibv_dealloc_mw(o.mw), 0);
	assert_int_equal(ibv_dealloc_td(o.td), 0);
	assert_int_equal(ibv_close_xrcd(o.xrcd), 0);
	assert_int_equal(ibv_dealloc_pd(o.pd), 0);
}

static void child__every_verb_is_refused(void **state)
{
	pid_t pid;

	(void)state;
	make_domains();
	make_queues();
	sge = sge_at(0, 8);
	pid = fork();
	if (pid == 0) {
		alarm(
		    VERBS_PATIENCE_S); /* a verb which waits for the parent's threads never ends */
		_exit(count_wrong() ? 1 : 0);
	}
	assert_int_equal(child_status(pid), 0);
	end_parents();
}

/* The child's side: its data stays, whatever the parent does. */
static int keep_device_memory(int ready, int go)
{
	struct ibv_alloc_dm_attr attr = {.length = 64};
	struct ibv_dm *dm = ibv_alloc_dm(ctx, &attr);
	char in[64], out[64], byte;

	memset(in, 0x5a, sizeof in);
	if (!dm || ibv_memcpy_to_dm(dm, 0, in, sizeof in) || write(ready, "", 1) != 1 ||
	    read(go, &byte, 1) != 1)
		return 1;
	return ibv_memcpy_from_dm(out, dm, 0, sizeof out) || memcmp(in, out, sizeof in) != 0 ||
	       ibv_free_dm(dm);
}

/* Device memory needs no adapter: a child gets some, apart from its parent's. */
static void child__has_device_memory_of_its_own(void **state)
{
	struct ibv_alloc_dm_attr attr = {.length = 64};
	struct ibv_dm *before = ibv_alloc_dm(ctx, &attr), *after;
	int ready[2], go[2];
	char byte, in[64];
	pid_t pid;

	(void)state;
	assert_non_null(before);
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (pid == 0) {
		alarm(VERBS_PATIENCE_S);
		_exit(keep_device_memory(ready[1], go[0]));
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	after = ibv_alloc_dm(ctx, &attr);
	assert_non_null(after);
	memset(in, 0x33, sizeof in);
	assert_int_equal(ibv_memcpy_to_dm(after, 0, in, sizeof in), 0);
	assert_int_equal(write(go[1], "", 1), 1);
	assert_int_equal(child_status(pid), 0);
	assert_int_equal(ibv_free_dm(before), 0);
	assert_int_equal(ibv_free_dm(after), 0);
	close(ready[0]), close(go[0]), close(go[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    VERBS_TEST(child__every_verb_is_refused),
	    VERBS_TEST(child__has_device_memory_of_its_own),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
