/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The UDP link on the loopback device of a namespace of its own: what one link sends to itself it
 * receives, and what a plain UDP socket makes up it judges. One link, port 1, IPv4 and IPv6.
 */
#include "cmocka_env.h"
#include "link/udp_priv.h"
#include "netns.h"
#include "wire/hdr.h"

#include "base/rng.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>

#define PAYLOAD_MAX 4096
#define DF 0x4000

struct fixture {
	struct vb_link *link;
	struct vb_udp *udp; /* the same, seen from inside */
	struct vb_counters counters;
	struct vb_path path4, path6;
	struct vb_tx_batch batch;
	uint8_t payload[VB_TX_BATCH_PKTS * PAYLOAD_MAX];
	uint8_t port; /* what port_of answers */
	uint32_t tap_on, tap_cnt;
	struct vb_udp_tap tap[2 * VB_TX_BATCH_PKTS];
};

static const uint32_t families[] = {4, 6};
#define FAMILIES (sizeof families / sizeof families[0])

static uint8_t port_of(void *ctx, const struct vb_gid *local, uint32_t ifindex)
{
	struct fixture *f = ctx;

	assert_int_equal(ifindex, 1);
	assert_true(vb_gid_eq(local, &f->path4.dgid) || vb_gid_eq(local, &f->path6.dgid));
	return f->port;
}

static void tap(void *ctx, const struct vb_udp_tap *t)
{
	struct fixture *f = ctx;

	assert_true(f->tap_cnt < sizeof f->tap / sizeof f->tap[0]);
	f->tap[f->tap_cnt++] = *t;
}

static int rx_socket(int family)
{
	int fd = socket(family, SOCK_DGRAM, 0), zero = 0;
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(VB_ROCE_PORT)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(VB_ROCE_PORT)};

	if (family == AF_INET)
		assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof in), 0);
	else {
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
		assert_int_equal(bind(fd, (struct sockaddr *)&in6, sizeof in6), 0);
	}
	return fd;
}

static void open_link(struct fixture *f, int family)
{
	struct vb_udp_config cfg = {.rx_fd = rx_socket(family),
				    .ifindex = {0, 1},
				    .counters = {NULL, &f->counters},
				    .port_of = port_of,
				    .tap = tap,
				    .tap_on = &f->tap_on,
				    .ctx = f};

	assert_int_equal(vb_udp_open(&f->link, &cfg), 0);
	f->udp = (struct vb_udp *)f->link;
	f->port = 1;
}

static struct vb_gid gid(const char *text)
{
	struct vb_gid g;

	assert_int_equal(inet_pton(AF_INET6, text, g.b), 1);
	return g;
}

static struct fixture *fixture_new(int family)
{
	struct fixture *f = calloc(1, sizeof *f);
	struct vb_path p = {.port = 1, .hop_limit = 7};

	p.sgid = p.dgid = gid("::ffff:127.0.0.1");
	f->path4 = p;
	p.sgid = p.dgid = gid("::1");
	f->path6 = p;
	for (size_t i = 0; i < sizeof f->payload; i++)
		f->payload[i] = (uint8_t)(i * 7 + (i >> 8));
	open_link(f, family);
	return f;
}

static int setup(void **state)
{
	*state = fixture_new(AF_INET6);
	return 0;
}

static int setup_ipv4(void **state)
{
	*state = fixture_new(AF_INET);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	f->link->ops->close(f->link);
	free(f);
	return 0;
}

static struct vb_path *path_of(struct fixture *f, uint32_t family)
{
	return family == 4 ? &f->path4 : &f->path6;
}

/* Appends a packet with @payload_len bytes from place k of the payload, in @segs runs. */
static struct vb_tx *add(struct fixture *f, const struct vb_path *path, uint32_t payload_len,
			 uint32_t segs)
{
	struct vb_tx_batch *b = &f->batch;
	uint32_t k = b->cnt++, at = k * PAYLOAD_MAX, left = payload_len;
	struct vb_tx *tx = &b->pkt[k];

	*tx = (struct vb_tx){.path = path,
			     .seg = &b->seg[b->seg_cnt],
			     .payload_len = payload_len,
			     .pad = (uint8_t)(-payload_len & 3),
			     .hdr_len = VB_BTH_LEN,
			     .hdr = {VB_TRANSPORT_RC | VB_OP_WRITE_MIDDLE}};
	tx->hdr[11] = (uint8_t)k;
	for (uint32_t i = 0; i < segs && left != 0; i++) {
		uint32_t n = i + 1 == segs ? left : left / segs;

		b->seg[b->seg_cnt++] = (struct vb_seg){f->payload + at, n};
		tx->seg_cnt++;
		at += n;
		left -= n;
	}
	return tx;
}

static void clear(struct fixture *f)
{
	f->batch.cnt = f->batch.seg_cnt = 0;
	f->tap_cnt = 0;
	memset(&f->counters, 0, sizeof f->counters);
}

static uint32_t send_all(struct fixture *f)
{
	return f->link->ops->send(f->link, &f->batch, 0, 0);
}

static uint32_t recv_some(struct fixture *f, struct vb_rx *rx, uint32_t cnt)
{
	return f->link->ops->recv(f->link, rx, cnt, 0);
}

static uint64_t counter(const struct fixture *f, enum vb_counter_id id)
{
	return f->counters.v[id];
}

/* @rx is packet @k of the batch, byte for byte. */
static void check_packet(const struct fixture *f, const struct vb_rx *rx, uint32_t k)
{
	const struct vb_tx *tx = &f->batch.pkt[k];
	static const uint8_t zero[VB_PAD_MAX];

	assert_int_equal(rx->len, vb_tx_wire_len(tx) - VB_ICRC_LEN);
	assert_int_equal(rx->avail, rx->len);
	assert_memory_equal(rx->pkt, tx->hdr, tx->hdr_len);
	assert_memory_equal(rx->pkt + tx->hdr_len, f->payload + k * PAYLOAD_MAX, tx->payload_len);
	assert_memory_equal(rx->pkt + tx->hdr_len + tx->payload_len, zero, tx->pad);
	assert_memory_equal(&rx->path->sgid, &tx->path->sgid, 16);
	assert_memory_equal(&rx->path->dgid, &tx->path->dgid, 16);
	assert_int_equal(rx->path->port, 1);
	assert_int_equal(rx->path->traffic_class, tx->path->traffic_class);
	assert_int_equal(rx->path->hop_limit, tx->path->hop_limit);
}

/* Everything sent arrives, in order, in whatever portions. */
static void check_arrival(struct fixture *f, uint32_t portion)
{
	struct vb_rx rx[VB_TX_BATCH_PKTS];
	uint32_t k = 0, n;

	while (k < f->batch.cnt) {
		n = recv_some(f, rx, portion);
		assert_in_range(n, 1, portion);
		for (uint32_t i = 0; i < n; i++)
			check_packet(f, &rx[i], k++);
	}
	assert_int_equal(recv_some(f, rx, portion), 0);
}

static void send__every_length(void **state)
{
	static const uint32_t len[] = {0,   1,   2,    3,    4,    5,    255,
				       256, 511, 1024, 1025, 2048, 4095, 4096};
	struct fixture *f = *state;

	for (size_t v = 0; v < FAMILIES; v++)
		for (uint32_t segs = 1; segs <= 3; segs++) {
			uint64_t bytes = 0;

			clear(f);
			for (size_t i = 0; i < sizeof len / sizeof len[0]; i++)
				bytes +=
				    vb_tx_wire_len(add(f, path_of(f, families[v]), len[i], segs));
			assert_int_equal(send_all(f), f->batch.cnt);
			check_arrival(f, VB_TX_BATCH_PKTS);
			assert_int_equal(counter(f, VB_COUNTER_port_xmit_packets), f->batch.cnt);
			assert_int_equal(counter(f, VB_COUNTER_port_rcv_packets), f->batch.cnt);
			assert_int_equal(counter(f, VB_COUNTER_port_xmit_data), bytes / 4);
			assert_int_equal(counter(f, VB_COUNTER_port_rcv_data), bytes / 4);
			assert_int_equal(counter(f, VB_COUNTER_port_rcv_errors), 0);
		}
}

static void send__train_is_one_receive(void **state)
{
	struct fixture *f = *state;
	struct vb_rx rx[VB_TX_BATCH_PKTS];

	for (size_t v = 0; v < FAMILIES; v++) {
		clear(f);
		for (uint32_t k = 0; k < VB_UDP_TRAIN_MAX; k++)
			add(f, path_of(f, families[v]), k < 63 ? 1000 : 10, 1);
		assert_int_equal(send_all(f), VB_UDP_TRAIN_MAX);
		/* An idle link looks for one datagram only. */
		assert_int_equal(f->udp->rx.ask, 1);
		assert_int_equal(recv_some(f, rx, VB_TX_BATCH_PKTS), VB_UDP_TRAIN_MAX);
		for (uint32_t k = 0; k < VB_UDP_TRAIN_MAX; k++)
			check_packet(f, &rx[k], k);
		assert_int_equal(recv_some(f, rx, 1), 0);
	}
}

static void recv__train_in_portions(void **state)
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

/* 300 KB of trains: more than one datagram in one call. */
static void recv__several_trains(void **state)
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

static void send__source_port(void **state)
{
	struct fixture *f = *state;
	struct vb_rx rx[4];

	f->path4.udp_sport = 0xc123;
	f->path6.udp_sport = 0xffff;
	for (uint32_t i = 0; i < 4; i++)
		add(f, i & 1 ? &f->path6 : &f->path4, 64, 1);
	assert_int_equal(send_all(f), 4);
	for (uint32_t k = 0; k < 4; k++) {
		assert_int_equal(recv_some(f, rx, 1), 1);
		check_packet(f, &rx[0], k);
		assert_int_equal(rx[0].path->udp_sport, k & 1 ? 0xffff : 0xc123);
	}
}

/* Two ends on one host have the same source port, and each its own link. */
static void send__source_port_shared_by_two_links(void **state)
{
	struct fixture *f = *state;
	struct vb_udp_socks other;
	struct vb_udp_sock *s;

	assert_int_equal(vb_udp_socks_open(&other), 0);
	s = vb_udp_sock_find(&other, false, 0xc123);
	assert_int_equal(s->port, 0xc123);
	f->path4.udp_sport = 0xc123;
	add(f, &f->path4, 64, 1);
	assert_int_equal(send_all(f), 1);
	assert_int_equal(vb_udp_sock_find(&f->udp->socks, false, 0xc123)->port, 0xc123);
	check_arrival(f, 1);
	vb_udp_socks_close(&other);
}

/* A port that another program has: sent from another one, and the ICRC knows. */
static void send__source_port_taken(void **state)
{
	struct fixture *f = *state;
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(0xc200)};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof in), 0);
	f->path4.udp_sport = 0xc200;
	for (uint32_t i = 0; i < 3; i++)
		add(f, &f->path4, 64, 1);
	assert_int_equal(send_all(f), 3);
	check_arrival(f, 3);
	assert_int_not_equal(vb_udp_sock_find(&f->udp->socks, false, 0xc200)->port, 0xc200);
	close(fd);
}

/* 200 flows have more source ports than the link opens sockets; all arrive all the same. */
static void send__many_source_ports(void **state)
{
	struct fixture *f = *state;
	struct vb_path path[200];

	for (uint32_t i = 0; i < 200; i++) {
		path[i] = i & 1 ? f->path4 : f->path6;
		path[i].udp_sport = (uint16_t)(0xc400 + i);
	}
	for (uint32_t round = 0; round < 10; round++) {
		clear(f);
		for (uint32_t k = 0; k < 40; k++)
			add(f, &path[round * 20 % 160 + k], 64, 1);
		assert_int_equal(send_all(f), f->batch.cnt);
		check_arrival(f, VB_TX_BATCH_PKTS);
	}
	assert_int_equal(f->udp->socks.cnt, VB_UDP_SEND_SOCKS);
}

/* A train goes to one process as a whole, so packets for two QPs never share one. */
static void send__train_ends_at_another_qp(void **state)
{
	struct fixture *f = *state;
	struct vb_rx rx[4];

	for (uint32_t k = 0; k < 4; k++)
		add(f, &f->path4, 64, 1)->hdr[7] = (uint8_t)(k / 2);
	assert_int_equal(send_all(f), 4);
	assert_int_equal(recv_some(f, rx, 4), 2);
	assert_int_equal(recv_some(f, rx, 4), 2);
}

static void send__without_gso(void **state)
{
	struct fixture *f = *state;

	f->udp->socks.own[0].gso = f->udp->socks.own[1].gso = false;
	for (size_t v = 0; v < FAMILIES; v++) {
		clear(f);
		for (uint32_t k = 0; k < VB_TX_BATCH_PKTS; k++)
			add(f, path_of(f, families[v]), k % 7 == 0 ? 500 : 1024, 2);
		assert_int_equal(send_all(f), VB_TX_BATCH_PKTS);
		check_arrival(f, VB_TX_BATCH_PKTS);
	}
}

static void set_lo_mtu(int mtu)
{
	struct ifreq ifr = {.ifr_name = "lo", .ifr_mtu = mtu};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	assert_int_equal(ioctl(fd, SIOCSIFMTU, &ifr), 0);
	close(fd);
}

/* What does not fit the device is a discard, and its neighbours leave. */
static void send__longer_than_the_device_takes(void **state)
{
	struct fixture *f = *state;
	struct vb_rx rx[4];

	set_lo_mtu(1500);
	for (size_t v = 0; v < FAMILIES; v++) {
		clear(f);
		add(f, path_of(f, families[v]), 1024, 1);
		add(f, path_of(f, families[v]), 4096, 1);
		add(f, path_of(f, families[v]), 4096, 1);
		add(f, path_of(f, families[v]), 1024, 1);
		assert_int_equal(send_all(f), 4);
		assert_int_equal(counter(f, VB_COUNTER_port_xmit_discards), 2);
		assert_int_equal(counter(f, VB_COUNTER_port_xmit_packets), 2);
		assert_int_equal(recv_some(f, rx, 1), 1);
		check_packet(f, &rx[0], 0);
		assert_int_equal(recv_some(f, rx, 1), 1);
		check_packet(f, &rx[0], 3);
		assert_true(path_of(f, families[v]) == &f->path6 || f->udp->socks.own[0].gso);
	}
	set_lo_mtu(65536);
}

static void send__nowhere_to_go(void **state)
{
	struct fixture *f = *state;
	struct vb_path no_route = f->path4, no_route6 = f->path6, foreign = f->path4,
		       foreign6 = f->path6, mixed = f->path4, no_port = f->path4;

	no_route.dgid = gid("::ffff:203.0.113.1");
	no_route6.dgid = gid("2001:db8::1");
	foreign.sgid = gid("::ffff:203.0.113.1");
	foreign6.sgid = gid("2001:db8::1");
	mixed.dgid = gid("::1");
	add(f, &no_route, 64, 1);
	add(f, &no_route6, 64, 1);
	add(f, &foreign, 64, 1);
	add(f, &foreign, 64, 1);
	add(f, &foreign6, 64, 1);
	add(f, &mixed, 64, 1);
	assert_int_equal(send_all(f), 6);
	assert_int_equal(counter(f, VB_COUNTER_port_xmit_discards), 6);
	assert_int_equal(counter(f, VB_COUNTER_port_xmit_packets), 0);
	clear(f);
	no_port.port = VB_UDP_PORTS_MAX;
	add(f, &no_port, 64, 1);
	add(f, &f->path4, 64, 1);
	assert_int_equal(send_all(f), 2);
	assert_int_equal(counter(f, VB_COUNTER_port_xmit_packets), 1);
}

static void send__from_the_middle_of_a_batch(void **state)
{
	struct fixture *f = *state;
	struct vb_rx rx[4];

	for (uint32_t k = 0; k < 4; k++)
		add(f, &f->path6, 64, 1);
	assert_int_equal(f->link->ops->send(f->link, &f->batch, 3, 0), 1);
	assert_int_equal(f->link->ops->send(f->link, &f->batch, 4, 0), 0);
	assert_int_equal(recv_some(f, rx, 4), 1);
	check_packet(f, &rx[0], 3);
}

/* A made-up packet from a plain socket, its ICRC made with identification @id and flags @frag. */
struct forged {
	int fd;
	struct vb_path path;
	uint16_t sport;
	uint32_t len;
	uint8_t pkt[256];
};

static void forge(struct forged *o, const struct vb_path *path, uint16_t id, uint16_t frag,
		  uint32_t payload)
{
	bool ipv4 = vb_gid_is_ipv4(&path->dgid);
	struct sockaddr_in in = {.sin_family = AF_INET,
				 .sin_port = htons(VB_ROCE_PORT),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6,
				   .sin6_port = htons(VB_ROCE_PORT),
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct sockaddr_in6 name;
	socklen_t len = sizeof name;
	uint32_t crc;

	o->fd = socket(ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM, 0);
	if (ipv4)
		assert_int_equal(connect(o->fd, (struct sockaddr *)&in, sizeof in), 0);
	else
		assert_int_equal(connect(o->fd, (struct sockaddr *)&in6, sizeof in6), 0);
	assert_int_equal(getsockname(o->fd, (struct sockaddr *)&name, &len), 0);
	o->len = VB_BTH_LEN + payload + VB_ICRC_LEN;
	for (uint32_t i = 0; i < o->len; i++)
		o->pkt[i] = (uint8_t)(i * 5);
	struct vb_icrc_udp u = {.src = path->sgid,
				.dst = path->dgid,
				.sport = ntohs(name.sin6_port),
				.dport = VB_ROCE_PORT,
				.ip_id = id,
				.ip_frag = frag};
	crc = vb_icrc_headers(vb_icrc_start(&u, o->len), o->pkt, VB_BTH_LEN);
	crc = vb_icrc_bytes(crc, o->pkt + VB_BTH_LEN, payload);
	vb_icrc_finish(crc, o->pkt + o->len - VB_ICRC_LEN);
}

static void forged_send(const struct forged *o)
{
	assert_int_equal(send(o->fd, o->pkt, o->len, 0), o->len);
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

/* Every single flipped bit of packet and ICRC, but for the masked byte, is found. */
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

	forge(&o, &f->path4, 0, DF, 40);
	for (o.len = 0; o.len < VB_BTH_LEN + VB_ICRC_LEN; o.len++)
		forged_send(&o);
	while (counter(f, VB_COUNTER_port_rcv_errors) < o.len)
		assert_int_equal(recv_some(f, rx, 1), 0);
	assert_int_equal(counter(f, VB_COUNTER_rx_icrc_encapsulated), 0);
	close(o.fd);
}

/* Random bytes of random lengths, some as trains with silly segment sizes. */
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
	for (uint32_t i = 0; i < 200 && n == 0; i++)
		n = recv_some(f, rx, 1);
	assert_int_equal(n, 1);
	check_packet(f, &rx[0], 0);
	close(o.fd);
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

/* The tap sees both directions, with the identification each packet of a train has. */
static void tap__both_directions(void **state)
{
	struct fixture *f = *state;

	f->path4.traffic_class = 0x6a;
	for (uint32_t k = 0; k < 5; k++)
		add(f, &f->path4, 10, 2);
	assert_int_equal(send_all(f), 5);
	check_arrival(f, 5);
	assert_int_equal(f->tap_cnt, 0);
	f->tap_on = 1;
	assert_int_equal(send_all(f), 5);
	check_arrival(f, 5);
	assert_int_equal(f->tap_cnt, 10);
	for (uint32_t i = 0; i < 10; i++) {
		const struct vb_udp_tap *t = &f->tap[i];

		assert_int_equal(t->sent, i < 5);
		assert_int_equal(t->udp.ip_id, i % 5);
		assert_int_equal(t->udp.ip_frag, DF);
		assert_int_equal(t->udp.dport, VB_ROCE_PORT);
		assert_int_equal(t->udp.sport, f->udp->socks.own[0].port);
		assert_memory_equal(&t->udp.src, &f->path4.sgid, 16);
		assert_int_equal(t->traffic_class, 0x6a);
		assert_int_equal(t->hop_limit, 7);
		assert_int_equal(t->port, 1);
		/* Sent: header, two runs, trailer. Received: one piece. */
		assert_int_equal(t->seg_cnt, i < 5 ? 4 : 1);
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

static void open__not_a_udp_socket(void **state)
{
	struct vb_udp_config cfg = {.rx_fd = -1};
	struct vb_link *l = NULL;

	(void)state;
	assert_int_equal(vb_udp_open(&l, &cfg), -EBADF);
	assert_null(l);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(send__every_length),
	    T(send__train_is_one_receive),
	    T(recv__train_in_portions),
	    T(recv__no_room),
	    T(recv__several_trains),
	    T(recv__traffic_class),
	    T(recv__flow_label),
	    T(send__source_port),
	    T(send__source_port_shared_by_two_links),
	    T(send__source_port_taken),
	    T(send__many_source_ports),
	    T(send__train_ends_at_another_qp),
	    T(send__without_gso),
	    T(send__longer_than_the_device_takes),
	    T(send__nowhere_to_go),
	    T(send__from_the_middle_of_a_batch),
	    T(recv__identification_unknown),
	    T(recv__corrupt),
	    T(recv__too_short),
	    T(recv__garbage),
	    T(recv__packet_behind_garbage),
	    T(recv__address_of_no_port),
	    T(tap__both_directions),
	    cmocka_unit_test_setup_teardown(recv__ipv4_socket, setup_ipv4, teardown),
	    cmocka_unit_test(open__not_a_udp_socket),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace may be made here: test skipped\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
