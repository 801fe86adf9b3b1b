/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory, mappings and descriptors run out at each place where a verb asks for some: the verb says
 * so, keeps nothing that it got before, leaves its arguments as they were, and succeeds when it is
 * called again. The linker leads the calls of this program's own code to the functions here (ld(1)
 * --wrap). IBA 11.2: "insufficient resources to complete request"
 */
#include "verbs/later.h"
#include "verbs/priv.h"

#include "alloc_env.h"
#include "descriptors.h"
#include "import_env.h"

#include <infiniband/mlx5dv.h>
#include <sys/resource.h>

/* Objects that others need. */
static struct {
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_td *td;
	struct ibv_xrcd *xrcd;
	struct ibv_qp *target;
	struct ibv_dm *dm;
	int file;
	struct ibv_context *theirs; /* a context of another process, and its PD */
	struct ibv_pd *their_pd;
} o;

#define MAKE(name, ...)                                                                            \
	static void *name##_new(void)                                                              \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define DROP(name, verb)                                                                           \
	static int name##_free(void *p)                                                            \
	{                                                                                          \
		return verb;                                                                       \
	}

MAKE(list, return ibv_get_device_list(NULL);)
DROP(list, (ibv_free_device_list(p), 0))
MAKE(context, return ibv_open_device(ctx->device);)
DROP(context, ibv_close_device(p))
MAKE(pd, return ibv_alloc_pd(ctx);)
DROP(pd, ibv_dealloc_pd(p))
MAKE(td, struct ibv_td_init_attr a = {0}; return ibv_alloc_td(ctx, &a);)
DROP(td, ibv_dealloc_td(p))
MAKE(domain, struct ibv_parent_domain_init_attr a = {.pd = pd, .td = o.td};
     return ibv_alloc_parent_domain(ctx, &a);)
MAKE(mr, return ibv_reg_mr(pd, buf, 64, ALL_ACCESS);)
DROP(mr, ibv_dereg_mr(p))
MAKE(null_mr, return ibv_alloc_null_mr(pd);)
MAKE(import_mr, return ibv_import_mr(pd, mr->handle);)
DROP(import_mr, (ibv_unimport_mr(p), 0))
MAKE(import_pd, return ibv_import_pd(ctx, pd->handle);)
DROP(import_pd, (ibv_unimport_pd(p), 0))
MAKE(dmabuf, return ibv_reg_dmabuf_mr(pd, 0, 4096, 0, o.file, IBV_ACCESS_LOCAL_WRITE);)
MAKE(mw, return ibv_alloc_mw(pd, IBV_MW_TYPE_2);)
DROP(mw, ibv_dealloc_mw(p))
MAKE(dm, struct ibv_alloc_dm_attr a = {.length = 64}; return ibv_alloc_dm(ctx, &a);)
DROP(dm, ibv_free_dm(p))
MAKE(dm_mr, return ibv_reg_dm_mr(pd, o.dm, 0, 64, IBV_ACCESS_ZERO_BASED);)
MAKE(import_dm, return ibv_import_dm(ctx, o.dm->handle);)
DROP(import_dm, (ibv_unimport_dm(p), 0))
MAKE(dmah, struct vb_dmah_init_attr a = {0};
     return ibv_alloc_dmah(ctx, (struct ibv_dmah_init_attr *)(void *)&a);)
DROP(dmah, ibv_dealloc_dmah(p))
MAKE(buffer, struct ibv_buf *b; return ibv_alloc_buf(pd, 64, &b) ? b : NULL;)
DROP(buffer, (ibv_free_buf(p), 0))
MAKE(ah, struct ibv_ah_attr a = verbs_ah_attr(false); return ibv_create_ah(pd, &a);)
DROP(ah, ibv_destroy_ah(p))
MAKE(channel, return ibv_create_comp_channel(ctx);)
DROP(channel, ibv_destroy_comp_channel(p))
MAKE(cq, return ibv_create_cq(ctx, 16, NULL, o.channel, 0);)
DROP(cq, ibv_destroy_cq(p))
MAKE(cq_ex, struct ibv_cq_init_attr_ex a = {.cqe = 16}; return ibv_create_cq_ex(ctx, &a);)
MAKE(wide_cq, struct ibv_cq_init_attr_ex a = {.cqe = 16};
     struct mlx5dv_cq_init_attr wide = {.comp_mask = MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE,
					.cqe_size = 128};
     return mlx5dv_create_cq(ctx, &a, &wide);)
MAKE(srq, struct ibv_srq_init_attr a = {.attr = {.max_wr = 4, .max_sge = 1}};
     return ibv_create_srq(pd, &a);)
DROP(srq, ibv_destroy_srq(p))
MAKE(xrc_srq,
     struct ibv_srq_init_attr_ex a = {.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
						   IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
				      .attr = {.max_wr = 4, .max_sge = 1},
				      .srq_type = IBV_SRQT_XRC,
				      .pd = pd,
				      .xrcd = o.xrcd,
				      .cq = o.cq};
     return ibv_create_srq_ex(ctx, &a);)
MAKE(counter, struct vb_comp_cntr_init_attr a = {.type = VB_CNTR_WRS};
     return ibv_create_comp_cntr(ctx, (struct ibv_comp_cntr_init_attr *)(void *)&a);)
DROP(counter, ibv_destroy_comp_cntr(p))

static void *xrcd_of(int fd)
{
	struct ibv_xrcd_init_attr a = {.comp_mask =
					   IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
				       .fd = fd,
				       .oflags = O_CREAT};

	return ibv_open_xrcd(ctx, &a);
}

MAKE(xrcd, return xrcd_of(-1);)
DROP(xrcd, ibv_close_xrcd(p))
MAKE(file_xrcd, return xrcd_of(o.file);)

static struct ibv_qp *qp_of(enum ibv_qp_type type, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr a = {
	    .qp_type = type, .send_cq = o.cq, .recv_cq = o.cq, .srq = srq, .cap = {4, 4, 1, 1, 0}};

	return ibv_create_qp(pd, &a);
}

MAKE(rc, return qp_of(IBV_QPT_RC, NULL);)
DROP(rc, ibv_destroy_qp(p))
MAKE(srq_qp, return qp_of(IBV_QPT_RC, o.srq);)
MAKE(ud, return qp_of(IBV_QPT_UD, NULL);)
MAKE(wr_qp, struct ibv_qp_init_attr_ex a = {.qp_type = IBV_QPT_RC,
					    .comp_mask = IBV_QP_INIT_ATTR_PD |
							 IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					    .pd = pd,
					    .send_cq = o.cq,
					    .recv_cq = o.cq,
					    .cap = {4, 4, 1, 1, 0},
					    .send_ops_flags = IBV_QP_EX_WITH_SEND};
     return ibv_create_qp_ex(ctx, &a);)
MAKE(target, struct ibv_qp_init_attr_ex a = {.qp_type = IBV_QPT_XRC_RECV,
					     .comp_mask = IBV_QP_INIT_ATTR_XRCD,
					     .xrcd = o.xrcd};
     return ibv_create_qp_ex(ctx, &a);)
MAKE(handle,
     struct ibv_qp_open_attr a = {.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
					       IBV_QP_OPEN_ATTR_TYPE,
				  .qp_num = o.target->qp_num,
				  .xrcd = o.xrcd,
				  .qp_type = IBV_QPT_XRC_RECV};
     return ibv_open_qp(ctx, &a);)

static void *dc_of(enum mlx5dv_dc_type type)
{
	struct ibv_qp_init_attr_ex a = {.qp_type = IBV_QPT_DRIVER,
					.comp_mask = IBV_QP_INIT_ATTR_PD,
					.pd = pd,
					.send_cq = o.cq,
					.recv_cq = o.cq,
					.srq = o.srq,
					.cap = {.max_send_wr = 4, .max_send_sge = 1}};
	struct mlx5dv_qp_init_attr dc = {.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
					 .dc_init_attr = {.dc_type = type}};

	return mlx5dv_create_qp(ctx, &a, &dc);
}

MAKE(dct, return dc_of(MLX5DV_DCTYPE_DCT);)
MAKE(dci, return dc_of(MLX5DV_DCTYPE_DCI);)

/* One of each in ctx. */
static bool fill_context(void)
{
	static const union ibv_gid group = {.raw = {0xff, 0x0e, [15] = 0x0b}};
	struct ibv_qp *qp;

	if (!(o.channel = channel_new()) || !(o.cq = cq_new()) || !(o.srq = srq_new()) ||
	    !(o.td = td_new()) || !domain_new() || !(o.xrcd = xrcd_new()) ||
	    !(o.target = target_new()) || !handle_new() || !xrc_srq_new())
		return false;
	if (!(o.dm = dm_new()) || !dm_mr_new() || !mr_new() || !null_mr_new() || !mw_new() ||
	    !dmabuf_new() || !counter_new() || !cq_ex_new() || !wide_cq_new())
		return false;
	if (!rc_new() || !srq_qp_new() || !wr_qp_new() || !dct_new() || !dci_new())
		return false;
	qp = ud_new();
	return qp && ibv_attach_mcast(qp, &group, 0) == 0;
}

/* All of it goes when the device is closed. */
static void *full_context_new(void)
{
	struct ibv_context *first = ctx, *made = ibv_open_device(ctx->device);
	struct ibv_pd *first_pd = pd;
	const int file = o.file;
	int err = errno;

	if (!made)
		return NULL;
	ctx = made;
	pd = ibv_alloc_pd(ctx);
	if (!pd || !fill_context()) {
		err = errno;
		(void)ibv_close_device(made);
		made = NULL;
	}
	ctx = first;
	pd = first_pd;
	o.file = file;
	errno = err;
	return made;
}

/* A context, if made, has the descriptor. */
static void *their_context_new(void)
{
	int fd = dup(o.file), err;
	void *p = fd >= 0 ? ibv_import_device(fd) : NULL;

	err = errno;
	if (fd >= 0 && !p)
		close(fd);
	errno = err;
	return p;
}

MAKE(their_pd, return ibv_import_pd(o.theirs, ex->story->pd);)
MAKE(their_mr, return ibv_import_mr(o.their_pd, ex->story->mr[SHARED]);)
MAKE(their_file_mr, return ibv_import_mr(o.their_pd, ex->story->mr[FILE_MR]);)
MAKE(their_null_mr, return ibv_import_mr(o.their_pd, ex->story->mr[NOTHING]);)
MAKE(their_dm, return ibv_import_dm(o.theirs, ex->story->dm);)

static const struct kind {
	const char *name;
	void *(*make)(void);
	int (*drop)(void *p);
	bool is_foreign; /* then it may not find out why it fails, only that it does */
} kinds[] = {
    {"device list", list_new, list_free, false},
    {"context", context_new, context_free, false},
    {"PD", pd_new, pd_free, false},
    {"imported PD", import_pd_new, import_pd_free, false},
    {"thread domain", td_new, td_free, false},
    {"parent domain", domain_new, pd_free, false},
    {"MR", mr_new, mr_free, false},
    {"null MR", null_mr_new, mr_free, false},
    {"imported MR", import_mr_new, import_mr_free, false},
    {"MR of a dma-buf", dmabuf_new, mr_free, false},
    {"MW", mw_new, mw_free, false},
    {"DM", dm_new, dm_free, false},
    {"MR of a DM", dm_mr_new, mr_free, false},
    {"imported DM", import_dm_new, import_dm_free, false},
    {"DMA handle", dmah_new, dmah_free, false},
    {"buffer", buffer_new, buffer_free, false},
    {"AH", ah_new, ah_free, false},
    {"channel", channel_new, channel_free, false},
    {"CQ", cq_new, cq_free, false},
    {"extended CQ", cq_ex_new, cq_free, false},
    {"CQ of wide entries", wide_cq_new, cq_free, false},
    {"SRQ", srq_new, srq_free, false},
    {"XRC SRQ", xrc_srq_new, srq_free, false},
    {"completion counter", counter_new, counter_free, false},
    {"XRCD", xrcd_new, xrcd_free, false},
    {"XRCD of a file", file_xrcd_new, xrcd_free, false},
    {"RC QP", rc_new, rc_free, false},
    {"RC QP of an SRQ", srq_qp_new, rc_free, false},
    {"UD QP", ud_new, rc_free, false},
    {"QP with ibv_wr_*()", wr_qp_new, rc_free, false},
    {"XRC target", target_new, rc_free, false},
    {"handle of an XRC target", handle_new, rc_free, false},
    {"DCT", dct_new, rc_free, false},
    {"DCI", dci_new, rc_free, false},
};

static const struct kind kinds_of_another[] = {
    {"PD of another process", their_pd_new, import_pd_free, true},
    {"MR of another process", their_mr_new, mr_free, true},
    {"MR of another process's file", their_file_mr_new, mr_free, true},
    {"null MR of another process", their_null_mr_new, mr_free, true},
    {"DM of another process", their_dm_new, import_dm_free, true},
};

static void make_all(void)
{
	o.file = memfd_create("test", MFD_CLOEXEC);
	assert_int_equal(ftruncate(o.file, 4096), 0);
	o.channel = channel_new();
	o.cq = cq_new();
	o.srq = srq_new();
	o.td = td_new();
	o.xrcd = xrcd_new();
	assert_true(o.channel && o.cq && o.srq && o.td && o.xrcd);
	o.target = target_new();
	assert_non_null(o.target);
}

/* Nothing is busy: no refused object holds any. */
static void free_all(void)
{
	assert_int_equal(ibv_destroy_qp(o.target), 0);
	assert_int_equal(ibv_close_xrcd(o.xrcd), 0);
	assert_int_equal(ibv_dealloc_td(o.td), 0);
	assert_int_equal(ibv_destroy_srq(o.srq), 0);
	assert_int_equal(ibv_destroy_cq(o.cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(o.channel), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	close(o.file);
}

/* Resources of the process that others see. */
struct seen {
	uint32_t qps, cqs, mrs;
	unsigned descriptors;
};

static struct seen look(void)
{
	const struct vb_slot_shm *slot = vb_engine_slot(vb_ibv_ctx(ctx)->engine);

	return (struct seen){slot->qp_cnt, slot->cq_cnt, slot->mr_cnt, descriptors_of(getpid())};
}

/* Each request for memory fails in turn, until the verb makes no further request. */
static void assert_without_memory(const struct kind *k)
{
	uint32_t made = 0, refused = 0;
	void *first = k->make();

	/* Tables that all of a kind share stay. */
	assert_non_null(first);
	assert_int_equal(k->drop(first), 0);
	for (uint32_t n = 1;; n++) {
		struct seen before = look(), after;
		int64_t had = pieces, mapped = mappings;
		uint32_t asked;
		void *p;

		calls = 0;
		fail_at = n;
		errno = 0;
		p = k->make();

		int err = errno;

		asked = calls;
		fail_at = 0;
		if (p) {
			assert_int_equal(k->drop(p), 0);
			made++;
		} else {
			assert_true(k->is_foreign ? err != 0 : err == ENOMEM);
			refused++;
		}
		after = look();
		assert_memory_equal(&after, &before, sizeof after);
		assert_int_equal(mappings, mapped);
		if (!k->is_foreign) /* else lines were read, whose memory is not counted here */
			assert_int_equal(pieces, had);
		if (asked < n)
			break;
	}
	print_message("%s: made %u times, refused %u times\n", k->name, made, refused);
	assert_int_equal(made, 1); /* made only as a whole */
	assert_true(refused);
}

/* A context with one of each kind gives all of that back. */
static void assert_without_memory_full(void)
{
	const struct kind full = {"context with all kinds", full_context_new, context_free, false};

	o.file = memfd_create("test", MFD_CLOEXEC);
	assert_int_equal(ftruncate(o.file, 4096), 0);
	assert_without_memory(&full);
	close(o.file);
	memset(&o, 0, sizeof o);
}

static void create__without_memory(void **state)
{
	const struct kind first = {"first CQ", cq_ex_new, cq_free, false};

	(void)state;
	assert_without_memory(&first); /* with it comes memory that others share */
	assert_without_memory_full();
	make_all();
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		/* The first DM makes memory that all of them share, and the last one frees it. */
		bool is_of_dm = kinds[i].make == dm_mr_new || kinds[i].make == import_dm_new;

		o.dm = is_of_dm ? dm_new() : NULL;
		assert_without_memory(&kinds[i]);
		if (o.dm)
			assert_int_equal(ibv_free_dm(o.dm), 0);
	}
	free_all();
}

/* The same for descriptors, with one more each time. */
static void assert_without_descriptors(const struct kind *k)
{
	struct rlimit old, few;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	for (rlim_t room = 0;; room++) {
		struct seen before = look(), after;
		int last = dup(0), err;
		void *p;

		close(last);
		few = (struct rlimit){(rlim_t)last + room, old.rlim_max};
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		errno = 0;
		p = k->make();
		err = errno;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
		if (p)
			assert_int_equal(k->drop(p), 0);
		else
			assert_true(err == EMFILE || err == ENOMEM || k->is_foreign);
		after = look();
		assert_memory_equal(&after, &before, sizeof after);
		if (p)
			break;
		assert_true(room < 8);
	}
}

static void create__without_descriptors(void **state)
{
	(void)state;
	make_all();
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		if (kinds[i].make == dm_mr_new || kinds[i].make == import_dm_new)
			continue; /* the device memory has it */
		print_message("%s\n", kinds[i].name);
		assert_without_descriptors(&kinds[i]);
	}
	free_all();
}

/* A failed import leaves no mapping of another process. */
static void import__without_memory(void **state)
{
	const struct kind of_context = {"context of another process", their_context_new,
					context_free, true};

	(void)state;
	o.file = passed_fd();
	assert_without_memory(&of_context);
	assert_without_descriptors(&of_context);
	o.theirs = ibv_import_device(o.file);
	o.their_pd = ibv_import_pd(o.theirs, ex->story->pd);
	assert_true(o.theirs && o.their_pd);
	for (size_t i = 0; i < sizeof kinds_of_another / sizeof kinds_of_another[0]; i++) {
		assert_without_memory(&kinds_of_another[i]);
		assert_without_descriptors(&kinds_of_another[i]);
	}
	ibv_unimport_pd(o.their_pd);
	assert_int_equal(ibv_close_device(o.theirs), 0);
}

/* A batch without memory is refused as a whole, and the next one is taken. */
static void wr_complete__without_memory(void **state)
{
	struct ibv_qp *qp;
	struct ibv_qp_ex *x;
	struct ibv_wc wc;

	(void)state;
	make_all();
	qp = wr_qp_new();
	x = ibv_qp_to_qp_ex(qp);
	to_init(qp);
	to_rts(qp, qp->qp_num, false);
	ibv_wr_start(x);
	calls = 0;
	fail_at = 1;
	x->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(x);
	fail_at = 0;
	assert_int_equal(calls, 1);
	ibv_wr_set_sge(x, mr->lkey, (uintptr_t)buf, 8);
	ibv_wr_send(x);
	ibv_wr_set_sge(x, mr->lkey, (uintptr_t)buf, 8);
	errno = 0;
	assert_int_equal(ibv_wr_complete(x), ENOMEM);
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(ibv_poll_cq(o.cq, 1, &wc), 0);
	post_recv(qp, 1, 64, 8);
	ibv_wr_start(x);
	x->wr_id = 2;
	ibv_wr_send(x);
	ibv_wr_set_sge(x, mr->lkey, (uintptr_t)buf, 8);
	assert_int_equal(ibv_wr_complete(x), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(wc_next(o.cq).status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	free_all();
}

/* An object for which the table of objects cannot grow is not made, and one more try makes it. */
static void object__without_memory_for_the_table(void **state)
{
	static void *object[5000];
	uint32_t refused = 0;

	(void)state;
	for (size_t i = 0; i < sizeof object / sizeof object[0]; i++) {
		int64_t had = pieces;

		calls = 0;
		fail_at = 2; /* the object itself is the first */
		object[i] = vb_object_new(VB_OBJECT_PD, 64);
		fail_at = 0;
		if (object[i])
			continue;
		assert_int_equal(pieces, had);
		refused++;
		object[i] = vb_object_new(VB_OBJECT_PD, 64);
		assert_non_null(object[i]);
	}
	assert_true(refused > 0);
	for (size_t i = 0; i < sizeof object / sizeof object[0]; i++)
		vb_object_free(object[i]);
}

/* "raw": with queues as hardware has them, for the whole process. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    VERBS_TEST(create__without_memory),
	    VERBS_TEST(create__without_descriptors),
	    VERBS_TEST(wr_complete__without_memory),
	    VERBS_TEST(object__without_memory_for_the_table),
	    IMPORT_TEST(import__without_memory),
	};

	VERBS_MAIN_OR_SKIP();
	if (argc > 1 && strcmp(argv[1], "raw") == 0)
		setenv("VERBENA_MLX5DV", "1", 1);
	prepare_exporters();

	int rc = cmocka_run_group_tests(tests, NULL, NULL);

	unlink(file_path);
	return rc;
}
