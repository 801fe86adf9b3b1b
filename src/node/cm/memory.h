/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of the connection manager that outlives a killed broker: a memory with the channels,
 * their last answers and the records of the machine (ucma/keep/keep.h), and stores with the
 * broker's ends of the channels. Both lie in the descriptor store (fd_store.h), of which each
 * client has a copy. CMP-51
 */
#ifndef VB_NODE_CM_MEMORY_H
#define VB_NODE_CM_MEMORY_H

#include "node/cm/call.h"
#include "node/store/slots.h"
#include "ucma/keep/keep.h"

/* Channels of one store: as many as an ordinary user's socket buffer has room for, twice. */
#define VB_CM_STORE_CHANNELS (VB_CM_CHANNELS_MAX / VB_CM_STORES)

#define VB_CM_USER_BYTES 16 /* with the 0 at the end */

struct vb_cm_kept_channel {
	uint64_t token;              /* 0: there is none */
	uint64_t serial;             /* of the command that answer is to */
	uint64_t hold_serial;        /* of the command for which a process takes its events back */
	uint32_t is_held;            /* one does, and has not said which */
	uint32_t pid;                /* of the program that gave the last command; 0: none has */
	char user[VB_CM_USER_BYTES]; /* its name, as in /proc/PID/comm */
	struct vb_cm_answer answer;
};

struct vb_cm_kept {
	uint32_t magic, version;
	struct vb_journal journal;
	struct vb_cm_kept_channel channel[VB_CM_CHANNELS_MAX];
	struct vb_ucma_kept ucma;
};

struct vb_cm_memory {
	struct vb_slots *slots;
	struct vb_cm_kept *kept; /* NULL: nothing is kept */
	uint32_t item_cnt[VB_CM_STORES];
};

/* Makes it, or takes that of an earlier broker, which @s has adopted. 1: an earlier one's, 0: it is
 * new; or a negative errno, and nothing is kept. */
int vb_cm_memory_open(struct vb_cm_memory *m, struct vb_slots *s);
void vb_cm_memory_close(struct vb_cm_memory *m);

/* The region of the machine in it. */
struct vb_ucma_region vb_cm_memory_region(const struct vb_cm_memory *m);

/* Keeps channel @index, whose end here is @fd. A failure leaves it out. */
void vb_cm_memory_add(struct vb_cm_memory *m, uint32_t index, uint64_t token, int fd);
void vb_cm_memory_remove(struct vb_cm_memory *m, uint32_t index);

/* Calls @each with every channel that is kept; it owns @fd. */
void vb_cm_memory_walk(struct vb_cm_memory *m,
		       void (*each)(void *ctx, uint32_t index, uint64_t token, int fd), void *ctx);

/* The answer to command @serial of channel @index, or NULL: it was never carried out. */
const struct vb_cm_answer *vb_cm_memory_answer(const struct vb_cm_memory *m, uint32_t index,
					       uint64_t serial);
/* Whether events of channel @index are being taken back, for command @serial; the change is
 * committed as an answer is. */
bool vb_cm_memory_is_held(const struct vb_cm_memory *m, uint32_t index, uint64_t *serial);
void vb_cm_memory_hold(struct vb_cm_memory *m, uint32_t index, bool is_held, uint64_t serial);
/* The program that uses channel @index, for those who look on. It is no part of a command, so a
 * broker that is killed in the middle leaves at worst a wrong name. */
void vb_cm_memory_set_user(struct vb_cm_memory *m, uint32_t index, uint32_t pid, const char *name);
/* Its name comes in *name, and its pid is returned; 0: nobody has used the channel. */
uint32_t vb_cm_memory_user(const struct vb_cm_memory *m, uint32_t index,
			   char name[VB_CM_USER_BYTES]);
/* Writes an answer down, to be committed with what the command has changed. */
void vb_cm_memory_put_answer(struct vb_cm_memory *m, uint32_t index, uint64_t serial,
			     const struct vb_cm_answer *a);

#endif
