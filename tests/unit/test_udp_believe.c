/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which IPv4 identifications are believed, at each limit by itself: how near, how late, how long
 * after, and how much doubt there may be. link/udp/sender.c, docs/wire.md
 */
#include "cmocka_env.h"
#include "link/udp/priv.h"

#include <string.h>

#define DF 0x4000
#define PREDICTABLE 16
#define ANYWHERE_NS (65536 * VB_USEC)

static struct vb_udp_sender s;
static struct vb_udp_doubt doubt;
static vb_time now, empty_at;

/* A sender whose last @run GSO batches came where they were expected, the last with 1000, now. */
static int sender_begin(uint8_t run)
{
	now = 1000 * VB_SEC;
	empty_at = now;
	doubt = (struct vb_udp_doubt){.since = 0};
	s = (struct vb_udp_sender){.track_cnt = 1};
	s.track[0] =
	    (struct vb_udp_track){.id = 1000, .frag = DF, .step = 1, .run = run, .heard = now};
	return 0;
}

static bool believes(uint16_t id, uint16_t frag)
{
	const struct vb_udp_heard h = {now, empty_at, &doubt};

	return vb_udp_sender_believes(&s, id, frag, &h);
}

/* 64 from the expected one is near, in both directions; one that is near moves the track only if it
 * is ahead. */
static void near__is_64(void **state)
{
	(void)state;
	sender_begin(PREDICTABLE);
	assert_true(believes(1001 + 64, DF));
	assert_int_equal(s.track[0].id, 1065);
	assert_int_equal(s.track[0].run, PREDICTABLE + 1);
	assert_int_equal(s.track[0].step, 1);
	sender_begin(PREDICTABLE);
	assert_false(believes(1001 + 65, DF));
	assert_int_equal(s.track[0].id, 1000);
	sender_begin(PREDICTABLE);
	now += 5;
	assert_true(believes(1001 - 64, DF));
	assert_int_equal(s.track[0].id, 1000);
	assert_int_equal(s.track[0].run, PREDICTABLE - 1);
	assert_true(s.track[0].heard == now);
	sender_begin(PREDICTABLE);
	assert_false(believes(1001 - 65, DF));
	/* The same again is a sender whose number stands still. */
	sender_begin(PREDICTABLE);
	assert_true(believes(1000, DF));
	assert_int_equal(s.track[0].step, 0);
	assert_int_equal(s.track[0].run, PREDICTABLE + 1);
	assert_true(believes(1000, DF));
	assert_true(believes(1001, DF));
	assert_int_equal(s.track[0].step, 1);
	/* A track that has no row is where its last packet was. */
	sender_begin(0);
	assert_true(believes(990, DF));
	assert_int_equal(s.track[0].id, 990);
	/* A row is as long as it can be counted. */
	sender_begin(UINT8_MAX);
	assert_true(believes(1001, DF));
	assert_int_equal(s.track[0].run, UINT8_MAX);
	/* With another fragment field it is another's number. */
	sender_begin(PREDICTABLE);
	assert_false(believes(1001, 0));
}

/* Of two tracks the nearer one goes on, and becomes the first. */
static void near__of_two_tracks(void **state)
{
	(void)state;
	for (int first = 0; first < 2; first++) {
		sender_begin(PREDICTABLE);
		s.track_cnt = 2;
		s.track[1] = s.track[0];
		s.track[0].id = first ? 1000 : 1060;
		s.track[1].id = first ? 1060 : 1000;
		assert_true(believes(1051, DF));
		assert_int_equal(s.track[0].id, 1060); /* it is late there */
		assert_int_equal(s.track[1].id, 1000);
		assert_true(believes(1010, DF));
		assert_int_equal(s.track[0].id, 1010);
		assert_int_equal(s.track[1].id, 1060);
	}
}

/* A sender becomes predictable by 16 in a row, on either track, and is so while it is heard: for
 * the time in which a counter may have been anywhere. */
static void predictable__by_16_in_a_row(void **state)
{
	(void)state;
	sender_begin(PREDICTABLE - 1);
	assert_true(believes(30000, DF));
	assert_int_equal(s.track[0].id, 30000);
	assert_int_equal(s.track[0].run, 0);
	assert_int_equal(s.track[0].step, 1);
	assert_int_equal(s.track[1].id, 1000);
	assert_int_equal(s.track[1].run, 0);
	assert_int_equal(s.track_cnt, 2);
	sender_begin(PREDICTABLE);
	assert_false(believes(30000, DF));
	sender_begin(0);
	s.track_cnt = 2;
	s.track[1] = s.track[0];
	s.track[1].run = PREDICTABLE;
	assert_false(believes(30000, DF));
	sender_begin(PREDICTABLE);
	now += ANYWHERE_NS - 1;
	empty_at = now;
	s.track[0].run = PREDICTABLE;
	assert_false(believes((uint16_t)(1001 - 1025), DF));
	sender_begin(PREDICTABLE);
	now += ANYWHERE_NS;
	empty_at = now;
	assert_true(believes((uint16_t)(1001 - 1025), DF));
}

/* Whether @id is believed of a sender that has skipped numbers before. */
static bool reaches(uint16_t id, vb_dur unheard, vb_dur waited)
{
	sender_begin(PREDICTABLE);
	now += unheard;
	empty_at = now - waited;
	s.skipped = now - 1;
	return believes(id, DF);
}

/* A counter that others use as well advances by one in a microsecond at most, also while packets of
 * it wait in the socket, of which eight milliseconds count; and a packet is late by 1024 at most.
 */
static void reach__by_time(void **state)
{
	(void)state;
	assert_true(reaches(1001 + 64 + 200, 200 * VB_USEC, 0));
	assert_false(reaches(1001 + 64 + 201, 200 * VB_USEC, 0));
	assert_true(reaches(1001 + 64 + 300, 200 * VB_USEC, 300 * VB_USEC));
	assert_false(reaches(1001 + 64 + 301, 200 * VB_USEC, 300 * VB_USEC));
	assert_true(reaches(1001 + 64 + 8000, 200 * VB_USEC, 100 * VB_MSEC));
	assert_false(reaches(1001 + 64 + 8001, 200 * VB_USEC, 100 * VB_MSEC));
	assert_true(reaches((uint16_t)(1001 - 1024), 0, 0));
	assert_false(reaches((uint16_t)(1001 - 1025), 0, 0));
}

/* An identification that is reached moves the track, unless it is late, and halves its row. */
static void reach__moves_the_track(void **state)
{
	(void)state;
	assert_true(reaches(1200, 200 * VB_USEC, 0));
	assert_int_equal(s.track[0].id, 1200);
	assert_int_equal(s.track[0].run, PREDICTABLE / 2);
	assert_true(s.track[0].heard == now);
	assert_true(s.skipped == now);
	assert_true(reaches(500, 200 * VB_USEC, 0));
	assert_int_equal(s.track[0].id, 1000);
	assert_int_equal(s.track[0].run, PREDICTABLE / 2);
	/* With another fragment field nothing is reached. */
	sender_begin(PREDICTABLE);
	s.skipped = now - 1;
	assert_false(believes(500, 0));
	assert_true(s.skipped == now - 1);
}

/* A sender that skipped numbers may do so again for a minute; the first time is not believed. */
static void skips__count_for_a_minute(void **state)
{
	(void)state;
	sender_begin(PREDICTABLE);
	assert_false(believes(500, DF));
	assert_true(s.skipped == now);
	for (int late = 0; late < 2; late++) {
		sender_begin(PREDICTABLE);
		s.skipped = now - 60 * VB_SEC + 1 - (vb_time)late;
		assert_int_equal(believes(500, DF), !late);
	}
}

/* An identification that is not believed alone is believed when the next one follows: within 64,
 * not before it, with the same fragment field. */
static void stray__is_confirmed_by_the_next(void **state)
{
	static const struct {
		uint16_t id, frag;
		bool confirms;
	} rows[] = {{30001, DF, true},  {30000, DF, true},  {30064, DF, true},
		    {30065, DF, false}, {29999, DF, false}, {30001, 0, false}};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		sender_begin(PREDICTABLE);
		assert_false(believes(30000, DF));
		assert_true(s.has_stray);
		assert_int_equal(s.stray.id, 30000);
		/* The track goes on between them, far enough for another distance. */
		now += VB_USEC;
		vb_udp_sender_heard(&s, 1017, now);
		now += VB_USEC;
		assert_int_equal(believes(rows[i].id, rows[i].frag), rows[i].confirms);
		assert_int_equal(s.has_stray, !rows[i].confirms);
		if (!rows[i].confirms) {
			assert_int_equal(s.stray.id, rows[i].id);
			assert_int_equal(s.stray.frag, rows[i].frag);
			continue;
		}
		assert_int_equal(s.track[0].id, rows[i].id);
		assert_int_equal(s.track[1].id, 1017);
		assert_int_equal(s.track[1].run, 0);
	}
}

/* Damage that is always the same keeps its distance from the track; and damaged packets in a row
 * come without that between them: neither confirms. */
static void stray__of_the_same_damage(void **state)
{
	(void)state;
	sender_begin(PREDICTABLE);
	assert_false(believes(1001 ^ 0x4000, DF));
	now += VB_USEC;
	vb_udp_sender_heard(&s, 1001, now);
	now += VB_USEC;
	assert_false(believes(1002 ^ 0x4000, DF));
	/* Without a word of the track in between. */
	sender_begin(PREDICTABLE);
	now += VB_USEC;
	assert_false(believes(30000, DF));
	now += VB_USEC;
	assert_false(believes(30040, DF));
}

/* A thousand damaged packets within a second have far ones doubted, of senders that are not
 * predictable, too: then it takes two. */
static void doubt__of_a_thousand_within_a_second(void **state)
{
	(void)state;
	for (uint32_t cnt = 1023; cnt <= 1024; cnt++) {
		sender_begin(0);
		for (uint32_t i = 0; i < cnt; i++)
			vb_udp_doubt(&doubt, now);
		assert_int_equal(doubt.damaged, cnt);
		assert_int_equal(believes(30000, DF), cnt == 1023);
		if (cnt == 1024)
			assert_true(believes(30001, DF));
	}
	for (int over = 0; over < 2; over++) {
		sender_begin(0);
		for (uint32_t i = 0; i < 1024; i++)
			vb_udp_doubt(&doubt, now);
		now += VB_SEC - !over;
		assert_int_equal(believes(30000, DF), over);
	}
	/* After a second they are counted anew. */
	sender_begin(0);
	vb_udp_doubt(&doubt, now);
	vb_udp_doubt(&doubt, now + VB_SEC - 1);
	assert_int_equal(doubt.damaged, 2);
	assert_true(doubt.since == now);
	vb_udp_doubt(&doubt, now + VB_SEC);
	assert_int_equal(doubt.damaged, 1);
	assert_true(doubt.since == now + VB_SEC);
	/* A doubted one is not taken for one that its counter has come to. */
	sender_begin(PREDICTABLE);
	s.skipped = now - 1;
	for (uint32_t i = 0; i < 1024; i++)
		vb_udp_doubt(&doubt, now);
	assert_false(believes(500, DF));
}

/* The sender that was heard least recently makes room, of those in its set. */
static void keep__in_the_place_of_the_oldest(void **state)
{
	static struct vb_udp_senders t;
	struct vb_path p = {.udp_sport = 1000, .sgid = {{[10] = 0xff, [11] = 0xff, 10, 0, 0, 1}}};
	struct vb_udp_sender *kept[VB_UDP_SENDER_WAYS];

	(void)state;
	for (uint32_t i = 0; i < VB_UDP_SENDER_WAYS; i++) {
		p.udp_sport = (uint16_t)(1000 + i * VB_UDP_SENDER_SETS);
		(void)vb_udp_sender_find(&t, &p);
		kept[i] = vb_udp_sender_keep(&t, &p);
		kept[i]->track[0].heard = 100 + (i + 2) % VB_UDP_SENDER_WAYS;
		for (uint32_t k = 0; k < i; k++)
			assert_ptr_not_equal(kept[k], kept[i]);
	}
	p.udp_sport = (uint16_t)(1000 + VB_UDP_SENDER_WAYS * VB_UDP_SENDER_SETS);
	(void)vb_udp_sender_find(&t, &p);
	assert_ptr_equal(vb_udp_sender_keep(&t, &p), kept[2]); /* heard at 100 */
	assert_int_equal(kept[2]->port, p.udp_sport);
}

/* A stranger begins with what its first packet had. */
static void begin__by_the_first(void **state)
{
	(void)state;
	s = (struct vb_udp_sender){.port = 1};
	now = 5;
	vb_udp_sender_heard(&s, 77, now);
	assert_int_equal(s.track_cnt, 1);
	assert_int_equal(s.track[0].id, 77);
	assert_int_equal(s.track[0].frag, DF);
	assert_int_equal(vb_udp_sender_next(&s), 78);
	vb_udp_sender_heard(&s, 78, now + 1);
	assert_int_equal(s.track[0].run, 1);
	assert_true(s.track[0].heard == now + 1);
	assert_int_equal(vb_udp_sender_next(&s), 79);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(near__is_64),
	    cmocka_unit_test(near__of_two_tracks),
	    cmocka_unit_test(predictable__by_16_in_a_row),
	    cmocka_unit_test(reach__by_time),
	    cmocka_unit_test(reach__moves_the_track),
	    cmocka_unit_test(skips__count_for_a_minute),
	    cmocka_unit_test(stray__is_confirmed_by_the_next),
	    cmocka_unit_test(stray__of_the_same_damage),
	    cmocka_unit_test(doubt__of_a_thousand_within_a_second),
	    cmocka_unit_test(keep__in_the_place_of_the_oldest),
	    cmocka_unit_test(begin__by_the_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
