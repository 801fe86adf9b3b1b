/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets that came to the wrong process, handed on to the right one: the messages between two
 * engines, and a GSO batch that comes from the network with a damaged QPN in its first packet.
 * node/engine/misrouted.c
 */
#include "core_env.h"
#include "engine_peer.h"
#include "node/broker/broker.h"
#include "node/engine/priv.h"
#include "udp_forged.h"

#include <netinet/udp.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define HERE 2u
#define THERE 3u
#define THIRD 4u
#define PACKETS 7u

static struct vb_host_memory memory;
/* The processes of two slots. */
static struct node {
	struct env env;
	struct vb_engine engine;
	struct vb_slot_shm shm;
} here, there;

static void node_open(struct node *n, uint32_t slot)
{
	memset(n, 0, sizeof *n);
	env_config(&n->env);
	n->env.cfg.qpn_base = slot;
	n->env.cfg.qpn_stride = 256;
	env_open(&n->env, 256);
	n->engine.hca = n->env.hca;
	n->engine.broker.slot = slot;
	n->engine.broker.shm = &n->shm;
	n->engine.broker.host = &memory.host;
	n->engine.broker.mailbox = memory.mailbox;
	n->engine.adopts = true;
	n->engine.mail.fd = n->engine.progress_thread.kick_fd = -1;
	n->engine.progress_thread.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	assert_int_equal(vb_engine_open_mail(&n->engine), 0);
}

static void node_close(struct node *n)
{
	vb_engine_close_mail(&n->engine);
	close(n->engine.progress_thread.epoll_fd);
	env_close(&n->env);
}

static int nodes_open(void **state)
{
	(void)state;
	memset(&memory, 0, sizeof memory);
	node_open(&here, HERE);
	node_open(&there, THERE);
	return 0;
}

static int nodes_close(void **state)
{
	(void)state;
	node_close(&here);
	node_close(&there);
	return 0;
}

/* A datagram as a link brings it, with @len bytes of payload that all are @fill. */
struct datagram {
	struct vb_path path;
	struct vb_rx rx;
	uint8_t bytes[VB_HDR_MAX + 4096];
};

static void datagram_make(struct datagram *d, uint32_t dqpn, uint32_t len, uint8_t fill)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_UD | VB_OP_SEND_ONLY,
			   .pkey = VB_PKEY_DEFAULT,
			   .dqpn = dqpn,
			   .deth = {.qkey = ENV_QKEY, .sqpn = 0x77}};
	uint32_t hdr_len = vb_hdr_emit(&h, d->bytes);

	d->path = (struct vb_path){.sgid = env_gid(9),
				   .dgid = env_gid(1),
				   .udp_sport = 0xc009,
				   .port = 1,
				   .hop_limit = 33,
				   .traffic_class = 0x20};
	memset(d->bytes + hdr_len, fill, len);
	d->rx = (struct vb_rx){
	    .pkt = d->bytes, .len = hdr_len + len, .avail = hdr_len + len, .path = &d->path};
}

static void datagram_keep(uint32_t dqpn, uint32_t len, uint8_t fill)
{
	static struct datagram d;

	datagram_make(&d, dqpn, len, fill);
	vb_engine_keep_misrouted(&here.engine, &d.rx);
}

static uint64_t handed_on(void)
{
	return here.shm.counters[1].v[VB_COUNTER_rx_handed_on];
}

/* A UD QP at @n with room for @recvs datagrams. */
static struct vb_qp *datagram_qp(struct node *n, uint32_t recvs)
{
	struct vb_qp *qp = env_qp_cap(
	    &n->env, VB_QPT_UD, NULL,
	    (struct vb_qp_cap){
		.max_send_wr = 1, .max_recv_wr = recvs, .max_send_sge = 1, .max_recv_sge = 1});
	struct vb_qp_attr a = env_attr(9, 0);

	env_up(&n->env, qp, &a, VB_QPS_RTR);
	for (uint32_t i = 0; i < recvs; i++) {
		struct vb_sge sge = {ENV_IOVA, ENV_MEM, vb_mr_lkey(n->env.mr)};

		assert_int_equal(vb_qp_post_recv(qp, &(struct vb_recv_wr){i, &sge, 1}, 0), 0);
	}
	return qp;
}

/* All packets of a message reach the QP, with the path by which they came. */
static void hand_on__to_the_process_of_the_qpn(void **state)
{
	struct vb_qp *qp = datagram_qp(&there, 3);
	uint32_t qpn = vb_qp_number(qp);
	struct vb_wc wc;
	uint8_t *mem = (uint8_t *)there.env.mem;

	(void)state;
	assert_int_equal(vb_slot_of_qpn(qpn), THERE);
	datagram_keep(qpn, 100, 1);
	datagram_keep(qpn, 64, 2); /* the next one begins at a multiple of 8 */
	datagram_keep(qpn, 4000, 3);
	assert_int_equal(handed_on(), 0);
	vb_engine_hand_on(&here.engine);
	assert_int_equal(handed_on(), 3);
	assert_int_equal(memory.mailbox[THERE].sent, 1);
	assert_int_equal(vb_engine_run_mail(&there.engine, 0), 1);
	for (uint32_t i = 0; i < 3; i++) {
		static const uint32_t len[] = {100, 64, 4000};

		assert_int_equal(vb_cq_poll(there.env.cq, &wc, 1), 1);
		assert_int_equal(wc.status, VB_WC_SUCCESS);
		assert_int_equal(wc.wr_id, i);
		assert_int_equal(wc.src_qpn, 0x77);
		assert_int_equal(wc.byte_len, VB_GRH_LEN + len[i]);
	}
	assert_int_equal(mem[VB_GRH_LEN], 3);
	assert_int_equal(mem[VB_GRH_LEN + 3999], 3);
	/* The receive begins with the IP header: addresses at its end. */
	assert_memory_equal(mem + 32, env_gid(9).b + 12, 4);
	assert_memory_equal(mem + 36, env_gid(1).b + 12, 4);
	/* Nothing is left to hand on. */
	vb_engine_hand_on(&here.engine);
	assert_int_equal(memory.mailbox[THERE].sent, 1);
}

/* A message is for one process, of one port, and has a bound; none is lost where it ends. */
static void hand_on__in_several_messages(void **state)
{
	struct vb_qp *qp = datagram_qp(&there, 40);
	uint32_t qpn = vb_qp_number(qp), cnt = 0;
	struct vb_wc wc;
	struct datagram d;

	(void)state;
	for (uint32_t i = 0; i < 40; i++)
		datagram_keep(qpn, 4096, (uint8_t)i);
	vb_engine_hand_on(&here.engine);
	assert_int_equal(handed_on(), 40);
	assert_uint_in_range(memory.mailbox[THERE].sent, 3, 4);
	while (vb_engine_run_mail(&there.engine, 0))
		;
	while (vb_cq_poll(there.env.cq, &wc, 1) == 1)
		assert_int_equal(wc.wr_id, cnt++);
	assert_int_equal(cnt, 40);

	memory.mailbox[THERE].sent = 0;
	datagram_keep(qpn, 8, 0);
	datagram_make(&d, qpn, 8, 0);
	d.path.port = 2;
	vb_engine_keep_misrouted(&here.engine, &d.rx);
	assert_int_equal(memory.mailbox[THERE].sent, 1);
	datagram_keep(qpn, 8, 0);
	assert_int_equal(memory.mailbox[THERE].sent, 2);
	assert_int_equal(here.shm.counters[2].v[VB_COUNTER_rx_handed_on], 1);
	datagram_keep(0x700u + THIRD, 8, 0);
	assert_int_equal(memory.mailbox[THERE].sent, 3);
	assert_int_equal(handed_on(), 42);
	/* Nobody is there. */
	vb_engine_hand_on(&here.engine);
	assert_int_equal(handed_on(), 42);
}

/* A packet with CE is counted once, by the process that it is for. */
static void hand_on__marks_are_counted_once(void **state)
{
	struct vb_qp *qp = datagram_qp(&there, 1);
	struct datagram d;

	(void)state;
	datagram_make(&d, vb_qp_number(qp), 8, 0);
	d.path.traffic_class |= VB_ECN_CE;
	assert_int_equal(vb_hca_handle_packet(here.env.hca, &d.rx, 0), VB_VERDICT_QPN);
	vb_engine_keep_misrouted(&here.engine, &d.rx);
	vb_engine_hand_on(&here.engine);
	assert_int_equal(vb_engine_run_mail(&there.engine, 0), 1);
	assert_int_equal(here.env.counters.v[VB_COUNTER_rx_misrouted], 1);
	assert_int_equal(here.env.counters.v[VB_COUNTER_np_ecn_marked_roce_packets], 0);
	assert_int_equal(there.env.counters.v[VB_COUNTER_np_ecn_marked_roce_packets], 1);
}

/* Packets that the mailbox has no room for are lost, and not counted as handed on. */
static void hand_on__to_a_full_mailbox(void **state)
{
	uint32_t sent = 0;

	(void)state;
	do {
		datagram_keep(0x700u + THERE, 8, 0);
		vb_engine_hand_on(&here.engine);
	} while (memory.mailbox[THERE].sent == ++sent && sent < 10000);
	assert_true(sent > 1 && sent < 10000);
	assert_int_equal(handed_on(), sent - 1);
}

/* A packet for this process, for the broker, for all, or that came by LID stays. */
static void keep__only_for_other_processes(void **state)
{
	struct datagram d;

	(void)state;
	memory.mailbox[1].token = memory.mailbox[VB_SLOT_CNT - 1].token = memory.mailbox[0].token =
	    memory.mailbox[HERE].token;
	datagram_keep(0x700u + HERE, 8, 0);
	datagram_keep(0x700u, 8, 0);
	datagram_keep(1, 8, 0);
	datagram_keep(0x1fff, 8, 0);
	datagram_keep(VB_QPN_MULTICAST, 8, 0);
	datagram_make(&d, 0x700u + THERE, 8, 0);
	d.path.dlid = 7;
	vb_engine_keep_misrouted(&here.engine, &d.rx);
	datagram_make(&d, 0x700u + THERE, 8, 0);
	d.rx.avail = d.rx.len = VB_BTH_LEN - 1;
	vb_engine_keep_misrouted(&here.engine, &d.rx);
	datagram_make(&d, 0x700u + THERE, 8, 0);
	d.rx.avail -= 8; /* payload of a simulation, which is not there */
	vb_engine_keep_misrouted(&here.engine, &d.rx);
	assert_null(here.engine.misrouted);
}

/* Messages that no engine sends: each length and port is checked before it is used. */
static void take__what_no_engine_sends(void **state)
{
	struct vb_qp *qp = datagram_qp(&there, 8);
	struct datagram d;
	struct {
		struct vb_path path;
		uint32_t len;
		_Alignas(8) uint8_t bytes[256];
	} m;
	size_t head = sizeof m.path + sizeof m.len, whole;
	struct vb_wc wc;

	(void)state;
	datagram_make(&d, vb_qp_number(qp), 24, 7);
	m.path = d.path;
	m.len = d.rx.len;
	memcpy((uint8_t *)&m + head, d.bytes, d.rx.len);
	whole = head + (d.rx.len + 7) / 8 * 8;
	vb_engine_take_misrouted(&there.engine, (uint8_t *)&m, whole, 0);
	assert_int_equal(vb_cq_poll(there.env.cq, &wc, 1), 1);
	assert_int_equal(wc.byte_len, VB_GRH_LEN + 24);
	for (size_t len = 0; len < whole; len++)
		vb_engine_take_misrouted(&there.engine, (uint8_t *)&m, len, 0);
	for (uint32_t len = m.len + 8; len > 8; len *= 2) {
		m.len = len;
		vb_engine_take_misrouted(&there.engine, (uint8_t *)&m, whole, 0);
	}
	m.len = UINT32_MAX;
	vb_engine_take_misrouted(&there.engine, (uint8_t *)&m, whole, 0);
	m.len = d.rx.len;
	for (uint32_t port = 0; port < 256; port++) {
		m.path.port = (uint8_t)port;
		if (port < 1 || port > VB_DEVICES_MAX)
			vb_engine_take_misrouted(&there.engine, (uint8_t *)&m, whole, 0);
	}
	assert_int_equal(vb_cq_poll(there.env.cq, &wc, 1), 0);
}

/* The two processes of the last test, with a real broker and real sockets. */
static void receiver_run(int sock)
{
	struct peer p;
	struct vb_wc wc;

	peer_open(&p, sock);
	peer_connect(&p);
	for (uint32_t i = 0; i < PACKETS; i++)
		peer_post_recv(&p, i * 64, 64);
	peer_tell(&p);
	for (uint32_t i = 0; i < PACKETS; i++) {
		wc = peer_poll(&p);
		NEED(wc.status == VB_WC_SUCCESS && wc.wr_id == i * 64 && wc.byte_len == 64);
		NEED(p.mem[i * 64] == (uint8_t)(i + 1) && p.mem[i * 64 + 63] == (uint8_t)(i + 1));
	}
	peer_meet(&p);
	peer_close(&p);
	exit(0);
}

static void broker_await(pid_t broker)
{
	char why[256];
	struct vb_broker_observer o;

	while (vb_broker_observe(&o, false, why, sizeof why)) {
		NEED(waitpid(broker, NULL, WNOHANG) == 0);
		usleep(1000);
	}
	vb_broker_observe_end(&o);
}

/* A GSO batch for QP @dqpn, whose first packet names process @slot. */
static void batch_send(struct peer *p, uint32_t dqpn, uint32_t slot)
{
	static uint8_t gso[(PACKETS + 1) * sizeof((struct forged *)NULL)->pkt];
	struct vb_path path = peer_path(p);
	struct forged o;
	int seg;

	forge(&o, &path, 0, 0x4000, 64);
	for (uint32_t i = 0; i <= PACKETS; i++) {
		struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_SEND_ONLY,
				   .pkey = VB_PKEY_DEFAULT,
				   .dqpn = dqpn,
				   .psn = vb_psn(i ? i - 1 : 99)};

		memset(o.pkt, (int)i, sizeof o.pkt);
		(void)vb_hdr_emit(&h, o.pkt);
		forge_icrc(&o, &path, (uint16_t)i, 0x4000);
		memcpy(gso + i * o.len, o.pkt, o.len);
	}
	gso[7] = (uint8_t)slot;
	seg = (int)o.len;
	NEED(setsockopt(o.fd, IPPROTO_UDP, UDP_SEGMENT, &seg, sizeof seg) == 0);
	NEED(send(o.fd, gso, (PACKETS + 1) * o.len, 0) == (ssize_t)((PACKETS + 1) * o.len));
	close(o.fd);
}

static void batch__with_a_damaged_qpn_in_front(void **state)
{
	pid_t broker = fork(), other;
	struct vb_counters *c;
	struct peer p;
	int pair[2], status;

	(void)state;
	if (broker == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(vb_broker_main());
	}
	broker_await(broker);
	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	other = fork();
	if (other == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		receiver_run(pair[1]);
	}
	close(pair[1]);
	peer_open(&p, pair[0]);
	peer_connect(&p);
	peer_wait(&p);
	assert_int_not_equal(vb_slot_of_qpn(p.other.qpn), p.e->broker.slot);
	batch_send(&p, p.other.qpn, p.e->broker.slot);
	/* The progress thread hands them on: this program makes no call. */
	peer_meet(&p);
	c = &p.e->broker.shm->counters[peer_path(&p).port];
	vb_engine_lock(p.e); /* the step that has sent them counts them, too */
	assert_int_equal(c->v[VB_COUNTER_rx_misrouted], PACKETS);
	assert_int_equal(c->v[VB_COUNTER_rx_handed_on], PACKETS);
	vb_engine_unlock(p.e);
	peer_close(&p);
	close(pair[0]);
	assert_int_equal(waitpid(other, &status, 0), other);
	assert_int_equal(status, 0);
	kill(broker, SIGKILL);
	waitpid(broker, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(hand_on__to_the_process_of_the_qpn, nodes_open,
					    nodes_close),
	    cmocka_unit_test_setup_teardown(hand_on__in_several_messages, nodes_open, nodes_close),
	    cmocka_unit_test_setup_teardown(hand_on__marks_are_counted_once, nodes_open,
					    nodes_close),
	    cmocka_unit_test_setup_teardown(hand_on__to_a_full_mailbox, nodes_open, nodes_close),
	    cmocka_unit_test_setup_teardown(keep__only_for_other_processes, nodes_open,
					    nodes_close),
	    cmocka_unit_test_setup_teardown(take__what_no_engine_sends, nodes_open, nodes_close),
	    cmocka_unit_test(batch__with_a_damaged_qpn_in_front),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace may be made here: test skipped\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
