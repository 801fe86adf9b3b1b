/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receiving: takes datagrams and GSO batches of UDP_GRO, cuts GSO batches into packets, and checks
 * each ICRC before anything else is believed. Nothing here grows with what arrives, and every
 * length is checked: the sender may be anybody.
 */
#include "link/udp/priv.h"

#include "wire/hdr.h"

#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PACKET_MIN (VB_BTH_LEN + VB_ICRC_LEN)

/* Rounds of buffers in one call that may turn out to hold nothing but garbage. */
#define FRUITLESS_ROUNDS 4

/* Looks at an empty socket, of which one sets right what is known of it; of those in a row that
 * come from a program that polls, the one in the middle. */
#define EMPTY_LOOKS 16u
#define POLLED_LOOKS 64u

/* Received in one call, this is a lot. */
#define LONG_BYTES (32u << 10)

int vb_udp_rx_open(struct vb_udp_rx *rx)
{
	rx->buf = aligned_alloc(_Alignof(struct vb_udp_rx_buf), VB_UDP_RX_BUFS * sizeof *rx->buf);
	if (rx->buf == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < VB_UDP_RX_BUFS; i++) {
		struct vb_udp_rx_buf *b = &rx->buf[i];

		rx->iov[i] = (struct iovec){b->data, sizeof b->data};
		rx->msg[i].msg_hdr = (struct msghdr){.msg_name = &b->name,
						     .msg_namelen = sizeof b->name,
						     .msg_iov = &rx->iov[i],
						     .msg_iovlen = 1,
						     .msg_control = b->control,
						     .msg_controllen = sizeof b->control};
	}
	rx->ask = 1;
	return 0;
}

/*
 * One datagram at a time is taken by the cheaper call. Returns how many, or -1. Here and when
 * sending, system calls are made directly: those of the C library are points at which a thread of
 * the application may be cancelled, and it would take the engine's lock with it.
 */
static long receive_datagrams(int fd, struct mmsghdr *msg, uint32_t cnt)
{
	long len;

	if (cnt > 1)
		return syscall(SYS_recvmmsg, fd, msg, cnt, MSG_DONTWAIT, NULL);
	len = syscall(SYS_recvmsg, fd, &msg->msg_hdr, MSG_DONTWAIT);
	msg->msg_len = len > 0 ? (unsigned)len : 0;
	return len < 0 ? -1 : 1;
}

/*
 * How many datagrams to ask for next time. A look at an idle socket is cheapest with one buffer;
 * many small datagrams, with many; long GSO batches fill the cache, and so use the same buffer
 * again.
 */
static void adapt_count(struct vb_udp_rx *rx)
{
	uint32_t bytes = 0;

	for (uint32_t i = 0; i < rx->cnt; i++)
		bytes += rx->msg[i].msg_len;
	if (rx->cnt)
		rx->is_long = bytes > LONG_BYTES;
	if (rx->cnt == 0 || rx->is_long)
		rx->ask = 1;
	else if (rx->cnt == rx->ask && rx->ask < VB_UDP_RX_BUFS)
		rx->ask *= 2;
}

/* Few want more than the addresses, and the kernel takes its time to bring it. */
static void follow_bring(struct vb_udp *u)
{
	uint32_t bring = vb_udp_is_tapped(u) ? VB_LINK_BRING_ALL : *u->cfg.bring;

	if (bring == u->rx.brings)
		return;
	vb_udp_sock_bring(u->cfg.rx_fd, bring);
	u->rx.brings = bring;
}

/* Not with each look: memory that senders write is far away, and a look makes it far for them. */
static bool sets_right(const struct vb_udp *u)
{
	if (*u->cfg.looks)
		return u->rx.in_vain % POLLED_LOOKS == POLLED_LOOKS / 2;
	return u->rx.in_vain % EMPTY_LOOKS == 1;
}

/* Waits for nothing. Returns false when no datagram is there. */
static bool fill_buffers(struct vb_udp *u)
{
	struct vb_udp_rx *rx = &u->rx;
	uint32_t i = 0;
	long n;

	follow_bring(u);
	/* That one was all is known when there was room for two. */
	if (*u->cfg.drains && rx->ask == 1 && !rx->is_long)
		rx->ask = 2;
	/* Reset the fields that the kernel has written the last time. */
	for (uint32_t k = 0; k < rx->used; k++) {
		rx->msg[k].msg_hdr.msg_namelen = sizeof rx->buf[k].name;
		rx->msg[k].msg_hdr.msg_controllen = sizeof rx->buf[k].control;
	}
	do {
		n = receive_datagrams(u->cfg.rx_fd, rx->msg, rx->ask);
		rx->is_emptied = n < (long)rx->ask;
		rx->in_vain = n <= 0 ? rx->in_vain + 1 : 0;
		if (n <= 0)
			rx->empty_at = rx->now;
		if (u->cfg.flow && n <= 0 && sets_right(u))
			vb_flow_empty(&u->cfg.flow[u->cfg.slot]);
	} while (n <= 0 && ++i < *u->cfg.looks);
	rx->next = 0;
	rx->is_begun = false;
	rx->cnt = rx->used = n > 0 ? (uint32_t)n : 0;
	adapt_count(rx);
	return rx->cnt != 0;
}

/* Begins with buffer next. False: not for an HCA port of ours, or not whole. */
static bool begin_batch(struct vb_udp *u)
{
	struct vb_udp_rx *rx = &u->rx;
	struct vb_udp_rx_buf *b = &rx->buf[rx->next];
	struct msghdr *m = &rx->msg[rx->next].msg_hdr;
	const struct vb_udp_origin *o = &rx->origin;

	if (!vb_udp_find_origin(u, b, m))
		return false;
	rx->len = rx->msg[rx->next].msg_len;
	if (rx->len == 0 || (m->msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
		vb_count(o->counters, VB_COUNTER_port_rcv_errors);
		return false;
	}
	b->path = o->path;
	if (o->is_counted)
		vb_flow_taken(&u->cfg.flow[u->cfg.slot], rx->len);
	rx->seg_len = o->seg_len ? o->seg_len : rx->len;
	rx->at = 0;
	rx->seg_no = 0;
	rx->ip_id = vb_udp_sender_next(o->sender);
	rx->is_heard = false;
	rx->is_begun = true;
	return true;
}

/*
 * The ICRC covers the IPv4 identification, which a UDP socket does not see. Senders like this one
 * number the segments of a GSO batch; others, as rxe, put any number there, or leave DF off. *id
 * and *frag become what it must have been. False: wrong whatever it was.
 */
VB_COLD static bool solve_icrc(struct vb_udp *u, uint32_t crc, uint8_t *pkt, uint32_t len,
			       uint16_t *id, uint16_t *frag)
{
	uint32_t got = vb_icrc_read(pkt + len - VB_ICRC_LEN);
	size_t behind = vb_icrc_behind_id(len);
	struct vb_icrc_udp in = u->rx.origin.udp;

	if (!vb_gid_is_ipv4(&in.src))
		return false;
	*frag = VB_IPV4_DF;
	if (vb_icrc_solve_id(crc, got, *id, behind, id))
		return true;
	*frag = in.ip_frag = 0;
	crc = vb_icrc_packet(vb_icrc_start(&in, len), pkt, len - VB_ICRC_LEN);
	return vb_icrc_solve_id(crc, got, 0, behind, id);
}

/* A packet had a right ICRC: its sender is known from now on. */
static void keep_sender(struct vb_udp_rx *rx)
{
	struct vb_udp_origin *o = &rx->origin;

	if (o->sender == &rx->senders.stranger)
		o->sender = vb_udp_sender_keep(&rx->senders, &o->path);
}

/* The first packet of a GSO batch with a right ICRC, which had the expected identification. */
static void hear_sender(struct vb_udp *u)
{
	struct vb_udp_rx *rx = &u->rx;

	if (rx->stray.state != VB_UDP_STRAY_NONE)
		vb_udp_stray_judge(u, rx->ip_id, VB_IPV4_DF, false);
	rx->is_heard = true;
	vb_udp_sender_heard(rx->origin.sender, rx->ip_id, rx->now);
	keep_sender(rx);
}

/* A packet has another ICRC than the one with the expected identification. False: it is damaged. */
VB_COLD static bool take_unexpected(struct vb_udp *u, uint32_t crc, uint8_t *pkt, uint32_t len,
				    uint16_t *id, uint16_t *frag)
{
	struct vb_udp_rx *rx = &u->rx;
	const struct vb_udp_origin *o = &rx->origin;
	const struct vb_udp_heard h = {rx->now, rx->empty_at, &rx->doubt};

	if (solve_icrc(u, crc, pkt, len, id, frag)) {
		uint16_t first = (uint16_t)(*id - rx->seg_no);
		enum vb_udp_belief b = vb_udp_sender_believes(o->sender, first, *frag, &h);

		keep_sender(rx);
		if (b != VB_UDP_REFUSED) {
			vb_udp_stray_judge(u, *id, *frag, b == VB_UDP_SKIPPED);
			rx->ip_id = first;
			rx->is_heard = true;
			vb_count(o->counters, VB_COUNTER_rx_ip_id_solved);
			return true;
		}
		vb_count(o->counters, VB_COUNTER_rx_ip_id_refused);
		if (vb_udp_stray_keep(u, pkt, len, *id, *frag)) {
			vb_udp_doubt(&rx->doubt, rx->now);
			return false;
		}
	}
	vb_udp_doubt(&rx->doubt, rx->now);
	vb_count(o->counters, VB_COUNTER_rx_icrc_encapsulated);
	vb_count(o->counters, VB_COUNTER_port_rcv_errors);
	return false;
}

void vb_udp_tap_received(struct vb_link *l, uint32_t i, const struct vb_rx *rx, uint16_t mark)
{
	struct vb_udp *u = vb_udp_of(l);
	const struct vb_path *p = rx->path;
	struct vb_seg seg = {rx->pkt, rx->len + VB_ICRC_LEN};
	struct vb_link_tap tap = {.flow_label = p->flow_label,
				  .port = p->port,
				  .traffic_class = p->traffic_class,
				  .hop_limit = p->hop_limit,
				  .mark = mark,
				  .seg_cnt = 1,
				  .seg = &seg};

	if (i >= u->rx.seen_cnt)
		return;
	tap.udp = u->rx.seen[i];
	u->cfg.tap(u->cfg.ctx, &tap);
}

/* Shows a packet to the tap, or has it shown by whoever decides what becomes of it. */
VB_COLD static void tap_taken(struct vb_udp *u, const struct vb_rx *rx, uint16_t id, uint16_t frag)
{
	struct vb_udp_rx *r = &u->rx;

	if (r->seen_cnt == VB_UDP_SEEN_MAX)
		return;
	r->seen[r->seen_cnt] = r->origin.udp;
	r->seen[r->seen_cnt].ip_id = id;
	r->seen[r->seen_cnt++].ip_frag = frag;
	if (r->tap_later)
		return;
	vb_udp_tap_received(&u->link, r->seen_cnt - 1, rx, 0);
	r->seen_cnt = 0;
}

/* Takes the next packet of the GSO batch at hand. False: it was dropped. */
static bool take_packet(struct vb_udp *u, struct vb_rx *out)
{
	struct vb_udp_rx *rx = &u->rx;
	struct vb_udp_rx_buf *b = &rx->buf[rx->next];
	uint8_t *pkt = b->data + rx->at;
	uint32_t left = rx->len - rx->at, len = rx->seg_len < left ? rx->seg_len : left;
	const struct vb_udp_origin *o = &rx->origin;
	uint16_t id = (uint16_t)(rx->ip_id + rx->seg_no), frag = VB_IPV4_DF;
	uint32_t crc;

	rx->at += len;
	if (len < PACKET_MIN) {
		vb_count(o->counters, VB_COUNTER_port_rcv_errors);
		return false;
	}
	crc = vb_udp_icrc_start(&u->icrc, &o->pseudo, len, id);
	crc = vb_icrc_packet(crc, pkt, len - VB_ICRC_LEN);
	if (crc == vb_icrc_read(pkt + len - VB_ICRC_LEN)) {
		if (!rx->is_heard)
			hear_sender(u);
	} else if (!take_unexpected(u, crc, pkt, len, &id, &frag)) {
		rx->seg_no++;
		return false;
	}
	rx->seg_no++;
	*out = (struct vb_rx){
	    .pkt = pkt, .len = len - VB_ICRC_LEN, .avail = len - VB_ICRC_LEN, .path = &b->path};
	if (vb_udp_is_tapped(u))
		tap_taken(u, out, id, frag);
	return true;
}

/* Shows the packet at @out, which was not believed at first, to the tap: in front of the packet at
 * hand where that one is shown later. */
VB_COLD static void tap_stray(struct vb_udp *u, const struct vb_rx *out)
{
	struct vb_udp_rx *r = &u->rx;

	if (r->tap_later && r->seen_cnt > 0 && r->seen_cnt < VB_UDP_SEEN_MAX) {
		r->seen[r->seen_cnt] = r->seen[r->seen_cnt - 1];
		r->seen[r->seen_cnt++ - 1] = r->stray.seen;
	} else if (!r->tap_later) {
		r->seen[0] = r->stray.seen;
		r->seen_cnt = 1;
		vb_udp_tap_received(&u->link, 0, out, 0);
		r->seen_cnt = 0;
	}
}

/* Puts the packet that was not believed before the packet at @out, if there is room for one more.
 * Returns how many packets more there are. */
VB_COLD static uint32_t insert_stray(struct vb_udp *u, struct vb_rx *out, uint32_t room,
				     uint64_t *bytes)
{
	if (room == 0) {
		vb_udp_stray_drop(u);
		return 0;
	}
	out[1] = out[0];
	vb_udp_stray_take(u, out);
	*bytes += out->len + VB_ICRC_LEN;
	if (vb_udp_is_tapped(u))
		tap_stray(u, out);
	return 1;
}

/* Takes packets of the GSO batch at hand, up to @cnt. */
static uint32_t take_batch(struct vb_udp *u, struct vb_rx *out, uint32_t cnt)
{
	struct vb_udp_rx *rx = &u->rx;
	const struct vb_udp_origin *o = &rx->origin;
	uint64_t bytes = 0;
	uint32_t n = 0;

	while (n < cnt && rx->at < rx->len)
		if (take_packet(u, &out[n])) {
			bytes += out[n].len + VB_ICRC_LEN;
			n++;
			if (rx->stray.state == VB_UDP_STRAY_DUE)
				n += insert_stray(u, &out[n - 1], cnt - n, &bytes);
		}
	if (n == 0)
		return 0;
	vb_count_add(o->counters, VB_COUNTER_port_rcv_packets, n);
	vb_count_add(o->counters, VB_COUNTER_port_rcv_data, bytes / 4);
	vb_count_add(
	    o->counters,
	    o->is_multicast ? VB_COUNTER_multicast_rcv_packets : VB_COUNTER_unicast_rcv_packets, n);
	return n;
}

/* Takes packets of the buffers that are filled, up to @cnt. */
static uint32_t take_filled(struct vb_udp *u, struct vb_rx *out, uint32_t cnt)
{
	struct vb_udp_rx *rx = &u->rx;
	uint32_t n = 0;

	while (n < cnt && rx->next < rx->cnt) {
		if (rx->is_begun || begin_batch(u))
			n += take_batch(u, out + n, cnt - n);
		else
			rx->at = rx->len = 0;
		if (rx->at == rx->len) {
			rx->next++;
			rx->is_begun = false;
		}
	}
	return n;
}

bool vb_udp_is_emptied(const struct vb_link *l)
{
	const struct vb_udp_rx *rx = &((const struct vb_udp *)l)->rx;

	return rx->is_emptied && rx->next == rx->cnt;
}

uint32_t vb_udp_recv(struct vb_link *l, struct vb_rx *rx, uint32_t cnt, vb_time now)
{
	struct vb_udp *u = vb_udp_of(l);
	uint32_t n;

	u->rx.now = now;
	u->rx.seen_cnt = 0;
	if (u->rx.stray.state != VB_UDP_STRAY_NONE)
		vb_udp_stray_look(u);
	n = take_filled(u, rx, cnt);
	/* Buffers may be filled again only when no packet of them is being handed out. A flood of
	 * garbage ends the call without a packet; the descriptor stays readable. */
	for (uint32_t i = 0; n == 0 && cnt != 0 && i < FRUITLESS_ROUNDS && fill_buffers(u); i++)
		n = take_filled(u, rx, cnt);
	/* Nobody may look at the socket again soon. */
	if (*u->cfg.drains && u->cfg.flow && vb_udp_is_emptied(l))
		vb_flow_empty(&u->cfg.flow[u->cfg.slot]);
	return n;
}
