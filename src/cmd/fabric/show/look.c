/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks at a fabric, once or twice, and finds its shape, see facts.h. */
#include "cmd/fabric/show/facts.h"

#include "fabric/ib/port.h"
#include "wire/mad/smp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static enum vb_drawing_kind kind_of(uint8_t type)
{
	if (type == VB_NODE_SWITCH)
		return VB_DRAWING_SWITCH;
	return type == VB_NODE_ROUTER ? VB_DRAWING_ROUTER : VB_DRAWING_HOST;
}

static enum vb_drawing_state state_of(const struct vb_subnet_view_port *p)
{
	if (!p->is_plugged)
		return VB_DRAWING_NONE;
	if (p->state >= VB_LINK_ACTIVE)
		return VB_DRAWING_ACTIVE;
	if (p->state == VB_LINK_ARMED)
		return VB_DRAWING_ARMED;
	return p->state == VB_LINK_INIT ? VB_DRAWING_INIT : VB_DRAWING_DOWN;
}

/* The load of a link is that of its busier direction. */
static double link_load(const struct vb_show *s, uint32_t port, double most)
{
	uint32_t peer = s->v.port[port].peer;
	double here, there = -1;

	if (s->before.head) {
		here = vb_show_load(s, port);
		if (peer != VB_IB_NOWHERE)
			there = vb_show_load(s, peer);
	} else {
		here = most > 0 ? (double)vb_show_sent(s, port) / most : 0;
		if (peer != VB_IB_NOWHERE)
			there = most > 0 ? (double)vb_show_sent(s, peer) / most : 0;
	}
	return here > there ? here : there;
}

static void link_add(struct vb_show *s, uint32_t port, double most)
{
	const struct vb_subnet_view_port *p = &s->v.port[port];
	struct vb_drawing_link *l = &s->drawing.link[s->drawing.link_cnt];
	uint32_t peer = p->peer;

	s->port_of_link[s->drawing.link_cnt++] = port;
	*l = (struct vb_drawing_link){.a = p->node,
				      .b = VB_DRAWING_NOWHERE,
				      .title = "",
				      .state = state_of(p),
				      .gbps = vb_show_nominal_gbps(s, port),
				      .load = link_load(s, port, most),
				      .has_errors = vb_show_has_errors(s, port)};
	if (peer == VB_IB_NOWHERE)
		return;
	l->b = s->v.port[peer].node;
	l->has_errors |= vb_show_has_errors(s, peer);
	if (state_of(&s->v.port[peer]) < l->state)
		l->state = state_of(&s->v.port[peer]);
}

/* Each cable once, from its port with the lower number; and tunnels. */
static bool is_first_end(const struct vb_subnet_view_port *p, uint32_t port)
{
	return p->has_cable && (p->is_tunnel || (p->peer != VB_IB_NOWHERE && p->peer >= port));
}

int vb_show_shape(struct vb_show *s)
{
	const struct vb_subnet_view_head *h = s->v.head;
	struct vb_drawing *g = &s->drawing;
	double most = 0;

	g->node = calloc(h->node_cnt + 1u, sizeof *g->node);
	g->link = calloc(h->port_cnt + 1u, sizeof *g->link);
	s->port_of_link = calloc(h->port_cnt + 1u, sizeof *s->port_of_link);
	if (!g->node || !g->link || !s->port_of_link)
		return -ENOMEM;
	g->node_cnt = h->node_cnt;
	for (uint32_t i = 0; i < h->node_cnt; i++)
		g->node[i] = (struct vb_drawing_node){
		    .name = s->v.node[i].name, .title = "", .kind = kind_of(s->v.node[i].type)};
	for (uint32_t p = 0; p < h->port_cnt; p++)
		if ((double)vb_show_sent(s, p) > most)
			most = (double)vb_show_sent(s, p);
	for (uint32_t p = 0; p < h->port_cnt; p++)
		if (is_first_end(&s->v.port[p], p))
			link_add(s, p, most);
	return vb_drawing_find_shape(g);
}

static void sleep_for(double seconds)
{
	struct timespec t = {.tv_sec = (time_t)seconds,
			     .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

int vb_show_begin(struct vb_show *s, double interval)
{
	char why[256];
	int rc = 0;

	if (interval > 0) {
		rc = vb_subnet_view_get(s->sock, NULL, &s->before, why, sizeof why);
		if (!rc)
			sleep_for(interval);
	}
	if (!rc)
		rc = vb_subnet_view_get(s->sock, NULL, &s->v, why, sizeof why);
	if (!rc && s->before.head && s->before.head->port_cnt != s->v.head->port_cnt) {
		rc = -EPROTO;
		snprintf(why, sizeof why, "the fabric is another one now");
	}
	if (!rc) {
		rc = vb_show_shape(s);
		snprintf(why, sizeof why, "%s", strerror(-rc));
	}
	if (rc)
		vb_cmd_error(s->cmd, "%s", why);
	return rc;
}

void vb_show_end(struct vb_show *s)
{
	vb_subnet_view_free(&s->v);
	vb_subnet_view_free(&s->before);
	free(s->drawing.node);
	free(s->drawing.link);
	free(s->port_of_link);
	free(s->titles);
}
