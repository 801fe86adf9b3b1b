/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of a run on the terminal, and its files. See report.h. */
#include "results/report.h"
#include "export/file/whole_file.h"
#include "export/text/text.h"
#include "results/collectives.h"
#include "results/lanes.h"
#include "results/series/distribution.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const char *const size_name[VB_REPORT_SIZES] = {"to 10 kB", "to 100 kB", "to 1 MB",
						       "to 10 MB", "above"};

static void print_times(FILE *f, const struct vb_report *r)
{
	const struct vb_spread *s = &r->fct_ns;

	fprintf(f, "  %-12s %10s %10s %10s %10s %10s %10s\n", "", "flows", "mean", "p50", "p99",
		"p99.9", "max");
	/* No flow is done: there is no time, which is not a time of 0. */
	if (s->cnt == 0)
		fprintf(f, "  %-12s %10d %10s %10s %10s %10s %10s\n", "FCT, us", 0, "-", "-", "-",
			"-", "-");
	else
		fprintf(f, "  %-12s %10" PRIu64 " %10.1f %10.1f %10.1f %10.1f %10.1f\n", "FCT, us",
			s->cnt, (double)s->mean / 1e3, (double)s->p50 / 1e3, (double)s->p99 / 1e3,
			(double)s->p999 / 1e3, (double)s->max / 1e3);
	for (uint32_t i = 0; i <= VB_REPORT_SIZES; i++) {
		const struct vb_spread *d = i ? &r->slowdown_of_size[i - 1] : &r->slowdown_milli;

		if (d->cnt == 0)
			continue;
		fprintf(f, "  %-12s %10" PRIu64 " %10.2f %10.2f %10.2f %10.2f %10.2f\n",
			i ? size_name[i - 1] : "slow-down", d->cnt, (double)d->mean / 1e3,
			(double)d->p50 / 1e3, (double)d->p99 / 1e3, (double)d->p999 / 1e3,
			(double)d->max / 1e3);
	}
}

void vb_sim_print(FILE *f, const struct vb_report *r, double seconds)
{
	const uint64_t *c = r->counters.v;

	fprintf(f, "flows          %u, done %u, failed %u", r->flows, r->done, r->failed);
	if (r->running)
		fprintf(f, ", still running %u", r->running);
	putc('\n', f);
	fprintf(f, "goodput        %.3f Gb/s (%" PRIu64 " bytes in %.3f ms), Jain %.4f\n",
		(double)r->goodput_bps / 1e9, r->bytes,
		r->end > r->first_start ? (double)(r->end - r->first_start) / 1e6 : 0,
		(double)r->jain_ppm / 1e6);
	print_times(f, r);
	fprintf(f, "packets        %" PRIu64 " sent, %" PRIu64 " received, %" PRIu64 " hops\n",
		c[VB_COUNTER_port_xmit_packets], c[VB_COUNTER_port_rcv_packets], r->hops);
	fprintf(f,
		"resent         %" PRIu64 " packets; NAK %" PRIu64 ", timeout %" PRIu64
		", implied NAK %" PRIu64 ", RNR %" PRIu64 "\n",
		c[VB_COUNTER_retransmitted_packets], c[VB_COUNTER_packet_seq_err],
		c[VB_COUNTER_local_ack_timeout_err], c[VB_COUNTER_implied_nak_seq_err],
		c[VB_COUNTER_rnr_nak_retry_err]);
	fprintf(f,
		"lost           %" PRIu64 " in switches, %" PRIu64 " to faults, %" PRIu64
		" to a wrong ICRC\n",
		r->drops, r->faults, c[VB_COUNTER_rx_icrc_encapsulated]);
	if (r->group_sent)
		fprintf(f,
			"groups         %" PRIu64 " messages, received %" PRIu64 " of %" PRIu64
			" times by members\n",
			r->group_sent, r->group_received, r->group_due);
	fprintf(f,
		"queues         at most %" PRIu64 " bytes, %" PRIu64
		" on average at the fullest port\n",
		r->depth_max, r->depth_mean);
	fprintf(f, "marked         %" PRIu64 " packets; paused %" PRIu64 " times, %.1f us\n",
		r->marks, r->pauses, (double)r->paused_ns / 1e3);
	if (r->storms)
		fprintf(f, "storms         %" PRIu64 " pauses that were too long\n", r->storms);
	fprintf(f,
		"events         %" PRIu64
		" in %.2f s of processor time: %.2f million packet-hops/s, %.2f million events/s\n",
		r->events, seconds, seconds > 0 ? (double)r->hops / seconds / 1e6 : 0,
		seconds > 0 ? (double)r->events / seconds / 1e6 : 0);
	fprintf(f, "digest         %016" PRIx64 "\n", r->digest);
}

static void json_spread(FILE *f, const char *name, const struct vb_spread *s)
{
	fprintf(f,
		"  \"%s\": {\"count\": %" PRIu64 ", \"mean\": %" PRIu64 ", \"min\": %" PRIu64
		", \"p50\": %" PRIu64 ", \"p90\": %" PRIu64 ", \"p95\": %" PRIu64
		", \"p99\": %" PRIu64 ", \"p999\": %" PRIu64 ", \"max\": %" PRIu64 "},\n",
		name, s->cnt, s->mean, s->min, s->p50, s->p90, s->p95, s->p99, s->p999, s->max);
}

static void write_summary(FILE *f, const struct vb_scenario_run *run, const struct vb_report *r)
{
	const struct {
		const char *name;
		uint64_t v;
	} number[] = {
	    {"flows", r->flows},
	    {"done", r->done},
	    {"failed", r->failed},
	    {"running", r->running},
	    {"bytes", r->bytes},
	    {"first_start_ns", r->first_start == VB_NEVER ? 0 : r->first_start},
	    {"last_done_ns", r->last_done},
	    {"end_ns", r->end},
	    {"goodput_bps", r->goodput_bps},
	    {"jain_ppm", r->jain_ppm},
	    {"dropped", r->drops},
	    {"faults", r->faults},
	    {"marked", r->marks},
	    {"pauses", r->pauses},
	    {"paused_ns", r->paused_ns},
	    {"storms", r->storms},
	    {"depth_max_bytes", r->depth_max},
	    {"depth_mean_bytes", r->depth_mean},
	    {"group_messages", r->group_sent},
	    {"group_due", r->group_due},
	    {"group_received", r->group_received},
	    {"hops", r->hops},
	    {"events", r->events},
	};
	char name[40];

	fputs("{\n", f);
	for (size_t i = 0; i < sizeof number / sizeof number[0]; i++)
		fprintf(f, "  \"%s\": %" PRIu64 ",\n", number[i].name, number[i].v);
	json_spread(f, "fct_ns", &r->fct_ns);
	json_spread(f, "slowdown_milli", &r->slowdown_milli);
	for (uint32_t i = 0; i < VB_REPORT_SIZES; i++) {
		snprintf(name, sizeof name, "slowdown_milli %s", size_name[i]);
		json_spread(f, name, &r->slowdown_of_size[i]);
	}
	vb_sim_write_slowdown_json(f, r);
	fputs("  \"counters\": {", f);
	for (uint32_t i = 0; i < VB_COUNTER_CNT; i++)
		fprintf(f, "%s\"%s\": %" PRIu64, i ? ", " : "", vb_counter_info[i].name,
			r->counters.v[i]);
	fputs("},\n", f);
	vb_sim_write_lanes_json(f, run);
	vb_sim_write_collectives_json(f, run);
	fprintf(f, "  \"digest\": \"%016" PRIx64 "\"\n}\n", r->digest);
}

static void write_ports(FILE *f, const struct vb_scenario_run *run, const struct vb_report *r)
{
	fputs("cable,from,to,rate_bps,packets,bytes,dropped,faults,marked,pauses,paused_ns,"
	      "depth_max_bytes,depth_mean_bytes\n",
	      f);
	for (uint32_t i = 0; i < vb_sim_port_cnt(run->sim); i++) {
		const struct vb_sim_topo_link *l = &run->topo.link[i / 2];
		vb_time end = r->end;
		struct vb_port_stats st;

		vb_sim_port_stats(run->sim, i, &st);
		fprintf(f,
			"%u,%u,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
			",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
			i / 2, i & 1 ? l->b : l->a, i & 1 ? l->a : l->b, l->cable.rate_bps,
			st.tx_pkts, st.tx_bytes, st.drops, st.faults, st.marks, st.pauses_sent,
			st.paused_ns, st.depth_max, end ? st.byte_ns / end : 0);
	}
}

/* The NIC that each host of the simulation is, where hosts have several. */
static void write_nics(FILE *f, const struct vb_scenario_run *run, const struct vb_report *r)
{
	const struct vb_net *n = run->net;
	uint32_t host = 0;

	(void)r;
	fputs("node,host,nic,name,cable,rate_bps\n", f);
	for (uint32_t i = 0; i < n->node_cnt; i++) {
		if (n->node[i].is_switch)
			continue;
		for (uint32_t k = n->first[host]; k < n->first[host + 1]; k++) {
			uint32_t link = vb_sim_host_link(run->sim, k);

			fprintf(f, "%u,%u,%u,", k, host, k - n->first[host]);
			vb_text_csv(f, n->node[i].name);
			fprintf(f, ",%u,%" PRIu64 "\n", link, run->topo.link[link].cable.rate_bps);
		}
		host++;
	}
}

static bool has_nics(const struct vb_scenario_run *run)
{
	return run->nics.host_cnt > 0;
}

static bool has_lanes(const struct vb_scenario_run *run)
{
	struct vb_sim_ib_stats st;

	return vb_sim_ib_port_stats(run->sim, 0, &st);
}

static bool has_routers(const struct vb_scenario_run *run)
{
	return has_lanes(run) && run->topo.router_cnt > 0;
}

/* The files that are made at the end. */
static const struct {
	const char *name;
	void (*write)(FILE *f, const struct vb_scenario_run *run, const struct vb_report *r);
	bool (*is_there)(const struct vb_scenario_run *run); /* NULL: in each run */
} files[] = {{"summary.json", write_summary, NULL},
	     {"ports.csv", write_ports, NULL},
	     {"slowdown.csv", vb_sim_write_slowdown, NULL},
	     {"nics.csv", write_nics, has_nics},
	     {"lanes.csv", vb_sim_write_lanes, has_lanes},
	     {"routers.csv", vb_sim_write_routers, has_routers},
	     {"collectives.csv", vb_sim_write_collectives, vb_sim_has_collectives}};
#define FILE_CNT (sizeof files / sizeof files[0])

static bool has_file(const struct vb_scenario_run *run, size_t i)
{
	return !files[i].is_there || files[i].is_there(run);
}

int vb_sim_write_file(FILE *f, const char *name, const struct vb_results *res,
		      const struct vb_report *r)
{
	for (size_t i = 0; i < FILE_CNT; i++) {
		if (strcmp(files[i].name, name) != 0 || !has_file(res->run, i))
			continue;
		files[i].write(f, res->run, r);
		return 0;
	}
	if (strcmp(name, "flows.csv") == 0)
		return vb_sim_flows_write(f, res->flows);
	if (strcmp(name, "cdf.csv") == 0)
		return vb_sim_write_cdf(f, res->run, res->series);
	return res->series ? vb_sim_series_write(f, name, res->series) : -ENOENT;
}

static int write_cdf(const char *dir, const struct vb_results *res, char *path, size_t path_len)
{
	struct vb_whole_file w;
	int err;

	snprintf(path, path_len, "%s/cdf.csv", dir);
	err = vb_whole_file_begin(&w, path);
	return err ? err : vb_whole_file_end(&w, vb_sim_write_cdf(w.f, res->run, res->series));
}

int vb_sim_write(const char *dir, const struct vb_results *res, const struct vb_report *r,
		 char *path, size_t path_len)
{
	int err = 0;

	for (size_t i = 0; !err && i < FILE_CNT; i++) {
		struct vb_whole_file w;

		if (!has_file(res->run, i))
			continue;
		snprintf(path, path_len, "%s/%s", dir, files[i].name);
		err = vb_whole_file_begin(&w, path);
		if (err)
			break;
		files[i].write(w.f, res->run, r);
		err = vb_whole_file_end(&w, 0);
	}
	if (!err) {
		snprintf(path, path_len, "%s/flows.csv", dir);
		err = vb_sim_flows_end(res->flows);
	}
	return err ? err : write_cdf(dir, res, path, path_len);
}
