/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Streams of an initiator: in which channel their work waits, sends and fails. A stream that has
 * nothing queued takes an empty channel and keeps it until its work is done, so as many streams as
 * there are channels run side by side, and what holds back one of them holds back no other. Streams
 * beyond that share a channel, where work goes one after the other. Nothing of a stream is ever in
 * two channels: that is its order. docs/dc.md
 */
#include "base/assert.h"
#include "core/dc/dc.h"
#include "core/rc/rc.h"
#include "core/sched/peer.h"

#include <errno.h>

static int add_channel(struct vb_qp *qp, uint8_t number, const struct vb_dc_init *init,
		       const struct vb_qp_cap *cap)
{
	struct vb_qp *channel = vb_qp_new_part(qp);
	int err;

	if (!channel)
		return -ENOMEM;
	qp->dci->streams->channel[number] = channel;
	channel->dc_channel = number;
	channel->attr.cap = *cap;
	err = vb_sq_init(channel, cap);
	if (!err)
		err = vb_dci_begin(channel, init);
	if (!err)
		channel->dci->streams = qp->dci->streams;
	return err;
}

int vb_dci_streams_create(struct vb_qp *qp, const struct vb_dc_init *init,
			  const struct vb_qp_cap *cap)
{
	struct vb_hca *h = qp->hca;
	struct vb_dci_streams *s = vb_alloc(h, sizeof *s);
	int err;

	if (!s)
		return -ENOMEM;
	qp->dci->streams = s;
	s->channel_cnt = 1u << init->log_streams;
	s->bad_max = 1u << init->log_errored;
	s->channel[0] = qp;
	/* Deadlines are the channels', and a QP of the table has one place for them. */
	h->channel_cnt += s->channel_cnt - 1;
	err = vb_timerq_reserve(h, h->qp_cap + h->channel_cnt);
	for (uint32_t i = 1; !err && i < s->channel_cnt; i++)
		err = add_channel(qp, (uint8_t)i, init, cap);
	return err;
}

void vb_dci_streams_free(struct vb_qp *qp)
{
	struct vb_dci_streams *s = qp->dci->streams;

	for (uint32_t i = 1; i < s->channel_cnt; i++) {
		if (s->channel[i])
			vb_qp_free_memory(s->channel[i]);
	}
	qp->hca->channel_cnt -= s->channel_cnt - 1;
	vb_free(qp->hca, s);
}

static bool is_empty(const struct vb_qp *channel)
{
	return channel->sq.head == channel->sq.tail;
}

/* The WQE before place @end is still queued. Places wrap, and an end may be as old as the queue. */
static bool is_before_end(const struct vb_sq *sq, uint32_t end)
{
	return end - sq->head - 1 < sq->tail - sq->head;
}

static bool is_owner(const struct vb_qp *channel, uint32_t stream)
{
	return channel->dci->stream == stream && is_before_end(&channel->sq, channel->dci->own_end);
}

static const struct vb_dc_dest *dest_at(const struct vb_qp *channel, uint32_t idx)
{
	return vb_swqe_dest(vb_sq_at(&channel->sq, idx));
}

/* Among what others queued in a channel that is not theirs. */
static bool is_guest(const struct vb_qp *channel, uint32_t stream)
{
	if (!is_before_end(&channel->sq, channel->dci->other_end))
		return false;
	for (uint32_t i = channel->dci->other_end; i != channel->sq.head; i--) {
		if (dest_at(channel, i - 1)->stream == stream)
			return true;
	}
	return false;
}

struct vb_qp *vb_dci_choose(struct vb_qp *qp, uint32_t stream)
{
	struct vb_dci_streams *s = qp->dci->streams;
	struct vb_qp *home, *empty = NULL;

	if (!s)
		return qp;
	/* From the same channel on each time: there its last connection is. */
	home = s->channel[stream & (s->channel_cnt - 1)];
	for (uint32_t i = 0; i < s->channel_cnt; i++) {
		struct vb_qp *channel = s->channel[(stream + i) & (s->channel_cnt - 1)];

		if (is_owner(channel, stream))
			return channel;
		if (!empty && is_empty(channel))
			empty = channel;
	}
	if (!empty || is_guest(home, stream))
		return home;
	empty->dci->stream = stream;
	return empty;
}

void vb_dci_posted(struct vb_qp *channel, struct vb_swqe *w)
{
	struct vb_dc_dest *dest = vb_swqe_put_dest(w);
	struct vb_dci *dci = channel->dci;

	if (!dci->streams)
		return;
	dest->nr = dci->streams->post_cnt++;
	VB_ASSERT_ALL(w == vb_sq_at(&channel->sq, channel->sq.tail - 1));
	if (dest->stream == dci->stream)
		dci->own_end = channel->sq.tail;
	else
		dci->other_end = channel->sq.tail;
}

struct vb_qp *vb_qp_oldest(const struct vb_qp *qp)
{
	struct vb_qp *best = NULL, *channel;

	for (uint32_t i = 0; (channel = vb_qp_channel(qp, i)); i++) {
		if (is_empty(channel))
			continue;
		if (!best || (int32_t)(dest_at(channel, channel->sq.head)->nr -
				       dest_at(best, best->sq.head)->nr) < 0)
			best = channel;
	}
	return best;
}

bool vb_dci_is_bad(const struct vb_qp *qp, uint32_t stream)
{
	const struct vb_dci_streams *s = qp->dci->streams;

	for (uint32_t i = 0; s && i < s->bad_cnt; i++) {
		if (s->bad[i] == stream)
			return true;
	}
	return false;
}

/* Work of the stream that is still queued, which is in this channel, fails as well, each piece at
 * its turn. */
static void stream_doom(struct vb_qp *qp, uint32_t stream)
{
	for (uint32_t i = qp->sq.head; i != qp->sq.tail; i++) {
		struct vb_swqe *w = vb_sq_at(&qp->sq, i);
		const struct vb_dc_dest *dest = vb_swqe_dest(w);

		if (dest->stream == stream)
			w->status = VB_WC_WR_FLUSH_ERR;
	}
}

/* All packets in flight were of one stream. The requester begins again behind the failed WQE. */
static void begin_again(struct vb_qp *qp)
{
	struct vb_requester *req = &qp->req;
	struct vb_sq *sq = &qp->sq;

	req->psn_una = sq->head == sq->tail ? req->psn_post : vb_sq_at(sq, sq->head)->first;
	req->psn_nxt = req->psn_max = req->window.asked = req->psn_una;
	VB_ASSERT_ALL(vb_psn_span(req->psn_una, req->psn_post) <= VB_PSN_HALF);
	sq->nxt = sq->head;
	req->state = VB_REQ_ACTIVE;
	req->rd_out = 0;
	req->recovering = false;
	req->rnr_left = qp->attr.rnr_retry;
	(void)vb_rto_progress(&qp->rto, vb_qp_rules(qp), req->psn_una, req->psn_nxt);
	vb_timer_stop(qp, VB_TIMER_ACK);
	vb_timer_stop(qp, VB_TIMER_RNR);
	vb_req_update_inflight(qp);
	vb_sched_activate(qp);
}

bool vb_dci_fail(struct vb_qp *qp, enum vb_wc_status status, uint32_t vendor_err, vb_time now)
{
	struct vb_dci_streams *s = qp->dci->streams;
	struct vb_swqe *w = vb_sq_at(&qp->sq, qp->sq.head);
	uint32_t stream = ((const struct vb_dc_dest *)vb_swqe_dest(w))->stream;
	bool has_psns = w->pkts;
	/* A WQE flushed because of the error before it says nothing new. */
	bool is_new = status != VB_WC_WR_FLUSH_ERR && !vb_dci_is_bad(qp, stream);

	/* A stream in error and not yet the QP: that takes two or more. */
	if (!s || (is_new && s->bad_cnt + 1 >= s->bad_max))
		return false;
	if (is_new)
		s->bad[s->bad_cnt++] = (uint16_t)stream;
	VB_ASSERT(s->bad_cnt < s->bad_max);
	vb_send_complete(qp, status, vendor_err, now);
	if (qp->state == VB_QPS_ERR)
		return true; /* the completion has overrun its CQ */
	if (is_new)
		stream_doom(qp, stream);
	/* A target expects the PSNs that what failed has and never sends. */
	if (has_psns)
		vb_dci_leave(qp);
	begin_again(qp);
	return true;
}

int vb_dci_reset_stream(struct vb_qp *qp, uint16_t stream)
{
	struct vb_dci_streams *s = qp->dci ? qp->dci->streams : NULL;

	for (uint32_t i = 0; s && i < s->bad_cnt; i++) {
		if (s->bad[i] == stream) {
			s->bad[i] = s->bad[--s->bad_cnt];
			return 0;
		}
	}
	return VB_REFUSE(qp->hca, -EINVAL, VB_REFUSAL_STREAM, .value = stream);
}
