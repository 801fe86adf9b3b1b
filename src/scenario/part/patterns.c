/* SPDX-License-Identifier: BSD-2-Clause */
/* The workloads of a scenario, with the files that they name. See part.h. */
#include "scenario/part/part.h"

#include "scenario/input/flows.h"
#include "scenario/input/goal/goal.h"
#include "scenario/input/sizes.h"
#include "sim/load/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The sizes of pattern @i from its file. */
static int sizes_read(struct vb_scenario_run *run, const struct part *p, uint32_t i)
{
	char path[VB_FABRIC_PATH];
	const struct vb_complaint c = {path, p->text, p->len};
	size_t len;
	int err = 0;
	char *text = part_read_file(p, p->sc->sizes_file[i], VB_SIZES_TEXT_MAX, path, &len, &err);

	if (!text)
		return err;
	err = vb_sizes_parse(&run->sizes[i], text, len, &c);
	free(text);
	return err == -ENOMEM ? part_no_memory(p, err) : err;
}

static int pattern_add(struct vb_scenario_run *run, const struct part *p,
		       const struct vb_load_pattern *pattern)
{
	const struct vb_scenario *sc = p->sc;
	const char *wrong = vb_load_wrong(&sc->load, pattern, run->topo.host_cnt);
	int err;

	if (wrong)
		return part_refuse(p, -EINVAL, "%s; hosts are 0 to %u", wrong,
				   run->topo.host_cnt - 1);
	wrong = vb_load_group_wrong(run->load, pattern);
	if (wrong)
		return part_refuse(p, -EINVAL, "%s; there are %u", wrong, sc->group_cnt);
	err = vb_load_add(run->load, pattern);
	if (err && vb_load_flow_cnt(run->load) == sc->load.flows_max)
		return part_refuse(p, err,
				   "has more flows than %u: give the scenario a larger \"flows\"",
				   sc->load.flows_max);
	if (err == -EINVAL)
		return part_refuse(p, err,
				   "has a graph of more than %u operations: take fewer hosts, or "
				   "fewer chunks or microbatches",
				   VB_GRAPH_OPS_MAX);
	return err ? part_no_memory(p, err) : 0;
}

/* The graph of pattern @i from its file. */
static int graph_read(struct vb_scenario_run *run, const struct part *p,
		      const struct vb_load_pattern *pattern, uint32_t i)
{
	char path[VB_FABRIC_PATH];
	const struct vb_complaint c = {path, p->text, p->len};
	uint32_t hosts = pattern->hosts && pattern->hosts < run->topo.host_cnt ? pattern->hosts
									       : run->topo.host_cnt;
	size_t len;
	int err = 0;
	char *text = part_read_file(p, p->sc->goal_file[i], VB_GOAL_TEXT_MAX, path, &len, &err);

	if (!text)
		return err;
	err = vb_goal_parse(&run->graph[i], text, len, hosts, &run->memory, &c);
	free(text);
	return err == -ENOMEM ? part_no_memory(p, err) : err;
}

/* Its messages are flows that give their records away. */
static int graph_count(struct vb_scenario_run *run, const struct part *p,
		       const struct vb_load_pattern *pattern, uint32_t i)
{
	const struct vb_graph *g = vb_load_graph(run->load, i);
	int err;

	if (!g)
		return 0;
	run->flows_listed +=
	    (uint64_t)g->send_cnt * (pattern->iterations ? pattern->iterations : 1);
	err = vb_tally_keep(run->load);
	return err ? part_no_memory(p, err) : 0;
}

/* An ordinary file: it is read twice. */
static FILE *list_open(const struct part *p, const char *path, int *err)
{
	FILE *f = fopen(path, "re");
	struct stat st;

	if (f && fstat(fileno(f), &st) == 0 && !S_ISREG(st.st_mode)) {
		fclose(f);
		f = NULL;
		errno = S_ISDIR(st.st_mode) ? EISDIR : ESPIPE;
	}
	if (!f)
		*err = part_refuse(p, -errno, "has a file that cannot be read: '%s': %s", path,
				   strerror(errno));
	return f;
}

/* The flows of pattern @i from its file, of which each line is looked at once before the run. */
static int flows_open(struct vb_scenario_run *run, const struct part *p,
		      const struct vb_load_pattern *pattern, uint32_t i)
{
	const struct vb_scenario *sc = p->sc;
	char path[VB_FABRIC_PATH];
	const struct vb_complaint c = {path, p->text, p->len};
	const struct vb_flows_config cfg = {
	    .net = run->net,
	    .hosts = pattern->hosts && pattern->hosts < run->topo.host_cnt ? pattern->hosts
									   : run->topo.host_cnt,
	    .type = sc->load.type,
	    .is_infiniband = sc->link_kind != 0,
	    .traffic_class = sc->load.traffic_class,
	    .has_class = pattern->traffic_class != 0};
	uint64_t cnt;
	int err = 0;
	FILE *f;

	part_path(path, sizeof path, sc, sc->flows_file[i]);
	f = list_open(p, path, &err);
	if (!f)
		return err;
	err = vb_flows_open(&run->flows[i], f, &cfg, &c);
	if (!err && vb_flows_check(run->flows[i], &cnt)) {
		snprintf(p->text, p->len, "%s", vb_flows_complaint(run->flows[i]));
		return -EINVAL;
	}
	if (!err) {
		run->flows_listed += cnt;
		err = vb_tally_keep(run->load);
	}
	return err == -ENOMEM ? part_no_memory(p, err) : err;
}

int part_open_pattern(struct vb_scenario_run *run, const struct part *p, uint32_t i)
{
	struct vb_load_pattern pattern = p->sc->pattern[i];
	int err = p->sc->sizes_file[i][0] ? sizes_read(run, p, i) : 0;

	if (!err && pattern.shape == VB_LOAD_LIST)
		err = flows_open(run, p, &pattern, i);
	if (!err && pattern.shape == VB_LOAD_GRAPH)
		err = graph_read(run, p, &pattern, i);
	if (err)
		return err;
	if (run->sizes[i])
		pattern.sizes = run->sizes[i];
	if (run->flows[i])
		pattern.list = vb_flows_list(run->flows[i]);
	pattern.graph = run->graph[i];
	err = pattern_add(run, p, &pattern);
	return err ? err : graph_count(run, p, &pattern, i);
}
