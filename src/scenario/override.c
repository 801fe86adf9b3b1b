/* SPDX-License-Identifier: BSD-2-Clause */
/* Values put into the tree of a YAML document before it is read. See override.h. */
#include "scenario/override.h"
#include "scenario/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PART_MAX 64
#define TEXT_MAX 512

/* One value on its way to its place. Nodes are numbers: adding one moves the others. */
struct place {
	struct reader *r;
	const struct vb_scenario_override *o;
	yaml_document_t *doc;
	int at;
};

static yaml_node_t *node_of(const struct place *p, int id)
{
	return yaml_document_get_node(p->doc, id);
}

static int new_scalar(struct place *p, const char *text, yaml_mark_t mark)
{
	int id = yaml_document_add_scalar(p->doc, NULL, (const yaml_char_t *)text,
					  (int)strlen(text), YAML_PLAIN_SCALAR_STYLE);

	if (id)
		node_of(p, id)->start_mark = mark;
	return id;
}

static int no_memory(struct place *p)
{
	snprintf(p->r->err, p->r->err_len, "%s: no memory", p->r->file);
	return -ENOMEM;
}

/* Text, or a list or mapping in the flow style: "[0, 3]". */
static int new_value(struct place *p, const char *text, yaml_mark_t mark)
{
	int list, id;

	if (text[0] != '[')
		return new_scalar(p, text, mark);
	list = yaml_document_add_sequence(p->doc, NULL, YAML_FLOW_SEQUENCE_STYLE);
	if (!list)
		return 0;
	node_of(p, list)->start_mark = mark;
	for (const char *at = text + 1; *at && *at != ']';) {
		char word[PART_MAX];
		size_t n = strcspn(at, ", ]");

		if (n > 0 && n < sizeof word) {
			memcpy(word, at, n);
			word[n] = '\0';
			id = new_scalar(p, word, mark);
			if (!id || !yaml_document_append_sequence_item(p->doc, list, id))
				return 0;
		}
		at += n + strspn(at + n, ", ");
	}
	return list;
}

static yaml_node_pair_t *find_key(const struct place *p, int map, const char *key)
{
	yaml_node_t *m = node_of(p, map);

	for (yaml_node_pair_t *i = m->data.mapping.pairs.start; i < m->data.mapping.pairs.top;
	     i++) {
		const char *text = reader_text(node_of(p, i->key));

		if (text && strcmp(text, key) == 0)
			return i;
	}
	return NULL;
}

/* Puts @value under @key of the mapping at p->at. */
static int put_value(struct place *p, const char *key, int value)
{
	yaml_node_pair_t *there = find_key(p, p->at, key);
	int name;

	if (!value)
		return no_memory(p);
	if (there) {
		there->value = value;
		return 0;
	}
	name = new_scalar(p, key, node_of(p, p->at)->start_mark);
	if (!name || !yaml_document_append_mapping_pair(p->doc, p->at, name, value))
		return no_memory(p);
	return 0;
}

static yaml_mark_t mark_under(const struct place *p, const char *key)
{
	yaml_node_pair_t *there = find_key(p, p->at, key);

	return node_of(p, there ? there->value : p->at)->start_mark;
}

/* Steps into the element @part of the list at p->at; *used: @part was its number. */
static int into_list(struct place *p, const char *part, bool *used)
{
	yaml_node_t *n = node_of(p, p->at);
	size_t cnt = (size_t)(n->data.sequence.items.top - n->data.sequence.items.start), idx = 0;
	char *end;

	*used = part[0] >= '0' && part[0] <= '9';
	if (*used) {
		idx = strtoul(part, &end, 10);
		if (*end || idx >= cnt)
			return reader_fail(p->r, n, "this list has the elements 0 to %zu, not %s",
					   cnt - 1, part);
	} else if (cnt != 1) {
		return reader_fail(p->r, n,
				   "this list has %zu elements: name one by its number, "
				   "as in workload.0.bytes",
				   cnt);
	}
	p->at = n->data.sequence.items.start[idx];
	return 0;
}

/* Steps into what @key of the mapping at p->at holds; an empty mapping when there is nothing. */
static int into_map(struct place *p, const char *key)
{
	yaml_node_pair_t *there = find_key(p, p->at, key);
	yaml_mark_t mark = node_of(p, p->at)->start_mark;
	int id, err;

	if (there) {
		p->at = there->value;
		return 0;
	}
	id = yaml_document_add_mapping(p->doc, NULL, YAML_BLOCK_MAPPING_STYLE);
	if (!id)
		return no_memory(p);
	node_of(p, id)->start_mark = mark;
	err = put_value(p, key, id);
	p->at = id;
	return err;
}

static bool is_fault_kind(const char *part)
{
	for (int k = 0; k < VB_FAULT_KIND_CNT; k++)
		if (strcmp(vb_fault_kind_name((enum vb_fault_kind)k), part) == 0)
			return true;
	return false;
}

/* Where @text, rules with commas between them, has "KIND="; NULL: nowhere. */
static const char *rule_of(const char *text, const char *kind)
{
	size_t len = strlen(kind);

	for (;;) {
		text += strspn(text, " ");
		if (strncmp(text, kind, len) == 0 && text[len] == '=')
			return text;
		text += strcspn(text, ",");
		if (*text++ == '\0')
			return NULL;
	}
}

/* The number of the mapping in @list, or @list itself, whose "do" has "KIND=". */
static int fault_with(const struct place *p, int list, const char *kind)
{
	yaml_node_t *n = node_of(p, list);

	if (n->type == YAML_SEQUENCE_NODE) {
		for (yaml_node_item_t *i = n->data.sequence.items.start;
		     i < n->data.sequence.items.top; i++)
			if (node_of(p, *i)->type == YAML_MAPPING_NODE && fault_with(p, *i, kind))
				return *i;
		return 0;
	}
	if (n->type != YAML_MAPPING_NODE)
		return 0;

	yaml_node_pair_t *there = find_key(p, list, "do");
	const char *text = there ? reader_text(node_of(p, there->value)) : NULL;

	return text && rule_of(text, kind) ? list : 0;
}

/* "faults.loss=1e-3": a new value for the rule that is there, its filters and the rules beside it
 * kept, or a new fault. */
static int put_fault(struct place *p, const char *kind)
{
	char text[TEXT_MAX];
	const char *before = "", *rest = "";
	int before_len = 0;
	yaml_mark_t mark = mark_under(p, "faults");
	yaml_node_pair_t *faults = find_key(p, p->at, "faults");
	int list = faults ? faults->value : 0, at = list ? fault_with(p, list, kind) : 0, err;

	if (at) {
		yaml_node_t *is = node_of(p, find_key(p, at, "do")->value);

		before = reader_text(is);
		rest = rule_of(before, kind);
		before_len = (int)(rest - before);
		rest += strcspn(rest, ":,");
		mark = is->start_mark;
	}
	if (snprintf(text, sizeof text, "%.*s%s=%s%s", before_len, before, kind, p->o->value,
		     rest) >= (int)sizeof text)
		return reader_fail(p->r, node_of(p, p->at),
				   "the fault is longer than %d characters", TEXT_MAX);
	if (!at) {
		int top = p->at, old = list;

		at = yaml_document_add_mapping(p->doc, NULL, YAML_BLOCK_MAPPING_STYLE);
		if (!at)
			return no_memory(p);
		node_of(p, at)->start_mark = mark;
		if (!list || node_of(p, list)->type != YAML_SEQUENCE_NODE) {
			list = yaml_document_add_sequence(p->doc, NULL, YAML_BLOCK_SEQUENCE_STYLE);
			if (!list ||
			    (old && !yaml_document_append_sequence_item(p->doc, list, old)))
				return no_memory(p);
			node_of(p, list)->start_mark = mark;
			p->at = top;
			err = put_value(p, "faults", list);
			if (err)
				return err;
		}
		if (!yaml_document_append_sequence_item(p->doc, list, at))
			return no_memory(p);
	}
	p->at = at;
	return put_value(p, "do", new_scalar(p, text, mark));
}

static int put_path(struct place *p)
{
	const char *path = p->o->path;
	char part[PART_MAX];
	int err;

	for (;;) {
		size_t n = strcspn(path, ".");
		bool last = path[n] == '\0';
		yaml_node_t *at = node_of(p, p->at);
		bool used = false;

		if (n == 0 || n >= sizeof part)
			return reader_fail(p->r, at,
					   "a path is keys with dots between them, such "
					   "as transport.timeout");
		memcpy(part, path, n);
		part[n] = '\0';
		if (at->type == YAML_SEQUENCE_NODE) {
			err = into_list(p, part, &used);
			if (err)
				return err;
			if (used && last)
				return reader_fail(p->r, at, "the path ends at an element");
			path += used ? n + 1 : 0;
			continue;
		}
		if (at->type != YAML_MAPPING_NODE)
			return reader_fail(p->r, at, "there is a value here, and nothing called %s",
					   part);
		/* A single mapping is a list of one. */
		if (strcmp(part, "0") == 0 && !last) {
			path += n + 1;
			continue;
		}
		if (last)
			return put_value(p, part, new_value(p, p->o->value, mark_under(p, part)));
		if (strcmp(part, "faults") == 0 && is_fault_kind(path + n + 1))
			return put_fault(p, path + n + 1);
		err = into_map(p, part);
		if (err)
			return err;
		path += n + 1;
	}
}

int reader_override(struct reader *r, const struct vb_scenario_override *o)
{
	yaml_node_t *root = yaml_document_get_root_node(r->doc);
	/* The root is the first node of a document. */
	struct place p = {r, o, r->doc, 1};

	return root ? put_path(&p) : 0;
}
