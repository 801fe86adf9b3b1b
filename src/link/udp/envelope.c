/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of a send beside its bytes: the destination, and as control data the values that differ
 * from the options of the socket. Control data costs the kernel an allocation and a walk with each
 * send, and the sends of a connection are alike: a value that is asked for again and again becomes
 * the socket's own option. ip(7), ipv6(7), udp(7)
 *
 * A service level becomes the priority that queueing disciplines and VLAN interfaces go by, as the
 * hardware has it; 0 leaves that to the kernel. socket(7) SO_PRIORITY, IBA A16.4.3
 */
#include "link/udp/priv.h"

#include "wire/hdr.h"

#include <assert.h>
#include <netinet/udp.h>
#include <string.h>

/* Sends in a row that ask for the same before it becomes the socket's option. */
#define RUN_MAX 16u

static void add_control(struct msghdr *m, int level, int type, const void *data, size_t len)
{
	struct cmsghdr *c = (struct cmsghdr *)((uint8_t *)m->msg_control + m->msg_controllen);

	assert(m->msg_controllen + CMSG_SPACE(len) <= VB_UDP_TX_CONTROL);
	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(c), data, len);
	m->msg_controllen += CMSG_SPACE(len);
}

/* True when the socket @fd does @want by itself; else this send has to say it. */
static bool is_option(struct vb_udp_option *o, int want, int fd, int level, int name)
{
	if (want == o->have) {
		o->run = 0;
		return true;
	}
	o->run = want == o->asked ? o->run + 1 : 1;
	o->asked = want;
	if (o->run < RUN_MAX)
		return false;
	o->run = 0;
	if (setsockopt(fd, level, name, &want, sizeof want))
		return false;
	o->have = want;
	return true;
}

static void add_int(struct msghdr *m, struct vb_udp_option *o, int want, int fd, int level,
		    int control, int option)
{
	if (!is_option(o, want, fd, level, option))
		add_control(m, level, control, &want, sizeof want);
}

static int hop_limit(const struct vb_path *p)
{
	return p->hop_limit ? p->hop_limit : VB_UDP_HOP_LIMIT;
}

static void name_ipv4(struct vb_udp_envelope *e, const struct vb_path *p,
		      const struct vb_udp_sock *s)
{
	struct in_pktinfo info = {0};

	e->name.in = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(VB_ROCE_PORT)};
	memcpy(&e->name.in.sin_addr, p->dgid.b + 12, 4);
	e->msg.msg_namelen = sizeof e->name.in;
	memcpy(&info.ipi_spec_dst, p->sgid.b + 12, 4);
	if (!s->is_bound)
		add_control(&e->msg, IPPROTO_IP, IP_PKTINFO, &info, sizeof info);
}

static void add_options_ipv4(struct vb_udp_envelope *e, const struct vb_path *p,
			     struct vb_udp_sock *s)
{
	add_int(&e->msg, &s->traffic_class, p->traffic_class, s->fd, IPPROTO_IP, IP_TOS, IP_TOS);
	/* IP_TTL of a socket is not for multicast, but of a message it is. */
	if (vb_gid_is_multicast(&p->dgid))
		add_control(&e->msg, IPPROTO_IP, IP_TTL, &(int){hop_limit(p)}, sizeof(int));
	else
		add_int(&e->msg, &s->hop_limit, hop_limit(p), s->fd, IPPROTO_IP, IP_TTL, IP_TTL);
}

static void name_ipv6(struct vb_udp_envelope *e, const struct vb_path *p,
		      const struct vb_udp_sock *s, uint32_t ifindex)
{
	struct in6_pktinfo info = {0};

	if (vb_udp_is_link_local(&p->dgid) || vb_gid_is_multicast(&p->dgid))
		info.ipi6_ifindex = ifindex;
	memcpy(&info.ipi6_addr, p->sgid.b, 16);
	e->name.in6 = (struct sockaddr_in6){.sin6_family = AF_INET6,
					    .sin6_port = htons(VB_ROCE_PORT),
					    .sin6_scope_id = info.ipi6_ifindex};
	if (s->flow_label)
		e->name.in6.sin6_flowinfo = htonl(p->flow_label & 0xfffff);
	memcpy(&e->name.in6.sin6_addr, p->dgid.b, 16);
	e->msg.msg_namelen = sizeof e->name.in6;
	if (!s->is_bound || info.ipi6_ifindex != 0)
		add_control(&e->msg, IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof info);
}

static void add_options_ipv6(struct vb_udp_envelope *e, const struct vb_path *p,
			     struct vb_udp_sock *s)
{
	add_int(&e->msg, &s->traffic_class, p->traffic_class, s->fd, IPPROTO_IPV6, IPV6_TCLASS,
		IPV6_TCLASS);
	if (vb_gid_is_multicast(&p->dgid))
		add_control(&e->msg, IPPROTO_IPV6, IPV6_HOPLIMIT, &(int){hop_limit(p)},
			    sizeof(int));
	else
		add_int(&e->msg, &s->hop_limit, hop_limit(p), s->fd, IPPROTO_IPV6, IPV6_HOPLIMIT,
			IPV6_UNICAST_HOPS);
}

/* The kernel finds the way of a connected socket sooner when no address is given. */
static bool is_connected_to(const struct vb_udp_sock *s, const struct vb_path *p)
{
	return s->is_connected && vb_gid_eq(&s->dgid, &p->dgid) &&
	       (!s->is_ipv6 || !s->flow_label || s->connected_label == (p->flow_label & 0xfffff));
}

/* Of those that need no privilege, the highest. */
#define PRIORITY_FREE_MAX 6

static void set_priority(struct vb_udp_sock *s, uint8_t sl)
{
	int priority = sl;

	s->sl = sl;
	/* The kernel's own choice goes by the traffic class over IPv4, when that option changes. */
	if (sl == 0 && !s->is_ipv6) {
		int tc[2] = {s->traffic_class.have ^ 0x80, s->traffic_class.have};

		(void)setsockopt(s->fd, IPPROTO_IP, IP_TOS, &tc[0], sizeof tc[0]);
		(void)setsockopt(s->fd, IPPROTO_IP, IP_TOS, &tc[1], sizeof tc[1]);
		return;
	}
	if (setsockopt(s->fd, SOL_SOCKET, SO_PRIORITY, &priority, sizeof priority)) {
		priority = PRIORITY_FREE_MAX;
		(void)setsockopt(s->fd, SOL_SOCKET, SO_PRIORITY, &priority, sizeof priority);
	}
}

/* The socket's priority is that of @p. Control data with a traffic class would be stronger, and
 * so is setting that option. */
static void keep_priority(struct vb_udp_sock *s, const struct vb_path *p)
{
	int tc = p->traffic_class;

	if (p->sl && !s->is_ipv6 && tc != s->traffic_class.have &&
	    setsockopt(s->fd, IPPROTO_IP, IP_TOS, &tc, sizeof tc) == 0) {
		s->traffic_class.have = tc;
		s->sl = 0;
	}
	if (p->sl != s->sl)
		set_priority(s, p->sl);
}

void vb_udp_address(struct vb_udp_envelope *e, const struct vb_path *p, struct vb_udp_sock *s,
		    uint32_t ifindex)
{
	e->msg = (struct msghdr){.msg_control = e->control};
	if (p->sl | s->sl)
		keep_priority(s, p);
	if (!is_connected_to(s, p)) {
		e->msg.msg_name = &e->name;
		if (s->is_ipv6)
			name_ipv6(e, p, s, ifindex);
		else
			name_ipv4(e, p, s);
	}
	if (s->is_ipv6)
		add_options_ipv6(e, p, s);
	else
		add_options_ipv4(e, p, s);
}

void vb_udp_segment(struct vb_udp_envelope *e, struct vb_udp_sock *s, uint16_t seg, uint32_t len,
		    bool may_set)
{
	/* A send that is no longer than a segment is not cut. */
	if (seg == 0 && len <= (uint32_t)s->segment.have)
		return;
	if (may_set ? !is_option(&s->segment, seg, s->fd, IPPROTO_UDP, UDP_SEGMENT)
		    : seg != s->segment.have)
		add_control(&e->msg, IPPROTO_UDP, UDP_SEGMENT, &seg, sizeof seg);
}
