/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The responses that the broker takes for an answer to an observer's question, and those that it
 * does not: a response is another host's word, or that of somebody who guesses. IBA 13.4.6.4
 */
#include "node/broker/state.h"

#include "cmocka_env.h"
#include "wire/mad/vendor.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define TID UINT64_C(0x123456789abcdef1)

static struct vb_broker *b;
static int observer;

static int setup(void **state)
{
	int pair[2];

	(void)state;
	b = calloc(1, sizeof *b);
	assert_non_null(b);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	observer = pair[1];
	b->conn[3] = (struct vb_conn){
	    .in_use = true, .kind = VB_CONN_OBSERVER, .sock = pair[0], .since = 42};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	close(b->conn[3].sock);
	close(observer);
	free(b);
	return 0;
}

static struct vb_broker_ask question(void)
{
	const struct vb_vendor_msg m = {.attr = VB_VENDOR_ADAPTER};
	struct vb_broker_ask a = {.path = {.port = 1, .dgid.b = {[15] = 7}},
				  .len = VB_MAD_LEN,
				  .attempts = 2,
				  .timeout = VB_SEC};

	vb_vendor_emit(&m, a.mad);
	return a;
}

/* A question is out since 1 s. */
static struct vb_ask *ask_out(void)
{
	struct vb_ask *q = &b->asks.ask[5];

	*q = (struct vb_ask){.tid = TID,
			     .conn = 3,
			     .since = 42,
			     .tag = 17,
			     .left = 0,
			     .due = 2 * VB_SEC,
			     .sent = VB_SEC,
			     .a = question()};
	return q;
}

/* The status that the observer hears; 1: it hears nothing. */
static int heard(struct vb_broker_msg *m)
{
	struct vb_fds fds;

	if (vb_broker_msg_recv(observer, m, &fds, MSG_DONTWAIT) != 1)
		return 1;
	assert_int_equal(m->op, VB_BROKER_DONE);
	return m->status;
}

static int answer_heard(const struct vb_vendor_msg *m, uint8_t port, uint8_t from, uint8_t class)
{
	struct vb_path path = {.port = port, .sgid.b = {[15] = from}};
	uint8_t mad[VB_MAD_LEN];
	struct vb_broker_msg said;
	int rc;

	vb_vendor_emit(m, mad);
	mad[1] = class;
	vb_asks_take_mad(b, &path, mad, VB_MAD_LEN, VB_SEC + 1000);
	rc = heard(&said);
	if (rc == 0) {
		assert_int_equal(said.slot, 17);
		assert_int_equal(said.ask.round_trip, 1000);
		assert_memory_equal(said.ask.mad, mad, VB_MAD_LEN);
	}
	return rc;
}

static void answer__of_who_was_asked(void **state)
{
	struct vb_vendor_msg m = {.is_response = true, .tid = TID, .attr = VB_VENDOR_ADAPTER};

	(void)state;
	ask_out();
	m.tid++;
	assert_int_equal(answer_heard(&m, 1, 7, VB_MAD_CLASS_VERBENA), 1);
	m.tid = 0; /* that of the places that are free */
	assert_int_equal(answer_heard(&m, 1, 7, VB_MAD_CLASS_VERBENA), 1);
	m.tid = TID;
	assert_int_equal(answer_heard(&m, 2, 7, VB_MAD_CLASS_VERBENA), 1);
	assert_int_equal(answer_heard(&m, 1, 8, VB_MAD_CLASS_VERBENA), 1);
	assert_int_equal(answer_heard(&m, 1, 7, VB_MAD_CLASS_VERBENA + 1), 1);
	m.attr = VB_VENDOR_QP;
	assert_int_equal(answer_heard(&m, 1, 7, VB_MAD_CLASS_VERBENA), 1);
	m.attr = VB_VENDOR_ADAPTER;
	assert_int_equal(answer_heard(&m, 1, 7, VB_MAD_CLASS_VERBENA), 0);
	/* Once. */
	assert_int_equal(answer_heard(&m, 1, 7, VB_MAD_CLASS_VERBENA), 1);
	m.tid = 0;
	assert_int_equal(answer_heard(&m, 1, 7, VB_MAD_CLASS_VERBENA), 1);
	assert_int_equal(vb_asks_due(&b->asks), VB_NEVER);
}

/* The observer has gone, and another connection has its place. */
static void answer__to_who_has_gone(void **state)
{
	struct vb_vendor_msg m = {.is_response = true, .tid = TID, .attr = VB_VENDOR_ADAPTER};
	struct vb_conn *c = &b->conn[3];

	(void)state;
	for (int i = 0; i < 3; i++) {
		ask_out();
		c->since = i == 0 ? 43 : 42;
		c->in_use = i != 1;
		c->kind = i == 2 ? VB_CONN_CLIENT : VB_CONN_OBSERVER;
		assert_int_equal(answer_heard(&m, 1, 7, VB_MAD_CLASS_VERBENA), 1);
		assert_int_equal(vb_asks_due(&b->asks), VB_NEVER);
	}
}

/* In time it is given up. Without an adapter there is nothing to wait for. */
static void answer__that_does_not_come(void **state)
{
	struct vb_broker_msg m;

	(void)state;
	ask_out();
	assert_int_equal(vb_asks_due(&b->asks), 2 * VB_SEC);
	vb_asks_timeouts(b, 2 * VB_SEC - 1);
	assert_int_equal(heard(&m), 1);
	vb_asks_timeouts(b, 2 * VB_SEC);
	assert_int_equal(heard(&m), -ETIMEDOUT);
	assert_int_equal(m.slot, 17);
	ask_out()->left = 1;
	vb_asks_timeouts(b, 2 * VB_SEC);
	assert_int_equal(heard(&m), -ENOTCONN);
	assert_int_equal(vb_asks_due(&b->asks), VB_NEVER);
}

/* Questions that cannot be sent, and one too many. */
static void question__is_refused(void **state)
{
	struct vb_broker_msg m, said;

	(void)state;
	for (int i = 0; i < 8; i++) {
		vb_broker_msg_init(&m, VB_BROKER_ASK);
		m.slot = 9;
		m.ask = question();
		if (i == 1)
			m.ask.len = VB_MAD_LEN - 4;
		if (i == 2)
			m.ask.len = VB_GSI_MESSAGE_MAX + 4;
		if (i == 3)
			m.ask.len = VB_MAD_LEN + 2;
		if (i == 4)
			m.ask.attempts = 0;
		if (i == 5)
			m.ask.attempts = VB_BROKER_ATTEMPTS_MAX + 1;
		if (i == 6)
			m.ask.timeout = 6 * VB_SEC;
		for (int n = 0; i == 7 && n < VB_ASKS_MAX; n++)
			b->asks.ask[n].tid = 1;
		vb_asks_begin(b, &b->conn[3], &m, VB_SEC);
		assert_int_equal(heard(&said), i == 0 ? -ENOTCONN : i == 7 ? -EAGAIN : -EINVAL);
		assert_int_equal(said.slot, 9);
	}
}

/* Whether a question with one thing changed is taken, as far as it goes without an adapter. */
static int asked(const struct vb_broker_ask *a)
{
	struct vb_broker_msg m, said;

	vb_broker_msg_init(&m, VB_BROKER_ASK);
	m.slot = 9;
	m.ask = *a;
	vb_asks_begin(b, &b->conn[3], &m, VB_SEC);
	m.status = heard(&said);
	assert_int_equal(said.slot, 9);
	return m.status;
}

/* Up to its bounds a question is right. */
static void question__at_its_bounds(void **state)
{
	struct vb_broker_ask a = question();

	(void)state;
	a.len = VB_GSI_MESSAGE_MAX;
	a.attempts = VB_BROKER_ATTEMPTS_MAX;
	a.timeout = 5 * VB_SEC;
	assert_int_equal(asked(&a), -ENOTCONN);
	a.timeout++;
	assert_int_equal(asked(&a), -EINVAL);
	a = question();
	a.attempts = 1;
	a.timeout = 0;
	assert_int_equal(asked(&a), -ENOTCONN);
	a.len = VB_MAD_LEN + 4;
	assert_int_equal(asked(&a), -ENOTCONN);
	/* The last place is as good as any, and free again after each that failed. */
	for (int n = 0; n < VB_ASKS_MAX - 1; n++)
		b->asks.ask[n].tid = 1;
	for (int n = 0; n < 2; n++)
		assert_int_equal(asked(&a), -ENOTCONN);
	assert_int_equal(b->asks.ask[VB_ASKS_MAX - 1].tid, 0);
}

/* Of several questions each has its own time, and the next one that is due counts. */
static void question__several_are_due(void **state)
{
	struct vb_broker_msg m;

	(void)state;
	b->asks.ask[0] = *ask_out();
	b->asks.ask[0].tag = 18;
	b->asks.ask[VB_ASKS_MAX - 1] = *ask_out();
	b->asks.ask[VB_ASKS_MAX - 1].due = 3 * VB_SEC;
	b->asks.ask[VB_ASKS_MAX - 1].tag = 19;
	ask_out()->due = VB_SEC;
	for (uint32_t i = 1; i <= 3; i++) {
		static const uint32_t tags[] = {17, 18, 19};

		assert_int_equal(vb_asks_due(&b->asks), i * VB_SEC);
		vb_asks_timeouts(b, i * VB_SEC);
		assert_int_equal(heard(&m), -ETIMEDOUT);
		assert_int_equal(m.slot, tags[i - 1]);
		assert_int_equal(heard(&m), 1);
	}
	assert_int_equal(vb_asks_due(&b->asks), VB_NEVER);
}

/* A socket that programs connect to, and its name. */
static int listener_open(struct sockaddr_un *a, socklen_t *len)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);

	*a = (struct sockaddr_un){.sun_family = AF_UNIX};
	*len = sizeof *a;
	/* The kernel chooses the name. unix(7), autobind */
	assert_int_equal(bind(fd, (struct sockaddr *)a, sizeof a->sun_family), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)a, len), 0);
	assert_int_equal(listen(fd, 4), 0);
	return fd;
}

/* A process that connects where the table is full is turned away; and one whose connection the loop
 * cannot watch is told so. Neither keeps a place. */
static void connections__as_many_as_the_table(void **state)
{
	struct sockaddr_un a;
	struct vb_broker_msg m;
	struct vb_fds fds;
	socklen_t len;
	char byte;
	int sock;

	(void)state;
	b->listen_fd = listener_open(&a, &len);
	b->epoll_fd = -1;
	for (uint32_t i = 1; i < VB_CONNS_MAX; i++)
		assert_non_null(vb_conn_new(b, -1, 0));
	assert_null(vb_conn_new(b, -1, 0));
	for (int i = 0; i < 2; i++) {
		sock = socket(AF_UNIX, SOCK_SEQPACKET, 0);
		assert_int_equal(connect(sock, (struct sockaddr *)&a, len), 0);
		vb_conn_accept(b, VB_SEC);
		if (i == 0) {
			assert_int_equal(recv(sock, &byte, 1, 0), 0);
			vb_conn_close(b, &b->conn[7]);
		} else {
			assert_int_equal(vb_broker_msg_recv(sock, &m, &fds, 0), 1);
			assert_int_equal(m.status, -ENOMEM);
			assert_int_equal(recv(sock, &byte, 1, 0), 0);
			assert_false(b->conn[7].in_use);
		}
		assert_int_equal(b->conn_cnt, 0);
		close(sock);
	}
	close(b->listen_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(answer__of_who_was_asked, setup, teardown),
	    cmocka_unit_test_setup_teardown(answer__to_who_has_gone, setup, teardown),
	    cmocka_unit_test_setup_teardown(answer__that_does_not_come, setup, teardown),
	    cmocka_unit_test_setup_teardown(question__is_refused, setup, teardown),
	    cmocka_unit_test_setup_teardown(question__at_its_bounds, setup, teardown),
	    cmocka_unit_test_setup_teardown(question__several_are_due, setup, teardown),
	    cmocka_unit_test_setup_teardown(connections__as_many_as_the_table, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
