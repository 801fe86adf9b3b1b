/* SPDX-License-Identifier: BSD-2-Clause */
/* The tidings of the ranks of a simulation about its load. See sim/ranks.h. */
#ifndef VB_SIM_LOAD_CORES_RANKS_H
#define VB_SIM_LOAD_CORES_RANKS_H

#include "sim/load/load.h"
#include "sim/ranks.h"

/* After a window: what this part has noted, for all ranks. */
void vb_load_rank_pack(const struct vb_load *l, struct vb_rank_bytes *b);
/* The same of part @from; taken up as the next window opens. */
void vb_load_rank_unpack(struct vb_load *l, uint32_t from, struct vb_rank_reader *r);
/* At the end: how far the flows of this part are. */
void vb_load_rank_pack_counts(const struct vb_load *l, struct vb_rank_bytes *b);
int vb_load_rank_unpack_counts(struct vb_load *l, uint32_t from, struct vb_rank_reader *r);

#endif
