/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process that keeps an adapter which no program uses: it works on what an earlier process has
 * left in a descriptor store, and ends where that is not to be kept or not of this version.
 */
#include "cmocka_env.h"
#include "link/memory.h"
#include "node/shared/shm.h"
#include "node/store/fd_store.h"
#include "node/store/keeper.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define STORE_FD 3

/* The exit status of a keeper whose store has host memory of @version; 0: it has none. */
static int keeper_status(uint32_t version)
{
	int store = vb_fd_store_create(), status;
	struct vb_fds fds = {.cnt = 1};
	struct vb_host_memory *m;
	void *p;
	pid_t pid;

	assert_true(store >= 0);
	fds.fd[0] = vb_memory_create(VB_MEMORY_HOST, sizeof *m);
	assert_true(fds.fd[0] >= 0);
	assert_int_equal(vb_memory_map(fds.fd[0], sizeof *m, true, &p), 0);
	m = p;
	m->host.version = version;
	if (version)
		assert_int_equal(vb_fd_store_put(store, VB_FD_STORE_HOST, 0, &fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (store != STORE_FD && dup2(store, STORE_FD) < 0)
			_exit(99);
		_exit(vb_keeper_main());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	vb_memory_unmap(m, sizeof *m);
	vb_fds_close(&fds);
	close(store);
	return WEXITSTATUS(status);
}

static void keeper__of_what_is_not_kept(void **state)
{
	(void)state;
	assert_int_equal(keeper_status(VB_SHM_VERSION), 0);
}

static void keeper__of_another_version(void **state)
{
	(void)state;
	assert_int_equal(keeper_status(VB_SHM_VERSION + 1), 2);
	assert_int_equal(keeper_status(VB_SHM_VERSION - 1), 2);
	assert_int_equal(keeper_status(0), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(keeper__of_what_is_not_kept),
	    cmocka_unit_test(keeper__of_another_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
