/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `verbena fault`: shows and changes the faults of the devices while programs run. The broker keeps
 * the rules; each process follows them and counts its hits in its slot memory, from where they are
 * read here. Everything there is another program's word.
 */
#include "fault/fault.h"
#include "cmd/cmd.h"
#include "node/broker/broker.h"
#include "wire/mad/cm.h"
#include "wire/opcode.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>

#define FOLLOW_MS 50

enum { OPT_DEVICE, OPT_SEED, OPT_FOLLOW };

static const struct vb_cmd_option options[] = {
    [OPT_DEVICE] = {'d', "device", "NAME", "only this device or network device"},
    [OPT_SEED] = {'s', "seed", "NUMBER", "set, add: seed of the random choices (0)"},
    [OPT_FOLLOW] = {'f', "follow", NULL, "log: go on with what comes, until Ctrl-C"},
    {0},
};

struct view {
	const struct vb_cmd *cmd;
	const char *device; /* NULL: all */
	uint64_t seed;
	bool has_seed, follow;
	struct vb_broker_observer o;
	struct vb_host_shm host;
};

static bool is_meant(const struct view *v, uint32_t i)
{
	const struct vb_device *d = &v->host.device[i];

	return d->ifindex &&
	       (!v->device || !strcmp(v->device, d->name) || !strcmp(v->device, d->ifname));
}

/* The start of each rule in @text, and its length. Returns how many. */
static uint32_t split_rules(const char *text, const char **rule, int *len)
{
	uint32_t n = 0;

	while (*text && n < VB_FAULT_RULES_MAX) {
		rule[n] = text;
		len[n] = (int)strcspn(text, ",");
		text += len[n];
		text += *text == ',';
		n++;
	}
	return n;
}

static void print_rules(const char *indent, const char *text)
{
	const char *rule[VB_FAULT_RULES_MAX];
	int len[VB_FAULT_RULES_MAX];
	uint32_t n = split_rules(text, rule, len);

	for (uint32_t i = 0; i < n; i++)
		printf("%s%u  %.*s\n", indent, i + 1, len[i], rule[i]);
}

static void print_process(const struct vb_slot_shm *s, uint32_t i)
{
	const char *rule[VB_FAULT_RULES_MAX];
	int len[VB_FAULT_RULES_MAX];
	struct vb_fault_status st;
	uint32_t n;

	if (!vb_fault_status_read(s, i, &st) || !st.rules.text[0])
		return;
	printf("  process %" PRIu32 " (%.15s), seed %" PRIu64 "\n", s->pid, s->comm, st.rules.seed);
	n = split_rules(st.rules.text, rule, len);
	for (uint32_t k = 0; k < n; k++)
		printf("    %-2u %-48.*s %10" PRIu64 " hits\n", k + 1, len[k], rule[k], st.hits[k]);
}

static int list_rules(struct view *v)
{
	if (vb_broker_observe_slots(&v->o)) {
		vb_cmd_error(v->cmd, "the broker is gone");
		return 1;
	}
	for (uint32_t i = 0; i < VB_DEVICES_MAX; i++) {
		const char *text = v->host.fault[i].text;

		if (!is_meant(v, i))
			continue;
		printf("%s (%s): %s\n", v->host.device[i].name, v->host.device[i].ifname,
		       text[0] ? "rules for every program" : "no rules for every program");
		print_rules("  ", text);
		for (int k = 0; k < VB_SLOT_CNT; k++)
			if (v->o.slot[k] && v->o.slot[k]->pid)
				print_process(v->o.slot[k], i);
	}
	return vb_cmd_finish(v->cmd);
}

/* Checks @text and says what is wrong with it. */
static int check_rules(const struct view *v, const char *text)
{
	struct vb_fault_spec spec;
	struct vb_fault_error err;

	if (strlen(text) >= VB_FAULT_TEXT_MAX) {
		vb_cmd_error(v->cmd, "the rules are longer than %d characters",
			     VB_FAULT_TEXT_MAX - 1);
		return VB_EXIT_USAGE;
	}
	if (vb_fault_parse(text, &spec, &err) == 0)
		return 0;
	vb_cmd_error(v->cmd, "'%s', at character %u: %s", text, err.column, err.text);
	return VB_EXIT_USAGE;
}

static int set_device(struct view *v, uint32_t i, const char *spec, bool add)
{
	const struct vb_fault_rules *old = &v->host.fault[i];
	char text[2 * VB_FAULT_TEXT_MAX];
	int rc;

	snprintf(text, sizeof text, "%s%s%s", add ? old->text : "",
		 add && old->text[0] && spec[0] ? "," : "", spec);
	rc = check_rules(v, text);
	if (rc)
		return rc;
	rc = vb_broker_fault(&v->o, i, text, v->has_seed || !add ? v->seed : old->seed);
	if (rc == 0)
		return 0;
	vb_cmd_error(v->cmd, "%s: the broker refused the rules: %s", v->host.device[i].name,
		     strerror(-rc));
	return 1;
}

static int set_rules(struct view *v, const char *spec, bool add)
{
	int rc = check_rules(v, spec);

	for (uint32_t i = 0; i < VB_DEVICES_MAX && !rc; i++)
		if (is_meant(v, i))
			rc = set_device(v, i, spec, add);
	if (!rc && spec[0] && !vb_broker_is_used(&v->o))
		vb_cmd_error(v->cmd, "%s", VB_CMD_SHORT_LIFE);
	return rc;
}

static void print_hit(const struct view *v, uint64_t time_ns, uint32_t pid,
		      const struct vb_trace_event *ev)
{
	const char *kind = ev->arg[0] < VB_FAULT_KIND_CNT
			       ? vb_fault_kind_name((enum vb_fault_kind)ev->arg[0])
			       : "?";
	const char *opcode = vb_opcode[ev->arg[2] & 0xff].name;
	const uint64_t attr = ev->arg[2] >> VB_FAULT_CM_SHIFT;
	char message[32] = "";
	uint32_t device = ev->node - 1;

	if (attr >= VB_CM_ATTR_FIRST && attr <= VB_CM_ATTR_LAST)
		snprintf(message, sizeof message, ",\"message\":\"CM_%s\"",
			 vb_cm_attr_name((enum vb_cm_attr)attr));
	printf("{\"event\":\"FAULT\",\"time\":%" PRIu64 ".%09" PRIu64
	       ",\"device\":\"%s\",\"pid\":%" PRIu32 ",\"qpn\":%" PRIu32
	       ",\"kind\":\"%s\",\"rule\":%" PRIu64 ",\"opcode\":\"%s\"%s,\"psn\":%" PRIu64 "}\n",
	       time_ns / 1000000000, time_ns % 1000000000,
	       device < VB_DEVICES_MAX ? v->host.device[device].name : "", pid, ev->qpn, kind,
	       ev->arg[1] + 1, opcode ? opcode : "", message, ev->arg[3]);
}

/* Prints the entries of a process's log from *from on. */
static void print_log(const struct view *v, const struct vb_slot_shm *s, uint64_t *from)
{
	const struct vb_fault_log *log = &s->fault_log;
	uint64_t cnt = __atomic_load_n(&log->cnt, __ATOMIC_ACQUIRE);

	if (cnt - *from > VB_FAULT_LOG_CNT)
		*from = cnt - VB_FAULT_LOG_CNT;
	for (; *from < cnt; ++*from) {
		struct vb_trace_event ev = log->hit[*from % VB_FAULT_LOG_CNT].event;
		uint64_t time_ns = log->hit[*from % VB_FAULT_LOG_CNT].time_ns;
		uint32_t pid = log->hit[*from % VB_FAULT_LOG_CNT].pid;

		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		/* Overwritten meanwhile. */
		if (__atomic_load_n(&log->cnt, __ATOMIC_RELAXED) - *from > VB_FAULT_LOG_CNT)
			continue;
		if (is_meant(v, ev.node - 1 < VB_DEVICES_MAX ? ev.node - 1 : 0))
			print_hit(v, time_ns, pid, &ev);
	}
}

static int show_log(struct view *v)
{
	static uint64_t from[VB_SLOT_CNT];
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	struct pollfd p = {.fd = signalfd(-1, &signals, SFD_CLOEXEC), .events = POLLIN};

	do {
		if (vb_broker_observe_slots(&v->o)) {
			vb_cmd_error(v->cmd, "the broker is gone");
			return 1;
		}
		for (int k = 0; k < VB_SLOT_CNT; k++)
			if (v->o.slot[k])
				print_log(v, v->o.slot[k], &from[k]);
		if (fflush(stdout))
			return vb_cmd_finish(v->cmd);
	} while (v->follow && poll(&p, 1, FOLLOW_MS) == 0);
	return vb_cmd_finish(v->cmd);
}

static int parse_options(struct view *v, int argc, char **argv)
{
	const char *arg;
	double seed;
	int i;

	while ((i = vb_cmd_next_option(v->cmd, argc, argv, &arg)) >= 0) {
		v->follow |= i == OPT_FOLLOW;
		if (i == OPT_DEVICE)
			v->device = arg;
		if (i != OPT_SEED)
			continue;
		if (!vb_cmd_number(arg, 0, 9007199254740991.0, &seed))
			return vb_cmd_usage(v->cmd, "'%s' is no seed", arg);
		v->seed = (uint64_t)seed;
		v->has_seed = true;
	}
	return 0;
}

static int act_on_rules(struct view *v, const char *verb, const char *spec)
{
	if (strcmp(verb, "list") == 0)
		return list_rules(v);
	if (strcmp(verb, "log") == 0)
		return show_log(v);
	if (strcmp(verb, "clear") == 0)
		return set_rules(v, "", false);
	return set_rules(v, spec, strcmp(verb, "add") == 0);
}

/* The word of what to do, in *verb; options may stand on both sides of it. */
static int read_line(struct view *v, int argc, char **argv, const char **verb, const char **spec)
{
	static const char *const known[] = {"list", "log", "clear", "set", "add"};
	bool takes_rules, is_known = false;
	int rc = parse_options(v, argc, argv);

	*verb = "list";
	*spec = NULL;
	if (!rc && optind < argc) {
		*verb = argv[optind++];
		rc = parse_options(v, argc, argv);
	}
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		is_known |= strcmp(*verb, known[i]) == 0;
	if (!rc && !is_known)
		return vb_cmd_usage(v->cmd, "there is no '%s', but list, set, add, clear and log",
				    *verb);
	takes_rules = strcmp(*verb, "set") == 0 || strcmp(*verb, "add") == 0;
	if (!rc && takes_rules) {
		if (optind == argc)
			return vb_cmd_usage(v->cmd, "%s needs rules, such as loss=1%%", *verb);
		*spec = argv[optind++];
		rc = parse_options(v, argc, argv);
	}
	if (!rc && optind < argc)
		return vb_cmd_usage(v->cmd, "unexpected argument '%s'", argv[optind]);
	return rc;
}

static int run_fault(const struct vb_cmd *cmd, int argc, char **argv)
{
	static struct view v;
	const char *verb, *spec;
	char why[512];
	bool known = false;
	int rc;

	v.cmd = cmd;
	rc = read_line(&v, argc, argv, &verb, &spec);
	if (!rc && spec)
		rc = check_rules(&v, spec);
	if (rc)
		return rc;
	/* Rules live in the broker, which lives as long as somebody uses it. */
	rc = vb_broker_observe(&v.o, false, why, sizeof why);
	if (rc) {
		vb_cmd_error(cmd, "%s",
			     rc == -ECONNREFUSED
				 ? "no program uses the adapter now; for one to come, "
				   "use 'verbena run --fault'"
				 : why);
		return 1;
	}
	vb_host_read(v.o.host, &v.host);
	for (uint32_t i = 0; i < VB_DEVICES_MAX; i++)
		known |= is_meant(&v, i);
	if (!known) {
		vb_cmd_error(cmd, "there is no device '%s'; see 'verbena devices'",
			     v.device ? v.device : "");
		return 1;
	}
	rc = act_on_rules(&v, verb, spec);
	vb_broker_observe_end(&v.o);
	return rc;
}

const struct vb_cmd vb_cmd_fault = {
    .name = "fault",
    .arguments = "[list | set RULES | add RULES | clear | log] [-d NAME] [-s NUMBER] [-f]",
    .text = "Shows and changes the faults that packets of running programs meet.",
    .options = options,
    .run = run_fault,
};
