/* SPDX-License-Identifier: BSD-2-Clause */
/* The ranks of `verbena sim --ranks`, by the library that knows MPI. See scenario/cores/ranks.h. */
#include "cmd/run/library.h"
#include "cmd/sim/sim.h"
#include "scenario/cores/mpi.h"
#include "sim/parts.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#define LIBRARY "libverbena.d/verbena-mpi.so"

/* Beside libverbena.so. */
static void library_path(char *path, size_t size)
{
	char library[PATH_MAX];
	char *slash;

	(void)vb_library_path(library, sizeof library);
	slash = strrchr(library, '/');
	if (slash)
		*slash = 0;
	if ((size_t)snprintf(path, size, "%s/" LIBRARY, library) >= size)
		path[0] = 0;
}

int vb_sim_ranks_open(const struct vb_cmd *cmd, struct vb_sim_ranks *r)
{
	int (*open)(struct vb_rank_link * link);
	char path[2 * PATH_MAX];
	int err;

	library_path(path, sizeof path);
	/* MPI loads parts of itself, which look for its names. */
	r->library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (!r->library) {
		vb_cmd_error(cmd,
			     "--ranks needs %s, which is built where there are MPI's headers "
			     "(libopenmpi-dev): %s",
			     LIBRARY, dlerror());
		return 1;
	}
	*(void **)&open = dlsym(r->library, VB_MPI_OPEN);
	*(void **)&r->close = dlsym(r->library, VB_MPI_CLOSE);
	err = open && r->close ? open(&r->link) : -ENOSYS;
	if (!err)
		return 0;
	vb_cmd_error(cmd, "MPI cannot begin: %s", strerror(-err));
	return 1;
}

int vb_sim_ranks_check(const struct vb_cmd *cmd, const struct vb_sim_ranks *r,
		       const struct vb_scenario_run *run)
{
	if (r->link.cnt <= 1 || vb_sim_part_cnt(run->sim) == r->link.cnt)
		return 0;
	vb_cmd_error(cmd, "the network can be cut into %u parts, and there are %u ranks: start %u",
		     vb_sim_part_cnt(run->sim), r->link.cnt, vb_sim_part_cnt(run->sim));
	return 1;
}

int vb_sim_ranks_run(const struct vb_cmd *cmd, const struct vb_sim_ranks *r,
		     const struct vb_scenario_run *run, vb_time until,
		     const struct vb_team_watch *watch)
{
	int err = vb_ranks_run(run->sim, run->load, until, &r->link, &run->memory,
			       r->link.rank == 0 ? watch : NULL);

	if (err == -ENOTSUP)
		vb_cmd_error(cmd, "links that go down or up keep a run in one process: leave "
				  "--ranks out");
	else if (err == -EPROTO)
		vb_cmd_error(cmd, "the ranks have other scenarios, or are other programs");
	else if (err && err != -ENOMEM)
		vb_cmd_error(cmd, "the ranks cannot exchange: %s", strerror(-err));
	return err;
}

void vb_sim_ranks_close(struct vb_sim_ranks *r, int status)
{
	if (r->close)
		r->close(status);
	r->close = NULL;
}
