/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a source of InfiniBand slows down: an index (CCTI) into a table of delays, which each BECN
 * leads further and a timer back. A manager sets the table of a port
 * (wire/mad/subnet/congestion.h), and whether QPs have an index each, or service levels:
 * PortControl bit 0. The delays themselves are made where packets wait: by the core for a QP, by
 * the port for a level. IBA A10.2.2, A10.4.3.7, A10.4.3.8; items FAB-47, FAB-48
 */
#ifndef VB_WIRE_CCT_H
#define VB_WIRE_CCT_H

#include "base/time.h"

#include <stdbool.h>
#include <stdint.h>

#define VB_CCT_LEN 128u
#define VB_CCT_SHIFT 14 /* of an entry: two bits of shift, then the multiplier */
#define VB_CCT_LEVELS 16u

/* Of a service level. */
struct vb_cct_level {
	vb_dur timer;       /* from one step back to the next; 0: there is none */
	uint16_t increase;  /* of the index, by a BECN */
	uint16_t index_min; /* where the timer leads it, up to the limit */
	uint16_t trigger;   /* an index from here on is an event; 0: none is */
};

/* Of a port. */
struct vb_cct {
	bool by_qp;                 /* each QP has its index; else each service level has one */
	uint16_t limit;             /* of indices, below VB_CCT_LEN */
	uint16_t entry[VB_CCT_LEN]; /* injection delay: times of the packet * multiplier >> shift */
	struct vb_cct_level level[VB_CCT_LEVELS];
};

/* An index as it was at an instant. */
struct vb_ccti {
	uint16_t index;
	vb_time since; /* the timer's last step */
};

/* The index now, by the rules of service level @sl. */
uint16_t vb_ccti_at(struct vb_ccti *i, const struct vb_cct *t, uint8_t sl, vb_time now);
/* A BECN has come. True: the index has come to its trigger. */
bool vb_ccti_becn(struct vb_ccti *i, const struct vb_cct *t, uint8_t sl, vb_time now);
/* For so long nothing is injected behind a packet that takes the line for @packet, that time
 * included. */
vb_dur vb_cct_delay(const struct vb_cct *t, uint16_t index, vb_dur packet);

#endif
