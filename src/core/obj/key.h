/* SPDX-License-Identifier: BSD-2-Clause */
/* The objects that L_Keys and R_Keys name, and the table of them, see key.c. IBT-84 */
#ifndef VB_CORE_OBJ_KEY_H
#define VB_CORE_OBJ_KEY_H

#include "core/types.h"

struct vb_hca;
struct vb_pd;

/* The kind of object that an L_Key or R_Key names. */
enum vb_key_kind { VB_KEY_MR, VB_KEY_MW, VB_KEY_KINDS };

struct vb_key {
	enum vb_key_kind kind;
	uint32_t key; /* index << 8 | key byte. IBT-84 */
	struct vb_pd *pd;
};

/* The table of keys: entry i is the object with index i, or the next free index. */
struct vb_key_slot {
	struct vb_key *obj;
	uint32_t next_free;
	uint32_t last; /* the key of the object that was here before */
};

struct vb_key_table {
	struct vb_key_slot *slot;
	uint32_t cap, cnt[VB_KEY_KINDS], drawn; /* drawn: keys so far */
	uint32_t free_head, free_tail; /* FIFO, so that a place rests before reuse; 0: none */
};

int vb_key_insert(struct vb_hca *h, struct vb_key *k, struct vb_pd *pd);
void vb_key_remove(struct vb_hca *h, struct vb_key *k);
struct vb_key *vb_key_find(const struct vb_hca *h, uint32_t key);
struct vb_key *vb_key_at(const struct vb_hca *h, uint32_t key); /* any key byte will do */
void vb_key_table_free(struct vb_hca *h);

#endif
