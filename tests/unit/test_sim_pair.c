/* SPDX-License-Identifier: BSD-2-Clause */
/* Two hosts and a cable: data arrives, time is right, the fault layer acts and is found out. */
#include "cmocka_env.h"
#include "sim_net.h"

#include <errno.h>

static void write__takes_serialisation_and_propagation(void **state)
{
	struct net n;
	struct vb_wc wc;

	(void)state;
	net_pair(&n, 100, 1000, NULL);
	net_write(&n, 0, 1, 1 << 20);
	assert_int_equal(vb_sim_run(n.sim, VB_NEVER), 0);
	assert_int_equal(n.wc_cnt, 1);
	wc = n.wc[0];
	assert_int_equal(wc.status, VB_WC_SUCCESS);

	/* 256 packets of 4096 bytes: Ethernet 18 + gap 20, IP 20, UDP 8, BTH 12, ICRC 4; one RETH.
	 * Then an ACK of 82 bytes comes back. Two cables of 1 us. */
	uint64_t bytes = 256 * (4096 + 82) + 16 + 86;
	uint64_t want = bytes * 8 / 100 + 2000;

	assert_uint_in_range(n.wc_at[0], want - want / 100, want + want / 100);
	assert_uint_in_range(n.wc_at[0], want - 4, want + 4);
	net_close(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(write__takes_serialisation_and_propagation),
	};

	return cmocka_run_group_tests_name("sim_pair", tests, NULL, NULL);
}
