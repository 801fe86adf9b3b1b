/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of several MADs that come to agents. */
#include "agents_rmpp_env.h"

/* A request is outstanding whose answer comes in several MADs. */
static struct vb_mad_hdr asked(uint32_t timeout_ms, uint32_t retries)
{
	struct vb_mad_hdr h;

	assert_int_equal(written(file, 0, header(SA, 2, GET_TABLE, 0x11, 1), timeout_ms, retries),
			 0);
	assert_true(transmitted());
	h = mad_header(out.mad);
	h.method = GET_TABLE_RESP;
	return h;
}

/* MAD-20: the ACKs, and the message as it is read. MAD-15 */
static void receive__windows(void **state)
{
	struct vb_mad_hdr h = asked(1000, 0);
	const struct vb_mad_message *m;

	(void)state;
	assert_true(data_came(h, 1, 70, 70 * 220 - 12));
	assert_int_equal(expect_out(VB_RMPP_ACK, 1, 0), 65);
	assert_int_equal(mad_header(out.mad).method, GET_TABLE);
	for (uint32_t i = 2; i < 65; i++)
		assert_true(data_came(h, i, 70, 0));
	assert_false(transmitted());
	assert_true(data_came(h, 66, 70, 0)); /* beyond the window */
	assert_true(data_came(h, 65, 70, 0));
	assert_int_equal(expect_out(VB_RMPP_ACK, 65, 0), 129);
	for (uint32_t i = 66; i < 70; i++)
		assert_true(data_came(h, i, 70, 0));
	assert_null(vb_agents_peek(agents, file));
	assert_true(data_came(h, 70, 70, 220 - 12));
	assert_int_equal(expect_out(VB_RMPP_ACK, 70, 0), 129);
	assert_false(transmitted());
	m = vb_agents_peek(agents, file);
	assert_int_equal(m->len, HDR + 70 * ROOM - 12);
	assert_int_equal(m->agent, 0);
	assert_int_equal(m->addr.lid, PEER_LID);
	assert_true(mad_header(m->mad).tid == h.tid);
	for (uint32_t i = HDR; i < m->len; i++)
		assert_int_equal(m->mad[i], ((i - HDR) / ROOM + 1) & 0xff);
	vb_agents_take(agents, file);
	assert_null(vb_agents_peek(agents, file));
	/* A repeated segment is acknowledged for 10 s. */
	assert_true(data_came(h, 70, 70, 220 - 12));
	assert_int_equal(expect_out(VB_RMPP_ACK, 70, 0), 129);
	assert_null(vb_agents_peek(agents, file));
	assert_int_equal(vb_agents_poll_timeout(agents), now + 10 * VB_SEC);
	vb_agents_handle_timeout(agents, now + 10 * VB_SEC);
	assert_true(vb_agents_poll_timeout(agents) == VB_NEVER);
	assert_false(data_came(h, 70, 70, 220 - 12));
	assert_false(transmitted());
}

/* MAD-20: requests of several MADs, in any order, with repetitions; what is missing is asked for.
 */
static void receive__in_any_order(void **state)
{
	struct vb_mad_hdr h = header(SA, 2, GET_TABLE, 0x11, 0x7700000001);

	(void)state;
	assert_true(data_came(h, 2, 70, 0)); /* nothing has begun */
	assert_false(transmitted());
	assert_true(data_came(h, 1, 70, 0));
	assert_int_equal(expect_out(VB_RMPP_ACK, 1, 0), 65);
	assert_int_equal(mad_header(out.mad).method, GET_TABLE_RESP);
	assert_true(data_came(h, 1, 70, 0)); /* repeated */
	assert_int_equal(expect_out(VB_RMPP_ACK, 1, 0), 65);
	for (uint32_t i = 64; i >= 2; i--)
		if (i != 10 && i != 30)
			assert_true(data_came(h, i, 70, 0));
	assert_true(data_came(h, 5, 70, 0));
	assert_false(transmitted());
	assert_true(data_came(h, 65, 70, 0));
	assert_int_equal(expect_out(VB_RMPP_ACK, 9, 0), 65);
	assert_true(data_came(h, 10, 70, 0));
	assert_int_equal(expect_out(VB_RMPP_ACK, 29, 0), 65);
	assert_true(data_came(h, 30, 70, 0));
	assert_int_equal(expect_out(VB_RMPP_ACK, 65, 0), 129);
	assert_true(data_came(h, 70, 70, 220));
	assert_int_equal(expect_out(VB_RMPP_ACK, 65, 0), 129);
	assert_true(data_came(h, 71, 70, 0)); /* behind the last one */
	for (uint32_t i = 66; i < 69; i++)
		assert_true(data_came(h, i, 70, 0));
	while (transmitted())
		;
	assert_null(vb_agents_peek(agents, file));
	assert_true(data_came(h, 69, 70, 0));
	assert_int_equal(expect_out(VB_RMPP_ACK, 70, 0), 129);
	assert_int_equal(vb_agents_peek(agents, file)->len, HDR + 70 * ROOM);
	for (uint32_t i = HDR; i < HDR + 70 * ROOM; i++)
		assert_int_equal(vb_agents_peek(agents, file)->mad[i],
				 ((i - HDR) / ROOM + 1) & 0xff);
	/* For 10 s repetitions are acknowledged, then they are those of a message that is gone. */
	assert_true(data_came(h, 70, 70, 220));
	assert_int_equal(expect_out(VB_RMPP_ACK, 70, 0), 129);
	now += 10 * VB_SEC;
	vb_agents_handle_timeout(agents, now);
	assert_true(data_came(h, 70, 70, 220));
	assert_false(transmitted());
	assert_true(vb_agents_poll_timeout(agents) == VB_NEVER);
}

/* MAD-20: 40 s without what is missing. MAD-21 */
static void receive__takes_too_long(void **state)
{
	struct vb_mad_hdr h = header(SA, 2, GET_TABLE, 0x11, 0x7700000001);

	(void)state;
	data_came(h, 1, 70, 0);
	expect_out(VB_RMPP_ACK, 1, 0);
	now += 39 * VB_SEC;
	data_came(h, 2, 70, 0);
	assert_true(vb_agents_poll_timeout(agents) == now + 40 * VB_SEC);
	now += 40 * VB_SEC;
	vb_agents_handle_timeout(agents, now);
	assert_int_equal(expect_out(VB_RMPP_ABORT, 0, 0), 118);
	assert_int_equal(mad_header(out.mad).method, GET_TABLE_RESP);
	assert_true(vb_agents_poll_timeout(agents) == VB_NEVER);
	data_came(h, 3, 70, 0);
	assert_false(transmitted());
	assert_null(vb_agents_peek(agents, file));
}

/* MAD-21: segments that contradict themselves. */
static void receive__contradictions(void **state)
{
	struct vb_mad_hdr h = header(SA, 2, GET_TABLE, 0x11, 0x7700000001);
	static const struct vb_rmpp bad[] = {
	    {.type = VB_RMPP_DATA, .segment = 1},
	    {.type = VB_RMPP_DATA, .segment = 2, .flags = VB_RMPP_FIRST},
	    {.type = VB_RMPP_DATA, .segment = 1, .flags = VB_RMPP_FIRST, .status = 1},
	    {.type = VB_RMPP_DATA, .segment = 1, .flags = VB_RMPP_FIRST, .version = 2},
	};
	static const uint8_t status[] = {120, 120, 124, 125};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_true(rmpp_came(h, bad[i]));
		assert_int_equal(expect_out(VB_RMPP_ABORT, 0, 0), status[i]);
	}
	assert_false(transmitted());
	assert_true(vb_agents_poll_timeout(agents) == VB_NEVER);
}

/* MAD-21: lengths that contradict each other. The first segment tells that of all, or 0; each has
 * 220 bytes but the last one. */
static void receive__contradictory_lengths(void **state)
{
	static const struct {
		uint32_t first, last;
		uint8_t status; /* 0: none */
	} row[] = {{640, 200, 0},   {0, 220, 0},     {0, 221, 119},
		   {640, 199, 119}, {860, 200, 119}, {UINT32_MAX, 220, 119}};
	struct vb_mad_hdr h = header(SA, 2, GET_TABLE, 0x11, 0x7700000001);

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++, h.tid++) {
		data_came(h, 1, 3, row[i].first);
		expect_out(VB_RMPP_ACK, 1, 0);
		data_came(h, 2, 3, 0);
		data_came(h, 3, 3, row[i].last);
		if (row[i].status) {
			assert_int_equal(expect_out(VB_RMPP_ABORT, 0, 0), row[i].status);
			assert_null(vb_agents_peek(agents, file));
			assert_false(data_came(h, 3, 3, 200) &&
				     transmitted()); /* it is forgotten */
		} else {
			expect_out(VB_RMPP_ACK, 3, 0);
			assert_int_equal(vb_agents_peek(agents, file)->len,
					 HDR + 3 * ROOM - (220 - row[i].last));
			vb_agents_take(agents, file);
		}
		assert_false(transmitted());
	}
}

/* MAD-21: a sender that gives up takes its message along; one that nobody knows changes nothing. */
static void receive__is_aborted(void **state)
{
	struct vb_mad_hdr h = header(SA, 2, GET_TABLE, 0x11, 0x7700000001), other = h;
	const struct vb_rmpp over = {.type = VB_RMPP_ABORT, .status = 126};

	(void)state;
	other.tid++;
	data_came(h, 1, 3, 0);
	expect_out(VB_RMPP_ACK, 1, 0);
	rmpp_came(other, over);
	assert_true(vb_agents_poll_timeout(agents) != VB_NEVER);
	rmpp_came(h, over);
	assert_true(vb_agents_poll_timeout(agents) == VB_NEVER);
	data_came(h, 2, 3, 0);
	data_came(h, 3, 3, 200);
	assert_false(transmitted());
	assert_null(vb_agents_peek(agents, file));
}

/* An answer that comes in parts keeps its request from being repeated. MAD-09: without a request
 * nothing begins. */
static void receive__holds_the_request(void **state)
{
	struct vb_mad_hdr h = asked(1000, 1);

	(void)state;
	now += 999 * VB_MSEC;
	data_came(h, 1, 3, 0);
	expect_out(VB_RMPP_ACK, 1, 0);
	now += 999 * VB_MSEC;
	vb_agents_handle_timeout(agents, now);
	assert_false(transmitted());
	data_came(h, 2, 3, 0);
	now += 999 * VB_MSEC;
	vb_agents_handle_timeout(agents, now);
	assert_false(transmitted());
	data_came(h, 3, 3, 100);
	expect_out(VB_RMPP_ACK, 3, 0);
	assert_int_equal(vb_agents_peek(agents, file)->len, HDR + 3 * ROOM - 120);
	vb_agents_take(agents, file);
	h.tid++;
	assert_false(data_came(h, 1, 3, 0));
	assert_false(transmitted());
}

/* Programs that segment for themselves get every MAD, and may repeat. */
static void user__rmpp(void **state)
{
	struct vb_agent_request r = wanted(1, SA, 1, 1 << GET_TABLE);
	struct vb_mad_hdr h = header(SA, 1, GET_TABLE, 0x11, 1);
	struct vb_rmpp flags = {.flags = VB_RMPP_ACTIVE, .type = VB_RMPP_ACK, .version = 1};
	struct vb_mad_message m = {.agent = 1, .timeout_ms = 100, .len = VB_MAD_LEN, .mad = mad};

	(void)state;
	r.rmpp_version = 1;
	r.user_rmpp = true;
	assert_int_equal(registered(file, r), 1);
	mad_make(mad, h);
	vb_rmpp_emit(&flags, mad);
	assert_int_equal(vb_agents_write(agents, file, &m), 0);
	assert_int_equal(vb_agents_write(agents, file, &m), 0);
	m.len++;
	assert_int_equal(vb_agents_write(agents, file, &m), -EINVAL);
	assert_true(transmitted());
	h = mad_header(out.mad);
	assert_true(data_came(h, 3, 5, 0)); /* a request */
	assert_int_equal(read_agent(file), 1);
	h.method = GET_TABLE_RESP;
	for (uint32_t i = 0; i < 5; i++) { /* two of these end a request, none is dropped */
		assert_true(data_came(h, i, 5, 0));
		assert_int_equal(read_agent(file), 1);
	}
	assert_false(came(false, h)); /* not active: an ordinary answer */
}

/* Peers that begin many messages, or long ones, have an end; what the agents asked for goes on. */
static void receive__from_hostile_peers(void **state)
{
	struct vb_mad_hdr h = header(SA, 2, GET_TABLE, 0x11, 0x7700000000), answer;
	uint32_t segment = 1, acks = 0;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		h.tid++;
		assert_true(data_came(h, 1, 0, 0));
		acks += transmitted();
	}
	assert_int_equal(acks, 256);
	answer = asked(1000, 0);
	data_came(answer, 1, 1, 220);
	expect_out(VB_RMPP_ACK, 1, 0);
	assert_int_equal(read_agent(file), 0);
	now += 40 * VB_SEC;
	vb_agents_handle_timeout(agents, now);
	while (transmitted())
		;
	/* One that never ends. */
	h.tid++;
	do {
		assert_true(data_came(h, segment++, 0, 0));
	} while (!transmitted() || out.mad[25] == VB_RMPP_ACK);
	assert_true(segment * ROOM > (4u << 20) - 1000 && segment * ROOM < (4u << 20) + 1000);
	assert_int_equal(out.mad[25], VB_RMPP_STOP);
	assert_int_equal(out.mad[27], 1);
	/* Many that end: the last 1024 are remembered, so that a repetition is told from a new one.
	 */
	for (int i = 0; i < 3000; i++) {
		h.tid++;
		assert_true(data_came(h, 1, 1, 220));
		expect_out(VB_RMPP_ACK, 1, 0);
		assert_int_equal(read_agent(file), 0);
	}
	h.tid -= 1023;
	assert_true(data_came(h, 1, 1, 220));
	expect_out(VB_RMPP_ACK, 1, 0);
	assert_int_equal(read_agent(file), -1);
	h.tid--;
	assert_true(data_came(h, 1, 1, 220));
	expect_out(VB_RMPP_ACK, 1, 0);
	assert_int_equal(read_agent(file), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(receive__windows, rmpp_begin, agents_end),
	    cmocka_unit_test_setup_teardown(receive__in_any_order, rmpp_begin, agents_end),
	    cmocka_unit_test_setup_teardown(receive__takes_too_long, rmpp_begin, agents_end),
	    cmocka_unit_test_setup_teardown(receive__contradictions, rmpp_begin, agents_end),
	    cmocka_unit_test_setup_teardown(receive__contradictory_lengths, rmpp_begin, agents_end),
	    cmocka_unit_test_setup_teardown(receive__is_aborted, rmpp_begin, agents_end),
	    cmocka_unit_test_setup_teardown(receive__holds_the_request, rmpp_begin, agents_end),
	    cmocka_unit_test_setup_teardown(user__rmpp, rmpp_begin, agents_end),
	    cmocka_unit_test_setup_teardown(receive__from_hostile_peers, rmpp_begin, agents_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
