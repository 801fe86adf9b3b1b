/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The same call of whoever comes behind this library: another preloaded one, or the C library. A
 * program may call before any constructor has run, so each is looked up when it is first needed;
 * the constructor looks up those that signal handlers may call. dlsym(3)
 */
#ifndef VB_FILES_NEXT_H
#define VB_FILES_NEXT_H

#include <stdatomic.h>

typedef void (*vb_next_fn)(void);

enum vb_next_call {
#define NEXT(name) VB_NEXT_##name,
#include "files/next.def"
#undef NEXT
	VB_NEXT_CNT
};

extern _Atomic(vb_next_fn) vb_next_known[VB_NEXT_CNT];

vb_next_fn vb_next_find(enum vb_next_call call);

static inline vb_next_fn vb_next(enum vb_next_call call)
{
	vb_next_fn f = atomic_load_explicit(&vb_next_known[call], memory_order_relaxed);

	return f ? f : vb_next_find(call);
}

/* The next @name, with the type that its declaration has. */
#define VB_NEXT(name) ((__typeof__(&(name)))vb_next(VB_NEXT_##name))

#endif
