/* SPDX-License-Identifier: BSD-2-Clause */
/* Figures of what the queue and the link do under many flows. See figures.h. */
#include "figures.h"

#include <stdlib.h>

#define MS VB_MSEC
#define CDF_POINTS 200u /* drawn, of LAB_POINTS */

static const struct setting {
	const char *name;
	uint32_t pmax_ppm;
	enum vb_mtu mtu;
} settings[] = {
    {"MTU 1024, Pmax 1 %", 10000, VB_MTU_1024},
    {"MTU 1024, Pmax 10 %", 100000, VB_MTU_1024},
    {"MTU 4096, Pmax 1 %", 10000, VB_MTU_4096},
};

int figure_incast(struct lab *lab)
{
	static const uint32_t senders[] = {1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20};
	double x[11], idle[11];

	plot_chart(&lab->plot, "What K senders leave of the link, preamble and gap included",
		   VB_CHART_DOTTED, (struct vb_chart_axis){.name = "senders", .unit = ""},
		   (struct vb_chart_axis){.name = "idle", .unit = "%"});
	for (unsigned k = 0; k < 3; k++) {
		figure_read(lab, "incast");
		lab->sc.load.mtu = settings[k].mtu;
		lab->sc.sw.red.pmax_ppm = settings[k].pmax_ppm;
		for (unsigned i = 0; i < 11; i++) {
			lab->sc.pattern[0].flows = senders[i];
			x[i] = senders[i];
			idle[i] = 100 - 100 * figure_run(lab, settings[k].name,
							 (struct lab_view){20 * MS, 60 * MS, 0, 1,
									   senders[i]},
							 1000)
						  ->share;
		}
		plot_line(&lab->plot, settings[k].name, x, idle, 11);
	}
	plot_published(&lab->plot, "published: less than", 1, 2.5, 20, 2.5);
	return 0;
}

static int ascending(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int figure_queue_cdf(struct lab *lab)
{
	static const struct setting cases[] = {
	    {"Pmax 1 %", 10000, VB_MTU_1024},
	    {"Pmax 5 %", 50000, VB_MTU_1024},
	    {"Pmax 10 %", 100000, VB_MTU_1024},
	    {"Pmax 20 %", 200000, VB_MTU_1024},
	};
	struct lab_seen *s = &lab->seen;
	double bytes[CDF_POINTS], part[CDF_POINTS];

	plot_chart(&lab->plot, "Queue of 20 senders at MTU 1024", VB_CHART_STEP, figure_queue,
		   (struct vb_chart_axis){.name = "of the time at most", .unit = "%"});
	figure_read(lab, "incast");
	for (unsigned k = 0; k < 4; k++) {
		lab->sc.sw.red.pmax_ppm = cases[k].pmax_ppm;
		figure_run(lab, cases[k].name, (struct lab_view){20 * MS, 60 * MS, 0, 1, 20},
			   LAB_POINTS);
		qsort(s->bytes, s->cnt, sizeof s->bytes[0], ascending);
		for (uint32_t i = 0; i < CDF_POINTS; i++) {
			uint32_t at = (i + 1) * s->cnt / CDF_POINTS - 1;

			bytes[i] = s->bytes[at] / 1e3;
			part[i] = 100.0 * (at + 1) / s->cnt;
		}
		plot_line(&lab->plot, cases[k].name, bytes, part, CDF_POINTS);
	}
	plot_published(&lab->plot, "published: 90 %", 76.6, 0, 76.6, 90);
	return 0;
}

/* The queue at @gbps with so many connections of each of eight hosts, as a line. */
static void many(struct lab *lab, uint64_t gbps, const uint32_t *conns, uint32_t cnt,
		 const char *name)
{
	double x[16], y[16];

	for (uint32_t i = 0; i < cnt; i++) {
		char what[64];

		figure_read(lab, "many-flows");
		lab->sc.topology.cable.rate_bps = gbps * UINT64_C(1000000000);
		vb_cc_settings_paper(&lab->sc.cc, lab->sc.topology.cable.rate_bps);
		lab->sc.cc.dcqcn_min_rate =
		    (uint16_t)(vb_cc_units_q8(100000000, lab->sc.cc.cc_clk_hz) / 256);
		lab->sc.pattern_cnt = conns[i];
		for (uint32_t k = 1; k < conns[i]; k++)
			lab->sc.pattern[k] = lab->sc.pattern[0];
		x[i] = conns[i] * 8;
		snprintf(what, sizeof what, "%s, %u flows", name, conns[i] * 8);
		y[i] = figure_run(lab, what, (struct lab_view){20 * MS, 60 * MS, 0, 1, 8}, 1000)
			   ->queue /
		       1e3;
	}
	plot_line(&lab->plot, name, x, y, cnt);
}

int figure_many_flows(struct lab *lab)
{
	static const uint32_t slow[] = {1, 2, 5, 8, 10, 12, 15, 20, 40};
	static const uint32_t fast[] = {1, 5, 10, 20, 30, 40, 45, 50, 60};

	plot_chart(&lab->plot, "Mean queue of many flows from eight hosts", VB_CHART_DOTTED,
		   (struct vb_chart_axis){.name = "flows", .unit = ""},
		   (struct vb_chart_axis){.name = "queue", .unit = "kB", .is_log = true});
	many(lab, 10, slow, 9, "10 Gb/s");
	many(lab, 40, fast, 9, "40 Gb/s");
	plot_published(&lab->plot, "published: limit of pauses", 8, 4900, 480, 4900);
	plot_published(&lab->plot, "Kmax", 8, 200, 480, 200);
	return 0;
}

int figure_fixed_point(struct lab *lab)
{
	double x[7], y[7], want[7];

	for (unsigned i = 0; i < 7; i++) {
		static const unsigned flows[] = {2, 4, 6, 8, 10, 12, 14};
		unsigned n = flows[i];
		char what[64];

		figure_read(lab, "fixed-point");
		lab->sc.topology.hosts = 15;
		lab->sc.pattern[0].flows = n;
		snprintf(what, sizeof what, "%u flows", n);
		x[i] = n;
		y[i] = figure_run(lab, what, (struct lab_view){20 * MS, 100 * MS, 0, 1, n}, 1000)
			   ->queue /
		       1e3;
		want[i] = 5 + lab_fixed_point(n, 1024) / 0.1 * (2000 - 5);
		printf("  by the formula %.1f kB\n", want[i]);
	}
	plot_chart(&lab->plot, "Queue at its fixed point", VB_CHART_DOTTED,
		   (struct vb_chart_axis){.name = "flows", .unit = ""}, figure_queue);
	plot_line(&lab->plot, "here", x, y, 7);
	plot_line(&lab->plot, "the formula", x, want, 7);
	return 0;
}
