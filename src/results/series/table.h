/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The CSV files of series: their columns, and percentiles over groups of rows. A row is a time, the
 * columns that say which object it is about, and a value for each column that is kept.
 */
#ifndef VB_RESULTS_SERIES_TABLE_H
#define VB_RESULTS_SERIES_TABLE_H

#include "export/file/whole_file.h"
#include "scenario/scenario.h"

#define VB_TABLE_COLUMNS_MAX 16u
#define VB_TABLE_SHARE 10000u /* the unit of shares */

enum vb_table_links { VB_TABLE_ETHERNET = 1, VB_TABLE_INFINIBAND = 2, VB_TABLE_BOTH = 3 };

struct vb_table_column {
	const char *name;
	enum vb_record_series series; /* that it belongs to */
	uint8_t links;                /* enum vb_table_links: that have it */
	bool is_share;                /* in units of 1 / VB_TABLE_SHARE, written as a decimal */
};

/* Zeros: not open, and nothing is kept. */
struct vb_table {
	const struct vb_table_column *column;
	uint32_t column_cnt;
	uint32_t kept; /* bit i: column i is */
	struct vb_whole_file file;
	bool is_open;
};

/* A row before it is written: bit i of @has says that there is v[i]. */
struct vb_table_row {
	uint32_t object, has;
	uint32_t src, dst; /* of a flow */
	uint64_t v[VB_TABLE_COLUMNS_MAX];
};

static inline void vb_row_set(struct vb_table_row *row, uint32_t column, uint64_t v)
{
	row->v[column] = v;
	row->has |= 1u << column;
}

/* Chooses the columns of the series whose bits are set, for links of a kind. */
void vb_table_choose(struct vb_table *t, const struct vb_table_column *column, uint32_t cnt,
		     uint32_t series, enum vb_table_links links);
/* Begins @dir/@name, or with @dir NULL a text, with its header, if any column is kept. 0 or a
 * negative errno. */
int vb_table_begin(struct vb_table *t, const char *dir, const char *name, const char *objects);
/* The values of a row, each behind a comma, and the end of the line. */
void vb_table_values(const struct vb_table *t, const struct vb_table_row *row);
int vb_table_end(struct vb_table *t, int err);

/* group_series.csv: a row for each kept column of @t that has values, of @cnt rows. */
void vb_table_group(FILE *f, vb_time at, const char *group, const struct vb_table *t,
		    const struct vb_table_row *row, const bool *is_in, uint32_t cnt,
		    uint64_t *room);

#endif
