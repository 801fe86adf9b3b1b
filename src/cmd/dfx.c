/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `verbena dfx`: the recorder of a QP's rate, through its registers: what the QP is at, a window of
 * 64 events, and the entries one after the other. CC-50...54
 */
#include "cmd/dfx.h"

#include "cmd/csr_access.h"
#include "cmd/whole_file.h"

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
#define COLUMNS 64

enum { OPT_DEVICE, OPT_QP, OPT_INDEX, OPT_TIME, OPT_SVG, OPT_RAW };

static const struct vb_cmd_option options[] = {
    [OPT_DEVICE] = {'d', "device", "DEVICE", "the device, by its name or its network device's"},
    [OPT_QP] = {'q', "qp", "QPN", "the QP, by its number"},
    [OPT_INDEX] = {'i', "index", "INDEX", "... or by its index in the register space"},
    [OPT_TIME] = {'t', "time", "SECONDS", "record: wait so long for 64 events (10)"},
    [OPT_SVG] = {0, "svg", "FILE", "record, dump: also draw the chart into FILE"},
    [OPT_RAW] = {0, "raw", NULL, "print entries as the register has them"},
    {0},
};

struct recorder {
	struct vb_csr_tool t;
	double seconds;
	const char *svg;
	bool raw;
	struct vb_dfx_window w;
	uint64_t t_bc, cnt, overflow;
	uint16_t alpha;
	bool is_on;
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
	r->alpha = (uint16_t)q->access[ALPHA].word;
	r->t_bc = q->access[T_BC].word;
	r->is_on = q->access[CTRL].word & 1;
	r->cnt = q->access[CNT].word;
	r->overflow = q->access[OVERFLOW].word;
	return 0;
}

static int read_clock(struct recorder *r)
{
	const struct vb_reg *reg = vb_csr_by_name("CC_CLOCK", 8);
	uint64_t word;
	int rc = vb_csr_read_one(&r->t, reg->id, &word);

	r->w.clk_hz = (uint32_t)word;
	return rc;
}

static int set_recording(struct recorder *r, bool on)
{
	vb_csr_begin(&r->t, VB_BROKER_CSR_WRITE);
	(void)vb_csr_add(&r->t, VB_CSR_DFX_CTRL + (r->t.index - 1) * VB_CSR_STRIDE, on, UINT64_MAX);
	return vb_csr_send(&r->t);
}

/* s4: before the window, what the QP is at. */
static void print_first(const struct recorder *r)
{
	printf("Current Rate %u (%s), Target Rate %u (%s), alpha %u/1024, BC %u, T %u\n", r->w.rate,
	       vb_csr_rate_text((uint32_t)r->w.rate << 8, r->w.clk_hz), r->w.target,
	       vb_csr_rate_text((uint32_t)r->w.target << 8, r->w.clk_hz), r->alpha,
	       (unsigned)(r->t_bc >> 16 & 0xffff), (unsigned)(r->t_bc & 0xffff));
}

static int start(struct recorder *r)
{
	int rc = read_state(r);

	if (!rc)
		rc = set_recording(r, true);
	if (rc)
		return rc;
	r->w.has_first = true;
	print_first(r);
	return 0;
}

/* s4: read dcqcn_dfx_info 64 times. */
static int take_entries(struct recorder *r)
{
	uint32_t address = VB_CSR_DFX_INFO + (r->t.index - 1) * VB_CSR_STRIDE;

	vb_csr_begin(&r->t, VB_BROKER_CSR_READ);
	for (unsigned i = 0; i < VB_DFX_ENTRIES; i++)
		(void)vb_csr_add(&r->t, address, 0, 0);

	int rc = vb_csr_send(&r->t);

	r->w.cnt = 0;
	for (unsigned i = 0; !rc && i < VB_DFX_ENTRIES; i++)
		if (vb_dfx_event_of(r->t.req.access[i].word) != VB_CSR_DFX_NONE)
			r->w.entry[r->w.cnt++] = r->t.req.access[i].word;
	return rc;
}

static void print_entries(const struct recorder *r)
{
	uint64_t first = r->w.cnt ? vb_dfx_usec_of(r->w.entry[0]) : 0;

	if (r->w.cnt && !r->raw)
		printf("%3s  %12s  %6s  %-12s  %s\n", "X", "us", "RATE", "", "EVENT");
	for (uint32_t i = 0; i < r->w.cnt; i++) {
		uint64_t e = r->w.entry[i];
		uint16_t rate = vb_dfx_rate_of(e);

		if (r->raw)
			printf("0x%016" PRIx64 "\n", e);
		else
			printf("%3" PRIu32 "  %12" PRIu64 "  %6u  %-12s  %s\n", i,
			       vb_dfx_usec_of(e) - first, rate,
			       vb_csr_rate_text((uint32_t)rate << 8, r->w.clk_hz),
			       vb_dfx_name(vb_dfx_event_of(e)));
	}
}

static int write_svg(const struct recorder *r)
{
	struct vb_whole_file file;
	char title[64];
	int err;

	if (!r->svg)
		return 0;
	snprintf(title, sizeof title, r->t.has_qpn ? "QP 0x%06" PRIx32 : "QP of index %" PRIu32,
		 r->t.has_qpn ? r->t.qpn : r->t.index);
	err = vb_whole_file_begin(&file, r->svg);
	if (!err)
		err = vb_whole_file_end(&file, vb_dfx_svg(file.f, &r->w, title));
	if (err)
		vb_cmd_error(r->t.cmd, "cannot write '%s': %s", r->svg, strerror(-err));
	return err ? 1 : 0;
}

static int dump(struct recorder *r)
{
	int rc = read_state(r);

	if (!rc)
		rc = take_entries(r);
	if (rc)
		return rc;
	print_entries(r);
	if (r->raw)
		return write_svg(r);
	if (r->w.cnt)
		vb_dfx_draw(stdout, &r->w, COLUMNS);
	printf("decrease %u, bytecounter-increase %u, nocnp_timer-increase %u; %u in the window, "
	       "%" PRIu64 " after it was full%s\n",
	       (unsigned)(r->cnt & 0xffff), (unsigned)(r->cnt >> 16 & 0xffff),
	       (unsigned)(r->cnt >> 32 & 0xffff), r->w.cnt, r->overflow,
	       r->is_on ? "; recording" : "");
	return write_svg(r);
}

static bool is_full(const struct recorder *r)
{
	return (r->cnt >> 48 & 127) >= VB_DFX_ENTRIES;
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

static int record(struct recorder *r)
{
	struct vb_dfx_window first;
	int rc = start(r);

	if (rc)
		return rc;
	first = r->w;
	fflush(stdout);
	r->cnt = 0;
	rc = await_events(r);
	if (!rc)
		rc = set_recording(r, false);
	if (rc)
		return rc;

	rc = read_state(r);
	r->w.rate = first.rate;
	r->w.target = first.target;
	if (!rc)
		rc = take_entries(r);
	if (rc)
		return rc;
	print_entries(r);
	if (!r->raw && r->w.cnt)
		vb_dfx_draw(stdout, &r->w, COLUMNS);
	if (r->w.cnt == 0)
		vb_cmd_error(r->t.cmd, "nothing happened to the rate; does the QP run, and is "
				       "dcqcn_hw_en set? See 'verbena csr dump'");
	return write_svg(r);
}

static int stop(struct recorder *r)
{
	return set_recording(r, false);
}

static const struct {
	const char *name;
	int (*run)(struct recorder *r);
} verbs[] = {{"record", record}, {"start", start}, {"stop", stop}, {"dump", dump}};

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
	case OPT_SVG:
		r->svg = arg;
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

static int run(const struct vb_cmd *cmd, int argc, char **argv)
{
	static struct recorder r;
	size_t verb = 0, verb_cnt = sizeof verbs / sizeof verbs[0];

	r.t.cmd = cmd;
	r.seconds = SECONDS_DEFAULT;

	int rc = take_options(&r, argc, argv);

	if (rc)
		return rc;
	if (optind == argc)
		return vb_cmd_usage(cmd, "what: record, start, stop or dump?");
	while (verb < verb_cnt && strcmp(verbs[verb].name, argv[optind]) != 0)
		verb++;
	if (verb == verb_cnt)
		return vb_cmd_usage(cmd, "'%s' is none of record, start, stop, dump", argv[optind]);
	optind++;
	rc = take_options(&r, argc, argv);
	if (rc)
		return rc;
	if (optind < argc)
		return vb_cmd_usage(cmd, "unexpected argument '%s'", argv[optind]);
	if (!r.t.has_qpn && !r.t.index)
		return vb_cmd_usage(cmd, "no QP: --qp QPN or --index INDEX");
	rc = vb_csr_open(&r.t);
	if (rc)
		return rc;
	rc = read_clock(&r);
	if (!rc)
		rc = verbs[verb].run(&r);
	vb_csr_close(&r.t);
	return rc ? rc : vb_cmd_finish(cmd);
}

const struct vb_cmd vb_cmd_dfx = {
    .name = "dfx",
    .arguments = "record|start|stop|dump -d DEVICE --qp QPN [--time SECONDS] [--svg FILE]",
    .text = "Records how the rate of a QP changes, event by event.",
    .options = options,
    .run = run,
};
