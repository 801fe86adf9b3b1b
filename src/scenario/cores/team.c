/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The threads that run the parts of a simulation, window by window. A thread that waits looks for a
 * short while and then sleeps: windows are short, and cores may be fewer than parts. See team.h.
 */
#include "scenario/cores/team.h"

#include "sim/parts.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* Looks before a thread sleeps: some ten microseconds. */
#define LOOKS 500

struct team {
	struct vb_sim *sim;
	uint32_t hands; /* threads besides the caller's */
	int looks;
	/* Each on a line of its own: hands wait for one, the caller for the other. */
	_Alignas(64) atomic_uint window; /* its number, once it is open */
	_Alignas(64) atomic_uint done;   /* hands that have done their part of it */
	_Alignas(64) atomic_bool is_over;
	pthread_mutex_t lock;
	pthread_cond_t opened, finished;
};

struct hand {
	struct team *team;
	uint32_t part;
	pthread_t thread;
};

static void thread_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Whether @at gets another value than @old while one looks. */
static bool has_changed(const struct team *t, atomic_uint *at, unsigned old)
{
	for (int i = 0; i < t->looks; i++) {
		if (atomic_load_explicit(at, memory_order_acquire) != old)
			return true;
		thread_pause();
	}
	return atomic_load_explicit(at, memory_order_acquire) != old;
}

/* Waits until @at is not @old; whoever changes it gives the sign of @cond. */
static void value_await(struct team *t, atomic_uint *at, unsigned old, pthread_cond_t *cond)
{
	if (has_changed(t, at, old))
		return;
	pthread_mutex_lock(&t->lock);
	while (atomic_load_explicit(at, memory_order_acquire) == old)
		pthread_cond_wait(cond, &t->lock);
	pthread_mutex_unlock(&t->lock);
}

/* Adds one to @at, and wakes those who wait for it. */
static void value_raise(struct team *t, atomic_uint *at, pthread_cond_t *cond)
{
	atomic_fetch_add_explicit(at, 1, memory_order_acq_rel);
	pthread_mutex_lock(&t->lock); /* nobody is between looking and sleeping */
	pthread_mutex_unlock(&t->lock);
	pthread_cond_broadcast(cond);
}

static void *hand_main(void *ctx)
{
	struct hand *h = ctx;
	struct team *t = h->team;

	for (unsigned window = 0;; window++) {
		value_await(t, &t->window, window, &t->opened);
		if (atomic_load_explicit(&t->is_over, memory_order_relaxed))
			return NULL;
		vb_sim_part_run(t->sim, h->part);
		value_raise(t, &t->done, &t->finished);
	}
}

/* All windows, with the caller's part in each. */
static void windows_run(struct team *t, const struct vb_team_watch *watch)
{
	unsigned done = 0;

	while (vb_sim_parts_plan(t->sim)) {
		value_raise(t, &t->window, &t->opened);
		vb_sim_part_run(t->sim, 0);
		for (unsigned all = done + t->hands; done != all;) {
			value_await(t, &t->done, done, &t->finished);
			done = atomic_load_explicit(&t->done, memory_order_acquire);
		}
		if (watch && watch->on_window)
			watch->on_window(watch->ctx);
	}
}

/* Starts as many threads as there can be; returns how many. */
static uint32_t hands_start(struct team *t, struct hand *hand, int *err)
{
	for (uint32_t i = 0; i < t->hands; i++) {
		hand[i] = (struct hand){.team = t, .part = i + 1};
		*err = pthread_create(&hand[i].thread, NULL, hand_main, &hand[i]);
		if (*err)
			return i;
	}
	return t->hands;
}

static void hands_end(struct team *t, struct hand *hand, uint32_t cnt)
{
	atomic_store_explicit(&t->is_over, true, memory_order_relaxed);
	value_raise(t, &t->window, &t->opened);
	for (uint32_t i = 0; i < cnt; i++)
		pthread_join(hand[i].thread, NULL);
}

int vb_team_run(struct vb_sim *s, vb_time until, const struct vb_team_watch *watch)
{
	struct team t = {.sim = s,
			 .hands = vb_sim_part_cnt(s) - 1,
			 .lock = PTHREAD_MUTEX_INITIALIZER,
			 .opened = PTHREAD_COND_INITIALIZER,
			 .finished = PTHREAD_COND_INITIALIZER};
	struct hand *hand = calloc(t.hands + 1, sizeof *hand);
	uint32_t cnt;
	int err = 0;

	if (!hand)
		return -ENOMEM;
	/* One that looks takes a core from one that runs, where they are fewer. */
	t.looks = sysconf(_SC_NPROCESSORS_ONLN) > t.hands ? LOOKS : 0;
	cnt = hands_start(&t, hand, &err);
	if (!err) {
		vb_sim_parts_begin(s, until);
		windows_run(&t, watch);
	}
	hands_end(&t, hand, cnt);
	free(hand);
	if (!err)
		return vb_sim_parts_end(s);
	return -err;
}
