/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The packets of a process that has no socket of port 4791: the shared broker (node/carrier/)
 * receives them, checks their ICRC, and writes them into a ring that the process reads. Packets
 * that the process sends go by the link below, from sockets of its own.
 *
 * The process calls the shared broker on a connection to an abstract address that only root is
 * believed to have. It gets a slot and a ring; a user's broker gets a ring for QP1 and a part of
 * the communication IDs (IBA 12.4). These are the process's until the connection ends. The shared
 * broker wakes it by its wakeup endpoint (wakeup.h). When the shared broker ends, the link calls
 * the next one for the same slot.
 *
 * What the process asks later, it writes into the memory in front of its ring, and rings an
 * eventfd; the answer comes on the connection. So the shared broker takes nothing from a queue
 * that could hold descriptors of another user: to close one may take as long as that user likes.
 */
#ifndef VB_LINK_SHM_CARRIED_H
#define VB_LINK_SHM_CARRIED_H

#include "link/link.h"
#include "link/shm/ring.h"
#include "link/shm/wakeup.h"

#include <stddef.h>

#define VB_CARRIER_MAGIC 0x56424352u
#define VB_CARRIER_VERSION 3u
#define VB_CARRIER_TEXT_MAX 200

/* The bits of a communication ID, and of the TIDs of a user's MADs, that are his part: the upper
 * ones of the former, and the eight from bit 48 on of the latter. */
#define VB_CARRIER_ID_SHIFT 24u
#define VB_CARRIER_TID_SHIFT 48u

enum vb_carrier_op {
	VB_CARRIER_SLOT = 1, /* a slot with its ring */
	VB_CARRIER_QP1,      /* QP1 of a user, for his broker, with a ring */
	VB_CARRIER_STATUS,   /* how things stand: memory of a struct vb_carrier_status */
};

/* The call of a process. */
struct vb_carrier_call {
	uint32_t magic, version;
	uint32_t op;    /* enum vb_carrier_op */
	uint32_t had;   /* the slot, or the part, that it had; 0: any */
	uint64_t token; /* of its wakeup endpoint */
	uint32_t flags; /* of enum vb_carrier_flag */
	uint32_t rsv;   /* 0 */
};

enum vb_carrier_flag {
	VB_CARRIER_WANTS_SOCKET = 1, /* SLOT: packets may come by a socket as well */
};

/* With status 0 come along: the ring, the eventfd that is rung after each question, and where
 * packets come by a socket that. */
struct vb_carrier_answer {
	uint32_t magic, version;
	int32_t status;  /* 0 or a negative errno, then @text has one line for the user */
	uint32_t given;  /* the slot, or the part */
	uint32_t others; /* processes of the same user that had slots already */
	uint32_t qp_max; /* QPs that a process may have */
	char text[VB_CARRIER_TEXT_MAX];
};

enum vb_carrier_ask_op {
	/* QP1: messages for @service_id at the address @gid (zero: any) are this user's.
	 * -EADDRINUSE: another user has it; -EDQUOT. Counts: RELEASE as often. */
	VB_CARRIER_CLAIM = 1,
	VB_CARRIER_RELEASE,
	/* QP1: requests of the management class @service_id are this user's, see
	 * vb_carrier_class_key(); the same errors. */
	VB_CARRIER_CLAIM_CLASS,
	VB_CARRIER_RELEASE_CLASS,
	/* SLOT: packets of the group @gid, by the interface @ifindex, come into the ring. */
	VB_CARRIER_JOIN,
	VB_CARRIER_LEAVE,
};

struct vb_carrier_ask {
	uint32_t seq; /* not 0; another one each time */
	uint32_t op;  /* enum vb_carrier_ask_op */
	uint64_t service_id;
	struct vb_gid gid;
	uint32_t ifindex;
	uint32_t rsv; /* 0 */
};

/* The answer to such a question, on the connection. */
struct vb_carrier_reply {
	uint32_t magic;
	uint32_t seq; /* the question's */
	int32_t status;
	uint32_t rsv; /* 0 */
};

/* Requests of @method of a management class and its version; @oui: of a vendor's class of the
 * second range. */
static inline uint64_t vb_carrier_class_key(uint8_t mgmt_class, uint8_t class_version,
					    uint8_t method, uint32_t oui)
{
	return (uint64_t)oui << 24 | (uint64_t)mgmt_class << 16 | (uint64_t)class_version << 8 |
	       method;
}

static inline uint8_t vb_carrier_class_of(uint64_t key)
{
	return (uint8_t)(key >> 16);
}

/* The memory in front of a ring of the shared broker. */
struct vb_carried_head {
	struct vb_ring_head ring;
	uint8_t rsv[56];
	struct vb_wakeup wakeup; /* of which asleep alone is used */
	struct vb_carrier_ask ask;
};
_Static_assert(sizeof(struct vb_carried_head) <= VB_RING_HEAD_BYTES, "in front of the ring");

/* The process's side. */
struct vb_carried {
	enum vb_carrier_op op; /* SLOT or QP1 */
	int sock;              /* the connection; -1: there is none */
	int ask_fd;            /* rung after a question; -1 */
	int rx_fd;             /* a socket that packets come by; -1: none, or somebody took it */
	bool has_socket;       /* they do: link/carried/carried.c reads below, too */
	int wakeup_fd;         /* the wakeup endpoint... */
	uint64_t token;
	uint32_t slot;     /* VB_SLOT_GSI: QP1 */
	uint32_t part;     /* of the communication IDs, with QP1 */
	uint32_t others;   /* processes of this user that had slots already */
	uint32_t qp_max;   /* QPs that it may have */
	uint32_t seq;      /* of the last question */
	uint32_t attached; /* how often */
	void *mem;         /* VB_RING_MAP_BYTES; NULL: there is none */
};

/* One that is attached to nothing yet. */
static inline struct vb_carried vb_carried_nothing(enum vb_carrier_op op)
{
	return (struct vb_carried){
	    .op = op, .sock = -1, .ask_fd = -1, .rx_fd = -1, .wakeup_fd = -1};
}

/* The abstract address of the shared broker of this network namespace. Returns its length. */
struct sockaddr_un;
unsigned vb_carrier_address(struct sockaddr_un *a);

/*
 * Asks the shared broker for what @c is for: the slot, or the part, that @c had, or where that is 0
 * any. 0; -ENOENT: no shared broker runs here; another negative errno, with a line for the user in
 * @why if the shared broker has to do with it. @c is vb_carried_nothing(), or one whose connection
 * has ended: then its endpoint stays.
 */
int vb_carried_attach(struct vb_carried *c, char *why, size_t why_size);
void vb_carried_detach(struct vb_carried *c);

/* Whether a shared broker runs here. */
bool vb_carrier_runs(void);
/* Makes the call @op, which draws one answer with a descriptor or none, *fd, the caller's. The
 * errors of vb_carried_attach(). */
int vb_carrier_look(enum vb_carrier_op op, struct vb_carrier_answer *answer, int *fd);

/* Asks @ask, whose seq is set here, and waits for the answer, which it returns; -ENOTCONN: the
 * connection has ended; -ETIMEDOUT. */
int vb_carried_ask(struct vb_carried *c, struct vb_carrier_ask *ask);

/* A link before @cfg->lower, which sends. @cfg->carried is attached, and the link's from then on.
 */
int vb_carried_open(struct vb_link **out, const struct vb_link_config *cfg);

/* The part of it in the link @l or one below; NULL: none is one of these. */
struct vb_carried *vb_carried_of(struct vb_link *l);

#endif
