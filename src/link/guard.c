/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guard of registered memory, see guard.h. The handler does not jump: it changes where the
 * interrupted thread goes on and returns, so that the kernel restores the signal mask and the
 * alternate stack as ever.
 */
#include "link/guard.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif
#ifdef HAS_ASAN
void __asan_handle_no_return(void);
#endif

/* A guarded call lies no deeper than this under its guard: a fault elsewhere is somebody else's. */
#define DEPTH_MAX (64u << 10)

/* Where the stack of the guarded call began; NULL: there is none. Initial-exec: a handler must not
 * allocate. */
static _Thread_local void *guard_top __attribute__((tls_model("initial-exec")));

/*
 * vb_guard_call(f, arg, top): saves what a call preserves, notes the stack pointer in *top, calls
 * f(arg), clears *top and returns 0. Somebody who sets the stack pointer to *top and jumps to
 * vb_guard_landing makes it return -EFAULT (-14) instead.
 */
int vb_guard_call(void (*f)(void *), void *arg, void **top);
extern const char vb_guard_landing[];

#if defined(__x86_64__)
__asm__(".text\n"
	".p2align 4\n"
	".globl vb_guard_call\n"
	".hidden vb_guard_call\n"
	".type vb_guard_call, @function\n"
	"vb_guard_call:\n"
	".cfi_startproc\n"
	"endbr64\n"
	"push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbp, 0\n"
	"push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbx, 0\n"
	"push %r12\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r12, 0\n"
	"push %r13\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r13, 0\n"
	"push %r14\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r14, 0\n"
	"push %r15\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r15, 0\n"
	"push %rdx\n.cfi_adjust_cfa_offset 8\n"
	"mov %rsp, (%rdx)\n"
	"mov %rdi, %rax\n"
	"mov %rsi, %rdi\n"
	"call *%rax\n"
	"xor %eax, %eax\n"
	"1: pop %rdx\n.cfi_adjust_cfa_offset -8\n"
	"movq $0, (%rdx)\n"
	"pop %r15\n.cfi_adjust_cfa_offset -8\n.cfi_restore %r15\n"
	"pop %r14\n.cfi_adjust_cfa_offset -8\n.cfi_restore %r14\n"
	"pop %r13\n.cfi_adjust_cfa_offset -8\n.cfi_restore %r13\n"
	"pop %r12\n.cfi_adjust_cfa_offset -8\n.cfi_restore %r12\n"
	"pop %rbx\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbx\n"
	"pop %rbp\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbp\n"
	"ret\n"
	".cfi_endproc\n"
	".size vb_guard_call, . - vb_guard_call\n"
	".globl vb_guard_landing\n"
	".hidden vb_guard_landing\n"
	"vb_guard_landing:\n"
	"cld\n"
	"mov $-14, %eax\n"
	"jmp 1b\n");

static uintptr_t stack_of(const ucontext_t *u)
{
	return (uintptr_t)u->uc_mcontext.gregs[REG_RSP];
}

static void guard_land(ucontext_t *u, void *top)
{
	u->uc_mcontext.gregs[REG_RSP] = (greg_t)(uintptr_t)top;
	u->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)vb_guard_landing;
}

#elif defined(__aarch64__)
__asm__(".text\n"
	".p2align 4\n"
	".globl vb_guard_call\n"
	".hidden vb_guard_call\n"
	".type vb_guard_call, %function\n"
	"vb_guard_call:\n"
	".cfi_startproc\n"
	"hint #34\n"
	"stp x29, x30, [sp, #-176]!\n"
	".cfi_def_cfa_offset 176\n.cfi_offset 29, -176\n.cfi_offset 30, -168\n"
	"mov x29, sp\n"
	"stp x19, x20, [sp, #16]\n.cfi_offset 19, -160\n.cfi_offset 20, -152\n"
	"stp x21, x22, [sp, #32]\n.cfi_offset 21, -144\n.cfi_offset 22, -136\n"
	"stp x23, x24, [sp, #48]\n.cfi_offset 23, -128\n.cfi_offset 24, -120\n"
	"stp x25, x26, [sp, #64]\n.cfi_offset 25, -112\n.cfi_offset 26, -104\n"
	"stp x27, x28, [sp, #80]\n.cfi_offset 27, -96\n.cfi_offset 28, -88\n"
	"str x2, [sp, #96]\n"
	"stp d8, d9, [sp, #112]\n"
	"stp d10, d11, [sp, #128]\n"
	"stp d12, d13, [sp, #144]\n"
	"stp d14, d15, [sp, #160]\n"
	"str x29, [x2]\n"
	"mov x9, x0\n"
	"mov x0, x1\n"
	"blr x9\n"
	"mov w0, #0\n"
	"1: ldr x2, [sp, #96]\n"
	"str xzr, [x2]\n"
	"ldp x19, x20, [sp, #16]\n"
	"ldp x21, x22, [sp, #32]\n"
	"ldp x23, x24, [sp, #48]\n"
	"ldp x25, x26, [sp, #64]\n"
	"ldp x27, x28, [sp, #80]\n"
	"ldp d8, d9, [sp, #112]\n"
	"ldp d10, d11, [sp, #128]\n"
	"ldp d12, d13, [sp, #144]\n"
	"ldp d14, d15, [sp, #160]\n"
	"ldp x29, x30, [sp], #176\n"
	"ret\n"
	".cfi_endproc\n"
	".size vb_guard_call, . - vb_guard_call\n"
	".globl vb_guard_landing\n"
	".hidden vb_guard_landing\n"
	"vb_guard_landing:\n"
	"mov w0, #-14\n"
	"b 1b\n");

static uintptr_t stack_of(const ucontext_t *u)
{
	return (uintptr_t)u->uc_mcontext.sp;
}

static void guard_land(ucontext_t *u, void *top)
{
	u->uc_mcontext.sp = (uintptr_t)top;
	u->uc_mcontext.pc = (uintptr_t)vb_guard_landing;
}

#else
/* No way back is known here: faults stay what they are. */
const char vb_guard_landing[1];

int vb_guard_call(void (*f)(void *), void *arg, void **top)
{
	(void)top;
	f(arg);
	return 0;
}

static uintptr_t stack_of(const ucontext_t *u)
{
	(void)u;
	return 0;
}

static void guard_land(ucontext_t *u, void *top)
{
	(void)u;
	(void)top;
}
#endif

int vb_guard_run(void (*f)(void *), void *arg)
{
	int err = vb_guard_call(f, arg, &guard_top);

#ifdef HAS_ASAN
	/* AddressSanitizer's knowledge of the frames that were left is stale. */
	if (err)
		__asan_handle_no_return();
#endif
	return err;
}

struct payload {
	uint8_t *to;
	const struct vb_tx *tx;
};

static void copy_payload(void *arg)
{
	const struct payload *p = arg;
	uint8_t *to = p->to;

	for (uint32_t i = 0; i < p->tx->seg_cnt; i++) {
		memcpy(to, p->tx->seg[i].p, p->tx->seg[i].len);
		to += p->tx->seg[i].len;
	}
}

int vb_guard_copy_payload(uint8_t *to, const struct vb_tx *tx)
{
	return vb_guard_run(copy_payload, &(struct payload){to, tx});
}

/* The program's actions. A handler reads one while another thread sets the next. */
#define ACTIONS 8u
static struct owned {
	int sig;
	struct sigaction action[ACTIONS];
	_Atomic unsigned now; /* which of them; the others are old */
} owned[] = {{.sig = SIGSEGV}, {.sig = SIGBUS}};
#define OWNED_CNT (sizeof owned / sizeof owned[0])

static _Atomic bool is_open;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of those who set actions */

static struct owned *owned_of(int sig)
{
	for (size_t i = 0; i < OWNED_CNT; i++)
		if (owned[i].sig == sig)
			return &owned[i];
	return NULL;
}

static struct sigaction action_of(const struct owned *o)
{
	return o->action[atomic_load_explicit(&o->now, memory_order_acquire) % ACTIONS];
}

static void set_action(struct owned *o, const struct sigaction *a)
{
	unsigned next = atomic_load_explicit(&o->now, memory_order_relaxed) + 1;

	o->action[next % ACTIONS] = *a;
	atomic_store_explicit(&o->now, next, memory_order_release);
}

/* sigaction(2) of whoever comes behind this library. */
static int next_sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	typedef int (*sigaction_fn)(int, const struct sigaction *, struct sigaction *);
	static _Atomic(sigaction_fn) next;
	sigaction_fn f = atomic_load_explicit(&next, memory_order_relaxed);

	if (!f) {
		void *p = dlsym(RTLD_NEXT, "sigaction");

		memcpy(&f, &p, sizeof f);
		atomic_store_explicit(&next, f, memory_order_relaxed);
	}
	if (f)
		return f(sig, act, old);
	errno = ENOSYS;
	return -1;
}

static bool is_function(const struct sigaction *a)
{
	return a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN;
}

/* A signal that is not ours goes where the program wants it. This handler was installed with the
 * mask and the flags of the program's own. */
static void fault_forward(struct owned *o, siginfo_t *info, void *context)
{
	struct sigaction a = action_of(o), by_default = {.sa_handler = SIG_DFL};
	bool is_sent = info->si_code <= 0; /* by kill(2), and not by a fault */

	if (is_function(&a)) {
		if (a.sa_flags & SA_RESETHAND)
			set_action(o, &by_default);
		if (a.sa_flags & SA_SIGINFO)
			a.sa_sigaction(o->sig, info, context);
		else
			a.sa_handler(o->sig);
		return;
	}
	if (a.sa_handler == SIG_IGN && is_sent)
		return;
	/* The instruction faults once more, and the core shows where. */
	(void)next_sigaction(o->sig, &by_default, NULL);
	if (is_sent)
		raise(o->sig);
}

/* The memory whose stores are told of. It changes while no store is on its way. */
static struct vb_guard_trap trap;
static _Atomic bool has_trap, is_blocked;

void vb_guard_set_trap(const struct vb_guard_trap *t)
{
	atomic_store(&has_trap, false);
	if (!t)
		return;
	trap = *t;
	atomic_store(&has_trap, true);
}

void vb_guard_note_blocked(const sigset_t *set)
{
	if (sigismember(set, SIGSEGV) != 1)
		return;
	atomic_store(&is_blocked, true);
	if (atomic_load(&has_trap))
		trap.blocked();
}

bool vb_guard_is_blocked(void)
{
	sigset_t own;

	if (pthread_sigmask(SIG_SETMASK, NULL, &own) == 0)
		vb_guard_note_blocked(&own);
	return atomic_load(&is_blocked);
}

/* A store to what is protected, which has been seen to. */
static bool fault_is_store(int sig, const siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr;

	return sig == SIGSEGV && info->si_code == SEGV_ACCERR && atomic_load(&has_trap) &&
	       at - trap.from < trap.size && trap.stored(at - trap.from, context);
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	uintptr_t top = (uintptr_t)guard_top;
	struct owned *o = owned_of(sig);

	if (top && info->si_code > 0 && top - stack_of(u) < DEPTH_MAX)
		guard_land(u, guard_top);
	else if (!fault_is_store(sig, info, context) && o)
		fault_forward(o, info, context);
}

/* Our handler, so that the program's runs as if it had been called by the kernel. */
static int handler_install(const struct owned *o)
{
	const int kept = SA_ONSTACK | SA_NODEFER | SA_RESTART;
	struct sigaction own = action_of(o), ours = {.sa_flags = SA_SIGINFO | SA_ONSTACK};

	if (is_function(&own)) {
		ours.sa_mask = own.sa_mask;
		ours.sa_flags = SA_SIGINFO | (own.sa_flags & kept);
	}
	ours.sa_sigaction = on_fault;
	return next_sigaction(o->sig, &ours, NULL) ? -errno : 0;
}

static bool is_ours(const struct sigaction *a)
{
	return (a->sa_flags & SA_SIGINFO) && a->sa_sigaction == on_fault;
}

int vb_guard_open(void)
{
	int err = 0;

	pthread_mutex_lock(&mutex);
	for (size_t i = 0; !err && i < OWNED_CNT; i++) {
		struct sigaction own;

		if (next_sigaction(owned[i].sig, NULL, &own)) {
			err = -errno;
		} else if (!is_ours(&own)) {
			/* The first time, or somebody has gone past this library since. */
			set_action(&owned[i], &own);
			err = handler_install(&owned[i]);
		}
	}
	atomic_store(&is_open, true);
	pthread_mutex_unlock(&mutex);
	return err;
}

int vb_guard_sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	struct owned *o = owned_of(sig);
	struct sigaction was;
	sigset_t all, mask;
	int err = 0;

	if (act && is_function(act))
		vb_guard_note_blocked(&act->sa_mask);
	if (!o || !atomic_load(&is_open))
		return next_sigaction(sig, act, old);
	/* A handler may set an action too. A fault is none here. */
	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &mask);
	pthread_mutex_lock(&mutex);
	was = action_of(o);
	if (act) {
		set_action(o, act);
		err = handler_install(o);
	}
	pthread_mutex_unlock(&mutex);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	if (old && !err)
		*old = was;
	if (err)
		errno = -err;
	return err ? -1 : 0;
}
