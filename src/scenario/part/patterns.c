/* SPDX-License-Identifier: BSD-2-Clause */
/* The workloads of a scenario, with the files that they name. See part.h. */
#include "scenario/part/part.h"

#include "scenario/input/chakra/chakra.h"
#include "scenario/input/flows.h"
#include "scenario/input/goal/goal.h"
#include "scenario/input/nics.h"
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
	struct vb_load_config load = sc->load;
	const char *wrong;
	int err;

	load.nics = part_nics(run);
	wrong = vb_load_wrong(&load, pattern, part_hosts(run));
	if (wrong)
		return part_refuse(p, -EINVAL, "%s; hosts are 0 to %u", wrong, part_hosts(run) - 1);
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

/* The hosts that a pattern may have. */
static uint32_t hosts_of(const struct vb_scenario_run *run, const struct vb_load_pattern *pattern)
{
	uint32_t all = part_hosts(run);

	return pattern->hosts && pattern->hosts < all ? pattern->hosts : all;
}

/* The name of a rank's trace. */
static void trace_name(char *name, size_t size, const char *of, uint32_t rank, bool is_json)
{
	snprintf(name, size, "%s.%u.%s", of, rank, is_json ? "json" : "et");
}

/* In the folder of the scenario. */
static bool trace_exists(const struct part *p, const char *name)
{
	char path[VB_FABRIC_PATH];
	struct stat st;

	part_path(path, sizeof path, p->sc, name);
	return stat(path, &st) == 0;
}

/* The traces of rank 0 and those behind it, up to the last one that is there or, where the workload
 * has hosts, of all of these. */
static int traces_read(struct vb_chakra *t, const struct part *p, uint32_t hosts, bool is_all,
		       const char *of)
{
	char name[VB_SCENARIO_PATH + 32], path[VB_FABRIC_PATH];
	int err = 0;

	trace_name(name, sizeof name, of, 0, false);
	if (!trace_exists(p, name)) {
		trace_name(path, sizeof path, of, 0, true);
		t->is_json = trace_exists(p, path);
	}
	for (uint32_t rank = 0; !err && rank < hosts; rank++) {
		size_t len;
		char *text;

		trace_name(name, sizeof name, of, rank, t->is_json);
		if (rank > 0 && !is_all && !trace_exists(p, name))
			break;
		text = part_read_file(p, name, VB_CHAKRA_TEXT_MAX, path, &len, &err);
		if (!text)
			return err;
		err = vb_chakra_read(t, text, len);
		free(text);
	}
	trace_name(name, sizeof name, of, t->rank_cnt, t->is_json);
	if (!err && !is_all && t->rank_cnt == hosts && trace_exists(p, name))
		err = part_refuse(p, -EINVAL, "has traces of more ranks than there are hosts: %s",
				  name);
	return err;
}

/* The graph of pattern @i from traces. */
static int traces_open(struct vb_scenario_run *run, const struct part *p,
		       const struct vb_load_pattern *pattern, uint32_t i)
{
	char path[VB_FABRIC_PATH];
	const struct vb_complaint c = {path, p->text, p->len};
	const struct vb_scenario_ranks *ranks = &p->sc->ranks[i];
	struct vb_chakra t = {.c = &c, .ops_per_s = ranks->ops_per_s, .dim_cnt = ranks->dim_cnt};
	int err;

	part_path(path, sizeof path, p->sc, p->sc->chakra_file[i]);
	memcpy(t.dim, ranks->dim, sizeof t.dim);
	run->graph_form[i] = "chakra";
	err = traces_read(&t, p, hosts_of(run, pattern), pattern->hosts > 0, p->sc->chakra_file[i]);
	if (!err)
		err = vb_chakra_graph(&run->graph[i], &t, &pattern->collective, &run->memory);
	vb_chakra_free(&t);
	return err == -ENOMEM ? part_no_memory(p, err) : err;
}

/* The graph of pattern @i from its file. */
static int graph_read(struct vb_scenario_run *run, const struct part *p,
		      const struct vb_load_pattern *pattern, uint32_t i)
{
	char path[VB_FABRIC_PATH];
	const struct vb_complaint c = {path, p->text, p->len};
	size_t len;
	int err = 0;
	char *text = part_read_file(p, p->sc->goal_file[i], VB_GOAL_TEXT_MAX, path, &len, &err);

	if (!text)
		return err;
	run->graph_form[i] = "goal";
	err = vb_goal_parse(&run->graph[i], text, len, hosts_of(run, pattern), &run->memory, &c);
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
	const struct vb_flows_config cfg = {.net = run->net,
					    .nics = part_nics(run),
					    .hosts = hosts_of(run, pattern),
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

/* A host that the topology knows by its name, or with a NIC. */
static int end_find(const struct vb_scenario_run *run, const struct part *p,
		    const struct vb_scenario_end *end, uint32_t *out)
{
	const struct vb_complaint c = {p->sc->file, p->text, p->len};
	const struct vb_token word = {.text = end->text, .len = (uint32_t)strlen(end->text)};
	char why[160];

	if (!end->text[0] || vb_net_end(run->net, &word, true, out, why, sizeof why) == 0)
		return 0;
	return vb_complain(&c, end->at.line, end->at.column, "%s", why);
}

int part_open_pattern(struct vb_scenario_run *run, const struct part *p, uint32_t i)
{
	struct vb_load_pattern pattern = p->sc->pattern[i];
	int err = end_find(run, p, &p->sc->from[i], &pattern.src);

	if (!err)
		err = end_find(run, p, &p->sc->to[i], &pattern.dst);
	if (!err && p->sc->sizes_file[i][0])
		err = sizes_read(run, p, i);
	if (!err && pattern.shape == VB_LOAD_LIST)
		err = flows_open(run, p, &pattern, i);
	if (!err && pattern.shape == VB_LOAD_GRAPH)
		err = p->sc->chakra_file[i][0] ? traces_open(run, p, &pattern, i)
					       : graph_read(run, p, &pattern, i);
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
