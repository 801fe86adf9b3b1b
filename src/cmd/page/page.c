/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the page of traffic, see page.h. */
#include "cmd/page/page.h"

#include "export/page.h"
#include "fault/fault.h"
#include "traffic/mad_kind.h"
#include "wire/opcode.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

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

static void write_values(FILE *f, const char *name, int digits, const double *v, uint32_t cnt)
{
	fprintf(f, ",\"%s\":[", name);
	for (uint32_t i = 0; i < cnt; i++)
		fprintf(f, "%s%.*g", i ? "," : "", digits, isfinite(v[i]) ? v[i] : 0);
	putc(']', f);
}

static void write_charts(FILE *f, const struct vb_page_charts *c)
{
	fputs("\"charts\":[", f);
	for (uint32_t k = 0; k < c->chart_cnt; k++) {
		const struct vb_chart *h = &c->chart[k];

		fprintf(f, "%s{\"title\":", k ? ",\n" : "");
		write_string(f, h->title);
		fprintf(f, ",\"step\":%s,\"from\":%.6f,\"each\":%.6f,",
			h->style == VB_CHART_STEP ? "true" : "false", c->from_us, c->slot_us);
		write_axis(f, "x", &h->x);
		write_axis(f, "y", &h->y);
		fputs("\"lines\":[", f);
		for (uint32_t i = 0; i < h->line_cnt; i++) {
			const struct vb_chart_line *l = &h->line[i];

			fprintf(f, "%s{\"name\":", i ? ",\n" : "");
			write_string(f, l->name);
			if (h->style == VB_CHART_STEP)
				write_values(f, "x", 9, l->x, l->cnt);
			write_values(f, "hi", 5, l->y, l->cnt);
			if (l->lo)
				write_values(f, "lo", 5, l->lo, l->cnt);
			putc('}', f);
		}
		fputs("]}", f);
	}
	fputs("],\n", f);
}

void vb_page_item(struct vb_page *p, const char *name, const char *fmt, ...)
{
	struct vb_page_item *i = &p->item[p->item_cnt];
	va_list ap;

	if (p->item_cnt == VB_PAGE_ITEMS)
		return;
	p->item_cnt++;
	snprintf(i->name, sizeof i->name, "%s", name);
	va_start(ap, fmt);
	vsnprintf(i->text, sizeof i->text, fmt, ap);
	va_end(ap);
}

void vb_page_text(char *text, size_t size, const char *fmt, ...)
{
	size_t at = strlen(text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + at, size - at, fmt, ap);
	va_end(ap);
}

static void write_items(FILE *f, const struct vb_page *p)
{
	fputs("\"summary\":[", f);
	for (uint32_t i = 0; i < p->item_cnt; i++) {
		fputs(i ? ",\n[" : "[", f);
		write_string(f, p->item[i].name);
		putc(',', f);
		write_string(f, p->item[i].text);
		putc(']', f);
	}
	fputs("],\n", f);
}

static bool is_mad(const struct vb_step *s)
{
	return s->kind == VB_STEP_PACKET && s->c && vb_opcode[s->opcode].ext & VB_EXT_DETH;
}

/* The names of the kinds of MADs, by step.c; of too many kinds only the first. */
static void write_mads(FILE *f, const struct vb_page *p)
{
	uint32_t kind[64], cnt = 0, k;
	char name[VB_MAD_KIND_NAME_MAX];

	fputs("},\n\"mads\":{", f);
	for (uint32_t i = 0; i < p->step_cnt && cnt < sizeof kind / sizeof kind[0]; i++) {
		if (!is_mad(&p->step[i]))
			continue;
		for (k = 0; k < cnt && kind[k] != p->step[i].c;)
			k++;
		if (k < cnt)
			continue;
		kind[cnt++] = p->step[i].c;
		fprintf(f, "%s\"%u\":", k ? "," : "", kind[k]);
		write_string(f, vb_mad_kind_name(kind[k], name));
	}
}

static void write_names(FILE *f, const struct vb_page *p, const bool *seen)
{
	fputs("],\n\"hosts\":[", f);
	for (uint32_t i = 0; p->host_name && i < p->host_cnt; i++) {
		fputs(i ? "," : "", f);
		write_string(f, p->host_name(p, i));
	}
	fputs("],\n\"opcodes\":{", f);
	for (uint32_t i = 0, n = 0; i < 256; i++) {
		const char *name = i == VB_STEP_REQUESTS ? "requests from" : vb_opcode[i].name;

		if (!seen[i] || !name)
			continue;
		fprintf(f, "%s\"%u\":", n++ ? "," : "", i);
		write_string(f, name);
	}
	write_mads(f, p);
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

/* Steps, and the connections up to the last that one of them is of. */
static void write_steps(FILE *f, const struct vb_page *p)
{
	uint32_t connections = 0;
	bool seen[256] = {false};

	fputs("\"steps\":[", f);
	for (uint32_t i = 0; i < p->step_cnt; i++) {
		const struct vb_step *s = &p->step[i];

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
		struct vb_step_ends e;

		p->ends(p, i, &e);
		fprintf(f, "%s[%u,%u,%u,%u]", i ? "," : "", e.host[0], e.qpn[0], e.host[1],
			e.qpn[1]);
	}
	write_names(f, p, seen);
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

/* The events of the QPs that timed out or failed, line by line. */
static void write_stories(FILE *f, const struct vb_page *p)
{
	static struct vb_page_story s;

	fputs("\"stories\":[", f);
	for (uint32_t i = 0; i < p->story_cnt; i++) {
		p->story(p, i, &s);
		fprintf(f, "%s{\"host\":%u,\"qpn\":%u,\"timeouts\":%" PRIu64 ",\"is\":",
			i ? ",\n" : "", s.host, s.qpn, s.timeouts);
		write_string(f, vb_rank_name(s.why.rank));
		putc(',', f);
		write_lines(f, &s.why.what);
		fputs(",\"rows\":[", f);
		for (uint32_t k = 0; k < s.row_cnt; k++) {
			fprintf(f, "%s[%u,%" PRIu64 ",%" PRIu64 ",", k ? "," : "", s.row[k].kind,
				s.row[k].from, s.row[k].at);
			write_string(f, s.row[k].text);
			putc(']', f);
		}
		fputs("]}", f);
	}
	fprintf(f, "],\n\"stories_full\":%s,\n", p->stories_full ? "true" : "false");
}

int vb_page_write(FILE *f, const struct vb_page *p)
{
	fputs((const char *)vb_page_head, f);
	fputs("{\"title\":", f);
	write_string(f, p->title);
	fputs(",\n\"subtitle\":", f);
	write_string(f, p->subtitle);
	if (p->ladder) {
		fputs(",\n\"ladder\":", f);
		write_string(f, p->ladder);
	}
	fputs(",\n", f);
	write_items(f, p);
	write_charts(f, p->charts);
	write_steps(f, p);
	write_stories(f, p);
	fputs("\"left_out\":", f);
	write_string(f, p->left_out);
	fputs("}", f);
	fputs((const char *)vb_page_tail, f);
	return ferror(f) ? -EIO : 0;
}
