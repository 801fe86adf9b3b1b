/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues: sizes, order, arming, overrun, resizing. IBA 10.8.2, 11.4.2, 11.6.3.3 */
#include "core_env.h"

static struct env env;

static void setup(uint32_t cqe)
{
	env_config(&env);
	env.cfg.limits.cqe = 64;
	env.cfg.limits.cq = 3;
	env_open(&env, cqe);
}

static void add(uint64_t wr_id, enum vb_wc_status status, bool solicited)
{
	vb_cq_add(env.cq, &(struct vb_wc){.wr_id = wr_id, .status = status}, solicited);
}

static void expect_next(uint64_t wr_id)
{
	(void)env_wc(&env, wr_id, VB_WC_SUCCESS);
}

static void cq_create__sizes(void **state)
{
	struct vb_cq *a, *b, *c;

	(void)state;
	setup(1);
	assert_int_equal(vb_cq_size(env.cq), 1);
	assert_int_equal(vb_cq_create(env.hca, 0, NULL, &a), -EINVAL);
	assert_int_equal(vb_cq_create(env.hca, 65, NULL, &a), -EINVAL);
	assert_int_equal(vb_cq_create(env.hca, 33, NULL, &a), 0);
	assert_int_equal(vb_cq_size(a), 64);
	assert_int_equal(vb_cq_create(env.hca, 64, NULL, &b), 0);
	assert_int_equal(vb_cq_size(b), 64);
	assert_int_not_equal(vb_cq_number(a), vb_cq_number(b));
	assert_int_equal(vb_cq_create(env.hca, 1, NULL, &c), -ENOMEM); /* limits.cq */
	assert_int_equal(vb_cq_destroy(a), 0);
	assert_int_equal(vb_cq_create(env.hca, 1, NULL, &c), 0);
	env_close(&env);
}

/* The times of a queue do not go back, whatever those who fill it say. */
static void add__times_in_order(void **state)
{
	static const vb_time at[] = {5, 9, 7, 9, 0, 12};
	static const vb_time is[] = {5, 9, 9, 9, 9, 12};
	struct vb_wc wc[6];

	(void)state;
	setup(8);
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(
		    vb_cq_add(env.cq, &(struct vb_wc){.wr_id = i, .time = at[i]}, false), 0);
	assert_int_equal(vb_cq_poll(env.cq, wc, 6), 6);
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(wc[i].time, is[i]);
	env_close(&env);
}

static void poll__in_order_and_in_parts(void **state)
{
	struct vb_wc wc[8];

	(void)state;
	setup(8);
	/* The counters run freely: also across their end. */
	env.cq->head = env.cq->tail = UINT32_MAX - 4;
	assert_int_equal(vb_cq_poll(env.cq, wc, 8), 0);
	for (uint64_t i = 0; i < 8; i++)
		add(i, VB_WC_SUCCESS, false);
	assert_int_equal(vb_cq_poll(env.cq, wc, 0), 0);
	assert_int_equal(vb_cq_poll(env.cq, wc, 3), 3);
	assert_int_equal(wc[2].wr_id, 2);
	assert_false(vb_cq_is_empty(env.cq));
	assert_int_equal(vb_cq_poll(env.cq, wc, 8), 5);
	assert_int_equal(wc[0].wr_id, 3);
	assert_int_equal(wc[4].wr_id, 7);
	assert_true(vb_cq_is_empty(env.cq));
	env_no_event(&env);
	env_close(&env);
}

/* The effect of each kind of completion on a queue that was armed in each way. IBA 11.4.2.2 */
static void arm__which_completion_notifies(void **state)
{
	static const struct {
		int arm; /* 0: not, 1: solicited only, 2: any, 3: any and then solicited only */
		enum vb_wc_status status;
		bool solicited, notifies;
	} c[] = {
	    {0, VB_WC_SUCCESS, false, false},      {0, VB_WC_SUCCESS, true, false},
	    {0, VB_WC_WR_FLUSH_ERR, false, false}, {1, VB_WC_SUCCESS, false, false},
	    {1, VB_WC_SUCCESS, true, true},        {1, VB_WC_WR_FLUSH_ERR, false, true},
	    {1, VB_WC_RETRY_EXC_ERR, false, true}, {2, VB_WC_SUCCESS, false, true},
	    {2, VB_WC_SUCCESS, true, true},        {2, VB_WC_LOC_LEN_ERR, false, true},
	    {3, VB_WC_SUCCESS, false, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
		setup(8);
		add(0, VB_WC_SUCCESS, true); /* an entry that is there already does not count */
		if (c[i].arm)
			vb_cq_arm(env.cq, c[i].arm == 1);
		if (c[i].arm == 3)
			vb_cq_arm(env.cq, true);
		env_no_event(&env);
		add(1, c[i].status, c[i].solicited);
		if (c[i].notifies)
			env_event(&env, VB_EVENT_CQ_NOTIFY, 0);
		env_no_event(&env);
		/* Once for each arming; one that did not fire stays. */
		add(2, VB_WC_SUCCESS, true);
		if (c[i].arm && !c[i].notifies)
			env_event(&env, VB_EVENT_CQ_NOTIFY, 0);
		env_no_event(&env);
		env_close(&env);
	}
}

static void add_at(vb_time now)
{
	vb_cq_add(env.cq, &(struct vb_wc){.status = VB_WC_SUCCESS, .time = now}, false);
}

static void expect_notify_at(vb_time now)
{
	assert_int_equal(vb_hca_poll_timeout(env.hca), now);
	vb_hca_handle_timeout(env.hca, now - 1);
	env_no_event(&env);
	vb_hca_handle_timeout(env.hca, now);
	env_event(&env, VB_EVENT_CQ_NOTIFY, 0);
	env_no_event(&env);
	assert_int_equal(vb_hca_poll_timeout(env.hca), VB_NEVER);
}

static void moderate__by_count_or_by_time(void **state)
{
	(void)state;
	setup(32);
	vb_cq_moderate(env.cq, 3, 100, 0);
	add_at(1); /* not armed */
	vb_cq_arm(env.cq, false);
	add_at(5);
	add_at(6);
	env_no_event(&env);
	add_at(7);
	env_event(&env, VB_EVENT_CQ_NOTIFY, 0);
	assert_int_equal(vb_hca_poll_timeout(env.hca), VB_NEVER);
	add_at(8);
	env_no_event(&env);
	/* The time counts from the first; arming again does not put it off. */
	vb_cq_arm(env.cq, false);
	add_at(20);
	vb_cq_arm(env.cq, true);
	add_at(30);
	expect_notify_at(120);
	env_close(&env);
}

static void moderate__of_several_queues(void **state)
{
	struct vb_cq *other;

	(void)state;
	setup(32);
	assert_int_equal(vb_cq_create(env.hca, 8, NULL, &other), 0);
	vb_cq_moderate(env.cq, 9, 100, 0);
	vb_cq_moderate(other, 9, 50, 0);
	vb_cq_arm(env.cq, false);
	vb_cq_arm(other, false);
	add_at(10);
	vb_cq_add(other, &(struct vb_wc){.time = 20}, false);
	vb_hca_handle_timeout(env.hca, 70);
	env_event(&env, VB_EVENT_CQ_NOTIFY, 0);
	env_no_event(&env);
	expect_notify_at(110);
	/* One that goes while it holds an event. */
	vb_cq_arm(other, false);
	vb_cq_add(other, &(struct vb_wc){.time = 120}, false);
	assert_int_equal(vb_cq_destroy(other), 0);
	vb_hca_handle_timeout(env.hca, 1000);
	env_no_event(&env);
	env_close(&env);
}

/* A new rule is for the event that waits, too. */
static void moderate__changed_meanwhile(void **state)
{
	static const struct {
		uint16_t cnt;
		vb_dur period;
		bool at_once;
		vb_time due;
	} c[] = {{0, 100, true, 0},  {1, 100, true, 0},     {5, 0, true, 0},    {2, 100, true, 0},
		 {3, 10, false, 60}, {3, 1000, false, 110}, {9, 55, false, 105}};

	(void)state;
	for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
		setup(32);
		vb_cq_moderate(env.cq, 5, 100, 0);
		vb_cq_arm(env.cq, false);
		add_at(10);
		add_at(20);
		vb_cq_moderate(env.cq, c[i].cnt, c[i].period, 50);
		if (c[i].at_once)
			env_event(&env, VB_EVENT_CQ_NOTIFY, 0);
		else
			expect_notify_at(c[i].due);
		env_no_event(&env);
		/* Moderation that is off leaves nothing behind. */
		vb_cq_moderate(env.cq, 0, 0, 200);
		vb_cq_arm(env.cq, false);
		add_at(201);
		env_event(&env, VB_EVENT_CQ_NOTIFY, 0);
		env_close(&env);
	}
}

/* The event names the owner that the queue was given. */
static void arm__event_names_the_queue(void **state)
{
	struct vb_event ev;
	struct vb_cq *cq;

	(void)state;
	setup(8);
	assert_int_equal(vb_cq_create(env.hca, 8, &env, &cq), 0);
	vb_cq_arm(cq, false);
	vb_cq_add(cq, &(struct vb_wc){0}, false);
	assert_true(vb_hca_poll_event(env.hca, &ev));
	assert_ptr_equal(ev.owner, &env);
	/* One destroyed takes its events along. */
	vb_cq_arm(cq, false);
	vb_cq_add(cq, &(struct vb_wc){0}, false);
	assert_int_equal(vb_cq_destroy(cq), 0);
	env_no_event(&env);
	env_close(&env);
}

/* A SEND of @qp, UC, that completes. */
static void complete_send(struct vb_qp *qp)
{
	struct vb_send_wr wr = {.opcode = VB_WR_SEND, .flags = VB_SEND_SIGNALED};
	struct vb_tx_batch b = {0};

	assert_int_equal(vb_qp_post_send(qp, &wr, env.now), 0);
	assert_int_equal(vb_hca_poll_transmit(env.hca, &b, env.now), 1);
}

static void overrun__ends_every_qp_on_the_queue(void **state)
{
	struct vb_qp *sends, *receives, *reset, *elsewhere;
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_cq *other;
	struct vb_wc wc[4];

	(void)state;
	setup(2);
	assert_int_equal(vb_cq_create(env.hca, 64, NULL, &other), 0);

	struct vb_qp_init init = {
	    .type = VB_QPT_UC, .send_cq = env.cq, .recv_cq = other, .cap.max_send_wr = 1};

	assert_int_equal(vb_qp_create(env.pd, &init, &sends), 0);
	init.send_cq = other;
	assert_int_equal(vb_qp_create(env.pd, &init, &elsewhere), 0);
	init.recv_cq = env.cq;
	assert_int_equal(vb_qp_create(env.pd, &init, &receives), 0);
	reset = env_qp(&env, VB_QPT_RC, NULL);
	env_up(&env, sends, &a, VB_QPS_RTS);
	env_up(&env, receives, &a, VB_QPS_INIT);
	env_up(&env, elsewhere, &a, VB_QPS_RTS);
	add(1, VB_WC_SUCCESS, false);
	add(2, VB_WC_SUCCESS, false);
	env_no_event(&env);
	assert_int_equal(vb_qp_get_state(sends), VB_QPS_RTS);
	complete_send(sends);         /* no room */
	add(4, VB_WC_SUCCESS, false); /* told once */
	env_event(&env, VB_EVENT_ASYNC_CQ, VB_ASYNC_CQ_ERR);
	env_event(&env, VB_EVENT_ASYNC_QP, VB_ASYNC_QP_FATAL);
	env_event(&env, VB_EVENT_ASYNC_QP, VB_ASYNC_QP_FATAL);
	env_no_event(&env);
	assert_int_equal(vb_qp_get_state(sends), VB_QPS_ERR);
	assert_int_equal(vb_qp_get_state(receives), VB_QPS_ERR);
	assert_int_equal(vb_qp_get_state(reset), VB_QPS_RESET);
	assert_int_equal(vb_qp_get_state(elsewhere), VB_QPS_RTS);
	/* The queued completions are there to the last one; then the error, for ever. */
	assert_int_equal(vb_cq_poll(env.cq, wc, 4), 2);
	assert_int_equal(wc[1].wr_id, 2);
	assert_int_equal(vb_cq_poll(env.cq, wc, 4), -EOVERFLOW);
	assert_int_equal(vb_cq_poll(env.cq, wc, 0), 0);
	add(5, VB_WC_SUCCESS, false);
	assert_int_equal(vb_cq_poll(env.cq, wc, 4), -EOVERFLOW);
	env_close(&env);
}

/* An object's events wait together and come one by one, none of them lost, none twice. */
static void event__several_of_one_queue(void **state)
{
	(void)state;
	setup(1);
	vb_cq_arm(env.cq, false);
	add(1, VB_WC_SUCCESS, false);
	vb_event_raise_async(env.hca, &env.cq->ev, VB_ASYNC_SRQ_ERR);
	add(2, VB_WC_SUCCESS, false);
	vb_event_raise_async(env.hca, &env.cq->ev, VB_ASYNC_SRQ_ERR);
	env_event(&env, VB_EVENT_CQ_NOTIFY, 0);
	env_event(&env, VB_EVENT_ASYNC_CQ, VB_ASYNC_CQ_ERR);
	env_event(&env, VB_EVENT_ASYNC_CQ, VB_ASYNC_SRQ_ERR);
	env_no_event(&env);
	env_close(&env);
}

static void resize__keeps_what_is_queued(void **state)
{
	(void)state;
	setup(4);
	/* Around the end of the ring. */
	for (uint64_t i = 0; i < 3; i++)
		add(i, VB_WC_SUCCESS, false);
	for (uint64_t i = 0; i < 3; i++)
		expect_next(i);
	for (uint64_t i = 10; i < 14; i++)
		add(i, VB_WC_SUCCESS, false);
	assert_int_equal(vb_cq_resize(env.cq, 0), -EINVAL);
	assert_int_equal(vb_cq_resize(env.cq, 3), -EINVAL); /* four are in it */
	assert_int_equal(vb_cq_resize(env.cq, 65), -EINVAL);
	assert_int_equal(vb_cq_size(env.cq), 4);
	assert_int_equal(vb_cq_resize(env.cq, 64), 0);
	assert_int_equal(vb_cq_resize(env.cq, 5), 0);
	assert_int_equal(vb_cq_size(env.cq), 8);
	for (uint64_t i = 14; i < 18; i++)
		add(i, VB_WC_SUCCESS, false);
	env_no_event(&env); /* eight fit */
	for (uint64_t i = 10; i < 16; i++)
		expect_next(i);
	assert_int_equal(vb_cq_resize(env.cq, 2), 0);
	expect_next(16);
	expect_next(17);
	env_no_wc(&env);
	env_close(&env);
}

/* A QP that goes takes its completions along, and no others. IBA 11.2.5.4 */
static void destroy_qp__takes_its_completions(void **state)
{
	struct vb_qp *qp[2];

	(void)state;
	setup(8);
	env_pair(&env, VB_QPT_RC, qp);
	env.cq->head = env.cq->tail = 6;
	for (uint64_t i = 0; i < 8; i++)
		vb_cq_add(env.cq, &(struct vb_wc){.wr_id = i, .qp = qp[i & 1]}, false);
	assert_int_equal(vb_qp_destroy(qp[0]), 0);
	for (uint64_t i = 1; i < 8; i += 2)
		expect_next(i);
	env_no_wc(&env);
	env_close(&env);
}

static void destroy__in_use(void **state)
{
	struct vb_qp *qp;

	(void)state;
	setup(8);
	qp = env_qp(&env, VB_QPT_RC, NULL);
	assert_int_equal(vb_cq_destroy(env.cq), -EBUSY);
	assert_int_equal(vb_qp_destroy(qp), 0);
	assert_int_equal(vb_cq_destroy(env.cq), 0);
	env_close(&env);
}

/* Of several queues that hold events the earliest is the deadline, whatever their order. */
static void moderate__earliest_of_three(void **state)
{
	static const vb_dur period[] = {90, 70, 110};
	struct vb_cq *cq[3];

	(void)state;
	setup(32);
	for (int i = 0; i < 3; i++) {
		cq[i] = env.cq;
		if (i)
			assert_int_equal(vb_cq_create(env.hca, 8, NULL, &cq[i]), 0);
		vb_cq_moderate(cq[i], 9, period[i], 0);
		vb_cq_arm(cq[i], false);
		assert_int_equal(vb_cq_add(cq[i], &(struct vb_wc){.time = 0}, false), 0);
	}
	assert_int_equal(vb_hca_poll_timeout(env.hca), 70);
	for (vb_time now = 70; now <= 110; now += 20) {
		assert_int_equal(vb_hca_poll_timeout(env.hca), now);
		vb_hca_handle_timeout(env.hca, now);
		env_event(&env, VB_EVENT_CQ_NOTIFY, 0);
		env_no_event(&env);
	}
	env_close(&env);
}

/* A second form of the entries, and what its owner was told. */
static struct {
	struct vb_cq_mirror m;
	uint32_t added, place, taken, polled, moved, from, to, tail, was;
} mirror;

static void on_added(struct vb_cq_mirror *m, uint32_t place, struct vb_wc *wc, bool solicited)
{
	assert_ptr_equal(m, &mirror.m);
	assert_int_equal(solicited, place & 1);
	mirror.added++;
	mirror.place = place;
	wc->wr_id += 100;
}

static uint32_t on_taken(struct vb_cq_mirror *m, uint32_t head, uint32_t tail)
{
	(void)m;
	assert_true(tail - head <= vb_cq_size(env.cq));
	return mirror.taken;
}

static void on_polled(struct vb_cq_mirror *m, uint32_t head)
{
	(void)m;
	mirror.polled = head;
}

static void on_moved(struct vb_cq_mirror *m, uint32_t from, uint32_t to)
{
	(void)m;
	mirror.moved++;
	mirror.from = from;
	mirror.to = to;
}

static void on_cut(struct vb_cq_mirror *m, uint32_t tail, uint32_t was)
{
	(void)m;
	mirror.tail = tail;
	mirror.was = was;
}

static void setup_mirror(uint32_t cqe)
{
	setup(cqe);
	memset(&mirror, 0, sizeof mirror);
	mirror.m = (struct vb_cq_mirror){.added = on_added,
					 .taken = on_taken,
					 .polled = on_polled,
					 .moved = on_moved,
					 .cut = on_cut};
	vb_cq_set_mirror(env.cq, &mirror.m);
}

/* The mirror sees an entry before it is to be had, may give it another wr_id, and hears how far
 * entries were polled. */
static void mirror__sees_each_entry(void **state)
{
	(void)state;
	setup_mirror(4);
	for (uint64_t i = 0; i < 3; i++) {
		add(i, VB_WC_SUCCESS, i & 1);
		assert_int_equal(mirror.added, i + 1);
		assert_int_equal(mirror.place, i);
	}
	expect_next(100);
	assert_int_equal(mirror.polled, 1);
	expect_next(101);
	expect_next(102);
	assert_int_equal(mirror.polled, 3);
	mirror.taken = 3;
	env_no_wc(&env);
	env_close(&env);
}

/* An entry that was read in the other form makes room, and is not polled; nobody can have read up
 * to a place behind the last entry. */
static void mirror__what_was_read_makes_room(void **state)
{
	struct vb_wc wc;

	(void)state;
	setup_mirror(2);
	add(0, VB_WC_SUCCESS, false);
	add(1, VB_WC_SUCCESS, true);
	mirror.taken = 3;
	assert_int_equal(vb_cq_poll(env.cq, &wc, 0), 0);
	assert_int_equal(vb_cq_head(env.cq), 0);
	mirror.taken = 1;
	add(2, VB_WC_SUCCESS, false);
	env_no_event(&env); /* no overrun */
	assert_int_equal(vb_cq_tail(env.cq), 3);
	expect_next(101);
	mirror.taken = 2;
	expect_next(102);
	env_close(&env);
}

/* Entries of a QP that goes: the mirror hears which of the others move where, and what is left; or
 * they stay, where their reader counts them. */
static void mirror__entries_of_a_qp_that_goes(void **state)
{
	(void)state;
	for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
		struct vb_qp *qp[2];

		setup_mirror(8);
		env_pair(&env, VB_QPT_RC, qp);
		for (uint64_t i = 0; i < 4; i++)
			vb_cq_add(env.cq, &(struct vb_wc){.wr_id = i, .qp = qp[i & 1]}, i & 1);
		mirror.m.is_read_elsewhere = elsewhere;
		assert_int_equal(vb_qp_destroy(qp[0]), 0);
		assert_int_equal(vb_cq_tail(env.cq), elsewhere ? 4 : 2);
		assert_int_equal(mirror.moved, elsewhere ? 0 : 2);
		if (!elsewhere) {
			assert_true(mirror.from == 3 && mirror.to == 1);
			assert_true(mirror.tail == 2 && mirror.was == 4);
			expect_next(101);
			mirror.taken = 1;
			expect_next(103);
		}
		env_close(&env);
	}
}

/* A queue that is told that its event is due has one, if it is armed, and once. */
static void tell__of_an_armed_queue(void **state)
{
	(void)state;
	setup(8);
	vb_cq_tell(env.cq);
	env_no_event(&env);
	vb_cq_arm(env.cq, true);
	vb_cq_tell(env.cq);
	vb_cq_tell(env.cq);
	env_event(&env, VB_EVENT_CQ_NOTIFY, 0);
	vb_cq_tell(env.cq);
	env_no_event(&env);
	env_close(&env);
}

/* Moderation counts the entries that the event is for: of solicited ones, those. */
static void moderate__counts_solicited_ones(void **state)
{
	(void)state;
	setup(8);
	vb_cq_moderate(env.cq, 2, VB_SEC, 0);
	vb_cq_arm(env.cq, true);
	for (uint64_t i = 0; i < 3; i++)
		add(i, VB_WC_SUCCESS, false);
	add(3, VB_WC_SUCCESS, true);
	env_no_event(&env);
	add(4, VB_WC_WR_FLUSH_ERR, false); /* an error counts too */
	env_event(&env, VB_EVENT_CQ_NOTIFY, 0);
	env_no_event(&env);
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(cq_create__sizes),
	    cmocka_unit_test(add__times_in_order),
	    cmocka_unit_test(poll__in_order_and_in_parts),
	    cmocka_unit_test(arm__which_completion_notifies),
	    cmocka_unit_test(moderate__by_count_or_by_time),
	    cmocka_unit_test(moderate__of_several_queues),
	    cmocka_unit_test(moderate__changed_meanwhile),
	    cmocka_unit_test(arm__event_names_the_queue),
	    cmocka_unit_test(overrun__ends_every_qp_on_the_queue),
	    cmocka_unit_test(event__several_of_one_queue),
	    cmocka_unit_test(resize__keeps_what_is_queued),
	    cmocka_unit_test(destroy_qp__takes_its_completions),
	    cmocka_unit_test(destroy__in_use),
	    cmocka_unit_test(moderate__earliest_of_three),
	    cmocka_unit_test(mirror__sees_each_entry),
	    cmocka_unit_test(mirror__what_was_read_makes_room),
	    cmocka_unit_test(mirror__entries_of_a_qp_that_goes),
	    cmocka_unit_test(tell__of_an_armed_queue),
	    cmocka_unit_test(moderate__counts_solicited_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
