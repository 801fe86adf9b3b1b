/* SPDX-License-Identifier: BSD-2-Clause */
/* The subnet manager beside a fabric, see manager.h. opensm(8), prctl(2) */
#include "cmd/fabric/manager.h"

#include "cmd/fabric/route_files.h"
#include "wire/mad/smp.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM "opensm"
#define EXIT_NO_PROGRAM 127
#define LOG "opensm.log"
#define LOG_MAX (64u << 20) /* bytes */
#define STEP_MS 50          /* from one look at its log to the next */
#define ERRORS_MAX 5
#define ARGS_MAX 96

/* It is in /usr/sbin, which may be missing in the PATH of a user. */
static void path_extend(void)
{
	const char *path = getenv("PATH");
	char longer[4096];

	if ((size_t)snprintf(longer, sizeof longer, "%s:/usr/sbin:/sbin",
			     path ? path : "/usr/bin") < sizeof longer)
		(void)setenv("PATH", longer, 1);
}

static bool program_is_there(void)
{
	char paths[4096], *save, *path;
	char file[sizeof paths + sizeof PROGRAM + 1];

	snprintf(paths, sizeof paths, "%s", getenv("PATH") ? getenv("PATH") : "");
	for (path = strtok_r(paths, ":", &save); path; path = strtok_r(NULL, ":", &save)) {
		snprintf(file, sizeof file, "%s/" PROGRAM, path);
		if (access(file, X_OK) == 0)
			return true;
	}
	return false;
}

const struct vb_topo_node *vb_manager_choose(const struct vb_topo *topo)
{
	for (uint32_t i = 0; i < topo->node_cnt; i++) {
		const struct vb_topo_node *n = &topo->node[i];

		for (unsigned p = 1; n->type == VB_NODE_CA && p <= n->port_cnt; p++)
			if (n->port[p].peer != VB_TOPO_NO_PEER)
				return n;
	}
	return NULL;
}

bool vb_manager_prepare(struct vb_manager *m, const struct vb_cmd *cmd,
			const struct vb_topo_node *n)
{
	*m = (struct vb_manager){.folder = "/tmp/verbena-opensm.XXXXXX", .alive = {-1, -1}};
	path_extend();
	if (!program_is_there()) {
		vb_cmd_error(cmd,
			     "--sm: " PROGRAM " is not installed; Debian's package is 'opensm'");
		return false;
	}
	if (!n) {
		vb_cmd_error(cmd, "--sm: the fabric has no host with a cable, where " PROGRAM
				  " could be");
		return false;
	}
	if (!mkdtemp(m->folder)) {
		vb_cmd_error(cmd, "'%s': %s", m->folder, strerror(errno));
		return false;
	}
	snprintf(m->node, sizeof m->node, "%s", n->name);
	return true;
}

static void manager_exec(const struct vb_manager *m, const char *name, pid_t fabric,
			 const char *const *more)
{
	char log[sizeof m->folder + 16];
	/* -d 2: each line of its log is there at once, not with the next error. */
	const char *argv[ARGS_MAX + 1] = {"verbena", "run", "--fabric", name, "--node",
					  m->node,   "--",  PROGRAM,    "-e", "-d",
					  "2",       "-f",  log};
	size_t n = 13;
	sigset_t none;

	for (; *more && n < ARGS_MAX; more++)
		argv[n++] = *more;
	/* Without its fabric OpenSM reports errors without end, and SIGTERM does not end that. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != fabric)
		return;
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (m->alive[1] >= 0)
		(void)fcntl(m->alive[1], F_SETFD, 0);
	snprintf(log, sizeof log, "%s/" LOG, m->folder);
	(void)setenv("OSM_TMP_DIR", m->folder, 1);
	(void)setenv("OSM_CACHE_DIR", m->folder, 1);
	int null = open("/dev/null", O_RDWR);

	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
	}
	(void)execv("/proc/self/exe", (char **)(uintptr_t)argv);
}

void vb_manager_start(struct vb_manager *m, const char *name, const char *const *more)
{
	pid_t fabric = getpid(), pid = fork();

	if (pid == 0) {
		manager_exec(m, name, fabric, more);
		_exit(EXIT_NO_PROGRAM);
	}
	m->pid = pid > 0 ? pid : 0;
	if (m->alive[1] >= 0)
		close(m->alive[1]);
	m->alive[1] = -1;
}

char *vb_manager_log(const struct vb_manager *m)
{
	return vb_route_file_read(m->folder, LOG, LOG_MAX);
}

static bool log_says(const struct vb_manager *m, const char *text)
{
	char *log = vb_manager_log(m);
	bool found = log && strstr(log, text);

	free(log);
	return found;
}

int vb_manager_await(const struct vb_manager *m, uint32_t seconds)
{
	struct pollfd end = {.fd = m->alive[0], .events = POLLIN};

	for (uint32_t i = 0; i < seconds * (1000 / STEP_MS); i++) {
		bool has_ended = poll(&end, 1, STEP_MS) > 0;

		if (log_says(m, "SUBNET UP"))
			return 0;
		if (has_ended)
			return -ECHILD;
	}
	return -ETIMEDOUT;
}

void vb_manager_print_errors(const struct vb_manager *m)
{
	char *log = vb_manager_log(m);
	const char *line = log ? log : "";

	for (unsigned shown = 0; *line && shown < ERRORS_MAX;) {
		size_t len = strcspn(line, "\n");
		const char *found = memmem(line, len, "ERR", 3);

		/* The engine says why in a line of its own. */
		if (!found)
			found = memmem(line, len, "] 0x01 -> ", 10);
		if (found && !memmem(line, len, "'no_fallback'", 13)) {
			fprintf(stderr, "  %.*s\n", (int)len, line);
			shown++;
		}
		line += len + (line[len] == '\n');
	}
	free(log);
}

void vb_manager_end(struct vb_manager *m)
{
	DIR *dir;

	/* Nothing answers it any more: it would try again before it ended of its own. */
	if (m->pid) {
		(void)kill(m->pid, SIGKILL);
		(void)waitpid(m->pid, NULL, 0);
		m->pid = 0;
	}
	dir = m->folder[0] ? opendir(m->folder) : NULL;
	if (!dir)
		return;
	for (struct dirent *e = readdir(dir); e; e = readdir(dir))
		if (e->d_name[0] != '.')
			(void)unlinkat(dirfd(dir), e->d_name, 0);
	closedir(dir);
	(void)rmdir(m->folder);
}
