/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The connection manager behind its calls (node/cm/call.h), wherever it is: in the broker of a
 * host, or at a node of a fabric. Its owner carries MADs and time, and calls vb_cm_tell() after
 * each.
 */
#ifndef VB_NODE_CM_SERVE_H
#define VB_NODE_CM_SERVE_H

#include "node/client/msg.h"
#include "node/cm/channel.h"

/* Set in the upper half of all its transaction IDs: agents of programs, which are counted from 1,
 * have others. */
#define VB_CM_HOST_TID 0x80000000u

/* A program that has ended one connection listens again within this much. The server of
 * ib_send_bw -R takes 1 to 2 ms for that. */
#define VB_CM_LISTEN_WAIT_NS (20 * VB_MSEC)

/* Begins with the machine and without channels. @gid_is_local, with env->ctx: which GIDs are this
 * end's; NULL: those that packets came to. Returns 0 or a negative errno; then it can be closed. */
int vb_cm_host_open(struct vb_cm_host *cm, const struct vb_cm_loop *loop,
		    const struct vb_ucma_env *env,
		    bool (*gid_is_local)(void *ctx, const struct vb_gid *gid));
/* Its channels have been closed. */
void vb_cm_host_close(struct vb_cm_host *cm);

/* A process that calls. */
struct vb_cm_caller {
	const void *id; /* of its connection */
	pid_t pid;
	const char *comm;
};

/* Carries out the @n bytes of @call, or answers what is wrong with them (@n may be 0, or -EMFILE
 * for descriptors that were lost). */
void vb_cm_serve(struct vb_cm_host *cm, const struct vb_cm_caller *who,
		 const struct vb_cm_call *call, ssize_t n, struct vb_fds *fds,
		 struct vb_cm_answer *answer, vb_time now);
/* Its bytes, with what is read ahead. */
size_t vb_cm_answer_size(const struct vb_cm_answer *a);

/* Gives out what events there are. */
void vb_cm_tell(struct vb_cm_host *cm);

#endif
