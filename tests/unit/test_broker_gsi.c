/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * QP1 of the broker, by real sockets in a network namespace of the test's own: a MAD to this host
 * itself, over IPv4 and IPv6, and what is no MAD. CMP-01. And an engine beside that of QP1, as a
 * program has it.
 */
#include "cmocka_env.h"
#include "descriptors.h"
#include "link/udp/priv.h"
#include "netns.h"
#include "node/bell/bell.h"
#include "node/bell/priv.h"
#include "node/engine/engine.h"
#include "node/engine/priv.h"
#include "node/gsi/gsi.h"
#include "node/host/clock.h"
#include "node/netdev/devices.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#define PATIENCE_NS (10 * VB_SEC)

static struct vb_slots slots;
static struct vb_gsi *gsi;
static struct {
	uint32_t cnt;
	struct vb_path path;
	uint8_t mad[VB_MAD_LEN];
	uint32_t len; /* that is to come; 0: VB_MAD_LEN */
} got;

static void on_mad(void *ctx, const struct vb_path *path, const uint8_t *mad, uint32_t len,
		   vb_time now)
{
	assert_int_equal(len, got.len ? got.len : VB_MAD_LEN);
	for (uint32_t i = VB_MAD_LEN; i < len; i++)
		assert_int_equal(mad[i], 0);
	assert_ptr_equal(ctx, &got);
	assert_uint_in_range(now, 1, VB_NEVER - 1);
	got.cnt++;
	got.path = *path;
	memcpy(got.mad, mad, VB_MAD_LEN);
}

static unsigned before; /* descriptors of this process */

static int setup(void **state)
{
	static struct vb_netdevs netdevs;
	char why[256];

	(void)state;
	memset(&got, 0, sizeof got);
	before = descriptors_of(getpid());
	assert_int_equal(vb_slots_init(&slots), 0);
	assert_int_equal(vb_netdev_read(&netdevs), 0);
	assert_true(vb_devices_update(slots.host, &netdevs, 0));
	assert_int_equal(vb_slots_start(&slots), 0);
	assert_int_equal(vb_gsi_open(&gsi, &slots, on_mad, &got, why, sizeof why), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	vb_gsi_close(gsi);
	vb_slots_close(&slots);
	assert_int_equal(descriptors_of(getpid()), before);
	return 0;
}

static void step_until(uint32_t cnt)
{
	vb_time start = vb_clock_now();
	struct pollfd p = {.fd = slots.group.fd[VB_SLOT_GSI], .events = POLLIN};

	do {
		vb_gsi_step(gsi, vb_clock_now());
		if (got.cnt < cnt)
			(void)poll(&p, 1, 10);
	} while (got.cnt < cnt && vb_clock_now() - start < PATIENCE_NS);
	assert_int_equal(got.cnt, cnt);
}

static struct vb_path path_to(const char *address, bool ipv4)
{
	struct vb_path p = {.port = 1, .traffic_class = 0x28, .hop_limit = 33};
	uint8_t *at = p.dgid.b;

	if (ipv4) {
		at[10] = at[11] = 0xff;
		at += 12;
	}
	assert_int_equal(inet_pton(ipv4 ? AF_INET : AF_INET6, address, at), 1);
	p.sgid = p.dgid;
	return p;
}

static void mad__comes_with_its_path(const struct vb_path *p)
{
	uint8_t mad[VB_MAD_LEN];

	for (uint32_t i = 0; i < VB_MAD_LEN; i++)
		mad[i] = (uint8_t)(i * 7);
	assert_int_equal(vb_gsi_send(gsi, p, mad, VB_MAD_LEN), 0);
	step_until(1);
	assert_memory_equal(got.mad, mad, VB_MAD_LEN);
	assert_true(vb_gid_eq(&got.path.sgid, &p->sgid));
	assert_true(vb_gid_eq(&got.path.dgid, &p->dgid));
	assert_int_equal(got.path.port, 1);
	assert_int_equal(got.path.traffic_class, 0x28);
	assert_int_equal(slots.slot[VB_SLOT_GSI].shm->counters[1].v[VB_COUNTER_port_rcv_packets],
			 1);
	assert_int_equal(slots.slot[VB_SLOT_GSI].shm->counters[1].v[VB_COUNTER_port_xmit_packets],
			 1);
}

static void mad__over_ipv4(void **state)
{
	struct vb_path p = path_to("127.0.0.1", true);

	(void)state;
	mad__comes_with_its_path(&p);
}

static void mad__over_ipv6(void **state)
{
	struct vb_path p = path_to("::1", false);

	(void)state;
	mad__comes_with_its_path(&p);
}

/* More MADs than there are receives, and more than fit the queue: those that find room arrive, and
 * each receive serves again. */
static void mads__many(void **state)
{
	struct vb_path p = path_to("127.0.0.1", true);
	uint8_t mad[VB_MAD_LEN] = {1};
	uint32_t sent = 0;

	(void)state;
	while (sent < 1000) {
		while (sent < 1000 && vb_gsi_has_room(gsi)) {
			assert_int_equal(vb_gsi_send(gsi, &p, mad, VB_MAD_LEN), 0);
			sent++;
		}
		if (!vb_gsi_has_room(gsi))
			assert_int_equal(vb_gsi_send(gsi, &p, mad, VB_MAD_LEN), -EAGAIN);
		step_until(sent);
	}
	p.port = 9;
	assert_int_equal(vb_gsi_send(gsi, &p, mad, VB_MAD_LEN), -ENODEV);
	p.port = 0;
	assert_int_equal(vb_gsi_send(gsi, &p, mad, VB_MAD_LEN), -ENODEV);
}

/* Messages with padding behind the MAD, and those that the port's MTU does not take. */
static void mads__longer(void **state)
{
	struct vb_path p = path_to("127.0.0.1", true);
	const uint8_t mad[VB_MAD_LEN] = {5};
	uint32_t sent = 0;

	(void)state;
	got.len = VB_GSI_MESSAGE_MAX;
	for (int i = 0; i < 3; i++) {
		while (vb_gsi_send(gsi, &p, mad, got.len) == 0)
			sent++;
		assert_int_equal(vb_gsi_send(gsi, &p, mad, got.len), -EAGAIN);
		step_until(sent);
	}
	assert_uint_in_range(sent, 3, 100);
	got.len = VB_MAD_LEN + 4;
	assert_int_equal(vb_gsi_send(gsi, &p, mad, got.len), 0);
	step_until(sent + 1);
	slots.host->device[0].active_mtu = VB_MTU_1024;
	assert_int_equal(vb_gsi_send(gsi, &p, mad, 1028), -EMSGSIZE);
	got.len = 1024;
	assert_int_equal(vb_gsi_send(gsi, &p, mad, got.len), 0);
	step_until(sent + 2);
}

/* Packets of a stranger: no RoCE at all, and too short. They are dropped, and the next MAD comes.
 */
static void garbage__is_dropped(void **state)
{
	struct vb_path p = path_to("127.0.0.1", true);
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(VB_ROCE_PORT),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	uint8_t mad[VB_MAD_LEN] = {2}, junk[300] = {0x64, 0, 0xff, 0xff, 0, 0, 0, VB_QPN_GSI};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	(void)state;
	for (size_t len = 8; len <= sizeof junk; len += 4)
		assert_int_equal(sendto(fd, junk, len, 0, (struct sockaddr *)&to, sizeof to), len);
	assert_int_equal(close(fd), 0);
	assert_int_equal(vb_gsi_send(gsi, &p, mad, VB_MAD_LEN), 0);
	step_until(1);
}

/* A device that goes takes its QP1 with it, and gets another one when it is back. */
static void device__goes_and_comes(void **state)
{
	struct vb_path p = path_to("127.0.0.1", true);
	uint8_t mad[VB_MAD_LEN] = {3};
	uint32_t ifindex = slots.host->device[0].ifindex;

	(void)state;
	vb_host_write_begin(slots.host);
	slots.host->device[0].ifindex = 0;
	slots.host->generation++;
	vb_host_write_end(slots.host);
	vb_gsi_follow(gsi);
	assert_int_equal(vb_gsi_send(gsi, &p, mad, VB_MAD_LEN), -ENODEV);
	vb_host_write_begin(slots.host);
	slots.host->device[0].ifindex = ifindex;
	slots.host->generation++;
	vb_host_write_end(slots.host);
	vb_gsi_follow(gsi);
	assert_int_equal(vb_gsi_send(gsi, &p, mad, VB_MAD_LEN), 0);
	step_until(1);
}

/* A virtual function has its parent's addresses and its parent's QP1: none of its own. */
static void virtual_function__has_no_qp1(void **state)
{
	struct vb_path p = path_to("127.0.0.1", true);
	const uint8_t mad[VB_MAD_LEN] = {4};

	(void)state;
	vb_host_write_begin(slots.host);
	slots.host->device[1] = slots.host->device[0];
	slots.host->device[1].parent = 1;
	slots.host->device_cnt = 2;
	slots.host->generation++;
	vb_host_write_end(slots.host);
	vb_gsi_follow(gsi);
	assert_int_equal(vb_gsi_send(gsi, &p, mad, VB_MAD_LEN), 0);
	p.port = 2;
	assert_int_equal(vb_gsi_send(gsi, &p, mad, VB_MAD_LEN), -ENODEV);
}

/* An engine in the first slot for a program, beside that of QP1. */
static struct vb_engine *engine_open(void)
{
	struct vb_host_memory *m = (struct vb_host_memory *)slots.host;
	struct vb_broker_client at = {.sock = -1,
				      .fd_store = -1,
				      .slot = VB_SLOT_FIRST,
				      .host = slots.host,
				      .flow = m->flow,
				      .bell = m->bell,
				      .queue_idle = m->queue_idle,
				      .wakeup = m->wakeup,
				      .mailbox = m->mailbox};
	struct vb_engine *e;
	char why[256];

	assert_int_equal(vb_slots_take(&slots, getpid(), "test"), VB_SLOT_FIRST);
	at.shm = slots.slot[VB_SLOT_FIRST].shm;
	at.shm->qpn_next = 77;
	at.rx_fd = dup(slots.group.fd[VB_SLOT_FIRST]);
	assert_int_equal(vb_engine_open_inside(&e, &at, why, sizeof why), 0);
	return e;
}

/* QPNs go on where the slot's last owner has stopped: its peers may still send to the old ones. */
static void engine__numbers_go_on(void **state)
{
	struct vb_engine *e = engine_open();
	struct vb_qp_init init = {.type = VB_QPT_RC, .cap = {.max_send_wr = 1, .max_recv_wr = 1}};
	struct vb_qp *qp;
	struct vb_pd *pd;

	(void)state;
	assert_int_equal(vb_pd_create(vb_engine_hca(e), &pd), 0);
	assert_int_equal(vb_cq_create(vb_engine_hca(e), 8, NULL, &init.send_cq), 0);
	init.recv_cq = init.send_cq;
	for (uint32_t i = 77; i < 80; i++) {
		assert_int_equal(vb_qp_create(pd, &init, &qp), 0);
		assert_int_equal(vb_qp_number(qp), i << 8 | VB_SLOT_FIRST);
	}
	vb_engine_close_inside(e);
}

/* Packets to a group, and to an address of its own, are the physical function's, wherever that
 * stands in the table: a virtual one has the same interface. */
static void engine__packets_are_the_physical_functions(void **state)
{
	const struct vb_gid group = {{0xff, 0x12, [15] = 9}};
	struct vb_device pf = slots.host->device[0];
	struct vb_engine *e = engine_open();
	const struct vb_link_config *cfg = &((struct vb_udp *)e->link->lower)->cfg;

	(void)state;
	assert_int_equal(cfg->port_of(cfg->ctx, &group, pf.ifindex), 1);
	assert_int_equal(cfg->port_of(cfg->ctx, &group, pf.ifindex + 1), 0);
	assert_int_equal(cfg->port_of(cfg->ctx, &pf.gid[0].gid, pf.ifindex), 1);
	vb_host_write_begin(slots.host);
	slots.host->device[1] = pf;
	slots.host->device[0].parent = 2;
	slots.host->device_cnt = 2;
	slots.host->generation++;
	vb_host_write_end(slots.host);
	vb_engine_reload(e);
	assert_int_equal(cfg->port_of(cfg->ctx, &group, pf.ifindex), 2);
	assert_int_equal(cfg->port_of(cfg->ctx, &pf.gid[0].gid, pf.ifindex), 2);
	vb_engine_close_inside(e);
}

static uint32_t rung_cnt;

static void on_rung(struct vb_bell *b, uint64_t value, vb_time now)
{
	(void)b, (void)value, (void)now;
	rung_cnt++;
}

/* A page begins with nothing written, whatever a program has stored there behind the end of the
 * queue that had it before. A store rings the bell that has the page, once. */
static void bell__begins_with_nothing_written(void **state)
{
	static const uint32_t words[] = {VB_BELL_QP_WORD, VB_BELL_QP_OTHER, VB_BELL_CQ_WORD};
	struct vb_engine *e = engine_open();
	struct vb_bell first = {.rung = on_rung}, second = {.rung = on_rung};
	volatile uint64_t *word;

	(void)state;
	rung_cnt = 0;
	vb_engine_lock(e);
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		assert_int_equal(vb_bell_open(e, &first), 0);
		word = (volatile uint64_t *)(void *)(first.page + words[i]);
		vb_bell_close(e, &first);
		assert_null(first.page);
		*word = 7;
		assert_int_equal(vb_bell_open(e, &second), 0);
		assert_ptr_equal((void *)(second.page + words[i]), (void *)(uintptr_t)word);
		(void)vb_bells_look(e->bells, vb_clock_now());
		assert_int_equal(rung_cnt, i);
		*word = 7;
		assert_true(vb_bells_look(e->bells, vb_clock_now()));
		assert_int_equal(rung_cnt, i + 1);
		assert_false(vb_bells_look(e->bells, vb_clock_now()));
		vb_bell_close(e, &second);
	}
	vb_engine_unlock(e);
	vb_engine_close_inside(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(mad__over_ipv4, setup, teardown),
	    cmocka_unit_test_setup_teardown(mad__over_ipv6, setup, teardown),
	    cmocka_unit_test_setup_teardown(mads__many, setup, teardown),
	    cmocka_unit_test_setup_teardown(mads__longer, setup, teardown),
	    cmocka_unit_test_setup_teardown(garbage__is_dropped, setup, teardown),
	    cmocka_unit_test_setup_teardown(device__goes_and_comes, setup, teardown),
	    cmocka_unit_test_setup_teardown(virtual_function__has_no_qp1, setup, teardown),
	    cmocka_unit_test_setup_teardown(engine__numbers_go_on, setup, teardown),
	    cmocka_unit_test_setup_teardown(engine__packets_are_the_physical_functions, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(bell__begins_with_nothing_written, setup, teardown),
	};

	if (!netns_enter())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
