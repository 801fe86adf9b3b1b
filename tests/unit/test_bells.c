/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Doorbells that are plain stores: which page whose bell has, what a look rings and in which order,
 * and the thread that looks while nobody else does. node/bell/bell.h
 */
#include "engine_slot_env.h"
#include "node/bell/bell.h"
#include "node/bell/priv.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <time.h>

#define PATIENCE_S 60

/* A bell of the test's, and what was told of it. */
struct tried {
	struct vb_bell bell; /* first: the one that is rung */
	struct vb_engine *e;
	_Atomic uint32_t rung, looked;
	uint64_t value;
	bool closes, has_more;
};

static void on_rung(struct vb_bell *b, uint64_t value, vb_time now)
{
	struct tried *t = (struct tried *)b;

	assert_true(now > 0);
	t->value = value;
	if (t->closes)
		vb_bell_close(t->e, b);
	t->rung++;
}

static bool on_looked(struct vb_bell *b, vb_time now)
{
	struct tried *t = (struct tried *)b;

	assert_true(now > 0);
	t->looked++;
	return t->has_more;
}

static void bell_begin(struct tried *t, struct vb_engine *e)
{
	*t = (struct tried){.bell = {.rung = on_rung, .looked = on_looked}, .e = e};
	assert_int_equal(vb_bell_open(e, &t->bell), 0);
}

static _Atomic uint64_t *word_of(const struct tried *t, uint32_t at)
{
	return (_Atomic uint64_t *)(void *)(t->bell.page + at);
}

/* The lowest page that is free is the next bell's; an open bell stays open, and a bell that is
 * closed is not looked at. */
static void open__the_lowest_page(void **state)
{
	static struct tried t[4];
	struct vb_engine *e = engine_open();
	uint8_t *page;

	(void)state;
	vb_engine_lock(e);
	vb_bell_close(e, &t[0].bell); /* there are none yet */
	for (uint32_t i = 0; i < 4; i++) {
		bell_begin(&t[i], e);
		assert_int_equal(t[i].bell.index, i);
		assert_ptr_equal(t[i].bell.page, e->bells->pages + i * VB_BELL_PAGE);
		assert_int_equal(e->bells->high, i + 1);
	}
	page = t[1].bell.page;
	assert_int_equal(vb_bell_open(e, &t[1].bell), 0);
	assert_ptr_equal(t[1].bell.page, page);
	vb_bell_close(e, &t[2].bell);
	vb_bell_close(e, &t[1].bell);
	assert_null(t[1].bell.page);
	vb_bell_close(e, &t[1].bell);
	(void)vb_bells_look(e->bells, vb_clock_now() + VB_SEC);
	assert_int_equal(t[1].looked + t[2].looked, 0);
	assert_true(t[0].looked && t[3].looked);
	bell_begin(&t[2], e);
	assert_int_equal(t[2].bell.index, 1);
	assert_int_equal(e->bells->high, 4);
	vb_engine_unlock(e);
	vb_engine_close_inside(e);
}

/* There are so many pages, and the last one is as good as any. */
static void open__as_many_as_there_are(void **state)
{
	static struct tried t, one_more;
	struct vb_engine *e = engine_open();

	(void)state;
	vb_engine_lock(e);
	bell_begin(&t, e);
	for (uint32_t i = 1; i < BELLS_MAX - 1; i++)
		e->bells->at[i] = &t.bell;
	one_more = (struct tried){.bell = {.rung = on_rung}, .e = e};
	assert_int_equal(vb_bell_open(e, &one_more.bell), 0);
	assert_int_equal(one_more.bell.index, BELLS_MAX - 1);
	assert_int_equal(e->bells->high, BELLS_MAX);
	for (uint32_t i = 1; i < BELLS_MAX - 1; i++)
		e->bells->at[i] = NULL;
	atomic_store(word_of(&one_more, VB_BELL_CQ_WORD), 5);
	assert_true(vb_bells_have_rung(e->bells));
	assert_true(vb_bells_look(e->bells, vb_clock_now()));
	assert_int_equal(one_more.value, 5);
	for (uint32_t i = 1; i < BELLS_MAX - 1; i++)
		e->bells->at[i] = &t.bell;
	vb_bell_close(e, &t.bell);
	e->bells->at[0] = &one_more.bell;
	assert_int_equal(vb_bell_open(e, &t.bell), -ENOMEM);
	assert_null(t.bell.page);
	memset(e->bells->at, 0, BELLS_MAX * sizeof e->bells->at[0]);
	vb_engine_unlock(e);
	vb_engine_close_inside(e);
}

/* Each word of each page rings its bell once, with the value that was written. Words left for
 * a bell that is closed meanwhile are nobody's. */
static void look__rings_what_was_written(void **state)
{
	static const uint32_t words[] = {VB_BELL_QP_WORD, VB_BELL_QP_OTHER, VB_BELL_CQ_WORD};
	static struct tried t[2];
	struct vb_engine *e = engine_open();

	(void)state;
	vb_engine_lock(e);
	for (uint32_t i = 0; i < 2; i++)
		bell_begin(&t[i], e);
	assert_false(vb_bells_have_rung(e->bells));
	for (uint32_t i = 0; i < 6; i++) {
		struct tried *one = &t[i % 2], *other = &t[!(i % 2)];
		uint32_t before = other->rung;

		one->rung = 0;
		atomic_store(word_of(one, words[i / 2]), UINT64_C(0x123456789a) + i);
		assert_true(vb_bells_have_rung(e->bells));
		assert_true(vb_bells_look(e->bells, vb_clock_now()));
		assert_int_equal(one->rung, 1);
		assert_int_equal(other->rung, before);
		assert_true(one->value == UINT64_C(0x123456789a) + i);
		assert_false(vb_bells_look(e->bells, vb_clock_now()));
	}
	/* All of them. */
	t[0].rung = 0;
	for (uint32_t i = 0; i < 3; i++)
		atomic_store(word_of(&t[0], words[i]), i + 1);
	assert_true(vb_bells_look(e->bells, vb_clock_now()));
	assert_int_equal(t[0].rung, 3);
	assert_int_equal(t[0].value, 3);
	t[0].rung = 0;
	t[0].closes = true;
	t[0].looked = 0;
	for (uint32_t i = 0; i < 3; i++)
		atomic_store(word_of(&t[0], words[i]), i + 1);
	assert_true(vb_bells_look(e->bells, vb_clock_now() + VB_SEC));
	assert_int_equal(t[0].rung, 1);
	assert_int_equal(t[0].looked, 0);
	assert_false(vb_bells_have_rung(e->bells));
	vb_engine_unlock(e);
	vb_engine_close_inside(e);
}

/* Work that no doorbell tells is looked for each millisecond; whether some bell has more of it is
 * known from the last time, of all of them. */
static void look__for_what_no_doorbell_tells(void **state)
{
	static struct tried t[3];
	struct vb_engine *e = engine_open();
	vb_time now = vb_clock_now() + 3600 * VB_SEC;

	(void)state;
	vb_engine_lock(e);
	for (uint32_t i = 0; i < 3; i++)
		bell_begin(&t[i], e);
	t[1].bell.looked = NULL;
	e->bells->look_due = now;
	t[0].looked = 0;
	(void)vb_bells_look(e->bells, now - 1);
	assert_int_equal(t[0].looked, 0);
	for (uint32_t i = 1; i <= 3; i++) {
		t[0].has_more = i == 2;
		t[2].has_more = i == 1;
		(void)vb_bells_look(e->bells, now);
		assert_int_equal(t[0].looked, i);
		assert_int_equal(t[1].looked, 0);
		assert_int_equal(e->bells->is_restless, i != 3);
		assert_true(e->bells->look_due == now + VB_MSEC);
		(void)vb_bells_look(e->bells, now + VB_MSEC - 1);
		assert_int_equal(t[0].looked, i);
		assert_int_equal(e->bells->is_restless, i != 3);
		now += VB_MSEC;
	}
	/* The engine's own looks do that, too. */
	e->bells->look_due = 0;
	vb_engine_progress(e);
	assert_int_equal(t[0].looked, 4);
	vb_engine_unlock(e);
	vb_engine_close_inside(e);
}

/* Something that came for a program that looks at memory alone is found by one look. */
static void note__is_found_once(void **state)
{
	static struct tried t;
	struct vb_engine *e = engine_open();
	uint64_t cnt;

	(void)state;
	vb_bells_note(e);
	vb_bells_wake(e); /* there are no doorbells */
	vb_engine_lock(e);
	bell_begin(&t, e);
	(void)vb_bells_look(e->bells, vb_clock_now());
	for (int i = 0; i < 2; i++) {
		vb_bells_note(e);
		assert_true(vb_bells_look(e->bells, vb_clock_now()));
		assert_false(vb_bells_look(e->bells, vb_clock_now()));
	}
	vb_engine_unlock(e);
	vb_engine_close_inside(e);
	/* A wakeup is written for the thread, which is none here. */
	e = engine_open();
	e->bells = calloc(1, sizeof *e->bells);
	e->bells->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	e->bells->fault_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	vb_bells_note(e);
	assert_true(read(e->bells->kick_fd, &cnt, sizeof cnt) < 0);
	vb_bells_wake(e);
	assert_int_equal(read(e->bells->kick_fd, &cnt, sizeof cnt), sizeof cnt);
	assert_int_equal(e->bells->noted, 2);
	/* A forked child has nothing of it but two descriptors. */
	vb_bells_abandon(e);
	assert_int_equal(fcntl(e->bells->kick_fd, F_GETFD), -1);
	assert_int_equal(fcntl(e->bells->fault_fd, F_GETFD), -1);
	free(e->bells);
	e->bells = NULL;
	vb_bells_abandon(e);
	vb_engine_close_inside(e);
}

static void await(const _Atomic uint32_t *cnt, uint32_t least)
{
	time_t end = time(NULL) + PATIENCE_S;

	while (atomic_load(cnt) < least) {
		assert_true(time(NULL) < end);
		sched_yield();
	}
}

/* The thread hears of a store to any page, whether it spins or has parked, and looks again and
 * again while some bell may have something of which no doorbell tells. */
static void thread__looks_while_nobody_else_does(void **state)
{
	static struct tried t[2];
	struct vb_engine *e = engine_open();
	const struct timespec rest = {0, 5000000};

	(void)state;
	vb_engine_lock(e);
	for (uint32_t i = 0; i < 2; i++)
		bell_begin(&t[i], e);
	vb_engine_unlock(e);
	for (uint32_t i = 0; i < 40; i++) {
		struct tried *one = &t[i % 2];

		if (i % 4 > 1) /* lets it park; no result depends on it */
			nanosleep(&rest, NULL);
		atomic_store(word_of(one, i % 3 ? VB_BELL_QP_WORD : VB_BELL_CQ_WORD), i + 1);
		await(&one->rung, i / 2 + 1);
	}
	vb_engine_lock(e);
	t[1].has_more = true;
	t[1].looked = 0;
	vb_bells_wake(e);
	vb_engine_unlock(e);
	await(&t[1].looked, 20);
	vb_engine_close_inside(e);
}

/* Doorbells that cannot be had leave nothing; nor do those that end with their engine. */
static void close__leaves_nothing(void **state)
{
	static struct tried t;
	struct vb_engine *e = engine_open();
	unsigned before = descriptors_of(getpid());

	(void)state;
	vb_engine_lock(e);
	bell_begin(&t, e);
	vb_engine_unlock(e);
	assert_true(descriptors_of(getpid()) > before);
	vb_bells_stop(e);
	assert_null(e->bells);
	assert_int_equal(descriptors_of(getpid()), before);
	vb_bells_stop(e);
	vb_engine_close_inside(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    SLOT_TEST(open__the_lowest_page),
	    SLOT_TEST(open__as_many_as_there_are),
	    SLOT_TEST(look__rings_what_was_written),
	    SLOT_TEST(look__for_what_no_doorbell_tells),
	    SLOT_TEST(note__is_found_once),
	    SLOT_TEST(thread__looks_while_nobody_else_does),
	    SLOT_TEST(close__leaves_nothing),
	};

	if (!netns_enter()) {
		fprintf(stderr, "skipped: no network namespace of our own to be had\n");
		return 77;
	}
	/* Others ring by the thread that stores: test_bells_trap.c. */
	setenv("VERBENA_MLX5DV", "spin", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
