/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sending: runs of packets with one path and one length become trains, one UDP_SEGMENT send each.
 */
#include "link/udp_priv.h"

#include "wire/hdr.h"

#include <assert.h>
#include <errno.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define IPV4_DF 0x4000
#define BTH_DQPN 5 /* offset of the 3 bytes */

/* A train of packets of one batch on its way. */
struct train {
	const struct vb_tx *pkt;
	uint32_t cnt;
	const struct vb_path *path;
	struct vb_udp_sock *sock;
	struct vb_counters *counters;
	struct vb_flow *flow; /* of the receive socket, when it is on this host */
	bool is_ipv6;
};

static bool path_eq(const struct vb_path *a, const struct vb_path *b)
{
	return a == b || (a->udp_sport == b->udp_sport && a->traffic_class == b->traffic_class &&
			  a->hop_limit == b->hop_limit && a->flow_label == b->flow_label &&
			  a->port == b->port && vb_gid_eq(&a->dgid, &b->dgid) &&
			  vb_gid_eq(&a->sgid, &b->sgid));
}

/*
 * Packets from @from on that one UDP_SEGMENT send can take. All are for one QP, because a host
 * gives a train as a whole to the process that has the QP of its first packet.
 */
static uint32_t train_length(const struct vb_tx_batch *b, uint32_t from)
{
	const struct vb_tx *first = &b->pkt[from];
	uint32_t seg = vb_tx_wire_len(first), total = seg, n = 1;
	uint32_t max =
	    vb_gid_is_ipv4(&first->path->dgid) ? VB_UDP_PAYLOAD_MAX_IPV4 : VB_UDP_PAYLOAD_MAX_IPV6;

	while (n < VB_UDP_TRAIN_MAX && from + n < b->cnt) {
		const struct vb_tx *tx = &b->pkt[from + n];
		uint32_t len = vb_tx_wire_len(tx);

		if (len > seg || total + len > max || !path_eq(first->path, tx->path) ||
		    memcmp(first->hdr + BTH_DQPN, tx->hdr + BTH_DQPN, 3) != 0)
			break;
		total += len;
		n++;
		if (len < seg)
			break;
	}
	return n;
}

static void icrc_inputs(const struct train *t, struct vb_icrc_udp *in)
{
	*in = (struct vb_icrc_udp){.src = t->path->sgid,
				   .dst = t->path->dgid,
				   .sport = t->sock->port,
				   .dport = VB_ROCE_PORT,
				   .ip_frag = IPV4_DF};
}

static void frame_train(struct vb_udp *u, const struct train *t, bool is_one_send)
{
	struct vb_icrc_udp in;

	icrc_inputs(t, &in);
	vb_udp_frame(&u->tx, t->pkt, t->cnt, is_one_send, &u->icrc, &in);
}

/* Everything of a message but its bytes. */
struct envelope {
	union {
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} name;
	_Alignas(struct cmsghdr) uint8_t control[VB_UDP_TX_CONTROL];
	struct msghdr msg;
};

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

static void address_ipv4(struct envelope *e, const struct vb_path *p, const struct vb_udp_sock *s)
{
	struct in_pktinfo info = {0};
	int tos = p->traffic_class, ttl = p->hop_limit;

	e->name.in = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(VB_ROCE_PORT)};
	memcpy(&e->name.in.sin_addr, p->dgid.b + 12, 4);
	e->msg.msg_namelen = sizeof e->name.in;
	memcpy(&info.ipi_spec_dst, p->sgid.b + 12, 4);
	if (!s->is_bound)
		add_control(&e->msg, IPPROTO_IP, IP_PKTINFO, &info, sizeof info);
	if (tos != 0)
		add_control(&e->msg, IPPROTO_IP, IP_TOS, &tos, sizeof tos);
	if (ttl != 0 && ttl != VB_UDP_HOP_LIMIT)
		add_control(&e->msg, IPPROTO_IP, IP_TTL, &ttl, sizeof ttl);
}

static void address_ipv6(struct envelope *e, const struct vb_path *p, const struct vb_udp_sock *s,
			 uint32_t ifindex)
{
	struct in6_pktinfo info = {0};
	int tclass = p->traffic_class, hops = p->hop_limit;

	if (vb_udp_is_link_local(&p->dgid) || vb_udp_is_multicast(&p->dgid))
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
	if (tclass != 0)
		add_control(&e->msg, IPPROTO_IPV6, IPV6_TCLASS, &tclass, sizeof tclass);
	if (hops != 0 && hops != VB_UDP_HOP_LIMIT)
		add_control(&e->msg, IPPROTO_IPV6, IPV6_HOPLIMIT, &hops, sizeof hops);
}

static void address_train(struct vb_udp *u, const struct train *t, struct envelope *e)
{
	e->msg = (struct msghdr){.msg_name = &e->name, .msg_control = e->control};
	if (t->is_ipv6)
		address_ipv6(e, t->path, t->sock, u->cfg.ifindex[t->path->port]);
	else
		address_ipv4(e, t->path, t->sock);
}

static bool is_full(int err)
{
	return err == EAGAIN || err == ENOBUFS || err == ENOMEM;
}

static void tap_sent(struct vb_udp *u, const struct train *t, uint32_t k, uint16_t ip_id)
{
	struct vb_seg piece[VB_TX_BATCH_SEGS + 2];
	struct vb_udp_tap tap = {.flow_label = t->sock->flow_label ? t->path->flow_label : 0,
				 .port = t->path->port,
				 .traffic_class = t->path->traffic_class,
				 .hop_limit = t->path->hop_limit,
				 .sent = true,
				 .seg_cnt = vb_udp_frame_pieces(&u->tx, &t->pkt[k], k, piece),
				 .seg = piece};

	icrc_inputs(t, &tap.udp);
	tap.udp.ip_id = ip_id;
	u->cfg.tap(u->cfg.ctx, &tap);
}

/* Packets @k ... @k + @n - 1 of the train have left. */
static void count_sent(struct vb_udp *u, const struct train *t, uint32_t k, uint32_t n,
		       bool is_one_send)
{
	uint64_t bytes = 0;

	for (uint32_t i = k; i < k + n; i++) {
		bytes += vb_tx_wire_len(&t->pkt[i]);
		if (vb_udp_is_tapped(u))
			tap_sent(u, t, i, is_one_send ? (uint16_t)i : 0);
	}
	if (t->flow)
		vb_flow_sent(t->flow, (uint32_t)bytes);
	vb_count_add(t->counters, VB_COUNTER_port_xmit_packets, n);
	vb_count_add(t->counters, VB_COUNTER_port_xmit_data, bytes / 4);
	vb_count_add(t->counters,
		     vb_udp_is_multicast(&t->path->dgid) ? VB_COUNTER_multicast_xmit_packets
							 : VB_COUNTER_unicast_xmit_packets,
		     n);
}

/* What became of an attempt to send packets that the kernel refused with @err. */
static uint32_t refused(const struct train *t, uint32_t n, int err)
{
	if (is_full(err))
		return 0;
	vb_count_add(t->counters, VB_COUNTER_port_xmit_discards, n);
	return n;
}

/* Sends the train packet by packet. Returns how many were taken. */
static uint32_t send_singly(struct vb_udp *u, struct train *t)
{
	struct vb_udp_tx *x = &u->tx;
	struct envelope e;
	uint32_t k = 0;

	frame_train(u, t, false);
	address_train(u, t, &e);
	for (uint32_t i = 0; i < t->cnt; i++) {
		x->msg[i].msg_hdr = e.msg;
		x->msg[i].msg_hdr.msg_iov = x->iov + x->iov_at[i];
		x->msg[i].msg_hdr.msg_iovlen = x->iov_at[i + 1] - (size_t)x->iov_at[i];
	}
	while (k < t->cnt) {
		long n = syscall(SYS_sendmmsg, t->sock->fd, x->msg + k, t->cnt - k, MSG_DONTWAIT);

		if (n > 0) {
			count_sent(u, t, k, (uint32_t)n, false);
			k += (uint32_t)n;
		} else if (n < 0 && errno == EINVAL && t->sock->flow_label &&
			   t->path->flow_label != 0) {
			/* Somebody has leased flow labels exclusively: from now on without. */
			t->sock->flow_label = false;
			e.name.in6.sin6_flowinfo = 0;
		} else if (n < 0 && refused(t, 1, errno) == 0) {
			break;
		} else {
			k++;
		}
	}
	return k;
}

/* Sends the train in one call. Returns how many packets were taken: all or none. */
static uint32_t send_segmented(struct vb_udp *u, struct train *t)
{
	struct vb_udp_tx *x = &u->tx;
	uint16_t seg = (uint16_t)vb_tx_wire_len(&t->pkt[0]);
	struct envelope e;
	int err;

	frame_train(u, t, true);
	address_train(u, t, &e);
	if (t->cnt > 1)
		add_control(&e.msg, IPPROTO_UDP, UDP_SEGMENT, &seg, sizeof seg);
	e.msg.msg_iov = x->iov;
	e.msg.msg_iovlen = x->iov_cnt;
	if (syscall(SYS_sendmsg, t->sock->fd, &e.msg, MSG_DONTWAIT) >= 0) {
		count_sent(u, t, 0, t->cnt, true);
		return t->cnt;
	}
	err = errno;
	/* EIO: the device cannot checksum what it segments. EINVAL and EMSGSIZE: the segments do
	 * not fit the device, or the flow label or an address is not to be had; each packet tells
	 * for itself. */
	if (err == EIO)
		t->sock->gso = false;
	if (err == EIO || err == EINVAL || err == EMSGSIZE)
		return send_singly(u, t);
	return refused(t, t->cnt, err);
}

/* Where the train leaves. False: nowhere. */
static bool find_way(struct vb_udp *u, struct train *t)
{
	t->path = t->pkt[0].path;
	t->counters = vb_udp_counters(u, t->path->port);
	t->is_ipv6 = !vb_gid_is_ipv4(&t->path->dgid);
	if (t->is_ipv6 == vb_gid_is_ipv4(&t->path->sgid) || t->path->port >= VB_UDP_PORTS_MAX)
		return false;
	if (u->cfg.flow &&
	    u->cfg.port_of(u->cfg.ctx, &t->path->dgid, u->cfg.ifindex[t->path->port]))
		t->flow = &u->cfg.flow[t->pkt[0].hdr[BTH_DQPN + 2]];
	t->sock = vb_udp_sock_find(&u->socks, &t->path->sgid, t->path->udp_sport);
	return t->sock != NULL;
}

uint32_t vb_udp_send(struct vb_link *l, const struct vb_tx_batch *b, uint32_t from, vb_time now)
{
	struct vb_udp *u = vb_udp_of(l);
	uint32_t i = from;

	(void)now;
	while (i < b->cnt) {
		struct train t = {.pkt = &b->pkt[i], .cnt = train_length(b, i)};
		uint32_t taken;

		if (!find_way(u, &t)) {
			vb_count_add(t.counters, VB_COUNTER_port_xmit_discards, t.cnt);
			taken = t.cnt;
		} else if (t.sock->gso) {
			taken = send_segmented(u, &t);
		} else {
			taken = send_singly(u, &t);
		}
		i += taken;
		if (taken < t.cnt)
			break;
	}
	return i - from;
}
