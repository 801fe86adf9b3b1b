/* SPDX-License-Identifier: BSD-2-Clause */
/* Starting the broker from inside somebody else's program. */
#ifndef VB_NODE_CLIENT_SPAWN_H
#define VB_NODE_CLIENT_SPAWN_H

#include <stddef.h>

/*
 * The `verbena` binary: $VERBENA_BIN, or found from where this code lies (beside it in a build
 * directory, ../bin from a library). Returns 0 or -ENOENT.
 */
int vb_verbena_path(char *path, size_t size);

/*
 * Starts `verbena broker` and waits until it listens or has ended, at most @timeout_ms. The program
 * gets no child, no signal and no descriptor from it. Returns 0 or a negative errno with a line for
 * the user in @why. 0 also when another broker was faster.
 */
int vb_broker_spawn(int timeout_ms, char *why, size_t why_size);

#endif
