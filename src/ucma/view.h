/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How ids stand, for those who look on: one plain struct for each, which can be copied as it is, of
 * those that are there and of some that have ended. Of the latter as many are kept as there is room
 * for, failures apart from the others, so that a thousand connections that were closed do not push
 * out the one that was refused.
 */
#ifndef VB_UCMA_VIEW_H
#define VB_UCMA_VIEW_H

#include "ucma/ucma.h"

#define VB_UCMA_PAST 32u /* ids that have ended and are kept, of each sort */

/* How a connection ended, or why there is none. */
enum vb_ucma_end {
	VB_UCMA_END_NONE,
	VB_UCMA_END_REJECTED,      /* by the peer; reason: enum vb_cm_reason */
	VB_UCMA_END_REJECTED_HERE, /* by the program */
	VB_UCMA_END_SIDR_REFUSED,  /* reason: enum vb_cm_sidr_status */
	VB_UCMA_END_UNREACHABLE,   /* request was never answered */
	VB_UCMA_END_PEER,          /* the peer disconnected */
	VB_UCMA_END_HERE,       /* the program disconnected, and the peer has said that it knows */
	VB_UCMA_END_UNANSWERED, /* the program disconnected, and its DREQ was never answered */
	VB_UCMA_END_GIVEN_UP,   /* the program gave up the id, or died, while it was in cm_state */
	VB_UCMA_END_DEVICE,     /* the device is gone */
	VB_UCMA_END_CNT
};

struct vb_ucma_view {
	uint32_t number; /* of the id */
	uint32_t pid;    /* of its file's user, see vb_ucma_file_set_user() */
	char user[16];
	struct vb_ucma_addr src, dst;
	uint16_t ps;
	uint8_t qp_type;  /* enum ibv_qp_type */
	uint8_t hca_port; /* 0: it has no device yet */
	uint8_t is_gone;  /* 1: one of those that have ended */
	uint8_t is_listener;
	uint8_t is_passive; /* the peer asked to connect */
	uint8_t is_unread;  /* a request whose event the program has not taken */
	uint8_t has_route;  /* its address and route are resolved */
	uint8_t cm_state;   /* enum vb_cm_state; IDLE where there is no connection */
	uint8_t end;        /* enum vb_ucma_end */
	uint8_t rsv;
	uint16_t reason; /* of end */
	uint16_t
	    request; /* enum vb_cm_attr: the message that waits, or waited last, for an answer; 0 */
	uint32_t sent;                  /* how often that was sent */
	uint32_t local_qpn, remote_qpn; /* 0: not known */
	uint32_t backlog, waiting,
	    dropped;   /* LISTENER: requests at most, now, and refused for it */
	vb_time since; /* request was sent first; 0: not known */
	vb_time next;  /* it is sent again, or given up; VB_NEVER */
	vb_time ended; /* end; 0: not */
};

/* The user of @f: the process, and its name of at most 15 bytes. */
void vb_ucma_file_set_user(struct vb_ucma_file *f, uint32_t pid, const char *name);

/*
 * Fills @to with @room views at most: ids that have something to tell first, then those that have
 * ended, then the others. Returns how many there would be.
 */
uint32_t vb_ucma_views(const struct vb_ucma *u, struct vb_ucma_view *to, uint32_t room);

#endif
