/* SPDX-License-Identifier: BSD-2-Clause */
/* Declarations of src/ucma: files, ids, events, groups and what each file does for others. */
#ifndef VB_UCMA_PRIV_H
#define VB_UCMA_PRIV_H

#include "base/list.h"
#include "base/rng.h"
#include "ucma/abi.h"
#include "ucma/keep/keep.h"
#include "ucma/ucma.h"
#include "ucma/view.h"
#include "wire/mad/subnet/sa.h"

#include <assert.h>
#include <stddef.h>

/* The state of an id decides what it may be asked for; each command checks it. CMP-37 */
enum vb_ucma_state {
	VB_UCMA_IDLE = 1 << 0,
	VB_UCMA_ADDR_BOUND = 1 << 1,
	VB_UCMA_ADDR_RESOLVED = 1 << 2,
	VB_UCMA_ROUTE_RESOLVED = 1 << 3,
	VB_UCMA_CONNECTING = 1 << 4,
	VB_UCMA_DISCONNECTED = 1 << 5,
	VB_UCMA_LISTENING = 1 << 6,
	VB_UCMA_REMOVED = 1 << 7,
	VB_UCMA_ROUTE_QUERY = 1 << 8, /* the subnet administrator is asked */
	VB_UCMA_ANY_STATE = (1 << 9) - 1,
};

/* Of enum ibv_qp_type, those that an id may have. */
enum {
	VB_UCMA_QPT_RC = 2,
	VB_UCMA_QPT_UC,
	VB_UCMA_QPT_UD,
	VB_UCMA_QPT_XRC_INI = 9,
	VB_UCMA_QPT_XRC_TGT
};

#define VB_UCMA_PORT_BUCKETS 1024u
#define VB_UCMA_UDP_QKEY 0x01234567u /* RDMA_UDP_QKEY. CMP-25 */
#define VB_UCMA_ENETRESET (-102)
#define VB_UCMA_ETIMEDOUT (-110)
#define VB_UCMA_BACKLOG_MAX 1024
#define VB_UCMA_PKEY_DEFAULT 0xffffu

struct vb_ucma_file {
	struct vb_ucma *u;
	void *owner;
	uint32_t number;             /* by which its ids are kept */
	struct vb_list all, changed; /* in u->files; in u->changed while its number may be new */
	struct vb_list ids;
	struct vb_list events;
	uint32_t event_cnt; /* those that are out, the first ones, included */
	uint32_t out_cnt;
	uint32_t pid; /* who uses it, view.h */
	char user[16];
};

/* A group that an id has joined. */
struct vb_ucma_mc {
	struct vb_ucma_id *id;
	struct vb_list link; /* in id->mcs */
	uint32_t number;
	uint64_t uid;
	struct vb_gid gid;
	struct vb_ucma_local at;
	bool is_member; /* the host joined for it: not when it only sends, or when joining failed */
	bool sends_only;
	struct vb_sa_mcmember
	    record; /* InfiniBand: the group, as the subnet administrator has it */
	uint32_t events_reported;
	uint32_t kept; /* its record of the region + 1; 0: none */
};

/* An event that nobody has taken. */
struct vb_ucma_event {
	struct vb_list link;
	struct vb_ucma_id *id;      /* whose events_reported counts it: a listener's for requests */
	struct vb_ucma_id *request; /* CONNECT_REQUEST: the new id, which nobody knows yet */
	struct vb_ucma_mc *mc;      /* of a group: counts there, too */
	struct vb_list fresh;       /* in u->fresh until it is kept */
	uint32_t kept;              /* its record of the region + 1; 0: none */
	uint64_t seq;
	bool is_out;      /* the program may have taken it */
	bool is_void;     /* and throws it away: of an earlier process, and past */
	bool is_doubtful; /* that process may have given it out, or the program thrown it away */
	struct vb_ucma_event_reply reply;
};

/* Those who listen for one service ID share one listener of the connection manager. */
struct vb_ucma_service {
	struct vb_list all, ids;
	uint64_t service_id;
	struct vb_cm_conn *conn;
};

/* The way of an id on InfiniBand: both GIDs from the resolved address on, the rest by PathRecord or
 * by the request. */
struct vb_ucma_way {
	struct vb_path path;
	uint8_t mtu, rate, lifetime; /* codes of a PathRecord */
};

/* Questions to the subnet administrator that wait for an answer, or to be sent. */
enum vb_ucma_ask_kind {
	VB_UCMA_ASK_PATH,
	VB_UCMA_ASK_GROUP, /* what groups of the partition are like: as its broadcast group is */
	VB_UCMA_ASK_JOIN,
	VB_UCMA_ASK_REJOIN, /* the group as it was, of a manager that may know nothing of it */
	VB_UCMA_ASK_LEAVE,  /* nobody waits for its answer */
};
struct vb_ucma_ask {
	struct vb_list link; /* in u->asks */
	enum vb_ucma_ask_kind kind;
	struct vb_ucma_id *id;
	struct vb_ucma_mc *mc;
	bool is_ready; /* to be sent */
	bool was_sent;
	vb_time due; /* it is given up, or before @end sent (again) */
	/* REJOIN alone: until the next repetition, and how long there are any. */
	vb_dur wait;
	vb_time end;
	struct vb_path path;
	struct vb_sa_msg msg;
};

/* The owner of a struct vb_cm_conn, by its first member. */
enum vb_ucma_owner { VB_UCMA_OWNER_SERVICE, VB_UCMA_OWNER_ID };

struct vb_ucma_id {
	struct vb_ucma *u;
	struct vb_ucma_file *file;
	struct vb_list in_file, in_port, in_service;
	struct vb_list touched; /* in u->touched while its record is old */
	uint32_t number;
	uint64_t uid;
	bool has_uid; /* else it came by a request and was not accepted: it has no events. CMP-35 */
	enum vb_ucma_state state;
	uint16_t ps;
	uint16_t space; /* the port space that its port is of: ps, but where AF_IB says another */
	uint8_t qp_type;
	bool is_bound;  /* has a port of its port space */
	bool has_claim; /* ... and others have heard that it is its own */
	bool has_local; /* at is valid */
	bool reuses, af_only, af_only_set, tos_set, ack_timeout_set;
	bool is_passive;
	bool is_lost; /* its request was an earlier process's; UNREACHABLE when it is accepted */
	/* Its REP was an earlier process's; a peer that has not established it says REJ. */
	bool is_resumed;
	uint8_t tos, ack_timeout;
	struct vb_ucma_addr src, dst;
	uint64_t claim_service;
	struct vb_gid claim_gid; /* src may get an address later */
	struct vb_ucma_local at;
	struct vb_ucma_way way;
	struct vb_cm_conn *conn; /* NULL: no message was sent or came */
	struct vb_ucma_service *service;
	int32_t backlog; /* requests that may still wait */
	int32_t backlog_max;
	uint32_t dropped; /* requests that found none left */
	/* How its connection ended, view.h. */
	enum vb_ucma_end end;
	uint16_t end_reason;
	vb_time ended;
	struct vb_ucma_id *listener; /* of a request whose event was not taken; NULL after that */
	bool is_out;                 /* so is that event */
	uint32_t events_reported;
	uint32_t psn;  /* its own first one, random. CMP-04 */
	uint32_t qkey; /* UD */
	bool srq;
	struct vb_list mcs;
};

/* Ids that have ended, the last ones: cnt so far. */
struct vb_ucma_past {
	uint64_t cnt;
	struct vb_ucma_view view[VB_UCMA_PAST];
};

struct vb_ucma {
	struct vb_ucma_config cfg;
	struct vb_cm *cm;
	struct vb_rng rng;
	struct vb_list files, changed, services, asks;
	uint32_t ask_next;
	struct vb_list port[VB_UCMA_PORT_BUCKETS]; /* bound ids, by port space and port */
	struct vb_ucma_id **ids;                   /* by number */
	uint32_t id_next, id_cnt, file_cnt, mc_next;
	uint16_t port_last_given;
	struct vb_ucma_past past[2]; /* [1]: failures */
	uint32_t *version;           /* ahead.h; NULL: nobody wants to know */
	/* The state that is kept, keep.h. */
	bool has_region;
	struct vb_ucma_region region;
	struct vb_list touched, fresh;
	uint64_t event_seq;
	uint32_t event_kept_next, mc_kept_next;
	uint8_t event_used[VB_UCMA_KEPT_EVENTS], mc_used[VB_UCMA_KEPT_MCS];
};

/* memory.c */
void *vb_ucma_alloc(struct vb_ucma *u, size_t size); /* zeroed, or NULL */
void vb_ucma_free(struct vb_ucma *u, void *p);

/* addr.c: socket addresses as programs write them. */
/* -EAFNOSUPPORT: a family that is not known; -EINVAL: @len is too short for it. A family of 0 is no
 * address, where @len allows it. */
int vb_ucma_addr_parse(struct vb_ucma_addr *a, const uint8_t *bytes, uint32_t len);
/* Writes it into @room bytes, all of them; returns how many count. */
uint16_t vb_ucma_addr_emit(const struct vb_ucma_addr *a, uint8_t *bytes, uint32_t room);
bool vb_ucma_addr_eq(const struct vb_ucma_addr *a, const struct vb_ucma_addr *b); /* but the port */
struct vb_ucma_addr vb_ucma_addr_of(const struct vb_gid *g, uint16_t port);
/* Bytes of IP in front of private data. CMP-28 */
#define VB_UCMA_IP_HDR 36u
struct vb_ucma_ip_hdr {
	struct vb_ucma_addr src, dst; /* src with its port; the port of dst is the service ID's */
};
void vb_ucma_ip_hdr_emit(const struct vb_ucma_ip_hdr *h, uint8_t bytes[VB_UCMA_IP_HDR]);
/* -EPROTO: a version or a family that is not known. */
int vb_ucma_ip_hdr_parse(struct vb_ucma_ip_hdr *h, const uint8_t bytes[VB_UCMA_IP_HDR]);

/* id.c */
int vb_ucma_id_new(struct vb_ucma_file *f, uint16_t ps, uint8_t qp_type, struct vb_ucma_id **out);
/* Ends it as its state asks for; its events vanish, and requests in them are refused. CMP-34 */
void vb_ucma_id_end(struct vb_ucma_id *id, vb_time now);
/* The id @number of file @f. -ENOENT, -EINVAL: another file's. CMP-33 */
int vb_ucma_id_find(struct vb_ucma_file *f, uint32_t number, struct vb_ucma_id **out);
void vb_ucma_mc_leave(struct vb_ucma_mc *mc);

/* event.c */
/* A new event of @id, queued; NULL: no memory, or the id has none. */
struct vb_ucma_event *vb_ucma_event_add(struct vb_ucma_id *id, enum vb_ucma_event_kind kind,
					int32_t status);
void vb_ucma_event_free(struct vb_ucma_event *ev);
void vb_ucma_file_touch(struct vb_ucma_file *f);
/* Takes the next event that is not out: the accounts of GET_EVENT. -EAGAIN */
int vb_ucma_event_take(struct vb_ucma_file *f, struct vb_ucma_event_reply *out);
/* Whether an event of @mc is out; with NULL, of @id, or that names it. */
bool vb_ucma_event_is_out(const struct vb_ucma_id *id, const struct vb_ucma_mc *mc);
/* Whether the events of @id have room in @to, another file. */
bool vb_ucma_events_fit(const struct vb_ucma_id *id, const struct vb_ucma_file *to);
/* Moves what waits for @id, and is not out, to @to, where it fits. */
void vb_ucma_events_move(struct vb_ucma_id *id, struct vb_ucma_file *to);

/* keep.c: the id changes, so that its record is old; a record goes with what it is of. */
void vb_ucma_id_touch(struct vb_ucma_id *id);
/* The same where programs see no change of it. */
void vb_ucma_id_keep(struct vb_ucma_id *id);
void vb_ucma_id_unkeep(struct vb_ucma_id *id);
void vb_ucma_event_unkeep(struct vb_ucma_event *ev);
void vb_ucma_mc_unkeep(struct vb_ucma_mc *mc);

/* invariants.c: of an id and of a file at rest, in builds with all assertions. */
#ifdef VB_ASSERTS_ALL
void vb_ucma_id_assert(const struct vb_ucma_id *id);
void vb_ucma_file_assert(const struct vb_ucma_file *f);
#else
static inline void vb_ucma_id_assert(const struct vb_ucma_id *id)
{
	(void)id;
}

static inline void vb_ucma_file_assert(const struct vb_ucma_file *f)
{
	(void)f;
}
#endif

/* view.c */
void vb_ucma_id_note(struct vb_ucma_id *id, enum vb_ucma_end end, uint16_t reason, vb_time now);
/* The id is about to end: the fate of its connection is kept. */
void vb_ucma_id_remember(struct vb_ucma_id *id, vb_time now);

/* bind.c */
/* An id that was restored has its port, and its listener, again. */
void vb_ucma_bind_again(struct vb_ucma_id *id);
int vb_ucma_listen_again(struct vb_ucma_id *id);
/* With @claims, the program has asked for the address: others hear of it. */
int vb_ucma_bind(struct vb_ucma_id *id, const struct vb_ucma_addr *a, bool claims);
/* Others hear that the id has its service. 0, or what config.env.claim says. */
int vb_ucma_claim(struct vb_ucma_id *id);
void vb_ucma_unbind(struct vb_ucma_id *id);
int vb_ucma_listen(struct vb_ucma_id *id, int32_t backlog);
void vb_ucma_unlisten(struct vb_ucma_id *id, vb_time now);
/* The service ID of an address of the id: its own, or the one that it connects to. */
uint64_t vb_ucma_service_id(const struct vb_ucma_id *id, const struct vb_ucma_addr *a);
/* The P_Key that the id's addresses ask for. */
uint16_t vb_ucma_pkey(const struct vb_ucma_id *id);
/* Its index in the table of the port, 0 where it is not there. */
uint16_t vb_ucma_pkey_index(const struct vb_ucma_id *id);
/* The entry of @port's table with @pkey, or 0. */
uint16_t vb_ucma_pkey_index_at(const struct vb_ucma_ib_port *port, uint16_t pkey);

/* resolve.c */
int vb_ucma_resolve_addr(struct vb_ucma_id *id, const struct vb_ucma_addr *src,
			 const struct vb_ucma_addr *dst);
int vb_ucma_resolve_route(struct vb_ucma_id *id, uint32_t timeout_ms, vb_time now);
/* The way of packets, as the route says. CMP-43 */
struct vb_path vb_ucma_path(const struct vb_ucma_id *id);
uint8_t vb_ucma_lifetime(const struct vb_ucma_id *id);
uint8_t vb_ucma_mtu(const struct vb_ucma_id *id);
/* The same as a PathRecord, and what such a record says. */
struct vb_sa_path vb_ucma_path_record(const struct vb_ucma_id *id);
void vb_ucma_way_take(struct vb_ucma_id *id, const struct vb_sa_path *p);
struct vb_ucma_ah_attr vb_ucma_ah(const struct vb_ucma_id *id, const struct vb_path *p);
/* The number of the port on its device. */
static inline uint8_t vb_ucma_port_num(const struct vb_ucma_id *id)
{
	return id->u->cfg.env.ib_port ? id->at.hca_port : 1; /* each device of RoCE has one */
}

/* ask.c: the subnet administrator of a fabric. Each returns 0 or a negative errno. */
static inline bool vb_ucma_is_ib(const struct vb_ucma *u)
{
	return u->cfg.env.ib_port != NULL;
}
int vb_ucma_ask_path(struct vb_ucma_id *id, uint32_t timeout_ms, vb_time now);
int vb_ucma_ask_join(struct vb_ucma_mc *mc, vb_time now);
void vb_ucma_ask_leave(struct vb_ucma_mc *mc);
/* Answers for @mc, or with NULL for @id, are not awaited any more. */
void vb_ucma_asks_cancel(struct vb_ucma_id *id, const struct vb_ucma_mc *mc);
bool vb_ucma_asks_transmit(struct vb_ucma *u, struct vb_path *path, uint8_t mad[VB_MAD_LEN]);
void vb_ucma_asks_take(struct vb_ucma *u, const uint8_t mad[VB_MAD_LEN], vb_time now);
vb_time vb_ucma_asks_due(const struct vb_ucma *u);
void vb_ucma_asks_timeout(struct vb_ucma *u, vb_time now);

/* mcast.c: joining has an end. */
void vb_ucma_join_tell(struct vb_ucma_mc *mc, int status);

/* connect.c: the commands of a program. */
struct vb_ucma_call {
	struct vb_ucma_file *file, *other;
	struct vb_ucma_id *id; /* NULL: the command names none */
	const void *body;      /* zeros behind what was written */
	const void *extra;
	uint32_t extra_len;
	uint8_t *reply; /* of sizeof the reply's structure; zeros */
	uint32_t reply_len;
	uint32_t room; /* bytes that the caller has for it */
	vb_time now;
};
int vb_ucma_do_connect(struct vb_ucma_call *c);
int vb_ucma_do_accept(struct vb_ucma_call *c);
int vb_ucma_do_reject(struct vb_ucma_call *c);
int vb_ucma_do_disconnect(struct vb_ucma_call *c);
int vb_ucma_do_notify(struct vb_ucma_call *c);

/* request.c: the events of the connection manager. */
void vb_ucma_on_event(struct vb_ucma *u, const struct vb_cm_event *ev, vb_time now);

/* query.c, option.c, mcast.c */
int vb_ucma_do_query_route(struct vb_ucma_call *c);
int vb_ucma_do_query(struct vb_ucma_call *c);
int vb_ucma_do_init_qp_attr(struct vb_ucma_call *c);
int vb_ucma_do_set_option(struct vb_ucma_call *c);
int vb_ucma_do_join_ip(struct vb_ucma_call *c);
int vb_ucma_do_join(struct vb_ucma_call *c);
int vb_ucma_do_leave(struct vb_ucma_call *c);

/* Calls the connection manager has made nothing of yet: its events, at once. */
void vb_ucma_settle(struct vb_ucma *u, vb_time now);

#endif
