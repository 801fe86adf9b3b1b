/* SPDX-License-Identifier: BSD-2-Clause */
/* How things stand at the shared broker of this host, as `verbena broker --shared --status` shows
 * it: of all users for root, of oneself for others. */
#ifndef VB_CMD_RUN_SHARED_H
#define VB_CMD_RUN_SHARED_H

#include "cmd/cmd.h"

enum vb_shared_format { VB_SHARED_TEXT, VB_SHARED_JSON, VB_SHARED_OPENMETRICS };

/* Returns an exit status. */
int vb_shared_status(const struct vb_cmd *cmd, enum vb_shared_format format);

#endif
