/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shared broker, and what a user can do to another one by it: see, take, fake or use up
 * nothing. The users are real ones; the shared broker is a child that is root.
 */
#include "carrier_env.h"
#include "link/udp/udp.h"
#include "node/client/dial.h"
#include "node/store/group.h"
#include "udp_forged.h"

#include <netinet/udp.h>

static void hold_two(void)
{
	struct vb_carried a = attach(0, 0), b = attach(1, 0);

	MUST(a.sock >= 0 && b.sock >= 0);
	(void)attach(2, 0);
	__atomic_store_n(&common->ready, 1, __ATOMIC_SEQ_CST);
	await(&common->go, 1);
}

static void take_others(void)
{
	(void)attach(3, 0);
	(void)attach(4, common->slot[0]);
	(void)attach(5, common->slot[0] ^ 31); /* of the same low byte */
	(void)attach(6, VB_SLOT_FIRST);
	(void)attach(7, VB_SLOT_CNT - 1);
}

/* A user has so many processes, all of one low byte that nobody else has; another user is not
 * harmed, and gets none of the slots of that byte, asked for by name. */
static void slots__of_two_users(void **state)
{
	pid_t victim = user_start(VICTIM, hold_two);

	(void)state;
	await(&common->ready, 1);
	assert_int_equal(user_run(STRANGER, take_others), 0);
	__atomic_store_n(&common->go, 1, __ATOMIC_SEQ_CST);
	assert_int_equal(user_end(victim), 0);
	assert_int_equal(common->rc[0] | common->rc[1] | common->rc[3], 0);
	assert_true(common->slot[0] != common->slot[1]);
	assert_int_equal(vb_slot_qpn_base(common->slot[0]) & 0xff,
			 vb_slot_qpn_base(common->slot[1]) & 0xff);
	assert_int_not_equal(vb_slot_qpn_base(common->slot[0]) & 0xff,
			     vb_slot_qpn_base(common->slot[3]) & 0xff);
	assert_int_equal(common->rc[2], -EDQUOT);
	assert_non_null(strstr(common->why[2], "2 processes of user 1001"));
	for (int i = 4; i < 8; i++)
		assert_int_equal(common->rc[i], -EBUSY);
}

static int dial_raw(void)
{
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct timeval patience = {.tv_sec = BROKER_PATIENCE_MS / 1000};
	struct sockaddr_un a;
	socklen_t len = vb_carrier_address(&a);

	MUST(connect(sock, (struct sockaddr *)&a, len) == 0);
	MUST(setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0);
	return sock;
}

static bool has_ended(int sock)
{
	char byte;

	return recv(sock, &byte, 1, 0) == 0 || errno == ECONNRESET;
}

/* Many connections that ask for nothing, and messages that are none. */
static void use_up(void)
{
	struct vb_carrier_call call = {.magic = VB_CARRIER_MAGIC,
				       .version = VB_CARRIER_VERSION + 1};
	struct vb_carrier_answer answer;
	char byte = 0;
	int sock = dial_raw();

	MUST(send(sock, &byte, 1, MSG_NOSIGNAL) == 1);
	MUST(recv(sock, &answer, sizeof answer, 0) == sizeof answer && answer.status == -EPROTO);
	sock = dial_raw();
	MUST(send(sock, &call, sizeof call, MSG_NOSIGNAL) == sizeof call);
	MUST(recv(sock, &answer, sizeof answer, 0) == sizeof answer && answer.status == -EPROTO);
	for (uint32_t i = 0; i < 4 * (LIMIT + 8); i++)
		sock = dial_raw();
	MUST(has_ended(sock)); /* one too many */
	__atomic_store_n(&common->ready, 1, __ATOMIC_SEQ_CST);
	await(&common->go, 1);
}

static void attach_once(void)
{
	(void)attach(0, 0);
}

static void connections__of_one_user_harm_no_other(void **state)
{
	pid_t stranger = user_start(STRANGER, use_up);

	(void)state;
	await(&common->ready, 1);
	assert_int_equal(user_run(VICTIM, attach_once), 0);
	assert_int_equal(common->rc[0], 0);
	__atomic_store_n(&common->go, 1, __ATOMIC_SEQ_CST);
	assert_int_equal(user_end(stranger), 0);
}

/* Reads from the ring, when the parent says so, until there have been @least packets and there is
 * no other. Their room is not given back. */
static void read_ring(uint32_t i, uint32_t least)
{
	struct vb_carried c = attach(i, 0);
	struct vb_ring_rx ring = {.mem = c.mem};
	static uint8_t copy[VB_RING_COPY_BYTES];
	struct vb_ring_way way;
	struct vb_rx rx;

	MUST(common->rc[i] == 0);
	__atomic_add_fetch(&common->ready, 1, __ATOMIC_SEQ_CST);
	await(&common->go, 1);
	for (int ms = 0; ms < BROKER_PATIENCE_MS && common->packets[i] < least; ms++) {
		while (vb_ring_begin(&ring, &way))
			while (vb_ring_take(&ring, &rx, copy)) {
				common->packets[i]++;
				common->mark[i] = rx.pkt[11];
				MUST(vb_slot_of_bth(rx.pkt) == c.slot);
			}
		(void)poll(NULL, 0, 1);
	}
}

static void read_as_victim(void)
{
	read_ring(0, 4000);
}

static void read_as_stranger(void)
{
	read_ring(1, 12);
}

static const struct vb_path loopback_way = {.sgid.b = {[15] = 1}, .dgid.b = {[15] = 1}};

/* Makes of @o a packet with mark @mark to a QP of slot @slot. */
static void address_to(struct forged *o, uint32_t slot, uint8_t mark)
{
	uint32_t qpn = vb_slot_qpn_base(slot) + 7 * vb_slot_qpn_stride(slot);

	memset(o->pkt, 0, VB_BTH_LEN);
	o->pkt[0] = VB_TRANSPORT_UC | VB_OP_SEND_ONLY;
	o->pkt[5] = (uint8_t)(qpn >> 16);
	o->pkt[6] = (uint8_t)(qpn >> 8);
	o->pkt[7] = (uint8_t)qpn;
	o->pkt[11] = mark;
	forge_icrc(o, &loopback_way, 0, 0);
}

/* Sends @cnt packets with mark @mark to a QP of slot @slot. */
static void flood(uint32_t slot, uint32_t cnt, uint8_t mark, bool is_right)
{
	struct forged o;

	forge(&o, &loopback_way, 0, 0, 200);
	address_to(&o, slot, mark);
	o.pkt[20] ^= !is_right;
	for (uint32_t i = 0; i < cnt; i++)
		forged_send(&o);
	close(o.fd);
}

/* A user who does not read, while more comes for him than he has room for, loses packets, and no
 * other does. Damaged packets are nobody's, and packets for a slot that nobody has. */
static void ring__that_nobody_reads_harms_no_other(void **state)
{
	const uint32_t many = 12000;
	pid_t victim = user_start(VICTIM, read_as_victim);
	pid_t stranger = user_start(STRANGER, read_as_stranger);

	(void)state;
	await(&common->ready, 2);
	for (int i = 0; i < 12; i++) {
		flood(common->slot[0], many / 12, 1, true);
		flood(common->slot[1], 1, (uint8_t)(10 + i), true);
		flood(common->slot[1], 1, 5, false);
		flood(common->slot[1] ^ 31, 1, 6, true);
	}
	__atomic_store_n(&common->go, 1, __ATOMIC_SEQ_CST);
	assert_int_equal(user_end(victim), 0);
	assert_int_equal(user_end(stranger), 0);
	assert_uint_in_range(common->packets[0], 4000, many - 1);
	assert_int_equal(common->packets[1], 12);
	assert_int_equal(common->mark[1], 21);
}

static void read_half_as_victim(void)
{
	read_ring(0, 6);
}

static void read_half_as_stranger(void)
{
	read_ring(1, 6);
}

/* Sends six packets in one GSO batch, in turn to QPs of slots @a and @b. */
static void batch_send(uint32_t a, uint32_t b)
{
	uint8_t gso[6 * sizeof((struct forged *)NULL)->pkt];
	struct forged o;
	int seg;

	forge(&o, &loopback_way, 0, 0, 64);
	for (uint32_t i = 0; i < 6; i++) {
		address_to(&o, i % 2 ? b : a, 1);
		memcpy(gso + i * o.len, o.pkt, o.len);
	}
	seg = (int)o.len;
	assert_int_equal(setsockopt(o.fd, IPPROTO_UDP, UDP_SEGMENT, &seg, sizeof seg), 0);
	assert_int_equal(send(o.fd, gso, 6 * o.len, 0), 6 * o.len);
	close(o.fd);
}

/* The kernel takes a GSO batch to the socket of its first packet. Each process has its packets of
 * it, of whichever user it is. */
static void batch__of_processes_of_two_users(void **state)
{
	pid_t victim = user_start(VICTIM, read_half_as_victim);
	pid_t stranger = user_start(STRANGER, read_half_as_stranger);

	(void)state;
	await(&common->ready, 2);
	batch_send(common->slot[0], common->slot[1]);
	batch_send(common->slot[1], common->slot[0]);
	__atomic_store_n(&common->go, 1, __ATOMIC_SEQ_CST);
	assert_int_equal(user_end(victim), 0);
	assert_int_equal(user_end(stranger), 0);
	assert_int_equal(common->packets[0], 6);
	assert_int_equal(common->packets[1], 6);
}

static uint8_t first_port(void *ctx, const struct vb_gid *local, uint32_t ifindex)
{
	(void)ctx, (void)local, (void)ifindex;
	return 1;
}

/* Waits for one packet by link @l, whose mark is @mark. */
static void read_one(struct vb_link *l, uint8_t mark)
{
	struct vb_rx rx[4];
	uint32_t n = 0;

	for (int i = 1; i <= BROKER_PATIENCE_MS && n == 0; i++) {
		n = l->ops->recv(l, rx, 4, i * VB_SEC);
		if (n == 0)
			(void)poll(NULL, 0, 1);
	}
	MUST(n == 1 && rx[0].pkt[11] == mark);
}

static void change_over(void)
{
	struct vb_carried c = attach(0, 0);
	struct sockaddr_in6 any = {.sin6_family = AF_INET6};
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct vb_link_config cfg = {.carried = &c, .port_of = first_port};
	struct fixture *f;
	struct vb_link *l;
	struct vb_rx rx;

	MUST(common->rc[0] == 0);
	MUST(bind(fd, (struct sockaddr *)&any, sizeof any) == 0);
	f = fixture_on(fd);
	cfg.lower = f->link;
	cfg.counters[1] = &f->counters;
	MUST(vb_carried_open(&l, &cfg) == 0);
	__atomic_store_n(&common->ready, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; i < BROKER_PATIENCE_MS && !vb_link_has_packets(l); i++)
		(void)poll(NULL, 0, 1);
	__atomic_store_n(&common->ready, 2, __ATOMIC_SEQ_CST);
	await(&common->go, 1);
	vb_link_sweep(l);
	read_one(l, 1);
	/* Now that nothing is left the next one is asked. */
	MUST(l->ops->recv(l, &rx, 1, BROKER_PATIENCE_MS * VB_SEC) == 0);
	__atomic_store_n(&common->ready, 3, __ATOMIC_SEQ_CST);
	read_one(l, 2);
	l->ops->close(l);
}

/* A process reads the packets that the last shared broker has written before it takes the next
 * one's ring. */
static void packets__of_the_last_carrier(void **state)
{
	pid_t victim = user_start(VICTIM, change_over);

	(void)state;
	await(&common->ready, 1);
	flood(common->slot[0], 1, 1, true);
	await(&common->ready, 2);
	carrier_kill();
	carrier_start();
	__atomic_store_n(&common->go, 1, __ATOMIC_SEQ_CST);
	await(&common->ready, 3);
	flood(common->slot[0], 1, 2, true);
	assert_int_equal(user_end(victim), 0);
}

/* A group is one of a port: a member by one port asks for the other port, too. */
static void join_by_two_ports(void)
{
	const struct vb_gid group = {.b = {[10] = 0xff, 0xff, 239, [15] = 7}};
	struct vb_carried c = attach(0, 0);
	struct sockaddr_in6 any = {.sin6_family = AF_INET6};
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct vb_link_config cfg = {.carried = &c, .port_of = first_port, .ifindex = {0, 1, 9999}};
	struct fixture *f;
	struct vb_link *l;

	MUST(common->rc[0] == 0);
	MUST(bind(fd, (struct sockaddr *)&any, sizeof any) == 0);
	f = fixture_on(fd);
	cfg.lower = f->link;
	cfg.counters[1] = &f->counters;
	MUST(vb_carried_open(&l, &cfg) == 0);
	MUST(vb_link_join(l, 1, &group, 0) == 0);
	MUST(vb_link_join(l, 2, &group, 0) == -ENODEV); /* no such interface */
	MUST(vb_link_join(l, 1, &group, 0) == 0);
	vb_link_leave(l, 1, &group, 0);
	vb_link_leave(l, 1, &group, 0);
	l->ops->close(l);
}

static void groups__of_two_ports(void **state)
{
	(void)state;
	assert_int_equal(user_run(VICTIM, join_by_two_ports), 0);
}

/* A process has its slot again from the next shared broker; its endpoint stays. */
static void hold_over(void)
{
	struct vb_carried c = attach(0, 0);
	uint64_t token = c.token;

	MUST(common->rc[0] == 0);
	__atomic_store_n(&common->ready, 1, __ATOMIC_SEQ_CST);
	await(&common->go, 1);
	common->rc[1] = vb_carried_attach(&c, common->why[1], sizeof common->why[1]);
	common->slot[1] = c.slot;
	MUST(c.token == token);
	/* Its connection has ended: another process of the user may have the slot. */
	vb_carried_detach(&c);
	for (int i = 0; i < 1000; i++) {
		c = attach(2, common->slot[0]);
		if (common->rc[2] != -EBUSY)
			break;
		vb_carried_detach(&c);
		(void)poll(NULL, 0, 1);
	}
	MUST(common->rc[2] == 0 && common->slot[2] == common->slot[0]);
}

static void carrier__that_comes_after_another(void **state)
{
	pid_t victim = user_start(VICTIM, hold_over);

	(void)state;
	await(&common->ready, 1);
	carrier_kill();
	carrier_start();
	__atomic_store_n(&common->go, 1, __ATOMIC_SEQ_CST);
	assert_int_equal(user_end(victim), 0);
	assert_int_equal(common->rc[1], 0);
	assert_int_equal(common->slot[1], common->slot[0]);
}

static uint8_t no_port(void *ctx, const struct vb_gid *local, uint32_t ifindex)
{
	(void)ctx, (void)local, (void)ifindex;
	return 0;
}

static void fork_program(void)
{
	struct vb_carried c = attach(0, 0);
	struct vb_link_config cfg = {.rx_fd = vb_group_no_socket(), .port_of = no_port};
	struct vb_link *l;
	uint8_t byte;
	pid_t child;

	MUST(common->rc[0] == 0 && vb_udp_open(&cfg.lower, &cfg) == 0);
	cfg.carried = &c;
	MUST(vb_carried_open(&l, &cfg) == 0);
	child = fork();
	if (child == 0) {
		l->ops->close(l);
		_exit(0);
	}
	MUST(waitpid(child, NULL, 0) == child);
	MUST(recv(vb_carried_of(l)->sock, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
	l->ops->close(l);
}

/* The child of a fork closes what it has inherited; its parent keeps its slot. */
static void fork__leaves_the_slot_to_the_parent(void **state)
{
	(void)state;
	assert_int_equal(user_run(VICTIM, fork_program), 0);
}

/* The program of a user has no socket of the port, none that shares one, and none that takes
 * anything; its broker has no such socket either. */
static void use_adapter(void)
{
	struct vb_broker_client c;
	struct vb_broker_msg m;
	struct vb_fds fds = {.cnt = 0};
	struct sockaddr_in6 a;
	socklen_t len = sizeof a, one = sizeof(int);
	char why[256] = "";
	uint8_t byte = 1;
	int on = 1;

	MUST(vb_broker_connect(&c, why, sizeof why) == 0);
	MUST(c.carried && c.slot == c.carried->slot && c.slot >= VB_SLOT_WIDE);
	MUST(c.shm->slot == c.slot && c.host->taken[c.slot] == VB_SLOT_TAKEN);
	MUST(getsockname(c.rx_fd, (struct sockaddr *)&a, &len) == 0);
	MUST(ntohs(a.sin6_port) != VB_ROCE_PORT);
	MUST(getsockopt(c.rx_fd, SOL_SOCKET, SO_REUSEPORT, &on, &one) == 0 && !on);
	a.sin6_addr = in6addr_loopback;
	MUST(sendto(socket(AF_INET6, SOCK_DGRAM, 0), &byte, 1, 0, (struct sockaddr *)&a, len) == 1);
	MUST(recv(c.rx_fd, &byte, 1, MSG_DONTWAIT) < 0);
	vb_broker_msg_init(&m, VB_BROKER_CM);
	/* RDMA CM is there. */
	MUST(vb_broker_dial(&m, &fds, true, why, sizeof why) >= 0);
	vb_fds_close(&fds);
	/* The next broker has its slots. */
	pid_t old = (pid_t)c.host->broker_pid;
	MUST(kill(old, SIGKILL) == 0);
	for (int i = 0; i < BROKER_PATIENCE_MS / 10 && c.host->broker_pid == (uint32_t)old; i++) {
		(void)vb_broker_check(&c);
		(void)poll(NULL, 0, 10);
	}
	MUST(c.host->broker_pid != (uint32_t)old);
	MUST(c.host->taken[c.slot] == VB_SLOT_TAKEN);
	vb_broker_disconnect(&c);
}

static void broker__of_a_user(void **state)
{
	(void)state;
	assert_int_equal(user_run(VICTIM, use_adapter), 0);
}

/* Only root's shared broker is one. */
static void take_name(void)
{
	struct sockaddr_un a;
	socklen_t len = vb_carrier_address(&a);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	const struct vb_carrier_options options = carrier_options();

	MUST(vb_carrier_main(&options) == 1);
	MUST(bind(fd, (struct sockaddr *)&a, len) == 0 && listen(fd, 8) == 0);
	__atomic_store_n(&common->ready, 1, __ATOMIC_SEQ_CST);
	await(&common->go, 1);
}

static void carrier__of_a_stranger_is_none(void **state)
{
	const struct vb_carrier_options options = carrier_options();
	pid_t stranger;

	(void)state;
	memset(common, 0, sizeof *common);
	stranger = user_start(STRANGER, take_name);
	await(&common->ready, 1);
	assert_false(vb_carrier_runs());
	assert_int_equal(user_run(VICTIM, attach_once), 0);
	assert_int_equal(common->rc[0], -ENOENT);
	assert_int_equal(vb_carrier_main(&options), 1); /* the name is taken */
	__atomic_store_n(&common->go, 1, __ATOMIC_SEQ_CST);
	assert_int_equal(user_end(stranger), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    carrier_test(slots__of_two_users),
	    carrier_test(connections__of_one_user_harm_no_other),
	    carrier_test(ring__that_nobody_reads_harms_no_other),
	    carrier_test(batch__of_processes_of_two_users),
	    carrier_test(groups__of_two_ports),
	    carrier_test(packets__of_the_last_carrier),
	    carrier_test(carrier__that_comes_after_another),
	    carrier_test(fork__leaves_the_slot_to_the_parent),
	    carrier_test(broker__of_a_user),
	    cmocka_unit_test(carrier__of_a_stranger_is_none),
	};

	(void)argc;
	if (!carrier_env_enter(argv))
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
