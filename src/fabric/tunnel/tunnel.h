/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One end of a cable that leads to another host by UDP: whom it believes, whether the other end is
 * there, and whether both ends may bring their link up. It is a machine without a clock: its holder
 * hands it datagrams, and tells it when one of its own periods has gone by. Sending packets, and
 * the port, are the holder's.
 *
 * Each end draws a number. A datagram counts if it names the receiver's number, which only the
 * other end has heard, and if it is later than all before: what comes late was lost. So the order
 * is that of a cable, and a lost packet is what a damaged one is there: the counts of flow control
 * are absolute and heal (LNK-16), and transports repeat. A link has lives: where it goes down at
 * one end, that end begins a new one, and packets of another life than both ends know of are
 * dropped.
 *
 * Silence is counted in periods of the receiver, as IBA 7.9.4 counts symbols: a host that did not
 * run has heard nothing, and missed nothing. Items LNK-16, LNK-20, LNK-31, LNK-35
 */
#ifndef VB_FABRIC_TUNNEL_TUNNEL_H
#define VB_FABRIC_TUNNEL_TUNNEL_H

#include "fabric/ib/lane.h"
#include "wire/ib/tunnel.h"

/* Periods without a flow control packet of a lane until the link has to train again: 400,000
 * symbols are six of 65,536; and without anything until the other end is taken to be gone. */
#define VB_TUNNEL_WATCHDOG 6u
#define VB_TUNNEL_GONE 20u

/* Events for the holder, as bits. */
enum vb_tunnel_event {
	VB_TUNNEL_MET = 1,         /* the other end is there: a new one, or again */
	VB_TUNNEL_LOST = 2,        /* it is gone: the link goes down */
	VB_TUNNEL_RESTARTED = 4,   /* its link went down: so does the one here */
	VB_TUNNEL_SAID = 8,        /* it has said something of itself, t->theirs */
	VB_TUNNEL_FLOW_SILENT = 16 /* the watchdog of a lane. LNK-20 */
};

/* The fate of a datagram, by which it is counted. */
enum vb_tunnel_verdict {
	VB_TUNNEL_COUNTS,    /* what is behind its header is for the holder */
	VB_TUNNEL_MALFORMED, /* it is none of ours */
	VB_TUNNEL_FOREIGN,   /* it does not name the number of this end */
	VB_TUNNEL_LATE,      /* it came behind a later one, or twice */
	VB_TUNNEL_STALE,     /* of another life of the link, or while that is down */
	VB_TUNNEL_VERDICT_CNT
};

struct vb_tunnel {
	uint64_t own, peer;  /* the numbers; @peer 0: none has been heard */
	uint64_t past;       /* the number that the other end had before */
	uint64_t answer_to;  /* a HELLO named a number that is not ours: its sender's number */
	uint64_t seq, heard; /* of the last datagram sent and of the last one that counted */
	uint32_t life, peer_life;
	uint32_t peer_heard_life;            /* of @life */
	uint32_t silent;                     /* periods in which nothing counted */
	uint8_t flow_silent[VB_VL_DATA_MAX]; /* periods without flow control of the lane */
	uint16_t flow_heard;                 /* lanes, as bits, in this period */
	bool is_met;                         /* the other end is there */
	bool is_due;                         /* a HELLO has to leave */
	struct vb_tunnel_hello mine;         /* the holder's to keep up to date */
	struct vb_tunnel_hello theirs;       /* zero until it is said */
	uint64_t cnt[VB_TUNNEL_VERDICT_CNT]; /* datagrams received */
};

/* @own is a random number, not 0. The first HELLO is due. */
void vb_tunnel_init(struct vb_tunnel *t, uint64_t own);

/* The port here went down, but for RESTARTED: the other end has to hear of it before the link may
 * come up. */
void vb_tunnel_new_life(struct vb_tunnel *t);

/* Both ends want a link and know of each other's last life. */
bool vb_tunnel_is_joined(const struct vb_tunnel *t);

/* A period has gone by here. @lanes: of the link, whose flow control is waited for; 0 while it is
 * down. Returns events. */
uint32_t vb_tunnel_tick(struct vb_tunnel *t, uint32_t lanes);

/* A datagram of @len bytes came. With VB_TUNNEL_COUNTS *h is its header. Events are added to
 * *events, and those come before what the datagram says. */
enum vb_tunnel_verdict vb_tunnel_receive(struct vb_tunnel *t, const uint8_t *in, uint32_t len,
					 struct vb_tunnel_hdr *h, uint32_t *events);

/* The header of the next datagram, of @kind, from here. */
void vb_tunnel_head(struct vb_tunnel *t, enum vb_tunnel_kind kind, uint8_t hops,
		    uint8_t out[VB_TUNNEL_HDR_LEN]);

/* A HELLO that has to leave: its VB_TUNNEL_HDR_LEN + VB_TUNNEL_HELLO_LEN bytes. False: none has. */
bool vb_tunnel_poll_hello(struct vb_tunnel *t, uint8_t *out);

#endif
