/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `verbena run`: executes a program with libverbena.so preloaded. It replaces itself by the
 * program, so the exit status and signals are the program's own and nothing stays behind. ld.so(8)
 */
#include "cmd/cmd.h"
#include "cmd/reg/register.h"
#include "cmd/run/library.h"
#include "cmd/run/program.h"
#include "core/cc/text.h"
#include "link/driver.h"
#include "node/engine/engine.h"
#include "node/host/error_hints.h"
#include "node/shared/shm.h"
#include "node/subnet/client.h"
#include "plugin/plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* As env(1) has them. */
#define EXIT_SELF 125
#define EXIT_CANNOT_EXEC 126
#define EXIT_NOT_FOUND 127

enum {
	OPT_PRINT,
	OPT_ADP,
	OPT_PKEYS,
	OPT_CC,
	OPT_DC,
	OPT_MLX5DV,
	OPT_LINK,
	OPT_FAULT,
	OPT_SEED,
	OPT_LOG,
	OPT_FABRIC,
	OPT_NODE
};

static const struct vb_cmd_option options[] = {
    [OPT_PRINT] = {'p', "print", NULL, "print the environment settings, run nothing"},
    [OPT_ADP] = {0, "adp", "FILE", "first set ROCE_ACCL of all devices as FILE says"},
    [OPT_PKEYS] = {0, "pkeys", "P_KEYS",
		   "first set the P_Key table of all devices, such as 0xffff,0x8001"},
    [OPT_CC] = {0, "cc", "FILE|PRESET", "its congestion control: paper, off, ... or as FILE says"},
    [OPT_DC] = {0, "dc", "half|full|adapter",
		"the devices say that mlx5dv supports them, and DC connects with this handshake"},
    [OPT_MLX5DV] = {0, "mlx5dv", "[=trap|spin]",
		    "queues as hardware has them, for programs that write into them by mlx5dv"},
    [OPT_LINK] = {'l', "link", "udp|shm",
		  "how packets go to processes of this host: by UDP (default) or shared memory"},
    [OPT_FAULT] = {'f', "fault", "RULES",
		   "faults that its packets meet, such as loss=1%; see verbena-fault(1)"},
    [OPT_SEED] = {'s', "fault-seed", "NUMBER", "seed of the faults' random choices (0)"},
    [OPT_LOG] = {0, "log", NULL, "print each verb that is refused, and why, to standard error"},
    [OPT_FABRIC] = {0, "fabric", "NAME", "as a node of this fabric of InfiniBand; see --node"},
    [OPT_NODE] = {0, "node", "NODE", "the node: its name, description or GUID"},
    {0},
};

/* Nothing, or not all, of verbena is in reach of some programs. */
static void warn_of_program(const struct vb_cmd *cmd, const char *name)
{
	static struct vb_program p;

	vb_program_look(name, &p);
	if (p.is_out_of_reach)
		vb_cmd_error(cmd, "warning: '%s' will not use verbena: %s; %s", p.path,
			     vb_program_words(p.kind), vb_program_remedy(p.kind));
	else if (p.kind == VB_PROGRAM_GO)
		vb_cmd_error(cmd, "note: '%s': %s", p.path, vb_program_words(p.kind));
}

/* Of `verbena trace`: the library that stands before libverbena.so; "" without it. */
static int find_trace(const struct vb_cmd *cmd, char *path, size_t size)
{
	path[0] = 0;
	if (!getenv("VERBENA_TRACE") || !vb_library_trace_path(path, size))
		return 0;
	vb_cmd_error(cmd, "libverbena-trace.so is not beside libverbena.so; build or install it");
	return EXIT_SELF;
}

/* Sets the variable @name of the program to be; says why where there is no memory for it. */
static int env_set(const struct vb_cmd *cmd, const char *name, const char *value)
{
	char why[128];

	if (setenv(name, value, 1) == 0)
		return 0;
	(void)vb_error_hint(why, sizeof why, -errno, "cannot set %s", name);
	vb_cmd_error(cmd, "%s", why);
	return EXIT_SELF;
}

static int set_preload(const struct vb_cmd *cmd, bool print)
{
	char library[PATH_MAX], trace[PATH_MAX], value[3 * PATH_MAX];
	const char *old = getenv("LD_PRELOAD"), *first = trace, *second = library;

	if (vb_library_path(library, sizeof library)) {
		vb_cmd_error(cmd, "libverbena.so is not at %s nor beside it; build or install it",
			     library);
		return EXIT_SELF;
	}
	if (strpbrk(library, ":;")) {
		vb_cmd_error(cmd,
			     "'%s' has a colon or semicolon, which ends a path in LD_PRELOAD; move "
			     "verbena",
			     library);
		return EXIT_SELF;
	}
	if (find_trace(cmd, trace, sizeof trace))
		return EXIT_SELF;
	if (vb_library_is_by_name(library)) {
		first = *trace ? strrchr(trace, '/') + 1 : "";
		second = strrchr(library, '/') + 1;
	}
	/* First, so that its verbs are the ones found; what was preloaded before stays. */
	if ((size_t)snprintf(value, sizeof value, "%s%s%s%s%s", first, *first ? ":" : "", second,
			     old && *old ? ":" : "", old ? old : "") >= sizeof value) {
		vb_cmd_error(cmd, "LD_PRELOAD is too long");
		return EXIT_SELF;
	}
	if (env_set(cmd, "LD_PRELOAD", value))
		return EXIT_SELF;
	if (print)
		printf("LD_PRELOAD=%s\n", value);
	return 0;
}

/* Puts @folder before the others in LD_LIBRARY_PATH. */
static int add_library_path(const struct vb_cmd *cmd, const char *folder)
{
	const char *old = getenv("LD_LIBRARY_PATH");
	char value[4 * PATH_MAX];

	/* An empty place in the list would be the working directory. */
	if ((size_t)snprintf(value, sizeof value, "%s%s%s", folder, old && *old ? ":" : "",
			     old ? old : "") >= sizeof value) {
		vb_cmd_error(cmd, "LD_LIBRARY_PATH is too long");
		return EXIT_SELF;
	}
	return env_set(cmd, "LD_LIBRARY_PATH", value);
}

/* For what is preloaded by its name, and for what a program opens by name while it runs. */
static int set_library_path(const struct vb_cmd *cmd, bool print)
{
	char folder[PATH_MAX], path[PATH_MAX];
	bool is_set = false;
	int rc = 0;

	if (!vb_library_path(path, sizeof path) && vb_library_is_by_name(path)) {
		*strrchr(path, '/') = 0;
		is_set = true;
		rc = add_library_path(cmd, path);
		if (!rc && getenv("VERBENA_TRACE") && !vb_library_trace_path(path, sizeof path)) {
			*strrchr(path, '/') = 0;
			rc = add_library_path(cmd, path);
		}
	}
	if (!rc && !vb_library_names_path(folder, sizeof folder)) {
		is_set = true;
		rc = add_library_path(cmd, folder);
	}
	if (!rc && is_set && print)
		printf("LD_LIBRARY_PATH=%s\n", getenv("LD_LIBRARY_PATH"));
	return rc;
}

/*
 * Makes the settings in @path, and @pkeys, the adapter's, each unless NULL. The connection stays
 * open in the program, so that the adapter and its settings are there until it ends.
 */
static int set_registers(const struct vb_cmd *cmd, const char *path,
			 const struct vb_pkey_table *pkeys)
{
	struct vb_broker_observer o;
	char why[512];

	if (vb_broker_observe(&o, true, why, sizeof why)) {
		vb_cmd_error(cmd, "%s", why);
		return EXIT_SELF;
	}
	if (path && vb_reg_apply_file(cmd, &o, path)) {
		vb_cmd_error(cmd, "'%s' was refused, nothing is run", path);
		vb_broker_observe_end(&o);
		return EXIT_SELF;
	}
	if (pkeys && vb_reg_apply_pkeys(&o, pkeys)) {
		vb_cmd_error(cmd, "the P_Keys were refused, nothing is run");
		vb_broker_observe_end(&o);
		return EXIT_SELF;
	}
	(void)fcntl(o.sock, F_SETFD, 0);
	return 0;
}

static bool asks_for_mads(const struct vb_fault_spec *spec)
{
	for (uint32_t i = 0; i < spec->rule_cnt; i++)
		if (spec->rule[i].filter.mads)
			return true;
	return false;
}

/* Adds @rules to those of the environment, which a `verbena run` outside of this one may have set.
 */
static int add_faults(const struct vb_cmd *cmd, const char *rules)
{
	const char *old = getenv("VERBENA_FAULT");
	char text[2 * VB_FAULT_TEXT_MAX];
	struct vb_fault_spec spec;
	struct vb_fault_error err;

	if (vb_fault_parse(rules, &spec, &err)) {
		vb_cmd_error(cmd, "--fault '%s', at character %u: %s", rules, err.column, err.text);
		return VB_EXIT_USAGE;
	}
	if (asks_for_mads(&spec)) {
		vb_cmd_error(
		    cmd,
		    "--fault '%s': the broker sends management datagrams for all programs, "
		    "and meets the rules of 'verbena fault set' alone",
		    rules);
		return VB_EXIT_USAGE;
	}
	snprintf(text, sizeof text, "%s%s%s", old ? old : "", old && *old ? "," : "", rules);
	if (strlen(text) >= VB_FAULT_TEXT_MAX || vb_fault_parse(text, &spec, &err)) {
		vb_cmd_error(cmd, "too many faults: at most %d rules and %d characters",
			     VB_FAULT_RULES_MAX, VB_FAULT_TEXT_MAX - 1);
		return VB_EXIT_USAGE;
	}
	return env_set(cmd, "VERBENA_FAULT", text);
}

static int set_seed(const struct vb_cmd *cmd, const char *text)
{
	double seed;

	if (!vb_cmd_number(text, 0, 9007199254740991.0, &seed))
		return vb_cmd_usage(cmd, "'%s' is no seed", text);
	return env_set(cmd, "VERBENA_FAULT_SEED", text);
}

static int set_link(const struct vb_cmd *cmd, const char *name)
{
	char names[64];

	if (!*name || !vb_link_driver_find(name)) {
		vb_link_driver_names(names, sizeof names);
		return vb_cmd_usage(cmd, "'%s' is no link: it has to be %s", name, names);
	}
	return env_set(cmd, "VERBENA_LINK", name);
}

static int set_dc(const struct vb_cmd *cmd, const char *name)
{
	if (strcmp(name, "half") != 0 && strcmp(name, "full") != 0 && strcmp(name, "adapter") != 0)
		return vb_cmd_usage(cmd, "'%s' is no handshake: it has to be half, full or adapter",
				    name);
	return env_set(cmd, "VERBENA_DC", name);
}

/* Without a word the adapter chooses. */
static int set_mlx5dv(const struct vb_cmd *cmd, const char *way)
{
	if (way && strcmp(way, "trap") != 0 && strcmp(way, "spin") != 0)
		return vb_cmd_usage(cmd, "--mlx5dv=%s: doorbells trap or a thread spins for them",
				    way);
	return env_set(cmd, "VERBENA_MLX5DV", way ? way : "1");
}

static int export_congestion(const struct vb_cmd *cmd, const char *arg, const char *text)
{
	if (strlen(text) >= VB_ENGINE_CC_TEXT_MAX) {
		vb_cmd_error(cmd, "--cc '%s': more than %d characters of settings", arg,
			     VB_ENGINE_CC_TEXT_MAX - 1);
		return EXIT_SELF;
	}
	return env_set(cmd, "VERBENA_CC", text);
}

/* Congestion control by an algorithm, which @text names. It fails here and not in the program. */
static int set_algorithm(const struct vb_cmd *cmd, const char *arg, const char *text)
{
	struct vb_cc_choice choice;
	char why[768];

	if (vb_plugin_read_choice(text, UINT64_C(100000000000), &choice, why, sizeof why)) {
		vb_cmd_error(cmd, "--cc '%s': %s", arg, why);
		return EXIT_SELF;
	}
	if (choice.algorithm->needs & VERBENA_CC_NEEDS_INT) {
		vb_cmd_error(cmd,
			     "--cc '%s': it needs switches that add records of themselves: only "
			     "the simulator has these",
			     arg);
		return EXIT_SELF;
	}
	return export_congestion(cmd, arg, text);
}

/* @arg is PATH.so, with parameters behind a comma: the text that names this object from anywhere.
 */
static bool names_object(const char *arg, char *text, size_t size)
{
	size_t len = strcspn(arg, ",");
	char path[PATH_MAX], full[PATH_MAX];

	if (len < 4 || len >= sizeof path || memcmp(arg + len - 3, ".so", 3) != 0)
		return false;
	snprintf(path, sizeof path, "%.*s", (int)len, arg);
	snprintf(text, size, "object=%s%s", realpath(path, full) ? full : path, arg + len);
	return true;
}

/* Congestion control: the name of a preset or of an algorithm, a shared object, or a file. */
static int set_congestion(const struct vb_cmd *cmd, const char *arg)
{
	static char text[VB_REG_FILE_BYTES_MAX + 1];
	struct vb_cc_text_fault fault;
	struct vb_cc_settings set;
	bool is_preset = false;

	if (vb_plugin_is_choice(arg))
		return set_algorithm(cmd, arg, arg);
	if (names_object(arg, text, sizeof text))
		return set_algorithm(cmd, arg, text);
	for (int i = 0; vb_cc_presets[i]; i++)
		is_preset |= strcmp(arg, vb_cc_presets[i]) == 0;
	if (is_preset)
		snprintf(text, sizeof text, "%s", arg);
	else if (access(arg, R_OK) && !strchr(arg, '/'))
		return vb_cmd_usage(cmd,
				    "--cc '%s' is no file, no algorithm, and no preset either: "
				    "that %s",
				    arg, vb_cc_preset_rule);
	else if (vb_reg_read_fields(cmd, arg, text))
		return EXIT_SELF;
	if (vb_plugin_is_choice(text))
		return set_algorithm(cmd, arg, text);
	if (vb_cc_parse(text, UINT64_C(100000000000), &set, &fault)) {
		if (fault.len)
			vb_cmd_error(cmd, "--cc '%s': '%.*s' %s", arg, (int)fault.len,
				     text + fault.at, fault.what);
		else
			vb_cmd_error(cmd, "--cc '%s': %s %s", arg,
				     fault.field ? fault.field : "the text", fault.what);
		return EXIT_SELF;
	}
	return export_congestion(cmd, arg, text);
}

/* The program sees the device of the node, and no other. Asked here, so that it fails here. */
static int set_fabric(const struct vb_cmd *cmd, const char *fabric, const char *node)
{
	struct vb_subnet_answer answer;
	static struct vb_subnet_call call;
	char why[256];
	int sock, rc;

	if (!fabric || !node)
		return vb_cmd_usage(cmd, "--fabric and --node go together");
	sock = vb_subnet_dial(fabric, why, sizeof why);
	if (sock < 0) {
		vb_cmd_error(cmd, "%s", why);
		return EXIT_SELF;
	}
	vb_subnet_call_text(&call, VB_SUBNET_ATTACH, node);
	rc = vb_subnet_ask(sock, &call, -1, &answer, NULL);
	if (!rc && answer.status) {
		answer.text[sizeof answer.text - 1] = 0;
		vb_cmd_error(cmd, "%s", answer.text[0] ? answer.text : strerror(-answer.status));
	} else if (rc) {
		vb_cmd_error(cmd, "the fabric '%s' does not answer: %s", fabric, strerror(-rc));
	}
	if (rc || answer.status || setenv("VERBENA_FABRIC", fabric, 1) ||
	    setenv("VERBENA_NODE", node, 1))
		return EXIT_SELF;
	/* The connection stays open in the program: its tree is there until it ends. */
	(void)fcntl(sock, F_SETFD, 0);
	return 0;
}

static void print_settings(void)
{
	static const char *const names[] = {
	    "VERBENA_LINK",        "VERBENA_FAULT",  "VERBENA_FAULT_SEED", "VERBENA_CC",
	    "VERBENA_DC",          "VERBENA_MLX5DV", "VERBENA_LOG",        "VERBENA_TRACE",
	    "VERBENA_TRACE_CALLS", "VERBENA_FABRIC", "VERBENA_NODE"};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (getenv(names[i]))
			printf("%s=%s\n", names[i], getenv(names[i]));
}

static int run_program(const struct vb_cmd *cmd, int argc, char **argv)
{
	const char *arg, *adp = NULL, *fabric = NULL, *node = NULL;
	struct vb_pkey_table pkeys;
	bool print = false, has_pkeys = false;
	int rc = 0;

	for (int i; !rc && (i = vb_cmd_next_option(cmd, argc, argv, &arg)) >= 0;) {
		print |= i == OPT_PRINT;
		if (i == OPT_ADP)
			adp = arg;
		if (i == OPT_PKEYS) {
			rc = vb_reg_parse_pkeys(cmd, arg, &pkeys);
			has_pkeys = true;
		}
		if (i == OPT_FABRIC)
			fabric = arg;
		if (i == OPT_NODE)
			node = arg;
		if (i == OPT_LINK)
			rc = set_link(cmd, arg);
		if (i == OPT_LOG)
			rc = env_set(cmd, "VERBENA_LOG", "1");
		if (i == OPT_FAULT)
			rc = add_faults(cmd, arg);
		if (i == OPT_DC)
			rc = set_dc(cmd, arg);
		if (i == OPT_MLX5DV)
			rc = set_mlx5dv(cmd, arg);
		if (i == OPT_CC)
			rc = set_congestion(cmd, arg);
		if (i == OPT_SEED)
			rc = set_seed(cmd, arg);
	}
	if (rc)
		return rc;
	if (optind == argc && !print)
		return vb_cmd_usage(cmd, "no command to run");
	if (fabric || node)
		rc = set_fabric(cmd, fabric, node);
	if (!rc)
		rc = set_preload(cmd, print);
	if (!rc)
		rc = set_library_path(cmd, print);
	if (rc)
		return rc;
	if (print) {
		print_settings();
		return vb_cmd_finish(cmd);
	}
	if (adp || has_pkeys)
		rc = set_registers(cmd, adp, has_pkeys ? &pkeys : NULL);
	if (rc)
		return rc;
	warn_of_program(cmd, argv[optind]);
	signal(SIGPIPE, SIG_DFL);
	execvp(argv[optind], argv + optind);
	rc = errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_EXEC;
	vb_cmd_error(cmd, "cannot run '%s': %s", argv[optind], strerror(errno));
	return rc;
}

const struct vb_cmd vb_cmd_run = {
    .name = "run",
    .arguments = "[OPTIONS] [--] COMMAND [ARGUMENT...]",
    .text = "Runs a verbs program on the devices of verbena.",
    .options = options,
    .run = run_program,
};
