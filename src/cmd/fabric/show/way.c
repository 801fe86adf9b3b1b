/* SPDX-License-Identifier: BSD-2-Clause */
/* `verbena fabric show --route`: the way of a packet, link by link, and that of an answer, see
 * show.h. The fabric's process has found both (node/subnet/path/path.h), and the reason why one
 * ends early is a cause that `verbena explain` knows, too (explain/path/path.h). */
#include "cmd/fabric/show/facts.h"

#include "cmd/json.h"
#include "wire/mad/smp.h"
#include "wire/pkey.h"

#include <inttypes.h>

/* A way, and the view of the fabric that it is in. */
struct asked {
	const struct vb_show *s;
	const struct vb_path_view *v;
};

/* P_Keys are looked at by adapters, and by ports of switches that enforce them. */
static bool looks_at_pkey(const struct vb_show *s, uint32_t port, bool enforces)
{
	return enforces || vb_show_node_of(s, port)->type == VB_NODE_CA;
}

/* The entry of the table of port @p, of a link, that lets the packet pass. */
static uint16_t entry_of(const struct asked *a, const struct vb_path_port *p)
{
	uint32_t i = vb_pkey_entry(p->pkey, VB_PATH_PKEYS, a->v->pkey);

	return i < VB_PATH_PKEYS ? p->pkey[i] : 0;
}

/* The other end of link @i did not take the packet. */
static bool is_refused(const struct asked *a, uint32_t i)
{
	return a->v->end == VB_PATH_RECEIVED_NOT && i + 1 == a->v->hop_cnt;
}

static void print_pkey(FILE *f, const struct asked *a, const struct vb_path_port *p, bool enforces)
{
	if (!looks_at_pkey(a->s, p->id, enforces))
		fputs("-", f);
	else if (entry_of(a, p))
		fprintf(f, "0x%04x", entry_of(a, p));
	else
		fputs("none", f);
}

static void print_hop(FILE *f, const struct asked *a, uint32_t i)
{
	const struct vb_path_hop *h = &a->v->hop[i];
	const struct vb_show *s = a->s;
	char rate[VB_SHOW_RATE_TEXT];

	fprintf(f, "  %2u  ", i + 1);
	vb_show_port_name(f, s, h->out.id);
	fputs(" -> ", f);
	if (is_refused(a, i))
		fputs("(not received)", f);
	else
		vb_show_port_name(f, s, h->in.id);
	fprintf(f, "  %s %s VL %u", vb_subnet_state_name(s->v.port[h->out.id].state),
		vb_show_rate_text(s, h->out.id, rate), h->vl);
	fputs(" P_Key ", f);
	print_pkey(f, a, &h->out, h->out.enforces_out);
	putc('/', f);
	if (is_refused(a, i))
		putc('-', f);
	else
		print_pkey(f, a, &h->in, h->in.enforces_in);
	if (vb_show_has_errors(s, h->out.id)) {
		fputs(", ", f);
		vb_show_errors(f, s, h->out.id);
	}
	putc('\n', f);
}

static void print_question(FILE *f, const struct asked *a)
{
	const struct vb_path_view *v = a->v;

	vb_show_port_name(f, a->s, v->from.id);
	fputs(" to ", f);
	vb_show_port_name(f, a->s, v->to.id);
	fprintf(f, ": SLID %u, DLID %u, SL %u, P_Key 0x%04x", v->slid, v->dlid_sent, v->sl,
		v->pkey);
	if (v->has_grh)
		fprintf(f, ", by GRH to 0x%016" PRIx64 " 0x%016" PRIx64, v->prefix, v->guid);
	putc('\n', f);
}

/* "": it arrives. */
static const char *reason_of(const struct asked *a)
{
	static struct vb_lines l;

	vb_path_reason(a->v, &l);
	return l.cnt ? l.text[0] : "";
}

static void print_asked(FILE *f, const struct asked *a)
{
	const struct vb_path_view *v = a->v;
	uint32_t links = vb_path_links(v);

	print_question(f, a);
	for (uint32_t i = 0; i < links; i++)
		print_hop(f, a, i);
	if (v->router_cnt)
		fprintf(f, "  through %u router%s, then SLID %u, DLID %u\n", v->router_cnt,
			v->router_cnt == 1 ? "" : "s", v->slid_last, v->dlid);
	if (vb_path_arrives(v)) {
		fprintf(f, "  arrives over %u link%s\n", links, links == 1 ? "" : "s");
		return;
	}
	fputs("  ends at ", f);
	vb_show_port_name(f, a->s, v->at.id);
	fprintf(f, ": %s\n", reason_of(a));
}

static void json_port(FILE *f, const struct vb_show *s, uint32_t port)
{
	fputs("{\"node\": ", f);
	vb_json_text(f, vb_show_node_of(s, port)->name);
	fprintf(f, ", \"port\": %u}", s->v.port[port].number);
}

static void json_hop(FILE *f, const struct asked *a, uint32_t i)
{
	const struct vb_path_hop *h = &a->v->hop[i];
	char rate[VB_SHOW_RATE_TEXT];

	fputs(i ? ",\n   {\"from\": " : "\n   {\"from\": ", f);
	json_port(f, a->s, h->out.id);
	fputs(", \"to\": ", f);
	if (is_refused(a, i))
		fputs("null", f);
	else
		json_port(f, a->s, h->in.id);
	fprintf(f,
		", \"state\": \"%s\", \"rate\": \"%s\", \"vl\": %u, \"pkey_out\": %u, "
		"\"pkey_in\": %u}",
		vb_subnet_state_name(a->s->v.port[h->out.id].state),
		vb_show_rate_text(a->s, h->out.id, rate), h->vl, entry_of(a, &h->out),
		is_refused(a, i) ? 0 : entry_of(a, &h->in));
}

static void json_asked(FILE *f, const struct asked *a)
{
	const struct vb_path_view *v = a->v;

	fputs("{\"from\": ", f);
	json_port(f, a->s, v->from.id);
	fputs(", \"to\": ", f);
	json_port(f, a->s, v->to.id);
	fprintf(f, ", \"slid\": %u, \"dlid\": %u, \"sl\": %u, \"pkey\": %u, \"routers\": %u",
		v->slid, v->dlid_sent, v->sl, v->pkey, v->router_cnt);
	if (v->has_grh)
		fprintf(f,
			", \"dgid_prefix\": \"0x%016" PRIx64 "\", \"dgid_guid\": \"0x%016" PRIx64
			"\"",
			v->prefix, v->guid);
	fprintf(f, ",\n  \"arrives\": %s, \"ends_at\": ", vb_path_arrives(v) ? "true" : "false");
	json_port(f, a->s, v->at.id);
	fputs(", \"reason\": ", f);
	vb_json_text(f, reason_of(a));
	fputs(", \"links\": [", f);
	for (uint32_t i = 0; i < vb_path_links(v); i++)
		json_hop(f, a, i);
	fputs("]}", f);
}

bool vb_show_way_print(FILE *f, const struct vb_show *s, const struct vb_path_view *v, bool json)
{
	const struct asked a = {.s = s, .v = v};

	(json ? json_asked : print_asked)(f, &a);
	return vb_path_arrives(v);
}

/* Ports of the way are those of the view, for the fabric is the same. */
static bool way_fits(const struct vb_show *s, const struct vb_path_view *v)
{
	uint32_t cnt = s->v.head->port_cnt;

	for (uint32_t i = 0; i < v->hop_cnt; i++)
		if (v->hop[i].out.id >= cnt || v->hop[i].in.id >= cnt)
			return false;
	return v->from.id < cnt && v->to.id < cnt && v->at.id < cnt;
}

static bool way_ask(const struct vb_show *s, const struct vb_subnet_way_key *key,
		    struct vb_path_view *v)
{
	char why[256];

	if (vb_subnet_way_get(s->sock, key, v, why, sizeof why) == 0 && way_fits(s, v))
		return true;
	vb_cmd_error(s->cmd, "%s", *why ? why : "the fabric is another one now");
	return false;
}

int vb_show_way(FILE *f, const struct vb_show *s, const struct vb_subnet_way_key *key, bool json)
{
	/* Port 0 of a switch has nothing to answer with. */
	bool has_return = vb_show_node_of(s, key->to)->type != VB_NODE_SWITCH, ok;
	static struct vb_path_view v, v_back;
	struct vb_subnet_way_key back = *key;

	back.from = key->to;
	back.to = key->from;
	if (!way_ask(s, key, &v) || (has_return && !way_ask(s, &back, &v_back)))
		return 1;
	fputs(json ? "{\"ways\": [" : "", f);
	ok = vb_show_way_print(f, s, &v, json);
	if (has_return) {
		fputs(json ? ",\n " : "", f);
		ok = vb_show_way_print(f, s, &v_back, json) && ok;
	}
	fputs(json ? "]}\n" : "", f);
	return ok ? 0 : 1;
}
