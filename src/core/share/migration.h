/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One target, SRQs of several HCAs. Each process of a host is an HCA of its own, and all packets
 * for a target arrive at its owner, the HCA that made it. The objects a request needs - receive
 * WQE, CQ, PD, memory - are where its SRQ is. So the responder's state travels: it
 * migrates from the owner, with the packet that is for another HCA, to a holder there, a target QP
 * that nobody addresses. The holder is an ordinary responder, and sends its answers itself: an
 * initiator sees the same numbers and addresses from both. While the state is away the owner hands
 * on what is for the same HCA, and keeps the rest, in order, until the holder was asked for the
 * state and has returned it. At each time one HCA has the state, and it alone acts for the target.
 * IBA A14.3
 *
 * Neither side trusts the other with more than the target: messages are checked like packets from
 * the wire. A message names the migration by a serial number, so that a late message finds nobody.
 */
#ifndef VB_CORE_SHARE_MIGRATION_H
#define VB_CORE_SHARE_MIGRATION_H

#include "base/slot.h"
#include "core/xrc/xrc.h"

enum vb_xrc_kind {
	/* owner to holder */
	VB_XRC_MIGRATE, /* state, and the packet that it migrates for */
	VB_XRC_PACKET,  /* the next packet */
	VB_XRC_RECALL,  /* return it when nothing is left to send */
	VB_XRC_END,     /* the target has failed, or gone */
	VB_XRC_CHECK,   /* do you have it? */
	/* holder to owner */
	VB_XRC_RETURN, /* state; ERR: with the events that say why */
	VB_XRC_REFUSE, /* a MIGRATE, unchanged: there is no such domain here */
	VB_XRC_GONE,   /* it is not here */
	VB_XRC_HAVE,   /* are you there? */
	/* a handle to the owner: open.h */
	VB_XRC_OPEN,  /* may I? */
	VB_XRC_ASK,   /* what is it like, after this was set? */
	VB_XRC_CLOSE, /* done with it */
	VB_XRC_HOLD,  /* it is open here */
	/* owner to a handle */
	VB_XRC_ANSWER, /* to an OPEN or an ASK */
	VB_XRC_EVENT,  /* has happened to it */
	VB_XRC_OVER,   /* it is gone */
	VB_XRC_STILL,  /* do you have it open? */
	VB_XRC_KINDS
};

#define VB_XRC_MAGIC 0x56425852u

struct vb_xrc_msg {
	uint32_t magic;
	uint32_t kind;   /* enum vb_xrc_kind */
	uint32_t qpn;    /* of the target, at its owner */
	uint32_t serial; /* of the migration, or the question */
	struct vb_xrcd_name name;
	uint32_t state_len;   /* bytes behind this: struct vb_xrc_state and its resources... */
	uint32_t pkt_len;     /* ... and then a packet, BTH through pad */
	uint32_t events;      /* RETURN, EVENT: bit (1 << enum vb_async) */
	uint32_t is_migrated; /* HAVE: the state is here */
};
_Static_assert(sizeof(struct vb_xrc_msg) % 8 == 0, "the state is behind it");

struct vb_xrc_resource {
	uint64_t va, orig;
	uint32_t first, pkts, rkey, len, msn, srqn;
	uint32_t kind, rsv; /* enum vb_resource_kind */
};

/* A responder that owes no answers but an ACK or a NAK. Truth values are 0 or not. */
struct vb_xrc_state {
	struct vb_qp_attr attr;
	uint64_t va, left, rcvd;
	uint32_t state; /* enum vb_qp_state: RTR or ERR */
	uint32_t epsn, msn, msg, rkey, srqn;
	uint32_t resp_state, ack_due, nak_syndrome, ack_psn, dropped;
	uint32_t res_cnt;
	struct vb_xrc_resource res[]; /* the oldest first */
};

/* A kept packet is not longer: headers and payload at the largest MTU. */
#define VB_XRC_PKT_MAX (VB_HDR_MAX + 4096u + VB_PAD_MAX)

_Static_assert(sizeof(struct vb_xrc_msg) + sizeof(struct vb_xrc_state) +
		       128 * sizeof(struct vb_xrc_resource) + VB_XRC_PKT_MAX <=
		   VB_XRC_MSG_MAX,
	       "a state with all resources there can be, and a packet");

/* HCAs that may share a domain: each has a process slot. */
#define VB_XRC_PEERS VB_SLOT_CNT

/* The events that a holder raises for its owner. */
#define VB_XRC_EVENTS                                                                              \
	(1u << VB_ASYNC_QP_FATAL | 1u << VB_ASYNC_QP_REQ_ERR | 1u << VB_ASYNC_QP_ACCESS_ERR)

/* Packets that all owners of an HCA keep, and one of them. */
#define VB_XRC_POOL 1024u
#define VB_XRC_KEPT_MAX 512u

struct vb_xrc_kept {
	uint32_t len;
	uint32_t next; /* in its queue or among the free ones: index + 1; 0: the last */
	uint8_t bytes[VB_XRC_PKT_MAX];
};

struct vb_xrc_pool {
	uint64_t msg[VB_XRC_MSG_MAX / 8]; /* where messages are put together */
	uint32_t free, used;              /* used: never taken before, from there on */
	struct vb_xrc_kept pkt[VB_XRC_POOL];
};

struct vb_xrc_migration {
	struct vb_list link; /* in hca->migrations while there is something to do */
	struct vb_qp *qp;
	bool is_holder;   /* this is the holder, of target owner_qpn at peer */
	bool is_migrated; /* owner: the holder at peer has the state; holder: it is here */
	bool recall;      /* owner: a RECALL is due or sent; holder: it has come */
	bool sent;        /* ... the former was sent */
	bool is_busy;     /* holder: a packet has come since the last probe */
	uint32_t peer;    /* its slot */
	uint32_t serial;  /* of the last migration */
	uint32_t owner_qpn;
	uint32_t events; /* holder: raised since, bit (1 << enum vb_async) */
	/* Owner: HCAs with a holder; packets kept, pool indices + 1. */
	uint64_t peers[VB_XRC_PEERS / 64];
	uint32_t first, last, cnt;
};

/* migration.c: the owner, and messages. */
enum vb_verdict vb_xrc_recv(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
			    vb_time now);
/* The state goes, with its QP; it fails. */
void vb_xrc_end_migration(struct vb_qp *qp);
void vb_xrc_fail_migration(struct vb_qp *qp);
/* Sends a message about @mig, @state: with that, and with the packet @rx unless NULL. 0; -EAGAIN:
 * not now; another errno: nobody is there. */
int vb_xrc_say(struct vb_xrc_migration *mig, enum vb_xrc_kind kind, bool state,
	       const struct vb_rx *rx);
struct vb_xrc_migration *vb_xrc_migration_new(struct vb_qp *qp);
/* An answer to @m that says @kind: all of it again, or without state and packet. */
void vb_xrc_answer(struct vb_hca *h, uint32_t peer, const struct vb_xrc_msg *m,
		   enum vb_xrc_kind kind, bool all);
/* There is something to do at the next vb_xrc_run(). */
void vb_xrc_later(struct vb_xrc_migration *mig);

/* A message from a holder; the kept packets, as far as they need not wait; once a second while the
 * state is away. */
void vb_xrc_owner_take(struct vb_hca *h, uint32_t peer, const struct vb_xrc_msg *m, vb_time now);
void vb_xrc_owner_run(struct vb_xrc_migration *mig, vb_time now);
void vb_xrc_owner_probe(struct vb_xrc_migration *mig, vb_time now);

/* holder.c */
bool vb_xrc_holder_run(struct vb_xrc_migration *mig, vb_time now);
int vb_xrc_holder_take(struct vb_hca *h, uint32_t peer, const struct vb_xrc_msg *m, vb_time now);
/* Once a second. */
void vb_xrc_holder_probe(struct vb_xrc_migration *mig, vb_time now);

/* migration_state.c */
size_t vb_xrc_state_size(const struct vb_qp *qp);
void vb_xrc_state_put(struct vb_qp *qp, struct vb_xrc_state *to);
/* -EPROTO: no responder is like that; nothing has changed. */
int vb_xrc_state_take(struct vb_qp *qp, const struct vb_xrc_state *from, size_t len, vb_time now);

static inline bool vb_xrc_is_away(const struct vb_qp *qp)
{
	return qp->mig->is_migrated && !qp->mig->is_holder;
}

static inline bool vb_xrc_is_holder(const struct vb_qp *qp)
{
	return qp->mig && qp->mig->is_holder;
}

/* The number by which initiators know the QP. */
static inline uint32_t vb_xrc_number(const struct vb_qp *qp)
{
	return vb_xrc_is_holder(qp) ? qp->mig->owner_qpn : qp->qpn;
}

static inline const struct vb_xrc_state *vb_xrc_msg_state(const struct vb_xrc_msg *m)
{
	return (const struct vb_xrc_state *)(const void *)(m + 1);
}

/* The packet of a message as one that was received. */
static inline struct vb_rx vb_xrc_msg_packet(const struct vb_xrc_msg *m, const struct vb_path *path)
{
	return (struct vb_rx){.pkt = (const uint8_t *)(m + 1) + m->state_len,
			      .len = m->pkt_len,
			      .avail = m->pkt_len,
			      .path = path};
}

#endif
