/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of the shared broker that outlives it when it is killed: which user has which part of
 * the communication IDs, which low bytes of QPNs and which service IDs. It lies in a file of root's
 * that is mapped, so that nothing has to be written when the end comes. The next shared broker
 * holds all of it for its users for a few seconds, and no other user can take it meanwhile.
 */
#ifndef VB_NODE_CARRIER_USERS_KEPT_H
#define VB_NODE_CARRIER_USERS_KEPT_H

#include "base/slot.h"
#include "link/carried/status.h"
#include "wire/path.h"

#include <stdbool.h>

/* User i has part i + 1 of the communication IDs. */
#define VB_CARRIER_USERS 255u
/* Service IDs and management classes of a user. */
#define VB_CARRIER_CLAIMS 1024u
/* Low bytes of QPNs that users get. */
#define VB_CARRIER_BYTES (256 - VB_SLOT_WIDE)

enum vb_carrier_claim_kind { VB_CARRIER_SERVICE, VB_CARRIER_CLASS };

struct vb_carrier_claim {
	uint32_t refs;     /* 0: the place is free */
	uint16_t kind;     /* enum vb_carrier_claim_kind */
	uint16_t is_old;   /* an earlier broker of the user has made it, and the next one not yet */
	uint64_t key;      /* service ID, or vb_carrier_class_key() */
	struct vb_gid gid; /* zero: any address */
};

struct vb_carrier_kept_user {
	uint32_t is_used;
	uint32_t uid;
	uint32_t claim_end; /* places from here on were never used */
	uint32_t rsv;
	struct vb_carrier_counts counts;
};

struct vb_carrier_kept {
	uint32_t magic, size;
	uint64_t netns; /* the cookie of the network namespace: their inodes come again */
	uint32_t byte_user[VB_CARRIER_BYTES]; /* index + 1 of the user who has or had it last; 0 */
	struct vb_carrier_kept_user user[VB_CARRIER_USERS];
	struct vb_carrier_claim claim[VB_CARRIER_USERS][VB_CARRIER_CLAIMS];
};

/* Maps the file of this network namespace, *fd, or memory of this process alone where there can be
 * no such file, -1. All but the claims has its room in the file then. *found: an earlier shared
 * broker has left it. 0 or a negative errno. */
int vb_carrier_kept_open(struct vb_carrier_kept **out, int *fd, bool *found);
/* Before something is written to claim @i of @user: makes sure that the file has room for it, since
 * a store to memory without room ends the process. 0 or a negative errno. */
int vb_carrier_kept_make_room(int fd, uint32_t user, uint32_t i);
/* At an orderly end nothing is left. */
void vb_carrier_kept_remove(void);

#endif
