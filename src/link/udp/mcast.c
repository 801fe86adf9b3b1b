/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast groups of the link: the kernel joins them by IGMP and MLD, ip(7) IP_ADD_MEMBERSHIP,
 * ipv6(7) IPV6_ADD_MEMBERSHIP. IBA A17.4.2; facts B.9
 *
 * Memberships are held by sockets that receive nothing, so a process that dies leaves its groups.
 * The kernel limits the memberships of one socket (igmp_max_memberships, optmem_max): when it takes
 * no more, we open another socket. The receiving socket is that of port 4791, which takes the
 * packets of every group that somebody on this host has joined (IP_MULTICAST_ALL) while there is
 * one of ours: the kernel gives a copy to each such socket.
 *
 * The shared broker's sockets are of different users, and live as long as it does: there the
 * receiving socket is the member, and groups of other users fill it only when it has more groups
 * than the kernel lets one socket have.
 */
#include "link/udp/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* From linux/in6.h, which cannot be included beside netinet/in.h. */
#define OPT_IPV6_MULTICAST_ALL 29

struct vb_udp_group {
	struct vb_gid gid;
	uint32_t refs;
	uint32_t ifindex; /* where it was joined */
	int fd;           /* of its holder */
	uint8_t port;
};

/* A socket that holds memberships. */
struct vb_udp_holder {
	int fd;
	uint32_t group_cnt;
	bool is_ipv4, is_full;
};

void vb_udp_sock_take_groups(int fd, bool on)
{
	int value = on;

	/* The level of the other family fails on a socket of IPv4 alone. */
	(void)setsockopt(fd, IPPROTO_IP, IP_MULTICAST_ALL, &value, sizeof value);
	(void)setsockopt(fd, IPPROTO_IPV6, OPT_IPV6_MULTICAST_ALL, &value, sizeof value);
}

static struct vb_udp_group *group_find(struct vb_udp *u, uint8_t port, const struct vb_gid *gid)
{
	for (uint32_t i = 0; i < u->group_cnt; i++) {
		if (u->group[i].port == port && vb_gid_eq(&u->group[i].gid, gid))
			return &u->group[i];
	}
	return NULL;
}

/* @fd becomes a member, or is one no longer. Returns 0 or a negative errno. */
static int set_membership(int fd, const struct vb_gid *gid, uint32_t ifindex, bool on)
{
	struct ip_mreqn in = {.imr_ifindex = (int)ifindex};
	struct ipv6_mreq in6 = {.ipv6mr_interface = ifindex};
	int rc;

	memcpy(&in.imr_multiaddr, gid->b + 12, 4);
	memcpy(&in6.ipv6mr_multiaddr, gid->b, 16);
	if (vb_gid_is_ipv4(gid))
		rc = setsockopt(fd, IPPROTO_IP, on ? IP_ADD_MEMBERSHIP : IP_DROP_MEMBERSHIP, &in,
				sizeof in);
	else
		rc = setsockopt(fd, IPPROTO_IPV6, on ? IPV6_JOIN_GROUP : IPV6_LEAVE_GROUP, &in6,
				sizeof in6);
	return rc ? -errno : 0;
}

/* A new holder, the last one. Returns NULL and a negative errno in *err. */
static struct vb_udp_holder *holder_new(struct vb_udp *u, bool is_ipv4, int *err)
{
	struct vb_udp_holder *h = realloc(u->holder, (u->holder_cnt + 1) * sizeof *h);

	*err = -ENOMEM;
	if (!h)
		return NULL;
	u->holder = h;
	h += u->holder_cnt;
	*h = (struct vb_udp_holder){.is_ipv4 = is_ipv4};
	h->fd = socket(is_ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (h->fd < 0) {
		*err = -errno;
		return NULL;
	}
	u->holder_cnt++;
	return h;
}

static void holder_end(struct vb_udp *u, struct vb_udp_holder *h)
{
	close(h->fd);
	*h = u->holder[--u->holder_cnt];
}

/* Returns the descriptor that holds the new membership, or a negative errno. */
static int group_join(struct vb_udp *u, const struct vb_gid *gid, uint32_t ifindex)
{
	bool is_ipv4 = vb_gid_is_ipv4(gid);
	struct vb_udp_holder *h;
	int err;

	if (u->cfg.rx_joins && set_membership(u->cfg.rx_fd, gid, ifindex, true) == 0)
		return u->cfg.rx_fd;
	for (uint32_t i = 0; i < u->holder_cnt; i++) {
		h = &u->holder[i];
		if (h->is_ipv4 != is_ipv4 || h->is_full)
			continue;
		err = set_membership(h->fd, gid, ifindex, true);
		if (!err) {
			h->group_cnt++;
			return h->fd;
		}
		if (err != -ENOBUFS && err != -ENOMEM)
			return err;
		h->is_full = true;
	}
	h = holder_new(u, is_ipv4, &err);
	if (!h)
		return err;
	err = set_membership(h->fd, gid, ifindex, true);
	if (err) {
		holder_end(u, h);
		return err;
	}
	h->group_cnt = 1;
	return h->fd;
}

/* The socket goes with its last membership. */
static void group_leave(struct vb_udp *u, const struct vb_udp_group *g)
{
	struct vb_udp_holder *h = u->holder;

	if (g->fd == u->cfg.rx_fd) {
		(void)set_membership(g->fd, &g->gid, g->ifindex, false);
		return;
	}
	while (h->fd != g->fd)
		h++;
	if (--h->group_cnt == 0) {
		holder_end(u, h);
		return;
	}
	(void)set_membership(h->fd, &g->gid, g->ifindex, false);
	h->is_full = false;
}

int vb_udp_join(struct vb_link *l, uint8_t port, const struct vb_gid *gid, uint16_t lid)
{
	struct vb_udp *u = vb_udp_of(l);
	struct vb_udp_group *g = group_find(u, port, gid);
	uint32_t ifindex = u->cfg.ifindex[port];

	(void)lid;

	if (g) {
		g->refs++;
		return 0;
	}
	g = realloc(u->group, (u->group_cnt + 1) * sizeof *g);
	if (!g)
		return -ENOMEM;
	u->group = g;

	int fd = group_join(u, gid, ifindex);

	if (fd < 0)
		return fd;
	if (fd != u->cfg.rx_fd)
		vb_udp_sock_take_groups(u->cfg.rx_fd, true);
	g[u->group_cnt++] = (struct vb_udp_group){*gid, 1, ifindex, fd, port};
	return 0;
}

void vb_udp_leave(struct vb_link *l, uint8_t port, const struct vb_gid *gid, uint16_t lid)
{
	struct vb_udp *u = vb_udp_of(l);
	struct vb_udp_group *g = group_find(u, port, gid);

	(void)lid;

	if (!g || --g->refs)
		return;
	group_leave(u, g);
	*g = u->group[--u->group_cnt];
	if (u->holder_cnt == 0)
		vb_udp_sock_take_groups(u->cfg.rx_fd, false);
}

void vb_udp_groups_close(struct vb_udp *u)
{
	/* The socket stays. */
	for (uint32_t i = 0; u->cfg.rx_joins && i < u->group_cnt; i++)
		group_leave(u, &u->group[i]);
	for (uint32_t i = 0; i < u->holder_cnt; i++)
		close(u->holder[i].fd);
	free(u->holder);
	free(u->group);
	u->holder = NULL;
	u->group = NULL;
	u->holder_cnt = u->group_cnt = 0;
}
