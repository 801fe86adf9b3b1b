/* SPDX-License-Identifier: BSD-2-Clause */
/* Sending over UDP: GSO batches, source ports, what cannot be sent, what the tap sees. */
#include "udp_world.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

static void send__every_length(void **state)
{
	static const uint32_t len[] = {0,   1,   2,   3,    4,    5,    255,  256, 511,
				       512, 513, 516, 1024, 1025, 2048, 4095, 4096};
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

/* Two addresses of this host send to the same one from the same port: each from its own socket. */
static void send__source_port_of_two_addresses(void **state)
{
	struct fixture *f = *state;
	struct vb_path other;

	f->path4.udp_sport = 0xc123;
	other = f->path4;
	other.sgid = gid("::ffff:127.0.0.2");
	for (uint32_t i = 0; i < 6; i++)
		add(f, i & 1 ? &other : &f->path4, 64, 1);
	assert_int_equal(send_all(f), 6);
	check_arrival(f, 1);
	assert_ptr_not_equal(vb_udp_sock_find(&f->udp->socks, &other),
			     vb_udp_sock_find(&f->udp->socks, &f->path4));
}

/* Two ends on one host have the same source port, and each its own link. */
static void send__source_port_shared_by_two_links(void **state)
{
	struct fixture *f = *state;
	struct vb_udp_socks other;
	struct vb_udp_sock *s;

	assert_int_equal(vb_udp_socks_open(&other), 0);
	f->path4.udp_sport = 0xc123;
	s = vb_udp_sock_find(&other, &f->path4);
	assert_int_equal(s->port, 0xc123);
	add(f, &f->path4, 64, 1);
	assert_int_equal(send_all(f), 1);
	assert_int_equal(vb_udp_sock_find(&f->udp->socks, &f->path4)->port, 0xc123);
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
	assert_int_not_equal(vb_udp_sock_find(&f->udp->socks, &f->path4)->port, 0xc200);
	close(fd);
}

/* The next datagram of @s has the identification that it is taken to have: a raw socket shows it.
 */
static void check_identification(struct fixture *f, const struct vb_udp_sock *s)
{
	int raw = socket(AF_INET, SOCK_RAW | SOCK_NONBLOCK, IPPROTO_UDP);
	uint16_t id = s->ip_id;
	uint8_t ip[2048];

	assert_true(raw >= 0);
	clear(f);
	add(f, &f->path4, 64, 1);
	assert_int_equal(send_all(f), 1);
	assert_true(recv(raw, ip, sizeof ip, 0) > 20);
	assert_int_equal(ip[4] << 8 | ip[5], id);
	check_arrival(f, 1);
	close(raw);
}

/* The identification that an ICRC was made for is the one that left: the receiver never has to
 * solve for it but once. */
static void send__connected_identification_is_known(void **state)
{
	struct fixture *f = *state;
	struct vb_udp_sock *s;

	f->path4.udp_sport = 0xc124;
	s = vb_udp_sock_find(&f->udp->socks, &f->path4);
	/* Needed where the kernel does not tell a socket what it sent: then nothing is connected,
	 * and the other tests of this file have shown that sending works without. */
	if (!s->is_connected) {
		print_message("skipped: no time stamps with data (net.core.tstamp_allow_data)\n");
		skip();
	}
	for (uint32_t round = 0; round < 70; round++) {
		uint16_t id = s->ip_id;
		uint32_t cnt = 1 + round % 5;

		clear(f);
		s->gso = round % 7 != 0;
		for (uint32_t k = 0; k < cnt; k++)
			add(f, &f->path4, 64 + 4 * round, 1);
		assert_int_equal(send_all(f), cnt);
		assert_int_equal(s->ip_id, (uint16_t)(id + (s->gso ? 1 : cnt)));
		check_arrival(f, cnt);
		/* Not by solving alone: that also finds an identification that never was. */
		assert_int_equal(f->udp->rx.ip_id, s->gso ? id : (uint16_t)(id + cnt - 1));
	}
	/* The kernel agrees. */
	uint16_t id = s->ip_id;

	vb_udp_sock_relearn(s);
	assert_true(s->is_connected);
	assert_int_equal(s->ip_id, (uint16_t)(id + 1)); /* the probe took one */
	check_identification(f, s);
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

static void set_lo_mtu(int mtu)
{
	struct ifreq ifr = {.ifr_name = "lo", .ifr_mtu = mtu};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	assert_int_equal(ioctl(fd, SIOCSIFMTU, &ifr), 0);
	close(fd);
}

/* A shorter packet ends a GSO batch, unless it begins one: so a message is two, its longer first
 * packet and the rest. */
static void send__run_of_shorter_packets(void **state)
{
	static const uint32_t len[] = {600, 500, 500, 500, 600, 500};
	static const uint32_t received[] = {1, 3, 2, 0};
	struct fixture *f = *state;
	struct vb_rx rx[8];

	for (size_t v = 0; v < FAMILIES; v++) {
		uint32_t at = 0;

		clear(f);
		for (size_t k = 0; k < sizeof len / sizeof len[0]; k++)
			add(f, path_of(f, families[v]), len[k], 1);
		assert_int_equal(send_all(f), f->batch.cnt);
		for (size_t i = 0; i < sizeof received / sizeof received[0]; i++) {
			f->udp->rx.ask = 1;
			assert_int_equal(recv_some(f, rx, 8), received[i]);
			for (uint32_t k = 0; k < received[i]; k++)
				check_packet(f, &rx[k], at++);
		}
	}
}

static struct vb_flow flow[256];

/* Every packet goes to a process of this host, which is counted in flow[0]. */
static void receiver_is_here(struct fixture *f)
{
	static struct vb_flow_own own[256];

	f->udp->cfg.flow = flow;
	f->udp->cfg.own = own;
}

/* GSO batches of one path leave in one call, and each packet has the identification that its ICRC
 * was made for. */
static void send__batches_in_one_call(void **state)
{
	struct fixture *f = *state;
	struct vb_udp_sock *s;

	receiver_is_here(f);
	f->path4.udp_sport = 0xc125;
	s = vb_udp_sock_find(&f->udp->socks, &f->path4);
	for (uint32_t round = 0; round < 40; round++) {
		uint16_t id = s->ip_id;
		uint32_t wire = 0;

		clear(f);
		for (uint32_t k = 0; k < 18; k++) {
			uint32_t len = k % 6 == 0 ? 1400 : 1300;

			len = vb_tx_wire_len(add(f, &f->path4, len, 1));
			wire = k % 6 < 2 ? len : wire + len;
		}
		memset(f->udp->tx.msg, 0, sizeof f->udp->tx.msg);
		assert_int_equal(send_all(f), 18);
		/* The kernel says what each message of a call had: four at first, then two. */
		assert_int_equal(f->udp->tx.msg[1].msg_len, wire);
		assert_int_equal(f->udp->tx.msg[3].msg_len, wire);
		if (s->is_connected)
			assert_int_equal(s->ip_id, (uint16_t)(id + 6));
		check_arrival(f, VB_TX_BATCH_PKTS);
		if (s->is_connected)
			assert_int_equal(f->udp->rx.ip_id, (uint16_t)(id + 5));
		assert_int_equal(counter(f, VB_COUNTER_port_xmit_packets), 18);
	}
}

/* A GSO batch that is refused behind others in its call leaves no trace in counts, and those behind
 * it have right identifications. */
static void send__refused_behind_others(void **state)
{
	static const uint32_t len[] = {1024, 1000, 1000, 4096, 4096, 1000, 1000};
	struct fixture *f = *state;
	uint64_t sent = 0, flow_before;

	receiver_is_here(f);
	f->path4.udp_sport = f->path6.udp_sport = 0xc126;
	set_lo_mtu(1500);
	for (size_t v = 0; v < FAMILIES; v++) {
		const struct vb_udp_sock *s =
		    vb_udp_sock_find(&f->udp->socks, path_of(f, families[v]));
		const struct vb_flow_own *own = &f->udp->cfg.own[0];
		uint64_t bytes = own->bytes;
		uint16_t probes = s->probes;
		struct vb_rx rx[4];

		clear(f);
		sent = flow_before = flow[0].sent;
		for (size_t k = 0; k < sizeof len / sizeof len[0]; k++)
			add(f, path_of(f, families[v]), len[k], 1);
		assert_int_equal(send_all(f), f->batch.cnt);
		assert_int_equal(counter(f, VB_COUNTER_port_xmit_discards), 2);
		assert_int_equal(counter(f, VB_COUNTER_port_xmit_packets), 5);
		for (uint32_t k = 0; k < f->batch.cnt; k++)
			sent += len[k] < 4096 ? vb_tx_wire_len(&f->batch.pkt[k]) : 0;
		/* The sender's own account knows of what has left and of nothing else. */
		assert_int_equal(own->bytes - bytes, sent - flow_before);
		assert_int_equal(own->last, flow[0].sent);
		assert_int_equal(flow[0].sent, sent + 3 * VB_FLOW_OVERHEAD);
		/* The kernel's identification is learned again: when the call stopped, and for each
		 * of the two packets when it is refused in a GSO batch and by itself. */
		if (vb_udp_is_numbered(s))
			assert_int_equal(s->probes, probes + 5);
		assert_int_equal(recv_some(f, rx, 1), 1);
		check_packet(f, &rx[0], 0);
		assert_int_equal(recv_some(f, rx, 4), 4);
		check_packet(f, &rx[0], 1);
		check_packet(f, &rx[3], 6);
	}
	set_lo_mtu(65536);
}

/* A value that becomes an option of the socket while a call is put together does not cut what the
 * call holds already. */
static void send__option_changes_between_calls_only(void **state)
{
	struct fixture *f = *state;

	f->path6.udp_sport = 0xc127;
	for (uint32_t round = 0; round < 40; round++) {
		clear(f);
		add(f, &f->path6, 1400, 1);
		add(f, &f->path6, round < 20 ? 1400 : 1300, 1);
		if (round >= 20)
			add(f, &f->path6, 1300, 1);
		assert_int_equal(send_all(f), f->batch.cnt);
		check_arrival(f, VB_TX_BATCH_PKTS);
	}
}

/* The longest packets there are fill a batch, in as many segments as it has. */
static void send__full_batch(void **state)
{
	struct fixture *f = *state;
	int big = 1 << 20;

	setsockopt(f->udp->cfg.rx_fd, SOL_SOCKET, SO_RCVBUF, &big, sizeof big);
	for (size_t v = 0; v < FAMILIES; v++) {
		clear(f);
		while (f->batch.cnt < VB_TX_BATCH_PKTS)
			add(f, path_of(f, families[v]), f->batch.cnt % 3 ? 4093 : VB_PAYLOAD_MAX,
			    VB_TX_BATCH_SEGS / VB_TX_BATCH_PKTS);
		assert_int_equal(send_all(f), VB_TX_BATCH_PKTS);
		check_arrival(f, VB_TX_BATCH_PKTS);
	}
}

static atomic_bool is_over;

/* The race is what this is about. */
__attribute__((no_sanitize("thread"))) static void *scribble(void *arg)
{
	struct fixture *f = arg;

	for (uint32_t i = 0; !is_over; i++)
		for (size_t at = 0; at < 4 * VB_PAYLOAD_MAX; at += 64)
			((volatile uint8_t *)f->payload)[at] = (uint8_t)i;
	return NULL;
}

/* An application may write to memory that is being sent: the payload that arrives is then this or
 * that, but never in a packet with a wrong ICRC, which would have to be sent again. */
static void send__while_the_payload_changes(void **state)
{
	static const uint32_t len[] = {VB_UDP_SHORT_MAX, VB_PAYLOAD_MAX};
	struct fixture *f = *state;
	uint32_t sent = 0, got = 0, n;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, scribble, f), 0);
	for (uint32_t round = 0; round < 400; round++) {
		struct vb_rx rx[4];

		f->batch.cnt = f->batch.seg_cnt = 0;
		for (uint32_t k = 0; k < 4; k++)
			add(f, &f->path4, len[round % 2], 1);
		sent += send_all(f);
		while ((n = recv_some(f, rx, 4)) != 0)
			got += n;
	}
	is_over = true;
	pthread_join(thread, NULL);
	assert_int_equal(sent, 1600);
	assert_int_equal(got, sent);
	assert_int_equal(counter(f, VB_COUNTER_port_rcv_errors), 0);
}

/* A GSO batch goes to one process as a whole, so packets for two QPs never share one. */
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

/* A packet that does not fit the device is a discard, and its neighbours leave. */
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
	mixed.dgid = gid("2001:db8::7f00:1"); /* ends as 127.0.0.1 does */
	add(f, &no_route, 64, 1);
	add(f, &no_route6, 64, 1);
	add(f, &foreign, 64, 1);
	add(f, &foreign, 64, 1);
	add(f, &foreign6, 64, 1);
	add(f, &mixed, 64, 1);
	add(f, &mixed, 64, 1);
	assert_int_equal(send_all(f), 7);
	assert_int_equal(counter(f, VB_COUNTER_port_xmit_discards), 7);
	assert_int_equal(counter(f, VB_COUNTER_port_xmit_packets), 0);
	clear(f);
	no_port.port = VB_LINK_PORTS_MAX;
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

/* The tap sees both directions, with the identification each packet of a GSO batch has; the packets
 * that it sees sent are those that it sees arrive. */
static void tap__both_directions(void **state)
{
	static const uint32_t len[] = {10, VB_UDP_SHORT_MAX, VB_UDP_SHORT_MAX + 1};
	struct fixture *f = *state;
	struct timespec now;
	uint64_t before;

	f->path4.traffic_class = 0x6a;
	for (size_t j = 0; j < sizeof len / sizeof len[0]; j++) {
		clear(f);
		f->tap_on = 0;
		for (uint32_t k = 0; k < 5; k++)
			add(f, &f->path4, len[j], 2);
		assert_int_equal(send_all(f), 5);
		check_arrival(f, 5);
		assert_int_equal(f->tap_cnt, 0);
		f->tap_on = 1;
		clock_gettime(CLOCK_REALTIME, &now);
		before = (uint64_t)now.tv_sec * VB_SEC + (uint64_t)now.tv_nsec;
		assert_int_equal(send_all(f), 5);
		check_arrival(f, 5);
		assert_int_equal(f->tap_cnt, 10);
		for (uint32_t i = 0; i < 10; i++) {
			const struct vb_link_tap *t = &f->tap[i];

			assert_int_equal(t->sent, i < 5);
			/* Sent before the call: of one GSO batch all at one time. */
			assert_true(i < 5 ? t->at_ns >= before && t->at_ns == f->tap[0].at_ns
					  : t->at_ns == 0);
			assert_int_equal(t->udp.ip_id, i % 5);
			assert_int_equal(t->udp.ip_frag, DF);
			assert_int_equal(t->udp.dport, VB_ROCE_PORT);
			assert_int_equal(t->udp.sport, f->udp->socks.own[0].port);
			assert_memory_equal(&t->udp.src, &f->path4.sgid, 16);
			assert_int_equal(t->traffic_class, 0x6a);
			assert_int_equal(t->hop_limit, 7);
			assert_int_equal(t->port, 1);
			assert_int_equal(f->tap_len[i], vb_tx_wire_len(&f->batch.pkt[i % 5]));
			assert_memory_equal(f->tap_bytes[i], f->tap_bytes[i % 5], f->tap_len[i]);
		}
	}
}

static void open__not_a_udp_socket(void **state)
{
	struct vb_link_config cfg = {.rx_fd = -1};
	struct vb_link *l = NULL;

	(void)state;
	assert_int_equal(vb_udp_open(&l, &cfg), -EBADF);
	assert_null(l);
}

/* Bytes that the slot's last owner has not read are not there any more. */
static void open__waits_for_nothing_of_another(void **state)
{
	struct vb_flow flows[2] = {[1] = {.sent = 9000, .taken = 4000}};
	struct vb_link_config cfg = {
	    .rx_fd = rx_socket(AF_INET6), .flow = flows, .slot = 1, .port_of = port_of};
	struct vb_link *l;

	(void)state;
	assert_int_equal(vb_udp_open(&l, &cfg), 0);
	assert_int_equal(vb_flow_backlog(&flows[1], flows[1].taken), 0);
	l->ops->close(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(send__every_length),
	    T(send__source_port),
	    T(send__source_port_of_two_addresses),
	    T(send__source_port_shared_by_two_links),
	    T(send__source_port_taken),
	    T(send__connected_identification_is_known),
	    T(send__many_source_ports),
	    T(send__run_of_shorter_packets),
	    T(send__batches_in_one_call),
	    T(send__refused_behind_others),
	    T(send__option_changes_between_calls_only),
	    T(send__full_batch),
	    T(send__while_the_payload_changes),
	    T(send__without_gso),
	    T(send__longer_than_the_device_takes),
	    T(send__nowhere_to_go),
	    T(send__from_the_middle_of_a_batch),
	    T(tap__both_directions),
	    cmocka_unit_test(open__not_a_udp_socket),
	    cmocka_unit_test(open__waits_for_nothing_of_another),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace may be made here: test skipped\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
