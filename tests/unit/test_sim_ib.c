/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * InfiniBand in the simulator: no packet is lost for want of room, none passes another of its
 * source, destination and service level, lanes share as their weights say, a lost flow control
 * packet heals, and rings of waiting lanes are found. LNK-14 to LNK-28, FAB-01
 */
#include "sim_ib_env.h"

static void make_topology(struct vb_rng *r, struct vb_sim_topo *t)
{
	struct vb_cable host = net_cable(25 + vb_rng_below(r, 4) * 25, vb_rng_below(r, 2000)),
			fabric = net_cable(50 + vb_rng_below(r, 4) * 50, vb_rng_below(r, 5000));
	uint32_t n = 2 + vb_rng_below(r, 3);

	switch (vb_rng_below(r, 4)) {
	case 0:
		assert_int_equal(vb_sim_topo_star(t, &net_memory, 4 + n, &host), 0);
		break;
	case 1:
		assert_int_equal(vb_sim_topo_ring(t, &net_memory, 2 + n, 2, &host, &fabric), 0);
		break;
	case 2:
		assert_int_equal(vb_sim_topo_clos(t, &net_memory, n, 2, 3, &host, &fabric), 0);
		break;
	default:
		assert_int_equal(vb_sim_topo_dumbbell(t, &net_memory, n, n, &host, &fabric), 0);
	}
}

/* LNK-21, FAB-01: with any shape, lanes and buffers nothing is ever lost or sent again, and no
 * packet passes another that goes the same way. Service levels share lanes here. */
static void congestion__loses_and_reorders_nothing(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct vb_rng r = vb_rng_stream(seed, "ib", 0);
		static const uint32_t lanes[] = {1, 2, 4, 8};
		struct vb_sim_config c =
		    ib_config(lanes[vb_rng_below(&r, 4)], 4096 + vb_rng_below(&r, 60000),
			      vb_rng_below(&r, 2) ? VB_SIM_UP_DOWN : VB_SIM_LAYERS);
		struct vb_load_config load = load_config;
		struct fixture f = {.load = NULL};
		struct vb_load_pattern p = {.shape = VB_LOAD_ALL_TO_ALL,
					    .bytes = 1 + vb_rng_below(&r, 100000)};

		/* Two layers are enough for a ring, and one for the rest. */
		if (c.ib.lanes == 1)
			c.ib.routing = VB_SIM_UP_DOWN;
		c.seed = seed;
		c.carry_data = seed % 4 == 0;
		c.on_packet = on_packet;
		make_topology(&r, &f.net.topo);
		open_with(&f, &c, &load);
		for (uint16_t sl = 0; sl < 3; sl++) {
			p.traffic_class = VB_LOAD_OWN_CLASS | sl;
			p.mix[sl] = 1;
			assert_int_equal(vb_load_add(f.load, &p), 0);
		}
		run_to_the_end(&f);
		assert_nothing_lost(&f);
		assert_true(f.arrived > 0);
		close_all(&f);
	}
}

/* LNK-23, LNK-24: three lanes that always have something to send share an output as their weights
 * say, within 1 %, over a million packets. */
static void arbitration__follows_the_weights(void **state)
{
	static const uint32_t turns[] = {1, 4, 7}; /* packets of a turn */
	struct vb_sim_config c = ib_config(4, 65536, VB_SIM_MIN_HOP);
	struct vb_load_config load = load_config;
	struct vb_cable cable = net_cable(100, 100);
	struct fixture f = {.load = NULL};
	struct vb_sim_ib_stats st;
	uint64_t all = 0;
	uint32_t out;

	(void)state;
	c.hca.port[1].active_mtu = load.mtu = VB_MTU_1024;
	load.type = VB_QPT_UC;
	for (uint32_t vl = 0; vl < 3; vl++)
		c.ib.weight[VB_ARB_LOW][vl] = (uint8_t)(turns[vl] * vb_blocks(1024 + 26));
	assert_int_equal(vb_sim_topo_star(&f.net.topo, &net_memory, 4, &cable), 0);
	open_with(&f, &c, &load);
	for (uint16_t vl = 0; vl < 3; vl++) {
		const struct vb_load_pattern p = {.shape = VB_LOAD_SINGLE,
						  .src = vl + 1u,
						  .dst = 0,
						  .bytes = UINT64_C(1) << 34,
						  .traffic_class = VB_LOAD_OWN_CLASS | vl};

		assert_int_equal(vb_load_add(f.load, &p), 0);
	}
	out = vb_sim_port_peer(vb_sim_host_port(f.net.sim, 0));
	do {
		assert_int_equal(vb_sim_run(f.net.sim, vb_sim_now(f.net.sim) + 10 * VB_MSEC), 0);
		assert_true(vb_sim_ib_port_stats(f.net.sim, out, &st));
		all = st.lane[0].tx_pkts + st.lane[1].tx_pkts + st.lane[2].tx_pkts;
	} while (all < 1000000);
	for (uint32_t vl = 0; vl < 3; vl++) {
		uint64_t due = all * turns[vl] / 12;

		assert_uint_in_range(st.lane[vl].tx_pkts, due - due / 100, due + due / 100);
	}
	close_all(&f);
}

/* LNK-25: the high table goes first, but for its limit; the low table gets the rest. */
static void arbitration__serves_the_high_table_first(void **state)
{
	struct vb_sim_config c = ib_config(2, 65536, VB_SIM_MIN_HOP);
	struct vb_load_config load = load_config;
	struct vb_cable cable = net_cable(100, 100);

	(void)state;
	load.type = VB_QPT_UC;
	for (int unlimited = 0; unlimited < 2; unlimited++) {
		struct fixture f = {.load = NULL};
		struct vb_sim_ib_stats st;

		c.ib.weight[VB_ARB_HIGH][1] = 255;
		c.ib.high_limit = unlimited ? VB_ARB_HIGH_UNLIMITED : 0;
		assert_int_equal(vb_sim_topo_star(&f.net.topo, &net_memory, 3, &cable), 0);
		open_with(&f, &c, &load);
		for (uint16_t vl = 0; vl < 2; vl++) {
			const struct vb_load_pattern p = {.shape = VB_LOAD_SINGLE,
							  .src = vl + 1u,
							  .dst = 0,
							  .bytes = 100000000,
							  .traffic_class = VB_LOAD_OWN_CLASS | vl};

			assert_int_equal(vb_load_add(f.load, &p), 0);
		}
		assert_int_equal(vb_sim_run(f.net.sim, 5 * VB_MSEC), 0);
		assert_true(vb_sim_ib_port_stats(
		    f.net.sim, vb_sim_port_peer(vb_sim_host_port(f.net.sim, 0)), &st));
		assert_true(st.lane[1].tx_pkts > 10000);
		if (unlimited)
			assert_uint_in_range(st.lane[0].tx_pkts, 0, 10);
		else
			assert_uint_in_range(st.lane[0].tx_pkts, st.lane[1].tx_pkts - 20,
					     st.lane[1].tx_pkts + 20);
		close_all(&f);
	}
}

/* LNK-16, LNK-19: half of all flow control packets are lost, and packets too, and still nothing is
 * lost for want of room and everything arrives. */
static void loss__heals(void **state)
{
	struct vb_sim_config c = ib_config(2, 16384, VB_SIM_LAYERS);
	struct vb_fault_spec spec;
	struct vb_fault_error err;
	struct fixture f = {.load = NULL};

	(void)state;
	c.ib.flow_loss_ppm = 500000;
	c.carry_data = true;
	open_ring(&f, &c, 4);
	assert_int_equal(vb_fault_parse("loss=1e-3,corrupt=1e-3", &spec, &err), 0);
	for (uint32_t i = 0; i < f.net.topo.link_cnt; i++)
		assert_int_equal(vb_sim_set_cable_fault(f.net.sim, i, &spec), 0);
	add_all_to_all(&f, 200000);
	run_to_the_end(&f);
	assert_true(SUM(&f, buffer_overruns) == 0 && SUM(&f, local_link_errors) > 0);
	assert_true(SUM(&f, rcv_errors) > 0);
	close_all(&f);
}

/* The cycle is the ring, once around, in one direction. */
static void assert_is_ring(const struct fixture *f, const struct vb_deadlock *d)
{
	assert_int_equal(d->cnt, f->net.topo.switch_cnt);
	for (uint32_t i = 0; i < d->cnt; i++) {
		uint32_t far = vb_sim_port_peer(d->lane[i].hop),
			 next = d->lane[(i + 1) % d->cnt].hop;
		const struct vb_sim_topo_link *a = &f->net.topo.link[far / 2],
					      *b = &f->net.topo.link[next / 2];

		assert_int_equal(far & 1 ? a->b : a->a, next & 1 ? b->b : b->a);
		assert_int_equal(d->lane[i].vl, 0);
	}
}

/* A ring by shortest ways deadlocks, and the cycle is named; by up and down or in layers it does
 * not. */
static void ring__deadlocks_by_shortest_ways(void **state)
{
	static const uint32_t routings[] = {VB_SIM_MIN_HOP, VB_SIM_UP_DOWN, VB_SIM_LAYERS};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct vb_sim_config c = ib_config(2, 8192, routings[i]);
		struct fixture f = {.load = NULL};
		const struct vb_deadlock *d;
		vb_time at;

		open_ring(&f, &c, 6);
		add_all_to_all(&f, 1000000);
		if (routings[i] != VB_SIM_MIN_HOP) {
			run_to_the_end(&f);
			assert_nothing_lost(&f);
			assert_null(vb_sim_deadlock(f.net.sim, &at));
		} else {
			assert_int_equal(vb_sim_run(f.net.sim, VB_NEVER), 0);
			d = vb_sim_deadlock(f.net.sim, &at);
			assert_non_null(d);
			assert_is_ring(&f, d);
			assert_true(SUM(&f, buffer_overruns) == 0);
		}
		close_all(&f);
	}
}

/* LNK-27: where packets have a life at the head of a lane, a deadlock ends with the first of them.
 */
static void life__ends_a_deadlock(void **state)
{
	struct vb_sim_config c = ib_config(1, 8192, VB_SIM_MIN_HOP);
	struct fixture f = {.load = NULL};
	uint64_t arrived;
	vb_time at;

	(void)state;
	c.ib.hoq_life = 5; /* 131 us */
	open_ring(&f, &c, 6);
	add_all_to_all(&f, 1000000);
	assert_int_equal(vb_sim_run(f.net.sim, 100 * VB_USEC), 0);
	assert_non_null(vb_sim_deadlock(f.net.sim, &at));
	assert_true(at <= 100 * VB_USEC);
	arrived = SUM(&f, rcv_packets);
	assert_int_equal(vb_sim_run(f.net.sim, 2 * VB_MSEC), 0);
	assert_true(SUM(&f, xmit_discards) > 0 && SUM(&f, rcv_packets) > arrived + 100);
	close_all(&f);
}

/* LNK-22: a service level without a lane is dropped where it would leave. */
static void sl__without_a_lane(void **state)
{
	struct vb_sim_config c = ib_config(2, 16384, VB_SIM_MIN_HOP);
	struct vb_load_config load = load_config;
	struct vb_cable cable = net_cable(100, 100);
	struct fixture f = {.load = NULL};
	struct vb_load_pattern p = {.shape = VB_LOAD_SINGLE, .src = 0, .dst = 1, .bytes = 100000};

	(void)state;
	c.ib.lane_of_sl[3] = 15; /* lane 14 */
	load.type = VB_QPT_UC;
	assert_int_equal(vb_sim_topo_star(&f.net.topo, &net_memory, 3, &cable), 0);
	open_with(&f, &c, &load);
	p.traffic_class = VB_LOAD_OWN_CLASS | 3;
	assert_int_equal(vb_load_add(f.load, &p), 0);
	assert_int_equal(vb_sim_run(f.net.sim, VB_NEVER), 0);
	assert_true(SUM(&f, xmit_discards) == 49 && SUM(&f, rcv_packets) == 0);
	close_all(&f);
}

/* A cable that is pulled: the packets on it are lost, the ways follow, and RC goes on. */
static void link_goes_and_comes(uint32_t routing)
{
	struct vb_sim_config c = ib_config(2, 16384, routing);
	struct fixture f = {.load = NULL};

	c.reroute = 20 * VB_USEC;
	open_ring(&f, &c, 4);
	/* Behind those of the hosts. */
	assert_int_equal(vb_sim_plan_link(f.net.sim, 8, false, 50 * VB_USEC), 0);
	assert_int_equal(vb_sim_plan_link(f.net.sim, 8, true, 400 * VB_USEC), 0);
	add_all_to_all(&f, 200000);
	run_to_the_end(&f);
	assert_true(SUM(&f, link_downed) == 2 && SUM(&f, buffer_overruns) == 0);
	close_all(&f);
}

static void link__goes_and_comes(void **state)
{
	(void)state;
	link_goes_and_comes(VB_SIM_UP_DOWN);
	link_goes_and_comes(VB_SIM_LAYERS);
}

static void same_seed__same_run(void **state)
{
	uint64_t digest[2], events[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct vb_sim_config c = ib_config(4, 16384, VB_SIM_LAYERS);
		struct fixture f = {.load = NULL};

		c.ib.flow_loss_ppm = 10000;
		open_ring(&f, &c, 5);
		add_all_to_all(&f, 50000);
		run_to_the_end(&f);
		digest[i] = vb_sim_digest(f.net.sim);
		events[i] = vb_sim_events(f.net.sim);
		close_all(&f);
	}
	assert_true(digest[0] == digest[1] && events[0] == events[1]);
}

static void config__that_cannot_be(void **state)
{
	struct vb_cable cable = net_cable(100, 100);
	struct vb_sim_topo topo;
	struct vb_sim *sim;
	struct vb_sim_config c = ib_config(1, 2048, VB_SIM_MIN_HOP);

	(void)state;
	assert_int_equal(vb_sim_topo_ring(&topo, &net_memory, 6, 1, &cable, &cable), 0);
	c.topo = &topo;
	c.memory = net_memory;
	assert_int_equal(vb_sim_create(&sim, &c), -EINVAL); /* no room for a packet */
	c.ib.lane_bytes = 8192;
	c.ib.lanes = 16;
	assert_int_equal(vb_sim_create(&sim, &c), -EINVAL);
	c.ib.lanes = 1;
	c.ib.routing = VB_SIM_LAYERS;
	assert_int_equal(vb_sim_create(&sim, &c), -EINVAL); /* a ring takes two layers */
	vb_sim_topo_free(&topo);
	assert_int_equal(vb_sim_topo_star(&topo, &net_memory, 255, &cable), 0);
	c.ib.routing = VB_SIM_MIN_HOP;
	assert_int_equal(vb_sim_create(&sim, &c), -EINVAL); /* ports of one switch */
	vb_sim_topo_free(&topo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(congestion__loses_and_reorders_nothing),
	    cmocka_unit_test(arbitration__follows_the_weights),
	    cmocka_unit_test(arbitration__serves_the_high_table_first),
	    cmocka_unit_test(loss__heals),
	    cmocka_unit_test(ring__deadlocks_by_shortest_ways),
	    cmocka_unit_test(life__ends_a_deadlock),
	    cmocka_unit_test(sl__without_a_lane),
	    cmocka_unit_test(link__goes_and_comes),
	    cmocka_unit_test(same_seed__same_run),
	    cmocka_unit_test(config__that_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
