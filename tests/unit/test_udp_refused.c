/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sends that the kernel refuses: a socket that is full, a flow label that somebody has leased, an
 * ICMP error of an earlier datagram, and a host that has no IPv6. No packet that could have left is
 * lost for it. ip(7), ipv6(7), udp(7)
 */
#include "udp_world.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Datagrams for a neighbour that does not answer stay in their socket's buffer: when it is full
 * they wait, and nothing counts as lost. */
static void full__waits(void **state)
{
	struct fixture *f = *state;
	struct vb_path path = f->path4;
	struct vb_udp_sock *s;
	uint32_t sent = 0, n = 2;
	int least = 1;

	if (system("ip link add vb0 type veth peer name vb1 2>/dev/null && ip link set vb1 up && "
		   "ip link set vb0 up && ip addr add 10.79.0.1/24 dev vb0"))
		skip();
	path.sgid = gid("::ffff:10.79.0.1");
	path.dgid = gid("::ffff:10.79.0.2");
	path.udp_sport = 0xc200;
	s = vb_udp_sock_find(&f->udp->socks, &path);
	assert_int_equal(setsockopt(s->fd, SOL_SOCKET, SO_SNDBUF, &least, sizeof least), 0);
	for (int round = 0; round < 100 && n == 2; round++) {
		f->batch.cnt = f->batch.seg_cnt = 0;
		add(f, &path, 1024, 1);
		add(f, &path, 1024, 1);
		n = send_all(f);
		sent += n;
	}
	assert_true(n < 2);
	assert_int_equal(counter(f, VB_COUNTER_port_xmit_discards), 0);
	assert_int_equal(counter(f, VB_COUNTER_port_xmit_packets), sent);
	assert_int_equal(system("ip link del vb0"), 0);
}

/* While somebody has leased a flow label for himself alone, the kernel takes none that is not
 * leased: the packets of a GSO batch that it refuses for that leave without one. */
static void flow_label__leased_by_another(void **state)
{
	struct fixture *f = *state;
	struct {
		struct vb_gid dst;
		uint32_t label;
		uint8_t action, share;
		uint16_t flags, expires, linger;
		uint32_t pad;
	} lease = {.dst = f->path6.dgid, .label = htonl(0x54321), .share = 1, .flags = 1};
	struct vb_rx rx[2];
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);

	/* IPV6_FLOWLABEL_MGR of linux/in6.h, which cannot be included here. */
	if (setsockopt(fd, IPPROTO_IPV6, 32, &lease, sizeof lease)) {
		close(fd);
		skip();
	}
	f->path6.udp_sport = 0xc201;
	(void)vb_udp_sock_find(&f->udp->socks, &f->path6); /* without a label it can be opened */
	f->path6.flow_label = 0x12345;
	add(f, &f->path6, 64, 1);
	add(f, &f->path6, 64, 1);
	assert_int_equal(send_all(f), 2);
	assert_int_equal(counter(f, VB_COUNTER_port_xmit_discards), 0);
	assert_int_equal(recv_some(f, rx, 2), 1);
	assert_int_equal(rx[0].path->flow_label, 0);
	assert_int_equal(recv_some(f, rx, 2), 1);
	close(fd);
}

/* Nobody listened when the first datagram came, and an ICMP error said so. The next one finds a
 * listener and arrives all the same. */
static void icmp__costs_no_datagram(void **state)
{
	struct fixture *f = *state; /* receives over IPv4 alone */
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons(VB_ROCE_PORT)};
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK, 0), one = 1;
	uint8_t got[2048];

	f->path6.udp_sport = 0xc202;
	add(f, &f->path6, 64, 1);
	assert_int_equal(send_all(f), 1);
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
	assert_int_equal(send_all(f), 1);
	assert_int_equal(recv(fd, got, sizeof got, 0), vb_tx_wire_len(&f->batch.pkt[0]));
	assert_int_equal(counter(f, VB_COUNTER_port_xmit_discards), 0);
	/* So does a message of several GSO batches. */
	clear(f);
	close(fd);
	add(f, &f->path6, 64, 1);
	assert_int_equal(send_all(f), 1);
	fd = socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
	clear(f);
	add(f, &f->path6, 64, 1);
	add(f, &f->path6, 128, 1);
	assert_int_equal(send_all(f), 2);
	assert_int_equal(recv(fd, got, sizeof got, 0), vb_tx_wire_len(&f->batch.pkt[0]));
	assert_int_equal(recv(fd, got, sizeof got, 0), vb_tx_wire_len(&f->batch.pkt[1]));
	close(fd);
}

static struct {
	uint32_t cnt;
	int err;
} told;

static void on_refused(void *ctx, const struct vb_gid *to, int err)
{
	(void)ctx, (void)to;
	told.cnt++;
	told.err = err;
}

static void set_lo_mtu(int mtu)
{
	struct ifreq ifr = {.ifr_name = "lo", .ifr_mtu = mtu};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	assert_int_equal(ioctl(fd, SIOCSIFMTU, &ifr), 0);
	close(fd);
}

/* A connected socket reports once a packet that the kernel refuses each time; the receiver's bytes
 * under way do not count it. */
static void refused__is_told_once(void **state)
{
	struct fixture *f = *state;
	static struct vb_flow flow[256];
	static struct vb_flow_own own[256];

	f->udp->cfg.refused = on_refused;
	f->udp->cfg.flow = flow;
	f->udp->cfg.own = own;
	for (size_t v = 0; v < FAMILIES; v++) {
		struct vb_path *p = path_of(f, families[v]);

		p->udp_sport = 0xc203;
		(void)vb_udp_sock_find(&f->udp->socks, p);
		set_lo_mtu(1500);
		for (uint32_t cnt = 1; cnt <= 2; cnt++) {
			clear(f);
			memset(&told, 0, sizeof told);
			for (uint32_t k = 0; k < cnt; k++)
				add(f, p, 4096, 1);
			assert_int_equal(send_all(f), cnt);
			assert_int_equal(counter(f, VB_COUNTER_port_xmit_discards), cnt);
			assert_int_equal(told.cnt, cnt);
			assert_int_equal(told.err, EMSGSIZE);
			assert_int_equal(flow[0].sent, 0);
			assert_int_equal(own[0].bytes, 0);
		}
		set_lo_mtu(65536);
	}
	f->udp->cfg.flow = NULL;
}

/* socket(AF_INET6) of this process is EAFNOSUPPORT from now on, as it is where IPv6 is switched off
 * at boot. */
static bool take_ipv6_away(void)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {.len = sizeof code / sizeof code[0], .filter = code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0;
}

static void host_without_ipv6__has_ipv4(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		struct fixture *f;
		struct vb_rx rx[1];

		if (!take_ipv6_away())
			_exit(77);
		f = fixture_new(AF_INET);
		add(f, &f->path4, 64, 1);
		if (send_all(f) != 1 || recv_some(f, rx, 1) != 1)
			_exit(1);
		clear(f);
		add(f, &f->path6, 64, 1);
		_exit(send_all(f) != 1 || counter(f, VB_COUNTER_port_xmit_discards) != 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(full__waits),
	    T(flow_label__leased_by_another),
	    cmocka_unit_test_setup_teardown(icmp__costs_no_datagram, setup_ipv4, teardown),
	    T(refused__is_told_once),
	    cmocka_unit_test(host_without_ipv6__has_ipv4),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace may be made here: test skipped\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
