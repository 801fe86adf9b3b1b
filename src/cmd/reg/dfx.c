/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `verbena dfx`: the recorder of a QP's rate, through its registers: what the QP is at, a window of
 * 64 events, and the entries one after the other; and the same of a QP in the simulator. CC-50...54
 */
#include "cmd/reg/dfx.h"

#include "cmd/reg/csr_access.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define LOOK_MS 50
#define SECONDS_DEFAULT 10.0
#define SECONDS_MAX 86400.0

enum {
	OPT_DEVICE,
	OPT_QP,
	OPT_INDEX,
	OPT_TIME,
	OPT_FLOW,
	OPT_FROM,
	OPT_SVG,
	OPT_HTML,
	OPT_RAW,
	OPT_KEEP,
};

static const struct vb_cmd_option options[] = {
    [OPT_DEVICE] = {'d', "device", "DEVICE", "the device, by its name or its network device's"},
    [OPT_QP] = {'q', "qp", "QPN", "the QP, by its number"},
    [OPT_INDEX] = {'i', "index", "INDEX", "... or by its index in the register space"},
    [OPT_TIME] = {'t', "time", "SECONDS", "record: wait so long for 64 events (10)"},
    [OPT_FLOW] = {'f', "flow", "NUMBER", "sim: the flow, as flows.csv of 'verbena sim' counts (0)"},
    [OPT_FROM] = {0, "from", "SECONDS", "sim: begin at this time of the simulation (0)"},
    [OPT_SVG] = {0, "svg", "FILE", "record, dump, sim: also draw the chart into FILE"},
    [OPT_HTML] = {0, "html", "FILE", "... and as a page, with the table"},
    [OPT_RAW] = {0, "raw", NULL, "print entries as the register has them"},
    [OPT_KEEP] = {'k', "keep", NULL, "dump: leave the entries in the recorder, to be read again"},
    {0},
};

struct recorder {
	struct vb_csr_tool t;
	double seconds, from, flow;
	struct vb_dfx_files files;
	bool raw, keep;
	struct vb_dfx_window w;
	uint32_t unread;
};

/* The words that make up what is known of the recorder and the QP, in the order of these. */
enum { RATE, ALPHA, T_BC, CTRL, CNT, OVERFLOW, WORDS };

static int read_state(struct recorder *r)
{
	static const char *const names[WORDS] = {
	    [RATE] = "RATE_MEM", [ALPHA] = "ALPHA_MEM", [T_BC] = "T_BC_MEM",
	    [CTRL] = "DFX_CTRL", [CNT] = "DFX_CNT",     [OVERFLOW] = "DFX_OVERFLOW"};
	const struct vb_broker_csr *q = &r->t.req;

	vb_csr_begin(&r->t, VB_BROKER_CSR_READ);
	for (int i = 0; i < WORDS; i++)
		(void)vb_csr_add(
		    &r->t, vb_csr_address(vb_csr_by_name(names[i], strlen(names[i])), r->t.index),
		    0, 0);

	int rc = vb_csr_send(&r->t);

	if (rc)
		return rc;
	r->w.rate = (uint16_t)q->access[RATE].word;
	r->w.target = (uint16_t)(q->access[RATE].word >> 16);
	r->w.alpha = (uint16_t)q->access[ALPHA].word;
	r->w.t = (uint16_t)q->access[T_BC].word;
	r->w.bc = (uint16_t)(q->access[T_BC].word >> 16);
	r->w.is_on = q->access[CTRL].word & 1;
	r->w.decreases = q->access[CNT].word & 0xffff;
	r->w.byte_increases = q->access[CNT].word >> 16 & 0xffff;
	r->w.timer_increases = q->access[CNT].word >> 32 & 0xffff;
	r->unread = q->access[CNT].word >> 48 & 127;
	r->w.overflow = q->access[OVERFLOW].word;
	return 0;
}

static int read_clock(struct recorder *r)
{
	uint64_t word;
	int rc = vb_csr_read_one(&r->t, vb_csr_address(vb_csr_by_name("QP_CLOCK", 8), r->t.index),
				 &word);

	r->w.clk_hz = (uint32_t)word;
	return rc;
}

static int set_recording(struct recorder *r, bool on)
{
	vb_csr_begin(&r->t, VB_BROKER_CSR_WRITE);
	(void)vb_csr_add(&r->t, VB_CSR_DFX_CTRL + (r->t.index - 1) * VB_CSR_STRIDE, on, UINT64_MAX);
	return vb_csr_send(&r->t);
}

static int start_recorder(struct recorder *r)
{
	int rc = read_state(r);

	if (!rc)
		rc = set_recording(r, true);
	if (rc)
		return rc;
	r->w.has_first = true;
	vb_dfx_print_first(stdout, &r->w);
	return 0;
}

/* s4: read dcqcn_dfx_info 64 times. With --keep that leaves them. */
static int take_entries(struct recorder *r)
{
	uint32_t address = VB_CSR_DFX_INFO + (r->t.index - 1) * VB_CSR_STRIDE;

	vb_csr_begin(&r->t, r->keep ? VB_BROKER_CSR_LOOK : VB_BROKER_CSR_READ);
	for (unsigned i = 0; i < VB_DFX_ENTRIES; i++)
		(void)vb_csr_add(&r->t, address, 0, 0);

	int rc = vb_csr_send(&r->t);

	r->w.cnt = 0;
	for (unsigned i = 0; !rc && i < VB_DFX_ENTRIES; i++)
		if (vb_dfx_event_of(r->t.req.access[i].word) != VB_CSR_DFX_NONE)
			r->w.entry[r->w.cnt++] = r->t.req.access[i].word;
	return rc;
}

static int write_files(const struct recorder *r)
{
	char title[64];

	snprintf(title, sizeof title, r->t.has_qpn ? "QP 0x%06" PRIx32 : "QP of index %" PRIu32,
		 r->t.has_qpn ? r->t.qpn : r->t.index);
	return vb_dfx_write(r->t.cmd, &r->files, &r->w, title);
}

static int dump_recorder(struct recorder *r)
{
	int rc = read_state(r);

	if (!rc)
		rc = take_entries(r);
	if (rc)
		return rc;
	vb_dfx_print_entries(stdout, &r->w, r->raw);
	if (!r->raw)
		vb_dfx_print_counts(stdout, &r->w);
	return write_files(r);
}

static bool is_full(const struct recorder *r)
{
	return r->unread >= VB_DFX_ENTRIES;
}

/* Until the window is full, the time is over, or Ctrl-C. */
static int await_events(struct recorder *r)
{
	sigset_t set;
	int rc = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);

	struct pollfd p = {.fd = signalfd(-1, &set, SFD_CLOEXEC), .events = POLLIN};

	for (double left = r->seconds * 1000; !rc && left > 0 && !is_full(r); left -= LOOK_MS) {
		if (poll(&p, 1, left < LOOK_MS ? (int)left + 1 : LOOK_MS) > 0)
			break;
		rc = read_state(r);
	}
	if (p.fd >= 0)
		close(p.fd);
	return rc;
}

static int record_qp(struct recorder *r)
{
	struct vb_dfx_window first;
	int rc = start_recorder(r);

	if (rc)
		return rc;
	first = r->w;
	fflush(stdout);
	r->unread = 0;
	rc = await_events(r);
	if (!rc)
		rc = set_recording(r, false);
	if (!rc)
		rc = read_state(r);
	if (!rc)
		rc = take_entries(r);
	if (rc)
		return rc;
	r->w.rate = first.rate;
	r->w.target = first.target;
	r->w.alpha = first.alpha;
	r->w.t = first.t;
	r->w.bc = first.bc;
	vb_dfx_print_entries(stdout, &r->w, r->raw);
	if (!r->raw)
		vb_dfx_print_counts(stdout, &r->w);
	if (r->w.cnt == 0)
		vb_cmd_error(r->t.cmd, "nothing happened to the rate; does the QP run, and is "
				       "dcqcn_hw_en set? See 'verbena csr dump'");
	return write_files(r);
}

static int stop_recorder(struct recorder *r)
{
	return set_recording(r, false);
}

static const struct {
	const char *name;
	int (*run)(struct recorder *r);
} verbs[] = {{"record", record_qp},
	     {"start", start_recorder},
	     {"stop", stop_recorder},
	     {"dump", dump_recorder}};

static int take_option(struct recorder *r, int option, const char *arg)
{
	switch (option) {
	case OPT_DEVICE:
		r->t.device = arg;
		return 0;
	case OPT_QP:
		return vb_csr_take_qpn(&r->t, arg);
	case OPT_INDEX:
		return vb_csr_take_index(&r->t, arg);
	case OPT_TIME:
		if (vb_cmd_number(arg, 0.01, SECONDS_MAX, &r->seconds))
			return 0;
		return vb_cmd_usage(r->t.cmd, "'%s' is no number of seconds", arg);
	case OPT_FLOW:
		if (vb_cmd_number(arg, 0, UINT32_MAX, &r->flow) && r->flow == (uint32_t)r->flow)
			return 0;
		return vb_cmd_usage(r->t.cmd, "'%s' is no number of a flow", arg);
	case OPT_FROM:
		if (vb_cmd_number(arg, 0, SECONDS_MAX, &r->from))
			return 0;
		return vb_cmd_usage(r->t.cmd, "'%s' is no number of seconds", arg);
	case OPT_SVG:
		r->files.svg = arg;
		return 0;
	case OPT_HTML:
		r->files.html = arg;
		return 0;
	case OPT_KEEP:
		r->keep = true;
		return 0;
	default:
		r->raw = true;
		return 0;
	}
}

static int take_options(struct recorder *r, int argc, char **argv)
{
	const char *arg;
	int i, rc = 0;

	while (!rc && (i = vb_cmd_next_option(r->t.cmd, argc, argv, &arg)) >= 0)
		rc = take_option(r, i, arg);
	return rc;
}

static int simulate_qp(struct recorder *r, const char *path)
{
	char title[256];
	int rc =
	    vb_dfx_simulate(r->t.cmd, path, (uint32_t)r->flow, (vb_time)(r->from * 1e9), &r->w);

	if (rc)
		return rc;
	vb_dfx_print_first(stdout, &r->w);
	vb_dfx_print_entries(stdout, &r->w, r->raw);
	if (!r->raw)
		vb_dfx_print_counts(stdout, &r->w);
	if (r->w.cnt == 0)
		vb_cmd_error(r->t.cmd, "nothing happened to the rate of flow %.0f", r->flow);
	snprintf(title, sizeof title, "Flow %.0f of %s", r->flow, path);
	rc = vb_dfx_write(r->t.cmd, &r->files, &r->w, title);
	return rc ? rc : vb_cmd_finish(r->t.cmd);
}

/* Opens the device, and does what the word says. */
static int perform_verb(struct recorder *r, int (*does)(struct recorder *r))
{
	int rc;

	if (!r->t.has_qpn && !r->t.index)
		return vb_cmd_usage(r->t.cmd, "no QP: --qp QPN or --index INDEX");
	rc = vb_csr_open(&r->t);
	if (rc)
		return rc;
	rc = read_clock(r);
	if (!rc)
		rc = does(r);
	vb_csr_close(&r->t);
	return rc ? rc : vb_cmd_finish(r->t.cmd);
}

static int run_dfx(const struct vb_cmd *cmd, int argc, char **argv)
{
	static struct recorder r;
	const char *word, *path = NULL;
	size_t verb = 0, verb_cnt = sizeof verbs / sizeof verbs[0];
	bool sim;

	r.t.cmd = cmd;
	r.seconds = SECONDS_DEFAULT;

	int rc = take_options(&r, argc, argv);

	if (rc)
		return rc;
	if (optind == argc)
		return vb_cmd_usage(cmd, "what: record, start, stop, dump or sim?");
	word = argv[optind++];
	sim = strcmp(word, "sim") == 0;
	while (!sim && verb < verb_cnt && strcmp(verbs[verb].name, word) != 0)
		verb++;
	if (verb == verb_cnt)
		return vb_cmd_usage(cmd, "'%s' is none of record, start, stop, dump, sim", word);
	rc = take_options(&r, argc, argv);
	if (!rc && sim && optind < argc) {
		path = argv[optind++];
		rc = take_options(&r, argc, argv);
	}
	if (rc)
		return rc;
	if (optind < argc)
		return vb_cmd_usage(cmd, "unexpected argument '%s'", argv[optind]);
	if (sim && !path)
		return vb_cmd_usage(cmd, "sim what: expected a scenario file");
	if (r.keep && (sim || verbs[verb].run != dump_recorder))
		return vb_cmd_usage(cmd, "--keep is for dump");
	return sim ? simulate_qp(&r, path) : perform_verb(&r, verbs[verb].run);
}

const struct vb_cmd vb_cmd_dfx = {
    .name = "dfx",
    .arguments = "record|start|stop|dump -d DEVICE --qp QPN, or sim SCENARIO [--flow NUMBER]",
    .text = "Records how the rate of a QP changes, event by event.",
    .options = options,
    .run = run_dfx,
};
