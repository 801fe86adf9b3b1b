/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connected sockets: the kernel looks up the way to a connected address once and not with each
 * send, which is a tenth of the latency of a short message.
 *
 * Over IPv4 the price is that the kernel numbers what a connected socket sends, from a random
 * number on, and the ICRC covers the identification. So the socket sends one datagram to itself,
 * which stays on this host, and the kernel gives it back as it left, with its IP header, through
 * the time stamps of the error queue (Documentation/networking/timestamping.rst). Wherever that is
 * not available, the socket is disconnected again, and then its identifications are 0.
 */
#include "link/udp/priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <string.h>

#define ETHERNET_LEN 14
#define IPV4_LEN 20
#define UDP_LEN 8

/* A datagram from the socket to itself. */
struct probe {
	uint8_t bytes[8];
	struct sockaddr_in to;
};

static int probe_send(struct vb_udp_sock *s, struct probe *p)
{
	uint32_t flags = SOF_TIMESTAMPING_TX_SCHED;
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof flags)] = {0};
	struct iovec iov = {p->bytes, sizeof p->bytes};
	struct msghdr m = {.msg_name = &p->to,
			   .msg_namelen = sizeof p->to,
			   .msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof control};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SO_TIMESTAMPING;
	c->cmsg_len = CMSG_LEN(sizeof flags);
	memcpy(CMSG_DATA(c), &flags, sizeof flags);
	return sendmsg(s->fd, &m, MSG_DONTWAIT) < 0 ? -errno : 0;
}

static uint16_t get_u16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

/* Takes one message of the error queue: -EAGAIN: there is none; -ENOMSG: not the probe. */
static int probe_take(struct vb_udp_sock *s, const struct probe *p, uint16_t *id)
{
	uint8_t frame[ETHERNET_LEN + IPV4_LEN + UDP_LEN + sizeof p->bytes];
	_Alignas(struct cmsghdr) uint8_t control[256];
	struct iovec iov = {frame, sizeof frame};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof control};
	ssize_t n = recvmsg(s->fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT);
	const uint8_t *ip = frame + ETHERNET_LEN, *udp = ip + IPV4_LEN;

	if (n < 0)
		return -errno;
	if (n != sizeof frame || ip[0] != 0x45 || memcmp(ip + 12, s->sgid.b + 12, 4) != 0 ||
	    memcmp(ip + 16, s->sgid.b + 12, 4) != 0 || get_u16(udp) != s->port ||
	    get_u16(udp + 2) != s->port || memcmp(udp + UDP_LEN, p->bytes, sizeof p->bytes) != 0)
		return -ENOMSG;
	*id = get_u16(ip + 4);
	return 0;
}

/* Finds out which identification the next datagram will have. */
static int learn_identification(struct vb_udp_sock *s)
{
	struct probe p = {.to = {.sin_family = AF_INET, .sin_port = htons(s->port)}};
	uint16_t id = 0;
	int rc;

	s->probes++;
	memcpy(p.bytes, "probe", 5);
	memcpy(p.bytes + 6, &s->probes, sizeof s->probes);
	memcpy(&p.to.sin_addr, s->sgid.b + 12, 4);
	rc = probe_send(s, &p);
	/* An error that was waiting is not the probe's. */
	for (int i = 0; i < VB_UDP_STALE_MAX && vb_udp_may_be_stale(-rc); i++)
		rc = probe_send(s, &p);
	while (rc == 0) {
		rc = probe_take(s, &p, &id);
		if (rc == 0)
			break;
		if (rc == -ENOMSG)
			rc = 0;
	}
	if (rc == 0)
		s->ip_id = (uint16_t)(id + 1);
	return rc;
}

static void disconnect_socket(struct vb_udp_sock *s)
{
	struct sockaddr none = {.sa_family = AF_UNSPEC};

	/* A failure leaves it connected and not to be used; nobody has seen one. */
	s->is_connected = connect(s->fd, &none, sizeof none) != 0;
	s->ip_id = 0;
}

static bool may_connect(const struct vb_udp_sock *s, const struct vb_gid *dgid)
{
	return s->fd >= 0 && s->is_bound && !vb_gid_is_multicast(dgid) &&
	       !vb_udp_is_link_local(dgid) && vb_gid_is_ipv4(dgid) == !s->is_ipv6;
}

void vb_udp_sock_connect(struct vb_udp_sock *s, const struct vb_gid *dgid, uint32_t flow_label)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(VB_ROCE_PORT)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(VB_ROCE_PORT)};

	if (!may_connect(s, dgid))
		return;
	s->dgid = *dgid;
	s->connected_label = s->flow_label ? flow_label & 0xfffff : 0;
	memcpy(&in.sin_addr, dgid->b + 12, 4);
	memcpy(&in6.sin6_addr, dgid->b, 16);
	in6.sin6_flowinfo = htonl(s->connected_label);
	s->is_connected = connect(s->fd, s->is_ipv6 ? (struct sockaddr *)&in6 : (void *)&in,
				  s->is_ipv6 ? sizeof in6 : sizeof in) == 0;
	if (s->is_connected && !s->is_ipv6 && learn_identification(s))
		disconnect_socket(s);
}

void vb_udp_sock_relearn(struct vb_udp_sock *s)
{
	if (s->is_connected && !s->is_ipv6 && learn_identification(s))
		disconnect_socket(s);
}
