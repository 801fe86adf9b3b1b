/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A simulation in parts (parts.h) whose parts are run by several processes, the ranks: part n by
 * rank n. Each rank makes the whole network and the whole load, runs its own part alone, and does
 * what concerns all parts as the others do. After each window the ranks exchange bytes: the frames
 * that go from one to another, and for all of them when something happens next, and what the load
 * has noted. At the end one of them gets what the others have counted. docs/simulator.md, "Ranks".
 *
 * The bytes are those of the memory of the same program on the same kind of machine, and are
 * trusted as much as the processes are.
 */
#ifndef VB_SIM_RANKS_H
#define VB_SIM_RANKS_H

#include "sim/sim.h"

/* Bytes that are put one behind the other. */
struct vb_rank_bytes {
	uint8_t *p;
	size_t len, cap;
	bool ran_out; /* there was no memory for some of them */
	struct vb_sim_memory memory;
};

/* Bytes that are taken one after the other. */
struct vb_rank_reader {
	const uint8_t *p;
	size_t left;
	bool is_bad; /* more were asked for than there are */
};

void vb_rank_put(struct vb_rank_bytes *b, const void *p, size_t len);
/* Zeros, where there are none left. */
void vb_rank_get(struct vb_rank_reader *r, void *p, size_t len);
void vb_rank_bytes_free(struct vb_rank_bytes *b);

/* This process runs part @rank of a simulation in parts, which has not run yet. -ENOTSUP: a cable
 * is to change, and what is lost then lies at both of its ends. */
int vb_sim_set_rank(struct vb_sim *s, uint32_t rank);

/* After a window: what rank @to is to know, which the frames for it then are taken from here. */
void vb_sim_rank_pack(struct vb_sim *s, uint32_t to, struct vb_rank_bytes *b);
/* The same that rank @from has sent. */
void vb_sim_rank_unpack(struct vb_sim *s, uint32_t from, struct vb_rank_reader *r);
/* At the end: what hosts, ports and nodes of this part have counted. */
void vb_sim_rank_pack_counts(const struct vb_sim *s, struct vb_rank_bytes *b);
void vb_sim_rank_unpack_counts(struct vb_sim *s, uint32_t from, struct vb_rank_reader *r);

#endif
