/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of an open umad file that a program sees without a call to the fabric's process: enough
 * to know that a write will not be refused, so that nobody has to wait for its answer. The pages of
 * all files are memory that the fabric's process makes and each program maps. Nothing in them is
 * believed: the process checks each write that comes, and a program that spoils a page gets calls
 * instead, or loses its own writes.
 */
#ifndef VB_NODE_SUBNET_PAGE_H
#define VB_NODE_SUBNET_PAGE_H

#include "mgmt/agents.h"

#include <stdalign.h>

#define VB_SUBNET_PAGES 4096u
/* The most bytes of a write without an answer: a header and a MAD. */
#define VB_SUBNET_WRITE_MAX (VB_UMAD_HDR_LEN + VB_MAD_LEN)

struct vb_subnet_page {
	alignas(64) uint64_t token;     /* of the file; 0: the page is free */
	uint32_t hdr_len;               /* of the form that the file has now */
	uint32_t agents;                /* bit: the agent of this number is registered */
	uint32_t with_rmpp, user_rmpp;  /* ... by a version of RMPP; segments are its own matter */
	uint8_t port, port_cnt, is_low; /* is_low: there may be no memory for a write */
	uint8_t is_switch;
	/* The transactions that the agents have outstanding, and writes on their way to them. */
	uint32_t outstanding[VB_AGENTS_TRANSACTIONS];
};

/*
 * Whether the write of @len bytes at @buf to the file of @token will be taken, and counts it as on
 * its way: *counter then is to be decremented if it is not sent. False: only a call can tell.
 */
bool vb_subnet_page_claim(struct vb_subnet_page *p, uint64_t token, const uint8_t *buf, size_t len,
			  uint32_t **counter);

/* The counter of a write with a MAD that begins with @mad. */
uint32_t *vb_subnet_page_counter(struct vb_subnet_page *p, const uint8_t mad[VB_MAD_HDR_LEN]);

#endif
