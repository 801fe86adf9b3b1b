/* SPDX-License-Identifier: BSD-2-Clause */
/* Receiving over UDP: GSO batches cut into packets, control data, and what a plain socket makes up.
 */
#include "udp_forged.h"

#include "base/rng.h"

#include <netinet/udp.h>

static void recv__batch_in_portions(void **state)
{
	struct fixture *f = *state;

	for (uint32_t portion = 1; portion < 12; portion++) {
		clear(f);
		for (uint32_t k = 0; k < VB_TX_BATCH_PKTS; k++)
			add(f, &f->path4, k % 16 == 0 ? 4096 : k % 16 == 9 ? 80 : 4000, 2);
		assert_int_equal(send_all(f), VB_TX_BATCH_PKTS);
		check_arrival(f, portion);
	}
}

/* A call that has room for nothing loses nothing. */
static void recv__no_room(void **state)
{
	struct fixture *f = *state;
	struct vb_rx rx[2];

	add(f, &f->path4, 100, 1);
	add(f, &f->path4, 100, 1);
	assert_int_equal(send_all(f), 2);
	assert_int_equal(recv_some(f, rx, 0), 0);
	assert_int_equal(recv_some(f, rx, 1), 1);
	assert_int_equal(recv_some(f, rx, 0), 0);
	check_packet(f, &rx[0], 0);
	assert_int_equal(recv_some(f, rx, 2), 1);
	check_packet(f, &rx[0], 1);
}

/* 300 KB of GSO batches: more than one datagram in one call. */
static void recv__several_batches(void **state)
{
	struct fixture *f = *state;

	for (uint32_t round = 0; round < 8; round++) {
		clear(f);
		for (uint32_t k = 0; k < VB_TX_BATCH_PKTS; k++)
			add(f, round & 1 ? &f->path4 : &f->path6, 4096, 1);
		assert_int_equal(send_all(f), VB_TX_BATCH_PKTS);
		check_arrival(f, VB_TX_BATCH_PKTS);
	}
	assert_int_equal(f->udp->rx.ask, 1);
}

/* The ECN bits of each packet, and the rest of the traffic class. */
static void recv__traffic_class(void **state)
{
	static const uint8_t tc[] = {0x00, 0x02, 0x03, 0x01, 0x68, 0x6a, 0x6b, 0xff};
	struct fixture *f = *state;
	struct vb_path path[2 * sizeof tc];

	for (size_t i = 0; i < sizeof path / sizeof path[0]; i++) {
		path[i] = i & 1 ? f->path4 : f->path6;
		path[i].traffic_class = tc[i / 2];
		path[i].hop_limit = (uint8_t)(i + 1);
		path[i].flow_label = i & 1 ? 0 : 0xf0f0f;
		add(f, &path[i], 64, 1);
	}
	assert_int_equal(send_all(f), f->batch.cnt);
	check_arrival(f, VB_TX_BATCH_PKTS);
}

static void recv__flow_label(void **state)
{
	struct fixture *f = *state;
	struct vb_path with = f->path6;
	struct vb_rx rx[1];

	with.flow_label = 0x12345;
	add(f, &with, 64, 1);
	add(f, &f->path6, 64, 1);
	assert_int_equal(send_all(f), 2);
	assert_int_equal(recv_some(f, rx, 1), 1);
	assert_int_equal(rx[0].path->flow_label, 0x12345);
	assert_int_equal(recv_some(f, rx, 1), 1);
	assert_int_equal(rx[0].path->flow_label, 0);
}

/* rxe and adapters choose the identification freely, and a UDP socket does not show it. */
static void recv__identification_unknown(void **state)
{
	static const uint16_t id[] = {0, 1, 0x1234, 0x8000, 0xffff};
	static const uint16_t frag[] = {DF, 0};
	struct fixture *f = *state;
	struct vb_rx rx[1];
	struct forged o;

	f->tap_on = 1;
	for (size_t i = 0; i < 5; i++)
		for (size_t j = 0; j < 2; j++) {
			f->tap_cnt = 0;
			forge(&o, &f->path4, id[i], frag[j], 100);
			forged_send(&o);
			assert_int_equal(recv_some(f, rx, 1), 1);
			assert_int_equal(rx[0].len, o.len - VB_ICRC_LEN);
			assert_memory_equal(rx[0].pkt, o.pkt, rx[0].len);
			assert_int_equal(f->tap_cnt, 1);
			assert_int_equal(f->tap[0].udp.ip_id, id[i]);
			assert_int_equal(f->tap[0].udp.ip_frag, frag[j]);
			close(o.fd);
		}
	assert_int_equal(counter(f, VB_COUNTER_rx_icrc_encapsulated), 0);
}

/* An identification solved for once is expected the next time: the same again, or the next one. */
static void recv__identification_expected(void **state)
{
	static const uint16_t id[] = {0x7001, 0x7002, 0x7003, 0x7003, 0x7003, 0x7004, 0x7005};
	static const bool expected[] = {false, true, true, false, true, false, true};
	struct fixture *f = *state;
	struct vb_rx rx[1];
	struct forged o;

	forge(&o, &f->path4, 0, DF, 100);
	for (size_t i = 0; i < 7; i++) {
		uint64_t solved = counter(f, VB_COUNTER_rx_ip_id_solved);

		forge_icrc(&o, &f->path4, id[i], DF);
		forged_send(&o);
		assert_int_equal(recv_some(f, rx, 1), 1);
		assert_int_equal(f->udp->rx.ip_id, id[i]);
		assert_int_equal(counter(f, VB_COUNTER_rx_ip_id_solved) == solved, expected[i]);
	}
	close(o.fd);
	assert_int_equal(counter(f, VB_COUNTER_rx_icrc_encapsulated), 0);
}

/* The kernel is asked for what is in IP headers only where somebody wants it. */
static void recv__brings_what_is_wanted(void **state)
{
	struct fixture *f = *state;
	struct vb_rx rx[1];

	f->path4.traffic_class = f->path6.traffic_class = 0x62;
	f->path6.flow_label = 0x12345;
	for (uint32_t bring = 0; bring <= VB_LINK_BRING_ALL; bring++)
		for (uint32_t tapped = 0; tapped < 2; tapped++)
			for (size_t v = 0; v < FAMILIES; v++) {
				const struct vb_path *p = path_of(f, families[v]);
				uint32_t has = tapped ? VB_LINK_BRING_ALL : bring;
				bool rest = has & VB_LINK_BRING_REST;

				f->bring = bring;
				f->tap_on = tapped;
				clear(f);
				add(f, p, 64, 1);
				assert_int_equal(send_all(f), 1);
				assert_int_equal(recv_some(f, rx, 1), 1);
				assert_int_equal(rx[0].path->traffic_class,
						 has & VB_LINK_BRING_CLASS ? p->traffic_class : 0);
				assert_int_equal(rx[0].path->hop_limit, rest ? p->hop_limit : 0);
				assert_int_equal(rx[0].path->flow_label, rest ? p->flow_label : 0);
			}
}

static void recv__looks_as_often_as_told(void **state)
{
	struct fixture *f = *state;
	struct vb_rx rx[1];

	assert_int_equal(recv_some(f, rx, 1), 0);
	assert_int_equal(f->udp->rx.in_vain, 1);
	f->looks = 4;
	assert_int_equal(recv_some(f, rx, 1), 0);
	assert_int_equal(f->udp->rx.in_vain, 5);
	add(f, &f->path4, 64, 1);
	assert_int_equal(send_all(f), 1);
	assert_int_equal(recv_some(f, rx, 1), 1);
	assert_int_equal(f->udp->rx.in_vain, 0);
}

static void send_small(struct fixture *f, uint32_t cnt)
{
	for (uint32_t k = 0; k < cnt; k++) {
		clear(f);
		add(f, &f->path4, 64, 1);
		assert_int_equal(send_all(f), 1);
	}
}

/* A reader that waits for the descriptor next knows by one call which packet was the last: it need
 * not look at an empty socket. Bytes that senders counted and lost are given up then. */
static void recv__of_a_drain_says_when_all_is_taken(void **state)
{
	struct fixture *f = *state;
	struct vb_flow flow[256] = {0};
	struct vb_flow_own own[256] = {0};
	struct vb_rx rx[1];

	f->udp->cfg.flow = flow;
	f->udp->cfg.own = own;
	f->udp->cfg.slot = 2;
	for (uint32_t cnt = 1; cnt <= 4; cnt++) {
		send_small(f, cnt);
		f->drains = 1;
		flow[2].sent = flow[2].taken + 5000;
		for (uint32_t n = 1; n <= cnt; n++) {
			assert_int_equal(recv_some(f, rx, 1), 1);
			/* There was room for two, and then for four. */
			assert_int_equal(vb_link_is_emptied(f->link), n == cnt && cnt != 2);
		}
		assert_int_equal(recv_some(f, rx, 1), 0);
		assert_true(vb_link_is_emptied(f->link));
		assert_int_equal(flow[2].taken, flow[2].sent);
		f->drains = 0;
	}
	/* A reader that polls has one buffer, and so does not know. */
	send_small(f, 1);
	assert_int_equal(recv_some(f, rx, 1), 1);
	assert_false(vb_link_is_emptied(f->link));
	assert_int_equal(recv_some(f, rx, 1), 0);
	f->udp->cfg.flow = NULL;
}

/* Senders of this host count the bytes they send. Bytes that they counted and nobody will read are
 * given up when the socket is empty: at once where nobody may look again soon, else not while
 * senders are fast. */
static void recv__empty_socket_sets_counts_right(void **state)
{
	struct fixture *f = *state;
	struct vb_flow flow[3] = {0};
	struct vb_rx rx[1];

	f->udp->cfg.flow = flow;
	f->udp->cfg.slot = 2;
	flow[2].sent = 5000;
	assert_int_equal(recv_some(f, rx, 1), 0);
	assert_int_equal(flow[2].taken, 5000);
	flow[2].sent = 9000;
	f->looks = 4;
	while (f->udp->rx.in_vain < 28) {
		assert_int_equal(recv_some(f, rx, 1), 0);
		assert_int_equal(flow[2].taken, 5000);
	}
	assert_int_equal(recv_some(f, rx, 1), 0);
	assert_int_equal(flow[2].taken, 9000);
	f->udp->cfg.flow = NULL;
}

static void assert_from(struct fixture *f, const struct vb_path *p, uint16_t sport)
{
	struct vb_path path = *p;
	struct vb_rx rx[1];

	clear(f);
	path.udp_sport = sport;
	add(f, &path, 64, 1);
	assert_int_equal(send_all(f), 1);
	assert_int_equal(recv_some(f, rx, 1), 1);
	assert_true(vb_gid_eq(&rx[0].path->sgid, &path.sgid));
	assert_int_equal(rx[0].path->udp_sport, sport);
	assert_int_equal(rx[0].path->traffic_class, path.traffic_class);
}

/* The origin that name and control data told is believed while they, and the addresses, are the
 * same. */
static void recv__origin_is_read_anew(void **state)
{
	struct fixture *f = *state;
	struct vb_path other = f->path6;
	const uint8_t was = f->port;
	struct vb_rx rx[1];

	for (uint32_t i = 0; i < 2; i++) {
		assert_from(f, &f->path4, 0xc300);
		assert_from(f, &f->path4, 0xc300);
		assert_from(f, &f->path4, 0xc301);
		assert_from(f, &f->path6, 0xc301);
		other.traffic_class = 4;
		assert_from(f, &other, 0xc301);
	}
	/* A packet that is refused in between takes nothing of it away. */
	f->port = 0;
	clear(f);
	add(f, &f->path4, 64, 1);
	assert_int_equal(send_all(f), 1);
	assert_int_equal(recv_some(f, rx, 1), 0);
	f->port = was;
	assert_from(f, &other, 0xc301);
	f->port = 0;
	other.udp_sport = 0xc301; /* as before */
	vb_link_follow_port(f->link, 1, 1);
	clear(f);
	add(f, &other, 64, 1);
	assert_int_equal(send_all(f), 1);
	assert_int_equal(recv_some(f, rx, 1), 0);
}

/* The state behind a pseudo header by parts, of all lengths and of some that no packet has. */
static void icrc_start__as_computed_whole(void **state)
{
	struct fixture *f = *state;

	for (uint32_t v = 0; v < FAMILIES; v++) {
		const struct vb_path *p = path_of(f, families[v]);
		struct vb_icrc_udp in = {p->sgid, p->dgid, 0xc123, VB_ROCE_PORT, 0, DF};
		struct vb_udp_pseudo pseudo = vb_udp_pseudo(&in);

		for (uint32_t i = 0; i < 2 * 4400; i++) { /* each twice: computed, and found */
			uint32_t len = i / 2;

			in.ip_id = (uint16_t)(i * 40503);
			assert_int_equal(vb_udp_icrc_start(&f->udp->icrc, &pseudo, len, in.ip_id),
					 vb_icrc_start(&in, len));
		}
		assert_int_equal(vb_udp_icrc_start(&f->udp->icrc, &pseudo, 65504, in.ip_id),
				 vb_icrc_start(&in, 65504));
	}
}

static void recv__corrupt(void **state)
{
	struct fixture *f = *state;
	struct vb_rx rx[1];
	struct forged o;
	uint64_t dropped;

	for (size_t v = 0; v < FAMILIES; v++) {
		clear(f);
		dropped = 0;
		forge(&o, path_of(f, families[v]), 0, DF, 40);
		for (uint32_t bit = 0; bit < o.len * 8; bit++) {
			o.pkt[bit / 8] ^= (uint8_t)(1u << bit % 8);
			forged_send(&o);
			o.pkt[bit / 8] ^= (uint8_t)(1u << bit % 8);
			assert_int_equal(recv_some(f, rx, 1), bit / 8 == 4 ? 1 : 0);
			dropped += bit / 8 != 4;
		}
		assert_int_equal(counter(f, VB_COUNTER_rx_icrc_encapsulated), dropped);
		assert_int_equal(counter(f, VB_COUNTER_port_rcv_errors), dropped);
		assert_int_equal(counter(f, VB_COUNTER_port_rcv_packets), 8);
		forged_send(&o);
		assert_int_equal(recv_some(f, rx, 1), 1);
		close(o.fd);
	}
}

static void recv__too_short(void **state)
{
	struct fixture *f = *state;
	struct vb_rx rx[1];
	struct forged o;

	/* A whole packet first: an empty one behind it is skipped. */
	add(f, &f->path4, 64, 1);
	assert_int_equal(send_all(f), 1);
	assert_int_equal(recv_some(f, rx, 1), 1);
	forge(&o, &f->path4, 0, DF, 40);
	for (o.len = 0; o.len < VB_BTH_LEN + VB_ICRC_LEN; o.len++)
		forged_send(&o);
	while (counter(f, VB_COUNTER_port_rcv_errors) < o.len)
		assert_int_equal(recv_some(f, rx, 1), 0);
	assert_int_equal(counter(f, VB_COUNTER_rx_icrc_encapsulated), 0);
	close(o.fd);
}

/* Random bytes of random lengths, some as GSO batches with silly segment sizes. */
static void recv__garbage(void **state)
{
	struct fixture *f = *state;
	struct vb_rx rx[VB_TX_BATCH_PKTS];
	struct vb_rng rng = vb_rng_stream(4791, "garbage", 0);
	uint8_t buf[9000];
	struct forged o;

	forge(&o, &f->path6, 0, 0, 0);
	for (uint32_t round = 0; round < 2000; round++) {
		size_t len = vb_rng_next(&rng) % sizeof buf;
		int seg = (int)(vb_rng_next(&rng) % 200);

		for (size_t i = 0; i < len; i++)
			buf[i] = (uint8_t)vb_rng_next(&rng);
		setsockopt(o.fd, IPPROTO_UDP, UDP_SEGMENT, &seg, sizeof seg);
		(void)!send(o.fd, buf, len, 0);
		assert_int_equal(recv_some(f, rx, VB_TX_BATCH_PKTS), 0);
	}
	assert_true(counter(f, VB_COUNTER_port_rcv_errors) > 2000);
	assert_int_equal(counter(f, VB_COUNTER_port_rcv_packets), 0);
	clear(f);
	add(f, &f->path6, 64, 1);
	assert_int_equal(send_all(f), 1);
	check_arrival(f, 1);
	close(o.fd);
}

/* Garbage in front does not hide what is behind it from the caller for good. */
static void recv__packet_behind_garbage(void **state)
{
	struct fixture *f = *state;
	struct vb_rx rx[1];
	struct forged o;
	uint32_t n = 0;

	forge(&o, &f->path4, 0, DF, 40);
	o.pkt[20] ^= 1;
	for (uint32_t i = 0; i < 200; i++)
		forged_send(&o);
	add(f, &f->path4, 64, 1);
	assert_int_equal(send_all(f), 1);
	/* A flood of it ends the call, and there is more. */
	assert_int_equal(recv_some(f, rx, 1), 0);
	for (uint32_t i = 0; i < 200 && n == 0; i++)
		n = recv_some(f, rx, 1);
	assert_int_equal(n, 1);
	check_packet(f, &rx[0], 0);
	close(o.fd);
}

/* A datagram that did not fit is dropped for that, and nothing in it is looked at. */
static void recv__longer_than_the_buffer(void **state)
{
	struct fixture *f = *state;
	size_t whole = f->udp->rx.iov[0].iov_len;
	struct vb_rx rx[1];

	add(f, &f->path4, 256, 1);
	f->udp->rx.iov[0].iov_len = 100;
	assert_int_equal(send_all(f), 1);
	assert_int_equal(recv_some(f, rx, 1), 0);
	assert_int_equal(counter(f, VB_COUNTER_port_rcv_errors), 1);
	assert_int_equal(counter(f, VB_COUNTER_rx_icrc_encapsulated), 0);
	f->udp->rx.iov[0].iov_len = whole;
	assert_int_equal(send_all(f), 1);
	check_arrival(f, 1);
}

/* Nobody counts into the backlog of a slot what is sent to a group: nothing is taken from it. */
static void recv__multicast_is_of_no_flow(void **state)
{
	struct fixture *f = *state;
	struct vb_flow flow[3] = {0};
	struct vb_rx rx[1];

	if (system("ip route replace 239.0.0.0/8 dev lo 2>/dev/null"))
		skip();
	f->path4.dgid = gid("::ffff:239.1.2.3");
	assert_int_equal(vb_link_join(f->link, 1, &f->path4.dgid, 0), 0);
	add(f, &f->path4, 64, 1);
	assert_int_equal(send_all(f), 1);
	f->udp->cfg.flow = flow;
	f->udp->cfg.slot = 2;
	assert_int_equal(recv_some(f, rx, 1), 1);
	assert_int_equal(flow[2].taken, 0);
	f->udp->cfg.flow = NULL;
}

/* A packet for a group counts as multicast, and a packet for one port as unicast. */
static void recv__multicast_is_counted(void **state)
{
	struct fixture *f = *state;
	struct vb_gid one = f->path4.dgid;
	struct vb_rx rx[1];

	if (system("ip route replace 239.0.0.0/8 dev lo 2>/dev/null"))
		skip();
	f->path4.dgid = gid("::ffff:239.1.2.3");
	assert_int_equal(vb_link_join(f->link, 1, &f->path4.dgid, 0), 0);
	add(f, &f->path4, 64, 1);
	assert_int_equal(send_all(f), 1);
	assert_int_equal(recv_some(f, rx, 1), 1);
	assert_int_equal(counter(f, VB_COUNTER_multicast_rcv_packets), 1);
	assert_int_equal(counter(f, VB_COUNTER_multicast_xmit_packets), 1);
	assert_int_equal(counter(f, VB_COUNTER_unicast_rcv_packets), 0);
	vb_link_leave(f->link, 1, &f->path4.dgid, 0);
	clear(f);
	f->path4.dgid = one;
	add(f, &f->path4, 64, 1);
	assert_int_equal(send_all(f), 1);
	assert_int_equal(recv_some(f, rx, 1), 1);
	assert_int_equal(counter(f, VB_COUNTER_multicast_rcv_packets), 0);
	assert_int_equal(counter(f, VB_COUNTER_unicast_rcv_packets), 1);
}

static void recv__address_of_no_port(void **state)
{
	struct fixture *f = *state;
	struct vb_rx rx[1];

	add(f, &f->path4, 64, 1);
	f->port = 0;
	assert_int_equal(send_all(f), 1);
	assert_int_equal(recv_some(f, rx, 1), 0);
	f->port = 200;
	assert_int_equal(send_all(f), 1);
	assert_int_equal(recv_some(f, rx, 1), 0);
	f->port = 1;
	assert_int_equal(send_all(f), 1);
	assert_int_equal(recv_some(f, rx, 1), 1);
}

/* Adapters and rxe send IPv6 with the UDP checksum 0: the ICRC is the better one. */
static void recv__ipv6_without_checksum(void **state)
{
	struct fixture *f = *state;
	struct vb_rx rx[1];
	struct forged o;
	int one = 1;

	forge(&o, &f->path6, 0, 0, 100);
	assert_int_equal(setsockopt(o.fd, IPPROTO_UDP, UDP_NO_CHECK6_TX, &one, sizeof one), 0);
	forged_send(&o);
	assert_int_equal(recv_some(f, rx, 1), 1);
	assert_memory_equal(rx[0].pkt, o.pkt, rx[0].len);
	close(o.fd);
}

/* Where a packet comes from is read from a whole name of IPv4 or IPv6, and from nothing else. */
static void find_origin__names(void **state)
{
	static struct vb_udp_rx_buf b;
	static const struct {
		sa_family_t family;
		socklen_t len;
		bool is_one;
	} c[] = {
	    {AF_INET, sizeof b.name.in, true},     {AF_INET, sizeof b.name.in - 1, false},
	    {AF_INET6, sizeof b.name.in6, true},   {AF_INET6, sizeof b.name.in6 - 1, false},
	    {AF_UNSPEC, sizeof b.name.in6, false}, {AF_INET, 0, false},
	};
	struct fixture *f = *state;
	struct msghdr m = {.msg_control = b.control,
			   .msg_controllen = CMSG_LEN(sizeof(struct in6_pktinfo))};
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);
	struct in6_pktinfo info = {.ipi6_ifindex = 1};

	*h = (struct cmsghdr){m.msg_controllen, IPPROTO_IPV6, IPV6_PKTINFO};
	memcpy(&info.ipi6_addr, f->path6.dgid.b, 16);
	memcpy(CMSG_DATA(h), &info, sizeof info);
	for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
		b.name.sa.sa_family = c[i].family;
		m.msg_namelen = c[i].len;
		assert_int_equal(vb_udp_find_origin(f->udp, &b, &m), c[i].is_one);
	}
}

static void recv__ipv4_socket(void **state)
{
	struct fixture *f = *state;
	struct vb_path marked = f->path4;

	marked.traffic_class = VB_ECN_CE;
	for (uint32_t k = 0; k < 20; k++)
		add(f, k < 10 ? &f->path4 : &marked, 1024, 1);
	assert_int_equal(send_all(f), 20);
	check_arrival(f, VB_TX_BATCH_PKTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(recv__batch_in_portions),
	    T(recv__no_room),
	    T(recv__several_batches),
	    T(recv__traffic_class),
	    T(recv__flow_label),
	    T(recv__identification_unknown),
	    T(recv__identification_expected),
	    T(recv__brings_what_is_wanted),
	    T(recv__looks_as_often_as_told),
	    T(recv__of_a_drain_says_when_all_is_taken),
	    T(recv__empty_socket_sets_counts_right),
	    T(recv__origin_is_read_anew),
	    T(icrc_start__as_computed_whole),
	    T(recv__corrupt),
	    T(recv__too_short),
	    T(recv__garbage),
	    T(recv__packet_behind_garbage),
	    T(recv__longer_than_the_buffer),
	    T(recv__multicast_is_counted),
	    T(recv__multicast_is_of_no_flow),
	    T(recv__ipv6_without_checksum),
	    T(find_origin__names),
	    T(recv__address_of_no_port),
	    cmocka_unit_test_setup_teardown(recv__ipv4_socket, setup_ipv4, teardown),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace may be made here: test skipped\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
