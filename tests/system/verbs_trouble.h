/* SPDX-License-Identifier: BSD-2-Clause */
/* The objects and functions that the parts of verbs_trouble share. */
#ifndef VERBS_TROUBLE_H
#define VERBS_TROUBLE_H

#include <infiniband/verbs.h>
#include <stdint.h>

extern uint8_t buffer[1 << 20];
extern struct ibv_context *context;
extern struct ibv_pd *pd;
extern struct ibv_cq *cq;
extern struct ibv_srq *srq; /* NULL: the QP has receives of its own */
extern struct ibv_mr *mr;
extern struct ibv_qp *qp;
extern uint8_t gid_index;

/* The next word, or number, of the input. */
void word(char *to);
uint64_t number(void);

/* verbs_trouble_try.c: makes a call that is refused, which is named by the next word. */
void try_refused(void);
/* verbs_trouble_key.c: prints the key of memory that a peer is refused, of the kind that the next
 * word names. */
void make_key(void);

#endif
