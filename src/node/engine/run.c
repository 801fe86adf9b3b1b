/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One step of the engine: receive, fire timeouts, deliver events, send. Steps are taken by the
 * program's calls, which are here, and by threads that wait (node/wait/). src/wait/ says
 * which packets leave now, which wait for company, and which threads have to be woken.
 */
#include "node/bell/bell.h"
#include "node/control/probe.h"
#include "node/engine/priv.h"

/* Batches per step: bounds the time under the lock. */
#define TX_BATCHES_MAX 16
/* So many packets taken at once are a stream, and then so many more receives come before sending:
 * one acknowledgement answers for all. */
#define STREAM_PKTS 8u
#define STREAM_RECVS_MAX 8
/* Pause before a full link is offered its backlog again. */
#define LINK_FULL_NS (50 * VB_USEC)

static void deliver_events(struct vb_engine *e)
{
	struct vb_event ev;

	/* A program that is told of a completion finds it. */
	if (e->bells)
		vb_bells_settle(e->bells);
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

/* All that could leave has left: a process of this host that waits for our answer may count its
 * time from now on. */
static void note_answered(struct vb_engine *e)
{
	if (vb_backlog_is_empty(&e->backlog))
		vb_flow_answered(&e->broker.flow[e->broker.slot]);
}

/* Sends what there is; returns how many packets that were. */
static uint32_t transmit_packets(struct vb_engine *e, vb_time now)
{
	uint32_t cnt = 0;

	vb_wait_sent(&e->wait);
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
	note_answered(e);
	/* Sending may have found errors: completions, QP events. */
	deliver_events(e);
	return cnt;
}

/* A look at what a program may wait for. */
static bool is_data(const struct vb_rx *rx)
{
	return rx->avail && (rx->pkt[0] & VB_OP_MASK) != VB_OP_ACK;
}

static void handle_packets(struct vb_engine *e, uint32_t cnt, vb_time now)
{
	if (e->cc.marks)
		vb_engine_mark(e, e->rx, cnt, now);
	for (uint32_t k = 0; k < cnt; k++) {
		e->data_pkts += is_data(&e->rx[k]);
		if (vb_hca_handle_packet(e->hca, &e->rx[k], now) == VB_VERDICT_QPN)
			vb_engine_keep_misrouted(e, &e->rx[k]);
	}
	if (e->misrouted)
		vb_engine_hand_on(e);
}

/* Returns how many packets there were. */
static uint32_t receive_packets(struct vb_engine *e, vb_time now)
{
	uint32_t cnt = 0, n;

	for (int i = 0; i < STREAM_RECVS_MAX; i++) {
		n = e->link->ops->recv(e->link, e->rx, VB_ENGINE_RX_PKTS, now);
		e->rx_more = n == VB_ENGINE_RX_PKTS || (n != 0 && vb_link_has_packets(e->link));
		handle_packets(e, n, now);
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
	} else if (e->wait.held == VB_HELD_ANSWER || (received && !e->timers_waited)) {
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
		cnt += vb_engine_run_mail(e, now);
	run_timers(e, cnt != 0, now);
	/* Before sending: a thread that waits for a completion wakes up meanwhile. */
	deliver_events(e);

	/* A few packets are taken in less than a microsecond. */
	e->step_end = cnt >= STREAM_PKTS ? vb_clock_now() : now;
	if (!vb_hca_has_transmit(e->hca) && vb_backlog_is_empty(&e->backlog)) {
		vb_wait_sent(&e->wait);
		note_answered(e);
	} else if (!vb_backlog_is_empty(&e->backlog) ||
		   !vb_wait_holds(&e->wait, cnt != 0, e->step_end)) {
		bool was_held = e->wait.held == VB_HELD_ANSWER;
		uint32_t sent = transmit_packets(e, e->step_end);

		e->step_end = vb_clock_now();
		if (sent && (cnt || was_held))
			vb_wait_unreplied(&e->wait, was_held, e->step_end);
	}
	if (e->step_end >= e->rates.due) {
		vb_engine_follow_capture(e);
		vb_engine_look_at_rates(e, e->step_end);
	}
	/* Packets that were owed may have left. */
	if (e->mail.fd >= 0 && vb_xrc_waits(e->hca))
		vb_engine_retry_xrc(e, e->step_end);
	return cnt;
}

struct vb_wait_work vb_engine_work(const struct vb_engine *e)
{
	struct vb_wait_work k = {.timer = vb_hca_poll_timeout(e->hca),
				 .other = e->link->due,
				 .has_transmit = vb_hca_has_transmit(e->hca),
				 .is_full = !vb_backlog_is_empty(&e->backlog)};

	if (e->rx_more || vb_engine_has_mail(e))
		k.other = 0;
	else if (e->mail.fd >= 0)
		k.other = vb_time_min(k.other, e->mail.due);
	if (k.is_full)
		k.other = vb_time_min(k.other, e->backlog.due);
	return k;
}

static uint64_t this_thread(void)
{
	return (uint64_t)pthread_self();
}

void vb_engine_progress(struct vb_engine *e)
{
	vb_time now = vb_clock_now();
	uint32_t cnt;

	if (e->bells)
		(void)vb_bells_look(e->bells, now);
	e->looks = vb_wait_poll(&e->wait, this_thread(), now);
	cnt = vb_engine_step(e, now);
	if (vb_wait_polled(&e->wait, cnt, e->looks, e->step_end))
		vb_progress_thread_kick(e);
	e->looks = 0;
	vb_progress_thread_notice(e, e->step_end);
}

void vb_engine_send_rest(struct vb_engine *e)
{
	if (e->wait.held != VB_HELD_NOTHING)
		(void)transmit_packets(e, vb_clock_now());
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

static enum vb_wait_flight flight_of(const struct vb_qp *qp)
{
	switch (vb_qp_get_type(qp)) {
	case VB_QPT_UC:
	case VB_QPT_UD:
	case VB_QPT_GSI:
		return VB_FLIGHT_UNKNOWN;
	default:
		return vb_qp_unacked(qp) ? VB_FLIGHT_SOME : VB_FLIGHT_NONE;
	}
}

void vb_engine_doorbell(struct vb_engine *e, struct vb_qp *qp, vb_time now)
{
	vb_engine_runs(e, now);
	if (vb_wait_doorbell(&e->wait, flight_of(qp), this_thread(), now)) {
		(void)transmit_packets(e, now);
		now = vb_clock_now();
	}
	vb_wait_posted(&e->wait, now);
	/* A request that can only fail has its completion already. */
	deliver_events(e);
	vb_progress_thread_notice(e, now);
}
