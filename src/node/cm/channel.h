/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Channels, open files of /dev/infiniband/rdma_cm, and how events get to programs: an event lies as
 * one message in the pair of its channel (node/cm/call.h), where any thread of any process that has
 * the descriptor takes it without asking the broker. Messages are all of one size, so the bytes
 * that wait in the pair tell how many were taken.
 */
#ifndef VB_NODE_CM_CHANNEL_H
#define VB_NODE_CM_CHANNEL_H

#include "base/spin.h"
#include "base/time.h"
#include "node/cm/call.h"
#include "node/cm/memory.h"
#include "ucma/ucma.h"

struct vb_channel {
	struct vb_cm_host *cm;
	uint32_t index;
	int fd; /* the broker's end */
	uint64_t token;
	struct vb_ucma_file *file;
	uint32_t room;   /* events that the pair has room for */
	bool waits_room; /* the loop says when there is some again */
	bool is_shared;  /* a process has attached to it, after one has opened it */
	/* A process takes events back: none is given out meanwhile. NULL with is_held: a broker
	 * that was killed asked it to, and it asks again here by the call hold_serial. */
	const void *holder;
	uint64_t hold_serial;
	bool is_held;
};

/* The calls of its process's loop that the connection manager uses: the sockets of its channels are
 * looked at, by their index, for an end or a message and, with @on, for room. */
struct vb_cm_loop {
	int (*watch)(void *ctx, int fd, uint32_t index);
	int (*watch_room)(void *ctx, int fd, uint32_t index, bool on);
	void (*unwatch)(void *ctx, int fd);
	void *ctx;
};

/* The connection manager of a host, or of a node of a fabric. */
struct vb_cm_host {
	struct vb_cm_loop loop;
	struct vb_ucma *ucma;
	struct vb_gsi *gsi;
	uint32_t attached;          /* vb_gsi_attached() that is known */
	vb_time gsi_due;            /* without QP1: when to ask the shared broker for it; 0: not */
	struct vb_cm_memory memory; /* the part that outlives this broker */
	int versions_fd;            /* -1: there is no memory for them, and nothing is read ahead */
	uint32_t *version;
	vb_time last_call;
	uint32_t slow; /* vb_pace_slowness() */
	struct vb_spin spin;
	bool spins;           /* it looks, or has looked, for the next call */
	uint64_t number;      /* vb_broker_cm_number() */
	uint32_t event_bytes; /* that an event takes of a pair, as SIOCOUTQ counts them */
	uint32_t channel_cnt;
	vb_time
	    hold_until; /* until then those that a broker before asked for events may return them */
	struct vb_channel *channel[VB_CM_CHANNELS_MAX];
};

/* Draws a number, and learns how SIOCOUTQ counts. Returns 0 or a negative errno. */
int vb_channels_open(struct vb_cm_host *cm);
/* The channel that @token names; NULL: none does. */
struct vb_channel *vb_channel_find(const struct vb_cm_host *cm, uint64_t token);
/* A new channel with the broker's end @fd, which it owns from then on. 0 or a negative errno. */
int vb_channel_open(struct vb_cm_host *cm, int fd, uint64_t *token);
/* A channel of the broker before, as vb_cm_memory_walk() calls it. */
void vb_channel_adopt(void *ctx, uint32_t index, uint64_t token, int fd);
/* The program @pid with the name @name uses the channel. */
void vb_channel_set_user(struct vb_channel *ch, uint32_t pid, const char *name);
void vb_channel_close(struct vb_cm_host *cm, uint32_t index, vb_time now);

/* Notes the events that were taken since. */
void vb_channel_sync(struct vb_channel *ch);
/* Gives out the events that wait, as far as there is room. */
void vb_channel_tell(struct vb_channel *ch);
/* @who has taken the @len bytes of numbers at @seq, of events, back, and says so by its call
 * @serial.
 */
void vb_channel_return(struct vb_channel *ch, const void *who, uint64_t serial, const uint8_t *seq,
		       uint32_t len);
/* @who will take the events of @ch back, as its call @serial asks for. It is kept. False: another
 * process is at it. */
bool vb_channel_hold(struct vb_channel *ch, const void *who, uint64_t serial);
/* The process @who has ended; NULL: those that a broker before had asked. Events that it had taken
 * back go with it; all others still lie there. */
void vb_channels_release(struct vb_cm_host *cm, const void *who);
/* The socket of channel @index is readable, or has room again. */
void vb_channel_event(struct vb_cm_host *cm, uint32_t index, vb_time now);
/* At hold_until. */
void vb_channels_timeouts(struct vb_cm_host *cm, vb_time now);

/* Where in the body of @a that begins which is read ahead. */
static inline uint32_t vb_cm_ahead_at(const struct vb_cm_answer *a)
{
	return (a->len + 7u) & ~7u;
}

/* Adds to @a, the answer to @c, the answers to the questions that are likely to follow. */
void vb_channel_add_ahead(struct vb_channel *ch, const struct vb_ucma_command *c,
			  struct vb_cm_answer *a);

#endif
