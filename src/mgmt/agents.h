/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The agents that programs register at one port, and the open files that own them: what stands
 * behind /dev/infiniband/umadN. It finds the agent that a MAD from the wire is for, matches answers
 * to requests, sends requests again until they are answered or given up, and carries messages of
 * several MADs (RMPP) for agents that want it.
 *
 * A machine: MADs and time in, MADs and messages out. After each call take all MADs by
 * vb_agents_poll_transmit() and all files by vb_agents_poll_readable(), then wait until
 * vb_agents_poll_timeout(). @now must not decrease. IBA 13.4, 13.6; items MAD-04 to MAD-16,
 * MAD-18 to MAD-21, MAD-23
 */
#ifndef VB_MGMT_AGENTS_H
#define VB_MGMT_AGENTS_H

#include "base/time.h"
#include "mgmt/smi.h"
#include "wire/mad/mad.h"
#include "wire/mad/umad.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vb_agents;

struct vb_agents_config {
	void *(*alloc)(void *ctx, size_t size); /* zeroed memory or NULL */
	void (*free)(void *ctx, void *p);
	void *alloc_ctx;
	bool has_smi; /* the port has QP 0 */
	uint8_t port; /* its number at @node; 0: directed routes are not checked */
	struct vb_smi_node node;
	size_t memory_max;  /* bytes allocated at most, 0: 1 GiB */
	uint8_t tid_part;   /* not 0: of each of these, bits 23 to 16 */
	uint32_t first_tid; /* upper half of the TIDs of the first agent, 0: 1. No agent has 0,
			       which is the owner's for requests of its own. MAD-10 */
};

/* NULL: no memory. */
struct vb_agents *vb_agents_create(const struct vb_agents_config *cfg);
void vb_agents_destroy(struct vb_agents *a); /* and every file and agent that is left */

/* An open file: a number >= 0, the lowest that is free; -ENOMEM, -ENFILE. Closing ends its agents
 * and what they wait for, and drops what it has not read. MAD-23. Subscriptions to reports that it
 * has made leave to be ended by the next calls of vb_agents_poll_transmit(). FAB-54 */
int vb_agents_file_open(struct vb_agents *a);
void vb_agents_file_close(struct vb_agents *a, int file);

/*
 * The number of a new agent of the file, the lowest that is free; or
 * -EINVAL: the request contradicts itself, or another agent of the port has one of its methods;
 * -EPROTONOSUPPORT: QP 0 on a port without it; -ENOMEM: no memory, or the file has
 * VB_UMAD_AGENTS. MAD-04, MAD-06, MAD-07
 */
int vb_agent_register(struct vb_agents *a, int file, const struct vb_agent_request *r);
/* -EINVAL: there is none of this number. */
int vb_agent_unregister(struct vb_agents *a, int file, uint32_t id);
/* The node itself serves these methods: no program can register them, and vb_agents_handle() leaves
 * them to the owner. The errors of vb_agent_register(), or 0. MAD-08 */
int vb_agents_reserve(struct vb_agents *a, const struct vb_agent_request *r);

/*
 * A message that the file writes; it is copied. 0; -EINVAL: it is too short or too long, its
 * address is impossible, its directed route does not begin at this port, or an equal transaction is
 * outstanding in this file; -EIO: no such agent; -ENOMEM. MAD-11, FAB-09
 */
int vb_agents_write(struct vb_agents *a, int file, const struct vb_mad_message *m);

/*
 * Checks that a message does not contradict itself, written by an agent that was registered by @r
 * at port @port of @node: -EINVAL or -ENOMEM as above, or 0. Of @r only the version of RMPP counts,
 * and whether the kernel does it.
 */
int vb_agent_check(const struct vb_agent_request *r, const struct vb_smi_node *node, uint8_t port,
		   const struct vb_mad_message *m);

/*
 * Whether a transaction of a file is outstanding can be seen without asking its agents: they count
 * those that are in @cnt, of VB_AGENTS_TRANSACTIONS counters of the owner's that begin at 0, and
 * 0 says that there is no equal one. Others may add to the counters and subtract again, meanwhile.
 */
#define VB_AGENTS_TRANSACTIONS 512u
void vb_agents_file_count(struct vb_agents *a, int file, uint32_t *cnt);

/* The counter of a MAD's transaction, by its class and the lower half of its TID. */
static inline uint32_t vb_agents_counter_of(uint8_t mgmt_class, uint64_t tid)
{
	return ((uint32_t)tid ^ (uint32_t)mgmt_class * 0x61) % VB_AGENTS_TRANSACTIONS;
}

/* Whether much of the memory is used, so that a write may fail for want of it. */
bool vb_agents_is_low(const struct vb_agents *a);

/* A MAD that goes out of the port. */
struct vb_agents_out {
	int file; /* of the agent that sends it; -1: it has closed */
	bool on_qp0;
	struct vb_mad_addr addr;
	uint8_t mad[VB_MAD_LEN];
};
bool vb_agents_poll_transmit(struct vb_agents *a, struct vb_agents_out *out, vb_time now);

/*
 * A MAD that came to QP 0 or QP 1. True: it is dealt with, an agent has it or nobody may have it.
 * False: it is no agent's; the owner asks the node's own agents and answers a Get or Set that these
 * do not know by VB_MAD_STATUS_UNSUPPORTED. Gets and Sets to QP 0 are always the node's, but
 * SMInfo; those of other classes that the node serves (performance management) it looks at before.
 * MAD-08, MAD-09
 */
bool vb_agents_handle(struct vb_agents *a, bool on_qp0, const struct vb_mad_addr *from,
		      const uint8_t mad[VB_MAD_LEN], vb_time now);

/* The first message that waits to be read, NULL: there is none. It stays until it is taken. */
const struct vb_mad_message *vb_agents_peek(const struct vb_agents *a, int file);
void vb_agents_take(struct vb_agents *a, int file);
/* A file that has something to read and had nothing before; each once. -1: there is none. */
int vb_agents_poll_readable(struct vb_agents *a);

vb_time vb_agents_poll_timeout(const struct vb_agents *a);
void vb_agents_handle_timeout(struct vb_agents *a, vb_time now);

struct vb_agents_counters {
	uint64_t rx_bad;       /* of a class or version that its QP does not take */
	uint64_t rx_unmatched; /* answers to nothing that is outstanding */
	uint64_t rx_no_room;   /* the file's queue, or memory, is full */
	uint64_t tx_retries;
	uint64_t tx_timeouts;
};
const struct vb_agents_counters *vb_agents_counters(const struct vb_agents *a);

#endif
