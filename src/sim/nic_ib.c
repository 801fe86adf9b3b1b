/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An adapter at an InfiniBand link: packets that come leave the lane's buffer at once, and packets
 * of the core go into the lane of its service level. It fetches more only while nothing that
 * waits has credits. See nic.h.
 */
#include "sim/nic.h"

#include "base/assert.h"

/* The ICRC is bad behind a good VCRC: a switch has damaged it. Nobody answers. LNK-10 */
static void damaged_note(struct vb_nic *nic)
{
	nic->ib->port.counters.rcv_errors++;
	vb_count(&nic->counters, VB_COUNTER_rx_icrc_encapsulated);
	vb_count(&nic->counters, VB_COUNTER_port_rcv_errors);
}

/* With congestion control: the core answers marks, and a BECN for a QP that takes it slows down. A
 * forged one changes nothing. FAB-47 */
static void congested_take(struct vb_nic *nic, struct vb_frame *f, vb_time now)
{
	enum vb_verdict v;

	vb_ib_mark_path(f);
	v = vb_nic_frame_take(nic, f, now);
	if (!vb_ib_has_becn(f))
		return;
	if (v == VB_VERDICT_OK)
		vb_ib_source_becn(nic->ib->source, nic->ib->cct, f, now);
	else
		nic->ib->source->strays++;
}

static void packet_take(struct vb_nic *nic, struct vb_frame *f, vb_time now)
{
	if (!vb_frame_is_whole(f))
		damaged_note(nic);
	else if (nic->ib->source)
		congested_take(nic, f, now);
	else
		(void)vb_nic_frame_take(nic, f, now);
	vb_ib_end_release(nic->ib, f->prio, f->frame_len, now);
	vb_frame_pool_give(nic->group->pool, f);
}

static void dropped_take(struct vb_nic *nic, vb_time now)
{
	struct vb_frame *f;

	while ((f = vb_ib_end_poll_dropped(nic->ib, now)) != NULL) {
		VB_ASSERT_ALL(nic->staged > 0);
		nic->staged--;
		vb_frame_pool_give(nic->group->pool, f);
	}
}

static void packet_put(struct vb_nic *nic, struct vb_frame *f, vb_time now)
{
	const struct vb_nic_group *g = nic->group;
	const struct vb_sl2vl *map = g->sl2vl + (nic->address - g->address) * g->sl2vl_step;
	int vl = vb_sl2vl_lane(map, f->path.sl, nic->ib->port.config.data_cnt);

	if (vl < 0) {
		nic->ib->port.counters.xmit_discards++;
		nic->staged--;
		vb_frame_pool_give(nic->group->pool, f);
		return;
	}
	vb_ib_end_put(nic->ib, f, (uint8_t)vl, now);
	dropped_take(nic, now);
}

/* Puts packets whose time has come into their lanes. */
static void held_put(struct vb_nic *nic, vb_time now)
{
	struct vb_frame *f;

	while ((f = vb_ib_source_take(nic->ib->source, nic->ib->cct, nic->port->rate_bps, now,
				      &nic->ib->inject_at)) != NULL)
		packet_put(nic, f, now);
}

/* From the core into a lane, by way of the source where that delays packets. */
static void packet_inject(struct vb_nic *nic, struct vb_frame *f, vb_time now)
{
	nic->staged++;
	if (!nic->ib->source) {
		packet_put(nic, f, now);
		return;
	}
	vb_ib_source_put(nic->ib->source, f);
	held_put(nic, now);
}

static struct vb_frame *frame_next(struct vb_nic *nic, vb_time now)
{
	struct vb_frame *f, *fetched;

	if (nic->ib->source)
		held_put(nic, now);
	f = vb_ib_end_poll_transmit(nic->ib, now);
	while (!f && vb_nic_may_fetch(nic) && nic->ib->port.state == VB_LINK_ACTIVE &&
	       !nic->group->pool->ran_out) {
		fetched = vb_nic_fetch(nic, now);
		if (!fetched)
			break;
		packet_inject(nic, fetched, now);
		f = vb_ib_end_poll_transmit(nic->ib, now);
	}
	dropped_take(nic, now);
	if (f && f->kind == VB_FRAME_DATA)
		nic->staged--;
	if (nic->ib->source)
		nic->port->due = vb_time_min(nic->port->due, nic->ib->inject_at);
	return f;
}

void vb_nic_set_link(struct vb_nic *nic, bool up, vb_time now)
{
	vb_ib_end_set_link(nic->ib, up, now);
	dropped_take(nic, now);
}

static struct vb_nic *nic_of(struct vb_machine *m)
{
	return (struct vb_nic *)m;
}

static void machine_handle_packet(struct vb_machine *m, uint32_t port, struct vb_frame *f,
				  vb_time now)
{
	(void)port;
	if (vb_ib_end_receive(nic_of(m)->ib, f, now))
		packet_take(nic_of(m), f, now);
}

static struct vb_frame *machine_poll_transmit(struct vb_machine *m, uint32_t port, vb_time now)
{
	(void)port;
	return frame_next(nic_of(m), now);
}

static vb_time machine_poll_timeout(const struct vb_machine *m)
{
	return vb_nic_poll_timeout((const struct vb_nic *)m);
}

static void machine_handle_timeout(struct vb_machine *m, vb_time now)
{
	vb_nic_handle_timeout(nic_of(m), now);
}

static const struct vb_machine_ops nic_ops = {
    .handle_packet = machine_handle_packet,
    .poll_transmit = machine_poll_transmit,
    .poll_timeout = machine_poll_timeout,
    .handle_timeout = machine_handle_timeout,
    .expect = vb_machine_no_expect,
};

void vb_nic_set_infiniband(struct vb_nic *nic, struct vb_ib_end *ib)
{
	nic->ib = ib;
	nic->machine.ops = &nic_ops;
}
