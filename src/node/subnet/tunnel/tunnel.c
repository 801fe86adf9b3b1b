/* SPDX-License-Identifier: BSD-2-Clause */
/* The life of a tunnel: commands make it and take it away, the loop keeps its periods. See
 * tunnel.h. LNK-20 */
#include "node/subnet/tunnel/tunnel.h"

#include "node/host/clock.h"
#include "node/host/error_hints.h"
#include "node/subnet/adapter/adapter.h"
#include "node/subnet/live/live.h"
#include "wire/ib/rate.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

_Static_assert(offsetof(struct vb_subnet_tunnel, node) == offsetof(struct vb_subnet_conn, node),
	       "what is in the list of gone ones has its node at one place");

static void *table_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

static void table_free(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

static struct vb_subnet_tunnel *tunnel_of(struct vb_list *l)
{
	return vb_container_of(l, struct vb_subnet_tunnel, node);
}

/* Each tunnel is told of what is behind the others, too. */
static void addresses_tell(struct vb_subnet_daemon *d)
{
	if (!d->far_changed)
		return;
	d->far_changed = false;
	vb_subnet_far_routers_follow(d);
	for (struct vb_list *l = d->tunnels.next; l != &d->tunnels; l = l->next)
		vb_subnet_tunnel_tell(tunnel_of(l));
}

void vb_subnet_tunnels_step(struct vb_subnet_daemon *d, vb_time now)
{
	if (vb_list_is_empty(&d->tunnels))
		return;
	if (now >= d->tunnels_due) {
		for (struct vb_list *l = d->tunnels.next; l != &d->tunnels; l = l->next)
			vb_subnet_tunnel_tick(tunnel_of(l), now);
		addresses_tell(d);
		/* Periods that this process has missed do not count. */
		d->tunnels_due = now + VB_SUBNET_TUNNEL_PERIOD;
	}
	for (struct vb_list *l = d->tunnels.next; l != &d->tunnels; l = l->next)
		vb_subnet_tunnel_say(tunnel_of(l));
}

void vb_subnet_tunnel_event(struct vb_watch *w, vb_time now)
{
	vb_subnet_tunnel_receive(vb_container_of(w, struct vb_subnet_tunnel, watch), now);
}

/* Its memory goes when no event can name it any more. */
static void tunnel_close(struct vb_subnet_tunnel *t)
{
	struct vb_subnet_daemon *d = t->d;

	vb_tunnel_table_clear(&t->table, false);
	vb_list_remove(&t->node);
	close(t->watch.fd);
	t->watch.fd = -1;
	vb_list_append(&d->gone, &t->node);
	d->far_changed = true;
	if (vb_list_is_empty(&d->tunnels)) {
		d->tunnels_due = VB_NEVER;
		vb_subnet_far_routers_follow(d);
	}
}

static int tunnel_begin(struct vb_subnet_tunnel *t)
{
	struct vb_subnet_daemon *d = t->d;
	struct epoll_event e = {.events = EPOLLIN, .data.ptr = &t->watch};
	const struct vb_topo_node *n = &d->topo->node[t->at.node];
	uint64_t own = 0;
	int rc;

	if (getrandom(&own, sizeof own, 0) != (ssize_t)sizeof own || own == 0)
		return -EIO;
	rc = vb_subnet_adapter_need(d);
	if (!rc && epoll_ctl(d->epoll_fd, EPOLL_CTL_ADD, t->watch.fd, &e))
		rc = -errno;
	if (!rc)
		rc = vb_subnet_join_away(&d->subnet, t->at, VB_IB_EDR, VB_IB_4X, vb_clock_now());
	if (rc)
		return rc;
	vb_tunnel_init(&t->end, own);
	t->end.mine.port = t->at.port;
	t->end.mine.guid = n->node_guid;
	snprintf(t->end.mine.name, sizeof t->end.mine.name, "%s", n->name);
	t->falls = d->subnet.node[t->at.node].port[t->at.port].falls;
	t->table.alloc = table_alloc;
	t->table.free = table_free;
	d->subnet.leave = vb_subnet_tunnel_leave;
	d->subnet.far = &d->far;
	d->subnet.away_ctx = d;
	d->far_changed = true;
	d->tunnels_due = vb_time_min(d->tunnels_due, vb_clock_now());
	return 0;
}

static int check_place(struct vb_subnet_daemon *d, struct vb_subnet_place at, char *why,
		       size_t why_size)
{
	const struct vb_topo_node *n = &d->topo->node[at.node];
	uint32_t cnt = 0;

	for (struct vb_list *l = d->tunnels.next; l != &d->tunnels; l = l->next)
		cnt++;
	if (!d->real_time)
		snprintf(why, why_size,
			 "the fabric '%s' is not in real time: tunnels are for fabrics that "
			 "'verbena fabric --real-time N up' has started",
			 d->name);
	else if (vb_subnet_tunnel_at(d, at))
		snprintf(why, why_size,
			 "a tunnel is at port %u of '%s'; 'verbena fabric untunnel' takes it away",
			 at.port, n->name);
	else if (d->subnet.node[at.node].port[at.port].has_cable)
		snprintf(why, why_size, "a cable is at port %u of '%s'", at.port, n->name);
	else if (cnt >= VB_SUBNET_TUNNELS_MAX)
		snprintf(why, why_size, "the fabric '%s' has %u tunnels, and no room for more",
			 d->name, VB_SUBNET_TUNNELS_MAX);
	else
		return 0;
	return -EBUSY;
}

int vb_subnet_tunnel_open(struct vb_subnet_daemon *d, struct vb_subnet_place at, const char *local,
			  const char *peer, char *why, size_t why_size)
{
	struct vb_subnet_tunnel *t;
	int rc = check_place(d, at, why, why_size), fd;

	if (rc)
		return rc;
	fd = vb_tunnel_socket(local, peer, why, why_size);
	if (fd < 0)
		return fd;
	t = calloc(1, sizeof *t);
	if (t) {
		t->watch = (struct vb_watch){VB_WATCH_TUNNEL, fd};
		t->d = d;
		t->at = at;
		snprintf(t->local, sizeof t->local, "%s", local);
		snprintf(t->peer, sizeof t->peer, "%s", peer);
	}
	rc = t ? tunnel_begin(t) : -ENOMEM;
	if (rc) {
		close(fd);
		free(t);
		return vb_error_hint(why, why_size, rc, "the tunnel cannot begin");
	}
	vb_list_append(&d->tunnels, &t->node);
	return 0;
}

int vb_subnet_tunnel_shut(struct vb_subnet_daemon *d, struct vb_subnet_place at, char *why,
			  size_t why_size)
{
	struct vb_subnet_tunnel *t = vb_subnet_tunnel_at(d, at);

	if (!t) {
		snprintf(why, why_size, "no tunnel is at port %u of '%s'", at.port,
			 d->topo->node[at.node].name);
		return -ENOENT;
	}
	vb_subnet_part_away(&d->subnet, at, vb_clock_now());
	/* The other end hears that nobody polls any more; if not, it will miss us. */
	vb_subnet_tunnel_say(t);
	tunnel_close(t);
	return 0;
}

void vb_subnet_tunnels_close(struct vb_subnet_daemon *d)
{
	while (!vb_list_is_empty(&d->tunnels)) {
		struct vb_subnet_tunnel *t =
		    vb_container_of(d->tunnels.next, struct vb_subnet_tunnel, node);

		vb_subnet_part_away(&d->subnet, t->at, vb_clock_now());
		vb_subnet_tunnel_say(t);
		tunnel_close(t);
	}
	vb_subnet_far_routers_clear(d);
}
