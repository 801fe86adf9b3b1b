/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs are repeated exactly: the digest of a run's events is the same the second time, and the same
 * as the one kept here, which every compiler and every kind of build has to come to. A change of
 * the transport or of the simulator that changes a run changes its digest; then the new ones are
 * put here, and the change is known to have changed behaviour.
 */
#include "sim/load/report.h"
#include "sim_net.h"

struct scenario {
	const char *name;
	uint64_t digest;
	const char *fault; /* on every cable; NULL: none */
	struct vb_load_pattern p;
	bool fat_tree, lossless, data, dcqcn, adaptive;
};

static const struct scenario scenarios[] = {
    {.name = "single",
     .digest = UINT64_C(0xb896d99a4f078a7b),
     .p = {.shape = VB_LOAD_SINGLE, .src = 0, .dst = 7, .bytes = 1 << 20}},
    {.name = "incast, lossy",
     .digest = UINT64_C(0x6039173c6d1abe20),
     .p = {.shape = VB_LOAD_INCAST, .dst = 0, .flows = 7, .bytes = 1 << 20}},
    {.name = "incast, lossless, marked",
     .digest = UINT64_C(0x66b9dab435a2ddca),
     .p = {.shape = VB_LOAD_INCAST, .dst = 0, .flows = 7, .bytes = 1 << 20},
     .lossless = true},
    {.name = "permutation, every operation, loss",
     .digest = UINT64_C(0x9f5df2e3bc88d5d7),
     .fault = "loss=1e-3",
     .p = {.shape = VB_LOAD_PERMUTATION, .bytes = 100000, .mix = {1, 1, 1, 0}},
     .fat_tree = true,
     .data = true},
    {.name = "all to all, every fault",
     .digest = UINT64_C(0xd188e143b1ca1657),
     .fault = "burst=1e-4/0.3,reorder=1e-3/3us,dup=1e-3,delay=0ns/200ns,corrupt=1e-3,ecn=1%",
     .p = {.shape = VB_LOAD_ALL_TO_ALL, .bytes = 30000, .mix = {8, 8, 8, 1}},
     .fat_tree = true,
     .data = true},
    {.name = "Poisson, Hadoop sizes",
     .digest = UINT64_C(0xd69ab00cc99c3fc5),
     .p = {.shape = VB_LOAD_POISSON, .flows = 500, .load_ppm = 600000, .sizes = &vb_size_hadoop},
     .fat_tree = true,
     .lossless = true},
    {.name = "incast, lossless, DCQCN",
     .digest = UINT64_C(0xe0a404f9e6b979c2),
     .p = {.shape = VB_LOAD_INCAST, .dst = 0, .flows = 7, .bytes = 4 << 20},
     .lossless = true,
     .dcqcn = true},
    {.name = "permutation, every operation, loss, adaptive timers and selective repeat",
     .digest = UINT64_C(0xfdc150276610aa60),
     .fault = "loss=1e-2",
     .p = {.shape = VB_LOAD_PERMUTATION, .bytes = 300000, .mix = {1, 1, 1, 1}},
     .fat_tree = true,
     .data = true,
     .adaptive = true},
};

static const struct vb_load_config load_config = {
    .flows_max = 4096,
    .connections_max = 4096,
    .message_bytes = 65536,
    .depth = 4,
    .type = VB_QPT_RC,
    .mtu = VB_MTU_1024,
    .timeout = 8,
    .retry_cnt = 7,
    .rnr_retry = 7,
    .min_rnr_timer = 1,
    .rd_atomic = 4,
    .traffic_class = VB_ECN_ECT0,
};

static void scenario_open(struct net *n, const struct scenario *s, uint64_t seed)
{
	struct vb_cable host = net_cable(25, 500), fabric = net_cable(100, 700);
	struct vb_sim_config c = net_config();

	c.seed = seed;
	c.digest = true;
	c.carry_data = s->data;
	c.sw.ecn = s->lossless;
	c.sw.red = (struct vb_red){.kmin = 5000, .kmax = 200000, .pmax_ppm = 10000};
	c.sw.buffer.lossless = s->lossless;
	c.sw.buffer.bytes = s->lossless ? 4 << 20 : 200000;
	c.sw.queue_bytes = 100000;
	if (s->dcqcn)
		vb_cc_settings_paper(&c.hca.cc, host.rate_bps);
	if (s->adaptive) {
		c.hca.recovery = vb_recovery_default;
		vb_recovery_set_lossy(&c.hca.recovery);
		c.hca.recovery.selective_repeat_forced_en = true;
	}
	if (s->fat_tree)
		assert_int_equal(vb_sim_topo_fat_tree(&n->topo, &net_memory, 4, &host, &fabric), 0);
	else
		assert_int_equal(vb_sim_topo_dumbbell(&n->topo, &net_memory, 4, 4, &host, &fabric),
				 0);
	net_open(n, &c);
	for (uint32_t i = 0; s->fault && i < n->topo.link_cnt; i++) {
		struct vb_fault_spec spec;
		struct vb_fault_error err;

		assert_int_equal(vb_fault_parse(s->fault, &spec, &err), 0);
		assert_int_equal(vb_sim_set_cable_fault(n->sim, i, &spec), 0);
	}
}

static uint64_t run(const struct scenario *s, uint64_t seed, struct vb_report *r)
{
	struct vb_load *l;
	struct net n;

	scenario_open(&n, s, seed);
	assert_int_equal(vb_load_create(&l, n.sim, &load_config, &net_memory), 0);
	assert_int_equal(vb_load_add(l, &s->p), 0);
	assert_int_equal(vb_sim_run(n.sim, VB_NEVER), 0);
	assert_int_equal(vb_report_make(r, l, n.sim, &net_memory), 0);
	assert_int_equal(r->done, r->flows);
	vb_load_destroy(l);
	net_close(&n);
	return r->digest;
}

static void digest__is_the_one_kept_here(void **state)
{
	uint32_t wrong = 0;

	(void)state;
	for (unsigned i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
		const struct scenario *s = &scenarios[i];
		struct vb_report a, b;
		uint64_t digest = run(s, 1, &a);

		assert_int_equal(digest, run(s, 1, &b));
		assert_memory_equal(&a, &b, sizeof a);
		assert_int_not_equal(digest, run(s, 2, &b) * (s->fault != NULL));
		if (digest == s->digest)
			continue;
		print_message("%s: 0x%016llx\n", s->name, (unsigned long long)digest);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

static void run__in_steps_is_the_same_run(void **state)
{
	const struct scenario *s = &scenarios[1];
	struct vb_load *l;
	struct net n;

	(void)state;
	scenario_open(&n, s, 1);
	assert_int_equal(vb_load_create(&l, n.sim, &load_config, &net_memory), 0);
	assert_int_equal(vb_load_add(l, &s->p), 0);
	for (vb_time t = 0; t < 100000; t += 777)
		assert_int_equal(vb_sim_run(n.sim, t), 0);
	while (vb_sim_step(n.sim))
		;
	assert_int_equal(vb_sim_digest(n.sim), s->digest);
	vb_load_destroy(l);
	net_close(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(digest__is_the_one_kept_here),
	    cmocka_unit_test(run__in_steps_is_the_same_run),
	};

	return cmocka_run_group_tests_name("sim_digest", tests, NULL, NULL);
}
