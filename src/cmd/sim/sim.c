/* SPDX-License-Identifier: BSD-2-Clause */
/* `verbena sim`: runs a scenario in virtual time and says what came of it. */
#include "cmd/sim/sim.h"
#include "cmd/cmd.h"
#include "cmd/sim/figure/draw.h"
#include "cmd/sim/options.h"
#include "core/recover/settings.h"
#include "export/file/whole_file.h"
#include "results/advance.h"
#include "results/collectives.h"
#include "results/lanes.h"
#include "results/report.h"
#include "scenario/cores/team.h"
#include "sim/parts.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EVENTS_BETWEEN_LOOKS 65536
#define STRIDES_BETWEEN_LOOKS 16
#define PROGRESS_AFTER_S 1.0
#define PROGRESS_EVERY_S 0.2
/* Exit status: the run is whole, and none of its flows is; InfiniBand had a deadlock. */
#define ALL_FAILED 3
#define DEADLOCKED 4

enum {
	OPT_SEED,
	OPT_OUT,
	OPT_TRACE,
	OPT_PCAP,
	OPT_REPORT,
	OPT_EXPLAIN,
	OPT_WQE,
	OPT_SVG,
	OPT_PNG,
	OPT_FIGURES,
	OPT_SERIES,
	OPT_EVERY,
	OPT_FLOWS,
	OPT_PORTS,
	OPT_JOBS,
	OPT_RANKS
};

static const struct vb_cmd_option options[] = {
    [OPT_SEED] = {'s', "replay", "SEED", "run with this seed instead of the scenario's"},
    [OPT_OUT] = {'o', "out", "DIR",
		 "write summary.json, flows.csv, ports.csv and distributions to DIR"},
    [OPT_TRACE] = {'t', "trace", "FILE", "write every event as a line of JSON"},
    [OPT_PCAP] = {'p', "pcap", "NODE.PORT",
		  "capture this port, to NODE.PORT.pcapng in DIR or here"},
    [OPT_REPORT] = {'r', "report", "FILE",
		    "write a page for a browser: charts, and the packets one by one"},
    [OPT_EXPLAIN] = {'e', "explain", "HOST.QPN",
		     "say why this QP is where it is at the end; 'all': those that timed out"},
    [OPT_WQE] = {'w', "wqe", "HOST.QPN[@TIME]",
		 "show the queues of this QP at the end of the run, which TIME then is"},
    [OPT_SVG] = {0, "svg", "FILE", "write the charts as SVG"},
    [OPT_PNG] = {0, "png", "FILE", "write the charts as a picture"},
    [OPT_FIGURES] = {0, "figures", "DIR", "write each figure for a paper, as SVG and PDF"},
    [OPT_SERIES] = {0, "series", "NAMES",
		    "write these values over time to DIR as CSV, such as rate,queue; or all"},
    [OPT_EVERY] = {0, "every", "TIME", "the interval of series; 10us"},
    [OPT_FLOWS] = {0, "flows", "LIST", "series of these flows only, such as 0,8-15"},
    [OPT_PORTS] = {0, "ports", "LIST", "series of these ports only, such as 16.0,17.*"},
    [OPT_JOBS] = {'j', "jobs", "N", "cut the network into up to N parts, and run them at once"},
    [OPT_RANKS] = {0, "ranks", NULL, "the same over the processes of an MPI job"},
    {0},
};

struct job {
	const struct vb_cmd *cmd;
	const char *path, *out, *trace, *pcap, *explain, *wqe;
	struct vb_sim_series_options series;
	struct vb_story_ask ask;
	struct vb_scenario sc;
	struct vb_scenario_run run;
	struct vb_sim_record record;
	struct vb_queues_log queues;
	struct vb_sim_flows flows;
	bool made_out, shows, shown;
	double show_at; /* the next line about the progress */
	struct vb_sim_drawings drawings;
	struct vb_depths depths;
	struct vb_sim_ranks ranks;
};

static int cannot_write(struct job *j, const char *path, int err)
{
	vb_cmd_error(j->cmd, "%s cannot be written: %s", path, strerror(-err));
	return 1;
}

/* Finds before the run which outputs are not possible. Creates none of them yet. */
static int check_files(struct job *j)
{
	char rest;

	if (j->pcap && sscanf(j->pcap, "%" SCNu32 ".%" SCNu32 "%c", &j->record.node,
			      &j->record.port_idx, &rest) != 2)
		return vb_cmd_usage(j->cmd, "--pcap is NODE.PORT, such as 0.0, not \"%s\"",
				    j->pcap);
	if (j->explain && strcmp(j->explain, "all") != 0 &&
	    (sscanf(j->explain, "%" SCNu32 ".%" SCNu32 "%c", &j->ask.host, &j->ask.qpn, &rest) !=
		 2 ||
	     j->ask.qpn == 0))
		return vb_cmd_usage(
		    j->cmd, "--explain is all, or HOST.QPN, such as 0.1, not \"%s\"", j->explain);
	if (j->wqe && !vb_sim_queues_ask(j->wqe, &j->queues, &j->sc.until))
		return vb_cmd_usage(
		    j->cmd, "--wqe is HOST.QPN or HOST.QPN@TIME, such as 0.1@20us, not \"%s\"",
		    j->wqe);
	if (vb_sim_drawings_check(&j->drawings))
		return 1;
	if (j->explain || vb_sim_drawings_any(&j->drawings)) {
		j->record.watch = vb_watch_new();
		if (!j->record.watch) {
			vb_cmd_error(j->cmd, "no memory for the charts");
			return 1;
		}
		vb_watch_ask(j->record.watch, j->ask);
	}
	return 0;
}

/* The folder, and the trace: that has the beginning, too. */
static int open_records(struct job *j)
{
	char path[VB_WHOLE_FILE_PATH];
	int err;

	if (j->out && mkdir(j->out, 0777) == 0) {
		j->made_out = true;
	} else if (j->out && errno != EEXIST) {
		vb_cmd_error(j->cmd, "%s cannot be made: %s", j->out, strerror(errno));
		return 1;
	}
	if (j->out) {
		snprintf(path, sizeof path, "%s/summary.json", j->out);
		err = vb_whole_file_check(path);
		if (err)
			return cannot_write(j, path, err);
	}
	if (j->trace && !(j->record.trace = fopen(j->trace, "w")))
		return cannot_write(j, j->trace, -errno);
	return vb_sim_drawings_begin(&j->drawings);
}

static int open_capture(struct job *j)
{
	char path[VB_WHOLE_FILE_PATH];
	int err;

	if (!j->pcap)
		return 0;
	if (vb_sim_port_of(j->run.sim, j->record.node, j->record.port_idx) == UINT32_MAX) {
		vb_cmd_error(j->cmd, "there is no port %s: nodes are 0 to %u", j->pcap,
			     j->run.topo.host_cnt + j->run.topo.switch_cnt - 1);
		return 1;
	}
	snprintf(path, sizeof path, "%s/%s.pcapng", j->out ? j->out : ".", j->pcap);
	j->record.pcap = fopen(path, "w");
	if (!j->record.pcap)
		return cannot_write(j, path, -errno);
	err = vb_sim_record_begin(&j->record, j->run.sim);
	return err ? cannot_write(j, path, err) : 0;
}

/* A run that never began leaves nothing. */
static void remove_records(struct job *j)
{
	struct stat st;

	if (j->record.trace && stat(j->trace, &st) == 0 && S_ISREG(st.st_mode))
		unlink(j->trace);
	if (j->made_out)
		rmdir(j->out);
}

/* A line about how far it is, when a run takes long. */
static void show_progress(void *ctx)
{
	struct job *j = ctx;

	if (!j->shows || vb_sim_seconds_now() <= j->show_at)
		return;
	vb_sim_progress(&j->sc, &j->run, false);
	j->shown = true;
	j->show_at = vb_sim_seconds_now() + PROGRESS_EVERY_S;
}

/* Runs to the end. -ENOMEM: there is no room for the packets; or another errno, which was told. */
static int run_all(struct job *j)
{
	const struct vb_team_watch watch = {show_progress, j};
	bool more = true;
	int err = 0;

	j->show_at = vb_sim_seconds_now() + PROGRESS_AFTER_S;
	j->shows = isatty(STDERR_FILENO);
	if (vb_sim_part_cnt(j->run.sim) > 1) {
		err = j->ranks.link.cnt > 1
			  ? vb_sim_ranks_run(j->cmd, &j->ranks, &j->run, j->sc.until, &watch)
			  : vb_team_run(j->run.sim, j->sc.until, &watch);
		more = false;
	}
	while (more) {
		bool is_one = j->record.series || j->record.depths;
		int steps = is_one ? EVENTS_BETWEEN_LOOKS : STRIDES_BETWEEN_LOOKS;

		for (int i = 0; more && i < steps; i++) {
			if (j->record.depths)
				vb_depths_reach(j->record.depths, vb_sim_next(j->run.sim));
			more = vb_results_step(&j->run, j->record.series, is_one, j->sc.until);
		}
		if (more)
			show_progress(j);
	}
	if (j->shown)
		vb_sim_progress(&j->sc, &j->run, true);
	return err ? err : vb_results_end(&j->run, j->sc.until);
}

static int draw_files(struct job *j, const struct vb_report *r)
{
	const struct vb_sim_drawn drawn = {&j->sc, &j->run, r, j->record.watch, j->record.depths};

	return vb_sim_drawings_write(&j->drawings, &drawn);
}

static int explain_qps(struct job *j)
{
	if (!j->explain)
		return 0;
	if (vb_stories_show(stdout, vb_watch_stories(j->record.watch)))
		return 0;
	vb_cmd_error(j->cmd,
		     "there is no QP %s at the end of the run; '--explain all' lists those "
		     "that timed out",
		     j->explain);
	return 1;
}

static int write_report(struct job *j, double seconds)
{
	const struct vb_results res = {&j->run, &j->flows, j->record.series};
	struct vb_report r;
	char path[4096];
	vb_time at;
	int err = vb_report_make(&r, j->run.load, j->run.sim, &j->run.memory);

	if (err) {
		vb_cmd_error(j->cmd, "no memory for the report");
		return 1;
	}
	if (j->record.series)
		vb_sim_series_finish(j->record.series, r.end);
	printf("seed           %" PRIu64 "\n", j->sc.seed);
	vb_sim_print(stdout, &r, seconds);
	vb_sim_print_lanes(stdout, &j->run);
	vb_sim_print_collectives(stdout, &j->run);
	if (vb_load_damaged(j->run.load)) {
		vb_cmd_error(j->cmd, "%" PRIu64 " messages arrived with other bytes than were sent",
			     vb_load_damaged(j->run.load));
		return 1;
	}
	err = j->out ? vb_sim_write(j->out, &res, &r, path, sizeof path) : 0;
	if (err)
		return cannot_write(j, path, err);
	if ((j->record.watch && (draw_files(j, &r) || explain_qps(j))) ||
	    (j->wqe && vb_sim_queues_show(j->cmd, j->wqe, &j->run, &j->queues)))
		return 1;
	err = vb_cmd_finish(j->cmd);
	if (!err && vb_sim_deadlock(j->run.sim, &at)) {
		vb_cmd_error(j->cmd, "a deadlock of credits: the lanes above wait for each other");
		return DEADLOCKED;
	}
	if (!err && r.flows && r.failed == r.flows) {
		vb_cmd_error(j->cmd, "every flow failed");
		return ALL_FAILED;
	}
	return err;
}

static int open_series(struct job *j)
{
	char why[1024];

	if (!j->sc.record.series)
		return 0;
	if (!j->out) {
		vb_cmd_error(j->cmd, "series are written to a folder: name it with --out");
		return 1;
	}
	if (vb_sim_series_begin(&j->record.series, &j->sc, &j->run, j->out, why, sizeof why) == 0)
		return 0;
	vb_cmd_error(j->cmd, "%s", why);
	return 1;
}

/* With the run's @status. */
static int close_series(struct job *j, int status)
{
	bool is_whole = status == 0 || status == ALL_FAILED || status == DEADLOCKED;
	uint32_t missing;
	int err;

	if (!j->record.series)
		return status;
	missing = vb_sim_series_missing_flow(j->record.series);
	if (is_whole && missing != UINT32_MAX)
		fprintf(stderr,
			"verbena sim: warning: record: there was no flow %u: the run had %u, from "
			"0 on\n",
			missing,
			vb_load_flow_cnt(j->run.load) + (uint32_t)vb_load_past_cnt(j->run.load));
	err = vb_sim_series_end(j->record.series, is_whole ? 0 : -ECANCELED);
	j->record.series = NULL;
	if (!is_whole || !err)
		return status;
	vb_cmd_error(j->cmd, "series could not be written to %s: %s", j->out, strerror(-err));
	return 1;
}

static int run_job(struct job *j)
{
	uint64_t events = vb_sim_series_events(&j->sc.record) |
			  (j->record.watch ? VB_WATCH_EVENTS : 0) |
			  (j->wqe ? UINT64_C(1) << VB_TRACE_COMPLETION : 0);
	bool packets = j->pcap || j->record.watch || vb_sim_series_has_packets(&j->sc.record);
	struct vb_scenario_watch watch = {
	    .trace_mask = j->trace ? UINT64_MAX : events,
	    .on_event = j->trace || events ? vb_sim_record_event : NULL,
	    .on_packet = packets ? vb_sim_record_packet : NULL,
	    .ctx = &j->record,
	};
	double start;
	char why[1024];
	int err, status = 1;

	if (vb_scenario_open(&j->run, &j->sc, &watch, why, sizeof why)) {
		vb_cmd_error(j->cmd, "%s", why);
		remove_records(j);
		return 1;
	}
	j->record.sim = j->run.sim;
	j->record.queues = j->wqe ? &j->queues : NULL;
	if (vb_sim_ranks_check(j->cmd, &j->ranks, &j->run) || open_series(j) || open_capture(j)) {
		(void)close_series(j, 1);
		remove_records(j);
		vb_scenario_close(&j->run);
		return 1;
	}
	if (j->record.watch)
		vb_watch_begin(j->record.watch, &j->run);
	if (j->drawings.figures) {
		j->depths.every = j->sc.record.every;
		j->record.depths = &j->depths;
		vb_depths_begin(&j->depths, &j->run);
	}
	if (j->out)
		vb_sim_flows_begin(&j->flows, j->out, &j->run, j->record.series);
	start = vb_sim_processor_seconds();
	err = run_all(j);
	if (err == -ENOMEM)
		vb_cmd_error(j->cmd,
			     "more than %u packets under way: give the scenario a larger "
			     "\"packets\"",
			     j->sc.packets_max);
	else if (vb_load_failure(j->run.load)) {
		vb_scenario_failure(&j->run, &j->sc, why, sizeof why);
		vb_cmd_error(j->cmd, "%s", why);
	} else if (!err)
		status =
		    j->ranks.link.rank ? 0 : write_report(j, vb_sim_processor_seconds() - start);
	vb_sim_flows_drop(&j->flows);
	status = close_series(j, status);
	err = vb_sim_record_end(&j->record);
	if (status != 0 && status != ALL_FAILED && status != DEADLOCKED && j->made_out)
		rmdir(j->out); /* unless there is a capture in it */
	vb_scenario_close(&j->run);
	if (err && (status == 0 || status == ALL_FAILED || status == DEADLOCKED)) {
		vb_cmd_error(j->cmd, "the %s could not be written: %s", j->record.failed,
			     strerror(-err));
		status = 1;
	}
	return status;
}

/* ADP-08: a rule that a profile should keep, and need not. */
static void warn_profile(const struct job *j)
{
	const struct vb_recovery *r = &j->sc.recovery;
	struct vb_recovery_fault f;

	if (r->roce_adp_retrans_en && r->adp_retx_profile_id &&
	    vb_adp_profile_warn(&r->profile, &f))
		fprintf(stderr,
			"verbena sim: warning: %s: transport.recovery.profile: %s %s; a first "
			"timeout that lies in none goes on in the start range\n",
			j->sc.file, f.field, f.rule);
}

static int read_scenario(struct job *j, const char *path)
{
	FILE *f = fopen(path, "r");
	char why[1024];
	int err;

	if (!f) {
		vb_cmd_error(j->cmd, "%s cannot be read: %s", path, strerror(errno));
		return 1;
	}
	err = vb_sim_series_read(&j->sc, f, path, &j->series, why, sizeof why);
	fclose(f);
	if (err)
		vb_cmd_error(j->cmd, "%s", why);
	else
		warn_profile(j);
	return err ? 1 : 0;
}

/* Takes the scenario's outputs where the command line does not say otherwise. */
static void take_record(struct job *j)
{
	const struct vb_record *r = &j->sc.record;
	struct vb_sim_drawings *d = &j->drawings;
	const char **const to[] = {&j->out, &j->trace, &j->pcap,    &d->report,
				   &d->svg, &d->png,   &d->figures, &j->explain};
	const char *const from[] = {r->out, r->trace, r->pcap,    r->report,
				    r->svg, r->png,   r->figures, r->explain};

	for (size_t i = 0; i < sizeof to / sizeof to[0]; i++)
		if (!*to[i] && from[i][0])
			*to[i] = from[i];
}

/* The parts of the run. Parts that run at once have no common order of events. */
static int take_jobs(struct job *j, const char *jobs)
{
	const char *const ordered[] = {j->trace, j->pcap, j->explain, j->wqe};
	bool is_ordered = j->sc.record.series != 0 || vb_sim_drawings_any(&j->drawings);
	char rest;

	if (j->ranks.link.cnt > 1 && jobs)
		return vb_cmd_usage(j->cmd, "--jobs is not with --ranks: each rank has one part");
	j->sc.jobs = j->ranks.link.cnt > 1 ? j->ranks.link.cnt : j->sc.jobs;
	if (!jobs && j->sc.jobs <= 1)
		return 0;
	if (jobs && (sscanf(jobs, "%" SCNu32 "%c", &j->sc.jobs, &rest) != 1 || *jobs == '-' ||
		     j->sc.jobs < 1 || j->sc.jobs > VB_SIM_PARTS_MAX))
		return vb_cmd_usage(j->cmd, "--jobs is 1 to %u, not \"%s\"", VB_SIM_PARTS_MAX,
				    jobs);
	for (size_t i = 0; i < sizeof ordered / sizeof ordered[0]; i++)
		is_ordered |= ordered[i] != NULL;
	if (j->sc.jobs == 1 || !is_ordered)
		return 0;
	return vb_cmd_usage(j->cmd,
			    "--jobs has no events in one order, as traces, captures, pages, "
			    "charts, figures, series, --explain and --wqe have them");
}

/* Takes the seed of the command line. */
static int take_seed(struct job *j, const char *seed)
{
	char *end;

	if (!seed)
		return 0;
	errno = 0;
	j->sc.seed = strtoull(seed, &end, 0);
	if (errno || *end != '\0' || end == seed || *seed == '-')
		return vb_cmd_usage(j->cmd, "--replay is a number, not \"%s\"", seed);
	return 0;
}

static int run_read(struct job *j, const char *seed, const char *jobs)
{
	int status = read_scenario(j, j->path);

	if (status)
		return status;
	take_record(j);
	if (j->ranks.link.rank)
		j->out = NULL; /* rank 0 writes */
	status = take_seed(j, seed);
	if (!status)
		status = take_jobs(j, jobs);
	if (!status)
		status = check_files(j);
	if (!status)
		status = open_records(j);
	if (!status)
		status = run_job(j);
	vb_sim_drawings_end(&j->drawings, status);
	vb_depths_free(&j->depths);
	vb_scenario_free(&j->sc);
	return status;
}

static int run_sim(const struct vb_cmd *cmd, int argc, char **argv)
{
	static struct job j;
	const char *arg, *seed = NULL, *jobs = NULL, *path = NULL;
	bool with_ranks = false;
	int opt, status;

	j.cmd = cmd;
	/* Options may stand on both sides of the file. */
	for (;;) {
		while ((opt = vb_cmd_next_option(cmd, argc, argv, &arg)) != -1) {
			const char **to[] = {
			    [OPT_SEED] = &seed,
			    [OPT_OUT] = &j.out,
			    [OPT_TRACE] = &j.trace,
			    [OPT_PCAP] = &j.pcap,
			    [OPT_REPORT] = &j.drawings.report,
			    [OPT_SVG] = &j.drawings.svg,
			    [OPT_PNG] = &j.drawings.png,
			    [OPT_FIGURES] = &j.drawings.figures,
			    [OPT_EXPLAIN] = &j.explain,
			    [OPT_WQE] = &j.wqe,
			    [OPT_SERIES] = &j.series.series,
			    [OPT_EVERY] = &j.series.every,
			    [OPT_FLOWS] = &j.series.flows,
			    [OPT_PORTS] = &j.series.ports,
			    [OPT_JOBS] = &jobs,
			};

			if (opt == OPT_RANKS)
				with_ranks = true;
			else
				*to[opt] = arg;
		}
		if (optind == argc || path)
			break;
		path = argv[optind++];
	}
	if (!path || optind != argc)
		return vb_cmd_usage(cmd, "expected one scenario file");
	j.path = j.drawings.scenario = path;
	j.drawings.cmd = cmd;
	status = with_ranks ? vb_sim_ranks_open(cmd, &j.ranks) : 0;
	if (status)
		return status;
	status = run_read(&j, seed, jobs);
	vb_sim_ranks_close(&j.ranks, status == ALL_FAILED || status == DEADLOCKED ? 0 : status);
	return status;
}

const struct vb_cmd vb_cmd_sim = {
    .name = "sim",
    .arguments = "SCENARIO",
    .text = "Runs a scenario in virtual time: adapters, cables, switches, faults and work.",
    .options = options,
    .run = run_sim,
};
