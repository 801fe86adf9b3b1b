/* SPDX-License-Identifier: BSD-2-Clause */
/* The verbs among threads, and across fork(). */
#include "descriptors.h"
#include "verbs_env.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

#define THREADS 4
#define MESSAGES 2000

/* A pair of QPs of its own, or one that all share, from several threads at once. */
static void *exchange(void *arg)
{
	size_t off = 4096 * (size_t)(uintptr_t)arg;
	struct verbs_end a = end_new(IBV_QPT_RC, NULL, NULL), b = end_new(IBV_QPT_RC, NULL, NULL);

	verbs_connect(a.qp, b.qp, (uintptr_t)arg % 2);
	for (uint64_t i = 0; i < MESSAGES; i++) {
		struct ibv_wc wc;

		post_recv(b.qp, i, off, 64);
		post_send(a.qp, (struct ibv_send_wr){.wr_id = i, .opcode = IBV_WR_SEND}, off + 64,
			  64);
		wc = wc_next(b.cq);
		assert_true(wc.status == IBV_WC_SUCCESS && wc.wr_id == i);
		wc = wc_next(a.cq);
		assert_true(wc.status == IBV_WC_SUCCESS && wc.wr_id == i);
	}
	end_free(&a);
	end_free(&b);
	return NULL;
}

static void threads__each_its_own_pair(void **state)
{
	pthread_t t[THREADS];

	(void)state;
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, exchange, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

static struct verbs_end shared_a, shared_b;
static _Atomic int sent, received;

static void *send_some(void *arg)
{
	(void)arg;
	for (int i = 0; i < MESSAGES;) {
		struct ibv_sge sge = sge_at(0, 8);
		struct ibv_send_wr wr = {.sg_list = &sge,
					 .num_sge = 1,
					 .opcode = IBV_WR_SEND,
					 .send_flags = IBV_SEND_SIGNALED},
				   *bad;
		struct ibv_wc wc[4];
		int err = ibv_post_send(shared_a.qp, &wr, &bad);

		assert_true(err == 0 || err == ENOMEM);
		i += err == 0;
		sent += ibv_poll_cq(shared_a.cq, 4, wc);
	}
	return NULL;
}

static void *receive_some(void *arg)
{
	(void)arg;
	while (received < 2 * MESSAGES) {
		struct ibv_wc wc[4];
		int n = ibv_poll_cq(shared_b.cq, 4, wc);

		for (int i = 0; i < n; i++) {
			assert_int_equal(wc[i].status, IBV_WC_SUCCESS);
			post_recv(shared_b.qp, 0, 4096, 8);
		}
		received += n;
		assert_true(patience_left());
	}
	return NULL;
}

static void threads__one_qp_for_all(void **state)
{
	void *(*work[])(void *) = {send_some, send_some, receive_some, receive_some};
	pthread_t t[4];
	struct ibv_wc wc[8];

	(void)state;
	shared_a = end_new(IBV_QPT_RC, NULL, NULL);
	shared_b = end_new(IBV_QPT_RC, NULL, NULL);
	sent = received = 0;
	verbs_connect(shared_a.qp, shared_b.qp, false);
	for (int i = 0; i < 32; i++)
		post_recv(shared_b.qp, 0, 4096, 8);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&t[i], NULL, work[i], NULL), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	while (sent < 2 * MESSAGES) {
		sent += ibv_poll_cq(shared_a.cq, 8, wc);
		assert_true(patience_left());
	}
	assert_int_equal(sent, 2 * MESSAGES);
	assert_int_equal(received, 2 * MESSAGES);
}

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond))                                                                       \
			_exit(__LINE__ & 0x7f);                                                    \
	} while (0)

/* In the child nothing of the parent's works, nothing crashes, and a new device does work. */
static void child(const struct verbs_end *e, struct ibv_comp_channel *channel)
{
	struct ibv_sge sge = sge_at(0, 8);
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad = NULL;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	struct ibv_qp_init_attr init;
	struct ibv_async_event event;
	struct ibv_port_attr port;
	struct ibv_device **list;
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;

	CHECK(ibv_poll_cq(e->cq, 1, &wc) < 0);
	CHECK(ibv_post_send(e->qp, &wr, &bad) == EIO && bad == &wr);
	CHECK(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE) == EIO);
	CHECK(ibv_query_qp(e->qp, &attr, IBV_QP_STATE, &init) == EIO);
	CHECK(ibv_req_notify_cq(e->cq, 0) == EIO);
	CHECK(ibv_get_cq_event(channel, &cq, &context) == -1 && errno == EIO);
	CHECK(ibv_get_async_event(ctx, &event) == -1 && errno == EIO);
	CHECK(ibv_query_port(ctx, 1, &port) == EIO);
	CHECK(!ibv_reg_mr(pd, buf, 8, 0) && errno == EIO);
	CHECK(!ibv_import_pd(ctx, pd->handle) && errno == EIO);
	CHECK(!ibv_import_mr(pd, mr->handle) && errno == EIO);
	CHECK(!ibv_alloc_pd(ctx) && errno == EIO);
	CHECK(!ibv_alloc_mw(pd, IBV_MW_TYPE_1) && errno == EIO);
	CHECK(ibv_dereg_mr(mr) == EIO);
	CHECK(ibv_destroy_qp(e->qp) == EIO);
	CHECK(ibv_close_device(ctx) == -1 && errno == EIO);
#if !defined(__SANITIZE_THREAD__) /* which does not survive a thread in such a child */
	/* The parent's is another process's now, and is imported as one. */
	struct ibv_context *parents = ibv_import_device(ctx->cmd_fd);

	CHECK(parents && ibv_query_port(parents, 1, &port) == 0);
	CHECK(ibv_close_device(parents) == 0);
	list = ibv_get_device_list(NULL);
	CHECK(list);
	ctx = ibv_open_device(list[0]);
	CHECK(ctx);
	ibv_free_device_list(list);
	pd = ibv_alloc_pd(ctx);
	mr = ibv_reg_mr(pd, buf, sizeof buf, ALL_ACCESS);
	CHECK(mr);
	(void)exchange(NULL);
	CHECK(ibv_close_device(ctx) == 0);
#else
	(void)list;
#endif
	_exit(0);
}

static void fork__child_starts_anew_and_parent_goes_on(void **state)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(ctx);
	struct verbs_end a = end_new(IBV_QPT_RC, channel, NULL),
			 b = end_new(IBV_QPT_RC, NULL, NULL);
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(ibv_fork_init(), 0);
	assert_int_equal(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
	verbs_connect(a.qp, b.qp, false);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		child(&a, channel);
	for (uint64_t i = 0; i < 100; i++) {
		post_recv(b.qp, i, 0, 64);
		post_send(a.qp, (struct ibv_send_wr){.opcode = IBV_WR_SEND}, 4096, 64);
		assert_int_equal(wc_next(b.cq).status, IBV_WC_SUCCESS);
		assert_int_equal(wc_next(a.cq).status, IBV_WC_SUCCESS);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	end_free(&a);
	end_free(&b);
}

static void exec_closes__descriptors(void **state)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(ctx);

	(void)state;
	assert_true(fcntl(channel->fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(ctx->async_fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(ctx->cmd_fd, F_GETFD) & FD_CLOEXEC);
}

static unsigned for_exec; /* descriptors, before anything was opened */

/* No descriptor of any object, nor of what stands behind it, goes to programs that are executed:
 * locks of domains, sockets of groups and QPs, device memory, the adapter. */
static void exec_closes__all_descriptors(void **state)
{
	static const union ibv_gid group = {
	    .raw = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 7, 7, 8}};
	int file = memfd_create("domain", MFD_CLOEXEC);
	struct ibv_xrcd_init_attr xa = {.comp_mask =
					    IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
					.fd = file,
					.oflags = O_CREAT};
	struct ibv_alloc_dm_attr da = {.length = 64};
	struct verbs_end ud = end_new(IBV_QPT_UD, ibv_create_comp_channel(ctx), NULL), a, b;

	(void)state;
	assert_non_null(ibv_open_xrcd(ctx, &xa));
	assert_non_null(ibv_alloc_dm(ctx, &da));
	to_init(ud.qp);
	assert_int_equal(ibv_attach_mcast(ud.qp, &group, 0), 0);
	ends_new(&a, &b);
	post_recv(b.qp, 1, 0, 64);
	post_send(a.qp, (struct ibv_send_wr){.opcode = IBV_WR_SEND}, 4096, 64);
	assert_int_equal(wc_next(a.cq).status, IBV_WC_SUCCESS);
	assert_int_equal(descriptors_for_exec(), for_exec);
	close(file);
}

static void two_contexts__share_the_adapter(void **state)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *other = ibv_open_device(list[0]);

	(void)state;
	ibv_free_device_list(list);
	assert_non_null(other);
	assert_ptr_not_equal(other, ctx);
	(void)exchange(NULL);
	assert_int_equal(ibv_close_device(other), 0);
	(void)exchange(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    VERBS_TEST(threads__each_its_own_pair),
	    VERBS_TEST(threads__one_qp_for_all),
	    VERBS_TEST(fork__child_starts_anew_and_parent_goes_on),
	    VERBS_TEST(exec_closes__descriptors),
	    VERBS_TEST(exec_closes__all_descriptors),
	    VERBS_TEST(two_contexts__share_the_adapter),
	};

	VERBS_MAIN_OR_SKIP();
	for_exec = descriptors_for_exec();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
