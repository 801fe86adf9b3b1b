/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A fabric as a page for a browser (export/page.h), see facts.h. Its data are the drawing, and rows
 * of numbers for each node and port as src/export/fabric/page/way.js reads them.
 */
#include "cmd/fabric/show/facts.h"

#include "export/file/whole_file.h"
#include "export/page.h"
#include "export/text/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* The forwarding table of a switch, two digits for each LID; entries that say nothing at its end
 * are left out. */
static void write_table(FILE *f, const struct vb_show *s, const struct vb_subnet_view_node *n)
{
	uint32_t cnt = n->lft_cnt;

	while (cnt && s->v.lft[n->lft_at + cnt - 1] == VB_IB_PORT_NONE)
		cnt--;
	putc('"', f);
	for (uint32_t i = 0; i < cnt; i++)
		fprintf(f, "%02x", s->v.lft[n->lft_at + i]);
	putc('"', f);
}

static void write_nodes(FILE *f, const struct vb_show *s)
{
	for (uint32_t i = 0; i < s->v.head->node_cnt; i++) {
		const struct vb_subnet_view_node *n = &s->v.node[i];

		fputs(i ? ",\n[" : "[", f);
		vb_text_json(f, n->name);
		fprintf(f, ",%d,%u,%u,", (int)s->drawing.node[i].kind, n->first_port, n->port_cnt);
		write_table(f, s, n);
		putc(']', f);
	}
}

/* @link: by port, the number of its link, or VB_DRAWING_NOWHERE. */
static void write_ports(FILE *f, const struct vb_show *s, const uint32_t *link)
{
	char rate[VB_SHOW_RATE_TEXT];

	for (uint32_t i = 0; i < s->v.head->port_cnt; i++) {
		const struct vb_subnet_view_port *p = &s->v.port[i];

		fprintf(f,
			"%s[%" PRId64 ",%u,%u,%u,%" PRId64 ",%" PRIu64 ",%.4g,\"%s\",\"%" PRIx64
			"\"]",
			i ? ",\n" : "", p->peer == VB_IB_NOWHERE ? -1 : (int64_t)p->peer, p->lid,
			p->lmc & 7u, p->state,
			link[i] == VB_DRAWING_NOWHERE ? -1 : (int64_t)link[i], vb_show_sent(s, i),
			vb_show_load(s, i), vb_show_rate_text(s, i, rate), p->guid ? p->prefix : 0);
	}
}

static void write_links(FILE *f, const struct vb_show *s)
{
	for (uint32_t i = 0; i < s->drawing.link_cnt; i++) {
		const struct vb_drawing_link *l = &s->drawing.link[i];

		fprintf(f, "%s[%u,%" PRId64 "]", i ? "," : "", l->a,
			l->b == VB_DRAWING_NOWHERE ? -1 : (int64_t)l->b);
	}
}

static void write_words(FILE *f, const struct vb_show *s)
{
	char *text = NULL;
	size_t len;
	FILE *words = open_memstream(&text, &len);

	if (!words) {
		fputs("\"\"", f);
		return;
	}
	vb_show_states(words, s);
	if (s->before.head)
		fprintf(words, "What went over links is that of %.1f s.\n",
			(double)(s->v.head->now_ns - s->before.head->now_ns) / 1e9);
	fclose(words);
	vb_text_json(f, text ? text : "");
	free(text);
}

static int page_write(FILE *f, const struct vb_show *s, const char *svg)
{
	uint32_t *link = malloc((s->v.head->port_cnt + 1u) * sizeof *link);

	if (!link)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->v.head->port_cnt; i++)
		link[i] = VB_DRAWING_NOWHERE;
	for (uint32_t i = 0; i < s->drawing.link_cnt; i++) {
		uint32_t port = s->port_of_link[i];

		link[port] = i;
		if (s->v.port[port].peer != VB_IB_NOWHERE)
			link[s->v.port[port].peer] = i;
	}
	fputs((const char *)vb_fabric_page_head, f);
	fputs("{\"title\": ", f);
	vb_text_json(f, s->drawing.title);
	fputs(", \"subtitle\": \"as verbena fabric show has seen it\", \"summary\": ", f);
	write_words(f, s);
	fputs(",\n\"nodes\": [", f);
	write_nodes(f, s);
	fputs("],\n\"ports\": [", f);
	write_ports(f, s, link);
	fputs("],\n\"links\": [", f);
	write_links(f, s);
	fputs("],\n\"svg\": ", f);
	vb_text_json(f, svg);
	fputs("}", f);
	fputs((const char *)vb_fabric_page_tail, f);
	free(link);
	return ferror(f) ? -EIO : 0;
}

int vb_show_page(struct vb_show *s, const char *path, enum vb_drawing_color color)
{
	struct vb_whole_file w;
	char *svg = NULL;
	size_t len;
	FILE *f = open_memstream(&svg, &len);
	int rc = f ? vb_show_draw(f, s, color) : -ENOMEM;

	if (f && fclose(f) && !rc)
		rc = -ENOMEM;
	if (!rc)
		rc = vb_whole_file_begin(&w, path);
	if (!rc)
		rc = vb_whole_file_end(&w, page_write(w.f, s, svg));
	free(svg);
	return rc;
}
