/* SPDX-License-Identifier: BSD-2-Clause */
/* Finding the calls that come behind this library, see next.h. */
#include "files/next.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Atomic(vb_next_fn) vb_next_known[VB_NEXT_CNT];

static const char *const call_name[] = {
#define NEXT(name) #name,
#include "files/next.def"
#undef NEXT
};

vb_next_fn vb_next_find(enum vb_next_call call)
{
	void *p = dlsym(RTLD_NEXT, call_name[call]);
	vb_next_fn f;

	/* A program that calls it was linked to a library that has it. */
	if (!p)
		abort();
	memcpy(&f, &p, sizeof f);
	atomic_store_explicit(&vb_next_known[call], f, memory_order_relaxed);
	return f;
}

/* signal-safety(7): dlsym() is no call for a signal handler. */
__attribute__((constructor)) static void find_signal_safe(void)
{
	static const enum vb_next_call safe[] = {
	    VB_NEXT_open,   VB_NEXT_openat,      VB_NEXT_read,       VB_NEXT_write,
	    VB_NEXT_close,  VB_NEXT_dup,         VB_NEXT_dup2,       VB_NEXT_fcntl,
	    VB_NEXT_stat,   VB_NEXT_fstat,       VB_NEXT_access,     VB_NEXT_poll,
	    VB_NEXT_ppoll,  VB_NEXT_select,      VB_NEXT_pselect,    VB_NEXT_socket,
	    VB_NEXT_bind,   VB_NEXT_getsockname, VB_NEXT_setsockopt, VB_NEXT_send,
	    VB_NEXT_sendto, VB_NEXT_sendmsg,     VB_NEXT_recv,       VB_NEXT_recvfrom,
	    VB_NEXT_recvmsg};

	for (size_t i = 0; i < sizeof safe / sizeof safe[0]; i++)
		(void)vb_next(safe[i]);
}
