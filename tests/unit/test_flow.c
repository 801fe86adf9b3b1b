/* SPDX-License-Identifier: BSD-2-Clause */
/* The shared counts of receive sockets, and a receiver that is full, as the core sees it. */
#include "core/hca.h"
#include "link/flow.h"
#include "node/engine/priv.h"

#include "core_env.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void backlog__is_what_was_sent_and_not_taken(void **state)
{
	struct vb_flow f = {0};

	(void)state;
	vb_flow_sending(&f, 1000);
	vb_flow_sending(&f, 24);
	assert_int_equal(vb_flow_backlog(&f, f.taken), 1024 + 2 * VB_FLOW_OVERHEAD);
	vb_flow_taken(&f, 1000);
	assert_int_equal(vb_flow_backlog(&f, f.taken), 24 + VB_FLOW_OVERHEAD);
	vb_flow_sending(&f, 500);
	vb_flow_unsent(&f, 500); /* the kernel refused it */
	vb_flow_taken(&f, 24);
	assert_int_equal(vb_flow_backlog(&f, f.taken), 0);
}

/* How often the core asked where a receiver is, and what it is told. */
static uint32_t asked_cnt;
static uint16_t answer;

static uint16_t test_home(void *ctx, const struct vb_path *path)
{
	(void)ctx;
	assert_int_equal(path->port, 1);
	asked_cnt++;
	return answer;
}

static void backlog__is_not_negative_and_heals(void **state)
{
	struct vb_flow f = {0};

	(void)state;
	vb_flow_sending(&f, 5000);
	vb_flow_empty(&f); /* counted, but not there yet */
	vb_flow_taken(&f, 5000);
	assert_int_equal(vb_flow_backlog(&f, f.taken), 0);
	vb_flow_empty(&f);
	vb_flow_sending(&f, 70000); /* this one the kernel dropped */
	assert_true(vb_flow_backlog(&f, f.taken) > 0);
	vb_flow_empty(&f);
	assert_int_equal(vb_flow_backlog(&f, f.taken), 0);
}

static void *world_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

static void world_free(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

static uint32_t test_room(void *ctx, const struct vb_path *path, uint32_t dqpn, vb_time now)
{
	(void)path, (void)now;
	assert_int_equal(dqpn, 77);
	return *(uint32_t *)ctx;
}

/* A UC QP at MTU 1024 with one 8 KiB message posted. */
static struct vb_hca *world(uint32_t *room, uint8_t *bytes)
{
	struct vb_hca_config cfg = {.limits = vb_limits_default,
				    .qpn_stride = 1,
				    .qpn_first = 9,
				    .port_cnt = 1,
				    .find_home = test_home,
				    .rx_credit = test_room,
				    .receiver_ctx = room,
				    .alloc = world_alloc,
				    .free = world_free};
	struct vb_qp_init init = {.type = VB_QPT_UC, .cap = {4, 4, 1, 1, 0}};
	struct vb_qp_attr a = {.port = 1, .path_mtu = VB_MTU_1024, .dest_qpn = 77, .path.port = 1};
	struct vb_mr_attr region = {.iova = 0, .length = 8192, .host = bytes};
	struct vb_hca *h;
	struct vb_pd *pd;
	struct vb_mr *mr;
	struct vb_qp *qp;

	cfg.port[1] = (struct vb_hca_port){.active_mtu = VB_MTU_4096, .pkey = {VB_PKEY_DEFAULT}};
	assert_int_equal(vb_hca_create(&h, &cfg, 0), 0);
	assert_int_equal(vb_pd_create(h, &pd), 0);
	assert_int_equal(vb_cq_create(h, 8, NULL, &init.send_cq), 0);
	init.recv_cq = init.send_cq;
	assert_int_equal(vb_mr_create(pd, &region, &mr), 0);
	assert_int_equal(vb_qp_create(pd, &init, &qp), 0);
	a.qp_state = VB_QPS_INIT;
	assert_int_equal(
	    vb_qp_modify(qp, &a, VB_QP_STATE | VB_QP_PKEY_INDEX | VB_QP_PORT | VB_QP_ACCESS_FLAGS,
			 0),
	    0);
	a.qp_state = VB_QPS_RTR;
	assert_int_equal(
	    vb_qp_modify(
		qp, &a, VB_QP_STATE | VB_QP_AV | VB_QP_PATH_MTU | VB_QP_DEST_QPN | VB_QP_RQ_PSN, 0),
	    0);
	a.qp_state = VB_QPS_RTS;
	assert_int_equal(vb_qp_modify(qp, &a, VB_QP_STATE | VB_QP_SQ_PSN, 0), 0);

	struct vb_sge sge = {0, 8192, vb_mr_lkey(mr)};
	struct vb_send_wr wr = {.sge = &sge, .sge_cnt = 1, .opcode = VB_WR_SEND};

	assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
	return h;
}

static uint32_t emit(struct vb_hca *h, vb_time now)
{
	static struct vb_tx_batch b;

	b.cnt = b.seg_cnt = 0;
	return vb_hca_poll_transmit(h, &b, now);
}

static void room__holds_packets_back_until_there_is_some(void **state)
{
	static uint8_t bytes[8192];
	uint32_t room = 4000; /* three packets of 1 KiB and a bit */
	struct vb_hca *h = world(&room, bytes);

	(void)state;
	assert_int_equal(emit(h, 0), 3);
	room = 0;
	assert_int_equal(vb_hca_poll_timeout(h), VB_RX_CREDIT_RETRY_NS);
	vb_hca_handle_timeout(h, VB_RX_CREDIT_RETRY_NS);
	assert_int_equal(emit(h, VB_RX_CREDIT_RETRY_NS), 0);
	room = UINT32_MAX;
	vb_hca_handle_timeout(h, 2 * VB_RX_CREDIT_RETRY_NS);
	assert_int_equal(emit(h, 2 * VB_RX_CREDIT_RETRY_NS), 5);
	vb_hca_destroy(h);
}

/* A path is asked about when the QP gets it, and no packet asks again until addresses change. */
static void home__is_asked_for_once_for_each_path(void **state)
{
	static uint8_t bytes[8192];
	static struct vb_tx_batch b;
	uint32_t room = 4000;
	struct vb_hca *h;

	(void)state;
	asked_cnt = 0;
	answer = vb_home(7, true);
	h = world(&room, bytes);
	assert_int_equal(asked_cnt, 1);
	assert_int_equal(vb_hca_poll_transmit(h, &b, 0), 3);
	for (uint32_t i = 0; i < b.cnt; i++)
		assert_int_equal(b.pkt[i].path->home, vb_home(7, true));
	answer = vb_home(8, false);
	vb_hca_find_homes(h);
	assert_int_equal(asked_cnt, 2);
	room = UINT32_MAX;
	vb_hca_handle_timeout(h, VB_RX_CREDIT_RETRY_NS);
	b.cnt = b.seg_cnt = 0;
	assert_int_equal(vb_hca_poll_transmit(h, &b, VB_RX_CREDIT_RETRY_NS), 5);
	for (uint32_t i = 0; i < b.cnt; i++)
		assert_int_equal(b.pkt[i].path->home, vb_home(8, false));
	assert_int_equal(asked_cnt, 2);
	vb_hca_destroy(h);
}

/* An engine of a host that has the address where here leads. */
static struct vb_engine e;
static struct vb_flow flow[VB_SLOT_CNT];
static struct vb_host_shm host;
static const struct vb_path here = {.port = 1, .dgid.b = {[15] = 1}};

static void engine_begin(const struct vb_flow_limits *limits)
{
	memset(&e, 0, sizeof e);
	memset(flow, 0, sizeof flow);
	e.devices.device_cnt = 1;
	e.devices.device[0].ifindex = 1;
	e.devices.device[0].gid[0] = (struct vb_gid_entry){here.dgid, VB_GID_IPV6};
	vb_addr_build(&e.addr, &e.devices);
	e.broker.flow = flow;
	e.broker.host = &host;
	host.taken[5] = VB_SLOT_TAKEN;
	e.flow = *limits;
}

/* A path's word about its receiver is believed for as long as the addresses are the same. */
static void home__of_earlier_addresses_counts_for_nothing(void **state)
{
	struct vb_path path = here;

	(void)state;
	engine_begin(&(struct vb_flow_limits){100000, 100000, 10000, 10000});
	path.home = vb_engine_find_home(&e, &path);
	assert_true(vb_home_is_known(path.home, e.addr.generation));
	assert_true(vb_home_is_here(path.home));
	assert_true(vb_engine_rx_credit(&e, &path, 0x105, VB_SEC) <= 100000);
	path.home = vb_home(e.addr.generation, false);
	assert_int_equal(vb_engine_rx_credit(&e, &path, 0x105, VB_SEC), UINT32_MAX);
	vb_addr_build(&e.addr, &e.devices);
	assert_false(vb_home_is_known(path.home, e.addr.generation));
	assert_true(vb_engine_rx_credit(&e, &path, 0x105, VB_SEC) <= 100000);
	path.home = vb_engine_find_home(&e, &path);
	e.devices.device_cnt = 0;
	vb_addr_build(&e.addr, &e.devices);
	assert_int_equal(vb_engine_rx_credit(&e, &path, 0x105, VB_SEC), UINT32_MAX);
	/* A path that nobody has looked up says nothing, whatever the generation. */
	for (uint32_t i = 0, g = 0; i <= VB_HOME_GENERATIONS; i++) {
		g = vb_home_generation_next((uint16_t)g);
		assert_false(vb_home_is_known(0, (uint16_t)g));
		assert_int_equal(vb_home((uint16_t)g, true) >> 1, g);
	}
}

/* A path without a port, or with one that this host does not have, leads to no process of it. */
static void home__of_a_path_without_a_port(void **state)
{
	struct vb_path path = here;

	(void)state;
	engine_begin(&(struct vb_flow_limits){100000, 100000, 10000, 10000});
	path.port = 0;
	assert_false(vb_home_is_here(vb_engine_find_home(&e, &path)));
	path.port = VB_DEVICES_MAX + 1;
	assert_false(vb_home_is_here(vb_engine_find_home(&e, &path)));
}

/*
 * A receiver that is gone leaves its socket full up to some bytes. A sender with a longer packet
 * waits no longer than it takes to see that nobody reads.
 */
static void room__nobody_reads_a_nearly_full_socket(void **state)
{
	vb_time now = VB_SEC;

	(void)state;
	engine_begin(&(struct vb_flow_limits){100000, 100000, 10000, 10000});
	assert_true(vb_engine_rx_credit(&e, &here, 0x105, now) >= 4096);
	vb_flow_sending(&flow[5], e.flow.alone - VB_FLOW_OVERHEAD - 1000);
	now += VB_USEC;
	assert_int_equal(vb_engine_rx_credit(&e, &here, 0x105, now), 0);
	now += 50 * VB_MSEC;
	assert_int_equal(vb_engine_rx_credit(&e, &here, 0x105, now), 0);
	now += 51 * VB_MSEC;
	assert_int_equal(vb_engine_rx_credit(&e, &here, 0x105, now), UINT32_MAX);
	/* Somebody reads again. */
	vb_flow_taken(&flow[5], 50000);
	assert_uint_in_range(vb_engine_rx_credit(&e, &here, 0x105, now), 4096, e.flow.alone);
}

/* A slow reader is there: as long as it takes something now and then, its full socket is waited
 * for. */
static void room__full_socket_of_a_slow_reader(void **state)
{
	vb_time now = VB_SEC;

	(void)state;
	engine_begin(&(struct vb_flow_limits){100000, 100000, 10000, 10000});
	assert_true(vb_engine_rx_credit(&e, &here, 0x105, now) >= 4096);
	vb_flow_sending(&flow[5], e.flow.alone - VB_FLOW_OVERHEAD - 1000);
	for (int i = 0; i < 10; i++) {
		now += 60 * VB_MSEC;
		vb_flow_taken(&flow[5], 10);
		vb_flow_sending(&flow[5], 10);
		assert_int_equal(vb_engine_rx_credit(&e, &here, 0x105, now), 0);
	}
}

/* Packets of others keep no sender from having something of its own in the queue. */
static void room__a_share_where_others_are(void **state)
{
	const struct vb_flow_limits limits = {
	    .alone = 100000, .most = 150000, .share = 20000, .gso = 10000};
	vb_time now = VB_SEC;

	(void)state;
	engine_begin(&limits);
	vb_flow_sending(&flow[5], 91000);
	assert_int_equal(vb_engine_rx_credit(&e, &here, 0x105, now), 20000); /* not 9000 */
	assert_false(e.wait.held_up);
	engine_begin(&limits);
	vb_flow_sending(&flow[5], 99000);
	assert_int_equal(vb_engine_rx_credit(&e, &here, 0x105, now), 20000);
	e.flow_own[5] = (struct vb_flow_own){vb_flow_sending(&flow[5], 12000), 12000};
	assert_int_equal(vb_engine_rx_credit(&e, &here, 0x105, now), 8000);
	assert_true(e.wait.held_up); /* a GSO batch would have to wait */
	e.flow_own[5] = (struct vb_flow_own){vb_flow_sending(&flow[5], 6000), 18000};
	assert_int_equal(vb_engine_rx_credit(&e, &here, 0x105, now), 0);
	/* Its own are read, and behind them there is as much again. */
	vb_flow_taken(&flow[5], 99000);
	vb_flow_taken(&flow[5], 12000);
	vb_flow_sending(&flow[5], 99000);
	assert_int_equal(vb_engine_rx_credit(&e, &here, 0x105, now), 0);
	vb_flow_taken(&flow[5], 6000);
	assert_int_equal(vb_engine_rx_credit(&e, &here, 0x105, now), 20000);
	/* The last of it is for those that have nothing there. */
	vb_flow_sending(&flow[5], 34000);
	assert_uint_in_range(vb_engine_rx_credit(&e, &here, 0x105, now), 4096, 12000);
	e.flow_own[5] = (struct vb_flow_own){vb_flow_sending(&flow[5], 1000), 19000};
	assert_int_equal(vb_engine_rx_credit(&e, &here, 0x105, now), 0);
	vb_flow_taken(&flow[5], 99000);
	vb_flow_taken(&flow[5], 34000);
	vb_flow_taken(&flow[5], 1000);
	vb_flow_sending(&flow[5], 146000);
	assert_int_equal(vb_engine_rx_credit(&e, &here, 0x105, now), 0);
}

/* A quarter of a buffer of @size bytes for one sender, three eighths for many, a twelfth of that
 * for each and a quarter of such a share for a batch; none more than is of use. */
static void assert_flow_of(uint32_t size)
{
	uint32_t alone = size / 4 < 512 << 10 ? size / 4 : 512 << 10;
	uint64_t most = (uint64_t)size * 3 / 8;

	most = most < 3 << 20 ? most : 3 << 20;
	assert_int_equal(e.flow.alone, alone);
	assert_int_equal(e.flow.most, most);
	assert_int_equal(e.flow.share, most / 12);
	assert_int_equal(e.flow.gso, most / 48 < VB_FLOW_BATCH_MAX ? most / 48 : VB_FLOW_BATCH_MAX);
}

/* A small buffer is not promised twice, a large one not used up. */
static void size_flow__follows_the_receive_buffer(void **state)
{
	static const int sizes[] = {0, 100000, 1 << 20, 100 << 20};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)state;
	assert_true(fd >= 0);
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		int size;
		socklen_t len = sizeof size;

		assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &sizes[i], sizeof sizes[i]),
				 0);
		/* More than others may have; root's. */
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &sizes[i], sizeof sizes[i]);
		assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, &len), 0);
		size = size < 256 << 10 ? 256 << 10 : size;

		uint32_t window = vb_engine_size_flow(&e, fd), wanted = (uint32_t)size;

		assert_int_equal(window, 2 * e.flow.alone);
		assert_uint_in_range(e.flow.alone, 64 << 10, size / 4);
		assert_uint_in_range(e.flow.most, e.flow.alone, size / 2);
		assert_uint_in_range(e.flow.share, 4096, e.flow.most / 8);
		assert_uint_in_range(e.flow.gso, 2048, e.flow.share / 4);
		assert_flow_of(wanted);
	}
	/* Of no socket nothing is known. */
	assert_int_equal(vb_engine_size_flow(&e, -1), 128 << 10);
	assert_flow_of(256 << 10);
	close(fd);
}

/* Whether a receiver of this host has answered what was sent to it is known, unless it does nothing
 * at all. */
static void unanswered__until_answered(void **state)
{
	const struct vb_path far = {.port = 1};
	vb_time now = VB_SEC;

	(void)state;
	engine_begin(&(struct vb_flow_limits){100000, 100000, 10000, 10000});
	assert_false(vb_engine_unanswered(&e, &here, 0x105, now));
	vb_flow_sending(&flow[5], 3000); /* somebody else's */
	assert_false(vb_engine_unanswered(&e, &here, 0x105, now));
	assert_true(vb_engine_rx_credit(&e, &here, 0x105, now) > 4096);
	e.flow_own[5].last = vb_flow_sending(&flow[5], 3000);
	assert_true(vb_engine_unanswered(&e, &here, 0x105, now));
	assert_false(vb_engine_unanswered(&e, &far, 0x105, now));
	vb_flow_taken(&flow[5], 3000);
	vb_flow_answered(&flow[5]);
	now += 499 * VB_MSEC;
	assert_true(vb_engine_unanswered(&e, &here, 0x105, now));
	now += 499 * VB_MSEC;
	assert_true(vb_engine_unanswered(&e, &here, 0x105, now));
	now += 2 * VB_MSEC;
	assert_false(vb_engine_unanswered(&e, &here, 0x105, now)); /* stopped, or gone */
	/* A resend, which asks for room, does not begin its time anew. */
	assert_true(vb_engine_rx_credit(&e, &here, 0x105, now) > 4096);
	now += VB_MSEC;
	assert_false(vb_engine_unanswered(&e, &here, 0x105, now));
	/* Read, and its process lost the processor before it answered. */
	e.flow_own[5].last = vb_flow_sending(&flow[5], 3000);
	vb_flow_taken(&flow[5], 3000);
	vb_flow_answered(&flow[5]);
	assert_true(vb_engine_unanswered(&e, &here, 0x105, now));
	vb_flow_taken(&flow[5], 3000);
	assert_true(vb_engine_unanswered(&e, &here, 0x105, now));
	vb_flow_answered(&flow[5]);
	assert_false(vb_engine_unanswered(&e, &here, 0x105, now));
}

/* A process that is gone is not waited for, nor is one that never was. */
static void unanswered__not_where_nobody_is(void **state)
{
	vb_time now = VB_SEC;

	(void)state;
	engine_begin(&(struct vb_flow_limits){100000, 100000, 10000, 10000});
	assert_true(vb_engine_rx_credit(&e, &here, 0x105, now) > 4096);
	e.flow_own[5].last = vb_flow_sending(&flow[5], 200000);
	assert_int_equal(vb_engine_rx_credit(&e, &here, 0x105, now), 0);
	assert_true(vb_engine_unanswered(&e, &here, 0x105, now));
	host.taken[5] = VB_SLOT_VACANT;
	assert_int_equal(vb_engine_rx_credit(&e, &here, 0x105, now), UINT32_MAX);
	assert_false(vb_engine_unanswered(&e, &here, 0x105, now));
}

static bool test_unanswered(void *ctx, const struct vb_path *path, uint32_t dqpn, vb_time now)
{
	(void)path, (void)now;
	assert_int_equal(dqpn, 77);
	return *(uint32_t *)ctx < UINT32_MAX;
}

/*
 * While the receiver is full the ACK timer costs no retry: nothing could be sent again, and what
 * was sent is most likely still there. When there is room again, it counts.
 */
static void room__full_receiver_costs_no_retry(void **state)
{
	static struct env env;
	static struct vb_tx_batch b;
	uint32_t room = 2500; /* two packets of 1 KiB */
	vb_dur timeout = vb_ack_timeout_ns(14);
	struct vb_qp *qp;

	(void)state;
	env_config(&env);
	env.cfg.rx_credit = test_room;
	env.cfg.unanswered = test_unanswered;
	env.cfg.receiver_ctx = &room;
	env_open(&env, 16);
	qp = env_rts(&env, VB_QPT_RC, 2, 77);
	assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 8192), 0);
	assert_int_equal(env_tx(&env, &b), 2);
	room = 0;
	for (int i = 0; i < 20; i++) {
		env.now += timeout;
		vb_hca_handle_timeout(env.hca, env.now);
		assert_int_equal(env_tx(&env, &b), 0);
	}
	assert_int_equal(env.counters.v[VB_COUNTER_local_ack_timeout_err], 0);
	assert_int_equal(vb_qp_get_state(qp), VB_QPS_RTS);
	room = UINT32_MAX;
	vb_hca_handle_timeout(env.hca, env.now + VB_RX_CREDIT_RETRY_NS);
	assert_int_equal(env_tx(&env, &b), 6);
	room = UINT32_MAX - 1; /* enough, and not answered yet */
	env.now += timeout;
	vb_hca_handle_timeout(env.hca, env.now);
	assert_int_equal(env_tx(&env, &b), 0);
	room = UINT32_MAX;
	env.now += timeout;
	vb_hca_handle_timeout(env.hca, env.now);
	assert_int_equal(env.counters.v[VB_COUNTER_local_ack_timeout_err], 1);
	assert_int_equal(env_tx(&env, &b), 8);
	env_close(&env);
}

/* Packets that leave again until the QP gives up; with @lags the receiver is behind at every other
 * timer, which sends nothing. */
static uint32_t resends_until_given_up(bool adaptive, bool lags)
{
	static struct env env;
	static struct vb_tx_batch b;
	uint32_t room = UINT32_MAX, resends = 0;
	struct vb_qp *qp;

	env_config(&env);
	env.cfg.recovery.roce_adp_retrans_en = adaptive;
	env.cfg.rx_credit = test_room;
	env.cfg.unanswered = test_unanswered;
	env.cfg.receiver_ctx = &room;
	env_open(&env, 16);
	qp = env_rts(&env, VB_QPT_RC, 2, 77);
	assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 8), 0);
	assert_int_equal(env_tx(&env, &b), 1);
	for (int i = 0; i < 100 && vb_qp_get_state(qp) == VB_QPS_RTS; i++) {
		room = lags && i % 2 == 0 ? UINT32_MAX - 1 : UINT32_MAX;
		env.now = vb_hca_poll_timeout(env.hca);
		vb_hca_handle_timeout(env.hca, env.now);
		resends += (uint32_t)env_tx(&env, &b);
	}
	assert_int_equal(vb_qp_get_state(qp), VB_QPS_ERR);
	env_close(&env);
	return resends;
}

/* A receiver that was behind for a while gives no retries back: what it reads late and drops is
 * lost each time, so the requester gives up after as many retries as without that. Nor is the
 * time a part of the adaptive total. IBA 9.7.6.1.3, IBT-80 */
static void lag__costs_no_retry_and_gives_none_back(void **state)
{
	(void)state;
	assert_int_equal(resends_until_given_up(false, false), 7);
	assert_int_equal(resends_until_given_up(false, true), 7);
	assert_int_equal(resends_until_given_up(true, true), resends_until_given_up(true, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(backlog__is_what_was_sent_and_not_taken),
	    cmocka_unit_test(backlog__is_not_negative_and_heals),
	    cmocka_unit_test(room__holds_packets_back_until_there_is_some),
	    cmocka_unit_test(lag__costs_no_retry_and_gives_none_back),
	    cmocka_unit_test(home__is_asked_for_once_for_each_path),
	    cmocka_unit_test(home__of_earlier_addresses_counts_for_nothing),
	    cmocka_unit_test(home__of_a_path_without_a_port),
	    cmocka_unit_test(room__nobody_reads_a_nearly_full_socket),
	    cmocka_unit_test(room__full_socket_of_a_slow_reader),
	    cmocka_unit_test(room__full_receiver_costs_no_retry),
	    cmocka_unit_test(room__a_share_where_others_are),
	    cmocka_unit_test(size_flow__follows_the_receive_buffer),
	    cmocka_unit_test(unanswered__until_answered),
	    cmocka_unit_test(unanswered__not_where_nobody_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
