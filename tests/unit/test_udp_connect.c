/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connected sockets: they learn the identification that the kernel gives, whatever else waits in
 * their error queue. Where it cannot be learned they are connected no more. Packets that go out do
 * not depend on the defaults of the host. link/udp/connect.c
 */
#include "udp_world.h"

#include <errno.h>
#include <linux/net_tstamp.h>

#define SPORT 0xc137u

/* The socket for f->path4, which this kernel can tell the identification: it skips the test where
 * it says that it does not. */
static struct vb_udp_sock *connected(struct fixture *f)
{
	FILE *allowed = fopen("/proc/sys/net/core/tstamp_allow_data", "re");
	struct vb_udp_sock *s;
	int may = 1;

	if (allowed) {
		assert_int_equal(fscanf(allowed, "%d", &may), 1);
		fclose(allowed);
	}
	f->path4.udp_sport = SPORT;
	s = vb_udp_sock_find(&f->udp->socks, &f->path4);
	if (!may)
		skip();
	assert_true(s->is_connected);
	return s;
}

static void send_one(struct fixture *f)
{
	clear(f);
	add(f, &f->path4, 64, 1);
	assert_int_equal(send_all(f), 1);
	check_arrival(f, 1);
}

static void connect__knows_the_identification(void **state)
{
	struct fixture *f = *state;
	struct vb_udp_sock *s = connected(f);
	uint16_t id = s->ip_id;

	send_one(f);
	assert_int_equal(f->udp->rx.ip_id, id);
	assert_int_equal(s->ip_id, (uint16_t)(id + 1));
}

/* A time stamp of a datagram that is not the probe comes first, and is passed over. */
static void relearn__behind_another_time_stamp(void **state)
{
	struct fixture *f = *state;
	struct vb_udp_sock *s = connected(f);
	uint32_t flags = SOF_TIMESTAMPING_TX_SCHED;
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof flags)] = {0};
	char bytes[] = "another";
	struct iovec iov = {bytes, sizeof bytes};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof control};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	uint16_t id = s->ip_id;

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SO_TIMESTAMPING;
	c->cmsg_len = CMSG_LEN(sizeof flags);
	memcpy(CMSG_DATA(c), &flags, sizeof flags);
	assert_int_equal(sendmsg(s->fd, &m, 0), sizeof bytes);
	vb_udp_sock_relearn(s);
	assert_true(s->is_connected);
	assert_int_equal(s->ip_id, (uint16_t)(id + 2)); /* that datagram, and the probe */
}

/* The address of the socket has gone, and no way leads there: nothing is learnt any more, and what
 * is sent has the identification 0, as from a socket that is not connected. */
static void relearn__where_no_way_leads(void **state)
{
	struct fixture *f = *state;
	struct vb_udp_sock *s = connected(f);
	struct vb_gid own = s->sgid;
	struct sockaddr_in name;
	socklen_t len = sizeof name;

	s->sgid = gid("::ffff:192.0.2.1");
	vb_udp_sock_relearn(s);
	s->sgid = own;
	assert_false(s->is_connected);
	assert_int_equal(s->ip_id, 0);
	assert_int_equal(getpeername(s->fd, (struct sockaddr *)&name, &len), -1);
	assert_int_equal(errno, ENOTCONN);
	send_one(f);
	assert_int_equal(f->udp->rx.ip_id, 0);
}

/* Over IPv6 nothing is to be learnt, and a datagram finds its way all the sooner. */
static void connect__ipv6(void **state)
{
	struct fixture *f = *state;
	struct vb_udp_sock *s;
	struct sockaddr_in6 name;
	socklen_t len = sizeof name;

	f->path6.udp_sport = SPORT;
	s = vb_udp_sock_find(&f->udp->socks, &f->path6);
	assert_true(s->is_connected);
	assert_int_equal(getpeername(s->fd, (struct sockaddr *)&name, &len), 0);
	assert_memory_equal(&name.sin6_addr, f->path6.dgid.b, 16);
	assert_int_equal(name.sin6_port, htons(VB_ROCE_PORT));
}

/* A packet by a connected socket has its path's flow label, also where the socket was opened for
 * another one. RFC 6437 */
static void connect__has_the_flow_label(void **state)
{
	static const uint32_t labels[] = {0x12345, 0x54321, 0, 0x12345};
	struct fixture *f = *state;

	f->path6.udp_sport = SPORT;
	for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++) {
		f->path6.flow_label = labels[i];
		clear(f);
		add(f, &f->path6, 64, 1);
		assert_int_equal(send_all(f), 1);
		check_arrival(f, 1);
	}
	assert_true(vb_udp_sock_find(&f->udp->socks, &f->path6)->is_connected);
}

/* A group or a link-local address is reached by an interface, which each send names: no socket is
 * connected there. */
static void connect__not_where_the_interface_matters(void **state)
{
	static const char *const address[] = {"ff12::7", "fe80::7", "::ffff:239.1.2.3"};
	struct fixture *f = *state;

	for (int i = 0; i < 3; i++) {
		struct vb_path p = i < 2 ? f->path6 : f->path4;
		const struct vb_udp_sock *s;

		p.udp_sport = SPORT;
		p.dgid = gid(address[i]);
		s = vb_udp_sock_find(&f->udp->socks, &p);
		assert_non_null(s);
		assert_true(s->is_bound);
		assert_false(s->is_connected);
	}
}

static const char *const hops_file[] = {"/proc/sys/net/ipv4/ip_default_ttl",
					"/proc/sys/net/ipv6/conf/lo/hop_limit"};

/* The hop limit of a path that is the usual one is no option of each datagram, and yet it is not
 * that of the host. */
static void hop_limit__is_the_paths(void **state)
{
	struct fixture *f = *state;
	struct vb_rx rx[1];

	for (int i = 0; i < 2; i++)
		netns_write(hops_file[i], "33");
	for (size_t v = 0; v < FAMILIES; v++) {
		struct vb_path *p = path_of(f, families[v]);

		p->udp_sport = SPORT;
		p->hop_limit = 64;
		clear(f);
		add(f, p, 64, 1);
		assert_int_equal(send_all(f), 1);
		assert_int_equal(recv_some(f, rx, 1), 1);
		check_packet(f, &rx[0], 0);
	}
	for (int i = 0; i < 2; i++)
		netns_write(hops_file[i], "64");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(connect__knows_the_identification), T(relearn__behind_another_time_stamp),
	    T(relearn__where_no_way_leads),       T(connect__ipv6),
	    T(connect__has_the_flow_label),       T(connect__not_where_the_interface_matters),
	    T(hop_limit__is_the_paths),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespaces here: test skipped\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
