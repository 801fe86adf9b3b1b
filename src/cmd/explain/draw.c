/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How an explanation is drawn, see draw.h. The events are a ladder, as the page has it: the QP on
 * the left, its peer on the right, time goes down.
 */
#include "cmd/explain/draw.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LADDER_WIDTH 28   /* from line to line, both included */
#define TEXT_WIDTH 98     /* of sentences */
#define WIDTH_LEAST 60    /* of terminals: narrower ones break lines themselves */
#define ROWS_SHOWN_MAX 48 /* of more, the first and the last */
#define ROWS_FIRST 16

/* The file that an explanation is drawn on, and its width. */
struct canvas {
	FILE *f;
	size_t width; /* 0: lines of any length */
	bool has_color;
};

static struct canvas canvas_of(FILE *f)
{
	struct canvas c = {.f = f};
	struct winsize w;

	if (!isatty(fileno(f)))
		return c;
	if (ioctl(fileno(f), TIOCGWINSZ, &w) == 0 && w.ws_col >= WIDTH_LEAST)
		c.width = w.ws_col;
	c.has_color = !getenv("NO_COLOR");
	return c;
}

/* Prints @s, broken at words: its first line behind what stands already, with @room columns, the
 * others behind @before. */
static void print_broken(FILE *f, const char *s, size_t room, const char *before)
{
	for (bool is_first = true; *s; is_first = false) {
		size_t len = strlen(s), cut = len;

		if (len > room) {
			for (cut = room; cut > 0 && s[cut] != ' ';)
				cut--;
			if (cut == 0)
				cut = room;
		}
		fprintf(f, "%s%.*s\n", is_first ? "" : before, (int)cut, s);
		s += cut;
		s += *s == ' ';
	}
}

static void show_lines(const struct canvas *c, const struct vb_lines *l, const char *mark)
{
	size_t width = c->width && c->width < TEXT_WIDTH ? c->width : TEXT_WIDTH;

	for (uint32_t i = 0; i < l->cnt; i++) {
		fputs(mark, c->f);
		print_broken(c->f, l->text[i], width - 4, "    ");
	}
}

/* An arrow through the whole ladder with @label in it. */
static void draw_arrow(char *line, const char *label, bool to_peer)
{
	size_t len = strlen(label), at = (LADDER_WIDTH - len) / 2;

	memset(line + 1, '-', LADDER_WIDTH - 2);
	if (len) {
		line[at - 1] = line[at + len] = ' ';
		memcpy(line + at, label, len); /* NOLINT(bugprone-not-null-terminated-result) */
	}
	line[to_peer ? LADDER_WIDTH - 2 : 1] = to_peer ? '>' : '<';
}

/* The ladder at a row, and the color of what is drawn there; NULL: none. */
static const char *draw_rung(char *line, const struct vb_row *r)
{
	bool is_rnr = strstr(r->text, "RNR NAK") != NULL;

	memset(line, ' ', LADDER_WIDTH);
	line[LADDER_WIDTH] = 0;
	line[0] = line[LADDER_WIDTH - 1] = '|';
	switch (r->kind) {
	case VB_ROW_SENT:
		draw_arrow(line, "sent", true);
		return NULL;
	case VB_ROW_TIMEOUT:
		if (strstr(r->text, "sent again"))
			draw_arrow(line, "again", true);
		line[0] = 'X';
		return "31";
	case VB_ROW_NAK:
		draw_arrow(line, is_rnr ? "RNR NAK" : "NAK", false);
		return "31";
	case VB_ROW_REFUSED:
		draw_arrow(line, is_rnr ? "RNR NAK" : "NAK", true);
		return "31";
	case VB_ROW_RESENT:
		draw_arrow(line, "again", true);
		return "33";
	case VB_ROW_PROGRESS:
		draw_arrow(line, "ACK", false);
		return "32";
	case VB_ROW_END:
		line[0] = '#';
		return "31";
	case VB_ROW_GAP:
		line[0] = line[LADDER_WIDTH - 1] = ':';
		return NULL;
	case VB_ROW_NEXT:
		line[0] = '?';
		return NULL;
	default:
		line[0] = '.';
		return NULL;
	}
}

static void draw_row(const struct canvas *c, const struct vb_row *r, vb_time from)
{
	bool gap = r->kind == VB_ROW_GAP;
	char line[LADDER_WIDTH + 1], before[LADDER_WIDTH + 24];
	const char *color = draw_rung(line, r);
	size_t used = 2 + 11 + 1 + LADDER_WIDTH + 1;

	fprintf(c->f, "  %c%10s ", gap ? ' ' : '+',
		gap ? "..." : vb_word_ns(vb_time_since(from, r->at)).s);
	if (color && c->has_color)
		fprintf(c->f, "\033[%sm%s\033[0m ", color, line);
	else
		fprintf(c->f, "%s ", line);
	snprintf(before, sizeof before, "%14s|%*s|  ", "", LADDER_WIDTH - 2, "");
	/* Only a terminal has a width: the reader of a pipe wants a line for each row. */
	print_broken(c->f, r->text, c->width ? c->width - used - 2 : sizeof r->text, before);
}

static void draw_ladder(const struct canvas *c, const struct vb_row *row, uint32_t cnt,
			const char *from)
{
	uint32_t skipped = cnt > ROWS_SHOWN_MAX ? cnt - ROWS_SHOWN_MAX : 0;
	struct vb_row gap = {.kind = VB_ROW_GAP};

	fprintf(c->f, "\n  What happened, from %s on:\n  %11s QP%*s\n", from, "", LADDER_WIDTH - 2,
		"peer");
	snprintf(gap.text, sizeof gap.text, "%u more like these", skipped);
	for (uint32_t i = 0; i < cnt; i++) {
		if (skipped && i == ROWS_FIRST) {
			draw_row(c, &gap, row[0].at);
			i += skipped;
		}
		draw_row(c, &row[i], row[0].at);
	}
}

void vb_explain_draw(FILE *f, const struct vb_explanation *why, const struct vb_row *row,
		     uint32_t cnt, const char *from)
{
	struct canvas c = canvas_of(f);

	show_lines(&c, &why->what, "  ");
	if (cnt)
		draw_ladder(&c, row, cnt, from);
	if (why->advice.cnt)
		fputs("\n  What can be done:\n", f);
	show_lines(&c, &why->advice, "  - ");
}
