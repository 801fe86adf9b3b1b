/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests that the connection manager refuses, from peers and from consumers, and what it does
 * without room. */
#include "cm_env.h"

/* CMP-17: nobody listens, or the paths do not lead here. */
static void req__that_cannot_be_taken_is_rejected(void **state)
{
	static const struct {
		uint64_t service;
		int what;
		uint16_t reason;
	} cases[] = {
	    {CM_SERVICE + 1, 0, VB_CM_REJ_INVALID_SERVICE_ID},
	    {CM_SERVICE, 1, VB_CM_REJ_INVALID_GID},
	    {CM_SERVICE, 2, VB_CM_REJ_INVALID_GID},
	    {CM_SERVICE, 3, VB_CM_REJ_INVALID_ALT_GID},
	    {CM_SERVICE, 4, VB_CM_REJ_INVALID_MTU},
	    {CM_SERVICE, 5, VB_CM_REJ_INVALID_TRANSPORT},
	    {CM_SERVICE, 6, VB_CM_REJ_INVALID_TRANSPORT},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct cm_net n;
		struct cm_sent s;
		struct vb_cm_req *req = &s.msg.req;

		cm_open(&n, 0);
		cm_requested(&n);
		s = n.sent[0];
		s.msg.local_id ^= 0xff;
		req->qpn = 0x99;
		req->service_id = cases[i].service;
		if (cases[i].what == 1)
			req->primary.remote_gid.b[15]++;
		else if (cases[i].what == 2)
			req->primary.local_gid.b[15]++;
		else if (cases[i].what == 3)
			req->alternate.remote_gid.b[15]++;
		else if (cases[i].what == 4)
			req->mtu = 6;
		else if (cases[i].what == 5)
			req->transport = 2;
		else if (cases[i].what == 6)
			req->transport = VB_CM_TRANSPORT_EXT;
		vb_cm_msg_emit(&s.msg, s.mad);
		cm_deliver(&n, &s);
		cm_settle(&n);

		const struct vb_cm_msg *rej = &cm_last(&n, VB_CM_REJ)->msg;

		assert_int_equal(rej->rej.reason, cases[i].reason);
		assert_int_equal(rej->rej.about, VB_CM_ABOUT_REQ);
		assert_int_equal(rej->local_id, 0);
		assert_int_equal(rej->remote_id, s.msg.local_id);
		assert_int_equal(rej->tid, s.msg.tid);
		cm_no_event(&n.host[1]);
		cm_close(&n);
	}
}

static void private_data__longer_than_its_field_is_refused(void **state)
{
	static const uint8_t data[VB_CM_PRIVATE_MAX + 1] = {1, 2, 3};
	struct cm_net n;
	struct cm_pair p;
	struct vb_cm_request r;
	struct vb_cm_reply_param reply;
	struct vb_cm_private too_long = {data, 225}, info = {data, 73};

	(void)state;
	cm_open(&n, 0);
	r = cm_request(&n.host[0], &n.host[1]);
	r.private_data = (struct vb_cm_private){data, 93};
	assert_int_equal(vb_cm_connect(cm_conn(&n.host[0]), &r, n.now), -EINVAL);
	p = cm_requested(&n);
	reply = cm_reply_param(&n.host[1]);
	reply.private_data = (struct vb_cm_private){data, 197};
	assert_int_equal(vb_cm_reply(p.passive, &reply, n.now), -EINVAL);
	assert_int_equal(vb_cm_reject(p.passive, 28, &info, NULL, n.now), -EINVAL);
	reply.private_data.len = 196;
	assert_int_equal(vb_cm_reply(p.passive, &reply, n.now), 0);
	cm_settle(&n);
	assert_int_equal(cm_message(&n.host[0], VB_CM_REP).msg.private_data[2], 3);
	assert_int_equal(vb_cm_ready(p.active, &too_long), -EINVAL);
	too_long.len = 224;
	assert_int_equal(vb_cm_ready(p.active, &too_long), 0);
	cm_close(&n);
}

/* Without room for another connection a REQ is not answered, and its repetition succeeds. */
static void req__without_room_is_as_if_lost(void **state)
{
	struct cm_net n;
	struct vb_cm_conn *kept[32];
	struct vb_cm_request r;
	uint32_t cnt = 0;

	(void)state;
	cm_open(&n, 0);
	cm_listener(&n.host[1]);
	while (vb_cm_conn_create(n.host[1].cm, NULL, &kept[cnt]) == 0)
		cnt++;
	assert_int_equal(cnt, 31);
	r = cm_request(&n.host[0], &n.host[1]);
	assert_int_equal(vb_cm_connect(cm_conn(&n.host[0]), &r, n.now), 0);
	cm_settle(&n);
	assert_int_equal(n.sent_cnt, 1);
	assert_int_equal(vb_cm_counters(n.host[1].cm)->rx_no_room, 1);
	vb_cm_conn_destroy(kept[0], n.now);
	n.host[1].fail_at = n.host[1].calls + 2; /* the event's memory */
	cm_advance(&n, 4608 * VB_MSEC);
	cm_no_event(&n.host[1]);
	assert_int_equal(vb_cm_counters(n.host[1].cm)->rx_no_room, 2);
	cm_advance(&n, 4608 * VB_MSEC);
	cm_message(&n.host[1], VB_CM_REQ);
	cm_close(&n);
}

static void create__frees_what_it_got_when_memory_ends(void **state)
{
	struct cm_net n;

	(void)state;
	cm_open(&n, 0);
	for (uint32_t i = 1; i <= 6; i++) {
		struct cm_host *h = &n.host[0];
		struct vb_cm *cm;
		uint32_t before = h->blocks;

		h->fail_at = h->calls + i;
		assert_int_equal(vb_cm_create(&cm, &h->cfg), -ENOMEM);
		assert_int_equal(h->blocks, before);
	}
	n.host[0].cfg.conns = 0;
	assert_int_equal(vb_cm_create(&n.host[0].cm, &n.host[0].cfg), -EINVAL);
	cm_close(&n);
}

static void listen__twice_on_a_service_is_refused(void **state)
{
	struct cm_net n;
	struct vb_cm_conn *first, *second;

	(void)state;
	cm_open(&n, 0);
	first = cm_listener(&n.host[0]);
	second = cm_conn(&n.host[0]);
	assert_int_equal(vb_cm_listen(second, CM_SERVICE), -EADDRINUSE);
	assert_int_equal(vb_cm_listen(first, CM_SERVICE + 1), -EINVAL);
	vb_cm_conn_destroy(first, n.now);
	assert_int_equal(vb_cm_listen(second, CM_SERVICE), 0);
	cm_close(&n);
}

/* A peer that answers a request nobody made: it is not heard, and there is no answer to repeat. */
static void rep__to_who_was_asked_draws_nothing(void **state)
{
	struct cm_net n;
	struct cm_pair p;
	struct cm_sent rep;

	(void)state;
	cm_open(&n, 0);
	p = cm_established(&n);
	rep = *cm_last(&n, VB_CM_REP);
	rep.path = cm_path(&n.host[0], &n.host[1]);
	rep.msg.remote_id = cm_last(&n, VB_CM_REP)->msg.local_id;
	rep.msg.local_id = cm_last(&n, VB_CM_REP)->msg.remote_id;
	vb_cm_msg_emit(&rep.msg, rep.mad);
	n.sent_cnt = 0;
	cm_deliver(&n, &rep);
	cm_settle(&n);
	assert_int_equal(n.sent_cnt, 0);
	cm_assert_states(&p, VB_CM_STATE_ESTABLISHED, VB_CM_STATE_ESTABLISHED);
	cm_close(&n);
}

/* Every message of a connection goes in its partition; so does the REJ of a REQ that nobody takes.
 * IBA 12.7.11; FAB-37 */
static void messages__go_in_the_partition(void **state)
{
	struct cm_net n;
	struct vb_cm_request r;
	struct vb_cm_conn *c;

	(void)state;
	cm_open(&n, 0);
	r = cm_request(&n.host[0], &n.host[1]);
	r.pkey = 0x9234;
	c = cm_conn(&n.host[0]);
	assert_int_equal(vb_cm_connect(c, &r, n.now), 0);
	cm_settle(&n);
	assert_int_equal(n.sent_cnt, 2);
	assert_int_equal(n.sent[1].msg.attr, VB_CM_REJ);
	assert_int_equal(n.sent[0].pkey, 0x9234);
	assert_int_equal(n.sent[1].pkey, 0x9234);
	cm_close(&n);

	cm_open(&n, 0);
	(void)cm_established(&n);
	for (uint32_t i = 0; i < n.sent_cnt; i++)
		assert_int_equal(n.sent[i].pkey, 0xffff);
	cm_close(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(messages__go_in_the_partition),
	    cmocka_unit_test(req__that_cannot_be_taken_is_rejected),
	    cmocka_unit_test(private_data__longer_than_its_field_is_refused),
	    cmocka_unit_test(req__without_room_is_as_if_lost),
	    cmocka_unit_test(create__frees_what_it_got_when_memory_ends),
	    cmocka_unit_test(listen__twice_on_a_service_is_refused),
	    cmocka_unit_test(rep__to_who_was_asked_draws_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
