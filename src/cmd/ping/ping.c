/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `verbena ping`: asks the adapter at another host, again and again, and says what it is, how long
 * answers take, how long a packet may be, what gets lost and what its clock says.
 */
#include "cmd/ping/ping.h"

#include "node/host/clock.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* The other adapter answers ten questions a second of one address; these leave room for others. */
#define INTERVAL_MIN 0.2
#define INTERVAL_MAX 3600.0
#define TIMEOUT_MAX 3.0 /* so that at most 16 questions are open */
#define COUNT_MAX 1e9

/* Questions about the path MTU, beside the others. */
#define PROBE_TAG 0x80000000u
/* To hear of an error that an ICMP message brought: with the next packet. */
#define LISTEN_ATTEMPTS 3
#define LISTEN_NS (100 * VB_MSEC)

enum { OPT_COUNT, OPT_INTERVAL, OPT_SIZE, OPT_TIMEOUT, OPT_DEVICE, OPT_QUIET, OPT_JSON };

static const struct vb_cmd_option options[] = {
    [OPT_COUNT] = {'c', "count", "N", "ask N times; without it, until Ctrl-C"},
    [OPT_INTERVAL] = {'i', "interval", "SECONDS", "from question to question: 1, at least 0.2"},
    [OPT_SIZE] = {'s', "size", "BYTES",
		  "of a question and its answer: 256 to 4096, a multiple of 4"},
    [OPT_TIMEOUT] = {'W', "timeout", "SECONDS", "how long to wait for an answer: 1, at most 3"},
    [OPT_DEVICE] = {'d', "device", "NAME", "by this device or network device"},
    [OPT_QUIET] = {'q', "quiet", NULL, "the summary alone"},
    [OPT_JSON] = {'j', "json", NULL, "the summary as JSON"},
    {0},
};

/* Asks which path MTUs come there and back: the largest, and when that does not, the others. */
static int probe_sizes(struct vb_ping *p)
{
	struct vb_broker_ask a;
	int rc = 0;

	for (uint32_t i = VB_REMOTE_SIZES; i > 0 && !rc && p->probe_round < 2; i--) {
		if (!vb_remote_probe(&p->r, i - 1, p->probe_round, &a))
			continue;
		rc = vb_broker_ask_begin(&p->r.o, PROBE_TAG | (i - 1), &a);
		p->probes += !rc;
	}
	if (!p->probe_round++ && p->sent == 1)
		vb_remote_heed(&p->r);
	return rc;
}

static void take_trip(struct vb_ping *p, vb_dur trip)
{
	p->trip[p->answered++ % VB_PING_KEPT] = trip;
	if (!p->shortest || trip < p->shortest)
		p->shortest = trip;
	if (trip > p->longest)
		p->longest = trip;
}

/* Takes the outcome of a question. */
static int take_answer(struct vb_ping *p)
{
	struct vb_broker_ask a;
	uint32_t tag;
	int status, rc = vb_broker_ask_take(&p->r.o, &tag, &a, &status);

	if (rc)
		return rc == -EAGAIN ? 0 : rc;
	if (status == 0)
		vb_remote_take(&p->r, &a);
	if (tag & PROBE_TAG) {
		p->probes--;
		if (status && (tag & ~PROBE_TAG) < VB_REMOTE_SIZES)
			p->r.fit[tag & ~PROBE_TAG] = VB_FIT_NO;
		return status && !p->probes ? probe_sizes(p) : 0;
	}
	if (status) {
		p->lost++;
		p->is_too_long |= status == -EMSGSIZE;
		vb_ping_show_loss(p, tag);
		return 0;
	}
	take_trip(p, a.round_trip);
	vb_ping_show_answer(p, tag, a.round_trip);
	return p->probe_round ? 0 : probe_sizes(p);
}

static bool is_done(const struct vb_ping *p)
{
	return p->is_too_long ||
	       (p->count && p->sent == p->count && p->answered + p->lost == p->sent && !p->probes);
}

/* Until all answers are there, or a signal comes. */
static int ask_all(struct vb_ping *p, int signal_fd)
{
	struct pollfd fds[] = {{.fd = p->r.o.sock, .events = POLLIN},
			       {.fd = signal_fd, .events = POLLIN}};
	vb_time due = vb_clock_now();
	int rc = 0;

	while (!rc && !is_done(p)) {
		vb_time now = vb_clock_now();
		bool is_asking = !p->count || p->sent < p->count;

		if (is_asking && now >= due) {
			struct vb_broker_ask a = vb_remote_question(&p->r, p->bytes, 1, p->timeout);

			if (p->sent == 1)
				vb_remote_heed(&p->r);
			rc = vb_broker_ask_begin(&p->r.o, ++p->sent, &a);
			/* Questions that were missed are not made up for. */
			due = vb_time_max(due + p->interval, now);
			continue;
		}
		if (poll(fds, 2, is_asking ? (int)(vb_time_since(now, due) / VB_MSEC) + 1 : -1) < 0)
			rc = errno == EINTR ? 0 : -errno;
		else if (fds[1].revents)
			break;
		else if (fds[0].revents)
			rc = take_answer(p);
	}
	return rc;
}

/* The last packets may have met an error that only another one brings to light. */
static void listen_for_errors(struct vb_ping *p)
{
	struct vb_broker_ask a = vb_remote_question(&p->r, VB_MAD_LEN, LISTEN_ATTEMPTS, LISTEN_NS);
	int status;

	if (p->answered)
		return;
	if (p->sent == 1)
		vb_remote_heed(&p->r);
	(void)vb_broker_ask(&p->r.o, &a, &status, 1);
}

static int catch_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static int ping_host(struct vb_ping *p)
{
	char why[512];
	int fd, rc;

	if (vb_remote_open(&p->r, p->host, p->device, why, sizeof why)) {
		vb_cmd_error(p->cmd, "%s", why);
		return 1;
	}
	fd = catch_signals();
	if (!p->json && !p->quiet) {
		printf("%s (%s) from %s, %s, %u bytes\n", p->host, p->r.address,
		       vb_word_gid(&p->r.from).s, p->r.host.device[p->r.device].name, p->bytes);
		fflush(stdout);
	}
	rc = ask_all(p, fd);
	if (rc) {
		vb_cmd_error(p->cmd, "the broker of this host has ended: %s", strerror(-rc));
	} else if (p->is_too_long) {
		vb_cmd_error(p->cmd, "%u bytes are more than the path MTU of %s, which is %u",
			     p->bytes, p->r.host.device[p->r.device].name,
			     vb_mtu_bytes((enum vb_mtu)p->r.host.device[p->r.device].active_mtu));
	} else {
		/* Nobody who is impatient waits for that. */
		if (p->answered + p->lost == p->sent)
			listen_for_errors(p);
		vb_ping_show_summary(p);
	}
	if (fd >= 0)
		close(fd);
	vb_remote_close(&p->r);
	rc = rc || p->is_too_long || !p->answered;
	return vb_cmd_finish(p->cmd) ? 1 : rc;
}

/* A number of seconds, or a whole one. */
static int parse_number(struct vb_ping *p, int option, const char *arg)
{
	double v;

	switch (option) {
	case OPT_COUNT:
		if (!vb_cmd_number(arg, 1, COUNT_MAX, &v) || v != (uint32_t)v)
			return vb_cmd_usage(p->cmd, "'%s' is no number of questions", arg);
		p->count = (uint32_t)v;
		return 0;
	case OPT_INTERVAL:
		if (!vb_cmd_number(arg, INTERVAL_MIN, INTERVAL_MAX, &v))
			return vb_cmd_usage(p->cmd, "'%s' is no interval from 0.2 to 3600 seconds",
					    arg);
		p->interval = (vb_dur)(v * (double)VB_SEC);
		return 0;
	case OPT_SIZE:
		if (!vb_cmd_number(arg, VB_MAD_LEN, 4096, &v) || v != (uint32_t)v ||
		    (uint32_t)v % 4)
			return vb_cmd_usage(
			    p->cmd, "'%s' is no size: 256 to 4096 bytes, a multiple of 4", arg);
		p->bytes = (uint32_t)v;
		return 0;
	default:
		if (!vb_cmd_number(arg, 0.001, TIMEOUT_MAX, &v))
			return vb_cmd_usage(p->cmd, "'%s' is no time from 0.001 to 3 seconds", arg);
		p->timeout = (vb_dur)(v * (double)VB_SEC);
		return 0;
	}
}

static int run_ping(const struct vb_cmd *cmd, int argc, char **argv)
{
	static struct vb_ping p;
	const char *arg;
	int i, rc = 0;

	p = (struct vb_ping){
	    .cmd = cmd, .bytes = VB_MAD_LEN, .interval = VB_SEC, .timeout = VB_SEC};
	/* Options before the host and behind it. */
	for (;;) {
		while (!rc && (i = vb_cmd_next_option(cmd, argc, argv, &arg)) >= 0) {
			p.json |= i == OPT_JSON;
			p.quiet |= i == OPT_QUIET;
			if (i == OPT_DEVICE)
				p.device = arg;
			else if (i != OPT_JSON && i != OPT_QUIET)
				rc = parse_number(&p, i, arg);
		}
		if (rc)
			return rc;
		if (optind >= argc)
			break;
		if (p.host)
			return vb_cmd_usage(cmd, "unexpected argument '%s'", argv[optind]);
		p.host = argv[optind++];
	}
	if (!p.host)
		return vb_cmd_usage(cmd, "which host?");
	return ping_host(&p);
}

const struct vb_cmd vb_cmd_ping = {
    .name = "ping",
    .arguments = "[-c N] [-i SECONDS] [-s BYTES] [-W SECONDS] [-d NAME] [-q] [--json] HOST",
    .text = "Asks the adapter at another host: whether it is there, how fast, how long a packet "
	    "may be.",
    .options = options,
    .run = run_ping,
};
