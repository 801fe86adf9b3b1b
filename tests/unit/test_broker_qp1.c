/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * QP1 of the broker at its limits: how many MADs wait to be read and to be sent, of which port, and
 * what is none; its groups; and what observers ask by it. node/gsi/gsi.h, node/gsi/ask.h; IBA 13.4
 */
#include "engine_slot_env.h"
#include "node/broker/state.h"
#include "node/cm/channel.h"
#include "wire/mad/vendor.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

#define PATIENCE_NS (20 * VB_SEC)
/* MADs that wait to be read, of all ports; to be sent, of each; and longer ones, of all. */
#define RECVS 256u
#define SENDS 128u
#define LONG_SENDS 8u

static struct vb_gsi *gsi;
static struct {
	uint32_t cnt, len;
	struct vb_path path;
	uint8_t mad[VB_MAD_LEN];
} got;

static void on_mad(void *ctx, const struct vb_path *path, const uint8_t *mad, uint32_t len,
		   vb_time now)
{
	assert_ptr_equal(ctx, &got);
	assert_true(now > 0);
	got.cnt++;
	got.len = len;
	got.path = *path;
	memcpy(got.mad, mad, VB_MAD_LEN);
}

static int setup(void **state)
{
	(void)slots_setup(state);
	memset(&got, 0, sizeof got);
	return vb_gsi_open(&gsi, &slots, on_mad, &got, engine_why, sizeof engine_why);
}

static int teardown(void **state)
{
	vb_gsi_close(gsi);
	return slots_teardown(state);
}

static void step_until(uint32_t cnt)
{
	vb_time end = vb_clock_now() + PATIENCE_NS;
	struct pollfd p = {.fd = slots.group.fd[VB_SLOT_GSI], .events = POLLIN};

	do {
		vb_gsi_step(gsi, vb_clock_now());
		if (got.cnt < cnt)
			(void)poll(&p, 1, 10);
	} while (got.cnt < cnt && vb_clock_now() < end);
	assert_int_equal(got.cnt, cnt);
}

static struct vb_path own_path(uint8_t port)
{
	struct vb_path p = {.port = port, .dgid.b = {[10] = 0xff, [11] = 0xff, 127, 0, 0, 1}};

	p.sgid = p.dgid;
	return p;
}

/* As many MADs as the queue of the port has room for. */
static uint32_t send_all(uint8_t port)
{
	const struct vb_path p = own_path(port);
	const uint8_t mad[VB_MAD_LEN] = {1};
	uint32_t cnt = 0;
	int rc;

	while ((rc = vb_gsi_send(gsi, &p, mad, VB_MAD_LEN)) == 0)
		cnt++;
	assert_int_equal(rc, -EAGAIN);
	return cnt;
}

/* A port has no QP1 while it has no P_Key, and has one as soon as it gets its P_Keys. */
static void port__without_a_pkey(void **state)
{
	const struct vb_device is = slots.host->device[0];
	const struct vb_path p = own_path(1);
	const uint8_t mad[VB_MAD_LEN] = {1};
	struct vb_device d = is;

	(void)state;
	d.ifindex = 0;
	device_write(0, &d);
	vb_gsi_follow(gsi);
	assert_int_equal(vb_gsi_send(gsi, &p, mad, VB_MAD_LEN), -ENODEV);
	d = is;
	memset(d.pkey, 0, sizeof d.pkey);
	device_write(0, &d);
	vb_gsi_follow(gsi);
	assert_int_equal(vb_gsi_send(gsi, &p, mad, VB_MAD_LEN), -ENODEV);
	device_write(0, &is);
	vb_gsi_follow(gsi);
	assert_int_equal(vb_gsi_send(gsi, &p, mad, VB_MAD_LEN), 0);
}

/* All that came at once is taken as long as there are receives, and each receive serves again. Of
 * more than that some are lost, as in any network, and the next ones come. */
static void burst__as_many_as_there_are_receives(void **state)
{
	(void)state;
	for (uint32_t round = 1; round <= 3; round++) {
		for (uint32_t i = 0; i < RECVS / SENDS; i++) {
			assert_int_equal(send_all(1), SENDS);
			vb_gsi_flush(gsi, vb_clock_now());
		}
		step_until(round * RECVS);
	}
	got.cnt = 0;
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(send_all(1), SENDS);
		vb_gsi_flush(gsi, vb_clock_now());
	}
	for (vb_time end = vb_clock_now() + PATIENCE_NS; got.cnt < RECVS && vb_clock_now() < end;)
		vb_gsi_step(gsi, vb_clock_now());
	assert_uint_in_range(got.cnt, RECVS, 5 * SENDS);
	/* Messages still on their way come before the next ones. */
	for (uint32_t i = 0; i < 20; i++) {
		(void)poll(NULL, 0, 5);
		vb_gsi_step(gsi, vb_clock_now());
	}
	got.cnt = 0;
	for (uint32_t i = 0; i < RECVS / SENDS; i++) {
		assert_int_equal(send_all(1), SENDS);
		vb_gsi_flush(gsi, vb_clock_now());
	}
	step_until(RECVS);
}

/* Longer messages have so many places, which are free again when they have left. */
static void send__so_many_that_are_long(void **state)
{
	const struct vb_path p = own_path(1);
	const uint8_t mad[VB_MAD_LEN] = {5};

	(void)state;
	for (uint32_t round = 1; round <= 3; round++) {
		for (uint32_t i = 0; i < LONG_SENDS; i++)
			assert_int_equal(vb_gsi_send(gsi, &p, mad, VB_MAD_LEN + 4 * round), 0);
		assert_int_equal(vb_gsi_send(gsi, &p, mad, VB_MAD_LEN + 4), -EAGAIN);
		/* Short ones have their own. */
		assert_int_equal(vb_gsi_send(gsi, &p, mad, VB_MAD_LEN), 0);
		assert_true(vb_gsi_has_room(gsi));
		vb_gsi_flush(gsi, vb_clock_now());
		step_until(round * (LONG_SENDS + 1));
	}
	/* One that finds no room in the queue leaves its place free. */
	assert_int_equal(send_all(1), SENDS);
	assert_int_equal(vb_gsi_send(gsi, &p, mad, VB_MAD_LEN + 4), -EAGAIN);
	got.cnt = 0;
	vb_gsi_flush(gsi, vb_clock_now());
	step_until(SENDS);
	for (uint32_t round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < LONG_SENDS; i++)
			assert_int_equal(vb_gsi_send(gsi, &p, mad, VB_MAD_LEN + 4), 0);
		vb_gsi_flush(gsi, vb_clock_now());
	}
}

/* A second device, which nothing comes by. */
static void add_device(uint32_t i)
{
	struct vb_device d = slots.host->device[0];

	d.ifindex = 4711 + i;
	memset(d.gid, 0, sizeof d.gid);
	device_write(i, &d);
	vb_gsi_follow(gsi);
}

/* There is room while every port has some, to the last one. */
static void room__of_every_port(void **state)
{
	static const uint8_t ports[] = {2, VB_DEVICES_MAX};

	(void)state;
	for (int i = 0; i < 2; i++) {
		add_device(ports[i] - 1u);
		assert_true(vb_gsi_has_room(gsi));
		assert_int_equal(send_all(ports[i]), SENDS);
		assert_false(vb_gsi_has_room(gsi));
		vb_gsi_flush(gsi, vb_clock_now());
		assert_true(vb_gsi_has_room(gsi));
	}
	/* Of a device that goes it is not asked for. */
	assert_int_equal(send_all(2), SENDS);
	assert_false(vb_gsi_has_room(gsi));
	device_write(1, &(struct vb_device){.ifindex = 0});
	vb_gsi_follow(gsi);
	assert_true(vb_gsi_has_room(gsi));
	assert_int_equal(vb_gsi_send(gsi, &(struct vb_path){.port = 2}, got.mad, VB_MAD_LEN),
			 -ENODEV);
	/* Nor of one that the table does not count. */
	vb_host_write_begin(slots.host);
	slots.host->device_cnt = VB_DEVICES_MAX - 1;
	slots.host->generation++;
	vb_host_write_end(slots.host);
	vb_gsi_follow(gsi);
	assert_int_equal(
	    vb_gsi_send(gsi, &(struct vb_path){.port = VB_DEVICES_MAX}, got.mad, VB_MAD_LEN),
	    -ENODEV);
	assert_int_equal(
	    vb_gsi_send(gsi, &(struct vb_path){.port = VB_DEVICES_MAX + 1}, got.mad, VB_MAD_LEN),
	    -ENODEV);
}

/* A MAD goes so far as its path says, or as far as is usual. */
static void path__hop_limit(void **state)
{
	static const uint8_t limits[] = {33, 0, 255};
	const uint8_t mad[VB_MAD_LEN] = {7};

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		struct vb_path p = own_path(1);

		p.hop_limit = limits[i];
		assert_int_equal(vb_gsi_send(gsi, &p, mad, VB_MAD_LEN), 0);
		step_until(i + 1);
		assert_int_equal(got.path.hop_limit, limits[i] ? limits[i] : 64);
	}
}

/* The loop of the broker is told when there is something to do without a packet. */
static void due__while_something_waits(void **state)
{
	vb_time now = vb_clock_now();
	struct vb_path p = own_path(1);

	(void)state;
	vb_gsi_step(gsi, now);
	assert_int_equal(vb_gsi_due(gsi, now), VB_NEVER);
	assert_int_equal(vb_gsi_send(gsi, &p, got.mad, VB_MAD_LEN), 0);
	assert_true(vb_gsi_due(gsi, now) <= now);
	vb_gsi_flush(gsi, now);
	assert_int_equal(got.cnt, 0); /* it looks for nothing */
	assert_int_equal(vb_gsi_due(gsi, now), VB_NEVER);
	step_until(1);
}

/* A QP of a program beside the broker, of the kind of QP1 or another, that may send to QP1. */
static struct vb_qp *sender_open(struct vb_engine *e, enum vb_qp_type type, struct vb_pd *pd)
{
	struct vb_qp_init init = {.type = type,
				  .cap = {.max_send_wr = 4,
					  .max_recv_wr = 1,
					  .max_send_sge = 1,
					  .max_recv_sge = 1,
					  .max_inline_data = 300},
				  .port = 1};
	struct vb_qp_attr a = {.port = 1, .qkey = VB_QKEY_GSI};
	uint32_t mask = VB_QP_STATE | VB_QP_PKEY_INDEX | VB_QP_QKEY;
	struct vb_qp *qp;

	assert_int_equal(vb_cq_create(e->hca, 8, NULL, &init.send_cq), 0);
	init.recv_cq = init.send_cq;
	assert_int_equal(vb_qp_create(pd, &init, &qp), 0);
	a.qp_state = VB_QPS_INIT;
	assert_int_equal(
	    vb_qp_modify(qp, &a, mask | (type == VB_QPT_UD ? VB_QP_PORT : 0), vb_clock_now()), 0);
	a.qp_state = VB_QPS_RTR;
	assert_int_equal(vb_qp_modify(qp, &a, VB_QP_STATE, vb_clock_now()), 0);
	a.qp_state = VB_QPS_RTS;
	assert_int_equal(vb_qp_modify(qp, &a, VB_QP_STATE | VB_QP_SQ_PSN, vb_clock_now()), 0);
	return qp;
}

static void send_from(struct vb_engine *e, struct vb_qp *qp, struct vb_pd *pd, uint32_t len)
{
	static uint8_t bytes[300];
	struct vb_ah ah = {.pd = pd, .path = own_path(1)};
	struct vb_sge sge = {(uintptr_t)bytes, len, 0};
	struct vb_send_wr wr = {.sge = &sge,
				.sge_cnt = 1,
				.opcode = VB_WR_SEND,
				.flags = VB_SEND_INLINE,
				.ah = &ah,
				.dqpn = VB_QPN_GSI,
				.qkey = VB_QKEY_GSI};

	ah.path.hop_limit = 64;
	assert_int_equal(vb_qp_post_send(qp, &wr, vb_clock_now()), 0);
	(void)vb_engine_step(e, vb_clock_now());
}

/* A MAD comes from a QP1, and is not shorter than one. Each that is none takes a receive, which
 * serves again. IBA 13.4.2, 13.5.2 */
static void mad__what_is_none(void **state)
{
	struct vb_engine *e = engine_open();
	struct vb_qp *qp1, *other;
	struct vb_pd *pd;

	(void)state;
	assert_int_equal(vb_pd_create(e->hca, &pd), 0);
	qp1 = sender_open(e, VB_QPT_GSI, pd);
	other = sender_open(e, VB_QPT_UD, pd);
	for (uint32_t i = 0; i < 2 * RECVS; i++) {
		send_from(e, i % 2 ? other : qp1, pd, i % 2 ? VB_MAD_LEN : VB_MAD_LEN - 4);
		if (i % 16 == 15)
			vb_gsi_step(gsi, vb_clock_now());
	}
	send_from(e, qp1, pd, VB_MAD_LEN);
	step_until(1);
	assert_int_equal(got.len, VB_MAD_LEN);
	send_from(e, qp1, pd, VB_MAD_LEN + 4);
	step_until(2);
	assert_int_equal(got.len, VB_MAD_LEN + 4);
	vb_engine_close_inside(e);
}

/* Whether the kernel has the group ff12::77 on some interface. proc(5) /proc/net/igmp6 */
static bool is_joined(void)
{
	FILE *f = fopen("/proc/net/igmp6", "re");
	char line[200];
	bool found = false;

	assert_non_null(f);
	while (fgets(line, sizeof line, f))
		found |= strstr(line, "ff120000000000000000000000000077") != NULL;
	fclose(f);
	return found;
}

/* A group is had from the first join to the last leave. */
static void group__as_often_as_it_is_left(void **state)
{
	const struct vb_gid g = {{0xff, 0x12, [15] = 0x77}};

	(void)state;
	assert_false(is_joined());
	for (int i = 0; i < 2; i++)
		assert_int_equal(vb_gsi_group(gsi, 1, &g, true), 0);
	assert_true(is_joined());
	assert_int_equal(vb_gsi_group(gsi, 1, &g, false), 0);
	assert_true(is_joined());
	assert_int_equal(vb_gsi_group(gsi, 1, &g, false), 0);
	assert_false(is_joined());
	assert_true(vb_gsi_group(gsi, 9, &g, true) < 0);
}

/* The slot is the broker's; one whose socket is gone is not had, and says so. */
static void open__at_its_slot(void **state)
{
	struct vb_slot *slot = &slots.slot[VB_SLOT_GSI];
	int fd = slots.group.fd[VB_SLOT_GSI];
	unsigned before = descriptors_of(getpid());
	struct vb_gsi *other;

	(void)state;
	assert_string_equal(slot->shm->comm, "verbena broker");
	assert_int_equal(slot->shm->pid, getpid());
	assert_true(slot->is_taken);
	slots.group.fd[VB_SLOT_GSI] = -1;
	assert_int_equal(vb_gsi_open(&other, &slots, on_mad, &got, engine_why, sizeof engine_why),
			 -EBADF);
	slots.group.fd[VB_SLOT_GSI] = fd;
	assert_ptr_equal(strstr(engine_why, "cannot set up QP1: "), engine_why);
	assert_int_equal(descriptors_of(getpid()), before);
}

static struct vb_broker b;
static struct vb_cm_host cm;
static int observer;

/* A broker with an observer, and QP1. */
static void broker_begin(void)
{
	int pair[2];

	memset(&b, 0, sizeof b);
	memset(&cm, 0, sizeof cm);
	cm.gsi = gsi;
	b.cm = &cm;
	b.slots = slots;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	observer = pair[1];
	b.conn[3] = (struct vb_conn){
	    .in_use = true, .kind = VB_CONN_OBSERVER, .sock = pair[0], .since = 42};
}

static void broker_end(void)
{
	close(b.conn[3].sock);
	close(observer);
}

static int heard(struct vb_broker_msg *m)
{
	struct vb_fds fds;

	if (vb_broker_msg_recv(observer, m, &fds, MSG_DONTWAIT) != 1)
		return 1;
	assert_int_equal(m->op, VB_BROKER_DONE);
	return m->status;
}

static struct vb_broker_msg question(uint32_t attempts)
{
	const struct vb_vendor_msg v = {.attr = VB_VENDOR_ADAPTER};
	struct vb_broker_msg m;

	vb_broker_msg_init(&m, VB_BROKER_ASK);
	m.slot = 17;
	m.ask = (struct vb_broker_ask){
	    .path = own_path(1), .len = VB_MAD_LEN, .attempts = attempts, .timeout = 300 * VB_MSEC};
	vb_vendor_emit(&v, m.ask.mad);
	return m;
}

/* A question leaves as often as it was said, each time after its time-out and with the same number,
 * which no other question has; and the answer says when it left last. IBA 13.4.6.4 */
static void question__leaves_again(void **state)
{
	struct vb_broker_msg m = question(2), said;
	struct vb_ask *q = &b.asks.ask[0];
	struct vb_mad_hdr h;
	uint64_t tid, at;

	(void)state;
	broker_begin();
	at = vb_clock_read(CLOCK_REALTIME);
	vb_asks_begin(&b, &b.conn[3], &m, VB_SEC);
	step_until(1);
	vb_mad_hdr_parse(&h, got.mad);
	tid = h.tid;
	assert_true(tid & 1);
	assert_int_equal(tid, q->tid);
	assert_int_equal(q->left, 1);
	assert_int_equal(q->conn, 3);
	assert_int_equal(q->tag, 17);
	assert_int_equal(q->since, 42);
	assert_int_equal(vb_asks_due(&b.asks), VB_SEC + 300 * VB_MSEC);
	assert_true(q->a.sent_at >= at && q->a.sent_at <= vb_clock_read(CLOCK_REALTIME));
	/* Another question beside it. */
	vb_asks_begin(&b, &b.conn[3], &m, VB_SEC);
	step_until(2);
	assert_true(b.asks.ask[1].tid && b.asks.ask[1].tid != tid);
	b.asks.ask[1].tid = 0;
	vb_asks_timeouts(&b, VB_SEC + 300 * VB_MSEC);
	step_until(3);
	vb_mad_hdr_parse(&h, got.mad);
	assert_int_equal(h.tid, tid);
	assert_int_equal(q->left, 0);
	assert_int_equal(vb_asks_due(&b.asks), VB_SEC + 600 * VB_MSEC);
	assert_int_equal(heard(&said), 1);
	vb_asks_timeouts(&b, VB_SEC + 600 * VB_MSEC);
	assert_int_equal(heard(&said), -ETIMEDOUT);
	assert_int_equal(said.slot, 17);
	assert_int_equal(q->tid, 0);
	/* By a port that there is not it does not leave. */
	m.ask.path.port = 9;
	vb_asks_begin(&b, &b.conn[3], &m, VB_SEC);
	assert_int_equal(heard(&said), -ENODEV);
	assert_int_equal(vb_asks_due(&b.asks), VB_NEVER);
	/* Without room for it it is as good as lost. */
	assert_int_equal(send_all(1), SENDS);
	m.ask.path.port = 1;
	m.ask.attempts = 1;
	vb_asks_begin(&b, &b.conn[3], &m, VB_SEC);
	assert_int_equal(heard(&said), 1);
	assert_int_equal(vb_asks_due(&b.asks), VB_SEC + 300 * VB_MSEC);
	broker_end();
}

/* A question of others is answered to where it came from, in as many bytes; a MAD that has no whole
 * words, or asks nothing, is not. */
static void request__is_answered(void **state)
{
	struct vb_broker_msg m = question(1);
	struct vb_path from = own_path(1);
	struct vb_mad_hdr h;

	(void)state;
	broker_begin();
	from.traffic_class = 0x28;
	vb_asks_take_mad(&b, &from, m.ask.mad, VB_MAD_LEN + 2, vb_clock_now());
	m.ask.mad[3] = 7; /* no method that is answered */
	vb_asks_take_mad(&b, &from, m.ask.mad, VB_MAD_LEN, vb_clock_now());
	m = question(1);
	vb_asks_take_mad(&b, &from, m.ask.mad, VB_MAD_LEN + 8, vb_clock_now());
	step_until(1);
	assert_int_equal(got.len, VB_MAD_LEN + 8);
	vb_mad_hdr_parse(&h, got.mad);
	assert_int_equal(h.method, VB_MAD_METHOD_GET_RESP);
	assert_int_equal(got.path.traffic_class, 0x28);
	broker_end();
}

int main(void)
{
#define QP1_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
	    QP1_TEST(burst__as_many_as_there_are_receives),
	    QP1_TEST(send__so_many_that_are_long),
	    QP1_TEST(room__of_every_port),
	    QP1_TEST(path__hop_limit),
	    QP1_TEST(port__without_a_pkey),
	    QP1_TEST(due__while_something_waits),
	    QP1_TEST(mad__what_is_none),
	    QP1_TEST(group__as_often_as_it_is_left),
	    QP1_TEST(open__at_its_slot),
	    QP1_TEST(question__leaves_again),
	    QP1_TEST(request__is_answered),
	};

	if (!netns_enter()) {
		fprintf(stderr, "skipped: no network namespace of our own to be had\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
