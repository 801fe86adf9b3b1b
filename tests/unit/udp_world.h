/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The UDP link on the loopback device of a namespace of its own: what one link sends to itself it
 * receives. One link, port 1, IPv4 and IPv6.
 */
#ifndef VB_TESTS_UNIT_UDP_WORLD_H
#define VB_TESTS_UNIT_UDP_WORLD_H

#include "cmocka_env.h"
#include "descriptors.h"
#include "link/udp/priv.h"
#include "netns.h"
#include "wire/hdr.h"

#include <arpa/inet.h>
#include <stdlib.h>

#define PAYLOAD_MAX 4096
#define DF 0x4000

struct fixture {
	struct vb_link *link;
	struct vb_udp *udp;   /* the same, seen from inside */
	unsigned descriptors; /* of this process without the link */
	struct vb_counters counters;
	struct vb_path path4, path6;
	struct vb_tx_batch batch;
	uint8_t payload[VB_TX_BATCH_PKTS * PAYLOAD_MAX];
	uint8_t port; /* what port_of answers */
	uint32_t tap_on, tap_cnt, bring, looks, drains;
	struct vb_link_tap tap[16]; /* what the tap saw, and the bytes */
	uint32_t tap_len[16];
	uint8_t tap_bytes[16][PAYLOAD_MAX + VB_HDR_MAX];
};

static const uint32_t families[] = {4, 6};
#define FAMILIES (sizeof families / sizeof families[0])

static inline uint8_t port_of(void *ctx, const struct vb_gid *local, uint32_t ifindex)
{
	struct fixture *f = ctx;

	assert_int_equal(ifindex, 1);
	assert_true(vb_gid_eq(local, &f->path4.dgid) || vb_gid_eq(local, &f->path6.dgid));
	return f->port;
}

static inline void tap(void *ctx, const struct vb_link_tap *t)
{
	struct fixture *f = ctx;

	assert_true(f->tap_cnt < sizeof f->tap / sizeof f->tap[0]);
	f->tap[f->tap_cnt] = *t;
	f->tap_len[f->tap_cnt] = 0;
	for (uint32_t i = 0; i < t->seg_cnt; i++) {
		memcpy(f->tap_bytes[f->tap_cnt] + f->tap_len[f->tap_cnt], t->seg[i].p,
		       t->seg[i].len);
		f->tap_len[f->tap_cnt] += t->seg[i].len;
	}
	f->tap_cnt++;
}

static inline int rx_socket(int family)
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

static inline void open_link(struct fixture *f, int rx_fd)
{
	struct vb_link_config cfg = {.rx_fd = rx_fd,
				     .ifindex = {0, 1},
				     .counters = {NULL, &f->counters},
				     .port_of = port_of,
				     .tap = tap,
				     .tap_on = &f->tap_on,
				     .bring = &f->bring,
				     .looks = &f->looks,
				     .drains = &f->drains,
				     .ctx = f};

	f->bring = VB_LINK_BRING_ALL;
	assert_int_equal(vb_udp_open(&f->link, &cfg), 0);
	f->udp = (struct vb_udp *)f->link;
	f->port = 1;
}

static inline struct vb_gid gid(const char *text)
{
	struct vb_gid g;

	assert_int_equal(inet_pton(AF_INET6, text, g.b), 1);
	return g;
}

/* The link receives from @rx_fd. */
static inline struct fixture *fixture_on(int rx_fd)
{
	struct fixture *f = calloc(1, sizeof *f);
	struct vb_path p = {.port = 1, .hop_limit = 7};

	f->descriptors = descriptors_of(getpid()) - 1; /* @rx_fd is the link's */
	p.sgid = p.dgid = gid("::ffff:127.0.0.1");
	f->path4 = p;
	p.sgid = p.dgid = gid("::1");
	f->path6 = p;
	for (size_t i = 0; i < sizeof f->payload; i++)
		f->payload[i] = (uint8_t)(i * 7 + (i >> 8));
	open_link(f, rx_fd);
	return f;
}

static inline struct fixture *fixture_new(int family)
{
	return fixture_on(rx_socket(family));
}

static inline int setup(void **state)
{
	*state = fixture_new(AF_INET6);
	return 0;
}

static inline int setup_ipv4(void **state)
{
	*state = fixture_new(AF_INET);
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *f = *state;

	f->link->ops->close(f->link);
	/* It leaves none open. */
	assert_int_equal(descriptors_of(getpid()), f->descriptors);
	free(f);
	return 0;
}

static inline struct vb_path *path_of(struct fixture *f, uint32_t family)
{
	return family == 4 ? &f->path4 : &f->path6;
}

/* Appends a packet with @payload_len bytes from place k of the payload, in @segs runs. */
static inline struct vb_tx *add(struct fixture *f, const struct vb_path *path, uint32_t payload_len,
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

static inline void clear(struct fixture *f)
{
	f->batch.cnt = f->batch.seg_cnt = 0;
	f->tap_cnt = 0;
	memset(&f->counters, 0, sizeof f->counters);
}

static inline uint32_t send_all(struct fixture *f)
{
	return f->link->ops->send(f->link, &f->batch, 0, 0);
}

static inline uint32_t recv_some(struct fixture *f, struct vb_rx *rx, uint32_t cnt)
{
	return f->link->ops->recv(f->link, rx, cnt, 0);
}

static inline uint64_t counter(const struct fixture *f, enum vb_counter_id id)
{
	return f->counters.v[id];
}

/* @rx is packet @k of the batch, byte for byte. */
static inline void check_packet(const struct fixture *f, const struct vb_rx *rx, uint32_t k)
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
	assert_int_equal(rx->path->flow_label, tx->path->flow_label);
}

/* Everything sent arrives, in order, in whatever portions. */
static inline void check_arrival(struct fixture *f, uint32_t portion)
{
	struct vb_rx rx[VB_TX_BATCH_PKTS];
	uint32_t k = 0, n;

	while (k < f->batch.cnt) {
		n = recv_some(f, rx, portion);
		assert_uint_in_range(n, 1, portion);
		for (uint32_t i = 0; i < n; i++)
			check_packet(f, &rx[i], k++);
	}
	assert_int_equal(recv_some(f, rx, portion), 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
