/* SPDX-License-Identifier: BSD-2-Clause */
/* The connection manager's objects, and the functions of each of its files for the others. */
#ifndef VB_CM_PRIV_H
#define VB_CM_PRIV_H

#include "base/heap.h"
#include "base/list.h"
#include "base/rng.h"
#include "cm/cm.h"
#include "cm/park/park.h"

#include <assert.h>

/* Answers to messages that belong to no connection wait here until they are taken. */
#define VB_CM_STRAYS 64

/* How far a LAP of an established connection is. IBA 12.9.8.7; numbers of the kernel's. */
enum vb_cm_lap_state {
	VB_CM_LAP_UNINIT, /* there was none */
	VB_CM_LAP_IDLE,
	VB_CM_LAP_SENT,
	VB_CM_LAP_RCVD,
	VB_CM_LAP_MRA_SENT,
	VB_CM_LAP_MRA_RCVD,
};

/* How connections are found. Each index has chains of its own. */
enum vb_cm_index {
	VB_CM_BY_ID,         /* the local communication ID */
	VB_CM_BY_SERVICE,    /* listeners: the service ID */
	VB_CM_BY_REMOTE_ID,  /* the peer's communication ID and its adapter's GUID. CMP-13 */
	VB_CM_BY_REMOTE_QPN, /* the peer's QPN and its adapter's GUID. CMP-14 */
	VB_CM_INDEX_CNT
};

struct vb_cm_link {
	struct vb_cm_conn *next;
	uint64_t hi, lo; /* the key */
	bool linked;
};

/* An event that waits to be taken. */
struct vb_cm_pending {
	struct vb_list link;
	struct vb_cm_conn *conn;
	enum vb_cm_event_kind kind;
};

/* An event that has a message, and so memory of its own. */
struct vb_cm_pending_msg {
	struct vb_cm_pending pending;
	struct vb_cm_conn *listener;
	struct vb_path path;
	struct vb_cm_msg msg;
};

struct vb_cm_conn {
	struct vb_cm *cm;
	void *owner;
	enum vb_cm_state state;
	bool is_orphan; /* its consumer has given it up */
	uint32_t local_id, remote_id;
	uint64_t tid;      /* of the REQ or SIDR_REQ that began it */
	uint64_t dreq_tid; /* of the peer's DREQ */
	uint64_t service_id;
	uint64_t local_guid, remote_guid; /* of the adapters */
	struct vb_cm_qp qp;
	enum vb_cm_lap_state lap; /* UNINIT but in ESTABLISHED */
	uint64_t lap_tid;         /* of the peer's last LAP */
	struct vb_cm_alt lap_alt; /* the path that the LAP under way is about */
	uint8_t failover;         /* enum vb_cm_failover: for the REP */
	/* The message that an answer is waited for, and the answer that duplicates are given. */
	uint8_t request[VB_MAD_LEN], answer[VB_MAD_LEN];
	enum vb_cm_attr request_attr, answer_attr;
	bool request_due, answer_due, answer_sent_once;
	uint32_t request_sent; /* how often */
	vb_time request_since;
	struct vb_list tx; /* while one of them is due */
	/* Repetition of the request: so often yet, at the end of each wait. */
	uint8_t retries, retries_left;
	vb_dur wait_ns;   /* as the peer was told */
	vb_time wait_end; /* of the wait that runs */
	vb_dur early_ns;  /* the next distance inside of it; 0: none */
	struct vb_heap_node timer;
	struct vb_list all;
	struct vb_cm_link index[VB_CM_INDEX_CNT];
	struct vb_cm_pending raised[VB_CM_EVENT_KIND_CNT]; /* the events without a message */
};

struct vb_cm_stray {
	struct vb_path path;
	uint16_t pkey; /* 0: the message that it answers names none */
	uint8_t mad[VB_MAD_LEN];
	enum vb_cm_attr attr;
};

/* The last answer to requests of one kind: when it came, and when the latest request that has been
 * answered was first sent. */
struct vb_cm_heard {
	vb_time at, since;
};

struct vb_cm {
	struct vb_cm_config cfg;
	struct vb_rng rng;
	uint8_t id_part; /* 0: none */
	uint64_t hash_key[2];
	uint32_t conn_cnt, bucket_mask;
	struct vb_cm_conn **bucket[VB_CM_INDEX_CNT];
	struct vb_heap timers;
	struct vb_list all, tx, events;
	struct vb_cm_stray stray[VB_CM_STRAYS];
	uint32_t stray_first, stray_cnt;
	struct vb_cm_park park;
	struct vb_cm_counters cnt;
	struct vb_cm_port_counters *port_cnt;
	struct vb_cm_heard heard[VB_CM_MSGS]; /* by vb_cm_counter() of the request */
};

static inline uint32_t vb_cm_counter(enum vb_cm_attr attr)
{
	return (uint32_t)attr - VB_CM_ATTR_FIRST;
}

/* The counters of the port that @path begins or ends at. */
static inline struct vb_cm_port_counters *vb_cm_port_of(const struct vb_cm *cm,
							const struct vb_path *path)
{
	return &cm->port_cnt[path->port <= cm->cfg.ports ? path->port : 0];
}
/* A message that @c has had already. */
static inline void vb_cm_duplicate(struct vb_cm_conn *c, enum vb_cm_attr attr)
{
	vb_cm_port_of(c->cm, &c->qp.path)->rx_duplicates[vb_cm_counter(attr)]++;
}

/* 4.096 us * 2^@code as the kernel's connection manager rounds it: 2^(code - 8) ms. CMP-08 */
static inline vb_dur vb_cm_span(uint8_t code)
{
	return VB_MSEC << (code > 8 ? code - 8 : 0);
}

/* index.c */
uint64_t vb_cm_hash(const struct vb_cm *cm, uint64_t hi, uint64_t lo);
struct vb_cm_conn *vb_cm_find(const struct vb_cm *cm, enum vb_cm_index i, uint64_t hi, uint64_t lo);
void vb_cm_index_add(struct vb_cm_conn *c, enum vb_cm_index i, uint64_t hi, uint64_t lo);
void vb_cm_index_remove(struct vb_cm_conn *c, enum vb_cm_index i);

/* conn.c */
void vb_cm_state_set(struct vb_cm_conn *c, enum vb_cm_state to);
void vb_cm_conn_free(struct vb_cm_conn *c);
/* Enters timewait: nothing is sent any more but answers to DREQs. CMP-21 */
void vb_cm_timewait(struct vb_cm_conn *c, vb_time now);
/* Ends what is being made: the peer is forgotten, the object can be used again. */
void vb_cm_conn_reset(struct vb_cm_conn *c);

/* send.c */
/* Begins to send @m until it is answered, at most 1 + c->retries times, with c->wait_ns between. */
void vb_cm_send_request(struct vb_cm_conn *c, struct vb_cm_msg *m, vb_time now);
/* Sends @m now; vb_cm_answer_again() repeats it. */
void vb_cm_send_answer(struct vb_cm_conn *c, struct vb_cm_msg *m);
/* Keeps @m for vb_cm_answer_again() and sends nothing. */
void vb_cm_keep_answer(struct vb_cm_conn *c, struct vb_cm_msg *m);
/* Sends what was kept last once more, if anything was. */
void vb_cm_answer_again(struct vb_cm_conn *c);
/* The request was answered, or nobody waits for an answer any more. */
void vb_cm_stop_request(struct vb_cm_conn *c);
/* A message of its peer has come for @c. */
void vb_cm_hear(struct vb_cm_conn *c, vb_time now);
/* Sends again, or gives up, what was not answered in its time. */
void vb_cm_requests_timeout(struct vb_cm *cm, vb_time now);
/* The peer asks for patience: the wait that runs is @wait long, from @now on. CMP-12 */
void vb_cm_extend_wait(struct vb_cm_conn *c, vb_dur wait, vb_time now);
/* Sends a message that belongs to no connection back along the way that @path came. */
void vb_cm_send_stray(struct vb_cm *cm, const struct vb_path *path, uint16_t pkey,
		      const struct vb_cm_msg *m);
/* Copies private data; -EINVAL: it is longer than the message takes. */
int vb_cm_private_put(struct vb_cm_msg *m, const struct vb_cm_private *p);

/* event.c */
/* -ENOMEM: nothing has happened; the message is to be treated as one that was lost. */
int vb_cm_event_message(struct vb_cm_conn *c, struct vb_cm_conn *listener,
			const struct vb_path *path, const struct vb_cm_msg *m);
void vb_cm_event_raise(struct vb_cm_conn *c, enum vb_cm_event_kind kind);
void vb_cm_events_drop(struct vb_cm_conn *c);

/* alternate.c */
struct vb_cm_route vb_cm_route_of(const struct vb_path *p, uint8_t rate, uint8_t ack_timeout);
/* The other end's @r seen from here, at a packet's receiver that came by @came. */
struct vb_cm_alt vb_cm_alt_of(const struct vb_cm_route *r, const struct vb_path *came);
void vb_cm_on_lap(struct vb_cm_conn *c, const struct vb_path *path, const struct vb_cm_msg *m);
void vb_cm_on_apr(struct vb_cm_conn *c, const struct vb_path *path, const struct vb_cm_msg *m);
/* A LAP of this side has no answer yet. */
static inline bool vb_cm_waits_for_apr(const struct vb_cm_conn *c)
{
	return c->lap == VB_CM_LAP_SENT || c->lap == VB_CM_LAP_MRA_RCVD;
}
/* Both ends of @r are ports. */
bool vb_cm_route_has_lids(const struct vb_cm_route *r);
/* A local port answers for @gid, of a message that came by @came. */
bool vb_cm_gid_is_usable(const struct vb_cm *cm, const struct vb_path *came,
			 const struct vb_gid *gid);

/* connect.c, disconnect.c, reject.c, sidr.c: one for each message that comes. A REQ and a SIDR_REQ
 * return false when nobody listens for them; then nothing has happened. */
bool vb_cm_on_req(struct vb_cm *cm, const struct vb_path *path, const struct vb_cm_msg *m,
		  vb_time now);
void vb_cm_on_rep(struct vb_cm_conn *c, const struct vb_path *path, const struct vb_cm_msg *m,
		  vb_time now);
void vb_cm_on_rtu(struct vb_cm_conn *c, const struct vb_path *path, const struct vb_cm_msg *m);
void vb_cm_on_mra(struct vb_cm_conn *c, const struct vb_cm_msg *m, vb_time now);
void vb_cm_on_rej(struct vb_cm_conn *c, const struct vb_path *path, const struct vb_cm_msg *m,
		  vb_time now);
void vb_cm_on_dreq(struct vb_cm_conn *c, const struct vb_path *path, const struct vb_cm_msg *m,
		   vb_time now);
void vb_cm_on_drep(struct vb_cm_conn *c, const struct vb_path *path, const struct vb_cm_msg *m,
		   vb_time now);
bool vb_cm_on_sidr_req(struct vb_cm *cm, const struct vb_path *path, const struct vb_cm_msg *m);
void vb_cm_on_sidr_rep(struct vb_cm_conn *c, const struct vb_path *path, const struct vb_cm_msg *m);
/* It has sent its REP. */
bool vb_cm_waits_for_rtu(const struct vb_cm_conn *c);
/* Sends a REJ of @m to a sender that has no connection here. */
void vb_cm_reject_stray(struct vb_cm *cm, const struct vb_path *path, const struct vb_cm_msg *m,
			enum vb_cm_about about, uint16_t reason);
/* Sends a REJ for @c. */
void vb_cm_reject_send(struct vb_cm_conn *c, enum vb_cm_about about, uint16_t reason,
		       const struct vb_cm_private *info, const struct vb_cm_private *p);
/* Answers a SIDR_REQ of a service that nobody listens for. */
void vb_cm_sidr_refuse(struct vb_cm *cm, const struct vb_path *path, const struct vb_cm_msg *m);
/* Tells the peer what a connection in its state asks for when it is given up. CMP-22 */
void vb_cm_peer_tell(struct vb_cm_conn *c, vb_time now);
/* Sends a DREQ, which is repeated as a REQ is. */
void vb_cm_dreq_send(struct vb_cm_conn *c, const struct vb_cm_private *p, vb_time now);

#endif
