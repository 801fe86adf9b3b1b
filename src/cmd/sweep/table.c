/* SPDX-License-Identifier: BSD-2-Clause */
/* The results of a sweep: a row for each point as CSV and JSON, and a short table of means over
 * seeds for people. See sweep.h. */
#include "cmd/json.h"
#include "cmd/sweep/sweep.h"
#include "export/text/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_SHOWN 60u

/* The columns that the terminal shows. */
static const char *const shown[] = {"done",       "failed",     "goodput_bps",
				    "fct_p50_ns", "fct_p99_ns", "slowdown_p99_milli",
				    "resent",     "timeouts",   "dropped"};

bool vb_sweep_is_seed(const struct vb_sweep *s, uint32_t column)
{
	return strcmp(s->column[column], "seed") == 0;
}

bool vb_sweep_is_known(const struct vb_sweep_result *r, uint32_t metric)
{
	const char *name = vb_sweep_metric[metric].name;

	return (strncmp(name, "fct_", 4) != 0 && strncmp(name, "slowdown_", 9) != 0 &&
		strcmp(name, "last_done_ns") != 0) ||
	       r->v[vb_sweep_metric_of("done")] != 0;
}

static int write_csv(FILE *f, const struct vb_sweep *s, const void *what)
{
	struct vb_sweep_result r;

	(void)what;
	fputs("point", f);
	for (uint32_t k = 0; k < s->column_cnt; k++)
		fprintf(f, ",%s", s->column[k]);
	for (uint32_t k = 0; vb_sweep_metric[k].name; k++)
		fprintf(f, ",%s", vb_sweep_metric[k].name);
	fputs(",digest\n", f);
	for (uint32_t i = 0; i < s->point_cnt; i++) {
		if (!vb_sweep_load(s, i, &r))
			continue;
		fprintf(f, "%u", i);
		for (uint32_t k = 0; k < s->column_cnt; k++) {
			putc(',', f);
			vb_text_csv(f, s->point[i].value[k] ? s->point[i].value[k] : "");
		}
		for (uint32_t k = 0; vb_sweep_metric[k].name; k++) {
			putc(',', f);
			if (vb_sweep_is_known(&r, k))
				fprintf(f, "%" PRIu64, r.v[k]);
		}
		fprintf(f, ",%s\n", r.digest);
	}
	return ferror(f) ? -EIO : 0;
}

/* The results of all points, as they stand in the folder. */
static int write_json(FILE *f, const struct vb_sweep *s, const void *what)
{
	const char *between = "";
	char path[4096], part[4096];
	size_t n;

	(void)what;
	fputs("{\"scenario\": ", f);
	vb_json_text(f, s->path);
	fputs(", \"points\": [\n", f);
	for (uint32_t i = 0; i < s->point_cnt; i++) {
		FILE *from;

		vb_sweep_name(s, i, "json", path, sizeof path);
		from = fopen(path, "r");
		if (!from)
			continue;
		fputs(between, f);
		while ((n = fread(part, 1, sizeof part, from)) > 0)
			fwrite(part, 1, n, f);
		fclose(from);
		between = ",\n";
	}
	fputs("]}\n", f);
	return ferror(f) ? -EIO : 0;
}

#define SHOWN (sizeof shown / sizeof shown[0])

static int width_of(const struct vb_sweep *s, uint32_t column)
{
	size_t w = strlen(s->column[column]);

	for (uint32_t i = 0; i < s->point_cnt; i++) {
		const char *v = s->point[i].value[column];

		if (v && strlen(v) > w)
			w = strlen(v);
	}
	return (int)(w > 40 ? 40 : w);
}

static void print_head(const struct vb_sweep *s, uint32_t seeds)
{
	for (uint32_t k = 0; k < s->column_cnt; k++)
		if (!vb_sweep_is_seed(s, k))
			printf("%-*s  ", width_of(s, k), s->column[k]);
	if (seeds > 1)
		printf("%6s", "seeds");
	for (uint32_t k = 0; k < SHOWN; k++)
		printf("%15s", vb_sweep_metric[vb_sweep_metric_of(shown[k])].text);
	putchar('\n');
}

/* The mean over the points from @first that differ only in the seed. */
static void print_row(const struct vb_sweep *s, uint32_t first, uint32_t seeds)
{
	double sum[SHOWN] = {0};
	uint32_t have = 0, known[SHOWN] = {0};
	struct vb_sweep_result r;

	for (uint32_t i = first; i < first + seeds; i++) {
		if (!vb_sweep_load(s, i, &r))
			continue;
		have++;
		for (uint32_t k = 0; k < SHOWN; k++) {
			if (!vb_sweep_is_known(&r, vb_sweep_metric_of(shown[k])))
				continue;
			sum[k] += (double)r.v[vb_sweep_metric_of(shown[k])];
			known[k]++;
		}
	}
	for (uint32_t k = 0; k < s->column_cnt; k++) {
		const char *v = s->point[first].value[k];

		if (!vb_sweep_is_seed(s, k))
			printf("%-*.40s  ", width_of(s, k), v ? v : "-");
	}
	if (seeds > 1)
		printf("%6u", have);
	for (uint32_t k = 0; k < SHOWN; k++) {
		double unit = vb_sweep_metric[vb_sweep_metric_of(shown[k])].unit;

		if (known[k])
			printf("%15.*f", unit > 1 ? 3 : have > 1, sum[k] / known[k] / unit);
		else
			printf("%15s", have ? "-" : "failed");
	}
	putchar('\n');
}

uint32_t vb_sweep_seeds_of(const struct vb_sweep *s)
{
	uint32_t n = 1;

	if (s->column_cnt == 0 || !vb_sweep_is_seed(s, s->column_cnt - 1))
		return 1;
	/* Seeds vary fastest: a group ends where another value changes. */
	for (; n < s->point_cnt; n++)
		for (uint32_t k = 0; k + 1 < s->column_cnt; k++)
			if (s->point[n].value[k] != s->point[0].value[k])
				return n;
	return n;
}

static int store_table(const struct vb_sweep *s, const char *name,
		       int (*write)(FILE *f, const struct vb_sweep *s, const void *what))
{
	int err = vb_sweep_store(s, name, write, NULL);

	if (err)
		vb_cmd_error(s->cmd, "%s/%s cannot be written: %s", s->dir, name, strerror(-err));
	return err ? 1 : 0;
}

int vb_sweep_table(const struct vb_sweep *s)
{
	uint32_t seeds = vb_sweep_seeds_of(s), rows = 0;

	if (!s->quiet)
		print_head(s, seeds);
	for (uint32_t i = 0; !s->quiet && i < s->point_cnt && rows < ROWS_SHOWN; i += seeds, rows++)
		print_row(s, i, seeds);
	if (rows && rows * seeds < s->point_cnt)
		printf("... and %u points more in %s/sweep.csv\n", s->point_cnt - rows * seeds,
		       s->dir);
	return store_table(s, "sweep.csv", write_csv) || store_table(s, "sweep.json", write_json);
}
