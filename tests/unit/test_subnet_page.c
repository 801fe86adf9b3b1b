/* SPDX-License-Identifier: BSD-2-Clause */
/* Which writes to a umad file need no answer: what its page says of it. MAD-11 */
#include "agents_env.h"
#include "node/subnet/page.h"

#define TOKEN 5u

static struct vb_subnet_page page;
static uint32_t *counter;

static int page_begin(void **state)
{
	memset(&page, 0, sizeof page);
	page.token = TOKEN;
	page.hdr_len = VB_UMAD_HDR_LEN;
	page.agents = 1u << 2 | 1u << 3;
	page.with_rmpp = 1u << 3;
	page.port = page.port_cnt = 1;
	return agents_begin(state);
}

/* A write of @len bytes of a MAD by agent @agent. */
static bool claimed(uint32_t agent, struct vb_mad_hdr h, uint32_t len)
{
	uint8_t mad[VB_MAD_LEN + 8] = {0}, buf[VB_SUBNET_WRITE_MAX + 8];
	struct vb_mad_message m = {
	    .agent = agent, .len = len, .addr = {.qpn = 1, .lid = PEER_LID}, .mad = mad};

	mad_make(mad, h);
	vb_umad_write_emit(&m, buf, VB_UMAD_HDR_LEN);
	return vb_subnet_page_claim(&page, TOKEN, buf, VB_UMAD_HDR_LEN + len, &counter);
}

static void claims__follow_the_page(void **state)
{
	struct vb_mad_hdr perf = header(4, 1, GET, 0x12, 9);

	(void)state;
	assert_true(claimed(2, perf, VB_MAD_LEN));
	assert_int_equal(*counter, 1);
	/* An equal transaction is on its way. */
	assert_false(claimed(2, perf, VB_MAD_LEN));
	*counter = 0;
	assert_true(claimed(2, perf, VB_MAD_LEN));
	*counter = 0;
	assert_false(claimed(1, perf, VB_MAD_LEN)); /* no such agent */
	assert_false(claimed(32, perf, VB_MAD_LEN));
	assert_false(claimed(2, perf, VB_MAD_LEN + 1));
	assert_false(claimed(2, perf, VB_UMAD_WRITE_MIN - 1));
	assert_false(claimed(3, perf, VB_MAD_LEN)); /* of a class without RMPP */
	page.is_low = true;
	assert_false(claimed(2, perf, VB_MAD_LEN));
	page.is_low = false;
	page.token = TOKEN + 1;
	assert_false(claimed(2, perf, VB_MAD_LEN));
}

/* A directed route out of another port than this one. FAB-09 */
static void claims__look_at_routes(void **state)
{
	uint8_t mad[VB_MAD_LEN] = {0}, buf[VB_SUBNET_WRITE_MAX];
	struct vb_mad_message m = {.agent = 2, .len = VB_MAD_LEN, .mad = mad};

	(void)state;
	mad_make(mad, header(0x81, 1, GET, 0x11, 1));
	mad[7] = 1; /* hops */
	memset(mad + 32, 0xff, 4);
	mad[129] = 2;
	vb_umad_write_emit(&m, buf, VB_UMAD_HDR_LEN);
	assert_false(vb_subnet_page_claim(&page, TOKEN, buf, sizeof buf, &counter));
	buf[VB_UMAD_HDR_LEN + 129] = 1;
	assert_true(vb_subnet_page_claim(&page, TOKEN, buf, sizeof buf, &counter));
}

/* The agents count what is outstanding, until it is answered or given up. */
static void agents__count_transactions(void **state)
{
	int f = vb_agents_file_open(agents);
	uint32_t *cnt = page.outstanding, at = vb_agents_counter_of(4, 9);

	(void)state;
	registered(f, wanted(1, 0, 0, 0));
	vb_agents_file_count(agents, f, cnt);
	assert_int_equal(written(f, 0, header(4, 1, GET, 0x12, 9), 100, 0), 0);
	assert_int_equal(cnt[at], 1);
	assert_true(transmitted());
	assert_int_equal(cnt[at], 1);
	now += 101 * VB_MSEC;
	vb_agents_handle_timeout(agents, now);
	assert_int_equal(cnt[at], 0);
	/* Nobody waits for its answer. */
	assert_int_equal(written(f, 0, header(4, 1, GET, 0x12, 9), 0, 0), 0);
	assert_int_equal(cnt[at], 1);
	assert_true(transmitted());
	assert_int_equal(cnt[at], 0);
}

static void agents__say_when_memory_is_low(void **state)
{
	struct vb_agents *a = agents_make(true, 20000), *was = agents;
	int f = vb_agents_file_open(a), rc = 0;

	(void)state;
	agents = a;
	registered(f, wanted(1, 0, 0, 0));
	assert_false(vb_agents_is_low(a));
	for (uint32_t i = 0; rc == 0; i++) {
		rc = written(f, 0, header(4, 1, GET, 0x12, i), 100, 0);
		assert_true(rc == 0 || vb_agents_is_low(a));
	}
	assert_int_equal(rc, -ENOMEM);
	vb_agents_destroy(a);
	agents = was;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(claims__follow_the_page, page_begin, agents_end),
	    cmocka_unit_test_setup_teardown(claims__look_at_routes, page_begin, agents_end),
	    cmocka_unit_test_setup_teardown(agents__count_transactions, page_begin, agents_end),
	    cmocka_unit_test_setup_teardown(agents__say_when_memory_is_low, page_begin, agents_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
