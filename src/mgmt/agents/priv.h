/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the agents share: their objects, and what each file does for the others. */
#ifndef VB_MGMT_AGENTS_PRIV_H
#define VB_MGMT_AGENTS_PRIV_H

#include "base/heap.h"
#include "base/list.h"
#include "mgmt/agents.h"
#include "wire/mad/rmpp.h"

#include <assert.h>

/* Messages that a file keeps unread; those that come beyond are dropped. MAD-16 */
#define VB_AGENTS_QUEUE_MAX 200000

/* A message that waits to be read. */
struct vb_mad_packet {
	struct vb_list link; /* of the file's queue */
	struct vb_mad_message msg;
	uint8_t *bytes; /* of msg.mad, when they have memory of their own; or NULL */
};

/* What the timers of the port are for. */
enum vb_agents_timer_kind { VB_AGENTS_SEND };
struct vb_agents_timer {
	struct vb_heap_node node;
	enum vb_agents_timer_kind kind;
};

/* A message that an agent sends, until it is answered, given up, or, if no answer is waited for,
 * has left. */
struct vb_mad_send {
	struct vb_mad_packet packet; /* the first member: it becomes the message of a timeout */
	struct vb_list of_agent;
	struct vb_list tx; /* while something of it is to be transmitted */
	struct vb_agents_timer timer;
	struct vb_agent *agent;
	struct vb_mad_hdr hdr;
	uint32_t retries_left;
	uint8_t mad[VB_MAD_LEN];
};

struct vb_agent {
	struct vb_list all;          /* of the port */
	struct vb_agents_file *file; /* NULL: of the node itself */
	uint32_t id;                 /* in the file */
	uint32_t hi_tid;             /* upper half of the TIDs of its requests. MAD-10 */
	struct vb_agent_request req;
	struct vb_list sends;
};

struct vb_agents_file {
	int number;
	struct vb_agent *agent[VB_UMAD_AGENTS];
	struct vb_list queue;
	uint32_t queue_cnt;
	struct vb_list readable; /* until vb_agents_poll_readable() has named it */
};

struct vb_agents {
	struct vb_agents_config cfg;
	struct vb_agents_file **file; /* by number; NULL: not open */
	uint32_t file_cap;
	struct vb_list agents, tx, readable;
	uint32_t next_tid;
	struct vb_heap timers;
	uint32_t timer_cnt; /* objects that have one; each has its place in the heap */
	uint64_t timer_order;
	size_t memory; /* bytes that are allocated */
	struct vb_agents_counters cnt;
};

/* memory.c: zeroed memory within the limit, or NULL. */
void *vb_agents_alloc(struct vb_agents *a, size_t size);
void vb_agents_free(struct vb_agents *a, void *p);
/* A place in the heap for one more timer; -ENOMEM. */
int vb_agents_timer_add(struct vb_agents *a, struct vb_agents_timer *t,
			enum vb_agents_timer_kind kind);
void vb_agents_timer_remove(struct vb_agents *a, struct vb_agents_timer *t);

/* queue.c */
struct vb_agents_file *vb_agents_file(const struct vb_agents *a, int file);
struct vb_mad_packet *vb_mad_packet_create(struct vb_agents *a, const uint8_t mad[VB_MAD_LEN]);
void vb_mad_packet_free(struct vb_agents *a, struct vb_mad_packet *p);
/* Whether the file has room for another message that came from the wire. */
bool vb_agents_queue_has_room(struct vb_agents *a, const struct vb_agents_file *f);
void vb_agents_queue_put(struct vb_agents *a, struct vb_agents_file *f, struct vb_mad_packet *p);
void vb_agents_queue_clear(struct vb_agents *a, struct vb_agents_file *f);

/* register.c: the agent that a MAD is for; NULL: none. */
struct vb_agent *vb_agent_of_answer(const struct vb_agents *a, const struct vb_mad_hdr *h);
struct vb_agent *vb_agent_of_request(const struct vb_agents *a, const struct vb_mad_hdr *h,
				     const uint8_t mad[VB_MAD_LEN]);
void vb_agent_free(struct vb_agents *a, struct vb_agent *g);
/* Whether the kernel's side segments and reassembles for the agent. */
static inline bool vb_agent_has_rmpp(const struct vb_agent *g)
{
	return g->req.rmpp_version != 0 && !g->req.user_rmpp;
}

/* send.c */
struct vb_mad_send *vb_mad_send_create(struct vb_agents *a, struct vb_agent *g,
				       const struct vb_mad_message *m);
void vb_mad_send_free(struct vb_agents *a, struct vb_mad_send *s);
/* It has something to transmit. */
void vb_mad_send_due(struct vb_agents *a, struct vb_mad_send *s);
/* The request, or the message, of @g that this MAD answers; NULL: none. MAD-09 */
struct vb_mad_send *vb_mad_send_find(const struct vb_agent *g, const struct vb_mad_hdr *h,
				     const struct vb_mad_addr *from);
/* Nobody answered: the agent is told, and the send is gone. MAD-13 */
void vb_mad_send_give_up(struct vb_agents *a, struct vb_mad_send *s);
void vb_mad_send_expire(struct vb_agents *a, struct vb_mad_send *s);

#endif
