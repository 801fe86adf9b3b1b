/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs that sleep for completion events: in ibv_get_cq_event() by several threads, or for the
 * descriptor of the channel, in each order of arming, posting and polling. */
#include "verbs/priv.h"
#include "verbs_env.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>

#define MESSAGES 300
#define THREADS 4

/* An end of a connection and what its thread waits with. */
struct sleeper {
	struct verbs_end end;
	struct ibv_comp_channel *channel;
	int epoll_fd;  /* -1: it waits in ibv_get_cq_event() */
	bool polls;    /* after arming, for a while */
	bool is_first; /* sends first */
};

static struct sleeper sleepers[THREADS];

static void open_sleeper(struct sleeper *s, uint32_t how)
{
	struct epoll_event ev = {.events = EPOLLIN | (how & 4 ? (uint32_t)EPOLLET : 0)};

	*s = (struct sleeper){.epoll_fd = -1, .polls = how & 2};
	s->channel = ibv_create_comp_channel(ctx);
	assert_non_null(s->channel);
	s->end = end_new(IBV_QPT_RC, s->channel, NULL);
	if (how & 1) {
		s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
		assert_int_equal(epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, s->channel->fd, &ev), 0);
	}
}

static void close_sleeper(struct sleeper *s)
{
	end_free(&s->end);
	assert_int_equal(ibv_destroy_comp_channel(s->channel), 0);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
}

static void await_event(struct sleeper *s)
{
	struct epoll_event ev;
	struct ibv_cq *cq;
	void *context;

	if (s->epoll_fd >= 0)
		assert_int_equal(epoll_wait(s->epoll_fd, &ev, 1, VERBS_PATIENCE_S * 1000), 1);
	assert_int_equal(ibv_get_cq_event(s->channel, &cq, &context), 0);
	assert_ptr_equal(cq, s->end.cq);
	ibv_ack_cq_events(cq, 1);
}

/* The opcodes of completions are counted; 0 when there is none. */
static int take_completion(struct sleeper *s, uint32_t *received)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(s->end.cq, 1, &wc);

	if (n == 0)
		return 0;
	assert_int_equal(n, 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	if (wc.opcode == IBV_WC_RECV) {
		++*received;
		post_recv(s->end.qp, 1, 0, 64);
	}
	return 1;
}

/* MESSAGES to and fro; a thread that waits has armed first, and then posted or polled. */
static void *converse(void *arg)
{
	struct sleeper *s = arg;
	uint32_t sent = 0, received = 0;

	while (received < MESSAGES || sent < MESSAGES) {
		int looks = s->polls ? 50 : 1, found = 0;

		assert_int_equal(ibv_req_notify_cq(s->end.cq, 0), 0);
		if (sent < MESSAGES && sent < received + s->is_first) {
			post_send(s->end.qp, (struct ibv_send_wr){.opcode = IBV_WR_SEND}, 4096, 8);
			sent++;
		}
		while (looks-- && !found)
			found = take_completion(s, &received);
		if (!found && received < MESSAGES)
			await_event(s);
		while (take_completion(s, &received))
			;
	}
	return NULL;
}

static void events__reach_whoever_sleeps(void **state)
{
	(void)state;
	/* Waits in ibv_get_cq_event() and by epoll, level and edge, with polls in between and
	 * without; in each round two connections at once, so that one thread sleeps beside another.
	 */
	for (uint32_t how = 0; how < 8; how++) {
		pthread_t t[THREADS];

		for (uint32_t i = 0; i < THREADS; i++)
			open_sleeper(&sleepers[i], i & 1 ? how : 0);
		for (uint32_t i = 0; i < THREADS; i += 2) {
			verbs_connect(sleepers[i].end.qp, sleepers[i + 1].end.qp, false);
			sleepers[i].is_first = true;
		}
		for (uint32_t i = 0; i < THREADS; i++)
			for (int k = 0; k < 8; k++)
				post_recv(sleepers[i].end.qp, 1, 0, 64);
		for (uint32_t i = 0; i < THREADS; i++)
			assert_int_equal(pthread_create(&t[i], NULL, converse, &sleepers[i]), 0);
		for (uint32_t i = 0; i < THREADS; i++)
			pthread_join(t[i], NULL);
		for (uint32_t i = 0; i < THREADS; i++)
			close_sleeper(&sleepers[i]);
	}
}

static void *take_one(void *arg)
{
	struct sleeper *s = arg;
	struct ibv_cq *cq;
	void *context;

	assert_int_equal(ibv_get_cq_event(s->channel, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
	return NULL;
}

/* An event that a waiting thread does not take is there for others: the descriptor shows it. */
static void get_cq_event__leaves_the_next_event(void **state)
{
	struct sleeper *s = &sleepers[0];
	struct pollfd p = {.events = POLLIN};
	struct verbs_end second, peer[2];
	pthread_t t;

	(void)state;
	open_sleeper(s, 0);
	second = end_new(IBV_QPT_RC, s->channel, NULL);
	p.fd = s->channel->fd;
	for (int i = 0; i < 2; i++) {
		struct verbs_end *to = i ? &second : &s->end;

		peer[i] = end_new(IBV_QPT_RC, NULL, NULL);
		verbs_connect(peer[i].qp, to->qp, false);
		post_recv(to->qp, 1, 0, 64);
		assert_int_equal(ibv_req_notify_cq(to->cq, 0), 0);
	}
	assert_int_equal(pthread_create(&t, NULL, take_one, s), 0);
	usleep(20000);
	assert_int_equal(poll(&p, 1, 0), 0);
	for (int i = 0; i < 2; i++)
		post_send(peer[i].qp, (struct ibv_send_wr){.opcode = IBV_WR_SEND}, 4096, 8);
	pthread_join(t, NULL);
	assert_int_equal(poll(&p, 1, VERBS_PATIENCE_S * 1000), 1);
	(void)take_one(s);
	assert_int_equal(poll(&p, 1, 0), 0);
	for (int i = 0; i < 2; i++)
		end_free(&peer[i]);
	end_free(&second);
	close_sleeper(s);
}

/* A program that makes its channel non-blocking when calls have waited for it before waits no more:
 * the mode that a call knows from the last one is looked at again. ibv_get_cq_event(3) */
static void get_cq_event__of_a_mode_that_has_changed(void **state)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(ctx);
	struct vb_evq *q = &((struct vb_ibv_channel *)channel)->events;
	struct ibv_cq *cq;
	void *context;

	(void)state;
	q->is_blocking = true; /* as after such a call */
	fcntl(channel->fd, F_SETFL, O_NONBLOCK);
	alarm(VERBS_PATIENCE_S); /* a call that waits would wait for ever */
	for (int i = 0; i < 2; i++) {
		errno = 0;
		assert_int_equal(ibv_get_cq_event(channel, &cq, &context), -1);
		assert_int_equal(errno, EAGAIN);
		assert_false(q->is_blocking);
	}
	alarm(0);
	assert_int_equal(ibv_destroy_comp_channel(channel), 0);
}

/* A program that has closed the descriptor hears so: nobody waits for what cannot come.
 * ibv_get_cq_event(3), ibv_get_async_event(3) */
static void get_event__of_a_closed_descriptor(void **state)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(ctx);
	struct ibv_async_event async;
	struct ibv_cq *cq;
	void *context;

	(void)state;
	alarm(VERBS_PATIENCE_S);
	for (int i = 0; i < 2; i++) {
		int fd = i ? ctx->async_fd : channel->fd, kept = dup(fd);

		assert_int_equal(close(fd), 0);
		errno = 0;
		assert_int_equal(i ? ibv_get_async_event(ctx, &async)
				   : ibv_get_cq_event(channel, &cq, &context),
				 -1);
		assert_int_equal(errno, EBADF);
		assert_int_equal(dup2(kept, fd), fd);
		close(kept);
	}
	alarm(0);
	assert_int_equal(ibv_destroy_comp_channel(channel), 0);
}

/* A CQ without a channel may be armed: nobody hears of its event. */
static void req_notify__without_a_channel(void **state)
{
	struct verbs_end a, b;

	(void)state;
	ends_new(&a, &b);
	for (uint64_t i = 0; i < 2; i++) {
		assert_int_equal(ibv_req_notify_cq(a.cq, 0), 0);
		assert_int_equal(ibv_req_notify_cq(b.cq, 0), 0);
		post_recv(b.qp, i, 0, 64);
		post_send(a.qp, (struct ibv_send_wr){.wr_id = i, .opcode = IBV_WR_SEND}, 4096, 16);
		assert_int_equal(wc_next(a.cq).wr_id, i);
		assert_int_equal(wc_next(b.cq).wr_id, i);
	}
	ends_free(&a, &b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    VERBS_TEST(events__reach_whoever_sleeps),
	    VERBS_TEST(get_cq_event__leaves_the_next_event),
	    VERBS_TEST(get_cq_event__of_a_mode_that_has_changed),
	    VERBS_TEST(get_event__of_a_closed_descriptor),
	    VERBS_TEST(req_notify__without_a_channel),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
