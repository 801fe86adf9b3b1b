/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A target that other adapters of its host have open, see core/share/open.h: the events and answers
 * of a handle, who goes first, and messages that no adapter sends. IBT-22
 */
#include "core/view.h"

#include "xrc_env.h"

/* The answer that @host gets about the target @qpn. */
static int ask(uint32_t host, uint32_t qpn, struct vb_xrc_ask *a)
{
	vb_xrc_ask_begin(a, w.xrcd[host], qpn);
	vb_xrc_ask_again(a);
	settle();
	vb_xrc_ask_end(a);
	return a->err;
}

/* The same as open_at(); the domain knows at each step what is under way. */
static struct vb_qp *open_watched(uint32_t host)
{
	struct vb_xrc_ask a;
	struct vb_qp *qp;

	assert_true(vb_xrc_is_elsewhere(w.xrcd[host], w.tgt->qpn));
	assert_null(vb_xrcd_target(w.xrcd[host], w.tgt->qpn));
	open_begin(&a, host);
	assert_true(vb_xrc_is_opening(w.xrcd[host], w.tgt->qpn));
	qp = open_end(&a);
	assert_false(vb_xrc_is_opening(w.xrcd[host], w.tgt->qpn));
	assert_ptr_equal(vb_xrcd_target(w.xrcd[host], w.tgt->qpn), qp);
	assert_true(vb_qp_is_handle(qp));
	return qp;
}

static bool send_to(uint32_t host)
{
	struct vb_wc wc;

	post_srq(host, 0, 1);
	post(host, VB_WR_SEND, 0, 0, 8);
	world_run(VB_NEVER);
	assert_int_equal(vb_cq_poll(w.env[INI].cq, &wc, 1), 1);
	return wc.status == VB_WC_SUCCESS;
}

static void open_qp__tells_and_hears(void **state)
{
	struct vb_xrc_ask a = {0};
	struct vb_qp_attr attr;
	uint32_t pos = 0;
	struct vb_qp *qp;

	(void)state;
	world_open();
	memset(w.tgt->attr.av, 0x5a, sizeof attr.av);
	qp = open_watched(LEFT);
	assert_int_equal(vb_hca_next_qpn(w.env[LEFT].hca, &pos), 0);
	(void)open_watched(RIGHT);
	vb_qp_query(qp, &attr);
	assert_int_equal(attr.qp_state, VB_QPS_RTR);
	assert_int_equal(attr.dest_qpn, vb_qp_number(w.ini));
	assert_int_equal(attr.av[VB_QP_AV_MAX - 1], 0x5a);
	assert_true(send_to(OWNER));
	assert_int_equal(ask(LEFT, w.tgt->qpn, &a), 0);
	assert_int_equal(a.attr.rq_psn, w.tgt->resp.epsn.v);
	assert_int_equal(w.events[LEFT], 1u << VB_ASYNC_COMM_EST);
	/* Past the end of the memory. */
	post(OWNER, VB_WR_RDMA_WRITE, 0, ENV_MEM / CELL, 8);
	w.room = 1;
	world_run(VB_NEVER);
	for (uint32_t i = OWNER; i < HOSTS; i++)
		assert_int_equal(w.events[i],
				 1u << VB_ASYNC_COMM_EST | 1u << VB_ASYNC_QP_ACCESS_ERR);
	a = (struct vb_xrc_ask){0};
	assert_int_equal(ask(LEFT, w.tgt->qpn, &a), 0);
	assert_int_equal(a.attr.qp_state, VB_QPS_ERR);
	assert_int_equal(vb_qp_destroy(qp), 0);
	world_close();
}

/* An event that cannot be told at once is told later. */
static void open_qp__event_finds_a_full_queue(void **state)
{
	(void)state;
	world_open();
	(void)open_watched(LEFT);
	w.room = 0;
	vb_qp_raise(w.tgt, VB_ASYNC_QP_REQ_ERR);
	assert_true(vb_xrc_run(w.env[OWNER].hca, 0));
	assert_true(vb_xrc_waits(w.env[OWNER].hca));
	w.room = 1;
	assert_false(vb_xrc_run(w.env[OWNER].hca, 0));
	settle();
	assert_int_equal(w.events[LEFT], 1u << VB_ASYNC_QP_REQ_ERR);
	world_close();
}

static void open_qp__no_such_target(void **state)
{
	struct vb_xrc_ask a = {.opens = true};
	uint32_t qpn;

	(void)state;
	world_open();
	qpn = w.tgt->qpn;
	assert_int_equal(ask(LEFT, qpn + 256, &a), -ENOENT);
	assert_int_equal(ask(LEFT, vb_qp_number(w.ini), &a), -ENOENT);
	assert_false(vb_xrc_is_elsewhere(w.xrcd[OWNER], qpn));
	/* A handle's own number is no target either. */
	assert_int_equal(ask(RIGHT, vb_qp_number(open_watched(LEFT)), &a), -ENOENT);
	vb_xrcd_share(w.xrcd[RIGHT], &(struct vb_xrcd_name){1, 78});
	assert_int_equal(ask(RIGHT, qpn, &a), -ENOENT);
	w.gone[OWNER] = true;
	assert_int_equal(ask(RIGHT, qpn, &a), -ENOENT);
	w.gone[OWNER] = false;
	world_close();
}

/* A question that comes again sets nothing again: RTR cannot be entered twice. */
static void modify__through_a_handle(void **state)
{
	const uint32_t rtr = VB_QP_STATE | VB_QP_AV | VB_QP_PATH_MTU | VB_QP_DEST_QPN |
			     VB_QP_RQ_PSN | VB_QP_MAX_DEST_RD_ATOMIC | VB_QP_MIN_RNR_TIMER;
	struct vb_xrc_ask a = {.mask = VB_QP_STATE, .attr = {.qp_state = VB_QPS_RESET}};
	struct vb_qp_attr attr;

	(void)state;
	world_open();
	attr = w.tgt->attr;
	(void)open_watched(LEFT);
	assert_int_equal(ask(LEFT, w.tgt->qpn, &a), 0);
	assert_int_equal(w.tgt->state, VB_QPS_RESET);
	attr.qp_state = VB_QPS_INIT;
	a = (struct vb_xrc_ask){
	    .mask = VB_QP_STATE | VB_QP_PKEY_INDEX | VB_QP_PORT | VB_QP_ACCESS_FLAGS, .attr = attr};
	assert_int_equal(ask(LEFT, w.tgt->qpn, &a), 0);
	attr.qp_state = VB_QPS_RTR;
	a = (struct vb_xrc_ask){.mask = rtr, .attr = attr};
	vb_xrc_ask_begin(&a, w.xrcd[LEFT], w.tgt->qpn);
	vb_xrc_ask_again(&a);
	vb_xrc_ask_again(&a);
	settle();
	vb_xrc_ask_end(&a);
	assert_int_equal(a.err, 0);
	assert_int_equal(w.tgt->state, VB_QPS_RTR);
	/* Another process, whose questions have the same numbers. */
	w.env[LEFT].hca->xrc_ask_serial = 0;
	a = (struct vb_xrc_ask){.opens = true};
	assert_int_equal(ask(LEFT, w.tgt->qpn, &a), 0);
	a = (struct vb_xrc_ask){.mask = VB_QP_PATH_MTU, .attr = {.path_mtu = 9}};
	assert_int_equal(ask(LEFT, w.tgt->qpn, &a), -EINVAL);
	assert_true(send_to(LEFT));
	world_close();
}

/* A question that comes once more, late, does not undo what was set after it. */
static void modify__again_and_late(void **state)
{
	const uint32_t init = VB_QP_STATE | VB_QP_PKEY_INDEX | VB_QP_PORT | VB_QP_ACCESS_FLAGS;
	struct vb_xrc_ask a = {.mask = VB_QP_STATE, .attr = {.qp_state = VB_QPS_RESET}};
	struct vb_qp_attr attr;

	(void)state;
	world_open();
	attr = w.tgt->attr;
	(void)open_watched(LEFT);
	assert_int_equal(ask(LEFT, w.tgt->qpn, &a), 0);
	attr.qp_state = VB_QPS_INIT;
	attr.access = VB_ACCESS_REMOTE_READ;
	a = (struct vb_xrc_ask){.mask = init, .attr = attr};
	vb_xrc_ask_begin(&a, w.xrcd[LEFT], w.tgt->qpn);
	vb_xrc_ask_again(&a);
	settle();
	assert_int_equal(a.err, 0);
	attr.access = VB_ACCESS_REMOTE_WRITE;
	assert_int_equal(vb_qp_modify(w.tgt, &attr, init, 0), 0);
	a.err = -EINPROGRESS; /* the answer was lost */
	vb_xrc_ask_again(&a);
	settle();
	assert_int_equal(a.err, 0);
	assert_int_equal(w.tgt->attr.access, VB_ACCESS_REMOTE_WRITE);
	vb_xrc_ask_end(&a);
	world_close();
}

/* The target goes on, closed domain or not, and whoever opens it again has it. */
static void destroy__by_the_maker_first(void **state)
{
	const struct vb_xrcd_name name = {1, 77};
	struct vb_qp *left, *right;
	uint32_t qpn;

	(void)state;
	world_open();
	left = open_watched(LEFT);
	right = open_watched(RIGHT);
	qpn = w.tgt->qpn;
	assert_int_equal(vb_qp_destroy(w.tgt), 0);
	assert_true(send_to(OWNER));
	assert_true(send_to(LEFT));
	assert_int_equal(w.events[OWNER], 0);
	assert_int_equal(w.events[LEFT], 1u << VB_ASYNC_COMM_EST);
	assert_int_equal(vb_xrcd_destroy(w.xrcd[OWNER]), -EBUSY); /* its SRQ */
	assert_int_equal(vb_srq_destroy(w.srq[OWNER]), 0);
	assert_non_null(vb_xrcd_find(w.env[OWNER].hca, &name));
	assert_int_equal(vb_xrcd_destroy(w.xrcd[OWNER]), 0);
	/* It stays for the target alone: nobody is served in it. */
	assert_null(vb_xrcd_find(w.env[OWNER].hca, &name));
	assert_true(send_to(RIGHT));
	assert_int_equal(vb_xrcd_create(w.env[OWNER].hca, &w.xrcd[OWNER]), 0);
	vb_xrcd_share(w.xrcd[OWNER], &name);
	assert_int_equal(w.env[OWNER].hca->xrcd_cnt, 1);
	assert_ptr_equal(vb_xrcd_target(w.xrcd[OWNER], qpn), w.tgt);
	assert_int_equal(vb_qp_destroy(left), 0);
	settle();
	assert_true(send_to(RIGHT));
	assert_int_equal(vb_xrcd_destroy(w.xrcd[OWNER]), 0);
	assert_int_equal(vb_qp_destroy(right), 0);
	settle();
	assert_int_equal(w.env[OWNER].hca->qp_cnt, 0);
	assert_int_equal(w.env[OWNER].hca->xrcd_cnt, 0);
	world_close();
}

static void set_owner__of_an_orphan(void **state)
{
	struct vb_qp *left;

	(void)state;
	world_open();
	left = open_watched(LEFT);
	assert_int_equal(vb_qp_destroy(w.tgt), 0);
	assert_null(vb_qp_owner(w.tgt));
	vb_qp_set_owner(vb_xrcd_target(w.xrcd[OWNER], w.tgt->qpn), &w.tgt);
	assert_int_equal(vb_qp_destroy(left), 0);
	settle();
	assert_int_equal(w.env[OWNER].hca->qp_cnt, 1);
	assert_true(send_to(OWNER));
	assert_int_equal(vb_qp_destroy(w.tgt), 0);
	assert_int_equal(w.env[OWNER].hca->qp_cnt, 0);
	world_close();
}

/* As kill -9: the next probe finds it, and the one after that the other one. */
static void opener__is_killed(void **state)
{
	(void)state;
	world_open();
	(void)open_watched(LEFT);
	(void)open_watched(RIGHT);
	assert_int_equal(vb_qp_destroy(w.tgt), 0);
	w.gone[LEFT] = w.gone[RIGHT] = true;
	vb_xrc_probe(w.env[OWNER].hca, 0);
	assert_int_equal(w.env[OWNER].hca->qp_cnt, 1);
	vb_xrc_probe(w.env[OWNER].hca, 0);
	assert_int_equal(w.env[OWNER].hca->qp_cnt, 0);
	w.gone[LEFT] = w.gone[RIGHT] = false;
	world_close();
}

/* Each probe asks the next of those that have the target open: one that is alive hides nobody. */
static void opener__is_killed_behind_one_that_lives(void **state)
{
	struct vb_qp *left;

	(void)state;
	world_open();
	left = open_watched(LEFT);
	(void)open_watched(RIGHT);
	assert_int_equal(vb_qp_destroy(w.tgt), 0);
	w.gone[RIGHT] = true;
	vb_xrc_probe(w.env[OWNER].hca, 0);
	vb_xrc_probe(w.env[OWNER].hca, 0);
	settle();
	assert_int_equal(w.env[OWNER].hca->qp_cnt, 1);
	assert_int_equal(vb_qp_destroy(left), 0);
	settle();
	assert_int_equal(w.env[OWNER].hca->qp_cnt, 0);
	w.gone[RIGHT] = false;
	world_close();
}

/* Another process has the slot, and the domain, but not the target. */
static void opener__is_another(void **state)
{
	struct vb_qp *left;

	(void)state;
	world_open();
	left = open_watched(LEFT);
	assert_int_equal(vb_qp_destroy(w.tgt), 0);
	w.room = 0; /* the CLOSE is lost */
	assert_int_equal(vb_qp_destroy(left), 0);
	w.room = 4;
	vb_xrc_probe(w.env[OWNER].hca, 0);
	settle();
	assert_int_equal(w.env[OWNER].hca->qp_cnt, 0);
	world_close();
}

static void owner__is_killed(void **state)
{
	struct vb_xrc_ask a = {0}, set = {.mask = VB_QP_STATE};
	struct vb_qp *left;

	(void)state;
	world_open();
	left = open_watched(LEFT);
	w.gone[OWNER] = true;
	for (int i = 0; i < 2; i++) {
		w.events[LEFT] = 0;
		vb_xrc_probe(w.env[LEFT].hca, 0);
		settle();
		assert_int_equal(w.events[LEFT], i == 0 ? 1u << VB_ASYNC_QP_FATAL : 0);
	}
	assert_int_equal(ask(LEFT, w.tgt->qpn, &a), 0);
	assert_int_equal(a.attr.qp_state, VB_QPS_ERR);
	assert_int_equal(a.attr.dest_qpn, vb_qp_number(w.ini));
	assert_int_equal(ask(LEFT, w.tgt->qpn, &set), -EIO);
	assert_int_equal(vb_qp_destroy(left), 0);
	w.gone[OWNER] = false;
	world_close();
}

/* An adapter that asks finds it out before the probe. */
static void ask__of_an_owner_that_is_killed(void **state)
{
	struct vb_xrc_ask a = {0};

	(void)state;
	world_open();
	(void)open_watched(LEFT);
	w.gone[OWNER] = true;
	assert_int_equal(ask(LEFT, w.tgt->qpn, &a), 0);
	assert_int_equal(a.attr.qp_state, VB_QPS_ERR);
	assert_int_equal(w.events[LEFT], 1u << VB_ASYNC_QP_FATAL);
	w.gone[OWNER] = false;
	world_close();
}

/* Another adapter in its place answers that there is no such target. */
static void ask__of_another_owner(void **state)
{
	struct vb_xrc_ask a = {0};

	(void)state;
	world_open();
	(void)open_watched(LEFT);
	w.gone[LEFT] = true; /* so that it does not hear */
	host_kill(OWNER);
	w.gone[LEFT] = w.gone[OWNER] = false;
	host_open(OWNER);
	assert_int_equal(ask(LEFT, FIRST_SLOT + OWNER + 256, &a), 0);
	assert_int_equal(a.attr.qp_state, VB_QPS_ERR);
	assert_int_equal(w.events[LEFT], 1u << VB_ASYNC_QP_FATAL);
	world_close();
}

/* An adapter that ends in order says so. */
static void owner__ends(void **state)
{
	(void)state;
	world_open();
	(void)open_watched(LEFT);
	host_kill(OWNER);
	settle();
	assert_int_equal(w.events[LEFT], 1u << VB_ASYNC_QP_FATAL);
	world_close();
}

/* Nobody waits for the answer any more, so nobody has the target. */
static void ask__is_given_up(void **state)
{
	struct vb_xrc_ask a = {.opens = true};

	(void)state;
	world_open();
	vb_xrc_ask_begin(&a, w.xrcd[LEFT], w.tgt->qpn);
	vb_xrc_ask_again(&a);
	assert_int_equal(a.err, -EINPROGRESS);
	vb_xrc_ask_end(&a);
	settle();
	assert_int_equal(w.said[VB_XRC_ANSWER], 1);
	assert_int_equal(w.said[VB_XRC_CLOSE], 1);
	assert_int_equal(vb_qp_destroy(w.tgt), 0);
	assert_int_equal(w.env[OWNER].hca->qp_cnt, 0);
	world_close();
}

/* A handle of a target that is nowhere hears that it is over. */
static void hold__of_a_target_that_has_gone(void **state)
{
	struct vb_xrc_msg m = {.magic = VB_XRC_MAGIC, .kind = VB_XRC_HOLD, .serial = 1};

	(void)state;
	world_open();
	m.qpn = w.tgt->qpn;
	m.name = w.xrcd[OWNER]->name;
	assert_int_equal(vb_qp_destroy(w.tgt), 0);
	(void)vb_xrc_take_message(w.env[OWNER].hca, FIRST_SLOT + LEFT, &m, sizeof m, 1);
	assert_int_equal(w.said[VB_XRC_OVER], 1);
	world_close();
}

/* Of two answers to one question the first counts. */
static void ask__is_answered_once(void **state)
{
	static struct {
		struct vb_xrc_msg head;
		struct vb_xrc_inquiry body;
	} m;
	struct vb_xrc_ask a = {.opens = false};

	(void)state;
	world_open();
	vb_xrc_ask_begin(&a, w.xrcd[LEFT], w.tgt->qpn);
	vb_xrc_ask_again(&a);
	settle();
	assert_int_equal(a.err, 0);
	m.head = (struct vb_xrc_msg){.magic = VB_XRC_MAGIC,
				     .kind = VB_XRC_ANSWER,
				     .qpn = w.tgt->qpn,
				     .serial = a.serial,
				     .name = w.xrcd[OWNER]->name,
				     .state_len = sizeof m.body};
	m.body = (struct vb_xrc_inquiry){.err = -EACCES, .attr = w.tgt->attr};
	(void)vb_xrc_take_message(w.env[LEFT].hca, FIRST_SLOT + OWNER, &m, sizeof m, 1);
	assert_int_equal(a.err, 0);
	vb_xrc_ask_end(&a);
	settle();
	world_close();
}

/* An answer about a port that no adapter has is none. */
static void ask__about_a_wild_port(void **state)
{
	static struct {
		struct vb_xrc_msg head;
		struct vb_xrc_inquiry body;
	} m;

	(void)state;
	for (int of_path = 0; of_path < 2; of_path++) {
		struct vb_xrc_ask a = {.opens = false};

		world_open();
		vb_xrc_ask_begin(&a, w.xrcd[LEFT], w.tgt->qpn);
		m.head = (struct vb_xrc_msg){.magic = VB_XRC_MAGIC,
					     .kind = VB_XRC_ANSWER,
					     .qpn = w.tgt->qpn,
					     .serial = a.serial,
					     .name = w.xrcd[OWNER]->name,
					     .state_len = sizeof m.body};
		m.body = (struct vb_xrc_inquiry){.attr = w.tgt->attr};
		*(of_path ? &m.body.attr.path.port : &m.body.attr.port) = VB_HCA_PORTS_MAX + 1;
		(void)vb_xrc_take_message(w.env[LEFT].hca, FIRST_SLOT + OWNER, &m, sizeof m, 1);
		assert_int_equal(a.err, -EPROTO);
		vb_xrc_ask_end(&a);
		settle();
		world_close();
	}
}

/* A message that no adapter sends is refused or changes nothing, and never does harm. */
static void take_message__hostile(void **state)
{
	static uint64_t mem[(sizeof(struct vb_xrc_msg) + sizeof(struct vb_xrc_inquiry)) / 8];
	struct vb_xrc_msg *m = (struct vb_xrc_msg *)(void *)mem;
	struct vb_xrc_inquiry *q = (struct vb_xrc_inquiry *)(void *)(m + 1);
	uint32_t opened = 0;

	(void)state;
	for (uint32_t r = 0; r < 20000; r++) {
		if (r % 100 == 0) {
			if (r)
				world_close();
			world_open();
			w.room = QUEUE;
			w.rng = vb_rng_stream(r, "open", 0);
			(void)open_watched(LEFT);
		}
		for (size_t k = 0; k < sizeof *q; k++)
			((uint8_t *)q)[k] = (uint8_t)vb_rng_below(&w.rng, 256);
		q->attr = w.tgt->attr;
		q->attr.port = (uint8_t)vb_rng_below(&w.rng, 256);
		q->mask = 1u << vb_rng_below(&w.rng, 26);
		*m = (struct vb_xrc_msg){
		    .magic = VB_XRC_MAGIC,
		    .kind = VB_XRC_OPEN + vb_rng_below(&w.rng, VB_XRC_KINDS - VB_XRC_OPEN + 1),
		    .qpn = vb_rng_below(&w.rng, 8) ? w.tgt->qpn : vb_rng_below(&w.rng, 2000),
		    .serial = vb_rng_below(&w.rng, 3),
		    .name = w.xrcd[OWNER]->name,
		    .state_len = vb_rng_below(&w.rng, 2) ? sizeof *q : 0,
		    .events = (uint32_t)vb_rng_below(&w.rng, UINT32_MAX)};

		uint32_t host = OWNER + vb_rng_below(&w.rng, 3);
		uint32_t from = FIRST_SLOT + vb_rng_below(&w.rng, HOSTS);

		if (m->kind == VB_XRC_CLOSE && vb_rng_below(&w.rng, 4))
			m->kind = VB_XRC_OPEN;
		(void)vb_xrc_take_message(w.env[host].hca, from, m, sizeof *m + m->state_len, r);
		(void)vb_xrc_run(w.env[host].hca, r);
		for (uint32_t i = OWNER; i < HOSTS; i++) {
			struct vb_event ev;

			w.cnt[i] = 0;
			while (vb_hca_poll_event(w.env[i].hca, &ev))
				continue;
			vb_xrc_probe(w.env[i].hca, r);
		}
		opened += w.tgt->openers->list.next != &w.tgt->openers->list;
		assert_int_equal(vb_qp_get_type(w.tgt), VB_QPT_XRC_TGT);
	}
	assert_true(opened > 1000);
	world_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(open_qp__tells_and_hears),
	    cmocka_unit_test(open_qp__event_finds_a_full_queue),
	    cmocka_unit_test(open_qp__no_such_target),
	    cmocka_unit_test(modify__through_a_handle),
	    cmocka_unit_test(modify__again_and_late),
	    cmocka_unit_test(destroy__by_the_maker_first),
	    cmocka_unit_test(set_owner__of_an_orphan),
	    cmocka_unit_test(opener__is_killed),
	    cmocka_unit_test(opener__is_killed_behind_one_that_lives),
	    cmocka_unit_test(opener__is_another),
	    cmocka_unit_test(owner__is_killed),
	    cmocka_unit_test(ask__of_an_owner_that_is_killed),
	    cmocka_unit_test(ask__of_another_owner),
	    cmocka_unit_test(hold__of_a_target_that_has_gone),
	    cmocka_unit_test(ask__about_a_wild_port),
	    cmocka_unit_test(ask__is_answered_once),
	    cmocka_unit_test(owner__ends),
	    cmocka_unit_test(ask__is_given_up),
	    cmocka_unit_test(take_message__hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
