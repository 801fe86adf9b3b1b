/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls that fail, in a child of the test's: a filter cannot be taken back. seccomp(2) */
#ifndef VB_TESTS_UNIT_DENY_H
#define VB_TESTS_UNIT_DENY_H

#include "cmocka_env.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The call @nr fails with @err where argument @arg has one of the bits @mask. False: this kernel
 * has no filters. */
static inline bool deny_call(int nr, unsigned arg, uint32_t mask, int err)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 3),
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		     (uint32_t)(offsetof(struct seccomp_data, args) + 8 * arg)),
	    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, mask, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)err),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {sizeof code / sizeof code[0], code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0;
}

/* The status that a child has returned; 77: it could not be tried. */
static inline int child_status(pid_t pid)
{
	int status;

	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

#endif
