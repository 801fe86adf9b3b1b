/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of a responder that migrates to another adapter: it is the same there.
 * core/share/migration.h; IBT-22 */
#include "xrc_env.h"

/* A state that migrates is the same there, and one that no responder has is refused. */
static void state__travels_whole(void **state)
{
	static struct vb_xrc_state s;
	const struct {
		uint32_t *at, bad;
	} field[] = {{&s.state, VB_QPS_RTS},         {&s.epsn, VB_PSN_MASK + 1},
		     {&s.msg, VB_MSG_WRITE + 1},     {&s.nak_syndrome, UINT8_MAX + 1},
		     {&s.ack_psn, VB_PSN_MASK + 1},  {&s.dropped, VB_PSN_MASK + 1},
		     {&s.resp_state, VB_RESP_FAILS}, {&s.resp_state, VB_RESP_STATES}};
	struct vb_responder *r, was;

	(void)state;
	world_open();
	r = &w.tgt->resp;
	was = *r;
	was.epsn = vb_psn(11);
	was.msn = 12;
	was.msg = VB_MSG_WRITE;
	was.va = 13;
	was.left = 14;
	was.rcvd = 15;
	was.rkey = 16;
	was.srqn = 17;
	was.state = VB_RESP_REFUSES;
	was.ack_due = true;
	was.nak_syndrome = VB_NAK_PSN_SEQ;
	was.ack_psn = vb_psn(18);
	was.dropped = vb_psn(19);
	*r = was;
	vb_xrc_state_put(w.tgt, &s);
	r->epsn = r->ack_psn = r->dropped = vb_psn(0);
	r->msn = r->rkey = r->srqn = 0;
	r->va = r->left = r->rcvd = 0;
	r->msg = VB_MSG_NONE;
	r->state = VB_RESP_IN_ORDER;
	r->ack_due = false;
	r->nak_syndrome = 0;
	assert_int_equal(vb_xrc_state_take(w.tgt, &s, sizeof s, 1), 0);
	assert_memory_equal(r, &was, sizeof was);

	for (size_t i = 0; i < sizeof field / sizeof field[0]; i++) {
		uint32_t good = *field[i].at;

		*field[i].at = field[i].bad;
		assert_int_equal(vb_xrc_state_take(w.tgt, &s, sizeof s, 1), -EPROTO);
		*field[i].at = good;
	}
	assert_int_equal(vb_xrc_state_take(w.tgt, &s, sizeof s - 1, 1), -EPROTO);
	assert_memory_equal(r, &was, sizeof was);

	/* A responder that has failed has sent its NAK. */
	s.state = VB_QPS_ERR;
	assert_int_equal(vb_xrc_state_take(w.tgt, &s, sizeof s, 1), 0);
	assert_int_equal(vb_qp_get_state(w.tgt), VB_QPS_ERR);
	assert_false(vb_resp_owes_nak(r));
	world_close();
}

/* A NAK that was owed where the state comes from is sent where it goes to. */
static void state__owes_a_nak(void **state)
{
	static struct vb_xrc_state s;
	struct vb_tx_batch b;
	struct vb_responder *r;

	(void)state;
	world_open();
	r = &w.tgt->resp;
	vb_resp_owe_nak(r, VB_RESP_REFUSES, VB_NAK_PSN_SEQ);
	vb_xrc_state_put(w.tgt, &s);
	r->state = VB_RESP_IN_ORDER;
	r->nak_syndrome = 0;
	assert_int_equal(vb_hca_poll_transmit(w.tgt->hca, &b, 1), 0);
	assert_int_equal(vb_xrc_state_take(w.tgt, &s, sizeof s, 1), 0);
	assert_true(vb_resp_owes_nak(r));
	assert_int_equal(vb_hca_poll_transmit(w.tgt->hca, &b, 1), 1);
	world_close();
}

/* An answered request is answered again there as it was: repeated requests find the answer. */
static void state__keeps_what_was_answered(void **state)
{
	static uint64_t mem[(sizeof(struct vb_xrc_state) + 2 * sizeof(struct vb_xrc_resource)) / 8];
	struct vb_xrc_state *s = (struct vb_xrc_state *)(void *)mem;
	const struct vb_resource was[] = {
	    {.first = vb_psn(1),
	     .pkts = 1,
	     .va = 2,
	     .orig = 3,
	     .rkey = 4,
	     .len = 8,
	     .msn = 5,
	     .srqn = 6,
	     .kind = VB_RESOURCE_ATOMIC},
	    {.first = vb_psn(7), .pkts = 2, .va = 8, .rkey = 9, .len = 300, .msn = 10, .srqn = 11}};
	struct vb_responder *r;

	(void)state;
	world_open();
	r = &w.tgt->resp;
	assert_true(r->res_cap >= 2);
	memcpy(r->res, was, sizeof was);
	r->res_cnt = 2;
	r->res_tail = 2 % r->res_cap;
	assert_int_equal(vb_xrc_state_size(w.tgt), sizeof mem);
	vb_xrc_state_put(w.tgt, s);
	memset(r->res, 0, sizeof was);
	r->res_cnt = r->res_tail = 0;
	assert_int_equal(vb_xrc_state_take(w.tgt, s, sizeof mem, 1), 0);
	assert_true(r->res_cnt == 2 && r->res_tail == 2 % r->res_cap);
	for (int i = 0; i < 2; i++) {
		const struct vb_resource *got = &r->res[i], *a = &was[i];

		assert_true(vb_psn_eq(got->first, a->first) && got->pkts == a->pkts);
		assert_int_equal(got->va, a->va);
		assert_int_equal(got->orig, a->orig);
		assert_true(got->rkey == a->rkey && got->len == a->len);
		assert_true(got->msn == a->msn && got->srqn == a->srqn);
		assert_true(got->kind == a->kind && got->state == VB_RESOURCE_ANSWERED);
	}
	world_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(state__travels_whole),
	    cmocka_unit_test(state__owes_a_nak),
	    cmocka_unit_test(state__keeps_what_was_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
