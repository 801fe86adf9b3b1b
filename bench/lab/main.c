/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes the figures of docs/congestion-control.md from the scenarios, and says the numbers behind
 * them: `lab SCENARIOS OUT [FIGURE...]`, where SCENARIOS is scenarios/dcqcn and OUT docs/images.
 * Virtual time and fixed seeds: the same program makes the same files.
 */
#include "figures.h"

#include <stdlib.h>
#include <string.h>

const struct vb_chart_axis figure_time = {.name = "time", .unit = "ms"};
const struct vb_chart_axis figure_rate = {.name = "sent", .unit = "Gb/s"};
const struct vb_chart_axis figure_queue = {.name = "queue", .unit = "kB"};

static const struct figure {
	const char *name;
	int (*make)(struct lab *lab);
} figures[] = {
    {"fairness", figure_fairness},       {"victim", figure_victim},
    {"two-flows", figure_two_flows},     {"sweeps", figure_sweeps},
    {"incast", figure_incast},           {"queue", figure_queue_cdf},
    {"parking-lot", figure_parking_lot}, {"many-flows", figure_many_flows},
    {"fixed-point", figure_fixed_point}, {"samples", figure_samples},
};

#define FIGURE_CNT (sizeof figures / sizeof figures[0])

static _Noreturn void give_up(const char *err)
{
	fprintf(stderr, "lab: %s\n", err);
	exit(1);
}

void figure_read(struct lab *lab, const char *name)
{
	char err[1024];

	if (lab_read(&lab->sc, lab->scenarios, name, err, sizeof err))
		give_up(err);
}

const struct lab_seen *figure_run(struct lab *lab, const char *what, struct lab_view view,
				  uint32_t samples)
{
	struct lab_seen *s = &lab->seen;
	char err[1024];

	if (lab_run(s, &lab->sc, &view, samples, err, sizeof err))
		give_up(err);
	printf("%-34s %5.1f %% of the link, queue %.1f kB (90 %% below %.1f, deviation %.1f), "
	       "Jain %.4f, %llu pauses, %llu drops;",
	       what, s->share * 100, s->queue / 1e3, s->queue_p90 / 1e3, s->queue_dev / 1e3,
	       s->jain, (unsigned long long)s->pauses, (unsigned long long)s->drops);
	for (uint32_t h = view.from; h <= view.last && h < view.from + 5; h++)
		printf(" %.2f", s->gbps[h]);
	puts(" Gb/s");
	return s;
}

static bool is_wanted(const char *name, char **wanted, int cnt)
{
	for (int i = 0; i < cnt; i++)
		if (strcmp(wanted[i], name) == 0)
			return true;
	return cnt == 0;
}

static bool is_figure(const char *name)
{
	for (size_t i = 0; i < FIGURE_CNT; i++)
		if (strcmp(figures[i].name, name) == 0)
			return true;
	return false;
}

int main(int argc, char **argv)
{
	struct lab *lab = calloc(1, sizeof *lab);
	int bad = argc < 3;

	if (!lab)
		give_up("no memory");
	for (int i = 3; i < argc && !bad; i++)
		bad = !is_figure(argv[i]);
	if (bad) {
		fprintf(stderr, "usage: lab SCENARIOS OUT [FIGURE...]; figures:");
		for (size_t i = 0; i < FIGURE_CNT; i++)
			fprintf(stderr, " %s", figures[i].name);
		fputc('\n', stderr);
		free(lab);
		return 2;
	}
	lab->scenarios = argv[1];
	lab->out = argv[2];
	for (size_t i = 0; i < FIGURE_CNT && !bad; i++) {
		if (!is_wanted(figures[i].name, argv + 3, argc - 3))
			continue;
		printf("%s\n", figures[i].name);
		bad = figures[i].make(lab) || plot_write(&lab->plot, lab->out, figures[i].name);
	}
	free(lab);
	return bad ? 1 : 0;
}
