/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables against YAML. See reader.h. */
#include "scenario/reader.h"
#include "scenario/scenario.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit units_bytes[] = {
    {"", 1},          {"B", 1},         {"kB", 1000},     {"MB", 1000000}, {"GB", 1000000000},
    {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {NULL, 0},
};
static const struct unit units_rate[] = {
    {"Mbps", 1000000},
    {"Gbps", 1000000000},
    {"Tbps", UINT64_C(1000000000000)},
    {NULL, 0},
};
static const struct unit units_time[] = {
    {"ns", 1}, {"us", VB_USEC}, {"ms", VB_MSEC}, {"s", VB_SEC}, {NULL, 0},
};
static const struct unit units_share[] = {{"", 1000000}, {"%", 10000}, {NULL, 0}};
static const struct unit units_none[] = {{"", 1}, {NULL, 0}};

const char *reader_text(const yaml_node_t *node)
{
	return node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : NULL;
}

const yaml_node_t *reader_member(const struct reader *r, const yaml_node_t *map, const char *name)
{
	if (!map || map->type != YAML_MAPPING_NODE)
		return NULL;
	for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top;
	     p++) {
		const char *key = reader_text(yaml_document_get_node(r->doc, p->key));

		if (key && strcmp(key, name) == 0)
			return yaml_document_get_node(r->doc, p->value);
	}
	return NULL;
}

int reader_fail(struct reader *r, const yaml_node_t *node, const char *fmt, ...)
{
	va_list ap;
	int n = snprintf(r->err, r->err_len, "%s:%zu:%zu: ", r->file, node->start_mark.line + 1,
			 node->start_mark.column + 1);

	if (n < 0 || (size_t)n >= r->err_len)
		return -EINVAL;
	va_start(ap, fmt);
	(void)vsnprintf(r->err + n, r->err_len - (size_t)n, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* "a, b or c" of what stands in a list of names. */
static void names_of(char *out, size_t len, const void *first, size_t stride)
{
	const char *const *name = first;
	size_t at = 0;

	out[0] = '\0';
	for (; *name && at < len; name = (const char *const *)((const char *)name + stride)) {
		const char *const *next = (const char *const *)((const char *)name + stride);
		const char *between = at == 0 ? "" : *next ? ", " : " or ";
		int n = snprintf(out + at, len - at, "%s%s", between, *name);

		at += n > 0 ? (size_t)n : 0;
	}
}

/* A decimal number and a unit: "1.5us", "64 KiB". */
static bool read_scaled(const char *s, const struct unit *units, uint64_t *out)
{
	uint64_t m = 0, divisor = 1;
	bool digits = false, point = false;

	for (; (*s >= '0' && *s <= '9') || (*s == '.' && !point); s++) {
		if (*s == '.') {
			point = true;
			continue;
		}

		uint64_t digit = (uint64_t)(*s - '0');

		if (m > (UINT64_MAX - digit) / 10 || divisor > UINT64_MAX / 10)
			return false;
		m = m * 10 + digit;
		divisor *= point ? 10 : 1;
		digits = true;
	}
	while (*s == ' ')
		s++;
	while (units->name && strcmp(units->name, s) != 0)
		units++;
	if (!digits || !units->name)
		return false;
	/* Whole numbers keep all their digits; parts are rounded down. */
	if (m > UINT64_MAX / units->factor)
		return false;
	*out = m * units->factor / divisor;
	return true;
}

bool vb_scenario_time(const char *text, vb_time *out)
{
	return read_scaled(text, units_time, out);
}

static const struct unit *units_of(enum key_kind kind, const char **example)
{
	switch (kind) {
	case KEY_BYTES32:
	case KEY_BYTES64:
		*example = "a size such as 4096, 64KiB or 1MB";
		return units_bytes;
	case KEY_RATE:
		*example = "a rate such as 25Gbps or 100Gbps";
		return units_rate;
	case KEY_TIME:
		*example = "a time such as 500ns, 1.5us or 10ms";
		return units_time;
	case KEY_SHARE:
		*example = "a share such as 0.8 or 80%";
		return units_share;
	default:
		*example = "a whole number";
		return units_none;
	}
}

bool reader_value(enum key_kind kind, const char *text, uint64_t *out)
{
	const char *example;

	return read_scaled(text, units_of(kind, &example), out);
}

static int read_number(struct reader *r, const yaml_node_t *node, const struct key *k, void *at)
{
	const char *text = reader_text(node), *example;
	const struct unit *units = units_of(k->kind, &example);
	uint64_t v;

	if (!text || !read_scaled(text, units, &v))
		return reader_fail(r, node, "%s is %s%s%s%s", k->name, example,
				   text ? ", not \"" : "", text ? text : "", text ? "\"" : "");
	if (v < k->min || v > k->max)
		return reader_fail(r, node, "%s is %" PRIu64 " to %" PRIu64 ", not %s", k->name,
				   k->min, k->max, text);
	switch (k->kind) {
	case KEY_U8:
		*(uint8_t *)at = (uint8_t)v;
		break;
	case KEY_U16:
		*(uint16_t *)at = (uint16_t)v;
		break;
	case KEY_U32:
	case KEY_BYTES32:
	case KEY_SHARE:
		*(uint32_t *)at = (uint32_t)v;
		break;
	default:
		*(uint64_t *)at = v;
		break;
	}
	return 0;
}

static int read_name(struct reader *r, const yaml_node_t *node, const struct key *k, void *at)
{
	const char *text = reader_text(node);
	char names[400];

	for (const struct key_name *n = k->names; text && n->name; n++) {
		if (strcmp(n->name, text) == 0) {
			if (k->kind == KEY_NAME8)
				*(uint8_t *)at = (uint8_t)n->value;
			else
				*(uint32_t *)at = n->value;
			return 0;
		}
	}
	names_of(names, sizeof names, &k->names[0].name, sizeof k->names[0]);
	return reader_fail(r, node, "%s is %s, not \"%s\"", k->name, names, text ? text : "a list");
}

static int read_bool(struct reader *r, const yaml_node_t *node, const struct key *k, void *at)
{
	const char *text = reader_text(node);

	if (!text || (strcmp(text, "true") != 0 && strcmp(text, "false") != 0))
		return reader_fail(r, node, "%s is true or false", k->name);
	*(bool *)at = text[0] == 't';
	return 0;
}

static int read_bits(struct reader *r, const yaml_node_t *node, const struct key *k, void *at)
{
	uint8_t bits = 0;

	if (node->type != YAML_SEQUENCE_NODE)
		return reader_fail(r, node, "%s is a list of priorities 0 to 7, such as [0, 3]",
				   k->name);
	for (yaml_node_item_t *i = node->data.sequence.items.start;
	     i < node->data.sequence.items.top; i++) {
		const yaml_node_t *e = yaml_document_get_node(r->doc, *i);
		const char *text = reader_text(e);

		if (!text || text[0] < '0' || text[0] > '7' || text[1] != '\0')
			return reader_fail(r, e, "a priority is 0 to 7");
		bits |= (uint8_t)(1u << (text[0] - '0'));
	}
	*(uint8_t *)at = bits;
	return 0;
}

static int read_text(struct reader *r, const yaml_node_t *node, const struct key *k, char *at)
{
	const char *text = reader_text(node);
	size_t len = text ? strlen(text) : 0;

	if (len == 0 || len >= k->max)
		return reader_fail(r, node, "%s is a text of 1 to %u characters", k->name,
				   (uint32_t)k->max - 1);
	memcpy(at, text, len + 1);
	return 0;
}

int reader_key(struct reader *r, const yaml_node_t *node, const struct key *k, void *at)
{
	switch (k->kind) {
	case KEY_BOOL:
		return read_bool(r, node, k, at);
	case KEY_NAME:
	case KEY_NAME8:
		return read_name(r, node, k, at);
	case KEY_BITS:
		return read_bits(r, node, k, at);
	case KEY_TEXT:
		return read_text(r, node, k, at);
	case KEY_MAP:
		return reader_map(r, node, k->map, at);
	case KEY_CALL:
		return k->read(r, node, at);
	default:
		return read_number(r, node, k, at);
	}
}

int reader_map(struct reader *r, const yaml_node_t *node, const struct key *table, void *base)
{
	if (node->type != YAML_MAPPING_NODE)
		return reader_fail(r, node, "expected keys and values here, as \"%s: ...\"",
				   table[0].name);
	for (yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top;
	     p++) {
		const yaml_node_t *key = yaml_document_get_node(r->doc, p->key);
		const char *name = reader_text(key);
		const struct key *k = table;
		char names[600];
		int err;

		while (name && k->name && strcmp(k->name, name) != 0)
			k++;
		if (!name || !k->name) {
			names_of(names, sizeof names, &table[0].name, sizeof table[0]);
			return reader_fail(r, key, "there is no key \"%s\" here, only %s",
					   name ? name : "", names);
		}
		for (yaml_node_pair_t *q = node->data.mapping.pairs.start; q < p; q++) {
			const char *other = reader_text(yaml_document_get_node(r->doc, q->key));

			if (other && strcmp(other, name) == 0)
				return reader_fail(r, key, "%s stands here twice", name);
		}
		err = reader_key(r, yaml_document_get_node(r->doc, p->value), k,
				 (char *)base + k->offset);
		if (err)
			return err;
	}
	return 0;
}

int reader_list(struct reader *r, const yaml_node_t *node, void *base,
		int (*each)(struct reader *r, const yaml_node_t *node, void *base))
{
	if (node->type != YAML_SEQUENCE_NODE)
		return each(r, node, base);
	for (yaml_node_item_t *i = node->data.sequence.items.start;
	     i < node->data.sequence.items.top; i++) {
		int err = each(r, yaml_document_get_node(r->doc, *i), base);

		if (err)
			return err;
	}
	return 0;
}
