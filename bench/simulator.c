/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How fast the simulator is, and what a host costs it: packet-hops per second of processor time on
 * one core for incast 16:1 and for all-to-all on a fat tree of 128 hosts, lengths only, with the
 * digest on; the memory of 10,000 hosts that have sent over one RC connection each, and of 101,306
 * on a fat tree of k = 74, with the time to set them up; and that of a million RC QPs, each of
 * which has sent or received a message and is idle since.
 *
 *   simulator incast | fat-tree | hosts | large | qps [PARTS]
 *
 * With PARTS, of networks with more switches than one, the network is run in so many parts at once.
 * bench/cores.py compares that with independent runs.
 */
#include "scenario/arena.h"
#include "scenario/cores/team.h"
#include "sim/load/report.h"
#include "sim/parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static struct vb_sim_memory memory;
static const struct vb_cable cable = {.rate_bps = UINT64_C(100000000000), .delay = 1000};

struct workload {
	const char *name;
	int (*shape)(struct vb_sim_topo *t);
	uint32_t cqe, depth;
	struct vb_load_pattern p;
};

static int shape_incast(struct vb_sim_topo *t)
{
	return vb_sim_topo_star(t, &memory, 17, &cable);
}

static int shape_fat_tree(struct vb_sim_topo *t)
{
	return vb_sim_topo_fat_tree(t, &memory, 8, &cable, &cable);
}

static int shape_hosts(struct vb_sim_topo *t)
{
	return vb_sim_topo_clos(t, &memory, 100, 10, 100, &cable, &cable);
}

static int shape_large(struct vb_sim_topo *t)
{
	return vb_sim_topo_fat_tree(t, &memory, 74, &cable, &cable);
}

/* 708 hosts with a connection in each direction between any two: 1,001,112 QPs. */
static int shape_qps(struct vb_sim_topo *t)
{
	return vb_sim_topo_star(t, &memory, 708, &cable);
}

static const struct workload workloads[] = {
    {"incast", shape_incast, 256, 4, {.shape = VB_LOAD_INCAST, .flows = 16, .bytes = 64 << 20}},
    {"fat-tree", shape_fat_tree, 256, 4, {.shape = VB_LOAD_ALL_TO_ALL, .bytes = 64 << 10}},
    {"hosts", shape_hosts, 16, 4, {.shape = VB_LOAD_PERMUTATION, .bytes = 4096}},
    {"large", shape_large, 16, 4, {.shape = VB_LOAD_PERMUTATION, .bytes = 4096}},
    {"qps", shape_qps, 2048, 4, {.shape = VB_LOAD_ALL_TO_ALL, .bytes = 64}},
};

static double seconds_of(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static double cpu_seconds(void)
{
	return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

static void need(int err, const char *what)
{
	if (err == 0)
		return;
	fprintf(stderr, "simulator: %s: %s\n", what, strerror(-err));
	exit(1);
}

static int run_parts(struct vb_sim *sim)
{
	return vb_sim_part_cnt(sim) > 1 ? vb_team_run(sim, VB_NEVER, NULL)
					: vb_sim_run(sim, VB_NEVER);
}

static uint16_t *cut_topology(const struct vb_sim_topo *topo, uint32_t parts, uint32_t *cnt)
{
	uint16_t *part_of = calloc(topo->host_cnt + topo->switch_cnt, sizeof *part_of);

	need(part_of ? 0 : -ENOMEM, "parts");
	*cnt = vb_sim_partition(topo, parts, NULL, part_of);
	need(*cnt == parts ? 0 : -EINVAL, "so many parts");
	return part_of;
}

static void run(const struct workload *w, uint32_t parts)
{
	struct vb_load_config load = {
	    .flows_max = 1 << 19,
	    .connections_max = 1 << 19,
	    .message_bytes = 16 << 20,
	    .depth = w->depth,
	    .type = VB_QPT_RC,
	    .mtu = VB_MTU_1024,
	    .timeout = 14,
	    .retry_cnt = 7,
	    .rnr_retry = 7,
	    .rd_atomic = 1,
	    .traffic_class = VB_ECN_ECT0,
	};
	struct vb_arena *arena = vb_arena_create();

	need(arena ? 0 : -ENOMEM, "memory");
	memory = vb_arena_memory(arena);

	struct vb_sim_topo topo;
	struct vb_sim_config cfg = {
	    .seed = 1,
	    .topo = &topo,
	    .sw = {.buffer = {.bytes = 64u << 20,
			      .lossless = 1,
			      .alpha_1024 = 128,
			      .xon_gap_bytes = 8192}},
	    .hca = {.limits = vb_limits_default, .port[1] = {.active_mtu = VB_MTU_1024}},
	    .cqe = w->cqe,
	    .packets_max = 1u << 22,
	    .digest = true,
	    .memory = memory,
	};
	struct rusage ru;
	struct vb_load *l;
	struct vb_report r;
	struct vb_sim *sim;
	double start, seconds, set_up, clock;
	uint16_t *part_of;

	need(w->shape(&topo), "topology");
	part_of = cut_topology(&topo, parts, &cfg.part_cnt);
	cfg.part_of = part_of;
	need(vb_sim_create(&sim, &cfg), "simulation");
	need(vb_load_create(&l, sim, &load, &memory), "workload");
	need(vb_load_add(l, &w->p), "pattern");
	need(vb_sim_run(sim, 0), "start"); /* connections are made at time 0 */
	clock = seconds_of(CLOCK_MONOTONIC);
	start = set_up = cpu_seconds();
	need(run_parts(sim), "run");
	seconds = cpu_seconds() - start;
	clock = seconds_of(CLOCK_MONOTONIC) - clock;
	need(vb_report_make(&r, l, sim, &memory), "report");
	getrusage(RUSAGE_SELF, &ru);
	printf("%s: %u of %u flows, %" PRIu64 " packet-hops in %.3f s: %.2f million/s; set up "
	       "in %.2f s; %ld MB; digest %016" PRIx64 "; parts %u, %.3f s by the clock: %.2f "
	       "million/s\n",
	       w->name, r.done, r.flows, r.hops, seconds, (double)r.hops / seconds / 1e6, set_up,
	       ru.ru_maxrss / 1024, r.digest, vb_sim_part_cnt(sim), clock,
	       (double)r.hops / clock / 1e6);
	free(part_of);
	vb_load_destroy(l);
	vb_sim_destroy(sim);
	vb_sim_topo_free(&topo);
	vb_arena_destroy(arena);
}

int main(int argc, char **argv)
{
	uint32_t parts = argc == 3 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1;

	for (size_t i = 0;
	     argc >= 2 && argc <= 3 && parts > 0 && i < sizeof workloads / sizeof workloads[0];
	     i++) {
		if (strcmp(argv[1], workloads[i].name) == 0) {
			run(&workloads[i], parts);
			return 0;
		}
	}
	fputs("usage: simulator incast | fat-tree | hosts | large | qps [PARTS]\n", stderr);
	return 2;
}
