/* SPDX-License-Identifier: BSD-2-Clause */
/* The objects that the files of the agents share, and the calls of each file for the others. */
#ifndef VB_MGMT_AGENTS_PRIV_H
#define VB_MGMT_AGENTS_PRIV_H

#include "base/heap.h"
#include "base/list.h"
#include "mgmt/agents.h"
#include "wire/mad/rmpp.h"

#include <assert.h>

/* Messages that a file keeps unread; those that come beyond are dropped. MAD-16 */
#define VB_AGENTS_QUEUE_MAX 200000

/* A message of several MADs that nobody asked for has less room than others, and all of these
 * together a part of the memory, so that a peer does not use it up. */
#define VB_RMPP_REQUEST_MAX (4u << 20)
#define VB_RMPP_REQUESTS_PART 16 /* one in so many bytes of the memory */
#define VB_RMPP_REQUESTS 256     /* of an agent that are being received */
#define VB_RMPP_RECEIVED 1024    /* of an agent that are kept for the sake of lost ACKs */

/* A message that waits to be read. */
struct vb_mad_packet {
	struct vb_list link; /* of the file's queue */
	struct vb_mad_message msg;
	uint8_t *bytes; /* of msg.mad, when they have memory of their own; or NULL */
};

/* The purposes of the port's timers. */
enum vb_agents_timer_kind { VB_AGENTS_SEND, VB_AGENTS_RECEPTION };
struct vb_agents_timer {
	struct vb_heap_node node;
	enum vb_agents_timer_kind kind;
};

/* The segments of a message that is sent. MAD-19 */
struct vb_rmpp_out {
	uint32_t hdr_len;  /* bytes of all headers of each segment */
	uint32_t data_len; /* bytes of the whole message behind them; they are packet.bytes */
	uint32_t cnt;      /* segments; 0: the message is an ordinary MAD */
	uint32_t sent, acked;
	uint32_t window;  /* the last segment that may be sent */
	uint32_t missing; /* to be sent again alone; 0: none */
	uint32_t resent;  /* the last one that was */
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
	bool is_control; /* an ACK, a STOP or an ABORT: no program wrote it */
	struct vb_rmpp_out rmpp;
	uint8_t mad[VB_MAD_LEN]; /* of several segments the headers */
};

/* A message of several MADs that comes in. MAD-20 */
struct vb_rmpp_in {
	struct vb_list of_agent; /* receiving or received */
	struct vb_agents_timer timer;
	struct vb_agent *agent;
	struct vb_mad_packet *packet; /* its segments; NULL: it is complete and the agent has it */
	uint32_t capacity;            /* of packet->bytes */
	struct vb_mad_hdr hdr;        /* with the source: which message it is */
	struct vb_mad_addr from;
	uint32_t segment; /* all up to this one have come */
	uint64_t ahead;   /* bit i: segment + 2 + i has come */
	uint32_t acked;
	uint32_t window;       /* the last segment that is taken */
	uint32_t last;         /* number of the last one, 0: not known */
	uint32_t last_length;  /* its payload length */
	uint32_t first_length; /* that of the first one: of all of them, 0: not known */
	uint32_t reply_window; /* for our answer: the window that the peer gave at the end */
};

struct vb_agent {
	struct vb_list all;          /* of the port */
	struct vb_agents_file *file; /* NULL: of the node itself */
	uint32_t id;                 /* in the file */
	uint32_t hi_tid;             /* upper half of the TIDs of its requests. MAD-10 */
	struct vb_agent_request req;
	struct vb_list sends;
	struct vb_list receiving, received; /* the oldest first */
	uint32_t request_cnt;               /* of those receiving that nobody asked for */
	uint32_t received_cnt;
};

struct vb_agents_file {
	int number;
	struct vb_agent *agent[VB_UMAD_AGENTS];
	struct vb_list queue;
	uint32_t queue_cnt;
	struct vb_list readable; /* until vb_agents_poll_readable() has named it */
	uint32_t *outstanding;   /* of vb_agents_file_count(); NULL: nobody asks */
	struct vb_list informs;  /* subscriptions to reports that it has made */
	uint32_t inform_cnt;
};

struct vb_agents {
	struct vb_agents_config cfg;
	struct vb_agents_file **file; /* by number; NULL: not open */
	uint32_t file_cap;
	struct vb_list agents, tx, readable;
	struct vb_list farewells; /* subscriptions of closed files, which are to be ended */
	uint32_t next_tid;
	struct vb_heap timers;
	uint32_t timer_cnt; /* objects that have one; each has its place in the heap */
	uint64_t timer_order;
	size_t memory;         /* bytes that are allocated */
	size_t request_memory; /* of these for messages that come in and that nobody asked for */
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
/* The next upper half of TIDs that no agent has; 0 is nobody's. */
uint32_t vb_agents_tid_draw(struct vb_agents *a);
/* Whether the kernel's side segments and reassembles for the agent. */
static inline bool vb_agent_has_rmpp(const struct vb_agent *g)
{
	return g->req.rmpp_version != 0 && !g->req.user_rmpp;
}

/* inform.c: @f has written @mad, whose header is @h, to @to: a subscription is remembered. FAB-54
 */
void vb_inform_note(struct vb_agents *a, struct vb_agents_file *f, const struct vb_mad_addr *to,
		    const struct vb_mad_hdr *h, const uint8_t mad[VB_MAD_LEN]);
/* The file closes: its subscriptions are to be ended. */
void vb_informs_end(struct vb_agents *a, struct vb_agents_file *f);
/* The next MAD that ends one. */
bool vb_inform_next(struct vb_agents *a, struct vb_agents_out *out);

/* check.c: whether the kernel's side makes segments of what the agent of @r writes. */
bool vb_agent_is_segmented(const struct vb_agent_request *r, uint8_t mgmt_class,
			   const struct vb_rmpp *rmpp);

/* send.c */
struct vb_mad_send *vb_mad_send_create(struct vb_agents *a, struct vb_agent *g,
				       const struct vb_mad_message *m);
void vb_mad_send_free(struct vb_agents *a, struct vb_mad_send *s);
/* It has something to transmit. */
void vb_mad_send_due(struct vb_agents *a, struct vb_mad_send *s);
/* Whether it is to be found by what answers it: a request, or a message of several MADs. */
static inline bool vb_mad_send_waits(const struct vb_mad_send *s)
{
	return s->packet.msg.timeout_ms != 0 || s->rmpp.cnt != 0;
}
/* The request, or the message, of @g that this MAD answers; NULL: none. MAD-09 */
struct vb_mad_send *vb_mad_send_find(const struct vb_agent *g, const struct vb_mad_hdr *h,
				     const struct vb_mad_addr *from);
/* Nobody answered: the agent is told, and the send is gone. MAD-13 */
void vb_mad_send_give_up(struct vb_agents *a, struct vb_mad_send *s);
void vb_mad_send_expire(struct vb_agents *a, struct vb_mad_send *s);
/* Waits for an answer from now on. */
void vb_mad_send_wait(struct vb_agents *a, struct vb_mad_send *s, vb_time now);

static inline bool vb_rmpp_is_active(const struct vb_rmpp *r)
{
	return (r->flags & VB_RMPP_ACTIVE) != 0;
}

/* rmpp.c */
/* A control MAD back to @from, with the headers of @mad: @r's type, status, segment, length. */
void vb_rmpp_reply(struct vb_agents *a, struct vb_agent *g, const struct vb_mad_addr *from,
		   const uint8_t mad[VB_MAD_LEN], const struct vb_rmpp *r);

/* rmpp_send.c */
/* Makes @s, whose headers are there, a message of several MADs with @data behind them. -ENOMEM. */
int vb_rmpp_send_begin(struct vb_agents *a, struct vb_mad_send *s, const uint8_t *data,
		       uint32_t len, uint32_t window);
/* The next segment, which must be due. */
void vb_rmpp_send_next(struct vb_agents *a, struct vb_mad_send *s, uint8_t mad[VB_MAD_LEN],
		       vb_time now);
void vb_rmpp_send_expire(struct vb_agents *a, struct vb_mad_send *s);
/* An ACK, a STOP, an ABORT or what is none of the types came for @g. MAD-21 */
void vb_rmpp_send_control(struct vb_agents *a, struct vb_agent *g, const struct vb_mad_addr *from,
			  const uint8_t mad[VB_MAD_LEN], const struct vb_rmpp *r, vb_time now);

/* rmpp_receive.c: a segment came; the packet of the message that it completes, or NULL. */
struct vb_mad_packet *vb_rmpp_receive(struct vb_agents *a, struct vb_agent *g,
				      const struct vb_mad_addr *from, const uint8_t mad[VB_MAD_LEN],
				      const struct vb_rmpp *r, vb_time now);
/* Whether the whole message of this segment has come, and is remembered. */
bool vb_rmpp_receive_is_over(const struct vb_agent *g, const struct vb_mad_hdr *h,
			     const struct vb_mad_addr *from);
/* The peer is ready for the answer to a message, in a window of @window. */
void vb_rmpp_receive_reply_window(struct vb_agent *g, const struct vb_mad_hdr *h,
				  const struct vb_mad_addr *from, uint32_t window);
/* The window that the answer @h to @to begins with. */
uint32_t vb_rmpp_first_window(const struct vb_agent *g, const struct vb_mad_hdr *h,
			      const struct vb_mad_addr *to);
/* The sender of a message says that no more of it comes. */
void vb_rmpp_receive_abort(struct vb_agents *a, struct vb_agent *g, const struct vb_mad_hdr *h,
			   const struct vb_mad_addr *from);
void vb_rmpp_receive_expire(struct vb_agents *a, struct vb_rmpp_in *in);
void vb_rmpp_receive_end(struct vb_agents *a, struct vb_rmpp_in *in);

#endif
