/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections that outlive the machine that made them: messages that were lost before it ended are
 * repeated by the peer, and answered. CMP-51 */
#include "cm_env.h"

/* The machine of @h is gone, and another one has its connection @c. */
static struct vb_cm_conn *machine_replaced(struct cm_host *h, struct vb_cm_conn *c)
{
	struct vb_cm_saved s;

	vb_cm_conn_save(c, &s);
	vb_cm_destroy(h->cm);
	h->cfg.seed += 100;
	assert_int_equal(vb_cm_create(&h->cm, &h->cfg), 0);
	assert_int_equal(vb_cm_conn_restore(h->cm, NULL, &s, h->net->now, &c), 0);
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
		assert_int_equal(vb_cm_conn_restore(n.host[0].cm, NULL, &s, n.now, &c), 0);
		cm_deliver(&n, cm_last(&n, VB_CM_REP));
		cm_settle(&n);
		cm_close(&n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(restore__repeated_rep_draws_the_rtu),
	    cmocka_unit_test(restore__repeated_dreq_draws_the_drep),
	    cmocka_unit_test(restore__answer_of_no_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
