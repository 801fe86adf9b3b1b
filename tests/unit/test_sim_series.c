/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Series of a simulated run: intervals end where they should, values are those that can be computed
 * by hand, and the run is the same with them and without.
 */
#include "cmocka_env.h"
#include "results/series/series.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct run {
	struct vb_scenario sc;
	struct vb_scenario_run run;
	struct vb_sim_series *series;
	struct vb_report report;
	char dir[64];
	uint64_t digest;
};

static void on_event(void *ctx, const struct vb_trace_event *ev)
{
	struct run *r = ctx;

	if (r->series)
		vb_sim_series_event(r->series, ev);
}

static void on_packet(void *ctx, uint32_t port, enum vb_cable_tap_dir dir,
		      const struct vb_frame *pkt, vb_time now)
{
	struct run *r = ctx;

	if (r->series)
		vb_sim_series_packet(r->series, port, dir, pkt, now);
}

static void open_run(struct run *r, const char *text)
{
	struct vb_scenario_watch watch = {.on_event = on_event, .on_packet = on_packet, .ctx = r};
	FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	char err[1024] = "";

	assert_non_null(f);
	memset(r, 0, sizeof *r);
	if (vb_scenario_read(&r->sc, f, "s.yaml", err, sizeof err))
		fail_msg("%s", err);
	fclose(f);
	watch.trace_mask = vb_sim_series_events(&r->sc.record);
	if (vb_scenario_open(&r->run, &r->sc, &watch, err, sizeof err))
		fail_msg("%s", err);
	snprintf(r->dir, sizeof r->dir, "/tmp/test_sim_series.XXXXXX");
	assert_non_null(mkdtemp(r->dir));
}

static void run_all(struct run *r)
{
	char err[1024];

	if (r->sc.record.series)
		assert_int_equal(
		    vb_sim_series_begin(&r->series, &r->sc, &r->run, r->dir, err, sizeof err), 0);
	for (;;) {
		vb_time next = vb_sim_next(r->run.sim);

		if (next == VB_NEVER)
			break;
		if (r->series)
			vb_sim_series_reach(r->series, next);
		assert_true(vb_sim_step(r->run.sim));
	}
	r->digest = vb_sim_digest(r->run.sim);
	if (r->series) {
		assert_int_equal(
		    vb_report_make(&r->report, r->run.load, r->run.sim, &r->run.memory), 0);
		vb_sim_series_finish(r->series, r->report.end);
		assert_int_equal(vb_sim_series_end(r->series, 0), 0);
		r->series = NULL;
	}
}

/* Takes the folder away, with the files that there are. */
static void close_run(struct run *r)
{
	static const char *const name[] = {"flow", "port", "lane", "group"};
	char path[128];

	for (size_t i = 0; i < sizeof name / sizeof name[0]; i++) {
		snprintf(path, sizeof path, "%s/%s_series.csv", r->dir, name[i]);
		unlink(path);
	}
	assert_int_equal(rmdir(r->dir), 0);
	vb_scenario_close(&r->run);
}

static void read_file(const struct run *r, const char *name, char *text, size_t len)
{
	char path[128];
	size_t n;
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", r->dir, name);
	f = fopen(path, "r");
	assert_non_null(f);
	n = fread(text, 1, len - 1, f);
	text[n] = '\0';
	fclose(f);
}

#define PAIR "topology: {shape: pair, cable: {rate: 8Gbps, delay: 1us}}\ntransport: {mtu: 1024}\n"

/* A WRITE of one packet of 1000 bytes: a frame of 1078 bytes and a gap take 1098 ns at 8 Gb/s, its
 * ACK 86 ns, and the cable 1 us each way. The flow has rows until it is done. */
static void flow__of_one_packet(void **state)
{
	static struct run r;
	char text[4096];

	(void)state;
	open_run(&r, PAIR "workload: {shape: single, from: 0, to: 1, bytes: 1000, start: 5us}\n"
			  "record: {series: [rate, inflight, rtt], every: 1us}\n");
	run_all(&r);
	read_file(&r, "flow_series.csv", text, sizeof text);
	assert_string_equal(text,
			    "time_ns,flow,src,dst,acked_bytes,rate_bps,inflight_bytes,rtt_ns\n"
			    "6000,0,0,1,0,0,1000,\n"
			    "7000,0,0,1,0,0,1000,\n"
			    "8000,0,0,1,0,0,1000,\n"
			    "9000,0,0,1,1000,8000000000,0,3184\n");
	close_run(&r);
}

/* The first packet is lost and sent again: which of both an answer is for cannot be known, so its
 * time is none. The next flow on the connection is measured. */
static void rtt__of_what_was_sent_again(void **state)
{
	static struct run r;
	char text[4096];

	(void)state;
	open_run(&r, PAIR "workload:\n"
			  "  - {shape: single, from: 0, to: 1, bytes: 1000}\n"
			  "  - {shape: single, from: 0, to: 1, bytes: 1000, start: 500ms}\n"
			  "faults: {cable: 0, do: \"loss=1:dir=tx:nth=1\"}\n"
			  "record: {series: rtt, every: 500ms}\n");
	run_all(&r);
	read_file(&r, "flow_series.csv", text, sizeof text);
	assert_string_equal(text, "time_ns,flow,src,dst,rtt_ns\n"
				  "500000000,0,0,1,\n"
				  "500003184,1,0,1,3184\n");
	close_run(&r);
}

/* The same of the port: a frame counts where it begins, so its 1098 ns are more than the interval.
 * There are rows until the last packet has come, and none of the timers behind it. */
static void port__of_one_packet(void **state)
{
	static struct run r;
	char text[4096];

	(void)state;
	open_run(&r, PAIR "workload: {shape: single, from: 0, to: 1, bytes: 1000}\n"
			  "record: {series: [utilisation, queue], every: 1us, ports: 0.0}\n");
	run_all(&r);
	read_file(&r, "port_series.csv", text, sizeof text);
	assert_string_equal(text, "time_ns,cable,from,port,to,queue_bytes,queue_max_bytes,tx_bytes,"
				  "utilisation\n"
				  "1000,0,0,0,1,0,0,1078,1.0980\n"
				  "2000,0,0,0,1,0,0,0,0.0000\n"
				  "3000,0,0,0,1,0,0,0,0.0000\n"
				  "4000,0,0,0,1,0,0,0,0.0000\n");
	close_run(&r);
}

#define CONGESTED                                                                                  \
	"seed: 7\ntopology: {shape: star, hosts: 5, cable: {rate: 10Gbps, delay: 1us}}\n"          \
	"switch: {lossless: [0], ecn: [0], kmin: 5kB, kmax: 50kB, xoff: 20kB}\n"                   \
	"transport: {mtu: 1024, timeout: 8, congestion: paper, message: 64KiB}\n"                  \
	"workload: {shape: incast, count: 4, to: 0, bytes: 200kB}\n"                               \
	"faults: {do: \"loss=1e-3\"}\n"

/* To look at rates takes steps by time in congestion control that were due later; the run does not
 * notice. */
static void run__is_the_same(void **state)
{
	static const char *const record[] = {
	    "", "record: {series: all, every: 1us}\n", "record: {series: all, every: 733ns}\n",
	    "record: {series: [cc-rate], every: 10us, groups: {name: a, flows: all}}\n"};
	static struct run r;
	static char text[1024];
	uint64_t digest = 0;

	(void)state;
	for (size_t i = 0; i < sizeof record / sizeof record[0]; i++) {
		snprintf(text, sizeof text, CONGESTED "%s", record[i]);
		open_run(&r, text);
		run_all(&r);
		if (i == 0)
			digest = r.digest;
		assert_true(r.digest == digest && digest != 0);
		close_run(&r);
	}
}

/* A time is at the end of its interval: what happens at it is in it. Percentiles over a group. */
static void group__has_percentiles(void **state)
{
	static struct run r;
	char text[4096];

	(void)state;
	open_run(
	    &r, PAIR
	    "workload:\n"
	    "  - {shape: single, from: 0, to: 1, bytes: 1000, start: 10us}\n"
	    "  - {shape: single, from: 0, to: 1, bytes: 500, start: 20us}\n"
	    "  - {shape: single, from: 0, to: 1, bytes: 100, start: 30us}\n"
	    "record: {series: rate, every: 100us, flows: none,\n"
	    "  groups: [{name: x, flows: 0-1}, {name: y, flows: all}, {name: z, flows: 9}]}\n");
	run_all(&r);
	read_file(&r, "flow_series.csv", text, sizeof text);
	assert_string_equal(text, "time_ns,flow,src,dst,acked_bytes,rate_bps\n");
	read_file(&r, "group_series.csv", text, sizeof text);
	assert_non_null(strstr(text, ",x,acked_bytes,2,750,500,500,1000,1000,1000\n"));
	assert_non_null(strstr(text, ",y,acked_bytes,3,533,100,500,1000,1000,1000\n"));
	assert_null(strstr(text, ",z,"));
	close_run(&r);
}

/* Ports and flows that are not there are refused with what there is, and no file is left. */
static void begin__refuses(void **state)
{
	static const struct {
		const char *record, *err;
	} t[] = {
	    {"{series: queue, ports: 2.0}\n", "record: there is no node 2: nodes are 0 to 1"},
	    {"{series: queue, ports: [0.0, 1.4]}\n",
	     "record: there is no port 1.4: ports of node 1 are 1.0 to 1.0"},
	    {"{series: queue, groups: {name: a, ports: 9.*}}\n",
	     "record: there is no node 9: nodes are 0 to 1"},
	    {"{series: rate, flows: 131072}\n",
	     "record: there is no flow 131072: flows are 0 to 131071 at most"},
	};
	static struct run r;
	static char text[512];
	char err[256];

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
		snprintf(text, sizeof text, PAIR "workload: {shape: single}\nrecord: %s",
			 t[i].record);
		open_run(&r, text);
		assert_int_equal(
		    vb_sim_series_begin(&r.series, &r.sc, &r.run, r.dir, err, sizeof err), -EINVAL);
		assert_string_equal(err, t[i].err);
		assert_int_equal(rmdir(r.dir), 0);
		assert_null(r.series);
		assert_int_equal(mkdir(r.dir, 0700), 0);
		close_run(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(flow__of_one_packet),         cmocka_unit_test(port__of_one_packet),
	    cmocka_unit_test(rtt__of_what_was_sent_again), cmocka_unit_test(run__is_the_same),
	    cmocka_unit_test(group__has_percentiles),      cmocka_unit_test(begin__refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
