/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recovery in the simulator against theory: what selective repeat, a lost last packet, and a timer
 * below the round trip must come to. Virtual time and fixed seeds.
 */
#include "claim.h"
#include "sim_net.h"

#define ETH_IP_UDP_BTH_ICRC 82u /* of each packet on the cable, preamble and gap included */

static void set_fault(struct net *n, uint32_t link, const char *text)
{
	struct vb_fault_spec spec;
	struct vb_fault_error err;

	if (vb_fault_parse(text, &spec, &err))
		fail_msg("%s: %s", text, err.text);
	assert_int_equal(vb_sim_set_cable_fault(n->sim, link, &spec), 0);
}

static uint64_t counter(const struct net *n, uint32_t host, enum vb_counter_id id)
{
	return vb_sim_counters(n->sim, host)->v[id];
}

/* D-31: with selective repeat a loss costs the lost packet only: goodput is 1 - p of the cable, and
 * hardly more is sent again than was lost. Packets with data are lost at @p_ppm by @fault. */
static void check_goodput(enum vb_wr_opcode opcode, const char *fault, uint64_t p_ppm,
			  uint64_t pkts)
{
	struct vb_sim_config c = net_config();
	struct net_link l = net_rc;
	struct net n;

	c.hca.recovery.selective_repeat_forced_en = true;
	c.hca.port[1].active_mtu = VB_MTU_1024;
	l.mtu = VB_MTU_1024;
	l.timeout = 6;
	net_pair(&n, 100, 4775, &c);
	set_fault(&n, 0, fault);

	struct net_qp q = net_connect(&n, 0, 1, &l);
	char text[96];

	snprintf(text, sizeof text, "goodput of selective repeat, %s, %g %% lost%s",
		 opcode == VB_WR_RDMA_READ ? "READ" : "WRITE", (double)p_ppm / 1e4,
		 strchr(fault, ':') ? "" : " both ways");
	net_post(&n, q.a, 0, 1, opcode, (uint32_t)pkts * 1024);
	assert_int_equal(vb_sim_run(n.sim, VB_NEVER), 0);
	assert_int_equal(n.wc_cnt, 1);
	assert_int_equal(n.wc[0].status, VB_WC_SUCCESS);

	uint64_t alone = pkts * (1024 + ETH_IP_UDP_BTH_ICRC) * 8 / 100;
	uint64_t lost = pkts * p_ppm / 1000000;
	uint64_t again = counter(&n, 0, VB_COUNTER_retransmitted_packets);

	print_message("p = %llu ppm: %llu lost, %llu sent again, %llu timeouts\n",
		      (unsigned long long)p_ppm, (unsigned long long)lost,
		      (unsigned long long)again,
		      (unsigned long long)counter(&n, 0, VB_COUNTER_local_ack_timeout_err));
	assert_claim(
	    &(struct claim){text, "1 - p, D-31", "% of the cable", 100 - (double)p_ppm / 1e4, 0.05},
	    100 * (double)alone / (double)n.wc_at[0]);
	assert_uint_in_range(again, lost * 8 / 10, lost * 14 / 10 + 10);
	net_close(&n);
}

static void selective_repeat__has_the_goodput_of_theory(void **state)
{
	(void)state;
	check_goodput(VB_WR_RDMA_WRITE, "loss=1e-4:dir=tx", 100, 400000);
	check_goodput(VB_WR_RDMA_WRITE, "loss=1e-3:dir=tx", 1000, 400000);
	check_goodput(VB_WR_RDMA_WRITE, "loss=1e-2:dir=tx", 10000, 200000);
	check_goodput(VB_WR_RDMA_WRITE, "loss=5e-2:dir=tx", 50000, 100000);
}

/* The same of READs, whose responses are lost, and then the requests as well. */
static void selective_repeat__of_responses_has_the_goodput_of_theory(void **state)
{
	(void)state;
	check_goodput(VB_WR_RDMA_READ, "loss=1e-4:dir=rx", 100, 400000);
	check_goodput(VB_WR_RDMA_READ, "loss=1e-3:dir=rx", 1000, 400000);
	check_goodput(VB_WR_RDMA_READ, "loss=1e-2:dir=rx", 10000, 200000);
	check_goodput(VB_WR_RDMA_READ, "loss=5e-2:dir=rx", 50000, 100000);
	check_goodput(VB_WR_RDMA_READ, "loss=1e-2", 10000, 200000);
}

/* A profile with one value, in powers of two of 4 us. */
static struct vb_recovery one_value(uint8_t exp)
{
	return (struct vb_recovery){
	    .roce_adp_retrans_en = true,
	    .adp_retx_profile_id = 1,
	    .profile = {.qp_total_timeout = true,
			.range_num = 1,
			.time_unit = VB_ADP_TIME_USEC,
			.time_base = 4,
			.timeout_init_low_bound = exp,
			.timeout_range = {{0, VB_ADP_DEC_LOW_BOUND, 1, exp, 8}}},
	};
}

/* Time of a write of 1 MB at 100 Gb/s whose last packet is lost once. */
static vb_time tail_loss(const struct vb_recovery *set, const char *fault,
			 struct vb_adp_fired *fired)
{
	struct vb_sim_config c = net_config();
	struct net n;

	c.hca.recovery = *set;
	c.hca.port[1].adp_fired = fired;
	net_pair(&n, 100, 500, &c);
	if (fault)
		set_fault(&n, 0, fault);
	net_write(&n, 0, 1, 1 << 20);
	assert_int_equal(vb_sim_run(n.sim, VB_NEVER), 0);
	assert_int_equal(n.wc_cnt, 1);
	assert_int_equal(n.wc[0].status, VB_WC_SUCCESS);

	vb_time at = n.wc_at[0];

	net_close(&n);
	return at;
}

/* D-32: one lost last packet costs one timer: 67 ms after 86 us with timeout 14, 16 us with a
 * profile. */
static void tail_loss__costs_one_timer(void **state)
{
	static const char *const last = "loss=1:op=RC_WRITE_LAST:nth=1";
	struct vb_recovery fixed = {0}, tuned = one_value(2);
	struct vb_adp_fired fired = {{0}};
	vb_time alone = tail_loss(&fixed, NULL, &fired);

	(void)state;
	/* An ACK and the propagation of 2 x 500 ns are all that is lost beside it. */
	assert_uint_in_range(tail_loss(&fixed, last, &fired) - alone, 67108864 - 10000,
			     67108864 + 2000);
	assert_true(tail_loss(&fixed, last, &fired) / alone > 750);
	assert_uint_in_range(tail_loss(&tuned, last, &fired) - alone, 5000, 18000);
	assert_true(tail_loss(&tuned, last, &fired) * 10 / alone <= 12);
	/* REG-34: adaptive timers that fired, by value; the fixed ones are not among them. */
	for (unsigned i = 0; i < VB_ADP_FIRED_SLOTS; i++)
		assert_int_equal(fired.slot[i], vb_adp_fired_ns(i) == 16000 ? 2 : 0);
}

/* D-33: a timer below the round trip sends again what was not lost, and goodput is what the cable
 * has left, line / (1 + duplicates). */
static void timer_below_round_trip__wastes_the_cable(void **state)
{
	struct vb_recovery eager = one_value(2), fixed = {0};
	const uint32_t bytes = 64 << 20;
	uint64_t again[2], took[2];

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct vb_sim_config c = net_config();
		struct net n;

		c.hca.recovery = i ? eager : fixed;
		net_pair(&n, 100, 300000, &c); /* 0.6 ms */
		net_write(&n, 0, 1, bytes);
		assert_int_equal(vb_sim_run(n.sim, VB_NEVER), 0);
		assert_int_equal(n.wc[0].status, VB_WC_SUCCESS);
		again[i] = counter(&n, 0, VB_COUNTER_retransmitted_packets);
		took[i] = n.wc_at[0];
		assert_int_equal(counter(&n, 1, VB_COUNTER_out_of_sequence), 0);
		net_close(&n);
	}
	assert_int_equal(again[0], 0);
	print_message("sent again for nothing: %llu of %u packets; %llu us instead of %llu us\n",
		      (unsigned long long)again[1], bytes / 4096,
		      (unsigned long long)took[1] / 1000, (unsigned long long)took[0] / 1000);
	assert_true(again[1] > bytes / 4096);

	uint64_t pkts = bytes / 4096 + again[1];
	uint64_t line = pkts * (4096 + ETH_IP_UDP_BTH_ICRC) * 8 / 100 + 600000;

	assert_uint_in_range(took[1], line - line / 20, line + line / 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(selective_repeat__has_the_goodput_of_theory),
	    cmocka_unit_test(selective_repeat__of_responses_has_the_goodput_of_theory),
	    cmocka_unit_test(tail_loss__costs_one_timer),
	    cmocka_unit_test(timer_below_round_trip__wastes_the_cable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
