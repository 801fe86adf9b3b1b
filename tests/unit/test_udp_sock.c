/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The options of the UDP link's sockets, and when an option of a path becomes the socket's own.
 * link/udp/sock.c, link/udp/envelope.c; ip(7), ipv6(7), udp(7), socket(7)
 */
#include "udp_world.h"

#include <errno.h>
#include <netinet/udp.h>

#define OPT_NO_CHECK6_RX 102
#define RUN 16 /* sends in a row that ask for the same */

static int option(int fd, int level, int name)
{
	int is = -1;
	socklen_t len = sizeof is;

	assert_int_equal(getsockopt(fd, level, name, &is, &len), 0);
	return is;
}

/* The bytes that a buffer may have by the system's limit in @file, as getsockopt() has them. */
static int buffer_limit(const char *file, int wanted)
{
	FILE *f = fopen(file, "re");
	int most = 0;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &most), 1);
	fclose(f);
	return 2 * (wanted < most ? wanted : most);
}

static void expect_sends_only(const struct vb_udp_sock *s)
{
	int level = s->is_ipv6 ? IPPROTO_IPV6 : IPPROTO_IP;

	assert_int_equal(fcntl(s->fd, F_GETFD), FD_CLOEXEC);
	assert_true(fcntl(s->fd, F_GETFL) & O_NONBLOCK);
	assert_int_equal(option(s->fd, SOL_SOCKET, SO_REUSEPORT), 1);
	assert_int_equal(option(s->fd, level, s->is_ipv6 ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER),
			 IP_PMTUDISC_PROBE); /* the same number */
	assert_int_equal(option(s->fd, level, s->is_ipv6 ? IPV6_UNICAST_HOPS : IP_TTL), 64);
	if (s->is_ipv6)
		assert_int_equal(option(s->fd, level, IPV6_V6ONLY), 1);
	assert_true(option(s->fd, SOL_SOCKET, SO_RCVBUF) < 8192);
	assert_true(option(s->fd, SOL_SOCKET, SO_SNDBUF) >=
		    buffer_limit("/proc/sys/net/core/wmem_max", 1 << 20));
	assert_int_equal(s->hop_limit.have, 64);
}

/* A sending socket does not fragment or believe ICMP, shares its port, and takes no memory for
 * packets that come to it. */
static void socks__that_send(void **state)
{
	struct fixture *f = *state;
	uint8_t byte = 0;

	for (size_t v = 0; v < FAMILIES; v++) {
		struct vb_path *p = path_of(f, families[v]);
		struct vb_udp_sock *s;
		struct sockaddr_in in = {.sin_family = AF_INET};
		struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
		int fd = socket(v ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

		expect_sends_only(&f->udp->socks.own[v]);
		p->udp_sport = 0xc140;
		s = vb_udp_sock_find(&f->udp->socks, p);
		expect_sends_only(s);
		assert_int_equal(s->port, 0xc140);
		s = &f->udp->socks.own[v];
		memcpy(&in.sin_addr, f->path4.sgid.b + 12, 4);
		memcpy(&in6.sin6_addr, f->path6.sgid.b, 16);
		in.sin_port = in6.sin6_port = htons(s->port);
		assert_int_equal(sendto(fd, &byte, 1, 0, v ? (void *)&in6 : (void *)&in,
					v ? sizeof in6 : sizeof in),
				 1);
		assert_int_equal(recv(s->fd, &byte, 1, MSG_DONTWAIT), -1);
		assert_int_equal(errno, EAGAIN);
		close(fd);
	}
}

/* A receiving socket brings local addresses, takes GSO batches as they come, checksum 0 over IPv6,
 * and has as large a buffer as it may. */
static void socks__that_receive(void **state)
{
	struct fixture *f = *state;
	int fd = f->udp->cfg.rx_fd, limit = buffer_limit("/proc/sys/net/core/rmem_max", 8 << 20);

	assert_int_equal(option(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO), 1);
	assert_int_equal(option(fd, IPPROTO_UDP, OPT_NO_CHECK6_RX), 1);
	assert_int_equal(option(fd, IPPROTO_UDP, UDP_GRO), 1);
	assert_true(option(fd, SOL_SOCKET, SO_RCVBUF) >= limit);
	for (uint32_t bring = 0; bring <= VB_LINK_BRING_ALL; bring++) {
		bool rest = bring & VB_LINK_BRING_REST;

		vb_udp_sock_bring(fd, bring);
		assert_int_equal(option(fd, IPPROTO_IP, IP_RECVTOS), bring & 1);
		assert_int_equal(option(fd, IPPROTO_IP, IP_RECVTTL), rest);
		assert_int_equal(option(fd, IPPROTO_IPV6, IPV6_RECVTCLASS), bring & 1);
		assert_int_equal(option(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT), rest);
		assert_int_equal(option(fd, IPPROTO_IPV6, 11), rest); /* IPV6_FLOWINFO */
	}
}

/* A buffer that is larger already stays as it is. */
static void socks__that_have_a_larger_buffer(void **state)
{
	int fd = rx_socket(AF_INET), huge = 20 << 20;

	(void)state;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &huge, sizeof huge)) {
		close(fd);
		print_message("skipped: no larger buffer may be had\n");
		skip();
	}
	assert_int_equal(vb_udp_sock_receive(fd), 0);
	assert_int_equal(option(fd, SOL_SOCKET, SO_RCVBUF), 2 * huge);
	assert_int_equal(option(fd, IPPROTO_IP, IP_PKTINFO), 1);
	close(fd);
	fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	assert_true(vb_udp_sock_receive(fd) < 0);
	close(fd);
}

static void send_one(struct fixture *f, const struct vb_path *p)
{
	struct vb_rx rx[1];

	clear(f);
	add(f, p, 64, 1);
	assert_int_equal(send_all(f), 1);
	assert_int_equal(recv_some(f, rx, 1), 1);
	assert_int_equal(rx[0].path->traffic_class, p->traffic_class);
	assert_int_equal(rx[0].path->hop_limit, p->hop_limit ? p->hop_limit : 64);
}

static int class_of(const struct vb_udp_sock *s)
{
	return s->is_ipv6 ? option(s->fd, IPPROTO_IPV6, IPV6_TCLASS)
			  : option(s->fd, IPPROTO_IP, IP_TOS);
}

static int hops_of(const struct vb_udp_sock *s)
{
	return s->is_ipv6 ? option(s->fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS)
			  : option(s->fd, IPPROTO_IP, IP_TTL);
}

/* A value that sixteen sends in a row ask for becomes the socket's own option; another in between
 * begins the row again. Each packet has what its path says, all the while. */
static void options__follow_a_row_of_sends(void **state)
{
	struct fixture *f = *state;

	for (size_t v = 0; v < FAMILIES; v++) {
		struct vb_path p = *path_of(f, families[v]), other = p;
		const struct vb_udp_sock *s;

		p.udp_sport = other.udp_sport = 0xc141;
		p.traffic_class = 0x48;
		p.hop_limit = 9;
		other.traffic_class = 0x20;
		other.hop_limit = 12;
		s = vb_udp_sock_find(&f->udp->socks, &p);
		for (int i = 0; i < RUN - 1; i++)
			send_one(f, &p);
		assert_int_equal(class_of(s), 0);
		assert_int_equal(hops_of(s), 64);
		send_one(f, &other);
		for (int i = 0; i < RUN - 1; i++)
			send_one(f, &p);
		assert_int_equal(class_of(s), 0);
		assert_int_equal(hops_of(s), 64);
		send_one(f, &p);
		assert_int_equal(class_of(s), 0x48);
		assert_int_equal(hops_of(s), 9);
		/* A packet that has the option in between ends the row as well. */
		for (int i = 0; i < RUN - 1; i++)
			send_one(f, &other);
		send_one(f, &p);
		send_one(f, &other);
		assert_int_equal(class_of(s), 0x48);
		assert_int_equal(hops_of(s), 9);
		/* No hop limit is the usual one. */
		p.hop_limit = 0;
		for (int i = 0; i < 2 * RUN; i++)
			send_one(f, &p);
		assert_int_equal(hops_of(s), 64);
	}
}

/* When there is a socket for as many flows as there may be, a further flow goes by the socket of
 * its address and place, and by the link's own where that has another address. */
static void socks__are_shared_when_there_are_many(void **state)
{
	struct fixture *f = *state;
	struct vb_path p = f->path4;
	struct vb_udp_socks *all = &f->udp->socks;

	for (uint32_t i = 0; i < VB_UDP_SEND_SOCKS; i++) {
		p.udp_sport = (uint16_t)(0xc400 + i);
		assert_ptr_equal(vb_udp_sock_find(all, &p), &all->sock[i]);
		assert_int_equal(all->sock[i].port, p.udp_sport);
	}
	assert_int_equal(all->cnt, VB_UDP_SEND_SOCKS);
	for (uint32_t i = 0; i < VB_UDP_SEND_SOCKS; i++) {
		p.udp_sport = (uint16_t)(0xc400 + i);
		assert_ptr_equal(vb_udp_sock_find(all, &p), &all->sock[i]);
		assert_int_equal(all->last, i);
	}
	p.udp_sport = 0xd000 + 5;
	assert_ptr_equal(vb_udp_sock_find(all, &p), &all->sock[p.udp_sport % VB_UDP_SEND_SOCKS]);
	p.sgid = gid("::ffff:127.0.0.9");
	assert_ptr_equal(vb_udp_sock_find(all, &p), &all->own[0]);
	p = f->path6;
	p.udp_sport = 0xd000;
	assert_ptr_equal(vb_udp_sock_find(all, &p), &all->own[1]);
	/* A flow that asks for no port has none of its own. */
	p.udp_sport = 0;
	assert_ptr_equal(vb_udp_sock_find(all, &p), &all->own[1]);
	send_one(f, &p);
}

/* Senders of this host count what they send here: the part that is taken counts, and packets of
 * others do not. link/flow.h */
static void recv__counts_what_senders_of_this_host_sent(void **state)
{
	struct fixture *f = *state;
	struct vb_flow flow[3] = {0};
	struct vb_path p = f->path4;
	struct vb_rx rx[1];

	add(f, &p, 64, 1);
	assert_int_equal(send_all(f), 1);
	f->udp->cfg.slot = 2;
	f->udp->cfg.flow = flow; /* the sender has not counted */
	flow[2].sent = 1 << 20;
	assert_int_equal(recv_some(f, rx, 1), 1);
	assert_int_equal(flow[2].taken, vb_tx_wire_len(&f->batch.pkt[0]) + VB_FLOW_OVERHEAD);
	f->udp->cfg.flow = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(socks__that_send),
	    T(socks__that_receive),
	    cmocka_unit_test(socks__that_have_a_larger_buffer),
	    T(options__follow_a_row_of_sends),
	    T(socks__are_shared_when_there_are_many),
	    T(recv__counts_what_senders_of_this_host_sent),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace may be made here: test skipped\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
