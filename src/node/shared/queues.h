/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the queues of a process are that are as hardware has them (verbs/ring/), for a reader that
 * looks at them from outside: a table in memory of the process that another one can map. Addresses
 * are the process's. Everything here is the process's word.
 */
#ifndef VB_NODE_SHARED_QUEUES_H
#define VB_NODE_SHARED_QUEUES_H

#include <stdint.h>

#define VB_QUEUES_MAX 512u
#define VB_QUEUES_MAGIC 0x51426e62u

/* A completion queue, whose doorbell record says how far it was read. */
struct vb_queue_cq {
	uint64_t entries, record;
	uint32_t cnt, entry_bytes;
	uint32_t compresses; /* there may be compressed blocks */
	uint32_t rsv;
};

struct vb_queue_entry {
	uint32_t qpn;  /* 0: free; stored last */
	uint32_t type; /* enum vb_qp_type */
	uint64_t sq, rq, record;
	uint32_t sq_cnt, rq_cnt, rq_stride;
	uint32_t is_raw; /* the program writes into them */
	/* How far the adapter has read: blocks, and receives. */
	uint16_t sq_seen, rq_seen;
	uint32_t rsv;
	struct vb_queue_cq send_cq, recv_cq;
	/* Of the SRQ, if it has one. */
	uint64_t srq, srq_record;
	uint32_t srq_cnt, srq_stride;
};

struct vb_queues {
	uint32_t magic, cnt;
	struct vb_queue_entry entry[VB_QUEUES_MAX];
};

#endif
