/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How ids stand for those who look on: listeners, requests that wait, what refused them, what never
 * answered, and which ended ones are kept; and the words for it. CMP-17, CMP-24
 */
#include "explain/connection.h"
#include "ucma_env.h"

static struct ucma_net net;
static struct vb_ucma_file *client, *server;
static struct vb_ucma_view view[256];
static uint32_t next_qpn;
static struct vb_explanation why;

static int setup(void **state)
{
	(void)state;
	ucma_open(&net);
	next_qpn = 0x41;
	client = ucma_file(&net.host[0]);
	server = ucma_file(&net.host[1]);
	vb_ucma_file_set_user(client, 4711, "client");
	vb_ucma_file_set_user(server, 4712, "a name that is too long");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	ucma_close(&net);
	return 0;
}

static uint32_t views(int host)
{
	return vb_ucma_views(net.host[host].u, view, 256);
}

/* The only view of the host, which is explained in these words. */
static void expect(int host, enum vb_explain_rank rank, const char *cause, const char *words)
{
	assert_int_equal(views(host), 1);
	vb_explain_connection(&view[0], net.now, &why);
	if (why.rank != rank || strcmp(why.cause, cause) != 0 || !strstr(why.what.text[0], words))
		fail_msg("%s, %s: %s", vb_rank_name(why.rank), why.cause, why.what.text[0]);
}

static uint32_t connecting(void)
{
	uint32_t id = ucma_routed(&net, client, 0x200, VB_UCMA_PS_TCP, 2, true);

	assert_int_equal(ucma_connect(&net, client, id, next_qpn++, "hello"), 0);
	return id;
}

static void listener__its_backlog(void **state)
{
	(void)state;
	(void)ucma_listener(&net, server, VB_UCMA_PS_TCP, 2, true);
	expect(1, VB_RANK_WELL, "listens", "Listens at 10.0.0.2:7174: backlog 3, 0 requests");
	assert_int_equal(view[0].pid, 4712);
	assert_string_equal(view[0].user, "a name that is ");
	assert_string_equal(vb_word_role(&view[0]), "listener");
	assert_string_equal(vb_word_cm_state(&view[0]), "LISTEN");
	for (int i = 0; i < 5; i++)
		(void)connecting();
	/* Three wait; two were dropped as lost, once each so far. CMP-36 */
	assert_int_equal(views(1), 4);
	for (int i = 0; i < 4; i++) {
		if (!view[i].is_listener) {
			assert_int_equal(view[i].is_unread, 1);
			continue;
		}
		assert_int_equal(view[i].waiting, 3);
		assert_int_equal(view[i].dropped, 2);
		vb_explain_connection(&view[i], net.now, &why);
		assert_non_null(strstr(why.what.text[0], "full for 2 requests"));
		assert_int_equal(why.rank, VB_RANK_TROUBLED);
	}
}

static void request__waits_for_an_answer(void **state)
{
	(void)state;
	net.lose = 1; /* the REQ, attribute VB_CM_ATTR_FIRST */
	(void)connecting();
	expect(0, VB_RANK_WAITING, "no-answer",
	       "REQ to 10.0.0.2:7174 waits for an answer: sent 1 ");
	assert_int_equal(view[0].since, net.now);
	ucma_advance(&net, 10 * VB_SEC);
	expect(0, VB_RANK_STUCK, "no-answer", "sent 3 times, first 10.00 s ago; it goes again");
	assert_int_equal(view[0].local_qpn, 0x41);
	assert_int_equal(view[0].hca_port, 1);
	assert_string_equal(vb_word_role(&view[0]), "client");
	assert_string_equal(vb_word_cm_state(&view[0]), "REQ_SENT");
	ucma_advance(&net, 200 * VB_SEC);
	expect(0, VB_RANK_FAILED, "unreachable", "was sent 16 times in 73.7");
	assert_string_equal(vb_word_cm_state(&view[0]), "ENDED");
}

/* CMP-17 */
static void request__is_rejected(void **state)
{
	uint32_t id = connecting();

	(void)state;
	expect(0, VB_RANK_FAILED, "rejected",
	       "10.0.0.2 rejected it: REJ 8, invalid service ID. No program listens at "
	       "10.0.0.2:7174 (TCP port space).");
	/* It is kept when its program has gone. */
	ucma_destroy(&net, client, id);
	net.now += VB_SEC;
	expect(0, VB_RANK_FAILED, "rejected", "That was 1.000 s ago.");
	assert_int_equal(view[0].is_gone, 1);
	assert_int_equal(view[0].pid, 4711);
	assert_string_equal(vb_word_cm_state(&view[0]), "gone");
}

static void request__is_refused_by_the_program(void **state)
{
	uint32_t listener = ucma_listener(&net, server, VB_UCMA_PS_TCP, 2, true);
	struct vb_ucma_reject r = {0};

	(void)state;
	(void)connecting();
	r.id = ucma_event(&net, server, VB_UCMA_EV_CONNECT_REQUEST).id;
	expect(0, VB_RANK_WAITING, "no-answer", "REQ to");
	assert_int_equal(UCMA_CALL(&net, server, VB_UCMA_REJECT, r), 0);
	expect(0, VB_RANK_FAILED, "rejected",
	       "REJ 28, rejected by the consumer. The program at 10.0.0.2:7174 refused");
	ucma_destroy(&net, server, listener);
	expect(1, VB_RANK_WELL, "rejected-here", "refused the request of 10.0.0.1:");
}

/* CMP-24 */
static void sidr__is_refused(void **state)
{
	uint32_t id = ucma_routed(&net, client, 0x200, VB_UCMA_PS_UDP, 4, true);

	(void)state;
	assert_int_equal(ucma_connect(&net, client, id, 0x41, ""), 0);
	expect(0, VB_RANK_FAILED, "rejected", "SIDR_REP status 1, no program listens there");
	assert_string_equal(vb_word_port_space(view[0].ps), "UDP");
}

static void connection__from_request_to_end(void **state)
{
	uint32_t listener = ucma_listener(&net, server, VB_UCMA_PS_TCP, 2, false), passive, active;

	(void)state;
	active = ucma_routed(&net, client, 0x200, VB_UCMA_PS_TCP, 2, false);
	assert_int_equal(ucma_connect(&net, client, active, 0x41, ""), 0);
	passive = ucma_event(&net, server, VB_UCMA_EV_CONNECT_REQUEST).id;
	ucma_destroy(&net, server, listener);
	expect(1, VB_RANK_WAITING, "undecided", "neither accepted nor rejected");
	assert_int_equal(ucma_accept(&net, server, passive, 0x300, 0x42, ""), 0);
	expect(1, VB_RANK_WAITING, "no-answer", "REP to [fd00::1]:");
	expect(0, VB_RANK_WAITING, "connecting", "[fd00::2]:7174 has accepted");
	assert_int_equal(ucma_ready(&net, client, active), 0);
	expect(0, VB_RANK_WELL, "established", "Connected with [fd00::2]:7174, QP 0x000042 there.");
	expect(1, VB_RANK_WELL, "established", "QP 0x000041 there.");
	assert_int_equal(view[0].local_qpn, 0x42);
	assert_string_equal(vb_word_role(&view[0]), "server");
	assert_int_equal(ucma_disconnect(&net, client, active), 0);
	expect(1, VB_RANK_WELL, "disconnected", "disconnected. It waits for the program to do so");
	assert_int_equal(ucma_disconnect(&net, server, passive), 0);
	expect(0, VB_RANK_WELL, "disconnected", "The program disconnected from [fd00::2]:7174.");
	ucma_destroy(&net, client, active);
	ucma_destroy(&net, server, passive);
	expect(0, VB_RANK_WELL, "disconnected", "The program disconnected");
	expect(1, VB_RANK_WELL, "disconnected", "]:");
}

static void given_up__while_it_waits(void **state)
{
	uint32_t id;

	(void)state;
	net.lose = 1; /* the REQ, attribute VB_CM_ATTR_FIRST */
	id = connecting();
	ucma_destroy(&net, client, id);
	expect(0, VB_RANK_WELL, "given-up", "in the state REQ_SENT: REQ to 10.0.0.2:7174 had no");
	/* Of an id that never connected nothing is kept. */
	ucma_destroy(&net, client, ucma_id(&net, client, 1, VB_UCMA_PS_TCP, 2));
	assert_int_equal(views(0), 1);
}

/* A program that gives up after a request had to be sent again has failed to connect. */
static void given_up__without_an_answer(void **state)
{
	uint32_t id;

	(void)state;
	net.lose = 1;
	id = connecting();
	ucma_advance(&net, 10 * VB_SEC);
	ucma_destroy(&net, client, id);
	expect(0, VB_RANK_FAILED, "given-up", "had no answer yet, sent 3 times");
	assert_non_null(strstr(why.advice.text[0], "whether 10.0.0.2 is up"));
}

/* A thousand that end well push out no failure, and what is kept is bounded. */
static void past__is_bounded(void **state)
{
	uint32_t id = connecting(), failed = 0;

	(void)state;
	ucma_destroy(&net, client, id);
	net.lose = 1; /* the REQ, attribute VB_CM_ATTR_FIRST */
	for (int i = 0; i < 1000; i++)
		ucma_destroy(&net, client, connecting());
	assert_int_equal(views(0), 1 + VB_UCMA_PAST);
	for (uint32_t i = 0; i < 1 + VB_UCMA_PAST; i++)
		failed += view[i].end == VB_UCMA_END_REJECTED;
	assert_int_equal(failed, 1);
	/* Where there is less room, what has something to tell comes first. */
	(void)ucma_id(&net, client, 1, VB_UCMA_PS_TCP, 2);
	(void)connecting();
	assert_int_equal(vb_ucma_views(net.host[0].u, view, 1), 3 + VB_UCMA_PAST);
	assert_int_equal(view[0].cm_state, VB_CM_STATE_REQ_SENT);
}

/* Bytes that another program wrote: every number is explained, none trusted. */
static void words__of_any_bytes(void **state)
{
	uint8_t *bytes = (uint8_t *)&view[0];

	(void)state;
	for (int fill = 0; fill < 256; fill++) {
		memset(bytes, fill, sizeof view[0]);
		vb_explain_connection(&view[0], net.now, &why);
		assert_non_null(vb_word_role(&view[0]));
		assert_non_null(vb_word_cm_state(&view[0]));
		assert_non_null(vb_word_port_space(view[0].ps));
		view[0].is_listener = view[0].is_gone = 0;
		view[0].end = VB_UCMA_END_NONE;
		vb_explain_connection(&view[0], net.now, &why);
		assert_non_null(vb_word_cm_state(&view[0]));
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
	    T(listener__its_backlog),    T(request__waits_for_an_answer),
	    T(request__is_rejected),     T(request__is_refused_by_the_program),
	    T(sidr__is_refused),         T(connection__from_request_to_end),
	    T(given_up__while_it_waits), T(given_up__without_an_answer),
	    T(past__is_bounded),         T(words__of_any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
