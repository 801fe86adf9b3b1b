/* SPDX-License-Identifier: BSD-2-Clause */
/* A fabric as a drawing, see facts.h: the words that show where a pointer is, and the file. */
#include "cmd/fabric/show/facts.h"

#include "export/file/whole_file.h"
#include "export/text/text.h"
#include "fabric/ib/port.h"
#include "wire/mad/smp.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

static const char *const types[] = {"node", "adapter", "switch", "router"};

static void write_port(FILE *f, const struct vb_show *s, uint32_t port)
{
	char bytes[VB_SHOW_BYTES_TEXT];

	vb_show_port_name(f, s, port);
	fprintf(f, " sent %s", vb_show_bytes_text(vb_show_sent(s, port), bytes));
	if (vb_show_load(s, port) >= 0)
		fprintf(f, ", %.1f %% of its rate", vb_show_load(s, port) * 100);
	if (vb_show_has_errors(s, port)) {
		fputs(", ", f);
		vb_show_errors(f, s, port);
	}
}

static void write_link_title(FILE *f, const struct vb_show *s, uint32_t port)
{
	const struct vb_subnet_view_port *p = &s->v.port[port];
	char rate[VB_SHOW_RATE_TEXT];

	vb_show_port_name(f, s, port);
	fputs(" - ", f);
	if (p->peer != VB_IB_NOWHERE)
		vb_show_port_name(f, s, p->peer);
	else
		fputs("a tunnel", f);
	fprintf(f, "\n%s%s", vb_subnet_state_name(p->state), p->is_plugged ? "" : ", unplugged");
	if (p->peer != VB_IB_NOWHERE && s->v.port[p->peer].state != p->state)
		fprintf(f, " and %s", vb_subnet_state_name(s->v.port[p->peer].state));
	if (p->speed)
		fprintf(f, ", %s, %.0f Gb/s", vb_show_rate_text(s, port, rate),
			vb_show_nominal_gbps(s, port));
	putc('\n', f);
	write_port(f, s, port);
	if (p->peer != VB_IB_NOWHERE) {
		putc('\n', f);
		write_port(f, s, p->peer);
	}
}

static void write_node_title(FILE *f, const struct vb_show *s, uint32_t node)
{
	const struct vb_subnet_view_node *n = &s->v.node[node];
	uint32_t active = 0, cables = 0;

	vb_text_plain(f, n->name);
	fprintf(f, ", %s 0x%016" PRIx64 "\n", types[n->type <= VB_NODE_ROUTER ? n->type : 0],
		n->guid);
	vb_text_plain(f, n->description);
	for (uint32_t p = n->type == VB_NODE_SWITCH ? 0 : 1; p <= n->port_cnt; p++) {
		const struct vb_subnet_view_port *q = &s->v.port[n->first_port + p];

		cables += q->has_cable;
		active += q->state == VB_LINK_ACTIVE;
		if (q->lid)
			fprintf(f, "\nport %u: lid %u", p, q->lid);
	}
	fprintf(f, "\n%u of %u links ACTIVE", active, cables);
}

/* The title of the whole, of each node, and of each link, one behind the other. */
static void write_titles(FILE *f, const struct vb_show *s)
{
	fprintf(f, "Fabric %s: %u nodes, %u cables", s->v.head->name, s->v.head->node_cnt,
		s->drawing.link_cnt);
	if (s->v.head->real_time)
		fprintf(f, ", in real time 1/%u", s->v.head->real_time);
	putc(0, f);
	for (uint32_t i = 0; i < s->drawing.node_cnt; i++) {
		write_node_title(f, s, i);
		putc(0, f);
	}
	for (uint32_t i = 0; i < s->drawing.link_cnt; i++) {
		write_link_title(f, s, s->port_of_link[i]);
		putc(0, f);
	}
}

/* The text behind @t, of which a title is the end. */
static const char *next_title(const char **t)
{
	const char *is = *t;

	while (*(*t)++)
		;
	return is;
}

/* Gives titles to all that is drawn. 0 or -ENOMEM. */
static int titles_make(struct vb_show *s)
{
	size_t len;
	FILE *f = open_memstream(&s->titles, &len);
	const char *t;

	if (!f)
		return -ENOMEM;
	write_titles(f, s);
	if (ferror(f) | fclose(f))
		return -ENOMEM;
	t = s->titles;
	s->drawing.title = next_title(&t);
	for (uint32_t i = 0; i < s->drawing.node_cnt; i++)
		s->drawing.node[i].title = next_title(&t);
	for (uint32_t i = 0; i < s->drawing.link_cnt; i++)
		s->drawing.link[i].title = next_title(&t);
	return 0;
}

int vb_show_draw(FILE *f, struct vb_show *s, enum vb_drawing_color color)
{
	int rc = s->titles ? 0 : titles_make(s);

	if (!rc)
		rc = vb_drawing_place(&s->drawing);
	return rc ? rc
		  : vb_drawing_write(f, &s->drawing, color,
				     s->before.head ? "share of the rate:"
						    : "sent, of the most that a port has:");
}

int vb_show_svg(struct vb_show *s, const char *path, enum vb_drawing_color color)
{
	struct vb_whole_file w;
	int err = vb_whole_file_begin(&w, path);

	if (err)
		return err;
	return vb_whole_file_end(&w, vb_show_draw(w.f, s, color));
}
