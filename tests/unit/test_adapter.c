/* SPDX-License-Identifier: BSD-2-Clause */
/* The adapter's own state: a reader sees the whole of a change or nothing of it. */
#include "node/shared/adapter.h"

#include "cmocka_env.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static struct vb_adapter_shm shm;

static void init__as_from_the_factory(void **state)
{
	(void)state;
	vb_adapter_init(&shm);
	assert_int_equal(vb_adapter_state(&shm)->is_kept, 0);
	assert_int_equal(vb_adapter_state(&shm)->vf_cnt, 0);
	for (int i = 0; i < VB_HCA_PORTS_MAX; i++)
		assert_memory_equal(&vb_adapter_state(&shm)->pf[i].reg.recovery,
				    &vb_recovery_default, sizeof vb_recovery_default);
}

/* A broker that is killed while it writes has touched only the copy that does not count. */
static void commit__cut_short(void **state)
{
	struct vb_adapter_state *next = calloc(1, sizeof *next);
	uint32_t dscp = 0;
	size_t at = offsetof(struct vb_adapter_state, vf_cnt);

	(void)state;
	assert_non_null(next);
	vb_adapter_init(&shm);
	for (uint32_t n = 1; n < 10; n++) {
		next->vf_cnt = n;
		vb_adapter_commit(&shm, next);
		memset(&shm.state[(shm.generation + 1) & 1], 0xa5, sizeof shm.state[0]);
		assert_int_equal(vb_adapter_read(&shm, at, sizeof dscp, &dscp), n);
		assert_int_equal(dscp, n);
	}
	free(next);
}

/* Another process writes, as the broker does. */
static void write_on(struct vb_adapter_shm *a)
{
	struct vb_adapter_state *next = calloc(1, sizeof *next);

	for (uint32_t n = 1; next && n <= 20000; n++) {
		memset(next, (int)(n & 0xff), sizeof *next);
		vb_adapter_commit(a, next);
	}
	_exit(next ? 0 : 1);
}

static void read__while_it_changes(void **state)
{
	static uint8_t part[4096];
	struct vb_adapter_shm *a =
	    mmap(NULL, sizeof *a, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = 0;

	(void)state;
	assert_true(a != MAP_FAILED);

	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		write_on(a);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		vb_adapter_read(a, 0, sizeof part, part);
		for (size_t i = 1; i < sizeof part; i++)
			if (part[i] != part[0])
				fail_msg("half a change: %d and %d", part[0], part[i]);
	}
	assert_int_equal(status, 0);
	assert_int_equal(a->generation, 20000);
	munmap(a, sizeof *a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(init__as_from_the_factory),
	    cmocka_unit_test(commit__cut_short),
	    cmocka_unit_test(read__while_it_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
