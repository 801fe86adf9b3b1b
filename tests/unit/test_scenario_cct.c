/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Indices of QPs and of service levels: of two flows of one host and service level, to a link that
 * is too small and to one that is free, the second one waits with the first where the level has the
 * index, and has the rest of the host's link where each QP has one. For all transports, and for
 * READ responses. FAB-47 FAB-48
 */
#include "cmocka_env.h"
#include "scenario/scenario.h"

#include <string.h>

#define LINK_BPS UINT64_C(100000000000)
#define WARM VB_MSEC
#define SPAN (5 * VB_MSEC)

static struct vb_scenario sc;

static void scenario_read(FILE *f, const char *name)
{
	char err[512] = "";

	assert_non_null(f);
	if (vb_scenario_read(&sc, f, name, err, sizeof err))
		fail_msg("%s", err);
	fclose(f);
}

/* The shares of a link, in thousandths, of the first flow and the second one. */
static void shares_measure(uint64_t share[2])
{
	uint64_t before[2], marks = 0, becns = 0, strays = 0, highest = 0;
	struct vb_scenario_run run;
	char err[512] = "";

	if (vb_scenario_open(&run, &sc, NULL, err, sizeof err))
		fail_msg("%s", err);
	assert_int_equal(vb_sim_run(run.sim, WARM), 0);
	for (uint32_t i = 0; i < 2; i++)
		before[i] = vb_load_flow_completed(run.load, vb_load_flow(run.load, i));
	assert_int_equal(vb_sim_run(run.sim, WARM + SPAN), 0);
	for (uint32_t i = 0; i < 2; i++)
		share[i] =
		    (vb_load_flow_completed(run.load, vb_load_flow(run.load, i)) - before[i]) * 8 *
		    1000 / (LINK_BPS / VB_SEC * SPAN);
	for (uint32_t p = 0; p < vb_sim_port_cnt(run.sim); p++) {
		struct vb_sim_ib_stats st;

		assert_true(vb_sim_ib_port_stats(run.sim, p, &st));
		marks += st.marks;
		becns += st.becns;
		strays += st.strays;
		highest = st.index_max > highest ? st.index_max : highest;
	}
	/* Each mark has its answer, but for the last ones that are on their way. */
	assert_true(marks > 100 && becns <= marks && becns + 20 >= marks);
	assert_int_equal(strays, 0);
	assert_true(highest > 3);
	vb_scenario_close(&run);
}

/* A quarter for the first flow in any case. */
static void shares_check(const uint64_t share[2], bool by_qp)
{
	assert_uint_in_range(share[0], 200, 290);
	if (by_qp)
		assert_uint_in_range(share[1], 680, 790);
	else
		assert_uint_in_range(share[1], share[0] * 9 / 10, share[0] * 11 / 10);
}

static void victim__at_its_own_port(void **state)
{
	uint64_t share[2];
	char path[256];

	(void)state;
	snprintf(path, sizeof path, "%s/../../scenarios/ib/victim-own-port.yaml", TEST_DATA);
	for (int by_qp = 0; by_qp < 2; by_qp++) {
		scenario_read(fopen(path, "r"), path);
		assert_true(sc.ib.cct.by_qp);
		sc.ib.cct.by_qp = by_qp;
		shares_measure(share);
		shares_check(share, by_qp);
	}
}

/* Answers of each transport lead the indices of its QPs. */
static void victim__of_each_transport(void **state)
{
	static const char *const types[] = {"uc", "ud", "xrc", "dc"};
	uint64_t share[2];

	(void)state;
	for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
		for (int by_qp = 0; by_qp < 2; by_qp++) {
			char text[1024];

			snprintf(
			    text, sizeof text,
			    "link: infiniband\nuntil: 6ms\ninfiniband:\n"
			    "  congestion: {threshold: 16KiB, marking-rate: 7, per-qp: %s}\n"
			    "topology: {shape: star, hosts: 6}\n"
			    "transport: {type: %s, mtu: 4096, message: 4096}\nworkload:\n"
			    "  - {shape: single, from: 1, to: 0, bytes: 99MB, mix: {send: 1}}\n"
			    "  - {shape: single, from: 1, to: 5, bytes: 99MB, mix: {send: 1}}\n"
			    "  - {shape: single, from: 2, to: 0, bytes: 99MB, mix: {send: 1}}\n"
			    "  - {shape: single, from: 3, to: 0, bytes: 99MB, mix: {send: 1}}\n"
			    "  - {shape: single, from: 4, to: 0, bytes: 99MB, mix: {send: 1}}\n",
			    by_qp ? "true" : "false", types[t]);
			scenario_read(fmemopen(text, strlen(text), "r"), types[t]);
			shares_measure(share);
			shares_check(share, by_qp);
		}
}

/* The data of READs comes from responders: theirs are the indices. */
static void victim__of_responses(void **state)
{
	static const char *const types[] = {"rc", "xrc", "dc"};
	uint64_t share[2];

	(void)state;
	for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
		for (int by_qp = 0; by_qp < 2; by_qp++) {
			char text[1024];

			snprintf(
			    text, sizeof text,
			    "link: infiniband\nuntil: 6ms\ninfiniband:\n"
			    "  congestion: {threshold: 16KiB, marking-rate: 7, per-qp: %s}\n"
			    "topology: {shape: star, hosts: 6}\n"
			    "transport: {type: %s, mtu: 4096}\nworkload:\n"
			    "  - {shape: single, from: 0, to: 1, bytes: 99MB, mix: {read: 1}}\n"
			    "  - {shape: single, from: 5, to: 1, bytes: 99MB, mix: {read: 1}}\n"
			    "  - {shape: single, from: 0, to: 2, bytes: 99MB, mix: {read: 1}}\n"
			    "  - {shape: single, from: 0, to: 3, bytes: 99MB, mix: {read: 1}}\n"
			    "  - {shape: single, from: 0, to: 4, bytes: 99MB, mix: {read: 1}}\n",
			    by_qp ? "true" : "false", types[t]);
			scenario_read(fmemopen(text, strlen(text), "r"), types[t]);
			shares_measure(share);
			shares_check(share, by_qp);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(victim__at_its_own_port),
	    cmocka_unit_test(victim__of_each_transport),
	    cmocka_unit_test(victim__of_responses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
