/* SPDX-License-Identifier: BSD-2-Clause */
/* Hints to a user when files, memory or threads are short: the reason, and the limit to raise.
 * node/host/error_hints.h, errno(3), getrlimit(2) */
#include "cmocka_env.h"
#include "node/host/error_hints.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

static char why[256];

static void check_hint(int err, const char *remedy)
{
	assert_int_equal(vb_error_hint(why, sizeof why, -err, "cannot open %s %d", "it", 7), -err);
	assert_ptr_equal(strstr(why, "cannot open it 7: "), why);
	assert_non_null(strstr(why, strerror(err)));
	if (remedy)
		assert_non_null(strstr(why, remedy));
	else
		assert_null(strchr(why, ';'));
}

/* Checks the hint for @err with the soft limit @cur of @resource. */
static void check_limited(int err, int resource, rlim_t cur, const char *remedy)
{
	struct rlimit was, now;

	assert_int_equal(getrlimit(resource, &was), 0);
	now = was;
	now.rlim_cur = cur;
	assert_int_equal(setrlimit(resource, &now), 0);
	check_hint(err, remedy);
	assert_int_equal(setrlimit(resource, &was), 0);
}

/* The hint names the soft limit, or the hard limit once that is reached. */
static void files__by_the_limit_that_holds(void **state)
{
	static const int errs[] = {EMFILE, ETOOMANYREFS};
	struct rlimit files;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	for (int i = 0; i < 2; i++) {
		check_limited(errs[i], RLIMIT_NOFILE, files.rlim_max - 1, "('ulimit -n')");
		check_limited(errs[i], RLIMIT_NOFILE, files.rlim_max, "('ulimit -Hn')");
	}
	check_hint(ENFILE, "fs.file-max");
}

static void memory__by_the_limit_there_is(void **state)
{
	const rlim_t much = (rlim_t)1 << 46;

	(void)state;
	check_limited(ENOMEM, RLIMIT_AS, much, "('ulimit -v')");
	check_limited(ENOMEM, RLIMIT_DATA, much, "('ulimit -d')");
}

static void memory__without_a_limit(void **state)
{
	struct rlimit as, data;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_AS, &as), 0);
	assert_int_equal(getrlimit(RLIMIT_DATA, &data), 0);
	if (as.rlim_cur != RLIM_INFINITY || data.rlim_cur != RLIM_INFINITY)
		skip(); /* the hint would name that limit */
	check_hint(ENOMEM, "end some programs of this host or give it more memory");
}

/* No man page of the verbs has EAGAIN, which means here that there is no thread left. */
static void threads__are_memory_to_the_program(void **state)
{
	(void)state;
	assert_int_equal(vb_error_hint(why, sizeof why, -EAGAIN, "no thread"), -ENOMEM);
	assert_non_null(strstr(why, strerror(EAGAIN)));
	assert_non_null(strstr(why, "('ulimit -u')"));
}

static void others__are_told_as_they_are(void **state)
{
	(void)state;
	check_hint(EACCES, NULL);
	check_hint(EPROTO, NULL);
}

/* A text that does not fit is cut where the room ends. */
static void text__longer_than_its_room(void **state)
{
	char little[16];

	(void)state;
	for (size_t size = 1; size < sizeof little; size++) {
		memset(little, '#', sizeof little);
		assert_int_equal(vb_error_hint(little, size, -EACCES, "0123456"), -EACCES);
		assert_int_equal(strlen(little), size - 1);
		assert_memory_equal(little, "0123456: Permission", size - 1);
		assert_int_equal(little[size], '#');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(files__by_the_limit_that_holds),
	    cmocka_unit_test(memory__by_the_limit_there_is),
	    cmocka_unit_test(memory__without_a_limit),
	    cmocka_unit_test(threads__are_memory_to_the_program),
	    cmocka_unit_test(others__are_told_as_they_are),
	    cmocka_unit_test(text__longer_than_its_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
