/* SPDX-License-Identifier: BSD-2-Clause */
/* How an explanation is drawn, see draw.h. */
#include "cmd/explain/draw.h"

#include <string.h>

#define BAR_WIDTH 28

static void show_lines(FILE *f, const struct vb_lines *l, const char *mark)
{
	for (uint32_t i = 0; i < l->cnt; i++) {
		const char *s = l->text[i];
		size_t indent = strlen(mark);
		const char *before = mark;

		/* Broken at words, at 98 columns. */
		while (*s) {
			size_t room = 98 - indent, len = strlen(s), cut = len;

			if (len > room) {
				for (cut = room; cut > 0 && s[cut] != ' ';)
					cut--;
				if (cut == 0)
					cut = room;
			}
			fprintf(f, "%s%.*s\n", before, (int)cut, s);
			s += cut;
			s += *s == ' ';
			before = "    ";
			indent = 4;
		}
	}
}

/* Where @at lies in a bar of [from, to]. */
static unsigned bar_place(vb_time at, vb_time from, vb_time to)
{
	vb_dur all = to > from ? to - from : 1, d = vb_time_since(from, at);

	return (unsigned)((double)(d < all ? d : all) * (BAR_WIDTH - 1) / (double)all);
}

static void draw_bar(char *bar, const struct vb_row *r, vb_time from, vb_time to)
{
	static const char mark[VB_ROW_KIND_CNT] = {
	    [VB_ROW_SENT] = 'o',    [VB_ROW_TIMEOUT] = 'X', [VB_ROW_NAK] = '!',
	    [VB_ROW_REFUSED] = '!', [VB_ROW_RESENT] = 'o',  [VB_ROW_PROGRESS] = '+',
	    [VB_ROW_END] = '#',     [VB_ROW_OTHER] = '.',   [VB_ROW_GAP] = ':',
	    [VB_ROW_NEXT] = '?',
	};
	unsigned a = bar_place(r->from, from, to), b = bar_place(r->at, from, to);

	memset(bar, ' ', BAR_WIDTH);
	for (unsigned i = a; i < b; i++)
		bar[i] = r->kind == VB_ROW_NEXT ? '-' : '=';
	bar[b] = mark[r->kind];
	bar[BAR_WIDTH] = 0;
}

void vb_explain_draw(FILE *f, const struct vb_explanation *why, const struct vb_row *row,
		     uint32_t cnt, const char *from)
{
	char bar[BAR_WIDTH + 1];
	vb_time end = 0;

	show_lines(f, &why->what, "  ");
	for (uint32_t i = 0; i < cnt; i++)
		if (row[i].at != VB_NEVER && row[i].at > end)
			end = row[i].at;
	if (cnt)
		fprintf(f,
			"\n  What happened, from %s on (o sent, = timer runs, X fires, ! NAK, + "
			"answer, "
			"# end):\n",
			from);
	for (uint32_t i = 0; i < cnt; i++) {
		bool gap = row[i].kind == VB_ROW_GAP;

		draw_bar(bar, &row[i], row[0].at, end);
		fprintf(f, "  %c%10s |%s| %s\n", gap ? ' ' : '+',
			gap ? "..." : vb_word_ns(vb_time_since(row[0].at, row[i].at)).s, bar,
			row[i].text);
	}
	if (why->advice.cnt)
		fputs("\n  What can be done:\n", f);
	show_lines(f, &why->advice, "  - ");
}
