/* SPDX-License-Identifier: BSD-2-Clause */
/* The contents of messages about a target whose responder has migrated, and the order in which what
 * they carry is done. */
#include "xrc_env.h"

/* A message that asks for the state back carries no packet. */
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

/* Events that a holder met in an earlier migration are not told with the state of a later one. */
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

/* A message about the target, of the migration under way. */
static struct vb_xrc_msg message(enum vb_xrc_kind kind)
{
	return (struct vb_xrc_msg){.magic = VB_XRC_MAGIC,
				   .kind = kind,
				   .qpn = w.tgt->qpn,
				   .serial = w.tgt->mig ? w.tgt->mig->serial : 0,
				   .name = w.xrcd[OWNER]->name};
}

/* @host takes @len bytes of the message from @from. */
static int take(uint32_t host, uint32_t from, const struct vb_xrc_msg *m, size_t len)
{
	static uint64_t mem[VB_XRC_MSG_MAX / 8];

	memset(mem, 0, sizeof mem);
	memcpy(mem, m, sizeof *m);
	return vb_xrc_take_message(w.env[host].hca, from, mem, len, w.env[host].now);
}

static struct vb_qp *holder_of_left(void)
{
	return vb_container_of(w.xrcd[LEFT]->targets.next, struct vb_qp, target);
}

/* A message is as long as its parts, and these are no longer than any can be: else nobody has sent
 * it. */
static void take_message__of_a_wrong_size(void **state)
{
	const uint32_t from = FIRST_SLOT + LEFT;
	struct vb_xrc_msg m;
	size_t len = sizeof m;

	(void)state;
	world_open_migrated();
	m = message(VB_XRC_HAVE);
	assert_int_equal(take(OWNER, from, &m, len), 0);
	assert_int_equal(take(OWNER, from, &m, len - 1), -EPROTO);
	assert_int_equal(take(OWNER, from, &m, len + 8), -EPROTO);
	assert_int_equal(take(OWNER, VB_XRC_PEERS, &m, len), -EPROTO);
	m.state_len = 4;
	assert_int_equal(take(OWNER, from, &m, len + 4), -EPROTO);
	m.state_len = 8;
	assert_int_equal(take(OWNER, from, &m, len + 8), 0);
	m.state_len = 0;
	m.pkt_len = VB_XRC_PKT_MAX;
	assert_int_equal(take(OWNER, from, &m, len + VB_XRC_PKT_MAX), 0);
	m.pkt_len++;
	assert_int_equal(take(OWNER, from, &m, len + VB_XRC_PKT_MAX + 1), -EPROTO);
	/* Handles and owners send each other no packets. */
	m = message(VB_XRC_CLOSE);
	assert_int_equal(take(OWNER, from, &m, len), 0);
	m.pkt_len = 8;
	assert_int_equal(take(OWNER, from, &m, len + 8), -EPROTO);
	m = message(VB_XRC_KINDS);
	assert_int_equal(take(OWNER, from, &m, len), -EPROTO);
	/* Nor has anybody sent one to an adapter that can answer nobody. */
	m = message(VB_XRC_HAVE);
	w.env[OWNER].hca->cfg.xrc_send = NULL;
	assert_int_equal(take(OWNER, from, &m, len), -EPROTO);
	w.env[OWNER].hca->cfg.xrc_send = world_send;
	world_close();
}

/* A holder that says it has the state of a migration that its owner knows nothing of is told to
 * end; one that has the state is not. */
static void have__of_another_migration(void **state)
{
	struct vb_xrc_msg m;

	(void)state;
	world_open_migrated();
	m = message(VB_XRC_HAVE);
	m.is_migrated = 1;
	assert_int_equal(take(OWNER, FIRST_SLOT + LEFT, &m, sizeof m), 0);
	assert_int_equal(w.said[VB_XRC_END], 0);
	m.serial--;
	assert_int_equal(take(OWNER, FIRST_SLOT + LEFT, &m, sizeof m), 0);
	assert_int_equal(w.said[VB_XRC_END], 1);
	w.cnt[LEFT] = 0; /* on its way */
	world_close();
}

/* A CNP that waits behind a packet for another adapter is the owner's when the state is back. */
static void keep__cnp(void **state)
{
	struct vb_hdr cnp = {.opcode = VB_OPCODE_CNP, .pkey = VB_PKEY_DEFAULT};
	struct vb_tx tx = {0};

	(void)state;
	world_open_migrated();
	post_srq(OWNER, 0, 2);
	post(OWNER, VB_WR_SEND, 0, 0, 8);
	(void)host_step(INI, w.env[INI].now + 1);
	assert_int_equal(w.tgt->mig->cnt, 1);
	cnp.dqpn = vb_qp_number(w.tgt);
	tx.path = &w.ini->attr.path;
	tx.hdr_len = (uint8_t)vb_hdr_emit(&cnp, tx.hdr);
	packet_move(&tx, 1);
	assert_int_equal(w.tgt->mig->cnt, 2);
	assert_int_equal(w.env[OWNER].counters.v[VB_COUNTER_rp_cnp_ignored], 0);
	world_run(VB_NEVER);
	assert_int_equal(done_cnt(VB_WC_SUCCESS), 1);
	assert_int_equal(w.env[OWNER].counters.v[VB_COUNTER_rp_cnp_ignored], 1);
	world_close();
}

/* All that a holder raises for its owner goes back with the state. */
static void return__with_all_events(void **state)
{
	(void)state;
	world_open_migrated();
	vb_qp_raise(holder_of_left(), VB_ASYNC_QP_REQ_ERR);
	vb_qp_raise(holder_of_left(), VB_ASYNC_QP_ACCESS_ERR);
	w.events[OWNER] = 0;
	vb_xrc_give_back(w.env[LEFT].hca, w.env[LEFT].now);
	world_run(VB_NEVER);
	assert_int_equal(w.events[OWNER], 1u << VB_ASYNC_QP_REQ_ERR | 1u << VB_ASYNC_QP_ACCESS_ERR);
	world_close();
}

/* A packet that is longer than any is not carried out while the state is away. */
static void packet__too_long_while_away(void **state)
{
	static uint8_t pkt[(VB_XRC_PKT_MAX / 4 + 1) * 4];
	struct vb_hdr h = {.opcode = VB_TRANSPORT_XRC | VB_OP_SEND_ONLY, .pkey = VB_PKEY_DEFAULT};
	struct vb_path path = env_path(1);
	struct vb_rx rx = {.pkt = pkt, .len = sizeof pkt, .avail = sizeof pkt, .path = &path};
	struct vb_psn epsn;

	(void)state;
	world_open_migrated();
	epsn = w.tgt->resp.epsn;
	h.dqpn = w.tgt->qpn;
	h.psn = epsn;
	h.xrc_srqn = vb_srq_number(w.srq[OWNER]);
	(void)vb_hdr_emit(&h, pkt);
	assert_int_equal(vb_hca_handle_packet(w.env[OWNER].hca, &rx, 1), VB_VERDICT_OVERSIZED);
	assert_int_equal(vb_qp_get_state(w.tgt), VB_QPS_RTR);
	assert_true(vb_psn_eq(w.tgt->resp.epsn, epsn));
	world_close();
}

/* A holder follows the RNR timer of its target. */
static void migrate__with_another_rnr_timer(void **state)
{
	(void)state;
	world_open_migrated();
	vb_xrc_give_back(w.env[LEFT].hca, w.env[LEFT].now);
	world_run(VB_NEVER);
	assert_false(w.tgt->mig->is_migrated);
	w.tgt->attr.min_rnr_timer = 21;
	post_srq(LEFT, 0, 2);
	post(LEFT, VB_WR_SEND, 0, 0, 8);
	world_run(VB_NEVER);
	assert_int_equal(done_cnt(VB_WC_SUCCESS), 1);
	assert_int_equal(holder_of_left()->attr.min_rnr_timer, 21);
	world_close();
}

/* A queue that is full says nothing of who reads it: owner, holder, handle and opener are there,
 * and are asked at the next probe. */
static void probe__finds_a_full_queue(void **state)
{
	struct vb_xrc_ask a;
	struct vb_qp *right;

	(void)state;
	world_open_migrated();
	right = open_at(RIGHT);
	w.room = 0;
	for (uint32_t i = OWNER; i < HOSTS; i++)
		vb_xrc_probe(w.env[i].hca, w.env[i].now);
	open_begin(&a, LEFT);
	assert_int_equal(a.err, -EINPROGRESS);
	w.room = 4;
	settle();
	assert_int_equal(w.events[OWNER] | w.events[RIGHT], 1u << VB_ASYNC_COMM_EST);
	assert_int_equal(w.env[LEFT].hca->qp_cnt, 1);
	assert_int_equal(vb_qp_get_state(w.tgt), VB_QPS_RTR);
	vb_xrc_ask_again(&a);
	(void)open_end(&a);
	/* The maker goes: RIGHT has it open still. */
	assert_int_equal(vb_qp_destroy(w.tgt), 0);
	assert_int_equal(w.env[OWNER].hca->qp_cnt, 1);
	assert_true(vb_qp_is_handle(right));
	world_close();
}

/* An adapter that has a target open is asked at each probe, also while its responder is away. */
static void probe__of_openers_while_away(void **state)
{
	(void)state;
	world_open_migrated();
	(void)open_at(RIGHT);
	vb_xrc_probe(w.env[OWNER].hca, w.env[OWNER].now);
	assert_int_equal(w.said[VB_XRC_STILL], 1);
	assert_int_equal(w.said[VB_XRC_CHECK], 1);
	settle();
	world_close();
}

/* Events that come before the first was told are told together, and a handle believes only those
 * that an owner tells of. */
static void event__several_at_once(void **state)
{
	const uint32_t both = 1u << VB_ASYNC_QP_REQ_ERR | 1u << VB_ASYNC_QP_ACCESS_ERR;
	struct vb_xrc_msg m;

	(void)state;
	world_open();
	(void)open_at(LEFT);
	vb_qp_raise(w.tgt, VB_ASYNC_QP_REQ_ERR);
	vb_qp_raise(w.tgt, VB_ASYNC_QP_ACCESS_ERR);
	settle();
	(void)host_step(LEFT, 1);
	assert_int_equal(w.events[LEFT], both);
	w.events[LEFT] = 0;
	m = message(VB_XRC_EVENT);
	m.events = UINT32_MAX;
	assert_int_equal(take(LEFT, FIRST_SLOT + OWNER, &m, sizeof m), 0);
	(void)host_step(LEFT, 1);
	assert_int_equal(w.events[LEFT], both | 1u << VB_ASYNC_QP_FATAL | 1u << VB_ASYNC_COMM_EST |
					     1u << VB_ASYNC_PATH_MIG | 1u << VB_ASYNC_PATH_MIG_ERR);
	world_close();
}

/* An owner hears of a handle for which there was no memory: it holds the target no more. */
static void open_qp__without_memory(void **state)
{
	struct vb_xrc_ask a;
	struct vb_qp *qp;

	(void)state;
	world_open();
	open_begin(&a, LEFT);
	settle();
	assert_int_equal(a.err, 0);
	w.env[LEFT].fail_at = w.env[LEFT].calls + 1;
	assert_int_equal(vb_xrc_handle_create(&a, &qp), -ENOMEM);
	vb_xrc_ask_end(&a);
	assert_int_equal(w.said[VB_XRC_CLOSE], 1);
	settle();
	assert_int_equal(vb_qp_destroy(w.tgt), 0);
	assert_int_equal(w.env[OWNER].hca->qp_cnt, 0);
	world_close();
}

/* An answer says 0 or what went wrong: one that says that it is none, or a positive number, is of
 * no adapter. */
static void ask__answered_with_no_errno(void **state)
{
	static const int32_t errs[] = {-EINPROGRESS, EINVAL};
	static struct {
		struct vb_xrc_msg head;
		struct vb_xrc_inquiry body;
	} m;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct vb_xrc_ask a = {.opens = false};

		world_open();
		vb_xrc_ask_begin(&a, w.xrcd[LEFT], w.tgt->qpn);
		m.head = message(VB_XRC_ANSWER);
		m.head.serial = a.serial;
		m.head.state_len = sizeof m.body;
		m.body = (struct vb_xrc_inquiry){.err = errs[i], .attr = w.tgt->attr};
		assert_int_equal(
		    vb_xrc_take_message(w.env[LEFT].hca, FIRST_SLOT + OWNER, &m, sizeof m, 1), 0);
		assert_int_equal(a.err, -EPROTO);
		vb_xrc_ask_end(&a);
		world_close();
	}
}

/* Questions are numbered, and the number wraps: the next one is newer all the same. */
static void ask__numbers_wrap(void **state)
{
	const uint32_t init = VB_QP_STATE | VB_QP_PKEY_INDEX | VB_QP_PORT | VB_QP_ACCESS_FLAGS;
	struct vb_qp_attr attr = env_attr(1, 0);

	(void)state;
	world_open();
	(void)open_at(LEFT);
	assert_int_equal(env_modify(&w.env[OWNER], w.tgt, &attr, VB_QPS_RESET), 0);
	vb_container_of(w.tgt->openers->list.next, struct vb_xrc_opener, link)->serial =
	    UINT32_MAX - 1;
	w.env[LEFT].hca->xrc_ask_serial = UINT32_MAX - 1;
	attr.qp_state = VB_QPS_INIT;
	for (uint32_t access = 1; access <= 4; access *= 2) {
		struct vb_xrc_ask a = {.mask = init, .attr = attr};

		a.attr.access = access;
		vb_xrc_ask_begin(&a, w.xrcd[LEFT], w.tgt->qpn);
		vb_xrc_ask_again(&a);
		settle();
		assert_int_equal(a.err, 0);
		assert_int_equal(w.tgt->attr.access, access);
		vb_xrc_ask_end(&a);
	}
	world_close();
}

/* A domain without a name is of one adapter: no target of it is elsewhere. */
static void is_elsewhere__of_a_named_domain(void **state)
{
	struct vb_xrcd *x;

	(void)state;
	world_open();
	assert_int_equal(vb_xrcd_create(w.env[LEFT].hca, &x), 0);
	assert_false(vb_xrc_is_elsewhere(x, w.tgt->qpn));
	vb_xrcd_share(x, &w.xrcd[OWNER]->name);
	assert_true(vb_xrc_is_elsewhere(x, w.tgt->qpn));
	world_close();
}

/* A domain that is opened again has all the targets that others kept. */
static void share__all_targets_that_are_left(void **state)
{
	const struct vb_xrcd_name name = {1, 77};
	struct vb_qp_init init = {.type = VB_QPT_XRC_TGT, .owner = &w.tgt};
	struct vb_qp *tgt[2];

	(void)state;
	world_open();
	tgt[0] = w.tgt;
	(void)open_at(LEFT);
	init.xrcd = w.xrcd[OWNER];
	assert_int_equal(vb_qp_create(NULL, &init, &tgt[1]), 0);
	w.tgt = tgt[1];
	(void)open_at(LEFT);
	for (int i = 0; i < 2; i++)
		assert_int_equal(vb_qp_destroy(tgt[i]), 0);
	assert_int_equal(vb_srq_destroy(w.srq[OWNER]), 0);
	assert_int_equal(vb_xrcd_destroy(w.xrcd[OWNER]), 0);
	assert_int_equal(vb_xrcd_create(w.env[OWNER].hca, &w.xrcd[OWNER]), 0);
	vb_xrcd_share(w.xrcd[OWNER], &name);
	assert_int_equal(w.env[OWNER].hca->xrcd_cnt, 1);
	for (int i = 0; i < 2; i++)
		assert_ptr_equal(vb_xrcd_target(w.xrcd[OWNER], vb_qp_number(tgt[i])), tgt[i]);
	settle();
	world_close();
}

/* A packet that finds no holder any more shows that it has gone, before a probe does: nobody can go
 * on with the target. */
static void packet__finds_no_holder(void **state)
{
	(void)state;
	world_open_migrated();
	w.gone[LEFT] = true;
	w.events[OWNER] = 0;
	post(LEFT, VB_WR_SEND, 0, 0, 8);
	(void)host_step(INI, w.env[INI].now + 1);
	assert_int_equal(vb_qp_get_state(w.tgt), VB_QPS_ERR);
	(void)host_step(OWNER, w.env[OWNER].now + 1);
	assert_int_equal(w.events[OWNER], 1u << VB_ASYNC_QP_FATAL);
	w.gone[LEFT] = false;
	world_close();
}

/* Packets that are kept for a target go with it: their places are free for others. */
static void keep__ends_with_the_target(void **state)
{
	struct vb_qp_attr a = env_attr(1, 0);

	(void)state;
	world_open_migrated();
	for (int i = 0; i < 3; i++)
		post(RIGHT, VB_WR_SEND, 0, 0, 8);
	(void)host_step(INI, w.env[INI].now + 1);
	assert_int_equal(w.tgt->mig->cnt, 3);
	assert_int_equal(env_modify(&w.env[OWNER], w.tgt, &a, VB_QPS_ERR), 0);
	assert_int_equal(w.tgt->mig->cnt, 0);
	assert_int_not_equal(w.env[OWNER].hca->xrc_pool->free, 0);
	world_close();
}

/* An owner that ends in order says so to all that have the target open. */
static void owner__ends_for_all(void **state)
{
	(void)state;
	world_open();
	(void)open_at(LEFT);
	(void)open_at(RIGHT);
	host_kill(OWNER);
	settle();
	assert_int_equal(w.events[LEFT], 1u << VB_ASYNC_QP_FATAL);
	assert_int_equal(w.events[RIGHT], 1u << VB_ASYNC_QP_FATAL);
	world_close();
}

/* An adapter with a full queue keeps its target open: the question is lost, no more. */
static void probe__of_an_opener_with_a_full_queue(void **state)
{
	(void)state;
	world_open();
	(void)open_at(RIGHT);
	w.room = 0;
	vb_xrc_probe(w.env[OWNER].hca, w.env[OWNER].now);
	w.room = 4;
	settle();
	assert_int_equal(vb_qp_destroy(w.tgt), 0);
	assert_int_equal(w.env[OWNER].hca->qp_cnt, 1);
	world_close();
}

/* A refusal whose packet is no request is of nobody, and the target ends with it. The NAK that it
 * owed when the state left, it does not send any more. */
static void refusal__of_another_packet(void **state)
{
	static struct vb_tx_batch b;
	struct vb_hdr h = {.opcode = VB_TRANSPORT_XRC | VB_OP_SEND_ONLY};
	struct migration_msg *sent;
	struct vb_xrc_msg *m;

	(void)state;
	world_open();
	h.dqpn = w.tgt->qpn;
	h.xrc_srqn = vb_srq_number(w.srq[LEFT]);
	h.psn = vb_psn_add(w.ini->req.psn_post, 1); /* a gap: a NAK is owed */
	assert_int_equal(env_rx(&w.env[OWNER], 1, &h, 8), VB_VERDICT_PSN);
	h.psn = w.ini->req.psn_post;
	assert_int_equal(env_rx(&w.env[OWNER], 1, &h, 8), VB_VERDICT_OK);
	assert_true(w.tgt->mig->is_migrated);
	sent = &w.queue[LEFT][w.head[LEFT] % QUEUE];
	m = (struct vb_xrc_msg *)(void *)sent->bytes;
	assert_int_equal(m->kind, VB_XRC_MIGRATE);
	m->kind = VB_XRC_REFUSE;
	*((uint8_t *)(m + 1) + m->state_len) = VB_TRANSPORT_XRC | VB_OP_ACK;
	w.cnt[LEFT] = 0;
	assert_int_equal(
	    vb_xrc_take_message(w.env[OWNER].hca, FIRST_SLOT + LEFT, sent->bytes, sent->len, 1), 0);
	assert_int_equal(vb_qp_get_state(w.tgt), VB_QPS_ERR);
	assert_int_equal(env_tx(&w.env[OWNER], &b), 0);
	world_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(recall__with_a_packet),
	    cmocka_unit_test(return__with_events),
	    cmocka_unit_test(return__without_events_of_an_earlier_migration),
	    cmocka_unit_test(keep__in_order),
	    cmocka_unit_test(take_message__of_a_wrong_size),
	    cmocka_unit_test(have__of_another_migration),
	    cmocka_unit_test(keep__cnp),
	    cmocka_unit_test(return__with_all_events),
	    cmocka_unit_test(packet__too_long_while_away),
	    cmocka_unit_test(migrate__with_another_rnr_timer),
	    cmocka_unit_test(probe__finds_a_full_queue),
	    cmocka_unit_test(probe__of_openers_while_away),
	    cmocka_unit_test(event__several_at_once),
	    cmocka_unit_test(open_qp__without_memory),
	    cmocka_unit_test(ask__answered_with_no_errno),
	    cmocka_unit_test(ask__numbers_wrap),
	    cmocka_unit_test(is_elsewhere__of_a_named_domain),
	    cmocka_unit_test(share__all_targets_that_are_left),
	    cmocka_unit_test(packet__finds_no_holder),
	    cmocka_unit_test(keep__ends_with_the_target),
	    cmocka_unit_test(owner__ends_for_all),
	    cmocka_unit_test(probe__of_an_opener_with_a_full_queue),
	    cmocka_unit_test(refusal__of_another_packet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
