/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers of the broker to commands that the program is about to write. ucma/command/ahead.h */
#ifndef VB_FILES_CM_AHEAD_H
#define VB_FILES_CM_AHEAD_H

#include "node/cm/call.h"

#include <stdbool.h>

/* A new connection to the broker: nothing is known. @fd is the memory of the ids' versions, which
 * is mapped and stays the caller's to close; -1: there is none. */
void vb_cm_ahead_begin(int fd);

/* Keeps what came along with the answer to a command of channel @token. */
void vb_cm_ahead_keep(uint64_t token, const struct vb_cm_answer *a);

/* Keeps what event @a of channel @token has granted for its id @id. */
void vb_cm_ahead_grant(uint64_t token, uint32_t id, const struct vb_cm_answer *a);
/* Whether @call is a command that was granted. It is not any more then, and earlier answers about
 * its id do not count any more. */
bool vb_cm_ahead_use_grant(const struct vb_cm_call *call);

/* Whether the answer to @call is known and still right; then it is in @a. */
bool vb_cm_ahead_answer(const struct vb_cm_call *call, struct vb_cm_answer *a);

#endif
