/* SPDX-License-Identifier: BSD-2-Clause */
/* The connection manager ends connections: DREQ, DREP, REJ, timewait, giving up; and SIDR.
 * IBA 12.9, 12.11 */
#include "cm_env.h"

#define TIMEWAIT (512 * VB_MSEC) /* of the ACK timeout 17 that both ends have. CMP-21 */

/* CMP-07, CMP-19, CMP-20: one side asks, the other one's consumer answers. */
static void disconnect__is_answered_by_the_consumer(void **state)
{
	struct cm_net n;
	struct cm_pair p;
	const struct vb_cm_msg *dreq;

	(void)state;
	cm_open(&n, 0);
	p = cm_established(&n);
	assert_int_equal(vb_cm_disconnect(p.active, NULL, n.now), 0);
	cm_settle(&n);
	cm_assert_states(&p, VB_CM_STATE_DREQ_SENT, VB_CM_STATE_DREQ_RCVD);
	dreq = &cm_last(&n, VB_CM_DREQ)->msg;
	assert_int_equal(dreq->dreq.remote_qpn, 0x42);
	assert_int_equal(dreq->tid, n.sent[0].msg.tid); /* CMP-02 */
	cm_message(&n.host[1], VB_CM_DREQ);
	assert_int_equal(vb_cm_disconnect(p.active, NULL, n.now), 0);
	assert_int_equal(vb_cm_disconnect(p.passive, NULL, n.now), 0);
	cm_settle(&n);
	cm_message(&n.host[0], VB_CM_DREP);
	assert_int_equal(cm_last(&n, VB_CM_DREP)->msg.tid, dreq->tid);
	cm_assert_states(&p, VB_CM_STATE_TIMEWAIT, VB_CM_STATE_TIMEWAIT);
	assert_int_equal(vb_cm_disconnect(p.passive, NULL, n.now), 0);

	/* CMP-21 */
	cm_advance(&n, TIMEWAIT - 1);
	cm_assert_states(&p, VB_CM_STATE_TIMEWAIT, VB_CM_STATE_TIMEWAIT);
	cm_advance(&n, 1);
	cm_event(&n.host[0], VB_CM_EVENT_TIMEWAIT_EXIT);
	cm_event(&n.host[1], VB_CM_EVENT_TIMEWAIT_EXIT);
	cm_assert_states(&p, VB_CM_STATE_IDLE, VB_CM_STATE_IDLE);
	assert_int_equal(vb_cm_disconnect(p.active, NULL, n.now), -ENOTCONN);
	cm_close(&n);
}

/* CMP-02: a DREQ of the passive side is a transaction of its own. */
static void disconnect__by_the_passive_side(void **state)
{
	struct cm_net n;
	struct cm_pair p;

	(void)state;
	cm_open(&n, 0);
	p = cm_established(&n);
	assert_int_equal(vb_cm_disconnect(p.passive, NULL, n.now), 0);
	cm_settle(&n);
	cm_message(&n.host[0], VB_CM_DREQ);
	assert_int_not_equal(cm_last(&n, VB_CM_DREQ)->msg.tid, n.sent[0].msg.tid);
	cm_close(&n);
}

/* CMP-20: both ask at once; each has one event, and both end. */
static void disconnect__of_both_at_once(void **state)
{
	struct cm_net n;
	struct cm_pair p;
	struct cm_sent s;

	(void)state;
	cm_open(&n, 0);
	p = cm_established(&n);
	n.lose = cm_bit(VB_CM_DREQ);
	assert_int_equal(vb_cm_disconnect(p.active, NULL, n.now), 0);
	assert_int_equal(vb_cm_disconnect(p.passive, NULL, n.now), 0);
	cm_settle(&n);
	n.lose = 0;
	for (uint32_t i = n.sent_cnt - 2; i < 5; i++) {
		s = n.sent[i];
		assert_int_equal(s.msg.attr, VB_CM_DREQ);
		cm_deliver(&n, &s);
	}
	cm_assert_states(&p, VB_CM_STATE_DREQ_RCVD, VB_CM_STATE_DREQ_RCVD);
	cm_message(&n.host[0], VB_CM_DREQ);
	cm_message(&n.host[1], VB_CM_DREQ);
	assert_int_equal(vb_cm_disconnect(p.active, NULL, n.now), 0);
	cm_settle(&n);
	/* The DREP of the first is enough for the second too. */
	cm_message(&n.host[1], VB_CM_DREP);
	cm_assert_states(&p, VB_CM_STATE_TIMEWAIT, VB_CM_STATE_TIMEWAIT);
	cm_close(&n);
}

/* CMP-20: nobody answers. */
static void disconnect__without_an_answer_ends_in_timewait(void **state)
{
	struct cm_net n;
	struct cm_pair p;

	(void)state;
	cm_open(&n, 0);
	p = cm_established(&n);
	n.lose = cm_bit(VB_CM_DREQ);
	assert_int_equal(vb_cm_disconnect(p.active, NULL, n.now), 0);
	cm_advance(&n, 16 * 4608 * VB_MSEC - 1);
	assert_int_equal(cm_sent_by(&n, &n.host[0], VB_CM_DREQ), 16);
	assert_int_equal(vb_cm_conn_state(p.active), VB_CM_STATE_DREQ_SENT);
	cm_advance(&n, 1);
	assert_int_equal(cm_event(&n.host[0], VB_CM_EVENT_UNREACHABLE).msg.attr, VB_CM_DREQ);
	assert_int_equal(vb_cm_conn_state(p.active), VB_CM_STATE_TIMEWAIT);
	cm_close(&n);
}

/* CMP-19: the DREP was lost; the DREQ that comes again draws another. */
static void drep__is_sent_again_in_timewait(void **state)
{
	struct cm_net n;
	struct cm_pair p;
	struct cm_sent s;

	(void)state;
	cm_open(&n, 0);
	p = cm_established(&n);
	assert_int_equal(vb_cm_disconnect(p.active, NULL, n.now), 0);
	cm_settle(&n);
	s = *cm_last(&n, VB_CM_DREQ);
	cm_deliver(&n, &s);
	cm_settle(&n);
	assert_int_equal(cm_sent_by(&n, &n.host[1], VB_CM_DREP), 0); /* silent before */
	n.lose = cm_bit(VB_CM_DREP);
	assert_int_equal(vb_cm_disconnect(p.passive, NULL, n.now), 0);
	cm_settle(&n);
	n.lose = 0;
	cm_deliver(&n, &s);
	cm_settle(&n);
	assert_int_equal(cm_sent_by(&n, &n.host[1], VB_CM_DREP), 2);
	cm_message(&n.host[0], VB_CM_DREP);
	cm_assert_states(&p, VB_CM_STATE_TIMEWAIT, VB_CM_STATE_TIMEWAIT);
	cm_close(&n);
}

/* CMP-19: a DREQ of a connection that nobody knows is answered; for another QP it is dropped. */
static void dreq__without_its_connection(void **state)
{
	struct cm_net n;
	struct cm_pair p;
	struct cm_sent s;
	const struct vb_cm_msg *drep;

	(void)state;
	cm_open(&n, 0);
	p = cm_established(&n);
	n.lose = cm_bit(VB_CM_DREQ);
	assert_int_equal(vb_cm_disconnect(p.active, NULL, n.now), 0);
	cm_settle(&n);
	s = *cm_last(&n, VB_CM_DREQ);
	s.msg.dreq.remote_qpn++;
	vb_cm_msg_emit(&s.msg, s.mad);
	cm_deliver(&n, &s);
	assert_int_equal(vb_cm_conn_state(p.passive), VB_CM_STATE_ESTABLISHED);
	assert_int_equal(vb_cm_counters(n.host[1].cm)->rx_unmatched, 1);

	n.lose = cm_bit(VB_CM_DREP);
	s.msg.remote_id ^= 0x10;
	vb_cm_msg_emit(&s.msg, s.mad);
	cm_deliver(&n, &s);
	cm_settle(&n);
	drep = &cm_last(&n, VB_CM_DREP)->msg;
	assert_int_equal(drep->local_id, s.msg.remote_id);
	assert_int_equal(drep->remote_id, s.msg.local_id);
	assert_int_equal(drep->tid, s.msg.tid);
	cm_close(&n);
}

/* Nobody but the peer ends a connection, whatever IDs he knows. */
static void message__from_another_address_is_not_the_peers(void **state)
{
	static const enum vb_cm_attr attrs[] = {VB_CM_DREQ, VB_CM_REJ, VB_CM_RTU};

	(void)state;
	for (size_t i = 0; i < sizeof attrs / sizeof attrs[0]; i++) {
		struct cm_net n;
		struct cm_pair p;
		struct cm_sent s = {.from = NULL};

		cm_open(&n, 0);
		p = cm_established(&n);
		s.path = cm_path(&n.host[0], &n.host[1]);
		s.path.sgid.b[15] = 99;
		s.msg = (struct vb_cm_msg){.attr = attrs[i],
					   .local_id = vb_cm_conn_id(p.active),
					   .remote_id = vb_cm_conn_id(p.passive)};
		if (attrs[i] == VB_CM_DREQ)
			s.msg.dreq.remote_qpn = 0x42;
		vb_cm_msg_emit(&s.msg, s.mad);
		cm_deliver(&n, &s);
		assert_int_equal(vb_cm_conn_state(p.passive), VB_CM_STATE_ESTABLISHED);
		cm_no_event(&n.host[1]);
		cm_close(&n);
	}
}

/* CMP-21, CMP-13: a connection in timewait holds neither its peer's ID nor its QP. */
static void timewait__lets_the_same_qp_connect_again(void **state)
{
	struct cm_net n;
	struct cm_pair p;
	struct vb_cm_request r;
	struct vb_cm_conn *again;

	(void)state;
	cm_open(&n, 0);
	p = cm_established(&n);
	assert_int_equal(vb_cm_disconnect(p.active, NULL, n.now), 0);
	cm_settle(&n);
	cm_message(&n.host[1], VB_CM_DREQ);
	assert_int_equal(vb_cm_disconnect(p.passive, NULL, n.now), 0);
	cm_settle(&n);
	r = cm_request(&n.host[0], &n.host[1]);
	again = cm_conn(&n.host[0]);
	assert_int_equal(vb_cm_connect(again, &r, n.now), 0);
	cm_settle(&n);
	cm_message(&n.host[1], VB_CM_REQ);
	assert_int_equal(cm_sent_by(&n, &n.host[1], VB_CM_REJ), 0);
	cm_close(&n);
}

/* CMP-16, CMP-17: a refusal by the consumer, at each point where there can be one. */
static void reject__by_the_consumer(void **state)
{
	static const uint8_t words[] = "no";
	const struct vb_cm_private data = {words, sizeof words};
	struct cm_net n;
	struct cm_pair p;
	struct vb_cm_event ev;

	(void)state;
	cm_open(&n, 0);
	p = cm_requested(&n);
	assert_int_equal(vb_cm_reject(p.active, 28, NULL, NULL, n.now), -EINVAL);
	assert_int_equal(vb_cm_reject(p.passive, VB_CM_REJ_CONSUMER, NULL, &data, n.now), 0);
	cm_settle(&n);
	ev = cm_message(&n.host[0], VB_CM_REJ);
	assert_int_equal(ev.msg.rej.reason, 28);
	assert_int_equal(ev.msg.rej.about, VB_CM_ABOUT_REQ);
	assert_memory_equal(ev.msg.private_data, words, sizeof words);
	assert_int_equal(ev.msg.tid, n.sent[0].msg.tid);
	cm_assert_states(&p, VB_CM_STATE_IDLE, VB_CM_STATE_IDLE);
	assert_int_equal(vb_cm_poll_timeout(n.host[0].cm), VB_NEVER);
	cm_close(&n);

	cm_open(&n, 0);
	p = cm_replied(&n);
	assert_int_equal(vb_cm_reject(p.active, VB_CM_REJ_CONSUMER, NULL, NULL, n.now), 0);
	cm_settle(&n);
	assert_int_equal(cm_message(&n.host[1], VB_CM_REJ).msg.rej.about, VB_CM_ABOUT_REP);
	cm_assert_states(&p, VB_CM_STATE_TIMEWAIT, VB_CM_STATE_IDLE);
	cm_close(&n);
}

/* CMP-16: in an established connection a REJ leads into timewait. */
static void rej__of_an_established_connection(void **state)
{
	struct cm_net n;
	struct cm_pair p;
	struct cm_sent s = {.from = NULL};

	(void)state;
	cm_open(&n, 0);
	p = cm_established(&n);
	s.path = cm_path(&n.host[0], &n.host[1]);
	s.msg = (struct vb_cm_msg){.attr = VB_CM_REJ,
				   .local_id = vb_cm_conn_id(p.active),
				   .remote_id = vb_cm_conn_id(p.passive),
				   .rej = {.about = 2, .reason = 28}};
	vb_cm_msg_emit(&s.msg, s.mad);
	cm_deliver(&n, &s);
	cm_message(&n.host[1], VB_CM_REJ);
	assert_int_equal(vb_cm_conn_state(p.passive), VB_CM_STATE_TIMEWAIT);
	/* There it is ignored. */
	cm_deliver(&n, &s);
	cm_no_event(&n.host[1]);
	cm_close(&n);
}

static struct cm_pair pair_in(struct cm_net *n, enum vb_cm_state s)
{
	struct cm_pair p;

	if (s == VB_CM_STATE_REQ_SENT || s == VB_CM_STATE_REQ_RCVD)
		return cm_requested(n);
	if (s == VB_CM_STATE_REP_SENT || s == VB_CM_STATE_REP_RCVD)
		return cm_replied(n);
	p = cm_established(n);
	if (s == VB_CM_STATE_DREQ_RCVD) {
		assert_int_equal(vb_cm_disconnect(p.active, NULL, n->now), 0);
		cm_settle(n);
		cm_message(&n->host[1], VB_CM_DREQ);
	}
	return p;
}

/* CMP-22: the message that the peer gets when an object is given up, in each of its states. */
static void destroy__tells_the_peer(void **state)
{
	static const struct {
		enum vb_cm_state at;
		bool active;
		enum vb_cm_attr attr;
		uint16_t reason;
		uint8_t about;
		enum vb_cm_state peer;
	} cases[] = {
	    {VB_CM_STATE_REQ_SENT, true, VB_CM_REJ, VB_CM_REJ_TIMEOUT, 0, VB_CM_STATE_IDLE},
	    {VB_CM_STATE_REQ_RCVD, false, VB_CM_REJ, VB_CM_REJ_CONSUMER, 0, VB_CM_STATE_IDLE},
	    {VB_CM_STATE_REP_SENT, false, VB_CM_REJ, VB_CM_REJ_CONSUMER, 2, VB_CM_STATE_TIMEWAIT},
	    {VB_CM_STATE_REP_RCVD, true, VB_CM_REJ, VB_CM_REJ_CONSUMER, 1, VB_CM_STATE_IDLE},
	    {VB_CM_STATE_ESTABLISHED, true, VB_CM_DREQ, 0, 0, VB_CM_STATE_DREQ_RCVD},
	    {VB_CM_STATE_ESTABLISHED, false, VB_CM_DREQ, 0, 0, VB_CM_STATE_DREQ_RCVD},
	    {VB_CM_STATE_DREQ_RCVD, false, VB_CM_DREP, 0, 0, VB_CM_STATE_TIMEWAIT},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct cm_net n;
		struct cm_pair p;
		struct vb_cm_conn *peer;
		struct cm_host *told;
		const struct vb_cm_msg *m;

		cm_open(&n, 0);
		p = pair_in(&n, cases[i].at);
		vb_cm_conn_destroy(cases[i].active ? p.active : p.passive, n.now);
		peer = cases[i].active ? p.passive : p.active;
		told = cases[i].active ? &n.host[1] : &n.host[0];
		cm_settle(&n);
		m = &cm_last(&n, cases[i].attr)->msg;
		if (m->attr == VB_CM_REJ) {
			assert_int_equal(m->rej.reason, cases[i].reason);
			assert_int_equal(m->rej.about, cases[i].about);
		}
		cm_message(told, cases[i].attr);
		assert_int_equal(vb_cm_conn_state(peer), cases[i].peer);
		/* The rest of it goes by itself. */
		vb_cm_conn_destroy(peer, n.now);
		vb_cm_conn_destroy(p.listener, n.now);
		cm_advance(&n, 30 * VB_SEC);
		for (int h = 0; h < 2; h++) {
			cm_no_event(&n.host[h]);
			assert_int_equal(vb_cm_poll_timeout(n.host[h].cm), VB_NEVER);
			assert_int_equal(n.host[h].blocks, 7); /* those of the manager itself */
		}
		cm_close(&n);
	}
}

/* CMP-22: the DREQ of an object that is given up is sent once, and the object waits for its end. */
static void destroy__of_an_established_connection_asks_once(void **state)
{
	struct cm_net n;
	struct cm_pair p;

	(void)state;
	cm_open(&n, 0);
	p = cm_established(&n);
	n.lose = cm_bit(VB_CM_DREQ);
	vb_cm_conn_destroy(p.active, n.now);
	cm_advance(&n, 4608 * VB_MSEC + TIMEWAIT - 1);
	assert_int_equal(cm_sent_by(&n, &n.host[0], VB_CM_DREQ), 1);
	assert_int_equal(n.host[0].blocks, 8);
	cm_advance(&n, 1);
	assert_int_equal(n.host[0].blocks, 7);
	cm_no_event(&n.host[0]);
	cm_close(&n);
}

/* CMP-09: a REQ that is given up before its answer is known to the peer by the adapter's GUID. */
static void destroy__names_the_adapter_to_a_peer_without_our_id(void **state)
{
	struct cm_net n;
	struct cm_pair p;
	const struct vb_cm_msg *m;

	(void)state;
	cm_open(&n, 0);
	p = cm_requested(&n);
	vb_cm_conn_destroy(p.active, n.now);
	cm_settle(&n);
	m = &cm_last(&n, VB_CM_REJ)->msg;
	assert_int_equal(m->remote_id, 0);
	assert_int_equal(m->rej.info_len, 8);
	assert_int_equal(vb_cm_info_guid(m->rej.info), n.host[0].guid);
	assert_ptr_equal(cm_message(&n.host[1], VB_CM_REJ).conn, p.passive);
	cm_close(&n);
}

static void destroy__takes_its_events_along(void **state)
{
	struct cm_net n;
	struct cm_pair p;
	struct vb_cm_conn *extra;
	struct vb_cm_request r;

	(void)state;
	cm_open(&n, 0);
	p = cm_requested(&n);
	extra = cm_conn(&n.host[0]);
	r = cm_request(&n.host[0], &n.host[1]);
	r.qpn = 0x77;
	assert_int_equal(vb_cm_connect(extra, &r, n.now), 0);
	cm_settle(&n);
	vb_cm_conn_destroy(p.listener, n.now);
	assert_null(cm_message(&n.host[1], VB_CM_REQ).listener);
	assert_int_equal(vb_cm_reject(p.passive, 28, NULL, NULL, n.now), 0);
	cm_settle(&n);
	vb_cm_conn_destroy(p.active, n.now);
	cm_no_event(&n.host[0]);
	cm_close(&n);
}

/* CMP-52, CMP-26: a message that belongs to nothing is dropped and counted. */
static void message__that_fits_nothing_is_dropped(void **state)
{
	static const enum vb_cm_attr attrs[] = {VB_CM_RTU, VB_CM_DREP, VB_CM_MRA, VB_CM_REJ,
						VB_CM_REP, VB_CM_LAP,  VB_CM_APR, VB_CM_SIDR_REP};
	struct cm_net n;
	struct cm_pair p;
	struct cm_sent s = {.from = NULL};

	(void)state;
	cm_open(&n, 0);
	p = cm_established(&n);
	s.path = cm_path(&n.host[0], &n.host[1]);
	for (size_t i = 0; i < sizeof attrs / sizeof attrs[0]; i++) {
		s.msg = (struct vb_cm_msg){
		    .attr = attrs[i], .local_id = 77, .remote_id = vb_cm_conn_id(p.passive)};
		vb_cm_msg_emit(&s.msg, s.mad);
		cm_deliver(&n, &s);
		assert_int_equal(vb_cm_counters(n.host[1].cm)->rx_unmatched, i + 1);
	}
	/* LAP and APR of the connection itself, too: RoCE has no second path. */
	for (enum vb_cm_attr a = VB_CM_LAP; a <= VB_CM_APR; a++) {
		s.msg = (struct vb_cm_msg){.attr = a,
					   .local_id = vb_cm_conn_id(p.active),
					   .remote_id = vb_cm_conn_id(p.passive)};
		vb_cm_msg_emit(&s.msg, s.mad);
		cm_deliver(&n, &s);
	}
	assert_int_equal(vb_cm_counters(n.host[1].cm)->rx_unmatched, 10);
	memset(s.mad, 0, sizeof s.mad);
	cm_deliver(&n, &s);
	assert_int_equal(vb_cm_counters(n.host[1].cm)->rx_bad, 1);
	cm_settle(&n);
	assert_int_equal(n.sent_cnt, 3);
	cm_no_event(&n.host[1]);
	cm_close(&n);
}

/* Strangers draw answers as long as these are taken, and no memory. */
static void stray__answers_are_bounded(void **state)
{
	struct cm_net n;
	struct cm_sent s = {.from = NULL};
	uint32_t before;

	(void)state;
	cm_open(&n, 0);
	before = n.host[1].calls;
	s.path = cm_path(&n.host[0], &n.host[1]);
	for (uint32_t i = 0; i < 1000; i++) {
		s.msg = (struct vb_cm_msg){.attr = VB_CM_DREQ, .local_id = i + 1};
		vb_cm_msg_emit(&s.msg, s.mad);
		cm_deliver(&n, &s);
	}
	assert_int_equal(vb_cm_counters(n.host[1].cm)->tx_no_room, 1000 - 64);
	assert_int_equal(n.host[1].calls, before);
	cm_settle(&n);
	assert_int_equal(cm_sent_by(&n, &n.host[1], VB_CM_DREP), 64);
	cm_close(&n);
}

static struct vb_cm_sidr_request sidr_request(const struct cm_net *n)
{
	return (struct vb_cm_sidr_request){.path = cm_path(&n->host[0], &n->host[1]),
					   .service_id = CM_SERVICE,
					   .pkey = 0xffff,
					   .cm_timeout = CM_CODE,
					   .max_cm_retries = 15};
}

/* CMP-24 */
static void sidr__finds_the_qp_of_a_service(void **state)
{
	struct cm_net n;
	struct vb_cm_conn *asks, *asked;
	struct vb_cm_sidr_request r;
	struct vb_cm_sidr_reply reply = {.qpn = 0x123456,
					 .qkey = 0x01234567,
					 .ece_vendor = 0x15b3c9,
					 .private_data = {"hello", 6}};
	struct vb_cm_event ev;

	(void)state;
	cm_open(&n, 0);
	cm_listener(&n.host[1]);
	asks = cm_conn(&n.host[0]);
	r = sidr_request(&n);
	assert_int_equal(vb_cm_sidr_request(asks, &r, n.now), 0);
	cm_settle(&n);
	asked = cm_message(&n.host[1], VB_CM_SIDR_REQ).conn;
	cm_deliver(&n, &n.sent[0]); /* a duplicate is silent */
	cm_settle(&n);
	cm_no_event(&n.host[1]);
	assert_int_equal(vb_cm_sidr_reply(asked, &reply), 0);
	cm_settle(&n);
	ev = cm_message(&n.host[0], VB_CM_SIDR_REP);
	assert_ptr_equal(ev.conn, asks);
	assert_int_equal(ev.msg.sidr_rep.status, VB_CM_SIDR_VALID);
	assert_int_equal(ev.msg.sidr_rep.qpn, 0x123456);
	assert_int_equal(ev.msg.sidr_rep.qkey, 0x01234567);
	assert_int_equal(ev.msg.sidr_rep.ece_high, 0x15b3);
	assert_int_equal(ev.msg.sidr_rep.ece_low, 0xc9);
	assert_int_equal(ev.msg.tid, n.sent[0].msg.tid);
	assert_string_equal((const char *)ev.msg.private_data, "hello");
	assert_int_equal(vb_cm_conn_state(asks), VB_CM_STATE_IDLE);
	assert_int_equal(vb_cm_conn_state(asked), VB_CM_STATE_IDLE);
	assert_int_equal(vb_cm_sidr_reply(asked, &reply), -EINVAL);
	cm_close(&n);
}

/* CMP-24: nobody listens; nobody answers; the one who was asked is given up. */
static void sidr__without_a_service(void **state)
{
	struct cm_net n;
	struct vb_cm_conn *c, *asked;
	struct vb_cm_sidr_request r;
	struct vb_cm_event ev;

	(void)state;
	cm_open(&n, 0);
	c = cm_conn(&n.host[0]);
	r = sidr_request(&n);
	assert_int_equal(vb_cm_sidr_request(c, &r, n.now), 0);
	cm_settle(&n);
	ev = cm_message(&n.host[0], VB_CM_SIDR_REP);
	assert_int_equal(ev.msg.sidr_rep.status, VB_CM_SIDR_UNSUPPORTED);

	n.lose = cm_bit(VB_CM_SIDR_REQ);
	assert_int_equal(vb_cm_sidr_request(c, &r, n.now), 0);
	cm_advance(&n, 16 * 4096 * VB_MSEC - 1);
	cm_no_event(&n.host[0]);
	assert_int_equal(cm_sent_by(&n, &n.host[0], VB_CM_SIDR_REQ), 17);
	cm_advance(&n, 1);
	assert_int_equal(cm_event(&n.host[0], VB_CM_EVENT_UNREACHABLE).msg.attr, VB_CM_SIDR_REQ);

	n.lose = 0;
	cm_listener(&n.host[1]);
	assert_int_equal(vb_cm_sidr_request(c, &r, n.now), 0);
	cm_settle(&n);
	asked = cm_message(&n.host[1], VB_CM_SIDR_REQ).conn;
	vb_cm_conn_destroy(asked, n.now);
	cm_settle(&n);
	ev = cm_message(&n.host[0], VB_CM_SIDR_REP);
	assert_int_equal(ev.msg.sidr_rep.status, VB_CM_SIDR_REJECT);
	vb_cm_conn_destroy(c, n.now);
	assert_int_equal(n.host[0].blocks, 7);
	cm_close(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(disconnect__is_answered_by_the_consumer),
	    cmocka_unit_test(disconnect__by_the_passive_side),
	    cmocka_unit_test(disconnect__of_both_at_once),
	    cmocka_unit_test(disconnect__without_an_answer_ends_in_timewait),
	    cmocka_unit_test(drep__is_sent_again_in_timewait),
	    cmocka_unit_test(dreq__without_its_connection),
	    cmocka_unit_test(message__from_another_address_is_not_the_peers),
	    cmocka_unit_test(timewait__lets_the_same_qp_connect_again),
	    cmocka_unit_test(reject__by_the_consumer),
	    cmocka_unit_test(rej__of_an_established_connection),
	    cmocka_unit_test(destroy__tells_the_peer),
	    cmocka_unit_test(destroy__of_an_established_connection_asks_once),
	    cmocka_unit_test(destroy__names_the_adapter_to_a_peer_without_our_id),
	    cmocka_unit_test(destroy__takes_its_events_along),
	    cmocka_unit_test(message__that_fits_nothing_is_dropped),
	    cmocka_unit_test(stray__answers_are_bounded),
	    cmocka_unit_test(sidr__finds_the_qp_of_a_service),
	    cmocka_unit_test(sidr__without_a_service),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
