/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The queues of a QP of a simulated adapter. The core keeps work requests, not bytes: they are
 * written here as the driver of such an adapter would have written them. A work request that is
 * done is shown for as long as its place has not been taken by what was posted later. An index
 * counts blocks, and all work requests of a simulated QP are of one kind: so it is the number of
 * the work request, times the blocks that one takes.
 */
#include "cmd/queues/queues.h"

#include "core/view.h"

#include <string.h>

#define DONE_MAX 8u

static struct vb_av av_of(const struct vb_path *p)
{
	bool has_lid = vb_path_has_lid(p);

	return (struct vb_av){.dlid = has_lid ? p->dlid : p->udp_sport,
			      .sl = p->sl,
			      .flow_label = p->flow_label,
			      .traffic_class = p->traffic_class,
			      .hop_limit = p->hop_limit,
			      .grh = vb_path_has_grh(p),
			      .extended = true,
			      .dgid = p->dgid};
}

/* Writes work request @i, with index @index, to @to, of VB_WQE_BYTES_MAX bytes. Returns its blocks.
 */
static uint32_t write_send(const struct vb_hca *h, const struct vb_wqe_queue *q, uint32_t i,
			   uint32_t index, uint8_t *to)
{
	struct vb_send_view s;
	struct vb_av av;

	vb_hca_view_send(h, q->qpn, i, &s);
	av = av_of(&s.path);
	return vb_wqe_write(q, &s.wr, s.has_path ? &av : NULL, (uint16_t)index, to);
}

void vb_queues_log_event(struct vb_queues_log *log, const struct vb_hca *h,
			 const struct vb_trace_event *ev)
{
	struct vb_queues_completion *done;
	uint8_t wqe[VB_WQE_BYTES_MAX];
	struct vb_work_span span;
	struct vb_qp_view view;

	if (ev->id != VB_TRACE_COMPLETION)
		return;
	if (ev->qpn != log->qpn) {
		log->entry_cnt++;
		return;
	}
	done = &log->done[log->cnt++ % VB_QUEUES_LOG];
	done->wc = (struct vb_wc){.wr_id = ev->arg[0],
				  .status = (enum vb_wc_status)ev->arg[1],
				  .opcode = (enum vb_wc_opcode)ev->arg[2],
				  .byte_len = (uint32_t)ev->arg[3],
				  .qpn = ev->qpn,
				  .time = ev->time};
	done->entry = log->entry_cnt++;
	if (done->wc.opcode >= VB_WC_RECV) {
		if (vb_hca_view_receives(h, log->qpn, &span))
			done->wqe = span.done - 1;
	} else if (vb_hca_view_sends(h, log->qpn, &span) &&
		   vb_hca_view(h, log->qpn, ev->time, &view)) {
		const struct vb_wqe_queue queue = {.type = view.type, .qpn = log->qpn};

		/* The queue has moved on already, but nothing has taken the place. */
		done->wqe = span.done - 1;
		write_send(h, &queue, done->wqe, 0, wqe);
		done->opcode = (uint8_t)vb_wqe_get(wqe, VB_CTRL_OPCODE);
	}
}

/* Adds the sends. Returns the blocks of a work request, which are those of the last one: all take
 * the same. 1: there is none. */
static uint32_t add_sends(const struct vb_hca *h, struct vb_queues_view *to)
{
	const struct vb_wqe_queue queue = {.type = to->type, .qpn = to->qpn};
	uint8_t wqe[VB_WQE_BYTES_MAX];
	struct vb_work_span span;
	struct vb_queue_view *q;
	uint32_t blocks = 1, from;

	if (!vb_hca_view_sends(h, to->qpn, &span) || !span.slots)
		return 1;
	if (span.first != span.end)
		blocks = write_send(h, &queue, span.end - 1, 0, wqe);
	q = vb_queues_add(to, VB_QUEUE_SEND, "Send queue");
	q->cnt = span.slots * blocks;
	q->stride = VB_WQE_BLOCK;
	q->record = span.end * blocks & 0xffff;
	q->seen = span.next * blocks & 0xffff;
	q->is_copied = true;
	from = span.next - span.first > DONE_MAX ? span.next - DONE_MAX : span.first;
	for (uint32_t i = from; i != span.end; i++) {
		uint32_t index = i * blocks & 0xffff, n = write_send(h, &queue, i, index, wqe);
		struct vb_queue_element *e =
		    vb_queue_element_add(q, index, (int32_t)(i - span.next) >= 0, n * VB_WQE_BLOCK);

		if (e)
			memcpy(e->bytes, wqe, (size_t)n * VB_WQE_BLOCK);
	}
	return blocks;
}

static uint32_t stride_for(uint32_t bytes)
{
	uint32_t stride = VB_DATA_BYTES;

	while (stride < bytes)
		stride *= 2;
	return stride;
}

/* Writes receive @i of QP @qpn into element @e behind its first @at bytes; NULL: there is no memory
 * for it. */
static void fill_receive(const struct vb_hca *h, uint32_t qpn, uint32_t i,
			 struct vb_queue_element *e, uint32_t at)
{
	struct vb_recv_wr wr;

	if (!e)
		return;
	memset(e->bytes, 0, e->len);
	vb_hca_view_receive(h, qpn, i, &wr);
	vb_wqe_write_receive(e->bytes + at, e->len - at, wr.sge, wr.sge_cnt);
}

/* As those of programs are shown: the last one posted comes first. */
static void add_receives(const struct vb_hca *h, const struct vb_work_span *span,
			 struct vb_queues_view *to)
{
	struct vb_queue_view *q = vb_queues_add(to, VB_QUEUE_RECEIVE, "Receive queue");
	uint32_t waits = span->end - span->next;

	q->cnt = span->slots;
	q->stride = stride_for(span->sges * VB_DATA_BYTES);
	q->record = span->end & 0xffff;
	q->seen = span->next & 0xffff;
	q->is_copied = true;
	for (uint32_t k = 0; k < waits + DONE_MAX && k < span->end - span->first; k++) {
		uint32_t i = span->end - 1 - k;

		fill_receive(h, to->qpn, i,
			     vb_queue_element_add(q, i & 0xffff, k < waits, q->stride), 0);
	}
}

/* Each WQE of an SRQ names the next one: those that wait, in the order in which they are taken. */
static void add_shared_receives(const struct vb_hca *h, const struct vb_work_span *span,
				struct vb_queues_view *to)
{
	struct vb_queue_view *q = vb_queues_add(to, VB_QUEUE_SRQ, "Shared receive queue");
	uint32_t mask = span->slots - 1;

	q->cnt = span->slots;
	q->stride = stride_for(VB_NEXT_BYTES + span->sges * VB_DATA_BYTES);
	q->record = span->end & 0xffff;
	q->is_copied = true;
	for (uint32_t i = span->next; i != span->end; i++) {
		struct vb_queue_element *e = vb_queue_element_add(q, i & mask, false, q->stride);

		fill_receive(h, to->qpn, i, e, VB_NEXT_BYTES);
		if (e)
			vb_wqe_put(e->bytes, VB_NEXT_INDEX, (i + 1) & mask);
	}
}

/* A simulated program takes each entry at once. */
static void add_entries(const struct vb_queues_log *log, uint32_t cqe, uint32_t blocks,
			struct vb_queues_view *to)
{
	struct vb_queue_view *q = vb_queues_add(to, VB_QUEUE_ENTRIES, "Completion queue");
	uint32_t first = log->cnt > VB_QUEUES_LOG ? log->cnt - VB_QUEUES_LOG : 0;

	q->cnt = cqe;
	q->stride = VB_CQE_BYTES;
	q->record = log->entry_cnt;
	q->is_copied = true;
	for (uint32_t i = first; i < log->cnt; i++) {
		const struct vb_queues_completion *d = &log->done[i % VB_QUEUES_LOG];
		bool is_send = d->wc.opcode < VB_WC_RECV;
		const struct vb_cqe c = {.wc = &d->wc,
					 .counter = (uint16_t)(d->wqe * (is_send ? blocks : 1)),
					 .work = d->opcode,
					 .is_send = is_send};
		struct vb_queue_element *e = vb_queue_element_add(q, d->entry, false, VB_CQE_BYTES);

		if (e)
			e->bytes[VB_CQE_BYTES - 1] = vb_cqe_write(
			    &c, d->entry & cqe ? 1 : 0, memset(e->bytes, 0, VB_CQE_BYTES));
	}
}

bool vb_queues_simulated(const struct vb_hca *h, const struct vb_queues_log *log, uint32_t cqe,
			 struct vb_queues_view *to)
{
	struct vb_work_span receives;
	struct vb_qp_view view;
	uint32_t blocks;

	if (!vb_hca_view(h, log->qpn, 0, &view))
		return false;
	*to = (struct vb_queues_view){.qpn = log->qpn, .host = log->host, .type = view.type};
	blocks = add_sends(h, to);
	if (vb_hca_view_receives(h, log->qpn, &receives) && receives.slots)
		(receives.is_srq ? add_shared_receives : add_receives)(h, &receives, to);
	add_entries(log, cqe, blocks, to);
	return true;
}
