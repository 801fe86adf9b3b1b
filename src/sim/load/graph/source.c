/* SPDX-License-Identifier: BSD-2-Clause */
/* Graphs as patterns of a load, and what they come to. See run.h and sim/load/load.h. */
#include "sim/load/graph/run.h"

#include "base/assert.h"

#include <errno.h>

static bool is_of_graph(const struct vb_load_pattern *p)
{
	return p->shape == VB_LOAD_COLLECTIVE || p->shape == VB_LOAD_GRAPH;
}

static struct vb_collective collective_of(const struct vb_load_pattern *p, uint32_t hosts)
{
	struct vb_collective c = p->collective;

	c.ranks = p->hosts ? p->hosts : hosts;
	c.bytes = p->bytes;
	return c;
}

const char *vb_graph_source_wrong(const struct vb_load_config *c, const struct vb_load_pattern *p,
				  uint32_t hosts)
{
	const struct vb_collective collective = collective_of(p, hosts);
	uint64_t longest = p->shape == VB_LOAD_GRAPH && p->graph ? p->graph->longest : p->bytes;

	if (!is_of_graph(p))
		return "has no graph";
	if (c->type == VB_QPT_UC || c->type == VB_QPT_UD)
		return "has messages that have to arrive, which UC and UD do not promise";
	if (p->iterations > VB_GRAPH_ITERATIONS_MAX)
		return "has more than 1048576 iterations";
	if (longest / c->message_bytes >= UINT32_MAX)
		return "has more messages in one operation than can be counted";
	if (p->shape == VB_LOAD_COLLECTIVE)
		return vb_collective_wrong(&collective);
	if (!p->graph)
		return "has no graph";
	return p->graph->rank_cnt <= collective.ranks ? NULL : "has more ranks than hosts";
}

int vb_graph_source_begin(struct vb_load *l, struct vb_load_source *s)
{
	uint32_t number = (uint32_t)(s - l->source);
	int err = 0;

	VB_ASSERT_ALL(is_of_graph(&s->p));
	if (s->p.iterations == 0)
		s->p.iterations = 1;
	if (s->p.shape == VB_LOAD_COLLECTIVE) {
		s->p.collective = collective_of(&s->p, l->hosts);
		s->p.collective.seed = vb_rng_next(&s->rng);
		err = vb_collective_create(&s->own_graph, &s->p.collective, &l->memory);
		s->p.graph = s->own_graph;
	}
	if (!err)
		err = vb_graph_run_create(&s->run, l, number, s->p.graph);
	if (!err)
		vb_load_source_wait(l, number, s->p.start);
	return err;
}

static const struct vb_load_source *source_of(const struct vb_load *l, uint32_t pattern)
{
	VB_ASSERT(pattern < l->source_cnt);
	return &l->source[pattern];
}

const struct vb_graph *vb_load_graph(const struct vb_load *l, uint32_t pattern)
{
	return source_of(l, pattern)->run ? source_of(l, pattern)->p.graph : NULL;
}

const struct vb_collective *vb_load_collective(const struct vb_load *l, uint32_t pattern)
{
	const struct vb_load_pattern *p = &source_of(l, pattern)->p;

	return p->shape == VB_LOAD_COLLECTIVE ? &p->collective : NULL;
}

const struct vb_load_lap *vb_load_laps(const struct vb_load *l, uint32_t pattern, uint32_t *cnt)
{
	return vb_graph_run_laps(source_of(l, pattern)->run, cnt);
}

uint32_t vb_load_iterations(const struct vb_load *l, uint32_t pattern)
{
	return source_of(l, pattern)->p.iterations;
}

uint64_t vb_load_graph_received(const struct vb_load *l, uint32_t pattern, uint32_t host)
{
	return vb_graph_run_received(source_of(l, pattern)->run, host);
}

uint32_t vb_load_pattern_cnt(const struct vb_load *l)
{
	return l->source_cnt;
}
