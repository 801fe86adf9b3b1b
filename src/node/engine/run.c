/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One step of the engine: receive, fire timeouts, deliver events, send. And the doorbell, which
 * decides whether a work request leaves now or waits for company.
 *
 * On an idle link the first packet leaves at once. While there is work in flight a posted request
 * can wait for the next step, which is never far: the application polls for the completions of what
 * is in flight. What has gathered by then leaves in one GSO batch. The progress thread
 * sends what the application does not come back for.
 */
#include "node/control/probe.h"
#include "node/engine/priv.h"

/* Times are those of the machines that this was tuned on; others have vb_engine.slow times as much.
 */

/* Batches per step: bounds the time under the lock. */
#define TX_BATCHES_MAX 16
/* Work requests left unsent at most. */
#define UNSENT_WR_MAX 64
/* How long they may wait while the application goes on posting without polling... */
#define UNSENT_POST_NS (20 * VB_USEC)
/* ... and until the progress thread sends them. */
#define UNSENT_MAX_NS (50 * VB_USEC)
/* UC and UD: nothing tells what is in flight. Doorbells closer than this are a burst. */
#define BURST_GAP_NS (2 * VB_USEC)
/* A reply is prompt when it comes this soon... */
#define REPLY_PROMPT_NS (120 * VB_USEC)
/* ... so many times in a row make the next one expected... */
#define REPLY_SCORE_MIN 4u
/* ... and for so long it is waited for. */
#define REPLY_HOLD_NS (160 * VB_USEC)
/* So many packets taken at once are a stream, and then so many more receives come before sending:
 * one acknowledgement answers for all. */
#define STREAM_PKTS 8u
#define STREAM_RECVS_MAX 8
/* A program that comes back to poll so soon has done nothing else. */
#define IDLE_GAP_NS (5 * VB_USEC)
/* One that comes back so soon each time polls, and needs nobody beside it. It may be held up now
 * and then by other programs: two such gaps in a row make as much of a difference as all polls
 * before. */
#define POLLS_GAP_NS (20 * VB_USEC)
#define POLLS_MAX 64u
/* After so many polls one looks several times before it comes back with nothing: what the way here
 * and back takes, a packet would lie there unseen. */
#define LOOK_POLLS_MIN 2u
#define LOOKS 4u
/* Pause before a full link is offered its backlog again. */
#define LINK_FULL_NS (50 * VB_USEC)

static void deliver_events(struct vb_engine *e)
{
	struct vb_event ev;

	while (vb_hca_poll_event(e->hca, &ev))
		if (ev.kind == VB_EVENT_CNP) {
			vb_cnp_ring(&e->broker.bell[ev.port - 1], ev.qpn);
		} else if (e->sink.event) {
			e->notified += ev.kind == VB_EVENT_CQ_NOTIFY;
			e->sink.event(e->sink.ctx, &ev);
		}
	vb_sleeper_wake(e);
}

/* Offers the backlog; true when all of it has left. */
static bool flush_backlog(struct vb_engine *e, vb_time now)
{
	struct vb_backlog *l = &e->backlog;

	if (vb_backlog_is_empty(l))
		return true;
	l->from += e->link->ops->send(e->link, &l->batch, l->from, now);
	l->due = now + LINK_FULL_NS;
	return vb_backlog_is_empty(l);
}

/* Sends what there is; returns how many packets that were. */
static uint32_t transmit_packets(struct vb_engine *e, vb_time now)
{
	uint32_t cnt = 0;

	e->unsent.wr_cnt = 0;
	e->reply.held = false;
	if (!flush_backlog(e, now))
		return 0;
	for (int i = 0; i < TX_BATCHES_MAX && vb_hca_has_transmit(e->hca); i++) {
		struct vb_tx_batch *b = &e->batch;

		b->cnt = b->seg_cnt = 0;
		if (!vb_hca_poll_transmit(e->hca, b, now))
			break;

		uint32_t sent = e->link->ops->send(e->link, b, 0, now);

		cnt += b->cnt;
		if (sent < b->cnt) {
			struct vb_slot_shm *shm = e->broker.shm;

			vb_count(&shm->counters[b->pkt[sent].path->port],
				 VB_COUNTER_port_xmit_wait);
			vb_backlog_keep(&e->backlog, b, sent);
			e->backlog.due = now + LINK_FULL_NS;
			break;
		}
	}
	/* Sending may have found errors: completions, QP events. */
	deliver_events(e);
	return cnt;
}

/* True while what there is to send after receiving waits for a reply to travel with. */
static bool reply_holds(struct vb_engine *e, bool received, vb_time now)
{
	struct vb_reply *r = &e->reply;

	if (e->unsent.wr_cnt || !vb_backlog_is_empty(&e->backlog))
		return false;
	if (received && !r->held && r->score >= REPLY_SCORE_MIN) {
		r->held = true;
		r->at = now;
	}
	return r->held && now - r->at < e->slow * REPLY_HOLD_NS;
}

/* An answer has left without a reply. */
static void reply_missed(struct vb_reply *r, bool was_held, vb_time now)
{
	if (was_held || r->open)
		r->score /= 2;
	r->open = !was_held;
	r->at = now;
}

/* The doorbell of a request that leaves at once. */
static void reply_came(struct vb_engine *e, vb_time now)
{
	struct vb_reply *r = &e->reply;

	if (r->open && now - r->at < e->slow * REPLY_PROMPT_NS && r->score < REPLY_SCORE_MIN)
		r->score++;
	r->open = false;
}

/* Returns how many packets there were. */
static uint32_t receive_packets(struct vb_engine *e, vb_time now)
{
	uint32_t cnt = 0, n;

	for (int i = 0; i < STREAM_RECVS_MAX; i++) {
		n = e->link->ops->recv(e->link, e->rx, VB_ENGINE_RX_PKTS, now);
		e->rx_more = n == VB_ENGINE_RX_PKTS || (n != 0 && vb_link_has_packets(e->link));
		if (e->cc.marks)
			vb_engine_mark(e, e->rx, n, now);
		for (uint32_t k = 0; k < n; k++)
			(void)vb_hca_handle_packet(e->hca, &e->rx[k], now);
		cnt += n;
		if (n == 0 || cnt < STREAM_PKTS)
			break;
	}
	return cnt;
}

/*
 * A process that did not run for a while finds its timers late, and what was to stop them still on
 * its way: a request to itself is read in one step, and its ACK in the next. So timers wait for one
 * step more after one that received something, and while the answer is held for a reply.
 */
static void run_timers(struct vb_engine *e, bool received, vb_time now)
{
	if (vb_hca_poll_timeout(e->hca) > now) {
		e->timers_waited = false;
	} else if (e->reply.held || (received && !e->timers_waited)) {
		e->timers_waited = true;
	} else {
		e->timers_waited = false;
		vb_engine_adopt(e);
		vb_hca_handle_timeout(e->hca, now);
	}
}

uint32_t vb_engine_step(struct vb_engine *e, vb_time now)
{
	uint32_t cnt;

	vb_engine_runs(e, now);
	if (vb_probe_is_wanted() != e->is_probed)
		vb_engine_follow_probes(e);
	cnt = receive_packets(e, now);

	if (e->mail.fd >= 0)
		cnt += vb_engine_run_xrc(e, now);
	run_timers(e, cnt != 0, now);
	/* Before sending: whoever waits for a completion wakes up meanwhile. */
	deliver_events(e);

	/* A few packets are taken in less than a microsecond. */
	e->step_end = cnt >= STREAM_PKTS ? vb_engine_now() : now;
	if (!vb_hca_has_transmit(e->hca) && vb_backlog_is_empty(&e->backlog)) {
		e->unsent.wr_cnt = 0;
		e->reply.held = false;
	} else if (!reply_holds(e, cnt != 0, e->step_end)) {
		bool was_held = e->reply.held;
		uint32_t sent = transmit_packets(e, e->step_end);

		e->step_end = vb_engine_now();
		if (sent && (cnt || was_held))
			reply_missed(&e->reply, was_held, e->step_end);
	}
	if (e->step_end >= e->rates.due) {
		vb_engine_follow_capture(e);
		vb_engine_look_at_rates(e, e->step_end);
	}
	/* What was owed may have left. */
	if (e->mail.fd >= 0 && vb_xrc_waits(e->hca))
		vb_engine_retry_xrc(e, e->step_end);
	return cnt;
}

vb_time vb_engine_due(const struct vb_engine *e, vb_time now, vb_dur leeway)
{
	vb_time timer = vb_time_after(vb_hca_poll_timeout(e->hca), leeway);
	vb_time due = vb_time_min(timer, e->link->due);

	if (e->rx_more || vb_engine_has_mail(e))
		return now;
	if (e->mail.fd >= 0)
		due = vb_time_min(due, e->mail.due);
	if (!vb_backlog_is_empty(&e->backlog))
		return vb_time_min(due, e->backlog.due);
	if (e->reply.held)
		return vb_time_min(due, e->reply.at + e->slow * REPLY_HOLD_NS);
	if (e->unsent.wr_cnt)
		return vb_time_min(due, e->unsent.since + e->slow * UNSENT_MAX_NS);
	return vb_hca_has_transmit(e->hca) ? now : due;
}

/* The application is about to send what was left: was it in time? */
static void judge_unsent(struct vb_engine *e, vb_time now)
{
	struct vb_unsent *u = &e->unsent;

	if (!u->wr_cnt)
		return;
	if (now - u->since <= e->slow * UNSENT_MAX_NS)
		u->trust += u->trust < UINT32_MAX;
	else
		u->trust = 0;
}

void vb_engine_progress(struct vb_engine *e)
{
	vb_time now = vb_engine_now();
	uint64_t calls = atomic_load_explicit(&e->progress_cnt, memory_order_relaxed) + 1;
	uint32_t in_vain = atomic_load_explicit(&e->in_vain, memory_order_relaxed) + 1;
	uint32_t idle = atomic_load_explicit(&e->idle_polls, memory_order_relaxed) + 1;
	uint32_t polls = atomic_load_explicit(&e->polls, memory_order_relaxed);
	pthread_t self = pthread_self();

	e->sleeps = false;
	if (now - e->progress_at >= e->slow * IDLE_GAP_NS || e->poller != self)
		idle = 0;
	polls =
	    now - e->progress_at < e->slow * POLLS_GAP_NS ? polls + (polls < POLLS_MAX) : polls / 4;
	e->poller = self;
	judge_unsent(e, now);
	e->looks = idle >= LOOK_POLLS_MIN && !vb_link_is_silent(e->link) ? LOOKS : 1;
	in_vain += e->looks - 1;
	if (vb_engine_step(e, now)) {
		in_vain = idle = 0;
		vb_progress_thread_beaten(e);
	}
	e->looks = 0;
	e->progress_at = e->step_end;
	/* Plain stores: under the lock there is one writer. */
	atomic_store_explicit(&e->progress_cnt, calls, memory_order_relaxed);
	atomic_store_explicit(&e->in_vain, in_vain, memory_order_relaxed);
	atomic_store_explicit(&e->idle_polls, idle, memory_order_relaxed);
	atomic_store_explicit(&e->polls, polls, memory_order_relaxed);
	vb_progress_thread_notice(e, e->step_end);
}

void vb_engine_send_rest(struct vb_engine *e)
{
	if (e->reply.held || e->unsent.wr_cnt)
		(void)transmit_packets(e, vb_engine_now());
}

void vb_engine_send(struct vb_engine *e, vb_time now)
{
	vb_engine_runs(e, now);
	(void)transmit_packets(e, now);
}

void vb_engine_flush(struct vb_engine *e)
{
	vb_engine_progress(e);
	vb_engine_send_rest(e);
}

/* True when what was just posted on @qp should leave at once. */
static bool doorbell_sends(const struct vb_engine *e, const struct vb_qp *qp, vb_time now)
{
	const struct vb_unsent *u = &e->unsent;

	if (u->wr_cnt >= UNSENT_WR_MAX || now - u->since >= e->slow * UNSENT_POST_NS)
		return true;
	switch (vb_qp_get_type(qp)) {
	case VB_QPT_UC:
	case VB_QPT_UD:
	case VB_QPT_GSI:
		return now - u->doorbell_at >= e->slow * BURST_GAP_NS;
	default:
		return vb_qp_unacked(qp) == 0;
	}
}

void vb_engine_doorbell(struct vb_engine *e, struct vb_qp *qp, vb_time now)
{
	struct vb_unsent *u = &e->unsent;

	vb_engine_runs(e, now);
	e->sleeps = false;
	e->poller = pthread_self();
	if (!u->wr_cnt++)
		u->since = now;
	if (doorbell_sends(e, qp, now)) {
		reply_came(e, now);
		if (u->wr_cnt > 1)
			judge_unsent(e, now);
		(void)transmit_packets(e, now);
		now = vb_engine_now();
	}
	u->doorbell_at = e->progress_at = now;
	/* A request that can only fail has its completion already. */
	deliver_events(e);
	vb_progress_thread_notice(e, now);
}
