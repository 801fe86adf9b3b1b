/* SPDX-License-Identifier: BSD-2-Clause */
/* Preloaded: the time of day is an hour later than it is. */
#include <dlfcn.h>
#include <time.h>

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *to)
{
	static int (*next)(clockid_t, struct timespec *);
	int rc;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "clock_gettime");
	rc = next(id, to);
	if (rc == 0 && id == CLOCK_REALTIME)
		to->tv_sec += 3600;
	return rc;
}
