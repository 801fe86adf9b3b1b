/* SPDX-License-Identifier: BSD-2-Clause */
/* The advice that the user gets when something has run out. */
#include "cmocka_env.h"
#include "node/host/error_hints.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>

static char line[256];

static void assert_line(int rc, int want, const char *part)
{
	assert_int_equal(vb_error_hint(line, sizeof line, rc, "cannot set up %s", "it"), want);
	assert_ptr_equal(strstr(line, "cannot set up it: "), line);
	assert_non_null(strstr(line, part));
}

static void why__has_a_remedy(void **state)
{
	(void)state;
	assert_line(-EMFILE, -EMFILE, "ulimit -");
	assert_line(-ETOOMANYREFS, -ETOOMANYREFS, "ulimit -");
	assert_line(-ENFILE, -ENFILE, "fs.file-max");
	assert_line(-EAGAIN, -ENOMEM,
		    "threads: end some programs or raise the limit ('ulimit -u')");
	assert_line(-EACCES, -EACCES, strerror(EACCES));
	assert_null(strchr(line, ';'));
}

/* False: a hard limit is in the way. */
static bool unlimit(int resource)
{
	struct rlimit lim;

	assert_int_equal(getrlimit(resource, &lim), 0);
	lim.rlim_cur = lim.rlim_max;
	assert_int_equal(setrlimit(resource, &lim), 0);
	return lim.rlim_max == RLIM_INFINITY;
}

/* Only the limit that holds is named, and the soft one only if raising it is enough. */
static void why__names_the_limit(void **state)
{
	struct rlimit files, memory, data;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	assert_int_equal(getrlimit(RLIMIT_AS, &memory), 0);
	assert_int_equal(getrlimit(RLIMIT_DATA, &data), 0);

	struct rlimit low = {files.rlim_max - 1, files.rlim_max};
	struct rlimit some = {memory.rlim_max - 1, memory.rlim_max};

	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	assert_line(-EMFILE, -EMFILE, "'ulimit -n'");
	low.rlim_cur = low.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	assert_line(-EMFILE, -EMFILE, "'ulimit -Hn'");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);

	if (unlimit(RLIMIT_DATA) && unlimit(RLIMIT_AS))
		assert_line(-ENOMEM, -ENOMEM, "end some programs of this host");
	assert_int_equal(setrlimit(RLIMIT_AS, &some), 0);
	assert_line(-ENOMEM, -ENOMEM, "'ulimit -v'");
	assert_int_equal(setrlimit(RLIMIT_AS, &memory), 0);
	assert_int_equal(setrlimit(RLIMIT_DATA, &data), 0);
}

static void why__stays_within(void **state)
{
	char few[8] = "", guard[8];

	(void)state;
	memset(guard, 'x', sizeof guard);
	memcpy(few, guard, sizeof few);
	assert_int_equal(vb_error_hint(few, 4, -EMFILE, "cannot"), -EMFILE);
	assert_string_equal(few, "can");
	assert_memory_equal(few + 4, guard, 4);
	assert_int_equal(vb_error_hint(few, sizeof few, -EMFILE, "cannot"), -EMFILE);
	assert_string_equal(few, "cannot:");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(why__has_a_remedy),
	    cmocka_unit_test(why__names_the_limit),
	    cmocka_unit_test(why__stays_within),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
