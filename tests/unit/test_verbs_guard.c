/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that is unmapped, made read-only or cut off under a registration: each operation in each
 * role ends with a completion error, as with an adapter that has its own pages, and SIGSEGV and
 * SIGBUS stay the program's. Over UDP and through shared memory.
 */
#include "deny.h"
#include "link/guard.h"
#include "verbs_env.h"

#include <setjmp.h>
#include <sys/mman.h>

#define PAGE 4096u
#define LEN (3 * PAGE)

static struct verbs_end a, b;

/* How memory goes, and who notices. */
enum way { UNMAPPED, READ_ONLY, CUT_OFF, WAYS };

static struct {
	uint8_t *p;
	struct ibv_mr *mr;
	int fd;
} gone;

static void gone_new(void)
{
	gone.fd = memfd_create("gone", MFD_CLOEXEC);
	assert_true(gone.fd >= 0);
	assert_int_equal(ftruncate(gone.fd, LEN), 0);
	gone.p = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, gone.fd, 0);
	assert_true(gone.p != MAP_FAILED);
	gone.mr = ibv_reg_mr(pd, gone.p, LEN, ALL_ACCESS);
	assert_non_null(gone.mr);
	memset(gone.p, 5, LEN);
}

/* Takes all but the first page away; the addresses stay taken, see test_verbs_odp.c. */
static void gone_go(enum way way)
{
	uint8_t *p = gone.p + PAGE;

	if (way == UNMAPPED)
		assert_true(mmap(p, LEN - PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
				 -1, 0) == p);
	else if (way == READ_ONLY)
		assert_int_equal(mprotect(p, LEN - PAGE, PROT_READ), 0);
	else
		assert_int_equal(ftruncate(gone.fd, PAGE), 0);
}

static void gone_free(void)
{
	assert_int_equal(ibv_dereg_mr(gone.mr), 0);
	munmap(gone.p, LEN);
	close(gone.fd);
}

static enum ibv_wc_status run(enum ibv_wr_opcode op, void *p, uint32_t len, uint32_t lkey, void *to,
			      uint32_t rkey)
{
	struct ibv_sge sge = {.addr = (uintptr_t)p, .length = len, .lkey = lkey};
	struct ibv_send_wr wr = {.opcode = op, .sg_list = &sge, .num_sge = 1}, *bad;

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)to;
		wr.wr.atomic.compare_add = 1;
		wr.wr.atomic.rkey = rkey;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)to;
		wr.wr.rdma.rkey = rkey;
	}
	wr.send_flags = IBV_SEND_SIGNALED;
	assert_int_equal(ibv_post_send(a.qp, &wr, &bad), 0);
	return wc_next(a.cq).status;
}

static void expect_fatal(void)
{
	struct ibv_async_event ev;
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	assert_int_equal(ibv_get_async_event(ctx, &ev), 0);
	assert_int_equal(ev.event_type, IBV_EVENT_QP_FATAL);
	assert_ptr_equal(ev.element.qp, b.qp);
	ibv_ack_async_event(&ev);
	assert_int_equal(ibv_query_qp(b.qp, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_ERR);
}

/* The peer names the memory. IBA 9.7.5.2.4, 9.9.3 */
static void target__is_a_remote_operational_error(void **state)
{
	static const struct {
		enum ibv_wr_opcode op;
		uint32_t len;
		bool writes;
	} c[] = {{IBV_WR_RDMA_WRITE, LEN, true},
		 {IBV_WR_RDMA_READ, LEN, false},
		 {IBV_WR_ATOMIC_FETCH_AND_ADD, 8, true}};

	(void)state;
	for (enum way way = UNMAPPED; way < WAYS; way++)
		for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
			bool works = way == READ_ONLY && !c[i].writes;
			uint8_t *at;

			gone_new();
			ends_new(&a, &b);
			gone_go(way);
			at = gone.p + (c[i].len == 8 ? PAGE : 0);
			assert_int_equal(run(c[i].op, buf, c[i].len, mr->lkey, at, gone.mr->rkey),
					 works ? IBV_WC_SUCCESS : IBV_WC_REM_OP_ERR);
			if (!works)
				expect_fatal();
			ends_free(&a, &b);
			gone_free();
		}
}

/* The program's own work names it. IBA 10.8.3.1: local protection error */
static void source__is_a_local_protection_error(void **state)
{
	static const struct {
		enum ibv_wr_opcode op;
		uint32_t len;
		bool writes;
	} c[] = {{IBV_WR_RDMA_WRITE, LEN, false},
		 {IBV_WR_SEND, LEN, false},
		 {IBV_WR_RDMA_READ, LEN, true},
		 {IBV_WR_ATOMIC_FETCH_AND_ADD, 8, true}};

	(void)state;
	for (enum way way = UNMAPPED; way < WAYS; way++)
		for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
			bool works = way == READ_ONLY && !c[i].writes;
			uint8_t *at;

			gone_new();
			ends_new(&a, &b);
			post_recv(b.qp, 1, 0, LEN);
			gone_go(way);
			at = gone.p + (c[i].len == 8 ? PAGE : 0);
			assert_int_equal(
			    run(c[i].op, at, c[i].len, gone.mr->lkey, buf + 65536, mr->rkey),
			    works ? IBV_WC_SUCCESS : IBV_WC_LOC_PROT_ERR);
			ends_free(&a, &b);
			gone_free();
		}
}

/* A receive names it: both ends hear of it. IBA 9.9.3.1 */
static void receive__is_an_error_at_both_ends(void **state)
{
	(void)state;
	for (enum way way = UNMAPPED; way < WAYS; way++) {
		struct ibv_sge sge;
		struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

		gone_new();
		sge = (struct ibv_sge){(uintptr_t)gone.p, LEN, gone.mr->lkey};
		ends_new(&a, &b);
		assert_int_equal(ibv_post_recv(b.qp, &wr, &bad), 0);
		gone_go(way);
		assert_int_equal(run(IBV_WR_SEND, buf, LEN, mr->lkey, NULL, 0), IBV_WC_REM_OP_ERR);
		assert_int_equal(wc_next(b.cq).status, IBV_WC_LOC_PROT_ERR);
		ends_free(&a, &b);
		gone_free();
	}
}

/* A WRITE into memory that is not there, and the adapter still works. */
static void fault_once(void)
{
	gone_new();
	ends_new(&a, &b);
	gone_go(UNMAPPED);
	assert_int_equal(run(IBV_WR_RDMA_WRITE, buf, LEN, mr->lkey, gone.p, gone.mr->rkey),
			 IBV_WC_REM_OP_ERR);
	expect_fatal();
	ends_free(&a, &b);
	gone_free();
}

static sigjmp_buf back;
static volatile sig_atomic_t seen, seen_blocked;
static void *volatile seen_at;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	sigset_t now;

	(void)context;
	pthread_sigmask(SIG_BLOCK, NULL, &now);
	seen_blocked = sigismember(&now, SIGUSR1) + 2 * sigismember(&now, sig);
	seen_at = info->si_addr;
	seen = seen + 1;
	siglongjmp(back, 1);
}

static void on_signal_alone(int sig)
{
	(void)sig;
	seen = seen + 1;
	siglongjmp(back, 1);
}

/* A page that nobody may touch, and an access to it. */
static uint8_t *forbidden(void)
{
	static uint8_t *p;

	if (!p)
		p = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p;
}

static void trespass(void)
{
	seen = 0;
	if (sigsetjmp(back, 1) == 0)
		*(volatile uint8_t *)forbidden() = 1;
}

/* Handlers from before the first registration and from after it are called for the program's own
 * faults, as it asked, and not for the adapter's. */
static void handler__is_the_programs(void **state)
{
	struct sigaction act = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK},
			 old, was;

	(void)state;
	sigemptyset(&act.sa_mask);
	sigaddset(&act.sa_mask, SIGUSR1);
	assert_int_equal(sigaction(SIGSEGV, &act, &was), 0);
	for (int i = 0; i < 2; i++) {
		fault_once();
		trespass();
		assert_int_equal(seen, 1);
		assert_ptr_equal(seen_at, forbidden());
		assert_int_equal(seen_blocked, 3);
	}
	assert_int_equal(sigaction(SIGSEGV, NULL, &old), 0);
	assert_true(old.sa_sigaction == on_signal);
	assert_int_equal(old.sa_flags & (SA_SIGINFO | SA_ONSTACK), SA_SIGINFO | SA_ONSTACK);
	assert_int_equal(sigismember(&old.sa_mask, SIGUSR1), 1);

	/* Not blocked meanwhile. */
	act.sa_flags |= SA_NODEFER;
	assert_int_equal(sigaction(SIGSEGV, &act, NULL), 0);
	trespass();
	assert_int_equal(seen_blocked, 1);

	/* A value that is no handler is refused, signal(3). */
	errno = 0;
	assert_true(signal(SIGSEGV, SIG_ERR) == SIG_ERR);
	assert_int_equal(errno, EINVAL);

	/* Once only. As BSD has it, system calls go on. */
	assert_true(signal(SIGSEGV, on_signal_alone) != SIG_ERR);
	assert_int_equal(sigaction(SIGSEGV, NULL, &old), 0);
	assert_true(old.sa_flags & SA_RESTART);
	fault_once();
	trespass();
	assert_int_equal(seen, 1);
	act = (struct sigaction){.sa_handler = on_signal_alone, .sa_flags = (int)SA_RESETHAND};
	assert_int_equal(sigaction(SIGSEGV, &act, NULL), 0);
	trespass();
	assert_int_equal(seen, 1);
	assert_int_equal(sigaction(SIGSEGV, &was, &old), 0);
	assert_true(old.sa_handler == SIG_DFL);
	fault_once();
}

/* A program may have its own SIGBUS handler in place of the adapter's. The handler does not see
 * memory cut off under an access of the adapter. */
static void handler__of_sigbus_is_the_programs(void **state)
{
	const struct sigaction act = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
	struct sigaction was, is;

	(void)state;
	fault_once(); /* the adapter has its handlers by now */
	assert_int_equal(sigaction(SIGBUS, &act, &was), 0);
	seen = 0;
	gone_new();
	ends_new(&a, &b);
	gone_go(CUT_OFF);
	assert_int_equal(run(IBV_WR_RDMA_WRITE, buf, LEN, mr->lkey, gone.p, gone.mr->rkey),
			 IBV_WC_REM_OP_ERR);
	expect_fatal();
	assert_int_equal(seen, 0);
	if (sigsetjmp(back, 1) == 0)
		*(volatile uint8_t *)(gone.p + PAGE) = 1;
	assert_int_equal(seen, 1);
	assert_ptr_equal(seen_at, gone.p + PAGE);
	assert_int_equal(sigaction(SIGBUS, &was, &is), 0);
	assert_true(is.sa_sigaction == on_signal);
	ends_free(&a, &b);
	gone_free();
}

static void trespass_on_signal(int sig)
{
	(void)sig;
	*(volatile uint8_t *)forbidden() = 1;
}

static void interrupted(void *arg)
{
	(void)arg;
	raise(SIGUSR2);
}

static void nothing(void *arg)
{
	(void)arg;
}

/* A handler of the program's, on a stack of its own, interrupts the adapter's access to registered
 * memory. Its own fault is not taken for one of the access. sigaltstack(2) */
static void handler__on_another_stack(void **state)
{
	const struct sigaction usr2 = {.sa_handler = trespass_on_signal, .sa_flags = SA_ONSTACK};
	const struct sigaction segv = {.sa_sigaction = on_signal,
				       .sa_flags = SA_SIGINFO | SA_NODEFER};
	const size_t size = 256 * PAGE;
	struct sigaction was, was2;
	stack_t own = {.ss_size = size}, old;

	(void)state;
	own.ss_sp = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(own.ss_sp != MAP_FAILED);
	fault_once(); /* the adapter has its handlers by now */
	assert_int_equal(sigaltstack(&own, &old), 0);
	assert_int_equal(sigaction(SIGUSR2, &usr2, &was2), 0);
	assert_int_equal(sigaction(SIGSEGV, &segv, &was), 0);
	seen = 0;
	if (sigsetjmp(back, 1) == 0)
		(void)vb_guard_run(interrupted, NULL);
	assert_int_equal(seen, 1);
	assert_ptr_equal(seen_at, forbidden());
	assert_int_equal(vb_guard_run(nothing, NULL), 0);
	assert_int_equal(sigaction(SIGSEGV, &was, NULL), 0);
	assert_int_equal(sigaction(SIGUSR2, &was2, NULL), 0);
	assert_int_equal(sigaltstack(&old, NULL), 0);
	munmap(own.ss_sp, size);
}

/* Older standards' <signal.h> has it. */
void (*bsd_signal(int sig, void (*handler)(int)))(int);

/* signal() and its kin differ in their flags; these are the same for the adapter's two signals and
 * for others, which the C library answers. signal(2), bsd_signal(3), sysv_signal(3) */
static void handler__of_each_call(void **state)
{
	const int bsd = SA_RESTART, sysv = (int)SA_RESETHAND | SA_NODEFER;
	const struct {
		void (*(*call)(int, void (*)(int)))(int);
		int flags;
	} calls[] = {{signal, bsd}, {bsd_signal, bsd}, {sysv_signal, sysv}, {__sysv_signal, sysv}};
	const int sigs[] = {SIGSEGV, SIGBUS, SIGUSR1};
	struct sigaction was, now;

	(void)state;
	fault_once();
	for (size_t k = 0; k < 3; k++) {
		assert_int_equal(sigaction(sigs[k], NULL, &was), 0);
		for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
			assert_true(calls[i].call(sigs[k], on_signal_alone) != SIG_ERR);
			assert_int_equal(sigaction(sigs[k], NULL, &now), 0);
			assert_true(now.sa_handler == on_signal_alone);
			assert_int_equal(now.sa_flags & (bsd | sysv | SA_SIGINFO), calls[i].flags);
			assert_int_equal(sigismember(&now.sa_mask, SIGUSR2), 0);
			/* The previous handler. */
			assert_true(calls[i].call(sigs[k], SIG_IGN) == on_signal_alone);
			assert_true(calls[i].call(sigs[k], SIG_DFL) == SIG_IGN);
			errno = 0;
			assert_true(calls[i].call(sigs[k], SIG_ERR) == SIG_ERR);
			assert_int_equal(errno, EINVAL);
			assert_true(calls[i].call(sigs[k], SIG_DFL) == SIG_DFL);
		}
		assert_int_equal(sigaction(sigs[k], &was, NULL), 0);
	}
	fault_once();
}

/* By default, and when somebody sends it, the signal ends the process. */
static void default__ends_the_process(void **state)
{
	(void)state;
	for (int how = 0; how < 3; how++) {
		int status;
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0) {
			signal(SIGSEGV, how == 2 ? SIG_IGN : SIG_DFL);
			if (how == 1)
				kill(getpid(), SIGSEGV);
			else
				*(volatile uint8_t *)forbidden() = 1;
			_exit(3);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGSEGV);
	}
}

/* An ignored signal that is sent, and is no fault, is ignored. */
static void ignored__when_it_is_sent(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	fault_once();
	pid = fork();
	if (pid == 0) {
		signal(SIGSEGV, SIG_IGN);
		kill(getpid(), SIGSEGV);
		_exit(3);
	}
	status = child_status(pid);
	assert_int_equal(status, 3);
}

/* An action that the kernel refuses is refused, with the reason of the kernel. sigaction(2) */
static void handler__that_the_kernel_refuses(void **state)
{
	struct sigaction act = {.sa_handler = on_signal_alone}, old = {.sa_flags = 1234};
	int status;
	pid_t pid;

	(void)state;
	fault_once(); /* the adapter has its handlers by now */
	pid = fork();
	if (pid == 0) {
		if (!deny_call(SYS_rt_sigaction, 0, SIGSEGV, EPERM))
			_exit(77);
		errno = 0;
		if (sigaction(SIGSEGV, &act, &old) != -1 || errno != EPERM)
			_exit(1);
		_exit(old.sa_flags == 1234 ? 0 : 2);
	}
	status = child_status(pid);
	if (status == 77)
		skip(); /* a kernel that lets no process deny itself system calls */
	assert_int_equal(status, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    VERBS_TEST(target__is_a_remote_operational_error),
	    VERBS_TEST(source__is_a_local_protection_error),
	    VERBS_TEST(receive__is_an_error_at_both_ends),
	    VERBS_TEST(handler__is_the_programs),
	    VERBS_TEST(handler__of_sigbus_is_the_programs),
	    VERBS_TEST(handler__on_another_stack),
	    VERBS_TEST(handler__of_each_call),
	    VERBS_TEST(default__ends_the_process),
	    VERBS_TEST(ignored__when_it_is_sent),
	    VERBS_TEST(handler__that_the_kernel_refuses),
	};
	int failed;

	(void)argc;
	(void)argv;
	VERBS_MAIN_OR_SKIP();
	setenv("VERBENA_LINK", "udp", 1);
	failed = cmocka_run_group_tests_name("udp", tests, NULL, NULL);
	setenv("VERBENA_LINK", "shm", 1);
	return failed + cmocka_run_group_tests_name("shm", tests, NULL, NULL);
}
