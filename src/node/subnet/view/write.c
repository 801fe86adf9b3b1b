/* SPDX-License-Identifier: BSD-2-Clause */
/* The records of a fabric, as its process knows it, see view.h. */
#include "node/subnet/view/view.h"

#include "node/host/clock.h"
#include "node/subnet/adapter/adapter.h"
#include "node/subnet/cm/cm.h"
#include "node/subnet/live/live.h"
#include "node/subnet/tunnel/tunnel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t lft_cnt_of(const struct vb_subnet_daemon *d, uint32_t node)
{
	uint32_t cnt = d->subnet.node[node].forward.unicast_top + 1u;

	if (!vb_subnet_at_switch(d, node))
		return 0;
	return cnt < VB_SUBNET_LIDS ? cnt : VB_SUBNET_LIDS;
}

static void node_write(const struct vb_subnet_daemon *d, uint32_t i, struct vb_subnet_view_node *r)
{
	const struct vb_topo_node *n = &d->topo->node[i];

	r->guid = n->node_guid;
	r->lft_cnt = lft_cnt_of(d, i);
	r->type = n->type;
	r->port_cnt = n->port_cnt;
	snprintf(r->name, sizeof r->name, "%s", n->name);
	snprintf(r->description, sizeof r->description, "%.*s", VB_SMA_NODE_DESC_LEN,
		 (const char *)d->subnet.node[i].sma.description);
}

static void counters_write(struct vb_subnet_daemon *d, struct vb_subnet_place at,
			   struct vb_subnet_view_port *r)
{
	const struct vb_subnet_port *p = &d->subnet.node[at.node].port[at.port];
	struct vb_pma_counts plain, extended;

	vb_subnet_counters_ask(d, at, VB_PMA_PORT_COUNTERS, &plain);
	vb_subnet_counters_ask(d, at, VB_PMA_PORT_COUNTERS_EXT, &extended);
	memcpy(r->error, plain.value, sizeof r->error);
	r->xmit_wait = plain.value[VB_PMA_XMIT_WAIT];
	r->xmit_data = extended.value[VB_PMA_EXT_XMIT_DATA];
	r->rcv_data = extended.value[VB_PMA_EXT_RCV_DATA];
	r->xmit_packets = extended.value[VB_PMA_EXT_XMIT_PACKETS];
	r->rcv_packets = extended.value[VB_PMA_EXT_RCV_PACKETS];
	r->not_routed = p->not_routed;
	r->hops_ended = p->hops_ended;
}

/* @first: numbers of the ports 0 of nodes. */
static void link_write(struct vb_subnet_daemon *d, struct vb_subnet_place at, const uint32_t *first,
		       struct vb_subnet_view_port *r)
{
	const struct vb_subnet_port *p = &d->subnet.node[at.node].port[at.port];
	const struct vb_port_info *info = &vb_subnet_sma_port(&d->subnet, at)->info;

	r->has_cable = p->has_cable;
	if (!p->has_cable)
		return;
	r->state = p->link.state;
	r->is_plugged = p->is_plugged;
	r->is_tunnel = p->is_away;
	r->mtu = info->neighbor_mtu;
	if (p->link.state > VB_LINK_DOWN) {
		r->speed = vb_subnet_speed_of(info)->code;
		r->width = info->width_active;
	}
	if (!p->is_away)
		r->peer = first[p->peer.node] + p->peer.port;
	r->ipv4 = vb_subnet_address_of(d, at);
	counters_write(d, at, r);
}

static void port_write(struct vb_subnet_daemon *d, struct vb_subnet_place at, const uint32_t *first,
		       struct vb_subnet_view_port *r)
{
	const struct vb_sma_port *s = vb_subnet_sma_port(&d->subnet, at);
	bool is_switch = vb_subnet_at_switch(d, at.node);

	r->node = at.node;
	r->number = at.port;
	r->peer = VB_IB_NOWHERE;
	if (is_switch || at.port) {
		r->lid = is_switch && at.port ? 0 : s->info.lid;
		r->lmc = s->info.lmc;
		memcpy(r->pkey, s->pkey, sizeof r->pkey);
		if (s->guid && !(is_switch && at.port)) {
			r->prefix = s->info.prefix;
			r->guid = s->guid[0];
		}
	}
	if (at.port)
		link_write(d, at, first, r);
}

/* The texts about the tunnel of a port, behind the others. */
static int tunnel_write(struct vb_subnet_daemon *d, struct vb_subnet_place at,
			struct vb_subnet_view_port *r, FILE *texts)
{
	if (!r->is_tunnel)
		return 0;
	if (fflush(texts))
		return -EIO;
	r->tunnel = (uint32_t)ftell(texts);
	vb_subnet_tunnel_print(vb_subnet_tunnel_at(d, at), texts);
	putc(0, texts);
	return 0;
}

static int ports_write(struct vb_subnet_daemon *d, const uint32_t *first, FILE *out, FILE *texts)
{
	int rc = 0;

	for (uint32_t i = 0; i < d->topo->node_cnt && !rc; i++) {
		if (d->subnet.count)
			d->subnet.count(d->subnet.count_ctx, i);
		for (unsigned p = 0; p <= d->topo->node[i].port_cnt && !rc; p++) {
			const struct vb_subnet_place at = {i, (uint8_t)p};
			struct vb_subnet_view_port r;

			memset(&r, 0, sizeof r);
			port_write(d, at, first, &r);
			rc = tunnel_write(d, at, &r, texts);
			fwrite(&r, sizeof r, 1, out);
		}
	}
	return rc;
}

static void nodes_write(const struct vb_subnet_daemon *d, const uint32_t *first, FILE *out)
{
	uint32_t lft = 0;

	for (uint32_t i = 0; i < d->topo->node_cnt; i++) {
		struct vb_subnet_view_node r;

		memset(&r, 0, sizeof r);
		node_write(d, i, &r);
		r.first_port = first[i];
		r.lft_at = lft;
		lft += r.lft_cnt;
		fwrite(&r, sizeof r, 1, out);
	}
}

static void head_write(const struct vb_subnet_daemon *d, struct vb_subnet_view_head *h,
		       uint32_t *first)
{
	h->magic = VB_SUBNET_VIEW_MAGIC;
	h->version = VB_SUBNET_VIEW_VERSION;
	h->node_cnt = d->topo->node_cnt;
	h->real_time = d->real_time;
	h->lost_ns = d->live ? (uint64_t)d->live->lost : 0;
	h->now_ns = (uint64_t)vb_clock_now();
	snprintf(h->name, sizeof h->name, "%s", d->name);
	for (uint32_t i = 0; i < d->topo->node_cnt; i++) {
		first[i] = h->port_cnt;
		h->port_cnt += d->topo->node[i].port_cnt + 1u;
		h->lft_len += lft_cnt_of(d, i);
	}
}

/* The head comes first and knows the length of the texts, which are known last: so all goes into
 * memory before. */
static int records_write(struct vb_subnet_daemon *d, struct vb_subnet_view_head *h, uint32_t *first,
			 FILE *out, FILE *texts)
{
	int rc;

	head_write(d, h, first);
	fwrite(h, sizeof *h, 1, out);
	nodes_write(d, first, out);
	putc(0, texts); /* so that no text is at place 0 */
	rc = ports_write(d, first, out, texts);
	for (uint32_t i = 0; i < d->topo->node_cnt; i++)
		if (lft_cnt_of(d, i))
			fwrite(d->subnet.node[i].forward.unicast, 1, lft_cnt_of(d, i), out);
	return rc;
}

static int chosen_find(const struct vb_subnet_daemon *d, const char *name, uint32_t *chosen,
		       char *why, size_t why_size)
{
	const struct vb_topo_node *n = name ? vb_topo_find(d->topo, name) : NULL;

	*chosen = n ? (uint32_t)(n - d->topo->node) : VB_IB_NOWHERE;
	if (n || !name)
		return 0;
	snprintf(why, why_size, "the fabric '%s' has no node '%s'", d->name, name);
	return -ENOENT;
}

int vb_subnet_view_write(struct vb_subnet_daemon *d, const char *name, FILE *out, char *why,
			 size_t why_size)
{
	uint32_t *first = calloc(d->topo->node_cnt, sizeof *first);
	struct vb_subnet_view_head h;
	char *bytes = NULL, *text = NULL;
	size_t len = 0, text_len = 0;
	FILE *memory = open_memstream(&bytes, &len), *texts = open_memstream(&text, &text_len);
	int rc = first && memory && texts ? 0 : -ENOMEM;

	memset(&h, 0, sizeof h);
	if (!rc)
		rc = chosen_find(d, name, &h.chosen, why, why_size);
	if (!rc)
		rc = records_write(d, &h, first, memory, texts);
	if (memory && (ferror(memory) | fclose(memory)) && !rc)
		rc = -ENOMEM;
	if (texts && (ferror(texts) | fclose(texts)) && !rc)
		rc = -ENOMEM;
	if (!rc) {
		h.text_len = (uint32_t)text_len;
		memcpy(bytes, &h, sizeof h);
		fwrite(bytes, 1, len, out);
		fwrite(text, 1, text_len, out);
		rc = ferror(out) ? -EIO : 0;
	}
	free(first);
	free(bytes);
	free(text);
	return rc;
}
