/* SPDX-License-Identifier: BSD-2-Clause */
/* Who has an abstract name: the whole name, and of sockets that connections come to. unix(7) */
#include "cmocka_env.h"
#include "node/host/name_owner.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static socklen_t name_of(struct sockaddr_un *a, const char *more)
{
	int n;

	*a = (struct sockaddr_un){.sun_family = AF_UNIX};
	n = snprintf(a->sun_path + 1, sizeof a->sun_path - 1, "verbena-test-%d%s", (int)getpid(),
		     more);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static void owner__of_the_whole_name(void **state)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	unsigned uid = geteuid() + 1;
	struct sockaddr_un a;
	socklen_t len = name_of(&a, "/1");

	(void)state;
	assert_int_equal(bind(fd, (struct sockaddr *)&a, len), 0);
	assert_int_equal(vb_name_owner(&a, len, &uid), 0);
	assert_int_equal(uid, geteuid());
	/* One that is longer, and one that is shorter. */
	len = name_of(&a, "/17");
	assert_int_equal(vb_name_owner(&a, len, &uid), -ENOENT);
	len = name_of(&a, "");
	assert_int_equal(vb_name_owner(&a, len, &uid), -ENOENT);
	/* Another name as long. */
	len = name_of(&a, "/2");
	assert_int_equal(vb_name_owner(&a, len, &uid), -ENOENT);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(owner__of_the_whole_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
