/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The keys of transport.congestion: the names of the DCQCN registers, times in us as there, rates
 * with their unit. They are read last, since a preset follows the rate of the cables.
 */
#include "scenario/congestion.h"

#include "core/cc/text.h"

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

int vb_scenario_read_congestion(struct reader *r, const yaml_node_t *root,
				struct vb_cc_settings *set, uint64_t rate_bps)
{
	const yaml_node_t *node =
	    reader_member(r, reader_member(r, root, "transport"), "congestion");
	struct vb_cc_draft d = {0};
	struct vb_cc_fault fault;
	int err;

	if (!node)
		return 0;
	err =
	    read_preset(r, node->type == YAML_SCALAR_NODE ? node : reader_member(r, node, "preset"),
			&d, rate_bps);
	if (!err && node->type == YAML_SEQUENCE_NODE)
		return reader_fail(r, node, "congestion is a preset, or keys and values");
	if (!err && node->type == YAML_MAPPING_NODE)
		for (yaml_node_pair_t *p = node->data.mapping.pairs.start;
		     !err && p < node->data.mapping.pairs.top; p++)
			err = read_field(r, yaml_document_get_node(r->doc, p->key),
					 yaml_document_get_node(r->doc, p->value), &d);
	if (!err && vb_cc_draft_end(&d, set, &fault))
		err = reader_fail(r, node, "%s %s", fault.field, fault.rule);
	return err;
}
