/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A YAML mapping read into a structure by a table: each key has a kind, a place in the structure
 * and limits. Each mistake is told with file, line and column, and with what would be right.
 */
#ifndef VB_SCENARIO_READER_H
#define VB_SCENARIO_READER_H

#include "base/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <yaml.h>

enum key_kind {
	KEY_U8, /* numbers */
	KEY_U16,
	KEY_U32,
	KEY_U64,
	KEY_BYTES32, /* with a unit: kB MB GB KiB MiB GiB, or none */
	KEY_BYTES64,
	KEY_RATE,  /* kbps Mbps Gbps Tbps */
	KEY_TIME,  /* ns us ms s */
	KEY_SHARE, /* of 1, into parts per million: 0.8 or 80% */
	KEY_BOOL,
	KEY_NAME,  /* one of names; its value as uint32_t */
	KEY_NAME8, /* ... as uint8_t */
	KEY_BITS,  /* a list of numbers 0...7, as bits of a uint8_t */
	KEY_TEXT,  /* at most max bytes with the zero behind it, at least one without */
	KEY_MAP,   /* a mapping with a table of its own */
	KEY_CALL,  /* read by a function */
};

struct key_name {
	const char *name;
	uint32_t value;
};

struct reader;

struct key {
	const char *name;
	enum key_kind kind;
	size_t offset;
	uint64_t min, max;            /* numbers, bytes, rates, times, texts */
	const struct key_name *names; /* KEY_NAME; ends with a NULL */
	const struct key *map;        /* KEY_MAP; ends with a NULL name */
	int (*read)(struct reader *r, const yaml_node_t *node, void *at); /* KEY_CALL */
};

struct reader {
	yaml_document_t *doc;
	const char *file;
	char *err;
	size_t err_len;
};

/* Reads the first document of @f into r->doc, which is to be deleted. Not 0: the reason is in
 * r->err; among others, more than 64 lists and mappings in each other. */
int reader_load(struct reader *r, FILE *f);

/* Fills what the mapping @node says into the structure at @base. */
int reader_map(struct reader *r, const yaml_node_t *node, const struct key *table, void *base);

/* Reads the value of one key, which is @node, to @at. */
int reader_key(struct reader *r, const yaml_node_t *node, const struct key *k, void *at);

/* The elements of a list, one call of @each per element; a single mapping is a list of one. */
int reader_list(struct reader *r, const yaml_node_t *node, void *base,
		int (*each)(struct reader *r, const yaml_node_t *node, void *base));

/* Puts a value into the document. 0, or a negative errno with the reason in r->err. */
struct vb_scenario_override;
int reader_override(struct reader *r, const struct vb_scenario_override *o);

/* Limits of cables, in bits per second and ns. */
#define READER_RATE_MIN 1000000
#define READER_RATE_MAX UINT64_C(10000000000000)
#define READER_DELAY_MAX (10 * VB_SEC)

/* A text as a key of that kind would have it: numbers, sizes, rates, times and shares. False: it is
 * none. */
bool reader_value(enum key_kind kind, const char *text, uint64_t *out);

/* The text of a scalar, or NULL. */
const char *reader_text(const yaml_node_t *node);

/* The node under a key of a mapping; NULL: there is none, or @map is NULL or no mapping. */
const yaml_node_t *reader_member(const struct reader *r, const yaml_node_t *map, const char *name);

/* Says what is wrong at @node; returns -EINVAL. */
__attribute__((format(printf, 3, 4))) int reader_fail(struct reader *r, const yaml_node_t *node,
						      const char *fmt, ...);

/* infiniband.c: its keys and the list of groups, in a struct vb_scenario, and what does not go with
 * the kind of links: in a mapping whose packets have a traffic class or a service level, and in the
 * whole. */
struct vb_scenario;
extern const struct key vb_scenario_infiniband_keys[];
int vb_scenario_read_groups(struct reader *r, const yaml_node_t *node, void *at);
int vb_scenario_check_class(struct reader *r, const yaml_node_t *node);
int vb_scenario_check_link(struct reader *r, const yaml_node_t *root, struct vb_scenario *sc);

/* sections.c: where it stands; NULL: nowhere. */
struct vb_scenario_place vb_scenario_place_of(const yaml_node_t *node);

/* section/workload.c: the list of workloads, in a struct vb_scenario. */
int vb_scenario_read_workloads(struct reader *r, const yaml_node_t *node, void *at);

/* section/switch.c: its keys, in a struct vb_switch_config, and what takes another key beside
 * it; ECN then stands where it marks. */
struct vb_switch_config;
extern const struct key vb_scenario_switch_keys[];
int vb_scenario_check_switch(struct reader *r, const yaml_node_t *map, struct vb_switch_config *sw);

#endif
