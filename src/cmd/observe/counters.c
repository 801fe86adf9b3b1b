/* SPDX-License-Identifier: BSD-2-Clause */
/* `verbena counters`: the counters of each device, over all processes that use or used it. */
#include "cmd/observe/counters.h"
#include "cmd/cmd.h"
#include "node/broker/broker.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#define WATCH_SECONDS_DEFAULT 1.0
#define WATCH_SECONDS_MAX 86400.0

enum { OPT_WATCH, OPT_DEVICE, OPT_ALL, OPT_JSON, OPT_OPENMETRICS };

static const struct vb_cmd_option options[] = {
    [OPT_WATCH] = {'w', "watch", NULL, "show rates every SECONDS (1) until Ctrl-C"},
    [OPT_DEVICE] = {'d', "device", "NAME", "only this device or network device"},
    [OPT_ALL] = {'a', "all", NULL, "also counters that are 0"},
    [OPT_JSON] = {'j', "json", NULL, "print JSON, with all counters"},
    [OPT_OPENMETRICS] = {0, "openmetrics", NULL, "print all counters as Prometheus reads them"},
    {0},
};

struct view {
	const struct vb_cmd *cmd;
	bool all, watch, json, openmetrics;
	double seconds;
	struct vb_broker_observer o;
	struct vb_counters_view is;
};

static int open_view(struct view *v)
{
	char why[512];

	if (vb_broker_observe(&v->o, true, why, sizeof why) == 0)
		return 0;
	vb_cmd_error(v->cmd, "%s", why);
	return 1;
}

/* Reads devices and totals; connects again when the broker has gone in between. */
static int read_view(struct view *v)
{
	if (vb_broker_observe_slots(&v->o)) {
		vb_broker_observe_end(&v->o);
		if (open_view(v))
			return 1;
		(void)vb_broker_observe_slots(&v->o);
	}
	vb_host_read(v->o.host, &v->is.host);
	vb_broker_totals(&v->o, v->is.total);
	return 0;
}

static void print_totals(const struct view *v)
{
	for (uint32_t i = 0; i < v->is.host.device_cnt; i++) {
		bool any = false;

		if (!vb_counters_is_shown(&v->is, i))
			continue;
		printf("%s (%s)\n", v->is.host.device[i].name, v->is.host.device[i].ifname);
		for (int k = 0; k < VB_COUNTER_CNT; k++) {
			uint64_t n = v->is.total[i + 1].v[k];

			if (!n && !v->all)
				continue;
			any = true;
			printf("  %-28s %20" PRIu64 "  %s\n", vb_counter_info[k].name, n,
			       vb_counter_info[k].text);
		}
		if (!any)
			puts("  all counters are 0 (--all lists them)");
	}
}

/* Data also in bytes and bits: the counter itself has words of 4 bytes. */
static void print_rate(int k, double rate)
{
	printf("  %-28s %20.0f /s", vb_counter_info[k].name, rate);
	if (k == VB_COUNTER_port_xmit_data || k == VB_COUNTER_port_rcv_data)
		printf("  %20.0f bytes/s  %8.3f Gb/s", rate * VB_COUNTER_WORD_BYTES,
		       rate * VB_COUNTER_WORD_BYTES * 8 / 1e9);
	putchar('\n');
}

static void print_rates(const struct view *v, const struct vb_counters *before, double seconds)
{
	char stamp[16];
	time_t now = time(NULL);
	struct tm tm;

	strftime(stamp, sizeof stamp, "%H:%M:%S", localtime_r(&now, &tm));
	for (uint32_t i = 0; i < v->is.host.device_cnt; i++) {
		if (!vb_counters_is_shown(&v->is, i))
			continue;
		printf("%s %s (%s)\n", stamp, v->is.host.device[i].name,
		       v->is.host.device[i].ifname);
		for (int k = 0; k < VB_COUNTER_CNT; k++) {
			/* A new broker starts from 0. */
			uint64_t now_n = v->is.total[i + 1].v[k], was = before[i + 1].v[k];
			uint64_t diff = now_n > was ? now_n - was : 0;

			if (diff || v->all)
				print_rate(k, (double)diff / seconds);
		}
	}
	fflush(stdout);
}

static double seconds_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Until Ctrl-C, which is a regular end. */
static int watch_counters(struct view *v)
{
	static struct vb_counters before[VB_HCA_PORTS_MAX + 1];
	double last = seconds_now();
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	struct pollfd p = {.fd = signalfd(-1, &set, SFD_CLOEXEC), .events = POLLIN};

	for (;;) {
		memcpy(before, v->is.total, sizeof before);
		if (poll(&p, 1, (int)(v->seconds * 1000)) > 0)
			return vb_cmd_finish(v->cmd);
		if (read_view(v))
			return 1;
		double now = seconds_now();

		print_rates(v, before, now - last);
		last = now;
		if (ferror(stdout))
			return vb_cmd_finish(v->cmd);
	}
}

/* --watch takes its SECONDS as the next argument, if that is a number. */
static int parse_options(struct view *v, int argc, char **argv)
{
	const char *arg;
	int i;

	while ((i = vb_cmd_next_option(v->cmd, argc, argv, &arg)) >= 0) {
		v->all |= i == OPT_ALL;
		v->json |= i == OPT_JSON;
		v->openmetrics |= i == OPT_OPENMETRICS;
		if (i == OPT_DEVICE)
			v->is.device = arg;
		if (i != OPT_WATCH)
			continue;
		v->watch = true;
		if (optind < argc &&
		    (isdigit((unsigned char)argv[optind][0]) || argv[optind][0] == '.')) {
			if (!vb_cmd_number(argv[optind], 0.01, WATCH_SECONDS_MAX, &v->seconds))
				return vb_cmd_usage(v->cmd, "'%s' is no number of seconds",
						    argv[optind]);
			optind++;
		}
	}
	if (optind < argc)
		return vb_cmd_usage(v->cmd, "unexpected argument '%s'", argv[optind]);
	if (v->watch + v->json + v->openmetrics > 1)
		return vb_cmd_usage(v->cmd, "only one of --watch, --json and --openmetrics");
	return 0;
}

static int run_counters(const struct vb_cmd *cmd, int argc, char **argv)
{
	static struct view v;
	bool known = false;

	v.cmd = cmd;
	v.seconds = WATCH_SECONDS_DEFAULT;
	int rc = parse_options(&v, argc, argv);
	if (rc)
		return rc;
	if (open_view(&v) || read_view(&v))
		return 1;
	for (uint32_t i = 0; i < v.is.host.device_cnt; i++)
		known |= vb_counters_is_shown(&v.is, i);
	if (v.is.device && !known) {
		vb_cmd_error(cmd, "there is no device '%s'; see 'verbena devices'", v.is.device);
		return 1;
	}
	if (v.watch)
		return watch_counters(&v);
	if (v.json)
		vb_counters_json(stdout, &v.is);
	else if (v.openmetrics)
		vb_counters_openmetrics(stdout, &v.is);
	else
		print_totals(&v);
	vb_broker_observe_end(&v.o);
	return vb_cmd_finish(cmd);
}

const struct vb_cmd vb_cmd_counters = {
    .name = "counters",
    .arguments = "[--watch [SECONDS] | --json | --openmetrics] [-d NAME] [--all]",
    .text = "Shows the counters of the devices.",
    .options = options,
    .run = run_counters,
};
