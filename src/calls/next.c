/* SPDX-License-Identifier: BSD-2-Clause */
/* The verbs and operations behind this library, see next.h and context.h. */
#include "calls/next.h"

#include "calls/context.h"

#include <dlfcn.h>
#include <pthread.h>

struct vb_next_ops vb_next_ops;

static struct vb_next_verbs verbs;

static void find_verbs(void)
{
#define FIND(name) *(void **)&verbs.name = dlsym(RTLD_NEXT, #name);
	VB_NEXT_VERBS(FIND)
#undef FIND
}

const struct vb_next_verbs *vb_next_verbs(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_verbs);
	return &verbs;
}
