/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a received GSO batch came from: the kernel's name and control data of a datagram, read.
 * Datagrams of a connection have the same bytes there each time, so these are read only when they
 * differ from the last time. ip(7), ipv6(7), udp(7)
 */
#include "link/udp/priv.h"

#include <netinet/udp.h>
#include <string.h>

#define OPT_IPV6_FLOWINFO 11 /* linux/in6.h */

static void gid_from_ipv4(struct vb_gid *g, const void *addr)
{
	static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

	memcpy(g->b, mapped, sizeof mapped);
	memcpy(g->b + 12, addr, 4);
}

/* The facts that control data gives of a datagram. */
struct control {
	struct vb_gid local;
	uint32_t ifindex, flow_label;
	int gso, traffic_class, hop_limit;
	bool has_local;
};

static bool is_control(const struct cmsghdr *c, int level, int type, size_t len)
{
	return c->cmsg_level == level && c->cmsg_type == type && c->cmsg_len >= CMSG_LEN(len);
}

static void read_control_ipv4(struct control *c, struct cmsghdr *h)
{
	if (is_control(h, IPPROTO_IP, IP_TOS, 1)) {
		c->traffic_class = *CMSG_DATA(h);
	} else if (is_control(h, IPPROTO_IP, IP_TTL, sizeof(int))) {
		memcpy(&c->hop_limit, CMSG_DATA(h), sizeof(int));
	} else if (is_control(h, IPPROTO_IP, IP_PKTINFO, sizeof(struct in_pktinfo))) {
		struct in_pktinfo info;

		memcpy(&info, CMSG_DATA(h), sizeof info);
		gid_from_ipv4(&c->local, &info.ipi_addr);
		c->ifindex = (uint32_t)info.ipi_ifindex;
		c->has_local = true;
	}
}

static void read_control_ipv6(struct control *c, struct cmsghdr *h)
{
	if (is_control(h, IPPROTO_IPV6, IPV6_TCLASS, sizeof(int))) {
		memcpy(&c->traffic_class, CMSG_DATA(h), sizeof(int));
	} else if (is_control(h, IPPROTO_IPV6, IPV6_HOPLIMIT, sizeof(int))) {
		memcpy(&c->hop_limit, CMSG_DATA(h), sizeof(int));
	} else if (is_control(h, IPPROTO_IPV6, OPT_IPV6_FLOWINFO, sizeof(uint32_t))) {
		uint32_t flowinfo;

		memcpy(&flowinfo, CMSG_DATA(h), sizeof flowinfo);
		c->flow_label = ntohl(flowinfo) & 0xfffff;
	} else if (is_control(h, IPPROTO_IPV6, IPV6_PKTINFO, sizeof(struct in6_pktinfo))) {
		struct in6_pktinfo info;

		memcpy(&info, CMSG_DATA(h), sizeof info);
		memcpy(c->local.b, &info.ipi6_addr, sizeof c->local.b);
		c->ifindex = info.ipi6_ifindex;
		c->has_local = true;
	}
}

static void read_control(struct control *c, struct msghdr *m)
{
	*c = (struct control){0};
	for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h != NULL; h = CMSG_NXTHDR(m, h)) {
		if (h->cmsg_level == IPPROTO_IPV6)
			read_control_ipv6(c, h);
		else if (h->cmsg_level == IPPROTO_IP)
			read_control_ipv4(c, h);
		else if (is_control(h, IPPROTO_UDP, UDP_GRO, sizeof(int)))
			memcpy(&c->gso, CMSG_DATA(h), sizeof(int));
	}
}

static bool read_source(const struct vb_udp_rx_buf *b, socklen_t len, struct vb_gid *gid,
			uint16_t *port)
{
	if (b->name.sa.sa_family == AF_INET6 && len >= sizeof b->name.in6) {
		memcpy(gid->b, &b->name.in6.sin6_addr, sizeof gid->b);
		*port = ntohs(b->name.in6.sin6_port);
		return true;
	}
	if (b->name.sa.sa_family == AF_INET && len >= sizeof b->name.in) {
		gid_from_ipv4(gid, &b->name.in.sin_addr);
		*port = ntohs(b->name.in.sin_port);
		return true;
	}
	return false;
}

static bool is_same(const struct vb_udp_origin *o, const struct vb_udp_rx_buf *b,
		    const struct msghdr *m)
{
	return o->is_known && o->name_len == m->msg_namelen &&
	       o->control_len == m->msg_controllen && memcmp(o->name, &b->name, o->name_len) == 0 &&
	       memcmp(o->control, b->control, o->control_len) == 0;
}

static void remember_origin(struct vb_udp_origin *o, const struct vb_udp_rx_buf *b,
			    const struct msghdr *m)
{
	if (m->msg_namelen > sizeof o->name || m->msg_controllen > sizeof o->control)
		return;
	o->name_len = m->msg_namelen;
	o->control_len = m->msg_controllen;
	memcpy(o->name, &b->name, o->name_len);
	memcpy(o->control, b->control, o->control_len);
	o->is_known = true;
}

/* Sets the fields of the packets' pseudo headers. */
static void read_pseudo(struct vb_udp_origin *o)
{
	o->udp = (struct vb_icrc_udp){.src = o->path.sgid,
				      .dst = o->path.dgid,
				      .sport = o->path.udp_sport,
				      .dport = VB_ROCE_PORT,
				      .ip_frag = VB_IPV4_DF};
	o->pseudo = vb_udp_pseudo(&o->udp);
	o->is_multicast = vb_gid_is_multicast(&o->path.dgid);
}

bool vb_udp_find_origin(struct vb_udp *u, const struct vb_udp_rx_buf *b, struct msghdr *m)
{
	struct vb_udp_origin *o = &u->rx.origin;
	struct vb_path *p = &o->path;
	struct control c;

	if (is_same(o, b, m))
		return true;
	o->is_known = false;
	*p = (struct vb_path){0};
	read_control(&c, m);
	if (!c.has_local || !read_source(b, m->msg_namelen, &p->sgid, &p->udp_sport))
		return false;
	p->port = u->cfg.port_of(u->cfg.ctx, &c.local, c.ifindex);
	if (p->port == 0 || p->port >= VB_LINK_PORTS_MAX)
		return false;
	p->dgid = c.local;
	p->flow_label = c.flow_label;
	p->traffic_class = (uint8_t)c.traffic_class;
	p->hop_limit = (uint8_t)c.hop_limit;
	read_pseudo(o);
	o->counters = u->cfg.counters[p->port];
	o->seg_len = c.gso > 0 ? (uint32_t)c.gso : 0;
	o->sender = vb_udp_sender_find(&u->rx.senders, p);
	o->is_counted =
	    u->cfg.flow && !o->is_multicast && u->cfg.port_of(u->cfg.ctx, &p->sgid, c.ifindex);
	remember_origin(o, b, m);
	return true;
}
