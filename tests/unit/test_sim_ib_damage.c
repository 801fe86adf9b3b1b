/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets of a simulated InfiniBand that cables and switches damage: where they end, and which
 * counters say so. LNK-10, LNK-39, LNK-40
 */
#include "sim_ib_env.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(damage__ends_at_the_first_port),
	    cmocka_unit_test(damage__goes_through_switches_that_cut_through),
	    cmocka_unit_test(damage__inside_of_a_switch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
