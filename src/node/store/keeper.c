/* SPDX-License-Identifier: BSD-2-Clause */
/* The keeper, see keeper.h. Relies on client/client.c for finding or starting the next broker. */
#include "node/store/keeper.h"

#include "link/memory.h"
#include "node/broker/broker.h"
#include "node/client/spawn.h"
#include "node/host/clock.h"
#include "node/shared/adapter.h"
#include "node/store/fd_store.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STORE_FD 3
/* Before the next broker is looked for. */
#define PAUSE_MS 20
#define PAUSE_MS_MAX 1000

int vb_keeper_start(int fd_store)
{
	char path[PATH_MAX], name[] = "verbena", command[] = "broker", option[] = "--keeper";
	char *argv[] = {name, command, option, NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, child;
	pid_t pid;
	int rc = vb_verbena_path(path, sizeof path);

	if (rc)
		return rc;
	sigemptyset(&none);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, fd_store, STORE_FD);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
					    POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &child);
	rc = -posix_spawn(&pid, path, &files, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	return rc;
}

/* Finds host memory in the descriptor store, and maps it. */
static int find_host(void *ctx, const struct vb_fd_store_item *item, struct vb_fds *fds)
{
	struct vb_host_memory **memory = ctx;
	void *p;
	int rc = 0;

	if (item->kind == VB_FD_STORE_HOST && fds->cnt == 1 && !*memory) {
		rc = vb_memory_map(fds->fd[0], sizeof **memory, false, &p);
		if (!rc)
			*memory = p;
	}
	vb_fds_close(fds);
	return rc;
}

static bool is_kept(const struct vb_host_memory *memory)
{
	uint32_t kept;

	(void)vb_adapter_read(&memory->adapter, offsetof(struct vb_adapter_state, is_kept),
			      sizeof kept, &kept);
	return kept;
}

static void await_news(int sock)
{
	struct pollfd p = {.fd = sock, .events = POLLIN};

	(void)poll(&p, 1, -1);
}

int vb_keeper_main(void)
{
	struct vb_broker_client c = {
	    .sock = -1, .rx_fd = -1, .fd_store = STORE_FD, .slot = VB_KEEPER_SLOT};
	struct vb_host_memory *memory = NULL;
	int pause_ms = PAUSE_MS;

	if (vb_fd_store_walk(STORE_FD, find_host, &memory) || !memory ||
	    memory->host.version != VB_SHM_VERSION)
		return 2;
	if (syscall(SYS_close_range, STORE_FD + 1u, ~0u, 0u))
		for (int fd = STORE_FD + 1; fd < 4096; fd++)
			close(fd);
	(void)prctl(PR_SET_NAME, "verbena-keeper");
	while (is_kept(memory)) {
		vb_time before = vb_clock_now();

		c.retry_ns = 0;
		(void)vb_broker_check(&c);
		if (c.sock >= 0)
			await_news(c.sock);
		/* A process that is killed may close its connections before its address; and one
		 * that ends again and again is not to be started all the time. */
		if (vb_clock_now() - before >= PAUSE_MS_MAX * VB_MSEC)
			pause_ms = PAUSE_MS;
		(void)poll(NULL, 0, pause_ms);
		pause_ms = pause_ms * 2 < PAUSE_MS_MAX ? pause_ms * 2 : PAUSE_MS_MAX;
	}
	return 0;
}
