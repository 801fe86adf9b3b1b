/* SPDX-License-Identifier: BSD-2-Clause */
/* The connection manager makes connections: REQ, REP, RTU, MRA, their repetition and refusal.
 * IBA 12.9 */
#include "cm_env.h"

/* The facts that both ends know at the end: CMP-02 CMP-03 CMP-04 CMP-05 CMP-06 CMP-10 */
static void connect__both_ends_know_each_other(void **state)
{
	struct cm_net n;
	struct cm_pair p;
	const struct vb_cm_qp *a, *b;
	const struct vb_cm_msg *req, *rep;

	(void)state;
	cm_open(&n, 0);
	p = cm_established(&n);
	cm_assert_states(&p, VB_CM_STATE_ESTABLISHED, VB_CM_STATE_ESTABLISHED);
	assert_int_equal(n.sent_cnt, 3);
	req = &cm_last(&n, VB_CM_REQ)->msg;
	rep = &cm_last(&n, VB_CM_REP)->msg;

	/* CMP-02: the transaction is the active side's. */
	assert_int_equal(req->tid, UINT64_C(2) << 32 | vb_cm_conn_id(p.active));
	assert_int_equal(rep->tid, req->tid);
	assert_int_equal(cm_last(&n, VB_CM_RTU)->msg.tid, req->tid);
	assert_int_equal(rep->local_id, vb_cm_conn_id(p.passive));
	assert_int_equal(rep->remote_id, vb_cm_conn_id(p.active));

	/* CMP-03: routed, so LIDs say nothing. */
	assert_int_equal(req->req.primary.local_lid, 0xffff);
	assert_int_equal(req->req.primary.subnet_local, 0);
	assert_int_equal(req->req.max_cm_retries, 15);
	assert_int_equal(req->req.local_cm_timeout, CM_CODE);

	a = vb_cm_conn_qp(p.active);
	b = vb_cm_conn_qp(p.passive);
	/* CMP-04: each side sends with the PSN that the other expects. */
	assert_int_equal(a->sq_psn.v, 0x112233);
	assert_int_equal(b->sq_psn.v, 0x0803c2);
	assert_int_equal(a->rq_psn.v, b->sq_psn.v);
	assert_int_equal(b->rq_psn.v, a->sq_psn.v);
	/* CMP-05: one end takes as many requests at once as the other sends at once. */
	assert_int_equal(a->initiator_depth, 2);
	assert_int_equal(a->responder_resources, 1);
	assert_int_equal(b->responder_resources, 2);
	assert_int_equal(b->initiator_depth, 1);
	assert_int_equal(a->remote_qpn, 0x42);
	assert_int_equal(b->remote_qpn, 0x41);
	assert_int_equal(a->rnr_retry, 7);
	assert_int_equal(b->rnr_retry, 4);
	assert_int_equal(b->retry_cnt, 6);
	assert_int_equal(b->mtu, 5);
	/* CMP-06: both wait for the peer's delay and the way there and back. */
	assert_int_equal(b->ack_timeout, 17);
	assert_int_equal(a->ack_timeout, 17);
	assert_true(vb_gid_eq(&b->path.dgid, &n.host[0].gid));
	assert_int_equal(b->path.flow_label, 0xfbb06);
	assert_int_equal(b->path.traffic_class, 0x20);
	cm_close(&n);
}

/* CMP-05: until the REP nothing is agreed; the REQ's event says what the peer offers. */
static void reply__may_take_less_than_offered(void **state)
{
	struct cm_net n;
	struct cm_pair p;

	(void)state;
	cm_open(&n, 0);
	p = cm_requested(&n);
	assert_int_equal(vb_cm_conn_qp(p.passive)->responder_resources, 5);
	assert_int_equal(vb_cm_conn_qp(p.passive)->initiator_depth, 3);
	cm_close(&n);
}

/* CMP-10 */
static void ack_timeout__follows_delay_and_lifetime(void **state)
{
	(void)state;
	assert_int_equal(vb_cm_ack_timeout(15, 16), 17);
	assert_int_equal(vb_cm_ack_timeout(15, 18), 19);
	assert_int_equal(vb_cm_ack_timeout(16, 16), 18);
	assert_int_equal(vb_cm_ack_timeout(20, 16), 20);
	assert_int_equal(vb_cm_ack_timeout(18, 16), 19);
	assert_int_equal(vb_cm_ack_timeout(31, 31), 31);
}

/* CMP-08, CMP-09: sixteen times the same bytes, 4608 ms apart, then it is over. */
static void req__is_repeated_as_announced(void **state)
{
	struct cm_net n;
	struct vb_cm_conn *c;
	struct vb_cm_request r;
	struct vb_cm_event ev;

	(void)state;
	cm_open(&n, 0);
	n.lose = cm_bit(VB_CM_REQ);
	r = cm_request(&n.host[0], &n.host[1]);
	c = cm_conn(&n.host[0]);
	assert_int_equal(vb_cm_connect(c, &r, n.now), 0);
	cm_advance(&n, 16 * 4608 * VB_MSEC - 1);
	assert_int_equal(n.sent_cnt, 16);
	for (uint32_t i = 0; i < 16; i++) {
		assert_int_equal(n.sent[i].time, VB_SEC + i * 4608 * VB_MSEC);
		assert_memory_equal(n.sent[i].mad, n.sent[0].mad, VB_MAD_LEN);
	}
	cm_no_event(&n.host[0]);
	cm_advance(&n, 1);
	ev = cm_event(&n.host[0], VB_CM_EVENT_UNREACHABLE);
	assert_ptr_equal(ev.conn, c);
	assert_int_equal(ev.msg.attr, VB_CM_REQ);
	assert_int_equal(n.sent_cnt, 16);
	assert_int_equal(vb_cm_conn_state(c), VB_CM_STATE_IDLE);
	assert_int_equal(vb_cm_port_counters(n.host[0].cm)[1].tx_msgs[0], 16);
	assert_int_equal(vb_cm_port_counters(n.host[0].cm)[1].tx_retries[0], 15);
	cm_close(&n);
}

/* CMP-08: earlier than announced is allowed, and the end does not come earlier for it. */
static void req__is_repeated_early_too(void **state)
{
	static const vb_dur times[] = {0, 100, 300, 700, 1500, 3100, 4608, 4708};
	struct cm_net n;
	struct vb_cm_request r;

	(void)state;
	cm_open(&n, 100 * VB_MSEC);
	n.lose = cm_bit(VB_CM_REQ);
	r = cm_request(&n.host[0], &n.host[1]);
	assert_int_equal(vb_cm_connect(cm_conn(&n.host[0]), &r, n.now), 0);
	cm_advance(&n, 4800 * VB_MSEC);
	assert_int_equal(n.sent_cnt, 8);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(n.sent[i].time, VB_SEC + times[i] * VB_MSEC);
	cm_advance(&n, 15 * 4608 * VB_MSEC - 1 - 192 * VB_MSEC);
	cm_no_event(&n.host[0]);
	cm_advance(&n, 1);
	cm_event(&n.host[0], VB_CM_EVENT_UNREACHABLE);
	cm_close(&n);
}

/* A peer that answers one request after the other has those that wait for their turn, and one that
 * it has left out was lost. */
static void req__that_waits_for_its_turn_is_not_repeated_early(void **state)
{
	struct cm_net n;
	struct vb_cm_conn *c[4];
	struct vb_cm_conn *asked[4] = {NULL};
	struct vb_cm_reply_param reply;

	(void)state;
	cm_open(&n, 100 * VB_MSEC);
	cm_listener(&n.host[1]);
	reply = cm_reply_param(&n.host[1]);
	for (uint32_t i = 0; i < 4; i++) {
		struct vb_cm_request r = cm_request(&n.host[0], &n.host[1]);

		r.qpn += i;
		c[i] = cm_conn(&n.host[0]);
		assert_int_equal(vb_cm_connect(c[i], &r, n.now), 0);
		/* The third one is lost. */
		n.lose = i == 2 ? cm_bit(VB_CM_REQ) : 0;
		cm_settle(&n);
		if (i != 2)
			asked[i] = cm_message(&n.host[1], VB_CM_REQ).conn;
		cm_advance(&n, VB_MSEC);
	}
	/* The answers come at 64, 124 and 244 ms. */
	cm_advance(&n, 60 * VB_MSEC);
	assert_int_equal(vb_cm_reply(asked[0], &reply, n.now), 0);
	cm_advance(&n, 60 * VB_MSEC);
	assert_int_equal(cm_sent_by(&n, &n.host[0], VB_CM_REQ), 4);
	reply.qpn++;
	assert_int_equal(vb_cm_reply(asked[1], &reply, n.now), 0);
	cm_settle(&n);
	cm_message(&n.host[0], VB_CM_REP);
	cm_message(&n.host[0], VB_CM_REP);
	assert_int_equal(vb_cm_ready(c[0], NULL), 0);
	assert_int_equal(vb_cm_ready(c[1], NULL), 0);
	cm_advance(&n, 90 * VB_MSEC);
	assert_int_equal(cm_sent_by(&n, &n.host[0], VB_CM_REQ), 4);
	reply.qpn++;
	assert_int_equal(vb_cm_reply(asked[3], &reply, n.now), 0);
	cm_advance(&n, 90 * VB_MSEC);
	assert_int_equal(cm_sent_by(&n, &n.host[0], VB_CM_REQ), 5);
	assert_int_equal(cm_last(&n, VB_CM_REQ)->msg.req.qpn, 0x43);
	cm_close(&n);
}

/* Nor does one wait for a peer that answers no more. */
static void req__is_repeated_early_when_answers_stop(void **state)
{
	struct cm_net n;
	struct vb_cm_request r;
	struct vb_cm_reply_param reply;
	struct cm_pair p;

	(void)state;
	cm_open(&n, 100 * VB_MSEC);
	p = cm_requested(&n);
	r = cm_request(&n.host[0], &n.host[1]);
	reply = cm_reply_param(&n.host[1]);
	r.qpn++;
	cm_advance(&n, VB_MSEC);
	assert_int_equal(vb_cm_connect(cm_conn(&n.host[0]), &r, n.now), 0);
	cm_advance(&n, 50 * VB_MSEC);
	assert_int_equal(vb_cm_reply(p.passive, &reply, n.now), 0);
	cm_settle(&n);
	cm_message(&n.host[0], VB_CM_REP);
	assert_int_equal(vb_cm_ready(p.active, NULL), 0);
	cm_advance(&n, 140 * VB_MSEC);
	assert_int_equal(cm_sent_by(&n, &n.host[0], VB_CM_REQ), 2);
	cm_advance(&n, 20 * VB_MSEC);
	assert_int_equal(cm_sent_by(&n, &n.host[0], VB_CM_REQ), 3);
	cm_close(&n);
}

/* CMP-08: the REP waits for as long as the REQ told. */
static void rep__is_repeated_as_the_req_told(void **state)
{
	struct cm_net n;
	struct cm_pair p;
	struct vb_cm_reply_param r;

	(void)state;
	cm_open(&n, 0);
	p = cm_requested(&n);
	r = cm_reply_param(&n.host[1]);
	n.lose = cm_bit(VB_CM_REP) | cm_bit(VB_CM_REQ);
	assert_int_equal(vb_cm_reply(p.passive, &r, n.now), 0);
	cm_advance(&n, 16 * 4096 * VB_MSEC);
	assert_int_equal(cm_sent_by(&n, &n.host[1], VB_CM_REP), 16);
	assert_int_equal(cm_event(&n.host[1], VB_CM_EVENT_UNREACHABLE).msg.attr, VB_CM_REP);
	assert_int_equal(vb_cm_conn_state(p.passive), VB_CM_STATE_IDLE);
	cm_close(&n);
}

/* CMP-15: the RTU was lost; the REP that comes again draws another. */
static void rtu__is_sent_again_for_a_duplicate_rep(void **state)
{
	struct cm_net n;
	struct cm_pair p;

	(void)state;
	cm_open(&n, 0);
	p = cm_replied(&n);
	n.lose = cm_bit(VB_CM_RTU);
	assert_int_equal(vb_cm_ready(p.active, NULL), 0);
	cm_settle(&n);
	cm_assert_states(&p, VB_CM_STATE_ESTABLISHED, VB_CM_STATE_REP_SENT);
	n.lose = 0;
	cm_advance(&n, 4096 * VB_MSEC);
	cm_assert_states(&p, VB_CM_STATE_ESTABLISHED, VB_CM_STATE_ESTABLISHED);
	assert_int_equal(cm_sent_by(&n, &n.host[0], VB_CM_RTU), 2);
	cm_message(&n.host[1], VB_CM_RTU);
	cm_no_event(&n.host[0]);
	assert_int_equal(vb_cm_poll_timeout(n.host[1].cm), VB_NEVER);
	cm_close(&n);
}

/* CMP-15: a REP for an ID that is not the peer's draws nothing. */
static void rep__of_another_id_is_ignored(void **state)
{
	struct cm_net n;
	struct cm_sent s;

	(void)state;
	cm_open(&n, 0);
	cm_established(&n);
	s = *cm_last(&n, VB_CM_REP);
	s.msg.local_id ^= 1;
	vb_cm_msg_emit(&s.msg, s.mad);
	cm_deliver(&n, &s);
	cm_settle(&n);
	assert_int_equal(n.sent_cnt, 3);
	assert_int_equal(vb_cm_counters(n.host[0].cm)->rx_unmatched, 1);
	cm_close(&n);
}

/* CMP-18 */
static void establish__ends_the_wait_for_the_rtu(void **state)
{
	struct cm_net n;
	struct cm_pair p;

	(void)state;
	cm_open(&n, 0);
	p = cm_requested(&n);
	assert_int_equal(vb_cm_establish(p.passive), -EINVAL);
	assert_int_equal(vb_cm_conn_state(p.passive), VB_CM_STATE_REQ_RCVD);

	struct vb_cm_reply_param r = cm_reply_param(&n.host[1]);

	assert_int_equal(vb_cm_reply(p.passive, &r, n.now), 0);
	cm_settle(&n);
	assert_int_equal(vb_cm_establish(p.passive), 0);
	assert_ptr_equal(cm_event(&n.host[1], VB_CM_EVENT_ESTABLISHED).conn, p.passive);
	assert_int_equal(vb_cm_establish(p.passive), -EISCONN);
	assert_int_equal(vb_cm_poll_timeout(n.host[1].cm), VB_NEVER);
	/* The RTU that comes at last is one too many. */
	assert_int_equal(vb_cm_ready(p.active, NULL), 0);
	cm_settle(&n);
	cm_no_event(&n.host[1]);
	cm_close(&n);
}

/* CMP-11, CMP-12, CMP-13: a consumer that is slow asks for patience, when the peer asks. */
static void delay__answers_duplicates_by_mra(void **state)
{
	struct cm_net n;
	struct cm_pair p;
	struct vb_cm_reply_param r;

	(void)state;
	cm_open(&n, 0);
	p = cm_requested(&n);
	r = cm_reply_param(&n.host[1]);
	assert_int_equal(vb_cm_delay(p.passive, 24), 0);
	assert_int_equal(vb_cm_delay(p.passive, 24), -EINVAL);
	cm_settle(&n);
	assert_int_equal(cm_sent_by(&n, &n.host[1], VB_CM_MRA), 0);
	cm_advance(&n, 4608 * VB_MSEC);
	assert_int_equal(cm_sent_by(&n, &n.host[1], VB_CM_MRA), 1);
	assert_int_equal(cm_last(&n, VB_CM_MRA)->msg.mra.service_timeout, 24);
	assert_int_equal(cm_last(&n, VB_CM_MRA)->msg.mra.about, 0);
	cm_assert_states(&p, VB_CM_STATE_MRA_REQ_RCVD, VB_CM_STATE_MRA_REQ_SENT);
	/* 65,536 ms and the time that packets live are waited for, then the REQ comes again. */
	cm_advance(&n, (65536 + 512) * VB_MSEC - 1);
	assert_int_equal(cm_sent_by(&n, &n.host[0], VB_CM_REQ), 2);
	cm_advance(&n, 1);
	assert_int_equal(cm_sent_by(&n, &n.host[0], VB_CM_REQ), 3);
	assert_int_equal(vb_cm_reply(p.passive, &r, n.now), 0);
	cm_settle(&n);
	cm_message(&n.host[0], VB_CM_REP);

	/* The active side asks for patience too. */
	assert_int_equal(vb_cm_delay(p.active, 20), 0);
	cm_advance(&n, 4096 * VB_MSEC);
	assert_int_equal(cm_last(&n, VB_CM_MRA)->msg.mra.about, 1);
	cm_assert_states(&p, VB_CM_STATE_MRA_REP_SENT, VB_CM_STATE_MRA_REP_RCVD);
	assert_int_equal(vb_cm_ready(p.active, NULL), 0);
	cm_settle(&n);
	cm_assert_states(&p, VB_CM_STATE_ESTABLISHED, VB_CM_STATE_ESTABLISHED);
	cm_close(&n);
}

/* CMP-12: an MRA about something else, or a second one, changes nothing. */
static void mra__out_of_place_is_ignored(void **state)
{
	struct cm_net n;
	struct cm_pair p;
	struct cm_sent s;
	vb_time due;

	(void)state;
	cm_open(&n, 0);
	p = cm_requested(&n);
	assert_int_equal(vb_cm_delay(p.passive, 24), 0);
	cm_advance(&n, 4608 * VB_MSEC);
	due = vb_cm_poll_timeout(n.host[0].cm);
	s = *cm_last(&n, VB_CM_MRA);
	n.now += VB_SEC;
	cm_deliver(&n, &s);
	s.msg.mra.about = 1;
	vb_cm_msg_emit(&s.msg, s.mad);
	cm_deliver(&n, &s);
	assert_int_equal(vb_cm_poll_timeout(n.host[0].cm), due);
	cm_close(&n);
}

/* CMP-13: before the consumer has answered and after it has, a duplicate REQ draws nothing. */
static void req__that_is_a_duplicate_is_silent(void **state)
{
	struct cm_net n;
	struct cm_pair p;
	struct cm_sent s;

	(void)state;
	cm_open(&n, 0);
	p = cm_requested(&n);
	s = n.sent[0];
	cm_deliver(&n, &s);
	cm_settle(&n);
	assert_int_equal(n.sent_cnt, 1);
	cm_no_event(&n.host[1]);
	assert_int_equal(vb_cm_port_counters(n.host[1].cm)[1].rx_duplicates[0], 1);

	struct vb_cm_reply_param r = cm_reply_param(&n.host[1]);

	assert_int_equal(vb_cm_reply(p.passive, &r, n.now), 0);
	cm_settle(&n);
	cm_deliver(&n, &s);
	cm_settle(&n);
	assert_int_equal(cm_sent_by(&n, &n.host[1], VB_CM_REP), 1);
	assert_int_equal(cm_sent_by(&n, &n.host[1], VB_CM_REJ), 0);
	cm_close(&n);
}

/* An answer that a duplicate draws again counts as a repetition, at the port of the connection. */
static void rtu__again_is_counted_as_a_repetition(void **state)
{
	const struct vb_cm_port_counters *cnt;
	const uint32_t rtu = VB_CM_RTU - VB_CM_ATTR_FIRST, rep = VB_CM_REP - VB_CM_ATTR_FIRST;
	struct cm_net n;

	(void)state;
	cm_open(&n, 0);
	(void)cm_established(&n);
	cnt = &vb_cm_port_counters(n.host[0].cm)[1];
	assert_int_equal(cnt->tx_msgs[rtu], 1);
	assert_int_equal(cnt->tx_retries[rtu], 0);
	for (uint32_t i = 0; i < n.sent_cnt; i++)
		if (n.sent[i].from == &n.host[1]) {
			struct cm_sent s = n.sent[i];

			cm_deliver(&n, &s);
			break;
		}
	cm_settle(&n);
	assert_int_equal(cnt->rx_msgs[rep], 2);
	assert_int_equal(cnt->rx_duplicates[rep], 1);
	assert_int_equal(cnt->tx_msgs[rtu], 2);
	assert_int_equal(cnt->tx_retries[rtu], 1);
	assert_int_equal(vb_cm_port_counters(n.host[0].cm)[0].tx_msgs[rtu], 0);
	cm_close(&n);
}

/* CMP-14: a peer that begins anew with the same QP has lost the old connection. */
static void req__from_a_known_qp_ends_the_stale_connection(void **state)
{
	struct cm_net n;
	struct cm_pair p;
	struct vb_cm_request r;
	struct vb_cm_conn *second;
	struct vb_cm_event ev;

	(void)state;
	cm_open(&n, 0);
	p = cm_established(&n);
	r = cm_request(&n.host[0], &n.host[1]);
	second = cm_conn(&n.host[0]);
	n.lose = cm_bit(VB_CM_DREQ);
	assert_int_equal(vb_cm_connect(second, &r, n.now), 0);
	cm_settle(&n);
	ev = cm_message(&n.host[0], VB_CM_REJ);
	assert_ptr_equal(ev.conn, second);
	assert_int_equal(ev.msg.rej.reason, VB_CM_REJ_STALE_CONN);
	assert_int_equal(ev.msg.rej.about, VB_CM_ABOUT_REQ);
	assert_int_equal(vb_cm_conn_state(second), VB_CM_STATE_TIMEWAIT); /* CMP-16 */
	cm_no_event(&n.host[1]);
	assert_int_equal(vb_cm_conn_state(p.passive), VB_CM_STATE_DREQ_SENT);
	assert_int_equal(cm_last(&n, VB_CM_DREQ)->msg.remote_id, vb_cm_conn_id(p.active));
	cm_close(&n);
}

/* CMP-14: the same for a REP, by the passive side's QP. */
static void rep__from_a_known_qp_is_refused(void **state)
{
	struct cm_net n;
	struct cm_pair p;
	struct vb_cm_request r;
	struct vb_cm_reply_param reply;
	struct vb_cm_conn *second, *passive;
	struct vb_cm_event ev;

	(void)state;
	cm_open(&n, 0);
	p = cm_established(&n);
	r = cm_request(&n.host[0], &n.host[1]);
	r.qpn = 0x51;
	second = cm_conn(&n.host[0]);
	assert_int_equal(vb_cm_connect(second, &r, n.now), 0);
	cm_settle(&n);
	passive = cm_message(&n.host[1], VB_CM_REQ).conn;
	reply = cm_reply_param(&n.host[1]);
	n.lose = cm_bit(VB_CM_DREQ);
	assert_int_equal(vb_cm_reply(passive, &reply, n.now), 0);
	cm_settle(&n);
	cm_no_event(&n.host[0]);
	assert_int_equal(vb_cm_conn_state(second), VB_CM_STATE_REQ_SENT);
	assert_int_equal(vb_cm_conn_state(p.active), VB_CM_STATE_DREQ_SENT);
	ev = cm_message(&n.host[1], VB_CM_REJ);
	assert_ptr_equal(ev.conn, passive);
	assert_int_equal(ev.msg.rej.reason, VB_CM_REJ_STALE_CONN);
	assert_int_equal(ev.msg.rej.about, VB_CM_ABOUT_REP);
	cm_close(&n);
}

/* CMP-06: the number of an XRC target stands in the REP's EE context. */
static void reply__of_an_xrc_target_names_it_as_eec(void **state)
{
	struct cm_net n;
	struct vb_cm_request r;
	struct vb_cm_reply_param reply;
	struct vb_cm_conn *active, *passive;

	(void)state;
	cm_open(&n, 0);
	cm_listener(&n.host[1]);
	active = cm_conn(&n.host[0]);
	r = cm_request(&n.host[0], &n.host[1]);
	r.transport = VB_CM_XRC;
	assert_int_equal(vb_cm_connect(active, &r, n.now), 0);
	cm_settle(&n);
	assert_int_equal(n.sent[0].msg.req.transport, 3);
	assert_int_equal(n.sent[0].msg.req.ext_transport, 1);
	passive = cm_message(&n.host[1], VB_CM_REQ).conn;
	assert_int_equal(vb_cm_conn_qp(passive)->transport, VB_CM_XRC);
	reply = cm_reply_param(&n.host[1]);
	assert_int_equal(vb_cm_reply(passive, &reply, n.now), 0);
	cm_settle(&n);
	assert_int_equal(cm_last(&n, VB_CM_REP)->msg.rep.eecn, 0x42);
	assert_int_equal(cm_last(&n, VB_CM_REP)->msg.rep.srq, 1);
	assert_int_equal(vb_cm_conn_qp(active)->remote_qpn, 0x42);
	cm_close(&n);
}

/* CMP-27: the vendor's options travel with REQ and REP. */
static void ece__travels_both_ways(void **state)
{
	struct cm_net n;
	struct vb_cm_request r;
	struct vb_cm_reply_param reply;
	struct vb_cm_conn *passive;
	struct vb_cm_event ev;

	(void)state;
	cm_open(&n, 0);
	cm_listener(&n.host[1]);
	r = cm_request(&n.host[0], &n.host[1]);
	r.ece_vendor = 0x15b3c9;
	r.ece_options = 0x10203040;
	assert_int_equal(vb_cm_connect(cm_conn(&n.host[0]), &r, n.now), 0);
	cm_settle(&n);
	ev = cm_message(&n.host[1], VB_CM_REQ);
	passive = ev.conn;
	assert_int_equal(ev.msg.req.ece_vendor, 0x15b3c9);
	assert_int_equal(ev.msg.attr_mod, 0x10203040);
	reply = cm_reply_param(&n.host[1]);
	reply.ece_vendor = 0x15b3ca;
	reply.ece_options = 0x50607080;
	assert_int_equal(vb_cm_reply(passive, &reply, n.now), 0);
	cm_settle(&n);
	ev = cm_message(&n.host[0], VB_CM_REP);
	assert_int_equal(ev.msg.rep.ece_high, 0x15);
	assert_int_equal(ev.msg.rep.ece_middle, 0xb3);
	assert_int_equal(ev.msg.rep.ece_low, 0xca);
	assert_int_equal(ev.msg.attr_mod, 0x50607080);
	cm_close(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(connect__both_ends_know_each_other),
	    cmocka_unit_test(reply__may_take_less_than_offered),
	    cmocka_unit_test(ack_timeout__follows_delay_and_lifetime),
	    cmocka_unit_test(req__is_repeated_as_announced),
	    cmocka_unit_test(req__is_repeated_early_too),
	    cmocka_unit_test(req__that_waits_for_its_turn_is_not_repeated_early),
	    cmocka_unit_test(req__is_repeated_early_when_answers_stop),
	    cmocka_unit_test(rep__is_repeated_as_the_req_told),
	    cmocka_unit_test(rtu__is_sent_again_for_a_duplicate_rep),
	    cmocka_unit_test(rep__of_another_id_is_ignored),
	    cmocka_unit_test(establish__ends_the_wait_for_the_rtu),
	    cmocka_unit_test(delay__answers_duplicates_by_mra),
	    cmocka_unit_test(mra__out_of_place_is_ignored),
	    cmocka_unit_test(req__that_is_a_duplicate_is_silent),
	    cmocka_unit_test(rtu__again_is_counted_as_a_repetition),
	    cmocka_unit_test(req__from_a_known_qp_ends_the_stale_connection),
	    cmocka_unit_test(rep__from_a_known_qp_is_refused),
	    cmocka_unit_test(reply__of_an_xrc_target_names_it_as_eec),
	    cmocka_unit_test(ece__travels_both_ways),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
