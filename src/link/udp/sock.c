/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sockets of the UDP link and their options: ip(7), ipv6(7), udp(7).
 *
 * Packets are never fragmented (DF), and IP_PMTUDISC_PROBE has them as long as the device takes: an
 * ICMP message about the path MTU carries no QPN, PSN or key, so anybody can forge one, and with
 * IP_PMTUDISC_DO the kernel would refuse every packet to that address for ten minutes. The path MTU
 * of a connection is what its QP says (IBA 9.6.1.2); adapters do not take it from ICMP either.
 *
 * With DF set a socket that is not connected sends identification 0, which the ICRC has to know;
 * for connected ones see connect.c.
 */
#include "link/udp/priv.h"

#include <errno.h>
#include <linux/filter.h>
#include <netinet/udp.h>
#include <string.h>
#include <unistd.h>

/* From linux/in6.h, which cannot be included beside netinet/in.h. */
#define OPT_IPV6_FLOWINFO 11
#define OPT_IPV6_FLOWINFO_SEND 33

#define RX_BUFFER_BYTES (8 << 20)
#define TX_BUFFER_BYTES (1 << 20)

static int set_int(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof value) ? -errno : 0;
}

/* A packet that arrives at a port that only sends is dropped before it takes memory. */
static int drop_input(int fd)
{
	struct sock_filter none = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog prog = {.len = 1, .filter = &none};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof prog) ? -errno : 0;
}

/* UDP checksums stay on: UDP_SEGMENT refuses sockets with SO_NO_CHECK, and the device or nobody
 * (loopback) computes them. */
static int set_send_options(int fd, bool is_ipv6)
{
	int level = is_ipv6 ? IPPROTO_IPV6 : IPPROTO_IP, rc;

	/* Both ends of a connection use one source port; two processes of one host can share it
	 * only this way. */
	rc = set_int(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	if (rc == 0)
		rc = drop_input(fd);
	if (rc == 0)
		rc = is_ipv6 ? set_int(fd, level, IPV6_V6ONLY, 1) : 0;
	if (rc == 0)
		rc = is_ipv6 ? set_int(fd, level, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE)
			     : set_int(fd, level, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
	if (rc == 0)
		rc = is_ipv6 ? set_int(fd, level, IPV6_UNICAST_HOPS, VB_UDP_HOP_LIMIT)
			     : set_int(fd, level, IP_TTL, VB_UDP_HOP_LIMIT);
	if (rc)
		return rc;
	/* As large as allowed; smaller ones only make a full link more frequent. */
	(void)set_int(fd, SOL_SOCKET, SO_RCVBUF, 1);
	(void)set_int(fd, SOL_SOCKET, SO_SNDBUF, TX_BUFFER_BYTES);
	if (is_ipv6)
		(void)set_int(fd, level, IPV6_AUTOFLOWLABEL, 0);
	return 0;
}

static int sock_bind(struct vb_udp_sock *s, int fd)
{
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} a = {.in = {.sin_family = AF_INET, .sin_port = htons(s->sport)}};
	socklen_t len = sizeof a.in;

	if (s->is_ipv6) {
		a.in6 =
		    (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(s->sport)};
		len = sizeof a.in6;
	}
	if (s->is_bound && s->is_ipv6)
		memcpy(&a.in6.sin6_addr, s->sgid.b, 16);
	else if (s->is_bound)
		memcpy(&a.in.sin_addr, s->sgid.b + 12, 4);
	if (bind(fd, &a.sa, len) || getsockname(fd, &a.sa, &len))
		return -errno;
	s->port = ntohs(s->is_ipv6 ? a.in6.sin6_port : a.in.sin_port);
	return 0;
}

/* Opens @s, whose sgid, sport, is_ipv6 and is_bound say what is wanted. */
static int sock_open(struct vb_udp_sock *s)
{
	int segment = 0, rc;
	socklen_t len = sizeof segment;
	int fd =
	    socket(s->is_ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	s->fd = -1;
	if (fd < 0)
		return -errno;
	rc = set_send_options(fd, s->is_ipv6);
	if (rc == 0)
		rc = sock_bind(s, fd);
	if (rc) {
		close(fd);
		return rc;
	}
	s->fd = fd;
	s->hop_limit.have = VB_UDP_HOP_LIMIT;
	/* A kernel that does not know UDP_SEGMENT would send a GSO batch as one datagram. */
	s->gso = getsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &segment, &len) == 0;
	s->flow_label = s->is_ipv6 && set_int(fd, IPPROTO_IPV6, OPT_IPV6_FLOWINFO_SEND, 1) == 0;
	return 0;
}

int vb_udp_socks_open(struct vb_udp_socks *s)
{
	int rc;

	memset(s, 0, sizeof *s);
	s->own[1].fd = -1;
	s->own[1].is_ipv6 = true;
	rc = sock_open(&s->own[0]);
	if (rc == 0 || rc == -EAFNOSUPPORT)
		rc = sock_open(&s->own[1]);
	/* IPv6 may be switched off at boot (no such family) or by sysctl. */
	if ((rc == -EAFNOSUPPORT || rc == -EADDRNOTAVAIL) && s->own[0].fd >= 0)
		rc = 0;
	if (rc)
		vb_udp_socks_close(s);
	return rc;
}

static void sock_close(struct vb_udp_sock *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

void vb_udp_socks_close(struct vb_udp_socks *s)
{
	sock_close(&s->own[0]);
	sock_close(&s->own[1]);
	for (uint32_t i = 0; i < s->cnt; i++)
		sock_close(&s->sock[i]);
	s->cnt = 0;
}

static struct vb_udp_sock *sock_or_own(struct vb_udp_socks *s, struct vb_udp_sock *e)
{
	struct vb_udp_sock *own = &s->own[e->is_ipv6];

	return e->fd >= 0 ? e : own->fd >= 0 ? own : NULL;
}

static bool sock_is_for(const struct vb_udp_sock *e, const struct vb_path *p)
{
	return e->sport == p->udp_sport && vb_gid_eq(&e->dgid, &p->dgid) &&
	       vb_gid_eq(&e->sgid, &p->sgid);
}

/*
 * A socket that is bound to its source address saves the kernel the work of finding out with each
 * send. A link-local address needs an interface as well, which a send can say.
 */
VB_COLD static struct vb_udp_sock *sock_add(struct vb_udp_socks *s, const struct vb_path *p)
{
	struct vb_udp_sock *e = &s->sock[s->cnt];

	s->last = s->cnt++;
	*e = (struct vb_udp_sock){.fd = -1,
				  .sgid = p->sgid,
				  .dgid = p->dgid,
				  .sport = p->udp_sport,
				  .is_ipv6 = !vb_gid_is_ipv4(&p->sgid),
				  .is_bound = !vb_udp_is_link_local(&p->sgid)};
	/* Failure (port taken, no descriptors) is remembered as fd -1. */
	(void)sock_open(e);
	vb_udp_sock_connect(e, &p->dgid, p->flow_label);
	return e;
}

struct vb_udp_sock *vb_udp_sock_find(struct vb_udp_socks *s, const struct vb_path *p)
{
	struct vb_udp_sock *own = &s->own[!vb_gid_is_ipv4(&p->sgid)], *e;

	if (p->udp_sport == 0 || own->fd < 0)
		return own->fd >= 0 ? own : NULL;
	if (s->cnt != 0 && sock_is_for(&s->sock[s->last], p))
		return sock_or_own(s, &s->sock[s->last]);
	for (uint32_t i = 0; i < s->cnt; i++)
		if (sock_is_for(&s->sock[i], p)) {
			s->last = i;
			return sock_or_own(s, &s->sock[i]);
		}
	if (s->cnt < VB_UDP_SEND_SOCKS)
		return sock_or_own(s, sock_add(s, p));
	/* By the port, so that a flow stays on one socket. */
	e = &s->sock[p->udp_sport % VB_UDP_SEND_SOCKS];
	return vb_gid_eq(&e->sgid, &p->sgid) ? sock_or_own(s, e) : own;
}

/* A hint of size only: the size that the kernel grants decides how much may be in flight, not
 * whether it works. */
static void set_receive_buffer(int fd)
{
	int have = 0;
	socklen_t len = sizeof have;

	if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &have, &len) == 0 && have >= 2 * RX_BUFFER_BYTES)
		return;
	if (set_int(fd, SOL_SOCKET, SO_RCVBUFFORCE, RX_BUFFER_BYTES))
		(void)set_int(fd, SOL_SOCKET, SO_RCVBUF, RX_BUFFER_BYTES);
}

static int set_receive_ipv6(int fd)
{
	int rc = set_int(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);

	/* rxe sends UDP checksum 0 over IPv6, too. */
	if (rc == 0)
		rc = set_int(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1);
	return rc;
}

void vb_udp_sock_bring(int fd, uint32_t bring)
{
	int class = (bring & VB_LINK_BRING_CLASS) != 0, rest = (bring & VB_LINK_BRING_REST) != 0;

	/* The level of the other family fails: an IPv4 socket has no IPv6 options. Of IPv4 packets
	 * a dual-stack socket brings TOS and TTL as IPv4's own. */
	(void)set_int(fd, IPPROTO_IP, IP_RECVTOS, class);
	(void)set_int(fd, IPPROTO_IP, IP_RECVTTL, rest);
	(void)set_int(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, class);
	(void)set_int(fd, IPPROTO_IPV6, OPT_IPV6_FLOWINFO, rest);
	(void)set_int(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, rest);
}

void vb_udp_sock_take_batches(int fd, bool on)
{
	/* Without it (kernels before 5.0) packets arrive one by one. */
	(void)set_int(fd, IPPROTO_UDP, UDP_GRO, on);
}

int vb_udp_sock_receive(int fd)
{
	int domain = 0, rc;
	socklen_t len = sizeof domain;

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len))
		return -errno;
	/* To a dual-stack socket IPv4 packets bring the address as IPV6_PKTINFO, too. */
	rc = domain == AF_INET6 ? set_receive_ipv6(fd) : set_int(fd, IPPROTO_IP, IP_PKTINFO, 1);
	if (rc)
		return rc;
	vb_udp_sock_take_batches(fd, true);
	set_receive_buffer(fd);
	return 0;
}
