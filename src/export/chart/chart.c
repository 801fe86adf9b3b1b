/* SPDX-License-Identifier: BSD-2-Clause */
/* Charts as SVG 1.1: the whole, and the legend. See chart.h. */
#include "export/chart/frame.h"
#include "export/chart/letters.h"
#include "export/text/text.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define LEGEND_LINE 18u
#define LEGEND_COLUMNS 2u
#define NAME_MAX_LEN 38u /* of a name in one of several columns */
/* Of a paper: */
#define PAPER_LINE 15u
#define PAPER_COLUMNS 4u
#define SAMPLE 20.0 /* of a line, before its name */
#define APART 10.0  /* columns */

static uint32_t form_width(const struct vb_chart *c)
{
	return c->form == VB_CHART_PAPER ? VB_CHART_PAPER_WIDTH : VB_CHART_WIDTH;
}

/* Columns of the legend, so that no name reaches into the next. */
static uint32_t legend_columns(const struct vb_chart *c)
{
	double font = 32.0 / 3, room = VB_CHART_PAPER_WIDTH - SAMPLE, widest = 1;
	uint32_t columns;

	for (uint32_t k = 0; k < c->line_cnt; k++) {
		if (c->form == VB_CHART_PAGE && strlen(c->line[k].name) > NAME_MAX_LEN)
			return 1;
		widest = fmax(widest, SAMPLE + APART + vb_letters_width(c->line[k].name) * font);
	}
	if (c->form == VB_CHART_PAGE)
		return LEGEND_COLUMNS;
	columns = (uint32_t)(room / widest);
	return columns < 1 ? 1 : columns > PAPER_COLUMNS ? PAPER_COLUMNS : columns;
}

static void paper_entry(FILE *f, const struct vb_chart_frame *r, uint32_t k, double x, double y)
{
	const char *name = r->c->line[k].name;
	size_t fit = vb_letters_fit(name, (r->width - x - SAMPLE) / r->font);

	fprintf(f, "<path d=\"M%.1f %.1fh%.0f\" stroke=\"%s\" stroke-width=\"1.6\"%s/>\n", x,
		y - r->font * 0.35, SAMPLE - 4, vb_chart_color(k), vb_chart_dashes(r->c, k));
	fprintf(f, "<text x=\"%.1f\" y=\"%.1f\">", x + SAMPLE, y);
	vb_text_xml_short(f, name, fit);
	fputs("</text>\n", f);
}

static void draw_legend(FILE *f, const struct vb_chart_frame *r)
{
	uint32_t columns = legend_columns(r->c), at = 0;
	bool is_paper = r->c->form == VB_CHART_PAPER;
	double left = is_paper ? SAMPLE : r->left;
	double width = r->width - left - (is_paper ? 0 : r->right);

	for (uint32_t k = 0; k < r->c->line_cnt; k++) {
		if (!*r->c->line[k].name)
			continue;

		uint32_t row = at / columns;
		double x = left + width * (double)(at % columns) / columns;
		double y = r->top + r->height;

		if (is_paper) {
			paper_entry(f, r, k, x, y + PAPER_LINE * (row + 1) - 2);
		} else {
			y += LEGEND_LINE * row + 8;
			fprintf(f,
				"<rect x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"3\" "
				"fill=\"%s\"/>\n",
				x, y - 5, vb_chart_color(k));
			vb_chart_text(f, x + 20, y, "", r->c->line[k].name);
		}
		at++;
	}
}

uint32_t vb_chart_height(const struct vb_chart *c)
{
	uint32_t columns = legend_columns(c), named = 0, rows;

	for (uint32_t k = 0; k < c->line_cnt; k++)
		named += *c->line[k].name != '\0';
	rows = (named + columns - 1) / columns;
	if (c->form == VB_CHART_PAPER)
		return VB_CHART_PAPER_HEIGHT + (rows ? rows * PAPER_LINE + 4 : 0);
	return VB_CHART_HEIGHT + rows * LEGEND_LINE;
}

uint32_t vb_chart_heights(const struct vb_chart *charts, uint32_t cnt)
{
	uint32_t height = 0;

	for (uint32_t i = 0; i < cnt; i++)
		height += vb_chart_height(&charts[i]);
	return height;
}

void vb_chart_draw(FILE *f, const struct vb_chart *c, uint32_t top)
{
	struct vb_chart_frame r = {.top = top};

	vb_chart_measure(&r, c);
	if (c->form == VB_CHART_PAGE)
		vb_chart_text(f, r.left, r.top + 20, " font-weight=\"bold\"", c->title);
	vb_chart_axes(f, &r);
	vb_chart_lines(f, &r);
	draw_legend(f, &r);
}

void vb_chart_begin(FILE *f, enum vb_chart_form form, const char *title, uint32_t width,
		    uint32_t height)
{
	if (form == VB_CHART_PAPER) {
		fprintf(f,
			"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%gpt\" height=\"%gpt\" "
			"viewBox=\"0 0 %u %u\" font-family=\"Helvetica, Arial, sans-serif\" "
			"font-size=\"10.667\">\n<title>",
			width * 0.75, height * 0.75, width, height);
		vb_text_xml(f, title);
		fputs("</title>\n", f);
	} else {
		fprintf(f,
			"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
			"viewBox=\"0 0 %u %u\" font-family=\"sans-serif\" font-size=\"12\">\n",
			width, height, width, height);
	}
	fputs("<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n", f);
}

int vb_chart_write(FILE *f, const struct vb_chart *charts, uint32_t cnt)
{
	uint32_t top = 0;

	if (cnt)
		vb_chart_begin(f, charts[0].form, charts[0].title, form_width(&charts[0]),
			       vb_chart_heights(charts, cnt));
	else
		vb_chart_begin(f, VB_CHART_PAGE, "", VB_CHART_WIDTH, 0);
	for (uint32_t i = 0; i < cnt; i++) {
		vb_chart_draw(f, &charts[i], top);
		top += vb_chart_height(&charts[i]);
	}
	fputs("</svg>\n", f);
	return ferror(f) ? -EIO : 0;
}
