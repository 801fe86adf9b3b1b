/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Network devices and addresses by rtnetlink(7). Every change leads to a full read: that is immune
 * to lost notifications and costs two dumps.
 */
#include "node/netdev/netdev.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define DUMP_BYTES (32 << 10) /* what the kernel packs into one datagram of a dump at most */
#define LOWER_UP 0x10000      /* IFF_LOWER_UP, which <net/if.h> lacks */

static int netlink_open(uint32_t groups)
{
	struct sockaddr_nl a = {.nl_family = AF_NETLINK, .nl_groups = groups};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&a, sizeof a)) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	return fd;
}

int vb_netdev_subscribe(void)
{
	return netlink_open(RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR);
}

void vb_netdev_drain(int sock)
{
	char buf[4096];

	/* ENOBUFS says that notifications were lost; what is read next is complete all the same. */
	while (recv(sock, buf, sizeof buf, MSG_DONTWAIT) > 0 || errno == ENOBUFS || errno == EINTR)
		;
}

static bool sysctl_is(const char *ifname, const char *key, char value)
{
	char path[128], c = 0;

	snprintf(path, sizeof path, "/proc/sys/net/ipv6/conf/%s/%s", ifname, key);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	bool is = read(fd, &c, 1) == 1 && c == value;

	close(fd);
	return is;
}

/* By ioctl: /sys need not show this network namespace. */
static uint32_t netdev_speed(int sock, const char *ifname)
{
	struct ethtool_cmd cmd = {.cmd = ETHTOOL_GSET};
	struct ifreq ifr = {.ifr_data = (void *)&cmd};

	snprintf(ifr.ifr_name, sizeof ifr.ifr_name, "%s", ifname);
	if (ioctl(sock, SIOCETHTOOL, &ifr))
		return 0;
	/* ethtool_cmd_speed() shifts an int, which has no room for a speed that is not known. */
	uint32_t speed = (uint32_t)cmd.speed_hi << 16 | cmd.speed;

	return speed == (uint32_t)SPEED_UNKNOWN ? 0 : speed;
}

static void take_link(struct vb_netdevs *n, const struct nlmsghdr *nh)
{
	const struct ifinfomsg *ifi = NLMSG_DATA(nh);
	int len = (int)IFLA_PAYLOAD(nh);

	if (n->dev_cnt == VB_NETDEVS_MAX || ifi->ifi_index <= 0)
		return;
	struct vb_netdev *d = &n->dev[n->dev_cnt++];
	*d = (struct vb_netdev){
	    .ifindex = (uint32_t)ifi->ifi_index,
	    .is_up = ifi->ifi_flags & IFF_UP,
	    .has_carrier = ifi->ifi_flags & LOWER_UP,
	    .is_loopback = ifi->ifi_flags & IFF_LOOPBACK,
	};
	for (const struct rtattr *a = IFLA_RTA(ifi); RTA_OK(a, len); a = RTA_NEXT(a, len)) {
		if (a->rta_type == IFLA_IFNAME)
			snprintf(d->name, sizeof d->name, "%.*s", (int)RTA_PAYLOAD(a),
				 (const char *)RTA_DATA(a));
		else if (a->rta_type == IFLA_MTU && RTA_PAYLOAD(a) >= sizeof d->mtu)
			memcpy(&d->mtu, RTA_DATA(a), sizeof d->mtu);
		else if (a->rta_type == IFLA_ADDRESS && RTA_PAYLOAD(a) == sizeof d->mac)
			memcpy(d->mac, RTA_DATA(a), sizeof d->mac);
	}
}

static void take_addr(struct vb_netdevs *n, const struct nlmsghdr *nh)
{
	const struct ifaddrmsg *ifa = NLMSG_DATA(nh);
	int len = (int)IFA_PAYLOAD(nh);
	uint32_t flags = ifa->ifa_flags;
	const struct rtattr *found = NULL;

	if (n->addr_cnt == VB_NETDEV_ADDRS_MAX)
		return;
	for (const struct rtattr *a = IFA_RTA(ifa); RTA_OK(a, len); a = RTA_NEXT(a, len)) {
		/* On a point-to-point device ADDRESS is the other end's, LOCAL ours. */
		if (a->rta_type == IFA_LOCAL || (a->rta_type == IFA_ADDRESS && !found))
			found = a;
		else if (a->rta_type == IFA_FLAGS && RTA_PAYLOAD(a) >= sizeof flags)
			memcpy(&flags, RTA_DATA(a), sizeof flags);
	}
	if (!found)
		return;
	struct vb_netdev_addr addr = {
	    .ifindex = ifa->ifa_index,
	    .is_ready = !(flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED)) ||
			(flags & IFA_F_OPTIMISTIC && !(flags & IFA_F_DADFAILED)),
	};
	if (ifa->ifa_family == AF_INET && RTA_PAYLOAD(found) == 4) {
		addr.gid.b[10] = addr.gid.b[11] = 0xff;
		memcpy(addr.gid.b + 12, RTA_DATA(found), 4);
	} else if (ifa->ifa_family == AF_INET6 && RTA_PAYLOAD(found) == 16) {
		memcpy(addr.gid.b, RTA_DATA(found), 16);
		addr.is_link_local = addr.gid.b[0] == 0xfe && (addr.gid.b[1] & 0xc0) == 0x80;
	} else {
		return;
	}
	n->addr[n->addr_cnt++] = addr;
}

static int netlink_dump(int sock, uint16_t type, uint8_t family, struct vb_netdevs *n)
{
	static _Alignas(struct nlmsghdr) char buf[DUMP_BYTES];
	struct {
		struct nlmsghdr nh;
		struct rtgenmsg gen;
	} req = {.nh = {.nlmsg_len = NLMSG_LENGTH(sizeof req.gen),
			.nlmsg_type = type,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		 .gen = {.rtgen_family = family}};

	if (send(sock, &req, req.nh.nlmsg_len, 0) < 0)
		return -errno;
	for (;;) {
		ssize_t got = recv(sock, buf, sizeof buf, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		unsigned left = (unsigned)got;
		for (struct nlmsghdr *nh = (void *)buf; NLMSG_OK(nh, left);
		     nh = NLMSG_NEXT(nh, left)) {
			if (nh->nlmsg_type == NLMSG_DONE)
				return 0;
			if (nh->nlmsg_type == NLMSG_ERROR)
				return ((struct nlmsgerr *)NLMSG_DATA(nh))->error;
			if (nh->nlmsg_type == RTM_NEWLINK)
				take_link(n, nh);
			else if (nh->nlmsg_type == RTM_NEWADDR)
				take_addr(n, nh);
		}
	}
}

int vb_netdev_read(struct vb_netdevs *n)
{
	int sock = netlink_open(0);

	if (sock < 0)
		return sock;
	n->dev_cnt = n->addr_cnt = 0;
	int rc = netlink_dump(sock, RTM_GETLINK, AF_UNSPEC, n);
	if (!rc)
		rc = netlink_dump(sock, RTM_GETADDR, AF_INET, n);
	if (!rc)
		rc = netlink_dump(sock, RTM_GETADDR, AF_INET6, n);
	close(sock);
	sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	for (uint32_t i = 0; !rc && i < n->dev_cnt; i++) {
		struct vb_netdev *d = &n->dev[i];

		d->speed_mbps = sock < 0 ? 0 : netdev_speed(sock, d->name);
		d->wants_link_local = !d->is_loopback && sysctl_is(d->name, "disable_ipv6", '0') &&
				      !sysctl_is(d->name, "addr_gen_mode", '1');
	}
	if (sock >= 0)
		close(sock);
	return rc;
}
