/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sending: runs of packets with one path and one length become GSO batches, one UDP_SEGMENT send
 * each.
 */
#include "link/guard.h"
#include "link/udp/priv.h"

#include "wire/hdr.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BTH_DQPN 5 /* offset of the 3 bytes */

/* GSO batches in one call: two of a long message, its first packet and the others, twice. */
#define GSO_BATCHES_MAX 4u

/* A GSO batch on its way. */
struct gso {
	const struct vb_tx *pkt;
	uint32_t cnt;
	const struct vb_path *path;
	struct vb_udp_sock *sock;
	struct vb_counters *counters;
	struct vb_flow *flow;   /* of the receive socket, when it is on this host */
	struct vb_flow_own own; /* as it was before the last count */
	struct vb_udp_sending how;
	const struct vb_tx_fate *fate; /* of each packet, or NULL */
	uint32_t first;                /* index of its first packet in vb_udp_tx */
	uint32_t bytes;                /* that its receiver was told of */
	uint32_t done;                 /* packets that have left or are given up */
	bool is_one;                   /* leaves by one send; else by one for each packet */
	bool is_full;                  /* the rest has to wait */
};

static bool path_eq(const struct vb_path *a, const struct vb_path *b)
{
	return a == b || (a->udp_sport == b->udp_sport && a->traffic_class == b->traffic_class &&
			  a->sl == b->sl && a->hop_limit == b->hop_limit &&
			  a->flow_label == b->flow_label && a->port == b->port &&
			  vb_gid_eq(&a->dgid, &b->dgid) && vb_gid_eq(&a->sgid, &b->sgid));
}

/* All packets of a GSO batch are for one QP, because a host gives a GSO batch as a whole to the
 * process that has the QP of its first packet. */
static inline bool may_share_batch(const struct vb_tx *a, const struct vb_tx *b)
{
	return path_eq(a->path, b->path) && memcmp(a->hdr + BTH_DQPN, b->hdr + BTH_DQPN, 3) == 0;
}

/*
 * Packets from @from on that one UDP_SEGMENT send can take: of one length, and the last may be
 * shorter. A shorter packet that begins a run of its own is left to that: the first packet of a
 * long RDMA WRITE has a RETH, the others do not, and 15 of these fill a GSO batch at MTU 4096.
 */
static inline uint32_t batch_length(const struct vb_tx_batch *b, uint32_t from)
{
	const struct vb_tx *first = &b->pkt[from];
	uint32_t seg = vb_tx_wire_len(first), total = seg, n = 1;
	uint32_t max =
	    vb_gid_is_ipv4(&first->path->dgid) ? VB_UDP_PAYLOAD_MAX_IPV4 : VB_UDP_PAYLOAD_MAX_IPV6;

	while (n < VB_UDP_GSO_MAX && from + n < b->cnt) {
		const struct vb_tx *tx = &b->pkt[from + n];
		uint32_t len = vb_tx_wire_len(tx);

		if (len > seg || total + len > max || !may_share_batch(first, tx))
			break;
		if (len < seg && from + n + 1 < b->cnt && vb_tx_wire_len(tx + 1) == len &&
		    may_share_batch(tx, tx + 1))
			break;
		total += len;
		n++;
		if (len < seg)
			break;
	}
	return n;
}

static void icrc_inputs(const struct gso *t, struct vb_icrc_udp *in)
{
	*in = (struct vb_icrc_udp){.src = t->path->sgid,
				   .dst = t->path->dgid,
				   .sport = t->sock->port,
				   .dport = VB_ROCE_PORT,
				   .ip_frag = VB_IPV4_DF};
}

/* Nearly always that of the last GSO batch from this socket. */
static const struct vb_udp_pseudo *pseudo_of(const struct gso *t)
{
	struct vb_udp_sock *s = t->sock;
	struct vb_icrc_udp in;

	if (!vb_gid_eq(&s->pseudo_dgid, &t->path->dgid) ||
	    !vb_gid_eq(&s->pseudo_sgid, &t->path->sgid)) {
		icrc_inputs(t, &in);
		s->pseudo = vb_udp_pseudo(&in);
		s->pseudo_dgid = in.dst;
		s->pseudo_sgid = in.src;
	}
	return &s->pseudo;
}

struct framing {
	struct vb_udp *u;
	const struct gso *t;
};

static void frame_packets(void *arg)
{
	const struct framing *f = arg;

	vb_udp_frame(&f->u->tx, f->t->pkt, f->t->cnt, &f->t->how, &f->u->icrc);
}

/* The kernel numbers the segments of one send, and the sends of a connected socket, of which there
 * are @before in the same call. False: the program has taken away the memory of a packet since it
 * was made. */
static bool frame_batch(struct vb_udp *u, struct gso *t, bool is_one_send, uint32_t before)
{
	bool is_numbered = vb_udp_is_numbered(t->sock);

	t->is_one = is_one_send;
	t->how = (struct vb_udp_sending){
	    .pseudo = pseudo_of(t),
	    .first = t->first,
	    .ip_id = (uint16_t)(t->sock->ip_id + (is_numbered ? before : 0)),
	    .step = is_one_send || is_numbered,
	    .fate = t->fate};
	return vb_guard_run(frame_packets, &(struct framing){u, t}) == 0;
}

static bool is_full(int err)
{
	return err == EAGAIN || err == ENOBUFS || err == ENOMEM;
}

/* @n packets of the call from @k on, as they are laid out. */
static inline struct iovec frames_iovec(const struct vb_udp_tx *x, uint32_t k, uint32_t n)
{
	return (struct iovec){x->frame_at[k], (size_t)(x->frame_at[k + n] - x->frame_at[k])};
}

VB_COLD static void tap_sent(struct vb_udp *u, const struct gso *t, uint32_t k)
{
	const struct iovec frame = frames_iovec(&u->tx, t->first + k, 1);
	const struct vb_seg bytes = {frame.iov_base, (uint32_t)frame.iov_len};
	struct vb_link_tap tap = {.flow_label = t->sock->flow_label ? t->path->flow_label : 0,
				  .port = t->path->port,
				  .traffic_class = t->path->traffic_class,
				  .hop_limit = t->path->hop_limit,
				  .sent = true,
				  .seg_cnt = 1,
				  .seg = &bytes};

	icrc_inputs(t, &tap.udp);
	tap.udp.ip_id = (uint16_t)(t->how.ip_id + k * t->how.step);
	tap.mark = t->fate ? t->fate[k].mark : 0;
	tap.at_ns = u->tx.sent_ns;
	u->cfg.tap(u->cfg.ctx, &tap);
}

VB_COLD static uint64_t realtime_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * VB_SEC + (uint64_t)now.tv_nsec;
}

/* Notes when packets leave, for the tap. */
static inline void note_time(struct vb_udp *u)
{
	u->tx.sent_ns = vb_udp_is_tapped(u) ? realtime_now() : 0;
}

/* The next @n packets of the GSO batch have left. */
static void count_sent(struct vb_udp *u, struct gso *t, uint32_t n)
{
	uint64_t bytes = 0;

	for (uint32_t i = t->done; i < t->done + n; i++) {
		bytes += vb_tx_wire_len(&t->pkt[i]);
		if (vb_udp_is_tapped(u))
			tap_sent(u, t, i);
	}
	t->done += n;
	if (vb_udp_is_numbered(t->sock))
		t->sock->ip_id = (uint16_t)(t->sock->ip_id + (t->is_one ? 1 : n));
	vb_count_add(t->counters, VB_COUNTER_port_xmit_packets, n);
	vb_count_add(t->counters, VB_COUNTER_port_xmit_data, bytes / 4);
	vb_count_add(t->counters,
		     vb_gid_is_multicast(&t->path->dgid) ? VB_COUNTER_multicast_xmit_packets
							 : VB_COUNTER_unicast_xmit_packets,
		     n);
}

VB_COLD static void report(const struct vb_udp *u, const struct vb_gid *to, int err)
{
	if (u->cfg.refused)
		u->cfg.refused(u->cfg.ctx, to, err);
}

/* The kernel refused the next @n packets with @err: they wait, or they are lost. */
VB_COLD static void refused(const struct vb_udp *u, struct gso *t, uint32_t n, int err)
{
	t->is_full = is_full(err);
	/* Before the kernel numbers a datagram it looks whether the socket has room. */
	if (err != EAGAIN)
		vb_udp_sock_relearn(t->sock);
	if (t->is_full)
		return;
	report(u, &t->path->dgid, err);
	t->done += n;
	vb_count_add(t->counters, VB_COUNTER_port_xmit_discards, n);
}

/* The GSO batch cannot be made any more: as if it had been lost. */
VB_COLD static void give_up(struct gso *t)
{
	vb_count_add(t->counters, VB_COUNTER_port_xmit_discards, t->cnt - t->done);
	t->done = t->cnt;
}

/*
 * The kernel reports an ICMP message about an earlier datagram with the next one, which does not
 * leave then. True: @rc may be such a report, and another try tells.
 */
static bool is_stale(const struct vb_udp_sock *s, long rc)
{
	return rc < 0 && s->is_connected && vb_udp_may_be_stale(errno);
}

/* Another try gave @rc: unless it met @err again, that was an earlier datagram's. */
static void note_stale(const struct vb_udp *u, const struct vb_udp_sock *s, int err, long rc)
{
	int now = errno;

	if (rc >= 0 || now != err)
		report(u, &s->dgid, err);
	errno = now;
}

static long send_many_once(const struct vb_udp_sock *s, struct mmsghdr *msg, uint32_t cnt)
{
	return syscall(SYS_sendmmsg, s->fd, msg, cnt, MSG_DONTWAIT);
}

VB_COLD static long send_many_again(const struct vb_udp *u, const struct vb_udp_sock *s,
				    struct mmsghdr *msg, uint32_t cnt)
{
	long n = -1;

	for (int i = 0; i < VB_UDP_STALE_MAX && is_stale(s, n); i++) {
		int err = errno;

		n = send_many_once(s, msg, cnt);
		note_stale(u, s, err, n);
	}
	return n;
}

static long send_many(const struct vb_udp *u, const struct vb_udp_sock *s, struct mmsghdr *msg,
		      uint32_t cnt)
{
	long n = send_many_once(s, msg, cnt);

	return is_stale(s, n) ? send_many_again(u, s, msg, cnt) : n;
}

/* Bytes of @n packets from @from on, when their receiver is to know of them. */
static uint32_t flow_bytes(const struct gso *t, uint32_t from, uint32_t n)
{
	uint32_t bytes = 0;

	for (uint32_t i = from; t->flow && i < from + n; i++)
		bytes += vb_tx_wire_len(&t->pkt[i]);
	return bytes;
}

static void flow_count(const struct vb_udp *u, struct gso *t, uint32_t bytes)
{
	struct vb_flow_own *own;

	if (!t->flow)
		return;
	own = &u->cfg.own[t->pkt[0].hdr[BTH_DQPN + 2]];
	t->own = *own;
	own->last = vb_flow_sending(t->flow, bytes);
	own->bytes += bytes;
}

VB_COLD static void flow_uncount(const struct vb_udp *u, const struct gso *t, uint32_t bytes)
{
	if (!t->flow)
		return;
	vb_flow_unsent(t->flow, bytes);
	u->cfg.own[t->pkt[0].hdr[BTH_DQPN + 2]] = t->own;
}

/* Of what was counted, @bytes, only @n packets have left. */
VB_COLD static void flow_correct(const struct vb_udp *u, struct gso *t, uint32_t bytes, uint32_t n)
{
	flow_uncount(u, t, bytes);
	if (n)
		flow_count(u, t, flow_bytes(t, t->done, n));
}

/* Sends the GSO batch packet by packet, up to the first that is refused. */
VB_COLD static void send_singly(struct vb_udp *u, struct gso *t)
{
	struct vb_udp_tx *x = &u->tx;
	struct vb_udp_envelope e;

	t->first = 0;
	if (!frame_batch(u, t, false, 0)) {
		give_up(t);
		return;
	}
	vb_udp_address(&e, t->path, t->sock, u->cfg.ifindex[t->path->port]);
	/* Each packet is a message of its own here. */
	vb_udp_segment(&e, t->sock, 0, UINT16_MAX, true);
	for (uint32_t i = 0; i < t->cnt; i++) {
		x->msg[i].msg_hdr = e.msg;
		x->iov[i] = frames_iovec(x, i, 1);
		x->msg[i].msg_hdr.msg_iov = &x->iov[i];
		x->msg[i].msg_hdr.msg_iovlen = 1;
	}
	while (t->done < t->cnt) {
		uint32_t bytes = flow_bytes(t, t->done, t->cnt - t->done);

		flow_count(u, t, bytes);
		note_time(u);

		long n = send_many(u, t->sock, x->msg + t->done, t->cnt - t->done);

		if (t->flow && n < (long)(t->cnt - t->done))
			flow_correct(u, t, bytes, n > 0 ? (uint32_t)n : 0);
		if (n > 0) {
			count_sent(u, t, (uint32_t)n);
		} else if (n < 0 && errno == EINVAL && t->sock->flow_label &&
			   t->path->flow_label != 0) {
			/* Somebody has leased flow labels exclusively: from now on without. */
			t->sock->flow_label = false;
			e.name.in6.sin6_flowinfo = 0;
		} else {
			/* Those behind it may get other identifications than they were made for. */
			refused(u, t, 1, errno);
			break;
		}
	}
}

/* A plain message is taken by the cheaper call. */
static long send_once(int fd, const struct msghdr *m)
{
	if (m->msg_controllen == 0)
		return syscall(SYS_sendto, fd, m->msg_iov->iov_base, m->msg_iov->iov_len,
			       MSG_DONTWAIT, m->msg_name, m->msg_namelen);
	return syscall(SYS_sendmsg, fd, m, MSG_DONTWAIT);
}

VB_COLD static long send_one_again(const struct vb_udp *u, const struct vb_udp_sock *s,
				   const struct msghdr *m)
{
	long rc = -1;

	for (int i = 0; i < VB_UDP_STALE_MAX && is_stale(s, rc); i++) {
		int err = errno;

		rc = send_once(s->fd, m);
		note_stale(u, s, err, rc);
	}
	return rc;
}

static long send_one(const struct vb_udp *u, const struct vb_udp_sock *s, const struct msghdr *m)
{
	long rc = send_once(s->fd, m);

	return is_stale(s, rc) ? send_one_again(u, s, m) : rc;
}

/* Lays out GSO batch @i of a call, all but a place for it among the messages. False: it is gone. */
static inline bool make_message(struct vb_udp *u, struct gso *t, uint32_t i,
				struct vb_udp_envelope *e)
{
	struct vb_udp_tx *x = &u->tx;
	uint16_t seg = (uint16_t)vb_tx_wire_len(&t->pkt[0]);

	if (!frame_batch(u, t, true, i))
		return false;
	vb_udp_address(e, t->path, t->sock, u->cfg.ifindex[t->path->port]);
	vb_udp_segment(e, t->sock, t->cnt > 1 ? seg : 0, seg, i == 0);
	x->iov[i] = frames_iovec(x, t->first, t->cnt);
	e->msg.msg_iov = &x->iov[i];
	e->msg.msg_iovlen = 1;
	t->bytes = flow_bytes(t, 0, t->cnt);
	flow_count(u, t, t->bytes);
	return true;
}

/* Why the GSO batch did not leave by a send of its own: each packet may tell, or the GSO batch
 * waits. */
VB_COLD static void batch_refused(struct vb_udp *u, struct gso *t, int err)
{
	/* EIO: the device cannot checksum what it segments. EINVAL and EMSGSIZE: the segments do
	 * not fit the device, or the flow label or an address is not available; each packet tells
	 * for itself. */
	if (err == EIO)
		t->sock->gso = false;
	if (err == EIO || err == EINVAL || err == EMSGSIZE) {
		vb_udp_sock_relearn(t->sock);
		send_singly(u, t);
	} else {
		refused(u, t, t->cnt, err);
	}
}

/* Sends @cnt GSO batches of one path in one call, each of them whole, up to the first that is
 * refused.
 */
static void send_batches(struct vb_udp *u, struct gso *t, uint32_t cnt)
{
	struct vb_udp_envelope e[GSO_BATCHES_MAX];
	uint32_t wanted = cnt;
	long sent;

	for (cnt = 0; cnt < wanted && make_message(u, &t[cnt], cnt, &e[cnt]);)
		cnt++;
	if (cnt == 0) {
		give_up(t);
		return;
	}
	note_time(u);
	if (cnt == 1) {
		sent = send_one(u, t->sock, &e->msg) >= 0;
	} else {
		for (uint32_t i = 0; i < cnt; i++)
			u->tx.msg[i].msg_hdr = e[i].msg;
		sent = send_many(u, t->sock, u->tx.msg, cnt);
	}

	int err = errno;

	for (long i = 0; i < sent; i++)
		count_sent(u, &t[i], t[i].cnt);
	if (sent == (long)cnt) {
		if (cnt < wanted)
			give_up(&t[cnt]);
		return;
	}
	for (long i = cnt; i-- > 0 && i >= sent;)
		flow_uncount(u, &t[i], t[i].bytes);
	/* Why another than the first was refused is found out by the next call. */
	if (sent <= 0)
		batch_refused(u, t, err);
	else
		vb_udp_sock_relearn(t->sock);
}

/* Where the GSO batch leaves. False: nowhere. */
static bool find_way(struct vb_udp *u, struct gso *t)
{
	t->path = t->pkt[0].path;
	t->counters = vb_udp_counters(u, t->path->port);
	if (vb_gid_is_ipv4(&t->path->dgid) != vb_gid_is_ipv4(&t->path->sgid) ||
	    t->path->port >= VB_LINK_PORTS_MAX)
		return false;
	if (u->cfg.flow && vb_link_is_here(&u->cfg, t->path))
		t->flow = &u->cfg.flow[t->pkt[0].hdr[BTH_DQPN + 2]];
	t->sock = vb_udp_sock_find(&u->socks, t->path);
	return t->sock != NULL;
}

/*
 * Adds to @t[0] the GSO batches behind it that go the same way. Returns how many there are now. A
 * socket whose buffer is full behind the first does not say that it was that, and to learn anew
 * what the kernel numbers each time would cost more; over loopback, which holds nothing back, it is
 * never full.
 */
static uint32_t add_batches(const struct vb_tx_batch *b, uint32_t from, struct gso *t)
{
	uint32_t n = 1, at = t->cnt;

	if (vb_udp_is_numbered(t->sock) && !t->flow)
		return n;
	for (; n < GSO_BATCHES_MAX && from + at < b->cnt; n++) {
		if (!may_share_batch(t->pkt, &t->pkt[at]))
			break;
		t[n] = t[0];
		t[n].pkt = &t->pkt[at];
		t[n].cnt = batch_length(b, from + at);
		t[n].fate = t->fate ? t->fate + at : NULL;
		t[n].first = at;
		at += t[n].cnt;
	}
	return n;
}

uint32_t vb_udp_send(struct vb_link *l, const struct vb_tx_batch *b, uint32_t from, vb_time now)
{
	struct vb_udp *u = vb_udp_of(l);
	uint32_t i = from;
	bool is_full = false;

	(void)now;
	while (i < b->cnt && !is_full) {
		struct gso t[GSO_BATCHES_MAX];
		uint32_t n = 1;

		t[0] = (struct gso){.pkt = &b->pkt[i],
				    .cnt = batch_length(b, i),
				    .fate = b->fate ? b->fate + i : NULL};
		if (!find_way(u, t)) {
			vb_count_add(t->counters, VB_COUNTER_port_xmit_discards, t->cnt);
			t->done = t->cnt;
		} else if (t->sock->gso) {
			if (i + t->cnt < b->cnt)
				n = add_batches(b, i, t);
			send_batches(u, t, n);
		} else {
			send_singly(u, t);
		}
		for (uint32_t k = 0; k < n; k++) {
			i += t[k].done;
			is_full |= t[k].is_full;
		}
	}
	return i - from;
}
