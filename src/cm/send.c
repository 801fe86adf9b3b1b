/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages out: requests, which are repeated until they are answered, the answers that duplicates
 * draw once more, and answers to strangers. A message that is repeated has the same bytes.
 * IBA 12.9.8.6, 12.10.1; CMP-02, CMP-08
 */
#include "base/assert.h"
#include "cm/priv.h"

#include <errno.h>
#include <string.h>

int vb_cm_private_put(struct vb_cm_msg *m, const struct vb_cm_private *p)
{
	if (!p || p->len == 0)
		return 0;
	if (p->len > vb_cm_private_len(m->attr))
		return -EINVAL;
	memcpy(m->private_data, p->data, p->len);
	return 0;
}

static void queue_tx(struct vb_cm_conn *c)
{
	VB_ASSERT_ALL(c->request_due || c->answer_due);
	if (vb_list_is_empty(&c->tx))
		vb_list_append(&c->cm->tx, &c->tx);
}

/* When the request leaves again: at the end of the wait, or earlier inside it. */
static void timer_arm(struct vb_cm_conn *c, vb_time now)
{
	vb_time due = c->wait_end;

	VB_ASSERT_ALL(c->wait_end >= now);
	if (c->early_ns)
		due = vb_time_min(due, vb_time_after(now, c->early_ns));
	vb_heap_set(&c->cm->timers, &c->timer, due);
}

static void wait_begin(struct vb_cm_conn *c, vb_time now)
{
	c->wait_end = vb_time_after(now, c->wait_ns);
	c->early_ns = c->cm->cfg.early_resend_ns;
	timer_arm(c, now);
}

void vb_cm_send_request(struct vb_cm_conn *c, struct vb_cm_msg *m, vb_time now)
{
	vb_cm_msg_emit(m, c->request);
	c->request_attr = m->attr;
	c->request_due = true;
	c->request_sent = 0;
	c->request_since = now;
	c->retries_left = c->retries;
	queue_tx(c);
	wait_begin(c, now);
}

/* It waits for an answer. */
static bool waits_for_answer(const struct vb_cm_conn *c)
{
	return c->timer.pos != 0 && c->state != VB_CM_STATE_TIMEWAIT;
}

void vb_cm_hear(struct vb_cm_conn *c, vb_time now)
{
	struct vb_cm_heard *h;

	if (!waits_for_answer(c))
		return;
	h = &c->cm->heard[vb_cm_counter(c->request_attr)];
	h->at = now;
	if (c->request_since > h->since)
		h->since = c->request_since;
}

/*
 * Earlier requests are still being answered, and no later one was: the peer has much to do, and the
 * request waits for its turn there rather than being lost. A program that made 300 connections at a
 * time on a slow machine sent 1,558 DREQs again otherwise. bench/rxe.sh
 */
static bool waits_for_turn(const struct vb_cm_conn *c, vb_time now)
{
	const struct vb_cm_heard *h = &c->cm->heard[vb_cm_counter(c->request_attr)];

	return h->since < c->request_since && h->at >= c->request_since &&
	       now - h->at < c->cm->cfg.early_resend_ns;
}

void vb_cm_extend_wait(struct vb_cm_conn *c, vb_dur wait, vb_time now)
{
	c->wait_end = vb_time_after(now, wait);
	c->early_ns = 0;
	timer_arm(c, now);
}

void vb_cm_keep_answer(struct vb_cm_conn *c, struct vb_cm_msg *m)
{
	vb_cm_msg_emit(m, c->answer);
	c->answer_attr = m->attr;
	c->answer_sent_once = false;
}

void vb_cm_send_answer(struct vb_cm_conn *c, struct vb_cm_msg *m)
{
	vb_cm_keep_answer(c, m);
	c->answer_due = true;
	queue_tx(c);
}

void vb_cm_answer_again(struct vb_cm_conn *c)
{
	if (!c->answer_attr)
		return;
	c->answer_due = true;
	queue_tx(c);
}

void vb_cm_send_stray(struct vb_cm *cm, const struct vb_path *path, uint16_t pkey,
		      const struct vb_cm_msg *m)
{
	struct vb_cm_stray *s;

	if (cm->stray_cnt == VB_CM_STRAYS) {
		cm->cnt.tx_no_room++;
		return;
	}
	s = &cm->stray[(cm->stray_first + cm->stray_cnt++) % VB_CM_STRAYS];
	s->path = vb_path_back(path);
	s->pkey = pkey;
	s->attr = m->attr;
	vb_cm_msg_emit(m, s->mad);
}

/* The next message of the connection at the head of the queue, which has one. */
static void conn_transmit(struct vb_cm_conn *c, struct vb_path *path, uint16_t *pkey,
			  uint8_t mad[VB_MAD_LEN])
{
	struct vb_cm_port_counters *cnt = vb_cm_port_of(c->cm, &c->qp.path);

	VB_ASSERT_ALL(c->request_due || c->answer_due);
	*path = c->qp.path;
	*pkey = c->qp.pkey;
	if (c->answer_due) {
		c->answer_due = false;
		memcpy(mad, c->answer, VB_MAD_LEN);
		cnt->tx_msgs[vb_cm_counter(c->answer_attr)]++;
		if (c->answer_sent_once)
			cnt->tx_retries[vb_cm_counter(c->answer_attr)]++;
		c->answer_sent_once = true;
	} else {
		assert(c->request_due);
		c->request_due = false;
		memcpy(mad, c->request, VB_MAD_LEN);
		cnt->tx_msgs[vb_cm_counter(c->request_attr)]++;
		if (c->request_sent++)
			cnt->tx_retries[vb_cm_counter(c->request_attr)]++;
	}
	if (c->answer_due || c->request_due)
		return;
	vb_list_remove(&c->tx);
	if (c->is_orphan && c->state == VB_CM_STATE_IDLE)
		vb_cm_conn_free(c);
}

bool vb_cm_poll_transmit(struct vb_cm *cm, struct vb_path *path, uint16_t *pkey,
			 uint8_t mad[VB_MAD_LEN])
{
	if (cm->stray_cnt) {
		const struct vb_cm_stray *s = &cm->stray[cm->stray_first];

		VB_ASSERT(cm->stray_first < VB_CM_STRAYS && cm->stray_cnt <= VB_CM_STRAYS);
		*path = s->path;
		*pkey = s->pkey;
		memcpy(mad, s->mad, VB_MAD_LEN);
		vb_cm_port_of(cm, path)->tx_msgs[vb_cm_counter(s->attr)]++;
		cm->stray_first = (cm->stray_first + 1) % VB_CM_STRAYS;
		cm->stray_cnt--;
		return true;
	}
	if (vb_list_is_empty(&cm->tx))
		return false;
	conn_transmit(vb_container_of(cm->tx.next, struct vb_cm_conn, tx), path, pkey, mad);
	return true;
}

/* The last wait is over: nobody answers. CMP-09, CMP-20, CMP-24 */
static void request_fail(struct vb_cm_conn *c, vb_time now)
{
	VB_ASSERT_ALL(c->request_attr != 0 && c->retries_left == 0);
	vb_cm_stop_request(c);
	vb_cm_event_raise(c, VB_CM_EVENT_UNREACHABLE);
	if (vb_cm_waits_for_apr(c))
		c->lap = VB_CM_LAP_IDLE;
	else if (c->state == VB_CM_STATE_DREQ_SENT)
		vb_cm_timewait(c, now);
	else
		vb_cm_conn_reset(c);
}

static void conn_timeout(struct vb_cm_conn *c, vb_time now)
{
	if (c->state == VB_CM_STATE_TIMEWAIT) {
		vb_cm_event_raise(c, VB_CM_EVENT_TIMEWAIT_EXIT);
		vb_cm_conn_reset(c);
		return;
	}
	if (now < c->wait_end) {
		bool is_early = !waits_for_turn(c, now);

		if (is_early)
			c->early_ns *= 2;
		timer_arm(c, now);
		if (!is_early)
			return;
	} else if (c->retries_left == 0) {
		request_fail(c, now);
		return;
	} else {
		c->retries_left--;
		wait_begin(c, now);
	}
	c->request_due = true;
	queue_tx(c);
}

void vb_cm_requests_timeout(struct vb_cm *cm, vb_time now)
{
	while (vb_heap_due(&cm->timers) <= now)
		conn_timeout(vb_container_of(cm->timers.node[1], struct vb_cm_conn, timer), now);
}
