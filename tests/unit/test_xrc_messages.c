/* SPDX-License-Identifier: BSD-2-Clause */
/* What the messages about a target whose responder has migrated say, and in which order what they
 * carry is done. */
#include "xrc_env.h"

/* What asks for the state back carries no packet. */
static void recall__with_a_packet(void **state)
{
	static struct {
		struct vb_xrc_msg head;
		uint8_t pkt[VB_HDR_MAX + 8];
	} m;
	struct vb_hdr h = {.opcode = VB_TRANSPORT_XRC | VB_OP_SEND_ONLY, .pkey = VB_PKEY_DEFAULT};
	struct vb_qp *holder;
	struct vb_wc wc;

	(void)state;
	world_open_migrated();
	post_srq(LEFT, 1, 2);
	while (vb_cq_poll(w.env[LEFT].cq, &wc, 1))
		continue;
	holder = vb_container_of(w.xrcd[LEFT]->targets.next, struct vb_qp, target);
	h.xrc_srqn = vb_srq_number(w.srq[LEFT]);
	h.dqpn = w.tgt->qpn;
	h.psn = holder->resp.epsn;
	m.head = (struct vb_xrc_msg){.magic = VB_XRC_MAGIC,
				     .kind = VB_XRC_RECALL,
				     .qpn = w.tgt->qpn,
				     .serial = w.tgt->mig->serial,
				     .name = w.xrcd[LEFT]->name};
	m.head.pkt_len = (uint32_t)vb_hdr_emit(&h, m.pkt) + 8;
	assert_int_equal(vb_xrc_take_message(w.env[LEFT].hca, FIRST_SLOT + OWNER, &m,
					     sizeof m.head + m.head.pkt_len, 1),
			 0);
	assert_int_equal(vb_cq_poll(w.env[LEFT].cq, &wc, 1), 0);
	world_run(VB_NEVER);
	assert_int_equal(vb_cq_poll(w.env[LEFT].cq, &wc, 1), 0);
	assert_false(w.tgt->mig->is_migrated);
	assert_int_equal(vb_qp_get_state(w.tgt), VB_QPS_RTR);
	world_close();
}

/* With the state come events of the errors that a responder finds, and of no other kind. */
static void return__with_events(void **state)
{
	const uint32_t seen =
	    1u << VB_ASYNC_QP_FATAL | 1u << VB_ASYNC_QP_REQ_ERR | 1u << VB_ASYNC_QP_ACCESS_ERR;
	struct vb_xrc_msg *m;
	struct env *e;

	(void)state;
	world_open_migrated();
	e = &w.env[LEFT];
	vb_xrc_probe(e->hca, e->now);
	vb_xrc_probe(e->hca, e->now);
	(void)vb_xrc_run(e->hca, e->now);
	assert_true(w.cnt[OWNER] > 0);
	m = (struct vb_xrc_msg *)(void *)w.queue[OWNER][(w.head[OWNER] + w.cnt[OWNER] - 1) % QUEUE]
		.bytes;
	assert_int_equal(m->kind, VB_XRC_RETURN);
	m->events = UINT32_MAX;
	w.events[OWNER] = 0;
	world_run(VB_NEVER);
	assert_int_equal(w.events[OWNER], seen);
	world_close();
}

/* What a holder met in an earlier migration is not told with the state of a later one. */
static void return__without_events_of_an_earlier_migration(void **state)
{
	struct migration_msg again;
	struct vb_xrc_msg *m = (struct vb_xrc_msg *)(void *)again.bytes;
	struct vb_qp *holder;
	struct env *e;

	(void)state;
	world_open_migrated();
	e = &w.env[LEFT];
	again = w.queue[LEFT][0]; /* taken long ago */
	assert_int_equal(m->kind, VB_XRC_MIGRATE);
	holder = vb_container_of(w.xrcd[LEFT]->targets.next, struct vb_qp, target);
	vb_qp_fatal(holder, e->now);
	assert_true(holder->mig->events & 1u << VB_ASYNC_QP_FATAL);
	/* Before the holder says so, the state comes once more. */
	m->serial = ++w.tgt->mig->serial;
	post_srq(LEFT, 1, 2);
	assert_int_equal(
	    vb_xrc_take_message(e->hca, FIRST_SLOT + OWNER, again.bytes, again.len, e->now), 0);
	assert_int_equal(vb_qp_get_state(holder), VB_QPS_RTR);
	w.events[OWNER] = 0;
	vb_xrc_give_back(e->hca, e->now);
	world_run(VB_NEVER);
	assert_false(w.tgt->mig->is_migrated);
	assert_int_equal(w.events[OWNER], 0);
	assert_int_equal(vb_qp_get_state(w.tgt), VB_QPS_RTR);
	world_close();
}

/* While a packet is kept, those that come later wait behind it, whatever room there is by then. */
static void keep__in_order(void **state)
{
	(void)state;
	world_open_migrated();
	w.room = 1;
	for (uint32_t i = 0; i < 3; i++) {
		post_srq(LEFT, 1 + i, i);
		post(LEFT, VB_WR_SEND, 0, 0, 8);
		(void)host_step(INI, w.env[INI].now + 1);
		assert_int_equal(w.cnt[LEFT], 1);
		assert_int_equal(w.tgt->mig->cnt, i);
		if (i == 1)
			w.room = QUEUE;
	}
	world_run(VB_NEVER);
	assert_int_equal(done_cnt(VB_WC_SUCCESS), 3);
	world_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(recall__with_a_packet),
	    cmocka_unit_test(return__with_events),
	    cmocka_unit_test(return__without_events_of_an_earlier_migration),
	    cmocka_unit_test(keep__in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
