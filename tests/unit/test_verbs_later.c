/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls that rdma-core has since version 59, by the structures of its later headers: regions with
 * attributes, DMA handles, buffers, the speed of a port. The others are refused in the way that
 * each reports errors, and look at nothing that they are given.
 */
#include "verbs/later.h"
#include "verbs/priv.h"
#include "verbs_env.h"

#include <sched.h>
#include <sys/mman.h>

#define assert_refused(call, err)                                                                  \
	do {                                                                                       \
		errno = 0;                                                                         \
		assert_null(call);                                                                 \
		assert_int_equal(errno, err);                                                      \
	} while (0)
#define assert_refused_fd(call, err)                                                               \
	do {                                                                                       \
		errno = 0;                                                                         \
		assert_int_equal(call, -1);                                                        \
		assert_int_equal(errno, err);                                                      \
	} while (0)

static struct ibv_mr *reg_ex(struct vb_mr_init_attr attr)
{
	return ibv_reg_mr_ex(pd, (struct ibv_mr_init_attr *)(void *)&attr);
}

static struct ibv_dmah *alloc_dmah(struct vb_dmah_init_attr attr)
{
	return ibv_alloc_dmah(ctx, (struct ibv_dmah_init_attr *)(void *)&attr);
}

/* Writes 8 bytes of buf to @to under the R_Key of @region. */
static void write_to(const struct ibv_mr *region, uint64_t to)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE,
				 .wr.rdma = {.remote_addr = to, .rkey = region->rkey}};
	struct verbs_end a, b;

	ends_new(&a, &b);
	post_send(a.qp, wr, 0, 8);
	assert_int_equal(wc_next(a.cq).status, IBV_WC_SUCCESS);
	ends_free(&a, &b);
}

/* Memory of the process, with and without an address of its own; of a descriptor; what goes not
 * together. */
static void reg_mr_ex__all_kinds(void **state)
{
	static uint64_t target[512] __attribute__((aligned(4096)));
	int fd = memfd_create("later", 0);
	struct ibv_mr *region;
	uint64_t *mapped;

	(void)state;
	memset(buf, 0x5a, 8);
	region = reg_ex((struct vb_mr_init_attr){.comp_mask = VB_MR_ADDR,
						 .addr = target,
						 .length = sizeof target,
						 .access = ALL_ACCESS});
	assert_non_null(region);
	assert_ptr_equal(region->addr, target);
	write_to(region, (uintptr_t)&target[1]);
	assert_int_equal(target[1], 0x5a5a5a5a5a5a5a5a);
	assert_int_equal(ibv_dereg_mr(region), 0);
	region = reg_ex((struct vb_mr_init_attr){.comp_mask = VB_MR_ADDR | VB_MR_IOVA,
						 .addr = target,
						 .iova = 0x7000,
						 .length = sizeof target,
						 .access = ALL_ACCESS});
	assert_non_null(region);
	write_to(region, 0x7010);
	assert_int_equal(target[2], 0x5a5a5a5a5a5a5a5a);
	assert_int_equal(ibv_dereg_mr(region), 0);

	assert_int_equal(ftruncate(fd, 8192), 0);
	mapped = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(mapped, MAP_FAILED);
	region = reg_ex(
	    (struct vb_mr_init_attr){.comp_mask = VB_MR_FD | VB_MR_FD_OFFSET | VB_MR_IOVA,
				     .fd = fd,
				     .fd_offset = 4096,
				     .iova = 0x10000,
				     .length = 4096,
				     .access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE});
	assert_non_null(region);
	write_to(region, 0x10008);
	assert_int_equal(mapped[4096 / 8 + 1], 0x5a5a5a5a5a5a5a5a);
	assert_int_equal(ibv_dereg_mr(region), 0);
	assert_int_equal(munmap(mapped, 8192), 0);

	assert_refused(reg_ex((struct vb_mr_init_attr){.comp_mask = 0, .length = 8}), EINVAL);
	assert_refused(
	    reg_ex((struct vb_mr_init_attr){
		.comp_mask = VB_MR_ADDR | VB_MR_FD, .addr = target, .fd = fd, .length = 8}),
	    EINVAL);
	assert_refused(reg_ex((struct vb_mr_init_attr){
			   .comp_mask = VB_MR_ADDR | VB_MR_FD_OFFSET, .addr = target, .length = 8}),
		       EINVAL);
	assert_refused(reg_ex((struct vb_mr_init_attr){
			   .comp_mask = VB_MR_FD | VB_MR_BUF, .fd = fd, .length = 8}),
		       EINVAL);
	assert_refused(reg_ex((struct vb_mr_init_attr){
			   .comp_mask = VB_MR_ADDR | 1 << 20, .addr = target, .length = 8}),
		       EOPNOTSUPP);
	assert_refused(reg_ex((struct vb_mr_init_attr){.comp_mask = VB_MR_ADDR,
						       .addr = target,
						       .length = 8,
						       .access = IBV_ACCESS_REMOTE_WRITE}),
		       EINVAL);
	close(fd);
}

/* A region of a descriptor that has no address of its own begins at the offset. ibv_reg_mr_ex(3) */
static void reg_mr_ex__begins_at_the_offset(void **state)
{
	int fd = memfd_create("later", 0);
	struct ibv_mr *region;
	uint64_t *mapped;

	(void)state;
	assert_int_equal(ftruncate(fd, 8192), 0);
	mapped = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(mapped, MAP_FAILED);
	memset(buf, 0x5a, 8);
	for (uint64_t offset = 0; offset < 8192; offset += 4096) {
		region = reg_ex((struct vb_mr_init_attr){
		    .comp_mask = VB_MR_FD | (offset ? VB_MR_FD_OFFSET : 0),
		    .fd = fd,
		    .fd_offset = 4096,
		    .length = 4096,
		    .access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE});
		assert_non_null(region);
		write_to(region, offset + 16);
		assert_int_equal(mapped[offset / 8 + 2], 0x5a5a5a5a5a5a5a5a);
		assert_int_equal(ibv_dereg_mr(region), 0);
	}
	assert_int_equal(munmap(mapped, 8192), 0);
	close(fd);
}

/* The processor of a handle is one that the thread may run on, and not only one that is there. */
static void processor__is_one_of_the_thread(void)
{
	unsigned cpu = (unsigned)sched_getcpu();
	cpu_set_t before, one;
	struct ibv_dmah *d;

	assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
	assert_refused(
	    alloc_dmah((struct vb_dmah_init_attr){.comp_mask = VB_DMAH_CPU_ID, .cpu_id = cpu ^ 1}),
	    EINVAL);
	d = alloc_dmah((struct vb_dmah_init_attr){.comp_mask = VB_DMAH_CPU_ID, .cpu_id = cpu});
	assert_non_null(d);
	assert_int_equal(ibv_dealloc_dmah(d), 0);
	assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

/* A handle is checked, goes into regions of its context, and stays while one of them is there. */
static void dmah__kept(void **state)
{
	struct ibv_dmah *d = alloc_dmah((struct vb_dmah_init_attr){
	    .comp_mask = VB_DMAH_PH | VB_DMAH_MEM_TYPE, .ph = 3, .tph_mem_type = 1});
	struct vb_mr_init_attr attr = {.comp_mask = VB_MR_ADDR | VB_MR_DMAH,
				       .addr = buf,
				       .length = 64,
				       .access = ALL_ACCESS,
				       .dmah = d};
	struct ibv_mr *region, *imported;

	(void)state;
	assert_non_null(d);
	assert_ptr_equal(*(struct ibv_context **)(void *)d, ctx); /* what programs see of it */
	region = reg_ex(attr);
	assert_non_null(region);
	assert_int_equal(ibv_dealloc_dmah(d), EBUSY);
	/* One that was imported has the handle as well, and gives back what it took. */
	imported = ibv_import_mr(pd, region->handle);
	assert_non_null(imported);
	ibv_unimport_mr(imported);
	assert_int_equal(ibv_dealloc_dmah(d), EBUSY);
	assert_int_equal(ibv_dereg_mr(region), 0);
	assert_int_equal(ibv_dealloc_dmah(d), 0);
	assert_int_equal(ibv_dealloc_dmah(d), ENOENT);
	assert_refused(reg_ex(attr), ENOENT);
	assert_refused(alloc_dmah((struct vb_dmah_init_attr){.comp_mask = VB_DMAH_PH, .ph = 4}),
		       EINVAL);
	assert_refused(alloc_dmah((struct vb_dmah_init_attr){.comp_mask = VB_DMAH_MEM_TYPE,
							     .tph_mem_type = 2}),
		       EINVAL);
	assert_refused(
	    alloc_dmah((struct vb_dmah_init_attr){.comp_mask = VB_DMAH_CPU_ID, .cpu_id = 100000}),
	    EINVAL);
	processor__is_one_of_the_thread();
	assert_refused(alloc_dmah((struct vb_dmah_init_attr){.comp_mask = 1 << 7}), EOPNOTSUPP);
}

/* Pages of the process, registered with the domain that they were allocated with, and within their
 * bounds. */
static void buf__registered(void **state)
{
	struct ibv_pd *other = ibv_alloc_pd(ctx);
	struct ibv_buf *b, *c;
	uint64_t *p = ibv_alloc_buf(pd, 8192, &b);
	struct ibv_mr *region;

	(void)state;
	assert_non_null(p);
	assert_int_equal((uintptr_t)p % 4096, 0);
	region = ibv_reg_buf_mr(pd, b, p + 512, 4096, ALL_ACCESS);
	assert_non_null(region);
	memset(buf, 0xa5, 8);
	write_to(region, (uintptr_t)(p + 513));
	assert_int_equal(p[513], 0xa5a5a5a5a5a5a5a5);
	assert_int_equal(ibv_dereg_mr(region), 0);
	region = reg_ex((struct vb_mr_init_attr){.comp_mask = VB_MR_ADDR | VB_MR_BUF,
						 .addr = p,
						 .buf = b,
						 .length = 8192,
						 .access = ALL_ACCESS});
	assert_non_null(region);
	assert_int_equal(ibv_dereg_mr(region), 0);
	assert_refused(ibv_reg_buf_mr(other, b, p, 8192, 0), EINVAL);
	assert_refused(ibv_reg_buf_mr(pd, b, p + 1, 8192, 0), EINVAL);
	assert_refused(ibv_reg_buf_mr(pd, b, p - 1, 8, 0), EINVAL);
	assert_refused(ibv_reg_buf_mr(pd, b, p + 1025, 0, 0), EINVAL);
	assert_refused(ibv_reg_buf_mr(NULL, b, p, 8, 0), ENOENT);
	assert_refused_fd(ibv_export_buf_dmabuf_fd(b), ENODATA);
	assert_refused(ibv_alloc_buf(pd, 0, &c), EINVAL);
	assert_refused(ibv_alloc_buf(pd, SIZE_MAX / 2, &c), ENOMEM);
	ibv_free_buf(b);
	assert_refused(ibv_reg_buf_mr(pd, b, p, 8192, 0), ENOENT);
	ibv_free_buf(b);
	/* A buffer ends as asked, though its last page goes on. */
	p = ibv_alloc_buf(pd, 5000, &b);
	assert_non_null(p);
	assert_refused(ibv_reg_buf_mr(pd, b, p, 5001, 0), EINVAL);
	region = ibv_reg_buf_mr(pd, b, p, 5000, 0);
	assert_non_null(region);
	assert_int_equal(ibv_dereg_mr(region), 0);
	ibv_free_buf(b);
	assert_int_equal(ibv_dealloc_pd(other), 0);
}

/* In units of 100 Mb/s. Loopback does not know its speed. */
static void port_speed__of_the_link(void **state)
{
	uint64_t speed = 0;

	(void)state;
	assert_int_equal(ibv_query_port_speed(ctx, 1, &speed), 0);
	assert_int_equal(speed, 1000);
	assert_int_equal(ibv_query_port_speed(ctx, 2, &speed), EINVAL);
	assert_refused_fd(ibv_dm_export_dmabuf_fd(NULL), EOPNOTSUPP);
}

static struct ibv_comp_cntr *create_cntr(int type)
{
	struct vb_comp_cntr_init_attr attr = {.type = type};

	return ibv_create_comp_cntr(ctx, (struct ibv_comp_cntr_init_attr *)(void *)&attr);
}

static int attach_cntr(struct ibv_qp *qp, struct ibv_comp_cntr *cntr, uint32_t ops)
{
	struct vb_qp_attach_comp_cntr_attr attr = {.op_mask = ops};

	return ibv_qp_attach_comp_cntr(qp, cntr,
				       (struct ibv_qp_attach_comp_cntr_attr *)(void *)&attr);
}

static void assert_counts(struct ibv_comp_cntr *cntr, uint64_t done, uint64_t failed)
{
	uint64_t is = 0;

	do {
		assert_int_equal(ibv_read_comp_cntr(cntr, &is), 0);
	} while (is < done && patience_left());
	assert_int_equal(is, done);
	assert_int_equal(ibv_read_err_comp_cntr(cntr, &is), 0);
	assert_int_equal(is, failed);
}

/* Posts a request of which no completion tells. */
static void post_silent(struct ibv_qp *qp, enum ibv_wr_opcode opcode, uint32_t length,
			uint32_t rkey)
{
	struct ibv_sge sge = sge_at(0, length);
	struct ibv_send_wr *bad,
	    wr = {.sg_list = &sge,
		  .num_sge = 1,
		  .opcode = opcode,
		  .wr.rdma = {.remote_addr = (uintptr_t)buf + 4096, .rkey = rkey}};

	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
}

/* By kinds of work, in work requests and in bytes; without a look at a CQ, which has no entry. */
static void comp_cntr__counts_work(void **state)
{
	struct verbs_end a = end_new(IBV_QPT_RC, NULL, NULL), b = end_new(IBV_QPT_RC, NULL, NULL);
	struct ibv_comp_cntr *writes = create_cntr(VB_CNTR_WRS),
			     *bytes = create_cntr(VB_CNTR_BYTES),
			     *received = create_cntr(VB_CNTR_BYTES);
	struct ibv_wc wc;

	(void)state;
	assert_int_equal(attach_cntr(a.qp, writes, VB_CNTR_OP_WRITE), 0);
	assert_int_equal(attach_cntr(a.qp, bytes, VB_CNTR_OP_SEND | VB_CNTR_OP_READ), 0);
	assert_int_equal(attach_cntr(b.qp, received, VB_CNTR_OP_RECV), 0);
	verbs_connect(a.qp, b.qp, false);
	for (int i = 0; i < 3; i++)
		post_silent(a.qp, IBV_WR_RDMA_WRITE, 10, mr->rkey);
	assert_counts(writes, 3, 0);
	post_silent(a.qp, IBV_WR_RDMA_READ, 100, mr->rkey);
	assert_counts(bytes, 100, 0);
	assert_counts(writes, 3, 0);
	post_recv(b.qp, 1, 8192, 64);
	post_silent(a.qp, IBV_WR_SEND, 50, 0);
	assert_counts(received, 50, 0);
	assert_counts(bytes, 150, 0);
	assert_int_equal(ibv_poll_cq(a.cq, 1, &wc), 0);
	/* A wrong key: one fails, and what stands behind it. */
	post_silent(a.qp, IBV_WR_RDMA_WRITE, 10, mr->rkey + 0x100);
	post_silent(a.qp, IBV_WR_RDMA_WRITE, 10, mr->rkey);
	assert_int_equal(wc_next(a.cq).status, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(wc_next(a.cq).status, IBV_WC_WR_FLUSH_ERR);
	assert_counts(writes, 3, 2);
	assert_int_equal(ibv_set_comp_cntr(writes, UINT64_MAX), 0);
	assert_int_equal(ibv_inc_comp_cntr(writes, 6), 0);
	assert_int_equal(ibv_set_err_comp_cntr(writes, 7), 0);
	assert_int_equal(ibv_inc_err_comp_cntr(writes, 1), 0);
	assert_counts(writes, 5, 8);
	/* It goes after the QPs that have it. */
	assert_int_equal(ibv_destroy_comp_cntr(writes), EBUSY);
	ends_free(&a, &b);
	assert_int_equal(ibv_destroy_comp_cntr(writes), 0);
	assert_int_equal(ibv_destroy_comp_cntr(bytes), 0);
	assert_int_equal(ibv_destroy_comp_cntr(writes), ENOENT);
	/* received is left to ibv_close_device(). */
}

static void comp_cntr__wrong_attachments_refused(void **state)
{
	struct verbs_end a = end_new(IBV_QPT_RC, NULL, NULL), b = end_new(IBV_QPT_UD, NULL, NULL);
	struct ibv_comp_cntr *one = create_cntr(VB_CNTR_WRS), *other = create_cntr(VB_CNTR_WRS);
	struct vb_comp_cntr_caps caps;
	struct vb_comp_cntr_init_attr flags = {.flags = 1}, mask = {.comp_mask = 1};
	struct vb_qp_attach_comp_cntr_attr unknown = {.comp_mask = 1, .op_mask = VB_CNTR_OP_SEND};

	(void)state;
	assert_int_equal(
	    _ibv_query_comp_cntr_caps(ctx, (struct ibv_comp_cntr_caps *)(void *)&caps, sizeof caps),
	    0);
	assert_int_equal(caps.max_value, UINT64_MAX);
	assert_int_equal(caps.supported_qp_attach_ops, 1 | 2 | 4 | 16);
	assert_int_equal(attach_cntr(a.qp, one, VB_CNTR_OP_SEND | VB_CNTR_OP_RECV), 0);
	assert_int_equal(attach_cntr(a.qp, other, VB_CNTR_OP_WRITE | VB_CNTR_OP_RECV), EBUSY);
	assert_non_null(strstr(verbena_refusal(), "work that another counter counts"));
	assert_int_equal(attach_cntr(a.qp, other, VB_CNTR_OP_WRITE), 0);
	assert_int_equal(attach_cntr(b.qp, other, VB_CNTR_OP_REMOTE_WRITE), EOPNOTSUPP);
	assert_int_equal(attach_cntr(b.qp, other, 0), EOPNOTSUPP);
	assert_non_null(strstr(verbena_refusal(), "counted are SEND, RECV"));
	assert_int_equal(ibv_qp_attach_comp_cntr(
			     b.qp, other, (struct ibv_qp_attach_comp_cntr_attr *)(void *)&unknown),
			 EOPNOTSUPP);
	to_init(b.qp);
	assert_int_equal(attach_cntr(b.qp, other, VB_CNTR_OP_SEND), 0);
	to_rts(b.qp, 0, false);
	assert_int_equal(attach_cntr(b.qp, one, VB_CNTR_OP_RECV), EINVAL);
	assert_non_null(strstr(verbena_refusal(), "the QP is in state 3"));
	assert_refused(create_cntr(2), EOPNOTSUPP);
	assert_refused(ibv_create_comp_cntr(ctx, (struct ibv_comp_cntr_init_attr *)(void *)&mask),
		       EOPNOTSUPP);
	assert_refused(ibv_create_comp_cntr(ctx, (struct ibv_comp_cntr_init_attr *)(void *)&flags),
		       EOPNOTSUPP);
	end_free(&a);
	assert_int_equal(ibv_destroy_comp_cntr(one), 0);
	assert_int_equal(ibv_destroy_comp_cntr(other), EBUSY);
	end_free(&b);
	assert_int_equal(ibv_destroy_comp_cntr(other), 0);
}

/* A program of later headers passes structures that are longer than the adapter knows: what it does
 * not know of reads as zero, and nothing behind the end is written. */
static void query__longer_structures(void **state)
{
	struct {
		union {
			struct ibv_device_attr_ex device;
			struct ibv_port_attr port;
			struct vb_comp_cntr_caps caps;
		} known;
		uint8_t more[64], behind;
	} a;
	const size_t size = offsetof(__typeof__(a), behind);
	struct verbs_context *v = verbs_get_ctx(ctx);

	(void)state;
	for (int i = 0; i < 3; i++) {
		memset(&a, 0xaa, sizeof a);
		if (i == 0)
			assert_int_equal(v->query_device_ex(ctx, NULL, &a.known.device, size), 0);
		else if (i == 1)
			assert_int_equal(v->query_port(ctx, 1, &a.known.port, size), 0);
		else
			assert_int_equal(
			    _ibv_query_comp_cntr_caps(
				ctx, (struct ibv_comp_cntr_caps *)(void *)&a.known.caps, size),
			    0);
		for (size_t k = 0; k < sizeof a.more; k++)
			assert_int_equal(a.more[k], 0);
		assert_int_equal(a.behind, 0xaa);
	}
	assert_int_equal(a.known.caps.max_counters, 1u << 24);
	/* ... and one of earlier headers shorter ones. */
	memset(&a, 0xaa, sizeof a);
	assert_int_equal(
	    _ibv_query_comp_cntr_caps(ctx, (struct ibv_comp_cntr_caps *)(void *)&a.known.caps, 8),
	    0);
	assert_int_equal(a.known.caps.max_value, UINT64_MAX);
	assert_int_equal(a.known.caps.max_counters, 0xaaaaaaaa);
}

/* Counters, DMA handles and buffers are objects as others are: those of another context, those that
 * have gone, and those whose handle is another one are not there. */
static void objects__that_are_not_there(void **state)
{
	struct ibv_context *here = ctx;
	struct ibv_pd *gone = ibv_alloc_pd(ctx);
	struct verbs_end e = end_new(IBV_QPT_RC, NULL, NULL);
	struct vb_mr_init_attr attr = {
	    .comp_mask = VB_MR_ADDR | VB_MR_DMAH, .addr = buf, .length = 64};
	struct ibv_comp_cntr *own = create_cntr(VB_CNTR_WRS), *far;
	struct ibv_buf *b;
	uint64_t value;

	(void)state;
	ctx = ibv_open_device(here->device);
	far = create_cntr(VB_CNTR_WRS);
	attr.dmah = alloc_dmah((struct vb_dmah_init_attr){.comp_mask = 0});
	assert_true(own && far && attr.dmah);
	assert_int_equal(attach_cntr(e.qp, far, VB_CNTR_OP_SEND), ENOENT);
	assert_refused(reg_ex(attr), ENOENT);
	assert_non_null(strstr(verbena_refusal(), "of another context"));
	assert_int_equal(ibv_dealloc_dmah(attr.dmah), 0);
	assert_int_equal(ibv_close_device(ctx), 0); /* far goes along */
	ctx = here;
	assert_int_equal(attach_cntr(e.qp, far, VB_CNTR_OP_SEND), ENOENT);
	assert_int_equal(ibv_read_comp_cntr(far, &value), ENOENT);
	/* The number behind its context is its handle. */
	((struct vb_ibv_comp_cntr *)(void *)own)->handle++;
	assert_int_equal(ibv_inc_comp_cntr(own, 1), ENOENT);
	assert_int_equal(ibv_destroy_comp_cntr(own), ENOENT);
	((struct vb_ibv_comp_cntr *)(void *)own)->handle--;
	assert_int_equal(ibv_read_comp_cntr(own, &value), 0);
	assert_int_equal(value, 0);
	assert_int_equal(ibv_destroy_comp_cntr(own), 0);
	end_free(&e);
	assert_int_equal(attach_cntr(e.qp, own, VB_CNTR_OP_SEND), ENOENT);
	assert_int_equal(ibv_dealloc_pd(gone), 0);
	assert_refused(ibv_alloc_buf(gone, 64, &b), ENOENT);
	attr.comp_mask = VB_MR_ADDR;
	assert_refused(ibv_reg_mr_ex(gone, (struct ibv_mr_init_attr *)(void *)&attr), ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(reg_mr_ex__all_kinds),
	    cmocka_unit_test(reg_mr_ex__begins_at_the_offset),
	    cmocka_unit_test(dmah__kept),
	    cmocka_unit_test(buf__registered),
	    cmocka_unit_test(port_speed__of_the_link),
	    cmocka_unit_test(comp_cntr__counts_work),
	    cmocka_unit_test(comp_cntr__wrong_attachments_refused),
	    cmocka_unit_test(query__longer_structures),
	    cmocka_unit_test(objects__that_are_not_there),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, verbs_open, verbs_close);
}
