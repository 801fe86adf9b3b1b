/* SPDX-License-Identifier: BSD-2-Clause */
/* The lines of nodes and of their ports. See read.h. */
#include "fabric/topology/text/read.h"
#include "wire/ib/rate.h"

#include <errno.h>
#include <string.h>

#define LID_MAX 0xbfffu /* unicast. IBA 4.1.3 */
#define LMC_MAX 7u

int vb_topo_full_name(struct vb_topo_reader *r, const char *name, size_t len, char between,
		      char *out, size_t *out_len)
{
	size_t at = 0;

	if (len == 0)
		return REFUSE_HERE(r, "the name is empty", SAY_NOTHING);
	if ((between == '@' || r->module[0]) && !memchr(name, between, len)) {
		at = strlen(r->module);
		memcpy(out, r->module, at);
		out[at++] = between;
	}
	if (at + len > VB_TOPO_NAME_MAX)
		return REFUSE_HERE(r, "the name has more than % bytes", SAY_DEC(VB_TOPO_NAME_MAX));
	memcpy(out + at, name, len);
	out[at + len] = '\0';
	*out_len = at + len;
	return 0;
}

enum rate { NO_RATE, BAD_RATE, RATE };

/* "4xEDR"; what ibnetdiscover does not know it prints as '?', and "4x" alone says the width. */
static enum rate read_rate(struct vb_lex word, struct vb_topo_facts *f)
{
	uint64_t lanes = 0;

	if (!vb_lex_text(&word, "??") &&
	    (!vb_lex_number(&word, &lanes) || !vb_lex_char(&word, 'x') ||
	     (word.at < word.end && vb_lex_is_digit(*word.at))))
		return NO_RATE;
	for (uint32_t width = VB_IB_1X; width <= VB_IB_2X; width *= 2) {
		if (lanes && vb_ib_lanes(width) == lanes)
			f->width = (uint8_t)width;
	}
	if (word.at == word.end || *word.at == '?')
		return lanes && !f->width ? BAD_RATE : RATE;
	for (uint32_t speed = VB_IB_SDR; speed <= VB_IB_XDR; speed *= 2) {
		const char *name = vb_ib_speed_row(speed)->name;

		if (strlen(name) == (size_t)(word.end - word.at) &&
		    memcmp(name, word.at, strlen(name)) == 0)
			f->speed = (uint16_t)speed;
	}
	return (lanes && !f->width) || !f->speed ? BAD_RATE : RATE;
}

/* w=, s=, e= of ibsim: bits of LinkWidthEnabled, LinkSpeedEnabled, LinkSpeedExtEnabled. */
static bool read_option(struct vb_lex word, struct vb_topo_facts *f)
{
	char option = *word.at++;
	uint64_t n;

	if (!vb_lex_char(&word, '=') || !vb_lex_number(&word, &n) || word.at < word.end)
		return false;
	if (option == 'w' && n >= 1 && n <= 31)
		f->width = f->width ? f->width : (uint8_t)n;
	else if (option == 's' && n <= 7)
		f->option |= (uint16_t)n;
	else if (option == 'e' && n <= 31)
		f->option |= (uint16_t)(n << 4);
	else
		return option == 'v';
	return true;
}

/* "lid 4", "lmc 0"; the number is the next of @words. */
static int read_lid(struct vb_topo_reader *r, struct vb_lex *words, bool is_lmc,
		    struct vb_topo_facts *f)
{
	struct vb_lex number;
	uint64_t n;

	if (!vb_lex_word(words, &number) || !vb_lex_number(&number, &n) || number.at < number.end)
		return 0; /* words of a comment */
	if (n > (is_lmc ? LMC_MAX : LID_MAX))
		return REFUSE_HERE(r, "% is at most %, not %", SAY_TEXT(is_lmc ? "lmc" : "lid"),
				   SAY_DEC(is_lmc ? LMC_MAX : LID_MAX), SAY_DEC(n));
	if (is_lmc)
		f->lmc = (uint8_t)n;
	else
		f->lid = (uint16_t)n;
	return 0;
}

static bool word_is(const struct vb_lex *word, const char *text)
{
	size_t len = strlen(text);

	return (size_t)(word->end - word->at) == len && memcmp(word->at, text, len) == 0;
}

int vb_topo_read_facts(struct vb_topo_reader *r, struct vb_lex words, bool comment,
		       struct vb_topo_facts *f)
{
	struct vb_lex word;
	int err = 0;

	while (!err && vb_lex_word(&words, &word)) {
		size_t len = (size_t)(word.end - word.at);
		enum rate rate = read_rate(word, f);

		r->lex.at = word.at;
		if (word_is(&word, "lid") || word_is(&word, "lmc"))
			err = read_lid(r, &words, word.at[1] == 'm', f);
		else if (word_is(&word, "enhanced"))
			f->enhanced = true;
		else if (rate == BAD_RATE)
			err =
			    REFUSE_HERE(r,
					"there is no link \"%\": it is 1x, 2x, 4x, 8x or 12x, and "
					"SDR to XDR, as 4xEDR",
					SAY_PART(word.at, len));
		else if (rate == NO_RATE && !read_option(word, f) && !comment)
			err = REFUSE_HERE(
			    r,
			    "expected w=1 to w=31, s=0 to s=7, e=0 to e=31, or '#', not "
			    "\"%\"",
			    SAY_PART(word.at, len));
	}
	return err;
}

static const char *last_quote(const struct vb_lex *l)
{
	const char *at = l->end;

	while (at > l->at && at[-1] != '"')
		at--;
	return at > l->at ? at - 1 : NULL;
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
		end = last_quote(l);
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
	    !vb_lex_hex(&l, &guid) || l.at < l.end)
		return 0;
	return guid;
}

/* What the lines before the node said of it. */
static void take_heading(struct vb_topo_reader *r, struct vb_topo_node *n)
{
	struct vb_topo_guids *g = &r->guids[n->type];
	uint64_t named = guid_in_name(n->name, strlen(n->name));

	n->vendor_id = r->vendor_id;
	n->device_id = r->device_id;
	if (g->counts && (g->fresh || !named)) {
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
}

int vb_topo_read_node(struct vb_topo_reader *r, uint8_t type)
{
	char full[VB_TOPO_NAME_MAX + 1];
	struct vb_topo_node *n;
	const char *name;
	uint64_t port_cnt;
	size_t len;
	int err;

	vb_lex_skip_blank(&r->lex);
	if (!vb_lex_number(&r->lex, &port_cnt))
		return REFUSE_HERE(r, "expected how many ports the node has", SAY_NOTHING);
	if (port_cnt < 1 || port_cnt > VB_TOPO_PORT_CNT_MAX)
		return REFUSE_HERE(r, "a node has 1 to % ports, not %",
				   SAY_DEC(VB_TOPO_PORT_CNT_MAX), SAY_DEC(port_cnt));
	vb_lex_skip_blank(&r->lex);
	if (!vb_lex_quoted(&r->lex, &name, &len))
		return REFUSE_HERE(r, "expected the name of the node in quotes", SAY_NOTHING);
	if (memchr(name, '@', len))
		return REFUSE_HERE(r, "a name has no '@': it marks another name of a port",
				   SAY_NOTHING);
	err = vb_topo_full_name(r, name, len, '#', full, &len);
	if (!err)
		err = vb_topo_add_node(&r->b, type, full, len, (uint32_t)port_cnt, r->place, &n);
	if (err)
		return err;
	take_heading(r, n);
	r->in_node = true;
	return read_description(r, n);
}

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
	const char *last = last_quote(&r->lex);
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

/* "@[3] "NAME"": the port has this name as well. */
static int read_alias(struct vb_topo_reader *r, const struct vb_topo_end *e)
{
	struct vb_topo_alias alias = {.node = e->node, .port = e->port, .place = r->place};
	char full[VB_TOPO_NAME_MAX + 1], *kept;
	const char *name;
	size_t len;
	int err;

	if (!vb_lex_quoted(&r->lex, &name, &len))
		return REFUSE_HERE(r, "expected another name of the port in quotes", SAY_NOTHING);
	if (memchr(name, '@', len) || memchr(name, '#', len))
		return REFUSE_HERE(r, "another name of a port has no '@' and no '#'", SAY_NOTHING);
	err = vb_topo_full_name(r, name, len, '@', full, &len);
	if (err)
		return err;
	kept = vb_topo_scratch(&r->b, len + 1);
	if (!kept)
		return -ENOMEM;
	memcpy(kept, full, len);
	alias.name = kept;
	return vb_topo_add_alias(&r->b, &alias);
}

/* ""NAME"[4](GUID)"; without a number it is port 1. */
static int read_peer(struct vb_topo_reader *r, struct vb_topo_end *e)
{
	char full[VB_TOPO_NAME_MAX + 1], *kept;
	const char *name;
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
	kept = vb_topo_scratch(&r->b, len + 1);
	if (!kept)
		return -ENOMEM;
	memcpy(kept, full, len);
	e->peer_name = kept;
	vb_lex_skip_blank(&r->lex);
	if (vb_lex_char(&r->lex, '[')) {
		err = read_number_of_port(r, &number);
		if (!err && (number < 1 || number > VB_TOPO_PORT_CNT_MAX))
			err = REFUSE_HERE(r, "a cable ends at port 1 to %, not %",
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
		return REFUSE_HERE(r, "\"%\" has ports 1 to %, not %", SAY_TEXT(n->name),
				   SAY_DEC(n->port_cnt), SAY_DEC(number));
	e.port = (uint8_t)number;
	vb_lex_skip_blank(&r->lex);
	if (alias)
		return read_alias(r, &e);
	if (n->port[e.port].peer != VB_TOPO_NO_PEER)
		return REFUSE_HERE(r, "port % of \"%\" is in line % already", SAY_DEC(e.port),
				   SAY_TEXT(n->name),
				   SAY_DEC(b->end[n->port[e.port].peer].place.line));
	e.usual_width = r->width;
	e.usual_speed = r->speed | r->speed_ext;
	err = read_guid_of_port(r, &n->port[e.port].guid);
	if (!err)
		err = read_peer(r, &e);
	if (!err)
		err = read_rest(r, n, &e);
	return err ? err : vb_topo_add_end(b, &e);
}
