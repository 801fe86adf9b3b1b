/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables as CSV. See table.h. */
#include "results/series/table.h"

#include <assert.h>
#include <inttypes.h>

void vb_table_choose(struct vb_table *t, const struct vb_table_column *column, uint32_t cnt,
		     uint32_t series, enum vb_table_links links)
{
	assert(cnt <= VB_TABLE_COLUMNS_MAX);
	t->column = column;
	t->column_cnt = cnt;
	for (uint32_t i = 0; i < cnt; i++)
		if (series >> column[i].series & 1 && column[i].links & links)
			t->kept |= 1u << i;
}

int vb_table_begin(struct vb_table *t, const char *dir, const char *name, const char *objects)
{
	int err;

	if (!t->kept)
		return 0;
	err = vb_whole_file_begin_in(&t->file, dir, name);
	if (err)
		return err;
	t->is_open = true;
	fprintf(t->file.f, "time_ns,%s", objects);
	for (uint32_t i = 0; i < t->column_cnt; i++)
		if (t->kept >> i & 1)
			fprintf(t->file.f, ",%s", t->column[i].name);
	putc('\n', t->file.f);
	return 0;
}

static void print_value(FILE *f, const struct vb_table_column *c, uint64_t v)
{
	if (c->is_share)
		fprintf(f, "%" PRIu64 ".%04u", v / VB_TABLE_SHARE, (unsigned)(v % VB_TABLE_SHARE));
	else
		fprintf(f, "%" PRIu64, v);
}

void vb_table_values(const struct vb_table *t, const struct vb_table_row *row)
{
	FILE *f = t->file.f;

	for (uint32_t i = 0; i < t->column_cnt; i++) {
		if (!(t->kept >> i & 1))
			continue;
		putc(',', f);
		if (row->has >> i & 1)
			print_value(f, &t->column[i], row->v[i]);
	}
	putc('\n', f);
}

int vb_table_end(struct vb_table *t, int err)
{
	if (!t->is_open)
		return err;
	t->is_open = false;
	return vb_whole_file_end(&t->file, err);
}

void vb_table_group(FILE *f, vb_time at, const char *group, const struct vb_table *t,
		    const struct vb_table_row *row, const bool *is_in, uint32_t cnt, uint64_t *room)
{
	for (uint32_t i = 0; i < t->column_cnt; i++) {
		struct vb_spread s;
		size_t n = 0;

		for (uint32_t k = 0; t->kept >> i & 1 && k < cnt; k++)
			if (is_in[k] && row[k].has >> i & 1)
				room[n++] = row[k].v[i];
		if (n == 0)
			continue;
		vb_spread_of(&s, room, n);

		const uint64_t v[] = {s.mean, s.min, s.p50, s.p95, s.p99, s.max};

		fprintf(f, "%" PRIu64 ",%s,%s,%zu", at, group, t->column[i].name, n);
		for (size_t k = 0; k < sizeof v / sizeof v[0]; k++) {
			putc(',', f);
			print_value(f, &t->column[i], v[k]);
		}
		putc('\n', f);
	}
}
