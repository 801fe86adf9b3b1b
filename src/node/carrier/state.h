/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of the shared broker, which is one thread: see carrier.h. */
#ifndef VB_NODE_CARRIER_STATE_H
#define VB_NODE_CARRIER_STATE_H

#include "link/link.h"
#include "link/shm/carried.h"
#include "node/store/group.h"

#include <stdbool.h>
#include <sys/types.h>

/* Connections, those that have no slot yet among them. */
#define VB_CARRIER_CLIENTS (VB_SLOT_CNT + 256)
/* Connections of a user beyond the processes that may have slots. */
#define VB_CARRIER_SPARE 8u
/* Low bytes of QPNs that users get. */
#define VB_CARRIER_BYTES (256 - VB_SLOT_WIDE)

struct vb_carrier_client {
	bool in_use;
	bool has_called; /* its call has been answered; only its end is waited for */
	uid_t uid;
	int sock, pidfd; /* pidfd -1: not known */
	uint32_t slot;   /* 0: none yet */
	uint64_t token;  /* of its wakeup endpoint */
	struct vb_ring_tx ring;
	uint64_t carried, dropped; /* packets */
};

/* The narrow slots of a low byte. */
struct vb_carrier_byte {
	uint32_t cnt; /* processes; 0: it is nobody's */
	uid_t uid;
	struct vb_link *link; /* receives what comes for them */
	bool has_more;        /* it has packets that its descriptor does not show */
};

struct vb_carrier {
	int listen_fd, epoll_fd, signal_fd, wake_fd;
	uint64_t token; /* of wake_fd */
	uint32_t processes_max;
	struct vb_group group; /* socket 0 takes what is nobody's, socket 1 + i is byte i's */
	struct vb_carrier_byte byte[VB_CARRIER_BYTES];
	uint32_t ifindex[VB_LINK_PORTS_MAX]; /* of network devices that packets came by */
	struct vb_carrier_client client[VB_CARRIER_CLIENTS];
	struct vb_carrier_client *of_slot[VB_SLOT_CNT]; /* NULL: nobody has it */
};

/* The source of an epoll event: one of these in the upper half, an index in the lower. */
enum vb_carrier_source {
	VB_CARRIER_LISTEN,
	VB_CARRIER_SIGNAL,
	VB_CARRIER_SINK,
	VB_CARRIER_BYTE,   /* a socket of the group */
	VB_CARRIER_CLIENT, /* a connection */
	VB_CARRIER_PIDFD,
};

/* watch.c */
int vb_carrier_watch(struct vb_carrier *c, int fd, enum vb_carrier_source source, uint32_t index);
/* From then on only the end of the connection @fd is an event. */
void vb_carrier_mute(struct vb_carrier *c, int fd, enum vb_carrier_source source, uint32_t index);
void vb_carrier_unwatch(struct vb_carrier *c, int fd);

/* clients.c: takes a connection; reads what it asks for; ends it, with its slot. */
void vb_carrier_accept(struct vb_carrier *c);
void vb_carrier_answer(struct vb_carrier *c, uint32_t index);
void vb_carrier_end(struct vb_carrier *c, uint32_t index);

/* carry.c: begins and ends to receive for byte @i. 0 or a negative errno. */
int vb_carrier_byte_open(struct vb_carrier *c, uint32_t i);
void vb_carrier_byte_close(struct vb_carrier *c, uint32_t i);
/* Carries some of the packets that wait for byte @i. */
void vb_carrier_carry(struct vb_carrier *c, uint32_t i);
/* Goes on with bytes whose descriptor does not show what is left. True: there still is something.
 */
bool vb_carrier_carry_more(struct vb_carrier *c);

#endif
