/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kinds of objects that verbs_churn.c creates and destroys, and what it needs to do so.
 * A failure ends the program with one line.
 */
#ifndef VB_TESTS_SYSTEM_VERBS_CHURN_H
#define VB_TESTS_SYSTEM_VERBS_CHURN_H

#include "verbs_need.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE 4096
#define RIGHTS                                                                                     \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_MW_BIND)

/* The objects that a thread creates others upon. */
struct base {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr; /* of all of mem */
	struct ibv_cq *cq;
	uint8_t *mem; /* SIZE bytes */
};

struct kind {
	const char *name;
	void (*run)(struct base *b);
	bool (*is_there)(void); /* asked once; NULL: every adapter has it */
};
extern const struct kind kinds[];
extern const unsigned kind_cnt;

void churn_dc(struct base *b);
bool dc_is_there(void);

/* Takes the first device that has a GID, or ends the program; *all is to be freed at the end. */
struct ibv_context *choose_device(struct ibv_device ***all);
struct ibv_context *open_context(void);
extern struct ibv_ah_attr address; /* of the device */

void base_open(struct base *b, struct ibv_context *c);
void base_close(struct base *b);
struct ibv_qp *qp_new(struct base *b, enum ibv_qp_type type, struct ibv_srq *srq);
void qp_to_rts(struct ibv_qp *qp, uint32_t dqpn);
/* So many completions, which must succeed. */
void await(struct ibv_cq *cq, int cnt);
/* Into the first half of the memory, and from the second. */
void post_recv(struct ibv_qp *qp, struct ibv_srq *srq, const struct base *b);
void post_send(struct ibv_qp *qp, const struct base *b, enum ibv_wr_opcode opcode);

#endif
