/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Selective repeat where much is lost and the way is long, in whole runs: what the scenarios say of
 * loss and round trip, and an incast without PFC against one with it. Virtual time and fixed seeds.
 */
#include "cmocka_env.h"
#include "scenario/override.h"
#include "scenario/scenario.h"

#include <errno.h>
#include <string.h>

#define SET_MAX 6
#define ETH_IP_UDP_BTH_ICRC 82u /* of each packet on the cable, preamble and gap included */

struct setting {
	const char *path, *value;
};

static struct vb_report run_with(const char *name, const struct setting *set, vb_time *done)
{
	static struct vb_scenario sc;
	struct vb_scenario_override with[SET_MAX];
	struct vb_scenario_run run;
	struct vb_report r;
	char path[256], err[1024] = "";
	uint32_t cnt = 0;

	snprintf(path, sizeof path, "%s/../../scenarios/%s.yaml", TEST_DATA, name);
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	for (; cnt < SET_MAX && set[cnt].path; cnt++)
		with[cnt] = (struct vb_scenario_override){set[cnt].path, set[cnt].value};
	if (vb_scenario_read_with(&sc, f, path, with, cnt, err, sizeof err) ||
	    vb_scenario_open(&run, &sc, NULL, err, sizeof err))
		fail_msg("%s", err);
	fclose(f);
	assert_int_equal(vb_sim_run(run.sim, sc.until), 0);
	assert_int_equal(vb_report_make(&r, run.load, run.sim, &run.memory), 0);
	assert_int_equal(r.failed, 0);
	*done = vb_load_flow(run.load, 0)->done;
	vb_scenario_close(&run);
	return r;
}

/* A flow of @mbytes with the fault @loss: at least 0.95 of 1 - p of the cable, not counting the
 * round trips in which the last packets are lost again and again. */
static void check_goodput(const char *op, const char *delay, vb_dur rtt, const char *loss,
			  uint32_t p_permille, uint32_t mbytes)
{
	char bytes[16], mix[32];
	const struct setting set[SET_MAX] = {
	    {"topology.cable.delay", delay},
	    {"faults.0.do", loss},
	    {"workload.0.bytes", bytes},
	    {"workload.0.mix.write", "0"},
	    {mix, "1"},
	};
	uint64_t pkts = UINT64_C(1000000) * mbytes / 1024;
	uint64_t alone = pkts * (1024 + ETH_IP_UDP_BTH_ICRC) * 8 / 100;
	struct vb_report r;
	vb_time done;

	snprintf(bytes, sizeof bytes, "%uMB", mbytes);
	snprintf(mix, sizeof mix, "workload.0.mix.%s", op);
	r = run_with("adp/selective-repeat-rtt", set, &done);

	uint64_t got = alone * 1000 / (done - 8 * rtt);
	uint64_t again = r.counters.v[VB_COUNTER_retransmitted_packets];

	print_message("%s, %s, %s: %llu of %u per mille, %llu sent again, %llu timeouts\n", op,
		      delay, loss, (unsigned long long)got, 1000 - p_permille,
		      (unsigned long long)again,
		      (unsigned long long)r.counters.v[VB_COUNTER_local_ack_timeout_err]);
	assert_true(got * 100 >= (1000 - p_permille) * 95);
	assert_int_equal(r.counters.v[VB_COUNTER_local_ack_timeout_err], 0);
	assert_true(again * 1000 <= pkts * p_permille * 12 / 10);
}

/* 100 us: a thousand packets are under way. */
static void loss__over_100_us(void **state)
{
	(void)state;
	check_goodput("write", "49us", 100 * VB_USEC, "loss=1e-2", 10, 200);
	check_goodput("write", "49us", 100 * VB_USEC, "loss=5e-2", 50, 200);
	check_goodput("send", "49us", 100 * VB_USEC, "loss=2e-2", 20, 200);
	check_goodput("read", "49us", 100 * VB_USEC, "loss=5e-2", 50, 200);
}

/* 1 ms: twelve thousand are. */
static void loss__over_1_ms(void **state)
{
	(void)state;
	check_goodput("write", "499us", VB_MSEC, "loss=1e-2", 10, 400);
	check_goodput("write", "499us", VB_MSEC, "loss=5e-2", 50, 400);
	check_goodput("send", "499us", VB_MSEC, "loss=5e-2", 50, 400);
	check_goodput("read", "499us", VB_MSEC, "loss=5e-2", 50, 400);
}

/* Without PFC an incast has 0.9 of the goodput with it, where hosts have a window, and where not.
 */
static void incast__without_pfc(void **state)
{
	static const struct setting windows[2][SET_MAX] = {
	    {{"workload.0.bytes", "4MB"}, {"switch.lossless", "[0]"}, {"switch.queue", "0"}},
	    {{"workload.0.bytes", "4MB"}}};
	static const struct setting none[2][SET_MAX] = {
	    {{"switch.lossless", "[0]"}},
	    {{"switch.lossless", "[]"}, {"transport.recovery.selective_repeat_forced_en", "true"}}};
	struct vb_report r[4];
	vb_time done;

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		r[i] = i < 2 ? run_with("adp/incast-lossy", windows[i], &done)
			     : run_with("incast", none[i - 2], &done);
		print_message("incast: %llu Mb/s, %llu dropped\n",
			      (unsigned long long)r[i].goodput_bps / 1000000,
			      (unsigned long long)r[i].drops);
		assert_int_equal(r[i].drops != 0, i % 2);
	}
	assert_true(r[1].goodput_bps * 10 >= r[0].goodput_bps * 9);
	assert_true(r[3].goodput_bps * 10 >= r[2].goodput_bps * 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(loss__over_100_us),
	    cmocka_unit_test(loss__over_1_ms),
	    cmocka_unit_test(incast__without_pfc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
