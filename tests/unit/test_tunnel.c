/* SPDX-License-Identifier: BSD-2-Clause */
/* The ends of a tunnel: whom they believe, when both may have a link, and what silence is. Two ends
 * and the datagrams between them, which the test loses, delays and repeats. LNK-16, LNK-20, LNK-31
 */
#include "cmocka_env.h"
#include "fabric/tunnel/tunnel.h"

#include <errno.h>
#include <string.h>

#define OWN_A UINT64_C(0x1111)
#define OWN_B UINT64_C(0x2222)
#define HELLO_LEN (VB_TUNNEL_HDR_LEN + VB_TUNNEL_HELLO_LEN)
#define LANES 2u

static struct vb_tunnel a, b;
static uint32_t events_a, events_b;

static void end_begin(struct vb_tunnel *t, uint64_t own)
{
	vb_tunnel_init(t, own);
	t->mine = (struct vb_tunnel_hello){.polls = true, .widths = 3, .speeds = 7, .port = 4};
}

/* All that @from has to say of itself goes to @to. */
static void hellos_pass(struct vb_tunnel *from, struct vb_tunnel *to, uint32_t *events)
{
	uint8_t bytes[HELLO_LEN];
	struct vb_tunnel_hdr h;

	while (vb_tunnel_poll_hello(from, bytes))
		(void)vb_tunnel_receive(to, bytes, sizeof bytes, &h, events);
}

/* A few times both ways, until nobody has more to say. */
static void ends_talk(void)
{
	for (int i = 0; i < 4; i++) {
		hellos_pass(&a, &b, &events_b);
		hellos_pass(&b, &a, &events_a);
	}
	assert_false(a.is_due || b.is_due);
}

static int setup(void **state)
{
	(void)state;
	end_begin(&a, OWN_A);
	end_begin(&b, OWN_B);
	events_a = events_b = 0;
	return 0;
}

static int setup_joined(void **state)
{
	setup(state);
	ends_talk();
	assert_true(vb_tunnel_is_joined(&a) && vb_tunnel_is_joined(&b));
	events_a = events_b = 0;
	return 0;
}

/* A datagram of flow control from @from, for lane @vl. */
static uint32_t flow_make(struct vb_tunnel *from, uint8_t vl, uint8_t *out)
{
	vb_tunnel_head(from, VB_TUNNEL_FLOW, 0, out);
	vb_flow_emit(&(struct vb_flow_packet){.op = VB_FLOW_NORMAL, .vl = vl, .fccl = 100},
		     out + VB_TUNNEL_HDR_LEN);
	return VB_TUNNEL_HDR_LEN + VB_FLOW_LEN;
}

static enum vb_tunnel_verdict flow_pass(struct vb_tunnel *from, struct vb_tunnel *to, uint8_t vl,
					uint32_t *events)
{
	uint8_t bytes[VB_TUNNEL_MAX];
	struct vb_tunnel_hdr h;
	uint32_t len = flow_make(from, vl, bytes);

	return vb_tunnel_receive(to, bytes, len, &h, events);
}

static void ends__meet_by_their_numbers(void **state)
{
	(void)state;
	assert_false(vb_tunnel_is_joined(&a) || vb_tunnel_is_joined(&b));
	ends_talk();
	assert_int_equal(a.peer, OWN_B);
	assert_int_equal(b.peer, OWN_A);
	assert_true(events_a & VB_TUNNEL_MET && events_b & VB_TUNNEL_MET);
	assert_true(vb_tunnel_is_joined(&a) && vb_tunnel_is_joined(&b));
	assert_int_equal(a.theirs.port, 4);
	assert_int_equal(a.theirs.speeds, 7);
}

/* Where the first HELLOs are lost, those of the next period do it. */
static void ends__meet_though_datagrams_are_lost(void **state)
{
	uint8_t lost[HELLO_LEN];

	(void)state;
	while (vb_tunnel_poll_hello(&a, lost) || vb_tunnel_poll_hello(&b, lost))
		;
	assert_int_equal(vb_tunnel_tick(&a, 0), 0);
	hellos_pass(&a, &b, &events_b);
	while (vb_tunnel_poll_hello(&b, lost))
		;
	assert_false(vb_tunnel_is_joined(&b));
	(void)vb_tunnel_tick(&a, 0);
	(void)vb_tunnel_tick(&b, 0);
	ends_talk();
	assert_true(vb_tunnel_is_joined(&a) && vb_tunnel_is_joined(&b));
}

/* A sender that has not heard the number of this end changes nothing here, whatever the datagram
 * is.
 */
static void forgers__are_not_heard(void **state)
{
	struct vb_tunnel forger, before = a;
	uint8_t bytes[VB_TUNNEL_MAX] = {0};
	struct vb_tunnel_hdr h;

	(void)state;
	end_begin(&forger, 0x3333);
	for (enum vb_tunnel_kind kind = VB_TUNNEL_HELLO; kind < VB_TUNNEL_KIND_END; kind++) {
		uint32_t len = kind == VB_TUNNEL_HELLO  ? HELLO_LEN
			       : kind == VB_TUNNEL_FLOW ? VB_TUNNEL_HDR_LEN + VB_FLOW_LEN
							: VB_TUNNEL_HDR_LEN + VB_TUNNEL_CHUNK_LEN;

		if (kind == VB_TUNNEL_PACKET || kind == VB_TUNNEL_MAD)
			len = VB_TUNNEL_HDR_LEN + 64;
		for (uint64_t to = 0; to < 8; to++) {
			forger.peer = to == 7 ? OWN_A + 1 : to;
			vb_tunnel_head(&forger, kind, 0, bytes);
			assert_int_equal(vb_tunnel_receive(&a, bytes, len, &h, &events_a),
					 VB_TUNNEL_FOREIGN);
		}
	}
	assert_int_equal(events_a, 0);
	assert_int_equal(a.peer, before.peer);
	assert_int_equal(a.heard, before.heard);
	assert_true(vb_tunnel_is_joined(&a));
	/* Its question is answered, to the address of the real one, whom that does not disturb. */
	assert_int_equal(a.answer_to, 0x3333);
	ends_talk();
	assert_true(vb_tunnel_is_joined(&a) && vb_tunnel_is_joined(&b));
	assert_int_equal((events_a | events_b) & ~(uint32_t)VB_TUNNEL_SAID, 0);
}

/* A process that has begun again has another number, and is noticed at once. */
static void ends__that_restart_are_noticed(void **state)
{
	(void)state;
	end_begin(&b, 0x4444);
	ends_talk();
	assert_int_equal(a.peer, 0x4444);
	assert_true(events_a & VB_TUNNEL_LOST && events_a & VB_TUNNEL_MET);
	/* The holder takes the link down, and says so. */
	vb_tunnel_new_life(&a);
	ends_talk();
	assert_true(vb_tunnel_is_joined(&a) && vb_tunnel_is_joined(&b));
}

/* Datagrams of the old process come too late. */
static void datagrams__of_the_process_before_are_late(void **state)
{
	struct vb_tunnel old = b;
	uint8_t bytes[VB_TUNNEL_MAX];
	struct vb_tunnel_hdr h;
	uint32_t len = flow_make(&old, 0, bytes);

	(void)state;
	end_begin(&b, 0x4444);
	ends_talk();
	events_a = 0;
	assert_int_equal(vb_tunnel_receive(&a, bytes, len, &h, &events_a), VB_TUNNEL_LATE);
	assert_int_equal(a.peer, 0x4444);
	assert_int_equal(events_a, 0);
}

/* LNK-16: the order is that of a cable; what comes late, or twice, is lost. */
static void datagrams__that_are_late_are_lost(void **state)
{
	uint8_t first[VB_TUNNEL_MAX], second[VB_TUNNEL_MAX];
	struct vb_tunnel_hdr h;
	uint32_t len;

	(void)state;
	flow_make(&b, 0, first);
	len = flow_make(&b, 0, second);
	assert_int_equal(vb_tunnel_receive(&a, second, len, &h, &events_a), VB_TUNNEL_COUNTS);
	assert_int_equal(h.kind, VB_TUNNEL_FLOW);
	assert_int_equal(vb_tunnel_receive(&a, first, len, &h, &events_a), VB_TUNNEL_LATE);
	assert_int_equal(vb_tunnel_receive(&a, second, len, &h, &events_a), VB_TUNNEL_LATE);
	assert_int_equal(a.cnt[VB_TUNNEL_LATE], 2);
}

/* LNK-31: a link that goes down at one end goes down at the other, and comes up when both know. */
static void links__have_lives(void **state)
{
	(void)state;
	vb_tunnel_new_life(&a);
	assert_false(vb_tunnel_is_joined(&a));
	/* Packets of the life before do not count any more, and those of the next one not yet. */
	assert_int_equal(flow_pass(&b, &a, 0, &events_a), VB_TUNNEL_STALE);
	assert_int_equal(flow_pass(&a, &b, 0, &events_b), VB_TUNNEL_STALE);
	assert_true(events_b & VB_TUNNEL_RESTARTED);
	ends_talk();
	assert_false(events_a & VB_TUNNEL_RESTARTED);
	assert_true(vb_tunnel_is_joined(&a) && vb_tunnel_is_joined(&b));
	assert_int_equal(flow_pass(&b, &a, 0, &events_a), VB_TUNNEL_COUNTS);
	assert_int_equal(flow_pass(&a, &b, 0, &events_b), VB_TUNNEL_COUNTS);
}

/* Both ends go down at one time. */
static void links__of_both_ends_go_down_at_once(void **state)
{
	(void)state;
	vb_tunnel_new_life(&a);
	vb_tunnel_new_life(&b);
	ends_talk();
	assert_true(vb_tunnel_is_joined(&a) && vb_tunnel_is_joined(&b));
	assert_true(events_a & VB_TUNNEL_RESTARTED && events_b & VB_TUNNEL_RESTARTED);
}

/* A port that wants no link has none, and gets one when it wants one again. */
static void ports__that_do_not_poll_have_no_link(void **state)
{
	(void)state;
	a.mine.polls = false;
	vb_tunnel_new_life(&a);
	ends_talk();
	assert_false(vb_tunnel_is_joined(&a) || vb_tunnel_is_joined(&b));
	a.mine.polls = true;
	a.is_due = true;
	ends_talk();
	assert_true(vb_tunnel_is_joined(&a) && vb_tunnel_is_joined(&b));
}

/* LNK-20: the watchdog counts periods without flow control, of each lane, and tells once. */
static void watchdog__counts_periods_of_a_lane(void **state)
{
	uint32_t fired = 0;

	(void)state;
	for (uint32_t i = 1; i < 3 * VB_TUNNEL_WATCHDOG; i++) {
		uint32_t events;

		assert_int_equal(flow_pass(&b, &a, 0, &events_a), VB_TUNNEL_COUNTS);
		events = vb_tunnel_tick(&a, LANES);
		fired += (events & VB_TUNNEL_FLOW_SILENT) != 0;
		/* Lane 1 is silent. */
		assert_int_equal(fired, i >= VB_TUNNEL_WATCHDOG);
		assert_false(events & VB_TUNNEL_LOST);
	}
	/* It is heard again, and silent again. */
	for (uint8_t vl = 0; vl < LANES; vl++)
		assert_int_equal(flow_pass(&b, &a, vl, &events_a), VB_TUNNEL_COUNTS);
	assert_int_equal(vb_tunnel_tick(&a, LANES), 0);
	for (uint32_t i = 1; i <= VB_TUNNEL_WATCHDOG; i++)
		assert_int_equal(vb_tunnel_tick(&a, LANES) & VB_TUNNEL_FLOW_SILENT,
				 i == VB_TUNNEL_WATCHDOG ? VB_TUNNEL_FLOW_SILENT : 0);
	/* A link that is down waits for nothing. */
	hellos_pass(&b, &a, &events_a);
	for (uint32_t i = 0; i < 2 * VB_TUNNEL_WATCHDOG; i++)
		assert_int_equal(vb_tunnel_tick(&a, 0), 0);
}

/* Less loss than that is none for the watchdog. */
static void watchdog__bears_lost_flow_control(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 100; i++) {
		if (i % (VB_TUNNEL_WATCHDOG - 1) == 0)
			for (uint8_t vl = 0; vl < LANES; vl++)
				assert_int_equal(flow_pass(&b, &a, vl, &events_a),
						 VB_TUNNEL_COUNTS);
		assert_int_equal(vb_tunnel_tick(&a, LANES), 0);
	}
}

/* A peer that says nothing for so many periods of this end is gone, and is met again when it comes
 * back. */
static void ends__that_are_silent_are_gone(void **state)
{
	uint32_t events = 0;

	(void)state;
	for (uint32_t i = 0; i < VB_TUNNEL_GONE; i++) {
		assert_false(events & VB_TUNNEL_LOST);
		events = vb_tunnel_tick(&a, LANES);
	}
	assert_true(events & VB_TUNNEL_LOST);
	assert_false(vb_tunnel_is_joined(&a));
	vb_tunnel_new_life(&a);
	/* That it hears nobody is for the other end to know: it has no link either. */
	hellos_pass(&a, &b, &events_b);
	assert_true(events_b & VB_TUNNEL_RESTARTED);
	assert_false(vb_tunnel_is_joined(&b));
	ends_talk();
	assert_true(events_a & VB_TUNNEL_MET);
	assert_true(vb_tunnel_is_joined(&a) && vb_tunnel_is_joined(&b));
}

/* Bytes that are no datagram. */
static void datagrams__without_form_are_counted(void **state)
{
	uint8_t bytes[VB_TUNNEL_MAX + 1] = {0};
	struct vb_tunnel_hdr h;
	uint32_t len = flow_make(&b, 0, bytes);

	(void)state;
	for (uint32_t cut = 0; cut < len; cut++)
		assert_int_equal(vb_tunnel_receive(&a, bytes, cut, &h, &events_a),
				 VB_TUNNEL_MALFORMED);
	assert_int_equal(vb_tunnel_receive(&a, bytes, len + 1, &h, &events_a), VB_TUNNEL_MALFORMED);
	for (uint32_t at = 0; at < 6; at++) {
		bytes[at] ^= 0x40;
		assert_int_equal(vb_tunnel_receive(&a, bytes, len, &h, &events_a),
				 VB_TUNNEL_MALFORMED);
		bytes[at] ^= 0x40;
	}
	vb_tunnel_head(&b, VB_TUNNEL_PACKET, 0, bytes);
	assert_int_equal(vb_tunnel_hdr_parse(&h, bytes, VB_TUNNEL_MAX), 0);
	assert_int_equal(vb_tunnel_hdr_parse(&h, bytes, VB_TUNNEL_MAX + 1), -EBADMSG);
	assert_int_equal(events_a, 0);
}

/* All fields come out as they went in; a name that does not print is no danger to a terminal. */
static void bytes__keep_what_is_said(void **state)
{
	struct vb_tunnel_hello h = {.polls = true,
				    .widths = 0x1f,
				    .speeds = 0x1234,
				    .port = 200,
				    .guid = UINT64_C(0x7662000000010000),
				    .table = 5,
				    .heard_table = 6,
				    .heard_cnt = 7,
				    .name = "a switch"},
			       back;
	struct vb_tunnel_hdr head = {VB_TUNNEL_MAD, 3, 1, 2, 4, 5, 6}, head_back;
	struct vb_tunnel_entry e = {1, 2, 3, 4, 5, 6}, e_back;
	struct vb_tunnel_chunk c = {9, 20, 7, 1}, c_back;
	uint8_t bytes[VB_TUNNEL_MAX] = {0}, again[VB_TUNNEL_HELLO_LEN];

	(void)state;
	vb_tunnel_hello_emit(&h, bytes);
	vb_tunnel_hello_parse(&back, bytes);
	vb_tunnel_hello_emit(&back, again);
	assert_memory_equal(bytes, again, sizeof again);
	assert_string_equal(h.name, back.name);
	assert_true(back.polls && back.guid == h.guid && back.heard_cnt == h.heard_cnt);
	bytes[36] = 0x1b;
	bytes[28] = 0xff;
	vb_tunnel_hello_parse(&back, bytes);
	assert_int_equal(back.name[0], '?');
	assert_int_equal(strlen(back.name), VB_TUNNEL_NAME_MAX);
	vb_tunnel_hdr_emit(&head, bytes);
	assert_int_equal(vb_tunnel_hdr_parse(&head_back, bytes, VB_TUNNEL_HDR_LEN + 64), 0);
	assert_true(head.kind == head_back.kind && head.hops == head_back.hops &&
		    head.from == head_back.from && head.to == head_back.to &&
		    head.seq == head_back.seq && head.life == head_back.life &&
		    head.peer_life == head_back.peer_life);
	vb_tunnel_entry_emit(&e, bytes + VB_TUNNEL_CHUNK_LEN);
	vb_tunnel_entry_parse(&e_back, bytes + VB_TUNNEL_CHUNK_LEN);
	assert_true(e.prefix == e_back.prefix && e.guid == e_back.guid && e.ipv4 == e_back.ipv4 &&
		    e.lid == e_back.lid && e.hops == e_back.hops && e.router == e_back.router);
	vb_tunnel_chunk_emit(&c, bytes);
	assert_int_equal(
	    vb_tunnel_chunk_parse(&c_back, bytes, VB_TUNNEL_CHUNK_LEN + VB_TUNNEL_ENTRY_LEN), 0);
	assert_true(c_back.table == 9 && c_back.total == 20 && c_back.first == 7 &&
		    c_back.cnt == 1);
	bytes[11] = 20; /* it begins behind the last one */
	assert_int_equal(
	    vb_tunnel_chunk_parse(&c_back, bytes, VB_TUNNEL_CHUNK_LEN + VB_TUNNEL_ENTRY_LEN),
	    -EBADMSG);
}

#define JOINED(f) cmocka_unit_test_setup(f, setup_joined)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(ends__meet_by_their_numbers, setup),
	    cmocka_unit_test_setup(ends__meet_though_datagrams_are_lost, setup),
	    JOINED(forgers__are_not_heard),
	    JOINED(ends__that_restart_are_noticed),
	    JOINED(datagrams__of_the_process_before_are_late),
	    JOINED(datagrams__that_are_late_are_lost),
	    JOINED(links__have_lives),
	    JOINED(links__of_both_ends_go_down_at_once),
	    JOINED(ports__that_do_not_poll_have_no_link),
	    JOINED(watchdog__counts_periods_of_a_lane),
	    JOINED(watchdog__bears_lost_flow_control),
	    JOINED(ends__that_are_silent_are_gone),
	    JOINED(datagrams__without_form_are_counted),
	    cmocka_unit_test(bytes__keep_what_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
