/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * /dev/infiniband/rdma_cm: what open(2), write(2) and the passing of its descriptor do. The broker
 * serves it (node/cm/call.h); what a program holds is one end of a socket pair, on which a byte
 * waits for each event, so that poll(2), epoll(7), O_NONBLOCK, signals, fork(2) and SCM_RIGHTS are
 * the kernel's. All state is the broker's: any process with the descriptor can go on with it.
 */
#ifndef VB_FILES_CM_CM_H
#define VB_FILES_CM_CM_H

#include "files/fd.h"

/* Opens it; @flags as open(2) has them. Returns a descriptor, or -1 with errno and a line on
 * stderr. */
int vb_cm_open(int flags);

/* A command, as the kernel takes it: returns @len, or -1 with errno. @f is the entry of @fd. */
ssize_t vb_cm_write(int fd, const struct vb_fd *f, const void *command, size_t len);

/* @fd came from another process: enters it when it is an open rdma_cm. */
void vb_cm_adopt(int fd);

#endif
