/* SPDX-License-Identifier: BSD-2-Clause */
/* How things stand at the shared broker: memory that comes with the answer to VB_CARRIER_STATUS.
 * Root is told of all users, another user of himself. */
#ifndef VB_LINK_SHM_STATUS_H
#define VB_LINK_SHM_STATUS_H

#include <stdint.h>

/* The things that a user is refused; the rows are in refusal.def. */
enum vb_carrier_refusal {
#define REFUSAL(name, text) VB_CARRIER_REFUSED_##name,
#include "link/carried/refusal.def"
#undef REFUSAL
	VB_CARRIER_REFUSALS
};

struct vb_carrier_counts {
	uint64_t carried, dropped;         /* packets, the latter for want of room in a ring */
	uint64_t gsi_carried, gsi_dropped; /* those of QP1 */
	uint64_t refused[VB_CARRIER_REFUSALS];
};

struct vb_carrier_limits {
	uint32_t processes;  /* of a user that have slots at once */
	uint32_t qps;        /* of a process */
	uint32_t memory_mib; /* for a user's packets; 0: as much as his processes need */
	uint32_t services;   /* service IDs of a user */
	uint32_t groups;     /* memberships of a user's processes in multicast groups */
	uint32_t rsv;
};

struct vb_carrier_user_status {
	uint32_t uid, part;
	uint32_t connections, processes, services, groups;
	uint32_t memory_mib;
	uint32_t has_qp1;
	uint32_t sockets; /* processes that the kernel hands packets to */
	uint32_t rsv;
	struct vb_carrier_counts counts;
};

#define VB_CARRIER_STATUS_USERS 255
#define VB_CARRIER_FAULTS_MAX 256 /* bytes of the rules, their beginning where they are longer */

struct vb_carrier_status {
	uint32_t magic, user_cnt;
	struct vb_carrier_limits limits;
	/* Packets that were nobody's: of a byte that is another one's, damaged or forged; to QP1
	 * without a user or not a MAD; requests to QP1 that were refused, and questions answered.
	 */
	uint64_t misdirected, gsi_unmatched, gsi_bad, gsi_refused, gsi_answered;
	uint64_t faulted; /* packets that met the rules @faults */
	char faults[VB_CARRIER_FAULTS_MAX];
	uint64_t strangers; /* connections of users for whom there was no place */
	struct vb_carrier_user_status user[VB_CARRIER_STATUS_USERS];
};

#endif
