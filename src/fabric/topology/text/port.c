/* SPDX-License-Identifier: BSD-2-Clause */
/* The line of a port: its peer, or another name for it. See read.h. */
#include "fabric/topology/text/read.h"

#include <errno.h>
#include <string.h>

/* "[3]", and "[ext 7]" behind it, which is the number on the chassis. */
static int read_number_of_port(struct vb_topo_reader *r, uint64_t *out)
{
	uint64_t ext;

	if (!vb_lex_number(&r->lex, out))
		return REFUSE_HERE(r, "expected the number of a port", SAY_NOTHING);
	if (!vb_lex_char(&r->lex, ']'))
		return REFUSE_HERE(r, "expected ']' behind the number of the port", SAY_NOTHING);
	if (vb_lex_text(&r->lex, "[ext ") &&
	    (!vb_lex_number(&r->lex, &ext) || !vb_lex_char(&r->lex, ']')))
		return REFUSE_HERE(r, "expected a number and ']' behind \"[ext\"", SAY_NOTHING);
	return 0;
}

/* "(8f10403961355)"; @out is left when there is none. */
static int read_guid_of_port(struct vb_topo_reader *r, uint64_t *out)
{
	vb_lex_skip_blank(&r->lex);
	if (!vb_lex_char(&r->lex, '('))
		return 0;
	if (!vb_lex_hex(&r->lex, out) || *out == 0 || !vb_lex_char(&r->lex, ')'))
		return REFUSE_HERE(r, "expected the GUID of a port and ')'", SAY_NOTHING);
	vb_lex_skip_blank(&r->lex);
	return 0;
}

/* The comment of a port. Of a switch: # "peer" lid 4 4xEDR. Of others: # lid 2 lmc 0 "peer" lid 4
 * 4xEDR */
static int read_comment(struct vb_topo_reader *r, bool is_switch, struct vb_topo_facts *own,
			struct vb_topo_facts *peer)
{
	struct vb_lex head = r->lex, tail = r->lex;
	const char *last = vb_lex_last_quote(&r->lex);
	const char *first = memchr(head.at, '"', (size_t)(head.end - head.at));
	int err;

	if (!first)
		return vb_topo_read_facts(r, tail, true, is_switch ? peer : own);
	head.end = first;
	tail.at = last + 1;
	err = vb_topo_read_facts(r, head, true, own);
	return err ? err : vb_topo_read_facts(r, tail, true, peer);
}

/* Behind the peer: options, and a comment. */
static int read_rest(struct vb_topo_reader *r, struct vb_topo_node *n, struct vb_topo_end *e)
{
	struct vb_topo_facts own = {0}, peer = {0}, option = {0};
	struct vb_lex words = r->lex;
	const char *mark = memchr(words.at, '#', (size_t)(words.end - words.at));
	bool is_switch = n->type == VB_NODE_SWITCH;
	int err;

	words.end = mark ? mark : words.end;
	err = vb_topo_read_facts(r, words, false, &option);
	if (!err && mark) {
		r->lex.at = mark + 1;
		err = read_comment(r, is_switch, &own, &peer);
	}
	if (err)
		return err;
	/* The words "4xEDR" are of the link; an option is for what they do not say. */
	e->width = peer.width ? peer.width : own.width ? own.width : option.width;
	e->speed = peer.speed ? peer.speed : own.speed;
	if (!e->speed)
		e->speed = (uint16_t)(peer.option | own.option | option.option);
	e->peer_lid = peer.lid;
	if (!is_switch) {
		n->port[e->port].lid = own.lid ? own.lid : option.lid;
		n->port[e->port].lmc = own.lmc | option.lmc;
	}
	return 0;
}

/* A copy of a name that stays; NULL: there is no memory. */
static char *name_keep(struct vb_topo_reader *r, const char *name, size_t len)
{
	char *kept = vb_topo_scratch(&r->b, len + 1);

	if (kept)
		memcpy(kept, name, len);
	return kept;
}

/* "@[3] "NAME"": the port has this name as well. */
static int read_alias(struct vb_topo_reader *r, const struct vb_topo_end *e)
{
	struct vb_topo_alias alias = {.node = e->node, .port = e->port, .place = r->place};
	char full[VB_TOPO_NAME_MAX + 1];
	const char *name;
	size_t len;
	int err;

	if (!vb_lex_quoted(&r->lex, &name, &len))
		return REFUSE_HERE(r, "expected another name of the port in quotes", SAY_NOTHING);
	if (memchr(name, '@', len) || memchr(name, '#', len))
		return REFUSE_AT(r, name, "another name of a port has no '@' and no '#'",
				 SAY_NOTHING);
	err = vb_topo_full_name(r, name, len, '@', full, &len);
	if (err)
		return err;
	alias.name = name_keep(r, full, len);
	if (!alias.name)
		return -ENOMEM;
	return vb_topo_add_alias(&r->b, &alias);
}

/* ""NAME"[4](GUID)"; without a number it is port 1. */
static int read_peer(struct vb_topo_reader *r, struct vb_topo_end *e)
{
	char full[VB_TOPO_NAME_MAX + 1];
	const char *name, *bracket;
	uint64_t number = 1;
	size_t len;
	int err;

	if (!vb_lex_quoted(&r->lex, &name, &len))
		return REFUSE_HERE(r, "expected the name of the peer in quotes", SAY_NOTHING);
	if (len > 0 && name[0] == '@') /* of this module */
		err = vb_topo_full_name(r, name + 1, len - 1, '@', full, &len);
	else
		err =
		    vb_topo_full_name(r, name, len, memchr(name, '@', len) ? '@' : '#', full, &len);
	if (err)
		return err;
	e->peer_name = name_keep(r, full, len);
	if (!e->peer_name)
		return -ENOMEM;
	vb_lex_skip_blank(&r->lex);
	bracket = r->lex.at;
	if (vb_lex_char(&r->lex, '[')) {
		err = read_number_of_port(r, &number);
		if (!err && (number < 1 || number > VB_TOPO_PORT_CNT_MAX))
			err = REFUSE_AT(r, bracket + 1, "a cable ends at port 1 to %, not %",
					SAY_DEC(VB_TOPO_PORT_CNT_MAX), SAY_DEC(number));
	}
	e->peer_port = (uint8_t)number;
	return err ? err : read_guid_of_port(r, &e->peer_guid);
}

int vb_topo_read_port(struct vb_topo_reader *r)
{
	struct vb_topo_build *b = &r->b;
	struct vb_topo_end e = {.node = b->t->node_cnt - 1, .place = r->place};
	bool alias = vb_lex_char(&r->lex, '@');
	const char *bracket = r->lex.at;
	struct vb_topo_node *n;
	uint64_t number;
	int err;

	if (!r->in_node)
		return REFUSE_HERE(r, "there is no node before this port", SAY_NOTHING);
	n = &b->t->node[e.node];
	if (!vb_lex_char(&r->lex, '['))
		return REFUSE_HERE(r, "expected '[' and the number of a port", SAY_NOTHING);
	err = read_number_of_port(r, &number);
	if (err)
		return err;
	if (number < 1 || number > n->port_cnt)
		return REFUSE_AT(r, bracket + 1, "\"%\" has ports 1 to %, not %", SAY_TEXT(n->name),
				 SAY_DEC(n->port_cnt), SAY_DEC(number));
	e.port = (uint8_t)number;
	vb_lex_skip_blank(&r->lex);
	if (alias)
		return read_alias(r, &e);
	if (n->port[e.port].peer != VB_TOPO_NO_PEER)
		return REFUSE_AT(r, bracket, "port % of \"%\" is in %%line % already",
				 SAY_DEC(e.port), SAY_TEXT(n->name),
				 SAY_LINE(b->end[n->port[e.port].peer].place, r->place));
	e.usual_width = r->width;
	e.usual_speed = r->speed | r->speed_ext;
	err = read_guid_of_port(r, &n->port[e.port].guid);
	if (!err)
		err = read_peer(r, &e);
	if (!err)
		err = read_rest(r, n, &e);
	return err ? err : vb_topo_add_end(b, &e);
}
