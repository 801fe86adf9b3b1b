/* SPDX-License-Identifier: BSD-2-Clause */
/* The port of an InfiniBand link, see port.h. IBA 7.6 to 7.9, 18.2.5.4 */
#include "fabric/ib/port.h"

#include "base/assert.h"
#include <assert.h>
#include <errno.h>
#include <string.h>

/* Symbols between flow control packets of a lane at most, and without one until the link trains
 * again. LNK-19, LNK-20 */
#define FLOW_PERIOD_SYMBOLS 65536u
#define FLOW_WATCHDOG_SYMBOLS 400000u
/* A stalled lane drops its packets for so many lives of a head of queue. LNK-28 */
#define STALL_LIVES 8
/* Headers, ICRC and VCRC beside the payload. */
#define OVERHEAD_MAX (31 * 4 + VB_VCRC_LEN)

static vb_dur symbols_ns(const struct vb_ib_port *p, uint32_t symbols)
{
	return symbols * p->config.symbol_ps / 1000;
}

static vb_dur head_life(const struct vb_ib_port *p)
{
	return p->config.is_switch ? vb_ib_life(p->config.hoq_life) : VB_NEVER;
}

/* When the switch gives up a packet. LNK-29 */
static vb_time item_ends(const struct vb_ib_port *p, const struct vb_ib_item *item)
{
	if (!p->config.is_switch || p->config.lifetime == 0)
		return VB_NEVER;
	return vb_time_after(item->came, p->config.lifetime);
}

static struct vb_ib_item *lane_head(const struct vb_ib_lane *l)
{
	return vb_list_is_empty(&l->queue)
		   ? NULL
		   : vb_container_of(l->queue.next, struct vb_ib_item, node);
}

static struct vb_ib_item *lane_pop(struct vb_ib_lane *l, vb_time now)
{
	struct vb_ib_item *item = lane_head(l);

	VB_ASSERT_ALL(item != NULL);
	vb_list_remove(&item->node);
	l->head_since = now;
	return item;
}

/* The owner takes it back. */
static void item_give_back(struct vb_ib_port *p, struct vb_ib_item *item)
{
	vb_list_append(&p->dropped, &item->node);
}

static void item_drop(struct vb_ib_port *p, struct vb_ib_item *item)
{
	p->counters.xmit_discards++;
	item_give_back(p, item);
}

static void lane_flush(struct vb_ib_port *p, struct vb_ib_lane *l, vb_time now)
{
	while (!vb_list_is_empty(&l->queue))
		item_drop(p, lane_pop(l, now));
}

void vb_ib_port_init(struct vb_ib_port *p, const struct vb_ib_port_config *config)
{
	assert(config->data_cnt >= 1 && config->data_cnt <= VB_VL_DATA_MAX);
	assert(config->mtu >= 256 && config->mtu <= 4096 && config->symbol_ps != 0);
	*p = (struct vb_ib_port){.config = *config, .state = VB_LINK_DOWN, .waits_since = VB_NEVER};
	vb_list_init(&p->dropped);
	for (unsigned vl = 0; vl < VB_VL_CNT; vl++) {
		vb_list_init(&p->lane[vl].queue);
		p->lane[vl].rx.capacity = config->capacity[vl];
	}
}

/* Credits begin at zero on lanes @from to @to - 1, and so do the times of flow control. LNK-18 */
static void flow_begin(struct vb_ib_port *p, uint32_t from, uint32_t to, vb_time now)
{
	for (uint32_t vl = from; vl < to; vl++) {
		struct vb_ib_lane *l = &p->lane[vl];

		l->tx = (struct vb_credit_tx){0};
		l->rx.abr = 0;
		l->flow_due = l->flow_heard = now;
	}
}

/* Counts go on where a link recovers, for its other end may not have noticed; each end tells the
 * other at once. IBA 7.2.7.5 */
void vb_ib_port_tell(struct vb_ib_port *p, vb_time now)
{
	for (uint32_t vl = 0; vl < p->config.data_cnt; vl++)
		p->lane[vl].flow_due = p->lane[vl].flow_heard = now;
}

void vb_ib_port_set_lanes(struct vb_ib_port *p, uint32_t data_cnt, vb_time now)
{
	assert(data_cnt >= 1 && data_cnt <= VB_VL_DATA_MAX);
	flow_begin(p, p->config.data_cnt, data_cnt, now);
	for (uint32_t vl = data_cnt; vl < p->config.data_cnt; vl++)
		lane_flush(p, &p->lane[vl], now);
	p->config.data_cnt = data_cnt;
}

int vb_ib_port_link_event(struct vb_ib_port *p, enum vb_link_event event, vb_time now)
{
	uint8_t before = p->state;
	int rc = vb_link_state_change(&p->state, event);

	if (rc || p->state == before)
		return rc;
	if (event == VB_LINK_TRAINED)
		flow_begin(p, 0, p->config.data_cnt, now);
	if (event == VB_LINK_RECOVERED)
		vb_ib_port_tell(p, now);
	if (event == VB_LINK_RECOVERY)
		p->counters.link_error_recovery++;
	if (p->state == VB_LINK_DOWN) {
		p->counters.link_downed++;
		for (unsigned vl = 0; vl < VB_VL_CNT; vl++)
			lane_flush(p, &p->lane[vl], now);
	}
	return 0;
}

void vb_ib_port_enqueue(struct vb_ib_port *p, struct vb_ib_item *item, vb_time now)
{
	struct vb_ib_lane *l = &p->lane[item->vl & (VB_VL_CNT - 1)];
	bool mgmt = item->vl == VB_VL_MGMT;

	if (item->is_raw && p->config.filter_raw_out) {
		p->counters.xmit_filtered++;
		item_give_back(p, item);
		return;
	}
	/* Data waits for a link that becomes active, or recovers, and for no other. LNK-30, LNK-36
	 */
	if ((!mgmt && (item->vl >= p->config.data_cnt || p->state < VB_LINK_ARMED)) ||
	    p->state == VB_LINK_DOWN || item->len > p->config.mtu + OVERHEAD_MAX ||
	    l->stalled_until > now) {
		item_drop(p, item);
		return;
	}
	if (vb_list_is_empty(&l->queue))
		l->head_since = now;
	item->came = now;
	vb_list_append(&l->queue, &item->node);
}

struct vb_ib_item *vb_ib_port_poll_dropped(struct vb_ib_port *p)
{
	struct vb_list *n = p->dropped.next;

	if (vb_list_is_empty(&p->dropped))
		return NULL;
	vb_list_remove(n);
	return vb_container_of(n, struct vb_ib_item, node);
}

/*
 * True when the neighbour may send so much more than it was told that it is told at once: room for
 * a packet, or less where the buffer is so small that a packet would have to wait for it. LNK-19
 */
static bool limit_grew(const struct vb_ib_port *p, const struct vb_ib_lane *l)
{
	uint32_t grown = (vb_credit_limit(&l->rx) - l->limit_told) & (VB_FLOW_MODULUS - 1);
	uint32_t packet = vb_blocks(p->config.mtu + OVERHEAD_MAX);
	uint32_t spare = l->rx.capacity > packet ? l->rx.capacity - packet : 1;

	return grown >= (spare < packet ? spare : packet);
}

static bool poll_flow(struct vb_ib_port *p, vb_time now, struct vb_ib_out *out)
{
	for (unsigned vl = 0; vl < p->config.data_cnt; vl++) {
		struct vb_ib_lane *l = &p->lane[vl];

		if (l->flow_due > now)
			continue;
		l->flow_due =
		    p->config.line_is_sure ? VB_NEVER : now + symbols_ns(p, FLOW_PERIOD_SYMBOLS);
		l->limit_told = vb_credit_limit(&l->rx);
		vb_flow_emit(&(struct vb_flow_packet){.op = p->state == VB_LINK_INIT
								? VB_FLOW_INIT
								: VB_FLOW_NORMAL,
						      .vl = (uint8_t)vl,
						      .fctbs = l->tx.fctbs,
						      .fccl = l->limit_told},
			     out->flow);
		out->item = NULL;
		return true;
	}
	return false;
}

static void item_leaves(struct vb_ib_port *p, struct vb_ib_item *item, struct vb_ib_out *out)
{
	p->counters.xmit_packets++;
	VB_ASSERT_ALL(item->len >= VB_VCRC_LEN &&
		      vb_link_may_send(p->state, item->vl != VB_VL_MGMT));
	p->counters.xmit_data += (item->len - VB_VCRC_LEN) / 4;
	out->item = item;
}

/* Lanes whose head has the credits that it needs. */
static uint16_t lanes_ready(const struct vb_ib_port *p, bool *waits)
{
	uint16_t ready = 0;

	*waits = false;
	for (unsigned vl = 0; vl < p->config.data_cnt; vl++) {
		const struct vb_ib_item *head = lane_head(&p->lane[vl]);

		if (head == NULL)
			continue;
		*waits = true;
		if (vb_credit_may_send(&p->lane[vl].tx, vb_blocks(head->len)))
			ready |= (uint16_t)(1u << vl);
	}
	return ready;
}

static bool poll_data(struct vb_ib_port *p, vb_time now, struct vb_ib_out *out)
{
	struct vb_arb_choice choice;
	struct vb_ib_lane *l;
	bool waits;
	uint16_t ready = lanes_ready(p, &waits);

	if (!vb_arbiter_choose(&p->arbiter, ready, &choice)) {
		if (!waits)
			p->waits_since = VB_NEVER;
		else if (p->waits_since == VB_NEVER)
			p->waits_since = now;
		return false;
	}
	if (p->waits_since != VB_NEVER)
		p->counters.xmit_wait_ns += vb_time_since(p->waits_since, now);
	p->waits_since = VB_NEVER;
	l = &p->lane[choice.vl];
	VB_ASSERT_ALL(choice.vl < p->config.data_cnt && (ready >> choice.vl & 1));
	out->item = lane_pop(l, now);
	vb_credit_send(&l->tx, vb_blocks(out->item->len));
	vb_arbiter_sent(&p->arbiter, &choice, vb_blocks(out->item->len), ready);
	l->drops = 0;
	item_leaves(p, out->item, out);
	return true;
}

bool vb_ib_port_poll_transmit(struct vb_ib_port *p, vb_time now, struct vb_ib_out *out)
{
	struct vb_ib_lane *mgmt = &p->lane[VB_VL_MGMT];

	if (!vb_link_may_send(p->state, false))
		return false;
	if (poll_flow(p, now, out))
		return true;
	if (lane_head(mgmt) != NULL) {
		item_leaves(p, lane_pop(mgmt, now), out);
		return true;
	}
	return vb_link_may_send(p->state, true) && poll_data(p, now, out);
}

/*
 * The line damaged a packet, or brought one whole. Where damaged ones outnumber the others by more
 * than LocalPhyErrors, that is an error of the link, and counting begins again. IBA 7.12.2, LNK-39
 */
static void line_note(struct vb_ib_port *p, bool is_damaged)
{
	p->counters.symbol_errors += is_damaged;
	if (!is_damaged) {
		p->physical_errors -= p->physical_errors != 0;
		return;
	}
	if (p->config.local_errors == 0 || ++p->physical_errors <= p->config.local_errors)
		return;
	p->physical_errors = 0;
	p->counters.link_integrity_errors++;
}

/* A packet found no room: one of the period. So many periods in a row as OverrunErrors says are
 * one error of the link. IBA 16.1.3.5, LNK-21 */
static void overrun_note(struct vb_ib_port *p, vb_time now)
{
	uint64_t period = now / symbols_ns(p, FLOW_PERIOD_SYMBOLS) + 1;

	p->counters.buffer_overruns++;
	if (p->config.overrun_errors == 0 || period == p->overrun_last)
		return;
	p->overrun_periods = period == p->overrun_last + 1 ? p->overrun_periods + 1 : 1;
	p->overrun_last = period;
	if (p->overrun_periods < p->config.overrun_errors)
		return;
	p->overrun_periods = 0;
	p->counters.excessive_overruns++;
}

/* The packet has a form that this link carries. LNK-02, LNK-12, LNK-13, LNK-36 */
static bool packet_is_good(const struct vb_ib_port *p, const struct vb_lrh *lrh, uint32_t len)
{
	uint32_t mtu = p->config.mtu_cap ? p->config.mtu_cap : p->config.mtu;

	if (vb_lrh_check(lrh, len, mtu) != VB_LRH_GOOD)
		return false;
	if (lrh->vl == VB_VL_MGMT)
		return lrh->lnh == VB_LNH_LOCAL && len == VB_SMP_LEN;
	return lrh->vl < p->config.data_cnt;
}

enum vb_ib_verdict vb_ib_port_receive(struct vb_ib_port *p, const struct vb_lrh *lrh, uint32_t len,
				      enum vb_ib_tail tail, vb_time now)
{
	bool data = lrh->vl != VB_VL_MGMT, is_good = tail == VB_IB_TAIL_GOOD, has_form;

	if (!vb_link_may_receive(p->state, data)) {
		p->counters.rcv_discards++;
		return VB_IB_STATE;
	}
	line_note(p, tail == VB_IB_TAIL_DAMAGED);
	if (is_good && p->config.filter_raw_in && vb_lnh_is_raw(lrh->lnh)) {
		p->counters.rcv_filtered++;
		return VB_IB_FILTERED;
	}
	has_form = packet_is_good(p, lrh, len);
	if (tail == VB_IB_TAIL_BAD_PACKET)
		p->counters.remote_physical_errors++;
	else if (!is_good || !has_form)
		p->counters.rcv_errors++;
	if (!has_form || !(is_good || p->config.cuts_through))
		return VB_IB_ERROR;
	if (!vb_credit_receive(&p->lane[lrh->vl].rx, vb_blocks(len))) {
		if (data)
			overrun_note(p, now);
		else
			p->counters.vl15_dropped++;
		return VB_IB_NO_ROOM;
	}
	if (!is_good)
		return VB_IB_BAD;
	p->counters.rcv_packets++;
	p->counters.rcv_data += lrh->words;
	if (data && p->state == VB_LINK_ARMED)
		(void)vb_ib_port_link_event(p, VB_LINK_DATA_CAME, now);
	return VB_IB_ACCEPTED;
}

void vb_ib_port_release(struct vb_ib_port *p, uint8_t vl, uint32_t len, vb_time now)
{
	struct vb_ib_lane *l = &p->lane[vl];

	vb_credit_release(&l->rx, vb_blocks(len));
	if (vl < p->config.data_cnt && limit_grew(p, l))
		l->flow_due = vb_time_min(l->flow_due, now);
}

void vb_ib_port_handle_flow(struct vb_ib_port *p, const uint8_t packet[VB_FLOW_LEN], vb_time now)
{
	struct vb_flow_packet f;
	int rc = vb_flow_parse(&f, packet);

	if (!vb_link_may_receive(p->state, false))
		return;
	line_note(p, rc == -EBADMSG);
	if (rc == -EBADMSG) {
		p->counters.local_link_errors++;
		return;
	}
	if (rc || f.vl >= p->config.data_cnt) {
		p->counters.flow_unknown++;
		return;
	}
	vb_credit_adjust(&p->lane[f.vl].rx, f.fctbs);
	vb_credit_set_limit(&p->lane[f.vl].tx, f.fccl);
	p->lane[f.vl].flow_heard = now;
}

/* When a lane has heard nothing for too long. LNK-20 */
static vb_time silence_begins(const struct vb_ib_port *p, const struct vb_ib_lane *l)
{
	return p->config.line_is_sure
		   ? VB_NEVER
		   : vb_time_after(l->flow_heard, symbols_ns(p, FLOW_WATCHDOG_SYMBOLS));
}

vb_time vb_ib_port_poll_timeout(const struct vb_ib_port *p)
{
	vb_time t = VB_NEVER;

	if (!vb_link_may_send(p->state, false))
		return t;
	for (unsigned vl = 0; vl < p->config.data_cnt; vl++) {
		const struct vb_ib_lane *l = &p->lane[vl];

		t = vb_time_min(t, l->flow_due);
		t = vb_time_min(t, silence_begins(p, l));
		if (lane_head(l) == NULL)
			continue;
		t = vb_time_min(t, vb_time_after(l->head_since, head_life(p)));
		t = vb_time_min(t, item_ends(p, lane_head(l)));
	}
	return t;
}

/* Packets that have been in the switch for too long; the first of a lane is the oldest. LNK-29 */
static void lane_age(struct vb_ib_port *p, struct vb_ib_lane *l, vb_time now)
{
	while (lane_head(l) != NULL && item_ends(p, lane_head(l)) <= now)
		item_drop(p, lane_pop(l, now));
}

/* Drops the head of a lane that is too old, and stalls a lane that dropped several. LNK-27, 28 */
static void head_expires(struct vb_ib_port *p, struct vb_ib_lane *l, vb_time now)
{
	item_drop(p, lane_pop(l, now));
	if (p->config.stall_count == 0 || ++l->drops < p->config.stall_count)
		return;
	l->drops = 0;
	l->stalled_until = vb_time_after(now, STALL_LIVES * head_life(p));
	lane_flush(p, l, now);
}

void vb_ib_port_handle_timeout(struct vb_ib_port *p, vb_time now)
{
	bool silent = false;

	for (unsigned vl = 0; vl < p->config.data_cnt; vl++) {
		struct vb_ib_lane *l = &p->lane[vl];

		lane_age(p, l, now);
		if (lane_head(l) != NULL && vb_time_after(l->head_since, head_life(p)) <= now)
			head_expires(p, l, now);
		silent |= silence_begins(p, l) <= now;
	}
	if (!silent)
		return;
	/* Only an active link recovers; one that begins waits on. LNK-20 */
	if (vb_ib_port_link_event(p, VB_LINK_RECOVERY, now) == 0) {
		p->counters.flow_silences++;
		return;
	}
	for (unsigned vl = 0; vl < p->config.data_cnt; vl++)
		p->lane[vl].flow_heard = now;
}
