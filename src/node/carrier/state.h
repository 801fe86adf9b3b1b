/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of the shared broker, which is one thread: see carrier.h. */
#ifndef VB_NODE_CARRIER_STATE_H
#define VB_NODE_CARRIER_STATE_H

#include "base/prf.h"
#include "cm/cm.h"
#include "cm/park/park.h"
#include "link/carried/carried.h"
#include "link/link.h"
#include "node/carrier/carrier.h"
#include "node/carrier/direct/rules.h"
#include "node/carrier/users/kept.h"
#include "node/gsi/agent.h"
#include "node/store/group.h"
#include "node/store/slots.h"

#include <stdbool.h>
#include <sys/types.h>

/* Connections, those that have no slot yet among them. */
#define VB_CARRIER_CLIENTS (VB_SLOT_CNT + 256 + VB_CARRIER_USERS)
/* Connections of a user beyond the processes that may have slots: his broker, and those that have
 * not called yet. */
#define VB_CARRIER_SPARE 8u
/* The slots and services of a user are held for him for so long after his broker, or the last
 * shared broker, has ended. */
#define VB_CARRIER_HOLD_NS (5 * VB_SEC)
/* The socket of the group that takes the packets of QP1. */
#define VB_CARRIER_GSI_SOCKET (1 + VB_CARRIER_BYTES)
/* Bytes of a socket's receive buffer, node/store/group.c, as a user's memory counts them. */
#define VB_CARRIER_SOCKET_MIB 16u
#define VB_CARRIER_RING_MIB (VB_RING_BYTES >> 20)

struct vb_carrier_client {
	bool in_use;
	bool has_called; /* its call has been answered; only its end is waited for, and questions */
	uint32_t op;     /* VB_CARRIER_SLOT or VB_CARRIER_QP1: what it has; 0: nothing */
	uint32_t user;
	int sock, pidfd, ask_fd; /* -1: not known, or none */
	int rx_fd;               /* packets are steered there; -1: they go by the ring */
	uint32_t slot;           /* 0: none */
	uint32_t asked;          /* seq of the last question that was answered */
	uint64_t token;          /* of its wakeup endpoint */
	struct vb_ring_tx ring;
};

/* A user, beside what of him is kept. */
struct vb_carrier_user {
	uint32_t connections, processes, bytes, groups, claims;
	uint32_t sockets;              /* of processes that packets are steered to */
	struct vb_carrier_client *gsi; /* his broker; NULL: none has QP1 */
	vb_time held_until;            /* what he had is given up then; VB_NEVER: nothing is due */
	uint64_t seen; /* the number of his last connection: the oldest makes room */
};

struct vb_carrier_member {
	struct vb_gid gid;
	uint32_t ifindex;
	uint32_t client; /* its index */
};

/* The narrow slots of a low byte. */
struct vb_carrier_byte {
	uint32_t cnt;         /* processes; 0: it is nobody's */
	uint32_t user;        /* whose it is */
	vb_time held_until;   /* with cnt 0: it waits for the user who had it */
	bool is_left;         /* ... and none of his processes does */
	struct vb_link *link; /* receives what comes for them */
	bool has_more;        /* it has packets that its descriptor does not show */
	struct vb_carrier_member *member;
	uint32_t member_cnt;
};

#define VB_CARRIER_RECENT 4096u
/* The longest that a sender repeats a request: 15 times after 2^20 units of 4.096 us. IBA 12.9.8 */
#define VB_CARRIER_RECENT_NS (70 * VB_SEC)
#define VB_CARRIER_CLAIM_BUCKETS 4096u

/* Whom a request went to: his are its repetitions, and the REJ of a sender that has no answer. */
struct vb_carrier_recent {
	struct vb_gid gid;
	uint64_t service;
	uint32_t id, user;
	vb_time until; /* no repetition comes from then on */
	bool is_used;
};

struct vb_carrier_gsi {
	struct vb_link *link;
	bool has_more;
	struct vb_cm *cm; /* refuses requests for services that nobody has */
	struct vb_cm_park park;
	vb_dur listen_wait;
	struct vb_agent agent; /* answers what is asked of the host */
	struct vb_carrier_recent recent[VB_CARRIER_RECENT];
	uint64_t unmatched, bad, refused, answered;
};

#define VB_CARRIER_CLOSING 64u

struct vb_carrier {
	int listen_fd, epoll_fd, signal_fd, wake_fd;
	uint64_t secret[2]; /* of hash tables whose keys users choose */
	struct vb_carrier_limits limits;
	struct vb_group group; /* socket 0 takes what is nobody's, socket 1 + i is byte i's */
	struct vb_carrier_kept *kept;
	int kept_fd; /* -1: it is in this process alone */
	struct vb_carrier_user user[VB_CARRIER_USERS];
	uint64_t seen;
	vb_time hold_due;                                /* the first of their held_until */
	uint32_t claim_bucket[VB_CARRIER_CLAIM_BUCKETS]; /* index + 1 of a claim; 0: end */
	uint32_t claim_next[VB_CARRIER_USERS * VB_CARRIER_CLAIMS];
	struct vb_carrier_byte byte[VB_CARRIER_BYTES];
	struct vb_slots slots; /* none: they are the users'; with the device table */
	int netlink_fd;
	vb_time listen_due;  /* connections are taken again then; VB_NEVER: they are */
	vb_time devices_due; /* when it is read again; VB_NEVER: nothing has changed */
	struct vb_carrier_gsi gsi;
	bool is_direct; /* packets are steered to processes: direct/direct.h */
	struct vb_carrier_rules rules;
	struct vb_fault_spec faults; /* of packets that come, for all users */
	const char *fault_text;
	uint64_t fault_seed, faulted;
	uint64_t misdirected, strangers;
	int closing[VB_CARRIER_CLOSING]; /* connections that have ended: the process that closes
					  * them costs as much as many packets */
	uint32_t closing_cnt;
	vb_time closing_due; /* VB_NEVER: there is none */
	struct vb_carrier_client client[VB_CARRIER_CLIENTS];
	struct vb_carrier_client *of_slot[VB_SLOT_CNT]; /* NULL: nobody has it */
};

/* The source of an epoll event: one of these in the upper half, an index in the lower. */
enum vb_carrier_source {
	VB_CARRIER_ON_LISTEN,
	VB_CARRIER_ON_SIGNAL,
	VB_CARRIER_ON_SINK,
	VB_CARRIER_ON_BYTE,   /* a socket of the group */
	VB_CARRIER_ON_GSI,    /* QP1's */
	VB_CARRIER_ON_CLIENT, /* a connection */
	VB_CARRIER_ON_PIDFD,
	VB_CARRIER_ON_ASK, /* a question of a client */
	VB_CARRIER_ON_NETLINK,
};

/* watch.c */
int vb_carrier_watch(struct vb_carrier *c, int fd, enum vb_carrier_source source, uint32_t index);
/* From then on only the end of the connection @fd is an event. */
void vb_carrier_mute(struct vb_carrier *c, int fd, enum vb_carrier_source source, uint32_t index);
void vb_carrier_unwatch(struct vb_carrier *c, int fd);

static inline uint32_t vb_carrier_byte_of(uint32_t slot)
{
	return (slot - VB_SLOT_WIDE) / VB_SLOT_SHARE;
}

/* users.c */

/* All that an earlier shared broker has left is held for its users. */
void vb_carrier_users_begin(struct vb_carrier *c, vb_time now);
/* User @uid; VB_CARRIER_USERS: there is no place for one more. */
uint32_t vb_carrier_user_of(struct vb_carrier *c, uid_t uid);
static inline void vb_carrier_refused(struct vb_carrier *c, uint32_t user,
				      enum vb_carrier_refusal what)
{
	c->kept->user[user].counts.refused[what]++;
}
/* MiB that the packets of @user take, or may take. */
uint32_t vb_carrier_memory(const struct vb_carrier *c, uint32_t user);
/* ... and whether there is room for @mib more. */
bool vb_carrier_has_memory(const struct vb_carrier *c, uint32_t user, uint32_t mib);
/* The broker of @user is gone, or has come: what he has is held for a while. */
void vb_carrier_hold(struct vb_carrier *c, uint32_t user, vb_time now);
/* At hold_due. */
void vb_carrier_users_timeouts(struct vb_carrier *c, vb_time now);

/* claims.c: service IDs and management classes. */
void vb_carrier_claims_begin(struct vb_carrier *c);
int vb_carrier_claim(struct vb_carrier *c, uint32_t user, const struct vb_carrier_claim *what);
void vb_carrier_unclaim(struct vb_carrier *c, uint32_t user, const struct vb_carrier_claim *what);
/* Gives up those of @user, or with @old only those that no broker has made again. */
void vb_carrier_claims_drop(struct vb_carrier *c, uint32_t user, bool old);
/* The next broker of @user has to make them again. */
void vb_carrier_claims_age(struct vb_carrier *c, uint32_t user);
/* The user who has it; VB_CARRIER_USERS: nobody. */
uint32_t vb_carrier_claimant(const struct vb_carrier *c, enum vb_carrier_claim_kind kind,
			     uint64_t key, const struct vb_gid *gid);

/* clients.c: takes a connection, or none for a while where this process can have no more
 * descriptors; reads its call; ends it, with what it has. */
void vb_carrier_accept(struct vb_carrier *c);
/* At listen_due. */
void vb_carrier_accept_again(struct vb_carrier *c);
void vb_carrier_called(struct vb_carrier *c, uint32_t index);
void vb_carrier_end(struct vb_carrier *c, uint32_t index);
/* Closes the connections that have ended. */
void vb_carrier_close_ended(struct vb_carrier *c);

/* places.c: answers a call for a slot, or for QP1. Returns the descriptor of the ring, the
 * caller's, or a negative errno; with a refusal's text in @answer. */
int vb_carrier_give(struct vb_carrier *c, struct vb_carrier_client *p, uint32_t had,
		    struct vb_carrier_answer *answer);
void vb_carrier_take_back(struct vb_carrier *c, struct vb_carrier_client *p);

/* ask.c: the client has rung. */
void vb_carrier_asked(struct vb_carrier *c, uint32_t index);

/* listen.c: the socket at which users call, bound by this process or handed in by a service
 * manager. A descriptor or a negative errno. */
int vb_carrier_listen(void);

/* faults.c: the time at which a packet that faults hold back goes on. */
vb_time vb_carrier_faults_due(const struct vb_carrier *c);
void vb_carrier_faults_timeouts(struct vb_carrier *c, vb_time now);

/* status.c: the descriptor of a memory that says how things stand, for @user or, with root, for
 * everybody; the caller's; or a negative errno. */
int vb_carrier_status(const struct vb_carrier *c, uint32_t user);

/* members.c: multicast groups of a client. */
int vb_carrier_join(struct vb_carrier *c, struct vb_carrier_client *p, const struct vb_gid *gid,
		    uint32_t ifindex);
void vb_carrier_leave(struct vb_carrier *c, struct vb_carrier_client *p, const struct vb_gid *gid,
		      uint32_t ifindex);
void vb_carrier_leave_all(struct vb_carrier *c, struct vb_carrier_client *p);

/* link.c: begins and ends to receive for byte @i. 0 or a negative errno. */
int vb_carrier_byte_open(struct vb_carrier *c, uint32_t i);
void vb_carrier_byte_close(struct vb_carrier *c, uint32_t i);
/* Receives by socket @k of the group. */
int vb_carrier_link_open(struct vb_carrier *c, uint32_t k, struct vb_link **out);
/* The HCA port of the device table that has interface @ifindex, the port of paths; 0: none has. */
uint8_t vb_carrier_port(const struct vb_carrier *c, uint32_t ifindex);
/* The device table has changed. */
void vb_carrier_follow(struct vb_carrier *c);
/* carry.c: writes packets of one path to a client, and wakes it. Returns how many there was room
 * for. */
uint32_t vb_carrier_put(struct vb_carrier *c, struct vb_carrier_client *p, const struct vb_tx *tx,
			uint32_t cnt, vb_time now);
/* Carries some of the packets that wait for byte @i. */
void vb_carrier_carry(struct vb_carrier *c, uint32_t i);

/* gsi.c: QP1. 0 or a negative errno. */
int vb_carrier_gsi_open(struct vb_carrier *c);
void vb_carrier_gsi_close(struct vb_carrier *c);
void vb_carrier_gsi_packets(struct vb_carrier *c);
/* Somebody has the service now: requests that waited for him are his. */
void vb_carrier_gsi_hear(struct vb_carrier *c, uint64_t service_id);
void vb_carrier_gsi_timeouts(struct vb_carrier *c, vb_time now);
vb_time vb_carrier_gsi_due(const struct vb_carrier *c);

/* send.c: the packet, from QP1 to QP1, of the MAD in @seg... */
void vb_carrier_mad_frame(struct vb_tx *tx, const struct vb_path *path, const struct vb_seg *seg,
			  uint8_t seg_cnt);
/* ... and sends one of @len bytes, those behind @mad zero, from the host's QP1. */
void vb_carrier_mad_send(struct vb_carrier *c, const struct vb_path *path,
			 const uint8_t mad[VB_MAD_LEN], uint32_t len);

#endif
