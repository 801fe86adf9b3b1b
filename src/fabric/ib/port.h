/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A port of an InfiniBand link: lanes with queues, credits and arbitration, the flow control
 * packets of its own end, and the counters that its data path feeds. It is a machine as others
 * here: packets go in and out, time is an argument, and it knows no other machine. IBA 7.6
 * to 7.9, 18.2.5.4; items LNK-10 to LNK-31, LNK-36, LNK-38 to LNK-40
 *
 * Its owner, a channel adapter, a switch or a router, puts packets in with vb_ib_port_enqueue() and
 * takes what leaves with vb_ib_port_poll_transmit() whenever the line is free. A packet from the
 * line passes vb_ib_port_receive(); if accepted, it lies in the buffer of its lane until the owner
 * gives the room back.
 */
#ifndef VB_FABRIC_IB_PORT_H
#define VB_FABRIC_IB_PORT_H

#include "base/time.h"
#include "fabric/ib/arbiter.h"
#include "fabric/ib/credit.h"
#include "fabric/ib/item.h"
#include "fabric/ib/lane.h"
#include "fabric/ib/link_state.h"
#include "wire/ib/flow.h"
#include "wire/ib/lrh.h"

#include <stdbool.h>
#include <stdint.h>

/* A management packet on VL15: LRH, BTH, DETH, MAD, ICRC, VCRC. LNK-13 */
#define VB_SMP_LEN 290

/* HOQLife and LifeTimeValue: larger values mean no limit. LNK-27, LNK-29 */
#define VB_HOQ_LIFE_MAX 19

/* The time that such a value stands for; VB_NEVER: no limit. */
static inline vb_dur vb_ib_life(uint8_t value)
{
	return value > VB_HOQ_LIFE_MAX ? VB_NEVER : UINT64_C(4096) << value;
}

struct vb_ib_counters {
#define COUNTER(name, meaning) uint64_t name;
#include "fabric/ib/counter.def"
#undef COUNTER
};

struct vb_ib_port_config {
	uint32_t mtu;                 /* payload that the neighbour takes, 256 to 4096 bytes */
	uint32_t mtu_cap;             /* that the port itself takes; 0: @mtu. LNK-36 */
	uint32_t data_cnt;            /* operational data lanes: 1, 2, 4, 8 or 15 */
	uint32_t capacity[VB_VL_CNT]; /* buffer of each lane at the input, blocks */
	uint64_t symbol_ps;           /* vb_ib_symbol_ps() of the link */
	uint8_t hoq_life;             /* 4.096 us * 2^n at the head of a lane; of switches only */
	uint8_t stall_count;          /* VLStallCount, 0: lanes are never stalled */
	vb_dur lifetime; /* of a packet in the switch, vb_ib_life(); 0: no limit. LNK-29 */
	bool is_switch;
	/* The port's owner sends a packet on before it has all of it. A packet with a bad end has
	 * begun to leave then, and leaves with the end of a bad one. LNK-40 */
	bool cuts_through;
	bool filter_raw_in, filter_raw_out; /* LNK-04 */
	/* Nothing is lost between the two ends: a limit is told once and not in each period, and
	 * silence is no error. */
	bool line_is_sure;
	/* LocalPhyErrors and OverrunErrors of PortInfo, 0: off. IBA 7.12.2; FAB-33 */
	uint8_t local_errors, overrun_errors;
};

struct vb_ib_lane {
	struct vb_list queue; /* struct vb_ib_item, the head leaves first */
	struct vb_credit_tx tx;
	struct vb_credit_rx rx;
	vb_time head_since;    /* when the head became the head */
	vb_time stalled_until; /* packets are dropped until then */
	vb_time flow_due;      /* of our next flow control packet */
	vb_time flow_heard;    /* when the neighbour's last one came */
	uint16_t limit_told;   /* credit limit of our last one */
	uint8_t drops;         /* at the head, one after the other */
};

struct vb_ib_port {
	struct vb_ib_port_config config;
	uint8_t state; /* enum vb_link_state */
	struct vb_ib_lane lane[VB_VL_CNT];
	struct vb_arbiter arbiter;
	struct vb_list dropped;  /* packets that the owner has to take back */
	vb_time waits_since;     /* VB_NEVER: nothing waits for credits */
	uint8_t physical_errors; /* packets that came damaged, less those that came whole */
	uint8_t overrun_periods; /* one after the other with an overrun... */
	uint64_t overrun_last;   /* ... of which this was the last, by its number + 1 */
	struct vb_ib_counters counters;
};

/* A packet that leaves the port. */
struct vb_ib_out {
	struct vb_ib_item *item; /* a packet; NULL: a flow control packet */
	uint8_t flow[VB_FLOW_LEN];
};

/* How a packet ended. IBA 7.3, 7.8.1 */
enum vb_ib_tail {
	VB_IB_TAIL_DAMAGED, /* its VCRC is bad: this line did it */
	VB_IB_TAIL_GOOD,
	VB_IB_TAIL_BAD_PACKET, /* with the end-bad-packet delimiter: a line further back did it */
};

enum vb_ib_verdict {
	VB_IB_ACCEPTED, /* the packet lies in its lane's buffer */
	VB_IB_BAD,      /* it does too, and has to leave with the end of a bad packet */
	VB_IB_ERROR,    /* rcv_errors, or remote_physical_errors */
	VB_IB_FILTERED, /* rcv_filtered */
	VB_IB_STATE,    /* rcv_discards */
	VB_IB_NO_ROOM,  /* vl15_dropped or buffer_overruns */
};

/* Begins with the link down, no packets, no arbitration tables. The configuration is copied. */
void vb_ib_port_init(struct vb_ib_port *p, const struct vb_ib_port_config *config);

/* Sets the number of operational data lanes. New lanes begin without credits. */
void vb_ib_port_set_lanes(struct vb_ib_port *p, uint32_t data_cnt, vb_time now);

/* Something happens to the link. -EINVAL: not in this state. When it goes down, credits are
 * forgotten and what waits is dropped; when it has trained, flow control begins. */
int vb_ib_port_link_event(struct vb_ib_port *p, enum vb_link_event event, vb_time now);

/* Tells the other end, which may have missed it, how much room there is, at once. */
void vb_ib_port_tell(struct vb_ib_port *p, vb_time now);

/* Puts a packet behind the others of its lane, or among the dropped ones. */
void vb_ib_port_enqueue(struct vb_ib_port *p, struct vb_ib_item *item, vb_time now);

/* A packet that was dropped at the output, NULL: none is left. The owner has it again. */
struct vb_ib_item *vb_ib_port_poll_dropped(struct vb_ib_port *p);

/* The next packet for the line; the owner has it again. False: nothing may leave now. */
bool vb_ib_port_poll_transmit(struct vb_ib_port *p, vb_time now, struct vb_ib_out *out);

/* A packet of @len bytes came, with this LRH. */
enum vb_ib_verdict vb_ib_port_receive(struct vb_ib_port *p, const struct vb_lrh *lrh, uint32_t len,
				      enum vb_ib_tail tail, vb_time now);
/* A packet of @len bytes has left the buffer of its lane @vl. */
void vb_ib_port_release(struct vb_ib_port *p, uint8_t vl, uint32_t len, vb_time now);

/* A flow control packet came. */
void vb_ib_port_handle_flow(struct vb_ib_port *p, const uint8_t packet[VB_FLOW_LEN], vb_time now);

/* When vb_ib_port_handle_timeout() is due, VB_NEVER: not while nothing happens. */
vb_time vb_ib_port_poll_timeout(const struct vb_ib_port *p);
/* Flow control packets become due, old packets are dropped, a silent neighbour is noticed. */
void vb_ib_port_handle_timeout(struct vb_ib_port *p, vb_time now);

#endif
