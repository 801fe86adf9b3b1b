/* SPDX-License-Identifier: BSD-2-Clause */
/* The section "switch" of a scenario: its table of keys, and which of them go together. See
 * reader.h for both, and docs/simulator.md for the keys. */
#include "scenario/reader.h"
#include "scenario/scenario.h"

#define BYTES_MAX UINT32_MAX
#define OF_SWITCH(field) offsetof(struct vb_switch_config, field)

#define PRIO_WEIGHT(name, prio)                                                                    \
	{                                                                                          \
		name, KEY_U16, offsetof(struct vb_schedule, weight[prio]), 0, VB_WEIGHT_MAX, NULL, \
		    NULL, NULL                                                                     \
	}

static const struct key weight_keys[] = {
    PRIO_WEIGHT("0", 0), PRIO_WEIGHT("1", 1), PRIO_WEIGHT("2", 2),
    PRIO_WEIGHT("3", 3), PRIO_WEIGHT("4", 4), PRIO_WEIGHT("5", 5),
    PRIO_WEIGHT("6", 6), PRIO_WEIGHT("7", 7), {.name = NULL},
};

#define SWITCH_BYTES(name, field)                                                                  \
	{                                                                                          \
		name, KEY_BYTES32, OF_SWITCH(field), 0, BYTES_MAX, NULL, NULL, NULL                \
	}

static const struct key_name routings[] = {
    {"ecmp", VB_MULTIPATH_ECMP},
    {"spray", VB_MULTIPATH_SPRAY},
    {"random-spray", VB_MULTIPATH_RANDOM},
    {"flowlet", VB_MULTIPATH_FLOWLET},
    {"adaptive", VB_MULTIPATH_ADAPTIVE},
    {"weighted", VB_MULTIPATH_WEIGHTED},
    {NULL, 0},
};

static const struct key_name ties[] = {{"hash", 0}, {"random", 1}, {NULL, 0}};

static const struct key_name ecn_places[] = {{"enqueue", 0}, {"dequeue", 0xff}, {NULL, 0}};
static const struct key_name storm_actions[] = {
    {"drop", VB_STORM_DROP}, {"ignore", VB_STORM_IGNORE}, {NULL, 0}};

const struct key vb_scenario_switch_keys[] = {
    SWITCH_BYTES("buffer", buffer.bytes),
    SWITCH_BYTES("reserve", buffer.reserve_bytes),
    {"lossless", KEY_BITS, OF_SWITCH(buffer.lossless), 0, 0, NULL, NULL, NULL},
    SWITCH_BYTES("xoff", buffer.xoff_bytes),
    {"alpha-1024", KEY_U32, OF_SWITCH(buffer.alpha_1024), 1, 1 << 20, NULL, NULL, NULL},
    SWITCH_BYTES("xon-gap", buffer.xon_gap_bytes),
    SWITCH_BYTES("headroom", buffer.headroom_bytes),
    SWITCH_BYTES("queue", queue_bytes),
    {"ecn", KEY_BITS, OF_SWITCH(ecn), 0, 0, NULL, NULL, NULL},
    {.name = "ecn-at", .kind = KEY_NAME8, .offset = OF_SWITCH(ecn_out), .names = ecn_places},
    SWITCH_BYTES("kmin", red.kmin),
    SWITCH_BYTES("kmax", red.kmax),
    {"pmax", KEY_SHARE, OF_SWITCH(red.pmax_ppm), 0, 1000000, NULL, NULL, NULL},
    {.name = "weights", .kind = KEY_MAP, .offset = OF_SWITCH(schedule), .map = weight_keys},
    {.name = "routing", .kind = KEY_NAME8, .offset = OF_SWITCH(multipath.kind), .names = routings},
    {"hash-seed", KEY_U64, OF_SWITCH(multipath.hash_seed), 0, UINT64_MAX, NULL, NULL, NULL},
    {"hash-same", KEY_BOOL, OF_SWITCH(multipath.same_hash), 0, 0, NULL, NULL, NULL},
    {"flowlet-gap", KEY_TIME, OF_SWITCH(multipath.flowlet_gap), 0, 1000 * VB_SEC, NULL, NULL, NULL},
    {"flowlets", KEY_U32, OF_SWITCH(multipath.flowlet_cnt), 1, VB_FLOWLETS_MAX, NULL, NULL, NULL},
    {"adaptive-step", KEY_BYTES32, OF_SWITCH(multipath.queue_step), 1, BYTES_MAX, NULL, NULL, NULL},
    {.name = "adaptive-ties",
     .kind = KEY_NAME8,
     .offset = OF_SWITCH(multipath.random_ties),
     .names = ties},
    {"pfc-watchdog", KEY_TIME, OF_SWITCH(watchdog), 0, 1000 * VB_SEC, NULL, NULL, NULL},
    {.name = "pfc-watchdog-action",
     .kind = KEY_NAME8,
     .offset = OF_SWITCH(storm_action),
     .names = storm_actions},
    {.name = NULL},
};

/* Keys of one way of routing say nothing about others. */
int vb_scenario_check_switch(struct reader *r, const yaml_node_t *map, struct vb_switch_config *sw)
{
	static const struct {
		const char *key, *routing;
		enum vb_multipath_kind kind;
	} t[] = {{"flowlet-gap", "flowlet", VB_MULTIPATH_FLOWLET},
		 {"flowlets", "flowlet", VB_MULTIPATH_FLOWLET},
		 {"adaptive-step", "adaptive", VB_MULTIPATH_ADAPTIVE},
		 {"adaptive-ties", "adaptive", VB_MULTIPATH_ADAPTIVE}};
	const yaml_node_t *node;

	for (uint32_t i = 0; i < sizeof t / sizeof t[0]; i++) {
		node = reader_member(r, map, t[i].key);
		if (node && sw->multipath.kind != t[i].kind)
			return reader_fail(r, node, "%s takes routing: %s", t[i].key, t[i].routing);
	}
	/* 0xff until here: all that marks does so as packets leave. */
	sw->ecn_out &= sw->ecn;
	sw->ecn &= (uint8_t)~sw->ecn_out;
	node = reader_member(r, map, "pfc-watchdog-action");
	return node && !sw->watchdog
		   ? reader_fail(r, node, "pfc-watchdog-action takes pfc-watchdog")
		   : 0;
}
