/* SPDX-License-Identifier: BSD-2-Clause */
/* `verbena fabric show --route`: the way of a packet, link by link, and that of an answer, see
 * show.h. The fabric's process has found both (node/subnet/view/view.h). */
#include "cmd/fabric/show/facts.h"

#include "cmd/json.h"
#include "export/text/text.h"
#include "fabric/ib/port.h"
#include "wire/mad/smp.h"

#include <inttypes.h>
#include <string.h>

#define REASON_TEXT 256u

/* A way and the question that it answers. */
struct asked {
	const struct vb_show *s;
	struct vb_subnet_way_key key;
	struct vb_subnet_way w;
};

static bool way_arrives(const struct asked *a)
{
	return a->w.fate == VB_IB_ARRIVES && a->w.at == a->key.to;
}

/* Why a packet does not leave by the port, or why the other end does not take it. */
static void link_reason(const struct asked *a, char text[REASON_TEXT])
{
	const struct vb_subnet_view_port *p = &a->s->v.port[a->w.at];

	if (p->is_tunnel && p->state >= VB_LINK_ARMED)
		snprintf(text, REASON_TEXT, "it goes on through a tunnel, to another fabric");
	else if (!p->has_cable && p->number)
		snprintf(text, REASON_TEXT, "there is no cable");
	else if (p->state < VB_LINK_ARMED && p->number)
		snprintf(text, REASON_TEXT, "its link is %s%s", vb_subnet_state_name(p->state),
			 p->is_plugged ? "" : ", the cable is unplugged");
	else if (a->w.hop_cnt >= VB_IB_HOPS_MAX)
		snprintf(text, REASON_TEXT, "%u links and no end: the tables lead in a circle",
			 VB_IB_HOPS_MAX);
	else if (a->w.vl >= a->w.lane_cnt)
		snprintf(text, REASON_TEXT, "SL %u has no lane for data there (VL %u of %u)",
			 a->w.sl, a->w.vl, a->w.lane_cnt);
	else
		snprintf(text, REASON_TEXT, "it is not sent there");
}

static void end_reason(const struct asked *a, char text[REASON_TEXT])
{
	switch ((enum vb_ib_fate)a->w.fate) {
	case VB_IB_SENT_NOT:
		link_reason(a, text);
		return;
	case VB_IB_RECEIVED_NOT:
		snprintf(text, REASON_TEXT, "its link is %s and takes no data",
			 vb_subnet_state_name(a->s->v.port[a->w.at].state));
		return;
	case VB_IB_NO_WAY:
		snprintf(text, REASON_TEXT,
			 "the forwarding table of the switch has no way on for LID %u",
			 a->w.last_dlid);
		return;
	case VB_IB_BARRED_OUT:
	case VB_IB_BARRED_IN:
		snprintf(text, REASON_TEXT, "P_Key 0x%04x does not pass there", a->w.pkey);
		return;
	case VB_IB_NOT_ROUTED:
		snprintf(text, REASON_TEXT, "the router has no way to its DGID");
		return;
	case VB_IB_HOPS_ENDED:
		snprintf(text, REASON_TEXT, "its hop limit ends there");
		return;
	case VB_IB_ARRIVES:
	case VB_IB_PASSES:
	case VB_IB_LOST:
		break;
	}
	snprintf(text, REASON_TEXT,
		 a->w.fate == VB_IB_ARRIVES ? "it arrives there: LID %u is that port's, too"
					    : "the port does not have LID %u",
		 a->w.last_dlid);
}

/* "": it arrives. */
static void reason_of(const struct asked *a, char text[REASON_TEXT])
{
	const struct vb_subnet_view_port *from = &a->s->v.port[a->key.from];
	const struct vb_subnet_view_port *to = &a->s->v.port[a->key.to];

	text[0] = 0;
	if (way_arrives(a))
		return;
	if (to->lid == 0)
		snprintf(text, REASON_TEXT, "the destination has no LID yet");
	else if (a->w.dlid == 0 && from->prefix != to->prefix)
		snprintf(text, REASON_TEXT,
			 "no router leads from prefix 0x%016" PRIx64 " to 0x%016" PRIx64,
			 from->prefix, to->prefix);
	else
		end_reason(a, text);
}

/* P_Keys are looked at by adapters, and by ports of switches that enforce them. */
static bool looks_at_pkey(const struct vb_show *s, uint32_t port, bool enforces)
{
	return enforces || vb_show_node_of(s, port)->type == VB_NODE_CA;
}

static void print_pkey(FILE *f, const struct vb_show *s, uint32_t port, bool enforces,
		       uint16_t entry)
{
	if (port == VB_IB_NOWHERE || !looks_at_pkey(s, port, enforces))
		fputs("-", f);
	else if (entry)
		fprintf(f, "0x%04x", entry);
	else
		fputs("none", f);
}

static void print_hop(FILE *f, const struct vb_show *s, uint32_t number,
		      const struct vb_subnet_way_hop *h)
{
	const struct vb_subnet_view_port *p = &s->v.port[h->out];
	char rate[VB_SHOW_RATE_TEXT];

	fprintf(f, "  %2u  ", number);
	vb_show_port_name(f, s, h->out);
	fputs(" -> ", f);
	if (h->in == VB_IB_NOWHERE)
		fputs("(not received)", f);
	else
		vb_show_port_name(f, s, h->in);
	fprintf(f, "  %s %s VL %u", vb_subnet_state_name(p->state),
		vb_show_rate_text(s, h->out, rate), h->vl);
	fputs(" P_Key ", f);
	print_pkey(f, s, h->out, h->enforces_out, h->pkey_out);
	putc('/', f);
	print_pkey(f, s, h->in, h->enforces_in, h->pkey_in);
	if (vb_show_has_errors(s, h->out)) {
		fputs(", ", f);
		vb_show_errors(f, s, h->out);
	}
	putc('\n', f);
}

static void print_question(FILE *f, const struct asked *a)
{
	const struct vb_show *s = a->s;

	vb_show_port_name(f, s, a->key.from);
	fputs(" to ", f);
	vb_show_port_name(f, s, a->key.to);
	fprintf(f, ": SLID %u, DLID %u, SL %u, P_Key 0x%04x", a->w.slid, a->w.dlid, a->w.sl,
		a->w.pkey);
	if (a->w.has_grh)
		fprintf(f, ", by GRH to 0x%016" PRIx64 " 0x%016" PRIx64, a->w.prefix, a->w.guid);
	putc('\n', f);
}

static void print_asked(FILE *f, const struct asked *a)
{
	char reason[REASON_TEXT];

	print_question(f, a);
	for (uint32_t i = 0; i < a->w.hop_cnt; i++)
		print_hop(f, a->s, i + 1, &a->w.hop[i]);
	reason_of(a, reason);
	if (a->w.router_cnt)
		fprintf(f, "  through %u router%s, then SLID %u, DLID %u\n", a->w.router_cnt,
			a->w.router_cnt == 1 ? "" : "s", a->w.last_slid, a->w.last_dlid);
	if (!reason[0]) {
		fprintf(f, "  arrives over %u link%s\n", a->w.hop_cnt,
			a->w.hop_cnt == 1 ? "" : "s");
		return;
	}
	fputs("  ends at ", f);
	vb_show_port_name(f, a->s, a->w.at);
	fprintf(f, ": %s\n", reason);
}

static void json_port(FILE *f, const struct vb_show *s, uint32_t port)
{
	if (port >= s->v.head->port_cnt) {
		fputs("null", f);
		return;
	}
	fputs("{\"node\": ", f);
	vb_json_text(f, vb_show_node_of(s, port)->name);
	fprintf(f, ", \"port\": %u}", s->v.port[port].number);
}

static void json_asked(FILE *f, const struct asked *a)
{
	const struct vb_subnet_way *w = &a->w;
	char reason[REASON_TEXT], rate[VB_SHOW_RATE_TEXT];

	reason_of(a, reason);
	fputs("{\"from\": ", f);
	json_port(f, a->s, a->key.from);
	fputs(", \"to\": ", f);
	json_port(f, a->s, a->key.to);
	fprintf(f, ", \"slid\": %u, \"dlid\": %u, \"sl\": %u, \"pkey\": %u, \"routers\": %u",
		w->slid, w->dlid, w->sl, w->pkey, w->router_cnt);
	if (w->has_grh)
		fprintf(f,
			", \"dgid_prefix\": \"0x%016" PRIx64 "\", \"dgid_guid\": \"0x%016" PRIx64
			"\"",
			w->prefix, w->guid);
	fprintf(f, ",\n  \"arrives\": %s, \"ends_at\": ", way_arrives(a) ? "true" : "false");
	json_port(f, a->s, w->at);
	fputs(", \"reason\": ", f);
	vb_json_text(f, reason);
	fputs(", \"links\": [", f);
	for (uint32_t i = 0; i < w->hop_cnt; i++) {
		const struct vb_subnet_way_hop *h = &w->hop[i];

		fputs(i ? ",\n   {\"from\": " : "\n   {\"from\": ", f);
		json_port(f, a->s, h->out);
		fputs(", \"to\": ", f);
		json_port(f, a->s, h->in);
		fprintf(f,
			", \"state\": \"%s\", \"rate\": \"%s\", \"vl\": %u, \"pkey_out\": %u, "
			"\"pkey_in\": %u}",
			vb_subnet_state_name(a->s->v.port[h->out].state),
			vb_show_rate_text(a->s, h->out, rate), h->vl, h->pkey_out, h->pkey_in);
	}
	fputs("]}", f);
}

bool vb_show_way_print(FILE *f, const struct vb_show *s, const struct vb_subnet_way_key *key,
		       const struct vb_subnet_way *w, bool json)
{
	const struct asked a = {.s = s, .key = *key, .w = *w};

	(json ? json_asked : print_asked)(f, &a);
	return way_arrives(&a);
}

/* Ports of the way are those of the view, for the fabric is the same. */
static bool way_fits(const struct vb_show *s, const struct vb_subnet_way *w)
{
	uint32_t cnt = s->v.head->port_cnt;

	for (uint32_t i = 0; i < w->hop_cnt; i++)
		if (w->hop[i].out >= cnt || (w->hop[i].in != VB_IB_NOWHERE && w->hop[i].in >= cnt))
			return false;
	return w->at < cnt;
}

static bool way_ask(const struct vb_show *s, const struct vb_subnet_way_key *key,
		    struct vb_subnet_way *w)
{
	char why[256];

	if (vb_subnet_way_get(s->sock, key, w, why, sizeof why) == 0 && way_fits(s, w))
		return true;
	vb_cmd_error(s->cmd, "%s", *why ? why : "the fabric is another one now");
	return false;
}

int vb_show_way(FILE *f, const struct vb_show *s, const struct vb_subnet_way_key *key, bool json)
{
	/* Port 0 of a switch has nothing to answer with. */
	bool has_return = vb_show_node_of(s, key->to)->type != VB_NODE_SWITCH, ok;
	struct vb_subnet_way_key back = *key;
	struct vb_subnet_way w, w_back;

	back.from = key->to;
	back.to = key->from;
	if (!way_ask(s, key, &w) || (has_return && !way_ask(s, &back, &w_back)))
		return 1;
	fputs(json ? "{\"ways\": [" : "", f);
	ok = vb_show_way_print(f, s, key, &w, json);
	if (has_return) {
		fputs(json ? ",\n " : "", f);
		ok = vb_show_way_print(f, s, &back, &w_back, json) && ok;
	}
	fputs(json ? "]}\n" : "", f);
	return ok ? 0 : 1;
}
