/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Why verbs refuse: each mistake has its words, kept for `verbena explain` and printed where
 * VERBENA_LOG is set. ibv_modify_qp(3), ibv_create_qp(3), ibv_create_ah(3); IBA 11.2.5.2
 */
#include "verbs/priv.h"
#include "verbs/refuse.h"
#include "verbs_env.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* The refusal that is kept of this process; newest first, @back 0 is the last one. */
static struct vb_refused kept(uint32_t back)
{
	struct vb_broker_observer o;
	struct vb_refused r = {0};
	char why[256];

	assert_int_equal(vb_broker_observe(&o, false, why, sizeof why), 0);
	assert_int_equal(vb_broker_observe_slots(&o), 0);
	for (uint32_t k = 0; k < VB_SLOT_CNT; k++) {
		const struct vb_slot_shm *s = o.slot[k];

		if (s && s->pid == (uint32_t)getpid())
			r = s->explain
				.refused[(s->explain.refused_cnt - 1 - back) % VB_REFUSED_CNT];
	}
	vb_broker_observe_end(&o);
	return r;
}

static void kept_is(int err, const char *words)
{
	int was = errno;
	struct vb_refused r = kept(0);

	assert_int_equal(was, err);
	assert_int_equal(r.err, err);
	assert_string_equal(r.text, words);
}

static void in_state(struct verbs_end *e, enum ibv_qp_state state)
{
	*e = end_new(IBV_QPT_RC, NULL, NULL);
	if (state != IBV_QPS_RESET)
		to_init(e->qp);
	if (state == IBV_QPS_RTS)
		to_rts(e->qp, e->qp->qp_num, false);
}

/* The words of a refusal are of that verb alone: the next one that has none does not repeat them.
 */
static void kept__once(void **state)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 1, NULL, NULL, 0);

	(void)state;
	assert_int_equal(ibv_resize_cq(cq, 0), EINVAL);
	kept_is(EINVAL, "ibv_resize_cq: cqe 0 is less than 1 (ibv_resize_cq(3))");
	assert_null(ibv_alloc_dm(ctx, &(struct ibv_alloc_dm_attr){.length = SIZE_MAX / 2}));
	kept_is(ENOMEM, "ibv_alloc_dm: Cannot allocate memory");
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* The place where the process tells to whom the QP @qpn is connected. */
static struct vb_qp_entry entry_of(uint32_t qpn)
{
	struct vb_qp_entry e = {0};
	struct vb_broker_observer o;
	char why[256];

	assert_int_equal(vb_broker_observe(&o, false, why, sizeof why), 0);
	assert_int_equal(vb_broker_observe_slots(&o), 0);
	for (uint32_t k = 0; k < VB_SLOT_CNT; k++)
		if (o.slot[k] && o.slot[k]->pid == (uint32_t)getpid())
			e = o.slot[k]->qp_entry[(qpn >> 8) % VB_QP_ENTRIES];
	vb_broker_observe_end(&o);
	return e;
}

/* An adapter that asks is told the PSN that the QP expects, which is not the one that it sends. */
static void entry__of_both_psns(void **state)
{
	struct verbs_end e = end_new(IBV_QPT_RC, NULL, NULL);
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTR,
				.ah_attr = verbs_ah_attr(false),
				.path_mtu = IBV_MTU_1024,
				.dest_qp_num = e.qp->qp_num,
				.rq_psn = 0x123456,
				.sq_psn = 0x654321,
				.timeout = 14,
				.retry_cnt = 7,
				.rnr_retry = 7};

	(void)state;
	to_init(e.qp);
	assert_int_equal(ibv_modify_qp(e.qp, &a,
				       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
					   IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
			 0);
	a.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(e.qp, &a,
				       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					   IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					   IBV_QP_MAX_QP_RD_ATOMIC),
			 0);
	assert_int_equal(entry_of(e.qp->qp_num).rq_psn, 0x123456);
	end_free(&e);
}

/* A QP that was reset, or has gone, keeps to whom it was connected, for adapters that ask. */
static void entry__of_a_qp_that_has_gone(void **state)
{
	struct verbs_end e = end_new(IBV_QPT_RC, NULL, NULL);
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RESET};
	uint32_t qpn = e.qp->qp_num;

	(void)state;
	to_init(e.qp);
	to_rts(e.qp, qpn, false);
	assert_int_equal(entry_of(qpn).state, VB_QPS_RTS);
	assert_int_equal(ibv_modify_qp(e.qp, &a, IBV_QP_STATE), 0);
	for (int gone = 0; gone < 2; gone++) {
		assert_int_equal(entry_of(qpn).qpn, qpn);
		assert_int_equal(entry_of(qpn).state, VB_QPS_RESET);
		assert_int_equal(entry_of(qpn).dest_qpn, qpn);
		if (!gone)
			end_free(&e);
	}
}

#define INIT (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define RTR                                                                                        \
	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |            \
	 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)

/* A modify with one mistake, and its words behind the name of the QP. */
struct mistake {
	enum ibv_qp_state from, to;
	int mask;
	void (*make)(struct ibv_qp_attr *attr);
	const char *words;
};

#define MAKE(name, ...)                                                                            \
	static void name(struct ibv_qp_attr *a)                                                    \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
MAKE(nothing, (void)a;)
MAKE(bad_port, a->port_num = 2;)
MAKE(bad_pkey, a->pkey_index = 9;)
MAKE(bad_access, a->qp_access_flags = 0x8000;)
MAKE(bad_gid_index, a->ah_attr.grh.sgid_index = 99;)
MAKE(other_family, a->ah_attr.grh.dgid = (union ibv_gid){{0xfe, 0x80, [15] = 1}};)
MAKE(no_gid, memset(&a->ah_attr.grh.dgid, 0, 16);)
MAKE(local_path, a->ah_attr.is_global = 0;)
MAKE(large_mtu, a->path_mtu = IBV_MTU_4096;)
MAKE(no_mtu, a->path_mtu = (enum ibv_mtu)6;)
MAKE(bad_rnr, a->min_rnr_timer = 32;)
MAKE(bad_depth, a->max_dest_rd_atomic = 255;)
MAKE(bad_qpn, a->dest_qp_num = 0x1000000;)
MAKE(believes_rtr, a->cur_qp_state = IBV_QPS_RTR;)
MAKE(no_state, a->qp_state = (enum ibv_qp_state)77;)

static const struct mistake mistakes[] = {
    {IBV_QPS_RESET, IBV_QPS_INIT, INIT, bad_port,
     "port_num is no port of the device, which has port 1 alone (IBA 11.2.5.2)"},
    {IBV_QPS_RESET, IBV_QPS_INIT, INIT, bad_pkey,
     "pkey_index 9 has no valid P_Key in the table of the port (IBA 11.2.5.2)"},
    {IBV_QPS_RESET, IBV_QPS_INIT, INIT, bad_access,
     "qp_access_flags 0x8000 has bits that are no right (ibv_modify_qp(3))"},
    {IBV_QPS_RESET, IBV_QPS_INIT, INIT & ~(IBV_QP_PORT | IBV_QP_PKEY_INDEX), nothing,
     "from RESET to INIT, attr_mask lacks IBV_QP_PKEY_INDEX, IBV_QP_PORT (IBA 11.2.5.2)"},
    {IBV_QPS_RESET, IBV_QPS_INIT, INIT | IBV_QP_RQ_PSN, nothing,
     "from RESET to INIT, attr_mask must not have IBV_QP_RQ_PSN (IBA 11.2.5.2)"},
    {IBV_QPS_RESET, IBV_QPS_RTS, IBV_QP_STATE, nothing,
     "a QP of its type does not go from RESET to RTS (IBA 10.3.1)"},
    {IBV_QPS_RESET, IBV_QPS_INIT, INIT, no_state, "qp_state 77 is no state of a QP (IBA 10.3.1)"},
    {IBV_QPS_INIT, IBV_QPS_RTR, RTR | IBV_QP_CUR_STATE, believes_rtr,
     "cur_qp_state is RTR, and the QP is in INIT (IBA 11.2.5.2)"},
    {IBV_QPS_INIT, IBV_QPS_RTR, RTR, bad_gid_index,
     "ah_attr.grh.sgid_index 99 is an empty entry of the GID table (ibv_query_gid(3))"},
    {IBV_QPS_INIT, IBV_QPS_RTR, RTR, other_family,
     "ah_attr.grh.dgid is of IPv6, and sgid_index %u of IPv4: a packet has addresses of one "
     "family"},
    {IBV_QPS_INIT, IBV_QPS_RTR, RTR, no_gid, "ah_attr.grh.dgid is zero, the address of nobody"},
    {IBV_QPS_INIT, IBV_QPS_RTR, RTR, local_path,
     "ah_attr.is_global is 0, and RoCE has no LIDs: every path is global (IBA A16.4.3)"},
    {IBV_QPS_INIT, IBV_QPS_RTR, RTR, large_mtu,
     "path_mtu 4096 is larger than the port's active MTU 1024 (IBA 11.2.5.2)"},
    {IBV_QPS_INIT, IBV_QPS_RTR, RTR, no_mtu,
     "path_mtu 6 is no enum ibv_mtu, 1 to 5 (IBA 11.2.5.2)"},
    {IBV_QPS_INIT, IBV_QPS_RTR, RTR, bad_rnr, "min_rnr_timer 32 is larger than 31 (IBA 11.2.5.2)"},
    {IBV_QPS_INIT, IBV_QPS_RTR, RTR, bad_depth,
     "max_dest_rd_atomic 255 is larger than 128 (IBA 11.2.5.2)"},
    {IBV_QPS_INIT, IBV_QPS_RTR, RTR, bad_qpn,
     "dest_qp_num 16777216 is larger than 16777215 (IBA 11.2.5.2)"},
};

static struct ibv_qp_attr attr_good(enum ibv_qp_state to)
{
	return (struct ibv_qp_attr){
	    .qp_state = to,
	    .port_num = 1,
	    .path_mtu = IBV_MTU_1024,
	    .dest_qp_num = 1,
	    .min_rnr_timer = 12,
	    .max_dest_rd_atomic = 1,
	    .ah_attr = verbs_ah_attr(false),
	};
}

/* The port's MTU follows that of "lo". */
static void await_mtu(enum ibv_mtu mtu)
{
	struct ibv_port_attr port;

	do {
		assert_int_equal(ibv_query_port(ctx, 1, &port), 0);
		assert_true(patience_left());
	} while (port.active_mtu != mtu);
}

static void modify_qp__each_mistake(void **state)
{
	char words[400], tail[300];
	struct verbs_end e;

	(void)state;
	assert_int_equal(system("ip link set lo mtu 1500"), 0);
	await_mtu(IBV_MTU_1024);
	for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
		const struct mistake *m = &mistakes[i];
		struct ibv_qp_attr attr = attr_good(m->to);
		const char *index = strstr(m->words, "%u");

		m->make(&attr);
		in_state(&e, m->from);
		assert_int_equal(ibv_modify_qp(e.qp, &attr, m->mask), EINVAL);
		snprintf(tail, sizeof tail, "%s", m->words);
		if (index)
			snprintf(tail, sizeof tail, "%.*s%u%s", (int)(index - m->words), m->words,
				 attr.ah_attr.grh.sgid_index, index + 2);
		snprintf(words, sizeof words, "ibv_modify_qp of QP 0x%06x: %s", e.qp->qp_num, tail);
		kept_is(EINVAL, words);
		end_free(&e);
	}
}

static void create_qp__each_cap(void **state)
{
	struct verbs_end e = end_new(IBV_QPT_RC, NULL, NULL);
	struct ibv_qp_init_attr good = {.send_cq = e.cq, .recv_cq = e.cq, .qp_type = IBV_QPT_RC};
	struct ibv_qp_init_attr init = good;
	struct ibv_device_attr device;
	char words[200];

	(void)state;
	assert_int_equal(ibv_query_device(ctx, &device), 0);
	init.cap.max_send_wr = (uint32_t)device.max_qp_wr + 1;
	assert_null(ibv_create_qp(pd, &init));
	snprintf(
	    words, sizeof words,
	    "ibv_create_qp: cap.max_send_wr %d is larger than %d, the most that the device has "
	    "(ibv_create_qp(3))",
	    device.max_qp_wr + 1, device.max_qp_wr);
	kept_is(EINVAL, words);
	init = good;
	init.cap.max_recv_sge = (uint32_t)device.max_sge + 1;
	assert_null(ibv_create_qp(pd, &init));
	assert_non_null(strstr(kept(0).text, "cap.max_recv_sge"));
	init = good;
	init.recv_cq = NULL;
	assert_null(ibv_create_qp(pd, &init));
	kept_is(EINVAL, "ibv_create_qp: recv_cq is NULL");
	end_free(&e);
}

static void create_ah__gid_index(void **state)
{
	struct ibv_ah_attr attr = verbs_ah_attr(false);

	(void)state;
	attr.grh.sgid_index = 77;
	assert_null(ibv_create_ah(pd, &attr));
	kept_is(EINVAL,
		"ibv_create_ah: ah_attr.grh.sgid_index 77 is an empty entry of the GID table "
		"(ibv_query_gid(3))");
}

static void create_cq__sizes(void **state)
{
	struct ibv_device_attr device;
	struct ibv_cq *cq = ibv_create_cq(ctx, 4, NULL, NULL, 0);
	char words[200];

	(void)state;
	assert_int_equal(ibv_query_device(ctx, &device), 0);
	assert_null(ibv_create_cq(ctx, 0, NULL, NULL, 0));
	kept_is(EINVAL, "ibv_create_cq: cqe 0 is not above 0 (ibv_create_cq(3))");
	assert_null(ibv_create_cq(ctx, 1, NULL, NULL, -1));
	assert_non_null(strstr(kept(0).text, "comp_vector -1 is not from 0 to "));
	assert_null(ibv_create_cq(ctx, device.max_cqe + 1, NULL, NULL, 0));
	snprintf(words, sizeof words,
		 "ibv_create_cq: cqe %d is not from 1 to %d (ibv_create_cq(3))", device.max_cqe + 1,
		 device.max_cqe);
	kept_is(EINVAL, words);
	assert_int_equal(ibv_resize_cq(cq, device.max_cqe + 1), EINVAL);
	assert_non_null(strstr(kept(0).text, "ibv_resize_cq: cqe "));
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void create_srq__sizes(void **state)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 0, .max_sge = 1}};
	struct ibv_device_attr device;

	(void)state;
	assert_int_equal(ibv_query_device(ctx, &device), 0);
	assert_null(ibv_create_srq(pd, &init));
	assert_non_null(strstr(kept(0).text, "ibv_create_srq: attr.max_wr 0 is not from 1 to "));
	init.attr = (struct ibv_srq_attr){.max_wr = 1, .max_sge = (uint32_t)device.max_srq_sge + 1};
	assert_null(ibv_create_srq(pd, &init));
	assert_non_null(strstr(kept(0).text, "ibv_create_srq: attr.max_sge "));
}

static void reg_mr__access_and_memory(void **state)
{
	char words[200];

	(void)state;
	assert_null(ibv_reg_mr(pd, buf, 8, IBV_ACCESS_REMOTE_WRITE));
	kept_is(EINVAL, "ibv_reg_mr: access 0x2 has a remote right to write and lacks "
			"IBV_ACCESS_LOCAL_WRITE (IBA 10.6.3.1)");
	assert_null(ibv_reg_mr(pd, (void *)4096, 8, IBV_ACCESS_LOCAL_WRITE));
	snprintf(words, sizeof words,
		 "ibv_reg_mr: not all of the 8 bytes at 0x1000 is memory that can be written");
	kept_is(EFAULT, words);
	assert_null(ibv_reg_mr_iova(pd, buf, 8, (uintptr_t)buf + 1, 0));
	assert_non_null(strstr(kept(0).text, "are at different places of a page"));
}

static void post__each_mistake(void **state)
{
	struct ibv_sge sge[8] = {{(uintptr_t)buf, 4096, mr->lkey}};
	struct ibv_send_wr wr = {.wr_id = 5, .sg_list = sge, .num_sge = 1}, *bad;
	struct ibv_recv_wr recv = {.wr_id = 6, .sg_list = sge, .num_sge = 8}, *bad_recv;
	struct verbs_end e;
	char verb[64];

	(void)state;
	in_state(&e, IBV_QPS_INIT);
	snprintf(verb, sizeof verb, "ibv_post_send of wr_id 5 to QP 0x%06x: ", e.qp->qp_num);
	wr.opcode = IBV_WR_SEND;
	assert_int_equal(ibv_post_send(e.qp, &wr, &bad), EINVAL);
	assert_memory_equal(kept(0).text, verb, strlen(verb));
	assert_string_equal(kept(0).text + strlen(verb), "the QP is in INIT (IBA 10.3.1)");
	assert_int_equal(ibv_post_recv(e.qp, &recv, &bad_recv), EINVAL);
	assert_non_null(strstr(kept(0).text, "ibv_post_recv of wr_id 6 to QP"));
	assert_non_null(strstr(kept(0).text, ": num_sge 8 is larger than the 4 of the queue"));
	end_free(&e);
	in_state(&e, IBV_QPS_RTS);
	wr.num_sge = 8;
	assert_int_equal(ibv_post_send(e.qp, &wr, &bad), EINVAL);
	assert_non_null(strstr(kept(0).text, ": num_sge 8 is larger than the 4 of the queue"));
	wr.num_sge = 1;
	wr.send_flags = IBV_SEND_INLINE;
	assert_int_equal(ibv_post_send(e.qp, &wr, &bad), EINVAL);
	assert_non_null(
	    strstr(kept(0).text, ": IBV_SEND_INLINE of 4096 bytes, and max_inline_data"));
	wr.opcode = IBV_WR_RDMA_READ;
	assert_int_equal(ibv_post_send(e.qp, &wr, &bad), EINVAL);
	assert_non_null(strstr(kept(0).text, ": IBV_SEND_INLINE does not go with opcode 4"));
	wr.opcode = (enum ibv_wr_opcode)100;
	assert_int_equal(ibv_post_send(e.qp, &wr, &bad), EINVAL);
	assert_non_null(strstr(kept(0).text, ": opcode 100 is none that QPs of its type have"));
	wr.send_flags = 0x10000;
	assert_int_equal(ibv_post_send(e.qp, &wr, &bad), EINVAL);
	assert_non_null(strstr(kept(0).text, ": send_flags 0x10000 has bits that are not known"));
	end_free(&e);
}

static void destroy__what_is_in_use(void **state)
{
	struct ibv_pd *other = ibv_alloc_pd(ctx);
	struct ibv_mr *of = ibv_reg_mr(other, buf, 8, 0);
	struct verbs_end e = end_new(IBV_QPT_RC, NULL, NULL);

	(void)state;
	assert_non_null(of);
	assert_int_equal(ibv_dealloc_pd(other), EBUSY);
	kept_is(EBUSY, "ibv_dealloc_pd: objects that were created with it are there: 1 "
		       "(ibv_dealloc_pd(3))");
	assert_int_equal(ibv_destroy_cq(e.cq), EBUSY);
	kept_is(EBUSY, "ibv_destroy_cq: QPs or SRQs still use it (ibv_destroy_cq(3))");
	assert_int_equal(ibv_dereg_mr(of), 0);
	assert_int_equal(ibv_dealloc_pd(other), 0);
	end_free(&e);
}

/* A full queue is no mistake: it is not kept. */
static void post__full_queue(void **state)
{
	struct ibv_recv_wr recv = {.wr_id = 6}, *bad;
	struct verbs_end e;
	int err;

	(void)state;
	in_state(&e, IBV_QPS_INIT);
	while ((err = ibv_post_recv(e.qp, &recv, &bad)) == 0)
		;
	assert_int_equal(err, ENOMEM);
	assert_int_equal(kept(0).err, 0);
	end_free(&e);
}

/* The reason that one verb notes is not told of another. */
static void kept__no_reason_of_another(void **state)
{
	struct ibv_mr *other;

	(void)state;
	assert_null(ibv_reg_dmabuf_mr(pd, 0, 8, 0, -1, IBV_ACCESS_REMOTE_WRITE));
	kept_is(EINVAL, "ibv_reg_dmabuf_mr: access 0x2 has a remote right to write and lacks "
			"IBV_ACCESS_LOCAL_WRITE (IBA 10.6.3.1)");
	other = ibv_reg_mr(pd, buf, SIZE_MAX - 4096, IBV_ACCESS_LOCAL_WRITE);
	assert_null(other);
	assert_null(strstr(kept(0).text, "REMOTE"));
}

/* Where nothing is known but the error, its own text is the reason. */
static void kept__no_reason(void **state)
{
	(void)state;
	(void)vb_ibv_why_core(vb_ibv_ctx(ctx), ENOMEM);
	assert_int_equal(vb_ibv_refuse(vb_ibv_ctx(ctx), ENOMEM, "ibv_x"), ENOMEM);
	kept_is(ENOMEM, "ibv_x: Cannot allocate memory");
}

/* The same words in a row are one entry; there are at most VB_REFUSED_CNT. */
static void kept__counted_and_bounded(void **state)
{
	struct ibv_ah_attr attr = verbs_ah_attr(false);

	(void)state;
	attr.grh.sgid_index = 60;
	assert_null(ibv_create_ah(pd, &attr));
	attr.grh.sgid_index = 61;
	for (int i = 0; i < 3; i++)
		assert_null(ibv_create_ah(pd, &attr));
	assert_int_equal(kept(0).cnt, 3);
	assert_int_equal(kept(1).cnt, 1);
	assert_non_null(strstr(kept(1).text, "sgid_index 60"));
	for (uint8_t i = 0; i < 2 * VB_REFUSED_CNT; i++) {
		attr.grh.sgid_index = (uint8_t)(100 + i);
		assert_null(ibv_create_ah(pd, &attr));
	}
	assert_non_null(strstr(kept(0).text, "sgid_index 163"));
	assert_non_null(strstr(kept(VB_REFUSED_CNT - 1).text, "sgid_index 132"));
}

/* The text that standard error gets while @attr is refused. */
static void log_of(struct ibv_ah_attr *attr, char *to, size_t size)
{
	int old = dup(STDERR_FILENO), fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	ssize_t n;

	assert_true(old >= 0 && fd >= 0);
	assert_int_equal(dup2(fd, STDERR_FILENO), STDERR_FILENO);
	assert_null(ibv_create_ah(pd, attr));
	assert_int_equal(dup2(old, STDERR_FILENO), STDERR_FILENO);
	n = pread(fd, to, size - 1, 0);
	assert_true(n >= 0);
	to[n] = 0;
	close(old);
	close(fd);
}

static void log__when_asked_for(void **state)
{
	struct ibv_ah_attr attr = verbs_ah_attr(false);
	char text[400];

	(void)state;
	attr.is_global = 0;
	log_of(&attr, text, sizeof text);
	assert_string_equal(text, "");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(setenv("VERBENA_LOG", i ? "" : "0", 1), 0);
		log_of(&attr, text, sizeof text);
		assert_string_equal(text, "");
	}
	assert_int_equal(setenv("VERBENA_LOG", "1", 1), 0);
	log_of(&attr, text, sizeof text);
	assert_string_equal(text,
			    "verbena: EINVAL: ibv_create_ah: ah_attr.is_global is 0, and RoCE has "
			    "no LIDs: every path is global (IBA A16.4.3)\n");
	assert_int_equal(unsetenv("VERBENA_LOG"), 0);
}

/* A child of fork() says why nothing works there, and leaves the parent's list alone. */
static void log__in_a_forked_child(void **state)
{
	struct ibv_ah_attr attr = verbs_ah_attr(false);
	char text[400];
	pid_t child;
	int status;

	(void)state;
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		setenv("VERBENA_LOG", "1", 1);
		log_of(&attr, text, sizeof text);
		_exit(strcmp(text, "verbena: EIO: ibv_create_ah: a forked child has no adapter, it "
				   "stayed with the parent\n") != 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(kept(0).err, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    VERBS_TEST(kept__once),
	    VERBS_TEST(entry__of_a_qp_that_has_gone),
	    VERBS_TEST(entry__of_both_psns),
	    VERBS_TEST(modify_qp__each_mistake),
	    VERBS_TEST(create_qp__each_cap),
	    VERBS_TEST(create_ah__gid_index),
	    VERBS_TEST(create_cq__sizes),
	    VERBS_TEST(create_srq__sizes),
	    VERBS_TEST(reg_mr__access_and_memory),
	    VERBS_TEST(post__each_mistake),
	    VERBS_TEST(destroy__what_is_in_use),
	    VERBS_TEST(post__full_queue),
	    VERBS_TEST(kept__no_reason),
	    VERBS_TEST(kept__no_reason_of_another),
	    VERBS_TEST(kept__counted_and_bounded),
	    VERBS_TEST(log__when_asked_for),
	    VERBS_TEST(log__in_a_forked_child),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
