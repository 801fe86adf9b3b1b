/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets through the port of an adapter, see hca.h. */
#include "fabric/ib/node/hca.h"

#include "base/assert.h"

static uint8_t level_of(const struct vb_frame *f)
{
	return f->path.sl % VB_SL_CNT;
}

/* It no longer waits here. */
static void packet_gone(struct vb_ib_hca *h, const struct vb_frame *f)
{
	VB_ASSERT_ALL(h->waiting[level_of(f)] >= f->frame_len);
	h->waiting[level_of(f)] -= f->frame_len;
}

void vb_ib_hca_settle(struct vb_ib_hca *h, vb_time now)
{
	struct vb_frame *f;

	while ((f = vb_ib_end_poll_dropped(h->end, now)) != NULL) {
		packet_gone(h, f);
		vb_frame_pool_give(h->end->pool, f);
	}
}

/* Into the lane of its service level. */
static void packet_put(struct vb_ib_hca *h, struct vb_frame *f, vb_time now)
{
	int vl = vb_sl2vl_lane(&h->sl2vl, f->path.sl, h->end->port.config.data_cnt);

	if (vl < 0) {
		h->end->port.counters.xmit_discards++;
		packet_gone(h, f);
		vb_frame_pool_give(h->end->pool, f);
		return;
	}
	vb_ib_end_put(h->end, f, (uint8_t)vl, now);
	vb_ib_hca_settle(h, now);
}

/* Puts packets whose time has come into their lanes. */
static void held_put(struct vb_ib_hca *h, vb_time now)
{
	struct vb_frame *f;

	while ((f = vb_ib_source_take(&h->source, &h->cct, h->end->line->rate_bps, now,
				      &h->end->inject_at)) != NULL)
		packet_put(h, f, now);
}

void vb_ib_hca_put(struct vb_ib_hca *h, struct vb_frame *f, vb_time now)
{
	h->waiting[level_of(f)] += f->frame_len;
	vb_ib_source_put(&h->source, f);
	held_put(h, now);
	vb_port_wake(h->end->line);
}

struct vb_frame *vb_ib_hca_take(struct vb_ib_hca *h, vb_time now)
{
	struct vb_frame *f = vb_frame_fifo_pop(&h->arrived);

	vb_ib_end_release(h->end, f->prio, f->frame_len, now);
	return f;
}

/* Marks are answered by the cores that take the packets, and a BECN slows down who sends: the
 * service level here, or the QP there. FAB-47 */
static void marks_take(struct vb_ib_hca *h, struct vb_frame *f, vb_time now)
{
	vb_ib_mark_path(f);
	h->fecns += vb_ib_has_fecn(f);
	if (!vb_ib_has_becn(f))
		return;
	if (h->has_qp && !h->has_qp(h->ctx, h, vb_hdr_dqpn(f->bytes)))
		h->source.strays++;
	else
		vb_ib_source_becn(&h->source, &h->cct, f, now);
}

void vb_ib_hca_handle_packet(struct vb_ib_hca *h, struct vb_frame *f, vb_time now)
{
	if (!vb_ib_end_receive(h->end, f, now))
		return;
	marks_take(h, f, now);
	vb_frame_fifo_push(&h->arrived, f);
}

struct vb_frame *vb_ib_hca_poll_transmit(struct vb_ib_hca *h, vb_time now)
{
	struct vb_frame *f;

	held_put(h, now);
	f = vb_ib_end_poll_transmit(h->end, now);
	vb_ib_hca_settle(h, now);
	if (f && f->kind == VB_FRAME_DATA)
		packet_gone(h, f);
	h->end->line->due = vb_time_min(h->end->line->due, h->end->inject_at);
	return f;
}

static void machine_handle_packet(struct vb_machine *m, uint32_t port, struct vb_frame *f,
				  vb_time now)
{
	(void)port;
	vb_ib_hca_handle_packet((struct vb_ib_hca *)m, f, now);
}

static struct vb_frame *machine_poll_transmit(struct vb_machine *m, uint32_t port, vb_time now)
{
	(void)port;
	return vb_ib_hca_poll_transmit((struct vb_ib_hca *)m, now);
}

static const struct vb_machine_ops hca_ops = {
    .handle_packet = machine_handle_packet,
    .poll_transmit = machine_poll_transmit,
    .poll_timeout = vb_machine_never_due,
    .handle_timeout = vb_machine_no_timeout,
    .expect = vb_machine_no_expect,
};

void vb_ib_hca_init(struct vb_ib_hca *h, struct vb_ib_end *end)
{
	*h = (struct vb_ib_hca){.machine = {&hca_ops}, .end = end};
	end->inject_at = VB_NEVER;
	end->line->owner = &h->machine;
	end->line->number = 0;
}
