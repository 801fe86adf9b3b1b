/* SPDX-License-Identifier: BSD-2-Clause */
/* The keys of InfiniBand and of multicast groups in a scenario file, and the keys that do not go
 * with the kind of link. */
#include "scenario/reader.h"
#include "scenario/scenario.h"
#include "wire/ib/lrh.h"
#include "wire/pkey.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define IN(type, field) offsetof(struct type, field)
#define NAMED(field, key_, list)                                                                   \
	{                                                                                          \
		.name = key_, .kind = KEY_NAME, .offset = field, .names = list                     \
	}

static const struct key_name lane_counts[] = {{"1", 1}, {"2", 2},   {"4", 4},
					      {"8", 8}, {"15", 15}, {NULL, 0}};
static const struct key_name routings[] = {
    {"min-hop", VB_SIM_MIN_HOP}, {"up-down", VB_SIM_UP_DOWN}, {"layers", VB_SIM_LAYERS}, {NULL, 0}};
/* The words of OpenSM's part_enforce. */
static const struct key_name enforcements[] = {{"off", VB_SIM_ENFORCE_OFF},
					       {"in", VB_SIM_ENFORCE_IN},
					       {"out", VB_SIM_ENFORCE_OUT},
					       {"both", VB_SIM_ENFORCE_BOTH},
					       {NULL, 0}};

#define BY_NUMBER(n, max)                                                                          \
	{                                                                                          \
#n, KEY_U8, n, 0, max, NULL, NULL, NULL                                            \
	}

/* Of the high and the low table: blocks of 64 bytes that a lane sends in its turn. */
static const struct key arbitration_keys[] = {
    BY_NUMBER(0, 255),  BY_NUMBER(1, 255),  BY_NUMBER(2, 255),  BY_NUMBER(3, 255),
    BY_NUMBER(4, 255),  BY_NUMBER(5, 255),  BY_NUMBER(6, 255),  BY_NUMBER(7, 255),
    BY_NUMBER(8, 255),  BY_NUMBER(9, 255),  BY_NUMBER(10, 255), BY_NUMBER(11, 255),
    BY_NUMBER(12, 255), BY_NUMBER(13, 255), BY_NUMBER(14, 255), {.name = NULL},
};

/* The lane of a service level. */
static const struct key sl_keys[] = {
    BY_NUMBER(0, 14),  BY_NUMBER(1, 14),  BY_NUMBER(2, 14),  BY_NUMBER(3, 14),  BY_NUMBER(4, 14),
    BY_NUMBER(5, 14),  BY_NUMBER(6, 14),  BY_NUMBER(7, 14),  BY_NUMBER(8, 14),  BY_NUMBER(9, 14),
    BY_NUMBER(10, 14), BY_NUMBER(11, 14), BY_NUMBER(12, 14), BY_NUMBER(13, 14), BY_NUMBER(14, 14),
    BY_NUMBER(15, 14), {.name = NULL},
};

/* A list of hosts. */
static int read_hosts(struct reader *r, const yaml_node_t *node, uint32_t *host, uint32_t *cnt)
{
	if (node->type != YAML_SEQUENCE_NODE)
		return reader_fail(r, node, "members are a list of hosts, as [0, 1]");
	for (const yaml_node_item_t *i = node->data.sequence.items.start;
	     i < node->data.sequence.items.top; i++) {
		const yaml_node_t *item = yaml_document_get_node(r->doc, *i);
		const char *text = reader_text(item);
		char more;

		if (*cnt == VB_SCENARIO_MEMBERS_MAX)
			return reader_fail(r, item, "a list has at most %d hosts",
					   VB_SCENARIO_MEMBERS_MAX);
		if (!text || sscanf(text, "%7" SCNu32 "%c", &host[*cnt], &more) != 1)
			return reader_fail(r, item, "a member is the number of a host");
		++*cnt;
	}
	return 0;
}

static int read_members(struct reader *r, const yaml_node_t *node, void *at)
{
	struct vb_scenario_partition *p = at;

	return read_hosts(r, node, p->member, &p->member_cnt);
}

static int read_limited(struct reader *r, const yaml_node_t *node, void *at)
{
	struct vb_scenario_partition *p = at;

	return read_hosts(r, node, p->limited, &p->limited_cnt);
}

/* 15 bits, written as P_Keys are: the highest one says nothing here. */
static int read_pkey(struct reader *r, const yaml_node_t *node, void *at)
{
	const char *text = reader_text(node);
	uint32_t pkey;
	char more;

	if (!text || sscanf(text, "0x%5" SCNx32 "%c", &pkey, &more) != 1 || pkey > 0xffff ||
	    !vb_pkey_is_valid((uint16_t)pkey))
		return reader_fail(r, node, "pkey is 0x0001 to 0x7fff, with or without 0x8000");
	*(uint16_t *)at = (uint16_t)(pkey | 0x8000);
	return 0;
}

static const struct key partition_keys[] = {
    {.name = "pkey",
     .kind = KEY_CALL,
     .offset = IN(vb_scenario_partition, pkey),
     .read = read_pkey},
    {.name = "members", .kind = KEY_CALL, .offset = 0, .read = read_members},
    {.name = "limited", .kind = KEY_CALL, .offset = 0, .read = read_limited},
    {.name = NULL},
};

static int read_partition(struct reader *r, const yaml_node_t *node, void *base)
{
	struct vb_scenario *sc = base;
	struct vb_scenario_partition *p = &sc->partition[sc->partition_cnt];
	int bad;

	if (sc->partition_cnt == VB_SCENARIO_PARTITIONS_MAX)
		return reader_fail(r, node, "there are at most %d partitions",
				   VB_SCENARIO_PARTITIONS_MAX);
	sc->partition_cnt++;
	p->place.line = (uint32_t)node->start_mark.line + 1;
	p->place.column = (uint32_t)node->start_mark.column + 1;
	bad = reader_map(r, node, partition_keys, p);
	return bad || p->pkey ? bad : reader_fail(r, node, "a partition has a pkey");
}

static int read_partitions(struct reader *r, const yaml_node_t *node, void *at)
{
	return reader_list(r, node, at, read_partition);
}

static int read_group_members(struct reader *r, const yaml_node_t *node, void *at)
{
	struct vb_scenario_group *g = at;
	const char *text = reader_text(node);
	int bad;

	if (text && strcmp(text, "all") == 0)
		return 0;
	g->has_members = true;
	bad = read_hosts(r, node, g->member, &g->member_cnt);
	return bad || g->member_cnt ? bad : reader_fail(r, node, "a group has members");
}

/* Of multicast: an entry of the tables that the routes come with. */
static int read_mlid(struct reader *r, const yaml_node_t *node, void *at)
{
	const char *text = reader_text(node);
	uint32_t mlid;
	char more;

	if (!text || sscanf(text, "0x%5" SCNx32 "%c", &mlid, &more) != 1 ||
	    mlid < VB_LID_MULTICAST || mlid >= VB_LID_PERMISSIVE)
		return reader_fail(r, node, "mlid is 0xc000 to 0xfffe");
	*(uint16_t *)at = (uint16_t)mlid;
	return 0;
}

static const struct key group_keys[] = {
    {.name = "members", .kind = KEY_CALL, .offset = 0, .read = read_group_members},
    {.name = "pkey", .kind = KEY_CALL, .offset = IN(vb_scenario_group, pkey), .read = read_pkey},
    {.name = "mlid", .kind = KEY_CALL, .offset = IN(vb_scenario_group, mlid), .read = read_mlid},
    {.name = NULL},
};

static int read_group(struct reader *r, const yaml_node_t *node, void *base)
{
	struct vb_scenario *sc = base;
	struct vb_scenario_group *g = &sc->group[sc->group_cnt];

	if (sc->group_cnt == VB_SIM_GROUPS)
		return reader_fail(r, node, "there are at most %u groups", VB_SIM_GROUPS);
	sc->group_cnt++;
	g->place.line = (uint32_t)node->start_mark.line + 1;
	g->place.column = (uint32_t)node->start_mark.column + 1;
	return reader_map(r, node, group_keys, g);
}

int vb_scenario_read_groups(struct reader *r, const yaml_node_t *node, void *at)
{
	return reader_list(r, node, at, read_group);
}

/* By how much of a packet's time each index delays it more: the shift of the table's entries. */
static const struct key_name steps[] = {{"1/8", 3}, {"1/4", 2}, {"1/2", 1}, {"1", 0}, {NULL, 0}};

#define MARKS(field) IN(vb_scenario, ib.congestion.field)
#define SOURCES(field) IN(vb_scenario, ib.cct.field)

/* Keys: how packets are marked, and how sources follow. */
static const struct key congestion_keys[] = {
    {"threshold", KEY_BYTES32, MARKS(threshold), 1, UINT32_MAX, NULL, NULL, NULL},
    {"marking-rate", KEY_U16, MARKS(marking_rate), 0, UINT16_MAX, NULL, NULL, NULL},
    {"victims", KEY_BOOL, MARKS(marks_victims), 0, 0, NULL, NULL, NULL},
    {"per-qp", KEY_BOOL, SOURCES(by_qp), 0, 0, NULL, NULL, NULL},
    {"increase", KEY_U16, SOURCES(level[0].increase), 1, VB_CCT_LEN - 1, NULL, NULL, NULL},
    {"limit", KEY_U16, SOURCES(limit), 1, VB_CCT_LEN - 1, NULL, NULL, NULL},
    {"timer", KEY_TIME, SOURCES(level[0].timer), 1, VB_SEC, NULL, NULL, NULL},
    {.name = "step", .kind = KEY_NAME8, .offset = IN(vb_scenario, cct_shift), .names = steps},
    {.name = NULL},
};

static int read_marks(struct reader *r, const yaml_node_t *node, void *at)
{
	struct vb_scenario *sc = at;
	struct vb_cct *cct = &sc->ib.cct;
	int bad;

	sc->ib.congestion = (struct vb_ib_congestion){.threshold = 16384};
	*cct = (struct vb_cct){.limit = VB_CCT_LEN - 1,
			       .level[0] = {.increase = 1, .timer = 20 * VB_USEC}};
	sc->cct_shift = 2;
	bad = reader_map(r, node, congestion_keys, sc);
	for (uint32_t i = 0; i < VB_CCT_LEN; i++)
		cct->entry[i] = (uint16_t)((uint32_t)sc->cct_shift << VB_CCT_SHIFT | i);
	for (uint32_t sl = 1; sl < VB_CCT_LEVELS; sl++)
		cct->level[sl] = cct->level[0];
	return bad;
}

const struct key vb_scenario_infiniband_keys[] = {
    NAMED(IN(vb_scenario, ib.lanes), "lanes", lane_counts),
    NAMED(IN(vb_scenario, ib.routing), "routing", routings),
    {.name = "routes",
     .kind = KEY_TEXT,
     .offset = IN(vb_scenario, routes),
     .max = VB_SCENARIO_PATH},
    {"buffer", KEY_BYTES32, IN(vb_scenario, ib.lane_bytes), 64, 2047 * 64, NULL, NULL, NULL},
    {"hoq-life", KEY_U8, IN(vb_scenario, ib.hoq_life), 0, 31, NULL, NULL, NULL},
    {"lifetime", KEY_U8, IN(vb_scenario, ib.lifetime), 0, 31, NULL, NULL, NULL},
    {"hop-limit", KEY_U8, IN(vb_scenario, ib.hop_limit), 0, 255, NULL, NULL, NULL},
    {"stall", KEY_U8, IN(vb_scenario, ib.stall_count), 0, 7, NULL, NULL, NULL},
    {"high-limit", KEY_U8, IN(vb_scenario, ib.high_limit), 0, 255, NULL, NULL, NULL},
    {"damage", KEY_SHARE, IN(vb_scenario, ib.damage_ppm), 0, 1000000, NULL, NULL, NULL},
    {"cut-through", KEY_BOOL, IN(vb_scenario, ib.cut_through), 0, 0, NULL, NULL, NULL},
    {"flow-loss", KEY_SHARE, IN(vb_scenario, ib.flow_loss_ppm), 0, 1000000, NULL, NULL, NULL},
    {.name = "high",
     .kind = KEY_MAP,
     .offset = IN(vb_scenario, ib.weight[VB_ARB_HIGH]),
     .map = arbitration_keys},
    {.name = "low",
     .kind = KEY_MAP,
     .offset = IN(vb_scenario, ib.weight[VB_ARB_LOW]),
     .map = arbitration_keys},
    {.name = "congestion", .kind = KEY_CALL, .offset = 0, .read = read_marks},
    NAMED(IN(vb_scenario, ib.enforce), "enforce", enforcements),
    {.name = "partitions", .kind = KEY_CALL, .offset = 0, .read = read_partitions},
    {.name = "sl", .kind = KEY_MAP, .offset = IN(vb_scenario, lane_of_sl), .map = sl_keys},
    {.name = NULL},
};

static bool is_infiniband(struct reader *r)
{
	const yaml_node_t *link = reader_member(r, yaml_document_get_root_node(r->doc), "link");
	const char *text = link ? reader_text(link) : NULL;

	return text && strcmp(text, "infiniband") == 0;
}

/* Packets of Ethernet have a traffic class, those of InfiniBand a service level. */
int vb_scenario_check_class(struct reader *r, const yaml_node_t *node)
{
	bool ib = is_infiniband(r);
	const yaml_node_t *wrong = reader_member(r, node, ib ? "traffic-class" : "sl");

	if (!wrong)
		return 0;
	return reader_fail(r, wrong,
			   ib ? "traffic-class is of Ethernet; here sl is the service level"
			      : "sl is of InfiniBand; here traffic-class is what packets have");
}

/* P_Keys and multicast LIDs are of InfiniBand, and the latter of tables that a manager wrote. */
static int check_groups(struct reader *r, const yaml_node_t *root, const struct vb_scenario *sc)
{
	const yaml_node_t *groups = reader_member(r, root, "groups");

	for (uint32_t i = 0; i < sc->group_cnt; i++) {
		const struct vb_scenario_group *g = &sc->group[i];

		if (!sc->link_kind && (g->pkey || g->mlid))
			return reader_fail(r, groups, "pkey and mlid of a group are of InfiniBand");
		if (g->mlid && !sc->routes[0])
			return reader_fail(r, groups,
					   "mlid is an entry of opensm.mcfdbs: give infiniband the "
					   "routes that it is in");
	}
	return 0;
}

/* A file says what the shape is and, of InfiniBand, what the rates are; routes are of a file, and
 * are all routes. */
static int check_file(struct reader *r, const yaml_node_t *root, struct vb_scenario *sc)
{
	const yaml_node_t *topology = reader_member(r, root, "topology");
	const yaml_node_t *ib = reader_member(r, root, "infiniband");
	const yaml_node_t *cables[] = {reader_member(r, topology, "cable"),
				       reader_member(r, topology, "fabric")};
	const yaml_node_t *shape = reader_member(r, topology, "shape"), *rate = NULL;

	if (sc->routes[0] && !sc->topology.file[0])
		return reader_fail(r, reader_member(r, ib, "routes"),
				   "routes are those of a topology's file: give the topology one");
	if (sc->routes[0] && reader_member(r, ib, "routing"))
		return reader_fail(r, reader_member(r, ib, "routing"),
				   "the ways are in routes: there is nothing left for routing");
	if (!sc->topology.file[0])
		return 0;
	for (size_t i = 0; !rate && i < sizeof cables / sizeof cables[0]; i++)
		rate = reader_member(r, cables[i], "rate");
	if (rate)
		sc->topology.rate_at = (struct vb_scenario_place){
		    (uint32_t)rate->start_mark.line + 1, (uint32_t)rate->start_mark.column + 1};
	return shape ? reader_fail(r, shape, "the shape is in the topology's file") : 0;
}

/* Refuses keys that do not go with the kind of link. */
int vb_scenario_check_link(struct reader *r, const yaml_node_t *root, struct vb_scenario *sc)
{
	const yaml_node_t *transport = reader_member(r, root, "transport");
	const yaml_node_t *wrong = reader_member(r, root, sc->link_kind ? "switch" : "infiniband");
	const yaml_node_t *congestion =
	    transport ? reader_member(r, transport, "congestion") : NULL;

	if (wrong)
		return reader_fail(r, wrong,
				   sc->link_kind
				       ? "switch is of Ethernet; infiniband says what the "
					 "switches of this link are like"
				       : "infiniband goes with link: infiniband");
	if (sc->link_kind && sc->ib.congestion.threshold) {
		/* Receivers answer each packet with FECN. */
		sc->cc.np_en = true;
		sc->cc.np_min_cnp_us = 0;
	}
	if (sc->link_kind && congestion && sc->cc.dcqcn_hw_en)
		return reader_fail(r, congestion,
				   "congestion takes marks of Ethernet's switches; those of "
				   "InfiniBand make none");
	if (sc->link_kind && congestion && sc->choice.algorithm && sc->choice.algorithm->needs)
		return reader_fail(
		    r, congestion,
		    "algorithm \"%s\" takes marks or records of Ethernet's switches; "
		    "those of InfiniBand make none",
		    sc->choice.algorithm->name);
	if (sc->link_kind && !(transport && reader_member(r, transport, "sl")))
		sc->load.traffic_class = 0;
	if ((transport && vb_scenario_check_class(r, transport)) || check_groups(r, root, sc))
		return -EINVAL;
	return check_file(r, root, sc);
}
