/* SPDX-License-Identifier: BSD-2-Clause */
/* Figures of who gets what: fairness, victims, convergence, several bottlenecks. See figures.h. */
#include "figures.h"

#include <math.h>
#include <string.h>

#define MS VB_MSEC

static void plot_rates(struct lab *lab, const char *title, uint32_t from, uint32_t last,
		       const char *const *names)
{
	const struct lab_seen *s = &lab->seen;

	plot_chart(&lab->plot, title, VB_CHART_LINE, figure_time, figure_rate);
	for (uint32_t h = from; h <= last; h++)
		plot_line(&lab->plot, names[h - from], s->ms, s->rate[h], s->cnt);
}

static void plot_level(struct lab *lab, const char *name, double gbps)
{
	const struct lab_seen *s = &lab->seen;

	plot_published(&lab->plot, name, s->ms[0], gbps, s->ms[s->cnt - 1], gbps);
}

int figure_fairness(struct lab *lab)
{
	static const char *const names[] = {"H1, far", "H2, far", "H3, far", "H4, near"};
	const struct lab_view view = {10 * MS, 60 * MS, 4, 0, 3};

	figure_read(lab, "fairness");
	figure_run(lab, "DCQCN", view, 100);
	plot_rates(lab, "Four senders with DCQCN", 0, 3, names);
	plot_level(lab, "published: all about 10", 10);
	lab->sc.cc = (struct vb_cc_settings){0};
	figure_run(lab, "pauses alone", view, 20); /* each longer than they last */
	plot_rates(lab, "... and with pauses alone", 0, 3, names);
	plot_level(lab, "published: H4 up to 20", 20);
	return 0;
}

int figure_victim(struct lab *lab)
{
	static const double more[] = {0, 1, 2};
	double got[2][3];

	for (int off = 0; off < 2; off++) {
		for (uint32_t k = 0; k < 3; k++) {
			figure_read(lab, "victim");
			/* The last pattern is the victim; those before it are the senders in T3. */
			lab->sc.pattern[4 + k] = lab->sc.pattern[6];
			lab->sc.pattern_cnt = 5 + k;
			if (off)
				lab->sc.cc = (struct vb_cc_settings){0};
			figure_run(lab, off ? "pauses alone" : "DCQCN",
				   (struct lab_view){20 * MS, 60 * MS, 15, 0, 4}, 100);
			got[off][k] = lab->seen.gbps[4];
		}
	}
	plot_chart(&lab->plot, "The victim: a flow that crosses no congested link", VB_CHART_DOTTED,
		   (struct vb_chart_axis){.name = "senders at T3", .unit = ""}, figure_rate);
	plot_line(&lab->plot, "DCQCN", more, got[0], 3);
	plot_published(&lab->plot, "DCQCN, published", 0, 20, 2, 20);
	plot_line(&lab->plot, "pauses alone", more, got[1], 3);
	plot_published(&lab->plot, "pauses alone, published", 0, 10, 2, 4.5);
	return 0;
}

/* The values that QCN would have had. D-04 */
static void set_qcn(struct vb_scenario *sc)
{
	sc->cc.dcqcn_byte_cnt_th = 150000;
	sc->cc.byte_cnt_unit_log2 = 0;
	sc->cc.dcqcn_nocnp_timer_th = 1500;
	sc->cc.dcqcn_upd_alpha_g = 64;
	sc->sw.red = (struct vb_red){40000, 40000, 1000000};
}

int figure_two_flows(struct lab *lab)
{
	static const char *const names[] = {"first", "second"};
	const struct lab_view view = {1 * MS, 100 * MS, 0, 1, 2};

	figure_read(lab, "two-flows");
	figure_run(lab, "values of the paper", view, 198);
	plot_rates(lab, "Two flows, values of the paper", 1, 2, names);
	set_qcn(&lab->sc);
	figure_run(lab, "values of QCN", view, 198);
	plot_rates(lab, "... and those of QCN", 1, 2, names);
	return 0;
}

/* |R1 - R2| of two flows, one of which starts at 10 ms. */
static void plot_difference(struct lab *lab, const char *name)
{
	struct lab_seen *s = &lab->seen;
	double apart[LAB_POINTS], later[LAB_POINTS];

	figure_run(lab, name, (struct lab_view){10 * MS, 110 * MS, 0, 1, 2}, 50);
	for (uint32_t i = 0; i < s->cnt; i++) {
		apart[i] = fabs(s->rate[1][i] - s->rate[2][i]);
		later[i] = s->ms[i] - 10;
	}
	plot_line(&lab->plot, name, later, apart, s->cnt);
}

static void begin_difference(struct lab *lab, const char *title)
{
	static const struct vb_chart_axis since = {.name = "since the second flow began",
						   .unit = "ms"};
	static const struct vb_chart_axis apart = {.name = "|R1 - R2|", .unit = "Gb/s"};

	plot_chart(&lab->plot, title, VB_CHART_LINE, since, apart);
	figure_read(lab, "two-flows");
	lab->sc.until = 110 * MS;
}

static void sweep_alpha(struct lab *lab)
{
	static const struct {
		const char *name;
		uint16_t g;
	} g[] = {{"g = 1/16", 64}, {"g = 1/256", 4}};

	plot_chart(&lab->plot, "Queue of 16 senders, g", VB_CHART_LINE, figure_time, figure_queue);
	for (unsigned i = 0; i < 2; i++) {
		struct lab_seen *s = &lab->seen;

		figure_read(lab, "incast");
		lab->sc.pattern[0].flows = 16;
		lab->sc.cc.dcqcn_upd_alpha_g = g[i].g;
		figure_run(lab, g[i].name, (struct lab_view){20 * MS, 30 * MS, 0, 1, 16}, 500);
		for (uint32_t k = 0; k < s->cnt; k++)
			s->bytes[k] /= 1e3;
		plot_line(&lab->plot, g[i].name, s->ms, s->bytes, s->cnt);
	}
}

int figure_sweeps(struct lab *lab)
{
	static const uint32_t timer[] = {55, 150, 300, 1500}, kmax[] = {40, 100, 200, 400};
	static const uint32_t kilobytes[] = {150, 1000, 10000}, pmax[] = {1, 10, 50, 100};
	char name[64];

	begin_difference(lab, "Timer T, byte counter 10 MB");
	for (unsigned i = 0; i < 4; i++) {
		lab->sc.cc.dcqcn_nocnp_timer_th = (uint16_t)timer[i];
		snprintf(name, sizeof name, "T = %u us", timer[i]);
		plot_difference(lab, name);
	}
	begin_difference(lab, "Byte counter B, timer 1.5 ms");
	lab->sc.cc.dcqcn_nocnp_timer_th = 1500;
	for (unsigned i = 0; i < 3; i++) {
		lab->sc.cc.byte_cnt_unit_log2 = 6;
		lab->sc.cc.dcqcn_byte_cnt_th = kilobytes[i] * 1000 / 64;
		snprintf(name, sizeof name, "B = %u kB", kilobytes[i]);
		plot_difference(lab, name);
	}
	begin_difference(lab, "Kmax, T and B of QCN, Pmax 1 %");
	lab->sc.cc.dcqcn_nocnp_timer_th = 1500;
	lab->sc.cc.byte_cnt_unit_log2 = 0;
	lab->sc.cc.dcqcn_byte_cnt_th = 150000;
	for (unsigned i = 0; i < 4; i++) {
		lab->sc.sw.red.kmax = kmax[i] * 1000;
		snprintf(name, sizeof name, "Kmax = %u kB", kmax[i]);
		plot_difference(lab, name);
	}
	begin_difference(lab, "Pmax, T and B of QCN, Kmax 200 kB");
	lab->sc.cc.dcqcn_nocnp_timer_th = 1500;
	lab->sc.cc.byte_cnt_unit_log2 = 0;
	lab->sc.cc.dcqcn_byte_cnt_th = 150000;
	for (unsigned i = 0; i < 4; i++) {
		lab->sc.sw.red.pmax_ppm = pmax[i] * 10000;
		snprintf(name, sizeof name, "Pmax = %u %%", pmax[i]);
		plot_difference(lab, name);
	}
	sweep_alpha(lab);
	return 0;
}

int figure_parking_lot(struct lab *lab)
{
	static const char *const names[] = {"long flow", "first short flow"};
	const struct lab_view view = {20 * MS, 300 * MS, 4, 0, 3};

	figure_read(lab, "parking-lot");
	figure_run(lab, "RED", view, 140);
	plot_rates(lab, "A flow over two bottlenecks, marked by RED", 0, 1, names);
	plot_level(lab, "max-min share", 20);
	lab->sc.sw.red = (struct vb_red){40000, 40000, 1000000};
	figure_run(lab, "cut-off", view, 140);
	plot_rates(lab, "... and beyond 40 kB", 0, 1, names);
	plot_level(lab, "max-min share", 20);
	return 0;
}

int figure_samples(struct lab *lab)
{
	static const char *const names[] = {"first", "second"};

	figure_read(lab, "ns3-rdma");
	figure_run(lab, "ns3-rdma", (struct lab_view){0, 60 * MS, 0, 1, 2}, 120);
	plot_rates(lab, "ns3-rdma: 2:1 at 40 Gb/s", 1, 2, names);
	plot_level(lab, "published: both about 20", 20);
	figure_read(lab, "hpcc");
	figure_run(lab, "hpcc", (struct lab_view){0, 30 * MS, 1, 2, 3}, 60);
	plot_rates(lab, "HPCC: 2:1 at 100 Gb/s", 2, 3, names);
	return 0;
}
