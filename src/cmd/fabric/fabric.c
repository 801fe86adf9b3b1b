/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `verbena fabric`: InfiniBand subnets on this host. `up` starts a process that runs the fabric
 * and returns when programs can reach it, and with --sm when they can talk; the other words are
 * calls to that process.
 */
#include "cmd/cmd.h"
#include "cmd/fabric/join.h"
#include "cmd/fabric/managers.h"
#include "cmd/fabric/route.h"
#include "cmd/fabric/route_groups.h"
#include "cmd/fabric/show/show.h"
#include "node/subnet/client.h"
#include "node/subnet/daemon.h"
#include "scenario/fabric/file.h"
#include "wire/ib/hop.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME_DEFAULT "ib0"
#define OUT_DEFAULT "routes"
/* The longest command: join NODE PORT FABRIC NODE PORT. */
#define WORDS_MAX 6
#define PARTS_MAX 4
#define EXIT_FAILED 1
/* How long OpenSM may take for a subnet, before `up` says that it is late. */
#define MANAGER_WAIT_S 60
#define MANAGER_NODES_PER_S 50
#define SLOW_MAX 1000000 /* times */
#define PART_MAX 255
#define PART_NONE (PART_MAX + 1u)

enum {
	OPT_NAME,
	OPT_FOREGROUND,
	OPT_SM,
	OPT_PREFIX,
	OPT_REAL_TIME,
	OPT_PART,
	OPT_ENGINE,
	OPT_OUT,
	OPT_GROUP
};

static const struct vb_cmd_option options[] = {
    [OPT_NAME] = {'n', "name", "NAME", "of the fabric (" NAME_DEFAULT ")"},
    [OPT_FOREGROUND] = {'f', "foreground", NULL, "up: run it here, until Ctrl-C"},
    [OPT_SM] = {'s', "sm", NULL,
		"up: with OpenSM at the first host of each subnet, and wait for them"},
    [OPT_PREFIX] = {0, "prefix", "PREFIX",
		    "up --sm: of the first subnet, for routers to other fabrics; others count on"},
    [OPT_REAL_TIME] = {'t', "real-time", "N",
		       "up: data takes the time of the links, slowed down N times"},
    [OPT_PART] = {'p', "part", "N",
		  "up: part N of several fabrics with tunnels: other GUIDs, addresses 10.N.x.y"},
    [OPT_ENGINE] = {'R', "engine", "ENGINE", "route: OpenSM's routing engine (minhop)"},
    [OPT_OUT] = {'o', "out", "DIR", "route: the folder of the files (" OUT_DEFAULT ")"},
    [OPT_GROUP] = {'g', "group", "NODE,...", "route: hosts that join a multicast group"},
    {0},
};

struct fabric_options {
	const char *name; /* NULL: not given */
	const char *engine, *out;
	bool foreground, with_manager;
	const char *group[VB_ROUTE_GROUPS_MAX];
	uint32_t group_cnt;
	uint32_t real_time; /* 0: data takes no time */
	uint32_t part;      /* PART_NONE: the fabric is all there is */
	uint64_t prefix;    /* 0: not given */
};

/* Nodes of each part have GUIDs of their own, where the topology names none. */
static int topology_read(const struct vb_cmd *cmd, const char *arg, uint32_t part,
			 struct vb_topo *topo)
{
	char why[256];
	int rc = vb_fabric_read_topology_at(
	    topo, arg, part == PART_NONE ? 0 : vb_topo_part_guid(part), why, sizeof why);

	if (rc)
		vb_cmd_error(cmd, "%s", why);
	return rc;
}

/* In the child: nothing of the terminal stays. */
static void detach_self(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)setsid();
	if (null < 0)
		return;
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	close(null);
	(void)chdir("/");
}

/* @m: NULL, or the managers beside it. */
static int serve_fabric(struct vb_subnet_daemon *d, struct vb_managers *m, const char *name)
{
	int rc;

	if (m) {
		vb_managers_start(m, name);
		vb_subnet_daemon_tell_routes(d, vb_managers_reroute, m);
	}
	rc = vb_subnet_daemon_serve(d);
	vb_subnet_daemon_tell_routes(d, NULL, NULL);
	if (m)
		vb_managers_end(m);
	vb_subnet_daemon_close(d);
	return rc ? EXIT_FAILED : 0;
}

static int copy_output(const struct vb_cmd *cmd, int fd)
{
	char buf[65536];
	ssize_t n;
	off_t at = 0;

	while ((n = pread(fd, buf, sizeof buf, at)) > 0) {
		fwrite(buf, 1, (size_t)n, stdout);
		at += n;
	}
	return vb_cmd_finish(cmd);
}

static int fabric_ask(const struct vb_cmd *cmd, const char *name, enum vb_subnet_op op,
		      const char *text)
{
	static struct vb_subnet_call call;
	struct vb_subnet_answer answer;
	struct vb_fds fds = {.cnt = 0};
	char why[256];
	int sock = vb_subnet_dial(name, why, sizeof why), rc;

	if (sock < 0) {
		vb_cmd_error(cmd, "%s", why);
		return EXIT_FAILED;
	}
	vb_subnet_call_text(&call, op, text);
	rc = vb_subnet_ask(sock, &call, -1, &answer, &fds);
	if (!rc && answer.status) {
		answer.text[sizeof answer.text - 1] = 0;
		vb_cmd_error(cmd, "%s", answer.text[0] ? answer.text : strerror(-answer.status));
		rc = answer.status;
	} else if (rc) {
		vb_cmd_error(cmd, "the fabric '%s' does not answer: %s", name, strerror(-rc));
	}
	/* The fabric has gone when its end of the connection has. */
	if (!rc && op == VB_SUBNET_DOWN)
		(void)recv(sock, why, sizeof why, 0);
	if (!rc && fds.cnt == 1)
		rc = copy_output(cmd, fds.fd[0]);
	vb_fds_close(&fds);
	close(sock);
	return rc ? EXIT_FAILED : 0;
}

/* The first process of `up --sm`: it is there until programs can begin, or ends what cannot. */
static int await_managers(const struct vb_cmd *cmd, const char *name, const struct vb_managers *all,
			  uint32_t nodes)
{
	const struct vb_manager *m = NULL;
	int rc = vb_managers_await(all, MANAGER_WAIT_S + nodes / MANAGER_NODES_PER_S, &m);

	if (!rc) {
		printf(all->cnt > 1 ? "the subnets are up\n" : "the subnet is up\n");
		return vb_cmd_finish(cmd);
	}
	vb_cmd_error(cmd, rc == -ECHILD
			      ? "OpenSM has ended, and so does the fabric; its log says:"
			      : "OpenSM has not brought the subnet up yet; its log says:");
	vb_manager_print_errors(m);
	if (rc == -ECHILD)
		(void)fabric_ask(cmd, name, VB_SUBNET_DOWN, "");
	return EXIT_FAILED;
}

static int fabric_up(const struct vb_cmd *cmd, const char *arg, const struct fabric_options *o)
{
	static struct vb_managers managers;
	const char *name = o->name;
	bool foreground = o->foreground, with_manager = o->with_manager;
	struct vb_topo topo;
	struct vb_subnet_daemon *d;
	char why[256];
	pid_t pid;
	int rc;

	if (o->prefix && !with_manager)
		return vb_cmd_usage(cmd,
				    "--prefix is what OpenSM gives the subnet: it goes with --sm");
	if (topology_read(cmd, arg, o->part, &topo))
		return EXIT_FAILED;
	if (vb_subnet_daemon_open(&d, name, &topo, why, sizeof why)) {
		vb_cmd_error(cmd, "%s", why);
		vb_topo_free(&topo);
		return EXIT_FAILED;
	}
	if (o->part != PART_NONE)
		vb_subnet_daemon_set_part(d, o->part);
	if (o->real_time)
		vb_subnet_daemon_set_real_time(d, o->real_time);
	if (with_manager && !vb_managers_prepare(&managers, cmd, &topo, o->prefix)) {
		vb_subnet_daemon_close(d);
		vb_topo_free(&topo);
		return EXIT_FAILED;
	}
	printf("fabric %s: %u nodes, %u cables\n", name, topo.node_cnt, topo.link_cnt);
	if (with_manager)
		vb_managers_print(&managers);
	fflush(stdout);
	if (with_manager && !foreground)
		vb_managers_connect(&managers);
	pid = foreground ? 0 : fork();
	if (pid < 0) {
		vb_cmd_error(cmd, "fork: %s", strerror(errno));
		vb_subnet_daemon_close(d);
		return EXIT_FAILED;
	}
	/* Its socket takes connections since it was made, so it can be reached from here on. */
	if (pid > 0)
		_exit(with_manager ? await_managers(cmd, name, &managers, topo.node_cnt) : 0);
	if (!foreground)
		detach_self();
	rc = serve_fabric(d, with_manager ? &managers : NULL, name);
	vb_topo_free(&topo);
	return rc;
}

/* Lines of what happens, until the fabric ends. */
static int fabric_watch(const struct vb_cmd *cmd, const char *name)
{
	static struct vb_subnet_call call;
	struct vb_subnet_answer answer;
	char line[4096], why[256];
	int sock = vb_subnet_dial(name, why, sizeof why), rc;
	ssize_t n;

	if (sock < 0) {
		vb_cmd_error(cmd, "%s", why);
		return EXIT_FAILED;
	}
	vb_subnet_call_text(&call, VB_SUBNET_WATCH, "");
	rc = vb_subnet_ask(sock, &call, -1, &answer, NULL);
	if (!rc)
		rc = answer.status;
	if (rc)
		vb_cmd_error(cmd, "the fabric '%s' cannot be watched: %s", name, strerror(-rc));
	while (!rc && (n = recv(sock, line, sizeof line, 0)) > 0) {
		fwrite(line, 1, (size_t)n, stdout);
		if (fflush(stdout))
			break; /* the reader has gone */
	}
	close(sock);
	return rc ? EXIT_FAILED : vb_cmd_finish(cmd);
}

/* @more: "", or what follows the port. */
static int fabric_change(const struct vb_cmd *cmd, const char *name, const char *word,
			 const char *node, const char *port, const char *more)
{
	char text[250];

	if ((size_t)snprintf(text, sizeof text, "%s %s %s%s%s", word, node, port, *more ? " " : "",
			     more) >= sizeof text)
		return vb_cmd_usage(cmd, "the arguments are too long");
	return fabric_ask(cmd, name, VB_SUBNET_COMMAND, text);
}

/* @port NULL: all cables of the node that were pulled. */
static int fabric_relink(const struct vb_cmd *cmd, const char *name, const char *node,
			 const char *port)
{
	char text[250];

	if (port)
		return fabric_change(cmd, name, "relink", node, port, "");
	if ((size_t)snprintf(text, sizeof text, "relink %s", node) >= sizeof text)
		return vb_cmd_usage(cmd, "the arguments are too long");
	return fabric_ask(cmd, name, VB_SUBNET_COMMAND, text);
}

/* set NODE PORT ATTRIBUTE ATTRIBUTE, tunnel NODE PORT LOCAL PEER */
static int fabric_change_two(const struct vb_cmd *cmd, const char *name, const char *const *word)
{
	char more[160];

	snprintf(more, sizeof more, "%s %s", word[3], word[4]);
	return fabric_change(cmd, name, word[0], word[1], word[2], more);
}

/* Of a subnet to which routers lead. IBA 4.1.1 */
static uint64_t prefix_read(const struct vb_cmd *cmd, const char *text)
{
	bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	unsigned long long prefix;
	char *end;

	errno = 0;
	prefix = strtoull(text, &end, 16);
	if (!is_hex || *end || errno || prefix == 0 || prefix >> 56 == 0xff)
		exit(vb_cmd_usage(
		    cmd,
		    "--prefix takes the prefix of a subnet, such as 0xfec0000000000001, not '%s'",
		    text));
	if (prefix == VB_PREFIX_LINK_LOCAL)
		exit(vb_cmd_usage(
		    cmd, "--prefix: %s is link-local, and routers forward nothing from it", text));
	return prefix;
}

static void options_read(const struct vb_cmd *cmd, int argc, char **argv, struct fabric_options *o)
{
	const char *arg;
	double slow, part;

	for (int i; (i = vb_cmd_next_option(cmd, argc, argv, &arg)) >= 0;) {
		o->foreground |= i == OPT_FOREGROUND;
		o->with_manager |= i == OPT_SM;
		if (i == OPT_NAME)
			o->name = arg;
		if (i == OPT_REAL_TIME &&
		    (!vb_cmd_number(arg, 1, SLOW_MAX, &slow) || slow != (uint32_t)slow))
			exit(vb_cmd_usage(cmd,
					  "--real-time takes a whole number from 1 to %d, not '%s'",
					  SLOW_MAX, arg));
		if (i == OPT_REAL_TIME)
			o->real_time = (uint32_t)slow;
		if (i == OPT_PART &&
		    (!vb_cmd_number(arg, 0, PART_MAX, &part) || part != (uint32_t)part))
			exit(vb_cmd_usage(cmd, "--part takes a whole number from 0 to %d, not '%s'",
					  PART_MAX, arg));
		if (i == OPT_PART)
			o->part = (uint32_t)part;
		if (i == OPT_PREFIX)
			o->prefix = prefix_read(cmd, arg);
		if (i == OPT_ENGINE)
			o->engine = arg;
		if (i == OPT_OUT)
			o->out = arg;
		if (i == OPT_GROUP && o->group_cnt == VB_ROUTE_GROUPS_MAX)
			exit(vb_cmd_usage(cmd, "--group: %u at most", VB_ROUTE_GROUPS_MAX));
		if (i == OPT_GROUP)
			o->group[o->group_cnt++] = arg;
	}
}

/* Reads the options, and the words between them. Arguments behind "--" stay at argv[optind] where
 * the first word is "route", and are words as well where it is not; behind "show" all do. Returns
 * how many words there are; up to WORDS_MAX of them are in @word. */
static int words_read(const struct vb_cmd *cmd, int argc, char **argv, struct fabric_options *o,
		      const char *word[WORDS_MAX])
{
	int cnt = 0;
	bool rest = false;

	for (; optind < argc; optind++, cnt++) {
		if (!rest)
			options_read(cmd, argc, argv, o);
		/* Its options are its own. */
		if (cnt == 0 && optind < argc && strcmp(argv[optind], "show") == 0) {
			word[cnt++] = argv[optind++];
			break;
		}
		rest = rest || strcmp(argv[optind - 1], "--") == 0;
		if (optind == argc || (rest && cnt && strcmp(word[0], "route") == 0))
			break;
		if (cnt < WORDS_MAX)
			word[cnt] = argv[optind];
	}
	return cnt;
}

/* @opensm: options of OpenSM, up to NULL. */
static int fabric_route(const struct vb_cmd *cmd, const char *topology, char **opensm,
			const struct fabric_options *o)
{
	const struct vb_fabric_route r = {.engine = o->engine,
					  .out = o->out,
					  .more = (const char *const *)opensm,
					  .group = o->group,
					  .group_cnt = o->group_cnt};
	struct vb_topo topo;
	int rc;

	if (topology_read(cmd, topology, PART_NONE, &topo))
		return EXIT_FAILED;
	rc = vb_fabric_route(cmd, &topo, &r);
	vb_topo_free(&topo);
	return rc;
}

/* A word that is not known, or that goes with other arguments. */
static int refuse_word(const struct vb_cmd *cmd, const char *word, int args)
{
	static const struct {
		const char *word, *arguments;
	} words[] = {{"up", "a topology"},
		     {"down", "no argument, or the name of a fabric"},
		     {"dump", "no argument, or the name of a fabric"},
		     {"watch", "no argument, or the name of a fabric"},
		     {"route", "a topology"},
		     {"link", "a node and a port"},
		     {"unlink", "a node and a port"},
		     {"relink", "a node, or a node and a port"},
		     {"tunnel", "a node, a port, and the addresses of its two ends"},
		     {"untunnel", "a node and a port"},
		     {"join", "a node, a port, another fabric, and a node and a port of that"},
		     {"error", "a node, a port and COUNTER=N"},
		     {"set", "a node, a port and one or two attributes"}};

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (strcmp(word, words[i].word) == 0)
			return vb_cmd_usage(cmd, "'%s' goes with %s, and not with %d argument%s",
					    word, words[i].arguments, args, args == 1 ? "" : "s");
	return vb_cmd_usage(cmd, "there is no word '%s'", word);
}

/* Carries out a command of @cnt words that changes the fabric. */
static int run_change(const struct vb_cmd *cmd, const char *name, const char *const *word, int cnt)
{
	bool sets = strcmp(word[0], "set") == 0, tunnels = strcmp(word[0], "tunnel") == 0;

	if ((sets || tunnels) && cnt == 5)
		return fabric_change_two(cmd, name, word);
	if (strcmp(word[0], "join") == 0 && cnt == 6)
		return vb_fabric_join(cmd, &(struct vb_join_end){name, word[1], word[2]},
				      &(struct vb_join_end){word[3], word[4], word[5]});
	if ((sets || strcmp(word[0], "error") == 0) && cnt == 4)
		return fabric_change(cmd, name, word[0], word[1], word[2], word[3]);
	if ((sets || strcmp(word[0], "link") == 0 || strcmp(word[0], "unlink") == 0 ||
	     strcmp(word[0], "untunnel") == 0) &&
	    cnt == 3)
		return fabric_change(cmd, name, word[0], word[1], word[2], "");
	if (strcmp(word[0], "relink") == 0 && (cnt == 2 || cnt == 3))
		return fabric_relink(cmd, name, word[1], cnt == 3 ? word[2] : NULL);
	return refuse_word(cmd, word[0], cnt - 1);
}

static int run_fabric(const struct vb_cmd *cmd, int argc, char **argv)
{
	struct fabric_options o = {.engine = "minhop", .out = OUT_DEFAULT, .part = PART_NONE};
	const char *words[WORDS_MAX], *name, *word;
	int cnt = words_read(cmd, argc, argv, &o, words);

	if (cnt && strcmp(words[0], "show") == 0)
		return vb_fabric_show(argc, argv, o.name, NAME_DEFAULT);
	if (!o.name)
		o.name = NAME_DEFAULT;
	name = o.name;
	if (cnt == 0)
		return vb_cmd_usage(cmd, "up, down, show, dump, watch, route, set, link, unlink, "
					 "relink, tunnel, untunnel, join or error?");
	word = words[0];
	if (strcmp(word, "route") == 0 && cnt > 2)
		return vb_cmd_usage(
		    cmd, "'%s' is behind the topology; options of OpenSM follow '--'", words[2]);
	if (strcmp(word, "route") == 0 && cnt == 2)
		return fabric_route(cmd, words[1], argv + optind, &o);
	/* A fabric may also be named behind the word. */
	if (cnt == 2 && (strcmp(word, "down") == 0 || strcmp(word, "dump") == 0 ||
			 strcmp(word, "watch") == 0)) {
		name = words[1];
		cnt--;
	}
	if (!vb_subnet_name_is_good(name))
		return vb_cmd_usage(cmd,
				    "'%s' is no name of a fabric: up to %d letters, digits, "
				    "'-', '_' and '.'",
				    name, VB_SUBNET_NAME_MAX - 1);
	if (strcmp(word, "up") == 0 && cnt == 2)
		return fabric_up(cmd, words[1], &o);
	if (strcmp(word, "down") == 0 && cnt == 1)
		return fabric_ask(cmd, name, VB_SUBNET_DOWN, "");
	if (strcmp(word, "watch") == 0 && cnt == 1)
		return fabric_watch(cmd, name);
	if (strcmp(word, "dump") == 0 && cnt == 1)
		return fabric_ask(cmd, name, VB_SUBNET_COMMAND, word);
	return run_change(cmd, name, words, cnt);
}

const struct vb_cmd vb_cmd_fabric = {
    .name = "fabric",
    .arguments = "up TOPOLOGY | down | show [OPTIONS] | dump | watch | set NODE PORT [speed=S] "
		 "[width=W] [enable-speed=S] [enable-width=W] | set NODE description=TEXT | "
		 "set NODE sysimgguid=GUID | link NODE PORT | unlink NODE PORT | "
		 "relink NODE [PORT] | "
		 "tunnel NODE PORT LOCAL PEER | untunnel NODE PORT | "
		 "join NODE PORT FABRIC NODE PORT | "
		 "error NODE PORT COUNTER=N | route TOPOLOGY [-- OPENSM-OPTIONS] [OPTIONS]",
    .text = "InfiniBand subnets on this host, which a subnet manager configures.",
    .options = options,
    .run = run_fabric,
};
