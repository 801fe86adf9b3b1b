/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The keys of transport.congestion: the names of the DCQCN registers, times in us as there, rates
 * with their unit; or an algorithm and its parameters. They are read last, since a preset follows
 * the rate of the cables.
 */
#include "scenario/congestion.h"

#include "core/cc/text.h"
#include "core/control/algorithm/algorithm.h"
#include "plugin/plugin.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int read_preset(struct reader *r, const yaml_node_t *node, struct vb_cc_draft *d,
		       uint64_t rate_bps)
{
	const char *name = node ? reader_text(node) : "paper";

	if (!name || vb_cc_draft_begin(d, name, strlen(name), rate_bps))
		return reader_fail(r, node, "preset %s", vb_cc_preset_rule);
	return 0;
}

static int read_field(struct reader *r, const yaml_node_t *key, const yaml_node_t *value,
		      struct vb_cc_draft *d)
{
	const char *name = reader_text(key), *text = reader_text(value);
	const struct vb_cc_field *f = name ? vb_cc_field_find(name, strlen(name)) : NULL;

	if (name && strcmp(name, "preset") == 0)
		return 0; /* read before */
	if (!f)
		return reader_fail(r, key, "there is no setting \"%s\" of congestion control",
				   name ? name : "");
	if (d->given >> (f - vb_cc_fields) & 1)
		return reader_fail(r, key, "%s stands here twice", name);
	if (!text || vb_cc_draft_put(d, f, text, strlen(text)))
		return reader_fail(r, value, "%s %s, not %s", name, f->rule,
				   text ? text : "a list");
	return 0;
}

/* All keys and values of a mapping: DCQCN's. */
static int read_settings(struct reader *r, const yaml_node_t *node, struct vb_cc_settings *set,
			 uint64_t rate_bps)
{
	struct vb_cc_draft d = {0};
	struct vb_cc_fault fault;
	int err =
	    read_preset(r, node->type == YAML_SCALAR_NODE ? node : reader_member(r, node, "preset"),
			&d, rate_bps);

	if (!err && node->type == YAML_SEQUENCE_NODE)
		return reader_fail(r, node,
				   "congestion is a preset, an algorithm, or keys and values");
	if (!err && node->type == YAML_MAPPING_NODE)
		for (yaml_node_pair_t *p = node->data.mapping.pairs.start;
		     !err && p < node->data.mapping.pairs.top; p++)
			err = read_field(r, yaml_document_get_node(r->doc, p->key),
					 yaml_document_get_node(r->doc, p->value), &d);
	if (!err && vb_cc_draft_end(&d, set, &fault))
		err = reader_fail(r, node, "%s %s", fault.field, fault.rule);
	return err;
}

/* An object beside the scenario. */
static const struct verbena_cc_algorithm *load_object(struct reader *r, const yaml_node_t *node)
{
	const char *name = reader_text(node), *slash = strrchr(r->file, '/');
	const struct verbena_cc_algorithm *a = NULL;
	char path[4096], why[512];

	if (!name || !*name) {
		(void)reader_fail(r, node, "object is the path of a shared object");
		return NULL;
	}
	snprintf(path, sizeof path, "%.*s%s",
		 slash && name[0] != '/' ? (int)(slash + 1 - r->file) : 0, r->file, name);
	if (vb_plugin_load(path, &a, why, sizeof why))
		(void)reader_fail(r, node, "object '%s' %s", path, why);
	return a;
}

static const struct verbena_cc_algorithm *find_algorithm(struct reader *r, const yaml_node_t *node)
{
	const char *name = reader_text(node);
	const struct verbena_cc_algorithm *a =
	    name ? vb_cc_algorithm_find(name, strlen(name)) : NULL;
	char names[256] = "";
	size_t at = 0;

	for (int i = 0; vb_cc_algorithms[i] && at < sizeof names; i++)
		at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", i ? ", " : "",
				       vb_cc_algorithms[i]->name);
	if (!a)
		(void)reader_fail(r, node, "algorithm is one of %s", names);
	return a;
}

static int read_parameter(struct reader *r, const yaml_node_t *key, const yaml_node_t *value,
			  struct vb_cc_choice *c, uint32_t *given)
{
	const char *name = reader_text(key), *text = reader_text(value);
	const struct verbena_cc_parameter *p =
	    name ? vb_cc_parameter_find(c->algorithm, name, strlen(name)) : NULL;
	char rule[VB_CC_RULE_SIZE];

	if (name && (strcmp(name, "algorithm") == 0 || strcmp(name, "object") == 0))
		return 0; /* read before */
	if (!p)
		return reader_fail(r, key, "the algorithm \"%s\" has no parameter \"%s\"",
				   c->algorithm->name, name ? name : "");
	if (*given >> (p - c->algorithm->parameter) & 1)
		return reader_fail(r, key, "%s stands here twice", name);
	*given |= 1u << (p - c->algorithm->parameter);
	vb_cc_parameter_rule(p, rule);
	if (!text || vb_cc_choice_put(c, p, text, strlen(text)))
		return reader_fail(r, value, "%s %s, not %s", name, rule, text ? text : "a list");
	return 0;
}

/* An algorithm of verbena/cc.h, by its name or as an object. */
static int read_algorithm(struct reader *r, const yaml_node_t *node, struct vb_cc_choice *c,
			  uint64_t rate_bps)
{
	const yaml_node_t *name =
	    node->type == YAML_SCALAR_NODE ? node : reader_member(r, node, "algorithm");
	const yaml_node_t *object = reader_member(r, node, "object");
	const struct verbena_cc_algorithm *a;
	uint32_t given = 0;
	int err = 0;

	if (name && object)
		return reader_fail(r, object, "object and algorithm do not go together");
	a = object ? load_object(r, object) : find_algorithm(r, name);
	if (!a)
		return -EINVAL;
	vb_cc_choice_begin(c, a, rate_bps);
	if (node->type == YAML_MAPPING_NODE)
		for (yaml_node_pair_t *p = node->data.mapping.pairs.start;
		     !err && p < node->data.mapping.pairs.top; p++)
			err = read_parameter(r, yaml_document_get_node(r->doc, p->key),
					     yaml_document_get_node(r->doc, p->value), c, &given);
	return err;
}

static bool names_algorithm(const struct reader *r, const yaml_node_t *node)
{
	const char *name = reader_text(node);

	if (name)
		return vb_cc_algorithm_find(name, strlen(name)) != NULL;
	return reader_member(r, node, "algorithm") || reader_member(r, node, "object");
}

int vb_scenario_read_congestion(struct reader *r, const yaml_node_t *root,
				struct vb_cc_settings *set, struct vb_cc_choice *choice,
				uint64_t rate_bps)
{
	const yaml_node_t *node =
	    reader_member(r, reader_member(r, root, "transport"), "congestion");
	int err;

	if (!node)
		return 0;
	if (!names_algorithm(r, node))
		return read_settings(r, node, set, rate_bps);
	err = read_algorithm(r, node, choice, rate_bps);
	if (!err && choice->algorithm->needs & VERBENA_CC_NEEDS_CNP)
		vb_cc_settings_notify(set);
	return err;
}
