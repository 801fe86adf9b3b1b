/* SPDX-License-Identifier: BSD-2-Clause */
/* Nodes and links in YAML, see nodes.h; and which form a text has. */
#include "scenario/input/nodes.h"

#include "fault/fault.h"
#include "scenario/input/nics.h"

#include <errno.h>
#include <string.h>

#define IN(type, field) offsetof(struct type, field)
#define AGAIN_MAX 256

const struct key vb_net_cable_keys[] = {
    {"rate", KEY_RATE, IN(vb_cable, rate_bps), READER_RATE_MIN, READER_RATE_MAX, NULL, NULL, NULL},
    {"delay", KEY_TIME, IN(vb_cable, delay), 0, READER_DELAY_MAX, NULL, NULL, NULL},
    {"mtu", KEY_BYTES32, IN(vb_cable, mtu), 0, 65535, NULL, NULL, NULL},
    {.name = NULL},
};

/* A link as it is written. */
struct link_words {
	const struct vb_net *net;
	struct vb_net_link link;
	uint32_t count;
};

static int check_net(struct vb_net *n, const struct vb_complaint *c)
{
	int bad = vb_net_check(n, c);

	return bad ? bad : vb_net_find_nics(n, c);
}

static struct vb_net_place place_at(const yaml_node_t *node)
{
	return (struct vb_net_place){(uint32_t)node->start_mark.line + 1,
				     (uint32_t)node->start_mark.column + 1};
}

static int memory_refuse(struct reader *r, const yaml_node_t *node, int bad)
{
	return bad == -ENOMEM ? reader_fail(r, node, "there is no memory for it") : bad;
}

static int node_add(struct reader *r, const yaml_node_t *node, struct vb_net *n, bool is_switch,
		    const char *name)
{
	const struct vb_complaint c = {r->file, r->err, r->err_len};

	return memory_refuse(r, node,
			     vb_net_add_node(n, name, strlen(name), is_switch, place_at(node), &c));
}

/* As many as the number says, named h0, h1 ... or s0, s1 ... */
static int nodes_count(struct reader *r, const yaml_node_t *node, struct vb_net *n, bool is_switch)
{
	struct vb_token word = {.text = reader_text(node)};
	uint64_t cnt;
	int bad = 0;

	word.len = word.text ? (uint32_t)strlen(word.text) : 0;
	if (!vb_token_number(&word, VB_SIM_TOPO_NODES_MAX, &cnt))
		return reader_fail(r, node,
				   "%s is a list of names, or how many there are: they are %c0, "
				   "%c1 and so on then",
				   is_switch ? "switches" : "hosts", is_switch ? 's' : 'h',
				   is_switch ? 's' : 'h');
	for (uint64_t i = 0; !bad && i < cnt; i++) {
		char name[VB_NET_NAME];

		snprintf(name, sizeof name, "%c%u", is_switch ? 's' : 'h', (uint32_t)i);
		bad = node_add(r, node, n, is_switch, name);
	}
	return bad;
}

static int names_add(struct reader *r, const yaml_node_t *node, struct vb_net *n, bool is_switch)
{
	int bad = 0;

	if (node->type != YAML_SEQUENCE_NODE)
		return nodes_count(r, node, n, is_switch);
	for (yaml_node_item_t *i = node->data.sequence.items.start;
	     !bad && i < node->data.sequence.items.top; i++) {
		const yaml_node_t *e = yaml_document_get_node(r->doc, *i);
		const char *name = reader_text(e);

		bad = name ? node_add(r, e, n, is_switch, name)
			   : reader_fail(r, e, "the name of a node is a text");
	}
	return bad;
}

static int hosts_read(struct reader *r, const yaml_node_t *node, void *at)
{
	return names_add(r, node, at, false);
}

static int switches_read(struct reader *r, const yaml_node_t *node, void *at)
{
	return names_add(r, node, at, true);
}

static const struct key node_keys[] = {
    {.name = "hosts", .kind = KEY_CALL, .offset = 0, .read = hosts_read},
    {.name = "switches", .kind = KEY_CALL, .offset = 0, .read = switches_read},
    {.name = NULL},
};

/* [a, b]: the nodes at both ends. */
static int ends_read(struct reader *r, const yaml_node_t *node, void *at)
{
	struct link_words *w = at;
	uint32_t *const end[] = {&w->link.a, &w->link.b};
	yaml_node_item_t *item;

	if (node->type != YAML_SEQUENCE_NODE ||
	    node->data.sequence.items.top - node->data.sequence.items.start != 2)
		return reader_fail(r, node, "ends is a list of two nodes, such as [h0, s0]");
	item = node->data.sequence.items.start;
	for (int i = 0; i < 2; i++) {
		const yaml_node_t *e = yaml_document_get_node(r->doc, item[i]);
		const char *name = reader_text(e);

		*end[i] = name ? vb_net_find(w->net, name, strlen(name)) : VB_NET_NONE;
		if (*end[i] == VB_NET_NONE)
			return reader_fail(r, e, "there is no node \"%s\" among nodes",
					   name ? name : "");
	}
	return 0;
}

/* The share of packets that are lost, as faults have it. */
static int error_read(struct reader *r, const yaml_node_t *node, void *at)
{
	const char *share = reader_text(node);
	struct vb_fault_error wrong;
	struct vb_fault_spec spec;
	char text[64];

	if (!share || strspn(share, "0123456789.eE-%pbm") != strlen(share) ||
	    snprintf(text, sizeof text, "loss=%s", share) >= (int)sizeof text ||
	    vb_fault_parse(text, &spec, &wrong) || spec.rule_cnt != 1)
		return reader_fail(r, node,
				   "error is the share of packets that are lost, such as 1e-6, "
				   "0.1%% or 20ppm");
	*(uint32_t *)at = spec.rule[0].ppb;
	return 0;
}

static const struct key link_keys[] = {
    {.name = "ends", .kind = KEY_CALL, .offset = 0, .read = ends_read},
    {"rate", KEY_RATE, IN(link_words, link.cable.rate_bps), READER_RATE_MIN, READER_RATE_MAX, NULL,
     NULL, NULL},
    {"delay", KEY_TIME, IN(link_words, link.cable.delay), 0, READER_DELAY_MAX, NULL, NULL, NULL},
    {"mtu", KEY_BYTES32, IN(link_words, link.cable.mtu), 0, 65535, NULL, NULL, NULL},
    {.name = "error",
     .kind = KEY_CALL,
     .offset = IN(link_words, link.error_ppb),
     .read = error_read},
    {"count", KEY_U32, IN(link_words, count), 1, AGAIN_MAX, NULL, NULL, NULL},
    {.name = NULL},
};

static int link_read(struct reader *r, const yaml_node_t *node, void *base)
{
	const struct vb_complaint c = {r->file, r->err, r->err_len};
	struct vb_net *n = base;
	struct link_words w = {
	    .net = n,
	    .link = {.a = VB_NET_NONE,
		     .place = place_at(node),
		     .cable = {VB_NET_RATE_UNSAID, VB_NET_DELAY_UNSAID, VB_NET_MTU_UNSAID}},
	    .count = 1};
	int bad = reader_map(r, node, link_keys, &w);

	if (!bad && w.link.a == VB_NET_NONE)
		bad = reader_fail(r, node, "a link has ends, such as [h0, s0]");
	for (uint32_t i = 0; !bad && i < w.count; i++) {
		w.link.is_again = i > 0;
		bad = memory_refuse(r, node, vb_net_add_link(n, &w.link, &c));
	}
	return bad;
}

int vb_net_read_nodes(struct vb_net *n, struct reader *r, const yaml_node_t *map)
{
	const yaml_node_t *nodes = reader_member(r, map, "nodes"),
			  *links = reader_member(r, map, "links");
	const struct vb_complaint c = {r->file, r->err, r->err_len};
	int bad;

	*n = (struct vb_net){.node = NULL};
	if (!nodes || !links)
		return reader_fail(r, map, "nodes and links go together");
	bad = reader_map(r, nodes, node_keys, n);
	if (!bad && n->host_cnt == 0)
		bad = reader_fail(r, nodes, "there is no host");
	if (!bad)
		bad = reader_list(r, links, n, link_read);
	return bad ? bad : memory_refuse(r, map, check_net(n, &c));
}

/* The values are read when the names are known. */
static int value_skip(struct reader *r, const yaml_node_t *node, void *at)
{
	(void)r, (void)node, (void)at;
	return 0;
}

static const struct key file_keys[] = {
    {.name = "nodes", .kind = KEY_CALL, .offset = 0, .read = value_skip},
    {.name = "links", .kind = KEY_CALL, .offset = 0, .read = value_skip},
    {.name = NULL},
};

static int yaml_read(struct vb_net *n, const char *text, size_t len, const struct vb_complaint *c)
{
	yaml_document_t doc;
	struct reader r = {&doc, c->file, c->text, c->size};
	FILE *f = fmemopen((void *)(uintptr_t)text, len, "r");
	const yaml_node_t *root;
	int bad;

	if (!f)
		return -ENOMEM;
	bad = reader_load(&r, f);
	fclose(f);
	if (bad)
		return bad;
	root = yaml_document_get_root_node(&doc);
	bad = root ? reader_map(&r, root, file_keys, n) : vb_complain(c, 1, 1, "the file is empty");
	if (!bad)
		bad = vb_net_read_nodes(n, &r, root);
	yaml_document_delete(&doc);
	return bad;
}

enum vb_net_form vb_net_form_of(const char *text, size_t len)
{
	struct vb_tokens w = vb_tokens_of(text, len, 1);
	struct vb_token word;
	bool any = vb_tokens_next(&w, &word);

	if (any && vb_token_is(&word, "---"))
		any = vb_tokens_next(&w, &word);
	if (!any)
		return VB_NET_FORM_NONE;
	if (word.text[0] >= '0' && word.text[0] <= '9')
		return VB_NET_FORM_NS3;
	return vb_token_is(&word, "nodes:") || vb_token_is(&word, "links:") || word.text[0] == '{'
		   ? VB_NET_FORM_YAML
		   : VB_NET_FORM_NONE;
}

int vb_net_parse(struct vb_net *n, enum vb_net_form form, const char *text, size_t len,
		 const struct vb_complaint *c)
{
	int bad;

	*n = (struct vb_net){.node = NULL};
	if (form == VB_NET_FORM_YAML)
		return yaml_read(n, text, len, c);
	bad = vb_net_read_ns3(n, text, len, c);
	return bad ? bad : check_net(n, c);
}
