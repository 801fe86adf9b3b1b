/* SPDX-License-Identifier: BSD-2-Clause */
/* Cables that go down and come back during a run, and routes that follow. */
#include "sim/load/load.h"
#include "sim_net.h"

#include <errno.h>

static const struct vb_load_config load_config = {
    .flows_max = 16,
    .connections_max = 16,
    .message_bytes = 65536,
    .depth = 4,
    .type = VB_QPT_RC,
    .mtu = VB_MTU_1024,
    .timeout = 6, /* 262 us */
    .retry_cnt = 7,
    .rnr_retry = 7,
    .rd_atomic = 1,
};

static uint64_t sent_on(const struct net *n, uint32_t port)
{
	struct vb_port_stats st;

	vb_sim_port_stats(n->sim, port, &st);
	return st.tx_pkts;
}

/* Two leaves with a host each and two spines: cables 2 and 3 are leaf 0's to the spines, cables 4
 * and 5 leaf 1's. One flow takes one spine; when its cable goes it takes the other one. */
static void routes__follow_a_cable_that_goes_down(void **state)
{
	struct vb_cable cable = net_cable(100, 1000);
	struct vb_sim_config c = net_config();
	struct vb_load *l;
	struct net n;
	uint64_t a, b;
	uint32_t used;

	(void)state;
	c.reroute = 20 * VB_USEC;
	assert_int_equal(vb_sim_topo_clos(&n.topo, &net_memory, 2, 2, 1, &cable, &cable), 0);
	net_open(&n, &c);
	assert_int_equal(vb_load_create(&l, n.sim, &load_config, &net_memory), 0);
	assert_int_equal(vb_load_add_flow(l, 0, 1, VB_LOAD_WRITE, 32 << 20, 0), 0);
	assert_int_equal(vb_sim_run(n.sim, 200 * VB_USEC), 0);
	a = sent_on(&n, 4);
	b = sent_on(&n, 6);
	assert_true((a == 0) != (b == 0));
	used = a ? 2 : 3; /* the cable */
	assert_int_equal(vb_sim_plan_link(n.sim, 6, false, VB_SEC), -EINVAL);
	assert_int_equal(vb_sim_plan_link(n.sim, used, false, 100 * VB_USEC), -EINVAL);
	assert_int_equal(vb_sim_plan_link(n.sim, used, false, 300 * VB_USEC), 0);
	assert_int_equal(vb_sim_run(n.sim, 310 * VB_USEC), 0);
	a = sent_on(&n, 2 * used);
	assert_int_equal(vb_sim_run(n.sim, 319 * VB_USEC), 0);
	assert_int_equal(sent_on(&n, 2 * (5 - used)), 0); /* routes have not followed yet */
	assert_int_equal(vb_sim_run(n.sim, 330 * VB_USEC), 0);
	a = sent_on(&n, 2 * used);
	assert_int_equal(vb_sim_run(n.sim, VB_NEVER), 0);
	assert_int_equal(sent_on(&n, 2 * used), a);
	assert_true(sent_on(&n, 2 * (5 - used)) > 1000);
	assert_int_equal(vb_load_flow(l, 0)->status, VB_WC_SUCCESS);
	assert_true(vb_load_flow(l, 0)->done != VB_NEVER);
	vb_load_destroy(l);
	net_close(&n);
}

/* The only way is gone for a while: what is sent has no route, and the flow goes on when the cable
 * is back. */
static void flow__goes_on_when_its_cable_is_back(void **state)
{
	struct vb_cable cable = net_cable(100, 1000);
	struct vb_sim_config c = net_config();
	struct vb_load *l;
	struct net n;
	uint64_t bytes;

	(void)state;
	c.sw.buffer.lossless = 1;
	c.carry_data = true;
	assert_int_equal(vb_sim_topo_dumbbell(&n.topo, &net_memory, 2, 2, &cable, &cable), 0);
	net_open(&n, &c);
	assert_int_equal(vb_load_create(&l, n.sim, &load_config, &net_memory), 0);
	assert_int_equal(vb_load_add_flow(l, 0, 2, VB_LOAD_SEND, 8 << 20, 0), 0);
	assert_int_equal(vb_load_add_flow(l, 1, 3, VB_LOAD_SEND, 8 << 20, 0), 0);
	assert_int_equal(vb_sim_plan_link(n.sim, 4, false, 100 * VB_USEC), 0);
	assert_int_equal(vb_sim_plan_link(n.sim, 4, true, 900 * VB_USEC), 0);
	assert_int_equal(vb_sim_run(n.sim, 200 * VB_USEC), 0);
	bytes = vb_load_flow_completed(l, vb_load_flow(l, 0));
	assert_int_equal(vb_sim_run(n.sim, 890 * VB_USEC), 0);
	assert_int_equal(vb_load_flow_completed(l, vb_load_flow(l, 0)), bytes);
	assert_int_equal(vb_sim_run(n.sim, VB_NEVER), 0);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(vb_load_flow(l, i)->status, VB_WC_SUCCESS);
		assert_true(vb_load_flow(l, i)->done > 900 * VB_USEC);
		assert_true(vb_load_flow(l, i)->done != VB_NEVER);
	}
	assert_int_equal(vb_load_damaged(l), 0);
	vb_load_destroy(l);
	net_close(&n);
}

/* A switch had paused a host when the cable between them went. The host that is back knows nothing
 * of it: the switch says so again before its memory is full, and loses nothing for want of room. */
static void switch__pauses_a_host_that_is_back(void **state)
{
	struct vb_cable cable = net_cable(100, 1000);
	struct vb_sim_config c = net_config();
	struct vb_port_stats before, after;
	struct vb_load *l;
	struct net n;

	(void)state;
	c.sw.buffer.lossless = 1;
	c.sw.buffer.xoff_bytes = 32768;
	assert_int_equal(vb_sim_topo_dumbbell(&n.topo, &net_memory, 2, 2, &cable, &cable), 0);
	net_open(&n, &c);
	assert_int_equal(vb_load_create(&l, n.sim, &load_config, &net_memory), 0);
	assert_int_equal(vb_load_add_flow(l, 0, 2, VB_LOAD_SEND, 8 << 20, 0), 0);
	assert_int_equal(vb_load_add_flow(l, 1, 3, VB_LOAD_SEND, 8 << 20, 0), 0);
	assert_int_equal(vb_sim_run(n.sim, 100 * VB_USEC), 0);
	vb_sim_port_stats(n.sim, 1, &before); /* the switch's end of cable 0 */
	assert_true(before.pauses_sent > 0);
	assert_int_equal(vb_sim_plan_link(n.sim, 0, false, 100 * VB_USEC), 0);
	assert_int_equal(vb_sim_plan_link(n.sim, 0, true, 103 * VB_USEC), 0);
	assert_int_equal(vb_sim_run(n.sim, VB_NEVER), 0);
	vb_sim_port_stats(n.sim, 1, &after);
	assert_true(after.pauses_sent > before.pauses_sent);
	for (uint32_t port = 0; port < 10; port++) {
		vb_sim_port_stats(n.sim, port, &after);
		assert_int_equal(after.drops, 0);
	}
	vb_load_destroy(l);
	net_close(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(routes__follow_a_cable_that_goes_down),
	    cmocka_unit_test(flow__goes_on_when_its_cable_is_back),
	    cmocka_unit_test(switch__pauses_a_host_that_is_back),
	};

	return cmocka_run_group_tests_name("sim_link", tests, NULL, NULL);
}
