/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Routes from OpenSM, see route.h. A fabric of its own runs in a child; OpenSM brings it up, with
 * the engine that was asked for and no other one, and leaves its tables in its folder. It does not
 * write down the service levels of paths: its subnet administrator is asked for them. opensm(8),
 * saquery(8), ibdmchk(1)
 */
#include "cmd/fabric/route.h"

#include "cmd/fabric/manager.h"
#include "cmd/fabric/route_files.h"
#include "cmd/fabric/route_groups.h"
#include "node/subnet/client.h"
#include "node/subnet/daemon.h"
#include "wire/mad/smp.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EXIT_FAILED 1
#define WAIT_S 600      /* for OpenSM */
#define WAIT_STEP_MS 20 /* from one look at its log to the next */
#define END_STEPS 250   /* as long as it has to end */
#define ARGS_MAX 64u
#define NO_ROUTES "No routing engine able to" /* its engine cannot do it */

struct routing_run {
	const struct vb_cmd *cmd;
	const struct vb_fabric_route *r;
	struct vb_manager manager;
	const struct vb_subnet_daemon *daemon;
	char name[32];
	pid_t fabric;
};

static volatile sig_atomic_t is_stopped;

static void on_signal(int sig)
{
	(void)sig;
	is_stopped = 1;
}

static void sleep_step(void)
{
	const struct timespec step = {.tv_nsec = WAIT_STEP_MS * 1000000L};

	(void)nanosleep(&step, NULL);
}

/* Lanes are what these engines break loops with, and OpenSM uses none unless it is told. */
static bool engine_takes_lanes(const char *engine)
{
	static const char *const names[] = {"lash", "dfsssp", "nue", "torus-2QoS"};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strcmp(engine, names[i]) == 0)
			return true;
	return false;
}

static pid_t fabric_start(struct vb_subnet_daemon *d)
{
	pid_t parent = getpid(), pid = fork();
	sigset_t none;

	if (pid != 0) {
		/* The fabric takes signals by a descriptor, this process as they come. */
		sigemptyset(&none);
		(void)sigprocmask(SIG_SETMASK, &none, NULL);
		return pid;
	}
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Ctrl-C is for its parent, which ends it. */
	(void)setpgid(0, 0);
	if (getppid() == parent)
		(void)vb_subnet_daemon_serve(d);
	vb_subnet_daemon_close(d);
	_exit(0);
}

static bool manager_has_ended(struct routing_run *w)
{
	if (w->manager.pid && waitpid(w->manager.pid, NULL, WNOHANG) != w->manager.pid)
		return false;
	w->manager.pid = 0;
	return true;
}

/* Until the subnet is up and the last of its files is begun: those before it are whole. */
static int manager_await(struct routing_run *w)
{
	char configured[128];

	snprintf(configured, sizeof configured, "%s tables configured on all switches",
		 w->r->engine);
	for (unsigned i = 0; !is_stopped && i < WAIT_S * 1000 / WAIT_STEP_MS; i++) {
		bool has_ended = manager_has_ended(w);
		char *log = vb_manager_log(&w->manager);
		bool is_up = log && strstr(log, "SUBNET UP"), by_engine;

		by_engine = is_up && strstr(log, configured);
		if (is_up && by_engine &&
		    vb_route_file_is_there(w->manager.folder, VB_ROUTE_LAST)) {
			free(log);
			return 0;
		}
		if (has_ended || (is_up && !by_engine) || (log && strstr(log, NO_ROUTES))) {
			vb_cmd_error(w->cmd,
				     "OpenSM made no routes by '%s'; its log says:", w->r->engine);
			vb_manager_print_errors(&w->manager);
			free(log);
			return -ENOENT;
		}
		free(log);
		sleep_step();
	}
	vb_cmd_error(w->cmd, is_stopped ? "stopped" : "OpenSM did not bring the subnet up");
	return -ETIMEDOUT;
}

/* It writes its files to their ends. */
static void manager_finish(struct routing_run *w)
{
	if (w->manager.pid)
		(void)kill(w->manager.pid, SIGTERM);
	for (unsigned i = 0; !manager_has_ended(w) && i < END_STEPS; i++)
		sleep_step();
}

static int files_make(struct routing_run *w, const struct vb_topo *topo)
{
	struct vb_route_files files = {
	    .cmd = w->cmd, .from = w->manager.folder, .to = w->r->out, .topo = topo};
	struct vb_route_groups groups = {
	    .files = &files, .daemon = w->daemon, .fabric = w->name, .is_stopped = &is_stopped};
	int rc = 0;

	for (uint32_t i = 0; !rc && i < w->r->group_cnt; i++)
		rc = vb_route_group_join(&groups, w->r->group[i]);
	if (!rc && vb_route_file_is_there(files.from, VB_ROUTE_MAPS))
		rc = vb_route_ask_levels(&files, w->name, w->manager.node);
	manager_finish(w);
	vb_route_groups_end(&groups);
	return rc ? rc : vb_route_files_put(&files, w->r->engine);
}

static void manager_begin(struct routing_run *w)
{
	static char engine[128];
	const char *args[ARGS_MAX] = {"-R", engine, "-D", "0x43"};
	size_t n = 4;

	snprintf(engine, sizeof engine, "%s,no_fallback", w->r->engine);
	if (engine_takes_lanes(w->r->engine))
		args[n++] = "-Q";
	for (size_t i = 0; w->r->more[i] && n + 1 < ARGS_MAX; i++)
		args[n++] = w->r->more[i];
	args[n] = NULL;
	vb_manager_start(&w->manager, w->name, args);
}

/* Asks it to end, which removes what it has made. */
static void fabric_end(struct routing_run *w)
{
	static struct vb_subnet_call call;
	struct vb_subnet_answer answer;
	char why[256];
	int sock;

	/* This process has its socket as well: where it has ended nobody would answer. */
	if (waitpid(w->fabric, NULL, WNOHANG) != 0)
		return;
	sock = vb_subnet_dial(w->name, why, sizeof why);
	if (sock >= 0) {
		vb_subnet_call_text(&call, VB_SUBNET_DOWN, "");
		(void)vb_subnet_ask(sock, &call, -1, &answer, NULL);
		close(sock);
	}
	for (unsigned i = 0; i < END_STEPS && waitpid(w->fabric, NULL, WNOHANG) == 0; i++)
		sleep_step();
	(void)kill(w->fabric, SIGKILL);
	(void)waitpid(w->fabric, NULL, 0);
}

static int fabric_run(struct routing_run *w, const struct vb_topo *topo)
{
	struct vb_subnet_daemon *d;
	char why[256];
	int rc = 0;

	if (vb_subnet_daemon_open(&d, w->name, topo, why, sizeof why)) {
		vb_cmd_error(w->cmd, "%s", why);
		return -EINVAL;
	}
	if (!vb_manager_prepare(&w->manager, w->cmd, vb_manager_choose(topo))) {
		vb_subnet_daemon_close(d);
		return -EINVAL;
	}
	w->daemon = d;
	w->fabric = fabric_start(d);
	if (w->fabric < 0) {
		vb_cmd_error(w->cmd, "fork: %s", strerror(errno));
		rc = -errno;
	}
	if (!rc) {
		manager_begin(w);
		rc = manager_await(w);
	}
	if (!rc)
		rc = files_make(w, topo);
	vb_manager_end(&w->manager);
	if (w->fabric > 0)
		fabric_end(w);
	return rc;
}

/* The name of the first router; NULL: there is none. */
static const char *topology_router(const struct vb_topo *topo)
{
	for (uint32_t i = 0; i < topo->node_cnt; i++)
		if (topo->node[i].type == VB_NODE_ROUTER)
			return topo->node[i].name;
	return NULL;
}

int vb_fabric_route(const struct vb_cmd *cmd, const struct vb_topo *topo,
		    const struct vb_fabric_route *r)
{
	struct routing_run w = {.cmd = cmd, .r = r};
	const struct sigaction act = {.sa_handler = on_signal};
	const char *router = topology_router(topo);

	if (router) {
		vb_cmd_error(cmd,
			     "'%s' is a router, and OpenSM's tables are of one subnet: the "
			     "simulator makes the tables of several subnets itself",
			     router);
		return EXIT_FAILED;
	}

	if (mkdir(r->out, 0777) != 0 && errno != EEXIST) {
		vb_cmd_error(cmd, "'%s': %s", r->out, strerror(errno));
		return EXIT_FAILED;
	}
	snprintf(w.name, sizeof w.name, "route-%d", (int)getpid());
	(void)sigaction(SIGINT, &act, NULL);
	(void)sigaction(SIGTERM, &act, NULL);
	if (fabric_run(&w, topo)) {
		(void)rmdir(r->out); /* if nothing is in it */
		return EXIT_FAILED;
	}
	return vb_cmd_finish(cmd);
}
