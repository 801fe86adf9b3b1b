/* SPDX-License-Identifier: BSD-2-Clause */
/* The line that a node begins with. See read.h. */
#include "fabric/topology/text/read.h"

#include <string.h>

int vb_topo_full_name(struct vb_topo_reader *r, const char *name, size_t len, char between,
		      char *out, size_t *out_len)
{
	size_t at = 0;

	if (len == 0)
		return REFUSE_AT(r, name, "the name is empty", SAY_NOTHING);
	if ((between == '@' || r->module[0]) && !memchr(name, between, len)) {
		at = strlen(r->module);
		memcpy(out, r->module, at);
		out[at++] = between;
	}
	if (at + len > VB_TOPO_NAME_MAX)
		return REFUSE_AT(r, name, "the name has more than % bytes",
				 SAY_DEC(VB_TOPO_NAME_MAX));
	memcpy(out + at, name, len);
	out[at + len] = '\0';
	*out_len = at + len;
	return 0;
}

/* Where a description without quotes ends. */
static const char *plain_end(const struct vb_lex *l)
{
	static const char *const word[] = {" enhanced port ", " base port ", " lid ", " lmc "};

	for (struct vb_lex at = *l; at.at < at.end; at.at++) {
		for (size_t i = 0; i < sizeof word / sizeof *word; i++) {
			struct vb_lex from = at;

			if (vb_lex_text(&from, word[i]))
				return at.at;
		}
	}
	return l->end;
}

/* The comment of a node: # "description" base port 0 lid 3 lmc 0 */
static int read_description(struct vb_topo_reader *r, struct vb_topo_node *n)
{
	struct vb_topo_facts f = {0};
	struct vb_lex *l = &r->lex, tail;
	const char *desc, *end;
	size_t len;
	int err;

	vb_lex_skip_blank(l);
	if (!vb_lex_char(l, '#'))
		return l->at == l->end
			   ? 0
			   : REFUSE_HERE(r, "expected '#' and a description", SAY_NOTHING);
	vb_lex_skip_blank(l);
	tail = *l;
	if (l->at < l->end && *l->at == '"') {
		desc = l->at + 1;
		end = vb_lex_last_quote(l);
		if (end < desc)
			return REFUSE_HERE(r, "the description has no quote at its end",
					   SAY_NOTHING);
		tail.at = end + 1;
	} else {
		desc = l->at;
		end = tail.at = plain_end(l);
		while (end > desc && vb_lex_is_blank(end[-1]))
			end--;
	}
	len = (size_t)(end - desc);
	if (len > VB_TOPO_DESC_MAX)
		return REFUSE_HERE(r, "the description has % bytes, at most % are allowed",
				   SAY_DEC(len), SAY_DEC(VB_TOPO_DESC_MAX));
	memset(n->desc, 0, sizeof n->desc);
	memcpy(n->desc, desc, len);
	err = vb_topo_read_facts(r, tail, true, &f);
	if (!err && n->type == VB_NODE_SWITCH) {
		n->enhanced_port0 = f.enhanced;
		n->port[0].lid = f.lid;
		n->port[0].lmc = f.lmc;
	}
	return err;
}

/* "H-0002c90300001234": ibnetdiscover makes names of GUIDs. 0: this is no such name. */
static uint64_t guid_in_name(const char *name, size_t len)
{
	struct vb_lex l = {name, name + 2, name + len};
	uint64_t guid;

	if (len != 18 || !strchr("SHR", name[0]) || name[1] != '-' || name[3] == 'x' ||
	    !vb_lex_hex(&l, &guid) || l.at < l.end || guid > NODE_GUID_MAX)
		return 0;
	return guid;
}

/* Takes what the lines before the node said of it. */
static int take_heading(struct vb_topo_reader *r, struct vb_topo_node *n)
{
	struct vb_topo_guids *g = &r->guids[n->type];
	uint64_t named = guid_in_name(n->name, strlen(n->name));

	n->vendor_id = r->vendor_id;
	n->device_id = r->device_id;
	if (g->counts && (g->fresh || !named)) {
		if (g->next == 0 || g->next > NODE_GUID_MAX)
			return REFUSE_HERE(r, "there is no GUID behind 0x% for \"%\"",
					   SAY_HEX16(NODE_GUID_MAX), SAY_TEXT(n->name));
		n->node_guid = g->next;
		g->next += n->type == VB_NODE_SWITCH ? 1 : n->port_cnt + 1;
	} else {
		n->node_guid = named;
	}
	g->fresh = false;
	n->system_guid = r->system_guid;
	r->system_guid = 0;
	if (n->type == VB_NODE_SWITCH) {
		n->port[0].guid = r->port0_guid;
		r->port0_guid = 0;
	}
	return 0;
}

int vb_topo_read_node(struct vb_topo_reader *r, uint8_t type)
{
	char full[VB_TOPO_NAME_MAX + 1];
	struct vb_topo_node *n;
	const char *name, *number;
	uint64_t port_cnt;
	size_t len;
	int err;

	vb_lex_skip_blank(&r->lex);
	number = r->lex.at;
	if (!vb_lex_number(&r->lex, &port_cnt))
		return REFUSE_HERE(r, "expected how many ports the node has", SAY_NOTHING);
	if (port_cnt < 1 || port_cnt > VB_TOPO_PORT_CNT_MAX)
		return REFUSE_AT(r, number, "a node has 1 to % ports, not %",
				 SAY_DEC(VB_TOPO_PORT_CNT_MAX), SAY_DEC(port_cnt));
	vb_lex_skip_blank(&r->lex);
	if (!vb_lex_quoted(&r->lex, &name, &len))
		return REFUSE_HERE(r, "expected the name of the node in quotes", SAY_NOTHING);
	if (memchr(name, '@', len))
		return REFUSE_AT(r, name, "a name has no '@': it marks another name of a port",
				 SAY_NOTHING);
	err = vb_topo_full_name(r, name, len, '#', full, &len);
	if (!err)
		err = vb_topo_add_node(&r->b, type, full, len, (uint32_t)port_cnt, r->place, &n);
	if (err)
		return err;
	r->in_node = true;
	r->ioc = NULL;
	err = take_heading(r, n);
	return err ? err : read_description(r, n);
}
