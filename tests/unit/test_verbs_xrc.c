/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * XRC as a program sees it: domains of one file and of none, SRQs with numbers, initiators and
 * targets, handles of a target, and who is busy until whom is gone. IBT-22, IBT-23
 */
#include "verbs_env.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>

/* A file that stands for a domain. */
static int file_new(void)
{
	int fd = memfd_create("domain", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static struct ibv_xrcd *open_xrcd(struct ibv_context *c, int fd, int oflags)
{
	struct ibv_xrcd_init_attr attr = {.comp_mask =
					      IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
					  .fd = fd,
					  .oflags = oflags};

	errno = 0;
	return ibv_open_xrcd(c, &attr);
}

static struct ibv_srq *srq_new(struct ibv_pd *of, struct ibv_xrcd *x, struct ibv_cq *cq)
{
	struct ibv_srq_init_attr_ex attr = {.attr = {.max_wr = 16, .max_sge = 2},
					    .comp_mask =
						IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
						IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
					    .srq_type = IBV_SRQT_XRC,
					    .pd = of,
					    .xrcd = x,
					    .cq = cq};

	return ibv_create_srq_ex(of->context, &attr);
}

static struct ibv_qp *target_new(struct ibv_xrcd *x)
{
	struct ibv_qp_init_attr_ex attr = {
	    .qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = x};

	return ibv_create_qp_ex(x->context, &attr);
}

static struct ibv_qp *initiator_new(struct ibv_cq *cq)
{
	struct ibv_qp_init_attr_ex attr = {
	    .send_cq = cq,
	    .cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_inline_data = 64},
	    .qp_type = IBV_QPT_XRC_SEND,
	    .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	    .pd = pd,
	    .send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE};
	struct ibv_qp *qp = ibv_create_qp_ex(ctx, &attr);

	assert_non_null(qp);
	assert_int_equal(attr.cap.max_recv_wr, 0);
	return qp;
}

static struct ibv_qp *open_qp(struct ibv_xrcd *x, uint32_t qpn, enum ibv_qp_type type)
{
	struct ibv_qp_open_attr attr = {.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
						     IBV_QP_OPEN_ATTR_TYPE,
					.qp_num = qpn,
					.xrcd = x,
					.qp_type = type};

	errno = 0;
	return ibv_open_qp(x->context, &attr);
}

/* As programs do: with all that RC would need. */
static void connect_xrc(struct ibv_qp *qp, uint32_t dqpn)
{
	const int rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	const int rts = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTR,
				.ah_attr = verbs_ah_attr(false),
				.path_mtu = IBV_MTU_1024,
				.dest_qp_num = dqpn,
				.max_rd_atomic = 1,
				.max_dest_rd_atomic = 1,
				.timeout = 14,
				.retry_cnt = 7,
				.rnr_retry = 7};

	to_init(qp);
	assert_int_equal(ibv_modify_qp(qp, &a, rtr), 0);
	a.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(qp, &a, rts), 0);
}

static void post_srq(struct ibv_srq *srq, uint64_t wr_id, struct ibv_mr *of, size_t off)
{
	struct ibv_sge sge = {.addr = (uintptr_t)buf + off, .length = 64, .lkey = of->lkey};
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad;

	assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
}

static uint32_t number_of(struct ibv_srq *srq)
{
	uint32_t num;

	assert_int_equal(ibv_get_srq_num(srq, &num), 0);
	return num;
}

static void send_to(struct ibv_qp *qp, uint32_t srqn)
{
	struct ibv_sge sge = sge_at(0, 16);
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED,
				 .qp_type.xrc.remote_srqn = srqn},
			   *bad;

	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
}

/* ibv_open_xrcd(3): the flags are those of open(), and a file stands for one domain. */
static void open_xrcd__flags(void **state)
{
	struct ibv_xrcd_init_attr half = {.comp_mask = IBV_XRCD_INIT_ATTR_FD, .fd = -1};
	int fd = file_new(), twin = dup(fd), other = file_new();
	struct ibv_xrcd *a, *b, *anon;

	(void)state;
	assert_null(ibv_open_xrcd(ctx, &half));
	assert_int_equal(errno, EINVAL);
	assert_null(open_xrcd(ctx, 999, O_CREAT));
	assert_int_equal(errno, EBADF);
	assert_null(open_xrcd(ctx, fd, 0));
	assert_int_equal(errno, EAGAIN);
	a = open_xrcd(ctx, fd, O_CREAT | O_EXCL);
	assert_non_null(a);
	assert_null(open_xrcd(ctx, twin, O_CREAT | O_EXCL));
	assert_int_equal(errno, EINVAL);
	b = open_xrcd(ctx, twin, 0);
	assert_non_null(b);
	assert_null(open_xrcd(ctx, other, 0));
	anon = open_xrcd(ctx, -1, 0);
	assert_non_null(anon);
	assert_int_equal(ibv_close_xrcd(a), 0);
	assert_non_null(a = open_xrcd(ctx, fd, 0)); /* b has it open */
	assert_int_equal(ibv_close_xrcd(a), 0);
	assert_int_equal(ibv_close_xrcd(b), 0);
	assert_null(open_xrcd(ctx, fd, 0));
	assert_int_equal(ibv_close_xrcd(anon), 0);
	close(fd), close(twin), close(other);
}

/* A closing context ends its domains; a domain that another context has open stays. */
static void close_device__takes_domains_along(void **state)
{
	struct ibv_context *other = ibv_open_device(ctx->device);
	int fd = file_new(), both = file_new();
	struct ibv_xrcd *x, *y;

	(void)state;
	assert_non_null(open_xrcd(other, fd, O_CREAT));
	assert_non_null(open_xrcd(other, both, O_CREAT));
	assert_non_null(open_xrcd(other, -1, O_CREAT));
	x = open_xrcd(ctx, both, 0);
	assert_non_null(x);
	assert_int_equal(ibv_close_device(other), 0);
	assert_null(open_xrcd(ctx, fd, 0));
	assert_int_equal(errno, EAGAIN);
	y = open_xrcd(ctx, both, 0);
	assert_non_null(y);
	assert_int_equal(ibv_close_xrcd(y), 0);
	assert_int_equal(ibv_close_xrcd(x), 0);
	assert_null(open_xrcd(ctx, both, 0));
	close(fd), close(both);
}

/* The first file of a new file system; its number is that of the first file of another one.
 * -1: mounts are denied. */
static int first_file(const char *folder)
{
	char path[80];

	snprintf(path, sizeof path, "%s/domain", folder);
	if (mount("none", folder, "tmpfs", 0, NULL))
		return -1;

	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(umount2(folder, MNT_DETACH), 0);
	return fd;
}

/* Files of two file systems may have one number, and are two domains. */
static void open_xrcd__of_two_file_systems(void **state)
{
	char folder[] = "/tmp/verbena-xrcd-XXXXXX";
	struct ibv_xrcd *a, *b;
	struct stat one, two;
	int fd[2];

	(void)state;
	assert_non_null(mkdtemp(folder));
	fd[0] = first_file(folder);
	fd[1] = fd[0] < 0 ? -1 : first_file(folder);
	rmdir(folder);
	if (fd[0] < 0)
		skip(); /* file systems cannot be mounted */
	assert_int_equal(fstat(fd[0], &one), 0);
	assert_int_equal(fstat(fd[1], &two), 0);
	if (one.st_ino != two.st_ino)
		skip(); /* a kernel that gives other numbers */
	assert_true(one.st_dev != two.st_dev);
	a = open_xrcd(ctx, fd[0], O_CREAT | O_EXCL);
	assert_non_null(a);
	b = open_xrcd(ctx, fd[1], O_CREAT | O_EXCL);
	assert_non_null(b);
	assert_int_equal(ibv_close_xrcd(a), 0);
	assert_int_equal(ibv_close_xrcd(b), 0);
	close(fd[0]), close(fd[1]);
}

/* An open needs all three attributes, and refuses unknown ones. */
static void open_qp__each_attribute(void **state)
{
	const uint32_t all = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
	struct ibv_xrcd *x = open_xrcd(ctx, -1, O_CREAT);
	struct ibv_qp *tgt = target_new(x), *qp;
	struct ibv_qp_open_attr attr = {
	    .qp_num = tgt->qp_num, .xrcd = x, .qp_context = &attr, .qp_type = IBV_QPT_XRC_RECV};

	(void)state;
	for (uint32_t bit = 1; bit <= all; bit <<= 1) {
		if (!(all & bit))
			continue;
		attr.comp_mask = all & ~bit;
		errno = 0;
		assert_null(ibv_open_qp(ctx, &attr));
		assert_int_equal(errno, EINVAL);
	}
	attr.comp_mask = all | IBV_QP_OPEN_ATTR_RESERVED;
	assert_null(ibv_open_qp(ctx, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	attr.comp_mask = all;
	qp = ibv_open_qp(ctx, &attr);
	assert_non_null(qp);
	assert_null(qp->qp_context);
	assert_int_equal(ibv_close_xrcd(x), EBUSY);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	attr.comp_mask |= IBV_QP_OPEN_ATTR_CONTEXT;
	qp = ibv_open_qp(ctx, &attr);
	assert_ptr_equal(qp->qp_context, &attr);
	assert_int_equal(ibv_destroy_qp(tgt), 0);
	assert_int_equal(ibv_close_xrcd(x), EBUSY);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_close_xrcd(x), 0);
}

/* Another process that has the domain open counts; killed, it does not. */
static void open_xrcd__of_another_process(void **state)
{
	int fd = file_new(), ready[2];
	struct ibv_xrcd *x;
	char byte;

	(void)state;
	assert_int_equal(pipe(ready), 0);

	pid_t pid = fork();

	if (pid == 0) {
		struct ibv_device **list = ibv_get_device_list(NULL);
		struct ibv_context *own = ibv_open_device(list[0]);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(!own || !open_xrcd(own, fd, O_CREAT | O_EXCL) ||
		      write(ready[1], "", 1) != 1 || pause());
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_null(open_xrcd(ctx, fd, O_CREAT | O_EXCL));
	assert_int_equal(errno, EINVAL);
	assert_non_null(x = open_xrcd(ctx, fd, 0));
	assert_int_equal(ibv_close_xrcd(x), 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_null(open_xrcd(ctx, fd, 0));
	assert_int_equal(errno, EAGAIN);
	close(ready[0]), close(fd);
}

/* Two SRQs of two PDs behind one target: each message and each key goes where its SRQ says. */
static void target__serves_every_srq_of_the_domain(void **state)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 64, NULL, NULL, 0);
	struct ibv_cq *cq_b = ibv_create_cq(ctx, 64, NULL, NULL, 0);
	struct ibv_pd *pd_b = ibv_alloc_pd(ctx);
	struct ibv_mr *mr_b = ibv_reg_mr(pd_b, buf, sizeof buf, ALL_ACCESS);
	struct ibv_xrcd *x = open_xrcd(ctx, -1, O_CREAT);
	struct ibv_srq *a = srq_new(pd, x, cq), *b = srq_new(pd_b, x, cq_b);
	struct ibv_qp *ini = initiator_new(cq), *tgt = target_new(x);
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(ini);
	struct ibv_wc wc;

	(void)state;
	assert_non_null(tgt);
	assert_true(number_of(a) != number_of(b));
	connect_xrc(ini, tgt->qp_num);
	connect_xrc(tgt, ini->qp_num);
	memset(buf, 7, 16);
	post_srq(a, 1, mr, 1024);
	post_srq(b, 2, mr_b, 2048);
	send_to(ini, number_of(b));
	wc = wc_next(cq_b);
	assert_int_equal(wc.wr_id, 2);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.byte_len, 16);
	assert_int_equal(wc.qp_num, tgt->qp_num);
	assert_int_equal(wc.src_qp, ini->qp_num);
	assert_int_equal(wc_next(cq).opcode, IBV_WC_SEND);
	assert_memory_equal(buf, buf + 2048, 16);

	/* Through the work request API, under a key that only the other PD has. */
	ibv_wr_start(ex);
	ex->wr_id = 9;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(ex, mr_b->rkey, (uintptr_t)buf + 4096);
	ibv_wr_set_xrc_srqn(ex, number_of(b));
	ibv_wr_set_sge(ex, mr->lkey, (uintptr_t)buf, 16);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(wc_next(cq).status, IBV_WC_SUCCESS);
	assert_memory_equal(buf, buf + 4096, 16);
	ibv_wr_start(ex);
	ibv_wr_rdma_write(ex, mr_b->rkey, (uintptr_t)buf + 4096);
	ibv_wr_set_xrc_srqn(ex, number_of(a));
	ibv_wr_set_sge(ex, mr->lkey, (uintptr_t)buf, 16);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(wc_next(cq).status, IBV_WC_REM_ACCESS_ERR);

	/* An object that is used is busy. */
	assert_int_equal(ibv_close_xrcd(x), EBUSY);
	assert_int_equal(ibv_destroy_cq(cq_b), EBUSY);
	assert_int_equal(ibv_destroy_qp(tgt), 0);
	assert_int_equal(ibv_close_xrcd(x), EBUSY);
	assert_int_equal(ibv_destroy_srq(a), 0);
	assert_int_equal(ibv_destroy_srq(b), 0);
	assert_int_equal(ibv_close_xrcd(x), 0);
	assert_int_equal(ibv_destroy_qp(ini), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_destroy_cq(cq_b), 0);
	assert_int_equal(ibv_dereg_mr(mr_b), 0);
	assert_int_equal(ibv_dealloc_pd(pd_b), 0);
}

/* A target lives as long as it has handles, in whichever context, and each hears of its events. */
static void open_qp__outlives_the_creator(void **state)
{
	int fd = file_new();
	struct ibv_context *other = ibv_open_device(ctx->device);
	struct ibv_xrcd *x = open_xrcd(ctx, fd, O_CREAT), *y = open_xrcd(other, fd, O_CREAT);
	struct ibv_xrcd *foreign = open_xrcd(other, -1, O_CREAT);
	struct ibv_cq *cq = ibv_create_cq(ctx, 64, NULL, NULL, 0);
	struct ibv_srq *srq = srq_new(pd, x, cq);
	struct ibv_qp *ini = initiator_new(cq), *tgt = target_new(x), *again;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_async_event ev;
	uint32_t qpn = tgt->qp_num;

	(void)state;
	assert_null(open_qp(y, qpn + 1, IBV_QPT_XRC_RECV));
	assert_int_equal(errno, EINVAL);
	assert_null(open_qp(foreign, qpn, IBV_QPT_XRC_RECV));
	assert_null(open_qp(y, ini->qp_num, IBV_QPT_XRC_SEND));
	assert_null(open_qp(y, qpn, IBV_QPT_XRC_SEND));
	assert_int_equal(errno, EINVAL);
	connect_xrc(ini, qpn);
	connect_xrc(tgt, ini->qp_num);
	again = open_qp(y, qpn, IBV_QPT_XRC_RECV);
	assert_non_null(again);
	assert_int_equal(again->qp_num, qpn);
	assert_int_equal(again->state, IBV_QPS_RTS);
	assert_int_equal(ibv_query_qp(again, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(attr.dest_qp_num, ini->qp_num);
	assert_int_equal(ibv_destroy_qp(tgt), 0);

	post_srq(srq, 1, mr, 1024);
	send_to(ini, number_of(srq));
	assert_int_equal(wc_next(cq).status, IBV_WC_SUCCESS);
	assert_int_equal(wc_next(cq).status, IBV_WC_SUCCESS);
	tgt = open_qp(x, qpn, IBV_QPT_XRC_RECV);
	assert_non_null(tgt);

	/* A number that no SRQ has ends the target. */
	send_to(ini, 0xabcdef);
	assert_int_equal(wc_next(cq).status, IBV_WC_REM_INV_REQ_ERR);
	assert_int_equal(ibv_get_async_event(other, &ev), 0);
	assert_int_equal(ev.event_type, IBV_EVENT_QP_REQ_ERR);
	assert_ptr_equal(ev.element.qp, again);
	ibv_ack_async_event(&ev);
	assert_int_equal(ibv_get_async_event(ctx, &ev), 0);
	assert_ptr_equal(ev.element.qp, tgt);
	ibv_ack_async_event(&ev);

	/* A context that closes takes its handles along, and no more. */
	assert_int_equal(ibv_close_device(other), 0);
	assert_int_equal(ibv_query_qp(tgt, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_ERR);
	assert_int_equal(ibv_destroy_qp(tgt), 0);
	assert_null(open_qp(x, qpn, IBV_QPT_XRC_RECV));
	assert_int_equal(ibv_destroy_qp(ini), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_close_xrcd(x), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	close(fd);
}

#if !defined(__SANITIZE_THREAD__) /* which does not survive a thread in such a child */
/* In another process: an SRQ of the domain of @fd at the device of ctx, or at another one, with a
 * receive. Its number goes to @out. */
static void serve_domain(int fd, bool same, int out)
{
	struct ibv_context *own = NULL;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!own) {
		struct ibv_device **list = ibv_get_device_list(NULL);

		for (int i = 0; list && list[i] && !own; i++) {
			if ((list[i] == ctx->device) == same)
				own = ibv_open_device(list[i]);
		}
		ibv_free_device_list(list);
		usleep(1000);
	}

	struct ibv_pd *own_pd = ibv_alloc_pd(own);
	struct ibv_cq *cq = ibv_create_cq(own, 16, NULL, NULL, 0);
	struct ibv_xrcd *x = open_xrcd(own, fd, O_CREAT);
	struct ibv_mr *m = own_pd ? ibv_reg_mr(own_pd, buf, 4096, IBV_ACCESS_LOCAL_WRITE) : NULL;
	struct ibv_srq *srq = m && cq && x ? srq_new(own_pd, x, cq) : NULL;
	uint32_t number;

	if (!srq)
		_exit(1);
	post_srq(srq, 1, m, 0);
	number = number_of(srq);
	_exit(write(out, &number, sizeof number) != sizeof number || pause());
}

/* The status of a message to an SRQ of another process, under one file. */
static enum ibv_wc_status send_to_process(bool same_device)
{
	int fd = file_new(), number_fd[2];
	struct ibv_cq *cq = ibv_create_cq(ctx, 64, NULL, NULL, 0);
	struct ibv_xrcd *x = open_xrcd(ctx, fd, O_CREAT);
	struct ibv_qp *ini = initiator_new(cq), *tgt = target_new(x);
	enum ibv_wc_status status;
	uint32_t number;
	pid_t pid;

	assert_non_null(tgt);
	assert_int_equal(pipe(number_fd), 0);
	pid = fork();
	if (pid == 0)
		serve_domain(fd, same_device, number_fd[1]);
	close(number_fd[1]);
	assert_int_equal(read(number_fd[0], &number, sizeof number), sizeof number);
	connect_xrc(ini, tgt->qp_num);
	connect_xrc(tgt, ini->qp_num);
	send_to(ini, number);
	status = wc_next(cq).status;
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(ibv_destroy_qp(ini), 0);
	assert_int_equal(ibv_destroy_qp(tgt), 0);
	assert_int_equal(ibv_close_xrcd(x), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	close(number_fd[0]), close(fd);
	return status;
}

/* A file stands for one domain at each device: SRQs of the domain of another one are not there. */
static void target__serves_no_srq_of_another_device(void **state)
{
	enum ibv_wc_status same, other;

	(void)state;
	if (system("ip link add vbx0 type veth peer name vbx1 2>/dev/null && "
		   "ip link set vbx0 up && ip addr add 10.79.0.1/24 dev vbx0"))
		skip(); /* a kernel without such interfaces */
	same = send_to_process(true);
	other = send_to_process(false);
	assert_int_equal(system("ip link del vbx0"), 0);
	assert_int_equal(same, IBV_WC_SUCCESS);
	assert_int_equal(other, IBV_WC_REM_INV_REQ_ERR);
}
#endif

/* A PD that came along is shown, as librdmacm has it, and not in use. */
static void target__shows_the_pd(void **state)
{
	struct ibv_xrcd *x = open_xrcd(ctx, -1, O_CREAT);
	struct ibv_pd *own = ibv_alloc_pd(ctx);
	struct ibv_qp_init_attr_ex attr = {.qp_type = IBV_QPT_XRC_RECV,
					   .comp_mask = IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_PD,
					   .xrcd = x,
					   .pd = own};
	struct ibv_qp *with = ibv_create_qp_ex(ctx, &attr), *without = target_new(x);

	(void)state;
	assert_non_null(with);
	assert_ptr_equal(with->pd, own);
	assert_non_null(without);
	assert_null(without->pd);
	assert_int_equal(ibv_dealloc_pd(own), 0);
	assert_int_equal(ibv_destroy_qp(with), 0);
	assert_int_equal(ibv_destroy_qp(without), 0);
	attr.comp_mask = IBV_QP_INIT_ATTR_XRCD; /* a mask without the PD */
	without = ibv_create_qp_ex(ctx, &attr);
	assert_null(without->pd);
	assert_int_equal(ibv_destroy_qp(without), 0);
	assert_int_equal(ibv_close_xrcd(x), 0);
}

static void create__refused(void **state)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 4, NULL, NULL, 0);
	struct ibv_qp_init_attr plain = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_XRC_RECV};
	struct ibv_qp_init_attr_ex target = {
	    .qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_PD, .pd = pd};
	struct ibv_srq_init_attr_ex srq = {.attr = {.max_wr = 1, .max_sge = 1},
					   .comp_mask =
					       IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
					   .srq_type = IBV_SRQT_XRC,
					   .pd = pd};
	struct ibv_srq *basic;
	struct ibv_device_attr attr;

	(void)state;
	assert_int_equal(ibv_query_device(ctx, &attr), 0);
	assert_true(attr.device_cap_flags & IBV_DEVICE_XRC);
	assert_null(ibv_create_qp(pd, &plain));
	assert_null(ibv_create_qp_ex(ctx, &target));
	assert_null(ibv_create_srq_ex(ctx, &srq));
	assert_int_equal(errno, EINVAL);
	srq.srq_type = IBV_SRQT_TM;
	assert_null(ibv_create_srq_ex(ctx, &srq));
	assert_int_equal(errno, EOPNOTSUPP);
	srq.srq_type = IBV_SRQT_BASIC;
	basic = ibv_create_srq_ex(ctx, &srq);
	assert_non_null(basic);
	assert_int_equal(ibv_destroy_srq(basic), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		VERBS_TEST(open_xrcd__flags),
		VERBS_TEST(close_device__takes_domains_along),
		VERBS_TEST(open_xrcd__of_two_file_systems),
		VERBS_TEST(open_qp__each_attribute),
		VERBS_TEST(open_xrcd__of_another_process),
		VERBS_TEST(target__serves_every_srq_of_the_domain),
		VERBS_TEST(open_qp__outlives_the_creator),
#if !defined(__SANITIZE_THREAD__)
		VERBS_TEST(target__serves_no_srq_of_another_device),
#endif
		VERBS_TEST(target__shows_the_pd),
		VERBS_TEST(create__refused),
	};

	VERBS_MAIN_OR_SKIP();
	if (unshare(CLONE_NEWNS) == 0) /* mounts stay private */
		(void)mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
