/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The connection manager of InfiniBand as a machine: messages and time in, messages and events out.
 *
 * It finds out with a peer's connection manager what two QPs need to know of each other (RC, UC,
 * XRC), or the QP of a service (SIDR). It sends again what may have been lost, answers duplicates,
 * refuses stale connections and keeps a connection that has ended in timewait. It knows no
 * addresses of IP, no programs and no QPs: these belong to its caller. On InfiniBand the two agree
 * on an alternate path as well, when they connect or later (LAP, APR).
 *
 * The contract is that of the adapter's core (core/hca.h): after each call take all messages by
 * vb_cm_poll_transmit() and all events by vb_cm_poll_event(), then wait until vb_cm_poll_timeout().
 * @now must not decrease. Calls return 0 or a negative errno. IBA 12; items CMP-01 to CMP-27,
 * CMP-52
 */
#ifndef VB_CM_CM_H
#define VB_CM_CM_H

#include "base/psn.h"
#include "base/time.h"
#include "wire/mad/cm.h"
#include "wire/path.h"

#include <stdbool.h>

struct vb_cm;
struct vb_cm_conn; /* one end of a connection, or a listener: an object with a communication ID */

/* IBA 12.9.5 to 12.9.8, figures 136 to 139. MRA_x_RCVD: the peer asks for patience. */
enum vb_cm_state {
#define STATE(name) VB_CM_STATE_##name,
#include "cm/state.def"
#undef STATE
	VB_CM_STATE_CNT
};
const char *vb_cm_state_name(enum vb_cm_state s);

#define VB_CM_MSGS (VB_CM_ATTR_LAST - VB_CM_ATTR_FIRST + 1)

/* The counters in ports/N/cm_* of sysfs; the index is the attribute less VB_CM_ATTR_FIRST. Messages
 * that were sent include their repetitions. */
struct vb_cm_port_counters {
	uint64_t tx_msgs[VB_CM_MSGS], tx_retries[VB_CM_MSGS];
	uint64_t rx_msgs[VB_CM_MSGS], rx_duplicates[VB_CM_MSGS];
};

struct vb_cm_counters {
	uint64_t
	    rx_unmatched;    /* for a communication ID, or from a peer, that does not fit. CMP-52 */
	uint64_t rx_bad;     /* not a message of this class and version. CMP-52 */
	uint64_t rx_no_room; /* requests that found no room; the peer repeats them */
	uint64_t
	    tx_no_room; /* answers to strangers that found no room; the peer repeats its message */
};

struct vb_cm_config {
	uint64_t seed;     /* of the communication IDs: secret where peers are not trusted */
	uint32_t hi_tid;   /* upper half of the transaction IDs */
	uint32_t conns;    /* objects at most, ended connections in timewait included; 1...2^24 */
	uint8_t ports;     /* the ports of paths are 0...ports; others count as 0 */
	uint8_t ack_delay; /* of the local adapter: 4.096 us * 2^n. CMP-06 */
	/*
	 * A message without an answer is sent again at the end of its wait, which the peer was told
	 * of, and, beside this, inside the wait, first after so much, then after twice as much, and
	 * so on. 0: not inside the wait. CMP-08 allows to repeat earlier than the kernel does.
	 */
	vb_dur early_resend_ns;
	/* A request for a service that nobody listens for waits so long before it is refused, at
	 * most 32 at a time. 0: it is refused at once. */
	vb_dur listen_wait_ns;
	/* Whether a local port answers for this GID. NULL: those that packets came for do. */
	bool (*gid_is_local)(void *ctx, const struct vb_gid *gid);
	void *gid_ctx;
	void *(*alloc)(void *ctx, size_t size); /* zeroed memory or NULL */
	void (*free)(void *ctx, void *p);
	void *alloc_ctx;
};

int vb_cm_create(struct vb_cm **out, const struct vb_cm_config *cfg);
void vb_cm_destroy(struct vb_cm *cm); /* and every object left in it, without a word to the peers */

/* A message in, which came by @path (of the packet: the sender's GID is path->sgid). Never fails:
 * the counters say what became of it. */
void vb_cm_handle_mad(struct vb_cm *cm, const struct vb_path *path, const uint8_t mad[VB_MAD_LEN],
		      vb_time now);
/* A message out, from QP 1 to QP 1 along @path, in the partition @pkey of what it is about; 0: it
 * is not known. False: there is none. IBA 12.7.11 */
bool vb_cm_poll_transmit(struct vb_cm *cm, struct vb_path *path, uint16_t *pkey,
			 uint8_t mad[VB_MAD_LEN]);
vb_time vb_cm_poll_timeout(const struct vb_cm *cm);
/* The upper 8 bits of the communication IDs that are drawn from now on, where several connection
 * managers share an address; @part not 0. 0: all bits are random. */
void vb_cm_set_id_part(struct vb_cm *cm, uint8_t part);
void vb_cm_handle_timeout(struct vb_cm *cm, vb_time now);
const struct vb_cm_counters *vb_cm_counters(const struct vb_cm *cm);
/* Of each port: cfg->ports + 1 elements, by the port of the path. */
const struct vb_cm_port_counters *vb_cm_port_counters(const struct vb_cm *cm);

enum vb_cm_event_kind {
	/* REQ, REP, RTU, REJ, DREQ, DREP, LAP, APR, SIDR_REQ or SIDR_REP: ev->msg */
	VB_CM_EVENT_MESSAGE,
	VB_CM_EVENT_ESTABLISHED, /* by vb_cm_establish() */
	/* REQ, REP, DREQ, LAP or SIDR_REQ (ev->msg.attr) was never answered. After a LAP the
	 * connection stays as it was. */
	VB_CM_EVENT_UNREACHABLE,
	VB_CM_EVENT_TIMEWAIT_EXIT,
	VB_CM_EVENT_KIND_CNT
};

struct vb_cm_event {
	enum vb_cm_event_kind kind;
	struct vb_cm_conn *conn;     /* of a REQ or SIDR_REQ: a new one, now the caller's */
	struct vb_cm_conn *listener; /* of a REQ or SIDR_REQ, unless it is gone; NULL otherwise */
	struct vb_path path;         /* by which the message came */
	struct vb_cm_msg msg;
};
bool vb_cm_poll_event(struct vb_cm *cm, struct vb_cm_event *ev);

/* A new object, idle. @owner is the caller's. -ENOMEM: there is no room for another. */
int vb_cm_conn_create(struct vb_cm *cm, void *owner, struct vb_cm_conn **out);
/*
 * Tells the peer what its state asks for (CMP-22) and gives the object up. It goes on for itself
 * where the protocol wants it to: a connection until its timewait is over. Its events are gone.
 */
void vb_cm_conn_destroy(struct vb_cm_conn *c, vb_time now);

/* Gives up the object of a REQ or SIDR_REQ that nobody has answered as if the message had been
 * lost: the peer hears nothing and repeats it. CMP-36 */
void vb_cm_conn_drop(struct vb_cm_conn *c);

void *vb_cm_conn_owner(const struct vb_cm_conn *c);
void vb_cm_conn_set_owner(struct vb_cm_conn *c, void *owner);
enum vb_cm_state vb_cm_conn_state(const struct vb_cm_conn *c);
/* The local communication ID. An object that becomes idle again has another one. */
uint32_t vb_cm_conn_id(const struct vb_cm_conn *c);

/* A message that an answer is waited for, or was the last time. */
struct vb_cm_request_view {
	enum vb_cm_attr attr; /* 0: none was sent */
	uint32_t sent;        /* how often */
	vb_time since;        /* its first time; 0: it was sent before this machine was made */
	vb_time next;         /* when it is sent again or given up; VB_NEVER: it no longer waits */
};
void vb_cm_conn_request(const struct vb_cm_conn *c, struct vb_cm_request_view *out);

/* Listens for REQs and SIDR_REQs of one service. -EADDRINUSE: somebody does; -EINVAL: not idle. */
int vb_cm_listen(struct vb_cm_conn *c, uint64_t service_id);

/* Which transport the QPs of a connection have. */
enum vb_cm_transport { VB_CM_RC, VB_CM_UC, VB_CM_XRC };

/* Bytes of private data go behind each message; more than it takes: -EINVAL. */
struct vb_cm_private {
	const void *data;
	uint32_t len;
};

/* The path by which a connection of InfiniBand can go on when its own fails. */
struct vb_cm_alt {
	struct vb_path path; /* LIDs 0: there is none. Its port is that of the connection's path. */
	uint8_t rate;        /* static rate code, 0: the port's own */
	uint8_t ack_timeout; /* 4.096 us * 2^n */
};

/* The contents of a REQ. The numbers are limited as their fields are. */
struct vb_cm_request {
	struct vb_path path; /* sgid, dgid, flow label, traffic class, hop limit, SL, LIDs, port */
	uint64_t service_id, ca_guid;
	enum vb_cm_transport transport;
	uint32_t qpn;
	struct vb_psn rq_psn; /* first PSN that the QP expects: random. CMP-04 */
	uint32_t ece_vendor, ece_options;
	uint16_t pkey;
	uint8_t mtu;             /* 1...5: 256...4096 */
	uint8_t rate;            /* static rate code, 0: the port's own */
	uint8_t packet_lifetime; /* 4.096 us * 2^n */
	uint8_t responder_resources, initiator_depth;
	uint8_t retry_cnt, rnr_retry; /* more than 7 counts as 7 */
	uint8_t cm_timeout;           /* of both sides' answers: 4.096 us * 2^n */
	uint8_t max_cm_retries;       /* 0...15 */
	bool srq, flow_control;
	struct vb_path alt_path; /* the alternate path; LIDs 0: none */
	uint8_t alt_rate, alt_packet_lifetime;
	struct vb_cm_private private_data;
};
/* Idle: sends a REQ. */
int vb_cm_connect(struct vb_cm_conn *c, const struct vb_cm_request *r, vb_time now);

/* The contents of a REP. */
struct vb_cm_reply_param {
	uint64_t ca_guid;
	uint32_t qpn;
	struct vb_psn rq_psn;
	uint32_t ece_vendor, ece_options;
	uint8_t responder_resources, initiator_depth;
	uint8_t rnr_retry;
	bool srq, flow_control;
	struct vb_cm_private private_data;
};
/* After a REQ: sends a REP. */
int vb_cm_reply(struct vb_cm_conn *c, const struct vb_cm_reply_param *r, vb_time now);
/* After a REP: sends an RTU; the connection is established. */
int vb_cm_ready(struct vb_cm_conn *c, const struct vb_cm_private *p);
/* After a REQ, a REP or a LAP: has a duplicate of it answered by an MRA, for which the peer then
 * waits 4.096 us * 2^@service_timeout. Nothing is sent before such a duplicate comes. CMP-11 */
int vb_cm_delay(struct vb_cm_conn *c, uint8_t service_timeout);
/* After a REQ or a REP: sends a REJ. @info: at most VB_CM_INFO_LEN bytes. */
int vb_cm_reject(struct vb_cm_conn *c, uint16_t reason, const struct vb_cm_private *info,
		 const struct vb_cm_private *p, vb_time now);
/* A packet of the peer's QP came before its RTU: established. -EISCONN: it is already. CMP-18 */
int vb_cm_establish(struct vb_cm_conn *c);
/* Established: sends a DREQ. After a DREQ: sends a DREP. -ENOTCONN otherwise. CMP-20 */
int vb_cm_disconnect(struct vb_cm_conn *c, const struct vb_cm_private *p, vb_time now);

/*
 * Alternate paths of a connection of InfiniBand that is established. IBA 12.8; CMP-26
 *
 * vb_cm_load_alternate() asks the peer by a LAP for another one. -EINVAL: it is not established, an
 * earlier LAP of either side has no answer yet, or a path has no LIDs. When the APR says that the
 * peer has loaded it, vb_cm_conn_qp() has it; then both QPs get it, with the state REARM.
 */
struct vb_cm_alternate {
	struct vb_path path;
	uint8_t rate, packet_lifetime;
	uint8_t cm_timeout; /* of the peer's answer: 4.096 us * 2^n */
	struct vb_cm_private private_data;
};
int vb_cm_load_alternate(struct vb_cm_conn *c, const struct vb_cm_alternate *a, vb_time now);
/* After a LAP: sends an APR with an enum vb_cm_apr_status. LOADED: vb_cm_conn_qp() has the path.
 * @info: at most VB_CM_INFO_LEN bytes. -EINVAL: no LAP waits for an answer. */
int vb_cm_answer_alternate(struct vb_cm_conn *c, uint8_t status, const struct vb_cm_private *info,
			   const struct vb_cm_private *p);
/* The QP has migrated: messages go by its alternate path as well from now on, and the old one is
 * the alternate path. -EINVAL: there is none, or the connection is not established. */
int vb_cm_migrate(struct vb_cm_conn *c);
/* There was a LAP or a migration since the connection was established: when a program asks for the
 * attributes of its QP again, it gets the alternate path alone. */
bool vb_cm_conn_has_lap(const struct vb_cm_conn *c);

/* The contents of a SIDR_REQ. */
struct vb_cm_sidr_request {
	struct vb_path path;
	uint64_t service_id;
	uint16_t pkey;
	uint8_t cm_timeout, max_cm_retries;
	struct vb_cm_private private_data;
};
int vb_cm_sidr_request(struct vb_cm_conn *c, const struct vb_cm_sidr_request *r, vb_time now);
/* The contents of a SIDR_REP. */
struct vb_cm_sidr_reply {
	enum vb_cm_sidr_status status;
	uint32_t qpn, qkey;
	uint32_t ece_vendor, ece_options;
	struct vb_cm_private private_data;
};
int vb_cm_sidr_reply(struct vb_cm_conn *c, const struct vb_cm_sidr_reply *r);

/* The parameters agreed on for the local QP; complete from the REP on. */
struct vb_cm_qp {
	struct vb_path path;
	enum vb_cm_transport transport;
	uint32_t local_qpn, remote_qpn;
	struct vb_psn rq_psn, sq_psn;
	uint16_t pkey;
	uint8_t mtu, rate;
	uint8_t responder_resources,
	    initiator_depth; /* READs and atomics taken, and sent, at once */
	uint8_t retry_cnt, rnr_retry;
	uint8_t ack_timeout; /* 4.096 us * 2^n, CMP-10 */
	bool remote_srq;
	struct vb_cm_alt alt; /* of InfiniBand; complete when the peer has agreed */
};
const struct vb_cm_qp *vb_cm_conn_qp(const struct vb_cm_conn *c);

/* The part of an object that outlives the machine that made it. It is copied unchanged from one
 * machine to the next. */
struct vb_cm_saved {
	uint8_t state; /* enum vb_cm_state */
	uint8_t retries;
	uint16_t
	    answer; /* enum vb_cm_attr: the kind of its last answer, which a duplicate draws; 0 */
	uint32_t local_id, remote_id;
	uint64_t tid, dreq_tid;
	uint64_t local_guid, remote_guid;
	vb_dur wait_ns;
	struct vb_cm_qp qp;
};
void vb_cm_conn_save(const struct vb_cm_conn *c, struct vb_cm_saved *s);
/* The REP that waits for its RTU, VB_MAD_LEN bytes, which outlives the machine too; NULL: none
 * does. */
const uint8_t *vb_cm_conn_rep(const struct vb_cm_conn *c);
/*
 * Makes an object that goes on from @s and @rep, which nobody need have written truly. A connection
 * that was established, or was ending, is so again. One that had sent its REP sends it again, for
 * its peer may have established it. In all other states, and without @rep, the connection is given
 * up: its peer hears so, or repeats its request. 0; -ECONNRESET: it was being made,
 * and *out is an object that can be destroyed or, when it is idle, used again; -EINVAL: @s is no
 * object's; -ENOMEM. CMP-51
 */
int vb_cm_conn_restore(struct vb_cm *cm, void *owner, const struct vb_cm_saved *s,
		       const uint8_t rep[VB_MAD_LEN], vb_time now, struct vb_cm_conn **out);

/* The ACK timeout of a QP whose peer needs up to 4.096 us * 2^@ack_delay to acknowledge and whose
 * packets live 4.096 us * 2^@lifetime. CMP-10 */
uint8_t vb_cm_ack_timeout(uint8_t ack_delay, uint8_t lifetime);

#endif
