/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The packets of a process that has no socket of port 4791: the shared broker (node/carrier/)
 * receives them, checks their ICRC, and writes them into a ring that the process reads. Packets
 * that the process sends go by the link below, from sockets of its own.
 *
 * The process asks for a slot and a ring on a connection to the shared broker, an abstract address
 * of its own that only root is believed to have; the slot is the process's until the connection
 * ends. The shared broker wakes it by its wakeup endpoint (wakeup.h). When the shared broker ends,
 * the link asks the next one for the same slot.
 */
#ifndef VB_LINK_SHM_CARRIED_H
#define VB_LINK_SHM_CARRIED_H

#include "link/link.h"
#include "link/shm/ring.h"
#include "link/shm/wakeup.h"

#include <stddef.h>

#define VB_CARRIER_MAGIC 0x56424352u
#define VB_CARRIER_VERSION 1u
#define VB_CARRIER_TEXT_MAX 200

/* The question of a process. */
struct vb_carrier_call {
	uint32_t magic, version;
	uint32_t slot;  /* that it had; 0: any */
	uint32_t rsv;   /* 0 */
	uint64_t token; /* of its wakeup endpoint */
};

/* With status 0 the descriptor of the ring comes along. */
struct vb_carrier_answer {
	uint32_t magic, version;
	int32_t status; /* 0 or a negative errno, then @text has one line for the user */
	uint32_t slot;
	uint32_t others; /* processes of the same user that had slots already */
	uint32_t rsv;    /* 0 */
	char text[VB_CARRIER_TEXT_MAX];
};

/* The memory in front of a ring of the shared broker. */
struct vb_carried_head {
	struct vb_ring_head ring;
	uint8_t rsv[56];
	struct vb_wakeup wakeup; /* of which asleep alone is used */
};
_Static_assert(sizeof(struct vb_carried_head) <= VB_RING_HEAD_BYTES, "in front of the ring");

/* The process's side. */
struct vb_carried {
	int sock;      /* the connection; -1: there is none */
	int wakeup_fd; /* the wakeup endpoint... */
	uint64_t token;
	uint32_t slot;
	uint32_t others; /* processes of this user that had slots already */
	void *mem;       /* VB_RING_MAP_BYTES; NULL: there is none */
};

/* The abstract address of the shared broker of this network namespace. Returns its length. */
struct sockaddr_un;
unsigned vb_carrier_address(struct sockaddr_un *a);

/*
 * Asks the shared broker for a slot, for slot @slot if that is not 0. 0; -ENOENT: no shared broker
 * runs here; another negative errno, with a line for the user in @why if the shared broker has to
 * do with it. @c is empty, or one whose connection has ended: then its endpoint stays.
 */
int vb_carried_attach(struct vb_carried *c, uint32_t slot, char *why, size_t why_size);
void vb_carried_detach(struct vb_carried *c);

/* Whether a shared broker runs here. */
bool vb_carrier_runs(void);

/* A link before @cfg->lower, which sends. @cfg->carried is attached, and the link's from then on.
 */
int vb_carried_open(struct vb_link **out, const struct vb_link_config *cfg);

#endif
