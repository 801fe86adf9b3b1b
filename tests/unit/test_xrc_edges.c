/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A target whose responder migrates, where something is missing: memory, room in a queue, or a
 * sound state. And CNPs, which each side takes for what it sends itself. core/share/migration.h
 */
#include "xrc_env.h"

/* A CNP for the target arrives at its owner. */
static void cnp_comes(void)
{
	struct vb_hdr cnp = {.opcode = VB_OPCODE_CNP, .pkey = VB_PKEY_DEFAULT};
	struct vb_tx tx = {.path = &w.ini->attr.path};

	cnp.dqpn = vb_qp_number(w.tgt);
	tx.hdr_len = (uint8_t)vb_hdr_emit(&cnp, tx.hdr);
	packet_move(&tx, 1);
}

static uint64_t cnps(uint32_t host)
{
	return w.env[host].counters.v[VB_COUNTER_rp_cnp_ignored];
}

/* A CNP is taken where the responder is. */
static void cnp__is_taken_where_the_state_is(void **state)
{
	(void)state;
	world_open();
	cnp_comes();
	assert_int_equal(cnps(OWNER), 1);
	post_srq(LEFT, 0, 1);
	post(LEFT, VB_WR_SEND, 0, 0, 8);
	world_run(VB_NEVER);
	assert_true(vb_xrc_is_away(w.tgt));
	cnp_comes();
	settle();
	assert_int_equal(cnps(OWNER), 1);
	assert_int_equal(cnps(LEFT), 1);
	world_close();
}

/* An adapter without memory for a holder refuses the state; the initiator is told, and nothing of
 * what was begun stays. */
static void migrate__without_memory(void **state)
{
	uint32_t refused = 0, n = 0;
	bool done = false;

	(void)state;
	while (!done) {
		world_open();
		post_srq(LEFT, 0, 1);
		post(LEFT, VB_WR_SEND, 0, 0, 8);
		w.env[LEFT].fail_at = w.env[LEFT].calls + ++n;
		world_run(VB_NEVER);
		done = w.env[LEFT].calls < w.env[LEFT].fail_at;
		assert_int_equal(w.said[VB_XRC_REFUSE], !done);
		assert_int_equal(done_cnt(done ? VB_WC_SUCCESS : VB_WC_REM_INV_REQ_ERR), 1);
		assert_int_equal(vb_qp_get_state(w.tgt), done ? VB_QPS_RTR : VB_QPS_ERR);
		refused += !done;
		world_close();
	}
	assert_true(refused >= 4); /* the QP, its receive WQE, what it keeps, the migration */
}

/* A state that no responder has is none: the target has lost its own. */
static void return__of_an_unsound_state(void **state)
{
	struct vb_xrc_msg *m;
	struct env *e;

	(void)state;
	world_open_migrated();
	e = &w.env[LEFT];
	vb_xrc_give_back(e->hca, e->now);
	assert_int_equal(w.cnt[OWNER], 1);
	m = (struct vb_xrc_msg *)(void *)w.queue[OWNER][w.head[OWNER] % QUEUE].bytes;
	assert_int_equal(m->kind, VB_XRC_RETURN);
	((struct vb_xrc_state *)(void *)(m + 1))->epsn = VB_PSN_MASK + 1;
	w.events[OWNER] = 0;
	settle();
	assert_int_equal(w.events[OWNER], 1u << VB_ASYNC_QP_FATAL);
	assert_int_equal(vb_qp_get_state(w.tgt), VB_QPS_ERR);
	world_close();
}

/* A state that finds no room in the owner's queue goes back when there is some. An owner gives
 * nothing back. */
static void give_back__when_there_is_room(void **state)
{
	(void)state;
	world_open_migrated();
	vb_xrc_give_back(w.env[OWNER].hca, w.env[OWNER].now);
	assert_false(w.tgt->mig->recall);
	assert_int_equal(w.cnt[LEFT], 0);
	w.room = 0;
	vb_xrc_give_back(w.env[LEFT].hca, w.env[LEFT].now);
	assert_true(vb_xrc_waits(w.env[LEFT].hca));
	assert_true(vb_xrc_run(w.env[LEFT].hca, w.env[LEFT].now));
	assert_true(w.tgt->mig->is_migrated);
	w.room = 4;
	for (uint32_t i = 0; i < 3; i++)
		settle();
	assert_false(vb_xrc_waits(w.env[LEFT].hca));
	assert_false(w.tgt->mig->is_migrated);
	assert_int_equal(w.said[VB_XRC_RETURN], 1);
	world_close();
}

/* An adapter that has nothing to put an answer together in says nothing. */
static void answer__without_memory(void **state)
{
	struct vb_xrc_msg m = {.magic = VB_XRC_MAGIC, .kind = VB_XRC_PACKET};

	(void)state;
	world_open();
	m.qpn = w.tgt->qpn;
	m.name = w.xrcd[LEFT]->name;
	w.env[LEFT].fail_at = w.env[LEFT].calls + 1;
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(
		    vb_xrc_take_message(w.env[LEFT].hca, FIRST_SLOT + OWNER, &m, sizeof m, 1), 0);
		assert_int_equal(w.said[VB_XRC_GONE], i);
	}
	world_close();
}

/* An owner without memory for one that opens its target says so, and it may ask anew. */
static void open_qp__without_memory_at_the_owner(void **state)
{
	(void)state;
	for (uint32_t n = 1; n <= 2; n++) {
		struct vb_xrc_ask a;

		world_open();
		w.env[OWNER].fail_at = w.env[OWNER].calls + n;
		open_begin(&a, LEFT);
		settle();
		assert_int_equal(a.err, -ENOMEM);
		vb_xrc_ask_end(&a);
		(void)open_at(LEFT);
		world_close();
	}
}

/* An adapter that asks after a target, or changes it, is not about to open it. */
static void ask__that_opens_nothing(void **state)
{
	struct vb_xrc_ask a = {.opens = false};

	(void)state;
	world_open();
	vb_xrc_ask_begin(&a, w.xrcd[LEFT], w.tgt->qpn);
	assert_false(vb_xrc_is_opening(w.xrcd[LEFT], w.tgt->qpn));
	vb_xrc_ask_end(&a);
	a = (struct vb_xrc_ask){.opens = true};
	vb_xrc_ask_begin(&a, w.xrcd[LEFT], w.tgt->qpn);
	assert_true(vb_xrc_is_opening(w.xrcd[LEFT], w.tgt->qpn));
	assert_false(vb_xrc_is_opening(w.xrcd[LEFT], w.tgt->qpn + 1));
	vb_xrc_ask_end(&a);
	world_close();
}

static const struct vb_qp_attr *holder_attr(void)
{
	struct vb_hca *h = w.env[LEFT].hca;

	for (uint32_t i = 0; i < h->qp_cap; i++) {
		if (h->qp[i] && vb_xrc_is_holder(h->qp[i]))
			return &h->qp[i]->attr;
	}
	fail();
	return NULL;
}

/* A holder that there was before takes over whatever has changed of the target since. */
static void migrate__with_changed_attributes(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 8; i++) {
		struct vb_qp_attr *a;
		const struct vb_qp_attr *is;

		world_open_migrated();
		vb_xrc_give_back(w.env[LEFT].hca, w.env[LEFT].now);
		for (uint32_t n = 0; n < 3; n++)
			settle();
		assert_false(w.tgt->mig->is_migrated);
		a = &w.tgt->attr;
		a->path_kbps += i == 0 ? 1000 : 0;
		a->min_rnr_timer ^= i == 1;
		a->access ^= i == 2 ? VB_ACCESS_REMOTE_ATOMIC : 0;
		a->path.flow_label ^= i == 3;
		a->path.udp_sport ^= i == 4;
		a->path.sl ^= i == 5;
		a->path.traffic_class ^= i == 6 ? 4 : 0;
		a->path.hop_limit ^= i == 7;
		post_srq(LEFT, 0, 1);
		post(LEFT, VB_WR_SEND, 0, 0, 8);
		world_run(VB_NEVER);
		assert_true(w.tgt->mig->is_migrated);
		is = holder_attr();
		assert_int_equal(is->path_kbps, a->path_kbps);
		assert_int_equal(is->min_rnr_timer, a->min_rnr_timer);
		assert_int_equal(is->access, a->access);
		assert_int_equal(is->path.flow_label, a->path.flow_label);
		assert_int_equal(is->path.udp_sport, a->path.udp_sport);
		assert_int_equal(is->path.sl, a->path.sl);
		assert_int_equal(is->path.traffic_class, a->path.traffic_class);
		assert_int_equal(is->path.hop_limit, a->path.hop_limit);
		world_close();
	}
}

/* @qp goes by LIDs, and has an alternate path. The test's initiator and target have one path for
 * both ways. */
static struct vb_qp_attr by_lids(struct vb_qp *qp)
{
	struct vb_qp_attr a = {.path_mig_state = VB_MIG_REARM, .timeout = 14};

	qp->attr.path.slid = qp->attr.path.dlid = 5;
	a.alt.path = qp->attr.path;
	a.alt.path.slid = a.alt.path.dlid = 6;
	a.alt.timeout = 14;
	return a;
}

/* IBT-37: the target migrates while another HCA answers for it: the state comes back first, so that
 * all answers go by the path that the target has, and with its MigReq. */
static void target__migrates_while_its_state_is_away(void **state)
{
	const uint32_t both = VB_QP_ALT_PATH | VB_QP_PATH_MIG_STATE;
	struct vb_qp_attr a;

	(void)state;
	world_open_migrated();
	a = by_lids(w.tgt);
	a.qp_state = VB_QPS_RTS;
	assert_int_equal(
	    vb_qp_modify(w.tgt, &a, both | VB_QP_STATE | VB_QP_TIMEOUT | VB_QP_SQ_PSN, 0), 0);
	a = by_lids(w.ini);
	assert_int_equal(vb_qp_modify(w.ini, &a, both, 0), 0);
	post_srq(LEFT, 1, 2);
	post(LEFT, VB_WR_SEND, 0, 0, 8);
	settle();
	assert_int_equal(done_cnt(VB_WC_SUCCESS), 1);
	assert_true(w.tgt->mig->is_migrated);
	assert_int_equal(w.tgt->attr.path_mig_state, VB_MIG_ARMED);
	assert_int_equal(w.ini->attr.path_mig_state, VB_MIG_ARMED);
	a.path_mig_state = VB_MIG_MIGRATED;
	assert_int_equal(vb_qp_modify(w.ini, &a, VB_QP_PATH_MIG_STATE, 0), 0);
	post_srq(LEFT, 2, 3);
	post(LEFT, VB_WR_SEND, 0, 0, 8);
	settle();
	assert_int_equal(done_cnt(VB_WC_SUCCESS), 1);
	assert_int_equal(w.tgt->attr.path.dlid, 6);
	assert_int_equal(w.tgt->attr.path_mig_state, VB_MIG_MIGRATED);
	assert_true(w.events[OWNER] >> VB_ASYNC_PATH_MIG & 1);
	assert_true(w.events[INI] >> VB_ASYNC_PATH_MIG & 1);
	world_close();
}

/* Of an adapter that had the state once, and has it no longer, nothing about it is believed. */
static void gone__of_an_earlier_holder(void **state)
{
	struct vb_xrc_msg m;

	(void)state;
	world_open_migrated();
	w.tgt->mig->peers[(FIRST_SLOT + RIGHT) / 64] |= UINT64_C(1) << (FIRST_SLOT + RIGHT) % 64;
	m = (struct vb_xrc_msg){.magic = VB_XRC_MAGIC,
				.kind = VB_XRC_GONE,
				.qpn = w.tgt->qpn,
				.serial = w.tgt->mig->serial,
				.name = w.xrcd[OWNER]->name};
	assert_int_equal(vb_xrc_take_message(w.env[OWNER].hca, FIRST_SLOT + RIGHT, &m, sizeof m, 1),
			 0);
	assert_true(w.tgt->mig->is_migrated);
	assert_int_equal(vb_qp_get_state(w.tgt), VB_QPS_RTR);
	/* The adapter that has it is believed. */
	assert_int_equal(vb_xrc_take_message(w.env[OWNER].hca, FIRST_SLOT + LEFT, &m, sizeof m, 1),
			 0);
	assert_false(w.tgt->mig->is_migrated);
	assert_int_equal(vb_qp_get_state(w.tgt), VB_QPS_ERR);
	world_close();
}

/* The table of XRC SRQs grows with those that are there, not with those that ever were. */
static void srq__that_went_needs_no_room(void **state)
{
	const struct vb_srq_cap cap = {1, 1};
	struct env *e = &w.env[LEFT];
	struct vb_srq *srq;
	uint32_t calls = 0;

	(void)state;
	world_open();
	for (int i = 0; i < 200; i++) {
		uint32_t before = e->calls;

		assert_int_equal(vb_xrc_srq_create(e->pd, w.xrcd[LEFT], e->cq, &cap, NULL, &srq),
				 0);
		assert_int_equal(vb_srq_destroy(srq), 0);
		if (i)
			assert_int_equal(e->calls - before, calls);
		calls = e->calls - before;
	}
	world_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(cnp__is_taken_where_the_state_is),
	    cmocka_unit_test(migrate__without_memory),
	    cmocka_unit_test(return__of_an_unsound_state),
	    cmocka_unit_test(give_back__when_there_is_room),
	    cmocka_unit_test(answer__without_memory),
	    cmocka_unit_test(open_qp__without_memory_at_the_owner),
	    cmocka_unit_test(ask__that_opens_nothing),
	    cmocka_unit_test(migrate__with_changed_attributes),
	    cmocka_unit_test(target__migrates_while_its_state_is_away),
	    cmocka_unit_test(gone__of_an_earlier_holder),
	    cmocka_unit_test(srq__that_went_needs_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
