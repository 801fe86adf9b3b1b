/* SPDX-License-Identifier: BSD-2-Clause */
/* The section "workload" of a scenario: its tables of keys, and which of them go together. See
 * reader.h for both, and docs/simulator.md for the keys. */
#include "scenario/reader.h"
#include "scenario/scenario.h"

#include <stdlib.h>
#include <string.h>

#define IN(type, field) offsetof(struct type, field)
#define HOSTS_MAX (1u << 20)

/* By read_file_names(), read_ends() and read_chakra(). */
static int read_later(struct reader *r, const yaml_node_t *node, void *at)
{
	(void)r, (void)node, (void)at;
	return 0;
}

static const struct key_name loads[] = {
    {"single", VB_LOAD_SINGLE},
    {"incast", VB_LOAD_INCAST},
    {"permutation", VB_LOAD_PERMUTATION},
    {"all-to-all", VB_LOAD_ALL_TO_ALL},
    {"poisson", VB_LOAD_POISSON},
    {"ping-pong", VB_LOAD_PING_PONG},
    {"multicast", VB_LOAD_MULTICAST},
    {"file", VB_LOAD_LIST},
    {"collective", VB_LOAD_COLLECTIVE},
    {"goal", VB_LOAD_GRAPH},
    {"chakra", VB_LOAD_GRAPH},
    {NULL, 0},
};

#define WEIGHT(name, op)                                                                           \
	{                                                                                          \
		name, KEY_U32, op * sizeof(uint32_t), 0, 1000000, NULL, NULL, NULL                 \
	}

static const struct key mix_keys[] = {
    WEIGHT("send", VB_LOAD_SEND),
    WEIGHT("write", VB_LOAD_WRITE),
    WEIGHT("read", VB_LOAD_READ),
    WEIGHT("atomic", VB_LOAD_ATOMIC),
    {.name = NULL},
};

/* A distribution by its name; the name of a file has a dot or a slash and is read_file_names()'s.
 */
static int read_sizes(struct reader *r, const yaml_node_t *node, void *at)
{
	const char *text = reader_text(node);
	const struct vb_size_dist *d = text ? vb_size_dist_find(text) : NULL;

	if (!d && !(text && strpbrk(text, "./")))
		return reader_fail(r, node,
				   "sizes is websearch, hadoop or the name of a file such as "
				   "sizes.txt");
	*(const struct vb_size_dist **)at = d;
	return 0;
}

/* One of @cnt names, as a number. */
static int read_word(struct reader *r, const yaml_node_t *node, const char *key,
		     const char *const *name, uint32_t cnt, uint8_t *at)
{
	const char *text = reader_text(node);
	char all[200] = "";

	for (uint32_t i = 0; i < cnt; i++) {
		size_t len = strlen(all);

		if (text && name[i][0] && strcmp(text, name[i]) == 0) {
			*at = (uint8_t)i;
			return 0;
		}
		snprintf(all + len, sizeof all - len, "%s%s",
			 len == 0       ? ""
			 : i + 1 == cnt ? " or "
					: ", ",
			 name[i]);
	}
	return reader_fail(r, node, "%s is %s, not \"%s\"", key, all, text ? text : "a list");
}

static int read_collective(struct reader *r, const yaml_node_t *node, void *at)
{
	return read_word(r, node, "collective", vb_collective_name, VB_COLLECTIVE_KINDS, at);
}

static int read_algorithm(struct reader *r, const yaml_node_t *node, void *at)
{
	return read_word(r, node, "algorithm", vb_algorithm_name, VB_ALGORITHMS, at);
}

static const struct key load_keys[] = {
    {.name = "shape", .kind = KEY_NAME, .offset = IN(vb_load_pattern, shape), .names = loads},
    {"hosts", KEY_U32, IN(vb_load_pattern, hosts), 2, HOSTS_MAX, NULL, NULL, NULL},
    {.name = "from", .kind = KEY_CALL, .offset = 0, .read = read_later},
    {.name = "to", .kind = KEY_CALL, .offset = 0, .read = read_later},
    {"group", KEY_U32, IN(vb_load_pattern, group), 0, VB_SIM_GROUPS - 1, NULL, NULL, NULL},
    {"count", KEY_U32, IN(vb_load_pattern, flows), 1, 1u << 22, NULL, NULL, NULL},
    {"bytes", KEY_BYTES64, IN(vb_load_pattern, bytes), 0, UINT64_C(1) << 40, NULL, NULL, NULL},
    {.name = "sizes", .kind = KEY_CALL, .offset = IN(vb_load_pattern, sizes), .read = read_sizes},
    {"on", KEY_TIME, IN(vb_load_pattern, on), VB_USEC, 1000 * VB_SEC, NULL, NULL, NULL},
    {"off", KEY_TIME, IN(vb_load_pattern, off), VB_USEC, 1000 * VB_SEC, NULL, NULL, NULL},
    {"load", KEY_SHARE, IN(vb_load_pattern, load_ppm), 1, 10000000, NULL, NULL, NULL},
    {.name = "file", .kind = KEY_CALL, .offset = 0, .read = read_later},
    {.name = "goal", .kind = KEY_CALL, .offset = 0, .read = read_later},
    {.name = "chakra", .kind = KEY_CALL, .offset = 0, .read = read_later},
    {.name = "compute-rate", .kind = KEY_CALL, .offset = 0, .read = read_later},
    {.name = "dims", .kind = KEY_CALL, .offset = 0, .read = read_later},
    {.name = "collective",
     .kind = KEY_CALL,
     .offset = IN(vb_load_pattern, collective.kind),
     .read = read_collective},
    {.name = "algorithm",
     .kind = KEY_CALL,
     .offset = IN(vb_load_pattern, collective.algorithm),
     .read = read_algorithm},
    {"local", KEY_U32, IN(vb_load_pattern, collective.local), 2, HOSTS_MAX, NULL, NULL, NULL},
    {"chunks", KEY_U32, IN(vb_load_pattern, collective.chunks), 1, 65536, NULL, NULL, NULL},
    {"microbatches", KEY_U32, IN(vb_load_pattern, collective.microbatches), 1, 65536, NULL, NULL,
     NULL},
    {"work", KEY_TIME, IN(vb_load_pattern, collective.work), 0, 500 * VB_SEC, NULL, NULL, NULL},
    {"backward", KEY_TIME, IN(vb_load_pattern, collective.backward), 1, 500 * VB_SEC, NULL, NULL,
     NULL},
    {"iterations", KEY_U32, IN(vb_load_pattern, iterations), 1, 1u << 20, NULL, NULL, NULL},
    {"compute", KEY_TIME, IN(vb_load_pattern, pause), 0, 1000 * VB_SEC, NULL, NULL, NULL},
    {"new-connections", KEY_BOOL, IN(vb_load_pattern, new_connections), 0, 0, NULL, NULL, NULL},
    {.name = "mix", .kind = KEY_MAP, .offset = IN(vb_load_pattern, mix), .map = mix_keys},
    {"parallel", KEY_U32, IN(vb_load_pattern, parallel), 0, HOSTS_MAX, NULL, NULL, NULL},
    {"start", KEY_TIME, IN(vb_load_pattern, start), 0, 1000 * VB_SEC, NULL, NULL, NULL},
    {"traffic-class", KEY_U16, IN(vb_load_pattern, traffic_class), 0, 255, NULL, NULL, NULL},
    {"sl", KEY_U16, IN(vb_load_pattern, traffic_class), 0, VB_SL_CNT - 1, NULL, NULL, NULL},
    {.name = NULL},
};

static int read_file_name(struct reader *r, const yaml_node_t *node, const char *key, char *to)
{
	const char *text = reader_text(node);

	if (text && text[0] && strlen(text) < VB_SCENARIO_PATH) {
		snprintf(to, VB_SCENARIO_PATH, "%s", text);
		return 0;
	}
	return reader_fail(r, node, "%s is the name of a file, of at most %u characters", key,
			   VB_SCENARIO_PATH - 1);
}

/* The word of its shape, which two may have in common; "": it has none. */
static const char *shape_word(struct reader *r, const yaml_node_t *node)
{
	const yaml_node_t *shape = reader_member(r, node, "shape");
	const char *text = shape ? reader_text(shape) : NULL;

	return text ? text : "";
}

/* The files that a workload names. */
static int read_file_names(struct reader *r, const yaml_node_t *node, struct vb_scenario *sc,
			   uint32_t i)
{
	const struct {
		const char *key, *takes;
		char *to;
	} of_shape[] = {
	    {"file", "a file, with the flows", sc->flows_file[i]},
	    {"goal", "a file as goal, with the graph", sc->goal_file[i]},
	    {"chakra", "the name of files as chakra, without rank and form", sc->chakra_file[i]}};
	const char *shape = shape_word(r, node);
	const yaml_node_t *sizes = reader_member(r, node, "sizes");
	int bad = 0;

	for (size_t k = 0; !bad && k < sizeof of_shape / sizeof of_shape[0]; k++) {
		const char *key = of_shape[k].key;
		const yaml_node_t *file = reader_member(r, node, key);
		bool is_shape = strcmp(shape, key) == 0;

		if (is_shape && !file)
			return reader_fail(r, node, "shape: %s takes %s", key, of_shape[k].takes);
		if (file && !is_shape)
			return reader_fail(r, file, "%s goes with shape: %s", key, key);
		bad = file ? read_file_name(r, file, key, of_shape[k].to) : 0;
	}
	if (!bad && sizes && !sc->pattern[i].sizes)
		bad = read_file_name(r, sizes, "sizes", sc->sizes_file[i]);
	return bad;
}

/* Operations in a second: "312Tops", or "9.7TFLOPS". */
static int read_ops(struct reader *r, const yaml_node_t *node, uint64_t *ops)
{
	static const char *const units[] = {"ops", "flops", "FLOPS", NULL};
	static const char prefixes[] = " kMGTP";
	const char *text = reader_text(node), *prefix;
	char *end = NULL;
	double v = text ? strtod(text, &end) : 0;
	int i = 0;

	if (end && end != text) {
		end += strspn(end, " ");
		prefix = *end && *end != ' ' ? strchr(prefixes, *end) : NULL;
		for (int k = prefix ? (int)(prefix - prefixes) : 0; k > 0; k--)
			v *= 1000;
		end += prefix ? 1 : 0;
		while (units[i] && strcmp(end, units[i]) != 0)
			i++;
	}
	if (!end || end == text || !units[i] || !(v >= 1000 && v <= 1e18))
		return reader_fail(r, node,
				   "compute-rate is operations in a second, such as 312Tops or "
				   "9.7TFLOPS, from 1kops to 1000Pops, not \"%s\"",
				   text ? text : "a list");
	*ops = (uint64_t)v;
	return 0;
}

static int read_dim(struct reader *r, const yaml_node_t *node, void *at)
{
	static const struct key size = {"dims", KEY_U32, 0, 1, HOSTS_MAX, NULL, NULL, NULL};
	struct vb_scenario_ranks *to = at;

	if (to->dim_cnt == VB_CHAKRA_DIMS_MAX)
		return reader_fail(r, node, "there are at most %u dims", VB_CHAKRA_DIMS_MAX);
	return reader_key(r, node, &size, &to->dim[to->dim_cnt++]);
}

/* The keys of traces, beside their names. */
static int read_chakra(struct reader *r, const yaml_node_t *node, struct vb_scenario_ranks *to)
{
	const yaml_node_t *rate = reader_member(r, node, "compute-rate"),
			  *dims = reader_member(r, node, "dims");
	int bad = 0;

	if ((rate || dims) && strcmp(shape_word(r, node), "chakra") != 0)
		return reader_fail(r, rate ? rate : dims, "%s goes with shape: chakra",
				   rate ? "compute-rate" : "dims");
	if (rate)
		bad = read_ops(r, rate, &to->ops_per_s);
	return bad || !dims ? bad : reader_list(r, dims, to, read_dim);
}

/* Keys of graphs stand where there is one. */
static int check_graph(struct reader *r, const yaml_node_t *node, const struct vb_load_pattern *p)
{
	static const char *const of_both[] = {"iterations", "compute"};
	static const char *const of_collective[] = {
	    "algorithm", "local", "chunks", "collective", "microbatches", "work", "backward"};
	bool is_collective = p->shape == VB_LOAD_COLLECTIVE;
	bool is_chakra = strcmp(shape_word(r, node), "chakra") == 0;

	if (is_collective && !reader_member(r, node, "collective"))
		return reader_fail(r, node,
				   "shape: collective takes a collective, such as "
				   "all-reduce");
	for (size_t i = 0; i < sizeof of_both / sizeof of_both[0]; i++)
		if (!is_collective && p->shape != VB_LOAD_GRAPH &&
		    reader_member(r, node, of_both[i]))
			return reader_fail(r, reader_member(r, node, of_both[i]),
					   "%s goes with shape: collective, goal or chakra",
					   of_both[i]);
	/* Traces have collectives: the first three keys say how these go. */
	for (size_t i = is_chakra ? 3 : 0; i < sizeof of_collective / sizeof of_collective[0]; i++)
		if (!is_collective && reader_member(r, node, of_collective[i]))
			return reader_fail(r, reader_member(r, node, of_collective[i]),
					   i < 3 ? "%s goes with shape: collective or chakra"
						 : "%s goes with shape: collective",
					   of_collective[i]);
	return 0;
}

/* A host: a number here, or a text that the topology will know. */
static int read_end(struct reader *r, const yaml_node_t *node, const char *name, uint32_t *host,
		    struct vb_scenario_end *end)
{
	const struct key number = {name, KEY_U32, 0, 0, HOSTS_MAX, NULL, NULL, NULL};
	const char *text = reader_text(node);

	if (!text || text[strspn(text, "-.0123456789")] == '\0')
		return reader_key(r, node, &number, host);
	if (strlen(text) >= sizeof end->text)
		return reader_fail(r, node, "%s is a host: its number, its name, or HOST:NIC",
				   name);
	end->at = vb_scenario_place_of(node);
	snprintf(end->text, sizeof end->text, "%s", text);
	return 0;
}

static int read_ends(struct reader *r, const yaml_node_t *node, struct vb_scenario *sc, uint32_t i)
{
	const yaml_node_t *from = reader_member(r, node, "from"),
			  *to = reader_member(r, node, "to");
	int bad = from ? read_end(r, from, "from", &sc->pattern[i].src, &sc->from[i]) : 0;

	return bad || !to ? bad : read_end(r, to, "to", &sc->pattern[i].dst, &sc->to[i]);
}

static int read_workload(struct reader *r, const yaml_node_t *node, void *base)
{
	struct vb_scenario *sc = base;

	if (sc->pattern_cnt == VB_LOAD_PATTERNS_MAX)
		return reader_fail(r, node, "there are at most %u workloads", VB_LOAD_PATTERNS_MAX);
	sc->pattern_at[sc->pattern_cnt] = vb_scenario_place_of(node);

	struct vb_load_pattern *p = &sc->pattern[sc->pattern_cnt++];

	p->bytes = 1 << 20;
	p->dst = 1;
	p->flows = 1;
	p->load_ppm = 500000;
	p->traffic_class = UINT16_MAX;

	int err = reader_map(r, node, load_keys, p);

	if (!err)
		err = vb_scenario_check_class(r, node);
	if (!err)
		err = read_ends(r, node, sc, sc->pattern_cnt - 1);
	if (!err)
		err = read_file_names(r, node, sc, sc->pattern_cnt - 1);
	if (!err)
		err = read_chakra(r, node, &sc->ranks[sc->pattern_cnt - 1]);
	if (!err)
		err = check_graph(r, node, p);
	p->traffic_class =
	    p->traffic_class == UINT16_MAX ? 0 : p->traffic_class | VB_LOAD_OWN_CLASS;
	return err;
}

int vb_scenario_read_workloads(struct reader *r, const yaml_node_t *node, void *at)
{
	return reader_list(r, node, at, read_workload);
}
