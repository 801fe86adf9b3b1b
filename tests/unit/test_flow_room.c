/* SPDX-License-Identifier: BSD-2-Clause */
/* How much a receiver of this host can take, to the byte, and for how long it is waited for. */
#include "cmocka_env.h"
#include "link/flow.h"
#include "node/engine/priv.h"

#include <string.h>

/* An engine of a host that has the address where here leads. */
static struct vb_engine e;
static struct vb_flow flow[VB_SLOT_CNT];
static struct vb_host_shm host;
static const struct vb_path here = {.port = 1, .dgid.b = {[15] = 1}};

/* So many bytes have been sent to the receiver, and none was taken. */
static void backlog_begin(uint64_t bytes)
{
	const struct vb_flow_limits limits = {
	    .alone = 100000, .most = 150000, .share = 20000, .gso = 10000};

	memset(&e, 0, sizeof e);
	memset(flow, 0, sizeof flow);
	memset(&host, 0, sizeof host);
	e.devices.device_cnt = 1;
	e.devices.device[0].ifindex = 1;
	e.devices.device[0].gid[0] = (struct vb_gid_entry){here.dgid, VB_GID_IPV6};
	vb_addr_build(&e.addr, &e.devices);
	e.broker.flow = flow;
	e.broker.host = &host;
	host.taken[5] = VB_SLOT_TAKEN;
	e.flow = limits;
	e.watch[5].since = VB_SEC;
	flow[5].sent = bytes;
}

/* To the byte: how full the receiver may be for one sender alone, and for one of many. */
static void room__to_the_byte(void **state)
{
	const vb_time now = VB_SEC;

	(void)state;
	backlog_begin(80000); /* a share is left */
	assert_int_equal(vb_engine_rx_credit(&e, &here, 0x105, now), 20000);
	backlog_begin(100000 - VB_PAYLOAD_MAX);
	e.flow_own[5] = (struct vb_flow_own){1, 20000 - VB_PAYLOAD_MAX + 1};
	assert_int_equal(vb_engine_rx_credit(&e, &here, 0x105, now), VB_PAYLOAD_MAX);
	backlog_begin(100000 - VB_PAYLOAD_MAX + 1);
	e.flow_own[5] = (struct vb_flow_own){1, 20000 - VB_PAYLOAD_MAX + 1};
	assert_int_equal(vb_engine_rx_credit(&e, &here, 0x105, now), 0);
	/* A packet of one's own fits the share, or does not. */
	backlog_begin(100000);
	e.flow_own[5] = (struct vb_flow_own){1, 20000 - VB_PAYLOAD_MAX};
	assert_int_equal(vb_engine_rx_credit(&e, &here, 0x105, now), VB_PAYLOAD_MAX);
	/* While a whole share is left. */
	backlog_begin(130000);
	e.flow_own[5] = (struct vb_flow_own){1, 5000};
	assert_int_equal(vb_engine_rx_credit(&e, &here, 0x105, now), 15000);
	backlog_begin(130001);
	e.flow_own[5] = (struct vb_flow_own){1, 5000};
	assert_int_equal(vb_engine_rx_credit(&e, &here, 0x105, now), 0);
	/* A sender with nothing there gets half of the rest and of a packet's bytes. */
	backlog_begin(140000);
	assert_int_equal(vb_engine_rx_credit(&e, &here, 0x105, now), (10000 + VB_PAYLOAD_MAX) / 2);
	backlog_begin(150000 - VB_PAYLOAD_MAX);
	assert_int_equal(vb_engine_rx_credit(&e, &here, 0x105, now), VB_PAYLOAD_MAX);
	backlog_begin(150000 - VB_PAYLOAD_MAX + 1);
	assert_int_equal(vb_engine_rx_credit(&e, &here, 0x105, now), 0);
}

/* A GSO batch has room, or the program may have to let the receiver run. */
static void room__for_a_batch(void **state)
{
	(void)state;
	for (uint32_t less = 0; less < 2; less++) {
		backlog_begin(100000);
		e.flow.share = 10000 - less;
		(void)vb_engine_rx_credit(&e, &here, 0x105, VB_SEC);
		assert_int_equal(e.wait.held_up, less);
	}
}

/* How much was taken is looked up when more than a quarter seems to lie there: the counts are
 * written by another processor. */
static void room__is_looked_up_when_it_matters(void **state)
{
	(void)state;
	backlog_begin(25000);
	flow[5].taken = 20000;
	assert_int_equal(vb_engine_rx_credit(&e, &here, 0x105, VB_SEC), 75000);
	assert_int_equal(e.watch[5].taken, 0);
	flow[5].sent++;
	assert_int_equal(vb_engine_rx_credit(&e, &here, 0x105, VB_SEC), 94999);
	assert_int_equal(e.watch[5].taken, 20000);
}

/* A socket that nobody reads is waited for 100 ms, and its answer 500 ms. */
static void room__for_how_long_nobody_may_read(void **state)
{
	vb_time now = VB_SEC;

	(void)state;
	backlog_begin(0);
	(void)vb_engine_rx_credit(&e, &here, 0x105, now);
	flow[5].sent = 150000;
	assert_int_equal(vb_engine_rx_credit(&e, &here, 0x105, now + 100 * VB_MSEC), 0);
	assert_int_equal(vb_engine_rx_credit(&e, &here, 0x105, now + 100 * VB_MSEC + 1),
			 UINT32_MAX);
	e.flow_own[5].last = 1;
	assert_true(vb_engine_unanswered(&e, &here, 0x105, now));
	assert_true(vb_engine_unanswered(&e, &here, 0x105, now + 500 * VB_MSEC));
	assert_false(vb_engine_unanswered(&e, &here, 0x105, now + 500 * VB_MSEC + 1));
}

/* Each receiver has counts of its own. */
static void room__of_one_slot_and_another(void **state)
{
	(void)state;
	backlog_begin(150000);
	host.taken[6] = VB_SLOT_TAKEN;
	assert_int_equal(vb_engine_rx_credit(&e, &here, 0x106, VB_SEC), 100000);
	assert_int_equal(vb_engine_rx_credit(&e, &here, 0x105, VB_SEC), 0);
	e.flow_own[5].last = 1;
	assert_false(vb_engine_unanswered(&e, &here, 0x106, VB_SEC));
	assert_true(vb_engine_unanswered(&e, &here, 0x105, VB_SEC));
}

/* In a fabric all that there is is here, by whatever path, and rings have their own bounds. */
static void home__in_a_fabric(void **state)
{
	const struct vb_path far = {.port = 1, .dgid.b = {[15] = 9}};

	(void)state;
	backlog_begin(150000);
	e.broker.fabric = (struct vb_ib_link_config *)(void *)&e; /* there is one: not looked at */
	assert_true(vb_home_is_here(vb_engine_find_home(&e, &far)));
	assert_int_equal(vb_engine_rx_credit(&e, &far, 0x105, VB_SEC), 0);
	host.taken[5] = VB_SLOT_VACANT; /* another host's slots */
	assert_int_equal(vb_engine_rx_credit(&e, &far, 0x105, VB_SEC), 0);
	assert_int_equal(vb_engine_size_flow(&e, -1), UINT32_MAX);
	e.broker.fabric = NULL;
	assert_int_equal(vb_engine_rx_credit(&e, &far, 0x105, VB_SEC), UINT32_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(room__to_the_byte),
	    cmocka_unit_test(room__for_a_batch),
	    cmocka_unit_test(room__is_looked_up_when_it_matters),
	    cmocka_unit_test(room__for_how_long_nobody_may_read),
	    cmocka_unit_test(room__of_one_slot_and_another),
	    cmocka_unit_test(home__in_a_fabric),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
