/* SPDX-License-Identifier: BSD-2-Clause */
/* Iterations of graphs, as lines of a table, as JSON and as CSV. See collectives.h. */
#include "results/collectives.h"

#include <inttypes.h>

#define LINES_MAX 8u   /* iterations in the table; collectives.csv has all */
#define JSON_MAX 1000u /* the same of summary.json */

/* A workload with a graph. */
struct work {
	uint32_t number; /* from 1 on */
	const struct vb_graph *g;
	const struct vb_collective *c; /* NULL: a graph of the user's own */
	const char *form;              /* of that */
	const struct vb_load_lap *lap;
	uint32_t cnt, wanted; /* iterations */
	uint64_t up, down;    /* of busbw */
	bool has_bus;
};

/* False: the workload has none. */
static bool work_of(struct work *w, const struct vb_scenario_run *run, uint32_t i)
{
	*w = (struct work){.number = i + 1, .g = vb_load_graph(run->load, i)};
	if (!w->g)
		return false;
	w->c = vb_load_collective(run->load, i);
	w->form = run->graph_form[i];
	w->lap = vb_load_laps(run->load, i, &w->cnt);
	w->wanted = vb_load_iterations(run->load, i);
	w->has_bus = w->c && vb_collective_bus(w->c, &w->up, &w->down);
	return true;
}

bool vb_sim_has_collectives(const struct vb_scenario_run *run)
{
	struct work w;
	bool has = false;

	for (uint32_t i = 0; !has && i < vb_load_pattern_cnt(run->load); i++)
		has = work_of(&w, run, i);
	return has;
}

static const char *kind_name(const struct work *w)
{
	return w->c ? vb_collective_name[w->c->kind] : w->form;
}

static const char *algorithm_name(const struct work *w)
{
	return w->c ? vb_algorithm_name[vb_collective_algorithm_of(w->c)] : "";
}

/* Both in bits per second. */
static uint64_t algbw_of(const struct work *w, vb_dur ns)
{
	return ns ? vb_report_bps(w->c->bytes, ns) : 0;
}

static uint64_t busbw_of(const struct work *w, vb_dur ns)
{
	uint64_t bps = algbw_of(w, ns);

	return bps / w->down * w->up + bps % w->down * w->up / w->down;
}

static vb_dur lap_ns(const struct work *w, uint32_t i)
{
	return w->lap[i].end - w->lap[i].begin;
}

static vb_dur mean_ns(const struct work *w)
{
	vb_dur sum = 0;

	for (uint32_t i = 0; i < w->cnt; i++)
		sum += lap_ns(w, i);
	return w->cnt ? sum / w->cnt : 0;
}

static void print_line(FILE *f, const struct work *w, const char *name, vb_dur ns)
{
	fprintf(f, "  %-12s %12.1f", name, (double)ns / 1e3);
	if (w->has_bus)
		fprintf(f, " %12.3f %12.3f", (double)algbw_of(w, ns) / 1e9,
			(double)busbw_of(w, ns) / 1e9);
	putc('\n', f);
}

static void print_work(FILE *f, const struct work *w)
{
	char name[16];

	fprintf(f, "workload %-5u %s%s%s", w->number, kind_name(w), w->c ? ", " : "",
		algorithm_name(w));
	if (w->c)
		fprintf(f, ", %" PRIu64 " bytes", w->c->bytes);
	fprintf(f, ", %u hosts: %u of %u iterations are over\n", w->g->rank_cnt, w->cnt, w->wanted);
	if (w->cnt == 0)
		return;
	fprintf(f, "  %-12s %12s%s\n", "iteration", "time, us",
		w->has_bus ? "  algbw, Gb/s  busbw, Gb/s" : "");
	for (uint32_t i = 0; i < w->cnt && i < LINES_MAX; i++) {
		snprintf(name, sizeof name, "%u", i);
		print_line(f, w, name, lap_ns(w, i));
	}
	if (w->cnt > LINES_MAX)
		fprintf(f, "  ... %u more\n", w->cnt - LINES_MAX);
	if (w->cnt > 1)
		print_line(f, w, "mean", mean_ns(w));
}

void vb_sim_print_collectives(FILE *f, const struct vb_scenario_run *run)
{
	struct work w;

	for (uint32_t i = 0; i < vb_load_pattern_cnt(run->load); i++)
		if (work_of(&w, run, i))
			print_work(f, &w);
}

static void json_bandwidths(FILE *f, const struct work *w, vb_dur ns)
{
	if (w->has_bus)
		fprintf(f, ", \"algbw_bps\": %" PRIu64 ", \"busbw_bps\": %" PRIu64, algbw_of(w, ns),
			busbw_of(w, ns));
}

static void json_work(FILE *f, const struct work *w)
{
	fprintf(f, "\n    {\"workload\": %u, \"collective\": \"%s\"", w->number, kind_name(w));
	if (w->c)
		fprintf(f, ", \"algorithm\": \"%s\", \"bytes\": %" PRIu64, algorithm_name(w),
			w->c->bytes);
	fprintf(f, ", \"hosts\": %u, \"messages\": %u, \"wanted\": %u, \"done\": %u",
		w->g->rank_cnt, w->g->send_cnt, w->wanted, w->cnt);
	if (w->cnt) {
		fprintf(f, ", \"mean_ns\": %" PRIu64, mean_ns(w));
		json_bandwidths(f, w, mean_ns(w));
	}
	fputs(", \"iterations\": [", f);
	for (uint32_t i = 0; i < w->cnt && i < JSON_MAX; i++) {
		fprintf(f, "%s\n      {\"begin_ns\": %" PRIu64 ", \"time_ns\": %" PRIu64,
			i ? "," : "", w->lap[i].begin, lap_ns(w, i));
		json_bandwidths(f, w, lap_ns(w, i));
		putc('}', f);
	}
	fputs("]}", f);
}

void vb_sim_write_collectives_json(FILE *f, const struct vb_scenario_run *run)
{
	const char *before = "";
	struct work w;

	if (!vb_sim_has_collectives(run))
		return;
	fputs("  \"collectives\": [", f);
	for (uint32_t i = 0; i < vb_load_pattern_cnt(run->load); i++) {
		if (!work_of(&w, run, i))
			continue;
		fputs(before, f);
		json_work(f, &w);
		before = ",";
	}
	fputs("],\n", f);
}

static void write_rows(FILE *f, const struct work *w)
{
	for (uint32_t i = 0; i < w->cnt; i++) {
		fprintf(f, "%u,%s,%s,%u,%u,", w->number, kind_name(w), algorithm_name(w),
			w->g->rank_cnt, i);
		fprintf(f, "%" PRIu64 ",%" PRIu64 ",", w->lap[i].begin, lap_ns(w, i));
		if (w->c)
			fprintf(f, "%" PRIu64, w->c->bytes);
		if (w->has_bus)
			fprintf(f, ",%" PRIu64 ",%" PRIu64 "\n", algbw_of(w, lap_ns(w, i)),
				busbw_of(w, lap_ns(w, i)));
		else
			fputs(",,\n", f);
	}
}

void vb_sim_write_collectives(FILE *f, const struct vb_scenario_run *run, const struct vb_report *r)
{
	struct work w;

	(void)r;
	fputs("workload,collective,algorithm,hosts,iteration,begin_ns,time_ns,bytes,algbw_bps,"
	      "busbw_bps\n",
	      f);
	for (uint32_t i = 0; i < vb_load_pattern_cnt(run->load); i++)
		if (work_of(&w, run, i))
			write_rows(f, &w);
}
