/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Doorbells that are rung by the thread that writes them. The program's view of the pages is
 * protected, so that a store to one faults; the handler makes the store in the adapter's own view
 * of the page, and the thread goes on in vb_bells_stored() as if it had called that instead. It
 * runs on the thread's own stack and with its own signal mask, since the handler has returned, and
 * comes back behind the store with each register as it was.
 *
 * The fault is synchronous: the thread is in code of the program, and holds no lock of the adapter,
 * unless a handler of the program's that has interrupted a call of the adapter stores. So the lock
 * is waited for no longer than another thread would keep it, and the doorbells' own thread rings
 * then. See link/guard.h for the handler, and store.h for the instructions that are known; for any
 * other one all stores become plain ones again.
 */
#include "link/guard.h"
#include "node/bell/priv.h"
#include "node/bell/store.h"
#include "node/engine/priv.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

/* The lock is tried for so long before it is left to the doorbells' thread. */
#define LOCK_NS (10 * VB_MSEC)

/* The bells that trap; NULL: none do. A handler reads it. */
static struct vb_bells *_Atomic trapping;

static bool pages_protect(const struct vb_bells *all, bool on)
{
	return mprotect(all->pages, (size_t)BELLS_MAX * VB_BELL_PAGE,
			on ? PROT_READ : PROT_READ | PROT_WRITE) == 0;
}

/* A handler may call it. False: a store to the pages still faults. */
static bool trap_end(struct vb_bells *all)
{
	atomic_store(&all->traps, false);
	if (!pages_protect(all, false))
		return false;
	vb_bells_kick(all);
	return true;
}

static bool lock_take(struct vb_engine *e)
{
	vb_time until;

	if (vb_lock_try(&e->lock))
		return true;
	until = vb_clock_now() + LOCK_NS;
	do {
		sched_yield();
		if (vb_lock_try(&e->lock))
			return true;
	} while (vb_clock_now() < until);
	return false;
}

/* Polls for the packet or completion that a program waits for after such a store. Under the lock,
 * which it gives up between polls. */
static void stay_for_answer(struct vb_bells *all, uint64_t seen, vb_time now)
{
	struct vb_engine *e = all->engine;
	vb_time until = now + e->wait.slow * (vb_dur)VB_WAIT_STAY_NS;
	bool found;

	for (;;) {
		enum vb_wait_idle idle;

		vb_engine_progress(e);
		found = vb_bells_seen(all) != seen;
		now = vb_clock_now();
		if (found || now >= until)
			break;
		idle = vb_engine_polled(e, false);
		vb_lock_drop(&e->lock);
		vb_engine_idle(e, idle);
		vb_lock_take(&e->lock);
	}
	vb_wait_found(&e->wait);
	vb_stay_ended(&all->stay, found, now);
	/* It looks at its memory now, and calls nobody. */
	if (!found)
		vb_engine_expect_sleep(e);
}

/* Under the lock: what was stored to page @page is rung. */
static void ring_page(struct vb_bells *all, uint32_t page)
{
	struct vb_bell *b = all->at[page];
	struct vb_engine *e = all->engine;
	vb_time now = vb_clock_now();
	uint64_t seen = vb_bells_seen(all);
	bool is_idle = b && b->is_idle && b->is_idle(b);
	bool stays = vb_stay_begins(&all->stay, is_idle, seen, now, e->wait.slow);

	if (b)
		(void)vb_bells_look_at(all, b, now);
	if (stays) {
		stay_for_answer(all, seen, now);
	} else if (b && !b->is_idle) {
		/* A CQ is armed: its event may be due, and the program is about to sleep. */
		vb_engine_progress(e);
		vb_engine_expect_sleep(e);
	}
}

/* A store to page @page goes on here. Called by vb_bells_enter. */
__attribute__((visibility("hidden"), used)) void vb_bells_stored(uint64_t page);

void vb_bells_stored(uint64_t page)
{
	struct vb_bells *all = atomic_load_explicit(&trapping, memory_order_acquire);
	int err = errno;

	if (all && page < BELLS_MAX) {
		if (lock_take(all->engine)) {
			ring_page(all, (uint32_t)page);
			vb_lock_drop(&all->engine->lock);
		} else {
			vb_bells_kick(all);
		}
	}
	errno = err;
}

/* The thread sanitizer keeps signals for itself. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#include <cpuid.h>

/* Below it is the program's red zone; then where the thread goes on, and the page. */
#define RED_ZONE 128u

/*
 * vb_bells_enter: the thread comes here from the handler, by a jump. Its stack pointer is 144 less
 * than at the store; there are the number of the page and the address behind the store. Keeps all
 * that a call may change: flags, general registers, and of the others x87, SSE, AVX and AVX-512
 * (the bits 0, 1, 2, 5, 6 and 7 of XCR0), whose area has 2,688 bytes.
 */
extern const char vb_bells_enter[];

__asm__(".text\n"
	".p2align 4\n"
	".globl vb_bells_enter\n"
	".hidden vb_bells_enter\n"
	".type vb_bells_enter, @function\n"
	"vb_bells_enter:\n"
	".cfi_startproc\n"
	".cfi_signal_frame\n"
	".cfi_def_cfa rsp, 144\n"
	".cfi_offset rip, -136\n"
	"pushfq\n.cfi_adjust_cfa_offset 8\n"
	"cld\n"
	"push %rax\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset rax, 0\n"
	"push %rcx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset rcx, 0\n"
	"push %rdx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset rdx, 0\n"
	"push %rsi\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset rsi, 0\n"
	"push %rdi\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset rdi, 0\n"
	"push %r8\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset r8, 0\n"
	"push %r9\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset r9, 0\n"
	"push %r10\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset r10, 0\n"
	"push %r11\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset r11, 0\n"
	"push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset rbx, 0\n"
	"mov %rsp, %rbx\n.cfi_def_cfa_register rbx\n"
	"mov 88(%rsp), %rdi\n"
	"sub $2752, %rsp\n"
	"and $-64, %rsp\n"
	"xor %eax, %eax\n"
	"mov %rax, 512(%rsp)\n"
	"mov %rax, 520(%rsp)\n"
	"mov %rax, 528(%rsp)\n"
	"mov %rax, 536(%rsp)\n"
	"mov %rax, 544(%rsp)\n"
	"mov %rax, 552(%rsp)\n"
	"mov %rax, 560(%rsp)\n"
	"mov %rax, 568(%rsp)\n"
	"mov $0xe7, %eax\n"
	"xor %edx, %edx\n"
	"xsave64 (%rsp)\n"
	"call vb_bells_stored\n"
	"mov $0xe7, %eax\n"
	"xor %edx, %edx\n"
	"xrstor64 (%rsp)\n"
	"mov %rbx, %rsp\n.cfi_def_cfa_register rsp\n"
	"pop %rbx\n.cfi_adjust_cfa_offset -8\n.cfi_restore rbx\n"
	"pop %r11\n.cfi_adjust_cfa_offset -8\n.cfi_restore r11\n"
	"pop %r10\n.cfi_adjust_cfa_offset -8\n.cfi_restore r10\n"
	"pop %r9\n.cfi_adjust_cfa_offset -8\n.cfi_restore r9\n"
	"pop %r8\n.cfi_adjust_cfa_offset -8\n.cfi_restore r8\n"
	"pop %rdi\n.cfi_adjust_cfa_offset -8\n.cfi_restore rdi\n"
	"pop %rsi\n.cfi_adjust_cfa_offset -8\n.cfi_restore rsi\n"
	"pop %rdx\n.cfi_adjust_cfa_offset -8\n.cfi_restore rdx\n"
	"pop %rcx\n.cfi_adjust_cfa_offset -8\n.cfi_restore rcx\n"
	"pop %rax\n.cfi_adjust_cfa_offset -8\n.cfi_restore rax\n"
	"popfq\n.cfi_adjust_cfa_offset -8\n"
	"lea 8(%rsp), %rsp\n.cfi_adjust_cfa_offset -8\n"
	"ret $128\n"
	".cfi_endproc\n"
	".size vb_bells_enter, . - vb_bells_enter\n");

/* The general registers of a context, by their numbers in instructions. */
static const uint8_t gregs[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
				  REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
				  REG_R12, REG_R13, REG_R14, REG_R15};

#define FAULT_IS_WRITE 2 /* of the error code of a page fault */

/* The bytes that @s stores, 16 at most, to @to. False: they are not in the context. */
static bool store_value(const ucontext_t *u, const struct vb_store *s, uint8_t *to)
{
	switch (s->from) {
	case VB_STORE_IMMEDIATE:
		memcpy(to, &s->imm, sizeof s->imm);
		return true;
	case VB_STORE_REGISTER:
		memcpy(to, &u->uc_mcontext.gregs[gregs[s->reg]], 8);
		return true;
	case VB_STORE_VECTOR:
		if (s->reg >= 16 || !u->uc_mcontext.fpregs)
			return false;
		memcpy(to, &u->uc_mcontext.fpregs->_xmm[s->reg], 16);
		return true;
	}
	return false;
}

/* XCHG: the register has what was in the page. */
static void register_exchange(ucontext_t *u, const struct vb_store *s, const uint8_t *was)
{
	greg_t *r = &u->uc_mcontext.gregs[gregs[s->reg]];

	if (s->bytes != 2)
		*r = 0; /* of 4 bytes the upper half becomes 0 */
	memcpy(r, was, s->bytes);
}

/* Whether a store of @bytes at @at of a page reaches a word that is looked at: none, or one of
 * which the first 16 bytes of the store have all. */
enum reach { REACHES_NONE, REACHES_ONE, REACHES_FURTHER };

static enum reach store_reach(uint32_t at, uint32_t bytes)
{
	enum reach most = REACHES_NONE;

	for (int w = 0; w < VB_BELL_WORDS; w++) {
		uint32_t word = vb_bell_words[w];

		if (at >= word + 8 || word >= at + bytes)
			continue;
		if (word + 8 > at + 16)
			return REACHES_FURTHER;
		most = REACHES_ONE;
	}
	return most;
}

static void value_write(uint8_t *to, const uint8_t *value, uint32_t bytes)
{
	uint64_t word;

	if (bytes == sizeof word && (uintptr_t)to % sizeof word == 0) {
		memcpy(&word, value, sizeof word);
		/* A thread that looks sees all of it, and what the program wrote before. */
		__atomic_store_n((uint64_t *)(void *)to, word, __ATOMIC_RELEASE);
	} else {
		memcpy(to, value, bytes);
	}
}

/* Makes the store of the context @u to @at, a place in the pages. False: this one is not known. */
static bool store_make(const struct vb_bells *all, ucontext_t *u, uintptr_t at)
{
	greg_t *g = u->uc_mcontext.gregs;
	uint32_t page = (uint32_t)(at / VB_BELL_PAGE), place = (uint32_t)(at % VB_BELL_PAGE);
	uint8_t value[16], *to = all->words + at;
	struct vb_store s;
	enum reach reach;
	uint64_t *stack;

	if (!vb_store_read((const uint8_t *)(uintptr_t)g[REG_RIP], &s) ||
	    place + s.bytes > VB_BELL_PAGE || !store_value(u, &s, value))
		return false;
	reach = store_reach(place, s.bytes);
	if (reach == REACHES_FURTHER)
		return false;
	if (s.exchanges)
		register_exchange(u, &s, to);
	value_write(to, value, s.bytes < sizeof value ? s.bytes : sizeof value);
	g[REG_RIP] += s.instruction_bytes;
	if (reach == REACHES_NONE)
		return true;
	stack = (uint64_t *)(uintptr_t)(g[REG_RSP] - RED_ZONE) - 2;
	stack[0] = page;
	stack[1] = (uint64_t)g[REG_RIP];
	g[REG_RSP] = (greg_t)(uintptr_t)stack;
	g[REG_RIP] = (greg_t)(uintptr_t)vb_bells_enter;
	return true;
}

static bool is_write(const ucontext_t *u)
{
	return u->uc_mcontext.gregs[REG_ERR] & FAULT_IS_WRITE;
}

/* XSAVE is there for programs, and there is no shadow stack, which a return that no call belongs to
 * would not go with. */
static bool trap_is_possible(void)
{
	uint32_t a, b, c, d;
	uint64_t shadow = 0;

	__asm__ volatile("rdsspq %0" : "+r"(shadow));
	return !shadow && __get_cpuid(1, &a, &b, &c, &d) && (c & bit_OSXSAVE);
}
#else
/* Instructions are known of x86-64 alone. */
static bool store_make(const struct vb_bells *all, ucontext_t *u, uintptr_t at)
{
	(void)all;
	(void)u;
	(void)at;
	return false;
}

static bool is_write(const ucontext_t *u)
{
	(void)u;
	return false;
}

static bool trap_is_possible(void)
{
	return false;
}
#endif

/* The handler of the guard, for a fault at @at of the pages. True: the thread goes on. */
static bool store_trapped(uintptr_t at, void *context)
{
	struct vb_bells *all = atomic_load_explicit(&trapping, memory_order_acquire);

	if (!all || !is_write(context))
		return false;
	/* Else the protection was lifted after the fault, and the store is made as it is. */
	if (!atomic_load(&all->traps) || store_make(all, context, at))
		return true;
	return trap_end(all);
}

/* Some thread of the program blocks SIGSEGV: a fault there would be its end. */
static void faults_blocked(void)
{
	struct vb_bells *all = atomic_load_explicit(&trapping, memory_order_acquire);

	if (all)
		(void)trap_end(all);
}

bool vb_bells_trap(struct vb_bells *all)
{
	const struct vb_guard_trap trap = {.from = (uintptr_t)all->pages,
					   .size = (size_t)BELLS_MAX * VB_BELL_PAGE,
					   .stored = store_trapped,
					   .blocked = faults_blocked};
	struct vb_bells *none = NULL;

	if (!trap_is_possible() || vb_guard_is_blocked() || vb_guard_open() ||
	    !atomic_compare_exchange_strong(&trapping, &none, all))
		return false;
	atomic_store(&all->traps, true);
	vb_guard_set_trap(&trap);
	if (!pages_protect(all, true) || vb_guard_is_blocked())
		(void)trap_end(all);
	return atomic_load(&all->traps);
}

void vb_bells_trap_close(struct vb_bells *all)
{
	if (atomic_load(&trapping) != all)
		return;
	vb_guard_set_trap(NULL);
	atomic_store(&trapping, NULL);
	atomic_store(&all->traps, false);
}
