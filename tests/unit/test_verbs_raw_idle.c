/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The thread that looks at doorbells, at rest: a store to any page wakes it, and it also finds work
 * that no doorbell announces. Pages are protected, or they cannot be and the thread takes naps; or
 * threads that store do without it.
 * userfaultfd(2), node/bell/bell.h
 */
#include "deny.h"
#include "descriptors.h"
#include "node/bell/priv.h"
#include "node/engine/priv.h"
#include "raw_env.h"
#include "wire/hdr.h"
#include "wire/icrc.h"
#include "wire/opcode.h"
#include "wire/pkey.h"

#include <inttypes.h>
#include <sys/mman.h>

#define SIGNALED MLX5_WQE_CTRL_CQ_UPDATE

static struct raw_end a, b;

static void write_from(struct raw_end *r, uint16_t i)
{
	raw_begin(r);
	raw_remote(r, 100000);
	raw_inline(r, "wake", 4);
	raw_post(r, MLX5_OPCODE_RDMA_WRITE, SIGNALED, 0);
	(void)raw_next_of(r, MLX5_CQE_REQ, i);
}

/* Threads that store ring by themselves. */
static bool is_trapping(void)
{
	return atomic_load(&vb_ibv_ctx(ctx)->engine->bells->traps);
}

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define CAN_TRAP true
#else
#define CAN_TRAP false
#endif

/* The environment says how, and a program that has blocked SIGSEGV is an exception. */
static bool shall_trap(void)
{
	return CAN_TRAP && strcmp(getenv("VERBENA_MLX5DV"), "trap") == 0;
}

/* Each QP has a page of its own, and a store to any of them is noticed after a while of rest. */
static void test_wakes_by_every_page(void **state)
{
	(void)state;
	raw_pair(&a, &b);
	assert_int_equal(is_trapping(), shall_trap());
	for (uint16_t i = 0; i < 4; i++) {
		usleep(20000); /* lets it rest; no result depends on it */
		write_from(&b, i);
		usleep(20000);
		write_from(&a, i);
	}
	raw_free(&a, &b);
}

/* A WRITE by a key that the peer does not have: both QPs are in error then. */
static void write_by_a_wrong_key(struct raw_end *r)
{
	struct mlx5_wqe_raddr_seg *s;

	raw_begin(r);
	s = raw_add(r, sizeof *s);
	s->raddr = htobe64((uintptr_t)buf);
	s->rkey = htobe32(~mr->rkey);
	raw_inline(r, "lost", 4);
	raw_post(r, MLX5_OPCODE_RDMA_WRITE, SIGNALED, 0);
	assert_int_equal(raw_next(r).op_own >> 4, MLX5_CQE_REQ_ERR);
}

static void expect_flushed(struct raw_end *r)
{
	const struct mlx5_cqe64 e = raw_next(r);

	assert_int_equal(e.op_own >> 4, MLX5_CQE_RESP_ERR);
	assert_int_equal(((const struct mlx5_err_cqe *)(const void *)&e)->syndrome,
			 MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
}

/* A receive posted to a QP in error is flushed, IBA 10.3.1.7. No doorbell announces it: the thread
 * looks for it from the last doorbell on, while the QP is in error. */
static void test_flushes_without_a_doorbell(void **state)
{
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};

	(void)state;
	raw_pair(&a, &b);
	for (int round = 0; round < 20; round++) {
		write_by_a_wrong_key(&a);
		for (int i = 0; i < 3; i++) {
			usleep(round ? 300 : 30000); /* any time will do */
			raw_receive(&a, 200000, 100);
			expect_flushed(&a);
		}
		assert_int_equal(ibv_modify_qp(a.end.qp, &reset, IBV_QP_STATE), 0);
		assert_int_equal(ibv_modify_qp(b.end.qp, &reset, IBV_QP_STATE), 0);
		a.sent = a.received = 0;
		verbs_connect(a.end.qp, b.end.qp, false);
	}
	raw_free(&a, &b);
}

/* A WRITE with a key that nobody has, as the peer of QP @dqpn sends it from ::1. */
static void forge_write(uint32_t dqpn)
{
	const struct sockaddr_in6 to = {.sin6_family = AF_INET6,
					.sin6_port = htons(VB_ROCE_PORT),
					.sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct vb_hdr h = {
	    .opcode = VB_TRANSPORT_RC | VB_OP_WRITE_ONLY, .dqpn = dqpn, .pkey = VB_PKEY_DEFAULT};
	struct vb_icrc_udp u = {.src = {{[15] = 1}}, .dst = {{[15] = 1}}, .dport = VB_ROCE_PORT};
	uint8_t pkt[VB_HDR_MAX + VB_ICRC_LEN];
	struct sockaddr_in6 name = {0};
	socklen_t name_len = sizeof name;
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint32_t len, crc;

	h.psn = vb_psn(0xfffffe);
	h.reth.rkey = ~mr->rkey;
	h.reth.len = 4;
	len = (uint32_t)vb_hdr_emit(&h, pkt);
	memset(pkt + len, 0, 4);
	len += 4;
	assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&name, &name_len), 0);
	u.sport = ntohs(name.sin6_port);
	crc = vb_icrc_headers(vb_icrc_start(&u, len + VB_ICRC_LEN), pkt, VB_BTH_LEN);
	vb_icrc_finish(vb_icrc_bytes(crc, pkt + VB_BTH_LEN, len - VB_BTH_LEN), pkt + len);
	assert_int_equal(send(fd, pkt, len + VB_ICRC_LEN, 0), len + VB_ICRC_LEN);
	close(fd);
}

/* A peer's request that is refused puts a QP into error without any completion. */
static void test_flushes_after_a_refusal(void **state)
{
	struct ibv_async_event ev;

	(void)state;
	a = b = (struct raw_end){.at = 0};
	a.end = end_new(IBV_QPT_RC, NULL, NULL);
	b.end = end_new(IBV_QPT_RC, NULL, NULL);
	verbs_connect(a.end.qp, b.end.qp, true);
	raw_show(&a);
	raw_show(&b);
	usleep(30000); /* lets the thread rest; no result depends on it */
	forge_write(b.end.qp->qp_num);
	assert_int_equal(ibv_get_async_event(ctx, &ev), 0);
	assert_int_equal(ev.event_type, IBV_EVENT_QP_ACCESS_ERR);
	assert_ptr_equal(ev.element.qp, b.end.qp);
	ibv_ack_async_event(&ev);
	usleep(30000);
	raw_receive(&b, 200000, 100);
	expect_flushed(&b);
	raw_free(&a, &b);
}

/* The program does so too, with nothing outstanding. */
static void test_flushes_after_the_programs_word(void **state)
{
	struct ibv_qp_attr err = {.qp_state = IBV_QPS_ERR};

	(void)state;
	raw_pair(&a, &b);
	write_from(&a, 0);
	usleep(30000);
	assert_int_equal(ibv_modify_qp(b.end.qp, &err, IBV_QP_STATE), 0);
	usleep(30000);
	raw_receive(&b, 200000, 100);
	expect_flushed(&b);
	raw_free(&a, &b);
}

/* The thread's descriptors go with the adapter. */
static void test_leaves_no_descriptors(void **state)
{
	unsigned before;

	for (int i = 0; i < 2; i++) {
		before = descriptors_of(getpid());
		assert_int_equal(raw_open(state), 0);
		raw_pair(&a, &b);
		raw_free(&a, &b);
		assert_int_equal(verbs_close(state), 0);
	}
	assert_int_equal(descriptors_of(getpid()), before);
}

/* How many descriptors of this process the kernel calls @name. proc(5) */
static unsigned descriptors_named(const char *name)
{
	char path[64], to[256];
	unsigned cnt = 0;

	for (int fd = 0; fd < 1024; fd++) {
		ssize_t n;

		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		n = readlink(path, to, sizeof to - 1);
		to[n > 0 ? n : 0] = 0;
		cnt += strstr(to, name) != NULL;
	}
	return cnt;
}

/* The eventfds and userfaultfds of a child of this process, as its exit status. */
static int descriptors_of_child(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit((int)(descriptors_named("eventfd") + 8 * descriptors_named("userfaultfd")));
	return child_status(pid);
}

/* A child has neither the adapter nor its thread's descriptors: they would hold up the parent's
 * stores while the child lives. */
static void test_child_has_none(void **state)
{
	int before = descriptors_of_child();

	(void)state;
	raw_pair(&a, &b);
	write_from(&a, 0);
	assert_int_equal(descriptors_of_child(), before);
	raw_free(&a, &b);
}

static unsigned for_exec; /* descriptors, before anything was opened */

/* Nor do programs have them that this one executes. */
static void test_exec_has_none(void **state)
{
	(void)state;
	raw_pair(&a, &b);
	write_from(&a, 0);
	assert_int_equal(descriptors_for_exec(), for_exec);
	raw_free(&a, &b);
}

#if !defined(__SANITIZE_THREAD__) /* which does not survive a thread in such a child */
/* The mapping of this process that @p is in. proc(5) */
static void mapping_of(const void *p, uintptr_t *from, uintptr_t *to)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];

	assert_non_null(f);
	do {
		assert_non_null(fgets(line, sizeof line, f));
		assert_int_equal(sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", from, to), 2);
	} while ((uintptr_t)p < *from || (uintptr_t)p >= *to);
	fclose(f);
}

/* A pair of the child's own, with its own device: queues, their table and a doorbell. */
static int pair_of_child(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	ctx = list ? ibv_open_device(list[0]) : NULL;
	if (!ctx)
		return 1;
	ibv_free_device_list(list);
	pd = ibv_alloc_pd(ctx);
	mr = ibv_reg_mr(pd, buf, sizeof buf, ALL_ACCESS);
	if (!mr)
		return 2;
	raw_pair(&a, &b);
	write_from(&a, 0);
	if (is_trapping() != shall_trap())
		return 5;
	raw_free(&a, &b);
	return ibv_close_device(ctx) ? 3 : 0;
}

/* A child that opens the device has queues in memory of its own: those of its parent, which it does
 * not have in view, go on. Where they are nobody in the child may read or write. */
static void test_child_begins_anew(void **state)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
	uintptr_t from, to;
	pid_t pid;

	(void)state;
	raw_pair(&a, &b);
	write_from(&a, 0);
	mapping_of(a.qp.sq.buf, &from, &to);
	for (uint16_t i = 0; i < 2; i++) {
		pid = fork();
		if (pid == 0) {
			alarm(VERBS_PATIENCE_S); /* or a child that waits in vain never ends */
			signal(SIGSEGV, SIG_DFL);
			if (mmap((void *)from, to - from, PROT_NONE, flags, -1, 0) == MAP_FAILED)
				_exit(4);
			_exit(pair_of_child());
		}
		assert_int_equal(child_status(pid), 0);
		write_from(&a, (uint16_t)(i + 1));
	}
	raw_free(&a, &b);
}
#endif

/* A program that blocks SIGSEGV, in any thread, would be ended by a fault that it cannot be told
 * of: its stores are plain ones from then on, also in the next adapter that it opens. */
static void test_blocked_faults(void **state)
{
	sigset_t all, old;

	(void)state;
	raw_pair(&a, &b);
	assert_int_equal(is_trapping(), shall_trap());
	sigfillset(&all);
	pthread_sigmask(SIG_UNBLOCK, &all, &old);
	assert_int_equal(is_trapping(), shall_trap());
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	assert_false(is_trapping());
	write_from(&a, 0);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	write_from(&a, 1);
	raw_free(&a, &b);
	assert_int_equal(verbs_close(state), 0);
	assert_int_equal(raw_open(state), 0);
	raw_pair(&a, &b);
	assert_false(is_trapping());
	write_from(&a, 0);
	raw_free(&a, &b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RAW_TEST(test_wakes_by_every_page),
		RAW_TEST(test_flushes_without_a_doorbell),
		RAW_TEST(test_flushes_after_a_refusal),
		RAW_TEST(test_flushes_after_the_programs_word),
#if !defined(__SANITIZE_THREAD__)
		RAW_TEST(test_child_begins_anew),
#endif
		RAW_TEST(test_child_has_none),
		RAW_TEST(test_exec_has_none),
		cmocka_unit_test(test_leaves_no_descriptors)
	};
	const struct CMUnitTest blocked[] = {RAW_TEST(test_blocked_faults)};
	int failed;

	VERBS_MAIN_OR_SKIP();
	for_exec = descriptors_for_exec();
	setenv("VERBENA_MLX5DV", "trap", 1);
	failed = cmocka_run_group_tests_name("trapping stores", tests, NULL, NULL);
	failed += cmocka_run_group_tests_name("blocked faults", blocked, NULL, NULL);
	setenv("VERBENA_MLX5DV", "spin", 1);
	failed += cmocka_run_group_tests_name("protected pages", tests, NULL, NULL);
	if (deny_call(SYS_userfaultfd, 0, UINT32_MAX, EPERM))
		failed += cmocka_run_group_tests_name("naps", tests, NULL, NULL);
	return failed;
}
