/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `verbena capture`: writes what the adapter sends and receives, for all processes of the host, or
 * what passes the ports of an InfiniBand fabric, in the order of time as pcapng. Each process has a
 * ring of its own (link/middle/capture.h); this merges them.
 */
#include "cmd/capture/capture.h"
#include "node/host/clock.h"

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

#define ROUND_MS 2      /* between two looks while nothing happens */
#define ROUND_BUSY_MS 1 /* a ring of 8 MiB is full in a few milliseconds at full speed */
#define FILE_BUFFER_BYTES (1 << 20)
#define SLOTS_NS (3 * VB_MSEC) /* between two looks for new processes */
/* A packet is in its ring this long after its time at the latest, unless the writer was preempted
 * for longer. This and a look for its process have to fit in what fills a ring: a ping-pong of
 * 4 KiB takes 15 ms. */
#define SETTLE_NS (6 * VB_MSEC)
#define SECONDS_MAX 1e9
#define COUNT_MAX 1e15
#define PORT_MAX 254
#define FABRIC_DEFAULT "ib0"

enum { OPT_COUNT, OPT_SECONDS, OPT_READ, OPT_REPORT, OPT_FABRIC, OPT_NODE, OPT_PORT, OPT_FLOW };

static const struct vb_cmd_option options[] = {
    [OPT_COUNT] = {'c', "count", "COUNT", "stop after COUNT packets"},
    [OPT_SECONDS] = {'t', "time", "SECONDS", "stop after SECONDS"},
    [OPT_READ] = {'r', "read", "FILE", "do not capture: read FILE; once more for the other end's"},
    [OPT_REPORT] = {0, "report", "FILE",
		    "write a page for a browser: charts, and the packets one by one"},
    [OPT_FABRIC] = {0, "fabric", "NAME", "what passes the ports of an InfiniBand fabric"},
    [OPT_NODE] = {0, "node", "NODE", "only the ports of this node (of " FABRIC_DEFAULT ")"},
    [OPT_PORT] = {0, "port", "PORT", "only this port of the node"},
    [OPT_FLOW] = {0, "flow-control", NULL, "flow control packets of a fabric in real time as well"},
    {0},
};

/* Writes the packets up to time @until, the oldest first. */
static int drain_rings(struct vb_capture *c, uint64_t until)
{
	while (c->captured < c->limit) {
		struct vb_ring_reader *first = NULL;

		for (uint32_t i = 0; i < c->reader_cnt; i++) {
			struct vb_ring_reader *r = c->reader[i];

			if (vb_ring_reader_peek(r) && r->rec.time_ns <= until &&
			    (!first || r->rec.time_ns < first->rec.time_ns))
				first = r;
		}
		if (!first)
			break;
		int rc = c->source->write(c, first);
		if (rc)
			return rc;
		vb_ring_reader_pop(first);
	}
	return fflush(c->file) ? -errno : 0;
}

/* Attaches to the rings of processes that are new. @from_start: their first packets are wanted. */
static int find_rings(struct vb_capture *c, bool from_start)
{
	int rc = c->source->find(c);

	for (uint32_t k = 0; !rc && k < VB_SLOT_CNT; k++) {
		const struct vb_capture_ring *ring = c->source->ring(c, k);

		if (c->has_reader[k] || !ring)
			continue;
		struct vb_ring_reader *r = malloc(sizeof *r);
		if (!r)
			return -ENOMEM;
		vb_ring_reader_init(r, ring, from_start);
		c->reader[c->reader_cnt++] = r;
		c->has_reader[k] = true;
	}
	return rc;
}

static void look_aside(struct vb_capture *c, bool is_first)
{
	if (c->source->look)
		c->source->look(c, is_first);
}

static void release_rings(struct vb_capture *c)
{
	for (uint32_t i = 0; i < c->reader_cnt; i++) {
		c->lost += c->reader[i]->lost;
		free(c->reader[i]);
	}
	c->reader_cnt = 0;
	memset(c->has_reader, 0, sizeof c->has_reader);
}

/* The places of the rings are read before capturing starts, so nothing is missed in between. */
static int attach_rings(struct vb_capture *c)
{
	int rc;

	if (c->source->attach(c))
		return 1;
	rc = find_rings(c, false);
	look_aside(c, true);
	if (!rc)
		rc = c->source->turn(c, true);
	if (rc)
		vb_cmd_error(c->cmd, "lost what was to be captured: %s", strerror(-rc));
	return rc ? 1 : 0;
}

static int write_failed(struct vb_capture *c, int rc)
{
	if (rc == -EPIPE)
		return 0; /* the reader has seen enough */
	vb_cmd_error(c->cmd, "cannot write %s: %s", c->path, strerror(-rc));
	return 1;
}

/* One round: new rings, packets. Returns 0 to go on, else 1 + the exit status. */
static int capture_round(struct vb_capture *c, vb_time now)
{
	int rc;

	c->ahead_ns = vb_clock_read(CLOCK_REALTIME) - now;
	look_aside(c, false);
	rc = drain_rings(c, vb_clock_read(CLOCK_REALTIME) - SETTLE_NS);

	if (rc)
		return 1 + write_failed(c, rc);
	if (now < c->slots_due)
		return 0;
	c->slots_due = now + SLOTS_NS;
	if (find_rings(c, true) == 0)
		return 0;
	/* The broker, or the fabric, has gone; the rings that are mapped still have their packets.
	 */
	rc = drain_rings(c, UINT64_MAX);
	if (rc)
		return 1 + write_failed(c, rc);
	if (!c->source->comes_back)
		return 1;
	release_rings(c);
	c->source->detach(c);
	return attach_rings(c) ? 2 : 0;
}

static int capture_loop(struct vb_capture *c)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	struct pollfd p = {.fd = signalfd(-1, &set, SFD_CLOEXEC), .events = POLLIN};

	int wait_ms = 0;

	while (c->captured < c->limit && vb_clock_now() < c->deadline) {
		uint64_t before = c->captured;

		if (poll(&p, 1, wait_ms) > 0)
			break;
		int rc = capture_round(c, vb_clock_now());
		if (rc)
			return rc - 1;
		wait_ms = c->captured > before ? ROUND_BUSY_MS : ROUND_MS;
	}
	/* Writes the packets captured up to now, also of processes that came last. First the rings
	 * of ended processes: when nobody captures any more, the broker gives them away. */
	(void)find_rings(c, true);
	look_aside(c, false);
	int rc = drain_rings(c, UINT64_MAX);
	(void)c->source->turn(c, false);
	if (!rc)
		rc = drain_rings(c, UINT64_MAX);
	return rc ? write_failed(c, rc) : 0;
}

static int finish_capture(struct vb_capture *c)
{
	int rc;

	release_rings(c);
	rc = c->source->finish(c, vb_clock_read(CLOCK_REALTIME));
	if (!rc && fclose(c->file))
		rc = -errno;
	c->file = NULL;
	c->source->detach(c);
	fprintf(stderr, "%" PRIu64 " packets captured, %" PRIu64 " lost\n", c->captured, c->lost);
	return rc ? write_failed(c, rc) : 0;
}

static int open_output(struct vb_capture *c)
{
	/* parse_options() has seen to the path; the analyser does not know what vb_cmd_usage()
	 * returns. */
	/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) */
	if (strcmp(c->path, "-") != 0) {
		c->file = fopen(c->path, "we");
	} else if (isatty(STDOUT_FILENO)) {
		vb_cmd_error(c->cmd, "a capture is not for a terminal; redirect the output");
		return VB_EXIT_USAGE;
	} else {
		c->file = stdout;
	}
	if (c->file) {
		(void)setvbuf(c->file, NULL, _IOFBF, FILE_BUFFER_BYTES);
		return 0;
	}
	vb_cmd_error(c->cmd, "cannot create %s: %s", c->path, strerror(errno));
	return 1;
}

static int take_option(struct vb_capture *c, int option, const char *arg)
{
	double n;

	if (option == OPT_COUNT && vb_cmd_number(arg, 1, COUNT_MAX, &n)) {
		c->limit = (uint64_t)n;
	} else if (option == OPT_SECONDS && vb_cmd_number(arg, 0.001, SECONDS_MAX, &n)) {
		c->deadline = vb_clock_now() + (uint64_t)(n * 1e9);
	} else if (option == OPT_READ) {
		if (c->pages.read_cnt == VB_TRAFFIC_FILES)
			return vb_cmd_usage(c->cmd, "a connection has two ends: --read at most "
						    "twice");
		c->pages.read[c->pages.read_cnt++] = arg;
	} else if (option == OPT_REPORT) {
		c->pages.page = arg;
	} else if (option == OPT_FABRIC) {
		c->fabric = arg;
	} else if (option == OPT_NODE) {
		c->node = arg;
	} else if (option == OPT_FLOW) {
		c->with_flow = true;
	} else if (option == OPT_PORT && vb_cmd_number(arg, 1, PORT_MAX, &n)) {
		c->port = (uint32_t)n;
	} else {
		return vb_cmd_usage(c->cmd, "'%s' is no positive number", arg);
	}
	return 0;
}

static int parse_options(struct vb_capture *c, int argc, char **argv)
{
	const char *arg;
	int i;

	while ((i = vb_cmd_next_option(c->cmd, argc, argv, &arg)) >= 0) {
		int rc = take_option(c, i, arg);

		if (rc)
			return rc;
	}
	/* Options may also stand behind FILE. */
	if (optind < argc && !c->path) {
		c->path = argv[optind++];
		return parse_options(c, argc, argv);
	}
	if (optind < argc)
		return vb_cmd_usage(c->cmd, "unexpected argument '%s'", argv[optind]);
	if (c->pages.read_cnt && !c->pages.page)
		return vb_cmd_usage(c->cmd, "--read is for --report: say what page to write");
	if (c->pages.read_cnt && (c->path || c->limit != UINT64_MAX || c->deadline != VB_NEVER))
		return vb_cmd_usage(c->cmd, "either capture, or --read what was captured");
	if (c->port && !c->node)
		return vb_cmd_usage(c->cmd, "--port is one of a node: say which, by --node");
	if (c->with_flow && !c->node && !c->fabric)
		return vb_cmd_usage(c->cmd,
				    "--flow-control is of a fabric: say which, by --fabric");
	if (c->node && !c->fabric)
		c->fabric = FABRIC_DEFAULT;
	if (c->fabric && c->pages.page)
		return vb_cmd_usage(c->cmd, "--report is a page of RoCEv2, not of a fabric");
	if (c->pages.read_cnt)
		return 0;
	if (c->path && c->pages.page && strcmp(c->path, "-") == 0)
		return vb_cmd_usage(c->cmd, "--report reads the capture again: it needs a file");
	return c->path ? 0 : vb_cmd_usage(c->cmd, "no file to write");
}

static int capture_to_file(struct vb_capture *c)
{
	int rc = open_output(c), end;

	if (!rc)
		rc = attach_rings(c);
	if (rc)
		return rc;
	rc = vb_pcapng_begin(&c->out, c->file, "verbena " VERBENA_VERSION);
	if (!rc)
		rc = c->source->begin(c);
	if (!rc && fflush(c->file))
		rc = -errno;
	if (rc)
		return write_failed(c, rc);
	if (c->deadline == VB_NEVER && c->limit == UINT64_MAX && isatty(STDERR_FILENO))
		fputs("capturing; end with Ctrl-C\n", stderr);
	rc = capture_loop(c);
	end = finish_capture(c);
	return rc ? rc : end;
}

static int run_capture(const struct vb_cmd *cmd, int argc, char **argv)
{
	static struct vb_capture c;
	int rc;

	c = (struct vb_capture){.cmd = cmd, .limit = UINT64_MAX, .deadline = VB_NEVER};
	rc = parse_options(&c, argc, argv);
	c.source = c.fabric ? &vb_capture_fabric : &vb_capture_host;
	/* Before anything is captured: whether there can be a page of it. */
	if (!rc && c.pages.page)
		rc = vb_capture_page_check(cmd, &c.pages);
	if (!rc && c.pages.read_cnt == 0) {
		rc = capture_to_file(&c);
		c.pages.read[c.pages.read_cnt++] = c.path;
	}
	if (!rc && c.pages.page)
		rc = vb_capture_page(cmd, &c.pages);
	return rc;
}

const struct vb_cmd vb_cmd_capture = {
    .name = "capture",
    .arguments = "FILE [-c COUNT] [-t SECONDS] [--report FILE] | FILE --fabric NAME [--node NODE] "
		 "[--port PORT] | -r FILE [-r FILE] --report FILE",
    .text =
	"Writes the packets of the adapter, or of an InfiniBand fabric, to a pcapng file, or to "
	"stdout with '-'; or a page of captures.",
    .options = options,
    .run = run_capture,
};
