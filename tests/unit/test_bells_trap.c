/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Doorbells that the thread rings which stores: each instruction that is known, executed at a page;
 * nothing that the thread has changes by it; other instructions, and programs that block SIGSEGV,
 * have their stores made as they are. node/bell/trap.c
 */
#include "engine_slot_env.h"
#include "link/guard.h"
#include "node/bell/bell.h"
#include "node/bell/priv.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>

#define PATIENCE_S 60

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
/* A bell of the test's, and what was told of it. */
struct tried {
	struct vb_bell bell; /* first: the one that is rung */
	_Atomic uint32_t rung;
	uint64_t value;
	pthread_t by;
};

static struct vb_engine *e;
static struct tried t;

static void on_rung(struct vb_bell *b, uint64_t value, vb_time now)
{
	struct tried *one = (struct tried *)b;

	assert_true(now > 0);
	one->value = value;
	one->by = pthread_self();
	errno = EDOM; /* the program does not see it */
	/* Registers of every kind are used meanwhile. */
	__asm__ volatile(
	    "pxor %%xmm0, %%xmm0\n\tpxor %%xmm15, %%xmm15\n\txor %%r10, %%r10\n\tstc" ::
		: "xmm0", "xmm15", "r10", "cc");
	one->rung++;
}

static void bells_begin(void)
{
	e = engine_open();
	t = (struct tried){.bell = {.rung = on_rung}};
	vb_engine_lock(e);
	assert_int_equal(vb_bell_open(e, &t.bell), 0);
	vb_engine_unlock(e);
}

static int trap_setup(void **state)
{
	if (slots_setup(state))
		return -1;
	bells_begin();
	return 0;
}

static int trap_teardown(void **state)
{
	vb_engine_close_inside(e);
	return slots_teardown(state);
}

static uint8_t *place(uint32_t at)
{
	return t.bell.page + at;
}

/* The store before rang, once, in this thread, with @value. */
static void expect_rung(uint64_t value)
{
	assert_true(atomic_load(&e->bells->traps));
	assert_int_equal(t.rung, 1);
	assert_true(t.value == value);
	assert_true(pthread_equal(t.by, pthread_self()));
	t.rung = 0;
}

#define STORE(code, constraint, v)                                                                 \
	__asm__ volatile(code : : "r"(place(VB_BELL_QP_WORD)), constraint(v) : "memory")

static void store__rings_in_its_thread(void **state)
{
	const uint64_t v = UINT64_C(0x1122334455667788);
	uint64_t was = v;
	double d;

	(void)state;
	memcpy(&d, &v, sizeof d);
	errno = EXDEV;
	STORE("movq %1, (%0)", "r", v);
	expect_rung(v);
	STORE("movl %k1, (%0)", "r", v);
	expect_rung(0x55667788);
	STORE("movnti %1, (%0)", "r", v);
	expect_rung(v);
	STORE("movq %1, (%0)", "i", -5);
	expect_rung(UINT64_MAX - 4);
	STORE("movq %1, (%0)", "x", d);
	expect_rung(v);
	STORE("movsd %1, (%0)", "x", d);
	expect_rung(v);
	STORE("movups %1, (%0)", "x", d);
	expect_rung(v);
	STORE("movntps %1, (%0)", "x", d);
	expect_rung(v);
	__asm__ volatile("xchgq %0, (%1)" : "+r"(was) : "r"(place(VB_BELL_QP_WORD)) : "memory");
	expect_rung(v);
	assert_true(was == 0);
	if (__builtin_cpu_supports("avx2")) {
		STORE("vmovups %t1, (%0)", "x", d);
		expect_rung(v);
	}
	/* Each word, and a place that is none. */
	__atomic_store_n((uint64_t *)(void *)place(VB_BELL_CQ_WORD), 3, __ATOMIC_RELEASE);
	expect_rung(3);
	__atomic_store_n((uint64_t *)(void *)place(VB_BELL_QP_OTHER), 4, __ATOMIC_SEQ_CST);
	expect_rung(4);
	__atomic_store_n((uint64_t *)(void *)place(VB_BELL_QP_WORD + 8), 5, __ATOMIC_RELEASE);
	assert_int_equal(t.rung, 0);
	assert_true(*(uint64_t *)(void *)place(VB_BELL_QP_WORD + 8) == 5);
	assert_int_equal(errno, EXDEV);
}

/* Behind the store a thread has all that it had: flags, registers, the red zone, its mask. */
static void store__keeps_all_of_the_thread(void **state)
{
	static uint64_t in[16], out[16];
	uint64_t x[2] = {3, 4}, y[2] = {0, 0};
	uint8_t carry = 0;
	sigset_t before, after;

	(void)state;
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	for (unsigned i = 0; i < 16; i++)
		in[i] = 0x1000 + i;
	__asm__ volatile(
	    "movq $0x5ead, -64(%%rsp)\n\t"
	    "movq 0(%[in]), %%r8\n\tmovq 8(%[in]), %%r9\n\tmovq 16(%[in]), %%r10\n\t"
	    "movq 24(%[in]), %%r11\n\tmovq 32(%[in]), %%r12\n\tmovq 40(%[in]), %%r13\n\t"
	    "movups %[x], %%xmm0\n\tmovups %[x], %%xmm15\n\t"
	    "stc\n\t"
	    "movq %%r10, (%[to])\n\t"
	    "setc %[carry]\n\t"
	    "movups %%xmm15, %[y]\n\t"
	    "movq %%r8, 0(%[out])\n\tmovq %%r9, 8(%[out])\n\tmovq %%r10, 16(%[out])\n\t"
	    "movq %%r11, 24(%[out])\n\tmovq %%r12, 32(%[out])\n\tmovq %%r13, 40(%[out])\n\t"
	    "movq -64(%%rsp), %%r8\n\tmovq %%r8, 48(%[out])\n\t"
	    : [carry] "=m"(carry), [y] "=m"(y)
	    : [in] "r"(in), [out] "r"(out), [x] "m"(x), [to] "r"(place(VB_BELL_QP_WORD))
	    : "r8", "r9", "r10", "r11", "r12", "r13", "xmm0", "xmm15", "cc", "memory");
	assert_int_equal(t.rung, 1);
	assert_int_equal(carry, 1);
	assert_memory_equal(in, out, 6 * sizeof in[0]);
	assert_int_equal(out[6], 0x5ead);
	assert_memory_equal(x, y, sizeof x);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	assert_memory_equal(&before, &after, sizeof(unsigned long));
}

static void await(const _Atomic uint32_t *cnt, uint32_t least)
{
	time_t end = time(NULL) + PATIENCE_S;

	while (atomic_load(cnt) < least) {
		assert_true(time(NULL) < end);
		sched_yield();
	}
}

/* A store under the lock, as in a handler that has interrupted a call, is left to the thread. */
static void store__does_not_wait_for_its_own_lock(void **state)
{
	(void)state;
	vb_engine_lock(e);
	__atomic_store_n((uint64_t *)(void *)place(VB_BELL_QP_WORD), 9, __ATOMIC_RELEASE);
	assert_int_equal(t.rung, 0);
	vb_engine_unlock(e);
	await(&t.rung, 1);
	assert_true(t.value == 9);
	assert_true(atomic_load(&e->bells->traps));
}

/* An instruction that is not known is executed as it is, and so are all from then on. */
static void store__that_is_not_known_ends_it(void **state)
{
	(void)state;
	__asm__ volatile("lock orq %1, (%0)"
			 :
			 : "r"(place(VB_BELL_QP_WORD)), "r"(UINT64_C(6))
			 : "memory");
	assert_false(atomic_load(&e->bells->traps));
	await(&t.rung, 1);
	assert_true(t.value == 6);
	STORE("movq %1, (%0)", "r", UINT64_C(7));
	await(&t.rung, 2);
	assert_false(pthread_equal(t.by, pthread_self()));
}

static volatile sig_atomic_t own_faults;
static uint8_t *fault_at;

static void own_handler(int sig, siginfo_t *info, void *context)
{
	(void)context;
	assert_int_equal(sig, SIGSEGV);
	assert_ptr_equal(info->si_addr, fault_at);
	own_faults++;
	mprotect(fault_at, 4096, PROT_READ | PROT_WRITE);
}

/* The program's handler sees its own faults, and none of doorbells. */
static void handler__of_the_program_has_its_own(void **state)
{
	struct sigaction own = {.sa_sigaction = own_handler, .sa_flags = SA_SIGINFO}, old;

	(void)state;
	fault_at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(fault_at != MAP_FAILED);
	assert_int_equal(vb_guard_sigaction(SIGSEGV, &own, &old), 0);
	STORE("movq %1, (%0)", "r", UINT64_C(8));
	expect_rung(8);
	*(volatile uint8_t *)fault_at = 1;
	assert_int_equal(own_faults, 1);
	STORE("movq %1, (%0)", "r", UINT64_C(8));
	expect_rung(8);
	assert_int_equal(vb_guard_sigaction(SIGSEGV, &old, NULL), 0);
	munmap(fault_at, 4096);
}

/* The last one: a process that has blocked SIGSEGV once does not trap any more. */
static void mask__with_faults_ends_it(void **state)
{
	sigset_t all;

	(void)state;
	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	vb_guard_note_blocked(&all);
	assert_true(atomic_load(&e->bells->traps));
	sigaddset(&all, SIGSEGV);
	vb_guard_note_blocked(&all);
	assert_false(atomic_load(&e->bells->traps));
	STORE("movq %1, (%0)", "r", UINT64_C(7));
	await(&t.rung, 1);
	vb_engine_close_inside(e);
	bells_begin();
	assert_false(atomic_load(&e->bells->traps));
	STORE("movq %1, (%0)", "r", UINT64_C(7));
	await(&t.rung, 1);
}

#define TRAP_TEST(f) cmocka_unit_test_setup_teardown(f, trap_setup, trap_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TRAP_TEST(store__rings_in_its_thread),
	    TRAP_TEST(store__keeps_all_of_the_thread),
	    TRAP_TEST(store__does_not_wait_for_its_own_lock),
	    TRAP_TEST(store__that_is_not_known_ends_it),
	    TRAP_TEST(handler__of_the_program_has_its_own),
	    TRAP_TEST(mask__with_faults_ends_it),
	};

	if (!netns_enter()) {
		fprintf(stderr, "skipped: no network namespace of our own to be had\n");
		return 77;
	}
	setenv("VERBENA_MLX5DV", "trap", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
	fprintf(stderr,
		"skipped: stores are known of x86-64, and sanitizers come first at SIGSEGV\n");
	return 77;
}
#endif
