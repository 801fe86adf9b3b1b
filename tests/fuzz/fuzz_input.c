/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any text as a file that a user of the simulator brings: a network in either form, a distribution
 * of sizes, a list of flows, a graph in GOAL, or two Chakra traces. An accepted network is whole:
 * each node has a cable, a host has one, and the topology has all of them; an accepted distribution
 * can be drawn from; an accepted list has flows between hosts that there are, in order, and the
 * same ones when it is read again; the messages of an accepted graph have two ends, and a small one
 * runs to its end. A refusal has a place in the text, and words that can be printed.
 *
 * Input: 'n', 's', 'g' or, of Ethernet and InfiniBand, 'f' or 'F', and the text; or 'c' (protobuf)
 * or 'j' (JSON), two bytes with the length of the first trace, and both.
 */
#include "input.h"
#include "scenario/input/chakra/chakra.h"
#include "scenario/input/flows.h"
#include "scenario/input/goal/goal.h"
#include "scenario/input/net.h"
#include "scenario/input/sizes.h"

#include <errno.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len);

static void *block_take(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

static void block_give(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

/* "f:LINE:COLUMN: ...", with a line of the text or the one behind it. */
static void check_refusal(const char *err, const char *text, size_t len, bool is_shown)
{
	unsigned line, column, lines = 2;

	for (size_t i = 0; i < len; i++)
		lines += text[i] == '\n' || text[i] == '\r' || (text[i] & 0x80);
	require(sscanf(err, "f:%u:%u: ", &line, &column) == 2);
	require(line >= 1 && line <= lines && column >= 1 && column <= len + 1);
	/* The YAML reader repeats keys as they are. */
	for (const char *c = err; *c && is_shown; c++)
		require((unsigned char)*c >= ' ');
}

static void check_topology(const struct vb_net *n)
{
	const struct vb_sim_memory memory = {block_take, block_give, NULL};
	const struct vb_cable cable = {1000000000, 1000, 0};
	struct vb_sim_topo t;
	uint32_t *cables;

	require(vb_net_make(n, &cable, &cable, &memory, &t) == 0);
	uint32_t nodes = t.host_cnt + t.switch_cnt;

	require(n->first[0] == 0 && n->first[n->host_cnt] == t.host_cnt);
	require(t.host_cnt >= n->host_cnt && n->host_cnt + t.switch_cnt == n->node_cnt);
	for (uint32_t i = 0; i < n->host_cnt; i++)
		require(n->first[i] < n->first[i + 1]);
	require(t.link_cnt == n->link_cnt);
	cables = calloc(nodes, sizeof *cables);
	require(cables != NULL);
	for (uint32_t i = 0; i < t.link_cnt; i++) {
		const struct vb_sim_topo_link *l = &t.link[i];

		require(l->a < nodes && l->b < nodes && l->a != l->b);
		require(l->a < t.host_cnt || l->b >= t.host_cnt);
		require(l->cable.rate_bps >= 1000000 && l->cable.delay <= 10 * VB_SEC);
		require(l->cable.mtu <= 65535 && n->link[i].error_ppb <= 1000000000);
		cables[l->a]++;
		cables[l->b]++;
	}
	for (uint32_t i = 0; i < nodes; i++)
		require(cables[i] == 1 || (cables[i] > 1 && i >= t.host_cnt));
	for (uint32_t i = 0; i < n->node_cnt; i++)
		require(vb_net_find(n, n->node[i].name, strlen(n->node[i].name)) == i);
	free(cables);
	free(t.link);
}

static void read_net(const char *text, size_t len, const struct vb_complaint *c)
{
	enum vb_net_form form = vb_net_form_of(text, len);
	struct vb_net n;
	int bad;

	if (form == VB_NET_FORM_NONE)
		return;
	bad = vb_net_parse(&n, form, text, len, c);
	require(bad == 0 || bad == -EINVAL);
	if (bad)
		check_refusal(c->text, text, len, form == VB_NET_FORM_NS3);
	else
		check_topology(&n);
	vb_net_free(&n);
}

static void read_sizes(const char *text, size_t len, const struct vb_complaint *c)
{
	struct vb_rng r = {len};
	struct vb_size_dist *d;
	int bad = vb_sizes_parse(&d, text, len, c);

	require(bad == 0 || bad == -EINVAL);
	if (bad) {
		check_refusal(c->text, text, len, true);
		return;
	}
	for (int i = 0; i < 100; i++) {
		uint32_t bytes = vb_size_draw(d, &r);

		require(bytes >= d->point[0].bytes && bytes <= d->point[d->cnt - 1].bytes);
	}
	require(vb_size_mean(d) <= d->point[d->cnt - 1].bytes);
	vb_sizes_free(d);
}

static void check_flows(struct vb_flows *l, uint64_t cnt, bool is_infiniband)
{
	struct vb_load_item item;
	vb_time last = 0;

	for (uint64_t i = 0; i < cnt; i++) {
		require(vb_flows_next(l, &item) == 1);
		require(item.src < 4 && item.dst < 4 && item.src != item.dst);
		require(item.start >= last && item.bytes <= UINT64_C(1) << 40);
		require(item.op <= VB_LOAD_OP_CNT);
		require(item.traffic_class == 0 ||
			(item.traffic_class & ~0xffu) == VB_LOAD_OWN_CLASS);
		require(!is_infiniband || (item.traffic_class & 0xff) < VB_SL_CNT);
		last = item.start;
	}
	require(vb_flows_next(l, &item) == 0);
}

static void read_flows(const char *text, size_t len, bool is_infiniband,
		       const struct vb_complaint *c)
{
	const struct vb_flows_config cfg = {
	    .hosts = 4, .type = VB_QPT_RC, .is_infiniband = is_infiniband, .traffic_class = 2};
	FILE *f = fmemopen((void *)(uintptr_t)text, len, "r");
	struct vb_flows *l;
	uint64_t cnt;
	int bad;

	require(f != NULL);
	bad = vb_flows_open(&l, f, &cfg, c);
	require(bad == 0 || bad == -EINVAL);
	if (bad) {
		check_refusal(c->text, text, len, true);
		return;
	}
	bad = vb_flows_check(l, &cnt);
	require(bad == 0 || bad == -EINVAL);
	if (bad)
		check_refusal(vb_flows_complaint(l), text, len, true);
	else
		check_flows(l, cnt, is_infiniband);
	vb_flows_close(l);
}

/* All that is required is in the graph, and so is the other end of each message. */
static void check_graph(const struct vb_graph *g)
{
	uint64_t needs = 0;

	require(g->rank_cnt > 0 && g->rank_cnt <= 4 && g->op[g->op_cnt].first == g->edge_cnt);
	for (uint32_t i = 0; i < g->op_cnt; i++) {
		const struct vb_graph_op *op = &g->op[i];
		const struct vb_graph_op *other = &g->op[op->kind == VB_GRAPH_CALC ? i : op->match];

		require(op->rank < g->rank_cnt && op->stream < VB_GRAPH_STREAMS_MAX);
		require(op->first <= g->op[i + 1].first);
		needs += op->needs;
		if (op->kind == VB_GRAPH_CALC)
			continue;
		require(op->match < g->op_cnt && other->match == i && other->kind != op->kind);
		require(other->rank == op->peer && other->peer == op->rank &&
			other->tag == op->tag);
		require(op->kind == VB_GRAPH_RECV || op->pair < g->pair_cnt);
	}
	require(needs == g->edge_cnt);
}

/* On four hosts at a switch, where no message takes long. */
static void run_graph(const struct vb_graph *g, const struct vb_sim_memory *memory)
{
	const struct vb_cable cable = {UINT64_C(100000000000), 100, 0};
	const struct vb_load_config load = {.flows_max = 64,
					    .connections_max = 64,
					    .message_bytes = 4096,
					    .depth = 4,
					    .type = VB_QPT_RC,
					    .mtu = VB_MTU_1024,
					    .retry_cnt = 7,
					    .rnr_retry = 7,
					    .rd_atomic = 1,
					    .timeout = 14};
	const struct vb_load_pattern p = {.shape = VB_LOAD_GRAPH, .graph = g, .iterations = 2};
	struct vb_sim_topo topo;
	struct vb_sim_config c = {
	    .topo = &topo,
	    .sw = {.buffer = {.bytes = 1 << 20, .alpha_1024 = 1024}},
	    .hca = {.limits = vb_limits_default, .port[1] = {.active_mtu = VB_MTU_1024}},
	    .cqe = 64,
	    .packets_max = 4096,
	    .memory = *memory};
	struct vb_load *l;
	struct vb_sim *s;
	uint32_t cnt;

	require(vb_sim_topo_star(&topo, memory, 4, &cable) == 0);
	require(vb_sim_create(&s, &c) == 0);
	require(vb_load_create(&l, s, &load, memory) == 0);
	require(vb_load_add(l, &p) == 0);
	require(vb_sim_run(s, VB_NEVER) == 0 && vb_load_failure(l) == 0);
	(void)vb_load_laps(l, 0, &cnt);
	require(cnt == 2);
	vb_load_destroy(l);
	vb_sim_destroy(s);
	vb_sim_topo_free(&topo);
}

/* Ends with the graph. */
static void graph_accepted(struct vb_graph *g, const struct vb_sim_memory *memory)
{
	check_graph(g);
	if (g->send_cnt <= 32 && g->longest <= 65536)
		run_graph(g, memory);
	vb_graph_destroy(g);
}

static void read_goal(const char *text, size_t len, const struct vb_complaint *c)
{
	const struct vb_sim_memory memory = {block_take, block_give, NULL};
	struct vb_graph *g;
	int bad = vb_goal_parse(&g, text, len, 4, &memory, c);

	require(bad == 0 || bad == -EINVAL);
	if (bad) {
		check_refusal(c->text, text, len, true);
		return;
	}
	graph_accepted(g, &memory);
}

/* "f.RANK.json:LINE: ..." or "f.RANK.et: byte N: ...", with a place in one of the traces. */
static void check_trace_refusal(const char *err, size_t len)
{
	unsigned rank, place;

	require(sscanf(err, "f.%u.json:%u: ", &rank, &place) == 2 ||
		sscanf(err, "f.%u.et: byte %u: ", &rank, &place) == 2);
	require(rank < 2 && place <= len + 1);
	for (const char *c = err; *c; c++)
		require((unsigned char)*c >= ' ');
}

static void read_chakra(const char *text, size_t len, bool is_json, const struct vb_complaint *c)
{
	const struct vb_sim_memory memory = {block_take, block_give, NULL};
	const struct vb_collective how = {.algorithm = VB_ALGORITHM_UNSAID};
	struct vb_chakra t = {
	    .is_json = is_json, .c = c, .ops_per_s = 1000000, .dim_cnt = 2, .dim = {2, 1}};
	struct vb_graph *g = NULL;
	size_t first = len < 2 ? 0 : (uint8_t)text[0] | (size_t)(uint8_t)text[1] << 8;
	int bad;

	if (len < 2)
		return;
	if (first > len - 2)
		first = len - 2;
	bad = vb_chakra_read(&t, text + 2, first);
	if (!bad)
		bad = vb_chakra_read(&t, text + 2 + first, len - 2 - first);
	if (!bad)
		bad = vb_chakra_graph(&g, &t, &how, &memory);
	require(bad == 0 || bad == -EINVAL);
	if (bad)
		check_trace_refusal(c->text, len);
	else
		graph_accepted(g, &memory);
	vb_chakra_free(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len)
{
	char err[512] = "";
	const struct vb_complaint c = {"f", err, sizeof err};
	char *text = malloc(len + 1);

	require(text != NULL);
	/* Without a zero behind it, so that whoever reads too far is seen. */
	if (len > 1) {
		text = realloc(text, len - 1);
		require(text != NULL);
		memcpy(text, in + 1, len - 1);
		if (in[0] == 'n')
			read_net(text, len - 1, &c);
		else if (in[0] == 's')
			read_sizes(text, len - 1, &c);
		else if (in[0] == 'g')
			read_goal(text, len - 1, &c);
		else if (in[0] == 'c' || in[0] == 'j')
			read_chakra(text, len - 1, in[0] == 'j', &c);
		else if (in[0] == 'f' || in[0] == 'F')
			read_flows(text, len - 1, in[0] == 'F', &c);
	}
	free(text);
	return 0;
}
