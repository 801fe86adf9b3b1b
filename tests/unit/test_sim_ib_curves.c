/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Head-of-line blocking over load, and its relief by FECN and BECN, against published curves, in
 * shares of a link: a hot spot (Pfister and Norton, "Hot Spot" Contention and Combining in
 * Multistage Interconnection Networks, IEEE Transactions on Computers, 1985) and an incast with a
 * victim behind it (Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015).
 * docs/simulator.md has the tables. FAB-46 FAB-47 FAB-48
 */
#include "claim.h"
#include "scenario/scenario.h"

#include <string.h>

#define LINK_BPS UINT64_C(100000000000)
#define FLOWS_MAX 256
#define PER_MILLE 1000u

static struct vb_scenario sc;
static struct vb_scenario_run run;

static void scenario_read(const char *name)
{
	char path[256], err[512] = "";
	FILE *f;

	snprintf(path, sizeof path, "%s/../../scenarios/ib/%s.yaml", TEST_DATA, name);
	f = fopen(path, "r");
	assert_non_null(f);
	if (vb_scenario_read(&sc, f, path, err, sizeof err))
		fail_msg("%s", err);
	fclose(f);
}

/* The thousandths of a link that each flow fills in @span, after @warm, by its number. */
static uint32_t shares_measure(uint32_t share[FLOWS_MAX], vb_dur warm, vb_dur span)
{
	uint64_t before[FLOWS_MAX];
	char err[512] = "";
	uint32_t cnt;
	vb_time at;

	if (vb_scenario_open(&run, &sc, NULL, err, sizeof err))
		fail_msg("%s", err);
	cnt = vb_load_flow_cnt(run.load);
	assert_uint_in_range(cnt, 1, FLOWS_MAX);
	assert_int_equal(vb_sim_run(run.sim, warm), 0);
	for (uint32_t i = 0; i < cnt; i++)
		before[i] = vb_load_flow_completed(run.load, vb_load_flow(run.load, i));
	assert_int_equal(vb_sim_run(run.sim, warm + span), 0);
	for (uint32_t i = 0; i < cnt; i++)
		share[i] = (uint32_t)((vb_load_flow_completed(run.load, vb_load_flow(run.load, i)) -
				       before[i]) *
				      8 * PER_MILLE / (LINK_BPS / VB_SEC * span));
	assert_null(vb_sim_deadlock(run.sim, &at));
	return cnt;
}

/* The share of its link that each of the seven hosts fills, and that of the hot spot's link. */
struct hot_spot {
	uint32_t of_host, of_link;
};

/* With @more flows of each host to the hot spot. */
static struct hot_spot hot_spot_measure(uint32_t more, vb_dur warm)
{
	struct hot_spot is = {0};
	uint32_t share[FLOWS_MAX], cnt;

	sc.pattern_cnt = 1 + more;
	cnt = shares_measure(share, warm, 2 * VB_MSEC);
	for (uint32_t i = 0; i < cnt; i++) {
		const struct vb_flow *f = vb_load_flow(run.load, i);

		if (f->src != 0)
			is.of_host += share[i];
		if (f->dst == 0)
			is.of_link += share[i];
	}
	is.of_host /= 7;
	vb_scenario_close(&run);
	return is;
}

/* 1 / (1 + h (n - 1)) for n hosts, of whose packets a share h goes to the hot spot on top of what
 * goes there like anywhere: h = more / (7 + more). */
static uint32_t hot_spot_published(uint32_t more)
{
	return PER_MILLE * (7 + more) / (7 + 7 * more);
}

static void hot_spot__holds_up_all(void **state)
{
	static const uint32_t loads[] = {0, 1, 2, 4, 7, 14};
	char text[96];

	(void)state;
	for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++) {
		struct hot_spot is;

		scenario_read("hotspot");
		assert_int_equal(sc.pattern_cnt, 15);
		sc.ib.congestion.threshold = 0;
		is = hot_spot_measure(loads[i], VB_MSEC);
		snprintf(text, sizeof text,
			 "InfiniBand, a hot spot with %u flows of each host more", loads[i]);
		assert_claim(&(struct claim){text, "Pfister and Norton 1985", "% of a host's link",
					     hot_spot_published(loads[i]) / 10., 0.07},
			     is.of_host / 10.);
		assert_uint_in_range(is.of_link, 990 * 93 / 100, 990 * 107 / 100);
	}
}

/* By indices of QPs a host has four fifths of its link at each load, and the hot spot is busy. */
static void hot_spot__is_relieved(void **state)
{
	static const uint32_t loads[] = {0, 1, 4, 7};

	(void)state;
	for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++) {
		struct hot_spot is;

		scenario_read("hotspot");
		is = hot_spot_measure(loads[i], 5 * VB_MSEC);
		if (is.of_host < 750 || is.of_link < 850)
			fail_msg("%u more: %u of a link, %u at the hot spot", loads[i], is.of_host,
				 is.of_link);
	}
}

/* Indices of service levels hold up the whole host, as the hot spot does. */
static void hot_spot__is_not_relieved_by_levels(void **state)
{
	(void)state;
	for (uint32_t more = 1; more <= 7; more += 6) {
		scenario_read("hotspot");
		sc.ib.cct.by_qp = false;
		assert_true(hot_spot_measure(more, 5 * VB_MSEC).of_host <=
			    hot_spot_published(more) * 105 / 100);
	}
}

struct incast {
	uint32_t of_link, victim;
};

/* @cnt senders at the receiver's switch, one behind a cable, and with it a victim. */
static struct incast incast_measure(uint32_t cnt, vb_dur warm)
{
	uint32_t share[FLOWS_MAX], flows;
	struct incast is = {0};

	assert_int_equal(sc.pattern[0].shape, VB_LOAD_INCAST);
	sc.pattern[0].flows = cnt;
	flows = shares_measure(share, warm, 8 * VB_MSEC);
	assert_int_equal(flows, cnt + 2);
	is.victim = share[flows - 1];
	assert_int_equal(vb_load_flow(run.load, flows - 1)->dst, 21);
	for (uint32_t i = 0; i < flows - 1; i++)
		is.of_link += share[i];
	for (uint32_t p = 0; p < vb_sim_port_cnt(run.sim); p++) {
		struct vb_sim_ib_stats st;

		assert_true(vb_sim_ib_port_stats(run.sim, p, &st));
		assert_int_equal(st.counters.buffer_overruns + st.counters.xmit_discards, 0);
	}
	vb_scenario_close(&run);
	return is;
}

/* The victim gets what the sender gets that shares its cable, 1 / (n + 1); a bit less where few
 * senders make that much, since the cable's buffers run empty now and then. */
static void incast__holds_up_its_victim(void **state)
{
	static const uint32_t loads[] = {1, 2, 4, 8, 16};
	char text[96];

	(void)state;
	for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++) {
		struct incast is;

		scenario_read("incast-load");
		sc.ib.congestion.threshold = 0;
		is = incast_measure(loads[i], VB_MSEC);
		snprintf(text, sizeof text, "InfiniBand, the victim behind an incast of %u",
			 loads[i]);
		assert_claim(&(struct claim){text, "1 / (n + 1), Zhu et al. 2015", "% of its link",
					     100. / (loads[i] + 1), 0.16},
			     is.victim / 10.);
		assert_uint_in_range(is.of_link, 993 * 97 / 100, 993 * 103 / 100);
	}
}

/* More than 97.5 % are published, and the rest of its cable is the victim's. A few senders are less
 * here: they are all slowed down by the marks of one queue, one as much as the other, and the timer
 * takes its time. */
static void incast__lets_its_victim_go(void **state)
{
	static const struct {
		uint32_t cnt, of_link;
	} rows[] = {{1, 950}, {2, 850}, {4, 920}, {8, 970}, {16, 970}};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		uint32_t rest = PER_MILLE - PER_MILLE / (rows[i].cnt + 1);
		struct incast is;

		scenario_read("incast-load");
		is = incast_measure(rows[i].cnt, 10 * VB_MSEC);
		if (is.of_link < rows[i].of_link || is.victim < rest * 95 / 100)
			fail_msg("%u senders: %u of the link, and %u for the victim", rows[i].cnt,
				 is.of_link, is.victim);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(hot_spot__holds_up_all),
	    cmocka_unit_test(hot_spot__is_relieved),
	    cmocka_unit_test(hot_spot__is_not_relieved_by_levels),
	    cmocka_unit_test(incast__holds_up_its_victim),
	    cmocka_unit_test(incast__lets_its_victim_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
