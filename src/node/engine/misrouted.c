/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets that came to the wrong process of the host. The kernel joins datagrams of one sender to a
 * GSO batch (UDP GRO) and gives all of it to the process that the first packet's QPN names
 * (node/store/group.h). Damage of that number, and senders that use one UDP port for QPs of several
 * processes, bring packets here that have a right ICRC and are for another process. They are
 * handed on to its mailbox, with the path that they came by. A process believes of such a message
 * what it believes of the network, but for the ICRC: the kernel says that the sender is of its own
 * user, and that process has checked it.
 */
#include "node/engine/priv.h"

#include <stdlib.h>
#include <string.h>

/* A packet in a message: this, and its bytes, padded to a multiple of 8. */
struct misrouted_packet {
	struct vb_path path;
	uint32_t len; /* BTH through pad */
};

/* Packets of one port for one process. A message has room for an envelope in front. */
struct vb_misrouted {
	uint32_t slot, cnt;
	size_t len;
	uint8_t port;
	_Alignas(8) uint8_t packets[VB_MAIL_MAX - 64];
};

static size_t packet_bytes(size_t len)
{
	return sizeof(struct misrouted_packet) + (len + 7) / 8 * 8;
}

/* The slot of the process that @rx is for, or 0 where that cannot be another one. */
static uint32_t slot_of_packet(const struct vb_engine *e, const struct vb_rx *rx)
{
	uint32_t dqpn, slot;

	if (rx->avail < VB_BTH_LEN || vb_rx_bytes(rx) != rx->len || vb_path_has_lid(rx->path))
		return 0;
	dqpn = vb_hdr_dqpn(rx->pkt);
	slot = vb_slot_of_qpn(dqpn);
	if (dqpn == VB_QPN_MULTICAST || slot < VB_SLOT_FIRST || slot > VB_SLOT_LAST)
		return 0;
	return slot != e->broker.slot ? slot : 0;
}

void vb_engine_keep_misrouted(struct vb_engine *e, const struct vb_rx *rx)
{
	uint32_t slot = slot_of_packet(e, rx);
	struct misrouted_packet p = {*rx->path, rx->len};
	struct vb_misrouted *m = e->misrouted;

	if (slot == 0 || vb_engine_open_mail(e))
		return;
	if (!m)
		m = e->misrouted = calloc(1, sizeof *m);
	if (!m || packet_bytes(rx->len) > sizeof m->packets)
		return;
	if (m->cnt && (m->slot != slot || m->port != rx->path->port ||
		       m->len + packet_bytes(rx->len) > sizeof m->packets))
		vb_engine_hand_on(e);
	m->slot = slot;
	m->port = rx->path->port;
	memcpy(m->packets + m->len, &p, sizeof p);
	vb_rx_copy(rx, m->packets + m->len + sizeof p);
	m->len += packet_bytes(rx->len);
	m->cnt++;
}

void vb_engine_hand_on(struct vb_engine *e)
{
	struct vb_misrouted *m = e->misrouted;

	if (m->cnt == 0)
		return;
	if (!vb_engine_send_mail(e, m->slot, VB_MAIL_PACKETS, m->packets, m->len))
		vb_count_add(&e->broker.shm->counters[m->port], VB_COUNTER_rx_handed_on, m->cnt);
	m->cnt = m->len = 0;
}

void vb_engine_take_misrouted(struct vb_engine *e, const uint8_t *msg, size_t len, vb_time now)
{
	struct misrouted_packet p;

	while (len >= sizeof p) {
		memcpy(&p, msg, sizeof p);
		if (packet_bytes(p.len) > len || p.path.port == 0 || p.path.port > VB_DEVICES_MAX)
			return;

		struct vb_rx rx = {
		    .pkt = msg + sizeof p, .len = p.len, .avail = p.len, .path = &p.path};

		if (e->cc.marks)
			vb_engine_mark(e, &rx, 1, now);
		(void)vb_hca_handle_packet(e->hca, &rx, now);
		msg += packet_bytes(p.len);
		len -= packet_bytes(p.len);
	}
}
