/* SPDX-License-Identifier: BSD-2-Clause */
/* Facts of ports as all forms of `verbena fabric show` tell them, see facts.h. IBA 16.1.3.5: data
 * is counted in words of 4 bytes. */
#include "cmd/fabric/show/facts.h"

#include "export/text/text.h"
#include "wire/ib/rate.h"
#include "wire/mad/pma.h"

#include <inttypes.h>

#define WORD_BYTES 4u
#define NS_PER_S 1e9
/* Less is not worth to be called hot: management alone sends some. */
#define HOT_BYTES 1000000u
#define HOT_LOAD 0.01

const struct vb_subnet_view_node *vb_show_node_of(const struct vb_show *s, uint32_t port)
{
	return &s->v.node[s->v.port[port].node];
}

double vb_show_rate(const struct vb_show *s, uint32_t port)
{
	const struct vb_subnet_view_port *p = &s->v.port[port];
	double slow = s->v.head->real_time ? s->v.head->real_time : 1;

	return (double)vb_ib_payload_bps(p->speed, p->width) / slow;
}

uint64_t vb_show_sent(const struct vb_show *s, uint32_t port)
{
	uint64_t words = s->v.port[port].xmit_data;
	uint64_t before = s->before.head ? s->before.port[port].xmit_data : 0;

	/* Somebody may have set the counter to 0 meanwhile. */
	return (words >= before ? words - before : words) * WORD_BYTES;
}

double vb_show_load(const struct vb_show *s, uint32_t port)
{
	double rate = vb_show_rate(s, port), span;

	if (!s->before.head || rate <= 0)
		return -1;
	span = (double)(s->v.head->now_ns - s->before.head->now_ns) / NS_PER_S;
	return span > 0 ? (double)vb_show_sent(s, port) * 8 / span / rate : -1;
}

bool vb_show_has_errors(const struct vb_show *s, uint32_t port)
{
	const struct vb_subnet_view_port *p = &s->v.port[port];

	for (uint32_t i = 0; i < VB_PMA_ERROR_COUNTERS; i++)
		if (p->error[i])
			return true;
	return p->not_routed || p->hops_ended;
}

const char *vb_show_rate_text(const struct vb_show *s, uint32_t port, char text[VB_SHOW_RATE_TEXT])
{
	const struct vb_subnet_view_port *p = &s->v.port[port];
	const struct vb_ib_speed_row *row = vb_ib_speed_row(p->speed);

	if (row && vb_ib_lanes(p->width))
		snprintf(text, VB_SHOW_RATE_TEXT, "%ux %s", vb_ib_lanes(p->width) & 0xff,
			 row->name);
	else
		snprintf(text, VB_SHOW_RATE_TEXT, "-");
	return text;
}

double vb_show_nominal_gbps(const struct vb_show *s, uint32_t port)
{
	const struct vb_subnet_view_port *p = &s->v.port[port];
	const struct vb_ib_speed_row *row = vb_ib_speed_row(p->speed);

	return row ? row->nominal * vb_ib_lanes(p->width) / 10.0 : 0;
}

const char *vb_show_bytes_text(uint64_t bytes, char text[VB_SHOW_BYTES_TEXT])
{
	static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
	double n = (double)bytes / 1000;
	size_t i = 0;

	if (bytes < 1000)
		snprintf(text, VB_SHOW_BYTES_TEXT, "%u B", (unsigned)bytes);
	for (; n >= 1000 && i + 1 < sizeof units / sizeof units[0]; i++)
		n /= 1000;
	if (bytes >= 1000)
		snprintf(text, VB_SHOW_BYTES_TEXT, "%.1f %s", n, units[i]);
	return text;
}

void vb_show_port_name(FILE *f, const struct vb_show *s, uint32_t port)
{
	vb_text_plain(f, vb_show_node_of(s, port)->name);
	fprintf(f, " port %u", s->v.port[port].number);
}

void vb_show_errors(FILE *f, const struct vb_show *s, uint32_t port)
{
	const struct vb_subnet_view_port *p = &s->v.port[port];
	const char *between = "";

	for (uint32_t i = 0; i < VB_PMA_ERROR_COUNTERS; i++) {
		if (!p->error[i])
			continue;
		fprintf(f, "%s%s %" PRIu64, between, vb_pma_counter_name(i), p->error[i]);
		between = ", ";
	}
	/* No MAD tells of these two. FAB-06 */
	if (p->not_routed)
		fprintf(f, "%s%" PRIu64 " not routed", between, p->not_routed);
	if (p->hops_ended)
		fprintf(f, "%s%" PRIu64 " at the end of their hop limit",
			p->not_routed ? ", " : between, p->hops_ended);
}

static bool is_hot(const struct vb_show *s, uint32_t port)
{
	if (s->before.head)
		return vb_show_load(s, port) >= HOT_LOAD;
	return vb_show_sent(s, port) >= HOT_BYTES;
}

static double heat_of(const struct vb_show *s, uint32_t port)
{
	return s->before.head ? vb_show_load(s, port) : (double)vb_show_sent(s, port);
}

uint32_t vb_show_hot(const struct vb_show *s, uint32_t *port, uint32_t max)
{
	uint32_t cnt = 0;

	for (uint32_t p = 0; p < s->v.head->port_cnt; p++) {
		uint32_t at = cnt < max ? cnt : max;

		if (!is_hot(s, p))
			continue;
		while (at > 0 && heat_of(s, port[at - 1]) < heat_of(s, p)) {
			if (at < max)
				port[at] = port[at - 1];
			at--;
		}
		if (at < max)
			port[at] = p;
		cnt += cnt < max;
	}
	return cnt;
}
