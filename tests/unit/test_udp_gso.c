/* SPDX-License-Identifier: BSD-2-Clause */
/* GSO batches of packets that leave by one send, and arrive by one receive. udp(7) UDP_SEGMENT,
 * UDP_GRO
 */
#include "udp_world.h"

static void send__batch_is_one_receive(void **state)
{
	struct fixture *f = *state;
	struct vb_rx rx[VB_TX_BATCH_PKTS];

	for (size_t v = 0; v < FAMILIES; v++) {
		clear(f);
		for (uint32_t k = 0; k < VB_UDP_GSO_MAX; k++)
			add(f, path_of(f, families[v]), k < 63 ? 1000 : 10, 1);
		assert_int_equal(send_all(f), VB_UDP_GSO_MAX);
		/* An idle link looks for one datagram only. */
		assert_int_equal(f->udp->rx.ask, 1);
		assert_int_equal(recv_some(f, rx, VB_TX_BATCH_PKTS), VB_UDP_GSO_MAX);
		for (uint32_t k = 0; k < VB_UDP_GSO_MAX; k++)
			check_packet(f, &rx[k], k);
		assert_int_equal(recv_some(f, rx, 1), 0);
	}
}

/* Of the largest MTU 15 packets are as much as a datagram holds. */
static void send__longest_batch(void **state)
{
	struct fixture *f = *state;
	struct vb_rx rx[VB_TX_BATCH_PKTS];

	for (size_t v = 0; v < FAMILIES; v++) {
		clear(f);
		for (uint32_t k = 0; k < 16; k++)
			add(f, path_of(f, families[v]), 4096, 1);
		assert_int_equal(send_all(f), 16);
		f->udp->rx.ask = 1;
		assert_int_equal(recv_some(f, rx, VB_TX_BATCH_PKTS), 15);
		assert_int_equal(recv_some(f, rx, VB_TX_BATCH_PKTS), 1);
	}
}

/* A packet that is shorter than those before it ends its GSO batch, whatever comes behind it. */
static void send__shorter_packets_between(void **state)
{
	struct fixture *f = *state;

	for (size_t v = 0; v < FAMILIES; v++) {
		clear(f);
		for (uint32_t k = 0; k < 20; k++)
			add(f, path_of(f, families[v]), k % 3 == 1 ? 12 : 1000, 1);
		assert_int_equal(send_all(f), 20);
		check_arrival(f, VB_TX_BATCH_PKTS);
	}
}

static void send__batch_ends_at_another_qp(void **state)
{
	struct fixture *f = *state;
	struct vb_rx rx[4];

	for (uint32_t k = 0; k < 4; k++)
		add(f, &f->path4, 64, 1)->hdr[7] = (uint8_t)(k / 2);
	assert_int_equal(send_all(f), 4);
	assert_int_equal(recv_some(f, rx, 4), 2);
	assert_int_equal(recv_some(f, rx, 4), 2);
}

/* A packet damaged on the way keeps its place in its GSO batch: later ones are checked with the IP
 * IDs that they were sent with. */
static void recv__damaged_between_others(void **state)
{
	struct fixture *f = *state;
	struct vb_tx_fate fate[5] = {[2] = {.damage = 1}};
	struct vb_rx rx[5];

	for (uint32_t k = 0; k < 5; k++)
		add(f, &f->path4, 64, 1);
	/* Until the sender is known. */
	for (int i = 0; i < 3; i++) {
		assert_int_equal(send_all(f), 5);
		assert_int_equal(recv_some(f, rx, 5), 5);
	}
	memset(&f->counters, 0, sizeof f->counters);
	f->batch.fate = fate;
	assert_int_equal(send_all(f), 5);
	assert_int_equal(recv_some(f, rx, 5), 4);
	for (uint32_t k = 0; k < 4; k++)
		check_packet(f, &rx[k], k < 2 ? k : k + 1);
	assert_int_equal(counter(f, VB_COUNTER_rx_icrc_encapsulated), 1);
	assert_int_equal(counter(f, VB_COUNTER_rx_ip_id_solved), 0);
	assert_int_equal(counter(f, VB_COUNTER_rx_ip_id_refused), 0);
	f->batch.fate = NULL;
}

/* A fate is of one packet, also where several GSO batches leave by one call. */
static void send__damaged_in_the_first_of_several(void **state)
{
	struct fixture *f = *state;
	struct vb_tx_fate fate[6] = {[1] = {.damage = 1}};
	struct vb_rx rx[6];
	uint32_t got = 0;

	for (uint32_t k = 0; k < 6; k++)
		add(f, &f->path4, k < 3 ? 64 : 128, 1);
	f->batch.fate = fate;
	assert_int_equal(send_all(f), 6);
	for (uint32_t n; (n = recv_some(f, rx, 6)) != 0;)
		for (uint32_t k = 0; k < n; k++, got++)
			check_packet(f, &rx[k], got ? got + 1 : 0);
	assert_int_equal(got, 5);
	f->batch.fate = NULL;
}

/* Many small datagrams are asked for by ever more buffers, up to as many as there are. */
static void recv__into_no_more_buffers_than_there_are(void **state)
{
	struct fixture *f = *state;
	struct vb_rx rx[VB_TX_BATCH_PKTS];
	uint32_t left = 16 * VB_UDP_RX_BUFS;

	for (uint32_t k = 0; k < left; k++) {
		clear(f);
		add(f, &f->path4, 64, 1);
		assert_int_equal(send_all(f), 1);
	}
	while (left) {
		uint32_t n = recv_some(f, rx, VB_TX_BATCH_PKTS);

		assert_uint_in_range(n, 1, left);
		assert_uint_in_range(f->udp->rx.cnt, 1, VB_UDP_RX_BUFS);
		assert_uint_in_range(f->udp->rx.ask, 1, VB_UDP_RX_BUFS);
		left -= n;
	}
	assert_int_equal(recv_some(f, rx, 1), 0);
}

/* Packets of two paths that are alike leave in one GSO batch; of two that differ in anything that a
 * datagram says they do not. */
static void send__batch_of_paths_that_are_alike(void **state)
{
	struct fixture *f = *state;
	struct vb_rx rx[4];

	for (int differ = 0; differ < 6; differ++) {
		struct vb_path one = f->path6, two;

		one.traffic_class = 8;
		two = one;
		two.hop_limit = (uint8_t)(one.hop_limit + (differ == 1));
		two.traffic_class = differ == 2 ? 12 : 8;
		two.flow_label = differ == 3 ? 0x777 : 0;
		two.sl = differ == 4 ? 2 : 0;
		two.udp_sport = differ == 5 ? 0xc155 : 0;
		clear(f);
		add(f, &one, 64, 1);
		add(f, &two, 64, 1);
		assert_int_equal(send_all(f), 2);
		f->udp->rx.ask = 1;
		assert_int_equal(recv_some(f, rx, 4), differ ? 1 : 2);
		check_packet(f, &rx[0], 0);
		if (differ)
			assert_int_equal(recv_some(f, rx, 4), 1);
		check_packet(f, &rx[differ ? 0 : 1], 1);
	}
}

/* One socket sends from several addresses: each packet has the ICRC of its own. */
static void send__from_addresses_in_turn(void **state)
{
	struct fixture *f = *state;
	struct vb_path other = f->path4;
	struct vb_rx rx[1];

	other.sgid = gid("::ffff:127.0.0.2");
	for (int i = 0; i < 8; i++) {
		clear(f);
		add(f, i % 3 ? &other : &f->path4, 64, 1);
		assert_int_equal(send_all(f), 1);
		assert_int_equal(recv_some(f, rx, 1), 1);
		check_packet(f, &rx[0], 0);
		assert_int_equal(f->udp->rx.ip_id, 0); /* and no other makes it right */
		/* The packet's origin is kept, for the next one that comes by the same way. */
		assert_true(f->udp->rx.origin.is_known);
		assert_int_equal(f->udp->rx.brings, VB_LINK_BRING_ALL);
	}
}

/* A packet to a process of this host counts in its own place, and one that does not leave does
 * not. */
static void send__counts_for_one_process(void **state)
{
	static struct vb_flow flow[256];
	static struct vb_flow_own own[256], none;
	struct fixture *f = *state;
	struct ifreq ifr = {.ifr_name = "lo", .ifr_mtu = 1500};
	struct vb_rx rx[1];
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	f->udp->cfg.flow = flow;
	f->udp->cfg.own = own;
	f->udp->cfg.slot = 5;
	add(f, &f->path4, 64, 1)->hdr[7] = 5;
	assert_int_equal(send_all(f), 1);
	assert_int_equal(own[5].bytes, vb_tx_wire_len(&f->batch.pkt[0]));
	assert_int_equal(flow[5].sent, own[5].bytes + VB_FLOW_OVERHEAD);
	assert_int_equal(own[5].last, flow[5].sent);
	assert_int_equal(recv_some(f, rx, 1), 1);
	assert_int_equal(flow[5].taken, flow[5].sent);
	own[5].bytes = 1000;
	assert_int_equal(ioctl(fd, SIOCSIFMTU, &ifr), 0);
	clear(f);
	add(f, &f->path4, 4096, 1)->hdr[7] = 5;
	assert_int_equal(send_all(f), 1);
	assert_int_equal(counter(f, VB_COUNTER_port_xmit_discards), 1);
	assert_int_equal(own[5].bytes, 1000);
	assert_int_equal(flow[5].sent, flow[5].taken);
	for (int k = 0; k < 256; k++)
		assert_true(k == 5 || memcmp(&own[k], &none, sizeof none) == 0);
	ifr.ifr_mtu = 65536;
	assert_int_equal(ioctl(fd, SIOCSIFMTU, &ifr), 0);
	close(fd);
	f->udp->cfg.flow = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(send__batch_is_one_receive),
	    T(send__longest_batch),
	    T(send__shorter_packets_between),
	    T(send__batch_ends_at_another_qp),
	    T(recv__damaged_between_others),
	    T(recv__into_no_more_buffers_than_there_are),
	    T(send__damaged_in_the_first_of_several),
	    T(recv__into_no_more_buffers_than_there_are),
	    T(send__batch_of_paths_that_are_alike),
	    T(send__from_addresses_in_turn),
	    T(send__counts_for_one_process),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace may be made here: test skipped\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
