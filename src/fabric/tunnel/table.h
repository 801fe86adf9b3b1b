/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tables of addresses that both ends of a tunnel tell each other: the ports that are reached
 * through it, with their GIDs, LIDs and IP addresses. A table is told in parts, in order; the
 * receiver says how far it has come, and what was lost is told again. It takes effect when it is
 * whole. A peer makes an end remember two tables of VB_TUNNEL_TABLE_MAX entries at most. FAB-56
 */
#ifndef VB_FABRIC_TUNNEL_TABLE_H
#define VB_FABRIC_TUNNEL_TABLE_H

#include "wire/ib/tunnel.h"

#include <stddef.h>

/* Entries of a table; and of tunnels on the way to a port. */
#define VB_TUNNEL_TABLE_MAX 16384u
#define VB_TUNNEL_HOPS_MAX 16u
/* Parts that are told in a row before the other end says how far it has come. */
#define VB_TUNNEL_WINDOW 8u

struct vb_tunnel_list {
	struct vb_tunnel_entry *entry;
	uint32_t cnt, room;
	uint32_t version; /* 0: there has been none */
};

struct vb_tunnel_table {
	struct vb_tunnel_list mine;             /* what is told */
	struct vb_tunnel_list theirs;           /* what was heard, whole */
	struct vb_tunnel_list coming;           /* what is being heard: @room entries in all */
	uint32_t told;                          /* entries of @mine that have been sent */
	void *(*alloc)(void *ctx, size_t size); /* zeroed memory, or NULL */
	void (*free)(void *ctx, void *p);
	void *ctx;
};

/* All zero but alloc, free and ctx. Frees what is there, and begins again; @keeps_mine: what is
 * told stays. */
void vb_tunnel_table_clear(struct vb_tunnel_table *t, bool keeps_mine);

/* These entries are to be told from now on; they are copied, up to VB_TUNNEL_TABLE_MAX of them.
 * True: they are others than before. */
bool vb_tunnel_table_set(struct vb_tunnel_table *t, const struct vb_tunnel_entry *e, uint32_t cnt);

/* The other end has @cnt entries of version @version: whether it is to be told more at once, as all
 * that has been sent has come, or, with @again, in any case. */
bool vb_tunnel_table_lacks(struct vb_tunnel_table *t, uint32_t version, uint32_t cnt, bool again);
/* The next part of a window that vb_tunnel_table_lacks() has begun: writes it to @out, which has
 * VB_TUNNEL_CHUNK_LEN + VB_TUNNEL_ENTRIES * VB_TUNNEL_ENTRY_LEN bytes. Returns its length; 0: there
 * is no more. */
uint32_t vb_tunnel_table_poll(struct vb_tunnel_table *t, uint8_t *out);

/* A part of @len bytes has come. True: t->theirs is another one now. */
bool vb_tunnel_table_hear(struct vb_tunnel_table *t, const uint8_t *in, uint32_t len);
/* The version that is being heard, and how many entries of it there are. */
void vb_tunnel_table_heard(const struct vb_tunnel_table *t, uint32_t *version, uint32_t *cnt);

/* The entry with this address, or this GID; NULL: the other end has told none. */
const struct vb_tunnel_entry *vb_tunnel_table_by_ipv4(const struct vb_tunnel_table *t,
						      uint32_t ipv4);
const struct vb_tunnel_entry *vb_tunnel_table_by_gid(const struct vb_tunnel_table *t,
						     uint64_t prefix, uint64_t guid);

#endif
