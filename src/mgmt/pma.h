/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The performance management agent of a node: answers what perfquery and others ask for from the
 * counters that the data path feeds. The effect of Set is noted here; the data path's own counters
 * never go back. Attributes without a source are answered by VB_MAD_STATUS_UNSUPPORTED, not by
 * zeros. Samples of counters take time: the node's holder calls it when they are due.
 * IBA 16.1; items FAB-40 to FAB-44
 */
#ifndef VB_MGMT_PMA_H
#define VB_MGMT_PMA_H

#include "base/time.h"
#include "fabric/ib/port.h"
#include "wire/mad/pma.h"

#include <stdbool.h>
#include <stdint.h>

/* A sample of a port's counters: it waits, then it counts, then it has the result. A node has one
 * at a time, since the result names no port. FAB-44 */
struct vb_pma_sample {
	uint8_t status; /* enum vb_pma_sample_status */
	uint8_t port;
	uint16_t tag, select[VB_PMA_SAMPLES];
	uint32_t start, interval; /* ticks */
	vb_time due;              /* of its beginning or its end */
	/* By enum vb_pma_sampled: the counter at the beginning, and from the end on how much it
	 * grew. */
	uint64_t count[VB_PMA_SAMPLED_END];
};

struct vb_pma_port {
	const struct vb_ib_port *link; /* NULL: port 0 of a switch, which counts nothing */
	/* The owner of the node counts these; they only grow. */
	uint64_t switch_relay_errors;                           /* no way on, or back out */
	uint64_t xmit_constraint_errors, rcv_constraint_errors; /* P_Keys */
	uint64_t multicast_xmit_packets, multicast_rcv_packets; /* of the link's packets */
	uint64_t reported[VB_PMA_ERROR_COUNTERS]; /* errors that somebody says it had, on top */
	/* Of the agent: the data path's count at which each counter was 0. */
	uint64_t zero[VB_PMA_COUNTERS], ext_zero[VB_PMA_EXT_COUNTERS];
};

struct vb_pma_node {
	struct vb_pma_port *port; /* by number: port_cnt + 1 of them */
	uint8_t port_cnt;
	uint8_t resp_time; /* 4.096 us * 2^n */
	struct vb_pma_sample sample;
};

/* Answers a MAD of VB_MAD_CLASS_PERF. True: it is the answer now. False: there is none, since it is
 * neither Get nor Set. */
bool vb_pma_handle(struct vb_pma_node *node, uint8_t mad[VB_MAD_LEN], vb_time now);

/* A counter of PortCounters as a Get would show it if its field were wide enough; 0 of port 0 of a
 * switch, which counts nothing. XmitWait in ticks. */
uint64_t vb_pma_value(const struct vb_pma_port *p, enum vb_pma_counter i);

/* When a sample begins or ends, VB_NEVER: none does. The counters have to be up to date then. */
vb_time vb_pma_poll_timeout(const struct vb_pma_node *node);
void vb_pma_handle_timeout(struct vb_pma_node *node, vb_time now);

#endif
