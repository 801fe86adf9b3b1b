/* SPDX-License-Identifier: BSD-2-Clause */
/* The link of a process whose packets the shared broker receives, see carried.h. */
#include "link/carried/carried.h"

#include "link/memory.h"
#include "link/middle/tap.h"
#include "link/shm/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* Wakeups that are taken at a time: any user may send some. */
#define WAKEUPS_MAX 64
/* While nothing comes, the shared broker is asked after so often. */
#define LOOK_NS (20 * VB_MSEC)

struct carried_group {
	struct vb_gid gid;
	uint32_t ifindex, refs;
	uint8_t port;
};

struct carried_link {
	struct vb_link link; /* first: the link is the object */
	struct vb_link_config cfg;
	struct vb_carried at;
	pid_t owner;
	int epoll_fd;
	uint32_t turn; /* see vb_wakeup_park() */
	bool parks, tap_later;
	vb_time look_at; /* when to look whether the shared broker is there */
	struct vb_ring_rx ring;
	struct vb_shm_taken taken;
	uint32_t from_ring;          /* packets of the last recv that came by the ring */
	struct carried_group *group; /* joined by the shared broker for this process */
	uint32_t group_cnt;
};

static struct carried_link *carried_of(struct vb_link *l)
{
	return (struct carried_link *)l;
}

static const struct carried_link *carried_of_const(const struct vb_link *l)
{
	return (const struct carried_link *)l;
}

static struct vb_wakeup *wakeup_of(const struct carried_link *s)
{
	return &((struct vb_carried_head *)s->at.mem)->wakeup;
}

/* With a socket nearly nothing comes by the ring, so that each packet there may be a wakeup: the
 * link is no silent one then (link/link.h), for which waiting costs more. */
static void tell_asleep(struct carried_link *s)
{
	if (s->parks || s->at.has_socket)
		(void)vb_wakeup_park(wakeup_of(s), &s->turn, VB_WAKEUP_WAITS);
	else
		vb_wakeup_unpark(wakeup_of(s));
}

static void wakeups_drain(struct carried_link *s)
{
	struct vb_wakeup_msg k;
	int fd;

	for (int i = 0; i < WAKEUPS_MAX && vb_wakeup_take(s->at.wakeup_fd, &k, &fd); i++)
		if (fd >= 0)
			close(fd);
}

/* Something has come by the ring: the next packet is a wakeup as well. */
static void wakeup_renew(struct carried_link *s)
{
	if (__atomic_load_n(&wakeup_of(s)->asleep, __ATOMIC_RELAXED) != 0)
		return;
	wakeups_drain(s);
	tell_asleep(s);
}

static bool is_tapped(const struct carried_link *s)
{
	return s->cfg.tap && __atomic_load_n(s->cfg.tap_on, __ATOMIC_RELAXED) != 0;
}

static uint32_t carried_send(struct vb_link *l, const struct vb_tx_batch *b, uint32_t from,
			     vb_time now)
{
	return l->lower->ops->send(l->lower, b, from, now);
}

static int group_ask(struct carried_link *s, const struct carried_group *g,
		     enum vb_carrier_ask_op op)
{
	struct vb_carrier_ask ask = {.op = op, .gid = g->gid, .ifindex = g->ifindex};

	return vb_carried_ask(&s->at, &ask);
}

/* The shared broker is there, or the next one takes this process in. */
static void look_after(struct carried_link *s)
{
	char byte, why[VB_CARRIER_TEXT_MAX];
	ssize_t n = s->at.sock < 0 ? 0 : recv(s->at.sock, &byte, 1, MSG_DONTWAIT | MSG_PEEK);

	if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return;
	/* Packets that the last one has written are still to be read. */
	if (vb_ring_has_packets(&s->ring) || vb_carried_attach(&s->at, why, sizeof why))
		return;
	s->ring = (struct vb_ring_rx){.mem = s->at.mem};
	tell_asleep(s);
	for (uint32_t i = 0; i < s->group_cnt; i++)
		(void)group_ask(s, &s->group[i], VB_CARRIER_JOIN);
}

static uint32_t carried_recv(struct vb_link *l, struct vb_rx *rx, uint32_t cnt, vb_time now)
{
	struct carried_link *s = carried_of(l);
	uint32_t budget = cnt < VB_SHM_RX_PKTS ? cnt : VB_SHM_RX_PKTS, n = 0;

	vb_ring_give_back(&s->ring);
	if (s->at.has_socket)
		wakeup_renew(s);
	s->taken.cnt = 0;
	while (budget && vb_ring_has_packets(&s->ring))
		n += vb_shm_take_batch(&s->cfg, &s->ring, &s->taken, rx + n, &budget);
	s->from_ring = n;
	if (is_tapped(s) && !s->tap_later)
		for (uint32_t i = 0; i < n; i++)
			vb_tap_received(s->cfg.tap, s->cfg.ctx, &rx[i], 0);
	/* The link below shows its own packets to the tap. */
	if (s->at.has_socket && n < cnt)
		n += l->lower->ops->recv(l->lower, rx + n, cnt - n, now);
	/* Peers give up after half a second, some of them. */
	if (n == 0 && now >= s->look_at) {
		s->look_at = now + LOOK_NS;
		look_after(s);
	}
	return n;
}

static int carried_fd(const struct vb_link *l)
{
	return carried_of_const(l)->epoll_fd;
}

static uint32_t carried_fds(const struct vb_link *l, int *fd)
{
	fd[0] = carried_of_const(l)->at.wakeup_fd;
	return 1 + vb_link_fds(l->lower, fd + 1);
}

static bool carried_has_packets(const struct vb_link *l)
{
	const struct carried_link *s = carried_of_const(l);

	return vb_ring_has_packets(&s->ring) || (s->at.has_socket && vb_link_has_packets(l->lower));
}

static bool carried_is_emptied(const struct vb_link *l)
{
	const struct carried_link *s = carried_of_const(l);

	return !vb_ring_has_packets(&s->ring) &&
	       (!s->at.has_socket || vb_link_is_emptied(l->lower));
}

static void carried_park(struct vb_link *l, bool on)
{
	struct carried_link *s = carried_of(l);

	vb_link_park(l->lower, on);
	if (s->parks && !on)
		wakeups_drain(s);
	s->parks = on;
	tell_asleep(s);
}

static struct carried_group *group_find(const struct carried_link *s, uint8_t port,
					const struct vb_gid *gid)
{
	for (uint32_t i = 0; i < s->group_cnt; i++)
		if (s->group[i].port == port && vb_gid_eq(&s->group[i].gid, gid))
			return &s->group[i];
	return NULL;
}

/* The link of QP1 has the network carry the group here, and takes no packet of it itself: the link
 * below does that. */
static int carried_join(struct vb_link *l, uint8_t port, const struct vb_gid *gid, uint16_t lid)
{
	struct carried_link *s = carried_of(l);
	struct carried_group *g = group_find(s, port, gid);
	int rc;

	if (s->at.op == VB_CARRIER_QP1)
		return vb_link_join(l->lower, port, gid, lid);
	if (g) {
		g->refs++;
		return 0;
	}
	if (port >= VB_LINK_PORTS_MAX)
		return -ENODEV;
	g = realloc(s->group, (s->group_cnt + 1) * sizeof *g);
	if (!g)
		return -ENOMEM;
	s->group = g;
	g += s->group_cnt;
	*g = (struct carried_group){*gid, s->cfg.ifindex[port], 1, port};
	rc = group_ask(s, g, VB_CARRIER_JOIN);
	if (!rc)
		s->group_cnt++;
	return rc;
}

static void carried_leave(struct vb_link *l, uint8_t port, const struct vb_gid *gid, uint16_t lid)
{
	struct carried_link *s = carried_of(l);
	struct carried_group *g = group_find(s, port, gid);

	if (s->at.op == VB_CARRIER_QP1) {
		vb_link_leave(l->lower, port, gid, lid);
		return;
	}
	if (!g || --g->refs)
		return;
	(void)group_ask(s, g, VB_CARRIER_LEAVE);
	*g = s->group[--s->group_cnt];
}

static void carried_sweep(struct vb_link *l)
{
	vb_link_sweep(l->lower);
	look_after(carried_of(l));
}

static void carried_tap_later(struct vb_link *l, bool on)
{
	carried_of(l)->tap_later = on;
	vb_link_tap_later(l->lower, on);
}

static void carried_tap_received(struct vb_link *l, uint32_t i, const struct vb_rx *rx,
				 uint16_t mark)
{
	const struct carried_link *s = carried_of_const(l);

	if (i >= s->from_ring)
		vb_link_tap_received(l->lower, i - s->from_ring, rx, mark);
	else if (is_tapped(s))
		vb_tap_received(s->cfg.tap, s->cfg.ctx, rx, mark);
}

static void carried_follow_port(struct vb_link *l, uint8_t port, uint32_t ifindex)
{
	if (port < VB_LINK_PORTS_MAX)
		carried_of(l)->cfg.ifindex[port] = ifindex;
	vb_link_follow_port(l->lower, port, ifindex);
}

static void carried_close(struct vb_link *l)
{
	struct carried_link *s = carried_of(l);

	/* A forked child may have a copy of the connection, and leaves it to its parent. */
	if (s->at.sock >= 0 && getpid() == s->owner)
		(void)shutdown(s->at.sock, SHUT_RDWR);
	vb_carried_detach(&s->at);
	close(s->epoll_fd);
	l->lower->ops->close(l->lower);
	free(s->group);
	free(s);
}

/* All operations but park. */
#define CARRIED_OPS                                                                                \
	.name = "carried", .send = carried_send, .recv = carried_recv, .fd = carried_fd,           \
	.fds = carried_fds, .has_packets = carried_has_packets, .is_emptied = carried_is_emptied,  \
	.join = carried_join, .leave = carried_leave, .follow_port = carried_follow_port,          \
	.sweep = carried_sweep, .tap_later = carried_tap_later,                                    \
	.tap_received = carried_tap_received, .close = carried_close

static const struct vb_link_ops silent_ops = {CARRIED_OPS, .park = carried_park};
static const struct vb_link_ops woken_ops = {CARRIED_OPS};

int vb_carried_open(struct vb_link **out, const struct vb_link_config *cfg)
{
	struct carried_link *s = calloc(1, sizeof *s);
	struct epoll_event in = {.events = EPOLLIN};

	if (!s)
		return -ENOMEM;
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll_fd < 0 ||
	    epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, cfg->carried->wakeup_fd, &in) ||
	    epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, vb_link_fd(cfg->lower), &in)) {
		int rc = -errno;

		if (s->epoll_fd >= 0)
			close(s->epoll_fd);
		free(s);
		return rc;
	}
	s->link = vb_link_before(cfg->lower, cfg->carried->has_socket ? &woken_ops : &silent_ops);
	if (s->link.window_max > VB_SHM_WINDOW_BYTES)
		s->link.window_max = VB_SHM_WINDOW_BYTES;
	s->cfg = *cfg;
	s->owner = getpid();
	s->at = *cfg->carried;
	s->ring.mem = s->at.mem;
	tell_asleep(s);
	*cfg->carried = vb_carried_nothing(s->at.op);
	*out = &s->link;
	return 0;
}

struct vb_carried *vb_carried_of(struct vb_link *l)
{
	while (l && l->ops != &silent_ops && l->ops != &woken_ops)
		l = l->lower;
	return l ? &carried_of(l)->at : NULL;
}
