/* SPDX-License-Identifier: BSD-2-Clause */
/* Questions to adapters of other hosts, see ask.h. IBA 13.4.6.4: a response has the
 * transaction ID of its request, which nobody off the path can guess here. */
#include "node/gsi/ask.h"

#include "link/carried/carried.h"
#include "node/broker/state.h"
#include "node/host/clock.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define TIMEOUT_MAX (5 * VB_SEC)

static void ask_reply(struct vb_conn *c, uint32_t tag, int status, const struct vb_broker_ask *a)
{
	struct vb_broker_msg m;

	vb_broker_msg_init(&m, VB_BROKER_DONE);
	m.slot = tag;
	m.status = status;
	m.ask = *a;
	/* The socket tells of an observer that does not read its answers. */
	(void)vb_fds_send(c->sock, &m, sizeof m, NULL);
}

/* Tells the observer, unless it has gone. */
static void ask_end(struct vb_broker *b, struct vb_ask *q, int status)
{
	struct vb_conn *c = &b->conn[q->conn];

	if (c->in_use && c->kind == VB_CONN_OBSERVER && c->since == q->since)
		ask_reply(c, q->tag, status, &q->a);
	q->tid = 0;
}

static int ask_send(const struct vb_broker *b, struct vb_ask *q, vb_time now)
{
	struct vb_gsi *gsi = vb_broker_cm_gsi(b);
	struct vb_mad_hdr h;
	int err;

	if (!gsi)
		return -ENOTCONN;
	vb_mad_hdr_parse(&h, q->a.mad);
	h.tid = q->tid;
	vb_mad_hdr_emit(&h, q->a.mad);
	q->left--;
	q->sent = now;
	q->due = now + q->a.timeout;
	q->a.sent_at = vb_clock_read(CLOCK_REALTIME);
	err = vb_gsi_send(gsi, &q->a.path, q->a.mad, q->a.len);
	/* Without room it counts as lost. */
	return err == -EAGAIN ? 0 : err;
}

static bool is_valid(const struct vb_broker_ask *a)
{
	return a->len >= VB_MAD_LEN && a->len <= VB_GSI_MESSAGE_MAX && a->len % 4 == 0 &&
	       a->attempts >= 1 && a->attempts <= VB_BROKER_ATTEMPTS_MAX &&
	       a->timeout <= TIMEOUT_MAX;
}

void vb_asks_begin(struct vb_broker *b, struct vb_conn *c, const struct vb_broker_msg *m,
		   vb_time now)
{
	struct vb_ask *q = b->asks.ask, *end = b->asks.ask + VB_ASKS_MAX;
	const struct vb_gsi *gsi = vb_broker_cm_gsi(b);
	uint64_t tid;
	uint8_t part;
	int err = is_valid(&m->ask) ? 0 : -EINVAL;

	while (q < end && q->tid)
		q++;
	if (!err && q == end)
		err = -EAGAIN;
	if (!err && getrandom(&tid, sizeof tid, 0) != (ssize_t)sizeof tid)
		err = -errno;
	if (err) {
		ask_reply(c, m->slot, err, &m->ask);
		return;
	}
	part = gsi ? vb_gsi_part(gsi) : 0;
	if (part) /* by which the answer finds this user */
		tid = (tid & ~(UINT64_C(0xff) << VB_CARRIER_TID_SHIFT)) |
		      (uint64_t)part << VB_CARRIER_TID_SHIFT;
	*q = (struct vb_ask){.tid = tid | 1,
			     .conn = (uint32_t)(c - b->conn),
			     .since = c->since,
			     .tag = m->slot,
			     .left = m->ask.attempts,
			     .a = m->ask};
	err = ask_send(b, q, now);
	if (err)
		ask_end(b, q, err);
	else /* An answer of this host comes back within this step: later than the question. */
		vb_gsi_step(vb_broker_cm_gsi(b), vb_clock_now());
}

/* The question that a response answers; NULL: none that was asked. */
static struct vb_ask *ask_find(struct vb_broker *b, const struct vb_path *path,
			       const struct vb_mad_hdr *h)
{
	struct vb_mad_hdr asked;

	for (struct vb_ask *q = b->asks.ask; q < b->asks.ask + VB_ASKS_MAX; q++) {
		if (!q->tid || q->tid != h->tid || q->a.path.port != path->port ||
		    !vb_gid_eq(&q->a.path.dgid, &path->sgid))
			continue;
		vb_mad_hdr_parse(&asked, q->a.mad);
		if (h->mgmt_class == asked.mgmt_class && h->attr_id == asked.attr_id)
			return q;
	}
	return NULL;
}

bool vb_asks_expect(struct vb_broker *b, const struct vb_path *path, const struct vb_mad_hdr *h)
{
	return h->method & VB_MAD_METHOD_RESPONSE && ask_find(b, path, h);
}

void vb_asks_take_mad(struct vb_broker *b, const struct vb_path *path,
		      const uint8_t mad[VB_MAD_LEN], uint32_t len, vb_time now)
{
	struct vb_path back = vb_path_back(path);
	uint8_t answer[VB_MAD_LEN];
	struct vb_mad_hdr h;
	struct vb_ask *q;

	vb_mad_hdr_parse(&h, mad);
	if (!(h.method & VB_MAD_METHOD_RESPONSE)) {
		/* An answer that cannot be sent counts as lost. */
		if (len % 4 == 0 && vb_agent_answer(&b->agent, &b->slots, path, mad, now, answer))
			(void)vb_gsi_send(vb_broker_cm_gsi(b), &back, answer, len);
		return;
	}
	q = ask_find(b, path, &h);
	if (!q)
		return;
	memcpy(q->a.mad, mad, VB_MAD_LEN);
	q->a.round_trip = vb_time_since(q->sent, now);
	ask_end(b, q, 0);
}

void vb_asks_timeouts(struct vb_broker *b, vb_time now)
{
	for (struct vb_ask *q = b->asks.ask; q < b->asks.ask + VB_ASKS_MAX; q++) {
		int err = -ETIMEDOUT;

		if (!q->tid || q->due > now)
			continue;
		if (q->left)
			err = ask_send(b, q, now);
		if (err)
			ask_end(b, q, err);
	}
}

vb_time vb_asks_due(const struct vb_asks *asks)
{
	vb_time due = VB_NEVER;

	for (const struct vb_ask *q = asks->ask; q < asks->ask + VB_ASKS_MAX; q++)
		if (q->tid)
			due = vb_time_min(due, q->due);
	return due;
}
