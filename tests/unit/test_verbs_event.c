/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion channels and async events: nothing is lost, nothing is announced that is not there. */
#include "node/wait/watch.h"
#include "verbs_env.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>

static struct ibv_comp_channel *channel;
static struct verbs_end a, b;

static int open_pair(void **state)
{
	verbs_open(state);
	channel = ibv_create_comp_channel(ctx);
	assert_non_null(channel);
	a = end_new(IBV_QPT_RC, channel, NULL);
	b = end_new(IBV_QPT_RC, channel, NULL);
	verbs_connect(a.qp, b.qp, false);
	return 0;
}

static bool is_readable(int fd, int timeout_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, timeout_ms) == 1;
}

static void set_nonblocking(int fd)
{
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

/* One message from a to b, which makes a completion on both. */
static void message(uint32_t flags)
{
	post_recv(b.qp, 1, 0, 64);
	post_send(a.qp, (struct ibv_send_wr){.opcode = IBV_WR_SEND, .send_flags = flags}, 4096, 16);
}

static struct ibv_cq *event_next(void)
{
	struct ibv_cq *cq;
	void *context;

	assert_int_equal(ibv_get_cq_event(channel, &cq, &context), 0);
	return cq;
}

/* Calls that wait for descriptors know which are channels', for as long as they are. */
static void channel__is_known_by_its_descriptor(void **state)
{
	struct ibv_comp_channel *ch = ibv_create_comp_channel(ctx);
	int fd;

	(void)state;
	assert_non_null(ch);
	fd = ch->fd;
	assert_true(vb_watch_is_channel(fd));
	assert_int_equal(ibv_destroy_comp_channel(ch), 0);
	assert_false(vb_watch_is_channel(fd));
}

static void cq_event__one_for_each_arm(void **state)
{
	(void)state;
	assert_int_equal(ibv_req_notify_cq(b.cq, 0), 0);
	message(0);
	message(0);
	assert_true(is_readable(channel->fd, 20000));
	assert_true(event_next() == b.cq);
	(void)wc_next(b.cq);
	(void)wc_next(b.cq);
	assert_false(is_readable(channel->fd, 0));

	/* Armed twice before the event is taken: two events. */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(ibv_req_notify_cq(b.cq, 0), 0);
		message(0);
		(void)wc_next(b.cq);
	}
	assert_true(event_next() == b.cq);
	assert_true(is_readable(channel->fd, 0));
	assert_true(event_next() == b.cq);
	assert_false(is_readable(channel->fd, 0));
	ibv_ack_cq_events(b.cq, 3);
	/* All three: nobody waits for more. */
	assert_int_equal(b.cq->comp_events_completed, 3);
	end_free(&b);
}

static void cq_event__solicited_only(void **state)
{
	(void)state;
	assert_int_equal(ibv_req_notify_cq(b.cq, 1), 0);
	message(0);
	(void)wc_next(b.cq);
	assert_false(is_readable(channel->fd, 0));
	message(IBV_SEND_SOLICITED);
	(void)wc_next(b.cq);
	assert_true(is_readable(channel->fd, 0));
	assert_true(event_next() == b.cq);
	ibv_ack_cq_events(b.cq, 1);
}

static void modify_cq__events_wait_for_more(void **state)
{
	struct ibv_modify_cq_attr m = {.attr_mask = IBV_CQ_ATTR_MODERATE,
				       .moderate = {.cq_count = 3, .cq_period = UINT16_MAX}};
	struct ibv_device_attr_ex caps;
	uint64_t from;

	(void)state;
	assert_int_equal(ibv_query_device_ex(ctx, NULL, &caps), 0);
	assert_int_equal(caps.cq_mod_caps.max_cq_count, UINT16_MAX);
	assert_int_equal(caps.cq_mod_caps.max_cq_period, UINT16_MAX);
	assert_int_equal(ibv_modify_cq(b.cq, &m), 0);
	assert_int_equal(ibv_req_notify_cq(b.cq, 0), 0);
	/* On a slow machine too, the third or the time raises the event: an event before the third
	 * does not come sooner than the time. */
	from = now_us();
	for (int i = 0; i < 3; i++) {
		if (is_readable(channel->fd, 0))
			assert_true(now_us() - from >= UINT16_MAX);
		message(0);
		(void)wc_next(b.cq);
	}
	assert_true(event_next() == b.cq);
	/* One alone: the time, which nobody has to poll for; and no sooner. */
	m.moderate.cq_period = 20000;
	assert_int_equal(ibv_modify_cq(b.cq, &m), 0);
	assert_int_equal(ibv_req_notify_cq(b.cq, 0), 0);
	from = now_us();
	message(0);
	assert_true(event_next() == b.cq);
	assert_true(now_us() - from >= 20000);
	(void)wc_next(b.cq);
	ibv_ack_cq_events(b.cq, 2);
	m.attr_mask = IBV_CQ_ATTR_MODERATE | IBV_CQ_ATTR_RESERVED;
	assert_int_equal(ibv_modify_cq(b.cq, &m), EINVAL);
}

/* An event that waited is told once moderation is off. */
static void modify_cq__off_tells_what_waited(void **state)
{
	struct ibv_modify_cq_attr m = {.attr_mask = IBV_CQ_ATTR_MODERATE,
				       .moderate = {.cq_count = 100, .cq_period = UINT16_MAX}};
	struct ibv_cq *cq;
	void *context;

	(void)state;
	set_nonblocking(channel->fd);
	for (uint16_t cnt = 0; cnt < 3; cnt++) {
		m.moderate.cq_count = 100;
		assert_int_equal(ibv_modify_cq(b.cq, &m), 0);
		assert_int_equal(ibv_req_notify_cq(b.cq, 0), 0);
		message(0);
		assert_int_equal(wc_next(a.cq).status, IBV_WC_SUCCESS);
		m.moderate.cq_count = cnt & 1;
		assert_int_equal(ibv_modify_cq(b.cq, &m), 0);
		assert_int_equal(ibv_get_cq_event(channel, &cq, &context), 0);
		assert_ptr_equal(cq, b.cq);
		ibv_ack_cq_events(cq, 1);
		assert_int_equal(wc_next(b.cq).status, IBV_WC_SUCCESS);
	}
}

static void get_cq_event__nonblocking(void **state)
{
	struct ibv_cq *cq;
	void *context;

	(void)state;
	set_nonblocking(channel->fd);
	assert_int_equal(ibv_get_cq_event(channel, &cq, &context), -1);
	assert_int_equal(errno, EAGAIN);
}

static volatile sig_atomic_t alarm_cnt;

static void on_signal(int sig)
{
	(void)sig;
	alarm_cnt++;
}

static void arm_alarm(int flags)
{
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = flags};
	timer_t t;
	struct sigevent ev = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
	/* Again and again: the first may come before the wait. */
	struct itimerspec when = {{0, 20000000}, {0, 20000000}};

	alarm_cnt = 0;
	sigaction(SIGALRM, &sa, NULL);
	assert_int_equal(timer_create(CLOCK_MONOTONIC, &ev, &t), 0);
	assert_int_equal(timer_settime(t, 0, &when, NULL), 0);
}

static void disarm_alarm(void)
{
	struct sigaction sa = {.sa_handler = SIG_IGN};

	sigaction(SIGALRM, &sa, NULL);
}

static void get_cq_event__interrupted(void **state)
{
	struct ibv_cq *cq;
	void *context;

	(void)state;
	arm_alarm(0);
	assert_int_equal(ibv_get_cq_event(channel, &cq, &context), -1);
	assert_int_equal(errno, EINTR);
	disarm_alarm();
}

#if !defined(__SANITIZE_THREAD__)
static void *send_later(void *arg)
{
	sigset_t all;

	(void)arg;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	while (alarm_cnt < 3)
		usleep(1000);
	message(0);
	return NULL;
}

/* As read(2) on a device: a handler with SA_RESTART does not show. */
static void get_cq_event__restarted(void **state)
{
	pthread_t t;

	(void)state;
	assert_int_equal(ibv_req_notify_cq(b.cq, 0), 0);
	arm_alarm(SA_RESTART);
	assert_int_equal(pthread_create(&t, NULL, send_later, NULL), 0);
	assert_true(event_next() == b.cq);
	disarm_alarm();
	pthread_join(t, NULL);
	ibv_ack_cq_events(b.cq, 1);
}
#endif

static void destroy_cq__takes_its_events_along(void **state)
{
	(void)state;
	assert_int_equal(ibv_req_notify_cq(b.cq, 0), 0);
	message(0);
	(void)wc_next(b.cq);
	assert_true(is_readable(channel->fd, 0));
	assert_int_equal(ibv_destroy_cq(b.cq), EBUSY);
	assert_int_equal(ibv_destroy_comp_channel(channel), EBUSY);
	end_free(&b);
	assert_false(is_readable(channel->fd, 0));
	end_free(&a);
	assert_int_equal(ibv_destroy_comp_channel(channel), 0);
}

static _Atomic bool acknowledged;

static void *ack_later(void *arg)
{
	usleep(20000); /* so that there is something to wait for; nothing depends on it */
	acknowledged = true;
	ibv_ack_cq_events(arg, 1);
	return NULL;
}

static void destroy_cq__waits_for_acknowledgement(void **state)
{
	pthread_t t;

	(void)state;
	assert_int_equal(ibv_req_notify_cq(b.cq, 0), 0);
	message(0);
	assert_true(event_next() == b.cq);
	assert_int_equal(pthread_create(&t, NULL, ack_later, b.cq), 0);
	end_free(&b);
	assert_true(acknowledged);
	pthread_join(t, NULL);
}

static struct ibv_async_event async_next(void)
{
	struct ibv_async_event e;

	assert_int_equal(ibv_get_async_event(ctx, &e), 0);
	return e;
}

static void async__established_and_last_wqe(void **state)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 8, .max_sge = 1}};
	struct ibv_srq *srq = ibv_create_srq(pd, &init);
	struct verbs_end c = end_new(IBV_QPT_RC, NULL, srq), d = end_new(IBV_QPT_RC, NULL, NULL);
	struct ibv_qp_attr err = {.qp_state = IBV_QPS_ERR};
	struct ibv_async_event e;

	(void)state;
	verbs_connect(c.qp, d.qp, true);
	assert_int_equal(ibv_modify_qp(c.qp, &err, IBV_QP_STATE), 0);
	e = async_next();
	assert_int_equal(e.event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
	assert_true(e.element.qp == c.qp);
	ibv_ack_async_event(&e);
	end_free(&c);
	end_free(&d);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	set_nonblocking(ctx->async_fd);
	assert_int_equal(ibv_get_async_event(ctx, &e), -1);
	assert_int_equal(errno, EAGAIN);
}

static void async__srq_limit(void **state)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 8, .max_sge = 1}};
	struct ibv_srq *srq = ibv_create_srq(pd, &init);
	struct verbs_end c = end_new(IBV_QPT_RC, NULL, srq), d = end_new(IBV_QPT_RC, NULL, NULL);
	struct ibv_srq_attr limit = {.srq_limit = 2};
	struct ibv_sge sge = sge_at(0, 64);
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
	struct ibv_async_event e;

	(void)state;
	verbs_connect(c.qp, d.qp, false);
	for (int i = 0; i < 2; i++)
		assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
	assert_int_equal(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT), 0);
	post_send(d.qp, (struct ibv_send_wr){.opcode = IBV_WR_SEND}, 4096, 4);
	e = async_next();
	assert_int_equal(e.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
	assert_true(e.element.srq == srq);
	ibv_ack_async_event(&e);
	assert_int_equal(ibv_query_srq(srq, &limit), 0);
	assert_int_equal(limit.srq_limit, 0);
	end_free(&c);
	end_free(&d);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

/* A destruction in a thread of its own. */
static struct destruction {
	int (*destroy)(void *object);
	void *object;
	_Atomic bool begun, done;
} destruction;

static int destroy_qp(void *qp)
{
	return ibv_destroy_qp(qp);
}

static int destroy_srq(void *srq)
{
	return ibv_destroy_srq(srq);
}

static void *destroy_object(void *result)
{
	destruction.begun = true;
	*(int *)result = destruction.destroy(destruction.object);
	destruction.done = true;
	return NULL;
}

/* Destroys @object, of which @e is: that ends with the acknowledgement, and not before. */
static void assert_waits_for_ack(int (*destroy)(void *), void *object, struct ibv_async_event *e)
{
	static int result;
	struct timespec until;
	pthread_t t;

	destruction.destroy = destroy;
	destruction.object = object;
	destruction.begun = destruction.done = false;
	assert_int_equal(pthread_create(&t, NULL, destroy_object, &result), 0);
	while (!destruction.begun)
		assert_true(patience_left());
	usleep(50000); /* so that it comes to the wait; nothing depends on it */
	assert_false(destruction.done);
	ibv_ack_async_event(e);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += VERBS_PATIENCE_S;
	assert_int_equal(pthread_timedjoin_np(t, NULL, &until), 0);
	assert_int_equal(result, 0);
}

/* ibv_get_async_event(3): an object goes when the last of its events is acknowledged, and who
 * destroys it is woken by that. */
static void destroy__waits_for_acknowledged_async_events(void **state)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 8, .max_sge = 1}};
	struct ibv_srq *srq = ibv_create_srq(pd, &init);
	struct verbs_end c = end_new(IBV_QPT_RC, NULL, srq), d = end_new(IBV_QPT_RC, NULL, NULL);
	struct ibv_qp_attr err = {.qp_state = IBV_QPS_ERR};
	struct ibv_srq_attr limit = {.srq_limit = 1};
	struct ibv_sge sge = sge_at(0, 64);
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
	struct ibv_async_event of_srq, of_qp;

	(void)state;
	verbs_connect(c.qp, d.qp, false);
	assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
	assert_int_equal(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT), 0);
	post_send(d.qp, (struct ibv_send_wr){.opcode = IBV_WR_SEND}, 4096, 4);
	of_srq = async_next();
	assert_int_equal(of_srq.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
	assert_int_equal(ibv_modify_qp(c.qp, &err, IBV_QP_STATE), 0);
	of_qp = async_next();
	assert_int_equal(of_qp.event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
	assert_waits_for_ack(destroy_qp, c.qp, &of_qp);
	assert_waits_for_ack(destroy_srq, srq, &of_srq);
	assert_int_equal(ibv_destroy_cq(c.cq), 0);
	end_free(&d);
}

/* A message that was sent is acknowledged; one that was not stays for later. IBA 10.3.1.6 */
static void async__sq_drained(void **state)
{
	struct ibv_qp_attr sqd = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1};
	struct ibv_async_event e;

	(void)state;
	message(0);
	assert_int_equal(ibv_modify_qp(a.qp, &sqd, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	do {
		e = async_next();
		ibv_ack_async_event(&e);
	} while (e.event_type == IBV_EVENT_COMM_EST);
	assert_int_equal(e.event_type, IBV_EVENT_SQ_DRAINED);
	assert_true(e.element.qp == a.qp);
	sqd.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(a.qp, &sqd, IBV_QP_STATE), 0);
	assert_int_equal(wc_next(a.cq).status, IBV_WC_SUCCESS);
}

/* ibv_query_qp(3): sq_draining is 1 for as long as something sent before SQD has no answer, here
 * because the peer has no receive for it. */
static void query_qp__sq_draining(void **state)
{
	struct ibv_qp_attr sqd = {.qp_state = IBV_QPS_SQD}, got;
	struct ibv_qp_init_attr init;

	(void)state;
	post_send(a.qp, (struct ibv_send_wr){.opcode = IBV_WR_SEND}, 4096, 16);
	assert_int_equal(ibv_query_qp(a.qp, &got, IBV_QP_STATE, &init), 0);
	assert_int_equal(got.sq_draining, 0); /* not in RTS */
	assert_int_equal(ibv_modify_qp(a.qp, &sqd, IBV_QP_STATE), 0);
	assert_int_equal(ibv_query_qp(a.qp, &got, IBV_QP_STATE, &init), 0);
	assert_int_equal(got.qp_state, IBV_QPS_SQD);
	assert_int_equal(got.sq_draining, 1);
	post_recv(b.qp, 1, 0, 64);
	assert_int_equal(wc_next(a.cq).status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_query_qp(a.qp, &got, IBV_QP_STATE, &init), 0);
	assert_int_equal(got.qp_state, IBV_QPS_SQD);
	assert_int_equal(got.sq_draining, 0);
}

static void async__cq_overrun(void **state)
{
	struct ibv_cq *small = ibv_create_cq(ctx, 1, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {
	    .send_cq = small, .recv_cq = small, .cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	struct ibv_qp_attr err = {.qp_state = IBV_QPS_ERR};
	struct ibv_async_event e;
	struct ibv_wc wc[4];

	(void)state;
	to_init(qp);
	post_recv(qp, 1, 0, 8);
	post_recv(qp, 2, 0, 8);
	post_recv(qp, 3, 0, 8);
	assert_int_equal(ibv_modify_qp(qp, &err, IBV_QP_STATE), 0);
	e = async_next();
	assert_int_equal(e.event_type, IBV_EVENT_CQ_ERR);
	assert_true(e.element.cq == small);
	ibv_ack_async_event(&e);
	assert_int_equal(ibv_poll_cq(small, 4, wc), small->cqe);
	assert_true(ibv_poll_cq(small, 4, wc) < 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(small), 0);
}

#define PAIR_TEST(f) cmocka_unit_test_setup_teardown(f, open_pair, verbs_close)

/* The wall clock of a completion is the same whenever it is read, as far from the raw time as that
 * of every other one, never before that of an earlier one, and near the host's. */
static void cq_ex__wall_clock(void **state)
{
	struct ibv_cq_init_attr_ex init = {.cqe = 64,
					   .wc_flags =
					       IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
					       IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(ctx, &init);
	struct ibv_poll_cq_attr poll = {0};
	uint64_t last = 0, apart = 0;
	struct ibv_qp_init_attr qi = {.send_cq = ibv_cq_ex_to_cq(cq),
				      .recv_cq = ibv_cq_ex_to_cq(cq),
				      .cap = {8, 8, 1, 1, 0},
				      .qp_type = IBV_QPT_RC};
	struct ibv_qp *qp = ibv_create_qp(pd, &qi);
	struct verbs_end c = end_new(IBV_QPT_RC, NULL, NULL);

	(void)state;
	verbs_connect(qp, c.qp, false);
	for (int i = 0; i < 200; i++) {
		uint64_t wall;

		post_send(qp,
			  (struct ibv_send_wr){.opcode = IBV_WR_RDMA_WRITE,
					       .wr.rdma = {(uintptr_t)buf, mr->rkey}},
			  8192, 64);
		while (ibv_start_poll(cq, &poll))
			assert_true(patience_left());
		wall = ibv_wc_read_completion_wallclock_ns(cq);
		for (int again = 0; again < 100; again++)
			assert_int_equal(ibv_wc_read_completion_wallclock_ns(cq), wall);
		apart = i ? apart : wall - ibv_wc_read_completion_ts(cq);
		assert_int_equal(wall - ibv_wc_read_completion_ts(cq), apart);
		assert_true(wall >= last &&
			    llabs((long long)(wall / 1000000000) - time(NULL)) < 60);
		last = wall;
		ibv_end_poll(cq);
	}
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	end_free(&c);
}

/* An armed CQ with a channel is counted, until its event or its end: meanwhile threads that wait
 * for descriptors make progress. */
static void req_notify__is_counted_until_the_event(void **state)
{
	struct ibv_comp_channel *ch = ibv_create_comp_channel(ctx);
	struct verbs_end e = end_new(IBV_QPT_RC, ch, NULL),
			 silent = end_new(IBV_QPT_RC, NULL, NULL);
	struct ibv_qp_attr err = {.qp_state = IBV_QPS_ERR};
	struct ibv_cq *cq;
	void *context;

	(void)state;
	assert_int_equal(vb_watch_armed, 0);
	assert_int_equal(ibv_req_notify_cq(silent.cq, 0), 0);
	assert_int_equal(vb_watch_armed, 0); /* nobody waits for it */
	for (int i = 0; i < 2; i++)
		assert_int_equal(ibv_req_notify_cq(e.cq, 0), 0);
	assert_int_equal(vb_watch_armed, 1);
	to_init(e.qp);
	post_recv(e.qp, 1, 0, 8);
	assert_int_equal(ibv_modify_qp(e.qp, &err, IBV_QP_STATE), 0);
	assert_int_equal(ibv_get_cq_event(ch, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
	assert_int_equal(vb_watch_armed, 0);
	assert_int_equal(ibv_req_notify_cq(e.cq, 0), 0);
	assert_int_equal(vb_watch_armed, 1);
	end_free(&e);
	assert_int_equal(vb_watch_armed, 0);
	end_free(&silent);
	assert_int_equal(ibv_destroy_comp_channel(ch), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		VERBS_TEST(req_notify__is_counted_until_the_event),
		PAIR_TEST(channel__is_known_by_its_descriptor),
		PAIR_TEST(cq_event__one_for_each_arm),
		PAIR_TEST(cq_event__solicited_only),
		PAIR_TEST(modify_cq__events_wait_for_more),
		PAIR_TEST(modify_cq__off_tells_what_waited),
		PAIR_TEST(get_cq_event__nonblocking),
		PAIR_TEST(get_cq_event__interrupted),
#if !defined(__SANITIZE_THREAD__) /* which puts a handler off while its thread waits */
		PAIR_TEST(get_cq_event__restarted),
#endif
		PAIR_TEST(destroy_cq__takes_its_events_along),
		PAIR_TEST(destroy_cq__waits_for_acknowledgement),
		VERBS_TEST(async__established_and_last_wqe),
		VERBS_TEST(async__srq_limit),
		VERBS_TEST(destroy__waits_for_acknowledged_async_events),
		PAIR_TEST(async__sq_drained),
		PAIR_TEST(query_qp__sq_draining),
		VERBS_TEST(async__cq_overrun),
		VERBS_TEST(cq_ex__wall_clock),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
