/* SPDX-License-Identifier: BSD-2-Clause */
/* Congestion control at the engine: whose settings, how they are paced, and a full queue as a mark.
 */
#include "cmocka_env.h"
#include "node/engine/priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct vb_engine engine;
static struct vb_flow flow[VB_SLOT_CNT];
static int fd;
static vb_time now;
static struct vb_gid sender; /* of packets */

static int link_fd(const struct vb_link *l)
{
	(void)l;
	return fd;
}

static const struct vb_link_ops ops = {.name = "test", .fd = link_fd};

static void *hca_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

static void hca_free(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

static int setup(void **state)
{
	static struct vb_link link = {.ops = &ops};
	static struct vb_slot_shm slot;
	static const struct vb_hca_config cfg = {.limits = {.sge = 1},
						 .qpn_stride = 1,
						 .port_cnt = VB_HCA_PORTS_MAX,
						 .alloc = hca_alloc,
						 .free = hca_free};

	(void)state;
	memset(&engine, 0, sizeof engine);
	memset(flow, 0, sizeof flow);
	memset(&sender, 0, sizeof sender);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	engine.link = &link;
	engine.broker.flow = flow;
	engine.broker.shm = &slot;
	engine.broker.slot = 7;
	engine.flow.most = 100000;
	engine.devices.device[0].ifindex = 1;
	engine.devices.device[0].speed_mbps = 10000;
	engine.devices.device[1].ifindex = 2;
	return fd < 0 || vb_hca_create(&engine.hca, &cfg, 0);
}

static int teardown(void **state)
{
	(void)state;
	vb_hca_destroy(engine.hca);
	unsetenv("VERBENA_CC");
	return close(fd);
}

static void own__follow_the_devices(void **state)
{
	const struct vb_cc_settings *one = vb_hca_cc(engine.hca, 1),
				    *two = vb_hca_cc(engine.hca, 2);
	char why[256];

	(void)state;
	setenv("VERBENA_CC", "paper,np_min_cnp_us=3", 1);
	assert_int_equal(vb_engine_open_cc(&engine, why, sizeof why), 0);
	vb_engine_follow_cc(&engine);
	assert_int_equal(vb_cc_bps((uint32_t)one->dcqcn_max_rate << 8, one->cc_clk_hz) / 1000000,
			 10000);
	assert_int_equal(vb_cc_bps((uint32_t)two->dcqcn_max_rate << 8, two->cc_clk_hz) / 1000000,
			 100000);
	assert_int_equal(one->np_min_cnp_us, 3);
	assert_true(one->limiter_burst_ns >= 50 * VB_USEC);  /* no timer for each packet */
	assert_false(vb_hca_cc(engine.hca, 3)->dcqcn_hw_en); /* no device there */
	assert_true(engine.cc.marks);
	assert_int_equal(engine.broker.shm->own_cc, 3); /* others are told */
}

/* CC-47: without settings nothing is on, and nobody looks at queues. */
static void own__none_is_off(void **state)
{
	char why[256];

	(void)state;
	assert_int_equal(vb_engine_open_cc(&engine, why, sizeof why), 0);
	vb_engine_follow_cc(&engine);
	assert_false(vb_hca_cc(engine.hca, 1)->dcqcn_hw_en || vb_hca_cc(engine.hca, 1)->ecn_en);
	assert_false(engine.cc.marks);
}

static void own__wrong_is_said(void **state)
{
	char why[256], text[VB_ENGINE_CC_TEXT_MAX + 16];

	(void)state;
	setenv("VERBENA_CC", "paper,frob=1", 1);
	assert_int_equal(vb_engine_open_cc(&engine, why, sizeof why), -EINVAL);
	assert_string_equal(why, "VERBENA_CC: 'frob=1' is no setting of congestion control");
	for (size_t len = VB_ENGINE_CC_TEXT_MAX; len < sizeof text; len++) {
		memset(text, ',', sizeof text);
		text[len] = 0;
		setenv("VERBENA_CC", text, 1);
		assert_int_equal(vb_engine_open_cc(&engine, why, sizeof why), -EINVAL);
		assert_non_null(strstr(why, "is longer than"));
	}
}

#define PKTS 1000u

/* Packets with CE of PKTS that arrive with @ecn while @bytes wait, long after those before. */
static uint32_t marked(uint8_t ecn, uint64_t bytes)
{
	uint32_t cnt = 0;

	now += VB_MSEC;
	flow[7].sent = flow[7].taken + bytes;
	for (uint32_t i = 0; i < PKTS / 10; i++) {
		struct vb_path path = {.sgid = sender, .port = 1, .traffic_class = 0x60 | ecn};
		struct vb_rx rx[10];

		for (int k = 0; k < 10; k++)
			rx[k] = (struct vb_rx){.path = &path};
		vb_engine_mark(&engine, rx, 10, now);
		for (int k = 0; k < 10; k++) {
			assert_int_equal(rx[k].path->traffic_class & ~VB_ECN_MASK, 0x60);
			cnt += (rx[k].path->traffic_class & VB_ECN_MASK) == VB_ECN_CE;
		}
		assert_int_equal(path.traffic_class, 0x60 | ecn);
	}
	return cnt;
}

/* The queue marks as RED does, and only what may be marked. CC-04 */
static void mark__follows_the_queue(void **state)
{
	struct vb_cc_settings set;

	(void)state;
	vb_cc_settings_paper(&set, UINT64_C(10000000000));
	set.rxq_kmin = 50;
	set.rxq_kmax = 100;
	set.rxq_pmax = 20;
	assert_int_equal(vb_engine_set_cc(&engine, 1, &set), 0);
	assert_true(engine.cc.marks);
	assert_int_equal(marked(VB_ECN_ECT0, 0), 0);
	assert_int_equal(marked(VB_ECN_ECT0, 50000), 0);
	assert_uint_in_range(marked(VB_ECN_ECT0, 75000), 60, 140);
	assert_uint_in_range(marked(VB_ECN_ECT0, 99000), 150, 240);
	assert_int_equal(marked(VB_ECN_ECT0, 110000), PKTS);
	assert_int_equal(marked(1, 110000), PKTS); /* ECT(1) */
	assert_int_equal(marked(0, 110000), 0);
	assert_int_equal(marked(VB_ECN_CE, 0), PKTS); /* and takes no mark away */

	/* It is not looked at with each call. */
	struct vb_path path = {.port = 1, .traffic_class = VB_ECN_ECT0};
	struct vb_rx rx = {.path = &path};

	flow[7].sent = flow[7].taken + 110000;
	vb_engine_mark(&engine, &rx, 1, now);
	assert_ptr_equal(rx.path, &path);
	vb_engine_mark(&engine, &rx, 1, now + 100 * VB_USEC);
	assert_int_equal(rx.path->traffic_class, VB_ECN_CE);

	set.rxq_en = false;
	assert_int_equal(vb_engine_set_cc(&engine, 1, &set), 0);
	assert_false(engine.cc.marks);
}

/* A queue that is short for one port may be full for another. */
static void mark__by_the_port(void **state)
{
	struct vb_path path[2] = {{.port = 1, .traffic_class = VB_ECN_ECT0},
				  {.port = 2, .traffic_class = VB_ECN_ECT0}};
	struct vb_rx rx[2] = {{.path = &path[0]}, {.path = &path[1]}};
	struct vb_cc_settings set;

	(void)state;
	vb_cc_settings_paper(&set, UINT64_C(10000000000));
	set.rxq_kmin = set.rxq_kmax = 80;
	assert_int_equal(vb_engine_set_cc(&engine, 1, &set), 0);
	set.rxq_kmin = set.rxq_kmax = 20;
	assert_int_equal(vb_engine_set_cc(&engine, 2, &set), 0);
	flow[7].sent = flow[7].taken + 50000;
	vb_engine_mark(&engine, rx, 2, VB_MSEC);
	assert_int_equal(rx[0].path->traffic_class, VB_ECN_ECT0);
	assert_int_equal(rx[1].path->traffic_class, VB_ECN_CE);
}

/* Packets of other hosts count as the kernel has it; those of this host, as their senders say. */
static void mark__sees_the_socket(void **state)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct vb_cc_settings set;
	socklen_t len = sizeof a;
	char bytes[1000] = "";

	(void)state;
	vb_cc_settings_paper(&set, UINT64_C(10000000000));
	engine.flow.most = 10000;
	assert_int_equal(vb_engine_set_cc(&engine, 1, &set), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	assert_int_equal(marked(VB_ECN_ECT0, 0), 0);
	for (int i = 0; i < 60; i++)
		assert_int_equal(
		    sendto(fd, bytes, sizeof bytes, 0, (struct sockaddr *)&a, sizeof a),
		    sizeof bytes);
	assert_int_equal(marked(VB_ECN_ECT0, 0), PKTS);
	/* Seen a while after the last one from elsewhere. */
	sender.b[15] = 1;
	engine.devices.device_cnt = 1;
	engine.devices.device[0].gid[0] = (struct vb_gid_entry){sender, VB_GID_IPV6};
	vb_addr_build(&engine.addr, &engine.devices);
	assert_int_equal(marked(VB_ECN_ECT0, 0), 0);
	assert_int_equal(marked(VB_ECN_ECT0, 11000), PKTS);
}

static struct vb_host_memory mem;

/* Writes settings that identify physical function @pf. The broker begins no epoch. */
static void registers_write(uint32_t pf, uint8_t cnp_us, uint8_t ack_timeout)
{
	static struct vb_adapter_state next;

	next = *vb_adapter_state(&mem.adapter);
	vb_cc_settings_paper(&next.pf[pf].reg.cc, UINT64_C(10000000000));
	next.pf[pf].reg.cc.np_min_cnp_us = cnp_us;
	next.pf[pf].reg.recovery.min_ack_timeout = ack_timeout;
	vb_adapter_commit(&mem.adapter, &next);
}

static void epochs_begin(uint32_t pf)
{
	static struct vb_adapter_state next;

	next = *vb_adapter_state(&mem.adapter);
	next.pf[pf].cc_epoch++;
	next.pf[pf].recovery_epoch++;
	vb_adapter_commit(&mem.adapter, &next);
}

static void assert_adopted(uint8_t port, uint8_t cnp_us, uint8_t ack_timeout)
{
	vb_engine_adopt(&engine);
	assert_int_equal(vb_hca_cc(engine.hca, port)->np_min_cnp_us, cnp_us);
	assert_int_equal(vb_hca_recovery(engine.hca, port)->min_ack_timeout, ack_timeout);
}

/* A port has its physical function's settings, new ones from the next epoch on, or as soon as its
 * function is another. */
static void adopt__of_the_physical_function(void **state)
{
	(void)state;
	memset(&mem, 0, sizeof mem);
	vb_adapter_init(&mem.adapter);
	engine.broker.host = &mem.host;
	engine.devices.device[1].parent = 1;
	registers_write(0, 3, 13);
	registers_write(2, 5, 15);
	assert_adopted(1, 3, 13);
	assert_adopted(2, 3, 13);
	assert_adopted(3, 5, 15);
	assert_true(engine.cc.marks);
	/* Within an epoch nothing changes; an epoch is of its function alone. */
	registers_write(0, 4, 14);
	assert_adopted(1, 3, 13);
	epochs_begin(2);
	assert_adopted(1, 3, 13);
	epochs_begin(0);
	assert_adopted(1, 4, 14);
	assert_adopted(2, 4, 14);
	assert_adopted(3, 5, 15);
	/* Another device's function has taken the place of one; the epochs are equal. */
	engine.devices.device[1].parent = 3;
	registers_write(4, 9, 19);
	assert_adopted(2, 5, 15);
	/* The program's own settings hold until somebody writes to the device's. */
	__atomic_store_n(&engine.broker.shm->own_cc, 7, __ATOMIC_RELAXED);
	epochs_begin(0);
	assert_adopted(1, 4, 14);
	assert_int_equal(engine.broker.shm->own_cc, 6);
}

/* The pacing of live packets has bursts of 100 us at least; longer ones are as they were set. */
static void set__bursts_are_live(void **state)
{
	struct vb_cc_settings set;

	(void)state;
	vb_cc_settings_paper(&set, UINT64_C(10000000000));
	set.limiter_burst_ns = 99999;
	assert_int_equal(vb_engine_set_cc(&engine, 1, &set), 0);
	assert_int_equal(vb_hca_cc(engine.hca, 1)->limiter_burst_ns, 100000);
	set.limiter_burst_ns = 100001;
	assert_int_equal(vb_engine_set_cc(&engine, 1, &set), 0);
	assert_int_equal(vb_hca_cc(engine.hca, 1)->limiter_burst_ns, 100001);
	/* A wrong setting changes nothing. */
	set.cc_clk_hz = 1;
	set.rxq_en = false;
	assert_int_equal(vb_engine_set_cc(&engine, 1, &set), -EINVAL);
	assert_int_equal(vb_hca_cc(engine.hca, 1)->limiter_burst_ns, 100001);
	assert_true(engine.cc.marks);
}

/* Thresholds are parts of what a receive socket holds; a queue that is full at 0 is one, too. A
 * port that marks no packets has none, and neither has one whose notification point is off. CC-04
 */
static void mark__thresholds(void **state)
{
	struct vb_cc_settings set;

	(void)state;
	vb_cc_settings_paper(&set, UINT64_C(10000000000));
	set.rxq_kmin = 10;
	set.rxq_kmax = 30;
	set.rxq_pmax = 7;
	assert_int_equal(vb_engine_set_cc(&engine, 3, &set), 0);
	assert_int_equal(engine.cc.red[3].kmin, 10000);
	assert_int_equal(engine.cc.red[3].kmax, 30001);
	assert_int_equal(engine.cc.red[3].pmax_ppm, 70000);
	assert_int_equal(engine.cc.kmin, 10000);
	set.rxq_kmin = set.rxq_kmax = 0;
	assert_int_equal(vb_engine_set_cc(&engine, VB_HCA_PORTS_MAX, &set), 0);
	assert_int_equal(engine.cc.red[VB_HCA_PORTS_MAX].kmax, 1);
	assert_int_equal(engine.cc.kmin, 0);
	set.np_en = false;
	assert_int_equal(vb_engine_set_cc(&engine, VB_HCA_PORTS_MAX, &set), 0);
	assert_int_equal(engine.cc.red[VB_HCA_PORTS_MAX].kmax, 0);
	assert_int_equal(engine.cc.kmin, 10000);
	assert_true(engine.cc.marks);
	assert_int_equal(vb_engine_set_cc(&engine, 3, &set), 0);
	assert_false(engine.cc.marks);
}

/* A look at the queue holds for 20 us. */
static void mark__looks_each_20_us(void **state)
{
	struct vb_path path = {.port = 1, .traffic_class = VB_ECN_ECT0};
	struct vb_cc_settings set;
	vb_time begin = VB_SEC;

	(void)state;
	vb_cc_settings_paper(&set, UINT64_C(10000000000));
	set.rxq_kmin = set.rxq_kmax = 50;
	assert_int_equal(vb_engine_set_cc(&engine, 1, &set), 0);
	for (int step = 0; step < 4; step++) {
		static const uint32_t after_ns[] = {0, 19999, 20000, 20001};
		struct vb_rx rx = {.path = &path};

		flow[7].sent = flow[7].taken + (step ? 90000 : 0);
		vb_engine_mark(&engine, &rx, 1, begin + after_ns[step]);
		assert_int_equal(rx.path->traffic_class, step < 2 ? VB_ECN_ECT0 : VB_ECN_CE);
	}
}

/* A program's own settings are those of devices whose registers nobody has written since it began;
 * others are told of which. */
static void own__until_a_register_is_written(void **state)
{
	char why[256];

	(void)state;
	setenv("VERBENA_CC", "paper,np_min_cnp_us=3", 1);
	assert_int_equal(vb_engine_open_cc(&engine, why, sizeof why), 0);
	engine.adopted[0].cc_epoch = 8;
	engine.adopted[0].cc_first = 7;
	engine.adopted[1].cc_epoch = engine.adopted[1].cc_first = 7;
	engine.devices.device[VB_DEVICES_MAX - 1].ifindex = 9;
	vb_engine_follow_cc(&engine);
	assert_false(vb_hca_cc(engine.hca, 1)->dcqcn_hw_en);
	assert_int_equal(vb_hca_cc(engine.hca, 2)->np_min_cnp_us, 3);
	assert_int_equal(vb_hca_cc(engine.hca, VB_DEVICES_MAX)->np_min_cnp_us, 3);
	assert_true(engine.broker.shm->own_cc == (2 | 1u << (VB_DEVICES_MAX - 1)));
	/* Without any of its own that is said, too. */
	engine.cc.own[0] = 0;
	vb_engine_follow_cc(&engine);
	assert_true(engine.broker.shm->own_cc == 0);
}

/* A parent beyond the table is none: the device has settings of its own. The last entry is one. The
 * settings that the adapter leaves the factory with are taken over, too. */
static void adopt__of_a_parent_that_is_none(void **state)
{
	(void)state;
	memset(&mem, 0, sizeof mem);
	vb_adapter_init(&mem.adapter);
	engine.broker.host = &mem.host;
	vb_cc_settings_paper(&mem.adapter.state[0].pf[0].reg.cc, UINT64_C(10000000000));
	mem.adapter.state[0].pf[0].reg.cc.np_min_cnp_us = 2;
	mem.adapter.state[0].pf[0].reg.recovery.min_ack_timeout = 12;
	assert_adopted(1, 2, 12);
	engine.devices.device[1].parent = VB_DEVICES_MAX + 1;
	engine.devices.device[2].parent = VB_DEVICES_MAX;
	engine.devices.device[VB_DEVICES_MAX - 1].parent = 0;
	registers_write(1, 6, 16);
	registers_write(VB_DEVICES_MAX - 1, 7, 17);
	epochs_begin(1);
	epochs_begin(VB_DEVICES_MAX - 1);
	assert_adopted(2, 6, 16);
	assert_adopted(3, 7, 17);
	assert_adopted(VB_DEVICES_MAX, 7, 17);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(own__follow_the_devices, setup, teardown),
	    cmocka_unit_test_setup_teardown(own__none_is_off, setup, teardown),
	    cmocka_unit_test_setup_teardown(own__wrong_is_said, setup, teardown),
	    cmocka_unit_test_setup_teardown(mark__follows_the_queue, setup, teardown),
	    cmocka_unit_test_setup_teardown(mark__by_the_port, setup, teardown),
	    cmocka_unit_test_setup_teardown(set__bursts_are_live, setup, teardown),
	    cmocka_unit_test_setup_teardown(mark__thresholds, setup, teardown),
	    cmocka_unit_test_setup_teardown(mark__looks_each_20_us, setup, teardown),
	    cmocka_unit_test_setup_teardown(own__until_a_register_is_written, setup, teardown),
	    cmocka_unit_test_setup_teardown(mark__sees_the_socket, setup, teardown),
	    cmocka_unit_test_setup_teardown(adopt__of_the_physical_function, setup, teardown),
	    cmocka_unit_test_setup_teardown(adopt__of_a_parent_that_is_none, setup, teardown),
	};

	return cmocka_run_group_tests_name("engine_cc", tests, NULL, NULL);
}
