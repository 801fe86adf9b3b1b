/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A fabric as text, see facts.h. A line of a port begins as it always did, "  3 ACTIVE    lid 5 ",
 * and has "-> PEER port N" in it, by which scripts find what they look for.
 */
#include "cmd/fabric/show/facts.h"

#include "export/text/text.h"
#include "fabric/ib/port.h"
#include "wire/mad/smp.h"

#include <inttypes.h>

#define HOT_MAX 5u
#define STATES 6u
#define WORD_BYTES 4u

static const char *const types[] = {"", "Ca", "Switch", "Rt"};

static uint32_t port_number(const struct vb_subnet_view_node *n, uint32_t p)
{
	return n->first_port + p;
}

static void print_node(FILE *f, const struct vb_show *s, uint32_t node)
{
	const struct vb_subnet_view_node *n = &s->v.node[node];

	fprintf(f, "%s ", types[n->type <= VB_NODE_ROUTER ? n->type : 0]);
	vb_text_plain(f, n->name);
	fprintf(f, " 0x%016" PRIx64 " \"", n->guid);
	vb_text_plain(f, n->description);
	putc('"', f);
	if (n->type == VB_NODE_SWITCH)
		fprintf(f, " lid %u", s->v.port[n->first_port].lid);
	putc('\n', f);
}

static void print_address(FILE *f, uint32_t a)
{
	if (a)
		fprintf(f, "%u.%u.%u.%u ", a >> 24, a >> 16 & 0xff, a >> 8 & 0xff, a & 0xff);
}

static void print_peer(FILE *f, const struct vb_show *s, uint32_t port)
{
	const struct vb_subnet_view_port *p = &s->v.port[port];

	fputs("-> ", f);
	if (p->peer != VB_IB_NOWHERE)
		vb_show_port_name(f, s, p->peer);
	if (!p->is_plugged)
		fputs(" (unplugged)", f);
	if (vb_show_has_errors(s, port)) {
		fputs(", ", f);
		vb_show_errors(f, s, port);
	}
	if (vb_show_load(s, port) >= 0.005)
		fprintf(f, ", sends %.0f %%", vb_show_load(s, port) * 100);
	putc('\n', f);
}

static void print_port(FILE *f, const struct vb_show *s, uint32_t port)
{
	const struct vb_subnet_view_port *p = &s->v.port[port];
	char rate[VB_SHOW_RATE_TEXT];

	if (!p->has_cable)
		return;
	fprintf(f, "  %3u %-9s lid %-5u %-8s ", p->number, vb_subnet_state_name(p->state), p->lid,
		vb_show_rate_text(s, port, rate));
	if (vb_show_node_of(s, port)->type == VB_NODE_ROUTER)
		fprintf(f, "prefix 0x%016" PRIx64 " ", p->prefix);
	print_address(f, p->ipv4);
	if (p->is_tunnel)
		fputs(vb_subnet_view_text(&s->v, p->tunnel), f);
	else
		print_peer(f, s, port);
}

/* A line for the node, and one for each port that is not as it should be. */
static void print_short(FILE *f, const struct vb_show *s, uint32_t node)
{
	const struct vb_subnet_view_node *n = &s->v.node[node];
	uint32_t active = 0, cables = 0, shown = 0;

	for (uint32_t p = 1; p <= n->port_cnt; p++) {
		uint32_t port = port_number(n, p);

		cables += s->v.port[port].has_cable;
		active += s->v.port[port].state == VB_LINK_ACTIVE;
	}
	for (uint32_t p = 1; p <= n->port_cnt; p++) {
		uint32_t port = port_number(n, p);

		if (!s->v.port[port].has_cable ||
		    (s->v.port[port].state == VB_LINK_ACTIVE && !vb_show_has_errors(s, port)))
			continue;
		if (shown++ == 0)
			print_node(f, s, node);
		print_port(f, s, port);
	}
	if (shown == 0 && n->type != VB_NODE_CA) {
		fprintf(f, "%s ", types[n->type <= VB_NODE_ROUTER ? n->type : 0]);
		vb_text_plain(f, n->name);
		fprintf(f, " lid %u: %u of %u ports ACTIVE\n", s->v.port[n->first_port].lid, active,
			cables);
	}
}

static void print_whole(FILE *f, const struct vb_show *s, uint32_t node)
{
	const struct vb_subnet_view_node *n = &s->v.node[node];

	print_node(f, s, node);
	for (uint32_t p = 1; p <= n->port_cnt; p++)
		print_port(f, s, port_number(n, p));
}

static void print_heading(FILE *f, const struct vb_show *s, uint32_t tier)
{
	uint32_t cnt = 0, routers = 0;

	for (uint32_t i = 0; i < s->drawing.node_cnt; i++)
		if (s->drawing.node[i].tier == tier) {
			cnt++;
			routers += s->drawing.node[i].kind == VB_DRAWING_ROUTER;
		}
	if (routers)
		fprintf(f, "Routers: %u\n", cnt);
	else if (tier)
		fprintf(f, "Tier %u: %u switch%s\n", tier, cnt, cnt == 1 ? "" : "es");
	else
		fprintf(f, "Hosts: %u\n", cnt);
}

/* By tiers where there are several of switches, else as the topology has the nodes. */
static void print_nodes(FILE *f, const struct vb_show *s, bool is_compact)
{
	bool has_tiers = s->drawing.shape == VB_DRAWING_TIERS && s->drawing.tier_cnt > 2;

	for (uint32_t t = has_tiers ? s->drawing.tier_cnt : 1; t-- > 0;) {
		if (has_tiers)
			print_heading(f, s, t);
		for (uint32_t i = 0; i < s->v.head->node_cnt; i++)
			if (!has_tiers || s->drawing.node[i].tier == t)
				(is_compact ? print_short : print_whole)(f, s, i);
	}
}

void vb_show_states(FILE *f, const struct vb_show *s)
{
	uint32_t cnt[STATES] = {0}, cables = 0, errors = 0;
	const char *between = ": ";

	for (uint32_t p = 0; p < s->v.head->port_cnt; p++) {
		cables += s->v.port[p].has_cable;
		errors += vb_show_has_errors(s, p);
		if (s->v.port[p].has_cable && s->v.port[p].state < STATES)
			cnt[s->v.port[p].state]++;
	}
	fprintf(f, "%u node%s, %u port%s with a cable", s->v.head->node_cnt,
		s->v.head->node_cnt == 1 ? "" : "s", cables, cables == 1 ? "" : "s");
	for (uint8_t i = STATES; i-- > 0;)
		if (cnt[i]) {
			fprintf(f, "%s%u %s", between, cnt[i], vb_subnet_state_name(i));
			between = ", ";
		}
	if (errors)
		fprintf(f, "; %u port%s with errors", errors, errors == 1 ? "" : "s");
	putc('\n', f);
}

static void print_hot(FILE *f, const struct vb_show *s)
{
	uint32_t port[HOT_MAX], cnt = vb_show_hot(s, port, HOT_MAX);
	char bytes[VB_SHOW_BYTES_TEXT];

	for (uint32_t i = 0; i < cnt; i++) {
		fputs(i ? "" : "Hot links:\n", f);
		fputs("  ", f);
		vb_show_port_name(f, s, port[i]);
		if (s->v.port[port[i]].peer != VB_IB_NOWHERE) {
			fputs(" -> ", f);
			vb_show_port_name(f, s, s->v.port[port[i]].peer);
		}
		fprintf(f, ": %s", vb_show_bytes_text(vb_show_sent(s, port[i]), bytes));
		if (vb_show_load(s, port[i]) >= 0)
			fprintf(f, ", %.0f %% of %.0f Gb/s", vb_show_load(s, port[i]) * 100,
				vb_show_nominal_gbps(s, port[i]));
		putc('\n', f);
	}
}

static void print_clock(FILE *f, const struct vb_subnet_view_head *h)
{
	if (h->real_time)
		fprintf(f,
			"real time: 1/%u; the machine was too slow for %" PRIu64 ".%03" PRIu64
			" s of it\n",
			h->real_time, h->lost_ns / 1000000000, h->lost_ns % 1000000000 / 1000000);
}

void vb_show_list(FILE *f, const struct vb_show *s, bool is_compact)
{
	print_clock(f, s->v.head);
	print_nodes(f, s, is_compact);
	vb_show_states(f, s);
	print_hot(f, s);
}

/* Payload bytes of an MTU's code. IBA 14.2.5.6 */
static uint32_t mtu_bytes(uint8_t code)
{
	return code >= 1 && code <= 5 ? 128u << code : 0;
}

static void print_traffic(FILE *f, const struct vb_subnet_view_port *p)
{
	char out[VB_SHOW_BYTES_TEXT], in[VB_SHOW_BYTES_TEXT];

	fprintf(f,
		"      sent %" PRIu64 " packets, %s; received %" PRIu64
		" packets, %s; XmitWait %" PRIu64 "\n",
		p->xmit_packets, vb_show_bytes_text(p->xmit_data * WORD_BYTES, out), p->rcv_packets,
		vb_show_bytes_text(p->rcv_data * WORD_BYTES, in), p->xmit_wait);
}

static void print_names(FILE *f, const struct vb_subnet_view_port *p)
{
	if (p->guid)
		fprintf(f, "      GID %04x:%04x:%04x:%04x:%04x:%04x:%04x:%04x, LMC %u\n",
			(unsigned)(p->prefix >> 48), (unsigned)(p->prefix >> 32 & 0xffff),
			(unsigned)(p->prefix >> 16 & 0xffff), (unsigned)(p->prefix & 0xffff),
			(unsigned)(p->guid >> 48), (unsigned)(p->guid >> 32 & 0xffff),
			(unsigned)(p->guid >> 16 & 0xffff), (unsigned)(p->guid & 0xffff), p->lmc);
	fprintf(f, "      first P_Keys 0x%04x 0x%04x\n", p->pkey[0], p->pkey[1]);
}

static void print_details(FILE *f, const struct vb_show *s, uint32_t port)
{
	const struct vb_subnet_view_port *p = &s->v.port[port];

	print_port(f, s, port);
	if (!p->has_cable && p->number) {
		fprintf(f, "  %3u no cable\n", p->number);
		return;
	}
	if (p->number == 0) {
		fprintf(f, "  %3u of the switch itself, lid %u\n", p->number, p->lid);
	} else {
		fprintf(f, "      %.0f Gb/s, MTU %u\n", vb_show_nominal_gbps(s, port),
			mtu_bytes(p->mtu));
		print_traffic(f, p);
	}
	print_names(f, p);
}

void vb_show_one_node(FILE *f, const struct vb_show *s, uint32_t node)
{
	const struct vb_subnet_view_node *n = &s->v.node[node];

	print_node(f, s, node);
	for (uint32_t p = n->type == VB_NODE_SWITCH ? 0 : 1; p <= n->port_cnt; p++)
		print_details(f, s, port_number(n, p));
}

void vb_show_one_port(FILE *f, const struct vb_show *s, uint32_t port)
{
	const struct vb_subnet_view_port *p = &s->v.port[port];

	print_node(f, s, p->node);
	print_details(f, s, port);
	if (p->peer == VB_IB_NOWHERE)
		return;
	fputs("at the other end:\n", f);
	print_node(f, s, s->v.port[p->peer].node);
	print_details(f, s, p->peer);
}
