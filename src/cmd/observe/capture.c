/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `verbena capture`: writes what the adapter sends and receives, for all processes of the host and
 * in the order of time, as pcapng. Each process has a ring of its own (link/middle/capture.h); this
 * merges them.
 */
#include "cmd/cmd.h"
#include "cmd/observe/capture_page.h"
#include "cmd/observe/capture_rates.h"
#include "export/pcapng.h"
#include "node/broker/broker.h"
#include "node/client/ring_reader.h"
#include "node/host/clock.h"
#include "traffic/comment/fault.h"

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

enum { OPT_COUNT, OPT_SECONDS, OPT_READ, OPT_REPORT };

static const struct vb_cmd_option options[] = {
    [OPT_COUNT] = {'c', "count", "COUNT", "stop after COUNT packets"},
    [OPT_SECONDS] = {'t', "time", "SECONDS", "stop after SECONDS"},
    [OPT_READ] = {'r', "read", "FILE", "do not capture: read FILE; once more for the other end's"},
    [OPT_REPORT] = {0, "report", "FILE",
		    "write a page for a browser: charts, and the packets one by one"},
    {0},
};

struct capture {
	const struct vb_cmd *cmd;
	const char *path;
	FILE *file;
	struct vb_capture_pages pages;
	uint64_t limit;   /* packets */
	vb_time deadline; /* CLOCK_MONOTONIC */
	vb_time slots_due;
	struct vb_pcapng out;
	struct vb_broker_observer o;
	bool has_reader[VB_SLOT_CNT];
	uint32_t reader_cnt;
	struct vb_ring_reader *reader[VB_SLOT_CNT]; /* reader_cnt of them, in no order */
	struct vb_capture_rates rates;
	uint64_t ahead_ns; /* CLOCK_REALTIME, of CLOCK_MONOTONIC */
	uint64_t captured, lost;
	struct {
		bool known;
		uint32_t interface;
		uint64_t captured;
	} port[VB_HCA_PORTS_MAX + 1];
};

static int add_interface(struct capture *c, uint32_t port)
{
	static struct vb_host_shm host;

	vb_host_read(c->o.host, &host);
	const struct vb_device *d = &host.device[port - 1];
	c->port[port].known = true;
	c->port[port].interface = c->out.interface_cnt;
	return vb_pcapng_interface(&c->out, d->name, d->ifname, (uint64_t)d->speed_mbps * 1000000,
				   VB_PCAPNG_IP);
}

static int write_packet(struct capture *c, const struct vb_ring_reader *r)
{
	const struct vb_capture_rec *rec = &r->rec;
	uint32_t port = rec->port >= 1 && rec->port <= VB_HCA_PORTS_MAX ? rec->port : 1;
	struct vb_udp_frame frame = {
	    .src = rec->src,
	    .dst = rec->dst,
	    .flow_label = rec->flow_label,
	    .sport = rec->sport,
	    .dport = rec->dport,
	    .ip_id = rec->ip_id,
	    .traffic_class = rec->traffic_class,
	    .hop_limit = rec->hop_limit,
	    .payload = r->data,
	    .payload_len = rec->len,
	};
	char comment[VB_FAULT_COMMENT_MAX + VB_CAPTURE_RATES_PER_PACKET * VB_RATE_COMMENT_MAX];
	int rc = c->port[port].known ? 0 : add_interface(c, port);

	if (!vb_fault_comment(rec->mark, comment))
		comment[0] = 0;
	vb_capture_rates_tell(&c->rates, rec->time_ns, c->ahead_ns, comment, sizeof comment);

	if (!rc)
		rc = vb_pcapng_packet(&c->out, c->port[port].interface, rec->time_ns,
				      rec->sent != 0, &frame, comment[0] ? comment : NULL);
	c->captured += !rc;
	c->port[port].captured += !rc;
	return rc;
}

/* Writes the packets up to time @until, the oldest first. */
static int drain_rings(struct capture *c, uint64_t until)
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
		int rc = write_packet(c, first);
		if (rc)
			return rc;
		vb_ring_reader_pop(first);
	}
	return fflush(c->file) ? -errno : 0;
}

/* Attaches to the rings of processes that are new. @from_start: their first packets are wanted. */
static int find_rings(struct capture *c, bool from_start)
{
	int rc = vb_broker_observe_slots(&c->o);

	for (int k = 0; !rc && k < VB_SLOT_CNT; k++) {
		if (c->has_reader[k] || !c->o.slot[k])
			continue;
		struct vb_ring_reader *r = malloc(sizeof *r);
		if (!r)
			return -ENOMEM;
		vb_ring_reader_init(r, &c->o.slot[k]->capture, from_start);
		c->reader[c->reader_cnt++] = r;
		c->has_reader[k] = true;
	}
	return rc;
}

static void release_rings(struct capture *c)
{
	for (uint32_t i = 0; i < c->reader_cnt; i++) {
		c->lost += c->reader[i]->lost;
		free(c->reader[i]);
	}
	c->reader_cnt = 0;
	memset(c->has_reader, 0, sizeof c->has_reader);
}

/* The places of the rings are read before capturing starts, so nothing is missed in between. */
static int attach_rings(struct capture *c)
{
	char why[512];

	if (vb_broker_observe(&c->o, true, why, sizeof why)) {
		vb_cmd_error(c->cmd, "%s", why);
		return 1;
	}
	int rc = find_rings(c, false);
	vb_capture_rates_look(&c->rates, &c->o, false);
	if (!rc)
		rc = vb_broker_capture(&c->o, true);
	if (rc)
		vb_cmd_error(c->cmd, "lost the broker: %s", strerror(-rc));
	return rc ? 1 : 0;
}

static int write_failed(struct capture *c, int rc)
{
	if (rc == -EPIPE)
		return 0; /* the reader has seen enough */
	vb_cmd_error(c->cmd, "cannot write %s: %s", c->path, strerror(-rc));
	return 1;
}

/* One round: new rings, packets. Returns 0 to go on, else 1 + the exit status. */
static int capture_round(struct capture *c, vb_time now)
{
	int rc;

	c->ahead_ns = vb_clock_read(CLOCK_REALTIME) - now;
	vb_capture_rates_look(&c->rates, &c->o, true);
	rc = drain_rings(c, vb_clock_read(CLOCK_REALTIME) - SETTLE_NS);

	if (rc)
		return 1 + write_failed(c, rc);
	if (now < c->slots_due)
		return 0;
	c->slots_due = now + SLOTS_NS;
	if (find_rings(c, true) == 0)
		return 0;
	/* The broker has gone; the rings that are mapped still have their packets. */
	rc = drain_rings(c, UINT64_MAX);
	release_rings(c);
	vb_broker_observe_end(&c->o);
	if (rc)
		return 1 + write_failed(c, rc);
	return attach_rings(c) ? 2 : 0;
}

static int capture_loop(struct capture *c)
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
	vb_capture_rates_look(&c->rates, &c->o, true);
	int rc = drain_rings(c, UINT64_MAX);
	(void)vb_broker_capture(&c->o, false);
	if (!rc)
		rc = drain_rings(c, UINT64_MAX);
	return rc ? write_failed(c, rc) : 0;
}

static int finish_capture(struct capture *c)
{
	uint64_t now = vb_clock_read(CLOCK_REALTIME);
	int rc = 0;

	release_rings(c);
	for (uint32_t port = 1; !rc && port <= VB_HCA_PORTS_MAX; port++)
		if (c->port[port].known)
			rc = vb_pcapng_statistics(&c->out, c->port[port].interface, now,
						  c->port[port].captured, c->lost);
	if (!rc && fclose(c->file))
		rc = -errno;
	c->file = NULL;
	vb_broker_observe_end(&c->o);
	fprintf(stderr, "%" PRIu64 " packets captured, %" PRIu64 " lost\n", c->captured, c->lost);
	return rc ? write_failed(c, rc) : 0;
}

static int open_output(struct capture *c)
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

static int take_option(struct capture *c, int option, const char *arg)
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
	} else {
		return vb_cmd_usage(c->cmd, "'%s' is no positive number", arg);
	}
	return 0;
}

static int parse_options(struct capture *c, int argc, char **argv)
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
	if (c->pages.read_cnt)
		return 0;
	if (c->path && c->pages.page && strcmp(c->path, "-") == 0)
		return vb_cmd_usage(c->cmd, "--report reads the capture again: it needs a file");
	return c->path ? 0 : vb_cmd_usage(c->cmd, "no file to write");
}

static int capture_to_file(struct capture *c)
{
	int rc = open_output(c), end;

	if (!rc)
		rc = attach_rings(c);
	if (rc)
		return rc;
	rc = vb_pcapng_begin(&c->out, c->file, "verbena " VERBENA_VERSION);
	for (uint32_t i = 0; !rc && i < c->o.host->device_cnt; i++)
		if (c->o.host->device[i].ifindex)
			rc = add_interface(c, i + 1);
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
	static struct capture c;
	int rc;

	c = (struct capture){.cmd = cmd, .limit = UINT64_MAX, .deadline = VB_NEVER};
	rc = parse_options(&c, argc, argv);
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
    .arguments = "FILE [-c COUNT] [-t SECONDS] [--report FILE] | -r FILE [-r FILE] --report FILE",
    .text =
	"Writes the packets of the adapter to a pcapng file, or to stdout with '-'; or a page of "
	"captures.",
    .options = options,
    .run = run_capture,
};
