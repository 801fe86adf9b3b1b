/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames through an InfiniBand port, see end.h. */
#include "fabric/ib/node/end.h"

#include "base/assert.h"

#include <string.h>

/* When no frame was left, until there may be one. */
#define FRAMES_RETRY_NS VB_USEC

void vb_ib_end_init(struct vb_ib_end *e, const struct vb_ib_port_config *c, struct vb_port *line,
		    struct vb_frame_pool *pool)
{
	*e = (struct vb_ib_end){.line = line, .pool = pool};
	vb_ib_port_init(&e->port, c);
	line->gap = VB_FRAME_IB_GAP;
}

void vb_ib_end_set_link(struct vb_ib_end *e, bool up, vb_time now)
{
	static const enum vb_link_event events[] = {VB_LINK_TRAINED, VB_LINK_SET_ARMED,
						    VB_LINK_SET_ACTIVE};

	for (size_t i = 0; up && i < sizeof events / sizeof events[0]; i++)
		(void)vb_ib_port_link_event(&e->port, events[i], now);
	if (!up)
		(void)vb_ib_port_link_event(&e->port, VB_LINK_LOST, now);
	vb_port_wake(e->line);
}

static void flow_receive(struct vb_ib_end *e, struct vb_frame *f, vb_time now)
{
	/* A lost packet is seen as damaged. */
	if (f->corrupt)
		f->bytes[0] ^= 1;
	vb_ib_port_handle_flow(&e->port, f->bytes, now);
	vb_frame_pool_give(e->pool, f);
	vb_port_wake(e->line);
}

static void buffer_note(struct vb_ib_end *e, uint8_t vl)
{
	uint32_t used = e->port.lane[vl].rx.used;

	if (vl < VB_VL_DATA_MAX && used > e->lane[vl].buffer_max)
		e->lane[vl].buffer_max = used;
}

static enum vb_ib_tail tail_of(const struct vb_frame *f)
{
	return f->ends_bad                ? VB_IB_TAIL_BAD_PACKET
	       : vb_frame_vcrc_is_good(f) ? VB_IB_TAIL_GOOD
					  : VB_IB_TAIL_DAMAGED;
}

bool vb_ib_end_receive(struct vb_ib_end *e, struct vb_frame *f, vb_time now)
{
	enum vb_ib_verdict verdict;
	struct vb_lrh lrh = {.vl = f->prio,
			     .sl = f->path.sl,
			     .lnh = VB_LNH_LOCAL,
			     .dlid = f->path.dlid,
			     .slid = f->path.slid,
			     .words = (uint16_t)((f->frame_len - VB_VCRC_LEN) / 4)};

	if (f->kind == VB_FRAME_FLOW) {
		flow_receive(e, f, now);
		return false;
	}
	verdict = vb_ib_port_receive(&e->port, &lrh, f->frame_len, tail_of(f), now);
	if (verdict == VB_IB_BAD) {
		f->ends_bad = true;
	} else if (verdict != VB_IB_ACCEPTED) {
		vb_frame_pool_give(e->pool, f);
		return false;
	}
	buffer_note(e, f->prio);
	e->multicast_rcv += f->path.dlid >= VB_LID_MULTICAST;
	return true;
}

void vb_ib_end_release(struct vb_ib_end *e, uint8_t vl, uint32_t len, vb_time now)
{
	vb_ib_port_release(&e->port, vl, len, now);
	if (e->port.lane[vl].flow_due <= now)
		vb_port_wake(e->line);
}

void vb_ib_end_put(struct vb_ib_end *e, struct vb_frame *f, uint8_t vl, vb_time now)
{
	VB_ASSERT_ALL(f->kind == VB_FRAME_DATA && vl < VB_VL_CNT);
	vb_port_count_in(e->line, f->frame_len, now);
	f->item.len = f->frame_len;
	f->item.vl = vl;
	f->item.is_raw = false; /* the simulator has none */
	vb_ib_port_enqueue(&e->port, &f->item, now);
	vb_port_wake(e->line);
}

struct vb_frame *vb_ib_end_poll_dropped(struct vb_ib_end *e, vb_time now)
{
	struct vb_ib_item *item = vb_ib_port_poll_dropped(&e->port);
	struct vb_frame *f;

	if (!item)
		return NULL;
	f = vb_ib_frame_of(item);
	vb_port_count_out(e->line, f->frame_len, now);
	e->line->stats.drops++;
	e->line->stats.drop_bytes += f->frame_len;
	return f;
}

static struct vb_frame *flow_frame(struct vb_ib_end *e, const uint8_t packet[VB_FLOW_LEN])
{
	struct vb_frame *f = vb_frame_pool_take(e->pool);

	if (!f)
		return NULL;
	f->kind = VB_FRAME_FLOW;
	e->pool->flow++;
	f->frame_len = VB_FLOW_LEN;
	f->has_payload = false;
	f->corrupt = e->flow_loss_ppm && vb_rng_below(&e->rng, 1000000) < e->flow_loss_ppm;
	memcpy(f->bytes, packet, VB_FLOW_LEN);
	e->flow_sent++;
	return f;
}

/* Without a frame the other end has to be told later. */
static struct vb_frame *flow_send(struct vb_ib_end *e, const uint8_t packet[VB_FLOW_LEN],
				  vb_time now)
{
	struct vb_frame *f = flow_frame(e, packet);

	if (f)
		return f;
	e->line->due = vb_time_after(now, FRAMES_RETRY_NS);
	e->line->more = false;
	vb_ib_port_tell(&e->port, e->line->due);
	return NULL;
}

struct vb_frame *vb_ib_end_poll_transmit(struct vb_ib_end *e, vb_time now)
{
	struct vb_ib_out out;
	struct vb_frame *f;

	if (vb_ib_port_poll_timeout(&e->port) <= now) {
		vb_ib_port_handle_timeout(&e->port, now);
		/* A link that trains again is up at once. LNK-20 */
		(void)vb_ib_port_link_event(&e->port, VB_LINK_RECOVERED, now);
	}
	e->line->more = vb_ib_port_poll_transmit(&e->port, now, &out);
	e->line->due = vb_ib_port_poll_timeout(&e->port);
	if (!e->line->more)
		return NULL;
	if (!out.item)
		return flow_send(e, out.flow, now);
	f = vb_ib_frame_of(out.item);
	f->prio = out.item->vl;
	if (f->prio < VB_VL_DATA_MAX) {
		e->lane[f->prio].tx_pkts++;
		e->lane[f->prio].tx_bytes += f->frame_len;
	}
	e->multicast_xmit += f->path.dlid >= VB_LID_MULTICAST;
	vb_port_count_out(e->line, f->frame_len, now);
	return f;
}
