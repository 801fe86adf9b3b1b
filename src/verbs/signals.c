/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls by which a program sets what SIGSEGV and SIGBUS do: they come here first, so that the
 * guard of registered memory stays in front of the program's handlers and the program sees its own.
 * See link/guard.h. A system call that goes around them replaces the guard's handler until the next
 * registration; Go's runtime makes one, and passes faults in C code to the handler before it.
 */
#include "link/guard.h"
#include "verbs/priv.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

typedef void (*handler_fn)(int);

/* signal.h does not declare this one. */
handler_fn bsd_signal(int sig, handler_fn handler);

void vb_ibv_guard_memory(void)
{
	(void)vb_guard_open();
}

int sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	return vb_guard_sigaction(sig, act, old);
}

typedef int (*mask_fn)(int, const sigset_t *, sigset_t *);

/* The call @name of the program: signals that it blocks are noted. */
static int set_mask(const char *name, _Atomic(mask_fn) *known, int how, const sigset_t *set,
		    sigset_t *old)
{
	mask_fn f = atomic_load_explicit(known, memory_order_relaxed);

	if (!f) {
		void *p = dlsym(RTLD_NEXT, name);

		memcpy(&f, &p, sizeof f);
		atomic_store_explicit(known, f, memory_order_relaxed);
	}
	if (set && how != SIG_UNBLOCK)
		vb_guard_note_blocked(set);
	return f(how, set, old);
}

int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	static _Atomic(mask_fn) known;

	return set_mask("pthread_sigmask", &known, how, set, old);
}

int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	static _Atomic(mask_fn) known;

	return set_mask("sigprocmask", &known, how, set, old);
}

typedef handler_fn (*signal_fn)(int, handler_fn);

/* The same call of whoever comes behind this library. */
static signal_fn next_signal(_Atomic(signal_fn) *known, const char *name)
{
	signal_fn f = atomic_load_explicit(known, memory_order_relaxed);

	if (!f) {
		void *p = dlsym(RTLD_NEXT, name);

		memcpy(&f, &p, sizeof f);
		atomic_store_explicit(known, f, memory_order_relaxed);
	}
	return f;
}

static handler_fn set_handler(int sig, handler_fn handler, int flags, signal_fn next)
{
	struct sigaction act = {.sa_handler = handler, .sa_flags = flags}, old;

	if (sig != SIGSEGV && sig != SIGBUS && next)
		return next(sig, handler);
	if (handler == SIG_ERR) {
		errno = EINVAL;
		return SIG_ERR;
	}
	sigemptyset(&act.sa_mask);
	return vb_guard_sigaction(sig, &act, &old) ? SIG_ERR : old.sa_handler;
}

/* signal(2): as BSD has it, system calls go on after the handler. */
handler_fn signal(int sig, handler_fn handler)
{
	static _Atomic(signal_fn) known;

	return set_handler(sig, handler, SA_RESTART, next_signal(&known, "signal"));
}

handler_fn bsd_signal(int sig, handler_fn handler)
{
	static _Atomic(signal_fn) known;

	return set_handler(sig, handler, SA_RESTART, next_signal(&known, "bsd_signal"));
}

/* Once only, not blocked meanwhile. */
handler_fn sysv_signal(int sig, handler_fn handler)
{
	static _Atomic(signal_fn) known;

	return set_handler(sig, handler, (int)SA_RESETHAND | SA_NODEFER,
			   next_signal(&known, "sysv_signal"));
}

handler_fn __sysv_signal(int sig, handler_fn handler)
{
	static _Atomic(signal_fn) known;

	return set_handler(sig, handler, (int)SA_RESETHAND | SA_NODEFER,
			   next_signal(&known, "__sysv_signal"));
}
