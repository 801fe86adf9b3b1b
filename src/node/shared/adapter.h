/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state that the adapter keeps by itself, as a NIC does in its firmware: the registers of each
 * physical function, how many virtual functions there are, and whether it stays while no program
 * uses it. It lies in host memory, written by the broker alone.
 *
 * There are two copies, and the generation says which one counts: the broker fills the other one
 * and then switches. So a reader sees all of a change or nothing of it, and so does the next broker
 * when this one is killed in between.
 */
#ifndef VB_NODE_SHARED_ADAPTER_H
#define VB_NODE_SHARED_ADAPTER_H

#include "core/hca.h"
#include "reg/file.h"

/* A physical function: a device of the table that has no parent. */
struct vb_adapter_pf {
	uint32_t recovery_epoch; /* +1 whenever reg.recovery has been set */
	uint32_t cc_epoch;       /* +1 whenever reg.cc has */
	struct vb_reg_file reg;
};

struct vb_adapter_state {
	uint32_t is_kept;                          /* 1: stays when no program uses it */
	uint32_t vf_cnt;                           /* virtual functions of each physical one */
	struct vb_adapter_pf pf[VB_HCA_PORTS_MAX]; /* by device */
};

struct vb_adapter_shm {
	uint32_t generation; /* state[generation & 1] counts */
	struct vb_adapter_state state[2];
	/* Timers that fired in clients that are gone, by HCA port; the broker's own. */
	struct vb_adp_fired past_fired[VB_HCA_PORTS_MAX + 1];
};

/* As it leaves the factory. */
void vb_adapter_init(struct vb_adapter_shm *a);

/* For the broker: the copy that counts, and to make @next count. @next is neither of the two. */
const struct vb_adapter_state *vb_adapter_state(const struct vb_adapter_shm *a);
void vb_adapter_commit(struct vb_adapter_shm *a, const struct vb_adapter_state *next);

/* For readers: copies @size bytes at @offset of what counts. Returns their generation. */
uint32_t vb_adapter_read(const struct vb_adapter_shm *a, size_t offset, size_t size, void *out);

#endif
