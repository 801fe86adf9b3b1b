/* SPDX-License-Identifier: BSD-2-Clause */
/* A script, line by line: the time in front, then the statement. */
#include "drill.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void drill_fail(struct drill *d, const char *fmt, ...)
{
	va_list ap;
	int n = snprintf(d->error, sizeof d->error, "%s:%u: at %" PRIu64 " ns: ", d->file, d->line,
			 d->now);

	va_start(ap, fmt);
	vsnprintf(d->error + n, sizeof d->error - (size_t)n, fmt, ap);
	va_end(ap);
	longjmp(d->failed, 1);
}

static bool read_duration(const char *text, vb_dur *ns);

/* The adapter does not run for a while. */
static void stmt_gap(struct drill *d, struct args *args)
{
	struct arg *word = args_next_word(args);
	vb_dur gap;

	if (word == NULL || !read_duration(word->key, &gap))
		drill_fail(d, "for how long?");
	world_sleep(d, gap);
}

static void stmt_quiet(struct drill *d, struct args *args)
{
	(void)args;
	packet_none_left(d);
	message_none_left(d);
}

/* The attribute of the message that a line is about; 0: it is about a packet. */
static enum vb_cm_attr attr_of(struct args *args)
{
	enum vb_cm_attr attr = args->cnt > 0 ? message_named(args->a[0].key) : 0;

	if (attr != 0)
		args->a[0].used = true;
	return attr;
}

static void stmt_expect_sent(struct drill *d, struct args *args)
{
	enum vb_cm_attr attr = attr_of(args);

	if (attr != 0)
		message_expect(d, attr, args);
	else
		packet_expect(d, args);
}

static void stmt_inject(struct drill *d, struct args *args)
{
	enum vb_cm_attr attr = attr_of(args);

	if (attr != 0)
		message_inject(d, attr, args);
	else
		packet_inject(d, args);
}

static const struct {
	const char *name;
	void (*run)(struct drill *d, struct args *args);
} statement[] = {
    {">", stmt_expect_sent},
    {"<", stmt_inject},
    {"post_send", work_post_send},
    {"post_recv", work_post_recv},
    {"post_srq", work_post_srq},
    {"cq", work_cq},
    {"event", work_event},
    {"arm", work_arm},
    {"quiet", stmt_quiet},
    {"gap", stmt_gap},
    {"expect", work_expect},
    {"mem", work_mem},
    {"set", work_set},
    {"hca", objects_hca},
    {"pkeys", objects_pkeys},
    {"recovery", recovery_set},
    {"qp", objects_qp},
    {"srq", objects_srq},
    {"xsrq", xrc_srq},
    {"destroy_xsrq", xrc_destroy_srq},
    {"dc_reset", dc_reset},
    {"mr", objects_mr},
    {"dereg", objects_dereg},
    {"modify_qp", objects_modify_qp},
    {"destroy_qp", objects_destroy_qp},
    {"cm", cm_config},
    {"conn", cm_conn},
    {"reply", cm_reply},
    {"ready", cm_ready},
    {"load_path", cm_load_path},
    {"answer_path", cm_answer_path},
    {"delay", cm_delay},
    {"migrate", cm_migrate},
    {"disconnect", cm_disconnect},
    {"expect_conn", cm_expect},
};
#define STATEMENTS (sizeof statement / sizeof statement[0])

/* "67108864ns", "5us", "1ms", "2s", "0" */
static bool read_duration(const char *text, vb_dur *ns)
{
	static const struct {
		const char *unit;
		vb_dur ns;
	} unit[] = {{"", 1}, {"ns", 1}, {"us", VB_USEC}, {"ms", VB_MSEC}, {"s", VB_SEC}};
	char *end;

	*ns = strtoull(text, &end, 10);
	if (end == text)
		return false;
	for (unsigned i = 0; i < sizeof unit / sizeof unit[0]; i++)
		if (strcmp(end, unit[i].unit) == 0) {
			*ns *= unit[i].ns;
			return true;
		}
	return false;
}

/* The time in front of a line, if there is one; returns what follows. */
static char *run_time(struct drill *d, char *text)
{
	size_t n = strcspn(text, " \t");
	bool relative = text[0] == '+';
	char *rest = text + n;
	vb_dur t;

	if (!relative && !isdigit((unsigned char)text[0]))
		return text;
	if (*rest != '\0')
		*rest++ = '\0';
	if (!read_duration(text + relative, &t) || t == VB_NEVER)
		drill_fail(d, "\"%s\" is no time", text);
	if (relative)
		t = vb_time_after(d->now, t);
	if (t < d->now)
		drill_fail(d, "time runs backwards");
	world_advance(d, t);
	return rest + strspn(rest, " \t");
}

static void run_line(struct drill *d, char *text)
{
	char *rest;
	struct args args;
	const char *wrong;
	size_t n;

	text[strcspn(text, "#")] = '\0';
	text += strspn(text, " \t");
	if (*text == '\0')
		return;
	rest = run_time(d, text);
	n = strcspn(rest, " \t");
	text = rest;
	rest += n;
	if (*rest != '\0')
		*rest++ = '\0';
	wrong = args_split(&args, rest);
	if (wrong != NULL)
		drill_fail(d, "%s", wrong);
	for (unsigned i = 0; i < STATEMENTS; i++)
		if (strcmp(statement[i].name, text) == 0) {
			statement[i].run(d, &args);
			if (args_left(&args) != NULL)
				drill_fail(d, "unknown word \"%s\"", args_left(&args));
			return;
		}
	drill_fail(d, "unknown statement \"%s\"", text);
}

static void run_text(struct drill *d, char *text)
{
	struct args none = {.cnt = 0};

	while (text != NULL) {
		char *end = strchr(text, '\n');

		d->line++;
		if (end != NULL)
			*end++ = '\0';
		run_line(d, text);
		text = end;
	}
	stmt_quiet(d, &none);
	if (d->hca == NULL && d->cm.cm == NULL)
		drill_fail(d, "the script does nothing");
	work_cq(d, &none);
	work_event(d, &none);
}

static void append_trace(struct drill *d)
{
	size_t n = strlen(d->error);
	unsigned from = d->trace_cnt > TRACE_KEEP ? d->trace_cnt - TRACE_KEEP : 0;

	for (unsigned i = from; i < d->trace_cnt && n < sizeof d->error; i++) {
		const struct vb_trace_event *ev = &d->trace[i % TRACE_KEEP];
		const struct vb_trace_info *info = &vb_trace_info[ev->id];

		n += (size_t)snprintf(d->error + n, sizeof d->error - n, "\n    %" PRIu64 " %s",
				      ev->time, info->name);
		for (unsigned a = 0; a < 4 && n < sizeof d->error; a++)
			if (info->arg[a][0] != '\0')
				n += (size_t)snprintf(d->error + n, sizeof d->error - n,
						      " %s=%" PRIu64, info->arg[a], ev->arg[a]);
	}
}

bool drill_run(struct drill *d, const char *file, char *text)
{
	memset(d, 0, sizeof *d);
	d->file = file;
	d->cqe = 256;
	d->cfg = (struct vb_hca_config){.limits = vb_limits_default,
					.seed = 1,
					.qpn_stride = 1,
					.qpn_first = 0x11,
					.port_cnt = 1};
	d->cfg.port[1].active_mtu = VB_MTU_4096;
	d->cfg.port[1].pkey[0] = VB_PKEY_DEFAULT;
	if (setjmp(d->failed) == 0)
		run_text(d, text);
	else
		append_trace(d);
	world_destroy(d);
	return d->error[0] == '\0';
}
