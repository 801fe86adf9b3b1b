/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an adapter is plugged into. A driver frames packets and checks their ICRC; middleware
 * (fault, capture) implements the same table and forwards to the link below it.
 */
#ifndef VB_LINK_LINK_H
#define VB_LINK_LINK_H

#include "base/time.h"
#include "wire/packet.h"

struct vb_link;

struct vb_link_ops {
	const char *name;

	/*
	 * Sends the packets of @batch from index @from on, in order. Returns how many were taken:
	 * fewer than there are only when the link is full for now (the caller offers the rest
	 * again later). A packet that can never be sent (no route, too long) is taken and counted
	 * as a discard. The batch is borrowed for the call.
	 */
	uint32_t (*send)(struct vb_link *l, const struct vb_tx_batch *batch, uint32_t from,
			 vb_time now);

	/*
	 * Receives up to @cnt packets, ICRC checked, without waiting. What @rx points to stays
	 * valid until the next call of recv.
	 */
	uint32_t (*recv)(struct vb_link *l, struct vb_rx *rx, uint32_t cnt, vb_time now);

	/* File descriptor that is readable when recv has packets, or -1. */
	int (*fd)(const struct vb_link *l);

	/*
	 * Whether recv has packets that the descriptor does not show; NULL: never.
	 */
	bool (*has_packets)(const struct vb_link *l);

	/*
	 * With @on, the caller is about to wait for the descriptor alone, until it says that it no
	 * longer does. It asks has_packets in between: what comes later, the descriptor shows.
	 * NULL: it always does.
	 */
	void (*doze)(struct vb_link *l, bool on);

	/*
	 * For middleware that decides about received packets: with @on they are not shown to the
	 * tap until tap_received is called for packet @i, @rx, of the last recv, with what became
	 * of it (link/middle/fault.h). NULL: nobody taps here.
	 */
	void (*tap_later)(struct vb_link *l, bool on);
	void (*tap_received)(struct vb_link *l, uint32_t i, const struct vb_rx *rx, uint16_t mark);

	/* Ends the link and frees it, and the links below it. */
	void (*close)(struct vb_link *l);
};

struct vb_link {
	const struct vb_link_ops *ops;
	struct vb_link *lower; /* NULL at the bottom */
	/* recv has to be called by then, whatever the descriptor says; VB_NEVER: it tells all. */
	vb_time due;
};

static inline bool vb_link_has_packets(const struct vb_link *l)
{
	return l->ops->has_packets && l->ops->has_packets(l);
}

static inline void vb_link_doze(struct vb_link *l, bool on)
{
	if (l->ops->doze)
		l->ops->doze(l, on);
}

#endif
