/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls by shared memory: no call and no answer is missed, whoever sleeps or looks when. */
#include "base/rng.h"
#include "cmocka_env.h"
#include "node/cm/page/page.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CALLS 100000u

static struct vb_cm_page page;
static int sock[2]; /* the program's end, and the broker's */

/* Half of the time not at all: accesses close together then show whether a fence is missing. */
static void park(struct vb_rng *rng)
{
	if (vb_rng_below(rng, 2))
		return;
	for (uint64_t n = vb_rng_below(rng, 200); n-- > 0;)
		__asm__ volatile("" ::: "memory");
	if (vb_rng_below(rng, 50) == 0)
		sched_yield();
}

/* Looks for a while, says that it does not any more, looks again, and waits to be told. */
static void await_call(struct vb_rng *rng, uint32_t served)
{
	char kick;

	vb_cm_page_look(&page, true);
	for (uint64_t n = vb_rng_below(rng, 100); n-- > 0;)
		if (vb_cm_page_is_called(&page, served))
			return;
	vb_cm_page_look(&page, false);
	park(rng);
	while (!vb_cm_page_is_called(&page, served))
		assert_int_equal(recv(sock[1], &kick, 1, 0), 1);
}

static void *be_broker(void *arg)
{
	struct vb_rng rng = vb_rng_stream(7, "broker", 0);
	uint32_t served = 0;

	for (uint32_t n = 0; n < CALLS; n++) {
		static struct vb_cm_call call;
		static struct vb_cm_answer answer;
		const char kick = 0;

		await_call(&rng, served);
		assert_int_equal(vb_cm_page_take(&page, &served, &call),
				 offsetof(struct vb_cm_call, body) + 8);
		assert_int_equal(call.serial, n);
		assert_memory_equal(call.body, &call.serial, 8);
		answer.status = (int32_t)n;
		answer.len = 5;
		memcpy(answer.body, call.body, 5);
		/* Read ahead, from the next multiple of 8 on. */
		answer.ahead_len = 6;
		memcpy(answer.body + 8, call.body, 6);
		park(&rng);
		if (vb_cm_page_give(&page, served, &answer,
				    offsetof(struct vb_cm_answer, body) + 8 + 6))
			(void)send(sock[1], &kick, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	}
	return arg;
}

static void call__always_answered(void **state)
{
	struct vb_rng rng = vb_rng_stream(7, "program", 0);
	static struct vb_cm_call call;
	static struct vb_cm_answer answer;
	uint32_t slept = 0, told = 0;
	pthread_t t;

	(void)state;
	memset(&page, 0, sizeof page);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sock), 0);
	assert_int_equal(pthread_create(&t, NULL, be_broker, NULL), 0);
	for (uint32_t n = 0; n < CALLS; n++) {
		char kick = 0;
		bool is_there = false;

		call.serial = n;
		call.len = 8;
		memcpy(call.body, &call.serial, 8);
		if (vb_cm_page_call(&page, &call)) {
			told++;
			assert_int_equal(send(sock[0], &kick, 1, MSG_NOSIGNAL), 1);
		}
		for (uint64_t k = vb_rng_below(&rng, 100); k-- > 0 && !is_there;)
			is_there = vb_cm_page_answer(&page, &answer);
		if (!is_there) {
			vb_cm_page_sleep(&page, true);
			park(&rng);
			while (!vb_cm_page_answer(&page, &answer)) {
				slept++;
				assert_int_equal(recv(sock[0], &kick, 1, 0), 1);
			}
			vb_cm_page_sleep(&page, false);
		}
		assert_int_equal(answer.status, n);
		assert_memory_equal(answer.body, call.body, 5);
		assert_int_equal(answer.ahead_len, 6);
		assert_memory_equal(answer.body + 8, call.body, 6);
		park(&rng);
	}
	pthread_join(t, NULL);
	assert_true(slept > 0 && told > 0);
	close(sock[0]);
	close(sock[1]);
}

#define POSTS 200000u

/* Carries out what was posted, and sleeps where nothing is. */
static void *carry_out_posts(void *arg)
{
	struct vb_rng rng = vb_rng_stream(7, "broker", 1);
	static struct vb_cm_call call;
	uint32_t done = 0;
	char kick;

	while (done < POSTS) {
		park(&rng);
		while (!vb_cm_page_posts(&page, done))
			assert_int_equal(recv(sock[1], &kick, 1, 0), 1);
		assert_int_equal(vb_cm_page_take_post(&page, done, &call),
				 offsetof(struct vb_cm_call, body) + 8);
		assert_int_equal(call.op, VB_CM_CALL_POST);
		assert_int_equal(call.serial, done);
		assert_int_equal(call.channel, done + 1u);
		assert_memory_equal(call.body, &call.serial, 8);
		vb_cm_page_posts_done(&page, ++done);
	}
	return arg;
}

/* Each is carried out, once and in its order, and the broker is told where it might sleep. */
static void post__none_is_missed(void **state)
{
	struct vb_rng rng = vb_rng_stream(7, "program", 1);
	struct vb_cm_post post = {.len = 8};
	uint32_t told = 0, kicks = 0;
	pthread_t t;

	(void)state;
	memset(&page, 0, sizeof page);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sock), 0);
	assert_int_equal(pthread_create(&t, NULL, carry_out_posts, NULL), 0);
	for (uint32_t n = 0; n < POSTS; n++) {
		char kick = 0;

		while (vb_cm_page_pending(&page) == VB_CM_POSTS)
			sched_yield();
		post.serial = n;
		post.channel = n + 1u;
		memcpy(post.body, &post.serial, 8);
		if (vb_cm_page_post(&page, &post, &told)) {
			kicks++;
			assert_int_equal(send(sock[0], &kick, 1, MSG_NOSIGNAL), 1);
		}
		park(&rng);
	}
	pthread_join(t, NULL);
	assert_int_equal(vb_cm_page_pending(&page), 0);
	assert_true(kicks > 0 && kicks < POSTS);
	close(sock[0]);
	close(sock[1]);
}

/* Posts that wait can be read again, and the last one taken back. */
static void post__pending(void **state)
{
	struct vb_cm_post post = {.len = 8};
	uint32_t told = 0, cnt = 0;
	static struct vb_cm_call call;

	(void)state;
	memset(&page, 0, sizeof page);
	page.posted = page.carried_out = told = UINT32_MAX - 2;
	assert_int_equal(vb_cm_page_pending(&page), 0);
	for (uint32_t n = 0; n < VB_CM_POSTS; n++) {
		post.serial = n;
		cnt += vb_cm_page_post(&page, &post, &told);
		assert_int_equal(vb_cm_page_pending(&page), n + 1);
	}
	assert_int_equal(cnt, 1); /* told once */
	vb_cm_page_posts_done(&page, UINT32_MAX);
	assert_int_equal(vb_cm_page_pending(&page), VB_CM_POSTS - 2);
	for (uint32_t n = 0; n + 2 < VB_CM_POSTS; n++)
		assert_int_equal(vb_cm_page_pending_at(&page, n)->serial, n + 2);
	vb_cm_page_unpost(&page);
	assert_int_equal(vb_cm_page_pending(&page), VB_CM_POSTS - 3);
	/* A broker that looks is told nothing. */
	vb_cm_page_look(&page, true);
	vb_cm_page_posts_done(&page, page.posted);
	assert_false(vb_cm_page_post(&page, &post, &told));
	vb_cm_page_look(&page, false);
	vb_cm_page_posts_done(&page, page.posted);
	assert_true(vb_cm_page_post(&page, &post, &told));
	page.post[0].len = VB_CM_POST_BODY + 1;
	assert_int_equal(vb_cm_page_take_post(&page, VB_CM_POSTS, &call), 0);
	page.post[0].len = VB_CM_POST_BODY;
	assert_int_equal(vb_cm_page_take_post(&page, VB_CM_POSTS, &call),
			 offsetof(struct vb_cm_call, body) + VB_CM_POST_BODY);
}

/* A program believes no length of an answer: a part that does not fit counts as none. It waits for
 * the answer to its last call. */
static void answer__that_is_too_long(void **state)
{
	static const struct {
		uint32_t len, ahead, len_is, ahead_is;
	} c[] = {
	    {VB_CM_ANSWER_BODY, 0, VB_CM_ANSWER_BODY, 0},
	    {VB_CM_ANSWER_BODY + 1, 5, 0, 0},
	    {UINT32_MAX, UINT32_MAX, 0, 0},
	    {8, VB_CM_ANSWER_BODY - 8, 8, VB_CM_ANSWER_BODY - 8},
	    {8, VB_CM_ANSWER_BODY - 7, 8, 0},
	    {9, VB_CM_ANSWER_BODY - 16, 9, VB_CM_ANSWER_BODY - 16},
	    {9, VB_CM_ANSWER_BODY - 15, 9, 0},
	    {1, UINT32_MAX, 1, 0},
	};
	static struct {
		struct vb_cm_answer a;
		uint8_t behind[16];
	} got;

	(void)state;
	memset(&page, 0, sizeof page);
	for (uint32_t i = 0; i < VB_CM_ANSWER_BODY; i++)
		page.answer.body[i] = (uint8_t)(i * 7 + 1);
	for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
		uint32_t at = (c[i].len_is + 7) & ~7u;

		page.answer.len = c[i].len;
		page.answer.ahead_len = c[i].ahead;
		memset(&got, 0, sizeof got);
		page.called = 5;
		page.answered = 4;
		assert_false(vb_cm_page_answer(&page, &got.a));
		page.answered = 5;
		assert_true(vb_cm_page_answer(&page, &got.a));
		assert_int_equal(got.a.len, c[i].len_is);
		assert_int_equal(got.a.ahead_len, c[i].ahead_is);
		assert_memory_equal(got.a.body, page.answer.body, c[i].len_is);
		if (c[i].ahead_is)
			assert_memory_equal(got.a.body + at, page.answer.body + at, c[i].ahead_is);
		else if (c[i].len_is < VB_CM_ANSWER_BODY)
			assert_int_equal(got.a.body[c[i].len_is], 0);
		assert_int_equal(got.behind[0], 0);
	}
}

/* Nor does the broker believe the lengths of a call; it takes a copy. */
static void call__that_is_too_long(void **state)
{
	static const struct {
		uint32_t len, extra;
		bool is_one;
	} c[] = {
	    {0, 0, true},
	    {VB_CM_CALL_BODY, 0, true},
	    {0, VB_CM_CALL_BODY, true},
	    {9, VB_CM_CALL_BODY - 9, true},
	    {VB_CM_CALL_BODY + 1, 0, false},
	    {9, VB_CM_CALL_BODY - 8, false},
	    {UINT32_MAX, 2, false},
	    {2, UINT32_MAX, false},
	};
	static struct vb_cm_call call;
	uint32_t served = 4;

	(void)state;
	memset(&page, 0, sizeof page);
	memset(page.call.body, 0x5a, sizeof page.call.body);
	for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
		size_t n = offsetof(struct vb_cm_call, body) + c[i].len + c[i].extra;

		memset(&call, 0, sizeof call);
		page.call.len = c[i].len;
		page.call.extra_len = c[i].extra;
		page.called++;
		assert_true(vb_cm_page_is_called(&page, served));
		assert_int_equal(vb_cm_page_take(&page, &served, &call), c[i].is_one ? n : 0);
		assert_int_equal(served, page.called);
		assert_false(vb_cm_page_is_called(&page, served));
		if (!c[i].is_one)
			continue;
		for (uint32_t k = 0; k < VB_CM_CALL_BODY; k++)
			assert_int_equal(call.body[k], k < c[i].len + c[i].extra ? 0x5a : 0);
	}
}

/* The writer hears whether the other side has to be told, and writes only the bytes there are. */
static void page__who_has_to_be_told(void **state)
{
	static struct vb_cm_call call = {.len = 3, .extra_len = 2};
	static struct vb_cm_answer answer = {.len = 4};

	(void)state;
	memset(&page, 0, sizeof page);
	memset(call.body, 7, sizeof call.body);
	memset(answer.body, 9, sizeof answer.body);
	for (uint32_t i = 1; i <= 2; i++) {
		vb_cm_page_look(&page, i == 2);
		assert_int_equal(vb_cm_page_call(&page, &call), i != 2);
		assert_int_equal(page.called, i);
		vb_cm_page_sleep(&page, i == 2);
		assert_int_equal(
		    vb_cm_page_give(&page, i, &answer, offsetof(struct vb_cm_answer, body) + 4),
		    i == 2);
		assert_int_equal(page.answered, i);
	}
	assert_int_equal(page.call.body[4], 7);
	assert_int_equal(page.call.body[5], 0);
	assert_int_equal(page.answer.body[3], 9);
	assert_int_equal(page.answer.body[4], 0);
	assert_true(vb_cm_page_is_served(&page));
	vb_cm_page_end(&page);
	assert_false(vb_cm_page_is_served(&page));
	/* More than the ring holds is told as it is to the broker, and as a full ring here. */
	page.posted = page.carried_out + VB_CM_POSTS + 7;
	assert_int_equal(vb_cm_page_posts(&page, page.carried_out), VB_CM_POSTS + 7);
	assert_int_equal(vb_cm_page_pending(&page), VB_CM_POSTS);
}

#define MEETINGS 50000u

static _Atomic uint32_t arrived; /* at a meeting, of both */
static bool broker_saw, program_saw;

/* Both leave at nearly the same time. */
static void meet(uint32_t *cnt)
{
	*cnt += 2;
	atomic_fetch_add(&arrived, 1);
	for (uint32_t i = 0; atomic_load(&arrived) < *cnt; i++)
		if (i > 1000) /* there may be one processor */
			sched_yield();
}

static void *stop_looking(void *arg)
{
	uint32_t cnt = 0;

	for (uint32_t n = 0; n < MEETINGS; n++) {
		uint32_t served = page.called;

		vb_cm_page_look(&page, true);
		meet(&cnt);
		vb_cm_page_look(&page, false);
		broker_saw = vb_cm_page_is_called(&page, served);
		meet(&cnt);
		meet(&cnt);
	}
	return arg;
}

/* A call while the broker ceases to look: it sees the call, or the program that it has to tell. */
static void call__seen_or_told(void **state)
{
	static struct vb_cm_call call;
	uint32_t cnt = 0;
	pthread_t t;

	(void)state;
	assert_int_equal(pthread_create(&t, NULL, stop_looking, NULL), 0);
	for (uint32_t n = 0; n < MEETINGS; n++) {
		meet(&cnt);
		program_saw = vb_cm_page_call(&page, &call);
		meet(&cnt);
		assert_true(broker_saw || program_saw);
		meet(&cnt);
	}
	pthread_join(t, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(call__seen_or_told),       cmocka_unit_test(call__always_answered),
	    cmocka_unit_test(post__none_is_missed),     cmocka_unit_test(post__pending),
	    cmocka_unit_test(answer__that_is_too_long), cmocka_unit_test(call__that_is_too_long),
	    cmocka_unit_test(page__who_has_to_be_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
