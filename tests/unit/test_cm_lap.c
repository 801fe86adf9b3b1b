/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Alternate paths of connections: in the REQ, and by LAP and APR later, between two connection
 * managers of an InfiniBand subnet in virtual time. IBA 12.8, 12.9.8.7; CMP-26, CMP-12, CMP-16
 */
#include "cm_env.h"

/* Host i has the LIDs 0x10 + i and, for the other path, 0x20 + i. */
static struct vb_path lid_path(const struct cm_net *n, int from, uint16_t base)
{
	struct vb_path p = cm_path(&n->host[from], &n->host[!from]);

	p.slid = (uint16_t)(base + from);
	p.dlid = (uint16_t)(base + !from);
	p.hop_limit = 0;
	p.sl = base == 0x10 ? 1 : 2;
	return p;
}

static struct cm_pair connect_ib(struct cm_net *n, bool with_alternate)
{
	struct cm_pair p = {cm_listener(&n->host[1]), cm_conn(&n->host[0]), NULL};
	struct vb_cm_request r = cm_request(&n->host[0], &n->host[1]);
	struct vb_cm_reply_param rep = cm_reply_param(&n->host[1]);

	r.path = lid_path(n, 0, 0x10);
	if (with_alternate) {
		r.alt_path = lid_path(n, 0, 0x20);
		r.alt_rate = 7;
		r.alt_packet_lifetime = 13;
	}
	assert_int_equal(vb_cm_connect(p.active, &r, n->now), 0);
	cm_settle(n);
	p.passive = cm_message(&n->host[1], VB_CM_REQ).conn;
	assert_int_equal(vb_cm_reply(p.passive, &rep, n->now), 0);
	cm_settle(n);
	cm_message(&n->host[0], VB_CM_REP);
	assert_int_equal(vb_cm_ready(p.active, NULL), 0);
	cm_settle(n);
	cm_message(&n->host[1], VB_CM_RTU);
	return p;
}

static struct vb_cm_alternate alternate(const struct cm_net *n, int from, uint16_t base)
{
	return (struct vb_cm_alternate){.path = lid_path(n, from, base),
					.rate = 3,
					.packet_lifetime = 14,
					.cm_timeout = CM_CODE,
					.private_data = {"please", 6}};
}

/* @c of host @who has the path with the LIDs from @base on as its alternate. */
static void expect_alternate(const struct cm_net *n, const struct vb_cm_conn *c, int who,
			     uint16_t base, uint8_t rate)
{
	const struct vb_cm_alt *alt = &vb_cm_conn_qp(c)->alt;
	struct vb_path path = lid_path(n, who, base);

	assert_true(vb_path_same_ends(&alt->path, &path));
	assert_int_equal(alt->path.sl, path.sl);
	assert_int_equal(alt->rate, rate);
}

static void expect_none(const struct vb_cm_conn *c)
{
	assert_false(vb_path_has_lid(&vb_cm_conn_qp(c)->alt.path));
}

/* A message of @from's to the other one, as if it came by @path. */
static void inject(struct cm_net *n, int to, const struct vb_path *path, struct vb_cm_msg *m)
{
	uint8_t mad[VB_MAD_LEN];

	vb_cm_msg_emit(m, mad);
	vb_cm_handle_mad(n->host[to].cm, path, mad, n->now);
}

static void req__brings_an_alternate_path(void **state)
{
	struct cm_net n;
	struct cm_pair p;
	const struct vb_cm_route *r;

	(void)state;
	cm_open(&n, 0);
	p = connect_ib(&n, true);
	r = &cm_last(&n, VB_CM_REQ)->msg.req.alternate;
	assert_true(r->local_lid == 0x20 && r->remote_lid == 0x21 && r->subnet_local == 1);
	assert_int_equal(r->ack_timeout, vb_cm_ack_timeout(15, 13));
	expect_alternate(&n, p.active, 0, 0x20, 7);
	expect_alternate(&n, p.passive, 1, 0x20, 7);
	assert_int_equal(vb_cm_conn_qp(p.passive)->alt.ack_timeout, r->ack_timeout);
	assert_false(vb_cm_conn_has_lap(p.active));
	assert_int_equal(cm_last(&n, VB_CM_REP)->msg.rep.failover, VB_CM_FAILOVER_ACCEPTED);
	cm_close(&n);

	cm_open(&n, 0);
	p = connect_ib(&n, false);
	expect_none(p.active);
	expect_none(p.passive);
	cm_close(&n);
}

/* An alternate path that leads through a router is no use here, and the REP says so; one without
 * LIDs of ports, or to somebody else's GID, is refused. CMP-17 */
static void req__with_a_path_that_is_none(void **state)
{
	static const struct {
		uint16_t local, remote, reason;
		uint8_t gid;
	} rows[] = {{0x20, 0, VB_CM_REJ_INVALID_ALT_LID, 0},
		    {0, 0x21, VB_CM_REJ_INVALID_ALT_LID, 0},
		    {0xc000, 0x21, VB_CM_REJ_INVALID_ALT_LID, 0},
		    {0x20, 0xffff, VB_CM_REJ_INVALID_ALT_LID, 0},
		    {0x20, 0x21, VB_CM_REJ_INVALID_ALT_GID, 1}};
	struct vb_cm_reply_param rep;
	struct vb_cm_msg m;
	struct cm_net n;
	struct vb_path path;
	struct vb_cm_conn *c;

	(void)state;
	cm_open(&n, 0);
	(void)connect_ib(&n, true);
	m = cm_last(&n, VB_CM_REQ)->msg;
	path = lid_path(&n, 0, 0x10);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct vb_cm_msg bad = m;

		bad.local_id = 0x700 + (uint32_t)i;
		bad.req.qpn = 0x900 + (uint32_t)i;
		bad.req.alternate.local_lid = rows[i].local;
		bad.req.alternate.remote_lid = rows[i].remote;
		bad.req.alternate.remote_gid.b[3] = rows[i].gid;
		inject(&n, 1, &path, &bad);
		cm_settle(&n);
		assert_int_equal(cm_last(&n, VB_CM_REJ)->msg.rej.reason, rows[i].reason);
	}
	m.local_id = 0x800;
	m.req.qpn = 0xa00;
	m.req.alternate.subnet_local = 0;
	m.req.alternate.local_lid = m.req.alternate.remote_lid = 0xffff;
	inject(&n, 1, &path, &m);
	c = cm_message(&n.host[1], VB_CM_REQ).conn;
	expect_none(c);
	rep = cm_reply_param(&n.host[1]);
	assert_int_equal(vb_cm_reply(c, &rep, n.now), 0);
	cm_settle(&n);
	assert_int_equal(cm_last(&n, VB_CM_REP)->msg.rep.failover, VB_CM_FAILOVER_UNSUPPORTED);
	cm_close(&n);
}

/* A peer that does not take the path leaves the connection without one. IBA 12.7.24 */
static void rep__without_failover(void **state)
{
	struct cm_net n;
	struct vb_cm_conn *active;
	struct vb_cm_request r;
	struct vb_path back;
	struct vb_cm_msg rep = {.attr = VB_CM_REP, .local_id = 0x55};

	(void)state;
	cm_open(&n, 0);
	active = cm_conn(&n.host[0]);
	r = cm_request(&n.host[0], &n.host[1]);
	r.path = lid_path(&n, 0, 0x10);
	r.alt_path = lid_path(&n, 0, 0x20);
	n.lose = cm_bit(VB_CM_REQ);
	assert_int_equal(vb_cm_connect(active, &r, n.now), 0);
	cm_settle(&n);
	rep.tid = cm_last(&n, VB_CM_REQ)->msg.tid;
	rep.remote_id = vb_cm_conn_id(active);
	rep.rep = (struct vb_cm_rep){.ca_guid = 9, .qpn = 0x31, .failover = VB_CM_FAILOVER_REFUSED};
	back = lid_path(&n, 1, 0x10);
	inject(&n, 0, &back, &rep);
	cm_message(&n.host[0], VB_CM_REP);
	expect_none(active);
	cm_close(&n);
}

static void lap__loads_a_path(void **state)
{
	struct vb_cm_alternate a;
	struct vb_cm_event ev;
	struct cm_net n;
	struct cm_pair p;

	(void)state;
	cm_open(&n, 0);
	p = connect_ib(&n, false);
	a = alternate(&n, 0, 0x20);
	assert_int_equal(vb_cm_load_alternate(p.active, &a, n.now), 0);
	/* One at a time. */
	assert_int_equal(vb_cm_load_alternate(p.active, &a, n.now), -EINVAL);
	cm_settle(&n);
	ev = cm_message(&n.host[1], VB_CM_LAP);
	assert_true(ev.conn == p.passive);
	assert_int_equal(ev.msg.lap.remote_qpn, 0x42);
	assert_int_equal(ev.msg.lap.remote_cm_timeout, CM_CODE);
	assert_memory_equal(ev.msg.private_data, "please", 6);
	assert_int_equal(ev.msg.tid, (uint64_t)2 << 32 | vb_cm_conn_id(p.active)); /* CMP-02 */
	expect_none(p.passive);
	assert_int_equal(vb_cm_answer_alternate(p.passive, VB_CM_APR_LOADED, NULL,
						&(struct vb_cm_private){"yes", 3}),
			 0);
	assert_int_equal(vb_cm_answer_alternate(p.passive, VB_CM_APR_LOADED, NULL, NULL), -EINVAL);
	cm_settle(&n);
	ev = cm_message(&n.host[0], VB_CM_APR);
	assert_int_equal(ev.msg.apr.status, VB_CM_APR_LOADED);
	assert_memory_equal(ev.msg.private_data, "yes", 3);
	assert_int_equal(ev.msg.tid, (uint64_t)2 << 32 | vb_cm_conn_id(p.active));
	expect_alternate(&n, p.active, 0, 0x20, 3);
	expect_alternate(&n, p.passive, 1, 0x20, 3);
	assert_true(vb_cm_conn_has_lap(p.active) && vb_cm_conn_has_lap(p.passive));
	/* Another one, from the other side. */
	a = alternate(&n, 1, 0x30);
	assert_int_equal(vb_cm_load_alternate(p.passive, &a, n.now), 0);
	cm_settle(&n);
	cm_message(&n.host[0], VB_CM_LAP);
	assert_int_equal(vb_cm_answer_alternate(p.active, VB_CM_APR_LOADED, NULL, NULL), 0);
	cm_settle(&n);
	cm_message(&n.host[1], VB_CM_APR);
	expect_alternate(&n, p.active, 0, 0x30, 3);
	expect_alternate(&n, p.passive, 1, 0x30, 3);
	cm_assert_states(&p, VB_CM_STATE_ESTABLISHED, VB_CM_STATE_ESTABLISHED);
	cm_close(&n);
}

/* The consumer refuses, with words; the connection goes on as it was, and it may be asked again. */
static void lap__is_refused_by_the_consumer(void **state)
{
	struct vb_cm_alternate a;
	struct vb_cm_event ev;
	struct cm_net n;
	struct cm_pair p;

	(void)state;
	cm_open(&n, 0);
	p = connect_ib(&n, true);
	a = alternate(&n, 0, 0x30);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(vb_cm_load_alternate(p.active, &a, n.now), 0);
		cm_settle(&n);
		cm_message(&n.host[1], VB_CM_LAP);
		assert_int_equal(vb_cm_answer_alternate(p.passive, VB_CM_APR_REJECT,
							&(struct vb_cm_private){"why", 3}, NULL),
				 0);
		cm_settle(&n);
		ev = cm_message(&n.host[0], VB_CM_APR);
		assert_int_equal(ev.msg.apr.status, VB_CM_APR_REJECT);
		assert_int_equal(ev.msg.apr.info_len, 3);
		expect_alternate(&n, p.active, 0, 0x20, 7);
		expect_alternate(&n, p.passive, 1, 0x20, 7);
	}
	cm_close(&n);
}

/* Mistakes that no consumer need be asked about. IBA 12.8.2 */
static void lap__that_is_wrong_is_answered(void **state)
{
	struct vb_cm_msg m, bad;
	struct cm_net n;
	struct cm_pair p;
	struct vb_path path;
	struct vb_cm_alternate a;
	struct vb_cm_route current;

	(void)state;
	cm_open(&n, 0);
	p = connect_ib(&n, false);
	current = cm_last(&n, VB_CM_REQ)->msg.req.primary;
	a = alternate(&n, 0, 0x20);
	n.lose = cm_bit(VB_CM_LAP);
	assert_int_equal(vb_cm_load_alternate(p.active, &a, n.now), 0);
	cm_settle(&n);
	m = cm_last(&n, VB_CM_LAP)->msg;
	path = lid_path(&n, 0, 0x10);
	n.lose = cm_bit(VB_CM_APR);
	for (int i = 0; i < 5; i++) {
		static const uint8_t status[] = {VB_CM_APR_INVALID_QPN, VB_CM_APR_INVALID_GID,
						 VB_CM_APR_INVALID_LID, VB_CM_APR_INVALID_LID,
						 VB_CM_APR_IS_CURRENT};

		bad = m;
		if (i == 0)
			bad.lap.remote_qpn++;
		else if (i == 1)
			bad.lap.alternate.remote_gid.b[5] = 1;
		else if (i == 2)
			bad.lap.alternate.remote_lid = 0;
		else if (i == 3)
			bad.lap.alternate.subnet_local = 0;
		else
			bad.lap.alternate = current;
		inject(&n, 1, &path, &bad);
		cm_settle(&n);
		assert_int_equal(cm_last(&n, VB_CM_APR)->msg.apr.status, status[i]);
		cm_no_event(&n.host[1]);
		expect_none(p.passive);
	}
	assert_int_equal(cm_sent_by(&n, &n.host[1], VB_CM_APR), 5);
	/* By a path that is not the connection's, it is nobody's. */
	path.slid = 0x99;
	inject(&n, 1, &path, &m);
	assert_int_equal(vb_cm_counters(n.host[1].cm)->rx_unmatched, 1);
	cm_no_event(&n.host[1]);
	cm_close(&n);
}

/* LAPs and APRs are lost: the LAP is repeated, and the answer is given again. */
static void lap__is_repeated(void **state)
{
	struct vb_cm_alternate a;
	struct cm_net n;
	struct cm_pair p;

	(void)state;
	cm_open(&n, 0);
	p = connect_ib(&n, false);
	a = alternate(&n, 0, 0x20);
	n.lose = cm_bit(VB_CM_LAP);
	assert_int_equal(vb_cm_load_alternate(p.active, &a, n.now), 0);
	cm_advance(&n, 10 * VB_SEC);
	assert_int_equal(cm_sent_by(&n, &n.host[0], VB_CM_LAP), 3);
	n.lose = cm_bit(VB_CM_APR);
	cm_advance(&n, 10 * VB_SEC);
	cm_message(&n.host[1], VB_CM_LAP);
	cm_no_event(&n.host[1]); /* duplicates are silent: CMP-26 */
	assert_int_equal(vb_cm_answer_alternate(p.passive, VB_CM_APR_LOADED, NULL, NULL), 0);
	cm_settle(&n);
	n.lose = 0;
	cm_advance(&n, 10 * VB_SEC);
	assert_int_equal(cm_message(&n.host[0], VB_CM_APR).msg.apr.status, VB_CM_APR_LOADED);
	cm_no_event(&n.host[1]);
	assert_true(cm_sent_by(&n, &n.host[1], VB_CM_APR) >= 2);
	expect_alternate(&n, p.active, 0, 0x20, 3);
	/* Nothing is repeated any more. */
	uint32_t sent = n.sent_cnt;

	cm_advance(&n, 100 * VB_SEC);
	assert_int_equal(n.sent_cnt, sent);
	cm_close(&n);
}

/* Nobody answers: the consumer hears so, and the connection stays. */
static void lap__is_never_answered(void **state)
{
	struct vb_cm_alternate a;
	struct vb_cm_event ev;
	struct cm_net n;
	struct cm_pair p;

	(void)state;
	cm_open(&n, 0);
	p = connect_ib(&n, false);
	a = alternate(&n, 0, 0x20);
	n.lose = cm_bit(VB_CM_LAP);
	assert_int_equal(vb_cm_load_alternate(p.active, &a, n.now), 0);
	cm_advance(&n, 1000 * VB_SEC);
	ev = cm_event(&n.host[0], VB_CM_EVENT_UNREACHABLE);
	assert_int_equal(ev.msg.attr, VB_CM_LAP);
	assert_int_equal(cm_sent_by(&n, &n.host[0], VB_CM_LAP), 16);
	cm_assert_states(&p, VB_CM_STATE_ESTABLISHED, VB_CM_STATE_ESTABLISHED);
	expect_none(p.active);
	n.lose = 0;
	assert_int_equal(vb_cm_load_alternate(p.active, &a, n.now), 0);
	cm_settle(&n);
	cm_message(&n.host[1], VB_CM_LAP);
	cm_close(&n);
}

/* The peer asks for patience: MRA with 2, and the wait is as long as it says. CMP-12 */
static void lap__waits_as_the_peer_asks(void **state)
{
	struct vb_cm_alternate a;
	struct cm_net n;
	struct cm_pair p;
	uint32_t laps;

	(void)state;
	cm_open(&n, 0);
	p = connect_ib(&n, false);
	assert_int_equal(vb_cm_delay(p.passive, 24), -EINVAL);
	a = alternate(&n, 0, 0x20);
	assert_int_equal(vb_cm_load_alternate(p.active, &a, n.now), 0);
	cm_settle(&n);
	cm_message(&n.host[1], VB_CM_LAP);
	assert_int_equal(vb_cm_delay(p.passive, 24), 0);
	cm_advance(&n, 6 * VB_SEC); /* the LAP comes again, and draws the MRA */
	assert_int_equal(cm_last(&n, VB_CM_MRA)->msg.mra.about, VB_CM_ABOUT_OTHER);
	assert_int_equal(cm_last(&n, VB_CM_MRA)->msg.mra.service_timeout, 24);
	laps = cm_sent_by(&n, &n.host[0], VB_CM_LAP);
	assert_int_equal(laps, 2);
	cm_advance(&n, 60 * VB_SEC);
	assert_int_equal(cm_sent_by(&n, &n.host[0], VB_CM_LAP), laps);
	assert_int_equal(vb_cm_answer_alternate(p.passive, VB_CM_APR_LOADED, NULL, NULL), 0);
	cm_settle(&n);
	cm_message(&n.host[0], VB_CM_APR);
	expect_alternate(&n, p.active, 0, 0x20, 3);
	cm_close(&n);
}

/* The connection ends while a LAP is under way: its answer comes too late. */
static void lap__ends_with_its_connection(void **state)
{
	struct vb_cm_alternate a;
	struct cm_net n;
	struct cm_pair p;

	(void)state;
	cm_open(&n, 0);
	p = connect_ib(&n, false);
	a = alternate(&n, 0, 0x20);
	assert_int_equal(vb_cm_load_alternate(p.active, &a, n.now), 0);
	cm_settle(&n);
	cm_message(&n.host[1], VB_CM_LAP);
	assert_int_equal(vb_cm_disconnect(p.active, NULL, n.now), 0);
	cm_settle(&n);
	cm_message(&n.host[1], VB_CM_DREQ);
	assert_int_equal(vb_cm_answer_alternate(p.passive, VB_CM_APR_LOADED, NULL, NULL), -EINVAL);
	assert_int_equal(vb_cm_load_alternate(p.active, &a, n.now), -EINVAL);
	cm_close(&n);
}

/* A REJ ends an established connection, unless a LAP was carried out, as with the kernel. CMP-16 */
static void rej__after_a_lap(void **state)
{
	for (int has_lap = 0; has_lap < 2; has_lap++) {
		struct cm_net n;
		struct cm_pair p;
		struct vb_path back;
		struct vb_cm_msg rej = {.attr = VB_CM_REJ};

		(void)state;
		cm_open(&n, 0);
		p = connect_ib(&n, false);
		if (has_lap) {
			struct vb_cm_alternate a = alternate(&n, 0, 0x20);

			assert_int_equal(vb_cm_load_alternate(p.active, &a, n.now), 0);
			cm_settle(&n);
			cm_message(&n.host[1], VB_CM_LAP);
			assert_int_equal(
			    vb_cm_answer_alternate(p.passive, VB_CM_APR_LOADED, NULL, NULL), 0);
			cm_settle(&n);
			cm_message(&n.host[0], VB_CM_APR);
		}
		rej.local_id = vb_cm_conn_id(p.passive);
		rej.remote_id = vb_cm_conn_id(p.active);
		rej.rej = (struct vb_cm_rej){.about = VB_CM_ABOUT_OTHER, .reason = 28};
		back = lid_path(&n, 1, 0x10);
		inject(&n, 0, &back, &rej);
		assert_int_equal(vb_cm_conn_state(p.active),
				 has_lap ? VB_CM_STATE_ESTABLISHED : VB_CM_STATE_TIMEWAIT);
		cm_close(&n);
	}
}

/* After the QPs have migrated messages go by the other path, and come by either. */
static void migrate__takes_the_messages_along(void **state)
{
	struct cm_net n;
	struct cm_pair p;

	(void)state;
	cm_open(&n, 0);
	p = connect_ib(&n, false);
	assert_int_equal(vb_cm_migrate(p.active), -EINVAL); /* to where? */
	cm_close(&n);

	cm_open(&n, 0);
	p = connect_ib(&n, true);
	assert_int_equal(vb_cm_migrate(p.active), 0);
	expect_alternate(&n, p.active, 0, 0x10, 0);
	assert_int_equal(vb_cm_disconnect(p.active, NULL, n.now), 0);
	cm_settle(&n);
	assert_int_equal(cm_last(&n, VB_CM_DREQ)->path.dlid, 0x21);
	cm_message(&n.host[1], VB_CM_DREQ);
	assert_int_equal(vb_cm_disconnect(p.passive, NULL, n.now), 0);
	cm_settle(&n);
	assert_int_equal(cm_last(&n, VB_CM_DREP)->path.dlid, 0x10);
	cm_message(&n.host[0], VB_CM_DREP);
	cm_close(&n);
}

/* Without memory for its event a LAP counts as lost. */
static void lap__without_memory(void **state)
{
	struct vb_cm_alternate a;
	struct cm_net n;
	struct cm_pair p;

	(void)state;
	cm_open(&n, 0);
	p = connect_ib(&n, false);
	a = alternate(&n, 0, 0x20);
	n.host[1].fail_at = n.host[1].calls + 1;
	assert_int_equal(vb_cm_load_alternate(p.active, &a, n.now), 0);
	cm_settle(&n);
	cm_no_event(&n.host[1]);
	cm_advance(&n, 6 * VB_SEC);
	cm_message(&n.host[1], VB_CM_LAP);
	cm_close(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(req__brings_an_alternate_path),
	    cmocka_unit_test(req__with_a_path_that_is_none),
	    cmocka_unit_test(rep__without_failover),
	    cmocka_unit_test(lap__loads_a_path),
	    cmocka_unit_test(lap__is_refused_by_the_consumer),
	    cmocka_unit_test(lap__that_is_wrong_is_answered),
	    cmocka_unit_test(lap__is_repeated),
	    cmocka_unit_test(lap__is_never_answered),
	    cmocka_unit_test(lap__waits_as_the_peer_asks),
	    cmocka_unit_test(lap__ends_with_its_connection),
	    cmocka_unit_test(rej__after_a_lap),
	    cmocka_unit_test(migrate__takes_the_messages_along),
	    cmocka_unit_test(lap__without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
