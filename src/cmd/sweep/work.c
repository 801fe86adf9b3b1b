/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shares of the ranks: rank r of n takes r, r + n, r + 2n ... and runs each in a process of its
 * own, a few at a time; rank 0 waits for the others' results to be in the folder. See sweep.h.
 */
#include "cmd/sweep/sweep.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WAIT_NS 100000000L

struct crew {
	struct vb_sweep *s;
	pid_t *pid; /* of each running point; 0: free */
	uint32_t *point;
	uint32_t running, failed, done, todo;
	time_t start;
};

static volatile sig_atomic_t stopped; /* by this signal */

static void on_signal(int signo)
{
	stopped = signo;
}

static void catch_signals(void (*handler)(int))
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction sa = {.sa_handler = handler};

	for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
		sigaction(signals[i], &sa, NULL);
}

static int write_reason(FILE *f, const struct vb_sweep *s, const void *what)
{
	fprintf(f, "%s\n%s\n", s->run_id, (const char *)what);
	return ferror(f) ? -EIO : 0;
}

/* In the child. A reason is kept for the rank that waits for all. */
_Noreturn static void run_point(const struct vb_sweep *s, uint32_t i, pid_t parent)
{
	struct vb_scenario_override with[VB_SWEEP_COLUMNS_MAX];
	char why[1024], name[40];
	uint32_t n = vb_sweep_overrides(s, i, with);

	catch_signals(SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	if (vb_sweep_run(s, i, why, sizeof why) == 0)
		_exit(0);
	flockfile(stderr);
	fprintf(stderr, "verbena %s: point %u", s->cmd->name, i);
	for (uint32_t k = 0; k < n; k++)
		fprintf(stderr, "%s%s=%s", k ? ", " : " (", with[k].path, with[k].value);
	fprintf(stderr, "%s: %s\n", n ? ")" : "", why);
	funlockfile(stderr);
	snprintf(name, sizeof name, "points/%06u.failed", i);
	(void)vb_sweep_store(s, name, write_reason, why);
	_exit(1);
}

static void show_progress(const struct crew *c, bool end)
{
	time_t spent = time(NULL) - c->start;

	if (c->s->quiet || !isatty(STDERR_FILENO))
		return;
	if (end)
		fprintf(stderr, "\r%60s\r", "");
	else
		fprintf(stderr, "\r%u of %u points, %u running, %ld s left ", c->done, c->todo,
			c->running,
			c->done ? (long)spent * (long)(c->todo - c->done) / (long)c->done : 0L);
	fflush(stderr);
}

static bool start_worker(struct crew *c, uint32_t i)
{
	pid_t parent = getpid(), pid;
	uint32_t k = 0;

	fflush(NULL);
	pid = fork();
	if (pid == 0)
		run_point(c->s, i, parent);
	if (pid < 0) {
		vb_cmd_error(c->s->cmd, "no more processes: %s; try a smaller --jobs",
			     strerror(errno));
		c->failed++;
		return false;
	}
	while (c->pid[k])
		k++;
	c->pid[k] = pid;
	c->point[k] = i;
	c->running++;
	return true;
}

/* Waits for one of them. */
static void reap_worker(struct crew *c)
{
	int status;
	pid_t pid = wait(&status);

	if (pid < 0)
		return;
	for (uint32_t k = 0; k < c->s->jobs; k++) {
		if (c->pid[k] != pid)
			continue;
		c->pid[k] = 0;
		c->running--;
		c->done++;
		if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
			return;
		c->failed++;
		if (WIFSIGNALED(status) && !stopped)
			vb_cmd_error(c->s->cmd, "point %u was ended by signal %d", c->point[k],
				     WTERMSIG(status));
	}
}

/* True when this run's owner of point @i has given it up. */
static bool gave_up(const struct vb_sweep *s, uint32_t i)
{
	char path[4096], id[256] = "";
	FILE *f;
	bool is;

	vb_sweep_name(s, i, "failed", path, sizeof path);
	f = fopen(path, "r");
	if (!f)
		return false;
	is = fgets(id, sizeof id, f) != NULL;
	fclose(f);
	id[strcspn(id, "\n")] = '\0';
	return is && strcmp(id, s->run_id) == 0;
}

/* The first rank makes the table when everyone's points are there. */
static void await_others(struct crew *c)
{
	const struct timespec nap = {.tv_nsec = WAIT_NS};
	struct vb_sweep *s = c->s;

	for (uint32_t i = 0; i < s->point_cnt && !stopped; i++) {
		if (i % s->ranks == s->rank)
			continue;
		while (!stopped && !vb_sweep_has(s, i) && !gave_up(s, i))
			nanosleep(&nap, NULL);
		c->failed += !vb_sweep_has(s, i);
	}
}

_Noreturn static void stop(struct crew *c)
{
	uint32_t have = 0;
	int signo = stopped;

	for (uint32_t k = 0; k < c->s->jobs; k++)
		if (c->pid[k])
			kill(c->pid[k], SIGTERM);
	while (c->running)
		reap_worker(c);
	for (uint32_t i = 0; i < c->s->point_cnt; i++)
		have += vb_sweep_has(c->s, i);
	show_progress(c, true);
	if (c->s->rank == 0)
		vb_cmd_error(c->s->cmd,
			     "stopped; %s has %u of %u points, and the same command "
			     "runs the others",
			     c->s->dir, have, c->s->point_cnt);
	catch_signals(SIG_DFL);
	raise(signo);
	_exit(1);
}

static void run_missing(struct crew *c)
{
	struct vb_sweep *s = c->s;

	for (uint32_t i = s->rank; i < s->point_cnt && !stopped; i += s->ranks) {
		if (vb_sweep_has(s, i))
			continue;
		while (c->running == s->jobs && !stopped) {
			reap_worker(c);
			show_progress(c, false);
		}
		if (stopped || !start_worker(c, i))
			break;
	}
	while (c->running && !stopped) {
		reap_worker(c);
		show_progress(c, false);
	}
}

/* Removes files that a killed worker was writing. Nobody writes once every point is there. */
static void remove_leftovers(const struct vb_sweep *s)
{
	char path[4096];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof path, "%s/points", s->dir);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		size_t len = strlen(e->d_name);

		if (len > 4 && strcmp(e->d_name + len - 4, ".tmp") == 0)
			unlinkat(dirfd(d), e->d_name, 0);
	}
	if (d)
		closedir(d);
}

int vb_sweep_work(struct vb_sweep *s)
{
	struct crew c = {.s = s, .start = time(NULL)};
	char path[4096];

	c.pid = calloc(s->jobs, sizeof *c.pid);
	c.point = calloc(s->jobs, sizeof *c.point);
	if (!c.pid || !c.point) {
		vb_cmd_error(s->cmd, "no memory");
		free(c.pid);
		free(c.point);
		return 1;
	}
	for (uint32_t i = s->rank; i < s->point_cnt; i += s->ranks) {
		vb_sweep_name(s, i, "failed", path, sizeof path);
		unlink(path);
		c.todo += !vb_sweep_has(s, i);
	}
	if (s->rank == 0 && c.todo < s->point_cnt && s->ranks == 1 && !s->quiet)
		fprintf(stderr, "verbena %s: %u of %u points are there already\n", s->cmd->name,
			s->point_cnt - c.todo, s->point_cnt);
	catch_signals(on_signal);
	run_missing(&c);
	if (!stopped && s->rank == 0)
		await_others(&c);
	if (stopped)
		stop(&c);
	show_progress(&c, true);
	catch_signals(SIG_DFL);
	free(c.pid);
	free(c.point);
	if (!c.failed && s->rank == 0)
		remove_leftovers(s);
	if (c.failed && s->rank == 0)
		vb_cmd_error(s->cmd, "%u of %u points failed; the same command tries them again",
			     c.failed, s->point_cnt);
	return c.failed ? 1 : 0;
}
