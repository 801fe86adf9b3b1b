/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * InfiniBand in the simulator: no packet is lost for want of room, none passes another of its
 * source, destination and service level, lanes share as their weights say, a lost flow control
 * packet heals, and rings of waiting lanes are found. LNK-14 to LNK-28, FAB-01
 */
#include "base/rng.h"
#include "sim/load/report.h"
#include "sim_net.h"

#include <errno.h>

#define HOSTS_MAX 64
#define BACKLOG 4096

static const struct vb_load_config load_config = {
    .flows_max = 4096,
    .connections_max = 4096,
    .message_bytes = 65536,
    .depth = 4,
    .type = VB_QPT_RC,
    .mtu = VB_MTU_2048,
    .timeout = 14,
    .retry_cnt = 7,
    .rnr_retry = 7,
    .min_rnr_timer = 1,
    .rd_atomic = 4,
};

/* Packets of one source, destination and service level that are under way, in their order. */
struct stream {
	uint32_t psn[BACKLOG];
	uint32_t qpn[BACKLOG];
	uint32_t first, cnt;
};

struct fixture {
	struct net net;
	struct vb_load *load;
	struct vb_report report;
	struct stream *stream; /* by source, destination and SL; NULL: nobody looks */
	uint64_t arrived;
};

static struct stream *stream_of(struct fixture *f, const struct vb_frame *p)
{
	size_t hosts = f->net.topo.host_cnt;

	return &f->stream[((p->path.slid - 1u) * hosts + p->path.dlid - 1u) * VB_SL_CNT +
			  p->path.sl];
}

static uint32_t be24(const uint8_t *p)
{
	return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

/* A packet that leaves a host is put behind, and one that arrives at a host is the first. */
static void on_packet(void *ctx, uint32_t port, enum vb_cable_tap_dir dir, const struct vb_frame *p,
		      vb_time now)
{
	struct fixture *f = ctx;
	const struct vb_sim_topo_link *l = &f->net.topo.link[port / 2];
	uint32_t node = port & 1 ? l->b : l->a;
	struct stream *s;

	(void)now;
	if (node >= f->net.topo.host_cnt)
		return;
	s = stream_of(f, p);
	if (dir == VB_CABLE_SENT) {
		assert_uint_in_range(s->cnt, 0, BACKLOG - 1);
		s->qpn[(s->first + s->cnt) % BACKLOG] = be24(p->bytes + 5);
		s->psn[(s->first + s->cnt++) % BACKLOG] = be24(p->bytes + 9);
		return;
	}
	f->arrived++;
	assert_true(s->cnt > 0);
	assert_int_equal(s->qpn[s->first], be24(p->bytes + 5));
	assert_int_equal(s->psn[s->first], be24(p->bytes + 9));
	s->first = (s->first + 1) % BACKLOG;
	s->cnt--;
}

static struct vb_sim_config ib_config(uint32_t lanes, uint32_t lane_bytes, uint32_t routing)
{
	struct vb_sim_config c = net_config();

	c.hca.port[1].active_mtu = VB_MTU_2048;
	c.digest = true;
	c.ib = (struct vb_sim_ib_config){.is_used = true,
					 .lanes = lanes,
					 .lane_bytes = lane_bytes,
					 .routing = routing,
					 .hoq_life = 20};
	return c;
}

/* With @f->net.topo there. */
static void open_with(struct fixture *f, struct vb_sim_config *c, const struct vb_load_config *load)
{
	uint32_t hosts = f->net.topo.host_cnt;

	f->arrived = 0;
	f->stream = NULL;
	if (c->on_packet) {
		c->trace_ctx = f;
		f->stream = calloc((size_t)hosts * hosts * VB_SL_CNT, sizeof *f->stream);
		assert_non_null(f->stream);
	}
	net_open(&f->net, c);
	assert_int_equal(vb_load_create(&f->load, f->net.sim, load, &net_memory), 0);
}

static void open_ring(struct fixture *f, struct vb_sim_config *c, uint32_t switches)
{
	struct vb_cable cable = net_cable(100, 500);

	assert_int_equal(vb_sim_topo_ring(&f->net.topo, &net_memory, switches, 2, &cable, &cable),
			 0);
	open_with(f, c, &load_config);
}

static void close_all(struct fixture *f)
{
	vb_load_destroy(f->load);
	net_close(&f->net);
	free(f->stream);
}

static void add_all_to_all(struct fixture *f, uint64_t bytes)
{
	const struct vb_load_pattern p = {.shape = VB_LOAD_ALL_TO_ALL, .bytes = bytes};

	assert_int_equal(vb_load_add(f->load, &p), 0);
}

static void run_to_the_end(struct fixture *f)
{
	assert_int_equal(vb_sim_run(f->net.sim, VB_NEVER), 0);
	assert_int_equal(vb_load_failure(f->load), 0);
	assert_int_equal(vb_report_make(&f->report, f->load, f->net.sim, &net_memory), 0);
	assert_int_equal(f->report.done, f->report.flows);
	assert_int_equal(vb_load_damaged(f->load), 0);
}

/* The sum of a counter over all ports. */
#define SUM(f, name) counters_sum(f, offsetof(struct vb_ib_counters, name))

static uint64_t counters_sum(const struct fixture *f, size_t at)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < vb_sim_port_cnt(f->net.sim); i++) {
		struct vb_sim_ib_stats st;
		uint64_t v;

		assert_true(vb_sim_ib_port_stats(f->net.sim, i, &st));
		memcpy(&v, (const char *)&st.counters + at, sizeof v);
		sum += v;
	}
	return sum;
}

static void assert_nothing_lost(struct fixture *f)
{
	assert_true(SUM(f, buffer_overruns) == 0 && SUM(f, xmit_discards) == 0);
	assert_true(SUM(f, rcv_errors) == 0 && SUM(f, rcv_discards) == 0);
	assert_true(f->report.drops == 0 && f->report.faults == 0);
	assert_true(f->report.counters.v[VB_COUNTER_retransmitted_packets] == 0);
}

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

/*
 * A packet that a cable damages is counted at the cable's other end, by a switch as by an adapter,
 * answered by nobody and never sent on: switches here have a packet as a whole before they look
 * where it goes, so that no output has to end one that is bad. LNK-10, LNK-40
 */
static void damage__ends_at_the_first_port(void **state)
{
	struct vb_sim_config c = ib_config(2, 16384, VB_SIM_LAYERS);
	struct vb_sim_ib_stats host, sw;
	struct vb_fault_spec spec;
	struct vb_fault_error err;
	struct fixture f = {.load = NULL};
	uint32_t port;

	(void)state;
	c.carry_data = true;
	open_ring(&f, &c, 4);
	port = vb_sim_host_port(f.net.sim, 0);
	assert_int_equal(vb_fault_parse("corrupt=2e-2", &spec, &err), 0);
	assert_int_equal(vb_sim_set_cable_fault(f.net.sim, port / 2, &spec), 0);
	add_all_to_all(&f, 200000);
	run_to_the_end(&f);
	assert_true(vb_sim_ib_port_stats(f.net.sim, port, &host));
	assert_true(vb_sim_ib_port_stats(f.net.sim, vb_sim_port_peer(port), &sw));
	assert_true(host.counters.rcv_errors > 0 && sw.counters.rcv_errors > 0);
	assert_true(SUM(&f, rcv_errors) == host.counters.rcv_errors + sw.counters.rcv_errors);
	assert_int_equal(vb_load_damaged(f.load), 0);
	close_all(&f);
}

/*
 * LNK-39, LNK-40: switches that cut through send a damaged packet on, since it has begun to leave,
 * and end it as a bad one. The port behind the faulty cable counts an error of its own, all
 * after it a remote one, and no transport sees it.
 */
static void damage__goes_through_switches_that_cut_through(void **state)
{
	struct vb_sim_config c = ib_config(2, 16384, VB_SIM_LAYERS);
	struct vb_sim_ib_stats host, sw, end;
	struct vb_fault_spec spec;
	struct vb_fault_error err;
	struct fixture f = {.load = NULL};
	uint64_t remote = 0;
	uint32_t port;

	(void)state;
	c.carry_data = true;
	c.ib.cut_through = true;
	open_ring(&f, &c, 4);
	port = vb_sim_host_port(f.net.sim, 0);
	assert_int_equal(vb_fault_parse("corrupt=2e-2", &spec, &err), 0);
	assert_int_equal(vb_sim_set_cable_fault(f.net.sim, port / 2, &spec), 0);
	add_all_to_all(&f, 200000);
	run_to_the_end(&f);
	assert_true(vb_sim_ib_port_stats(f.net.sim, port, &host));
	assert_true(vb_sim_ib_port_stats(f.net.sim, vb_sim_port_peer(port), &sw));
	assert_true(host.counters.rcv_errors > 0 && sw.counters.rcv_errors > 0);
	assert_true(SUM(&f, rcv_errors) == host.counters.rcv_errors + sw.counters.rcv_errors);
	assert_true(host.counters.remote_physical_errors == 0 &&
		    sw.counters.remote_physical_errors == 0);
	/* Each that the switch had with an error of its own ends at another host. */
	for (uint32_t i = 1; i < f.net.topo.host_cnt; i++) {
		assert_true(vb_sim_ib_port_stats(f.net.sim, vb_sim_host_port(f.net.sim, i), &end));
		remote += end.counters.remote_physical_errors;
		assert_int_equal(end.counters.rcv_errors, 0);
	}
	assert_true(remote == sw.counters.rcv_errors && SUM(&f, remote_physical_errors) > remote);
	assert_true(SUM(&f, symbol_errors) == SUM(&f, rcv_errors) && SUM(&f, buffer_overruns) == 0);
	assert_int_equal(vb_load_damaged(f.load), 0);
	close_all(&f);
}

/*
 * LNK-10: a faulty switch damages packets between its check of the VCRC and the new one. Switches
 * forward them, for their VCRC is good; the end node's check of the ICRC drops them: an error
 * there, no answer, and RC sends them again.
 */
static void damage__inside_of_a_switch(void **state)
{
	struct vb_sim_config c = ib_config(2, 16384, VB_SIM_LAYERS);
	struct vb_sim_ib_stats st;
	struct fixture f = {.load = NULL};
	uint64_t at_hosts = 0;

	(void)state;
	c.carry_data = true;
	c.ib.damage_ppm = 5000;
	open_ring(&f, &c, 4);
	add_all_to_all(&f, 200000);
	run_to_the_end(&f);
	for (uint32_t i = 0; i < f.net.topo.host_cnt; i++) {
		assert_true(vb_sim_ib_port_stats(f.net.sim, vb_sim_host_port(f.net.sim, i), &st));
		at_hosts += st.counters.rcv_errors;
		assert_int_equal(vb_sim_counters(f.net.sim, i)->v[VB_COUNTER_rx_icrc_encapsulated],
				 st.counters.rcv_errors);
	}
	assert_true(at_hosts > 0 && SUM(&f, rcv_errors) == at_hosts);
	assert_true(SUM(&f, symbol_errors) == 0 && SUM(&f, remote_physical_errors) == 0);
	assert_int_equal(vb_load_damaged(f.load), 0);
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
	    cmocka_unit_test(damage__ends_at_the_first_port),
	    cmocka_unit_test(damage__goes_through_switches_that_cut_through),
	    cmocka_unit_test(damage__inside_of_a_switch),
	    cmocka_unit_test(ring__deadlocks_by_shortest_ways),
	    cmocka_unit_test(life__ends_a_deadlock),
	    cmocka_unit_test(sl__without_a_lane),
	    cmocka_unit_test(link__goes_and_comes),
	    cmocka_unit_test(same_seed__same_run),
	    cmocka_unit_test(config__that_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
