/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Open /dev/infiniband/umadN and issmN of a node of a fabric. The descriptor that a program has
 * open is one end of a pair of sockets, so that poll(2), O_NONBLOCK, fork(2) and a last close do
 * what they should. A write that cannot be refused goes by this socket; other writes, and ioctls,
 * are calls to the fabric's process. MAD-01 to MAD-05, MAD-11, MAD-14 to MAD-17, MAD-23
 */
#ifndef VB_FILES_UMAD_UMAD_H
#define VB_FILES_UMAD_UMAD_H

#include "files/fd.h"
#include "files/path/tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Whether this process is at a node of a fabric. */
bool vb_umad_has_fabric(void);

/* Connects for as long as the descriptor that is returned stays open. @root becomes the path of the
 * node's tree. Returns a negative errno with @why. */
int vb_umad_attach(char *root, size_t root_size, char *why, size_t why_size);

/* open(2), read(2), write(2), ioctl(2). */
int vb_umad_open(const struct vb_tree_path *p, int flags);
ssize_t vb_umad_read(int fd, void *to, size_t len);
ssize_t vb_umad_write(int fd, const struct vb_fd *f, const void *from, size_t len);
int vb_umad_ioctl(const struct vb_fd *f, unsigned long request, void *arg);

/* A descriptor that another process handed over may be such a file: then it is entered. */
void vb_umad_adopt(int fd);

#endif
