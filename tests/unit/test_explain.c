/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The words of explanations: every reason to wait and every way to fail has some of its own, and
 * what is most certain of the other end is said..
 */
#include "cmocka_env.h"
#include "explain/explain.h"

#include <errno.h>

static struct vb_explanation why;
static struct vb_qp_history history;
static struct vb_qp_view view;
static struct vb_peer_facts peer;

static struct vb_explain_in input(void)
{
	return (struct vb_explain_in){
	    .now = 5 * VB_SEC, .view = &view, .history = &history, .peer = &peer};
}

/* A QP that is connected to 192.0.2.7 and has nothing to do. */
static void fresh(void)
{
	static const uint8_t to[16] = {[10] = 0xff, [11] = 0xff, 192, 0, 2, 7};

	memset(&history, 0, sizeof history);
	memset(&peer, 0, sizeof peer);
	memset(&view, 0, sizeof view);
	view = (struct vb_qp_view){.qpn = 0x102,
				   .type = VB_QPT_RC,
				   .state = VB_QPS_RTS,
				   .ack_at = VB_NEVER,
				   .rnr_at = VB_NEVER,
				   .pace_at = VB_NEVER,
				   .block = VB_BLOCK_EMPTY};
	view.attr.dest_qpn = 0x203;
	view.rto = (struct vb_rto){.since = VB_NEVER,
				   .timeout = VB_MSEC,
				   .total = VB_NEVER,
				   .attr_timeout = 14,
				   .attr_retry = 7,
				   .cap_exp = 14};
	memcpy(view.attr.path.dgid.b, to, sizeof to);
}

static void event(enum vb_trace_id id, vb_time at, uint64_t a, uint64_t b, uint64_t c)
{
	struct vb_trace_event ev = {
	    .time = at, .qpn = view.qpn, .id = id, .arg = {a, b, c, VB_NEVER}};

	vb_qp_history_add(&history, &ev, &view);
}

static bool says(const struct vb_lines *l, const char *words)
{
	for (uint32_t i = 0; i < l->cnt; i++)
		if (strstr(l->text[i], words))
			return true;
	return false;
}

#define EXPECT_SAID(lines, words)                                                                  \
	do {                                                                                       \
		for (uint32_t n_ = 0; !says(lines, words) && n_ < (lines)->cnt; n_++)              \
			print_message("%s\n", (lines)->text[n_]);                                  \
		assert_true(says(lines, words));                                                   \
	} while (0)

static void explain(enum vb_explain_rank rank, const char *cause)
{
	struct vb_explain_in in = input();

	vb_explain(&in, &why);
	if (strcmp(why.cause, cause) != 0)
		for (uint32_t i = 0; i < why.what.cnt; i++)
			print_message("%s\n", why.what.text[i]);
	assert_string_equal(why.cause, cause);
	assert_int_equal(why.rank, rank);
	assert_true(why.what.cnt > 0);
}

static void wait__every_block_has_words(void **state)
{
	const char *seen[VB_BLOCK_CNT];

	(void)state;
	for (int i = 0; i < VB_BLOCK_CNT; i++) {
		struct vb_explain_in in = input();

		fresh();
		view.posted = view.unsent = 1;
		view.block = (enum vb_block)i;
		vb_explain(&in, &why);
		assert_true(why.what.cnt >= 2);
		assert_true(strlen(why.what.text[0]) > 10);
		assert_true(why.rank == VB_RANK_WAITING || why.rank == VB_RANK_STUCK);
		seen[i] = why.cause;
		/* NONE and EMPTY are both a turn to come. */
		for (int k = VB_BLOCK_FENCE; k < i; k++)
			assert_string_not_equal(seen[k], seen[i]);
	}
}

/* A QP that works at full speed meets these all the time; one that stands meets them for long. */
static void wait__flow_control_is_no_trouble_before_it_lasts(void **state)
{
	static const enum vb_block blocks[] = {VB_BLOCK_RX_CREDIT, VB_BLOCK_CREDIT};

	(void)state;
	for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
		const char *cause = blocks[i] == VB_BLOCK_RX_CREDIT ? "receiver-full" : "credit";

		fresh();
		view.posted = view.unsent = view.unacked = 1;
		view.block = blocks[i];
		view.rto.since = 5 * VB_SEC - VB_MSEC;
		explain(VB_RANK_WAITING, cause);
		view.rto.since = 4 * VB_SEC;
		explain(VB_RANK_STUCK, cause);
		view.rto.since = VB_NEVER;
		explain(VB_RANK_WAITING, cause);
		peer.is_stopped = true;
		explain(VB_RANK_STUCK, cause);
	}
}

static void wait__every_state_has_words(void **state)
{
	(void)state;
	for (int s = VB_QPS_RESET; s < VB_QPS_CNT; s++) {
		struct vb_explain_in in = input();

		fresh();
		view.state = (enum vb_qp_state)s;
		vb_explain(&in, &why);
		assert_true(why.what.cnt > 0);
		assert_true((why.rank == VB_RANK_FAILED) == (s == VB_QPS_ERR || s == VB_QPS_SQE));
	}
	assert_string_equal(why.cause, "moved");
}

static void wait__ack_says_when_the_timer_fires(void **state)
{
	(void)state;
	fresh();
	view.posted = 1;
	view.unacked = 3;
	view.rto.since = 5 * VB_SEC - 2 * VB_MSEC;
	view.ack_at = 5 * VB_SEC + 3 * VB_MSEC;
	view.rto.retry_left = 6;
	explain(VB_RANK_WAITING, "ack");
	EXPECT_SAID(&why.what, "acknowledge 3 packets, for 2.000 ms so far");
	EXPECT_SAID(&why.what, "fires in 3.000 ms");
	EXPECT_SAID(&why.what, "6 more times");
}

static void wait__without_timer_for_ever(void **state)
{
	(void)state;
	fresh();
	view.unacked = 1;
	view.rto.timeout = VB_NEVER;
	view.rto.since = VB_SEC;
	explain(VB_RANK_STUCK, "no-answer");
	EXPECT_SAID(&why.what, "timeout 0 means to wait for ever");
}

static void own_process_stopped__is_stuck(void **state)
{
	struct vb_explain_in in = input();

	(void)state;
	fresh();
	in.owner = VB_OWNER_STOPPED;
	vb_explain(&in, &why);
	assert_int_equal(why.rank, VB_RANK_STUCK);
	EXPECT_SAID(&why.what, "Its own process is stopped");
}

/* A target of DC is as ready as it gets, and no peer of one initiator. */
static void target__is_well_in_rtr(void **state)
{
	static struct vb_qp_view q;

	(void)state;
	fresh();
	view.type = VB_QPT_DCT;
	view.state = VB_QPS_RTR;
	explain(VB_RANK_WELL, "rtr");
	EXPECT_SAID(&why.what, "any initiator that has its key");
	assert_int_equal(why.advice.cnt, 0);
	fresh();
	view.type = VB_QPT_DCI;
	view.unacked = 1;
	view.rto.timeout_cnt = 1;
	view.rto.since = VB_SEC;
	q = (struct vb_qp_view){.type = VB_QPT_DCT, .state = VB_QPS_RTR};
	peer = (struct vb_peer_facts){.there = VB_PEER_QP, .qp = &q};
	explain(VB_RANK_STUCK, "lost");
}

/* Two timeouts, and the end. */
static void give_up(void)
{
	view.posted = 1;
	view.length = 65536;
	event(VB_TRACE_TIMER_FIRED, VB_SEC, 5, 1, VB_MSEC);
	event(VB_TRACE_REWOUND, VB_SEC, 5, 6, VB_REWIND_TIMEOUT);
	event(VB_TRACE_TIMER_FIRED, VB_SEC + VB_MSEC, 5, 0, VB_MSEC);
	event(VB_TRACE_RETRY_ENDED, VB_SEC + VB_MSEC, VB_REWIND_TIMEOUT, 2, 2 * VB_MSEC);
	event(VB_TRACE_FAILED, VB_SEC + VB_MSEC, VB_WC_RETRY_EXC_ERR, 0, 0);
	view.state = VB_QPS_ERR;
	view.posted = 0;
	event(VB_TRACE_QP_STATE, VB_SEC + VB_MSEC, VB_QPS_RTS, VB_QPS_ERR, 0);
}

static void silence__nothing_known(void **state)
{
	(void)state;
	fresh();
	give_up();
	explain(VB_RANK_FAILED, "no-answer");
	EXPECT_SAID(&why.what,
		    "IBV_WC_RETRY_EXC_ERR: no answer from 192.0.2.7: 2 timeouts in 2.000 ms, 3.999 "
		    "s ago");
	EXPECT_SAID(&why.what, "It has never answered");
	EXPECT_SAID(&why.what, "64 KiB");
	EXPECT_SAID(&why.what, "timeout 14 (67.11 ms), retry_cnt 7");
	EXPECT_SAID(&why.advice, "verbena explain 0x000203");
}

static void silence__by_what_is_known(void **state)
{
	static struct vb_qp_view q;
	static const struct {
		enum vb_peer_there there;
		bool stopped;
		enum vb_qp_state qp; /* RESET: not known how it stands */
		int route, send;
		enum vb_neighbour neighbour;
		uint32_t answered;
		const char *cause, *words;
	} known[] = {
	    {.send = ECONNREFUSED, .cause = "refused", .words = "UDP port 4791 is unreachable"},
	    /* A firewall may say the same as a host without an adapter: both are named. */
	    {.send = ECONNREFUSED,
	     .cause = "refused",
	     .words = "or a firewall there or on the way"},
	    {.send = EHOSTUNREACH, .cause = "firewall", .words = "administratively prohibited"},
	    {.send = EHOSTUNREACH,
	     .route = EHOSTUNREACH,
	     .cause = "send-error",
	     .words = "Sending to 192.0.2.7 fails here"},
	    {.send = EPERM, .cause = "send-error", .words = "Sending to 192.0.2.7 fails here"},
	    {.send = EMSGSIZE, .cause = "send-error", .words = "Sending to 192.0.2.7 fails here"},
	    {.route = ENETUNREACH, .cause = "no-route", .words = "no way to 192.0.2.7"},
	    {.neighbour = VB_NEIGHBOUR_SILENT, .cause = "unresolved", .words = "ARP"},
	    {.answered = 0x302, .cause = "peer-qpn-unknown", .words = "answers QP 0x000302"},
	    {.there = VB_PEER_NO_PROCESS, .cause = "peer-gone", .words = "has ended"},
	    {.there = VB_PEER_NO_QP, .cause = "peer-qpn-unknown", .words = "has no QP 0x000203"},
	    {.there = VB_PEER_QP, .stopped = true, .cause = "peer-stopped", .words = "is stopped"},
	    {.there = VB_PEER_QP, .qp = VB_QPS_INIT, .cause = "peer-not-ready", .words = "RTR"},
	    {.there = VB_PEER_QP, .qp = VB_QPS_ERR, .cause = "peer-error", .words = "error state"},
	    {.there = VB_PEER_QP, .qp = VB_QPS_RTS, .cause = "peer-of-another", .words = "not to"},
	    /* A fact of this host is more certain than the kernel's word. */
	    {.there = VB_PEER_NO_PROCESS,
	     .route = ENETUNREACH,
	     .cause = "peer-gone",
	     .words = "QP"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
		fresh();
		give_up();
		q = (struct vb_qp_view){.state = known[i].qp};
		peer = (struct vb_peer_facts){.there = known[i].there,
					      .pid = 4711,
					      .is_stopped = known[i].stopped,
					      .qp = known[i].qp ? &q : NULL,
					      .route_errno = known[i].route,
					      .send_errno = known[i].send,
					      .send_err_cnt = 2,
					      .send_err_at = VB_SEC,
					      .neighbour = known[i].neighbour,
					      .answered_qpn = known[i].answered};
		explain(VB_RANK_FAILED, known[i].cause);
		EXPECT_SAID(&why.what, known[i].words);
		assert_true(why.advice.cnt > 1);
	}
}

static void silence__wrong_psn(void **state)
{
	static struct vb_qp_view q;

	(void)state;
	fresh();
	view.psn_una = 1000;
	give_up();
	q = (struct vb_qp_view){.state = VB_QPS_RTR, .epsn = 7};
	q.attr.dest_qpn = view.qpn;
	q.attr.path.dgid = view.attr.path.sgid;
	peer = (struct vb_peer_facts){.there = VB_PEER_QP, .qp = &q};
	explain(VB_RANK_FAILED, "wrong-psn");
	EXPECT_SAID(&why.what, "expects PSN 7, and this QP began with 1000");
}

static void silence__old_send_error_is_no_reason(void **state)
{
	(void)state;
	fresh();
	event(VB_TRACE_TIMER_FIRED, 4 * VB_SEC, 5, 1, VB_MSEC);
	event(VB_TRACE_RETRY_ENDED, 4 * VB_SEC, VB_REWIND_TIMEOUT, 1, VB_MSEC);
	peer = (struct vb_peer_facts){
	    .send_errno = ECONNREFUSED, .send_err_cnt = 1, .send_err_at = VB_SEC};
	explain(VB_RANK_FAILED, "no-answer");
}

static void silence__faults_come_first(void **state)
{
	struct vb_explain_in in = input();

	(void)state;
	fresh();
	give_up();
	peer.there = VB_PEER_NO_PROCESS;
	in.faults = "blackout=0s/9s";
	in.fault_hits = 3;
	vb_explain(&in, &why);
	assert_string_equal(why.cause, "fault");
	EXPECT_SAID(&why.what, "'blackout=0s/9s', 3 hits");
	/* But a peer that does not run would not answer without them either. */
	peer.there = VB_PEER_QP;
	peer.is_stopped = true;
	vb_explain(&in, &why);
	assert_string_equal(why.cause, "peer-stopped");
	EXPECT_SAID(&why.what, "'blackout=0s/9s', 3 hits");
}

static void failure__every_status_has_words(void **state)
{
	static const uint32_t status[] = {
	    VB_WC_LOC_LEN_ERR,    VB_WC_LOC_QP_OP_ERR, VB_WC_LOC_PROT_ERR,
	    VB_WC_MW_BIND_ERR,    VB_WC_BAD_RESP_ERR,  VB_WC_REM_INV_REQ_ERR,
	    VB_WC_REM_ACCESS_ERR, VB_WC_REM_OP_ERR,    VB_WC_REM_INV_RD_REQ_ERR};
	const char *seen[sizeof status / sizeof status[0]];

	(void)state;
	for (size_t i = 0; i < sizeof status / sizeof status[0]; i++) {
		fresh();
		view.posted = 2;
		view.wr_opcode = VB_WR_RDMA_WRITE;
		view.rkey = 0x1234;
		event(VB_TRACE_FAILED, VB_SEC, status[i], 0x62, 77);
		view.state = VB_QPS_ERR;

		struct vb_explain_in in = input();

		vb_explain(&in, &why);
		assert_int_equal(why.rank, VB_RANK_FAILED);
		EXPECT_SAID(&why.what, vb_word_status(status[i]));
		EXPECT_SAID(&why.what, "R_Key 0x1234");
		EXPECT_SAID(&why.what, "1 more waited behind it");
		assert_int_equal(why.advice.cnt, 1);
		seen[i] = why.cause;
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(seen[k], seen[i]);
	}
}

static void failure__rnr_counts_its_naks(void **state)
{
	(void)state;
	fresh();
	view.attr.rnr_retry = 1;
	for (int i = 0; i < 2; i++)
		event(VB_TRACE_NAK_RECEIVED, VB_SEC + (vb_time)i, 0x21, 5, 0);
	event(VB_TRACE_REWOUND, VB_SEC + 1, 5, 6, VB_REWIND_RNR);
	event(VB_TRACE_NAK_RECEIVED, VB_SEC + 2, 0x21, 5, 0);
	event(VB_TRACE_RETRY_ENDED, VB_SEC + 2, VB_REWIND_RNR, 0, VB_MSEC);
	explain(VB_RANK_FAILED, "rnr");
	EXPECT_SAID(&why.what, "pause of 10.00 us");
	EXPECT_SAID(&why.advice, "Post receives there");
}

static void failure__gap_is_no_silence(void **state)
{
	(void)state;
	fresh();
	event(VB_TRACE_REWOUND, VB_SEC, 5, 6, VB_REWIND_NAK);
	event(VB_TRACE_RETRY_ENDED, VB_SEC, VB_REWIND_NAK, 0, VB_MSEC);
	explain(VB_RANK_FAILED, "gap");
}

static void failure__of_a_number_used_again_is_history(void **state)
{
	(void)state;
	fresh();
	give_up();
	event(VB_TRACE_QP_STATE, 2 * VB_SEC, VB_QPS_ERR, VB_QPS_RESET, 0);
	view.state = VB_QPS_RTS;
	explain(VB_RANK_WELL, "idle");
}

static void timeline__one_line_for_a_timeout(void **state)
{
	static struct vb_row row[VB_ROWS_MAX];
	uint32_t cnt;

	(void)state;
	fresh();
	give_up();
	cnt = vb_timeline(&history, &view, row);
	assert_int_equal(cnt, 5);
	assert_int_equal(row[0].kind, VB_ROW_SENT);
	assert_int_equal(row[1].kind, VB_ROW_TIMEOUT);
	assert_int_equal(row[1].at - row[1].from, VB_MSEC);
	assert_non_null(strstr(row[1].text, "timeout 1: nothing heard for 1.000 ms; sent again"));
	assert_int_equal(row[2].kind, VB_ROW_TIMEOUT);
	assert_int_equal(row[3].kind, VB_ROW_END);
	assert_non_null(strstr(row[3].text, "gave up after 2.000 ms: IBV_WC_RETRY_EXC_ERR"));
	assert_non_null(strstr(row[4].text, "state ERR, from RTS"));
}

static void timeline__like_naks_are_condensed(void **state)
{
	static struct vb_row row[VB_ROWS_MAX];
	uint32_t cnt;

	(void)state;
	fresh();
	for (vb_time i = 0; i < 30; i++)
		event(VB_TRACE_NAK_RECEIVED, VB_SEC + i, 0x21, 5, 0),
		    event(VB_TRACE_REWOUND, VB_SEC + i, 5, 6, VB_REWIND_RNR);
	cnt = vb_timeline(&history, NULL, row);
	assert_int_equal(cnt, 4);
	assert_string_equal(row[2].text, "27 more like that");
	assert_int_equal(row[3].at, VB_SEC + 29);
}

/* An RNR NAK begins the core's count of time again; the timeline counts from the first one on, so
 * that its last line is as late as it says. */
static void timeline__rnr_storm_adds_up(void **state)
{
	static struct vb_row row[VB_ROWS_MAX];

	(void)state;
	for (int fails = 0; fails < 2; fails++) {
		vb_time end = VB_SEC + 6 * 13 * VB_USEC;
		uint32_t cnt;

		fresh();
		for (vb_time at = VB_SEC; at < end; at += 13 * VB_USEC)
			event(VB_TRACE_NAK_RECEIVED, at, 0x21, 5, 0),
			    event(VB_TRACE_REWOUND, at, 5, 6, VB_REWIND_RNR);
		if (fails) {
			event(VB_TRACE_NAK_RECEIVED, end, 0x21, 5, 0);
			event(VB_TRACE_RETRY_ENDED, end, VB_REWIND_RNR, 0, 3 * VB_USEC);
			event(VB_TRACE_FAILED, end, VB_WC_RNR_RETRY_EXC_ERR, 0x21, 1);
		} else {
			event(VB_TRACE_RECOVERED, end, 6, 0, 3 * VB_USEC);
		}
		cnt = vb_timeline(&history, NULL, row);
		assert_int_equal(row[cnt - 1].at - row[0].at, 78 * VB_USEC);
		assert_non_null(strstr(row[cnt - 1].text, "after 78.00 us"));
	}
}

/* Where the first answer ends it all, as with rnr_retry 0, the wait began before it. */
static void timeline__of_one_nak_adds_up(void **state)
{
	static struct vb_row row[VB_ROWS_MAX];
	vb_time end = VB_SEC + 53 * VB_USEC;

	(void)state;
	fresh();
	event(VB_TRACE_NAK_RECEIVED, end, 0x21, 5, 0);
	event(VB_TRACE_RETRY_ENDED, end, VB_REWIND_RNR, 0, 53 * VB_USEC);
	event(VB_TRACE_FAILED, end, VB_WC_RNR_RETRY_EXC_ERR, 0x21, 1);
	assert_int_equal(vb_timeline(&history, NULL, row), 3);
	assert_int_equal(row[0].kind, VB_ROW_SENT);
	assert_int_equal(row[0].at, VB_SEC);
	assert_int_equal(row[2].at - row[0].at, 53 * VB_USEC);
	assert_non_null(strstr(row[2].text, "after 53.00 us: IBV_WC_RNR_RETRY_EXC_ERR"));
}

/* A NAK after timeouts: the wait that is shown is all of it. */
static void timeline__of_timeouts_and_naks_adds_up(void **state)
{
	static struct vb_row row[VB_ROWS_MAX];
	vb_time nak = VB_SEC + VB_MSEC, end = nak + 20 * VB_USEC;
	uint32_t cnt;

	(void)state;
	fresh();
	event(VB_TRACE_TIMER_FIRED, VB_SEC, 5, 7, VB_MSEC);
	event(VB_TRACE_NAK_RECEIVED, nak, 0x21, 5, 0);
	event(VB_TRACE_REWOUND, nak, 5, 6, VB_REWIND_RNR);
	event(VB_TRACE_RECOVERED, end, 6, 0, 3 * VB_USEC);
	cnt = vb_timeline(&history, NULL, row);
	assert_int_equal(row[cnt - 1].at - row[0].at, 2 * VB_MSEC + 20 * VB_USEC);
	assert_non_null(strstr(row[cnt - 1].text, "after 2.020 ms"));
}

static void timeline__of_a_migration(void **state)
{
	static struct vb_row row[VB_ROWS_MAX];
	struct vb_trace_event ev = {.id = VB_TRACE_MIGRATED, .arg = {2, 11, 21, VB_APM_PORT}};

	(void)state;
	fresh();
	vb_qp_history_add(&history, &ev, &view);
	assert_int_equal(vb_timeline(&history, NULL, row), 1);
	assert_non_null(strstr(row[0].text, "port 2, LID 11 to 21, because the port is down"));
}

static void timeline__any_bytes_are_safe(void **state)
{
	static struct vb_row row[VB_ROWS_MAX];
	uint32_t x = 1;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		uint8_t *bytes = (uint8_t *)&history;

		for (size_t i = 0; i < sizeof history; i++) {
			x = x * 1664525 + 1013904223;
			bytes[i] = (uint8_t)(x >> 24);
		}
		/* Half of the events have an id that there is. */
		for (uint32_t i = 0; i < VB_QP_HISTORY_FIRST + VB_QP_HISTORY_LAST; i++) {
			struct vb_trace_event *ev = i < VB_QP_HISTORY_FIRST
							? &history.first[i]
							: &history.last[i - VB_QP_HISTORY_FIRST];

			if (ev->id & 1)
				ev->id %= VB_TRACE_CNT;
		}
		history.state = (uint32_t)round % 3 + 1;
		vb_view_heal(&history.view);
		assert_true(vb_timeline(&history, NULL, row) <= VB_ROWS_MAX);

		struct vb_explain_in in = {.now = 1, .history = &history};

		vb_explain(&in, &why);
		assert_true(why.what.cnt <= VB_LINES_MAX);
	}
}

static void words__of_times(void **state)
{
	(void)state;
	assert_string_equal(vb_word_ns(0).s, "0 ns");
	assert_string_equal(vb_word_ns(999).s, "999 ns");
	assert_string_equal(vb_word_ns(4096).s, "4.096 us");
	assert_string_equal(vb_word_ns(67108864).s, "67.11 ms");
	assert_string_equal(vb_word_ns(UINT64_C(469800000)).s, "469.8 ms");
	assert_string_equal(vb_word_ns(12 * VB_SEC).s, "12.00 s");
	assert_string_equal(vb_word_ns(VB_NEVER).s, "for ever");
	assert_string_equal(vb_word_timeout(14).s, "14 (67.11 ms)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(wait__every_block_has_words),
	    cmocka_unit_test(wait__flow_control_is_no_trouble_before_it_lasts),
	    cmocka_unit_test(wait__every_state_has_words),
	    cmocka_unit_test(wait__ack_says_when_the_timer_fires),
	    cmocka_unit_test(wait__without_timer_for_ever),
	    cmocka_unit_test(own_process_stopped__is_stuck),
	    cmocka_unit_test(target__is_well_in_rtr),
	    cmocka_unit_test(silence__nothing_known),
	    cmocka_unit_test(silence__by_what_is_known),
	    cmocka_unit_test(silence__wrong_psn),
	    cmocka_unit_test(silence__old_send_error_is_no_reason),
	    cmocka_unit_test(silence__faults_come_first),
	    cmocka_unit_test(failure__every_status_has_words),
	    cmocka_unit_test(failure__rnr_counts_its_naks),
	    cmocka_unit_test(failure__gap_is_no_silence),
	    cmocka_unit_test(failure__of_a_number_used_again_is_history),
	    cmocka_unit_test(timeline__one_line_for_a_timeout),
	    cmocka_unit_test(timeline__like_naks_are_condensed),
	    cmocka_unit_test(timeline__rnr_storm_adds_up),
	    cmocka_unit_test(timeline__of_one_nak_adds_up),
	    cmocka_unit_test(timeline__of_timeouts_and_naks_adds_up),
	    cmocka_unit_test(timeline__of_a_migration),
	    cmocka_unit_test(timeline__any_bytes_are_safe),
	    cmocka_unit_test(words__of_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
