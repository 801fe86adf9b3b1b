/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines for the user, see error_hints.h. errno(3), getrlimit(2) */
#include "node/host/error_hints.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static bool is_limited(int resource)
{
	struct rlimit lim;

	return !getrlimit(resource, &lim) && lim.rlim_cur != RLIM_INFINITY;
}

/* Up to the hard limit the user raises it alone. */
static bool is_raisable(int resource)
{
	struct rlimit lim;

	return !getrlimit(resource, &lim) && lim.rlim_cur < lim.rlim_max;
}

static const char *remedy_of(int err)
{
	switch (err) {
	case EMFILE:
	case ETOOMANYREFS: /* on their way to others, unix(7) */
		return is_raisable(RLIMIT_NOFILE)
			   ? "; raise the limit of open files ('ulimit -n')"
			   : "; raise the hard limit of open files ('ulimit -Hn')";
	case ENFILE:
		return "; end some programs of this host or raise the sysctl fs.file-max";
	case ENOMEM:
		if (is_limited(RLIMIT_AS))
			return "; raise the limit of memory ('ulimit -v')";
		if (is_limited(RLIMIT_DATA))
			return "; raise the limit of memory ('ulimit -d')";
		return "; end some programs of this host or give it more memory";
	case EAGAIN:
		return "; there are too many threads: end some programs or raise the limit "
		       "('ulimit -u')";
	default:
		return "";
	}
}

int vb_error_hint(char *why, size_t why_size, int rc, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int n = vsnprintf(why, why_size, format, args);
	va_end(args);
	if (n >= 0 && (size_t)n < why_size)
		snprintf(why + n, why_size - (size_t)n, ": %s%s", strerror(-rc), remedy_of(-rc));
	return rc == -EAGAIN ? -ENOMEM : rc;
}
