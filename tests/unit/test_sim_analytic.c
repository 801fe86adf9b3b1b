/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The simulator against theory: what queueing, serialisation and go-back-N must come to. Virtual
 * time and fixed seeds: each number is the same on every machine.
 */
#include "claim.h"
#include "sim/load/report.h"
#include "sim_net.h"

#define FRAME 4230u
#define ETH_IP_UDP_BTH_ICRC 82u /* of each packet on the cable, preamble and gap included */

static void set_fault(struct net *n, uint32_t link, const char *text)
{
	struct vb_fault_spec spec;
	struct vb_fault_error err;

	assert_int_equal(vb_fault_parse(text, &spec, &err), 0);
	assert_int_equal(vb_sim_set_cable_fault(n->sim, link, &spec), 0);
}

/* D-31: goodput is (1 - p) / (1 - p + p W) of the cable when each loss costs W packets: the lost
 * one, the one behind it that shows the gap, and those sent until its NAK is here. */
static void go_back_n__has_the_goodput_of_theory(void **state)
{
	static const struct {
		const char *loss, *claim;
		uint64_t p_ppm, pkts;
	} t[] = {
	    {"loss=1e-4:dir=tx", "goodput of go-back-N, 0.01 % lost", 100, 1000000},
	    {"loss=1e-3:dir=tx", "goodput of go-back-N, 0.1 % lost", 1000, 400000},
	    {"loss=1e-2:dir=tx", "goodput of go-back-N, 1 % lost", 10000, 200000},
	};
	const vb_dur delay = 4775;
	/* Bytes that pass in a round trip and while the NAK, an ACK of 86 bytes, is being sent. */
	const uint64_t until_nak = 2 * delay * 100 / 8 + 86;
	const uint64_t w = 2 + until_nak / (1024 + ETH_IP_UDP_BTH_ICRC);

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++) {
		struct vb_sim_config c = net_config();
		struct net_link l = net_rc;
		struct net n;

		c.hca.port[1].active_mtu = VB_MTU_1024;
		l.mtu = VB_MTU_1024;
		l.timeout = 2;
		net_pair(&n, 100, delay, &c);
		set_fault(&n, 0, t[i].loss);

		struct net_qp q = net_connect(&n, 0, 1, &l);

		net_post_write(&n, q.a, 0, 1, (uint32_t)t[i].pkts * 1024);
		assert_int_equal(vb_sim_run(n.sim, VB_NEVER), 0);
		assert_int_equal(n.wc_cnt, 1);
		assert_int_equal(n.wc[0].status, VB_WC_SUCCESS);

		uint64_t alone = t[i].pkts * (1024 + ETH_IP_UDP_BTH_ICRC) * 8 / 100;
		double p = (double)t[i].p_ppm * 1e-6;

		assert_claim(&(struct claim){t[i].claim, "(1 - p) / (1 - p + p W), D-31",
					     "% of the cable",
					     100 * (1 - p) / (1 - p + p * (double)w), 0.05},
			     100 * (double)alone / (double)n.wc_at[0]);
		net_close(&n);
	}
}

/* One frame waits for itself at each switch; the last one's ACK comes back the same way. */
static void flow__alone_takes_serialisation_and_propagation(void **state)
{
	static const uint32_t size[] = {1, 1000, 4096, 100000, 10000000};
	const uint64_t header = ETH_IP_UDP_BTH_ICRC, ack = 86;

	(void)state;
	for (unsigned i = 0; i < sizeof size / sizeof size[0]; i++) {
		struct vb_cable cable = net_cable(100, 1000);
		struct vb_sim_config c = net_config();
		struct net n;

		assert_int_equal(vb_sim_topo_fat_tree(&n.topo, &net_memory, 4, &cable, &cable), 0);
		net_open(&n, &c);
		net_write(&n, 0, 15, size[i]); /* another pod: six cables */
		assert_int_equal(vb_sim_run(n.sim, VB_NEVER), 0);
		assert_int_equal(n.wc_cnt, 1);

		uint64_t pkts = (size[i] + 4095) / 4096, last = size[i] - (pkts - 1) * 4096;
		uint64_t bytes = size[i] + pkts * header + 16 + (-last & 3);
		/* The last packet passes five switches; a full one before it may still be on its
		 * way, and then it is that one which the last one follows. */
		uint64_t frame = (pkts > 1 ? 4096 : last) + header + (pkts > 1 ? 0 : 16);
		uint64_t want = (bytes + 5 * frame + 6 * ack) * 8 / 100 + 12000;

		char text[64];

		snprintf(text, sizeof text, "a flow of %u bytes alone, over six cables", size[i]);
		assert_claim(&(struct claim){text, "serialisation and propagation", "ns",
					     (double)want, 0.01},
			     (double)n.wc_at[0]);
		net_close(&n);
	}
}

struct poisson {
	struct net *n;
	struct vb_qp *qp[16];
	struct vb_rng rng;
	uint64_t next_q8, gap_q8;
	uint32_t left;
};

static void poisson_post(void *ctx, vb_time now)
{
	struct poisson *p = ctx;
	uint32_t host = 1 + vb_rng_below(&p->rng, 16);

	if (now)
		net_post_write(p->n, p->qp[host - 1], host, 0, 1024);
	if (now && --p->left == 0)
		return;
	p->next_q8 += p->gap_q8 * (vb_exp_draw(&p->rng) >> 16) >> 16;
	vb_sim_set_timer(p->n->sim, p->next_q8 >> 8);
}

/* M/D/1 at 80 % load: rho^2 / (2 (1 - rho)) = 1.6 packets wait on average. Sixteen fast cables
 * carry Poisson arrivals to one slow one. */
static void queue__at_80_percent_is_that_of_m_d_1(void **state)
{
	struct vb_cable cable = net_cable(400, 100);
	struct vb_sim_config c = net_config();
	struct net_link l = net_rc;
	struct net n;
	struct poisson p = {.n = &n, .left = 400000};
	struct vb_sim_app app = {.ctx = &p, .on_timer = poisson_post};
	struct vb_port_stats st;

	(void)state;
	l.type = VB_QPT_UC;
	assert_int_equal(vb_sim_topo_star(&n.topo, &net_memory, 17, &cable), 0);
	n.topo.link[0].cable.rate_bps = 10000000000;
	net_open(&n, &c);
	vb_sim_set_app(n.sim, &app);
	for (uint32_t i = 0; i < 16; i++)
		p.qp[i] = net_connect(&n, i + 1, 0, &l).a;
	p.rng = vb_rng_stream(7, "m/d/1", 0);
	p.gap_q8 = (1024 + ETH_IP_UDP_BTH_ICRC + 16) * 8 * 256 / 8; /* ns at 10 Gb/s, over 0.8 */
	poisson_post(&p, 0);
	assert_int_equal(vb_sim_run(n.sim, VB_NEVER), 0);
	vb_sim_port_stats(n.sim, vb_sim_port_peer(vb_sim_host_port(n.sim, 0)), &st);
	assert_int_equal(st.tx_pkts, 400000);
	assert_claim(&(struct claim){"packets that wait at 80 % load, Poisson arrivals",
				     "M/D/1, rho^2 / (2 (1 - rho))", "packets", 1.6, 0.05},
		     (double)st.pkt_ns / (double)vb_sim_now(n.sim));
	net_close(&n);
}

/* Two hosts send to a third at full rate. Returns what the switch dropped. */
static uint64_t pfc_drops(uint64_t gbps, vb_dur delay, uint32_t headroom)
{
	struct vb_cable cable = net_cable(gbps, delay);
	struct vb_sim_config c = net_config();
	struct vb_port_stats st;
	struct net n;
	uint64_t drops = 0, pauses = 0;

	c.sw.buffer.lossless = 1;
	c.sw.buffer.xoff_bytes = 50000;
	c.sw.buffer.headroom_bytes = headroom;
	assert_int_equal(vb_sim_topo_star(&n.topo, &net_memory, 3, &cable), 0);
	net_open(&n, &c);
	net_write(&n, 0, 2, 4 << 20);
	net_write(&n, 1, 2, 4 << 20);
	assert_int_equal(vb_sim_run(n.sim, VB_NEVER), 0);
	assert_int_equal(n.wc_cnt, 2);
	for (uint32_t i = 0; i < 6; i++) {
		vb_sim_port_stats(n.sim, i, &st);
		drops += st.drops;
		pauses += st.pauses_sent;
	}
	assert_true(pauses > 0);
	net_close(&n);
	return drops;
}

/* The least headroom with which nothing is dropped, at most @whole. */
static uint32_t pfc_need(uint64_t gbps, vb_dur delay, uint32_t whole)
{
	uint32_t drops = 1, enough = whole;

	while (drops < enough) {
		uint32_t middle = drops + (enough - drops) / 2;

		if (pfc_drops(gbps, delay, middle))
			drops = middle + 1;
		else
			enough = middle;
	}
	return enough;
}

/*
 * Nothing is dropped with the headroom of the formula, and something with less than what is on the
 * cable. The formula is for the worst phases of frames and a queue that does not move; here the
 * queue goes on draining, at half the rate, while the cable runs empty.
 */
static void pfc__drops_nothing_with_headroom_and_something_with_less(void **state)
{
	static const struct {
		uint64_t gbps;
		vb_dur delay;
	} t[] = {{10, 100}, {25, 1000}, {100, 500}, {100, 5000}, {400, 2000}};

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++) {
		uint32_t whole = vb_pfc_headroom(t[i].gbps * 1000000000, t[i].delay, FRAME);
		uint32_t cable = (uint32_t)(2 * t[i].gbps * t[i].delay / 8), need;

		assert_int_equal(pfc_drops(t[i].gbps, t[i].delay, 0), 0); /* 0: by the formula */
		assert_int_equal(pfc_drops(t[i].gbps, t[i].delay, whole), 0);
		need = pfc_need(t[i].gbps, t[i].delay, whole);
		assert_true(pfc_drops(t[i].gbps, t[i].delay, need - 1) > 0);
		assert_uint_in_range(need, cable > 10 * FRAME ? cable / 4 * 3 : cable / 2, whole);
	}
}

static void red__marks_at_the_rate_of_its_profile(void **state)
{
	const struct vb_red red = {.kmin = 5000, .kmax = 200000, .pmax_ppm = 10000};
	struct vb_rng rng = vb_rng_stream(3, "red", 0);

	(void)state;
	for (uint32_t depth = 0; depth <= 250000; depth += 24375) {
		uint32_t marks = 0, n = 2000000;
		uint64_t want = depth <= 5000    ? 0
				: depth > 200000 ? n
						 : (uint64_t)n * (depth - 5000) / 195000 / 100;

		for (uint32_t i = 0; i < n; i++)
			marks += vb_red_marks(&red, depth, &rng);
		assert_uint_in_range(marks, want - want / 20, want + want / 20);
	}
}

/* A constant number of packets under way makes a queue of constant depth. */
static void red__marks_a_standing_queue(void **state)
{
	static const struct vb_load_config load = {
	    .flows_max = 1,
	    .connections_max = 1,
	    .message_bytes = 1024,
	    .depth = 64,
	    .type = VB_QPT_RC,
	    .mtu = VB_MTU_1024,
	    .timeout = 14,
	    .retry_cnt = 7,
	    .rnr_retry = 7,
	    .rd_atomic = 1,
	    .traffic_class = VB_ECN_ECT0,
	};
	struct vb_cable cable = net_cable(100, 100);
	struct vb_sim_config c = net_config();
	struct vb_port_stats st;
	struct vb_load *l;
	struct net n;

	(void)state;
	c.sw.ecn = 1;
	c.sw.red = (struct vb_red){.kmin = 20000, .kmax = 100000, .pmax_ppm = 500000};
	assert_int_equal(vb_sim_topo_star(&n.topo, &net_memory, 2, &cable), 0);
	n.topo.link[1].cable.rate_bps = 10000000000;
	net_open(&n, &c);
	assert_int_equal(vb_load_create(&l, n.sim, &load, &net_memory), 0);
	assert_int_equal(vb_load_add_flow(l, 0, 1, VB_LOAD_WRITE, 100000 * 1024, 0), 0);
	assert_int_equal(vb_sim_run(n.sim, VB_NEVER), 0);
	vb_sim_port_stats(n.sim, vb_sim_port_peer(vb_sim_host_port(n.sim, 1)), &st);

	uint64_t depth = st.byte_ns / vb_load_flow(l, 0)->done;
	uint64_t want = st.arrivals * (depth - 20000) / 80000 / 2;

	assert_uint_in_range(depth, 60000, 70000);
	assert_claim(&(struct claim){"marks of RED in a standing queue",
				     "its profile at that depth", "packets", (double)want, 0.05},
		     (double)st.marks);
	assert_int_equal(vb_sim_counters(n.sim, 1)->v[VB_COUNTER_np_ecn_marked_roce_packets],
			 st.marks);
	vb_load_destroy(l);
	net_close(&n);
}

static void corruption__is_always_found(void **state)
{
	static const struct vb_load_config load = {
	    .flows_max = 8,
	    .connections_max = 8,
	    .message_bytes = 65536,
	    .depth = 4,
	    .type = VB_QPT_RC,
	    .mtu = VB_MTU_1024,
	    .timeout = 4,
	    .retry_cnt = 7,
	    .rnr_retry = 7,
	    .min_rnr_timer = 1,
	    .rd_atomic = 4,
	};
	struct vb_sim_config c = net_config();
	struct vb_report r;
	struct vb_load *l;
	struct net n;

	(void)state;
	c.carry_data = true;
	net_pair(&n, 100, 500, &c);
	set_fault(&n, 0, "corrupt=1%");
	assert_int_equal(vb_load_create(&l, n.sim, &load, &net_memory), 0);
	for (enum vb_load_op op = VB_LOAD_SEND; op <= VB_LOAD_READ; op++)
		assert_int_equal(vb_load_add_flow(l, 0, 1, op, 8 << 20, 0), 0);
	assert_int_equal(vb_sim_run(n.sim, VB_NEVER), 0);
	assert_int_equal(vb_report_make(&r, l, n.sim, &net_memory), 0);
	assert_int_equal(r.done, 3);
	assert_int_equal(vb_load_damaged(l), 0);
	assert_true(r.counters.v[VB_COUNTER_rx_icrc_encapsulated] > 100);

	/* But for flips in the one byte of the BTH that the ICRC leaves out. */
	uint64_t hits = vb_sim_cable_fault(n.sim, 0)->hits[VB_FAULT_CORRUPT];

	assert_uint_in_range(r.counters.v[VB_COUNTER_rx_icrc_encapsulated], hits - hits / 100,
			     hits);
	assert_int_equal(r.counters.v[VB_COUNTER_port_rcv_packets] +
			     r.counters.v[VB_COUNTER_rx_icrc_encapsulated],
			 r.counters.v[VB_COUNTER_port_xmit_packets]);
	vb_load_destroy(l);
	net_close(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(go_back_n__has_the_goodput_of_theory),
	    cmocka_unit_test(flow__alone_takes_serialisation_and_propagation),
	    cmocka_unit_test(queue__at_80_percent_is_that_of_m_d_1),
	    cmocka_unit_test(pfc__drops_nothing_with_headroom_and_something_with_less),
	    cmocka_unit_test(red__marks_at_the_rate_of_its_profile),
	    cmocka_unit_test(red__marks_a_standing_queue),
	    cmocka_unit_test(corruption__is_always_found),
	};

	return cmocka_run_group_tests_name("sim_analytic", tests, NULL, NULL);
}
