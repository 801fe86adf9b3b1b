/* SPDX-License-Identifier: BSD-2-Clause */
/* Slow-down by size, and cumulative distributions, as CSV and JSON. See distribution.h. */
#include "results/series/distribution.h"
#include "results/series/series.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define STEPS_MAX 1000u

/* Thousandths as a decimal number. */
static void print_milli(FILE *f, uint64_t milli)
{
	fprintf(f, "%" PRIu64 ".%03u", milli / 1000, (unsigned)(milli % 1000));
}

static uint64_t bin_begin(uint32_t bin)
{
	return bin ? vb_report_bin_end(bin - 1) : 0;
}

void vb_sim_write_slowdown(FILE *f, const struct vb_scenario_run *run, const struct vb_report *r)
{
	(void)run;
	fputs("above_bytes,up_to_bytes,flows,slowdown_mean,slowdown_p50,slowdown_p95,slowdown_p99,"
	      "slowdown_max\n",
	      f);
	for (uint32_t bin = 0; bin < VB_REPORT_BINS; bin++) {
		const struct vb_spread *s = &r->slowdown_of_bin[bin];
		const uint64_t v[] = {s->mean, s->p50, s->p95, s->p99, s->max};

		if (s->cnt == 0)
			continue;
		fprintf(f, "%" PRIu64 ",", bin_begin(bin));
		if (vb_report_bin_end(bin) != UINT64_MAX)
			fprintf(f, "%" PRIu64, vb_report_bin_end(bin));
		fprintf(f, ",%" PRIu64, s->cnt);
		for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
			putc(',', f);
			print_milli(f, v[i]);
		}
		putc('\n', f);
	}
}

void vb_sim_write_slowdown_json(FILE *f, const struct vb_report *r)
{
	const char *between = "";

	fputs("  \"slowdown_by_size\": [", f);
	for (uint32_t bin = 0; bin < VB_REPORT_BINS; bin++) {
		const struct vb_spread *s = &r->slowdown_of_bin[bin];

		if (s->cnt == 0)
			continue;
		fprintf(f, "%s{\"above_bytes\": %" PRIu64 ", \"up_to_bytes\": ", between,
			bin_begin(bin));
		if (vb_report_bin_end(bin) != UINT64_MAX)
			fprintf(f, "%" PRIu64, vb_report_bin_end(bin));
		else
			fputs("null", f);
		fprintf(f,
			", \"flows\": %" PRIu64 ", \"mean_milli\": %" PRIu64
			", \"p50_milli\": %" PRIu64 ", \"p95_milli\": %" PRIu64
			", \"p99_milli\": %" PRIu64 ", \"max_milli\": %" PRIu64 "}",
			s->cnt, s->mean, s->p50, s->p95, s->p99, s->max);
		between = ", ";
	}
	fputs("],\n", f);
}

void vb_sim_write_steps(FILE *f, const char *name, const uint64_t *v, size_t cnt, bool is_milli)
{
	size_t steps = cnt < STEPS_MAX ? cnt : STEPS_MAX;

	for (size_t i = 1; i <= steps; i++) {
		/* Rounded up as percentiles are: at least i of so many steps are not above it. */
		size_t rank = (i * cnt + steps - 1) / steps;
		size_t next = i < steps ? ((i + 1) * cnt + steps - 1) / steps : 0;

		/* Of equal values the last one: so many are not above it. */
		if (next && v[next - 1] == v[rank - 1])
			continue;
		while (rank < cnt && v[rank] == v[rank - 1])
			rank++;
		fprintf(f, "%s,", name);
		if (is_milli)
			print_milli(f, v[rank - 1]);
		else
			fprintf(f, "%" PRIu64, v[rank - 1]);
		fprintf(f, ",%.6f\n", (double)rank / (double)cnt);
	}
}

int vb_sim_write_cdf(FILE *f, const struct vb_scenario_run *run, const struct vb_sim_series *series)
{
	uint32_t flows = vb_load_flow_cnt(run->load);
	uint64_t *v = malloc((flows + 1) * sizeof *v);
	size_t cnt = 0;

	if (!v)
		return -ENOMEM;
	fputs("name,value,share\n", f);
	for (uint32_t i = 0; i < flows; i++) {
		const struct vb_flow *w = vb_load_flow(run->load, i);

		if (vb_flow_is_done(w))
			v[cnt++] = w->done - w->start;
	}
	vb_values_sort(v, cnt);
	vb_sim_write_steps(f, "fct_ns", v, cnt, false);
	cnt = 0;
	for (uint32_t i = 0; i < flows; i++) {
		const struct vb_flow *w = vb_load_flow(run->load, i);

		if (vb_flow_is_done(w))
			v[cnt++] = vb_flow_slowdown_milli(run->load, run->sim, w);
	}
	vb_values_sort(v, cnt);
	vb_sim_write_steps(f, "slowdown", v, cnt, true);
	free(v);
	if (series)
		vb_sim_series_write_cdf(series, f);
	return 0;
}
