/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A drawing as SVG 1.1 with CSS, see drawing.h. Each link has the classes of its state, its rate
 * and its load; the class of the whole, by-state, by-rate or by-load, says which of them gives the
 * color, so that a page changes it by one word. Colors are those of Okabe and Ito, and of their
 * scales.
 */
#include "export/fabric/drawing.h"

#include "export/text/text.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define LETTER_SWITCH 7.2 /* how wide one is, about */
#define LETTER_HOST 6.0
#define SMALL_HOST 14.0 /* height of a host with small letters */
#define LETTER_SMALL 4.9
#define DENSE_LINKS 400u /* more are drawn finer */

static const struct {
	const char *name, *word, *color;
} states[] = {{"none", "unplugged", "#8d939b"},
	      {"down", "DOWN", "#d0362b"},
	      {"init", "INIT", "#3a8fbf"},
	      {"armed", "ARMED", "#c98500"},
	      {"active", "ACTIVE", "#0b8f68"}};

static const struct {
	double below; /* Gb/s */
	const char *word, *color;
} rates[VB_DRAWING_RATES] = {{0.001, "down", "#c4c8ce"},   {25, "below 25", "#b79f00"},
			     {50, "from 25", "#e69f00"},   {100, "from 50", "#56b4e9"},
			     {200, "from 100", "#0072b2"}, {400, "from 200", "#009e73"},
			     {800, "from 400", "#cc79a7"}, {INFINITY, "from 800 Gb/s", "#7a2e8e"}};

static const struct {
	double below; /* share */
	const char *word, *color;
	double width;
} loads[VB_DRAWING_LOADS] = {
    {0.01, "0", "#c4c8ce", 1.2},         {0.1, "from 1 %", "#8fb8d8", 1.6},
    {0.25, "from 10 %", "#3a8fbf", 2.2}, {0.5, "from 25 %", "#e0a100", 2.8},
    {0.75, "from 50 %", "#dd6b1f", 3.4}, {INFINITY, "from 75 %", "#b3122a", 4.2}};

uint32_t vb_drawing_rate_class(double gbps)
{
	uint32_t i = 0;

	while (i + 1 < VB_DRAWING_RATES && !(gbps < rates[i].below))
		i++;
	return i;
}

uint32_t vb_drawing_load_class(double load)
{
	uint32_t i = 0;

	while (i + 1 < VB_DRAWING_LOADS && load >= loads[i].below)
		i++;
	return i;
}

static void write_style(FILE *f)
{
	fputs("<style>\n"
	      ".fabric .ground { fill: #fff; }\n"
	      ".fabric .wire { fill: none; stroke-width: 1.4; }\n"
	      ".fabric .node rect { fill: #f4f5f7; stroke: #3c434b; stroke-width: 1; }\n"
	      ".fabric .node.switch rect { fill: #e3edf5; }\n"
	      ".fabric .node.router rect { fill: #f7e8d3; }\n"
	      ".fabric.dense .link .wire { stroke-width: 0.7; stroke-opacity: 0.6; }\n"
	      ".fabric text { fill: #1c2024; }\n"
	      ".fabric .node text { text-anchor: middle; }\n"
	      ".fabric .error { fill: #d0362b; stroke: #fff; stroke-width: 1; }\n"
	      ".fabric .s-none .wire, .fabric .s-down .wire { stroke-dasharray: 5 3; }\n"
	      ".fabric .legend { display: none; }\n"
	      ".fabric.by-state .legend.by-state, .fabric.by-rate .legend.by-rate, "
	      ".fabric.by-load .legend.by-load { display: inline; }\n",
	      f);
	for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
		fprintf(f,
			".fabric.by-state .s-%s .wire, .fabric.by-state .node.s-%s rect { stroke: "
			"%s; }\n",
			states[i].name, states[i].name, states[i].color);
	for (uint32_t i = 0; i < VB_DRAWING_RATES; i++)
		fprintf(
		    f,
		    ".fabric.by-rate .r%u .wire, .fabric.by-rate .node.r%u rect { stroke: %s; }\n",
		    i, i, rates[i].color);
	for (uint32_t i = 0; i < VB_DRAWING_LOADS; i++)
		fprintf(f,
			".fabric.by-load .u%u .wire { stroke: %s; stroke-width: %.1f; }\n"
			".fabric.by-load .node.u%u rect { stroke: %s; }\n",
			i, loads[i].color, loads[i].width, i, loads[i].color);
	fputs("</style>\n", f);
}

/* By a curve, whose middle is half as far off as the point that it is drawn to. */
static void write_wire(FILE *f, const struct vb_drawing_link *l)
{
	double dx = l->x2 - l->x1, dy = l->y2 - l->y1, len = sqrt(dx * dx + dy * dy);

	fprintf(f, "<path class=\"wire\" d=\"M%.1f %.1f", l->x1, l->y1);
	if (l->bend != 0 && len > 0)
		fprintf(f, "Q%.1f %.1f %.1f %.1f\"/>",
			(l->x1 + l->x2) / 2 + (dx < 0 ? -1 : 1) * dy / len * 2 * l->bend,
			(l->y1 + l->y2) / 2 - fabs(dx) / len * 2 * l->bend, l->x2, l->y2);
	else
		fprintf(f, "L%.1f %.1f\"/>", l->x2, l->y2);
}

static void write_classes(FILE *f, const struct vb_drawing_link *l)
{
	fprintf(f, " s-%s r%u u%u", states[l->state].name, vb_drawing_rate_class(l->gbps),
		vb_drawing_load_class(l->load));
}

static void write_link(FILE *f, const struct vb_drawing *g, uint32_t i)
{
	const struct vb_drawing_link *l = &g->link[i];

	fprintf(f, "<g id=\"l%u\" class=\"link", i);
	write_classes(f, l);
	fputs("\"><title>", f);
	vb_text_xml(f, l->title);
	fputs("</title>", f);
	write_wire(f, l);
	if (l->has_errors)
		fprintf(f, "<circle class=\"error\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>",
			(l->x1 + l->x2) / 2, (l->y1 + l->y2) / 2 - l->bend);
	fputs("</g>\n", f);
}

static const char *kind_name(enum vb_drawing_kind kind)
{
	return kind == VB_DRAWING_HOST ? "host" : kind == VB_DRAWING_SWITCH ? "switch" : "router";
}

static void write_node(FILE *f, const struct vb_drawing *g, uint32_t i)
{
	const struct vb_drawing_node *n = &g->node[i];
	double letter = n->kind != VB_DRAWING_HOST ? LETTER_SWITCH
			: n->height < SMALL_HOST   ? LETTER_SMALL
						   : LETTER_HOST;
	double size = letter / 0.6;

	fprintf(f, "<g id=\"n%u\" class=\"node %s", i, kind_name(n->kind));
	if (n->kind == VB_DRAWING_HOST && n->link < g->link_cnt)
		write_classes(f, &g->link[n->link]);
	fputs("\"><title>", f);
	vb_text_xml(f, n->title);
	fprintf(f,
		"</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%.0f\" height=\"%.0f\" rx=\"3\"/>"
		"<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.1f\">",
		n->x - n->width / 2, n->y - n->height / 2, n->width, n->height, n->x,
		n->y + size * 0.36, size);
	vb_text_xml_short(f, n->name, (size_t)((n->width - 4) / letter));
	fputs("</text></g>\n", f);
}

static double legend_entry(FILE *f, double x, double y, const char *class, const char *word)
{
	fprintf(f,
		"<g class=\"%s\"><path class=\"wire\" d=\"M%.1f %.1fh18\"/></g>"
		"<text x=\"%.1f\" y=\"%.1f\">%s</text>",
		class, x, y - 4, x + 24, y, word);
	return x + 24 + (double)strlen(word) * LETTER_SWITCH + 18;
}

static double legend_begin(FILE *f, const char *name, const char *word, double y)
{
	fprintf(f, "<g class=\"legend %s\"><text x=\"24\" y=\"%.1f\">", name, y);
	vb_text_xml(f, word);
	fputs("</text>", f);
	return 24 + (double)strlen(word) * LETTER_SWITCH + 12;
}

static void write_legends(FILE *f, const struct vb_drawing *g, const char *load_name)
{
	double y = g->height - 18, x = legend_begin(f, "by-state", "state:", y);
	char class[16];

	for (size_t i = sizeof states / sizeof states[0]; i-- > 0;) {
		snprintf(class, sizeof class, "s-%s", states[i].name);
		x = legend_entry(f, x, y, class, states[i].word);
	}
	fputs("</g>\n", f);
	x = legend_begin(f, "by-rate", "rate:", y);
	for (uint32_t i = 0; i < VB_DRAWING_RATES; i++) {
		snprintf(class, sizeof class, "r%u", i);
		x = legend_entry(f, x, y, class, rates[i].word);
	}
	fputs("</g>\n", f);
	x = legend_begin(f, "by-load", load_name, y);
	for (uint32_t i = 0; i < VB_DRAWING_LOADS; i++) {
		snprintf(class, sizeof class, "u%u", i);
		x = legend_entry(f, x, y, class, loads[i].word);
	}
	fputs("</g>\n", f);
}

int vb_drawing_write(FILE *f, const struct vb_drawing *g, enum vb_drawing_color color,
		     const char *load_name)
{
	static const char *const by[] = {"by-state", "by-rate", "by-load"};
	double width = fmax(g->width, 760); /* of the legends */

	fprintf(f,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"fabric\" class=\"fabric %s%s\" "
		"width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
		"font-family=\"sans-serif\" font-size=\"12\">\n",
		by[color], g->link_cnt > DENSE_LINKS ? " dense" : "", width, g->height, width,
		g->height);
	write_style(f);
	fputs("<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n<text x=\"24\" y=\"28\" "
	      "font-size=\"15\" font-weight=\"bold\">",
	      f);
	vb_text_xml(f, g->title);
	fputs("</text>\n<g class=\"links\">\n", f);
	for (uint32_t i = 0; i < g->link_cnt; i++)
		write_link(f, g, i);
	fputs("</g>\n<g class=\"nodes\">\n", f);
	for (uint32_t i = 0; i < g->node_cnt; i++)
		write_node(f, g, i);
	fputs("</g>\n", f);
	write_legends(f, g, load_name);
	fputs("</svg>\n", f);
	return ferror(f) ? -EIO : 0;
}
