/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests that come before their listener: they wait for it a while, and are refused then. */
#include "cm_env.h"

#define WAIT (20 * VB_MSEC)

/* Host 1 lets requests wait. */
static void open_waiting(struct cm_net *n)
{
	struct cm_host *h = &n->host[1];

	cm_open(n, 100 * VB_MSEC);
	vb_cm_destroy(h->cm);
	h->cfg.listen_wait_ns = WAIT;
	assert_int_equal(vb_cm_create(&h->cm, &h->cfg), 0);
}

static struct vb_cm_conn *send_req(struct cm_net *n)
{
	struct vb_cm_request r = cm_request(&n->host[0], &n->host[1]);
	struct vb_cm_conn *c = cm_conn(&n->host[0]);

	assert_int_equal(vb_cm_connect(c, &r, n->now), 0);
	cm_settle(n);
	return c;
}

static struct vb_cm_conn *send_sidr_req(struct cm_net *n)
{
	struct vb_cm_sidr_request r = {.path = cm_path(&n->host[0], &n->host[1]),
				       .service_id = CM_SERVICE,
				       .pkey = 0xffff,
				       .cm_timeout = CM_CODE,
				       .max_cm_retries = 15};
	struct vb_cm_conn *c = cm_conn(&n->host[0]);

	assert_int_equal(vb_cm_sidr_request(c, &r, n->now), 0);
	cm_settle(n);
	return c;
}

/* CMP-17, CMP-24 */
static void request__is_refused_when_nobody_has_listened(void **state)
{
	struct cm_net n;

	(void)state;
	open_waiting(&n);
	send_req(&n);
	send_sidr_req(&n);
	assert_int_equal(n.sent_cnt, 2);
	assert_int_equal(vb_cm_poll_timeout(n.host[1].cm), n.now + WAIT);
	cm_advance(&n, WAIT - 1);
	assert_int_equal(n.sent_cnt, 2);
	cm_advance(&n, 1);
	assert_int_equal(n.sent_cnt, 4);
	assert_int_equal(cm_message(&n.host[0], VB_CM_REJ).msg.rej.reason,
			 VB_CM_REJ_INVALID_SERVICE_ID);
	assert_int_equal(cm_message(&n.host[0], VB_CM_SIDR_REP).msg.sidr_rep.status,
			 VB_CM_SIDR_UNSUPPORTED);
	assert_int_equal(vb_cm_poll_timeout(n.host[1].cm), VB_NEVER);
	cm_close(&n);
}

/* Another service's listener changes nothing. */
static void request__goes_to_a_listener_that_comes(void **state)
{
	struct cm_net n;
	struct vb_cm_conn *listener;
	struct vb_cm_event ev;

	(void)state;
	open_waiting(&n);
	send_req(&n);
	send_sidr_req(&n);
	cm_advance(&n, WAIT / 2);
	assert_int_equal(vb_cm_listen(cm_conn(&n.host[1]), CM_SERVICE + 1), 0);
	assert_int_equal(vb_cm_poll_timeout(n.host[1].cm), n.now + WAIT / 2);
	listener = cm_listener(&n.host[1]);
	assert_true(vb_cm_poll_timeout(n.host[1].cm) <= n.now);
	cm_advance(&n, 0);
	ev = cm_message(&n.host[1], VB_CM_REQ);
	assert_ptr_equal(ev.listener, listener);
	assert_int_equal(vb_cm_conn_state(ev.conn), VB_CM_STATE_REQ_RCVD);
	ev = cm_message(&n.host[1], VB_CM_SIDR_REQ);
	assert_ptr_equal(ev.listener, listener);
	cm_no_event(&n.host[1]);
	assert_int_equal(n.sent_cnt, 2);
	cm_close(&n);
}

/* The listener has gone again before the request was given to it. */
static void request__is_refused_when_the_listener_is_gone(void **state)
{
	struct cm_net n;

	(void)state;
	open_waiting(&n);
	send_req(&n);
	vb_cm_conn_destroy(cm_listener(&n.host[1]), n.now);
	cm_advance(&n, 0);
	cm_message(&n.host[0], VB_CM_REJ);
	cm_no_event(&n.host[1]);
	cm_close(&n);
}

/* A request that is repeated waits once; one that its sender gives up is forgotten. */
static void request__of_one_sender_waits_once(void **state)
{
	struct cm_net n;
	struct cm_sent other;
	struct vb_cm_conn *c;

	(void)state;
	open_waiting(&n);
	c = send_req(&n);
	cm_deliver(&n, &n.sent[0]);
	assert_int_equal(
	    vb_cm_port_counters(n.host[1].cm)[1].rx_duplicates[VB_CM_REQ - VB_CM_ATTR_FIRST], 1);
	/* The same ID of another sender is another request. */
	other = n.sent[0];
	other.path.sgid.b[15] ^= 0x40;
	cm_deliver(&n, &other);
	vb_cm_conn_destroy(c, n.now);
	cm_settle(&n);
	assert_int_equal(cm_sent_by(&n, &n.host[0], VB_CM_REJ), 1);
	assert_int_equal(vb_cm_counters(n.host[1].cm)->rx_unmatched, 0);
	cm_listener(&n.host[1]);
	cm_advance(&n, WAIT);
	/* That of the other sender, whose path does not lead to its GID, is left, and refused. */
	cm_no_event(&n.host[1]);
	assert_int_equal(cm_sent_by(&n, &n.host[1], VB_CM_REJ), 1);
	assert_int_equal(cm_last(&n, VB_CM_REJ)->path.dgid.b[15], other.path.sgid.b[15]);
	cm_close(&n);
}

/* No more than 32 wait, whoever sends them; the next one is refused at once. */
static void request__beyond_the_places_is_refused(void **state)
{
	struct cm_net n;
	struct cm_sent s;

	(void)state;
	open_waiting(&n);
	send_req(&n);
	s = n.sent[0];
	for (uint32_t i = 1; i < 32; i++) {
		s.msg.local_id = 0x1000 + i;
		vb_cm_msg_emit(&s.msg, s.mad);
		cm_deliver(&n, &s);
	}
	cm_settle(&n);
	assert_int_equal(n.sent_cnt, 1);
	s.msg.local_id = 0x2000;
	vb_cm_msg_emit(&s.msg, s.mad);
	cm_deliver(&n, &s);
	cm_settle(&n);
	assert_int_equal(n.sent_cnt, 2);
	assert_int_equal(n.sent[1].msg.remote_id, s.msg.local_id);
	cm_advance(&n, WAIT);
	assert_int_equal(cm_sent_by(&n, &n.host[1], VB_CM_REJ), 33);
	cm_close(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(request__is_refused_when_nobody_has_listened),
	    cmocka_unit_test(request__goes_to_a_listener_that_comes),
	    cmocka_unit_test(request__is_refused_when_the_listener_is_gone),
	    cmocka_unit_test(request__of_one_sender_waits_once),
	    cmocka_unit_test(request__beyond_the_places_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
