/* SPDX-License-Identifier: BSD-2-Clause */
/* See lab.h. */
#include "lab.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int lab_read(struct vb_scenario *sc, const char *folder, const char *name, char *err, size_t len)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s.yaml", folder, name);
	f = fopen(path, "r");
	if (!f) {
		snprintf(err, len, "%s: %s", path, strerror(errno));
		return -EINVAL;
	}

	int bad = vb_scenario_read(sc, f, path, err, len);

	fclose(f);
	return bad;
}

static double sent(const struct vb_sim *s, uint32_t host)
{
	return (double)vb_sim_counters(s, host)->v[VB_COUNTER_port_xmit_data] * 4;
}

/* The sums over all ports: @drops and @pauses. */
static void count(const struct vb_sim *s, uint64_t *drops, uint64_t *pauses)
{
	*drops = *pauses = 0;
	for (uint32_t p = 0; p < vb_sim_port_cnt(s); p++) {
		struct vb_port_stats st;

		vb_sim_port_stats(s, p, &st);
		*drops += st.drops;
		*pauses += st.pauses_sent;
	}
}

static int ascending(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void judge_queue(struct lab_seen *seen)
{
	double sorted[LAB_POINTS], mean = 0, squares = 0;

	for (uint32_t i = 0; i < seen->cnt; i++) {
		sorted[i] = seen->bytes[i];
		mean += seen->bytes[i] / seen->cnt;
		squares += seen->bytes[i] * seen->bytes[i] / seen->cnt;
	}
	qsort(sorted, seen->cnt, sizeof sorted[0], ascending);
	seen->queue_p90 = sorted[seen->cnt * 9 / 10];
	seen->queue_dev = sqrt(fmax(squares - mean * mean, 0));
}

static void judge_senders(struct lab_seen *seen, const struct lab_view *view)
{
	double sum = 0, squares = 0;

	for (uint32_t h = view->from; h <= view->last; h++) {
		for (uint32_t i = 0; i < seen->cnt; i++)
			seen->gbps[h] += seen->rate[h][i] / seen->cnt;
		sum += seen->gbps[h];
		squares += seen->gbps[h] * seen->gbps[h];
	}
	seen->jain = sum * sum / squares / (view->last - view->from + 1);
}

static int sample(struct lab_seen *seen, struct vb_sim *s, const struct lab_view *view,
		  uint32_t port)
{
	double before[LAB_HOSTS], ns = (double)(view->end - view->begin) / seen->cnt;

	for (uint32_t h = view->from; h <= view->last; h++)
		before[h] = sent(s, h);
	for (uint32_t i = 0; i < seen->cnt; i++) {
		vb_time at = view->begin + (view->end - view->begin) * (i + 1) / seen->cnt;
		int err = vb_sim_run(s, at);

		if (err)
			return err;
		seen->ms[i] = (double)at / 1e6;
		seen->bytes[i] = vb_sim_port_waiting(s, port);
		for (uint32_t h = view->from; h <= view->last; h++) {
			double now = sent(s, h);

			seen->rate[h][i] = (now - before[h]) * 8 / ns;
			before[h] = now;
		}
	}
	return 0;
}

int lab_run(struct lab_seen *seen, const struct vb_scenario *sc, const struct lab_view *view,
	    uint32_t cnt, char *err, size_t len)
{
	struct vb_scenario_run run;
	struct vb_port_stats a, z;
	uint64_t drops, pauses;
	int bad = vb_scenario_open(&run, sc, NULL, err, len);

	if (bad)
		return bad;
	memset(seen, 0, sizeof *seen);
	seen->cnt = cnt;

	uint32_t port = vb_sim_port_peer(vb_sim_host_port(run.sim, view->to));

	bad = vb_sim_run(run.sim, view->begin);
	vb_sim_port_stats(run.sim, port, &a);
	count(run.sim, &drops, &pauses);
	if (!bad)
		bad = sample(seen, run.sim, view, port);
	vb_sim_port_stats(run.sim, port, &z);
	count(run.sim, &seen->drops, &seen->pauses);
	seen->pauses -= pauses;

	double ns = (double)(view->end - view->begin);

	seen->marks = z.marks - a.marks;
	seen->cnps = vb_sim_counters(run.sim, view->to)->v[VB_COUNTER_np_cnp_sent];
	seen->share =
	    (double)(z.tx_bytes - a.tx_bytes) * 8e9 / ns / (double)vb_sim_port_rate(run.sim, port);
	seen->queue = (double)(z.byte_ns - a.byte_ns) / ns;
	judge_queue(seen);
	judge_senders(seen, view);
	vb_scenario_close(&run);
	if (bad)
		snprintf(err, len, "the run needs more packets under way than \"packets\" allows");
	return bad;
}

double lab_fixed_point(unsigned n, unsigned mtu)
{
	double pkt = mtu + 34; /* BTH to ICRC, which is what the adapter counts */
	double c = 40e9 / 8 / (mtu + 80), ai = 40e6 / 8 / pkt, b = 10e6 / pkt, t = 55e-6;
	double x = 1 / b + n / (t * c);

	return cbrt(ai * n * n / (50e-6 * c * c) * x * x);
}
