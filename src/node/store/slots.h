/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The objects that the broker owns and the descriptor store keeps: host memory, the group, and the
 * slots with their memory. A slot is made when the first client needs it and then kept; its socket
 * and its memory serve one owner after the other. Processes get the first wide slot that is free;
 * when all of these are taken, a narrow one. Narrow slots are made together where they share a low
 * byte of QPNs, and which of them a process gets is drawn: so its QPNs are as hard to guess as
 * those of a wide one.
 */
#ifndef VB_NODE_STORE_SLOTS_H
#define VB_NODE_STORE_SLOTS_H

#include "node/shared/shm.h"
#include "node/store/group.h"

#include <stdbool.h>
#include <sys/types.h>

struct vb_slot {
	int mem_fd; /* -1: the slot has not been made */
	struct vb_slot_shm *shm;
	bool is_taken;      /* a process has it */
	bool is_used;       /* its memory says something: one has it, or may have had it */
	uint32_t qpn_start; /* qpn_next when the owner came */
};

/* Stores of channels of the connection manager, node/cm/memory.h. */
#define VB_CM_STORES 16u

struct vb_slots {
	int host_fd;
	int cm_fd;                     /* memory of the connection manager; -1: none yet */
	int channels_fd[VB_CM_STORES]; /* -1: none yet */
	struct vb_host_shm *host;
	int fd_store;    /* -1: there is no group yet, nor carried slots */
	bool is_carried; /* the shared broker has the port: there is no group */
	struct vb_group group;
	bool capture;
	struct vb_slot slot[VB_SLOT_CNT];
};

/* Makes host memory; the group comes with vb_slots_start() or vb_slots_adopt(). */
int vb_slots_init(struct vb_slots *s);

/* Makes the descriptor store and the group. -EADDRINUSE: somebody has the port. */
int vb_slots_start(struct vb_slots *s);

/*
 * Takes everything over from an earlier broker's @fd_store, which it owns from then on. Slots whose
 * shm->pid is not 0 are taken afterwards. -EINVAL or -EPROTO: not a descriptor store of this
 * version; then nothing has changed but that @fd_store is closed.
 */
int vb_slots_adopt(struct vb_slots *s, int fd_store);

/* Gives a free slot to process @pid. Returns the slot or a negative errno: -ENOSPC, -EMFILE ... */
int vb_slots_take(struct vb_slots *s, pid_t pid, const char *comm);

/* The same where the shared broker has the port: processes bring the slots that they have from it.
 */
int vb_slots_start_carried(struct vb_slots *s);

/* Slot @k, which process @pid has from the shared broker, is that process's here. 0 or a negative
 * errno: -EINVAL there is no such slot, -EBUSY another one has it. */
int vb_slots_take_carried(struct vb_slots *s, uint32_t k, pid_t pid, const char *comm);

/* Slot @k, which has been made and is free, is process @pid's: its socket takes packets. */
void vb_slots_occupy(struct vb_slots *s, uint32_t k, pid_t pid, const char *comm);

/* The owner is gone: its counters go to the past, its QPNs are not used again soon. */
void vb_slots_release(struct vb_slots *s, uint32_t slot);

/* Whether the memory of slot @k says anything: a process has it, or had it. */
bool vb_slots_is_used(const struct vb_slots *s, uint32_t k);

/* Switches the capture rings of all slots, present and future. */
void vb_slots_capture(struct vb_slots *s, bool on);

/* The adapter's own state, behind the device table. */
struct vb_adapter_shm *vb_slots_adapter(const struct vb_slots *s);

/* The histories of owners that are gone, for `verbena explain`. */
struct vb_past *vb_slots_past(const struct vb_slots *s);

/* Sums past and present of HCA port @port. */
void vb_slots_total(const struct vb_slots *s, uint32_t port, struct vb_counters *total);

void vb_slots_close(struct vb_slots *s);

#endif
