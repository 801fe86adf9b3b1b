/* SPDX-License-Identifier: BSD-2-Clause */
/* The MADs that programs write: which are refused, which are repeated, when they are given up. */
#include "agents_env.h"

/* MAD-11 */
static void writes__are_refused(void **state)
{
	int f = vb_agents_file_open(agents);
	uint8_t mad[2 * VB_MAD_LEN] = {0};
	struct vb_mad_message m = {.len = 35, .addr = {.qpn = 1, .lid = 7}, .mad = mad};

	(void)state;
	registered(f, wanted(1, 0, 0, 0));
	mad_make(mad, header(4, 1, GET, 0x12, 1));
	assert_int_equal(vb_agents_write(agents, f, &m), -EINVAL);
	m.len = 36;
	m.agent = 32;
	assert_int_equal(vb_agents_write(agents, f, &m), -EINVAL);
	m.agent = 31;
	assert_int_equal(vb_agents_write(agents, f, &m), -EIO);
	m.agent = 0;
	mad[1] = 3; /* the class has a header of 56 bytes */
	assert_int_equal(vb_agents_write(agents, f, &m), -EINVAL);
	mad[1] = 4;
	m.addr.lid = 0xc001;
	assert_int_equal(vb_agents_write(agents, f, &m), -EINVAL);
	m.addr = (struct vb_mad_addr){.qpn = 1, .has_grh = true, .gid = {0xff}};
	assert_int_equal(vb_agents_write(agents, f, &m), -EINVAL);
	m.addr.lid = 0xc001;
	m.addr.sl = 16;
	assert_int_equal(vb_agents_write(agents, f, &m), -EINVAL);
	m.addr.sl = 15;
	m.len = VB_MAD_LEN + 1;
	assert_int_equal(vb_agents_write(agents, f, &m), -EINVAL);
	assert_false(transmitted());
	m.len = 36;
	mad[35] = 0x55;
	assert_int_equal(vb_agents_write(agents, f, &m), 0);
	memset(mad, 0xaa, sizeof mad); /* it was copied */
	assert_true(transmitted());
	assert_int_equal(out.mad[35], 0x55);
	assert_int_equal(out.mad[36], 0); /* and filled up with zeros */
	assert_int_equal(out.addr.lid, 0xc001);
	assert_true(out.addr.has_grh);
}

/* MAD-11: an equal transaction of the same file, of whichever agent, is outstanding. */
static void writes__are_no_duplicates(void **state)
{
	int a = vb_agents_file_open(agents), b = vb_agents_file_open(agents);
	struct vb_mad_hdr response = header(4, 1, VB_MAD_METHOD_GET_RESP, 0x12, 9);
	uint8_t mad[VB_MAD_LEN];
	struct vb_mad_message m = {.timeout_ms = 100, .len = VB_MAD_LEN, .mad = mad};

	(void)state;
	registered(a, wanted(1, 0, 0, 0));
	registered(b, wanted(1, 0, 0, 0));
	assert_int_equal(written(a, 0, header(4, 1, GET, 0x12, 9), 100, 0), 0);
	assert_int_equal(written(a, 0, header(4, 1, GET, 0x12, 9), 100, 0), -EINVAL);
	assert_int_equal(written(a, 0, header(0x21, 1, GET, 0x12, 9), 100, 0), 0);
	assert_int_equal(written(a, 0, header(4, 1, GET, 0x12, 10), 100, 0), 0);
	assert_int_equal(written(b, 0, header(4, 1, GET, 0x12, 9), 100, 0), 0);
	assert_int_equal(written(a, 0, response, 100, 0), 0);
	assert_int_equal(written(a, 0, response, 100, 0), -EINVAL);
	/* A request and a response with one TID are two transactions. */
	while (transmitted())
		response.tid = mad_header(out.mad).tid;
	assert_int_equal(response.tid & 0xffff, 9);
	assert_int_equal(written(a, 0, response, 100, 0), -EINVAL);
	response.tid = UINT64_C(1) << 32 | 10; /* of the request of the first agent */
	assert_int_equal(written(a, 0, response, 100, 0), 0);
	m.addr.lid = PEER_LID + 1; /* a response to somebody else */
	mad_make(mad, response);
	assert_int_equal(vb_agents_write(agents, a, &m), 0);
	while (transmitted())
		;
	time_to(1000); /* all are given up */
	assert_int_equal(written(a, 0, header(4, 1, GET, 0x12, 9), 100, 0), 0);
}

static int write_route(int file, bool returning, uint8_t hop_ptr, uint8_t hop_cnt, uint8_t port)
{
	uint8_t mad[VB_MAD_LEN];
	struct vb_smp_route r = {.returning = returning,
				 .hop_ptr = hop_ptr,
				 .hop_cnt = hop_cnt,
				 .dr_slid = 0xffff,
				 .dr_dlid = 0xffff};
	struct vb_mad_message m = {.len = VB_MAD_LEN, .addr = {.lid = 0xffff}, .mad = mad};
	int err;

	mad_make(mad, header(0x81, 1, returning ? VB_MAD_METHOD_GET_RESP : GET, VB_SMP_SM_INFO, 1));
	vb_smp_route_emit(&r, mad);
	vb_smp_initial_path(mad)[1] = port;
	vb_smp_return_path(mad)[hop_cnt] = port;
	err = vb_agents_write(agents, file, &m);
	if (err == 0) {
		assert_true(transmitted());
		assert_memory_equal(out.mad, mad, 8); /* the owner moves it on */
	}
	return err;
}

/* FAB-09: a route that does not begin at this port is refused. */
static void writes__of_directed_routes(void **state)
{
	struct vb_agents_config c = {.alloc = env_alloc,
				     .free = env_free,
				     .has_smi = true,
				     .port = 2,
				     .node = {.port_cnt = 2}};
	int f;

	(void)state;
	vb_agents_destroy(agents);
	agents = vb_agents_create(&c);
	f = vb_agents_file_open(agents);
	registered(f, wanted(0, 0x81, 1, 0));
	assert_int_equal(write_route(f, false, 0, 0, 0), 0);
	assert_int_equal(write_route(f, false, 0, 3, 2), 0);
	assert_int_equal(write_route(f, false, 0, 63, 2), 0);
	assert_int_equal(write_route(f, false, 0, 3, 1), -EINVAL);
	assert_int_equal(write_route(f, false, 0, 3, 3), -EINVAL);
	assert_int_equal(write_route(f, false, 0, 3, 0), -EINVAL);
	assert_int_equal(write_route(f, false, 1, 3, 2), -EINVAL);
	assert_int_equal(write_route(f, true, 4, 3, 2), 0);
	assert_int_equal(write_route(f, true, 4, 3, 1), -EINVAL);
	assert_int_equal(write_route(f, true, 5, 3, 2), -EINVAL);
}

/* MAD-13: (retries + 1) * timeout, then the header with its TID, and ETIMEDOUT. */
static void requests__are_given_up(void **state)
{
	int f = vb_agents_file_open(agents);
	const struct vb_mad_message *m;

	(void)state;
	registered(f, wanted(1, 4, 1, 2));
	registered(f, wanted(1, 0, 0, 0));
	assert_int_equal(written(f, 1, header(4, 1, GET, 0x12, 9), 100, 2), 0);
	assert_true(vb_agents_poll_timeout(agents) == VB_NEVER); /* it has not left */
	assert_true(transmitted());
	for (uint64_t i = 1; i <= 3; i++) {
		assert_true(vb_agents_poll_timeout(agents) == now + 100 * VB_MSEC);
		vb_agents_handle_timeout(agents, now + 100 * VB_MSEC - 1);
		assert_false(transmitted());
		now += 100 * VB_MSEC;
		vb_agents_handle_timeout(agents, now);
		assert_true(transmitted() == (i < 3));
		assert_true((vb_agents_peek(agents, f) != NULL) == (i == 3));
	}
	m = vb_agents_peek(agents, f);
	assert_int_equal(m->status, 110);
	assert_int_equal(m->agent, 1);
	assert_int_equal(m->len, 24);
	assert_memory_equal(m->mad, out.mad, 24);
	assert_int_equal(vb_agents_poll_readable(agents), f);
	assert_int_equal(vb_agents_poll_readable(agents), -1);
	vb_agents_take(agents, f);
	assert_null(vb_agents_peek(agents, f));
	assert_int_equal(vb_agents_counters(agents)->tx_retries, 2);
	assert_int_equal(vb_agents_counters(agents)->tx_timeouts, 1);
	assert_true(vb_agents_poll_timeout(agents) == VB_NEVER);
	/* Without a timeout nothing is waited for. */
	assert_int_equal(written(f, 1, header(4, 1, GET, 0x12, 9), 0, 5), 0);
	assert_true(transmitted());
	assert_true(vb_agents_poll_timeout(agents) == VB_NEVER);
}

/* MAD-13, MAD-09: an answer between two repetitions, and while one waits to leave. */
static void requests__are_answered_late(void **state)
{
	int f = vb_agents_file_open(agents);
	struct vb_mad_hdr h;

	(void)state;
	registered(f, wanted(1, 0, 0, 0));
	written(f, 0, header(4, 1, GET, 0x12, 9), 100, 2);
	assert_true(transmitted());
	h = mad_header(out.mad);
	h.method = VB_MAD_METHOD_GET_RESP;
	now += 100 * VB_MSEC;
	vb_agents_handle_timeout(agents, now);
	assert_true(came(false, h));
	assert_false(transmitted());
	assert_int_equal(read_agent(f), 0);
	assert_true(vb_agents_poll_timeout(agents) == VB_NEVER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(writes__are_refused, agents_begin, agents_end),
	    cmocka_unit_test_setup_teardown(writes__are_no_duplicates, agents_begin, agents_end),
	    cmocka_unit_test_setup_teardown(writes__of_directed_routes, agents_begin, agents_end),
	    cmocka_unit_test_setup_teardown(requests__are_given_up, agents_begin, agents_end),
	    cmocka_unit_test_setup_teardown(requests__are_answered_late, agents_begin, agents_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
