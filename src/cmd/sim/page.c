/* SPDX-License-Identifier: BSD-2-Clause */
/* The page of a run: its data as JSON in the page of export/page.h. */
#include "export/page.h"
#include "cmd/sim/chart.h"

#include "wire/opcode.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>

/* A string of JSON in which nothing can end the script element that holds it. */
static void write_string(FILE *f, const char *s)
{
	putc('"', f);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c < ' ' || c == '"' || c == '\\' || c == '<')
			fprintf(f, "\\u%04x", c);
		else
			putc(c, f);
	}
	putc('"', f);
}

static void write_axis(FILE *f, const char *name, const struct vb_chart_axis *a)
{
	fprintf(f, "\"%s\":{\"name\":", name);
	write_string(f, a->name);
	fputs(",\"unit\":", f);
	write_string(f, a->unit);
	fprintf(f, ",\"log\":%s},", a->is_log ? "true" : "false");
}

static void write_values(FILE *f, const char *name, const double *v, uint32_t cnt)
{
	fprintf(f, ",\"%s\":[", name);
	for (uint32_t i = 0; i < cnt; i++)
		fprintf(f, "%s%.5g", i ? "," : "", isfinite(v[i]) ? v[i] : 0);
	putc(']', f);
}

static void write_charts(FILE *f, const struct vb_sim_charts *c)
{
	fputs("\"charts\":[", f);
	for (uint32_t k = 0; k < c->chart_cnt; k++) {
		const struct vb_chart *h = &c->chart[k];

		fprintf(f, "%s{\"title\":", k ? ",\n" : "");
		write_string(f, h->title);
		fprintf(f, ",\"step\":%s,\"each\":%.6f,",
			h->style == VB_CHART_STEP ? "true" : "false", c->slot_us);
		write_axis(f, "x", &h->x);
		write_axis(f, "y", &h->y);
		fputs("\"lines\":[", f);
		for (uint32_t i = 0; i < h->line_cnt; i++) {
			const struct vb_chart_line *l = &h->line[i];

			fprintf(f, "%s{\"name\":", i ? ",\n" : "");
			write_string(f, l->name);
			if (h->style == VB_CHART_STEP)
				write_values(f, "x", l->x, l->cnt);
			write_values(f, "hi", l->y, l->cnt);
			if (l->lo)
				write_values(f, "lo", l->lo, l->cnt);
			putc('}', f);
		}
		fputs("]}", f);
	}
	fputs("],\n", f);
}

__attribute__((format(printf, 3, 4))) static void item(FILE *f, const char *name, const char *fmt,
						       ...)
{
	char text[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	putc('[', f);
	write_string(f, name);
	putc(',', f);
	write_string(f, text);
	fputs("],\n", f);
}

static void write_summary(FILE *f, const struct vb_scenario *sc, const struct vb_report *r)
{
	const uint64_t *n = r->counters.v;

	fputs("\"summary\":[", f);
	item(f, "Flows", "%u, %u done, %u failed", r->flows, r->done, r->failed);
	item(f, "Goodput", "%.3f Gb/s", (double)r->goodput_bps / 1e9);
	item(f, "Fairness (Jain)", "%.4f", (double)r->jain_ppm / 1e6);
	if (r->fct_ns.cnt) {
		item(f, "Completion time, median", "%.1f µs", (double)r->fct_ns.p50 / 1e3);
		item(f, "Completion time, 99 %", "%.1f µs", (double)r->fct_ns.p99 / 1e3);
	} else {
		item(f, "Completion time", "–");
	}
	if (r->slowdown_milli.cnt)
		item(f, "Slow-down, median and 99 %", "%.2f and %.2f",
		     (double)r->slowdown_milli.p50 / 1e3, (double)r->slowdown_milli.p99 / 1e3);
	item(f, "Packets sent", "%" PRIu64, n[VB_COUNTER_port_xmit_packets]);
	item(f, "Sent again", "%" PRIu64 " packets", n[VB_COUNTER_retransmitted_packets]);
	item(f, "... because of",
	     "NAK %" PRIu64 ", timeout %" PRIu64 ", implied NAK %" PRIu64 ", RNR %" PRIu64,
	     n[VB_COUNTER_packet_seq_err], n[VB_COUNTER_local_ack_timeout_err],
	     n[VB_COUNTER_implied_nak_seq_err], n[VB_COUNTER_rnr_nak_retry_err]);
	item(f, "Lost", "%" PRIu64 " in switches, %" PRIu64 " to faults, %" PRIu64 " to ICRC",
	     r->drops, r->faults, n[VB_COUNTER_rx_icrc_encapsulated]);
	item(f, "Marked CE", "%" PRIu64 " packets", r->marks);
	item(f, "Paused", "%" PRIu64 " times, %.1f µs", r->pauses, (double)r->paused_ns / 1e3);
	item(f, "Fullest queue", "%" PRIu64 " bytes", r->depth_max);
	item(f, "Events", "%" PRIu64, r->events);
	item(f, "Seed", "%" PRIu64, sc->seed);
	/* The last one has no comma behind it. */
	fprintf(f, "[\"Digest\",\"%016" PRIx64 "\"]],\n", r->digest);
}

/* Steps, and the connections up to the last that one of them is of. */
static void write_steps(FILE *f, const struct vb_scenario_run *run, const struct vb_watch *w)
{
	uint32_t connections = 0;
	bool seen[256] = {false};

	fputs("\"steps\":[", f);
	for (uint32_t i = 0; i < vb_watch_step_cnt(w); i++) {
		const struct vb_step *s = vb_watch_step(w, i);

		connections = s->connection >= connections ? s->connection + 1 : connections;
		seen[s->opcode] = seen[s->opcode] || s->kind == VB_STEP_PACKET;
		fprintf(f, "%s[%u,%" PRIu64 ",", i ? ",\n" : "", s->kind, s->at);
		if (s->end == VB_NEVER)
			fputs("-1", f);
		else
			fprintf(f, "%" PRIu64, s->end);
		fprintf(f, ",%u,%u,%u,%u,%u,%u,%u,%u,%u,%u]", s->connection, s->side, s->opcode,
			s->a, s->b, s->c, s->syndrome, s->flags, s->faults, s->drop);
	}
	fputs("],\n\"connections\":[", f);
	for (uint32_t i = 0; i < connections; i++) {
		uint32_t host[2], qpn[2];

		vb_load_end(run->load, i, 0, &host[0], &qpn[0]);
		vb_load_end(run->load, i, 1, &host[1], &qpn[1]);
		fprintf(f, "%s[%u,%u,%u,%u]", i ? "," : "", host[0], qpn[0], host[1], qpn[1]);
	}
	fputs("],\n\"opcodes\":{", f);
	for (uint32_t i = 0, n = 0; i < 256; i++) {
		if (!seen[i] || !vb_opcode[i].name)
			continue;
		fprintf(f, "%s\"%u\":", n++ ? "," : "", i);
		write_string(f, vb_opcode[i].name);
	}
	fputs("},\n\"faults\":[", f);
	for (int i = 0; i < VB_FAULT_KIND_CNT; i++) {
		fputs(i ? "," : "", f);
		write_string(f, vb_fault_kind_name((enum vb_fault_kind)i));
	}
	fputs("],\n\"drops\":[\"no room in the switch\",\"its queue was full\",\"no way to its "
	      "destination\"],\n\"rewinds\":[\"a timeout\",\"a NAK\",\"an implied NAK\",\"an RNR "
	      "NAK\"],\n",
	      f);
}

static void write_lines(FILE *f, const struct vb_lines *l)
{
	fputs("\"what\":[", f);
	for (uint32_t i = 0; i < l->cnt; i++) {
		fputs(i ? "," : "", f);
		write_string(f, l->text[i]);
	}
	putc(']', f);
}

/* What happened to the QPs that timed out or failed, line by line. */
static void write_stories(FILE *f, const struct vb_stories *s)
{
	static struct vb_row row[VB_ROWS_MAX];
	static struct vb_explanation why;

	fputs("\"stories\":[", f);
	for (uint32_t i = 0; i < s->cnt; i++) {
		const struct vb_story *story = &s->story[i];
		uint32_t cnt = vb_timeline(&story->tale, NULL, row);

		vb_story_explain(s, story, &why);
		fprintf(f, "%s{\"host\":%u,\"qpn\":%u,\"timeouts\":%" PRIu64 ",\"is\":",
			i ? ",\n" : "", story->host, story->tale.qpn, story->tale.timeouts);
		write_string(f, vb_rank_name(why.rank));
		putc(',', f);
		write_lines(f, &why.what);
		fputs(",\"rows\":[", f);
		for (uint32_t k = 0; k < cnt; k++) {
			fprintf(f, "%s[%u,%" PRIu64 ",%" PRIu64 ",", k ? "," : "", row[k].kind,
				row[k].from, row[k].at);
			write_string(f, row[k].text);
			putc(']', f);
		}
		fputs("]}", f);
	}
	fprintf(f, "],\n\"stories_full\":%s,\n", s->is_full ? "true" : "false");
}

static void write_left_out(FILE *f, const struct vb_watch *w, const struct vb_sim_charts *c)
{
	static const char *const what[] = {"hosts", "queues", "QPs"};
	char text[600] = "";
	size_t at = 0;

	if (vb_watch_left_out(w))
		at += (size_t)snprintf(
		    text, sizeof text,
		    "The packet sequence has the first %u steps and of the later ones "
		    "up to %u NAKs, timers and packets that were sent again; %" PRIu64
		    " are left out. ",
		    VB_WATCH_STEPS_FIRST, VB_WATCH_STEPS_MAX - VB_WATCH_STEPS_FIRST,
		    vb_watch_left_out(w));
	for (uint32_t k = 0; k < VB_WATCH_KIND_CNT; k++) {
		uint32_t cnt = vb_watch_series_cnt(w, (enum vb_watch_kind)k);

		if (cnt > c->lines_of[k])
			at += (size_t)snprintf(text + at, sizeof text - at,
					       "Of %s%u %s the charts show the %u with the most. ",
					       cnt == VB_WATCH_SERIES_MAX ? "the first " : "", cnt,
					       what[k], c->lines_of[k]);
	}
	snprintf(text + at, sizeof text - at,
		 "Over time, each value stands for %.6g µs; bands reach from the least to the most "
		 "in it.",
		 c->slot_us);
	fputs("\"left_out\":", f);
	write_string(f, text);
}

int vb_sim_page_write(FILE *f, const char *title, const struct vb_scenario *sc,
		      const struct vb_scenario_run *run, const struct vb_report *r,
		      const struct vb_watch *w, const struct vb_sim_charts *c)
{
	char text[160];

	fputs((const char *)vb_page_head, f);
	fputs("{\"title\":", f);
	write_string(f, title);
	snprintf(text, sizeof text, "%u host%s, %u switch%s, %.3f ms of virtual time",
		 run->topo.host_cnt, run->topo.host_cnt == 1 ? "" : "s", run->topo.switch_cnt,
		 run->topo.switch_cnt == 1 ? "" : "es", (double)r->end / 1e6);
	fputs(",\n\"subtitle\":", f);
	write_string(f, text);
	fputs(",\n", f);
	write_summary(f, sc, r);
	write_charts(f, c);
	write_steps(f, run, w);
	write_stories(f, vb_watch_stories(w));
	write_left_out(f, w, c);
	fputs("}", f);
	fputs((const char *)vb_page_tail, f);
	return ferror(f) ? -EIO : 0;
}
