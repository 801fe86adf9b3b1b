/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Access to memory that a program registered and may have unmapped, made read-only or cut off
 * since. An adapter with pinned pages gives a completion error then; a program that copies gets
 * SIGSEGV or SIGBUS. So what touches such memory runs under a guard: a fault there ends the guarded
 * call with an error and nothing else.
 *
 * The two signals stay the program's. Its actions are kept here, shown when it asks, and carried
 * out for every fault that is not ours, with its mask, its stack and its flags; see
 * verbs/signals.c.
 */
#ifndef VB_LINK_GUARD_H
#define VB_LINK_GUARD_H

#include "wire/packet.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Puts the handler of SIGSEGV and SIGBUS in front of the program's, unless it is there. Until then
 * guarded calls work and faults in them are as fatal as others. 0 or a negative errno.
 */
int vb_guard_open(void);

/*
 * Runs @f(@arg): 0, or -EFAULT when it touched memory that is not there; then it has ended there.
 * It takes no lock, allocates nothing and calls no vb_guard_run(). Needs a thread that does not
 * block the two signals.
 */
int vb_guard_run(void (*f)(void *arg), void *arg);

/* Copies the payload of @tx to @to, one run behind the other: 0 or -EFAULT. */
int vb_guard_copy_payload(uint8_t *to, const struct vb_tx *tx);

/*
 * Stores of the program to [from, from + size), which is protected against writing, come to
 * @stored: in the handler, with the place from @from on and the ucontext_t, which it may change.
 * True: the thread goes on there. @blocked is called when a thread of the program is going to block
 * SIGSEGV, since the kernel ends a process whose fault it cannot tell. NULL: none any more. One at
 * a time.
 */
struct vb_guard_trap {
	uintptr_t from;
	size_t size;
	bool (*stored)(uintptr_t at, void *context);
	void (*blocked)(void);
};
void vb_guard_set_trap(const struct vb_guard_trap *t);
/* The program blocks @set, in a thread or while a handler runs. */
void vb_guard_note_blocked(const sigset_t *set);
/* Some thread may block SIGSEGV: the program has asked for that, or began with it. */
bool vb_guard_is_blocked(void);

/* sigaction(2) as the program means it. */
int vb_guard_sigaction(int sig, const struct sigaction *act, struct sigaction *old);

#endif
