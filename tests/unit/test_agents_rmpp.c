/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of several MADs to and from agents that leave their segments to the machine; the peer is
 * played here, segment by segment. */
#include "agents_env.h"

#define SA 3
#define GET_TABLE_RESP (GET_TABLE | VB_MAD_METHOD_RESPONSE)
#define HDR 56
#define ROOM 200
#define LONG (HDR + 70 * ROOM - 12) /* 70 segments */

static int file;
static uint8_t message[LONG], mad[VB_MAD_LEN];
static const struct vb_mad_addr peer = {.qpn = 1, .lid = PEER_LID, .sl = 3, .pkey_index = 2};

static int rmpp_begin(void **state)
{
	struct vb_agent_request r = wanted(1, SA, 2, 1 << GET | 1 << GET_TABLE);

	agents_begin(state);
	file = vb_agents_file_open(agents);
	r.rmpp_version = 1;
	assert_int_equal(registered(file, r), 0);
	for (size_t i = 0; i < sizeof message; i++)
		message[i] = (uint8_t)(i * 31 + i / 256);
	return 0;
}

static int write_message(struct vb_mad_hdr h, uint32_t len, uint32_t timeout_ms, uint32_t retries)
{
	struct vb_rmpp r = {.version = 1, .type = VB_RMPP_DATA, .flags = VB_RMPP_ACTIVE};
	struct vb_mad_message m = {
	    .timeout_ms = timeout_ms, .retries = retries, .len = len, .addr = peer, .mad = message};

	vb_mad_hdr_emit(&h, message);
	vb_rmpp_emit(&r, message);
	return vb_agents_write(agents, file, &m);
}

/* The next MAD that leaves, of this type and segment; its payload length or window is given back.
 */
static uint32_t expect_out(uint8_t type, uint32_t segment, uint8_t flags)
{
	struct vb_rmpp r;

	assert_true(transmitted());
	vb_rmpp_parse(&r, out.mad);
	assert_int_equal(r.version, 1);
	assert_int_equal(r.type, type);
	assert_int_equal(r.segment, segment);
	assert_int_equal(r.flags, VB_RMPP_ACTIVE | flags);
	assert_int_equal(out.addr.lid, PEER_LID);
	assert_int_equal(out.addr.sl, 3);
	assert_int_equal(out.addr.pkey_index, 2);
	return type == VB_RMPP_ABORT || type == VB_RMPP_STOP ? r.status : r.length;
}

static void expect_segment(uint32_t segment, uint32_t cnt, uint32_t len)
{
	uint8_t flags = (segment == 1 ? VB_RMPP_FIRST : 0) | (segment == cnt ? VB_RMPP_LAST : 0);
	uint32_t at = HDR + (segment - 1) * ROOM, room = len - at < ROOM ? len - at : ROOM;

	expect_out(VB_RMPP_DATA, segment, flags);
	assert_memory_equal(out.mad, message, 8);
	assert_memory_equal(out.mad + 36, message + 36, HDR - 36); /* SA's own header */
	assert_memory_equal(out.mad + HDR, message + at, room);
	for (uint32_t i = HDR + room; i < VB_MAD_LEN; i++)
		assert_int_equal(out.mad[i], 0);
}

/* A MAD of RMPP from the peer. */
static bool rmpp_came(struct vb_mad_hdr h, struct vb_rmpp r)
{
	mad_make(mad, h);
	r.version = r.version ? r.version : 1;
	r.flags |= VB_RMPP_ACTIVE;
	vb_rmpp_emit(&r, mad);
	if (r.type == VB_RMPP_DATA)
		memset(mad + HDR, (int)(r.segment & 0xff), ROOM);
	return vb_agents_handle(agents, false, &peer, mad, now);
}

static bool ack_came(struct vb_mad_hdr h, uint32_t segment, uint32_t window)
{
	h.method ^= VB_MAD_METHOD_RESPONSE;
	return rmpp_came(
	    h, (struct vb_rmpp){.type = VB_RMPP_ACK, .segment = segment, .length = window});
}

static bool data_came(struct vb_mad_hdr h, uint32_t segment, uint32_t cnt, uint32_t length)
{
	return rmpp_came(h, (struct vb_rmpp){.type = VB_RMPP_DATA,
					     .segment = segment,
					     .flags = (segment == 1 ? VB_RMPP_FIRST : 0) |
						      (segment == cnt ? VB_RMPP_LAST : 0),
					     .length = length});
}

static struct vb_mad_hdr response_header(void)
{
	return header(SA, 2, GET_TABLE_RESP, 0x11, 0x0000004200000001);
}

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

/* MAD-19: retries begin behind the last ACK, which gives all of them back; then the writer is told.
 */
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
	assert_false(transmitted());
	assert_int_equal(vb_agents_peek(agents, file)->status, ETIMEDOUT);
	assert_int_equal(vb_agents_peek(agents, file)->len, 24);
	assert_true(mad_header(vb_agents_peek(agents, file)->mad).tid == h.tid);
	assert_true(vb_agents_poll_timeout(agents) == VB_NEVER);
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
	    cmocka_unit_test_setup_teardown(send__windows, rmpp_begin, agents_end),
	    cmocka_unit_test_setup_teardown(send__one_segment, rmpp_begin, agents_end),
	    cmocka_unit_test_setup_teardown(send__retries, rmpp_begin, agents_end),
	    cmocka_unit_test_setup_teardown(send__what_is_missing, rmpp_begin, agents_end),
	    cmocka_unit_test_setup_teardown(send__a_request, rmpp_begin, agents_end),
	    cmocka_unit_test_setup_teardown(send__is_ended, rmpp_begin, agents_end),
	    cmocka_unit_test_setup_teardown(send__an_answer_to_many, rmpp_begin, agents_end),
	    cmocka_unit_test_setup_teardown(receive__windows, rmpp_begin, agents_end),
	    cmocka_unit_test_setup_teardown(receive__in_any_order, rmpp_begin, agents_end),
	    cmocka_unit_test_setup_teardown(receive__takes_too_long, rmpp_begin, agents_end),
	    cmocka_unit_test_setup_teardown(receive__contradictions, rmpp_begin, agents_end),
	    cmocka_unit_test_setup_teardown(receive__holds_the_request, rmpp_begin, agents_end),
	    cmocka_unit_test_setup_teardown(receive__from_hostile_peers, rmpp_begin, agents_end),
	    cmocka_unit_test_setup_teardown(user__rmpp, rmpp_begin, agents_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
