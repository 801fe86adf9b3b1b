/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Edges of a responder that adapters of one host share: packets that wait, messages told once,
 * senders that may speak, and objects without an owner. core/share/migration.h, open.h; IBT-22
 */
#include "xrc_env.h"

/* The owner has answered LEFT, which has not heard it yet. */
static void open_half(struct vb_xrc_ask *a)
{
	open_begin(a, LEFT);
	while (!w.said[VB_XRC_ANSWER])
		(void)host_step(OWNER, 1);
}

/* The handle gets every event between the answer and its creation. */
static void open_qp__events_while_it_opens(void **state)
{
	struct vb_xrc_ask a;

	(void)state;
	world_open();
	open_half(&a);
	vb_qp_raise(w.tgt, VB_ASYNC_QP_REQ_ERR);
	(void)vb_xrc_run(w.env[OWNER].hca, 1);
	vb_qp_raise(w.tgt, VB_ASYNC_QP_ACCESS_ERR);
	(void)vb_xrc_run(w.env[OWNER].hca, 1);
	(void)open_end(&a);
	settle();
	(void)host_step(LEFT, 1);
	assert_int_equal(w.events[LEFT], 1u << VB_ASYNC_QP_REQ_ERR | 1u << VB_ASYNC_QP_ACCESS_ERR);
	world_close();
}

/* An adapter that is opening the target does not say no to a probe. */
static void open_qp__probed_while_it_opens(void **state)
{
	struct vb_xrc_ask a;
	struct vb_qp *left;

	(void)state;
	world_open();
	open_half(&a);
	vb_xrc_probe(w.env[OWNER].hca, 1);
	assert_int_equal(w.said[VB_XRC_STILL], 1);
	left = open_end(&a);
	assert_int_equal(w.said[VB_XRC_CLOSE], 0);
	assert_int_equal(vb_qp_destroy(w.tgt), 0);
	assert_int_equal(w.env[OWNER].hca->qp_cnt, 1);
	assert_int_equal(vb_qp_destroy(left), 0);
	settle();
	assert_int_equal(w.env[OWNER].hca->qp_cnt, 0);
	world_close();
}

/* An adapter that closes its handle holds the target no more, however often it asked. */
static void close__of_one_that_asked_often(void **state)
{
	struct vb_xrc_ask a = {.opens = false};
	struct vb_qp *left;

	(void)state;
	world_open();
	left = open_at(LEFT);
	vb_xrc_ask_begin(&a, w.xrcd[LEFT], w.tgt->qpn);
	vb_xrc_ask_again(&a);
	settle();
	vb_xrc_ask_end(&a);
	vb_xrc_probe(w.env[LEFT].hca, 1);
	settle();
	assert_int_equal(w.said[VB_XRC_HOLD], 1);
	assert_int_equal(vb_qp_destroy(left), 0);
	settle();
	assert_int_equal(vb_qp_destroy(w.tgt), 0);
	assert_int_equal(w.env[OWNER].hca->qp_cnt, 0);
	world_close();
}

/* A handle whose target has ended no longer says that it holds it, and goes silently. */
static void probe__of_a_handle_that_has_ended(void **state)
{
	struct vb_qp *left;

	(void)state;
	world_open();
	left = open_at(LEFT);
	w.gone[OWNER] = true;
	vb_xrc_probe(w.env[LEFT].hca, 1);
	settle();
	assert_int_equal(w.events[LEFT], 1u << VB_ASYNC_QP_FATAL);
	w.gone[OWNER] = false;
	memset(w.said, 0, sizeof w.said);
	vb_xrc_probe(w.env[LEFT].hca, 2);
	assert_int_equal(w.said[VB_XRC_HOLD], 0);
	assert_int_equal(vb_qp_destroy(left), 0);
	assert_int_equal(w.said[VB_XRC_CLOSE], 0);
	settle();
	world_close();
}

/* Only the owner's events of a target count. */
static void event__from_another_adapter(void **state)
{
	struct vb_xrc_msg m = {.magic = VB_XRC_MAGIC, .events = 1u << VB_ASYNC_QP_REQ_ERR};

	(void)state;
	world_open();
	(void)open_at(LEFT);
	m.qpn = w.tgt->qpn;
	m.name = w.xrcd[OWNER]->name;
	for (uint32_t from = RIGHT; from >= OWNER; from--) {
		m.kind = VB_XRC_EVENT;
		(void)vb_xrc_take_message(w.env[LEFT].hca, FIRST_SLOT + from, &m, sizeof m, 1);
		(void)host_step(LEFT, 1);
		assert_int_equal(w.events[LEFT], from == OWNER ? 1u << VB_ASYNC_QP_REQ_ERR : 0);
	}
	world_close();
}

/* Events from before the maker gave the target up, or while nobody had it, are not told to its next
 * owner. */
static void outlives__without_old_events(void **state)
{
	struct vb_event ev;

	(void)state;
	world_open();
	(void)open_at(LEFT);
	vb_qp_raise(w.tgt, VB_ASYNC_QP_REQ_ERR);
	assert_int_equal(vb_qp_destroy(w.tgt), 0);
	vb_qp_raise(w.tgt, VB_ASYNC_QP_FATAL); /* nobody here has it */
	assert_false(vb_hca_poll_event(w.env[OWNER].hca, &ev));
	vb_qp_set_owner(w.tgt, &w.tgt);
	vb_qp_raise(w.tgt, VB_ASYNC_QP_ACCESS_ERR);
	env_event(&w.env[OWNER], VB_EVENT_ASYNC_QP, VB_ASYNC_QP_ACCESS_ERR);
	assert_false(vb_hca_poll_event(w.env[OWNER].hca, &ev));
	settle();
	world_close();
}

/* A request of the initiator, number @psn from where it is, to the SRQ of LEFT. */
static enum vb_verdict arrive(uint32_t psn)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_XRC | VB_OP_SEND_ONLY,
			   .dqpn = w.tgt->qpn,
			   .psn = vb_psn_add(w.ini->req.psn_post, psn),
			   .xrc_srqn = vb_srq_number(w.srq[LEFT])};

	return env_rx(&w.env[OWNER], 1, &h, 8);
}

/* At most VB_XRC_KEPT_MAX packets of a target wait: more are lost, as on the way. */
static void keep__up_to_its_bound(void **state)
{
	(void)state;
	world_open_migrated();
	w.room = 1;
	for (uint32_t i = 0; i <= VB_XRC_KEPT_MAX; i++) /* one has room in the queue */
		assert_int_equal(arrive(i), VB_VERDICT_OK);
	assert_int_equal(w.tgt->mig->cnt, VB_XRC_KEPT_MAX);
	assert_int_equal(arrive(VB_XRC_KEPT_MAX + 1), VB_VERDICT_RESOURCE);
	assert_int_equal(w.tgt->mig->cnt, VB_XRC_KEPT_MAX);
	world_close();
}

/* A packet for another adapter recalls the state once, even if it finds no place to wait: it comes
 * again. */
static void recall__without_a_place_for_the_packet(void **state)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_XRC | VB_OP_SEND_ONLY};
	struct vb_xrc_pool *pool;

	(void)state;
	world_open_migrated();
	pool = w.env[OWNER].hca->xrc_pool;
	assert_int_equal(pool->free, 0);
	pool->used = VB_XRC_POOL; /* by other targets */
	h.dqpn = w.tgt->qpn;
	h.psn = w.ini->req.psn_post;
	h.xrc_srqn = vb_srq_number(w.srq[RIGHT]);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(env_rx(&w.env[OWNER], 1, &h, 8), VB_VERDICT_RESOURCE);
		assert_int_equal(w.said[VB_XRC_RECALL], 1);
	}
	pool->used = 0;
	world_run(VB_NEVER);
	assert_false(w.tgt->mig->is_migrated);
	world_close();
}

/* The owner sends no ACK that is due when the state leaves: its holder does. */
static void migrate__takes_along_what_is_due(void **state)
{
	struct vb_tx_batch b;

	(void)state;
	world_open();
	post_srq(LEFT, 0, 1);
	w.tgt->resp.ack_due = true;
	w.tgt->resp.ack_psn = vb_psn_prev(w.tgt->resp.epsn);
	vb_sched_activate(w.tgt);
	assert_int_equal(arrive(0), VB_VERDICT_OK);
	assert_true(w.tgt->mig->is_migrated);
	assert_int_equal(env_tx(&w.env[OWNER], &b), 0);
	world_close();
}

/* The state comes home: LEFT has a holder without it. */
static void bring_home(void)
{
	for (int i = 0; i < 2; i++) {
		vb_xrc_probe(w.env[LEFT].hca, w.env[LEFT].now);
		world_run(VB_NEVER);
	}
	assert_false(w.tgt->mig->is_migrated);
	assert_int_equal(w.env[LEFT].hca->qp_cnt, 1);
}

/* A holder that missed the end hears of it at its next probe. */
static void reset__is_not_heard_of(void **state)
{
	struct vb_qp_attr a = env_attr(1, 0);

	(void)state;
	world_open_migrated();
	bring_home();
	w.room = 0;
	assert_int_equal(env_modify(&w.env[OWNER], w.tgt, &a, VB_QPS_RESET), 0);
	w.room = 4;
	world_run(VB_NEVER);
	assert_int_equal(w.env[LEFT].hca->qp_cnt, 1);
	vb_xrc_probe(w.env[LEFT].hca, w.env[LEFT].now);
	world_run(VB_NEVER);
	assert_int_equal(w.env[LEFT].hca->qp_cnt, 0);
	world_close();
}

/* A holder follows its target: rights that the target lost are gone there too. */
static void migrate__with_fewer_rights(void **state)
{
	const uint32_t rtr = VB_QP_STATE | VB_QP_AV | VB_QP_PATH_MTU | VB_QP_DEST_QPN |
			     VB_QP_RQ_PSN | VB_QP_MAX_DEST_RD_ATOMIC | VB_QP_MIN_RNR_TIMER;
	struct vb_qp_attr a;

	(void)state;
	world_open_migrated();
	bring_home();
	a = w.tgt->attr;
	w.room = 0; /* the holder hears of nothing */
	assert_int_equal(env_modify(&w.env[OWNER], w.tgt, &a, VB_QPS_RESET), 0);
	w.room = 4;
	a.access &= ~(uint32_t)VB_ACCESS_REMOTE_WRITE;
	a.rq_psn = w.ini->req.psn_post.v;
	assert_int_equal(env_modify(&w.env[OWNER], w.tgt, &a, VB_QPS_INIT), 0);
	a.qp_state = VB_QPS_RTR;
	assert_int_equal(vb_qp_modify(w.tgt, &a, rtr, 0), 0);
	post(LEFT, VB_WR_RDMA_WRITE, 0, 1, 8);
	world_run(VB_NEVER);
	assert_int_equal(done_cnt(VB_WC_REM_INV_REQ_ERR), 1);
	world_close();
}

/* A handle shows its target's last known state. */
static void ask__tells_the_handle(void **state)
{
	struct vb_xrc_ask a = {.opens = false};
	struct vb_qp_attr attr = env_attr(1, 0);
	struct vb_qp *left;

	(void)state;
	world_open();
	left = open_at(LEFT);
	assert_int_equal(env_modify(&w.env[OWNER], w.tgt, &attr, VB_QPS_RESET), 0);
	vb_qp_query(left, &attr);
	assert_int_equal(attr.qp_state, VB_QPS_RTR);
	vb_xrc_ask_begin(&a, w.xrcd[LEFT], w.tgt->qpn);
	vb_xrc_ask_again(&a);
	settle();
	vb_xrc_ask_end(&a);
	vb_qp_query(left, &attr);
	assert_int_equal(attr.qp_state, VB_QPS_RESET);
	world_close();
}

/* A late question, older than the last one carried out, changes nothing. */
static void ask__of_before_the_last_one(void **state)
{
	const uint32_t init = VB_QP_STATE | VB_QP_PKEY_INDEX | VB_QP_PORT | VB_QP_ACCESS_FLAGS;
	struct vb_xrc_ask first = {.mask = init}, second;
	struct vb_qp_attr attr = env_attr(1, 0);

	(void)state;
	world_open();
	(void)open_at(LEFT);
	assert_int_equal(env_modify(&w.env[OWNER], w.tgt, &attr, VB_QPS_RESET), 0);
	first.attr = w.tgt->attr;
	first.attr.port = 1;
	first.attr.qp_state = VB_QPS_INIT;
	second = first;
	first.attr.access = VB_ACCESS_REMOTE_READ;
	second.attr.access = VB_ACCESS_REMOTE_WRITE;
	vb_xrc_ask_begin(&first, w.xrcd[LEFT], w.tgt->qpn);
	vb_xrc_ask_begin(&second, w.xrcd[LEFT], w.tgt->qpn);
	vb_xrc_ask_again(&second);
	settle();
	assert_int_equal(second.err, 0);
	vb_xrc_ask_again(&first);
	settle();
	assert_int_equal(w.tgt->attr.access, VB_ACCESS_REMOTE_WRITE);
	vb_xrc_ask_end(&first);
	vb_xrc_ask_end(&second);
	world_close();
}

/* The program hears once that a target is over. */
static void over__is_told_once(void **state)
{
	struct vb_xrc_msg m = {.magic = VB_XRC_MAGIC, .kind = VB_XRC_OVER};

	(void)state;
	world_open();
	(void)open_at(LEFT);
	m.qpn = w.tgt->qpn;
	m.name = w.xrcd[OWNER]->name;
	for (int i = 0; i < 2; i++) {
		w.events[LEFT] = 0;
		(void)vb_xrc_take_message(w.env[LEFT].hca, FIRST_SLOT + OWNER, &m, sizeof m, 1);
		(void)host_step(LEFT, 1);
		assert_int_equal(w.events[LEFT], i ? 0 : 1u << VB_ASYNC_QP_FATAL);
	}
	m.name = (struct vb_xrcd_name){0}; /* of no domain */
	assert_int_equal(vb_xrc_take_message(w.env[LEFT].hca, FIRST_SLOT + OWNER, &m, sizeof m, 1),
			 -EPROTO);
	world_close();
}

/* The message that brought the state to LEFT, again, as one of the next migration. */
static struct migration_msg *once_more(struct vb_xrc_msg **head)
{
	static struct migration_msg again;

	world_open_migrated();
	again = w.queue[LEFT][0];
	*head = (struct vb_xrc_msg *)(void *)again.bytes;
	assert_int_equal((*head)->kind, VB_XRC_MIGRATE);
	(*head)->serial++;
	return &again;
}

static int take_at_left(const struct migration_msg *m)
{
	return vb_xrc_take_message(w.env[LEFT].hca, FIRST_SLOT + OWNER, m->bytes, m->len, 1);
}

/* Each target has a holder of its own, also where one adapter owns both. */
static void holder__of_one_target(void **state)
{
	struct vb_xrc_msg *head;
	struct migration_msg *m = once_more(&head);

	(void)state;
	assert_int_equal(w.env[LEFT].hca->qp_cnt, 1);
	head->qpn += 256;
	assert_int_equal(take_at_left(m), 0);
	assert_int_equal(w.env[LEFT].hca->qp_cnt, 2);
	world_close();
}

/* The state of an ended responder is refused: its sender is told so, and nothing of it stays. */
static void migrate__of_one_that_has_ended(void **state)
{
	struct vb_xrc_msg *head;
	struct migration_msg *m = once_more(&head);

	(void)state;
	((struct vb_xrc_state *)(void *)(head + 1))->state = VB_QPS_ERR;
	assert_int_equal(take_at_left(m), -EPROTO);
	assert_int_equal(w.said[VB_XRC_GONE], 1);
	assert_int_equal(w.env[LEFT].hca->qp_cnt, 0);
	world_close();
}

/* A message whose receive has gone with its SRQ does not go on with another. */
static void migrate__amid_a_message_without_its_receive(void **state)
{
	struct vb_xrc_msg *head;
	struct migration_msg *m = once_more(&head);
	struct vb_xrc_state *s = (struct vb_xrc_state *)(void *)(head + 1);
	struct vb_wc wc;

	(void)state;
	while (vb_cq_poll(w.env[LEFT].cq, &wc, 1))
		continue;
	assert_int_equal(vb_qp_get_state(w.tgt), VB_QPS_RTR);
	s->msg = VB_MSG_SEND;
	s->srqn = vb_srq_number(w.srq[LEFT]);
	*((uint8_t *)(head + 1) + head->state_len) = VB_TRANSPORT_XRC | VB_OP_SEND_LAST;
	(void)take_at_left(m);
	assert_int_equal(vb_cq_poll(w.env[LEFT].cq, &wc, 1), 0);
	assert_int_equal(
	    vb_qp_get_state(vb_container_of(w.xrcd[LEFT]->targets.next, struct vb_qp, target)),
	    VB_QPS_ERR);
	world_close();
}

/* A state without room in the queue leaves when there is room. */
static void migrate__when_there_is_room(void **state)
{
	(void)state;
	world_open();
	post_srq(LEFT, 0, 1);
	w.room = 0;
	assert_int_equal(arrive(0), VB_VERDICT_OK);
	assert_false(w.tgt->mig->is_migrated);
	assert_true(vb_xrc_waits(w.env[OWNER].hca));
	w.room = 4;
	world_run(VB_NEVER);
	assert_int_equal(vb_cq_tail(w.env[LEFT].cq), 1);
	world_close();
}

/* A holder whose owner has gone ends: there is nobody to give the state back to. */
static void give_back__to_nobody(void **state)
{
	(void)state;
	world_open_migrated();
	w.gone[OWNER] = true;
	vb_xrc_give_back(w.env[LEFT].hca, 1);
	assert_int_equal(w.env[LEFT].hca->qp_cnt, 0);
	w.gone[OWNER] = false;
	world_close();
}

/* A packet of an earlier migration is not carried out, and its sender is told. */
static void packet__of_an_earlier_migration(void **state)
{
	static struct {
		struct vb_xrc_msg head;
		uint8_t pkt[VB_HDR_MAX + 8];
	} m;
	struct vb_hdr h = {.opcode = VB_TRANSPORT_XRC | VB_OP_SEND_ONLY, .pkey = VB_PKEY_DEFAULT};
	struct vb_qp *holder;

	(void)state;
	world_open_migrated();
	post_srq(LEFT, 1, 2);
	holder = vb_container_of(w.xrcd[LEFT]->targets.next, struct vb_qp, target);
	h.dqpn = w.tgt->qpn;
	h.psn = holder->resp.epsn;
	h.xrc_srqn = vb_srq_number(w.srq[LEFT]);
	m.head = (struct vb_xrc_msg){.magic = VB_XRC_MAGIC,
				     .kind = VB_XRC_PACKET,
				     .qpn = w.tgt->qpn,
				     .serial = w.tgt->mig->serial - 1,
				     .name = w.xrcd[LEFT]->name};
	m.head.pkt_len = (uint32_t)vb_hdr_emit(&h, m.pkt) + 8;
	assert_int_equal(vb_xrc_take_message(w.env[LEFT].hca, FIRST_SLOT + OWNER, &m,
					     sizeof m.head + m.head.pkt_len, 1),
			 0);
	assert_true(vb_psn_eq(holder->resp.epsn, h.psn));
	assert_int_equal(w.said[VB_XRC_GONE], 1);
	world_close();
}

/* Other adapters hear only of events that concern all openers. */
static void event__that_is_not_told(void **state)
{
	(void)state;
	world_open();
	(void)open_at(LEFT);
	vb_qp_raise(w.tgt, VB_ASYNC_SQ_DRAINED);
	(void)vb_xrc_run(w.env[OWNER].hca, 1);
	assert_int_equal(w.said[VB_XRC_EVENT], 0);
	settle();
	world_close();
}

/* A place that is free again is used, when all others are in use. */
static void keep__in_a_place_that_is_free_again(void **state)
{
	struct vb_xrc_pool *pool;

	(void)state;
	world_open_migrated();
	w.room = 1;
	pool = w.env[OWNER].hca->xrc_pool;
	pool->used = VB_XRC_POOL; /* by other targets */
	pool->free = 5;
	for (uint32_t i = 0; i < 2; i++) /* one has room in the queue */
		assert_int_equal(arrive(i), VB_VERDICT_OK);
	assert_int_equal(w.tgt->mig->first, 5);
	assert_int_equal(pool->free, 0);
	assert_int_equal(arrive(2), VB_VERDICT_RESOURCE);
	world_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(open_qp__events_while_it_opens),
	    cmocka_unit_test(open_qp__probed_while_it_opens),
	    cmocka_unit_test(close__of_one_that_asked_often),
	    cmocka_unit_test(probe__of_a_handle_that_has_ended),
	    cmocka_unit_test(event__from_another_adapter),
	    cmocka_unit_test(outlives__without_old_events),
	    cmocka_unit_test(keep__up_to_its_bound),
	    cmocka_unit_test(recall__without_a_place_for_the_packet),
	    cmocka_unit_test(migrate__takes_along_what_is_due),
	    cmocka_unit_test(reset__is_not_heard_of),
	    cmocka_unit_test(migrate__with_fewer_rights),
	    cmocka_unit_test(ask__tells_the_handle),
	    cmocka_unit_test(ask__of_before_the_last_one),
	    cmocka_unit_test(over__is_told_once),
	    cmocka_unit_test(holder__of_one_target),
	    cmocka_unit_test(migrate__of_one_that_has_ended),
	    cmocka_unit_test(migrate__amid_a_message_without_its_receive),
	    cmocka_unit_test(migrate__when_there_is_room),
	    cmocka_unit_test(give_back__to_nobody),
	    cmocka_unit_test(packet__of_an_earlier_migration),
	    cmocka_unit_test(event__that_is_not_told),
	    cmocka_unit_test(keep__in_a_place_that_is_free_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
