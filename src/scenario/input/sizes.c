/* SPDX-License-Identifier: BSD-2-Clause */
/* Points of a cumulative distribution from text. See sizes.h. */
#include "scenario/input/sizes.h"

#include "base/assert.h"

#include <errno.h>
#include <stdlib.h>

#define PPM 1000000u

/* A line: its size, and its share in 10^-9 of a hundred or of one. */
struct row {
	uint64_t bytes, share;
	uint32_t line, column; /* of the share */
};

struct rows {
	struct row *row;
	uint32_t cnt, cap;
};

static int rows_grow(struct rows *r)
{
	uint32_t cap = r->cap ? 2 * r->cap : 64;
	struct row *more = realloc(r->row, cap * sizeof *more);

	if (!more)
		return -ENOMEM;
	r->row = more;
	r->cap = cap;
	return 0;
}

/* The two words of a row, of which the first has been read. */
static int row_read(struct rows *r, struct vb_tokens *w, const struct vb_token *first,
		    const struct vb_complaint *c)
{
	struct row row, *last = r->cnt ? &r->row[r->cnt - 1] : NULL;
	char shown[VB_TOKEN_SHOWN];
	struct vb_token share;

	if (!vb_token_decimal(first, 0, &row.bytes) || row.bytes > UINT32_MAX)
		return vb_complain(c, first->line, first->column,
				   "a size is a number of bytes up to %u, not \"%s\"", UINT32_MAX,
				   vb_token_show(first, shown));
	if (!vb_tokens_next(w, &share) || share.line != first->line)
		return vb_complain(c, first->line, first->column,
				   "a line has a size, and the flows that are at most so long in "
				   "percent or as a share");
	if (!vb_token_decimal(&share, 9, &row.share) || row.share > UINT64_C(100000000000))
		return vb_complain(c, share.line, share.column,
				   "the flows up to a size are 0 to 100 percent or a share of 0 to "
				   "1, not \"%s\"",
				   vb_token_show(&share, shown));
	if (last && row.bytes < last->bytes)
		return vb_complain(c, first->line, first->column,
				   "sizes go up: %llu is less than the one before",
				   (unsigned long long)row.bytes);
	if (last && row.share < last->share)
		return vb_complain(c, share.line, share.column,
				   "\"%s\" is less than the line before has: a line is about all "
				   "flows up to its size",
				   vb_token_show(&share, shown));
	row.line = share.line;
	row.column = share.column;
	if (r->cnt == VB_SIZES_POINTS_MAX)
		return vb_complain(c, first->line, first->column, "there are more than %u sizes",
				   VB_SIZES_POINTS_MAX);
	if (r->cnt == r->cap && rows_grow(r))
		return -ENOMEM;
	r->row[r->cnt++] = row;
	return 0;
}

static int rows_read(struct rows *r, struct vb_tokens *w, const struct vb_complaint *c)
{
	struct vb_token word;
	const struct row *last;
	uint32_t line = 0;

	while (vb_tokens_next(w, &word)) {
		int bad;

		if (word.line == line)
			return vb_complain(c, word.line, word.column,
					   "a line has two columns, a size and the flows that are "
					   "at most so long");
		line = word.line;
		bad = row_read(r, w, &word, c);
		if (bad)
			return bad;
	}
	if (r->cnt == 0)
		return vb_complain(c, word.line, word.column, "there are no sizes here");
	last = &r->row[r->cnt - 1];
	if (last->share != UINT64_C(1000000000) && last->share != UINT64_C(100000000000))
		return vb_complain(
		    c, last->line, last->column,
		    "the last line is about all flows: 100 percent, or a share of 1");
	if (last->bytes == 0)
		return vb_complain(c, last->line, last->column, "all flows have 0 bytes");
	return 0;
}

static int dist_make(struct vb_size_dist **out, const struct rows *r)
{
	VB_ASSERT(r->row && r->cnt > 0);

	/* Parts per million in 10^-9 of the last. */
	uint64_t ppm = r->row[r->cnt - 1].share / PPM;
	struct vb_size_dist *d = calloc(1, sizeof *d + (r->cnt + 1) * sizeof(struct vb_size_point));
	struct vb_size_point *p;

	VB_ASSERT(ppm > 0);
	if (!d)
		return -ENOMEM;
	p = (struct vb_size_point *)(void *)(d + 1);
	d->name = "a file";
	d->point = p;
	/* A first size that has flows of its own: all of them are as long. */
	if (r->row[0].share)
		p[d->cnt++].bytes = r->row[0].bytes ? (uint32_t)r->row[0].bytes : 1;
	for (uint32_t i = 0; i < r->cnt; i++)
		p[d->cnt++] = (struct vb_size_point){r->row[i].bytes ? (uint32_t)r->row[i].bytes
								     : 1, /* a flow has a byte */
						     (uint32_t)(r->row[i].share / ppm)};
	*out = d;
	return 0;
}

int vb_sizes_parse(struct vb_size_dist **out, const char *text, size_t len,
		   const struct vb_complaint *c)
{
	struct vb_tokens w = vb_tokens_of(text, len, 1);
	struct rows r = {0};
	int bad = rows_read(&r, &w, c);

	if (!bad)
		bad = dist_make(out, &r);
	free(r.row);
	return bad;
}

void vb_sizes_free(struct vb_size_dist *d)
{
	free(d);
}
