/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections that outlive the machine that made them: messages that were lost before it ended are
 * repeated by the peer, and answered. CMP-51 */
#include "cm_env.h"

/* The machine of @h is gone, and another one has its connection @c. */
static struct vb_cm_conn *machine_replaced(struct cm_host *h, struct vb_cm_conn *c)
{
	uint8_t rep[VB_MAD_LEN] = {0};
	struct vb_cm_saved s;

	vb_cm_conn_save(c, &s);
	if (vb_cm_conn_rep(c))
		memcpy(rep, vb_cm_conn_rep(c), sizeof rep);
	vb_cm_destroy(h->cm);
	h->cfg.seed += 100;
	assert_int_equal(vb_cm_create(&h->cm, &h->cfg), 0);
	assert_int_equal(vb_cm_conn_restore(h->cm, NULL, &s, rep, h->net->now, &c), 0);
	return c;
}

/* CMP-15 */
static void restore__repeated_rep_draws_the_rtu(void **state)
{
	struct cm_net n;
	struct cm_pair p;
	struct cm_sent first;

	(void)state;
	cm_open(&n, 0);
	p = cm_replied(&n);
	n.lose = cm_bit(VB_CM_RTU);
	assert_int_equal(vb_cm_ready(p.active, NULL), 0);
	cm_settle(&n);
	first = *cm_last(&n, VB_CM_RTU);
	p.active = machine_replaced(&n.host[0], p.active);
	n.lose = 0;
	n.sent_cnt = 0;
	cm_advance(&n, 10 * VB_SEC);
	(void)cm_message(&n.host[1], VB_CM_RTU);
	assert_memory_equal(cm_last(&n, VB_CM_RTU)->mad, first.mad, VB_MAD_LEN);
	cm_assert_states(&p, VB_CM_STATE_ESTABLISHED, VB_CM_STATE_ESTABLISHED);
	cm_close(&n);
}

/* CMP-51: the peer has established it, and its RTU was lost with the machine. */
static void restore__rep_is_repeated_and_draws_the_rtu(void **state)
{
	struct cm_net n;
	struct cm_pair p;
	struct cm_sent first;

	(void)state;
	for (int asks = 0; asks < 2; asks++) {
		cm_open(&n, 0);
		p = cm_replied(&n);
		first = *cm_last(&n, VB_CM_REP);
		if (asks) { /* for patience */
			assert_int_equal(vb_cm_delay(p.active, 20), 0);
			cm_deliver(&n, &first);
			cm_settle(&n);
			assert_int_equal(vb_cm_conn_state(p.passive), VB_CM_STATE_MRA_REP_RCVD);
		}
		n.lose = cm_bit(VB_CM_RTU);
		assert_int_equal(vb_cm_ready(p.active, NULL), 0);
		cm_settle(&n);
		n.lose = 0;
		n.sent_cnt = 0;
		p.passive = machine_replaced(&n.host[1], p.passive);
		cm_settle(&n);
		assert_int_equal(n.sent_cnt, 2);
		assert_memory_equal(n.sent[0].mad, first.mad, VB_MAD_LEN);
		(void)cm_message(&n.host[1], VB_CM_RTU);
		cm_assert_states(&p, VB_CM_STATE_ESTABLISHED, VB_CM_STATE_ESTABLISHED);
		cm_close(&n);
	}
}

/* CMP-51: a REP that is not the connection's is not sent; the peer hears that it was given up. */
static void restore__rep_of_another_is_not_sent(void **state)
{
	(void)state;
	for (int what = 0; what < 5; what++) {
		struct cm_net n;
		struct cm_pair p;
		struct cm_sent rep;
		struct vb_cm_saved s;
		struct vb_cm_conn *c;

		cm_open(&n, 0);
		p = cm_replied(&n);
		rep = *cm_last(&n, VB_CM_REP);
		vb_cm_conn_save(p.passive, &s);
		rep.msg.local_id += what == 1;
		rep.msg.remote_id += what == 2;
		if (what == 3)
			rep.msg.attr = VB_CM_RTU;
		vb_cm_msg_emit(&rep.msg, rep.mad);
		if (what == 4)
			memset(rep.mad, 0, sizeof rep.mad);
		vb_cm_destroy(n.host[1].cm);
		assert_int_equal(vb_cm_create(&n.host[1].cm, &n.host[1].cfg), 0);
		n.sent_cnt = 0;
		assert_int_equal(
		    vb_cm_conn_restore(n.host[1].cm, NULL, &s, what ? rep.mad : NULL, n.now, &c),
		    -ECONNRESET);
		cm_settle(&n);
		assert_int_equal(n.sent_cnt, 1);
		assert_int_equal(n.sent[0].msg.attr, VB_CM_REJ);
		cm_close(&n);
	}
}

/* CMP-19 */
static void restore__repeated_dreq_draws_the_drep(void **state)
{
	struct cm_net n;
	struct cm_pair p;
	struct cm_sent first;

	(void)state;
	cm_open(&n, 0);
	p = cm_established(&n);
	n.lose = cm_bit(VB_CM_DREP);
	assert_int_equal(vb_cm_disconnect(p.active, NULL, n.now), 0);
	cm_settle(&n);
	(void)cm_message(&n.host[1], VB_CM_DREQ);
	assert_int_equal(vb_cm_disconnect(p.passive, NULL, n.now), 0);
	cm_settle(&n);
	first = *cm_last(&n, VB_CM_DREP);
	/* In timewait, which is over before a DREQ is repeated by itself. */
	p.passive = machine_replaced(&n.host[1], p.passive);
	n.lose = 0;
	cm_deliver(&n, cm_last(&n, VB_CM_DREQ));
	cm_settle(&n);
	(void)cm_message(&n.host[0], VB_CM_DREP);
	assert_memory_equal(cm_last(&n, VB_CM_DREP)->mad, first.mad, VB_MAD_LEN);
	cm_close(&n);
}

/* Nobody need have written the record truly. */
static void restore__answer_of_no_kind(void **state)
{
	struct cm_net n;
	struct cm_pair p;
	struct vb_cm_saved s;
	struct vb_cm_conn *c;

	(void)state;
	for (uint32_t attr = 0; attr <= UINT16_MAX; attr += 3) {
		cm_open(&n, 0);
		p = cm_established(&n);
		vb_cm_conn_save(p.active, &s);
		vb_cm_destroy(n.host[0].cm);
		assert_int_equal(vb_cm_create(&n.host[0].cm, &n.host[0].cfg), 0);
		s.answer = (uint16_t)attr;
		assert_int_equal(vb_cm_conn_restore(n.host[0].cm, NULL, &s, NULL, n.now, &c), 0);
		cm_deliver(&n, cm_last(&n, VB_CM_REP));
		cm_settle(&n);
		cm_close(&n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(restore__repeated_rep_draws_the_rtu),
	    cmocka_unit_test(restore__rep_is_repeated_and_draws_the_rtu),
	    cmocka_unit_test(restore__rep_of_another_is_not_sent),
	    cmocka_unit_test(restore__repeated_dreq_draws_the_drep),
	    cmocka_unit_test(restore__answer_of_no_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
