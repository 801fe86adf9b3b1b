/* SPDX-License-Identifier: BSD-2-Clause */
/* A fabric as JSON, for programs, see facts.h. Numbers of 64 bits that may be long are texts. */
#include "cmd/fabric/show/facts.h"

#include "cmd/json.h"
#include "export/text/text.h"
#include "wire/mad/pma.h"
#include "wire/mad/smp.h"

#include <inttypes.h>

#define WORD_BYTES 4u

static const char *const types[] = {"", "adapter", "switch", "router"};
static const char *const shapes[] = {"tiers", "row", "grid", "circle"};

static void json_errors(FILE *f, const struct vb_subnet_view_port *p)
{
	const char *between = "";

	fputs(", \"errors\": {", f);
	for (uint32_t i = 0; i < VB_PMA_ERROR_COUNTERS; i++) {
		if (!p->error[i])
			continue;
		fprintf(f, "%s\"%s\": %" PRIu64, between, vb_pma_counter_name(i), p->error[i]);
		between = ", ";
	}
	if (p->not_routed) {
		fprintf(f, "%s\"NotRouted\": %" PRIu64, between, p->not_routed);
		between = ", ";
	}
	if (p->hops_ended)
		fprintf(f, "%s\"HopLimitEnded\": %" PRIu64, between, p->hops_ended);
	putc('}', f);
}

static void json_peer(FILE *f, const struct vb_show *s, const struct vb_subnet_view_port *p)
{
	if (p->is_tunnel) {
		fputs(", \"tunnel\": ", f);
		vb_json_text(f, vb_subnet_view_text(&s->v, p->tunnel));
	}
	if (p->peer == VB_IB_NOWHERE)
		return;
	fputs(", \"peer\": {\"node\": ", f);
	vb_json_text(f, vb_show_node_of(s, p->peer)->name);
	fprintf(f, ", \"port\": %u}", s->v.port[p->peer].number);
}

static void json_port(FILE *f, const struct vb_show *s, uint32_t port)
{
	const struct vb_subnet_view_port *p = &s->v.port[port];
	char rate[VB_SHOW_RATE_TEXT];
	double load = vb_show_load(s, port);

	fprintf(f, "\n    {\"port\": %u, \"lid\": %u, \"lmc\": %u", p->number, p->lid, p->lmc);
	if (p->guid)
		fprintf(f, ", \"prefix\": \"0x%016" PRIx64 "\", \"guid\": \"0x%016" PRIx64 "\"",
			p->prefix, p->guid);
	if (p->ipv4)
		fprintf(f, ", \"address\": \"%u.%u.%u.%u\"", p->ipv4 >> 24, p->ipv4 >> 16 & 0xff,
			p->ipv4 >> 8 & 0xff, p->ipv4 & 0xff);
	if (p->has_cable) {
		fprintf(f,
			", \"state\": \"%s\", \"plugged\": %s, \"rate\": \"%s\", \"gbps\": %g, "
			"\"mtu\": %u",
			vb_subnet_state_name(p->state), p->is_plugged ? "true" : "false",
			vb_show_rate_text(s, port, rate), vb_show_nominal_gbps(s, port),
			p->mtu >= 1 && p->mtu <= 5 ? 128u << p->mtu : 0);
		json_peer(f, s, p);
		fprintf(f,
			",\n     \"xmit_bytes\": %" PRIu64 ", \"rcv_bytes\": %" PRIu64
			", \"xmit_packets\": %" PRIu64 ", \"rcv_packets\": %" PRIu64
			", \"xmit_wait\": %" PRIu64 ", \"sent\": %" PRIu64,
			p->xmit_data * WORD_BYTES, p->rcv_data * WORD_BYTES, p->xmit_packets,
			p->rcv_packets, p->xmit_wait, vb_show_sent(s, port));
		if (load >= 0)
			fprintf(f, ", \"load\": %.6f", load);
		json_errors(f, p);
	}
	putc('}', f);
}

static void json_node(FILE *f, const struct vb_show *s, uint32_t node)
{
	const struct vb_subnet_view_node *n = &s->v.node[node];
	uint32_t first = n->type == VB_NODE_SWITCH ? 0 : 1;

	fputs("\n  {\"name\": ", f);
	vb_json_text(f, n->name);
	fputs(", \"description\": ", f);
	vb_json_text(f, n->description);
	fprintf(f, ", \"type\": \"%s\", \"guid\": \"0x%016" PRIx64 "\", \"tier\": %u, \"ports\": [",
		types[n->type <= VB_NODE_ROUTER ? n->type : 0], n->guid,
		s->drawing.node[node].tier);
	for (uint32_t p = first; p <= n->port_cnt; p++) {
		if (p > first)
			putc(',', f);
		json_port(f, s, n->first_port + p);
	}
	fputs("]}", f);
}

void vb_show_json(FILE *f, const struct vb_show *s)
{
	const struct vb_subnet_view_head *h = s->v.head;

	fputs("{\"fabric\": ", f);
	vb_json_text(f, h->name);
	fprintf(f, ", \"shape\": \"%s\", \"real_time\": %u", shapes[s->drawing.shape],
		h->real_time);
	if (s->before.head)
		fprintf(f, ", \"interval\": %.6f",
			(double)(h->now_ns - s->before.head->now_ns) / 1e9);
	fputs(", \"nodes\": [", f);
	for (uint32_t i = 0; i < h->node_cnt; i++) {
		if (i)
			putc(',', f);
		json_node(f, s, i);
	}
	fputs("]}\n", f);
}
