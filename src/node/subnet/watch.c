/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events of a fabric for those who watch it, see watch.h. A watcher that does not read loses lines,
 * and is told how many when there is room again. FAB-23, FAB-30
 */
#include "node/subnet/watch.h"

#include "node/subnet/view/view.h"

#include "wire/mad/smp.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define LINE_MAX_LEN 256

static bool has_watchers(const struct vb_subnet_daemon *d)
{
	for (const struct vb_list *l = d->conns.next; l != &d->conns; l = l->next)
		if (vb_container_of(l, const struct vb_subnet_conn, node)->watches)
			return true;
	return false;
}

static void line_send(struct vb_subnet_conn *c, const char *line)
{
	char lost[LINE_MAX_LEN];

	if (c->lines_lost) {
		snprintf(lost, sizeof lost, "%u lines were lost here\n", c->lines_lost);
		if (send(c->watch.fd, lost, strlen(lost), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
			c->lines_lost++;
			return;
		}
		c->lines_lost = 0;
	}
	c->lines_lost += send(c->watch.fd, line, strlen(line), MSG_DONTWAIT | MSG_NOSIGNAL) < 0;
}

/* The time of day stands before it. */
__attribute__((format(printf, 2, 3))) static void line_tell(struct vb_subnet_daemon *d,
							    const char *fmt, ...)
{
	char line[LINE_MAX_LEN];
	struct timespec now;
	struct tm tm;
	va_list ap;
	size_t at;

	clock_gettime(CLOCK_REALTIME, &now);
	at = strftime(line, sizeof line, "%H:%M:%S", localtime_r(&now.tv_sec, &tm));
	at += (size_t)snprintf(line + at, sizeof line - at, ".%03ld ", now.tv_nsec / 1000000);
	va_start(ap, fmt);
	vsnprintf(line + at, sizeof line - at - 1, fmt, ap);
	va_end(ap);
	memcpy(line + strlen(line), "\n", 2);
	for (struct vb_list *l = d->conns.next; l != &d->conns; l = l->next) {
		struct vb_subnet_conn *c = vb_container_of(l, struct vb_subnet_conn, node);

		if (c->watches)
			line_send(c, line);
	}
}

/* The states that watchers know of the links of @node, by port. */
static uint8_t *told_states(const struct vb_subnet_daemon *d, uint32_t node)
{
	return d->told + (size_t)node * (VB_TOPO_PORT_CNT_MAX + 1);
}

static void states_note(struct vb_subnet_daemon *d, uint32_t node)
{
	for (unsigned p = 1; p <= d->topo->node[node].port_cnt; p++)
		told_states(d, node)[p] = d->subnet.node[node].port[p].link.state;
}

int vb_subnet_watch_begin(struct vb_subnet_daemon *d, struct vb_subnet_conn *c)
{
	if (!d->told)
		d->told = calloc(d->topo->node_cnt, VB_TOPO_PORT_CNT_MAX + 1);
	if (!d->told)
		return -ENOMEM;
	for (uint32_t i = 0; !has_watchers(d) && i < d->topo->node_cnt; i++)
		states_note(d, i);
	c->watches = true;
	return 0;
}

static void states_tell(struct vb_subnet_daemon *d, uint32_t node)
{
	for (unsigned p = 1; p <= d->topo->node[node].port_cnt; p++) {
		uint8_t before = told_states(d, node)[p];
		uint8_t is = d->subnet.node[node].port[p].link.state;

		if (is != before)
			line_tell(d, "%s port %u: %s, was %s", d->topo->node[node].name, p,
				  vb_subnet_state_name(is), vb_subnet_state_name(before));
	}
	states_note(d, node);
}

void vb_subnet_watch_changes(struct vb_subnet_daemon *d, uint32_t node, uint32_t changes)
{
	static const struct {
		uint32_t bit;
		const char *text;
	} rows[] = {
	    {VB_SMA_LID, "LID or LMC set"},
	    {VB_SMA_MANAGER, "subnet manager changed"},
	    {VB_SMA_GID, "prefix or GUIDs set"},
	    {VB_SMA_PKEY, "P_Keys set"},
	    {VB_SMA_REREGISTER, "to register again"},
	    {VB_SMA_NAMES, "description or system GUID changed"},
	};

	if (!has_watchers(d))
		return;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (changes & rows[i].bit)
			line_tell(d, "%s: %s", d->topo->node[node].name, rows[i].text);
	states_tell(d, node);
}

void vb_subnet_watch_trap(struct vb_subnet_daemon *d, uint32_t node, const uint8_t mad[VB_MAD_LEN])
{
	struct vb_notice n;

	if (!has_watchers(d))
		return;
	vb_notice_parse(&n, mad);
	line_tell(d, "%s: trap %u%s", d->topo->node[node].name, n.trap, n.count ? ", again" : "");
}

void vb_subnet_watch_tunnel(struct vb_subnet_daemon *d, struct vb_subnet_place at, const char *peer,
			    const char *what)
{
	if (has_watchers(d))
		line_tell(d, "%s port %u: the other end of the tunnel, %s, %s",
			  d->topo->node[at.node].name, at.port, peer, what);
}
