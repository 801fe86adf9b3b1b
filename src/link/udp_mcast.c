/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast groups of the link: the kernel joins them by IGMP and MLD, ip(7) IP_ADD_MEMBERSHIP,
 * ipv6(7) IPV6_ADD_MEMBERSHIP. IBA A17.4.2; facts B.9
 *
 * Each membership is held by a socket of its own that receives nothing, so a process that dies
 * leaves its groups, and the kernel's limit for one socket does not matter. What receives is the
 * socket of port 4791, which takes the packets of every group that somebody on this host has joined
 * (IP_MULTICAST_ALL) while there is one of ours: the kernel gives a copy to each such socket.
 */
#include "link/udp_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* From linux/in6.h, which cannot be included beside netinet/in.h. */
#define OPT_IPV6_MULTICAST_ALL 29

struct vb_udp_group {
	struct vb_gid gid;
	uint32_t refs;
	int fd;
	uint8_t port;
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

/* Returns the descriptor that holds the membership, or a negative errno. */
static int group_join(const struct vb_gid *gid, uint32_t ifindex)
{
	bool v4 = vb_gid_is_ipv4(gid);
	int fd = socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc;
	struct ip_mreqn in = {.imr_ifindex = (int)ifindex};
	struct ipv6_mreq in6 = {.ipv6mr_interface = ifindex};

	if (fd < 0)
		return -errno;
	memcpy(&in.imr_multiaddr, gid->b + 12, 4);
	memcpy(&in6.ipv6mr_multiaddr, gid->b, 16);
	rc = v4 ? setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &in, sizeof in)
		: setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &in6, sizeof in6);
	if (rc == 0)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

int vb_udp_join(struct vb_link *l, uint8_t port, const struct vb_gid *gid)
{
	struct vb_udp *u = vb_udp_of(l);
	struct vb_udp_group *g = group_find(u, port, gid);

	if (g) {
		g->refs++;
		return 0;
	}
	g = realloc(u->group, (u->group_cnt + 1) * sizeof *g);
	if (!g)
		return -ENOMEM;
	u->group = g;

	int fd = group_join(gid, u->cfg.ifindex[port]);

	if (fd < 0)
		return fd;
	if (u->group_cnt == 0)
		vb_udp_sock_take_groups(u->cfg.rx_fd, true);
	g[u->group_cnt++] = (struct vb_udp_group){*gid, 1, fd, port};
	return 0;
}

void vb_udp_leave(struct vb_link *l, uint8_t port, const struct vb_gid *gid)
{
	struct vb_udp *u = vb_udp_of(l);
	struct vb_udp_group *g = group_find(u, port, gid);

	if (!g || --g->refs)
		return;
	close(g->fd);
	*g = u->group[--u->group_cnt];
	if (u->group_cnt == 0)
		vb_udp_sock_take_groups(u->cfg.rx_fd, false);
}

void vb_udp_groups_close(struct vb_udp *u)
{
	for (uint32_t i = 0; i < u->group_cnt; i++)
		close(u->group[i].fd);
	free(u->group);
	u->group = NULL;
	u->group_cnt = 0;
}
