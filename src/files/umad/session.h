/* SPDX-License-Identifier: BSD-2-Clause */
/* The connection of this process to the fabric's process, or without a fabric to the broker, by
 * which its files make their calls. */
#ifndef VB_FILES_UMAD_SESSION_H
#define VB_FILES_UMAD_SESSION_H

#include "node/subnet/client.h"

/* Makes a call; @fds is what comes back, NULL: nothing is wanted. Returns the status of the answer
 * or a negative errno: -EIO when the fabric has ended. */
int vb_umad_call(const struct vb_subnet_call *call, int fd, struct vb_subnet_answer *answer,
		 struct vb_fds *fds);

#endif
