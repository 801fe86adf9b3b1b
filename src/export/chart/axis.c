/* SPDX-License-Identifier: BSD-2-Clause */
/* Axes: their ends, the numbers at them, and where a value is. See frame.h. */
#include "export/chart/frame.h"

#include "export/chart/letters.h"
#include "export/text/text.h"

#include <math.h>
#include <string.h>

#define LETTER 6.5         /* of a page: how wide a letter is, about */
#define TICKS 6            /* at most */
#define DOTTED_MARGIN 0.04 /* of the width: points stand clear of the axis */
#define GAP 5.0            /* of a paper: between texts, and between a number and its axis */
#define LISTED 64u

struct ticks {
	double v[LISTED];
	uint32_t cnt;
};

bool vb_chart_has(const struct vb_chart_axis *a, double v)
{
	return isfinite(v) && (!a->is_log || v > 0);
}

static double axis_share(const struct vb_chart_axis *a, double v, double lo, double hi)
{
	return a->is_log ? log(v / lo) / log(hi / lo) : (v - lo) / (hi - lo);
}

double vb_chart_x(const struct vb_chart_frame *r, double v)
{
	return r->left +
	       (r->width - r->left - r->right) * axis_share(&r->c->x, v, r->x_lo, r->x_hi);
}

double vb_chart_y(const struct vb_chart_frame *r, double v)
{
	double s = fmax(0, axis_share(&r->c->y, v, r->y_lo, r->y_hi));

	return r->top + r->height - r->below - (r->height - r->above - r->below) * s;
}

static void extend_range(const struct vb_chart_axis *a, double v, double *lo, double *hi)
{
	if (!vb_chart_has(a, v))
		return;
	*lo = fmin(*lo, v);
	*hi = fmax(*hi, v);
}

/* An axis has a length even when all values are one, or there are none. */
static void settle_range(const struct vb_chart_axis *a, double *lo, double *hi)
{
	if (*lo > *hi) {
		*lo = a->is_log ? 1 : 0;
		*hi = a->is_log ? 10 : 1;
	} else if (*lo == *hi) {
		*lo = a->is_log ? *lo / 2 : *lo - 1;
		*hi = a->is_log ? *hi * 2 : *hi + 1;
	}
}

/* Makes an axis longer at both ends. */
static void widen_range(const struct vb_chart_axis *a, double *lo, double *hi)
{
	double by = (a->is_log ? log(*hi / *lo) : *hi - *lo) * DOTTED_MARGIN;

	*lo = a->is_log ? *lo * exp(-by) : *lo - by;
	*hi = a->is_log ? *hi * exp(by) : *hi + by;
}

/* 1, 2 or 5 times a power of ten, so that there are @ticks of it in @range at most. */
static double step_of(const struct vb_chart_axis *a, double range, int ticks)
{
	double is = a->unit_is > 0 ? a->unit_is : 1;
	double raw = range / is / ticks, unit = pow(10, floor(log10(raw))), m = raw / unit;

	return is * unit * (m <= 1 ? 1 : m <= 2 ? 2 : m <= 5 ? 5 : 10);
}

static void find_ends(struct vb_chart_frame *r)
{
	const struct vb_chart *c = r->c;

	r->x_lo = r->y_lo = INFINITY;
	r->x_hi = r->y_hi = -INFINITY;
	for (uint32_t k = 0; k < c->line_cnt; k++) {
		const struct vb_chart_line *l = &c->line[k];

		for (uint32_t i = 0; i < l->cnt; i++) {
			extend_range(&c->x, l->x[i], &r->x_lo, &r->x_hi);
			extend_range(&c->y, l->y[i], &r->y_lo, &r->y_hi);
			if (l->lo)
				extend_range(&c->y, l->lo[i], &r->y_lo, &r->y_hi);
			if (l->hi)
				extend_range(&c->y, l->hi[i], &r->y_lo, &r->y_hi);
		}
	}
	settle_range(&c->x, &r->x_lo, &r->x_hi);
	if (c->style == VB_CHART_DOTTED)
		widen_range(&c->x, &r->x_lo, &r->x_hi);
	if (!c->y.is_log) {
		r->y_lo = 0;
		r->y_hi = r->y_hi > 0 ? r->y_hi : 1;

		double step = step_of(&c->y, r->y_hi, TICKS);

		r->y_hi = step * ceil(r->y_hi / step - 1e-9);
	}
	settle_range(&c->y, &r->y_lo, &r->y_hi);
	if (c->y.is_log && c->form == VB_CHART_PAPER)
		widen_range(&c->y, &r->y_lo, &r->y_hi);
}

void vb_chart_number(char *text, size_t len, const struct vb_chart_axis *a, double v)
{
	static const char prefix[] = " kMGT";
	int p = 0;

	v /= a->unit_is > 0 ? a->unit_is : 1;
	while (a->is_si && fabs(v) >= 1000 && prefix[p + 1]) {
		v /= 1000;
		p++;
	}
	snprintf(text, len, "%.6g%.*s", v, p != 0, prefix + p);
}

static void linear_ticks(struct ticks *t, const struct vb_chart_axis *a, double lo, double hi,
			 int cnt)
{
	double step = step_of(a, hi - lo, cnt);
	long from = lround(ceil(lo / step - 1e-9));

	t->cnt = 0;
	for (long i = from; (double)i * step <= hi + step * 1e-9 && t->cnt < LISTED; i++)
		t->v[t->cnt++] = (double)i * step;
}

/* Every so many powers of ten; 0: 2 and 5 times each as well. */
static void log_ticks(struct ticks *t, double lo, double hi, int decades)
{
	static const double within[] = {1, 2, 5};
	long from = lround(floor(log10(lo)));

	t->cnt = 0;
	for (long p = from; (double)p <= log10(hi); p++) {
		for (int k = 0; k < (decades ? 1 : 3); k++) {
			double v = within[k] * pow(10, (double)p);

			if (v >= lo * 0.999 && v <= hi * 1.001 && t->cnt < LISTED &&
			    (decades < 2 || p % decades == 0))
				t->v[t->cnt++] = v;
		}
	}
}

/* Half of the room that a number takes along its axis. */
static double half_of(const struct vb_chart_frame *r, bool is_x, double v)
{
	char number[32];

	if (!is_x)
		return r->font / 2;
	vb_chart_number(number, sizeof number, &r->c->x, v);
	return (vb_letters_width(number) * r->font + GAP) / 2;
}

static bool have_room(const struct vb_chart_frame *r, bool is_x, const struct ticks *t)
{
	for (uint32_t i = 1; i < t->cnt; i++) {
		double from = t->v[i - 1], to = t->v[i];
		double apart = is_x ? vb_chart_x(r, to) - vb_chart_x(r, from)
				    : vb_chart_y(r, from) - vb_chart_y(r, to);

		if (half_of(r, is_x, from) + half_of(r, is_x, to) > apart)
			return false;
	}
	return true;
}

/* A page has all that there is; a paper so many that each has room. */
static void choose_ticks(struct ticks *t, const struct vb_chart_frame *r, bool is_x)
{
	const struct vb_chart_axis *a = is_x ? &r->c->x : &r->c->y;
	double lo = is_x ? r->x_lo : r->y_lo, hi = is_x ? r->x_hi : r->y_hi;
	bool is_log = a->is_log && hi / lo >= 4, is_paper = r->c->form == VB_CHART_PAPER;
	int most = TICKS;

	if (is_log)
		log_ticks(t, lo, hi, most = hi / lo > 1000);
	else
		linear_ticks(t, a, lo, hi, most);
	while (is_paper && !have_room(r, is_x, t) && (is_log ? most < TICKS : most > 1)) {
		if (is_log)
			log_ticks(t, lo, hi, ++most);
		else
			linear_ticks(t, a, lo, hi, --most);
	}
}

/* The room that numbers and names need beside the plot. */
static void make_room(struct vb_chart_frame *r)
{
	struct ticks t;
	char number[32];
	double widest = 0;

	r->above = r->font * 0.75;
	r->below = 2 * r->font + 12;
	choose_ticks(&t, r, false);
	for (uint32_t i = 0; i < t.cnt; i++) {
		vb_chart_number(number, sizeof number, &r->c->y, t.v[i]);
		widest = fmax(widest, vb_letters_width(number) * r->font);
	}
	r->left = ceil(r->font + 2 * GAP + widest);
	choose_ticks(&t, r, true);
	r->right = t.cnt ? fmax(GAP, half_of(r, true, t.v[t.cnt - 1])) : GAP;
}

void vb_chart_measure(struct vb_chart_frame *r, const struct vb_chart *c)
{
	bool is_paper = c->form == VB_CHART_PAPER;

	*r = (struct vb_chart_frame){.c = c,
				     .top = r->top,
				     .width = is_paper ? VB_CHART_PAPER_WIDTH : VB_CHART_WIDTH,
				     .height = is_paper ? VB_CHART_PAPER_HEIGHT : VB_CHART_HEIGHT,
				     .left = 72,
				     .right = 16,
				     .above = 36,
				     .below = 48,
				     .font = is_paper ? 32.0 / 3 : 12};
	find_ends(r);
	if (is_paper)
		make_room(r);
}

void vb_chart_text(FILE *f, double x, double y, const char *more, const char *what)
{
	fprintf(f, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, more);
	vb_text_xml(f, what);
	fputs("</text>\n", f);
}

static void draw_x_text(FILE *f, const struct vb_chart_frame *r, double at, const char *text)
{
	vb_chart_text(f, at, r->top + r->height - r->below + r->font + 4, " text-anchor=\"middle\"",
		      text);
	if (r->c->form == VB_CHART_PAPER)
		fprintf(f, "<path d=\"M%.1f %.1fv3\" stroke=\"#333\"/>\n", at,
			r->top + r->height - r->below);
}

static void draw_tick(FILE *f, const struct vb_chart_frame *r, bool is_x, double v)
{
	double at = is_x ? vb_chart_x(r, v) : vb_chart_y(r, v);
	char number[32];

	vb_chart_number(number, sizeof number, is_x ? &r->c->x : &r->c->y, v);
	if (is_x) {
		draw_x_text(f, r, at, number);
		return;
	}
	fprintf(f, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#ddd\"/>\n", r->left, at,
		r->width - r->right);
	vb_chart_text(f, r->left - (r->c->form == VB_CHART_PAPER ? GAP : 6), at + 4,
		      " text-anchor=\"end\"", number);
}

/* Marks that have room beside the one before. */
static void draw_marks(FILE *f, const struct vb_chart_frame *r)
{
	double end = -INFINITY;

	for (uint32_t i = 0; i < r->c->x.mark_cnt; i++) {
		const struct vb_chart_mark *m = &r->c->x.mark[i];
		double wide = r->c->form == VB_CHART_PAPER ? vb_letters_width(m->text) * r->font
							   : (double)strlen(m->text) * LETTER;
		double at;

		if (!vb_chart_has(&r->c->x, m->at) || m->at < r->x_lo || m->at > r->x_hi)
			continue;
		at = vb_chart_x(r, m->at);
		if (at - wide / 2 < end)
			continue;
		end = at + wide / 2 + LETTER;
		draw_x_text(f, r, at, m->text);
	}
}

static void draw_ticks(FILE *f, const struct vb_chart_frame *r, bool is_x)
{
	struct ticks t;

	if ((is_x ? &r->c->x : &r->c->y)->mark) {
		draw_marks(f, r);
		return;
	}
	choose_ticks(&t, r, is_x);
	for (uint32_t i = 0; i < t.cnt; i++)
		draw_tick(f, r, is_x, t.v[i]);
}

/* A name with its unit, as far as there is room for @width. */
static void axis_name(FILE *f, const struct vb_chart_frame *r, const struct vb_chart_axis *a,
		      double x, double y, double width, const char *more)
{
	char name[128];

	snprintf(name, sizeof name, "%s%s%s", a->name, *a->unit ? ", " : "", a->unit);
	if (r->c->form == VB_CHART_PAGE) {
		vb_chart_text(f, x, y, more, name);
		return;
	}
	fprintf(f, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, more);
	vb_text_xml_short(f, name, vb_letters_fit(name, width / r->font));
	fputs("</text>\n", f);
}

void vb_chart_axes(FILE *f, const struct vb_chart_frame *r)
{
	bool is_paper = r->c->form == VB_CHART_PAPER;
	double middle = is_paper ? (r->above + r->height - r->below) / 2 : r->height / 2;
	double x = is_paper ? r->font : 14, y = r->top + middle;
	char turned[80];

	draw_ticks(f, r, false);
	draw_ticks(f, r, true);
	fprintf(f, "<path d=\"M%.1f %.1fV%.1fH%.1f\" fill=\"none\" stroke=\"#333\"/>\n", r->left,
		r->top + r->above, r->top + r->height - r->below, r->width - r->right);
	axis_name(f, r, &r->c->x, (r->left + r->width - r->right) / 2,
		  r->top + r->height - (is_paper ? r->font / 4 : 12), r->width,
		  " text-anchor=\"middle\"");
	snprintf(turned, sizeof turned, " text-anchor=\"middle\" transform=\"rotate(-90 %g %.1f)\"",
		 x, y);
	axis_name(f, r, &r->c->y, x, y, r->height, turned);
}
