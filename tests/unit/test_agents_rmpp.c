/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of several MADs that agents send. */
#include "agents_rmpp_env.h"

/* MAD-19: a window of one, then as far as the ACK says; the payload lengths; the end by the ACK. */
static void send__windows(void **state)
{
	struct vb_mad_hdr h = response_header();

	(void)state;
	assert_int_equal(write_message(h, LONG, 0, 0), 0);
	assert_int_equal(expect_out(VB_RMPP_DATA, 1, VB_RMPP_FIRST), 70 * 220 - 12);
	assert_true(mad_header(out.mad).tid == h.tid); /* MAD-10: of a response */
	assert_false(transmitted());
	assert_true(vb_agents_poll_timeout(agents) == now + 2 * VB_SEC);
	assert_true(ack_came(h, 1, 65));
	for (uint32_t i = 2; i <= 65; i++)
		expect_segment(i, 70, LONG);
	assert_false(transmitted());
	assert_true(ack_came(h, 65, 129));
	for (uint32_t i = 66; i < 70; i++)
		expect_segment(i, 70, LONG);
	assert_int_equal(expect_out(VB_RMPP_DATA, 70, VB_RMPP_LAST), 220 - 12);
	assert_false(transmitted());
	assert_true(ack_came(h, 70, 129));
	assert_true(vb_agents_poll_timeout(agents) == VB_NEVER);
	assert_false(transmitted());
	assert_null(vb_agents_peek(agents, file));
	assert_int_equal(write_message(h, LONG, 0, 0), 0); /* it is no duplicate any more */
}

/* MAD-19: one segment, filled or with nothing in it; and a plain MAD without the flag. */
static void send__one_segment(void **state)
{
	(void)state;
	assert_int_equal(write_message(response_header(), HDR + ROOM, 0, 0), 0);
	assert_int_equal(expect_out(VB_RMPP_DATA, 1, VB_RMPP_FIRST | VB_RMPP_LAST), 220);
	assert_true(ack_came(response_header(), 1, 1));
	assert_int_equal(write_message(response_header(), HDR, 0, 0), 0);
	assert_int_equal(expect_out(VB_RMPP_DATA, 1, VB_RMPP_FIRST | VB_RMPP_LAST), 20);
	assert_true(ack_came(response_header(), 1, 1));
	assert_int_equal(written(file, 0, header(SA, 2, GET, 0x11, 1), 100, 0), 0); /* MAD-18 */
	assert_true(transmitted());
	assert_int_equal(out.mad[24], 0);
	assert_int_equal(write_message(response_header(), HDR - 1, 0, 0), -EINVAL);
}

/* MAD-19: retries begin behind the last ACK, which gives all of them back; then the writer is told,
 * and so is the receiver. MAD-21 */
static void send__retries(void **state)
{
	struct vb_mad_hdr h = response_header();

	(void)state;
	assert_int_equal(write_message(h, LONG, 500, 1), 0);
	expect_segment(1, 70, LONG);
	assert_true(vb_agents_poll_timeout(agents) == now + 500 * VB_MSEC);
	now += 500 * VB_MSEC;
	vb_agents_handle_timeout(agents, now);
	expect_segment(1, 70, LONG);
	assert_true(ack_came(h, 1, 65));
	for (uint32_t i = 2; i <= 65; i++)
		expect_segment(i, 70, LONG);
	now += 500 * VB_MSEC;
	vb_agents_handle_timeout(agents, now);
	for (uint32_t i = 2; i <= 65; i++)
		expect_segment(i, 70, LONG);
	assert_null(vb_agents_peek(agents, file));
	now += 500 * VB_MSEC;
	vb_agents_handle_timeout(agents, now);
	assert_int_equal(expect_out(VB_RMPP_ABORT, 0, 0), 126);
	assert_int_equal(mad_header(out.mad).method, h.method);
	assert_true(mad_header(out.mad).tid == h.tid);
	assert_false(transmitted());
	assert_int_equal(vb_agents_peek(agents, file)->status, ETIMEDOUT);
	assert_int_equal(vb_agents_peek(agents, file)->len, 24);
	assert_true(mad_header(vb_agents_peek(agents, file)->mad).tid == h.tid);
	assert_true(vb_agents_poll_timeout(agents) == VB_NEVER);
}

/* A receiver that opens no window yet is asked for one by a segment that it has. */
static void send__into_a_closed_window(void **state)
{
	struct vb_mad_hdr h = response_header();

	(void)state;
	assert_int_equal(write_message(h, LONG, 500, 1), 0);
	expect_segment(1, 70, LONG);
	assert_true(ack_came(h, 1, 1));
	assert_false(transmitted());
	now += 500 * VB_MSEC;
	vb_agents_handle_timeout(agents, now);
	expect_segment(1, 70, LONG);
	assert_false(transmitted());
	assert_true(ack_came(h, 1, 3));
	expect_segment(2, 70, LONG);
	expect_segment(3, 70, LONG);
	assert_false(transmitted());
}

/* The receiver has the end of the window, and not all before it: what it misses is sent alone. */
static void send__what_is_missing(void **state)
{
	struct vb_mad_hdr h = response_header();

	(void)state;
	write_message(h, LONG, 0, 1);
	expect_segment(1, 70, LONG);
	assert_true(ack_came(h, 1, 65));
	for (uint32_t i = 2; i <= 40; i++)
		expect_segment(i, 70, LONG);
	assert_true(ack_came(h, 1, 65)); /* too early to say anything */
	for (uint32_t i = 41; i <= 65; i++)
		expect_segment(i, 70, LONG);
	assert_true(ack_came(h, 9, 65));
	expect_segment(10, 70, LONG);
	assert_false(transmitted());
	assert_true(ack_came(h, 9, 65)); /* again: once is enough */
	assert_false(transmitted());
	assert_true(ack_came(h, 29, 65));
	expect_segment(30, 70, LONG);
	assert_true(ack_came(h, 8, 65)); /* an old one */
	assert_true(ack_came(h, 29, 64));
	assert_false(transmitted());
	assert_true(ack_came(h, 65, 129));
	for (uint32_t i = 66; i <= 70; i++)
		expect_segment(i, 70, LONG);
}

/* MAD-19: a request of several MADs waits for its answer, after the receiver may turn around. */
static void send__a_request(void **state)
{
	struct vb_mad_hdr h = header(SA, 2, GET_TABLE, 0x11, 5), resp;

	(void)state;
	assert_int_equal(write_message(h, HDR + 2 * ROOM, 5000, 0), 0);
	assert_int_equal(write_message(h, HDR + 2 * ROOM, 5000, 0), -EINVAL); /* MAD-11 */
	expect_out(VB_RMPP_DATA, 1, VB_RMPP_FIRST);
	h = mad_header(out.mad);
	assert_true(vb_agents_poll_timeout(agents) == now + 2 * VB_SEC);
	assert_true(ack_came(h, 1, 65));
	expect_out(VB_RMPP_DATA, 2, VB_RMPP_LAST);
	assert_true(ack_came(h, 2, 65));
	assert_int_equal(expect_out(VB_RMPP_ACK, 0, 0), 1);
	assert_int_equal(mad_header(out.mad).method, GET_TABLE);
	assert_true(vb_agents_poll_timeout(agents) == now + 5 * VB_SEC);
	assert_true(ack_came(h, 2, 65)); /* repeated */
	assert_int_equal(expect_out(VB_RMPP_ACK, 0, 0), 1);
	assert_true(ack_came(h, 0, 1)); /* no answer to what it says itself */
	assert_false(transmitted());
	resp = h;
	resp.method = GET_TABLE_RESP;
	assert_true(data_came(resp, 1, 1, 220));
	assert_int_equal(expect_out(VB_RMPP_ACK, 1, 0), 1);
	assert_int_equal(mad_header(out.mad).method, GET_TABLE);
	assert_int_equal(vb_agents_peek(agents, file)->len, VB_MAD_LEN);
	assert_int_equal(read_agent(file), 0);
	assert_false(transmitted());
	time_to(8000);
	assert_null(vb_agents_peek(agents, file));
}

static void expect_ends(struct vb_rmpp r, bool told, uint8_t status)
{
	struct vb_mad_hdr h = response_header(), back = h;

	assert_int_equal(write_message(h, LONG, 0, 1), 0);
	expect_segment(1, 70, LONG);
	back.method ^= VB_MAD_METHOD_RESPONSE;
	assert_true(rmpp_came(back, r));
	if (told)
		assert_int_equal(expect_out(VB_RMPP_ABORT, 0, 0), status);
	assert_false(transmitted());
	assert_true(vb_agents_poll_timeout(agents) == VB_NEVER);
	assert_null(vb_agents_peek(agents, file)); /* the writer hears nothing */
}

/* MAD-21 */
static void send__is_ended(void **state)
{
	(void)state;
	expect_ends((struct vb_rmpp){.type = VB_RMPP_STOP, .status = 1}, false, 0);
	expect_ends((struct vb_rmpp){.type = VB_RMPP_STOP, .status = 2}, true, 124);
	expect_ends((struct vb_rmpp){.type = VB_RMPP_ABORT, .status = 118}, false, 0);
	expect_ends((struct vb_rmpp){.type = VB_RMPP_ABORT, .status = 127}, false, 0);
	expect_ends((struct vb_rmpp){.type = VB_RMPP_ABORT, .status = 117}, true, 124);
	expect_ends((struct vb_rmpp){.type = VB_RMPP_ABORT, .status = 128}, true, 124);
	expect_ends((struct vb_rmpp){.type = 5}, true, 121);
	expect_ends((struct vb_rmpp){.type = 0}, true, 121);
	expect_ends((struct vb_rmpp){.type = VB_RMPP_ACK, .version = 2}, true, 125);
	expect_ends((struct vb_rmpp){.type = VB_RMPP_ACK, .status = 1, .length = 1}, true, 124);
	expect_ends((struct vb_rmpp){.type = VB_RMPP_ACK, .segment = 2, .length = 1}, true, 122);
	expect_ends((struct vb_rmpp){.type = VB_RMPP_ACK, .segment = 2, .length = 9}, true, 123);
	expect_ends((struct vb_rmpp){.type = VB_RMPP_ACK, .segment = 71, .length = 99}, true, 123);
}

/* MAD-19: the window of an answer begins where the asker's last word on its request said. */
static void send__an_answer_to_many(void **state)
{
	struct vb_mad_hdr h = header(SA, 2, GET_TABLE, 0x11, 0x7700000001), resp = h;

	(void)state;
	data_came(h, 1, 2, 0);
	data_came(h, 2, 2, 220);
	while (transmitted())
		;
	assert_true(rmpp_came(h, (struct vb_rmpp){.type = VB_RMPP_ACK, .length = 3}));
	resp.method = GET_TABLE_RESP;
	assert_int_equal(write_message(resp, LONG, 0, 0), 0);
	for (uint32_t i = 1; i <= 3; i++)
		expect_segment(i, 70, LONG);
	assert_false(transmitted());
}

/* ... but with one segment at least. */
static void send__an_answer_to_none(void **state)
{
	struct vb_mad_hdr h = header(SA, 2, GET_TABLE, 0x11, 0x7700000001), resp = h;

	(void)state;
	data_came(h, 1, 1, 220);
	while (transmitted())
		;
	assert_true(rmpp_came(h, (struct vb_rmpp){.type = VB_RMPP_ACK, .length = 0}));
	resp.method = GET_TABLE_RESP;
	assert_int_equal(write_message(resp, LONG, 0, 0), 0);
	expect_segment(1, 70, LONG);
	assert_false(transmitted());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(send__windows, rmpp_begin, agents_end),
	    cmocka_unit_test_setup_teardown(send__one_segment, rmpp_begin, agents_end),
	    cmocka_unit_test_setup_teardown(send__retries, rmpp_begin, agents_end),
	    cmocka_unit_test_setup_teardown(send__into_a_closed_window, rmpp_begin, agents_end),
	    cmocka_unit_test_setup_teardown(send__what_is_missing, rmpp_begin, agents_end),
	    cmocka_unit_test_setup_teardown(send__a_request, rmpp_begin, agents_end),
	    cmocka_unit_test_setup_teardown(send__is_ended, rmpp_begin, agents_end),
	    cmocka_unit_test_setup_teardown(send__an_answer_to_many, rmpp_begin, agents_end),
	    cmocka_unit_test_setup_teardown(send__an_answer_to_none, rmpp_begin, agents_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
