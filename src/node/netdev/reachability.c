/* SPDX-License-Identifier: BSD-2-Clause */
/* Routes and neighbours, see reachability.h. rtnetlink(7) */
#include "node/netdev/reachability.h"

#include "wire/icrc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DUMP_BYTES (32 << 10)

int vb_reachability_route(const struct vb_gid *to, uint32_t ifindex)
{
	bool is_ipv4 = vb_gid_is_ipv4(to);
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(VB_ROCE_PORT)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(VB_ROCE_PORT)};
	int fd = socket(is_ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return errno;
	memcpy(&in.sin_addr, to->b + 12, 4);
	memcpy(&in6.sin6_addr, to->b, 16);
	if (to->b[0] == 0xfe && (to->b[1] & 0xc0) == 0x80)
		in6.sin6_scope_id = ifindex;
	/* Of a datagram socket this is the look-up alone. */
	err = connect(fd, is_ipv4 ? (struct sockaddr *)&in : (struct sockaddr *)&in6,
		      is_ipv4 ? sizeof in : sizeof in6)
		  ? errno
		  : 0;
	close(fd);
	return err;
}

static enum vb_neighbour neighbour_of(const struct nlmsghdr *nh, const uint8_t *addr, size_t len)
{
	const struct ndmsg *nd = NLMSG_DATA(nh);
	unsigned left = (unsigned)NLMSG_PAYLOAD(nh, sizeof *nd);

	for (const struct rtattr *a = (const void *)((const char *)nd + NLMSG_ALIGN(sizeof *nd));
	     RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		if (a->rta_type != NDA_DST || RTA_PAYLOAD(a) != len ||
		    memcmp(RTA_DATA(a), addr, len) != 0)
			continue;
		if (nd->ndm_state & (NUD_INCOMPLETE | NUD_FAILED))
			return VB_NEIGHBOUR_SILENT;
		return nd->ndm_state == NUD_NONE ? VB_NEIGHBOUR_UNKNOWN : VB_NEIGHBOUR_RESOLVED;
	}
	return VB_NEIGHBOUR_UNKNOWN;
}

/* One datagram of the dump. True: there is more to come. */
static bool take_neighbours(const char *buf, unsigned left, const uint8_t *addr, size_t len,
			    enum vb_neighbour *found)
{
	for (const struct nlmsghdr *nh = (const void *)buf; NLMSG_OK(nh, left);
	     nh = NLMSG_NEXT(nh, left)) {
		if (nh->nlmsg_type == NLMSG_DONE || nh->nlmsg_type == NLMSG_ERROR)
			return false;
		if (nh->nlmsg_type == RTM_NEWNEIGH && *found == VB_NEIGHBOUR_UNKNOWN)
			*found = neighbour_of(nh, addr, len);
	}
	return true;
}

enum vb_neighbour vb_reachability_neighbour(const struct vb_gid *to)
{
	static _Alignas(struct nlmsghdr) char buf[DUMP_BYTES];
	bool is_ipv4 = vb_gid_is_ipv4(to);
	struct {
		struct nlmsghdr nh;
		struct ndmsg nd;
	} req = {.nh = {.nlmsg_len = NLMSG_LENGTH(sizeof req.nd),
			.nlmsg_type = RTM_GETNEIGH,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		 .nd = {.ndm_family = is_ipv4 ? AF_INET : AF_INET6}};
	enum vb_neighbour found = VB_NEIGHBOUR_UNKNOWN;
	int sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	ssize_t got;

	if (sock < 0)
		return VB_NEIGHBOUR_UNKNOWN;
	if (send(sock, &req, req.nh.nlmsg_len, 0) > 0)
		while ((got = recv(sock, buf, sizeof buf, 0)) > 0 &&
		       take_neighbours(buf, (unsigned)got, to->b + (is_ipv4 ? 12 : 0),
				       is_ipv4 ? 4 : 16, &found))
			;
	close(sock);
	return found;
}
