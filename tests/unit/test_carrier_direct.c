/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets that the kernel hands to processes by a rule of the shared broker: each process has its
 * own and no others, and its port is nobody else's. nft(8)
 */
#include "carrier_env.h"
#include "udp_forged.h"

#include <dlfcn.h>
#include <netinet/udp.h>
#include <sys/syscall.h>

static const struct vb_path loopback_way = {.sgid.b = {[15] = 1}, .dgid.b = {[15] = 1}};

/* Sends one packet to a QP of slot @slot. */
static void packet_send(uint32_t slot, uint8_t mark)
{
	uint32_t qpn = vb_slot_qpn_base(slot) + 7 * vb_slot_qpn_stride(slot);
	struct forged o;

	forge(&o, &loopback_way, 0, 0, 200);
	memset(o.pkt, 0, VB_BTH_LEN);
	o.pkt[0] = VB_TRANSPORT_UC | VB_OP_SEND_ONLY;
	o.pkt[5] = (uint8_t)(qpn >> 16);
	o.pkt[6] = (uint8_t)(qpn >> 8);
	o.pkt[7] = (uint8_t)qpn;
	o.pkt[11] = mark;
	forge_icrc(&o, &loopback_way, 0, 0);
	forged_send(&o);
	close(o.fd);
}

/* The mark of the packet that comes to @fd next; 0: none does. */
static uint8_t packet_await(int fd, int ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint8_t pkt[400];

	if (poll(&p, 1, ms) <= 0)
		return 0;
	MUST(recv(fd, pkt, sizeof pkt, 0) > VB_BTH_LEN);
	return pkt[11];
}

/* Packets in the ring of @c. */
static uint32_t ring_count(const struct vb_carried *c)
{
	struct vb_ring_rx ring = {.mem = c->mem};
	static uint8_t copy[VB_RING_COPY_BYTES];
	struct vb_ring_way way;
	struct vb_rx rx;
	uint32_t n = 0;

	while (vb_ring_begin(&ring, &way))
		while (vb_ring_take(&ring, &rx, copy))
			n++;
	return n;
}

static void direct_start(void)
{
	struct vb_carrier_options options = carrier_options();

	options.is_direct = true;
	carrier_start_with(&options);
}

static int direct_setup(void **state)
{
	(void)state;
	memset(common, 0, sizeof *common);
	direct_start();
	return 0;
}

#define direct_test(f) cmocka_unit_test_setup_teardown(f, direct_setup, carrier_teardown)

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

/* A batch that the kernel makes of packets of several users would go to one of them: sockets of
 * port 4791 ask for none. */
static void sockets_check(void)
{
	int pidfd = (int)syscall(SYS_pidfd_open, carrier, 0), seen = 0;

	for (int i = 0; i < 1024; i++) {
		int fd = (int)syscall(SYS_pidfd_getfd, pidfd, i, 0), gro = 1;
		struct sockaddr_in6 a = {.sin6_port = 0};
		socklen_t len = sizeof a, size = sizeof gro;

		if (fd < 0)
			continue;
		if (getsockname(fd, (struct sockaddr *)&a, &len) == 0 &&
		    a.sin6_family == AF_INET6 && ntohs(a.sin6_port) == VB_ROCE_PORT) {
			assert_int_equal(getsockopt(fd, IPPROTO_UDP, UDP_GRO, &gro, &size), 0);
			assert_int_equal(gro, 0);
			seen++;
		}
		close(fd);
	}
	assert_true(seen > 2);
	close(pidfd);
}

static void attach_and_wait(void)
{
	(void)attach(0, 0);
	__atomic_store_n(&common->ready, 1, __ATOMIC_SEQ_CST);
	await(&common->go, 1);
}

static void batches__are_not_made(void **state)
{
	pid_t victim = user_start(VICTIM, attach_and_wait);

	(void)state;
	await(&common->ready, 1);
	sockets_check();
	__atomic_store_n(&common->go, 1, __ATOMIC_SEQ_CST);
	assert_int_equal(user_end(victim), 0);
}

static void take_own(uint32_t i)
{
	struct vb_carried c = attach(i, 0);

	MUST(common->rc[i] == 0 && c.has_socket && c.rx_fd >= 0);
	__atomic_add_fetch(&common->ready, 1, __ATOMIC_SEQ_CST);
	await(&common->go, 1);
	common->mark[i] = packet_await(c.rx_fd, BROKER_PATIENCE_MS);
	MUST(packet_await(c.rx_fd, 0) == 0);
	MUST(ring_count(&c) == 0);
}

static void take_as_victim(void)
{
	take_own(0);
}

static void take_as_stranger(void)
{
	take_own(1);
}

/* Each of two users has the packets of his slot, by a socket. */
static void packets__come_to_their_process(void **state)
{
	pid_t victim = user_start(VICTIM, take_as_victim);
	pid_t stranger = user_start(STRANGER, take_as_stranger);

	(void)state;
	await(&common->ready, 2);
	packet_send(common->slot[0], 10);
	packet_send(common->slot[1], 11);
	__atomic_store_n(&common->go, 1, __ATOMIC_SEQ_CST);
	assert_int_equal(user_end(victim), 0);
	assert_int_equal(user_end(stranger), 0);
	assert_int_equal(common->mark[0], 10);
	assert_int_equal(common->mark[1], 11);
}

static uint16_t bound_port(int fd)
{
	struct sockaddr_in6 a;
	socklen_t len = sizeof a;

	MUST(getsockname(fd, (struct sockaddr *)&a, &len) == 0);
	return ntohs(a.sin6_port);
}

/* A process wins nothing by its socket: neither another port, nor root's name in
 * the rules of a firewall. */
static void keep_port(void)
{
	struct vb_carried c = attach(0, 0);
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons(9)};
	struct sockaddr none = {.sa_family = AF_UNSPEC};
	uint16_t port;
	struct stat st;

	MUST(common->rc[0] == 0 && c.rx_fd >= 0);
	port = bound_port(c.rx_fd);
	MUST(fstat(c.rx_fd, &st) == 0 && st.st_uid == VICTIM);
	a.sin6_addr = in6addr_loopback;
	MUST(connect(c.rx_fd, (struct sockaddr *)&a, sizeof a) == 0);
	MUST(connect(c.rx_fd, &none, sizeof none) == 0);
	MUST(bound_port(c.rx_fd) == port);
	/* Nor is it free for others while the rule is there. */
	close(c.rx_fd);
	c.rx_fd = -1;
	common->packets[0] = port;
	__atomic_store_n(&common->ready, 1, __ATOMIC_SEQ_CST);
	await(&common->go, 1);
}

static bool port_is_free(uint16_t port)
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	int fd = socket(AF_INET6, SOCK_DGRAM, 0), on = 1;
	bool is_free;

	MUST(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0);
	MUST(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) == 0);
	is_free = bind(fd, (struct sockaddr *)&a, sizeof a) == 0;
	close(fd);
	return is_free;
}

static void want_port(void)
{
	MUST(!port_is_free((uint16_t)common->packets[0]));
}

static void port__is_held_for_its_process(void **state)
{
	pid_t victim = user_start(VICTIM, keep_port);

	(void)state;
	await(&common->ready, 1);
	assert_int_equal(user_run(STRANGER, want_port), 0);
	__atomic_store_n(&common->go, 1, __ATOMIC_SEQ_CST);
	assert_int_equal(user_end(victim), 0);
	for (int i = 0; i < BROKER_PATIENCE_MS && !port_is_free((uint16_t)common->packets[0]); i++)
		(void)poll(NULL, 0, 1);
	assert_true(port_is_free((uint16_t)common->packets[0]));
}

static void hold_slot(void)
{
	struct vb_carried c = attach(0, 0);

	MUST(common->rc[0] == 0 && c.rx_fd >= 0);
	common->packets[0] = bound_port(c.rx_fd);
	__atomic_store_n(&common->ready, 1, __ATOMIC_SEQ_CST);
	await(&common->go, 1);
}

/* Where a process was nothing is steered when it has ended, whoever has its port then. */
static void slot__of_a_process_that_ended(void **state)
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6};
	pid_t victim = user_start(VICTIM, hold_slot);
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);

	(void)state;
	await(&common->ready, 1);
	a.sin6_port = htons((uint16_t)common->packets[0]);
	__atomic_store_n(&common->go, 1, __ATOMIC_SEQ_CST);
	assert_int_equal(user_end(victim), 0);
	for (int i = 0; i < BROKER_PATIENCE_MS && bind(fd, (struct sockaddr *)&a, sizeof a); i++)
		(void)poll(NULL, 0, 1);
	packet_send(common->slot[0], 12);
	assert_int_equal(packet_await(fd, 200), 0);
	close(fd);
}

static void change_over(void)
{
	struct vb_carried c = attach(0, 0);
	int fd = c.rx_fd;

	MUST(common->rc[0] == 0 && c.rx_fd >= 0);
	c.rx_fd = -1; /* a link's */
	__atomic_store_n(&common->ready, 1, __ATOMIC_SEQ_CST);
	await(&common->go, 1);
	MUST(packet_await(fd, BROKER_PATIENCE_MS) == 13);
	__atomic_store_n(&common->ready, 2, __ATOMIC_SEQ_CST);
	await(&common->go, 2);
	MUST(vb_carried_attach(&c, common->why[0], sizeof common->why[0]) == 0);
	MUST(c.has_socket && c.rx_fd < 0);
	__atomic_store_n(&common->ready, 3, __ATOMIC_SEQ_CST);
	for (int i = 0; i < BROKER_PATIENCE_MS && common->packets[0] == 0; i++) {
		common->packets[0] += ring_count(&c);
		(void)poll(NULL, 0, 1);
	}
	MUST(common->packets[0] == 1 && packet_await(fd, 0) == 0);
}

/* While no shared broker runs packets still come; the next one does not know the socket, and writes
 * them into the ring. */
static void carrier__that_comes_after_another(void **state)
{
	pid_t victim = user_start(VICTIM, change_over);

	(void)state;
	await(&common->ready, 1);
	carrier_kill();
	packet_send(common->slot[0], 13);
	__atomic_store_n(&common->go, 1, __ATOMIC_SEQ_CST);
	await(&common->ready, 2);
	direct_start();
	__atomic_store_n(&common->go, 2, __ATOMIC_SEQ_CST);
	await(&common->ready, 3);
	packet_send(common->slot[0], 14);
	assert_int_equal(user_end(victim), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    direct_test(packets__come_to_their_process),
	    direct_test(batches__are_not_made),
	    direct_test(port__is_held_for_its_process),
	    direct_test(slot__of_a_process_that_ended),
	    direct_test(carrier__that_comes_after_another),
	};

	(void)argc;
	if (!carrier_env_enter(argv))
		return 77;
	if (!dlopen("libnftables.so.1", RTLD_NOW) || system("nft list tables") != 0) {
		fprintf(stderr, "no nftables here: tests not run\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
