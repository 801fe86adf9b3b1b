/* SPDX-License-Identifier: BSD-2-Clause */
/* The sections of a scenario file as tables, and their defaults. */
#include "scenario/congestion.h"
#include "scenario/input/nodes.h"
#include "scenario/override.h"
#include "scenario/reader.h"
#include "scenario/recovery.h"
#include "scenario/scenario.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define IN(type, field) offsetof(struct type, field)
#define HOSTS_MAX (1u << 20)
#define BYTES_MAX UINT32_MAX
#define NAMED(field, key_, list)                                                                   \
	{                                                                                          \
		.name = key_, .kind = KEY_NAME, .offset = field, .names = list                     \
	}

static const struct key_name shapes[] = {
    {"pair", VB_SHAPE_PAIR},
    {"star", VB_SHAPE_STAR},
    {"dumbbell", VB_SHAPE_DUMBBELL},
    {"parking-lot", VB_SHAPE_PARKING_LOT},
    {"ring", VB_SHAPE_RING},
    {"clos", VB_SHAPE_CLOS},
    {"clos3", VB_SHAPE_CLOS3},
    {"fat-tree", VB_SHAPE_FAT_TREE},
    {NULL, 0},
};

static const struct key_name nic_choices[] = {
    {"in-turn", VB_NIC_TURN}, {"rail", VB_NIC_RAIL}, {"hash", VB_NIC_HASH}, {NULL, 0}};

/* By vb_scenario_read_congestion(), when the rate of the cables is known, and read_net(). */
static int read_later(struct reader *r, const yaml_node_t *node, void *at)
{
	(void)r, (void)node, (void)at;
	return 0;
}

#define COUNT(name)                                                                                \
	{                                                                                          \
#name, KEY_U32, IN(vb_scenario_topology, name), 1, HOSTS_MAX, NULL, NULL, NULL     \
	}

static const struct key topology_keys[] = {
    NAMED(IN(vb_scenario_topology, shape), "shape", shapes),
    COUNT(hosts),
    COUNT(left),
    COUNT(right),
    COUNT(switches),
    COUNT(leaves),
    COUNT(spines),
    COUNT(pods),
    COUNT(tors),
    COUNT(aggs),
    COUNT(cores),
    {"k", KEY_U32, IN(vb_scenario_topology, k), 2, 128, NULL, NULL, NULL},
    {.name = "cable",
     .kind = KEY_MAP,
     .offset = IN(vb_scenario_topology, cable),
     .map = vb_net_cable_keys},
    {.name = "fabric",
     .kind = KEY_MAP,
     .offset = IN(vb_scenario_topology, fabric),
     .map = vb_net_cable_keys},
    {.name = "file",
     .kind = KEY_TEXT,
     .offset = IN(vb_scenario_topology, file),
     .max = VB_SCENARIO_PATH},
    NAMED(IN(vb_scenario_topology, nics), "nics", nic_choices),
    {.name = "nodes", .kind = KEY_CALL, .offset = 0, .read = read_later},
    {.name = "links", .kind = KEY_CALL, .offset = 0, .read = read_later},
    {"reroute", KEY_TIME, IN(vb_scenario_topology, reroute), 0, 1000 * VB_SEC, NULL, NULL, NULL},
    {.name = NULL},
};

static const struct key_name link_names[] = {{"ethernet", 0}, {"infiniband", 1}, {NULL, 0}};
static const struct key_name transports[] = {{"rc", VB_QPT_RC},  {"uc", VB_QPT_UC},
					     {"ud", VB_QPT_UD},  {"xrc", VB_QPT_XRC_INI},
					     {"dc", VB_QPT_DCI}, {NULL, 0}};
static const struct key_name mtus[] = {
    {"256", VB_MTU_256},   {"512", VB_MTU_512},   {"1024", VB_MTU_1024},
    {"2048", VB_MTU_2048}, {"4096", VB_MTU_4096}, {NULL, 0},
};

static const struct key transport_keys[] = {
    NAMED(IN(vb_scenario, load.type), "type", transports),
    NAMED(IN(vb_scenario, load.mtu), "mtu", mtus),
    {"timeout", KEY_U8, IN(vb_scenario, load.timeout), 0, 31, NULL, NULL, NULL},
    {"retry", KEY_U8, IN(vb_scenario, load.retry_cnt), 0, 7, NULL, NULL, NULL},
    {"rnr-retry", KEY_U8, IN(vb_scenario, load.rnr_retry), 0, 7, NULL, NULL, NULL},
    {"rnr-timer", KEY_U8, IN(vb_scenario, load.min_rnr_timer), 0, 31, NULL, NULL, NULL},
    {"rd-atomic", KEY_U8, IN(vb_scenario, load.rd_atomic), 1, 128, NULL, NULL, NULL},
    {"traffic-class", KEY_U8, IN(vb_scenario, load.traffic_class), 0, 255, NULL, NULL, NULL},
    {"sl", KEY_U8, IN(vb_scenario, load.traffic_class), 0, VB_SL_CNT - 1, NULL, NULL, NULL},
    {"window", KEY_BYTES32, IN(vb_scenario, window_bytes), 0, BYTES_MAX, NULL, NULL, NULL},
    {"message", KEY_BYTES32, IN(vb_scenario, load.message_bytes), 8, 1u << 30, NULL, NULL, NULL},
    {"depth", KEY_U32, IN(vb_scenario, load.depth), 1, 1024, NULL, NULL, NULL},
    {"receive-delay", KEY_TIME, IN(vb_scenario, load.receive_delay), 0, 1000 * VB_SEC, NULL, NULL,
     NULL},
    {.name = "recovery",
     .kind = KEY_CALL,
     .offset = IN(vb_scenario, recovery),
     .read = vb_scenario_read_recovery},
    {.name = "congestion", .kind = KEY_CALL, .offset = 0, .read = read_later},
    {.name = NULL},
};

struct vb_scenario_place vb_scenario_place_of(const yaml_node_t *node)
{
	struct vb_scenario_place at = {0};

	if (node) {
		at.line = (uint32_t)node->start_mark.line + 1;
		at.column = (uint32_t)node->start_mark.column + 1;
	}
	return at;
}

/* "loss=1e-3", by the fault layer's own parser. */
static int read_fault_spec(struct reader *r, const yaml_node_t *node, void *at)
{
	const char *text = reader_text(node);
	struct vb_fault_error err;

	if (!text)
		return reader_fail(r, node, "do is a text such as \"loss=1e-3\"");
	if (vb_fault_parse(text, at, &err))
		return reader_fail(r, node, "\"%s\", character %u: %s", text, err.column, err.text);
	return 0;
}

static const struct key fault_keys[] = {
    {.name = "do",
     .kind = KEY_CALL,
     .offset = IN(vb_scenario_fault, spec),
     .read = read_fault_spec},
    {"host", KEY_U32, IN(vb_scenario_fault, host), 0, HOSTS_MAX, NULL, NULL, NULL},
    {"cable", KEY_U32, IN(vb_scenario_fault, link), 0, 1u << 22, NULL, NULL, NULL},
    {.name = NULL},
};

static int read_fault(struct reader *r, const yaml_node_t *node, void *base)
{
	struct vb_scenario *sc = base;

	if (sc->fault_cnt == VB_SCENARIO_FAULTS_MAX)
		return reader_fail(r, node, "there are at most %d faults", VB_SCENARIO_FAULTS_MAX);

	struct vb_scenario_fault *f = &sc->fault[sc->fault_cnt++];

	f->place = vb_scenario_place_of(node);
	f->host = f->link = UINT32_MAX;
	return reader_map(r, node, fault_keys, f);
}

static int read_faults(struct reader *r, const yaml_node_t *node, void *at)
{
	return reader_list(r, node, at, read_fault);
}

static const struct key link_keys[] = {
    {"host", KEY_U32, IN(vb_scenario_link, host), 0, HOSTS_MAX, NULL, NULL, NULL},
    {"cable", KEY_U32, IN(vb_scenario_link, link), 0, 1u << 22, NULL, NULL, NULL},
    {"down", KEY_TIME, IN(vb_scenario_link, down), 0, 1000 * VB_SEC, NULL, NULL, NULL},
    {"up", KEY_TIME, IN(vb_scenario_link, up), 0, 1000 * VB_SEC, NULL, NULL, NULL},
    {.name = NULL},
};

static int read_link(struct reader *r, const yaml_node_t *node, void *base)
{
	struct vb_scenario *sc = base;
	int err;

	if (sc->link_cnt == VB_SCENARIO_LINKS_MAX)
		return reader_fail(r, node, "there are at most %d links", VB_SCENARIO_LINKS_MAX);

	struct vb_scenario_link *l = &sc->link[sc->link_cnt++];

	*l = (struct vb_scenario_link){vb_scenario_place_of(node), UINT32_MAX, UINT32_MAX, VB_NEVER,
				       VB_NEVER};
	err = reader_map(r, node, link_keys, l);
	if (!err && (l->host == UINT32_MAX) == (l->link == UINT32_MAX))
		err = reader_fail(r, node, "a link is that of a host or a cable: give one of them");
	if (!err && (l->down == VB_NEVER || l->up <= l->down))
		err = reader_fail(r, node, "a link goes down, and if it comes up then later");
	return err;
}

static int read_links(struct reader *r, const yaml_node_t *node, void *at)
{
	return reader_list(r, node, at, read_link);
}

static const struct key scenario_keys[] = {
    {"seed", KEY_U64, IN(vb_scenario, seed), 0, UINT64_MAX, NULL, NULL, NULL},
    {"until", KEY_TIME, IN(vb_scenario, until), 1, 100000 * VB_SEC, NULL, NULL, NULL},
    {"data", KEY_BOOL, IN(vb_scenario, data), 0, 0, NULL, NULL, NULL},
    {"flows", KEY_U32, IN(vb_scenario, load.flows_max), 1, 1u << 22, NULL, NULL, NULL},
    {"packets", KEY_U32, IN(vb_scenario, packets_max), 1, 1u << 26, NULL, NULL, NULL},
    {.name = "topology",
     .kind = KEY_MAP,
     .offset = IN(vb_scenario, topology),
     .map = topology_keys},
    NAMED(IN(vb_scenario, link_kind), "link", link_names),
    {.name = "switch",
     .kind = KEY_MAP,
     .offset = IN(vb_scenario, sw),
     .map = vb_scenario_switch_keys},
    {.name = "infiniband", .kind = KEY_MAP, .offset = 0, .map = vb_scenario_infiniband_keys},
    {.name = "transport", .kind = KEY_MAP, .offset = 0, .map = transport_keys},
    {.name = "groups", .kind = KEY_CALL, .offset = 0, .read = vb_scenario_read_groups},
    {.name = "workload", .kind = KEY_CALL, .offset = 0, .read = vb_scenario_read_workloads},
    {.name = "faults", .kind = KEY_CALL, .offset = 0, .read = read_faults},
    {.name = "links", .kind = KEY_CALL, .offset = 0, .read = read_links},
    {.name = "record", .kind = KEY_MAP, .offset = IN(vb_scenario, record), .map = vb_record_keys},
    {.name = NULL},
};

static const struct vb_scenario defaults = {
    .seed = 1,
    .until = VB_NEVER,
    .packets_max = 1u << 22,
    .record = {.every = 10 * VB_USEC},
    .topology = {.shape = VB_SHAPE_STAR,
		 .hosts = 2,
		 .left = 2,
		 .right = 2,
		 .switches = 3,
		 .leaves = 4,
		 .spines = 2,
		 .pods = 2,
		 .tors = 2,
		 .aggs = 2,
		 .cores = 2,
		 .k = 4,
		 .cable = {.rate_bps = UINT64_C(100000000000), .delay = 1000},
		 .fabric = {VB_NET_RATE_UNSAID, VB_NET_DELAY_UNSAID, VB_NET_MTU_UNSAID}},
    .sw = {.buffer = {.bytes = 32u << 20,
		      .reserve_bytes = 4096,
		      .alpha_1024 = 128,
		      .xon_gap_bytes = 8192},
	   .red = {.kmin = 5000, .kmax = 200000, .pmax_ppm = 10000},
	   .multipath = {.flowlet_gap = 50 * VB_USEC, .flowlet_cnt = 4096, .queue_step = 1}},
    .ib = {.lanes = 1,
	   .lane_bytes = 64u << 10,
	   .hoq_life = VB_HOQ_LIFE_MAX + 1,
	   .lifetime = VB_HOQ_LIFE_MAX + 1,
	   .hop_limit = 64},
    .lane_of_sl = {VB_SCENARIO_UNSAID, VB_SCENARIO_UNSAID, VB_SCENARIO_UNSAID, VB_SCENARIO_UNSAID,
		   VB_SCENARIO_UNSAID, VB_SCENARIO_UNSAID, VB_SCENARIO_UNSAID, VB_SCENARIO_UNSAID,
		   VB_SCENARIO_UNSAID, VB_SCENARIO_UNSAID, VB_SCENARIO_UNSAID, VB_SCENARIO_UNSAID,
		   VB_SCENARIO_UNSAID, VB_SCENARIO_UNSAID, VB_SCENARIO_UNSAID, VB_SCENARIO_UNSAID},
    .load = {.flows_max = 1u << 17,
	     .message_bytes = 1 << 20,
	     .depth = 16,
	     .type = VB_QPT_RC,
	     .mtu = VB_MTU_1024,
	     .timeout = 14,
	     .retry_cnt = 7,
	     .rnr_retry = 7,
	     .min_rnr_timer = 12,
	     .rd_atomic = 16,
	     .traffic_class = VB_ECN_ECT0},
};

/* The nodes and links of the scenario itself. */
static int read_net(struct reader *r, const yaml_node_t *root, struct vb_scenario *sc)
{
	const yaml_node_t *map = reader_member(r, root, "topology");
	static const char *const others[] = {"shape", "file"};

	if (!reader_member(r, map, "nodes") && !reader_member(r, map, "links"))
		return 0;
	for (int i = 0; i < 2; i++)
		if (reader_member(r, map, others[i]))
			return reader_fail(r, reader_member(r, map, others[i]),
					   "a topology has a shape, a file, or nodes and links");
	sc->topology.net = calloc(1, sizeof *sc->topology.net);
	return sc->topology.net ? vb_net_read_nodes(sc->topology.net, r, map)
				: reader_fail(r, map, "there is no memory for it");
}

void vb_scenario_free(struct vb_scenario *sc)
{
	if (sc->topology.net)
		vb_net_free(sc->topology.net);
	free(sc->topology.net);
	sc->topology.net = NULL;
}

static int document_read(struct vb_scenario *sc, struct reader *r)
{
	const yaml_node_t *root = yaml_document_get_root_node(r->doc);
	int bad;

	*sc = defaults;
	sc->file = r->file;
	if (!root) {
		snprintf(r->err, r->err_len, "%s: the file is empty", r->file);
		return -EINVAL;
	}
	bad = reader_map(r, root, scenario_keys, sc);
	if (!bad)
		bad = vb_scenario_read_congestion(r, root, &sc->cc, &sc->choice,
						  sc->topology.cable.rate_bps);
	if (bad)
		return bad;
	bad = vb_scenario_check_link(r, root, sc);
	if (!bad)
		bad = read_net(r, root, sc);
	if (!bad)
		bad = vb_scenario_check_switch(r, reader_member(r, root, "switch"), &sc->sw);
	if (bad)
		return bad;
	sc->topology_at = vb_scenario_place_of(reader_member(r, root, "topology"));
	sc->ib_at = vb_scenario_place_of(reader_member(r, root, "infiniband"));
	sc->switch_at = vb_scenario_place_of(reader_member(r, root, "switch"));
	if (sc->pattern_cnt == 0)
		return reader_fail(r, root, "there is no workload");
	vb_net_cable_complete(&sc->topology.fabric, &sc->topology.cable);
	return 0;
}

/* Puts the values in and reads what has come of it; a mistake names all of them. */
static int document_read_with(struct vb_scenario *sc, struct reader *r,
			      const struct vb_scenario_override *with, uint32_t cnt)
{
	char *err = r->err;
	size_t len = r->err_len;
	int bad = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		int n = snprintf(r->err, r->err_len, "%s%s=%s%s", i ? ", " : "with ", with[i].path,
				 with[i].value, i + 1 == cnt ? ": " : "");

		if (n > 0 && (size_t)n < r->err_len / 2) {
			r->err += n;
			r->err_len -= (size_t)n;
		}
	}
	for (uint32_t i = 0; !bad && i < cnt; i++)
		bad = reader_override(r, &with[i]);
	if (!bad)
		bad = document_read(sc, r);
	r->err = err;
	r->err_len = len;
	return bad;
}

int vb_scenario_read_with(struct vb_scenario *sc, FILE *f, const char *name,
			  const struct vb_scenario_override *with, uint32_t cnt, char *err,
			  size_t err_len)
{
	yaml_document_t doc;
	struct reader r = {&doc, name, err, err_len};
	int bad = reader_load(&r, f);

	sc->topology.net = NULL;
	if (bad)
		return bad;
	bad = document_read_with(sc, &r, with, cnt);
	yaml_document_delete(&doc);
	return bad;
}

int vb_scenario_read(struct vb_scenario *sc, FILE *f, const char *name, char *err, size_t err_len)
{
	return vb_scenario_read_with(sc, f, name, NULL, 0, err, err_len);
}
